//! Structure made from nothing, from masks and from graphs.

use crate::answer::{Answer, Stored, both_sides};
use crate::draw::{Build, Draw, Drawn, Fills, Input, Layout, Values};
use crate::oversized::{Oversized, SIZE, filled, mask, ones, undefined};
use crate::reference::{flat, keep, positions, reshape, sum_dims, take, zeros};
use burn::tensor::{Device, Int, Tensor};
use sparse_tensor::{Fill, Numeric, SparseTensor, ops};

operations! { "patterns and graphs";
    stack of Float Int Bool [coo_up csr_up hybrid_up] gradient,
        |h| [0, 1].into_iter().for_each(|axis| h.alike(|parts| ops::stack::<P, D, D2, _>(parts, axis)));
    block_diag of Float Int Bool [coo csr] gradient, |h| {
        let Oversized { a, b, .. } = h.matrix();
        h.run(|| ops::block_diag(&[a.clone(), b.clone()]));
        h.run(|| ops::block_diag(&[undefined(a), undefined(b)]));
        h.refuses(4 * h.cells(), ops::try_block_diag(&[filled(a), filled(b)]));
    };
    eye of Float Int Bool [coo csr] none, |h| h.run(|| SparseTensor::<P, 2, Int>::eye(SIZE, &Device::flex()));
    from_diagonal of Float Int Bool [coo csr] gradient,
        |h| h.run(|| SparseTensor::<P, 2>::from_diagonal(ones([SIZE])));
    diagonal of Float Int Bool [coo csr] gradient, |h| h.matrix().defined(|x| x.diagonal());
    trace of Float Int [coo csr] gradient, |h| h.matrix().defined(|x| x.trace());
    tril of Float Int Bool [coo csr hybrid_matrix batched] gradient, |h| {
        h.sparse(|x| x.tril(0));
        h.refuses(h.cells(), filled(&h.a).try_tril(0));
    };
    triu of Float Int Bool [coo csr hybrid_matrix batched] gradient, |h| {
        h.sparse(|x| x.triu(1));
        h.refuses(h.cells(), filled(&h.a).try_triu(0));
    };
    sparse_mask of Float Int Bool [all] gradient, |h| h.run(|| ops::sparse_mask(h.tall_ones(), &h.tall()));
    union_with of Float Int Bool [all] gradient, |h| h.defined(|x| x.union_with(&h.b));
    intersect_with of Float Int Bool [all] gradient, |h| h.each(|x| x.intersect_with(&mask(&h.b)));
    difference of Float Int Bool [all] gradient, |h| h.each(|x| x.difference(&h.b));
    prune of Float Int [all] gradient, |h| {
        h.sparse(|x| x.prune(1.0));
        h.refuses(h.cells(), filled(&h.a).try_prune(1.0));
    };
    top_k_rows of Float Int [coo csr] gradient, |h| {
        h.matrix().sparse(|x| x.top_k_rows(1));
        h.refuses(h.cells(), filled(&h.matrix().a).try_top_k_rows(1));
    };
    add_self_loops of Float Int [coo csr] gradient, |h| {
        h.matrix().each(|x| x.add_self_loops(1.0));
        h.matrix().each(|x| x.add_self_loops(ones([1])));
    };
    remove_self_loops of Float Int Bool [coo csr] gradient, |h| h.matrix().each(|x| x.remove_self_loops());
    row_sums of Float Int [coo csr] gradient, |h| h.matrix().each(|x| x.row_sums());
    col_sums of Float Int [coo csr] gradient, |h| h.matrix().each(|x| x.col_sums());
    kron of Float Int [coo csr] gradient, |h| {
        let m = h.matrix();
        m.sparse(|x| x.slice([0..4000, 0..4000]).kron(&m.b.clone().with_fill(x.fill().clone()).narrow(0, 0, 700)));
        h.refuses(h.cells() * h.cells(), filled(&m.a).try_kron(&m.b));
    };
}

/// Parts of one shape and one fill.
pub(super) fn stack<P: Build, const D: usize, const D2: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let shape = draw.shape::<D>();
    let dims = draw.sparse_dims(D);
    let shared = K::shared(draw, shape[dims..].iter().product(), Values::Any, Fills::Any, true);
    let count = 1 + draw.below(3);
    let parts: Vec<Input<P, D, K>> = (0..count).map(|_| K::input(draw, shape, dims, Values::Any, &shared)).collect();
    let axis = draw.below(D2);
    draw.inputs.push(format!("axis {axis}"));
    let (own, dense): (Vec<_>, Vec<_>) = parts.into_iter().map(|part| (part.sparse, part.dense)).unzip();
    both_sides(
        || ops::stack::<P, D, D2, K>(&own, axis as isize),
        || {
            if shape.contains(&0) {
                // Burn 0.22 reads a size of 0 as that of the operand.
                let sizes: Vec<usize> = [&shape[..axis], &[count], &shape[axis..]].concat();
                return zeros(&dense[0], sizes.try_into().expect("one more than the parts have"));
            }
            Tensor::stack::<D2>(dense, axis)
        },
    )
}

pub(super) fn block_diag<P: Build, const D: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let parts: Vec<Input<P, 2, K>> = (0..1 + draw.below(3)).map(|_| draw.unfilled(Values::Any)).collect();
    let shapes: Vec<[usize; 2]> = parts.iter().map(|part| part.sparse.dims()).collect();
    let total = [0, 1].map(|dim| shapes.iter().map(|shape| shape[dim]).sum::<usize>());
    let (own, dense): (Vec<_>, Vec<_>) = parts.into_iter().map(|part| (part.sparse, part.dense)).unzip();
    let first: Tensor<2, K> = dense[0].clone();
    both_sides(
        || ops::block_diag(&own),
        || {
            let mut start = [0, 0];
            let mut from = vec![None; total[0] * total[1]];
            let mut before = 0;
            for shape in shapes {
                positions(shape).for_each(|[row, column]| {
                    let to = flat([start[0] + row, start[1] + column], total);
                    from[to] = Some(before + flat([row, column], shape));
                });
                (start, before) = ([start[0] + shape[0], start[1] + shape[1]], before + shape[0] * shape[1]);
            }
            let joined = dense.into_iter().filter(|part| part.shape().num_elements() > 0);
            let joined: Vec<Tensor<1, K>> = joined.map(|part| part.flatten(0, 1)).collect();
            if joined.is_empty() { zeros(&first, total) } else { take(Tensor::cat(joined, 0), &from, total) }
        },
    )
}

pub(super) fn eye<P: Build, const D: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let n = draw.size();
    // Of the kind's own dtype.
    let ones = draw.shaped::<P, 2, K>([n, n], 2, Values::Any, Fills::Zero);
    let options = (&draw.device().clone(), ones.sparse.dtype());
    let kept: Vec<bool> = positions([n, n]).map(|[row, column]| row == column).collect();
    both_sides(
        || SparseTensor::<P, 2, K>::eye(n, options),
        || keep(Tensor::<2, K>::ones([n, n], (&ones.dense.device(), ones.dense.dtype())), kept),
    )
}

pub(super) fn from_diagonal<P: Build, const D: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let n = draw.size();
    let values = draw.dense::<1, K>([n], Values::Any);
    let from: Vec<Option<usize>> = positions([n, n]).map(|[row, column]| (row == column).then_some(row)).collect();
    let stored = from.iter().map(Option::is_some).collect();
    both_sides(
        || Stored(SparseTensor::<P, 2, K>::from_diagonal(values.own)),
        || (take(values.reference, &from, [n, n]), stored),
    )
}

/// The positions of the diagonal of a matrix.
fn on_diagonal([rows, columns]: [usize; 2]) -> Vec<Option<usize>> {
    (0..rows.min(columns)).map(|k| Some(k * columns + k)).collect()
}

pub(super) fn diagonal<P: Build, const D: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, 2, K>(Values::Any);
    let from = on_diagonal(a.sparse.dims());
    let length = from.len();
    both_sides(|| a.sparse.diagonal(), || take(a.dense, &from, [length]))
}

pub(super) fn trace<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
    let a = draw.full::<P, 2, K>(Values::Any);
    let from = on_diagonal(a.sparse.dims());
    let length = from.len();
    both_sides(|| a.sparse.trace(), || take(a.dense, &from, [length]).sum())
}

fn triangle<P: Build, const D: usize, K: Drawn>(
    draw: &mut Draw,
    own: impl Fn(&SparseTensor<P, D, K>, isize) -> SparseTensor<P, D, K>,
    kept: impl Fn(isize, isize) -> bool,
) -> Answer {
    let shape = draw.shape();
    let last = if draw.layout == Layout::Hybrid { 2 } else { D };
    let a = draw.shaped::<P, D, K>(shape, last, Values::Any, Fills::Zero);
    let k = draw.below(9) as isize - 4;
    draw.inputs.push(format!("k {k}"));
    let inside: Vec<bool> =
        positions(a.sparse.dims()).map(|at| kept(at[last - 1] as isize - at[last - 2] as isize, k)).collect();
    if draw.coin() {
        let undefined = a.sparse.with_fill(Fill::Undefined);
        return both_sides(|| own(&undefined, k).to_dense_or(K::scalar(0.0)), || keep(a.dense, inside));
    }
    let stored = both(&a.host.mask(), &inside);
    both_sides(|| Stored(own(&a.sparse, k)), || (keep(a.dense, inside), stored))
}

pub(super) fn tril<P: Build, const D: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    triangle::<P, D, K>(draw, |a, k| a.tril(k), |offset, k| offset <= k)
}

pub(super) fn triu<P: Build, const D: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    triangle::<P, D, K>(draw, |a, k| a.triu(k), |offset, k| offset >= k)
}

pub(super) fn sparse_mask<P: Build, const D: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let pattern = draw.sparse::<P, D, K>(Values::Any);
    let x = draw.dense::<D, K>(pattern.sparse.dims(), Values::Any);
    let kept = pattern.host.mask();
    both_sides(|| Stored(ops::sparse_mask(x.own, &pattern.sparse)), || (keep(x.reference, kept.clone()), kept))
}

/// Where both hold.
fn both(a: &[bool], b: &[bool]) -> Vec<bool> {
    a.iter().zip(b).map(|(a, b)| *a && *b).collect()
}

/// A tensor of fill zero and another of its shape, whose pattern counts.
fn with_a_pattern<P: Build, const D: usize, K: Drawn>(draw: &mut Draw) -> (Input<P, D, K>, Input<P, D, K>) {
    let a = draw.unfilled(Values::Any);
    let b = draw.second_operand(&a, Values::Any);
    (a, b)
}

pub(super) fn intersect_with<P: Build, const D: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let (a, b) = with_a_pattern::<P, D, K>(draw);
    let stored = both(&a.host.mask(), &b.host.mask());
    both_sides(|| Stored(a.sparse.intersect_with(&b.sparse)), || (keep(a.dense, b.host.mask()), stored))
}

pub(super) fn difference<P: Build, const D: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let (a, b) = with_a_pattern::<P, D, K>(draw);
    let others: Vec<bool> = b.host.mask().into_iter().map(|other| !other).collect();
    let stored = both(&a.host.mask(), &others);
    both_sides(|| Stored(a.sparse.difference(&b.sparse)), || (keep(a.dense, others), stored))
}

/// The same elements, more of them specified.
pub(super) fn union_with<P: Build, const D: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, K>(Values::Any);
    let b = draw.second_operand::<P, D, K>(&a, Values::Any);
    let either = a.host.mask().iter().zip(b.host.mask()).map(|(a, b)| *a || b).collect();
    both_sides(|| Stored(a.sparse.union_with(&b.sparse)), || (a.dense, either))
}

pub(super) fn prune<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
    let a = draw.unfilled::<P, D, K>(Values::Any);
    // A block stays if any of its elements does.
    let (block, dense) = (a.host.block(), a.host.dense());
    let stays = |block: &[f64]| block.iter().any(|value| value.abs() > 1.0);
    let kept = dense.chunks(block.max(1)).flat_map(|values| std::iter::repeat_n(stays(values), block));
    let kept: Vec<bool> = kept.collect();
    both_sides(|| Stored(a.sparse.prune(1.0)), || (keep(a.dense, kept.clone()), kept))
}

/// The largest stored ones of each row, the smaller column first among equals.
pub(super) fn top_k_rows<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
    let a = draw.unfilled::<P, 2, K>(Values::Any);
    let k = draw.below(4);
    draw.inputs.push(format!("k {k}"));
    let [rows, columns] = a.sparse.dims();
    let (dense, specified) = (a.host.dense(), a.host.specified());
    let mut kept = vec![false; rows * columns];
    for row in 0..rows {
        let mut places: Vec<usize> = (row * columns..(row + 1) * columns).filter(|&cell| specified[cell]).collect();
        // Stable: equals keep the order of their columns.
        places.sort_by(|&x, &y| dense[y].abs().total_cmp(&dense[x].abs()));
        places.iter().take(k).for_each(|&cell| kept[cell] = true);
    }
    both_sides(|| Stored(a.sparse.top_k_rows(k)), || (keep(a.dense, kept.clone()), kept))
}

/// A square matrix of any fill.
fn square<P: Build, K: Drawn>(draw: &mut Draw, fills: Fills) -> Input<P, 2, K> {
    let n = draw.size();
    draw.shaped([n, n], 2, Values::Any, fills)
}

pub(super) fn add_self_loops<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
    let a = square::<P, K>(draw, Fills::Any);
    let value = draw.dense::<1, K>([1], Values::Any);
    let n = a.sparse.dims()[0];
    let from: Vec<Option<usize>> = positions([n, n]).map(|[row, column]| (row == column).then_some(0)).collect();
    both_sides(|| a.sparse.add_self_loops(value.own), || a.dense + take(value.reference, &from, [n, n]))
}

pub(super) fn remove_self_loops<P: Build, const D: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let a = square::<P, K>(draw, Fills::Zero);
    let kept: Vec<bool> = positions(a.sparse.dims()).map(|[row, column]| row != column).collect();
    let stored = both(&a.host.mask(), &kept);
    both_sides(|| Stored(a.sparse.remove_self_loops()), || (keep(a.dense, kept), stored))
}

/// One number for each row: the fill counts.
pub(super) fn row_sums<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, 2, K>(Values::Any);
    let length = a.sparse.dims()[0];
    both_sides(|| a.sparse.row_sums(), || reshape(sum_dims(a.dense, &[1]), [length]))
}

pub(super) fn col_sums<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, 2, K>(Values::Any);
    let length = a.sparse.dims()[1];
    both_sides(|| a.sparse.col_sums(), || reshape(sum_dims(a.dense, &[0]), [length]))
}

pub(super) fn kron<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
    let (a, b) = (draw.unfilled::<P, 2, K>(Values::Any), draw.unfilled::<P, 2, K>(Values::Any));
    let ([m, n], [p, q]) = (a.sparse.dims(), b.sparse.dims());
    both_sides(
        || a.sparse.kron(&b.sparse),
        || {
            let shape = [m * p, n * q];
            let left: Vec<_> =
                positions(shape).map(|[row, column]| Some(flat([row / p, column / q], [m, n]))).collect();
            let right: Vec<_> =
                positions(shape).map(|[row, column]| Some(flat([row % p, column % q], [p, q]))).collect();
            take(a.dense, &left, shape) * take(b.dense, &right, shape)
        },
    )
}
