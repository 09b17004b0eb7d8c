//! Spectra on the device, of which only the small dense problems are the host's.

use crate::common::{TURN, gpu, list};
use burn::tensor::Device;
use sparse_burn::forced::{Forced, forced};
use sparse_tensor::solve::{Boundary, EigshConfig, EigshMethod, laplacian};
use sparse_tensor::{CsrTensor, host_fallbacks};

/// The three smallest values, the largest number of each vector's residual, and the gradient of the values' sum.
fn smallest(method: EigshMethod, device: &Device) -> [Vec<f32>; 3] {
    let device = device.clone().autodiff();
    // Of a rectangle whose values are apart.
    let grid: CsrTensor<2> = laplacian(&[24, 13], Boundary::Dirichlet, &device).unwrap();
    let a = grid.detach().require_grad();
    let config = EigshConfig::new(3).with_method(method).with_relative(1e-4);
    let pairs = config.try_solve(&a).unwrap();
    let (values, vectors) = (pairs.values.clone(), pairs.vectors.clone());
    let left = a.matmul(vectors.clone()) - vectors * values.clone().reshape([1, 3]);
    let grads = values.clone().sum().backward();
    let own = a.grad(&grads).unwrap().values::<1>();
    [list(values), list(left.abs().max_dim(0)), list(own)]
}

#[test]
fn agree_with_the_cpu() {
    let _turn = TURN.lock();
    let hosted = host_fallbacks();
    for method in [EigshMethod::Lobpcg, EigshMethod::Lanczos] {
        let ([values, left, grad], launched) = forced(Forced::default(), || smallest(method, &gpu()));
        let [want, _, want_grad] = smallest(method, &Device::flex());
        assert!(launched.contains("combine_columns") && launched.contains("column_pass"), "{method:?}: {launched:?}");
        for (got, want) in values.iter().zip(&want).chain(grad.iter().zip(&want_grad)) {
            assert!((got - want).abs() <= 2e-3, "{method:?}: {got} {want}");
        }
        assert!(left.iter().all(|left| *left < 1e-3), "{method:?}: residuals {left:?}");
    }
    assert_eq!(host_fallbacks(), hosted, "spectra run on the device");
}
