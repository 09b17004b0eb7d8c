//! Sparse x dense with an extremum, and its gradients: the kernels of [`reduce`](super::reduce) and
//! [`sddmm`](super::sddmm) with what is here in place of a sum of products.
//!
//! No product is stored. The backward pass forms each again, in the same arithmetic, and compares it with the result.

use super::reduce::{Combine, combine_rows};
use super::sddmm::sampled;
use burn_cubecl::tensor::CubeTensor;

#[allow(missing_docs)]
pub(super) mod kernels {
    use burn_cubecl::cubecl;
    use cubecl::prelude::*;

    /// The terms are added.
    pub const SUM: u32 = 0;
    /// Whether any holds, of Bool.
    pub const ANY: u32 = 1;
    pub const MAX: u32 = 2;
    pub const MIN: u32 = 3;
    /// The gradient divided by the number of products that are equal to the result.
    pub const SHARES: u32 = 4;
    /// The terms are added whose product is equal to the result.
    pub const MATCHED: u32 = 5;

    #[cube]
    fn is_nan<A: Numeric, N: Size>(x: Vector<A, N>) -> Vector<bool, N> {
        Vector::<f32, N>::cast_from(x).is_nan()
    }

    /// The product as it would be stored.
    #[cube]
    pub fn product<T: Numeric, A: Numeric, N: Size>(value: Vector<A, N>, x: Vector<A, N>) -> Vector<A, N> {
        Vector::<A, N>::cast_from(Vector::<T, N>::cast_from(value * x))
    }

    /// `term` where the product is the stored `result`, else 0. NaN is equal to itself.
    #[cube]
    pub fn matched<T: Numeric, A: Numeric, N: Size>(
        value: Vector<A, N>,
        x: Vector<A, N>,
        result: Vector<A, N>,
        term: Vector<A, N>,
    ) -> Vector<A, N> {
        let product = product::<T, A, N>(value, x);
        let both = is_nan::<A, N>(product).vec_and(is_nan::<A, N>(result));
        select_many(product.equal(&result).or(both), term, Vector::<A, N>::new(A::from_int(0)))
    }

    /// Two accumulators, or one and a term, as one. NaN wins an extremum.
    #[cube]
    pub fn combine<A: Numeric, N: Size>(
        acc: Vector<A, N>,
        x: Vector<A, N>,
        #[comptime] rule: u32,
        #[comptime] float: bool,
    ) -> Vector<A, N> {
        if comptime!(rule == ANY) {
            max(acc, x)
        } else if comptime!(rule == MAX || rule == MIN) {
            let better = if comptime!(rule == MAX) { x.greater_than(&acc) } else { x.less_than(&acc) };
            if float {
                let best = select_many(better.or(is_nan::<A, N>(x)), x, acc);
                select_many(is_nan::<A, N>(acc), acc, best)
            } else {
                select_many(better, x, acc)
            }
        } else {
            acc + x
        }
    }
}

/// `reads` are the values, the dense operand, the result and its gradient.
pub(super) fn rows_backward(
    rows: CubeTensor,
    (ptr, cols): (CubeTensor, CubeTensor),
    [values, dense, out, grad]: [CubeTensor; 4],
    need_values: bool,
) -> (CubeTensor, Option<CubeTensor>) {
    let combine = Combine::Shares { out: out.clone(), grad };
    let shares = combine_rows(combine, ptr, Some(cols.clone()), Some((values.clone(), None)), dense.clone());
    let grads = need_values.then(|| sampled(rows, cols, shares.clone(), dense, Some((values, out))));
    (shares, grads)
}

/// `reads` are the values, the dense operand, the result and the shares.
pub(super) fn cols_backward(
    ptr: CubeTensor,
    rows: CubeTensor,
    perm: Option<CubeTensor>,
    [values, dense, out, shares]: [CubeTensor; 4],
) -> CubeTensor {
    combine_rows(Combine::Matched { dense, out }, ptr, Some(rows), Some((values, perm)), shares)
}
