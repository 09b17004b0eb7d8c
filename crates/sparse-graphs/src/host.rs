//! Patterns and ids on the host, where graph algorithms run, and back on the device.

#[cfg(feature = "dataset")]
use burn::tensor::Device;
use burn::tensor::{DType, Int, Tensor, TensorData};
use sparse_core::dynamic::Ids;
use sparse_ops::extend::{Exact, Parts, RowMap, index_below, index_dtype_for, index_tensor, read_data, read_rows};
use sparse_ops::pattern::CsrPattern;
use sparse_ops::{CsrTensor, Kind, Result, SparseError};

/// The number of a tensor of one element, read; 0 of none.
pub(super) fn number<const D: usize>(one: Tensor<D>) -> f64 {
    read_data(one.inner()).iter::<f64>().next().unwrap_or(0.0)
}

/// The index arrays of a CSR matrix, read from the device.
#[derive(Debug)]
pub(super) struct HostRows {
    ptr: TensorData,
    idx: TensorData,
}

impl HostRows {
    pub(super) fn of(pattern: &CsrPattern) -> Self {
        Self { ptr: read_data(pattern.row_ptr().clone()), idx: read_data(pattern.col_idx().clone()) }
    }

    pub(super) fn ptr(&self) -> Ids<'_> {
        ids(&self.ptr)
    }

    pub(super) fn idx(&self) -> Ids<'_> {
        ids(&self.idx)
    }

    /// Whether the same elements are stored, in a matrix of as many columns.
    pub(super) fn same(&self, other: &Self) -> bool {
        let equal = |a: Ids<'_>, b: Ids<'_>| a.len() == b.len() && (0..a.len()).all(|at| a.at(at) == b.at(at));
        equal(self.ptr(), other.ptr()) && equal(self.idx(), other.idx())
    }

    /// Number of stored elements of each row.
    pub(super) fn degrees(&self) -> impl Iterator<Item = usize> + '_ {
        let ptr = self.ptr();
        (1..ptr.len()).map(move |end| ptr.at(end) - ptr.at(end - 1))
    }
}

fn ids(data: &TensorData) -> Ids<'_> {
    match data.dtype() {
        DType::I32 => Ids::I32(data.as_slice().expect("its dtype")),
        _ => Ids::I64(data.as_slice().expect("a pattern has i32 or i64 indices")),
    }
}

/// The first entries of an index tensor.
pub(super) fn prefix(list: &Tensor<1, Int>, length: usize) -> Tensor<1, Int> {
    // Burn refuses to narrow to size 0.
    match length {
        0 => Tensor::empty([0], (&list.device(), list.dtype())),
        _ if length == list.dims()[0] => list.clone(),
        _ => list.clone().narrow(0, 0, length),
    }
}

/// The slices of `x` along dim 0 that `ids` names. Backward: by segments, without atomics.
pub(super) fn take<const D: usize, K: Kind>(x: Tensor<D, K>, ids: &Tensor<1, Int>) -> Tensor<D, K> {
    let mut shape = x.dims();
    let (rows, block) = (shape[0], shape[1..].iter().product());
    shape[0] = ids.dims()[0];
    let map = RowMap::new(index_tensor(ids.clone(), index_dtype_for(rows.max(shape[0]))), rows);
    read_rows(x.reshape(Exact([rows, block])), &map).reshape(Exact(shape))
}

/// The stored elements of a matrix at ascending positions. `rows` are those of its pattern.
pub(super) fn keep<K: Kind>(matrix: &CsrTensor<2, K>, rows: &HostRows, positions: &[usize]) -> CsrTensor<2, K> {
    let ([count, columns], device) = (matrix.dims(), matrix.device());
    let (ptr, idx) = (rows.ptr(), rows.idx());
    let row_ptr: Vec<usize> = (0..=count).map(|row| positions.partition_point(|&at| at < ptr.at(row))).collect();
    let col_idx: Vec<usize> = positions.iter().map(|&at| idx.at(at)).collect();
    let row_ptr = index_below(&row_ptr, positions.len() + 1, &device);
    let pattern = CsrPattern::new_unchecked(row_ptr, index_below(&col_idx, columns, &device), &[count, columns]);
    let values = take(matrix.rows().clone(), &index_below(positions, matrix.nnz(), &device));
    CsrTensor::from_parts(pattern, values, vec![], matrix.fill().clone())
}

/// Ids in the form that the host algorithms take.
pub(super) fn signed(ids: &[usize]) -> Vec<i64> {
    ids.iter().map(|&id| id as i64).collect()
}

/// Ids of the host algorithms, which are not negative.
pub(super) fn unsigned(ids: Vec<i64>) -> Vec<usize> {
    ids.into_iter().map(|id| id as usize).collect()
}

/// A constant on a device, with that device's autodiff association. `Module::to_device` keeps the constant's own one.
///
/// On a device with gradient checkpointing it has none: Burn gives a tensor its default strategy only, and panics where
/// two strategies meet. A tensor without the association may meet both.
#[cfg(feature = "dataset")]
pub(super) fn on_device<M: burn::module::Module>(constant: M, device: &Device) -> M {
    let plain = device.clone().inner();
    let default = plain.clone().autodiff().gradient_checkpointing_strategy();
    let moved = constant.valid().to_device(&plain);
    if device.gradient_checkpointing_strategy() == default { moved.train() } else { moved }
}

/// The device that constants are made on, so that they are what [`on_device`] gives.
#[cfg(feature = "dataset")]
pub(super) fn constants(device: &Device) -> Device {
    let plain = device.clone().inner();
    let default = plain.clone().autodiff();
    let same = device.gradient_checkpointing_strategy() == default.gradient_checkpointing_strategy();
    if same { default } else { plain }
}

pub(super) fn check_probability(op: &'static str, name: &str, p: f64) -> Result<()> {
    if (0.0..=1.0).contains(&p) {
        return Ok(());
    }
    Err(SparseError::invalid(op, format!("{name} must be in [0, 1], got {p}")))
}
