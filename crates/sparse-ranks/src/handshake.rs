//! What ranks tell each other before they send numbers.

use super::collective::{Collective, gather};
use super::describe::Description;
use sparse_ops::{Result, SparseError};

const MAGIC: u64 = u64::from_le_bytes(*b"sparse-1");

/// What a rank says of its call.
pub(super) struct Handshake {
    /// The function that it calls.
    pub(super) op: &'static str,
    /// What must be the same on all ranks.
    pub(super) description: Description,
    /// What its gradients count.
    pub(super) weight: f64,
    /// A bit for each thing of which a rank says yes or no.
    pub(super) flags: Vec<bool>,
    /// Why it cannot go on.
    pub(super) trouble: Option<String>,
}

/// What all ranks agreed on.
pub(super) struct Agreed {
    pub(super) weights: Vec<f64>,
    /// For each flag, whether a rank with a weight said yes.
    pub(super) flags: Vec<bool>,
}

/// Exchanges handshakes. Every rank comes to the same result: what is wrong on one is an error on all.
pub(super) fn shake<C: Collective + ?Sized>(ranks: &mut C, handshake: Handshake) -> Result<Agreed> {
    let op = handshake.op;
    let mut bytes = MAGIC.to_le_bytes().to_vec();
    text(&mut bytes, op);
    bytes.extend(handshake.description.digest().to_le_bytes());
    bytes.extend(handshake.weight.to_le_bytes());
    bytes.extend((handshake.flags.len() as u64).to_le_bytes());
    bytes.extend(handshake.flags.iter().map(|&flag| u8::from(flag)));
    text(&mut bytes, handshake.trouble.as_deref().unwrap_or(""));
    let messages = gather(ranks, bytes)?;
    let handshakes: Option<Vec<Read>> = messages.iter().map(|bytes| read(bytes)).collect();
    let Some(handshakes) = handshakes else {
        return Err(SparseError::invalid(op, "all ranks must run the same program, got a message of another kind"));
    };
    let first = &handshakes[0];
    if let Some(at) = handshakes.iter().position(|handshake| handshake.op != first.op) {
        let (first, other) = (&first.op, &handshakes[at].op);
        let message = format!("ranks must call the same function, got {first} on rank 0 and {other} on rank {at}");
        return Err(SparseError::invalid(op, message));
    }
    if let Some(at) = handshakes.iter().position(|handshake| !handshake.trouble.is_empty()) {
        return Err(SparseError::invalid(op, format!("on rank {at}: {}", handshakes[at].trouble)));
    }
    if let Some(at) = handshakes.iter().position(|handshake| handshake.digest != first.digest) {
        // Rare, so the whole text is sent only now.
        let texts = gather(ranks, handshake.description.text().into_bytes())?;
        let lines = |rank: usize| String::from_utf8_lossy(&texts[rank]).lines().map(String::from).collect::<Vec<_>>();
        let (ours, theirs) = (lines(0), lines(at));
        let end = String::from("nothing");
        let differ = (0..ours.len().max(theirs.len())).find(|&line| ours.get(line) != theirs.get(line));
        let [ours, theirs] = [&ours, &theirs].map(|lines| lines.get(differ.unwrap_or(0)).unwrap_or(&end).clone());
        let message = format!("ranks must agree, got {ours} on rank 0 and {theirs} on rank {at}");
        return Err(SparseError::invalid(op, message));
    }
    if let Some(at) = handshakes.iter().position(|handshake| handshake.flags.len() != first.flags.len()) {
        let [ours, theirs] = [0, at].map(|rank| handshakes[rank].flags.len());
        let message = format!("ranks must agree, got {ours} parameters on rank 0 and {theirs} on rank {at}");
        return Err(SparseError::invalid(op, message));
    }
    let weights: Vec<f64> = handshakes.iter().map(|handshake| handshake.weight).collect();
    if let Some(at) = weights.iter().position(|weight| !(weight.is_finite() && *weight >= 0.0)) {
        let message = format!("weights must be finite and not below 0, got {} on rank {at}", weights[at]);
        return Err(SparseError::invalid(op, message));
    }
    if !(weights.iter().sum::<f64>() > 0.0 && weights.iter().sum::<f64>().is_finite()) {
        let message = format!("the sum of the weights must be above 0 and finite, got the weights {weights:?}");
        return Err(SparseError::invalid(op, message));
    }
    let said =
        |at: usize| handshakes.iter().any(|handshake| handshake.weight != 0.0 && handshake.flags.get(at) == Some(&1));
    let flags = (0..handshake.flags.len()).map(said).collect();
    Ok(Agreed { weights, flags })
}

/// Makes sure that all ranks call the same function, can go on, and agree. For functions of your own: an error on one
/// rank becomes one on all, before anything has changed.
///
/// `lines` say what must be the same on all ranks, `trouble` why this rank cannot go on. The result is a digest of the
/// lines, for the messages that follow.
///
/// Cost: a message of a few hundred bytes to each rank.
///
/// # Errors
///
/// `invalid` if a rank has an error, calls another function or has other lines, of which the first one that differs is
/// named; those of the collective.
///
/// ```
/// use sparse_tensor::parallel::{Threads, agree};
/// use std::time::Duration;
///
/// let ranks = Threads::new(2, Duration::from_secs(10)).unwrap();
/// let run = |mut ranks: Threads, rows: usize| agree(&mut ranks, "load", vec![format!("{rows} rows")], None);
/// let results: Vec<_> = std::thread::scope(|scope| {
///     let threads = ranks.into_iter().zip([3, 4]).map(|(rank, rows)| scope.spawn(move || run(rank, rows)));
///     let threads: Vec<_> = threads.collect();
///     threads.into_iter().map(|thread| thread.join().unwrap()).collect()
/// });
/// let message = results[1].as_ref().unwrap_err().to_string();
/// assert_eq!(message, "load: ranks must agree, got 3 rows on rank 0 and 4 rows on rank 1");
/// ```
pub fn agree<C: Collective + ?Sized>(
    ranks: &mut C,
    op: &'static str,
    lines: Vec<String>,
    trouble: Option<String>,
) -> Result<u64> {
    let description = Description::from(lines);
    let digest = description.digest();
    shake(ranks, Handshake { op, description, weight: 1.0, flags: vec![], trouble })?;
    Ok(digest)
}

/// A handshake as it arrives.
struct Read {
    op: String,
    digest: u64,
    weight: f64,
    flags: Vec<u8>,
    trouble: String,
}

fn text(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend((text.len() as u64).to_le_bytes());
    bytes.extend(text.as_bytes());
}

fn read(mut bytes: &[u8]) -> Option<Read> {
    if number(&mut bytes)? != MAGIC {
        return None;
    }
    let op = String::from_utf8(list(&mut bytes)?.to_vec()).ok()?;
    let (digest, weight) = (number(&mut bytes)?, f64::from_bits(number(&mut bytes)?));
    let flags = list(&mut bytes)?.to_vec();
    let trouble = String::from_utf8(list(&mut bytes)?.to_vec()).ok()?;
    Some(Read { op, digest, weight, flags, trouble })
}

/// Takes a number off the front.
pub(super) fn number(bytes: &mut &[u8]) -> Option<u64> {
    let (number, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(u64::from_le_bytes(*number))
}

/// Takes bytes off the front, with their length before them.
fn list<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(number(bytes)?).ok()?;
    let (list, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(list)
}
