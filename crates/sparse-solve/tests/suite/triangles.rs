//! Triangular systems: against dense elimination on the tape, central differences, and by their errors.

use crate::random::{dense, numbers};
use crate::refused::told;
use burn::tensor::{DType, Device, FloatDType, Int, Tensor, TensorData, Tolerance};
use proptest::prelude::*;
use sparse_dev::gradients::check;
use sparse_tensor::solve::{Triangle, solve_triangular, try_solve_triangular};
use sparse_tensor::{CooTensor, CsrTensor, Fill};

fn triangles() -> impl Strategy<Value = Triangle> {
    any::<[bool; 3]>().prop_map(|[upper, transposed, unit_diagonal]| Triangle { upper, transposed, unit_diagonal })
}

/// The dense triangle, transposed where it says so.
fn picked(a: Tensor<2>, Triangle { upper, transposed, unit_diagonal }: Triangle) -> Tensor<2> {
    let side = |k: i64| if upper { a.clone().triu(k) } else { a.clone().tril(-k) };
    let eye = || Tensor::<2>::eye(a.dims()[0], &a.device()).cast(a.dtype());
    let own = if unit_diagonal { side(1) + eye() } else { side(0) };
    if transposed { own.swap_dims(0, 1) } else { own }
}

/// By substitution, a row at a time, in Burn's own operations.
fn substituted(t: &Tensor<2>, b: Tensor<2>, upper: bool) -> Tensor<2> {
    let ([n, _], width) = (t.dims(), b.dims()[1]);
    let mut rows: Vec<Option<Tensor<2>>> = vec![None; n];
    for step in 0..n {
        let r = if upper { n - 1 - step } else { step };
        let mut row = b.clone().narrow(0, r, 1);
        let at = |c: usize| t.clone().narrow(0, r, 1).narrow(1, c, 1).expand([1, width]);
        for (c, solved) in rows.iter().enumerate() {
            if let Some(solved) = solved {
                row = row - at(c) * solved.clone();
            }
        }
        rows[r] = Some(row / at(r));
    }
    Tensor::cat(rows.into_iter().flatten().collect(), 0)
}

/// With a diagonal that no triangle lacks.
fn entries(n: usize, cells: &[f64]) -> Vec<f64> {
    let diagonal = |cell: usize| if cells[cell] < 0.0 { cells[cell] - 1.0 } else { cells[cell] + 1.0 };
    (0..n * n).map(|cell| if cell % (n + 1) == 0 { diagonal(cell) } else { cells[cell] }).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Values and both gradients, beside dense Burn.
    #[test]
    fn agree_with_dense_burn(
        n in 1usize..6,
        width in 1usize..4,
        cells in numbers(25),
        right in prop::collection::vec(-2.0f64..2.0, 15),
        triangle in triangles(),
        [coo, single] in any::<[bool; 2]>(),
    ) {
        let device = Device::flex().autodiff();
        let leaf = |list: &[f64], dims: [usize; 2]| {
            Tensor::<2>::from_data(TensorData::new(list.to_vec(), dims), (&device, DType::F64)).require_grad()
        };
        let dtype = if single { DType::F32 } else { DType::F64 };
        let (a, b) = (leaf(&entries(n, &cells), [n, n]), leaf(&right[..n * width], [n, width]));
        let sparse = CsrTensor::<2>::from_dense(a.clone().cast(dtype));
        let right = b.clone().cast(dtype);
        let x = match coo {
            true => solve_triangular(&sparse.to_coo(), right, triangle),
            false => solve_triangular(&sparse, right, triangle),
        };
        let want = substituted(&picked(a.clone(), triangle), b.clone(), triangle.upper != triangle.transposed);
        let weights = dense(&numbers_to(n * width), [n, width], DType::F64);
        let near = if single { Tolerance::rel_abs(1e-2, 1e-2) } else { Tolerance::rel_abs(1e-8, 1e-8) };
        let weigh = |x: Tensor<2>| (x.cast(DType::F64) * Tensor::from_inner(weights.clone())).sum();
        let size = want.clone().into_data().iter::<f64>().fold(0.0, |most: f64, x| most.max(x.abs()));
        // Long chains of large ratios: f32 has no digits left there.
        prop_assume!(!single || size < 1e3);
        let all = |x: Tensor<2>| {
            let grads = weigh(x.clone()).backward();
            let zeros = |leaf: &Tensor<2>| leaf.grad(&grads).unwrap_or_else(|| leaf.clone().inner().zeros_like());
            [x.inner().cast(DType::F64), zeros(&a), zeros(&b)]
        };
        let (got, want) = (all(x), all(want));
        // The gradient of a sparse matrix is at its stored elements.
        let stored = a.clone().inner().not_equal_elem(0.0);
        let want_a = want[1].clone().zeros_like().mask_where(stored, want[1].clone());
        for (got, want) in got.into_iter().zip([want[0].clone(), want_a, want[2].clone()]) {
            got.into_data().assert_approx_eq::<f64>(&want.into_data(), near);
        }
    }

    /// Elements that a triangle has not and those of a diagonal that counts as 1 have differences of 0.
    #[test]
    fn gradients_agree_with_differences(
        cells in numbers(16),
        right in prop::collection::vec(-2.0f64..2.0, 8),
        triangle in triangles(),
        pick in 0usize..4,
        vector in any::<bool>(),
    ) {
        let list = entries(4, &cells);
        let stored: Vec<usize> = (0..16).filter(|&cell| list[cell] != 0.0).collect();
        let values: Vec<f64> = stored.iter().map(|&cell| list[cell]).collect();
        let [rows, cols] = [|cell: &usize| (cell / 4) as i64, |cell: &usize| (cell % 4) as i64];
        let ids: Vec<i64> = stored.iter().map(rows).chain(stored.iter().map(cols)).collect();
        let count = values.len();
        let of_b = if vector { TensorData::new(right[..4].to_vec(), [4]) } else { TensorData::new(right, [4, 2]) };
        check(pick, &[TensorData::new(values, [count]), of_b], |xs| {
            let values: Tensor<1> = xs[0].tensor();
            let ids = TensorData::new(ids.clone(), [2, count]);
            let indices = Tensor::<2, Int>::from_data(ids, &values.device().inner());
            let a = CooTensor::<2>::new(indices, values, [4, 4]).unwrap().to_csr();
            match vector {
                true => solve_triangular(&a, xs[1].tensor::<1>(), triangle).reshape([4, 1]),
                false => solve_triangular(&a, xs[1].tensor::<2>(), triangle),
            }
        })?;
    }
}

fn numbers_to(count: usize) -> Vec<f64> {
    (0..count).map(|k| 1.0 + (k as f64 * 0.7).sin()).collect()
}

#[test]
fn odd_shapes() {
    let device = Device::flex().autodiff();
    let list = |x: Tensor<1>| x.into_data().iter::<f32>().collect::<Vec<_>>();
    let none = CsrTensor::<2>::zeros([0, 0], &device);
    assert_eq!(solve_triangular(&none, Tensor::<1>::zeros([0], &device), Triangle::default()).dims(), [0]);
    let one = CsrTensor::<2>::from_dense(Tensor::from_floats([[4.0]], &device)).require_grad();
    let b = Tensor::<1>::from_floats([2.0], &device).require_grad();
    let x = solve_triangular(&one, b.clone(), Triangle::default());
    let grads = x.clone().sum().backward();
    assert_eq!(list(x.inner()), [0.5]);
    assert_eq!(list(b.grad(&grads).unwrap()), [0.25]);
    assert_eq!(list(one.grad(&grads).unwrap().values::<1>()), [-0.125]);
    // No columns: nothing to solve, and gradients of the right shapes.
    let x = solve_triangular(&one, Tensor::<2>::zeros([1, 0], &device), Triangle::default());
    assert_eq!(one.grad(&x.clone().sum().backward()).unwrap().nnz(), 1);
    assert_eq!(x.dims(), [1, 0]);
    // Nothing is stored, and a diagonal of 1.
    let unit = Triangle { unit_diagonal: true, ..Triangle::default() };
    let empty = CsrTensor::<2>::zeros([2, 2], &device).require_grad();
    let b = Tensor::<1>::from_floats([3.0, 5.0], &device).require_grad();
    let x = solve_triangular(&empty, b.clone(), unit);
    let grads = x.clone().sum().backward();
    assert_eq!((list(x.inner()), list(b.grad(&grads).unwrap())), (vec![3.0, 5.0], vec![1.0, 1.0]));
    assert_eq!(empty.grad(&grads).unwrap().nnz(), 0);

    // A chain has as many levels as rows: x_i = 1 - x_{i-1}.
    let rows = 1000;
    let ids = |shift: i64| (shift..rows).chain(0..rows).collect::<Vec<i64>>();
    let mut cols = ids(1);
    cols[..rows as usize - 1].iter_mut().for_each(|col| *col -= 1);
    let indices = [ids(1), cols].concat();
    let indices = Tensor::<2, Int>::from_data(TensorData::new(indices, [2, 2 * rows as usize - 1]), &device);
    let ones = Tensor::<1>::ones([2 * rows as usize - 1], &device);
    let chain = CooTensor::<2>::new(indices, ones, [rows as usize; 2]).unwrap();
    let x = list(solve_triangular(&chain, Tensor::<1>::ones([rows as usize], &device), Triangle::default()).inner());
    assert!(x.iter().enumerate().all(|(k, x)| *x == if k % 2 == 0 { 1.0 } else { 0.0 }));
}

/// A gradient that reaches one operand only.
#[test]
fn one_side_is_tracked() {
    let device = Device::flex().autodiff();
    let a = || CsrTensor::<2>::from_dense(Tensor::from_floats([[2.0, 0.0], [1.0, 4.0]], &device));
    let b = || Tensor::<1>::from_floats([2.0, 9.0], &device);
    let (left, right) = (a().require_grad(), b().require_grad());
    let grads = solve_triangular(&left, b(), Triangle::default()).sum().backward();
    let list = left.grad(&grads).unwrap().values::<1>().into_data().iter::<f32>().collect::<Vec<_>>();
    // T^-T 1 = [3/8, 1/4], x = [1, 2].
    assert_eq!(list, [-0.375, -0.25, -0.5]);
    let grads = solve_triangular(&a(), right.clone(), Triangle::default()).sum().backward();
    assert_eq!(right.grad(&grads).unwrap().into_data().iter::<f32>().collect::<Vec<_>>(), [0.375, 0.25]);
    assert!(!solve_triangular(&a(), b(), Triangle::default()).is_tracked());
}

#[test]
fn what_they_refuse() {
    let device = Device::flex();
    let a = |rows: [[f32; 2]; 2]| CsrTensor::<2>::from_dense(Tensor::from_floats(rows, &device));
    let b = || Tensor::<1>::from_floats([1.0, 1.0], &device);
    let lower = Triangle::default();
    let (good, zero) = (a([[1.0, 0.0], [2.0, 1.0]]), a([[1.0, 3.0], [2.0, 0.0]]));
    for triangle in [lower, Triangle { upper: true, ..lower }, Triangle { transposed: true, ..lower }] {
        told(try_solve_triangular(&zero, b(), triangle), "invalid", "in row 1");
        assert!(try_solve_triangular(&zero, b(), Triangle { unit_diagonal: true, ..triangle }).is_ok());
    }
    told(try_solve_triangular(&good, Tensor::<1>::ones([3], &device), lower), "shape_mismatch", "right-hand side");
    told(
        try_solve_triangular(&good, Tensor::<3>::ones([2, 1, 1], &device), lower),
        "shape_mismatch",
        "right-hand side",
    );
    told(
        try_solve_triangular(&CsrTensor::<2>::zeros([2, 3], &device), b(), lower),
        "shape_mismatch",
        "matrix must be square",
    );
    told(try_solve_triangular(&good, b().cast(DType::F64), lower), "dtype_mismatch", "f64");
    told(try_solve_triangular(&good.clone().cast(FloatDType::F16), b(), lower), "unsupported_dtype", "f16");
    told(try_solve_triangular(&good.clone().with_fill(Fill::scalar(1.0)), b(), lower), "fill_mismatch", "zero");
    assert!(try_solve_triangular(&good.with_fill(Fill::Undefined), b(), lower).is_ok());
}
