//! Files that are complete or not there.

use crate::disk::{BLOCK as BUFFER, checksum};
use crate::error::{Result, ShardError};
use crate::layout::{Kind, ShardFile};
use crate::npy::{Element, HEADER, header};
use sparse_disk::Replacement;
use std::fs;
use std::io::{Seek, Write};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

const OP: &str = "ShardWriter";

/// Writes one array of a part, whose length need not be known before.
///
/// The bytes go to a file beside it. [`finish`](Self::finish) writes the header, brings all to the disk, renames the
/// file into place and reads it once for its checksum. A writer that is dropped before removes what it wrote.
///
/// The example of the [crate](crate) writes three of them.
pub struct ShardWriter<T> {
    new: Replacement,
    kind: Kind,
    name: String,
    path: PathBuf,
    buffer: Vec<u8>,
    elements: u64,
    width: Option<u64>,
    of: PhantomData<T>,
}

impl<T: Element> ShardWriter<T> {
    /// The file of that kind of a part, in the part's folder, which is made if it is not there. `width`: the number of
    /// columns of an array of two dims; `None` for one dim.
    ///
    /// # Errors
    ///
    /// [`Io`](ShardError::Io) if the folder or the file cannot be made.
    pub fn create(folder: &Path, part: usize, kind: Kind, width: Option<u64>) -> Result<Self> {
        let name = kind.file(part);
        let path = folder.join(&name);
        let inside = path.parent().unwrap_or(folder);
        fs::create_dir_all(inside).map_err(ShardError::io(OP, inside))?;
        let new = Replacement::new(&path).map_err(ShardError::io(OP, &path))?;
        new.file().write_all(&[0; HEADER as usize]).map_err(ShardError::io(OP, &path))?;
        let buffer = Vec::with_capacity(BUFFER);
        Ok(Self { new, kind, name, path, buffer, elements: 0, width, of: PhantomData })
    }

    /// Appends elements. Cost: a copy.
    ///
    /// # Errors
    ///
    /// [`Io`](ShardError::Io), for example if the disk is full.
    pub fn write(&mut self, elements: &[T]) -> Result<()> {
        for some in elements.chunks(BUFFER / size_of::<T>()) {
            if self.buffer.len() + size_of_val(some) > BUFFER {
                self.flush()?;
            }
            T::put(some, &mut self.buffer);
        }
        self.elements += elements.len() as u64;
        Ok(())
    }

    /// Elements so far.
    pub fn elements(&self) -> u64 {
        self.elements
    }

    fn flush(&mut self) -> Result<()> {
        self.new.file().write_all(&self.buffer).map_err(ShardError::io(OP, &self.path))?;
        self.buffer.clear();
        Ok(())
    }

    /// Ends the file and renames it into place. Cost: the file is read once.
    ///
    /// # Errors
    ///
    /// [`Io`](ShardError::Io), for example if the disk is full; [`Invalid`](ShardError::Invalid) if the last row is not
    /// whole.
    pub fn finish(mut self) -> Result<ShardFile> {
        self.flush()?;
        let shape = match self.width {
            None => vec![self.elements],
            Some(width) => {
                if width == 0 || !self.elements.is_multiple_of(width) {
                    let message = format!("rows must have {width} elements, at least 1, got {} in all", self.elements);
                    return Err(ShardError::invalid(OP, &self.path, message));
                }
                vec![self.elements / width, width]
            }
        };
        let whole = || {
            let mut file = self.new.file();
            file.rewind()?;
            file.write_all(&header(T::DTYPE, &shape))?;
            file.rewind()?;
            checksum(&mut file, &mut |_| {})
        };
        let (bytes, checksum) = whole().map_err(ShardError::io(OP, &self.path))?;
        self.new.finish().map_err(ShardError::io(OP, &self.path))?;
        Ok(ShardFile { name: self.name, kind: self.kind, bytes, checksum })
    }
}
