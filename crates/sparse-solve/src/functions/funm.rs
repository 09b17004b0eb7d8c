//! Functions of a symmetric matrix, times vectors.

use super::tridiagonal::eigen;
use crate::finite::{is_finite, not_finite, told};
use crate::krylov::vectors::{Vectors, apply, choose, dot, from_host, read, unit_of_any};
use crate::operator::{LinearOperator, Operator, device_of};
use crate::report::{check_tolerance, place};
use crate::symmetric::not_symmetric;
use burn::config::Config;
use burn::tensor::{DType, Tensor};
use sparse_macros::or_panic;
use sparse_ops::extend::{Erased, Exact, associate, expect, is_gpu, record, same_device, sum_dim};
use sparse_ops::{Result, SparseError};
use std::fmt;
use std::sync::Arc;

const OP: &str = "FunmConfig::multiply";

/// `f(A) b` of a symmetric matrix, as `A^(1/2) b`, `A^-1/2 b`, `exp(-t A) b`, `log(A) b` or `sign(A) b`: with the
/// eigenvectors `Q` and eigenvalues `l` it is `Q f(l) Q^T b`. (`scipy.sparse.linalg.funm_multiply_krylov` with
/// `assume_a="her"`.)
///
/// Lanczos' method: in an orthonormal basis `V` of `b, A b, A^2 b, ..` the matrix is tridiagonal, and
/// `f(A) b` is about `|b| V f(T) e_1`, with the small matrix `T` decomposed in f64 on the host. New directions are made
/// orthogonal to all others, so the basis is kept: no restarts. It ends when two looks, of at least two directions and
/// at least two apart, differ by at most `relative` times the result. So fewer than 4 directions are enough only where
/// `A` does not lead out of their space: then the result is exact. A space ends where orthogonality leaves nothing of a
/// product but rounding along its own directions, however small that is beside the matrix. Each column has its own
/// basis. `A` and `b` may have any scale.
///
/// Backward: `d b = f(A) d x`, in the same way. No gradient reaches `A`: if it is tracked that is an error, and
/// [`try_expm_multiply`](crate::try_expm_multiply) has one.
///
/// Of a matrix that is not symmetric it would be another function. That is an error where `x^T A y` and `y^T A x` of
/// neighbouring directions differ by more than a share of the largest such number: ten times `relative`, at most 0.01
/// and at least `sqrt(eps)`, 3e-4 in f32 and 1e-8 in f64. So an operator may be applied inexactly, as by a solve to
/// `relative`; the result is then as inexact. Of a less exact one, ask for less.
///
/// Cost, with `m` directions: `m` products with `A`, `O(m^2 n)` for the orthogonality, memory `O(m n)`.
///
/// Source: Saad, *Analysis of some Krylov subspace approximations to the matrix exponential operator*, 1992.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::CsrTensor;
/// use sparse_tensor::solve::FunmConfig;
///
/// let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[2.0, 1.0], [1.0, 2.0]], &Device::flex()));
/// let b = Tensor::<1>::from_floats([1.0, 0.0], &Device::flex());
/// let half = |b| FunmConfig::new().multiply(f64::sqrt, &a, b);
/// for (x, want) in half(half(b)).into_data().iter::<f32>().zip([2.0, 1.0]) {
///     assert!((x - want).abs() < 1e-5);
/// }
/// ```
#[derive(Config, Debug)]
pub struct FunmConfig {
    /// By how much two looks may differ.
    #[config(default = 1e-6)]
    pub relative: f64,
    /// The most directions; see above of fewer than 4.
    #[config(default = 100)]
    pub max_directions: usize,
}

/// Of one column what Lanczos found.
#[derive(Clone, Default)]
struct Small {
    diagonal: Vec<f64>,
    /// 0 where the space ends.
    beside: Vec<f64>,
    /// The same as beside, of a symmetric matrix, by the product with the next direction.
    back: Vec<f64>,
}

impl Small {
    fn push(&mut self, [diagonal, beside, back]: [f64; 3]) {
        // The first direction has none before it.
        if !self.diagonal.is_empty() {
            self.back.push(back);
        }
        self.diagonal.push(diagonal);
        self.beside.push(beside);
    }

    fn is_finite(&self) -> bool {
        self.diagonal.iter().chain(&self.beside).all(|number| number.is_finite())
    }
}

type Function = Arc<dyn Fn(f64) -> f64 + Send + Sync>;

/// The same in the backward pass.
struct Again {
    config: FunmConfig,
    f: Function,
    a: Operator,
}

impl fmt::Debug for Again {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Again").field("config", &self.config).field("a", &self.a).finish_non_exhaustive()
    }
}

impl FunmConfig {
    /// `f(A) b`, with `f` of the eigenvalues: `a` `[n, n]`, `b` `[n]` or `[n, F]`, f32 or f64. Gradients reach `b`.
    ///
    /// # Errors
    ///
    /// `shape_mismatch` if `a` is not square, or `b` does not fit; `unsupported_dtype`, `dtype_mismatch`,
    /// `device_mismatch`; `invalid` if `a` is tracked or its products show that it is not symmetric, for a tolerance
    /// that is no number from 0 on, for numbers that are not finite, with the row, if `f` gives one, with the
    /// eigenvalue (not if `b` has only rounding along its vector), if the result has one, and if the tolerance is not
    /// reached, with the number of directions.
    ///
    /// # Panics
    ///
    /// In the backward pass, for the same reasons.
    #[or_panic]
    pub fn try_multiply<F, const D: usize>(&self, f: F, a: &dyn LinearOperator, b: Tensor<D>) -> Result<Tensor<D>>
    where
        F: Fn(f64) -> f64 + Send + Sync + 'static,
    {
        let ([n, cols], dims) = (a.dims(), b.dims());
        check_tolerance(OP, "relative", self.relative)?;
        if n != cols {
            return Err(SparseError::shape_mismatch(OP, "the matrix must be square", a.dims(), [cols; 2]));
        }
        if D > 2 || dims[0] != n {
            let rule = "the right-hand side {left} must be [{right:0}] or have such columns";
            return Err(SparseError::shape_mismatch(OP, rule, dims, [n]));
        }
        if !matches!(b.dtype(), DType::F32 | DType::F64) {
            let dtype = format!("{:?}", b.dtype()).to_lowercase();
            return Err(SparseError::unsupported_dtype(OP, "a function of a matrix", dtype));
        }
        if let Some(device) = a.device() {
            same_device(OP, &device, &b.device())?;
        }
        if dims.contains(&0) {
            return Ok(b);
        }
        let b = b.reshape(Exact([1, n, dims.iter().product::<usize>() / n]));
        let again = Again { config: self.clone(), f: Arc::new(f), a: a.without_tape() };
        let x = again.run(if b.is_autodiff() { b.clone().inner() } else { b.clone() })?;
        let device = device_of([Some(b.device()), a.device()]).filter(|device| device.is_autodiff());
        let Some(device) = device else { return Ok(x.reshape(Exact(dims))) };
        if apply(a, &associate(x.clone(), &device))?.is_tracked() {
            let message = "the matrix must not be tracked, since it gets no gradient: detach it, or use expm_multiply";
            return Err(SparseError::invalid(OP, message));
        }
        let parent = if b.is_autodiff() { b } else { associate(b, &device) };
        let out = record(x, [Erased::from(&parent)], again, |again, grad: Vectors, _| {
            // 0 of finite numbers, else NaN, as other operations give.
            let spoiled = sum_dim(grad.clone() - grad.clone(), 1).is_nan();
            let x = expect(again.run(choose(spoiled.clone(), grad.zeros_like(), grad)));
            [Some(choose(spoiled, x.full_like(f64::NAN), x).into())]
        });
        Ok(out.reshape(Exact(dims)))
    }
}

impl Again {
    /// Of columns `[1, n, F]`.
    fn run(&self, b: Vectors) -> Result<Vectors> {
        let [_, n, width] = b.dims();
        let (epsilon, highest) = match b.dtype() {
            DType::F64 => (f64::EPSILON, f64::MAX),
            _ => (f32::EPSILON.into(), f32::MAX.into()),
        };
        let most = self.config.max_directions.clamp(1, n);
        let (direction, length) = unit_of_any(&b);
        let [lengths] = read([&length]);
        let mut basis = vec![direction];
        let mut unread = vec![];
        let mut small: Vec<Small> = vec![Small::default(); width];
        let mut before: Vec<Vec<f64>> = vec![vec![]; width];
        let mut worst = f64::INFINITY;
        for count in 1..=most {
            let last = &basis[count - 1];
            let mut image = apply(&self.a, last)?;
            let (diagonal, back) = (dot(last, &image), dot(&basis[count.max(2) - 2], &image));
            let orthogonal =
                |image: Vectors| basis.iter().fold(image, |image, own| image.clone() - own.clone() * dot(own, &image));
            image = orthogonal(image);
            let (_, once) = unit_of_any(&image);
            let (next, beside) = unit_of_any(&orthogonal(image));
            // Twice is enough, but for what lies in the space: of that rounding is left once, and almost nothing twice
            // (Giraud and Langou 2005). Compared with the matrix it would be lost where the function is large.
            let beside = beside.clone().mask_fill(beside.lower_equal(once * 0.1), 0.0);
            let apart = if count <= 20 && !is_gpu(&next.device()) { 2 } else { 10 };
            basis.push(next);
            unread.extend([diagonal, beside, back]);
            // The last look is at `most`, and the one before it two directions earlier or more.
            let is_look = count > 1 && (most - count).is_multiple_of(apart);
            if !(is_look || count == most) {
                continue;
            }
            for row in read_rows(std::mem::take(&mut unread)).chunks(3) {
                for (column, own) in small.iter_mut().enumerate() {
                    own.push([0, 1, 2].map(|entry| row[entry][column]));
                }
            }
            if !small.iter().all(Small::is_finite) || !lengths.iter().all(|length| length.is_finite()) {
                return Err(self.not_finite(&b, &basis)?);
            }
            let looks = small.iter().zip(&lengths).map(|(own, length)| self.factors(own, *length, epsilon));
            let (now, whole): (Vec<Vec<f64>>, Vec<bool>) = looks.collect::<Result<Vec<_>>>()?.into_iter().unzip();
            let changes = before.iter().zip(&now).zip(whole);
            worst = changes.map(|((old, new), whole)| if whole { 0.0 } else { change(old, new) }).fold(0.0, f64::max);
            if worst <= self.config.relative || count == n {
                let beyond = |factor: &f64| factor.is_nan() || factor.abs() > highest;
                if let Some(column) = now.iter().position(|own| own.iter().any(beyond)) {
                    let place = place(None, (width > 1).then_some(column), None);
                    return Err(told(OP, "the numbers of the result", &place));
                }
                return Ok(combine(&basis[..count], &now, &length));
            }
            before = now;
        }
        let change = if worst.is_finite() { format!("a change of {worst:.1e}") } else { "no two looks".into() };
        let message = format!(
            "the tolerance {:e} must be reached, got {change} with {most} directions: use more of them, or a larger \
             tolerance",
            self.config.relative
        );
        Err(SparseError::invalid(OP, message))
    }

    /// The row is that of `b`, or of the first product in the space that is not finite.
    fn not_finite(&self, b: &Vectors, basis: &[Vectors]) -> Result<SparseError> {
        if !is_finite(b) {
            return Ok(not_finite(OP, "the numbers of b", b, None));
        }
        let images = basis.iter().map(|own| apply(&self.a, own)).collect::<Result<Vec<_>>>()?;
        let image = images.iter().find(|image| !is_finite(image)).unwrap_or(b);
        Ok(not_finite(OP, "the products of the matrix", image, None))
    }

    /// `length f(T) e_1`, and whether it is exact, in a space that `A` does not leave.
    fn factors(&self, small: &Small, length: f64, epsilon: f64) -> Result<(Vec<f64>, bool)> {
        let Small { diagonal, beside, back } = small;
        let count = diagonal.len();
        if length == 0.0 {
            return Ok((vec![0.0; count], true));
        }
        // What follows the end of the space has nothing to do with `b`.
        let end = beside.iter().position(|beside| *beside == 0.0);
        let own = end.map_or(count, |at| at + 1);
        let numbers = diagonal[..own].iter().chain(&beside[..own]);
        let size = numbers.fold(0.0f64, |most, number| most.max(number.abs()));
        let share = (10.0 * self.config.relative).min(0.01).max(epsilon.sqrt());
        for (ahead, back) in beside[..own - 1].iter().zip(back) {
            if (ahead - back).abs() > share * size {
                let told = "two directions (a larger tolerance allows more)";
                return Err(not_symmetric(OP, "the matrix", [*ahead, *back], told));
            }
        }
        let Some((values, vectors)) = eigen(&diagonal[..own], &beside[..own - 1]) else {
            return Err(SparseError::invalid(OP, "the eigenvalues of the small matrix must be found, got none"));
        };
        let mut out = vec![0.0; count];
        for (value, vector) in values.into_iter().zip(vectors) {
            let image = (self.f)(value);
            if !image.is_finite() {
                // Rounding alone leads there.
                if vector[0].abs() <= 20.0 * epsilon {
                    continue;
                }
                let message = format!("the function must be finite at eigenvalues, got {image} at {value:.3e}");
                return Err(SparseError::invalid(OP, message));
            }
            for (out, entry) in out.iter_mut().zip(&vector) {
                *out += image * vector[0] * entry * length;
            }
        }
        Ok((out, end.is_some()))
    }
}

/// The change by the size of the new list; infinite at the first look, and of what is no number.
fn change(old: &[f64], new: &[f64]) -> f64 {
    let most = old.iter().chain(new).fold(0.0f64, |most, own| most.max(own.abs()));
    if old.is_empty() || !old.iter().chain(new).all(|own| own.is_finite()) {
        return f64::INFINITY;
    }
    if most == 0.0 {
        return 0.0;
    }
    // Squares of very small or large numbers would be 0 or infinite.
    let length = |list: &mut dyn Iterator<Item = f64>| list.map(|x| (x / most) * (x / most)).sum::<f64>().sqrt();
    let padded = old.iter().copied().chain(std::iter::repeat(0.0));
    length(&mut new.iter().zip(padded).map(|(new, old)| new - old)) / length(&mut new.iter().copied())
}

fn combine(basis: &[Vectors], factors: &[Vec<f64>], like: &Vectors) -> Vectors {
    let term =
        |(at, own): (usize, &Vectors)| own.clone() * from_host(factors.iter().map(|column| column[at]).collect(), like);
    basis.iter().enumerate().map(term).reduce(|sum, own| sum + own).expect("at least one direction")
}

/// Numbers `[1, 1, F]` each, in one read.
fn read_rows(list: Vec<Vectors>) -> Vec<Vec<f64>> {
    let width = list[0].dims()[2];
    let [all] = read([&Tensor::cat(list, 2)]);
    all.chunks(width).map(<[f64]>::to_vec).collect()
}
