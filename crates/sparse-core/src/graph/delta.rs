//! Shortest paths with many threads for one source.

use super::edges::{Edge, Flat, Paths, edges, from_sources};
use crate::element::Ids;
use crate::par;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// [`shortest_paths`](super::shortest_paths) by delta-stepping: the same distances and last elements, bit for bit, for
/// weights from 0 on.
///
/// Nodes wait in buckets of `width`, node `v` in number `floor(distance(v) / width)`. All nodes of the first bucket are
/// taken at once, and their edges may lower distances, also within the bucket. It is taken until nothing in it changes.
/// A small width makes this Dijkstra's algorithm, as long as distances are below 2^64 widths, a large one Bellman and
/// Ford's. `None` is [`usual_width`]; otherwise
/// it is positive and finite.
///
/// The same minimum as Dijkstra's: `x -> fl(x + w)` is monotone, so the least sum of a path, added from its start, is
/// that of a least sum of its beginning. Both algorithms end with `d(v) = min fl(d(u) + w)`, whatever the order.
///
/// As many sources as threads are computed in parallel; fewer one by one, each with all threads. `O(edges)` a source
/// for random weights and the usual width, at worst `O(nodes edges)`, as each pass takes the nearest node for good.
///
/// Sources: Meyer and Sanders, *Delta-stepping: a parallelizable shortest path algorithm*, Journal of Algorithms 2003;
/// without its two kinds of edges, as in Beamer, Asanović and Patterson, *The GAP benchmark suite*, 2015.
pub fn delta_stepping(
    ptr: Ids<'_>,
    idx: Ids<'_>,
    weights: &[f64],
    sources: &[i64],
    limit: f64,
    width: Option<f64>,
) -> Paths {
    let nodes = ptr.rows();
    if sources.is_empty() {
        return Paths::default();
    }
    let width = width.unwrap_or_else(|| usual_width(weights, nodes));
    let edges = edges(ptr, idx, weights, &|_, _| 0.0);
    let alone = sources.len() >= par::threads();
    from_sources(sources, nodes, if alone { par::threads() } else { 1 }, &|sources, distances, via| {
        let new = || (0..nodes).map(|_| AtomicU64::new(0)).collect();
        let mut search = Search { ptr, edges: &edges, width, limit, lengths: new(), done: new() };
        let mut all = || {
            let own = distances.chunks_exact_mut(nodes).zip(via.chunks_exact_mut(nodes));
            for (&source, (distances, via)) in sources.iter().zip(own) {
                search.run(source as usize);
                search.tree(source as usize, distances, via);
            }
        };
        if alone { par::alone(all) } else { all() }
    })
}

/// Four times the mean of the finite weights, divided by the mean number of edges of a node: so a node has a few edges
/// that stay in its bucket. On a random graph with 5 edges a node, and on a grid, four times was the fastest of 1/4 to
/// 16 times, or near it (two cores).
pub fn usual_width(weights: &[f64], nodes: usize) -> f64 {
    let finite = || weights.iter().filter(|weight| weight.is_finite());
    let count = finite().count() as f64;
    // Each is divided, as the sum may overflow.
    let mean: f64 = finite().map(|weight| weight / count).sum();
    let width = mean * (4.0 * nodes as f64 / count).min(4.0);
    if width > 0.0 { width.min(f64::MAX) } else { 1.0 }
}

struct Search<'a> {
    ptr: Ids<'a>,
    edges: &'a [Edge],
    width: f64,
    limit: f64,
    /// Bits of the distances so far. Those of numbers from 0 on are in their order.
    lengths: Vec<AtomicU64>,
    /// The distance of each node when its edges were read; later the last elements of the paths.
    done: Vec<AtomicU64>,
}

/// The bits of the slot, if `bits` are below them, and then take their place.
#[inline(always)]
fn lower(slot: &AtomicU64, bits: u64) -> Option<u64> {
    if bits >= slot.load(Relaxed) {
        return None;
    }
    Some(slot.fetch_min(bits, Relaxed)).filter(|before| bits < *before)
}

impl Search<'_> {
    fn degree(&self) -> usize {
        self.edges.len() / self.lengths.len() + 1
    }

    /// Rounds down, and what is too large is the largest: nearer nodes never come later.
    fn bucket(&self, distance: f64) -> u64 {
        (distance / self.width) as u64
    }

    fn run(&mut self, source: usize) {
        self.lengths.iter_mut().for_each(|slot| *slot.get_mut() = f64::INFINITY.to_bits());
        self.done.iter_mut().for_each(|slot| *slot.get_mut() = u64::MAX);
        *self.lengths[source].get_mut() = 0;
        let mut buckets = BTreeMap::from([(0, vec![source as u32])]);
        // A node waits once for each time that its distance was lowered, so this ends.
        while let Some((current, front)) = buckets.pop_first() {
            let pieces = par::pieces(front.len() * self.degree()).min(front.len());
            let parts = par::ranges(front.len(), pieces);
            for lowered in par::map(parts.len(), &|k| self.relax(&front[parts[k].clone()], current)) {
                for (bucket, mut nodes) in lowered {
                    buckets.entry(bucket).or_default().append(&mut nodes);
                }
            }
        }
    }

    /// Follows the edges of some nodes of the bucket `current`. The nodes whose distance was lowered, by bucket; not
    /// those that wait in a later one already.
    fn relax(&self, front: &[u32], current: u64) -> BTreeMap<u64, Vec<u32>> {
        let mut lowered: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
        for &node in front {
            let bits = self.lengths[node as usize].load(Relaxed);
            // It may wait in several buckets, and more than once in one.
            if self.done[node as usize].swap(bits, Relaxed) == bits {
                continue;
            }
            for edge in &self.edges[self.ptr.span(node as usize)] {
                let longer = f64::from_bits(bits) + edge.weight;
                if longer > self.limit {
                    continue;
                }
                let Some(before) = lower(&self.lengths[edge.end as usize], longer.to_bits()) else { continue };
                let (bucket, before) = (self.bucket(longer), f64::from_bits(before));
                let waits = before < f64::INFINITY && bucket > current && self.bucket(before) == bucket;
                if !waits {
                    lowered.entry(bucket).or_default().push(edge.end);
                }
            }
        }
        lowered
    }

    /// Distances, and the last elements of the paths: of each node the least that comes from a nearer one.
    fn tree(&mut self, source: usize, distances: &mut [f64], via: &mut [i64]) {
        self.done.iter_mut().for_each(|slot| *slot.get_mut() = u64::MAX);
        let parts = par::even(distances.len(), self.degree());
        let rows = par::map(parts.len(), &|k| {
            let mut rows = Vec::new();
            for row in parts[k].clone() {
                let distance = f64::from_bits(self.lengths[row].load(Relaxed));
                if distance == f64::INFINITY {
                    continue;
                }
                let (mut flat, span) = (false, self.ptr.span(row));
                for (at, edge) in span.clone().zip(&self.edges[span]) {
                    let (longer, end) = (distance + edge.weight, edge.end as usize);
                    if longer.to_bits() == self.lengths[end].load(Relaxed) && longer < f64::INFINITY {
                        flat |= longer == distance;
                        if distance < longer {
                            lower(&self.done[end], at as u64);
                        }
                    }
                }
                if flat {
                    rows.push(row as u32);
                }
            }
            rows
        });
        let mut flat = Flat { nodes: Vec::new(), rows: rows.concat() };
        let found = self.lengths.iter_mut().zip(&mut self.done);
        for (node, ((length, last), (distance, via))) in found.zip(distances.iter_mut().zip(via.iter_mut())).enumerate()
        {
            *distance = f64::from_bits(*length.get_mut());
            *via = i64::try_from(*last.get_mut()).unwrap_or(-1);
            if *via < 0 && *distance < f64::INFINITY && node != source {
                flat.nodes.push(node as u32);
            }
        }
        flat.settle(self.ptr, self.edges, distances, via);
    }
}
