//! Matchings of bipartite graphs.

use crate::element::Ids;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

const FREE: usize = usize::MAX;

/// The column that each row is matched with, -1 for none, in a matching of the most pairs: each row and each column is
/// in one pair at most, and pairs are stored elements. `O(elements sqrt(rows + columns))`.
///
/// Source: Hopcroft and Karp, *An n^5/2 algorithm for maximum matchings in bipartite graphs*, SIAM J. Comput. 1973.
pub fn maximum_matching(ptr: Ids<'_>, idx: Ids<'_>, columns: usize) -> Vec<i64> {
    let rows = ptr.rows();
    let (mut of_row, mut of_column) = (vec![FREE; rows], vec![FREE; columns]);
    // What is free on both sides, first: most pairs of most matrices.
    for (row, pair) in of_row.iter_mut().enumerate() {
        if let Some(column) = ptr.span(row).map(|at| idx.at(at)).find(|&column| of_column[column] == FREE) {
            (*pair, of_column[column]) = (column, row);
        }
    }
    let mut level = vec![0usize; rows];
    let mut next = vec![0usize; rows];
    while let Some(depth) = layers(ptr, idx, &of_row, &of_column, &mut level) {
        for (row, next) in next.iter_mut().enumerate() {
            *next = ptr.at(row);
        }
        for row in 0..rows {
            if of_row[row] == FREE {
                augment([row, depth], ptr, idx, &mut of_row, &mut of_column, &mut level, &mut next);
            }
        }
    }
    of_row.into_iter().map(|column| if column == FREE { -1 } else { column as i64 }).collect()
}

/// The distance of each row from a free one on paths that alternate between other and matched elements. Returns the
/// smallest distance of a row with a free column, if there is one: rows further on are not searched.
fn layers(ptr: Ids<'_>, idx: Ids<'_>, of_row: &[usize], of_column: &[usize], level: &mut [usize]) -> Option<usize> {
    let mut open: VecDeque<usize> = (0..of_row.len()).filter(|&row| of_row[row] == FREE).collect();
    level.fill(FREE);
    open.iter().for_each(|&row| level[row] = 0);
    let mut depth = None;
    while let Some(row) = open.pop_front() {
        if depth.is_some_and(|depth| level[row] > depth) {
            break;
        }
        for column in ptr.span(row).map(|at| idx.at(at)) {
            match of_column[column] {
                FREE => depth = Some(level[row]),
                other if level[other] == FREE => {
                    level[other] = level[row] + 1;
                    open.push_back(other);
                }
                _ => {}
            }
        }
    }
    depth
}

/// Changes the pairs along a path from a free row to a free column, if one goes from layer to layer down to `depth`.
/// `next` has the first element of each row that was not tried. With a stack of its own.
fn augment(
    [start, depth]: [usize; 2],
    ptr: Ids<'_>,
    idx: Ids<'_>,
    of_row: &mut [usize],
    of_column: &mut [usize],
    level: &mut [usize],
    next: &mut [usize],
) {
    let mut path = vec![start];
    while let Some(&row) = path.last() {
        let Some(at) = (next[row] < ptr.at(row + 1)).then_some(next[row]) else {
            level[row] = FREE;
            path.pop();
            continue;
        };
        next[row] += 1;
        let column = idx.at(at);
        match of_column[column] {
            FREE => {
                let mut column = column;
                while let Some(row) = path.pop() {
                    of_column[column] = row;
                    column = std::mem::replace(&mut of_row[row], column);
                }
                return;
            }
            other if level[row] < depth && level[other] == level[row] + 1 => path.push(other),
            _ => {}
        }
    }
}

/// The column of each row in a matching of all rows with the least sum of weights, or the first row that cannot be
/// matched. Pairs are elements with a finite weight. There are at least as many columns as rows.
/// `O(rows elements log(elements))`.
///
/// Source: shortest augmenting paths with potentials, Jonker and Volgenant, *A shortest augmenting path algorithm for
/// dense and sparse linear assignment problems*, Computing 1987.
pub fn minimum_weight_matching(ptr: Ids<'_>, idx: Ids<'_>, columns: usize, weights: &[f64]) -> Result<Vec<i64>, usize> {
    let rows = ptr.rows();
    let (mut of_row, mut of_column) = (vec![FREE; rows], vec![FREE; columns]);
    // Reduced weights `w_rc - u_r - v_c` are from 0 on, and 0 for pairs.
    let least = |row| ptr.span(row).map(|at| weights[at]).fold(f64::INFINITY, f64::min);
    let mut u: Vec<f64> = (0..rows).map(least).map(|least| if least.is_finite() { least } else { 0.0 }).collect();
    let mut v = vec![0.0; columns];
    let (mut distance, mut before) = (vec![f64::INFINITY; columns], vec![FREE; columns]);
    let mut done = vec![false; columns];
    for start in 0..rows {
        let (mut heap, mut reached, mut passed) = (BinaryHeap::new(), Vec::new(), Vec::new());
        let (mut row, mut so_far) = (start, 0.0);
        let mut column = loop {
            for at in ptr.span(row).filter(|&at| weights[at] < f64::INFINITY) {
                let column = idx.at(at);
                let further = so_far + (weights[at] - u[row] - v[column]).max(0.0);
                if further < distance[column] {
                    (distance[column], before[column]) = (further, row);
                    reached.push(column);
                    heap.push(Reverse((further.to_bits(), column)));
                }
            }
            let nearest = std::iter::from_fn(|| heap.pop()).find(|&Reverse((_, column))| !done[column]);
            let Some(Reverse((_, column))) = nearest else { return Err(start) };
            so_far = distance[column];
            if of_column[column] == FREE {
                break column;
            }
            done[column] = true;
            passed.push(column);
            row = of_column[column];
        };
        u[start] += so_far;
        for column in passed {
            u[of_column[column]] += so_far - distance[column];
            v[column] -= so_far - distance[column];
            done[column] = false;
        }
        loop {
            let row = before[column];
            of_column[column] = row;
            let last = std::mem::replace(&mut of_row[row], column);
            if row == start {
                break;
            }
            column = last;
        }
        reached.into_iter().for_each(|column| distance[column] = f64::INFINITY);
    }
    Ok(of_row.into_iter().map(|column| column as i64).collect())
}
