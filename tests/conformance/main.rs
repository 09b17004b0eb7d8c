//! Runs the oracle: cases with the outputs, gradients and errors that PyTorch, NumPy and SciPy give.
//!
//! Reads `tests/cases` and every directory named in `SPARSE_ORACLE_DIR` (separated by ':'), on the device named in
//! `SPARSE_TEST_DEVICE` (default flex). Prints passed and failed per key, and last one line of totals. Before that it
//! corrupts cases on purpose and fails if it does not notice.

mod case;
mod compare;
mod inputs;
mod layout;
mod ops;
mod produced;
mod runner;

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    if std::env::args().any(|arg| arg == "--list") {
        return ExitCode::SUCCESS;
    }
    // The folder of the working directory first: an executable may be built elsewhere.
    let here = PathBuf::from("tests/cases");
    let built = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases"));
    let mut folders = vec![if here.is_dir() { here } else { built }];
    if let Ok(more) = std::env::var("SPARSE_ORACLE_DIR") {
        folders.extend(more.split(':').filter(|part| !part.is_empty()).map(PathBuf::from));
    }
    let cases = case::load(&folders);
    let name = sparse_dev::device::name();
    let blind = runner::corruptions_missed(&cases, &name);
    for id in &blind {
        println!("FAILED: a corrupted expectation of {id} passed");
    }
    let totals = runner::run_all(&cases, &name);
    totals.print(&name);
    if totals.failed == 0 && blind.is_empty() && totals.passed > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
