//! The factors of all systems, which are not on the tape.

use super::host::{by_rows, each, numbers, tensor};
use super::kind::Factorization;
use super::structure::Structure;
use super::system::System;
use burn::tensor::Tensor;
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
    /// The solution of columns, not on the tape.
    pub(super) fn solve(&self, b: &Tensor<2>, transposed: bool, steps: usize) -> Tensor<2> {
        let [systems, rows, cols] = self.structure.sizes;
        let rows = if transposed { rows } else { cols };
        let width = b.dims()[1];
        let shape = [systems * rows, width];
        if shape.contains(&0) || self.systems.is_empty() {
            return Tensor::zeros(shape, (&b.device(), b.dtype()));
        }
        let list = numbers(b.clone());
        let at = usize::from(transposed);
        let solve = |system: usize, par| self.systems[system].solve_rows(&list, width, [system, at], steps, par);
        let mut out = Vec::with_capacity(shape[0] * width);
        each(systems, solve).iter().for_each(|x| out.extend(by_rows(x)));
        tensor(out, shape, &b.device(), b.dtype())
    }
}
