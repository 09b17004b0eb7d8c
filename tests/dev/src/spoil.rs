//! A rank that spoils what it sends.

use sparse_tensor::Result;
use sparse_tensor::parallel::{Collective, Message, Threads};
use std::sync::Arc;

/// What happens to a message.
pub type Spoil = dyn Fn(&mut Vec<u8>) + Sync;

/// Ranks of which one gets other bytes than were sent to it.
pub struct Spoiled<'a> {
    pub ranks: &'a mut Threads,
    /// The exchange in which it happens, and what happens.
    pub at: usize,
    pub spoil: &'a Spoil,
}

impl Collective for Spoiled<'_> {
    fn rank(&self) -> usize {
        self.ranks.rank()
    }

    fn size(&self) -> usize {
        self.ranks.size()
    }

    fn exchange(&mut self, parts: Vec<Message>) -> Result<Vec<Message>> {
        let (own, mut received) = (self.rank(), self.ranks.exchange(parts)?);
        if own == 0 && self.at == 0 {
            let mut bytes = received[1].to_vec();
            (self.spoil)(&mut bytes);
            received[1] = Arc::new(bytes);
        }
        self.at = self.at.wrapping_sub(1);
        Ok(received)
    }
}
