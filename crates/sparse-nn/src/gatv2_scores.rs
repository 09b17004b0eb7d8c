//! The scores of GATv2, without the features of all edges in memory.

use super::activation::{gradient, leaky_relu};
use super::attention::blocks;
use burn::tensor::{Int, Tensor};
use sparse_ops::extend::{Activation, Derived, Erased, Lazy, kept, kernel, linear, record, wide};
use sparse_ops::ops::Epilogue;
use sparse_ops::pattern::{CsrPattern, Pattern};
use std::sync::Arc;

/// The fewest edges of a chunk: smaller ones would cost more in launches than they save in memory.
const FEWEST: usize = 4096;

/// Some consecutive edges.
#[derive(Debug)]
struct Chunk {
    start: usize,
    /// The targets of the edges, and their sources behind all targets: rows of `nodes`.
    ends: [Tensor<1, Int>; 2],
    /// The edges in the order of their nodes, and where those of each start; for the backward pass.
    by_node: Lazy<(Tensor<1, Int>, Tensor<1, Int>)>,
}

/// The edges of a pattern in chunks. A chunk has about as many edges as there are nodes, so that what is computed for
/// its edges takes as much memory as the features of the nodes.
#[derive(Clone, Debug)]
struct Chunks {
    list: Arc<Vec<Chunk>>,
    nodes: usize,
}

#[derive(PartialEq, Eq)]
struct InChunks;

impl Derived for Chunks {
    fn held(&self) -> usize {
        // Each edge has two ends and a place at each; each chunk has pointers to the nodes.
        self.list.iter().map(|chunk| 4 * chunk.len() + self.nodes).sum()
    }
}

impl Chunks {
    fn of(pattern: &CsrPattern) -> Self {
        kept(pattern, InChunks, || {
            let (nnz, rows, cols) = (pattern.nnz(), pattern.rows(), pattern.cols());
            let size = rows.max(cols).max(FEWEST);
            let chunk = |start: usize| {
                let part = |ids: &Tensor<1, Int>| ids.clone().narrow(0, start, size.min(nnz - start));
                let ends = [part(pattern.row_ids()), part(pattern.col_idx()).add_scalar(rows as i64)];
                Chunk { start, ends, by_node: Lazy::new() }
            };
            Self { list: Arc::new((0..nnz).step_by(size).map(chunk).collect()), nodes: rows + cols }
        })
    }
}

impl Chunk {
    fn len(&self) -> usize {
        self.ends[0].dims()[0]
    }

    /// Those rows of all edges that are of this chunk.
    fn part(&self, rows: &Tensor<2>) -> Tensor<2> {
        rows.clone().narrow(0, self.start, self.len())
    }

    /// The sums of the chunk's rows for each of the nodes.
    fn to_nodes(&self, rows: &Tensor<2>, nodes: usize) -> Tensor<2> {
        let (order, starts) = self.by_node.get(|| {
            let (order, starts) = kernel::group_by(Tensor::cat(self.ends.to_vec(), 0), nodes);
            (order.remainder_scalar(self.len() as i64), starts)
        });
        kernel::segment_sum(rows, Some(order), starts)
    }
}

/// What the scores are computed from: nothing of it is on the tape.
#[derive(Debug)]
struct Saved {
    chunks: Chunks,
    /// Targets, then sources: `[M + N, H * C]`.
    nodes: Tensor<2>,
    /// For each head the attention vector in its columns, then the weight of the edge features: `[H + D, H * C]`.
    weights: Tensor<2>,
    /// `[nnz, D]`.
    edges: Option<Tensor<2>>,
    heads: usize,
    slope: f64,
}

/// `out[ij, h] = <a[h, :], leaky_relu(t[i, h, :] + s[j, h, :] + (e_ij V)[h, :])>`, `[nnz, H]`.
///
/// `target` is `[M, H * C]`, `source` `[N, H * C]`, `attention` `[H, C]`; `edges` are features `[nnz, D]` and their
/// weight `V` `[D, H * C]`. The edges are taken in chunks, forward and again backward, so the memory besides the
/// operands and the result is that of a few tensors of `max(M, N) * H * C` numbers (or of 4096 edges).
pub(super) fn gatv2_scores(
    pattern: &CsrPattern,
    [target, source]: [Tensor<2>; 2],
    attention: Tensor<2>,
    edges: Option<(Tensor<2>, Tensor<2>)>,
    slope: f64,
) -> Tensor<2> {
    let (heads, dtype) = (attention.dims()[0], source.dtype());
    if pattern.nnz() == 0 {
        return Tensor::zeros([0, heads], (&source.device(), dtype));
    }
    // Scores are sums, and so are gradients: 16-bit floats are added up in f32.
    let nodes = wide(Tensor::cat(vec![target, source], 0));
    let attention = blocks(wide(attention)).transpose();
    let (edges, weights) = match edges {
        Some((edges, weight)) => (Some(wide(edges)), Tensor::cat(vec![attention, wide(weight)], 0)),
        None => (None, attention),
    };
    let saved = Saved {
        chunks: Chunks::of(pattern),
        nodes: nodes.clone().inner(),
        weights: weights.clone().inner(),
        edges: edges.clone().map(Tensor::inner),
        heads,
        slope,
    };
    let parts =
        saved.chunks.list.iter().map(|chunk| {
            linear(leaky_relu(saved.sums(chunk), slope), saved.attention().transpose(), Epilogue::default())
        });
    let out = Tensor::cat(parts.collect(), 0);
    // Without features of edges their place among the parents is that of a tensor without a gradient.
    let edges = edges.unwrap_or_else(|| nodes.clone().detach());
    let parents = [nodes, weights, edges].map(Erased::from);
    record(out, parents, saved, Saved::backward).cast(dtype)
}

impl Saved {
    fn attention(&self) -> Tensor<2> {
        self.weights.clone().narrow(0, 0, self.heads)
    }

    fn edge_weight(&self) -> Tensor<2> {
        self.weights.clone().narrow(0, self.heads, self.weights.dims()[0] - self.heads)
    }

    /// `t_i + s_j + e_ij V` for the edges of a chunk.
    fn sums(&self, chunk: &Chunk) -> Tensor<2> {
        let [target, source] = chunk.ends.each_ref().map(|end| self.nodes.clone().select(0, end.clone()));
        match &self.edges {
            Some(edges) => target + source + chunk.part(edges).matmul(self.edge_weight()),
            None => target + source,
        }
    }

    /// The gradients of the nodes, the weights and the edge features.
    fn backward(&self, grad: Tensor<2>, needs: [bool; 3]) -> [Option<Erased>; 3] {
        let mut sums: [Option<Tensor<2>>; 3] = [None, None, None];
        let mut add = |at: usize, part: Tensor<2>| {
            sums[at] = Some(match sums[at].take() {
                Some(sum) => sum + part,
                None => part,
            });
        };
        let mut of_edges = vec![];
        for chunk in self.chunks.list.iter() {
            let (before, grad) = (self.sums(chunk), chunk.part(&grad));
            if needs[1] {
                add(1, grad.clone().transpose().matmul(leaky_relu(before.clone(), self.slope)));
            }
            let grad = gradient(&before, grad.matmul(self.attention()), Activation::LeakyRelu { slope: self.slope });
            if needs[0] {
                add(0, chunk.to_nodes(&grad, self.chunks.nodes));
            }
            if let Some(edges) = &self.edges {
                if needs[1] {
                    add(2, chunk.part(edges).transpose().matmul(grad.clone()));
                }
                if needs[2] {
                    of_edges.push(grad.matmul(self.edge_weight().transpose()));
                }
            }
        }
        let [nodes, attention, weight] = sums;
        let weights = attention.map(|attention| Tensor::cat([attention].into_iter().chain(weight).collect(), 0));
        let edges = needs[2].then(|| Tensor::cat(of_edges, 0));
        [nodes, weights, edges].map(|grad| grad.map(Erased::from))
    }
}
