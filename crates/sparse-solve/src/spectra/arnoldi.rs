//! Restarted Arnoldi iteration.

use super::block::{Block, eps, gram, lengths, pick, random_block, scaled};
use super::dense::elements;
use super::pencil::{Asked, Plain, Tally};
use super::report::Which;
use super::small::{Pairs, Small, beside, column_norm, columns, eig, largest, orthonormal, read, to_device};
use super::space::{self, Basis, Proof, Verdict};
use crate::krylov::watch::Stopped;
use crate::operator::{LinearOperator, Operator};
use sparse_ops::Result;

/// How often the true residuals may be larger than the estimates said.
const TRIES: usize = 6;

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
    pub asked: &'a Asked,
    pub plain: &'a Plain,
    pub tally: &'a Tally<'p>,
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
    fn apply(&self, x: &Block) -> Result<Block> {
        self.tally.products.set(self.tally.products.get() + x.dims()[1]);
        self.plain.a.try_apply(x.clone())
    }

    /// All values of a small matrix.
    pub fn dense(&self) -> Result<Found> {
        let (op, like) = (self.asked.op, &self.plain.like);
        let all = elements(op, &self.plain.a, like)?;
        self.tally.products.set(self.tally.products.get() + all.ncols());
        let Pairs { values, vectors } = eig(op, &all)?;
        let best = order(&values, self.which);
        let best = &best[..whole(&values, &best, self.asked.count)];
        let [real, imag] = vectors.map(|own| to_device(&columns(&own, best), like));
        let values = best.iter().map(|&at| values[at]).collect();
        let pairs = self.unit(Complex { values, real, imag })?;
        Ok(Found { pairs, stopped: Stopped::Converged, iterations: 0 })
    }

    /// Krylov-Schur iteration (Stewart 2001), with a real basis of the invariant subspace that is kept.
    pub fn run(&self, start: Option<Block>, (size, width): (usize, usize)) -> Result<Found> {
        let (asked, op) = (self.asked, self.asked.op);
        let apply = |x: &Block| -> Result<Block> {
            let Some(inverse) = self.inverse else { return self.apply(x) };
            self.tally.products.set(self.tally.products.get() + x.dims()[1]);
            inverse.try_apply(x.clone())
        };
        let rows = self.plain.a.dims()[1];
        let basis =
            Basis { op, mass: None, project: None, blocks: vec![], room: rows, rows, seed: asked.seed.wrapping_add(2) };
        let inner = if self.inverse.is_some() { Which::Magnitude } else { self.which };
        let (mut tight, mut tries, mut proof) = (1.0, 0, Proof::default());
        let mut judge = |all: &space::Decomposition<'_>| -> Result<Verdict<Found>> {
            let Pairs { values, vectors: [real, imag] } = eig(op, &all.t)?;
            let cols = values.len();
            let best = order(&values, inner);
            let count = whole(&values, &best, asked.count);
            let norm = largest(&all.t);
            let couplings = [&all.s * &real, &all.s * &imag];
            let goal = |at: usize| {
                let value = values[at][0].hypot(values[at][1]);
                let absolute = if self.inverse.is_none() { asked.absolute / self.plain.size } else { 0.0 };
                (asked.relative * value).max(absolute).max(10.0 * eps(self.plain.like.dtype()) * norm)
            };
            let size_of = |at: usize| {
                let unit = column_norm(&real, at).hypot(column_norm(&imag, at)).max(f64::MIN_POSITIVE);
                column_norm(&couplings[0], at).hypot(column_norm(&couplings[1], at)) / unit
            };
            let share = |at: usize| size_of(at) / (goal(at) * tight).max(f64::MIN_POSITIVE);
            let worst = best[..count].iter().map(|&at| share(at)).fold(0.0, f64::max);
            let cancelled = self.tally.tell(all.iterations, worst * tight);
            let (full, over) = (all.s.nrows() == 0, all.iterations >= asked.most);
            let keep = (count + (cols - count) / 2).min(cols.saturating_sub(width + 1)).max(count);
            let keep = whole(&values, &best, keep).min(cols);
            let subspace = |count: usize| real_basis(&values, [&real, &imag], &best[..count]);
            if worst <= 1.0 || full || over || cancelled {
                let chosen = &best[..count];
                let [re, im] = [&real, &imag].map(|own| all.basis.times(&columns(own, chosen)));
                let found = chosen.iter().map(|&at| values[at]).collect();
                let pairs = self.quotients(self.unit(Complex { values: found, real: re, imag: im })?)?;
                let residuals = self.residuals(&pairs)?;
                let good = residuals.iter().all(|[size, goal]| size <= goal);
                tries += usize::from(!good && worst <= 1.0);
                if good && !full && !over && !cancelled {
                    let keys: Vec<f64> = chosen.iter().map(|&at| key(values[at], inner)).collect();
                    let goals: Vec<f64> = chosen.iter().map(|&at| goal(at)).collect();
                    if proof.is_open(&keys, &goals) {
                        proof.holds(&keys, &goals, None);
                        return Ok(Verdict::Fresh(subspace(count)));
                    }
                    let next = best[..keep].get(count).map(|&at| (key(values[at], inner), size_of(at), goal(at)));
                    if !proof.holds(&keys, &goals, next) {
                        return Ok(Verdict::Restart(subspace(keep)));
                    }
                }
                if good || full || over || cancelled || tries >= TRIES {
                    let stopped = match (good, cancelled, over) {
                        (true, ..) => Stopped::Converged,
                        (_, true, _) => Stopped::Cancelled,
                        (_, _, true) => Stopped::Iterations,
                        _ => Stopped::Stagnated,
                    };
                    return Ok(Verdict::Done(Found { pairs, stopped, iterations: all.iterations }));
                }
                tight *= 0.1;
            }
            Ok(Verdict::Restart(subspace(keep)))
        };
        space::run(basis, &apply, start, (size, width), &self.plain.like, (asked, self.tally), &mut judge)
    }

    /// The values that have the least residuals, `x^H A x`.
    fn quotients(&self, pairs: Complex) -> Result<Complex> {
        let Complex { values, real, imag } = pairs;
        let [ar, ai] = [self.apply(&real)?, self.apply(&imag)?];
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
        let left = self.apply(real)? - scaled(real, &re) + scaled(imag, &im);
        let right = self.apply(imag)? - scaled(imag, &re) - scaled(real, &im);
        let [left, right] = lengths([&left, &right]);
        let pair = |at: usize| {
            let value = re[at].hypot(im[at]);
            let rounding = 10.0 * eps(real.dtype()) * (self.plain.norm.get() + value);
            let goal = (self.asked.relative * value).max(self.asked.absolute / self.plain.size).max(rounding);
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
