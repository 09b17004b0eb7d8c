//! One module for each backend. `host` has every kernel for host memory.

#[cfg(feature = "gpu")]
mod cube;
#[cfg(feature = "gpu")]
pub(crate) use cube::count_read;
#[cfg(feature = "gpu")]
pub use cube::{device_reads, forced, host_fallbacks};
#[cfg(feature = "flex")]
mod flex;
mod host;
#[cfg(feature = "ndarray")]
mod ndarray;
