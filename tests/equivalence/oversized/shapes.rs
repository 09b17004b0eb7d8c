//! Shapes and types beside the inputs of the registry: duplicates, one axis that no table can index, compressed rows of
//! a shape that has too many, layouts known at run time, layers and files.

use super::Oversized;
use super::inputs::{CELLS, Inputs, NNZ, SIZE, device, index, ones, undefined};
use super::outcome::done;
use burn::tensor::Device;
use burn::tensor::Slice;
use sparse_tensor::io::matrix_market;
use sparse_tensor::nn::{self, GcnConvConfig};
use sparse_tensor::ops;
use sparse_tensor::pattern::Pattern;
use sparse_tensor::{CooTensor, CsrTensor, SparseTensor};

pub fn all(inputs: &Inputs) {
    let ([coo, _], [csr, _], [batch, _]) = (&inputs.coo, &inputs.csr, &inputs.batched);
    duplicates(coo);
    one_axis(coo);
    rows(csr, batch);
    made(csr, coo);
    graph(csr);
    files(coo);
    files(csr);
}

/// Every element twice, in no order.
fn duplicates(a: &CooTensor<2>) {
    let twice = CooTensor::<2>::new(a.indices().repeat_dim(1, 2), a.values::<1>().repeat_dim(0, 2), a.dims());
    let twice = twice.expect("valid coordinates").detach().require_grad();
    assert_eq!(twice.coalesce().nnz(), a.nnz());
    let h = Oversized::new("duplicates", &[twice.clone(), twice]);
    h.each(|x| x.coalesce());
    h.each(|x| x.to_csr().to_coo());
    h.each(|x| x.flatten::<1>(0, 1));
    h.each(|x| x.select_dim::<1>(1, 5 * 331));
    h.each(|x| x.reshape::<4>([1000, 1000, 1000, 1000]));
    h.each(|x| x.unsqueeze_dim::<3>(2));
    h.each(|x| x.transpose());
    h.alike(|parts| ops::stack::<_, 2, 3, _>(parts, 2));
    h.alike(|parts| ops::concat(parts, 1));
}

/// 10^12 places along one axis.
fn one_axis(a: &CooTensor<2>) {
    let flat: CooTensor<1> = a.flatten(0, 1).detach().require_grad();
    let (all, last) = (SIZE * SIZE, 331 * 5 * (SIZE as i64 + 1));
    // The second one is a leaf too: a backward pass uses up what lies between.
    let h = Oversized::new("one axis", &[flat.clone(), flat.flip([0]).detach().require_grad()]);
    h.with_dense(|x| x.narrow(0, SIZE, all / 2));
    h.with_dense(|x| x.slice_dim(0, Slice::from_range_stepped(0..all, 7)));
    h.with_dense(|x| x.flip([0]));
    h.with_dense(|x| x.select(0, index(&[0, last, -1, last])));
    h.with_dense(|x| x.split(all / 2, 0));
    h.with_dense(|x| x.repeat_dim(0, 3));
    h.with_dense(|x| x.sum_dim(0));
    h.with_dense(|x| x.max_dim(0));
    h.with_dense(|x| x.argmin(0));
    h.with_dense(|x| x.get([0]));
    h.with_dense(|x| x.add(&h.b));
    h.with_dense(|x| x.reshape::<2>([SIZE, SIZE]));
    h.with_dense(|x| x.unsqueeze_dim::<2>(0));
    h.run(|| flat.softmax(0));
    h.run(|| undefined(&flat).softmax(0));
}

/// Row pointers that would need more memory than there is.
fn rows(a: &CsrTensor<2>, batch: &CsrTensor<3>) {
    let (long, pointers) = (SIZE * SIZE, CELLS + 1);
    let h = Oversized::new("too many rows", &[a.clone(), a.clone()]);
    h.refuses(pointers, a.try_unsqueeze_dim::<3>(2));
    h.refuses(pointers, a.try_reshape::<2>([long, 1]));
    h.refuses(pointers, a.try_kron(a));
    h.refuses(pointers, a.reshape::<2>([1, long]).try_permute([1, 0]));
    h.refuses(pointers, a.reshape::<2>([1, long]).try_transpose());
    h.refuses(pointers, batch.try_permute([1, 2, 0]));
    h.refuses(pointers, ops::try_stack::<_, 2, 3, _>(&[a.clone(), a.clone()], 2));
    // By coordinates all but the product can be, which needs the rows of its second operand.
    let line = a.to_coo().reshape::<2>([1, long]);
    h.run(|| line.transpose());
    h.run(|| line.transpose().unsqueeze_dim::<3>(2));
    h.refuses(pointers, line.try_matmul(line.transpose()));
}

/// Construction looks at what is stored.
fn made(csr: &CsrTensor<2>, coo: &CooTensor<2>) {
    done("CsrTensor::new", || CsrTensor::<2>::new(csr.row_ptr(), csr.col_idx(), csr.values(), csr.dims()));
    done("CooTensor::new", || CooTensor::<2>::new(coo.indices(), coo.values::<1>(), coo.dims()));
    let edges: Vec<(usize, usize)> = (0..1000).map(|k| (k * 331, SIZE - 1 - k)).collect();
    done("from_edges", || CooTensor::<2>::from_edges(&edges, ones([1000]), SIZE));
    done("from_edges of CSR", || CsrTensor::<2>::from_edges(&edges, ones([1000]), [SIZE, 2 * SIZE]));
    let (rows, cols, values) = csr.to_triplets::<f32>();
    done("from_triplets", || {
        let made = CsrTensor::<2>::from_triplets(&rows, &cols, &values, csr.dims(), &device());
        made.map(SparseTensor::require_grad)
    });
    done("from_rows", || {
        let made = CooTensor::<2>::from_rows(&[[(SIZE * SIZE, 1.0)], [(7, 2.0)]], None, &device());
        made.map(SparseTensor::require_grad)
    });
    let (col_ptr, row_idx, values) = csr.to_csc_parts();
    done("from_csc_parts", || CsrTensor::<2>::from_csc_parts(col_ptr, row_idx, values, csr.dims()));
    done("unique", || ops::unique(index(&[SIZE as i64 - 1, 0, SIZE as i64 - 1])).0);
}

/// Graphs of a million nodes.
fn graph(a: &CsrTensor<2>) {
    done("sparse_dropout", || nn::sparse_dropout(a, 0.5));
    done("symmetric_normalization", || nn::symmetric_normalization(a, true));
    done("row_normalization", || nn::row_normalization(a));
    done("forward_sparse", || GcnConvConfig::new(SIZE, 2).init(&device()).forward_sparse(a, a));
    done("forward", || GcnConvConfig::new(2, 2).init(&device()).forward(a, ones([SIZE, 2])));
}

/// What is printed and written is what is stored.
fn files<P: Pattern>(a: &SparseTensor<P, 2>) {
    done("Display", || a.to_string().len());
    done("Debug", || format!("{a:?}").len());
    done("matrix_market", || {
        let device = Device::flex();
        let folder = tempfile::tempdir().expect("a folder");
        for path in [folder.path().join("floats.mtx"), folder.path().join("integers.mtx")] {
            let integers = path.ends_with("integers.mtx");
            let written = if integers { matrix_market::write(&path, &a.int()) } else { matrix_market::write(&path, a) };
            written.expect("written");
            let length = std::fs::metadata(&path).expect("a file").len() as usize;
            assert!(length < 64 * NNZ, "{length} bytes");
            let read = matrix_market::read(&path).expect("what was written");
            assert_eq!(read.to_coo(&device).expect("coordinates").nnz(), a.nnz());
            assert_eq!(read.to_csr(&device).expect("rows").dims(), a.dims());
            assert_eq!(read.to_coo_int(&device).is_ok(), integers);
        }
        a.nnz()
    });
}
