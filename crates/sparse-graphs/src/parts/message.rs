//! What ranks send each other about their parts.

use bytemuck::{AnyBitPattern, NoUninit, pod_collect_to_vec};
use sparse_ops::{Result, SparseError};
use sparse_ranks::{Collective, Message};
use std::sync::Arc;

const MAGIC: u64 = u64::from_le_bytes(*b"sparse-p");

/// Bytes before the content: the magic number, the digest of the graph, the step, and whether the rank can go on.
const HEAD: usize = 24;

/// What a message is about. Ranks at different steps do not call the same functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Halo = 1,
    AskHop,
    AnswerHop,
    EndSample,
    AskRows,
    AnswerRows,
}

/// Who opened a graph, and which one.
#[derive(Clone, Copy)]
pub(super) struct Opened {
    pub(super) rank: usize,
    pub(super) parts: usize,
    pub(super) digest: u64,
}

/// Sends a content to each rank and returns those of all ranks. If a rank has an error instead, it is an error on every
/// rank: the own one, or else the one of the first rank that has one.
pub(super) fn together<C: Collective + ?Sized>(
    ranks: &mut C,
    opened: Opened,
    op: &'static str,
    step: Step,
    own: Result<Vec<Vec<u8>>>,
) -> Result<Vec<Content>> {
    let invalid = |message| Err(SparseError::invalid(op, message));
    let (due, got) = ((opened.rank, opened.parts), (ranks.rank(), ranks.size()));
    if due != got {
        return invalid(format!("the ranks must be those that opened the graph, {due:?}, got {got:?}"));
    }
    let framed = |good: bool, content: &[u8]| {
        let mut bytes = Vec::with_capacity(HEAD + content.len());
        bytes.extend(MAGIC.to_le_bytes());
        bytes.extend(opened.digest.to_le_bytes());
        bytes.extend([step as u8, u8::from(good), 0, 0, 0, 0, 0, 0]);
        bytes.extend(content);
        Arc::new(bytes)
    };
    let received = match own {
        Ok(parts) => ranks.exchange(parts.iter().map(|part| framed(true, part)).collect())?,
        Err(error) => {
            // The others hear of it, if they can.
            let text = framed(false, error.to_string().as_bytes());
            drop(ranks.exchange(vec![text; ranks.size()]));
            return Err(error);
        }
    };
    for (rank, message) in received.iter().enumerate() {
        let ours = message.len() >= HEAD && message[..8] == MAGIC.to_le_bytes();
        if ours && message[17] == 0 {
            return invalid(format!("on rank {rank}: {}", String::from_utf8_lossy(&message[HEAD..])));
        }
        if !ours || message[16] != step as u8 {
            return invalid(format!(
                "ranks must call the same function, got a message of another one from rank {rank}"
            ));
        }
        if message[8..16] != opened.digest.to_le_bytes() {
            return invalid(format!("ranks must use the same graph, got a message about another one from rank {rank}"));
        }
    }
    Ok(received.into_iter().map(Content).collect())
}

/// What a rank sent.
pub(super) struct Content(Message);

impl Content {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0[HEAD..]
    }
}

/// The error for a content that no rank of this release sends.
pub(super) fn malformed(op: &'static str, rank: usize) -> SparseError {
    let message = format!("ranks must run the same release, got a message of another form from rank {rank}");
    SparseError::invalid(op, message)
}

/// Appends a list with its length.
pub(super) fn put<T: NoUninit>(bytes: &mut Vec<u8>, list: &[T]) {
    bytes.extend((list.len() as u64).to_le_bytes());
    bytes.extend(bytemuck::cast_slice::<T, u8>(list));
}

/// Takes a list off the front.
pub(super) fn take<T: NoUninit + AnyBitPattern>(bytes: &mut &[u8]) -> Option<Vec<T>> {
    let (length, rest) = bytes.split_first_chunk()?;
    let size = usize::try_from(u64::from_le_bytes(*length)).ok()?.checked_mul(size_of::<T>())?;
    let (list, rest) = rest.split_at_checked(size)?;
    *bytes = rest;
    Some(pod_collect_to_vec(list))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_arrive_as_they_were_sent() {
        let mut bytes = Vec::new();
        put(&mut bytes, &[7u8]);
        put::<i64>(&mut bytes, &[]);
        put(&mut bytes, &[-1i64, 1 << 40]);
        let mut rest = &bytes[..];
        assert_eq!(take::<u8>(&mut rest), Some(vec![7]));
        assert_eq!(take::<i64>(&mut rest), Some(vec![]));
        assert_eq!(take::<i64>(&mut rest), Some(vec![-1, 1 << 40]));
        assert!(rest.is_empty());
        // Cut anywhere, or longer than memory.
        for end in 0..bytes.len() {
            let mut rest = &bytes[..end];
            let found = (take::<u8>(&mut rest), take::<i64>(&mut rest), take::<i64>(&mut rest));
            assert!(found.2.is_none(), "{end}: {found:?}");
        }
        assert_eq!(take::<i64>(&mut &u64::MAX.to_le_bytes()[..]), None);
    }
}
