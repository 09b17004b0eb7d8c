//! Sparse matrix times vector, where the columns of most rows are those of the row before, one further: matrices of
//! grids and bands.
//!
//! Of a run of such rows the columns of the first tell the rest. So none is read, a third to a half of the memory of
//! the product, and the parts of the vector are read in order.

use super::compressed::{Compressed, View};
use super::spmv::short_sum;
use crate::epilogue::Epilogue;
use crate::par::{self, split_mut};
use crate::source::{AHEAD, prefetch_row};
use crate::{Element, Index};
use core::ops::Range;
use pulp::{Simd, WithSimd};
use std::sync::Arc;

/// The most elements of a row.
const LONGEST: usize = 9;
/// Rows that are done before values further on are fetched. Without that the product takes half as long again.
const TILE: usize = 64;
/// The fewest rows of a run, on average.
const RUN: usize = 16;
/// After so many rows it is looked whether the runs are long enough.
const LOOK: usize = 4096;

/// The runs of rows of a matrix in which each row has the columns of the one before, plus 1.
///
/// It depends on the pattern alone. Its clones share their memory.
#[derive(Clone, Debug)]
pub struct ShiftedRows {
    /// The first row of each run, and then the number of rows.
    starts: Arc<Vec<usize>>,
}

impl ShiftedRows {
    /// `None` where it would not pay: with runs of less than 16 rows on average, a row of more than 9 elements, or
    /// values in another order. That is known after some rows. O(nnz) time, 8 bytes for each run.
    ///
    /// # Panics
    ///
    /// When pointers descend or do not end within the columns.
    pub fn new<I: Index>(a: Compressed<'_, I>) -> Option<Self> {
        let rows = a.ptr.len().saturating_sub(1);
        if a.perm.is_some() || rows < RUN {
            return None;
        }
        let (mut starts, mut before) = (vec![], &a.idx[..0]);
        for (row, ends) in a.ptr.windows(2).enumerate() {
            let own = &a.idx[ends[0].to_usize()..ends[1].to_usize()];
            let follows = own.len() == before.len() && {
                let next = |(old, new): (&I, &I)| old.to_usize().wrapping_add(1) == new.to_usize();
                before.iter().zip(own).all(next)
            };
            if row == 0 || !follows {
                starts.push(row);
            }
            before = own;
            let too_many = row % LOOK == LOOK - 1 && starts.len() * RUN > row;
            if own.len() > LONGEST || too_many {
                return None;
            }
        }
        let pays = starts.len() * RUN <= rows;
        starts.push(rows);
        pays.then(|| Self { starts: starts.into() })
    }

    /// `out[r] = sum over k of value[k] * x[idx[k]]` with the bits of [`spmm`](crate::spmm()).
    ///
    /// # Panics
    ///
    /// When lengths disagree, or the plan is not of this pattern and an index of it is out of range.
    pub fn spmv<T: Element, I: Index>(
        &self,
        a: Compressed<'_, I>,
        values: &[T],
        x: &[T],
        epilogue: Epilogue<'_, T>,
        out: &mut [T],
    ) {
        assert!(a.perm.is_none(), "spmv: the plan is of values in order");
        let a = a.view();
        assert_eq!(self.starts.last(), Some(&a.ptr.rows()), "spmv: the plan must be of this pattern");
        assert_eq!(out.len(), a.ptr.rows(), "spmv: out must have a number for each row");
        let ranges = a.ptr.cuts(1);
        let outs = split_mut(out, &par::lens(&ranges, Range::len));
        par::each(outs, &|piece, out| {
            T::dispatch(Runs { starts: &self.starts, a, values, x, first: ranges[piece].start, out: &mut *out });
            epilogue.apply(out, 1);
        });
    }
}

/// Some rows, from `first` on.
struct Runs<'a, T> {
    starts: &'a [usize],
    a: View<'a>,
    values: &'a [T],
    x: &'a [T],
    first: usize,
    out: &'a mut [T],
}

impl<T: Element> WithSimd for Runs<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, _: S) {
        let (mut row, mut rest) = (self.first, core::mem::take(&mut self.out));
        let mut run = self.starts.partition_point(|start| *start <= row);
        while !rest.is_empty() {
            let (out, more) = rest.split_at_mut((self.starts[run] - row).min(rest.len()));
            let elements = self.a.ptr.span(row);
            match elements.len() {
                0 => out.fill(T::ZERO),
                1 => self.run::<1>(elements.start, out),
                2 => self.run::<2>(elements.start, out),
                3 => self.run::<3>(elements.start, out),
                4 => self.run::<4>(elements.start, out),
                5 => self.run::<5>(elements.start, out),
                6 => self.run::<6>(elements.start, out),
                7 => self.run::<7>(elements.start, out),
                8 => self.run::<8>(elements.start, out),
                _ => self.run::<LONGEST>(elements.start, out),
            }
            row += out.len();
            (rest, run) = (more, run + 1);
        }
    }
}

impl<T: Element> Runs<'_, T> {
    /// Rows of `L` elements each, the first of which is `first`.
    #[inline(always)]
    fn run<const L: usize>(&self, first: usize, out: &mut [T]) {
        let (values, _) = self.values[first..][..out.len() * L].as_chunks::<L>();
        let columns: [&[T]; L] = std::array::from_fn(|j| &self.x[self.a.idx.at(first + j)..][..out.len()]);
        for ((tile, out), values) in out.chunks_mut(TILE).enumerate().zip(values.chunks(TILE)) {
            let row = tile * TILE;
            prefetch_row(self.values, first + row * L + AHEAD / size_of::<T>(), TILE * L);
            let columns = columns.map(|column| &column[row..][..out.len()]);
            for (k, (out, values)) in out.iter_mut().zip(values).enumerate() {
                *out = short_sum(std::array::from_fn::<_, L, _>(|j| T::mul(values[j].widen(), columns[j][k].widen())));
            }
        }
    }
}

/// For types that are known at run time.
pub(super) mod dynamic {
    use super::super::compressed::dynamic::DynCompressed;
    use super::ShiftedRows;
    use crate::dynamic::slices::{Ids, with_ids};

    /// See [`ShiftedRows::new`].
    pub fn shifted_rows(a: DynCompressed<'_>) -> Option<ShiftedRows> {
        with_ids!(a.ptr, I => ShiftedRows::new::<I>(a.of()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::spmv::spmv;
    use super::*;
    use half::bf16;

    /// Rows in bands of several widths, as rows of a grid 23 wide are, with negative zeros.
    fn bands(rows: usize, most: usize) -> (Vec<i32>, Vec<i32>) {
        let (mut ptr, mut idx) = (vec![0], vec![]);
        for row in 0..rows {
            let length = if row / 23 % 4 == 3 { row / 92 % (most + 1) } else { most };
            idx.extend((0..length).map(|j| (row + j * j) as i32));
            ptr.push(idx.len() as i32);
        }
        (ptr, idx)
    }

    fn check<T: Element>(of: impl Fn(f32) -> T) {
        for most in 0..=LONGEST {
            for rows in [16, 700, 30_011] {
                let (ptr, idx) = bands(rows, most);
                let number = |k: usize| if k % 23 < 12 { -0.0 } else { ((k * 7) as f32 * 0.37).sin() * 9.0 };
                let values: Vec<T> = (0..idx.len()).map(|k| of(number(k))).collect();
                let mut x: Vec<T> = (0..rows + 100).map(|k| of(number(k + 5).abs())).collect();
                (x[7], x[11]) = (of(f32::NAN), of(f32::INFINITY));
                let a = Compressed { ptr: &ptr[..], idx: &idx[..], perm: None };
                let bias = [of(2.0)];
                let epilogue = Epilogue { bias: Some(&bias[..]), relu: true };
                let [mut out, mut want] = [vec![T::ONE; rows], vec![T::ONE; rows]];
                spmv(a, &values, &x, epilogue, &mut want);
                ShiftedRows::new(a).expect("long runs").spmv(a, &values, &x, epilogue, &mut out);
                // The sign of a zero counts as well.
                assert!(format!("{out:?}") == format!("{want:?}"), "{rows} rows of {most}");
                let [ptr, idx] = [&ptr, &idx].map(|list| list.iter().map(|id| i64::from(*id)).collect::<Vec<_>>());
                let a = Compressed { ptr: &ptr[..], idx: &idx[..], perm: None };
                ShiftedRows::new(a).expect("long runs").spmv(a, &values, &x, epilogue, &mut out);
                assert!(format!("{out:?}") == format!("{want:?}"), "{rows} rows of {most}, i64");
            }
        }
    }

    #[test]
    fn runs_of_shifted_rows_have_the_bits_of_other_products() {
        check(|x| x);
        check(f64::from);
        check(bf16::from_f32);
        check(|x| x as i32);
    }

    #[test]
    fn there_is_no_plan_where_it_would_not_pay() {
        let plan = |ptr: &[i32], idx: &[i32], perm| ShiftedRows::new(Compressed { ptr, idx, perm });
        let (ptr, idx) = bands(100, 3);
        assert!(plan(&ptr, &idx, None).is_some());
        let order: Vec<i32> = (0..idx.len() as i32).collect();
        assert!(plan(&ptr, &idx, Some(&order)).is_none(), "values in another order");
        let mixed: Vec<i32> = idx.iter().enumerate().map(|(k, id)| id + (k / 7 % 2) as i32).collect();
        assert!(plan(&ptr, &mixed, None).is_none(), "short runs");
        assert!(plan(&[0, 10], &[0; 10], None).is_none(), "one row");
        let (ptr, idx) = bands(100, LONGEST + 1);
        assert!(plan(&ptr, &idx, None).is_none(), "long rows");
        assert!(plan(&[], &[], None).is_none(), "no pointers");
    }

    #[test]
    #[should_panic(expected = "the plan must be of this pattern")]
    fn a_plan_of_another_number_of_rows_is_refused() {
        let ((ptr, idx), (other, _)) = (bands(100, 3), bands(50, 3));
        let a = Compressed { ptr: &ptr[..], idx: &idx[..], perm: None };
        let plan = ShiftedRows::new(a).expect("long runs");
        plan.spmv(Compressed { ptr: &other[..], ..a }, &[0.0; 300], &[0.0; 200], Epilogue::default(), &mut [0.0; 50]);
    }
}
