//! Pools that assign nodes to clusters, on dense batches.

use burn::tensor::activation::{selu, softmax};
use burn::tensor::{Bool, Device, Shape, Tensor};
use sparse_macros::or_panic;
use sparse_ops::extend::{Exact, expand, same_elements, wide};
use sparse_ops::{Result, SparseError};

/// The graphs that a dense pool makes, and its losses.
#[derive(Clone, Debug)]
pub struct DensePooled<const N: usize> {
    /// The features of the clusters, `[B, C, F]`.
    pub x: Tensor<3>,
    /// The edges between them, `[B, C, C]`.
    pub adjacency: Tensor<3>,
    /// The share of each node in each cluster, `[B, M, C]`: 0 where there is no node.
    pub assignment: Tensor<3>,
    /// The losses of the pool, each `[1]`. In f32 for features of 16 bits.
    pub losses: [Tensor<1>; N],
}

/// DiffPool: clusters `S^T X` with the edges `S^T A S`, where `S = softmax(scores)`.
///
/// `x` is `[B, M, F]`, `adjacency` `[B, M, M]`, and `scores` `[B, M, C]` come from a layer of your own; `mask` `[B, M]`
/// says where nodes are, as in a [`DenseBatch`](super::DenseBatch). The losses are `|A - S S^T| / (B M^2)`, the
/// Frobenius norm, by which neighbours come to one cluster; and the mean entropy of the rows of `S` (of all `B * M`
/// places, as in PyG). Gradients reach all three tensors. Cost: `O(B M^2 (F + C))`. (PyG's `dense_diff_pool`.)
///
/// Source: Ying et al., *Hierarchical graph representation learning with differentiable pooling*, NeurIPS 2018.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::nn::diff_pool;
///
/// let device = Device::flex();
/// let pooled = diff_pool(
///     Tensor::ones([2, 5, 3], &device), Tensor::ones([2, 5, 5], &device), Tensor::ones([2, 5, 2], &device), None,
/// );
/// assert_eq!((pooled.x.dims(), pooled.adjacency.dims()), ([2, 2, 3], [2, 2, 2]));
/// let [link, entropy] = pooled.losses;
/// assert!((entropy.into_scalar::<f32>() - 2_f32.ln()).abs() < 1e-6);
/// # assert!(link.into_scalar::<f32>() > 0.0);
/// ```
///
/// # Errors
///
/// `empty_input` for no graphs, places or clusters; `shape_mismatch`, `dtype_mismatch`, `device_mismatch`.
#[or_panic]
pub fn try_diff_pool(
    x: Tensor<3>,
    adjacency: Tensor<3>,
    scores: Tensor<3>,
    mask: Option<Tensor<2, Bool>>,
) -> Result<DensePooled<2>> {
    let Assigned { x, adjacency, coarse, shares } = assigned("diff_pool", x, adjacency, scores, mask)?;
    let cells = adjacency.shape().num_elements() as f64;
    let difference = widened(adjacency - shares.clone().matmul(shares.clone().swap_dims(1, 2)));
    let link = root(difference.powi_scalar(2).sum()).div_scalar(cells);
    let each = widened(shares.clone());
    let entropy = (each.clone() * (each + 1e-15).log()).neg().sum_dim(2).mean();
    Ok(DensePooled { x, adjacency: coarse, assignment: shares, losses: [link, entropy] })
}

/// MinCut pooling: as [`diff_pool`], with edges `S^T A S` without loops, divided by the roots of both degrees.
///
/// The losses are `-tr(S^T A S) / tr(S^T D S)` with the degrees `D`, which is -1 if no edge is cut; and
/// `|S^T S / |S^T S| - I / sqrt(C)|`, which is 0 for clusters of one size. Each is the mean over the graphs. A graph
/// without nodes adds 0 to both, one without edges 0 to the first; where a cluster has no edges to others, its row
/// stays 0. (PyG's `dense_mincut_pool`, which gives NaN for those.) Divide the scores by a temperature first if you
/// want one.
///
/// Source: Bianchi, Grattarola, Alippi, *Spectral clustering with graph neural networks for graph pooling*, ICML 2020.
///
/// # Errors
///
/// As [`try_diff_pool`].
#[or_panic]
pub fn try_mincut_pool(
    x: Tensor<3>,
    adjacency: Tensor<3>,
    scores: Tensor<3>,
    mask: Option<Tensor<2, Bool>>,
) -> Result<DensePooled<2>> {
    let Assigned { x, adjacency, coarse, shares } = assigned("mincut_pool", x, adjacency, scores, mask)?;
    let each = widened(shares.clone());
    let degrees = expand(widened(adjacency).sum_dim(2), each.dims());
    let cut = ratio(trace(widened(coarse.clone())), of_graphs(degrees * each.clone().powi_scalar(2))).neg().mean();
    let balance = orthogonality(each);
    Ok(DensePooled { x, adjacency: normalized(coarse), assignment: shares, losses: [cut, balance] })
}

/// DMoN pooling: as [`mincut_pool`], with clusters `selu(S^T X)`, and modularity in place of the cut.
///
/// The losses are `-tr(S^T A S - S^T d d^T S / 2m) / 2m`, where `d` are the degrees and `2m` their sum; the second loss
/// of [`mincut_pool`]; and `|sum_i S_i| sqrt(C) / n - 1` of the sizes of the clusters, which is 0 where all are of one
/// size. Each is the mean over the graphs. A graph without nodes adds 0 to each, one without edges 0 to the first.
/// Dropout of the scores, if there is one, comes before. (PyG's `DMoNPooling`, whose linear map is yours here. Its last
/// loss of several graphs divides by the nodes of each other graph too.)
///
/// Source: Tsitsulin, Palowitch, Perozzi, Müller, *Graph clustering with graph neural networks*, JMLR 2023.
///
/// # Errors
///
/// As [`try_diff_pool`].
#[or_panic]
pub fn try_dmon_pool(
    x: Tensor<3>,
    adjacency: Tensor<3>,
    scores: Tensor<3>,
    mask: Option<Tensor<2, Bool>>,
) -> Result<DensePooled<3>> {
    let Assigned { x, adjacency, coarse, shares } = assigned("dmon_pool", x, adjacency, scores, mask)?;
    let each = widened(shares.clone());
    let [batch, _, clusters] = each.dims();
    let degrees = widened(adjacency).sum_dim(2);
    let all = of_graphs(degrees.clone());
    let expected = each.clone().swap_dims(1, 2).matmul(degrees).powi_scalar(2).sum_dim(1).reshape(Exact([batch]));
    let inside = trace(widened(coarse.clone()));
    let modularity = ratio(inside - ratio(expected, all.clone()), all).neg().mean();
    let sizes = each.clone().sum_dim(1);
    let nodes = of_graphs(sizes.clone());
    let (empty, norms) = (nodes.clone().equal_scalar(0.0), root(of_graphs(sizes.powi_scalar(2))));
    let balance = (ratio(norms, nodes).mul_scalar((clusters as f64).sqrt()) - 1.0).mask_fill(empty, 0.0).mean();
    let losses = [modularity, orthogonality(each), balance];
    Ok(DensePooled { x: selu(x), adjacency: normalized(coarse), assignment: shares, losses })
}

/// What all three have.
struct Assigned {
    /// `S^T X`.
    x: Tensor<3>,
    /// `A`.
    adjacency: Tensor<3>,
    /// `S^T A S`.
    coarse: Tensor<3>,
    /// `S`.
    shares: Tensor<3>,
}

fn assigned(
    op: &'static str,
    x: Tensor<3>,
    adjacency: Tensor<3>,
    scores: Tensor<3>,
    mask: Option<Tensor<2, Bool>>,
) -> Result<Assigned> {
    let [batch, places, width] = check_dense(op, &x, mask.as_ref())?;
    if adjacency.dims() != [batch, places, places] {
        let rule = "the adjacency {left} must have the graphs and places of x {right}, those on two dims";
        return Err(SparseError::shape_mismatch(op, rule, adjacency.dims(), x.dims()));
    }
    let clusters = scores.dims()[2];
    if scores.dims()[..2] != [batch, places] {
        let rule = "the scores {left} must have the graphs and places of x {right}";
        return Err(SparseError::shape_mismatch(op, rule, scores.dims(), x.dims()));
    }
    if clusters == 0 || width == 0 {
        return Err(SparseError::empty_input(op, "there must be clusters and features, got none"));
    }
    same_elements(op, &x, &adjacency)?;
    same_elements(op, &x, &scores)?;
    let shares = kept(softmax(scores, 2), mask.as_ref());
    let transposed = shares.clone().swap_dims(1, 2);
    Ok(Assigned {
        x: transposed.clone().matmul(kept(x, mask.as_ref())),
        coarse: transposed.matmul(adjacency.clone()).matmul(shares.clone()),
        adjacency,
        shares,
    })
}

/// Checks a dense batch and its mask.
pub(super) fn check_dense(op: &'static str, x: &Tensor<3>, mask: Option<&Tensor<2, Bool>>) -> Result<[usize; 3]> {
    let [batch, places, width] = x.dims();
    if batch == 0 || places == 0 {
        return Err(SparseError::empty_input(op, "there must be a graph with a place for a node, got none"));
    }
    match mask {
        Some(mask) if mask.dims() != [batch, places] => {
            let rule = "the mask {left} must have the graphs and places of x {right}";
            Err(SparseError::shape_mismatch(op, rule, mask.dims(), x.dims()))
        }
        _ => Ok([batch, places, width]),
    }
}

/// Zeros where there is no node.
pub(super) fn kept(x: Tensor<3>, mask: Option<&Tensor<2, Bool>>) -> Tensor<3> {
    let Some(mask) = mask else { return x };
    let dims @ [batch, places, _] = x.dims();
    let none: Tensor<3, Bool> = mask.clone().bool_not().reshape(Exact([batch, places, 1]));
    x.mask_fill(none.expand(Shape::from(dims)), 0.0)
}

/// In f32, if it has 16 bits.
fn widened(x: Tensor<3>) -> Tensor<3> {
    let dims @ [batch, places, width] = x.dims();
    wide(x.reshape(Exact([batch * places, width]))).reshape(Exact(dims))
}

/// The sums over all but the first dim, `[B]`.
fn of_graphs(x: Tensor<3>) -> Tensor<1> {
    let [batch, ..] = x.dims();
    x.sum_dim(1).sum_dim(2).reshape(Exact([batch]))
}

/// Where the diagonals of `[B, C, C]` are.
fn diagonal([batch, size, _]: [usize; 3], device: &Device) -> Tensor<3, Bool> {
    let one: Tensor<3, Bool> = Tensor::<2>::eye(size, device).equal_scalar(1.0).reshape(Exact([1, size, size]));
    one.expand(Shape::from([batch, size, size]))
}

fn trace(x: Tensor<3>) -> Tensor<1> {
    let others = diagonal(x.dims(), &x.device().inner()).bool_not();
    of_graphs(x.mask_fill(others, 0.0))
}

/// The root; of what is not above 0 it is 0, without a gradient.
fn root<const D: usize>(squares: Tensor<D>) -> Tensor<D> {
    let none = squares.clone().lower_equal_scalar(0.0);
    squares.mask_fill(none.clone(), 1.0).sqrt().mask_fill(none, 0.0)
}

/// `a / b`, and `a` where `b` is 0.
fn ratio<const D: usize>(a: Tensor<D>, b: Tensor<D>) -> Tensor<D> {
    let none = b.clone().equal_scalar(0.0);
    a / b.mask_fill(none, 1.0)
}

/// `|S^T S / |S^T S| - I / sqrt(C)|`.
fn orthogonality(shares: Tensor<3>) -> Tensor<1> {
    let products = shares.clone().swap_dims(1, 2).matmul(shares);
    let dims @ [batch, clusters, _] = products.dims();
    let norms = root(of_graphs(products.clone().powi_scalar(2)));
    let empty = norms.clone().equal_scalar(0.0);
    let norms: Tensor<3> = norms.mask_fill(empty.clone(), 1.0).reshape(Exact([batch, 1, 1]));
    let even = diagonal(dims, &products.device().inner()).float().cast(products.dtype());
    let difference = products / expand(norms, dims) - even.div_scalar((clusters as f64).sqrt());
    root(of_graphs(difference.powi_scalar(2))).mask_fill(empty, 0.0).mean()
}

/// Without loops, divided by the roots of the degrees of both ends.
fn normalized(coarse: Tensor<3>) -> Tensor<3> {
    let dims = coarse.dims();
    let coarse = coarse.clone().mask_fill(diagonal(dims, &coarse.device().inner()), 0.0);
    let roots = root(coarse.clone().sum_dim(2)) + 1e-15;
    let roots = roots.clone().mask_fill(roots.lower_equal_scalar(1e-15), 1.0);
    coarse / expand(roots.clone(), dims) / expand(roots.swap_dims(1, 2), dims)
}
