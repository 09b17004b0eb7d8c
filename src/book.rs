// Only documentation is made of this file, and the examples in it are tests. The text is in `docs/book`, where it can
// also be read on the web. A link of a chapter goes to what `links.md` says for `cargo doc`: in Markdown the first
// definition of a link counts. A failing example is named by its chapter; its line counts from the start of `links.md`.

#[doc = include_str!("../docs/book/links.md")]
#[doc = include_str!("../docs/book/start.md")]
pub mod start {}

#[doc = include_str!("../docs/book/links.md")]
#[doc = include_str!("../docs/book/contents.md")]
pub mod contents {}

#[doc = include_str!("../docs/book/links.md")]
#[doc = include_str!("../docs/book/concepts.md")]
pub mod concepts {}

#[doc = include_str!("../docs/book/links.md")]
#[doc = include_str!("../docs/book/training.md")]
pub mod training {}

#[doc = include_str!("../docs/book/links.md")]
#[doc = include_str!("../docs/book/gnn.md")]
pub mod gnn {}

#[doc = include_str!("../docs/book/links.md")]
#[doc = include_str!("../docs/book/gallery.md")]
pub mod gallery {}

#[doc = include_str!("../docs/book/links.md")]
#[doc = include_str!("../docs/book/solve.md")]
pub mod solve {}

/// This chapter needs the feature `direct`.
///
#[cfg_attr(feature = "direct", doc = include_str!("../docs/book/links.md"))]
#[cfg_attr(feature = "direct", doc = include_str!("../docs/book/spectra.md"))]
pub mod spectra {}

#[doc = include_str!("../docs/book/links.md")]
#[doc = include_str!("../docs/book/nonlinear.md")]
pub mod nonlinear {}

/// This chapter needs the feature `direct`.
///
#[cfg_attr(feature = "direct", doc = include_str!("../docs/book/links.md"))]
#[cfg_attr(feature = "direct", doc = include_str!("../docs/book/factor.md"))]
pub mod factor {}

#[doc = include_str!("../docs/book/links.md")]
#[doc = include_str!("../docs/book/solve_gallery.md")]
pub mod solve_gallery {}

#[doc = include_str!("../docs/book/links.md")]
#[doc = include_str!("../docs/book/sparse_weights.md")]
pub mod sparse_weights {}

#[doc = include_str!("../docs/book/links.md")]
#[doc = include_str!("../docs/book/gpu.md")]
pub mod gpu {}

#[doc = include_str!("../docs/book/links.md")]
#[doc = include_str!("../docs/book/performance.md")]
pub mod performance {}

#[doc = include_str!("../docs/book/links.md")]
#[doc = include_str!("../docs/book/files.md")]
pub mod files {}

#[doc = include_str!("../docs/book/links.md")]
#[doc = include_str!("../docs/book/pictures.md")]
pub mod pictures {}

#[doc = include_str!("../docs/book/links.md")]
#[doc = include_str!("../docs/book/own_operation.md")]
pub mod own_operation {}

#[doc = include_str!("../docs/book/links.md")]
#[doc = include_str!("../docs/book/coming_from.md")]
pub mod coming_from {}

#[doc = include_str!("../docs/book/links.md")]
#[doc = include_str!("../docs/book/pyg.md")]
pub mod pyg {}

#[doc = include_str!("../docs/book/links.md")]
#[doc = include_str!("../docs/book/errors.md")]
pub mod errors {}

#[doc = include_str!("../docs/book/links.md")]
#[doc = include_str!("../docs/book/faq.md")]
pub mod faq {}
