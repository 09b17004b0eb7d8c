//! Segments as pointers (where each starts) and as ids (the segment of each element).
//!
//! Pointers come from comparing neighbours: an element writes the pointers of the groups after that of its
//! predecessor, up to its own. Ids come from a scan: in a tile each group marks its first element, and the maximum so
//! far is the group. Both balance empty groups and elements, so none of them keeps a unit busy for long (as in Merrill
//! and Garland, "Merge-based parallel sparse matrix-vector multiplication", 2016). Each is one launch, which reads and
//! writes every number once, and searches once for every 32 groups, or twice for each tile.

use super::super::fallback::supported;
use super::super::hardware::Hardware;
use super::super::launch::{arg, count, empty, flat, hardware, holds, launch, makes, runs, stored};
use super::tile::Tile;
use crate::backend::Gpu;
use crate::kernel::{CastIds, CastInts, Compress, ExpandPtr};
use burn::backend::DType;
use burn_cubecl::kernel::cast;
use burn_cubecl::ops::numeric::zeros;
use burn_cubecl::tensor::CubeTensor;

#[allow(missing_docs)]
mod kernels {
    use super::super::super::parts::{MAX, bound};
    use super::super::tile::{Tile, pad, scan_tile};
    use burn_cubecl::cubecl;
    use cubecl::prelude::*;

    /// Where each group starts among ascending ids.
    ///
    /// The first `length + 1` units compare an element (or the end) with the one before it. Each writes at most `step`
    /// pointers. A unit for every `step` groups finds the element where they start, and writes what its unit left.
    #[cube(launch, launch_unchecked, address_type = "dynamic")]
    pub fn compress<S: Int, I: Int>(
        ids: &Tensor<S>,
        ptr: &mut Tensor<I>,
        length: usize,
        groups: usize,
        units: usize,
        #[comptime] step: usize,
        #[define(S, I)] _types: [ElemType; 2],
    ) {
        if ABSOLUTE_POS >= units {
            terminate!();
        }
        let compares = ABSOLUTE_POS <= length;
        let mut at = ABSOLUTE_POS;
        let mut block = 0usize;
        if !compares {
            block = (ABSOLUTE_POS - length - 1) * step;
            at = bound::<S>(S::cast_from(block), ids, 0, length, false);
        }
        // The groups that start at this element: those after `first`, before `end`.
        let mut first = 0usize;
        if at > 0 {
            first = usize::cast_from(ids[at - 1]) + 1;
        }
        let mut end = groups + 1;
        if at < length {
            end = usize::cast_from(ids[at]) + 1;
        }
        if compares {
            end = min(end, first + step);
        } else {
            first = max(block, first + step);
            end = min(end, block + step);
        }
        // Ids that were not validated may be too large.
        end = min(end, groups + 1);
        while first < end {
            ptr[first] = I::cast_from(at);
            first += 1;
        }
    }

    /// Elements and starts of groups make one sequence, in which a group starts before its first element. Returns how
    /// many groups start among the first `steps` of it.
    #[cube]
    fn started<I: Int>(steps: usize, ptr: &Tensor<I>, groups: usize) -> usize {
        let mut low = 0usize;
        let mut high = groups;
        while low < high {
            let middle = (low + high) / 2;
            if usize::cast_from(ptr[middle]) + middle < steps {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// The group of each element. A cube takes a tile of the sequence of [`started`].
    #[cube(launch, launch_unchecked, address_type = "dynamic")]
    pub fn expand<I: Int>(
        ptr: &Tensor<I>,
        out: &mut Tensor<I>,
        groups: usize,
        length: usize,
        tiles: usize,
        #[comptime] tile: Tile,
        #[define(I)] _type: ElemType,
    ) {
        if CUBE_POS >= tiles {
            terminate!();
        }
        let mut marks = Shared::<[u32]>::new_slice(comptime!(tile.scanned()));
        let unit = UNIT_POS as usize;
        let begin = CUBE_POS * comptime!(tile.len());
        let stop = min(begin + comptime!(tile.len()), groups + length);
        let group = started::<I>(begin, ptr, groups);
        let last = started::<I>(stop, ptr, groups);
        let first = begin - group;
        let size = stop - last - first;
        for j in 0..comptime!(tile.items) {
            marks[pad(j * comptime!(tile.units) + unit)] = 0u32;
        }
        sync_cube();
        for j in 0..comptime!(tile.items) {
            let slot = j * comptime!(tile.units) + unit;
            if slot < last - group {
                let start = usize::cast_from(ptr[group + slot]);
                let next = usize::cast_from(ptr[group + slot + 1]);
                // Pointers that were not validated may lead anywhere.
                let at = start - first;
                if next > start && at < min(size, comptime!(tile.len()).runtime()) {
                    marks[pad(at)] = slot as u32 + 1u32;
                }
            }
        }
        // Marks count from the group before those that start here.
        scan_tile::<u32>(&mut marks, 0u32, tile, MAX, true);
        for j in 0..comptime!(tile.items) {
            let slot = j * comptime!(tile.units) + unit;
            if slot < size {
                out[first + slot] = I::cast_from(group + marks[pad(slot)] as usize - 1);
            }
        }
    }
}

/// Most pointers that one unit writes.
const STEP: usize = 32;

impl Compress<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        let Self { ids, groups } =
            supported(self, |Self { ids, groups }| runs([ids]) && holds(ids, groups + 1, ids.dtype))?;
        Ok(compress(ids, groups))
    }
}

impl CastInts<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        Ok(cast(self.values, self.dtype))
    }
}

impl CastIds<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        let other = |ids: &CubeTensor| if ids.dtype == DType::I32 { DType::I64 } else { DType::I32 };
        let Self { ids } = supported(self, |Self { ids }| runs([ids]) && makes(ids, count(ids), other(ids)))?;
        let dtype = other(&ids);
        Ok(cast(ids, dtype))
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
    let dtype = ids.dtype;
    pointers(ids, groups, dtype)
}

/// [`compress`], with pointers of `dtype`.
pub fn pointers(ids: CubeTensor, groups: usize, dtype: DType) -> CubeTensor {
    let length = count(&ids);
    if length == 0 {
        return zeros(ids.device.clone(), [groups + 1].into(), dtype);
    }
    let (ids, ptr) = (flat(ids.clone()), empty(&ids, [groups + 1], dtype));
    let (units, types) = (length + 1 + (groups + 1).div_ceil(STEP), [ids.dtype, dtype].map(stored));
    launch!(compress, [&ids, &ptr], units, (arg(&ids), arg(&ptr), length, groups, units, STEP), types);
    ptr
}

/// How the sequence of elements and starts of groups is cut into tiles.
fn tiles(length: usize, groups: usize, hardware: &Hardware) -> (Tile, usize) {
    let tile = Tile::of(hardware, |tile| 4 * tile.scanned()).forced();
    (tile, (length + groups).div_ceil(tile.len()))
}

/// The group of each of the `nnz` elements.
pub fn expand_ptr(ptr: CubeTensor, nnz: usize) -> CubeTensor {
    let (groups, out) = (count(&ptr) - 1, empty(&ptr, [nnz], ptr.dtype));
    if nnz > 0 {
        let (ptr, hardware) = (flat(ptr), hardware(&out));
        let (tile, tiles) = tiles(nnz, groups, &hardware);
        let (grid, reach) = (hardware.cubes(tiles, tile.units), tiles * tile.len());
        let kind = stored(ptr.dtype);
        launch!(expand, ptr, grid(grid, reach), (arg(&ptr), arg(&out), groups, nnz, tiles, tile), kind);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::super::hardware::tests::SMALL;
    use super::*;

    #[test]
    fn tiles_share_elements_and_groups() {
        let count = |length, groups| tiles(length, groups, &SMALL).1;
        assert_eq!([count(1, 3071), count(3072, 1), count(1, 30_720)], [1, 2, 11]);
    }
}
