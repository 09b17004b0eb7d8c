//! Block Krylov spaces that are restarted with a part of themselves.

use super::block::{Block, Orthonormal, check_positive, evened, gram, join, random_block, svqb_with, times};
use super::small::{Small, above, beside, column_norm, part, read};
use super::task::Task;
use crate::krylov::vectors::eps;
use burn::tensor::Tensor;
use sparse_ops::Result;

pub type Map<'a> = &'a dyn Fn(&Block) -> Result<Block>;

/// An orthonormal basis in a few blocks.
pub struct Basis<'a> {
    pub op: &'static str,
    /// `B x`, if orthogonal means `x^T B y = 0`.
    pub mass: Option<Map<'a>>,
    /// Removes what is left out.
    pub project: Option<&'a dyn Fn(Block) -> Block>,
    pub blocks: Vec<Block>,
    /// The dimension of the whole space.
    pub room: usize,
    pub rows: usize,
    pub seed: usize,
}

impl Basis<'_> {
    pub fn cols(&self) -> usize {
        self.blocks.iter().map(|own| own.dims()[1]).sum()
    }

    /// `V C`.
    pub fn times(&self, c: &Small) -> Block {
        let mut start = 0;
        let mut sum: Option<Block> = None;
        for own in &self.blocks {
            let end = start + own.dims()[1];
            let term = times(own, &part(c, start..end.min(c.nrows()), 0..c.ncols()));
            sum = Some(match sum {
                Some(sum) => sum + term,
                None => term,
            });
            start = end;
            if start >= c.nrows() {
                break;
            }
        }
        sum.expect("a basis has blocks")
    }

    /// `W = V H + Q R`: `H` and an orthonormal `Q`, with fewer columns where others are rounding.
    ///
    /// # Errors
    ///
    /// `invalid` if a number is not finite: the message says of which iteration.
    pub fn orthogonalised(&self, mut w: Block, iteration: usize) -> Result<(Small, Orthonormal)> {
        let count = w.dims()[1];
        let (mut h, mut r) = (Small::zeros(self.cols(), count), Small::identity(count, count));
        let mut round = 0;
        loop {
            w = self.project.map_or(w.clone(), |project| project(w.clone()));
            let image = self.mass.map(|mass| mass(&w)).transpose()?.unwrap_or_else(|| w.clone());
            let parts: Vec<Block> = self.blocks.iter().map(|own| gram(own, &image)).collect();
            for (own, part) in self.blocks.iter().zip(&parts) {
                w = w - own.clone().matmul(part.clone());
            }
            let mass = self.mass.map(|mass| mass(&w)).transpose()?;
            let none = || Tensor::zeros([0, w.dims()[1]], (&w.device(), w.dtype()));
            let parts = if parts.is_empty() { none() } else { Tensor::cat(parts, 0) };
            let [parts, mut own] = read([&parts, &gram(&w, mass.as_ref().unwrap_or(&w))]);
            check_positive(self.op, &w, mass.as_ref(), &own, iteration)?;
            let mut left = 1.0f64;
            for j in 0..own.ncols() {
                let size = own[(j, j)].max(0.0).sqrt();
                let share = size / size.hypot(column_norm(&parts, j)).max(f64::MIN_POSITIVE);
                if share <= 10.0 * eps(w.dtype()) {
                    (0..own.ncols()).for_each(|i| {
                        own[(i, j)] = 0.0;
                        own[(j, i)] = 0.0;
                    });
                } else {
                    left = left.min(share);
                }
            }
            let found = svqb_with(self.op, w, mass, &own, iteration)?;
            h += parts * &r;
            r = &found.r * &r;
            round += 1;
            let good = left * found.least > 0.5;
            if found.q.dims()[1] == 0 || round >= 2 && (good || round >= 4) {
                return Ok((h, Orthonormal { r, ..found }));
            }
            w = found.q;
        }
    }

    /// The first block: a start, of which at most half as many columns as are kept, and random vectors up to `width`.
    ///
    /// # Errors
    ///
    /// `invalid` if a number is not finite.
    pub fn begin(&mut self, start: Option<Block>, (most, width): (usize, usize), like: &Block) -> Result<()> {
        if let Some(start) = start.filter(|start| start.dims()[1] > 0) {
            let count = start.dims()[1].min((most / 2).max(width));
            let first = self.orthogonalised(evened(start.narrow(1, 0, count)), 0)?.1.q;
            self.blocks.extend((first.dims()[1] > 0).then_some(first));
        }
        if self.cols() < width {
            let rest = self.more(width - self.cols(), like, 0)?;
            self.blocks = vec![self.blocks.pop().map_or(rest.clone(), |first| join(first, rest))];
        }
        Ok(())
    }

    /// Random vectors that are orthonormal and orthogonal to the basis; none if there is no room.
    pub fn more(&mut self, count: usize, like: &Block, iteration: usize) -> Result<Block> {
        let room = count.min(self.room - self.cols().min(self.room));
        let mut out = Tensor::zeros([self.rows, 0], (&like.device(), like.dtype()));
        // Random columns are independent but for a chance of almost 0.
        for _ in 0..5 {
            if room == 0 || out.dims()[1] > 0 {
                break;
            }
            self.seed = self.seed.wrapping_add(1);
            (_, Orthonormal { q: out, .. }) =
                self.orthogonalised(random_block(self.seed, [self.rows, room], like), iteration)?;
        }
        Ok(out)
    }
}

/// `A V = V T + N S` with the next block `N`, of which `V` is all blocks but the last.
pub struct Decomposition<'a> {
    pub basis: Basis<'a>,
    pub t: Small,
    /// What couples the next block to `V`.
    pub s: Small,
    pub iterations: usize,
}

/// What follows after a look at the decomposition.
pub enum Verdict<T> {
    /// This is it.
    Done(T),
    /// Go on with these combinations `[cols of V, any]`, which span an invariant subspace of `T`.
    Restart(Small),
    /// Go on with these, which have converged, and with random vectors: these find what is there several times.
    Fresh(Small),
}

/// Extends the space to `most_cols` vectors and asks what to do, until it is done (Stewart 2001; Wu and Simon 2000).
/// `judge` must end it: it is told how many iterations there were.
///
/// # Errors
///
/// Those of the products and of `judge`; `invalid` if numbers are not finite.
pub fn run<'a, T>(
    mut basis: Basis<'a>,
    apply: Map<'_>,
    start: Option<Block>,
    (most_cols, width): (usize, usize),
    task: &Task<'_>,
    judge: &mut dyn FnMut(&Decomposition<'a>) -> Result<Verdict<T>>,
) -> Result<T> {
    basis.begin(start, (most_cols, width), &task.plain.like)?;
    let empty = || Small::zeros(0, 0);
    let mut all = Decomposition { basis, t: empty(), s: empty(), iterations: 0 };
    loop {
        let before = all.iterations;
        loop {
            let next = all.basis.blocks.last().expect("a basis has blocks").clone();
            let (count, cols) = (next.dims()[1], all.basis.cols());
            if count == 0 || cols > most_cols && all.iterations > before {
                break;
            }
            if all.iterations > before && task.ends(all.iterations) && all.t.ncols() >= task.asked.count {
                break;
            }
            all.iterations += 1;
            let (h, found) = all.basis.orthogonalised(apply(&next)?, all.iterations)?;
            // The rows of the next block, then the columns of its product.
            let t = above(&all.t, &part(&all.s, 0..count.min(all.s.nrows()), 0..all.t.ncols()));
            all.t = beside(&padded(&t, cols, cols - count), &h);
            let rank = found.q.dims()[1];
            all.s = beside(&Small::zeros(rank, cols - count), &found.r);
            let q = match rank {
                0 => {
                    // An invariant subspace: go on elsewhere, which nothing couples to it.
                    let q = all.basis.more(width, &next, all.iterations)?;
                    all.s = Small::zeros(q.dims()[1], cols);
                    q
                }
                _ => found.q,
            };
            all.basis.blocks.push(q);
        }
        let (keep, fresh) = match judge(&all)? {
            Verdict::Done(out) => return Ok(out),
            Verdict::Restart(keep) => (keep, false),
            Verdict::Fresh(keep) => (keep, true),
        };
        let mut next = all.basis.blocks.pop().expect("a basis has blocks");
        let kept = all.basis.times(&keep);
        all.t = keep.transpose() * &all.t * &keep;
        all.s = &all.s * &keep;
        all.basis.blocks = vec![kept];
        if fresh {
            next = all.basis.more(width, &task.plain.like, all.iterations)?;
            all.s = Small::zeros(next.dims()[1], keep.ncols());
        }
        all.basis.blocks.push(next);
    }
}

/// With zeros below.
fn padded(matrix: &Small, rows: usize, cols: usize) -> Small {
    Small::from_fn(rows, cols, |i, j| if i < matrix.nrows() && j < matrix.ncols() { matrix[(i, j)] } else { 0.0 })
}
