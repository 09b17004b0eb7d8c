//! Diffusion of a graph: edges to all that a walk reaches.

use super::graph::with_ends;
use super::pagerank::check_weights;
use burn::module::Module;
use burn::tensor::DType;
use sparse_macros::or_panic;
use sparse_nn::{try_row_normalization, try_symmetric_normalization};
use sparse_ops::extend::{Parts, check_square, read_data};
use sparse_ops::{CsrTensor, Result, SparseError};

/// How a graph is diffused: the weight `theta_k` of walks of `k` steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Diffusion {
    /// Personalised PageRank, `alpha (1 - alpha)^k`, with `0 < alpha <= 1`: the probability to end a walk at each step.
    PageRank(f64),
    /// The heat kernel, `e^-t t^k / k!`, with `0 < t <= 100`.
    Heat(f64),
}

/// Which edges of a diffused graph are kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum KeepEdges {
    /// Those of at least this weight, above 0.
    AtLeast(f64),
    /// The heaviest of each row, so many; of equal ones those to the first nodes.
    Largest(usize),
}

/// Graph diffusion convolution: `S = sum_k theta_k T^k` with `T` the symmetric normalisation of `A + I`, of which the
/// heaviest edges are kept, with rows that sum to 1.
///
/// An edge says how well walks from the row's node reach the column's. The result is a new adjacency, for layers
/// without a normalisation of their own. Terms are added up until the weights of the rest sum to less than 1e-12 (1e-7
/// if the values are not f64). Edges of weight 0 are left out. The result is not on the autodiff tape. (PyG's `GDC`
/// with `exact=True` and its defaults; rows are targets here, so its `dim=0` is a row.)
///
/// Cost: `O(N nnz terms)` time, with `log(1e-7) / log(1 - alpha)` terms; the memory besides the result is that of some
/// 50 million numbers, since rows are made in blocks. Each block is read to the host.
///
/// Source: Klicpera, Weißenberger, Günnemann, *Diffusion improves graph learning*, NeurIPS 2019.
///
/// ```
/// use burn::tensor::Device;
/// use sparse_tensor::data::{Diffusion, KeepEdges, diffused, karate};
///
/// let graph = diffused(&karate(&Device::flex()).adjacency, Diffusion::PageRank(0.15), KeepEdges::Largest(5));
/// assert_eq!((graph.dims(), graph.nnz()), ([34, 34], 34 * 5));
/// ```
///
/// # Errors
///
/// `shape_mismatch` if the adjacency is not square; `fill_mismatch` for another fill than zero or undefined; `invalid`
/// for weights that are negative or not finite, and for an argument outside its range.
#[or_panic]
pub fn try_diffused(adjacency: &CsrTensor<2>, diffusion: Diffusion, keep: KeepEdges) -> Result<CsrTensor<2>> {
    const OP: &str = "diffused";
    check_square(OP, adjacency)?;
    let in_range = |name: &str, value: f64, most: f64| match value {
        _ if value > 0.0 && value <= most => Ok(()),
        _ => Err(SparseError::invalid(OP, format!("{name} must be above 0 and at most {most}, got {value}"))),
    };
    match diffusion {
        Diffusion::PageRank(alpha) => in_range("alpha", alpha, 1.0)?,
        Diffusion::Heat(t) => in_range("t", t, 100.0)?,
    }
    match keep {
        KeepEdges::AtLeast(least) => in_range("the least weight", least, f64::MAX)?,
        KeepEdges::Largest(0) => return Err(SparseError::invalid(OP, "an edge of a row must be kept, got 0")),
        KeepEdges::Largest(_) => (),
    }
    let off_tape = Module::valid(adjacency);
    check_weights(OP, "an edge's weight", off_tape.rows().clone().flatten(0, 1))?;
    let nodes = off_tape.dims()[0];
    let options = (&off_tape.device(), off_tape.dtype());
    let back = try_symmetric_normalization(&off_tape, true)?.try_transpose()?;
    let rest = if options.1 == DType::F64 { 1e-12 } else { 1e-7 };
    let block = (BLOCK / nodes.max(1)).clamp(1, nodes.max(1));
    let mut rows = Vec::with_capacity(nodes);
    for first in (0..nodes).step_by(block) {
        let size = block.min(nodes - first);
        // Row i of T^k is column i of its transpose.
        let ends: Vec<_> = (first..first + size).map(|node| (node, node - first)).collect();
        let mut walks = with_ends(&ends, [nodes, size], options).try_to_dense()?;
        let (mut sum, mut left) = (walks.zeros_like(), 1.0);
        for (step, weight) in weights(diffusion).enumerate() {
            if step > 0 {
                walks = back.try_matmul(walks)?;
            }
            sum = sum + walks.clone().mul_scalar(weight);
            left -= weight;
            // Weights of the heat kernel grow first.
            if left <= rest || weight < f64::MIN_POSITIVE {
                break;
            }
        }
        let dense: Vec<f64> = read_data(sum.transpose()).iter::<f64>().collect();
        rows.extend(dense.chunks(nodes).map(|row| kept(row, keep)));
    }
    try_row_normalization(&CsrTensor::<2>::from_rows(&rows, nodes, options)?)
}

/// Numbers of a block of rows.
const BLOCK: usize = 1 << 24;

fn weights(diffusion: Diffusion) -> Box<dyn Iterator<Item = f64>> {
    match diffusion {
        Diffusion::PageRank(alpha) => {
            Box::new(std::iter::successors(Some(alpha), move |weight| Some(weight * (1.0 - alpha))))
        }
        Diffusion::Heat(t) => {
            let first = (0, (-t).exp());
            let next = move |&(step, weight): &(u32, f64)| Some((step + 1, weight * t / f64::from(step + 1)));
            Box::new(std::iter::successors(Some(first), next).map(|(_, weight)| weight))
        }
    }
}

/// The kept edges of a row, in order.
fn kept(row: &[f64], keep: KeepEdges) -> Vec<(usize, f64)> {
    let mut edges: Vec<(usize, f64)> = row.iter().copied().enumerate().filter(|&(_, weight)| weight > 0.0).collect();
    match keep {
        KeepEdges::AtLeast(least) => edges.retain(|&(_, weight)| weight >= least),
        KeepEdges::Largest(count) => {
            edges.sort_by(|a, b| b.1.total_cmp(&a.1));
            edges.truncate(count);
            edges.sort_unstable_by_key(|&(node, _)| node);
        }
    }
    edges
}
