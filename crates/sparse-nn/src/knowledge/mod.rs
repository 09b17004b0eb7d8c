//! Embeddings of knowledge graphs.

pub(crate) mod ranks;
pub(crate) mod score;
pub(crate) mod triples;

use self::score::{TripleScore, unit};
use self::triples::Triples;
use crate::table::RowTable;
use crate::table::grad::ReadRows;
use burn::config::Config;
use burn::module::{Module, Param};
use burn::nn::Initializer;
use burn::tensor::activation::{log_sigmoid, relu};
use burn::tensor::{Device, Tensor};
use sparse_macros::or_panic;
use sparse_ops::extend::{associate, same_device, same_elements};
use sparse_ops::{Result, SparseError};

/// Configuration of a [`KnowledgeEmbedding`].
#[derive(Config, Debug)]
pub struct KnowledgeEmbeddingConfig {
    /// Number of entities, the nodes.
    pub entities: usize,
    /// Number of relations, the kinds of edges.
    pub relations: usize,
    /// Number of features, of complex numbers where the score has them.
    pub features: usize,
    /// How triples are scored.
    pub score: TripleScore,
    /// The margin of the loss of TransE and DistMult, and of the score of RotatE.
    #[config(default = 1.0)]
    pub margin: f64,
}

/// Embeddings of the entities and relations of a knowledge graph, which score triples `(head, relation, tail)`: TransE,
/// DistMult, ComplEx and RotatE, as [`TripleScore`] says.
///
/// A complex embedding is a row of its real parts and then its imaginary ones, so tables are `[entities, features]` or
/// `[entities, 2 * features]`. They start as in PyG: uniform in `±6 / sqrt(features)` for TransE, whose relations then
/// have norm 1, uniform in `[0, 2 pi)` for the angles of RotatE, and Xavier's uniform distribution for the others.
///
/// Burn's optimisers train it by [`forward`](Self::forward), with gradients of whole tables. For large tables use
/// [`forward_rows`](Self::forward_rows): a [`RowOptimizer`](crate::RowOptimizer) steps the rows that a batch reads.
/// (PyG's `TransE`, `DistMult`, `ComplEx`, `RotatE`; rows are their `sparse=True`.)
///
/// ```
/// use burn::optim::{AdamConfig, GradientsParams};
/// use burn::tensor::Device;
/// use sparse_tensor::nn::{KnowledgeEmbeddingConfig, TripleScore, Triples};
///
/// let device = Device::flex().autodiff();
/// device.seed(1);
/// // Relation 0 leads from each of ten nodes on a ring to the next one, relation 1 to the one after that.
/// let facts: Vec<_> = (0..20).map(|k| (k / 2, k % 2, (k / 2 + k % 2 + 1) % 10)).collect();
/// let facts = Triples::from_list(&facts, 10, 2, &device).unwrap();
/// let mut model = KnowledgeEmbeddingConfig::new(10, 2, 16, TripleScore::RotatE).with_margin(4.0).init(&device);
/// let mut optimizer = AdamConfig::new().with_epsilon(1e-8).init();
/// for step in 0..100 {
///     let loss = model.loss(model.forward(&facts), model.forward(&facts.corrupt(step)));
///     let grads = GradientsParams::from_grads(loss.backward(), &model);
///     model = optimizer.step(0.05, model, grads);
/// }
/// let ranks = model.ranks(&facts, Default::default(), Some(&facts));
/// assert!(ranks.mrr() > 0.9);
/// ```
#[derive(Module, Debug)]
pub struct KnowledgeEmbedding {
    /// A row for each entity.
    pub entities: RowTable,
    /// A row for each relation.
    pub relations: RowTable,
    #[module(skip)]
    score: TripleScore,
    margin: f64,
}

impl KnowledgeEmbeddingConfig {
    /// Embeddings on `device`.
    ///
    /// # Errors
    ///
    /// `invalid` for a margin that is not finite, and for no features.
    #[or_panic]
    pub fn try_init(&self, device: &Device) -> Result<KnowledgeEmbedding> {
        if !self.margin.is_finite() {
            let message = format!("margin must be finite, got {}", self.margin);
            return Err(SparseError::invalid("KnowledgeEmbeddingConfig::init", message));
        }
        if self.features == 0 {
            return Err(SparseError::invalid("KnowledgeEmbeddingConfig::init", "features must be at least 1, got 0"));
        }
        let (score, features) = (self.score, self.features);
        let [entity, relation] = score.widths(features);
        let uniform = |min, max| Initializer::Uniform { min, max };
        let (bound, xavier) = (6.0 / (features as f64).sqrt(), Initializer::XavierUniform { gain: 1.0 });
        let [first, second] = match score {
            TripleScore::TransE | TripleScore::TransE2 => [uniform(-bound, bound), uniform(-bound, bound)],
            TripleScore::DistMult | TripleScore::ComplEx => [xavier.clone(), xavier],
            TripleScore::RotatE => [xavier, uniform(0.0, std::f64::consts::TAU)],
        };
        let table = |init: Initializer, rows, width| RowTable {
            weight: init.init_with([rows, width], Some(features), Some(rows), device),
        };
        let mut relations = table(second, self.relations, relation);
        if let Some(p) = score.p() {
            let drawn = unit(relations.weight.val().inner(), p);
            relations.weight = Param::from_tensor(associate(drawn, device));
        }
        let entities = table(first, self.entities, entity);
        Ok(KnowledgeEmbedding { entities, relations, score, margin: self.margin })
    }
}

impl KnowledgeEmbedding {
    /// The scores `[triples]`: the higher, the more likely a triple is a fact. A gradient is a whole table.
    ///
    /// # Errors
    ///
    /// `shape_mismatch` for triples of other numbers of entities or relations; `device_mismatch`, `unsupported_dtype`.
    #[or_panic]
    pub fn try_forward(&self, triples: &Triples) -> Result<Tensor<1>> {
        self.check("KnowledgeEmbedding::forward", triples)?;
        let (entities, relations) = (self.entities.weight.val(), self.relations.weight.val());
        let head = triples.heads.try_select(entities.clone(), 0)?;
        let relation = triples.relations.try_select(relations, 0)?;
        Ok(self.score.of_rows([head, relation, triples.tails.try_select(entities, 0)?], self.margin))
    }

    /// The scores `[triples]`, and what was read of the entities and of the relations: the row-sparse gradients of both
    /// tables after the backward pass.
    ///
    /// Of several reads in a step, such as facts and corrupted ones, [`RowSparseGrad::sum`](crate::RowSparseGrad::sum)
    /// is the gradient. Cost: that of the rows, whatever the size of the tables. Reads a few numbers from the device.
    ///
    /// # Errors
    ///
    /// As [`try_forward`](Self::try_forward).
    #[or_panic]
    pub fn try_forward_rows(&self, triples: &Triples) -> Result<(Tensor<1>, [ReadRows; 2])> {
        self.check("KnowledgeEmbedding::forward_rows", triples)?;
        let ends = Tensor::cat(vec![triples.heads.index().clone(), triples.tails.index().clone()], 0);
        let (ends, entities) = self.entities.try_select(ends)?;
        let (relation, relations) = self.relations.try_select(triples.relations.index().clone())?;
        let count = triples.len();
        // Burn refuses to narrow to size 0.
        let end = |at| if count == 0 { ends.clone() } else { ends.clone().narrow(0, at * count, count) };
        let scores = self.score.of_rows([end(0), relation, end(1)], self.margin);
        Ok((scores, [entities, relations]))
    }

    /// The loss `[1]` of scores of facts and of corrupted triples. TransE and DistMult: the mean of
    /// `max(0, margin - fact + corrupted)`, with one corrupted triple for each fact. ComplEx and RotatE: the binary
    /// cross entropy of all scores as logits.
    ///
    /// # Errors
    ///
    /// `empty_input` if there are no facts; for a margin `length_mismatch`; `dtype_mismatch`, `device_mismatch`.
    #[or_panic]
    pub fn try_loss(&self, facts: Tensor<1>, corrupted: Tensor<1>) -> Result<Tensor<1>> {
        const OP: &str = "KnowledgeEmbedding::loss";
        same_elements(OP, &facts, &corrupted)?;
        let ([expected], [got]) = (facts.dims(), corrupted.dims());
        if expected == 0 {
            return Err(SparseError::empty_input(OP, "there must be a fact, got none"));
        }
        if matches!(self.score, TripleScore::ComplEx | TripleScore::RotatE) {
            return Ok(log_sigmoid(Tensor::cat(vec![facts, corrupted.neg()], 0)).mean().neg());
        }
        if expected != got {
            return Err(SparseError::length_mismatch(OP, "the scores of corrupted triples", expected, got));
        }
        Ok(relu(corrupted - facts + self.margin).mean())
    }

    fn check(&self, op: &'static str, triples: &Triples) -> Result<()> {
        let tables = [&self.entities, &self.relations].map(|table| table.weight.lazy_shape().dims::<2>()[0]);
        let sizes = [triples.heads.size(), triples.relations.size()];
        if tables != sizes {
            let rule = "triples must be of the entities and relations {left} of the tables, got {right}";
            return Err(SparseError::shape_mismatch(op, rule, tables, sizes));
        }
        same_device(op, &self.entities.weight.lazy_device(), &triples.heads.index().device())
    }
}
