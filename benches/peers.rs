//! This library beside PyTorch and SciPy, in one run, alternating, on the same inputs.
//!
//! `SPARSE_PEER_PYTHON=/path/to/python cargo bench --bench peers [name]`, with torch, scipy and numpy installed there.
//! Sums of the results are compared before anything is timed. Without a peer only this library is timed. Both sides run
//! on `SPARSE_BENCH_THREADS` threads (2) in the environment of the caller. With `SPARSE_BENCH_HUGE_PAGES` set, malloc
//! asks for huge pages on both sides; with `SPARSE_BENCH_REUSE`, both sides also reuse the memory that they freed. With
//! `SPARSE_DATA_DIR` a step of a graph attention network on its folder `cora` is timed too, beside PyTorch Geometric.

#[path = "peers/gat.rs"]
mod gat;

use burn::tensor::{DType, Device, Int, Tensor, TensorData};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use sparse_tensor::ops::{Reduce, concat, put_along_axis};
use sparse_tensor::{CsrTensor, Fill};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

const ROUNDS: usize = 7;
const ROWS: usize = 1_000_000;
const PART_NNZ: usize = 5_000_000;

fn main() {
    let set = |name: &str| std::env::var_os(name).is_some();
    let reused = set("SPARSE_BENCH_REUSE");
    // Burn's own buffers come from malloc. Only the environment of the process can put them on huge pages, and keep
    // freed memory for the next result. The peer inherits it.
    if (reused || set("SPARSE_BENCH_HUGE_PAGES")) && !set("GLIBC_TUNABLES") && cfg!(target_os = "linux") {
        let keep = "glibc.malloc.mmap_threshold=4294967296:glibc.malloc.trim_threshold=17179869184";
        let tunables = if reused { format!("glibc.malloc.hugetlb=1:{keep}") } else { "glibc.malloc.hugetlb=1".into() };
        let own = std::env::current_exe().expect("an executable");
        let status = Command::new(own).args(std::env::args_os().skip(1)).env("GLIBC_TUNABLES", tunables).status();
        std::process::exit(status.ok().and_then(|status| status.code()).unwrap_or(1));
    }
    let threads = std::env::var("SPARSE_BENCH_THREADS").ok().and_then(|text| text.parse().ok()).unwrap_or(2usize);
    let wanted: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let wants = |name: &str| wanted.is_empty() || wanted.iter().any(|word| name.contains(word.as_str()));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut peer = Peer::start(folder.path(), threads);
    println!("medians of {ROUNDS} rounds, ms; ratio of the medians; smallest and largest ratio of a round");
    println!("{:<22}{:>10}{:>10}{:>9}{:>9}{:>9}", "work", "this", "peer", "ratio", "min", "max");

    if ["put add f+b", "put mul f+b", "put amax f+b", "put rows add"].iter().any(|name| wants(name)) {
        let inputs = PutInputs::make(folder.path());
        for (name, reduce) in
            [("put add f+b", Reduce::Add), ("put mul f+b", Reduce::Mul), ("put amax f+b", Reduce::Amax)]
        {
            if wants(name) {
                peer.compare(name, || inputs.run(reduce));
            }
        }
        if wants("put rows add") {
            peer.compare("put rows add", || inputs.rows());
        }
    }
    let of_parts = [
        "concat axis 0",
        "concat axis 1",
        "coo concat axis 1",
        "add",
        "div",
        "softmax f+b",
        "row sum",
        "select 512 rows",
    ];
    if of_parts.iter().any(|name| wants(name)) {
        let parts: Vec<CsrTensor<2>> = (0..4).map(|k| part(folder.path(), k)).collect();
        for axis in [0, 1] {
            let name = ["concat axis 0", "concat axis 1"][axis as usize];
            if wants(name) {
                peer.compare(name, || vec![concat(&parts, axis).values::<1>()]);
            }
        }
        if wants("coo concat axis 1") {
            let parts: Vec<_> = parts.iter().map(CsrTensor::to_coo).collect();
            peer.compare("coo concat axis 1", || vec![concat(&parts, 1).coalesce().values::<1>()]);
        }
        // A fresh copy each time has a pattern of its own: the merge is part of what is timed, as it is for SciPy.
        if wants("add") {
            peer.compare("add", || vec![(&fresh(&parts[0]) + &fresh(&parts[1])).values::<1>()]);
            let (a, b) = (fresh(&parts[0]), fresh(&parts[1]));
            peer.time_only("add, known pattern", "add", || vec![(&a + &b).values::<1>()]);
        }
        if wants("div") {
            peer.time_only("div", "div", || vec![(&fresh(&parts[0]) / &fresh(&parts[1])).values::<1>()]);
        }
        if wants("softmax f+b") {
            let scores = parts[0].clone().with_fill(Fill::Undefined);
            peer.compare("softmax f+b", || softmax(&scores));
        }
        if wants("select 512 rows") {
            let mut rng = StdRng::seed_from_u64(5);
            let both = concat(&parts[..2], 0);
            let rows: Vec<i64> = (0..512).map(|_| rng.random_range(0..2 * ROWS as i64)).collect();
            save(folder.path(), "selected", &rows);
            let rows = Tensor::<1, Int>::from_data(TensorData::new(rows, [512]), (&Device::flex(), DType::I64));
            peer.compare("select 512 rows", || vec![both.select(0, rows.clone()).values::<1>()]);
        }
        if wants("row sum") {
            peer.compare("row sum", || vec![parts[0].sum_dim(1).values::<1>()]);
            let bytes = (parts[0].nnz() * 4 + ROWS * 8) as f64;
            report_bandwidth("row sum, 5 elements a row", bytes, || drop(parts[0].sum_dim(1)));
            let mut rng = StdRng::seed_from_u64(4);
            let (ptr, col) = random_csr(&mut rng, 100_000, 100_000, 20_000_000);
            let values: Vec<f32> = col.iter().map(|_| rng.random_range(0.5..1.5)).collect();
            let bytes = (values.len() * 4 + 100_000 * 8) as f64;
            let long = csr(ptr, col, values, [100_000; 2], &Device::flex());
            report_bandwidth("row sum, 200 elements a row", bytes, || drop(long.sum_dim(1)));
        }
    }
    if wants("spgemm") {
        let small = small(folder.path());
        // A fresh copy each time: the symbolic phase is part of what is timed, as it is for SciPy.
        peer.compare("spgemm", || vec![fresh(&small).matmul(&small).values::<1>()]);
        peer.time_only("spgemm, known pattern", "spgemm", || vec![small.matmul(&small).values::<1>()]);
    }
    if ["spmm", "spmm f+b", "spmm amax f+b"].iter().any(|name| wants(name)) {
        let graph = Graph::make(folder.path());
        if wants("spmm") {
            peer.compare("spmm", || vec![graph.adjacency.matmul(graph.dense.clone()).flatten(0, 1)]);
        }
        if wants("spmm f+b") {
            peer.compare("spmm f+b", || graph.both(|a, x| a.matmul(x)));
        }
        if wants("spmm amax f+b") {
            peer.compare("spmm amax f+b", || graph.both(|a, x| a.matmul_reduce(x, Reduce::Amax)));
        }
    }
    // What both sides compute is compared in the tests of the layers; here each draws its own dropout.
    if wants("gat step")
        && let Some(training) = gat::Training::make(folder.path(), save)
    {
        peer.time_only("gat step", "gat step", || training.step());
    }
}

fn save<T: bytemuck::NoUninit>(folder: &Path, name: &str, list: &[T]) {
    let mut file = std::fs::File::create(folder.join(name)).expect("a folder to write to");
    file.write_all(bytemuck::cast_slice::<T, u8>(list)).expect("room for the inputs");
    // Not to be written back while something is timed.
    file.sync_all().expect("a disk");
}

struct PutInputs {
    arr: Tensor<2>,
    index: Tensor<2, Int>,
    rows: Tensor<2, Int>,
    values: Tensor<2>,
}

impl PutInputs {
    fn make(folder: &Path) -> Self {
        const N: usize = 100_000;
        let mut rng = StdRng::seed_from_u64(1);
        let values: Vec<f32> = (0..ROWS * 64).map(|_| rng.random_range(0.9..1.1)).collect();
        let index: Vec<i64> = (0..ROWS * 64).map(|_| rng.random_range(0..N as i64)).collect();
        let rows: Vec<i64> = (0..ROWS).map(|_| rng.random_range(0..N as i64)).collect();
        let arr: Vec<f32> = (0..N * 64).map(|_| rng.random_range(0.9..1.1)).collect();
        save(folder, "put.values", &values);
        save(folder, "put.index", &index);
        save(folder, "put.rows", &rows);
        save(folder, "put.arr", &arr);
        let device = Device::flex().autodiff();
        let ints = |list: Vec<i64>, width: usize| {
            Tensor::<2, Int>::from_data(TensorData::new(list, [ROWS, width]), (&device.clone().inner(), DType::I64))
        };
        let floats = |list: Vec<f32>| {
            let rows = list.len() / 64;
            Tensor::<2>::from_data(TensorData::new(list, [rows, 64]), &device)
        };
        Self { arr: floats(arr), index: ints(index, 64), rows: ints(rows, 1), values: floats(values) }
    }

    fn run(&self, reduce: Reduce) -> Vec<Tensor<1>> {
        let (arr, values) = (self.arr.clone().detach().require_grad(), self.values.clone().detach().require_grad());
        let out = put_along_axis(arr, self.index.clone(), values.clone(), 0, reduce, true);
        // Burn starts from ones, as the peer does.
        let grads = out.backward();
        vec![out.inner().flatten(0, 1), values.grad(&grads).expect("a leaf").flatten(0, 1)]
    }

    fn rows(&self) -> Vec<Tensor<1>> {
        let (arr, values) = (self.arr.clone().inner(), self.values.clone().inner());
        vec![put_along_axis(arr, self.rows.clone(), values, 0, Reduce::Add, true).flatten(0, 1)]
    }
}

/// Rows of random, strictly ascending columns.
fn random_csr(rng: &mut StdRng, rows: usize, cols: usize, nnz: usize) -> (Vec<i32>, Vec<i32>) {
    let mut places: Vec<(i32, i32)> =
        (0..nnz).map(|_| (rng.random_range(0..rows as i32), rng.random_range(0..cols as i32))).collect();
    places.sort_unstable();
    places.dedup();
    let mut ptr = vec![0i32; rows + 1];
    places.iter().for_each(|&(row, _)| ptr[row as usize + 1] += 1);
    (0..rows).for_each(|row| ptr[row + 1] += ptr[row]);
    (ptr, places.into_iter().map(|(_, col)| col).collect())
}

fn csr(ptr: Vec<i32>, col: Vec<i32>, values: Vec<f32>, shape: [usize; 2], device: &Device) -> CsrTensor<2> {
    let ints = |list: Vec<i32>| {
        let length = list.len();
        Tensor::<1, Int>::from_data(TensorData::new(list, [length]), (&device.clone().inner(), DType::I32))
    };
    let nnz = values.len();
    let values = Tensor::<1>::from_data(TensorData::new(values, [nnz]), device);
    CsrTensor::new(ints(ptr), ints(col), values, shape).expect("valid rows")
}

fn part(folder: &Path, number: usize) -> CsrTensor<2> {
    let mut rng = StdRng::seed_from_u64(10 + number as u64);
    let (ptr, col) = random_csr(&mut rng, ROWS, ROWS, PART_NNZ);
    let values: Vec<f32> = col.iter().map(|_| rng.random_range(0.5..1.5)).collect();
    save(folder, &format!("part{number}.ptr"), &ptr);
    save(folder, &format!("part{number}.col"), &col);
    save(folder, &format!("part{number}.values"), &values);
    csr(ptr, col, values, [ROWS, ROWS], &Device::flex())
}

fn small(folder: &Path) -> CsrTensor<2> {
    const N: usize = 100_000;
    let mut rng = StdRng::seed_from_u64(3);
    let (ptr, col) = random_csr(&mut rng, N, N, 1_000_000);
    let values: Vec<f32> = col.iter().map(|_| rng.random_range(0.5..1.5)).collect();
    save(folder, "small.ptr", &ptr);
    save(folder, "small.col", &col);
    save(folder, "small.values", &values);
    csr(ptr, col, values, [N, N], &Device::flex())
}

/// Forward and backward over a known pattern.
fn softmax(scores: &CsrTensor<2>) -> Vec<Tensor<1>> {
    let values = scores.values::<1>().autodiff().require_grad();
    let out = scores.try_with_values(values).expect("the same pattern").softmax(1);
    out.values::<1>().mul_scalar(0.75).sum().backward();
    vec![out.values::<1>().inner()]
}

/// Bytes a second of a stream of sums `c = a + b` on all threads, and what share of it `run` moves.
fn report_bandwidth(name: &str, bytes: f64, run: impl Fn()) {
    const LENGTH: usize = 1 << 25;
    let (a, b, mut c) = (vec![1f32; LENGTH], vec![2f32; LENGTH], vec![0f32; LENGTH]);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let piece = LENGTH / threads;
    let mut stream = || {
        std::thread::scope(|scope| {
            for ((a, b), c) in a.chunks(piece).zip(b.chunks(piece)).zip(c.chunks_mut(piece)) {
                scope.spawn(move || c.iter_mut().zip(a.iter().zip(b)).for_each(|(c, (a, b))| *c = a + b));
            }
        });
    };
    let best = |run: &mut dyn FnMut()| {
        let time = |run: &mut dyn FnMut()| {
            let start = Instant::now();
            run();
            start.elapsed().as_secs_f64()
        };
        let mut times: Vec<f64> = (0..2 * ROUNDS).map(|_| time(run)).collect();
        times.sort_by(f64::total_cmp);
        times[ROUNDS]
    };
    let stream = 12.0 * LENGTH as f64 / best(&mut stream);
    let own = bytes / best(&mut || run());
    println!(
        "{name}: {:.1} GB/s, {:.0} % of an add-stream of {:.1} GB/s",
        own / 1e9,
        100.0 * own / stream,
        stream / 1e9
    );
}

/// The same arrays under a pattern that nothing is known of yet.
fn fresh(tensor: &CsrTensor<2>) -> CsrTensor<2> {
    CsrTensor::new_unchecked(tensor.row_ptr(), tensor.col_idx(), tensor.values::<1>(), tensor.dims())
}

struct Graph {
    adjacency: CsrTensor<2>,
    dense: Tensor<2>,
    tracked: CsrTensor<2>,
}

impl Graph {
    fn make(folder: &Path) -> Self {
        const N: usize = 169_343;
        let mut rng = StdRng::seed_from_u64(2);
        let (ptr, col) = random_csr(&mut rng, N, N, 2_332_486);
        let values: Vec<f32> = col.iter().map(|_| rng.random_range(0.5..1.5)).collect();
        let dense: Vec<f32> = (0..N * 128).map(|_| rng.random_range(-1.0..1.0)).collect();
        save(folder, "graph.n", &[N as i64]);
        save(folder, "graph.ptr", &ptr);
        save(folder, "graph.col", &col);
        save(folder, "graph.values", &values);
        save(folder, "graph.dense", &dense);
        let adjacency = csr(ptr.clone(), col.clone(), values.clone(), [N, N], &Device::flex());
        let tracked = csr(ptr, col, values, [N, N], &Device::flex().autodiff());
        let dense = Tensor::from_data(TensorData::new(dense, [N, 128]), &Device::flex());
        Self { adjacency, dense, tracked }
    }

    fn both(&self, product: impl Fn(CsrTensor<2>, Tensor<2>) -> Tensor<2>) -> Vec<Tensor<1>> {
        let dense = self.dense.clone().autodiff().require_grad();
        let out = product(self.tracked.clone().require_grad(), dense.clone());
        let grads = out.backward();
        vec![out.inner().flatten(0, 1), dense.grad(&grads).expect("a leaf").flatten(0, 1)]
    }
}

/// The other process, if there is one.
struct Peer(Option<(Child, BufReader<std::process::ChildStdout>)>);

impl Peer {
    fn start(folder: &Path, threads: usize) -> Self {
        let Ok(python) = std::env::var("SPARSE_PEER_PYTHON") else { return Self(None) };
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/peers.py");
        let mut child = Command::new(python)
            .args([script.as_ref(), folder.as_os_str(), threads.to_string().as_ref()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the peer starts");
        let answers = BufReader::new(child.stdout.take().expect("piped"));
        Self(Some((child, answers)))
    }

    fn ask(&mut self, request: &str) -> Option<String> {
        let (child, answers) = self.0.as_mut()?;
        writeln!(child.stdin.as_mut().expect("piped"), "{request}").expect("the peer listens");
        let mut line = String::new();
        answers.read_line(&mut line).expect("the peer answers");
        assert!(!line.is_empty(), "the peer stopped at {request}");
        Some(line.trim().to_string())
    }

    /// Compares sums of the results, then times both in turn.
    fn compare(&mut self, name: &str, run: impl Fn() -> Vec<Tensor<1>>) {
        if let Some(sums) = self.ask(&format!("{name}|check")) {
            for (tensor, want) in run().into_iter().zip(sums.split(' ')) {
                let want: f64 = want.parse().expect("a number");
                let data = tensor.into_data();
                let values = data.as_slice::<f32>().expect("f32");
                let got: f64 = values.iter().map(|&value| f64::from(value)).sum();
                let size: f64 = values.iter().map(|&value| f64::from(value.abs())).sum();
                assert!((got - want).abs() <= 1e-4 * size.max(1.0), "{name}: sums must agree, got {got} and {want}");
            }
        }
        self.time_only(name, name, run);
    }

    fn time_only(&mut self, label: &str, name: &str, run: impl Fn() -> Vec<Tensor<1>>) {
        drop(run());
        let (mut own, mut other) = (vec![], vec![]);
        for _ in 0..ROUNDS {
            // Once untimed: the other process's threads spin for a while after their work, and it had the caches.
            drop(run());
            let start = Instant::now();
            let result = run();
            own.push(start.elapsed().as_secs_f64() * 1e3);
            drop(result);
            if let Some(seconds) = self.ask(&format!("{name}|time")) {
                other.push(seconds.parse::<f64>().expect("seconds") * 1e3);
            }
        }
        let mut ratios: Vec<f64> = own.iter().zip(&other).map(|(own, other)| other / own).collect();
        let sorted = |list: &mut Vec<f64>| list.sort_by(f64::total_cmp);
        [&mut own, &mut other, &mut ratios].into_iter().for_each(sorted);
        let own = own[ROUNDS / 2];
        match (other.get(ROUNDS / 2), &ratios[..]) {
            (Some(other), [least, .., most]) => {
                println!("{label:<22}{own:>10.1}{other:>10.1}{:>8.2}x{least:>8.2}x{most:>8.2}x", other / own);
            }
            _ => println!("{label:<22}{own:>10.1}"),
        }
    }
}
