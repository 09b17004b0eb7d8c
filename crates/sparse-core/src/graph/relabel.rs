//! Global ids to local ones.

use crate::memory::zeroed;
use crate::source::prefetch;

/// The local id of each node of a graph, for nodes that have one.
///
/// It is a table with 4 bytes for each node of the graph. A new table is all zeros, so the operating system maps only
/// the pages that are used. [`clear`](Self::clear) makes it empty again in the time that its nodes take.
#[derive(Debug)]
pub struct Relabel {
    /// Local id + 1, or 0.
    table: Vec<u32>,
}

impl Relabel {
    /// The most local ids that there may be: a local id and the number of them must fit i32.
    pub const MOST: usize = i32::MAX as usize;

    /// An empty table for a graph of `nodes` nodes.
    pub fn new(nodes: usize) -> Self {
        Self { table: zeroed(nodes) }
    }

    /// The table of `nodes`: node `nodes[k]` has the local id `k`. A node that is listed twice keeps the last one.
    pub fn of(nodes: &[i64], all: usize) -> Self {
        let mut own = Self::new(all);
        for (local, &node) in nodes.iter().enumerate() {
            own.table[node as usize] = local as u32 + 1;
        }
        own
    }

    /// The local id of a node. A new node is put at the end of `nodes`.
    #[inline(always)]
    pub(super) fn local(&mut self, node: usize, nodes: &mut Vec<i64>) -> u32 {
        let slot = &mut self.table[node];
        if *slot == 0 {
            nodes.push(node as i64);
            *slot = nodes.len() as u32;
        }
        *slot - 1
    }

    /// Prefetches the slot of a node.
    #[inline(always)]
    pub(super) fn prefetch(&self, node: usize) {
        prefetch(&self.table, node);
    }

    /// The local id of a node that may have none.
    #[inline(always)]
    pub fn find(&self, node: usize) -> Option<u32> {
        self.table[node].checked_sub(1)
    }

    /// Number of nodes of the graph.
    pub fn nodes(&self) -> usize {
        self.table.len()
    }

    /// Removes the local ids of `nodes`.
    pub fn clear(&mut self, nodes: &[i64]) {
        for &node in nodes {
            self.table[node as usize] = 0;
        }
    }
}
