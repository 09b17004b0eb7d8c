//! Softmax over the elements of each row, and attention in one rule.

use super::*;
use sparse_tensor::ops::{attention, head_sddmm, try_attention};

#[test]
fn softmax_normalises_each_row_of_each_head() {
    let (device, types) = under_test();
    for &dtype in &types {
        for shape in [(1, 1), (3, 1), (8, 1)] {
            let case = Case::new(11, shape);
            let coo = case.coo(&device).detach();
            let mut sums = vec![0.0; case.m * case.heads];
            case.each(|value, row, _| sums[row] += case.values[value].exp());
            let mut want = vec![0.0; case.values.len()];
            case.each(|value, row, _| want[value] = case.values[value].exp() / sums[row]);
            for layout in [Layout::Csr(coo.to_csr()), Layout::Coo(coo)] {
                let out: Tensor<2> = each!(layout, edges => {
                    heads(&edges, case.values_at(dtype, &device)).with_fill(Fill::Undefined).softmax(1).values()
                });
                same(list(out), &want, dtype, "softmax");
            }
        }
    }
}

/// `[m, heads, g]` by plain loops. Each element counts on its own, also one of two at the same place.
fn by_loops(case: &Case, value: &[f64], scale: f64) -> Vec<f64> {
    let (heads, f) = (case.heads, case.f);
    let g = value.len() / (case.n * heads);
    let mut out = vec![0.0; case.m * heads * g];
    for (row, h) in (0..case.m).flat_map(|row| (0..heads).map(move |h| (row, h))) {
        let own: Vec<usize> = (0..case.nnz()).filter(|&k| case.rows[k] == row).map(|k| case.cols[k]).collect();
        let score = |col: usize| {
            let products =
                (0..f).map(|c| case.other[(row * heads + h) * f + c] * case.dense[(col * heads + h) * f + c]);
            scale * products.sum::<f64>()
        };
        let total: f64 = own.iter().map(|&col| score(col).exp()).sum();
        for (col, c) in own.iter().flat_map(|&col| (0..g).map(move |c| (col, c))) {
            out[(row * heads + h) * g + c] += score(col).exp() / total * value[(col * heads + h) * g + c];
        }
    }
    out
}

#[test]
fn attention_is_a_weighted_mean_of_values() {
    let (device, types) = under_test();
    for (shape, &dtype) in SHAPES.iter().flat_map(|&shape| types.iter().map(move |dtype| (shape, dtype))) {
        layouts(shape, &device, |case, layout| {
            let value: Vec<f64> = (0..case.n * case.heads * 2).map(|k| ((k * 5) % 13) as f64 / 4.0 - 1.0).collect();
            let [query, key] = [case.other_at(dtype, &device), case.dense_at(dtype, &device)];
            let values = tensor(&value, [case.n, case.heads, 2], dtype, &device);
            let run = |scale| {
                let [query, key, values] = [&query, &key, &values].map(Clone::clone);
                list::<3>(each!(&layout, edges => attention(query, key, values, edges, scale, 0.0)))
            };
            // Weights are rounded to the type of the operands.
            let near = |got: Vec<f64>, want: Vec<f64>| {
                let step = match dtype {
                    FloatDType::F64 => 1e-12,
                    FloatDType::F16 => 1e-2,
                    FloatDType::BF16 => 6e-2,
                    _ => 1e-4,
                };
                assert_eq!(got.len(), want.len());
                got.iter().zip(&want).for_each(|(got, want)| assert!((got - want).abs() <= step, "{got} and {want}"));
            };
            near(run(Some(0.3)), by_loops(case, &value, 0.3));
            near(run(None), by_loops(case, &value, 1.0 / (case.f as f64).sqrt()));
        });
    }
}

/// The same bits as the three operations, forward and backward, and with the same dropout.
#[test]
fn one_rule_is_the_three_operations() {
    let device = under_test().0;
    let case = Case::new(4, (3, 4));
    let edges = case.coo(&device).to_csr().detach();
    for dropout in [0.0, 0.5] {
        let answers = [true, false].map(|fused| {
            let leaf = |shape: [usize; 3]| ascending(shape, &device).require_grad();
            let [query, key, value] = [leaf([case.m, 3, 4]), leaf([case.n, 3, 4]), leaf([case.n, 3, 5])];
            device.seed(9);
            let out: Tensor<3> = if fused {
                attention(query.clone(), key.clone(), value.clone(), &edges, Some(0.25), dropout)
            } else {
                let scores = head_sddmm(query.clone(), key.clone(), &edges).mul_scalar(0.25);
                let weights = scores.with_fill(Fill::Undefined).softmax(1).values::<2>();
                let weights: CsrTensor<3> = edges.with_head_values(weights);
                sparse_dropout(&weights, dropout).matmul(value.clone())
            };
            let grads = (out.clone() * ascending(out.dims(), &device)).sum().backward();
            let grads = [query, key, value].map(|leaf| list(leaf.grad(&grads).unwrap()));
            (list(out), grads)
        });
        let [(out, grads), (want, want_grads)] = answers;
        assert!(out.iter().any(|x| *x != 0.0));
        same(out, &want, FloatDType::F32, "attention");
        grads.into_iter().zip(want_grads).for_each(|(got, want)| same(got, &want, FloatDType::F32, "a gradient"));
    }
    // Off the tape nothing is dropped.
    let plain = device.inner();
    let [x, y] = [ascending([case.m, 3, 4], &plain), ascending([case.n, 3, 4], &plain)];
    let edges = case.coo(&plain);
    let run = |dropout| list(attention(x.clone(), y.clone(), y.clone(), &edges, None, dropout));
    assert_eq!(run(0.9), run(0.0));
}

#[test]
fn attention_broadcasts_heads_and_batches() {
    let device = under_test().0;
    let case = Case::new(9, (3, 2));
    let edges = case.coo(&device).to_csr();
    let (m, n) = (case.m, case.n);
    let [x, y] = [ascending([m, 3, 2], &device), ascending([n, 3, 2], &device)];
    let one = ascending([n, 1, 2], &device);
    let whole: Tensor<3> = one.clone().expand([n, 3, 2]);
    let run = |x: &Tensor<3>, y: &Tensor<3>, z: &Tensor<3>| {
        list(attention(x.clone(), y.clone(), z.clone(), &edges, None, 0.0))
    };
    assert_eq!(run(&x, &one, &y), run(&x, &whole, &y));
    assert_eq!(run(&x, &y, &one), run(&x, &y, &whole));
    // Without heads.
    let flat = |t: &Tensor<3>| t.clone().narrow(1, 0, 1);
    let plain: Tensor<2> = attention(
        flat(&x).squeeze_dim::<2>(1),
        flat(&y).squeeze_dim::<2>(1),
        flat(&y).squeeze_dim::<2>(1),
        &edges,
        None,
        0.0,
    );
    assert_eq!(list(plain), run(&flat(&x), &flat(&y), &flat(&y)));
    // A batch of two masks.
    let batch: CsrTensor<3> = sparse_tensor::ops::stack(&[edges.clone(), edges.clone()], 0);
    let two = |t: &Tensor<3>| t.clone().unsqueeze_dim::<4>(0);
    let out = attention(two(&x), Tensor::cat(vec![two(&y), two(&y) * 2.0], 0), two(&y), &batch, None, 0.0);
    let want = [run(&x, &y, &y), run(&x, &(y.clone() * 2.0), &y)].concat();
    same(list(out), &want, FloatDType::F32, "a batch");
}

#[test]
fn attention_over_nothing() {
    let device = under_test().0;
    let mask = |m: usize, n: usize| {
        let at = Tensor::<2, Int>::zeros([2, 0], &device.clone().inner());
        CooTensor::<2>::new(at, Tensor::<1>::zeros([0], &device), [m, n]).unwrap()
    };
    for [m, n, heads, f, g] in [[3, 4, 2, 3, 2], [0, 4, 2, 3, 2], [3, 0, 2, 3, 2], [3, 4, 2, 0, 1]] {
        let leaf = |shape: [usize; 3]| Tensor::<3>::ones(shape, &device).require_grad();
        let [query, key, value] = [leaf([m, heads, f]), leaf([n, heads, f]), leaf([n, heads, g])];
        let out = attention(query.clone(), key.clone(), value.clone(), &mask(m, n), None, 0.0);
        assert_eq!(out.dims(), [m, heads, g]);
        assert!(list(out.clone()).iter().all(|x| *x == 0.0));
        let grads = out.sum().backward();
        for leaf in [query, key, value] {
            assert!(list(leaf.grad(&grads).expect("every operand has a gradient")).iter().all(|x| *x == 0.0));
        }
    }
    // No features: every score is 0. No heads or no columns: nothing.
    let edges = Case::new(1, (1, 1)).coo(&device).to_csr();
    let ones = |shape: [usize; 3]| Tensor::<3>::ones(shape, &device);
    let out = list(attention(ones([7, 2, 0]), ones([6, 2, 0]), ones([6, 2, 1]), &edges, None, 0.0));
    same(out[..2].to_vec(), &[1.0, 1.0], FloatDType::F32, "the mean of ones");
    assert_eq!(out[6..8], [0.0, 0.0], "an empty row");
    assert_eq!(attention(ones([7, 0, 2]), ones([6, 0, 2]), ones([6, 0, 3]), &edges, None, 0.0).dims(), [7, 0, 3]);
    assert_eq!(attention(ones([7, 2, 2]), ones([6, 2, 2]), ones([6, 2, 0]), &edges, None, 0.0).dims(), [7, 2, 0]);
}

/// Products that f16 cannot hold are scaled before they are rounded.
#[test]
fn large_16_bit_products_do_not_overflow() {
    let device = Device::flex();
    let edges = Case::new(1, (1, 1)).coo(&device).to_csr();
    let half = |shape: [usize; 3], x: f64| Tensor::<3>::full(shape, x, &device).cast(FloatDType::F16);
    let out = attention(half([7, 1, 64], 40.0), half([6, 1, 64], 40.0), half([6, 1, 1], 2.0), &edges, None, 0.0);
    let out = list(out);
    assert_eq!(out.iter().filter(|x| **x == 2.0).count(), 6, "{out:?}");
}

#[test]
fn attention_says_what_does_not_fit() {
    let device = Device::flex();
    let edges = Case::new(1, (1, 1)).coo(&device).to_csr();
    let ones = |shape: [usize; 3]| Tensor::<3>::ones(shape, &device);
    let kind = |q, k, v, dropout| try_attention(ones(q), ones(k), ones(v), &edges, None, dropout).unwrap_err().kind();
    assert_eq!(kind([6, 2, 3], [6, 2, 3], [6, 2, 3], 0.0), "shape_mismatch");
    assert_eq!(kind([7, 2, 3], [6, 2, 4], [6, 2, 3], 0.0), "shape_mismatch");
    assert_eq!(kind([7, 2, 3], [6, 2, 3], [6, 3, 3], 0.0), "shape_mismatch");
    assert_eq!(kind([7, 1, 3], [6, 1, 3], [6, 2, 3], 0.0), "shape_mismatch");
    assert_eq!(kind([7, 2, 3], [6, 2, 3], [6, 2, 3], 1.0), "invalid");
    assert_eq!(kind([7, 2, 3], [6, 2, 3], [6, 2, 3], f64::NAN), "invalid");
    let wide = ones([6, 2, 3]).cast(FloatDType::F64);
    let error = try_attention(ones([7, 2, 3]), ones([6, 2, 3]), wide, &edges, None, 0.0).unwrap_err();
    assert_eq!(error.kind(), "dtype_mismatch");
}
