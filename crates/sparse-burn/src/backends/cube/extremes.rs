//! The least and the largest of many integers.
//!
//! A reduction of a whole tensor by Burn 0.22 leaves all numbers to one unit in the end. Here each launch leaves one of
//! [`STEP`] at most.

use super::fallback::{read, supported};
use super::launch::{arg, count, empty, flat, hardware, launch, runs, stored};
use crate::backend::Gpu;
use crate::kernel::Extremes;
use burn_cubecl::tensor::CubeTensor;

#[allow(missing_docs)]
mod kernels {
    use burn_cubecl::cubecl;
    use cubecl::prelude::*;

    /// Unit `u` finds the least of elements `u`, `u + units`, .. before `length`, and the largest of those that are
    /// `second` further on.
    #[cube(launch, launch_unchecked, address_type = "dynamic")]
    pub fn extremes<I: Int>(
        list: &Tensor<I>,
        out: &mut Tensor<I>,
        length: usize,
        second: usize,
        units: usize,
        #[define(I)] _type: ElemType,
    ) {
        if ABSOLUTE_POS >= units {
            terminate!();
        }
        let mut least = list[ABSOLUTE_POS];
        let mut largest = list[second + ABSOLUTE_POS];
        let mut k = ABSOLUTE_POS + units;
        while k < length {
            least = min(least, list[k]);
            largest = max(largest, list[second + k]);
            k += units;
        }
        out[ABSOLUTE_POS] = least;
        out[units + ABSOLUTE_POS] = largest;
    }
}

/// Elements that a unit reads, while there are fewer than [`UNITS`] units.
const STEP: usize = 64;
const UNITS: usize = 1 << 18;

impl Extremes<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        let Self { ints } = supported(self, |Self { ints }| runs([ints]))?;
        Ok(extremes(ints))
    }
}

/// The least and the largest of some integers.
fn extremes(ints: CubeTensor) -> CubeTensor {
    let (mut length, mut list, mut second) = (count(&ints), flat(ints), 0);
    loop {
        let units = length.div_ceil(STEP).min(UNITS);
        // A test forces buffers that are as short.
        let units = units.min(hardware(&list).buffer as usize / (2 * list.dtype.size())).max(1);
        let out = empty(&list, [2 * units], list.dtype);
        launch!(extremes, [&list, &out], units, (arg(&list), arg(&out), length, second, units), stored(list.dtype));
        if units == 1 {
            return out;
        }
        (length, list, second) = (units, out, units);
    }
}

/// The same, read.
pub(super) fn bounds(ints: CubeTensor) -> (i64, i64) {
    let list: Vec<i64> = read(extremes(ints)).iter::<i64>().collect();
    (list[0], list[1])
}
