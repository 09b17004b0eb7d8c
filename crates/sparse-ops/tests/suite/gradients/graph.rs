//! Operations among ordinary Burn ones in one graph.

use burn::tensor::{DType, Int, Tensor, TensorData};
use proptest::prelude::*;
use sparse_dev::draw::{Plain, plain};
use sparse_dev::gradients::{check, devices};
use sparse_tensor::ops::{self, Reduce};
use sparse_tensor::{CooTensor, CsrTensor};

proptest! {
    /// concat, divide and put_along_axis in one graph, Burn operations between them, and a parent used three times.
    #[test]
    fn one_graph(a in plain(vec![2, 3], false), b in plain(vec![2, 3], false), pick in 0usize..4) {
        check(pick, &[a.data(), b.data()], |xs| {
            let shared: Tensor<1> = xs[0].tensor::<1>();
            let first: CooTensor<2> = a.coo(shared.clone().tanh());
            let second: CooTensor<2> = a.coo(shared.clone().exp() + 1.0);
            let other: CooTensor<2> = b.coo(xs[1].tensor::<1>().exp() + 0.5);
            let quotient = &first / &second.with_fill(sparse_tensor::Fill::scalar(2.0));
            let joined = ops::concat(&[quotient, other.sin_values()], 0).to_dense();
            let device = joined.device().inner();
            let index = Tensor::<2, Int>::from_data(TensorData::new(vec![1i64, -1, 0], [3, 1]), (&device, DType::I64));
            let arr = shared.clone().sum().reshape([1, 1]).expand([4, 3]);
            let values = joined.clone().narrow(0, 0, 3) * 2.0;
            ops::put_along_axis(arr, index, values, 0, Reduce::Mul, true) + joined.half_tanh()
        })?;
    }
}

trait SinValues {
    fn sin_values(&self) -> Self;
}
impl SinValues for CooTensor<2> {
    /// The sine of the stored values, by an ordinary Burn operation.
    fn sin_values(&self) -> Self {
        self.with_values(self.values::<1>().sin())
    }
}
trait HalfTanh {
    fn half_tanh(self) -> Self;
}
impl HalfTanh for Tensor<2> {
    fn half_tanh(self) -> Self {
        self.tanh() * 0.5
    }
}

/// The backward pass of sparse x dense works on nnz + rows * features numbers, never on rows x columns: with 200,000
/// rows and columns those would be 40 G numbers, which no machine here has.
#[test]
fn backward_of_a_large_product_stays_small() {
    const N: usize = 200_000;
    for device in devices() {
        let row_ptr: Vec<i64> = (0..=N as i64).collect();
        let col_idx: Vec<i64> = (0..N as i64).map(|row| (row * 7919) % N as i64).collect();
        let ints = |list: Vec<i64>| {
            let length = list.len();
            Tensor::<1, Int>::from_data(TensorData::new(list, [length]), (&device.clone().inner(), DType::I64))
        };
        let values = Tensor::<1>::ones([N], &device).require_grad();
        let a = CsrTensor::<2>::new(ints(row_ptr), ints(col_idx), values.clone(), [N, N]).unwrap();
        let x = Tensor::<2>::ones([N, 4], &device).require_grad();
        let grads = a.matmul(x.clone()).sum().backward();
        assert_eq!(values.grad(&grads).unwrap().sum().into_scalar::<f32>(), (4 * N) as f32);
        assert_eq!(x.grad(&grads).unwrap().sum().into_scalar::<f32>(), (4 * N) as f32);
    }
}

/// The gradient with respect to a sparse tensor lives on its own pattern.
#[test]
fn gradient_is_sparse() {
    for device in devices() {
        let plain = Plain {
            shape: vec![2, 3],
            coordinates: vec![vec![1, 2], vec![0, 1], vec![1, 2]],
            values: vec![1.0, 2.0, 3.0],
        };
        let a: CooTensor<2> = plain.coo::<2>(plain.leaf(&device)).require_grad();
        let x = Tensor::<2>::from_data(TensorData::from([[1.0f64], [10.0], [100.0]]), (&device, DType::F64));
        let grads = a.matmul(x).sum().backward();
        let grad = a.grad(&grads).unwrap();
        assert_eq!(grad.nnz(), 3);
        assert_eq!(grad.values::<1>().into_data().iter::<f64>().collect::<Vec<_>>(), [100.0, 10.0, 100.0]);
    }
}
