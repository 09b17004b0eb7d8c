use burn::tensor::{Bool, Device, Int, Tensor};
use sparse_tensor::{CooTensor, CsrTensor, Fill};

#[test]
fn a_tensor_shows_its_fill() {
    let device = Device::flex();
    let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[0.0, 1.0]], &device));
    let shown = |fill| a.clone().with_fill(fill).to_string();
    assert_eq!(a.to_string(), "CSR tensor [1, 2] f32, nnz 1 (50.0000 %), fill 0\n  (0, 1) 1.0000");
    assert!(shown(Fill::Undefined).contains(", fill undefined\n"));
    assert!(shown(Fill::scalar(2.5)).contains(", fill 2.5\n"));
    assert!(shown(Fill::scalar(f64::NEG_INFINITY)).contains(", fill -inf\n"));
    // A block is printed in its own precision, and nothing stored is no reason not to print it.
    assert!(shown(Fill::tensor(Tensor::<1>::from_floats([0.1], &device))).contains(", fill 0.1\n"));
    let none = CooTensor::<2>::zeros([2, 2], (&device, burn::tensor::DType::F32)).with_fill(Fill::scalar(3.0));
    assert!(none.to_string().ends_with("fill 3"));
    let hybrid = CooTensor::<2>::from_dense(Tensor::from_floats([[0.0, 0.0], [1.0, 2.0]], &device), 1);
    let hybrid = hybrid.with_fill(Fill::tensor(Tensor::<1>::from_floats([0.25, -1.0], &device)));
    assert!(hybrid.to_string().contains(", fill [0.25, -1]\n"));
}

#[test]
fn fills_of_other_kinds_print_as_their_elements() {
    let device = Device::flex();
    let dense = Tensor::<1, Int>::from_data([0i64, 1], (&device, burn::tensor::DType::I64));
    let a = CooTensor::<1, Int>::from_dense(dense, 0);
    // Beyond what an f64 holds.
    assert!(a.with_fill(Fill::scalar(9_007_199_254_740_993i64)).to_string().contains("fill 9007199254740993\n"));
    let a = CooTensor::<1, Bool>::from_dense(Tensor::from_data([false, true], &device), 0);
    assert!(a.to_string().contains("fill false\n"));
    assert!(a.clone().with_fill(Fill::scalar(true)).to_string().contains("fill true\n"));
    let block = Fill::tensor(Tensor::<1, Bool>::from_data([true], &device));
    assert!(a.with_fill(block).to_string().contains("fill true\n"));
}
