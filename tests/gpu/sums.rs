//! Products and running sums agree with the CPU.

use crate::common::{Data, TURN, agree, agree_in, floats, gpu, ints, list, matrix};
use burn::tensor::{Device, Int, Tensor};
use sparse_burn::forced::{Forced, forced};
use sparse_burn::{Epilogue, RowsView, ShiftedRows, kernel};
use sparse_tensor::host_fallbacks;
use sparse_tensor::nn::{elu, leaky_relu};

const NO_PLAN: Option<ShiftedRows> = None;

#[test]
fn products_of_short_and_long_rows() {
    let _turn = TURN.lock();
    // Short rows, long rows (a cube for each), one long row among short ones, and widths that vectors do and do not
    // divide.
    for (rows, cols, mean, width) in
        [(50, 40, 4, 12), (600, 3000, 4, 4), (600, 3000, 4, 1), (9, 3000, 700, 4), (9, 2000, 700, 1), (30, 30, 5, 7)]
    {
        let mut data = Data::new(1);
        let (a, x) = (data.csr(rows, cols, mean), data.floats(cols * width));
        agree(&format!("spmm {rows} x {cols}, {width}"), |device| {
            let a = matrix(&a, [rows, cols], device).require_grad();
            let x = floats(&x, [cols, width], device).require_grad();
            let y = a.matmul(x.clone());
            let grads = (y.clone() * y.clone()).sum().backward();
            vec![list(y), list(a.grad(&grads).unwrap().values::<1>()), list(x.grad(&grads).unwrap())]
        });
    }
}

/// Several operands, side by side within each head, with what follows each; without elements too.
#[test]
fn products_of_a_batch() {
    let _turn = TURN.lock();
    let hosted = host_fallbacks();
    let [rows, cols, batch] = [60, 50, 3];
    for (mean, heads, part) in [(4, 1, 12), (4, 1, 1), (4, 3, 4), (4, 2, 5), (40, 3, 1), (0, 2, 4)] {
        let mut data = Data::new(5);
        let (ptr, col, _) = data.csr(rows, cols, mean);
        let (nnz, width) = (col.len(), heads * part);
        let (weights, x, bias) = (data.floats(nnz * heads), data.floats(batch * cols * width), data.floats(width));
        for (adds, relu) in [(false, false), (true, false), (false, true), (true, true)] {
            if nnz == 0 && (adds || relu) {
                continue;
            }
            agree(&format!("{batch} x {heads} x {part}, mean {mean}, bias {adds}, relu {relu}"), |device| {
                let device = &device.clone().inner();
                let (ptr, idx) = (ints(&ptr, [rows + 1], device), ints(&col, [nnz], device));
                let view = RowsView { ptr, idx, perm: None };
                let (weights, x) = (floats(&weights, [nnz, heads], device), floats(&x, [batch * cols, width], device));
                let epilogue = Epilogue { bias: adds.then(|| floats(&bias, [1, width], device)), relu };
                vec![list(kernel::spmm(&view, NO_PLAN, weights, x, batch, &epilogue))]
            });
        }
    }
    assert_eq!(host_fallbacks(), hosted);
}

/// Few rows among many, as the host places them.
#[test]
fn rows_among_zeros() {
    let _turn = TURN.lock();
    for (size, step, width) in [(9, 2, 3), (70_000, 7, 4), (5, 9, 1)] {
        let rows: Vec<i32> = (0..size).step_by(step).collect();
        let values = Data::new(4).floats(rows.len() * width);
        agree(&format!("place_rows of {size}, every {step}"), |device| {
            let values = floats(&values, [rows.len(), width], device);
            let rows = ints(&rows, [rows.len()], device);
            vec![list(kernel::place_rows(values, &rows, size as usize))]
        });
    }
}

/// Segments of one step, of several levels, and in another order than the elements.
#[test]
fn running_sums() {
    let _turn = TURN.lock();
    for (rows, cols, mean) in [(50, 40, 4), (3, 90_000, 3000), (4000, 3, 2)] {
        let a = Data::new(9).csr(rows, cols, mean);
        for axis in 0..2 {
            agree_in(3, &format!("stored().cumsum({axis}) of {rows} x {cols}"), |device| {
                let a = matrix(&a, [rows, cols], device).require_grad();
                let sums = a.stored().cumsum(axis).values::<1>();
                let grads = (sums.clone() * sums.clone()).sum().backward();
                // A running sum has the error of its terms, which are larger than it may be.
                let size = sums.clone().abs().max().add_scalar(1.0);
                let slope = a.grad(&grads).unwrap().values::<1>();
                let large = slope.clone().abs().max().add_scalar(1.0);
                vec![list(sums / size), list(slope / large)]
            });
        }
    }
}

/// As many rows as make more cubes than one axis of a grid has: 65,535 on most devices.
#[test]
fn more_cubes_than_an_axis() {
    let _turn = TURN.lock();
    let rows = 5_000_000;
    let run = |device: &Device| {
        let ids = Tensor::<1, Int>::arange(0..rows, &device.clone().inner());
        let values = (ids.clone() % 7).float().reshape([rows as usize, 1]);
        let none = Tensor::zeros([1, 1], &device.clone().inner());
        let moved = sparse_burn::kernel::move_rows(&values, &none, ids.clone().flip([0]));
        // Each row is the sum of one number.
        let ptr = Tensor::<1, Int>::arange(0..rows + 1, &device.clone().inner());
        list(moved.clone() - sparse_burn::kernel::segment_sum(&moved, None, &ptr) * 2.0)
    };
    let (got, launched) = forced(Forced::default(), || run(&gpu()));
    assert!(got == run(&Device::flex()));
    assert!(launched.contains("move_rows on two axes") && launched.contains("short on two axes"), "{launched:?}");
}

/// A long line is multiplied in parts, and a part of this one overflows. With the unspecified zero the product is zero.
#[test]
fn long_products_beside_a_zero() {
    let _turn = TURN.lock();
    let ptr = vec![0, 2048];
    let a = (ptr, (0..2048).collect(), vec![10.0; 2048]);
    agree("the product of 2048 elements and a zero", |device| {
        let a = matrix(&a, [1, 2049], device).require_grad();
        let product = a.prod();
        let grads = product.clone().backward();
        let slopes = list(a.grad(&grads).unwrap().values::<1>());
        assert!(slopes.iter().all(|&slope| slope == 0.0));
        vec![list(product), slopes]
    });
}

/// Also of numbers whose exponential is infinite.
#[test]
fn activations_and_their_slopes() {
    let _turn = TURN.lock();
    let x: Vec<f32> = Data::new(6).floats(998).into_iter().map(|x| x * 5.0).chain([100.0, 0.0]).collect();
    agree("elu and leaky_relu", |device| {
        let x = floats(&x, [10, 100], device).require_grad();
        let run = |out: Tensor<2>| [list(out.clone()), list(x.grad(&out.sum().backward()).unwrap())];
        [run(elu(x.clone(), 0.5)), run(leaky_relu(x.clone(), 0.2))].concat()
    });
}
