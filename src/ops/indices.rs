//! Indices along an axis, from a tensor or from a list of the host.

use super::select::checked_index;
use crate::base::checks::same_device;
use crate::base::index::{check_below, index_below};
use burn::tensor::{Device, Int, Tensor};
use sparse_core::Result;

/// Indices along one axis, as [`select`](crate::SparseTensor::select) takes them.
///
/// | given | indices |
/// |---|---|
/// | `Tensor<1, Int>` | in `[-size, size)`; the check reads the device |
/// | `[usize; N]`, `Vec<usize>`, `&[usize]`, and references to these | in `[0, size)`; the check reads nothing |
///
/// The trait is sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no list of indices",
    note = "indices are a `Tensor<1, Int>`, or a list of `usize`: `[usize; N]`, `&[usize]`, `Vec<usize>`"
)]
pub trait Indices: Clone {
    /// The indices as a tensor of the device, in `[0, size)`.
    #[doc(hidden)]
    fn checked(self, op: &'static str, axis: usize, size: usize, device: &Device) -> Result<Tensor<1, Int>>;
}

impl Indices for Tensor<1, Int> {
    fn checked(self, op: &'static str, axis: usize, size: usize, device: &Device) -> Result<Tensor<1, Int>> {
        same_device(op, device, &self.device())?;
        checked_index(op, axis, self, size)
    }
}

macro_rules! of_lists {
    ($([$($generic:tt)*] $list:ty),*) => {$(
        impl<$($generic)*> Indices for $list {
            fn checked(self, op: &'static str, axis: usize, size: usize, device: &Device) -> Result<Tensor<1, Int>> {
                check_below(op, axis, &self[..], size)?;
                Ok(index_below(&self[..], size.max(self.len()), device))
            }
        }
    )*};
}

of_lists!([] &[usize], [] Vec<usize>, [] &Vec<usize>, [const N: usize] [usize; N], [const N: usize] &[usize; N]);
