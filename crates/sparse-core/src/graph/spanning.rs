//! Minimum spanning forests.

use super::components::root;
use crate::element::Ids;

/// The elements of a spanning forest with the least sum of weights, ascending. Elements join their row and their column
/// in either direction; one with an infinite weight joins nothing. Of equal weights the first element wins, so the
/// forest is unique. Weights are no NaN. `O(edges log(edges))`.
///
/// Source: Kruskal, *On the shortest spanning subtree of a graph*, 1956.
pub fn minimum_spanning_forest(ptr: Ids<'_>, idx: Ids<'_>, weights: &[f64]) -> Vec<usize> {
    let nodes = ptr.rows();
    let mut edges: Vec<(f64, usize, usize)> = Vec::with_capacity(weights.len());
    for node in 0..nodes {
        edges.extend(ptr.span(node).filter(|&at| weights[at] < f64::INFINITY).map(|at| (weights[at], at, node)));
    }
    // Both zeros are one weight.
    edges.sort_unstable_by(|a, b| (a.0 + 0.0).total_cmp(&(b.0 + 0.0)).then(a.1.cmp(&b.1)));
    let mut parent: Vec<usize> = (0..nodes).collect();
    let mut kept = Vec::with_capacity(nodes.saturating_sub(1));
    for (_, at, node) in edges {
        let (own, other) = (root(&mut parent, node), root(&mut parent, idx.at(at)));
        if own != other {
            parent[own.max(other)] = own.min(other);
            kept.push(at);
        }
    }
    kept.sort_unstable();
    kept
}
