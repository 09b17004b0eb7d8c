//! What the two sides of an equivalence gave, with ranks and kinds erased.

use burn::tensor::{DType, Tensor, TensorData};
use sparse_tensor::{Kind, SparseTensor, pattern::Pattern};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;

type Loss = Box<dyn FnOnce(Vec<f64>) -> Tensor<1>>;

/// One tensor of a result.
pub struct Part {
    pub shape: Vec<usize>,
    pub values: Vec<f64>,
    /// Whether the tensor is on the tape.
    pub tracked: bool,
    /// `sum(cotangent * tensor)`, where it is and has elements.
    pub loss: Option<Loss>,
}

/// A result: usually one tensor.
pub struct Output(pub Vec<Part>);

impl<const D: usize, K: Kind> From<Tensor<D, K>> for Output {
    fn from(tensor: Tensor<D, K>) -> Self {
        let (dims, dtype) = (tensor.dims(), tensor.dtype());
        let plain = floats(tensor.clone().inner().into_data());
        let float = dtype.is_float().then(|| Tensor::<D>::from_dispatch(tensor.into_dispatch()));
        let float = float.filter(Tensor::is_tracked);
        let tracked = float.is_some();
        let loss = float.filter(|_| !plain.is_empty()).map(|float| -> Loss {
            Box::new(move |cotangent| {
                let data = TensorData::new(cotangent, dims).convert_dtype(dtype);
                (float.clone() * Tensor::from_data(data, (&float.device(), dtype))).sum()
            })
        });
        Self(vec![Part { shape: dims.to_vec(), values: plain, tracked, loss }])
    }
}

impl<P: Pattern, const D: usize, K: Kind> From<SparseTensor<P, D, K>> for Output {
    fn from(tensor: SparseTensor<P, D, K>) -> Self {
        check_structure(tensor.pattern());
        tensor.to_dense().into()
    }
}

/// A sparse tensor, and which of its elements are stored.
pub struct Stored<P: Pattern, const D: usize, K: Kind>(pub SparseTensor<P, D, K>);

impl<P: Pattern, const D: usize, K: Kind> From<Stored<P, D, K>> for Output {
    fn from(Stored(tensor): Stored<P, D, K>) -> Self {
        let shape = tensor.dims();
        let (sparse, dense) = shape.split_at(tensor.sparse_dims());
        let block: usize = dense.iter().product();
        let mut stored = vec![false; sparse.iter().product::<usize>() * block];
        for at in coordinates(tensor.pattern()) {
            let cell = at.iter().zip(sparse).fold(0, |flat, (&index, &size)| flat * size + index as usize);
            stored[cell * block..(cell + 1) * block].fill(true);
        }
        Output::from(tensor).and(stored)
    }
}

/// A dense tensor, and which of its elements are stored in the sparse one.
impl<const D: usize, K: Kind> From<(Tensor<D, K>, Vec<bool>)> for Output {
    fn from((dense, stored): (Tensor<D, K>, Vec<bool>)) -> Self {
        Output::from(dense).and(stored)
    }
}

impl Output {
    fn and(mut self, list: Vec<bool>) -> Self {
        let values = list.into_iter().map(|truth| f64::from(u8::from(truth))).collect::<Vec<_>>();
        self.0.push(Part { shape: vec![values.len()], values, tracked: false, loss: None });
        self
    }
}

/// A count on the host.
impl From<usize> for Output {
    fn from(count: usize) -> Self {
        Self(vec![Part { shape: vec![], values: vec![count as f64], tracked: false, loss: None }])
    }
}

impl<T: Into<Output>> From<Vec<T>> for Output {
    fn from(list: Vec<T>) -> Self {
        Self(list.into_iter().flat_map(|one| one.into().0).collect())
    }
}

/// The coordinates of each stored block, in storage order.
pub fn coordinates<P: Pattern>(pattern: &P) -> Vec<Vec<i64>> {
    let lines = pattern.coordinates().clone();
    let [dims, nnz] = lines.dims();
    assert_eq!(nnz, pattern.nnz(), "as many coordinates as the pattern says");
    let flat: Vec<i64> = lines.into_data().iter::<i64>().collect();
    (0..nnz).map(|k| (0..dims).map(|dim| flat[dim * nnz + k]).collect()).collect()
}

/// Coordinates stand within the shape, and in strict order where the pattern says that it is coalesced.
fn check_structure<P: Pattern>(pattern: &P) {
    let places = coordinates(pattern);
    let most = pattern.shape().iter().copied().max().unwrap_or(0).max(pattern.nnz());
    let dtype = pattern.coordinates().dtype();
    assert!(
        pattern.nnz() == 0 || dtype == DType::I64 || most <= sparse_core::narrow_limit(),
        "{dtype:?} must number {most} places"
    );
    for at in &places {
        assert_eq!(at.len(), pattern.shape().len(), "an index for each sparse dim");
        let inside = at.iter().zip(pattern.shape()).all(|(&index, &size)| (0..size as i64).contains(&index));
        assert!(inside, "coordinate {at:?} must be within {:?}", pattern.shape());
    }
    for pair in places.windows(2).filter(|_| pattern.is_coalesced()) {
        assert!(pair[0] < pair[1], "coordinates {:?} and {:?} must ascend", pair[0], pair[1]);
    }
}

/// Both sides of an equivalence, each with the message of its panic if it had one.
pub struct Answer {
    pub got: Result<Output, String>,
    pub want: Result<Output, String>,
}

/// `own` is the operation under test, `reference` the same on dense tensors.
pub fn both_sides<A: Into<Output>, B: Into<Output>>(own: impl FnOnce() -> A, reference: impl FnOnce() -> B) -> Answer {
    Answer { got: caught(|| own().into()), want: caught_aside(|| reference().into()) }
}

/// The value, or the message of the panic. What unwinds without a message is no panic.
pub fn caught<T>(f: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(f)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string()));
        text.unwrap_or_else(|| resume_unwind(panic))
    })
}

/// [`caught`], for what is no part of the library: its panics are not noted.
pub fn caught_aside<T>(f: impl FnOnce() -> T) -> Result<T, String> {
    let noted = || PANIC.lock().expect("no panic while it is held");
    let before = noted().take();
    let result = caught(f);
    *noted() = before;
    result
}

/// The panic of a run that is dropped.
pub static PANIC: Mutex<Option<String>> = Mutex::new(None);

/// Any data as f64.
pub fn floats(data: TensorData) -> Vec<f64> {
    match data.dtype() {
        dtype if dtype.is_float() => data.iter::<f64>().collect(),
        DType::Bool(_) => data.iter::<bool>().map(|value| f64::from(u8::from(value))).collect(),
        _ => data.iter::<i64>().map(|value| value as f64).collect(),
    }
}
