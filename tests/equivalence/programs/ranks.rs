//! Other ranks and layouts of the same elements.

use super::item::{Made, Sides};
use super::steps::Step;
use crate::draw::{Build, Draw};
use crate::reference::{keep, pick, reshape, sum_dims};
use burn::tensor::Tensor;
use sparse_tensor::ops;
use sparse_tensor::pattern::{CooPattern, CsrPattern};

/// The most elements of a result along an axis.
const LONGEST: usize = 12;

/// A dim split in two: all sizes are at least 1.
fn split_dim<const D: usize, const D2: usize>(draw: &mut Draw, shape: [usize; D]) -> [usize; D2] {
    let mut to = shape.to_vec();
    let at = draw.below(D);
    let divisors: Vec<usize> = (1..=to[at]).filter(|divisor| to[at].is_multiple_of(*divisor)).collect();
    let divisor = divisors[draw.below(divisors.len())];
    to[at] /= divisor;
    to.insert(at, divisor);
    to.try_into().expect("one dim more")
}

/// Two dims joined which are both sparse or both dense; `None` if there are none, or the result is long.
fn joined<P: Build, const D: usize, const D2: usize>(draw: &mut Draw, s: &Sides<P, D>) -> Option<(usize, [usize; D2])> {
    let joins: Vec<usize> = (0..D - 1).filter(|&at| at + 1 != s.a.sparse_dims()).collect();
    let at = joins[draw.below(joins.len())];
    let mut to = s.dims().to_vec();
    to[at] *= to.remove(at + 1);
    (to[at] <= LONGEST).then(|| (at, to.try_into().expect("one dim less")))
}

pub fn up<P: Build, const D: usize, const D2: usize>() -> Vec<Step<P, D>> {
    let all: &[Step<P, D>] = &[
        ("unsqueeze_dim", |draw, s| {
            let axis = draw.below(D2);
            let mut to = s.dims().to_vec();
            to.insert(axis, 1);
            let to: [usize; D2] = to.try_into().expect("one dim more");
            s.sparse(s.a.unsqueeze_dim::<D2>(axis as isize), |x| reshape(x, to))
        }),
        // To a new rank.
        ("expand (unsqueezed)", |draw, s| {
            let (axis, count) = (draw.below(D2), 1 + draw.below(3));
            let mut to = s.dims().to_vec();
            to.insert(axis, 1);
            let one: [usize; D2] = to.try_into().expect("one dim more");
            let mut to = one;
            to[axis] = count;
            s.sparse(s.a.unsqueeze_dim::<D2>(axis as isize).expand(to), |x| {
                pick(reshape(x, one), axis, &vec![0; count])
            })
        }),
        ("reshape (up)", |draw, s| {
            if !s.is_full() {
                return Made::Unfit;
            }
            let to = split_dim::<D, D2>(draw, s.dims());
            s.sparse(s.a.reshape(to), |x| reshape(x, to))
        }),
        // Of the same fill: a flip along a sparse dim keeps it.
        ("stack", |draw, s| {
            let sparse = s.a.sparse_dims();
            // A fill that is a block is not one of the stack's.
            if sparse == 0 || (sparse < D && !s.a.fill().is_zero()) {
                return Made::Unfit;
            }
            let (axis, flipped) = (draw.below(D2), draw.below(sparse));
            let own = [s.a.clone(), s.a.flip([flipped as isize])];
            s.sparse(ops::stack::<P, D, D2, _>(&own, axis as isize), |x| {
                let index: Vec<usize> = (0..x.dims()[flipped]).rev().collect();
                let other = pick(x.clone(), flipped, &index);
                Tensor::stack::<D2>(vec![x, other], axis)
            })
        }),
        ("stack (two)", |draw, s| {
            let axis = draw.below(D2);
            let fits = |b: &sparse_tensor::SparseTensor<P, D>| {
                let fills = b.fill().is_zero() && s.a.fill().is_zero();
                b.dims() == s.dims() && b.sparse_dims() == s.a.sparse_dims() && fills
            };
            let Some((b, y)) = s.pool.sparse(fits) else { return Made::Unfit };
            let own = [s.a.clone(), b.clone(), s.a.clone()];
            s.sparse(ops::stack::<P, D, D2, _>(&own, axis as isize), |x| {
                Tensor::stack::<D2>(vec![x.clone(), y, x], axis)
            })
        }),
        // Weighted means of values, by the softmax of products at the mask's elements. The subject is the mask.
        ("attention", |draw, s| {
            if !s.is_full() || s.a.sparse_dims() < D {
                return Made::Unfit;
            }
            let shape = s.dims();
            let (heads, f) = (1 + draw.below(2), 1 + draw.below(3));
            let [query, q] = heads_of::<P, D, D2>(draw, s, D - 2, [heads, f]);
            let [key, k] = heads_of::<P, D, D2>(draw, s, D - 1, [heads, f]);
            let (batch, m, n) = (shape[..D - 2].iter().product::<usize>(), shape[D - 2], shape[D - 1]);
            let out = q.dims();
            let own = ops::attention(query.tanh(), key.clone().tanh(), key, &s.a.coalesce(), Some(0.75), 0.0);
            s.dense(own, |_| {
                let whole = [batch, m, n, heads, f];
                let wide = |x: Tensor<D2>| x.reshape([batch, 1, n, heads, f]).expand(whole);
                let q = q.tanh().reshape([batch, m, 1, heads, f]).expand(whole);
                let exp = sum_dims(q * wide(k.clone().tanh()), &[4]).mul_scalar(0.75).exp();
                let exp = keep(exp, s.specified().into_iter().flat_map(|kept| vec![kept; heads]));
                // A row without elements has weights of 0.
                let weights = exp.clone() / sum_dims(exp, &[2]).clamp_min(1e-6);
                sum_dims(weights.expand(whole) * wide(k), &[2]).reshape(out)
            })
        }),
    ];
    all.to_vec()
}

/// A dense operand `[batch.., rows, heads, f]`.
fn heads_of<P: Build, const D: usize, const D2: usize>(
    draw: &mut Draw,
    s: &Sides<P, D>,
    rows: usize,
    last: [usize; 2],
) -> [Tensor<D2>; 2] {
    let shape = s.dims();
    let side = std::array::from_fn(|dim| match dim {
        _ if dim + 2 >= D2 => last[dim + 2 - D2],
        _ if dim + 3 == D2 => shape[rows],
        _ => shape[dim],
    });
    s.pool.dense_or_new::<P, D2>(draw, side)
}

pub fn down<P: Build, const D: usize, const D2: usize>() -> Vec<Step<P, D>> {
    let all: &[Step<P, D>] = &[
        ("squeeze_dim", |draw, s| one_place::<P, D, D2>(draw, s, true)),
        ("select_dim", |draw, s| one_place::<P, D, D2>(draw, s, false)),
        ("flatten", |draw, s| match joined::<P, D, D2>(draw, s) {
            Some((at, to)) => s.sparse(s.a.flatten::<D2>(at as isize, at as isize + 1), |x| reshape(x, to)),
            None => Made::Unfit,
        }),
        ("reshape (down)", |draw, s| match joined::<P, D, D2>(draw, s) {
            Some((_, to)) if s.is_full() => s.sparse(s.a.reshape(to), |x| reshape(x, to)),
            _ => Made::Unfit,
        }),
    ];
    all.to_vec()
}

/// One index of an axis, which is gone then. The last sparse dim stays.
fn one_place<P: Build, const D: usize, const D2: usize>(draw: &mut Draw, s: &Sides<P, D>, squeeze: bool) -> Made {
    let (axis, at) = s.axis(draw);
    let size = s.dims()[axis];
    if size == 0 || (axis == 0 && s.a.sparse_dims() == 1) {
        return Made::Unfit;
    }
    let place = draw.below(size);
    let mut to = s.dims().to_vec();
    to.remove(axis);
    let to: [usize; D2] = to.try_into().expect("one dim less");
    let own = match squeeze {
        true => s.a.narrow(at, place, 1).squeeze_dim::<D2>(at),
        false => s.a.select_dim::<D2>(at, place as isize),
    };
    s.sparse(own, |x| reshape(pick(x, axis, &[place]), to))
}

/// The same rank, other sizes.
pub fn same<P: Build, const D: usize>() -> Vec<Step<P, D>> {
    let all: &[Step<P, D>] = &[("reshape", |draw, s| {
        if !s.is_full() {
            return Made::Unfit;
        }
        let dims = s.a.sparse_dims();
        let mut to = s.dims();
        if dims > 1 && draw.coin() {
            // One dim takes another's factor.
            (to[dims - 2], to[dims - 1]) = (to[dims - 2] * to[dims - 1], 1);
            if draw.coin() {
                to[..dims].reverse();
            }
        } else {
            to[..dims].reverse();
        }
        match to.iter().all(|&size| size <= LONGEST) {
            true => s.sparse(s.a.reshape(to), |x| reshape(x, to)),
            false => Made::Unfit,
        }
    })];
    all.to_vec()
}

pub fn to_csr<const D: usize>() -> Vec<Step<CooPattern, D>> {
    let all: &[Step<CooPattern, D>] = &[("to_csr", |_, s| match s.a.dense_dims() {
        0 => s.sparse(s.a.to_csr(), |x| x),
        _ => Made::Unfit,
    })];
    all.to_vec()
}

pub fn heads() -> Vec<Step<CooPattern, 2>> {
    // Products at the mask's elements, head by head; zero elsewhere. The subject is the mask.
    let all: &[Step<CooPattern, 2>] = &[("head_sddmm", |draw, s| {
        if !s.is_full() || s.a.dense_dims() > 0 {
            return Made::Unfit;
        }
        let ([m, n], heads, f) = (s.dims(), 1 + draw.below(3), 1 + draw.below(3));
        let [query, q] = heads_of::<_, 2, 3>(draw, s, 0, [heads, f]);
        let [key, k] = heads_of::<_, 2, 3>(draw, s, 1, [heads, f]);
        s.sparse(ops::head_sddmm(query, key, &s.a.coalesce()), |_| {
            let whole = [m, n, heads, f];
            let (q, k) = (q.reshape([m, 1, heads, f]).expand(whole), k.reshape([1, n, heads, f]).expand(whole));
            let specified = s.specified().into_iter().flat_map(|kept| vec![kept; heads]);
            keep(sum_dims(q * k, &[3]).reshape([m, n, heads]), specified)
        })
    })];
    all.to_vec()
}

pub fn to_coo<const D: usize>() -> Vec<Step<CsrPattern, D>> {
    let all: &[Step<CsrPattern, D>] = &[("to_coo", |_, s| s.sparse(s.a.to_coo(), |x| x))];
    all.to_vec()
}
