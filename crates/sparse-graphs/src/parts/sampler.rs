//! Neighbours across the parts of a graph.

use super::message::{Content, Step, malformed, put, take, together};
use super::part::{Inner, Partition};
use crate::sampling::neighbors::NeighborBatch;
use crate::sampling::sampler::NeighborSampler;
use crate::sampling::sampler::NeighborSamplerConfig;
use burn::tensor::Device;
use sparse_core::graph::{Ahead, Draw, Drawn, GraphStore, HopEdges, HopSource, expand};
use sparse_macros::or_panic;
use sparse_ops::Result;
use sparse_ranks::Collective;
use std::fmt;
use std::sync::Arc;

const OP: &str = "PartSampler::sample";

/// Samples neighbours across all parts of a graph. [`Partition::sampler`](Partition::try_sampler) makes one.
///
/// A hop is two exchanges: each rank sends its nodes to their owners, and the owners send back what they drew. Draws
/// depend on the seed of the configuration, the number of the draw, the hop and the node, so a batch is the same
/// whoever draws for it: bit for bit that of a [`NeighborSampler`] of the whole graph.
///
/// (As there, weights that are all 1 in memory are the exception.)
///
/// Traffic of a batch: two exchanges for each hop and one at the end; 12 bytes for each node that another rank draws
/// for, and for each edge that it draws 8 for its number, 4 for its column (8 beyond 2^32 nodes), 4 if it has a value,
/// 4 with replacement. Memory: that of the batch, and 4 bytes for each node of the whole graph.
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
        let hops = self.sampler.try_hops_from(OP, &mut source, seeds, draw);
        // An error that the others do not know of yet meets them in their next exchange: that of a hop, or this one.
        let (hops, nothing) = match hops {
            Ok(hops) => (Some(hops), Ok(vec![vec![]; part.parts()])),
            Err(error) if source.told => return Err(error),
            Err(error) => (None, Err(error)),
        };
        let Parts { ranks, mut values, .. } = source;
        together(ranks, part.opened(), OP, Step::EndSample, nothing)?;
        values.sort_unstable_by_key(|&(edge, _)| edge);
        self.sampler.batch_of(seeds, hops.unwrap_or_default(), values)
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
        let part = self.part;
        let mut asked = vec![Vec::new(); part.parts()];
        let owners: Vec<usize> = nodes.iter().map(|&node| part.owner(node as usize)).collect();
        nodes.iter().zip(&owners).for_each(|(&node, &owner)| asked[owner].push(node));
        let how = How { fan_out, draw };
        let asks = asked.iter().enumerate().map(|(rank, nodes)| match rank == part.rank {
            true => Vec::new(),
            false => how.ask(nodes),
        });
        let asks = self.together(Step::AskHop, Ok(asks.collect()))?;
        let own = part.drawn(&asked[part.rank], how);
        let answers = own.and_then(|own| {
            let answers = asks.iter().enumerate().map(|(rank, ask)| match rank == part.rank {
                true => Ok(Vec::new()),
                false => part.answer(rank, ask.bytes()),
            });
            Ok((own, answers.collect::<Result<Vec<_>>>()?))
        });
        let (own, answers) = match answers {
            Ok((own, answers)) => (Some(own), Ok(answers)),
            Err(error) => (None, Err(error)),
        };
        let answers = self.together(Step::AnswerHop, answers)?;
        let mut own = own;
        let found = answers.iter().enumerate().map(|(rank, answer)| match own.take_if(|_| rank == part.rank) {
            Some(own) => Ok(own),
            None => part.read(rank, asked[rank].len(), how, answer.bytes()).ok_or_else(|| malformed(OP, rank)),
        });
        let found: Vec<Found> = found.collect::<Result<_>>()?;
        Ok(vec![self.in_order(&owners, &found, draw.replace)])
    }
}

impl<C: Collective + ?Sized> Parts<'_, C> {
    fn together(&mut self, step: Step, own: Result<Vec<Vec<u8>>>) -> Result<Vec<Content>> {
        let received = together(self.ranks, self.part.opened(), OP, step, own);
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

/// How a hop is drawn.
#[derive(Clone, Copy)]
struct How {
    fan_out: usize,
    draw: Draw,
}

impl How {
    /// What a rank is asked for these nodes.
    fn ask(self, nodes: &[i64]) -> Vec<u8> {
        let Draw { key, replace, weighted } = self.draw;
        let mut bytes = Vec::with_capacity(nodes.len() * 8 + 64);
        put(&mut bytes, &[self.fan_out as u64, key, u64::from(replace), u64::from(weighted)]);
        put(&mut bytes, nodes);
        bytes
    }

    /// What another rank asks. None if no rank of this release asks that, so that no memory is spent on it.
    fn read(mut ask: &[u8], part: &Inner) -> Option<(Self, Vec<i64>)> {
        let (how, nodes) = (take::<u64>(&mut ask)?, take::<i64>(&mut ask)?);
        let &[fan_out, key, replace, weighted] = &how[..] else { return None };
        let draw = Draw { key, replace: replace != 0, weighted: weighted != 0 };
        let owned = part.owned();
        let good = ask.is_empty()
            && nodes.len() <= owned.len()
            && nodes.iter().all(|&node| usize::try_from(node).is_ok_and(|node| owned.contains(&node)))
            && (!draw.replace || fan_out <= i32::MAX as u64);
        good.then_some((Self { fan_out: usize::try_from(fan_out).unwrap_or(usize::MAX), draw }, nodes))
    }
}

/// What was drawn for some nodes of one owner.
#[derive(Default)]
struct Found {
    counts: Vec<u32>,
    edges: Vec<u64>,
    columns: Vec<u64>,
    times: Vec<u32>,
    values: Vec<f32>,
}

impl Inner {
    /// Draws for own nodes.
    fn drawn(&self, nodes: &[i64], How { fan_out, draw }: How) -> Result<Found> {
        let first = self.edges[self.rank];
        let (graph, mut found) = (&self.graph, Found::default());
        let parts = expand(OP, graph, nodes, fan_out, draw)?;
        parts.iter().for_each(|part| graph.ask(Ahead::Values(&part.drawn.positions)));
        for HopEdges { drawn: Drawn { counts, positions, times }, columns } in parts {
            // `expand` gives fewer than 2^31 edges.
            found.counts.extend(counts.into_iter().map(|count| count as u32));
            found.edges.extend(positions.iter().map(|&position| (first + position) as u64));
            found.columns.extend(columns.into_iter().map(|column| column as u64));
            found.times.extend(times);
            if graph.has_values() {
                graph.values(&positions, &mut found.values)?;
            }
        }
        Ok(found)
    }

    /// The answer to what a rank asked.
    fn answer(&self, rank: usize, ask: &[u8]) -> Result<Vec<u8>> {
        let (how, nodes) = How::read(ask, self).ok_or_else(|| malformed(OP, rank))?;
        let Found { counts, edges, columns, times, values } = self.drawn(&nodes, how)?;
        let mut bytes = Vec::with_capacity(counts.len() * 4 + edges.len() * 24 + 40);
        put(&mut bytes, &counts);
        put(&mut bytes, &edges);
        put_columns(&mut bytes, columns, self.end());
        put(&mut bytes, &times);
        put(&mut bytes, &values);
        Ok(bytes)
    }

    /// Reads the answer of a rank that was asked for so many nodes. Nothing in it is taken on trust.
    fn read(&self, rank: usize, nodes: usize, how: How, mut bytes: &[u8]) -> Option<Found> {
        let bytes = &mut bytes;
        let (counts, edges) = (take::<u32>(bytes)?, take::<u64>(bytes)?);
        let columns = take_columns(bytes, self.end())?;
        let (times, values) = (take::<u32>(bytes)?, take::<f32>(bytes)?);
        let due = |has: bool| if has { edges.len() } else { 0 };
        let good = bytes.is_empty()
            && counts.len() == nodes
            && counts.iter().all(|&count| count as usize <= how.fan_out)
            && counts.iter().map(|&count| u64::from(count)).sum::<u64>() == edges.len() as u64
            && edges.iter().all(|&edge| (self.edges[rank] as u64..self.edges[rank + 1] as u64).contains(&edge))
            && columns.len() == edges.len()
            && columns.iter().all(|&column| column < self.end() as u64)
            && times.len() == due(how.draw.replace)
            && values.len() == due(self.graph.has_values());
        good.then_some(Found { counts, edges, columns, times, values })
    }
}

/// Columns take 4 bytes each if all nodes fit.
fn is_narrow(nodes: usize) -> bool {
    u32::try_from(nodes).is_ok()
}

fn put_columns(bytes: &mut Vec<u8>, columns: Vec<u64>, nodes: usize) {
    if is_narrow(nodes) {
        put(bytes, &columns.into_iter().map(|column| column as u32).collect::<Vec<_>>());
    } else {
        put(bytes, &columns);
    }
}

fn take_columns(bytes: &mut &[u8], nodes: usize) -> Option<Vec<u64>> {
    match is_narrow(nodes) {
        true => Some(take::<u32>(bytes)?.into_iter().map(u64::from).collect()),
        false => take(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_take_the_bytes_that_they_need() {
        for (nodes, width) in [(10, 4), (u32::MAX as usize, 4), (u32::MAX as usize + 1, 8)] {
            let (columns, mut bytes) = (vec![0, 7, nodes as u64 - 1], Vec::new());
            put_columns(&mut bytes, columns.clone(), nodes);
            assert_eq!(bytes.len(), 8 + 3 * width);
            assert_eq!(take_columns(&mut &bytes[..], nodes), Some(columns));
        }
    }
}
