//! Random splits into training, validation and test sets.

use super::graph::Splits;
use super::host::{HostRows, keep};
use burn::tensor::{Bool, Device, Int, Tensor, TensorData};
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use rand::seq::SliceRandom;
use sparse_ops::extend::{Exact, check_ids, check_square, index_below};
use sparse_ops::{CsrTensor, Result, SparseError};
use std::collections::HashMap;

impl Splits {
    /// One mask `[nodes]` for each split: train, validation, test.
    ///
    /// # Errors
    ///
    /// `index_out_of_range` for a node that is not below `nodes`.
    pub fn masks(&self, nodes: usize, device: &Device) -> Result<[Tensor<1, Bool>; 3]> {
        for ids in [&self.train, &self.val, &self.test] {
            check_ids("Splits::masks", ids, nodes)?;
        }
        Ok([&self.train, &self.val, &self.test].map(|ids| {
            let mut mask = vec![false; nodes];
            ids.iter().for_each(|&id| mask[id] = true);
            Tensor::from_data(TensorData::new(mask, [nodes]), &device.clone().inner())
        }))
    }
}

/// Splits `0 .. count` (the nodes of a graph, or the graphs of a data set) at random: shares `train` and `val` of them,
/// and the rest for testing. Ids ascend in each split.
///
/// The number of validation ids is `count * val` rounded down, that of training ids likewise. The result depends on the
/// seed only. (PyG's `RandomNodeSplit` and PyTorch's `random_split`.)
///
/// ```
/// use sparse_tensor::data::random_split;
///
/// let splits = random_split(50, 0.8, 0.1, 7).unwrap();
/// assert_eq!((splits.train.len(), splits.val.len(), splits.test.len()), (40, 5, 5));
/// ```
///
/// # Errors
///
/// `invalid` for a share outside `[0, 1]`, or shares that are more than 1 together.
pub fn random_split(count: usize, train: f64, val: f64, seed: u64) -> Result<Splits> {
    const OP: &str = "random_split";
    let [train, val] = sizes(OP, count, ["train", "val"], [train, val])?;
    let mut ids: Vec<usize> = (0..count).collect();
    ids.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
    Ok(cut(ids, train, val))
}

/// Splits labelled nodes at random: `per_class` nodes of each class for training, then `val` nodes for validation and
/// `test` for testing, from all that are left. This is the split of the Planetoid papers.
///
/// `labels` has the class of each node; nodes with the label -1 are in no split. A class with fewer than `per_class`
/// nodes gives all of them. Ids ascend in each split. (PyG's `RandomNodeSplit(split="random")`.)
///
/// # Errors
///
/// `invalid` for a label below -1, or fewer nodes than asked for validation and testing.
pub fn random_split_per_class(labels: &[i64], per_class: usize, val: usize, test: usize, seed: u64) -> Result<Splits> {
    const OP: &str = "random_split_per_class";
    let ids = shuffled(OP, labels, seed)?;
    let mut taken = HashMap::new();
    let (train, mut rest): (Vec<usize>, Vec<usize>) = ids.into_iter().partition(|&node| {
        let count = taken.entry(labels[node]).or_insert(0);
        *count += 1;
        *count <= per_class
    });
    if val.checked_add(test).is_none_or(|both| both > rest.len()) {
        let message = format!("{val} + {test} nodes must be left for validation and testing, got {}", rest.len());
        return Err(SparseError::invalid(OP, message));
    }
    rest.truncate(val + test);
    let mut splits = cut(rest, 0, val);
    splits.train = sorted(train);
    Ok(splits)
}

/// Cuts labelled examples at random into `folds` folds, in which each class has its share: of each class, and of all
/// examples, the folds have the same number, or one more.
///
/// `labels` has the class of each node or graph; those with the label -1 are in no fold. Ids ascend in each fold. The
/// k-th of ten runs tests on fold `k`, chooses an epoch on fold `(k + 1) % 10` and trains on the others. The same with
/// `train` of ten folds is a stratified split by shares. (scikit-learn's `StratifiedKFold(shuffle=True)`.)
///
/// ```
/// use sparse_tensor::data::stratified_folds;
///
/// let folds = stratified_folds(&[0, 1, 0, 0, 1, 0], 2, 7).unwrap();
/// assert_eq!(folds.iter().map(|fold| fold.len()).collect::<Vec<_>>(), [3, 3]);
/// assert!(folds.iter().all(|fold| fold.contains(&1) != fold.contains(&4)));
/// ```
///
/// # Errors
///
/// `invalid` for fewer than two folds, more folds than examples, and a label below -1.
pub fn stratified_folds(labels: &[i64], folds: usize, seed: u64) -> Result<Vec<Vec<usize>>> {
    const OP: &str = "stratified_folds";
    let mut ids = shuffled(OP, labels, seed)?;
    if folds < 2 || folds > ids.len() {
        let message = format!("folds must be in [2, {}], the number of examples, got {folds}", ids.len());
        return Err(SparseError::invalid(OP, message));
    }
    // Classes in turn, dealt out like cards.
    ids.sort_by_key(|&id| labels[id]);
    Ok((0..folds).map(|fold| sorted(ids[fold..].iter().step_by(folds).copied().collect())).collect())
}

/// Edges for training a model that predicts edges.
#[derive(Clone, Debug)]
pub struct EdgeSplit {
    /// The adjacency with the training edges only: what a model may see while it trains and while it is validated.
    pub train: CsrTensor<2>,
    /// The adjacency with the edges for training and validation: what a model may see while it is tested.
    pub train_val: CsrTensor<2>,
    /// The edges to predict in training, `[2, n]`: rows and columns. Of an undirected graph each edge is here once.
    pub train_edges: Tensor<2, Int>,
    /// The edges to predict in validation.
    pub val_edges: Tensor<2, Int>,
    /// The edges to predict in testing.
    pub test_edges: Tensor<2, Int>,
}

/// Splits the edges of `adjacency` `[M, N]` at random: shares `val` and `test` of them, and the rest for training.
///
/// `undirected`, for a square adjacency: an edge and its reverse are one edge, which is in one split; both must be
/// stored. Self loops are then edges too. The values of the adjacency stay with the edges; gradients reach them. Edges
/// ascend in each split. The result depends on the seed only. It has no negative edges. Cost: the pattern is read to
/// the host; `O(nnz)`. (PyG's `RandomLinkSplit`.)
///
/// ```
/// use burn::tensor::Device;
/// use sparse_tensor::data::{karate, random_edge_split};
///
/// let split = random_edge_split(&karate(&Device::flex()).adjacency, 0.1, 0.2, true, 1).unwrap();
/// assert_eq!((split.train.nnz(), split.val_edges.dims(), split.test_edges.dims()), (2 * 56, [2, 7], [2, 15]));
/// ```
///
/// # Errors
///
/// `shape_mismatch` if it is undirected and not square; `invalid` for a share outside `[0, 1]`, shares that are more
/// than 1 together, or (if undirected) an edge without its reverse.
pub fn random_edge_split(
    adjacency: &CsrTensor<2>,
    val: f64,
    test: f64,
    undirected: bool,
    seed: u64,
) -> Result<EdgeSplit> {
    const OP: &str = "random_edge_split";
    if undirected {
        check_square(OP, adjacency)?;
    }
    let rows = HostRows::of(adjacency.pattern());
    let (ptr, idx) = (rows.ptr(), rows.idx());
    let [count, columns] = adjacency.dims();
    let ends: Vec<(usize, usize)> =
        (0..count).flat_map(|row| (ptr.at(row)..ptr.at(row + 1)).map(move |at| (row, idx.at(at)))).collect();
    let reverse = |&(row, col): &(usize, usize)| ends.binary_search(&(col, row));
    if undirected && let Some((row, col)) = ends.iter().find(|edge| reverse(edge).is_err()) {
        let message =
            format!("use to_undirected: an undirected edge must be stored both ways, got only ({row}, {col})");
        return Err(SparseError::invalid(OP, message));
    }
    let mut edges: Vec<usize> = (0..ends.len()).filter(|&at| !undirected || ends[at].0 <= ends[at].1).collect();
    let [val, test] = sizes(OP, edges.len(), ["val", "test"], [val, test])?;
    edges.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
    let train = edges.len() - val - test;
    let splits = cut(edges, train, val);
    let device = adjacency.device();
    let positions = |parts: &[&Vec<usize>]| {
        let own = parts.iter().flat_map(|part| part.iter().copied());
        let mirror = own.clone().filter(|&at| undirected && ends[at].0 != ends[at].1);
        let mirror = mirror.map(|at| reverse(&ends[at]).unwrap_or(at));
        sorted(own.chain(mirror).collect())
    };
    let part = |positions: Vec<usize>| keep(adjacency, &rows, &positions);
    let list = |positions: &[usize]| {
        let both = positions.iter().map(|&at| ends[at].0).chain(positions.iter().map(|&at| ends[at].1));
        index_below(&both.collect::<Vec<_>>(), count.max(columns), &device).reshape(Exact([2, positions.len()]))
    };
    Ok(EdgeSplit {
        train: part(positions(&[&splits.train])),
        train_val: part(positions(&[&splits.train, &splits.val])),
        train_edges: list(&splits.train),
        val_edges: list(&splits.val),
        test_edges: list(&splits.test),
    })
}

/// What has a label, in random order.
fn shuffled(op: &'static str, labels: &[i64], seed: u64) -> Result<Vec<usize>> {
    if let Some(node) = labels.iter().position(|&label| label < -1) {
        let message =
            format!("a label must be a class, or -1 if it is not known, got {} for node {node}", labels[node]);
        return Err(SparseError::invalid(op, message));
    }
    let mut ids: Vec<usize> = (0..labels.len()).filter(|&node| labels[node] >= 0).collect();
    ids.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
    Ok(ids)
}

/// How many of `count` two shares are, rounded down.
fn sizes(op: &'static str, count: usize, names: [&str; 2], shares: [f64; 2]) -> Result<[usize; 2]> {
    for (name, share) in names.iter().zip(shares) {
        if !(0.0..=1.0).contains(&share) {
            return Err(SparseError::invalid(op, format!("{name} must be in [0, 1], got {share}")));
        }
    }
    let [first, second] = shares;
    // 0.9 + 0.1 may be a little more than 1.
    if first + second > 1.0 + 1e-9 {
        let message = format!("{} + {} must be at most 1, got {first} and {second}", names[0], names[1]);
        return Err(SparseError::invalid(op, message));
    }
    // So may a product be a little less than a whole number.
    let size = |share: f64| ((count as f64 * share + 1e-6).floor() as usize).min(count);
    let first = size(first);
    Ok([first, size(second).min(count - first)])
}

/// The first `train` ids, the next `val` ids and the rest, each sorted.
fn cut(mut ids: Vec<usize>, train: usize, val: usize) -> Splits {
    let test = ids.split_off(train + val);
    let val = ids.split_off(train);
    Splits { train: sorted(ids), val: sorted(val), test: sorted(test) }
}

fn sorted(mut ids: Vec<usize>) -> Vec<usize> {
    ids.sort_unstable();
    ids
}
