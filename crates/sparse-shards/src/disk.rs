//! Checksums, and what makes a rename lasting.

use crate::error::{Result, ShardError};
use crate::layout::MANIFEST;
use std::fs;
use std::hash::Hasher;
use std::io::{self, Read};
use std::path::Path;
use twox_hash::XxHash3_64;

/// Bytes that are read or written at once.
pub(crate) const BLOCK: usize = 1 << 18;

/// The length of what is read, and its XXH3 of 64 bits as 16 digits. `progress` hears of each block.
pub(crate) fn checksum(source: &mut impl Read, progress: &mut dyn FnMut(u64)) -> io::Result<(u64, String)> {
    let (mut hash, mut length, mut block) = (XxHash3_64::new(), 0, vec![0; BLOCK]);
    loop {
        let got = match source.read(&mut block) {
            Ok(0) => return Ok((length, digits(hash.finish()))),
            Ok(got) => got,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        hash.write(&block[..got]);
        length += got as u64;
        progress(got as u64);
    }
}

pub(crate) fn digits(hash: u64) -> String {
    format!("{hash:016x}")
}

/// Brings the names in a folder to the disk: a rename is lasting only then. Does nothing where a folder cannot be
/// opened as a file.
///
/// # Errors
///
/// [`Io`](ShardError::Io).
pub fn sync_folder(folder: &Path) -> Result<()> {
    sparse_disk::sync_folder(folder).map_err(ShardError::io("sync_folder", folder))
}

/// Removes the manifest of a folder, if it has one: what must come first before its files are replaced.
///
/// # Errors
///
/// [`Io`](ShardError::Io).
pub fn remove_manifest(folder: &Path) -> Result<()> {
    let path = folder.join(MANIFEST);
    match fs::remove_file(&path) {
        Ok(()) => sync_folder(folder),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(ShardError::io("remove_manifest", &path)(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_xxh3() {
        // `xxhsum -H3` of nothing and of "abc".
        assert_eq!(checksum(&mut &b""[..], &mut |_| {}).unwrap(), (0, "2d06800538d394c2".into()));
        assert_eq!(checksum(&mut &b"abc"[..], &mut |_| {}).unwrap(), (3, "78af5f94892f3950".into()));
    }
}
