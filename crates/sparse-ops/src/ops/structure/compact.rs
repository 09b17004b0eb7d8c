//! A matrix without its empty columns.

use crate::base::coordinates::{along, join_dims};
use crate::base::kind::Kind;
use crate::ops::structure::stack::check_matrix;
use crate::pattern::layout::Pattern;
use crate::rows::distinct;
use crate::tensor::sparse::SparseTensor;
use burn::tensor::{Int, Tensor};
use sparse_core::Result;
use sparse_macros::or_panic;

/// Key of the pattern without empty columns.
#[derive(PartialEq, Eq)]
struct Compact;

impl<P: Pattern, K: Kind> SparseTensor<P, 2, K> {
    /// The columns that store an element, ascending `[U]`, and the matrix `[M, U]` of these columns alone. Values and
    /// fill stay, and so does the order of the elements.
    ///
    /// A batch of few rows uses few columns of a wide matrix: the items of some users, or the words of some texts. With
    /// the rows of its table that it names, a step costs what the batch has, whatever the width of the matrix. The
    /// gradient of `rows` below is the row-sparse gradient of the table: row `k` belongs to row `ids[k]`, and the
    /// other rows have none. (With a fill other than zero the other columns would take part; use the whole matrix
    /// then.)
    ///
    /// Backward: that of the values, which are the same. Cost: `O(nnz)`, a sort of the column ids. It reads the number
    /// of columns from the device. Both results are kept with the pattern. Source: DGL's `compact_graphs`.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::CsrTensor;
    ///
    /// let device = Device::flex().autodiff();
    /// let users = [[(7, 1.0), (1_000_000, 2.0)], [(3, 1.0), (7, 1.0)]];
    /// let batch = CsrTensor::<2>::from_rows(&users, 8_400_000, &device).unwrap();
    /// let (ids, batch) = batch.compact_columns();
    /// assert_eq!(ids.to_data().convert::<i64>().iter::<i64>().collect::<Vec<_>>(), [3, 7, 1_000_000]);
    ///
    /// // In a program: `let rows = table.select(0, ids).require_grad();`
    /// let rows = Tensor::<2>::ones([3, 4], &device).require_grad();
    /// let grads = batch.matmul(rows.clone()).sum().backward();
    /// let of_each_id = rows.grad(&grads).unwrap().narrow(1, 0, 1);
    /// assert_eq!(of_each_id.into_data().iter::<f32>().collect::<Vec<_>>(), [1.0, 2.0, 2.0]);
    /// ```
    ///
    /// # Errors
    ///
    /// `shape_mismatch` for a tensor with dense dims.
    #[or_panic]
    pub fn try_compact_columns(&self) -> Result<(Tensor<1, Int>, Self)> {
        check_matrix("compact_columns", self)?;
        let (pattern, ids) = self.pattern.memo().get(Compact, || compact(&self.pattern));
        Ok((ids, Self::from_parts(pattern, self.values.clone(), vec![], self.fill.clone())))
    }
}

/// The pattern without empty columns, and the columns that it keeps.
fn compact<P: Pattern>(pattern: &P) -> (P, Tensor<1, Int>) {
    let (nnz, [rows, cols]) = (pattern.nnz(), [0, 1].map(|dim| pattern.shape()[dim]));
    let coordinates = pattern.coordinates();
    let [row_ids, col_ids] = [0, 1].map(|dim| along(coordinates, dim));
    let (ids, places) = distinct(&col_ids, cols);
    let count = ids.dims()[0];
    let places = if nnz == 0 { row_ids.clone() } else { places.owner(nnz).clone() };
    let shape = [rows, count];
    // The columns keep their order, so the elements do too.
    let made =
        P::from_coordinates(join_dims(vec![row_ids, places], &shape, nnz, coordinates), &shape, pattern.is_coalesced());
    (made, ids)
}
