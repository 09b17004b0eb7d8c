//! Text to entries.

use super::matrix::{Field, Format, MatrixMarket, Symmetry, Values, invalid};
use crate::io::source::LONGEST;
use sparse_core::Result;
use std::io::{BufRead, Read};

/// How many entries to allocate for before the first is read, if the length of the input is not known.
const UNSEEN: usize = 1 << 12;
/// The same if the length is known: the file may still hold far fewer than its header claims.
const CLAIMED: usize = 1 << 20;

/// One entry of the file, counted from 0, before its mirror is added.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) row: usize,
    pub(crate) col: usize,
    /// 1 in a `pattern` file.
    pub(crate) value: f64,
}

/// [`parse`](super::parse()) of `bytes` bytes (0: not known), with an additional check of every entry.
pub(crate) fn parse_checked(
    reader: impl BufRead,
    bytes: u64,
    mut check: impl FnMut(Entry) -> Result<(), String>,
) -> Result<MatrixMarket> {
    let mut lines = Lines { reader, number: 0, buffer: Vec::new() };
    let (format, field, symmetry) = banner(&mut lines)?;
    let (rows, cols, entries) = sizes(&mut lines, format, field, symmetry)?;

    // Every entry has a line of at least two bytes, so the size of the file bounds their number.
    let room = if bytes == 0 { UNSEEN } else { usize::try_from(bytes / 2).unwrap_or(CLAIMED).min(CLAIMED) };
    let room = usize::try_from(entries).unwrap_or(usize::MAX).min(room);
    let mut out = Collected { coordinates: Vec::with_capacity(room), real: vec![], integer: vec![], field, symmetry };
    let mut walk = ArrayWalk::new(rows, symmetry);
    let mut read: u128 = 0;
    while let Some(line) = lines.next()? {
        let number = line.number;
        let at = |message: String| invalid(format!("line {number}: {message}"));
        if read == entries {
            return Err(at(format!("the file must end after its {entries} entries, got {:?}", shown(line.text))));
        }
        read += 1;
        let mut words = line.text.split_ascii_whitespace();
        let (row, col) = match format {
            Format::Array => walk.next(),
            Format::Coordinate => {
                (index("row", words.next(), rows).map_err(at)?, index("column", words.next(), cols).map_err(at)?)
            }
        };
        let value = value(field, &mut words).map_err(at)?;
        if let Some(extra) = words.next() {
            return Err(at(format!("an entry must have nothing after its value, got {:?}", shown(extra))));
        }
        check(Entry { row, col, value: value.real() }).map_err(at)?;
        if format == Format::Coordinate || !value.is_nothing() {
            out.push(row, col, value).map_err(at)?;
        }
    }
    if read < entries {
        let number = lines.number;
        return Err(invalid(format!("line {number}: {entries} entries must follow the size line, got {read}")));
    }
    let values = match field {
        Field::Real => Values::Real(out.real),
        Field::Integer => Values::Integer(out.integer),
        Field::Pattern => Values::Pattern,
    };
    Ok(MatrixMarket { rows, cols, format, symmetry, coordinates: out.coordinates, values })
}

/// Lines that are neither comments nor blank.
struct Lines<R> {
    reader: R,
    number: usize,
    buffer: Vec<u8>,
}

struct Line<'a> {
    number: usize,
    text: &'a str,
}

impl<R: BufRead> Lines<R> {
    /// The next line as it is; `None` at the end.
    fn raw(&mut self) -> Result<Option<()>> {
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
    fn text(&self) -> Result<Line<'_>> {
        let text = std::str::from_utf8(&self.buffer)
            .map_err(|_| invalid(format!("line {}: the line must be UTF-8 text, got other bytes", self.number)))?;
        Ok(Line { number: self.number, text: text.trim() })
    }

    fn next(&mut self) -> Result<Option<Line<'_>>> {
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

fn banner<R: BufRead>(lines: &mut Lines<R>) -> Result<(Format, Field, Symmetry)> {
    const RULE: &str = "the file must start with %%MatrixMarket matrix FORMAT FIELD SYMMETRY";
    if lines.raw()?.is_none() {
        return Err(invalid(format!("line 1: {RULE}, got an empty file")));
    }
    let line = lines.text()?;
    let words: Vec<&str> = line.text.split_ascii_whitespace().collect();
    let at = |rule: &str, got: &str| invalid(format!("line 1: {rule}, got {got:?}"));
    let [head, object, format, field, symmetry] = words[..] else { return Err(at(RULE, shown(line.text))) };
    if !head.eq_ignore_ascii_case("%%MatrixMarket") || !object.eq_ignore_ascii_case("matrix") {
        return Err(at(RULE, shown(line.text)));
    }
    let format = Format::from_name(format).ok_or_else(|| at("FORMAT must be coordinate or array", shown(format)))?;
    let rule = "FIELD must be real, integer or pattern";
    let field = Field::from_name(field).ok_or_else(|| at(rule, shown(field)))?;
    let rule = "SYMMETRY must be general, symmetric or skew-symmetric";
    let symmetry = Symmetry::from_name(symmetry).ok_or_else(|| at(rule, shown(symmetry)))?;
    if field == Field::Pattern && format == Format::Array {
        return Err(at("an array must have values", "array pattern"));
    }
    if field == Field::Pattern && symmetry == Symmetry::SkewSymmetric {
        return Err(at("a skew-symmetric matrix must have values", "pattern skew-symmetric"));
    }
    Ok((format, field, symmetry))
}

/// Rows, columns and the number of entries listed.
fn sizes<R: BufRead>(
    lines: &mut Lines<R>,
    format: Format,
    field: Field,
    symmetry: Symmetry,
) -> Result<(usize, usize, u128)> {
    let rule = match format {
        Format::Coordinate => "the size line must be ROWS COLUMNS ENTRIES",
        Format::Array => "the size line must be ROWS COLUMNS",
    };
    let Some(line) = lines.next()? else {
        return Err(invalid(format!("line {}: {rule}, got the end of the file", lines.number + 1)));
    };
    let number = line.number;
    let at = |rule: &str, got: &dyn std::fmt::Debug| invalid(format!("line {number}: {rule}, got {got:?}"));
    let words: Vec<&str> = line.text.split_ascii_whitespace().take(4).collect();
    let numbers: Option<Vec<usize>> = words.iter().map(|word| word.parse().ok()).collect();
    let (rows, cols, entries) = match (numbers.as_deref(), format) {
        (Some(&[rows, cols, entries]), Format::Coordinate) => (rows, cols, entries as u128),
        (Some(&[rows, cols]), Format::Array) => (
            rows,
            cols,
            match symmetry {
                Symmetry::General => rows as u128 * cols as u128,
                Symmetry::Symmetric => rows as u128 * (rows as u128 + 1) / 2,
                Symmetry::SkewSymmetric => rows as u128 * (rows as u128).saturating_sub(1) / 2,
            },
        ),
        _ => return Err(at(rule, &shown(line.text))),
    };
    if let Some(size) = [rows, cols].into_iter().find(|&size| size > i64::MAX as usize) {
        return Err(at("a size must fit 63 bits", &size));
    }
    if symmetry != Symmetry::General && rows != cols {
        return Err(at("a symmetric matrix must be square", &(rows, cols)));
    }
    debug_assert!(field != Field::Pattern || format == Format::Coordinate);
    Ok((rows, cols, entries))
}

/// Positions of an array file: column by column, and only the lower triangle if that determines the rest.
struct ArrayWalk {
    rows: usize,
    symmetry: Symmetry,
    row: usize,
    col: usize,
}

impl ArrayWalk {
    fn new(rows: usize, symmetry: Symmetry) -> Self {
        Self { rows, symmetry, row: Self::first(symmetry, 0), col: 0 }
    }

    fn first(symmetry: Symmetry, col: usize) -> usize {
        match symmetry {
            Symmetry::General => 0,
            Symmetry::Symmetric => col,
            Symmetry::SkewSymmetric => col + 1,
        }
    }

    fn next(&mut self) -> (usize, usize) {
        let at = (self.row, self.col);
        self.row += 1;
        if self.row >= self.rows {
            self.col += 1;
            self.row = Self::first(self.symmetry, self.col);
        }
        at
    }
}

#[derive(Clone, Copy)]
enum Number {
    Real(f64),
    Integer(i64),
}

impl Number {
    fn real(self) -> f64 {
        match self {
            Self::Real(value) => value,
            Self::Integer(value) => value as f64,
        }
    }

    fn is_zero(self) -> bool {
        self.real() == 0.0
    }

    /// Whether this value is what unstored elements read back as. -0.0 is not.
    fn is_nothing(self) -> bool {
        self.is_zero() && self.real().is_sign_positive()
    }
}

fn value<'a>(field: Field, words: &mut impl Iterator<Item = &'a str>) -> Result<Number, String> {
    let rule = match field {
        Field::Pattern => return Ok(Number::Integer(1)),
        Field::Real => "a value must be a number",
        Field::Integer => "a value must be a whole number of 64 bits",
    };
    let word = words.next().ok_or_else(|| format!("{rule}, got the end of the line"))?;
    let number = match field {
        Field::Real => word.parse().ok().map(Number::Real),
        _ => word.parse().ok().map(Number::Integer),
    };
    number.ok_or_else(|| format!("{rule}, got {:?}", shown(word)))
}

fn index(what: &str, word: Option<&str>, size: usize) -> Result<usize, String> {
    let word = word.ok_or_else(|| format!("a {what} must be in [1, {size}], got the end of the line"))?;
    match word.parse::<usize>() {
        Ok(index) if (1..=size).contains(&index) => Ok(index - 1),
        _ => Err(format!("a {what} must be in [1, {size}], got {:?}", shown(word))),
    }
}

struct Collected {
    coordinates: Vec<(usize, usize)>,
    real: Vec<f64>,
    integer: Vec<i64>,
    field: Field,
    symmetry: Symmetry,
}

impl Collected {
    /// Adds the entry and, where the symmetry asks for it, its mirror.
    fn push(&mut self, row: usize, col: usize, value: Number) -> Result<(), String> {
        self.one(row, col, value);
        let mirror = match (self.symmetry, value) {
            (Symmetry::General, _) => return Ok(()),
            (Symmetry::Symmetric, value) => value,
            (Symmetry::SkewSymmetric, _) if row == col && !value.is_zero() => {
                return Err(format!("the diagonal of a skew-symmetric matrix must be zero, got {}", value.real()));
            }
            (Symmetry::SkewSymmetric, Number::Real(value)) => Number::Real(-value),
            (Symmetry::SkewSymmetric, Number::Integer(value)) => {
                let mirror = value.checked_neg();
                Number::Integer(mirror.ok_or_else(|| format!("a skew value must have a negative, got {value}"))?)
            }
        };
        if row != col {
            self.one(col, row, mirror);
        }
        Ok(())
    }

    fn one(&mut self, row: usize, col: usize, value: Number) {
        self.coordinates.push((row, col));
        match (self.field, value) {
            (Field::Pattern, _) => {}
            (_, Number::Real(value)) => self.real.push(value),
            (_, Number::Integer(value)) => self.integer.push(value),
        }
    }
}

/// The first characters of what was found: a message stays readable whatever the file holds.
fn shown(text: &str) -> &str {
    text.char_indices().nth(60).map_or(text, |(end, _)| &text[..end])
}
