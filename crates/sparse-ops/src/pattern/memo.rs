//! Results that are derived from a pattern once and kept with it.

use crate::base::sync::{AtomicU32, Mutex, MutexGuard, Ordering};
use crate::rows::RowMap;
use sparse_burn::replay::lookup;
use std::any::{Any, TypeId};
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// A pattern keeps at most this many results of each kind: the last ones used. A training loop needs one or two, or one
/// for each of its fixed ranges. Others are derived again, which costs about as much as a merge.
const KEPT: usize = 64;

/// This many of them are kept whatever their size. More are kept only while all of them together take at most as much
/// memory as this many copies of the pattern.
const COPIES: usize = 8;

/// For a small pattern: this many numbers may be kept in any case.
const FEW: usize = 1 << 16;

/// A result with more patterns than this is not kept. Every pattern takes memory, even one without elements.
const KEPT_PARTS: usize = 1024;

/// The longest chain of patterns, each kept by the one that it is derived from. A loop that replaces its state derives
/// a new pattern from the last one in every step. Without a limit all of them would live as long as the first one, and
/// dropping that one would drop the others recursively and overflow the stack.
const DEEPEST: u32 = 256;

static NEXT: AtomicU64 = AtomicU64::new(0);

/// A new number, different from that of every other pattern and index of this process.
pub(crate) fn identity() -> u64 {
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// The key of a kept result. Every operation has its own type of key, so the keys of two operations never collide. A
/// key refers to other patterns by their [`id`](Memo::id).
pub(crate) trait Key: Eq + Send + Sync + 'static {}
impl<K: Eq + Send + Sync + 'static> Key for K {}

/// A result that can be kept. Its clones share their data.
pub(crate) trait Made: Clone + Send + Sync + 'static {
    /// The memos of the patterns in it.
    fn memos(&self) -> Vec<&Memo>;

    /// How many numbers it keeps in memory.
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

/// The results that one pattern keeps. Any thread of any pool may use it: `make` runs without the lock.
pub(crate) struct Memo {
    id: u64,
    /// Length of the longest chain of keepers above this pattern.
    depth: AtomicU32,
    /// How many numbers the pattern itself keeps in memory.
    held: usize,
    /// A `Vec<Entry<K, M>>` for each pair of types `K` and `M`.
    kinds: Mutex<Vec<(TypeId, Box<dyn Any + Send + Sync>)>>,
}

/// Entries are in the order of their last use.
struct Entry<K, M> {
    key: K,
    made: M,
    held: usize,
}

impl Memo {
    /// An empty memo for a pattern of `held` numbers: those of its elements and of its compressed rows.
    pub(crate) fn new(held: usize) -> Self {
        Self { id: identity(), depth: AtomicU32::new(0), held, kinds: Mutex::default() }
    }

    /// The number by which keys refer to the pattern.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// How many numbers the pattern keeps in memory.
    pub(crate) fn held(&self) -> usize {
        self.held
    }

    /// Returns what is kept under `key`. If there is nothing, `make` derives it, and it is kept.
    pub(crate) fn get<K: Key, M: Made>(&self, key: K, make: impl FnOnce() -> M) -> M {
        self.get_with(key, || (make(), ())).0
    }

    /// [`get`](Self::get) for a `make` that can fail.
    pub(crate) fn try_get<K: Key, M: Made, E>(&self, key: K, make: impl FnOnce() -> Result<M, E>) -> Result<M, E> {
        Ok(self.try_get_with(key, || Ok((make()?, ())))?.0)
    }

    /// [`get`](Self::get) for a `make` with a second result, which is not kept: it is returned if `make` has run.
    pub(crate) fn get_with<K: Key, M: Made, X>(&self, key: K, make: impl FnOnce() -> (M, X)) -> (M, Option<X>) {
        let Ok(found) = self.try_get_with(key, || Ok::<_, Infallible>(make()));
        found
    }

    /// [`get_with`](Self::get_with) for a `make` that can fail.
    pub(crate) fn try_get_with<K: Key, M: Made, X, E>(
        &self,
        key: K,
        make: impl FnOnce() -> Result<(M, X), E>,
    ) -> Result<(M, Option<X>), E> {
        match lookup(|| self.find(&key)) {
            Ok(found) => Ok((found, None)),
            Err(room) => {
                let (made, extra) = make()?;
                Ok((room.fill(made, |made| self.keep(key, made)), Some(extra)))
            }
        }
    }

    /// What is kept under `key`.
    fn find<K: Key, M: Made>(&self, key: &K) -> Option<M> {
        let mut kinds = self.lock();
        let kept = entries::<K, M>(&mut kinds)?;
        let at = kept.iter().position(|entry| entry.key == *key)?;
        kept[at..].rotate_left(1);
        kept.last().map(|entry| entry.made.clone())
    }

    /// Keeps `made` and returns it. If another thread has kept a result under this key meanwhile, returns that one.
    fn keep<K: Key, M: Made>(&self, key: K, made: M) -> M {
        if !self.adopts(&made) {
            return made;
        }
        let entry = Entry { key, made: made.clone(), held: made.held() };
        let room = self.held.saturating_mul(COPIES).max(FEW);
        // These are dropped after the lock is released.
        let mut old: Vec<Entry<K, M>> = vec![];
        let mut kinds = self.lock();
        if entries::<K, M>(&mut kinds).is_none() {
            kinds.push((TypeId::of::<(K, M)>(), Box::new(Vec::<Entry<K, M>>::new())));
        }
        let kept = entries::<K, M>(&mut kinds).expect("added above");
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

    /// Whether the pattern may keep a result. It must not keep itself or too many patterns, and the last pattern of a
    /// long chain keeps no others. If it may, the patterns in the result learn their depth in the chain.
    fn adopts(&self, made: &impl Made) -> bool {
        let memos = made.memos();
        let deep = !memos.is_empty() && self.depth.load(Ordering::Relaxed) >= DEEPEST;
        if deep || memos.len() > KEPT_PARTS || memos.iter().any(|memo| memo.id == self.id) {
            return false;
        }
        memos.iter().for_each(|memo| self.deepen(memo));
        true
    }

    /// Tells another pattern that this one keeps it.
    pub(super) fn deepen(&self, made: &Self) {
        let depth = self.depth.load(Ordering::Relaxed).saturating_add(1);
        made.depth.fetch_max(depth, Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(TypeId, Box<dyn Any + Send + Sync>)>> {
        self.kinds.lock().expect("no code panics while it is locked")
    }
}

fn entries<K: Key, M: Made>(kinds: &mut [(TypeId, Box<dyn Any + Send + Sync>)]) -> Option<&mut Vec<Entry<K, M>>> {
    let (_, kept) = kinds.iter_mut().find(|(kind, _)| *kind == TypeId::of::<(K, M)>())?;
    kept.downcast_mut()
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
    fn kinds_are_separate_and_the_first_result_stays() {
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
        // The second result of `make` is returned only if it has run.
        let [first, again] = [7, 8].map(|extra| memo.get_with(A(3), || (thing(1, extra), extra)));
        assert_eq!((first.0.1, first.1), (7, Some(7)));
        assert_eq!((again.0.1, again.1), (7, None));
    }

    #[test]
    fn few_large_ones_and_many_small_ones_are_kept() {
        let count = |held: usize| {
            let memo = Memo::new(1);
            (0..2 * KEPT).for_each(|k| {
                memo.get(A(k), || thing(held, 0));
                // An entry in use stays.
                assert!(memo.find::<_, Thing>(&A(0)).is_some());
            });
            (0..2 * KEPT).filter(|&k| memo.find::<_, Thing>(&A(k)).is_some()).count()
        };
        assert_eq!(count(1), KEPT);
        assert_eq!(count(FEW), COPIES);
    }

    #[test]
    fn chains_are_cut_and_neither_itself_nor_too_many_are_kept() {
        let mut last = Arc::new(Memo::new(1));
        let mut kept = 0;
        for _ in 0..2 * DEEPEST {
            let next = last.get(A(0), || thing(1, 0)).0;
            kept += usize::from(last.find::<_, Thing>(&A(0)).is_some());
            last = next;
        }
        // The last pattern of the longest chain keeps nothing, so the next one starts another chain.
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
