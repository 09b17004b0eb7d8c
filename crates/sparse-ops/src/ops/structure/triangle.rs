//! Triangles of matrices.

use crate::base::coordinates::along;
use crate::base::kind::Kind;
use crate::ops::elementwise::broadcast::read_rows;
use crate::ops::structure::stack::check_vanishing;
use crate::pattern::layout::Pattern;
use crate::pattern::select::{kept, subset};
use crate::tensor::sparse::SparseTensor;
use burn::tensor::{AsIndex, Bool, Int, Tensor};
use sparse_core::{Result, SparseError};
use sparse_macros::or_panic;

/// Elements at or below a diagonal, or at or above it.
#[derive(PartialEq, Eq)]
enum Triangle {
    Lower(i64),
    Upper(i64),
}

macro_rules! triangle {
    ($fallible:ident $name:ident $turn:ident $keep:ident $side:literal $rule:literal) => {
        #[doc = concat!("The elements at or ", $side, " a diagonal of the last two sparse dims:")]
        #[doc = concat!("those with `", $rule, "`.")]
        ///
        /// The other elements become zero, so the fill must be zero. An `Undefined` fill stays, and the other elements
        /// become unspecified. This works on each matrix of a batch, for any number of sparse dims, and on whole blocks
        /// of dense dims. Diagonal 0 is the main one; those above it are positive.
        ///
        /// Backward: kept elements get their gradients. Cost: `O(nnz)`. The new pattern is kept with this one. Finding
        /// it reads its number of elements from the device, so a loop reads only in its first step. (Burn's, NumPy's
        /// and PyTorch's functions of the same name.)
        ///
        /// ```
        /// use burn::tensor::{Device, Tensor};
        /// use sparse_tensor::CsrTensor;
        ///
        /// let a = CsrTensor::<2>::from_dense(Tensor::ones([2, 2], &Device::flex()));
        #[doc = concat!("assert_eq!(a.", stringify!($name), "(0).nnz(), 3);")]
        /// ```
        ///
        /// # Errors
        ///
        /// `shape_mismatch` with fewer than two sparse dims; `would_densify` for another fill than `Zero` or
        /// `Undefined`.
        #[or_panic]
        pub fn $fallible(&self, diagonal: impl AsIndex) -> Result<Self> {
            self.triangle(stringify!($name), diagonal.as_index() as i64, Triangle::$turn, |offset, k| offset.$keep(k))
        }
    };
}

impl<P: Pattern, const D: usize, K: Kind> SparseTensor<P, D, K> {
    triangle!(try_tril tril Lower lower_equal_elem "below" "column - row <= diagonal");
    triangle!(try_triu triu Upper greater_equal_elem "above" "column - row >= diagonal");

    fn triangle(
        &self,
        op: &'static str,
        k: i64,
        turn: fn(i64) -> Triangle,
        keep: impl FnOnce(Tensor<1, Int>, i64) -> Tensor<1, Bool>,
    ) -> Result<Self> {
        let sparse = self.sparse_dims();
        if sparse < 2 {
            let rule = "two sparse dims are needed, got shape {left} with [sparse, dense] dims {right}";
            return Err(SparseError::shape_mismatch(op, rule, self.dims(), [sparse, self.dense_dims()]));
        }
        check_vanishing(op, self, &self.dims())?;
        let [rows, cols] = [self.pattern.shape()[sparse - 2], self.pattern.shape()[sparse - 1]];
        // Diagonals beyond the corners give the same result, and need not fit the index dtype.
        let k = k.clamp(-(rows as i64), cols as i64);
        if self.nnz() == 0 {
            return Ok(self.clone());
        }
        let (pattern, map) = self.pattern.memo().get(turn(k), || {
            let coordinates = self.pattern.coordinates();
            let offset = along(coordinates, sparse - 1) - along(coordinates, sparse - 2);
            subset(&self.pattern, &kept(keep(offset, k), self.pattern.index_dtype()))
        });
        let values = read_rows(self.values.clone(), &map);
        Ok(Self::from_parts(pattern, values, self.dense_shape.clone(), self.fill.clone()))
    }
}
