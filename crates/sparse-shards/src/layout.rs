//! What a manifest says of a graph, its parts and their files.

use crate::npy::Dtype;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The file that makes a folder whole.
pub const MANIFEST: &str = "manifest.json";
/// The name of the format.
pub const FORMAT: &str = "sparse-shards";
/// The version of the format. A reader takes its own only.
pub const VERSION: u32 = 1;

/// What an array of a part holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Row pointers, i64 `[n + 1]`.
    RowPtr,
    /// Columns, i32 or i64 `[e]`.
    ColIdx,
    /// Weights of the edges, f32 `[e]`.
    Values,
    /// Features of the nodes, f32 `[n, F]`.
    Features,
    /// Original ids that are integers, i64 `[n]`.
    Ids,
    /// Where each original id starts in the bytes, i64 `[n + 1]`.
    IdOffsets,
    /// The bytes of original ids that are strings, u8, UTF-8.
    IdBytes,
}

impl Kind {
    /// The path of that file of a part, relative to the folder.
    ///
    /// ```
    /// assert_eq!(sparse_shards::Kind::ColIdx.file(3), "part-00003/col_idx.npy");
    /// ```
    pub fn file(self, part: usize) -> String {
        let name = match self {
            Self::RowPtr => "row_ptr",
            Self::ColIdx => "col_idx",
            Self::Values => "values",
            Self::Features => "features",
            Self::Ids => "ids",
            Self::IdOffsets => "id_offsets",
            Self::IdBytes => "id_bytes",
        };
        format!("part-{part:05}/{name}.npy")
    }
}

/// A file of a part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardFile {
    /// Its path, relative to the folder, with `/`: that of [`Kind::file`].
    pub name: String,
    /// What it holds.
    pub kind: Kind,
    /// Its length.
    pub bytes: u64,
    /// XXH3 of 64 bits of the whole file, as 16 digits: what `xxhsum -H3` prints.
    pub checksum: String,
}

/// A part of the nodes, with all edges that leave them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The dense ids that it owns. A part may own none.
    pub nodes: Range<u64>,
    /// Its edges.
    pub edges: u64,
    /// Its files, in any order.
    pub files: Vec<ShardFile>,
}

/// The features of the nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Features {
    /// The dtype, which is f32.
    pub dtype: Dtype,
    /// Elements of a row, at least 1.
    pub width: u64,
    /// The names of the columns that they came from.
    pub columns: Vec<String>,
}

/// What the original ids are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IdKind {
    /// Integers of 64 bits.
    #[default]
    Int,
    /// Strings.
    Text,
}

/// What holds for all parts of a graph.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// Whether each edge was written in both directions.
    pub symmetric: bool,
    /// Whether the edges have weights.
    pub weights: bool,
    /// The dtype of the columns: i32 or i64.
    pub col_idx: Dtype,
    /// What the original ids are.
    pub ids: IdKind,
    /// The features, if there are any.
    pub features: Option<Features>,
    /// How the nodes were cut into parts: `hash`, `range`, `metis`.
    pub by: String,
}

impl Default for About {
    /// A directed graph of integer ids with columns of i32, without weights and features, cut by range.
    fn default() -> Self {
        let (ids, by) = (IdKind::Int, "range".into());
        Self { symmetric: false, weights: false, col_idx: Dtype::I32, ids, features: None, by }
    }
}

impl About {
    /// The files that a part of such a graph has.
    pub fn kinds(&self) -> Vec<Kind> {
        let mut kinds = vec![Kind::RowPtr, Kind::ColIdx];
        kinds.extend(self.weights.then_some(Kind::Values));
        kinds.extend(self.features.is_some().then_some(Kind::Features));
        match self.ids {
            IdKind::Int => kinds.push(Kind::Ids),
            IdKind::Text => kinds.extend([Kind::IdOffsets, Kind::IdBytes]),
        }
        kinds
    }
}
