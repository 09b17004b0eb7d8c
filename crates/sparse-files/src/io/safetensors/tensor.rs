//! A sparse tensor and its arrays.

use super::file::{Array, FillKind, Head, Layout, OP, invalid};
use ::safetensors::tensor::Dtype;
use burn::tensor::{Bool, BoolStore, Bytes, DType, Device, Float, Int, Scalar, Tensor, TensorData};
use sparse_ops::extend::{
    Arrays, Parts, arrays, cells, coo_pattern, csr_pattern, has_dtype, in_layout, index_dtype_for, read_data,
};
use sparse_ops::pattern::{CooPattern, CsrPattern, Pattern};
use sparse_ops::{Fill, FillValue, Kind, Result, SparseError, SparseTensor, dtype_name};
use std::any::TypeId;

/// The dtypes that both have.
const DTYPES: [(Dtype, DType); 8] = [
    (Dtype::F16, DType::F16),
    (Dtype::BF16, DType::BF16),
    (Dtype::F32, DType::F32),
    (Dtype::F64, DType::F64),
    (Dtype::I32, DType::I32),
    (Dtype::I64, DType::I64),
    (Dtype::U8, DType::U8),
    (Dtype::BOOL, DType::Bool(BoolStore::Native)),
];

/// The dtype of a tensor that holds such elements, if there is one.
#[cfg(feature = "mmap")]
pub(super) fn dtype(of: Dtype) -> Option<DType> {
    DTYPES.into_iter().find(|&(dtype, _)| dtype == of).map(|(_, dtype)| dtype)
}

pub(super) fn to_arrays<P: Pattern, const D: usize, K: Kind>(
    tensor: &SparseTensor<P, D, K>,
) -> (Head, Vec<(&'static str, Array)>) {
    let (shape, sparse_dims) = (tensor.dims(), tensor.sparse_dims());
    let (mut head, mut arrays) = pattern_arrays(tensor.pattern());
    let values = read_data(tensor.rows().clone().inner());
    arrays.push(("values", array(values, [&[tensor.nnz()], &shape[sparse_dims..]].concat())));
    // What the fill is as an element of the tensor: a number of the host takes part in its dtype.
    let fill = match tensor.fill() {
        Fill::Zero => FillKind::Zero,
        Fill::Undefined => FillKind::Undefined,
        Fill::Value(value) => {
            let scalar = matches!(value, FillValue::Scalar(_));
            let elements = if scalar { 1 } else { tensor.rows().dims()[1] };
            let row = read_data(tensor.fill_row(elements).inner());
            let shape = match &shape[sparse_dims..] {
                _ if scalar => vec![],
                [] => vec![1],
                dense => dense.to_vec(),
            };
            arrays.push(("fill", array(row, shape)));
            FillKind::Value
        }
    };
    (head.shape, head.coalesced, head.fill) = (shape.to_vec(), tensor.is_coalesced(), fill);
    (head, arrays)
}

/// A pattern alone: what a file without values holds.
pub(super) fn pattern_arrays<P: Pattern>(pattern: &P) -> (Head, Vec<(&'static str, Array)>) {
    let (shape, nnz) = (pattern.shape(), pattern.nnz());
    let (layout, arrays) = match arrays(pattern) {
        Arrays::Coo(indices) => (Layout::Coo, vec![("indices", array(read_data(indices), vec![shape.len(), nnz]))]),
        Arrays::Csr(row_ptr, col_idx) => {
            let row_ptr = read_data(row_ptr);
            let length = row_ptr.num_elements();
            let (row_ptr, col_idx) = (array(row_ptr, vec![length]), array(read_data(col_idx), vec![nnz]));
            (Layout::Csr, vec![("row_ptr", row_ptr), ("col_idx", col_idx)])
        }
    };
    let (shape, sparse_dims, coalesced) = (shape.to_vec(), shape.len(), pattern.is_coalesced());
    (Head { layout, shape, sparse_dims, coalesced, fill: FillKind::Zero }, arrays)
}

fn array(data: TensorData, shape: Vec<usize>) -> Array {
    // Backends keep booleans in several widths; a file has bytes.
    let found = if data.dtype().is_bool() { DType::Bool(BoolStore::Native) } else { data.dtype() };
    let (dtype, _) = DTYPES.into_iter().find(|&(_, dtype)| dtype == found).expect("sparse tensors have these dtypes");
    let bytes = match dtype {
        Dtype::BOOL => data.iter::<bool>().map(u8::from).collect(),
        _ => little_endian(data.as_bytes(), dtype),
    };
    Array { dtype, shape, bytes: Bytes::from_bytes_vec(bytes) }
}

/// The elements with their bytes in the order of the file, and back.
fn little_endian(bytes: &[u8], dtype: Dtype) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    if cfg!(target_endian = "big") {
        bytes.chunks_exact_mut(dtype.bitsize() / 8).for_each(<[u8]>::reverse);
    }
    bytes
}

/// The bytes of an array in the order of this machine: those of the file where they can be shared and are aligned.
fn native(array: &Array) -> Bytes {
    let bytes = &array.bytes;
    let size = (array.dtype.bitsize() / 8).max(1);
    if cfg!(target_endian = "little")
        && bytes.as_ptr().addr().is_multiple_of(size)
        && let Ok(shared) = bytes.view(0, bytes.len())
    {
        return shared;
    }
    Bytes::from_bytes_vec(little_endian(bytes, array.dtype))
}

fn layout_of<P: Pattern>() -> Layout {
    if TypeId::of::<P>() == TypeId::of::<CooPattern>() { Layout::Coo } else { Layout::Csr }
}

pub(super) fn from_arrays<'a, P: Pattern, const D: usize, K: Kind>(
    head: &Head,
    find: impl Fn(&'static str) -> Result<&'a Array>,
    device: &Device,
) -> Result<SparseTensor<P, D, K>> {
    check_layout::<P>(head)?;
    if head.shape.len() != D {
        return Err(mismatch("the shape in the file must have the rank asked for", &head.shape, &[D]));
    }
    if head.sparse_dims > D || (head.layout == Layout::Csr && head.sparse_dims < 2) {
        return Err(mismatch("sparse_dims must fit the shape and the layout", &head.shape, &[head.sparse_dims]));
    }
    let (sparse, dense) = head.shape.split_at(head.sparse_dims);
    let block = block_of(dense)?;
    let values = find("values")?;
    if values.shape.len() != 1 + dense.len() || values.shape[1..] != *dense {
        return Err(mismatch("`values` must be [nnz, dense dims..]", &values.shape, dense));
    }
    let nnz = values.shape[0];
    // Elements without a byte, which a header can claim any number of.
    let limit = i32::MAX as usize;
    if sparse.is_empty() && block == 0 && nnz > limit {
        return Err(SparseError::overflow(OP, "the number of empty blocks", limit, nnz));
    }
    let pattern: P = pattern(head.layout, sparse, head.coalesced, Some(nnz), &find, device)?;
    let data = host::<K>("values", values, [nnz, block])?;
    let dtype = data.dtype();
    if !dtype.is_bool() {
        has_dtype(OP, device, dtype)?;
    }
    let fill = match head.fill {
        FillKind::Zero => Fill::Zero,
        FillKind::Undefined => Fill::Undefined,
        FillKind::Value => fill::<K>(find("fill")?, dense, values.dtype, device)?,
    };
    let rows = Tensor::from_data(data, (device, dtype));
    Ok(SparseTensor::from_parts(pattern, rows, dense.to_vec(), fill))
}

/// The pattern of a file, with or without values.
pub(super) fn pattern_from_arrays<'a, P: Pattern>(
    head: &Head,
    find: impl Fn(&'static str) -> Result<&'a Array>,
    device: &Device,
) -> Result<P> {
    check_layout::<P>(head)?;
    if head.sparse_dims > head.shape.len() || (head.layout == Layout::Csr && head.sparse_dims < 2) {
        return Err(mismatch("sparse_dims must fit the shape and the layout", &head.shape, &[head.sparse_dims]));
    }
    pattern(head.layout, &head.shape[..head.sparse_dims], head.coalesced, None, &find, device)
}

fn check_layout<P: Pattern>(head: &Head) -> Result<()> {
    if head.layout == layout_of::<P>() {
        return Ok(());
    }
    let right = match head.layout {
        Layout::Coo => CooPattern::LAYOUT,
        Layout::Csr => CsrPattern::LAYOUT,
    };
    Err(SparseError::layout_mismatch(OP, P::LAYOUT, right))
}

/// The checked pattern of the arrays, which has `values` elements if that is known.
fn pattern<'a, P: Pattern>(
    layout: Layout,
    sparse: &[usize],
    coalesced: bool,
    values: Option<usize>,
    find: &dyn Fn(&'static str) -> Result<&'a Array>,
    device: &Device,
) -> Result<P> {
    Ok(match layout {
        Layout::Coo => {
            let indices = find("indices")?;
            let nnz = values.or(indices.shape.last().copied()).unwrap_or(0);
            if indices.shape != [sparse.len(), nnz] {
                return Err(mismatch("`indices` must be [sparse_dims, nnz]", &indices.shape, &[sparse.len(), nnz]));
            }
            let indices = upload_indices("indices", indices, [sparse.len(), nnz], sparse, device)?;
            let pattern = coo_pattern(OP, indices, sparse)?;
            if coalesced && !pattern.is_coalesced() {
                return Err(invalid("`indices` must be coalesced as the metadata says, got others".into()));
            }
            in_layout(&pattern)
        }
        Layout::Csr => {
            let (row_ptr, col_idx) = (find("row_ptr")?, find("col_idx")?);
            let (&[pointers], &[columns]) = (&row_ptr.shape[..], &col_idx.shape[..]) else {
                return Err(mismatch("`row_ptr` and `col_idx` must have one dim", &row_ptr.shape, &col_idx.shape));
            };
            if let Some(nnz) = values
                && columns != nnz
            {
                return Err(SparseError::length_mismatch(OP, "`values`", columns, nnz));
            }
            let row_ptr = upload_indices("row_ptr", row_ptr, [pointers], sparse, device)?;
            let col_idx = upload_indices("col_idx", col_idx, [columns], sparse, device)?;
            in_layout(&csr_pattern(OP, row_ptr, col_idx, sparse)?)
        }
    })
}

/// Elements of a value block. Empty dims count as one: strides must fit, too.
fn block_of(dense: &[usize]) -> Result<usize> {
    let padded = cells(&dense.iter().map(|&size| size.max(1)).collect::<Vec<_>>());
    let limit = i64::MAX as u128;
    if padded > limit {
        return Err(SparseError::overflow(OP, "the dense dims", limit, padded));
    }
    Ok(dense.iter().product())
}

/// An index array on the device, in the narrower of the two index dtypes that holds it.
fn upload_indices<const R: usize>(
    name: &str,
    array: &Array,
    shape: [usize; R],
    sizes: &[usize],
    device: &Device,
) -> Result<Tensor<R, Int>> {
    let device = device.clone().inner();
    let dtype = match array.dtype {
        Dtype::I32 => DType::I32,
        Dtype::I64 => DType::I64,
        other => {
            let dtype = other.to_string().to_lowercase();
            return Err(SparseError::unsupported_dtype(OP, format!("an index array (`{name}`)"), dtype));
        }
    };
    let data = TensorData::from_bytes(native(array), shape, dtype);
    let wide = dtype == DType::I64 && data.iter::<i64>().any(|index| i32::try_from(index).is_err());
    // A pattern is kept in the dtype that its sizes ask for; a batch counts its rows, and its columns, as one matrix's.
    let total = match *sizes {
        [batch, rows, cols] => cells(&[batch, rows.max(cols)]),
        _ => 0,
    };
    let largest = sizes.iter().map(|&size| size as u128).chain([total]).max().unwrap_or(0);
    if wide || index_dtype_for(largest.min(usize::MAX as u128) as usize) == DType::I64 {
        has_dtype(OP, &device, DType::I64)?;
    }
    let dtype = if wide { DType::I64 } else { DType::I32 };
    Ok(Tensor::from_data(data.convert_dtype(dtype), (&device, dtype)))
}

/// An array of elements, of the kind asked for.
fn host<K: Kind>(name: &str, array: &Array, shape: impl Into<burn::tensor::Shape>) -> Result<TensorData> {
    let Some((_, dtype)) = DTYPES.into_iter().find(|&(dtype, _)| dtype == array.dtype) else {
        let dtype = array.dtype.to_string().to_lowercase();
        return Err(SparseError::unsupported_dtype(OP, format!("a sparse tensor (`{name}`)"), dtype));
    };
    let kind = if dtype.is_float() {
        TypeId::of::<Float>()
    } else if dtype.is_bool() {
        TypeId::of::<Bool>()
    } else {
        TypeId::of::<Int>()
    };
    if kind != TypeId::of::<K>() {
        let asked = [(TypeId::of::<Float>(), "float"), (TypeId::of::<Bool>(), "bool"), (TypeId::of::<Int>(), "int")];
        let left = asked.into_iter().find(|(id, _)| *id == TypeId::of::<K>()).map_or("another kind", |(_, name)| name);
        return Err(SparseError::dtype_mismatch(OP, left, dtype_name(dtype)));
    }
    if let (true, Some(at)) = (dtype.is_bool(), array.bytes.iter().position(|&byte| byte > 1)) {
        return Err(invalid(format!("`{name}` must be 0 or 1, got {} at position {at}", array.bytes[at])));
    }
    Ok(TensorData::from_bytes(native(array), shape, dtype))
}

/// A dense array, without a copy on Flex.
pub(super) fn dense<const D: usize, K: Kind>(name: &str, array: &Array, device: &Device) -> Result<Tensor<D, K>> {
    if array.shape.len() != D {
        return Err(mismatch("the array must have the rank asked for", &array.shape, &[D]));
    }
    // Empty dims count as one: strides must fit, too.
    block_of(&array.shape)?;
    let data = host::<K>(name, array, array.shape.clone())?;
    let dtype = data.dtype();
    if !dtype.is_bool() {
        has_dtype(OP, device, dtype)?;
    }
    Ok(Tensor::from_data(data, (device, dtype)))
}

fn fill<K: Kind>(array: &Array, dense: &[usize], values: Dtype, device: &Device) -> Result<Fill<K>> {
    if array.dtype != values {
        let name = |dtype: Dtype| dtype.to_string().to_lowercase();
        return Err(SparseError::dtype_mismatch(OP, name(values), name(array.dtype)));
    }
    if !array.shape.is_empty() && array.shape != [1] && array.shape != dense {
        return Err(mismatch("`fill` must be [], [1] or the dense dims", &array.shape, dense));
    }
    let elements: usize = array.shape.iter().product();
    let data = host::<K>("fill", array, [1, elements])?;
    let dtype = data.dtype();
    if !array.shape.is_empty() {
        return Ok(Fill::Value(FillValue::Block(Tensor::from_data(data, (device, dtype)).into())));
    }
    let number = if dtype.is_float() {
        data.iter::<f64>().next().map(Scalar::Float)
    } else if dtype.is_bool() {
        data.iter::<bool>().next().map(Scalar::Bool)
    } else {
        data.iter::<i64>().next().map(Scalar::Int)
    };
    Ok(Fill::Value(FillValue::Scalar(number.expect("a shape of no dims has one element"))))
}

fn mismatch(rule: &'static str, left: &[usize], right: &[usize]) -> SparseError {
    SparseError::shape_mismatch(OP, rule, left, right)
}
