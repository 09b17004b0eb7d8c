//! How the rows of a result are shared among units and cubes: a pure function of the problem and the device.

use super::super::forced;
use super::super::hardware::{Grid, Hardware};
use super::kernels::Share;
use burn::backend::DType;

/// Units of a cube for short rows. Few, so that the units of one row seldom wait for those of another.
const CUBE: usize = 128;

/// Most units that share a short row, and most that share a vector of it. A row has about 8 elements in many graphs.
const GROUP: usize = 32;
const SLICES: usize = 8;

/// Elements of a short row that each of its units takes at most, and least elements of a long row.
const STEPS: usize = 64;
const PATIENCE: usize = 256;

/// Most vectors of a long row that a cube takes, least units for each of them, and least units of a cube. A vector of 4
/// floats in each of 32 lanes is 512 bytes in a run.
const LANES: usize = 32;
const LONG_SLICES: usize = 8;
const LONG_CUBE: usize = 64;

/// Least elements of a chunk.
const CHUNK: usize = 1024;

/// Most bytes of partial results. If more are needed, chunks are combined for some columns at a time.
const PARTIAL: u64 = 256 << 20;

/// The rows of the result, their width and number of heads, and how many terms there are, in all and in a row at most.
#[derive(Clone, Copy, Debug)]
pub struct Problem {
    pub rows: usize,
    pub terms: usize,
    pub longest: usize,
    pub width: usize,
    pub heads: usize,
    pub dtype: DType,
    /// What vectors must divide: the width of a head, and the strides of the operands.
    pub divisor: usize,
}

/// How rows are combined. All but `vector` and `columns` depends on the width, heads and dtype only. So the bits of a
/// row depend on neither its neighbours nor on where its operands lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strategy {
    /// Elements of a vector, and vectors of a row.
    pub vector: usize,
    pub columns: usize,
    /// How units share short rows, and long ones.
    pub short: Share,
    pub long: Share,
    /// Elements of the longest short row.
    pub most: usize,
    /// Elements of a chunk of a long row. The last one takes the rest, which is less than another chunk.
    pub chunk: usize,
}

pub fn strategy(problem: &Problem, hardware: &Hardware) -> Strategy {
    let bytes = problem.dtype.size();
    // A vector has one weight, so it must not reach beyond its head.
    let (widest, part) = hardware.vectors(problem.width / problem.heads, bytes);
    let (vector, _) = hardware.vectors(problem.divisor, bytes);
    let (few, columns) = (part * problem.heads, problem.width / vector);
    debug_assert!(widest.is_multiple_of(vector), "{widest} and {vector}");
    let slices = (GROUP / few).clamp(1, SLICES);
    let short = match slices {
        1 => Share { slices, lanes: 1, units: 1 },
        _ => Share { slices, lanes: columns, units: CUBE },
    };
    let most = PATIENCE.max(STEPS * slices);
    let few = few.min(LANES).min(hardware.units / LONG_SLICES);
    let slices = (LONG_CUBE / few).max(LONG_SLICES);
    let units = (few * slices).next_multiple_of(GROUP);
    let long = Share { slices, lanes: columns.min(units / slices), units };
    let chunk = CHUNK.max(STEPS * slices).next_multiple_of(most);
    Strategy { vector, columns, short, long, most, chunk }
}

impl Strategy {
    /// Applies the settings that a test forces.
    pub fn forced(self) -> Self {
        let forced = forced::now();
        let most = forced.patience.unwrap_or(self.most);
        Self { most, chunk: forced.chunk.unwrap_or(self.chunk).next_multiple_of(most), ..self }
    }

    /// Entries of the list of rows, one for each `most` terms. None if no row can be long.
    pub fn probes(&self, problem: &Problem) -> usize {
        if problem.longest > self.most { problem.terms.div_ceil(self.most) } else { 0 }
    }

    /// Whether a row can have several chunks.
    pub fn cuts(&self, problem: &Problem) -> bool {
        problem.longest >= 2 * self.chunk
    }

    /// The grid for all rows, and for the list of `probes` entries.
    pub fn grid(&self, rows: usize, probes: usize, hardware: &Hardware) -> Grid {
        let Share { slices, lanes, units } = self.short;
        if slices == 1 {
            return hardware.units(probes.max(rows * self.columns));
        }
        hardware.cubes(probes.div_ceil(units).max(rows.div_ceil(units / (slices * lanes))), units)
    }

    /// The grid of long rows for a step of so many `elements`, and for so many columns.
    pub fn cubes(&self, terms: usize, elements: usize, columns: usize, hardware: &Hardware) -> Grid {
        hardware.cubes(terms.div_ceil(elements) * columns.div_ceil(self.long.lanes), self.long.units)
    }

    /// Columns whose partial results are kept at a time, each of `bytes` bytes.
    pub fn block(&self, terms: usize, bytes: usize, hardware: &Hardware) -> usize {
        let column = (terms.div_ceil(self.chunk) * self.vector * bytes) as u64;
        let fit = (PARTIAL.min(hardware.buffer) / column) as usize;
        let lanes = self.long.lanes;
        // Whole tiles, if a tile fits.
        let tiles = if fit > lanes { fit / lanes * lanes } else { fit.max(1) };
        tiles.min(self.columns)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::hardware::tests::SMALL;
    use super::*;
    use burn::tensor::BoolStore;

    fn problem(width: usize, dtype: DType) -> Problem {
        Problem { rows: 1000, terms: 1 << 20, longest: 1 << 20, width, heads: 1, dtype, divisor: width }
    }

    fn of(width: usize, dtype: DType) -> Strategy {
        strategy(&problem(width, dtype), &SMALL)
    }

    #[test]
    fn units_share_narrow_rows() {
        let shares = |width| (of(width, DType::F32).short.slices, of(width, DType::F32).short.lanes);
        assert_eq!([1, 3, 4, 7, 20, 40, 64].map(shares), [(8, 1), (8, 3), (8, 1), (4, 7), (6, 5), (3, 10), (2, 16)]);
        assert_eq!([68, 257, 4096].map(shares), [(1, 1); 3]);
        // What is stored decides, not what is summed.
        assert_eq!(of(64, DType::F16).short.slices, 2);
        assert_eq!(of(64, DType::F64).short.slices, 1);
        assert_eq!(of(7, DType::Bool(BoolStore::U32)), of(7, DType::F32));
    }

    #[test]
    fn cubes_share_long_rows_of_any_width() {
        let shares = |width| {
            let Share { slices, lanes, units } = of(width, DType::F32).long;
            (slices, lanes, units)
        };
        assert_eq!([1, 4, 3, 7].map(shares), [(64, 1, 64), (64, 1, 64), (21, 3, 64), (9, 7, 64)]);
        assert_eq!([40, 64, 128].map(shares), [(8, 10, 96), (8, 16, 128), (8, 32, 256)]);
        assert_eq!([1030, 4096].map(shares), [(8, 32, 256); 2]);
        let poor = strategy(&problem(128, DType::F32), &Hardware { units: 128, ..SMALL }).long;
        assert_eq!((poor.slices, poor.lanes, poor.units), (8, 16, 128));
        let lengths = |width| (of(width, DType::F32).most, of(width, DType::F32).chunk);
        assert_eq!([1, 8, 40, 4096].map(lengths), [(512, 4096), (512, 2048), (256, 1024), (256, 1024)]);
    }

    #[test]
    fn every_unit_of_a_group_is_in_its_cube_and_chunks_are_whole_steps() {
        for dtype in [DType::F32, DType::F16, DType::F64, DType::U8] {
            for width in 1..600 {
                for divisor in [width, 1] {
                    let own = strategy(&Problem { divisor, ..problem(width, dtype) }, &SMALL);
                    let Strategy { short, long, most, chunk, .. } = own;
                    assert!(short.slices == 1 || short.slices * short.lanes <= short.units, "{own:?}");
                    assert!(long.slices * long.lanes <= long.units && long.units <= SMALL.units, "{own:?}");
                    assert!(chunk >= most && chunk.is_multiple_of(most), "{own:?}");
                }
            }
        }
    }

    #[test]
    fn the_bits_of_a_row_depend_on_its_width_and_not_on_other_rows_or_strides() {
        let fixed = |own: Strategy| (own.short.slices, own.long.slices, own.most, own.chunk);
        let plain = of(40, DType::F32);
        let strided = strategy(&Problem { divisor: 2, ..problem(40, DType::F32) }, &SMALL);
        assert_eq!((plain.vector, plain.columns, strided.vector, strided.columns), (4, 10, 2, 20));
        let small = strategy(&Problem { rows: 1, terms: 1, ..problem(40, DType::F32) }, &SMALL);
        assert_eq!([fixed(strided), fixed(small)], [fixed(plain); 2]);
        let other = Hardware { plane: 64, units: 1024, shared: 1 << 16, ..SMALL };
        assert_eq!(strategy(&problem(40, DType::F32), &other), plain);
    }

    #[test]
    fn a_vector_has_one_head() {
        let of = |heads| {
            let divisor = 24 / heads;
            let Strategy { vector, columns, .. } =
                strategy(&Problem { heads, divisor, ..problem(24, DType::F32) }, &SMALL);
            (vector, columns)
        };
        assert_eq!([1, 3, 4, 8, 24].map(of), [(4, 6), (4, 6), (2, 12), (1, 24), (1, 24)]);
    }

    #[test]
    fn launches_are_skipped_where_no_row_can_be_so_long() {
        let own = of(1, DType::F32);
        let of = |terms, longest| Problem { terms, longest, ..problem(1, DType::F32) };
        assert_eq!([512, 513, 1025].map(|terms| own.probes(&of(terms, terms))), [0, 2, 3]);
        assert_eq!(own.probes(&of(9999, 1)), 0);
        assert_eq!([8191, 8192].map(|terms| own.cuts(&of(terms, terms))), [false, true]);
    }

    #[test]
    fn grids_cover_rows_probes_and_tiles() {
        // 16 rows of 8 units in a cube, or a unit for each vector.
        assert_eq!(of(1, DType::F32).grid(33, 0, &SMALL).cubes, [3, 1, 1]);
        assert_eq!(of(1, DType::F32).grid(33, 1000, &SMALL).cubes, [8, 1, 1]);
        assert_eq!(of(256, DType::F32).grid(33, 0, &SMALL), SMALL.units(33 * 64));
        assert_eq!(of(256, DType::F32).grid(33, 10_000, &SMALL), SMALL.units(10_000));
        // 3 steps of 65 vectors: three tiles each.
        assert_eq!(of(260, DType::F32).cubes(513, 256, 65, &SMALL).cubes, [9, 1, 1]);
        assert_eq!(of(1, DType::F32).cubes(1 << 28, 512, 1, &SMALL).cubes, [58_255, 9, 1]);
    }

    #[test]
    fn partial_results_are_limited() {
        let own = of(4096, DType::F16);
        assert_eq!(own.block(1 << 20, 4, &SMALL), 1024);
        // 2^19 chunks, and 8 MiB for a column: 16 in a buffer of the device.
        assert_eq!(own.block(1 << 29, 4, &SMALL), 16);
        assert_eq!(own.block(1 << 28, 4, &SMALL), 32);
        assert_eq!(own.block(1 << 28, 4, &Hardware { buffer: u64::MAX, ..SMALL }), 64);
    }
}
