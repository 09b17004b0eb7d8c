//! Generalised minimal residuals, for any square matrix.

use super::system::{Point, System};
use super::vectors::{Numbers, Vectors, dot, eps, from_host, unit};
use super::watch::{Column, Watch, columns};
use burn::tensor::Tensor;
use sparse_ops::Result;
use sparse_ops::extend::read_data;

/// One cycle of Saad and Schultz 1986 with at most `restart` directions, preconditioned on the right. `flexible`: the
/// preconditioner may be another one in each iteration (Saad 1993); that keeps twice as many vectors.
///
/// Coefficients stay on the device until somebody looks. The small least-squares problems are solved on the host.
pub fn cycle(
    system: &System<'_>,
    Point { x, residual, .. }: Point,
    (restart, flexible): (usize, bool),
    start: &[Column],
    watch: &mut Watch<'_>,
) -> Result<Vectors> {
    let (direction, first) = unit(residual);
    let mut basis = vec![direction];
    let mut images: Vec<Vectors> = vec![];
    let epsilon = eps(first.dtype());
    let mut rotations: Vec<Rotations> = start.iter().map(|column| Rotations::new(column.residual, epsilon)).collect();
    let mut unread: Vec<Numbers> = vec![];
    loop {
        let last = basis.last().expect("it begins with one");
        let near = system.precondition(last)?;
        let mut image = system.apply(&near)?;
        if flexible {
            images.push(near);
        }
        let mut column = Vec::with_capacity(basis.len() + 1);
        for direction in &basis {
            let along = dot(direction, &image);
            image = image - direction.clone() * along.clone();
            column.push(along);
        }
        let (direction, size) = unit(image);
        basis.push(direction);
        column.push(size);
        unread.push(Tensor::cat(column, 1));
        watch.iterations += 1;
        let full = basis.len() > restart;
        if !full && !watch.is_due() {
            continue;
        }
        for column in read_columns(std::mem::take(&mut unread)) {
            for (at, own) in rotations.iter_mut().enumerate() {
                own.push(column.iter().map(|entries| entries[at]).collect());
            }
        }
        let residuals: Vec<f64> = rotations.iter().map(|own| own.residual).collect();
        let now = columns(&residuals, None);
        let stuck = rotations.iter().zip(watch.open(&now)).all(|(own, open)| own.is_over() || !open);
        let ends = watch.judge(&now) || stuck;
        if ends || full {
            watch.full = !ends;
            break;
        }
    }
    // A column that is solved stays.
    let solve = |(own, open): (&Rotations, bool)| if open { own.solve() } else { vec![0.0; own.columns.len()] };
    let solutions: Vec<Vec<f64>> = rotations.iter().zip(watch.open(start)).map(solve).collect();
    let factor = |step: usize| from_host(solutions.iter().map(|own| own[step]).collect(), &first);
    let directions = if flexible { &images } else { &basis[..basis.len() - 1] };
    let sum = directions.iter().enumerate().map(|(step, own)| own.clone() * factor(step)).reduce(|sum, own| sum + own);
    let sum = sum.expect("at least one direction");
    Ok(x + if flexible { sum } else { system.precondition(&sum)? })
}

/// For each iteration its coefficients: a list for each basis vector, with a number for each column of the systems.
fn read_columns(columns: Vec<Numbers>) -> Vec<Vec<Vec<f64>>> {
    let heights: Vec<usize> = columns.iter().map(|column| column.dims()[1]).collect();
    let all = Tensor::cat(columns, 1);
    let [systems, height, width] = all.dims();
    let list: Vec<f64> = read_data(all).convert::<f64>().iter().collect();
    let entry = |row: usize| {
        (0..systems).flat_map(|system| list[(system * height + row) * width..][..width].iter().copied()).collect()
    };
    let mut rows = (0..height).map(entry);
    heights.iter().map(|&height| rows.by_ref().take(height).collect()).collect()
}

/// The triangular factor of one column's small problem, by Givens rotations.
struct Rotations {
    columns: Vec<Vec<f64>>,
    turns: Vec<[f64; 2]>,
    right: Vec<f64>,
    residual: f64,
    epsilon: f64,
    /// A column is made of those before, so no direction follows that comes from the right-hand side.
    is_broken: bool,
}

impl Rotations {
    fn new(size: f64, epsilon: f64) -> Self {
        let (columns, turns, right) = (vec![], vec![], vec![size]);
        Self { columns, turns, right, residual: size, epsilon, is_broken: false }
    }

    /// Whether no direction takes anything of the residual any more.
    fn is_over(&self) -> bool {
        self.is_broken || !self.residual.is_finite()
    }

    fn push(&mut self, mut column: Vec<f64>) {
        if self.is_broken {
            self.columns.push(vec![0.0; column.len()]);
            self.right.push(0.0);
            return;
        }
        let whole = column.iter().fold(0.0, |size: f64, own| size.hypot(*own));
        for (at, [cos, sin]) in self.turns.iter().enumerate() {
            let [a, b] = [column[at], column[at + 1]];
            (column[at], column[at + 1]) = (cos * a + sin * b, cos * b - sin * a);
        }
        let at = self.turns.len();
        let [a, b] = [column[at], column[at + 1]];
        let size = a.hypot(b);
        // What rounding leaves of a column that is made of those before takes nothing of the residual (Brown and Walker
        // 1997).
        self.is_broken = size <= 10.0 * self.epsilon * whole;
        let (pivot, [cos, sin]) = if self.is_broken { (0.0, [0.0, 1.0]) } else { (size, [a / size, b / size]) };
        column[at] = pivot;
        column.truncate(at + 1);
        self.turns.push([cos, sin]);
        self.columns.push(column);
        let left = self.right[at];
        self.right[at] = cos * left;
        self.right.push(-sin * left);
        self.residual = self.right[at + 1].abs();
    }

    /// A direction that the matrix maps to nothing new gets 0.
    fn solve(&self) -> Vec<f64> {
        let mut out = self.right[..self.columns.len()].to_vec();
        for at in (0..out.len()).rev() {
            let pivot = self.columns[at][at];
            out[at] = if pivot == 0.0 { 0.0 } else { out[at] / pivot };
            for above in 0..at {
                out[above] -= self.columns[at][above] * out[at];
            }
        }
        out
    }
}
