//! Parts of a graph with few edges between them.

use super::order::reverse_cuthill_mckee;
use super::two_way::TwoWay;

/// Most passes of the refinement. It ends before if a pass moves no node.
const PASSES: usize = 10;

/// The part, in `[0, parts)`, of each node. Parts have between 90 % and 110 % of `nodes / parts` nodes, rounded outwards.
///
/// The nodes in reverse Cuthill-McKee order are cut into ranges of equal length. Then passes over all nodes move each
/// node to the part that most of its neighbours are in, if that gains edges and both parts keep to their bounds
/// (balanced label propagation). Sequential and deterministic: `O(passes * (nodes + edges))`.
///
/// Source: Ugander and Backstrom, *Balanced label propagation for partitioning massive graphs*, WSDM 2013 (bounds on
/// sizes; moves here are greedy).
///
/// # Panics
///
/// If `parts` is 0.
pub fn partition(graph: &TwoWay, parts: usize) -> Vec<i64> {
    let nodes = graph.nodes();
    let mut part = vec![0i64; nodes];
    let mut sizes = vec![0usize; parts];
    for (at, &node) in reverse_cuthill_mckee(graph).iter().enumerate() {
        let own = (at as u128 * parts as u128 / nodes as u128) as usize;
        part[node as usize] = own as i64;
        sizes[own] += 1;
    }
    let most = (nodes * 11).div_ceil(parts * 10);
    let least = nodes * 9 / (parts * 10);
    let mut gains = vec![0u32; parts];
    let mut met: Vec<usize> = Vec::new();
    for _ in 0..PASSES {
        let mut moved = 0;
        for node in 0..nodes {
            let own = part[node] as usize;
            for &other in graph.neighbors(node) {
                let to = part[other as usize] as usize;
                if gains[to] == 0 {
                    met.push(to);
                }
                gains[to] += 1;
            }
            // Of equally good parts the first one, but a node stays if its own is as good.
            let open = met.iter().copied().filter(|&to| to == own || sizes[to] < most);
            let best = open.max_by_key(|&to| (gains[to], to == own, std::cmp::Reverse(to)));
            if let Some(to) = best
                && gains[to] > gains[own]
                && sizes[own] > least.max(1)
            {
                part[node] = to as i64;
                (sizes[own], sizes[to]) = (sizes[own] - 1, sizes[to] + 1);
                moved += 1;
            }
            met.drain(..).for_each(|to| gains[to] = 0);
        }
        if moved == 0 {
            break;
        }
    }
    part
}
