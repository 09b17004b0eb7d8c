//! What the two sides of a law gave, with ranks and kinds erased.

use burn::tensor::{DType, Tensor, TensorData};
use sparse_tensor::{Kind, SparseTensor, pattern::Pattern};
use std::panic::{AssertUnwindSafe, catch_unwind};

type Loss = Box<dyn FnOnce(Vec<f64>) -> Tensor<1>>;

/// One tensor of a result.
pub struct Part {
    pub shape: Vec<usize>,
    pub values: Vec<f64>,
    /// `sum(cotangent * tensor)`, where the tensor is on the tape.
    pub loss: Option<Loss>,
}

/// A result: usually one tensor.
pub struct Output(pub Vec<Part>);

impl<const D: usize, K: Kind> From<Tensor<D, K>> for Output {
    fn from(tensor: Tensor<D, K>) -> Self {
        let (dims, dtype) = (tensor.dims(), tensor.dtype());
        let plain = floats(tensor.clone().inner().into_data());
        let mut loss: Option<Loss> = None;
        if dtype.is_float() && !plain.is_empty() {
            let float = Tensor::<D>::from_dispatch(tensor.into_dispatch());
            if float.is_tracked() {
                loss = Some(Box::new(move |cotangent| {
                    let data = TensorData::new(cotangent, dims).convert_dtype(dtype);
                    (float.clone() * Tensor::from_data(data, (&float.device(), dtype))).sum()
                }));
            }
        }
        Self(vec![Part { shape: dims.to_vec(), values: plain, loss }])
    }
}

impl<P: Pattern, const D: usize, K: Kind> From<SparseTensor<P, D, K>> for Output {
    fn from(tensor: SparseTensor<P, D, K>) -> Self {
        check_structure(tensor.pattern());
        tensor.to_dense().into()
    }
}

/// A count on the host.
impl From<usize> for Output {
    fn from(count: usize) -> Self {
        Self(vec![Part { shape: vec![], values: vec![count as f64], loss: None }])
    }
}

impl<T: Into<Output>> From<Vec<T>> for Output {
    fn from(list: Vec<T>) -> Self {
        Self(list.into_iter().flat_map(|one| one.into().0).collect())
    }
}

/// Coordinates stand within the shape, and in strict order where the pattern says that it is coalesced.
fn check_structure<P: Pattern>(pattern: &P) {
    let lines = pattern.coordinates().clone();
    let [dims, nnz] = lines.dims();
    let flat: Vec<i64> = lines.into_data().iter::<i64>().collect();
    let at = |k: usize| -> Vec<i64> { (0..dims).map(|dim| flat[dim * nnz + k]).collect() };
    assert_eq!(nnz, pattern.nnz(), "as many coordinates as the pattern says");
    for k in 0..nnz {
        let inside = at(k).iter().zip(pattern.shape()).all(|(&index, &size)| (0..size as i64).contains(&index));
        assert!(inside, "coordinate {:?} must be within {:?}", at(k), pattern.shape());
        let ordered = k == 0 || !pattern.is_coalesced() || at(k - 1) < at(k);
        assert!(ordered, "coordinates {:?} and {:?} must ascend", at(k - 1), at(k));
    }
}

/// Both sides of a law, each with the message of its panic if it had one.
pub struct Answer {
    pub got: Result<Output, String>,
    pub want: Result<Output, String>,
}

/// `own` is the operation under test, `reference` the same on dense tensors.
pub fn law<A: Into<Output>, B: Into<Output>>(own: impl FnOnce() -> A, reference: impl FnOnce() -> B) -> Answer {
    Answer { got: caught(|| own().into()), want: caught(|| reference().into()) }
}

/// The value, or the message of the panic.
pub fn caught<T>(f: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(f)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        text.or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string())).unwrap_or_else(|| "panicked".into())
    })
}

/// Any data as f64.
pub fn floats(data: TensorData) -> Vec<f64> {
    match data.dtype() {
        dtype if dtype.is_float() => data.iter::<f64>().collect(),
        DType::Bool(_) => data.iter::<bool>().map(|value| f64::from(u8::from(value))).collect(),
        _ => data.iter::<i64>().map(|value| value as f64).collect(),
    }
}
