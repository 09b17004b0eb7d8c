//! The factors of all systems, which are not on the tape.

use super::host::{by_rows, each, tensor};
use super::kind::Factorization;
use super::structure::Structure;
use super::system::{Place, System};
use burn::tensor::Tensor;
use faer::Mat;
use std::fmt;
use std::sync::Arc;

/// What a factor shares with its clones and with the backward pass.
pub(super) struct Core {
    pub how: Factorization,
    pub structure: Arc<Structure>,
    pub systems: Vec<System>,
    pub batched: bool,
}

impl fmt::Debug for Core {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Core").field("how", &self.how).field("sizes", &self.structure.sizes).finish_non_exhaustive()
    }
}

impl Core {
    /// The solution of each system for rows `[systems * rows, width]`, in f64. None of them without rows or columns.
    pub(super) fn solutions(&self, list: &[f64], width: usize, transposed: bool, steps: usize) -> Vec<Mat<f64>> {
        if width == 0 || self.systems.is_empty() {
            return vec![];
        }
        let at = usize::from(transposed);
        let solve = |system: usize, par| self.systems[system].solve_rows(list, width, [system, at], steps, par);
        each(self.systems.len(), solve)
    }

    /// Solutions as rows of a tensor like `b`, not on the tape.
    pub(super) fn rows(&self, solutions: &[Mat<f64>], b: &Tensor<2>, transposed: bool) -> Tensor<2> {
        let [systems, rows, cols] = self.structure.sizes;
        let shape = [systems * if transposed { rows } else { cols }, b.dims()[1]];
        if solutions.is_empty() {
            return Tensor::zeros(shape, (&b.device(), b.dtype()));
        }
        let mut out = Vec::with_capacity(shape[0] * shape[1]);
        solutions.iter().for_each(|x| out.extend(by_rows(x)));
        tensor(out, shape, &b.device(), b.dtype())
    }

    /// The names in errors about a system.
    pub(super) fn place(&self, op: &'static str, system: usize) -> Place {
        Place { op, system: self.batched.then_some(system) }
    }
}
