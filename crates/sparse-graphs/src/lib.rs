//! Graphs to learn on, and the parts of them that a model trains on.
//!
//! - Graphs: one that is built in, folders of files, and generated ones.
//! - Types of nodes and edges: [`HeteroGraph`], [`HomogeneousGraph`].
//! - Parts of large graphs: [`NeighborSampler`] and [`NeighborLoader`], [`k_hop_subgraph`], [`RandomWalks`],
//!   [`ClusterPartition`], [`SaintSampler`], [`ShadowSampler`]; around edges [`LinkSampler`].
//!   Of types and by time: [`HeteroSampler`], [`MetapathWalks`], [`LastNeighbors`].
//!   `NeighborDataLoader` (feature `dataset`) gives their batches to burn-train.
//! - Larger than memory: `MappedGraph` and `FeatureStore` (feature `mmap`), or any [`GraphStore`].
//! - Many small graphs: [`GraphBatch`]. Sets: [`random_split`], [`random_edge_split`], [`Labels`], [`LabelledNodes`].
//! - Transforms: [`to_undirected`], [`one_hot_degree`], [`normalize_features`], [`knn_graph`], [`dropout_edge`],
//!   [`dropout_node`], [`diffused`]. Self loops and degrees are methods of [`SparseTensor`](sparse_ops::SparseTensor).
//! - Algorithms: [`connected_components`], [`bfs_levels`], [`search_order`], [`shortest_paths`],
//!   [`minimum_spanning_tree`], [`maximum_flow`], [`maximum_matching`], [`minimum_weight_matching`], [`pagerank`],
//!   [`triangle_counts`], [`Reordering`], [`random_walk_encoding`];
//!   [`label_propagation`], [`correct_predictions`], [`smooth_predictions`].
//! - Words as columns: [`FeatureHasher`].
//! - Measures: of examples [`roc_auc`], [`average_precision`], [`hits_at_k`]; of the items of users [`recall_at_k`],
//!   [`precision_at_k`], [`map_at_k`], [`mrr_at_k`], [`ndcg_at_k`]; of classes and clusters [`f1_score`],
//!   [`normalized_mutual_information`], [`adjusted_rand_index`]; of embeddings [`LogisticRegressionConfig`],
//!   [`k_means`].
//! - Explaining: [`GnnExplainerConfig`], [`saliency`], [`integrated_gradients`], [`fidelity`].
//!
//! Everything random takes a seed, and gives the same bits for any number of threads.
//!
//! This is the crate `sparse-graphs`, which `sparse-tensor` has as `data` with the feature `data`.

mod acm;
mod agreement;
mod algorithms;
mod augment;
mod batch;
mod diffusion;
mod encoding;
mod entities;
mod explain;
mod flow;
mod folder;
mod generators;
#[cfg(feature = "npz")]
mod geom;
mod graph;
mod graph_sets;
mod hashing;
mod hetero;
pub(crate) mod host;
mod interactions;
mod jodie;
mod k_means;
mod k_paths;
mod karate;
mod labelled;
mod labels;
mod logistic;
#[cfg(feature = "npz")]
mod magnn;
#[cfg(feature = "mmap")]
pub(crate) mod mapped;
mod metrics;
mod movie_lens;
mod numpy;
mod ogb;
mod ogb_hetero;
#[cfg(feature = "npz")]
mod ogb_links;
mod pagerank;
#[cfg(feature = "mmap")]
pub mod parts;
mod paths;
mod pickle;
mod planetoid;
mod points;
mod ppi;
mod propagation;
#[cfg(feature = "npz")]
mod pyg;
mod ranked;
mod reordering;
#[cfg(feature = "npz")]
mod saint;
pub(crate) mod sampling;
mod sbm;
mod shapes;
mod sources;
mod split;
mod taobao;
#[cfg(feature = "npz")]
mod torch_file;
mod transform;
mod triples;
mod tu;
#[cfg(feature = "npz")]
mod upfd;

pub use acm::{read_acm, read_acm_with};
pub use agreement::{
    F1Average, adjusted_rand_index, f1_score, normalized_mutual_information, try_adjusted_rand_index, try_f1_score,
    try_normalized_mutual_information,
};
pub use algorithms::{
    Components, Connection, bfs_levels, connected_components, triangle_counts, try_bfs_levels,
    try_connected_components, try_triangle_counts,
};
pub use augment::{dropout_edge, dropout_node, try_dropout_edge, try_dropout_node};
pub use batch::GraphBatch;
pub use diffusion::{Diffusion, KeepEdges, diffused, try_diffused};
pub use encoding::{random_walk_encoding, try_random_walk_encoding};
pub use entities::{EntityGraph, EntityTask, read_entities, read_entities_with};
pub use explain::{
    Explanation, Fidelity, GnnExplainerConfig, fidelity, integrated_gradients, predicted_classes, saliency,
    try_fidelity, try_integrated_gradients, try_predicted_classes, try_saliency,
};
pub use flow::{
    MaximumFlow, maximum_flow, maximum_matching, minimum_weight_matching, try_maximum_flow, try_minimum_weight_matching,
};
pub use folder::{read_folder, read_folder_with};
pub use generators::{ba_shapes, barabasi_albert, erdos_renyi, grid_2d};
#[cfg(feature = "npz")]
pub use geom::{GeomFeatures, GeomGraph, read_geom_gcn, read_geom_gcn_with};
pub use graph::{Graph, Splits};
pub use graph_sets::{GraphSet, read_ogb_graphs, read_ogb_graphs_with};
pub use hashing::FeatureHasher;
pub use hetero::block_model::hetero_block_model;
pub use hetero::homogeneous::HomogeneousGraph;
pub use hetero::split::HeteroEdgeSplit;
pub use hetero::{HeteroGraph, TypedNodes};
pub use interactions::{Interactions, read_amazon_book, read_amazon_book_with};
pub use jodie::{JodieEvents, read_jodie, read_jodie_with};
pub use k_means::{KMeans, k_means, try_k_means};
pub use k_paths::{KShortestPaths, k_shortest_paths, predecessor_tree, try_k_shortest_paths, try_predecessor_tree};
pub use karate::karate;
pub use labelled::LabelledNodes;
pub use labels::Labels;
pub use logistic::{LogisticRegression, LogisticRegressionConfig};
#[cfg(feature = "npz")]
pub use magnn::{read_magnn, read_magnn_with};
#[cfg(feature = "mmap")]
pub use mapped::{features::FeatureStore, graph::MappedGraph};
pub use metrics::{average_precision, hits_at_k, roc_auc, try_average_precision, try_hits_at_k, try_roc_auc};
pub use movie_lens::{MovieLens, read_movie_lens, read_movie_lens_with};
pub use ogb::{OgbGraph, OgbOptions, read_ogb, read_ogb_with};
pub use ogb_hetero::{read_ogb_hetero, read_ogb_hetero_with};
#[cfg(feature = "npz")]
pub use ogb_links::{OgbLinkSplit, OgbLinks, read_ogb_links, read_ogb_links_with};
pub use pagerank::{PageRankConfig, pagerank, try_pagerank};
pub use paths::{
    PathMethod, SearchBy, SearchOrder, ShortestPaths, minimum_spanning_tree, search_order, shortest_paths,
    shortest_paths_by, shortest_paths_within, try_minimum_spanning_tree, try_search_order, try_shortest_paths,
    try_shortest_paths_by, try_shortest_paths_within,
};
pub use planetoid::{read_planetoid, read_planetoid_with};
pub use points::{knn_graph, radius_graph, try_knn_graph, try_radius_graph};
pub use ppi::{read_ppi, read_ppi_with};
pub use propagation::{
    correct_predictions, label_propagation, smooth_predictions, try_correct_predictions, try_label_propagation,
    try_smooth_predictions,
};
#[cfg(feature = "npz")]
pub use pyg::{PygGraph, read_pyg, read_pyg_with};
pub use ranked::{
    map_at_k, mrr_at_k, ndcg_at_k, precision_at_k, recall_at_k, try_map_at_k, try_mrr_at_k, try_ndcg_at_k,
    try_precision_at_k, try_recall_at_k,
};
pub use reordering::Reordering;
#[cfg(feature = "npz")]
pub use saint::{read_graph_saint, read_graph_saint_with};
pub use sampling::by_time::{EdgeTimes, TemporalStrategy};
pub use sampling::cluster::ClusterPartition;
#[cfg(feature = "dataset")]
pub use sampling::data_loader::NeighborDataLoader;
pub use sampling::last::{LastEvents, LastNeighbors};
pub use sampling::links::{LinkBatch, LinkSampler, Negatives};
pub use sampling::loader::{NeighborBatches, NeighborLoader, SampledBy};
pub use sampling::metapath::MetapathWalks;
pub use sampling::neighbors::NeighborBatch;
pub use sampling::node_map::NodeMap;
pub use sampling::saint::{SaintDraw, SaintNorms, SaintSampler};
pub use sampling::sampler::{Direction, NeighborSampler, NeighborSamplerConfig};
pub use sampling::seeds::{LinkEnds, SeedSampler};
pub use sampling::shadow::{ShadowBatch, ShadowSampler};
pub use sampling::subgraph::{Subgraph, induced_subgraph, k_hop_subgraph, try_induced_subgraph, try_k_hop_subgraph};
pub use sampling::typed::{HeteroSampler, HeteroSamplerConfig};
pub use sampling::typed_batch::HeteroBatch;
pub use sampling::walks::RandomWalks;
pub use sbm::stochastic_block_model;
pub use shapes::{
    Mesh, ModelNet, PartPoints, read_model_net, read_model_net_with, read_shape_net, read_shape_net_with,
};
pub use sparse_core::graph::{Ahead, GraphStore};
pub use split::{EdgeSplit, random_edge_split, random_split, random_split_per_class, stratified_folds};
pub use taobao::{read_taobao, read_taobao_with};
pub use transform::{
    degree_histogram, normalize_features, one_hot_degree, to_undirected, try_one_hot_degree, try_to_undirected,
};
pub use triples::{Triples, read_triples, read_triples_with};
pub use tu::{TuGraph, TuGraphs, read_tu, read_tu_with};
#[cfg(feature = "npz")]
pub use upfd::{read_upfd, read_upfd_with};
