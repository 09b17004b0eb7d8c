//! Where facts rank among triples with other entities.

use super::KnowledgeEmbedding;
use super::triples::Triples;
use sparse_macros::or_panic;
use sparse_ops::extend::{index_below, read_data};
use sparse_ops::{Result, SparseError};
use std::collections::HashMap;

/// Scores that are computed at a time.
const BLOCK: usize = 1 << 16;

/// Which entity of a triple is to be found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Missing {
    /// The head, of `(?, relation, tail)`.
    Head,
    /// The tail, of `(head, relation, ?)`.
    #[default]
    Tail,
}

/// The ranks of facts, from 1 for the best.
#[derive(Clone, Debug, PartialEq)]
pub struct TripleRanks(Vec<f64>);

impl TripleRanks {
    /// The rank of each triple.
    pub fn ranks(&self) -> &[f64] {
        &self.0
    }

    /// The mean rank. (PyG counts from 0.)
    pub fn mean_rank(&self) -> f64 {
        self.mean(|rank| rank)
    }

    /// The mean of `1 / rank`.
    pub fn mrr(&self) -> f64 {
        self.mean(|rank| 1.0 / rank)
    }

    /// The share of ranks up to `k`.
    pub fn hits_at(&self, k: usize) -> f64 {
        self.mean(|rank| f64::from(u8::from(rank <= k as f64)))
    }

    fn mean(&self, of: impl Fn(f64) -> f64) -> f64 {
        self.0.iter().map(|&rank| of(rank)).sum::<f64>() / self.0.len() as f64
    }
}

impl KnowledgeEmbedding {
    /// The rank of each triple among those with any entity in place of the missing one: 1, plus the number of higher
    /// scores, plus half the number of equal ones.
    ///
    /// Triples of `known` are not counted, except the ranked one itself: the filtered ranks, for which `known` has all
    /// facts of training, validation and test. Scores are computed in blocks of 65,536 and read to the host. Cost:
    /// `O(triples * entities * features)`. (The ranks of PyG's `test` are those of tails, without a filter.)
    ///
    /// Source: Bordes et al., *Translating embeddings for modeling multi-relational data*, NIPS 2013.
    ///
    /// # Errors
    ///
    /// As [`try_forward`](Self::try_forward), also for `known`; `empty_input` if there are no triples; `invalid` for a
    /// score that is NaN.
    #[or_panic]
    pub fn try_ranks(&self, triples: &Triples, missing: Missing, known: Option<&Triples>) -> Result<TripleRanks> {
        const OP: &str = "KnowledgeEmbedding::ranks";
        for given in [Some(triples), known].into_iter().flatten() {
            self.check(OP, given)?;
        }
        if triples.is_empty() {
            return Err(SparseError::empty_input(OP, "there must be a triple, got none"));
        }
        // The query of a triple, and its answer.
        let split = |(head, relation, tail)| match missing {
            Missing::Head => ((tail, relation), head),
            Missing::Tail => ((head, relation), tail),
        };
        let queries: Vec<_> = triples.to_list().into_iter().map(split).collect();
        let mut facts = HashMap::<_, Vec<usize>>::new();
        for (query, answer) in known.into_iter().flat_map(|known| known.to_list()).map(split) {
            facts.entry(query).or_default().push(answer);
        }
        facts.values_mut().for_each(|answers| answers.sort_unstable());

        let [entities, relations] = [&self.entities, &self.relations].map(|table| table.weight.val().inner());
        let (device, [size, _], [kinds, _]) = (entities.device(), entities.dims(), relations.dims());
        // Scores of pairs of a query and an answer.
        let scores = |pairs: &mut dyn Iterator<Item = ((usize, usize), usize)>| -> Result<Vec<f64>> {
            let (queries, answers): (Vec<_>, Vec<usize>) = pairs.unzip();
            let (given, kind): (Vec<usize>, Vec<usize>) = queries.into_iter().unzip();
            let [given, found] =
                [given, answers].map(|ids| entities.clone().select(0, index_below(&ids, size, &device)));
            let relation = relations.clone().select(0, index_below(&kind, kinds, &device));
            let rows = match missing {
                Missing::Head => [found, relation, given],
                Missing::Tail => [given, relation, found],
            };
            let scores = read_data(self.score.of_rows(rows, self.margin)).convert::<f64>();
            let scores: Vec<f64> = scores.iter().collect();
            match scores.iter().any(|score| score.is_nan()) {
                true => Err(SparseError::invalid(OP, "scores must be numbers, got NaN")),
                false => Ok(scores),
            }
        };

        let mut own = Vec::with_capacity(queries.len());
        for block in queries.chunks(BLOCK) {
            own.extend(scores(&mut block.iter().copied())?);
        }
        let mut ranks = vec![1.0; queries.len()];
        for start in (0..queries.len() * size).step_by(BLOCK) {
            let block = start..(start + BLOCK).min(queries.len() * size);
            let pair = |at: usize| (queries[at / size].0, at % size);
            for (at, score) in block.clone().zip(scores(&mut block.map(pair))?) {
                let (query, answer) = queries[at / size];
                let entity = at % size;
                let is_fact = || facts.get(&query).is_some_and(|answers| answers.binary_search(&entity).is_ok());
                if score >= own[at / size] && entity != answer && !is_fact() {
                    ranks[at / size] += if score > own[at / size] { 1.0 } else { 0.5 };
                }
            }
        }
        Ok(TripleRanks(ranks))
    }
}
