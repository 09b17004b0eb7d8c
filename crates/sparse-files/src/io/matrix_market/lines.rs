//! The lines of a file.

use super::matrix::invalid;
use crate::io::source::read_line;
use sparse_ops::Result;
use std::io::BufRead;

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
        self.number += 1;
        if !read_line(&mut self.reader, self.number, None, &mut self.buffer).map_err(invalid)? {
            self.number -= 1;
            return Ok(None);
        }
        Ok(Some(()))
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
