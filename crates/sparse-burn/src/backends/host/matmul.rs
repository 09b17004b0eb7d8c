//! Dense products whose results lie in memory that is used again.
//!
//! Burn's own product is the same call. But its result is new memory, and the page faults of a large one take about as
//! long as a third of the product. The call is here and not in `sparse-core` because it needs `unsafe` code.

use crate::host_tensor::{Given, HostTensor};
use crate::kernel::Matmul;
use burn::tensor::TensorData;
use bytemuck::Pod;
use gemm::Parallelism;
use sparse_core::dynamic::{ElementVec, Elements};
use sparse_core::unwritten;

/// Products of fewer multiplications than this run on one thread, as in Burn.
const SHARED: usize = 192 * 192 * 192;

impl Matmul<HostTensor> {
    pub(crate) fn host(self) -> TensorData {
        let Self { x, y, transposed } = self;
        let size = |tensor: &HostTensor, transposed: bool| {
            let dims = tensor.dims();
            if transposed { [dims[1], dims[0]] } else { [dims[0], dims[1]] }
        };
        let ([m, k], [rows, n]) = (size(&x, transposed[0]), size(&y, transposed[1]));
        assert_eq!(k, rows, "matmul: the first factor must have as many columns as the second one has rows");
        let sizes = Sizes { m, k, n, transposed };
        let out: ElementVec = match (x.elements(), y.elements()) {
            (Elements::F32(x), Elements::F32(y)) => product(x, y, [0.0, 1.0], sizes).into(),
            (Elements::F64(x), Elements::F64(y)) => product(x, y, [0.0, 1.0], sizes).into(),
            _ => panic!("matmul: both factors must be f32, or f64"),
        };
        out.data([m, n], x.dtype())
    }
}

#[derive(Clone, Copy)]
struct Sizes {
    m: usize,
    k: usize,
    n: usize,
    /// Which factors are stored transposed.
    transposed: [bool; 2],
}

/// The product of `x [m, k]` and `y [k, n]`, row-major.
fn product<T: Pod>(x: &[T], y: &[T], [zero, one]: [T; 2], Sizes { m, k, n, transposed }: Sizes) -> Vec<T> {
    let count = |rows: usize, cols: usize| rows.checked_mul(cols).expect("a matrix must fit the address space");
    assert_eq!((x.len(), y.len()), (count(m, k), count(k, n)), "matmul: a factor must have all of its elements");
    if k == 0 {
        return vec![zero; count(m, n)];
    }
    let mut out = unwritten::<T>(count(m, n));
    // From one column to the next, and from one row to the next.
    let strides = |transposed: bool, rows: usize, cols: usize| {
        if transposed { (rows as isize, 1) } else { (1, cols as isize) }
    };
    let ((x_col, x_row), (y_col, y_row)) = (strides(transposed[0], m, k), strides(transposed[1], k, n));
    let shared = m.saturating_mul(k).saturating_mul(n) >= SHARED;
    let threads = if shared { Parallelism::Rayon(0) } else { Parallelism::None };
    let (to, x, y) = (out.as_mut_ptr(), x.as_ptr(), y.as_ptr());
    // SAFETY: the three arrays have `m * n`, `m * k` and `k * n` elements (the last two were checked), and these are
    // what the sizes and the strides reach. The result overlaps neither factor. It is written and not read.
    unsafe {
        gemm::gemm(
            m, n, k, to, 1, n as isize, false, x, x_col, x_row, y, y_col, y_row, zero, one, false, false, false,
            threads,
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes of one block and of several, of several threads, and without elements.
    #[test]
    fn is_the_plain_product_of_each_form() {
        for [m, k, n] in [[1, 1, 1], [3, 5, 2], [4, 0, 3], [0, 3, 2], [2, 3, 0], [70, 33, 65], [200, 190, 210]] {
            let x: Vec<f64> = (0..m * k).map(|at| (at as f64 * 0.37).sin()).collect();
            let y: Vec<f64> = (0..k * n).map(|at| (at as f64 * 0.73).cos()).collect();
            let transpose = |list: &[f64], rows: usize, cols: usize| -> Vec<f64> {
                (0..rows * cols).map(|at| list[at % rows * cols + at / rows]).collect()
            };
            let want: Vec<f64> =
                (0..m * n).map(|at| (0..k).map(|j| x[at / n * k + j] * y[j * n + at % n]).sum()).collect();
            for transposed in [[false, false], [true, false], [false, true], [true, true]] {
                let x = if transposed[0] { transpose(&x, m, k) } else { x.clone() };
                let y = if transposed[1] { transpose(&y, k, n) } else { y.clone() };
                let out = product(&x, &y, [0.0, 1.0], Sizes { m, k, n, transposed });
                assert_eq!(out.len(), m * n);
                for (out, want) in out.iter().zip(&want) {
                    assert!((out - want).abs() < 1e-12, "{m} x {k} x {n}, {transposed:?}: {out} and {want}");
                }
            }
        }
    }
}
