//! Neighbours across the parts of a graph.

use super::super::collective::Collective;
use super::message::{Content, Step, put, take, together};
use super::part::{Inner, Partition};
use crate::data::sampling::neighbors::NeighborBatch;
use crate::data::sampling::sampler::{NeighborSampler, NeighborSamplerConfig};
use burn::tensor::Device;
use sparse_core::graph::{Draw, Drawn, GraphStore, HopEdges, HopSource, expand};
use sparse_core::{Result, SparseError};
use sparse_macros::or_panic;
use std::fmt;
use std::sync::Arc;

const OP: &str = "PartSampler::sample";

/// Samples neighbours across all parts of a graph. [`Partition::sampler`](Partition::try_sampler) makes one.
///
/// A hop is two exchanges: each rank sends its nodes to their owners, and the owners send back what they drew. Draws
/// depend on the seed of the configuration, the number of the draw, the hop and the node, so a batch is the same
/// whoever draws for it: bit for bit that of a [`NeighborSampler`] of the whole graph.
///
/// Traffic of a batch: 8 bytes for each node that another rank draws for, and for each edge that it draws 8 for its
/// number, 4 for its column (8 beyond 2^32 nodes), 4 if it has a value, 4 with replacement.
#[derive(Clone, Debug)]
pub struct PartSampler {
    part: Partition,
    sampler: NeighborSampler,
}

impl Partition {
    /// A sampler of the whole graph, from this part and those of the other ranks. Batches are on `device`.
    ///
    /// # Errors
    ///
    /// Those of [`try_init_store`](NeighborSamplerConfig::try_init_store).
    #[or_panic]
    pub fn try_sampler(&self, config: &NeighborSamplerConfig, device: &Device) -> Result<PartSampler> {
        let store: Arc<dyn GraphStore> = Arc::new(self.0.graph.clone());
        Ok(PartSampler { part: self.clone(), sampler: config.try_init_store(store, device)? })
    }
}

impl PartSampler {
    /// Number of hops.
    pub fn hops(&self) -> usize {
        self.sampler.hops()
    }

    /// A batch around `seeds`, nodes of any part. `draw` numbers the batches: another number gives other neighbours.
    /// All ranks must call it, each with own seeds and draw; a rank without seeds takes part with none. The edge ids of
    /// the batch count those of all parts, in the order of parts.
    ///
    /// # Errors
    ///
    /// - Those of [`NeighborSampler::sample`](NeighborSampler::try_sample);
    /// - `invalid` if another rank has an error, or calls another function;
    /// - those of the collective.
    #[or_panic]
    pub fn try_sample<C: Collective + ?Sized>(
        &self,
        ranks: &mut C,
        seeds: &[usize],
        draw: u64,
    ) -> Result<NeighborBatch> {
        let part = &*self.part.0;
        let mut source = Parts { ranks, part, told: false, values: Vec::new() };
        match self.sampler.try_hops_from(OP, &mut source, seeds, draw) {
            Ok(hops) => {
                let Parts { ranks, mut values, .. } = source;
                together(ranks, OP, Step::EndSample, Ok(vec![vec![]; ranks.size()]))?;
                values.sort_unstable_by_key(|&(edge, _)| edge);
                self.sampler.batch_of(seeds, hops, values)
            }
            Err(error) if source.told => Err(error),
            // The other ranks are in the next exchange, or at the end.
            Err(error) => together(source.ranks, OP, Step::AskHop, Err(error)).map(|_| unreachable!("an error")),
        }
    }
}

impl fmt::Display for PartSampler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PartSampler({:?}, {} hops)", self.part, self.hops())
    }
}

/// The parts of all ranks.
struct Parts<'a, C: Collective + ?Sized> {
    ranks: &'a mut C,
    part: &'a Inner,
    /// Whether the other ranks know of an error of this one.
    told: bool,
    /// The value of each edge that was drawn.
    values: Vec<(i64, f32)>,
}

impl<C: Collective + ?Sized> HopSource for Parts<'_, C> {
    fn nodes(&self) -> usize {
        self.part.end()
    }

    fn hop(&mut self, nodes: &[i64], fan_out: usize, draw: Draw) -> Result<Vec<HopEdges>> {
        let size = self.ranks.size();
        let mut asked = vec![Vec::new(); size];
        let owners: Vec<usize> = nodes.iter().map(|&node| self.part.owner(node as usize)).collect();
        nodes.iter().zip(&owners).for_each(|(&node, &owner)| asked[owner].push(node));
        let own = std::mem::take(&mut asked[self.part.rank]);
        let ask = |nodes: &Vec<i64>| {
            let mut bytes = Vec::with_capacity(nodes.len() * 8 + 64);
            put(&mut bytes, &[fan_out as u64, draw.key, u64::from(draw.replace), u64::from(draw.weighted)]);
            put(&mut bytes, nodes);
            bytes
        };
        let asks = asked.iter().map(ask).collect();
        let asks = self.together(Step::AskHop, Ok(asks))?;
        let answers = asks.iter().enumerate().map(|(rank, ask)| match rank == self.part.rank {
            true => Ok(Vec::new()),
            false => self.part.answer(rank, ask.bytes()),
        });
        let answers = answers.collect();
        let answers = self.together(Step::AnswerHop, answers)?;
        let mut found = Vec::with_capacity(size);
        for (rank, answer) in answers.iter().enumerate() {
            found.push(match rank == self.part.rank {
                true => self.part.drawn(&own, fan_out, draw)?,
                false => Found::read(rank, asked[rank].len(), answer.bytes(), self.part.end(), draw.replace)?,
            });
        }
        Ok(vec![self.in_order(&owners, &found, draw.replace)])
    }
}

impl<C: Collective + ?Sized> Parts<'_, C> {
    fn together(&mut self, step: Step, own: Result<Vec<Vec<u8>>>) -> Result<Vec<Content>> {
        let received = together(self.ranks, OP, step, own);
        // An error here is one on all ranks, or the end of the collective.
        self.told = received.is_err();
        received
    }

    /// What was found for nodes with these owners, in the order of the nodes.
    fn in_order(&mut self, owners: &[usize], found: &[Found], replace: bool) -> HopEdges {
        let edges = found.iter().map(|found| found.edges.len()).sum();
        let mut out = HopEdges::default();
        out.drawn.counts.reserve(owners.len());
        out.drawn.positions.reserve(edges);
        out.columns.reserve(edges);
        // The next node and the next edge of each owner.
        let mut next = vec![(0, 0); found.len()];
        for &owner in owners {
            let (found, (node, edge)) = (&found[owner], &mut next[owner]);
            let count = found.counts[*node] as usize;
            let span = *edge..*edge + count;
            out.drawn.counts.push(count);
            out.drawn.positions.extend(found.edges[span.clone()].iter().map(|&edge| edge as usize));
            out.columns.extend(found.columns[span.clone()].iter().map(|&column| column as usize));
            if replace {
                out.drawn.times.extend(&found.times[span.clone()]);
            }
            if !found.values.is_empty() {
                let values = found.edges[span.clone()].iter().zip(&found.values[span]);
                self.values.extend(values.map(|(&edge, &value)| (edge as i64, value)));
            }
            *node += 1;
            *edge += count;
        }
        out
    }
}

/// What was drawn for some nodes of one owner.
struct Found {
    counts: Vec<u32>,
    edges: Vec<u64>,
    columns: Vec<u64>,
    times: Vec<u32>,
    values: Vec<f32>,
}

impl Inner {
    /// Draws for own nodes.
    fn drawn(&self, nodes: &[i64], fan_out: usize, draw: Draw) -> Result<Found> {
        let first = self.edges[self.rank];
        let mut found = Found { counts: vec![], edges: vec![], columns: vec![], times: vec![], values: vec![] };
        for HopEdges { drawn: Drawn { counts, positions, times }, columns } in
            expand(OP, &self.graph, nodes, fan_out, draw)?
        {
            // `expand` gives fewer than 2^31 edges.
            found.counts.extend(counts.into_iter().map(|count| count as u32));
            found.edges.extend(positions.iter().map(|&position| (first + position) as u64));
            found.columns.extend(columns.into_iter().map(|column| column as u64));
            found.times.extend(times);
            if self.graph.has_values() {
                self.graph.values(&positions, &mut found.values)?;
            }
        }
        Ok(found)
    }

    /// The answer to what a rank asked.
    fn answer(&self, rank: usize, mut ask: &[u8]) -> Result<Vec<u8>> {
        let (Some(how), Some(nodes)) = (take::<u64>(&mut ask), take::<i64>(&mut ask)) else {
            return Err(malformed(rank));
        };
        let &[fan_out, key, replace, weighted] = &how[..] else { return Err(malformed(rank)) };
        let draw = Draw { key, replace: replace != 0, weighted: weighted != 0 };
        let fan_out = usize::try_from(fan_out).unwrap_or(usize::MAX);
        let Found { counts, edges, columns, times, values } = self.drawn(&nodes, fan_out, draw)?;
        let mut bytes = Vec::with_capacity(counts.len() * 4 + edges.len() * 24);
        put(&mut bytes, &counts);
        put(&mut bytes, &edges);
        if self.is_narrow() {
            put(&mut bytes, &columns.into_iter().map(|column| column as u32).collect::<Vec<_>>());
        } else {
            put(&mut bytes, &columns);
        }
        put(&mut bytes, &times);
        put(&mut bytes, &values);
        Ok(bytes)
    }

    /// Whether a column takes 4 bytes in a message.
    fn is_narrow(&self) -> bool {
        is_narrow(self.end())
    }
}

fn is_narrow(nodes: usize) -> bool {
    u32::try_from(nodes).is_ok()
}

impl Found {
    /// Reads the answer of a rank that was asked for so many nodes. Nothing in it is taken on trust: a list of another
    /// length or a column that is no node is an error.
    fn read(rank: usize, nodes: usize, mut bytes: &[u8], all: usize, replace: bool) -> Result<Self> {
        let bytes = &mut bytes;
        let read = || {
            let (counts, edges) = (take::<u32>(bytes)?, take::<u64>(bytes)?);
            let columns = match is_narrow(all) {
                true => take::<u32>(bytes)?.into_iter().map(u64::from).collect(),
                false => take::<u64>(bytes)?,
            };
            let (times, values) = (take::<u32>(bytes)?, take::<f32>(bytes)?);
            let length = edges.len();
            let sum: u64 = counts.iter().map(|&count| u64::from(count)).sum();
            let good = counts.len() == nodes
                && sum == length as u64
                && columns.len() == length
                && times.len() == if replace { length } else { 0 }
                && (values.is_empty() || values.len() == length)
                && columns.iter().all(|&column| column < all as u64);
            good.then_some(Self { counts, edges, columns, times, values })
        };
        let mut read = read;
        read().ok_or_else(|| malformed(rank))
    }
}

fn malformed(rank: usize) -> SparseError {
    let message = format!("ranks must run the same release, got a message of another form from rank {rank}");
    SparseError::Invalid { op: OP, message }
}
