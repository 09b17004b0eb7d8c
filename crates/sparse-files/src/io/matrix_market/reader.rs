//! How files are read.

use super::header::Settings;
use super::matrix::{ComplexPart, MatrixMarket, invalid};
use super::parse::{Entry, parse_checked};
use crate::io::source::Limited;
use crate::io::source::Progress;
use crate::io::source::silent;
use crate::io::source::text;
use sparse_ops::Result;
use std::io::BufRead;
use std::path::Path;

/// Reads files, with settings.
///
/// Without settings it reads what SciPy's `mmread` reads, except for complex values and whole numbers beyond an i64.
///
/// ```
/// use burn::tensor::Device;
/// use sparse_tensor::io::matrix_market::{ComplexPart, Reader, parse};
///
/// let text = &b"%%MatrixMarket matrix coordinate complex hermitian\n2 2 1\n2 1 3 4\n"[..];
/// assert!(parse(text).is_err());
/// let read = |part| {
///     let a = Reader::new().complex(part).parse(text).unwrap().to_coo(&Device::flex()).unwrap();
///     a.to_dense().into_data().try_to_vec::<f32>().unwrap()
/// };
/// assert_eq!(read(ComplexPart::Real), [0.0, 3.0, 3.0, 0.0]);
/// assert_eq!(read(ComplexPart::Imaginary), [0.0, -4.0, 4.0, 0.0]);
/// assert_eq!(read(ComplexPart::Magnitude), [0.0, 5.0, 5.0, 0.0]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Reader {
    settings: Settings,
}

impl Reader {
    /// Without settings.
    pub fn new() -> Self {
        Self::default()
    }

    /// Refuses what the format forbids, though its meaning is clear and SciPy reads it:
    ///
    /// - a banner with one percent sign;
    /// - the fields `double`, which is `real`, and `unsigned-integer`;
    /// - `hermitian` values that are not complex, which are `symmetric`;
    /// - words after the value of a coordinate, which are ignored;
    /// - values other than zero on the diagonal of a skew-symmetric matrix, which are kept.
    pub fn strict(mut self, strict: bool) -> Self {
        self.settings.strict = strict;
        self
    }

    /// Reads `complex` files as a part of their values. Without it they are an error: tensors are real.
    pub fn complex(mut self, part: ComplexPart) -> Self {
        self.settings.complex = Some(part);
        self
    }

    /// Reads a file; see [`read`](super::read).
    ///
    /// # Errors
    ///
    /// As [`read`](super::read).
    pub fn read(&self, path: impl AsRef<Path>) -> Result<MatrixMarket> {
        self.read_with(path, &mut silent())
    }

    /// [`read`](Self::read), which reports its progress.
    ///
    /// # Errors
    ///
    /// As [`read`](super::read).
    pub fn read_with(&self, path: impl AsRef<Path>, progress: &mut Progress<'_>) -> Result<MatrixMarket> {
        self.read_checked(path.as_ref(), progress, |_| Ok(()))
    }

    /// Reads from memory or from a stream; see [`parse`](super::parse()).
    ///
    /// # Errors
    ///
    /// As [`parse`](super::parse()).
    pub fn parse(&self, source: impl BufRead) -> Result<MatrixMarket> {
        parse_checked(self.settings, Limited::new(source, 0), 0, |_| Ok(()))
    }

    /// [`read_with`](Self::read_with) with an additional check of every entry. The text of its error follows the name
    /// of the line.
    ///
    /// # Errors
    ///
    /// As [`read`](super::read), and those of `check`.
    pub fn read_checked(
        &self,
        path: &Path,
        progress: &mut Progress<'_>,
        check: impl FnMut(Entry) -> Result<(), String>,
    ) -> Result<MatrixMarket> {
        let name = path.display();
        let open = |trouble| invalid(format!("{name}: cannot be read, got {trouble}"));
        let (file, bytes) = text(path, progress).map_err(open)?;
        parse_checked(self.settings, file, bytes, check).map_err(|trouble| trouble.in_file(path))
    }
}
