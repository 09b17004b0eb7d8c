//! Orders of nodes that bring neighbours close together.

use super::two_way::TwoWay;

/// The reverse Cuthill-McKee order: the old id of each new node.
///
/// Each component is walked breadth first from a node at its rim, neighbours by ascending degree (by id among equal
/// ones), and the whole order is reversed. So the matrix in this order has a small bandwidth. The start is found by
/// repeated searches, each from a node of least degree in the last level of the one before, as long as the levels get
/// more. Components come in the order of their smallest degrees. `O(nodes + edges log degree)`.
///
/// Source: Cuthill and McKee, *Reducing the bandwidth of sparse symmetric matrices*, 1969; George and Liu, *An
/// implementation of a pseudoperipheral node finder*, 1979.
pub fn reverse_cuthill_mckee(graph: &TwoWay) -> Vec<i64> {
    let nodes = graph.nodes();
    let mut candidates: Vec<usize> = (0..nodes).collect();
    candidates.sort_by_key(|&node| graph.degree(node));
    let mut order: Vec<i64> = Vec::with_capacity(nodes);
    let mut placed = vec![false; nodes];
    let mut levels = Levels { seen: vec![0; nodes], round: 0 };
    for &candidate in &candidates {
        if placed[candidate] {
            continue;
        }
        let start = levels.rim(graph, candidate);
        placed[start] = true;
        let mut at = order.len();
        order.push(start as i64);
        while let Some(&node) = order.get(at) {
            at += 1;
            let first = order.len();
            for &next in graph.neighbors(node as usize) {
                if !std::mem::replace(&mut placed[next as usize], true) {
                    order.push(i64::from(next));
                }
            }
            order[first..].sort_by_key(|&next| graph.degree(next as usize));
        }
    }
    order.reverse();
    order
}

/// Breadth-first searches that share a table of marks.
struct Levels {
    seen: Vec<u32>,
    round: u32,
}

impl Levels {
    /// A node at the rim of the component of `start`.
    fn rim(&mut self, graph: &TwoWay, start: usize) -> usize {
        let (mut start, mut depth) = (start, 0);
        // Each search but the last has more levels than the one before; a few are enough in practice.
        for _ in 0..8 {
            let (levels, last) = self.search(graph, start);
            if levels <= depth {
                break;
            }
            depth = levels;
            let least = last.iter().copied().min_by_key(|&node| (graph.degree(node), node));
            start = least.unwrap_or(start);
        }
        start
    }

    /// The number of levels after the first, and the nodes of the last one.
    fn search(&mut self, graph: &TwoWay, start: usize) -> (usize, Vec<usize>) {
        self.round += 1;
        self.seen[start] = self.round;
        let (mut level, mut front) = (0, vec![start]);
        loop {
            let mut next = Vec::new();
            for &node in &front {
                for &other in graph.neighbors(node) {
                    if std::mem::replace(&mut self.seen[other as usize], self.round) != self.round {
                        next.push(other as usize);
                    }
                }
            }
            if next.is_empty() {
                return (level, front);
            }
            (level, front) = (level + 1, next);
        }
    }
}
