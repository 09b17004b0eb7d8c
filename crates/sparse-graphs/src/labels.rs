//! Classes of nodes, some of which are not known.

use burn::tensor::{Bool, Device, Int, Tensor, TensorData};
use sparse_ops::extend::{associate, index_dtype_for, index_tensor, read_data};
use sparse_ops::{Result, SparseError};

/// The class of every node of a graph; a node may have none.
///
/// A missing label is -1 ([`MISSING`](Self::MISSING)), as in the files of Planetoid and OGB. What is done with it:
///
/// | where | a node without a class |
/// |---|---|
/// | [`read_planetoid`], [`read_folder`], [`OgbGraph::to_graph`] | keeps -1; in a split it is an error |
/// | [`random_split_per_class`] | is in no split |
/// | [`Graph::labelled`], and so its cross entropy and accuracy | an error |
/// | [`roc_auc`], [`hits_at_k`] | an error: leave it out |
/// | [`one_hot`](Self::one_hot) | a row of zeros |
/// | the pictures of `plot` | grey |
/// | Burn's `one_hot` | the last class |
/// | Burn's `gather`, `select`, `CrossEntropyLoss` | a panic on a CPU, and undefined on a GPU: mask it out before |
///
/// ```
/// use burn::tensor::Device;
/// use sparse_tensor::data::Labels;
///
/// let labels = Labels::from_list(&[1, -1, 0], 2, &Device::flex()).unwrap();
/// assert_eq!(labels.one_hot().into_data().iter::<f32>().collect::<Vec<_>>(), [0.0, 1.0, 0.0, 0.0, 1.0, 0.0]);
/// assert_eq!(labels.known().into_data().iter::<bool>().collect::<Vec<_>>(), [true, false, true]);
/// ```
///
/// [`read_planetoid`]: super::read_planetoid
/// [`read_folder`]: super::read_folder
/// [`OgbGraph::to_graph`]: super::OgbGraph::to_graph
/// [`random_split_per_class`]: super::random_split_per_class
/// [`Graph::labelled`]: super::Graph::labelled
/// [`roc_auc`]: super::roc_auc
/// [`hits_at_k`]: super::hits_at_k
#[derive(Clone, Debug)]
pub struct Labels {
    labels: Tensor<1, Int>,
    classes: usize,
}

impl Labels {
    /// The label of a node whose class is not known.
    pub const MISSING: i64 = -1;

    /// Labels `[nodes]`, each a class below `classes` or -1. Reads them from the device.
    ///
    /// # Errors
    ///
    /// `invalid` for another label.
    pub fn new(labels: Tensor<1, Int>, classes: usize) -> Result<Self> {
        let labels = Self { labels, classes };
        check("Labels::new", &labels.to_vec(), classes)?;
        Ok(labels)
    }

    /// Labels of a list of the host, for tensors on `device`. Without `classes` there are as many as the largest label
    /// needs.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn from_list(labels: &[i64], classes: impl Into<Option<usize>>, device: &Device) -> Result<Self> {
        let needed = || labels.iter().max().map_or(0, |&class| class.saturating_add(1).max(0) as usize);
        let classes = classes.into().unwrap_or_else(needed);
        check("Labels::from_list", labels, classes)?;
        Ok(Self::new_unchecked(labels.to_vec(), classes, device))
    }

    /// Labels that are right by construction.
    pub(super) fn new_unchecked(labels: Vec<i64>, classes: usize, device: &Device) -> Self {
        let length = labels.len();
        Self { labels: Tensor::from_data(TensorData::new(labels, [length]), device), classes }
    }

    /// Number of classes. Known labels are below it.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.labels.dims()[0]
    }

    /// Whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The labels `[nodes]`, -1 where there is none. Index with them only where they are [`known`](Self::known).
    pub fn tensor(&self) -> Tensor<1, Int> {
        self.labels.clone()
    }

    /// The labels on the host. Reads them from the device.
    pub fn to_vec(&self) -> Vec<i64> {
        read_data(self.labels.clone()).convert::<i64>().iter().collect()
    }

    /// The nodes whose class is known: a mask `[nodes]`.
    pub fn known(&self) -> Tensor<1, Bool> {
        self.labels.clone().inner().greater_equal_elem(0)
    }

    /// `[nodes, classes]`: 1 at the class of each node, and zeros in the row of a node without one. Cost: a comparison
    /// of each element.
    ///
    /// A node that votes in label propagation has a row of ones and zeros; one that does not know votes for nothing.
    pub fn one_hot(&self) -> Tensor<2> {
        let (device, shape) = (self.labels.device(), [self.len(), self.classes]);
        if shape.contains(&0) {
            return Tensor::zeros(shape, &device);
        }
        let dtype = index_dtype_for(self.classes);
        let classes = Tensor::<1, Int>::arange(0..self.classes as i64, (&device.clone().inner(), dtype));
        let labels = index_tensor(self.labels.clone(), dtype);
        let hot = labels.unsqueeze_dim::<2>(1).equal(classes.unsqueeze_dim::<2>(0)).float();
        associate(hot, &device)
    }

    /// The same labels on another device.
    pub(super) fn to_device(&self, device: &Device) -> Self {
        Self { labels: self.labels.clone().to_device(device), classes: self.classes }
    }

    /// The same labels without an autodiff association.
    pub fn valid(&self) -> Self {
        Self { labels: self.labels.clone().inner(), classes: self.classes }
    }
}

fn check(op: &'static str, labels: &[i64], classes: usize) -> Result<()> {
    let Some(node) = labels.iter().position(|label| !(-1..classes as i64).contains(label)) else { return Ok(()) };
    let label = labels[node];
    let message = format!("a label must be in [0, {classes}), or -1 if it is not known, got {label} for node {node}");
    Err(SparseError::invalid(op, message))
}
