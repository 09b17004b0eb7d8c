//! Results of one's own that a pattern keeps.

use crate::pattern::layout::Pattern;
use crate::pattern::memo::{Made, Memo};

/// What is derived from a pattern and kept with it. Its clones share their data.
pub trait Derived: Clone + Send + Sync + 'static {
    /// How many numbers it keeps in memory.
    fn held(&self) -> usize;
}

#[derive(Clone)]
struct Own<T>(T);

impl<T: Derived> Made for Own<T> {
    fn memos(&self) -> Vec<&Memo> {
        vec![]
    }

    fn held(&self) -> usize {
        self.0.held()
    }
}

/// What `make` derives from a pattern, once: it is kept with the pattern under `key`. Each use has a type of key of its
/// own. Of each type a pattern keeps the last 8 results, and up to 64 while they are small.
///
/// `make` runs without a lock, so two threads may both derive it; the first result is kept.
pub fn kept<P, K, T>(pattern: &P, key: K, make: impl FnOnce() -> T) -> T
where
    P: Pattern,
    K: Eq + Send + Sync + 'static,
    T: Derived,
{
    pattern.memo().get(key, || Own(make())).0
}

/// [`kept`] for a `make` that can fail. Errors are not kept: the next call tries again.
///
/// # Errors
///
/// Those of `make`.
pub fn kept_result<P, K, T, E>(pattern: &P, key: K, make: impl FnOnce() -> Result<T, E>) -> Result<T, E>
where
    P: Pattern,
    K: Eq + Send + Sync + 'static,
    T: Derived,
{
    pattern.memo().try_get(key, || make().map(Own)).map(|own| own.0)
}
