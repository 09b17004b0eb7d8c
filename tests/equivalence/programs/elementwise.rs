//! Functions of one element, and of two.

use super::item::{Made, Sides};
use super::steps::{Kinks, Step};
use crate::draw::{Build, Draw, Values};
use crate::reference::{keep, mask, spread};
use burn::tensor::{Bool, Float, FloatDType, Tensor, activation};
use rand::RngExt;
use sparse_tensor::{Fill, SparseTensor};

/// At least 1, whatever the number is.
fn above<P: Build, const D: usize>(a: &SparseTensor<P, D>) -> SparseTensor<P, D> {
    a.square().add_scalar(1.0)
}

fn plain_above<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    x.square().add_scalar(1.0)
}

/// Within -0.9 and 0.9.
fn within<P: Build, const D: usize>(a: &SparseTensor<P, D>) -> SparseTensor<P, D> {
    a.tanh().mul_scalar(0.9)
}

fn plain_within<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    x.tanh().mul_scalar(0.9)
}

fn number(draw: &mut Draw) -> f64 {
    f64::from(draw.rng.random_range(-24..=24)) / 16.0
}

/// A number in a tensor, for both sides.
fn leaf<const D: usize>(draw: &mut Draw) -> (Tensor<1>, Tensor<D>) {
    let number = draw.dense::<1, Float>([1], Values::Any);
    (number.own, number.reference.reshape([1; D]))
}

/// A step on elements that are not near a kink; on it both sides have the same slope.
fn bent<P: Build, const D: usize>(sides: &Sides<P, D>, kinks: &[f64], made: impl FnOnce() -> Made) -> Made {
    if sides.is_settled(kinks) { made() } else { Made::Unfit }
}

/// Whether no element is near a kink: on it the operation and dense Burn choose different slopes.
fn off<P: Build, const D: usize>(sides: &Sides<P, D>, kink: f64) -> bool {
    sides.numbers().iter().flatten().all(|number| (number - kink).abs() > sides.gap())
}

pub fn one<P: Build, const D: usize>() -> Vec<Step<P, D>> {
    let all: &[Step<P, D>] = &[
        ("neg", |_, s| s.sparse(s.a.neg(), |x| x.neg())),
        ("sin", |_, s| s.sparse(s.a.sin(), |x| x.sin())),
        ("cos", |_, s| s.sparse(s.a.cos(), |x| x.cos())),
        ("tan of tanh", |_, s| s.sparse(within(s.a).tan(), |x| plain_within(x).tan())),
        ("asin of tanh", |_, s| s.sparse(within(s.a).asin(), |x| plain_within(x).asin())),
        ("acos of tanh", |_, s| s.sparse(within(s.a).acos(), |x| plain_within(x).acos())),
        ("atan", |_, s| s.sparse(s.a.atan(), |x| x.atan())),
        ("sinh of tanh", |_, s| s.sparse(within(s.a).sinh(), |x| plain_within(x).sinh())),
        ("cosh of tanh", |_, s| s.sparse(within(s.a).cosh(), |x| plain_within(x).cosh())),
        ("tanh", |_, s| s.sparse(s.a.tanh(), |x| x.tanh())),
        ("asinh of tanh", |_, s| s.sparse(within(s.a).asinh(), |x| plain_within(x).asinh())),
        ("acosh", |_, s| s.sparse(above(s.a).add_scalar(1.0).acosh(), |x| plain_above(x).add_scalar(1.0).acosh())),
        ("atanh of tanh", |_, s| s.sparse(within(s.a).atanh(), |x| plain_within(x).atanh())),
        ("erf", |_, s| s.sparse(s.a.erf(), |x| x.erf())),
        ("sigmoid", |_, s| s.sparse(s.a.sigmoid(), activation::sigmoid)),
        ("exp of tanh", |_, s| s.sparse(s.a.tanh().exp(), |x| x.tanh().exp())),
        ("expm1 of tanh", |_, s| s.sparse(s.a.tanh().expm1(), |x| x.tanh().exp() - 1.0)),
        ("square", |_, s| s.sparse(s.a.square(), |x| x.square())),
        ("powi_scalar", |_, s| s.sparse(s.a.powi_scalar(3), |x| x.powi_scalar(3))),
        ("powf_scalar", |draw, s| {
            let power = [1.5, -0.5, 2.25][draw.below(3)];
            s.sparse(above(s.a).powf_scalar(power), |x| plain_above(x).powf_scalar(power))
        }),
        ("recip", |_, s| s.sparse(above(s.a).recip(), |x| plain_above(x).recip())),
        ("sqrt", |_, s| s.sparse(above(s.a).sqrt(), |x| plain_above(x).sqrt())),
        ("log", |_, s| s.sparse(above(s.a).log(), |x| plain_above(x).log())),
        ("log1p", |_, s| s.sparse(s.a.square().log1p(), |x| x.square().log1p())),
        ("relu", |_, s| bent(s, &[0.0], || s.sparse(s.a.relu(), activation::relu))),
        ("abs", |_, s| bent(s, &[0.0], || s.sparse(s.a.abs(), |x| x.abs()))),
        ("clamp", |_, s| match off(s, -0.7) && off(s, 1.3) {
            true => s.sparse(s.a.clamp(-0.7, 1.3), |x| x.clamp(-0.7, 1.3)),
            false => Made::Unfit,
        }),
        ("mul_scalar", |draw, s| {
            let by = number(draw);
            s.sparse(s.a.mul_scalar(by), |x| x.mul_scalar(by))
        }),
        ("mul_scalar (tensor)", |draw, s| {
            let (own, by) = leaf::<D>(draw);
            s.sparse(s.a.mul_scalar(own), |x| {
                let by = spread(by, x.dims());
                x * by
            })
        }),
        ("add_scalar", |draw, s| {
            let by = number(draw);
            s.sparse(s.a.add_scalar(by), |x| x.add_scalar(by))
        }),
        ("add_scalar (tensor)", |draw, s| {
            let (own, by) = leaf::<D>(draw);
            s.sparse(s.a.add_scalar(own), |x| {
                let by = spread(by, x.dims());
                x + by
            })
        }),
        ("sub_scalar (tensor)", |draw, s| {
            let (own, by) = leaf::<D>(draw);
            s.sparse(s.a.sub_scalar(own), |x| {
                let by = spread(by, x.dims());
                x - by
            })
        }),
        ("div_scalar", |draw, s| {
            let by = number(draw).abs() + 0.5;
            // Burn's division by a number takes its slope in f32.
            s.sparse(s.a.div_scalar(by), |x| {
                let all = x.full_like(by);
                x / all
            })
        }),
        ("map", |_, s| s.sparse(s.a.clone().map(|rows| rows.sin() + 0.5), |x| x.sin() + 0.5)),
        // Of what is not stored nothing changes.
        ("Stored::map", |_, s| {
            s.sparse(s.a.stored().map(|rows| rows.tanh().add_scalar(1)), |x| {
                let stored = mask(&x, s.specified().into_iter());
                x.clone() + (x.clone().tanh().add_scalar(1.0) - x) * stored
            })
        }),
        ("cast", |_, s| match s.pool.casts {
            true => s.sparse(s.a.cast(FloatDType::F32).cast(FloatDType::F64), |x| x),
            false => Made::Unfit,
        }),
        // Of a leaf Burn makes another leaf.
        ("detach", |_, s| s.sparse(s.a.clone().detach(), |x| x.detach().set_require_grad(false))),
    ];
    all.to_vec()
}

type Pair<P, const D: usize> = fn(&SparseTensor<P, D>, &SparseTensor<P, D>) -> SparseTensor<P, D>;

/// With another sparse result of the shape.
fn pair<P: Build, const D: usize>(
    s: &Sides<P, D>,
    own: Pair<P, D>,
    dense: fn(Tensor<D>, Tensor<D>) -> Tensor<D>,
) -> Made {
    let Some((b, y)) = s.partner() else { return Made::Unfit };
    s.sparse(own(s.a, b), |x| dense(x, y))
}

/// The larger or the smaller of two; equal ones share the gradient.
fn ordered<P: Build, const D: usize>(s: &Sides<P, D>, own: Pair<P, D>, largest: bool) -> Made {
    let Some((b, y)) = s.partner() else { return Made::Unfit };
    let [own_a, x] = s.numbers();
    let [own_b, plain_y] = numbers(b, &y);
    if !super::steps::settled([[own_a, own_b].concat(), [x, plain_y].concat()], &[], s.gap()) {
        return Made::Unfit;
    }
    s.sparse(own(s.a, b), |x| {
        let (a, b) = (x.clone().detach(), y.clone().detach());
        let before = if largest { a.clone().greater(b.clone()) } else { a.clone().lower(b.clone()) };
        let share = |holds: Tensor<D, Bool>| holds.float().cast(x.dtype());
        let first = share(before) + share(a.equal(b)).mul_scalar(0.5);
        x * first.clone() + y * (first.neg() + 1.0)
    })
}

/// The specified elements with a dense result of the shape, or one row of it; zero elsewhere.
fn with_a_dense<P: Build, const D: usize>(
    draw: &mut Draw,
    s: &Sides<P, D>,
    own: fn(&SparseTensor<P, D>, Tensor<D>) -> SparseTensor<P, D>,
    dense: fn(Tensor<D>, Tensor<D>) -> Tensor<D>,
) -> Made {
    let [mut b, mut y] = s.pool.dense_or_new::<P, D>(draw, s.dims());
    let sparse = s.a.sparse_dims();
    if draw.coin() && s.is_full() && sparse > 0 {
        let axis = draw.below(sparse);
        // One number for each index of a sparse dim.
        for other in (0..D).filter(|&other| other != axis) {
            (b, y) = (b.narrow(other, 0, 1), y.narrow(other, 0, 1));
        }
    }
    let stored = s.undefined();
    s.sparse(own(&stored, b).with_fill(Fill::Zero), |x| {
        let y = spread(y, x.dims());
        keep(dense(x, y), s.specified())
    })
}

pub fn two<P: Build, const D: usize>() -> Vec<Step<P, D>> {
    let all: &[Step<P, D>] = &[
        ("add", |_, s| pair(s, |a, b| a.add(b), |x, y| x + y)),
        ("sub", |_, s| pair(s, |a, b| a.sub(b), |x, y| x - y)),
        ("mul", |_, s| pair(s, |a, b| a.mul(b), |x, y| x * y)),
        ("div", |_, s| pair(s, |a, b| a.div(&above(b)), |x, y| x / plain_above(y))),
        ("atan2", |_, s| pair(s, |a, b| a.atan2(&above(b)), |x, y| x.atan2(plain_above(y)))),
        ("hypot", |_, s| pair(s, |a, b| a.hypot(&above(b)), |x, y| x.hypot(plain_above(y)))),
        ("powf", |_, s| pair(s, |a, b| above(a).powf(&b.tanh()), |x, y| plain_above(x).powf(y.tanh()))),
        ("logaddexp", |_, s| {
            pair(
                s,
                |a, b| a.tanh().logaddexp(b),
                |x, y| {
                    // Dense tensors have none; a large exponent counts for itself.
                    let most = y.clone().detach().clamp_min(0.0);
                    ((x.tanh() - most.clone()).exp() + (y - most.clone()).exp()).log() + most
                },
            )
        }),
        ("Stored::mul", |_, s| {
            let Some((b, y)) = s.partner() else { return Made::Unfit };
            s.sparse(s.a.stored().mul(b), |x| keep(x * y, both(s, b)))
        }),
        ("Stored::div", |_, s| {
            let Some((b, y)) = s.partner() else { return Made::Unfit };
            s.sparse(s.a.stored().div(&above(b)), |x| keep(x / plain_above(y), both(s, b)))
        }),
        ("Stored::zip", |_, s| {
            let Some((b, y)) = s.partner() else { return Made::Unfit };
            let own = s.a.stored().zip(b, |a, b| a.clone() * b + a.add_scalar(1));
            s.sparse(own, |x| keep(x.clone() * y + x.add_scalar(1.0), both(s, b)))
        }),
        ("max_pair", |_, s| ordered(s, |a, b| a.max_pair(b), true)),
        ("min_pair", |_, s| ordered(s, |a, b| a.min_pair(b), false)),
        ("zip_with", |_, s| pair(s, |a, b| a.zip_with(b, |a, b| a.clone() * b + a), |x, y| x.clone() * y + x)),
        ("mask_where", |_, s| {
            let Some((b, y)) = s.partner() else { return Made::Unfit };
            let wide: SparseTensor<P, D, Bool> = b.greater_elem(0.3);
            if !super::steps::settled(numbers(b, &y), &[0.3], s.gap()) {
                return Made::Unfit;
            };
            s.sparse(s.a.mask_where(&wide, b), |x| x.mask_where(y.clone().greater_elem(0.3), y))
        }),
        // Beside another fill it refuses: every element would have a value of its own.
        ("mul_dense", |draw, s| {
            if !s.a.fill().is_zero() {
                return Made::Unfit;
            };
            let [b, y] = s.pool.dense_or_new::<P, D>(draw, s.dims());
            s.sparse(s.a.mul_dense(b), |x| x * y)
        }),
        ("add_dense (stored)", |draw, s| with_a_dense(draw, s, |a, b| a.add_dense(b), |x, y| x + y)),
        ("sub_dense (stored)", |draw, s| with_a_dense(draw, s, |a, b| a.sub_dense(b), |x, y| x - y)),
        ("mul_dense (stored)", |draw, s| with_a_dense(draw, s, |a, b| a.mul_dense(b), |x, y| x * y)),
        ("div_dense (stored)", |draw, s| {
            with_a_dense(draw, s, |a, b| a.div_dense(b.square().add_scalar(1.0)), |x, y| x / plain_above(y))
        }),
    ];
    all.to_vec()
}

/// Whether both store an element.
fn both<P: Build, const D: usize>(s: &Sides<P, D>, b: &SparseTensor<P, D>) -> Vec<bool> {
    s.specified().into_iter().zip(super::item::specified(b)).map(|(a, b)| a && b).collect()
}

fn numbers<P: Build, const D: usize>(b: &SparseTensor<P, D>, y: &Tensor<D>) -> [Vec<f64>; 2] {
    [b.coalesce().to_dense(), y.clone()].map(|tensor| crate::answer::floats(tensor.inner().into_data()))
}
