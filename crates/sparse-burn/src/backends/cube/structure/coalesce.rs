//! Sorts coordinates and keeps each once.

use super::super::fallback::{last, supported};
use super::super::launch::{arg, coordinates, count, empty, flat, holds, launch, runs, stored};
use super::super::rows::move_rows;
use super::super::sort::{compress, scan, sort};
use crate::backend::{Declined, Gpu};
use crate::kernel::Coalesce;
use burn_cubecl::ops::numeric::zeros;
use burn_cubecl::tensor::CubeTensor;

#[allow(missing_docs)]
mod kernels {
    use burn_cubecl::cubecl;
    use cubecl::prelude::*;

    /// 1 if a sorted element has other coordinates than the one before it, else 0.
    #[cube(launch, launch_unchecked, address_type = "dynamic")]
    pub fn differs<I: Int>(
        indices: &Tensor<I>,
        order: &Tensor<I>,
        out: &mut Tensor<I>,
        n: usize,
        dims: usize,
        #[define(I)] _type: ElemType,
    ) {
        let k = ABSOLUTE_POS;
        if k >= n {
            terminate!();
        }
        let mut value = I::from_int(0);
        if k > 0 {
            let here = usize::cast_from(order[k]);
            let before = usize::cast_from(order[k - 1]);
            for d in 0..dims {
                if indices[d * n + here] != indices[d * n + before] {
                    value = I::from_int(1);
                }
            }
        }
        out[k] = value;
    }

    /// Group numbers from the scan of the differences.
    #[cube(launch, launch_unchecked, address_type = "dynamic")]
    pub fn number<I: Int>(
        differs: &Tensor<I>,
        scan: &Tensor<I>,
        out: &mut Tensor<I>,
        n: usize,
        #[define(I)] _type: ElemType,
    ) {
        if ABSOLUTE_POS >= n {
            terminate!();
        }
        out[ABSOLUTE_POS] = scan[ABSOLUTE_POS] + differs[ABSOLUTE_POS];
    }

    /// Each group's coordinates, from its first element.
    #[cube(launch, launch_unchecked, address_type = "dynamic")]
    pub fn unique<I: Int>(
        indices: &Tensor<I>,
        order: &Tensor<I>,
        ptr: &Tensor<I>,
        out: &mut Tensor<I>,
        n: usize,
        groups: usize,
        dims: usize,
        #[define(I)] _type: ElemType,
    ) {
        if ABSOLUTE_POS >= groups {
            terminate!();
        }
        let first = usize::cast_from(order[usize::cast_from(ptr[ABSOLUTE_POS])]);
        for d in 0..dims {
            out[d * groups + ABSOLUTE_POS] = indices[d * n + first];
        }
    }
}

impl Coalesce<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<(CubeTensor, CubeTensor, CubeTensor), Self> {
        let elements = count(&self.indices);
        if elements == 0 {
            return Err(Declined::Quietly(self));
        }
        // Pointers have one entry more than there are elements.
        let Self { indices, shape } =
            supported(self, |Self { indices, .. }| runs([indices]) && holds(indices, elements + 1, indices.dtype))?;
        let [indices, order, ptr] = coalesce(indices, &shape);
        Ok((indices, order, ptr))
    }
}

/// Unique coordinates in lexicographic order, and the old elements of each.
pub fn coalesce(indices: CubeTensor, shape: &[usize]) -> [CubeTensor; 3] {
    let (dims, n) = (indices.meta.shape()[0], indices.meta.shape()[1]);
    let indices = flat(indices);
    let like = &indices;
    let column = |tensor: CubeTensor| burn_cubecl::ops::reshape(tensor, [n, 1].into());
    let follow = |values: CubeTensor, map: &CubeTensor| {
        let fill = zeros(like.device.clone(), [1, 1].into(), like.dtype);
        burn_cubecl::ops::reshape(move_rows(column(values), fill, map.clone()), [n].into())
    };
    // The last dim first: a stable sort keeps the order of earlier sorts.
    let mut order: Option<CubeTensor> = None;
    for d in (0..dims).rev() {
        let keys = order.as_ref().map_or_else(|| coordinates(like, d), |order| follow(coordinates(like, d), order));
        let (_, positions) = sort(keys, shape[d]);
        order = Some(match order {
            None => positions,
            Some(order) => follow(order, &positions),
        });
    }
    let order = order.expect("at least one sparse dim");
    let differs = empty(like, [n], like.dtype);
    launch!(differs, like, n, (arg(like), arg(&order), arg(&differs), n, dims), stored(like.dtype));
    let (sums, ids) = (scan(differs.clone()), empty(like, [n], like.dtype));
    launch!(number, like, n, (arg(&differs), arg(&sums), arg(&ids), n), stored(like.dtype));
    let groups = last(&ids) as usize + 1;
    let ptr = compress(ids, groups);
    let out = empty(like, [dims, groups], like.dtype);
    launch!(unique, like, groups, (arg(like), arg(&order), arg(&ptr), arg(&out), n, groups, dims), stored(like.dtype));
    [out, order, ptr]
}
