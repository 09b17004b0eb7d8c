//! Rows in bins by their size, and the launch for each bin.

use super::super::forced;
use super::super::hardware::Hardware;
use super::super::launch::{arg, count, empty, hardware, launch, stored};
use crate::kernel_views::RowsView;
use burn::backend::DType;
use burn_cubecl::tensor::CubeTensor;

/// A sparse matrix: its pattern by rows, and its values.
pub type Matrix = (RowsView<CubeTensor>, CubeTensor);

/// Row pointers and columns.
pub type Lists = (CubeTensor, CubeTensor);

#[allow(missing_docs)]
mod kernels {
    use super::super::super::parts::bound;
    use burn_cubecl::cubecl;
    use cubecl::prelude::*;

    /// Where the row of B begins and ends that each element of A multiplies.
    #[cube(launch, launch_unchecked, address_type = "dynamic")]
    pub fn spans<I: Int>(
        idx: &Tensor<I>,
        ptr: &Tensor<I>,
        out: &mut Tensor<I>,
        units: usize,
        #[define(I)] _type: ElemType,
    ) {
        if ABSOLUTE_POS >= units {
            terminate!();
        }
        let row = usize::cast_from(idx[ABSOLUTE_POS]);
        out[2 * ABSOLUTE_POS] = ptr[row];
        out[2 * ABSOLUTE_POS + 1] = ptr[row + 1];
    }

    /// Rows `r` whose `own_ptr` counts more than `least` elements and at most `most`: the ranges of `other_ptr` and of
    /// `own_ptr`, the latter cut into pieces of `tile`. With `by_row` unit `r` writes the piece of row `r`. Else a unit
    /// looks at each `step`-th element, and writes as many pieces as there are such elements in a row, which must be
    /// enough. Others are zeros.
    #[cube(launch, launch_unchecked, address_type = "dynamic")]
    pub fn pieces<I: Int>(
        other_ptr: &Tensor<I>,
        own_ptr: &Tensor<I>,
        out: &mut Tensor<I>,
        first: usize,
        rows: usize,
        least: usize,
        most: usize,
        tile: usize,
        step: usize,
        units: usize,
        #[comptime] by_row: bool,
        #[define(I)] _type: ElemType,
    ) {
        if ABSOLUTE_POS >= units {
            terminate!();
        }
        let probe = first + ABSOLUTE_POS;
        let mut row = probe;
        if comptime!(!by_row) {
            row = bound::<I>(I::cast_from(probe * step), own_ptr, 1, rows + 1, true) - 1;
        }
        row = min(row, rows - 1);
        let start = usize::cast_from(own_ptr[row]);
        let end = usize::cast_from(own_ptr[row + 1]);
        let length = end - start;
        let mut from = start;
        // Lengths are large numbers if pointers descend.
        let mut found = length <= most;
        if comptime!(!by_row) {
            // Compared before it is multiplied: a row has more such elements than pieces, and the product could be
            // larger than addresses.
            let number = probe - start.div_ceil(step);
            found = found && length > least && number < length.div_ceil(tile);
            from += select(found, number, 0) * tile;
        }
        let zero = I::from_int(0);
        out[4 * ABSOLUTE_POS] = select(found, other_ptr[row], zero);
        out[4 * ABSOLUTE_POS + 1] = select(found, other_ptr[row + 1], zero);
        out[4 * ABSOLUTE_POS + 2] = select(found, I::cast_from(from), zero);
        out[4 * ABSOLUTE_POS + 3] = select(found, I::cast_from(min(from + tile, end)), zero);
    }
}

/// Sizes of rows at which bins end, unless shared memory ends before.
const CAPS: [usize; BINS] = [32, 128, 512, 2048];

/// Bins of rows whose table is in shared memory.
pub const BINS: usize = 4;

/// Bytes of shared memory that a cube uses at most, so that several run on one processor at a time.
const SHARED: usize = 48 << 10;

/// Bytes of shared memory besides tables: where staged rows begin and end, and one number of each unit.
const SCRATCH: usize = 2560;

/// How a cube works on rows of a bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Bin {
    /// Most elements of a row.
    pub cap: usize,
    /// Units of a row.
    pub units: usize,
    /// Rows of a cube.
    pub rows: usize,
    /// Units that read adjacent elements of one row of B.
    pub lanes: usize,
}

impl Bin {
    /// Slots of a row's table: twice as many as it has elements.
    pub fn slots(self) -> usize {
        2 * self.cap
    }

    /// Rows of B that are read at once.
    pub fn groups(self) -> usize {
        self.units / self.lanes
    }

    /// Units of a cube.
    pub fn cube(self) -> usize {
        self.units * self.rows
    }
}

/// The bytes of shared memory that an element of a row needs, and the mean length of the rows of B.
#[derive(Clone, Copy, Debug)]
pub struct Problem {
    pub bytes: usize,
    pub mean: usize,
}

/// Shared memory for tables.
pub fn room(hardware: &Hardware) -> usize {
    hardware.shared.min(SHARED).saturating_sub(SCRATCH)
}

/// Bins by size. Those that shared memory does not allow equal the largest that it does.
pub fn bins(problem: &Problem, hardware: &Hardware) -> [Bin; BINS] {
    let held = (room(hardware) / problem.bytes).max(2);
    let top = 1 << held.ilog2();
    let widest = 1 << hardware.units.min(256).ilog2();
    CAPS.map(|cap| {
        let cap = cap.min(top);
        // Four tiny rows share a cube.
        let (units, rows) = match cap {
            0..=32 if top >= 128 => (16, 4),
            0..=128 => (64, 1),
            129..=512 => (128, 1),
            _ => (256, 1),
        };
        let units = units.min(widest);
        Bin { cap, units, rows, lanes: problem.mean.next_power_of_two().clamp(4, 32).min(units) }
    })
}

/// Rows whose length is in a range, and how they are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    pub bin: Bin,
    /// Only longer rows.
    pub least: usize,
    pub most: usize,
    /// Elements of a piece.
    pub tile: usize,
    /// Distance of the elements whose rows are looked at, so that at least one of each long enough row is found. `None`
    /// to look at every row.
    pub step: Option<usize>,
}

/// The shares of rows with `nnz` elements in all, by the bins of their lengths. The last share has the rows that no
/// table holds, cut into pieces that one does. No share is without rows for certain.
pub fn shares(nnz: usize, bins: &[Bin; BINS]) -> Vec<Share> {
    let mut shares: Vec<Share> = vec![];
    let mut least = 0;
    for &bin in bins {
        let step = if shares.is_empty() { None } else { Some(least) };
        if step.is_none() || bin.cap > least {
            shares.push(Share { bin, least, most: bin.cap, tile: bin.cap, step });
            least = bin.cap;
        }
    }
    // At least as many positions as pieces: a row of n > cap elements has n / (cap / 2) of them, rounded down.
    let bin = bins[BINS - 1];
    shares.push(Share { bin, least, most: nnz, tile: bin.cap, step: Some(bin.cap / 2) });
    shares.retain(|share| share.step.is_none() || nnz > share.least);
    shares
}

/// The mean length of `rows` rows, rounded up.
pub fn mean(nnz: usize, rows: usize) -> usize {
    nnz.div_ceil(rows.max(1))
}

/// Whether columns need more than 32 bits. Where a test forces wide addresses, they are treated so.
pub fn is_wide(cols: usize) -> bool {
    cols >= u32::MAX as usize || forced::now().wide
}

/// The range of the row of B that each element of A multiplies.
pub fn spans(a_idx: &CubeTensor, b_ptr: &CubeTensor) -> CubeTensor {
    let nnz = count(a_idx);
    let out = empty(a_idx, [nnz, 2], a_idx.dtype);
    launch!(spans, [&out, b_ptr], nnz, (arg(a_idx), arg(b_ptr), arg(&out), nnz), stored(a_idx.dtype));
    out
}

/// Calls `run` with lists of pieces `[n, 4]`: the range of `other`, and of `own`, of each row of a share.
pub fn pieces(
    other: &CubeTensor,
    own: &CubeTensor,
    nnz: usize,
    share: &Share,
    mut run: impl FnMut(&CubeTensor, usize),
) {
    let (rows, dtype) = (count(own) - 1, own.dtype);
    let Share { least, most, tile, step, .. } = *share;
    let all = step.map_or(rows, |step| nnz.div_ceil(step));
    let batch = batch(all, dtype, &hardware(own));
    for first in (0..all).step_by(batch) {
        let units = batch.min(all - first);
        let out = empty(own, [units, 4], dtype);
        let (ptr, own_ptr, list) = (arg(other), arg(own), arg(&out));
        let (step, by_row) = (step.unwrap_or(1), step.is_none());
        launch!(
            pieces,
            [&out, own, other],
            units,
            (ptr, own_ptr, list, first, rows, least, most, tile, step, units, by_row),
            stored(dtype)
        );
        run(&out, units);
    }
}

/// Pieces of a list that a buffer holds.
fn batch(all: usize, dtype: DType, hardware: &Hardware) -> usize {
    let held = hardware.buffer / (4 * dtype.size() as u64);
    // Positions in a list are 32-bit.
    all.min(usize::try_from(held).unwrap_or(usize::MAX)).clamp(1, 1 << 28)
}

#[cfg(test)]
mod tests {
    use super::super::super::hardware::tests::SMALL;
    use super::*;

    fn caps(bytes: usize, shared: usize) -> [usize; BINS] {
        bins(&Problem { bytes, mean: 9 }, &Hardware { shared, ..SMALL }).map(|bin| bin.cap)
    }

    #[test]
    fn the_largest_table_fits_shared_memory() {
        assert_eq!(caps(12, 16 << 10), [32, 128, 512, 1024]);
        assert_eq!(caps(16, 16 << 10), [32, 128, 512, 512]);
        assert_eq!(caps(16, 48 << 10), [32, 128, 512, 2048]);
        assert_eq!(caps(12, 227 << 10), [32, 128, 512, 2048]);
        assert_eq!(caps(16, 3072), [32; BINS]);
        assert_eq!(caps(16, 0), [2; BINS]);
        for (bytes, shared) in [(12, 16 << 10), (16, 32 << 10), (24, 48 << 10), (24, 1 << 20)] {
            for bin in bins(&Problem { bytes, mean: 9 }, &Hardware { shared, ..SMALL }) {
                assert!(bin.rows * bin.cap * bytes + SCRATCH <= shared.min(SHARED), "{bin:?}");
                assert!(bin.groups() * 16 <= SCRATCH && bin.cube() * 8 <= SCRATCH, "{bin:?}");
            }
        }
    }

    #[test]
    fn units_read_rows_of_b_in_groups() {
        let of = |mean| bins(&Problem { bytes: 16, mean }, &SMALL).map(|bin| (bin.units, bin.rows, bin.lanes));
        assert_eq!(of(1), [(16, 4, 4), (64, 1, 4), (128, 1, 4), (128, 1, 4)]);
        assert_eq!(of(9), [(16, 4, 16), (64, 1, 16), (128, 1, 16), (128, 1, 16)]);
        assert_eq!(of(1 << 20).map(|(.., lanes)| lanes), [16, 32, 32, 32]);
        let poor = Hardware { units: 64, ..SMALL };
        assert_eq!(bins(&Problem { bytes: 12, mean: 9 }, &poor)[3].units, 64);
    }

    #[test]
    fn every_row_is_in_one_share_and_all_its_pieces_are_found() {
        for shared in [0, 3072, 16 << 10, 64 << 10] {
            let bins = bins(&Problem { bytes: 16, mean: 9 }, &Hardware { shared, ..SMALL });
            let top = bins[BINS - 1].cap;
            for nnz in [1, 2, 31, 32, 33, 129, 700, 5000, 100_000] {
                let shares = shares(nnz, &bins);
                for length in [1, 2, 3, 4, 5, 31, 32, 33, 128, 129, 511, 512, 513, 767, 2048, 2049, 4999, 100_000] {
                    let takes = |share: &&Share| length <= share.most && (share.step.is_none() || length > share.least);
                    if length > nnz {
                        continue;
                    }
                    let own: Vec<&Share> = shares.iter().filter(takes).collect();
                    assert_eq!(own.len(), 1, "{length} of {nnz}");
                    assert!(own[0].tile <= top);
                    let Some(step) = own[0].step else { continue };
                    // Wherever the row starts, it has a position for each piece.
                    assert!(length / step >= length.div_ceil(own[0].tile), "{length} of {nnz}: {own:?}");
                }
            }
        }
    }

    #[test]
    fn lists_of_pieces_fit_a_buffer() {
        assert_eq!(batch(100, DType::I32, &SMALL), 100);
        assert_eq!(batch(9 << 20, DType::I32, &SMALL), 8 << 20);
        assert_eq!(batch(0, DType::I32, &SMALL), 1);
        assert_eq!(batch(100, DType::I64, &Hardware { buffer: 8, ..SMALL }), 1);
    }
}
