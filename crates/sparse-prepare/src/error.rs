//! What can go wrong.

use datafusion::error::DataFusionError;
use datafusion::parquet::errors::ParquetError;
use sparse_shards::ShardError;
use std::fmt;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Result with a [`PrepareError`].
pub type Result<T, E = PrepareError> = std::result::Result<T, E>;

/// What can go wrong. Each message reads `stage: what must hold, got X`, or tells what a library said.
#[derive(Error)]
#[non_exhaustive]
pub enum PrepareError {
    /// An argument or the input is not what it must be.
    #[error("{op}: {message}")]
    Invalid {
        /// The stage, or the argument.
        op: &'static str,
        /// What must hold, and what was found.
        message: String,
    },
    /// A file could not be read or written, for example because the disk is full.
    #[error("{op}: {} must be usable, got: {error}", path.display())]
    Io {
        /// The stage.
        op: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        #[source]
        error: std::io::Error,
    },
    /// What DataFusion said: an input that cannot be read, a disk that is full, too little memory.
    #[error("{op}: {message}")]
    Query {
        /// The stage.
        op: &'static str,
        /// What it said, and what may help.
        message: String,
    },
    /// A plan asked for more memory than it was given.
    #[error("{op}: {message} (a larger --memory or fewer --threads may help)")]
    Memory {
        /// The stage.
        op: &'static str,
        /// Who asked, and for what.
        message: String,
    },
    /// The folder of shards.
    #[error(transparent)]
    Shards(#[from] ShardError),
}

/// What a `main` that returns the error prints.
impl fmt::Debug for PrepareError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl PrepareError {
    pub(crate) fn invalid(op: &'static str, message: impl Into<String>) -> Self {
        Self::Invalid { op, message: message.into() }
    }

    pub(crate) fn io(op: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_path_buf();
        move |error| Self::Io { op, path, error }
    }

    pub(crate) fn query(op: &'static str) -> impl Fn(DataFusionError) -> Self {
        move |error| {
            let mut message = error.strip_backtrace();
            if matches!(error.find_root(), DataFusionError::ResourcesExhausted(_)) {
                return Self::Memory { op, message };
            }
            if message.contains("as type 'Int64'") {
                message += " (--ids text takes ids that are no integers)";
            }
            Self::Query { op, message }
        }
    }

    pub(crate) fn parquet(op: &'static str, path: &Path) -> impl Fn(ParquetError) -> Self {
        let path = path.to_path_buf();
        move |error| Self::Query { op, message: format!("{} must be usable, got: {error}", path.display()) }
    }
}
