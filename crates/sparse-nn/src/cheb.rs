//! Chebyshev graph convolution.

use super::features::{Features, check_square, glorot_linear, with_bias, zeros};
use super::normalization::{at_elements, check_fill, inverse};
use burn::config::Config;
use burn::module::{Module, Param};
use burn::nn::Linear;
use burn::tensor::{Device, Tensor};
use sparse_macros::or_panic;
use sparse_ops::extend::{Exact, Parts};
use sparse_ops::{CsrTensor, Result, SparseError};

/// Which Laplacian a [`ChebConv`] has. `D` has the sums of `A` over the targets of each source on its diagonal.
#[derive(Config, Debug, Copy, PartialEq, Eq)]
pub enum Laplacian {
    /// `D - A`.
    Plain,
    /// `I - D^-1/2 A D^-1/2`.
    Symmetric,
    /// `I - A D^-1`, whose columns sum to 0.
    RandomWalk,
}

/// Configuration of a [`ChebConv`].
#[derive(Config, Debug)]
pub struct ChebConvConfig {
    /// Number of input features of a node.
    pub d_input: usize,
    /// Number of output features of a node.
    pub d_output: usize,
    /// Number of Chebyshev polynomials, at least 1: nodes up to `k - 1` steps away are seen.
    pub k: usize,
    /// The Laplacian.
    #[config(default = "Laplacian::Symmetric")]
    pub laplacian: Laplacian,
    /// The largest eigenvalue of the Laplacian. `None` takes twice the largest entry of the Laplacian, which is 2 for
    /// the normalised ones (as PyG does).
    #[config(default = "None")]
    pub lambda_max: Option<f64>,
    /// Whether a bias is added; it starts at 0.
    #[config(default = true)]
    pub bias: bool,
}

/// A Chebyshev graph convolution: `sum_{k < K} T_k(L~) X W_k + b`, with `L~ = 2 L / lambda_max - I` and the Chebyshev
/// polynomials `T_0 = 1`, `T_1(L) = L`, `T_k(L) = 2 L T_{k-1}(L) - T_{k-2}(L)`.
///
/// `L` is the Laplacian of the adjacency `A` `[N, N]`, whose values are edge weights. Self loops in `A` do not count,
/// and a node of degree 0 or less counts as isolated. The sum is computed by Clenshaw's recurrence on the products
/// `X W_k`, so sparse features stay sparse; the result differs from that of the recurrence above by rounding. Gradients
/// reach the weights, `X` and the values of `A`. (PyG's `ChebConv`.)
///
/// Cost: `K` products `X W_k` and `K - 1` products of `nnz * d_output`.
///
/// Source: Defferrard, Bresson, Vandergheynst, *Convolutional neural networks on graphs with fast localized spectral
/// filtering*, NeurIPS 2016; Clenshaw, *A note on the summation of Chebyshev series*, 1955.
///
/// ```
/// use burn::tensor::Device;
/// use sparse_tensor::{data::karate, nn::ChebConvConfig};
///
/// let device = Device::flex();
/// let graph = karate(&device);
/// let layer = ChebConvConfig::new(34, 8, 3).init(&device);
/// assert_eq!(layer.forward_sparse(&graph.adjacency, &graph.features).dims(), [34, 8]);
/// ```
#[derive(Module, Debug)]
pub struct ChebConv {
    /// `W_k`, each `[d_input, d_output]`.
    pub weights: Vec<Linear>,
    /// `[d_output]`.
    pub bias: Option<Param<Tensor<1>>>,
    #[module(skip)]
    laplacian: Laplacian,
    lambda_max: Option<f64>,
}

impl ChebConvConfig {
    /// A layer on `device`. Weights start from Glorot's uniform distribution.
    ///
    /// # Errors
    ///
    /// `invalid` for `k` 0, or a `lambda_max` that is not above 0.
    #[or_panic]
    pub fn try_init(&self, device: &Device) -> Result<ChebConv> {
        const OP: &str = "ChebConvConfig::init";
        if self.k == 0 {
            return Err(SparseError::invalid(OP, "k must be at least 1, got 0"));
        }
        if let Some(largest) = self.lambda_max
            && (largest.is_nan() || largest <= 0.0)
        {
            return Err(SparseError::invalid(OP, format!("lambda_max must be above 0, got {largest}")));
        }
        Ok(ChebConv {
            weights: (0..self.k).map(|_| glorot_linear(self.d_input, self.d_output, device)).collect(),
            bias: self.bias.then(|| zeros(self.d_output, device)),
            laplacian: self.laplacian,
            lambda_max: self.lambda_max,
        })
    }
}

impl ChebConv {
    /// Dense features: `adjacency [N, N]`, `x [N, d_input]` to `[N, d_output]`.
    ///
    /// # Errors
    ///
    /// `shape_mismatch`, `dtype_mismatch`, `unsupported_dtype`, `device_mismatch`; `fill_mismatch` for an adjacency
    /// whose fill is not zero or undefined.
    #[or_panic]
    pub fn try_forward(&self, adjacency: &CsrTensor<2>, x: Tensor<2>) -> Result<Tensor<2>> {
        self.run("ChebConv::forward", adjacency, Features::Dense(x))
    }

    /// Sparse features, which stay sparse: `adjacency [N, N]`, `x [N, d_input]` to `[N, d_output]`.
    ///
    /// # Errors
    ///
    /// As [`try_forward`](Self::try_forward).
    #[or_panic]
    pub fn try_forward_sparse(&self, adjacency: &CsrTensor<2>, x: &CsrTensor<2>) -> Result<Tensor<2>> {
        self.run("ChebConv::forward_sparse", adjacency, Features::Sparse(x))
    }

    fn run(&self, op: &'static str, adjacency: &CsrTensor<2>, x: Features<'_>) -> Result<Tensor<2>> {
        let [d_input, _] = self.weights[0].weight.lazy_shape().dims();
        check_square(op, adjacency)?;
        check_fill(op, adjacency)?;
        x.check(op, adjacency, d_input)?;
        let scaled = if self.weights.len() > 1 { Some(self.scaled(adjacency)?) } else { None };
        // Clenshaw: b_k = X W_k + 2 L~ b_{k+1} - b_{k+2}, and the sum is X W_0 + L~ b_1 - b_2.
        let (mut next, mut after): (Option<Tensor<2>>, Option<Tensor<2>>) = (None, None);
        for (k, weight) in self.weights.iter().enumerate().rev() {
            let mut term = x.linear(op, weight)?;
            if let (Some(b), Some(scaled)) = (&next, &scaled) {
                let step = scaled.times(b.clone())?;
                term = term + if k == 0 { step } else { step.mul_scalar(2.0) };
            }
            if let Some(b) = after {
                term = term - b;
            }
            (after, next) = (next, Some(term));
        }
        Ok(with_bias(next.expect("at least one polynomial"), &self.bias))
    }

    /// `2 L / lambda_max - I`.
    fn scaled(&self, adjacency: &CsrTensor<2>) -> Result<Scaled> {
        let edges = adjacency.try_remove_self_loops()?;
        let degrees = edges.try_col_sums()?;
        let [nodes] = degrees.dims();
        let column = |sums: Tensor<1>| sums.reshape(Exact([nodes, 1]));
        let (edges, diagonal) = match self.laplacian {
            Laplacian::Plain => (edges, column(degrees)),
            Laplacian::Symmetric => {
                let ones = column(degrees.ones_like());
                let factor = inverse(degrees, Tensor::sqrt);
                let both = at_elements(&factor, &edges, 0) * at_elements(&factor, &edges, 1);
                (edges.with_rows(edges.rows().clone() * both, edges.fill().clone()), ones)
            }
            Laplacian::RandomWalk => {
                let ones = column(degrees.ones_like());
                let factor = at_elements(&inverse(degrees, |sum| sum), &edges, 1);
                (edges.with_rows(edges.rows().clone() * factor, edges.fill().clone()), ones)
            }
        };
        // The entries of L are those of the diagonal, and the edges with the other sign.
        let Some(largest) = self.lambda_max else {
            if nodes == 0 {
                return Ok(Scaled { edges, diagonal });
            }
            let mut largest = diagonal.clone().max();
            if edges.nnz() > 0 {
                largest = Tensor::cat(vec![largest, edges.rows().clone().min().neg()], 0).max();
            }
            // 2 L / (2 m). Without edges L is 0, and so is its largest entry.
            let none = largest.clone().lower_equal_scalar(0.0);
            let factor = largest.mask_fill(none, 1.0).recip().unsqueeze::<2>();
            let values = edges.rows().clone() * factor.clone();
            return Ok(Scaled {
                edges: edges.with_rows(values, edges.fill().clone()),
                diagonal: (diagonal * factor).sub_scalar(1.0),
            });
        };
        let values = edges.rows().clone().mul_scalar(2.0 / largest);
        Ok(Scaled {
            edges: edges.with_rows(values, edges.fill().clone()),
            diagonal: diagonal.mul_scalar(2.0 / largest).sub_scalar(1.0),
        })
    }
}

/// A matrix as `diag(diagonal) - edges`.
struct Scaled {
    edges: CsrTensor<2>,
    diagonal: Tensor<2>,
}

impl Scaled {
    fn times(&self, x: Tensor<2>) -> Result<Tensor<2>> {
        Ok(x.clone() * self.diagonal.clone() - self.edges.try_matmul(x)?)
    }
}
