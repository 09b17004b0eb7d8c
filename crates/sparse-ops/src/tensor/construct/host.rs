//! Matrices from lists of the host, and back.

use crate::base::checks::creation_dtype;
use crate::base::exact::Exact;
use crate::base::index::{index_dtype, ints, read_all};
use crate::base::kind::{Kind, dtype_name};
use crate::base::scalar::int_range;
use crate::pattern::layout::Pattern;
use crate::rows::{RowSums, sum_rows};
use crate::tensor::fill::Fill;
use crate::tensor::sparse::{SparseTensor, value_rows};
use burn::tensor::{DType, Device, Element, Int, Tensor, TensorCreationOptions, TensorData};
use sparse_core::dynamic::{IdVec, Ids, coalesce};
use sparse_core::{Result, SparseError};
use sparse_macros::or_panic;

/// The numbers of nodes of a list of edges, as [`from_edges`](SparseTensor::from_edges) takes them.
///
/// | given | adjacency |
/// |---|---|
/// | `n` or `Some(n)` | `[n, n]` |
/// | `None` | `[n, n]`, where `n` is one more than the largest node of an edge |
/// | `[m, n]` | `[m, n]`: edges between `m` nodes and `n` others (a bipartite graph) |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nodes {
    /// As many as the edges name.
    Named,
    /// This many, on both sides.
    One(usize),
    /// Rows and columns.
    Two([usize; 2]),
}

impl From<usize> for Nodes {
    fn from(nodes: usize) -> Self {
        Self::One(nodes)
    }
}

impl From<Option<usize>> for Nodes {
    fn from(nodes: Option<usize>) -> Self {
        nodes.map_or(Self::Named, Self::One)
    }
}

impl From<[usize; 2]> for Nodes {
    fn from(nodes: [usize; 2]) -> Self {
        Self::Two(nodes)
    }
}

impl<P: Pattern, K: Kind> SparseTensor<P, 2, K> {
    /// The matrix with `values[k]` at row `rows[k]` and column `cols[k]`, filled with zero. This is SciPy's
    /// `coo_array((values, (rows, cols)), shape)`, and `csr_array` of the same.
    ///
    /// Entries may be in any order and may repeat: an element is the sum of its repetitions (of Bool: whether any
    /// holds). COO keeps the entries as they are given; CSR sorts and sums them. `options` are a device, or a device
    /// and a dtype. Values are converted as by Burn's `Tensor::from_data`, so without a dtype they get the device's
    /// own. A number that an integer dtype cannot hold is an error.
    ///
    /// Everything is checked on the host, and the device is not read. Cost: one pass over the lists; for CSR a sort if
    /// they are not in order.
    ///
    /// ```
    /// use burn::tensor::{DType, Device};
    /// use sparse_tensor::CsrTensor;
    ///
    /// let device = Device::flex();
    /// let a = CsrTensor::<2>::from_triplets(&[1, 0, 1], &[2, 0, 2], &[1.0, 5.0, 2.0], [2, 3], &device).unwrap();
    /// assert_eq!(a.to_triplets::<f32>(), (vec![0, 1], vec![0, 2], vec![5.0, 3.0]));
    /// let wide = CsrTensor::<2>::from_triplets(&[1], &[2], &[0.1], [2, 3], (&device, DType::F64)).unwrap();
    /// assert_eq!(wide.to_triplets::<f64>().2, [0.1]);
    /// ```
    ///
    /// # Errors
    ///
    /// `length_mismatch`, `index_out_of_range`; `dtype_mismatch` for a dtype of another kind, and for floats as
    /// integers; `overflow` for an integer that its dtype cannot hold; `unsupported_dtype`. For CSR also
    /// `would_densify`: more than [the limit](crate::Limits) of rows that are almost all empty.
    pub fn from_triplets<E: Element>(
        rows: &[usize],
        cols: &[usize],
        values: &[E],
        shape: [usize; 2],
        options: impl Into<TensorCreationOptions>,
    ) -> Result<Self> {
        const OP: &str = "from_triplets";
        for (what, got) in [("cols", cols.len()), ("values", values.len())] {
            if got != rows.len() {
                return Err(SparseError::length_mismatch(OP, what, rows.len(), got));
            }
        }
        let values = host_values(OP, values.to_vec(), &options.into())?;
        at_places(OP, rows.iter().copied().zip(cols.iter().copied()), values, shape)
    }

    /// The matrix whose row `r` has the `(column, value)` pairs `rows[r]`, filled with zero: the ratings of each user,
    /// or the counts of each text. `rows` is any list of lists: `&[vec![(0, 1.0)], vec![]]`.
    ///
    /// `cols` is the number of columns; with `None` it is one more than the largest column. Columns may be in any order
    /// and may repeat, as in [`from_triplets`](Self::from_triplets), which has the rules for values and `options`.
    ///
    /// ```
    /// use burn::tensor::Device;
    /// use sparse_tensor::CsrTensor;
    ///
    /// let texts = [vec![(7, 1.0), (2, 1.0), (7, 1.0)], vec![], vec![(0, 1.0)]];
    /// let counts = CsrTensor::<2>::from_rows(&texts, 10, &Device::flex()).unwrap();
    /// assert_eq!(counts.to_triplets::<f32>(), (vec![0, 0, 2], vec![2, 7, 0], vec![1.0, 2.0, 1.0]));
    /// ```
    ///
    /// # Errors
    ///
    /// As [`from_triplets`](Self::from_triplets).
    pub fn from_rows<R: AsRef<[(usize, E)]>, E: Element>(
        rows: &[R],
        cols: impl Into<Option<usize>>,
        options: impl Into<TensorCreationOptions>,
    ) -> Result<Self> {
        const OP: &str = "from_rows";
        let entries = || rows.iter().flat_map(|row| row.as_ref());
        let named = || entries().map(|&(col, _)| col).max().map_or(0, |last| last.saturating_add(1));
        let cols = cols.into().unwrap_or_else(named);
        let values = host_values(OP, entries().map(|&(_, value)| value).collect(), &options.into())?;
        let at = rows.iter().enumerate().flat_map(|(row, list)| list.as_ref().iter().map(move |&(col, _)| (row, col)));
        at_places(OP, at, values, [rows.len(), cols])
    }

    /// The adjacency of a list of edges `(i, j)`, with one value for each edge: edge `(i, j)` is the element at row `i`
    /// and column `j`. [`Nodes`] says how large it is: `n`, `None`, or `[m, n]` for a bipartite graph.
    ///
    /// Layers collect into row `i` from column `j`: for them `i` is the node that receives. Of a list of edges
    /// `(from, to)` they take the transpose.
    ///
    /// Edges may be in any order and may repeat. COO keeps them as they are given. CSR sorts them and sums the values
    /// of equal ones; its gradients pass to each of them. So a list in the order of the edges that comes later is not
    /// in the order of a CSR's values: make a COO first, whose
    /// [`coalesce_plan`](crate::CooTensor::coalesce_plan) brings it there.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::{CooTensor, CsrTensor};
    ///
    /// let ones = Tensor::<1>::ones([2], &Device::flex());
    /// let edges = [(0, 1), (2, 1)];
    /// assert_eq!(CooTensor::from_edges(&edges, ones.clone(), 4).unwrap().dims(), [4, 4]);
    /// assert_eq!(CsrTensor::from_edges(&edges, ones.clone(), None).unwrap().dims(), [3, 3]);
    /// assert_eq!(CsrTensor::from_edges(&edges, ones, [3, 2]).unwrap().dims(), [3, 2]);
    /// ```
    ///
    /// # Errors
    ///
    /// `length_mismatch`, `index_out_of_range`, `unsupported_dtype`, `overflow`; for CSR `would_densify` as
    /// [`from_triplets`](Self::from_triplets).
    pub fn from_edges(edges: &[(usize, usize)], values: Tensor<1, K>, nodes: impl Into<Nodes>) -> Result<Self> {
        let shape = match nodes.into() {
            Nodes::One(nodes) => [nodes; 2],
            Nodes::Two(nodes) => nodes,
            Nodes::Named => {
                let last = edges.iter().map(|&(from, to)| from.max(to)).max();
                [last.map_or(0, |last| last.saturating_add(1)); 2]
            }
        };
        at_places("from_edges", edges.iter().copied(), values, shape)
    }

    /// The stored elements on the host: the row, the column and the value of each, in storage order. Values are
    /// converted to `E`. Duplicates of an uncoalesced tensor come one by one. The fill is not part of it.
    ///
    /// Cost: reads the coordinates and the values from the device.
    ///
    /// # Errors
    ///
    /// `shape_mismatch` for a tensor with dense dims.
    #[or_panic]
    pub fn try_to_triplets<E: Element>(&self) -> Result<(Vec<usize>, Vec<usize>, Vec<E>)> {
        if self.dense_dims() > 0 {
            let (left, right) = (self.dims().to_vec(), vec![self.sparse_dims(), self.dense_dims()]);
            let rule = "the matrix must have no dense dims, got shape {left} with [sparse, dense] dims {right}";
            return Err(SparseError::shape_mismatch("to_triplets", rule, left, right));
        }
        let nnz = self.nnz();
        if nnz == 0 {
            return Ok((vec![], vec![], vec![]));
        }
        let mut rows: Vec<usize> =
            read_all(self.pattern.coordinates().clone()).into_iter().map(|index| index as usize).collect();
        let cols = rows.split_off(nnz);
        let values = sparse_burn::read_data(self.values.clone().inner()).iter::<E>().collect();
        Ok((rows, cols, values))
    }
}

/// The matrix of a layout with these entries of the host, `(row, column, value)`, in any order; those that repeat are
/// summed. Without a dtype in `options` the values keep theirs.
///
/// # Errors
///
/// As [`from_triplets`](SparseTensor::from_triplets).
pub fn from_entries<P: Pattern, K: Kind, E: Element>(
    op: &'static str,
    entries: impl Iterator<Item = (usize, usize, E)>,
    shape: [usize; 2],
    mut options: TensorCreationOptions,
) -> Result<SparseTensor<P, 2, K>> {
    options.dtype.get_or_insert(E::dtype());
    let (at, values): (Vec<_>, Vec<_>) = entries.map(|(row, col, value)| ((row, col), value)).unzip();
    at_places(op, at.into_iter(), host_values(op, values, &options)?, shape)
}

/// The matrix with these entries, once their coordinates are checked.
fn at_places<P: Pattern, K: Kind>(
    op: &'static str,
    entries: impl Iterator<Item = (usize, usize)> + Clone,
    values: Tensor<1, K>,
    shape: [usize; 2],
) -> Result<SparseTensor<P, 2, K>> {
    // Checked here, on the host: a 32-bit device would wrap a large index silently.
    let (mut nnz, mut last, mut ascends) = (0, None, true);
    for at @ (row, col) in entries.clone() {
        for (axis, index) in [row, col].into_iter().enumerate() {
            if index >= shape[axis] {
                return Err(SparseError::index_out_of_range(op, axis, shape[axis], index, nnz));
            }
        }
        ascends &= last < Some(at);
        last = Some(at);
        nnz += 1;
    }
    let values = value_rows(op, values, nnz, &[])?;
    P::check_shape(op, &shape, nnz)?;
    let mut indices = Vec::with_capacity(2 * nnz);
    indices.extend(entries.clone().map(|(row, _)| row as i64));
    indices.extend(entries.map(|(_, col)| col as i64));
    let device = values.device().inner();
    if P::HOLDS_DUPLICATES || ascends {
        let pattern = P::from_coordinates(ints(indices, [2, nnz], &device), &shape, ascends);
        return Ok(SparseTensor::from_parts(pattern, values, vec![], Fill::Zero));
    }
    // Merged here too: a device would have to be asked for the number of elements.
    let (merged, order, ptr) = match index_dtype(&shape, nnz) {
        DType::I32 => {
            let indices: Vec<i32> = indices.into_iter().map(|index| index as i32).collect();
            coalesce(&shape, Ids::I32(&indices), nnz)
        }
        _ => coalesce(&shape, Ids::I64(&indices), nnz),
    };
    let merged = uploaded(merged, &device);
    let count = merged.dims()[0] / 2;
    let pattern = P::from_coordinates(merged.reshape(Exact([2, count])), &shape, true);
    let sums = RowSums::new(Some(uploaded(order, &device)), uploaded(ptr, &device));
    Ok(SparseTensor::from_parts(pattern, sum_rows(values, &sums), vec![], Fill::Zero))
}

fn uploaded(list: IdVec, device: &Device) -> Tensor<1, Int> {
    let length = [list.len()];
    let data = match list {
        IdVec::I32(list) => TensorData::new(list, length),
        IdVec::I64(list) => TensorData::new(list, length),
    };
    let dtype = data.dtype();
    Tensor::from_data(data, (device, dtype))
}

/// Values of the host as a tensor `[n]`, in the dtype that `options` name for its kind.
pub(crate) fn host_values<E: Element, K: Kind>(
    op: &'static str,
    values: Vec<E>,
    options: &TensorCreationOptions,
) -> Result<Tensor<1, K>> {
    let (given, dtype) = (E::dtype(), creation_dtype::<K>(op, options)?);
    if (given.is_float() && !dtype.is_float()) || given.is_bool() != dtype.is_bool() {
        return Err(SparseError::dtype_mismatch(op, dtype_name(given), dtype_name(dtype)));
    }
    if let Some((low, high)) = int_range(dtype)
        && let Some(value) = values.iter().map(|value| value.to_i128()).find(|value| !(low..=high).contains(value))
    {
        let limit = if value < 0 { low } else { high }.unsigned_abs();
        return Err(SparseError::overflow(op, "the magnitude of a value", limit, value.unsigned_abs()));
    }
    let length = values.len();
    Ok(Tensor::from_data(TensorData::new(values, [length]), (&options.device, dtype)))
}
