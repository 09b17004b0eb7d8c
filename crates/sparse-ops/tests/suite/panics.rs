//! A panic names the line of its caller. One macro makes `x` of every `try_x`: its text is tested beside it, in
//! `sparse-macros`. Here one function of each form is called, and everything that is written by hand. What the errors
//! say is tested in `refused`.

use burn::tensor::{Device, Int, Tensor};
use sparse_tensor::nn::{GcnConvConfig, RowAdagradConfig, RowAdamConfig, RowOptimizer, RowSgd, RowSparseGrad};
use sparse_tensor::nn::{RowTableConfig, SparseLinear};
use sparse_tensor::ops::{IndexPlan, concat};
use sparse_tensor::{CooTensor, CsrTensor, Fill};
use std::fs::{read_dir, read_to_string};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;

/// File, line and message of the panic of `f`.
fn panic_of<T>(f: impl FnOnce() -> T) -> (String, u32, String) {
    // The hook is the process's: one test at a time.
    static HOOK: Mutex<()> = Mutex::new(());
    static SEEN: Mutex<Option<(String, u32, String)>> = Mutex::new(None);
    let _one = HOOK.lock().expect("no test panics while it holds the hook");
    let before = std::panic::take_hook();
    // Tests in other threads panic on purpose, too.
    let own = thread::current().id();
    std::panic::set_hook(Box::new(move |info| {
        if thread::current().id() != own {
            return;
        }
        let at = info.location().expect("a location");
        let message = info.payload_as_str().unwrap_or_default().to_string();
        *SEEN.lock().expect("a hook does not panic") = Some((at.file().to_string(), at.line(), message));
    }));
    let out = catch_unwind(AssertUnwindSafe(f));
    std::panic::set_hook(before);
    assert!(out.is_err(), "nothing panicked");
    SEEN.lock().expect("a hook does not panic").take().expect("the hook ran")
}

/// A call that panics, on one line: the line, the operation that the panic names, and the call.
macro_rules! call {
    ($op:literal, $call:expr) => {
        (line!(), $op, Box::new(|| drop($call)) as Box<dyn Fn() + '_>)
    };
}

type Calls<'a> = Vec<(u32, &'static str, Box<dyn Fn() + 'a>)>;

fn name_the_line(calls: Calls) {
    for (line, op, f) in calls {
        let (file, at, message) = panic_of(f);
        assert_eq!((file.as_str(), at), (file!(), line), "{op}: {message}");
        assert!(message.starts_with(&format!("{op}: ")), "{op}: {message}");
    }
}

fn ones<const D: usize>(shape: [usize; D]) -> Tensor<D> {
    Tensor::ones(shape, &Device::flex())
}

fn matrix(shape: [usize; 2]) -> CooTensor<2> {
    CooTensor::from_dense(ones(shape), 0)
}

#[test]
fn of_what_the_macro_makes() {
    let (a, b) = (matrix([2, 3]), matrix([3, 2]));
    let csr = a.to_csr();
    let plan = IndexPlan::new(Tensor::from_ints([0], &Device::flex()), 5).expect("valid indices");
    let layer = GcnConvConfig::new(4, 2).init(&Device::flex());
    name_the_line(vec![
        call!("max_pair", a.max_pair(&b)),
        call!("with_fill", a.clone().with_fill(Fill::tensor(ones([2])))),
        call!("from_dense", CooTensor::from_dense(ones([2, 3]), 3)),
        call!("concat", concat(&[a.clone(), b.clone()], 0)),
        call!("IndexPlan::select", plan.select(ones([2, 3]), 0)),
        call!("SparseLinear::from_weight", SparseLinear::from_weight(csr.clone(), Some(ones([5])))),
        call!("GcnConv::forward", layer.forward(&csr, ones([2, 4]))),
    ]);
}

/// Operators with a number have no error.
#[test]
fn of_operators() {
    let (a, b) = (matrix([2, 3]), matrix([3, 2]));
    let (ints, more) = (a.int(), b.int());
    name_the_line(vec![
        call!("add", &a + &b),
        call!("add", a.clone() + b.clone()),
        call!("add", &a + b.clone()),
        call!("add", a.clone() + &b),
        call!("sub", a.clone() - b.clone()),
        call!("mul", &a * b.clone()),
        call!("div", a.clone() / &b),
        call!("div", &ints / &more),
    ]);
}

#[test]
fn of_constructors_without_a_check() {
    let a = matrix([2, 3]);
    let csr = a.to_csr();
    name_the_line(vec![
        call!("CooTensor::new_unchecked", CooTensor::<2>::new_unchecked(a.indices(), ones([2]), [2, 3], true)),
        call!("CsrTensor::new_unchecked", CsrTensor::new_unchecked(csr.row_ptr(), csr.col_idx(), ones([2]), [2, 3])),
    ]);
}

/// Of a gradient of another table, and of an optimiser that was made for another one.
#[test]
fn of_steps_of_rows() {
    let device = Device::flex();
    let table = RowTableConfig::new(5, 2).init(&device);
    let other = RowTableConfig::new(4, 2).init(&device);
    let grad = |size: usize| {
        let ids = Tensor::<1, Int>::from_ints([1], &device);
        RowSparseGrad::new(ids, ones([1, 2]), size).expect("an id of the table")
    };
    name_the_line(vec![
        call!("RowSgd::step", RowSgd::new().step(0.1, table.clone(), grad(4))),
        call!("RowAdagrad::step", RowAdagradConfig::new().init(&table).step(0.1, table.clone(), grad(4))),
        call!("RowAdagrad::step", RowAdagradConfig::new().init(&other).step(0.1, table.clone(), grad(5))),
        call!("RowAdam::step", RowAdamConfig::new().init(&table).step(0.1, table.clone(), grad(4))),
        call!("RowAdam::step", RowAdamConfig::new().init(&other).step(0.1, table.clone(), grad(5))),
    ]);
}

/// The files of Rust in a folder and those within it.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] });
    files.filter(|path| path.extension().is_some_and(|end| end == "rs")).collect()
}

/// A `try_x` without the macro would have an `x` of its own, which may name another line. Macros by example give a
/// function's name in a variable.
#[test]
fn the_macro_is_on_every_function_that_can_fail() {
    let mut functions = 0;
    let crates = ["ops", "nn", "graphs", "files", "plot", "ranks"];
    for path in crates.iter().flat_map(|name| sources(&sparse_dev::path(&format!("crates/sparse-{name}/src")))) {
        let text = read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        for (at, line) in lines.iter().enumerate() {
            let named = line.starts_with("pub fn try_") || line.starts_with("pub async fn try_");
            let in_a_macro = line.starts_with("pub fn $") && line.contains("-> Result<");
            if named || in_a_macro {
                let mut attributes = lines[..at].iter().rev().take_while(|line| line.starts_with("#["));
                let has_one = attributes.any(|line| line.starts_with("#[or_panic"));
                assert!(has_one, "{}: #[or_panic] must be on `{line}`", path.display());
                functions += 1;
            }
        }
    }
    assert!(functions > 200, "{functions}");
}
