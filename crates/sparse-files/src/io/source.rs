//! What readers of files are made of: text by lines, plain or compressed by gzip, several files with one progress, and
//! no more bytes than [`Limits`](sparse_ops::Limits) allow.
//!
//! Errors are messages without the name of the file, for a reader's own error to name it:
//!
//! ```
//! use sparse_tensor::io::source::{Lines, shown, silent, text};
//!
//! let path = std::env::temp_dir().join(format!("numbers-{}.txt", std::process::id()));
//! std::fs::write(&path, "3\n\n x\n").unwrap();
//! let read = || {
//!     let mut progress = silent();
//!     let (file, _) = text(&path, &mut progress).map_err(|trouble| trouble.to_string())?;
//!     let (mut lines, mut numbers) = (Lines::new(file), vec![]);
//!     while let Some((number, line)) = lines.next()? {
//!         let value = std::str::from_utf8(line).ok().and_then(|line| line.parse::<u32>().ok());
//!         numbers.push(value.ok_or_else(|| format!("line {number}: a number is due, got {:?}", shown(line)))?);
//!     }
//!     Ok::<_, String>(numbers)
//! };
//! assert_eq!(read().unwrap_err(), "line 3: a number is due, got \"x\"");
//! # std::fs::remove_file(path).unwrap();
//! ```

use sparse_ops::extend::Allowed;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// Where an array lies in a file, and what it is.
#[cfg(feature = "mmap")]
pub(crate) struct Place {
    pub(crate) shape: Vec<usize>,
    pub(crate) dtype: burn::tensor::DType,
    /// In bytes.
    pub(crate) range: std::ops::Range<usize>,
}

/// What hears how far a read has come: the bytes that were read, and the bytes of the file or of all files of a folder
/// (of compressed ones).
///
/// A reader calls it every few hundred kilobytes, on the thread of the caller, and at the end with two equal numbers.
/// With `indicatif`: `&mut |done, total| { bar.set_length(total); bar.set_position(done) }`.
///
/// ```
/// use sparse_tensor::io::matrix_market;
///
/// let path = std::env::temp_dir().join(format!("progress-{}.mtx", std::process::id()));
/// std::fs::write(&path, "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n").unwrap();
/// let mut last = (0, 0);
/// let file = matrix_market::read_with(&path, &mut |done, total| last = (done, total)).unwrap();
/// assert_eq!((file.coordinates, last), (vec![(0, 1)], (59, 59)));
/// # std::fs::remove_file(path).unwrap();
/// ```
pub type Progress<'a> = dyn FnMut(u64, u64) + 'a;

/// How many bytes are read between two calls.
pub(crate) const STEP: u64 = 1 << 18;

/// A reader that hears no progress.
pub fn silent() -> impl FnMut(u64, u64) {
    |_, _| ()
}

/// A file that reports its progress.
pub(crate) struct Counted<'a, 'p> {
    file: File,
    read: u64,
    total: u64,
    next: u64,
    progress: &'a mut Progress<'p>,
}

impl<'a, 'p> Counted<'a, 'p> {
    pub(crate) fn open(path: &Path, progress: &'a mut Progress<'p>) -> io::Result<Self> {
        let file = sparse_disk::open(path)?;
        let total = file.metadata()?.len();
        Ok(Self { file, read: 0, total, next: STEP, progress })
    }

    /// The length of the file.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }
}

impl Read for Counted<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.file.read(buffer)?;
        self.read += got as u64;
        if self.read >= self.next || got == 0 && !buffer.is_empty() {
            self.next = self.read + STEP;
            (self.progress)(self.read, self.total.max(self.read));
        }
        Ok(got)
    }
}

/// Several files, with one progress over all of them.
pub struct Files<'a, 'p> {
    done: u64,
    total: u64,
    progress: &'a mut Progress<'p>,
}

impl<'a, 'p> Files<'a, 'p> {
    /// The files of these names in a folder, out of which no link leads. One that is missing has no bytes.
    ///
    /// # Errors
    ///
    /// If a link leads out of the folder, unless [`Limits::follow_links`](sparse_ops::Limits::follow_links) allows it.
    pub fn new<P: AsRef<Path>>(
        folder: &Path,
        paths: impl IntoIterator<Item = P>,
        progress: &'a mut Progress<'p>,
    ) -> Result<Self, String> {
        let (follow, mut total) = (Allowed::now().follows_links(), 0);
        for path in paths {
            let path = path.as_ref();
            if let (false, Err(got)) = (follow, sparse_disk::check_inside(folder, path)) {
                let rule = match got.kind() {
                    io::ErrorKind::InvalidInput => "must be in the folder (Limits::follow_links follows)",
                    _ => "cannot be read",
                };
                return Err(format!("{}: {rule}, got {got}", path.display()));
            }
            total += std::fs::metadata(path).map_or(0, |data| data.len());
        }
        Ok(Self { done: 0, total, progress })
    }

    /// What `read` makes of the next file. It reports the progress in that file alone.
    pub fn next<T>(&mut self, read: impl FnOnce(&mut Progress<'_>) -> T) -> T {
        let (before, total, progress) = (self.done, self.total, &mut *self.progress);
        let done = &mut self.done;
        read(&mut |here, _| {
            *done = before + here;
            progress(*done, total.max(*done));
        })
    }

    /// The last word on the progress.
    pub fn finish(self) {
        let total = self.total.max(self.done);
        (self.progress)(total, total);
    }
}

/// How many bytes are read between two looks at the clock.
const LOOK: u64 = 1 << 16;

/// A source of which no more is read than the limits of its reader allow.
pub(crate) struct Limited<R> {
    source: R,
    allowed: Allowed,
    limit: u64,
    left: u64,
    /// Bytes until the next look at the clock.
    look: u64,
}

impl<R> Limited<R> {
    /// What has this length; 0 for a stream, which may never end.
    pub(crate) fn new(source: R, length: u64) -> Self {
        let allowed = Allowed::now();
        Self::within(source, allowed, allowed.bytes(length))
    }

    fn within(source: R, allowed: Allowed, limit: u64) -> Self {
        Self { source, allowed, limit, left: limit, look: 0 }
    }

    fn check_time(&mut self) -> io::Result<()> {
        if self.look == 0 {
            self.look = LOOK;
            self.allowed.check_time().map_err(io::Error::other)?;
        }
        Ok(())
    }

    fn took(&mut self, bytes: usize) {
        self.left -= bytes as u64;
        self.look = self.look.saturating_sub(bytes as u64);
    }
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.check_time()?;
        if self.left == 0 && !buffer.is_empty() {
            // Whether there is more.
            return match self.source.read(&mut [0])? {
                0 => Ok(0),
                _ => Err(io::Error::other(Allowed::too_long(self.limit))),
            };
        }
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        let got = self.source.read(&mut buffer[..most])?;
        self.took(got);
        Ok(got)
    }
}

impl<R: BufRead> BufRead for Limited<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.check_time()?;
        let buffer = self.source.fill_buf()?;
        if self.left == 0 && !buffer.is_empty() {
            return Err(io::Error::other(Allowed::too_long(self.limit)));
        }
        Ok(&buffer[..usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len())])
    }

    fn consume(&mut self, bytes: usize) {
        self.took(bytes);
        self.source.consume(bytes);
    }
}

/// How many bytes [`take`] asks for at a time.
const PIECE: u64 = 1 << 20;

/// The next `length` bytes, or those that are left. Progress is heard on the way, and memory grows with what is there.
pub(crate) fn take(source: &mut impl Read, length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    loop {
        let piece = PIECE.min(length - bytes.len() as u64);
        let got = source.by_ref().take(piece).read_to_end(&mut bytes)?;
        if piece < PIECE || (got as u64) < piece {
            return Ok(bytes);
        }
    }
}

/// All bytes of a file.
///
/// # Errors
///
/// If it cannot be read, is no regular file, or is longer than the limits allow.
pub fn whole(path: &Path, progress: &mut Progress<'_>) -> io::Result<Vec<u8>> {
    let file = Counted::open(path, progress)?;
    let length = file.total();
    take(&mut Limited::new(file, length), u64::MAX)
}

/// The text of a file, and the number of its bytes if that is known before they are read (0 if not). A file that starts
/// with gzip's magic number is decompressed while it is read.
///
/// # Errors
///
/// As [`whole`]; or if it is compressed and the feature `gz` is off.
pub fn text<'a>(path: &Path, progress: &'a mut Progress<'_>) -> io::Result<(Box<dyn BufRead + 'a>, u64)> {
    let file = Counted::open(path, progress)?;
    let bytes = file.total();
    let mut file = BufReader::with_capacity(1 << 16, file);
    if !file.fill_buf()?.starts_with(&[0x1f, 0x8b]) {
        return Ok((Box::new(Limited::new(file, bytes)), bytes));
    }
    #[cfg(feature = "gz")]
    {
        let allowed = Allowed::now();
        // Members without content may go on for ever. A short text is shorter than what it is compressed to.
        let compressed = Limited::within(file, allowed, allowed.bytes(bytes).saturating_mul(2).saturating_add(1 << 16));
        let source = BufReader::with_capacity(1 << 16, flate2::bufread::MultiGzDecoder::new(compressed));
        Ok((Box::new(Limited::within(source, allowed, allowed.inflated(bytes))), 0))
    }
    #[cfg(not(feature = "gz"))]
    Err(io::Error::other("gzip, which needs the feature `gz` of sparse-tensor"))
}

/// The first characters of what was found: a message stays readable whatever the file holds.
pub fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(240)]);
    text.chars().take(60).collect()
}

/// Longer lines are refused: a few compressed bytes can become a line of any length.
const LONGEST: u64 = 1 << 24;

/// Reads line `number`, or finds that there is none. It may be in any encoding of which ASCII is a part.
/// It has no control characters but tabs and `separator`.
pub(crate) fn read_line(
    source: &mut impl BufRead,
    number: usize,
    separator: Option<u8>,
    line: &mut Vec<u8>,
) -> Result<bool, String> {
    line.clear();
    let got = source.by_ref().take(LONGEST).read_until(b'\n', line);
    let got = got.map_err(|trouble| format!("line {number}: cannot be read, got {trouble}"))?;
    if got as u64 == LONGEST {
        return Err(format!("line {number}: a line must have less than {LONGEST} bytes, got more"));
    }
    let text = line.strip_suffix(b"\n").unwrap_or(line);
    let text = text.strip_suffix(b"\r").unwrap_or(text);
    match text.iter().find(|&&byte| byte.is_ascii_control() && byte != b'\t' && Some(byte) != separator) {
        None => Ok(got > 0),
        // Lines would be joined, and the last one would win.
        Some(b'\r') => Err(format!("line {number}: a line must end with \\n or \\r\\n, got \\r alone")),
        Some(byte) => Err(format!("line {number}: must be text, got the control character 0x{byte:02x}")),
    }
}

/// The lines of a text, counted from 1.
pub struct Lines<R> {
    source: R,
    /// A control character that may be in a line.
    separator: Option<u8>,
    number: usize,
    buffer: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    /// The lines of a source.
    pub fn new(source: R) -> Self {
        Self::separated(source, None)
    }

    /// Lines whose fields are separated by a byte, which may be a control character.
    pub fn separated(source: R, separator: Option<u8>) -> Self {
        Self { source, separator, number: 0, buffer: Vec::new() }
    }

    /// The next line that is not blank, without the spaces around it, and its number.
    ///
    /// # Errors
    ///
    /// With the number of the line: it cannot be read, is longer than 16 MiB, or has control characters.
    #[allow(clippy::should_implement_trait)] // It lends the line.
    pub fn next(&mut self) -> Result<Option<(usize, &[u8])>, String> {
        loop {
            self.number += 1;
            if !read_line(&mut self.source, self.number, self.separator, &mut self.buffer)? {
                return Ok(None);
            }
            if !self.buffer.trim_ascii().is_empty() {
                return Ok(Some((self.number, self.buffer.trim_ascii())));
            }
        }
    }
}
