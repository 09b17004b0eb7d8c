//! A value computed on first need.

use crate::base::sync::OnceLock;
use sparse_burn::replay::{is_dropped, lookup, without_reads};

/// A value that is computed on first need and then shared.
///
/// Unlike `OnceLock::get_or_init`, it is computed without a lock. With one, parallel kernels could deadlock: a rayon
/// thread that waits takes other tasks, and such a task may need the same value. So two threads may compute the value;
/// the first result is kept. In [`without_blocking`](sparse_burn::without_blocking) every run executes the same
/// operations, so a later run computes again what an earlier one of them computed.
#[derive(Debug)]
pub struct Lazy<T> {
    kept: OnceLock<T>,
    /// Of a run that will be dropped: it may come from zeros.
    dropped: OnceLock<T>,
}

impl<T> Lazy<T> {
    /// Not computed yet.
    pub fn new() -> Self {
        Self { kept: OnceLock::new(), dropped: OnceLock::new() }
    }

    /// The value, if it has been computed.
    pub fn known(&self) -> Option<&T> {
        lookup(|| self.kept.get().map(|_| ())).ok().and_then(|()| self.kept.get())
    }

    /// The value, from a `make` that does not read the device.
    ///
    /// # Panics
    ///
    /// If `make` reads the device nevertheless, because a kernel runs on the host, in a program that must not wait.
    pub fn get(&self, make: impl FnOnce() -> T) -> &T {
        if let Some(known) = self.known() {
            return known;
        }
        let made = without_reads(make);
        let place = if is_dropped() { &self.dropped } else { &self.kept };
        place.get_or_init(|| made)
    }

    /// A copy of the value, from a `make` that may read the device.
    pub fn read(&self, make: impl FnOnce() -> T) -> T
    where
        T: Clone,
    {
        match lookup(|| self.kept.get().map(|_| ())) {
            Ok(()) => self.kept.get().expect("it was there").clone(),
            Err(room) => room.fill(make(), |made| self.kept.get_or_init(|| made).clone()),
        }
    }
}

impl<T> Default for Lazy<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> From<T> for Lazy<T> {
    fn from(value: T) -> Self {
        Self { kept: value.into(), dropped: OnceLock::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::Lazy;

    #[test]
    fn the_first_value_stays() {
        let cell = Lazy::new();
        // While the first value is computed, another one is computed and kept.
        assert_eq!(*cell.get(|| *cell.get(|| 1) + 1), 1);
        assert_eq!(cell.known(), Some(&1));
    }
}
