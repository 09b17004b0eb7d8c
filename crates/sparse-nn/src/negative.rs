//! Pairs of nodes without an edge.

use super::link::NodePairs;
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use rand::seq::index::sample;
use sparse_macros::or_panic;
use sparse_ops::extend::read_all;
use sparse_ops::{CsrTensor, Result, SparseError};

/// `count` different pairs `(i, j)` that the adjacency `[M, N]` does not store, drawn uniformly: negative examples for
/// the prediction of links.
///
/// A square adjacency is one graph, and pairs `(i, i)` are not drawn. The draw is exact and without replacement,
/// however dense the graph is, and the decoders take the pairs as they are. (PyG's `negative_sampling` draws and
/// rejects, and may return fewer.) The same seed gives the same pairs on every machine. Reads the pattern from the
/// device. Cost: `O(nnz + M + count log(nnz))`.
///
/// ```
/// use burn::tensor::Device;
/// use sparse_tensor::{data::karate, nn::{dot_decoder, negative_sampling}};
///
/// let graph = karate(&Device::flex());
/// let pairs = negative_sampling(&graph.adjacency, 100, 7);
/// let z = graph.features.to_dense(); // the embeddings of a model
/// assert_eq!(dot_decoder(z.clone(), z, &pairs).dims(), [100]);
/// ```
///
/// # Errors
///
/// `invalid` if there are fewer such pairs; `overflow` if there are more elements than `usize` can count.
#[or_panic]
pub fn try_negative_sampling(adjacency: &CsrTensor<2>, count: usize, seed: u64) -> Result<NodePairs> {
    const OP: &str = "negative_sampling";
    let [rows, cols] = adjacency.dims();
    if rows.checked_mul(cols).is_none() {
        return Err(SparseError::overflow(OP, "the number of elements", usize::MAX, rows as u128 * cols as u128));
    }
    let pattern = adjacency.pattern();
    let ptr = read_all(pattern.row_ptr().clone());
    let stored = if adjacency.nnz() == 0 { vec![] } else { read_all(pattern.col_idx().clone()) };
    // The columns of each row that are not drawn, and how many pairs are free in the rows before.
    let (mut taken, mut starts, mut free) = (Vec::with_capacity(stored.len() + rows), vec![0], vec![0usize]);
    for row in 0..rows {
        let own = &stored[ptr[row] as usize..ptr[row + 1] as usize];
        let first = taken.len();
        taken.extend(own.iter().map(|&col| col as usize));
        if rows == cols
            && let Err(place) = taken[first..].binary_search(&row)
        {
            taken.insert(first + place, row);
        }
        starts.push(taken.len());
        free.push(free[row] + cols - (taken.len() - first));
    }
    if count > free[rows] {
        let message = format!("count must be at most {}, the pairs without an edge, got {count}", free[rows]);
        return Err(SparseError::invalid(OP, message));
    }
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let pair = |rank: usize| {
        // The last row whose first free pair is not after this one; rows without free pairs are passed over.
        let row = free.partition_point(|&before| before <= rank) - 1;
        let (own, rank) = (&taken[starts[row]..starts[row + 1]], rank - free[row]);
        // Before `own[k]` there are `own[k] - k` free columns. Those that are not more than `rank` come before the
        // pair.
        let (mut low, mut high) = (0, own.len());
        while low < high {
            let middle = (low + high) / 2;
            if own[middle] - middle <= rank { low = middle + 1 } else { high = middle }
        }
        (row, rank + low)
    };
    let drawn: Vec<(usize, usize)> = sample(&mut rng, free[rows], count).into_iter().map(pair).collect();
    NodePairs::new(&drawn, [rows, cols], &adjacency.device())
}
