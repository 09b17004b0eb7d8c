//! A value computed on first need.

use std::sync::OnceLock;

/// A value that is computed on first need and kept for all who share it.
///
/// It is made outside the cell. A cell that made it inside would hold up every other thread that asks, and if one of
/// those is the pool's thread that the work waits for (kernels run in parallel, and a waiting thread takes other tasks),
/// nobody would get on. Two threads may so make the value twice: the first one's stays.
#[derive(Debug)]
pub(crate) struct Lazy<T>(OnceLock<T>);

impl<T> Lazy<T> {
    pub(crate) const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// The value, if it was made.
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
        // While it is made, another one is.
        assert_eq!(*cell.get(|| *cell.get(|| 1) + 1), 1);
        assert_eq!(cell.known(), Some(&1));
    }
}
