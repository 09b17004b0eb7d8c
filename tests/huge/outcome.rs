//! What is asked of every operation: its result is small, its gradient exists and needs no more memory than there is.

use crate::inputs::SIZE;
use burn::tensor::{Bool, Int, Tensor};
use sparse_tensor::pattern::Pattern;
use sparse_tensor::{Fill, FillValue, SparseError, SparseTensor};
use std::any::Any;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::Mutex;

/// Bytes that the whole process may take.
const MEMORY: usize = 2 << 30;
/// Elements that a result may store.
const STORED: usize = 5 * SIZE;

/// Names of what ran, or was refused.
pub static SEEN: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
/// What failed, and where it stands in the tables.
pub static FAILED: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Runs methods (`value => name(arguments), ..;`), functions of `ops` or those of a type, by their names.
macro_rules! run {
    (ops => $($name:ident $(::<$($of:tt),*>)? ($($argument:expr),* $(,)?)),+ $(,)?) => {$(
        $crate::outcome::done(stringify!($name), || sparse_tensor::ops::$name$(::<$($of),*>)?($($argument),*));
    )+};
    (type $owner:ty => $($name:ident($($argument:expr),* $(,)?)),+ $(,)?) => {$(
        $crate::outcome::done(stringify!($name), || <$owner>::$name($($argument),*));
    )+};
    ($($value:expr => $($name:ident $(::<$of:tt>)? ($($argument:expr),* $(,)?)),+;)+) => {$($(
        $crate::outcome::done(stringify!($name), || $value.$name$(::<$of>)?($($argument),*));
    )+)+};
}

/// Methods that would have to form so many elements, and say so: `elements => value => try_name(arguments), ..;`.
macro_rules! refused {
    ($($elements:expr => $value:expr => $($name:ident $(::<$of:tt>)? ($($argument:expr),* $(,)?)),+;)+) => {$($(
        $crate::outcome::refuses(stringify!($name), $elements, $value.$name$(::<$of>)?($($argument),*).map(drop));
    )+)+};
}

pub(crate) use {refused, run};

/// Runs one operation with its backward pass. One that fails is reported at the end, with all others.
#[track_caller]
pub fn done<T: Outcome>(name: &'static str, operation: impl FnOnce() -> T) {
    let at = Location::caller();
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| operation().finish(name))) {
        FAILED.lock().expect("a list").push(format!("{at}: {name}: {}", message(&*panic)));
    }
    seen(name);
}

/// What a panic says.
pub fn message(panic: &(dyn Any + Send)) -> &str {
    let literal = panic.downcast_ref::<&str>().copied();
    literal.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

#[track_caller]
pub fn refuses(name: &'static str, expected: u128, result: sparse_tensor::Result<()>) {
    match result {
        Err(SparseError::WouldDensify { elements, .. }) if elements == expected => {}
        other => {
            let failure =
                format!("{}: {name}: would_densify of {expected} expected, got {other:?}", Location::caller());
            FAILED.lock().expect("a list").push(failure);
        }
    }
    seen(name);
}

#[track_caller]
fn seen(name: &'static str) {
    let peak = peak();
    assert!(peak < MEMORY, "{name}: {peak} bytes");
    SEEN.lock().expect("no test failed").insert(name.strip_prefix("try_").unwrap_or(name));
}

/// The most memory that this process had at once (0 where the system does not say).
pub fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<usize>().ok()).unwrap_or(0) * 1024
}

/// A result. Those of floats are differentiated.
pub trait Outcome {
    fn finish(self, name: &str);
}

#[track_caller]
fn check_stored<P: Pattern, const D: usize, K: sparse_tensor::Kind>(name: &str, out: &SparseTensor<P, D, K>) {
    assert!((1..STORED).contains(&out.nnz()), "{name}: {} stored elements", out.nnz());
}

impl<P: Pattern, const D: usize> Outcome for SparseTensor<P, D> {
    #[track_caller]
    fn finish(self, name: &str) {
        check_stored(name, &self);
        let curved = self.map(|rows| rows.sin());
        let stored = match self.dense_dims() {
            0 => curved.values::<1>().sum(),
            1 => curved.values::<2>().sum(),
            _ => curved.values::<3>().sum(),
        };
        let all = match curved.fill() {
            Fill::Value(FillValue::Block(row)) => stored + row.row().clone().sum(),
            _ => stored,
        };
        all.finish(name);
    }
}

impl<P: Pattern, const D: usize> Outcome for SparseTensor<P, D, Int> {
    fn finish(self, name: &str) {
        check_stored(name, &self);
    }
}

impl<P: Pattern, const D: usize> Outcome for SparseTensor<P, D, Bool> {
    fn finish(self, name: &str) {
        check_stored(name, &self);
    }
}

impl<const D: usize> Outcome for Tensor<D> {
    #[track_caller]
    fn finish(self, name: &str) {
        assert!(self.shape().num_elements() <= STORED, "{name}: {:?}", self.dims());
        assert!(self.is_tracked(), "{name}: no gradient");
        drop(self.sum().backward());
    }
}

impl<const D: usize> Outcome for Tensor<D, Int> {
    fn finish(self, name: &str) {
        assert!(self.shape().num_elements() <= STORED, "{name}: {:?}", self.dims());
    }
}

impl<const D: usize> Outcome for Tensor<D, Bool> {
    fn finish(self, name: &str) {
        assert!(self.shape().num_elements() <= STORED, "{name}: {:?}", self.dims());
    }
}

impl<T: Outcome> Outcome for Vec<T> {
    fn finish(self, name: &str) {
        self.into_iter().for_each(|part| part.finish(name));
    }
}

impl<T: Outcome> Outcome for sparse_tensor::Result<T> {
    #[track_caller]
    fn finish(self, name: &str) {
        self.unwrap_or_else(|error| panic!("{name}: {error}")).finish(name);
    }
}

impl Outcome for usize {
    fn finish(self, name: &str) {
        assert!((1..STORED).contains(&self), "{name}: {self}");
    }
}
