//! Sparse formats, validation and CPU kernels on plain slices.
//!
//! This crate does not use tensors, devices or gradients. Every function takes slices and returns vectors (or fills a
//! slice). It is generic over the element ([`Element`]: f16, bf16, f32, f64, i32, i64, u8) and the index ([`Index`]:
//! i32, i64). It runs in parallel on the current rayon pool, and its result has the same bits for any number of
//! threads.
//!
//! Bool values are stored as `u8` of 0 or 1.
#![forbid(unsafe_code)]

mod bits;
pub mod dynamic;
mod element;
mod epilogue;
mod error;
mod exp;
mod gather;
#[cfg(feature = "graph")]
pub mod graph;
mod ids;
mod keys;
mod lanes;
mod memory;
#[cfg(feature = "graph")]
pub mod multigrid;
mod numbers;
mod par;
mod random;
mod reduce;
mod reducer;
mod shares;
mod simd;
mod source;
mod sums;
mod tile;
mod weights;

// Families of kernels. The `mod.rs` of each declares its kernels and lists what is public.
mod concat;
mod dense;
mod linalg;
mod merge;
mod rows;
mod scatter;
mod structure;

pub use bits::Plain;
pub use concat::*;
pub use dense::*;
pub use element::{Element, Float, Index};
#[doc(hidden)]
pub use element::{narrow_limit, set_narrow_limit};
pub use epilogue::Epilogue;
pub use error::{Result, SparseError};
pub use linalg::*;
pub use memory::{
    MemoryReport, copied, memory_report, recycle, release_pool, set_large_alloc_hook, set_pool_limit, system_memory,
    unwritten, zeroed,
};
pub use merge::*;
pub use par::{for_chunks, in_pool, threads};
pub use rows::*;
pub use scatter::*;
pub use structure::*;
