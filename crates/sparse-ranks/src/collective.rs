//! How bytes go from rank to rank.

use super::mean::{mean_of_parts, width};
use burn::tensor::{Tensor, TensorData};
use sparse_ops::extend::read_data;
use sparse_ops::{Result, SparseError};
use std::ops::Range;
use std::sync::Arc;

/// Bytes for a rank. Shared, so that one message can go to several ranks, or to a thread, without a copy.
pub type Message = Arc<Vec<u8>>;

/// The most bytes of a tensor that a rank holds for one exchange, besides the tensor.
const CHUNK: usize = 4 << 20;

/// Ranks `0 .. size` that send bytes to each other. All functions of [`parallel`](super) are made of these methods, and
/// each rank must call the same functions in the same order.
///
/// An implementation must keep two promises: `exchange` ends in bounded time, whatever the other ranks do; and after an
/// error of `exchange`, which may leave messages under way, it gives errors only.
///
/// [`mean`](Self::mean) has a body. A library of collectives that adds up tensors on their devices (as that of Burn,
/// for GPUs) replaces it. Then the library's order of summation holds in place of the order of the ranks.
pub trait Collective {
    /// The number of this rank.
    fn rank(&self) -> usize;

    /// How many ranks there are.
    fn size(&self) -> usize;

    /// Sends `parts[r]` to rank `r`, and returns what each rank sent to this one, in the order of ranks. The part for
    /// the own rank is returned as it is.
    ///
    /// # Errors
    ///
    /// `length_mismatch` if there is not a part for each rank; `invalid` if a rank is silent for longer than the
    /// timeout, or gone.
    fn exchange(&mut self, parts: Vec<Message>) -> Result<Vec<Message>>;

    /// The weighted mean of the ranks' tensors, the same bits on every rank:
    /// `(sum_r weights[r] values_r) / sum(weights)`. Lengths and dtypes agree, weights are the same on all ranks, and
    /// their sum is above zero. The values of a rank with weight 0 are not used.
    ///
    /// As it stands, each rank sums a piece in f64 in the order of ranks and sends the result to the others. Traffic of
    /// a rank: `2 (size - 1) / size` tensors sent, and as much received. Memory: twice the tensor, and 20 MiB.
    ///
    /// # Errors
    ///
    /// `unsupported_dtype` but for floats of 16, 32 and 64 bits; those of [`exchange`](Self::exchange).
    fn mean(&mut self, values: Tensor<1>, weights: &[f64]) -> Result<Tensor<1>> {
        mean_in_rank_order(self, values, weights)
    }
}

/// Every rank's bytes, in the order of ranks.
pub(super) fn gather<C: Collective + ?Sized>(ranks: &mut C, bytes: Vec<u8>) -> Result<Vec<Message>> {
    let message = Arc::new(bytes);
    ranks.exchange(vec![message; ranks.size()])
}

/// The part of `0 .. length` that a rank sums.
fn piece(length: usize, rank: usize, size: usize) -> Range<usize> {
    let end = |rank: usize| (length as u128 * rank as u128 / size as u128) as usize;
    end(rank)..end(rank + 1)
}

fn mean_in_rank_order<C: Collective + ?Sized>(ranks: &mut C, values: Tensor<1>, weights: &[f64]) -> Result<Tensor<1>> {
    const OP: &str = "Collective::mean";
    let (dtype, device, [length]) = (values.dtype(), values.device(), values.dims());
    let width = width(OP, dtype)?;
    let (rank, size) = (ranks.rank(), ranks.size());
    let chunk = CHUNK / width;
    let mut means = Vec::with_capacity(length.div_ceil(chunk));
    for start in (0..length).step_by(chunk) {
        let count = chunk.min(length - start);
        // A rank with weight 0 sends nothing.
        let own = match weights[rank] {
            0.0 => None,
            _ => Some(read_data(values.clone().narrow(0, start, count))),
        };
        let parts = (0..size).map(|to| {
            let Range { start, end } = piece(count, to, size);
            Arc::new(own.as_ref().map_or(vec![], |own| own.as_bytes()[start * width..end * width].to_vec()))
        });
        let parts = ranks.exchange(parts.collect())?;
        let parts: Vec<&[u8]> = parts.iter().map(|part| part.as_slice()).collect();
        let own = mean_of_parts(OP, dtype, piece(count, rank, size).len(), &parts, weights)?;
        let pieces = gather(ranks, own)?;
        for (from, bytes) in pieces.iter().enumerate() {
            let (expected, got) = (piece(count, from, size).len() * width, bytes.len());
            if expected != got {
                return Err(SparseError::length_mismatch(OP, "the bytes of a rank", expected, got));
            }
        }
        let bytes = pieces.iter().map(|piece| piece.as_slice()).collect::<Vec<_>>().concat();
        means.push(Tensor::from_data(TensorData::from_bytes_vec(bytes, [count], dtype), (&device, dtype)));
    }
    Ok(match means.len() {
        0 => values,
        1 => means.remove(0),
        _ => Tensor::cat(means, 0),
    })
}
