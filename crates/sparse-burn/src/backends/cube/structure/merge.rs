//! Union and intersection of two patterns. Each element is searched in the other pattern, which gives its new position.

use super::super::fallback::{gpu_or_host, last, supported};
use super::super::launch::{arg, count, empty, holds, launch, number, stored};
use super::super::sort::scan;
use super::search::{Side, elements, indices, merges, missing, positions, search};
use crate::backend::{Declined, Gpu};
use crate::kernel::{Merge, UnionZip, ZipRows};
use crate::kernel_views::PatternArrays;
use crate::options::MergeRule;
use burn_cubecl::tensor::CubeTensor;

#[allow(missing_docs)]
mod kernels {
    use burn_cubecl::cubecl;
    use cubecl::prelude::*;

    /// `found` (with `missing` its opposite), then a 0. So the last entry of its scan is the sum.
    #[cube(launch, launch_unchecked, address_type = "dynamic")]
    pub fn keep<I: Int>(
        found: &Tensor<I>,
        out: &mut Tensor<I>,
        n: usize,
        #[comptime] missing: bool,
        #[define(I)] _type: ElemType,
    ) {
        if ABSOLUTE_POS > n {
            terminate!();
        }
        let mut value = I::from_int(0);
        if ABSOLUTE_POS < n {
            let one = if missing { I::from_int(1) - found[ABSOLUTE_POS] } else { found[ABSOLUTE_POS] };
            value = one;
        }
        out[ABSOLUTE_POS] = value;
    }

    pub const UNION_A: u32 = 0;
    pub const UNION_B: u32 = 1;
    pub const INTERSECTION: u32 = 2;

    /// Writes the elements of one side of a merge to their places.
    #[cube(launch, launch_unchecked, address_type = "dynamic")]
    pub fn place_merged<I: Int>(
        own: &Tensor<I>,
        at: &Tensor<I>,
        found: &Tensor<I>,
        sums: &Tensor<I>,
        coordinates: &mut Tensor<I>,
        own_map: &mut Tensor<I>,
        other_map: &mut Tensor<I>,
        n: usize,
        total: usize,
        dims: usize,
        missing: InputScalar,
        #[comptime] side: u32,
        #[define(I)] _type: ElemType,
    ) {
        let k = ABSOLUTE_POS;
        if k >= n {
            terminate!();
        }
        let here = found[k] != I::from_int(0);
        let written = if comptime!(side == UNION_A) {
            true.runtime()
        } else if comptime!(side == UNION_B) {
            !here
        } else {
            here
        };
        if written {
            let place = if comptime!(side == UNION_A) {
                k + usize::cast_from(sums[usize::cast_from(at[k])])
            } else if comptime!(side == UNION_B) {
                usize::cast_from(at[k]) + usize::cast_from(sums[k])
            } else {
                usize::cast_from(sums[k])
            };
            own_map[place] = I::cast_from(k);
            let mut other = missing.get::<I>();
            if here {
                other = at[k];
            }
            other_map[place] = other;
            for d in 0..dims {
                coordinates[d * total + place] = own[d * n + k];
            }
        }
    }

    /// `out[k] = left[k] + sums[right[k]]` (without `add`, `sums[right[k]]`).
    #[cube(launch, launch_unchecked, address_type = "dynamic")]
    pub fn merge_ptr<I: Int>(
        left: &Tensor<I>,
        right: &Tensor<I>,
        sums: &Tensor<I>,
        out: &mut Tensor<I>,
        n: usize,
        #[comptime] add: bool,
        #[define(I)] _type: ElemType,
    ) {
        if ABSOLUTE_POS >= n {
            terminate!();
        }
        let sum = sums[usize::cast_from(right[ABSOLUTE_POS])];
        out[ABSOLUTE_POS] = if add { left[ABSOLUTE_POS] + sum } else { sum };
    }
}

impl Merge<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<(PatternArrays<CubeTensor>, CubeTensor, CubeTensor), Self> {
        let Self { rule, a, b } = supported(self, |args| merges(&args.a, &args.b))?;
        let [nnz_a, nnz_b] = [&a, &b].map(elements);
        if nnz_a == 0 || nnz_b == 0 {
            // The result is the other side, or has no elements.
            let union = rule == MergeRule::Union;
            let total = if union { nnz_a + nnz_b } else { 0 };
            let (all, none) = (positions(total, indices(&a)), missing(total, indices(&a)));
            let (map_a, map_b) = if nnz_a == 0 { (none, all) } else { (all, none) };
            return Ok((if (nnz_a == 0) == union { b } else { a }, map_a, map_b));
        }
        let Some((first, ptr, [map_a, map_b])) = merge(rule, &Side::of(a.clone()), &Side::of(b.clone())) else {
            return Err(Declined::NoKernel(Self { rule, a, b }));
        };
        let pattern = match ptr {
            None => PatternArrays::Coo(first),
            Some(ptr) => PatternArrays::Csr(ptr, first),
        };
        Ok((pattern, map_a, map_b))
    }
}

impl UnionZip<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<(PatternArrays<CubeTensor>, CubeTensor), Self> {
        let Self { op, patterns: [a, b], values, fills } = self;
        let (pattern, map_a, map_b) = gpu_or_host::<Merge<()>>(Merge { rule: MergeRule::Union, a, b });
        let maps = [Some(map_a), Some(map_b)];
        Ok((pattern, gpu_or_host::<ZipRows<()>>(ZipRows { op, values, fills, maps })))
    }
}

/// Coordinates (or columns) and row pointers of a merged pattern, and the maps into both sides.
type Merged = (CubeTensor, Option<CubeTensor>, [CubeTensor; 2]);

/// The merged pattern, unless the device cannot hold it. Its size is read.
fn merge(rule: MergeRule, a: &Side, b: &Side) -> Option<Merged> {
    let like = &a.coordinates;
    let [at_a, found_a] = search(a, b);
    let union = rule == MergeRule::Union;
    let of_b = union.then(|| search(b, a));
    // For a union the elements of b that a does not have, for an intersection those of a that b has.
    let (counted, n) = match &of_b {
        Some([_, found_b]) => (found_b, b.nnz),
        None => (&found_a, a.nnz),
    };
    let kept = empty(like, [n + 1], like.dtype);
    launch!(keep, like, n + 1, (arg(counted), arg(&kept), n, union), stored(like.dtype));
    let sums = scan(kept);
    let total = last(&sums) as usize + if union { a.nnz } else { 0 };
    if !holds(like, a.dims.saturating_mul(total), like.dtype) {
        return None;
    }
    let make = |length: usize| empty(like, [length], like.dtype);
    let (coordinates, map_a, map_b) = (make(a.dims * total), make(total), make(total));
    // Moves the elements of one side to their places, and writes both maps.
    let place = |own: &Side, at: &CubeTensor, found: &CubeTensor, maps: [&CubeTensor; 2], others: usize, side: u32| {
        let [c, a, f, s, out] = [&own.coordinates, at, found, &sums, &coordinates].map(arg);
        let ([own_map, other_map], missing) = (maps.map(arg), number(others, like));
        let (n, dims) = (own.nnz, own.dims);
        launch!(
            place_merged,
            [&own.coordinates, &coordinates, &sums],
            n,
            (c, a, f, s, out, own_map, other_map, n, total, dims, missing, side),
            stored(like.dtype)
        );
    };
    if total > 0 {
        let side = if union { kernels::UNION_A } else { kernels::INTERSECTION };
        place(a, &at_a, &found_a, [&map_a, &map_b], b.nnz, side);
        if let Some([at_b, found_b]) = &of_b {
            place(b, at_b, found_b, [&map_b, &map_a], a.nnz, kernels::UNION_B);
        }
    }
    let ptr = match (&a.rows, &b.rows) {
        (Some([ptr_a, _]), Some([ptr_b, _])) => {
            let n = count(ptr_a);
            let out = make(n);
            let right = if union { ptr_b } else { ptr_a };
            launch!(
                merge_ptr,
                [&out, &sums],
                n,
                (arg(ptr_a), arg(right), arg(&sums), arg(&out), n, union),
                stored(like.dtype)
            );
            Some(out)
        }
        _ => None,
    };
    let shape = if ptr.is_some() { vec![total] } else { vec![a.dims, total] };
    Some((burn_cubecl::ops::reshape(coordinates, shape.into()), ptr, [map_a, map_b]))
}
