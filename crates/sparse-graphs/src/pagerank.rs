//! PageRank.

use super::host::number;
use burn::config::Config;
use burn::module::Module;
use burn::tensor::Tensor;
use sparse_macros::or_panic;
use sparse_nn::try_row_normalization;
use sparse_ops::extend::{Exact, Parts, check_square, same_elements, sum_dim};
use sparse_ops::{CsrTensor, Result, SparseError};

/// PageRank by power iteration, on the device of the adjacency.
///
/// `x = d (P^T x + s u) + (1 - d) u`, where `P` is the adjacency with rows that sum to 1, `d` the damping, `u` the
/// distribution to which a surfer jumps (uniform, or the personalisation), and `s` the share of nodes without edges,
/// whose surfers jump too. `x` starts at `u`. The iteration ends when `sum_i |x_i - x_i'|` is at most the tolerance.
///
/// Row `i` has the edges that leave node `i`; their values are weights, which must not be negative. A node whose row
/// sums to 0 has no edges. Cost: a transposition, then one product of the matrix and a vector for each iteration, and
/// one number read from the device. The element type is that of the adjacency; f32 reaches a tolerance of about 1e-7.
/// The result is not on the autodiff tape. (networkx's `pagerank`, whose tolerance is divided by the number of nodes.)
///
/// Source: Page, Brin, Motwani and Winograd, *The PageRank citation ranking*, 1999.
///
/// ```
/// use burn::tensor::Device;
/// use sparse_tensor::data::{PageRankConfig, karate};
///
/// let ranks = PageRankConfig::new().ranks(&karate(&Device::flex()).adjacency, None);
/// // The officers' leader is first, with 0.1009 of all visits.
/// assert_eq!(ranks.clone().argmax(0).into_scalar::<i64>(), 33);
/// assert!((ranks.max().into_scalar::<f32>() - 0.1009).abs() < 1e-4);
/// ```
#[derive(Config, Debug)]
pub struct PageRankConfig {
    /// The probability to follow an edge instead of jumping.
    #[config(default = 0.85)]
    pub damping: f64,
    /// The largest sum of changes at which the iteration ends.
    #[config(default = 1e-6)]
    pub tolerance: f64,
    /// The most iterations.
    #[config(default = 100)]
    pub max_iterations: usize,
}

impl PageRankConfig {
    /// The rank of each node, `[N]`; the ranks sum to 1. `personalization` `[N]` has the weight of each node as the
    /// target of a jump; it is divided by its sum.
    ///
    /// # Errors
    ///
    /// `shape_mismatch` if the adjacency is not square; `fill_mismatch` for another fill than zero or undefined;
    /// `length_mismatch`, `dtype_mismatch`, `device_mismatch` if the personalisation does not fit; `invalid` for a
    /// damping outside `[0, 1]`, weights that are negative or not finite, a personalisation that sums to 0, and if the
    /// tolerance is not reached.
    #[or_panic]
    pub fn try_ranks(&self, adjacency: &CsrTensor<2>, personalization: Option<Tensor<1>>) -> Result<Tensor<1>> {
        const OP: &str = "PageRankConfig::ranks";
        check_square(OP, adjacency)?;
        if !(0.0..=1.0).contains(&self.damping) {
            return Err(SparseError::invalid(OP, format!("the damping must be in [0, 1], got {}", self.damping)));
        }
        let nodes = adjacency.dims()[0];
        let off_tape = Module::valid(adjacency);
        let options = (&off_tape.device(), off_tape.dtype());
        if nodes == 0 {
            return Ok(Tensor::empty([0], options));
        }
        check_weights(OP, "an edge's weight", off_tape.rows().clone().flatten(0, 1))?;
        let jump = match personalization {
            None => Tensor::full([nodes], 1.0 / nodes as f64, options),
            Some(given) => {
                let given = given.inner();
                if given.dims()[0] != nodes {
                    return Err(SparseError::length_mismatch(OP, "the personalization", nodes, given.dims()[0]));
                }
                same_elements(OP, off_tape.rows(), &given)?;
                check_weights(OP, "a personalization", given.clone())?;
                let sum = number(sum_dim(given.clone(), 0));
                if sum <= 0.0 {
                    let message = "a personalization must be above 0 for some node, got 0 for all";
                    return Err(SparseError::invalid(OP, message));
                }
                given.div_scalar(sum)
            }
        };
        let jump = jump.reshape(Exact([nodes, 1]));
        // Nodes without edges, as ones.
        let sums = off_tape.try_row_sums()?.reshape(Exact([nodes, 1]));
        let dangling = sums.clone().zeros_like().mask_fill(sums.lower_equal_scalar(0.0), 1.0);
        let back = try_row_normalization(&off_tape)?.try_transpose()?;
        let mut ranks = jump.clone();
        let mut change = 0.0;
        for _ in 0..self.max_iterations {
            let stuck = sum_dim(ranks.clone() * dangling.clone(), 0);
            let followed = back.try_matmul(ranks.clone())? + jump.clone() * stuck;
            let next = followed.mul_scalar(self.damping) + jump.clone().mul_scalar(1.0 - self.damping);
            change = number(sum_dim((next.clone() - ranks).abs(), 0).reshape(Exact([1])));
            ranks = next;
            if change <= self.tolerance {
                return Ok(ranks.reshape(Exact([nodes])));
            }
        }
        let (most, tolerance) = (self.max_iterations, self.tolerance);
        let message =
            format!("use a larger tolerance, or more than {most} iterations: {change:e} is above {tolerance:e}");
        Err(SparseError::invalid(OP, message))
    }
}

/// The ranks of an adjacency with the defaults of [`PageRankConfig`].
///
/// # Errors
///
/// As [`PageRankConfig::try_ranks`].
#[or_panic]
pub fn try_pagerank(adjacency: &CsrTensor<2>) -> Result<Tensor<1>> {
    PageRankConfig::new().try_ranks(adjacency, None)
}

pub(super) fn check_weights(op: &'static str, what: &str, weights: Tensor<1>) -> Result<()> {
    if weights.dims()[0] == 0 {
        return Ok(());
    }
    // NaN makes the sum NaN.
    let (least, sum) = (number(weights.clone().min()), number(sum_dim(weights, 0)));
    if least >= 0.0 && sum.is_finite() {
        return Ok(());
    }
    let message = format!("{what} must be finite and not negative, got a smallest one of {least} and a sum of {sum}");
    Err(SparseError::invalid(op, message))
}
