//! The stochastic block model with types.

use super::{HeteroGraph, TypedNodes, about};
use crate::graph::with_ends;
use crate::sbm::{block_labels, block_splits, check_size, jumps};
use burn::tensor::Device;
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use sparse_nn::EdgeType;
use sparse_ops::{Result, SparseError};

/// A random graph of types and blocks: the nodes of each type are cut into `blocks` blocks of equal sizes, and
/// `relations` has for each type of edges how many are expected, and which share of them lies within a block.
///
/// An edge within a block joins two nodes whose blocks have the same number, of whichever types. Each possible edge is
/// drawn on its own, with one probability within blocks and one between them, so the number of edges varies a little.
/// Edges are directed, of weight 1, and none is a self loop: of edges within one type those are left out. The label of
/// a node is its block; of each block of each type the first tenth (rounded up) is for training, the next tenth for
/// validation and the rest for testing. There are no features. The same seed gives the same graph on every machine.
///
/// Cost: `O(nodes + edges log edges + relations * blocks^2)`.
///
/// Source: Holland, Laskey, Leinhardt, *Stochastic blockmodels: first steps*, 1983.
///
/// ```
/// use burn::tensor::Device;
/// use sparse_tensor::data::hetero_block_model;
///
/// let relations = [(("user", "likes", "item").into(), 2_000, 0.8), (("user", "knows", "user").into(), 500, 0.8)];
/// let graph = hetero_block_model(&[("user", 300), ("item", 200)], 4, &relations, 7, &Device::flex()).unwrap();
/// let likes = graph.adjacency(("user", "likes", "item"));
/// assert_eq!(likes.dims(), [200, 300]);
/// assert!((1_800..2_200).contains(&likes.nnz()));
/// ```
///
/// # Errors
///
/// `invalid` for a type of nodes or edges that is there twice, an edge type whose nodes are not there, 0 blocks or
/// more than nodes, a share outside `[0, 1]`, or more edges than there are pairs; it names the type. `overflow` for
/// more than a billion nodes or edges.
pub fn hetero_block_model(
    nodes: &[(&str, usize)],
    blocks: usize,
    relations: &[(EdgeType, usize, f64)],
    seed: u64,
    device: &Device,
) -> Result<HeteroGraph> {
    const OP: &str = "hetero_block_model";
    if blocks == 0 {
        return Err(SparseError::invalid(OP, "blocks must be at least 1, got 0"));
    }
    let most = nodes.iter().map(|&(_, count)| count).max().unwrap_or(0).max(1);
    if blocks > most {
        return Err(SparseError::invalid(
            OP,
            format!("blocks must be at most the nodes of a type, {most}, got {blocks}"),
        ));
    }
    let count = nodes.iter().map(|&(_, count)| count as f64).sum();
    check_size(OP, count, relations.iter().map(|&(_, edges, _)| edges as f64).sum())?;
    // In u128: a product of two sizes may be larger than 64 bits.
    let start = |count: usize, block: usize| (count as u128 * block as u128 / blocks as u128) as usize;
    let mut graph = HeteroGraph::default();
    for &(name, count) in nodes {
        if graph.nodes.contains_key(name) {
            return Err(about(OP, name, "a type of nodes must be listed once, got it again"));
        }
        let sizes: Vec<usize> = (0..blocks).map(|block| start(count, block + 1) - start(count, block)).collect();
        let labels = Some(block_labels(&sizes, device));
        let own = TypedNodes { labels, splits: block_splits(&sizes), ..TypedNodes::new(count) };
        graph = graph.try_with_nodes(name, own)?;
    }
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    for (kind, edges, share) in relations {
        if graph.edges.contains_key(kind) {
            return Err(about(OP, kind, "a type of edges must be listed once, got it again"));
        }
        let count = |name| Ok(graph.named(name).map_err(|message| about(OP, kind, message))?.count);
        let (rows, cols) = (count(&kind.target)?, count(&kind.source)?);
        let within = |block| {
            let size = |count| (start(count, block + 1) - start(count, block)) as f64;
            size(rows) * size(cols)
        };
        let inside: f64 = (0..blocks).map(within).sum();
        let pairs = [inside, rows as f64 * cols as f64 - inside];
        if !(0.0..=1.0).contains(share) {
            return Err(about(OP, kind, format!("the share within blocks must be in [0, 1], got {share}")));
        }
        let wanted = [*edges as f64 * share, *edges as f64 * (1.0 - share)];
        if let Some(at) = (0..2).find(|&at| wanted[at] > pairs[at]) {
            let place = ["within", "between"][at];
            let message = format!("edges {place} blocks must be at most {} pairs, got {}", pairs[at], wanted[at]);
            return Err(about(OP, kind, message));
        }
        let [p_in, p_out] = [0, 1].map(|at| if pairs[at] > 0.0 { wanted[at] / pairs[at] } else { 0.0 });
        let mut ends = Vec::with_capacity(*edges);
        for to in 0..blocks {
            for from in 0..blocks {
                let (row, col) = (start(rows, to), start(cols, from));
                let [height, width] = [start(rows, to + 1) - row, start(cols, from + 1) - col].map(|size| size as u64);
                jumps(&mut rng, if to == from { p_in } else { p_out }, height * width, |at| {
                    ends.push((row + (at / width) as usize, col + (at % width) as usize));
                });
            }
        }
        if kind.source == kind.target {
            ends.retain(|(row, col)| row != col);
        }
        ends.sort_unstable();
        graph = graph.try_with_edges(kind.clone(), with_ends(&ends, [rows, cols], device))?;
    }
    Ok(graph)
}
