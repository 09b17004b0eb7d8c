//! Groups of neighbours.

use crate::element::Ids;

/// The aggregate of each node, and the number of aggregates; -1 for a node without neighbours, which is in none.
///
/// Three passes in the order of the nodes: a node of whose neighbourhood none is taken becomes an aggregate with all of
/// it; a node that is left joins an aggregate of the first pass beside it; what is left then makes aggregates with its
/// free neighbours. Self loops do not count. The graph should be symmetric. `O(nodes + edges)`, serial. Source: Vanek,
/// Mandel and Brezina, *Algebraic multigrid by smoothed aggregation for second and fourth order elliptic problems*,
/// 1996, algorithm 5.1. (PyAMG's `standard_aggregation`.)
pub fn aggregate(ptr: Ids<'_>, idx: Ids<'_>) -> (Vec<i64>, usize) {
    const FREE: i64 = -2;
    let nodes = ptr.rows();
    let mut out = vec![FREE; nodes];
    let mut count = 0;
    let others = |node: usize| ptr.span(node).map(|at| idx.at(at)).filter(move |&other| other != node);
    for node in 0..nodes {
        if out[node] != FREE {
            continue;
        }
        let (mut alone, mut free) = (true, true);
        for other in others(node) {
            alone = false;
            free &= out[other] == FREE;
        }
        if alone {
            out[node] = -1;
        } else if free {
            out[node] = count;
            others(node).for_each(|other| out[other] = count);
            count += 1;
        }
    }
    // Those that join do not count as members of the first pass, so that an aggregate grows by one ring only.
    let joins: Vec<(usize, i64)> = (0..nodes)
        .filter(|&node| out[node] == FREE)
        .filter_map(|node| Some((node, others(node).map(|other| out[other]).find(|&own| own >= 0)?)))
        .collect();
    joins.into_iter().for_each(|(node, own)| out[node] = own);
    for node in 0..nodes {
        if out[node] == FREE {
            out[node] = count;
            for other in others(node) {
                if out[other] == FREE {
                    out[other] = count;
                }
            }
            count += 1;
        }
    }
    (out, count as usize)
}
