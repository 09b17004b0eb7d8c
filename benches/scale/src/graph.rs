//! Graphs whose degrees follow a power law, of any size, in no memory.
//!
//! Both ends of an edge are drawn by the weights of nodes, as in the model of Chung and Lu (*The average distances in
//! random graphs with given expected degrees*, 2002): node `v` has `w(v)` edges, and each leads to node `u` with
//! probability `w(u) / sum(w)`. With `w(v)` in proportion to `(v + shift)^-b` the sums of weights have a closed form.
//! So the row pointers are a formula, and the column at a position is a formula of a random number that depends on the
//! position only: the sampler reads a graph of 10^11 edges that is nowhere.

use sparse_core::graph::{GraphStore, mix};
use sparse_core::{Result, SparseError};
use std::ops::Range;

/// A graph whose nodes are numbered by falling degree. `P(degree = k)` falls as `k^-(1 + 1 / b)`, and the highest
/// degree is the square root of the number of edges, the bound of the model.
#[derive(Clone, Debug)]
pub(crate) struct PowerLaw {
    nodes: usize,
    edges: usize,
    /// `1 - b`.
    power: f64,
    shift: f64,
    /// `shift^power` and `(nodes + shift)^power`.
    ends: [f64; 2],
    key: u64,
}

impl PowerLaw {
    /// `exponent` is that of the degrees, above 2.
    pub(crate) fn new(nodes: usize, edges: usize, exponent: f64, key: u64) -> Self {
        let power = 1.0 - 1.0 / (exponent - 1.0);
        let most = (edges as f64).sqrt();
        let with = |shift: f64| {
            let ends = [shift.powf(power), (nodes as f64 + shift).powf(power)];
            Self { nodes, edges, power, shift, ends, key }
        };
        // The first weight falls as the shift grows.
        let (mut low, mut high) = (1e-9_f64, nodes as f64);
        for _ in 0..200 {
            let middle = (low * high).sqrt();
            if with(middle).weight(0.0) > most { low = middle } else { high = middle }
        }
        with(high)
    }

    /// The expected degree of the node of that rank.
    pub(crate) fn weight(&self, rank: f64) -> f64 {
        self.edges as f64 * self.power * (rank + self.shift).powf(self.power - 1.0) / (self.ends[1] - self.ends[0])
    }

    /// The share of all edges in the rows of the first nodes.
    pub(crate) fn share(&self, nodes: f64) -> f64 {
        ((nodes + self.shift).powf(self.power) - self.ends[0]) / (self.ends[1] - self.ends[0])
    }

    /// The position of the first edge of a node.
    pub(crate) fn start(&self, node: usize) -> usize {
        match node {
            0 => 0,
            _ if node == self.nodes => self.edges,
            _ => ((self.share(node as f64) * self.edges as f64) as usize).min(self.edges),
        }
    }

    /// The node at the other end of an edge.
    fn column(&self, position: usize) -> usize {
        let unit = (mix(self.key, position as u64) >> 11) as f64 / (1u64 << 53) as f64;
        let place = self.ends[0] + unit * (self.ends[1] - self.ends[0]);
        ((place.powf(1.0 / self.power) - self.shift).max(0.0) as usize).min(self.nodes - 1)
    }

    /// A place for each node in a file whose order has nothing to do with degrees.
    pub(crate) fn place(&self, node: usize) -> usize {
        // A prime that divides no number of nodes in use makes this a bijection.
        const STEP: u128 = 11_400_714_819_323_198_549;
        ((node as u128 * STEP + 12_345) % self.nodes as u128) as usize
    }
}

impl GraphStore for PowerLaw {
    fn nodes(&self) -> usize {
        self.nodes
    }

    fn edges(&self) -> usize {
        self.edges
    }

    fn spans(&self, nodes: &[i64], out: &mut Vec<Range<usize>>) -> Result<()> {
        for (position, &node) in nodes.iter().enumerate() {
            let Some(row) = usize::try_from(node).ok().filter(|&row| row < self.nodes) else {
                let (op, size) = ("PowerLaw", self.nodes);
                return Err(SparseError::IndexOutOfRange { op, axis: 0, low: 0, size, index: node, position });
            };
            out.push(self.start(row)..self.start(row + 1));
        }
        Ok(())
    }

    fn columns(&self, positions: &[usize], out: &mut Vec<usize>) -> Result<()> {
        out.extend(positions.iter().map(|&position| self.column(position)));
        Ok(())
    }
}
