//! Temporal graph networks.

use super::recurrent::gru_step;
use super::temporal::TemporalEvents;
use burn::config::Config;
use burn::module::Module;
use burn::nn::{Gru, GruConfig, Initializer, Linear, LinearConfig};
use burn::tensor::{Device, Tensor, TensorData};
use core::ops::Range;
use sparse_macros::or_panic;
use sparse_ops::extend::{Exact, associate, check_ids, same_elements};
use sparse_ops::ops::{IndexPlan, Reduce};
use sparse_ops::{CooTensor, Result, SparseError};

/// Configuration of a [`TgnMemory`].
#[derive(Config, Debug)]
pub struct TgnMemoryConfig {
    /// Number of features of a message.
    pub d_message: usize,
    /// Number of features of what a node remembers.
    pub d_memory: usize,
    /// Number of features of a time.
    pub d_time: usize,
    /// Whether the events of a node that wait are averaged. Otherwise the last one counts.
    #[config(default = false)]
    pub mean: bool,
}

/// The memory of a temporal graph network: what each node remembers of its events.
///
/// An event between `i` and `j` at the time `t`, with the message `e`, says to `i`
/// `m = [s_i, s_j, e, cos(w (t - t_i) + b)]`, where `s` are memories and `t_i` is the time of the event that `s_i`
/// remembers last, and the same to `j` with the nodes exchanged. Then `s_i = GRU(m, s_i)`. The events of a batch wait
/// until the node is read or has events again; so the loss of the next batch trains the weights.
///
/// A round of training reads with [`forward`](Self::forward), then gives the events of the batch to
/// [`update`](Self::update), both before the optimiser's step. To evaluate, call [`settle`](Self::settle) after
/// `update`: then nothing waits. What is remembered is a constant; gradients reach the weights through the events that
/// wait. (PyG's `TGNMemory` with `IdentityMessage`, and `LastAggregator` or `MeanAggregator`. It differs from the paper
/// for nodes without an event that waits: they go through the GRU with a message of zeros there, and keep their memory
/// here.)
///
/// Cost: `O((d_message + d_memory + d_time) d_memory)` for each node that is read and has events that wait.
///
/// Source: Rossi et al., *Temporal graph networks for deep learning on dynamic graphs*, 2020.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::nn::{TemporalEvents, TgnMemoryConfig};
///
/// let device = Device::flex();
/// let messages = Tensor::<2>::ones([3, 2], &device);
/// let events = TemporalEvents::new(4, vec![0, 1, 0], vec![2, 2, 3], vec![5, 6, 9], messages).unwrap();
/// let memory = TgnMemoryConfig::new(2, 8, 4).init(&device);
/// let mut state = memory.state(4);
/// memory.update(&mut state, &events, 0..2);
/// let x = memory.forward(&state, &events, &[0, 2, 3]); // of node 3 nothing is known
/// assert_eq!((x.dims(), x.narrow(0, 2, 1).sum().into_scalar::<f32>()), ([3, 8], 0.0));
/// assert_eq!(state.last_times(), [5, 6, 6, 0]);
/// ```
#[derive(Module, Debug)]
pub struct TgnMemory {
    /// `w` and `b` (PyG's `time_enc.lin`), `[1, d_time]`.
    pub time: Linear,
    /// The gates, of `2 d_memory + d_message + d_time` inputs.
    pub gru: Gru,
    mean: bool,
    d_message: usize,
}

/// What nodes remember, and the events that wait. [`TgnMemory::state`] makes it.
#[derive(Clone, Debug)]
pub struct TgnState {
    memory: Tensor<2>,
    /// The time of the last event that each node remembers.
    applied: Vec<i64>,
    /// The time of the last event of each node.
    last: Vec<i64>,
    /// The events of each node that wait.
    waiting: Vec<Vec<usize>>,
    /// Number of events that there were.
    next: usize,
}

impl TgnState {
    /// What each node remembers, without the events that wait: `[nodes, d_memory]`.
    pub fn memory(&self) -> &Tensor<2> {
        &self.memory
    }

    /// The time of the last event of each node, 0 before the first.
    pub fn last_times(&self) -> &[i64] {
        &self.last
    }
}

impl TgnMemoryConfig {
    /// A layer on `device`. The gates start uniform in `[-s, s]`, with `s = 1 / sqrt(d_memory)`.
    ///
    /// # Errors
    ///
    /// `invalid` for a memory or times without features.
    #[or_panic]
    pub fn try_init(&self, device: &Device) -> Result<TgnMemory> {
        let Self { d_message, d_memory, d_time, mean } = *self;
        if d_memory == 0 || d_time == 0 {
            let message = format!("d_memory and d_time must be at least 1, got {d_memory} and {d_time}");
            return Err(SparseError::invalid("TgnMemoryConfig::init", message));
        }
        let most = 1.0 / (d_memory as f64).sqrt();
        let gru = GruConfig::new(2 * d_memory + d_message + d_time, d_memory, true)
            .with_initializer(Initializer::Uniform { min: -most, max: most });
        Ok(TgnMemory { time: LinearConfig::new(1, d_time).init(device), gru: gru.init(device), mean, d_message })
    }
}

impl TgnMemory {
    /// What nodes remember before the first event: zeros.
    pub fn state(&self, nodes: usize) -> TgnState {
        let weight = self.time.weight.val();
        let memory = Tensor::zeros([nodes, self.d_memory()], (&weight.device().inner(), weight.dtype()));
        TgnState { memory, applied: vec![0; nodes], last: vec![0; nodes], waiting: vec![vec![]; nodes], next: 0 }
    }

    fn d_memory(&self) -> usize {
        let [_, width] = self.gru.update_gate.hidden_transform.weight.lazy_shape().dims::<2>();
        width
    }

    /// `cos(w t + b)` of each of some spans of time, `[n, d_time]`. (PyG's `TimeEncoder`.)
    pub fn encode_times(&self, times: Tensor<1>) -> Tensor<2> {
        let count = times.dims()[0];
        self.time.forward(times.reshape(Exact([count, 1]))).cos()
    }

    /// What `nodes`, which may repeat, remember, with the events that wait: `[nodes, d_memory]`. The state stays.
    ///
    /// # Errors
    ///
    /// `index_out_of_range` for what is no node; `invalid` for events of another number of nodes or of fewer than the
    /// state has seen; `shape_mismatch`, `dtype_mismatch` and `device_mismatch` for messages and states of another
    /// layer.
    #[or_panic]
    pub fn try_forward(&self, state: &TgnState, events: &TemporalEvents, nodes: &[usize]) -> Result<Tensor<2>> {
        const OP: &str = "TgnMemory::forward";
        self.check(OP, state, events)?;
        check_ids(OP, nodes, events.nodes())?;
        self.read(state, events, nodes)
    }

    /// Takes the next events: their nodes remember what waited for them, and these events wait.
    ///
    /// # Errors
    ///
    /// As [`try_forward`](Self::try_forward); `invalid` for events that there are not, or that the state has seen: time
    /// must not run backwards.
    #[or_panic]
    pub fn try_update(&self, state: &mut TgnState, events: &TemporalEvents, range: Range<usize>) -> Result<()> {
        const OP: &str = "TgnMemory::update";
        self.check(OP, state, events)?;
        events.check_range(OP, &range, state.next)?;
        let mut nodes = [&events.sources()[range.clone()], &events.targets()[range.clone()]].concat();
        nodes.sort_unstable();
        nodes.dedup();
        self.remember(state, events, nodes)?;
        for event in range.clone() {
            let ends = [events.sources()[event], events.targets()[event]];
            let distinct = if ends[0] == ends[1] { 1 } else { 2 };
            for &node in &ends[..distinct] {
                state.waiting[node].push(event);
                state.last[node] = events.times()[event];
            }
        }
        state.next = range.end;
        Ok(())
    }

    /// All nodes remember what waited for them.
    ///
    /// # Errors
    ///
    /// As [`try_forward`](Self::try_forward).
    #[or_panic]
    pub fn try_settle(&self, state: &mut TgnState, events: &TemporalEvents) -> Result<()> {
        self.check("TgnMemory::settle", state, events)?;
        self.remember(state, events, (0..events.nodes()).collect())
    }

    fn remember(&self, state: &mut TgnState, events: &TemporalEvents, mut nodes: Vec<usize>) -> Result<()> {
        nodes.retain(|&node| !state.waiting[node].is_empty());
        if nodes.is_empty() {
            return Ok(());
        }
        let rows = self.read(state, events, &nodes)?.inner();
        let plan = IndexPlan::from_list(&nodes, events.nodes(), &rows.device())?;
        state.memory = plan.try_put(state.memory.clone(), 0, rows, Reduce::Assign, true)?;
        for node in nodes {
            state.applied[node] = state.last[node];
            state.waiting[node].clear();
        }
        Ok(())
    }

    fn read(&self, state: &TgnState, events: &TemporalEvents, nodes: &[usize]) -> Result<Tensor<2>> {
        let weight = self.time.weight.val();
        let (device, dtype, plain) = (weight.device(), weight.dtype(), weight.device().inner());
        let rows = |x: &Tensor<2>, ids: &[usize]| {
            let plan = IndexPlan::from_list(ids, x.dims()[0], &plain)?;
            Ok::<_, SparseError>(associate(plan.try_select(x.clone().inner(), 0)?, &device))
        };
        // For each node its place in its memory and what comes after that, and what is said to whom.
        let (mut places, mut told, mut edges) = (Vec::with_capacity(nodes.len()), vec![], vec![]);
        let (mut own, mut other, mut said, mut spans, mut shares) = (vec![], vec![], vec![], vec![], vec![]);
        for (place, &node) in nodes.iter().enumerate() {
            let waiting = &state.waiting[node];
            let first = if self.mean { 0 } else { waiting.len().saturating_sub(1) };
            for &event in &waiting[first..] {
                let ends = [events.sources()[event], events.targets()[event]];
                edges.push((told.len(), own.len()));
                own.push(node);
                other.push(if ends[0] == node { ends[1] } else { ends[0] });
                said.push(event);
                spans.push(events.times()[event].saturating_sub(state.applied[node]) as f64);
                shares.push(1.0 / (waiting.len() - first) as f64);
            }
            places.push(if waiting.is_empty() { place } else { nodes.len() + told.len() });
            if !waiting.is_empty() {
                told.push(node);
            }
        }
        let kept = rows(&state.memory, nodes)?;
        if told.is_empty() {
            return Ok(kept);
        }
        let count = said.len();
        let numbers = |list: Vec<f64>| Tensor::<1>::from_data(TensorData::new(list, [count]), (&device, dtype));
        let times = self.encode_times(numbers(spans));
        let parts = [rows(&state.memory, &own)?, rows(&state.memory, &other)?, rows(events.messages(), &said)?, times];
        let mut messages = Tensor::cat(parts.into(), 1);
        if self.mean {
            let means = CooTensor::from_edges(&edges, numbers(shares), [told.len(), count])?.to_csr();
            messages = means.try_matmul(messages)?;
        }
        let new = gru_step(&self.gru, messages, rows(&state.memory, &told)?);
        let all = nodes.len() + told.len();
        IndexPlan::from_list(&places, all, &plain)?.try_select(Tensor::cat(vec![kept, new], 0), 0)
    }

    fn check(&self, op: &'static str, state: &TgnState, events: &TemporalEvents) -> Result<()> {
        let (weight, [nodes, _]) = (self.time.weight.val(), state.memory.dims());
        if nodes != events.nodes() || events.len() < state.next {
            let (got, next) = ((events.nodes(), events.len()), state.next);
            let message = format!("the state has seen {next} events of {nodes} nodes, got {} of {}", got.1, got.0);
            return Err(SparseError::invalid(op, message));
        }
        for (what, x, want) in [
            ("the memory {left} must have {right} columns", &state.memory, self.d_memory()),
            ("the messages {left} must have {right} columns", events.messages(), self.d_message),
        ] {
            if x.dims()[1] != want {
                return Err(SparseError::shape_mismatch(op, what, x.dims(), [want]));
            }
            same_elements(op, x, &weight)?;
        }
        Ok(())
    }
}
