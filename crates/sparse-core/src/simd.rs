//! Which instruction sets a kernel is compiled for.
//!
//! Every instance adds to each user's build time. So kernels over floats are compiled for all sets; kernels over
//! integers are compiled for AVX2 and the target's baseline. Kernels that are compiled per index type use the baseline
//! for 64-bit indices, which only sizes of 2^31 and more need. Other kernels read both index types through
//! [`Ids`](crate::ids::Ids). Moves of single values are small, and are compiled for all sets and both index types.
//! The bits of a result are the same on all sets. Checked are AVX2, NEON and the baseline; AVX-512 where the machine of
//! the tests has it.

use crate::{Element, Index};
use pulp::{Arch, Simd, WithSimd};

/// Runs a kernel over elements `T` and indices `I` on the best instruction set that it is compiled for.
#[inline(always)]
pub(crate) fn dispatch<T: Element, I: Index, J: WithSimd>(job: J) -> J::Output {
    I::dispatch::<T, J>(job)
}

/// Runs a kernel on the best set of this machine.
#[inline(always)]
pub(crate) fn on_any<J: WithSimd>(job: J) -> J::Output {
    Arch::new().dispatch(job)
}

/// Runs a kernel on AVX2 if the machine has it, else on the baseline.
#[inline(always)]
pub(crate) fn on_two<J: WithSimd>(job: J) -> J::Output {
    #[cfg(target_arch = "x86_64")]
    if let Some(simd) = pulp::x86::V3::try_new() {
        return Simd::vectorize(simd, job);
    }
    on_baseline(job)
}

/// Runs a kernel on the baseline.
#[inline(always)]
pub(crate) fn on_baseline<J: WithSimd>(job: J) -> J::Output {
    pulp::Scalar::new().vectorize(job)
}
