//! Structure made from nothing, from masks and from graphs.

use super::family;
use crate::answer::{Answer, law};
use crate::draw::{Build, Draw, Fills, Input, Layout, Values};
use crate::reference::{flat, from_start, mask, positions, reshape, sum_dims, take};
use burn::tensor::{DType, Device, Tensor, TensorData};
use sparse_tensor::pattern::{CooPattern, CsrPattern};
use sparse_tensor::{SparseTensor, ops};

family! { "patterns and graphs";
    "stack" stack [coo_up csr_up hybrid_up] gradient;
    "block_diag" block_diag [coo csr] gradient;
    "eye" eye [coo csr] none;
    "from_diagonal" from_diagonal [coo csr] gradient;
    "diagonal" diagonal [coo csr] gradient;
    "trace" trace [coo csr] gradient;
    "tril" tril [coo csr hybrid_matrix batched] gradient;
    "triu" triu [coo csr hybrid_matrix batched] gradient;
    "sparse_mask" sparse_mask [coo csr hybrid batched] gradient;
    "mask_by" mask_by [coo csr hybrid batched] gradient;
    "union_with" union_with [coo csr hybrid batched] gradient;
    "intersect_with" intersect_with [coo csr hybrid batched] gradient;
    "difference" difference [coo csr hybrid batched] gradient;
    "prune" prune [coo csr hybrid batched] gradient;
    "top_k_rows" top_k_rows [coo csr] gradient;
    "add_self_loops" add_self_loops [coo csr] gradient;
    "remove_self_loops" remove_self_loops [coo csr] gradient;
    "degree" degree [coo csr] gradient;
    "kron" kron [coo csr] gradient;
}

/// Parts of one shape and one fill.
fn stack<P: Build, const D: usize, const D2: usize>(draw: &mut Draw) -> Answer {
    let shape = draw.shape::<D>();
    let dims = draw.sparse_dims(D);
    let shared = draw.fill(shape[dims..].iter().product(), Values::Any, Fills::Any, true);
    let count = 1 + draw.below(3);
    let parts: Vec<Input<P, D>> = (0..count).map(|_| draw.filled(shape, dims, Values::Any, &shared)).collect();
    let axis = draw.below(D2);
    draw.inputs.push(format!("axis {axis}"));
    let (own, dense): (Vec<_>, Vec<_>) = parts.into_iter().map(|part| (part.sparse, part.dense)).unzip();
    law(|| ops::stack::<P, D, D2, _>(&own, axis as isize), || Tensor::stack::<D2>(dense, axis))
}

fn block_diag<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let parts: Vec<Input<P, 2>> = (0..1 + draw.below(3)).map(|_| draw.unfilled(Values::Any)).collect();
    let shapes: Vec<[usize; 2]> = parts.iter().map(|part| part.sparse.dims()).collect();
    let total = [0, 1].map(|dim| shapes.iter().map(|shape| shape[dim]).sum::<usize>());
    let (own, dense): (Vec<_>, Vec<_>) = parts.into_iter().map(|part| (part.sparse, part.dense)).unzip();
    law(
        || ops::block_diag(&own),
        || {
            let mut start = [0, 0];
            let mut sum = Tensor::<2>::zeros(total, (&dense[0].device(), dense[0].dtype()));
            for (part, shape) in dense.into_iter().zip(shapes) {
                let from = positions(total).map(|[row, column]| {
                    let inside = row >= start[0] && row < start[0] + shape[0];
                    let inside = inside && column >= start[1] && column < start[1] + shape[1];
                    inside.then(|| flat([row - start[0], column - start[1]], shape))
                });
                sum = sum + take(part, &from.collect::<Vec<_>>(), total);
                start = [start[0] + shape[0], start[1] + shape[1]];
            }
            sum
        },
    )
}

fn eye<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let n = draw.size();
    let options = (&draw.device().clone(), draw.float());
    let ones: Vec<f64> = (0..n * n).map(|at| f64::from(at / n.max(1) == at % n.max(1))).collect();
    law(
        || SparseTensor::<P, 2>::eye(n, options),
        || Tensor::<2>::from_data(TensorData::new(ones, [n, n]), (&Device::flex(), DType::F64)),
    )
}

fn from_diagonal<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let n = draw.size();
    let values = draw.dense([n], Values::Any);
    let from: Vec<Option<usize>> = positions([n, n]).map(|[row, column]| (row == column).then_some(row)).collect();
    law(|| SparseTensor::<P, 2>::from_diagonal(values.own), || take(values.reference, &from, [n, n]))
}

/// The positions of the diagonal of a matrix.
fn on_diagonal([rows, columns]: [usize; 2]) -> Vec<Option<usize>> {
    (0..rows.min(columns)).map(|k| Some(k * columns + k)).collect()
}

fn diagonal<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, 2>(Values::Any);
    let from = on_diagonal(a.sparse.dims());
    let length = from.len();
    law(|| a.sparse.diagonal(), || take(a.dense, &from, [length]))
}

fn trace<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.full::<P, 2>(Values::Any);
    let from = on_diagonal(a.sparse.dims());
    let length = from.len();
    law(|| a.sparse.trace(), || take(a.dense, &from, [length]).sum())
}

fn triangle<P: Build, const D: usize>(
    draw: &mut Draw,
    own: impl Fn(&SparseTensor<P, D>, isize) -> SparseTensor<P, D>,
    keep: impl Fn(isize, isize) -> bool,
) -> Answer {
    let shape = draw.shape();
    let last = if draw.layout == Layout::Hybrid { 2 } else { D };
    let a = draw.shaped::<P, D>(shape, last, Values::Any, Fills::Zero);
    let k = draw.below(9) as isize - 4;
    draw.inputs.push(format!("k {k}"));
    let kept = positions(a.sparse.dims()).map(|at| keep(at[last - 1] as isize - at[last - 2] as isize, k));
    law(|| own(&a.sparse, k), || a.dense.clone() * mask(&a.dense, kept))
}

fn tril<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    triangle::<P, D>(draw, |a, k| a.tril(k), |offset, k| offset <= k)
}

fn triu<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    triangle::<P, D>(draw, |a, k| a.triu(k), |offset, k| offset >= k)
}

fn sparse_mask<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let pattern = draw.sparse::<P, D>(Values::Any);
    let x = draw.dense(pattern.sparse.dims(), Values::Any);
    let kept = pattern.host.mask();
    law(|| ops::sparse_mask(x.own, &pattern.sparse), || x.reference.clone() * mask(&x.reference, kept.into_iter()))
}

/// A tensor of fill zero and another of its shape, whose pattern counts.
fn beside<P: Build, const D: usize>(draw: &mut Draw) -> (Input<P, D>, Input<P, D>) {
    let a = draw.unfilled(Values::Any);
    let b = draw.beside(&a, Values::Any);
    (a, b)
}

fn mask_by<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let (a, b) = beside::<P, D>(draw);
    let kept = b.host.mask();
    law(|| a.sparse.mask_by(&b.sparse), || a.dense.clone() * mask(&a.dense, kept.into_iter()))
}

fn intersect_with<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let (a, b) = beside::<P, D>(draw);
    let kept = b.host.mask();
    law(|| a.sparse.intersect_with(&b.sparse), || a.dense.clone() * mask(&a.dense, kept.into_iter()))
}

fn difference<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let (a, b) = beside::<P, D>(draw);
    let kept = b.host.mask();
    law(|| a.sparse.difference(&b.sparse), || a.dense.clone() * mask(&a.dense, kept.into_iter().map(|other| !other)))
}

/// The same elements, more of them specified.
fn union_with<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D>(Values::Any);
    let b = draw.beside(&a, Values::Any);
    law(|| a.sparse.union_with(&b.sparse), || a.dense)
}

fn prune<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.unfilled::<P, D>(Values::Any);
    // A block stays if any of its elements does.
    let (block, dense) = (a.host.block(), a.host.dense());
    let stays = |block: &[f64]| block.iter().any(|value| value.abs() > 1.0);
    let kept = dense.chunks(block.max(1)).flat_map(|values| std::iter::repeat_n(stays(values), block));
    law(|| a.sparse.prune(1.0), || a.dense.clone() * mask(&a.dense, kept))
}

/// The largest stored ones of each row, the smaller column first among equals.
fn top_k_rows<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.unfilled::<P, 2>(Values::Any);
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
    law(|| a.sparse.top_k_rows(k), || a.dense.clone() * mask(&a.dense, kept.into_iter()))
}

/// A square matrix of any fill.
fn square<P: Build>(draw: &mut Draw, fills: Fills) -> Input<P, 2> {
    let n = draw.size();
    draw.shaped([n, n], 2, Values::Any, fills)
}

fn add_self_loops<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = square::<P>(draw, Fills::Any);
    let value = draw.dense([1], Values::Any);
    let n = a.sparse.dims()[0];
    let from: Vec<Option<usize>> = positions([n, n]).map(|[row, column]| (row == column).then_some(0)).collect();
    law(|| a.sparse.add_self_loops(value.own), || a.dense + take(value.reference, &from, [n, n]))
}

fn remove_self_loops<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = square::<P>(draw, Fills::Zero);
    let kept = positions(a.sparse.dims()).map(|[row, column]| row != column);
    law(|| a.sparse.remove_self_loops(), || a.dense.clone() * mask(&a.dense, kept))
}

/// One number for each index along the axis: the sum of its stored values.
fn degree<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.unfilled::<P, 2>(Values::Any);
    let axis = draw.axis(2);
    draw.inputs.push(format!("axis {axis}"));
    let at = from_start(axis, 2);
    let length = a.sparse.dims()[at];
    law(|| a.sparse.degree(axis), || reshape(sum_dims(a.dense, &[1 - at]), [length]))
}

fn kron<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let (a, b) = (draw.unfilled::<P, 2>(Values::Any), draw.unfilled::<P, 2>(Values::Any));
    let ([m, n], [p, q]) = (a.sparse.dims(), b.sparse.dims());
    law(
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
