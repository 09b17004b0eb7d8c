//! Matrices of blocks.

use super::base::{LinearOperator, Operator, check_sizes, device_of};
use burn::tensor::{Device, Tensor};
use sparse_ops::{Result, SparseError};

const OP: &str = "Operator::blocks";

#[derive(Debug)]
pub struct Blocks {
    rows: Vec<Vec<Option<Operator>>>,
    heights: Vec<usize>,
    widths: Vec<usize>,
}

impl Blocks {
    pub fn new(rows: Vec<Vec<Option<Operator>>>) -> Result<Self> {
        let count = rows.first().map_or(0, Vec::len);
        if count == 0 {
            return Err(SparseError::empty_input(OP, "must have at least one block"));
        }
        if let Some(at) = rows.iter().position(|row| row.len() != count) {
            let message =
                format!("rows must have as many blocks as the first, {count}, got {} in row {at}", rows[at].len());
            return Err(SparseError::invalid(OP, message));
        }
        let (mut heights, mut widths) = (vec![None; rows.len()], vec![None; count]);
        for (i, row) in rows.iter().enumerate() {
            for (j, block) in row.iter().enumerate().filter_map(|(j, block)| Some((j, block.as_ref()?))) {
                let [height, width] = block.dims();
                let wanted = [*heights[i].get_or_insert(height), *widths[j].get_or_insert(width)];
                if wanted != [height, width] {
                    let rule = "the blocks of a row must have as many rows, and those of a column as many columns";
                    return Err(SparseError::shape_mismatch(OP, rule, wanted, [height, width]));
                }
            }
        }
        Ok(Self { rows, heights: known(heights, "row")?, widths: known(widths, "column")? })
    }
}

/// The sizes of the rows or columns of blocks, if each has a block.
fn known(sizes: Vec<Option<usize>>, what: &str) -> Result<Vec<usize>> {
    let size = |(at, size): (usize, Option<usize>)| {
        size.ok_or_else(|| {
            let message = format!("each {what} must have a block that gives its size, got none in {what} {at}");
            SparseError::invalid(OP, message)
        })
    };
    sizes.into_iter().enumerate().map(size).collect()
}

impl LinearOperator for Blocks {
    fn dims(&self) -> [usize; 2] {
        [self.heights.iter().sum(), self.widths.iter().sum()]
    }

    fn device(&self) -> Option<Device> {
        device_of(self.rows.iter().flatten().flatten().map(LinearOperator::device))
    }

    fn try_apply(&self, x: Tensor<2>) -> Result<Tensor<2>> {
        check_sizes(OP, self.dims(), &x)?;
        let mut parts = Vec::with_capacity(self.rows.len());
        for row in &self.rows {
            let (mut sum, mut start) = (None, 0);
            for (block, &size) in row.iter().zip(&self.widths) {
                if let Some(block) = block {
                    let term = block.try_apply(x.clone().slice(start..start + size))?;
                    sum = Some(match sum {
                        Some(sum) => sum + term,
                        None => term,
                    });
                }
                start += size;
            }
            parts.extend(sum);
        }
        Ok(Tensor::cat(parts, 0))
    }

    fn try_transposed(&self) -> Result<Operator> {
        let block = |row: usize, col: usize| self.rows[row][col].as_ref().map(LinearOperator::try_transposed);
        let row = |col: usize| (0..self.rows.len()).map(|row| block(row, col).transpose()).collect();
        let rows = (0..self.widths.len()).map(row).collect::<Result<_>>()?;
        Ok(Operator::new(Self { rows, heights: self.widths.clone(), widths: self.heights.clone() }))
    }

    fn without_tape(&self) -> Operator {
        let plain =
            |row: &Vec<Option<Operator>>| row.iter().map(|block| Some(block.as_ref()?.without_tape())).collect();
        let rows = self.rows.iter().map(plain).collect();
        Operator::new(Self { rows, heights: self.heights.clone(), widths: self.widths.clone() })
    }
}
