//! How the cells of an array are given to units and cubes. Pure functions of the problem and of the device's limits.

use super::super::forced::{self, Path};
use super::super::hardware::{Grid, Hardware};
use crate::options::PutTarget;

/// Units of a cube that share a long group.
pub const CUBE: usize = 256;

/// A unit reduces at most this many values. Cubes share longer groups.
pub const PATIENCE: usize = 512;

/// Values of a chunk. Each of the 256 units of a cube has at least 16 of them.
pub const CHUNK: usize = 8 * PATIENCE;

/// Most adjacent cells of a cube. Their units read adjacent values at the same time.
const LANES: usize = 32;

/// A reduction over the cells of an array.
#[derive(Clone, Copy, Debug)]
pub struct Problem {
    pub target: PutTarget,
    /// Bytes of a value, or of an accumulator if these are more.
    pub bytes: usize,
    /// Whether all values of a group are read. An assignment reads one.
    pub reads_all: bool,
}

/// How cells are reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strategy {
    /// Adjacent cells that a unit has as a vector, and units that cover a step.
    pub vector: usize,
    pub columns: usize,
    /// How cubes share long groups. `None` if there are none.
    pub shared: Option<Shared>,
}

/// How cubes share long groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shared {
    /// Values that one unit reduces at most.
    pub patience: usize,
    /// Values of a chunk.
    pub chunk: usize,
    /// Values, or steps along the axis.
    pub entries: usize,
    /// Adjacent vectors of a cube.
    pub lanes: usize,
    /// Cubes that cover the vectors of a step, and outer indices.
    pub tiles: usize,
    pub outer: usize,
}

pub fn strategy(problem: &Problem, hardware: &Hardware) -> Strategy {
    let target = &problem.target;
    let (vector, columns) = vectors(target, problem.bytes, hardware);
    let shared = Shared::of(target, columns, PATIENCE);
    // `scaled::products_of_others` shares two vectors of 16 bytes for each unit.
    let cooperates = hardware.units >= CUBE && hardware.shared >= 32 * CUBE;
    let needed = problem.reads_all && cooperates && shared.entries > shared.patience;
    Strategy { vector, columns, shared: needed.then_some(shared) }
}

impl Strategy {
    /// Applies the settings that a test forces.
    pub fn forced(self, problem: &Problem) -> Self {
        let forced = forced::now();
        let shared = match (forced.path, forced.patience) {
            (Some(Path::Short), _) => None,
            (Some(_), patience) if problem.reads_all => {
                Some(Shared::of(&problem.target, self.columns, patience.unwrap_or(PATIENCE)))
            }
            _ => self.shared,
        };
        Self { shared, ..self }
    }

    /// Entries of the notes of all chunks.
    pub fn notes(&self) -> usize {
        self.shared.map_or(0, |shared| if shared.folds() { shared.chunks() * shared.outer * self.columns } else { 0 })
    }
}

/// Elements of a vector along a step, and vectors of a step. Single cells have values at unrelated positions.
pub fn vectors(target: &PutTarget, bytes: usize, hardware: &Hardware) -> (usize, usize) {
    if target.along_axis { hardware.vectors(target.inner, bytes) } else { (1, target.inner) }
}

impl Shared {
    /// The number of lanes, and so that of slices, does not depend on the vectors of a device.
    fn of(target: &PutTarget, columns: usize, patience: usize) -> Self {
        let chunk = patience * (CHUNK / PATIENCE);
        if !target.along_axis {
            return Self { patience, chunk, entries: values_len(target), lanes: 1, tiles: 1, outer: 1 };
        }
        let widest = [4, 2, 1].into_iter().find(|&size| target.inner.is_multiple_of(size)).expect("one divides all");
        let lanes = (target.inner / widest).next_power_of_two().min(LANES);
        let tiles = columns.div_ceil(lanes);
        Self { patience, chunk, entries: target.count, lanes, tiles, outer: target.outer }
    }

    /// Places where a long group may be. Each has one at least.
    pub fn probes(&self) -> usize {
        self.entries.div_ceil(self.patience)
    }

    /// Stretches as long as a chunk. In each starts one chunk at most, of groups that have several.
    pub fn chunks(&self) -> usize {
        self.entries.div_ceil(self.chunk)
    }

    /// Whether a group may have several chunks.
    pub fn folds(&self) -> bool {
        self.entries >= 2 * self.chunk
    }

    pub fn grid(&self, probes: usize, hardware: &Hardware) -> Grid {
        hardware.cubes(probes * self.outer * self.tiles, CUBE)
    }
}

/// Positions that are divided: those of the array's elements, and of the values.
pub fn positions(target: &PutTarget) -> usize {
    array_len(target).max(values_len(target))
}

pub fn array_len(target: &PutTarget) -> usize {
    target.outer * target.len * target.inner
}

pub fn values_len(target: &PutTarget) -> usize {
    target.outer * target.count * target.inner
}

#[cfg(test)]
mod tests {
    use super::super::super::hardware::tests::SMALL;
    use super::*;

    fn target(outer: usize, inner: usize, count: usize, along_axis: bool) -> PutTarget {
        PutTarget { outer, len: 5, inner, count, along_axis }
    }

    fn of(target: PutTarget) -> Strategy {
        strategy(&Problem { target, bytes: 4, reads_all: true }, &SMALL)
    }

    #[test]
    fn cubes_share_cells_that_more_values_may_belong_to_than_a_unit_takes() {
        let alone = |columns| Strategy { vector: 1, columns, shared: None };
        let shared = |columns, entries| Strategy {
            shared: Some(Shared { patience: 512, chunk: 4096, entries, lanes: 1, tiles: 1, outer: 1 }),
            ..alone(columns)
        };
        assert_eq!(of(target(2, 4, 64, false)), alone(4));
        assert_eq!(of(target(1, 1, 513, false)), shared(1, 513));
        assert_eq!(of(target(2, 4, 65, false)), shared(4, 520));
        // An assignment reads one value of a cell.
        let problem = Problem { target: target(1, 1, 513, false), bytes: 4, reads_all: false };
        assert_eq!(strategy(&problem, &SMALL), alone(1));
    }

    #[test]
    fn steps_along_an_axis_have_vectors_side_by_side() {
        // The steps count, not their values.
        assert_eq!(of(target(100, 100, 512, true)), Strategy { vector: 4, columns: 25, shared: None });
        let shape = |inner| {
            let Strategy { vector, columns, shared } = of(target(3, inner, 513, true));
            let Shared { lanes, tiles, outer, .. } = shared.expect("cells are shared");
            assert_eq!(outer, 3);
            [vector, columns, lanes, tiles]
        };
        assert_eq!([1, 5, 40, 66].map(shape), [[1, 1, 1, 1], [1, 5, 8, 1], [4, 10, 16, 1], [2, 33, 32, 2]]);
    }

    /// The bits of a cell depend on the number of slices.
    #[test]
    fn slices_do_not_depend_on_what_a_device_reads_at_once() {
        for inner in [1, 2, 4, 12, 40, 500] {
            let lanes = |width| {
                let problem = Problem { target: target(3, inner, 513, true), bytes: 4, reads_all: true };
                let strategy = strategy(&problem, &Hardware { width, ..SMALL });
                let shared = strategy.shared.expect("cells are shared");
                assert!(shared.lanes * shared.tiles >= strategy.columns);
                shared.lanes
            };
            assert_eq!(lanes(32), lanes(128));
        }
    }

    #[test]
    fn long_groups_are_cut_into_chunks() {
        let shared = |count| Shared::of(&target(1, 1, count, true), 1, PATIENCE);
        assert!(!shared(8191).folds() && shared(8192).folds());
        assert_eq!((shared(8193).probes(), shared(8193).chunks()), (17, 3));
        let notes = |outer, inner, count| of(target(outer, inner, count, true)).notes();
        assert_eq!([notes(3, 12, 8191), notes(3, 12, 8192)], [0, 2 * 3 * 3]);
    }

    #[test]
    fn many_long_groups_take_a_grid_of_two_axes() {
        let shared = of(target(65_536, 1, 513, true)).shared.expect("cells are shared");
        assert_eq!(shared.grid(shared.probes(), &SMALL).cubes, [43_691, 3, 1]);
    }

    #[test]
    fn cubes_share_cells_where_the_device_has_them() {
        let problem = Problem { target: target(1, 1, 1 << 20, false), bytes: 4, reads_all: true };
        for poor in [Hardware { units: 128, ..SMALL }, Hardware { shared: 8191, ..SMALL }] {
            assert_eq!(strategy(&problem, &poor).shared, None);
        }
        assert!(strategy(&problem, &Hardware { shared: 8192, ..SMALL }).shared.is_some());
    }
}
