//! Thick-restart Lanczos.

use super::block::{Block, eps, gram, lengths, scaled, times};
use super::dense::wanted;
use super::pencil::{Found, Pencil};
use super::report::Which;
use super::small::{Small, check_finite, column_norm, columns, eigh, read};
use super::space::{self, Basis, Proof, Verdict};
use crate::krylov::watch::Stopped;
use crate::operator::{LinearOperator, Operator};
use faer::linalg::solvers::Solve;
use sparse_ops::Result;

/// How often the true residuals may be larger than the estimates said.
const TRIES: usize = 6;

/// How many vectors are kept.
pub fn basis_size(asked: Option<usize>, count: usize, block: usize) -> usize {
    let least = count.saturating_add(block.max(1).saturating_mul(3));
    asked.unwrap_or(count.saturating_mul(2).saturating_add(8).max(24)).max(least)
}

/// The eigenvalues of `A`, or with an inverse of `A - sigma B` those of `A v = l B v` near `sigma` by `l = sigma + 1 /
/// t`. (Wu and Simon 2000; Ericsson and Ruhe 1980 for the inverse.)
///
/// # Errors
///
/// Those of the products; `invalid` if numbers are not finite.
pub fn run(
    pencil: &Pencil<'_, '_>,
    which: Which,
    inverse: Option<&Operator>,
    start: Option<Block>,
    (size, width): (usize, usize),
) -> Result<Found> {
    let (asked, op) = (pencil.asked, pencil.op());
    let room = pencil.n() - pencil.left_out();
    let correction = inverse.map(|inverse| correction(pencil, inverse)).transpose()?.flatten();
    let apply = |x: &Block| -> Result<Block> {
        let Some(inverse) = inverse else { return pencil.apply(x) };
        pencil.tally.products.set(pencil.tally.products.get() + x.dims()[1]);
        let out = inverse.try_apply(pencil.mass(x)?.unwrap_or_else(|| x.clone()))?;
        Ok(match (&correction, &pencil.deflated) {
            (Some(own), Some([_, image])) => out.clone() - own.clone().matmul(gram(image, &out)),
            _ => out,
        })
    };
    let mass = |x: &Block| -> Result<Block> { pencil.mass(x).map(|image| image.unwrap_or_else(|| x.clone())) };
    let project = |x: Block| pencil.project(x);
    let basis = Basis {
        op,
        mass: pencil.b.is_some().then_some(&mass),
        project: pencil.deflated.is_some().then_some(&project),
        blocks: vec![],
        room,
        rows: pencil.n(),
        seed: asked.seed.wrapping_add(2),
    };
    let inner = if inverse.is_some() { Which::Magnitude } else { which };
    let (mut tight, mut tries, mut proof) = (1.0, 0, Proof::default());
    let mut judge = |all: &space::Decomposition<'_>| -> Result<Verdict<Found>> {
        let (values, vectors) = eigh(op, &all.t)?;
        let cols = values.len();
        let count = asked.count.min(cols);
        let keep = (asked.count + (cols - count) / 2).min(cols.saturating_sub(width)).max(count);
        let order = wanted(&values, inner, keep);
        let best = columns(&vectors, &order);
        let norm = values.iter().fold(0.0f64, |most, value| most.max(value.abs()));
        if inverse.is_none() {
            pencil.plain.saw(norm);
        }
        let coupling = &all.s * &best;
        let goal = |at: usize| {
            let rounding = 10.0 * eps(pencil.plain.like.dtype()) * norm;
            let absolute = if inverse.is_none() { asked.absolute / pencil.plain.size } else { 0.0 };
            (asked.relative * values[order[at]].abs()).max(absolute).max(rounding)
        };
        let size = |at: usize| column_norm(&coupling, at);
        let share = |at: usize| size(at) / (goal(at) * tight).max(f64::MIN_POSITIVE);
        let worst = (0..count).map(share).fold(0.0, f64::max);
        let cancelled = pencil.tally.tell(all.iterations, worst * tight);
        // A space that cannot grow is all there is.
        let full = all.s.nrows() == 0;
        let over = all.iterations >= asked.most;
        if worst <= 1.0 || full || over || cancelled {
            let found = ritz(pencil, all, &columns(&best, &(0..count).collect::<Vec<_>>()))?;
            let (_, residuals) = pencil.residuals(&found.0, &found.1, &found.2, found.3.as_ref());
            let good = residuals.iter().all(|[size, goal]| size <= goal);
            tries += usize::from(!good && worst <= 1.0);
            if good && !full && !over && !cancelled {
                let key =
                    |at: usize| if inner == Which::Magnitude { values[order[at]].abs() } else { values[order[at]] };
                let keys: Vec<f64> = (0..count).map(key).collect();
                let goals: Vec<f64> = (0..count).map(goal).collect();
                if proof.is_open(&keys, &goals) {
                    proof.holds(&keys, &goals, None);
                    return Ok(Verdict::Fresh(columns(&best, &(0..count).collect::<Vec<_>>())));
                }
                let next = (keep > count).then(|| (key(count), size(count), goal(count)));
                if !proof.holds(&keys, &goals, next) {
                    return Ok(Verdict::Restart(best));
                }
            }
            if good || full || over || cancelled || tries >= TRIES {
                let stopped = match (good, cancelled, over) {
                    (true, ..) => Stopped::Converged,
                    (_, true, _) => Stopped::Cancelled,
                    (_, _, true) => Stopped::Iterations,
                    _ => Stopped::Stagnated,
                };
                let (values, vectors, ..) = found;
                return Ok(Verdict::Done(Found { values, vectors, stopped, iterations: all.iterations }));
            }
            tight *= 0.1;
        }
        Ok(Verdict::Restart(best))
    };
    space::run(basis, &apply, start, (size, width), &pencil.plain.like, (asked, pencil.tally), &mut judge)
}

/// `Z (Y^T B Z)^-1` with `Z = (A - sigma B)^-1 B Y` of what is left out: with it, the inverse is that of `A - sigma B`
/// on the rest. `None` where `Y` are eigenvectors: then it is so without it.
///
/// # Errors
///
/// Those of the products; `invalid` if there is no such inverse.
fn correction(pencil: &Pencil<'_, '_>, inverse: &Operator) -> Result<Option<Block>> {
    let Some([y, image]) = &pencil.deflated else { return Ok(None) };
    let product = pencil.apply(y)?;
    let off = product.clone() - image.clone().matmul(gram(y, &product));
    let [off, product, image_size] = lengths([&off, &product, image]);
    let norm = pencil.plain.norm.get();
    if (0..off.len()).all(|at| off[at] <= 1e-5 * product[at].max(norm * image_size[at])) {
        return Ok(None);
    }
    let z = inverse.try_apply(image.clone())?;
    let [inner] = read([&gram(image, &z)]);
    check_finite(pencil.op(), &inner, 0)?;
    let inner = inner.partial_piv_lu().solve(Small::identity(inner.nrows(), inner.nrows()));
    check_finite(pencil.op(), &inner, 0)?;
    Ok(Some(times(&z, &inner)))
}

/// Values, vectors, and their products with `A` and `B`, in the space of some combinations.
fn ritz(
    pencil: &Pencil<'_, '_>,
    all: &space::Decomposition<'_>,
    best: &Small,
) -> Result<(Vec<f64>, Block, Block, Option<Block>)> {
    let x = pencil.project(all.basis.times(best));
    let (image, mass) = (pencil.apply(&x)?, pencil.mass(&x)?);
    let own = mass.as_ref().unwrap_or(&x);
    let [top, bottom] = read([&gram(&x, &image), &gram(&x, own)]);
    let values: Vec<f64> = (0..top.ncols()).map(|at| top[(at, at)] / bottom[(at, at)]).collect();
    let factors: Vec<f64> = (0..top.ncols()).map(|at| bottom[(at, at)].max(f64::MIN_POSITIVE).sqrt().recip()).collect();
    let unit = |own: Block| scaled(&own, &factors);
    Ok((values, unit(x), unit(image), mass.map(unit)))
}
