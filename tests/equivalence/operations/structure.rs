//! Layouts, orders and kinds of the same elements.

use crate::answer::{Answer, Stored, both_sides, floats};
use crate::draw::{Build, Draw, Drawn, Fills, Host, Values};
use crate::oversized::SIZE;
use crate::reference::{keep, pick, reshape, take};
use burn::tensor::Tensor;
use rand::seq::SliceRandom;
use sparse_tensor::ops;
use sparse_tensor::pattern::{CooPattern, CsrPattern};
use sparse_tensor::{CsrTensor, Fill, SparseTensor};

operations! { "structure";
    to_dense of Float Int Bool [all] gradient, |h| {
        h.run(|| h.tall().to_dense());
        h.refuses(h.cells(), h.a.try_to_dense());
    };
    to_dense_within of Float Int Bool [all] gradient, |h| {
        h.run(|| h.tall().to_dense_within(4 * SIZE));
        h.refuses(h.cells(), h.a.try_to_dense_within(1 << 30));
    };
    to_dense_or of Float Int Bool [all] gradient, |h| {
        h.run(|| h.tall().to_dense_or(0.5));
        h.refuses(h.cells(), h.a.try_to_dense_or(0.5));
    };
    from_dense of Float Int Bool [all] gradient, |h| h.run(|| P::of_dense(h.tall().to_dense(), h.a.dense_dims()));
    values of Float Int Bool [all] gradient, |h| h.each(line);
    with_values of Float Int Bool [all] gradient, |h| h.each(|x| match x.dense_dims() {
        0 => x.with_values(x.values::<1>()),
        _ => x.with_values(x.values::<2>()),
    });
    with_fill of Float Int Bool [all] gradient, |h| h.each(|x| x.clone().with_fill(Fill::scalar(2.0)));
    coalesce of Float Int Bool [all] gradient, |h| h.each(|x| x.coalesce());
    to_csr of Float Int Bool [coo] gradient, |h| h.coo().each(|x| x.to_csr());
    to_coo of Float Int Bool [csr batched] gradient, |h| h.csr().each(|x| x.to_coo());
    to_csc_parts of Float Int Bool [csr] gradient, |h| h.csr().matrix().run(|| h.csr().matrix().a.to_csc_parts().2);
    compact_columns of Float Int Bool [coo csr] gradient, |h| h.matrix().each(|x| x.compact_columns().1);
    permute of Float Int Bool [all] gradient, |h| h.each(|x| x.permute(h.swapped()));
    swap_dims of Float Int Bool [all] gradient, |h| h.each(|x| x.swap_dims(h.rows() as isize, h.rows() as isize + 1));
    transpose of Float Int Bool [coo csr batched] gradient, |h| h.each(|x| x.transpose());
    concat of Float Int Bool [all] gradient, |h| h.joins(|parts, axis| ops::concat(parts, axis));
}

pub(super) fn to_dense<P: Build, const D: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, K>(Values::Any);
    both_sides(|| a.sparse.to_dense(), || a.dense)
}

pub(super) fn coalesce<P: Build, const D: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, K>(Values::Any);
    let stored = a.host.mask();
    both_sides(
        || {
            let own = a.sparse.coalesce();
            assert!(own.is_coalesced(), "what was coalesced says so");
            Stored(own)
        },
        || (a.dense, stored),
    )
}

pub(super) fn to_csr<P: Build, const D: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<CooPattern, D, K>(Values::Any);
    both_sides(|| a.sparse.to_csr(), || a.dense)
}

pub(super) fn to_coo<P: Build, const D: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<CsrPattern, D, K>(Values::Any);
    both_sides(|| a.sparse.to_coo(), || a.dense)
}

/// The parts, put together again.
pub(super) fn to_csc_parts<P: Build, const D: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let a = draw.unfilled::<CsrPattern, 2, K>(Values::Any);
    both_sides(
        || {
            let (col_ptr, row_idx, values) = a.sparse.to_csc_parts();
            CsrTensor::<2, K>::from_csc_parts(col_ptr, row_idx, values, a.sparse.dims()).expect("valid columns")
        },
        || a.dense,
    )
}

/// The columns that store an element.
pub(super) fn compact_columns<P: Build, const D: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, 2, K>(Values::Any);
    let mut columns: Vec<usize> = a.host.coordinates.iter().map(|at| at[1]).collect();
    columns.sort_unstable();
    columns.dedup();
    draw.has_empty |= columns.is_empty();
    let named: Vec<f64> = columns.iter().map(|&column| column as f64).collect();
    both_sides(
        || {
            let (ids, own) = a.sparse.compact_columns();
            assert_eq!(floats(ids.into_data()), named, "the columns, ascending");
            own
        },
        || pick(a.dense, 1, &columns),
    )
}

/// Sparse dims among themselves, dense dims among themselves.
pub(super) fn permute<P: Build, const D: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, K>(Values::Any);
    let mut axes: [isize; D] = std::array::from_fn(|axis| axis as isize);
    let (sparse, dense) = axes.split_at_mut(a.host.sparse_dims);
    sparse.shuffle(&mut draw.rng);
    dense.shuffle(&mut draw.rng);
    let signed = axes.map(|axis| if draw.coin() { axis } else { axis - D as isize });
    draw.inputs.push(format!("axes {signed:?}"));
    both_sides(|| a.sparse.permute(signed), || a.dense.permute(axes))
}

pub(super) fn transpose<P: Build, const D: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, K>(Values::Any);
    both_sides(|| a.sparse.transpose(), || a.dense.transpose())
}

/// Two or three parts, which share their fill but along a dense dim, where each has its own.
pub(super) fn concat<P: Build, const D: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let shape = draw.shape::<D>();
    let dims = draw.sparse_dims(D);
    let axis = draw.axis(D);
    let at = crate::reference::from_start(axis, D);
    let block = shape[dims..].iter().product();
    let shared = K::shared(draw, block, Values::Any, Fills::Any, false);
    let mut parts = vec![];
    for _ in 0..2 + draw.below(2) {
        let mut shape = shape;
        shape[at] = draw.size();
        parts.push(if at < dims {
            K::input::<P, D>(draw, shape, dims, Values::Any, &shared)
        } else {
            draw.shaped::<P, D, K>(shape, dims, Values::Any, Fills::Any)
        });
    }
    draw.inputs.push(format!("axis {axis}"));
    let (own, dense): (Vec<_>, Vec<_>) = parts.into_iter().map(|part| (part.sparse, part.dense)).unzip();
    both_sides(|| ops::concat(&own, axis), || Tensor::cat(dense, at))
}

/// Two sparse dims, or two dense ones.
pub(super) fn swap_dims<P: Build, const D: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, K>(Values::Any);
    let sparse = a.host.sparse_dims;
    let range = if sparse < D && draw.coin() { sparse..D } else { 0..sparse };
    let [x, y] = [0, 1].map(|_| range.start + draw.below(range.len()));
    let signed = [x, y].map(|axis| draw.signed(axis, D));
    draw.inputs.push(format!("axes {signed:?}"));
    both_sides(|| a.sparse.swap_dims(signed[0], signed[1]), || a.dense.swap_dims(x, y))
}

pub(super) fn to_dense_within<P: Build, const D: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, K>(Values::Any);
    let limit = a.host.shape.iter().product();
    both_sides(|| a.sparse.to_dense_within(limit), || a.dense)
}

/// Whatever the fill is: `None` stands for the number, which is the last element.
pub(super) fn to_dense_or<P: Build, const D: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, K>(Values::Any);
    let sparse = if draw.coin() { a.sparse.with_fill(Fill::Undefined) } else { a.sparse };
    both_sides(|| sparse.to_dense_or(K::scalar(1.0)), || unspecified(a.dense, &a.host, |x| x.ones_like()))
}

/// The dense tensor with another where nothing is stored.
fn unspecified<const D: usize, K: Drawn>(
    dense: Tensor<D, K>,
    host: &Host,
    other: impl FnOnce(&Tensor<1, K>) -> Tensor<1, K>,
) -> Tensor<D, K> {
    let (shape, count) = (dense.dims(), dense.shape().num_elements());
    if count == 0 {
        return dense;
    }
    let flat = dense.reshape([count]);
    let other = other(&flat);
    let from: Vec<Option<usize>> =
        host.mask().into_iter().enumerate().map(|(at, stored)| Some(if stored { at } else { count + at })).collect();
    take(Tensor::cat(vec![flat, other], 0), &from, shape)
}

/// The gradient of what is zero is nobody's.
pub(super) fn from_dense<P: Build, const D: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let dims = draw.sparse_dims(D);
    let shape = draw.shape();
    let x = draw.dense::<D, K>(shape, Values::Any);
    let block = shape[dims..].iter().product::<usize>().max(1);
    let real = floats(x.reference.clone().into_data());
    let kept: Vec<bool> = real
        .chunks(block)
        .flat_map(|values| std::iter::repeat_n(values.iter().any(|&value| value != 0.0), values.len()))
        .collect();
    both_sides(|| Stored(P::of_dense(x.own, D - dims)), || (keep(x.reference, kept.clone()), kept))
}

/// The rows of values as one line, whatever the number of dense dims is.
fn line<P: Build, const D: usize, K: Drawn>(a: &SparseTensor<P, D, K>) -> Tensor<1, K> {
    let length = a.nnz() * a.dims()[a.sparse_dims()..].iter().product::<usize>();
    match a.dense_dims() {
        0 => a.values::<1>(),
        1 => reshape(a.values::<2>(), [length]),
        _ => reshape(a.values::<3>(), [length]),
    }
}

/// Of the coalesced tensor, in lexicographic order.
pub(super) fn values<P: Build, const D: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, K>(Values::Any);
    let from: Vec<Option<usize>> =
        a.host.mask().into_iter().enumerate().filter(|(_, stored)| *stored).map(|(at, _)| Some(at)).collect();
    draw.has_empty |= from.is_empty();
    both_sides(|| line(&a.sparse.coalesce()), || take(a.dense, &from, [from.len()]))
}

/// Others for the same pattern; the fill stays.
pub(super) fn with_values<P: Build, const D: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, K>(Values::Any);
    let own = a.sparse.coalesce();
    let x = draw.dense::<D, K>(a.sparse.dims(), Values::Any);
    // The values of another tensor on the same pattern are those of a dense one at its coordinates.
    let other = ops::sparse_mask(x.own, &own);
    both_sides(
        || match own.dense_dims() {
            0 => own.with_values(other.values::<1>()),
            1 => own.with_values(other.values::<2>()),
            _ => own.with_values(other.values::<3>()),
        },
        || {
            let count = x.reference.shape().num_elements();
            if count == 0 {
                return x.reference;
            }
            unspecified(x.reference, &a.host, |_| a.dense.reshape([count]))
        },
    )
}

/// One number in a tensor, for what is not stored.
pub(super) fn with_fill<P: Build, const D: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, K>(Values::Any);
    let number = draw.dense::<1, K>([1], Values::Any);
    let fill = Fill::tensor(number.own);
    both_sides(|| a.sparse.with_fill(fill), || unspecified(a.dense, &a.host, |x| number.reference.expand(x.dims())))
}
