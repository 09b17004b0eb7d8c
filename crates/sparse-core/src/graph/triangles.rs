//! Triangle counts.

use super::two_way::TwoWay;
use crate::par;
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of triangles that each node is a corner of. A third of the sum is the number of triangles.
///
/// Each edge points to the end of larger degree (of larger id among equal ones). A triangle is then found once: at its
/// first corner, as a common successor of that corner and of the second one. `O(edges^1.5)`, parallel.
///
/// Source: Schank and Wagner, *Finding, counting and listing all triangles in large graphs*, WEA 2005 (forward).
pub fn triangles(graph: &TwoWay) -> Vec<u64> {
    let nodes = graph.nodes();
    let rank = |node: usize| (graph.degree(node), node);
    // The successors of each node.
    let pieces = graph.cuts(1);
    let parts = par::map(pieces.len(), &|piece| {
        let (mut lens, mut next) = (Vec::new(), Vec::<u32>::new());
        for node in pieces[piece].clone() {
            let before = next.len();
            next.extend(graph.neighbors(node).iter().filter(|&&other| rank(other as usize) > rank(node)));
            lens.push(next.len() - before);
        }
        (lens, next)
    });
    let (mut ptr, mut next) = (vec![0usize], Vec::<u32>::new());
    for (lens, part) in parts {
        let start = next.len();
        ptr.extend(lens.iter().scan(start, |end, len| {
            *end += len;
            Some(*end)
        }));
        next.extend(part);
    }
    let successors = |node: usize| &next[ptr[node]..ptr[node + 1]];
    // Sums of integers do not depend on their order.
    let counts: Vec<AtomicU64> = (0..nodes).map(|_| AtomicU64::new(0)).collect();
    let add = |node: usize, count: u64| counts[node].fetch_add(count, Ordering::Relaxed);
    let pieces = graph.cuts(16);
    par::run(pieces.len(), &|piece| {
        for first in pieces[piece].clone() {
            let own = successors(first);
            let mut all = 0;
            for &second in own {
                let (mut a, mut b) = (own, successors(second as usize));
                let mut found = 0;
                while let (Some((&x, rest_a)), Some((&y, rest_b))) = (a.split_first(), b.split_first()) {
                    if x == y {
                        add(x as usize, 1);
                        found += 1;
                    }
                    if x <= y {
                        a = rest_a;
                    }
                    if y <= x {
                        b = rest_b;
                    }
                }
                if found > 0 {
                    add(second as usize, found);
                }
                all += found;
            }
            if all > 0 {
                add(first, all);
            }
        }
    });
    counts.into_iter().map(AtomicU64::into_inner).collect()
}
