//! Memory: what large results leave behind, and operands where kernels read them best.

use burn::tensor::Tensor;
use sparse_autograd::{Erased, record};

pub use sparse_core::MemoryReport;

/// The same numbers in memory that starts on a cache line, and in huge pages if it is large. For a dense operand that
/// many products read, such as the features of a graph's nodes, on Flex.
///
/// A tensor that Burn makes starts 16 bytes behind a cache line, so a row of 64 bytes lies on two lines, and is in
/// pages of 4 KiB, of which the core knows few. A product of 1 M elements with `[100000, 64]` took 12.4 ms with such an
/// operand and 6.4 with an aligned one, of 2.3 M elements with `[169343, 128]` 57 and 38. Readers of dense
/// features (`read_ogb`, `read_ogb_hetero`, `read_graph_saint`, `read_ppi`, `read_acm`) and row tables give aligned
/// tensors; results of this library's operations are in huge pages. Burn's optimisers write new memory at each step, so
/// their parameters do not stay aligned.
///
/// Gradients pass through; a leaf that requires a gradient gives a leaf. On other backends the tensor is returned as it
/// is. Cost: a copy. Source: Intel's optimisation manual on accesses that cross a cache line.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::{CsrTensor, aligned};
///
/// let device = Device::flex();
/// let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[0.0, 2.0], [1.0, 0.0]], &device));
/// let x = aligned(Tensor::<2>::from_floats([[1.0, 2.0], [3.0, 4.0]], &device));
/// assert_eq!(a.matmul(x).into_data().to_vec::<f32>().unwrap(), [6.0, 8.0, 1.0, 2.0]);
/// ```
pub fn aligned<const D: usize>(tensor: Tensor<D>) -> Tensor<D> {
    let (device, dtype, leaf) = (tensor.device(), tensor.dtype(), tensor.is_require_grad());
    if !sparse_burn::is_flex(&device) {
        return tensor;
    }
    // A handle only where it is needed: memory that nobody else has is not copied twice.
    let parent = (tensor.is_tracked() && !leaf).then(|| Erased::from(&tensor));
    let data = sparse_burn::aligned(sparse_burn::read_data(tensor.inner()));
    match parent {
        Some(parent) => {
            let copy = Tensor::from_data(data, (&device.inner(), dtype));
            record(copy, [parent], (), |(), grad, _| [Some(grad.into())])
        }
        None => Tensor::from_data(data, (&device, dtype)).set_require_grad(leaf),
    }
}

/// What the pool of large blocks holds and has done since the process began.
///
/// A fresh large block costs a page fault for each 4 KiB. This can take longer than the operation that fills it. So on
/// a CPU the memory of a large result (128 KiB and more) goes to a pool when its last tensor is dropped, and a later
/// result of about the same size gets it. The pool is one for the process. GPUs have pools of their own, in Burn.
///
/// - It keeps at most [`set_pool_limit`] bytes, and drops a block when 1,024 others have been added after it. So a loop
///   whose shapes change does not grow.
/// - [`release_pool`] gives all of it back.
/// - Memory that leaves a tensor as a `Vec` (`into_data` and `into_vec`) leaves the pool too, without a copy.
///
/// ```standalone_crate
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::{CsrTensor, memory_report, release_pool};
///
/// let device = Device::flex();
/// let a = CsrTensor::<2>::from_dense(Tensor::ones([300, 300], &device));
/// let x = Tensor::<2>::ones([300, 300], &device);
///
/// drop(a.matmul(x.clone()));
/// let before = memory_report();
/// assert!(before.held >= 300 * 300 * 4);
/// drop(a.matmul(x));
/// assert!(memory_report().reused > before.reused);
///
/// assert!(release_pool() > 0);
/// ```
pub fn memory_report() -> MemoryReport {
    sparse_core::memory_report()
}

/// Sets how many bytes the pool of [`memory_report`] may keep, for the whole process. What is beyond that is given back
/// at once. With 0 it keeps nothing.
///
/// The default is a quarter of the memory of the machine (on Linux of its control group, where that has less), and
/// 1 GiB where that is unknown.
pub fn set_pool_limit(bytes: usize) {
    sparse_core::set_pool_limit(bytes);
}

/// Gives all that the pool of [`memory_report`] keeps back to the system. Returns how many bytes that were.
pub fn release_pool() -> usize {
    sparse_core::release_pool()
}
