use crate::random::{dense, numbers};
use burn::tensor::{DType, Tensor, Tolerance};
use proptest::prelude::*;
use sparse_tensor::CsrTensor;
use sparse_tensor::solve::{LinearOperator, Operator};

fn same(operator: &Operator, matrix: &Tensor<2>, numbers: &[f64]) {
    let [rows, cols] = matrix.dims();
    assert_eq!(operator.dims(), [rows, cols]);
    for operator in [operator.clone(), operator.valid(), operator.clone().transposed().transposed()] {
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
