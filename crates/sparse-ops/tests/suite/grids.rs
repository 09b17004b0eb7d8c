//! Products of grids with vectors, which have a plan from the second one on.

use burn::tensor::{DType, Device, Int, Tensor, TensorData};
use sparse_tensor::CsrTensor;

/// The matrix of a path of `n` nodes, `values(k)` in order.
fn path(n: usize, copies: usize, values: impl Fn(usize) -> f32) -> Tensor<3> {
    let mut list = vec![0.0; copies * n * n];
    let near = (0..copies * n).flat_map(|row| {
        let own = row % n;
        (own.saturating_sub(1)..(own + 2).min(n)).map(move |col| row * n + col)
    });
    near.enumerate().for_each(|(k, at)| list[at] = values(k));
    Tensor::from_data(TensorData::new(list, [copies, n, n]), &Device::flex())
}

#[test]
fn later_products_have_the_bits_of_the_first() {
    let wave = |k: usize| 1.0 + (k as f32 * 0.7).sin();
    let x: Vec<f32> = (0..120).map(|k| wave(k * 5) - 1.0).collect();
    let dense = path(60, 2, wave);
    let x = Tensor::<3>::from_data(TensorData::new(x, [2, 60, 1]), &Device::flex());
    let one = CsrTensor::<2>::from_dense(dense.clone().narrow(0, 1, 1).reshape([60, 60]));
    let column = x.clone().narrow(0, 1, 1).reshape([60, 1]);
    let bits = |data: TensorData| data.iter::<f64>().map(f64::to_bits).collect::<Vec<_>>();
    for dtype in [DType::F16, DType::F32, DType::F64] {
        let (a, x) = (one.clone().cast(dtype.into()), column.clone().cast(dtype));
        let batch = CsrTensor::<3>::from_dense(dense.clone().cast(dtype));
        let [first, _, third] = [(); 3].map(|()| bits(a.matmul(x.clone()).into_data()));
        assert_eq!(first, third, "{dtype:?}");
        let own = third;
        let all = Tensor::<3>::from_data(TensorData::from([[[0.0]]]), &Device::flex()).cast(dtype);
        let both = all.expand([2, 60, 1]) + column.clone().cast(dtype).reshape([1, 60, 1]);
        let [first, _, third] = [(); 3].map(|()| bits(batch.matmul(both.clone()).into_data()));
        assert_eq!(first, third, "{dtype:?}, batch");
        // The second matrix of the batch is the one above.
        assert_eq!(third[60..], own[..], "{dtype:?}");
        // Clones share the pattern and have values of their own.
        let twice = a.mul_scalar(2.0);
        let got = bits(twice.matmul(x.clone()).into_data());
        let want = bits((a.matmul(x) * 2.0).into_data());
        assert_eq!(got, want, "{dtype:?}, other values");
    }
    let ints: Tensor<2, Int> =
        Tensor::from_data(one.to_dense().mul_scalar(10.0).into_data().convert::<i32>(), &Device::flex());
    let a = CsrTensor::<2, Int>::from_dense(ints.clone());
    let x = column.mul_scalar(9.0).int();
    let [first, _, third] = [(); 3].map(|()| a.matmul(x.clone()).into_data());
    assert_eq!(first, third);
    assert_eq!(third.convert::<i64>(), ints.matmul(x).into_data().convert::<i64>());
}
