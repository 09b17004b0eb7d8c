//! The matrix of a file, on the host.

use burn::tensor::{Float, Int, Tensor, TensorCreationOptions, TensorData};
use sparse_ops::extend::{check_rows, creation_dtype, int_range, ints};
use sparse_ops::{CooTensor, CsrTensor, Kind, Result, SparseError};
use std::fmt;

/// How the entries of a file are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `row column [value]`, counted from 1.
    Coordinate,
    /// Every value, column by column.
    Array,
}

/// What the values of a file are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// Decimal numbers.
    Real,
    /// Whole numbers.
    Integer,
    /// No values: an entry is there or not.
    Pattern,
}

/// Which entries of a file give two elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Symmetry {
    /// None.
    General,
    /// `a[j, i] = a[i, j]`.
    Symmetric,
    /// `a[j, i] = -a[i, j]`. The diagonal should be zero; see [`Reader::strict`](super::Reader::strict).
    SkewSymmetric,
}

/// What a tensor gets of the complex values of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComplexPart {
    /// The real part. That of a hermitian matrix is symmetric.
    Real,
    /// The imaginary part. That of a hermitian matrix is skew-symmetric.
    Imaginary,
    /// The magnitude `sqrt(real^2 + imaginary^2)`. That of a hermitian or skew-symmetric matrix is symmetric.
    Magnitude,
}

/// The values of a [`MatrixMarket`], one for each coordinate.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Of a `real` file, or a part of those of a `complex` one.
    Real(Vec<f64>),
    /// Of an `integer` file.
    Integer(Vec<i64>),
    /// Of a `pattern` file: each coordinate counts as 1.
    Pattern,
}

/// The matrix of a file, on the host.
///
/// Symmetric files are expanded: `coordinates` holds both triangles. Of an `array` file the values that are not zero
/// are kept, and so are those that are -0.0, whose bits differ from those of zero. Coordinates are in file order,
/// counted from 0, and may repeat: an element is the sum of its repetitions.
#[derive(Clone, Debug, PartialEq)]
pub struct MatrixMarket {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub cols: usize,
    /// How the file lists (or will list) its entries.
    pub format: Format,
    /// The symmetry of the matrix. It is the one that the header named, except for parts of complex values (see
    /// [`ComplexPart`]).
    pub symmetry: Symmetry,
    /// `(row, column)` of every entry, from 0.
    pub coordinates: Vec<(usize, usize)>,
    /// The value of every entry.
    pub values: Values,
}

impl MatrixMarket {
    /// What the values are.
    pub fn field(&self) -> Field {
        match self.values {
            Values::Real(_) => Field::Real,
            Values::Integer(_) => Field::Integer,
            Values::Pattern => Field::Pattern,
        }
    }

    /// The matrix by coordinates, in file order; entries of a `pattern` file are 1. `options` are a device, whose float
    /// type the values get, or a device and a float dtype: `(&device, DType::F64)` keeps all digits of a `real` file.
    ///
    /// # Errors
    ///
    /// `dtype_mismatch` for a dtype that is no float, `unsupported_dtype`. Those of [`CooTensor::new`], if the public
    /// fields were changed so that they do not fit.
    pub fn to_coo(&self, options: impl Into<TensorCreationOptions>) -> Result<CooTensor<2>> {
        let options = options.into();
        let dtype = creation_dtype::<Float>("to_coo", &options)?;
        let data = match &self.values {
            Values::Real(values) => TensorData::new(values.clone(), [values.len()]),
            Values::Integer(values) => {
                TensorData::new(values.iter().map(|&value| value as f64).collect(), [values.len()])
            }
            Values::Pattern => TensorData::new(vec![1.0f64; self.coordinates.len()], [self.coordinates.len()]),
        };
        self.coo(Tensor::<1>::from_data(data, (&options.device, dtype)))
    }

    /// The matrix by coordinates; entries of a `pattern` file are 1. `options` are a device, whose integer type the
    /// values get, or a device and an integer dtype.
    ///
    /// # Errors
    ///
    /// `dtype_mismatch` for a `real` file and for a dtype that is no integer; `overflow` for a value beyond the dtype;
    /// `unsupported_dtype`; those of [`CooTensor::new`].
    pub fn to_coo_int(&self, options: impl Into<TensorCreationOptions>) -> Result<CooTensor<2, Int>> {
        const OP: &str = "to_coo_int";
        let values = match &self.values {
            Values::Real(_) => {
                return Err(SparseError::dtype_mismatch(OP, "integer", "real"));
            }
            Values::Integer(values) => values.clone(),
            Values::Pattern => vec![1; self.coordinates.len()],
        };
        let options = options.into();
        let dtype = creation_dtype::<Int>(OP, &options)?;
        let (low, high) = int_range(dtype).expect("an integer dtype");
        if let Some(value) = values.iter().map(|&value| i128::from(value)).find(|value| !(low..=high).contains(value)) {
            let limit = if value < 0 { low } else { high }.unsigned_abs();
            return Err(SparseError::overflow(OP, "the magnitude of a value", limit, value.unsigned_abs()));
        }
        let length = values.len();
        self.coo(Tensor::<1, Int>::from_data(TensorData::new(values, [length]), (&options.device, dtype)))
    }

    /// The matrix by compressed rows: repeated entries are summed. `options` as for [`to_coo`](Self::to_coo).
    ///
    /// # Errors
    ///
    /// Those of [`to_coo`](Self::to_coo); `would_densify` if the header claims more than
    /// [the limit](sparse_ops::Limits) of rows that are almost all empty. Row pointers need memory for every row, and
    /// a line of text must not make the program ask for more memory than there is. [`to_coo`](Self::to_coo) can hold
    /// such a matrix.
    pub fn to_csr(&self, options: impl Into<TensorCreationOptions>) -> Result<CsrTensor<2>> {
        check_rows("to_csr", self.rows, 3 * self.coordinates.len())?;
        self.to_coo(options)?.try_to_csr()
    }

    fn coo<K: Kind>(&self, values: Tensor<1, K>) -> Result<CooTensor<2, K>> {
        const OP: &str = "MatrixMarket::to_coo";
        // Checked here: a 32-bit device would wrap a large index silently.
        for (position, &(row, col)) in self.coordinates.iter().enumerate() {
            for (axis, index, size) in [(0, row, self.rows), (1, col, self.cols)] {
                if index >= size || index > i64::MAX as usize {
                    return Err(SparseError::index_out_of_range(OP, axis, size, index, position));
                }
            }
        }
        let nnz = self.coordinates.len();
        let ends = self.coordinates.iter().map(|&(row, _)| row as i64);
        let ends = ends.chain(self.coordinates.iter().map(|&(_, col)| col as i64)).collect();
        CooTensor::new(ints(ends, [2, nnz], &values.device().inner()), values, [self.rows, self.cols])
    }
}

macro_rules! names {
    ($type:ident { $($variant:ident => $name:literal),* $(,)? }) => {
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Self::$variant => $name),* })
            }
        }
        impl $type {
            pub(super) fn from_name(name: &str) -> Option<Self> {
                $(if name.eq_ignore_ascii_case($name) { return Some(Self::$variant); })*
                None
            }
        }
    };
}
names!(Format { Coordinate => "coordinate", Array => "array" });
names!(Field { Real => "real", Integer => "integer", Pattern => "pattern" });
names!(Symmetry { General => "general", Symmetric => "symmetric", SkewSymmetric => "skew-symmetric" });

pub(super) fn invalid(message: String) -> SparseError {
    SparseError::invalid("matrix_market", message)
}
