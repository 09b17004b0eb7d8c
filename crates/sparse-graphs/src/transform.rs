//! Graphs made ready for training.

use super::host::HostRows;
use burn::tensor::Tensor;
use sparse_macros::or_panic;
use sparse_ops::extend::{Exact, Parts, check_square, csr_pattern, from_coordinates, ints};
use sparse_ops::ops::Reduce;
use sparse_ops::pattern::{CooPattern, Pattern};
use sparse_ops::{CooTensor, CsrTensor, Fill, Kind, Numeric, Result, SparseError, SparseTensor};

/// The adjacency `[N, N]` with each edge in both directions. Where several edges fall together, `reduce` joins them:
/// with `Add` the result is `A + A^T`, so a self loop counts twice, and an edge in both directions is summed.
///
/// `Reduce::Mean`, `Amax` and `Amin` leave a symmetric adjacency as it is. Duplicates of a COO tensor are joined by the
/// same rule. Only stored elements take part; the fill stays. Gradients are those of
/// [`coalesce_with`](SparseTensor::coalesce_with). Cost: a radix sort of twice the edges; for a fixed graph call it
/// once. (PyG's `to_undirected`.)
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::{CooTensor, data::to_undirected, ops::Reduce};
///
/// let weights = Tensor::<1>::from_floats([1.0, 2.0], &Device::flex());
/// let a = CooTensor::from_edges(&[(0, 1), (1, 2)], weights, None).unwrap();
/// let both = to_undirected(&a, Reduce::Mean);
/// assert_eq!(both.values::<1>().into_data().iter::<f32>().collect::<Vec<_>>(), [1.0, 1.0, 2.0, 2.0]);
/// ```
///
/// # Errors
///
/// `shape_mismatch` if this is not a square matrix of two sparse dims.
#[or_panic]
pub fn try_to_undirected<P: Pattern, K: Numeric>(
    adjacency: &SparseTensor<P, 2, K>,
    reduce: Reduce,
) -> Result<SparseTensor<P, 2, K>> {
    check_square("to_undirected", adjacency)?;
    if adjacency.nnz() == 0 {
        return Ok(adjacency.clone());
    }
    let one = adjacency.pattern().coordinates().clone();
    let shape = adjacency.dims();
    let indices = Tensor::cat(vec![one.clone(), one.flip([0])], 1);
    let values = Tensor::cat(vec![adjacency.rows().clone(); 2], 0);
    let twice = CooPattern::new_unchecked(indices, &shape, false);
    let joined = CooTensor::<2, K>::from_parts(twice, values, vec![], adjacency.fill().clone()).coalesce_with(reduce);
    let pattern = from_coordinates::<P>(joined.pattern().indices().clone(), &shape, true);
    Ok(SparseTensor::from_parts(pattern, joined.rows().clone(), vec![], joined.fill().clone()))
}

/// Features `[N, largest + 1]` for graphs without any: row `i` has a 1 in the column of the degree of node `i` (its
/// number of stored neighbours).
///
/// The result is a Float tensor on the device of the adjacency. Cost: the row pointers are read to the host. (PyG's
/// `OneHotDegree`.)
///
/// # Errors
///
/// `shape_mismatch` if the adjacency is not square; `invalid` for a degree above `largest`.
#[or_panic]
pub fn try_one_hot_degree<K: Kind>(adjacency: &CsrTensor<2, K>, largest: usize) -> Result<CsrTensor<2>> {
    const OP: &str = "one_hot_degree";
    check_square(OP, adjacency)?;
    let device = adjacency.pattern().device();
    let degrees: Vec<i64> = HostRows::of(adjacency.pattern()).degrees().map(|degree| degree as i64).collect();
    if let Some((node, degree)) = degrees.iter().enumerate().find(|&(_, &degree)| degree as u128 > largest as u128) {
        let message = format!("the largest degree must be at least {degree}, that of node {node}, got {largest}");
        return Err(SparseError::invalid(OP, message));
    }
    let nodes = degrees.len();
    let row_ptr = ints((0..=nodes as i64).collect(), [nodes + 1], &device);
    let cols = ints(degrees, [nodes], &device);
    let pattern = csr_pattern(OP, row_ptr, cols, &[nodes, largest.saturating_add(1)])?;
    let values = match nodes {
        0 => Tensor::empty([0, 1], &adjacency.device()),
        _ => Tensor::ones([nodes, 1], &adjacency.device()),
    };
    Ok(CsrTensor::from_parts(pattern, values, vec![], Fill::Zero))
}

/// Dense features `[N, F]` with rows that sum to 1: `x_ij / sum_k x_ik`. A row whose sum is 0 or less becomes zeros.
/// Differentiable. For sparse features use [`row_normalization`](sparse_nn::row_normalization()). (PyG's
/// `NormalizeFeatures`, which also subtracts the smallest feature.)
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::data::normalize_features;
///
/// let x = Tensor::<2>::from_floats([[1.0, 3.0], [0.0, 0.0]], &Device::flex());
/// assert_eq!(normalize_features(x).into_data().iter::<f32>().collect::<Vec<_>>(), [0.25, 0.75, 0.0, 0.0]);
/// ```
pub fn normalize_features(x: Tensor<2>) -> Tensor<2> {
    let rows = x.dims()[0];
    if x.shape().num_elements() == 0 {
        return x;
    }
    let sums = x.clone().sum_dim(1).reshape(Exact([rows, 1]));
    let empty = sums.clone().lower_equal_scalar(0.0);
    // The gradient of a sum that is left out must not be NaN.
    x * sums.mask_fill(empty.clone(), 1.0).recip().mask_fill(empty, 0.0)
}

/// The number of nodes of each degree: entry `d` counts the nodes with `d` stored neighbours, up to the largest degree.
///
/// Reads the row pointers to the host. (networkx's `degree_histogram` of an undirected graph.)
///
/// ```
/// use burn::tensor::Device;
/// use sparse_tensor::data::{degree_histogram, karate};
///
/// let counts = degree_histogram(&karate(&Device::flex()).adjacency);
/// assert_eq!((counts.len(), counts[1], counts[17]), (18, 1, 1));
/// ```
pub fn degree_histogram<K: Kind>(adjacency: &CsrTensor<2, K>) -> Vec<usize> {
    let mut counts = Vec::new();
    for degree in HostRows::of(adjacency.pattern()).degrees() {
        if degree >= counts.len() {
            counts.resize(degree + 1, 0);
        }
        counts[degree] += 1;
    }
    counts
}
