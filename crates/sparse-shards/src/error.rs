//! What can be wrong with a folder.

use std::fmt;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Result with a [`ShardError`].
pub type Result<T, E = ShardError> = std::result::Result<T, E>;

/// What can be wrong with a folder of shards. Each message reads `op: what must hold, got X`.
#[derive(Error)]
#[non_exhaustive]
pub enum ShardError {
    /// The system could not read or write a file, for example because the disk is full.
    #[error("{op}: {} must be usable, got: {error}", path.display())]
    Io {
        /// Operation.
        op: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        #[source]
        error: std::io::Error,
    },
    /// A folder without a manifest: nothing was prepared there, or not to its end.
    #[error("{op}: the folder must hold `manifest.json`, which is written last, got none in {}", path.display())]
    NoManifest {
        /// Operation.
        op: &'static str,
        /// The folder.
        path: PathBuf,
    },
    /// The manifest is of another format or version.
    #[error("{op}: {} must be of format {expected}, got {got}", path.display())]
    Version {
        /// Operation.
        op: &'static str,
        /// The manifest.
        path: PathBuf,
        /// This library's format and version.
        expected: String,
        /// Those of the file.
        got: String,
    },
    /// A file that the manifest names is not there.
    #[error("{op}: every file of the manifest must be there, got none at {}", path.display())]
    Missing {
        /// Operation.
        op: &'static str,
        /// The file.
        path: PathBuf,
    },
    /// A file has another length than the manifest says.
    #[error("{op}: {} must have {expected} bytes, got {got}", path.display())]
    Length {
        /// Operation.
        op: &'static str,
        /// The file.
        path: PathBuf,
        /// Bytes by the manifest.
        expected: u64,
        /// Bytes on the disk.
        got: u64,
    },
    /// A file has other bytes than it was written with.
    #[error("{op}: {} must have the checksum {expected}, got {got}", path.display())]
    Checksum {
        /// Operation.
        op: &'static str,
        /// The file.
        path: PathBuf,
        /// By the manifest.
        expected: String,
        /// Of the file.
        got: String,
    },
    /// What a file says is not possible, or contradicts another.
    #[error("{op}: {}: {message}", path.display())]
    Invalid {
        /// Operation.
        op: &'static str,
        /// The file.
        path: PathBuf,
        /// What must hold, and what was found.
        message: String,
    },
}

/// What a `main` that returns the error prints.
impl fmt::Debug for ShardError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl ShardError {
    pub(crate) fn io(op: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_path_buf();
        move |error| Self::Io { op, path, error }
    }

    pub(crate) fn invalid(op: &'static str, path: &Path, message: impl Into<String>) -> Self {
        Self::Invalid { op, path: path.to_path_buf(), message: message.into() }
    }
}
