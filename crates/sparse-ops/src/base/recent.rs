//! The last results of a few.

use super::sync::{Mutex, MutexGuard};
use sparse_burn::replay::lookup;
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
        match lookup(|| self.lock().iter().find(|kept| same(kept)).cloned()) {
            Ok(kept) => Ok(kept),
            Err(room) => Ok(room.fill(make()?, |made| self.keep(same, made))),
        }
    }

    /// Keeps `made`, unless another thread was first.
    fn keep(&self, same: impl Fn(&T) -> bool, made: T) -> T {
        let mut list = self.lock();
        if let Some(kept) = list.iter().find(|kept| same(kept)) {
            return kept.clone();
        }
        let kept = list.len().min(self.most.saturating_sub(1));
        let left = list.split_off(kept);
        list.insert(0, made.clone());
        drop(list);
        drop(left);
        made
    }

    fn lock(&self) -> MutexGuard<'_, Vec<T>> {
        self.list.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
