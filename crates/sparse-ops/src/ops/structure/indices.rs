//! Indices along an axis, from a tensor or from a list of the host.

use crate::base::checks::same_device;
use crate::base::index::{check_below, index_below, index_tensor, signed};
use crate::kernel;
use burn::tensor::{Device, Int, Tensor};
use sparse_burn::index_dtype_for;
use sparse_core::Result;

/// Indices along one axis, as [`select`](crate::SparseTensor::select) takes them.
///
/// | given | indices |
/// |---|---|
/// | `Tensor<1, Int>` | in `[-size, size)`; the check reads the device |
/// | `[usize; N]`, `Vec<usize>`, `&[usize]`, and references to these | in `[0, size)`; the check reads nothing |
///
/// The trait is sealed.
pub trait Indices: Checked {}

impl<I: Checked> Indices for I {}

/// The module is private, so nobody else can implement [`Indices`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no list of indices",
    note = "indices are a `Tensor<1, Int>`, or a list of `usize`: `[usize; N]`, `&[usize]`, `Vec<usize>`"
)]
pub trait Checked: Clone {
    /// The indices as a tensor of the device, in `[0, size)`.
    fn checked(self, op: &'static str, axis: usize, size: usize, device: &Device) -> Result<Tensor<1, Int>>;
}

impl Checked for Tensor<1, Int> {
    fn checked(self, op: &'static str, axis: usize, size: usize, device: &Device) -> Result<Tensor<1, Int>> {
        same_device(op, device, &self.device())?;
        checked_index(op, axis, self, size)
    }
}

macro_rules! of_lists {
    ($([$($generic:tt)*] $list:ty),*) => {$(
        impl<$($generic)*> Checked for $list {
            fn checked(self, op: &'static str, axis: usize, size: usize, device: &Device) -> Result<Tensor<1, Int>> {
                check_below(op, axis, &self[..], size)?;
                Ok(index_below(&self[..], size.max(self.len()), device))
            }
        }
    )*};
}

of_lists!([] &[usize], [] Vec<usize>, [] &Vec<usize>, [const N: usize] [usize; N], [const N: usize] &[usize; N]);

/// Checks an index in `[-size, size)`, which reads the device once, and makes all its numbers positive or 0.
pub(crate) fn checked_index(
    op: &'static str,
    axis: usize,
    index: Tensor<1, Int>,
    size: usize,
) -> Result<Tensor<1, Int>> {
    let (count, index) = (index.dims()[0], signed(index));
    let dtype = index_dtype_for(size.max(count));
    if count == 0 {
        return Ok(index_tensor(index, dtype));
    }
    kernel::check_indices(op, axis, size, &index)?;
    let index = index_tensor(index, dtype);
    let wrap = index_tensor(index.clone().lower_elem(0).int(), dtype).mul_scalar(size as i64);
    Ok(index + wrap)
}
