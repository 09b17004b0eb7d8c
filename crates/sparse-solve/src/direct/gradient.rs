//! Solutions on the tape: one more solve with the factors that exist.

use super::core::Core;
use super::host::{columns, each, numbers, tensor};
use burn::tensor::Tensor;
use faer::Mat;
use sparse_ops::extend::{Erased, kernel, record};
use sparse_ops::pattern::Pattern;
use std::sync::Arc;

/// A solve, as the backward pass knows it.
#[derive(Debug, Clone)]
pub(super) struct Solve {
    pub core: Arc<Core>,
    pub steps: usize,
    pub transposed: bool,
}

/// What the gradient of the matrix needs.
#[derive(Debug)]
enum Kept {
    Nothing,
    /// `x`.
    Square(Tensor<2>),
    /// `x` of each system, and the residual of a tall matrix, or the solution `y` of the normal equations of a wide
    /// one. In f64, since steps between two numbers of f32 may be beyond those of f32.
    LeastSquares(Vec<[Mat<f64>; 2]>),
}

impl Solve {
    /// The solution `x` of columns, whose numbers are `list`.
    pub(super) fn on_tape(self, values: &Tensor<2>, b: Tensor<2>, list: &[f64]) -> Tensor<2> {
        let (plain, width) = (b.clone().inner(), b.dims()[1]);
        let solved = self.core.solutions(list, width, self.transposed, self.steps);
        let x = self.core.rows(&solved, &plain, self.transposed);
        let parents = [Erased::from(values), Erased::from(&b)];
        let tracked = values.is_tracked();
        if !tracked && !b.is_tracked() {
            return record(x, parents, (), |(), _, _| [None, None]);
        }
        let [_, rows, cols] = self.core.structure.sizes;
        let kept = match tracked {
            false => Kept::Nothing,
            true if rows == cols => Kept::Square(x.clone()),
            true => Kept::LeastSquares(self.with_second(list, solved)),
        };
        record(x, parents, (self, kept), |(solve, kept), grad, [to_values, to_b]| {
            let list = numbers(grad.clone());
            let own = solve.core.solutions(&list, grad.dims()[1], !solve.transposed, solve.steps);
            let of_b = solve.core.rows(&own, &grad, !solve.transposed);
            let of_values = to_values.then(|| match kept {
                Kept::Nothing => unreachable!("kept for it"),
                Kept::Square(x) => solve.sampled(&of_b, x).neg(),
                Kept::LeastSquares(kept) => solve.of_least_squares(kept, &own, &grad, &list),
            });
            [of_values.map(Into::into), to_b.then(|| of_b.into())]
        })
    }

    /// Of the matrix that is solved with: `A`, or its transpose.
    fn is_tall(&self) -> bool {
        let [_, rows, cols] = self.core.structure.sizes;
        (rows > cols) != self.transposed
    }

    fn with_second(&self, list: &[f64], solutions: Vec<Mat<f64>>) -> Vec<[Mat<f64>; 2]> {
        let second = |at: usize, par| {
            let (system, x) = (&self.core.systems[at], &solutions[at]);
            match self.is_tall() {
                true => self.rest(at, list, x, self.transposed),
                false => system.solve(x, !self.transposed, self.steps, par),
            }
        };
        let all = each(solutions.len(), second);
        solutions.into_iter().zip(all).map(|(x, second)| [x, second]).collect()
    }

    /// The rows of the system `at` in `b`, less `A x` or `A^T x`.
    fn rest(&self, at: usize, b: &[f64], x: &Mat<f64>, transposed: bool) -> Mat<f64> {
        let image = self.core.systems[at].product().apply(x, transposed);
        columns(b, x.ncols(), at * image.nrows()..(at + 1) * image.nrows()) - image
    }

    /// `left_i right_j` summed over the columns, at the stored elements of the matrix that is solved with.
    fn sampled(&self, left: &Tensor<2>, right: &Tensor<2>) -> Tensor<2> {
        let [rows, cols] = &self.core.structure.ends;
        let nnz = self.core.structure.pattern.nnz();
        if nnz == 0 || left.dims()[1] == 0 {
            return Tensor::zeros([nnz, 1], (&left.device(), left.dtype()));
        }
        let [left, right] = if self.transposed { [right, left] } else { [left, right] };
        kernel::sddmm(rows, cols, left, right, 1)
    }

    /// The gradient of the stored elements, of least squares: both terms. From the gradient `own` of the right-hand
    /// side, and that of the solution, whose numbers are `list`.
    fn of_least_squares(&self, kept: &[[Mat<f64>; 2]], own: &[Mat<f64>], grad: &Tensor<2>, list: &[f64]) -> Tensor<2> {
        let width = grad.dims()[1];
        let one = |at: usize, par| {
            let (system, own, [x, second]) = (&self.core.systems[at], &own[at], &kept[at]);
            let other = match self.is_tall() {
                true => system.solve(own, self.transposed, self.steps, par),
                false => self.rest(at, list, own, !self.transposed),
            };
            let cell = |row: usize, col: usize| -> f64 {
                let [i, j] = if self.transposed { [col, row] } else { [row, col] };
                (0..width).map(|k| second[(i, k)] * other[(j, k)] - own[(i, k)] * x[(j, k)]).sum()
            };
            system.plan.row_ids().zip(&system.plan.idx).map(|(row, &col)| cell(row, col)).collect::<Vec<_>>()
        };
        let mut out = each(kept.len(), one).concat();
        let nnz = self.core.structure.pattern.nnz();
        // Without columns there are no solutions.
        out.resize(nnz, 0.0);
        tensor(out, [nnz, 1], &grad.device(), grad.dtype())
    }
}

/// Of a function of the inverse `Z`, from its gradient `G` at the stored elements or on the diagonal: `-Z^T G Z^T` at
/// the stored elements, by solves with `BLOCK` rows of `G` at a time. Memory `O(nnz + n BLOCK)`, and `2 n` solves.
pub(super) fn of_inverse(core: &Core, gradient: Tensor<1>, diagonal: bool) -> Vec<f64> {
    const BLOCK: usize = 32;
    let list = numbers(gradient);
    let [_, n, _] = core.structure.sizes;
    let one = |system: usize, par| {
        let own = &core.systems[system];
        let (plan, stored) = (&own.plan, core.structure.values(system));
        let g = if diagonal { &list[system * n..(system + 1) * n] } else { &list[stored.clone()] };
        let mut out = vec![0.0; stored.len()];
        for start in (0..n).step_by(BLOCK) {
            let width = BLOCK.min(n - start);
            let (mut units, mut rows) = (Mat::zeros(n, width), Mat::zeros(n, width));
            for col in 0..width {
                let row = start + col;
                units[(row, col)] = 1.0;
                if diagonal {
                    rows[(row, col)] = g[row];
                } else {
                    (plan.ptr[row]..plan.ptr[row + 1]).for_each(|at| rows[(plan.idx[at], col)] = g[at]);
                }
            }
            let (left, right) = (own.solve(&units, true, 0, par), own.solve(&rows, false, 0, par));
            for row in 0..n {
                for at in plan.ptr[row]..plan.ptr[row + 1] {
                    let sum: f64 = (0..width).map(|col| left[(row, col)] * right[(plan.idx[at], col)]).sum();
                    out[at] -= sum;
                }
            }
        }
        out
    };
    each(core.systems.len(), one).concat()
}
