//! The weighted mean of row-sparse gradients.

use super::collective::{Collective, Message, gather};
use super::describe::Description;
use super::handshake::{Agreed, Handshake, number, shake};
use super::mean::{mean_of_parts, width};
use burn::tensor::{DType, Tensor, TensorData};
use sparse_nn::RowSparseGrad;
use sparse_nn::RowTable;
use sparse_ops::extend::{index_dtype_for, read_data};
use sparse_ops::{Result, SparseError, dtype_name};
use std::sync::Arc;

/// The weighted mean of the row-sparse gradients of a table: [`all_reduce`](super::all_reduce) without the rows that no
/// rank read. All ranks call it, each with what it read; `None` counts as zeros.
///
/// The result has the union of the rows, ascending, the same bits on every rank; `None` if no rank read anything. Row
/// `i` is summed on rank `i mod size`, so common rows at the front of a table are spread evenly.
///
/// Cost: reads ids and rows from the device. Each rank sends its rows once and its share of the union `size - 1` times.
/// Memory: the rows of the rank, twice its share of the rows of all ranks, and four times the union.
///
/// # Errors
///
/// `invalid`, on all ranks, if tables have different shapes or dtypes, if a gradient is not of the table, or for the
/// weights that [`all_reduce`](super::all_reduce) refuses; `invalid`, on the rank that gets them, for rows of another
/// rank that are not those of the table; `invalid` if a rank stops.
pub fn all_reduce_rows<C: Collective + ?Sized>(
    ranks: &mut C,
    grad: Option<RowSparseGrad>,
    table: &RowTable,
    weight: f64,
) -> Result<Option<RowSparseGrad>> {
    const OP: &str = "all_reduce_rows";
    let [size, columns] = table.weight.lazy_shape().dims::<2>();
    let (dtype, device) = (table.weight.dtype(), table.weight.lazy_device().inner());
    let mut description = Description::default();
    description.push(format!("a table [{size}, {columns}] {}", dtype_name(dtype)));
    let trouble = trouble(grad.as_ref(), [size, columns], dtype);
    let flags = vec![grad.is_some()];
    let Agreed { weights, flags } = shake(ranks, Handshake { op: OP, description, weight, flags, trouble })?;
    if !flags[0] {
        return Ok(None);
    }
    let bytes = columns * width(OP, dtype)?;
    let own = grad.filter(|_| weight != 0.0).map(|grad| Rows::of(grad, bytes)).unwrap_or_default();
    let parts = own.divided(ranks.size(), bytes).into_iter().map(|part| part.message());
    let received = ranks.exchange(parts.collect())?;
    let own = ranks.rank();
    let received = all_rows(OP, &received, [bytes, size], |_| own)?;
    let pieces = gather(ranks, mean(OP, &received, &weights, [columns, bytes], dtype)?.message().to_vec())?;
    let pieces = all_rows(OP, &pieces, [bytes, size], |rank| rank)?;
    // Each piece ascends, and no two have the same row.
    let mut order: Vec<(i64, &[u8])> =
        pieces.iter().flat_map(|piece| piece.ids.iter().copied().zip(piece.rows(bytes))).collect();
    order.sort_unstable_by_key(|(id, _)| *id);
    let union = Rows {
        ids: order.iter().map(|(id, _)| *id).collect(),
        rows: order.iter().map(|(_, row)| *row).collect::<Vec<_>>().concat(),
    };
    let (count, index) = (union.ids.len(), index_dtype_for(size));
    let ids = Tensor::from_data(TensorData::new(union.ids, [count]).convert_dtype(index), (&device, index));
    let rows = TensorData::from_bytes_vec(union.rows, [count, columns], dtype);
    Ok(Some(RowSparseGrad::of_distinct(ids, Tensor::from_data(rows, (&device, dtype)), size)))
}

fn trouble(grad: Option<&RowSparseGrad>, table: [usize; 2], dtype: DType) -> Option<String> {
    if width("", dtype).is_err() {
        return Some(format!("the table must be of floats, got {}", dtype_name(dtype)));
    }
    let rows = grad?.rows();
    let (of_grad, of_table) = (([grad?.table_rows(), rows.dims()[1]], rows.dtype()), (table, dtype));
    (of_grad != of_table).then(|| {
        let [got, want] = [of_grad, of_table].map(|(shape, dtype)| format!("{shape:?} of {}", dtype_name(dtype)));
        format!("the gradient must be of a table {want}, got one of {got}")
    })
}

/// Rows as bytes, by ascending ids.
#[derive(Default)]
struct Rows {
    ids: Vec<i64>,
    rows: Vec<u8>,
}

impl Rows {
    fn of(grad: RowSparseGrad, bytes: usize) -> Self {
        let ids: Vec<i64> = read_data(grad.ids()).convert::<i64>().iter().collect();
        let rows = read_data(grad.rows()).as_bytes().to_vec();
        debug_assert_eq!(rows.len(), ids.len() * bytes);
        Self { ids, rows }
    }

    fn push(&mut self, id: i64, row: &[u8]) {
        self.ids.push(id);
        self.rows.extend_from_slice(row);
    }

    /// One slice for each id, also if rows are empty.
    fn rows(&self, bytes: usize) -> impl Iterator<Item = &[u8]> {
        (0..self.ids.len()).map(move |at| &self.rows[at * bytes..(at + 1) * bytes])
    }

    /// The rows that each rank sums.
    fn divided(&self, size: usize, bytes: usize) -> Vec<Self> {
        let mut parts: Vec<Self> = (0..size).map(|_| Self::default()).collect();
        for (&id, row) in self.ids.iter().zip(self.rows(bytes)) {
            parts[id as usize % size].push(id, row);
        }
        parts
    }

    fn message(self) -> Message {
        let mut bytes = (self.ids.len() as u64).to_le_bytes().to_vec();
        bytes.extend(self.ids.iter().flat_map(|id| id.to_le_bytes()));
        bytes.extend(self.rows);
        Arc::new(bytes)
    }

    /// `None` if the message is none of rows of so many bytes.
    fn read(mut message: &[u8], bytes: usize) -> Option<Self> {
        let count = usize::try_from(number(&mut message)?).ok()?;
        let (ids, rows) = message.split_at_checked(count.checked_mul(8)?)?;
        if rows.len() != count.checked_mul(bytes)? {
            return None;
        }
        let (ids, _) = ids.as_chunks::<8>();
        Some(Self { ids: ids.iter().map(|id| i64::from_le_bytes(*id)).collect(), rows: rows.to_vec() })
    }
}

/// The rows in the messages of all ranks. A message has rows of `bytes` bytes, with ids that ascend, that are in the
/// table of `size` rows, and that the rank `summed_on` of its sender sums.
fn all_rows(
    op: &'static str,
    messages: &[Message],
    [bytes, size]: [usize; 2],
    summed_on: impl Fn(usize) -> usize,
) -> Result<Vec<Rows>> {
    let of_rank = |(rank, message): (usize, &Message)| {
        let Some(rows) = Rows::read(message, bytes) else {
            let message = format!("rows of {bytes} bytes must be all that rank {rank} sends, got other bytes");
            return Err(SparseError::invalid(op, message));
        };
        let place = |id: i64| usize::try_from(id).ok().filter(|&row| row < size);
        if let Some(id) = rows.ids.iter().find(|&&id| place(id).is_none()) {
            return Err(SparseError::invalid(op, format!("a row of rank {rank} must be in [0, {size}), got {id}")));
        }
        let (ranks, owner) = (messages.len(), summed_on(rank));
        if let Some(id) = rows.ids.iter().find(|&&id| place(id).is_some_and(|row| row % ranks != owner)) {
            let message = format!("a row of rank {rank} must be one that rank {owner} sums, got {id}");
            return Err(SparseError::invalid(op, message));
        }
        if let Some(pair) = rows.ids.windows(2).find(|pair| pair[0] >= pair[1]) {
            let (before, id) = (pair[0], pair[1]);
            let message = format!("the rows of rank {rank} must ascend, got {before} and then {id}");
            return Err(SparseError::invalid(op, message));
        }
        Ok(rows)
    };
    messages.iter().enumerate().map(of_rank).collect()
}

/// The weighted mean of the rows of all ranks. A rank that lacks a row counts as zeros.
fn mean(op: &'static str, parts: &[Rows], weights: &[f64], [columns, bytes]: [usize; 2], dtype: DType) -> Result<Rows> {
    let zeros = vec![0; bytes];
    let mut ids: Vec<i64> = parts.iter().flat_map(|part| part.ids.iter().copied()).collect();
    ids.sort_unstable();
    ids.dedup();
    let mut places = vec![0; parts.len()];
    let mut out = Rows::default();
    for id in ids {
        let row: Vec<&[u8]> = (parts.iter().zip(&mut places))
            .map(|(part, at)| match part.ids.get(*at) {
                Some(&own) if own == id => {
                    *at += 1;
                    &part.rows[(*at - 1) * bytes..*at * bytes]
                }
                _ => &zeros[..],
            })
            .collect();
        out.push(id, &mean_of_parts(op, dtype, columns, &row, weights)?);
    }
    Ok(out)
}
