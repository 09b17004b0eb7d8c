//! The stochastic block model.

use super::graph::{Graph, Splits, identity, undirected};
use super::host::check_probability;
use super::labels::Labels;
use burn::tensor::Device;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use sparse_ops::{Result, SparseError};

/// The most edges that a generated graph may have, so that 32-bit indices can count them.
pub(super) const MOST_EDGES: f64 = 1e9;

/// A random graph of blocks. Two nodes of the same block are joined with probability `p_in`, others with `p_out`.
///
/// The label of a node is its block, and the nodes of a block are consecutive. The first tenth of every block (rounded
/// up) is for training, the next tenth for validation and the rest for testing. This is fair, since the nodes of a
/// block are exchangeable. Features are the identity matrix. The same seed gives the same graph on every machine.
///
/// Cost: `O(nodes + edges + blocks^2)`. Absent pairs are skipped by geometric jumps and not drawn one by one.
///
/// Source: Holland, Laskey, Leinhardt, *Stochastic blockmodels: first steps*, 1983; the jumps: Batagelj and Brandes,
/// *Efficient generation of large random networks*, 2005.
///
/// ```
/// use burn::tensor::Device;
/// use sparse_tensor::data::stochastic_block_model;
///
/// let graph = stochastic_block_model(&[50, 50], 0.3, 0.01, 7, &Device::flex()).unwrap();
/// assert_eq!((graph.nodes(), graph.labels.classes()), (100, 2));
/// ```
///
/// # Errors
///
/// `invalid` for a probability outside `[0, 1]`; `overflow` for more than a billion nodes or edges to be expected.
pub fn stochastic_block_model(sizes: &[usize], p_in: f64, p_out: f64, seed: u64, device: &Device) -> Result<Graph> {
    const OP: &str = "stochastic_block_model";
    for (name, p) in [("p_in", p_in), ("p_out", p_out)] {
        check_probability(OP, name, p)?;
    }
    let all: f64 = sizes.iter().map(|&size| size as f64).sum();
    let within: f64 = sizes.iter().map(|&size| pairs(size as f64)).sum();
    let expected = within * p_in + (pairs(all) - within) * p_out;
    check_size(OP, all, expected)?;
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut edges = Vec::with_capacity(expected as usize);
    let starts: Vec<usize> = sizes.iter().scan(0, |next, &size| Some(std::mem::replace(next, *next + size))).collect();
    for (a, (&from, &rows)) in starts.iter().zip(sizes).enumerate() {
        inside(&mut rng, p_in, rows, |a, b| edges.push((from + a, from + b)));
        for (&to, &cols) in starts.iter().zip(sizes).skip(a + 1) {
            let width = cols as u64;
            jumps(&mut rng, p_out, rows as u64 * width, |at| {
                edges.push((from + (at / width) as usize, to + (at % width) as usize));
            });
        }
    }
    let nodes = sizes.iter().sum();
    Ok(Graph {
        adjacency: undirected(&edges, nodes, device),
        features: identity(nodes, device),
        labels: block_labels(sizes, device),
        splits: block_splits(sizes),
    })
}

/// The block of each node, for consecutive blocks of these sizes.
pub(super) fn block_labels(sizes: &[usize], device: &Device) -> Labels {
    let labels = sizes.iter().enumerate().flat_map(|(block, &size)| std::iter::repeat_n(block as i64, size)).collect();
    Labels::new_unchecked(labels, sizes.len(), device)
}

/// The first tenth of each block for training, the next for validation, and the rest for testing.
pub(super) fn block_splits(sizes: &[usize]) -> Splits {
    let (mut splits, mut from) = (Splits::default(), 0);
    for &size in sizes {
        let (first, second) = (from + size.div_ceil(10), from + (2 * size).div_ceil(10));
        splits.train.extend(from..first);
        splits.val.extend(first..second);
        splits.test.extend(second..from + size);
        from += size;
    }
    splits
}

pub(super) fn check_size(op: &'static str, nodes: f64, edges: f64) -> Result<()> {
    for (what, got) in [("the number of nodes", nodes), ("the expected number of edges", edges)] {
        if got > MOST_EDGES {
            return Err(SparseError::overflow(op, what, MOST_EDGES as u128, got as u128));
        }
    }
    Ok(())
}

/// Calls `hit` for every pair of different nodes that is drawn with probability `p`, once.
pub(super) fn inside(rng: &mut impl RngExt, p: f64, nodes: usize, mut hit: impl FnMut(usize, usize)) {
    // Row `r` has the rows before it as columns.
    let (mut row, mut before) = (0, 0);
    jumps(rng, p, triangle(nodes), |at| {
        while at >= before + row as u64 {
            before += row as u64;
            row += 1;
        }
        hit(row, (at - before) as usize);
    });
}

pub(super) fn pairs(nodes: f64) -> f64 {
    nodes * (nodes - 1.0).max(0.0) / 2.0
}

fn triangle(nodes: usize) -> u64 {
    let nodes = nodes as u64;
    nodes * nodes.saturating_sub(1) / 2
}

/// Calls `hit` for every position below `end` that is drawn with probability `p`, in order.
pub(super) fn jumps(rng: &mut impl RngExt, p: f64, end: u64, mut hit: impl FnMut(u64)) {
    if p <= 0.0 {
        return;
    }
    if p >= 1.0 {
        return (0..end).for_each(hit);
    }
    // ln(1 - p) without the loss of a small p.
    let scale = (-p).ln_1p();
    let mut at = 0u64;
    loop {
        // In (0, 1]: the logarithm is finite.
        let draw = 1.0 - rng.random::<f64>();
        // A jump past the end saturates.
        at = at.saturating_add((draw.ln() / scale) as u64);
        if at >= end {
            return;
        }
        hit(at);
        at += 1;
    }
}
