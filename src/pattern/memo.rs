//! What is made of a pattern once and kept with it.

use crate::rows::RowMap;
use std::any::{Any, TypeId};
use std::convert::Infallible;
use std::fmt;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// Things of each kind kept with a pattern, those used last. A training loop needs one or two, or as many as it has fixed
/// ranges; others are found again at the price of a merge.
const KEPT: usize = 64;

/// How many of them are kept whatever their size. More are only while all together hold no more than so many copies of the
/// pattern.
const COPIES: usize = 8;

/// Elements, and rows that are compressed, that are too few to count.
const FEW: usize = 1 << 16;

/// Patterns that a thing may have to be kept: each costs memory, however few elements it has.
const KEPT_PARTS: usize = 1024;

/// How long a chain of patterns may be of which each is kept with the one that it was made of. A state that a loop
/// replaces makes a pattern of the last one in every step: all would live as long as the first, and dropping it, which
/// drops one inside the other, would overflow the stack.
const DEEPEST: u32 = 256;

static NEXT: AtomicU64 = AtomicU64::new(0);

/// A number that no other pattern, or index, of the process has.
pub(crate) fn identity() -> u64 {
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// What names a thing among those made of a pattern. Its type is the operation's own, so operations cannot meet; other
/// patterns are named by their [`id`](Memo::id).
pub(crate) trait Key: Eq + Send + Sync + 'static {}
impl<K: Eq + Send + Sync + 'static> Key for K {}

/// A thing that can be kept. A copy shares what it holds.
pub(crate) trait Made: Clone + Send + Sync + 'static {
    /// What the patterns in it keep in their turn.
    fn memos(&self) -> Vec<&Memo>;

    /// Numbers that it holds.
    fn held(&self) -> usize {
        self.memos().iter().map(|memo| memo.held).sum()
    }
}

impl<M: Made> Made for Arc<Vec<M>> {
    fn memos(&self) -> Vec<&Memo> {
        self.iter().flat_map(Made::memos).collect()
    }
}

impl Made for RowMap {
    fn memos(&self) -> Vec<&Memo> {
        vec![]
    }

    fn held(&self) -> usize {
        self.map().dims()[0]
    }
}

/// What is kept with one pattern. Any thread of any pool may ask: nothing is made while the lock is held.
pub struct Memo {
    id: u64,
    depth: AtomicU32,
    /// Numbers that the pattern itself holds.
    held: usize,
    /// For each type of key and thing, a `Vec` of `Entry`.
    kinds: Mutex<Vec<(TypeId, Box<dyn Any + Send + Sync>)>>,
}

/// The one used last stands last.
struct Entry<K, M> {
    key: K,
    made: M,
    held: usize,
}

impl Memo {
    /// For a pattern that holds so many numbers: of elements, and of rows where they are compressed.
    pub(crate) fn new(held: usize) -> Self {
        Self { id: identity(), depth: AtomicU32::new(0), held, kinds: Mutex::default() }
    }

    /// What names the pattern in the keys of others.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Numbers that the pattern holds, or may have to.
    pub(crate) fn held(&self) -> usize {
        self.held
    }

    /// What `make` makes of the pattern, made once.
    pub(crate) fn get<K: Key, M: Made>(&self, key: K, make: impl FnOnce() -> M) -> M {
        let Ok(made) = self.try_get(key, || Ok::<_, Infallible>(make()));
        made
    }

    /// [`get`](Self::get), where it may fail.
    pub(crate) fn try_get<K: Key, M: Made, E>(&self, key: K, make: impl FnOnce() -> Result<M, E>) -> Result<M, E> {
        match self.find(&key) {
            Some(made) => Ok(made),
            None => Ok(self.keep(key, make()?)),
        }
    }

    /// What is known by this key.
    pub(crate) fn find<K: Key, M: Made>(&self, key: &K) -> Option<M> {
        let mut kinds = self.lock();
        let kept = entries::<K, M>(&mut kinds)?;
        let at = kept.iter().position(|entry| entry.key == *key)?;
        kept[at..].rotate_left(1);
        kept.last().map(|entry| entry.made.clone())
    }

    /// Keeps a thing that was made, and gives it back; if another thread was first, the other one's.
    pub(crate) fn keep<K: Key, M: Made>(&self, key: K, made: M) -> M {
        if !self.adopts(&made) {
            return made;
        }
        let entry = Entry { key, made: made.clone(), held: made.held() };
        let room = self.held.saturating_mul(COPIES).max(FEW);
        // Dropped after the lock is.
        let mut old: Vec<Entry<K, M>> = vec![];
        let mut kinds = self.lock();
        if entries::<K, M>(&mut kinds).is_none() {
            kinds.push((TypeId::of::<(K, M)>(), Box::new(Vec::<Entry<K, M>>::new())));
        }
        let kept = entries::<K, M>(&mut kinds).expect("it was put there");
        if let Some(first) = kept.iter().find(|other| other.key == entry.key) {
            let first = first.made.clone();
            old.push(entry);
            drop(kinds);
            return first;
        }
        kept.push(entry);
        let mut all = 0usize;
        let fits = kept.iter().rev().take(KEPT).enumerate().take_while(|(count, entry)| {
            all = all.saturating_add(entry.held);
            *count < COPIES || all <= room
        });
        let surplus = kept.len() - fits.count();
        old.extend(kept.drain(..surplus));
        drop(kinds);
        made
    }

    /// Whether the pattern may keep what was made of it: not itself, not too many patterns, and not at the end of a long
    /// chain. All patterns in it learn how deep they stand.
    fn adopts(&self, made: &impl Made) -> bool {
        let memos = made.memos();
        let deep = !memos.is_empty() && self.depth.load(Ordering::Relaxed) >= DEEPEST;
        if deep || memos.len() > KEPT_PARTS || memos.iter().any(|memo| memo.id == self.id) {
            return false;
        }
        memos.iter().for_each(|memo| self.deepen(memo));
        true
    }

    /// Notes that the pattern keeps another one.
    pub(super) fn deepen(&self, made: &Self) {
        let depth = self.depth.load(Ordering::Relaxed).saturating_add(1);
        made.depth.fetch_max(depth, Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(TypeId, Box<dyn Any + Send + Sync>)>> {
        self.kinds.lock().expect("nothing panics while it is held")
    }
}

fn entries<K: Key, M: Made>(kinds: &mut [(TypeId, Box<dyn Any + Send + Sync>)]) -> Option<&mut Vec<Entry<K, M>>> {
    let (_, kept) = kinds.iter_mut().find(|(kind, _)| *kind == TypeId::of::<(K, M)>())?;
    kept.downcast_mut()
}

impl fmt::Debug for Memo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memo").field("id", &self.id).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::{COPIES, DEEPEST, FEW, KEPT, KEPT_PARTS, Made, Memo};
    use std::sync::Arc;

    #[derive(Clone)]
    struct Thing(Arc<Memo>, u32);

    impl Made for Thing {
        fn memos(&self) -> Vec<&Memo> {
            vec![&self.0]
        }
    }

    fn thing(held: usize, mark: u32) -> Thing {
        Thing(Arc::new(Memo::new(held)), mark)
    }

    #[derive(PartialEq, Eq)]
    struct A(usize);
    #[derive(PartialEq, Eq)]
    struct B(usize);

    #[test]
    fn kinds_do_not_meet_and_the_first_stays() {
        let memo = Memo::new(1);
        assert_eq!(memo.get(A(0), || thing(1, 1)).1, 1);
        assert_eq!(memo.get(B(0), || thing(1, 2)).1, 2);
        assert_eq!(memo.get(A(0), || thing(1, 3)).1, 1);
        // Another thread was first while this one made its own.
        let late = memo.get(A(1), || {
            memo.keep(A(1), thing(1, 4));
            thing(1, 5)
        });
        assert_eq!(late.1, 4);
        assert!(memo.try_get(A(2), || Err::<Thing, ()>(())).is_err());
        assert!(memo.find::<_, Thing>(&A(2)).is_none());
    }

    #[test]
    fn few_large_ones_and_many_small_ones_are_kept() {
        let count = |held: usize| {
            let memo = Memo::new(1);
            (0..2 * KEPT).for_each(|k| {
                memo.get(A(k), || thing(held, 0));
                // What is used stays.
                assert!(memo.find::<_, Thing>(&A(0)).is_some());
            });
            (0..2 * KEPT).filter(|&k| memo.find::<_, Thing>(&A(k)).is_some()).count()
        };
        assert_eq!(count(1), KEPT);
        assert_eq!(count(FEW), COPIES);
    }

    #[test]
    fn chains_break_and_neither_itself_nor_too_many_are_kept() {
        let mut last = Arc::new(Memo::new(1));
        let mut kept = 0;
        for _ in 0..2 * DEEPEST {
            let next = last.get(A(0), || thing(1, 0)).0;
            kept += usize::from(last.find::<_, Thing>(&A(0)).is_some());
            last = next;
        }
        // One that is as deep as any may be keeps nothing: what was made of it starts another chain.
        assert_eq!(kept, 2 * DEEPEST as usize - 1);
        let memo = Arc::new(Memo::new(1));
        memo.get(A(0), || Thing(memo.clone(), 0));
        assert!(memo.find::<_, Thing>(&A(0)).is_none());
        for (parts, is_kept) in [(KEPT_PARTS, true), (KEPT_PARTS + 1, false)] {
            memo.get(B(parts), || Arc::new(vec![thing(0, 0); parts]));
            assert_eq!(memo.find::<_, Arc<Vec<Thing>>>(&B(parts)).is_some(), is_kept);
        }
    }
}
