//! Kernels of a pass: its steps and the sums of each block, and the sums of the blocks.

use super::super::parts::{One, SUM, tree};
use burn_cubecl::cubecl;
use cubecl::prelude::*;

/// The first and the second vector of a step, and the scale of the second one. Vectors have numbers: those that are
/// read, then the results of the steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    Add(usize, usize, usize),
    Scale(usize, usize),
    Times(usize, usize),
}

/// What a launch does, at compile time.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Plan {
    /// Numbers of vectors and of scales that are read.
    pub vectors: usize,
    pub scales: usize,
    pub steps: Vec<Step>,
    /// The vectors that are written.
    pub kept: Vec<usize>,
    pub dots: Vec<[usize; 2]>,
}

/// How the units of a cube share a block: `lanes` columns side by side, each taken by `slices` units, which read
/// `items` rows each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Share {
    pub lanes: usize,
    pub slices: usize,
    pub items: usize,
}

/// Sizes of the columns, and how many blocks and tiles of columns a system is cut into.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
pub struct Sizes {
    systems: usize,
    rows: usize,
    width: usize,
    blocks: usize,
    tiles: usize,
}

/// The slice of the rows and the column that a unit takes, and the number of its cube among those of the tile.
#[derive(CubeType, Clone, Copy)]
struct Place {
    slice: usize,
    column: usize,
    number: usize,
}

#[cube]
fn place(sizes: &Sizes, #[comptime] share: Share) -> Place {
    let unit = UNIT_POS as usize;
    let column = CUBE_POS % sizes.tiles * share.lanes + unit % share.lanes;
    Place { slice: unit / share.lanes, column, number: CUBE_POS / sizes.tiles }
}

/// A step for one element. `made` has the vectors before it.
#[cube]
fn done<T: Float>(made: &Sequence<T>, scales: &Sequence<T>, #[comptime] step: Step) -> T {
    match step {
        Step::Add(x, scale, y) => made[x] + scales[scale] * made[y],
        Step::Scale(scale, y) => scales[scale] * made[y],
        Step::Times(x, y) => made[x] * made[y],
    }
}

/// The steps. A cube takes a block of the rows of a system and a tile of its columns, and writes the sum of each dot
/// product over these: `[systems, blocks, dots, width]`.
#[cube(launch, launch_unchecked, address_type = "dynamic")]
pub fn column_pass<T: Float>(
    vectors: &Sequence<OwnedTensor<T>>,
    scales: &Sequence<OwnedTensor<T>>,
    kept: &mut Sequence<OwnedTensor<T>>,
    sums: ComptimeOption<&mut Tensor<T>>,
    sizes: Sizes,
    #[comptime] plan: Plan,
    #[comptime] share: Share,
    #[define(T)] _type: ElemType,
) {
    let unit = UNIT_POS as usize;
    let own = place(&sizes, share);
    let (slice, column, number) = (own.slice, own.column, own.number);
    let (block, system) = (number % sizes.blocks, number / sizes.blocks);
    let mine = column < sizes.width && system < sizes.systems;
    let own_scale = select(mine, system * sizes.width + column, 0);
    let mut factors = Sequence::<T>::new();
    #[unroll]
    for k in 0..plan.scales {
        factors.push(scales[k][own_scale]);
    }
    let dots = comptime!(plan.dots.len());
    let mut totals = Array::<T>::new(comptime!(plan.dots.len().max(1)));
    #[unroll]
    for d in 0..dots {
        totals[d] = T::from_int(0);
    }
    let first = block * comptime!(share.slices * share.items) + slice;
    for item in 0..share.items {
        let row = first + item * share.slices;
        if mine && row < sizes.rows {
            let at = (system * sizes.rows + row) * sizes.width + column;
            let mut made = Sequence::<T>::new();
            #[unroll]
            for k in 0..plan.vectors {
                made.push(vectors[k][at]);
            }
            #[unroll]
            for k in 0..plan.steps.len() {
                let next = done::<T>(&made, &factors, comptime!(plan.steps[k]));
                made.push(next);
            }
            #[unroll]
            for k in 0..plan.kept.len() {
                let list = kept.index_mut(k);
                list[at] = made[comptime!(plan.kept[k])];
            }
            #[unroll]
            for d in 0..dots {
                totals[d] += made[comptime!(plan.dots[d][0])] * made[comptime!(plan.dots[d][1])];
            }
        }
    }
    #[comptime]
    if let ComptimeOption::Some(sums) = sums {
        let mut shared = Shared::<[Vector<T, One>]>::new_slice(comptime!(share.lanes * share.slices));
        #[unroll]
        for d in 0..dots {
            let own = Vector::<T, One>::new(totals[d]);
            // All units reach every barrier, whatever their rows.
            tree::<T, One>(&mut shared, own, slice, share.slices, share.lanes, SUM, true);
            if mine && slice == 0 {
                sums[(number * dots + d) * sizes.width + column] = shared[unit].extract(0usize);
            }
        }
    }
}

/// The sums over the blocks, which a cube adds for a dot product of a system and a tile of its columns.
#[cube(launch, launch_unchecked, address_type = "dynamic")]
pub fn column_sums<T: Float>(
    sums: &Tensor<T>,
    out: &mut Sequence<OwnedTensor<T>>,
    sizes: Sizes,
    #[comptime] dots: usize,
    #[comptime] share: Share,
    #[define(T)] _type: ElemType,
) {
    let unit = UNIT_POS as usize;
    let own = place(&sizes, share);
    let (slice, column, number) = (own.slice, own.column, own.number);
    let (dot, system) = (number % dots, number / dots);
    let mine = column < sizes.width && system < sizes.systems;
    let mut total = T::from_int(0);
    let mut block = slice;
    while mine && block < sizes.blocks {
        total += sums[((system * sizes.blocks + block) * dots + dot) * sizes.width + column];
        block += share.slices;
    }
    let mut shared = Shared::<[Vector<T, One>]>::new_slice(comptime!(share.lanes * share.slices));
    tree::<T, One>(&mut shared, Vector::new(total), slice, share.slices, share.lanes, SUM, true);
    if mine && slice == 0 {
        #[unroll]
        for d in 0..dots {
            if dot == d {
                let list = out.index_mut(d);
                list[system * sizes.width + column] = shared[unit].extract(0usize);
            }
        }
    }
}

/// `[B_1 B_2 ..] C`: a unit for each number. `parts` has the columns of each block, and `before` is added.
#[cube(launch, launch_unchecked, address_type = "dynamic")]
pub fn combine_columns<T: Float>(
    blocks: &Sequence<OwnedTensor<T>>,
    matrix: &Tensor<T>,
    before: ComptimeOption<&Tensor<T>>,
    out: &mut Tensor<T>,
    parts: &Sequence<usize>,
    first: usize,
    width: usize,
    units: usize,
    #[comptime] count: usize,
    #[define(T)] _type: ElemType,
) {
    if ABSOLUTE_POS >= units {
        terminate!();
    }
    let (row, column) = (ABSOLUTE_POS / width, ABSOLUTE_POS % width);
    let mut sum = T::from_int(0);
    #[comptime]
    if let ComptimeOption::Some(before) = before {
        sum = before[ABSOLUTE_POS];
    }
    let mut line = first;
    #[unroll]
    for k in 0..count {
        let part = parts[k];
        for c in 0..part {
            sum += blocks[k][row * part + c] * matrix[(line + c) * width + column];
        }
        line += part;
    }
    out[ABSOLUTE_POS] = sum;
}
