//! A matrix on the host, where parts of the set-up run, and back on the device.

use burn::tensor::{DType, Device, Int, Tensor, TensorData};
use sparse_core::dynamic::{ElementVec, Elements, Ids};
use sparse_ops::CsrTensor;
use sparse_ops::extend::{Parts, ints, read_data};

/// The arrays of a CSR matrix, read from the device.
#[derive(Debug)]
pub(super) struct Host {
    ptr: TensorData,
    idx: TensorData,
    values: TensorData,
}

impl Host {
    pub(super) fn of(a: &CsrTensor<2>) -> Self {
        let (pattern, values) = (a.pattern(), read_data(a.rows().clone()));
        Self { ptr: read_data(pattern.row_ptr().clone()), idx: read_data(pattern.col_idx().clone()), values }
    }

    pub(super) fn ptr(&self) -> Ids<'_> {
        ids(&self.ptr)
    }

    pub(super) fn idx(&self) -> Ids<'_> {
        ids(&self.idx)
    }

    pub(super) fn values(&self) -> Elements<'_> {
        match self.values.dtype() {
            DType::F32 => Elements::F32(self.values.as_slice().expect("its dtype")),
            _ => Elements::F64(self.values.as_slice().expect("checked: f32 or f64")),
        }
    }

    /// Whether the same elements are stored.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        self.ptr == other.ptr && self.idx == other.idx
    }

    /// As a dense matrix, row by row.
    pub(super) fn dense(&self, rows: usize) -> Vec<f64> {
        let mut out = vec![0.0; rows * rows];
        let (ptr, idx, values) = (self.ptr(), self.idx(), self.values());
        for row in 0..rows {
            for at in ptr.at(row)..ptr.at(row + 1) {
                out[row * rows + idx.at(at)] = match values {
                    Elements::F32(values) => values[at].into(),
                    Elements::F64(values) => values[at],
                    _ => unreachable!("checked: f32 or f64"),
                };
            }
        }
        out
    }
}

fn ids(data: &TensorData) -> Ids<'_> {
    match data.dtype() {
        DType::I32 => Ids::I32(data.as_slice().expect("its dtype")),
        _ => Ids::I64(data.as_slice().expect("a pattern has i32 or i64 indices")),
    }
}

pub(super) fn ids_of(list: &[i64]) -> Ids<'_> {
    Ids::I64(list)
}

pub(super) fn id_tensor(list: Vec<i64>, device: &Device) -> Tensor<1, Int> {
    let length = [list.len()];
    ints(list, length, device)
}

/// Values as rows `[nnz, 1]`.
pub(super) fn value_rows(list: ElementVec, device: &Device) -> Tensor<2> {
    let shape = [list.len(), 1];
    match list {
        ElementVec::F32(list) => Tensor::from_data(TensorData::new(list, shape), (device, DType::F32)),
        ElementVec::F64(list) => Tensor::from_data(TensorData::new(list, shape), (device, DType::F64)),
        other => unreachable!("checked: f32 or f64, got {other:?}"),
    }
}

/// Numbers of the host in a float dtype.
pub(super) fn numbers(list: Vec<f64>, shape: [usize; 2], device: &Device, dtype: DType) -> Tensor<2> {
    Tensor::from_data(TensorData::new(list, shape).convert_dtype(dtype), (device, dtype))
}
