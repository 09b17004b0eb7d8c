//! The original ids of the nodes of a part.

use crate::error::{Result, ShardError};
use crate::layout::{IdKind, Kind};
use crate::manifest::Manifest;
use crate::npy::{Element, HEADER};

const OP: &str = "Manifest::ids";

/// Original ids, in the order of the dense ids of a part. They ascend strictly, strings by their bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ids {
    /// Integers.
    Int(Vec<i64>),
    /// Strings.
    Text(Vec<String>),
}

impl Manifest {
    /// The original ids of the nodes of a part: the k-th one is that of the dense id `parts[part].nodes.start + k`.
    ///
    /// Cost: the files of the ids are read into memory.
    ///
    /// # Errors
    ///
    /// [`Invalid`](ShardError::Invalid) if there is no such part, or if the bytes are no strings;
    /// [`Io`](ShardError::Io).
    pub fn ids(&self, part: usize) -> Result<Ids> {
        let read = |kind| -> Result<_> {
            let Some(path) = self.path(part, kind) else {
                let message = format!("part {part} must have {kind:?}, got none");
                return Err(ShardError::invalid(OP, self.folder(), message));
            };
            let mut bytes = sparse_disk::read(&path).map_err(ShardError::io(OP, &path))?;
            bytes.drain(..bytes.len().min(HEADER as usize));
            Ok((path, bytes))
        };
        let numbers = |bytes: &[u8]| bytes.chunks_exact(8).map(i64::take).collect::<Vec<_>>();
        if self.about.ids == IdKind::Int {
            return Ok(Ids::Int(numbers(&read(Kind::Ids)?.1)));
        }
        let offsets = numbers(&read(Kind::IdOffsets)?.1);
        let (path, bytes) = read(Kind::IdBytes)?;
        let text = |ends: &[i64]| {
            let range = usize::try_from(ends[0]).ok()?..usize::try_from(ends[1]).ok()?;
            Some(std::str::from_utf8(bytes.get(range)?).ok()?.to_owned())
        };
        let all: Option<Vec<String>> = offsets.windows(2).map(text).collect();
        let all =
            all.ok_or_else(|| ShardError::invalid(OP, &path, "ids must be UTF-8 between their offsets, got none"));
        Ok(Ids::Text(all?))
    }
}
