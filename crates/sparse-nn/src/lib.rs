//! Layers that work on sparse tensors, as Burn modules.
//!
//! A layer is made by its configuration: `SageConvConfig::new(16, 8).init(&device)`. Layers are Burn modules: they can
//! be fields of a `#[derive(Module)]` struct, are saved and loaded with it, and are trained by Burn's optimisers.
//!
//! In every adjacency `[M, N]` the rows are targets and the columns are sources: the stored element `(i, j)` is the
//! edge from node `j` to node `i`, and its value is the weight of that edge. So `A X` sums over neighbours. In an
//! undirected graph the adjacency is symmetric.
//!
//! Layers of the row "messages" and the two after it have one method, `forward(&edges)`: [`Edges`] has the
//! adjacency, the features of sources and targets, and those of the edges, so a bipartite graph needs no other call. A
//! layer without a use for features of edges does not read them; one that was made without `d_edge` refuses them.
//! [`ArmaConv`], [`Gcn2Conv`], [`GatedGraphConv`], [`ChebConv`], [`Appnp`] and [`DnaConv`] take several steps over one
//! graph, or mix a node with itself: their adjacency is square.
//!
//! | what | names |
//! |---|---|
//! | convolutions | [`GcnConv`], [`SageConv`], [`GinConv`], [`ChebConv`], [`RgcnConv`], [`Appnp`] |
//! | attention | [`GatConv`], [`Gatv2Conv`], [`TransformerConv`] |
//! | messages | [`FilmConv`], [`NnConv`], [`GineConv`], [`EdgeConv`], [`ResGatedConv`], [`PnaConv`], [`GenConv`] |
//! | the same, by coordinates of edges | [`SplineConv`] |
//! | the same, as products | [`EgConv`], [`ArmaConv`], [`Gcn2Conv`], [`GatedGraphConv`] |
//! | of the outputs of all layers before | [`DnaConv`] |
//! | the same, as attention | [`AgnnConv`], [`SuperGatConv`] |
//! | hypergraphs | [`HypergraphConv`] |
//! | types of nodes and edges | [`EdgeType`], [`HeteroConv`], [`HanConv`], [`HgtConv`], [`RgatConv`] |
//! | layers for them | [`EdgeLayer`], [`AnyLayer`], [`TypeJoin`], [`NodeTensors`] |
//! | of your own | [`MessagePassing`], [`Edges`], [`Aggregator`], [`DegreeScalers`] |
//! | readouts | [`global_add_pool`], [`global_mean_pool`], [`global_max_pool`], [`global_attention_pool`] |
//! | between layers | [`GraphNorm`], [`JumpingKnowledge`], [`Mlp`], Burn's norms |
//! | on all cores | [`dropout`], [`elu`], [`leaky_relu`], and [`sparse_dropout`] of stored values |
//! | adjacencies | [`symmetric_normalization`], [`gcn_normalization`], [`row_normalization`] |
//! | the same, of two kinds of nodes | [`bipartite_normalization`] |
//! | links | [`NodePairs`], [`dot_decoder`], [`MlpDecoder`], [`negative_sampling`] |
//! | edges of several kinds | [`KnowledgeEmbedding`] of [`Triples`] by a [`TripleScore`], [`TripleRanks`] |
//! | coarser graphs | [`TopKPool`]; [`diff_pool`], [`mincut_pool`], [`dmon_pool`]; [`MemoryPool`], [`memory_loss`] |
//! | the same, by clusters | [`graclus`], [`voxel_grid`], [`coarsen`] |
//! | graphs of a batch side by side | [`DenseBatch`] |
//! | events in time | [`TemporalEvents`], [`TgnMemory`] with a [`TgnState`] |
//! | lists of ids | [`EmbeddingBag`] |
//! | Burn's `Linear` on sparse rows | [`sparse_input_linear`] |
//! | optimisers | [`FusedAdam`]; those of Burn |
//! | large tables | [`RowTable`] with a [`RowSparseGrad`], stepped by [`RowSgd`], [`RowAdagrad`] or [`RowAdam`] |
//! | sparse weights | [`SparseLinear`] |
//!
//! This is the crate `sparse-nn`, which `sparse-tensor` has as `nn` with the feature `nn`.

pub(crate) mod activation;
pub(crate) mod aggregation;
pub(crate) mod agnn;
pub(crate) mod appnp;
pub(crate) mod arma;
pub(crate) mod attention;
pub(crate) mod cheb;
pub(crate) mod clip;
mod clusters;
pub(crate) mod dense_batch;
pub(crate) mod dense_pool;
pub(crate) mod dna;
pub(crate) mod dropout;
pub(crate) mod edge_conv;
pub(crate) mod edge_type;
pub(crate) mod eg;
pub(crate) mod embedding_bag;
pub(crate) mod features;
pub(crate) mod film;
pub(crate) mod fused_adam;
pub(crate) mod gat;
pub(crate) mod gated_graph;
pub(crate) mod gatv2;
pub(crate) mod gatv2_scores;
pub(crate) mod gcn;
pub(crate) mod gcn2;
pub(crate) mod gen_conv;
pub(crate) mod gin;
pub(crate) mod gine;
pub(crate) mod graph_norm;
mod group_mm;
pub(crate) mod han;
pub(crate) mod hgt;
pub(crate) mod hypergraph;
pub(crate) mod input_linear;
pub(crate) mod jumping;
pub(crate) mod knowledge;
pub(crate) mod link;
pub(crate) mod memory_pool;
pub(crate) mod message_passing;
pub(crate) mod mlp;
pub(crate) mod negative;
pub(crate) mod nn_conv;
pub(crate) mod normalization;
pub(crate) mod pna;
pub(crate) mod pooling;
pub(crate) mod recurrent;
pub(crate) mod res_gated;
pub(crate) mod rgat;
pub(crate) mod rgcn;
pub(crate) mod sage;
pub(crate) mod scalers;
pub(crate) mod segments;
pub(crate) mod sparse_linear;
pub(crate) mod spline;
pub(crate) mod supergat;
pub(crate) mod table;
pub(crate) mod temporal;
pub(crate) mod tgn;
pub(crate) mod top_k;
pub(crate) mod transformer;
pub(crate) mod typed;

pub use activation::{elu, leaky_relu};
pub use aggregation::{Aggregate, Aggregation, Aggregator, AggregatorPart, Coefficient};
pub use agnn::{AgnnConv, AgnnConvConfig};
pub use appnp::{Appnp, AppnpConfig};
pub use arma::{ArmaConv, ArmaConvConfig};
pub use cheb::{ChebConv, ChebConvConfig, Laplacian};
pub use clip::clip_grad_norm;
pub use clusters::{coarsen, graclus, try_coarsen, try_graclus, try_voxel_grid, voxel_grid};
pub use dense_batch::DenseBatch;
pub use dense_pool::{DensePooled, diff_pool, dmon_pool, mincut_pool, try_diff_pool, try_dmon_pool, try_mincut_pool};
pub use dna::{DnaConv, DnaConvConfig, GroupedLinear};
pub use dropout::{dropout, sparse_dropout, try_sparse_dropout};
pub use edge_conv::{EdgeConv, EdgeConvConfig};
pub use edge_type::EdgeType;
pub use eg::{EgAggregation, EgConv, EgConvConfig};
pub use embedding_bag::{BagMode, Bags, EmbeddingBag, EmbeddingBagConfig};
pub use film::{FilmConv, FilmConvConfig};
pub use fused_adam::{FusedAdam, FusedAdamConfig};
pub use gat::{GatConv, GatConvConfig};
pub use gated_graph::{GatedGraphConv, GatedGraphConvConfig};
pub use gatv2::{Gatv2Conv, Gatv2ConvConfig};
pub use gcn::{GcnConv, GcnConvConfig};
pub use gcn2::{Gcn2Conv, Gcn2ConvConfig};
pub use gen_conv::{GenConv, GenConvConfig};
pub use gin::{GinConv, GinConvConfig};
pub use gine::{GineConv, GineConvConfig};
pub use graph_norm::{GraphNorm, GraphNormConfig};
pub use group_mm::{gather_mm, segment_mm, try_gather_mm, try_segment_mm};
pub use han::{HanConv, HanConvConfig};
pub use hgt::{HgtConv, HgtConvConfig};
pub use hypergraph::{HypergraphAttention, HypergraphConv, HypergraphConvConfig};
pub use input_linear::{sparse_input_linear, try_sparse_input_linear};
pub use jumping::{Jump, JumpingKnowledge, JumpingKnowledgeConfig};
pub use knowledge::ranks::{Missing, TripleRanks};
pub use knowledge::score::TripleScore;
pub use knowledge::triples::Triples;
pub use knowledge::{KnowledgeEmbedding, KnowledgeEmbeddingConfig};
pub use link::{Combine, MlpDecoder, MlpDecoderConfig, NodePairs, dot_decoder, try_dot_decoder};
pub use memory_pool::{MemoryPool, MemoryPoolConfig, memory_loss};
pub use message_passing::{Edges, MessagePassing};
pub use mlp::{Mlp, MlpConfig, NodeNetwork};
pub use negative::{negative_sampling, try_negative_sampling};
pub use nn_conv::{NnConv, NnConvConfig};
pub use normalization::{
    bipartite_normalization, gcn_normalization, row_normalization, symmetric_normalization,
    try_bipartite_normalization, try_gcn_normalization, try_gcn_normalization_async, try_row_normalization,
    try_symmetric_normalization, try_symmetric_normalization_async,
};
pub use pna::{PnaConv, PnaConvConfig};
pub use pooling::{
    global_add_pool, global_attention_pool, global_max_pool, global_mean_pool, graph_softmax, try_global_add_pool,
    try_global_attention_pool, try_global_max_pool, try_global_mean_pool, try_graph_softmax,
};
pub use res_gated::{ResGatedConv, ResGatedConvConfig};
pub use rgat::{RgatConv, RgatConvConfig};
pub use rgcn::{RgcnConv, RgcnConvConfig};
pub use sage::{SageConv, SageConvConfig};
pub use scalers::{DegreeScaler, DegreeScalers, DegreeScalersConfig};
pub use sparse_linear::{SparseLinear, SparseLinearConfig};
pub use spline::{SplineConv, SplineConvConfig};
pub use supergat::{SuperGatConv, SuperGatConvConfig};
pub use table::grad::{ReadRows, RowSparseGrad};
pub use table::optim::{RowAdagrad, RowAdagradConfig, RowAdam, RowAdamConfig, RowOptimizer, RowSgd};
pub use table::{RowTable, RowTableConfig};
pub use temporal::TemporalEvents;
pub use tgn::{TgnMemory, TgnMemoryConfig, TgnState};
pub use top_k::{Pooled, TopKPool, TopKPoolConfig};
pub use transformer::{TransformerConv, TransformerConvConfig};
pub use typed::{AnyLayer, EdgeLayer, HeteroConv, NodeTensors, TypeJoin};
