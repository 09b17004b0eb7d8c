//! Measures the constants of the model on this machine. Times of work are those of the processor, so other programs
//! that run meanwhile disturb them little.

use super::graph::PowerLaw;
use sparse_core::dynamic::Ids;
use sparse_core::graph::{Draw, GraphStore, Relabel, Slices, Stream, mix, sample_hops};
use std::hint::black_box;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::time::Instant;

/// Nanoseconds that the threads of this process have been on a processor. Linux only: elsewhere the time that passed.
fn processor(start: Instant) -> f64 {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let spent = tasks.filter_map(|task| {
        let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<f64>().ok()
    });
    let spent: f64 = spent.sum();
    if spent > 0.0 { spent } else { start.elapsed().as_nanos() as f64 }
}

fn least(runs: usize, mut run: impl FnMut() -> f64) -> f64 {
    (0..runs).map(|_| run()).fold(f64::INFINITY, f64::min)
}

/// Prints what the constants of the model are here. `disk` is a file that is larger than the cache of the system.
pub(crate) fn measure(disk: Option<&Path>) {
    assert_eq!(rayon::current_num_threads(), 1, "set RAYON_NUM_THREADS=1: the constants are those of one core");
    let start = Instant::now();
    println!("sample: {:.1} ns an edge", sample(start));
    println!("gather: {:.2} GB/s", gather(start));
    let (message, delay, rate) = messages(start);
    println!("message: {message:.1} us of a core, {delay:.1} us one way, {rate:.2} GB/s of large ones (TCP, loopback)");
    if let Some(disk) = disk {
        let (fault, rate) = reads(disk);
        println!("disk: {fault:.0} us for a page alone, {rate:.0} pages a second of 64 readers");
    }
}

/// Batches of a graph of 2 M nodes and 100 M edges in memory.
fn sample(start: Instant) -> f64 {
    let graph = PowerLaw::new(2_000_000, 100_000_000, 2.5, 1);
    let ptr: Vec<i64> = (0..=graph.nodes()).map(|node| graph.start(node) as i64).collect();
    let mut columns = vec![];
    let mut idx: Vec<i32> = Vec::with_capacity(graph.edges());
    for from in (0..graph.edges()).step_by(1 << 20) {
        columns.clear();
        let positions: Vec<usize> = (from..(from + (1 << 20)).min(graph.edges())).collect();
        graph.columns(&positions, &mut columns).expect("positions in range");
        idx.extend(columns.iter().map(|&column| column as i32));
    }
    let store = Slices::new("scale", Ids::I64(&ptr), Ids::I32(&idx), None).expect("a graph");
    let mut table = Relabel::new(graph.nodes());
    let mut number = 0;
    least(5, || {
        let (before, mut edges) = (processor(start), 0);
        for _ in 0..5 {
            number += 1;
            let seeds = super::reach::seeds(&graph, 1024, number);
            let draw = Draw { replace: false, weighted: false, key: number };
            edges += sample_hops("scale", &store, &seeds, &[15, 10], draw, &mut table).expect("seeds").edges.len();
        }
        (processor(start) - before) / edges as f64
    })
}

/// Copies of 100,000 random rows of 512 bytes of 1 GB.
fn gather(start: Instant) -> f64 {
    const ROWS: usize = 2_000_000;
    let table = vec![1.5f32; ROWS * 128];
    let mut out = vec![0.5f32; 100_000 * 128];
    let mut stream = Stream::new(1);
    let time = least(5, || {
        let before = processor(start);
        for to in out.chunks_exact_mut(128) {
            let from = stream.below(ROWS) * 128;
            to.copy_from_slice(&table[from..from + 128]);
        }
        black_box(&out);
        processor(start) - before
    });
    (out.len() * 4) as f64 / time
}

/// A question and an answer of 64 bytes over a connection of this machine to itself: processor time of one message,
/// time that passes; and the rate of messages of 1 MB.
fn messages(start: Instant) -> (f64, f64, f64) {
    const COUNT: usize = 2000;
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    let mut near = TcpStream::connect(address).expect("a connection");
    let (mut far, _) = listener.accept().expect("a connection");
    near.set_nodelay(true).and_then(|()| far.set_nodelay(true)).expect("a setting of TCP");
    let answers = std::thread::spawn(move || {
        let mut size = [0; 8];
        while far.read_exact(&mut size).is_ok() {
            let mut message = vec![0; u64::from_le_bytes(size) as usize];
            far.read_exact(&mut message).and_then(|()| far.write_all(&message)).expect("the other side");
        }
    });
    let mut ask = |bytes: usize, count: usize| {
        let mut message = vec![1; bytes];
        let (before, then) = (processor(start), Instant::now());
        for _ in 0..count {
            near.write_all(&(bytes as u64).to_le_bytes())
                .and_then(|()| near.write_all(&message))
                .expect("the far side");
            near.read_exact(&mut message).expect("the other side");
        }
        let each = 2.0 * count as f64;
        ((processor(start) - before) / each, then.elapsed().as_nanos() as f64 / each)
    };
    let mut small = [f64::INFINITY; 2];
    for _ in 0..10 {
        let (spent, passed) = ask(64, COUNT / 10);
        small = [small[0].min(spent), small[1].min(passed)];
    }
    let large = least(10, || ask(1 << 20, 10).1);
    drop(near);
    answers.join().expect("the other side");
    (small[0] / 1e3, small[1] / 1e3, (1 << 20) as f64 / large)
}

/// Random pages past the cache of the system: microseconds of one alone, and pages a second of 64 readers.
#[cfg(target_os = "linux")]
fn reads(path: &Path) -> (f64, f64) {
    use std::os::unix::fs::{FileExt, OpenOptionsExt};
    const DIRECT: i32 = if cfg!(target_arch = "aarch64") { 0x10000 } else { 0x4000 };
    const PAGE: usize = 4096;
    let open = || std::fs::OpenOptions::new().read(true).custom_flags(DIRECT).open(path).expect("the file");
    let pages = open().metadata().expect("the file").len() as usize / PAGE;
    let read = |key: u64, count: usize| {
        let (file, mut memory) = (open(), vec![0u8; 2 * PAGE]);
        let from = memory.as_ptr().align_offset(PAGE);
        let mut stream = Stream::new(mix(9, key));
        for _ in 0..count {
            let at = stream.below(pages) * PAGE;
            file.read_exact_at(&mut memory[from..from + PAGE], at as u64).expect("a page");
        }
    };
    let mut key = 0;
    let alone = least(5, || {
        let then = Instant::now();
        key += 1;
        read(key, 500);
        then.elapsed().as_secs_f64() / 500.0
    });
    let many = least(3, || {
        let then = Instant::now();
        std::thread::scope(|scope| (0..64).for_each(|k| drop(scope.spawn(move || read(1000 + k, 500)))));
        then.elapsed().as_secs_f64() / 32_000.0
    });
    (alone * 1e6, 1.0 / many)
}

#[cfg(not(target_os = "linux"))]
fn reads(_: &Path) -> (f64, f64) {
    (f64::NAN, f64::NAN)
}
