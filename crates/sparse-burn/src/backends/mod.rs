//! One module for each backend. `host` has every kernel for host memory.

#[cfg(feature = "gpu")]
mod cube;
#[cfg(feature = "gpu")]
pub use cube::{forced, host_fallbacks};
#[cfg(feature = "flex")]
mod flex;
#[cfg(any(feature = "gpu", feature = "remote"))]
mod fusion;
mod host;
#[cfg(feature = "ndarray")]
mod ndarray;
#[cfg(feature = "remote")]
pub(crate) mod remote;
