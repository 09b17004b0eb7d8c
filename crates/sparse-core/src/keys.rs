//! Sort keys of COO coordinates: the shortest form that orders elements as their coordinates do.

use crate::{Index, alloc::zeroed, par};
use core::cmp::Ordering;

/// Coordinates `[dims, nnz]`, row-major: one slice a dimension.
pub(crate) fn rows<I>(indices: &[I], dims: usize, nnz: usize) -> Vec<&[I]> {
    assert_eq!(indices.len(), dims * nnz, "indices must have sparse_dims * nnz entries");
    (0..dims).map(|d| &indices[d * nnz..(d + 1) * nnz]).collect()
}

/// Something done with an order on the elements of some lists.
///
/// A trait, since a closure cannot be generic over the key's type.
pub(crate) trait WithKeys {
    /// What the work gives back.
    type Output;
    /// `lists[l](p)` is the key of element `p` of list `l`.
    fn run<K: Ord + Copy + Send + Sync, F: Fn(usize) -> K + Sync>(self, lists: &[F]) -> Self::Output;
}

/// Runs `work` with keys for lists of coordinates (each given as its dimensions' slices, the same number of them).
///
/// One or two dimensions of 32 bits are packed as they are read. More are packed into one `u64` or `u128` an
/// element where the bits of the largest coordinates fit, and compared one by one where they do not.
pub(crate) fn with_keys<I: Index, W: WithKeys>(lists: &[Vec<&[I]>], work: W) -> W::Output {
    let dims = lists.first().map_or(0, Vec::len);
    let narrow = I::MAX <= i32::MAX as usize;
    match dims {
        0 => work.run(&lists.iter().map(|_| |_: usize| ()).collect::<Vec<_>>()),
        1 => work.run(
            &lists
                .iter()
                .map(|l| {
                    let d0 = l[0];
                    move |p: usize| d0[p]
                })
                .collect::<Vec<_>>(),
        ),
        2 if narrow => work.run(
            &lists
                .iter()
                .map(|l| {
                    let (d0, d1) = (l[0], &l[1][..l[0].len()]);
                    move |p: usize| (d0[p].to_i64() as u64) << 32 | d1[p].to_i64() as u64
                })
                .collect::<Vec<_>>(),
        ),
        _ => {
            let bits: Vec<u32> = (0..dims)
                .map(|d| {
                    let max = lists.iter().flat_map(|list| largest(list[d])).max();
                    i64::BITS - max.unwrap_or(0).max(0).leading_zeros()
                })
                .collect();
            let total: u32 = bits.iter().sum();
            if total <= u64::BITS {
                let packed: Vec<Vec<u64>> = lists.iter().map(|l| pack64(l, &bits)).collect();
                work.run(&packed.iter().map(|keys| |p: usize| keys[p]).collect::<Vec<_>>())
            } else if total <= u128::BITS {
                let packed: Vec<Vec<u128>> = lists.iter().map(|l| pack128(l, &bits)).collect();
                work.run(&packed.iter().map(|keys| |p: usize| keys[p]).collect::<Vec<_>>())
            } else {
                work.run(&lists.iter().map(|list| move |position: usize| Lex { list, position }).collect::<Vec<_>>())
            }
        }
    }
}

/// The largest coordinate.
fn largest<I: Index>(coordinates: &[I]) -> Option<i64> {
    let ranges = par::even(coordinates.len(), 1);
    par::map(ranges.len(), &|piece| coordinates[ranges[piece].clone()].iter().map(|x| x.to_i64()).max())
        .into_iter()
        .flatten()
        .max()
}

fn pack64<I: Index>(list: &[&[I]], bits: &[u32]) -> Vec<u64> {
    let mut keys: Vec<u64> = zeroed(list[0].len());
    for (d, &bits) in list.iter().zip(bits) {
        par::for_pieces(&par::even(d.len(), 1), &mut keys, &|r| r.len(), &|range, keys| {
            for (key, x) in keys.iter_mut().zip(&d[range]) {
                *key = *key << bits | x.to_i64() as u64;
            }
        });
    }
    keys
}

fn pack128<I: Index>(list: &[&[I]], bits: &[u32]) -> Vec<u128> {
    let mut keys: Vec<u128> = zeroed(list[0].len());
    for (d, &bits) in list.iter().zip(bits) {
        par::for_pieces(&par::even(d.len(), 1), &mut keys, &|r| r.len(), &|range, keys| {
            for (key, x) in keys.iter_mut().zip(&d[range]) {
                *key = *key << bits | x.to_i64() as u128;
            }
        });
    }
    keys
}

/// An element compared coordinate by coordinate.
#[derive(Clone, Copy)]
struct Lex<'a, I> {
    list: &'a [&'a [I]],
    position: usize,
}

impl<I: Index> Ord for Lex<'_, I> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.list.iter().map(|d| d[self.position]).cmp(other.list.iter().map(|d| d[other.position]))
    }
}

impl<I: Index> PartialOrd for Lex<'_, I> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<I: Index> PartialEq for Lex<'_, I> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<I: Index> Eq for Lex<'_, I> {}
