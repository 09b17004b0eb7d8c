//! Thick-restart Lanczos.

use super::block::{Block, gram, lengths, scaled, times};
use super::dense::wanted;
use super::judge::{Estimate, Judge, Next};
use super::pencil::{Found, Pencil};
use super::report::Which;
use super::small::{Small, check_finite, column_norm, columns, eigh, read};
use super::space::{self, Basis, Verdict};
use crate::operator::{LinearOperator, Operator};
use faer::linalg::solvers::Solve;
use sparse_ops::Result;

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
    let (task, asked, op) = (pencil.task, &pencil.task.asked, pencil.op());
    let room = pencil.n() - pencil.left_out();
    let correction = inverse.map(|inverse| correction(pencil, inverse)).transpose()?.flatten();
    let apply = |x: &Block| -> Result<Block> {
        let Some(inverse) = inverse else { return task.apply(x) };
        task.count_products(x.dims()[1]);
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
    let mut judge = Judge::new(task);
    let mut look = |all: &space::Decomposition<'_>| -> Result<Verdict<Found>> {
        let (values, vectors) = eigh(op, &all.t)?;
        let cols = values.len();
        let count = asked.count.min(cols);
        let keep = (asked.count + (cols - count) / 2).min(cols.saturating_sub(width)).max(count);
        let order = wanted(&values, inner, keep);
        let norm = values.iter().fold(0.0f64, |most, value| most.max(value.abs()));
        if inverse.is_none() {
            task.plain.saw(norm);
        }
        let [best, kept] = [count, keep].map(|count| columns(&vectors, &order[..count]));
        let coupling = &all.s * &kept;
        let estimate = |at: usize| {
            let value = values[order[at]];
            Estimate {
                key: if inner == Which::Magnitude { value.abs() } else { value },
                size: column_norm(&coupling, at),
                goal: task.estimated_goal(value.abs(), norm, inverse.is_some()),
            }
        };
        let estimates: Vec<Estimate> = (0..count).map(estimate).collect();
        let next = (keep > count).then(|| estimate(count));
        let found = judge.next((all.iterations, all.s.nrows() == 0), &estimates, next, || {
            let found = ritz(pencil, all, &best)?;
            let (_, residuals) = pencil.residuals(&found.0, &found.1, &found.2, found.3.as_ref());
            Ok((found, residuals))
        })?;
        Ok(match found {
            Next::Done((values, vectors, ..), stopped) => {
                Verdict::Done(Found { values, vectors, stopped, iterations: all.iterations })
            }
            Next::Restart => Verdict::Restart(kept),
            Next::Fresh => Verdict::Fresh(best),
        })
    };
    space::run(basis, &apply, start, (size, width), task, &mut look)
}

/// `Z (Y^T B Z)^-1` with `Z = (A - sigma B)^-1 B Y` of what is left out: with it, the inverse is that of `A - sigma B`
/// on the rest. `None` where `Y` are eigenvectors: then it is so without it.
///
/// # Errors
///
/// Those of the products; `invalid` if there is no such inverse.
fn correction(pencil: &Pencil<'_, '_>, inverse: &Operator) -> Result<Option<Block>> {
    let Some([y, image]) = &pencil.deflated else { return Ok(None) };
    let product = pencil.task.apply(y)?;
    let off = product.clone() - image.clone().matmul(gram(y, &product));
    let [off, product, image_size] = lengths([&off, &product, image]);
    let norm = pencil.task.plain.norm.get();
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
    let (image, mass) = (pencil.task.apply(&x)?, pencil.mass(&x)?);
    let own = mass.as_ref().unwrap_or(&x);
    let [top, bottom] = read([&gram(&x, &image), &gram(&x, own)]);
    let values: Vec<f64> = (0..top.ncols()).map(|at| top[(at, at)] / bottom[(at, at)]).collect();
    let factors: Vec<f64> = (0..top.ncols()).map(|at| bottom[(at, at)].max(f64::MIN_POSITIVE).sqrt().recip()).collect();
    let unit = |own: Block| scaled(&own, &factors);
    Ok((values, unit(x), unit(image), mass.map(unit)))
}
