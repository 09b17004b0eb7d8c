//! One rank's model for all.

use super::collective::{Collective, Message, gather};
use super::describe::Description;
use super::handshake::{Handshake, shake};
use burn::module::Module;
use burn::store::ModuleRecord;
use burn::tensor::Bytes;
use sparse_ops::{Result, SparseError};
use std::sync::Arc;

/// The most bytes of a message.
const CHUNK: usize = 8 << 20;

/// The model of rank `root` on every rank: each gives its own model, and gets it back with the root's values. All ranks
/// call it, before the first step.
///
/// What travels is the module's [record](sparse_ops::module#records): all parameters, their ids, and pattern and fill
/// of sparse parameters, which may have another number of elements than before. Constants, such as a
/// [`CsrTensor`](sparse_ops::CsrTensor) in the model, stay as each rank made them. Devices stay, and so does what is
/// trained.
///
/// Cost: the record, sent by the root to each rank. Memory: twice the record.
///
/// # Errors
///
/// `invalid`, on all ranks, if the record does not fit the model of a rank, or the root is no rank or not the same on
/// all; `invalid` if a rank stops.
pub fn broadcast<C: Collective + ?Sized, M: Module>(ranks: &mut C, module: M, root: usize) -> Result<M> {
    const OP: &str = "broadcast";
    let (rank, size) = (ranks.rank(), ranks.size());
    if root >= size {
        // Ranks with another root must not wait for this one.
        let trouble = Some(format!("the root must be one of {size} ranks, got {root}"));
        let handshake = Handshake { op: OP, description: Description::default(), weight: 1.0, flags: vec![], trouble };
        return shake(ranks, handshake).and_then(|_| Err(SparseError::invalid(OP, "the root must be a rank")));
    }
    let (mut record, mut trouble) = (None, None);
    if rank == root {
        match module.clone().into_record().into_bytes() {
            Ok(bytes) => record = Some(bytes),
            Err(error) => trouble = Some(format!("the model has no record: {error}")),
        }
    }
    let mut description = Description::default();
    description.push(format!("root {root}"));
    shake(ranks, Handshake { op: OP, description, weight: 1.0, flags: vec![], trouble })?;

    let record = record.as_deref();
    let length = (record.map_or(0, <[u8]>::len) as u64).to_le_bytes().to_vec();
    let lengths = gather(ranks, length)?;
    let length = match lengths[root].as_slice().try_into() {
        Ok(length) => u64::from_le_bytes(length) as usize,
        Err(_) => {
            return Err(SparseError::invalid(OP, format!("the length must have 8 bytes, got {}", lengths[root].len())));
        }
    };
    let mut bytes = vec![];
    let nothing: Message = Arc::new(vec![]);
    for start in (0..length).step_by(CHUNK) {
        let mut parts = vec![nothing.clone(); size];
        if let Some(record) = record {
            let part = Arc::new(record[start..length.min(start + CHUNK)].to_vec());
            parts = vec![part; size];
            parts[root] = nothing.clone();
        }
        let parts = ranks.exchange(parts)?;
        bytes.extend_from_slice(&parts[root]);
    }

    let (mut loaded, mut trouble) = (module.clone(), None);
    if rank != root {
        let record = ModuleRecord::from_bytes(Bytes::from_bytes_vec(bytes));
        match record.and_then(|record| module.try_load_record(record)) {
            Ok(module) => loaded = module,
            Err(error) => trouble = Some(format!("the model of rank {root} does not fit: {error}")),
        }
    }
    let description = Description::of(&loaded);
    shake(ranks, Handshake { op: OP, description, weight: 1.0, flags: vec![], trouble })?;
    Ok(loaded)
}
