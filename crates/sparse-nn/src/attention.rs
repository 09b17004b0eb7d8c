//! The layer that GAT, GATv2 and the transformer are, each with scores of its own. Nothing here has
//! `nnz * heads * d_output` numbers.

use super::dropout::dropout;
use super::features::{Features, check_dropout, check_square, check_width, with_bias};
use super::message_passing::check_edges;
use super::segments::edge_softmax;
use burn::module::Param;
use burn::nn::{Dropout, Linear};
use burn::tensor::{Int, Tensor};
use sparse_ops::extend::{
    Compressed, Erased, Exact, Parts, Scores, attend, index_dtype_for, index_tensor, ints, kernel, move_rows,
    off_diagonal, read_at, read_rows, record, reduce_rows, same_elements, sum_dim, with_diagonal,
};
use sparse_ops::ops::{Reduce, try_head_sddmm};
use sparse_ops::pattern::{CsrPattern, Pattern};
use sparse_ops::{CsrTensor, Fill, Result, SparseError};

/// A layer that sums the values of a node's neighbours, weighted by the softmax of their scores.
pub(super) trait AttentionLayer {
    /// What is summed, and the score of each edge and head.
    fn scores(&self, call: &Call<'_>) -> Result<(Attended, Scores)>;

    /// The sums, and what the layer adds to them.
    fn result(&self, call: &Call<'_>, to: Attended, scores: Scores) -> Result<Tensor<2>>;

    fn run(&self, call: Call<'_>) -> Result<Tensor<2>> {
        let (to, scores) = self.scores(&call)?;
        self.result(&call, to, scores)
    }

    /// The weights of the edges, as a tensor `[N, N, heads]`.
    fn weights(&self, call: Call<'_>) -> Result<CsrTensor<3>> {
        let (to, scores) = self.scores(&call)?;
        edge_softmax(&to.pattern, to.numbers(scores)?)
    }
}

/// Checks that a node can attend to itself where targets have another width than sources.
pub(super) fn check_loops(op: &'static str, self_loops: bool, d_input: usize, d_target: Option<usize>) -> Result<()> {
    match d_target {
        Some(d_target) if self_loops && d_target != d_input => {
            let message = "use with_self_loops(false): targets with another number of features are no sources";
            Err(SparseError::invalid(op, message))
        }
        _ => Ok(()),
    }
}

/// Checks a configuration. How many features all heads have together, and how many the result.
pub(super) fn widths(op: &'static str, [heads, each]: [usize; 2], concat: bool, dropout: f64) -> Result<[usize; 2]> {
    if heads == 0 {
        return Err(SparseError::invalid(op, "heads must be at least 1, got 0"));
    }
    check_dropout(op, dropout)?;
    Ok([heads * each, if concat { heads * each } else { each }])
}

/// What a method of a layer is called with.
pub(super) struct Call<'a> {
    pub(super) op: &'static str,
    pub(super) adjacency: &'a CsrTensor<2>,
    pub(super) source: Features<'a>,
    pub(super) target: Features<'a>,
    /// Features of the edges, `[nnz, d_edge]`.
    pub(super) edges: Option<Tensor<2>>,
}

/// What the targets of a call attend to.
pub(super) struct Attended {
    /// The edges, with self loops if the layer adds them.
    pub(super) pattern: CsrPattern,
    /// Features of the edges and their weight. Those that the scores do not take away are summed with the values.
    pub(super) features: Option<(Tensor<2>, Tensor<2>)>,
    /// `[N, heads * d_output]`.
    pub(super) value: Tensor<2>,
    pub(super) heads: usize,
}

impl<'a> Call<'a> {
    /// A call where all nodes are sources and targets.
    pub(super) fn square(
        op: &'static str,
        adjacency: &'a CsrTensor<2>,
        x: Features<'a>,
        edges: Option<Tensor<2>>,
    ) -> Result<Self> {
        check_square(op, adjacency)?;
        Ok(Self { op, adjacency, source: x.clone(), target: x, edges })
    }

    /// Checks the arguments for a layer with these maps of the sources and of the features of edges.
    pub(super) fn attended(
        &self,
        value: &Linear,
        d_target: usize,
        edge: &Option<Linear>,
        heads: usize,
        self_loops: bool,
    ) -> Result<Attended> {
        let Self { op, adjacency, .. } = *self;
        let [d_input, _] = value.weight.lazy_shape().dims();
        self.source.check(op, adjacency, d_input)?;
        self.target.check_targets(op, adjacency, d_target)?;
        if let Some(features) = &self.edges {
            let Some(edge) = edge else {
                let message = "use with_d_edge in the configuration: the layer has no edge features";
                return Err(SparseError::invalid(op, message));
            };
            check_edges(op, adjacency, "the edge features", features)?;
            same_elements(op, adjacency.rows(), features)?;
            check_width(op, features.dims(), edge.weight.lazy_shape().dims::<2>()[0])?;
        }
        let value = self.source.linear(op, value)?;
        let (mut pattern, mut features) = (adjacency.pattern().clone(), self.edges.clone());
        if self_loops {
            adjacency.check_dim(op, pattern.shape()[0])?;
            (pattern, features) = with_loops(&pattern, features);
        }
        // Without edges their features say nothing, and some devices cannot compute with tensors without elements.
        let features = features.filter(|_| pattern.nnz() > 0).zip(edge.as_ref());
        let features = features.map(|(features, edge)| (features, edge.weight.val()));
        Ok(Attended { pattern, features, value, heads })
    }

    /// Adds a map of the targets themselves, and a bias.
    pub(super) fn add_own(
        &self,
        sums: Tensor<2>,
        own: &Option<Linear>,
        bias: &Option<Param<Tensor<1>>>,
    ) -> Result<Tensor<2>> {
        let out = match own {
            Some(own) => sums + self.target.linear(self.op, own)?,
            None => sums,
        };
        Ok(with_bias(out, bias))
    }
}

/// A pattern with all self loops, which replace those in it: the features of a loop are the mean of those of the other
/// edges to its node.
fn with_loops(pattern: &CsrPattern, features: Option<Tensor<2>>) -> (CsrPattern, Option<Tensor<2>>) {
    let Some(features) = features else { return (with_diagonal(pattern).0, None) };
    let (off, kept) = off_diagonal(pattern);
    let own = read_rows(features, &kept);
    let means = reduce_rows(&off, own.clone(), Reduce::Mean);
    let (full, [map, on]) = with_diagonal(&off);
    let options = (&own.device().inner(), own.dtype());
    // 1 on the diagonal, and 0 elsewhere.
    let one = move_rows(Tensor::<2>::ones([1, 1], options), Tensor::zeros([1, 1], options), &on);
    let none = Tensor::zeros([1, own.dims()[1]], options);
    let features = move_rows(own, none, &map) + read_at(&full, 0, means) * one;
    (full, Some(features))
}

impl Attended {
    /// `sum_j softmax_j(scores) (value_j + E e_ij)` of each head: side by side `[M, H * C]`, or their mean `[M, C]`.
    pub(super) fn sums(self, scores: Scores, concat: bool, layer: &Dropout) -> Result<Tensor<2>> {
        let (pattern, heads) = (&self.pattern, self.heads);
        let [rows, width] = [pattern.shape()[0], self.value.dims()[1]];
        let out = match &self.features {
            None => attend(pattern, scores, heads, self.value, layer),
            Some((features, weight)) => {
                let weights = edge_softmax(pattern, self.numbers(scores)?)?;
                let kept = dropout(weights.rows().clone(), layer);
                // E sum_j alpha_ij e_ij: the products E e_ij of all edges are never formed.
                let of_edges = (0..heads).map(|head| {
                    let messages = features.clone() * kept.clone().narrow(1, head, 1);
                    reduce_rows(pattern, messages, Reduce::Add).matmul(columns(weight, heads, head))
                });
                let of_edges = Tensor::cat(of_edges.collect(), 1);
                let of_nodes = weights.with_rows(kept, Fill::Zero).try_matmul(by_head(self.value, heads))?;
                of_nodes.reshape(Exact([rows, width])) + of_edges
            }
        };
        Ok(joined(out, heads, concat))
    }

    /// Scores as numbers, `[nnz, heads]`.
    pub(super) fn numbers(&self, scores: Scores) -> Result<Tensor<2>> {
        let (query, key, scale) = match scores {
            Scores::Given(scores) => return Ok(scores),
            Scores::Products { query, key, scale } => (query, key, scale),
        };
        let none = Tensor::<2>::zeros([self.pattern.nnz(), 1], (&query.device().inner(), query.dtype()));
        let mask = CsrTensor::<2>::from_parts(self.pattern.clone(), none, vec![], Fill::Zero);
        let products = try_head_sddmm(by_head(query, self.heads), by_head(key, self.heads), &mask)?;
        // Not div_scalar: in Burn 0.22 its gradient is rounded to f32.
        Ok(products.rows().clone().mul_scalar(scale))
    }
}

/// The heads of `[N, H * C]` side by side, as they are, or their mean `[N, C]`.
pub(super) fn joined(x: Tensor<2>, heads: usize, concat: bool) -> Tensor<2> {
    if concat || heads == 1 {
        return x;
    }
    let [rows, width] = x.dims();
    by_head(x, heads).mean_dim(1).reshape(Exact([rows, width / heads]))
}

/// `[N, H * C]` as `[N, H, C]`.
pub(super) fn by_head(x: Tensor<2>, heads: usize) -> Tensor<3> {
    let [rows, width] = x.dims();
    x.reshape(Exact([rows, heads, width / heads]))
}

/// The columns `[N, C]` of a head, from `[N, H * C]`.
pub(super) fn columns(x: &Tensor<2>, heads: usize, head: usize) -> Tensor<2> {
    let each = x.dims()[1] / heads;
    x.clone().narrow(1, head * each, each)
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
    let options = (&plain.device(), index_dtype_for(rows));
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

/// The public methods of a layer, inside its `impl`. Only a macro gives several types methods that need no import.
macro_rules! attention_forwards {
    ($layer:literal) => {
        /// Dense features: `adjacency [N, N]`, `x [N, d_input]`.
        ///
        /// # Errors
        ///
        /// `shape_mismatch`, `dtype_mismatch`, `unsupported_dtype`, `device_mismatch`.
        #[or_panic]
        pub fn try_forward(&self, adjacency: &CsrTensor<2>, x: Tensor<2>) -> Result<Tensor<2>> {
            self.run(Call::square(concat!($layer, "::forward"), adjacency, Features::Dense(x), None)?)
        }

        /// Sparse features, which stay sparse: `adjacency [N, N]`, `x [N, d_input]`.
        ///
        /// # Errors
        ///
        /// As [`try_forward`](Self::try_forward).
        #[or_panic]
        pub fn try_forward_sparse(&self, adjacency: &CsrTensor<2>, x: &CsrTensor<2>) -> Result<Tensor<2>> {
            self.run(Call::square(concat!($layer, "::forward_sparse"), adjacency, Features::Sparse(x), None)?)
        }

        /// With features of the edges: `adjacency [N, N]`, `x [N, d_input]`, `edges [nnz, d_edge]`.
        ///
        /// # Errors
        ///
        /// As [`try_forward`](Self::try_forward); `length_mismatch` if there is not one row for each edge; `invalid`
        /// for a layer without `d_edge`.
        #[or_panic]
        pub fn try_forward_edges(&self, adjacency: &CsrTensor<2>, x: Tensor<2>, edges: Tensor<2>) -> Result<Tensor<2>> {
            self.run(Call::square(concat!($layer, "::forward_edges"), adjacency, Features::Dense(x), Some(edges))?)
        }

        /// A bipartite graph, such as a sampled neighbourhood: `adjacency [M, N]`, `source [N, d_input]`,
        /// `target [M, d_target]`, and features of the edges if there are any. In a layer with self loops target `i`
        /// also attends to source `i`, so there the targets must be the first sources, in order.
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
            let [source, target] = [source, target].map(Features::Dense);
            self.run(Call { op: concat!($layer, "::forward_bipartite"), adjacency, source, target, edges })
        }
    };
}

pub(super) use attention_forwards;
