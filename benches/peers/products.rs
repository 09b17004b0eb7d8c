//! Products of matrices.

use super::bounds::{Part, numbers, random, rows_of, stream};
use super::inputs::{Rows, dense, fresh};
use super::report::Bench;
use burn::tensor::{Device, Tensor};
use sparse_autograd::backward_from;
use sparse_tensor::data::Reordering;
use sparse_tensor::ops::{Reduce, masked_matmul};
use sparse_tensor::{CooTensor, CsrTensor, aligned};
use std::path::Path;

/// The size of ogbn-arxiv, whose edges these graphs do not have.
const NODES: usize = 169_343;
const EDGES: usize = 2_332_486;

pub(crate) fn run(bench: &mut Bench, folder: &Path) {
    let device = Device::flex();
    let of_graphs = [
        "spmm",
        "spmm, aligned",
        "spmm f+b",
        "spmm amax f+b",
        "sddmm",
        "sddmm, aligned",
        "spmm power-law",
        "spmm power-law f+b",
        "spmm clustered",
        "spmm reordered",
    ];
    if bench.wants_any(&of_graphs) {
        let x = dense(folder, "graph.dense", 20, [NODES, 128]);
        let adjacency = Rows::uniform(2, [NODES; 2], EDGES).shared(folder, "graph", &device);
        bench.compare("spmm", || product(&adjacency, 128), || vec![adjacency.matmul(x.clone()).flatten(0, 1)]);
        let near = aligned(x.clone());
        let work = || vec![adjacency.matmul(near.clone()).flatten(0, 1)];
        bench.compare_as("spmm, aligned", "spmm", || on_lines(product(&adjacency, 128)), work);
        // The gradient that backward starts from, made once, as for the peer.
        let ones = Tensor::ones([NODES, 128], &device);
        let both = |a: &CsrTensor<2>, reduce| both(a, &x, reduce, ones.clone());
        bench.compare("spmm f+b", || with_gradients(&adjacency, 128), || both(&adjacency, None));
        bench.compare("spmm amax f+b", || with_gradients(&adjacency, 128), || both(&adjacency, Some(Reduce::Amax)));
        let samples = || vec![rows_of(&adjacency, 512), stream(NODES * 512 + EDGES * 4, EDGES * 4)];
        let at_edges = |x: &Tensor<2>| vec![masked_matmul(x.clone(), x.clone().transpose(), &adjacency).values::<1>()];
        bench.compare("sddmm", samples, || at_edges(&x));
        bench.compare_as("sddmm, aligned", "sddmm", || on_lines(samples()), || at_edges(&near));
        drop((adjacency, near));
        let skewed = Rows::power_law(7, NODES, EDGES).shared(folder, "skewed", &device);
        bench.compare("spmm power-law", || product(&skewed, 128), || vec![skewed.matmul(x.clone()).flatten(0, 1)]);
        bench.compare("spmm power-law f+b", || with_gradients(&skewed, 128), || both(&skewed, None));
        drop(skewed);
        let clustered = Rows::clustered(8, NODES, EDGES).tensor(&device);
        let order = Reordering::reverse_cuthill_mckee(&clustered).expect("a square matrix");
        let (near, rows) = (order.adjacency(&clustered), order.rows(x.clone()));
        let works = [("spmm clustered", clustered, x.clone()), ("spmm reordered", near, rows)];
        for (name, a, x) in works {
            bench.time(name, "", || product(&a, 128), || vec![a.matmul(x.clone()).flatten(0, 1)]);
        }
    }
    let small = ["spmm small F=64", "spmm small F=64, aligned", "spmm small F=16", "spmm small F=16, aligned"];
    if bench.wants_any(&small) || bench.wants("spmm small batch of 4") {
        let a = Rows::uniform(3, [100_000; 2], 1_000_000).shared(folder, "small", &device);
        for (name, width) in [("spmm small F=64", 64), ("spmm small F=16", 16)] {
            let x = dense(folder, &format!("small.dense{width}"), 21, [100_000, width]);
            let work = |x: &Tensor<2>| vec![a.matmul(x.clone()).flatten(0, 1)];
            bench.compare(name, || product(&a, width), || work(&x));
            let near = aligned(x.clone());
            bench.compare_as(&format!("{name}, aligned"), name, || on_lines(product(&a, width)), || work(&near));
        }
        let x = dense(folder, "small.batch", 22, [400_000, 16]).reshape([4, 100_000, 16]);
        let products = || {
            let rows = (0..4).map(|_| rows_of(&a, 16 * 4));
            rows.chain([stream(a.nnz() * 8, 4 * 100_000 * 16 * 4)]).collect()
        };
        bench.compare("spmm small batch of 4", products, || vec![a.matmul(x.clone()).flatten(0, 2)]);
    }
    if bench.wants("spmv") {
        let a = Rows::uniform(9, [1_000_000; 2], 10_000_000).shared(folder, "long", &device);
        let x = dense(folder, "long.dense", 23, [1_000_000, 1]).flatten::<1>(0, 1);
        bench.compare("spmv", || product(&a, 1), || vec![a.matmul(x.clone())]);
    }
    if bench.wants_any(&["spgemm", "spgemm, known pattern"]) {
        let small = Rows::uniform(3, [100_000; 2], 1_000_000).shared(folder, "small", &device);
        // Columns and values of 10 elements for each element; each product is an element, or nearly so.
        let read = |width: usize| Part::Rows { index: numbers(small.col_idx()), width: 10 * width, table: 100_000 };
        let all = || vec![read(4), read(4), stream(small.nnz() * 8, 10 * small.nnz() * 8)];
        // A fresh copy each time: the symbolic phase is part of what is timed, as it is for SciPy.
        bench.compare("spgemm", all, || vec![fresh(&small).matmul(&small).values::<1>()]);
        // To which element each product goes is read.
        let values = || vec![read(4), stream(10 * small.nnz() * 4, 10 * small.nnz() * 4)];
        bench.compare_as("spgemm, known pattern", "spgemm", values, || vec![small.matmul(&small).values::<1>()]);
    }
    tiny(bench);
}

/// A row of the dense side for each element, the matrix in order, and the result.
pub(crate) fn product(a: &CsrTensor<2>, width: usize) -> Vec<Part> {
    vec![rows_of(a, width * 4), stream(a.nnz() * 8, a.dims()[0] * width * 4)]
}

/// The same with rows of a table as [`aligned`] makes it.
fn on_lines(parts: Vec<Part>) -> Vec<Part> {
    let near = |part| match part {
        Part::Rows { index, width, table } => Part::AlignedRows { index, width, table },
        part => part,
    };
    parts.into_iter().map(near).collect()
}

/// The product, and both gradients in one walk: it reads a row of the gradient for each element, in the order of the
/// columns, and writes a number for each element.
pub(crate) fn with_gradients(a: &CsrTensor<2>, width: usize) -> Vec<Part> {
    let (nodes, values) = (a.dims()[1] * width * 4, a.nnz() * 4);
    let elements = Part::Rows { index: random(a.nnz(), a.nnz()), width: 4, table: a.nnz() };
    let backward = [rows_of(a, width * 4), elements, stream(nodes + 2 * values, nodes + values)];
    product(a, width).into_iter().chain(backward).collect()
}

fn both(a: &CsrTensor<2>, x: &Tensor<2>, reduce: Option<Reduce>, ones: Tensor<2>) -> Vec<Tensor<1>> {
    let x = x.clone().autodiff().require_grad();
    let a = a.try_with_values(a.values::<1>().autodiff().require_grad()).expect("the same pattern");
    let out = match reduce {
        None => a.matmul(x.clone()),
        Some(reduce) => a.matmul_reduce(x.clone(), reduce),
    };
    let grads = backward_from(&out, ones);
    vec![out.inner().flatten(0, 1), x.grad(&grads).expect("a leaf").flatten(0, 1)]
}

/// A call that does almost nothing: what dispatch and checks cost. Each line is 1,000 calls, so ms are µs a call.
fn tiny(bench: &mut Bench) {
    const CALLS: usize = 1000;
    let a = Rows::uniform(4, [10, 20], 30).tensor(&Device::flex());
    let x = Tensor::<2>::ones([20, 4], &Device::flex());
    let ones = Tensor::ones([10, 4], &Device::flex());
    bench.time("1,000 tiny matmuls", "", Vec::new, || {
        (0..CALLS).for_each(|_| drop(a.matmul(x.clone())));
        vec![]
    });
    bench.time("1,000 tiny matmuls f+b", "", Vec::new, || {
        (0..CALLS).for_each(|_| drop(both(&a, &x, None, ones.clone())));
        vec![]
    });
    let rows = Rows::uniform(5, [100, 100], 1000).tensor(&Device::flex());
    let coo = rows.to_coo();
    let (indices, values) = (coo.indices(), rows.values::<1>());
    bench.time("1,000 CSR of 1,000", "", Vec::new, || {
        (0..CALLS).for_each(|_| {
            drop(CsrTensor::<2>::new(rows.row_ptr(), rows.col_idx(), values.clone(), [100, 100]).expect("valid rows"));
        });
        vec![]
    });
    bench.time("1,000 COO of 1,000", "", Vec::new, || {
        (0..CALLS).for_each(|_| {
            drop(CooTensor::<2>::new(indices.clone(), values.clone(), [100, 100]).expect("valid coordinates"));
        });
        vec![]
    });
}
