//! Every order in which threads can take turns at the memo of a pattern and at a lazy value, by loom. The files are
//! those of the library; around them stands only what they import.
//!
//! ```sh
//! cargo run --release --manifest-path tests/loom/Cargo.toml
//! ```
//!
//! A lock that is held while a value is derived is found: loom reports the deadlock of the nested models.
#![allow(dead_code)]

// The files import `sparse_burn`.
extern crate self as sparse_burn;

/// Outside of `without_blocking`.
pub mod replay {
    pub struct Room;

    impl Room {
        pub fn fill<T>(self, made: T, keep: impl FnOnce(T) -> T) -> T {
            keep(made)
        }
    }

    pub fn lookup<T>(find: impl FnOnce() -> Option<T>) -> Result<T, Room> {
        find().ok_or(Room)
    }

    pub fn is_dropped() -> bool {
        false
    }

    pub fn without_reads<T>(make: impl FnOnce() -> T) -> T {
        make()
    }
}

mod rows {
    #[derive(Clone)]
    pub(crate) struct RowMap;

    impl RowMap {
        pub(crate) fn map(&self) -> &Self {
            self
        }

        pub(crate) fn dims(&self) -> [usize; 1] {
            [0]
        }
    }
}

#[path = "../../../crates/sparse-ops/src/base/lazy.rs"]
mod lazy;

mod base {
    pub(crate) mod sync {
        pub(crate) use loom::sync::atomic::{AtomicU32, Ordering};
        pub(crate) use loom::sync::{Mutex, MutexGuard};

        /// loom has none. This one leaks, and holds its lock only for what is ready.
        #[derive(Debug)]
        pub(crate) struct OnceLock<T>(Mutex<Option<usize>>, std::marker::PhantomData<T>);

        impl<T> OnceLock<T> {
            pub(crate) fn new() -> Self {
                Self(Mutex::new(None), std::marker::PhantomData)
            }

            pub(crate) fn get(&self) -> Option<&T> {
                // SAFETY: the address is that of a box that is never freed.
                self.0.lock().unwrap().map(|address| unsafe { &*(address as *const T) })
            }

            pub(crate) fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
                self.0.lock().unwrap().get_or_insert_with(|| Box::into_raw(Box::new(make())) as usize);
                self.get().expect("made above")
            }
        }

        impl<T> From<T> for OnceLock<T> {
            fn from(value: T) -> Self {
                let cell = Self::new();
                cell.get_or_init(|| value);
                cell
            }
        }
    }
}

#[path = "../../../crates/sparse-ops/src/pattern/memo.rs"]
mod memo;

use lazy::Lazy;
use loom::thread;
use memo::{Made, Memo};
use std::sync::Arc;

/// A derived pattern. Two of them are the same if their memos are.
#[derive(Clone)]
struct Thing(Arc<Memo>);

impl Thing {
    fn new() -> Self {
        Self(Arc::new(Memo::new(1)))
    }

    fn id(&self) -> u64 {
        self.0.id()
    }
}

impl Made for Thing {
    fn memos(&self) -> Vec<&Memo> {
        vec![&self.0]
    }
}

#[derive(PartialEq, Eq)]
struct A(u8);
#[derive(PartialEq, Eq)]
struct B(u8);

/// Threads that derive the same pattern get the same one.
fn one_pattern_for_all() {
    let memo = Arc::new(Memo::new(1));
    let get = |memo: Arc<Memo>| move || memo.get(A(0), Thing::new).id();
    let others = [thread::spawn(get(memo.clone())), thread::spawn(get(memo.clone()))];
    let own = get(memo.clone())();
    for other in others {
        assert_eq!(other.join().unwrap(), own);
    }
    assert_eq!(memo.get(A(0), || -> Thing { unreachable!("it is kept") }).id(), own);
}

/// Each thread needs what the other one derives, while it derives its own.
fn nested() {
    let memo = Arc::new(Memo::new(1));
    let of = |memo: Arc<Memo>| {
        move || {
            let a = memo.get(A(0), || {
                memo.get(B(0), Thing::new);
                Thing::new()
            });
            (a.id(), memo.get(B(0), Thing::new).id())
        }
    };
    let transpose = |memo: Arc<Memo>| {
        move || {
            let b = memo.get(B(0), || {
                memo.get(A(0), Thing::new);
                Thing::new()
            });
            (memo.get(A(0), Thing::new).id(), b.id())
        }
    };
    let other = thread::spawn(transpose(memo.clone()));
    let own = of(memo)();
    assert_eq!(other.join().unwrap(), own);
}

/// A pattern that each of two others keeps, and that keeps another itself: no lock is taken twice.
fn chains() {
    let (first, second, shared) = (Arc::new(Memo::new(1)), Arc::new(Memo::new(1)), Thing::new());
    let keep = |memo: Arc<Memo>, made: Thing| {
        move || {
            memo.get(A(0), || made.clone());
            made.0.get(A(1), Thing::new).id()
        }
    };
    let other = thread::spawn(keep(first, shared.clone()));
    let own = keep(second, shared)();
    assert_eq!(other.join().unwrap(), own);
}

/// A lazy value that is needed while it is computed.
fn lazy() {
    let cell = Arc::new(Lazy::new());
    let get = |cell: Arc<Lazy<u32>>, own: u32| move || *cell.get(|| *cell.get(|| own));
    let other = thread::spawn(get(cell.clone(), 1));
    let own = get(cell.clone(), 2)();
    assert_eq!(other.join().unwrap(), own);
    assert_eq!(cell.known(), Some(&own));
    assert_eq!(cell.read(|| 3), own);
}

fn main() {
    let models: [(&str, fn()); 4] =
        [("one pattern for all", one_pattern_for_all), ("nested", nested), ("chains", chains), ("lazy", lazy)];
    for (name, model) in models {
        loom::model(model);
        println!("{name}: all orders passed");
    }
}
