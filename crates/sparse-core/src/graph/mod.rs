//! Algorithms on graphs: neighbour sampling, walks, traversal, shortest paths, spanning trees, flows, matchings,
//! orders, colourings, aggregates, nearest points.
//!
//! A graph is the pattern of a square CSR matrix: row `i` has an entry `j` for each edge from `i` to `j`. Functions
//! take indices as [`Ids`](crate::dynamic::Ids), so each is compiled once. Random numbers depend on a key and on the
//! node or walk that they are for, so results have the same bits for any number of threads.

mod aggregate;
mod coloring;
mod components;
mod delta;
mod draw;
mod edges;
mod flow;
mod induced;
mod matching;
mod order;
mod partition;
mod paths;
mod points;
mod radix_heap;
mod relabel;
mod sample;
mod spanning;
mod store;
mod traverse;
mod triangles;
mod two_way;
mod walk;
mod yen;

pub use crate::random::{Stream, mix};
pub use aggregate::aggregate;
pub use coloring::{color_columns, color_rows};
pub use components::{strong_components, weak_components};
pub use delta::{delta_stepping, usual_width};
pub use draw::{Draw, Drawn, positions};
pub use edges::Paths;
pub use flow::{Flow, maximum_flow};
pub use induced::{Induced, induced};
pub use matching::{maximum_matching, minimum_weight_matching};
pub use order::reverse_cuthill_mckee;
pub use partition::partition;
pub use paths::{NegativeCycle, bellman_ford, path_gradients, row_of, shortest_paths};
pub use points::{Neighbors, Points, nearest, within};
pub use relabel::Relabel;
pub use sample::{HopEdges, HopSource, Hops, expand, sample_hops, sample_hops_from};
pub use spanning::minimum_spanning_forest;
pub use store::{Ahead, GraphStore, Slices};
pub use traverse::{Search, bfs_levels, breadth_first, depth_first};
pub use triangles::triangles;
pub use two_way::TwoWay;
pub use walk::{WalkBias, random_walks};
pub use yen::{k_shortest_paths, path_length};
