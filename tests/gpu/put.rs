//! Reductions along an axis, and their gradients, agree with the CPU.

use crate::common::{Data, TURN, agree, agree_in, floats, gpu, ints, list};
use burn::tensor::Tensor;
use sparse_tensor::ops::{self, Reduce};

#[test]
fn reductions_along_an_axis() {
    let _turn = TURN.lock();
    for (len, inner, count, along) in [(30, 5, 900, false), (30, 8, 900, true), (3, 1, 5000, false)] {
        let mut data = Data::new(2);
        let index = data.ints(if along { count } else { count * inner }, len as i32);
        let (arr, values) = (data.floats(len * inner), data.floats(count * inner));
        for reduce in Reduce::ALL {
            // Factors near one: a product of many stays in range.
            let near = |list: &[f32]| -> Vec<f32> {
                let factor = reduce == Reduce::Mul;
                list.iter().map(|x| if factor { 1.0 + x / 500.0 } else { *x }).collect()
            };
            let (arr, values) = (near(&arr), near(&values));
            for own in [false, true] {
                agree(&format!("put {reduce:?}, {len} x {inner}, own {own}"), |device| {
                    let at = ints(&index, [count, if along { 1 } else { inner }], device);
                    let arr = floats(&arr, [len, inner], device).require_grad();
                    let values = floats(&values, [count, inner], device).require_grad();
                    let out = ops::put_along_axis(arr.clone(), at, values.clone(), 0, reduce, own);
                    let grads = (out.clone() * out.clone()).sum().backward();
                    vec![list(out), list(arr.grad(&grads).unwrap()), list(values.grad(&grads).unwrap())]
                });
            }
        }
    }
}

/// Cells with very many values, which a cube shares, among cells with few values and one with none. Indices are of
/// single values or of whole steps. A step has fewer cells than a cube takes, or needs several cubes.
#[test]
fn long_groups_are_put_as_on_the_cpu() {
    let _turn = TURN.lock();
    for (outer, inner, count, along) in [(1, 1, 110_000, false), (1, 3, 100_500, true), (2, 40, 3_000, true)] {
        let (mut data, len) = (Data::new(7), 5);
        // Most go to row 1, fewer to row 3, a few to rows 0 and 2, none to row 4.
        let row = |k: usize| match k {
            ..600 if k.is_multiple_of(5) => [0, 2][k % 2],
            600.. if k < count / 3 && k.is_multiple_of(2) => 3,
            _ => 1,
        };
        let index: Vec<i32> = (0..count).map(row).collect();
        let random = [data.floats(outer * len * inner), data.floats(outer * count * inner)];
        for reduce in Reduce::ALL {
            let [mut arr, mut values] = random.clone().map(|list| match reduce {
                // Doubled and halved now and then, of either sign: products without rounding, in range in any order.
                Reduce::Mul => {
                    let factor = |k: usize| match k / inner % count % 1000 {
                        0 => 2.0,
                        500 => 0.5,
                        _ => 1.0,
                    };
                    list.iter().enumerate().map(|(k, x)| x.signum() * factor(k)).collect()
                }
                // Sums without rounding.
                Reduce::Add | Reduce::Mean => list.iter().map(|x| (x * 8.0).round() / 8.0).collect(),
                _ => list,
            });
            // In row 1, the first half of the cells has two zeros, or three values that tie. The last cell has one
            // zero, or NaN.
            let (early, late) = (0..inner.div_ceil(2), (count / 2 + 2) * inner + inner - 1);
            let mut set = |value: f32| {
                for k in [count / 2, count - 2] {
                    assert_eq!(index[k], 1);
                    values[k * inner..][early.clone()].fill(value);
                }
            };
            match reduce {
                Reduce::Mul => set(0.0),
                Reduce::Amax | Reduce::Amin => {
                    let edge = if reduce == Reduce::Amax { 2.0 } else { -2.0 };
                    set(edge);
                    arr[inner..][early].fill(edge);
                }
                _ => {}
            }
            match reduce {
                Reduce::Mul => values[late] = 0.0,
                Reduce::Amax | Reduce::Amin if inner > 1 => values[late] = f32::NAN,
                _ => {}
            }
            for own in [false, true] {
                agree_in(5, &format!("put {reduce:?}, {count} x {inner}, own {own}"), |device| {
                    let at = ints(&index, [1, count, 1], device);
                    let at = if along { at } else { at.expand([outer, count, inner]) };
                    let arr = floats(&arr, [outer, len, inner], device).require_grad();
                    let values = floats(&values, [outer, count, inner], device).require_grad();
                    let out = ops::put_along_axis(arr.clone(), at, values.clone(), 1, reduce, own);
                    // The shares of a mean are small.
                    let weight = if reduce == Reduce::Mean { count as f32 } else { 1.0 };
                    let grads = ((out.clone() + 3.0) * out.clone() * weight).sum().backward();
                    vec![list(out), list(arr.grad(&grads).unwrap()), list(values.grad(&grads).unwrap())]
                });
            }
        }
        // Integers, of either sign: means round down.
        let (arr, values) = (data.ints(outer * len * inner, 9), data.ints(outer * count * inner, 1 << 20));
        for reduce in [Reduce::Add, Reduce::Mean, Reduce::Amax, Reduce::Amin] {
            agree_in(5, &format!("put {reduce:?} of integers, {count} x {inner}"), |device| {
                let at = ints(&index, [1, count, 1], device);
                let whole = |list: &[i32], rows| ints(list, [outer, rows, inner], device).sub_scalar(1 << 19);
                let out = ops::put_along_axis(whole(&arr, len), at, whole(&values, count), 1, reduce, true);
                vec![out.into_data().iter::<i32>().flat_map(|value| value.to_le_bytes().map(f32::from)).collect()]
            });
        }
    }
}

/// The product of the other values, if intermediate products leave the range of f32.
#[test]
fn gradients_of_products_beyond_the_range() {
    let _turn = TURN.lock();
    let device = gpu().autodiff();
    for count in [4, 2048] {
        // Ones after the first four, so that a cube has the cell too.
        let mut list = vec![1.0; count];
        list[..4].copy_from_slice(&[1e30, 1e30, 1e-30, 1e-30]);
        let values = floats(&list, [count], &device).require_grad();
        let arr = Tensor::<1>::zeros([1], &device);
        let out =
            ops::put_along_axis(arr, ints(&vec![0; count], [count], &device), values.clone(), 0, Reduce::Mul, false);
        let grad = self::list(values.grad(&out.sum().backward()).unwrap());
        assert_eq!(grad.len(), count);
        for (got, want) in grad.iter().zip([1e-30, 1e-30, 1e30, 1e30, 1.0, 1.0]) {
            assert!((got / want - 1.0).abs() < 1e-3, "{count} values: got {got}, want {want}");
        }
    }
}
