//! The banner and the size line.

use super::lines::{Lines, shown};
use super::matrix::{ComplexPart, Field, Format, Symmetry, invalid};
use sparse_ops::Result;
use std::io::BufRead;

/// What a reader may be told.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Settings {
    pub(super) strict: bool,
    pub(super) complex: Option<ComplexPart>,
}

/// What stands before the entries.
#[derive(Clone, Copy)]
pub(super) struct Header {
    pub(super) format: Format,
    pub(super) numbers: Numbers,
    /// That of the matrix that is made: the magnitudes of a skew-symmetric matrix are symmetric.
    pub(super) symmetry: Symmetry,
    /// Whether a file of one triangle lists the diagonal.
    pub(super) diagonal: bool,
}

impl Header {
    /// The first row of a column that an array lists.
    pub(super) fn first_row(self, col: usize) -> usize {
        match self.symmetry {
            Symmetry::General => 0,
            _ => col + usize::from(!self.diagonal),
        }
    }
}

/// The numbers of an entry.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Numbers {
    One(Field),
    /// Real and imaginary part, of which this is made.
    Two(ComplexPart),
}

impl Numbers {
    /// What the values of the matrix are.
    pub(super) fn field(self) -> Field {
        match self {
            Self::One(field) => field,
            Self::Two(_) => Field::Real,
        }
    }
}

pub(super) fn banner<R: BufRead>(lines: &mut Lines<R>, settings: Settings) -> Result<Header> {
    const RULE: &str = "the file must start with %%MatrixMarket matrix FORMAT FIELD SYMMETRY";
    if lines.raw()?.is_none() {
        return Err(invalid(format!("line 1: {RULE}, got an empty file")));
    }
    let line = lines.text()?;
    let words: Vec<&str> = line.text.split_ascii_whitespace().collect();
    let at = |rule: &str, got: &str| invalid(format!("line 1: {rule}, got {got:?}"));
    let [head, object, format, field, symmetry] = words[..] else { return Err(at(RULE, shown(line.text))) };
    let named =
        head.eq_ignore_ascii_case("%%MatrixMarket") || !settings.strict && head.eq_ignore_ascii_case("%MatrixMarket");
    if !named || !object.eq_ignore_ascii_case("matrix") {
        return Err(at(RULE, shown(line.text)));
    }
    let format = Format::from_name(format).ok_or_else(|| at("FORMAT must be coordinate or array", shown(format)))?;
    let numbers = numbers(field, settings).map_err(|rule| at(rule, shown(field)))?;
    let diagonal = Symmetry::from_name(symmetry) != Some(Symmetry::SkewSymmetric);
    let symmetry = symmetry_of(symmetry, numbers, settings).map_err(|rule| at(rule, shown(symmetry)))?;
    if numbers == Numbers::One(Field::Pattern) {
        if format == Format::Array {
            return Err(at("an array must have values", "array pattern"));
        }
        if symmetry == Symmetry::SkewSymmetric {
            return Err(at("a skew-symmetric matrix must have values", "pattern skew-symmetric"));
        }
    }
    Ok(Header { format, numbers, symmetry, diagonal })
}

fn numbers(word: &str, settings: Settings) -> Result<Numbers, &'static str> {
    if !word.eq_ignore_ascii_case("complex") {
        let other = match word.to_ascii_lowercase().as_str() {
            "double" if !settings.strict => Some(Field::Real),
            "unsigned-integer" if !settings.strict => Some(Field::Integer),
            _ => Field::from_name(word),
        };
        return other.map(Numbers::One).ok_or("FIELD must be real, integer, pattern or complex");
    }
    let part =
        settings.complex.ok_or("a tensor has no complex values, so Reader::complex must say which part to read")?;
    Ok(Numbers::Two(part))
}

fn symmetry_of(word: &str, numbers: Numbers, settings: Settings) -> Result<Symmetry, &'static str> {
    let hermitian = word.eq_ignore_ascii_case("hermitian");
    if hermitian && settings.strict && matches!(numbers, Numbers::One(_)) {
        return Err("a hermitian matrix must be complex where the reader is strict");
    }
    let named = if hermitian { Some(Symmetry::Symmetric) } else { Symmetry::from_name(word) };
    let named = named.ok_or("SYMMETRY must be general, symmetric, skew-symmetric or hermitian")?;
    Ok(match numbers {
        Numbers::Two(ComplexPart::Imaginary) if hermitian => Symmetry::SkewSymmetric,
        Numbers::Two(ComplexPart::Magnitude) if named == Symmetry::SkewSymmetric => Symmetry::Symmetric,
        _ => named,
    })
}

/// Rows, columns and the number of entries listed.
pub(super) fn sizes<R: BufRead>(lines: &mut Lines<R>, header: Header) -> Result<(usize, usize, u128)> {
    let Header { format, symmetry, .. } = header;
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
                _ if header.diagonal => rows as u128 * (rows as u128 + 1) / 2,
                _ => rows as u128 * (rows as u128).saturating_sub(1) / 2,
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
    Ok((rows, cols, entries))
}
