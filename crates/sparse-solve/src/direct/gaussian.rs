//! Gaussian Markov random fields.

use super::blocks::Blocks;
use super::core::Core;
use super::factor::{Factor, try_factorize};
use super::host::{numbers, par, tensor};
use super::kind::Factorization;
use super::plan::Symbolic;
use super::selected;
use super::system::Numeric;
use burn::tensor::{Distribution, Tensor};
use faer::Mat;
use sparse_macros::or_panic;
use sparse_ops::extend::{Erased, Exact, Parts, record, same_elements, sum_dim};
use sparse_ops::pattern::Pattern;
use sparse_ops::{Result, SparseError, SparseTensor};
use std::f64::consts::{PI, TAU};
use std::sync::Arc;

/// The Gaussian distribution of `n` numbers with a sparse precision matrix `Q`, the inverse of the covariance: a
/// Gaussian Markov random field, where `q_ij = 0` says that `i` and `j` are independent given the others.
///
/// `Q` is symmetric and positive definite. It is factored once, by [`Factorization::Cholesky`]; other values on its
/// pattern take the numeric phase only. Gradients reach `Q`, the mean and the points, and memory is `O(nnz + n)`
/// besides the factor. (Rue and Held, "Gaussian Markov random fields", 2005.)
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::CsrTensor;
/// use sparse_tensor::solve::SparseGaussian;
///
/// let device = Device::flex().autodiff();
/// let q = CsrTensor::<2>::from_dense(Tensor::from_floats([[2.0, -1.0], [-1.0, 2.0]], &device)).require_grad();
/// let field = SparseGaussian::new(&q, Tensor::from_floats([0.0, 1.0], &device));
/// assert!((field.variance().into_data().iter::<f32>().next().unwrap() - 2.0 / 3.0).abs() < 1e-6);
/// let density = field.log_prob(Tensor::from_floats([[0.5, 0.5]], &device));
/// assert_eq!(q.grad(&density.sum().backward()).unwrap().nnz(), 4);
/// assert_eq!(field.sample(5).dims(), [5, 2]);
/// ```
#[derive(Debug, Clone)]
pub struct SparseGaussian {
    mean: Tensor<1>,
    factor: Factor,
}

impl SparseGaussian {
    /// With a precision matrix `[n, n]` and a mean `[n]`, of f32 or f64.
    ///
    /// # Errors
    ///
    /// Those of [`try_factorize`](crate::try_factorize()); `shape_mismatch`, `dtype_mismatch`, `device_mismatch` for
    /// the mean.
    #[or_panic(associated)]
    pub fn try_new<P: Pattern>(precision: &SparseTensor<P, 2>, mean: Tensor<1>) -> Result<Self> {
        const OP: &str = "SparseGaussian::new";
        let factor = try_factorize(precision, Factorization::Cholesky)?;
        if mean.dims()[0] != precision.dims()[0] {
            let rule = "the mean {right} must have a number for each row of the precision matrix {left}";
            return Err(SparseError::shape_mismatch(OP, rule, precision.dims(), mean.dims()));
        }
        same_elements(OP, precision.rows(), &mean)?;
        Ok(Self { mean, factor })
    }

    /// The mean `[n]`.
    pub fn mean(&self) -> Tensor<1> {
        self.mean.clone()
    }

    /// The factor of the precision matrix.
    pub fn factor(&self) -> &Factor {
        &self.factor
    }

    /// The marginal variances `[n]`: the diagonal of `Q^-1`, with the cost and the gradients of
    /// [`Factor::inverse_diagonal`].
    pub fn variance(&self) -> Tensor<1> {
        self.factor.inverse_diagonal()
    }

    /// The entropy `[1]`: `(n (1 + ln 2 pi) - ln det Q) / 2`.
    pub fn entropy(&self) -> Tensor<1> {
        let n = self.mean.dims()[0] as f64;
        (self.factor.logdet() * -0.5).add_scalar(n * (1.0 + TAU.ln()) / 2.0)
    }

    /// The logarithm of the density at points `[k, n]`: `[k]`,
    /// `(ln det Q - n ln 2 pi - (x - mean)^T Q (x - mean)) / 2`.
    ///
    /// Backward: to the points and the mean by `Q (x - mean)`, to `Q` by the inverse on its pattern and `-d d^T / 2` at
    /// its stored elements, with `d = x - mean`. Cost: a sparse product, and once the determinant.
    ///
    /// # Errors
    ///
    /// `shape_mismatch`, `dtype_mismatch`, `device_mismatch`.
    #[or_panic]
    pub fn try_log_prob(&self, x: Tensor<2>) -> Result<Tensor<1>> {
        self.check("SparseGaussian::log_prob", &x)?;
        let [count, n] = x.dims();
        let away = (x - self.mean.clone().reshape(Exact([1, n]))).swap_dims(0, 1);
        let structure = &self.factor.core.structure;
        let values = self.factor.values.clone();
        let q =
            sparse_ops::CsrTensor::<2>::from_parts(structure.pattern.clone(), values, vec![], sparse_ops::Fill::Zero);
        let squares = sum_dim(away.clone() * q.try_matmul(away)?, 0).reshape(Exact([count]));
        let rest = self.factor.logdet().sub_scalar(n as f64 * (2.0 * PI).ln());
        Ok((rest - squares) * 0.5)
    }

    /// `count` points `[count, n]`, by Burn's random numbers of the device.
    pub fn sample(&self, count: usize) -> Tensor<2> {
        let n = self.mean.dims()[0];
        let options = (&self.mean.device().inner(), self.mean.dtype());
        let noise = Tensor::<2>::random([count, n], Distribution::Normal(0.0, 1.0), options);
        let noise = if self.mean.is_autodiff() { Tensor::from_inner(noise) } else { noise };
        self.with_noise(noise)
    }

    /// The points `mean + P^T L^-T z` of standard normal numbers `z` `[k, n]`, where `P Q P^T = L L^T`. No gradient
    /// reaches `z`.
    ///
    /// Backward (reparameterised): the mean gets the sum, and `Q` its gradient through the factor: with `u = L^-T z`
    /// and `w = L^-1 P g` the factor has `-u_i w_j` at its elements, summed over the points, and from there the
    /// factorisation is run backwards on its own pattern (Smith 1995; Murray 2016). So it costs about twice the
    /// factorisation, whatever the number of points, and nothing dense is made. The gradient of `Q` is symmetric.
    ///
    /// # Errors
    ///
    /// `shape_mismatch`, `dtype_mismatch`, `device_mismatch`.
    #[or_panic]
    pub fn try_with_noise(&self, z: Tensor<2>) -> Result<Tensor<2>> {
        self.check("SparseGaussian::with_noise", &z)?;
        let [count, n] = z.dims();
        let values = &self.factor.values;
        let core = &self.factor.core;
        if n == 0 {
            let none = (values.zeros_like().inner(), self.mean.zeros_like().inner());
            let parents = [Erased::from(values), Erased::from(&self.mean)];
            return Ok(record(z.inner(), parents, none, |(values, mean), _, _| {
                [Some(values.clone().into()), Some(mean.clone().into())]
            }));
        }
        let mut list = numbers(z.clone().inner());
        let blocks = blocks(core);
        let mut out = vec![0.0; list.len()];
        for (own, out) in list.chunks_mut(n).zip(out.chunks_mut(n)) {
            blocks.backward(own);
            blocks.order.iter().zip(&*own).for_each(|(&row, value)| out[row] = *value);
        }
        let away = tensor(out, [count, n], &values.device(), values.dtype());
        let saved = Saved { core: core.clone(), solved: values.is_tracked().then_some(list) };
        let away = record(away, [Erased::from(values)], saved, |saved, grad, _| [Some(saved.gradient(grad).into())]);
        Ok(away + self.mean.clone().reshape(Exact([1, n])))
    }

    fn check(&self, op: &'static str, x: &Tensor<2>) -> Result<()> {
        if x.dims()[1] != self.mean.dims()[0] {
            let rule = "the points {left} must have a column for each number of the mean {right}";
            return Err(SparseError::shape_mismatch(op, rule, x.dims(), self.mean.dims()));
        }
        same_elements(op, &self.mean, x)
    }
}

fn blocks(core: &Core) -> Blocks<'_> {
    match (&core.systems[0].plan.symbolic, &core.systems[0].numeric) {
        (Symbolic::Symmetric { symbolic, .. }, Numeric::Llt(own)) => Blocks::new(symbolic, own),
        _ => unreachable!("a factor of Cholesky"),
    }
}

/// What the backward pass of a sample keeps: `L^-T z` in the order of elimination.
#[derive(Debug)]
struct Saved {
    core: Arc<Core>,
    solved: Option<Vec<f64>>,
}

impl Saved {
    fn gradient(&self, grad: Tensor<2>) -> Tensor<2> {
        let (blocks, plan) = (blocks(&self.core), &self.core.systems[0].plan);
        let n = plan.rows;
        let solved = self.solved.as_ref().expect("kept for it");
        let given = numbers(grad.clone());
        let mut of_factor: Vec<Mat<f64>> =
            blocks.list.iter().map(|block| Mat::zeros(block.values.nrows(), block.width())).collect();
        for (u, g) in solved.chunks(n).zip(given.chunks(n)) {
            let mut w: Vec<f64> = blocks.order.iter().map(|&row| g[row]).collect();
            blocks.forward(&mut w);
            for (block, out) in blocks.list.iter().zip(&mut of_factor) {
                let width = block.width();
                for col in 0..width {
                    let own = w[block.start + col];
                    (col..width).for_each(|row| out[(row, col)] -= u[block.start + row] * own);
                    block.rows.iter().enumerate().for_each(|(at, &row)| out[(width + at, col)] -= u[row] * own);
                }
            }
        }
        let of_matrix = selected::of_matrix(&blocks, of_factor, par());
        // An element that only the upper triangle stores is zero, and moves nothing that is read.
        let element = |(row, &col): (usize, &usize)| blocks.element(&of_matrix, row, col).unwrap_or(0.0);
        let list: Vec<f64> = plan.row_ids().zip(&plan.idx).map(element).collect();
        let nnz = list.len();
        tensor(list, [nnz, 1], &grad.device(), grad.dtype())
    }
}
