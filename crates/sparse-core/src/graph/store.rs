//! Where the rows of a graph are read from.

use crate::dynamic::Ids;
use crate::element::Index;
use crate::source::prefetch;
use crate::{Result, SparseError};
use core::ops::Range;

/// How many nodes ahead row pointers are prefetched.
const AHEAD: usize = 8;

/// How many elements ahead columns are prefetched.
const FAR: usize = 24;

/// A square CSR matrix whose rows are read a few at a time: from memory, from a mapped file, from elsewhere.
///
/// A reader that knows what it will read next says so by [`ask`](Self::ask), and then reads it. Every number that a
/// store gives out is checked by the store: a span lies in `[0, edges())`, a column in `[0, nodes())`. Calls may come
/// from several threads at once.
///
/// [`Slices`] is the store of arrays in memory.
pub trait GraphStore: Send + Sync {
    /// Number of nodes: rows, and columns.
    fn nodes(&self) -> usize;

    /// Number of stored elements.
    fn edges(&self) -> usize;

    /// Appends the positions of the elements of each node's row.
    ///
    /// # Errors
    ///
    /// `index_out_of_range` for what is no node, `invalid_row_ptr` for pointers that descend or go beyond the elements.
    fn spans(&self, nodes: &[i64], out: &mut Vec<Range<usize>>) -> Result<()>;

    /// Appends the column of each position. The positions are below [`edges`](Self::edges).
    ///
    /// # Errors
    ///
    /// `index_out_of_range` for a column that is no node.
    fn columns(&self, positions: &[usize], out: &mut Vec<usize>) -> Result<()>;

    /// Whether elements have values. Without them all are 1.
    fn has_values(&self) -> bool {
        false
    }

    /// Appends the value of each position: 1 if there are none. The positions are below [`edges`](Self::edges).
    ///
    /// # Errors
    ///
    /// Those of the store.
    fn values(&self, positions: &[usize], out: &mut Vec<f32>) -> Result<()> {
        out.resize(out.len() + positions.len(), 1.0);
        Ok(())
    }

    /// Appends all values in these spans, one span after the other: 1 if there are none.
    ///
    /// # Errors
    ///
    /// Those of the store.
    fn span_values(&self, spans: &[Range<usize>], out: &mut Vec<f32>) -> Result<()> {
        self.values(&spans.iter().cloned().flatten().collect::<Vec<_>>(), out)
    }

    /// Says what will be read next, so that it can be fetched meanwhile. It changes no result.
    fn ask(&self, ahead: Ahead<'_>) {
        let _ = ahead;
    }
}

/// What a reader of a [`GraphStore`] will read next.
#[derive(Debug, Clone, Copy)]
pub enum Ahead<'a> {
    /// The spans of these nodes.
    Rows(&'a [i64]),
    /// The columns at these positions.
    Columns(&'a [usize]),
    /// The values at these positions.
    Values(&'a [usize]),
    /// All values in these spans.
    Spans(&'a [Range<usize>]),
}

/// The graph of index arrays in memory, which may differ in type: pointers of i64 beside columns of i32 hold more than
/// 2^31 edges of fewer nodes.
#[derive(Debug, Clone, Copy)]
pub struct Slices<'a> {
    op: &'static str,
    ptr: Ids<'a>,
    idx: Ids<'a>,
    values: Option<&'a [f32]>,
    rows: Rows,
}

/// Which nodes the rows of a store are.
#[derive(Debug, Clone, Copy)]
struct Rows {
    first: usize,
    /// Number of nodes of the whole graph.
    nodes: usize,
}

impl<'a> Slices<'a> {
    /// The graph of these row pointers, columns and values. `op` is named in errors. Looks at the lengths, and at the
    /// first and the last pointer; the rest is checked where it is read.
    ///
    /// # Errors
    ///
    /// `length_mismatch` if there are no pointers, or not a value for each column; `invalid_row_ptr` if the pointers
    /// do not begin with 0 or do not end with the number of columns.
    pub fn new(op: &'static str, ptr: Ids<'a>, idx: Ids<'a>, values: Option<&'a [f32]>) -> Result<Self> {
        let (pointers, nnz) = (ptr.len(), idx.len());
        if pointers == 0 {
            return Err(SparseError::length_mismatch(op, "row_ptr", 1, 0));
        }
        for (rule, position, want) in [("start with 0", 0, 0), ("end with nnz", pointers - 1, nnz)] {
            if ptr.at(position) != want {
                return Err(SparseError::invalid_row_ptr(op, rule, ptr.get(position), position));
            }
        }
        if let Some(values) = values
            && values.len() != nnz
        {
            return Err(SparseError::length_mismatch(op, "values", nnz, values.len()));
        }
        Ok(Self::opened(op, ptr, idx, values))
    }

    /// As [`new`](Self::new), for arrays that it has looked at before.
    pub fn opened(op: &'static str, ptr: Ids<'a>, idx: Ids<'a>, values: Option<&'a [f32]>) -> Self {
        Self { op, ptr, idx, values, rows: Rows { first: 0, nodes: ptr.len().saturating_sub(1) } }
    }

    /// These rows as those of the nodes from `first` on, in a graph of so many nodes: a part of a graph. Positions
    /// remain those of the part.
    pub fn part(self, first: usize, nodes: usize) -> Self {
        Self { rows: Rows { first, nodes }, ..self }
    }

    /// Reads every pointer and every column, in order. Pointers must not descend, columns must be nodes and ascend
    /// strictly in a row. Sampling needs no ascending columns, but products do.
    ///
    /// # Errors
    ///
    /// `invalid_row_ptr`, `index_out_of_range`, `unsorted_columns`: the first one.
    pub fn check(&self) -> Result<()> {
        let nodes = self.nodes();
        match (self.ptr, self.idx) {
            (Ids::I32(ptr), Ids::I32(idx)) => check(self.op, ptr, idx, nodes),
            (Ids::I32(ptr), Ids::I64(idx)) => check(self.op, ptr, idx, nodes),
            (Ids::I64(ptr), Ids::I32(idx)) => check(self.op, ptr, idx, nodes),
            (Ids::I64(ptr), Ids::I64(idx)) => check(self.op, ptr, idx, nodes),
        }
    }
}

impl GraphStore for Slices<'_> {
    fn nodes(&self) -> usize {
        self.rows.nodes
    }

    fn edges(&self) -> usize {
        self.idx.len()
    }

    fn spans(&self, nodes: &[i64], out: &mut Vec<Range<usize>>) -> Result<()> {
        match self.ptr {
            Ids::I32(ptr) => spans(self.op, ptr, self.edges(), nodes, self.rows.first, out),
            Ids::I64(ptr) => spans(self.op, ptr, self.edges(), nodes, self.rows.first, out),
        }
    }

    fn columns(&self, positions: &[usize], out: &mut Vec<usize>) -> Result<()> {
        match self.idx {
            Ids::I32(idx) => columns(self.op, idx, self.nodes(), positions, out),
            Ids::I64(idx) => columns(self.op, idx, self.nodes(), positions, out),
        }
    }

    fn has_values(&self) -> bool {
        self.values.is_some()
    }

    fn values(&self, positions: &[usize], out: &mut Vec<f32>) -> Result<()> {
        match self.values {
            Some(values) => out.extend(positions.iter().map(|&at| values[at])),
            None => out.resize(out.len() + positions.len(), 1.0),
        }
        Ok(())
    }

    fn span_values(&self, spans: &[Range<usize>], out: &mut Vec<f32>) -> Result<()> {
        for span in spans {
            match self.values {
                Some(values) => out.extend_from_slice(&values[span.clone()]),
                None => out.resize(out.len() + span.len(), 1.0),
            }
        }
        Ok(())
    }
}

fn spans<I: Index>(
    op: &'static str,
    ptr: &[I],
    nnz: usize,
    nodes: &[i64],
    first: usize,
    out: &mut Vec<Range<usize>>,
) -> Result<()> {
    out.reserve(nodes.len());
    for (k, &node) in nodes.iter().enumerate() {
        if let Some(&next) = nodes.get(k + AHEAD) {
            prefetch(ptr, (next as usize).wrapping_sub(first));
        }
        let at = (node as usize).wrapping_sub(first);
        let (Some(start), Some(end)) = (ptr.get(at), ptr.get(at.wrapping_add(1))) else {
            let (low, size) = (first as i64, first + ptr.len().saturating_sub(1));
            return Err(SparseError::IndexOutOfRange { op, axis: 0, low, size, index: node, position: k });
        };
        let span = start.to_usize()..end.to_usize();
        if span.start > span.end || span.end > nnz {
            return Err(descends(op, [*start, *end], at, nnz));
        }
        out.push(span);
    }
    Ok(())
}

/// The error for the pointers of a row that are no span.
#[cold]
fn descends<I: Index>(op: &'static str, [start, end]: [I; 2], at: usize, nnz: usize) -> SparseError {
    if start.to_usize() > nnz {
        return SparseError::invalid_row_ptr(op, "be in [0, nnz]", start.to_i64(), at);
    }
    let rule = if end.to_usize() > nnz { "be in [0, nnz]" } else { "never descend" };
    SparseError::invalid_row_ptr(op, rule, end.to_i64(), at + 1)
}

fn columns<I: Index>(
    op: &'static str,
    idx: &[I],
    nodes: usize,
    positions: &[usize],
    out: &mut Vec<usize>,
) -> Result<()> {
    let first = out.len();
    out.extend(positions.iter().enumerate().map(|(k, &at)| {
        if let Some(&far) = positions.get(k + FAR) {
            prefetch(idx, far);
        }
        idx[at].to_usize()
    }));
    match out[first..].iter().position(|&col| col >= nodes) {
        None => Ok(()),
        Some(k) => Err(outside(op, idx[positions[k]].to_i64(), positions[k], nodes)),
    }
}

#[cold]
fn outside(op: &'static str, index: i64, position: usize, nodes: usize) -> SparseError {
    SparseError::index_out_of_range(op, 1, nodes, index, position)
}

fn check<P: Index, I: Index>(op: &'static str, ptr: &[P], idx: &[I], nodes: usize) -> Result<()> {
    for (row, pair) in ptr.windows(2).enumerate() {
        let (start, end) = (pair[0].to_usize(), pair[1].to_usize());
        if start > end || end > idx.len() {
            return Err(descends(op, [pair[0], pair[1]], row, idx.len()));
        }
        let cols = &idx[start..end];
        if let Some(k) = cols.iter().position(|col| col.to_usize() >= nodes) {
            return Err(outside(op, cols[k].to_i64(), start + k, nodes));
        }
        if let Some(pair) = cols.windows(2).find(|pair| pair[0] >= pair[1]) {
            let (previous, column) = (pair[0].to_i64(), pair[1].to_i64());
            return Err(SparseError::UnsortedColumns { op, row, previous, column });
        }
    }
    Ok(())
}
