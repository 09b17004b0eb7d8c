//! Parts of a graph with few edges between them.

use super::order::reverse_cuthill_mckee;
use super::two_way::TwoWay;
use core::cmp::Reverse;
use std::collections::BinaryHeap;

/// Most passes of the refinement. It ends before if a pass moves no node.
const PASSES: usize = 10;

/// No part yet.
const NONE: usize = usize::MAX;

/// The part, in `[0, parts)`, of each node. Parts have between 90 % and 110 % of `nodes / parts` nodes, rounded
/// outwards.
///
/// Parts grow one after the other. Each starts at the first node left in reverse Cuthill-McKee order, and takes the
/// node next to it with the largest share of its edges inside, until it is full. Then passes over all nodes move each
/// node to the part that most of its neighbours are in, if both parts keep to their bounds. Sequential and
/// deterministic: `O(edges log edges + passes * (nodes + edges))`.
///
/// Source: Karypis and Kumar, *A fast and high quality multilevel scheme for partitioning irregular graphs*, 1998
/// (greedy graph growing); Ugander and Backstrom, *Balanced label propagation for partitioning massive graphs*, WSDM
/// 2013.
///
/// # Panics
///
/// If `parts` is 0.
pub fn partition(graph: &TwoWay, parts: usize) -> Vec<i64> {
    assert!(parts > 0, "partition: the number of parts must be above 0, got 0");
    let mut part = grow(graph, parts);
    refine(graph, parts, &mut part);
    part.into_iter().map(|own| own as i64).collect()
}

fn grow(graph: &TwoWay, parts: usize) -> Vec<usize> {
    let nodes = graph.nodes();
    let mut part = vec![NONE; nodes];
    // Edges into the part that grows.
    let mut inside = vec![0u32; nodes];
    let mut touched: Vec<u32> = Vec::new();
    // The share of a node's edges that go into the part, in units of 2^-32. Shares only rise while a part grows, so an
    // entry that is not the current share is an old one.
    let share_of = |inside: u32, node: u32| (u64::from(inside) << 32) / graph.degree(node as usize) as u64;
    let mut heap: BinaryHeap<(u64, Reverse<u32>)> = BinaryHeap::new();
    let order = reverse_cuthill_mckee(graph);
    let mut left = order.iter().map(|&node| node as u32);
    let end = |own: usize| (nodes as u128 * own as u128 / parts as u128) as usize;
    for own in 0..parts {
        for _ in end(own)..end(own + 1) {
            let best = loop {
                match heap.pop() {
                    Some((share, Reverse(node))) => {
                        if part[node as usize] == NONE && share_of(inside[node as usize], node) == share {
                            break Some(node);
                        }
                    }
                    None => break left.find(|&node| part[node as usize] == NONE),
                }
            };
            let Some(node) = best else { break };
            part[node as usize] = own;
            for &other in graph.neighbors(node as usize) {
                if part[other as usize] != NONE {
                    continue;
                }
                let count = &mut inside[other as usize];
                if *count == 0 {
                    touched.push(other);
                }
                *count += 1;
                heap.push((share_of(*count, other), Reverse(other)));
            }
        }
        heap.clear();
        touched.drain(..).for_each(|node| inside[node as usize] = 0);
    }
    part
}

fn refine(graph: &TwoWay, parts: usize, part: &mut [usize]) {
    let nodes = graph.nodes();
    let mut sizes = vec![0usize; parts];
    part.iter().for_each(|&own| sizes[own] += 1);
    let most = (nodes * 11).div_ceil(parts * 10);
    let least = (nodes * 9 / (parts * 10)).max(1);
    let mut inside = vec![0u32; parts];
    let mut met: Vec<usize> = Vec::new();
    for _ in 0..PASSES {
        let mut moved = false;
        for node in 0..nodes {
            let own = part[node];
            for &other in graph.neighbors(node) {
                let to = part[other as usize];
                if inside[to] == 0 {
                    met.push(to);
                }
                inside[to] += 1;
            }
            // Of equally good parts the first one.
            let open = met.iter().copied().filter(|&to| sizes[to] < most);
            let best = open.max_by_key(|&to| (inside[to], Reverse(to)));
            if let Some(to) = best
                && inside[to] > inside[own]
                && sizes[own] > least
            {
                part[node] = to;
                (sizes[own], sizes[to]) = (sizes[own] - 1, sizes[to] + 1);
                moved = true;
            }
            met.drain(..).for_each(|to| inside[to] = 0);
        }
        if !moved {
            break;
        }
    }
}
