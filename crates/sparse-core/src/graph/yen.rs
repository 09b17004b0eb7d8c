//! Several shortest paths between two nodes.

use super::edges::Paths;
use super::paths::{NegativeCycle, row_of, shortest_paths};
use super::radix_heap::Waiting;
use crate::dynamic::{expand_ptr, group_by};
use crate::element::Ids;
use std::collections::BTreeMap;

/// The `count` shortest paths without a node twice from `source` to `target`, shortest first, each as the elements that
/// it follows from row to column. Fewer, if there are fewer.
///
/// Weights are not NaN; an infinite one is no edge. They may be negative, unless a cycle from which paths lead to
/// `target` has a negative sum. Nodes are in range, and fewer than 2^32. If both are the same, that is one path without
/// elements.
///
/// Yen's algorithm: the next path leaves one of those found at some node, so it is the shortest of those that leave.
/// With Lawler's rule no node of a path is tried again before the one where it left. Each search goes towards the
/// target: by Dijkstra's algorithm on weights from which the distances to `target` are subtracted, which no removal of
/// edges can shorten. It rarely sees much more than the path. One search from `target`, then at most `count` times the
/// nodes of a path.
///
/// Sources: Yen, *Finding the k shortest loopless paths in a network*, 1971; Lawler 1972; Hart, Nilsson and Raphael
/// 1968 for the searches.
pub fn k_shortest_paths(
    ptr: Ids<'_>,
    idx: Ids<'_>,
    weights: &[f64],
    [source, target]: [usize; 2],
    count: usize,
) -> Result<Vec<Vec<usize>>, NegativeCycle> {
    let ahead = distances_to(ptr, idx, weights, target)?;
    let mut search = Search {
        graph: Graph { ptr, idx, weights, ahead: &ahead },
        target,
        waiting: Waiting::new(),
        reached: vec![NEW; ahead.len()],
        touched: Vec::new(),
    };
    // Found but perhaps not next, by length: each with the place where it left its parent.
    let mut waiting: BTreeMap<(u64, Vec<usize>), usize> = BTreeMap::new();
    let mut found: Vec<Vec<usize>> = Vec::new();
    if count > 0
        && let Some(path) = search.run(source, &[], &[])
    {
        waiting.insert((order(weights, &path), path), 0);
    }
    while let Some(((_, path), left)) = waiting.pop_first() {
        found.push(path);
        let path = &found[found.len() - 1];
        if found.len() == count {
            break;
        }
        // The nodes before the one where the next path leaves, and the paths that go the same way to there.
        let mut node = source;
        let mut before = Vec::with_capacity(path.len());
        let mut beside: Vec<&Vec<usize>> = found.iter().collect();
        for (at, &element) in path.iter().enumerate() {
            if at >= left {
                let taken: Vec<usize> = beside.iter().filter_map(|other| other.get(at).copied()).collect();
                if let Some(rest) = search.run(node, &before, &taken) {
                    let whole: Vec<usize> = path[..at].iter().copied().chain(rest).collect();
                    waiting.insert((order(weights, &whole), whole), at);
                }
            }
            beside.retain(|other| other.get(at) == Some(&element));
            before.push(node);
            node = idx.at(element);
        }
        // Only as many as are still asked for can be next.
        while waiting.len() > count - found.len() {
            waiting.pop_last();
        }
    }
    // A search compares other sums than these, so the last bits may differ.
    found.sort_by_key(|path| order(weights, path));
    Ok(found)
}

/// The length of a path from each node to `target`.
fn distances_to(ptr: Ids<'_>, idx: Ids<'_>, weights: &[f64], target: usize) -> Result<Vec<f64>, NegativeCycle> {
    let rows = expand_ptr(ptr, idx.len());
    let (elements, starts) = group_by(idx, ptr.rows());
    let (rows, elements) = (rows.as_slice(), elements.as_slice());
    let back: Vec<i64> = (0..elements.len()).map(|k| rows.at(elements.at(k)) as i64).collect();
    let turned: Vec<f64> = (0..elements.len()).map(|k| weights[elements.at(k)]).collect();
    let Paths { distances, .. } =
        shortest_paths(starts.as_slice(), Ids::I64(&back), &turned, &[target as i64], f64::INFINITY)?;
    Ok(distances)
}

/// A number whose order is that of the lengths of paths.
fn order(weights: &[f64], path: &[usize]) -> u64 {
    let bits = (path_length(weights, path) + 0.0).to_bits();
    if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
}

/// The sum of the weights of a path, from its start.
pub fn path_length(weights: &[f64], path: &[usize]) -> f64 {
    path.iter().fold(0.0, |sum, &at| sum + weights[at])
}

#[derive(Clone, Copy)]
struct Graph<'a> {
    ptr: Ids<'a>,
    idx: Ids<'a>,
    weights: &'a [f64],
    /// Distances to the target.
    ahead: &'a [f64],
}

/// Distance of a node, less what is subtracted, and the last element of its path.
type Reached = (f64, i64);

const NEW: Reached = (f64::INFINITY, -1);
/// No path may enter such a node.
const CLOSED: Reached = (f64::NEG_INFINITY, -1);

/// Searches towards a target, which share their memory.
struct Search<'a> {
    graph: Graph<'a>,
    target: usize,
    waiting: Waiting,
    reached: Vec<Reached>,
    /// The nodes that are not new.
    touched: Vec<usize>,
}

impl Search<'_> {
    /// The elements of a shortest path from `source` that does not enter nodes and does not follow elements.
    fn run(&mut self, source: usize, nodes: &[usize], elements: &[usize]) -> Option<Vec<usize>> {
        self.waiting.clear();
        self.touched.drain(..).for_each(|node| self.reached[node] = NEW);
        for &node in nodes {
            self.reach(node, CLOSED);
        }
        if self.graph.ahead[source] == f64::INFINITY {
            return None;
        }
        self.reach(source, (0.0, -1));
        self.waiting.push(0.0, source as u32);
        let Graph { ptr, idx, weights, ahead } = self.graph;
        while let Some((distance, node)) = self.waiting.pop() {
            let node = node as usize;
            if node == self.target {
                return Some(self.path(source));
            }
            if distance > self.reached[node].0 {
                continue;
            }
            for at in ptr.span(node) {
                let next = idx.at(at);
                // Not negative but for rounding.
                let longer = distance + (weights[at] + ahead[next] - ahead[node]).max(0.0);
                if longer < self.reached[next].0 && !elements.contains(&at) {
                    self.reach(next, (longer, at as i64));
                    self.waiting.push(longer, next as u32);
                }
            }
        }
        None
    }

    fn reach(&mut self, node: usize, how: Reached) {
        self.reached[node] = how;
        self.touched.push(node);
    }

    fn path(&self, source: usize) -> Vec<usize> {
        let (mut path, mut node) = (Vec::new(), self.target);
        while node != source {
            let at = self.reached[node].1 as usize;
            path.push(at);
            node = row_of(self.graph.ptr, at);
        }
        path.reverse();
        path
    }
}
