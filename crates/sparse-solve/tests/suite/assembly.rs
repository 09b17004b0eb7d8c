use crate::random::dense;
use burn::tensor::{DType, Device, Int, Tensor, TensorData};
use proptest::prelude::*;
use sparse_dev::gradients::check;
use sparse_tensor::pattern::{CsrPattern, Pattern};
use sparse_tensor::solve::{Assembly, Method, SolverConfig, from_elements};

fn numbers<const D: usize>(x: Tensor<D>) -> Vec<f64> {
    x.into_data().iter().collect()
}

fn connectivity(list: &[usize], [count, k]: [usize; 2]) -> Tensor<2, Int> {
    let list: Vec<i64> = list.iter().map(|&unknown| unknown as i64).collect();
    Tensor::from_data(TensorData::new(list, [count, k]), &Device::flex())
}

/// Dense assembly, term by term.
fn added(elements: &[f64], list: &[usize], [count, k]: [usize; 2], size: usize, fixed: &[usize]) -> Vec<f64> {
    let mut out = vec![0.0; size * size];
    for (term, value) in elements.iter().enumerate().take(count * k * k) {
        let (element, a, b) = (term / (k * k), term / k % k, term % k);
        out[list[element * k + a] * size + list[element * k + b]] += value;
    }
    for &unknown in fixed {
        (0..size).for_each(|other| {
            out[unknown * size + other] = 0.0;
            out[other * size + unknown] = 0.0;
        });
        out[unknown * size + unknown] = 1.0;
    }
    out
}

/// A mesh: sizes `[E, k]`, unknowns, a connectivity in which an element may name an unknown twice, fixed unknowns.
fn mesh() -> impl Strategy<Value = ([usize; 2], usize, Vec<usize>, Vec<usize>)> {
    (0usize..5, 0usize..4, 1usize..6).prop_flat_map(|(count, k, size)| {
        let list = prop::collection::vec(0..size, count * k);
        let fixed = prop::collection::vec(0..size, 0..3);
        (Just([count, k]), Just(size), list, fixed)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn is_the_sum_of_the_elements(
        ([count, k], size, list, fixed) in mesh(),
        numbers_of in prop::collection::vec(0.5f64..2.0, 64),
        pick in 0usize..4,
    ) {
        let elements = &numbers_of[..count * k * k];
        let of = |device: &Device| {
            Assembly::with_fixed(connectivity(&list, [count, k]).to_device(device), size, &fixed).unwrap()
        };
        let a = of(&Device::flex()).matrix(dense(elements, [count, k, k], DType::F64));
        CsrPattern::new(a.row_ptr(), a.col_idx(), &[size, size]).unwrap();
        let want = added(elements, &list, [count, k], size, &fixed);
        for (got, want) in numbers(a.to_dense()).into_iter().zip(&want) {
            prop_assert!((got - want).abs() < 1e-12, "{got} and {want}");
        }
        // All terms are positive: what is 0 is not stored.
        prop_assert_eq!(a.nnz(), want.iter().filter(|value| **value != 0.0).count());
        if !elements.is_empty() {
            let input = TensorData::new(elements.to_vec(), [count, k, k]);
            check(pick, &[input], |xs| {
                let elements: Tensor<3> = xs[0].tensor();
                of(&elements.device().inner()).matrix(elements).to_dense()
            })?;
        }
    }

    /// Gradients of a solution reach the stiffness of each spring of a chain that is held at its ends.
    #[test]
    fn solutions_have_gradients(stiffness in prop::collection::vec(0.5f64..2.0, 4), pick in 0usize..4) {
        let chain: Vec<usize> = (0..4).flat_map(|spring| [spring, spring + 1]).collect();
        check(pick, &[TensorData::new(stiffness, [4, 1, 1])], |xs| {
            let stiffness: Tensor<3> = xs[0].tensor();
            let options = (&stiffness.device().inner(), stiffness.dtype());
            let connectivity = connectivity(&chain, [4, 2]).to_device(options.0);
            let assembly = Assembly::with_fixed(connectivity, 5, &[0, 4]).unwrap();
            let one = Tensor::<3>::from_data([[[1.0, -1.0], [-1.0, 1.0]]], options);
            let b = Tensor::<1>::from_data([0.0, 1.0, 2.0, -1.0, 0.0], options);
            SolverConfig::new(Method::Cg).with_relative(1e-13).solve(&assembly.matrix(stiffness * one), b)
        })?;
    }
}

#[test]
fn steps_share_the_pattern_and_no_element_is_no_matrix() {
    let assembly = Assembly::new(connectivity(&[0, 2, 2, 1], [2, 2]), 4).unwrap();
    let device = Device::flex().autodiff();
    let elements = Tensor::<3>::ones([2, 2, 2], &device);
    let first = assembly.matrix(elements.clone());
    assert!(first.pattern().is_same(assembly.matrix(elements * 2.0).pattern()));
    assert_eq!((assembly.size(), first.nnz()), (4, 7));
    let none = Tensor::<3>::zeros([0, 3, 3], &device).require_grad();
    let held = Assembly::with_fixed(connectivity(&[], [0, 3]), 2, &[1, 1]).unwrap().matrix(none.clone());
    assert_eq!(numbers(held.to_dense()), [0.0, 0.0, 0.0, 1.0]);
    assert_eq!(none.grad(&held.to_dense().sum().backward()).unwrap().dims(), [0, 3, 3]);
    assert_eq!(Assembly::new(connectivity(&[], [0, 3]), 0).unwrap().matrix(none).dims(), [0, 0]);
}

#[test]
fn meshes_that_mean_nothing_are_refused() {
    let device = Device::flex();
    let trouble = Assembly::new(connectivity(&[0, 1, 2, 4, 1, 0], [3, 2]), 4).unwrap_err();
    assert_eq!(trouble.kind(), "invalid");
    assert!(trouble.to_string().contains("got 4 at place 1 of element 1"), "{trouble}");
    let negative = Tensor::<2, Int>::from_ints([[0, 1], [-1, 0]], &device);
    assert!(Assembly::new(negative, 4).unwrap_err().to_string().contains("got -1 at place 0 of element 1"));
    let two = || connectivity(&[0, 1], [1, 2]);
    assert_eq!(Assembly::with_fixed(two(), 2, &[2]).unwrap_err().kind(), "index_out_of_range");
    assert_eq!(Assembly::new(two(), 1 << 40).unwrap_err().kind(), "would_densify");
    assert_eq!(from_elements(Tensor::ones([1, 2, 3], &device), two(), 2).unwrap_err().kind(), "shape_mismatch");
    assert_eq!(from_elements(Tensor::ones([2, 2, 2], &device), two(), 2).unwrap_err().kind(), "shape_mismatch");
}
