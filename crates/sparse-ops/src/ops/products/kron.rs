//! The Kronecker product.

use crate::base::checks::same_elements;
use crate::base::exact::Exact;
use crate::base::index::{index_dtype, index_tensor};
use crate::base::kind::Numeric;
use crate::base::limits::check_copies;
use crate::base::sizes::cells;
use crate::ops::structure::stack::check_matrix;
use crate::pattern::layout::Pattern;
use crate::pattern::select::sorted;
use crate::rows::RowMap;
use crate::rows::zip::zip;
use crate::tensor::fill::Fill;
use crate::tensor::sparse::SparseTensor;
use burn::tensor::{Int, Tensor};
use sparse_burn::BinaryOp;
use sparse_core::{Result, SparseError};
use sparse_macros::or_panic;

impl<P: Pattern, K: Numeric> SparseTensor<P, 2, K> {
    /// The Kronecker product `[M * P, N * Q]` of matrices `[M, N]` and `[P, Q]`:
    /// `out[i * P + k, j * Q + l] = self[i, j] * other[k, l]`.
    ///
    /// Both fills must be zero, or both `Undefined`; the result has the same fill. Duplicates are summed first.
    /// Integers wrap.
    ///
    /// Backward: each element gets the sum over its products of their gradients times the other factor, by segments.
    /// Cost: `O(nnz * nnz of other)` and, the first time, a sort of the result's coordinates. The result's pattern and
    /// its maps are kept with the pattern of `self`. (SciPy's and PyTorch's `kron`.)
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::CsrTensor;
    ///
    /// let device = Device::flex();
    /// let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[2.0, 0.0, 3.0]], &device));
    /// let b = CsrTensor::<2>::from_dense(Tensor::from_floats([[1.0], [5.0]], &device));
    /// let out = a.kron(&b).to_dense().into_data();
    /// assert_eq!(out.iter::<f32>().collect::<Vec<_>>(), [2.0, 0.0, 3.0, 10.0, 0.0, 15.0]);
    /// ```
    ///
    /// # Errors
    ///
    /// `shape_mismatch` for a hybrid tensor, `dtype_mismatch`, `device_mismatch`, `overflow`; `would_densify` for fills
    /// other than two `Zero` or two `Undefined` ones, for more elements than [the limit](crate::Limits) and 64 times
    /// those of the factors, and for CSR with more rows than the limit that are almost all empty.
    #[or_panic]
    pub fn try_kron(&self, other: &Self) -> Result<Self> {
        const OP: &str = "kron";
        check_matrix(OP, self)?;
        check_matrix(OP, other)?;
        same_elements(OP, &self.values, &other.values)?;
        let (left, right) = (self.dims(), other.dims());
        let sizes = [0, 1].map(|dim| left[dim] as u128 * right[dim] as u128);
        let fill = match (&self.fill, &other.fill) {
            (Fill::Undefined, Fill::Undefined) => Fill::Undefined,
            (a, b) if a.is_zero() && b.is_zero() => Fill::Zero,
            _ => {
                let hint = "use to_dense first: only zero fills, or two undefined ones, leave one fill";
                return Err(SparseError::would_densify(OP, sizes[0].saturating_mul(sizes[1]), hint));
            }
        };
        let (a, b) = (self.coalesce(), other.coalesce());
        let products = a.nnz() as u128 * b.nnz() as u128;
        let limit = i64::MAX as u128;
        for (what, got) in [("a dimension", sizes[0]), ("a dimension", sizes[1]), ("the number of elements", products)]
        {
            if got > limit {
                return Err(SparseError::overflow(OP, what, limit, got));
            }
        }
        let held = a.pattern.memo().held().saturating_add(b.pattern.memo().held());
        check_copies(OP, products, held)?;
        P::check_shape(OP, &sizes.map(|size| size as usize), products as usize)?;
        let (pattern, [map_a, map_b]) = a
            .pattern
            .memo()
            .get(With(b.pattern.memo().id()), || pairs(&a.pattern, &b.pattern, &sizes.map(|size| size as usize)));
        let zero = || Tensor::zeros([1, 1], (&self.device().inner(), self.dtype()));
        let values = zip(BinaryOp::Mul, (&a.values, zero(), Some(map_a)), (&b.values, zero(), Some(map_b)));
        Ok(Self::from_parts(pattern, values, vec![], fill))
    }
}

#[derive(PartialEq, Eq)]
struct With(u64);

/// The pattern of all pairs of elements; and for each side, which of its elements is in each pair.
fn pairs<P: Pattern>(a: &P, b: &P, shape: &[usize; 2]) -> (P, [RowMap; 2]) {
    let nnz = a.nnz() * b.nnz();
    debug_assert!(nnz as u128 <= cells(shape));
    let (device, dtype) = (a.device(), index_dtype(shape, nnz));
    if nnz == 0 {
        let none = || Tensor::empty([0], (&device, dtype));
        let indices = Tensor::empty([2, 0], (&device, dtype));
        let pattern = P::from_coordinates(indices, shape, true);
        return (pattern, [RowMap::new(none(), a.nnz()), RowMap::new(none(), b.nnz())]);
    }
    // Pairs as a table, elements of `a` by elements of `b`.
    let shape_b = b.shape().iter().map(|&size| size as i64);
    let rows = shape_b.enumerate().map(|(dim, size)| {
        let outer = index_tensor(a.coordinates().clone(), dtype).narrow(0, dim, 1).reshape(Exact([a.nnz(), 1]));
        let inner = index_tensor(b.coordinates().clone(), dtype).narrow(0, dim, 1).reshape(Exact([1, b.nnz()]));
        (outer.mul_scalar(size) + inner).reshape(Exact([1, nnz]))
    });
    let (pattern, order) = sorted(Tensor::cat(rows.collect(), 0), shape);
    let order: Tensor<1, Int> = index_tensor(order, dtype);
    let of_a = order.clone().div_scalar(b.nnz() as i64);
    let of_b = order - of_a.clone().mul_scalar(b.nnz() as i64);
    (pattern, [RowMap::new(of_a, a.nnz()), RowMap::new(of_b, b.nnz())])
}
