//! Files that are written whole or not at all.

#[cfg(unix)]
use std::fs::Permissions;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// How many unfinished files of one name are looked for.
const NAMES: usize = 16;

/// How many there may be.
const MOST: usize = 1000;

/// How many links may lead to a file: as many as Linux follows.
const LINKS: usize = 40;

/// Writes a file: `trouble` makes an error of the caller's kind.
///
/// The bytes go to a [`Replacement`]. So a write that fails leaves what was there. And what is read from the old file
/// meanwhile stays whole, such as a tensor that is a part of it while it is mapped. What is there and is no regular
/// file, such as a pipe, is written in place.
///
/// # Errors
///
/// Those of `write`, and of the disk.
pub fn replace<E>(
    path: impl AsRef<Path>,
    trouble: impl Fn(io::Error) -> E,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<(), E>,
) -> Result<(), E> {
    let path = path.as_ref();
    // A file that has lost its name, in `/dev/fd`, has no place either.
    let unnamed = || end_of_links(path).is_ok_and(|place| !place.exists());
    if fs::metadata(path).is_ok_and(|old| !old.is_file() || unnamed()) {
        let file = OpenOptions::new().write(true).open(path).map_err(&trouble)?;
        if file.metadata().map_err(&trouble)?.is_file() {
            file.set_len(0).map_err(&trouble)?;
        }
        let mut out = BufWriter::new(file);
        write(&mut out)?;
        return out.flush().map_err(trouble);
    }
    let new = Replacement::new(path).map_err(&trouble)?;
    let mut out = BufWriter::new(new.file().try_clone().map_err(&trouble)?);
    write(&mut out)?;
    out.flush().map_err(&trouble)?;
    new.finish().map_err(trouble)
}

/// A file that will take the place of another one.
///
/// It is beside that one, as `NAME.0.partial`, or with the next number while another writer is at work. Nobody but the
/// owner can read it if there is an old file; [`finish`](Self::finish) gives it the owner and permissions of that.
/// Where it may not have the old group, no group may use it. A new file has what every new file has. A link is followed
/// and stays, also one whose file is not there yet.
///
/// Dropped before the end it is removed. A process that is killed leaves it, and the next `Replacement` of the same
/// file removes it: the writer of a file holds its lock, which ends with the process. Where the file system has no
/// locks it stays.
#[derive(Debug)]
pub struct Replacement {
    file: File,
    partial: PathBuf,
    place: PathBuf,
    old: Option<Metadata>,
    finished: bool,
}

impl Replacement {
    /// Begins to replace `path`.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if `path` is there and is no regular file; those of the disk, also if the old file may not be
    /// written.
    pub fn new(path: impl AsRef<Path>) -> io::Result<Self> {
        let place = end_of_links(path.as_ref())?;
        let old = match fs::metadata(&place) {
            Ok(old) if !old.is_file() => {
                return Err(io::Error::new(ErrorKind::InvalidInput, "a regular file must be replaced"));
            }
            Ok(old) => {
                // A file that may not be written is not replaced either.
                OpenOptions::new().append(true).open(&place)?;
                Some(old)
            }
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        (0..NAMES).for_each(|k| remove_left(&partial_path(&place, k)));
        let (partial, file) = begin(&place, old.is_some())?;
        Ok(Self { file, partial, place, old, finished: false })
    }

    /// What is written, open for reading too.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Where it is until it is finished.
    pub fn partial(&self) -> &Path {
        &self.partial
    }

    /// Brings it to the disk, and puts it in place.
    ///
    /// # Errors
    ///
    /// Those of the disk. Then the old file is as it was, or the new one whole in its place.
    pub fn finish(mut self) -> io::Result<()> {
        if let Some(old) = self.old.take() {
            dress(&self.file, &old)?;
        }
        self.file.sync_all()?;
        fs::rename(&self.partial, &self.place)?;
        self.finished = true;
        sync_folder(self.place.parent().unwrap_or(&self.place))
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        if !self.finished {
            // The error that led here is told already.
            let _ = fs::remove_file(&self.partial);
        }
    }
}

/// Brings the names in a folder to the disk: a rename is lasting only then. Does nothing where a folder cannot be
/// opened as a file, or may not be read.
///
/// # Errors
///
/// Those of the disk.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        return match File::open(folder) {
            Err(error) if error.kind() == ErrorKind::PermissionDenied => Ok(()),
            folder => match folder?.sync_all() {
                // Some file systems of networks cannot bring a folder to the disk.
                Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => Ok(()),
                synced => synced,
            },
        };
    }
    Ok(())
}

/// Where a file is or will be.
fn end_of_links(path: &Path) -> io::Result<PathBuf> {
    let mut place = path.to_path_buf();
    for _ in 0..LINKS {
        match fs::read_link(&place) {
            Ok(to) => place = place.with_file_name("").join(to),
            Err(_) => return Ok(place),
        }
    }
    Err(io::Error::other(format!("there must be at most {LINKS} links, got more at {}", path.display())))
}

fn partial_path(place: &Path, k: usize) -> PathBuf {
    let mut name = place.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{k}.partial"));
    place.with_file_name(name)
}

/// Removes an unfinished file that nobody holds.
fn remove_left(partial: &Path) {
    let is_file = fs::symlink_metadata(partial).is_ok_and(|found| found.is_file());
    if let (true, Ok(file)) = (is_file, OpenOptions::new().append(true).open(partial))
        && file.try_lock().is_ok()
        && is_at(&file, partial)
    {
        let _ = fs::remove_file(partial);
    }
}

/// A new file beside another one, and its lock.
fn begin(place: &Path, secret: bool) -> io::Result<(PathBuf, File)> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    if secret {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    #[cfg(not(unix))]
    let _ = secret;
    for k in 0.. {
        let partial = partial_path(place, k);
        match options.open(&partial) {
            // Without locks, files that are left stay.
            Ok(file) if !matches!(file.try_lock(), Err(fs::TryLockError::WouldBlock)) && is_at(&file, &partial) => {
                return Ok((partial, file));
            }
            // Another writer took it for one that was left, before it was locked.
            Ok(_) if k < MOST => {}
            Err(error) if error.kind() == ErrorKind::AlreadyExists && k < MOST => {}
            Ok(_) => break,
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other(format!("there must be at most {MOST} unfinished files beside {}", place.display())))
}

/// Gives a new file the owner and the permissions of the old one.
#[cfg(unix)]
fn dress(file: &File, old: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
    let (own, mut mode) = (file.metadata()?, old.mode() & 0o7777);
    if own.gid() != old.gid() && fchown(file, None, Some(old.gid())).is_err() {
        mode &= !0o2070;
    }
    if own.uid() != old.uid() && fchown(file, Some(old.uid()), None).is_err() {
        mode &= !0o4000;
    }
    file.set_permissions(Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn dress(file: &File, old: &Metadata) -> io::Result<()> {
    file.set_permissions(old.permissions())
}

/// Whether the file still has this name.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let (Ok(own), Ok(found)) = (file.metadata(), fs::symlink_metadata(path)) else { return false };
    (own.dev(), own.ino()) == (found.dev(), found.ino())
}

#[cfg(not(unix))]
fn is_at(_: &File, path: &Path) -> bool {
    path.exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort_unstable();
        names
    }

    fn whole(path: &Path, text: &str) -> io::Result<()> {
        replace(path, |error| error, |out| out.write_all(text.as_bytes()))
    }

    #[test]
    fn a_write_that_fails_leaves_what_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npy");
        whole(&path, "one").unwrap();
        let broken = replace(
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
        whole(&path, "two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(files(folder.path()), ["a.npy"]);
        assert!(whole(&folder.path().join("no/a.npy"), "one").is_err());
    }

    #[test]
    fn what_a_killed_writer_left_goes_and_what_a_live_one_writes_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let live = Replacement::new(&path).unwrap();
        for k in [1, 3] {
            fs::write(partial_path(&path, k), b"of a process that was killed").unwrap();
        }
        fs::write(folder.path().join("b.0.partial"), b"of another file").unwrap();
        whole(&path, "ours").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"ours");
        assert_eq!(files(folder.path()), ["a", "a.0.partial", "b.0.partial"]);
        live.file().write_all(b"theirs").unwrap();
        live.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"theirs");
        assert_eq!(files(folder.path()), ["a", "b.0.partial"]);
    }

    #[test]
    fn writers_side_by_side_leave_one_whole_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let texts: Vec<String> = (0..8).map(|k| k.to_string().repeat(10_000)).collect();
        std::thread::scope(|scope| {
            for text in &texts {
                scope.spawn(|| (0..20).for_each(|_| whole(&path, text).unwrap()));
            }
        });
        assert!(texts.contains(&fs::read_to_string(&path).unwrap()));
        assert_eq!(files(folder.path()), ["a"]);
    }

    /// Only root can make a file of another owner.
    #[cfg(unix)]
    #[test]
    fn the_owner_stays_and_a_folder_need_not_be_readable() {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        whole(&path, "one").unwrap();
        let others = chown(&path, Some(1234), Some(4321)).is_ok();
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o300)).unwrap();
        whole(&path, "two").unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o700)).unwrap();
        let found = fs::metadata(&path).unwrap();
        assert_eq!(found.mode() & 0o777, 0o640);
        assert!(!others || (found.uid(), found.gid()) == (1234, 4321));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_without_a_name_is_written_from_its_start() {
        use std::os::fd::AsRawFd;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "a longer text").unwrap();
        let mut file = File::open(&path).unwrap();
        fs::remove_file(&path).unwrap();
        whole(Path::new(&format!("/dev/fd/{}", file.as_raw_fd())), "one").unwrap();
        let mut text = String::new();
        std::io::Read::read_to_string(&mut file, &mut text).unwrap();
        assert_eq!(text, "one");
    }

    #[cfg(unix)]
    #[test]
    fn links_and_permissions_stay() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;

        let folder = tempfile::tempdir().unwrap();
        let [path, link, way] = ["a", "link", "way"].map(|name| folder.path().join(name));
        symlink("a", &link).unwrap();
        symlink("link", &way).unwrap();
        // A link to nothing: what it names is made.
        whole(&way, "one").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"one");
        fs::write(folder.path().join("usual"), "").unwrap();
        assert_eq!(mode(&path), mode(&folder.path().join("usual")));
        for own in [0o640, 0o600] {
            fs::set_permissions(&path, Permissions::from_mode(own)).unwrap();
            let new = Replacement::new(&way).unwrap();
            assert_eq!(mode(new.partial()), 0o600, "from the first byte");
            new.file().write_all(b"two").unwrap();
            new.finish().unwrap();
            assert_eq!((mode(&path), fs::read(&path).unwrap()), (own, b"two".to_vec()));
        }
        assert!([link, way].iter().all(|link| fs::symlink_metadata(link).unwrap().is_symlink()));
        symlink("round", folder.path().join("round")).unwrap();
        assert!(whole(&folder.path().join("round"), "one").is_err());
        whole(Path::new("/dev/null"), "one").unwrap();
    }
}
