//! Sparse x dense in a semiring.

use crate::base::checks::same_elements;
use crate::base::empty::constant;
use crate::base::index::index_tensor;
use crate::base::kind::{Numeric, from_float, nonzero};
use crate::ops::products::matmul::matrix;
use crate::ops::products::matmul_reduce::extreme_product;
use crate::ops::products::operand::Operand;
use crate::pattern::layout::Pattern;
use crate::tensor::fill::Fill;
use crate::tensor::sparse::SparseTensor;
use burn::tensor::{DType, Device, FloatDType, Tensor};
use sparse_burn::{Extremum, Reduce, Term};
use sparse_core::Result;
use sparse_macros::or_panic;

/// What takes the place of the sum and of the product in a product of matrices: a semiring, as in GraphBLAS.
///
/// Integers wrap, also the largest and the smallest number, which stand for infinities: `i32::MAX + 1` is the shortest
/// path of all. So paths of several products need floats, or `clamp` between two products by what leaves room for an
/// edge.
///
/// Nodes from which two edges lead to a marked one:
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::{CooTensor, ops::Semiring};
///
/// let device = Device::flex();
/// let a = CooTensor::from_edges(&[(0, 1), (1, 2), (2, 3), (1, 3)], Tensor::<1>::ones([4], &device), 4).unwrap();
/// let marked = Tensor::<2>::from_floats([[0.0], [0.0], [0.0], [1.0]], &device);
/// let two = a.matmul_semiring(a.matmul_semiring(marked, Semiring::OrAnd), Semiring::OrAnd);
/// assert_eq!(two.into_data().iter::<f32>().collect::<Vec<_>>(), [1.0, 1.0, 0.0, 0.0]);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Semiring {
    /// Sums of products: the ordinary product.
    #[default]
    PlusTimes,
    /// Smallest sums: lengths of shortest paths. Nothing gives infinity.
    MinPlus,
    /// Largest sums: longest paths, scores of best alignments. Nothing gives minus infinity.
    MaxPlus,
    /// Largest products: probabilities of most likely paths. Nothing gives 0, so it is a semiring of numbers from 0 on.
    MaxTimes,
    /// 1 where two elements meet of which neither is zero, else 0: what can be reached. No gradient.
    OrAnd,
}

impl Semiring {
    /// The extremum and the terms, of those that have them.
    pub(super) fn extremum(self) -> Option<(Extremum, Term)> {
        match self {
            Self::PlusTimes => None,
            Self::MinPlus => Some((Extremum::Min, Term::Sum)),
            Self::MaxPlus => Some((Extremum::Max, Term::Sum)),
            Self::MaxTimes | Self::OrAnd => Some((Extremum::Max, Term::Product)),
        }
    }
}

impl<P: Pattern, const D: usize, K: Numeric> SparseTensor<P, D, K> {
    /// `self x dense` in a semiring: `out[r, f] = min_k(self[r, c_k] + dense[c_k, f])` for [`Semiring::MinPlus`], over
    /// the stored elements of each row. `[M, N] x [N, F] -> [M, F]`, and batches.
    ///
    /// Stored-only: the fill takes no part, whatever it is; an element that is not stored is no edge. A row without
    /// stored elements gives what the reduction starts from: infinity for min-plus, minus infinity for max-plus (of
    /// integers the largest and the smallest number), 0 for the others. NaN wins, also that of `inf - inf`. Integers
    /// wrap. Duplicates are summed first. Dense dims, batches and broadcasting are as in [`matmul`](Self::matmul):
    /// `[M, N, heads] x [N, heads, F] -> [M, heads, F]`. For Bool use the `int()` of both.
    ///
    /// Backward, to the values and to `dense`: subgradients as of [`matmul_reduce`](Self::matmul_reduce). The gradient
    /// is shared evenly by the terms that tie, where f16 and bf16 are compared as rounded, and NaN ties with NaN. A sum
    /// passes its share on to both operands. `OrAnd` gives zeros.
    ///
    /// Cost: that of `matmul_reduce`, `O(nnz * F)` time in one pass, and no extra memory. The sums of min-plus and
    /// max-plus run on the host for a GPU. Source: GraphBLAS (Kepner and Gilbert, *Graph Algorithms in the Language of
    /// Linear Algebra*, 2011).
    ///
    /// One step of Bellman and Ford's algorithm, in which the gradient finds the edges that were taken:
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::{CooTensor, ops::Semiring};
    ///
    /// let device = Device::flex().autodiff();
    /// let weights = Tensor::<1>::from_floats([0.0, 2.0, 7.0, 1.0], &device).require_grad();
    /// // Edges from the second node to the first: distances flow along rows.
    /// let a = CooTensor::from_edges(&[(0, 0), (1, 0), (2, 0), (2, 1)], weights.clone(), 3).unwrap();
    /// let start = Tensor::<2>::from_floats([[0.0], [f32::INFINITY], [f32::INFINITY]], &device);
    ///
    /// let one = a.matmul_semiring(start, Semiring::MinPlus);
    /// let two = a.matmul_semiring(one, Semiring::MinPlus);
    /// assert_eq!(two.to_data().iter::<f32>().collect::<Vec<_>>(), [0.0, 2.0, 3.0]);
    /// let grads = two.narrow(0, 2, 1).sum().backward();
    /// let grad = weights.grad(&grads).unwrap();
    /// assert_eq!(grad.into_data().iter::<f32>().collect::<Vec<_>>(), [0.0, 1.0, 0.0, 1.0]);
    /// ```
    ///
    /// # Errors
    ///
    /// `shape_mismatch`, `dtype_mismatch`, `device_mismatch`.
    #[or_panic]
    pub fn try_matmul_semiring<const E: usize>(&self, dense: Tensor<E, K>, semiring: Semiring) -> Result<Tensor<E, K>> {
        const OP: &str = "matmul_semiring";
        match semiring {
            Semiring::PlusTimes => self.reduced(OP, dense, Reduce::Add),
            Semiring::MaxTimes => self.reduced(OP, dense, Reduce::Amax),
            Semiring::MinPlus => self.tropical(OP, dense, Extremum::Min),
            Semiring::MaxPlus => self.tropical(OP, dense, Extremum::Max),
            Semiring::OrAnd => {
                let own = self.coalesce();
                let truths = SparseTensor { values: truths(&own.values), fill: Fill::Zero, ..own.clone() };
                let out = truths.reduced(OP, self::truths(&dense), Reduce::Amax)?;
                Ok(constant(constant(out, &[&own.values]), &[&dense]))
            }
        }
    }

    /// Extremes of sums.
    fn tropical<const E: usize>(
        &self,
        op: &'static str,
        dense: Tensor<E, K>,
        extremum: Extremum,
    ) -> Result<Tensor<E, K>> {
        matrix(op, self)?;
        let operand = Operand::new(op, self, dense.dims())?;
        same_elements(op, &self.values, &dense)?;
        let own = self.coalesce();
        let values = own.fill.without_gradient(own.values.clone());
        if own.nnz() == 0 || operand.out().contains(&0) {
            let none = start(operand.out(), extremum, &dense.device().inner(), dense.dtype());
            return Ok(constant(constant(none, &[&values]), &[&dense]));
        }
        let matrix = own.pattern.matrix().expect("coalescing keeps the rank");
        let (values, flat) = (operand.values(values), operand.rows(dense));
        Ok(operand.product(extreme_product((extremum, Term::Sum), matrix, values, flat)))
    }
}

/// Numbers that change no extremum.
fn start<const E: usize, K: Numeric>(
    shape: [usize; E],
    extremum: Extremum,
    device: &Device,
    dtype: DType,
) -> Tensor<E, K> {
    let least = extremum == Extremum::Max;
    if dtype.is_float() {
        let number = if least { f64::NEG_INFINITY } else { f64::INFINITY };
        return Tensor::full(shape, number, (device, dtype));
    }
    let (low, high) = match dtype {
        DType::I32 => (i32::MIN.into(), i32::MAX.into()),
        DType::U8 => (0, u8::MAX.into()),
        _ => (i64::MIN, i64::MAX),
    };
    Tensor::full(shape, if least { low } else { high }, (device, dtype))
}

/// 1 where a number is not zero, else 0, off the tape.
pub(super) fn truths<const E: usize, K: Numeric>(numbers: &Tensor<E, K>) -> Tensor<E, K> {
    let (dtype, holds) = (numbers.dtype(), nonzero(numbers.clone().inner()));
    if dtype.is_float() {
        return from_float(holds.float().cast(FloatDType::from(dtype)));
    }
    Tensor::from_dispatch(index_tensor(holds.int(), dtype).into_dispatch())
}
