//! Constructors. They check their input unless their name says otherwise.

use super::fill::Fill;
use super::sparse::{CooTensor, CsrTensor, SparseTensor, value_rows};
use crate::base::checks::{expect, has_dtype, same_device};
use crate::base::coordinates::{join_dims, unravel};
use crate::base::exact::Exact;
use crate::base::index::{ints, read_all, signed};
use crate::base::kind::{Kind, nonzero};
use crate::pattern::coo::CooPattern;
use crate::pattern::csr::CsrPattern;
use crate::pattern::layout::{Pattern, Structure};
use crate::pattern::select::kept;
use burn::tensor::{Int, Tensor, TensorCreationOptions};
use sparse_core::{Result, SparseError};
use sparse_macros::or_panic;

impl<const D: usize, K: Kind> CooTensor<D, K> {
    /// A tensor from coordinates `[sparse_dims, nnz]` and values `[nnz, dense dims..]`, filled with zero.
    ///
    /// `sparse_dims` is the number of rows of `indices`; the rest of `shape` are dense dims. Duplicates are legal: an
    /// element is the sum of its duplicates. The coordinates are checked, which reads the device once. Negative indices
    /// are errors here.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::CooTensor;
    ///
    /// let device = Device::flex();
    /// let indices = Tensor::from_data([[0, 1, 1], [2, 0, 2]], &device);
    /// let values = Tensor::<1>::from_floats([1.0, 2.0, 3.0], &device);
    /// let a = CooTensor::<2>::new(indices, values, [2, 3]).unwrap();
    /// assert_eq!(a.nnz(), 3);
    /// ```
    ///
    /// Without a shape: [`new_inferred`](Self::new_inferred).
    ///
    /// # Errors
    ///
    /// `shape_mismatch`, `length_mismatch`, `index_out_of_range`, `unsupported_dtype`, `device_mismatch`, `overflow`.
    pub fn new<const R: usize>(indices: Tensor<2, Int>, values: Tensor<R, K>, shape: [usize; D]) -> Result<Self> {
        const OP: &str = "CooTensor::new";
        let [sparse_dims, nnz] = indices.dims();
        if sparse_dims > D {
            return Err(SparseError::ShapeMismatch {
                op: OP,
                rule: "indices {left} must have one row for each sparse dim of the shape {right}, and no more",
                left: vec![sparse_dims, nnz],
                right: shape.to_vec(),
            });
        }
        let values = value_rows(OP, values, nnz, &shape[sparse_dims..])?;
        same_device(OP, &indices.device(), &values.device())?;
        let pattern = CooPattern::checked(OP, indices, &shape[..sparse_dims])?;
        Ok(Self::from_parts(pattern, values, shape[sparse_dims..].to_vec(), Fill::Zero))
    }

    /// [`new`](Self::new) with the smallest shape that holds all coordinates. A sparse dim has one more than its
    /// largest coordinate (0 if there is none); the dense dims are those of the values. This is PyTorch's
    /// `sparse_coo_tensor` without a size.
    ///
    /// Reads the largest coordinates from the device, besides the check.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::CooTensor;
    ///
    /// let device = Device::flex();
    /// let indices = Tensor::from_data([[0, 1, 1], [2, 0, 2]], &device);
    /// let a = CooTensor::<2>::new_inferred(indices, Tensor::<1>::ones([3], &device)).unwrap();
    /// assert_eq!(a.dims(), [2, 3]);
    /// ```
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new); `index_out_of_range` for a negative coordinate.
    pub fn new_inferred<const R: usize>(indices: Tensor<2, Int>, values: Tensor<R, K>) -> Result<Self> {
        const OP: &str = "CooTensor::new_inferred";
        let [sparse_dims, nnz] = indices.dims();
        if sparse_dims + R != D + 1 {
            let rule =
                "the rank must be the rows of indices and the dense dims together, got rank {right:1} for {left}";
            let left = vec![sparse_dims, R - 1];
            return Err(SparseError::ShapeMismatch { op: OP, rule, left, right: vec![D] });
        }
        let mut shape = [0; D];
        shape[sparse_dims..].copy_from_slice(&values.dims()[1..]);
        if sparse_dims * nnz > 0 {
            let largest = read_all(signed(indices.clone()).max_dim(1));
            for (dim, &index) in largest.iter().enumerate() {
                shape[dim] = size_for(OP, dim, index)?;
            }
        }
        Self::new(indices, values, shape)
    }

    /// The tensor without a check of the coordinates (see [`CooPattern::new_unchecked`]).
    ///
    /// # Panics
    ///
    /// If the values do not fit the number of coordinates.
    #[track_caller]
    pub fn new_unchecked<const R: usize>(
        indices: Tensor<2, Int>,
        values: Tensor<R, K>,
        shape: [usize; D],
        coalesced: bool,
    ) -> Self {
        let [sparse_dims, nnz] = indices.dims();
        let values = expect(value_rows("CooTensor::new_unchecked", values, nnz, &shape[sparse_dims..]));
        let pattern = CooPattern::new_unchecked(indices, &shape[..sparse_dims], coalesced);
        Self::from_parts(pattern, values, shape[sparse_dims..].to_vec(), Fill::Zero)
    }

    /// The tensor of an existing pattern.
    ///
    /// # Errors
    ///
    /// `length_mismatch` or `shape_mismatch` if the values do not fit; `unsupported_dtype`, `device_mismatch`.
    pub fn from_pattern<const R: usize>(pattern: CooPattern, values: Tensor<R, K>) -> Result<Self> {
        of_pattern("CooTensor::from_pattern", pattern, values)
    }

    /// The elements of `dense` that are not zero (not false). The last `dense_dims` dims stay dense: a block is stored
    /// if any of its elements is not zero. NaN is not zero. Reads the number of them from the device.
    ///
    /// # Errors
    ///
    /// `shape_mismatch` for more dense dims than dims.
    #[or_panic]
    pub fn try_from_dense(dense: Tensor<D, K>, dense_dims: usize) -> Result<Self> {
        if dense_dims > D {
            let rule = "dense_dims must be at most the rank {right:1}, got {left:1}";
            let (left, right) = (vec![dense_dims], vec![D]);
            return Err(SparseError::ShapeMismatch { op: "from_dense", rule, left, right });
        }
        let shape = dense.dims();
        let (sparse, tail) = shape.split_at(D - dense_dims);
        let (rows, block): (usize, usize) = (sparse.iter().product(), tail.iter().product());
        let flat = dense.reshape(Exact([rows, block]));
        let stored = nonzero_rows(&flat);
        let nnz = stored.dims()[0];
        let coordinates = if nnz == 0 { vec![] } else { unravel(stored.clone(), sparse) };
        let pattern = CooPattern::new_unchecked(join_dims(coordinates, sparse, nnz, &stored), sparse, true);
        let rows = flat.select(0, stored);
        Ok(Self::from_parts(pattern, rows, tail.to_vec(), Fill::Zero))
    }
}

impl<K: Kind> CooTensor<2, K> {
    /// The adjacency `[nodes, nodes]` of a list of directed edges `(from, to)`, with one value for each edge. `nodes`
    /// is the number of nodes; with `None` it is one more than the largest node of an edge.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::CooTensor;
    ///
    /// let ones = Tensor::<1>::ones([2], &Device::flex());
    /// assert_eq!(CooTensor::from_edges(&[(0, 1), (2, 1)], ones.clone(), 4).unwrap().dims(), [4, 4]);
    /// assert_eq!(CooTensor::from_edges(&[(0, 1), (2, 1)], ones, None).unwrap().dims(), [3, 3]);
    /// ```
    ///
    /// # Errors
    ///
    /// `length_mismatch`, `index_out_of_range`.
    pub fn from_edges(edges: &[(usize, usize)], values: Tensor<1, K>, nodes: impl Into<Option<usize>>) -> Result<Self> {
        let named = || edges.iter().map(|&(from, to)| from.max(to)).max().map_or(0, |last| last.saturating_add(1));
        let nodes = nodes.into().unwrap_or_else(named);
        let device = values.device().inner();
        let ends = edges.iter().map(|&(from, _)| from).chain(edges.iter().map(|&(_, to)| to));
        let ends = ends
            .map(|end| {
                i64::try_from(end).map_err(|_| SparseError::Overflow {
                    op: "CooTensor::from_edges",
                    what: "a node",
                    limit: i64::MAX as u128,
                    got: end as u128,
                })
            })
            .collect::<Result<Vec<i64>>>()?;
        // Checked here, on the host: a 32-bit device would wrap a large index silently.
        if let Some(position) = ends.iter().position(|&end| end as usize >= nodes) {
            return Err(SparseError::IndexOutOfRange {
                op: "CooTensor::from_edges",
                axis: position / edges.len(),
                low: 0,
                size: nodes,
                index: ends[position],
                position,
            });
        }
        Self::new(ints(ends, [2, edges.len()], &device), values, [nodes, nodes])
    }
}

impl<const D: usize, K: Kind> CsrTensor<D, K> {
    /// A matrix `[M, N]`, or a batch `[B, M, N]`, from row pointers `[B * (M + 1)]` (each matrix starting at 0),
    /// columns `[nnz]` and values `[nnz]`, filled with zero. Columns ascend strictly in a row. The check reads one
    /// number from the device, for a batch two.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::CsrTensor;
    ///
    /// let device = Device::flex();
    /// let row_ptr = Tensor::from_data([0, 1, 3], &device);
    /// let col_idx = Tensor::from_data([2, 0, 2], &device);
    /// let values = Tensor::<1>::from_floats([1.0, 2.0, 3.0], &device);
    /// let a = CsrTensor::<2>::new(row_ptr, col_idx, values, [2, 3]).unwrap();
    /// assert_eq!(a.nnz(), 3);
    /// ```
    ///
    /// # Errors
    ///
    /// `shape_mismatch`, `length_mismatch`, `invalid_row_ptr`, `index_out_of_range`, `unsorted_columns`,
    /// `unsupported_dtype`, `device_mismatch`, `overflow`.
    pub fn new(
        row_ptr: Tensor<1, Int>,
        col_idx: Tensor<1, Int>,
        values: Tensor<1, K>,
        shape: [usize; D],
    ) -> Result<Self> {
        const OP: &str = "CsrTensor::new";
        let values = value_rows(OP, values, col_idx.dims()[0], &[])?;
        same_device(OP, &col_idx.device(), &values.device())?;
        let pattern = CsrPattern::checked(OP, row_ptr, col_idx, &shape)?;
        Ok(Self::from_parts(pattern, values, vec![], Fill::Zero))
    }

    /// The tensor without a check of the indices (see [`CsrPattern::new_unchecked`] for the form of `row_ptr`).
    ///
    /// # Panics
    ///
    /// If the values do not fit the number of columns.
    #[track_caller]
    pub fn new_unchecked(
        row_ptr: Tensor<1, Int>,
        col_idx: Tensor<1, Int>,
        values: Tensor<1, K>,
        shape: [usize; D],
    ) -> Self {
        let values = expect(value_rows("CsrTensor::new_unchecked", values, col_idx.dims()[0], &[]));
        Self::from_parts(CsrPattern::new_unchecked(row_ptr, col_idx, &shape), values, vec![], Fill::Zero)
    }

    /// The tensor of an existing pattern and values `[nnz, dense dims..]`. Its rank is that of the pattern and the
    /// number of dense dims together.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::CsrTensor;
    ///
    /// let device = Device::flex();
    /// let edges = CsrTensor::<2>::eye(3, &device);
    /// // Weights of 8 heads for each edge.
    /// let heads = CsrTensor::<3>::from_pattern(edges.pattern().clone(), Tensor::<2>::ones([3, 8], &device)).unwrap();
    /// assert_eq!((heads.dims(), heads.dense_dims()), ([3, 3, 8], 1));
    /// ```
    ///
    /// # Errors
    ///
    /// `length_mismatch` or `shape_mismatch` if the values do not fit; `unsupported_dtype`, `device_mismatch`.
    pub fn from_pattern<const R: usize>(pattern: CsrPattern, values: Tensor<R, K>) -> Result<Self> {
        of_pattern("CsrTensor::from_pattern", pattern, values)
    }

    /// The elements of `dense` that are not zero (not false). NaN is not zero. Reads their number from the device.
    ///
    /// # Errors
    ///
    /// `shape_mismatch` if the rank is not 2 or 3.
    #[or_panic]
    pub fn try_from_dense(dense: Tensor<D, K>) -> Result<Self> {
        let stored = CooTensor::try_from_dense(dense, 0)?;
        let indices = stored.pattern.indices().clone();
        CsrPattern::check_shape("from_dense", stored.pattern.shape(), stored.nnz())?;
        Ok(Self::from_parts(
            CsrPattern::from_coordinates(indices, stored.pattern.shape(), true),
            stored.values,
            vec![],
            Fill::Zero,
        ))
    }

    /// Row pointers in the form that [`new`](Self::new) takes: `[M + 1]`, or `[B * (M + 1)]` with each matrix starting
    /// at 0.
    pub fn row_ptr(&self) -> Tensor<1, Int> {
        self.pattern.split_row_ptr()
    }

    /// Columns `[nnz]`.
    pub fn col_idx(&self) -> Tensor<1, Int> {
        self.pattern.col_idx().clone()
    }
}

impl<const D: usize, K: Kind> CooTensor<D, K> {
    /// Coordinates `[sparse_dims, nnz]`.
    pub fn indices(&self) -> Tensor<2, Int> {
        self.pattern.indices().clone()
    }
}

/// A pattern with values `[nnz, dense dims..]`.
fn of_pattern<P: Pattern, const D: usize, const R: usize, K: Kind>(
    op: &'static str,
    pattern: P,
    values: Tensor<R, K>,
) -> Result<SparseTensor<P, D, K>> {
    let dims = values.dims();
    if pattern.shape().len() + R != D + 1 {
        return Err(rank_mismatch(op, pattern.shape(), D));
    }
    let rows = value_rows(op, values, pattern.nnz(), &dims[1..])?;
    same_device(op, &pattern.device(), &rows.device())?;
    Ok(SparseTensor::from_parts(pattern, rows, dims[1..].to_vec(), Fill::Zero))
}

fn rank_mismatch(op: &'static str, shape: &[usize], rank: usize) -> SparseError {
    SparseError::ShapeMismatch {
        op,
        rule: "the pattern's dims {left} and those of the values must make the rank {right:1}",
        left: shape.to_vec(),
        right: vec![rank],
    }
}

impl<K: Kind> CsrTensor<2, K> {
    /// [`new`](Self::new) with the smallest shape that holds all elements. There is a row for each pointer but the
    /// last, and one more column than the largest index (0 if there is none). This is PyTorch's `sparse_csr_tensor`
    /// without a size.
    ///
    /// Reads the largest column from the device, besides the check.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::CsrTensor;
    ///
    /// let device = Device::flex();
    /// let (row_ptr, col_idx) = (Tensor::from_data([0, 1, 3], &device), Tensor::from_data([2, 0, 2], &device));
    /// let a = CsrTensor::new_inferred(row_ptr, col_idx, Tensor::<1>::ones([3], &device)).unwrap();
    /// assert_eq!(a.dims(), [2, 3]);
    /// ```
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn new_inferred(row_ptr: Tensor<1, Int>, col_idx: Tensor<1, Int>, values: Tensor<1, K>) -> Result<Self> {
        let rows = row_ptr.dims()[0].saturating_sub(1);
        let cols = if col_idx.dims()[0] == 0 {
            0
        } else {
            size_for("CsrTensor::new_inferred", 1, read_all(signed(col_idx.clone()).max_dim(0))[0])?
        };
        Self::new(row_ptr, col_idx, values, [rows, cols])
    }
}

/// The size of a dim with this largest index.
fn size_for(op: &'static str, axis: usize, largest: i64) -> Result<usize> {
    match largest.checked_add(1) {
        Some(size @ 0..) => Ok(size as usize),
        Some(_) => Err(SparseError::IndexOutOfRange { op, axis, low: 0, size: 0, index: largest, position: 0 }),
        None => {
            let (limit, got) = (i64::MAX as u128, i64::MAX as u128 + 1);
            Err(SparseError::Overflow { op, what: "a dimension", limit, got })
        }
    }
}

/// Positions of the rows of `flat` with an element that is not zero, ascending. Reads their number from the device.
fn nonzero_rows<K: Kind>(flat: &Tensor<2, K>) -> Tensor<1, Int> {
    let ([rows, block], device) = (flat.dims(), flat.device().inner());
    let dtype = sparse_burn::index_dtype_for(rows);
    if rows == 0 || block == 0 {
        return Tensor::empty([0], (&device, dtype));
    }
    let hit = nonzero(flat.clone().inner());
    let hit = if block == 1 { hit } else { hit.any_dim(1) };
    kept(hit.reshape(Exact([rows])), dtype)
}

impl<P: Pattern, const D: usize, K: Kind> SparseTensor<P, D, K> {
    /// A tensor of zeros: nothing is stored. `options` are a device, or a device and a dtype, as for Burn's own.
    ///
    /// ```
    /// use burn::tensor::{DType, Device};
    /// use sparse_tensor::{CooTensor, CsrTensor};
    ///
    /// let device = Device::flex();
    /// assert_eq!(CooTensor::<4>::zeros([2, 3, 4, 5], &device).nnz(), 0);
    /// assert_eq!(CsrTensor::<2>::zeros([2, 3], (&device, DType::F64)).dtype(), DType::F64);
    /// assert_eq!(CsrTensor::<4>::try_zeros([2, 3, 4, 5], &device).unwrap_err().kind(), "shape_mismatch");
    /// ```
    ///
    /// # Errors
    ///
    /// `overflow` for a size beyond 64 bits, `shape_mismatch` for a rank that the layout does not have,
    /// `unsupported_dtype`, `would_densify` for more compressed rows than [`dense_limit`](crate::dense_limit).
    #[or_panic]
    pub fn try_zeros(shape: [usize; D], options: impl Into<TensorCreationOptions>) -> Result<Self> {
        const OP: &str = "zeros";
        P::check_shape(OP, &shape, 0)?;
        let options = options.into();
        if let Some(dtype) = options.dtype {
            has_dtype(OP, &options.device, dtype)?;
        }
        let values = value_rows(OP, Tensor::<2, K>::empty([0, 1], options), 0, &[1])?;
        let indices = Tensor::empty([D, 0], &values.device().inner());
        let pattern = P::from_coordinates(indices, &shape, true);
        Ok(Self::from_parts(pattern, values, vec![], Fill::Zero))
    }
}
