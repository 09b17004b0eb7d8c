//! A value computed on first need.

use std::sync::OnceLock;

/// A value that is computed on first need and then shared.
///
/// Unlike `OnceLock::get_or_init`, it is computed without a lock. With one, parallel kernels could deadlock: a rayon
/// thread that waits takes other tasks, and such a task may need the same value. So two threads may compute the value;
/// the first result is kept.
#[derive(Debug)]
pub(crate) struct Lazy<T>(OnceLock<T>);

impl<T> Lazy<T> {
    pub(crate) const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// The value, if it has been computed.
    pub(crate) fn known(&self) -> Option<&T> {
        self.0.get()
    }

    pub(crate) fn get(&self, make: impl FnOnce() -> T) -> &T {
        if let Some(known) = self.0.get() {
            return known;
        }
        let made = make();
        self.0.get_or_init(|| made)
    }
}

impl<T> Default for Lazy<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> From<T> for Lazy<T> {
    fn from(value: T) -> Self {
        Self(value.into())
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
