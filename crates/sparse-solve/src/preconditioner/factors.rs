//! What preconditioners of triangular factors share.

use crate::operator::{LinearOperator, Operator};
use crate::triangular::{Triangle, check_factor, try_substitute};
use burn::module::Module;
use burn::tensor::{Device, Tensor};
use sparse_ops::extend::{Parts, by_rows, kernel};
use sparse_ops::pattern::{CsrPattern, Pattern};
use sparse_ops::{CsrTensor, Fill, Result, SparseTensor};

/// The incomplete factors of a matrix, or the inverses of its blocks, as one matrix without the tape.
pub fn incomplete<P: Pattern>(
    op: &'static str,
    a: &SparseTensor<P, 2>,
    how: kernel::Incomplete,
) -> Result<CsrTensor<2>> {
    check_factor(op, a)?;
    let a = a.coalesce();
    let rows = by_rows(a.pattern()).expect("a matrix");
    let (rows, values) = kernel::incomplete(op, rows, a.rows().clone().inner(), how)?;
    let pattern = CsrPattern::new_unchecked(rows.ptr, rows.idx, &a.dims());
    Ok(CsrTensor::from_parts(pattern, values, vec![], Fill::Zero))
}

/// The inverse of a triangle of a matrix whose diagonal has no zeros, by substitution.
#[derive(Debug)]
struct Substitution<P: Pattern> {
    matrix: SparseTensor<P, 2>,
    triangle: Triangle,
}

/// The inverse of a triangle of a matrix whose diagonal has no zeros.
pub fn inverse<P: Pattern>(matrix: &SparseTensor<P, 2>, triangle: Triangle) -> Operator {
    Operator::new(Substitution { matrix: matrix.clone(), triangle })
}

impl<P: Pattern> LinearOperator for Substitution<P> {
    fn dims(&self) -> [usize; 2] {
        self.matrix.dims()
    }

    fn device(&self) -> Option<Device> {
        Some(self.matrix.device())
    }

    fn try_apply(&self, x: Tensor<2>) -> Result<Tensor<2>> {
        try_substitute(&self.matrix, x, self.triangle)
    }

    fn try_transposed(&self) -> Result<Operator> {
        let Triangle { transposed, .. } = self.triangle;
        Ok(inverse(&self.matrix, Triangle { transposed: !transposed, ..self.triangle }))
    }

    fn without_tape(&self) -> Operator {
        inverse(&self.matrix.valid(), self.triangle)
    }
}
