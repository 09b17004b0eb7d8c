//! Every reader of outside bytes and every constructor, given files and numbers that are wrong in a few places.
//!
//! No input may cause a panic, take the processor longer than a second, or make a reader hold more than 64 bytes for
//! each of its own (beside a few buffers). What was read is also converted, and then the limits of `Limits` hold in
//! place of the 64. For a file that is compressed, those bytes count that it may become.
//!
//! Inputs are those in `fuzz/corpus`, mutations of them and, one in 16, bytes of no format; the same ones in every run.
//! `SPARSE_FUZZ_RUNS` sets the number of mutations for each target, `SPARSE_FUZZ_SECONDS` the time for each instead,
//! `SPARSE_FUZZ_TARGET` names the only target, `SPARSE_FUZZ_SEED` chooses other mutations. A target ends with its first
//! failure. The input is kept in a file, which the message names. `fuzz/README.md` says how to run the same targets
//! with libFuzzer.

mod greedy;
mod mutate;
mod targets;

use cpu_time::ProcessTime;
use rand::SeedableRng;
use rand::rngs::StdRng;
use sparse_dev::counting::{Counting, USED};
use sparse_tensor::{Limits, set_pool_limit};
use std::any::Any;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use targets::Target;

/// What a reader may hold for each byte of its input.
const RATIO: usize = 64;
/// Buffers, threads, and the other files of a folder.
const SPARE: usize = 1 << 20;
/// What a table may have by default, for which a conversion needs a few copies.
const TABLE: usize = 2 << 28;
const LONGEST: Duration = Duration::from_secs(1);
/// Of bytes after decompression so many take a second more.
const SECOND: usize = 16 << 20;
/// What a machine that does other things, too, may make of that.
const WAITING: Duration = Duration::from_secs(10);

/// The most bytes that were in use since a target began: while it reads, and while it converts.
static MOST: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

#[global_allocator]
static ALLOCATOR: Counting = Counting(|_, used| {
    MOST[usize::from(targets::is_converting())].fetch_max(used, Ordering::Relaxed);
    if used > CEILING && !ENDING.swap(true, Ordering::Relaxed) {
        end("too-large");
    }
});

/// More bytes than this end the process, before they are handed out.
const CEILING: usize = 4 << 30;
static ENDING: AtomicBool = AtomicBool::new(false);

/// The input that is run now, and since when.
static NOW: Mutex<Option<(Instant, Vec<u8>)>> = Mutex::new(None);
/// After this time an input is taken for one that never ends.
const ENDLESS: Duration = Duration::from_secs(60);

/// Ends the process if an input never ends.
fn watch() {
    loop {
        std::thread::sleep(Duration::from_secs(1));
        let since = NOW.lock().unwrap().as_ref().map(|(since, _)| *since);
        if since.is_some_and(|since| since.elapsed() > ENDLESS) {
            end("endless");
        }
    }
}

/// Keeps the input that is run now in a file, and ends the process.
fn end(what: &str) -> ! {
    if let Ok(now) = NOW.try_lock() {
        let path = std::env::temp_dir().join(format!("sparse-tensor-{what}-{}", std::process::id()));
        let bytes = now.as_ref().map_or(&[][..], |(_, bytes)| bytes);
        let _ = fs::write(&path, bytes);
        eprintln!("an input is {what}: {}", path.display());
    }
    std::process::abort();
}

/// What is wrong with a run of a target that may read `taken` bytes, and its time: that of the processor, unless it
/// waits for long. A busy machine stops a process for a while. A run that takes too long is repeated four times.
fn trouble(target: Target, bytes: &[u8], taken: usize, table: usize) -> (Option<String>, Duration) {
    let longest = LONGEST * (1 + taken / SECOND) as u32;
    let mut tries = 0;
    loop {
        *NOW.lock().unwrap() = Some((Instant::now(), bytes.to_vec()));
        targets::is_reading();
        let before = USED.load(Ordering::Relaxed);
        MOST.iter().for_each(|most| most.store(before, Ordering::Relaxed));
        let (start, worked) = (Instant::now(), ProcessTime::now());
        let ran = catch_unwind(AssertUnwindSafe(|| target(bytes)));
        let (passed, worked) = (start.elapsed(), worked.elapsed());
        let took = if passed > WAITING { passed } else { passed.min(worked) };
        targets::is_reading();
        *NOW.lock().unwrap() = None;
        tries += 1;
        let held = MOST.each_ref().map(|most| most.load(Ordering::Relaxed).saturating_sub(before));
        let found = match ran {
            Err(panic) => Some(format!("a panic: {}", text(&*panic))),
            Ok(_) => excess(taken, held, table),
        };
        if found.is_some() || took <= longest {
            return (found, took);
        }
        if tries == 5 {
            return (Some(format!("it took {took:?}")), took);
        }
    }
}

fn text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("no text")
}

/// What a run took too much of.
fn excess(length: usize, [read, converted]: [usize; 2], table: usize) -> Option<String> {
    let most = RATIO * length + SPARE;
    match () {
        _ if read > most => Some(format!("a reader held {read} bytes for {length} of the input")),
        _ if converted > most + table => Some(format!("a conversion held {converted} bytes for {length} of the input")),
        _ => None,
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a number"))
}

fn seeds(name: &str) -> Vec<Vec<u8>> {
    let folder = sparse_dev::path("fuzz/corpus").join(name);
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

#[test]
fn readers_stand_any_bytes() {
    let only = std::env::var("SPARSE_FUZZ_TARGET").ok();
    // Memory that waits for its next use would count.
    set_pool_limit(0);
    // A panic of a target is told with its input.
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if NOW.lock().unwrap().is_none() && !targets::may_panic() {
            before(info);
        }
    }));
    std::thread::spawn(watch);
    let chosen = |name: &str| only.as_deref().is_none_or(|only| only == name);
    let names = targets::TARGETS.map(|(name, _)| name);
    assert!(
        only.as_deref().is_none_or(|only| names.contains(&only)),
        "a target must be one of {names:?}, got {only:?}"
    );
    is_complete(&names);
    let mut failed = Vec::new();
    for input in greedy::inputs().into_iter().filter(|input| chosen(input.target)) {
        let greedy::Input { target: name, what, bytes, limits, taken, refused } = input;
        let (_, target) = targets::TARGETS.into_iter().find(|(found, _)| *found == name).expect("a target");
        let (found, took) = limits.run(|| trouble(target, &bytes, taken, TABLE));
        println!("{name}, {what}: {} bytes, {took:?}", bytes.len());
        let found = found.or_else(|| (refused && limits.run(|| target(&bytes))).then(|| "it was read".into()));
        failed.extend(found.map(|found| format!("{name}, {what}: {found}")));
    }
    for (name, target) in targets::TARGETS.into_iter().filter(|(name, _)| chosen(name)) {
        failed.extend(mutations(name, target));
    }
    fs::remove_dir_all(targets::home()).unwrap();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// Each target has seeds, and a program of libFuzzer.
fn is_complete(names: &[&str]) {
    let mut names = names.to_vec();
    names.sort_unstable();
    for folder in ["corpus", "fuzz_targets"] {
        let folder = sparse_dev::path("fuzz").join(folder);
        let paths = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
        let mut found: Vec<_> = paths.map(|path| path.file_stem().unwrap().to_str().unwrap().to_string()).collect();
        found.sort_unstable();
        assert_eq!(found, names, "{}", folder.display());
    }
}

/// What is wrong with the seeds of a target and with mutations of them.
fn mutations(name: &str, target: Target) -> Vec<String> {
    let seeds = seeds(name);
    // What is made once and stays is not counted.
    let bad = seeds.iter().enumerate().filter(|(_, seed)| !target(seed));
    let mut failed: Vec<_> = bad.map(|(k, _)| format!("{name}: seed {k} cannot be read")).collect();
    let seed = number("SPARSE_FUZZ_SEED").unwrap_or(0);
    let mut random = StdRng::seed_from_u64(seed);
    let (mut slowest, start) = (Duration::ZERO, Instant::now());
    let seconds = number("SPARSE_FUZZ_SECONDS").map(Duration::from_secs);
    let least = number("SPARSE_FUZZ_RUNS").unwrap_or(200);
    let goes_on = |runs: u64| seconds.map_or(runs < least, |seconds| start.elapsed() < seconds);
    let mut runs = 0;
    while failed.is_empty() && (runs < seeds.len() as u64 || goes_on(runs - seeds.len() as u64)) {
        let bytes = match seeds.get(runs as usize) {
            Some(seed) => seed.clone(),
            None => mutate::mutated(&mut random, &seeds),
        };
        // Every second run has a limit of its own.
        let (found, took) = match runs % 2 {
            0 => trouble(target, &bytes, bytes.len(), TABLE),
            _ => Limits::new().elements(1 << 16).run(|| trouble(target, &bytes, bytes.len(), 0)),
        };
        slowest = slowest.max(took);
        if let Some(found) = found {
            let path = std::env::temp_dir().join(format!("sparse-tensor-{name}-{runs}"));
            fs::write(&path, &bytes).unwrap();
            failed.push(format!("{name}: {found}: {}", path.display()));
        }
        runs += 1;
    }
    let runs = runs.saturating_sub(seeds.len() as u64);
    println!("{name}: {runs} mutations of {} seeds, seed {seed}, the slowest {slowest:?}", seeds.len());
    failed
}
