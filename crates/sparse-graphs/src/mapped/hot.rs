//! Rows that were used lately, in the memory of the process.

use lru::LruCache;
use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};

/// Keeps the bytes of the last rows that were used, or none.
pub(crate) struct HotRows {
    hot: Option<Mutex<Hot>>,
    width: usize,
}

struct Hot {
    /// Where a row lies in `memory`, in rows.
    slots: LruCache<usize, usize>,
    memory: Vec<u8>,
    hits: u64,
    misses: u64,
}

impl HotRows {
    /// Keeps so many rows of so many bytes. The memory is taken as it fills.
    pub(crate) fn new(rows: usize, width: usize) -> Self {
        let hot = NonZeroUsize::new(rows).map(|rows| {
            // `LruCache::new` would take the memory of its table at once.
            Mutex::new(Hot { slots: LruCache::sparse(rows), memory: Vec::new(), hits: 0, misses: 0 })
        });
        Self { hot, width }
    }

    /// Keeps none.
    pub(crate) fn none() -> Self {
        Self { hot: None, width: 0 }
    }

    /// The most rows that are kept.
    pub(crate) fn rows(&self) -> usize {
        self.with(|hot| hot.slots.cap().get()).unwrap_or(0)
    }

    /// How many rows were there, and how many were not.
    pub(crate) fn served(&self) -> (u64, u64) {
        self.with(|hot| (hot.hits, hot.misses)).unwrap_or_default()
    }

    /// The ids whose rows are not there.
    pub(crate) fn cold(&self, ids: &[usize]) -> Vec<usize> {
        let cold = self.with(|hot| ids.iter().copied().filter(|id| !hot.slots.contains(id)).collect());
        cold.unwrap_or_else(|| ids.to_vec())
    }

    /// Of the ids at these positions, writes the rows that are there to their places in `out`. Returns the positions of
    /// the others.
    pub(crate) fn take(&self, ids: &[usize], positions: &[usize], out: &mut [u8]) -> Vec<usize> {
        let width = self.width;
        let cold = self.with(|hot| {
            let mut cold = Vec::new();
            for &k in positions {
                match hot.slots.get(&ids[k]) {
                    Some(&slot) => out[k * width..][..width].copy_from_slice(&hot.memory[slot * width..][..width]),
                    None => cold.push(k),
                }
            }
            hot.misses += cold.len() as u64;
            hot.hits += (positions.len() - cold.len()) as u64;
            cold
        });
        cold.unwrap_or_else(|| positions.to_vec())
    }

    /// Keeps rows, each in place of the one that was used longest ago if there is no more room.
    pub(crate) fn keep<'a>(&self, rows: impl Iterator<Item = (usize, &'a [u8])>) {
        self.with(|hot| rows.for_each(|(id, row)| hot.keep(id, row)));
    }

    fn with<T>(&self, work: impl FnOnce(&mut Hot) -> T) -> Option<T> {
        self.hot.as_ref().map(|hot| work(&mut hot.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl Hot {
    fn keep(&mut self, id: usize, row: &[u8]) {
        // Another thread may have read the same row, or the batch names it twice.
        if self.slots.contains(&id) {
            return;
        }
        let full = self.slots.len() == self.slots.cap().get();
        match if full { self.slots.pop_lru() } else { None } {
            Some((_, slot)) => {
                self.memory[slot * row.len()..][..row.len()].copy_from_slice(row);
                self.slots.put(id, slot);
            }
            None => {
                self.slots.put(id, self.slots.len());
                self.memory.extend_from_slice(row);
            }
        }
    }
}
