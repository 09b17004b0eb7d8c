//! From a matrix to its hierarchy.

use super::coarsen::Candidates;
use super::config::{AmgConfig, OP};
use super::cycle::Amg;
use super::hierarchy::Hierarchy;
use burn::tensor::Tensor;
use sparse_macros::or_panic;
use sparse_ops::extend::{check_dense, read_data, same_device};
use sparse_ops::{CsrTensor, Result, SparseError};

impl AmgConfig {
    /// The hierarchy of a matrix `[N, N]` in f32 or f64, of a COO tensor by its `to_csr()`. Its candidates are
    /// constants.
    ///
    /// # Errors
    ///
    /// `shape_mismatch` if the matrix is not square; `invalid` that names the first row whose diagonal, or one over it,
    /// is not positive and finite, or that has numbers that are not finite, and for a setting out of its range;
    /// `fill_mismatch` for another fill than zero or `Undefined`; `unsupported_dtype`; `would_densify` if rows times
    /// unknowns of a node are more than [`dense_limit`](sparse_ops::dense_limit).
    #[or_panic]
    pub fn try_setup(&self, a: &CsrTensor<2>) -> Result<Amg> {
        let k = self.unknowns.max(1);
        let one = |at: usize| if at / k % k == at % k { 1.0 } else { 0.0 };
        self.check(a.dims()[0])?;
        if k > 1 {
            let what = "candidates, a column for each unknown of a node";
            check_dense(OP, what, a.dims()[0] as u128 * k as u128, "use fewer unknowns of a node")?;
        }
        self.setup_of(a, (0..a.dims()[0] * k).map(one).collect(), k)
    }

    /// The same with near-null-space candidates `[N, k]`: vectors that `A` nearly maps to 0, as rigid body modes of
    /// elasticity. They are orthonormalised in each aggregate (QR). Not on the tape.
    ///
    /// # Errors
    ///
    /// As [`try_setup`](Self::try_setup); `shape_mismatch` if the candidates have not a number for each row, or there
    /// are none; `invalid` if their numbers are not finite; `device_mismatch`.
    #[or_panic]
    pub fn try_setup_with(&self, a: &CsrTensor<2>, candidates: Tensor<2>) -> Result<Amg> {
        let [rows, k] = candidates.dims();
        if rows != a.dims()[0] || k == 0 {
            let rule = "the candidates {right} must have a row for each one of the matrix {left}, and a column";
            return Err(SparseError::shape_mismatch(OP, rule, a.dims(), [rows, k]));
        }
        self.check(rows)?;
        same_device(OP, &a.device(), &candidates.device())?;
        let list: Vec<f64> = read_data(candidates.inner()).iter::<f64>().collect();
        if let Some(at) = list.iter().position(|x| !x.is_finite()) {
            let message = format!("the candidates must be finite, got others in row {}", at / k);
            return Err(SparseError::invalid(OP, message));
        }
        self.setup_of(a, list, k)
    }

    fn setup_of(&self, a: &CsrTensor<2>, list: Vec<f64>, k: usize) -> Result<Amg> {
        let unknowns = self.unknowns;
        let nodes = (unknowns > 1 || k > 1).then(|| (0..a.dims()[0]).map(|row| (row / unknowns) as i64).collect());
        let hierarchy = Hierarchy::new(self, a, Candidates { list, k, nodes })?;
        Ok(Amg::new(hierarchy, [self.pre_sweeps, self.post_sweeps], self.cycle))
    }
}
