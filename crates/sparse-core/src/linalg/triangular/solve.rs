//! The solution of a triangular system, row by row.

use super::levels::{MISSING, Sorted, TrianglePlan, WIDE, row};
use super::triangle::Triangle;
use crate::linalg::compressed::Compressed;
use crate::memory::Scratch;
use crate::par;
use crate::simd::dispatch;
use crate::{Element, Float, Index, Result, SparseError};
use core::ops::Range;
use pulp::{Simd, WithSimd};
use std::sync::atomic::{AtomicBool, Ordering};

/// `x` with `A x = b`, where `A` is a triangle of the matrix `a`: `b` and `x` are row-major `[rows, width]`.
///
/// `x[r] = (b[r] - sum over c of a[r, c] x[c]) / a[r, r]`, where the sum goes from the element farthest from the
/// diagonal to the nearest one, so the last row that was solved is needed last. The columns of each row ascend.
///
/// One thread solves the rows one after the other. Several take the columns, from 16 on: each gets some of them. With
/// fewer columns they share the rows of each level of a [`TrianglePlan`], if there is one. In all of these each sum has
/// the same order, so the bits are the same. O(nnz * width); no extra memory with one thread, else that of `x` again.
///
/// # Errors
///
/// [`Invalid`](SparseError::Invalid) with the first row whose diagonal is zero or not stored, unless the diagonal is 1.
///
/// # Panics
///
/// When lengths disagree, pointers descend, an index is out of range, or the plan is of another pattern.
pub fn solve_triangular<T: Float + Element<Acc = T>, I: Index>(
    op: &'static str,
    a: Compressed<'_, I>,
    values: &[T],
    triangle: Triangle,
    plan: Option<&TrianglePlan>,
    (b, width): (&[T], usize),
    out: &mut [T],
) -> Result<()> {
    let rows = a.ptr.len().saturating_sub(1);
    assert!(b.len() == rows * width && out.len() == b.len(), "{op}: b and out must be [rows, {width}]");
    let solved = if out.is_empty() {
        pivots_are_there(a, values, triangle)
    } else {
        let work = (a.idx.len() + rows).saturating_mul(width);
        let threads = par::big_pieces(work).min(width / LEAST);
        match plan {
            _ if threads > 1 => by_columns(a, values, triangle, (b, width), threads, out),
            Some(plan) if par::threads() > 1 => by_levels(&plan.0, values, triangle, (b, width), out),
            _ => dispatch::<T, I, _>(Rows { a, values, triangle, b, columns: 0..width, width, out }),
        }
    };
    if solved { Ok(()) } else { Err(no_pivot(op, a, values, triangle)) }
}

/// A thread gets at least this many columns.
const LEAST: usize = 8;

fn value_at<T: Copy, I: Index>(a: Compressed<'_, I>, values: &[T], k: usize) -> T {
    values[a.perm.map_or(k, |perm| perm[k].to_usize())]
}

fn pivots_are_there<T: Float, I: Index>(a: Compressed<'_, I>, values: &[T], triangle: Triangle) -> bool {
    triangle.unit || first_without_pivot(a, values).is_none()
}

fn first_without_pivot<T: Float, I: Index>(a: Compressed<'_, I>, values: &[T]) -> Option<usize> {
    (0..a.ptr.len().saturating_sub(1)).find(|&r| {
        let own = row(a.ptr, r);
        let at = Triangle::default().split(&a.idx[own.clone()], r).1;
        at.is_none_or(|at| value_at(a, values, own.start + at) == T::ZERO)
    })
}

#[cold]
fn no_pivot<T: Float, I: Index>(
    op: &'static str,
    a: Compressed<'_, I>,
    values: &[T],
    triangle: Triangle,
) -> SparseError {
    debug_assert!(!triangle.unit, "a diagonal of 1 is not 0");
    let at = first_without_pivot(a, values).expect("a row without a pivot was met");
    SparseError::invalid(op, format!("the diagonal must have no zeros, got one in row {at} (or it is not stored)"))
}

/// All rows, one after the other, for some columns of `b`. `out` is `[rows, columns]`.
struct Rows<'a, T, I> {
    a: Compressed<'a, I>,
    values: &'a [T],
    triangle: Triangle,
    b: &'a [T],
    columns: Range<usize>,
    width: usize,
    out: &'a mut [T],
}

impl<T: Float + Element<Acc = T>, I: Index> WithSimd for Rows<'_, T, I> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> bool {
        match (self.a.perm, self.columns.len()) {
            (None, 1) => self.column(|k| k),
            (Some(perm), 1) => self.column(|k| perm[k].to_usize()),
            (None, _) => self.columns(|k| k),
            (Some(perm), _) => self.columns(|k| perm[k].to_usize()),
        }
    }
}

impl<T: Float + Element<Acc = T>, I: Index> Rows<'_, T, I> {
    /// The row at step `k`.
    #[inline(always)]
    fn at(&self, k: usize) -> usize {
        if self.triangle.upper { self.a.ptr.len() - 2 - k } else { k }
    }

    /// Whether all pivots are there. Of one column.
    #[inline(always)]
    fn column(self, at: impl Fn(usize) -> usize) -> bool {
        for step in 0..self.a.ptr.len() - 1 {
            let r = self.at(step);
            let own = row(self.a.ptr, r);
            let cols = &self.a.idx[own.clone()];
            let (beside, diagonal) = self.triangle.split(cols, r);
            let mut sum = self.b[r * self.width + self.columns.start];
            let mut take = |k: usize| {
                let product = T::mul(self.values[at(own.start + k)], self.out[cols[k].to_usize()]);
                sum = T::sub(sum, product);
            };
            match self.triangle.upper {
                false => beside.for_each(&mut take),
                true => beside.rev().for_each(&mut take),
            }
            if !self.triangle.unit {
                let pivot = diagonal.map_or(T::ZERO, |k| self.values[at(own.start + k)]);
                if pivot == T::ZERO {
                    return false;
                }
                sum = T::div(sum, pivot);
            }
            self.out[r] = sum;
        }
        true
    }

    /// The same of several columns.
    #[inline(always)]
    fn columns(self, at: impl Fn(usize) -> usize) -> bool {
        let count = self.columns.len();
        for step in 0..self.a.ptr.len() - 1 {
            let r = self.at(step);
            let own = row(self.a.ptr, r);
            let cols = &self.a.idx[own.clone()];
            let (beside, diagonal) = self.triangle.split(cols, r);
            // The solved rows, the number of the first of them, and this one.
            let (solved, first, line) = match self.triangle.upper {
                false => {
                    let (solved, rest) = self.out.split_at_mut(r * count);
                    (&*solved, 0, &mut rest[..count])
                }
                true => {
                    let (rest, solved) = self.out.split_at_mut((r + 1) * count);
                    (&*solved, r + 1, &mut rest[r * count..])
                }
            };
            line.copy_from_slice(&self.b[r * self.width..][self.columns.clone()]);
            let mut take = |k: usize| {
                let solved = &solved[(cols[k].to_usize() - first) * count..][..count];
                subtract(line, self.values[at(own.start + k)], solved);
            };
            match self.triangle.upper {
                false => beside.for_each(&mut take),
                true => beside.rev().for_each(&mut take),
            }
            if !self.triangle.unit {
                let pivot = diagonal.map_or(T::ZERO, |k| self.values[at(own.start + k)]);
                if pivot == T::ZERO {
                    return false;
                }
                line.iter_mut().for_each(|x| *x = T::div(*x, pivot));
            }
        }
        true
    }
}

#[inline(always)]
fn subtract<T: Element<Acc = T>>(line: &mut [T], value: T, solved: &[T]) {
    line.iter_mut().zip(solved).for_each(|(x, own)| *x = T::sub(*x, T::mul(value, *own)));
}

/// Each thread solves for some columns.
fn by_columns<T: Float + Element<Acc = T>, I: Index>(
    a: Compressed<'_, I>,
    values: &[T],
    triangle: Triangle,
    (b, width): (&[T], usize),
    threads: usize,
    out: &mut [T],
) -> bool {
    let rows = out.len() / width;
    let parts = par::ranges(width, threads);
    let solved = par::map(parts.len(), &|k| {
        let columns = parts[k].clone();
        let mut out = Scratch::unwritten(rows * columns.len());
        let ok = dispatch::<T, I, _>(Rows { a, values, triangle, b, columns, width, out: &mut out });
        ok.then_some(out)
    });
    let Some(solved) = solved.into_iter().collect::<Option<Vec<_>>>() else { return false };
    par::chunks_mut(out, width, &|r, line| {
        for (columns, solved) in parts.iter().zip(&solved) {
            line[columns.clone()].copy_from_slice(&solved[r * columns.len()..][..columns.len()]);
        }
    });
    true
}

/// The rows of each level are shared by the threads, if they have enough to do.
fn by_levels<T: Float + Element<Acc = T>>(
    plan: &Sorted,
    values: &[T],
    triangle: Triangle,
    (b, width): (&[T], usize),
    out: &mut [T],
) -> bool {
    let others = "solve_triangular: the plan must be of this pattern";
    assert!(
        plan.upper == triangle.upper && plan.nnz == values.len() && plan.places.len() * width == b.len(),
        "{others}"
    );
    let (mut sorted, failed) = (Scratch::unwritten(b.len()), AtomicBool::new(false));
    for level in plan.levels.ptr.windows(2) {
        let (solved, rest) = sorted.split_at_mut(level[0] * width);
        let lines = &mut rest[..(level[1] - level[0]) * width];
        let solve = |k: usize, line: &mut [T]| {
            if !sorted_row(plan, values, triangle, (b, width), solved, level[0] + k, line) {
                failed.store(true, Ordering::Relaxed);
            }
        };
        let elements = plan.ptr[level[1]] - plan.ptr[level[0]];
        if elements.saturating_mul(width) < WIDE {
            lines.chunks_exact_mut(width).enumerate().for_each(|(k, line)| solve(k, line));
            continue;
        }
        let count = level[1] - level[0];
        let pieces = par::even(count, (elements / count + 1).saturating_mul(width));
        par::for_pieces(&pieces, lines, &|own| own.len() * width, &|own, lines| {
            own.zip(lines.chunks_exact_mut(width)).for_each(|(k, line)| solve(k, line));
        });
    }
    if failed.into_inner() {
        return false;
    }
    let sorted = &sorted;
    par::chunks_mut(out, width, &|r, line| line.copy_from_slice(&sorted[plan.places[r] * width..][..width]));
    true
}

/// Solves the row at `place` in the order of the levels. Returns whether its pivot is there.
#[inline(always)]
fn sorted_row<T: Float + Element<Acc = T>>(
    plan: &Sorted,
    values: &[T],
    triangle: Triangle,
    (b, width): (&[T], usize),
    solved: &[T],
    place: usize,
    line: &mut [T],
) -> bool {
    line.copy_from_slice(&b[plan.levels.order[place] * width..][..width]);
    for &(needed, value) in &plan.elements[plan.ptr[place]..plan.ptr[place + 1]] {
        subtract(line, values[value as usize], &solved[needed as usize * width..][..width]);
    }
    if triangle.unit {
        return true;
    }
    let at = plan.diagonal[place];
    let pivot = if at == MISSING { T::ZERO } else { values[at as usize] };
    line.iter_mut().for_each(|x| *x = T::div(*x, pivot));
    pivot != T::ZERO
}

/// For types that are known at run time.
pub(super) mod dynamic {
    use super::super::levels::TrianglePlan;
    use super::super::triangle::Triangle;
    use crate::Result;
    use crate::dynamic::slices::{AnyElement, ElementVec, Elements, Ids, with_ids};
    use crate::linalg::compressed::dynamic::DynCompressed;
    use crate::memory::unwritten;

    /// See [`solve_triangular`](crate::solve_triangular()): of f32 and f64.
    ///
    /// # Errors
    ///
    /// Those of [`solve_triangular`](crate::solve_triangular()).
    ///
    /// # Panics
    ///
    /// For other types.
    pub fn solve_triangular(
        op: &'static str,
        a: DynCompressed<'_>,
        values: Elements<'_>,
        triangle: Triangle,
        plan: Option<&TrianglePlan>,
        (b, width): (Elements<'_>, usize),
    ) -> Result<ElementVec> {
        macro_rules! solved {
            ($T:ty) => {
                with_ids!(a.ptr, I => {
                    let mut out = unwritten::<$T>(b.len());
                    let (values, b) = (<$T>::elements(values), (<$T>::elements(b), width));
                    super::solve_triangular::<$T, I>(op, a.of(), values, triangle, plan, b, &mut out)?;
                    Ok(<$T>::element_vec(out))
                })
            };
        }
        match values {
            Elements::F32(_) => solved!(f32),
            Elements::F64(_) => solved!(f64),
            other => panic!("{op}: values must be f32 or f64, got {}", other.type_name()),
        }
    }
}
