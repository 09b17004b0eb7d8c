//! What ranks send each other about their parts.

use super::super::collective::{Collective, Message};
use bytemuck::{AnyBitPattern, NoUninit, pod_collect_to_vec};
use sparse_core::{Result, SparseError};
use std::sync::Arc;

const MAGIC: u64 = u64::from_le_bytes(*b"sparse-p");

/// Bytes before the content: what it is, the step, and whether the rank can go on.
const HEAD: usize = 16;

/// What a message is about. Ranks at different steps do not call the same functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    AskHop = 1,
    AnswerHop,
    EndSample,
    AskRows,
    AnswerRows,
}

/// Sends a content to each rank and returns those of all ranks. If a rank has an error instead, it is an error on every
/// rank: the own one, or else the one of the first rank that has one.
pub(super) fn together<C: Collective + ?Sized>(
    ranks: &mut C,
    op: &'static str,
    step: Step,
    own: Result<Vec<Vec<u8>>>,
) -> Result<Vec<Content>> {
    let head = |good: bool| {
        let mut head = Vec::with_capacity(HEAD);
        head.extend(MAGIC.to_le_bytes());
        head.extend([step as u8, u8::from(good), 0, 0, 0, 0, 0, 0]);
        head
    };
    let (parts, error) = match own {
        Ok(parts) => (parts.into_iter().map(|part| Arc::new([head(true), part].concat())).collect(), None),
        Err(error) => {
            let text = Arc::new([head(false), error.to_string().into_bytes()].concat());
            (vec![text; ranks.size()], Some(error))
        }
    };
    let received = ranks.exchange(parts)?;
    if let Some(error) = error {
        return Err(error);
    }
    let invalid = |message| Err(SparseError::Invalid { op, message });
    for (rank, message) in received.iter().enumerate() {
        let ours = message.len() >= HEAD && message[..8] == MAGIC.to_le_bytes();
        if ours && message[9] == 0 {
            return invalid(format!("on rank {rank}: {}", String::from_utf8_lossy(&message[HEAD..])));
        }
        if !ours || message[8] != step as u8 {
            return invalid(format!(
                "ranks must call the same function, got a message of another one from rank {rank}"
            ));
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
