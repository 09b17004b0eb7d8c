//! Steps on matrices without dense dims.

use super::item::{Made, Sides};
use super::steps::{Kinks, Step, settled};
use super::structure::offsets;
use crate::draw::{Build, Values};
use crate::reference::{flat, keep, positions, reshape, spread, sum_dims, take};
use burn::tensor::{Float, Tensor};
use sparse_tensor::{SparseTensor, ops};

/// The most elements of a result along an axis.
const LONGEST: usize = 12;

pub fn steps<P: Build, const D: usize>() -> Vec<Step<P, D>> {
    let all: &[Step<P, D>] = &[
        ("block_diag", |_, s| {
            if !is_matrix(s) || !s.a.fill().is_zero() {
                return Made::Unfit;
            }
            let small = |b: &SparseTensor<P, D>| {
                b.fill().is_zero() && (0..D).all(|dim| b.dims()[dim] + s.dims()[dim] <= LONGEST)
            };
            let Some((b, y)) = s.pool.sparse(small) else { return Made::Unfit };
            let (Some(a), Some(b)) = (matrix(s.a), matrix(b)) else { return Made::Unfit };
            let parts = [a.dims(), b.dims()];
            let total = [0, 1].map(|dim| parts[0][dim] + parts[1][dim]);
            s.sparse(ops::block_diag(&[a.clone(), b.clone()]), |x| {
                let [rows, columns] = parts[0];
                let first = rows * columns;
                let from: Vec<Option<usize>> = positions(total)
                    .map(|[row, column]| match (row < rows, column < columns) {
                        (true, true) => Some(flat([row, column], parts[0])),
                        (false, false) => Some(first + flat([row - rows, column - columns], parts[1])),
                        _ => None,
                    })
                    .collect();
                let line = |x: Tensor<D>| {
                    let count = x.shape().num_elements();
                    reshape(x, [count])
                };
                take(Tensor::cat(vec![line(x), line(y)], 0), &from, total)
            })
        }),
        ("remove_self_loops", |_, s| match matrix(s.a) {
            Some(a) if a.dims()[0] == a.dims()[1] && s.a.fill().is_zero() => {
                s.sparse(a.remove_self_loops(), |x| matrix_of(keep(x, offsets(s, |offset| offset != 0))))
            }
            _ => Made::Unfit,
        }),
        // The largest of each row, the smaller column first among equals.
        ("top_k_rows", |draw, s| {
            let Some(a) = matrix(s.a) else { return Made::Unfit };
            let sizes = s.numbers().map(|side| side.into_iter().map(f64::abs).collect::<Vec<_>>());
            if !a.fill().is_zero() || !settled(sizes.clone(), &[], s.gap()) {
                return Made::Unfit;
            }
            let ([rows, columns], k) = (a.dims(), draw.below(4));
            let (stored, mut kept) = (s.specified(), vec![false; rows * columns]);
            for row in 0..rows {
                let line = row * columns..(row + 1) * columns;
                let mut places: Vec<usize> = line.filter(|&cell| stored[cell]).collect();
                // Stable: equals keep the order of their columns.
                places.sort_by(|&x, &y| sizes[1][y].total_cmp(&sizes[1][x]));
                places.iter().take(k).for_each(|&cell| kept[cell] = true);
            }
            s.sparse(a.top_k_rows(k), |x| matrix_of(keep(x, kept)))
        }),
        ("add_self_loops", |draw, s| match matrix(s.a) {
            Some(a) if a.dims()[0] == a.dims()[1] => {
                let number = draw.dense::<1, Float>([1], Values::Any);
                s.sparse(a.add_self_loops(number.own), |x| {
                    let all: Tensor<D> = spread(number.reference.reshape([1; D]), x.dims());
                    matrix_of(x + keep(all, offsets(s, |offset| offset == 0)))
                })
            }
            _ => Made::Unfit,
        }),
        ("kron", |_, s| {
            let small = |b: &SparseTensor<P, D>| {
                b.fill().is_zero() && (0..D).all(|dim| b.dims()[dim] * s.dims()[dim] <= LONGEST)
            };
            if !is_matrix(s) || !s.a.fill().is_zero() {
                return Made::Unfit;
            }
            let Some((b, y)) = s.pool.sparse(small) else { return Made::Unfit };
            let (Some(a), Some(b)) = (matrix(s.a), matrix(b)) else { return Made::Unfit };
            let ([m, n], [p, q]) = (a.dims(), b.dims());
            s.sparse(a.kron(b), |x| {
                let shape = [m * p, n * q];
                let left: Vec<_> =
                    positions(shape).map(|[row, column]| Some(flat([row / p, column / q], [m, n]))).collect();
                let right: Vec<_> =
                    positions(shape).map(|[row, column]| Some(flat([row % p, column % q], [p, q]))).collect();
                take(x, &left, shape) * take(y, &right, shape)
            })
        }),
        ("diagonal", |_, s| match matrix(s.a) {
            Some(a) => {
                let [rows, columns] = a.dims();
                let length = rows.min(columns);
                let from: Vec<Option<usize>> = (0..length).map(|k| Some(k * columns + k)).collect();
                s.dense(reshape(a.diagonal(), [1, length]), |x| take(x, &from, [1, length]))
            }
            None => Made::Unfit,
        }),
        ("row_sums", |_, s| match matrix(s.a) {
            Some(a) => {
                let rows = a.dims()[0];
                s.dense(reshape(a.row_sums(), [rows, 1]), |x| matrix_of(sum_dims(x, &[1])))
            }
            None => Made::Unfit,
        }),
        ("col_sums", |_, s| match matrix(s.a) {
            Some(a) => {
                let columns = a.dims()[1];
                s.dense(reshape(a.col_sums(), [1, columns]), |x| matrix_of(sum_dims(x, &[0])))
            }
            None => Made::Unfit,
        }),
    ];
    all.to_vec()
}

pub fn is_matrix<P: Build, const D: usize>(s: &Sides<P, D>) -> bool {
    D == 2 && s.a.sparse_dims() == 2
}

/// The tensor where it is a matrix without dense dims.
pub fn matrix<P: Build, const D: usize>(a: &SparseTensor<P, D>) -> Option<&SparseTensor<P, 2>> {
    let a: &dyn std::any::Any = a;
    a.downcast_ref::<SparseTensor<P, 2>>().filter(|a| a.sparse_dims() == 2)
}

/// A dense tensor of which the rank is known to be 2.
pub fn matrix_of<const D: usize>(x: Tensor<D>) -> Tensor<2> {
    let shape = [x.dims()[0], x.dims()[1]];
    reshape(x, shape)
}
