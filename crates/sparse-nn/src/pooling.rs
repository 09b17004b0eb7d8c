//! Readouts: the nodes of each graph as one row.

use burn::tensor::Tensor;
use sparse_macros::or_panic;
use sparse_ops::extend::same_elements;
use sparse_ops::ops::{IndexPlan, Reduce};
use sparse_ops::{Result, SparseError};

/// `out[g] = sum of x[i] over the nodes i of graph g`: `[N, F]` to `[G, F]`.
///
/// `graphs` has the graph of each node; make it by `IndexPlan::new(ids, number_of_graphs)`, which checks the ids once.
/// A graph without nodes gives 0. Backward: each node gets the gradient of its graph. Cost: `O(N * F)`, by segments,
/// without atomics. (PyG's `global_add_pool`.)
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::nn::{global_add_pool, global_max_pool, global_mean_pool};
/// use sparse_tensor::ops::IndexPlan;
///
/// let device = Device::flex();
/// let graphs = IndexPlan::new(Tensor::from_ints([0, 0, 1], &device), 2).unwrap();
/// let x = Tensor::<2>::from_floats([[1.0], [3.0], [5.0]], &device);
/// let list = |x: Tensor<2>| x.into_data().iter::<f32>().collect::<Vec<_>>();
/// assert_eq!(list(global_add_pool(x.clone(), &graphs)), [4.0, 5.0]);
/// assert_eq!(list(global_mean_pool(x.clone(), &graphs)), [2.0, 5.0]);
/// assert_eq!(list(global_max_pool(x, &graphs)), [3.0, 5.0]);
/// ```
///
/// # Errors
///
/// `shape_mismatch` if `x` does not have a row for each node; `unsupported_dtype`, `device_mismatch`.
#[or_panic]
pub fn try_global_add_pool(x: Tensor<2>, graphs: &IndexPlan) -> Result<Tensor<2>> {
    pool("global_add_pool", x, graphs, Reduce::Add)
}

/// The mean of the nodes of each graph: `[N, F]` to `[G, F]`. A graph without nodes gives 0. See [`global_add_pool`].
///
/// # Errors
///
/// As [`try_global_add_pool`].
#[or_panic]
pub fn try_global_mean_pool(x: Tensor<2>, graphs: &IndexPlan) -> Result<Tensor<2>> {
    pool("global_mean_pool", x, graphs, Reduce::Mean)
}

/// The largest value of each feature among the nodes of each graph: `[N, F]` to `[G, F]`. A graph without nodes gives
/// 0. The gradient is shared evenly by ties. See [`global_add_pool`].
///
/// # Errors
///
/// As [`try_global_add_pool`].
#[or_panic]
pub fn try_global_max_pool(x: Tensor<2>, graphs: &IndexPlan) -> Result<Tensor<2>> {
    pool("global_max_pool", x, graphs, Reduce::Amax)
}

/// Attention over the nodes of each graph: `out[g] = sum of softmax(gate)[i] * x[i] over the nodes i of graph g`.
///
/// `gate` `[N, 1]`, or `[N, F]` for one of each feature, has the scores, from a network of your own; the softmax is
/// over the nodes of each graph. `x` is `[N, F]`, from another network if you like. The result is `[G, F]`; a graph
/// without nodes gives 0. Gradients reach both. (PyG's `AttentionalAggregation`.)
///
/// Source: Li, Tarlow, Brockschmidt, Zemel, *Gated graph sequence neural networks*, ICLR 2016.
///
/// # Errors
///
/// `shape_mismatch` if `gate` or `x` do not have a row for each node, or `gate` has another number of columns;
/// `unsupported_dtype`, `device_mismatch`.
#[or_panic]
pub fn try_global_attention_pool(gate: Tensor<2>, x: Tensor<2>, graphs: &IndexPlan) -> Result<Tensor<2>> {
    const OP: &str = "global_attention_pool";
    let (scores, features) = (gate.dims(), x.dims());
    check_nodes(OP, &gate, graphs)?;
    check_nodes(OP, &x, graphs)?;
    if scores[1] != 1 && scores[1] != features[1] {
        let rule = "the gate {left} must have one column, or one for each feature of {right}";
        return Err(SparseError::shape_mismatch(OP, rule, scores, features));
    }
    same_elements(OP, &gate, &x)?;
    pool(OP, try_graph_softmax(gate, graphs)? * x, graphs, Reduce::Add)
}

/// Softmax of scores `[N, F]` over the nodes of each graph, for each column on its own. The largest score of each graph
/// is subtracted first. (PyG's `softmax(src, index)`.)
///
/// # Errors
///
/// As [`try_global_add_pool`].
#[or_panic]
pub fn try_graph_softmax(scores: Tensor<2>, graphs: &IndexPlan) -> Result<Tensor<2>> {
    const OP: &str = "graph_softmax";
    check_nodes(OP, &scores, graphs)?;
    if scores.shape().num_elements() == 0 {
        return Ok(scores);
    }
    let largest = pool(OP, scores.clone().set_require_grad(false), graphs, Reduce::Amax)?;
    let exp = (scores - graphs.try_select(largest, 0)?).exp();
    let sums = pool(OP, exp.clone(), graphs, Reduce::Add)?;
    Ok(exp / graphs.try_select(sums, 0)?)
}

pub(super) fn pool(op: &'static str, x: Tensor<2>, graphs: &IndexPlan, reduce: Reduce) -> Result<Tensor<2>> {
    check_nodes(op, &x, graphs)?;
    let [_, features] = x.dims();
    let zeros = Tensor::zeros([graphs.size(), features], (&x.device(), x.dtype()));
    if x.shape().num_elements() == 0 || graphs.size() == 0 {
        return Ok(zeros);
    }
    graphs.try_put(zeros, 0, x, reduce, false)
}

pub(super) fn check_nodes(op: &'static str, x: &Tensor<2>, graphs: &IndexPlan) -> Result<()> {
    if x.dims()[0] == graphs.len() {
        return Ok(());
    }
    let rule = "x {left} must have a row for each of the {right:1} nodes of the plan";
    Err(SparseError::shape_mismatch(op, rule, x.dims(), [graphs.len()]))
}
