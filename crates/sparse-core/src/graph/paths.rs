//! Shortest paths with weights.

use crate::element::Ids;
use crate::par;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Shortest paths from some sources. Nodes that no path reaches are at infinity.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Paths {
    /// `[sources, nodes]`.
    pub distances: Vec<f64>,
    /// The last element of each path, `[sources, nodes]`; -1 for a source and where no path leads.
    pub via: Vec<i64>,
}

/// A node of a cycle whose weights have a negative sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NegativeCycle(pub usize);

/// Shortest paths along elements from row to column, each with a weight that is not NaN; an infinite one is no edge.
/// Paths longer than `limit` count as none.
///
/// Without negative weights: Dijkstra's algorithm with a binary heap, `O(edges log(edges))` a source. With them: one
/// source by [`bellman_ford`], several by Johnson's algorithm, which finds a potential by Bellman-Ford first. Sources
/// are computed in parallel. They are in range and may repeat.
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
    let negative = weights.iter().any(|&weight| weight < 0.0);
    if negative && sources.len() == 1 {
        let mut one = bellman_ford(ptr, idx, weights, Some(sources[0] as usize))?;
        for (distance, via) in one.distances.iter_mut().zip(&mut one.via).filter(|(distance, _)| **distance > limit) {
            (*distance, *via) = (f64::INFINITY, -1);
        }
        return Ok(one);
    }
    let potential = negative.then(|| bellman_ford(ptr, idx, weights, None)).transpose()?.map(|all| all.distances);
    // A potential changes what a distance is, so the limit is applied to the sums along the paths.
    let within = if negative { f64::INFINITY } else { limit };
    let each = par::map(sources.len(), &|k| {
        let mut own = dijkstra(ptr, idx, weights, potential.as_deref(), sources[k] as usize, within);
        if potential.is_some() {
            resum(ptr, weights, &mut own);
            for (distance, via) in own.distances.iter_mut().zip(&mut own.via).filter(|(distance, _)| **distance > limit)
            {
                (*distance, *via) = (f64::INFINITY, -1);
            }
        }
        own
    });
    let mut all =
        Paths { distances: Vec::with_capacity(sources.len() * nodes), via: Vec::with_capacity(sources.len() * nodes) };
    for own in each {
        all.distances.extend(own.distances);
        all.via.extend(own.via);
    }
    Ok(all)
}

/// The key of a distance from 0 on in the order of the numbers.
fn key(distance: f64) -> u64 {
    // -0.0 would be the largest.
    (distance + 0.0).to_bits()
}

fn dijkstra(
    ptr: Ids<'_>,
    idx: Ids<'_>,
    weights: &[f64],
    potential: Option<&[f64]>,
    source: usize,
    limit: f64,
) -> Paths {
    let nodes = ptr.rows();
    let mut distances = vec![f64::INFINITY; nodes];
    let mut via = vec![-1i64; nodes];
    let mut heap = BinaryHeap::new();
    distances[source] = 0.0;
    heap.push(Reverse((0u64, source)));
    while let Some(Reverse((bits, node))) = heap.pop() {
        let distance = f64::from_bits(bits);
        if distance > distances[node] {
            continue;
        }
        for at in ptr.span(node) {
            let next = idx.at(at);
            let weight = match potential {
                None => weights[at],
                // Not negative but for rounding.
                Some(potential) => (weights[at] + potential[node] - potential[next]).max(0.0),
            };
            let longer = distance + weight;
            if longer < distances[next] && longer <= limit {
                distances[next] = longer;
                via[next] = at as i64;
                heap.push(Reverse((key(longer), next)));
            }
        }
    }
    Paths { distances, via }
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
            return Ok(Paths { distances, via });
        }
        front = next_front;
    }
    Err(NegativeCycle(on_cycle(ptr, &via, front[0])))
}

/// A node on the cycle that the last elements of paths lead back to.
fn on_cycle(ptr: Ids<'_>, via: &[i64], mut node: usize) -> usize {
    for _ in 0..via.len() {
        match via[node] {
            -1 => break,
            at => node = row_of(ptr, at as usize),
        }
    }
    node
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
fn resum(ptr: Ids<'_>, weights: &[f64], paths: &mut Paths) {
    let mut order: Vec<usize> = (0..paths.via.len()).filter(|&node| paths.via[node] >= 0).collect();
    let depth = depths(ptr, &paths.via);
    order.sort_unstable_by_key(|&node| (depth[node], node));
    for node in order {
        let at = paths.via[node] as usize;
        paths.distances[node] = paths.distances[row_of(ptr, at)] + weights[at];
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

/// The gradient of the weights from that of the distances: an element gets the gradients of all nodes whose path it is
/// on. In the order of the sources. `O(sources nodes log(nodes))`.
pub fn path_gradients(ptr: Ids<'_>, edges: usize, via: &[i64], grads: &[f64]) -> Vec<f64> {
    let nodes = ptr.rows();
    let mut out = vec![0.0; edges];
    for (via, grads) in via.chunks_exact(nodes.max(1)).zip(grads.chunks_exact(nodes.max(1))) {
        let mut sums = grads.to_vec();
        let depth = depths(ptr, via);
        let mut order: Vec<usize> = (0..nodes).filter(|&node| via[node] >= 0).collect();
        order.sort_unstable_by_key(|&node| (Reverse(depth[node]), node));
        for node in order {
            let at = via[node] as usize;
            out[at] += sums[node];
            sums[row_of(ptr, at)] += sums[node];
        }
    }
    out
}
