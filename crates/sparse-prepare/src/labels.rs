//! Original ids in arrays, and the parts that they go to.

use crate::error::{PrepareError, Result};
use crate::options::By;
use datafusion::arrow::array::{Array, AsArray, RecordBatch};
use datafusion::arrow::datatypes::Int64Type;
use sparse_shards::IdKind;
use std::hash::Hasher;
use std::ops::Range;
use twox_hash::XxHash3_64;

/// An original id.
#[derive(Clone, Copy)]
pub(crate) enum Id<'a> {
    Int(i64),
    Text(&'a str),
}

impl Id<'_> {
    /// The part of `parts` that owns it, by hash. It depends on nothing else.
    pub(crate) fn part(self, parts: usize) -> usize {
        let mut hash = XxHash3_64::new();
        match self {
            Id::Int(id) => hash.write(&id.to_le_bytes()),
            Id::Text(id) => hash.write(id.as_bytes()),
        }
        ((u128::from(hash.finish()) * parts as u128) >> 64) as usize
    }

    pub(crate) fn bytes(self) -> u64 {
        match self {
            Id::Int(_) => 8,
            Id::Text(id) => id.len() as u64,
        }
    }
}

impl std::fmt::Display for Id<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Id::Int(id) => write!(f, "{id}"),
            Id::Text(id) => write!(f, "{id:?}"),
        }
    }
}

/// The ids of a column, which has no nulls.
pub(crate) fn each(
    op: &'static str,
    batch: &RecordBatch,
    column: usize,
    kind: IdKind,
    mut f: impl FnMut(Id<'_>) -> Result<()>,
) -> Result<()> {
    let array = batch.column(column);
    if array.null_count() > 0 {
        return Err(PrepareError::invalid(op, "ids must not be null, got an edge or a row of features without"));
    }
    match kind {
        IdKind::Int => {
            let all = array.as_primitive_opt::<Int64Type>().ok_or_else(|| other(op, array))?;
            all.values().iter().try_for_each(|&id| f(Id::Int(id)))
        }
        IdKind::Text => {
            let all = array.as_string_opt::<i32>().ok_or_else(|| other(op, array))?;
            (0..all.len()).try_for_each(|k| f(Id::Text(all.value(k))))
        }
    }
}

/// What a plan gives that was made for another type.
pub(crate) fn other(op: &'static str, array: &dyn Array) -> PrepareError {
    PrepareError::invalid(op, format!("a column must be of the type planned, got {}", array.data_type()))
}

/// The dense ids of each part. `sizes`: those that a hash gives.
pub(crate) fn ranges(by: By, nodes: u64, sizes: &[u64]) -> Vec<Range<u64>> {
    let parts = sizes.len() as u128;
    let mut start = 0;
    let range = |p: usize| {
        let end = match by {
            By::Range => (u128::from(nodes) * (p as u128 + 1) / parts) as u64,
            By::Hash | By::Metis => start + sizes[p],
        };
        let own = start..end;
        start = end;
        own
    };
    (0..sizes.len()).map(range).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_contiguous_and_even() {
        assert_eq!(ranges(By::Range, 10, &[0; 4]), [0..2, 2..5, 5..7, 7..10]);
        assert_eq!(ranges(By::Range, 1, &[0; 3]), [0..0, 0..0, 0..1]);
        assert_eq!(ranges(By::Hash, 9, &[4, 0, 5]), [0..4, 4..4, 4..9]);
        let mut sizes = [0u32; 7];
        (0..70_000).for_each(|id| sizes[Id::Int(id).part(7)] += 1);
        assert!(sizes.iter().all(|&size| (9_500..10_500).contains(&size)), "{sizes:?}");
    }

    #[test]
    fn the_hash_is_that_of_the_documentation() {
        // XXH3 of "abc" is 0x78af5f94892f3950: 8692 / 2^16 of 1000 parts.
        assert_eq!(Id::Text("abc").part(1000), 471);
        assert_eq!(Id::Text("12345678").part(256), Id::Int(i64::from_le_bytes(*b"12345678")).part(256));
    }
}
