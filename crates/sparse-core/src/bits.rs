//! Elements as unsigned integers of the same size. Kernels that only move elements are compiled once per size.

use bytemuck::Pod;
use half::{bf16, f16};

/// A value that kernels can move.
pub trait Plain: Pod + Default + Send + Sync {}
impl<T: Pod + Default + Send + Sync> Plain for T {}

/// A type whose values can be moved as unsigned integers.
#[doc(hidden)]
pub trait OfBits: Pod {
    /// The unsigned integer of the same size.
    type Bits: Plain + Pod;
}

macro_rules! of_bits {
    ($($t:ty: $bits:ty),*) => {$(
        impl OfBits for $t {
            type Bits = $bits;
        }
    )*};
}

of_bits!(f16: u16, bf16: u16, f32: u32, f64: u64, i32: u32, i64: u64, u8: u8);
