//! Strong connections.

use super::{Real, with_reals};
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

fn strength_of<T: Real>(
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
        let (col, size) = (idx.at(at), values[at].wide().abs());
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
pub fn filtered_values(ptr: Ids<'_>, idx: Ids<'_>, values: Elements<'_>, kept: &[bool]) -> ElementVec {
    match values {
        Elements::F32(values) => ElementVec::F32(filtered_of(ptr, idx, values, kept)),
        Elements::F64(values) => ElementVec::F64(filtered_of(ptr, idx, values, kept)),
        other => panic!("multigrid takes values of f32 or f64, got {other:?}"),
    }
}

fn filtered_of<T: Real>(ptr: Ids<'_>, idx: Ids<'_>, values: &[T], kept: &[bool]) -> Vec<T> {
    let mut out = Vec::with_capacity(values.len());
    for row in 0..ptr.rows() {
        let (mut place, mut weak) = (None, 0.0);
        for at in ptr.span(row) {
            if !kept[at] {
                weak += values[at].wide();
                continue;
            }
            if idx.at(at) == row {
                place = Some(out.len());
            }
            out.push(values[at]);
        }
        if let Some(place) = place {
            let own = out[place].wide();
            out[place] = T::nearest((own + weak).max(0.1 * own));
        }
    }
    out
}
