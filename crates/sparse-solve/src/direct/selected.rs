//! Matrices on the pattern of a symmetric factor: the inverse, and the gradient of what was made with the factor.

use super::blocks::Blocks;
use faer::linalg::matmul::matmul;
use faer::linalg::triangular_solve::{
    solve_lower_triangular_in_place, solve_unit_lower_triangular_in_place, solve_upper_triangular_in_place,
};
use faer::{Accum, Mat, Par};

/// The inverse at the elements of the factor, for each block (Takahashi, Fagan and Chen 1973). `unit`: the factors are
/// `L D L^T` with `D` on the diagonal, else `L L^T`.
///
/// With a block `J` of columns, the rows `S` below, and `Y = L_SJ L_JJ^-1`: `Z_SJ = -Z_SS Y` and
/// `Z_JJ = L_JJ^-T D^-1 L_JJ^-1 - Y^T Z_SJ`. Cost: about that of the factors.
pub(super) fn inverse(blocks: &Blocks<'_>, unit: bool, par: Par) -> Vec<Mat<f64>> {
    let mut map = vec![0; blocks.of.len()];
    let mut out: Vec<Mat<f64>> = (0..blocks.list.len()).map(|_| Mat::new()).collect();
    for at in (0..blocks.list.len()).rev() {
        let block = blocks.list[at];
        let (width, below) = (block.width(), block.rows.len());
        // L_JJ^-1.
        let mut own = Mat::<f64>::identity(width, width);
        match unit {
            true => solve_unit_lower_triangular_in_place(block.top(), own.as_mut(), par),
            false => solve_lower_triangular_in_place(block.top(), own.as_mut(), par),
        }
        let scaled = match unit {
            true => Mat::from_fn(width, width, |row, col| own[(row, col)] / block.values[(row, row)]),
            false => own.clone(),
        };
        let mut all = Mat::zeros(width + below, width);
        matmul(all.as_mut().subrows_mut(0, width), Accum::Replace, own.transpose(), &scaled, 1.0, par);
        if below > 0 {
            let mut y = Mat::zeros(below, width);
            matmul(y.as_mut(), Accum::Replace, block.below(), &own, 1.0, par);
            let around = blocks.gather(at, &out, &mut map);
            let (mut top, mut rest) = all.as_mut().split_at_row_mut(width);
            matmul(rest.as_mut(), Accum::Replace, &around, &y, -1.0, par);
            matmul(top.as_mut(), Accum::Add, y.transpose(), rest.as_ref(), -1.0, par);
        }
        out[at] = all;
    }
    out
}

/// From the gradient of a factor `L L^T` at its elements that of the matrix, as a symmetric matrix `G` on the same
/// pattern: the derivative along a symmetric `dA` is the sum of `G_ij dA_ij` over both sides of the diagonal.
///
/// The factorisation backwards (Smith 1995; Murray 2016), a block at a time. With `H` the gradient of the block:
/// `H_SJ -= 2 G_SS L_SJ`, `G_SJ = H_SJ L_JJ^-1 / 2`, `H_JJ -= 2 G_SJ^T L_SJ`, and `G_JJ` is the symmetric part of
/// `L_JJ^-T P L_JJ^-1`, with the lower triangle `P` of `L_JJ^T H_JJ` and half of its diagonal. Cost: about twice that
/// of the factors.
pub(super) fn of_matrix(blocks: &Blocks<'_>, mut of_factor: Vec<Mat<f64>>, par: Par) -> Vec<Mat<f64>> {
    let mut map = vec![0; blocks.of.len()];
    for at in (0..blocks.list.len()).rev() {
        let block = blocks.list[at];
        let (width, below) = (block.width(), block.rows.len());
        let mut own = std::mem::replace(&mut of_factor[at], Mat::new());
        let (mut top, mut rest) = own.as_mut().split_at_row_mut(width);
        if below > 0 {
            let around = blocks.gather(at, &of_factor, &mut map);
            matmul(rest.as_mut(), Accum::Add, &around, block.below(), -2.0, par);
            // X L_JJ = H_SJ.
            solve_upper_triangular_in_place(block.top().transpose(), rest.as_mut().transpose_mut(), par);
            matmul(top.as_mut(), Accum::Add, rest.as_ref().transpose(), block.below(), -1.0, par);
            rest *= faer::Scale(0.5);
        }
        let lower = |x: faer::MatRef<'_, f64>| {
            Mat::from_fn(width, width, |row, col| if row >= col { x[(row, col)] } else { 0.0 })
        };
        let (factor, gradient) = (lower(block.top()), lower(top.as_ref()));
        let mut product = Mat::zeros(width, width);
        matmul(product.as_mut(), Accum::Replace, factor.transpose(), &gradient, 1.0, par);
        let mut half = lower(product.as_ref());
        (0..width).for_each(|at| half[(at, at)] *= 0.5);
        // L^-T P L^-1.
        solve_upper_triangular_in_place(factor.transpose(), half.as_mut(), par);
        solve_upper_triangular_in_place(factor.transpose(), half.as_mut().transpose_mut(), par);
        top.copy_from(Mat::from_fn(width, width, |row, col| (half[(row, col)] + half[(col, row)]) / 2.0));
        of_factor[at] = own;
    }
    of_factor
}
