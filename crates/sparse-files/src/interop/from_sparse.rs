//! Tensors to matrices of other crates.

use sparse_ops::pattern::Pattern;
use sparse_ops::{Kind, Result, SparseTensor};

/// A matrix or graph of another crate that is made from a tensor: `sprs::CsMat::<f32>::from_sparse(&tensor)`.
///
/// Values keep their bits; what a type cannot hold is an error. [`interop`](crate::interop) has the rules.
pub trait FromSparse: Sized {
    /// The matrix of the stored elements. Reads the device.
    ///
    /// # Errors
    ///
    /// Those that [`interop`](crate::interop) lists.
    fn from_sparse<P: Pattern, K: Kind>(tensor: &SparseTensor<P, 2, K>) -> Result<Self>;
}
