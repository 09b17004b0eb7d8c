//! Parts of the inverse, and the inverse.

use super::blocks::Blocks;
use super::core::Core;
use super::factor::Factor;
use super::gradient::of_inverse;
use super::host::{each, tensor};
use super::plan::Symbolic;
use super::selected;
use super::system::{Numeric, Place, System};
use burn::tensor::Tensor;
use faer::{Mat, Par};
use sparse_macros::or_panic;
use sparse_ops::extend::{Erased, Exact, Parts, check_dense, record};
use sparse_ops::{CsrTensor, Fill, Result, SparseError};
use std::collections::BTreeMap;

impl Factor {
    /// The diagonal of the inverse `[N]`, of a batch of all systems one after the other `[B * N]`: of a precision
    /// matrix the variances.
    ///
    /// By the inverse at the elements of the factors: of `Cholesky` and `Ldlt` by Takahashi, Fagan and Chen (1973), of
    /// `Lu` by Erisman and Tinney (1975), about the cost of the factors; of `Lu` these are made once more the first
    /// time, element by element on one thread. Of `Qr`, and for elements that the factors lack, by solves, 32 columns
    /// at a time.
    ///
    /// Backward: `-A^-T G A^-T` at the stored elements, with the gradient as the diagonal matrix `G`: `2 N` solves in
    /// blocks, with memory `O(nnz + N)`.
    ///
    /// # Errors
    ///
    /// `shape_mismatch` if the matrix is not square; `invalid` that names the row, of a pivot of `Lu` that is zero or
    /// not finite, or if there is too little memory.
    #[or_panic]
    pub fn try_inverse_diagonal(&self) -> Result<Tensor<1>> {
        const OP: &str = "Factor::inverse_diagonal";
        self.check_square(OP)?;
        let find = |at: usize, par| {
            let wanted: Vec<_> = (0..self.core.systems[at].plan.rows).map(|row| (row, row)).collect();
            self.core.systems[at].elements(self.core.place(OP, at), &wanted, par)
        };
        let list = each(self.core.systems.len(), find).into_iter().collect::<Result<Vec<_>>>()?.concat();
        let size = list.len();
        let plain = tensor(list, [size], &self.values.device(), self.values.dtype());
        Ok(record(plain, [Erased::from(&self.values)], self.core.clone(), |core, grad, _| {
            let (device, dtype) = (grad.device(), grad.dtype());
            let out = of_inverse(core, grad, true);
            let nnz = out.len();
            [Some(tensor(out, [nnz, 1], &device, dtype).into())]
        }))
    }

    /// The elements of the inverse where the matrix has stored ones. Of a batch it is the matrix `[B * N, B * N]` with
    /// the inverses as blocks. Cost and gradients as of [`try_inverse_diagonal`](Self::try_inverse_diagonal).
    ///
    /// # Errors
    ///
    /// Those of [`try_inverse_diagonal`](Self::try_inverse_diagonal).
    #[or_panic]
    pub fn try_inverse_on_pattern(&self) -> Result<CsrTensor<2>> {
        const OP: &str = "Factor::inverse_on_pattern";
        self.check_square(OP)?;
        let list = self.core.on_pattern(OP, false)?;
        let nnz = list.len();
        let plain = tensor(list, [nnz, 1], &self.values.device(), self.values.dtype());
        let rows = record(plain, [Erased::from(&self.values)], self.core.clone(), |core, grad: Tensor<2>, _| {
            let (device, dtype, nnz) = (grad.device(), grad.dtype(), grad.dims()[0]);
            let out = of_inverse(core, grad.reshape(Exact([nnz])), false);
            [Some(tensor(out, [nnz, 1], &device, dtype).into())]
        });
        Ok(CsrTensor::from_parts(self.core.structure.pattern.clone(), rows, vec![], Fill::Zero))
    }

    /// The inverse as a dense matrix, of least squares the pseudo-inverse: for small ones, since it has `N^2` elements
    /// whatever is stored. Of a batch the blocks, `[B * N, N]`. With gradients, as `solve` of the identity.
    ///
    /// # Errors
    ///
    /// `would_densify` if it has more elements than [`dense_limit`](sparse_ops::dense_limit).
    #[or_panic]
    pub fn try_inv(&self) -> Result<Tensor<2>> {
        const OP: &str = "Factor::inv";
        let [systems, rows, cols] = self.core.structure.sizes;
        // The identity is there as well.
        let elements = systems as u128 * rows as u128 * rows.max(cols) as u128;
        check_dense(OP, "the inverse", elements, "use solve, inverse_diagonal or inverse_on_pattern")?;
        let mut list = vec![0.0; systems * rows * rows];
        (0..systems * rows).for_each(|row| list[row * rows + row % rows] = 1.0);
        let eye = tensor(list, [systems * rows, rows], &self.values.device(), self.values.dtype());
        Ok(self.columns(eye, false))
    }

    pub(super) fn check_square(&self, op: &'static str) -> Result<()> {
        let [_, rows, cols] = self.core.structure.sizes;
        match rows == cols {
            true => Ok(()),
            false => Err(SparseError::shape_mismatch(op, "the matrix must be square", [rows, cols], [cols; 2])),
        }
    }
}

impl Core {
    /// The inverse at the stored elements, or its transpose there.
    pub(super) fn on_pattern(&self, op: &'static str, transposed: bool) -> Result<Vec<f64>> {
        let find = |at: usize, par| {
            let own = &self.systems[at];
            let ends = own.plan.row_ids().zip(own.plan.idx.iter().copied());
            let wanted: Vec<_> = ends.map(|(row, col)| if transposed { (col, row) } else { (row, col) }).collect();
            own.elements(self.place(op, at), &wanted, par)
        };
        Ok(each(self.systems.len(), find).into_iter().collect::<Result<Vec<_>>>()?.concat())
    }
}

impl System {
    /// Elements of the inverse: of the factors where they have them, else of columns of solutions.
    fn elements(&self, place: Place, wanted: &[(usize, usize)], par: Par) -> Result<Vec<f64>> {
        let find = |find: &dyn Fn(usize, usize) -> Option<f64>| -> Vec<Option<f64>> {
            wanted.iter().map(|&(row, col)| find(row, col)).collect()
        };
        let found = match (&self.plan.symbolic, &self.numeric) {
            (Symbolic::Symmetric { symbolic, .. }, Numeric::Llt(own) | Numeric::Ldlt(own)) => {
                let blocks = Blocks::new(symbolic, own);
                let inverse = selected::inverse(&blocks, matches!(self.numeric, Numeric::Ldlt(_)), par);
                find(&|row, col| blocks.element(&inverse, row, col))
            }
            (_, Numeric::Lu(_)) => {
                let inverse = self.explicit(place)?.inverse();
                find(&|row, col| inverse.element(row, col))
            }
            _ => vec![None; wanted.len()],
        };
        let mut missing = BTreeMap::<usize, Vec<usize>>::new();
        for (at, _) in found.iter().enumerate().filter(|(_, own)| own.is_none()) {
            missing.entry(wanted[at].1).or_default().push(at);
        }
        let mut out: Vec<f64> = found.into_iter().map(Option::unwrap_or_default).collect();
        let columns: Vec<_> = missing.into_iter().collect();
        for some in columns.chunks(32) {
            let units = Mat::from_fn(self.plan.rows, some.len(), |row, at| f64::from(u8::from(some[at].0 == row)));
            let x = self.solve(&units, false, 0, par);
            for (at, (_, places)) in some.iter().enumerate() {
                places.iter().for_each(|&place| out[place] = x[(wanted[place].0, at)]);
            }
        }
        Ok(out)
    }
}
