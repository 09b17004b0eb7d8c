//! Shortest paths with weights.

use super::edges::{Edge, Flat, Paths, edges, from_sources};
use super::radix_heap::Waiting;
use crate::element::Ids;
use crate::par;
use std::cmp::Reverse;

/// A node of a cycle whose weights have a negative sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NegativeCycle(pub usize);

/// Shortest paths along elements from row to column, each with a weight that is not NaN; an infinite one is no edge.
/// Paths longer than `limit` count as none.
///
/// Without negative weights: Dijkstra's algorithm with a radix heap, `O(edges)` a source but for the heap's 64 steps.
/// With them: one source by [`bellman_ford`], several by Johnson's algorithm, which finds a potential by Bellman-Ford
/// first. Sources are computed in parallel. They are in range and may repeat. There are fewer than 2^32 nodes.
///
/// Sources: Dijkstra 1959; Johnson, *Efficient algorithms for shortest paths in sparse networks*, JACM 1977.
pub fn shortest_paths(
    ptr: Ids<'_>,
    idx: Ids<'_>,
    weights: &[f64],
    sources: &[i64],
    limit: f64,
) -> Result<Paths, NegativeCycle> {
    let nodes = ptr.rows();
    if sources.is_empty() {
        return Ok(Paths::default());
    }
    let negative = weights.iter().any(|&weight| weight < 0.0);
    if negative && sources.len() == 1 {
        let mut one = bellman_ford(ptr, idx, weights, Some(sources[0] as usize))?;
        cut(&mut one.distances, &one.via, limit);
        return Ok(one);
    }
    let potential = negative.then(|| bellman_ford(ptr, idx, weights, None)).transpose()?.map(|all| all.distances);
    let edges = match &potential {
        None => edges(ptr, idx, weights, &|_, _| 0.0),
        Some(potential) => edges(ptr, idx, weights, &|row, end| potential[row] - potential[end]),
    };
    // A potential changes what a distance is, so the limit is applied to the sums along the paths.
    let within = if negative { f64::INFINITY } else { limit };
    // Each thread takes several sources, which share its memory.
    Ok(from_sources(sources, nodes, par::threads().min(sources.len()), &|sources, distances, via| {
        let reached = vec![(f64::INFINITY, -1); nodes];
        let mut search = Search { ptr, edges: &edges, waiting: Waiting::new(), reached, flat: Flat::default() };
        let own = distances.chunks_exact_mut(nodes).zip(via.chunks_exact_mut(nodes));
        for (&source, (distances, via)) in sources.iter().zip(own) {
            search.run(source as usize, within);
            for ((distance, via), found) in distances.iter_mut().zip(via.iter_mut()).zip(&search.reached) {
                (*distance, *via) = *found;
            }
            if potential.is_none() {
                search.flat.settle(ptr, &edges, distances, via);
            } else {
                resum(ptr, weights, distances, via);
                cut(distances, via, limit);
            }
        }
    }))
}

/// Forgets the lengths of the paths that are longer than `limit`.
fn cut(distances: &mut [f64], via: &[i64], limit: f64) {
    let paths = distances.iter_mut().zip(via);
    paths
        .filter(|(distance, via)| **distance > limit && **via >= 0)
        .for_each(|(distance, _)| *distance = f64::INFINITY);
}

/// Edges with weights from 0 on, and what all searches on a thread use again.
struct Search<'a> {
    ptr: Ids<'a>,
    edges: &'a [Edge],
    waiting: Waiting,
    /// Distance of each node, and the last element of its path.
    reached: Vec<(f64, i64)>,
    flat: Flat,
}

impl Search<'_> {
    fn run(&mut self, source: usize, limit: f64) {
        self.waiting.clear();
        self.flat = Flat::default();
        self.reached.fill((f64::INFINITY, -1));
        self.reached[source].0 = 0.0;
        self.waiting.push(0.0, source as u32);
        while let Some((distance, node)) = self.waiting.pop() {
            if distance > self.reached[node as usize].0 {
                continue;
            }
            let mut flat = false;
            let span = self.ptr.span(node as usize);
            for (at, edge) in span.clone().zip(&self.edges[span]) {
                let (longer, next) = (distance + edge.weight, &mut self.reached[edge.end as usize]);
                if longer < next.0 && longer <= limit {
                    *next = (longer, at as i64);
                    self.waiting.push(longer, edge.end);
                    if longer == distance {
                        flat = true;
                        self.flat.nodes.push(edge.end);
                    }
                } else if longer == next.0 {
                    if longer == distance {
                        flat = true;
                    } else {
                        // An infinite one is not below the -1 of a node that nothing reaches.
                        next.1 = next.1.min(at as i64);
                    }
                }
            }
            if flat {
                self.flat.rows.push(node);
            }
        }
    }
}

/// Shortest paths from a source, or for `None` from all nodes at once, with weights of any sign. Queue of the nodes
/// whose distance changed, at most one pass for each node: `O(nodes edges)`.
///
/// Source: Bellman 1958; Ford 1956; the queue is Moore's, 1959.
pub fn bellman_ford(
    ptr: Ids<'_>,
    idx: Ids<'_>,
    weights: &[f64],
    source: Option<usize>,
) -> Result<Paths, NegativeCycle> {
    let nodes = ptr.rows();
    let mut distances = vec![if source.is_some() { f64::INFINITY } else { 0.0 }; nodes];
    let mut via = vec![-1i64; nodes];
    let mut front: Vec<usize> = source.map_or_else(|| (0..nodes).collect(), |source| vec![source]);
    if let Some(source) = source {
        distances[source] = 0.0;
    }
    let mut waits = vec![false; nodes];
    for _ in 0..nodes {
        let mut next_front = Vec::new();
        for node in front {
            waits[node] = false;
            for at in ptr.span(node) {
                let (next, longer) = (idx.at(at), distances[node] + weights[at]);
                if longer < distances[next] {
                    distances[next] = longer;
                    via[next] = at as i64;
                    if !waits[next] {
                        waits[next] = true;
                        next_front.push(next);
                    }
                }
            }
        }
        if next_front.is_empty() {
            break;
        }
        front = next_front;
    }
    // Rounding may end the passes although paths go round a cycle: of a sum that is 0 or hardly less.
    match on_cycle(ptr, &via) {
        Some(node) => Err(NegativeCycle(node)),
        None => Ok(Paths { distances, via }),
    }
}

/// A node on a cycle of last elements of paths, if there is one. After as many passes as nodes there is, unless all
/// distances are final.
fn on_cycle(ptr: Ids<'_>, via: &[i64]) -> Option<usize> {
    const NEW: usize = usize::MAX;
    // The start of the walk that came to a node first.
    let mut seen = vec![NEW; via.len()];
    for start in 0..via.len() {
        let mut node = start;
        while seen[node] == NEW {
            seen[node] = start;
            match usize::try_from(via[node]) {
                Ok(at) => node = row_of(ptr, at),
                Err(_) => break,
            }
        }
        if seen[node] == start && via[node] >= 0 {
            return Some(node);
        }
    }
    None
}

/// The row of an element.
pub fn row_of(ptr: Ids<'_>, at: usize) -> usize {
    let (mut low, mut high) = (0, ptr.rows());
    while low + 1 < high {
        let middle = low.midpoint(high);
        if ptr.at(middle) <= at { low = middle } else { high = middle }
    }
    low
}

/// The sums of the weights along the paths.
fn resum(ptr: Ids<'_>, weights: &[f64], distances: &mut [f64], via: &[i64]) {
    for node in by_depth(ptr, via, |depth| depth) {
        let at = via[node] as usize;
        distances[node] = distances[row_of(ptr, at)] + weights[at];
    }
}

/// How many elements each path has.
fn depths(ptr: Ids<'_>, via: &[i64]) -> Vec<usize> {
    const OPEN: usize = usize::MAX;
    let mut depth: Vec<usize> = via.iter().map(|&at| if at < 0 { 0 } else { OPEN }).collect();
    let mut chain = Vec::new();
    for start in 0..via.len() {
        let mut node = start;
        while depth[node] == OPEN {
            chain.push(node);
            node = row_of(ptr, via[node] as usize);
        }
        let mut own = depth[node];
        while let Some(node) = chain.pop() {
            own += 1;
            depth[node] = own;
        }
    }
    depth
}

/// The nodes behind a last element, sorted by a key of how many elements their paths have.
fn by_depth<K: Ord>(ptr: Ids<'_>, via: &[i64], key: impl Fn(usize) -> K) -> Vec<usize> {
    let depth = depths(ptr, via);
    let mut order: Vec<usize> = (0..via.len()).filter(|&node| via[node] >= 0).collect();
    order.sort_unstable_by_key(|&node| (key(depth[node]), node));
    order
}

/// The gradient of the weights from that of the distances, 0 where there is none: an element gets the gradients of all
/// nodes whose path it is on. In the order of the sources. `O(sources nodes log(nodes))`.
pub fn path_gradients(ptr: Ids<'_>, edges: usize, via: &[i64], grads: &[f64]) -> Vec<f64> {
    let nodes = ptr.rows();
    let mut out = vec![0.0; edges];
    for (via, grads) in via.chunks_exact(nodes.max(1)).zip(grads.chunks_exact(nodes.max(1))) {
        let mut sums = grads.to_vec();
        for node in by_depth(ptr, via, Reverse) {
            let at = via[node] as usize;
            out[at] += sums[node];
            sums[row_of(ptr, at)] += sums[node];
        }
    }
    out
}
