//! Shortest paths in a random graph of 1M nodes and 5M edges, and on a grid of 1000 x 1000: Dijkstra's algorithm and
//! delta-stepping, compared with SciPy's `dijkstra` on the same graph.
//!
//! `PEER_PYTHON=.. cargo bench -p sparse-core --bench paths`

mod common;

use common::{report, time};
use sparse_core::dynamic::Ids;
use sparse_core::graph::{Paths, delta_stepping, shortest_paths};

const NODES: usize = 1_000_000;
const DEGREE: usize = 5;
const SIDE: usize = 1000;

/// Element `at` of a stream that the peer has too (splitmix64).
fn hash(at: u64) -> u64 {
    let x = (at + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

struct Graph {
    ptr: Vec<i32>,
    idx: Vec<i32>,
    weights: Vec<f64>,
}

impl Graph {
    fn of(rows: impl Iterator<Item = Vec<i32>>) -> Self {
        let (mut ptr, mut idx) = (vec![0], vec![]);
        for mut row in rows {
            row.sort_unstable();
            idx.extend(row);
            ptr.push(idx.len() as i32);
        }
        // From 0 to below 1.
        let weights = (0..idx.len()).map(|at| (hash(at as u64) >> 11) as f64 / (1u64 << 53) as f64).collect();
        Self { ptr, idx, weights }
    }

    fn random() -> Self {
        let end = |at: usize| (hash((NODES * DEGREE + at) as u64) % NODES as u64) as i32;
        Self::of((0..NODES).map(|row| (0..DEGREE).map(|k| end(row * DEGREE + k)).collect()))
    }

    fn grid() -> Self {
        Self::of((0..SIDE * SIDE).map(|node| {
            let (x, y) = (node % SIDE, node / SIDE);
            let sides = [(x > 0, -1), (x + 1 < SIDE, 1), (y > 0, -(SIDE as i32)), (y + 1 < SIDE, SIDE as i32)];
            sides.iter().filter(|side| side.0).map(|side| node as i32 + side.1).collect()
        }))
    }
}

fn main() {
    common::huge_pages();
    let peers = common::peers("paths");
    for (name, graph) in [("random", Graph::random()), ("grid", Graph::grid())] {
        let (ptr, idx, weights) = (Ids::I32(&graph.ptr), Ids::I32(&graph.idx), &graph.weights[..]);
        println!("{name}: {} nodes, {} edges", graph.ptr.len() - 1, graph.idx.len());
        for count in [1, 16] {
            let sources: Vec<i64> = (0..count).map(|k| k * 62_500).collect();
            let dijkstra = || shortest_paths(ptr, idx, weights, &sources, f64::INFINITY).expect("no cycle");
            let delta = || delta_stepping(ptr, idx, weights, &sources, f64::INFINITY, None);
            let found: Paths = dijkstra();
            assert!(found == delta(), "the same distances and paths");
            let peer = peers.get(&format!("{name}, {count}"));
            let sum: f64 = found.distances.iter().filter(|length| length.is_finite()).sum();
            if let Some(peer) = peers.get(&format!("{name}, {count}, sum")) {
                assert!((peer.median - sum).abs() < 1e-9 * sum, "the peer's distances: {} for {sum}", peer.median);
            }
            report(&format!("{name}, {count} sources, Dijkstra"), time(dijkstra), peer);
            report(&format!("{name}, {count} sources, delta-stepping"), time(delta), peer);
        }
    }
}
