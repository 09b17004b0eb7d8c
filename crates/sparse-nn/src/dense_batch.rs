//! The graphs of a batch side by side, as dense tensors.

use super::pooling::check_nodes;
use burn::tensor::{Bool, Int, Tensor, TensorData};
use sparse_macros::or_panic;
use sparse_ops::extend::{Exact, Parts, cells, index_dtype_for, index_tensor, read_all, same_elements};
use sparse_ops::ops::{IndexPlan, Reduce};
use sparse_ops::{CsrTensor, Result, SparseError};

/// The rows of the graphs of a batch as `[B, M, F]`: row `k` of graph `b` is at `[b, k]`, and zeros are after the last
/// one. `M` is the number of nodes of the largest graph, and at least 1.
///
/// Gradients reach the rows. Nodes of a graph keep their order; the ids of graphs need not ascend. The ids are read
/// from the device. Cost: `O(B * M * F)`. (PyG's `to_dense_batch` and `to_dense_adj`. Its `unbatch` is
/// `GraphBatch::split_rows`.)
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::{CsrTensor, nn::DenseBatch, ops::IndexPlan};
///
/// let device = Device::flex();
/// let graphs = IndexPlan::from_list(&[0, 0, 1], 2, &device).unwrap();
/// let batch = DenseBatch::new(Tensor::from_floats([[1.0], [2.0], [3.0]], &device), &graphs);
/// let list = |x: Tensor<3>| x.into_data().iter::<f32>().collect::<Vec<_>>();
/// assert_eq!(list(batch.x.clone()), [1.0, 2.0, 3.0, 0.0]);
/// assert_eq!(batch.rows(batch.x.clone() * 2).into_data().iter::<f32>().collect::<Vec<_>>(), [2.0, 4.0, 6.0]);
/// let edge = CsrTensor::<2>::from_dense(Tensor::from_floats([[0.0, 5.0, 0.0], [0.0; 3], [0.0; 3]], &device));
/// assert_eq!(list(batch.adjacency(&edge)), [0.0, 5.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
/// ```
#[derive(Clone, Debug)]
pub struct DenseBatch {
    /// `[B, M, F]`.
    pub x: Tensor<3>,
    /// Which places have a row, `[B, M]`.
    pub mask: Tensor<2, Bool>,
    /// Which of the `B * M` places each row has.
    places: IndexPlan,
}

impl DenseBatch {
    /// Rows `[N, F]`, and the graph of each.
    ///
    /// # Errors
    ///
    /// `shape_mismatch` if there is not a row for each node; `overflow`, `unsupported_dtype`, `device_mismatch`.
    #[or_panic]
    pub fn try_new(x: Tensor<2>, graphs: &IndexPlan) -> Result<Self> {
        Self::of("DenseBatch::new", x, graphs, None)
    }

    /// With `places` for the nodes of each graph, whatever the largest one has: batches of one size.
    ///
    /// # Errors
    ///
    /// `invalid` if a graph has more nodes, or for 0 places (PyG drops nodes); and as [`try_new`](Self::try_new).
    #[or_panic]
    pub fn try_with_places(x: Tensor<2>, graphs: &IndexPlan, places: usize) -> Result<Self> {
        Self::of("DenseBatch::with_places", x, graphs, Some(places))
    }

    fn of(op: &'static str, x: Tensor<2>, graphs: &IndexPlan, wanted: Option<usize>) -> Result<Self> {
        check_nodes(op, &x, graphs)?;
        let ids = if graphs.is_empty() { vec![] } else { read_all(graphs.index().clone()) };
        let (count, [_, width]) = (graphs.size(), x.dims());
        let mut sizes = vec![0; count];
        let at: Vec<usize> = ids
            .iter()
            .map(|&id| {
                sizes[id as usize] += 1;
                sizes[id as usize] - 1
            })
            .collect();
        let largest = sizes.iter().copied().max().unwrap_or(0);
        let places = wanted.unwrap_or(largest.max(1));
        if places == 0 || places < largest {
            let message = format!("there must be a place for each of the {largest} nodes of a graph, got {places}");
            return Err(SparseError::invalid(op, message));
        }
        check_cells(op, &[count, places, width.max(1)])?;
        let flat: Vec<usize> = ids.iter().zip(&at).map(|(&id, at)| id as usize * places + at).collect();
        let mask: Vec<bool> = sizes.iter().flat_map(|&size| (0..places).map(move |place| place < size)).collect();
        let device = x.device();
        let plan = IndexPlan::from_list(&flat, count * places, &device)?;
        Ok(Self {
            mask: Tensor::from_data(TensorData::new(mask, [count, places]), &device.inner()),
            x: placed(&plan, x)?.reshape(Exact([count, places, width])),
            places: plan,
        })
    }

    /// The rows of the nodes `[N, G]` from `[B, M, G]`: what is at other places is dropped.
    ///
    /// # Errors
    ///
    /// `shape_mismatch` if the first dims are not those of the batch; `unsupported_dtype`.
    #[or_panic]
    pub fn try_rows(&self, x: Tensor<3>) -> Result<Tensor<2>> {
        let ([batch, places], [first, second, width]) = (self.mask.dims(), x.dims());
        if [first, second] != [batch, places] {
            let rule = "x {left} must have the graphs and places {right} of the batch";
            return Err(SparseError::shape_mismatch("DenseBatch::rows", rule, x.dims(), [batch, places]));
        }
        self.places.try_select(x.reshape(Exact([batch * places, width])), 0)
    }

    /// The adjacency `[N, N]` of the batch as `[B, M, M]`, and 0 where there is no edge. Rows are targets, as in the
    /// adjacency. (PyG's has sources there.)
    ///
    /// # Errors
    ///
    /// As [`try_edges`](Self::try_edges).
    #[or_panic]
    pub fn try_adjacency(&self, adjacency: &CsrTensor<2>) -> Result<Tensor<3>> {
        let [batch, places] = self.mask.dims();
        let dense = self.scattered("DenseBatch::adjacency", adjacency, adjacency.rows().clone())?;
        Ok(dense.reshape(Exact([batch, places, places])))
    }

    /// Features of the edges `[nnz, D]`, in the order of the stored elements, as `[B, M, M, D]`.
    ///
    /// # Errors
    ///
    /// `shape_mismatch` for an adjacency of other nodes; `length_mismatch` if there is not a row for each edge;
    /// `invalid` for an edge between two graphs; `overflow`, `dtype_mismatch`, `device_mismatch`.
    #[or_panic]
    pub fn try_edges(&self, adjacency: &CsrTensor<2>, features: Tensor<2>) -> Result<Tensor<4>> {
        let ([batch, places], [_, width]) = (self.mask.dims(), features.dims());
        let dense = self.scattered("DenseBatch::edges", adjacency, features)?;
        Ok(dense.reshape(Exact([batch, places, places, width])))
    }

    /// `[B * M * M, D]`.
    fn scattered(&self, op: &'static str, adjacency: &CsrTensor<2>, rows: Tensor<2>) -> Result<Tensor<2>> {
        let (nodes, [batch, places], [count, width]) = (self.places.len(), self.mask.dims(), rows.dims());
        if adjacency.dims() != [nodes, nodes] {
            let rule = "the adjacency {left} must have the nodes {right} of the batch on both sides";
            return Err(SparseError::shape_mismatch(op, rule, adjacency.dims(), [nodes, nodes]));
        }
        if count != adjacency.nnz() {
            return Err(SparseError::length_mismatch(op, "the features of edges", adjacency.nnz(), count));
        }
        same_elements(op, adjacency.rows(), &rows)?;
        check_cells(op, &[batch, places, places, width.max(1)])?;
        let size = batch * places * places;
        if count == 0 {
            return Ok(Tensor::zeros([size, width], (&rows.device(), rows.dtype())));
        }
        let pattern = adjacency.pattern();
        let place = index_tensor(self.places.index().clone(), index_dtype_for(size));
        let [row, col] = [pattern.row_ids(), pattern.col_idx()].map(|ends| place.clone().select(0, ends.clone()));
        let graph_of = |place: &Tensor<1, Int>| place.clone().div_scalar(places as i64);
        let distance = read_all((graph_of(&row) - graph_of(&col)).abs().max());
        if distance[0] != 0 {
            return Err(SparseError::invalid(op, "an edge must join nodes of one graph, got one between two graphs"));
        }
        let index = row.mul_scalar(places as i64) + col.remainder_scalar(places as i64);
        placed(&IndexPlan::new(index, size)?, rows)
    }
}

/// Rows at their places, and zeros at the others.
fn placed(plan: &IndexPlan, rows: Tensor<2>) -> Result<Tensor<2>> {
    let zeros = Tensor::zeros([plan.size(), rows.dims()[1]], (&rows.device(), rows.dtype()));
    if rows.shape().num_elements() == 0 { Ok(zeros) } else { plan.try_put(zeros, 0, rows, Reduce::Add, false) }
}

fn check_cells(op: &'static str, shape: &[usize]) -> Result<()> {
    let (limit, got) = (isize::MAX as u128 / 16, cells(shape));
    if got <= limit { Ok(()) } else { Err(SparseError::overflow(op, "the elements of the dense batch", limit, got)) }
}
