//! One module for each backend. `host` has every kernel for host memory.

#[cfg(feature = "gpu")]
mod cube;
#[cfg(feature = "gpu")]
pub use cube::{forced, host_fallbacks};
#[cfg(feature = "flex")]
mod flex;
mod host;
#[cfg(feature = "ndarray")]
mod ndarray;
