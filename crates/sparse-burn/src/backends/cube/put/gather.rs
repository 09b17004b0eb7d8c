//! Reads from positions along an axis.

use super::super::fallback::supported;
use super::super::launch::{arg, count, empty, flat, holds, launch, runs, stored};
use super::{kernels, sizes_of, values_len};
use crate::backend::Gpu;
use crate::kernel::Gather;
use crate::options::PutTarget;
use burn_cubecl::ops::numeric::zeros;
use burn_cubecl::tensor::CubeTensor;

impl Gather<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        let Self { x, index, target } =
            supported(self, |Self { x, index, target }| runs([x, index]) && holds(x, values_len(target), x.dtype))?;
        Ok(gather(x, index, target))
    }
}

fn gather(x: CubeTensor, index: CubeTensor, target: PutTarget) -> CubeTensor {
    let units = values_len(&target);
    let out = empty(&x, [units], x.dtype);
    if units == 0 {
        return out;
    }
    if count(&x) == 0 {
        return zeros(x.device.clone(), [units].into(), x.dtype);
    }
    let types = [stored(x.dtype), stored(index.dtype)];
    let (x, index) = (flat(x), flat(index));
    let (sizes, along) = (sizes_of(&target), target.along_axis);
    launch!(gather, out, units, (arg(&x), arg(&index), arg(&out), sizes, units, along), types);
    out
}
