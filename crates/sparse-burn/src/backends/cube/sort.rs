//! Scans and stable radix sorts, without waiting between workgroups: every step is a launch of its own, so they run on
//! any device, whatever its scheduler promises.

use super::launch::{arg, count, empty, flat, launch, stored};
use burn::backend::ops::IntTensorOps;
use burn_cubecl::CubeBackend;
use burn_cubecl::ops::numeric::zeros;
use burn_cubecl::tensor::CubeTensor;

/// Units of a cube.
const CUBE: usize = 64;
/// Elements that a unit scans or sorts.
const ITEMS: usize = 8;
/// Elements of a cube.
const TILE: usize = CUBE * ITEMS;
/// Bits sorted in one pass.
const BITS: usize = 4;
const DIGITS: usize = 1 << BITS;

#[allow(missing_docs)]
mod kernels {
    use super::{CUBE, DIGITS, ITEMS, TILE};
    use burn_cubecl::cubecl;
    use cubecl::prelude::*;

    /// Exclusive scan of one number a unit, through `shared`; the sum of all stands in its last entry.
    #[cube]
    fn scan_units(shared: &mut Shared<[u32]>, own: u32) -> u32 {
        let unit = UNIT_POS as usize;
        shared[unit] = own;
        sync_cube();
        let mut step = 1;
        while step < CUBE {
            let mut left = 0u32;
            if unit >= step {
                left = shared[unit - step];
            }
            sync_cube();
            shared[unit] += left;
            sync_cube();
            step *= 2;
        }
        shared[unit] - own
    }

    /// Exclusive scan inside each tile, and the tiles' sums.
    #[cube(launch)]
    pub fn scan_tiles<I: Int>(
        input: &Tensor<I>,
        out: &mut Tensor<I>,
        sums: &mut Tensor<I>,
        length: usize,
        tiles: usize,
        #[define(I)] _type: ElemType,
    ) {
        let mut shared = Shared::<[u32]>::new_slice(CUBE);
        let first = (CUBE_POS * CUBE + UNIT_POS as usize) * ITEMS;
        let mut own = 0u32;
        for k in 0..ITEMS {
            if first + k < length {
                own += u32::cast_from(input[first + k]);
            }
        }
        let mut sum = scan_units(&mut shared, own);
        for k in 0..ITEMS {
            if first + k < length {
                out[first + k] = I::cast_from(sum);
                sum += u32::cast_from(input[first + k]);
            }
        }
        if UNIT_POS as usize == CUBE - 1 && CUBE_POS < tiles {
            sums[CUBE_POS] = I::cast_from(sum);
        }
    }

    #[cube(launch)]
    pub fn add_tiles<I: Int>(out: &mut Tensor<I>, sums: &Tensor<I>, length: usize, #[define(I)] _type: ElemType) {
        if ABSOLUTE_POS >= length {
            terminate!();
        }
        out[ABSOLUTE_POS] += sums[ABSOLUTE_POS / TILE];
    }

    /// How often each digit occurs among the elements of this unit: `[digit, unit]`.
    #[cube]
    fn count_own<I: Int>(counters: &mut Shared<[u32]>, keys: &Tensor<I>, first: usize, length: usize, shift: u32) {
        let unit = UNIT_POS as usize;
        for digit in 0..DIGITS {
            counters[digit * CUBE + unit] = 0u32;
        }
        for k in 0..ITEMS {
            if first + k < length {
                // Shifted in the keys' own width: positions are narrower than 64-bit keys.
                let digit = usize::cast_from((keys[first + k] >> I::cast_from(shift)) & I::from_int(15));
                counters[digit * CUBE + unit] += 1u32;
            }
        }
        sync_cube();
    }

    /// How often each digit occurs in each tile: `[digit, tile]`.
    #[cube(launch)]
    pub fn count_digits<I: Int>(
        keys: &Tensor<I>,
        counts: &mut Tensor<I>,
        length: usize,
        tiles: usize,
        shift: u32,
        #[define(I)] _type: ElemType,
    ) {
        let mut counters = Shared::<[u32]>::new_slice(DIGITS * CUBE);
        let unit = UNIT_POS as usize;
        let first = (CUBE_POS * CUBE + unit) * ITEMS;
        count_own::<I>(&mut counters, keys, first, length, shift);
        if unit < DIGITS && CUBE_POS < tiles {
            let mut sum = 0u32;
            for other in 0..CUBE {
                sum += counters[unit * CUBE + other];
            }
            counts[unit * tiles + CUBE_POS] = I::cast_from(sum);
        }
    }

    /// Moves keys and positions to where `offsets` (the scan of the counts) and their rank in the tile say.
    #[cube(launch)]
    pub fn move_digits<I: Int>(
        keys: &Tensor<I>,
        positions: &Tensor<I>,
        offsets: &Tensor<I>,
        keys_out: &mut Tensor<I>,
        positions_out: &mut Tensor<I>,
        length: usize,
        tiles: usize,
        shift: u32,
        #[comptime] first_pass: bool,
        #[define(I)] _type: ElemType,
    ) {
        let mut counters = Shared::<[u32]>::new_slice(DIGITS * CUBE);
        let unit = UNIT_POS as usize;
        let tile = min(CUBE_POS, tiles - 1);
        let first = (CUBE_POS * CUBE + unit) * ITEMS;
        count_own::<I>(&mut counters, keys, first, length, shift);
        // Each of the first units turns the counts of a digit into places.
        if unit < DIGITS {
            let mut sum = u32::cast_from(offsets[unit * tiles + tile]);
            for other in 0..CUBE {
                let here = counters[unit * CUBE + other];
                counters[unit * CUBE + other] = sum;
                sum += here;
            }
        }
        sync_cube();
        for k in 0..ITEMS {
            if first + k < length {
                let key = keys[first + k];
                let slot = usize::cast_from((key >> I::cast_from(shift)) & I::from_int(15)) * CUBE + unit;
                let place = counters[slot] as usize;
                counters[slot] += 1u32;
                keys_out[place] = key;
                if first_pass {
                    positions_out[place] = I::cast_from(first + k);
                } else {
                    positions_out[place] = positions[first + k];
                }
            }
        }
    }

    /// Where each group starts among ascending ids.
    #[cube(launch)]
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
        let mut low = 0;
        let mut high = length;
        while low < high {
            let middle = (low + high) / 2;
            if usize::cast_from(ids[middle]) < ABSOLUTE_POS {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        ptr[ABSOLUTE_POS] = I::cast_from(low);
    }

    /// The last of the groups that starts at a position or before: the one it lies in.
    #[cube]
    fn group_of<I: Int>(position: usize, ptr: &Tensor<I>, groups: usize) -> usize {
        let mut low = 0;
        let mut high = groups;
        while low < high {
            let middle = (low + high) / 2;
            if usize::cast_from(ptr[middle + 1]) <= position {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// The group of each element.
    #[cube(launch)]
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

    /// The group of each `step`-th position, its start and its end, if it has more than `step` elements and no earlier such
    /// position; else zeros.
    #[cube(launch)]
    pub fn long_groups<I: Int>(
        ptr: &Tensor<I>,
        out: &mut Tensor<I>,
        groups: usize,
        step: usize,
        units: usize,
        #[define(I)] _type: ElemType,
    ) {
        if ABSOLUTE_POS >= units {
            terminate!();
        }
        let position = ABSOLUTE_POS * step;
        let group = min(group_of::<I>(position, ptr, groups), groups - 1);
        let start = usize::cast_from(ptr[group]);
        let length = usize::cast_from(ptr[group + 1]) - start;
        let found = length > step && position - start < step;
        out[3 * ABSOLUTE_POS] = I::cast_from(select(found, group, 0));
        out[3 * ABSOLUTE_POS + 1] = I::cast_from(select(found, start, 0));
        out[3 * ABSOLUTE_POS + 2] = I::cast_from(select(found, start + length, 0));
    }
}

/// Exclusive prefix sums.
pub(super) fn scan(input: CubeTensor) -> CubeTensor {
    let length = count(&input);
    let tiles = length.div_ceil(TILE);
    let (out, kind) = (empty(&input, [length], input.dtype), stored(input.dtype));
    if length == 0 {
        return out;
    }
    let (input, sums) = (flat(input), empty(&out, [tiles], out.dtype));
    launch!(scan_tiles, out, cubes(tiles, CUBE), (arg(&input), arg(&out), arg(&sums), length, tiles), kind);
    if tiles > 1 {
        let sums = scan(sums);
        launch!(add_tiles, out, length, (arg(&out), arg(&sums), length), kind);
    }
    out
}

/// Exclusive prefix sums and the total.
pub(super) fn scan_to_ptr(counts: CubeTensor) -> CubeTensor {
    let end = zeros(counts.device.clone(), [1].into(), counts.dtype);
    scan(CubeBackend::int_cat(vec![flat(counts), end], 0))
}

/// Keys below `bound` in ascending order, and the position each came from; equal keys keep their order.
pub(super) fn sort(keys: CubeTensor, bound: usize) -> (CubeTensor, CubeTensor) {
    let (length, dtype) = (count(&keys), keys.dtype);
    let (tiles, kind) = (length.div_ceil(TILE), stored(dtype));
    let mut keys = flat(keys);
    let mut positions = keys.clone();
    let bits = (usize::BITS - bound.saturating_sub(1).leading_zeros()) as usize;
    for pass in 0..bits.div_ceil(BITS).max(1) {
        let shift = (pass * BITS) as u32;
        let counts = empty(&keys, [DIGITS * tiles], dtype);
        launch!(count_digits, keys, cubes(tiles, CUBE), (arg(&keys), arg(&counts), length, tiles, shift), kind);
        // The scan of the counts gives every element a place of its own.
        let offsets = scan(counts);
        let (keys_out, positions_out) = (empty(&keys, [length], dtype), empty(&keys, [length], dtype));
        launch!(
            move_digits,
            keys,
            cubes(tiles, CUBE),
            (
                arg(&keys),
                arg(&positions),
                arg(&offsets),
                arg(&keys_out),
                arg(&positions_out),
                length,
                tiles,
                shift,
                pass == 0,
            ),
            kind
        );
        (keys, positions) = (keys_out, positions_out);
    }
    (keys, positions)
}

pub(super) fn group_by(keys: CubeTensor, groups: usize) -> (CubeTensor, CubeTensor) {
    if count(&keys) == 0 {
        let ptr = zeros(keys.device.clone(), [groups + 1].into(), keys.dtype);
        return (keys, ptr);
    }
    let (sorted, order) = sort(keys, groups);
    (order, compress(sorted, groups))
}

pub(super) fn compress(ids: CubeTensor, groups: usize) -> CubeTensor {
    let length = count(&ids);
    if length == 0 {
        return zeros(ids.device.clone(), [groups + 1].into(), ids.dtype);
    }
    let (ids, ptr) = (flat(ids.clone()), empty(&ids, [groups + 1], ids.dtype));
    launch!(compress, ids, groups + 1, (arg(&ids), arg(&ptr), length, groups + 1), stored(ids.dtype));
    ptr
}

pub(super) fn expand_ptr(ptr: CubeTensor, nnz: usize) -> CubeTensor {
    let (groups, out) = (count(&ptr) - 1, empty(&ptr, [nnz], ptr.dtype));
    if nnz > 0 {
        let ptr = flat(ptr);
        launch!(expand, ptr, nnz, (arg(&ptr), arg(&out), groups, nnz), stored(ptr.dtype));
    }
    out
}

/// The groups of more than `step` of the `length` elements, with their starts and ends: `[length / step, 3]` (rounded up), each
/// once and zeros otherwise. A group that long holds one of the positions `0, step, 2 step, ..`, so no list of groups is looked
/// through.
pub(super) fn long_groups(ptr: &CubeTensor, length: usize, step: usize) -> CubeTensor {
    let (groups, probes) = (count(ptr) - 1, length.div_ceil(step));
    let out = empty(ptr, [probes, 3], ptr.dtype);
    let ptr = flat(ptr.clone());
    launch!(long_groups, ptr, probes, (arg(&ptr), arg(&out), groups, step, probes), stored(ptr.dtype));
    out
}
