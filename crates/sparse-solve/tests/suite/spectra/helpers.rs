use burn::tensor::{DType, Device, Tensor};
use sparse_tensor::CsrTensor;
use sparse_tensor::solve::{Boundary, LinearOperator, laplacian};

pub fn list<const D: usize>(x: &Tensor<D>) -> Vec<f64> {
    x.clone().into_data().iter::<f64>().collect()
}

pub fn grid(dims: &[usize], dtype: DType) -> CsrTensor<2> {
    laplacian(dims, Boundary::Dirichlet, (&Device::flex(), dtype)).unwrap()
}

/// The eigenvalues of the Laplacian of a grid, ascending.
pub fn of_grid(dims: &[usize]) -> Vec<f64> {
    let mut all = vec![0.0];
    for &n in dims {
        let own = (1..=n).map(|k| 2.0 - 2.0 * (k as f64 * std::f64::consts::PI / (n + 1) as f64).cos());
        let own: Vec<f64> = own.collect();
        all = all.iter().flat_map(|sum| own.iter().map(move |value| sum + value)).collect();
    }
    all.sort_by(f64::total_cmp);
    all
}

pub fn near(got: &[f64], want: &[f64], tolerance: f64) {
    assert_eq!(got.len(), want.len());
    for (got, want) in got.iter().zip(want) {
        assert!((got - want).abs() <= tolerance, "{got} {want}");
    }
}

/// The largest element of `A V - B V L` and of `V^T B V - I`.
pub fn wrong(a: &dyn LinearOperator, b: Option<&dyn LinearOperator>, values: &Tensor<1>, v: &Tensor<2>) -> [f64; 2] {
    let k = v.dims()[1];
    let mass = b.map_or(v.clone(), |b| b.try_apply(v.clone()).unwrap());
    let off = a.try_apply(v.clone()).unwrap() - mass.clone() * values.clone().reshape([1, k]);
    let unit = v.clone().swap_dims(0, 1).matmul(mass);
    let mut most = 0.0f64;
    for (at, own) in list(&unit).into_iter().enumerate() {
        most = most.max((own - f64::from(u8::from(at / k == at % k))).abs());
    }
    [list(&off.abs().max()).first().copied().unwrap(), most]
}
