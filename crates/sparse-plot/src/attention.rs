//! The weights of edges on a small graph.

use super::axis::{Axis, range};
use super::embedding::{check_labels, class_legend};
use super::figure::Plot;
use super::force::places;
use super::shapes::{Panel, Shape, Tone};
use super::spy::ends;
use sparse_macros::or_panic;
use sparse_ops::extend::{Parts, read_data};
use sparse_ops::pattern::Pattern;
use sparse_ops::{CsrTensor, Result, SparseError};

/// Nodes and edges of a plot.
const NODES: usize = 500;
const EDGES: usize = 3000;

/// A graph `[N, N]` with its values as weights, such as the attention of `nn::GatConv`. Of
/// several heads (`[N, N, heads]`, as a dense dim) the mean is drawn.
///
/// Each edge is two half lines. The half at node `i` of the edge to `j` is thicker and darker, the larger the
/// magnitude of element `(i, j)` is: how much `i` listens to `j`. Self loops are not drawn. `labels` colour the nodes,
/// as in [`embedding`](super::embedding). Forces put the nodes in their places, the same ones every time.
///
/// At most 500 nodes; of more than 3000 elements the largest are drawn. Weights that are not finite are left out. Cost:
/// `O(N^2 + nnz)` for each of 400 steps on the host.
///
/// ```
/// use burn::tensor::Device;
/// use sparse_tensor::{data::karate, nn::GatConvConfig, plot::attention};
///
/// let device = Device::flex();
/// let graph = karate(&device);
/// let layer = GatConvConfig::new(34, 8).with_heads(4).init(&device);
/// let weights = layer.attention(&graph.adjacency, graph.features.to_dense());
/// let labels = graph.labels.to_vec();
/// let text = attention(&weights, &labels).text(80, 30);
/// assert!(text.contains("class 0") && text.contains("class 1"));
/// ```
///
/// # Errors
///
/// `shape_mismatch` if the graph is not square or is a batch of graphs; `length_mismatch` if there is not one label for
/// each node; `overflow` for more than 500 nodes (draw a part: `data::k_hop_subgraph`).
#[or_panic]
pub fn try_attention<const D: usize>(graph: &CsrTensor<D>, labels: &[i64]) -> Result<Plot> {
    const OP: &str = "attention";
    let shape = graph.pattern().shape();
    let (nodes, [_, block]) = (shape[0], graph.rows().dims());
    if shape != [nodes, nodes] {
        let rule = "the sparse dims must be those of one square matrix, got {left}";
        return Err(SparseError::shape_mismatch(OP, rule, shape, []));
    }
    if nodes > NODES {
        let what = "draw a part, such as k_hop_subgraph: the number of nodes";
        return Err(SparseError::overflow(OP, what, NODES, nodes));
    }
    check_labels(OP, labels, nodes)?;
    let (rows, cols) = ends(graph.pattern());
    let ends: Vec<(usize, usize)> = rows.iter().zip(&cols).map(|(&row, &col)| (row as usize, col as usize)).collect();
    let mut weights = vec![0.0; ends.len()];
    if !ends.is_empty() && block > 0 {
        let values: Vec<f64> = read_data(graph.rows().clone().inner()).iter::<f64>().collect();
        weights = values.chunks(block).map(|heads| heads.iter().sum::<f64>().abs() / block as f64).collect();
    }
    let places = places(nodes, &ends);
    // From the ends, so that no node is left out.
    let ends_of = |of: fn(&(f64, f64)) -> f64| {
        let (low, high) = places.iter().map(of).fold((f64::MAX, f64::MIN), |ends, at| (ends.0.min(at), ends.1.max(at)));
        range([low, high].into_iter())
    };
    let (x, y) = (ends_of(|at| at.0), ends_of(|at| at.1));
    let name = "half a line: how much the node at this end listens to the other";
    let mut panel = Panel::new("", Axis::new(name, x.0, x.1, false), Axis::new("", y.0, y.1, false));
    panel.framed = false;

    let mut edges: Vec<(f64, (usize, usize))> =
        weights.into_iter().zip(ends).filter(|(w, (i, j))| w.is_finite() && i != j).collect();
    // The largest last: they lie above the others.
    edges.sort_by(|a, b| a.0.total_cmp(&b.0));
    let most = edges.last().map_or(1.0, |edge| edge.0).max(f64::MIN_POSITIVE);
    for &(weight, (i, j)) in &edges[edges.len().saturating_sub(EDGES)..] {
        let share = weight / most;
        let (at, other) = (places[i], places[j]);
        let middle = ((at.0 + other.0) / 2.0, (at.1 + other.1) / 2.0);
        let (alpha, width) = (0.1 + 0.8 * share, 1.0 + 5.0 * share);
        panel.shapes.push(Shape::Line { points: vec![at, middle], tone: Tone::Grey, alpha, width });
    }
    panel.radius = if nodes > 100 { 4.0 } else { 7.0 };
    for (node, &at) in places.iter().enumerate() {
        let tone = labels.get(node).map_or(Tone::Series(0), |&class| Tone::of(class));
        panel.nodes.push((at, tone));
        panel.shapes.push(Shape::Dot { at, tone, alpha: 1.0, radius: panel.radius });
    }
    panel.legend = class_legend(labels);
    Ok(Plot::new(panel))
}
