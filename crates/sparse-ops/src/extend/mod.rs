//! For people who write operations, layers and file formats of their own: what the layers, files and graphs of this
//! library are written with, besides the public methods.
//!
//! - A backward rule on Burn's tape, and its check: [`record`], [`Erased`], [`gradcheck`], [`associate`].
//! - A tensor from its parts, and its parts: [`Parts`].
//! - Structural operations: a new pattern and an index map, then the values: [`RowMap`], [`move_rows`], [`read_rows`],
//!   [`RowSums`], [`sum_rows`].
//! - Patterns of both layouts: [`from_coordinates`], [`arrays`], [`in_layout`], [`by_rows`], [`by_columns`],
//!   [`with_diagonal`], [`off_diagonal`], [`coo_pattern`], [`csr_pattern`].
//! - Rows at the elements of a matrix: messages along edges: [`read_at`], [`read_ends`], [`reduce_rows`], [`attend`],
//!   [`Scores`].
//! - Dense rows: [`linear`], [`linear_onto`], [`matmul_linear`], [`add_bias`], [`add_scaled`], [`log_softmax_rows`],
//!   [`activate`], [`Activation`], [`sum_dim`], [`expand`], [`write_rows`], [`Drops`], [`wide`], [`nothing`],
//!   [`cat_rows`].
//! - Kernels without a rule, which remove the autodiff association: [`kernel`], [`Compressed`], [`is_gpu`].
//! - What is derived once: [`kept`], [`kept_result`], [`Derived`], [`Lazy`], [`Recent`].
//! - Index tensors: [`index_tensor`], [`index_below`], [`narrow_index`], [`ints`], [`signed`], [`index_dtype_for`],
//!   [`Exact`], [`along`].
//! - Numbers of the host: [`read_data`], [`read_all`], [`converted`], [`from_entries`], [`int_range`], [`cells`].
//! - Checks, whose errors name the operation: [`same_elements`], [`same_device`], [`has_dtype`], [`creation_dtype`],
//!   [`check_ids`], [`check_square`], [`check_shape`], [`check_rows`], [`check_dense`], [`expect`].
//! - Limits of a reader: [`Allowed`].
//!
//! Arguments are right by construction: what is wrong in them may panic or give a wrong result later, and is checked
//! in debug builds only. Values are rows `[nnz, block]`: one block of the dense dims for each stored coordinate.
//!
//! # Example
//!
//! The stored elements times the product of two vectors, `out_ij = a_ij u_i v_j`, in one pass, for both layouts, on
//! every backend; gradients come with [`read_at`]:
//!
//! ```
//! use burn::tensor::{Device, Tensor};
//! use sparse_ops::extend::{Exact, Parts, read_at};
//! use sparse_ops::pattern::Pattern;
//! use sparse_ops::{CsrTensor, Fill, SparseTensor};
//!
//! fn scale_outer<P: Pattern>(a: &SparseTensor<P, 2>, u: Tensor<1>, v: Tensor<1>) -> SparseTensor<P, 2> {
//!     let column = |x: Tensor<1>| {
//!         let [n] = x.dims();
//!         x.reshape(Exact([n, 1]))
//!     };
//!     let factors = read_at(a.pattern(), 0, column(u)) * read_at(a.pattern(), 1, column(v));
//!     a.with_rows(a.rows().clone() * factors, Fill::Zero)
//! }
//!
//! let device = Device::flex().autodiff();
//! let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[1.0, 0.0], [2.0, 3.0]], &device));
//! let u = Tensor::<1>::from_floats([10.0, 100.0], &device).require_grad();
//! let out = scale_outer(&a, u.clone(), Tensor::from_floats([1.0, 2.0], &device));
//! assert_eq!(out.values::<1>().into_data().iter::<f32>().collect::<Vec<_>>(), [10.0, 200.0, 600.0]);
//! let grads = out.values::<1>().sum().backward();
//! assert_eq!(u.grad(&grads).unwrap().into_data().iter::<f32>().collect::<Vec<_>>(), [1.0, 8.0]);
//! ```

mod edges;
mod keep;
mod parts;

/// Typed calls of kernels, on every backend. They have no backward rule and remove the autodiff association.
pub mod kernel {
    use crate::base::kind::Kind;
    use crate::kernel::{self, Compressed, Epilogue};
    use burn::tensor::Tensor;
    use sparse_core::ShiftedRows;

    pub use sparse_burn::kernel::{
        adam_step, column_pass, combine_columns, compress, expand_ptr, group_by, incomplete, sddmm, segment_sum,
        solve_triangular, triangle_levels, triangle_plan,
    };
    pub use sparse_burn::{AdamStep, ColumnPass, ColumnStep, Incomplete, Triangle, TrianglePlan};

    /// Sparse x dense: `out[r, :] = sum_k values[k] * dense[idx[k], :]`. Values are `[nnz, heads]`: the columns of
    /// `dense` are cut into `heads` parts of the same width, and value `h` multiplies part `h`.
    pub fn spmm<K: Kind>(view: &Compressed, values: &Tensor<2, K>, dense: &Tensor<2, K>) -> Tensor<2, K> {
        kernel::spmm(view, None::<ShiftedRows>, values, dense, 1, &Epilogue::default())
    }
}

pub use crate::base::checks::{creation_dtype, expect, has_dtype, same_device, same_elements};
pub use crate::base::coordinates::along;
pub use crate::base::data::converted;
pub use crate::base::empty::{cat_rows, nothing};
pub use crate::base::exact::Exact;
pub use crate::base::float::wide;
pub use crate::base::index::{check_ids, index_below, index_tensor, ints, narrow_index, read_all, signed};
pub use crate::base::kind::associate;
pub use crate::base::lazy::Lazy;
pub use crate::base::limits::{Allowed, check_dense, check_rows};
pub use crate::base::recent::Recent;
pub use crate::base::scalar::int_range;
pub use crate::base::sizes::cells;
pub use crate::kernel::{Arrays, Compressed};
pub use crate::module::record::is_sparse_param;
pub use crate::ops::dense::activation::activate;
pub use crate::ops::dense::add_scaled::add_scaled;
pub use crate::ops::dense::linear::{biased as add_bias, linear, linear_onto};
pub use crate::ops::dense::log_softmax::log_softmax_rows;
pub use crate::ops::dense::matmul_linear::matmul_linear;
pub use crate::ops::elementwise::broadcast::read_rows;
pub use crate::ops::products::attention::{Scores, attend};
pub use crate::ops::structure::graph::check_square;
pub use crate::pattern::diagonal::{off_diagonal, with_diagonal};
pub use crate::policy::Drops;
pub use crate::rows::{RowMap, RowSums, expand, move_rows, sum_dim, sum_rows};
pub use crate::tensor::construct::host::from_entries;
pub use edges::{read_at, read_ends, reduce_rows, write_rows};
pub use keep::{Derived, kept, kept_result};
pub use parts::{
    Parts, arrays, by_columns, by_rows, check_shape, coo_pattern, csr_pattern, from_coordinates, in_layout,
};
pub use sparse_autograd::{Erased, gradcheck, record};
pub use sparse_burn::{Activation, index_dtype_for, is_gpu, is_local, is_remote, read_data};
pub use sparse_core::threads;
