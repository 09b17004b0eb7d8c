//! The limits of a device, as plain numbers, and grids and vectors within these limits.

use super::forced;
use burn_cubecl::cubecl::client::Client;
use burn_cubecl::cubecl::{CubeCount, CubeDim};

/// Limits of a device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Hardware {
    /// Most cubes of a launch along each axis.
    pub cubes: [usize; 3],
    /// Most units of a cube.
    pub units: usize,
    /// Units of a plane. They run at the same time.
    pub plane: usize,
    /// Bytes of memory that the units of a cube share.
    pub shared: usize,
    /// Bytes of the largest buffer.
    pub buffer: u64,
    /// Bits that are read at once.
    pub width: usize,
    /// Most elements of a vector.
    pub vector: usize,
    /// Most buffers that a kernel binds, without the one that has the sizes.
    pub bindings: usize,
}

/// Cubes of a launch along each axis, and the units of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Grid {
    pub cubes: [usize; 3],
    pub units: [usize; 2],
}

/// Planes of a cube whose units each work alone, as in CubeCL's element-wise kernels.
const PLANES: usize = 8;

impl Hardware {
    /// The limits of a device.
    pub fn of(client: &Client) -> Self {
        let properties = client.properties();
        let limits = &properties.hardware;
        let (x, y, z) = limits.max_cube_count;
        let forced = forced::now();
        let x = forced.cubes.map_or(x, |most| x.min(most as u32));
        Self {
            cubes: [x, y, z].map(|most| most as usize),
            units: limits.max_units_per_cube as usize,
            plane: limits.plane_size_max as usize,
            shared: limits.max_shared_memory_size.min(forced.shared.unwrap_or(usize::MAX)),
            buffer: properties.memory.max_page_size.min(forced.buffer.unwrap_or(u64::MAX)),
            width: properties.io_width() as usize,
            vector: limits.max_vector_size,
            bindings: (limits.max_bindings as usize).min(forced.bindings.unwrap_or(usize::MAX)),
        }
    }

    /// At least `number` cubes of `units` units, over as few axes as possible. Kernels must check the bounds.
    pub fn cubes(&self, number: usize, units: usize) -> Grid {
        let mut left = number;
        let mut cubes = [1; 3];
        for (axis, most) in self.cubes.into_iter().enumerate() {
            // Cubes along the axes after this one.
            let rest = left.div_ceil(most);
            cubes[axis] = left.div_ceil(rest.max(1));
            left = rest;
        }
        assert!(left <= 1, "a launch must fit {:?} cubes, got {number}", self.cubes);
        Grid { cubes, units: [units, 1] }
    }

    /// At least `units` units, each of which works alone.
    pub fn units(&self, units: usize) -> Grid {
        let planes = (units / self.plane).clamp(1, PLANES).ilog2();
        let planes = (1 << planes).min(self.units / self.plane).max(1);
        let number = units.div_ceil(self.plane * planes);
        Grid { units: [self.plane, planes], ..self.cubes(number, self.plane * planes) }
    }

    /// Whether a buffer can have so many elements of `bytes` bytes.
    pub fn holds(&self, elements: usize, bytes: usize) -> bool {
        (elements as u64).saturating_mul(bytes as u64) <= self.buffer
    }

    /// How a row of `width` elements of `bytes` bytes is cut into vectors, the largest that divide it: elements of a
    /// vector, and vectors of the row.
    pub fn vectors(&self, width: usize, bytes: usize) -> (usize, usize) {
        let widest = (self.width / (8 * bytes)).min(self.vector);
        let vector = [4, 2].into_iter().find(|&size| size <= widest && width.is_multiple_of(size)).unwrap_or(1);
        (vector, width / vector)
    }
}

impl Grid {
    pub fn count(&self) -> CubeCount {
        let [x, y, z] = self.cubes.map(|count| count as u32);
        CubeCount::Static(x, y, z)
    }

    pub fn dim(&self) -> CubeDim {
        CubeDim::new_2d(self.units[0] as u32, self.units[1] as u32)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The limits that WebGPU promises.
    pub const SMALL: Hardware = Hardware {
        cubes: [65_535; 3],
        units: 256,
        plane: 32,
        shared: 16_384,
        buffer: 128 << 20,
        width: 128,
        vector: 4,
        bindings: 7,
    };

    fn holds(grid: Grid) -> usize {
        grid.cubes.iter().chain(&grid.units).product()
    }

    #[test]
    fn grids_hold_all_units_over_as_few_axes_as_they_need() {
        for (number, axes) in [(0, 0), (1, 0), (65_535, 1), (65_536, 2), (65_535 * 65_535, 2), (65_535 * 65_535 + 1, 3)]
        {
            let grid = SMALL.cubes(number, 64);
            assert_eq!(grid.units, [64, 1]);
            assert!(holds(grid) >= number * 64 && holds(grid) <= (number + 65_535 + 1) * 64, "{number}: {grid:?}");
            assert_eq!(grid.cubes.iter().filter(|&&count| count > 1).count(), axes, "{number}");
            assert!(grid.cubes.iter().all(|&count| count <= 65_535));
        }
    }

    #[test]
    #[should_panic(expected = "a launch must fit")]
    fn a_grid_has_an_end() {
        Hardware { cubes: [2; 3], ..SMALL }.cubes(9, 64);
    }

    #[test]
    fn units_come_in_whole_planes() {
        for (units, planes) in [(1, 1), (32, 1), (63, 1), (64, 2), (255, 4), (256, 8), (1 << 20, 8)] {
            let grid = SMALL.units(units);
            assert_eq!(grid.units, [32, planes], "{units}");
            assert!(holds(grid) >= units);
        }
        // A device whose cubes hold fewer, and one whose planes are wider than a cube may be.
        assert_eq!(Hardware { units: 128, ..SMALL }.units(1 << 20).units, [32, 4]);
        assert_eq!(Hardware { units: 32, plane: 64, ..SMALL }.units(1 << 20).units, [64, 1]);
    }

    #[test]
    fn buffers_have_a_limit() {
        assert!(SMALL.holds(32 << 20, 4) && !SMALL.holds((32 << 20) + 1, 4));
        assert!(!SMALL.holds(usize::MAX, 8));
    }

    #[test]
    fn vectors_divide_rows_and_fit_a_read() {
        assert_eq!([12, 6, 7].map(|width| SMALL.vectors(width, 4).0), [4, 2, 1]);
        assert_eq!([12, 6, 7].map(|width| SMALL.vectors(width, 8).0), [2, 2, 1]);
        assert_eq!([12, 6, 7].map(|width| SMALL.vectors(width, 2).0), [4, 2, 1]);
    }
}
