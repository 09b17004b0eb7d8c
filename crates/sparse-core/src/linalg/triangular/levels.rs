//! Which rows of a triangular system can be solved at the same time.

use super::triangle::Triangle;
use crate::Index;
use crate::linalg::compressed::Compressed;
use core::ops::Range;
use std::sync::Arc;

/// The rows of a triangular system by level: a row needs rows of the levels before its own only (Anderson and Saad,
/// "Solving sparse triangular linear systems on parallel computers", 1989).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Levels {
    /// The rows, level by level, ascending in each.
    pub order: Vec<usize>,
    /// Where each level begins in `order`, and where the last one ends.
    pub ptr: Vec<usize>,
}

impl Levels {
    /// Of the lower or the `upper` triangle of a matrix whose columns ascend in each row. O(nnz), 16 bytes a row.
    ///
    /// # Panics
    ///
    /// When pointers descend, or a column of the triangle is out of range.
    pub fn new<I: Index>(a: Compressed<'_, I>, upper: bool) -> Self {
        let rows = a.ptr.len().saturating_sub(1);
        let (triangle, mut level, mut counts) = (Triangle { upper, unit: true }, vec![0usize; rows], vec![]);
        let mut visit = |r: usize| {
            let cols = &a.idx[row(a.ptr, r)];
            let needed = cols[triangle.split(cols, r).0].iter().map(|col| level[col.to_usize()] + 1).max();
            level[r] = needed.unwrap_or(0);
            // More than one is new only where columns do not ascend.
            counts.resize(counts.len().max(level[r] + 1), 0);
            counts[level[r]] += 1;
        };
        match upper {
            false => (0..rows).for_each(&mut visit),
            true => (0..rows).rev().for_each(&mut visit),
        }
        let mut ptr = Vec::with_capacity(counts.len() + 1);
        ptr.push(0);
        for count in &counts {
            ptr.push(ptr.last().copied().unwrap_or(0) + count);
        }
        let (mut next, mut order) = (ptr.clone(), vec![0; rows]);
        for (r, level) in level.into_iter().enumerate() {
            order[next[level]] = r;
            next[level] += 1;
        }
        Self { order, ptr }
    }

    /// For each level the most elements beside the diagonal that a row of it has, of the matrix of the levels.
    pub fn longest<I: Index>(&self, a: Compressed<'_, I>, upper: bool) -> Vec<usize> {
        let triangle = Triangle { upper, unit: true };
        let length = |&r: &usize| triangle.split(&a.idx[row(a.ptr, r)], r).0.len();
        let most = |level: &[usize]| self.order[level[0]..level[1]].iter().map(length).max().unwrap_or(0);
        self.ptr.windows(2).map(most).collect()
    }

    /// The number of levels.
    pub fn len(&self) -> usize {
        self.ptr.len() - 1
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }
}

/// The elements of row `r`.
pub(super) fn row<I: Index>(ptr: &[I], r: usize) -> Range<usize> {
    ptr[r].to_usize()..ptr[r + 1].to_usize()
}

/// A level with fewer elements than this is solved by one thread: a few microseconds.
pub(super) const WIDE: usize = 16 * 1024;

/// The triangle of a matrix with its rows in the order of their levels, for [`solve_triangular`]. It depends on the
/// pattern only. Clones share their memory.
///
/// [`solve_triangular`]: super::solve_triangular
#[derive(Clone, Debug)]
pub struct TrianglePlan(pub(super) Arc<Sorted>);

#[derive(Debug)]
pub(super) struct Sorted {
    pub upper: bool,
    /// Number of elements of the matrix.
    pub nnz: usize,
    pub levels: Levels,
    /// Where each row is in the order.
    pub places: Vec<usize>,
    /// The elements beside the diagonal, by rows in the order.
    pub ptr: Vec<usize>,
    /// The place of the row that each of them needs, and the position of its value.
    pub elements: Vec<(u32, u32)>,
    /// The position of the value on the diagonal of each row in the order; [`MISSING`].
    pub diagonal: Vec<u32>,
}

/// No element on the diagonal.
pub(super) const MISSING: u32 = u32::MAX;

impl TrianglePlan {
    /// `None` where one thread is as fast as several: if less than half of the elements are in levels of at least 16384
    /// elements; or if there are more than 2^32 - 2 elements or rows.
    ///
    /// O(nnz). 8 bytes an element and 28 a row.
    ///
    /// # Panics
    ///
    /// As [`Levels::new`].
    pub fn new<I: Index>(a: Compressed<'_, I>, upper: bool) -> Option<Self> {
        let levels = Levels::new(a, upper);
        if a.idx.len().max(levels.order.len()) >= MISSING as usize {
            return None;
        }
        let wide = |level: &[usize]| {
            let elements: usize = levels.order[level[0]..level[1]].iter().map(|&r| row(a.ptr, r).len()).sum();
            if elements >= WIDE { elements } else { 0 }
        };
        let in_wide: usize = levels.ptr.windows(2).map(wide).sum();
        (in_wide > 0 && 2 * in_wide >= a.idx.len()).then(|| Self::of(a, upper, levels))
    }

    /// The plan, whether it pays or not.
    #[doc(hidden)]
    pub fn forced<I: Index>(a: Compressed<'_, I>, upper: bool) -> Self {
        Self::of(a, upper, Levels::new(a, upper))
    }

    fn of<I: Index>(a: Compressed<'_, I>, upper: bool, levels: Levels) -> Self {
        let triangle = Triangle { upper, unit: true };
        let mut places = vec![0; levels.order.len()];
        levels.order.iter().enumerate().for_each(|(place, &r)| places[r] = place);
        let (mut ptr, mut elements, mut diagonal) = (vec![0], Vec::with_capacity(a.idx.len()), vec![]);
        for &r in &levels.order {
            let own = row(a.ptr, r);
            let cols = &a.idx[own.clone()];
            let value = |k: usize| a.perm.map_or(own.start + k, |perm| perm[own.start + k].to_usize()) as u32;
            let (beside, at) = triangle.split(cols, r);
            let mut push = |k: usize| elements.push((places[cols[k].to_usize()] as u32, value(k)));
            // From the far end to the diagonal, as rows are summed.
            match upper {
                false => beside.for_each(&mut push),
                true => beside.rev().for_each(&mut push),
            }
            ptr.push(elements.len());
            diagonal.push(at.map_or(MISSING, value));
        }
        Self(Arc::new(Sorted { upper, nnz: a.idx.len(), levels, places, ptr, elements, diagonal }))
    }

    /// How many numbers of 32 bits it keeps in memory.
    pub fn held(&self) -> usize {
        2 * self.0.elements.len() + 7 * self.0.places.len()
    }
}

/// For types that are known at run time.
pub(super) mod dynamic {
    use super::{Levels, TrianglePlan};
    use crate::Index;
    use crate::dynamic::slices::{AnyIndex, IdVec, Ids, with_ids};
    use crate::linalg::compressed::dynamic::DynCompressed;

    /// See [`TrianglePlan::new`].
    pub fn triangle_plan(a: DynCompressed<'_>, upper: bool) -> Option<TrianglePlan> {
        with_ids!(a.ptr, I => TrianglePlan::new::<I>(a.of(), upper))
    }

    /// Where each of the [`Levels`] begins and where the last one ends, then the rows in their order, as one list; the
    /// former again; and the [`longest`](Levels::longest) row of each.
    pub fn triangle_levels(a: DynCompressed<'_>, upper: bool) -> (IdVec, Vec<usize>, Vec<usize>) {
        with_ids!(a.ptr, I => {
            let levels = Levels::new::<I>(a.of(), upper);
            let longest = levels.longest::<I>(a.of(), upper);
            let list: Vec<I> = levels.ptr.iter().chain(&levels.order).map(|&at| I::from_usize(at)).collect();
            (<I>::id_vec(list), levels.ptr, longest)
        })
    }
}
