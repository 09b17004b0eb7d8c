//! The equivalence test: `dense(op(A, B, ..)) == op(dense(A), dense(B), ..)`, values and gradients, for every
//! operation.
//!
//! Draws operations, shapes (sizes of 0 and 1 included), patterns, fills, layouts and values at random and compares
//! with dense Burn, on the device named in `SPARSE_TEST_DEVICE` (default flex). `SPARSE_EQUIV_DRAWS` is the number of
//! draws (2000), `SPARSE_EQUIV_SEED` the seed of the first; draw `k` has seed `SPARSE_EQUIV_SEED + k`, so the seed of a
//! failure and one draw repeat it. Operations of floats are drawn in f16 and bf16 too, forward, where the device has
//! them (else the draw counts as unsupported), and compared with the reference in f64 within four units in the last
//! place. Operations on dense tensors are among them, and every operation of other kinds. The last line prints the
//! totals.
//!
//! Runs on Flex without `SPARSE_EQUIV_INDEX` look at the test itself first: every public operation must be in the
//! registry or exempt (`registry.rs`), and the result and the gradients of every operation are corrupted on purpose;
//! the run fails if a corruption goes unnoticed. Then every operation runs on inputs that no memory holds as dense ones
//! (`oversized/mod.rs`).
//!
//! On a GPU the draws of odd seeds run in `without_blocking`: no read waits for the device, and no panic comes of the
//! zeros that stand for what has not been read.
//!
//! With `SPARSE_EQUIV_INDEX` the draws use 32-bit indices up to that number and 64-bit ones above.
//! With `SPARSE_EQUIV_BUFFER` a GPU runs the draws as if its buffers had so few bytes.
//!
//! Then as many programs, which are chains of operations (`programs`); `SPARSE_EQUIV_PROGRAMS` sets another number.
//!
//! `--coverage [FILE]` writes instead what passes, an operation and layout at a time, as JSON for `.ci/coverage`. Each
//! such cell has at most 12 draws. If `SPARSE_EQUIV_DRAWS` is lower, a cell ends after that many, or later, as soon as
//! something was compared.

mod answer;
mod coverage;
mod draw;
mod operations;
mod oversized;
mod programs;
mod reference;
mod registry;
mod runner;

use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.iter().any(|arg| arg == "--list") {
        return ExitCode::SUCCESS;
    }
    // Panics are caught and reported with the draw that they belong to.
    runner::quiet();
    let name = sparse_dev::device::name();
    let table = operations::all();
    if let Some(at) = args.iter().position(|arg| arg == "--coverage") {
        return coverage::write(&table, &name, args.get(at + 1).map(String::as_str));
    }
    let number = |name: &str, default: u64| match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name} must be a number, got {text}")),
        Err(_) => default,
    };
    // The test itself, and what does not depend on the device, are looked at once.
    let narrow = std::env::var("SPARSE_EQUIV_INDEX").ok();
    let plain = name == "flex" && narrow.is_none();
    let mut troubles = vec![];
    if plain {
        troubles = registry::troubles(&table);
        troubles.extend(runner::corruptions_missed(&table));
        troubles.iter().for_each(|trouble| println!("FAILED: {trouble}"));
    }
    let oversized = if plain { oversized::run_all(&table) } else { ExitCode::SUCCESS };
    if let Some(limit) = narrow {
        sparse_core::set_narrow_limit(limit.parse().unwrap_or_else(|_| panic!("SPARSE_EQUIV_INDEX must be a number")));
    }
    let (seed, draws) = (number("SPARSE_EQUIV_SEED", 20_240), number("SPARSE_EQUIV_DRAWS", 2000));
    let totals = in_small_buffers(|| runner::run_all(&table, &name, seed, draws));
    totals.print(&name);
    let device = sparse_dev::device::named(&name);
    let chains = in_small_buffers(|| programs::run_all(&device, seed, number("SPARSE_EQUIV_PROGRAMS", draws)));
    chains.print(&name);
    let passed = chains.passed() && totals.failed == 0 && troubles.is_empty() && (draws == 0 || totals.passed > 0);
    if passed { oversized } else { ExitCode::FAILURE }
}

/// Runs `f` as if no buffer of the GPU had more than `SPARSE_EQUIV_BUFFER` bytes. Then the host must run every kernel
/// that needs a larger one, whichever of its arrays that is.
fn in_small_buffers<R>(f: impl FnOnce() -> R) -> R {
    #[cfg(any(feature = "wgpu", feature = "cuda"))]
    if let Ok(bytes) = std::env::var("SPARSE_EQUIV_BUFFER") {
        let buffer =
            Some(bytes.parse().unwrap_or_else(|_| panic!("SPARSE_EQUIV_BUFFER must be a number, got {bytes}")));
        return sparse_burn::forced::forced(sparse_burn::forced::Forced { buffer, ..Default::default() }, f).0;
    }
    f()
}
