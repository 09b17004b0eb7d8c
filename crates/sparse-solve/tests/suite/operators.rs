use crate::random::{dense, numbers};
use burn::tensor::{DType, Tensor, Tolerance};
use proptest::prelude::*;
use sparse_tensor::CsrTensor;
use sparse_tensor::solve::{Batch, LinearOperator, Operator, jacobi};

fn same(operator: &Operator, matrix: &Tensor<2>, numbers: &[f64]) {
    let [rows, cols] = matrix.dims();
    assert_eq!(operator.dims(), [rows, cols]);
    for operator in [operator.clone(), operator.without_tape(), operator.clone().transposed().transposed()] {
        let x = |n: usize| dense(&numbers[..2 * n], [n, 2], DType::F64);
        let want = matrix.clone().matmul(x(cols)).into_data();
        operator.try_apply(x(cols)).unwrap().into_data().assert_approx_eq::<f64>(&want, Tolerance::default());
        let want = matrix.clone().swap_dims(0, 1).matmul(x(rows)).into_data();
        operator
            .try_apply_transposed(x(rows))
            .unwrap()
            .into_data()
            .assert_approx_eq::<f64>(&want, Tolerance::default());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn they_do_what_their_matrices_do(
        [m, k, n] in [1usize..5, 1usize..5, 1usize..5],
        list in numbers(3 * 16),
        factor in -2.0f64..2.0,
        probe in numbers(2 * 25),
    ) {
        let a = dense(&list[..m * k], [m, k], DType::F64);
        let b = dense(&list[16..16 + k * n], [k, n], DType::F64);
        let c = dense(&list[32..32 + m * k], [m, k], DType::F64);
        let sparse = |x: &Tensor<2>| Operator::from(CsrTensor::<2>::from_dense(x.clone()));
        let coo = |x: &Tensor<2>| Operator::from(CsrTensor::<2>::from_dense(x.clone()).to_coo());
        same(&sparse(&a), &a, &probe);
        same(&coo(&a), &a, &probe);
        same(&Operator::from(a.clone()), &a, &probe);
        same(&(sparse(&a) * coo(&b)), &a.clone().matmul(b.clone()), &probe);
        same(&(sparse(&a) + Operator::from(c.clone()) * factor), &(a.clone() + c * factor), &probe);
        same(&(sparse(&a) * Operator::identity(k)), &a, &probe);
        let scaled = |x: &Tensor<1>, at: Tensor<2>| at * x.clone().reshape([1, 1]);
        let closure = Operator::from_fn([m, m], dense(&[factor], [1], DType::F64), scaled, Some(scaled));
        same(&(closure * sparse(&a)), &(a.clone() * factor), &probe);

        // The Kronecker product by its definition.
        let outer = a.clone().reshape([m, 1, k, 1]) * b.clone().reshape([1, k, 1, n]);
        same(&sparse(&a).kron(sparse(&b)), &outer.reshape([m * k, k * n]), &probe);

        let zeros = Tensor::zeros([k, k], (&a.device(), DType::F64));
        let blocks = Operator::try_blocks(vec![vec![Some(sparse(&a)), None], vec![None, Some(sparse(&b))]]).unwrap();
        let top = Tensor::cat(vec![a.clone(), Tensor::zeros([m, n], (&a.device(), DType::F64))], 1);
        same(&blocks, &Tensor::cat(vec![top, Tensor::cat(vec![zeros, b], 1)], 0), &probe);
    }
}

/// Blocks without rows or without columns stand for nothing, whichever kind of operator they are.
#[test]
fn blocks_of_no_size() {
    let matrix = |rows: usize, cols: usize| {
        let list: Vec<f64> = (0..rows * cols).map(|at| at as f64 - 1.5).collect();
        dense(&list, [rows, cols], DType::F64)
    };
    let probe: Vec<f64> = (1..=10).map(f64::from).collect();
    let sparse = |x: Tensor<2>| Operator::from(CsrTensor::<2>::from_dense(x));
    for kind in [sparse as fn(Tensor<2>) -> Operator, Operator::from] {
        let of = |rows: usize, cols: usize| Some(kind(matrix(rows, cols)));
        let identity = Some(Operator::identity(0));
        let wide = Operator::try_blocks(vec![vec![of(2, 0), of(2, 3), of(2, 0)]]).unwrap();
        same(&wide, &matrix(2, 3), &probe);
        let tall = Operator::try_blocks(vec![vec![of(0, 3)], vec![of(2, 3)], vec![of(0, 3)]]).unwrap();
        same(&tall, &matrix(2, 3), &probe);
        let corner = Operator::try_blocks(vec![vec![identity.clone(), of(0, 3)], vec![None, of(2, 3)]]).unwrap();
        same(&corner, &matrix(2, 3), &probe);
        same(&Operator::try_blocks(vec![vec![of(2, 0), of(2, 0)]]).unwrap(), &matrix(2, 0), &probe);
        same(&Operator::try_blocks(vec![vec![of(0, 2)], vec![of(0, 2)]]).unwrap(), &matrix(0, 2), &probe);
        same(&Operator::try_blocks(vec![vec![identity]]).unwrap(), &matrix(0, 0), &probe);
    }
}

/// What couples the systems is one system; what is the same in each of them is not.
#[test]
fn batches_of_what_is_combined() {
    let batch = || Operator::from(CsrTensor::<3>::from_dense(dense(&[1.0; 12], [3, 2, 2], DType::F64)));
    let wide = || Operator::from(CsrTensor::<3>::from_dense(dense(&[1.0; 18], [3, 2, 3], DType::F64)));
    let one = || Operator::from(dense(&[1.0; 36], [6, 6], DType::F64));
    let (systems, any) = (Batch::Systems([3, 2, 2]), Operator::identity(6));
    assert_eq!((batch().batch(), one().batch(), any.batch()), (systems, Batch::One, Batch::Any));
    assert_eq!((batch() + any.clone() * 2.0).batch(), systems);
    assert_eq!((any.clone() * 2.0 + batch()).batch(), systems);
    assert_eq!((any.clone() * batch()).batch(), systems);
    assert_eq!((any.clone() + any).batch(), Batch::Any);
    assert_eq!((batch() + one()).batch(), Batch::One);
    assert_eq!((one() * batch()).batch(), Batch::One);
    assert_eq!((batch() * wide()).batch(), Batch::Systems([3, 2, 3]));
    assert_eq!(wide().transposed().batch(), Batch::Systems([3, 3, 2]));
    assert_eq!((wide().transposed() * wide()).batch(), Batch::Systems([3, 3, 3]));
}

/// One part with a tape is enough.
#[test]
fn devices_of_what_is_combined() {
    let plain = || Operator::from(dense(&[1.0; 4], [2, 2], DType::F64));
    let tracked = || Operator::from(Tensor::<2>::ones([2, 2], &burn::tensor::Device::flex().autodiff()));
    assert!(Operator::identity(2).device().is_none());
    assert!(!plain().device().unwrap().is_autodiff());
    let blocks = Operator::try_blocks(vec![vec![Some(plain()), None], vec![None, Some(tracked())]]).unwrap();
    for operator in [plain() + tracked(), plain() * tracked(), plain().kron(tracked()), blocks, tracked() * 2.0] {
        assert!(operator.device().unwrap().is_autodiff());
        assert!(operator.transposed().device().unwrap().is_autodiff());
        assert!(!operator.without_tape().device().unwrap().is_autodiff());
    }
}

/// Where Burn would panic.
#[test]
fn products_that_do_not_fit_are_errors() {
    let kind = |operator: &Operator, x: Tensor<2>| operator.try_apply(x).unwrap_err().kind();
    let batch = Operator::from(CsrTensor::<3>::from_dense(dense(&[1.0; 8], [2, 2, 2], DType::F64)));
    assert_eq!(kind(&batch, dense(&[1.0; 5], [5, 1], DType::F64)), "shape_mismatch");
    let matrix = CsrTensor::<2>::from_dense(dense(&[1.0, 0.0, 0.0, 1.0], [2, 2], DType::F64));
    for operator in [jacobi(&matrix), Operator::from(matrix.to_dense()), Operator::from(matrix)] {
        assert_eq!(kind(&operator, dense(&[1.0; 2], [2, 1], DType::F32)), "dtype_mismatch");
        assert_eq!(kind(&operator, dense(&[1.0; 3], [3, 1], DType::F64)), "shape_mismatch");
    }
}
