//! What a format without dense dims and without fills can hold.

use super::sparse::SparseTensor;
use crate::base::kind::Kind;
use crate::pattern::layout::Pattern;
use sparse_burn::read_data;
use sparse_core::{Result, SparseError};

/// The hints of a file format.
pub const FILE_HINTS: [&str; 2] = [
    "use with_fill to give missing elements a value, or io::safetensors, which keeps them missing",
    "use io::safetensors, which keeps every fill, or with_fill",
];

impl<P: Pattern, K: Kind> SparseTensor<P, 2, K> {
    /// Checks that both dims are sparse and that missing elements are zero. Reads a fill that a tensor holds. The hints
    /// say what to do with a missing fill, and with one other than zero.
    pub fn check_plain(&self, op: &'static str, [missing, other]: [&'static str; 2]) -> Result<()> {
        if self.dense_dims() > 0 {
            let rule = "the tensor must have two sparse dims, got shape {left} with {right:1} of them";
            let (left, right) = (self.dims().to_vec(), vec![self.sparse_dims()]);
            return Err(SparseError::ShapeMismatch { op, rule, left, right });
        }
        let fill = self.fill();
        if fill.is_undefined() {
            return Err(SparseError::UndefinedFill { op, hint: missing });
        }
        let is_zero = || read_data(self.fill_row().inner()).convert::<f64>().iter::<f64>().all(|value| value == 0.0);
        if !fill.is_zero() && !is_zero() {
            return Err(SparseError::WrongFill { op, expected: "zero", fill: fill.to_string(), hint: other });
        }
        Ok(())
    }
}
