//! Softmax within segments, and its gradient: `y = exp(x - m) / s` with `m = max x` and `s = sum exp(x - m)`, or
//! `log y`; `dx = y (g - sum g y)`, or `dx = g - exp(y) sum g`. Each column is on its own.
//!
//! One pass finds `m` and `s` together: a larger number replaces `m`, and `s` is multiplied by `exp(m - new m)`. A
//! second pass writes. The backward pass has a sum in place of the pair. The length of a segment alone decides who
//! computes it, and so its bits:
//!
//! | rows of a segment | computed by | launches |
//! |---|---|---|
//! | up to 64 for each unit: 512, of wide rows 64 | a group of units, whose size follows from the width | 1 |
//! | up to 16 for each unit: 4,096, of wide rows 1,024 | a cube | 1 |
//! | more | a cube for each chunk of so many rows; their pairs are joined; a cube writes each chunk | 2 |
//!
//! Each launch goes over all segments and skips those of other classes. The second also reads the chunks. So there are
//! at most four, and fewer if there are too few rows for a class. Bytes: the rows are read twice (the second time from
//! a cache, if it holds the segment or chunk) and written once. The gradient reads two arrays.
//!
//! NaN, infinity, or nothing but minus infinity in a segment makes its column NaN, as on a CPU.
//!
//! Source: Milakov and Gimelshein, *Online normalizer calculation for softmax*, 2018.

use super::fallback::supported;
use super::forced;
use super::hardware::Hardware;
use super::launch::{accumulated, arg, count, empty, flat, hardware, launch, rows_of, runs, stored, summed};
use crate::backend::Gpu;
use crate::kernel::{SegmentSoftmax, SegmentSoftmaxBackward};
use burn::backend::DType;
use burn_cubecl::cubecl::prelude::{Float, Size};
use burn_cubecl::tensor::CubeTensor;
use kernels::{CUBE, How};

#[allow(missing_docs)]
mod kernels;

/// Most vectors of a row that the units of a cube take side by side.
const LANES: usize = 32;

/// Most units of a group, unless the row is wider, and most that share a column.
const GROUP: usize = 16;
const SLICES: usize = 8;

/// Rows that a unit of a group takes, and a unit of a cube.
const PATIENCE: usize = 64;
const ITEMS: usize = 16;

/// Rows of a chunk, at least: each needs a launch of its own over many cubes, and room for its pair.
const CHUNK: usize = 1024;

/// The rows and their width.
#[derive(Clone, Copy, Debug)]
struct Problem {
    rows: usize,
    segments: usize,
    width: usize,
    dtype: DType,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Strategy {
    /// Elements of a vector, and vectors of a row.
    vector: usize,
    columns: usize,
    /// Vectors that units take side by side, and how often a row has so many.
    lanes: usize,
    blocks: usize,
    /// Units of a group that share a column.
    slices: usize,
    /// Rows of the longest segment that a group computes, and of a chunk: at least twice as many.
    most: usize,
    chunk: usize,
}

fn strategy(problem: &Problem, hardware: &Hardware) -> Strategy {
    let (vector, columns) = hardware.vectors(problem.width, problem.dtype.size());
    let lanes = columns.next_power_of_two().min(LANES);
    let slices = (GROUP / lanes).clamp(1, SLICES);
    let chunk = (ITEMS * (CUBE / lanes)).max(CHUNK);
    Strategy { vector, columns, lanes, blocks: columns.div_ceil(lanes), slices, most: PATIENCE * slices, chunk }
}

impl Strategy {
    /// Applies the settings that a test forces.
    fn forced(self) -> Self {
        let forced = forced::now();
        let chunk = forced.items.map_or(self.chunk, |items| items * (CUBE / self.lanes)).max(2);
        Self { chunk, most: forced.patience.unwrap_or(self.most).min(chunk / 2), ..self }
    }

    /// The launches: by groups, by cubes, and by chunks.
    fn classes(&self, problem: &Problem) -> [bool; 3] {
        // A single segment has all rows.
        let grouped = problem.segments > 1 || problem.rows <= self.most;
        [grouped, problem.rows > self.most, problem.rows > self.chunk]
    }
}

impl SegmentSoftmax<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        let Self { values, ptr, log } =
            supported(self, |Self { values, ptr, .. }| runs([values, ptr]) && normalizes(values))?;
        Ok(softmax(values, None, ptr, log))
    }
}

impl SegmentSoftmaxBackward<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        let Self { out, grad, ptr, log } =
            supported(self, |Self { out, grad, ptr, .. }| runs([out, grad, ptr]) && normalizes(out))?;
        Ok(softmax(out, Some(grad), ptr, log))
    }
}

/// Whether the device has exponentials of such values, and cubes that are large enough. SPIR-V has none of f64, and
/// neither has WGSL. The Vulkan driver gets an instruction that does not exist, and computes anything.
fn normalizes(values: &CubeTensor) -> bool {
    let hardware = hardware(values);
    let shared = 2 * CUBE * 4 * accumulated(values.dtype).size();
    let exponentials = values.dtype != DType::F64 || !values.client.name().starts_with("wgpu");
    exponentials && hardware.units >= CUBE && hardware.shared >= shared
}

/// The operands of a kernel, with the distances between rows in vectors.
struct Operands {
    x: (CubeTensor, usize),
    grad: (CubeTensor, usize),
    columns: usize,
}

impl Operands {
    fn args<T: Float, N: Size>(&self) -> kernels::OperandsLaunch<T, N> {
        let Self { x, grad, columns } = self;
        kernels::OperandsLaunch::new(arg(&x.0), arg(&grad.0), x.1, grad.1, *columns)
    }
}

/// The softmax of `x`, or with `grad` the gradient of what had the softmax `x`.
fn softmax(x: CubeTensor, grad: Option<CubeTensor>, ptr: CubeTensor, log: bool) -> CubeTensor {
    let (dims, dtype) = ([x.meta.shape()[0], x.meta.shape()[1]], x.dtype);
    let (out, rows, segments) = (empty(&x, dims, dtype), dims[0], count(&ptr) - 1);
    if rows * dims[1] == 0 || segments == 0 {
        return out;
    }
    let (hardware, problem) = (hardware(&x), Problem { rows, segments, width: dims[1], dtype });
    let strategy = strategy(&problem, &hardware).forced();
    let Strategy { vector, columns, lanes, blocks, slices, most, chunk } = strategy;
    let how = How { log, backward: grad.is_some(), double: dtype == DType::F64, lanes, slices };
    // The forward pass reads no gradient.
    let (ptr, x) = (flat(ptr), rows_of(x, vector));
    let grad = grad.map_or_else(|| x.clone(), |grad| rows_of(grad, vector));
    let operands = Operands { x, grad, columns };
    let [by_groups, by_cubes, by_chunks] = strategy.classes(&problem);
    let types = [stored(dtype), accumulated(dtype), stored(ptr.dtype)];
    let tensors = [&operands.x.0, &operands.grad.0, &ptr, &out];
    if by_groups {
        let grid = hardware.cubes((segments * blocks).div_ceil(CUBE / (lanes * slices)), CUBE);
        launch!(
            softmax_groups,
            tensors,
            grid(grid),
            (vector, operands.args(), arg(&ptr), arg(&out), segments, blocks, most, how),
            types
        );
    }
    if !by_cubes {
        return out;
    }
    // The pair of each chunk, at the number of a window: there are fewer chunks than windows of half their size.
    let windows = rows.div_ceil(most);
    let states = empty(&out, [if by_chunks { 2 * windows } else { 1 }, dims[1]], summed(dtype));
    launch!(
        softmax_cubes,
        tensors,
        grid(hardware.cubes(windows * blocks, CUBE)),
        (vector, operands.args(), arg(&ptr), arg(&out), arg(&states), segments, rows, blocks, most, chunk, how),
        types
    );
    if by_chunks {
        let grid = hardware.cubes(rows.div_ceil(chunk / 2) * blocks, CUBE);
        launch!(
            softmax_fold,
            [&states, &ptr],
            grid(grid),
            (vector, arg(&ptr), arg(&states), columns, segments, rows, blocks, most, chunk, how),
            [types[1], types[2]]
        );
        launch!(
            softmax_chunks,
            tensors,
            grid(grid),
            (vector, operands.args(), arg(&ptr), arg(&out), arg(&states), segments, rows, blocks, most, chunk, how),
            types
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::hardware::tests::SMALL;
    use super::*;

    fn of(width: usize, dtype: DType) -> Strategy {
        strategy(&Problem { rows: 1, segments: 1, width, dtype }, &SMALL)
    }

    #[test]
    fn the_width_decides_who_takes_a_segment() {
        let shape = |width| {
            let Strategy { vector, lanes, blocks, slices, most, chunk, .. } = of(width, DType::F32);
            (vector, lanes, blocks, slices, most, chunk)
        };
        assert_eq!(shape(1), (1, 1, 1, 8, 512, 4096));
        assert_eq!(shape(3), (1, 4, 1, 4, 256, 1024));
        assert_eq!(shape(8), (4, 2, 1, 8, 512, 2048));
        assert_eq!(shape(47), (1, 32, 2, 1, 64, 1024));
        assert_eq!(shape(128), (4, 32, 1, 1, 64, 1024));
        assert_eq!(shape(2048), (4, 32, 16, 1, 64, 1024));
    }

    /// Each chunk has a window of its own, in both sizes of windows.
    #[test]
    fn windows_are_at_most_half_a_chunk() {
        for width in 1..200 {
            for dtype in [DType::F16, DType::F32, DType::F64] {
                let Strategy { lanes, slices, most, chunk, .. } = of(width, dtype);
                assert!(most * 2 <= chunk && lanes * slices <= CUBE && CUBE.is_multiple_of(lanes * slices));
            }
        }
    }

    #[test]
    fn classes_that_no_segment_can_be_in_are_not_launched() {
        let of = |rows, segments| {
            let problem = Problem { rows, segments, width: 1, dtype: DType::F32 };
            strategy(&problem, &SMALL).classes(&problem)
        };
        assert_eq!(of(512, 9), [true, false, false]);
        assert_eq!(of(513, 9), [true, true, false]);
        assert_eq!(of(4097, 9), [true, true, true]);
        assert_eq!(of(512, 1), [true, false, false]);
        assert_eq!(of(4097, 1), [false, true, true]);
    }
}
