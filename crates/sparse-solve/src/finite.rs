//! Where numbers are not finite. What is read here is read for an error only.

use crate::krylov::vectors::Vectors;
use crate::report::place;
use burn::tensor::TensorData;
use sparse_ops::extend::{Parts, along, read_data};
use sparse_ops::pattern::Pattern;
use sparse_ops::{SparseError, SparseTensor};

/// That `what` must be finite, and where its first number is that is not, or that they are too large. `first` is the
/// number of the first system in its batch, if there are others.
pub fn not_finite(op: &'static str, what: &str, x: &Vectors, first: Option<usize>) -> SparseError {
    let [_, rows, width] = x.dims();
    let place = first_of(read_data(x.clone())).map(|at| place_of(at, [rows, width], first));
    place.map_or_else(|| too_large(op, what), |place| told(op, what, &place))
}

/// Where number `at` of systems of `rows` rows and `width` columns is.
pub fn place_of(at: usize, [rows, width]: [usize; 2], first: Option<usize>) -> String {
    let column = (width > 1).then_some(at % width);
    place(Some(at / width % rows), column, first.map(|first| first + at / width / rows))
}

pub fn is_finite(x: &Vectors) -> bool {
    first_of(read_data(x.clone())).is_none()
}

/// The same of the stored elements of a matrix.
pub fn not_finite_element<P: Pattern>(op: &'static str, a: &SparseTensor<P, 2>) -> SparseError {
    let found = first_of(read_data(a.rows().clone().inner()));
    let place = found.map(|at| {
        let end = |dim| read_data(along(a.pattern().coordinates(), dim).narrow(0, at, 1)).iter::<i64>().next();
        let [row, column] = [0, 1].map(|dim| end(dim).map(|end| end as usize));
        place(row, column, None)
    });
    let what = "the numbers of the matrix";
    place.map_or_else(|| too_large(op, what), |place| told(op, what, &place))
}

/// The error of finite numbers whose sums or products are not.
fn too_large(op: &'static str, what: &str) -> SparseError {
    SparseError::invalid(op, format!("{what} must not be so large that their sums or products are not finite"))
}

/// The error of `what` at a place.
pub fn told(op: &'static str, what: &str, place: &str) -> SparseError {
    SparseError::invalid(op, format!("{what} must be finite, got others{place}"))
}

fn first_of(list: TensorData) -> Option<usize> {
    list.convert::<f64>().iter::<f64>().position(|number| !number.is_finite())
}
