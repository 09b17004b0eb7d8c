//! Dims, ranks and sizes.

use super::*;
use sparse_tensor::ops;
use sparse_tensor::{CsrTensor, Fill, Limits};

/// Operations that take one dim.
#[test]
fn dims_that_are_not_there() {
    let a = small();
    let says = &["[-2, 2)", "got 2"];
    let refused = |op: &str, result: Result<(), SparseError>| super::refused("axis_out_of_range", op, says, result);
    refused("permute", a.try_permute([0, 2]).map(drop));
    refused("swap_dims", a.try_swap_dims(0, 2).map(drop));
    refused("flatten", a.try_flatten::<1>(2, 1).map(drop));
    refused("flatten", a.try_flatten::<1>(0, 2).map(drop));
    refused("squeeze_dim", a.try_squeeze_dim::<1>(2).map(drop));
    refused("narrow", a.try_narrow(2, 0, 1).map(drop));
    refused("slice_dim", a.try_slice_dim(2, 0..1).map(drop));
    refused("select_dim", a.try_select_dim::<1>(2, 0).map(drop));
    refused("split", a.try_split(1, 2).map(drop));
    refused("chunk", a.try_chunk(1, 2).map(drop));
    refused("softmax", a.try_softmax(2).map(drop));
    refused("log_softmax", a.try_log_softmax(2).map(drop));
    refused("argmax", a.try_argmax(2).map(drop));
    refused("argmin", a.try_argmin(2).map(drop));
    refused("stored_cumsum", a.try_stored_cumsum(2).map(drop));
    refused("sum_dim", a.try_sum_dim(2).map(drop));
    refused("select", a.try_select(2, ids([0], [1])).map(drop));
    refused("concat", ops::try_concat(&[a.clone(), a.clone()], 2).map(drop));
    let says = &["[-3, 3)", "got -4"];
    super::refused("axis_out_of_range", "unsqueeze_dim", says, a.try_unsqueeze_dim::<3>(-4));
    super::refused("axis_out_of_range", "stack", says, ops::try_stack::<_, 2, 3, _>(&[a.clone(), a], -4));
}

#[test]
fn ranks_that_are_not_those_of_the_result() {
    let a = small();
    refused("shape_mismatch", "flatten", &["is 1", "got 2"], a.try_flatten::<2>(0, 1));
    refused("shape_mismatch", "select_dim", &["is 1", "got 2"], a.try_select_dim::<2>(0, 0));
    let column = CooTensor::<2>::from_dense(ones([3, 1]), 0);
    refused("shape_mismatch", "squeeze_dim", &["is 1", "got 2"], column.try_squeeze_dim::<2>(1));
    refused("shape_mismatch", "squeeze_dim", &["dim 0", "[3, 1]"], column.try_squeeze_dim::<1>(0));
    refused("shape_mismatch", "unsqueeze_dim", &["is 3", "got 2"], a.try_unsqueeze_dim::<2>(0));
    refused("shape_mismatch", "flatten", &["got 1 and 0"], a.try_flatten::<1>(1, 0));
    refused(
        "shape_mismatch",
        "stack",
        &["rank 2", "rank 4"],
        ops::try_stack::<_, 2, 4, _>(std::slice::from_ref(&a), 0),
    );
    refused("shape_mismatch", "concat", &["[2, 3]", "[3, 1]"], ops::try_concat(&[a.clone(), column.clone()], 0));
    let rows = CsrTensor::<2>::from_dense(ones([3, 1]));
    refused("shape_mismatch", "squeeze_dim", &["rank 2 or 3", "[3]"], rows.try_squeeze_dim::<1>(1));
    refused("shape_mismatch", "permute", &["[0, 0]", "[2, 0]"], a.try_permute([0, -2]));
    refused("shape_mismatch", "swap_dims", &["[1, 0]", "[1, 1]"], {
        CooTensor::<2>::from_dense(ones([2, 3]), 1).try_swap_dims(0, 1)
    });
    refused("shape_mismatch", "reshape", &["[4, 2]", "[2, 3]"], a.try_reshape([4, 2]));
    refused("shape_mismatch", "reshape", &["[4, 0]", "[2, 3]"], a.try_reshape([4, -1]));
}

#[test]
fn parts_that_are_not_there() {
    let a = small();
    refused("index_out_of_range", "narrow", &["dim 1", "[0, 3)", "got 3"], a.try_narrow(1, 2, 2));
    refused("index_out_of_range", "slice_dim", &["dim 0", "[0, 2)", "got 2"], a.try_slice_dim(0, 1..3));
    refused("index_out_of_range", "select_dim", &["dim 1", "3)", "got 3"], a.try_select_dim::<1>(1, 3));
    refused("invalid", "split", &["got 0"], a.try_split(0, 0));
    refused("invalid", "chunk", &["got 0"], a.try_chunk(0, 0));
    refused("index_out_of_range", "select", &["dim 0", "2)", "got 2"], a.try_select(0, ids([2], [1])));
    refused(
        "empty_input",
        "concat",
        &["empty list"],
        ops::try_concat::<sparse_tensor::pattern::CooPattern, 2, _>(&[] as &[CooTensor<2>], 0),
    );
    refused("empty_input", "block_diag", &["empty list"], ops::try_block_diag(&[] as &[CooTensor<2>]));
}

/// Sizes beyond what an index counts.
#[test]
fn sizes_that_overflow() {
    let limit = i64::MAX.to_string();
    let tall = lone([1 << 62, 1]);
    let says = &["the joined dim", &limit, "got 9223372036854775808"];
    refused("overflow", "concat", says, ops::try_concat(&[tall.clone(), tall.clone()], 0));
    let says = &["a dimension", &limit, "got 9223372036854775808"];
    refused("overflow", "block_diag", says, ops::try_block_diag(&[tall.clone(), tall]));
    // Dims whose products meet only beyond 128 bits.
    let (a, b, c) = (1 << 62, 3usize.pow(39), 5usize.pow(26));
    let says = &["the dims that change", &limit];
    refused("overflow", "reshape", says, lone([a, b, c]).try_reshape([c, b, a]));
    let says = &["a flat index of the dims that change", &limit, &(1u128 << 80).to_string()];
    refused("overflow", "reshape", says, lone([1 << 40, 1 << 40]).try_reshape([1usize << 41, 1 << 39]));
    let says = &["the flattened dim", &limit, &(1u128 << 80).to_string()];
    refused("overflow", "flatten", says, lone([1 << 40, 1 << 40]).try_flatten::<1>(0, 1));
    let many = lone([1 << 62, 4]).with_fill(Fill::scalar(2.0));
    let says = &["the number of elements along the dims", &limit, "got 18446744073709551616"];
    refused("overflow", "prod", says, many.try_prod());
    refused("overflow", "sum", says, many.try_sum());
    refused("overflow", "sum_dims", says, many.try_sum_dims(&[0, 1]));
    // One more element than the product of what is stored counts.
    near(lone([1 << 62, 4]).sum(), ones([1]));
}

#[test]
fn element_types_without_kernels() {
    let says = &["a sparse tensor", "i16"];
    refused("unsupported_dtype", "from_diagonal", says, CooTensor::try_from_diagonal(short([3])));
    refused("unsupported_dtype", "sparse_mask", says, ops::try_sparse_mask(short([2, 3]), &small()));
    refused("shape_mismatch", "sparse_mask", &["[3, 2]", "[2, 3]"], ops::try_sparse_mask(ones([3, 2]), &small()));
    let says = &["Flex", "flex32"];
    refused("unsupported_dtype", "cast", says, small().try_cast(burn::tensor::FloatDType::Flex32));
}

#[test]
fn operands_of_another_type_or_structure() {
    let (a, double) = (small(), CooTensor::<2>::from_dense(wide([2, 3]), 0));
    let says = &["f32", "f64"];
    for (op, result) in [
        ("mul_dense", a.try_mul_dense(wide([2, 1]))),
        ("div_dense", a.try_div_dense(wide([2, 1]))),
        ("add_dense", a.try_add_dense(wide([2, 3]))),
        ("sub_dense", a.try_sub_dense(wide([2, 3]))),
        ("mul", a.try_mul(&double)),
        ("sub", a.try_sub(&double)),
        ("div", a.try_div(&double)),
    ] {
        refused("dtype_mismatch", op, says, result);
    }
    refused("shape_mismatch", "mul_dense", &["[3, 1]", "[2, 3]"], a.try_mul_dense(ones([3, 1])));
    refused("would_densify", "add_dense", &["Fill::Undefined", "6 elements"], a.try_add_dense(ones([2, 3])));
    let half = a.clone().with_fill(Fill::scalar(0.5));
    refused("would_densify", "mul_dense", &["Fill::Undefined", "6 elements"], half.try_mul_dense(ones([2, 3])));
    let hybrid = CooTensor::<2>::from_dense(ones([2, 3]), 1);
    let says = &["COO with 0 dense dims", "COO with 1 dense dims"];
    for (op, result) in [
        ("mul", a.try_mul(&hybrid)),
        ("intersect_with", a.try_intersect_with(&hybrid)),
        ("union_with", a.try_union_with(&hybrid)),
        ("difference", a.try_difference(&hybrid)),
    ] {
        refused("layout_mismatch", op, says, result);
    }
    let bare = bare([2, 3], 0).with_fill(Fill::Undefined);
    refused("undefined_fill", "union_with", &["with_fill"], bare.try_union_with(&a));
    refused("undefined_fill", "to_dense", &["to_dense_or"], bare.try_to_dense());
    refused("would_densify", "to_dense", &["to_dense_within", "6 elements", "limit of 5"], a.try_to_dense_within(5));
    refused("empty_input", "stored_max", &["at least one stored element"], bare.try_stored_max());
}

/// No memory holds what these ask for: nothing is asked of the allocator.
#[test]
fn sizes_that_no_memory_holds() {
    let says = &["the stored elements", "Limits::elements"];
    let (coo, csr) = (small(), small().to_csr());
    refused("would_densify", "repeat_dim", says, coo.try_repeat_dim(0, 1 << 40));
    refused("would_densify", "repeat_dim", says, csr.try_repeat_dim(0, 1 << 40));
    refused("would_densify", "repeat_dim", says, lone([1, 1]).try_repeat_dim(1, 1 << 50));
    let rows = CooTensor::<2>::from_dense(ones([2, 3]), 1);
    refused("would_densify", "repeat_dim", says, rows.try_repeat_dim(1, 1 << 40));
    let wide = CooTensor::<2>::from_dense(ones([1, 1 << 16]), 1);
    refused("would_densify", "repeat_dim", says, wide.try_repeat_dim(0, 1 << 20));
    let filled = bare([2, 3], 1).with_fill(Fill::tensor(ones([3])));
    refused("would_densify", "repeat_dim", says, filled.try_repeat_dim(1, 1 << 40));
    refused("would_densify", "expand", says, lone([1, 1]).try_expand([1i64 << 40, 1]));
    refused("would_densify", "expand", says, small().to_csr().try_expand([1i64 << 40, 2, 3]));
    refused("would_densify", "eye", says, CooTensor::<2>::try_eye(1 << 40, &flex()));
    refused("would_densify", "eye", says, CsrTensor::<2>::try_eye(1 << 40, &flex()));
    let many = CooTensor::<2>::from_dense(ones([1, 1 << 15]), 0);
    refused("would_densify", "kron", says, many.try_kron(&many));
    // A limit that the caller sets, in either direction.
    let copies = |times| coo.try_repeat_dim(0, times);
    assert_eq!(
        Limits::new().elements(1000).run(|| copies(1000).err().map(|error| error.kind())),
        Some("would_densify")
    );
    assert_eq!(Limits::new().elements(3000).run(|| copies(1000)).unwrap().nnz(), 3000);
    assert!(Limits::new().bytes(3000).run(|| copies(1000)).is_err());
    assert_eq!(copies(100).unwrap().nnz(), 300);
}
