//! Restarted bidiagonalisation.

use super::block::{Block, join, lengths, pick, scaled};
use super::dense::elements;
use super::judge::{Estimate, Judge, Next};
use super::small::{Small, above, beside, column_norm, columns, diagonal, part, svd, to_device};
use super::space::Basis;
use super::task::Task;
use crate::krylov::vectors::eps;
use crate::krylov::watch::Stopped;
use crate::operator::{LinearOperator, Operator};
use burn::tensor::Tensor;
use sparse_ops::Result;

/// Of the divided matrix: left vectors, values and right vectors.
pub struct Triplets {
    pub left: Block,
    pub values: Vec<f64>,
    pub right: Block,
    pub stopped: Stopped,
    pub iterations: usize,
}

/// A matrix with at least as many rows as columns, and its transposed one.
pub struct Problem<'a, 'p> {
    pub task: &'a Task<'p>,
    pub a: Operator,
    pub transposed: Operator,
    pub smallest: bool,
}

pub fn basis<'b>(op: &'static str, rows: usize, seed: usize, blocks: Vec<Block>) -> Basis<'b> {
    Basis { op, mass: None, project: None, blocks, room: rows, rows, seed }
}

/// Orthonormal columns in the place of those that are 0, and of those that are missing.
///
/// # Errors
///
/// `invalid` if a number is not finite.
pub fn completed(op: &'static str, x: Block, count: usize) -> Result<Block> {
    let [sizes] = lengths([&x]);
    let good: Vec<usize> = (0..sizes.len()).filter(|&at| sizes[at] > 0.5).collect();
    if good.len() == count {
        return Ok(x);
    }
    let rows = x.dims()[0];
    let known = pick(&x, &good);
    let blocks = if good.is_empty() { vec![] } else { vec![known.clone()] };
    let more = basis(op, rows, 7, blocks).more(count - good.len(), &x, 0)?;
    let all = join(known, more);
    // Where each column comes from.
    let (mut next, mut from) = (good.len(), vec![]);
    for at in 0..count {
        match good.iter().position(|own| *own == at) {
            Some(place) => from.push(place),
            None => {
                from.push(next);
                next += 1;
            }
        }
    }
    Ok(pick(&all, &from))
}

impl Problem<'_, '_> {
    pub fn apply(&self, x: &Block) -> Result<Block> {
        self.task.count_products(x.dims()[1]);
        self.a.try_apply(x.clone())
    }

    pub fn apply_transposed(&self, x: &Block) -> Result<Block> {
        self.task.count_products(x.dims()[1]);
        self.transposed.try_apply(x.clone())
    }

    /// `(A v - s u, A^T u - s v)`, of each its size and what that may be; for a value of 0 of the first part only.
    pub fn residuals(&self, found: &Triplets) -> Result<Vec<[f64; 2]>> {
        let top = self.apply(&found.right)? - scaled(&found.left, &found.values);
        let bottom = self.apply_transposed(&found.left)? - scaled(&found.right, &found.values);
        let [top, bottom] = lengths([&top, &bottom]);
        let norm = self.task.plain.norm.get();
        let pair = |at: usize| {
            let value = found.values[at];
            let goal = self.task.goal(value, norm + value);
            let bottom = if self.is_zero(value, norm) { 0.0 } else { bottom[at] };
            [top[at].hypot(bottom), goal]
        };
        Ok((0..found.values.len()).map(pair).collect())
    }

    /// Whether a value is 0 up to rounding.
    fn is_zero(&self, value: f64, norm: f64) -> bool {
        value <= 10.0 * eps(self.task.plain.like.dtype()) * norm
    }

    fn order(&self, count: usize, keep: usize) -> Vec<usize> {
        (0..keep).map(|at| if self.smallest { count - 1 - at } else { at }).collect()
    }

    /// Of a matrix with few columns.
    pub fn dense(&self) -> Result<Triplets> {
        let (op, like) = (self.task.asked.op, &self.task.plain.like);
        let all = elements(op, &self.a, like)?;
        self.task.count_products(all.ncols());
        let (left, values, right) = svd(op, &all)?;
        let order = self.order(values.len(), self.task.asked.count);
        let device = |own: &Small| to_device(&columns(own, &order), like);
        let values = order.iter().map(|&at| values[at]).collect();
        Ok(Triplets { left: device(&left), values, right: device(&right), stopped: Stopped::Converged, iterations: 0 })
    }

    /// Lanczos bidiagonalisation with blocks and full orthogonalisation, restarted with the triplets that are wanted
    /// (Baglama and Reichel 2005): `A V = U T` and `A^T U = V T^T + N S`, with the next block `N`.
    pub fn run(&self, start: Option<Block>, (size, width): (usize, usize)) -> Result<Triplets> {
        let (asked, op, like) = (&self.task.asked, self.task.asked.op, &self.task.plain.like);
        let [rows, cols] = self.a.dims();
        let mut u = basis(op, rows, asked.seed.wrapping_add(2), vec![]);
        let mut v = basis(op, cols, asked.seed.wrapping_add(3), vec![]);
        let none = || Tensor::zeros([cols, 0], (&like.device(), like.dtype()));
        v.begin(start, (size, width), like)?;
        let (mut t, mut s) = (Small::zeros(0, 0), Small::zeros(0, 0));
        let (mut iterations, mut judge) = (0, Judge::new(self.task));
        loop {
            let before = iterations;
            loop {
                let next = v.blocks.last().expect("a basis has blocks").clone();
                let count = next.dims()[1];
                if count == 0 || v.cols() > size && iterations > before {
                    break;
                }
                if iterations > before && self.task.ends(iterations) && t.ncols() >= asked.count {
                    break;
                }
                iterations += 1;
                let (c, found) = u.orthogonalised(self.apply(&next)?, iterations)?;
                let rank = found.q.dims()[1];
                let old = t.ncols();
                t = above(&beside(&t, &c), &beside(&Small::zeros(rank, old), &found.r));
                let mut q = none();
                if rank > 0 {
                    u.blocks.push(found.q.clone());
                    let (_, found) = v.orthogonalised(self.apply_transposed(&found.q)?, iterations)?;
                    q = found.q;
                    s = beside(&Small::zeros(q.dims()[1], u.cols() - rank), &found.r);
                }
                if q.dims()[1] == 0 {
                    // An invariant subspace: go on elsewhere, which nothing couples to it.
                    q = v.more(width, &next, iterations)?;
                    s = Small::zeros(q.dims()[1], u.cols());
                }
                v.blocks.push(q);
            }
            let (mine, all) = (u.cols(), t.ncols());
            // At least as many rows as columns: the vectors of values of 0 too.
            let square = above(&t, &Small::zeros(all.saturating_sub(t.nrows()), all));
            let (left, values, right) = svd(op, &square)?;
            let left = part(&left, 0..mine, 0..left.ncols());
            let count = asked.count.min(all);
            let keep = (count + (all - count) / 2).min(all.saturating_sub(width)).max(count);
            let order = self.order(all, keep);
            let norm = values.first().copied().unwrap_or(0.0);
            self.task.plain.saw(norm);
            let best = columns(&left, &order);
            let coupling = &s * &best;
            let estimate = |at: usize| {
                let key = values[order[at]];
                let goal = self.task.estimated_goal(key, norm, false);
                Estimate { key, size: column_norm(&coupling, at), goal }
            };
            let wanted = |at: usize| match estimate(at) {
                // The left vector of a value of 0 is any one.
                own if self.is_zero(own.key, norm) => Estimate { size: 0.0, ..own },
                own => own,
            };
            let estimates: Vec<Estimate> = (0..count).map(wanted).collect();
            let next_value = (keep > count).then(|| estimate(count));
            let next = v.blocks.pop().expect("a basis has blocks");
            let lefts = match u.blocks.is_empty() {
                true => Tensor::zeros([rows, keep], (&like.device(), like.dtype())),
                false => u.times(&best),
            };
            let rights = v.times(&columns(&right, &order));
            let kept: Vec<f64> = order.iter().map(|&at| values[at]).collect();
            let found = judge.next((iterations, s.nrows() == 0), &estimates, next_value, || {
                let found = Triplets {
                    left: completed(op, lefts.clone().narrow(1, 0, count), count)?,
                    values: kept[..count].to_vec(),
                    right: rights.clone().narrow(1, 0, count),
                    stopped: Stopped::Stagnated,
                    iterations,
                };
                let residuals = self.residuals(&found)?;
                Ok((found, residuals))
            })?;
            match found {
                Next::Done(found, stopped) => return Ok(Triplets { stopped, ..found }),
                Next::Fresh => {
                    t = diagonal(&kept[..count]);
                    u.blocks = vec![lefts.narrow(1, 0, count)];
                    v.blocks = vec![rights.narrow(1, 0, count)];
                    let next = v.more(width, like, iterations)?;
                    s = Small::zeros(next.dims()[1], count);
                    v.blocks.push(next);
                }
                Next::Restart => {
                    t = diagonal(&kept);
                    s = coupling;
                    u.blocks = vec![lefts];
                    v.blocks = vec![rights, next];
                }
            }
        }
    }
}
