//! What every launch needs: contiguous inputs, outputs within the limits of the device, and a grid.
//!
//! Launches are checked. So an index that was not validated (`_unchecked` constructors) cannot read or write outside
//! its buffer. A build with `--cfg sparse_unchecked` has no checks: then a tool like compute-sanitizer sees accesses
//! that the checks would hide. It does not see those that stay in a page of memory that CubeCL shares among tensors.

use super::forced;
use super::hardware::Hardware;
use burn::backend::DType;
use burn::backend::cubecl::dtype_to_storage_type;
use burn::backend::ops::IntTensorOps;
use burn::tensor::{BoolStore, Shape, TensorData};
use burn_cubecl::CubeBackend;
use burn_cubecl::cubecl::client::Client;
use burn_cubecl::cubecl::ir::features::TypeUsage;
use burn_cubecl::cubecl::ir::{AddressType, ElemType};
use burn_cubecl::cubecl::prelude::{InputScalar, TensorArg};
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::ops::numeric::empty_device_contiguous_dtype;
use burn_cubecl::tensor::CubeTensor;

/// The type in which values of a dtype are stored.
pub(super) fn stored(dtype: DType) -> ElemType {
    dtype_to_storage_type(dtype)
}

/// The dtype in which values of a dtype are summed: f32 for f16 and bf16, 32 bits for u8 and Bool.
pub(super) fn summed(dtype: DType) -> DType {
    match dtype {
        DType::F16 | DType::BF16 => DType::F32,
        DType::U8 => DType::I32,
        DType::Bool(_) => DType::U32,
        _ => dtype,
    }
}

/// The type in which values of a dtype are summed.
pub(super) fn accumulated(dtype: DType) -> ElemType {
    stored(summed(dtype))
}

/// Whether kernels can read all of these tensors: the device stores their types, computes in the types of their sums,
/// and can hold a contiguous copy of each.
pub(super) fn runs<'a>(tensors: impl IntoIterator<Item = &'a CubeTensor>) -> bool {
    tensors.into_iter().all(|tensor| makes(tensor, count(tensor), tensor.dtype))
}

/// Whether the device of `like` can compute with elements of `dtype`, and [`holds`] so many of them.
pub(super) fn makes(like: &CubeTensor, elements: usize, dtype: DType) -> bool {
    let uses = |kind| like.client.properties().type_usage(kind);
    dtype != DType::Bool(BoolStore::Native)
        && uses(stored(dtype)).contains(TypeUsage::Buffer)
        && uses(accumulated(dtype)).contains(TypeUsage::Arithmetic)
        && holds(like, elements, dtype)
}

/// Whether the device of `like` can hold an array: it fits in a buffer, and the device has addresses that reach its
/// end. Arrays of i32 hold positions, so they have fewer than 2^31 elements.
pub(super) fn holds(like: &CubeTensor, elements: usize, dtype: DType) -> bool {
    let counts = dtype != DType::I32 || elements < sparse_core::narrow_limit();
    let reaches = like.client.properties().supports_address(AddressType::from_len(elements));
    counts && reaches && hardware(like).holds(elements, dtype.size())
}

/// Whether the device can hold a matrix of `rows` rows, of the width and dtype of `like`.
pub(super) fn holds_rows(like: &CubeTensor, rows: usize) -> bool {
    holds(like, rows.saturating_mul(like.meta.shape()[1]), like.dtype)
}

/// Whether a kernel can bind so many buffers on this device, without the one that has the sizes. All devices allow
/// seven.
pub(super) fn binds(like: &CubeTensor, buffers: usize) -> bool {
    hardware(like).bindings >= buffers
}

/// The limits of a tensor's device.
pub(super) fn hardware(like: &CubeTensor) -> Hardware {
    Hardware::of(&like.client)
}

/// Number of elements.
pub(super) fn count(tensor: &CubeTensor) -> usize {
    tensor.meta.num_elements()
}

/// The tensor with contiguous elements, in row-major order.
pub(super) fn flat(tensor: CubeTensor) -> CubeTensor {
    if !tensor.is_contiguous() {
        forced::note("a contiguous copy");
    }
    into_contiguous(tensor)
}

/// A matrix that is read where it lies. From one row to the next there are `stride` elements: more than its width if it
/// is pitched or a view of some columns, and 0 if it is one row repeated.
pub(super) struct Rows {
    pub tensor: CubeTensor,
    pub stride: usize,
}

impl Rows {
    /// The rows of a matrix, which is copied only if the elements of a row are not side by side.
    pub fn of(tensor: CubeTensor) -> Self {
        let (shape, strides) = (tensor.meta.shape(), tensor.meta.strides());
        let (rows, width) = (shape[0], shape[1]);
        // The stride of an axis of one element is never taken, and can be anything.
        if tensor.meta.is_tiled() || (width > 1 && strides[1] != 1) {
            return Self { tensor: flat(tensor), stride: width };
        }
        let stride = if rows > 1 { strides[0] } else { width };
        Self { tensor, stride }
    }
}

/// [`Rows`] whose distance counts vectors. They are copied if vectors do not divide it, because the size of the vectors
/// follows from the width alone where it decides the order of sums.
pub(super) fn rows_of(tensor: CubeTensor, vector: usize) -> (CubeTensor, usize) {
    let Rows { tensor, stride } = Rows::of(tensor);
    if stride.is_multiple_of(vector) {
        return (tensor, stride / vector);
    }
    let width = tensor.meta.shape()[1];
    (flat(tensor), width / vector)
}

/// The largest number that divides a width and the strides of all these rows. So does the size of their vectors.
pub(super) fn divisor<'a>(width: usize, rows: impl IntoIterator<Item = &'a Rows>) -> usize {
    rows.into_iter().fold(width, |a, rows| gcd(a, rows.stride))
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// An uninitialised tensor on the device of `like`, for a kernel to write.
///
/// # Panics
///
/// If a buffer of that size is larger than the device allows. Kernels must ask [`holds`] first.
pub(super) fn empty<const D: usize>(like: &CubeTensor, shape: [usize; D], dtype: DType) -> CubeTensor {
    let (hardware, size) = (hardware(like), dtype.size());
    let fits = hardware.holds(shape.iter().product(), size);
    assert!(fits, "a buffer must have at most {} bytes, got {shape:?} of {size} bytes each", hardware.buffer);
    empty_device_contiguous_dtype(like.client.clone(), like.device.clone(), Shape::from(shape), dtype)
}

/// A few numbers of the host, as a tensor on the device and of the dtype of `like`.
pub(super) fn upload(list: &[i64], like: &CubeTensor) -> CubeTensor {
    let data = TensorData::new(list.to_vec(), [list.len()]).convert_dtype(like.dtype);
    CubeBackend::int_from_data(data, &like.device)
}

/// A number as a scalar of a tensor's dtype.
pub(super) fn number(value: usize, like: &CubeTensor) -> InputScalar {
    InputScalar::new(value as i64, stored(like.dtype))
}

/// A tensor as an argument of a launch.
pub(super) fn arg(tensor: &CubeTensor) -> TensorArg {
    forced::bind();
    tensor.clone().into_tensor_arg()
}

/// The coordinates along dim `d`: row `d` of `[dims, n]`.
pub(super) fn coordinates(tensor: &CubeTensor, d: usize) -> CubeTensor {
    let (all, n) = (count(tensor), tensor.meta.shape()[1]);
    let list = burn_cubecl::ops::reshape(tensor.clone(), [all].into());
    let part = d * n..(d + 1) * n;
    flat(burn_cubecl::kernel::slice(list, std::slice::from_ref(&part)))
}

/// The tensors of a launch: they decide on which device it runs, and how wide its addresses are. The longest one must
/// be among them, unless the launch has a unit for each of its elements.
pub(super) trait Tensors {
    fn client(&self) -> Client;

    /// The address type that reaches the last element of each, and position `units`.
    fn address(&self, units: usize) -> AddressType;

    fn hardware(&self) -> Hardware {
        Hardware::of(&self.client())
    }
}

impl Tensors for CubeTensor {
    fn client(&self) -> Client {
        self.client.clone()
    }

    fn address(&self, units: usize) -> AddressType {
        let wide = forced::now().wide && self.client.properties().supports_address(AddressType::U64);
        if wide {
            forced::note("addresses of 64 bits");
        }
        let least = if wide { AddressType::U64 } else { AddressType::from_len(units) };
        self.required_address_type().max(least)
    }
}

impl<T: Tensors> Tensors for &T {
    fn client(&self) -> Client {
        (**self).client()
    }

    fn address(&self, units: usize) -> AddressType {
        (**self).address(units)
    }
}

impl<T: Tensors> Tensors for [T] {
    fn client(&self) -> Client {
        self[0].client()
    }

    fn address(&self, units: usize) -> AddressType {
        self.iter().map(|tensor| tensor.address(units)).max().unwrap_or_default()
    }
}

impl<T: Tensors, const N: usize> Tensors for [T; N] {
    fn client(&self) -> Client {
        self.as_slice().client()
    }

    fn address(&self, units: usize) -> AddressType {
        self.as_slice().address(units)
    }
}

/// Tensors, and a position that addresses must reach too.
impl<T: Tensors> Tensors for (T, usize) {
    fn client(&self) -> Client {
        self.0.client()
    }

    fn address(&self, units: usize) -> AddressType {
        self.0.address(units.max(self.1))
    }
}

/// The position that addresses must reach in a launch that divides positions up to a number by `FastDivmod`. It adds
/// two numbers of their size, so addresses must have another bit.
pub(super) fn dividend(positions: usize) -> usize {
    positions.saturating_mul(2)
}

/// Whether the device has addresses for [`dividend`].
pub(super) fn divides(like: &CubeTensor, positions: usize) -> bool {
    like.client.properties().supports_address(AddressType::from_len(dividend(positions)))
}

/// Launches `kernels::$kernel` of the calling module over a grid, with its `(arguments)` and its element types. A
/// number in place of the grid launches so many units, each of which works alone. `$tensors` as in [`Tensors`]. A grid
/// may be given with the last position that its cubes compute. Nothing is launched in a run of `without_blocking` that
/// will be dropped: with zeros in place of what was read, an output may be shorter than what a kernel writes.
macro_rules! launch {
    ($kernel:ident, $tensors:expr, grid($grid:expr), ($($arg:expr),* $(,)?), $types:expr) => {
        launch!($kernel, $tensors, grid($grid, 0), ($($arg),*), $types)
    };
    ($kernel:ident, $tensors:expr, grid($grid:expr, $reach:expr), ($($arg:expr),* $(,)?), $types:expr) => {{
        use $crate::backends::cube::launch::Tensors;
        let (client, grid, address) = ($tensors.client(), $grid, $tensors.address($reach));
        launch!(@run $kernel, client, grid, address, ($($arg),*), $types)
    }};
    ($kernel:ident, $tensors:expr, $units:expr, ($($arg:expr),* $(,)?), $types:expr) => {{
        use $crate::backends::cube::launch::Tensors;
        let (client, units) = ($tensors.client(), $units);
        let (grid, address) = ($tensors.hardware().units(units), $tensors.address(units));
        launch!(@run $kernel, client, grid, address, ($($arg),*), $types)
    }};
    (@run $kernel:ident, $client:ident, $grid:ident, $address:ident, ($($arg:expr),*), $types:expr) => {{
        if !$crate::replay::is_dropped() {
            $crate::backends::cube::forced::launch(stringify!($kernel));
            if $grid.cubes[1] > 1 {
                $crate::backends::cube::forced::note(concat!(stringify!($kernel), " on two axes"));
            }
            #[cfg(not(sparse_unchecked))]
            kernels::$kernel::launch(&$client, $grid.count(), $grid.dim(), $address, $($arg,)* $types);
            // SAFETY: none. Such a build is for a tool that reports accesses outside a buffer.
            #[cfg(sparse_unchecked)]
            unsafe {
                kernels::$kernel::launch_unchecked(&$client, $grid.count(), $grid.dim(), $address, $($arg,)* $types)
            };
        }
        $crate::backends::cube::forced::bound(stringify!($kernel));
    }};
}
pub(super) use launch;
