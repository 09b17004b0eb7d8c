//! Determinants.

use super::blocks::Blocks;
use super::factor::Factor;
use super::host::{each, tensor};
use super::kind::Factorization;
use super::plan::Symbolic;
use super::system::{Numeric, Place, System};
use crate::report::of_system;
use burn::tensor::Tensor;
use sparse_macros::or_panic;
use sparse_ops::extend::{Erased, Exact, record};
use sparse_ops::{Result, SparseError};

impl Factor {
    /// The sign of each determinant and the logarithm of its size, `[1]`, of a batch `[B]`: 1 and 0 without rows.
    ///
    /// Backward: `d a_ij = g (A^-1)_ji` at the stored elements, by the inverse on the pattern of the factors, so about
    /// the cost of the factors again. Cost: the pivots are read; of `Lu` the factors are made once more the first time,
    /// element by element on one thread, since faer does not let its own out. (NumPy's and PyTorch's `slogdet`.)
    ///
    /// # Errors
    ///
    /// `invalid` of `Qr`, whose factors do not keep the sign: use `Lu`; that names the row, if a pivot of `Lu` is zero
    /// or a number of its factors not finite, made element by element; if there is too little memory.
    #[or_panic]
    pub fn try_slogdet(&self) -> Result<(Vec<f64>, Tensor<1>)> {
        const OP: &str = "Factor::slogdet";
        let [systems, ..] = self.core.structure.sizes;
        if self.core.how == Factorization::Qr {
            return Err(SparseError::invalid(OP, "use Lu for determinants, got Qr"));
        }
        let own = |at: usize, _| self.core.systems[at].determinant(self.core.place(OP, at));
        let mut found = each(self.core.systems.len(), own).into_iter().collect::<Result<Vec<_>>>()?;
        found.resize(systems, (1.0, 0.0));
        let (signs, logs): (Vec<_>, Vec<_>) = found.into_iter().unzip();
        let plain = tensor(logs, [systems], &self.values.device(), self.values.dtype());
        let out = record(plain, [Erased::from(&self.values)], self.core.clone(), |core, grad, _| {
            let inverse = core.on_pattern(OP, true).expect("the determinant was made with these pivots");
            let rows = core.structure.ends[0].clone();
            let [systems, own, _] = core.structure.sizes;
            let list = tensor(inverse, [core.structure.ends[0].dims()[0], 1], &grad.device(), grad.dtype());
            if systems * own == 0 {
                return [Some(list.into())];
            }
            let each = grad.reshape(Exact([systems, 1])).expand([systems, own]).reshape(Exact([systems * own, 1]));
            [Some((list * each.select(0, rows)).into())]
        });
        Ok((signs, out))
    }

    /// The logarithm of each determinant, `[1]`, of a batch `[B]`. Gradients as in [`try_slogdet`](Self::try_slogdet).
    ///
    /// # Errors
    ///
    /// Those of [`try_slogdet`](Self::try_slogdet); `invalid` if a determinant is negative.
    #[or_panic]
    pub fn try_logdet(&self) -> Result<Tensor<1>> {
        const OP: &str = "Factor::logdet";
        let (signs, out) = self.try_slogdet()?;
        match signs.iter().position(|sign| *sign < 0.0) {
            None => Ok(out),
            Some(at) => {
                let of = of_system(self.core.batched.then_some(at));
                let message = format!("the determinant{of} must be positive, got a negative one: use slogdet");
                Err(SparseError::invalid(OP, message))
            }
        }
    }
}

impl System {
    /// The sign, and the logarithm of the size.
    fn determinant(&self, place: Place) -> Result<(f64, f64)> {
        let of = |pivots: &mut dyn Iterator<Item = f64>, sign: f64| {
            pivots.fold((sign, 0.0), |(sign, sum), pivot| (sign * pivot.signum(), sum + pivot.abs().ln()))
        };
        match (&self.plan.symbolic, &self.numeric) {
            (Symbolic::Symmetric { symbolic, .. }, Numeric::Llt(own)) => {
                let (sign, sum) = of(&mut Blocks::new(symbolic, own).diagonal(), 1.0);
                Ok((sign, 2.0 * sum))
            }
            (Symbolic::Symmetric { symbolic, .. }, Numeric::Ldlt(own)) => {
                Ok(of(&mut Blocks::new(symbolic, own).diagonal(), 1.0))
            }
            (_, Numeric::Lu(_)) => {
                let explicit = self.explicit(place)?;
                Ok(of(&mut explicit.pivots.iter().copied(), explicit.sign))
            }
            _ => unreachable!("refused"),
        }
    }
}
