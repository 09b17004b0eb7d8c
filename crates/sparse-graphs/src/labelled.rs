//! Nodes with known classes.

use super::graph::Graph;
use super::labels::Labels;
use burn::tensor::{Device, Int, Tensor};
use sparse_macros::or_panic;
use sparse_ops::extend::{Exact, check_ids, index_below, log_softmax_rows, read_data, sum_dim, wide};
use sparse_ops::ops::{IndexPlan, Reduce};
use sparse_ops::{Result, SparseError};

/// Some nodes with their classes: what a classifier of nodes is trained on, or measured on.
///
/// The model gives logits for all nodes of the graph, and the rows of these nodes are taken. What that needs is checked
/// and sorted once, so make one for each split, before training. (PyG's masks `train_mask`, `val_mask`, `test_mask`.)
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::data::karate;
///
/// let graph = karate(&Device::flex());
/// let test = graph.labelled(&graph.splits.test).unwrap();
/// // A model that says class 1 for every node.
/// let logits = Tensor::<2>::from_floats([[0.0, 1.0]], &Device::flex()).expand([34, 2]);
/// assert_eq!((test.len(), test.accuracy(logits.clone())), (32, 0.5));
/// let loss: f32 = test.cross_entropy(logits).into_scalar();
/// // Half of the nodes have the probability e / (1 + e), the others 1 / (1 + e).
/// assert!((loss - 0.813).abs() < 1e-3);
/// ```
#[derive(Clone, Debug)]
pub struct LabelledNodes {
    nodes: IndexPlan,
    /// Where the logits of the classes are in the rows of the nodes, read as one list.
    chosen: IndexPlan,
    labels: Vec<usize>,
    classes: usize,
}

impl Graph {
    /// The nodes `nodes`, for instance a split, with their classes. A node may be listed several times. Reads the
    /// labels from the device.
    ///
    /// # Errors
    ///
    /// `index_out_of_range` for what is no node; `invalid` for a node without a known class.
    pub fn labelled(&self, nodes: &[usize]) -> Result<LabelledNodes> {
        LabelledNodes::of("Graph::labelled", &self.labels, nodes, &self.adjacency.device())
    }
}

impl LabelledNodes {
    /// The nodes `nodes` with their classes.
    pub(super) fn of(op: &'static str, labels: &Labels, nodes: &[usize], device: &Device) -> Result<Self> {
        let all = labels.to_vec();
        check_ids(op, nodes, all.len())?;
        let own: Vec<i64> = nodes.iter().map(|&node| all[node]).collect();
        Self::new(nodes, &own, all.len(), labels.classes(), device)
    }

    /// The nodes `nodes` of a graph of `all` nodes, with `labels` below `classes`, for logits on `device`.
    ///
    /// # Errors
    ///
    /// `length_mismatch` if there is not one label for each node; `index_out_of_range` for a node that is not below
    /// `all`; `invalid` for a label that is no class; `overflow`.
    pub fn new(nodes: &[usize], labels: &[i64], all: usize, classes: usize, device: &Device) -> Result<Self> {
        const OP: &str = "LabelledNodes::new";
        if nodes.len() != labels.len() {
            return Err(SparseError::length_mismatch(OP, "the list of labels", nodes.len(), labels.len()));
        }
        check_ids(OP, nodes, all)?;
        if let Some(at) = labels.iter().position(|&label| !(0..classes as i64).contains(&label)) {
            let (label, node) = (labels[at], nodes[at]);
            let message = format!("a label must be in [0, {classes}), got {label} for node {node}");
            return Err(SparseError::invalid(OP, message));
        }
        let got = labels.len() as u128 * classes as u128;
        if got > isize::MAX as u128 {
            return Err(SparseError::overflow(OP, "the number of logits", isize::MAX, got));
        }
        let labels: Vec<usize> = labels.iter().map(|&label| label as usize).collect();
        let places: Vec<usize> = labels.iter().enumerate().map(|(at, &label)| at * classes + label).collect();
        let size = labels.len() * classes;
        Ok(Self {
            nodes: IndexPlan::new(index_below(nodes, all, device), all)?,
            chosen: IndexPlan::new(index_below(&places, size, device), size)?,
            labels,
            classes,
        })
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// The mean of `-log softmax(logits[node])[label]` over the nodes: `logits [N, classes]` of all nodes, to `[1]`.
    ///
    /// Backward: deterministic, by segments; rows of other nodes get 0. Cost: `O(nodes * classes)`.
    ///
    /// # Errors
    ///
    /// `shape_mismatch`, `unsupported_dtype`, `device_mismatch`; `empty_input` if there are no nodes.
    #[or_panic]
    pub fn try_cross_entropy(&self, logits: Tensor<2>) -> Result<Tensor<1>> {
        let dtype = logits.dtype();
        // A sum over all nodes: 16-bit floats are added up in f32.
        let rows = log_softmax_rows(wide(self.rows("LabelledNodes::cross_entropy", logits)?));
        let list = rows.reshape(Exact([self.len() * self.classes]));
        let sum = sum_dim(self.chosen.try_select(list, 0)?, 0);
        Ok(sum.div_scalar(-(self.len() as f64)).cast(dtype))
    }

    /// The share of the nodes whose largest logit is that of their class; of equal logits Burn's `argmax` chooses.
    /// `logits [N, classes]` are those of all nodes. Reads one number for each node from the device.
    ///
    /// # Errors
    ///
    /// As [`try_cross_entropy`](Self::try_cross_entropy).
    #[or_panic]
    pub fn try_accuracy(&self, logits: Tensor<2>) -> Result<f64> {
        let predicted: Tensor<2, Int> = self.rows("LabelledNodes::accuracy", logits.inner())?.argmax(1);
        let predicted = read_data(predicted).convert::<i64>();
        let right = predicted.iter::<i64>().zip(&self.labels).filter(|&(class, &label)| class == label as i64).count();
        Ok(right as f64 / self.len() as f64)
    }

    pub(super) fn classes(&self) -> usize {
        self.classes
    }

    /// `x` `[N, classes]` with a 1 at the class of each node, and zeros in the rest of its row.
    pub(super) fn put_classes(&self, op: &'static str, x: Tensor<2>) -> Result<Tensor<2>> {
        self.check(op, x.dims())?;
        let size = self.len() * self.classes;
        let options = (&x.device(), x.dtype());
        let (zeros, ones) = (Tensor::<1>::zeros([size], options), Tensor::<1>::ones([self.len()], options));
        let hot = self.chosen.try_put(zeros, 0, ones, Reduce::Amax, true)?;
        self.put_rows(x, hot.reshape(Exact([self.len(), self.classes])))
    }

    /// `x` `[N, classes]` with other rows of the nodes.
    pub(super) fn put_rows(&self, x: Tensor<2>, rows: Tensor<2>) -> Result<Tensor<2>> {
        self.nodes.try_put(x, 0, rows, Reduce::Amax, false)
    }

    /// The rows of the nodes.
    pub(super) fn rows(&self, op: &'static str, logits: Tensor<2>) -> Result<Tensor<2>> {
        self.check(op, logits.dims())?;
        self.nodes.try_select(logits, 0)
    }

    fn check(&self, op: &'static str, dims: [usize; 2]) -> Result<()> {
        let expected = [self.nodes.size(), self.classes];
        if dims != expected {
            let rule = "the logits {left} must have a row for each node and a column for each class, {right}";
            return Err(SparseError::shape_mismatch(op, rule, dims, expected));
        }
        if self.is_empty() {
            return Err(SparseError::empty_input(op, "there must be at least one node, got none"));
        }
        Ok(())
    }
}
