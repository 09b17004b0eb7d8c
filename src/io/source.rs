//! Files as streams of text: plain or compressed by gzip, and a word on how far the read has come.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// What hears how far a read has come: the bytes that were read, and the bytes of the file (of compressed ones).
///
/// A reader calls it every few hundred kilobytes, on the thread of the caller, and at the end with two equal numbers.
/// With `indicatif`: `&mut |done, total| { bar.set_length(total); bar.set_position(done) }`.
pub type Progress<'a> = dyn FnMut(u64, u64) + 'a;

/// How many bytes are read between two calls.
pub(crate) const STEP: u64 = 1 << 18;

/// A reader that hears no progress.
pub(crate) fn silent() -> impl FnMut(u64, u64) {
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
        let file = File::open(path)?;
        let total = file.metadata()?.len();
        Ok(Self { file, read: 0, total, next: STEP, progress })
    }

    /// The length of the file; 0 for a pipe.
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

/// The text of a file, and the number of its bytes if that is known before they are read (0 if not). A file that starts
/// with gzip's magic number is decompressed while it is read.
pub(crate) fn text<'a>(path: &Path, progress: &'a mut Progress<'_>) -> io::Result<(Box<dyn BufRead + 'a>, u64)> {
    let file = Counted::open(path, progress)?;
    let bytes = file.total();
    let mut file = BufReader::with_capacity(1 << 16, file);
    if !file.fill_buf()?.starts_with(&[0x1f, 0x8b]) {
        return Ok((Box::new(file), bytes));
    }
    #[cfg(feature = "gz")]
    return Ok((Box::new(BufReader::with_capacity(1 << 16, flate2::bufread::MultiGzDecoder::new(file))), 0));
    #[cfg(not(feature = "gz"))]
    Err(io::Error::other("gzip, which needs the feature `gz` of sparse-tensor"))
}

/// The first characters of what was found: a message stays readable whatever the file holds.
pub(crate) fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(240)]);
    text.chars().take(60).collect()
}

/// Longer lines are refused: a few compressed bytes can become a line of any length.
pub(crate) const LONGEST: u64 = 1 << 24;

/// The lines of a text, counted from 1.
pub(crate) struct Lines<R> {
    source: R,
    number: usize,
    buffer: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(source: R) -> Self {
        Self { source, number: 0, buffer: Vec::new() }
    }

    /// The next line that is not blank, without the spaces around it, and its number.
    pub(crate) fn next(&mut self) -> Result<Option<(usize, &[u8])>, String> {
        loop {
            self.buffer.clear();
            self.number += 1;
            let got = self.source.by_ref().take(LONGEST).read_until(b'\n', &mut self.buffer);
            let got = got.map_err(|trouble| format!("line {}: cannot be read, got {trouble}", self.number))?;
            if got as u64 == LONGEST {
                return Err(format!("line {}: a line must have less than {LONGEST} bytes, got more", self.number));
            }
            if got == 0 {
                return Ok(None);
            }
            if !self.buffer.trim_ascii().is_empty() {
                return Ok(Some((self.number, self.buffer.trim_ascii())));
            }
        }
    }
}
