//! Maximum flows, and matchings of rows with columns.

use super::host::HostRows;
use super::paths::{check_count, weights};
use burn::tensor::{Bool, Int, Tensor, TensorData};
use sparse_core::graph::{self, Flow, row_of};
use sparse_macros::or_panic;
use sparse_ops::extend::{Erased, Parts, check_ids, check_square, ints, record};
use sparse_ops::{CsrTensor, Kind, Result, SparseError};

/// The largest flow from a source to a sink.
#[derive(Clone, Debug)]
pub struct MaximumFlow {
    /// Its value, `[1]`, on the tape of the capacities.
    pub value: Tensor<1>,
    /// What flows along each edge: the pattern of the capacities. Not on the tape.
    pub flow: CsrTensor<2>,
    /// The nodes on the side of the source of a cut with the least capacity, `[N]`.
    pub source_side: Tensor<1, Bool>,
}

/// The largest flow from node `source` to node `sink` of `capacities` `[N, N]`. Along a stored element flows something
/// from 0 to its value, and as much leaves each other node as enters it.
///
/// Backward: `d value / d c_e` is 1 for the edges of the cut found, else 0: a subgradient where several cuts are least.
/// Cost: pattern and values are read to the host; `O(N^2 nnz)`, and `O(nnz^1.5)` with capacities of one (Dinitz 1970).
/// In f64, then rounded. (SciPy's `maximum_flow`, whose capacities are integers.)
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::CooTensor;
/// use sparse_tensor::data::maximum_flow;
///
/// let capacities = Tensor::<1>::from_floats([3.0, 2.0, 1.0, 4.0], &Device::flex());
/// let a = CooTensor::from_edges(&[(0, 1), (0, 2), (1, 3), (2, 3)], capacities, 4).unwrap().to_csr();
/// assert_eq!(maximum_flow(&a, 0, 3).value.into_scalar::<f32>(), 3.0);
/// ```
///
/// # Errors
///
/// `shape_mismatch` if the matrix is not square; `index_out_of_range` for a source or sink that is no node;
/// `fill_mismatch` for another fill than zero or undefined; `invalid` if source and sink are one node, and that names
/// the edge for a capacity that is negative or not finite; `overflow` for 2^32 nodes or more.
#[or_panic]
pub fn try_maximum_flow(capacities: &CsrTensor<2>, source: usize, sink: usize) -> Result<MaximumFlow> {
    const OP: &str = "maximum_flow";
    check_square(OP, capacities)?;
    let nodes = capacities.dims()[0];
    check_ids(OP, &[source, sink], nodes)?;
    if source == sink {
        return Err(SparseError::invalid(OP, format!("source and sink must be two nodes, got {source} for both")));
    }
    check_count(OP, nodes)?;
    let rows = HostRows::of(capacities.pattern());
    let limits = weights(OP, capacities, &rows)?;
    if let Some(at) = limits.iter().position(|capacity| !(0.0..f64::INFINITY).contains(capacity)) {
        let (row, col) = (row_of(rows.ptr(), at), rows.idx().at(at));
        let message =
            format!("a capacity must be from 0 on and finite, got {} for the edge ({row}, {col})", limits[at]);
        return Err(SparseError::invalid(OP, message));
    }
    let Flow { value, along, source_side } = graph::maximum_flow(rows.ptr(), rows.idx(), &limits, source, sink);
    let values = capacities.rows();
    let (plain, dtype) = (values.device().inner(), values.dtype());
    let of = |list: Vec<f64>, shape: &[usize]| TensorData::new(list, shape.to_vec()).convert_dtype(dtype);
    let mut cut = vec![0.0; limits.len()];
    for row in (0..nodes).filter(|&row| source_side[row]) {
        let own = rows.ptr().at(row)..rows.ptr().at(row + 1);
        own.filter(|&at| !source_side[rows.idx().at(at)]).for_each(|at| cut[at] = 1.0);
    }
    let cut = Tensor::<2>::from_data(of(cut, &[limits.len(), 1]), (&plain, dtype));
    let value = Tensor::<1>::from_data(of(vec![value], &[1]), (&plain, dtype));
    let value = record(value, [Erased::from(values)], cut, |cut, grad: Tensor<1>, _| {
        [Some((cut.clone() * grad.unsqueeze()).into())]
    });
    let along = Tensor::<1>::from_data(of(along, &[limits.len()]), (&plain, dtype));
    let source_side = Tensor::from_data(TensorData::new(source_side, [nodes]), &plain);
    Ok(MaximumFlow { value, flow: capacities.with_values(along), source_side })
}

/// The column that each row of `matrix` `[M, N]` is matched with, `[M]`, -1 for none, in a matching of the most pairs:
/// each row and each column is in one pair at most, and pairs are stored elements. Cost: the pattern is read to the
/// host; `O(nnz sqrt(M + N))` (Hopcroft and Karp 1973). (SciPy's
/// `maximum_bipartite_matching(.., perm_type="column")`.)
///
/// The number of pairs is the structural rank: the largest rank that values on this pattern can have, and that which
/// almost all have. (SciPy's `structural_rank`.)
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::CsrTensor;
/// use sparse_tensor::data::maximum_matching;
///
/// let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[1.0, 1.0], [1.0, 0.0]], &Device::flex()));
/// let columns = maximum_matching(&a);
/// assert_eq!(columns.to_data().iter::<i64>().collect::<Vec<_>>(), [1, 0]);
/// assert_eq!(columns.greater_equal_elem(0).int().sum().into_scalar::<i64>(), 2); // the structural rank
/// ```
pub fn maximum_matching<K: Kind>(matrix: &CsrTensor<2, K>) -> Tensor<1, Int> {
    let rows = HostRows::of(matrix.pattern());
    let [count, columns] = matrix.dims();
    ints(graph::maximum_matching(rows.ptr(), rows.idx(), columns), [count], &matrix.device().inner())
}

/// The column that each row of `matrix` `[M, N]` is matched with, `[M]`, in a matching of all rows whose elements have
/// the least sum. Pairs are stored elements with a finite value; `M <= N`. For the largest sum negate the matrix, and
/// for more rows than columns transpose it.
///
/// Cost: pattern and values are read to the host; `O(M nnz log(nnz))` (Jonker and Volgenant 1987, sparse). In f64. A
/// loss on the pairs is `matrix` at them, whose gradient is a subgradient of the least sum. (SciPy's
/// `min_weight_full_bipartite_matching`.)
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::CsrTensor;
/// use sparse_tensor::data::minimum_weight_matching;
///
/// let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[1.0, 2.0], [1.0, 5.0]], &Device::flex()));
/// assert_eq!(minimum_weight_matching(&a).into_data().iter::<i64>().collect::<Vec<_>>(), [1, 0]);
/// ```
///
/// # Errors
///
/// `shape_mismatch` for more rows than columns; `fill_mismatch` for another fill than zero or undefined; `invalid` that
/// names the element for a value that is NaN or negatively infinite, and a row that no matching of all rows has.
#[or_panic]
pub fn try_minimum_weight_matching(matrix: &CsrTensor<2>) -> Result<Tensor<1, Int>> {
    const OP: &str = "minimum_weight_matching";
    let [count, columns] = matrix.dims();
    if count > columns {
        let rule = "{left} must have a column for each row: transpose the matrix, got at most {right:1} pairs";
        return Err(SparseError::shape_mismatch(OP, rule, [count, columns], [columns]));
    }
    let rows = HostRows::of(matrix.pattern());
    let own = weights(OP, matrix, &rows)?;
    let found = graph::minimum_weight_matching(rows.ptr(), rows.idx(), columns, &own).map_err(|row| {
        SparseError::invalid(OP, format!("all rows must be matched, got none for row {row} beside those before it"))
    })?;
    Ok(ints(found, [count], &matrix.device().inner()))
}
