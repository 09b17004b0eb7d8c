//! Training on a graph in a file that need not fit into memory: batches from a cold disk, read as the pages are missed
//! and read ahead; and the memory of a step of training. Linux only: elsewhere nothing can be said about the cache.
//!
//! `cargo bench --bench mapped --features mmap -- [--edges 1e8] [--folder DIR] [--least 3] [--most-memory 1e9]`. The
//! files (4 bytes an edge, and the features) are made once and removed at the end, unless `--keep` says otherwise.
//!
//! Before anything is measured, the batches of all ways are compared, and with those of memory if `--in-memory` is
//! given (it takes the memory of the whole graph).

#[path = "shared/memory.rs"]
#[allow(dead_code)]
mod memory;

use burn::nn::loss::CrossEntropyLossConfig;
use burn::optim::{AdamConfig, GradientsParams};
use burn::prelude::*;
use burn::tensor::TensorData;
use clap::Parser;
use sparse_core::graph::{Slices, Stream, mix};
use sparse_tensor::data::{
    Ahead, FeatureStore, GraphStore, MappedGraph, NeighborBatch, NeighborSampler, NeighborSamplerConfig,
};
use sparse_tensor::io::{MappedFile, npy};
use sparse_tensor::nn::{SageConv, SageConvConfig};
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

#[derive(Parser)]
struct Options {
    /// Edges of the graph, about.
    #[arg(long, default_value_t = 1e8)]
    edges: f64,
    /// Edges of a node, on average.
    #[arg(long, default_value_t = 50)]
    degree: usize,
    /// Features of a node.
    #[arg(long, default_value_t = 64)]
    features: usize,
    /// Seeds of a batch.
    #[arg(long, default_value_t = 1024)]
    seeds: usize,
    /// Cold batches of each way.
    #[arg(long, default_value_t = 5)]
    batches: u64,
    /// Where the files are made.
    #[arg(long)]
    folder: Option<PathBuf>,
    /// Leaves the files, and uses those that are there.
    #[arg(long)]
    keep: bool,
    /// Fails if reading ahead is not so many times as fast.
    #[arg(long)]
    least: Option<f64>,
    /// Fails if training takes more anonymous memory, in bytes.
    #[arg(long)]
    most_memory: Option<f64>,
    /// Compares batches with those of the graph in memory.
    #[arg(long)]
    in_memory: bool,
    /// Cargo passes it.
    #[arg(long, hide = true)]
    bench: bool,
}

const FAN_OUTS: [usize; 2] = [15, 10];
const CLASSES: usize = 16;

/// The three files of a graph.
struct Files {
    folder: PathBuf,
}

impl Files {
    fn all(&self) -> [PathBuf; 3] {
        ["mapped-ptr.npy", "mapped-idx.npy", "mapped-x.npy"].map(|name| self.folder.join(name))
    }

    /// The header of an array, as NumPy writes it.
    fn start(path: &Path, dtype: &str, shape: &str) -> BufWriter<File> {
        let head = format!("{{'descr': '{dtype}', 'fortran_order': False, 'shape': ({shape}), }}");
        let head = format!("{head:<117}\n");
        let mut out = BufWriter::with_capacity(1 << 20, File::create(path).expect("a folder to write to"));
        out.write_all(b"\x93NUMPY\x01\x00").and_then(|()| out.write_all(&118u16.to_le_bytes())).expect("room");
        out.write_all(head.as_bytes()).expect("room");
        out
    }

    /// A random graph: degrees from half to one and a half times the mean, columns in order.
    fn write(&self, options: &Options) {
        let [ptr, idx, x] = self.all();
        let nodes = (options.edges / options.degree as f64) as usize;
        let degree = |node: usize| options.degree / 2 + (mix(1, node as u64) % (options.degree as u64 + 1)) as usize;
        let mut row: Vec<i32> = Vec::new();
        // The columns are drawn again for the pointers: memory has room for one row.
        let draw = |node: usize, row: &mut Vec<i32>| {
            let mut stream = Stream::new(mix(2, node as u64));
            row.clear();
            row.extend((0..degree(node)).map(|_| stream.below(nodes) as i32));
            row.sort_unstable();
            row.dedup();
        };
        let mut out = Self::start(&ptr, "<i8", &format!("{},", nodes + 1));
        let mut end = 0i64;
        out.write_all(&end.to_le_bytes()).expect("room");
        for node in 0..nodes {
            draw(node, &mut row);
            end += row.len() as i64;
            out.write_all(&end.to_le_bytes()).expect("room");
        }
        out.into_inner().expect("room").sync_all().expect("room");
        let mut out = Self::start(&idx, "<i4", &format!("{end},"));
        for node in 0..nodes {
            draw(node, &mut row);
            row.iter().try_for_each(|col| out.write_all(&col.to_le_bytes())).expect("room");
        }
        out.into_inner().expect("room").sync_all().expect("room");
        let mut out = Self::start(&x, "<f4", &format!("{nodes}, {}", options.features));
        for k in 0..nodes * options.features {
            let value = (mix(3, k as u64) % 2048) as f32 / 1024.0 - 1.0;
            out.write_all(&value.to_le_bytes()).expect("room");
        }
        out.into_inner().expect("room").sync_all().expect("room");
    }

    /// Takes the files out of the system's cache. No mapping of them may exist.
    #[cfg(target_os = "linux")]
    fn forget(&self) {
        use std::os::fd::AsRawFd;
        for path in self.all() {
            let file = File::open(path).expect("the file");
            // SAFETY: the descriptor is open; the call changes no memory of this process.
            let code = unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
            assert_eq!(code, 0, "the file must leave the cache");
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn forget(&self) {}
}

/// A graph whose pages are read when they are missed.
struct Faults {
    ptr: MappedFile,
    idx: MappedFile,
}

/// The length of the headers that `Files` writes.
const HEADER: usize = 128;

impl Faults {
    fn slices(&self) -> Slices<'_> {
        let (ptr, idx) = (&self.ptr.as_ref()[HEADER..], &self.idx.as_ref()[HEADER..]);
        let (ptr, idx) = (bytemuck::cast_slice::<u8, i64>(ptr), bytemuck::cast_slice::<u8, i32>(idx));
        Slices::new("mapped", sparse_core::dynamic::Ids::I64(ptr), sparse_core::dynamic::Ids::I32(idx), None)
            .expect("the graph that was written")
    }
}

impl GraphStore for Faults {
    fn nodes(&self) -> usize {
        self.slices().nodes()
    }
    fn edges(&self) -> usize {
        self.slices().edges()
    }
    fn spans(&self, nodes: &[i64], out: &mut Vec<Range<usize>>) -> sparse_core::Result<()> {
        self.slices().spans(nodes, out)
    }
    fn columns(&self, positions: &[usize], out: &mut Vec<usize>) -> sparse_core::Result<()> {
        self.slices().columns(positions, out)
    }
    fn ask(&self, _: Ahead<'_>) {}
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Way {
    /// Pages are read when they are missed, with those around them, as the system does without advice.
    Faults,
    /// Pages are read when they are missed, each alone.
    LoneFaults,
    /// Pages are asked for a hop at a time.
    Ahead,
}

/// Makes a batch and its features.
type Reader = Box<dyn Fn(&NeighborSampler, &[usize], u64) -> (NeighborBatch, Tensor<2>)>;

/// The files by one of the ways.
fn open(files: &Files, way: Way, device: &Device) -> (NeighborSampler, Reader) {
    let [ptr, idx, x] = files.all();
    let config = NeighborSamplerConfig::new(FAN_OUTS.to_vec());
    let device = device.clone();
    let open = |path: &PathBuf| {
        let file = MappedFile::open(path).expect("the file");
        if way == Way::LoneFaults {
            file.expect_random();
        }
        file
    };
    if way == Way::Ahead {
        let graph = MappedGraph::open_npy(ptr, idx, None).expect("the graph");
        let features = FeatureStore::open_npy(x).expect("the features");
        let read: Reader = Box::new(move |sampler, seeds, draw| {
            let batch = sampler.sample(seeds, draw);
            let x = batch.stored_features(&features, &device);
            (batch, x)
        });
        return (config.init_store(Arc::new(graph), &Device::flex()), read);
    }
    let graph = Faults { ptr: open(&ptr), idx: open(&idx) };
    let features: Tensor<2> = npy::from_shared(open(&x).bytes(), &device.clone().inner()).expect("the features");
    let read: Reader = Box::new(move |sampler, seeds, draw| {
        let batch = sampler.sample(seeds, draw);
        let x = batch.features(features.clone());
        (batch, x)
    });
    (config.init_store(Arc::new(graph), &Device::flex()), read)
}

/// What must be equal in all ways.
fn numbers((batch, x): &(NeighborBatch, Tensor<2>)) -> (Vec<usize>, Vec<usize>, Vec<TensorData>) {
    let blocks = batch.blocks().iter().flat_map(|block| {
        [block.pattern().row_ptr().to_data(), block.pattern().col_idx().to_data(), block.values::<1>().to_data()]
    });
    (batch.nodes().ids().to_vec(), batch.edge_ids().to_vec(), blocks.chain([x.to_data()]).collect())
}

fn seeds(batch: u64, count: usize, nodes: usize) -> Vec<usize> {
    let mut stream = Stream::new(mix(7, batch));
    (0..count).map(|_| stream.below(nodes)).collect()
}

/// Bytes that this process has had read from a disk.
fn read_bytes() -> u64 {
    let text = fs::read_to_string("/proc/self/io").unwrap_or_default();
    text.lines().find_map(|line| line.strip_prefix("read_bytes: ")?.parse().ok()).unwrap_or(0)
}

fn main() -> ExitCode {
    let options = Options::parse();
    let folder = options.folder.clone().unwrap_or_else(std::env::temp_dir);
    let files = Files { folder };
    if !(options.keep && files.all().iter().all(|path| path.exists())) {
        let start = Instant::now();
        files.write(&options);
        println!("files made in {:.0} s", start.elapsed().as_secs_f64());
    }
    let good = run(&options, &files);
    if !options.keep {
        files.all().iter().for_each(|path| fs::remove_file(path).expect("own file"));
    }
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn run(options: &Options, files: &Files) -> bool {
    let device = Device::flex();
    let bytes: u64 = files.all().iter().map(|path| fs::metadata(path).expect("the file").len()).sum();
    let nodes = {
        let (sampler, _) = open(files, Way::Ahead, &device);
        println!("{} nodes, {} edges, {:.2} GB", sampler.nodes(), sampler.store().edges(), bytes as f64 / 1e9);
        sampler.nodes()
    };
    let ways = [Way::Faults, Way::LoneFaults, Way::Ahead];
    // The same batches first.
    for batch in 0..2 {
        let seeds = seeds(batch, options.seeds, nodes);
        let all = ways.map(|way| {
            let (sampler, read) = open(files, way, &device);
            numbers(&read(&sampler, &seeds, batch))
        });
        assert!(all[0] == all[1] && all[0] == all[2], "all ways give the same batch");
        if options.in_memory {
            let [ptr, idx, x] = files.all();
            let ints = |path: &PathBuf| npy::load::<1, Int>(path, &device).expect("the file");
            let pattern =
                sparse_tensor::pattern::CsrPattern::new(ints(&ptr), ints(&idx), &[nodes, nodes]).expect("a graph");
            let values = Tensor::<1>::ones([pattern.col_idx().dims()[0]], &device);
            let graph = sparse_tensor::CsrTensor::from_pattern(pattern, values).expect("a graph");
            let own = NeighborSamplerConfig::new(FAN_OUTS.to_vec()).init(&graph).sample(&seeds, batch);
            let x = own.features(npy::load::<2, Float>(&x, &device).expect("the file"));
            assert!(all[0] == numbers(&(own, x)), "a file gives the batch of memory");
        }
    }
    println!("the batches of all ways are equal");
    let medians = ways.map(|way| {
        let mut times: Vec<f64> =
            (0..options.batches).map(|batch| cold(files, way, &seeds(batch, options.seeds, nodes), batch)).collect();
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    });
    let least = medians[0].min(medians[1]) / medians[2];
    for (way, median) in ways.iter().zip(medians) {
        println!("{way:?}: median {median:.3} s a cold batch");
    }
    println!("reading ahead is {least:.2} times as fast as the faster of the others");
    let memory = train(files, options, nodes);
    println!("training took {:.3} GB of anonymous memory at most", memory / 1e9);
    options.least.is_none_or(|bound| least >= bound) && options.most_memory.is_none_or(|bound| memory <= bound)
}

/// Seconds of a batch whose pages are all on the disk.
fn cold(files: &Files, way: Way, seeds: &[usize], draw: u64) -> f64 {
    files.forget();
    let (before, start) = (read_bytes(), Instant::now());
    let (sampler, read) = open(files, way, &Device::flex());
    let (batch, x) = read(&sampler, seeds, draw);
    let took = start.elapsed().as_secs_f64();
    let (nodes, edges, megabytes) = (x.dims()[0], batch.edge_ids().len(), (read_bytes() - before) as f64 / 1e6);
    println!("  {way:?}: {took:.3} s, {nodes} nodes, {edges} edges, {megabytes:.0} MB from the disk");
    took
}

/// The most anonymous memory while a GraphSAGE is trained for some steps.
fn train(files: &Files, options: &Options, nodes: usize) -> f64 {
    sparse_tensor::release_pool();
    let device = Device::flex().autodiff();
    let stop = Arc::new(AtomicBool::new(false));
    let watch = std::thread::spawn({
        let stop = stop.clone();
        move || {
            let mut most = 0.0f64;
            while !stop.load(Ordering::Relaxed) {
                most = most.max(memory::bytes("/proc/self/status", "RssAnon"));
                std::thread::sleep(Duration::from_millis(1));
            }
            most
        }
    });
    let (sampler, read) = open(files, Way::Ahead, &device);
    let mut layers: [SageConv; 2] =
        [SageConvConfig::new(options.features, 128).init(&device), SageConvConfig::new(128, CLASSES).init(&device)];
    let mut optimizer = AdamConfig::new().init();
    let loss = CrossEntropyLossConfig::new().init(&device);
    for step in 0..10 {
        let start = Instant::now();
        let seeds = seeds(100 + step, options.seeds, nodes);
        let labels: Vec<i64> = seeds.iter().map(|&seed| (seed % CLASSES) as i64).collect();
        let (batch, mut x) = read(&sampler, &seeds, step);
        for (layer, block) in layers.iter().zip(batch.blocks()) {
            let own = x.clone().narrow(0, 0, block.dims()[0]);
            x = layer.forward_bipartite(block, x, own);
        }
        let labels = Tensor::<1, Int>::from_data(TensorData::new(labels, [options.seeds]), &device.clone().inner());
        let loss = loss.forward(batch.seed_rows(x), labels);
        let shown = loss.clone().into_scalar::<f32>();
        let gradients = GradientsParams::from_grads(loss.backward(), &layers);
        layers = optimizer.step(0.01, layers, gradients);
        println!("  step {step}: loss {shown:.4}, {:.3} s", start.elapsed().as_secs_f64());
    }
    stop.store(true, Ordering::Relaxed);
    watch.join().expect("the watch")
}
