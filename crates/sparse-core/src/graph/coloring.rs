//! Colourings of the columns or rows of a pattern, for derivatives in groups.

use crate::dynamic::{expand_ptr, group_by};
use crate::element::Ids;
use std::cmp::Reverse;

const NONE: usize = usize::MAX;

/// A colour from 0 on for each column, so that no two columns of one colour have an element in the same row.
///
/// Greedy, columns with the most neighbours first, equal ones by ascending id: each gets the first colour that is free.
/// At least as many colours as the longest row has elements. `O(nnz L)` for rows of at most `L` elements.
///
/// Source: Curtis, Powell and Reid, *On the estimation of sparse Jacobian matrices*, 1974; the order is of Welsh and
/// Powell 1967, see Coleman and More, *Estimation of sparse Jacobian matrices and graph coloring problems*, 1983.
pub fn color_columns(ptr: Ids<'_>, idx: Ids<'_>, columns: usize) -> Vec<usize> {
    let by_column = ByColumn::new(ptr, idx, columns);
    greedy(columns, ptr.rows(), |column| by_column.rows(column), |row| ptr.span(row).map(|at| idx.at(at)))
}

/// The same of rows: no two rows of one colour have an element in the same column.
pub fn color_rows(ptr: Ids<'_>, idx: Ids<'_>, columns: usize) -> Vec<usize> {
    let by_column = ByColumn::new(ptr, idx, columns);
    greedy(ptr.rows(), columns, |row| ptr.span(row).map(|at| idx.at(at)), |column| by_column.rows(column))
}

/// The rows of each column.
struct ByColumn {
    ptr: Vec<usize>,
    rows: Vec<usize>,
}

impl ByColumn {
    fn new(ptr: Ids<'_>, idx: Ids<'_>, columns: usize) -> Self {
        let of_element = expand_ptr(ptr, idx.len());
        let (order, starts) = group_by(idx, columns);
        let (of_element, order, starts) = (of_element.as_slice(), order.as_slice(), starts.as_slice());
        Self {
            ptr: (0..=columns).map(|column| starts.at(column)).collect(),
            rows: (0..idx.len()).map(|at| of_element.at(order.at(at))).collect(),
        }
    }

    fn rows(&self, column: usize) -> impl Iterator<Item = usize> {
        self.rows[self.ptr[column]..self.ptr[column + 1]].iter().copied()
    }
}

/// Items that share a group get different colours. `groups` of an item, `items` of a group.
fn greedy<G: Iterator<Item = usize>, I: Iterator<Item = usize>>(
    count: usize,
    group_count: usize,
    groups: impl Fn(usize) -> G,
    items: impl Fn(usize) -> I,
) -> Vec<usize> {
    let sizes: Vec<usize> = (0..group_count).map(|group| items(group).count()).collect();
    let degrees: Vec<usize> = (0..count).map(|item| groups(item).map(|group| sizes[group] - 1).sum()).collect();
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|&item| Reverse(degrees[item]));
    let mut colors = vec![NONE; count];
    // The last item that may not have this colour.
    let mut refused: Vec<usize> = vec![];
    for item in order {
        for other in groups(item).flat_map(&items) {
            if colors[other] != NONE {
                refused[colors[other]] = item;
            }
        }
        let color = refused.iter().position(|&by| by != item).unwrap_or(refused.len());
        if color == refused.len() {
            refused.push(NONE);
        }
        colors[item] = color;
    }
    colors
}
