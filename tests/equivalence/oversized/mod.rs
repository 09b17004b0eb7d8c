//! No operation forms a dense tensor of the full shape: everything that can stay sparse runs on
//! [1_000_000, 1_000_000], on a batch of two of them and on blocks of 4 elements, forward and backward, within 2 GiB;
//! what cannot names the number of elements. How an operation runs stands in its entry of the registry.

mod inputs;
mod outcome;
mod shapes;

pub use inputs::{Inputs, SIZE, filled, index, mask, ones, stored_at, stored_index, undefined};
use outcome::Outcome;

use crate::operations::Operation;
use sparse_tensor::pattern::{CooPattern, CsrPattern, Pattern};
use sparse_tensor::{Result, SparseTensor};
use std::any::Any;
use std::process::ExitCode;

/// An entry on the inputs of one layout.
pub type Run = fn(&'static str, &Inputs);

/// Runs every entry and some shapes beyond; fails with a list of what failed.
pub fn run_all(table: &[Operation]) -> ExitCode {
    let inputs = Inputs::new();
    for operation in table {
        for run in &operation.oversized {
            outcome::prepared(operation.name, || run(operation.name, &inputs));
        }
    }
    outcome::prepared("shapes", || shapes::all(&inputs));
    let (failures, runs) = outcome::found();
    failures.iter().for_each(|failure| println!("FAILED oversized: {failure}"));
    let peak = match outcome::peak() {
        Some(peak) => format!("{} MiB", peak >> 20),
        None => "unknown: /proc/self/status does not say, so the limit of memory was not checked".into(),
    };
    println!("oversized: {{\"runs\":{runs},\"failed\":{},\"peak\":\"{peak}\"}}", failures.len());
    if failures.is_empty() && runs > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Two tensors of a layout, and how an operation is run on them: each time with its backward pass, and with what it
/// gives looked at. A failure is reported with the line of the entry, after all others ran.
pub struct Oversized<P: Pattern, const D: usize> {
    name: &'static str,
    pub a: SparseTensor<P, D>,
    pub b: SparseTensor<P, D>,
}

impl<P: Pattern, const D: usize> Oversized<P, D> {
    pub fn new(name: &'static str, [a, b]: &[SparseTensor<P, D>; 2]) -> Self {
        Self { name, a: a.clone(), b: b.clone() }
    }

    /// As what only matrices have.
    pub fn matrix(&self) -> &Oversized<P, 2> {
        (self as &dyn Any).downcast_ref().expect("an operation of matrices")
    }

    /// As what only COO has.
    pub fn coo(&self) -> &Oversized<CooPattern, D> {
        (self as &dyn Any).downcast_ref().expect("an operation of COO")
    }

    /// As what only CSR has.
    pub fn csr(&self) -> &Oversized<CsrPattern, D> {
        (self as &dyn Any).downcast_ref().expect("an operation of CSR")
    }

    #[track_caller]
    pub fn run<T: Outcome>(&self, operation: impl FnOnce() -> T) {
        outcome::done(self.name, operation);
    }

    /// Would have to form so many elements, and says so.
    #[track_caller]
    pub fn refuses<T>(&self, elements: u128, result: Result<T>) {
        outcome::refuses(self.name, elements, result.map(drop));
    }

    /// Elements of a dense tensor of this shape.
    pub fn cells(&self) -> u128 {
        self.a.num_elements()
    }

    #[track_caller]
    fn of<T: Outcome>(&self, list: &[SparseTensor<P, D>], f: impl Fn(&SparseTensor<P, D>) -> T) {
        for x in list {
            self.run(|| f(x));
        }
    }

    /// The first tensor with every fill: zero, in a tensor on the tape, a number of the host, none.
    fn fills(&self) -> [SparseTensor<P, D>; 4] {
        [self.a.clone(), filled(&self.a), inputs::host_filled(&self.a), undefined(&self.a)]
    }

    #[track_caller]
    pub fn each<T: Outcome>(&self, f: impl Fn(&SparseTensor<P, D>) -> T) {
        self.of(&self.fills(), f);
    }

    /// Where an element that is not stored must have a value.
    #[track_caller]
    pub fn defined<T: Outcome>(&self, f: impl Fn(&SparseTensor<P, D>) -> T) {
        self.of(&self.fills()[..3], f);
    }

    /// Where the answer is sparse only with the fill zero, or none.
    #[track_caller]
    pub fn sparse<T: Outcome>(&self, f: impl Fn(&SparseTensor<P, D>) -> T) {
        self.of(&[self.a.clone(), undefined(&self.a)], f);
    }

    /// Where the answer is dense, and large: one fill with a value is enough.
    #[track_caller]
    pub fn with_dense<T: Outcome>(&self, f: impl Fn(&SparseTensor<P, D>) -> T) {
        self.of(&[self.a.clone(), filled(&self.a), undefined(&self.a)], f);
    }

    #[track_caller]
    pub fn pairs<T: Outcome>(&self, f: impl Fn(&SparseTensor<P, D>, &SparseTensor<P, D>) -> T) {
        for x in &self.fills() {
            for y in &[self.b.clone(), filled(&self.b), undefined(&self.b)] {
                self.run(|| f(x, y));
            }
        }
    }

    #[track_caller]
    pub fn axes<T: Outcome>(&self, f: impl Fn(&SparseTensor<P, D>, isize) -> T) {
        self.parts(|x, _, axis| f(x, axis));
    }

    #[track_caller]
    pub fn sparse_axes<T: Outcome>(&self, f: impl Fn(&SparseTensor<P, D>, isize) -> T) {
        for axis in 0..self.a.sparse_dims() as isize {
            self.of(&self.fills(), |x| f(x, axis));
        }
    }

    /// Along every axis, whose size is given.
    #[track_caller]
    pub fn parts<T: Outcome>(&self, f: impl Fn(&SparseTensor<P, D>, usize, isize) -> T) {
        for (axis, size) in self.a.dims().into_iter().enumerate() {
            self.of(&self.fills(), |x| f(x, size, axis as isize));
        }
    }

    /// With a vector along every sparse axis, of the size given.
    #[track_caller]
    pub fn lines<T: Outcome>(&self, f: impl Fn(&SparseTensor<P, D>, usize, isize) -> T) {
        for (axis, &size) in self.a.pattern().shape().iter().enumerate() {
            self.run(|| f(&self.a, size, axis as isize));
        }
    }

    /// Along several axes at once.
    #[track_caller]
    pub fn several<T: Outcome>(&self, f: impl Fn(&SparseTensor<P, D>, &[isize]) -> T) {
        for axes in [[0, 1], [-2, -1]] {
            self.of(&self.fills(), |x| f(x, &axes));
        }
    }

    /// Two tensors of one fill.
    #[track_caller]
    pub fn alike<T: Outcome>(&self, f: impl Fn(&[SparseTensor<P, D>]) -> T) {
        self.of(&self.fills(), |x| f(&[x.clone(), self.b.clone().with_fill(x.fill().clone())]));
    }

    /// The same along every axis; without a fill twice the same tensor, as dense dims ask for.
    #[track_caller]
    pub fn joins<T: Outcome>(&self, f: impl Fn(&[SparseTensor<P, D>], isize) -> T) {
        for axis in 0..D as isize {
            self.of(&self.fills(), |x| {
                let alike = || self.b.clone().with_fill(x.fill().clone());
                f(&[x.clone(), if x.fill().is_undefined() { x.clone() } else { alike() }], axis)
            });
        }
    }

    /// The sparse axis of the rows; that of the columns is the next one.
    pub fn rows(&self) -> usize {
        self.a.sparse_dims() - 2
    }

    /// All axes, with rows and columns swapped.
    pub fn swapped(&self) -> [isize; D] {
        let mut axes = std::array::from_fn(|axis| axis as isize);
        axes.swap(self.rows(), self.rows() + 1);
        axes
    }

    /// A few columns of the first tensor, so that a dense one of the shape can be.
    pub fn tall(&self) -> SparseTensor<P, D> {
        let axis = self.rows() + 1;
        let batch = self.a.dims().iter().product::<usize>() / SIZE / SIZE;
        let columns = &[0, 331, 5 * 331, 10 * 331][..4 / batch];
        self.a.select(axis as isize, index(columns)).detach().require_grad()
    }
}
