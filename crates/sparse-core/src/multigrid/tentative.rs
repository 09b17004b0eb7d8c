//! Prolongation before it is smoothed.

/// Near-null-space vectors in parts: `B = T C` with orthonormal columns of `T`, each zero outside one aggregate.
#[derive(Debug, Clone, PartialEq)]
pub struct Tentative {
    /// Row pointers of `T`.
    pub ptr: Vec<i64>,
    /// Columns of `T`.
    pub idx: Vec<i64>,
    /// Values of `T`.
    pub values: Vec<f64>,
    /// `C`, `[columns of T, k]`.
    pub coarse: Vec<f64>,
    /// The node of each column of `T`: an aggregate. `None` if each has its own.
    pub nodes: Option<Vec<i64>>,
}

impl Tentative {
    /// Number of columns.
    pub fn cols(&self, k: usize) -> usize {
        self.coarse.len() / k
    }
}

/// The orthonormal parts of `candidates` `[rows, k]` in each of `count` aggregates, by QR with the aggregate of each
/// row (-1: in none). A candidate that depends on those before it in an aggregate has no column there. `O(rows k^2)`,
/// serial. Source: Vanek, Mandel and Brezina 1996, algorithm 5.2.
///
/// # Panics
///
/// If the lengths disagree.
pub fn tentative(aggregates: &[i64], count: usize, candidates: &[f64], k: usize) -> Tentative {
    assert_eq!(candidates.len(), aggregates.len() * k, "tentative: each row must have a number of each candidate");
    if k == 1 { of_one(aggregates, count, candidates) } else { of_several(aggregates, count, candidates, k) }
}

fn of_one(aggregates: &[i64], count: usize, candidate: &[f64]) -> Tentative {
    let mut sizes = vec![0.0; count];
    for (own, x) in aggregates.iter().zip(candidate).filter(|(own, _)| **own >= 0) {
        sizes[*own as usize] += x * x;
    }
    let (mut columns, mut coarse) = (vec![-1; count], vec![]);
    for (column, size) in columns.iter_mut().zip(&sizes).filter(|(_, size)| **size > 0.0) {
        *column = coarse.len() as i64;
        coarse.push(size.sqrt());
    }
    let rows = aggregates.len();
    let (mut ptr, mut idx, mut values) =
        (Vec::with_capacity(rows + 1), Vec::with_capacity(rows), Vec::with_capacity(rows));
    ptr.push(0);
    for (own, x) in aggregates.iter().zip(candidate) {
        if let Some(&column) = columns.get(*own as usize).filter(|column| **column >= 0) {
            idx.push(column);
            values.push(x / coarse[column as usize]);
        }
        ptr.push(idx.len() as i64);
    }
    Tentative { ptr, idx, values, coarse, nodes: None }
}

fn of_several(aggregates: &[i64], count: usize, candidates: &[f64], k: usize) -> Tentative {
    let mut members: Vec<Vec<usize>> = vec![vec![]; count];
    for (row, own) in aggregates.iter().enumerate().filter(|(_, own)| **own >= 0) {
        members[*own as usize].push(row);
    }
    // The first column of each aggregate, and its columns one behind the other.
    let (mut coarse, mut nodes, mut firsts, mut parts) = (vec![], vec![], vec![], vec![]);
    for (aggregate, rows) in members.iter().enumerate() {
        firsts.push(nodes.len());
        let mut basis: Vec<Vec<f64>> = vec![];
        let mut factors: Vec<Vec<f64>> = vec![];
        for at in 0..k {
            let mut column: Vec<f64> = rows.iter().map(|row| candidates[row * k + at]).collect();
            let before = norm(&column);
            // Twice is enough for orthogonality (Parlett).
            for _ in 0..2 {
                for (own, factor) in basis.iter().zip(&mut factors) {
                    let part: f64 = own.iter().zip(&column).map(|(x, y)| x * y).sum();
                    column.iter_mut().zip(own).for_each(|(x, own)| *x -= part * own);
                    factor[at] += part;
                }
            }
            let size = norm(&column);
            if size > 1e-10 * before {
                column.iter_mut().for_each(|x| *x /= size);
                let mut row = vec![0.0; k];
                row[at] = size;
                basis.push(column);
                factors.push(row);
            }
        }
        nodes.resize(nodes.len() + basis.len(), aggregate as i64);
        coarse.extend(factors.concat());
        parts.push(basis);
    }
    let mut place = vec![0; count];
    let (mut ptr, mut idx, mut values) = (vec![0], vec![], vec![]);
    for &own in aggregates {
        if let Some(basis) = parts.get(own as usize) {
            let own = own as usize;
            for (at, column) in basis.iter().enumerate() {
                idx.push((firsts[own] + at) as i64);
                values.push(column[place[own]]);
            }
            place[own] += 1;
        }
        ptr.push(idx.len() as i64);
    }
    // Nodes are numbered from 0 without gaps.
    let mut last = (-1, -1);
    for node in &mut nodes {
        if *node != last.0 {
            last = (*node, last.1 + 1);
        }
        *node = last.1;
    }
    Tentative { ptr, idx, values, coarse, nodes: Some(nodes) }
}

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}
