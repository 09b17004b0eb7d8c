//! Who may hold how much memory.

use datafusion::error::{DataFusionError, Result};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation};
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A pool of which operators that can spill take one half at most, in equal shares that do not grow while a plan runs.
///
/// DataFusion's own fair pool gives the share of a sort that has begun to merge to the others. What it then asks for to
/// end its merge may be gone, by chance of who was first, and asking in vain is an error. Here the other half is kept
/// for that: for merges, which take about what the sort held, and for tables of joins.
pub(crate) struct Shares {
    limit: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Operators that can spill: now, and the most of this plan.
    now: usize,
    most: usize,
    used: usize,
}

impl Shares {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, state: Mutex::default() }
    }

    /// Before a plan: that it will have so many that can spill, though not all begin at once.
    pub(crate) fn expect(&self, most: usize) {
        self.state().most = most;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MemoryPool for Shares {
    fn name(&self) -> &str {
        "shares"
    }

    fn register(&self, consumer: &MemoryConsumer) {
        if consumer.can_spill() {
            let mut state = self.state();
            state.now += 1;
            state.most = state.most.max(state.now);
        }
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        if consumer.can_spill() {
            let mut state = self.state();
            state.now = state.now.saturating_sub(1);
        }
    }

    fn grow(&self, _: &MemoryReservation, additional: usize) {
        self.state().used += additional;
    }

    fn shrink(&self, _: &MemoryReservation, shrink: usize) {
        let mut state = self.state();
        state.used = state.used.saturating_sub(shrink);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        let mut state = self.state();
        let mut free = self.limit.saturating_sub(state.used);
        if reservation.consumer().can_spill() {
            let share = self.limit / 2 / state.most.max(1);
            free = free.min(share.saturating_sub(reservation.size()));
        }
        if additional > free {
            let name = reservation.consumer().name();
            let message = format!("{name} must have {additional} bytes more, got {free} of {}", self.limit);
            return Err(DataFusionError::ResourcesExhausted(message));
        }
        state.used += additional;
        Ok(())
    }

    fn reserved(&self) -> usize {
        self.state().used
    }

    fn memory_limit(&self) -> MemoryLimit {
        MemoryLimit::Finite(self.limit)
    }
}

impl fmt::Debug for Shares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Shares({} bytes)", self.limit)
    }
}

impl fmt::Display for Shares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "shares({} bytes)", self.limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn shares_do_not_grow_when_others_end() {
        let own = Arc::new(Shares::new(1000));
        own.expect(2);
        let pool: Arc<dyn MemoryPool> = own.clone();
        let spills = |name| MemoryConsumer::new(name).with_can_spill(true).register(&pool);
        let (a, b) = (spills("a"), spills("b"));
        a.try_grow(250).unwrap();
        assert!(a.try_grow(1).unwrap_err().to_string().contains("a must have 1 bytes more, got 0 of 1000"));
        drop(b);
        assert!(a.try_grow(1).is_err());
        let merge = MemoryConsumer::new("merge").register(&pool);
        merge.try_grow(750).unwrap();
        assert!(merge.try_grow(1).is_err());
        drop((a, merge));
        assert_eq!(pool.reserved(), 0);
        own.expect(1);
        spills("c").try_grow(500).unwrap();
    }
}
