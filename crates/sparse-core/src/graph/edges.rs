//! What searches along weights from 0 on share: edges, sources on several threads, which path is told of equal ones.

use crate::element::Ids;
use crate::par;

/// Shortest paths from some sources. Nodes that no path reaches are at infinity.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Paths {
    /// `[sources, nodes]`.
    pub distances: Vec<f64>,
    /// The last element of each path, `[sources, nodes]`; -1 for a source and where no path leads. Those beyond a limit
    /// may have one: others may lead through them.
    pub via: Vec<i64>,
}

/// An edge where a search reads it: end and weight on one line of cache.
#[derive(Clone, Copy, Default)]
pub(super) struct Edge {
    pub(super) weight: f64,
    pub(super) end: u32,
}

/// The edges in the order of the elements. To a weight comes `added(row, end)`; a sum that rounding made negative is 0,
/// and so is -0.0, whose bits are not in the order of the numbers.
pub(super) fn edges(
    ptr: Ids<'_>,
    idx: Ids<'_>,
    weights: &[f64],
    added: &(dyn Fn(usize, usize) -> f64 + Sync),
) -> Vec<Edge> {
    let mut edges = vec![Edge::default(); weights.len()];
    let rows = par::even(ptr.rows(), weights.len() / ptr.rows().max(1));
    let count = |rows: &std::ops::Range<usize>| ptr.at(rows.end) - ptr.at(rows.start);
    par::for_pieces(&rows, &mut edges, &count, &|rows, own| {
        let start = ptr.at(rows.start);
        for row in rows {
            for at in ptr.span(row) {
                let end = idx.at(at);
                let weight = (weights[at] + added(row, end)).max(0.0) + 0.0;
                own[at - start] = Edge { weight, end: end as u32 };
            }
        }
    });
    edges
}

/// Searches from some sources: they, their distances and their last elements.
type Searches<'a> = dyn Fn(&[i64], &mut [f64], &mut [i64]) + Sync + 'a;

/// Searches from all sources, in `parts` that are computed in parallel: `search(sources, distances, via)` for each.
pub(super) fn from_sources(sources: &[i64], nodes: usize, parts: usize, search: &Searches<'_>) -> Paths {
    let mut all = Paths { distances: vec![0.0; sources.len() * nodes], via: vec![0; sources.len() * nodes] };
    let parts = par::ranges(sources.len(), parts);
    let lens = par::lens(&parts, |part| part.len() * nodes);
    let own = par::split_mut(&mut all.distances, &lens).into_iter().zip(par::split_mut(&mut all.via, &lens));
    let jobs: Vec<_> = parts.into_iter().zip(own).collect();
    par::each(jobs, &|_, (part, (distances, via))| search(&sources[part], distances, via));
    all
}

/// Nodes and rows on elements that add nothing to a distance: zeros, and what rounding takes away.
#[derive(Default)]
pub(super) struct Flat {
    /// Reached by nothing but such elements from nodes at the same distance.
    pub(super) nodes: Vec<u32>,
    /// The rows of the elements that may lead there.
    pub(super) rows: Vec<u32>,
}

impl Flat {
    /// The last elements of the paths to the nodes: in a search from the nodes at the same distance that are reached
    /// from nearer ones, by breadth, the first element that comes to a node. Such paths never go round a cycle, which
    /// the least element alone may do. Empties both lists.
    pub(super) fn settle(&mut self, ptr: Ids<'_>, edges: &[Edge], distances: &[f64], via: &mut [i64]) {
        const OPEN: i64 = i64::MAX;
        self.nodes.drain(..).for_each(|node| via[node as usize] = OPEN);
        self.rows.retain(|&row| via[row as usize] != OPEN);
        let mut next = Vec::new();
        // Each node comes to the rows once.
        while !self.rows.is_empty() {
            // In the order of the rows the first element is the least.
            self.rows.sort_unstable();
            for row in self.rows.drain(..) {
                let (distance, span) = (distances[row as usize], ptr.span(row as usize));
                for (at, edge) in span.clone().zip(&edges[span]) {
                    let end = edge.end as usize;
                    if via[end] == OPEN && distances[end] == distance && distance + edge.weight == distance {
                        via[end] = at as i64;
                        next.push(edge.end);
                    }
                }
            }
            std::mem::swap(&mut self.rows, &mut next);
        }
    }
}
