//! Sizes of shapes, which may be far larger than the stored data.

use sparse_core::{Result, SparseError};

/// Number of elements of a shape, at most 2^128 - 1.
pub fn cells(shape: &[usize]) -> u128 {
    if shape.contains(&0) {
        return 0;
    }
    shape.iter().fold(1, |cells: u128, &size| cells.saturating_mul(size as u128))
}

/// Whether two shapes have the same number of elements, even if it does not fit 128 bits.
pub(crate) fn same_cells(a: &[usize], b: &[usize]) -> bool {
    if a.contains(&0) || b.contains(&0) {
        return a.contains(&0) == b.contains(&0);
    }
    // Divide out the common factors of every pair. If the products are equal, only ones are left.
    let (mut a, mut b) = (a.to_vec(), b.to_vec());
    for x in &mut a {
        for y in &mut b {
            let (mut common, mut rest) = (*x, *y);
            while rest > 0 {
                (common, rest) = (rest, common % rest);
            }
            (*x, *y) = (*x / common, *y / common);
        }
    }
    a.iter().chain(&b).all(|&left| left == 1)
}

/// Checks that every size fits an i64 index.
pub(crate) fn check_sizes(op: &'static str, shape: &[usize]) -> Result<()> {
    for &size in shape {
        if size as u128 > i64::MAX as u128 {
            return Err(SparseError::overflow(op, "a dimension", i64::MAX, size));
        }
    }
    Ok(())
}

/// The sum of all earlier sizes, for each size.
pub(crate) fn offsets(sizes: impl Iterator<Item = usize>) -> Vec<usize> {
    sizes
        .scan(0, |end, size| {
            let start = *end;
            *end += size;
            Some(start)
        })
        .collect()
}
