//! Patterns of a matrix's main diagonal.

use super::dims::from_dims;
use super::layout::Pattern;
use super::merge::{located, merged};
use super::select::{kept, subset};
use crate::base::coordinates::along;
use crate::base::exact::Exact;
use crate::base::index::{cast_integers, count_up_on, index_dtype};
use crate::rows::RowMap;
use burn::tensor::{Device, Tensor};
use sparse_burn::MergeRule;

#[derive(PartialEq, Eq)]
struct OnDiagonal;
#[derive(PartialEq, Eq)]
struct Column;
#[derive(PartialEq, Eq)]
struct WithDiagonal;
#[derive(PartialEq, Eq)]
struct OffDiagonal;

/// The pattern of all elements `(i, i)` of a matrix.
pub(crate) fn diagonal<P: Pattern>(shape: &[usize], device: &Device) -> P {
    let nnz = shape[0].min(shape[1]);
    let dtype = index_dtype(shape, nnz);
    let coordinates = if nnz == 0 {
        Tensor::empty([2, 0], (device, dtype))
    } else {
        let both = count_up_on(nnz, device, dtype).reshape(Exact([1, nnz]));
        Tensor::cat(vec![both.clone(), both], 0)
    };
    P::from_coordinates(coordinates, shape, true)
}

/// The position of each element of the main diagonal in a coalesced pattern.
pub(crate) fn on_diagonal<P: Pattern>(pattern: &P) -> RowMap {
    let (_, map) = pattern.memo().get(OnDiagonal, || {
        let main: P = diagonal(pattern.shape(), &pattern.device());
        let map = located(&main, pattern);
        (main, map)
    });
    map
}

/// The stored elements of the main diagonal of a coalesced pattern, as a column `[n, 1]`. Reads the device the first
/// time.
pub(crate) fn diagonal_column<P: Pattern>(pattern: &P) -> (P, RowMap) {
    pattern.memo().get(Column, || {
        let (coordinates, shape) = (pattern.coordinates(), pattern.shape());
        let rows = along(coordinates, 0);
        let on = if pattern.nnz() == 0 {
            Tensor::empty([0], (&pattern.device(), pattern.index_dtype()))
        } else {
            kept(rows.clone().equal(along(coordinates, 1)), pattern.index_dtype())
        };
        let nnz = on.dims()[0];
        let dims = if nnz == 0 { vec![] } else { vec![rows.clone().select(0, on.clone()), on.zeros_like()] };
        let column = from_dims(dims, &[shape[0].min(shape[1]), 1], nnz, true, coordinates);
        (column, RowMap::new(on, pattern.nnz()))
    })
}

/// Adds the main diagonal to a coalesced pattern. The first index map is from the pattern to the result. The second one
/// is 0 on the diagonal and 1 (missing) elsewhere.
pub fn with_diagonal<P: Pattern>(pattern: &P) -> (P, [RowMap; 2]) {
    pattern.memo().get(WithDiagonal, || {
        let main: P = diagonal(pattern.shape(), &pattern.device());
        let (union, [own, on]) = merged(MergeRule::Union, pattern, &main);
        if union.nnz() == 0 {
            return (union, [own, on]);
        }
        let off = on.map().clone().greater_equal_elem(main.nnz() as i64);
        let off = cast_integers(off.int(), on.map().dtype());
        (union, [own, RowMap::new(off, 1)])
    })
}

/// The elements of a matrix off its main diagonal. Reads the device the first time.
pub fn off_diagonal<P: Pattern>(pattern: &P) -> (P, RowMap) {
    pattern.memo().get(OffDiagonal, || {
        let coordinates = pattern.coordinates();
        let off = along(coordinates, 0).not_equal(along(coordinates, 1));
        subset(pattern, &kept(off, pattern.index_dtype()))
    })
}
