//! Values in the order of the columns.

use crate::base::lazy::Lazy;
use crate::kernel::{self, Compressed};
use burn::tensor::Tensor;
use sparse_burn::replay::lookup;
use std::sync::atomic::{AtomicBool, Ordering};

/// The values of a matrix in the order of its columns, for the gradient of a dense operand. Products read them side by
/// side then, and not by a permutation. A copy is made for the second product, because many tensors have only one.
#[derive(Debug, Default)]
pub(crate) struct TransposedValues {
    used: AtomicBool,
    values: Lazy<Tensor<2>>,
}

impl TransposedValues {
    /// The columns and the values in their order, if they are kept. `values` must be the same at each call.
    pub(crate) fn get(&self, columns: &Compressed, values: &Tensor<2>) -> Option<(Compressed, Tensor<2>)> {
        let order = columns.perm.as_ref()?;
        lookup(|| self.used.swap(true, Ordering::Relaxed).then_some(())).ok()?;
        let kept = self.values.read(|| {
            let none = Tensor::zeros([1, values.dims()[1]], (&values.device(), values.dtype()));
            kernel::move_rows(values, &none, order)
        });
        Some((Compressed { perm: None, ..columns.clone() }, kept))
    }
}
