//! Dense products whose results lie in memory that is used again, with a bias and ReLU while a panel is in the cache.
//!
//! Burn's own product calls `gemm` too. But its result is new memory, and the page faults of a large one take about as
//! long as a third of the product. The call is here and not in `sparse-core` because it needs `unsafe` code.

use crate::host_tensor::{Given, HostTensor};
use crate::kernel::{Matmul, SpmmMatmul};
use burn::tensor::TensorData;
use gemm::Parallelism;
use sparse_core::dynamic::{self, ElementVec, Elements};
use sparse_core::{Epilogue, Float, bias_relu, for_chunks, recycle, threads, unwritten};
use std::iter::repeat_with;
use std::ops::Range;

/// Products of fewer multiplications than this run on one thread, as in Burn.
const SHARED: usize = 192 * 192 * 192;

/// Rows of a panel of the result. It stays in the second-level cache, if it is not wide, until its epilogue is done.
const PANEL: usize = 1 << 10;

/// Terms of a part of a long sum. `gemm` shares rows and columns among threads, which wait for each other at every
/// block of terms.
const PART: usize = 1 << 12;

/// Most elements of such a result.
const SMALL: usize = 1 << 16;

impl Matmul<HostTensor> {
    pub(crate) fn host(self) -> TensorData {
        let Self { x, y, transposed, epilogue } = self;
        let size = |tensor: &HostTensor, transposed: bool| {
            let dims = tensor.dims();
            if transposed { [dims[1], dims[0]] } else { [dims[0], dims[1]] }
        };
        let ([m, k], [rows, n]) = (size(&x, transposed[0]), size(&y, transposed[1]));
        assert_eq!(k, rows, "matmul: the first factor must have as many columns as the second one has rows");
        let sizes = Sizes { m, k, n, transposed };
        let (bias, relu) = (epilogue.bias.as_ref().map(HostTensor::elements), epilogue.relu);
        let out: ElementVec = match (x.elements(), y.elements(), bias) {
            (Elements::F32(x), Elements::F32(y), None) => product(x, y, sizes, Epilogue { bias: None, relu }).into(),
            (Elements::F64(x), Elements::F64(y), None) => product(x, y, sizes, Epilogue { bias: None, relu }).into(),
            (Elements::F32(x), Elements::F32(y), Some(Elements::F32(bias))) => {
                product(x, y, sizes, Epilogue { bias: Some(bias), relu }).into()
            }
            (Elements::F64(x), Elements::F64(y), Some(Elements::F64(bias))) => {
                product(x, y, sizes, Epilogue { bias: Some(bias), relu }).into()
            }
            _ => panic!("matmul: the factors and the bias must be f32, or f64"),
        };
        out.data([m, n], x.dtype())
    }
}

impl SpmmMatmul<HostTensor> {
    pub(crate) fn host(self) -> (TensorData, Option<TensorData>) {
        let Self { view, values, dense, weight, epilogue, keep } = self;
        let sizes = [view.ptr.dims()[0] - 1, dense.dims()[1], weight.dims()[1]];
        let (a, dtype, relu) = (view.slices(), dense.dtype(), epilogue.relu);
        let bias = epilogue.bias.as_ref().map(HostTensor::elements);
        let (values, dense) = (values.elements(), dense.elements());
        let gather = |rows| dynamic::spmm(a.part(rows), None, values, dense, [1, 1, sizes[1]], None, false);
        let (out, kept): (ElementVec, Option<ElementVec>) = match weight.elements() {
            Elements::F32(weight) => {
                let gather = |rows| if let ElementVec::F32(list) = gather(rows) { list } else { unreachable!() };
                let bias = bias.map(|bias| if let Elements::F32(bias) = bias { bias } else { unreachable!() });
                let (out, kept) = panels(sizes, &gather, weight, Epilogue { bias, relu }, keep);
                (out.into(), kept.map(Into::into))
            }
            Elements::F64(weight) => {
                let gather = |rows| if let ElementVec::F64(list) = gather(rows) { list } else { unreachable!() };
                let bias = bias.map(|bias| if let Elements::F64(bias) = bias { bias } else { unreachable!() });
                let (out, kept) = panels(sizes, &gather, weight, Epilogue { bias, relu }, keep);
                (out.into(), kept.map(Into::into))
            }
            _ => panic!("spmm_matmul: the factors must be f32, or f64"),
        };
        let [rows, terms, columns] = sizes;
        (out.data([rows, columns], dtype), kept.map(|kept| kept.data([rows, terms], dtype)))
    }
}

/// Numbers of a panel and of its result: half a second-level cache of f32.
const CACHED: usize = 1 << 17;

/// `gather(rows) y` and what follows it, of some of the `m` rows at a time. Gives the rows of `gather` too, to `keep`
/// them.
fn panels<T: Float>(
    [m, k, n]: [usize; 3],
    gather: &(dyn Fn(Range<usize>) -> Vec<T> + Sync),
    y: &[T],
    then: Epilogue<'_, T>,
    keep: bool,
) -> (Vec<T>, Option<Vec<T>>) {
    assert!(k > 0 && n > 0, "spmm_matmul: there must be columns");
    let size = (CACHED / (k + n)).clamp(64, PANEL);
    let (y, mut out) = (Factor::new(y, [k, n], false), unwritten::<T>(m * n));
    let mut kept = keep.then(|| unwritten::<T>(m * k));
    let parts = kept.iter_mut().flat_map(|kept| kept.chunks_mut(size * k).map(Some)).chain(repeat_with(|| None));
    let mut jobs: Vec<_> = out.chunks_mut(size * n).zip(parts).collect();
    for_chunks(&mut jobs, 1, &|at, job| {
        let (out, kept) = &mut job[0];
        let rows = out.len() / n;
        let gathered = gather(at * size..at * size + rows);
        multiply([rows, k, n], Factor::new(&gathered, [rows, k], false), y, out, [n, 1], Parallelism::None);
        bias_relu(None, out, n, then);
        if let Some(kept) = kept {
            kept.copy_from_slice(&gathered);
        }
        recycle(gathered);
    });
    (out, kept)
}

#[derive(Clone, Copy)]
struct Sizes {
    m: usize,
    k: usize,
    n: usize,
    /// Which factors are stored transposed.
    transposed: [bool; 2],
}

/// The product of `x [m, k]` and `y [k, n]`, row-major, and what follows it.
///
/// Panels of rows are shared among threads; where these are few, parts of the sums are, and are added in their order.
/// So the bits do not depend on the number of threads.
fn product<T: Float>(x: &[T], y: &[T], Sizes { m, k, n, transposed }: Sizes, then: Epilogue<'_, T>) -> Vec<T> {
    let count = |rows: usize, cols: usize| rows.checked_mul(cols).expect("a matrix must fit the address space");
    assert_eq!((x.len(), y.len()), (count(m, k), count(k, n)), "matmul: a factor must have all of its elements");
    let (x, y) = (Factor::new(x, [m, k], transposed[0]), Factor::new(y, [k, n], transposed[1]));
    let shared = m.saturating_mul(k).saturating_mul(n) >= SHARED;
    let mut out = unwritten::<T>(count(m, n));
    if out.is_empty() {
        return out;
    }
    if k == 0 {
        out.fill(T::ZERO);
    } else if shared && m >= 2 * PANEL {
        each_chunk(&mut out, PANEL * n, &|panel, own, threads| {
            let rows = own.len() / n;
            multiply([rows, k, n], x.part([panel * PANEL, 0]), y, own, [n, 1], threads);
            bias_relu(None, own, n, then);
        });
        return out;
    } else if shared && k >= 2 * PART && m * n <= SMALL {
        // `gemm` is faster with the longer side of a result first.
        let strides = if m > n { [1, m] } else { [n, 1] };
        let mut parts = unwritten::<T>(k.div_ceil(PART) * m * n);
        each_chunk(&mut parts, m * n, &|part, own, threads| {
            let first = part * PART;
            let sizes = [m, PART.min(k - first), n];
            multiply(sizes, x.part([0, first]), y.part([first, 0]), own, strides, threads);
        });
        let (sum, rest) = parts.split_at_mut(m * n);
        for part in rest.chunks_exact(m * n) {
            sum.iter_mut().zip(part).for_each(|(sum, term)| *sum = T::narrow(T::add(sum.widen(), term.widen())));
        }
        for (at, out) in out.iter_mut().enumerate() {
            *out = sum[at / n * strides[0] + at % n * strides[1]];
        }
        recycle(parts);
    } else {
        let threads = if shared { Parallelism::Rayon(0) } else { Parallelism::None };
        multiply([m, k, n], x, y, &mut out, [n, 1], threads);
    }
    bias_relu(None, &mut out, n, then);
    out
}

/// Shares chunks among threads, or each chunk where they are too few for even shares. The bits are the same: threads
/// share what is written, not the sums.
fn each_chunk<T: Float>(list: &mut [T], len: usize, body: &(dyn Fn(usize, &mut [T], Parallelism) + Sync)) {
    if list.len().div_ceil(len) < 4 * threads() {
        list.chunks_mut(len).enumerate().for_each(|(at, chunk)| body(at, chunk, Parallelism::Rayon(0)));
    } else {
        for_chunks(list, len, &|at, chunk| body(at, chunk, Parallelism::None));
    }
}

/// A matrix, from one of its elements on.
#[derive(Clone, Copy)]
struct Factor<'a, T> {
    elements: &'a [T],
    /// From one row to the next, and from one column to the next.
    strides: [usize; 2],
}

impl<'a, T> Factor<'a, T> {
    fn new(elements: &'a [T], [rows, cols]: [usize; 2], transposed: bool) -> Self {
        Self { elements, strides: if transposed { [1, rows] } else { [cols, 1] } }
    }

    fn part(self, [row, col]: [usize; 2]) -> Self {
        Self { elements: &self.elements[row * self.strides[0] + col * self.strides[1]..], ..self }
    }
}

/// Where the last element of a matrix of this size is.
fn last(strides: [usize; 2], [rows, cols]: [usize; 2]) -> usize {
    (rows - 1) * strides[0] + (cols - 1) * strides[1]
}

/// `out = x y`, of at least one element and one term.
fn multiply<T: Float>(
    [m, k, n]: [usize; 3],
    x: Factor<'_, T>,
    y: Factor<'_, T>,
    out: &mut [T],
    strides: [usize; 2],
    threads: Parallelism,
) {
    assert!(last(x.strides, [m, k]) < x.elements.len(), "matmul: the first factor must have all of its elements");
    assert!(last(y.strides, [k, n]) < y.elements.len(), "matmul: the second factor must have all of its elements");
    assert!(last(strides, [m, n]) < out.len(), "matmul: the result must have room for all elements");
    let (to, [x_row, x_col], [y_row, y_col]) = (out.as_mut_ptr(), x.strides, y.strides);
    let (x, y, [row, col]) = (x.elements.as_ptr(), y.elements.as_ptr(), strides);
    let signed = |stride: usize| stride as isize;
    // SAFETY: the sizes and strides reach no element behind the last ones, which were checked. The result overlaps
    // neither factor. It is written and not read.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            to,
            signed(col),
            signed(row),
            false,
            x,
            signed(x_col),
            signed(x_row),
            y,
            signed(y_col),
            signed(y_row),
            T::ZERO,
            T::ONE,
            false,
            false,
            false,
            threads,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes of one block, of several panels, of sums in parts, of several threads, and without elements.
    #[test]
    fn is_the_plain_product_of_each_form() {
        let (panels, parts) = (2 * PANEL + 5, 2 * PART + 3);
        let sizes = [[1, 1, 1], [3, 5, 2], [4, 0, 3], [0, 3, 2], [2, 3, 0], [70, 33, 65], [200, 190, 210]];
        for [m, k, n] in sizes.into_iter().chain([[panels, 70, 60], [30, parts, 40], [40, parts, 30]]) {
            let x: Vec<f64> = (0..m * k).map(|at| (at as f64 * 0.37).sin()).collect();
            let y: Vec<f64> = (0..k * n).map(|at| (at as f64 * 0.73).cos()).collect();
            let bias: Vec<f64> = (0..n).map(|at| at as f64 - 0.5 * n as f64).collect();
            let transpose = |list: &[f64], rows: usize, cols: usize| -> Vec<f64> {
                (0..rows * cols).map(|at| list[at % rows * cols + at / rows]).collect()
            };
            let sum = |at: usize| (0..k).map(|j| x[at / n * k + j] * y[j * n + at % n]).sum::<f64>();
            let want: Vec<f64> = (0..m * n).map(|at| (sum(at) + bias[at % n]).max(0.0)).collect();
            for transposed in [[false, false], [true, false], [false, true], [true, true]] {
                let x = if transposed[0] { transpose(&x, m, k) } else { x.clone() };
                let y = if transposed[1] { transpose(&y, k, n) } else { y.clone() };
                let then = Epilogue { bias: Some(&bias), relu: true };
                let out = product(&x, &y, Sizes { m, k, n, transposed }, then);
                assert_eq!(out.len(), m * n);
                for (out, want) in out.iter().zip(&want) {
                    assert!((out - want).abs() < 1e-9, "{m} x {k} x {n}, {transposed:?}: {out} and {want}");
                }
            }
        }
    }
}
