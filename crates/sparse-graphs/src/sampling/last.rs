//! The last events of nodes.

use super::node_map::NodeMap;
use burn::tensor::{Device, Tensor};
use sparse_macros::or_panic;
use sparse_nn::TemporalEvents;
use sparse_ops::extend::{Parts, check_ids, index_below};
use sparse_ops::pattern::CsrPattern;
use sparse_ops::{CsrTensor, Fill, Result, SparseError};
use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;

/// The last events of each node, as they come: the neighbours from which a temporal model computes the embedding of a
/// node.
///
/// An event is one of both its nodes. [`sample`](Self::sample) gives those of some nodes as a [`LastEvents`]. (PyG's
/// `LastNeighborLoader`.)
///
/// Source: Rossi et al., *Temporal graph networks for deep learning on dynamic graphs*, 2020.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::data::LastNeighbors;
/// use sparse_tensor::nn::TemporalEvents;
///
/// let device = Device::flex();
/// let messages = Tensor::<2>::ones([4, 2], &device);
/// let events = TemporalEvents::new(5, vec![0, 0, 1, 0], vec![3, 3, 3, 4], vec![1, 2, 5, 7], messages).unwrap();
/// let mut neighbors = LastNeighbors::new(5, 2);
/// neighbors.insert(&events, 0..4);
/// let found = neighbors.sample(&[3, 2, 3], &device);
/// assert_eq!((&found.nodes, &found.roots), (&vec![3, 2, 0, 1], &vec![0, 1, 0]));
/// assert_eq!((&found.sources, &found.events), (&vec![2, 3], &vec![1, 2])); // event 0 is forgotten
/// assert_eq!(found.adjacency.dims(), [2, 2]);
/// ```
#[derive(Clone)]
pub struct LastNeighbors {
    size: usize,
    /// The neighbours of each node and the events, the last at the end.
    found: Vec<VecDeque<(usize, usize)>>,
    next: usize,
}

/// The last events of some nodes. [`LastNeighbors`] gives it.
///
/// Two nodes may have several events, and each is an edge of its own. So the adjacency has a column for each event, not
/// for each node: a layer for two kinds of nodes takes it with the features of `sources`.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::data::LastNeighbors;
/// use sparse_tensor::nn::{TemporalEvents, TransformerConvConfig};
/// use sparse_tensor::ops::IndexPlan;
///
/// let device = Device::flex();
/// let messages = Tensor::<2>::ones([3, 2], &device);
/// let events = TemporalEvents::new(4, vec![0, 0, 1], vec![3, 3, 3], vec![1, 2, 5], messages).unwrap();
/// let mut neighbors = LastNeighbors::new(4, 10);
/// neighbors.insert(&events, 0..3);
/// let found = neighbors.sample(&[3, 0], &device);
///
/// let x = Tensor::<2>::ones([found.nodes.len(), 8], &device); // for instance of `TgnMemory`
/// let targets = x.clone().narrow(0, 0, found.adjacency.dims()[0]);
/// let plan = |ids: &[usize], of| IndexPlan::from_list(ids, of, &device).unwrap();
/// let rows = |x: &Tensor<2>, ids: &[usize]| plan(ids, x.dims()[0]).select(x.clone(), 0);
/// let edges = rows(events.messages(), &found.events);
/// let layer = TransformerConvConfig::new(8, 4).with_d_edge(Some(2)).init(&device);
/// let out = layer.forward_bipartite(&found.adjacency, rows(&x, &found.sources), targets, Some(edges));
/// assert_eq!(rows(&out, &found.roots).dims(), [2, 4]);
/// ```
#[derive(Clone, Debug)]
pub struct LastEvents {
    /// The nodes: the different roots, then their neighbours, both in the order in which they appear.
    pub nodes: Vec<usize>,
    /// The place of each root among them.
    pub roots: Vec<usize>,
    /// `[different roots, events]`, with value 1: row `i` stores the events of node `i`, the last at the end.
    pub adjacency: CsrTensor<2>,
    /// For each event the place of the other node among `nodes`.
    pub sources: Vec<usize>,
    /// For each event its number.
    pub events: Vec<usize>,
}

impl LastNeighbors {
    /// Keeps the last `size` events of each of `nodes` nodes. There are none yet.
    pub fn new(nodes: usize, size: usize) -> Self {
        Self { size, found: vec![VecDeque::new(); nodes], next: 0 }
    }

    /// Takes the next events.
    ///
    /// # Errors
    ///
    /// `invalid` for events of another number of nodes, that there are not, or that were taken before: time must not
    /// run backwards.
    #[or_panic]
    pub fn try_insert(&mut self, events: &TemporalEvents, range: Range<usize>) -> Result<()> {
        const OP: &str = "LastNeighbors::insert";
        if events.nodes() != self.found.len() {
            let message = format!("events must be those of {} nodes, got {}", self.found.len(), events.nodes());
            return Err(SparseError::invalid(OP, message));
        }
        if range.start > range.end || range.end > events.len() {
            let message = format!("events must be in [0, {}), got {range:?}", events.len());
            return Err(SparseError::invalid(OP, message));
        }
        if range.start < self.next {
            let message =
                format!("time must not run backwards: events must follow the first {}, got {range:?}", self.next);
            return Err(SparseError::invalid(OP, message));
        }
        self.next = range.end;
        for event in range {
            let [source, target] = [events.sources()[event], events.targets()[event]];
            self.push(target, source, event);
            if source != target {
                self.push(source, target, event);
            }
        }
        Ok(())
    }

    fn push(&mut self, node: usize, other: usize, event: usize) {
        let own = &mut self.found[node];
        own.push_back((other, event));
        if own.len() > self.size {
            own.pop_front();
        }
    }

    /// The last events of `roots`, which may repeat.
    ///
    /// # Errors
    ///
    /// `index_out_of_range` for what is no node.
    #[or_panic]
    pub fn try_sample(&self, roots: &[usize], device: &Device) -> Result<LastEvents> {
        check_ids("LastNeighbors::sample", roots, self.found.len())?;
        let (own, _) = NodeMap::relabel(roots);
        let found: Vec<_> = own.ids().iter().flat_map(|&root| &self.found[root]).copied().collect();
        let all: Vec<usize> = roots.iter().copied().chain(found.iter().map(|&(other, _)| other)).collect();
        let (nodes, mut places) = NodeMap::relabel(&all);
        let sources = places.split_off(roots.len());
        let (rows, count, device) = (own.len(), found.len(), device.clone().inner());
        let mut ptr = vec![0];
        for &root in own.ids() {
            ptr.push(ptr[ptr.len() - 1] + self.found[root].len());
        }
        let columns: Vec<usize> = (0..count).collect();
        let ptr = index_below(&ptr, count + 1, &device);
        let pattern = CsrPattern::new_unchecked(ptr, index_below(&columns, count, &device), &[rows, count]);
        let adjacency = CsrTensor::from_parts(pattern, Tensor::ones([count, 1], &device), vec![], Fill::Zero);
        let events = found.into_iter().map(|(_, event)| event).collect();
        Ok(LastEvents { nodes: nodes.ids().to_vec(), roots: places, adjacency, sources, events })
    }
}

impl fmt::Debug for LastNeighbors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LastNeighbors({} nodes, the last {} events)", self.found.len(), self.size)
    }
}
