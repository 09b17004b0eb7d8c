//! Sorts coordinates and keeps each once.
//!
//! The coordinates of an element are packed into one key, which is sorted with its position. Groups of equal keys are
//! numbered by a scan that compares neighbours. If the key has one word, the coordinates of a group are computed from
//! it, so nothing is gathered. Else they are read in the sorted order.
//!
//! 10^7 elements with two dims and keys of 32 bits take 16 launches (3 for each of 4 passes of the sort) and 124
//! bytes for each element: on an H200 (4.8 TB/s) 0.26 ms, and 0.05 to 0.08 ms of launches. This is arithmetic, not a
//! measurement.

use super::super::fallback::supported;
use super::super::launch::{arg, count, empty, flat, holds, launch, runs, stored};
use super::super::sort::{number_groups, sort_bits};
use super::pack::{sizes, unpacks, words};
use crate::backend::{Declined, Gpu};
use crate::kernel::Coalesce;
use burn::backend::DType;
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
        out: &mut Tensor<u32>,
        n: usize,
        dims: usize,
        #[define(I)] _type: ElemType,
    ) {
        let k = ABSOLUTE_POS;
        if k >= n {
            terminate!();
        }
        let mut value = 0u32;
        if k > 0 {
            let here = usize::cast_from(order[k]);
            let before = usize::cast_from(order[k - 1]);
            for d in 0..dims {
                if indices[d * n + here] != indices[d * n + before] {
                    value = 1u32;
                }
            }
        }
        out[k] = value;
    }

    /// Writes where groups start and end, given the group of each element. Returns whether one starts at `k`.
    #[cube]
    fn starts<I: Int>(ids: &Tensor<I>, ptr: &mut Tensor<I>, k: usize, n: usize, groups: usize) -> bool {
        let mut first = k == 0;
        if k > 0 {
            first = ids[k] != ids[k - 1];
        }
        if first {
            ptr[usize::cast_from(ids[k])] = I::cast_from(k);
        }
        if k == n - 1 {
            ptr[groups] = I::cast_from(n);
        }
        first
    }

    /// Pointers of the groups, and the coordinates of each, from its key.
    #[cube(launch, launch_unchecked, address_type = "dynamic")]
    pub fn unpack<I: Int>(
        keys: &Tensor<u32>,
        ids: &Tensor<I>,
        ptr: &mut Tensor<I>,
        out: &mut Tensor<I>,
        sizes: &Sequence<u32>,
        n: usize,
        groups: usize,
        #[define(I)] _type: ElemType,
    ) {
        let k = ABSOLUTE_POS;
        if k >= n {
            terminate!();
        }
        if starts::<I>(ids, ptr, k, n, groups) {
            let group = usize::cast_from(ids[k]);
            let mut rest = keys[k];
            let dims = comptime![sizes.len()];
            #[unroll]
            for i in 0..dims {
                let d = comptime![dims - 1 - i];
                let size = sizes[d];
                out[d * groups + group] = I::cast_from(rest % size);
                rest /= size;
            }
        }
    }

    /// Pointers of the groups, and the coordinates of each, from its first element.
    #[cube(launch, launch_unchecked, address_type = "dynamic")]
    pub fn unique<I: Int>(
        indices: &Tensor<I>,
        order: &Tensor<I>,
        ids: &Tensor<I>,
        ptr: &mut Tensor<I>,
        out: &mut Tensor<I>,
        n: usize,
        groups: usize,
        dims: usize,
        #[define(I)] _type: ElemType,
    ) {
        let k = ABSOLUTE_POS;
        if k >= n {
            terminate!();
        }
        if starts::<I>(ids, ptr, k, n, groups) {
            let group = usize::cast_from(ids[k]);
            let element = usize::cast_from(order[k]);
            for d in 0..dims {
                out[d * groups + group] = indices[d * n + element];
            }
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

/// Unique coordinates in lexicographic order, and the old elements of each. Reads once: how many there are in each part
/// of the sorted elements.
pub fn coalesce(indices: CubeTensor, shape: &[usize]) -> [CubeTensor; 3] {
    let (dims, n, dtype) = (indices.meta.shape()[0], indices.meta.shape()[1], indices.dtype);
    let indices = flat(indices);
    // The low word first: a stable sort keeps the order of earlier sorts.
    let (mut sorted, mut order) = (None, None);
    let words = words(shape);
    for word in &words {
        let (keys, positions) = sort_bits(word.pack(&indices, shape, order.as_ref()), word.bits, order, dtype);
        (sorted, order) = (Some(keys), Some(positions));
    }
    let (keys, order) = sorted.zip(order).expect("at least one sparse dim");
    let packed = unpacks(&words, shape);
    let list = if packed {
        keys.clone()
    } else {
        let flags = empty(&indices, [n], DType::U32);
        launch!(differs, indices, n, (arg(&indices), arg(&order), arg(&flags), n, dims), stored(dtype));
        flags
    };
    let (ids, groups) = number_groups(list, !packed, dtype);
    let (ptr, out) = (empty(&indices, [groups + 1], dtype), empty(&indices, [dims, groups], dtype));
    let [i, p, o] = [&ids, &ptr, &out].map(arg);
    if packed {
        launch!(unpack, [&indices, &out], n, (arg(&keys), i, p, o, sizes(shape), n, groups), stored(dtype));
    } else {
        let [coordinates, from] = [&indices, &order].map(arg);
        launch!(unique, [&indices, &out], n, (coordinates, from, i, p, o, n, groups, dims), stored(dtype));
    }
    [out, order, ptr]
}
