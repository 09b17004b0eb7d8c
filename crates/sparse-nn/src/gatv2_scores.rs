//! The scores of GATv2, without the features of all edges in memory.

use super::activation::leaky_relu;
use burn::tensor::{DType, Int, Tensor};
use sparse_ops::extend::{Derived, Erased, Exact, Lazy, kept, kernel, record, sum_dim, wide};
use sparse_ops::pattern::{CsrPattern, Pattern};
use std::sync::Arc;

/// The fewest edges of a chunk: smaller ones would cost more in launches than they save in memory.
const FEWEST: usize = 4096;

/// Some consecutive edges.
#[derive(Debug)]
struct Chunk {
    start: usize,
    rows: Tensor<1, Int>,
    cols: Tensor<1, Int>,
    /// Where the edges of each target start, and the edges in the order of their sources; for the backward pass.
    by_row: Lazy<Tensor<1, Int>>,
    by_col: Lazy<(Tensor<1, Int>, Tensor<1, Int>)>,
}

/// The edges of a pattern in chunks. A chunk has about as many edges as there are nodes, so that what is computed for
/// its edges takes as much memory as the features of the nodes.
#[derive(Clone, Debug)]
struct Chunks {
    list: Arc<Vec<Chunk>>,
    shape: [usize; 2],
}

#[derive(PartialEq, Eq)]
struct InChunks;

impl Derived for Chunks {
    fn held(&self) -> usize {
        // Each edge has a row, a column and a place in the order by source; each chunk has pointers to the nodes.
        self.list.iter().map(|chunk| 3 * chunk.len() + self.shape[0] + self.shape[1]).sum()
    }
}

impl Chunk {
    fn len(&self) -> usize {
        self.rows.dims()[0]
    }

    /// The rows of all edges in `of`, of which those of the chunk.
    fn part(&self, of: &Tensor<2>) -> Tensor<2> {
        of.clone().narrow(0, self.start, self.len())
    }
}

impl Chunks {
    fn of(pattern: &CsrPattern) -> Self {
        kept(pattern, InChunks, || {
            let (nnz, rows, cols) = (pattern.nnz(), pattern.rows(), pattern.cols());
            let size = rows.max(cols).max(FEWEST);
            let chunk = |start: usize| {
                let length = size.min(nnz - start);
                let part = |ids: &Tensor<1, Int>| ids.clone().narrow(0, start, length);
                let (rows, cols) = (part(pattern.row_ids()), part(pattern.col_idx()));
                Chunk { start, rows, cols, by_row: Lazy::new(), by_col: Lazy::new() }
            };
            Self { list: Arc::new((0..nnz).step_by(size).map(chunk).collect()), shape: [rows, cols] }
        })
    }

    /// Adds up rows of a chunk's edges for each target and each source: `[M + N, F]`.
    fn to_nodes(&self, chunk: &Chunk, edges: &Tensor<2>) -> Tensor<2> {
        let [rows, cols] = self.shape;
        let ptr = chunk.by_row.get(|| kernel::compress(&chunk.rows, rows));
        let (order, starts) = chunk.by_col.get(|| kernel::group_by(&chunk.cols, cols));
        let to_rows = kernel::segment_sum(edges, None, ptr);
        Tensor::cat(vec![to_rows, kernel::segment_sum(edges, Some(order), starts)], 0)
    }
}

/// What the scores are computed from. None of it is on the tape.
#[derive(Clone, Debug)]
struct Operands {
    /// Targets, then sources: `[M + N, H * C]`.
    nodes: Tensor<2>,
    /// The attention vectors, then the weight of the edge features: `[1 + D, H * C]`.
    vectors: Tensor<2>,
    /// `[nnz, D]`.
    edges: Option<Tensor<2>>,
}

#[derive(Debug)]
struct Saved {
    chunks: Chunks,
    operands: Operands,
    heads: usize,
    slope: f64,
}

impl Operands {
    fn attention(&self) -> Tensor<2> {
        self.vectors.clone().narrow(0, 0, 1)
    }

    fn weight(&self) -> Tensor<2> {
        let [rows, _] = self.vectors.dims();
        self.vectors.clone().narrow(0, 1, rows - 1)
    }

    /// `x_i + x_j + e_ij V` for the edges of a chunk.
    fn sums(&self, chunk: &Chunk, targets: usize) -> Tensor<2> {
        let source = chunk.cols.clone().add_scalar(targets as i64);
        let nodes = self.nodes.clone().select(0, chunk.rows.clone()) + self.nodes.clone().select(0, source);
        match &self.edges {
            Some(edges) => nodes + chunk.part(edges).matmul(self.weight()),
            None => nodes,
        }
    }
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
    let [heads, each] = attention.dims();
    if pattern.nnz() == 0 {
        return Tensor::zeros([0, heads], (&source.device(), source.dtype()));
    }
    // Scores are sums, and so are gradients: 16-bit floats are added up in f32.
    let dtype = source.dtype();
    if matches!(dtype, DType::F16 | DType::BF16) {
        let edges = edges.map(|(edges, weight)| (wide(edges), wide(weight)));
        let scores = gatv2_scores(pattern, [wide(target), wide(source)], wide(attention), edges, slope);
        return scores.cast(dtype);
    }
    let nodes = Tensor::cat(vec![target, source], 0);
    let attention = attention.reshape(Exact([1, heads * each]));
    let (edges, vectors) = match edges {
        Some((edges, weight)) => (Some(edges), Tensor::cat(vec![attention, weight], 0)),
        None => (None, attention),
    };
    let operands = Operands {
        nodes: nodes.clone().inner(),
        vectors: vectors.clone().inner(),
        edges: edges.clone().map(Tensor::inner),
    };
    let saved = Saved { chunks: Chunks::of(pattern), operands, heads, slope };
    let out = saved.scores();
    match edges {
        None => record(out, [Erased::from(nodes), Erased::from(vectors)], saved, |saved, grad, needs| {
            let [nodes, vectors, _] = saved.backward(grad, [needs[0], needs[1], false]);
            [nodes, vectors]
        }),
        Some(edges) => {
            let parents = [Erased::from(nodes), Erased::from(vectors), Erased::from(edges)];
            record(out, parents, saved, |saved, grad, needs| saved.backward(grad, needs))
        }
    }
}

impl Saved {
    /// The scores of all edges, `[nnz, H]`, chunk by chunk.
    fn scores(&self) -> Tensor<2> {
        let Self { chunks, operands, heads, slope } = self;
        let each = operands.nodes.dims()[1] / heads;
        let scores = chunks.list.iter().map(|chunk| {
            let hidden = leaky_relu(operands.sums(chunk, chunks.shape[0]), *slope) * operands.attention();
            hidden.reshape(Exact([chunk.len(), *heads, each])).sum_dim(2).reshape(Exact([chunk.len(), *heads]))
        });
        let mut parts: Vec<_> = scores.collect();
        if parts.len() == 1 { parts.remove(0) } else { Tensor::cat(parts, 0) }
    }

    /// The gradients of the nodes, the vectors and the edge features.
    fn backward(&self, grad: Tensor<2>, needs: [bool; 3]) -> [Option<Erased>; 3] {
        let Self { chunks, operands, heads, slope } = self;
        let (width, heads) = (operands.nodes.dims()[1], *heads);
        let mut sums: [Option<Tensor<2>>; 3] = [None, None, None];
        let add = |sum: &mut Option<Tensor<2>>, part: Tensor<2>| {
            *sum = Some(match sum.take() {
                Some(sum) => sum + part,
                None => part,
            });
        };
        let mut of_edges = vec![];
        for chunk in chunks.list.iter() {
            let count = chunk.len();
            let before = operands.sums(chunk, chunks.shape[0]);
            let grad = chunk.part(&grad).reshape(Exact([count, heads, 1]));
            let grad = grad.expand([count, heads, width / heads]).reshape(Exact([count, width]));
            if needs[1] {
                let part = grad.clone() * leaky_relu(before.clone(), *slope);
                add(&mut sums[1], sum_dim(part, 0));
            }
            // The slope at 0 is that below it, as in PyTorch.
            let below = before.lower_equal_scalar(0.0);
            let grad = grad * operands.attention();
            let grad = grad.clone().mask_where(below, grad.mul_scalar(*slope));
            if needs[0] {
                add(&mut sums[0], chunks.to_nodes(chunk, &grad));
            }
            if let Some(edges) = &operands.edges {
                if needs[1] {
                    add(&mut sums[2], chunk.part(edges).swap_dims(0, 1).matmul(grad.clone()));
                }
                if needs[2] {
                    of_edges.push(grad.matmul(operands.weight().swap_dims(0, 1)));
                }
            }
        }
        let [nodes, attention, weight] = sums;
        let vectors = attention.map(|attention| match weight {
            Some(weight) => Tensor::cat(vec![attention, weight], 0),
            None => attention,
        });
        let edges = needs[2].then(|| Tensor::cat(of_edges, 0));
        [nodes, vectors, edges].map(|grad| grad.map(Erased::from))
    }
}
