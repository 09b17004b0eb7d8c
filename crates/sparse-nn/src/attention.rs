//! What layers with attention share: products with one number for each edge and head, self loops, and how heads are
//! joined. Nothing here forms `nnz * heads * d_output` numbers.

use super::features::{Features, check_width, invalid};
use super::message_passing::check_edges;
use burn::tensor::{Float, Int, Tensor};
use sparse_ops::extend::{
    Compressed, Erased, Exact, Parts, index_tensor, ints, kernel, move_rows, off_diagonal, read_at, read_rows, record,
    reduce_rows, same_elements, sum_dim, with_diagonal,
};
use sparse_ops::ops::{Reduce, try_head_sddmm};
use sparse_ops::pattern::{CsrPattern, Pattern};
use sparse_ops::{CsrTensor, Fill, Result};

/// The columns `[N, C]` of a head, from `[N, H * C]`.
pub(super) fn columns(x: &Tensor<2>, heads: usize, head: usize) -> Tensor<2> {
    let each = x.dims()[1] / heads;
    x.clone().narrow(1, head * each, each)
}

/// `out[i, h, :] = sum_j weights[ij, h] * x[j, h, :]`: weights `[nnz, H]` and x `[N, H * C]` to `[M, H * C]`.
pub(super) fn weighted_sums(pattern: &CsrPattern, weights: &Tensor<2>, x: &Tensor<2>) -> Result<Tensor<2>> {
    let (heads, [_, width]) = (weights.dims()[1], x.dims());
    let edges = CsrTensor::<3>::from_parts(pattern.clone(), weights.clone(), vec![heads], Fill::Zero);
    let out = edges.try_matmul(by_head(x, heads))?;
    Ok(out.reshape(Exact([pattern.shape()[0], width])))
}

/// `out[ij, h] = <left[i, h, :], right[j, h, :]>`: left `[M, H * C]` and right `[N, H * C]` to `[nnz, H]`.
pub(super) fn head_products(
    pattern: &CsrPattern,
    left: &Tensor<2>,
    right: &Tensor<2>,
    heads: usize,
) -> Result<Tensor<2>> {
    let none = Tensor::<2>::zeros([pattern.nnz(), 1], (&left.device().inner(), left.dtype()));
    let mask = CsrTensor::<2>::from_parts(pattern.clone(), none, vec![], Fill::Zero);
    Ok(try_head_sddmm(by_head(left, heads), by_head(right, heads), &mask)?.rows().clone())
}

/// `[N, H * C]` as `[N, H, C]`.
fn by_head(x: &Tensor<2>, heads: usize) -> Tensor<3> {
    let [rows, width] = x.dims();
    x.clone().reshape(Exact([rows, heads, width / heads]))
}

/// `out[n, h] = <x[n, h, :], vector[h, :]>`: x `[N, H * C]` and vector `[H, C]` to `[N, H]`.
pub(super) fn head_scores(x: Tensor<2>, vector: Tensor<2>) -> Tensor<2> {
    let ([rows, width], [heads, each]) = (x.dims(), vector.dims());
    if rows == 0 || width == 0 {
        // Zeros that depend on both.
        let product = x.reshape(Exact([rows, heads, each])) * vector.unsqueeze::<3>();
        return product.sum_dim(2).reshape(Exact([rows, heads]));
    }
    // The elements of a matrix `[N, 1]` that is full.
    let vector = vector.reshape(Exact([1, width]));
    let (plain, row) = (x.clone().inner(), vector.clone().inner());
    let options = (&plain.device(), sparse_ops::extend::index_dtype_for(rows));
    let (places, zeros) = (Tensor::arange(0..rows as i64, options), Tensor::zeros([rows], options));
    let out = kernel::sddmm(&places, &zeros, &plain, &row, heads);
    let saved = Scored { x: plain, row, places, zeros };
    record(out, [Erased::from(x), Erased::from(vector)], saved, Scored::backward)
}

/// What the backward pass of `head_scores` reads.
#[derive(Debug)]
struct Scored {
    x: Tensor<2>,
    row: Tensor<2>,
    /// The row and the column of each element.
    places: Tensor<1, Int>,
    zeros: Tensor<1, Int>,
}

/// Rows that are summed by one thread.
const CHUNK: usize = 4096;

impl Scored {
    fn backward(&self, grad: Tensor<2>, [x, vector]: [bool; 2]) -> [Option<Erased>; 2] {
        let rows = self.x.dims()[0];
        let product = |ptr: Tensor<1, Int>, idx: &Tensor<1, Int>, dense: &Tensor<2>| {
            let ptr = index_tensor(ptr, idx.dtype());
            kernel::spmm(&Compressed { ptr, idx: idx.clone(), perm: None }, &grad, dense)
        };
        let d_x = x.then(|| {
            let ptr = Tensor::arange(0..rows as i64 + 1, (&self.x.device(), self.zeros.dtype()));
            product(ptr, &self.zeros, &self.row).into()
        });
        let d_vector = vector.then(|| {
            let starts: Vec<i64> = (0..rows).step_by(CHUNK).chain([rows]).map(|at| at as i64).collect();
            let count = starts.len();
            sum_dim(product(ints(starts, [count], &self.x.device()), &self.places, &self.x), 0).into()
        });
        [d_x, d_vector]
    }
}

/// The result of a layer: heads side by side `[M, H * C]`, or their mean `[M, C]`.
pub(super) fn join_heads(out: Tensor<2>, heads: usize, concat: bool) -> Tensor<2> {
    if concat || heads == 1 {
        return out;
    }
    let [rows, width] = out.dims();
    let each = width / heads;
    out.reshape(Exact([rows, heads, each])).mean_dim(1).reshape(Exact([rows, each]))
}

/// Edges, with self loops if the layer adds them, and their features.
pub(super) struct Attended {
    pub(super) pattern: CsrPattern,
    pub(super) features: Option<Tensor<2>>,
}

impl Attended {
    /// With self loops, those that there are are replaced: the features of a loop are the mean of those of the other
    /// edges to its node.
    pub(super) fn new(
        op: &'static str,
        adjacency: &CsrTensor<2>,
        features: Option<Tensor<2>>,
        loops: bool,
    ) -> Result<Self> {
        let pattern = adjacency.pattern();
        if !loops {
            return Ok(Self { pattern: pattern.clone(), features });
        }
        adjacency.check_dim(op, pattern.shape()[0])?;
        let Some(features) = features else {
            return Ok(Self { pattern: with_diagonal(pattern).0, features: None });
        };
        let (off, kept) = off_diagonal(pattern);
        let own = read_rows(features, &kept);
        let means = reduce_rows(&off, own.clone(), Reduce::Mean);
        let (full, [map, on]) = with_diagonal(&off);
        let options = (&own.device().inner(), own.dtype());
        // 1 on the diagonal, and 0 elsewhere.
        let one = move_rows(Tensor::<2, Float>::ones([1, 1], options), Tensor::zeros([1, 1], options), &on);
        let none = Tensor::zeros([1, own.dims()[1]], options);
        let features = move_rows(own, none, &map) + read_at(&full, 0, means) * one;
        Ok(Self { pattern: full, features: Some(features) })
    }
}

/// Checks what a layer with attention gets.
pub(super) fn check_inputs(
    op: &'static str,
    adjacency: &CsrTensor<2>,
    (source, target): (&Features<'_>, &Features<'_>),
    d_input: usize,
    edges: (Option<&Tensor<2>>, Option<usize>),
) -> Result<()> {
    source.check(op, adjacency, d_input)?;
    target.check_targets(op, adjacency, d_input)?;
    match edges {
        (None, _) => Ok(()),
        (Some(_), None) => invalid(op, "use with_d_edge in the configuration: the layer has no edge features".into()),
        (Some(features), Some(d_edge)) => {
            check_edges(op, adjacency, "the edge features", features)?;
            same_elements(op, &adjacency.rows(), features)?;
            check_width(op, features.dims(), d_edge)
        }
    }
}

/// The softmax of scores `[nnz, H]` over the edges of each target, as a tensor `[M, N, H]` with the fill 0.
pub(super) fn edge_weights(pattern: CsrPattern, scores: Tensor<2>) -> Result<CsrTensor<3>> {
    let heads = vec![scores.dims()[1]];
    CsrTensor::<3>::from_parts(pattern, scores, heads, Fill::Undefined).try_softmax(1)?.try_with_fill(Fill::Zero)
}

/// The forward methods of a layer with attention, around its own `run`. The last text is about bipartite graphs.
macro_rules! attention_forwards {
    ($layer:ident, $loops:literal) => {
        impl $layer {
            /// Dense features: `adjacency [N, N]`, `x [N, d_input]`.
            ///
            /// # Errors
            ///
            /// `shape_mismatch`, `dtype_mismatch`, `unsupported_dtype`, `device_mismatch`.
            #[or_panic]
            pub fn try_forward(&self, adjacency: &CsrTensor<2>, x: Tensor<2>) -> Result<Tensor<2>> {
                const OP: &str = concat!(stringify!($layer), "::forward");
                check_square(OP, adjacency)?;
                let x = Features::Dense(x);
                self.run(OP, adjacency, [x.clone(), x], None)
            }

            /// Sparse features, which stay sparse: `adjacency [N, N]`, `x [N, d_input]`.
            ///
            /// # Errors
            ///
            /// As [`try_forward`](Self::try_forward).
            #[or_panic]
            pub fn try_forward_sparse(&self, adjacency: &CsrTensor<2>, x: &CsrTensor<2>) -> Result<Tensor<2>> {
                const OP: &str = concat!(stringify!($layer), "::forward_sparse");
                check_square(OP, adjacency)?;
                self.run(OP, adjacency, [Features::Sparse(x), Features::Sparse(x)], None)
            }

            /// With features of the edges: `adjacency [N, N]`, `x [N, d_input]`, `edges [nnz, d_edge]`.
            ///
            /// # Errors
            ///
            /// As [`try_forward`](Self::try_forward); `length_mismatch` if there is not one row for each edge;
            /// `invalid` for a layer without `d_edge`.
            #[or_panic]
            pub fn try_forward_edges(
                &self,
                adjacency: &CsrTensor<2>,
                x: Tensor<2>,
                edges: Tensor<2>,
            ) -> Result<Tensor<2>> {
                const OP: &str = concat!(stringify!($layer), "::forward_edges");
                check_square(OP, adjacency)?;
                let x = Features::Dense(x);
                self.run(OP, adjacency, [x.clone(), x], Some(edges))
            }

            /// A bipartite graph, such as a sampled neighbourhood: `adjacency [M, N]`, `source [N, d_input]`,
            /// `target [M, d_input]`, and features of the edges if there are any.
            #[doc = $loops]
            ///
            /// # Errors
            ///
            /// As [`try_forward_edges`](Self::try_forward_edges).
            #[or_panic]
            pub fn try_forward_bipartite(
                &self,
                adjacency: &CsrTensor<2>,
                source: Tensor<2>,
                target: Tensor<2>,
                edges: Option<Tensor<2>>,
            ) -> Result<Tensor<2>> {
                let x = [Features::Dense(source), Features::Dense(target)];
                self.run(concat!(stringify!($layer), "::forward_bipartite"), adjacency, x, edges)
            }
        }
    };
}

pub(super) use attention_forwards;

/// The weights and the `run` of a layer that has a method `scores`. It gives the edges with self loops, `W x` of the
/// sources, and the score of each edge `[nnz, heads]`.
macro_rules! attention_from_scores {
    ($(#[$doc:meta])* $layer:ident) => {
        impl $layer {
            $(#[$doc])*
            ///
            /// # Errors
            ///
            /// As [`try_forward`](Self::try_forward).
            #[or_panic]
            pub fn try_attention(&self, adjacency: &CsrTensor<2>, x: Tensor<2>) -> Result<CsrTensor<3>> {
                const OP: &str = concat!(stringify!($layer), "::attention");
                check_square(OP, adjacency)?;
                let x = Features::Dense(x);
                let (pattern, _, scores) = self.scores(OP, adjacency, [x.clone(), x], None)?;
                edge_weights(pattern, scores)
            }

            fn run(
                &self,
                op: &'static str,
                adjacency: &CsrTensor<2>,
                [source, target]: [Features<'_>; 2],
                edges: Option<Tensor<2>>,
            ) -> Result<Tensor<2>> {
                let (pattern, from, scores) = self.scores(op, adjacency, [source, target.clone()], edges)?;
                let heads = scores.dims()[1];
                let out = attend(&pattern, Scores::Given(scores), heads, from, &self.dropout);
                let out = join_heads(out, heads, self.concat);
                let out = match &self.residual {
                    Some(residual) => out + target.linear(op, residual)?,
                    None => out,
                };
                Ok(with_bias(out, &self.bias))
            }
        }
    };
}

pub(super) use attention_from_scores;
