//! Two tensors element by element, and a tensor with a number, a dense tensor or a function.

use super::*;
use sparse_tensor::Fill;

#[test]
fn tensors_of_other_shapes() {
    let (a, b) = (small(), bare([3, 2]));
    let (ints, more) = (a.int(), b.int());
    let (yes, no) = (a.greater_elem(0.0), b.greater_elem(0.0));
    let shapes = ["[2, 3]", "[3, 2]"];
    refused! {
        shape_mismatch "sub" shapes a.try_sub(&b);
        shape_mismatch "mul" shapes a.try_mul(&b);
        shape_mismatch "div" shapes a.try_div(&b);
        shape_mismatch "div" shapes ints.try_div(&more);
        shape_mismatch "max_pair" shapes a.try_max_pair(&b);
        shape_mismatch "min_pair" shapes a.try_min_pair(&b);
        shape_mismatch "equal" shapes a.try_equal(&b);
        shape_mismatch "not_equal" shapes a.try_not_equal(&b);
        shape_mismatch "greater" shapes a.try_greater(&b);
        shape_mismatch "greater_equal" shapes a.try_greater_equal(&b);
        shape_mismatch "lower" shapes a.try_lower(&b);
        shape_mismatch "lower_equal" shapes a.try_lower_equal(&b);
        shape_mismatch "powf" shapes a.try_powf(&b);
        shape_mismatch "powi" shapes a.try_powi(&more);
        shape_mismatch "atan2" shapes a.try_atan2(&b);
        shape_mismatch "hypot" shapes a.try_hypot(&b);
        shape_mismatch "logaddexp" shapes a.try_logaddexp(&b);
        shape_mismatch "remainder" shapes a.try_remainder(&b);
        shape_mismatch "fmod" shapes a.try_fmod(&b);
        shape_mismatch "is_close" shapes a.try_is_close(&b, None, None);
        shape_mismatch "zip_with" shapes a.try_zip_with(&b, |x, y| x + y);
        shape_mismatch "bool_and" shapes yes.try_bool_and(&no);
        shape_mismatch "bool_or" shapes yes.try_bool_or(&no);
        shape_mismatch "bool_xor" shapes yes.try_bool_xor(&no);
        shape_mismatch "bitwise_and" shapes ints.try_bitwise_and(&more);
        shape_mismatch "bitwise_or" shapes ints.try_bitwise_or(&more);
        shape_mismatch "bitwise_xor" shapes ints.try_bitwise_xor(&more);
        shape_mismatch "mask_where" shapes a.try_mask_where(&no, &a);
        shape_mismatch "mask_where" shapes a.try_mask_where(&yes, &b);
        shape_mismatch "mask_fill" shapes a.try_mask_fill(&no, 1.0);
        shape_mismatch "mask_select" shapes a.try_mask_select(&no);
        shape_mismatch "intersect_with" shapes a.try_intersect_with(&b);
        shape_mismatch "union_with" shapes a.try_union_with(&b);
        shape_mismatch "difference" shapes a.try_difference(&b);
    }
}

#[test]
fn tensors_of_another_type_or_structure() {
    let (a, double, hybrid) = (small(), CooTensor::<2>::from_dense(wide([2, 3]), 0), full([2, 3], 1));
    let types = ["f32", "f64"];
    let structures = ["COO with 0 dense dims", "COO with 1 dense dims"];
    refused! {
        dtype_mismatch "add" types a.try_add(&double);
        dtype_mismatch "sub" types a.try_sub(&double);
        dtype_mismatch "mul" types a.try_mul(&double);
        dtype_mismatch "div" types a.try_div(&double);
        layout_mismatch "add" structures a.try_add(&hybrid);
        layout_mismatch "mul" structures a.try_mul(&hybrid);
        layout_mismatch "intersect_with" structures a.try_intersect_with(&hybrid);
        layout_mismatch "union_with" structures a.try_union_with(&hybrid);
        layout_mismatch "difference" structures a.try_difference(&hybrid);
    }
}

#[test]
fn dense_tensors_that_do_not_fit() {
    let a = small();
    let half = a.clone().with_fill(Fill::scalar(0.5));
    let thin = Tensor::<2, Int>::ones([3, 1], &flex());
    let (shapes, types) = (["[3, 1]", "[2, 3]"], ["f32", "f64"]);
    refused! {
        shape_mismatch "add_dense" shapes a.try_add_dense(ones([3, 1]));
        shape_mismatch "sub_dense" shapes a.try_sub_dense(ones([3, 1]));
        shape_mismatch "mul_dense" shapes a.try_mul_dense(ones([3, 1]));
        shape_mismatch "div_dense" shapes a.try_div_dense(ones([3, 1]));
        shape_mismatch "div_dense" shapes a.int().try_div_dense(thin);
        dtype_mismatch "add_dense" types a.try_add_dense(wide([2, 3]));
        dtype_mismatch "sub_dense" types a.try_sub_dense(wide([2, 3]));
        dtype_mismatch "mul_dense" types a.try_mul_dense(wide([2, 1]));
        dtype_mismatch "div_dense" types a.try_div_dense(wide([2, 1]));
        would_densify "add_dense" ["Fill::Undefined", "6 elements"] a.try_add_dense(ones([2, 3]));
        would_densify "mul_dense" ["Fill::Undefined", "6 elements"] half.try_mul_dense(ones([2, 3]));
    }
}

#[test]
fn numbers_that_do_not_fit() {
    let (a, ints) = (small(), small().int());
    refused! {
        shape_mismatch "add_scalar" ["[1]", "[2]"] a.try_add_scalar(ones([2]));
        shape_mismatch "sub_scalar" ["[1]", "[2]"] a.try_sub_scalar(ones([2]));
        shape_mismatch "mul_scalar" ["[1]", "[2]"] a.try_mul_scalar(ones([2]));
        shape_mismatch "div_scalar" ["[1]", "[2]"] a.try_div_scalar(ones([2]));
        shape_mismatch "div_scalar" ["[1]", "[2]"] ints.try_div_scalar(ones([2]));
        invalid "remainder_scalar" ["must not be 0"] a.try_remainder_scalar(0.0);
        invalid "fmod_scalar" ["must not be 0"] a.try_fmod_scalar(0.0);
        invalid "remainder_scalar" ["must not be 0"] ints.try_remainder_scalar(0);
        invalid "powi_scalar" ["float()", "got -1"] ints.try_powi_scalar(-1);
    }
}

/// Of the rows of stored elements, and of the one row of the fill.
#[test]
fn functions_that_change_the_shape() {
    let (a, none) = (small(), bare([2, 3]));
    refused! {
        shape_mismatch "map" ["[1, 1]", "[3, 1]"] a.clone().try_map(|rows| rows.narrow(0, 0, 1));
        shape_mismatch "map" ["fill's row", "[3, 1]", "[1, 1]"] a.clone().try_map(|rows| rows * ones([3, 1]));
        shape_mismatch "map" ["fill's row", "[1, 2]", "[1, 1]"] none.clone().try_map(|rows| rows.repeat_dim(1, 2));
        shape_mismatch "zip_with" ["[1, 1]", "[3, 1]"] a.try_zip_with(&a, |x, _| x.narrow(0, 0, 1));
        shape_mismatch "zip_with" ["fill's row", "[3, 1]"] a.try_zip_with(&a, |x, y| (x + y) * ones([3, 1]));
        shape_mismatch "zip_with" ["fill's row", "[2, 1]"] none.try_zip_with(&none, |x, _| x.repeat_dim(0, 2));
        shape_mismatch "map" ["[3, 2]", "[3, 1]"] a.stored().try_map(|rows| rows.repeat_dim(1, 2));
        shape_mismatch "zip" ["[3, 2]", "[3, 1]"] a.stored().try_zip(&a, |x, _| x.repeat_dim(1, 2));
    }
}

#[test]
fn values_and_fills_that_do_not_fit() {
    let a = small();
    let (undefined, one) = (bare([2, 3]).with_fill(Fill::Undefined), lone([2, 3]).with_fill(Fill::Undefined));
    let blocks = CooTensor::<2>::new(ids([1], [1, 1]), ones([1, 3]), [2, 3]).unwrap().with_fill(Fill::Undefined);
    let all = a.greater_elem(0.0);
    let every_block = full([2, 3], 1).greater_elem(0.0);
    let filled = all.clone().with_fill(Fill::scalar(true));
    refused! {
        shape_mismatch "with_fill" ["[2]", "[]"] a.clone().try_with_fill(Fill::tensor(ones([2])));
        length_mismatch "with_values" ["length 3", "got 2"] a.try_with_values(ones([2]));
        undefined_fill "union_with" ["with_fill"] undefined.try_union_with(&a);
        undefined_fill "get" ["with_fill"] undefined.try_get([0, 0]);
        undefined_fill "mask_select" ["with_fill"] one.try_mask_select(&all);
        undefined_fill "mask_select" ["with_fill"] blocks.try_mask_select(&every_block);
        would_densify "mask_select" ["with_fill(Fill::Zero)", "6 elements"] a.try_mask_select(&filled);
    }
}
