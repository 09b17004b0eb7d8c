//! Zachary's karate club.

use super::graph::{Graph, Splits, identity, undirected};
use super::labels::Labels;
use burn::tensor::Device;

/// Members who met outside the club. Each tie is listed once.
#[rustfmt::skip]
const EDGES: [(usize, usize); 78] = [
    (0, 1), (0, 2), (0, 3), (0, 4), (0, 5), (0, 6), (0, 7), (0, 8), (0, 10), (0, 11),
    (0, 12), (0, 13), (0, 17), (0, 19), (0, 21), (0, 31), (1, 2), (1, 3), (1, 7), (1, 13),
    (1, 17), (1, 19), (1, 21), (1, 30), (2, 3), (2, 7), (2, 8), (2, 9), (2, 13), (2, 27),
    (2, 28), (2, 32), (3, 7), (3, 12), (3, 13), (4, 6), (4, 10), (5, 6), (5, 10), (5, 16),
    (6, 16), (8, 30), (8, 32), (8, 33), (9, 33), (13, 33), (14, 32), (14, 33), (15, 32), (15, 33),
    (18, 32), (18, 33), (19, 33), (20, 32), (20, 33), (22, 32), (22, 33), (23, 25), (23, 27), (23, 29),
    (23, 32), (23, 33), (24, 25), (24, 27), (24, 31), (25, 31), (26, 29), (26, 33), (27, 33), (28, 31),
    (28, 33), (29, 32), (29, 33), (30, 32), (30, 33), (31, 32), (31, 33), (32, 33),
];

/// The side each member took: 0 the instructor's (Mr. Hi, node 0), 1 the officers' (node 33).
#[rustfmt::skip]
const FACTIONS: [i64; 34] = [
    0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1, 0,
    0, 1, 0, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
];

/// Zachary's karate club: 34 members, 78 ties, and the two sides of the split that followed.
///
/// The two leaders, nodes 0 and 33, are the training set; the other 32 members are the test set. Features are the
/// identity matrix: they say only which node it is.
///
/// Source: W. W. Zachary, *An Information Flow Model for Conflict and Fission in Small Groups*, Journal of
/// Anthropological Research 33, 1977.
///
/// ```
/// use burn::tensor::Device;
/// use sparse_tensor::data::karate;
///
/// let graph = karate(&Device::flex());
/// assert_eq!((graph.nodes(), graph.edges(), graph.labels.classes()), (34, 78, 2));
/// assert_eq!(graph.splits.train, [0, 33]);
/// ```
pub fn karate(device: &Device) -> Graph {
    let nodes = FACTIONS.len();
    Graph {
        adjacency: undirected(&EDGES, nodes, device),
        features: identity(nodes, device),
        labels: Labels::new_unchecked(FACTIONS.to_vec(), 2, device),
        splits: Splits { train: vec![0, nodes - 1], val: vec![], test: (1..nodes - 1).collect() },
    }
}
