//! Reading everything once.

use crate::disk::{BLOCK, checksum, digits};
use crate::error::{Result, ShardError};
use crate::layout::Kind;
use crate::manifest::Manifest;
use crate::npy::{Dtype, Element, HEADER};
use std::fs::File;
use std::hash::Hasher;
use std::io::{self, BufReader, Read};
use std::marker::PhantomData;
use std::path::PathBuf;
use twox_hash::XxHash3_64;

const OP: &str = "Manifest::verify";

impl Manifest {
    /// Reads every file once, in order, and checks its checksum; and of the graph that row pointers start at 0, do not
    /// descend and end at the number of edges, that columns are nodes and ascend strictly in a row, and that ids that
    /// are integers ascend strictly in a part. Of ids that are strings, of weights and of features only the checksum is
    /// checked.
    ///
    /// Cost: all bytes are read once.
    ///
    /// # Errors
    ///
    /// [`Checksum`](ShardError::Checksum), [`Length`](ShardError::Length), [`Invalid`](ShardError::Invalid) for what
    /// was written wrongly, [`Io`](ShardError::Io).
    pub fn verify(&self) -> Result<()> {
        self.verify_with(&mut |_| {})
    }

    /// [`verify`](Self::verify), which tells of each block of bytes that it has read. Their sum is
    /// [`bytes`](Self::bytes).
    ///
    /// # Errors
    ///
    /// As [`verify`](Self::verify).
    pub fn verify_with(&self, progress: &mut dyn FnMut(u64)) -> Result<()> {
        (0..self.parts.len()).try_for_each(|part| self.verify_part(part, progress))
    }

    /// Bytes of all files of all parts.
    pub fn bytes(&self) -> u64 {
        self.parts.iter().flat_map(|part| &part.files).fold(0, |sum, file| sum.saturating_add(file.bytes))
    }

    /// One part of [`verify_with`](Self::verify_with): what a machine needs that holds one part only.
    ///
    /// # Errors
    ///
    /// As [`verify`](Self::verify); [`Invalid`](ShardError::Invalid) if there is no such part.
    pub fn verify_part(&self, part: usize, progress: &mut dyn FnMut(u64)) -> Result<()> {
        let Some(own) = self.parts.get(part) else {
            let message = format!("the part must be below {}, got {part}", self.parts.len());
            return Err(ShardError::invalid(OP, self.folder(), message));
        };
        let nodes = own.nodes.end - own.nodes.start;
        match self.about.col_idx {
            Dtype::I64 => self.verify_graph::<i64>(part, nodes, own.edges, progress)?,
            _ => self.verify_graph::<i32>(part, nodes, own.edges, progress)?,
        }
        for file in &own.files {
            match file.kind {
                Kind::RowPtr | Kind::ColIdx => {}
                Kind::Ids => {
                    let mut ids = Elements::<i64>::open(self, part, file.kind)?;
                    let mut last = None;
                    let checked = (0..nodes).try_for_each(|_| {
                        let id = ids.next(progress)?;
                        if last.is_some_and(|last| last >= id) {
                            return Err(ids.wrong(format!("ids must ascend strictly, got {id} after {last:?}")));
                        }
                        last = Some(id);
                        Ok(())
                    });
                    ids.finish(progress)?;
                    checked?;
                }
                Kind::Values | Kind::Features | Kind::IdOffsets | Kind::IdBytes => {
                    let path = self.folder().join(&file.name);
                    let mut source = sparse_disk::open(&path).map_err(ShardError::io(OP, &path))?;
                    let (got, sum) = checksum(&mut source, progress).map_err(ShardError::io(OP, &path))?;
                    compare(path, (file.bytes, &file.checksum), (got, sum))?;
                }
            }
        }
        Ok(())
    }

    fn verify_graph<T: Element + Into<i64>>(
        &self,
        part: usize,
        nodes: u64,
        edges: u64,
        progress: &mut dyn FnMut(u64),
    ) -> Result<()> {
        let mut ptr = Elements::<i64>::open(self, part, Kind::RowPtr)?;
        let mut idx = Elements::<T>::open(self, part, Kind::ColIdx)?;
        let checked = structure(&mut ptr, &mut idx, [nodes, edges, self.nodes], progress);
        // A checksum says more than what a changed byte led to.
        ptr.finish(progress)?;
        idx.finish(progress)?;
        checked
    }
}

/// Whether rows are in order. `sizes`: rows and edges of the part, nodes of the graph.
fn structure<T: Element + Into<i64>>(
    ptr: &mut Elements<i64>,
    idx: &mut Elements<T>,
    [rows, edges, nodes]: [u64; 3],
    progress: &mut dyn FnMut(u64),
) -> Result<()> {
    let mut start = ptr.next(progress)?;
    if start != 0 {
        return Err(ptr.wrong(format!("row pointers must start at 0, got {start}")));
    }
    for row in 0..rows {
        let end = ptr.next(progress)?;
        if end < start || end as u64 > edges {
            let message = format!("row pointers must ascend up to {edges}, got {end} after {start} at row {row}");
            return Err(ptr.wrong(message));
        }
        let mut last = -1;
        for _ in start..end {
            let column: i64 = idx.next(progress)?.into();
            if column <= last || column as u64 >= nodes {
                let rule = format!("columns must ascend strictly in a row and be below {nodes}");
                return Err(idx.wrong(format!("{rule}, got {column} after {last} in row {row}")));
            }
            last = column;
        }
        start = end;
    }
    if start as u64 != edges {
        return Err(ptr.wrong(format!("row pointers must end at {edges}, got {start}")));
    }
    Ok(())
}

fn compare(path: PathBuf, due: (u64, &str), got: (u64, String)) -> Result<()> {
    let op = OP;
    if due.0 != got.0 {
        return Err(ShardError::Length { op, path, expected: due.0, got: got.0 });
    }
    if due.1 != got.1 {
        return Err(ShardError::Checksum { op, path, expected: due.1.into(), got: got.1 });
    }
    Ok(())
}

/// The elements of a file, one after the other, and the checksum of all bytes that were read.
pub(crate) struct Elements<T> {
    source: BufReader<Hashed>,
    path: PathBuf,
    due: (u64, String),
    of: PhantomData<T>,
}

struct Hashed {
    file: File,
    hash: XxHash3_64,
    bytes: u64,
    /// What was not told to `progress` yet.
    untold: u64,
}

impl Read for Hashed {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let got = self.file.read(out)?;
        self.hash.write(&out[..got]);
        self.bytes += got as u64;
        self.untold += got as u64;
        Ok(got)
    }
}

impl<T: Element> Elements<T> {
    pub(crate) fn open(manifest: &Manifest, part: usize, kind: Kind) -> Result<Self> {
        let Some(file) = manifest.file(part, kind) else {
            let message = format!("part {part} must have {kind:?}, got none");
            return Err(ShardError::invalid(OP, manifest.folder(), message));
        };
        let path = manifest.folder().join(&file.name);
        let source = sparse_disk::open(&path).map_err(ShardError::io(OP, &path))?;
        let hashed = Hashed { file: source, hash: XxHash3_64::new(), bytes: 0, untold: 0 };
        let mut source = BufReader::with_capacity(BLOCK, hashed);
        source.read_exact(&mut [0; HEADER as usize]).map_err(ShardError::io(OP, &path))?;
        Ok(Self { source, path, due: (file.bytes, file.checksum.clone()), of: PhantomData })
    }

    pub(crate) fn next(&mut self, progress: &mut dyn FnMut(u64)) -> Result<T> {
        let mut bytes = [0; 8];
        let bytes = &mut bytes[..T::DTYPE.size() as usize];
        self.source.read_exact(bytes).map_err(ShardError::io(OP, &self.path))?;
        self.tell(progress);
        Ok(T::take(bytes))
    }

    pub(crate) fn wrong(&self, message: String) -> ShardError {
        ShardError::invalid(OP, &self.path, message)
    }

    fn tell(&mut self, progress: &mut dyn FnMut(u64)) {
        let untold = &mut self.source.get_mut().untold;
        if *untold > 0 {
            progress(std::mem::take(untold));
        }
    }

    /// Reads the rest and compares the checksum.
    pub(crate) fn finish(mut self, progress: &mut dyn FnMut(u64)) -> Result<()> {
        io::copy(&mut self.source, &mut io::sink()).map_err(ShardError::io(OP, &self.path))?;
        self.tell(progress);
        let own = self.source.get_ref();
        let got = (own.bytes, digits(own.hash.finish()));
        compare(self.path, (self.due.0, &self.due.1), got)
    }
}
