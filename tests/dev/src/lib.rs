//! What the tests of several crates share.
#![allow(missing_docs)] // Nobody else uses it.

pub mod counting;
pub mod device;
pub mod draw;
pub mod files;
pub mod gradients;
#[cfg(feature = "graphs")]
pub mod parts;
#[cfg(feature = "graphs")]
pub mod shares;
#[cfg(feature = "graphs")]
pub mod spoil;
pub mod wait;

use std::path::{Path, PathBuf};

/// A file or folder of the repository.
pub fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

/// The public items by their paths in the facade, from the lists in `docs/api`.
pub fn public_items() -> String {
    let list = |(wing, under): (&str, &str)| {
        let page = path(&format!("docs/api/sparse-{wing}.txt"));
        let text = std::fs::read_to_string(&page).unwrap_or_else(|trouble| panic!("{}: {trouble}", page.display()));
        let text = text.replace("sparse_ops::", "sparse_tensor::");
        text.replace(&format!("sparse_{wing}::"), &format!("sparse_tensor::{under}"))
    };
    let parts = [("ops", ""), ("nn", "nn::"), ("graphs", "data::"), ("files", ""), ("plot", "plot::")];
    let ranks = [("ranks", "parallel::"), ("remote", "remote::")];
    parts.into_iter().chain(ranks).map(list).collect()
}

/// The text of an error, which must be of the kind `invalid`.
pub fn told<T>(result: sparse_tensor::Result<T>) -> String {
    let trouble = result.err().expect("an error");
    assert_eq!(trouble.kind(), "invalid", "{trouble}");
    trouble.to_string()
}
