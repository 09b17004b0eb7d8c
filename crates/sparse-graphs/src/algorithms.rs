//! Components, distances and triangles.

use super::host::{HostRows, signed};
use burn::tensor::{Int, Tensor};
use sparse_core::graph;
use sparse_macros::or_panic;
use sparse_ops::extend::{check_ids, check_square, ints};
use sparse_ops::pattern::Pattern;
use sparse_ops::{CsrTensor, Kind, Result};

/// Which nodes of a directed graph are connected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Connection {
    /// Those joined by a path that follows edges in any direction.
    #[default]
    Weak,
    /// Those with a path each way that follows edges from row to column.
    Strong,
}

/// The components of a graph.
#[derive(Clone, Debug)]
pub struct Components {
    /// The component of each node, `[N]`, numbered in the order of their smallest nodes.
    pub labels: Tensor<1, Int>,
    /// Number of components.
    pub count: usize,
}

/// The connected components of `adjacency` `[N, N]`. Stored elements are edges, whatever their values.
///
/// Cost: the pattern is read to the host; `O(N + nnz)`. Weak components: union-find (Tarjan and van Leeuwen 1984).
/// Strong ones: Tarjan 1972. (SciPy's `connected_components`.)
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::CooTensor;
/// use sparse_tensor::data::{Connection, connected_components};
///
/// let ones = Tensor::<1>::ones([3], &Device::flex());
/// let a = CooTensor::from_edges(&[(0, 1), (1, 0), (1, 2)], ones, 4).unwrap().to_csr();
/// assert_eq!(connected_components(&a, Connection::Weak).count, 2);
/// let strong = connected_components(&a, Connection::Strong);
/// assert_eq!(strong.labels.into_data().iter::<i64>().collect::<Vec<_>>(), [0, 0, 1, 2]);
/// ```
///
/// # Errors
///
/// `shape_mismatch` if the adjacency is not square.
#[or_panic]
pub fn try_connected_components<K: Kind>(adjacency: &CsrTensor<2, K>, connection: Connection) -> Result<Components> {
    check_square("connected_components", adjacency)?;
    let rows = HostRows::of(adjacency.pattern());
    let (labels, count) = match connection {
        Connection::Weak => graph::weak_components(rows.ptr(), rows.idx()),
        Connection::Strong => graph::strong_components(rows.ptr(), rows.idx()),
    };
    Ok(Components { labels: on_device(labels, adjacency), count })
}

/// The number of edges on a shortest path from the nearest of `sources` to each node, `[N]`, following edges from row
/// to column; -1 for a node that no path reaches.
///
/// Cost: the pattern is read to the host; `O(N + nnz)`, level by level in parallel. (networkx's
/// `multi_source_shortest_path_length`.)
///
/// ```
/// use burn::tensor::Device;
/// use sparse_tensor::data::{bfs_levels, karate};
///
/// let levels = bfs_levels(&karate(&Device::flex()).adjacency, &[16]);
/// assert_eq!(levels.max().into_scalar::<i64>(), 5);
/// ```
///
/// # Errors
///
/// `shape_mismatch` if the adjacency is not square; `index_out_of_range` for a source that is no node.
#[or_panic]
pub fn try_bfs_levels<K: Kind>(adjacency: &CsrTensor<2, K>, sources: &[usize]) -> Result<Tensor<1, Int>> {
    const OP: &str = "bfs_levels";
    check_square(OP, adjacency)?;
    check_ids(OP, sources, adjacency.dims()[0])?;
    let rows = HostRows::of(adjacency.pattern());
    let levels = graph::bfs_levels(rows.ptr(), rows.idx(), &signed(sources), usize::MAX);
    Ok(on_device(levels, adjacency))
}

/// The number of triangles that each node is a corner of, `[N]`. A third of the sum is the number of triangles.
///
/// Edges count in both directions and once; self loops do not count. Cost: the pattern is read to the host;
/// `O(nnz^1.5)`, parallel. (networkx's `triangles`.) Source: Schank and Wagner, *Finding, counting and listing all
/// triangles in large graphs*, WEA 2005.
///
/// ```
/// use burn::tensor::Device;
/// use sparse_tensor::data::{karate, triangle_counts};
///
/// let counts = triangle_counts(&karate(&Device::flex()).adjacency);
/// assert_eq!(counts.sum().into_scalar::<i64>(), 3 * 45);
/// ```
///
/// # Errors
///
/// `shape_mismatch` if the adjacency is not square; `overflow` for more than 2^31 - 1 nodes.
#[or_panic]
pub fn try_triangle_counts<K: Kind>(adjacency: &CsrTensor<2, K>) -> Result<Tensor<1, Int>> {
    const OP: &str = "triangle_counts";
    check_square(OP, adjacency)?;
    let rows = HostRows::of(adjacency.pattern());
    let counts = graph::triangles(&graph::TwoWay::new(OP, rows.ptr(), rows.idx())?);
    Ok(on_device(counts.into_iter().map(|count| count as i64).collect(), adjacency))
}

fn on_device<K: Kind>(list: Vec<i64>, like: &CsrTensor<2, K>) -> Tensor<1, Int> {
    let length = list.len();
    ints(list, [length], &like.pattern().device())
}
