//! Regular files.

use std::fs::{self, File, FileType, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

/// Opens a regular file for reading. A link is followed.
///
/// A device can be endless, and to open a pipe would wait for its writer: both are errors, at once. A program that
/// wants them opens them itself and gives what it opened to a reader of streams.
///
/// # Errors
///
/// `InvalidInput` for what is no regular file; those of [`File::open`].
pub fn open(path: impl AsRef<Path>) -> io::Result<File> {
    let path = path.as_ref();
    // To open a device can have an effect, so look before.
    regular(fs::metadata(path)?.file_type())?;
    let mut options = OpenOptions::new();
    options.read(true);
    // Should it become a pipe meanwhile: this opens one without a wait.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK | libc::O_NOCTTY);
    let file = options.open(path)?;
    regular(file.metadata()?.file_type())?;
    Ok(file)
}

/// A file that grows, or of which the system makes no end, has so many bytes at most: 1 GiB.
const GROWN: u64 = 1 << 30;

/// The bytes of a regular file: as many as it had when it was opened, or 1 GiB.
///
/// # Errors
///
/// Those of [`open`], and of the read; `InvalidData` for more bytes.
pub fn read(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    let (file, mut bytes) = (open(path)?, vec![]);
    let most = file.metadata()?.len().max(GROWN);
    if file.take(most + 1).read_to_end(&mut bytes)? as u64 > most {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("more than {most} bytes")));
    }
    Ok(bytes)
}

/// Checks that no link leads from `path` out of `folder`: for names that a reader makes itself. A path that is not
/// there is fine.
///
/// # Errors
///
/// `InvalidInput`, with the place that the link leads to; those of the way there.
pub fn check_inside(folder: &Path, path: &Path) -> io::Result<()> {
    let place = match fs::canonicalize(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        place => place?,
    };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    if place.starts_with(fs::canonicalize(folder)?) {
        return Ok(());
    }
    let place = place.display();
    Err(io::Error::new(io::ErrorKind::InvalidInput, format!("a link out of the folder, to {place}")))
}

fn regular(found: FileType) -> io::Result<()> {
    if found.is_file() {
        return Ok(());
    }
    let got = if found.is_dir() { "a folder" } else { special(found) };
    Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{got}, where a regular file must be")))
}

#[cfg(unix)]
fn special(found: FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    match found {
        _ if found.is_fifo() => "a pipe",
        _ if found.is_socket() => "a socket",
        _ => "a device",
    }
}

#[cfg(not(unix))]
fn special(_: FileType) -> &'static str {
    "something else"
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use std::process::Command;

    /// What is opened, or the text of the error.
    fn found(path: &Path) -> String {
        open(path).map_or_else(|error| error.to_string(), |file| io::read_to_string(file).unwrap())
    }

    #[test]
    fn what_is_no_regular_file_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), "text").unwrap();
        symlink("file", at("link")).unwrap();
        symlink("/dev/zero", at("endless")).unwrap();
        // No writer ever opens it.
        assert!(Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        assert_eq!([found(&at("file")), found(&at("link"))], ["text", "text"]);
        for (name, got) in [("endless", "a device"), ("pipe", "a pipe"), ("socket", "a socket"), (".", "a folder")] {
            assert_eq!(found(&at(name)), format!("{got}, where a regular file must be"));
        }
        assert_eq!(open(at("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(read(at("link")).unwrap(), b"text");
    }

    #[test]
    fn links_out_of_the_folder_are_found() {
        let [folder, other] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), "text").unwrap();
        fs::write(other.path().join("far"), "secret").unwrap();
        symlink("file", at("near")).unwrap();
        symlink(other.path().join("far"), at("far")).unwrap();
        symlink(other.path(), at("folder")).unwrap();
        for name in ["file", "near", "none"] {
            check_inside(folder.path(), &at(name)).unwrap();
        }
        for name in ["far", "folder/far"] {
            let told = check_inside(folder.path(), &at(name)).unwrap_err().to_string();
            let place = fs::canonicalize(other.path()).unwrap().join("far");
            assert_eq!(told, format!("a link out of the folder, to {}", place.display()));
        }
        // The folder itself may be a link.
        symlink(folder.path(), other.path().join("way")).unwrap();
        check_inside(&other.path().join("way"), &other.path().join("way/file")).unwrap();
    }
}
