//! How triples are scored.

use crate::features::{norms, unit_rows};
use burn::config::Config;
use burn::tensor::Tensor;
use sparse_ops::extend::{Exact, sum_dim, wide};

/// The score of a triple, from the embeddings `h`, `r` and `t` of its head, relation and tail.
#[derive(Config, Debug, Copy, PartialEq, Eq)]
pub enum TripleScore {
    /// `-|h / |h| + r - t / |t||` with 1-norms: a relation is a translation.
    ///
    /// Source: Bordes et al., *Translating embeddings for modeling multi-relational data*, NIPS 2013.
    TransE,
    /// The same with Euclidean norms.
    TransE2,
    /// `sum_k h_k r_k t_k`: a relation is a diagonal matrix, and symmetric.
    ///
    /// Source: Yang, Yih, He, Gao and Deng, *Embedding entities and relations for learning and inference in knowledge
    /// bases*, ICLR 2015.
    DistMult,
    /// `Re sum_k h_k r_k conj(t_k)` of complex embeddings.
    ///
    /// Source: Trouillon et al., *Complex embeddings for simple link prediction*, ICML 2016.
    ComplEx,
    /// `margin - |h e^(i r) - t|`: entities are complex, and a relation is a rotation, the angles `r`. The norm is the
    /// Euclidean one of all parts, as in PyG; that of the paper sums the moduli.
    ///
    /// Source: Sun, Deng, Nie and Tang, *RotatE*, ICLR 2019.
    RotatE,
}

impl TripleScore {
    /// Numbers of columns of the tables of entities and relations.
    pub(super) fn widths(self, features: usize) -> [usize; 2] {
        match self {
            Self::TransE | Self::TransE2 | Self::DistMult => [features; 2],
            Self::ComplEx => [2 * features; 2],
            Self::RotatE => [2 * features, features],
        }
    }

    /// The norm of a translation.
    pub(super) fn p(self) -> Option<u8> {
        match self {
            Self::TransE => Some(1),
            Self::TransE2 => Some(2),
            _ => None,
        }
    }

    /// Rows of heads, relations and tails to scores. Sums of 16-bit floats are taken in f32.
    pub(super) fn of_rows(self, rows: [Tensor<2>; 3], margin: f64) -> Tensor<1> {
        let (count, dtype) = (rows[0].dims()[0], rows[0].dtype());
        if rows[0].shape().num_elements() == 0 {
            return Tensor::zeros([count], (&rows[0].device(), dtype));
        }
        let [h, r, t] = rows.map(wide);
        let scores = match self {
            Self::TransE | Self::TransE2 => {
                let p = if self == Self::TransE { 1 } else { 2 };
                norm(unit(h, p) + r - unit(t, p), p).neg()
            }
            Self::DistMult => sum_dim(h * r * t, 1),
            Self::ComplEx => sum_dim(times(h, halves(r)) * t, 1),
            Self::RotatE => norm(times(h, [r.clone().cos(), r.sin()]) - t, 2).neg() + margin,
        };
        scores.reshape(Exact([count])).cast(dtype)
    }
}

/// Real and imaginary parts.
fn halves(x: Tensor<2>) -> [Tensor<2>; 2] {
    let half = x.dims()[1] / 2;
    [x.clone().narrow(1, 0, half), x.narrow(1, half, half)]
}

/// The products of complex numbers.
fn times(x: Tensor<2>, [re, im]: [Tensor<2>; 2]) -> Tensor<2> {
    let [x_re, x_im] = halves(x);
    let product = [x_re.clone() * re.clone() - x_im.clone() * im.clone(), x_re * im + x_im * re];
    Tensor::cat(product.into(), 1)
}

/// The `p`-norm of each row, `[n, 1]`. The gradient of a row of zeros is 0.
fn norm(x: Tensor<2>, p: u8) -> Tensor<2> {
    if p == 1 {
        return sum_dim(x.abs(), 1);
    }
    norms(x).0
}

/// Each row divided by its norm; a row of zeros stays.
pub(super) fn unit(x: Tensor<2>, p: u8) -> Tensor<2> {
    if p == 2 {
        return unit_rows(x);
    }
    let norm = norm(x.clone(), p);
    let zero = norm.clone().lower_equal_scalar(0.0);
    x / norm.mask_fill(zero, 1.0)
}
