//! Steps of the exponential by truncated Taylor series.

use crate::finite::not_finite_element;
use burn::tensor::{DType, Tensor};
use sparse_ops::extend::{is_gpu, read_data};
use sparse_ops::pattern::Pattern;
use sparse_ops::{Result, SparseError, SparseTensor};

/// A degree, and the largest norm for which that many terms are as exact as the dtype (Al-Mohy and Higham 2011, table
/// 3.1).
const F64: [(usize, f64); 11] = [
    (5, 2.4e-3),
    (10, 1.4e-1),
    (15, 6.4e-1),
    (20, 1.4),
    (25, 2.4),
    (30, 3.5),
    (35, 4.7),
    (40, 6.0),
    (45, 7.2),
    (50, 8.5),
    (55, 9.9),
];
/// The table goes on to a norm of 13, where terms of 1e5 would leave two digits of a small sum.
const F32: [(usize, f64); 4] = [(5, 1.3e-1), (10, 1.0), (15, 2.2), (20, 3.6)];
/// The most products with the matrix.
const MOST: f64 = 1e7;

/// The part of `A` that series are of: `A - shift I`, with the mean of the diagonal, and its 1-norm.
#[derive(Debug, Clone, Copy)]
pub struct Shifted {
    pub shift: f64,
    pub norm: f64,
}

impl Shifted {
    /// Two passes over a matrix that is not on the tape, and a read.
    pub fn of<P: Pattern>(op: &'static str, a: &SparseTensor<P, 2>) -> Result<Self> {
        let [n, _] = a.dims();
        let sums = a.abs().try_col_sums()?;
        let diagonal = a.try_diagonal()?;
        let list = |all: Tensor<1>| read_data(all).convert::<f64>().iter::<f64>().collect::<Vec<_>>();
        let (sums, diagonal) = (list(sums), list(diagonal));
        let shift = diagonal.iter().sum::<f64>() / n as f64;
        let size = |(sum, own): (&f64, &f64)| sum - own.abs() + (own - shift).abs();
        // Not `f64::max`, which passes over NaN.
        let norm = sums.iter().zip(&diagonal).map(size).fold(0.0, |most, own| if own <= most { most } else { own });
        match norm.is_finite() && sums.iter().all(|sum| sum.is_finite()) {
            true => Ok(Self { shift, norm: norm.max(0.0) }),
            false => Err(not_finite_element(op, a)),
        }
    }
}

/// `exp(t A) b = (e^(shift t / s) T(t / s (A - shift I)))^s b`, with the Taylor polynomial `T`.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    shift: f64,
    t: f64,
    degree: usize,
    pub steps: usize,
}

impl Plan {
    /// The degree and the number of steps with the fewest products.
    pub fn new(op: &'static str, Shifted { shift, norm }: Shifted, t: f64, dtype: DType) -> Result<Self> {
        if !t.is_finite() {
            return Err(SparseError::invalid(op, format!("the time must be finite, got {t}")));
        }
        let size = norm * t.abs();
        let table = if dtype == DType::F64 { &F64[..] } else { &F32[..] };
        let steps = |limit: f64| (size / limit).ceil().max(1.0);
        let cost = |&&(degree, limit): &&(usize, f64)| degree as f64 * steps(limit);
        let best = table.iter().min_by(|a, b| cost(a).total_cmp(&cost(b))).expect("a table with rows");
        if cost(&best) > MOST {
            let message = format!("the 1-norm of t (A - mean of the diagonal) must be far smaller, got {size:.1e}");
            return Err(SparseError::invalid(op, message));
        }
        Ok(Self { shift, t, degree: best.0, steps: steps(best.1) as usize })
    }

    /// One step, without the tape. On a CPU it ends where terms no longer count.
    pub fn step<P: Pattern>(&self, a: &SparseTensor<P, 2>, x: Tensor<2>) -> Result<Tensor<2>> {
        let looks = !is_gpu(&x.device());
        self.series(a, x, looks)
    }

    /// The same on the tape, with all terms: one that is 0 may have a derivative with respect to `a`, and those after
    /// it.
    pub fn step_on_tape<P: Pattern>(&self, a: &SparseTensor<P, 2>, x: Tensor<2>) -> Result<Tensor<2>> {
        self.series(a, x, false)
    }

    fn series<P: Pattern>(&self, a: &SparseTensor<P, 2>, x: Tensor<2>, looks: bool) -> Result<Tensor<2>> {
        let epsilon = if x.dtype() == DType::F64 { 1.1e-16 } else { 6e-8 };
        // Of each column: a large one says nothing about others.
        let most = |x: &Tensor<2>| -> Vec<f64> {
            read_data(x.clone().abs().max_dim(0)).convert::<f64>().iter::<f64>().collect()
        };
        let mut before = if looks { most(&x) } else { vec![] };
        let (mut term, mut sum) = (x.clone(), x);
        for k in 1..=self.degree {
            let image = a.try_matmul(term.clone())? - term.mul_scalar(self.shift);
            term = image.mul_scalar(self.t / (self.steps * k) as f64);
            sum = sum + term.clone();
            if looks {
                let after = most(&term);
                let is_done =
                    |((before, after), sum): ((&f64, &f64), f64)| !sum.is_finite() || before + after <= epsilon * sum;
                if before.iter().zip(&after).zip(most(&sum)).all(is_done) {
                    break;
                }
                before = after;
            }
        }
        Ok(sum.mul_scalar((self.shift * self.t / self.steps as f64).exp()))
    }
}
