//! Which instruction sets a kernel is compiled for.
//!
//! Every instance is build time that each user pays. So kernels over floats are compiled for all sets, and those over
//! integers for AVX2 and the target's baseline. Kernels that are compiled for each index type give indices of 64 bits,
//! which only sizes of 2^31 and more ask for, the baseline; others read both types through [`Ids`](crate::ids::Ids).
//! The bits of a result are the same on all of them.

use crate::{Element, Index};
use pulp::{Arch, Simd, WithSimd};

/// Runs a kernel over elements `T` and indices `I` on the best instruction set that it is compiled for.
#[inline(always)]
pub(crate) fn dispatch<T: Element, I: Index, J: WithSimd>(job: J) -> J::Output {
    // Types choose, not constants: what a constant rules out would be compiled all the same.
    I::dispatch::<T, J>(job)
}

/// On every set.
#[inline(always)]
pub(crate) fn on_any<J: WithSimd>(job: J) -> J::Output {
    Arch::new().dispatch(job)
}

/// On AVX2 and the baseline.
#[inline(always)]
pub(crate) fn on_two<J: WithSimd>(job: J) -> J::Output {
    #[cfg(target_arch = "x86_64")]
    if let Some(simd) = pulp::x86::V3::try_new() {
        return Simd::vectorize(simd, job);
    }
    on_baseline(job)
}

/// On the baseline.
#[inline(always)]
pub(crate) fn on_baseline<J: WithSimd>(job: J) -> J::Output {
    pulp::Scalar::new().vectorize(job)
}
