//! Connected components.

use crate::element::Ids;

/// The component of each node, and the number of components, when edges are followed in both directions. Components
/// are numbered in the order of their smallest nodes.
///
/// Union-find with path halving, where the smaller root stays. `O(nodes + edges)` in practice. Source: Tarjan and van
/// Leeuwen, *Worst-case analysis of set union algorithms*, 1984.
pub fn weak_components(ptr: Ids<'_>, idx: Ids<'_>) -> (Vec<i64>, usize) {
    let nodes = ptr.rows();
    let mut parent: Vec<usize> = (0..nodes).collect();
    for node in 0..nodes {
        let mut own = root(&mut parent, node);
        for at in ptr.span(node) {
            let other = root(&mut parent, idx.at(at));
            if other < own {
                parent[own] = other;
                own = other;
            } else {
                parent[other] = own;
            }
        }
    }
    let mut count = 0;
    let mut labels = vec![0i64; nodes];
    for node in 0..nodes {
        // The root is the smallest node of its component, so it has its number already.
        let root = root(&mut parent, node);
        labels[node] = if root == node {
            count += 1;
            count as i64 - 1
        } else {
            labels[root]
        };
    }
    (labels, count)
}

/// The root of the tree that a node is in. Halves the path to it.
pub(super) fn root(parent: &mut [usize], mut node: usize) -> usize {
    while parent[node] != node {
        parent[node] = parent[parent[node]];
        node = parent[node];
    }
    node
}

/// The strongly connected component of each node, and their number: two nodes are in one component if each reaches the
/// other along directed edges. Components are numbered in the order of their smallest nodes.
///
/// Tarjan's algorithm with a stack of its own, so that long paths do not overflow the program's. `O(nodes + edges)`.
/// Source: Tarjan, *Depth-first search and linear graph algorithms*, 1972.
pub fn strong_components(ptr: Ids<'_>, idx: Ids<'_>) -> (Vec<i64>, usize) {
    const NEW: usize = usize::MAX;
    const DONE: usize = usize::MAX - 1;
    let nodes = ptr.rows();
    // The smallest visit number that a node reaches, while it is open.
    let mut low = vec![NEW; nodes];
    let mut component = vec![NEW; nodes];
    let (mut visits, mut found) = (0, 0);
    let mut open: Vec<usize> = Vec::new();
    // A node, its visit number, and the next of its edges.
    let mut path: Vec<(usize, usize, usize)> = Vec::new();
    for start in 0..nodes {
        if low[start] != NEW {
            continue;
        }
        let mut enter = Some(start);
        loop {
            if let Some(node) = enter.take() {
                low[node] = visits;
                path.push((node, visits, ptr.span(node).start));
                open.push(node);
                visits += 1;
            }
            let Some((node, visit, next)) = path.last_mut() else { break };
            let node = *node;
            if *next < ptr.span(node).end {
                let other = idx.at(*next);
                *next += 1;
                match low[other] {
                    NEW => enter = Some(other),
                    DONE => {}
                    reached => low[node] = low[node].min(reached),
                }
                continue;
            }
            let visit = *visit;
            path.pop();
            if low[node] == visit {
                while let Some(member) = open.pop() {
                    component[member] = found;
                    low[member] = DONE;
                    if member == node {
                        break;
                    }
                }
                found += 1;
            } else if let Some(&(above, ..)) = path.last() {
                low[above] = low[above].min(low[node]);
            }
        }
    }
    let mut number = vec![-1i64; found];
    let mut count = 0;
    let labels = component.into_iter().map(|own| {
        if number[own] < 0 {
            number[own] = count;
            count += 1;
        }
        number[own]
    });
    (labels.collect(), found)
}
