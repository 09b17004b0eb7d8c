//! How much a solution moves with the numbers of its system.

use super::factor::Factor;
use super::host::{columns, each};
use super::system::System;
use crate::norm_estimate::estimate;
use faer::Par;
use sparse_ops::Result;
use sparse_ops::extend::expect;

impl Factor {
    /// About the condition number of each system in the 1-norm, `|A| |A^-1|`, from below: the first norm is exact, the
    /// second one by [`onenormest`](crate::onenormest()) with at most 9 solves. A solution loses about its logarithm
    /// to base 10 in digits. Infinite where the estimate overflows; 0 without rows. No gradient.
    pub fn condition(&self) -> Vec<f64> {
        let [systems, ..] = self.core.structure.sizes;
        let found = each(self.core.systems.len(), |at, par| self.core.systems[at].condition(par));
        let mut out: Vec<f64> = found.into_iter().map(expect).collect();
        out.resize(systems, 0.0);
        out
    }
}

impl System {
    fn condition(&self, par: Par) -> Result<f64> {
        let [rows, cols] = [self.plan.rows, self.plan.cols];
        let mut sums = vec![0.0; cols];
        self.plan.idx.iter().zip(&self.values).for_each(|(&col, value)| sums[col] += value.abs());
        let norm = sums.into_iter().fold(0.0, f64::max);
        let solve = |list: Vec<f64>, width: usize, transposed: bool| {
            let n = list.len() / width;
            let x = self.solve(&columns(&list, width, 0..n), transposed, 0, par);
            Ok(super::host::by_rows(&x).collect())
        };
        let inverse = estimate([cols, rows], &mut |list, width| solve(list, width, false), &mut |list, width| {
            solve(list, width, true)
        })?;
        Ok(norm * inverse)
    }
}
