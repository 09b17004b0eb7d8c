//! Strong connections.

use super::{nearest, wide, with_reals};
use crate::Float;
use crate::dynamic::{ElementVec, Elements};
use crate::element::Ids;

/// Which connections of a matrix are strong.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Strength {
    /// The graph of strong connections between nodes: pointers and nodes. `None` if it is the pattern of the matrix.
    pub graph: Option<(Vec<i64>, Vec<i64>)>,
    /// For each element whether it is the diagonal, inside a node, or between nodes that are strongly connected. `None`
    /// if all are.
    pub kept: Option<Vec<bool>>,
}

/// The strong connections: elements with `|a_ij| >= theta sqrt(a_ii a_jj)` that are not 0.
///
/// `nodes` has the node of each row where rows are unknowns of nodes; these ascend from 0. Two nodes are strongly
/// connected if an element between them is strong. `zeros` says whether an element off the diagonal is stored that
/// is 0. `O(nnz)`, serial; nothing where each stored element is strong. Source: Vanek, Mandel and Brezina 1996.
pub fn strength(
    ptr: Ids<'_>,
    idx: Ids<'_>,
    values: Elements<'_>,
    diagonal: &[f64],
    (theta, zeros): (f64, bool),
    nodes: Option<&[i64]>,
) -> Strength {
    if theta == 0.0 && !zeros && nodes.is_none() {
        return Strength::default();
    }
    with_reals!(values, values => strength_of(ptr, idx, values, diagonal, theta, nodes))
}

fn strength_of<T: Float>(
    ptr: Ids<'_>,
    idx: Ids<'_>,
    values: &[T],
    diagonal: &[f64],
    theta: f64,
    nodes: Option<&[i64]>,
) -> Strength {
    let rows = ptr.rows();
    let roots: Vec<f64> = if theta > 0.0 { diagonal.iter().map(|own| own.sqrt()).collect() } else { vec![] };
    let strong = |row: usize, at: usize| {
        let (col, size) = (idx.at(at), wide(values[at]).abs());
        size > 0.0 && (theta == 0.0 || size >= theta * roots[row] * roots[col])
    };
    let node = |row: usize| nodes.map_or(row, |nodes| nodes[row] as usize);
    let count = if rows == 0 { 0 } else { node(rows - 1) + 1 };
    let (mut starts, mut others) = (vec![0i64], vec![]);
    let mut kept = (theta > 0.0).then(|| vec![false; values.len()]);
    // The node that last reached each one.
    let mut reached = vec![usize::MAX; count];
    let mut row = 0;
    while row < rows {
        let (own, begin) = (node(row), row);
        reached[own] = own;
        while row < rows && node(row) == own {
            for at in ptr.span(row) {
                let other = node(idx.at(at));
                if reached[other] != own && strong(row, at) {
                    reached[other] = own;
                    others.push(other as i64);
                }
            }
            row += 1;
        }
        starts.push(others.len() as i64);
        if let Some(kept) = &mut kept {
            for at in ptr.spans(&(begin..row)) {
                kept[at] = reached[node(idx.at(at))] == own;
            }
        }
    }
    Strength { graph: Some((starts, others)), kept }
}

/// Row pointers and columns of the elements that are kept. `O(nnz)`, serial.
pub fn filtered_pattern(ptr: Ids<'_>, idx: Ids<'_>, kept: &[bool]) -> (Vec<i64>, Vec<i64>) {
    let (mut starts, mut cols) = (vec![0], Vec::new());
    for row in 0..ptr.rows() {
        cols.extend(ptr.span(row).filter(|&at| kept[at]).map(|at| idx.at(at) as i64));
        starts.push(cols.len() as i64);
    }
    (starts, cols)
}

/// The values of the elements that are kept. The others are added to the diagonal, so that the sum of each row stays; a
/// diagonal that would fall below a tenth of itself keeps that tenth. `O(nnz)`, serial. Source: Vanek, Mandel and
/// Brezina 1996, (5.1).
///
/// With `nodes`, as in [`strength`], an element in the column of one component of another node is added to the element
/// of the same row and component in the row's own node, so that the sum of each component stays. If that element is not
/// stored, or the own node has fewer components, it is left out.
pub fn filtered_values(
    ptr: Ids<'_>,
    idx: Ids<'_>,
    values: Elements<'_>,
    kept: &[bool],
    nodes: Option<&[i64]>,
) -> ElementVec {
    match values {
        Elements::F32(values) => ElementVec::F32(filtered_of(ptr, idx, values, kept, nodes)),
        Elements::F64(values) => ElementVec::F64(filtered_of(ptr, idx, values, kept, nodes)),
        other => panic!("multigrid takes values of f32 or f64, got {other:?}"),
    }
}

fn filtered_of<T: Float>(ptr: Ids<'_>, idx: Ids<'_>, values: &[T], kept: &[bool], nodes: Option<&[i64]>) -> Vec<T> {
    let firsts = nodes.map(first_rows);
    let first = |row: usize| firsts.as_ref().map_or(row, |firsts| firsts[row]);
    let mut out = Vec::with_capacity(values.len());
    // Of a row: the sum of what is left out, for each component.
    let mut weak: Vec<f64> = vec![];
    for row in 0..ptr.rows() {
        let (own, start) = (first(row), out.len());
        weak.clear();
        for at in ptr.span(row) {
            if kept[at] {
                out.push(values[at]);
                continue;
            }
            let col = idx.at(at);
            let component = col - first(col);
            weak.resize(weak.len().max(component + 1), 0.0);
            weak[component] += wide(values[at]);
        }
        for (place, at) in ptr.span(row).filter(|&at| kept[at]).enumerate() {
            let col = idx.at(at);
            if let Some(weak) = weak.get(col.wrapping_sub(own)).filter(|_| first(col) == own) {
                let value = wide(values[at]);
                let sum = value + weak;
                out[start + place] = nearest(if col == row { sum.max(0.1 * value) } else { sum });
            }
        }
    }
    out
}

/// The first row of the node of each row.
fn first_rows(nodes: &[i64]) -> Vec<usize> {
    let mut first = 0;
    let of_row = |row: usize| {
        if nodes[row] != nodes[first] {
            first = row;
        }
        first
    };
    (0..nodes.len()).map(of_row).collect()
}
