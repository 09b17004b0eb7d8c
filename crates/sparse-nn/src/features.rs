//! Features of nodes, dense or sparse, and what layers check about them.

use super::aggregation::{Aggregate, Aggregator};
use burn::module::Param;
use burn::nn::{Initializer, Linear};
use burn::tensor::{Device, Tensor};
use sparse_ops::extend::{Parts, add_bias, expand, linear, read_at, same_elements};
use sparse_ops::ops::{Epilogue, Reduce};
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

/// `aggregate_{j in N(i)} (a_ij x_j) W`, in the cheaper order where both orders give the same.
pub(super) fn aggregated(
    op: &'static str,
    adjacency: &CsrTensor<2>,
    x: &Features<'_>,
    weight: Tensor<2>,
    aggregator: &Aggregator,
) -> Result<Tensor<2>> {
    let ([d_input, d_output], reduce) = (weight.dims(), aggregator.reduce());
    let linear = reduce.filter(|reduce| matches!(reduce, Reduce::Add | Reduce::Mean));
    let rows = match (x, linear) {
        (x, Some(reduce)) if d_output <= d_input || matches!(x, Features::Sparse(_)) => {
            return adjacency.try_matmul_reduce(x.times(op, weight)?, reduce);
        }
        (Features::Dense(x), _) => match reduce {
            Some(reduce) => adjacency.try_matmul_reduce(x.clone(), reduce)?,
            None => {
                let (pattern, weights) = (adjacency.pattern(), adjacency.rows().clone());
                let messages = read_at(pattern, 1, x.clone());
                aggregator.aggregate(pattern, expand(weights, messages.dims()) * messages)?
            }
        },
        (Features::Sparse(_), _) => {
            return Err(SparseError::invalid(op, "use to_dense and forward: sparse features have sums and means only"));
        }
    };
    Features::Dense(rows).times(op, weight)
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
    let rule = "the adjacency must be square (bipartite graphs have a method of their own), got {left:1} rows and \
                {right:1} columns";
    Err(SparseError::shape_mismatch(op, rule, [rows], [cols]))
}

/// A vector of zeros as a parameter.
pub(super) fn zeros(size: usize, device: &Device) -> Param<Tensor<1>> {
    Initializer::Zeros.init([size], device)
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
