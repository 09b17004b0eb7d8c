//! The tables of steps, and where a step may have a kink.

use super::item::{Item, Made, Plain, Pool, Sides};
use super::{dense, elementwise, folds, matrices, products, ranks, structure};
use crate::draw::{Build, Draw};
use burn::tensor::Tensor;
use sparse_tensor::SparseTensor;
use sparse_tensor::pattern::{CooPattern, CsrPattern};

/// A step on a sparse result, and its name.
pub type Step<P, const D: usize> = (&'static str, fn(&mut Draw, &Sides<P, D>) -> Made);
/// A step on a dense result, and its name.
pub type PlainStep<const D: usize> = (&'static str, fn(&mut Draw, &Plain<D>) -> Made);

/// Numbers of both sides, which a kink must not lie between.
pub trait Kinks {
    /// The numbers under test and those of the reference.
    fn numbers(&self) -> [Vec<f64>; 2];

    fn gap(&self) -> f64;

    /// Whether any two numbers, and any number and a `kink`, are far apart or equal on both sides. Else rounding could
    /// choose which of them is the largest, or on which side of the kink a number lies.
    fn is_settled(&self, kinks: &[f64]) -> bool {
        settled(self.numbers(), kinks, self.gap())
    }
}

/// [`Kinks::is_settled`] of any numbers.
pub fn settled([own, reference]: [Vec<f64>; 2], kinks: &[f64], gap: f64) -> bool {
    let kinks = kinks.iter().map(|&kink| (kink, kink));
    let mut pairs: Vec<(f64, f64)> = reference.into_iter().zip(own).chain(kinks).collect();
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    pairs.windows(2).all(|pair| pair[1].0 - pair[0].0 > gap || pair[0] == pair[1])
}

/// Chooses a step that the subject's layout and rank have. `spell` hears its name before it runs.
pub fn run(draw: &mut Draw, subject: &Item, pool: &Pool, spell: &mut dyn FnMut(&'static str)) -> Made {
    use ranks::{down, heads, same, to_coo, to_csr, up};
    if let Some(sides) = subject.as_sparse::<CooPattern, 2>() {
        return on_sparse(draw, sides, pool, spell, [up::<_, 2, 3>(), same(), to_csr(), heads()].concat());
    }
    if let Some(sides) = subject.as_sparse::<CooPattern, 3>() {
        return on_sparse(draw, sides, pool, spell, [down::<_, 3, 2>(), same(), to_csr()].concat());
    }
    if let Some(sides) = subject.as_sparse::<CsrPattern, 2>() {
        return on_sparse(draw, sides, pool, spell, [up::<_, 2, 3>(), same(), to_coo()].concat());
    }
    if let Some(sides) = subject.as_sparse::<CsrPattern, 3>() {
        return on_sparse(draw, sides, pool, spell, [down::<_, 3, 2>(), same(), to_coo()].concat());
    }
    if let Some(sides) = subject.as_dense::<2>() {
        return on_dense(draw, sides, pool, spell, dense::nd::<2, 3>());
    }
    let sides = subject.as_dense::<3>().expect("ranks are 2 and 3");
    on_dense(draw, sides, pool, spell, dense::nd::<3, 4>())
}

fn on_sparse<P: Build, const D: usize>(
    draw: &mut Draw,
    (a, x): (&SparseTensor<P, D>, &Tensor<D>),
    pool: &Pool,
    spell: &mut dyn FnMut(&'static str),
    ranks: Vec<Step<P, D>>,
) -> Made {
    // Families first, so that none is rare because another is long.
    let mut families: Vec<fn() -> Vec<Step<P, D>>> =
        vec![elementwise::one, elementwise::two, structure::moves, structure::patterns, folds::steps, products::steps];
    if matrices::matrix(a).is_some() {
        families.push(matrices::steps);
    }
    let family = draw.below(families.len() + 1);
    let table = families.get(family).map_or(ranks, |family| family());
    let (name, step) = table[draw.below(table.len())];
    spell(name);
    step(draw, &Sides { a, x, pool })
}

fn on_dense<const D: usize>(
    draw: &mut Draw,
    (own, x): (&Tensor<D>, &Tensor<D>),
    pool: &Pool,
    spell: &mut dyn FnMut(&'static str),
    nd: Vec<PlainStep<D>>,
) -> Made {
    let table = [dense::steps(), nd].concat();
    let (name, step) = table[draw.below(table.len())];
    spell(name);
    step(draw, &Plain { own, x, pool })
}
