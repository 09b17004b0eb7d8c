//! Text to entries.

use super::header::{Header, Numbers, Settings, banner, sizes};
use super::lines::{Lines, shown};
use super::matrix::{ComplexPart, Field, Format, MatrixMarket, Symmetry, Values, invalid};
use sparse_ops::Result;
use sparse_ops::extend::Allowed;
use std::io::BufRead;
use std::str::FromStr;

/// How many entries to allocate for before the first is read, if the length of the input is not known.
const UNSEEN: usize = 1 << 12;
/// The same if the length is known: the file may still hold far fewer than its header claims.
const CLAIMED: usize = 1 << 20;

/// One entry of the file, counted from 0, before its mirror is added.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its row.
    pub row: usize,
    /// Its column.
    pub col: usize,
    /// 1 in a `pattern` file.
    pub value: f64,
}

/// The matrix of a text of `bytes` bytes (0: not known), with an additional check of every entry.
pub(super) fn parse_checked(
    settings: Settings,
    source: impl BufRead,
    bytes: u64,
    mut check: impl FnMut(Entry) -> Result<(), String>,
) -> Result<MatrixMarket> {
    let mut lines = Lines::new(source);
    let header = banner(&mut lines, settings)?;
    let (rows, cols, entries) = sizes(&mut lines, header)?;
    let Header { format, numbers, symmetry, .. } = header;

    // Every entry has a line of at least two bytes, so the size of the file bounds their number.
    let room = if bytes == 0 { UNSEEN } else { usize::try_from(bytes / 2).unwrap_or(CLAIMED).min(CLAIMED) };
    let room = usize::try_from(entries).unwrap_or(usize::MAX).min(room);
    let mut out = Collected::new(header, settings.strict, room);
    let mut walk = ArrayWalk { header, rows, row: header.first_row(0), col: 0 };
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
        let value = value(numbers, &mut words).map_err(at)?;
        // What follows the value in a list of coordinates belongs to no other entry.
        let exact = settings.strict || format == Format::Array;
        if let Some(extra) = words.next().filter(|_| exact) {
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
    let values = match numbers.field() {
        Field::Real => Values::Real(out.real),
        Field::Integer => Values::Integer(out.integer),
        Field::Pattern => Values::Pattern,
    };
    Ok(MatrixMarket { rows, cols, format, symmetry, coordinates: out.coordinates, values })
}

/// Positions of an array file: column by column, and only the lower triangle if that determines the rest.
struct ArrayWalk {
    header: Header,
    rows: usize,
    row: usize,
    col: usize,
}

impl ArrayWalk {
    fn next(&mut self) -> (usize, usize) {
        let at = (self.row, self.col);
        self.row += 1;
        if self.row >= self.rows {
            self.col += 1;
            self.row = self.header.first_row(self.col);
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

fn value<'a>(numbers: Numbers, words: &mut impl Iterator<Item = &'a str>) -> Result<Number, String> {
    let mut real = || number(words.next(), "a value must be a number");
    match numbers {
        Numbers::One(Field::Pattern) => Ok(Number::Integer(1)),
        Numbers::One(Field::Real) => real().map(Number::Real),
        Numbers::One(Field::Integer) => {
            number(words.next(), "a value must be a whole number of 64 bits").map(Number::Integer)
        }
        Numbers::Two(part) => {
            let (re, im): (f64, f64) = (real()?, real()?);
            Ok(Number::Real(match part {
                ComplexPart::Real => re,
                ComplexPart::Imaginary => im,
                ComplexPart::Magnitude => re.hypot(im),
            }))
        }
    }
}

fn number<N: FromStr>(word: Option<&str>, rule: &str) -> Result<N, String> {
    let word = word.ok_or_else(|| format!("{rule}, got the end of the line"))?;
    word.parse().map_err(|_| format!("{rule}, got {:?}", shown(word)))
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
    header: Header,
    strict: bool,
    allowed: Allowed,
}

impl Collected {
    fn new(header: Header, strict: bool, room: usize) -> Self {
        let (coordinates, allowed) = (Vec::with_capacity(room), Allowed::now());
        Self { coordinates, real: vec![], integer: vec![], header, strict, allowed }
    }

    /// Adds the entry and, where the symmetry asks for it, its mirror.
    fn push(&mut self, row: usize, col: usize, value: Number) -> Result<(), String> {
        self.one(row, col, value)?;
        let skew = !self.header.diagonal || self.header.symmetry == Symmetry::SkewSymmetric;
        let mirror = match (self.header.symmetry, value) {
            _ if row == col && skew && self.strict && !value.is_zero() => {
                return Err(format!("the diagonal of a skew-symmetric matrix must be zero, got {}", value.real()));
            }
            (Symmetry::General, _) => return Ok(()),
            _ if row == col => return Ok(()),
            (Symmetry::Symmetric, value) => value,
            (Symmetry::SkewSymmetric, Number::Real(value)) => Number::Real(-value),
            (Symmetry::SkewSymmetric, Number::Integer(value)) => {
                let mirror = value.checked_neg();
                Number::Integer(mirror.ok_or_else(|| format!("a skew value must have a negative, got {value}"))?)
            }
        };
        self.one(col, row, mirror)
    }

    fn one(&mut self, row: usize, col: usize, value: Number) -> Result<(), String> {
        self.allowed.check_elements(self.coordinates.len() + 1)?;
        self.coordinates.push((row, col));
        match (self.header.numbers.field(), value) {
            (Field::Pattern, _) => {}
            (_, Number::Real(value)) => self.real.push(value),
            (_, Number::Integer(value)) => self.integer.push(value),
        }
        Ok(())
    }
}
