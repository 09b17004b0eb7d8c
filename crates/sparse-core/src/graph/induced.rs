//! Subgraphs of chosen nodes.

use super::relabel::Relabel;
use crate::element::Ids;
use crate::par;
use crate::{Result, SparseError};

/// The subgraph of some nodes, as a CSR matrix in local ids.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Induced {
    /// Row pointers, one more than nodes.
    pub ptr: Vec<i32>,
    /// Local columns, ascending in a row.
    pub cols: Vec<i32>,
    /// The position of each edge in the graph.
    pub edges: Vec<i64>,
}

/// All edges between `nodes`, which are different and in range. `labels` has their local ids. Cost: the degrees of the
/// nodes; parallel.
///
/// # Errors
///
/// `overflow` for more than 2^31 - 1 edges.
pub fn induced(op: &'static str, ptr: Ids<'_>, idx: Ids<'_>, nodes: &[i64], labels: &Relabel) -> Result<Induced> {
    let degrees: usize = nodes.iter().map(|&node| ptr.span(node as usize).len()).sum();
    let pieces = par::even(nodes.len(), degrees / nodes.len().max(1));
    let parts = par::map(pieces.len(), &|piece| {
        let mut part = Induced::default();
        let mut row: Vec<(i32, i64)> = Vec::new();
        for &node in &nodes[pieces[piece].clone()] {
            row.clear();
            row.extend(ptr.span(node as usize).filter_map(|at| Some((labels.find(idx.at(at))? as i32, at as i64))));
            // If the nodes ascend, so do their local ids.
            if !row.is_sorted() {
                row.sort_unstable();
            }
            part.ptr.push(row.len() as i32);
            part.cols.extend(row.iter().map(|&(col, _)| col));
            part.edges.extend(row.iter().map(|&(_, edge)| edge));
        }
        part
    });
    let got: usize = parts.iter().map(|part| part.cols.len()).sum();
    if got > Relabel::MOST {
        return Err(SparseError::overflow(op, "the number of edges of a subgraph", Relabel::MOST, got));
    }
    let mut out = Induced { ptr: vec![0], ..Induced::default() };
    let mut end = 0;
    for part in parts {
        out.ptr.extend(part.ptr.iter().map(|count| {
            end += count;
            end
        }));
        out.cols.extend(part.cols);
        out.edges.extend(part.edges);
    }
    Ok(out)
}
