//! Shared code for dense dims: value blocks, and the block of the fill, seen along one dim.

use crate::base::empty::nothing;
use crate::base::exact::Exact;
use crate::base::kind::Kind;
use crate::pattern::dims;
use crate::pattern::layout::Pattern;
use crate::tensor::fill::{Fill, FillValue};
use crate::tensor::sparse::SparseTensor;
use burn::tensor::Tensor;

impl<P: Pattern, const D: usize, K: Kind> SparseTensor<P, D, K> {
    /// Applies `f` to every block, stored or fill. `f` gets blocks as `[n, old size, inner]` along the dense dim `dim`,
    /// which has `size` elements afterwards. It only moves or repeats elements, so a fill of one number stays that
    /// number.
    pub(crate) fn map_blocks(&self, dim: usize, size: usize, f: impl Fn(Tensor<3, K>) -> Tensor<3, K>) -> Self {
        let mut dense_shape = self.dense_shape.clone();
        dense_shape[dim] = size;
        let block: usize = dense_shape.iter().product();
        let inner: usize = dense_shape[dim + 1..].iter().product();
        let outer: usize = dense_shape[..dim].iter().product();
        let along = |rows: Tensor<2, K>| {
            let count = rows.dims()[0];
            if count * block == 0 {
                return nothing([count, block], rows.dtype(), &[&rows]);
            }
            f(rows.reshape(Exact([count * outer, self.dense_shape[dim], inner]))).reshape(Exact([count, block]))
        };
        let fill = match &self.fill {
            Fill::Value(FillValue::Block(own)) if block == 0 || own.row().dims()[1] == self.block() => {
                Fill::block(along(own.row().clone()))
            }
            other => other.clone(),
        };
        Self::from_parts(self.pattern.clone(), along(self.values.clone()), dense_shape, fill)
    }

    /// A pattern of `shape` with nothing stored, and its values.
    pub(crate) fn empty_parts(&self, shape: &[usize]) -> (P, Tensor<2, K>) {
        let pattern = dims::empty_pattern(&self.pattern, shape);
        (pattern, nothing([0, self.block()], self.dtype(), &[&self.values]))
    }
}
