//! What is asked of every operation: its result is small, its gradient exists and needs no more memory than there is.

use super::inputs::SIZE;
use crate::answer::caught;
use burn::tensor::{Bool, Int, Tensor};
use sparse_tensor::pattern::Pattern;
use sparse_tensor::{Fill, FillValue, SparseError, SparseTensor};
use std::panic::Location;
use std::sync::Mutex;

/// Bytes that the whole process may take.
const MEMORY: usize = 2 << 30;
/// Elements that a result may store.
const STORED: usize = 5 * SIZE;

/// What failed, with the line of its entry, and how much ran.
static FOUND: Mutex<(Vec<String>, usize)> = Mutex::new((Vec::new(), 0));

pub fn found() -> (Vec<String>, usize) {
    FOUND.lock().expect("a list").clone()
}

/// Runs one operation with its backward pass. One that fails is reported at the end, with all others.
#[track_caller]
pub fn done<T: Outcome>(name: &str, operation: impl FnOnce() -> T) {
    let result = caught(|| operation().finish(name));
    note(name, result);
}

/// Runs what runs operations. What panics outside of one is a failure by the entry's name, and not the end of all.
pub fn prepared(name: &str, entry: impl FnOnce()) {
    if let Err(why) = caught(entry) {
        FOUND.lock().expect("a list").0.push(format!("{name}: {why}"));
    }
}

#[track_caller]
pub fn refuses(name: &str, expected: u128, result: sparse_tensor::Result<()>) {
    note(
        name,
        match result {
            Err(SparseError::WouldDensify { elements, .. }) if elements == expected => Ok(()),
            other => Err(format!("would_densify of {expected} expected, got {other:?}")),
        },
    );
}

#[track_caller]
fn note(name: &str, result: Result<(), String>) {
    let result = result.and_then(|()| match peak() {
        Some(peak) if peak >= MEMORY => Err(format!("the process took {peak} bytes")),
        _ => Ok(()),
    });
    let mut found = FOUND.lock().expect("a list");
    found.1 += 1;
    if let Err(why) = result {
        found.0.push(format!("{}: {name}: {why}", Location::caller()));
    }
}

/// The most memory that this process had at once, where the system says it.
pub fn peak() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok().map(|kilobytes: usize| kilobytes * 1024)
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
        let curved = self.clone().map(|rows| rows.sin());
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
