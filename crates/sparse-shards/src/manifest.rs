//! The manifest of a folder.

use crate::error::{Result, ShardError};
use crate::layout::{About, FORMAT, Kind, MANIFEST, Part, ShardFile, VERSION};
use crate::npy::{Dtype, HEADER, header};
use serde::{Deserialize, Serialize};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// What a folder holds: `manifest.json`, which is written last.
///
/// [`open`](Self::open) is cheap and is what training calls; [`verify`](Self::verify) reads everything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Manifest {
    /// Nodes of all parts.
    pub nodes: u64,
    /// Edges of all parts.
    pub edges: u64,
    /// What holds for all parts.
    #[serde(flatten)]
    pub about: About,
    /// The parts, in the order of their dense ids.
    pub parts: Vec<Part>,
    #[serde(skip)]
    folder: PathBuf,
}

/// What is looked at before the rest, which another version may not have.
#[derive(Serialize, Deserialize)]
struct Head {
    format: String,
    version: u32,
}

#[derive(Serialize)]
struct Whole<'a> {
    #[serde(flatten)]
    head: Head,
    #[serde(flatten)]
    manifest: &'a Manifest,
}

impl Manifest {
    /// The manifest of these parts. [`write`](Self::write) checks it.
    pub fn new(about: About, parts: Vec<Part>) -> Self {
        let nodes = parts.last().map_or(0, |part| part.nodes.end);
        let edges = parts.iter().fold(0u64, |sum, part| sum.saturating_add(part.edges));
        Self { nodes, edges, about, parts, folder: PathBuf::new() }
    }

    /// Reads the manifest of a folder and compares it with the files: each must be there, of the length and with the
    /// header that the manifest implies. Elements are not read; see [`verify`](Self::verify).
    ///
    /// Cost: a header of 128 bytes for each file.
    ///
    /// # Errors
    ///
    /// - [`NoManifest`](ShardError::NoManifest): the folder is unfinished, or is none;
    /// - [`Version`](ShardError::Version): another format or version;
    /// - [`Missing`](ShardError::Missing), [`Length`](ShardError::Length): a file is not there, or was cut;
    /// - [`Invalid`](ShardError::Invalid): the manifest contradicts itself or the header of a file;
    /// - [`Io`](ShardError::Io).
    pub fn open(folder: impl AsRef<Path>) -> Result<Self> {
        Self::read("Manifest::open", folder.as_ref(), None)
    }

    /// As [`open`](Self::open), for a machine that has the files of one part only: those of others are not looked for.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn open_part(folder: impl AsRef<Path>, part: usize) -> Result<Self> {
        Self::read("Manifest::open_part", folder.as_ref(), Some(part))
    }

    fn read(op: &'static str, folder: &Path, only: Option<usize>) -> Result<Self> {
        let path = folder.join(MANIFEST);
        let text = match sparse_disk::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(ShardError::NoManifest { op, path: folder.to_path_buf() });
            }
            Err(error) => return Err(ShardError::io(op, &path)(error)),
        };
        let json = |error| ShardError::invalid(op, &path, format!("must be a manifest in JSON, got: {error}"));
        let head: Head = serde_json::from_slice(&text).map_err(json)?;
        if (head.format.as_str(), head.version) != (FORMAT, VERSION) {
            let expected = format!("{FORMAT} {VERSION}");
            let got = format!("{} {}", head.format, head.version);
            return Err(ShardError::Version { op, path, expected, got });
        }
        let mut own: Self = serde_json::from_slice(&text).map_err(json)?;
        own.folder = folder.to_path_buf();
        own.check(op, folder, only)?;
        Ok(own)
    }

    /// Checks this manifest against the files of a folder, as [`open`](Self::open) does, and writes it there: to
    /// another file, which is brought to the disk and renamed. So the folder has no manifest before it is whole.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn write(&self, folder: impl AsRef<Path>) -> Result<()> {
        const OP: &str = "Manifest::write";
        let folder = folder.as_ref();
        self.check(OP, folder, None)?;
        let path = folder.join(MANIFEST);
        let head = Head { format: FORMAT.into(), version: VERSION };
        let text = serde_json::to_vec_pretty(&Whole { head, manifest: self });
        let text = text.map_err(|error| ShardError::invalid(OP, &path, format!("must be written, got: {error}")))?;
        sparse_disk::replace(
            &path,
            |error| ShardError::io(OP, &path)(error),
            |out| out.write_all(&text).and_then(|()| out.write_all(b"\n")).map_err(ShardError::io(OP, &path)),
        )
    }

    /// The folder that it was opened from.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The part that owns a dense id; `None` if there is no such node. Cost: a binary search over the parts.
    pub fn owner(&self, node: u64) -> Option<usize> {
        (node < self.nodes).then(|| self.parts.partition_point(|part| part.nodes.end <= node))
    }

    /// Where a file of a part is, of the folder that the manifest was opened from. `None` if there is no such part, or
    /// if the graph has no such file.
    pub fn path(&self, part: usize, kind: Kind) -> Option<PathBuf> {
        Some(self.folder.join(&self.file(part, kind)?.name))
    }

    pub(crate) fn file(&self, part: usize, kind: Kind) -> Option<&ShardFile> {
        self.parts.get(part)?.files.iter().find(|file| file.kind == kind)
    }

    /// Whether this manifest is possible and the files are those that it tells of, without their elements.
    fn check(&self, op: &'static str, folder: &Path, only: Option<usize>) -> Result<()> {
        let path = folder.join(MANIFEST);
        let wrong = |message: String| Err(ShardError::invalid(op, &path, message));
        let about = &self.about;
        if self.parts.is_empty() {
            return wrong("there must be at least one part, got none".into());
        }
        let due = Dtype::of_ids(self.nodes);
        if about.col_idx != due || self.nodes > i64::MAX as u64 {
            return wrong(format!("columns of {} nodes must be {due:?}, got {:?}", self.nodes, about.col_idx));
        }
        if let Some(features) = &about.features
            && (features.dtype != Dtype::F32 || features.width == 0 || features.columns.len() as u64 != features.width)
        {
            let (dtype, width, names) = (features.dtype, features.width, features.columns.len());
            return wrong(format!(
                "features must be F32 with a name a column, got {width} of {dtype:?}, {names} names"
            ));
        }
        let (mut start, mut edges) = (0, 0u64);
        for (p, part) in self.parts.iter().enumerate() {
            if part.nodes.start != start || part.nodes.end < start {
                return wrong(format!("part {p} must own nodes from {start} on, got {:?}", part.nodes));
            }
            start = part.nodes.end;
            edges = edges.saturating_add(part.edges);
            let (mut got, mut kinds): (Vec<_>, _) = (part.files.iter().map(|file| file.kind).collect(), about.kinds());
            got.sort_unstable();
            kinds.sort_unstable();
            if got != kinds {
                return wrong(format!("part {p} must have the files {kinds:?}, got {got:?}"));
            }
            // No other name, so none that leads out of the folder.
            if let Some(file) = part.files.iter().find(|file| file.name != file.kind.file(p)) {
                let (kind, due, got) = (file.kind, file.kind.file(p), &file.name);
                return wrong(format!("{kind:?} of part {p} must be {due:?}, got {got:?}"));
            }
            if only.is_none_or(|only| only == p) {
                part.files.iter().try_for_each(|file| self.check_file(op, folder, p, file))?;
            }
        }
        if (start, edges) != (self.nodes, self.edges) {
            let own = (self.nodes, self.edges);
            return wrong(format!("the parts must have {own:?} nodes and edges, got {:?}", (start, edges)));
        }
        Ok(())
    }

    fn check_file(&self, op: &'static str, folder: &Path, p: usize, file: &ShardFile) -> Result<()> {
        let path = folder.join(&file.name);
        let mut source = match sparse_disk::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(ShardError::Missing { op, path }),
            other => other.map_err(ShardError::io(op, &path))?,
        };
        let got = source.metadata().map_err(ShardError::io(op, &path))?.len();
        let expected = file.bytes;
        if got != expected {
            return Err(ShardError::Length { op, path, expected, got });
        }
        let (dtype, shape) = self.array(&self.parts[p], file);
        let size = shape.iter().try_fold(dtype.size(), |size, &dim| size.checked_mul(dim));
        let due = size.and_then(|size| size.checked_add(HEADER));
        if due != Some(expected) {
            let message = format!("{dtype:?} {shape:?} must take {due:?} bytes, got {expected}");
            return Err(ShardError::invalid(op, &path, message));
        }
        let mut head = vec![0; HEADER as usize];
        source.read_exact(&mut head).map_err(ShardError::io(op, &path))?;
        if head != header(dtype, &shape) {
            let message = format!("must begin with the header of {dtype:?} {shape:?}, got another one");
            return Err(ShardError::invalid(op, &path, message));
        }
        Ok(())
    }

    /// What the array of a file is.
    fn array(&self, part: &Part, file: &ShardFile) -> (Dtype, Vec<u64>) {
        let nodes = part.nodes.end - part.nodes.start;
        match file.kind {
            Kind::RowPtr | Kind::IdOffsets => (Dtype::I64, vec![nodes.saturating_add(1)]),
            Kind::ColIdx => (self.about.col_idx, vec![part.edges]),
            Kind::Values => (Dtype::F32, vec![part.edges]),
            Kind::Features => (Dtype::F32, vec![nodes, self.about.features.as_ref().map_or(0, |own| own.width)]),
            Kind::Ids => (Dtype::I64, vec![nodes]),
            // Its length is known by the file alone.
            Kind::IdBytes => (Dtype::U8, vec![file.bytes.saturating_sub(HEADER)]),
        }
    }
}
