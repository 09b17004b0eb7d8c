//! Matrices of other crates to tensors.

use crate::base::kind::Kind;
use crate::pattern::layout::Pattern;
use crate::tensor::construct::host::{from_entries, host_values};
use crate::tensor::sparse::SparseTensor;
use burn::tensor::{Element, TensorCreationOptions};
use sparse_core::Result;

/// A sparse matrix in host memory: what [`from_matrix`](SparseTensor::from_matrix) reads.
///
/// ```
/// use burn::tensor::Device;
/// use sparse_tensor::{CsrTensor, interop::HostMatrix};
///
/// /// A matrix `[n, n]` with these numbers on its diagonal.
/// struct Diagonal(Vec<f32>);
///
/// impl HostMatrix for Diagonal {
///     type Value = f32;
///
///     fn dims(&self) -> [usize; 2] {
///         [self.0.len(); 2]
///     }
///
///     fn entries(&self) -> impl Iterator<Item = (usize, usize, f32)> {
///         self.0.iter().enumerate().map(|(at, &value)| (at, at, value))
///     }
/// }
///
/// let a = CsrTensor::<2>::from_matrix(&Diagonal(vec![2.0, 3.0]), &Device::flex()).unwrap();
/// assert_eq!(a.to_triplets::<f32>(), (vec![0, 1], vec![0, 1], vec![2.0, 3.0]));
/// ```
pub trait HostMatrix {
    /// The type of the values.
    type Value: Element;

    /// Numbers of rows and columns.
    fn dims(&self) -> [usize; 2];

    /// Row, column and value of every stored element, in any order. Elements that repeat are summed.
    fn entries(&self) -> impl Iterator<Item = (usize, usize, Self::Value)>;
}

impl<P: Pattern, K: Kind> SparseTensor<P, 2, K> {
    /// The matrix of another crate, or of your own ([`HostMatrix`]), filled with zero. Stored zeros stay stored.
    ///
    /// `options` are a device, or a device and a dtype. Without a dtype the values keep theirs and their bits; with one
    /// they are converted as [`from_triplets`](Self::from_triplets) does. Entries may be in any order and may repeat:
    /// COO keeps them as they are given, CSR sorts and sums them.
    ///
    /// Cost: a pass over the entries, which are copied to the device; for CSR a sort if they are not in order, such as
    /// those of compressed columns. [`HostMatrix`] has an example, and [`interop`](crate::interop) one for each crate.
    ///
    /// # Errors
    ///
    /// `dtype_mismatch` if the values are not of kind `K`, and no dtype says to convert them; `unsupported_dtype` for
    /// values such as u16, for which a dtype must be given; `index_out_of_range`; `overflow` for an integer that the
    /// dtype cannot hold. For CSR also `would_densify`: more than [the limit](crate::Limits) of rows that are
    /// almost all empty.
    pub fn from_matrix(matrix: &impl HostMatrix, options: impl Into<TensorCreationOptions>) -> Result<Self> {
        from_valued("from_matrix", matrix.entries(), matrix.dims(), options.into())
    }
}

/// The matrix of these entries. Without a dtype in `options` the values keep theirs.
pub(super) fn from_valued<P: Pattern, K: Kind, E: Element>(
    op: &'static str,
    entries: impl Iterator<Item = (usize, usize, E)>,
    shape: [usize; 2],
    mut options: TensorCreationOptions,
) -> Result<SparseTensor<P, 2, K>> {
    options.dtype.get_or_insert(E::dtype());
    let (at, values): (Vec<_>, Vec<_>) = entries.map(|(row, col, value)| ((row, col), value)).unzip();
    from_entries(op, at.into_iter(), host_values(op, values, &options)?, shape)
}

/// `TryFrom` of a reference to a [`HostMatrix`], onto the default device.
#[cfg(any(feature = "sprs", feature = "nalgebra", feature = "faer"))]
macro_rules! try_from_matrix {
    ([$($generics:tt)*] $matrix:ty) => {
        /// [`from_matrix`](SparseTensor::from_matrix) onto the default device.
        impl<$($generics)*, P: Pattern, K: Kind> TryFrom<&$matrix> for SparseTensor<P, 2, K> {
            type Error = SparseError;

            fn try_from(matrix: &$matrix) -> Result<Self> {
                Self::from_matrix(matrix, &Device::default())
            }
        }
    };
}

#[cfg(any(feature = "sprs", feature = "nalgebra", feature = "faer"))]
pub(super) use try_from_matrix;
