//! What is finished: recorded after each stage, so that a run that was killed goes on. It lies in the folder that is
//! written, beside the files that it vouches for: a run that starts again there forgets it.

use crate::error::{PrepareError, Result};
use crate::options::Stage;
use datafusion::parquet::file::reader::{FileReader, SerializedFileReader};
use serde::{Deserialize, Serialize};
use sparse_shards::{IdKind, ShardFile, sync_folder};
use std::collections::BTreeMap;
use std::fs;
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
    /// The tables that stages wrote, by their names in `work`.
    pub(crate) tables: BTreeMap<String, Table>,
}

/// By what a table is known to be whole. The files of a folder are read as one table, so nothing else misses one that
/// is gone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Table {
    pub(crate) rows: u64,
    /// The length of each file, by name.
    pub(crate) files: BTreeMap<String, u64>,
}

impl Table {
    /// That of a Parquet file, or of a folder of them.
    pub(crate) fn of(path: &Path) -> Result<Self> {
        let mut paths = vec![path.to_path_buf()];
        if path.is_dir() {
            let all = fs::read_dir(path).map_err(PrepareError::io(OP, path))?;
            let all = all.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<_>>();
            paths = all.map_err(PrepareError::io(OP, path))?;
        }
        let mut own = Self { rows: 0, files: BTreeMap::new() };
        for path in paths {
            let file = sparse_disk::open(&path).map_err(PrepareError::io(OP, &path))?;
            let length = file.metadata().map_err(PrepareError::io(OP, &path))?.len();
            let reader = SerializedFileReader::new(file).map_err(PrepareError::parquet(OP, &path))?;
            own.rows += reader.metadata().file_metadata().num_rows() as u64;
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            own.files.insert(name, length);
        }
        Ok(own)
    }
}

/// The name of the table that a stage writes.
fn table(stage: Stage) -> &'static str {
    match stage {
        Stage::Ids => "ids.parquet",
        Stage::Nodes => "nodes.parquet",
        other => other.word(),
    }
}

/// The stages whose tables a stage reads.
fn read(stage: Stage) -> &'static [Stage] {
    match stage {
        Stage::Import | Stage::Manifest => &[],
        Stage::Ids => &[Stage::Import],
        Stage::Parts => &[Stage::Import, Stage::Ids],
        Stage::Nodes => &[Stage::Ids],
        Stage::Relabel => &[Stage::Import, Stage::Nodes],
        Stage::Edges => &[Stage::Relabel],
        Stage::Features => &[Stage::Nodes],
    }
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

    /// Where the table of a stage is.
    pub(crate) fn path(&self, stage: Stage) -> PathBuf {
        self.work.join(table(stage))
    }

    /// Removes that of a folder, if there is one.
    pub(crate) fn forget(folder: &Path) -> Result<()> {
        let path = folder.join(FILE);
        match fs::remove_file(&path) {
            // It must not come back when what it vouches for is replaced.
            Ok(()) => Ok(sync_folder(folder)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(PrepareError::io(OP, &path)(error)),
        }
    }

    /// That of a folder, if there is one.
    pub(crate) fn load(folder: &Path) -> Result<Option<Self>> {
        let path = folder.join(FILE);
        match sparse_disk::read(&path) {
            Ok(text) => serde_json::from_slice(&text).map(Some).map_err(|error| {
                let rule = "must be a state of this version (without --resume all starts again), got";
                PrepareError::invalid(OP, format!("{} {rule}: {error}", path.display()))
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(PrepareError::io(OP, &path)(error)),
        }
    }

    pub(crate) fn save(&self, folder: &Path) -> Result<()> {
        let text = serde_json::to_vec_pretty(self).map_err(|error| PrepareError::invalid(OP, error.to_string()))?;
        write(&folder.join(FILE), &text)
    }

    /// Whether a stage that is finished need not be done again.
    fn done(&self, stage: Stage) -> bool {
        match stage {
            Stage::Import => self.import,
            Stage::Ids => self.ids.is_some(),
            Stage::Parts => self.parts,
            Stage::Nodes => self.nodes.is_some(),
            Stage::Relabel => self.relabel,
            Stage::Edges => self.edges.is_some(),
            Stage::Features => self.features.is_some(),
            Stage::Manifest => false,
        }
    }

    /// Records the table that a stage wrote. Later stages must find it so.
    pub(crate) fn record(&mut self, stage: Stage, rows: u64) -> Result<()> {
        let path = self.path(stage);
        let found = Table::of(&path)?;
        if found.rows != rows {
            let message = format!("{} must have the {rows} rows that were written, got {}", path.display(), found.rows);
            return Err(PrepareError::invalid(stage.word(), message));
        }
        self.tables.insert(table(stage).into(), found);
        Ok(())
    }

    /// Whether the tables are whole that the stages read that are not finished.
    pub(crate) fn check_rest(&self) -> Result<()> {
        // What METIS reads, a later stage reads as well. It is never finished where nobody asks for it.
        let rest = Stage::ALL.iter().filter(|&&stage| stage != Stage::Parts && !self.done(stage));
        rest.copied().try_for_each(|stage| self.check(stage))
    }

    /// Whether the tables are whole that a stage reads. Edges of local Parquet files have none.
    pub(crate) fn check(&self, stage: Stage) -> Result<()> {
        for &stage in read(stage) {
            let Some(due) = self.tables.get(table(stage)) else { continue };
            let path = self.path(stage);
            let wrong = match Table::of(&path) {
                Ok(got) if got == *due => continue,
                Ok(got) => {
                    let name = |(name, _): (&String, &u64)| name.clone();
                    let gone = due.files.iter().find(|(name, length)| got.files.get(*name) != Some(length)).map(name);
                    let new = got.files.iter().find(|(name, _)| !due.files.contains_key(*name)).map(name);
                    let own = gone.or(new).map_or(String::new(), |name| format!(" and a change of {name}"));
                    format!("{} rows{own}", got.rows)
                }
                Err(error) => error.to_string(),
            };
            let message = format!("{} must be as it was written, with {} rows", path.display(), due.rows);
            let message = format!("{message} (start again without --resume), got {wrong}");
            return Err(PrepareError::invalid(OP, message));
        }
        Ok(())
    }
}

/// Renames what is whole into place, and brings its name to the disk: then a state may tell of it.
pub(crate) fn rename(op: &'static str, partial: &Path, path: &Path) -> Result<()> {
    fs::rename(partial, path).map_err(PrepareError::io(op, path))?;
    Ok(sync_folder(path.parent().unwrap_or(path))?)
}

/// Writes a small file that is whole or not there.
pub(crate) fn write(path: &Path, text: &[u8]) -> Result<()> {
    sparse_disk::replace(path, |error| error, |out| out.write_all(text)).map_err(PrepareError::io(OP, path))
}

/// Removes a folder, if it is there.
pub(crate) fn clear(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(PrepareError::io("arguments", folder)(error)),
        _ => Ok(()),
    }
}
