//! Sort keys of COO coordinates. A key is the shortest form that has the same order as the coordinates.
//!
//! The code that compares keys is compiled once per form of key. [`Keys`] does not depend on the index type.

use crate::element::Ids;
use crate::merge::steps;
use crate::{Index, Plain, memory::zeroed, par};
use core::cmp::Ordering;
use core::ops::{BitOr, Range, Shl};

/// Splits row-major coordinates `[dims, nnz]` into one slice per dimension.
pub(crate) fn rows<I>(indices: &[I], dims: usize, nnz: usize) -> Vec<&[I]> {
    assert_eq!(indices.len(), dims * nnz, "indices must have sparse_dims * nnz entries");
    (0..dims).map(|d| &indices[d * nnz..(d + 1) * nnz]).collect()
}

/// The number of a list, and its elements that share a key.
pub(crate) type Run = (usize, Range<usize>);

/// The order of the elements of several sorted lists.
pub(crate) trait Keys: Sync {
    /// For a merge of list 0 (`n` elements) and list 1 (`m` elements): how many elements of each are among the first
    /// `diagonal` elements. Equal elements are not separated.
    fn split(&self, n: usize, m: usize, diagonal: usize) -> (usize, usize);
    /// The steps of the merge of elements `i` of list 0 with elements `j` of list 1; see [`steps::merge`].
    fn merge(&self, i: Range<usize>, j: Range<usize>, steps: &mut [u8]) -> usize;
    /// For each list `l`, how many of its first `lens[l]` elements come before element `p` of `list`.
    fn before(&self, list: usize, p: usize, lens: &[usize]) -> Vec<usize>;
    /// Finds the runs of equal keys in the elements `from[l]..to[l]` of each list `l`. Runs have ascending keys; runs
    /// with equal keys are in the order of the lists. Several runs at a time are passed to `emit`.
    fn runs(&self, from: &[usize], to: &[usize], emit: &mut dyn FnMut(&[Run]));
}

/// Keys for lists of coordinates. Each list is given as one slice per dimension and its length; all have the same
/// number of dimensions.
///
/// One dimension is its own key, and two of 32 bits are packed when a key is read. Otherwise each element is packed in
/// advance: into one `u64` or `u128` if the bits of the largest coordinates fit, else into several `u128`.
pub(crate) fn keys<'a, I: Index>(lists: &[(&[&'a [I]], usize)]) -> Box<dyn Keys + 'a> {
    let dims = lists.first().map_or(0, |(list, _)| list.len());
    if let (1 | 2, Some(lists)) = (dims, narrow(lists)) {
        return match dims {
            1 => Box::new(lists.iter().map(|list| list[0]).collect::<Vec<_>>()),
            _ => Box::new(lists.iter().map(|list| (list[0], list[1])).collect::<Vec<_>>()),
        };
    }
    if dims == 1
        && let Some(lists) = wide(lists)
    {
        return Box::new(lists);
    }
    let bits: Vec<u32> = (0..dims)
        .map(|d| {
            let max = lists.iter().map(|(list, _)| largest(list[d])).max();
            i64::BITS - max.unwrap_or(0).leading_zeros()
        })
        .collect();
    // The dimensions that are packed into each word.
    let mut words: Vec<Range<usize>> = Vec::new();
    for d in 0..dims {
        match words.last_mut() {
            Some(word) if bits[word.start..=d].iter().sum::<u32>() <= u128::BITS => word.end = d + 1,
            _ => words.push(d..d + 1),
        }
    }
    if bits.iter().sum::<u32>() <= u64::BITS {
        return Box::new(lists.iter().map(|&(list, n)| pack(list, n, &bits, |x| x as u64)).collect::<Vec<_>>());
    }
    let words_of = |d: &Range<usize>| -> Vec<Vec<u128>> {
        lists.iter().map(|&(list, n)| pack(&list[d.clone()], n, &bits[d.clone()], |x| x as u128)).collect()
    };
    if let [word] = &words[..] {
        return Box::new(words_of(word));
    }
    let mut packed: Vec<Vec<Vec<u128>>> = lists.iter().map(|_| Vec::new()).collect();
    for word in &words {
        packed.iter_mut().zip(words_of(word)).for_each(|(list, word)| list.push(word));
    }
    Box::new(packed)
}

/// The lists without a copy, if their coordinates have 32 bits.
fn narrow<'a, I: Index>(lists: &[(&[&'a [I]], usize)]) -> Option<Vec<Vec<&'a [i32]>>> {
    let row = |row: &&'a [I]| match I::list(row) {
        Ids::I32(row) => Some(row),
        Ids::I64(_) => None,
    };
    lists.iter().map(|(list, _)| list.iter().map(row).collect()).collect()
}

/// The first dimension of each list without a copy, if coordinates have 64 bits.
fn wide<'a, I: Index>(lists: &[(&[&'a [I]], usize)]) -> Option<Vec<&'a [i64]>> {
    let row = |row: &'a [I]| match I::list(row) {
        Ids::I64(row) => Some(row),
        Ids::I32(_) => None,
    };
    lists.iter().map(|(list, _)| row(list[0])).collect()
}

/// The largest coordinate, or 0.
fn largest<I: Index>(coordinates: &[I]) -> i64 {
    let ranges = par::even(coordinates.len(), 1);
    let max = |piece: usize| coordinates[ranges[piece].clone()].iter().fold(0, |max, x| x.to_i64().max(max));
    par::map(ranges.len(), &max).into_iter().fold(0, i64::max)
}

/// Packs the coordinates of each element into one word, with `bits[d]` bits for dimension `d`.
fn pack<I: Index, W>(list: &[&[I]], len: usize, bits: &[u32], word: fn(i64) -> W) -> Vec<W>
where
    W: Plain + Shl<u32, Output = W> + BitOr<Output = W>,
{
    let mut keys: Vec<W> = zeroed(len);
    for (d, &bits) in list.iter().zip(bits) {
        par::for_pieces(&par::even(len, 1), &mut keys, &|r| r.len(), &|range, keys| {
            for (key, x) in keys.iter_mut().zip(&d[range]) {
                *key = *key << bits | word(x.to_i64());
            }
        });
    }
    keys
}

/// One form of keys.
trait List: Sync {
    type Key<'a>: Ord + Copy
    where
        Self: 'a;
    /// How many keys are compared at once: one where a comparison takes long.
    const TOGETHER: usize = if size_of::<Self::Key<'_>>() > size_of::<u64>() { 1 } else { 8 };
    fn key(&self, p: usize) -> Self::Key<'_>;
}

macro_rules! list {
    ($($list:ty => $key:ty: |$self:ident, $p:ident| $body:expr;)*) => {$(
        impl List for $list {
            type Key<'a>
                = $key
            where
                Self: 'a;
            #[inline(always)]
            fn key(&$self, $p: usize) -> Self::Key<'_> {
                $body
            }
        }
    )*};
}

list! {
    &[i32] => i32: |self, p| self[p];
    &[i64] => i64: |self, p| self[p];
    (&[i32], &[i32]) => u64: |self, p| (self.0[p] as u64) << 32 | self.1[p] as u64;
    Vec<u64> => u64: |self, p| self[p];
    Vec<u128> => u128: |self, p| self[p];
    Vec<Vec<u128>> => Words<'a>: |self, p| Words(self, p);
}

/// An element whose key has several words. They are compared one by one.
#[derive(Clone, Copy)]
struct Words<'a>(&'a [Vec<u128>], usize);

impl Ord for Words<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.iter().map(|word| word[self.1]).cmp(other.0.iter().map(|word| word[other.1]))
    }
}

impl PartialOrd for Words<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Words<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Words<'_> {}

impl<L: List> Keys for Vec<L> {
    fn split(&self, n: usize, m: usize, diagonal: usize) -> (usize, usize) {
        let (a, b) = (&self[0], &self[1]);
        // Binary search for the first i with a[i] > b[diagonal - i - 1]. Everything before a[i], and that b, comes
        // first.
        let (mut low, mut high) = (diagonal.saturating_sub(m), diagonal.min(n));
        while low < high {
            let mid = low + (high - low) / 2;
            if a.key(mid) <= b.key(diagonal - mid - 1) { low = mid + 1 } else { high = mid }
        }
        let (i, j) = (low, diagonal - low);
        // If b has an element equal to the last element of a, it stays with it.
        let equal = i > 0 && j < m && a.key(i - 1) == b.key(j);
        (i, j + usize::from(equal))
    }

    fn merge(&self, i: Range<usize>, j: Range<usize>, steps: &mut [u8]) -> usize {
        steps::merge(|p| self[0].key(p), i, |q| self[1].key(q), j, steps)
    }

    fn before(&self, list: usize, p: usize, lens: &[usize]) -> Vec<usize> {
        let pivot = self[list].key(p);
        let mut before = lens.to_vec();
        for (list, high) in self.iter().zip(&mut before) {
            let mut low = 0;
            while low < *high {
                let mid = low + (*high - low) / 2;
                if list.key(mid) < pivot { low = mid + 1 } else { *high = mid }
            }
        }
        before
    }

    fn runs(&self, from: &[usize], to: &[usize], emit: &mut dyn FnMut(&[Run])) {
        const SOME: usize = 64;
        let short = L::TOGETHER;
        let mut runs = Vec::with_capacity(SOME + self.len());
        // Key, list, position and end of each list that is not finished. A scan finds the smallest key: there are few
        // lists, and one scan serves all lists that share the key.
        let mut heads = Vec::new();
        for (l, list) in self.iter().enumerate() {
            if from[l] < to[l] {
                heads.push((list.key(from[l]), l, from[l], to[l]));
            }
        }
        while let Some(first) = heads.first() {
            let mut min = first.0;
            for head in &heads[1..] {
                min = min.min(head.0);
            }
            let mut ended = false;
            for (key, l, at, end) in &mut heads {
                if *key == min {
                    let (list, start) = (&self[*l], *at);
                    // Equal keys are adjacent. Counting them among eight keys has no branch on the length of a run.
                    loop {
                        let some = short.min(*end - *at);
                        let equal = |k: usize| usize::from(list.key(*at + k) == min);
                        let count: usize =
                            if some == short { (0..short).map(equal).sum() } else { (0..some).map(equal).sum() };
                        *at += count;
                        if count < short {
                            break;
                        }
                    }
                    runs.push((*l, start..*at));
                    if *at < *end { *key = list.key(*at) } else { ended = true }
                }
            }
            if ended {
                heads.retain(|&(_, _, at, end)| at < end);
            }
            if runs.len() >= SOME {
                emit(&runs);
                runs.clear();
            }
        }
        emit(&runs);
    }
}
