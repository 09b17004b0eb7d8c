//! The last results of a few.

use super::sync::{Mutex, MutexGuard};
use sparse_burn::replay::{is_dropped, lookup};
use std::sync::Arc;

/// The results that were used last, at most so many. Clones share them. Any thread may ask: a result is computed
/// without the lock, and if two threads compute the same one, the first is kept.
#[derive(Clone, Debug)]
pub struct Recent<T> {
    list: Arc<Mutex<Vec<T>>>,
    most: usize,
}

impl<T: Clone + Send + Sync + 'static> Recent<T> {
    /// None yet.
    pub fn new(most: usize) -> Self {
        Self { list: Arc::default(), most }
    }

    /// The kept result for which `same` holds, or the one of `make`.
    ///
    /// # Errors
    ///
    /// Those of `make`.
    pub fn get<E>(&self, same: impl Fn(&T) -> bool, make: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        if let Some(kept) = lookup(|| self.lock().iter().find(|kept| same(kept)).cloned()) {
            return Ok(kept);
        }
        let made = make()?;
        if is_dropped() {
            return Ok(made);
        }
        let mut list = self.lock();
        if let Some(kept) = list.iter().find(|kept| same(kept)) {
            return Ok(kept.clone());
        }
        let kept = list.len().min(self.most.saturating_sub(1));
        let left = list.split_off(kept);
        list.insert(0, made.clone());
        drop(list);
        drop(left);
        Ok(made)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<T>> {
        self.list.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
