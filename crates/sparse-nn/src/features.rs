//! Features of nodes, dense or sparse, and what layers check about them.

use burn::module::Param;
use burn::nn::{Initializer, Linear, LinearConfig};
use burn::tensor::activation::relu;
use burn::tensor::{Bool, Device, Tensor};
use sparse_ops::extend::{Parts, add_bias, linear, linear_onto, same_elements, wide};
use sparse_ops::ops::Epilogue;
use sparse_ops::{CsrTensor, Result, SparseError};

/// The features of nodes, one row for each.
#[derive(Clone)]
pub(super) enum Features<'a> {
    Dense(Tensor<2>),
    Sparse(&'a CsrTensor<2>),
}

impl Features<'_> {
    pub(super) fn dims(&self) -> [usize; 2] {
        match self {
            Self::Dense(x) => x.dims(),
            Self::Sparse(x) => x.dims(),
        }
    }

    /// Checks that the adjacency has a column for each row of these features, and that they have `d_input` columns.
    /// Checks the dtype and the device too.
    pub(super) fn check(&self, op: &'static str, adjacency: &CsrTensor<2>, d_input: usize) -> Result<()> {
        let (graph, own) = (adjacency.dims(), self.dims());
        if graph[1] != own[0] {
            let rule = "the adjacency {left} must have a column for each row of the features {right}";
            return Err(SparseError::shape_mismatch(op, rule, graph, own));
        }
        self.check_elements(op, adjacency, d_input)
    }

    /// Checks that there is a row for each target, that is for each row of the adjacency.
    pub(super) fn check_targets(&self, op: &'static str, adjacency: &CsrTensor<2>, d_input: usize) -> Result<()> {
        let (graph, own) = (adjacency.dims(), self.dims());
        if graph[0] != own[0] {
            let rule = "the adjacency {left} must have a row for each row of the target features {right}";
            return Err(SparseError::shape_mismatch(op, rule, graph, own));
        }
        self.check_elements(op, adjacency, d_input)
    }

    /// Checks the number of columns, the dtype and the device.
    fn check_elements(&self, op: &'static str, adjacency: &CsrTensor<2>, d_input: usize) -> Result<()> {
        check_width(op, self.dims(), d_input)?;
        match self {
            Self::Dense(x) => same_elements(op, adjacency.rows(), x),
            Self::Sparse(x) => same_elements(op, adjacency.rows(), x.rows()),
        }
    }

    /// `X W`.
    pub(super) fn times(&self, op: &'static str, weight: Tensor<2>) -> Result<Tensor<2>> {
        match self {
            Self::Dense(x) => {
                same_elements(op, x, &weight)?;
                Ok(linear(x.clone(), weight, Epilogue::default()))
            }
            Self::Sparse(x) => {
                same_elements(op, x.rows(), &weight)?;
                x.try_matmul(weight)
            }
        }
    }

    /// `X W + b`.
    pub(super) fn linear(&self, op: &'static str, layer: &Linear) -> Result<Tensor<2>> {
        let (weight, bias) = (layer.weight.val(), layer.bias.as_ref().map(Param::val));
        let then = Epilogue { bias, relu: false };
        match self {
            Self::Dense(x) => {
                same_elements(op, x, &weight)?;
                Ok(linear(x.clone(), weight, then))
            }
            Self::Sparse(x) => {
                same_elements(op, x.rows(), &weight)?;
                x.try_matmul_then(weight, then)
            }
        }
    }
}

/// `rows + x W + b` after checks, and then ReLU if asked.
pub(super) fn add_linear(
    op: &'static str,
    rows: Tensor<2>,
    x: &Features<'_>,
    layer: &Linear,
    rectify: bool,
) -> Result<Tensor<2>> {
    let weight = layer.weight.val();
    if let Features::Dense(x) = x {
        same_elements(op, x, &weight)?;
        return Ok(linear_onto(with_bias(rows, &layer.bias), x.clone(), weight, rectify));
    }
    let out = rows + x.linear(op, layer)?;
    Ok(if rectify { relu(out) } else { out })
}

/// `x W + b`, after checks.
pub(super) fn apply(op: &'static str, x: Tensor<2>, layer: &Linear) -> Result<Tensor<2>> {
    check_width(op, x.dims(), layer.weight.lazy_shape().dims::<2>()[0])?;
    Features::Dense(x).linear(op, layer)
}

/// [`apply`] where there is a map, else `x` itself.
pub(super) fn apply_any(op: &'static str, x: Tensor<2>, layer: &Option<Linear>) -> Result<Tensor<2>> {
    match layer {
        Some(layer) => apply(op, x, layer),
        None => Ok(x),
    }
}

/// Adds what a map makes of the targets, if there is one.
pub(super) fn add_root(op: &'static str, rows: Tensor<2>, root: &Option<Linear>, x: Tensor<2>) -> Result<Tensor<2>> {
    let Some(root) = root else { return Ok(rows) };
    check_width(op, x.dims(), root.weight.lazy_shape().dims::<2>()[0])?;
    add_linear(op, rows, &Features::Dense(x), root, false)
}

/// Adds a bias to every row.
pub(super) fn with_bias(rows: Tensor<2>, bias: &Option<Param<Tensor<1>>>) -> Tensor<2> {
    match bias {
        Some(bias) => add_bias(rows, bias.val()),
        None => rows,
    }
}

/// Checks that features have as many columns as a layer has inputs.
pub(super) fn check_width(op: &'static str, features: [usize; 2], d_input: usize) -> Result<()> {
    if features[1] == d_input {
        return Ok(());
    }
    let rule = "the features {left} must have {right:1} columns, the inputs of the layer";
    Err(SparseError::shape_mismatch(op, rule, features, [d_input]))
}

/// Checks that an adjacency joins nodes of one kind.
pub(super) fn check_square(op: &'static str, adjacency: &CsrTensor<2>) -> Result<()> {
    let [rows, cols] = adjacency.dims();
    if rows == cols {
        return Ok(());
    }
    let rule = "the adjacency must be square here, as that of nodes of one kind, got {left:1} rows and \
                {right:1} columns";
    Err(SparseError::shape_mismatch(op, rule, [rows], [cols]))
}

/// A vector of zeros as a parameter.
pub(super) fn zeros(size: usize, device: &Device) -> Param<Tensor<1>> {
    Initializer::Zeros.init([size], device)
}

/// Burn's linear map with its own initialisation.
pub(super) fn linear_map(d_input: usize, d_output: usize, bias: bool, device: &Device) -> Linear {
    LinearConfig::new(d_input, d_output).with_bias(bias).init(device)
}

/// A weight from Glorot's uniform distribution for these numbers of inputs and outputs.
pub(super) fn glorot<const D: usize>(shape: [usize; D], fans: [usize; 2], device: &Device) -> Param<Tensor<D>> {
    Initializer::XavierUniform { gain: 1.0 }.init_with(shape, Some(fans[0]), Some(fans[1]), device)
}

/// A linear map without bias, from Glorot's uniform distribution.
pub(super) fn glorot_linear(d_input: usize, d_output: usize, device: &Device) -> Linear {
    Linear { weight: glorot([d_input, d_output], [d_input, d_output], device), bias: None }
}

/// Checks a probability of dropout.
pub(super) fn check_dropout(op: &'static str, p: f64) -> Result<()> {
    if (0.0..1.0).contains(&p) {
        return Ok(());
    }
    Err(SparseError::invalid(op, format!("dropout must be in [0, 1), got {p}")))
}

/// Each row divided by its Euclidean norm; a row of zeros stays. Squares of 16-bit floats overflow: f32 has them.
pub(super) fn unit_rows(x: Tensor<2>) -> Tensor<2> {
    if x.shape().num_elements() == 0 {
        return x;
    }
    let (dtype, (norms, zero)) = (x.dtype(), norms(x.clone()));
    (wide(x) / norms.mask_fill(zero, 1.0)).cast(dtype)
}

/// The Euclidean norm of each row, `[N, 1]`, in f32 or wider, and which ones are 0: those have no gradient.
pub(super) fn norms(x: Tensor<2>) -> (Tensor<2>, Tensor<2, Bool>) {
    let squares = wide(x).powi_scalar(2).sum_dim(1);
    let zero = squares.clone().lower_equal_scalar(0.0);
    (squares.mask_fill(zero.clone(), 1.0).sqrt().mask_fill(zero.clone(), 0.0), zero)
}
