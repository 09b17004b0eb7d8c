use crate::random::dense;
use burn::tensor::{DType, Device, Tensor, TensorData};
use proptest::prelude::*;
use sparse_dev::gradients::check;
use sparse_tensor::pattern::CsrPattern;
use sparse_tensor::solve::{Boundary, from_diagonals, laplacian};

fn numbers<const D: usize>(x: Tensor<D>) -> Vec<f64> {
    x.into_data().iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// `- Laplacian` is minus the sum of the second differences along each dim of what is around the grid.
    #[test]
    fn laplacians_are_second_differences(
        grid in prop::collection::vec(1usize..4, 1..4),
        boundary in prop::sample::select(&[Boundary::Dirichlet, Boundary::Neumann, Boundary::Periodic][..]),
        list in prop::collection::vec(-2.0f64..2.0, 27),
    ) {
        let points: usize = grid.iter().product();
        let a = laplacian(&grid, boundary, (&Device::flex(), DType::F64)).unwrap();
        let got = numbers(a.matmul(dense(&list[..points], [points, 1], DType::F64)));
        for (point, got) in got.iter().enumerate() {
            let mut want = 0.0;
            let mut stride = points;
            for &n in &grid {
                stride /= n;
                let k = point / stride % n;
                let at = |k: usize| list[point - point / stride % n * stride + k * stride];
                let beyond = |end: usize, other: usize| match boundary {
                    Boundary::Dirichlet => 0.0,
                    Boundary::Neumann => at(end),
                    Boundary::Periodic => at(other),
                };
                let before = if k == 0 { beyond(0, n - 1) } else { at(k - 1) };
                let after = if k + 1 == n { beyond(n - 1, 0) } else { at(k + 1) };
                want += 2.0 * at(k) - before - after;
            }
            prop_assert!((got - want).abs() < 1e-12, "{got} and {want} at {point}");
        }
    }

    #[test]
    fn diagonals_stand_where_their_offsets_say(
        mut offsets in prop::collection::btree_set(-4i64..5, 0..4).prop_map(|set| set.into_iter().collect::<Vec<_>>()),
        [rows, cols, width] in [0usize..5, 0usize..5, 0usize..6],
        turn in any::<bool>(),
        pick in 0usize..4,
    ) {
        if turn {
            offsets.reverse();
        }
        let list: Vec<f64> = (0..offsets.len() * width).map(|at| at as f64 + 1.0).collect();
        let own = || dense(&list, [offsets.len(), width], DType::F64);
        let got = from_diagonals(own(), &offsets, [rows, cols]).unwrap();
        CsrPattern::new(got.row_ptr(), got.col_idx(), &[rows, cols]).unwrap();
        let cell = |i: usize, j: usize| {
            let found = offsets.iter().position(|&offset| offset == j as i64 - i as i64).filter(|_| j < width);
            found.map_or(0.0, |d| list[d * width + j])
        };
        let want: Vec<f64> = (0..rows * cols).map(|at| cell(at / cols, at % cols)).collect();
        prop_assert_eq!(numbers(got.to_dense()), want);
        if !list.is_empty() && rows * cols > 0 {
            let input = TensorData::new(list.clone(), [offsets.len(), width]);
            check(pick, &[input], |xs| from_diagonals(xs[0].tensor(), &offsets, [rows, cols]).unwrap().to_dense())?;
        }
    }
}

#[test]
fn stencils_that_mean_nothing_are_refused() {
    let kind = |result: sparse_tensor::Result<_>| result.map(|_: sparse_tensor::CsrTensor<2>| ()).unwrap_err().kind();
    let device = Device::flex();
    assert_eq!(kind(laplacian(&[], Boundary::Neumann, &device)), "empty_input");
    assert_eq!(kind(laplacian(&[usize::MAX, 9], Boundary::Neumann, &device)), "overflow");
    // Products that wrap around 64 and 128 bits.
    assert_eq!(kind(laplacian(&[1 << 43, 1 << 43, 1 << 42], Boundary::Neumann, &device)), "overflow");
    assert_eq!(kind(laplacian(&[usize::MAX; 3], Boundary::Neumann, &device)), "overflow");
    assert_eq!(laplacian(&[usize::MAX, usize::MAX, 0], Boundary::Neumann, &device).unwrap().dims(), [0, 0]);
    assert_eq!(laplacian(&[3, 0], Boundary::Periodic, &device).unwrap().dims(), [0, 0]);
    let two = || Tensor::<2>::ones([2, 3], &device);
    assert_eq!(kind(from_diagonals(two(), &[0], [3, 3])), "length_mismatch");
    assert_eq!(kind(from_diagonals(two(), &[1, 1], [3, 3])), "invalid");
    assert_eq!(kind(from_diagonals(two(), &[0, 1], [1 << 40, 3])), "would_densify");
    assert_eq!(from_diagonals(two(), &[i64::MIN, i64::MAX], [3, 3]).unwrap().nnz(), 0);
}
