//! Applying an element-wise operation through two index maps.
//!
//! Operands are gathered into buffers that stay in the first-level cache. The gathering depends only on the size of the
//! elements. The operation is a loop over slices; only this loop is compiled for each type and each operation.

use super::csr::steps;
use super::steps::{Apply, CHUNK, Keep};
use crate::bits::OfBits;
use crate::gather::pick;
use crate::{Element, Index, Plain, memory::unwritten, par};
use bytemuck::{cast_slice, cast_slice_mut};
use core::ops::Range;

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
    /// Name of the operation in error messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Sub => "sub",
            Self::Mul => "mul",
            Self::Div => "div",
        }
    }

    /// `out[k] = op(x[k], y[k])`.
    fn apply<T: Element>(self, out: &mut [T], x: &[T], y: &[T]) {
        match self {
            Self::Add => each(out, x, y, T::add),
            Self::Sub => each(out, x, y, T::sub),
            Self::Mul => each(out, x, y, T::mul),
            Self::Div => each(out, x, y, T::div),
        }
    }
}

#[inline(always)]
fn each<T: Element>(out: &mut [T], x: &[T], y: &[T], f: impl Fn(T::Acc, T::Acc) -> T::Acc) {
    for ((out, x), y) in out.iter_mut().zip(x).zip(y) {
        *out = T::narrow(f(x.widen(), y.widen()));
    }
}

/// Rows of at least this many elements get one call of the operation each.
const LONG: usize = 64;

/// `out[k] = op(a[map_a[k]], b[map_b[k]])`, with a row of `block` values for each element of a merged pattern.
///
/// `a` is `[nnz_a, block]`. `fill_a` is one row of `block` values that is used for a missing element (map entry
/// `nnz_a`); it may be empty if none is missing. The same applies to `b`. `out` is `[nnz, block]`. A map of `None` is
/// the identity. Floats follow IEEE 754 (`x / 0`, `0 / 0`, signed zeros), integers wrap. f16 and bf16 are computed in
/// f32 and rounded once. Time O(nnz * block), no extra memory.
///
/// # Panics
/// If a map entry is out of range or lengths disagree.
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
    let a = Side { values: cast_slice(a), fill: cast_slice(fill_a), map: map_a, block };
    let b = Side { values: cast_slice(b), fill: cast_slice(fill_b), map: map_b, block };
    zip::<T::Bits, I>(a, b, cast_slice_mut(out), &|out, x, y| {
        op.apply::<T>(cast_slice_mut(out), cast_slice(x), cast_slice(y))
    });
}

/// One operand: its rows, the row for a missing element, and the map to them.
#[derive(Clone, Copy)]
struct Side<'a, T, I> {
    values: &'a [T],
    fill: &'a [T],
    map: Option<&'a [I]>,
    block: usize,
}

impl<'a, T: Plain, I: Index> Side<'a, T, I> {
    fn check(&self, name: &str, rows: usize) {
        let len = self.map.map_or(self.values.len() / self.block, <[I]>::len);
        assert_eq!(len, rows, "zip_rows: {name} must have one entry for each row of out");
    }

    /// The stored row `p`, or the fill.
    #[inline(always)]
    fn row(&self, p: usize) -> &'a [T] {
        // p * block overflows only if p is not a stored row.
        if p.checked_mul(self.block).is_some_and(|at| at < self.values.len()) {
            &self.values[p * self.block..][..self.block]
        } else {
            assert_eq!(p, self.values.len() / self.block, "zip_rows: a map entry is out of range");
            &self.fill[..self.block]
        }
    }

    /// The operand's rows for the rows `range` of the result: a slice of the values if they are contiguous there, else
    /// a copy in `buffer`.
    fn rows<'b>(&self, range: Range<usize>, buffer: &'b mut [T]) -> &'b [T]
    where
        'a: 'b,
    {
        let block = self.block;
        let map = match self.map {
            None => return &self.values[range.start * block..range.end * block],
            Some(map) => &map[range],
        };
        if block == 1 {
            let fill = self.fill.first().copied().unwrap_or_default();
            let in_range = pick(self.values, Some(fill), map, &mut buffer[..map.len()]);
            assert!(in_range, "zip_rows: a map entry is out of range");
        } else if let [p] = map {
            return self.row(p.to_usize());
        } else {
            for (slot, p) in buffer.chunks_exact_mut(block).zip(map) {
                for (slot, x) in slot.iter_mut().zip(self.row(p.to_usize())) {
                    *slot = *x;
                }
            }
        }
        &buffer[..map.len() * block]
    }
}

fn zip<T: Plain, I: Index>(a: Side<T, I>, b: Side<T, I>, out: &mut [T], apply: Apply<'_, T>) {
    if out.is_empty() {
        return;
    }
    let block = a.block;
    assert_eq!(out.len() % block, 0, "zip_rows: out must be rows of block values");
    let rows = out.len() / block;
    a.check("map_a", rows);
    b.check("map_b", rows);
    // Without maps the operands are two flat lists of single values. A single long row needs no buffer.
    let identity = a.map.is_none() && b.map.is_none();
    let block = if identity { 1 } else { block };
    let (a, b, rows) = (Side { block, ..a }, Side { block, ..b }, out.len() / block);
    let step = if block < LONG { CHUNK / block } else { 1 };
    par::for_pieces(&par::even(rows, block), out, &|r| r.len() * block, &|rows, out| {
        let (mut x, mut y) = ([T::default(); CHUNK], [T::default(); CHUNK]);
        for (start, out) in rows.step_by(step).zip(out.chunks_mut(step * block)) {
            let rows = start..start + out.len() / block;
            apply(out, a.rows(rows.clone(), &mut x), b.rows(rows, &mut y));
        }
    });
}

/// Structure and values of an element-wise operation on the union of two CSR matrices.
///
/// The result is the same as [`union_csr`](super::union_csr) followed by [`zip_rows`] with `block` 1, but the two maps
/// are not stored. Returns `(row_ptr, col_idx, values)`.
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
    let (row_ptr, steps) = steps(Keep::Union, (a_ptr, a_col), (b_ptr, b_col));
    let col_idx = steps.indices(&[a_col], &[b_col]);
    let mut values = unwritten::<T>(col_idx.len());
    let bits = |x: T| -> T::Bits { bytemuck::cast(x) };
    steps.values::<<T as OfBits>::Bits>(
        (cast_slice(a_val), bits(fill_a)),
        (cast_slice(b_val), bits(fill_b)),
        cast_slice_mut(&mut values),
        &|out, x, y| op.apply::<T>(cast_slice_mut(out), cast_slice(x), cast_slice(y)),
    );
    (row_ptr, col_idx, values)
}

/// For types that are known at run time.
pub(super) mod dynamic {
    use super::BinaryOp;
    use crate::dynamic::slices::{
        AnyElement, AnyIndex, Csr, ElementVec, Elements, IdVec, Ids, with_elements, with_ids,
    };
    use crate::memory::unwritten;

    /// A side of [`zip_rows`]: values, the fill row, and the index map.
    pub type DynSide<'a> = (Elements<'a>, Elements<'a>, Option<Ids<'a>>);

    fn side<'a, T: AnyElement, I: AnyIndex>((values, fill, map): DynSide<'a>) -> (&'a [T], &'a [T], Option<&'a [I]>) {
        (T::elements(values), T::elements(fill), map.map(I::ids))
    }

    /// See [`zip_rows`](crate::zip_rows()): `[rows, block]`.
    pub fn zip_rows(op: BinaryOp, a: DynSide<'_>, b: DynSide<'_>, block: usize, rows: usize) -> ElementVec {
        let ids = a.2.or(b.2).unwrap_or(Ids::I32(&[]));
        with_ids!(ids, I => with_elements!(a.0, T => {
            let mut out = unwritten::<T>(rows * block);
            let ((a, fill_a, map_a), (b, fill_b, map_b)) = (side::<T, I>(a), side::<T, I>(b));
            super::zip_rows::<T, I>(op, a, fill_a, map_a, b, fill_b, map_b, block, &mut out);
            T::element_vec(out)
        }))
    }

    /// A matrix of [`union_apply_csr`]: its pattern, its values, and its fill of one element.
    pub type DynMatrix<'a> = (Csr<'a>, Elements<'a>, Elements<'a>);

    fn matrix<'a, T: AnyElement, I: AnyIndex>(
        ((ptr, col), values, fill): DynMatrix<'a>,
    ) -> (&'a [I], &'a [I], &'a [T], T) {
        (I::ids(ptr), I::ids(col), T::elements(values), T::elements(fill)[0])
    }

    /// See [`union_apply_csr`](crate::union_apply_csr()): row pointers, columns, values.
    pub fn union_apply_csr(op: BinaryOp, a: DynMatrix<'_>, b: DynMatrix<'_>) -> (IdVec, IdVec, ElementVec) {
        with_ids!(a.0.0, I => with_elements!(a.1, T => {
            let ((ptr_a, col_a, a, fill_a), (ptr_b, col_b, b, fill_b)) = (matrix::<T, I>(a), matrix::<T, I>(b));
            let (ptr, col, out) = super::union_apply_csr::<T, I>(op, ptr_a, col_a, a, fill_a, ptr_b, col_b, b, fill_b);
            (I::id_vec(ptr), I::id_vec(col), T::element_vec(out))
        }))
    }
}
