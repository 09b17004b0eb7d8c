//! Which way a step goes: a kernel of ours or Burn's operation, one pass or several. What the device or a size decides
//! is here, with its reason. (How an index is cast or counted is decided in `base/index.rs`, which is below this file.)

use crate::base::kind::Kind;
use crate::kernel::{self, Arrays};
use burn::tensor::{DType, Device, Distribution, Int, Tensor};
use sparse_burn::{BinaryOp, Dropout, is_gpu, read_data};

/// Whether dense passes (products, bias, ReLU, sums) are kernels of ours: on a CPU, where these run on all threads and
/// in memory that is used again. On a GPU Burn's are as fast.
pub(crate) fn own_passes(device: &Device) -> bool {
    !is_gpu(device)
}

/// From how many terms on a GPU's sum of a dense array is a kernel of ours if it has few results, and how many these
/// are. Burn 0.22 computes each result of a sum with one unit or cube.
const LONG: usize = 1 << 12;
const FEW: usize = 1 << 14;

/// Whether sums along a dim, `terms` for each of so many results, are a kernel of ours.
pub(crate) fn own_sums(terms: usize, results: usize, device: &Device) -> bool {
    own_passes(device) || terms >= LONG && results <= FEW
}

/// Whether attention is one walk over the elements. A GPU has a kernel for each step, and so have floats of 16 bits,
/// which are added up in f32.
pub(crate) fn attends_in_one_walk(dtype: DType, device: &Device) -> bool {
    !matches!(dtype, DType::F16 | DType::BF16) && !is_gpu(device)
}

/// Whether products keep plans. Those of a GPU have none.
pub(crate) fn plans_products(device: &Device) -> bool {
    !is_gpu(device)
}

/// Whether the two gradients of a product come from one pass. A GPU computes each in a pass of its own.
pub(crate) fn joins_gradients(device: &Device) -> bool {
    !is_gpu(device)
}

/// From this width of the dense side on, the gradients of a product are computed in one walk. Narrower rows are cheap
/// to read twice, and have kernels of their own.
pub(crate) const WIDE: usize = 16;

/// Whether an axis of so many positions gets a table with an entry for each, for a selection of `touched` indices and
/// stored elements. Otherwise these are sorted.
pub(crate) fn has_table(size: usize, touched: usize) -> bool {
    size <= (1 << 20).max(touched.saturating_mul(4))
}

/// One line of so many rows is summed in steps of this many, so that threads share it; `None`: in one.
pub(crate) fn step_of_sum(lines: usize, rows: usize) -> Option<usize> {
    const STEP: usize = 1 << 12;
    (lines == 1 && rows > 8 * STEP).then_some(STEP)
}

/// Whether the product of a line starts from its missing zeros. A GPU multiplies parts of a long line on their own, and
/// one of them may overflow: there each element takes the zero.
pub(crate) fn starts_from_zeros(device: &Device) -> bool {
    !is_gpu(device)
}

/// If at most one line in this many has an element, sums over lines find those lines by a sort of the elements.
/// Otherwise they count the elements of every line.
const SPARSE_LINES: usize = 4;

/// Whether sums of so many elements into so many lines leave most lines empty. A GPU writes them all at full bandwidth,
/// and finding the others there would wait for their number.
pub(crate) fn mostly_empty(lines: usize, elements: usize, device: &Device) -> bool {
    lines / SPARSE_LINES > elements && !is_gpu(device)
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
    kernel::move_rows(&rows, &none, map).reshape([new])
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
    fits.then(|| kernel::union_zip(op, patterns, values, fills))
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
            Self::Rule(rule) => kernel::dropout(values, *rule),
            Self::Factors(factors) => values * factors.clone(),
        }
    }
}

/// The gradient of what ReLU took, from its result and the gradient of that. Without a result there was no ReLU.
///
/// On a CPU this is a kernel: it runs on all threads, Burn's operations on one.
pub(crate) fn before_relu(out: &Option<Tensor<2>>, grad: Tensor<2>) -> Tensor<2> {
    let Some(out) = out else { return grad };
    if grad.shape().num_elements() == 0 || !own_passes(&grad.device()) {
        return grad.mask_fill(out.clone().lower_equal_elem(0), 0);
    }
    kernel::relu_backward(out, grad)
}

/// The fewest elements of a product that comes from the kernel: from this size on Burn asks the system for new memory.
const LARGE: usize = 1 << 15;

/// Whether a dense product with `elements` results, of sums of `terms` each, is a kernel of ours, on a CPU: a large
/// result lies in memory that is used again, and long sums are shared among threads.
pub(crate) fn own_product(of: &Tensor<2>, elements: usize, terms: usize) -> bool {
    is_wide(of) && (elements >= LARGE || elements > 0 && terms >= 2 * LONG) && own_passes(&of.device())
}

/// Whether a sparse product and a dense one after it, with results `[rows, terms]` and `[rows, columns]`, go some rows
/// at a time: on a CPU, where the rows between do not fit the second-level cache and the weights do. Longer sums, and
/// products with a vector, are added in an order that depends on the number of rows.
pub(crate) fn joins_products(x: &Tensor<2>, [rows, terms, columns]: [usize; 3]) -> bool {
    const CACHED: usize = 1 << 20;
    let cells = |rows: usize, columns: usize| rows.saturating_mul(columns).saturating_mul(x.dtype().size());
    let far = rows >= LONG && cells(rows, terms) > 2 * CACHED && (1..=512).contains(&terms);
    far && columns > 1 && cells(terms, columns) <= CACHED / 2 && own_product(x, rows.saturating_mul(columns), terms)
}

/// Whether sums may be added up from parts: those of 16-bit floats are rounded once.
pub(crate) fn is_wide(x: &Tensor<2>) -> bool {
    matches!(x.dtype(), DType::F32 | DType::F64)
}

/// The product of two dense matrices, each of them transposed if `transposed` says so.
///
/// On a GPU a small result of long sums, such as the gradient of weights, is added up from parts. Otherwise this is
/// Burn's product, or [a kernel](own_product).
pub(crate) fn matmul(x: Tensor<2>, y: Tensor<2>, transposed: [bool; 2]) -> Tensor<2> {
    let size = |tensor: &Tensor<2>, at: usize, transposed: bool| tensor.dims()[if transposed { 1 - at } else { at }];
    let elements = size(&x, 0, transposed[0]).saturating_mul(size(&y, 1, transposed[1]));
    let terms = size(&x, 1, transposed[0]);
    if own_product(&x, elements, terms) {
        return kernel::matmul(x, y, transposed, None, &kernel::Epilogue::default());
    }
    let long = transposed == [true, false] && terms >= 2 * LONG && elements <= FEW;
    if is_wide(&x) && long && is_gpu(&x.device()) {
        return product_in_parts(x, y);
    }
    let [x, y] =
        [(x, transposed[0]), (y, transposed[1])].map(|(x, transposed)| if transposed { x.transpose() } else { x });
    x.matmul(y)
}

/// `x^T y` as the sum of products of parts of [`LONG`] rows. Burn 0.22 gives a tile of a product to one cube, however
/// long its sums are.
fn product_in_parts(x: Tensor<2>, y: Tensor<2>) -> Tensor<2> {
    let ([rows, m], [_, n]) = (x.dims(), y.dims());
    let parts = rows / LONG;
    let whole = parts * LONG;
    let cut = |x: &Tensor<2>, columns| x.clone().narrow(0, 0, whole).reshape([parts, LONG, columns]);
    let products = cut(&x, m).swap_dims(1, 2).matmul(cut(&y, n)).reshape([parts, m * n]);
    let ends = Tensor::<1, Int>::from_data([0, parts as i32], (&x.device(), DType::I32));
    let sum = kernel::segment_sum(products, None, ends).reshape([m, n]);
    match rows - whole {
        0 => sum,
        rest => sum + x.narrow(0, whole, rest).transpose().matmul(y.narrow(0, whole, rest)),
    }
}

/// The most rows of a segment, on average, for which softmax is one kernel on a CPU, where a thread computes a segment.
const SHORT: usize = 4096;

/// Whether softmax within segments is one kernel: on a GPU, and on a CPU for short segments whose rows are in order.
/// Otherwise it is a chain of kernels.
pub(crate) fn fuses_softmax(rows: usize, order: Option<&Tensor<1, Int>>, ptr: &Tensor<1, Int>) -> bool {
    let short = rows / SHORT < ptr.dims()[0] - 1;
    is_gpu(&ptr.device()) || short && order.is_none()
}
