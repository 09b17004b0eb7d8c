//! Rows of values reduced along dense dims.

use crate::base::exact::Exact;
use crate::base::kind::Kind;
use burn::tensor::{Shape, Tensor};

/// Some of the dense dims of value rows `[n, block]`, to be reduced one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Blocks {
    /// For each dim: the number of elements before it, along it and after it. Dims that were reduced before have size
    /// 1.
    stages: Vec<[usize; 3]>,
    /// The dense dims of the result.
    pub(crate) shape: Vec<usize>,
    /// How many elements become one.
    pub(crate) size: usize,
}

impl Blocks {
    pub(crate) fn new(dense_shape: &[usize], along: &[bool]) -> Self {
        let (mut shape, mut stages) = (dense_shape.to_vec(), Vec::new());
        for dim in (0..shape.len()).filter(|&dim| along[dim] && dense_shape[dim] != 1) {
            stages.push([shape[..dim].iter().product(), shape[dim], shape[dim + 1..].iter().product()]);
            shape[dim] = 1;
        }
        let size = stages.iter().map(|[_, length, _]| length).product();
        Self { stages, shape, size }
    }

    /// Elements of a row of the result.
    pub(crate) fn kept(&self) -> usize {
        self.shape.iter().product()
    }

    /// Rows `[n, kept]`, with `f` reducing dim 1 of a rank 3 to size 1. `n` is not 0.
    pub(crate) fn fold<K: Kind>(&self, rows: Tensor<2, K>, f: impl Fn(Tensor<3, K>) -> Tensor<3, K>) -> Tensor<2, K> {
        let count = rows.dims()[0];
        self.stages.iter().fold(rows, |rows, &[outer, length, inner]| {
            f(rows.reshape(Exact([count * outer, length, inner]))).reshape(Exact([count, outer * inner]))
        })
    }

    /// Rows `[n, kept]` read at every element of the block: the transpose of a sum.
    pub(crate) fn spread<K: Kind>(&self, rows: Tensor<2, K>) -> Tensor<2, K> {
        let count = rows.dims()[0];
        self.stages.iter().rev().fold(rows, |rows, &[outer, length, inner]| {
            let rows = rows.reshape(Exact([count * outer, 1, inner]));
            let rows: Tensor<3, K> = rows.expand(Shape::from([count * outer, length, inner]));
            rows.reshape(Exact([count, outer * length * inner]))
        })
    }
}
