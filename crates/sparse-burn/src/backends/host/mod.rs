//! Default bodies: read to the host (on Flex nothing is copied), call `sparse-core`, write back.

mod extremum;
mod linalg;
mod merge;
mod put;
mod rows;
mod structure;

pub(crate) use extremum::{extremum_cols_backward, extremum_rows_backward, spmm_extremum};
pub(crate) use linalg::{sddmm, spgemm, spgemm_sampled, spgemm_values, spmm};
pub(crate) use merge::{concat, concat_patterns, locate, merge, union_zip, zip_rows};
pub(crate) use put::{check_indices, gather, put, put_backward};
pub(crate) use rows::{move_rows, segment_sum};
pub(crate) use structure::{coalesce, compress, expand_ptr, group_by, scan, validate_coo, validate_csr};

use crate::host_tensor::host_data;
use crate::{AnyTensor, HostAccess, HostTensor, OptionalInt};
use burn::backend::tensor::IntTensor;
use burn::tensor::DType;

fn ints<B: HostAccess>(tensor: IntTensor<B>) -> HostTensor {
    B::to_host(AnyTensor::Int(tensor))
}

fn write_ints<B: HostAccess, I: bytemuck::Pod + Send + Sync>(
    elements: Vec<I>,
    shape: &[usize],
    dtype: DType,
    device: &B::Device,
) -> IntTensor<B> {
    match B::to_device(host_data(elements, shape.to_vec(), dtype), device) {
        AnyTensor::Int(tensor) => tensor,
        _ => unreachable!("an index dtype is an int"),
    }
}

fn optional<B: HostAccess>(tensor: OptionalInt<B>) -> Option<HostTensor> {
    match tensor {
        OptionalInt::Identity => None,
        OptionalInt::By(tensor) => Some(ints::<B>(tensor)),
    }
}
