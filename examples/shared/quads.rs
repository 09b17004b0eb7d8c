//! Grids of square elements: `rows x cols` of them, with a node at each corner, all numbered row by row.

use burn::tensor::{DType, Device, Int, Tensor, TensorData};
use sparse_tensor::{CsrTensor, SparseError};

/// The grids are in f64: systems with a million unknowns are nearly singular in f32.
pub(crate) const DTYPE: DType = DType::F64;

/// The unknowns of each element, `[rows * cols, 4 * unknowns]`: the corners from the top left one on, clockwise in the
/// picture, with `unknowns` numbers each.
pub(crate) fn connectivity([rows, cols]: [usize; 2], unknowns: usize, device: &Device) -> Tensor<2, Int> {
    let mut list = vec![];
    for element in 0..rows * cols {
        let first = element / cols * (cols + 1) + element % cols;
        for node in [first, first + 1, first + cols + 2, first + cols + 1] {
            list.extend((0..unknowns).map(|own| (node * unknowns + own) as i64));
        }
    }
    Tensor::from_data(TensorData::new(list, [rows * cols, 4 * unknowns]), &device.clone().inner())
}

/// Each element as the mean of those around it, nearer ones with more weight: a cone of this radius.
pub(crate) fn cone([rows, cols]: [usize; 2], radius: f64, device: &Device) -> Result<CsrTensor<2>, SparseError> {
    let reach = radius.ceil() as isize;
    let (mut from, mut to, mut weights) = (vec![], vec![], vec![]);
    for (row, col) in (0..rows as isize).flat_map(|row| (0..cols as isize).map(move |col| (row, col))) {
        let start = weights.len();
        for (down, right) in (-reach..=reach).flat_map(|down| (-reach..=reach).map(move |right| (down, right))) {
            let weight = radius - ((down * down + right * right) as f64).sqrt();
            let (there, beside) = (row + down, col + right);
            if weight > 0.0 && (0..rows as isize).contains(&there) && (0..cols as isize).contains(&beside) {
                from.push(row as usize * cols + col as usize);
                to.push(there as usize * cols + beside as usize);
                weights.push(weight);
            }
        }
        let sum: f64 = weights[start..].iter().sum();
        weights[start..].iter_mut().for_each(|weight| *weight /= sum);
    }
    CsrTensor::from_triplets(&from, &to, &weights, [rows * cols; 2], (device, DTYPE))
}

/// The conduction matrix `[1, 4, 4]` of a square with a conductivity of 1.
#[allow(dead_code)] // The beam has another matrix.
pub(crate) fn conduction(device: &Device) -> Tensor<3> {
    let rows = [[4.0, -1.0, -2.0, -1.0], [-1.0, 4.0, -1.0, -2.0], [-2.0, -1.0, 4.0, -1.0], [-1.0, -2.0, -1.0, 4.0]];
    Tensor::<3>::from_data([rows], (device, DTYPE)) / 6.0
}

/// The nodes on the edge of the grid.
#[allow(dead_code)]
pub(crate) fn edge([rows, cols]: [usize; 2]) -> Vec<usize> {
    let nodes = (0..=rows).flat_map(|row| (0..=cols).map(move |col| (row, col)));
    let outer = nodes.filter(|&(row, col)| [0, rows].contains(&row) || [0, cols].contains(&col));
    outer.map(|(row, col)| row * (cols + 1) + col).collect()
}
