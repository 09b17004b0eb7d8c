//! This library beside PyTorch, SciPy, MKL, librsb, PyTorch Geometric, sprs and faer, in one run, alternating, on the
//! same inputs.
//!
//! `SPARSE_PEER_PYTHON=/path/to/python cargo bench --bench peers -- [name].. [--rust]`, with torch, scipy and numpy
//! installed there; `mkl` and `torch_geometric` join if they are, and librsb if the system has it. With `--rust`, sprs
//! and faer join: the package in `rust` is built and started. Sums of the results are compared before anything is
//! timed. Without a peer only this library is timed. All run in the environment of the caller. With `SPARSE_DATA_DIR`
//! training on its folder `cora` is timed too.

mod bounds;
mod inputs;
mod loaders;
#[path = "../shared/memory.rs"]
mod memory;
mod moves;
mod page;
mod peer;
mod products;
mod report;
mod training;

use clap::Parser;
use page::Report;
use peer::Peers;
use report::{Bench, QUICK};
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

#[derive(Parser)]
struct Options {
    /// Works to run: those whose names contain one of these words. All without any.
    names: Vec<String>,
    /// Threads of this library and of each peer.
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// Three rounds in place of seven, and bounds in one of them; a peer that takes half a second or more runs once.
    /// Memory is not touched beforehand.
    #[arg(long)]
    quick: bool,
    /// Builds the peers in Rust, and runs them too.
    #[arg(long)]
    rust: bool,
    /// Runs everything once more where malloc uses huge pages and keeps what was freed, peers too.
    #[arg(long)]
    tuned: bool,
    /// Writes the results to this file.
    #[arg(long)]
    json: Option<PathBuf>,
    /// Puts the results into this page.
    #[arg(long)]
    page: Option<PathBuf>,
    /// Runs nothing: the results are those of an earlier run, from this file.
    #[arg(long)]
    from: Option<PathBuf>,
    /// Cargo passes it.
    #[arg(long, hide = true)]
    bench: bool,
}

const TUNED: &str =
    "glibc.malloc.hugetlb=1:glibc.malloc.mmap_threshold=4294967296:glibc.malloc.trim_threshold=17179869184";

fn main() {
    let options = Options::parse();
    let report = match &options.from {
        Some(path) => Report::load(path),
        None => run(&options),
    };
    if let Some(path) = &options.json {
        report.save(path);
    }
    if let Some(page) = &options.page {
        report.write_into(page);
    }
    if options.tuned {
        tuned(&options);
    }
}

fn run(options: &Options) -> Report {
    // As many as each peer gets; the pool starts with the first kernel.
    rayon::ThreadPoolBuilder::new().num_threads(options.threads).build_global().expect("the first use of the pool");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let peers = Peers::start(folder.path(), options.threads, options.rust);
    let malloc = std::env::var("GLIBC_TUNABLES").unwrap_or_else(|_| "default".into());
    let (machine, threads) = (page::machine(), options.threads);
    let (commit, start) = (page::commit(), Instant::now());
    println!("{machine}; {threads} threads; malloc: {malloc}; {}", commit.as_deref().unwrap_or("no commit"));
    if !options.quick {
        memory::touch_free();
    }
    let rounds = if options.quick { QUICK } else { 7 };
    let mut bench = Bench::new(peers, rounds, options.names.clone());
    moves::put(&mut bench, folder.path());
    moves::parts(&mut bench, folder.path());
    products::run(&mut bench, folder.path());
    // What both sides compute is compared in the tests of the layers; here each draws its own dropout.
    training::run(&mut bench, folder.path());
    loaders::run(&mut bench, folder.path());
    let minutes = start.elapsed().as_secs_f64() / 60.0;
    println!("{minutes:.1} minutes");
    Report { machine, threads, malloc, rounds, commit, minutes: Some(minutes), rows: bench.rows }
}

/// The same once more. Only the environment of a process can change its malloc; the peers inherit it.
fn tuned(options: &Options) {
    let mut command = Command::new(std::env::current_exe().expect("an executable"));
    command.args(&options.names).args(["--threads", &options.threads.to_string()]).env("GLIBC_TUNABLES", TUNED);
    command.args(options.quick.then_some("--quick")).args(options.rust.then_some("--rust"));
    if let Some(path) = &options.json {
        command.arg("--json").arg(path.with_extension("tuned.json"));
    }
    let status = command.status().expect("the same program again");
    std::process::exit(status.code().unwrap_or(1));
}
