//! Known classes, spread over a graph.

use super::host::check_probability;
use super::labelled::LabelledNodes;
use burn::tensor::Tensor;
use sparse_macros::or_panic;
use sparse_ops::extend::check_square;
use sparse_ops::{CsrTensor, Result};

/// Label propagation: `steps` times `Y = clamp(alpha A Y + (1 - alpha) Y_0, 0, 1)` from `Y = Y_0`, which has a 1 at the
/// class of each node of `known`, and zeros for the other nodes.
///
/// `A` `[N, N]` is a normalised adjacency: `symmetric_normalization(&adjacency, false)` is that of PyG. The result
/// `[N, classes]` has the dtype of `A`. Cost: `O(steps nnz classes)`. (PyG's `LabelPropagation`.)
///
/// Source: Zhou, Bousquet, Lal, Weston and Schölkopf, *Learning with local and global consistency*, NIPS 2003; Zhu and
/// Ghahramani, *Learning from labeled and unlabeled data with label propagation*, 2002.
///
/// ```
/// use burn::tensor::Device;
/// use sparse_tensor::{data::{karate, label_propagation}, nn::symmetric_normalization};
///
/// let graph = karate(&Device::flex());
/// let known = graph.labelled(&graph.splits.train).unwrap();
/// let scores = label_propagation(&symmetric_normalization(&graph.adjacency, false), &known, 50, 0.9);
/// // Two members are known. Of the other 32 at least 29 are right.
/// assert!(graph.labelled(&graph.splits.test).unwrap().accuracy(scores) > 0.9);
/// ```
///
/// # Errors
///
/// `shape_mismatch` if the adjacency is not square, or the nodes are those of another graph; `invalid` for an `alpha`
/// outside `[0, 1]`; `device_mismatch`.
#[or_panic]
pub fn try_label_propagation(
    adjacency: &CsrTensor<2>,
    known: &LabelledNodes,
    steps: usize,
    alpha: f64,
) -> Result<Tensor<2>> {
    const OP: &str = "label_propagation";
    let shape = [adjacency.dims()[0], known.classes()];
    smooth(OP, adjacency, Tensor::zeros(shape, (&adjacency.device(), adjacency.dtype())), known, steps, alpha)
}

/// The first half of *correct and smooth*: the errors of predictions at the known nodes, spread to the others.
///
/// With `E_0 = Y - Z` for the known classes `Y`, and 0 for the other nodes, `E = clamp(alpha A E + (1 - alpha) E_0, -1,
/// 1)` is taken `steps` times, from `E_0`. The result is `Z + s_i E_i` for node `i`: without a `scale`, `s_i` is the
/// mean of `sum_c |E_0|` over the known nodes, divided by `sum_c |E_i|`, or 1 where that is above 1000. With a `scale`,
/// `s_i` is that, and instead of the clamp the rows of the known nodes are `E_0` after each step.
///
/// `predictions` `[N, classes]` are probabilities `Z`, and `A` is as in [`label_propagation`]. (PyG's
/// `CorrectAndSmooth::correct`.)
///
/// Source: Huang, He, Singh, Lim and Benson, *Combining label propagation and simple models out-performs graph neural
/// networks*, ICLR 2021.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::data::{correct_predictions, karate, smooth_predictions};
/// use sparse_tensor::nn::symmetric_normalization;
///
/// let graph = karate(&Device::flex());
/// let (known, a) = (graph.labelled(&graph.splits.train).unwrap(), symmetric_normalization(&graph.adjacency, false));
/// // A model that knows nothing.
/// let z = Tensor::<2>::full([34, 2], 0.5, &Device::flex());
/// let z = correct_predictions(&a, z, &known, 50, 0.9, None);
/// let z = smooth_predictions(&a, z, &known, 50, 0.8);
/// assert!(graph.labelled(&graph.splits.test).unwrap().accuracy(z) > 0.9);
/// ```
///
/// # Errors
///
/// As [`try_label_propagation`]; `shape_mismatch` also for predictions of another shape; `empty_input` if no node is
/// known; `dtype_mismatch`.
#[or_panic]
pub fn try_correct_predictions(
    adjacency: &CsrTensor<2>,
    predictions: Tensor<2>,
    known: &LabelledNodes,
    steps: usize,
    alpha: f64,
    scale: Option<f64>,
) -> Result<Tensor<2>> {
    const OP: &str = "correct_predictions";
    let truth = known.put_classes(OP, predictions.clone())?;
    let errors = truth - predictions.clone();
    let rows = known.rows(OP, errors.clone())?;
    if let Some(scale) = scale {
        let fix = |x| known.put_rows(x, rows.clone());
        return Ok(propagate(OP, adjacency, errors.clone(), steps, alpha, fix)?.mul_scalar(scale) + predictions);
    }
    let mean = rows.abs().sum().div_scalar(known.len() as f64);
    let spread = propagate(OP, adjacency, errors, steps, alpha, |x| Ok(x.clamp(-1.0, 1.0)))?;
    let (mean, sums) = (mean.unsqueeze::<2>(), spread.clone().abs().sum_dim(1));
    // Where no error arrives the sum is 0, and a quotient by it has no gradient. (In PyG 0 / 0 stays NaN.)
    let none = (mean.clone() / sums.clone()).lower_equal_scalar(1000.0).bool_not();
    let scale = mean / sums.mask_fill(none.clone(), 1.0);
    Ok(predictions + spread * scale.mask_fill(none, 1.0))
}

/// The second half of *correct and smooth*: [`label_propagation`] from predictions `[N, classes]`, whose rows at the
/// known nodes are replaced by the known classes.
///
/// Arguments and an example are those of [`correct_predictions`]. (PyG's `CorrectAndSmooth::smooth`.)
///
/// # Errors
///
/// As [`try_correct_predictions`].
#[or_panic]
pub fn try_smooth_predictions(
    adjacency: &CsrTensor<2>,
    predictions: Tensor<2>,
    known: &LabelledNodes,
    steps: usize,
    alpha: f64,
) -> Result<Tensor<2>> {
    smooth("smooth_predictions", adjacency, predictions, known, steps, alpha)
}

fn smooth(
    op: &'static str,
    adjacency: &CsrTensor<2>,
    x: Tensor<2>,
    known: &LabelledNodes,
    steps: usize,
    alpha: f64,
) -> Result<Tensor<2>> {
    propagate(op, adjacency, known.put_classes(op, x)?, steps, alpha, |x| Ok(x.clamp(0.0, 1.0)))
}

/// `steps` times `x = after(alpha A x + (1 - alpha) x_0)`.
fn propagate(
    op: &'static str,
    adjacency: &CsrTensor<2>,
    start: Tensor<2>,
    steps: usize,
    alpha: f64,
    after: impl Fn(Tensor<2>) -> Result<Tensor<2>>,
) -> Result<Tensor<2>> {
    check_square(op, adjacency)?;
    check_probability(op, "alpha", alpha)?;
    let own = start.clone().mul_scalar(1.0 - alpha);
    let mut x = start;
    for _ in 0..steps {
        x = after(adjacency.try_matmul(x)?.mul_scalar(alpha) + own.clone())?;
    }
    Ok(x)
}
