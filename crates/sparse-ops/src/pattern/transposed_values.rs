//! Values in the order of the columns.

use crate::kernel::{self, Compressed};
use burn::tensor::Tensor;
use sparse_burn::replay::is_replayed;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// The values of a matrix in the order of its columns, for the gradient of a dense operand. Products read them side by
/// side then, and not by a permutation. A copy is made for the second product, because many tensors have only one.
#[derive(Debug, Default)]
pub(crate) struct TransposedValues {
    used: AtomicBool,
    values: OnceLock<Tensor<2>>,
}

impl TransposedValues {
    /// The columns and the values in their order, if they are kept. `values` must be the same at each call.
    pub(crate) fn get(&self, columns: &Compressed, values: &Tensor<2>) -> Option<(Compressed, Tensor<2>)> {
        let order = columns.perm.as_ref()?;
        // Runs that are repeated must take the same way.
        if is_replayed() || !self.used.swap(true, Ordering::Relaxed) {
            return None;
        }
        // Not in `get_or_init`: a thread that waits there could hold a task that this one waits for.
        let kept = self.values.get().cloned().unwrap_or_else(|| {
            let none = Tensor::zeros([1, values.dims()[1]], (&values.device(), values.dtype()));
            let made = kernel::move_rows(values, &none, order);
            self.values.get_or_init(|| made).clone()
        });
        Some((Compressed { perm: None, ..columns.clone() }, kept))
    }
}
