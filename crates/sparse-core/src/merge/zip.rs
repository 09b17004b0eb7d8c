//! Applying an element-wise operation through two index maps.

use super::csr::{count_rows, cut, row, row_pieces};
use crate::simd::dispatch;
use crate::{Element, Index, alloc::zeroed, par};
use core::hint::select_unpredictable;
use core::ops::Range;
use pulp::{Simd, WithSimd};

/// An element-wise operation of two operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// `a + b`
    Add,
    /// `a - b`
    Sub,
    /// `a * b`
    Mul,
    /// `a / b`
    Div,
}

impl BinaryOp {
    /// Name of the operation as errors spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Sub => "sub",
            Self::Mul => "mul",
            Self::Div => "div",
        }
    }
}

/// Calls `$run` with the closure of the operation: the match is outside every loop.
macro_rules! with_op {
    ($op:expr, $t:ty, $run:expr) => {
        match $op {
            BinaryOp::Add => $run(|a: $t, b: $t| <$t>::narrow(<$t>::add(a.widen(), b.widen()))),
            BinaryOp::Sub => $run(|a: $t, b: $t| <$t>::narrow(<$t>::sub(a.widen(), b.widen()))),
            BinaryOp::Mul => $run(|a: $t, b: $t| <$t>::narrow(<$t>::mul(a.widen(), b.widen()))),
            BinaryOp::Div => $run(|a: $t, b: $t| <$t>::narrow(<$t>::div(a.widen(), b.widen()))),
        }
    };
}

/// `out[k] = op(a[map_a[k]], b[map_b[k]])`, a row of `block` values for each element of a merged pattern.
///
/// `a` is `[nnz_a, block]`, `fill_a` one row of `block` that stands for a missing element (map entry `nnz_a`; it
/// may be empty where none is missing), likewise `b`; `out` is `[nnz, block]`. A map of `None` is the identity.
/// Floats follow IEEE 754 (`x / 0`, `0 / 0`, signed zeros), integers wrap; f16 and bf16 are computed in f32 and
/// rounded once. Time O(nnz * block), no memory.
///
/// # Panics
/// If a map entry is out of range or the lengths do not agree.
#[allow(clippy::too_many_arguments)]
pub fn zip_rows<T: Element, I: Index>(
    op: BinaryOp,
    a: &[T],
    fill_a: &[T],
    map_a: Option<&[I]>,
    b: &[T],
    fill_b: &[T],
    map_b: Option<&[I]>,
    block: usize,
    out: &mut [T],
) {
    if out.is_empty() {
        return;
    }
    assert_eq!(out.len() % block, 0, "zip_rows: out must be rows of block values");
    let nnz = out.len() / block;
    for (name, map, values) in [("map_a", map_a, a), ("map_b", map_b, b)] {
        let len = map.map_or(values.len() / block, <[I]>::len);
        assert_eq!(len, nnz, "zip_rows: {name} must have one entry for each row of out");
    }
    let a = Side { values: a, fill: fill_a, map: map_a, block };
    let b = Side { values: b, fill: fill_b, map: map_b, block };
    with_op!(op, T, |f| zip_with(a, b, out, f))
}

/// One operand: its rows, the row for a missing element, and the way to them.
#[derive(Clone, Copy)]
struct Side<'a, T, I> {
    values: &'a [T],
    fill: &'a [T],
    map: Option<&'a [I]>,
    block: usize,
}

impl<'a, T: Copy, I: Index> Side<'a, T, I> {
    fn row(&self, k: usize) -> &'a [T] {
        let p = self.map.map_or(k, |map| map[k].to_usize());
        // p * block cannot overflow for a stored row, and a larger p is not one.
        if p.checked_mul(self.block).is_some_and(|at| at < self.values.len()) {
            &self.values[p * self.block..][..self.block]
        } else {
            assert_eq!(p, self.values.len() / self.block, "zip_rows: a map entry is out of range");
            &self.fill[..self.block]
        }
    }
}

fn zip_with<T: Element, I: Index>(a: Side<T, I>, b: Side<T, I>, out: &mut [T], f: impl Fn(T, T) -> T + Sync + Copy) {
    let block = a.block;
    let pieces = par::even(out.len() / block, block);
    par::for_pieces(&pieces, out, &|r| r.len() * block, &|rows, out| {
        if block > 1 {
            for (k, out) in rows.zip(out.chunks_exact_mut(block)) {
                for ((out, &x), &y) in out.iter_mut().zip(a.row(k)).zip(b.row(k)) {
                    *out = f(x, y);
                }
            }
            return;
        }
        let (fill_a, fill_b) = (first(a.fill), first(b.fill));
        match (a.map, b.map) {
            (None, None) => {
                for ((out, &x), &y) in out.iter_mut().zip(&a.values[rows.clone()]).zip(&b.values[rows]) {
                    *out = f(x, y);
                }
            }
            (Some(ma), Some(mb)) => {
                for ((out, p), q) in out.iter_mut().zip(&ma[rows.clone()]).zip(&mb[rows]) {
                    *out = f(pick(a.values, fill_a, *p), pick(b.values, fill_b, *q));
                }
            }
            (None, Some(mb)) => {
                for ((out, &x), q) in out.iter_mut().zip(&a.values[rows.clone()]).zip(&mb[rows]) {
                    *out = f(x, pick(b.values, fill_b, *q));
                }
            }
            (Some(ma), None) => {
                for ((out, p), &y) in out.iter_mut().zip(&ma[rows.clone()]).zip(&b.values[rows]) {
                    *out = f(pick(a.values, fill_a, *p), y);
                }
            }
        }
    });
}

#[inline(always)]
fn first<T: Copy + Default>(fill: &[T]) -> T {
    fill.first().copied().unwrap_or_default()
}

#[inline(always)]
fn pick<T: Copy, I: Index>(values: &[T], fill: T, p: I) -> T {
    let p = p.to_usize();
    assert!(p <= values.len(), "zip_rows: a map entry is out of range");
    if p < values.len() { values[p] } else { fill }
}

/// Structure and values of an element-wise operation on the union of two CSR matrices, in one pass over both.
///
/// The same result as [`union_csr`](super::union_csr) and then [`zip_rows`] with `block` 1, without the two maps in
/// memory. Returns `(row_ptr, col_idx, values)`.
///
/// # Panics
/// If the row counts differ or the union does not fit the index type.
#[allow(clippy::too_many_arguments)]
pub fn union_apply_csr<T: Element, I: Index>(
    op: BinaryOp,
    a_ptr: &[I],
    a_col: &[I],
    a_val: &[T],
    fill_a: T,
    b_ptr: &[I],
    b_col: &[I],
    b_val: &[T],
    fill_b: T,
) -> (Vec<I>, Vec<I>, Vec<T>) {
    let a = Matrix { ptr: a_ptr, col: a_col, val: a_val, fill: fill_a };
    let b = Matrix { ptr: b_ptr, col: b_col, val: b_val, fill: fill_b };
    with_op!(op, T, |f| union_apply(a, b, f))
}

#[derive(Clone, Copy)]
struct Matrix<'a, T, I> {
    ptr: &'a [I],
    col: &'a [I],
    val: &'a [T],
    fill: T,
}

fn union_apply<T: Element, I: Index>(
    a: Matrix<T, I>,
    b: Matrix<T, I>,
    f: impl Fn(T, T) -> T + Sync,
) -> (Vec<I>, Vec<I>, Vec<T>) {
    let pieces = row_pieces(a.ptr, b.ptr);
    let (row_ptr, starts) = count_rows(&pieces, (a.ptr, a.col), (b.ptr, b.col), super::csr::count_union);
    let nnz = starts[pieces.len()];
    let (mut col_idx, mut values) = (zeroed(nnz), zeroed(nnz));
    let cuts = cut(&mut col_idx, &starts).into_iter().zip(cut(&mut values, &starts)).collect();
    par::each(cuts, &|piece, (col, val)| {
        // AVX-512 has masked scalar loads; without them choosing between a value and the fill becomes a branch that
        // is mispredicted every other time (50 against 30 ms for 5M + 5M elements).
        dispatch::<T, I, _>(UnionRows { a, b, row_ptr: &row_ptr, rows: pieces[piece].clone(), col, val, f: &f });
    });
    (row_ptr, col_idx, values)
}

/// Columns and values of some rows of the union.
struct UnionRows<'a, T, I, F> {
    a: Matrix<'a, T, I>,
    b: Matrix<'a, T, I>,
    row_ptr: &'a [I],
    rows: Range<usize>,
    col: &'a mut [I],
    val: &'a mut [T],
    f: &'a F,
}

impl<T: Element, I: Index, F: Fn(T, T) -> T> WithSimd for UnionRows<'_, T, I, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { a, b, row_ptr, rows, col, val, f } = self;
        let base = row_ptr[rows.start].to_usize();
        for r in rows {
            let out = row_ptr[r].to_usize() - base..row_ptr[r + 1].to_usize() - base;
            let (col, val) = (&mut col[out.clone()], &mut val[out]);
            let (ac, bc) = (row((a.ptr, a.col), r), row((b.ptr, b.col), r));
            let (av, bv) = (row((a.ptr, a.val), r), row((b.ptr, b.val), r));
            let (mut i, mut j, mut k) = (0, 0, 0);
            while i < ac.len() && j < bc.len() {
                let (x, y) = (ac[i], bc[j]);
                let (take_a, take_b) = (x <= y, y <= x);
                col[k] = x.min(y);
                let (v, w) = (av[i], bv[j]);
                val[k] = f(select_unpredictable(take_a, v, a.fill), select_unpredictable(take_b, w, b.fill));
                i += take_a as usize;
                j += take_b as usize;
                k += 1;
            }
            for ((&x, &v), (col, val)) in ac[i..].iter().zip(&av[i..]).zip(col[k..].iter_mut().zip(&mut val[k..])) {
                (*col, *val) = (x, f(v, b.fill));
                k += 1;
            }
            for ((&y, &v), (col, val)) in bc[j..].iter().zip(&bv[j..]).zip(col[k..].iter_mut().zip(&mut val[k..])) {
                (*col, *val) = (y, f(a.fill, v));
            }
        }
    }
}
