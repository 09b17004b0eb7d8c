//! Cases of PyTorch Geometric and scikit-learn: `make.py` and `more.py` in `tests/cases/graphs` say what is in them.

use burn::tensor::{DType, Device, Int, Tensor, TensorData};
use serde_json::Value;
use sparse_tensor::CsrTensor;

pub fn device() -> Device {
    Device::flex()
}

pub fn find(id: &str) -> Value {
    let read = |name: &str| std::fs::read_to_string(sparse_dev::path(&format!("tests/cases/graphs/{name}"))).unwrap();
    let lines = read("graphs.jsonl") + &read("more.jsonl");
    let line = lines.lines().find(|line| line.starts_with(&format!("{{\"id\":\"{id}\",")));
    serde_json::from_str(line.unwrap_or_else(|| panic!("no case {id}"))).unwrap()
}

fn data(value: &Value) -> TensorData {
    TensorData::new(sparse_dev::files::floats(&value["data"]), sparse_dev::files::sizes(&value["shape"]))
}

pub fn tensor<const D: usize>(value: &Value) -> Tensor<D> {
    Tensor::from_data(data(value), (&device(), DType::F64))
}

pub fn ints<const D: usize>(value: &Value) -> Tensor<D, Int> {
    Tensor::from_data(data(value).convert::<i64>(), (&device(), DType::I64))
}

/// A graph, without a `shape` and `data` of its own.
pub fn graph(value: &Value) -> CsrTensor<2> {
    let list = |key: &str| sparse_dev::files::floats(&value[key]);
    let index = |key| Tensor::<1, Int>::from_data(TensorData::from(list(key).as_slice()).convert::<i64>(), &device());
    let values = Tensor::<1>::from_data(list("values").as_slice(), (&device(), DType::F64));
    let nodes = list("row_ptr").len() - 1;
    CsrTensor::new(index("row_ptr"), index("col_idx"), values, [nodes, nodes]).unwrap()
}

/// A number against that of a case.
pub fn close(what: &str, got: f64, expected: &Value) {
    let expected = data(expected).into_vec::<f64>().unwrap()[0];
    assert!((got - expected).abs() < 1e-10, "{what}: got {got}, expected {expected}");
}

/// The numbers of a tensor against those of a case.
pub fn all_close(what: &str, got: Tensor<2>, expected: &Value) {
    all_within(1e-10, what, got, expected);
}

pub fn all_within(most: f64, what: &str, got: Tensor<2>, expected: &Value) {
    let expected = data(expected);
    assert_eq!(got.shape().to_vec(), expected.shape().to_vec(), "{what}");
    let got = got.into_data().into_vec::<f64>().unwrap();
    for (at, (got, expected)) in got.into_iter().zip(expected.into_vec::<f64>().unwrap()).enumerate() {
        assert!((got - expected).abs() < most, "{what}, element {at}: got {got}, expected {expected}");
    }
}
