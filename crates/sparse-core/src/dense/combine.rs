//! Linear combinations of the columns of tall blocks, all in one pass.
//!
//! A product of a tall block with a small matrix does little with each number that it reads. So all blocks are read
//! once, a few rows of them stay in the first-level cache while every result is made of them, and nothing else is
//! written.

use crate::memory::unwritten;
use crate::par::{self, split_mut};
use crate::{Element, Float, simd};
use core::ops::Range;
use pulp::{Simd, WithSimd};

/// Columns of a result that are computed together.
const LANES: usize = 8;

/// Rows that are computed together.
const SIDE: usize = 4;

/// Columns of a block that are read together.
const DEPTH: usize = 4;

/// Rows that stay in the first-level cache.
const ROWS: usize = 64;

/// `[B_1 B_2 ..] C` for each matrix `C`, of blocks `[rows, k_i]` and matrices `[k_1 + k_2 + .., q]`, each with its
/// number of columns. Each number is a sum in the order of the columns, so its bits do not depend on threads.
///
/// # Panics
///
/// When lengths disagree.
pub fn combine_columns<T: Float + Element<Acc = T>>(
    blocks: &[(&[T], usize)],
    matrices: &[(&[T], usize)],
    rows: usize,
) -> Vec<Vec<T>> {
    let count: usize = blocks.iter().map(|(_, width)| width).sum();
    assert!(
        blocks.iter().all(|(block, width)| block.len() == rows * width)
            && matrices.iter().all(|(matrix, width)| matrix.len() == count * width),
        "combine_columns: blocks must have {rows} rows and matrices {count} ones"
    );
    let widths = || matrices.iter().map(|(_, width)| *width);
    let mut outs: Vec<Vec<T>> = widths().map(|width| unwritten(rows * width)).collect();
    let panels: Vec<Panel<T>> = matrices.iter().enumerate().flat_map(|(at, own)| panels(at, own, count)).collect();
    // Pieces are whole groups of rows.
    let groups = rows.div_ceil(ROWS);
    let pieces = par::even(groups, ROWS * (count + widths().sum::<usize>()));
    let span = |piece: usize| pieces[piece].start * ROWS..rows.min(pieces[piece].end * ROWS);
    let mut places: Vec<Vec<&mut [T]>> = pieces.iter().map(|_| Vec::new()).collect();
    for (out, width) in outs.iter_mut().zip(widths()) {
        let lens: Vec<usize> = (0..pieces.len()).map(|piece| span(piece).len() * width).collect();
        places.iter_mut().zip(split_mut(out, &lens)).for_each(|(places, own)| places.push(own));
    }
    par::each(places, &|piece, outs| {
        let span = span(piece);
        let blocks = blocks.iter().map(|(block, width)| (&block[span.start * width..span.end * width], *width));
        simd::on_any(Piece { blocks: blocks.collect(), panels: &panels, outs, rows: span.len() });
    });
    outs
}

/// Some columns of a matrix, with zeros beside them.
struct Panel<T> {
    rows: Vec<[T; LANES]>,
    /// The result, and how many columns it has.
    out: usize,
    width: usize,
    /// Which of them these are.
    columns: Range<usize>,
}

fn panels<T: Float>(out: usize, &(matrix, width): &(&[T], usize), count: usize) -> Vec<Panel<T>> {
    let panel = |first: usize| {
        let columns = LANES.min(width - first);
        let mut rows = vec![[T::ZERO; LANES]; count];
        for (row, own) in rows.iter_mut().zip(matrix.chunks_exact(width)) {
            row[..columns].copy_from_slice(&own[first..first + columns]);
        }
        Panel { rows, out, width, columns: first..first + columns }
    };
    (0..width).step_by(LANES).map(panel).collect()
}

/// Some rows of all blocks.
struct Piece<'a, T> {
    blocks: Vec<(&'a [T], usize)>,
    panels: &'a [Panel<T>],
    outs: Vec<&'a mut [T]>,
    rows: usize,
}

impl<T: Float + Element<Acc = T>> WithSimd for Piece<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, _: S) {
        for start in (0..self.rows).step_by(ROWS) {
            let end = self.rows.min(start + ROWS);
            for panel in self.panels {
                let mut row = start;
                while row + SIDE <= end {
                    self.tile::<SIDE>(panel, row);
                    row += SIDE;
                }
                while row < end {
                    self.tile::<1>(panel, row);
                    row += 1;
                }
            }
        }
    }
}

impl<T: Float + Element<Acc = T>> Piece<'_, T> {
    /// `R` rows of the columns of a panel.
    #[inline(always)]
    fn tile<const R: usize>(&mut self, panel: &Panel<T>, row: usize) {
        let mut sums = [[T::ZERO; LANES]; R];
        let mut rest = panel.rows.as_slice();
        for &(block, width) in &self.blocks {
            let x: [&[T]; R] = core::array::from_fn(|r| &block[(row + r) * width..][..width]);
            let own;
            (own, rest) = rest.split_at(width);
            let (deep, last) = own.as_chunks::<DEPTH>();
            for (at, own) in deep.iter().enumerate() {
                // Arrays: with slices there is a check for each number, which takes longer than all else.
                let x = x.map(|x| x[at * DEPTH..].first_chunk::<DEPTH>().expect("a chunk of each row"));
                for k in 0..DEPTH {
                    for r in 0..R {
                        add(&mut sums[r], x[r][k], &own[k]);
                    }
                }
            }
            for (k, c) in (deep.len() * DEPTH..width).zip(last) {
                for r in 0..R {
                    add(&mut sums[r], x[r][k], c);
                }
            }
        }
        for (r, sums) in sums.iter().enumerate() {
            let out = &mut self.outs[panel.out][(row + r) * panel.width..][..panel.width][panel.columns.clone()];
            match out.first_chunk_mut::<LANES>() {
                Some(out) => *out = *sums,
                None => out.copy_from_slice(&sums[..out.len()]),
            }
        }
    }
}

/// Adds a number times a row.
#[inline(always)]
fn add<T: Float + Element<Acc = T>>(sums: &mut [T; LANES], x: T, c: &[T; LANES]) {
    *sums = core::array::from_fn(|lane| T::add(sums[lane], T::mul(x, c[lane])));
}

pub(super) mod dynamic {
    use crate::dynamic::slices::{AnyElement, ElementVec, Elements};

    /// See [`combine_columns`](crate::combine_columns()). Of f32 or f64.
    ///
    /// # Panics
    ///
    /// Those of [`combine_columns`](crate::combine_columns()); for other types.
    pub fn combine_columns(
        blocks: &[(Elements<'_>, usize)],
        matrices: &[(Elements<'_>, usize)],
        rows: usize,
    ) -> Vec<ElementVec> {
        macro_rules! combined {
            ($T:ty) => {{
                let [blocks, matrices] = [blocks, matrices]
                    .map(|list| list.iter().map(|(own, width)| (<$T>::elements(*own), *width)).collect::<Vec<_>>());
                super::combine_columns::<$T>(&blocks, &matrices, rows).into_iter().map(<$T>::element_vec).collect()
            }};
        }
        match blocks.first() {
            Some((Elements::F32(_), _)) => combined!(f32),
            Some((Elements::F64(_), _)) => combined!(f64),
            Some((other, _)) => panic!("combine_columns: blocks must be f32 or f64, got {}", other.type_name()),
            None => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(count: usize, seed: f64) -> Vec<f64> {
        (0..count).map(|k| ((k as f64 + seed) * 0.7345).sin()).collect()
    }

    /// Widths below, at and above a panel, and rows of less than a tile to many groups.
    #[test]
    fn is_the_product_of_the_blocks_side_by_side() {
        for rows in [0, 1, 3, 4, 63, 64, 70, 5000] {
            for (own, results) in [(vec![8, 8, 8], vec![8, 8]), (vec![3], vec![1, 9]), (vec![2, 0, 5], vec![20, 0, 7])]
            {
                let blocks: Vec<Vec<f64>> = own.iter().map(|width| numbers(rows * width, *width as f64)).collect();
                let count: usize = own.iter().sum();
                let matrices: Vec<Vec<f64>> = results.iter().map(|width| numbers(count * width, 0.5)).collect();
                let [left, right] = [(&blocks, &own), (&matrices, &results)].map(|(list, widths)| {
                    list.iter().map(Vec::as_slice).zip(widths.iter().copied()).collect::<Vec<_>>()
                });
                let got = combine_columns(&left, &right, rows);
                assert_eq!(got.len(), results.len());
                for ((got, matrix), width) in got.iter().zip(&matrices).zip(&results) {
                    assert_eq!(got.len(), rows * width);
                    for (at, got) in got.iter().enumerate() {
                        let (row, col) = (at / width, at % width);
                        let numbers =
                            blocks.iter().zip(&own).flat_map(|(block, width)| &block[row * width..][..*width]);
                        let want = numbers.enumerate().fold(0.0, |sum, (k, x)| sum + x * matrix[k * width + col]);
                        assert_eq!(*got, want, "{rows} rows, {own:?} to {results:?}");
                    }
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "matrices 2 ones")]
    fn refuses_a_matrix_with_other_rows() {
        combine_columns(&[(&[1.0f64; 6], 2)], &[(&[1.0; 3], 1)], 3);
    }
}
