//! Where a matrix has elements.

use super::axis::Axis;
use super::figure::Plot;
use super::shapes::{Panel, Shape, Swatch, Tone};
use sparse_macros::or_panic;
use sparse_ops::extend::read_data;
use sparse_ops::pattern::Pattern;
use sparse_ops::{Kind, Result, SparseError, SparseTensor};

/// Up to this many elements each is drawn; more are counted in cells of a grid with at most this many along an axis.
const ELEMENTS: usize = 3000;
const CELLS: usize = 64;
/// Shades of a cell. Neighbours of one shade are one shape.
const SHADES: f64 = 12.0;
/// Lines between classes.
const CLASSES: usize = 100;

/// A spy plot: the stored elements of a matrix, row 0 at the top.
///
/// Up to 3000 elements are drawn one by one. More are counted in a grid of at most 64 x 64 cells: the fullest cell is
/// the darkest, and the square root of a count says how dark a cell is. So the picture has at most 4096 shapes. Stored
/// zeros count, and so does each duplicate. Reads the coordinates to the host.
///
/// ```
/// use burn::tensor::Device;
/// use sparse_tensor::{CooTensor, plot::spy};
///
/// let device = Device::flex();
/// let a = CooTensor::<2>::from_triplets(&[0, 1, 2], &[0, 1, 2], &[1.0f32; 3], [3, 3], &device).unwrap();
/// assert!(spy(&a).text(40, 16).contains("3 elements of 3 x 3"));
/// ```
///
/// # Errors
///
/// `shape_mismatch` for a matrix with a dense dim.
#[or_panic]
pub fn try_spy<P: Pattern, K: Kind>(matrix: &SparseTensor<P, 2, K>) -> Result<Plot> {
    let (rows, cols) = coordinates("spy", matrix)?;
    Ok(Plot::new(panel(matrix.dims(), &rows, &cols)))
}

/// A spy plot of a square matrix whose rows and columns are sorted by class: an adjacency, where classes that hold
/// together are dark squares. Grey lines stand between the first 100 classes. Otherwise as [`spy`].
///
/// ```
/// use burn::tensor::Device;
/// use sparse_tensor::{data::karate, plot::spy_by_class};
///
/// let graph = karate(&Device::flex());
/// let labels = graph.labels.to_vec();
/// assert!(spy_by_class(&graph.adjacency, &labels).text(60, 24).contains("156 elements of 34 x 34"));
/// ```
///
/// # Errors
///
/// As [`try_spy`]; `shape_mismatch` if the matrix is not square; `length_mismatch` if there is not one label for each
/// row.
#[or_panic]
pub fn try_spy_by_class<P: Pattern, K: Kind>(matrix: &SparseTensor<P, 2, K>, labels: &[i64]) -> Result<Plot> {
    const OP: &str = "spy_by_class";
    let [height, width] = matrix.dims();
    if height != width {
        let rule = "the matrix must be square, got {left:1} x {right:1}";
        return Err(SparseError::shape_mismatch(OP, rule, [height], [width]));
    }
    if labels.len() != height {
        return Err(SparseError::length_mismatch(OP, "the labels, one for each row,", height, labels.len()));
    }
    let (mut rows, mut cols) = coordinates(OP, matrix)?;
    let mut order: Vec<usize> = (0..height).collect();
    order.sort_by_key(|&node| labels[node]);
    let mut place = vec![0; height];
    order.iter().enumerate().for_each(|(at, &node)| place[node] = at as i64);
    rows.iter_mut().chain(&mut cols).for_each(|node| *node = place[*node as usize]);
    let mut panel = panel([height, width], &rows, &cols);
    let ends = (1..height).filter(|&at| labels[order[at]] != labels[order[at - 1]]);
    for at in ends.take(CLASSES).map(|at| at as f64) {
        let size = height as f64;
        for points in [vec![(at, 0.0), (at, size)], vec![(0.0, at), (size, at)]] {
            panel.shapes.insert(0, Shape::Line { points, tone: Tone::Grey, alpha: 0.5, width: 1.0 });
        }
    }
    panel.title = "Stored elements, sorted by class".into();
    Ok(Plot::new(panel))
}

/// Row and column of each element.
fn coordinates<P: Pattern, K: Kind>(op: &'static str, matrix: &SparseTensor<P, 2, K>) -> Result<(Vec<i64>, Vec<i64>)> {
    if matrix.dense_dims() > 0 {
        let (left, right) = (matrix.dims().to_vec(), vec![matrix.sparse_dims(), matrix.dense_dims()]);
        let rule = "the matrix must have no dense dims, got shape {left} with [sparse, dense] dims {right}";
        return Err(SparseError::shape_mismatch(op, rule, left, right));
    }
    Ok(ends(matrix.pattern()))
}

/// Row and column of each element of a matrix.
pub(super) fn ends(pattern: &impl Pattern) -> (Vec<i64>, Vec<i64>) {
    if pattern.nnz() == 0 {
        return (vec![], vec![]);
    }
    let mut rows: Vec<i64> = read_data(pattern.coordinates().clone()).iter::<i64>().collect();
    let cols = rows.split_off(pattern.nnz());
    (rows, cols)
}

fn panel([height, width]: [usize; 2], rows: &[i64], cols: &[i64]) -> Panel {
    let (high, wide) = (height.max(1) as f64, width.max(1) as f64);
    let (x, y) = (Axis::new("column", 0.0, wide, true), Axis::new("row", high, 0.0, true));
    let mut panel = Panel::new("Stored elements", x, y);
    // A very long matrix is still a picture.
    panel.aspect = Some((high / wide).clamp(0.25, 4.0));
    let cell = |from, to, alpha| Shape::Cell { from, to, tone: Tone::Series(0), alpha };
    let mut name = format!("{} elements of {height} x {width}", rows.len());
    if rows.len() <= ELEMENTS {
        let elements = rows.iter().zip(cols).map(|(&row, &col)| (col as f64, row as f64));
        // A small space parts neighbours.
        panel.shapes.extend(elements.map(|(x, y)| cell((x + 0.06, y + 0.06), (x + 0.94, y + 0.94), 0.85)));
    } else {
        let (down, across) = (height.clamp(1, CELLS), width.clamp(1, CELLS));
        let mut counts = vec![0u64; down * across];
        let bin = |at: i64, bins: usize, size: usize| (at as u128 * bins as u128 / size as u128) as usize;
        for (&row, &col) in rows.iter().zip(cols) {
            counts[bin(row, down, height) * across + bin(col, across, width)] += 1;
        }
        let most = counts.iter().copied().max().unwrap_or(0).max(1);
        let shade = |count: u64| ((count as f64 / most as f64).sqrt() * SHADES).ceil();
        for (at, line) in counts.chunks(across).enumerate() {
            let (top, bottom) = (at as f64 * high / down as f64, (at + 1) as f64 * high / down as f64);
            let mut left = 0;
            for run in line.chunk_by(|a, b| shade(*a) == shade(*b)) {
                let (from, to) = (left as f64 * wide / across as f64, (left + run.len()) as f64 * wide / across as f64);
                if shade(run[0]) > 0.0 {
                    panel.shapes.push(cell((from, top), (to, bottom), shade(run[0]) / SHADES));
                }
                left += run.len();
            }
        }
        name = format!("{name}; darkest: {most} in a cell of {} x {}", height.div_ceil(down), width.div_ceil(across));
    }
    panel.legend.push((Swatch::Cell(Tone::Series(0)), name));
    panel
}
