//! Preconditioners: what they invert exactly, that `y^T M x == x^T M^T y`, iterations beside Jacobi's, errors.

use crate::random::{Kind, dense, matrix, numbers};
use crate::refused::told;
use burn::tensor::{DType, Device, FloatDType, Tensor, Tolerance};
use proptest::prelude::*;
use sparse_tensor::solve::{
    Boundary, Hints, LinearOperator, Method, Operator, SolverConfig, block_jacobi, ic0, ic0_shifted, ilu0, ilut,
    jacobi, laplacian, polynomial, ssor, try_block_jacobi, try_ic0, try_ic0_shifted, try_ilu0, try_ilut, try_jacobi,
    try_polynomial, try_ssor,
};
use sparse_tensor::{CsrTensor, Fill};

fn list(x: Tensor<2>) -> Vec<f64> {
    x.into_data().convert::<f64>().iter().collect()
}

fn near(got: Tensor<2>, want: &Tensor<2>) {
    got.into_data().assert_approx_eq::<f64>(&want.clone().into_data(), Tolerance::rel_abs(1e-8, 1e-8));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Factors that leave nothing out, and one block of all rows, are the inverse.
    #[test]
    fn nothing_left_out_is_the_inverse(n in 1usize..6, cells in numbers(25), x in numbers(10)) {
        let x = dense(&x[..2 * n], [n, 2], DType::F64);
        let of = |kind: Kind| dense(&matrix(kind, n, &cells), [n, n], DType::F64);
        let (positive, any) = (of(Kind::Positive), of(Kind::Any));
        // Every element is stored.
        let full = |a: &Tensor<2>| CsrTensor::<2>::from_dense(a.clone().mask_fill(a.clone().equal_elem(0.0), 1e-300));
        let cases = [
            (ic0(&full(&positive)), &positive),
            (ilu0(&full(&any)), &any),
            (ilut(&CsrTensor::<2>::from_dense(any.clone()), n, 0.0), &any),
            (block_jacobi(&CsrTensor::<2>::from_dense(any.clone()), n + 1), &any),
        ];
        for (m, a) in cases {
            near(m.try_apply(a.clone().matmul(x.clone())).unwrap(), &x);
            near(m.try_apply_transposed(a.clone().swap_dims(0, 1).matmul(x.clone())).unwrap(), &x);
        }
    }

    /// Of both layouts.
    #[test]
    fn transposed_products_agree(n in 1usize..7, cells in numbers(36), probe in numbers(14)) {
        let entries = dense(&matrix(Kind::Any, n, &cells), [n, n], DType::F64);
        let positive = dense(&matrix(Kind::Positive, n, &cells), [n, n], DType::F64);
        let [a, p] = [entries, positive].map(|a| CsrTensor::<2>::from_dense(a).to_coo());
        let x = dense(&probe[..n], [n, 1], DType::F64);
        let y = dense(&probe[7..7 + n], [n, 1], DType::F64);
        let all = [
            jacobi(&a), block_jacobi(&a, 2), ssor(&a, 1.3), ilu0(&a), ilut(&a, 2, 0.05), ic0_shifted(&p, 10.0),
            polynomial(&p, 3),
        ];
        for m in all {
            prop_assert_eq!(m.dims(), [n, n]);
            let there: f64 = list(y.clone() * m.try_apply(x.clone()).unwrap()).iter().sum();
            let back: f64 = list(x.clone() * m.try_apply_transposed(y.clone()).unwrap()).iter().sum();
            prop_assert!((there - back).abs() <= 1e-9 * (1.0 + there.abs()), "{:?}: {} {}", m, there, back);
            near(m.without_tape().try_apply(x.clone()).unwrap(), &m.try_apply(x.clone()).unwrap());
        }
    }

    /// `M x = A x` of SSOR with its definition.
    #[test]
    fn ssor_is_its_definition(n in 1usize..6, cells in numbers(25), x in numbers(5), omega in 0.2f64..1.8) {
        let a = dense(&matrix(Kind::Any, n, &cells), [n, n], DType::F64);
        let x = dense(&x[..n], [n, 1], DType::F64);
        let eye = Tensor::<2>::eye(n, &a.device()).cast(DType::F64);
        let diagonal = a.clone() * eye;
        let lower = a.clone().tril(-1) + diagonal.clone() / omega;
        let upper = a.clone().triu(1) + diagonal.clone() / omega;
        let inverse = diagonal.clone().mask_where(diagonal.clone().not_equal_elem(0.0), diagonal.recip());
        let product = lower.matmul(inverse).matmul(upper).matmul(x.clone()) * (omega / (2.0 - omega));
        near(ssor(&CsrTensor::<2>::from_dense(a), omega).try_apply(product).unwrap(), &x);
    }
}

/// Chebyshev's polynomial at the eigenvalues: of a diagonal matrix they are its elements.
#[test]
fn a_polynomial_comes_near_the_inverse() {
    let diagonal = [1.0, 1.5, 2.0, 3.0, 4.0];
    let a = CsrTensor::<2>::from_diagonal(dense(&diagonal, [5], DType::F64));
    let ones = || dense(&[1.0; 5], [5, 1], DType::F64);
    // Between 1 and 4.4: `1 - t p(t)` is at most 1 / T_{k+1}((4.4 + 1) / (4.4 - 1)).
    for degree in 0..6usize {
        let p = list(polynomial(&a, degree).try_apply(ones()).unwrap());
        let bound = 1.0 / ((degree + 1) as f64 * (5.4f64 / 3.4).acosh()).cosh();
        for (t, p) in diagonal.iter().zip(p) {
            assert!((1.0 - t * p).abs() <= bound * (1.0 + 1e-6), "{degree}: {t} {p}");
        }
    }
}

fn iterations(method: Method, a: &CsrTensor<2>, m: &Operator) -> usize {
    let b = Tensor::<1>::ones([a.dims()[0]], (&a.device(), a.dtype()));
    let hints = Hints { preconditioner: Some(m), ..Hints::default() };
    SolverConfig::new(method).with_relative(1e-8).try_solve_with(a, b, hints).unwrap().report.iterations
}

/// At most three fifths of Jacobi's for the symmetric matrix, two thirds for the other one.
#[test]
fn iterations_beside_jacobi() {
    let device = Device::flex();
    let a = laplacian(&[30, 30], Boundary::Dirichlet, (&device, DType::F64)).unwrap();
    let of_jacobi = iterations(Method::Cg, &a, &jacobi(&a));
    let counts = [ic0(&a), ssor(&a, 1.7), polynomial(&a, 4)].map(|m| iterations(Method::Cg, &a, &m));
    assert!(counts.iter().all(|count| 5 * count <= 3 * of_jacobi), "{counts:?} {of_jacobi}");
    let blocks = iterations(Method::Cg, &a, &block_jacobi(&a, 30));
    assert!(blocks < of_jacobi, "{blocks} {of_jacobi}");

    // A wind: not symmetric.
    let rows = a.to_dense();
    let wind = rows.clone() + rows.clone().tril(-1).mul_scalar(0.5) - rows.triu(1).mul_scalar(0.5);
    let a = CsrTensor::<2>::from_dense(wind);
    let method = Method::Gmres { restart: 30 };
    let of_jacobi = iterations(method, &a, &jacobi(&a));
    let counts = [ilu0(&a), ilut(&a, 5, 1e-3)].map(|m| iterations(method, &a, &m));
    assert!(3 * counts[0] <= 2 * of_jacobi && counts[1] < counts[0], "{counts:?} {of_jacobi}");
}

/// A preconditioner in the backward pass, with its transpose.
#[test]
fn gradients_do_not_depend_on_them() {
    let device = Device::flex().autodiff();
    let list = dense(
        &matrix(Kind::Any, 4, &[0.3, -1.0, 0.0, 2.0, 1.0, 0.5, -0.7, 0.0, 0.0, 1.0, 1.1, -2.0, 0.4, 0.0, 0.9, 0.1]),
        [4, 4],
        DType::F64,
    );
    let gradient = |m: Option<fn(&CsrTensor<2>) -> Operator>| {
        let a = CsrTensor::<2>::from_dense(Tensor::from_data(list.to_data(), (&device, DType::F64))).require_grad();
        let m = m.map(|make| make(&a));
        let hints = Hints { preconditioner: m.as_ref().map(|m| m as _), ..Hints::default() };
        let b = Tensor::<1>::ones([4], (&device, DType::F64));
        let solver = SolverConfig::new(Method::Gmres { restart: 4 }).with_relative(1e-12);
        let x = solver.try_solve_with(&a, b, hints).unwrap().x;
        let grads = (x.clone() * x).sum().backward();
        a.grad(&grads).unwrap().to_dense()
    };
    let want = gradient(None);
    for make in [
        ilu0,
        |a: &CsrTensor<2>| ssor(a, 1.2),
        |a: &CsrTensor<2>| ilut(a, 4, 0.1),
        |a: &CsrTensor<2>| block_jacobi(a, 2),
    ] {
        near(gradient(Some(make)), &want);
    }
}

#[test]
fn what_they_refuse() {
    let device = Device::flex();
    let of = |rows: [[f32; 2]; 2]| CsrTensor::<2>::from_dense(Tensor::from_floats(rows, &device));
    let (good, flat, zero) = (of([[2.0, 1.0], [1.0, 3.0]]), of([[1.0, 1.0], [1.0, 1.0]]), of([[1.0, 2.0], [2.0, 0.0]]));
    for trouble in
        [try_ic0(&flat), try_ilu0(&flat), try_ilut(&flat, 2, 0.0), try_block_jacobi(&flat, 2), try_ssor(&zero, 1.0)]
    {
        told(trouble, "invalid", "row 1");
    }
    told(try_ic0(&of([[1.0, 2.0], [2.0, 1.0]])), "invalid", "shift");
    assert!(try_ic0_shifted(&flat, 0.1).is_ok());
    for wrong in [-0.1, f64::NAN, f64::INFINITY] {
        told(try_ic0_shifted(&good, wrong), "invalid", "the shift");
        told(try_ilut(&good, 2, wrong), "invalid", "drop");
    }
    for wrong in [0.0, 2.0, f64::NAN] {
        told(try_ssor(&good, wrong), "invalid", "omega");
    }
    told(try_block_jacobi(&good, 0), "invalid", "size of 0");
    told(try_polynomial(&of([[1.0, 0.0], [0.0, -1.0]]), 2), "invalid", "eigenvalue");
    told(try_polynomial(&of([[1.0, 0.0], [0.0, f32::NAN]]), 2), "invalid", "finite");
    // What the dtype does not hold: the inverse of a diagonal, and a pivot of -1e-46.
    let tiny = of([[1.0, 0.0], [0.0, 1e-40]]);
    for trouble in [try_jacobi(&tiny), try_block_jacobi(&tiny, 1), try_block_jacobi(&tiny, 2)] {
        told(trouble, "invalid", "row 1");
    }
    let thin = of([[1.0, 1e-23], [1e-23, 0.0]]);
    told(try_ilut(&thin, 2, 0.0), "invalid", "got -0e0 in row 1");
    for wrong in [f32::NAN, f32::INFINITY] {
        let loose = of([[1.0, 0.0], [wrong, 1.0]]);
        told(try_ilut(&loose, 2, 0.1), "invalid", "the elements must be finite");
        told(try_ilu0(&loose), "invalid", "in row 1");
    }
    let wide = CsrTensor::<2>::zeros([2, 3], &device);
    let filled = good.clone().with_fill(Fill::scalar(1.0));
    let half = good.cast(FloatDType::F16);
    let makers: [fn(&CsrTensor<2>) -> sparse_tensor::Result<Operator>; 6] = [
        try_ic0,
        try_ilu0,
        |a| try_ilut(a, 2, 0.0),
        |a| try_block_jacobi(a, 2),
        |a| try_ssor(a, 1.0),
        |a| try_polynomial(a, 2),
    ];
    for make in makers {
        told(make(&wide), "shape_mismatch", "the matrix must be square, got 2 rows and 3 columns");
        told(make(&filled), "fill_mismatch", "zero");
        told(make(&half), "unsupported_dtype", "f16");
        // Without rows.
        let none = make(&CsrTensor::<2>::zeros([0, 0], &device)).unwrap();
        assert_eq!(none.try_apply(Tensor::zeros([0, 2], &device)).unwrap().dims(), [0, 2]);
    }
}
