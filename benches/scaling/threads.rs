//! By threads: each count in a rayon pool of its own, as a program with its own pool has it, then the global pool, and
//! then two threads of a program that call at once.

use super::measure::measure;
use super::sizes::short;
use super::works::Work;
use rayon::ThreadPoolBuilder;
use serde_json::{Value, json};
use std::sync::Barrier;
use std::thread;

const NNZ: usize = 3_000_000;

/// One work with each number of threads.
pub(crate) struct Row {
    name: &'static str,
    /// ms with 1, 2, .. threads, and last with the global pool.
    ms: Vec<f64>,
    /// ms for each finished call where two threads call at once, in the global pool.
    at_once: f64,
}

pub(crate) fn run<'a>(works: impl Iterator<Item = &'a Work>, threads: usize, most: usize) -> Vec<Row> {
    println!("\nBy threads: nnz = {}; the bits of the results are those of one thread", NNZ.min(most));
    println!("{:<14}{:>12}{:>12}{:>10}", "work", "threads", "ms", "speed-up");
    works.map(|work| row(work, threads, NNZ.min(most))).collect()
}

fn row(work: &Work, threads: usize, nnz: usize) -> Row {
    let input = (work.make)(nnz);
    let (mut ms, mut single) = (vec![], None);
    for count in 1..=threads + 1 {
        let both = || ((input.run)().bits(), measure(&input.run).seconds * 1e3);
        let (label, (bits, time)) = if count <= threads {
            let pool = ThreadPoolBuilder::new().num_threads(count).build().expect("threads");
            (count.to_string(), pool.install(both))
        } else {
            ("global pool".into(), both())
        };
        let same = *single.get_or_insert_with(|| bits.clone()) == bits;
        assert!(same, "{}: other bits than with one thread: {label}", work.name);
        ms.push(time);
        println!("{:<14}{label:>12}{time:>12.3}{:>9.2}x", work.name, ms[0] / time);
    }
    let at_once = two_at_once(work, nnz);
    println!("{:<14}{:>12}{at_once:>12.3}{:>9.2}x", work.name, "two at once", ms[0] / at_once);
    Row { name: work.name, ms, at_once }
}

/// Each has operands of its own.
fn two_at_once(work: &Work, nnz: usize) -> f64 {
    let start = Barrier::new(2);
    let one = || {
        let input = (work.make)(nnz);
        start.wait();
        measure(&input.run).seconds * 1e3
    };
    let times = thread::scope(|scope| [scope.spawn(one), scope.spawn(one)].map(|one| one.join().expect("a time")));
    // While one thread finishes a call, so does the other.
    times.iter().sum::<f64>() / 4.0
}

pub(crate) fn json(rows: &[Row]) -> Vec<Value> {
    let row = |row: &Row| {
        let (global, own) = row.ms.split_last().expect("the global pool");
        json!({"work": row.name, "ms": own, "global_pool_ms": global, "two_at_once_ms": row.at_once})
    };
    rows.iter().map(row).collect()
}

/// ms by number of threads, in the global pool, and for each finished call of two threads; how many times faster all
/// threads are than one.
pub(crate) fn markdown(rows: &[Row]) {
    let threads = rows.first().map_or(0, |row| row.ms.len() - 1);
    let heads: String = (1..=threads).map(|count| format!(" {count} |")).collect();
    println!("\n| work |{heads} global pool | two at once | speed-up |\n|---|{}---|---|---|", "---|".repeat(threads));
    for row in rows {
        let cells: String = row.ms.iter().map(|&ms| format!(" {} |", short(ms))).collect();
        println!("| {} |{cells} {} | {:.2}x |", row.name, short(row.at_once), row.ms[0] / row.ms[threads - 1]);
    }
}
