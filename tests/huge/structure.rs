//! Shape, selection, joining, sets of coordinates, triangles, diagonals and conversions.

use crate::inputs::{CELLS, SIZE, filled, host_filled, index, mask, ones, tall, undefined};
use crate::outcome::{message, refused, refuses, run};
use burn::tensor::{Device, Int};
use sparse_tensor::ops::{self, DynTensor};
use sparse_tensor::pattern::Pattern;
use sparse_tensor::{CooTensor, CsrTensor, SparseTensor};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Parts, orders and copies of any layout and rank.
pub fn parts<P: Pattern, const D: usize>(a: &SparseTensor<P, D>, b: &SparseTensor<P, D>) {
    let sizes = a.dims();
    // The last two sparse dims are long.
    let [rows, cols] = [a.sparse_dims() - 2, a.sparse_dims() - 1];
    let mut swapped: [isize; D] = std::array::from_fn(|axis| axis as isize);
    swapped.swap(rows, cols);
    let (mut wide, mut three) = (sizes, sizes);
    (wide[rows], wide[cols], three[rows]) = (sizes[rows] / 4, sizes[cols] * 4, 3);
    for x in [a, &filled(a), &host_filled(a), &undefined(a)] {
        let y = &b.clone().with_fill(x.fill().clone());
        run! {
            x => coalesce(), permute(swapped), swap_dims(swapped[rows], swapped[cols]), flip(&[0, 1]);
            x => slice(sizes.map(|size| size / 2..size)), reshape(wide), get([0; D]), masked_select(&mask(a));
            x.narrow(rows as isize, 0, 1) => expand(three);
        }
        for axis in 0..D as isize {
            let size = sizes[axis as usize];
            let stored = if size == SIZE { 1655 } else { 1 };
            run! {
                x => narrow(axis, size / 2, size - size / 2), slice_step(axis, 0..size, -3), flip(&[axis]);
                x => split(size / 2, axis), chunk(2, axis), repeat_dim(axis, 2);
                x => index_select(axis, index([0, stored, -1, stored]));
            }
            let other = if x.fill().is_undefined() { x } else { y };
            run! { ops => concat(&[x.clone(), other.clone()], axis) }
        }
    }
    for x in [a, &undefined(a)] {
        run! { x => tril(0), triu(1), prune(1.0); }
    }
    let cells = a.num_elements();
    refused! {
        cells => a => try_to_dense(), try_to_dense_within(1 << 30), try_masked_select(&mask(b).bool_not());
        cells => filled(a) => try_tril(0), try_triu(0), try_prune(1.0);
    }
    let asked = catch_unwind(AssertUnwindSafe(|| drop(a.to_dense_or(0.5)))).expect_err("would_densify");
    let message = message(&*asked);
    assert!(message.contains(&cells.to_string()), "{message}");
}

/// Patterns as sets.
pub fn sets<P: Pattern, const D: usize>(a: &SparseTensor<P, D>, b: &SparseTensor<P, D>) {
    for x in [a, &filled(a), &host_filled(a), &undefined(a)] {
        run! { x => mask_by(b), intersect_with(&mask(b)), difference(b); }
    }
    for x in [a, &filled(a), &host_filled(a)] {
        run! { x => union_with(b); }
    }
}

/// What only matrices have, and what makes them.
pub fn matrices<P: Pattern>(a: &SparseTensor<P, 2>, b: &SparseTensor<P, 2>) {
    for x in [a, &filled(a), &host_filled(a), &undefined(a)] {
        let y = &b.clone().with_fill(x.fill().clone());
        run! {
            x => transpose(), add_self_loops(1.0), add_self_loops(ones([1])), remove_self_loops();
            x => matvec(ones([SIZE])), unsqueeze_dim::<3>(0), reshape::<3>([10, SIZE / 10, SIZE]);
            x.unsqueeze_dim::<3>(0) => squeeze_dim::<2>(0), select::<2>(0, -1), expand([2, SIZE, SIZE]);
            x.reshape([10, SIZE / 10, SIZE]) => flatten::<2>(0, 1), flatten::<2>(1, 2), transpose();
        }
        run! { ops => stack::<_, 2, 3, _>(&[x.clone(), y.clone()], 0), stack::<_, 2, 3, _>(&[x.clone(), y.clone()], 1) }
        for axis in [0, 1] {
            run! { x => degree(axis), count_stored_dim(axis); }
        }
    }
    for x in [a, &filled(a), &host_filled(a)] {
        run! { x => diagonal(), trace(), get([SIZE - 1, 1]); }
    }
    for (x, y) in [(a, b), (&undefined(a), &undefined(b))] {
        let corner = x.slice([0..4000, 0..4000]);
        run! { corner => kron(&y.narrow(0, 0, 700)); x => top_k_rows(1); }
        run! { ops => block_diag(&[x.clone(), y.clone()]) }
    }
    run! { type SparseTensor<P, 2> => from_diagonal(ones([SIZE])) }
    run! { type SparseTensor<P, 2, Int> => eye(SIZE, &Device::flex()) }
    refused! {
        CELLS => filled(a) => try_top_k_rows(1);
        CELLS * CELLS => filled(a) => try_kron(b);
    }
    refuses("try_block_diag", 4 * CELLS, ops::try_block_diag(&[filled(a), filled(b)]).map(drop));
    beside_dense(&tall(a));
}

/// With dense tensors of the full shape, of a matrix where they can be.
fn beside_dense<P: Pattern>(x: &SparseTensor<P, 2>) {
    let dense = || ones([SIZE, 4]);
    run! {
        x => to_dense(), to_dense_or(0.5), to_dense_within(4 * SIZE), mul_dense(dense()), div_dense(dense());
        undefined(x) => add_dense(dense()), sub_dense(dense());
    }
    run! { ops => sparse_mask(dense(), x) }
    let cells = x.num_elements();
    refused! {
        cells => filled(x) => try_mul_dense(dense()), try_div_dense(dense());
        cells => x => try_add_dense(dense()), try_sub_dense(dense());
    }
}

/// What coordinates alone can do, and the way between layouts.
pub fn layouts(a: &CooTensor<2>, b: &CooTensor<2>) {
    let nnz = a.nnz();
    let twice = CooTensor::<2>::new(a.indices().repeat_dim(1, 2), a.values::<1>().repeat_dim(0, 2), a.dims());
    let twice = twice.expect("valid coordinates").detach().require_grad();
    for x in [a, &filled(a), &undefined(a), &twice] {
        run! {
            x => coalesce(), to_csr(), flatten::<1>(0, 1), select::<1>(0, 1655), select::<1>(1, 1655);
            x => reshape::<4>([1000, 1000, 1000, 1000]), unsqueeze_dim::<3>(1), unsqueeze_dim::<3>(2), transpose();
            x.to_csr() => to_coo();
        }
        let parts = [x.clone(), x.clone()];
        run! { ops => stack::<_, 2, 3, _>(&parts, 1), stack::<_, 2, 3, _>(&parts, 2), concat(&parts, 1) }
    }
    assert_eq!(twice.coalesce().nnz(), nnz);
    let either = [DynTensor::Coo(a.clone()), DynTensor::Coo(b.clone())];
    let quotient = either[0].try_div(&either[1]).expect("one layout");
    run! { quotient.as_coo().expect("COO") => coalesce(); }
    let either = either.map(|part| DynTensor::Csr(part.as_coo().expect("COO").to_csr()));
    let joined = DynTensor::try_concat(&either, 1).expect("one layout");
    run! { joined.as_csr().expect("CSR") => to_coo(); }
    let csr = a.to_csr();
    run! { type CsrTensor<2> => new(csr.row_ptr(), csr.col_idx(), csr.values(), csr.dims()) }
    let edges: Vec<(usize, usize)> = (0..1000).map(|k| (k * 331, SIZE - 1 - k)).collect();
    run! { type CooTensor<2> => from_edges(&edges, ones([1000]), SIZE), new(a.indices(), a.values::<1>(), a.dims()) }
}

/// Compressed rows of a shape that has too many.
pub fn rows(a: &CsrTensor<2>, batch: &CsrTensor<3>) {
    let (long, pointers) = (SIZE * SIZE, CELLS + 1);
    refused! {
        pointers => a => try_unsqueeze_dim::<3>(2), try_reshape::<2>([long, 1]), try_kron(a);
        pointers => a.reshape::<2>([1, long]) => try_permute([1, 0]), try_matmul_transposed(&a.reshape([1, long]));
        pointers => batch => try_permute([1, 2, 0]);
    }
    let parts = [a.clone(), a.clone()];
    refuses("try_stack", pointers, ops::try_stack::<_, 2, 3, _>(&parts, 2).map(drop));
    // By coordinates all but the product can be, which needs the rows of its second operand.
    let line = a.to_coo().reshape::<2>([1, long]);
    run! { line => transpose(); line.transpose() => unsqueeze_dim::<3>(2); }
    refused! { pointers => line => try_matmul_transposed(&line); }
}

/// One axis that no table of memory's size can index.
pub fn one_axis(a: &CooTensor<2>) {
    let flat: CooTensor<1> = a.flatten(0, 1);
    let all = SIZE * SIZE;
    let last = 331 * 5 * (SIZE as i64 + 1);
    for x in [&flat, &filled(&flat), &undefined(&flat)] {
        run! {
            x => narrow(0, SIZE, all / 2), slice_step(0, 0..all, 7), flip(&[0]), index_select(0, index([0, last, -1, last]));
            x => split(all / 2, 0), repeat_dim(0, 3), sum_dim(0), amax_dim(0), argmin_dim(0), get([0]);
            x => add(&flat.flip(&[0])), reshape::<2>([SIZE, SIZE]), unsqueeze_dim::<2>(0), softmax(0);
        }
    }
}
