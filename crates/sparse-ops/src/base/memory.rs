//! The memory that large results leave behind.

pub use sparse_core::MemoryReport;

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
