//! The matrix of the coarsest level.

/// The pseudo-inverse of a symmetric positive semidefinite matrix `[n, n]`, symmetric and semidefinite itself. A row's
/// pivot that is at most its number of `least` counts as 0.
///
/// With `A = L L^T` by Cholesky with pivots, where `L` has as many columns as `A` has rank, it is `X^T X` with
/// `X = (L^T L)^-1 L^T`. `O(n^3)`, serial. Source: Courrieu, *Fast computation of Moore-Penrose inverse
/// matrices*, 2005.
///
/// # Panics
///
/// If `a` has not `n * n` numbers, or `least` not `n`.
pub fn pseudo_inverse(a: &[f64], n: usize, least: &[f64]) -> Vec<f64> {
    assert_eq!(a.len(), n * n, "pseudo_inverse: the matrix must be square");
    assert_eq!(least.len(), n, "pseudo_inverse: each row must have a least pivot");
    let columns = cholesky(a.to_vec(), n, least);
    let rank = columns.len();
    let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    let mut gram = vec![0.0; rank * rank];
    for i in 0..rank {
        for j in 0..=i {
            gram[i * rank + j] = dot(&columns[i], &columns[j]);
            gram[j * rank + i] = gram[i * rank + j];
        }
    }
    // Without pivots: it has full rank.
    for i in 0..rank {
        for j in 0..=i {
            let sum = gram[i * rank + j] - dot(&gram[i * rank..][..j], &gram[j * rank..][..j]);
            gram[i * rank + j] = if i == j { sum.max(f64::MIN_POSITIVE).sqrt() } else { sum / gram[j * rank + j] };
        }
    }
    let mut x = columns;
    let subtract = |x: &mut [Vec<f64>], to: usize, from: usize, factor: f64| {
        let [to, from] = x.get_disjoint_mut([to, from]).expect("two rows");
        to.iter_mut().zip(from).for_each(|(to, from)| *to -= factor * *from);
    };
    for i in 0..rank {
        (0..i).for_each(|j| subtract(&mut x, i, j, gram[i * rank + j]));
        x[i].iter_mut().for_each(|x| *x /= gram[i * rank + i]);
    }
    for i in (0..rank).rev() {
        (i + 1..rank).for_each(|j| subtract(&mut x, i, j, gram[j * rank + i]));
        x[i].iter_mut().for_each(|x| *x /= gram[i * rank + i]);
    }
    let mut out = vec![0.0; n * n];
    for row in &x {
        for (i, &factor) in row.iter().enumerate().filter(|(_, factor)| **factor != 0.0) {
            out[i * n..][..n].iter_mut().zip(row).for_each(|(out, x)| *out += factor * x);
        }
    }
    out
}

/// The columns of `L`, of which there are as many as the matrix has rank.
fn cholesky(mut rest: Vec<f64>, n: usize, least: &[f64]) -> Vec<Vec<f64>> {
    let mut columns: Vec<Vec<f64>> = vec![];
    let mut done = vec![false; n];
    while columns.len() < n {
        // None is open whose pivot is no number.
        let open = (0..n).filter(|&i| !done[i] && rest[i * n + i] > least[i] && rest[i * n + i].is_finite());
        let Some(pivot) = open.reduce(|a, b| if rest[b * n + b] > rest[a * n + a] { b } else { a }) else { break };
        let root = rest[pivot * n + pivot].sqrt();
        let column: Vec<f64> = (0..n).map(|i| if done[i] { 0.0 } else { rest[pivot * n + i] / root }).collect();
        for i in (0..n).filter(|&i| column[i] != 0.0) {
            let factor = column[i];
            rest[i * n..][..n].iter_mut().zip(&column).for_each(|(rest, x)| *rest -= factor * x);
        }
        done[pivot] = true;
        columns.push(column);
    }
    columns
}
