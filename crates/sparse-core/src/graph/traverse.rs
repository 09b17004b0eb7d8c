//! Breadth-first and depth-first search.

use crate::element::Ids;
use crate::par;

/// The number of edges on a shortest path from the nearest of `sources` to each node, following edges from row to
/// column; -1 for a node that no path of at most `most` edges reaches.
///
/// Level by level: the neighbours of a level are read in parallel, then marked. `O(nodes + edges)`. `sources` are in
/// range and may repeat.
pub fn bfs_levels(ptr: Ids<'_>, idx: Ids<'_>, sources: &[i64], most: usize) -> Vec<i64> {
    let mut levels = vec![-1i64; ptr.rows()];
    let mut front: Vec<usize> = Vec::new();
    let take = |found: &mut dyn Iterator<Item = usize>, level: i64, levels: &mut [i64]| {
        let mut next = Vec::new();
        for node in found {
            if levels[node] < 0 {
                levels[node] = level;
                next.push(node);
            }
        }
        next
    };
    front.extend(take(&mut sources.iter().map(|&node| node as usize), 0, &mut levels));
    let mut level = 0;
    while !front.is_empty() && (level as usize) < most {
        level += 1;
        let edges: usize = front.iter().map(|&node| ptr.span(node).len()).sum();
        let pieces = par::even(front.len(), edges / front.len());
        let found = par::map(pieces.len(), &|piece| {
            let mut found = Vec::new();
            for &node in &front[pieces[piece].clone()] {
                found.extend(ptr.span(node).map(|at| idx.at(at)).filter(|&next| levels[next] < 0));
            }
            found
        });
        front = take(&mut found.into_iter().flatten(), level, &mut levels);
    }
    levels
}

/// The nodes that a search from `source` reaches, in the order in which it reaches them, and the node before each, -1
/// for the source and for those that it does not reach. Elements of a row are followed in their order.
pub type Search = (Vec<i64>, Vec<i64>);

/// See [`Search`]. `O(nodes + edges)`.
pub fn breadth_first(ptr: Ids<'_>, idx: Ids<'_>, source: usize) -> Search {
    let (mut order, mut before) = (vec![source as i64], vec![-1; ptr.rows()]);
    let mut reached = vec![false; ptr.rows()];
    reached[source] = true;
    let mut first = 0;
    while let Some(&node) = order.get(first) {
        first += 1;
        for next in ptr.span(node as usize).map(|at| idx.at(at)) {
            if !std::mem::replace(&mut reached[next], true) {
                before[next] = node;
                order.push(next as i64);
            }
        }
    }
    (order, before)
}

/// See [`Search`]. With a stack of its own, so a long path does not overflow that of the program. `O(nodes + edges)`.
pub fn depth_first(ptr: Ids<'_>, idx: Ids<'_>, source: usize) -> Search {
    let (mut order, mut before) = (vec![source as i64], vec![-1; ptr.rows()]);
    let mut reached = vec![false; ptr.rows()];
    reached[source] = true;
    let mut open = vec![(source, ptr.span(source))];
    while let Some((node, rest)) = open.last_mut() {
        match rest.next().map(|at| idx.at(at)) {
            None => _ = open.pop(),
            Some(next) if reached[next] => {}
            Some(next) => {
                (reached[next], before[next]) = (true, *node as i64);
                order.push(next as i64);
                open.push((next, ptr.span(next)));
            }
        }
    }
    (order, before)
}
