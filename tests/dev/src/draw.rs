//! Random tensors for property and gradient tests, with the corners that bugs live in: nothing stored, empty rows, full
//! tensors, duplicates, ties, zeros, sizes of 0.

use burn::tensor::{DType, Device, Int, Tensor, TensorData};
use proptest::prelude::*;
use sparse_tensor::{CooTensor, CsrTensor, Fill, SparseTensor, pattern::Pattern};

/// For properties that leave out some draws: proptest's own limit of 1,024 is reached by chance where it is one in two.
pub fn patient() -> ProptestConfig {
    ProptestConfig { max_global_rejects: 1 << 16, ..ProptestConfig::default() }
}

/// A matrix as plain data: coordinates in storage order and one value each.
#[derive(Clone, Debug)]
pub struct Plain {
    pub shape: Vec<usize>,
    pub coordinates: Vec<Vec<usize>>,
    pub values: Vec<f64>,
}

impl Plain {
    pub fn indices(&self, device: &Device) -> Tensor<2, Int> {
        let dims = self.shape.len();
        let flat: Vec<i64> = (0..dims).flat_map(|dim| self.coordinates.iter().map(move |at| at[dim] as i64)).collect();
        let dtype = if device.supports_dtype(DType::I64) { DType::I64 } else { DType::I32 };
        let data = TensorData::new(flat, [dims, self.coordinates.len()]).convert_dtype(dtype);
        Tensor::from_data(data, (device, dtype))
    }

    pub fn data(&self) -> TensorData {
        TensorData::new(self.values.clone(), [self.values.len()])
    }

    pub fn coo<const D: usize>(&self, values: Tensor<1>) -> CooTensor<D> {
        let shape: [usize; D] = self.shape.clone().try_into().expect("the rank");
        CooTensor::new(self.indices(&values.device().inner()), values, shape).expect("valid coordinates")
    }

    /// Needs sorted, unique coordinates of rank 2 or 3.
    pub fn csr<const D: usize>(&self, values: Tensor<1>) -> CsrTensor<D> {
        self.coo::<D>(values).to_csr()
    }

    pub fn leaf(&self, device: &Device) -> Tensor<1> {
        let dtype = if device.supports_dtype(DType::F64) { DType::F64 } else { DType::F32 };
        Tensor::from_data(self.data().convert_dtype(dtype), (device, dtype))
    }
}

/// Values of few steps, so that ties and zeros are common, or of many.
pub fn value() -> impl Strategy<Value = f64> {
    prop_oneof![(-3i32..=3).prop_map(f64::from), (-300i32..300).prop_map(|n| f64::from(n) / 97.0)]
}

/// Values away from zero, for divisors.
pub fn nonzero() -> impl Strategy<Value = f64> {
    (1i32..300, any::<bool>()).prop_map(|(n, sign)| (f64::from(n) / 97.0 + 0.3) * if sign { 1.0 } else { -1.0 })
}

/// A tensor of `shape`; sorted and unique unless `duplicates`.
pub fn plain(shape: Vec<usize>, duplicates: bool) -> impl Strategy<Value = Plain> {
    let total: usize = shape.iter().product();
    let most = if duplicates { total * 2 } else { total };
    let count = if total == 0 { Just(0usize).boxed() } else { prop_oneof![Just(0usize), Just(most), 0..=most].boxed() };
    let places = count.prop_flat_map(move |count| {
        let place = 0..total.max(1);
        (proptest::collection::vec(place, count), proptest::collection::vec(value(), count))
    });
    places.prop_map(move |(mut places, mut values)| {
        if !duplicates {
            places.sort_unstable();
            places.dedup();
            values.truncate(places.len());
        }
        let coordinates = places.iter().map(|&flat| unravel(flat, &shape)).collect();
        Plain { shape: shape.clone(), coordinates, values }
    })
}

pub fn unravel(flat: usize, shape: &[usize]) -> Vec<usize> {
    let mut rest = flat;
    let mut at: Vec<usize> = shape
        .iter()
        .rev()
        .map(|&size| {
            let index = rest % size.max(1);
            rest /= size.max(1);
            index
        })
        .collect();
    at.reverse();
    at
}

/// The fills there are.
#[derive(Clone, Copy, Debug)]
pub enum FillKind {
    Zero,
    Undefined,
    Number,
    Tracked,
}

pub fn fill_kind() -> impl Strategy<Value = FillKind> {
    prop_oneof![Just(FillKind::Zero), Just(FillKind::Undefined), Just(FillKind::Number), Just(FillKind::Tracked)]
}

/// The tensor with a fill of that kind: `number`, or `leaf` on the tape.
pub fn filled<P: Pattern, const D: usize>(
    tensor: SparseTensor<P, D>,
    kind: FillKind,
    number: f64,
    leaf: Tensor<1>,
) -> SparseTensor<P, D> {
    match kind {
        FillKind::Zero => tensor,
        FillKind::Undefined => tensor.with_fill(Fill::Undefined),
        FillKind::Number => tensor.with_fill(Fill::scalar(number)),
        FillKind::Tracked => tensor.with_fill(Fill::tensor(leaf)),
    }
}
