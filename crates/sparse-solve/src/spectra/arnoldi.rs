//! Restarted Arnoldi iteration.

use super::block::{Block, gram, lengths, pick, random_block, scaled};
use super::dense::elements;
use super::judge::{Estimate, Judge, Next};
use super::report::Which;
use super::small::{Pairs, Small, beside, column_norm, columns, eig, largest, orthonormal, read, to_device};
use super::space::{self, Basis, Verdict};
use super::task::Task;
use crate::krylov::watch::Stopped;
use crate::operator::{LinearOperator, Operator};
use sparse_ops::Result;

/// Values of the divided matrix and vectors, by real and imaginary parts.
pub struct Complex {
    pub values: Vec<[f64; 2]>,
    pub real: Block,
    pub imag: Block,
}

pub struct Found {
    pub pairs: Complex,
    pub stopped: Stopped,
    pub iterations: usize,
}

pub struct Problem<'a, 'p> {
    pub task: &'a Task<'p>,
    /// Of the divided matrix.
    pub which: Which,
    pub inverse: Option<&'a Operator>,
}

/// The less, the better a value fits.
fn key([re, im]: [f64; 2], which: Which) -> f64 {
    match which {
        Which::Smallest => re,
        Which::Largest => -re,
        Which::Magnitude => -re.hypot(im),
        Which::Imaginary => -im.abs(),
        Which::Near(sigma) => (re - sigma).hypot(im),
    }
}

/// The positions of all values, the best first; conjugate ones side by side, the positive one first.
fn order(values: &[[f64; 2]], which: Which) -> Vec<usize> {
    // Conjugate ones are side by side: where their pair begins tells it from another one with the same values.
    let mut firsts: Vec<usize> = (0..values.len()).collect();
    let mut at = 0;
    while at + 1 < values.len() {
        if values[at][1] != 0.0 {
            firsts[at + 1] = at;
            at += 1;
        }
        at += 1;
    }
    let keys = |at: usize| {
        let [re, im] = values[at];
        [key(values[at], which), re, im.abs(), firsts[at] as f64, -im]
    };
    let mut all: Vec<usize> = (0..values.len()).collect();
    all.sort_by(|&i, &j| {
        let pairs = keys(i).into_iter().zip(keys(j));
        pairs.map(|(a, b)| a.total_cmp(&b)).find(|order| order.is_ne()).unwrap_or(i.cmp(&j))
    });
    all
}

/// At least `count`, without a cut through a conjugate pair.
fn whole(values: &[[f64; 2]], order: &[usize], count: usize) -> usize {
    let mut end = 0;
    while end < count.min(order.len()) {
        end += if values[order[end]][1] == 0.0 { 1 } else { 2 };
    }
    end.min(order.len())
}

impl Problem<'_, '_> {
    /// All values of a small matrix.
    pub fn dense(&self) -> Result<Found> {
        let (op, like) = (self.task.asked.op, &self.task.plain.like);
        let all = elements(op, &self.task.plain.a, like)?;
        self.task.count_products(all.ncols());
        let Pairs { values, vectors } = eig(op, &all)?;
        let best = order(&values, self.which);
        let best = &best[..whole(&values, &best, self.task.asked.count)];
        let [real, imag] = vectors.map(|own| to_device(&columns(&own, best), like));
        let values = best.iter().map(|&at| values[at]).collect();
        let pairs = self.unit(Complex { values, real, imag })?;
        Ok(Found { pairs, stopped: Stopped::Converged, iterations: 0 })
    }

    /// Krylov-Schur iteration (Stewart 2001), with a real basis of the invariant subspace that is kept.
    pub fn run(&self, start: Option<Block>, (size, width): (usize, usize)) -> Result<Found> {
        let (task, asked, op) = (self.task, &self.task.asked, self.task.asked.op);
        let apply = |x: &Block| -> Result<Block> {
            let Some(inverse) = self.inverse else { return task.apply(x) };
            task.count_products(x.dims()[1]);
            inverse.try_apply(x.clone())
        };
        let rows = task.plain.a.dims()[1];
        let basis =
            Basis { op, mass: None, project: None, blocks: vec![], room: rows, rows, seed: asked.seed.wrapping_add(2) };
        let inner = if self.inverse.is_some() { Which::Magnitude } else { self.which };
        let mut judge = Judge::new(task);
        let mut look = |all: &space::Decomposition<'_>| -> Result<Verdict<Found>> {
            let Pairs { values, vectors: [real, imag] } = eig(op, &all.t)?;
            let cols = values.len();
            let best = order(&values, inner);
            let count = whole(&values, &best, asked.count);
            let keep = (count + (cols - count) / 2).min(cols.saturating_sub(width + 1)).max(count);
            let keep = whole(&values, &best, keep).min(cols);
            let norm = largest(&all.t);
            let couplings = [&all.s * &real, &all.s * &imag];
            let length = |[re, im]: [&Small; 2], at: usize| column_norm(re, at).hypot(column_norm(im, at));
            let estimate = |&at: &usize| Estimate {
                key: key(values[at], inner),
                size: length(couplings.each_ref(), at) / length([&real, &imag], at).max(f64::MIN_POSITIVE),
                goal: task.estimated_goal(values[at][0].hypot(values[at][1]), norm, self.inverse.is_some()),
            };
            let chosen = &best[..count];
            let estimates: Vec<Estimate> = chosen.iter().map(estimate).collect();
            let next = best[..keep].get(count).map(estimate);
            let found = judge.next((all.iterations, all.s.nrows() == 0), &estimates, next, || {
                let [re, im] = [&real, &imag].map(|own| all.basis.times(&columns(own, chosen)));
                let found = chosen.iter().map(|&at| values[at]).collect();
                let pairs = self.quotients(self.unit(Complex { values: found, real: re, imag: im })?)?;
                let residuals = self.residuals(&pairs)?;
                Ok((pairs, residuals))
            })?;
            let subspace = |count: usize| real_basis(&values, [&real, &imag], &best[..count]);
            Ok(match found {
                Next::Done(pairs, stopped) => Verdict::Done(Found { pairs, stopped, iterations: all.iterations }),
                Next::Restart => Verdict::Restart(subspace(keep)),
                Next::Fresh => Verdict::Fresh(subspace(count)),
            })
        };
        space::run(basis, &apply, start, (size, width), task, &mut look)
    }

    /// The values that have the least residuals, `x^H A x`.
    fn quotients(&self, pairs: Complex) -> Result<Complex> {
        let Complex { values, real, imag } = pairs;
        let [ar, ai] = [self.task.apply(&real)?, self.task.apply(&imag)?];
        let [rr, ii, ri, ir] = read([&gram(&real, &ar), &gram(&imag, &ai), &gram(&real, &ai), &gram(&imag, &ar)]);
        let own = |at: usize| {
            let im = if values[at][1] == 0.0 { 0.0 } else { ri[(at, at)] - ir[(at, at)] };
            [rr[(at, at)] + ii[(at, at)], im]
        };
        let values: Vec<[f64; 2]> = (0..values.len()).map(own).collect();
        // Near a number the inverse turns the signs.
        let mut order: Vec<usize> = (0..values.len()).collect();
        let mut at = 0;
        while at + 1 < values.len() {
            if values[at][1] < 0.0 && values[at + 1][1] > 0.0 {
                order.swap(at, at + 1);
            }
            at += if values[at][1] == 0.0 { 1 } else { 2 };
        }
        let turned = order.iter().map(|&at| values[at]).collect();
        Ok(Complex { values: turned, real: pick(&real, &order), imag: pick(&imag, &order) })
    }

    /// Vectors of length 1 whose product with a fixed random one is real and positive.
    fn unit(&self, pairs: Complex) -> Result<Complex> {
        let Complex { values, real, imag } = pairs;
        let probe = random_block(usize::from(u16::MAX), [real.dims()[0], 1], &real);
        let [re, im] = read([&gram(&probe, &real), &gram(&probe, &imag)]);
        let [own, other] = lengths([&real, &imag]);
        let factor = |at: usize| {
            let (c, s) = (re[(0, at)], im[(0, at)]);
            let (size, length) = (c.hypot(s), own[at].hypot(other[at]).max(f64::MIN_POSITIVE));
            // A product of 0 has no phase.
            if size <= f64::MIN_POSITIVE { [length.recip(), 0.0] } else { [c / size / length, s / size / length] }
        };
        let factors: Vec<[f64; 2]> = (0..values.len()).map(factor).collect();
        let [cos, sin] = [0, 1].map(|part| factors.iter().map(|own| own[part]).collect::<Vec<_>>());
        Ok(Complex {
            real: scaled(&real, &cos) + scaled(&imag, &sin),
            imag: scaled(&imag, &cos) - scaled(&real, &sin),
            values,
        })
    }

    /// `A x - l x`, of each its size and what that may be.
    pub fn residuals(&self, pairs: &Complex) -> Result<Vec<[f64; 2]>> {
        let Complex { values, real, imag } = pairs;
        let [re, im] = [0, 1].map(|part| values.iter().map(|own| own[part]).collect::<Vec<_>>());
        let left = self.task.apply(real)? - scaled(real, &re) + scaled(imag, &im);
        let right = self.task.apply(imag)? - scaled(imag, &re) - scaled(real, &im);
        let [left, right] = lengths([&left, &right]);
        let pair = |at: usize| {
            let value = re[at].hypot(im[at]);
            let goal = self.task.goal(value, self.task.plain.norm.get() + value);
            [left[at].hypot(right[at]), goal]
        };
        Ok((0..values.len()).map(pair).collect())
    }
}

/// An orthonormal basis of the span of some vectors with their conjugate ones.
fn real_basis(values: &[[f64; 2]], [real, imag]: [&Small; 2], chosen: &[usize]) -> Small {
    let mut all = Small::zeros(real.nrows(), 0);
    for &at in chosen {
        match values[at][1] {
            0.0 => all = beside(&all, &columns(real, &[at])),
            im if im > 0.0 => all = beside(&all, &beside(&columns(real, &[at]), &columns(imag, &[at]))),
            _ => {}
        }
    }
    orthonormal(&all)
}
