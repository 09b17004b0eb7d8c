//! NumPy's `.npy`: one dense array of any rank.
//!
//! Reads both byte orders, C and Fortran order, and versions 1 to 3 of the header. Writes little-endian C order, byte
//! for byte as `numpy.save` does.
//!
//! | NumPy | tensor |
//! |---|---|
//! | `f2`, `f4`, `f8` | F16, F32, F64 |
//! | `i4`, `i8`, `u1` | I32, I64, U8 |
//! | `i1`, `i2`, `u2` | I32 (holds every value) |
//! | `u4`, `u8` | I64 (an error above 63 bits) |
//! | `?` | Bool |
//!
//! Source: NumPy, [NEP 1](https://numpy.org/neps/nep-0001-npy-format.html).
//!
//! ```
//! use burn::tensor::{DType, Device, Tensor};
//! use sparse_tensor::io::npy;
//!
//! let device = Device::flex();
//! let a = Tensor::<2>::from_floats([[1.0, 2.0], [3.0, 4.0]], &device);
//! let mut bytes = Vec::new();
//! npy::write_to(&mut bytes, &a).unwrap();
//! let b: Tensor<2> = npy::from_bytes(&bytes, (&device, DType::F64)).unwrap();
//! assert_eq!((b.dtype(), b.sum().into_scalar::<f64>()), (DType::F64, 10.0));
//! ```

pub(crate) mod array;
pub(crate) mod header;
pub(crate) mod write;

#[cfg(feature = "mmap")]
use super::source::Place;
use super::source::{Counted, Limited, Progress, silent};
use array::Input;
use burn::tensor::{Bytes, Tensor, TensorCreationOptions, TensorData};
use header::Header;
use sparse_ops::extend::{Allowed, converted, read_data};
use sparse_ops::{Kind, Result, SparseError};
use std::cmp::Ordering;
use std::io::{BufReader, Read, Write};
use std::ops::Range;
use std::path::Path;

const OP: &str = "npy";

/// Reads an array onto a device: `&device`, or `(&device, dtype)`.
///
/// Without a dtype the array keeps its own, which must be of kind `K`. With one it is converted: floats to floats,
/// integers and booleans to anything that holds them. `D` is the rank; an array without dims becomes one of one
/// element.
///
/// Cost: the elements are read into the memory that they stay in. They are converted only if the dtype or the byte
/// order differs.
///
/// # Errors
///
/// - `shape_mismatch` for another rank;
/// - `dtype_mismatch` for another kind, or for floats where integers are asked for;
/// - `unsupported_dtype` if the device lacks the dtype; `overflow` for an integer that the dtype cannot hold;
/// - `invalid` if the file cannot be read, is not an array, is cut off, or has another element type.
pub fn load<const D: usize, K: Kind>(
    path: impl AsRef<Path>,
    options: impl Into<TensorCreationOptions>,
) -> Result<Tensor<D, K>> {
    load_with(path, options, &mut silent())
}

/// [`load`], which reports its progress.
///
/// # Errors
///
/// As [`load`].
pub fn load_with<const D: usize, K: Kind>(
    path: impl AsRef<Path>,
    options: impl Into<TensorCreationOptions>,
    progress: &mut Progress<'_>,
) -> Result<Tensor<D, K>> {
    let path = path.as_ref();
    let name = path.display();
    let file = Counted::open(path, progress);
    let file = file.map_err(|trouble| invalid(format!("{name}: cannot be read, got {trouble}")))?;
    let sure = file.total();
    read(BufReader::with_capacity(1 << 16, file), sure, options.into()).map_err(|trouble| trouble.in_file(path))
}

/// [`load`] from memory.
///
/// # Errors
///
/// As [`load`].
pub fn from_bytes<const D: usize, K: Kind>(
    bytes: &[u8],
    options: impl Into<TensorCreationOptions>,
) -> Result<Tensor<D, K>> {
    read(bytes, bytes.len() as u64, options.into())
}

/// [`from_bytes`] without a copy: on Flex the tensor is a part of `bytes`. For a file that is mapped into memory see
/// `io::MappedFile` (feature `mmap`).
///
/// The elements are copied if they must change (another dtype, byte order or order of dims, or an element type that
/// tensors lack), if they are not aligned (files of NumPy and of [`save`] are), or if `bytes` cannot be shared.
///
/// ```
/// use burn::tensor::{Bytes, Device, Tensor};
/// use sparse_tensor::io::npy;
///
/// let device = Device::flex();
/// let mut bytes = Vec::new();
/// npy::write_to(&mut bytes, &Tensor::<2>::from_floats([[1.0, 2.0], [3.0, 4.0]], &device)).unwrap();
/// let a: Tensor<2> = npy::from_shared(Bytes::from_elems(bytes).shared(), &device).unwrap();
/// assert_eq!(a.sum().into_scalar::<f32>(), 10.0);
/// ```
///
/// # Errors
///
/// As [`load`]. Bytes that end before the header says so are an error before any element is touched.
pub fn from_shared<const D: usize, K: Kind>(
    bytes: Bytes,
    options: impl Into<TensorCreationOptions>,
) -> Result<Tensor<D, K>> {
    let options = options.into();
    let (header, range) = place(&bytes).map_err(invalid)?;
    let dtype = header.dtype().filter(|dtype| bytes[range.start..].as_ptr().addr().is_multiple_of(dtype.size()));
    let (Some(dtype), Ok(shared)) = (dtype, bytes.view(range.start, range.end)) else {
        return from_bytes(&bytes, options);
    };
    if let (true, Some(at)) = (dtype.is_bool(), shared.iter().position(|&byte| byte > 1)) {
        return Err(invalid(format!("a bool must be 0 or 1, got {} at position {at}", shared[at])));
    }
    Allowed::now().check_elements(header.count).map_err(invalid)?;
    finish(OP, &header, |shape| Ok(TensorData::from_bytes(shared, shape, dtype)), options)
}

/// The header of a file that is in memory or mapped, and where its elements lie: to its end. No element is touched.
fn place(bytes: &[u8]) -> Result<(Header, Range<usize>), String> {
    let header = Header::read(&mut &bytes[..])?;
    let start = header.length as usize;
    let (length, got) = (header.count as u128 * header.element.size() as u128, bytes.len() - start);
    match length.cmp(&(got as u128)) {
        Ordering::Equal => Ok((header, start..bytes.len())),
        Ordering::Greater => Err(format!("the elements must have {length} bytes, got {got} before the end")),
        Ordering::Less => Err("the file must end with the last element, got more".into()),
    }
}

/// The elements of NumPy's array of this dtype (`"<f4"`, `">i8"`, `"|b1"`), from its bytes: what a format of its own
/// that holds such arrays reads them with. Integer types that tensors lack become the next wider one.
///
/// # Errors
///
/// A message, for the error of that format: the dtype is none of a tensor or unknown, or the bytes are no whole number
/// of elements.
///
/// ```
/// let data = sparse_tensor::io::npy::elements(">i2", &[1, 0, 0, 5]).unwrap();
/// assert_eq!(data.iter::<i64>().collect::<Vec<_>>(), [256, 5]);
/// ```
pub fn elements(dtype: &str, mut bytes: &[u8]) -> Result<TensorData, String> {
    let (element, big_endian) = header::dtype(dtype)?;
    let count = bytes.len() / element.size().max(1);
    if count * element.size() != bytes.len() {
        return Err(format!("elements of {dtype} must fill {} bytes", bytes.len()));
    }
    let sure = bytes.len() as u64;
    let header = Header { element, big_endian, fortran: false, shape: vec![count], count, length: 0 };
    header.numbers(&mut Stream { source: &mut bytes, sure }, vec![count])
}

/// The place of an array that can be used where it lies.
#[cfg(feature = "mmap")]
pub(crate) fn mapped(bytes: &[u8]) -> Result<Place, String> {
    let (header, range) = place(bytes)?;
    if header.fortran && header.shape.len() > 1 {
        return Err("the array must be in C order, got Fortran order".into());
    }
    match header.dtype() {
        Some(dtype) => Ok(Place { shape: header.shape, dtype, range }),
        None => Err(format!("the elements must be those of a tensor, little-endian, got {:?}", header.element)),
    }
}

fn read<const D: usize, K: Kind>(
    source: impl Read,
    length: u64,
    options: TensorCreationOptions,
) -> Result<Tensor<D, K>> {
    let mut source = Limited::new(source, length);
    let header = Header::read(&mut source).map_err(invalid)?;
    let mut input = Stream { source, sure: length.saturating_sub(header.length) };
    let tensor = tensor(OP, &header, &mut input, options)?;
    match input.source.read(&mut [0]) {
        Ok(0) => Ok(tensor),
        Ok(_) => Err(invalid("the file must end with the last element, got more".into())),
        Err(trouble) => Err(invalid(format!("the file must end with the last element, got {trouble}"))),
    }
}

/// Elements that are read one after the other.
struct Stream<R> {
    source: R,
    sure: u64,
}

impl<R: Read> Input for Stream<R> {
    fn fill(&mut self, target: &mut [u8]) -> Result<(), String> {
        // In steps, so that progress is heard on the way.
        for part in target.chunks_mut(1 << 20) {
            self.source.read_exact(part).map_err(|trouble| format!("the elements are cut off, got {trouble}"))?;
        }
        Ok(())
    }

    fn sure(&self) -> u64 {
        self.sure
    }
}

/// A tensor from the elements after a header.
pub(crate) fn tensor<const D: usize, K: Kind>(
    op: &'static str,
    header: &Header,
    input: &mut dyn Input,
    options: TensorCreationOptions,
) -> Result<Tensor<D, K>> {
    finish(op, header, |stored| header.numbers(input, stored), options)
}

/// A tensor of the numbers that `numbers` gives for the shape in which they are stored.
fn finish<const D: usize, K: Kind>(
    op: &'static str,
    header: &Header,
    numbers: impl FnOnce(Vec<usize>) -> Result<TensorData, String>,
    options: TensorCreationOptions,
) -> Result<Tensor<D, K>> {
    let shape = if header.shape.is_empty() { vec![1] } else { header.shape.clone() };
    if shape.len() != D {
        let rule = "the array must have the rank asked for, got shape {left} for rank {right:1}";
        return Err(SparseError::shape_mismatch(op, rule, header.shape.clone(), [D]));
    }
    // Fortran order is C order of the transpose.
    let stored = if header.fortran { shape.iter().rev().copied().collect() } else { shape };
    let data = numbers(stored).map_err(|message| SparseError::invalid(op, message))?;
    let data = converted::<K>(op, data, options.dtype, &options.device)?;
    let dtype = data.dtype();
    let tensor = Tensor::from_data(data, (&options.device, dtype));
    if !header.fortran || D < 2 {
        return Ok(tensor);
    }
    Ok(tensor.permute(std::array::from_fn::<isize, D, _>(|axis| (D - 1 - axis) as isize)))
}

/// Writes a dense tensor. Reads the device.
///
/// # Errors
///
/// `unsupported_dtype` for bfloat16, which NumPy lacks; `invalid` if the file cannot be written.
pub fn save<const D: usize, K: Kind>(path: impl AsRef<Path>, tensor: &Tensor<D, K>) -> Result<()> {
    let path = path.as_ref();
    write::descr(OP, tensor.dtype())?;
    let trouble = |trouble| invalid(format!("{}: cannot be written, got {trouble}", path.display()));
    sparse_disk::replace(path, trouble, |out| write_to(out, tensor))
}

/// [`save`] to memory or to a stream.
///
/// # Errors
///
/// As [`save`].
pub fn write_to<const D: usize, K: Kind>(mut out: impl Write, tensor: &Tensor<D, K>) -> Result<()> {
    let header = write::header(write::descr(OP, tensor.dtype())?, &tensor.dims());
    let data = read_data(tensor.clone().inner());
    let written = out.write_all(&header).and_then(|()| write::elements(data, &mut out));
    written.map_err(|trouble| invalid(format!("cannot be written, got {trouble}")))
}

fn invalid(message: String) -> SparseError {
    SparseError::invalid(OP, message)
}
