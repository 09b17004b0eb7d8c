//! Typed calls of the kernels. [`sparse_burn::kernel`] declares each of them once. A call removes the autodiff
//! association of its tensors.

pub(crate) use sparse_burn::kernel::*;

use crate::base::index::index_tensor;
use crate::base::kind::Kind;
use burn::tensor::{DType, Device, Distribution, Int, Tensor};
use sparse_burn::{BinaryOp, Dropout, PatternArrays, RowsView, is_gpu, read_data};

/// A matrix in compressed rows: pointers, columns, and the position of each value (`None`: values are in row order).
pub type Compressed = RowsView<Tensor<1, Int>>;

/// The index arrays of a pattern.
pub type Arrays = PatternArrays<Tensor<1, Int>, Tensor<2, Int>>;

/// A reduction into positions along an axis, without the tensors of values.
pub(crate) type Put<const DI: usize> = sparse_burn::Put<Tensor<DI, Int>, Tensor<1, Int>>;

/// The values that a put chose, and the positions of ties.
pub(crate) type Record = (Tensor<1, Int>, Tensor<1, Int>);

/// Compressed rows in another index dtype.
pub(crate) fn cast_rows(rows: &Compressed, dtype: DType) -> Compressed {
    rows.clone().map(|list| index_tensor(list, dtype))
}

/// The arrays of a pattern in another index dtype.
pub(crate) fn cast_arrays(arrays: Arrays, dtype: DType) -> Arrays {
    match arrays {
        Arrays::Coo(indices) => Arrays::Coo(index_tensor(indices, dtype)),
        Arrays::Csr(ptr, col) => Arrays::Csr(index_tensor(ptr, dtype), index_tensor(col, dtype)),
    }
}

/// `list[map[k]]` for each `k`.
///
/// On a CPU this is the kernel that moves rows: it runs on all threads, Burn's `select` on one.
pub(crate) fn pick(list: &Tensor<1, Int>, map: &Tensor<1, Int>) -> Tensor<1, Int> {
    let ([old], [new]) = (list.dims(), map.dims());
    if old == 0 || new == 0 || is_gpu(&map.device()) {
        return list.clone().select(0, map.clone());
    }
    let rows = list.clone().reshape([old, 1]);
    let none = rows.clone().narrow(0, 0, 1);
    move_rows(&rows, &none, map).reshape([new])
}

/// The union of two patterns and `op` of their values in one pass, or `None` where two passes are faster or the only
/// way. One pass takes half the time for compressed rows of single values on a CPU. On a GPU every merge waits for the
/// size of its result, so a loop is faster with one merge whose index maps are kept.
pub(crate) fn union_zip<K: Kind>(
    op: BinaryOp,
    patterns: [&Arrays; 2],
    values: [&Tensor<2, K>; 2],
    fills: [&Tensor<2, K>; 2],
) -> Option<(Arrays, Tensor<2, K>)> {
    let single = values[0].dims()[1] == 1;
    let fits = matches!(patterns[0], Arrays::Csr(..)) && single && !is_gpu(&values[0].device());
    fits.then(|| sparse_burn::kernel::union_zip(op, patterns, values, fills))
}

/// Which values inverted dropout drops. Off the tape.
///
/// The numbers come from the device's generator. On a CPU that one gives the seed only, because it draws one number
/// after the other on one core. Then the backward pass draws the rest again, and nothing is kept for it.
#[derive(Clone, Debug)]
pub enum Drops<const D: usize> {
    /// On a CPU.
    Rule(Dropout),
    /// On a GPU: what the values are multiplied by.
    Factors(Tensor<D>),
}

impl<const D: usize> Drops<D> {
    /// Whether Burn's layer drops any of these values: only on an autodiff device, and not while it is frozen.
    pub fn any(layer: &burn::nn::Dropout, values: &Tensor<D>) -> bool {
        layer.prob > 0.0 && layer.training.is_enabled() && values.device().is_autodiff()
    }

    /// For values of this shape, device and dtype, each with probability `p`.
    pub fn draw(shape: [usize; D], (device, dtype): (&Device, DType), p: f64) -> Self {
        if is_gpu(device) {
            let draws = Tensor::<D>::random(shape, Distribution::Default, (device, DType::F32));
            let kept = draws.greater_equal_elem(p).float().cast(dtype);
            return Self::Factors(kept.mul_scalar(1.0 / (1.0 - p)));
        }
        let draws = read_data(Tensor::<1>::random([4], Distribution::Default, (device, DType::F32)));
        // Each number has 24 random bits.
        let bits = draws.iter::<f32>().map(|draw| (f64::from(draw) * 2.0_f64.powi(24)) as u64);
        Self::Rule(Dropout { p, seed: bits.fold(0, |seed: u64, bits| seed.rotate_left(16) ^ bits) })
    }

    /// The values after dropout, or the gradient of what it took from that of its result.
    pub fn apply(&self, values: Tensor<D>) -> Tensor<D> {
        match self {
            Self::Rule(rule) => dropout(values, *rule),
            Self::Factors(factors) => values * factors.clone(),
        }
    }
}

/// The gradient of what ReLU took, from its result and the gradient of that.
///
/// On a CPU this is a kernel: it runs on all threads, Burn's operations on one.
pub(crate) fn relu_backward(out: &Tensor<2>, grad: Tensor<2>) -> Tensor<2> {
    if grad.shape().num_elements() == 0 || is_gpu(&grad.device()) {
        return grad.mask_fill(out.clone().lower_equal_elem(0), 0);
    }
    sparse_burn::kernel::relu_backward(out, grad)
}

/// The fewest elements of a product that comes from the kernel: from this size on Burn asks the system for new memory.
const LARGE: usize = 1 << 15;

/// The product of two dense matrices, each of them transposed if `transposed` says so.
///
/// On a CPU a large result lies in memory that is used again. Otherwise this is Burn's product.
pub(crate) fn matmul(x: Tensor<2>, y: Tensor<2>, transposed: [bool; 2]) -> Tensor<2> {
    let size = |tensor: &Tensor<2>, at: usize, transposed: bool| tensor.dims()[if transposed { 1 - at } else { at }];
    let elements = size(&x, 0, transposed[0]).saturating_mul(size(&y, 1, transposed[1]));
    let wide = matches!(x.dtype(), DType::F32 | DType::F64);
    if wide && elements >= LARGE && !is_gpu(&x.device()) {
        return sparse_burn::kernel::matmul(x, y, transposed);
    }
    let [x, y] = [(x, transposed[0]), (y, transposed[1])].map(|(x, turned)| if turned { x.transpose() } else { x });
    x.matmul(y)
}

/// The most rows of a segment, on average, for which softmax is one kernel on a CPU, where a thread computes a segment.
const SHORT: usize = 4096;

/// Whether softmax within segments is one kernel: on a GPU, and on a CPU for short segments whose rows are in order.
/// Otherwise it is a chain of kernels.
pub(crate) fn fuses_softmax(rows: usize, order: Option<&Tensor<1, Int>>, ptr: &Tensor<1, Int>) -> bool {
    let short = rows / SHORT < ptr.dims()[0] - 1;
    is_gpu(&ptr.device()) || short && order.is_none()
}
