//! The layouts that inputs are drawn in.

use super::{Host, ints};
use burn::tensor::{DType, Tensor};
use sparse_tensor::pattern::{CooPattern, CsrPattern, Pattern};
use sparse_tensor::{CooTensor, CsrTensor, Kind, SparseTensor};

/// How a layout is built from plain data.
pub trait Build: Pattern {
    fn build<const D: usize, const R: usize, K: Kind>(
        host: &Host,
        values: Tensor<R, K>,
        index: DType,
    ) -> SparseTensor<Self, D, K>;

    /// What the layout makes of a dense tensor.
    fn of_dense<const D: usize, K: Kind>(dense: Tensor<D, K>, dense_dims: usize) -> SparseTensor<Self, D, K>;

    /// The tensor of an existing pattern without dense dims.
    fn of_pattern<const D: usize, K: Kind>(pattern: Self, values: Tensor<1, K>) -> SparseTensor<Self, D, K>;
}

fn shape<const D: usize>(host: &Host) -> [usize; D] {
    host.shape.clone().try_into().expect("the rank")
}

impl Build for CooPattern {
    fn of_dense<const D: usize, K: Kind>(dense: Tensor<D, K>, dense_dims: usize) -> CooTensor<D, K> {
        CooTensor::from_dense(dense, dense_dims)
    }

    fn of_pattern<const D: usize, K: Kind>(pattern: Self, values: Tensor<1, K>) -> CooTensor<D, K> {
        CooTensor::from_pattern(pattern, values).expect("one value for each coordinate")
    }

    fn build<const D: usize, const R: usize, K: Kind>(
        host: &Host,
        values: Tensor<R, K>,
        index: DType,
    ) -> CooTensor<D, K> {
        let dims = host.sparse_dims;
        let lines = (0..dims).flat_map(|dim| host.coordinates.iter().map(move |at| at[dim] as i64)).collect();
        let at = ints(lines, [dims, host.coordinates.len()], &values.device(), index);
        CooTensor::new(at, values, shape(host)).expect("valid coordinates")
    }
}

impl Build for CsrPattern {
    fn of_dense<const D: usize, K: Kind>(dense: Tensor<D, K>, _: usize) -> CsrTensor<D, K> {
        CsrTensor::from_dense(dense)
    }

    fn of_pattern<const D: usize, K: Kind>(pattern: Self, values: Tensor<1, K>) -> CsrTensor<D, K> {
        CsrTensor::from_pattern(pattern, values).expect("one value for each coordinate")
    }

    fn build<const D: usize, const R: usize, K: Kind>(
        host: &Host,
        values: Tensor<R, K>,
        index: DType,
    ) -> CsrTensor<D, K> {
        let (rows, batch) = (host.shape[D - 2], host.shape[..D - 2].iter().product::<usize>());
        let mut ptr = vec![];
        for matrix in 0..batch {
            // Row pointers of each matrix start at 0.
            let own = host.coordinates.iter().filter(|at| D == 2 || at[0] == matrix);
            let before = |row: usize| own.clone().filter(|at| at[D - 2] < row).count() as i64;
            ptr.extend((0..=rows).map(before));
        }
        let columns: Vec<i64> = host.coordinates.iter().map(|at| at[D - 1] as i64).collect();
        let (device, pointers, nnz) = (values.device(), ptr.len(), columns.len());
        let (ptr, columns) = (ints(ptr, [pointers], &device, index), ints(columns, [nnz], &device, index));
        let values = Tensor::<1, K>::from_dispatch(values.into_dispatch());
        CsrTensor::new(ptr, columns, values, shape(host)).expect("valid rows")
    }
}
