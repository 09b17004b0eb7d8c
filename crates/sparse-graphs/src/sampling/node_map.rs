//! Global ids and local ids.

use burn::tensor::{Device, Int, Tensor};
use sparse_ops::extend::index_below;
use sparse_ops::{Result, SparseError};
use std::collections::HashMap;
use std::sync::OnceLock;

/// The nodes of a part of a graph: local id `k` stands for global id `ids()[k]`.
///
/// ```
/// use sparse_tensor::data::NodeMap;
///
/// let (nodes, local) = NodeMap::relabel(&[70, 20, 70, 50]);
/// assert_eq!((nodes.ids(), local), (&[70, 20, 50][..], vec![0, 1, 0, 2]));
/// assert_eq!(nodes.find(50), Some(2));
/// ```
#[derive(Clone, Debug, Default)]
pub struct NodeMap {
    ids: Vec<usize>,
    local: OnceLock<HashMap<usize, usize>>,
}

impl NodeMap {
    /// From different global ids.
    pub(crate) fn new(ids: Vec<usize>) -> Self {
        Self { ids, local: OnceLock::new() }
    }

    /// Numbers the different ids of a list in the order in which they appear. Also returns the local id of each entry.
    /// Cost: one hash look-up for each entry.
    pub fn relabel(list: &[usize]) -> (Self, Vec<usize>) {
        let (mut ids, mut numbers) = (Vec::new(), HashMap::new());
        let local = list.iter().map(|&id| {
            *numbers.entry(id).or_insert_with(|| {
                ids.push(id);
                ids.len() - 1
            })
        });
        let local = local.collect();
        (Self { ids, local: OnceLock::from(numbers) }, local)
    }

    /// The global id of each local one.
    pub fn ids(&self) -> &[usize] {
        &self.ids
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The local id of a global one, if it is here. The first call makes a hash table of all nodes.
    pub fn find(&self, id: usize) -> Option<usize> {
        let table = self.local.get_or_init(|| self.ids.iter().enumerate().map(|(local, &id)| (id, local)).collect());
        table.get(&id).copied()
    }

    /// The local ids of global ones.
    ///
    /// # Errors
    ///
    /// `invalid` for an id that is not here.
    pub fn to_local(&self, ids: &[usize]) -> Result<Vec<usize>> {
        let local = |(position, &id): (usize, &usize)| {
            self.find(id).ok_or_else(|| {
                let rule = format!("a node must be one of the {} nodes of the map", self.len());
                SparseError::invalid("NodeMap::to_local", format!("{rule}, got {id} at position {position}"))
            })
        };
        ids.iter().enumerate().map(local).collect()
    }

    /// The global ids as an index tensor `[nodes]`.
    pub fn tensor(&self, device: &Device) -> Tensor<1, Int> {
        let end = self.ids.iter().max().map_or(0, |&last| last.saturating_add(1));
        index_below(&self.ids, end, device)
    }
}
