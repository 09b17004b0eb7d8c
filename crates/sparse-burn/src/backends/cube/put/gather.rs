//! Reads from positions along an axis. One unit for each vector of the result.

use super::super::fallback::supported;
use super::super::launch::{arg, count, dividend, divides, empty, flat, hardware, holds, launch, runs, stored};
use super::sizes_of;
use super::strategy::{positions, values_len, vectors};
use crate::backend::Gpu;
use crate::kernel::Gather;
use crate::options::PutTarget;
use burn_cubecl::ops::numeric::zeros;
use burn_cubecl::tensor::CubeTensor;

#[allow(missing_docs)]
mod kernels {
    use super::super::work::{Sizes, columns_of, resolve, step_of};
    use burn_cubecl::cubecl;
    use cubecl::prelude::*;

    #[cube(launch, launch_unchecked, address_type = "dynamic")]
    pub fn gather<T: Numeric, I: Int, N: Size>(
        x: &Tensor<Vector<T, N>>,
        index: &Tensor<I>,
        out: &mut Tensor<Vector<T, N>>,
        sizes: &Sizes,
        units: usize,
        #[comptime] along: bool,
        #[define(T, I)] _types: [ElemType; 2],
    ) {
        if ABSOLUTE_POS >= units {
            terminate!();
        }
        let (row, column) = columns_of(sizes, ABSOLUTE_POS);
        let (outer, step) = step_of(sizes, row);
        let at = if comptime!(along) { step } else { ABSOLUTE_POS };
        let j = resolve::<I>(index[at], sizes.len);
        out[ABSOLUTE_POS] = x[(outer * sizes.len + j) * sizes.columns + column];
    }
}

impl Gather<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        let Self { x, index, target } = supported(self, |Self { x, index, target }| {
            runs([x, index]) && divides(x, positions(target)) && holds(x, values_len(target), x.dtype)
        })?;
        Ok(gather(x, index, target))
    }
}

fn gather(x: CubeTensor, index: CubeTensor, target: PutTarget) -> CubeTensor {
    let out = empty(&x, [values_len(&target)], x.dtype);
    if count(&out) == 0 {
        return out;
    }
    if count(&x) == 0 {
        return zeros(x.device.clone(), [values_len(&target)].into(), x.dtype);
    }
    let (x, index) = (flat(x), flat(index));
    let (vector, _) = vectors(&target, x.dtype.size(), &hardware(&x));
    let (units, sizes) = (values_len(&target) / vector, sizes_of(&target, vector));
    let (types, tensors) = ([x.dtype, index.dtype].map(stored), ([&x, &out], dividend(positions(&target))));
    let [a, i, o] = [&x, &index, &out].map(arg);
    launch!(gather, tensors, units, (vector, a, i, o, sizes, units, target.along_axis), types);
    out
}
