//! Weights that are splines of the coordinates of edges.

use super::aggregation::{Aggregation, Aggregator};
use super::features::{add_root, check_width, linear_map, with_bias, zeros};
use super::message_passing::{Edges, MessagePassing};
use burn::config::Config;
use burn::module::{Module, Param};
use burn::nn::{Initializer, Linear};
use burn::tensor::{Device, Int, Tensor};
use sparse_macros::or_panic;
use sparse_ops::extend::{Exact, expand, index_dtype_for, index_tensor, linear, read_all, read_data, same_elements};
use sparse_ops::ops::{Epilogue, IndexPlan};
use sparse_ops::{Result, SparseError};

/// Configuration of a [`SplineConv`].
#[derive(Config, Debug)]
pub struct SplineConvConfig {
    /// Number of input features of a node.
    pub d_input: usize,
    /// Number of output features of a node.
    pub d_output: usize,
    /// Number of control points along each coordinate of an edge. There are as many coordinates.
    pub sizes: Vec<usize>,
    /// The degree of the splines: 1, 2 or 3.
    #[config(default = 1)]
    pub degree: usize,
    /// The coordinates whose splines are closed, such as angles: 0 and 1 are one place there.
    #[config(default = "vec![]")]
    pub closed: Vec<usize>,
    /// Number of input features of a target, if it is another one.
    #[config(default = "None")]
    pub d_target: Option<usize>,
    /// How messages are aggregated.
    #[config(default = "Aggregation::Mean")]
    pub aggregation: Aggregation,
    /// Whether a node's own features are added, through a weight of their own.
    #[config(default = true)]
    pub root_weight: bool,
    /// Whether a bias is added; it starts at 0.
    #[config(default = true)]
    pub bias: bool,
}

/// A convolution with B-splines: `out_i = W x_i + mean_{j in N(i)} x_j h(u_ij) + b`.
///
/// The features of an edge are its coordinates `u_ij` in `[0, 1]`, such as the scaled difference of two places. The
/// matrix is `h(u) = sum_k B_k(u) W_k` over the control points, where `B_k` is the product of B-splines of the
/// coordinates; of them `(degree + 1)^D` are not 0. The values of the adjacency are not read. Gradients reach the
/// weights, the features and the coordinates. (PyG's `SplineConv`.)
///
/// Cost, for `K` control points and `S = (degree + 1)^D`: `O(N K d_input d_output + nnz S d_output)` time, and
/// `(N K + nnz S) d_output` memory. The coordinates are checked, which reads the device.
///
/// Source: Fey et al., *SplineCNN: fast geometric deep learning with continuous B-spline kernels*, CVPR 2018.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::{data::karate, nn::{Edges, SplineConvConfig}};
///
/// let device = Device::flex();
/// let graph = karate(&device).adjacency;
/// let layer = SplineConvConfig::new(2, 8, vec![5, 5]).init(&device);
/// let edges = Edges::new(&graph, Tensor::ones([34, 2], &device));
/// let edges = edges.with_features(Tensor::full([graph.nnz(), 2], 0.3, &device));
/// assert_eq!(layer.forward(&edges).dims(), [34, 8]);
/// ```
#[derive(Module, Debug)]
pub struct SplineConv {
    /// `W_k`, `[K, d_input, d_output]`. The first coordinate changes fastest.
    pub weight: Param<Tensor<3>>,
    /// `W`, for the node itself (PyG's `lin`).
    pub root: Option<Linear>,
    /// `[d_output]`.
    pub bias: Option<Param<Tensor<1>>>,
    /// How messages are aggregated.
    pub aggregator: Aggregator,
    sizes: Vec<usize>,
    degree: usize,
    closed: Vec<usize>,
}

impl SplineConvConfig {
    /// A layer on `device`. `W_k` start uniform in `±1 / sqrt(K d_input)`, `W` as Burn's `Linear` does.
    ///
    /// # Errors
    ///
    /// `invalid` for no coordinates, another degree, a closed coordinate that there is not, an open spline without more
    /// control points than its degree, a closed one without any, or an aggregation that gives another number of
    /// features; `overflow`.
    #[or_panic]
    pub fn try_init(&self, device: &Device) -> Result<SplineConv> {
        const OP: &str = "SplineConvConfig::init";
        let Self { d_input, d_output, degree, .. } = *self;
        if !(1..=3).contains(&degree) {
            return Err(SparseError::invalid(OP, format!("the degree must be 1, 2 or 3, got {degree}")));
        }
        let count = self.sizes.len();
        if let Some(&axis) = self.closed.iter().find(|&&axis| axis >= count) {
            return Err(SparseError::invalid(
                OP,
                format!("there must be a coordinate {axis}, which is closed, got {count} of them"),
            ));
        }
        let least = |axis| if self.closed.contains(&axis) { 1 } else { degree + 1 };
        if count == 0 || (0..count).any(|axis| self.sizes[axis] < least(axis)) {
            let message = format!(
                "there must be coordinates, each with more control points than the degree {degree}, got {:?}",
                self.sizes
            );
            return Err(SparseError::invalid(OP, message));
        }
        let wanted = self.sizes.iter().try_fold(1_usize, |all, &size| all.checked_mul(size));
        let limit = u128::from(u32::MAX);
        let points = wanted.filter(|&points| points as u128 <= limit);
        let points = points.ok_or_else(|| SparseError::overflow(OP, "the control points", limit, u128::MAX))?;
        let bound = 1.0 / ((points * d_input).max(1) as f64).sqrt();
        Ok(SplineConv {
            weight: Initializer::Uniform { min: -bound, max: bound }.init([points, d_input, d_output], device),
            root: self.root_weight.then(|| linear_map(self.d_target.unwrap_or(d_input), d_output, false, device)),
            bias: self.bias.then(|| zeros(d_output, device)),
            aggregator: self.aggregation.init_same(OP, d_output, device)?,
            sizes: self.sizes.clone(),
            degree,
            closed: self.closed.clone(),
        })
    }
}

const OP: &str = "SplineConv::forward";

impl SplineConv {
    /// Edges with a feature for each coordinate, to `[M, d_output]`.
    ///
    /// # Errors
    ///
    /// `invalid` for edges without features, or coordinates outside `[0, 1]`; `shape_mismatch`, `dtype_mismatch`,
    /// `device_mismatch`, `overflow`.
    #[or_panic]
    pub fn try_forward(&self, edges: &Edges<'_>) -> Result<Tensor<2>> {
        self.propagate(edges)
    }

    /// The splines that are not 0 and their control points, both `[nnz, S]`.
    fn splines(&self, coordinates: Tensor<2>) -> (Tensor<2>, Tensor<2, Int>) {
        let (mut splines, mut points): (Vec<Tensor<2>>, Vec<Tensor<2, Int>>) = (vec![], vec![]);
        let mut stride = 1;
        for (axis, &size) in self.sizes.iter().enumerate() {
            let intervals = if self.closed.contains(&axis) { size } else { size - self.degree };
            let place = coordinates.clone().narrow(1, axis, 1).mul_scalar(intervals as f64);
            let whole = place.clone().inner().floor().int();
            let own = bases(place.clone() - place.floor(), self.degree);
            let ids = (0..own.len() as i64)
                .map(|at| whole.clone().add_scalar(at).remainder_scalar(size as i64).mul_scalar(stride as i64));
            let ids: Vec<Tensor<2, Int>> = ids.collect();
            (splines, points) = if axis == 0 {
                (own, ids)
            } else {
                let pairs = || (0..own.len()).flat_map(|new| (0..splines.len()).map(move |old| (old, new)));
                (
                    pairs().map(|(old, new)| splines[old].clone() * own[new].clone()).collect(),
                    pairs().map(|(old, new)| points[old].clone() + ids[new].clone()).collect(),
                )
            };
            stride *= size;
        }
        (Tensor::cat(splines, 1), Tensor::cat(points, 1))
    }
}

impl MessagePassing for SplineConv {
    fn message(&self, edges: &Edges<'_>) -> Result<Tensor<2>> {
        let (x, weight) = (edges.sources(), self.weight.val());
        let ([nodes, _], [count, d_input, d_output]) = (x.dims(), weight.dims());
        check_width(OP, x.dims(), d_input)?;
        let coordinates = edges.need_features(OP)?;
        check_width(OP, coordinates.dims(), self.sizes.len())?;
        same_elements(OP, &x, &weight)?;
        if edges.is_empty() {
            return Ok(Tensor::zeros([0, d_output], (&x.device(), x.dtype())));
        }
        check_coordinates(&coordinates)?;
        let (splines, points) = self.splines(coordinates);
        let shape = [edges.len(), splines.dims()[1]];
        let (all, size) = (shape[0] * shape[1], nodes.saturating_mul(count));
        // Row `j K + k` is what the control point `k` makes of the node `j`.
        let weight: Tensor<2> = weight.swap_dims(0, 1).reshape(Exact([d_input, count * d_output]));
        let made: Tensor<2> = linear(x, weight, Epilogue::default()).reshape(Exact([size, d_output]));
        let flat = |index: Tensor<2, Int>| index_tensor(index.reshape(Exact([all])), index_dtype_for(size));
        let sources = edges.adjacency().pattern().col_idx().clone().reshape(Exact([shape[0], 1]));
        let index = flat(sources.repeat_dim(1, shape[1])).mul_scalar(count as i64) + flat(points);
        let read = IndexPlan::new(index, size)?.try_select(made, 0)?;
        let read = read * expand(splines.reshape(Exact([all, 1])), [all, d_output]);
        let read: Tensor<3> = read.reshape(Exact([shape[0], shape[1], d_output]));
        Ok(read.sum_dim(1).reshape(Exact([shape[0], d_output])))
    }

    fn aggregate(&self, edges: &Edges<'_>, messages: Tensor<2>) -> Result<Tensor<2>> {
        edges.try_aggregate(messages, &self.aggregator)
    }

    fn update(&self, edges: &Edges<'_>, aggregated: Tensor<2>) -> Result<Tensor<2>> {
        Ok(with_bias(add_root(OP, aggregated, &self.root, edges.targets())?, &self.bias))
    }
}

/// The uniform B-splines of a degree that are not 0 at a fraction of an interval.
fn bases(t: Tensor<2>, degree: usize) -> Vec<Tensor<2>> {
    // Horner's scheme, by falling powers.
    let polynomial = |coefficients: &[f64], by: f64| {
        let mut terms = coefficients.iter();
        let first = terms.next().expect("a coefficient");
        let start = t.clone().mul_scalar(0.0).add_scalar(*first);
        terms.fold(start, |sum, &term| (sum * t.clone()).add_scalar(term)).mul_scalar(1.0 / by)
    };
    let (table, by): (&[&[f64]], f64) = match degree {
        1 => (&[&[-1.0, 1.0], &[1.0, 0.0]], 1.0),
        2 => (&[&[1.0, -2.0, 1.0], &[-2.0, 2.0, 1.0], &[1.0, 0.0, 0.0]], 2.0),
        _ => (&[&[-1.0, 3.0, -3.0, 1.0], &[3.0, -6.0, 0.0, 4.0], &[-3.0, 3.0, 3.0, 1.0], &[1.0, 0.0, 0.0, 0.0]], 6.0),
    };
    table.iter().map(|coefficients| polynomial(coefficients, by)).collect()
}

fn check_coordinates(coordinates: &Tensor<2>) -> Result<()> {
    let own = coordinates.clone().inner();
    let inside = own.clone().greater_equal_scalar(0.0).bool_and(own.clone().lower_equal_scalar(1.0));
    if read_all(inside.bool_not().int().max())[0] == 0 {
        return Ok(());
    }
    let outside = |x: &f64| !(0.0..=1.0).contains(x);
    let got = read_data(own).convert::<f64>().iter().find(outside).unwrap_or(f64::NAN);
    Err(SparseError::invalid(OP, format!("the coordinates of edges must be in [0, 1], got {got}")))
}
