//! The lines of a file.

use super::matrix::invalid;
use crate::io::source::LONGEST;
use sparse_core::Result;
use std::io::{BufRead, Read};

/// Lines that are neither comments nor blank.
pub(super) struct Lines<R> {
    reader: R,
    pub(super) number: usize,
    buffer: Vec<u8>,
}

pub(super) struct Line<'a> {
    pub(super) number: usize,
    pub(super) text: &'a str,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader, number: 0, buffer: Vec::new() }
    }

    /// The next line as it is; `None` at the end.
    pub(super) fn raw(&mut self) -> Result<Option<()>> {
        self.buffer.clear();
        self.number += 1;
        match self.reader.by_ref().take(LONGEST).read_until(b'\n', &mut self.buffer) {
            Ok(got) if got as u64 == LONGEST => {
                let number = self.number;
                Err(invalid(format!("line {number}: a line must have less than {LONGEST} bytes, got more")))
            }
            Ok(0) => {
                self.number -= 1;
                Ok(None)
            }
            Ok(_) => Ok(Some(())),
            Err(trouble) => Err(invalid(format!("line {}: cannot be read, got {trouble}", self.number))),
        }
    }

    /// The current line as text. Comments may be in any encoding, so this is asked of other lines only.
    pub(super) fn text(&self) -> Result<Line<'_>> {
        let text = std::str::from_utf8(&self.buffer)
            .map_err(|_| invalid(format!("line {}: the line must be UTF-8 text, got other bytes", self.number)))?;
        Ok(Line { number: self.number, text: text.trim() })
    }

    pub(super) fn next(&mut self) -> Result<Option<Line<'_>>> {
        loop {
            if self.raw()?.is_none() {
                return Ok(None);
            }
            let start = self.buffer.trim_ascii();
            if !start.is_empty() && start[0] != b'%' {
                return self.text().map(Some);
            }
        }
    }
}

/// The first characters of what was found: a message stays readable whatever the file holds.
pub(super) fn shown(text: &str) -> &str {
    text.char_indices().nth(60).map_or(text, |(end, _)| &text[..end])
}
