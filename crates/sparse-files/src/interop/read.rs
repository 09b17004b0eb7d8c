//! Tensors to arrays of the host, as other crates take them.

use crate::plain::check_plain;
use burn::tensor::{DType, Element};
use sparse_ops::extend;
use sparse_ops::extend::{Compressed, check_shape, int_range, read_all, read_data};
use sparse_ops::pattern::{CsrPattern, Pattern};
use sparse_ops::{Kind, Result, SparseError, SparseTensor, dtype_name};

/// A matrix of compressed rows or columns: pointers to them, the column or row of each element, ascending strictly in
/// each, and the values.
pub(super) struct Lines<E> {
    pub(super) ptr: Vec<usize>,
    pub(super) idx: Vec<usize>,
    pub(super) values: Vec<E>,
}

/// Compressed rows. Duplicates are summed.
pub(super) fn by_rows<P: Pattern, K: Kind, E: Element>(
    op: &'static str,
    tensor: &SparseTensor<P, 2, K>,
) -> Result<Lines<E>> {
    check(op, tensor, E::dtype())?;
    check_shape::<CsrPattern>(op, &tensor.dims(), tensor.nnz())?;
    let merged = tensor.coalesce();
    Ok(lines(extend::by_rows(merged.pattern()).expect("two sparse dims"), &merged))
}

/// Compressed columns. Duplicates are summed.
#[cfg(any(feature = "nalgebra", feature = "faer", feature = "petgraph"))]
pub(super) fn by_columns<P: Pattern, K: Kind, E: Element>(
    op: &'static str,
    tensor: &SparseTensor<P, 2, K>,
) -> Result<Lines<E>> {
    check(op, tensor, E::dtype())?;
    let [rows, cols] = tensor.dims();
    check_shape::<CsrPattern>(op, &[cols, rows], tensor.nnz())?;
    let merged = tensor.coalesce();
    Ok(lines(extend::by_columns(merged.pattern()).expect("two sparse dims"), &merged))
}

/// Rows, columns and values in storage order, with duplicates.
#[cfg(any(feature = "sprs", feature = "nalgebra"))]
pub(super) fn triplets<P: Pattern, K: Kind, E: Element>(
    op: &'static str,
    tensor: &SparseTensor<P, 2, K>,
) -> Result<(Vec<usize>, Vec<usize>, Vec<E>)> {
    check(op, tensor, E::dtype())?;
    tensor.try_to_triplets()
}

/// Numbers as a narrower type of indices, whose largest is `limit`; `sizes` are dims that it must hold as well.
#[cfg(any(feature = "sprs", feature = "faer"))]
pub(super) fn indices<I>(
    op: &'static str,
    numbers: Vec<usize>,
    sizes: &[usize],
    limit: usize,
    cast: impl Fn(usize) -> I,
) -> Result<Vec<I>> {
    let largest = numbers.iter().chain(sizes).copied().max().unwrap_or(0);
    if largest > limit {
        return Err(SparseError::overflow(op, "a size or an index of this index type", limit, largest));
    }
    Ok(numbers.into_iter().map(cast).collect())
}

fn lines<P: Pattern, K: Kind, E: Element>(lines: &Compressed, tensor: &SparseTensor<P, 2, K>) -> Lines<E> {
    let unsigned = |numbers: Vec<i64>| numbers.into_iter().map(|number| number as usize).collect();
    let values: Vec<E> = read_data(tensor.values::<1>().inner()).iter::<E>().collect();
    let values = match &lines.perm {
        None => values,
        Some(order) => read_all(order.clone()).into_iter().map(|at| values[at as usize]).collect(),
    };
    Lines { ptr: unsigned(read_all(lines.ptr.clone())), idx: unsigned(read_all(lines.idx.clone())), values }
}

/// Checks that nothing of the tensor is lost in a matrix that stores numbers of `dtype`.
fn check<P: Pattern, K: Kind>(op: &'static str, tensor: &SparseTensor<P, 2, K>, dtype: DType) -> Result<()> {
    check_plain(
        tensor,
        op,
        [
            "use with_fill(Fill::Zero), if a missing element is 0 to the other crate",
            "subtract the fill first, or use with_fill(Fill::Zero)",
        ],
    )?;
    if !holds(dtype, tensor.dtype()) {
        return Err(SparseError::dtype_mismatch(op, dtype_name(tensor.dtype()), dtype_name(dtype)));
    }
    Ok(())
}

/// Whether every number of the dtype `narrow` is one of `wide`.
fn holds(wide: DType, narrow: DType) -> bool {
    match (float_bits(wide), float_bits(narrow), int_range(wide), int_range(narrow)) {
        (Some(wide), Some(narrow), ..) => wide.0 >= narrow.0 && wide.1 >= narrow.1,
        // A float has every integer of magnitude up to 2^significand. Its exponents reach further.
        (Some((significand, _)), None, _, Some((low, high))) => low >= -(1 << significand) && high <= 1 << significand,
        (None, None, Some(wide), Some(narrow)) => wide.0 <= narrow.0 && narrow.1 <= wide.1,
        _ => wide.is_bool() && narrow.is_bool(),
    }
}

/// Bits of the significand, with the leading one, and of the exponent.
fn float_bits(dtype: DType) -> Option<(u32, u32)> {
    match dtype {
        DType::F16 => Some((11, 5)),
        DType::BF16 => Some((8, 8)),
        DType::F32 => Some((24, 8)),
        DType::F64 => Some((53, 11)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::holds;
    use burn::tensor::DType::{self, *};

    #[test]
    fn a_type_holds_another_if_no_number_changes() {
        let held: [(DType, &[DType]); 8] = [
            (F64, &[F64, F32, F16, BF16, I32, U32, I16, U16, I8, U8]),
            (F32, &[F32, F16, BF16, I16, U16, I8, U8]),
            (F16, &[F16, I8, U8]),
            (BF16, &[BF16, I8, U8]),
            (I64, &[I64, I32, U32, I16, U16, I8, U8]),
            (I32, &[I32, I16, U16, I8, U8]),
            (U64, &[U64, U32, U16, U8]),
            (U8, &[U8]),
        ];
        let all = [F64, F32, F16, BF16, I64, I32, I16, I8, U64, U32, U16, U8];
        for (wide, narrow) in held {
            for dtype in all {
                assert_eq!(holds(wide, dtype), narrow.contains(&dtype), "{wide:?} and {dtype:?}");
            }
        }
    }
}
