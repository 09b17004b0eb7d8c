//! Neighbour sampling in graphs of types, and by time.

use super::by_time::{ByTime, EdgeTimes, TemporalStrategy, Times, TimesOf, View};
#[cfg(doc)]
use super::links::LinkSampler;
use super::neighbors::Source;
#[cfg(doc)]
use super::sampler::NeighborSampler;
use super::sampler::{Direction, HostStore, has_rows, host_store};
use super::seeds::{LinkEnds, SeedSampler, different};
use super::typed_batch::{BatchNodes, HeteroBatch, Rows};
use crate::hetero::{HeteroGraph, TypedNodes, about};
use burn::config::Config;
use burn::tensor::{Device, Int};
use sparse_core::graph::{Ahead, Draw, GraphStore, HopEdges, Relabel, expand, mix};
use sparse_macros::or_panic;
use sparse_nn::{EdgeType, NodePairs};
use sparse_ops::extend::check_ids;
use sparse_ops::ops::Reduce;
use sparse_ops::{CsrTensor, Result, SparseError};
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// Configuration of a [`HeteroSampler`].
#[derive(Config, Debug)]
pub struct HeteroSamplerConfig {
    /// How many neighbours of a node are drawn in each hop over edges of each type, beginning at the seeds; one number
    /// for each layer of the model. [`NeighborSampler::ALL`] takes every neighbour, 0 none.
    pub fan_outs: Vec<usize>,
    /// Other fan-outs for some types of edges.
    #[config(default = "Vec::new()")]
    pub edge_fan_outs: Vec<(EdgeType, Vec<usize>)>,
    /// Whether a neighbour may be drawn more than once.
    #[config(default = false)]
    pub replace: bool,
    /// Whether a neighbour's probability is in proportion to its edge's value. Otherwise all are drawn alike.
    #[config(default = false)]
    pub weighted: bool,
    /// Which nodes are neighbours.
    #[config(default = "Direction::Rows")]
    pub direction: Direction,
    /// Whether each seed gets a tree of its own, which shares no nodes with those of other seeds.
    #[config(default = false)]
    pub disjoint: bool,
    /// What the draws depend on.
    #[config(default = 0)]
    pub seed: u64,
}

/// Draws a few neighbours of each node over the edges of each type, hop by hop: [`NeighborSampler`] for a
/// [`HeteroGraph`].
///
/// From the seeds, which are of one type, hop `h` draws `fan_outs[h]` neighbours of each node that hop `h - 1` reached
/// first, over the edges of each type that go to it. The result is a [`HeteroBatch`], whose blocks
/// [`HeteroConv`](sparse_nn::HeteroConv) and [`HgtConv`](sparse_nn::HgtConv) take. What [`NeighborSampler`] says of
/// draws holds here too: they depend on the seed, the number of the draw, the hop, the type of the edge and the node,
/// and the bits are the same for any number of threads. In the disjoint form they also depend on the place of the seed.
///
/// With times, only edges that are not later than a seed are in its tree ([`try_with_times`](Self::try_with_times)).
/// A graph without types is one of a single type.
///
/// The patterns are read to the host once. A batch being sampled takes 4 bytes for each node of the graph; in the
/// disjoint form an entry of a hash table for each node of the batch. (PyG's `NeighborLoader` of `HeteroData`, with
/// `disjoint` and `time_attr`.)
///
/// Source: Hamilton, Ying and Leskovec, *Inductive representation learning on large graphs*, NeurIPS 2017.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::data::{HeteroSamplerConfig, hetero_block_model};
/// use sparse_tensor::nn::{HeteroConv, SageConvConfig, TypeJoin};
/// use sparse_tensor::ops::Reduce;
///
/// let device = Device::flex();
/// let relations = [(("user", "likes", "item").into(), 2_000, 0.8)];
/// let graph = hetero_block_model(&[("user", 300), ("item", 200)], 4, &relations, 7, &device).unwrap();
/// let graph = graph.with_reverse(Reduce::Amax);
/// let sampler = HeteroSamplerConfig::new(vec![5, 3]).init(&graph, "item");
/// let batch = sampler.sample(&[0, 7, 9], 0);
///
/// let x = [("user", 300), ("item", 200)].map(|(name, count)| (name.to_string(), Tensor::ones([count, 8], &device)));
/// let mut x = batch.features(&x.into());
/// for edges in batch.blocks() {
///     let layers = edges.iter().map(|(kind, _)| (kind.clone(), SageConvConfig::new(8, 8).init(&device)));
///     x = HeteroConv::new(layers, TypeJoin::Sum).forward(&edges, &x);
/// }
/// assert_eq!(x["item"].dims(), [3, 8]);
/// ```
#[derive(Clone)]
pub struct HeteroSampler {
    graph: Arc<HeteroGraph>,
    pub(super) relations: Arc<Vec<Relation>>,
    pub(super) config: HeteroSamplerConfig,
    pub(super) names: Arc<Vec<String>>,
    pub(super) counts: Arc<Vec<usize>>,
    pub(super) seed_type: usize,
    target_type: usize,
    times: Option<Arc<Times>>,
}

/// The edges of a type.
pub(super) struct Relation {
    pub(super) kind: EdgeType,
    store: Arc<dyn GraphStore>,
    /// The same, if it is in memory.
    host: Option<Arc<HostStore>>,
    pub(super) source: Source,
    /// The numbers of the types of targets and sources.
    pub(super) ends: [usize; 2],
    fan_outs: Vec<usize>,
}

impl Relation {
    /// The positions of the elements of these rows, and their columns, one row after the other.
    pub(super) fn rows(&self, nodes: &[i64]) -> Result<(Vec<Range<usize>>, Vec<usize>)> {
        let (mut spans, mut columns) = (vec![], vec![]);
        self.store.ask(Ahead::Rows(nodes));
        self.store.spans(nodes, &mut spans)?;
        let positions: Vec<usize> = spans.iter().cloned().flatten().collect();
        self.store.ask(Ahead::Columns(&positions));
        self.store.columns(&positions, &mut columns)?;
        Ok((spans, columns))
    }
}

const OP: &str = "HeteroSampler";

impl HeteroSamplerConfig {
    /// A sampler of neighbours of nodes of the type `seeds`. Reads the patterns and the values from the device.
    ///
    /// With [`Direction::Columns`] the edges are followed the other way, and their types in a batch are
    /// [reversed](EdgeType::reversed), unless both ends are of one type; with [`Direction::Both`] the batch has the
    /// edges of [`HeteroGraph::with_reverse`]. So the rows of a block are always the nodes whose neighbours were drawn.
    ///
    /// # Errors
    ///
    /// `invalid` for a type of seeds or edges that the graph does not have, no fan-outs, another number of them for a
    /// type of edges, a type of edges that is there twice, a fan-out of 2^31 or more with replacement, or (if weighted)
    /// a weight that is negative or not finite; it names the type.
    #[or_panic]
    pub fn try_init(&self, graph: &HeteroGraph, seeds: &str) -> Result<HeteroSampler> {
        let names: Vec<String> = graph.node_types().map(str::to_string).collect();
        let number = |name: &str| names.iter().position(|own| own == name);
        graph.try_nodes_of(seeds)?;
        let graph = match self.direction {
            Direction::Rows => graph.clone(),
            Direction::Columns => graph.try_transposed()?,
            Direction::Both => graph.try_with_reverse(Reduce::Amax)?,
        };
        self.check(|kind| graph.edges_of(OP, kind).map(|_| ()))?;
        let relation = |(kind, adjacency): (EdgeType, &CsrTensor<2>)| {
            let (store, source) =
                host_store(OP, adjacency, self.weighted).map_err(|trouble| about(OP, &kind, trouble))?;
            let ends = [&kind.target, &kind.source].map(|name| number(name).expect("edges are between types"));
            let (fan_outs, store) = (self.fan_outs_of(&kind), Arc::new(store));
            Ok(Relation { kind, store: store.clone(), host: Some(store), source, ends, fan_outs })
        };
        let relations = graph.edges().into_iter().map(relation).collect::<Result<Vec<_>>>()?;
        self.sampler(graph, relations, names, seeds)
    }

    /// A sampler of the rows of stores, one for each type of edges: of files that are larger than memory
    /// (`MappedGraph`, feature `mmap`), or of your own. `nodes` has the types and how many nodes there are of each. The
    /// store of a type has a row for each node of its target, and as columns the nodes of its source, which are its
    /// [`nodes`](GraphStore::nodes). For one content the samples are those of [`try_init`](Self::try_init), with the
    /// exception that [`NeighborSamplerConfig::try_init_store`](super::sampler::NeighborSamplerConfig::try_init_store)
    /// names.
    ///
    /// Batches are on `device`, in its default dtype of floats. Values are those of the stores, as constants. The
    /// sampler's [`graph`](HeteroSampler::graph) has its nodes only.
    ///
    /// # Errors
    ///
    /// As [`try_init`](Self::try_init); `invalid` for another direction than [`Direction::Rows`], a type that is there
    /// twice, edges between types that are not in `nodes`, and a store of other rows or columns; it names the type.
    #[or_panic]
    pub fn try_init_stores(
        &self,
        nodes: &[(&str, usize)],
        edges: Vec<(EdgeType, Arc<dyn GraphStore>)>,
        seeds: &str,
        device: &Device,
    ) -> Result<HeteroSampler> {
        if self.direction != Direction::Rows {
            let message = format!("store the transpose: a store is sampled by rows, got {:?}", self.direction);
            return Err(SparseError::invalid(OP, message));
        }
        let mut graph = HeteroGraph::default();
        for &(name, count) in nodes {
            if graph.node_types().any(|own| own == name) {
                return Err(about(OP, name, "a type of nodes must be listed once, got it again"));
            }
            graph = graph.try_with_nodes(name, TypedNodes::new(count))?;
        }
        graph.try_nodes_of(seeds)?;
        let names: Vec<String> = graph.node_types().map(str::to_string).collect();
        let number = |name: &str| names.iter().position(|own| own == name).expect("a type of the graph");
        self.check(|kind| match edges.iter().any(|(own, _)| own == kind) {
            true => Ok(()),
            false => Err(about(OP, kind, "the stores must have this type of edges, got none")),
        })?;
        let mut relations: Vec<Relation> = Vec::with_capacity(edges.len());
        for (kind, store) in edges {
            if relations.iter().any(|own| own.kind == kind) {
                return Err(about(OP, &kind, "a type of edges must be listed once, got it again"));
            }
            let [rows, columns] = [&kind.target, &kind.source]
                .map(|name| graph.try_nodes_of(name).map(|own| own.count).map_err(|trouble| about(OP, &kind, trouble)));
            let (rows, columns) = (rows?, columns?);
            if store.nodes() != columns || !has_rows(&*store, rows) {
                let message = format!("the store must have {rows} rows and {columns} columns, got others");
                return Err(about(OP, &kind, message));
            }
            let source = Source::of_store(&store, device);
            let ends = [number(&kind.target), number(&kind.source)];
            let fan_outs = self.fan_outs_of(&kind);
            relations.push(Relation { kind, store, host: None, source, ends, fan_outs });
        }
        self.sampler(graph, relations, names, seeds)
    }

    fn sampler(
        &self,
        graph: HeteroGraph,
        relations: Vec<Relation>,
        names: Vec<String>,
        seeds: &str,
    ) -> Result<HeteroSampler> {
        let counts = names.iter().map(|name| Ok(graph.try_nodes_of(name)?.count)).collect::<Result<Vec<_>>>()?;
        let seed_type = names.iter().position(|own| own == seeds).expect("a type of the graph");
        Ok(HeteroSampler {
            relations: Arc::new(relations),
            config: self.clone(),
            seed_type,
            target_type: seed_type,
            names: Arc::new(names),
            counts: Arc::new(counts),
            graph: Arc::new(graph),
            times: None,
        })
    }

    fn fan_outs_of(&self, kind: &EdgeType) -> Vec<usize> {
        let own = self.edge_fan_outs.iter().find(|(other, _)| other == kind);
        own.map_or(&self.fan_outs, |(_, own)| own).clone()
    }

    fn check(&self, known: impl Fn(&EdgeType) -> Result<()>) -> Result<()> {
        let hops = self.fan_outs.len();
        if hops == 0 {
            return Err(SparseError::invalid(OP, "there must be a fan-out for each layer, got none"));
        }
        let most = |fan_out: &&usize| self.replace && **fan_out > i32::MAX as usize;
        let wide = |fan_out: &usize| format!("a fan-out with replacement must be below 2^31, got {fan_out}");
        if let Some(fan_out) = self.fan_outs.iter().find(most) {
            return Err(SparseError::invalid(OP, wide(fan_out)));
        }
        for (at, (kind, fan_outs)) in self.edge_fan_outs.iter().enumerate() {
            known(kind)?;
            if self.edge_fan_outs[..at].iter().any(|(other, _)| other == kind) {
                return Err(about(OP, kind, "a type of edges must have fan-outs once, got them again"));
            }
            if fan_outs.len() != hops {
                let message = format!("there must be a fan-out for each of {hops} hops, got {}", fan_outs.len());
                return Err(about(OP, kind, message));
            }
            if let Some(fan_out) = fan_outs.iter().find(most) {
                return Err(about(OP, kind, wide(fan_out)));
            }
        }
        Ok(())
    }
}

impl HeteroSampler {
    /// The sampler of the same graph by time: the tree of a seed has only edges whose time is not above the seed's. The
    /// trees are disjoint.
    ///
    /// `times` has the time of each edge of [`graph`](Self::graph), with the pattern of the adjacency; `seeds` that of
    /// each node of the seeds' type. If nodes have times and not edges, the time of an edge is that of its source:
    /// `adjacency.int().with_values(times.select(0, col_idx))`. (PyG's `time_attr`, `input_time` and
    /// `temporal_strategy`.)
    ///
    /// Cost: a sort of the edges of each row, once. Draws are as without times; [`TemporalStrategy::Last`] draws
    /// nothing.
    ///
    /// # Errors
    ///
    /// `invalid` for a type of edges without times, with those of another pattern, or that the graph does not have; it
    /// names the type. `length_mismatch` if there is no time for each node of the seeds' type.
    ///
    /// ```
    /// use burn::tensor::{Device, Int, Tensor};
    /// use sparse_tensor::data::{HeteroGraph, HeteroSamplerConfig, TemporalStrategy, TypedNodes};
    /// use sparse_tensor::nn::EdgeType;
    /// use sparse_tensor::{CooTensor, CsrTensor};
    ///
    /// let device = Device::flex();
    /// let ones = Tensor::<1>::ones([2], &device);
    /// let cites: CsrTensor<2> = CooTensor::from_edges(&[(0, 1), (0, 2)], ones, 3)?.to_csr();
    /// let years = cites.int().with_values(Tensor::<1, Int>::from_ints([1998, 2006], &device));
    /// let kind = EdgeType::new("paper", "cites", "paper");
    /// let graph = HeteroGraph::default().with_nodes("paper", TypedNodes::new(3)).with_edges(&kind, cites);
    /// let sampler = HeteroSamplerConfig::new(vec![5]).init(&graph, "paper");
    /// let sampler = sampler.with_times(&[(kind, years)], &[2000, 1998, 2006], TemporalStrategy::Last);
    /// assert_eq!(sampler.sample(&[0], 0).node_ids("paper"), [0, 1]);
    /// # Ok::<(), sparse_tensor::SparseError>(())
    /// ```
    #[or_panic]
    pub fn try_with_times(
        &self,
        times: &[(EdgeType, CsrTensor<2, Int>)],
        seeds: &[i64],
        strategy: TemporalStrategy,
    ) -> Result<Self> {
        const OP: &str = "HeteroSampler::with_times";
        let edges = self.times_of(OP, times, |own, times| {
            let Some(host) = &own.host else {
                return Err(about(OP, &own.kind, "use with_stored_times for edges in a store"));
            };
            let by_time = ByTime::new(host, times).ok_or_else(|| {
                about(OP, &own.kind, "the times must have the pattern of the adjacency, got another one")
            })?;
            Ok(TimesOf::Sorted(by_time))
        })?;
        self.by_time(OP, edges, seeds, strategy)
    }

    /// The same with times that are read when they are needed: of edges in a store
    /// ([`try_init_stores`](HeteroSamplerConfig::try_init_stores)), or of any others. The samples are those of
    /// [`try_with_times`](Self::try_with_times). Cost: all times of each row that is expanded are read and sorted.
    ///
    /// # Errors
    ///
    /// As [`try_with_times`](Self::try_with_times). Times are read in a sample: their errors come from there, as
    /// `length_mismatch` does if there is not one for each edge.
    #[or_panic]
    pub fn try_with_stored_times(
        &self,
        times: &[(EdgeType, EdgeTimes)],
        seeds: &[i64],
        strategy: TemporalStrategy,
    ) -> Result<Self> {
        const OP: &str = "HeteroSampler::with_stored_times";
        let edges = self.times_of(OP, times, |_, times| Ok(TimesOf::Stored(times.clone())))?;
        self.by_time(OP, edges, seeds, strategy)
    }

    /// The times of each type of edges.
    fn times_of<T>(
        &self,
        op: &'static str,
        times: &[(EdgeType, T)],
        of: impl Fn(&Relation, &T) -> Result<TimesOf>,
    ) -> Result<Vec<TimesOf>> {
        if let Some((kind, _)) = times.iter().find(|(kind, _)| self.relations.iter().all(|own| own.kind != *kind)) {
            return Err(about(op, kind, "the sampler must have this type of edges, got times only"));
        }
        let own = |own: &Relation| match times.iter().find(|(kind, _)| *kind == own.kind) {
            Some((_, times)) => of(own, times),
            None => Err(about(op, &own.kind, "all types of edges must have times, got none")),
        };
        self.relations.iter().map(own).collect()
    }

    fn by_time(
        &self,
        op: &'static str,
        edges: Vec<TimesOf>,
        seeds: &[i64],
        strategy: TemporalStrategy,
    ) -> Result<Self> {
        let nodes = self.counts[self.seed_type];
        if seeds.len() != nodes {
            return Err(SparseError::length_mismatch(op, "the times of the seeds", nodes, seeds.len()));
        }
        let times = Some(Arc::new(Times { strategy, edges, seeds: seeds.to_vec() }));
        let config = HeteroSamplerConfig { disjoint: true, ..self.config.clone() };
        Ok(Self { times, config, ..self.clone() })
    }

    /// The sampler for a [`LinkSampler`] of edges between two types: their sources are of the seeds' type, and their
    /// targets of the type `name`. Without it both are of the seeds' type.
    ///
    /// # Errors
    ///
    /// `invalid` for a type that the graph does not have.
    #[or_panic]
    pub fn try_with_targets(&self, name: &str) -> Result<Self> {
        self.graph.try_nodes_of(name)?;
        let target_type = self.names.iter().position(|own| own == name).expect("a type of the graph");
        Ok(Self { target_type, ..self.clone() })
    }

    /// The graph whose rows are sampled: that of [`try_init`](HeteroSamplerConfig::try_init), turned as the direction
    /// says. The edge ids of a batch are positions of stored elements of its adjacencies.
    pub fn graph(&self) -> &HeteroGraph {
        &self.graph
    }

    /// The type of the seeds.
    pub fn seed_type(&self) -> &str {
        &self.names[self.seed_type]
    }

    /// Number of nodes of the seeds' type.
    pub fn nodes(&self) -> usize {
        self.counts[self.seed_type]
    }

    /// A batch around `seeds`. `draw` numbers the batches: another number gives other neighbours.
    ///
    /// Seeds may repeat; a repeated seed is one node of the batch, or in the disjoint form has several trees. With
    /// times, the time of a seed is that of its node.
    ///
    /// # Errors
    ///
    /// `invalid` for a seed that is no node of its type, which it names; `overflow` for a batch of more than 2^31 - 1
    /// nodes or edges of a type.
    #[or_panic]
    pub fn try_sample(&self, seeds: &[usize], draw: u64) -> Result<HeteroBatch> {
        const OP: &str = "HeteroSampler::sample";
        check_ids(OP, seeds, self.nodes()).map_err(|trouble| about(OP, self.seed_type(), trouble))?;
        let times = self.times.as_ref().map(|own| seeds.iter().map(|&seed| own.seeds[seed]).collect::<Vec<_>>());
        self.run(OP, [(self.seed_type, seeds), (self.seed_type, &[])], times.as_deref(), draw)
    }

    /// A batch around `seeds` at other times than those of their nodes: a time for each seed. (PyG's `input_time`.)
    ///
    /// # Errors
    ///
    /// As [`try_sample`](Self::try_sample); `length_mismatch` if there is not a time for each seed; `invalid` if the
    /// edges have no times.
    #[or_panic]
    pub fn try_sample_at(&self, seeds: &[usize], times: &[i64], draw: u64) -> Result<HeteroBatch> {
        const OP: &str = "HeteroSampler::sample_at";
        check_ids(OP, seeds, self.nodes()).map_err(|trouble| about(OP, self.seed_type(), trouble))?;
        if self.times.is_none() {
            return Err(SparseError::invalid(OP, "use with_times: edges must have times, got a sampler without"));
        }
        if times.len() != seeds.len() {
            return Err(SparseError::length_mismatch(OP, "the times", seeds.len(), times.len()));
        }
        self.run(OP, [(self.seed_type, seeds), (self.seed_type, &[])], Some(times), draw)
    }

    /// A batch around nodes of two types, the first of which is the seeds' type.
    fn run(
        &self,
        op: &'static str,
        seeds: [(usize, &[usize]); 2],
        until: Option<&[i64]>,
        draw: u64,
    ) -> Result<HeteroBatch> {
        let own = &self.config;
        let mut found: Vec<Found> = self.counts.iter().map(|&count| Found::new(count, own.disjoint)).collect();
        let most = self.counts.iter().max().copied().unwrap_or_default();
        let got = seeds.iter().map(|(_, nodes)| nodes.len() as u128).sum::<u128>() * most as u128;
        if own.disjoint && got > i64::MAX as u128 {
            return Err(SparseError::overflow(op, "the number of trees times nodes", i64::MAX as u128, got));
        }
        let nodes = seeds.iter().flat_map(|&(kind, nodes)| nodes.iter().map(move |&node| (kind, node)));
        for (tree, (kind, node)) in nodes.enumerate() {
            found[kind].local(if own.disjoint { tree } else { 0 }, node);
        }
        found.iter_mut().for_each(Found::end_hop);
        let mut rows: Vec<Rows> = self.relations.iter().map(|_| Rows::default()).collect();
        let mut starts = vec![0; found.len()];
        for hop in 0..own.fan_outs.len() {
            let ends: Vec<usize> = found.iter().map(|own| own.keys.len()).collect();
            for (at, (relation, rows)) in self.relations.iter().zip(&mut rows).enumerate() {
                let [to, from] = relation.ends;
                let nodes = found[to].keys[starts[to]..ends[to]].to_vec();
                let fan_out = relation.fan_outs[hop];
                let parts =
                    self.expand(op, at, &nodes, fan_out, until, mix(mix(mix(own.seed, draw), hop as u64), at as u64));
                let parts = parts.map_err(|trouble| about(op, &relation.kind, trouble))?;
                let (all, targets) = (&mut found[from], self.counts[to] as i64);
                rows.take(&nodes, parts, |key, column| all.local((key / targets) as usize, column));
                for (what, got) in [("nodes", found[from].keys.len()), ("edges", rows.edges.len())] {
                    if got > Relabel::MOST {
                        let message = format!("a batch must have less than 2^31 {what}, got {got}");
                        return Err(about(op, &relation.kind, message));
                    }
                }
            }
            found.iter_mut().for_each(Found::end_hop);
            starts = ends;
        }
        let device = self.device();
        let nodes: Vec<BatchNodes> = found
            .into_iter()
            .zip(&*self.counts)
            .map(|(own, &all)| {
                let trees = own.keys.iter().filter(|_| self.config.disjoint).map(|key| *key as usize / all).collect();
                BatchNodes::new(own.keys.iter().map(|key| *key as usize % all).collect(), trees, own.ends, all, &device)
            })
            .collect();
        let edges = self.relations.iter().zip(rows).map(|(own, rows)| {
            let [to, from] = own.ends.map(|end| &nodes[end].counts);
            let sizes: Vec<[usize; 2]> = to.iter().zip(&from[1..]).map(|(&rows, &cols)| [rows, cols]).collect();
            Ok((own.kind.clone(), rows.finish(&own.source, &sizes)?))
        });
        let edges = edges.collect::<Result<Vec<_>>>()?;
        let seeds = (!own.disjoint).then_some(seeds[0].1);
        Ok(HeteroBatch::new(self.names.iter().cloned().zip(nodes).collect(), edges, self.seed_type(), seeds))
    }

    /// The device of the adjacencies.
    pub(super) fn device(&self) -> Device {
        self.relations.first().map(|own| own.source.device.clone()).unwrap_or_default()
    }

    /// What is drawn for nodes over the edges of a type.
    fn expand(
        &self,
        op: &'static str,
        at: usize,
        nodes: &[i64],
        fan_out: usize,
        until: Option<&[i64]>,
        key: u64,
    ) -> Result<Vec<HopEdges>> {
        if fan_out == 0 {
            let mut none = HopEdges::default();
            none.drawn.counts = vec![0; nodes.len()];
            return Ok(vec![none]);
        }
        let times = self.times.as_ref().zip(until).map(|(own, until)| {
            let last = (own.strategy == TemporalStrategy::Last).then_some(fan_out);
            (&own.edges[at], until, last)
        });
        let last = matches!(times, Some((_, _, Some(_))));
        let weighted = self.config.weighted && self.relations[at].store.has_values() && !last;
        let relation = &self.relations[at];
        let targets = self.counts[relation.ends[0]] as i64;
        let view = View { store: &*relation.store, targets, times, picked: Mutex::default() };
        let mut parts =
            expand(op, &view, nodes, fan_out, Draw { replace: self.config.replace && !last, weighted, key })?;
        // Positions are those of the view until here.
        parts.iter_mut().for_each(|part| part.drawn.positions = view.own(&part.drawn.positions));
        Ok(parts)
    }
}

/// With times, each pair is at the time of its edge. In the disjoint form, and with times, source `i` of `n` pairs has
/// the tree `i`, and its target the tree `n + i`.
impl SeedSampler for HeteroSampler {
    type Batch = HeteroBatch;

    fn seed_nodes(&self) -> usize {
        self.nodes()
    }

    fn batch(&self, seeds: &[usize], draw: u64) -> HeteroBatch {
        self.sample(seeds, draw)
    }
}

impl LinkEnds for HeteroSampler {
    type Batch = HeteroBatch;

    fn counts(&self) -> [usize; 2] {
        [self.seed_type, self.target_type].map(|kind| self.counts[kind])
    }

    fn around(&self, pairs: &[(usize, usize)], times: Option<&[i64]>, draw: u64) -> Result<(HeteroBatch, NodePairs)> {
        const OP: &str = "LinkSampler::sample";
        if self.times.is_some() != times.is_some() {
            let message = "the sampler and the edges must both have times, or none of them";
            return Err(SparseError::invalid(OP, message));
        }
        let one_type = self.seed_type == self.target_type;
        let (sources, targets): (Vec<_>, Vec<_>) = pairs.iter().copied().unzip();
        let (sources, targets, rows): (_, _, Vec<_>) = if self.config.disjoint {
            let first = if one_type { pairs.len() } else { 0 };
            (sources, targets, (0..pairs.len()).map(|pair| (pair, first + pair)).collect())
        } else {
            let (sources, targets) = match one_type {
                true => (different([sources, targets].concat()), vec![]),
                false => (different(sources), different(targets)),
            };
            let row = |nodes: &[usize], node| nodes.binary_search(&node).expect("every end is a seed");
            let of_target = if one_type { &sources } else { &targets };
            let rows = pairs.iter().map(|&(source, target)| (row(&sources, source), row(of_target, target))).collect();
            (sources, targets, rows)
        };
        let until = times.map(|times| [times, times].concat());
        let seeds = [(self.seed_type, &sources[..]), (self.target_type, &targets[..])];
        let batch = self.run(OP, seeds, until.as_deref(), draw)?;
        let count = |kind: usize| Ok::<_, SparseError>(batch.try_counts(&self.names[kind])?[0]);
        let shape = [count(self.seed_type)?, count(self.target_type)?];
        Ok((batch, NodePairs::new(&rows, shape, &self.device())?))
    }
}

impl fmt::Debug for HeteroSampler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds = self.relations.len();
        write!(f, "HeteroSampler({:?}, {kinds} types of edges, {:?})", self.seed_type(), self.config.fan_outs)
    }
}

/// The nodes of a type that were found. A node of tree `t` has the key `t * count + node`.
pub(super) struct Found {
    count: usize,
    pub(super) keys: Vec<i64>,
    /// Number of nodes after each hop.
    pub(super) ends: Vec<usize>,
    table: Table,
}

/// Local ids of keys.
enum Table {
    /// The local id + 1 of each node, or 0.
    All(Vec<u32>),
    Some(HashMap<i64, u32>),
}

impl Found {
    pub(super) fn new(count: usize, disjoint: bool) -> Self {
        let table = if disjoint { Table::Some(HashMap::new()) } else { Table::All(vec![0; count]) };
        Self { count, keys: vec![], ends: vec![], table }
    }

    pub(super) fn end_hop(&mut self) {
        self.ends.push(self.keys.len());
    }

    pub(super) fn local(&mut self, tree: usize, node: usize) -> i32 {
        let key = (tree * self.count + node) as i64;
        let next = self.keys.len() as u32 + 1;
        let slot = match &mut self.table {
            Table::All(table) => &mut table[node],
            Table::Some(table) => table.entry(key).or_default(),
        };
        if *slot == 0 {
            *slot = next;
            self.keys.push(key);
        }
        (*slot - 1) as i32
    }

    /// The local id of a node, in a table of all nodes.
    pub(super) fn find(&self, node: usize) -> Option<i32> {
        match &self.table {
            Table::All(table) => table[node].checked_sub(1).map(|local| local as i32),
            Table::Some(table) => table.get(&(node as i64)).map(|slot| *slot as i32 - 1),
        }
    }
}
