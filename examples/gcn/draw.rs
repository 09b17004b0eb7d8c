//! The picture: loss curve, embedding, adjacency.

use crate::train::{Run, Task};
use burn::tensor::Tensor;
use sparse_tensor::SparseError;
use sparse_tensor::data::Graph;
use sparse_tensor::plot::{Plot, grid, runs, try_embedding, try_pca, try_spy_by_class};

/// The three plots; the embedding is that of the first seed.
pub(crate) fn draw(karate: bool, graph: &Graph, task: &Task, all: &[Run]) -> Result<Plot, SparseError> {
    let losses: Vec<_> = all.iter().map(|run| &run.losses).collect();
    let loss = runs(&losses).with_title("Training loss").with_axes("epoch", "cross-entropy");

    let hidden = Tensor::from_data(all[0].embedding.clone(), &graph.adjacency.device());
    let embedding = try_embedding(try_pca(hidden)?, &task.labels)?
        .with_title("Learned embedding")
        .with_axes("first principal component", "second principal component")
        .with_rings(&task.splits.train, "training node");
    let embedding = if karate { embedding.with_names(&["Mr. Hi's side", "the officers' side"]) } else { embedding };

    let adjacency = try_spy_by_class(&graph.adjacency, &task.labels)?.with_title("Adjacency, nodes sorted by class");
    Ok(grid(&[loss, embedding, adjacency], 3).with_size(520, 480))
}
