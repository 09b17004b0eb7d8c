//! What cannot be converted without a loss is an error that says what to do.

use super::Drawn;
use ::faer::sparse::{SparseColMat, SparseRowMat};
use ::nalgebra_sparse::{CooMatrix, CscMatrix, CsrMatrix};
use ::petgraph::graph::{DiGraph, UnGraph};
use ::sprs::{CsMat, CsMatI, TriMat, TriMatI};
use burn::tensor::{DType, Device, FloatDType, Int, Tensor};
use sparse_files::interop::{FromSparse, Interop};
use sparse_tensor::{CooTensor, CsrTensor, Fill, SparseError};
use std::fmt::Debug;

fn kind<T: Debug>(result: Result<T, SparseError>) -> &'static str {
    result.expect_err("an error").kind()
}

/// The kinds of errors of every conversion from a square tensor to values of f32.
fn kinds(tensor: &CooTensor<2>) -> Vec<&'static str> {
    vec![
        kind(CsMat::<f32>::from_sparse(tensor)),
        kind(TriMat::<f32>::from_sparse(tensor)),
        kind(CsrMatrix::<f32>::from_sparse(tensor)),
        kind(CscMatrix::<f32>::from_sparse(tensor)),
        kind(CooMatrix::<f32>::from_sparse(tensor)),
        kind(SparseColMat::<u32, f32>::from_sparse(tensor)),
        kind(SparseRowMat::<u32, f32>::from_sparse(tensor)),
        kind(DiGraph::<(), f32>::from_sparse(tensor)),
        kind(UnGraph::<(), f32>::from_sparse(tensor)),
    ]
}

fn eye() -> CooTensor<2> {
    CsrTensor::<2>::eye(3, &Device::flex()).to_coo()
}

#[test]
fn fills() {
    assert_eq!(kinds(&eye().with_fill(Fill::scalar(1.0))), ["fill_mismatch"; 9]);
    assert_eq!(kinds(&eye().with_fill(Fill::Undefined)), ["undefined_fill"; 9]);
    // A fill that happens to be zero.
    assert!(CsMat::<f32>::from_sparse(&eye().with_fill(Fill::scalar(0.0))).is_ok());
    let message = CsMat::<f32>::from_sparse(&eye().with_fill(Fill::scalar(1.0))).unwrap_err().to_string();
    assert!(message.starts_with("sprs::CsMat::from_sparse: the fill must be zero, got 1"), "{message}");
}

#[test]
fn types_of_values() {
    let wide = eye().cast(FloatDType::F64);
    assert_eq!(kinds(&wide), ["dtype_mismatch"; 9]);
    let message = CsMat::<f32>::from_sparse(&wide).unwrap_err().to_string();
    assert_eq!(message, "sprs::CsMat::from_sparse: dtypes must agree, got f64 and f32 (cast changes one)");
    let integers = CsrTensor::<2, Int>::from_triplets(&[0], &[0], &[1i32], [1, 1], (&Device::flex(), DType::I32));
    assert_eq!(kind(CsMat::<f32>::from_sparse(integers.as_ref().unwrap())), "dtype_mismatch");
    assert!(CsMat::<f64>::from_sparse(&integers.unwrap()).is_ok());

    let device = Device::flex();
    let theirs = CsMat::new((1, 1), vec![0, 1], vec![0], vec![7i32]);
    assert_eq!(kind(CsrTensor::<2>::from_matrix(&theirs, &device)), "dtype_mismatch");
    assert_eq!(kind(CsrTensor::<2>::from_matrix(&theirs, &burn::tensor::Device::flex())), "dtype_mismatch");
    assert!(CsrTensor::<2>::from_matrix(&theirs, (&device, DType::F32)).is_ok());
    let large = CsMat::new((1, 1), vec![0, 1], vec![0], vec![1i64 << 40]);
    assert_eq!(kind(CsrTensor::<2, Int>::from_matrix(&large, (&device, DType::I32))), "overflow");
    let short = CsMat::new((1, 1), vec![0, 1], vec![0], vec![7u16]);
    assert_eq!(kind(CsrTensor::<2, Int>::from_matrix(&short, &device)), "unsupported_dtype");
    assert!(CsrTensor::<2, Int>::from_matrix(&short, (&device, DType::I32)).is_ok());
}

#[test]
fn shapes() {
    let hybrid = CooTensor::<2>::from_dense(Tensor::<2>::ones([3, 3], &Device::flex()), 1);
    assert_eq!(kinds(&hybrid), ["shape_mismatch"; 9]);
    let wide = Drawn::known().coo();
    assert_eq!(kind(DiGraph::<(), f64>::from_sparse(&wide)), "shape_mismatch");
    assert_eq!(kind(UnGraph::<(), f64>::from_sparse(&wide)), "shape_mismatch");
}

#[test]
fn undirected_graphs_need_symmetry() {
    let build = |values: &[f32], cols: &[usize]| {
        let rows: Vec<usize> = (0..values.len()).collect();
        let adjacency = CsrTensor::<2>::from_triplets(&rows, cols, values, [2, 2], &Device::flex()).unwrap();
        UnGraph::<(), f32>::from_sparse(&adjacency)
    };
    assert_eq!(build(&[1.0, 1.0], &[1, 0]).unwrap().edge_count(), 1);
    for (values, cols) in [(&[1.0, 2.0][..], &[1, 0][..]), (&[1.0], &[1]), (&[1.0, 1.0], &[1, 1])] {
        let message = build(values, cols).unwrap_err().to_string();
        assert!(message.contains("must be symmetric"), "{message}");
    }
}

#[test]
fn sizes_beyond_the_type_of_indices() {
    let device = Device::flex();
    let wide = |cols: usize| CsrTensor::<2>::from_triplets(&[0], &[cols - 1], &[1.0], [1, cols], &device).unwrap();
    assert!(CsMatI::<f32, u16>::from_sparse(&wide(0xffff)).is_ok());
    assert_eq!(kind(CsMatI::<f32, u16>::from_sparse(&wide(0x1_0000))), "overflow");
    assert_eq!(kind(TriMatI::<f32, u16>::from_sparse(&wide(0x1_0000))), "overflow");
    assert!(SparseRowMat::<u32, f32>::from_sparse(&wide(0x7fff_ffff)).is_ok());
    assert_eq!(kind(SparseRowMat::<u32, f32>::from_sparse(&wide(0x8000_0000))), "overflow");
    assert!(SparseRowMat::<usize, f32>::from_sparse(&wide(0x8000_0000)).is_ok());

    let nodes = |count: usize| CsrTensor::<2>::zeros([count, count], &device);
    assert_eq!(DiGraph::<(), f32, u8>::from_sparse(&nodes(255)).unwrap().node_count(), 255);
    assert_eq!(kind(DiGraph::<(), f32, u8>::from_sparse(&nodes(256))), "overflow");
    let full = CsrTensor::<2>::from_dense(Tensor::ones([16, 16], &device));
    assert_eq!(kind(DiGraph::<(), f32, u8>::from_sparse(&full)), "overflow");
    assert_eq!(UnGraph::<(), f32, u8>::from_sparse(&full).unwrap().edge_count(), 136);
}

#[test]
fn oversized_matrices_that_are_almost_empty() {
    let (device, rows) = (Device::flex(), 1usize << 40);
    let theirs = TriMat::from_triplets((rows, 2), vec![rows - 1], vec![1], vec![1.5f32]);
    assert_eq!(kind(CsrTensor::<2>::from_matrix(&theirs, &device)), "would_densify");
    let coo = CooTensor::<2>::from_matrix(&theirs, &device).unwrap();
    assert_eq!(TriMat::<f32>::from_sparse(&coo).unwrap(), theirs);
    assert_eq!(kind(CsMat::<f32>::from_sparse(&coo)), "would_densify");
    assert_eq!(kind(CsrMatrix::<f32>::from_sparse(&coo)), "would_densify");
    // Two columns need three pointers.
    let columns = CscMatrix::<f32>::from_sparse(&coo).unwrap();
    assert_eq!(columns.csc_data(), (&[0, 0, 1][..], &[rows - 1][..], &[1.5][..]));
    assert_eq!(CooTensor::<2>::from_matrix(&columns, &device).unwrap().to_triplets::<f32>(), coo.to_triplets());
    let square = CooTensor::<2>::from_triplets(&[0], &[1], &[1.5], [rows, rows], &device).unwrap();
    assert_eq!(kind(DiGraph::<(), f32>::from_sparse(&square)), "would_densify");
}
