//! Pictures of matrices, graphs and trainings, as SVG, as PNG (feature `plot-png`) and as text for a terminal.
//!
//! A function makes a [`Plot`], its methods change titles and names, and the last one writes it:
//!
//! - [`spy`] and [`spy_by_class`]: where a matrix has elements.
//! - [`heatmap`]: numbers of a grid as colours.
//! - [`histogram`]: counts, such as those of `data::degree_histogram`.
//! - [`curves`] and [`runs`]: losses and other numbers by epoch.
//! - [`embedding`]: points in the plane, coloured by class; [`pca`] brings points of more dims there.
//! - [`attention`]: the weights of edges on a small graph.
//! - [`grid`]: several of them on one page.
//!
//! ```
//! use burn::tensor::Device;
//! use sparse_tensor::{data::karate, plot};
//!
//! let graph = karate(&Device::flex());
//! let picture = plot::spy(&graph.adjacency).with_title("Who met whom");
//! let text = picture.text(60, 24);
//! assert!(text.contains("Who met whom"));
//! assert!(picture.to_svg().unwrap().starts_with("<svg"));
//! ```
//!
//! Everything is read to the host. The size of a picture is bounded whatever it shows: each function says how. Numbers
//! that are not finite are left out.
//!
//! This is the crate `sparse-plot`, which `sparse-tensor` has as `plot` with the feature `plot`.

mod attention;
mod axis;
mod canvas;
mod curves;
mod draw;
mod embedding;
mod figure;
mod force;
mod heatmap;
mod histogram;
mod pca;
#[cfg(feature = "png")]
mod png;
mod shapes;
mod spy;
mod text;
mod vector;

pub use attention::{attention, try_attention};
pub use curves::{curves, runs};
pub use embedding::{embedding, try_embedding};
pub use figure::{Plot, grid};
pub use heatmap::heatmap;
pub use histogram::histogram;
pub use pca::{pca, try_pca};
pub use spy::{spy, spy_by_class, try_spy, try_spy_by_class};
