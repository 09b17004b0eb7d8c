//! Edges of several kinds, as lists.

use burn::tensor::{Device, Int, Tensor};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use sparse_ops::extend::{Exact, check_ids, index_below, index_tensor, read_all};
use sparse_ops::ops::IndexPlan;
use sparse_ops::{Result, SparseError};

/// Triples `(head, relation, tail)` of a knowledge graph, checked once: an edge of the kind `relation` leads from the
/// entity `head` to `tail`. A triple may be there several times.
#[derive(Clone, Debug)]
pub struct Triples {
    pub(super) heads: IndexPlan,
    pub(super) relations: IndexPlan,
    pub(super) tails: IndexPlan,
}

impl Triples {
    /// Triples `[3, n]`: heads, relations, tails. Reads three numbers from the device.
    ///
    /// # Errors
    ///
    /// `shape_mismatch` if there are not three rows; `index_out_of_range`, `overflow`.
    pub fn new(triples: Tensor<2, Int>, entities: usize, relations: usize) -> Result<Self> {
        let [rows, count] = triples.dims();
        if rows != 3 {
            let rule = "triples must be [3, n], got {left}";
            return Err(SparseError::shape_mismatch("Triples::new", rule, [rows, count], []));
        }
        let part = |at, size| {
            // Burn refuses to slice to size 0.
            let list = if count == 0 { triples.clone() } else { triples.clone().narrow(0, at, 1) };
            IndexPlan::new(list.reshape(Exact([count])), size)
        };
        Ok(Self { heads: part(0, entities)?, relations: part(1, relations)?, tails: part(2, entities)? })
    }

    /// Triples of a list of the host, for tensors on `device`. Reads nothing.
    ///
    /// # Errors
    ///
    /// `index_out_of_range`, `overflow`.
    pub fn from_list(
        triples: &[(usize, usize, usize)],
        entities: usize,
        relations: usize,
        device: &Device,
    ) -> Result<Self> {
        let plan = |of: fn(&(usize, usize, usize)) -> usize, size| {
            let ids: Vec<usize> = triples.iter().map(of).collect();
            check_ids("Triples::from_list", &ids, size)?;
            IndexPlan::from_list(&ids, size, &device.clone().inner())
        };
        Ok(Self {
            heads: plan(|t| t.0, entities)?,
            relations: plan(|t| t.1, relations)?,
            tails: plan(|t| t.2, entities)?,
        })
    }

    /// Number of triples.
    pub fn len(&self) -> usize {
        self.heads.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The triples on the host. Reads them from the device.
    pub fn to_list(&self) -> Vec<(usize, usize, usize)> {
        let [heads, relations, tails] =
            [&self.heads, &self.relations, &self.tails].map(|plan| read_all(plan.index().clone()));
        let ends = relations.into_iter().zip(tails);
        let all = heads.into_iter().zip(ends);
        all.map(|(head, (relation, tail))| (head as usize, relation as usize, tail as usize)).collect()
    }

    /// The triples with another entity in each, drawn uniformly: as the head in the first half of them, rounded down,
    /// and as the tail in the others.
    ///
    /// What is drawn may be a fact by chance. The same seed gives the same triples. (PyG's `random_sample`.)
    ///
    /// ```
    /// use burn::tensor::Device;
    /// use sparse_tensor::nn::Triples;
    ///
    /// let facts = Triples::from_list(&[(0, 0, 1), (2, 1, 3)], 100, 2, &Device::flex()).unwrap();
    /// let [first, second] = facts.corrupt(7).to_list()[..] else { unreachable!() };
    /// assert_eq!(((first.1, first.2), (second.0, second.1)), ((0, 1), (2, 1)));
    /// ```
    pub fn corrupt(&self, seed: u64) -> Self {
        let (count, entities, device) = (self.len(), self.heads.size(), self.heads.index().device());
        if count == 0 {
            return self.clone();
        }
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let drawn: Vec<usize> = (0..count).map(|_| rng.random_range(0..entities)).collect();
        let half = count / 2;
        // The other half of each list stays.
        let mixed = |plan: &IndexPlan, range: core::ops::Range<usize>| {
            let own = plan.index().clone();
            let new = index_tensor(index_below(&drawn[range.clone()], entities, &device), own.dtype());
            let parts = [(0..range.start), range.clone(), range.end..count]
                .map(|part| if part == range { new.clone() } else { own.clone().slice(part) });
            let ids = Tensor::cat(parts.into(), 0);
            IndexPlan::new(ids, entities).expect("ids of entities")
        };
        Self {
            heads: mixed(&self.heads, 0..half),
            relations: self.relations.clone(),
            tails: mixed(&self.tails, half..count),
        }
    }
}
