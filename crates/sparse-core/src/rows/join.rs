//! Moving rows of several parts into one array.

use crate::par::{even, for_pieces};
use crate::{Index, Plain};

/// Joins the rows of several parts by an index map: `out[k, :]` is row `map[k]` of the concatenated parts. The
/// concatenation itself is not made.
///
/// Each part is row-major `[n_p, block]`, `out` is `[map.len(), block]`. O(map.len() * block), parallel, plus O(log
/// parts) each time the map changes to another part.
///
/// # Panics
///
/// If lengths disagree, or an index is not less than the total number of rows.
pub fn join_rows<T: Plain, I: Index>(parts: &[&[T]], block: usize, map: &[I], out: &mut [T]) {
    assert_eq!(out.len(), map.len() * block, "join_rows: out must hold a block for every entry of the map");
    if block == 0 {
        return;
    }
    // The first row of each part, then the total number of rows.
    let mut bases = vec![0];
    for part in parts {
        assert!(part.len().is_multiple_of(block), "join_rows: parts must hold whole rows of {block}");
        bases.push(bases[bases.len() - 1] + part.len() / block);
    }
    for_pieces(&even(map.len(), block), out, &|r| r.len() * block, &|range, out| {
        let (mut rows, mut part): (_, &[T]) = (0..0, &[]);
        for (out, i) in out.chunks_exact_mut(block).zip(&map[range]) {
            let i = i.to_usize();
            if !rows.contains(&i) {
                let next = bases.partition_point(|&base| base <= i);
                assert!(next < bases.len(), "join_rows: index must be below {}, got {i}", bases[bases.len() - 1]);
                (rows, part) = (bases[next - 1]..bases[next], parts[next - 1]);
            }
            let at = (i - rows.start) * block;
            match (out, &part[at..at + block]) {
                // A single element is not worth a call of `memcpy`.
                ([out], [value]) => *out = *value,
                (out, row) => out.copy_from_slice(row),
            }
        }
    });
}

/// For types that are known at run time.
pub(super) mod dynamic {
    use crate::dynamic::slices::{AnyBits, AnyIndex, BitVec, Bits, Ids, with_bits, with_ids};
    use crate::memory::unwritten;

    /// See [`join_rows`](crate::join_rows()): `[map.len(), block]`.
    pub fn join_rows(parts: &[Bits<'_>], block: usize, map: Ids<'_>) -> BitVec {
        with_ids!(map, I => with_bits!(parts[0], T => {
            let parts: Vec<&[T]> = parts.iter().map(|part| T::bits(*part)).collect();
            let mut out = unwritten::<T>(map.len() * block);
            super::join_rows::<T, I>(&parts, block, I::ids(map), &mut out);
            T::bit_vec(out)
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::join_rows;

    #[test]
    fn rows_are_those_of_the_joined_parts() {
        // An empty part, a part with many rows, and more entries than one piece of the loop handles.
        let (first, last): (Vec<u32>, Vec<u32>) = ((0..12).collect(), (12..60_012).collect());
        let joined: Vec<u32> = first.iter().chain(&last).copied().collect();
        for block in [1, 2, 4] {
            let rows = joined.len() / block;
            let map: Vec<i32> = (0..rows).map(|k| (k * 7919 % rows) as i32).collect();
            let mut out = vec![0; rows * block];
            join_rows(&[&first, &[], &last], block, &map, &mut out);
            let want: Vec<u32> = map.iter().flat_map(|&i| &joined[i as usize * block..][..block]).copied().collect();
            assert_eq!(out, want, "block {block}");
        }
        join_rows::<u8, i64>(&[&[]], 0, &[3], &mut []);
        join_rows::<u8, i64>(&[], 2, &[], &mut []);
    }

    #[test]
    #[should_panic(expected = "index must be below 3, got 3")]
    fn rows_beyond_the_last_part_do_not_exist() {
        join_rows::<u8, i32>(&[&[1, 2], &[3]], 1, &[0, 3], &mut [0, 0]);
    }
}
