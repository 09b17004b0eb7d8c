//! Operands that do not go together: an error of the right kind that names the operation and what disagrees.

use burn::tensor::{DType, Device, Int, Tensor, TensorData};
use sparse_tensor::ops::{self, Epilogue, IndexPlan, Reduce};
use sparse_tensor::pattern::CsrPattern;
use sparse_tensor::{CooTensor, CsrTensor, Fill, SparseError};

fn ones<const D: usize>(shape: [usize; D]) -> Tensor<D> {
    Tensor::ones(shape, &Device::flex())
}

fn wide<const D: usize>(shape: [usize; D]) -> Tensor<D> {
    Tensor::ones(shape, (&Device::flex(), DType::F64))
}

fn zeros<const D: usize>(shape: [usize; D]) -> Tensor<D, Int> {
    Tensor::zeros(shape, &Device::flex())
}

/// What is in the shape is stored everywhere; the last `dense` dims are dense.
fn full<const D: usize>(shape: [usize; D], dense: usize) -> CooTensor<D> {
    CooTensor::from_dense(ones(shape), dense)
}

fn kinds<T>(op: &str, kind: &str, says: &str, result: Result<T, SparseError>) {
    let Some(trouble) = result.err() else { panic!("{op} must refuse: {says}") };
    assert_eq!(trouble.kind(), kind, "{trouble}");
    let told = trouble.to_string();
    assert!(told.starts_with(&format!("{op}: ")) && told.contains(says), "{op} must say {says:?}: {told}");
}

#[test]
fn shapes_of_products() {
    let a = full([2, 3], 0);
    kinds("addmm", "shape_mismatch", "broadcast", a.try_addmm(1.0, ones([2, 7]), 1.0, ones([3, 4])));
    let epilogue = Epilogue { bias: Some(ones([5])), relu: true };
    kinds("matmul_then", "shape_mismatch", "a number for each column", a.try_matmul_then(ones([3, 4]), epilogue));
    let epilogue = Epilogue { bias: Some(wide([4])), relu: false };
    kinds("matmul_then", "dtype_mismatch", "f64", a.try_matmul_then(ones([3, 4]), epilogue));
    kinds("matmul", "shape_mismatch", "without dense dims", full([3, 3], 1).try_matmul(&full([3, 3], 1)));
    kinds(
        "product_pattern",
        "shape_mismatch",
        "without dense dims",
        full([3, 3], 1).try_product_pattern(&full([3, 3], 1)),
    );
    let other = CooTensor::<2>::from_dense(wide([3, 3]), 0);
    kinds("matmul", "dtype_mismatch", "f64", a.try_matmul(&other));
    kinds("block_diag", "dtype_mismatch", "f64", ops::try_block_diag(&[a.clone(), other]));
    kinds("block_diag", "shape_mismatch", "matri", ops::try_block_diag(&[full([3, 3], 1)]));
    kinds("kron", "shape_mismatch", "matri", full([3, 3], 1).try_kron(&full([3, 3], 1)));
}

#[test]
fn dims_that_are_not_sparse() {
    let hybrid = full([2, 3, 4], 1);
    kinds("argmax", "shape_mismatch", "must be a sparse one", hybrid.try_argmax(2));
    kinds("argmin", "shape_mismatch", "must be a sparse one", hybrid.try_argmin(-1));
    kinds("triu", "shape_mismatch", "two sparse dims", full([2, 3], 1).try_triu(0));
    kinds("tril", "shape_mismatch", "two sparse dims", full([2, 3], 1).try_tril(0));
    kinds("flatten", "shape_mismatch", "among themselves", hybrid.try_flatten::<2>(1, 2));
    kinds("reshape", "shape_mismatch", "among themselves", full([2, 3], 1).try_reshape([6]));
    let csr = CsrPattern::new(zeros([4]), zeros([0]), &[1, 1, 3, 3]);
    kinds("CsrPattern::new", "shape_mismatch", "rank 2 or 3", csr);
}

#[test]
fn fills_that_would_fill_the_result() {
    let other = full([2, 3], 0).with_fill(Fill::scalar(2.0));
    kinds("stored_cumsum", "would_densify", "with_fill(Fill::Undefined)", other.try_stored_cumsum(0));
}

#[test]
fn parts_that_do_not_join() {
    let (a, hybrid) = (full([2, 3], 0), full([2, 3], 1));
    kinds("concat", "layout_mismatch", "1 dense dims", ops::try_concat(&[a.clone(), hybrid.clone()], 0));
    kinds("add", "layout_mismatch", "1 dense dims", a.try_add(&hybrid));
    let other = CooTensor::<2>::from_dense(wide([2, 3]), 0);
    kinds("concat", "dtype_mismatch", "f64", ops::try_concat(&[a.clone(), other.clone()], 0));
    kinds("add", "dtype_mismatch", "f64", a.try_add(&other));
    // Along a dense dim, blocks that only some parts store would be half undefined.
    let first = CooTensor::<2>::new(zeros([1, 1]), ones([1, 3]), [2, 3]).unwrap().with_fill(Fill::Undefined);
    let parts = [first, hybrid.with_fill(Fill::Undefined)];
    kinds("concat", "undefined_fill", "intersect_with", ops::try_concat(&parts, 1));
}

#[test]
fn indices_and_values_of_other_shapes() {
    let x = ones([2, 3]);
    kinds("gather", "shape_mismatch", "except along the dim", ops::try_gather(x.clone(), 1, zeros([3, 1])));
    let larger = ops::try_scatter_reduce(x.clone(), 1, zeros([3, 1]), ones([3, 1]), Reduce::Add, true);
    kinds("scatter_reduce", "shape_mismatch", "except along the dim", larger);
    let values = ops::try_scatter_reduce(x.clone(), 1, zeros([2, 1]), ones([2, 2]), Reduce::Add, true);
    kinds("scatter_reduce", "shape_mismatch", "shape", values);
    kinds("scatter", "shape_mismatch", "shape", ops::try_scatter(x.clone(), 1, zeros([2, 1]), ones([2, 2])));
    kinds("gather_nd", "shape_mismatch", "one dim more", ops::try_gather_nd(x.clone(), zeros([2, 1]), None));
    kinds("gather_nd", "shape_mismatch", "rank", ops::try_gather_nd(x.clone(), zeros([1, 1, 3]), None));
    let values = ops::try_put_along_axis(x.clone(), zeros([2, 1]), ones([2, 2]), 1, Reduce::Add, false);
    kinds("put_along_axis", "shape_mismatch", "broadcast", values);
    let plan = IndexPlan::new(zeros([2]), 3).unwrap();
    let values = plan.try_put(x, 1, ones([3, 2]), Reduce::Add, true);
    kinds("IndexPlan::put", "shape_mismatch", "except along the dim", values);
}

#[test]
fn coordinates_without_a_size() {
    let at = |list: [i64; 2]| {
        Tensor::<2, Int>::from_data(TensorData::new(list.to_vec(), [2, 1]), (&Device::flex(), DType::I64))
    };
    let inferred = |list: [i64; 2]| CooTensor::<2>::new_inferred(at(list), ones([1]));
    assert_eq!(inferred([0, 4]).unwrap().dims(), [1, 5]);
    kinds("CooTensor::new_inferred", "index_out_of_range", "", inferred([-2, 0]));
    kinds("CooTensor::new_inferred", "overflow", "a dimension", inferred([0, i64::MAX]));
    let csr = CsrTensor::<2>::new_inferred(zeros([2]), zeros([0]), ones([0])).unwrap();
    assert_eq!(csr.dims(), [1, 0]);
}
