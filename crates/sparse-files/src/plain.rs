//! What a format without dense dims and without fills can hold.

use sparse_ops::extend::{Parts, read_data};
use sparse_ops::pattern::Pattern;
use sparse_ops::{Kind, Result, SparseError, SparseTensor};

/// The hints of a file format.
pub(crate) const FILE_HINTS: [&str; 2] = [
    "use with_fill to give missing elements a value, or io::safetensors, which keeps them missing",
    "use io::safetensors, which keeps every fill, or with_fill",
];

/// Checks that both dims are sparse and that missing elements are zero. Reads a fill that a tensor holds. The hints
/// say what to do with a missing fill, and with one other than zero.
pub(crate) fn check_plain<P: Pattern, K: Kind>(
    tensor: &SparseTensor<P, 2, K>,
    op: &'static str,
    [missing, other]: [&'static str; 2],
) -> Result<()> {
    if tensor.dense_dims() > 0 {
        let rule = "the tensor must have two sparse dims, got shape {left} with {right:1} of them";
        return Err(SparseError::shape_mismatch(op, rule, tensor.dims(), [tensor.sparse_dims()]));
    }
    let fill = tensor.fill();
    if fill.is_undefined() {
        return Err(SparseError::undefined_fill(op, missing));
    }
    let is_zero = || read_data(tensor.fill_row(1).inner()).convert::<f64>().iter::<f64>().all(|value| value == 0.0);
    if !fill.is_zero() && !is_zero() {
        return Err(SparseError::wrong_fill(op, "zero", fill, other));
    }
    Ok(())
}
