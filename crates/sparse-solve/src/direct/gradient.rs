//! Solutions on the tape: one more solve with the factors that exist.

use super::core::Core;
use super::host::{each, numbers};
use burn::tensor::Tensor;
use faer::Mat;
use sparse_ops::extend::{Compressed, Erased, kernel, record};
use sparse_ops::pattern::Pattern;
use std::sync::Arc;

/// A solve, as the backward pass knows it.
#[derive(Debug, Clone)]
pub(super) struct Solve {
    pub core: Arc<Core>,
    pub steps: usize,
    pub transposed: bool,
}

/// What the backward pass keeps. `second`: of least squares the residual, or the solution `y` of the normal equations.
#[derive(Debug)]
struct Saved {
    solve: Solve,
    x: Option<Tensor<2>>,
    values: Tensor<2>,
    second: Option<Tensor<2>>,
}

impl Solve {
    /// The solution `x` of columns.
    pub(super) fn on_tape(self, values: &Tensor<2>, b: Tensor<2>) -> Tensor<2> {
        let plain = b.clone().inner();
        let x = self.core.solve(&plain, self.transposed, self.steps);
        let parents = [Erased::from(values), Erased::from(&b)];
        let tracked = values.is_tracked();
        if !tracked && !b.is_tracked() {
            return record(x, parents, (), |(), _, _| [None, None]);
        }
        let plain_values = values.clone().inner();
        let second = (tracked && !self.is_square()).then(|| match self.is_tall() {
            true => plain - self.product(&plain_values, &x, self.transposed),
            false => self.core.solve(&x, !self.transposed, self.steps),
        });
        let saved = Saved { solve: self, x: tracked.then(|| x.clone()), values: plain_values, second };
        record(x, parents, saved, |saved, grad, [to_values, to_b]| {
            let solve = &saved.solve;
            let own = solve.core.solve(&grad, !solve.transposed, solve.steps);
            let of_values = to_values.then(|| saved.gradient(&own, grad));
            [of_values.map(Into::into), to_b.then(|| own.into())]
        })
    }

    fn is_square(&self) -> bool {
        let [_, rows, cols] = self.core.structure.sizes;
        rows == cols
    }

    /// Of the matrix that is solved with: `A`, or its transpose.
    fn is_tall(&self) -> bool {
        let [_, rows, cols] = self.core.structure.sizes;
        (rows > cols) != self.transposed
    }

    /// `A x`, or `A^T x`.
    fn product(&self, values: &Tensor<2>, x: &Tensor<2>, transposed: bool) -> Tensor<2> {
        let structure = &self.core.structure;
        let matrix = &structure.pattern;
        let view: &Compressed = match transposed {
            true => sparse_ops::extend::by_columns(matrix).expect("a matrix"),
            false => sparse_ops::extend::by_rows(matrix).expect("a matrix"),
        };
        let moved = match &view.perm {
            Some(perm) => values.clone().select(0, perm.clone()),
            None => values.clone(),
        };
        let view = Compressed { ptr: view.ptr.clone(), idx: view.idx.clone(), perm: None };
        kernel::spmm(&view, &moved, x)
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
}

impl Saved {
    /// Of the stored elements, from that of the right-hand side and that of the solution.
    fn gradient(&self, own: &Tensor<2>, grad: Tensor<2>) -> Tensor<2> {
        let solve = &self.solve;
        let x = self.x.as_ref().expect("kept for it");
        let first = solve.sampled(own, x).neg();
        let Some(second) = &self.second else { return first };
        first
            + match solve.is_tall() {
                true => solve.sampled(second, &solve.core.solve(own, solve.transposed, solve.steps)),
                false => solve.sampled(second, &(grad - solve.product(&self.values, own, !solve.transposed))),
            }
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
