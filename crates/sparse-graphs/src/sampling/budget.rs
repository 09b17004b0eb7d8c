//! Budget sampling in graphs of types (HGSampling).

use super::typed::{Found, HeteroSampler};
use super::typed_batch::{BatchEdges, BatchNodes, HeteroBatch, Rows};
use crate::hetero::about;
use sparse_core::graph::{HopEdges, Relabel, Stream, mix};
use sparse_macros::or_panic;
use sparse_ops::extend::check_ids;
use sparse_ops::{Result, SparseError};
use std::collections::BTreeMap;

impl HeteroSampler {
    /// A batch with about as many nodes of each type: in layer `l` up to `sizes[l]` new nodes of each type are drawn
    /// from those that edges lead to. All edges between the nodes of the batch are in it, and the blocks of all layers
    /// are the same, so the seeds are the first rows of each result.
    ///
    /// Each node `i` of the batch gives `1 / degree_r(i)` to each of its neighbours over the edges of each type `r`. A
    /// node is drawn with a probability in proportion to the square of what it got, without replacement. Fan-outs,
    /// weights and replacement do not count. (PyG's `HGTLoader`, which looks at most at 520 neighbours of a node.)
    ///
    /// Cost: the degrees of the batch's nodes, twice; sequential.
    ///
    /// Source: Hu et al., *Heterogeneous graph transformer*, WWW 2020, algorithms 1 and 2.
    ///
    /// ```
    /// use burn::tensor::Device;
    /// use sparse_tensor::data::{HeteroSamplerConfig, hetero_block_model};
    /// use sparse_tensor::ops::Reduce;
    ///
    /// let relations = [(("user", "likes", "item").into(), 2_000, 0.8)];
    /// let graph = hetero_block_model(&[("user", 300), ("item", 200)], 4, &relations, 7, &Device::flex()).unwrap();
    /// let sampler = HeteroSamplerConfig::new(vec![1]).init(&graph.with_reverse(Reduce::Amax), "item");
    /// let batch = sampler.sample_budget(&[0, 7, 9], &[12, 12], 0);
    /// assert_eq!((batch.counts("item"), batch.counts("user")), (&[3, 3, 15][..], &[0, 12, 24][..]));
    /// assert!(batch.blocks().all(|edges| edges[1].1.dims() == [15, 24]));
    /// ```
    ///
    /// # Errors
    ///
    /// As [`try_sample`](Self::try_sample); `invalid` for no sizes, and for a sampler that is disjoint or has times.
    #[or_panic]
    pub fn try_sample_budget(&self, seeds: &[usize], sizes: &[usize], draw: u64) -> Result<HeteroBatch> {
        const OP: &str = "HeteroSampler::sample_budget";
        check_ids(OP, seeds, self.nodes()).map_err(|trouble| about(OP, self.seed_type(), trouble))?;
        if sizes.is_empty() {
            return Err(SparseError::invalid(OP, "there must be a size for each layer, got none"));
        }
        if self.config.disjoint {
            return Err(SparseError::invalid(OP, "the sampler must not be disjoint or have times, got one that does"));
        }
        let mut found: Vec<Found> = self.counts.iter().map(|&count| Found::new(count, false)).collect();
        let mut budgets: Vec<BTreeMap<usize, f64>> = vec![BTreeMap::new(); found.len()];
        seeds.iter().for_each(|&seed| _ = found[self.seed_type].local(0, seed));
        let mut starts = vec![0; found.len()];
        for (layer, &size) in sizes.iter().enumerate() {
            found.iter_mut().for_each(Found::end_hop);
            for own in &*self.relations {
                let [to, from] = own.ends;
                let (spans, columns) = own.rows(&found[to].keys[starts[to]..])?;
                let mut columns = columns.into_iter();
                for span in spans {
                    let share = 1.0 / span.len() as f64;
                    let row = columns.by_ref().take(span.len());
                    for column in row.filter(|&column| found[from].find(column).is_none()) {
                        *budgets[from].entry(column).or_default() += share;
                    }
                }
            }
            starts = found.iter().map(|own| own.keys.len()).collect();
            let key = mix(mix(self.config.seed, draw), layer as u64);
            for (at, (own, budget)) in found.iter_mut().zip(&mut budgets).enumerate() {
                for node in best(budget, size, mix(key, at as u64)) {
                    budget.remove(&node);
                    own.local(0, node);
                }
            }
        }
        found.iter_mut().for_each(Found::end_hop);
        let edges = self.relations.iter().map(|own| {
            let [to, from] = own.ends.map(|end| &found[end]);
            let (mut rows, mut found, nodes) = (Rows::default(), HopEdges::default(), &to.keys);
            let (spans, columns) = own.rows(nodes)?;
            let mut columns = columns.into_iter();
            for span in spans {
                let before = found.columns.len();
                let row = span.zip(&mut columns);
                for (at, column) in row.filter(|&(_, column)| from.find(column).is_some()) {
                    found.drawn.positions.push(at);
                    found.columns.push(column);
                }
                found.drawn.counts.push(found.columns.len() - before);
            }
            if found.columns.len() > Relabel::MOST {
                let message = format!("a batch must have less than 2^31 edges, got {}", found.columns.len());
                return Err(about(OP, &own.kind, message));
            }
            rows.take(nodes, vec![found], |_, column| from.find(column).expect("was kept"));
            let BatchEdges { blocks, ids } = rows.finish(&own.source, &[[to.keys.len(), from.keys.len()]])?;
            Ok((own.kind.clone(), BatchEdges { blocks: vec![blocks[0].clone(); sizes.len()], ids }))
        });
        let edges = edges.collect::<Result<Vec<_>>>()?;
        let device = self.device();
        let nodes = found.into_iter().zip(&*self.counts).map(|(own, &all)| {
            let ids = own.keys.iter().map(|&node| node as usize).collect();
            BatchNodes::new(ids, vec![], own.ends, all, &device)
        });
        Ok(HeteroBatch::new(self.names.iter().cloned().zip(nodes).collect(), edges, self.seed_type(), Some(seeds)))
    }
}

/// Up to `size` nodes, one after the other with probabilities in proportion to the squares of what they have.
fn best(budget: &BTreeMap<usize, f64>, size: usize, key: u64) -> Vec<usize> {
    // The first of independent exponential clocks with these rates rings with these probabilities.
    let clock =
        |(&node, share): (&usize, &f64)| (-Stream::new(mix(key, node as u64)).unit().ln() / (share * share), node);
    let mut clocks: Vec<(f64, usize)> = budget.iter().map(clock).collect();
    clocks.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    clocks.into_iter().take(size).map(|(_, node)| node).collect()
}
