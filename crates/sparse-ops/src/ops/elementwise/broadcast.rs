//! `+ - * /` with a dense tensor that broadcasts: stored-only operations, which keep the pattern.

use crate::base::checks::{plain_name, same_device, same_dtype};
use crate::base::empty::nothing;
use crate::base::exact::Exact;
use crate::base::kind::{Kind, Numeric};
use crate::ops::reductions::folds::Blocks;
use crate::pattern::layout::Pattern;
use crate::pattern::maps::{axis_map, flat_index, from_dense_map};
use crate::rows::zip::apply;
use crate::rows::{RowMap, move_rows};
use crate::tensor::sparse::SparseTensor;
use burn::tensor::{Float, FloatDType, Int, Tensor};
use sparse_burn::BinaryOp;
use sparse_core::{Result, SparseError};
use sparse_macros::or_panic;

macro_rules! with_dense {
    ($kind:ident: $name:ident $op:ident $formula:literal) => {
        #[doc = concat!("`", $formula, "` at the stored elements, with a dense tensor that broadcasts to this shape.")]
        ///
        /// As for Burn's tensors, each dim of `dense` has the size of this tensor's dim, or 1. A tensor `[M, 1]` gives
        /// one number for each row of a matrix, and `[1, N]` one for each column. Reductions that keep their dim have
        /// this shape.
        ///
        /// This operation is stored-only: it keeps the pattern. For a product or a quotient the fill must therefore be
        /// `Zero` or `Undefined`; elements that are not stored stay as they are, even where the divisor is zero or the
        /// factor infinite. For a sum or a difference the fill must be `Undefined`.
        ///
        /// Backward: the values get the usual gradient. Each element of `dense` gets the sum over the stored elements
        /// that were combined with it, without atomics. Cost: one pass over the values. If `dense` spans all sparse
        /// dims, or one of them, the positions at which it is read are kept with the pattern.
        ///
        /// ```
        /// use burn::tensor::{Device, Tensor};
        /// use sparse_tensor::CsrTensor;
        ///
        /// // D^-1 A: every row divided by its sum.
        /// let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[1.0, 3.0], [0.0, 2.0]], &Device::flex()));
        /// let b = a.div_dense(a.sum_dim(1).to_dense());
        /// assert_eq!(b.values::<1>().into_data().iter::<f32>().collect::<Vec<_>>(), [0.25, 0.75, 1.0]);
        /// ```
        ///
        /// # Errors
        ///
        /// `shape_mismatch`, `dtype_mismatch`, `device_mismatch`, `would_densify` for another fill.
        #[or_panic]
        pub fn $name(&self, dense: Tensor<D, $kind>) -> Result<Self> {
            self.with_dense(plain_name(stringify!($name)), BinaryOp::$op, dense)
        }
    };
}

impl<P: Pattern, const D: usize, K: Numeric> SparseTensor<P, D, K> {
    with_dense!(K: try_mul_dense Mul "self * dense");
    with_dense!(K: try_add_dense Add "self + dense");
    with_dense!(K: try_sub_dense Sub "self - dense");

    fn with_dense(&self, name: &'static str, op: BinaryOp, dense: Tensor<D, K>) -> Result<Self> {
        let (shape, given) = (self.dims(), dense.dims());
        if (0..D).any(|dim| given[dim] != shape[dim] && given[dim] != 1) {
            let rule = "the dense tensor {left} must have the size of each dim of {right}, or 1";
            return Err(SparseError::shape_mismatch(name, rule, given, shape));
        }
        self.check_stored_only(op, name, dense.dtype(), &dense.device())?;
        let own = self.summed(op);
        let (sparse, dense_dims) = given.split_at(own.sparse_dims());
        let (rows, block) = (sparse.iter().product(), own.block());
        let width: usize = dense_dims.iter().product();
        let blocks = dense.reshape(Exact([rows, width]));
        let read = read_rows(blocks, &own.read_at(sparse));
        let read = match read.dims()[0] * block {
            _ if width == block => read,
            0 => nothing([read.dims()[0], block], read.dtype(), &[&read]),
            _ => {
                let repeated: Vec<bool> = dense_dims.iter().map(|&size| size == 1).collect();
                Blocks::new(&own.dense_shape, &repeated).spread(read)
            }
        };
        Ok(own.with_rows(apply(op, own.values.clone(), read), own.fill.clone()))
    }

    /// For every stored element, the row that it reads of a dense tensor of these sizes. Each size is 1 or that of the
    /// sparse dim.
    fn read_at(&self, sizes: &[usize]) -> RowMap {
        let shape = self.pattern.shape();
        let kept: Vec<usize> = (0..sizes.len()).filter(|&dim| sizes[dim] == shape[dim] && shape[dim] != 1).collect();
        let rows: usize = sizes.iter().product();
        match *kept {
            _ if sizes == shape => from_dense_map(&self.pattern),
            [dim] if rows == shape[dim] => axis_map(&self.pattern, dim),
            _ => {
                let dtype = sparse_burn::index_dtype_for(rows.max(self.nnz()));
                RowMap::new(flat_index(&self.pattern, kept, dtype), rows)
            }
        }
    }

    /// Coalesced, unless the operation may scale each duplicate alone.
    fn summed(&self, op: BinaryOp) -> Self {
        if op == BinaryOp::Mul { self.clone() } else { self.coalesce() }
    }

    fn check_stored_only(
        &self,
        what: BinaryOp,
        op: &'static str,
        dtype: burn::tensor::DType,
        device: &burn::tensor::Device,
    ) -> Result<()> {
        same_dtype(op, self.dtype(), dtype)?;
        same_device(op, &self.device(), device)?;
        let scales = matches!(what, BinaryOp::Mul | BinaryOp::Div);
        if self.fill.is_undefined() || (scales && self.fill.is_zero()) {
            return Ok(());
        }
        let hint = if scales {
            "use to_dense first, or with_fill(Fill::Undefined) for the stored elements alone: a fill other than zero \
             gets another value at every element"
        } else {
            "use to_dense first, or with_fill(Fill::Undefined) for the stored elements alone: a sum has another value \
             at every element that is not stored"
        };
        Err(SparseError::would_densify(op, self.num_elements(), hint))
    }
}

impl<P: Pattern, const D: usize> SparseTensor<P, D> {
    with_dense!(Float: try_div_dense Div "self / dense");
}

impl<P: Pattern, const D: usize> SparseTensor<P, D, Int> {
    /// `self / dense` at the stored elements, as a true division in f32. See the method of float tensors.
    ///
    /// # Errors
    ///
    /// As for floats.
    #[or_panic]
    pub fn try_div_dense(&self, dense: Tensor<D, Int>) -> Result<SparseTensor<P, D>> {
        self.real().try_div_dense(dense.float().cast(FloatDType::F32))
    }
}

/// Row `k` of the result is row `map[k]` of `rows`. No row is missing.
pub fn read_rows<K: Kind>(rows: Tensor<2, K>, map: &RowMap) -> Tensor<2, K> {
    let fill = Tensor::zeros([1, rows.dims()[1]], (&rows.device().inner(), rows.dtype()));
    move_rows(rows, fill, map)
}
