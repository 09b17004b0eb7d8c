//! Locally optimal block preconditioned conjugate gradients.

use super::block::{Block, combine, evened, gram, join, not_positive, pick, random_block, svqb, svqb_with};
use super::pencil::{Found, Pencil};
use super::small::{
    Small, above, beside, check_finite, columns, diagonal, eigh, inverse_factor, part, read, to_device,
};
use crate::krylov::watch::Stopped;
use crate::operator::{LinearOperator, Operator};
use burn::tensor::{DType, Tensor};
use sparse_ops::{Result, SparseError};

/// After so many iterations the products are made anew.
const REFRESH: usize = 20;
/// So many columns beside a start are random.
const RANDOM: usize = 2;
/// So many iterations may gain nothing.
const PATIENCE: usize = 100;

/// Vectors with their products: `V`, `A V`, `B V`.
#[derive(Clone)]
struct Basis {
    v: Block,
    image: Block,
    mass: Option<Block>,
}

impl Basis {
    fn new(pencil: &Pencil<'_, '_>, v: Block, mass: Option<Block>) -> Result<Self> {
        Ok(Self { image: pencil.task.apply(&v)?, v, mass })
    }

    fn mass(&self) -> &Block {
        self.mass.as_ref().unwrap_or(&self.v)
    }
}

/// Combinations of all vectors of a list, each with a matrix.
fn combined<const N: usize>(list: &[&Basis], matrices: [&Small; N]) -> [Basis; N] {
    let matrices = matrices.map(|own| to_device(own, &list[0].v));
    let of = |part: fn(&Basis) -> &Block| {
        let parts: Vec<&Block> = list.iter().map(|own| part(own)).collect();
        combine(&parts, matrices.clone())
    };
    let (v, mut image) = (of(|own| &own.v), of(|own| &own.image).into_iter());
    let mut mass = list[0].mass.is_some().then(|| of(Basis::mass).into_iter());
    v.map(|v| {
        let image = image.next().expect("a product for each matrix");
        Basis { v, image, mass: mass.as_mut().and_then(Iterator::next) }
    })
}

/// `[V_1 V_2 ..]^T W`.
fn gram_all(list: [&Block; 2], w: &Block) -> Block {
    let list = list.into_iter().filter(|own| own.dims()[1] > 0);
    Tensor::cat(list.map(|own| gram(own, w)).collect(), 0)
}

/// The smallest or the largest eigenvalues (Knyazev 2001). The basis `[X, P, W]` is kept orthonormal: `X` and `P` by
/// their coefficients (Hetmaniuk and Lehoucq 2006; Duersch, Shao, Yang and Gu 2018), `W` by SVQB. Pairs that converged
/// stay in `X`, but have no `P` and `W` (soft locking). An iteration has one product with `A`, and with `B` and the
/// preconditioner, of the open columns.
///
/// # Errors
///
/// Those of the products; `invalid` if numbers are not finite.
pub fn run(
    pencil: &Pencil<'_, '_>,
    largest: bool,
    preconditioner: Option<&Operator>,
    start: Option<Block>,
) -> Result<Found> {
    let asked = &pencil.task.asked;
    let room = pencil.n() - pencil.left_out();
    // A start may be other eigenvectors: random columns beside it find better ones.
    let started = start.as_ref().is_some_and(|start| start.dims()[1] > 0);
    let least = if started { asked.count.saturating_add(RANDOM).min(room) } else { asked.count };
    let width = asked.basis.unwrap_or(least).clamp(least, room);
    let x = first(pencil, start, width)?;
    let [mut h] = read([&gram(&x.v, &x.image)]);
    check_finite(pencil.op(), &h, 0)?;
    let (mut values, rotation) = ritz(pencil.op(), &h, largest, width)?;
    let [mut x, mut p] = combined(&[&x], [&rotation, &Small::zeros(width, 0)]);
    h = diagonal(&values);
    let (mut iterations, mut fresh) = (0, true);
    let (mut best, mut best_at) = (f64::INFINITY, 0);
    let stopped = loop {
        let (r, residuals) = pencil.residuals(&values, &x.v, &x.image, x.mass.as_ref());
        let shares: Vec<f64> = residuals.iter().map(|[size, goal]| size / goal.max(f64::MIN_POSITIVE)).collect();
        if let Some(at) = shares.iter().position(|share| !share.is_finite()) {
            let message = format!("the products must be finite, got others in pair {at} in iteration {iterations}");
            return Err(SparseError::invalid(pencil.op(), message));
        }
        let wanted = &shares[..asked.count];
        let worst = wanted.iter().copied().fold(0.0, f64::max);
        if worst < 0.95 * best || started && best <= 1.0 && worst > 1.0 {
            (best, best_at) = (worst, iterations);
        }
        let (cancelled, done) = (pencil.task.tell(iterations, worst), worst <= 1.0);
        // A column that is far from an eigenvector may become a better one than those that have converged.
        let next = asked.count;
        let proved = !started
            || shares.get(next).is_none_or(|share| *share <= 1.0)
            || iterations >= 2 && residuals[next][0] <= 0.25 * (values[next] - values[next - 1]).abs();
        let stuck = iterations - best_at > PATIENCE;
        if fresh && (done && proved || cancelled || stuck || iterations >= asked.most) {
            break match (done, cancelled, stuck) {
                (true, ..) => Stopped::Converged,
                (_, true, _) => Stopped::Cancelled,
                (_, _, true) => Stopped::Stagnated,
                _ => Stopped::Iterations,
            };
        }
        if done && proved || cancelled || stuck || iterations >= asked.most || iterations % REFRESH == REFRESH - 1 {
            // With products made anew: what is kept drifts away.
            if !fresh {
                ([x, p], h, values) = refresh(pencil, x, p, largest, iterations)?;
                fresh = true;
                if done && proved || cancelled || stuck || iterations >= asked.most {
                    continue;
                }
            }
        }
        iterations += 1;
        let open: Vec<usize> = (0..width).filter(|&at| shares[at] > 1.0).collect();
        let r = pick(&r, &open);
        let w = match preconditioner {
            Some(preconditioner) => preconditioner.try_apply(r)?,
            None => r,
        };
        let Some((w, mass)) = independent(pencil, [&x, &p], w, iterations)? else {
            // Residuals in the span of what is there: nothing is left to add.
            if fresh {
                break Stopped::Stagnated;
            }
            ([x, p], h, values) = refresh(pencil, x, p, largest, iterations)?;
            fresh = true;
            continue;
        };
        let new = Basis::new(pencil, w, mass)?;
        let [cross, own] = read([&gram_all([&x.v, &p.v], &new.image), &gram(&new.v, &new.image)]);
        let all = above(&beside(&h, &cross), &beside(&cross.transpose().to_owned(), &own));
        check_finite(pencil.op(), &all, iterations)?;
        let (found, c) = ritz(pencil.op(), &all, largest, width)?;
        let turn = directions(&c, width, &open);
        let both = beside(&c, &turn);
        h = both.transpose() * &all * &both;
        values = found;
        [x, p] = combined(&[&x, &p, &new], [&c, &turn]);
        pencil.task.plain.saw(if pencil.b.is_none() { super::small::largest(&all) } else { 0.0 });
        fresh = false;
    };
    let count = asked.count;
    values.truncate(count);
    Ok(Found { values, vectors: x.v.narrow(1, 0, count), stopped, iterations })
}

/// An orthonormal start; what is missing is random.
fn first(pencil: &Pencil<'_, '_>, start: Option<Block>, width: usize) -> Result<Basis> {
    let like = &pencil.task.plain.like;
    let size = |count| [pencil.n(), count];
    let mut v = start.unwrap_or_else(|| Tensor::zeros(size(0), (&like.device(), like.dtype())));
    let most = width.saturating_sub(RANDOM).max(1);
    v = evened(if v.dims()[1] > most { v.narrow(1, 0, most) } else { v });
    // Random columns are independent but for a chance of almost 0.
    for seed in 0..5 {
        let missing = width - v.dims()[1];
        v = join(v, random_block(pencil.task.asked.seed.wrapping_add(2 + seed), size(missing), like));
        v = pencil.project(v);
        let mut mass = pencil.mass(&v)?;
        for _ in 0..2 {
            let found = svqb(pencil.op(), v, mass, 0)?;
            (v, mass) = (found.q, found.mass);
        }
        if v.dims()[1] == width {
            let v = pencil.project(v);
            let mass = pencil.mass(&v)?;
            return Basis::new(pencil, v, mass);
        }
    }
    Err(not_positive(pencil.op(), 0))
}

/// The eigenvalues that are wanted, and their coefficients.
fn ritz(op: &'static str, h: &Small, largest: bool, width: usize) -> Result<(Vec<f64>, Small)> {
    let (values, vectors) = eigh(op, h)?;
    let all = values.len();
    let order: Vec<usize> = (0..width).map(|at| if largest { all - 1 - at } else { at }).collect();
    Ok((order.iter().map(|&at| values[at]).collect(), columns(&vectors, &order)))
}

/// Coefficients of `P`: those of `X` without its part in the old `X`, orthonormal and orthogonal to `X`.
fn directions(c: &Small, width: usize, open: &[usize]) -> Small {
    let rows = c.nrows();
    let mut list: Vec<Vec<f64>> = (0..c.ncols()).map(|q| (0..rows).map(|i| c[(i, q)]).collect()).collect();
    for &column in open {
        let mut own: Vec<f64> = (0..rows).map(|i| if i < width { 0.0 } else { c[(i, column)] }).collect();
        let size = |own: &[f64]| own.iter().map(|x| x * x).sum::<f64>().sqrt();
        let before = size(&own);
        for _ in 0..2 {
            for other in &list {
                let dot: f64 = other.iter().zip(&own).map(|(a, b)| a * b).sum();
                own.iter_mut().zip(other).for_each(|(x, y)| *x -= dot * y);
            }
        }
        let after = size(&own);
        if after > 1e-8 * before && before > 1e-30 {
            list.push(own.iter().map(|x| x / after).collect());
        }
    }
    let from = c.ncols();
    Small::from_fn(rows, list.len() - from, |i, j| list[from + j][i])
}

/// `W` orthonormal, and orthogonal to the basis and to what is left out; and `B W`. `None` if nothing is left of it.
fn independent(
    pencil: &Pencil<'_, '_>,
    [x, p]: [&Basis; 2],
    w: Block,
    at: usize,
) -> Result<Option<(Block, Option<Block>)>> {
    let mut w = w;
    // Rounding grows by about the square of one over it: to 1e-12 and 1e-5.
    let enough = if w.dtype() == DType::F64 { 1e-2 } else { 0.1 };
    for round in 0..3 {
        w = pencil.project(w);
        let parts = gram_all([x.mass(), p.mass()], &w);
        let count = w.dims()[1];
        let own = to_device(&Small::identity(count, count), &w);
        [w] = combine(&[&x.v, &p.v, &w], [Tensor::cat(vec![parts.clone().mul_scalar(-1.0), own], 0)]);
        let mass = pencil.mass(&w)?;
        let [parts, own] = read([&parts, &gram(&w, mass.as_ref().unwrap_or(&w))]);
        // How much of the least column was left.
        let left = (0..own.ncols()).map(|j| {
            let size = own[(j, j)].max(0.0).sqrt();
            if size == 0.0 { 1.0 } else { size / size.hypot(super::small::column_norm(&parts, j)) }
        });
        let left = left.fold(1.0, f64::min);
        let found = svqb_with(pencil.op(), w, mass, &own, at)?;
        if found.q.dims()[1] == 0 {
            return Ok(None);
        }
        if left * found.least > enough || round == 2 {
            return Ok(Some((found.q, found.mass)));
        }
        w = found.q;
    }
    Ok(None)
}

/// The same bases with products made anew, orthonormal up to rounding, with their Gram matrix and the eigenvalues.
fn refresh(
    pencil: &Pencil<'_, '_>,
    x: Basis,
    p: Basis,
    largest: bool,
    at: usize,
) -> Result<([Basis; 2], Small, Vec<f64>)> {
    let (width, directions) = (x.v.dims()[1], p.v.dims()[1]);
    // Side by side: one product, also without directions.
    let v = pencil.project(join(x.v, p.v));
    let mass = pencil.mass(&v)?;
    let basis = Basis::new(pencil, v, mass)?;
    let [mut own, mut h] = read([&gram(&basis.v, basis.mass()), &gram(&basis.v, &basis.image)]);
    let inverse = match inverse_factor(&own) {
        Some(inverse) => inverse,
        None => {
            // Without `P`.
            (own, h) = (part(&own, 0..width, 0..width), part(&h, 0..width, 0..width));
            inverse_factor(&own).ok_or_else(|| not_positive(pencil.op(), at))?
        }
    };
    let h = inverse.transpose() * &h * &inverse;
    let (values, rotation) = ritz(pencil.op(), &part(&h, 0..width, 0..width), largest, width)?;
    let rest = h.ncols() - width;
    let turn = above(
        &beside(&rotation, &Small::zeros(width, rest)),
        &beside(&Small::zeros(rest, width), &Small::identity(rest, rest)),
    );
    let c = above(&(&inverse * &turn), &Small::zeros(directions - rest, width + rest));
    let [first, second] = [0..width, width..width + rest].map(|cols| columns(&c, &cols.collect::<Vec<_>>()));
    Ok((combined(&[&basis], [&first, &second]), turn.transpose() * &h * &turn, values))
}
