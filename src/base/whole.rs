//! Files that are written whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Writes a file: `trouble` makes an error of the caller's kind.
///
/// The bytes go to another file in the same folder, which takes the place of the old one when it is complete and on the
/// disk. So a write that fails leaves what was there. And what is read from the old file meanwhile stays whole, such as
/// a tensor that is a part of it while it is mapped. What is no plain file, such as a pipe, is written in place.
pub(crate) fn write_whole<E>(
    path: &Path,
    trouble: impl Fn(std::io::Error) -> E,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<(), E>,
) -> Result<(), E> {
    // What a link names is written, and the link stays.
    let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let old = fs::metadata(&place).ok();
    if old.as_ref().is_some_and(|old| !old.is_file()) {
        let mut out = BufWriter::new(OpenOptions::new().write(true).open(&place).map_err(&trouble)?);
        write(&mut out)?;
        return out.flush().map_err(trouble);
    }
    // A file that may not be written is not replaced either.
    if old.is_some() {
        OpenOptions::new().append(true).open(&place).map_err(&trouble)?;
    }
    let (partial, file) = beside(&place).map_err(&trouble)?;
    let mut out = BufWriter::new(file);
    write(&mut out)?;
    let file = out.into_inner().map_err(|broken| trouble(broken.into_error()))?;
    if let Some(old) = old {
        file.set_permissions(old.permissions()).map_err(&trouble)?;
    }
    file.sync_all().map_err(&trouble)?;
    drop(file);
    fs::rename(&partial.0, &place).map_err(trouble)
}

/// A new file in the same folder.
fn beside(place: &Path) -> io::Result<(Partial, File)> {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    loop {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let mut name = place.file_name().unwrap_or_default().to_os_string();
        name.push(format!(".{}-{count}.partial", std::process::id()));
        let path = place.with_file_name(name);
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => return Ok((Partial(path), file)),
            // A process that was killed left it, or one of another container, whose process id is the same, writes it.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

/// Removed unless it took its place.
struct Partial(PathBuf);

impl Drop for Partial {
    fn drop(&mut self) {
        // After the rename there is none.
        let _ = fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_write_that_fails_leaves_what_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npy");
        let whole = |text: &'static [u8]| write_whole(&path, |error| error, |out| out.write_all(text));
        whole(b"one").unwrap();
        let broken = write_whole(
            &path,
            |error| error,
            |out| {
                out.write_all(b"tw")?;
                out.flush()?;
                Err(io::Error::other("the disk is full"))
            },
        );
        assert_eq!(broken.unwrap_err().to_string(), "the disk is full");
        assert_eq!(fs::read(&path).unwrap(), b"one");
        whole(b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(files(folder.path()), ["a.npy"]);
        assert!(write_whole(&folder.path().join("no/a.npy"), |error| error, |_| Ok(())).is_err());
    }

    #[test]
    fn files_of_other_writes_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        // The next names: a test that runs beside this one takes a few.
        let first = beside(&path).unwrap().0.0.clone();
        let name = first.file_name().unwrap().to_str().unwrap();
        let next: usize = name.split(['-', '.']).nth(2).unwrap().parse().unwrap();
        let others: Vec<_> =
            (next..next + 1000).map(|k| path.with_file_name(format!("a.{}-{k}.partial", std::process::id()))).collect();
        others.iter().for_each(|other| fs::write(other, b"theirs").unwrap());
        write_whole(&path, |error| error, |out| out.write_all(b"ours")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"ours");
        assert!(others.iter().all(|other| fs::read(other).unwrap() == b"theirs"));
        let no = write_whole(&path, |error| error, |_| Err(io::Error::other("no")));
        assert!(no.is_err() && others.iter().all(|other| other.exists()));
    }

    #[cfg(unix)]
    #[test]
    fn links_and_permissions_stay() {
        use std::os::unix::fs::{PermissionsExt, symlink};

        let folder = tempfile::tempdir().unwrap();
        let [path, link] = ["a", "link"].map(|name| folder.path().join(name));
        fs::write(&path, b"one").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&path, &link).unwrap();
        write_whole(&link, |error| error, |out| out.write_all(b"two")).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        write_whole(Path::new("/dev/null"), |error| error, |out| out.write_all(b"x")).unwrap();
    }
}
