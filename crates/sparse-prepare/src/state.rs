//! What is finished: recorded after each stage, so that a run that was killed goes on. It lies in the folder that is
//! written, beside the files that it vouches for: a run that starts again there forgets it.

use crate::error::{PrepareError, Result};
use serde::{Deserialize, Serialize};
use sparse_shards::{IdKind, ShardFile};
use std::fs::{self, File};
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

const OP: &str = "resume";
const FILE: &str = "prepare.state.json";

/// What the stages found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct State {
    /// Of the arguments and the input files.
    pub(crate) digest: String,
    /// Where intermediate results are.
    pub(crate) work: PathBuf,
    /// What ids are.
    pub(crate) kind: IdKind,
    pub(crate) import: bool,
    pub(crate) ids: Option<Found>,
    pub(crate) parts: bool,
    pub(crate) nodes: Option<Vec<Owned>>,
    pub(crate) relabel: bool,
    pub(crate) edges: Option<Vec<Graph>>,
    pub(crate) features: Option<(Vec<String>, Vec<ShardFile>)>,
}

/// All ids.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Found {
    pub(crate) nodes: u64,
    /// Of all ids.
    pub(crate) bytes: u64,
    /// Nodes of each part.
    pub(crate) sizes: Vec<u64>,
}

/// The nodes of a part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Owned {
    pub(crate) nodes: Range<u64>,
    pub(crate) files: Vec<ShardFile>,
}

/// The graph of a part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Graph {
    pub(crate) edges: u64,
    pub(crate) files: Vec<ShardFile>,
}

impl State {
    pub(crate) fn new(digest: String, work: PathBuf) -> Self {
        Self { digest, work, ..Self::default() }
    }

    /// Removes that of a folder, if there is one.
    pub(crate) fn forget(folder: &Path) -> Result<()> {
        let path = folder.join(FILE);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(PrepareError::io(OP, &path)(error)),
            _ => Ok(()),
        }
    }

    /// That of a folder, if there is one.
    pub(crate) fn load(folder: &Path) -> Result<Option<Self>> {
        let path = folder.join(FILE);
        match fs::read(&path) {
            Ok(text) => serde_json::from_slice(&text).map(Some).map_err(|error| {
                PrepareError::invalid(OP, format!("{} must be a state of this version, got: {error}", path.display()))
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(PrepareError::io(OP, &path)(error)),
        }
    }

    pub(crate) fn save(&self, folder: &Path) -> Result<()> {
        let text = serde_json::to_vec_pretty(self).map_err(|error| PrepareError::invalid(OP, error.to_string()))?;
        write(&folder.join(FILE), &text)
    }
}

/// Writes a small file that is whole or not there.
pub(crate) fn write(path: &Path, text: &[u8]) -> Result<()> {
    let partial = path.with_extension("partial");
    let put = || -> io::Result<()> {
        let mut file = File::create(&partial)?;
        file.write_all(text)?;
        file.sync_all()?;
        fs::rename(&partial, path)
    };
    put().map_err(PrepareError::io(OP, path))
}

/// Removes a folder, if it is there.
pub(crate) fn clear(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(PrepareError::io("arguments", folder)(error)),
        _ => Ok(()),
    }
}
