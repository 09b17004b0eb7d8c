//! The one error type of the library.

use std::fmt;
use std::path::Path;
use thiserror::Error;

/// Result with a [`SparseError`].
pub type Result<T, E = SparseError> = std::result::Result<T, E>;

/// Everything that can be wrong with the arguments of a sparse operation.
///
/// Each message has the form `op: what must hold, got X and Y`, or begins with what to do instead. Operations that
/// panic use the same text. `Debug` prints it too, so that `fn main() -> Result<(), SparseError>` tells what went
/// wrong; a program decides by [`kind`](Self::kind) or by the fields.
#[derive(Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum SparseError {
    /// A list without tensors, or a maximum or minimum of no elements.
    #[error("{op}: {what}")]
    EmptyInput {
        /// Operation.
        op: &'static str,
        /// What must not be empty, and what was given.
        what: String,
    },
    /// Shapes that must agree do not.
    #[error("{op}: {}", sizes(rule, left, right))]
    ShapeMismatch {
        /// Operation.
        op: &'static str,
        /// What must hold. The shapes replace `{left}` and `{right}` in it, or follow it if it has neither. `{left:1}`
        /// and `{right:1}` print a list of one number as that number.
        rule: &'static str,
        /// First shape.
        left: Vec<usize>,
        /// Second shape.
        right: Vec<usize>,
    },
    /// Element types that must agree do not.
    #[error("{op}: dtypes must agree, got {left} and {right} (cast changes one)")]
    DtypeMismatch {
        /// Operation.
        op: &'static str,
        /// First dtype.
        left: String,
        /// Second dtype.
        right: String,
    },
    /// Layouts that must agree do not: COO and CSR, or another number of dense dims.
    #[error("{op}: layouts must agree, got {left} and {right}")]
    LayoutMismatch {
        /// Operation.
        op: &'static str,
        /// First layout.
        left: String,
        /// Second layout.
        right: String,
    },
    /// Fill values that must agree do not.
    #[error("{op}: fill values must agree, got {left} and {right} (with_fill changes one)")]
    FillMismatch {
        /// Operation.
        op: &'static str,
        /// First fill.
        left: String,
        /// Second fill.
        right: String,
    },
    /// A fill that the operation does not support.
    #[error("{op}: the fill must be {expected}, got {fill}: {hint}")]
    WrongFill {
        /// Operation.
        op: &'static str,
        /// The fills that it supports.
        expected: &'static str,
        /// The fill it got.
        fill: String,
        /// What to call instead.
        hint: &'static str,
    },
    /// The value of an undefined fill is needed.
    #[error("{op}: {hint}, got Fill::Undefined")]
    UndefinedFill {
        /// Operation.
        op: &'static str,
        /// What to call instead.
        hint: &'static str,
    },
    /// Tensors are on different devices.
    #[error("{op}: tensors must share a device, got {left} and {right} (to_device moves one)")]
    DeviceMismatch {
        /// Operation.
        op: &'static str,
        /// First device.
        left: String,
        /// Second device.
        right: String,
    },
    /// An axis outside `[-rank, rank)`.
    #[error("{op}: the dim must be in [-{rank}, {rank}), got {axis}")]
    AxisOutOfRange {
        /// Operation.
        op: &'static str,
        /// The axis given.
        axis: isize,
        /// Rank of the tensor.
        rank: usize,
    },
    /// An index outside its dimension.
    #[error("{op}: index along dim {axis} must be in [{low}, {size}), got {index} at position {position}")]
    IndexOutOfRange {
        /// Operation.
        op: &'static str,
        /// Axis that the index addresses.
        axis: usize,
        /// Smallest index allowed (0, or -size where negative indices count from the end).
        low: i64,
        /// Size of the axis.
        size: usize,
        /// The index found.
        index: i64,
        /// Where it was found (flat position in the index array).
        position: usize,
    },
    /// Lengths that must agree do not.
    #[error("{op}: {what} must have length {expected}, got {got}")]
    LengthMismatch {
        /// Operation.
        op: &'static str,
        /// Which array.
        what: &'static str,
        /// The length it must have.
        expected: usize,
        /// The length it has.
        got: usize,
    },
    /// Row pointers that do not start at 0, that descend, or that do not end at nnz.
    #[error("{op}: row_ptr must {rule}, got {got} at position {position}")]
    InvalidRowPtr {
        /// Operation.
        op: &'static str,
        /// What must hold.
        rule: &'static str,
        /// The entry found.
        got: i64,
        /// Its position.
        position: usize,
    },
    /// Columns of a CSR row that are not strictly ascending.
    #[error("{op}: columns must ascend strictly in a row, got {previous} and then {column} in row {row}")]
    UnsortedColumns {
        /// Operation.
        op: &'static str,
        /// The row (of the stored matrix).
        row: usize,
        /// The column before.
        previous: i64,
        /// The offending column.
        column: i64,
    },
    /// The device or the operation has no such element type.
    #[error("{op}: {what} does not support dtype {dtype} (cast changes it)")]
    UnsupportedDtype {
        /// Operation.
        op: &'static str,
        /// Device or reduction.
        what: String,
        /// The dtype asked for.
        dtype: String,
    },
    /// The result cannot be sparse, or it is larger than the limit for dense results.
    #[error("{op}: {hint}; {what} would {}", size(*elements, *limit))]
    WouldDensify {
        /// Operation.
        op: &'static str,
        /// What is too large: the dense result, or a table that the operation needs.
        what: &'static str,
        /// Number of its elements.
        elements: u128,
        /// The current limit; 0 if the operation never returns a dense result, however small.
        limit: u128,
        /// What to do instead, and why.
        hint: &'static str,
    },
    /// A size that does not fit its integer type.
    #[error("{op}: {what} must be at most {limit}, got {got}")]
    Overflow {
        /// Operation.
        op: &'static str,
        /// Which size.
        what: &'static str,
        /// The largest allowed.
        limit: u128,
        /// What was found.
        got: u128,
    },
    /// A file or an argument that cannot be read.
    #[error("{op}: {message}")]
    Invalid {
        /// Operation.
        op: &'static str,
        /// What was found, and where.
        message: String,
    },
}

impl fmt::Debug for SparseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A rule with the sizes that violate it: in place of its placeholders, or after it.
fn sizes(rule: &str, left: &[usize], right: &[usize]) -> String {
    if !rule.contains("{left") && !rule.contains("{right") {
        return format!("{rule}, got {left:?} and {right:?}");
    }
    let one = |sizes: &[usize]| sizes.iter().map(usize::to_string).collect::<String>();
    let rule = rule.replace("{left:1}", &one(left)).replace("{right:1}", &one(right));
    rule.replace("{left}", &format!("{left:?}")).replace("{right}", &format!("{right:?}"))
}

fn size(elements: u128, limit: u128) -> String {
    match limit {
        0 => format!("store all {elements} elements"),
        _ => format!("have {elements} elements, more than the limit of {limit}"),
    }
}

impl SparseError {
    /// Stable name of the kind of error, as used in conformance cases.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::EmptyInput { .. } => "empty_input",
            Self::ShapeMismatch { .. } => "shape_mismatch",
            Self::DtypeMismatch { .. } => "dtype_mismatch",
            Self::LayoutMismatch { .. } => "layout_mismatch",
            Self::FillMismatch { .. } | Self::WrongFill { .. } => "fill_mismatch",
            Self::UndefinedFill { .. } => "undefined_fill",
            Self::DeviceMismatch { .. } => "device_mismatch",
            Self::AxisOutOfRange { .. } => "axis_out_of_range",
            Self::IndexOutOfRange { .. } => "index_out_of_range",
            Self::LengthMismatch { .. } => "length_mismatch",
            Self::InvalidRowPtr { .. } => "invalid_row_ptr",
            Self::UnsortedColumns { .. } => "unsorted_columns",
            Self::UnsupportedDtype { .. } => "unsupported_dtype",
            Self::WouldDensify { .. } => "would_densify",
            Self::Overflow { .. } => "overflow",
            Self::Invalid { .. } => "invalid",
        }
    }

    /// A new [`EmptyInput`](Self::EmptyInput).
    pub fn empty_input(op: &'static str, what: impl Into<String>) -> Self {
        Self::EmptyInput { op, what: what.into() }
    }

    /// A new [`ShapeMismatch`](Self::ShapeMismatch) from two shapes, each an array, a slice or a `Vec`.
    pub fn shape_mismatch(
        op: &'static str,
        rule: &'static str,
        left: impl Into<Vec<usize>>,
        right: impl Into<Vec<usize>>,
    ) -> Self {
        Self::ShapeMismatch { op, rule, left: left.into(), right: right.into() }
    }

    /// A new [`DtypeMismatch`](Self::DtypeMismatch) from the names of two dtypes.
    pub fn dtype_mismatch(op: &'static str, left: impl Into<String>, right: impl Into<String>) -> Self {
        Self::DtypeMismatch { op, left: left.into(), right: right.into() }
    }

    /// A new [`LayoutMismatch`](Self::LayoutMismatch) from the names of two layouts.
    pub fn layout_mismatch(op: &'static str, left: impl Into<String>, right: impl Into<String>) -> Self {
        Self::LayoutMismatch { op, left: left.into(), right: right.into() }
    }

    /// A new [`FillMismatch`](Self::FillMismatch) of two fills.
    pub fn fill_mismatch(op: &'static str, left: &impl fmt::Display, right: &impl fmt::Display) -> Self {
        Self::FillMismatch { op, left: left.to_string(), right: right.to_string() }
    }

    /// A new [`WrongFill`](Self::WrongFill).
    pub fn wrong_fill(op: &'static str, expected: &'static str, fill: impl fmt::Display, hint: &'static str) -> Self {
        Self::WrongFill { op, expected, fill: fill.to_string(), hint }
    }

    /// A new [`UndefinedFill`](Self::UndefinedFill).
    pub fn undefined_fill(op: &'static str, hint: &'static str) -> Self {
        Self::UndefinedFill { op, hint }
    }

    /// A new [`IndexOutOfRange`](Self::IndexOutOfRange) of indices from 0. One above `i64::MAX` is told as that.
    pub fn index_out_of_range(
        op: &'static str,
        axis: usize,
        size: usize,
        index: impl TryInto<i64>,
        position: usize,
    ) -> Self {
        Self::IndexOutOfRange { op, axis, low: 0, size, index: index.try_into().unwrap_or(i64::MAX), position }
    }

    /// A new [`LengthMismatch`](Self::LengthMismatch).
    pub fn length_mismatch(op: &'static str, what: &'static str, expected: usize, got: usize) -> Self {
        Self::LengthMismatch { op, what, expected, got }
    }

    /// A new [`InvalidRowPtr`](Self::InvalidRowPtr).
    pub fn invalid_row_ptr(op: &'static str, rule: &'static str, got: i64, position: usize) -> Self {
        Self::InvalidRowPtr { op, rule, got, position }
    }

    /// A new [`UnsupportedDtype`](Self::UnsupportedDtype) from the name of the dtype.
    pub fn unsupported_dtype(op: &'static str, what: impl Into<String>, dtype: impl Into<String>) -> Self {
        let (mut what, dtype) = (what.into(), dtype.into());
        if !cfg!(feature = "f16") && matches!(&dtype[..], "f16" | "bf16") {
            what += " without the feature `f16`";
        }
        Self::UnsupportedDtype { op, what, dtype }
    }

    /// A new [`WouldDensify`](Self::WouldDensify) for an operation whose result is never dense, however small.
    pub fn would_densify(op: &'static str, elements: u128, hint: &'static str) -> Self {
        Self::WouldDensify { op, what: "the result", elements, limit: 0, hint }
    }

    /// A new [`Overflow`](Self::Overflow) from sizes of any integer type, none of them negative.
    pub fn overflow(op: &'static str, what: &'static str, limit: impl TryInto<u128>, got: impl TryInto<u128>) -> Self {
        let [limit, got] = [limit.try_into().unwrap_or(u128::MAX), got.try_into().unwrap_or(u128::MAX)];
        Self::Overflow { op, what, limit, got }
    }

    /// A new [`Invalid`](Self::Invalid).
    pub fn invalid(op: &'static str, message: impl Into<String>) -> Self {
        Self::Invalid { op, message: message.into() }
    }

    /// The error with the name of a file before the message, if it is [`Invalid`](Self::Invalid). Others do not change.
    pub fn in_file(self, path: &Path) -> Self {
        match self {
            Self::Invalid { op, message } => Self::invalid(op, format!("{}: {message}", path.display())),
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Most builds of the tests have one device.
    #[test]
    fn of_two_devices() {
        let trouble = SparseError::DeviceMismatch { op: "add", left: "Flex".into(), right: "Cuda(0)".into() };
        assert_eq!(trouble.kind(), "device_mismatch");
        let told = "add: tensors must share a device, got Flex and Cuda(0) (to_device moves one)";
        assert_eq!(trouble.to_string(), told);
        // What `unwrap`, and a `main` that returns the error, print.
        assert_eq!(format!("{trouble:?}"), told);
    }

    #[test]
    fn sizes_stand_where_the_rule_names_them() {
        let told = |rule| SparseError::ShapeMismatch { op: "op", rule, left: vec![2, 3], right: vec![4] }.to_string();
        assert_eq!(told("must agree"), "op: must agree, got [2, 3] and [4]");
        assert_eq!(told("{right:1} must divide {left}"), "op: 4 must divide [2, 3]");
        assert_eq!(told("{left} must fit"), "op: [2, 3] must fit");
    }
}
