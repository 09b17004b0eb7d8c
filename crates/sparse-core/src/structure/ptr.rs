//! Row pointers: compression, prefix sums, expansion.

use crate::Index;
use crate::memory::{unwritten, zeroed};
use crate::par::{by_elements, even, for_pieces, map};

/// Compresses sorted row ids into `groups + 1` row pointers: `ptr[r]` is the number of ids smaller than `r`.
///
/// `sorted_ids` never descend and lie in `[0, groups)`. O(n + groups), parallel.
pub fn compress<I: Index>(sorted_ids: &[I], groups: usize) -> Vec<I> {
    let mut ptr = unwritten(groups + 1);
    for_pieces(&even(groups + 1, 1 + sorted_ids.len() / (groups + 1)), &mut ptr, &|r| r.len(), &|rows, piece| {
        let mut at = sorted_ids.partition_point(|id| id.to_usize() < rows.start);
        for (r, slot) in rows.zip(piece) {
            while at < sorted_ids.len() && sorted_ids[at].to_usize() < r {
                at += 1;
            }
            *slot = I::from_usize(at);
        }
    });
    ptr
}

/// Exclusive prefix sums of counts, followed by the total: the row pointers of rows with these lengths. O(n).
///
/// # Panics
///
/// When the total does not fit `I`.
pub fn scan<I: Index>(counts: &[I]) -> Vec<I> {
    let mut ptr = zeroed(counts.len() + 1);
    let mut sum = 0;
    for (slot, count) in ptr[1..].iter_mut().zip(counts) {
        sum += count.to_usize();
        *slot = I::from_usize(sum);
    }
    assert!(ptr[counts.len()].to_usize() == sum, "scan: the total must fit the index dtype, got {sum}");
    ptr
}

/// Expands row pointers into the row id of every element. This is the inverse of [`compress`]. O(rows + nnz), parallel.
///
/// # Panics
///
/// When `ptr` does not start at 0 or descends.
pub fn expand_ptr<I: Index>(ptr: &[I]) -> Vec<I> {
    let Some(last) = ptr.last() else { return Vec::new() };
    assert!(ptr.is_sorted() && ptr[0] == I::default(), "expand_ptr: row_ptr must start at 0 and never descend");
    let mut ids = unwritten(last.to_usize());
    let ranges = by_elements(ptr, 1);
    for_pieces(&ranges, &mut ids, &|r| ptr[r.end].to_usize() - ptr[r.start].to_usize(), &|rows, mut piece| {
        for r in rows {
            let (head, tail) = piece.split_at_mut(ptr[r + 1].to_usize() - ptr[r].to_usize());
            head.fill(I::from_usize(r));
            piece = tail;
        }
    });
    ids
}

/// The indices as another type. One that does not fit wraps. O(n), parallel.
pub fn cast_ids<I: Index, J: Index>(ids: &[I]) -> Vec<J> {
    let mut out = unwritten(ids.len());
    for_pieces(&even(ids.len(), 1), &mut out, &|r| r.len(), &|range, out| {
        out.iter_mut().zip(&ids[range]).for_each(|(out, id)| *out = J::from_i64(id.to_i64()));
    });
    out
}

/// The least and the largest of some indices, of which there is one at least. O(n), parallel.
pub fn extremes<I: Index>(ids: &[I]) -> [I; 2] {
    let ends = |ids: &[I]| ids.iter().fold([ids[0]; 2], |[low, high], &id| [low.min(id), high.max(id)]);
    let parts = even(ids.len(), 1);
    ends(&map(parts.len(), &|k| ends(&ids[parts[k].clone()])).concat())
}

/// For types that are known at run time.
pub(super) mod dynamic {
    use crate::Index;
    use crate::dynamic::slices::{AnyIndex, IdVec, Ids, with_ids};

    /// The indices as the other type; see [`cast_ids`](crate::cast_ids()).
    pub fn cast_ids(ids: Ids<'_>) -> IdVec {
        match ids {
            Ids::I32(ids) => IdVec::I64(super::cast_ids(ids)),
            Ids::I64(ids) => IdVec::I32(super::cast_ids(ids)),
        }
    }

    /// See [`extremes`](crate::extremes()).
    pub fn extremes(ids: Ids<'_>) -> IdVec {
        with_ids!(ids, I => I::id_vec(super::extremes::<I>(I::ids(ids)).to_vec()))
    }

    /// See [`scan`](crate::scan()).
    pub fn scan(counts: Ids<'_>) -> IdVec {
        with_ids!(counts, I => I::id_vec(super::scan::<I>(I::ids(counts))))
    }

    /// See [`expand_ptr`](crate::expand_ptr()). The last pointer must be `nnz`: a wrong one would be as much memory.
    pub fn expand_ptr(ptr: Ids<'_>, nnz: usize) -> IdVec {
        with_ids!(ptr, I => {
            let ptr = I::ids(ptr);
            let last = ptr.last().map_or(0, |last| last.to_i64());
            assert!(last == nnz as i64, "expand_ptr: the last row_ptr must be {nnz}, got {last}");
            I::id_vec(super::expand_ptr::<I>(ptr))
        })
    }

    /// See [`compress`](crate::compress()).
    pub fn compress(ids: Ids<'_>, groups: usize) -> IdVec {
        with_ids!(ids, I => I::id_vec(super::compress::<I>(I::ids(ids), groups)))
    }
}
