//! Gradients against central differences.

use crate::Erased;
use burn::tensor::{DType, Device, Tensor, TensorData};
use std::fmt;
use thiserror::Error;

/// Step and tolerance of a [`gradcheck`].
#[derive(Clone, Copy, Debug)]
pub struct Gradcheck {
    /// Half the width of a central difference.
    pub eps: f64,
    /// `|analytic - numeric| <= tolerance * max(1, |numeric|)`.
    pub tolerance: f64,
}

impl Default for Gradcheck {
    /// 1e-6 for both. The error of a central difference in f64 with this step is about 1e-10.
    fn default() -> Self {
        Self { eps: 1e-6, tolerance: 1e-6 }
    }
}

/// What a passed check compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Report {
    /// Gradient elements compared: every element of every input.
    pub compared: usize,
    /// Largest `|analytic - numeric| / max(1, |numeric|)`.
    pub worst: f64,
}

/// A gradient that differs from its central difference.
#[derive(Clone, Error, PartialEq)]
#[error(
    "gradcheck: gradient and central difference must agree within {tolerance:e}, got {analytic:e} and {numeric:e} \
     at element {element} of input {input}"
)]
pub struct GradcheckError {
    /// Position of the input in the list.
    pub input: usize,
    /// Flat element of the input.
    pub element: usize,
    /// What the backward pass gave.
    pub analytic: f64,
    /// What the central difference gave.
    pub numeric: f64,
    /// The tolerance in force.
    pub tolerance: f64,
}

/// What `unwrap`, and a `main` that returns the error, print.
impl fmt::Debug for GradcheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// One input of the checked function: a leaf.
#[derive(Clone, Debug)]
pub struct Var(Erased);

impl Var {
    /// The input as a tensor of rank `D`.
    pub fn tensor<const D: usize>(&self) -> Tensor<D> {
        self.0.clone().into_tensor()
    }
}

/// Compares every gradient of `f` with a central difference in f64, with the default step and tolerance.
///
/// The loss is `sum(w * f(inputs))` with fixed weights `w` that have no symmetry, so that every output element counts
/// and no two cancel. Nothing is skipped: NaN on either side fails. `f` is called `2 * elements + 1` times.
///
/// # Errors
///
/// [`GradcheckError`] names the worst element.
///
/// # Example
///
/// ```
/// use burn::tensor::{Device, TensorData};
/// use sparse_autograd::gradcheck;
///
/// let device = Device::flex().autodiff();
/// let x = TensorData::from([[1.0f64, 2.0], [3.0, 4.0]]);
/// let report = gradcheck(&device, &[x], |xs| xs[0].tensor::<2>().powf_scalar(3.0)).unwrap();
/// assert_eq!(report.compared, 4);
/// ```
pub fn gradcheck<const D: usize>(
    device: &Device,
    inputs: &[TensorData],
    f: impl Fn(&[Var]) -> Tensor<D>,
) -> Result<Report, GradcheckError> {
    Gradcheck::default().run(device, inputs, f)
}

impl Gradcheck {
    /// [`gradcheck`] with this step and tolerance.
    ///
    /// # Errors
    ///
    /// [`GradcheckError`] names the worst element.
    ///
    /// # Panics
    ///
    /// If `device` is not an autodiff device, or if a gradient has not as many elements as its input.
    pub fn run<const D: usize>(
        &self,
        device: &Device,
        inputs: &[TensorData],
        f: impl Fn(&[Var]) -> Tensor<D>,
    ) -> Result<Report, GradcheckError> {
        let plain: Vec<Vec<f64>> = inputs.iter().map(|data| data.iter::<f64>().collect()).collect();
        let shapes: Vec<Vec<usize>> = inputs.iter().map(|data| data.shape().to_vec()).collect();
        let (weights, analytic) = gradients(device, DType::F64, &plain, &shapes, &f);
        let loss = |values: &[Vec<f64>]| -> f64 {
            let out = f(&vars(device, DType::F64, values, &shapes)) * weights.clone();
            // Summed here: the rounding of a backend's own reduction would blur the difference.
            out.inner().into_data().iter::<f64>().sum()
        };
        let mut report = Report { compared: 0, worst: 0.0 };
        let mut failure: Option<(f64, GradcheckError)> = None;
        let mut moved = plain.clone();
        for (input, analytic) in analytic.iter().enumerate() {
            for (element, &analytic) in analytic.iter().enumerate() {
                let at = plain[input][element];
                moved[input][element] = at + self.eps;
                let above = loss(&moved);
                moved[input][element] = at - self.eps;
                let below = loss(&moved);
                moved[input][element] = at;
                let numeric = (above - below) / (2.0 * self.eps);
                let error = (analytic - numeric).abs() / numeric.abs().max(1.0);
                let error = if error.is_nan() { f64::INFINITY } else { error };
                report.compared += 1;
                report.worst = report.worst.max(error);
                if error > self.tolerance && failure.as_ref().is_none_or(|(worst, _)| error > *worst) {
                    let tolerance = self.tolerance;
                    failure = Some((error, GradcheckError { input, element, analytic, numeric, tolerance }));
                }
            }
        }
        failure.map_or(Ok(report), |(_, trouble)| Err(trouble))
    }

    /// Compares every gradient of `f` on a device with that on another one in f64. This is for devices whose floats are
    /// too narrow for differences. [`run`](Self::run) should pass on `reference`. In a [`GradcheckError`] the gradient
    /// on `reference` takes the place of the central difference.
    ///
    /// # Errors
    ///
    /// [`GradcheckError`] names the first element, with the reference as its numeric side.
    pub fn agree<const D: usize>(
        &self,
        reference: &Device,
        device: &Device,
        dtype: DType,
        inputs: &[TensorData],
        f: impl Fn(&[Var]) -> Tensor<D>,
    ) -> Result<Report, GradcheckError> {
        let plain: Vec<Vec<f64>> = inputs.iter().map(|data| data.iter::<f64>().collect()).collect();
        let shapes: Vec<Vec<usize>> = inputs.iter().map(|data| data.shape().to_vec()).collect();
        let (_, wanted) = gradients(reference, DType::F64, &plain, &shapes, &f);
        let (_, got) = gradients(device, dtype, &plain, &shapes, &f);
        let mut report = Report { compared: 0, worst: 0.0 };
        for (input, (got, wanted)) in got.iter().zip(&wanted).enumerate() {
            for (element, (&analytic, &numeric)) in got.iter().zip(wanted).enumerate() {
                let error = (analytic - numeric).abs() / numeric.abs().max(1.0);
                report.compared += 1;
                report.worst = report.worst.max(error);
                if error.is_nan() || error > self.tolerance {
                    return Err(GradcheckError { input, element, analytic, numeric, tolerance: self.tolerance });
                }
            }
        }
        Ok(report)
    }
}

fn vars(device: &Device, dtype: DType, values: &[Vec<f64>], shapes: &[Vec<usize>]) -> Vec<Var> {
    values.iter().zip(shapes).map(|(values, shape)| Var(leaf(values, shape, device, dtype))).collect()
}

/// The weights of the loss, and the gradient of every input.
fn gradients<const D: usize>(
    device: &Device,
    dtype: DType,
    values: &[Vec<f64>],
    shapes: &[Vec<usize>],
    f: &impl Fn(&[Var]) -> Tensor<D>,
) -> (Tensor<D>, Vec<Vec<f64>>) {
    assert!(device.is_autodiff(), "gradcheck: the device must be an autodiff one, got {device:?}");
    let leaves = vars(device, dtype, values, shapes);
    let out = f(&leaves);
    let weights = weights(&out);
    if !out.is_tracked() {
        return (weights, values.iter().map(|values| vec![0.0; values.len()]).collect());
    }
    let grads = (out * weights.clone()).sum().backward();
    let found = leaves.iter().zip(values).map(|(leaf, values)| gradient(leaf, values.len(), &grads)).collect();
    (weights, found)
}

/// Makes a tracked leaf. The rank is only known at run time, hence the match.
fn leaf(values: &[f64], shape: &[usize], device: &Device, dtype: DType) -> Erased {
    fn make<const D: usize>(values: &[f64], shape: &[usize], device: &Device, dtype: DType) -> Erased {
        let data = TensorData::new(values.to_vec(), shape.to_vec());
        Tensor::<D>::from_data(data.convert_dtype(dtype), (device, dtype)).require_grad().into()
    }
    match shape.len() {
        1 => make::<1>(values, shape, device, dtype),
        2 => make::<2>(values, shape, device, dtype),
        3 => make::<3>(values, shape, device, dtype),
        4 => make::<4>(values, shape, device, dtype),
        rank => panic!("gradcheck: inputs must have rank 1 to 4, got {rank}"),
    }
}

fn gradient(leaf: &Var, elements: usize, grads: &burn::tensor::Gradients) -> Vec<f64> {
    fn get<const D: usize>(leaf: &Var, grads: &burn::tensor::Gradients) -> Option<Vec<f64>> {
        leaf.tensor::<D>().grad(grads).map(|grad| grad.into_data().iter::<f64>().collect())
    }
    let found = match leaf.0.shape().len() {
        1 => get::<1>(leaf, grads),
        2 => get::<2>(leaf, grads),
        3 => get::<3>(leaf, grads),
        _ => get::<4>(leaf, grads),
    };
    // No entry means that the output does not depend on the input.
    let found = found.unwrap_or_else(|| vec![0.0; elements]);
    assert_eq!(found.len(), elements, "gradcheck: a gradient must have as many elements as its input");
    found
}

/// Fixed weights of mixed signs that no structure of the output can cancel: the fractional parts of multiples of the
/// golden ratio, moved off zero.
fn weights<const D: usize>(out: &Tensor<D>) -> Tensor<D> {
    let shape = out.dims();
    let count: usize = shape.iter().product();
    let values: Vec<f64> = (1..=count)
        .map(|k| {
            let part = (k as f64 * 0.618_033_988_749_894_9).fract() - 0.5;
            part + part.signum() * 0.1
        })
        .collect();
    Tensor::from_data(TensorData::new(values, shape).convert_dtype(out.dtype()), (&out.device(), out.dtype()))
}
