//! One module a backend; `host` holds the default body of every method.

#[cfg(feature = "gpu")]
mod cube;
#[cfg(feature = "gpu")]
pub(crate) use cube::count_read;
#[cfg(feature = "gpu")]
pub use cube::{device_reads, forced, host_fallbacks};
#[cfg(feature = "flex")]
mod flex;
pub(crate) mod host;
#[cfg(feature = "ndarray")]
mod ndarray;
