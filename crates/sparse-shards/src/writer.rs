//! Files that are complete or not there.

use crate::disk::{BLOCK as BUFFER, checksum, sync_folder};
use crate::error::{Result, ShardError};
use crate::layout::{Kind, ShardFile};
use crate::npy::{Element, HEADER, header};
use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
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
    file: File,
    kind: Kind,
    name: String,
    partial: PathBuf,
    path: PathBuf,
    buffer: Vec<u8>,
    elements: u64,
    width: Option<u64>,
    done: bool,
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
        let partial = folder.join(format!("{name}.partial"));
        let inside = path.parent().unwrap_or(folder);
        fs::create_dir_all(inside).map_err(ShardError::io(OP, inside))?;
        let file = File::options().read(true).write(true).create(true).truncate(true).open(&partial);
        let mut file = file.map_err(ShardError::io(OP, &partial))?;
        file.write_all(&[0; HEADER as usize]).map_err(ShardError::io(OP, &partial))?;
        let buffer = Vec::with_capacity(BUFFER);
        let (elements, done, of) = (0, false, PhantomData);
        Ok(Self { file, kind, name, partial, path, buffer, elements, width, done, of })
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
        self.file.write_all(&self.buffer).map_err(ShardError::io(OP, &self.partial))?;
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
        let io = |path| ShardError::io(OP, path);
        let head = header(T::DTYPE, &shape);
        self.file.rewind().and_then(|()| self.file.write_all(&head)).map_err(io(&self.partial))?;
        self.file.sync_all().map_err(io(&self.partial))?;
        self.file.seek(SeekFrom::Start(0)).map_err(io(&self.partial))?;
        let (bytes, checksum) = checksum(&mut self.file, &mut |_| {}).map_err(io(&self.partial))?;
        fs::rename(&self.partial, &self.path).map_err(io(&self.path))?;
        self.done = true;
        sync_folder(self.path.parent().unwrap_or(&self.path))?;
        Ok(ShardFile { name: std::mem::take(&mut self.name), kind: self.kind, bytes, checksum })
    }
}

impl<T> Drop for ShardWriter<T> {
    fn drop(&mut self) {
        if !self.done {
            // The error that led here is told already.
            let _ = fs::remove_file(&self.partial);
        }
    }
}
