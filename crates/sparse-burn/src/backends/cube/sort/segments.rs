//! Segments as pointers (where each starts) and as ids (the segment of each element).

use super::super::fallback::supported;
use super::super::launch::{arg, count, empty, flat, holds, launch, runs, stored};
use crate::backend::Gpu;
use crate::kernel::{Compress, ExpandPtr};
use burn_cubecl::ops::numeric::zeros;
use burn_cubecl::tensor::CubeTensor;

#[allow(missing_docs)]
mod kernels {
    use super::super::super::parts::bound;
    use burn_cubecl::cubecl;
    use cubecl::prelude::*;

    /// Where each group starts among ascending ids.
    #[cube(launch, launch_unchecked, address_type = "dynamic")]
    pub fn compress<I: Int>(
        ids: &Tensor<I>,
        ptr: &mut Tensor<I>,
        length: usize,
        units: usize,
        #[define(I)] _type: ElemType,
    ) {
        if ABSOLUTE_POS >= units {
            terminate!();
        }
        ptr[ABSOLUTE_POS] = I::cast_from(bound::<I>(I::cast_from(ABSOLUTE_POS), ids, 0, length, false));
    }

    /// The group of a position: the last group that starts at or before it.
    #[cube]
    fn group_of<I: Int>(position: usize, ptr: &Tensor<I>, groups: usize) -> usize {
        bound::<I>(I::cast_from(position), ptr, 1, groups + 1, true) - 1
    }

    /// The group of each element.
    #[cube(launch, launch_unchecked, address_type = "dynamic")]
    pub fn expand<I: Int>(
        ptr: &Tensor<I>,
        out: &mut Tensor<I>,
        groups: usize,
        units: usize,
        #[define(I)] _type: ElemType,
    ) {
        if ABSOLUTE_POS >= units {
            terminate!();
        }
        out[ABSOLUTE_POS] = I::cast_from(group_of::<I>(ABSOLUTE_POS, ptr, groups));
    }
}

impl Compress<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        let Self { ids, groups } =
            supported(self, |Self { ids, groups }| runs([ids]) && holds(ids, groups + 1, ids.dtype))?;
        Ok(compress(ids, groups))
    }
}

impl ExpandPtr<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        let Self { ptr, nnz } = supported(self, |Self { ptr, nnz }| runs([ptr]) && holds(ptr, *nnz, ptr.dtype))?;
        Ok(expand_ptr(ptr, nnz))
    }
}

/// Pointers of groups from the ascending ids of their elements.
pub fn compress(ids: CubeTensor, groups: usize) -> CubeTensor {
    let length = count(&ids);
    if length == 0 {
        return zeros(ids.device.clone(), [groups + 1].into(), ids.dtype);
    }
    let (ids, ptr) = (flat(ids.clone()), empty(&ids, [groups + 1], ids.dtype));
    launch!(compress, ids, groups + 1, (arg(&ids), arg(&ptr), length, groups + 1), stored(ids.dtype));
    ptr
}

/// The group of each of the `nnz` elements.
pub fn expand_ptr(ptr: CubeTensor, nnz: usize) -> CubeTensor {
    let (groups, out) = (count(&ptr) - 1, empty(&ptr, [nnz], ptr.dtype));
    if nnz > 0 {
        let ptr = flat(ptr);
        launch!(expand, ptr, nnz, (arg(&ptr), arg(&out), groups, nnz), stored(ptr.dtype));
    }
    out
}
