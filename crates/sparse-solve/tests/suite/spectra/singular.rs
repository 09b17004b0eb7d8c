use super::helpers::{grid, list, near, of_grid};
use crate::random::dense;
use crate::refused::told;
use burn::tensor::{DType, Device, Tensor, TensorData};
use sparse_dev::gradients::check;
use sparse_tensor::CsrTensor;
use sparse_tensor::solve::{
    LinearOperator, LowRankConfig, SingularTriplets, SpectrumHints, Stopped, SvdsConfig, Which, pca_lowrank,
    svd_lowrank, svds, try_pca_lowrank, try_svd_lowrank, try_svds,
};

/// Numbers without a structure.
fn noise(rows: usize, cols: usize, dtype: DType) -> CsrTensor<2> {
    let at = |at: usize| {
        let hash = (at as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33;
        if hash.is_multiple_of(3) { (hash % 1000) as f64 / 500.0 - 1.0 } else { 0.0 }
    };
    let numbers: Vec<f64> = (0..rows * cols).map(at).collect();
    CsrTensor::from_dense(dense(&numbers, [rows, cols], dtype))
}

fn wrong(a: &dyn LinearOperator, found: &SingularTriplets) -> f64 {
    let k = found.values.dims()[0];
    let row = || found.values.clone().reshape([1, k]);
    let (u, v) = (found.left.clone(), found.right.clone());
    let mut all = vec![
        a.try_apply(v.clone()).unwrap() - u.clone() * row(),
        a.try_apply_transposed(u.clone()).unwrap() - v.clone() * row(),
    ];
    for own in [u, v] {
        let unit: Vec<f64> = (0..k * k).map(|at| f64::from(u8::from(at / k == at % k))).collect();
        let dtype = own.dtype();
        all.push(own.clone().swap_dims(0, 1).matmul(own) - dense::<2>(&unit, [k, k], dtype));
    }
    all.iter().map(|own| list(&own.clone().abs().max())[0]).fold(0.0, f64::max)
}

/// Against all values of the dense matrix, by a basis as large as it.
#[test]
fn of_any_shape() {
    for [rows, cols] in [[70, 40], [40, 70], [60, 60], [3, 5], [1, 4], [1, 1]] {
        for (dtype, tolerance) in [(DType::F64, 1e-8), (DType::F32, 2e-4)] {
            let a = noise(rows, cols, dtype);
            let small = rows.min(cols);
            let all = list(&SvdsConfig::new(small).with_basis(Some(100)).solve(&a).values);
            let k = small.min(5);
            let relative = if dtype == DType::F64 { 1e-10 } else { 1e-5 };
            let found = SvdsConfig::new(k).with_relative(relative).solve(&a);
            near(&list(&found.values), &all[..k], tolerance);
            assert!(wrong(&a, &found) < tolerance, "{rows} {cols} {:e}", wrong(&a, &found));
            assert_eq!(found.report.stopped, Stopped::Converged);
            if small > 5 {
                let found = SvdsConfig::new(2).with_which(Which::Smallest).with_basis(Some(30));
                let found = found.with_relative(relative * 100.0).solve(&a);
                near(&list(&found.values), &[all[small - 1], all[small - 2]], tolerance);
                assert!(wrong(&a, &found) < tolerance);
            }
        }
    }
}

#[test]
fn known_values() {
    let a = grid(&[9, 8], DType::F64);
    let want: Vec<f64> = of_grid(&[9, 8]).into_iter().rev().take(4).collect();
    near(&list(&svds(&a, 4).values), &want, 1e-8);
    // Fewer values than asked for are not 0, and there are vectors all the same.
    let one = Tensor::<2>::ones([50, 1], (&Device::flex(), DType::F64));
    let a = one.clone().matmul(Tensor::ones([1, 40], (&Device::flex(), DType::F64)));
    for found in [svds(&a, 3), svd_lowrank(&a, 3)] {
        near(&list(&found.values), &[2000.0f64.sqrt(), 0.0, 0.0], 1e-10);
        assert!(wrong(&a, &found) < 1e-10, "{:e}", wrong(&a, &found));
    }
    let none = CsrTensor::<2>::zeros([50, 40], (&Device::flex(), DType::F64));
    for found in [svds(&none, 2), svd_lowrank(&none, 2)] {
        assert_eq!(list(&found.values), [0.0, 0.0]);
        assert!(wrong(&none, &found) < 1e-10);
    }
    let start = svds(&grid(&[60], DType::F64), 1).right;
    let hints = SpectrumHints { start: Some(start), ..SpectrumHints::default() };
    let found = SvdsConfig::new(1).with_block(1).try_solve_with(&grid(&[60], DType::F64), hints).unwrap();
    near(&list(&found.values), &of_grid(&[60])[59..], 1e-9);
}

#[test]
fn what_does_not_fit() {
    let a = noise(6, 4, DType::F64);
    told(try_svds(&a, 0), "invalid", "at least 1");
    told(try_svds(&a, 5), "invalid", "at most 4");
    told(try_svd_lowrank(&a, 5), "invalid", "at most 4");
    told(try_pca_lowrank(&a, 0), "invalid", "at least 1");
    told(SvdsConfig::new(1).with_which(Which::Magnitude).try_solve(&a), "invalid", "largest or the smallest");
    let hints = || SpectrumHints { mass: Some(&a), ..SpectrumHints::default() };
    told(SvdsConfig::new(1).try_solve_with(&a, hints()), "invalid", "no other hints");
    let start = Tensor::<2>::ones([3, 1], (&Device::flex(), DType::F64));
    let hints = SpectrumHints { start: Some(start), ..SpectrumHints::default() };
    told(SvdsConfig::new(1).try_solve_with(&a, hints), "shape_mismatch", "");
    let nan = CsrTensor::<2>::from_dense(Tensor::from_floats([[f32::NAN, 0.0]], &Device::flex()));
    told(try_svds(&nan, 1), "invalid", "finite");
    let hard = SvdsConfig::new(2).with_which(Which::Smallest).with_max_iterations(Some(3));
    told(hard.try_solve(&grid(&[300], DType::F64)), "invalid", "of 2 pairs");
}

/// Of a matrix of low rank it is exact; rows without their mean are those of the dense matrix.
#[test]
fn of_low_rank() {
    let (left, right) = (noise(60, 4, DType::F64).to_dense(), noise(4, 30, DType::F64).to_dense());
    let a = left.matmul(right);
    let found = svd_lowrank(&a, 4);
    near(&list(&found.values), &list(&SvdsConfig::new(4).with_basis(Some(60)).solve(&a).values), 1e-9);
    assert!(wrong(&a, &found) < 1e-9 && found.report.stopped == Stopped::Converged, "{}", found.report);

    let sparse = noise(50, 12, DType::F64);
    let whole = sparse.to_dense();
    let centred = whole.clone() - whole.mean_dim(0);
    let want = list(&svds(&centred, 3).values);
    let config = LowRankConfig::new(12);
    near(&list(&config.pca(&sparse).values)[..3], &want, 1e-8);
    assert!(list(&config.clone().with_center(false).pca(&sparse).values)[0] > want[0] + 1e-6);
    assert_eq!(pca_lowrank(&sparse, 2).left.dims(), [50, 2]);
    assert_eq!(svd_lowrank(&noise(50, 12, DType::F32), 2).values.dtype(), DType::F32);
}

fn all(found: SingularTriplets) -> Tensor<2> {
    let k = found.values.dims()[0];
    Tensor::cat(vec![found.values.reshape([1, k]), found.left, found.right], 0)
}

/// Of values and vectors of tall and wide matrices, with checkpointing too.
#[test]
fn gradients() {
    for (pick, [rows, cols]) in [(0, [5, 3]), (1, [3, 5]), (1, [4, 4])] {
        let numbers = list(&(noise(rows, cols, DType::F64).to_dense() + 0.2));
        for count in [2, 3] {
            let input = [TensorData::new(numbers.clone(), [rows, cols])];
            check(pick, &input, |xs| {
                all(SvdsConfig::new(count).with_relative(1e-13).solve(&CsrTensor::<2>::from_dense(xs[0].tensor::<2>())))
            })
            .unwrap();
        }
    }
    // Of what stands in the factors of a matrix of rank 2, of which the approximation is exact.
    let inputs = [[6, 2], [2, 5]]
        .map(|[rows, cols]| TensorData::new(list(&(noise(rows, cols, DType::F64).to_dense() + 0.3)), [rows, cols]));
    check(0, &inputs, |xs| all(svd_lowrank(&xs[0].tensor::<2>().matmul(xs[1].tensor::<2>()), 2))).unwrap();
    // Through the mean as well.
    let input = [TensorData::new(list(&(noise(6, 3, DType::F64).to_dense() + 0.3)), [6, 3])];
    check(1, &input, |xs| all(pca_lowrank(&CsrTensor::<2>::from_dense(xs[0].tensor::<2>()), 3))).unwrap();
}

/// Through an iteration.
#[test]
fn gradients_of_a_larger_matrix() {
    let n = 30;
    let diagonal: Vec<f64> = (0..n).map(|at| 1.0 + 0.2 * ((at * at * 5 + 1) % 13) as f64).collect();
    let beside: Vec<f64> = (0..n).map(|at| 0.5 + 0.1 * ((at * 3) % 5) as f64).collect();
    let inputs = [TensorData::new(diagonal, [1, n]), TensorData::new(beside, [1, n])];
    check(1, &inputs, |xs| {
        let rows = Tensor::cat(vec![xs[0].tensor::<2>(), xs[1].tensor::<2>()], 0);
        let a = sparse_tensor::solve::from_diagonals(rows, &[0, 1], [n + 5, n]).unwrap();
        all(SvdsConfig::new(2).with_relative(1e-13).solve(&a))
    })
    .unwrap();
}
