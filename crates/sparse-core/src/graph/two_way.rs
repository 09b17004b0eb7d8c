//! A graph whose edges count in both directions.

use crate::dynamic::{expand_ptr, group_by};
use crate::element::Ids;
use crate::par;
use crate::{Result, SparseError};
use core::ops::Range;

/// The neighbours of each node in either direction, each once, in ascending order, without the node itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TwoWay {
    ptr: Vec<usize>,
    idx: Vec<u32>,
}

impl TwoWay {
    /// The neighbours in a square CSR pattern: row `i` joined with column `i`. A transposition by counting, then a
    /// merge of two sorted lists for each node: `O(nodes + edges)`, parallel.
    ///
    /// # Errors
    ///
    /// `overflow` for more than 2^31 - 1 nodes.
    pub fn new(op: &'static str, ptr: Ids<'_>, idx: Ids<'_>) -> Result<Self> {
        let nodes = ptr.rows();
        if nodes > i32::MAX as usize {
            return Err(SparseError::overflow(op, "the number of nodes", i32::MAX, nodes));
        }
        let rows = expand_ptr(ptr, idx.len());
        let (order, starts) = group_by(idx, nodes);
        let (rows, order, starts) = (rows.as_slice(), order.as_slice(), starts.as_slice());
        let pieces = ptr.cuts(4);
        let parts = par::map(pieces.len(), &|piece| {
            let (mut lens, mut out) = (Vec::new(), Vec::new());
            let mut column: Vec<usize> = Vec::new();
            for node in pieces[piece].clone() {
                let before = out.len();
                column.clear();
                column.extend(starts.span(node).map(|k| rows.at(order.at(k))));
                let mut column = column.iter().copied().peekable();
                let mut add = |other: usize| {
                    if other != node {
                        out.push(other as u32);
                    }
                };
                for other in ptr.span(node).map(|k| idx.at(k)) {
                    while let Some(less) = column.next_if(|&from| from < other) {
                        add(less);
                    }
                    column.next_if_eq(&other);
                    add(other);
                }
                column.for_each(add);
                lens.push(out.len() - before);
            }
            (lens, out)
        });
        let mut own = Self { ptr: vec![0], idx: Vec::with_capacity(parts.iter().map(|(_, part)| part.len()).sum()) };
        let mut end = 0;
        for (lens, part) in parts {
            own.ptr.extend(lens.into_iter().map(|len| {
                end += len;
                end
            }));
            own.idx.extend(part);
        }
        Ok(own)
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.ptr.len() - 1
    }

    /// Number of neighbours of a node.
    pub fn degree(&self, node: usize) -> usize {
        self.ptr[node + 1] - self.ptr[node]
    }

    /// The neighbours of a node.
    pub fn neighbors(&self, node: usize) -> &[u32] {
        &self.idx[self.ptr[node]..self.ptr[node + 1]]
    }

    /// Ranges of nodes with about equal numbers of neighbours.
    pub(super) fn cuts(&self, weight: usize) -> Vec<Range<usize>> {
        let total = self.idx.len() + self.nodes();
        let pieces = par::pieces(total.saturating_mul(weight)).min(self.nodes().max(1));
        let mut start = 0;
        let ends = (1..=pieces).map(|piece| {
            let target = (total as u128 * piece as u128 / pieces as u128) as usize;
            let (mut low, mut high) = (0, self.nodes());
            while low < high {
                let mid = low.midpoint(high);
                if self.ptr[mid] + mid < target { low = mid + 1 } else { high = mid }
            }
            low
        });
        let mut cuts = Vec::with_capacity(pieces);
        for end in ends {
            if end > start {
                cuts.push(start..end);
                start = end;
            }
        }
        cuts
    }
}
