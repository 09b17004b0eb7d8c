//! Breadth-first search.

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
