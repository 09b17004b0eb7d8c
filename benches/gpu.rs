//! What a GPU is for, in one call: products, softmax, reductions along an axis, coalescing and an epoch of a graph
//! network, each with the share of a measured copy's memory bandwidth, beside PyTorch where it has CUDA.
//! `benches/gpu.sh` builds and runs it.
//!
//! Runs on the device in `SPARSE_TEST_DEVICE`. Results are compared with those of Flex, and with the peer's, before
//! anything is timed. `SPARSE_BENCH_SCALE` (1) scales the sizes: 0.001 is enough for a software device. Arguments
//! choose works by a part of their names.

use burn::tensor::activation::relu;
use burn::tensor::{DType, Device, Int, Tensor, TensorData};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use sparse_dev::device;
use sparse_tensor::data::LabelledNodes;
use sparse_tensor::extend::linear;
use sparse_tensor::ops::{Epilogue, IndexPlan, Reduce, masked_matmul, put_along_axis};
use sparse_tensor::{CooTensor, CsrTensor, Fill};
use std::io::{BufRead, BufReader, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitCode, Stdio};
use std::time::Instant;

const ROUNDS: usize = 9;
const WIDTH: usize = 64;
const HIDDEN: usize = 64;
const CLASSES: usize = 40;

type Run = Box<dyn Fn() -> Vec<Tensor<1>>>;

/// Something to time.
struct Work {
    name: &'static str,
    /// Bytes that must move: every input read once, every output written once.
    least: f64,
    /// The same with a row read for every stored element, as if no cache held any.
    gathered: f64,
    make: Box<dyn Fn(&Device) -> Run>,
}

fn main() -> ExitCode {
    let name = device::name();
    let scale = std::env::var("SPARSE_BENCH_SCALE").ok().and_then(|text| text.parse().ok()).unwrap_or(1.0f64);
    let wanted: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let wants = |name: &str| wanted.is_empty() || wanted.iter().any(|word| name.contains(word.as_str()));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let device = device::named(&name);
    let copy = copy_bandwidth(&device, scale);
    let mut peer = Peer::start(folder.path());
    let mut table = vec![];
    let mut failed = false;
    for group in [graph_works, row_works, product_works, large_works, put_works, plan_works, coalesce_works] {
        for work in group(folder.path(), scale, &wants) {
            match catch_unwind(AssertUnwindSafe(|| measure(&work, &device, &mut peer))) {
                Ok(times) => table.push((work, times)),
                Err(_) => {
                    println!("FAILED {}", work.name);
                    failed = true;
                }
            }
        }
    }
    #[cfg(any(feature = "wgpu", feature = "cuda", feature = "rocm"))]
    println!("operations without a kernel on this device: {:?}", sparse_tensor::host_fallbacks());
    println!(
        "device {name}, scale {scale}, copy {copy:.0} GB/s; medians of {ROUNDS}, ms; shares of the copy's bandwidth"
    );
    println!("{:<18}{:>10}{:>10}{:>8}{:>9}{:>10}", "work", "this", "peer", "ratio", "least", "gathered");
    for (work, (own, other)) in table {
        let share = |bytes: f64| format!("{:.0} %", bytes / own / 1e6 / copy * 100.0);
        let (peer, ratio) = match other {
            Some(other) => (format!("{other:.2}"), format!("{:.2}x", other / own)),
            None => ("-".into(), "-".into()),
        };
        let (least, gathered) = (share(work.least), share(work.gathered));
        println!("{:<18}{own:>10.2}{peer:>10}{ratio:>8}{least:>9}{gathered:>10}", work.name);
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn median(mut list: Vec<f64>) -> f64 {
    list.sort_by(f64::total_cmp);
    list[list.len() / 2]
}

const COPIES: usize = 10;

fn copy(buffer: &Tensor<2>) -> Tensor<1> {
    buffer.clone().mul_scalar(1.5).flatten(0, 1)
}

/// GB/s of a kernel that reads and writes a large buffer, launched several times between two waits.
fn copy_bandwidth(device: &Device, scale: f64) -> f64 {
    let rows = ((256.0 * scale).ceil() as usize) << 10;
    let buffer = Tensor::<2>::ones([rows, 256], device);
    let copies = || (1..COPIES).fold(vec![copy(&buffer)], |_, _| vec![copy(&buffer)]);
    let times = (0..ROUNDS + 3).map(|_| milliseconds(device, copies));
    (COPIES * rows * 256 * 4 * 2) as f64 / median(times.skip(3).collect()) / 1e6
}

fn milliseconds(device: &Device, run: impl Fn() -> Vec<Tensor<1>>) -> f64 {
    device.sync().expect("a device that answers");
    let start = Instant::now();
    let results = run();
    device.sync().expect("a device that answers");
    let time = start.elapsed().as_secs_f64() * 1e3;
    drop(results);
    time
}

/// Checks the results, then times both sides in turn: milliseconds here and of the peer.
fn measure(work: &Work, device: &Device, peer: &mut Peer) -> (f64, Option<f64>) {
    let digests = |device: &Device| (work.make)(device)().into_iter().map(digest).collect::<Vec<_>>();
    let want = digests(&Device::flex());
    let run = (work.make)(device);
    let got: Vec<Digest> = run().into_iter().map(digest).collect();
    agree(work.name, "Flex", &got, &want);
    let mut has_peer = false;
    if let Some(sums) = peer.ask(&format!("{}|check", work.name)) {
        let sums: Vec<f64> = sums.split(' ').map(|sum| sum.parse().expect("a number")).collect();
        let sums: Vec<Digest> =
            sums.chunks(2).map(|pair| Digest { sum: pair[0], weighted: pair[1], size: 0.0 }).collect();
        agree(work.name, "the peer", &got, &sums);
        has_peer = true;
    }
    (0..2).for_each(|_| _ = milliseconds(device, &run));
    let (mut own, mut other) = (vec![], vec![]);
    for _ in 0..ROUNDS {
        own.push(milliseconds(device, &run));
        if let Some(seconds) = has_peer.then(|| peer.ask(&format!("{}|time", work.name))).flatten() {
            other.push(seconds.parse::<f64>().expect("seconds") * 1e3);
        }
    }
    (median(own), has_peer.then(|| median(other)))
}

/// What two results must share: their sum, and a sum that depends on where each element stands.
struct Digest {
    sum: f64,
    weighted: f64,
    size: f64,
}

fn digest(tensor: Tensor<1>) -> Digest {
    let data = tensor.inner().into_data();
    let values = data.as_slice::<f32>().expect("f32");
    let weighted = values.iter().enumerate().map(|(k, &value)| f64::from(value) * (k % 97) as f64);
    Digest {
        sum: values.iter().map(|&value| f64::from(value)).sum(),
        weighted: weighted.sum(),
        size: values.iter().map(|&value| f64::from(value.abs())).sum(),
    }
}

fn agree(name: &str, whose: &str, got: &[Digest], want: &[Digest]) {
    assert_eq!(got.len(), want.len(), "{name}: as many results as {whose} has");
    for (k, (got, want)) in got.iter().zip(want).enumerate() {
        // Burn's dense products of f32 round to TF32 where the device has units for them.
        let near = if name == "gcn epoch" { 1e-3 } else { 1e-4 };
        let close = |a: f64, b: f64, size: f64| (a - b).abs() <= near * size.max(1e-2);
        let same = close(got.sum, want.sum, got.size) && close(got.weighted, want.weighted, got.size * 48.0);
        if !same {
            println!(
                "{name}, result {k}: sums {} and {}, those of {whose} {} and {}",
                got.sum, got.weighted, want.sum, want.weighted
            );
        }
        assert!(same, "{name}: result {k} must be that of {whose}");
    }
}

fn save<T: bytemuck::NoUninit>(folder: &Path, name: &str, list: &[T]) {
    std::fs::write(folder.join(name), bytemuck::cast_slice::<T, u8>(list)).expect("room for the inputs");
}

fn scaled(size: usize, scale: f64) -> usize {
    ((size as f64 * scale) as usize).max(64)
}

fn uniform(rng: &mut StdRng, count: usize, low: f32, high: f32) -> Vec<f32> {
    (0..count).map(|_| rng.random_range(low..high)).collect()
}

fn floats<const D: usize>(list: &[f32], shape: [usize; D], device: &Device) -> Tensor<D> {
    Tensor::from_data(TensorData::new(list.to_vec(), shape), device)
}

fn ints<const D: usize>(list: &[i32], shape: [usize; D], device: &Device) -> Tensor<D, Int> {
    Tensor::from_data(TensorData::new(list.to_vec(), shape), (&device.clone().inner(), DType::I32))
}

/// A graph with dense features, on the host.
struct Graph {
    nodes: usize,
    features: usize,
    ptr: Vec<i32>,
    col: Vec<i32>,
    values: Vec<f32>,
    dense: Vec<f32>,
}

impl Graph {
    /// Rows of random, ascending columns; their lengths are as uneven as a square of a uniform number.
    fn make(folder: &Path, name: &str, seed: u64, nodes: usize, nnz: usize, features: usize) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        let mean = nnz as f64 / nodes as f64;
        let (mut ptr, mut col, mut row) = (vec![0i32], Vec::with_capacity(nnz), vec![]);
        for _ in 0..nodes {
            let part: f64 = rng.random_range(0.0..1.0);
            let length = (mean * 3.0 * part * part).round() as usize;
            row.clear();
            row.extend((0..length).map(|_| rng.random_range(0..nodes as i32)));
            row.sort_unstable();
            row.dedup();
            col.extend_from_slice(&row);
            ptr.push(col.len() as i32);
        }
        let values = uniform(&mut rng, col.len(), 0.5, 1.5);
        let dense = uniform(&mut rng, nodes * features, -1.0, 1.0);
        save(folder, &format!("{name}.ptr"), &ptr);
        save(folder, &format!("{name}.col"), &col);
        save(folder, &format!("{name}.values"), &values);
        save(folder, &format!("{name}.dense"), &dense);
        Self { nodes, features, ptr, col, values, dense }
    }

    fn matrix(&self, device: &Device) -> CsrTensor<2> {
        let (ptr, col) = (ints(&self.ptr, [self.ptr.len()], device), ints(&self.col, [self.col.len()], device));
        CsrTensor::new(ptr, col, floats(&self.values, [self.values.len()], device), [self.nodes; 2])
            .expect("valid rows")
    }

    fn dense(&self, device: &Device) -> Tensor<2> {
        floats(&self.dense, [self.nodes, self.features], device)
    }

    /// Bytes of indices and values, of a dense operand, and of its rows read for every element.
    fn bytes(&self) -> [f64; 3] {
        let (nnz, rows) = (self.col.len(), self.nodes);
        [nnz * 8 + rows * 4, rows * self.features * 4, nnz * self.features * 4].map(|bytes| bytes as f64)
    }
}

fn graph_works(folder: &Path, scale: f64, wants: &dyn Fn(&str) -> bool) -> Vec<Work> {
    if !["spmm", "spmm f+b", "sddmm", "gcn epoch"].iter().any(|name| wants(name)) {
        return vec![];
    }
    let nodes = scaled(169_343, scale);
    let graph = Graph::make(folder, "graph", 2, nodes, nodes * 2_332_486 / 169_343, 128);
    let [sparse, dense, rows] = graph.bytes();
    let graph = std::rc::Rc::new(graph);
    let mut rng = StdRng::seed_from_u64(3);
    let first = uniform(&mut rng, 128 * HIDDEN, -0.1, 0.1);
    let second = uniform(&mut rng, HIDDEN * CLASSES, -0.1, 0.1);
    let labels: Vec<i32> = (0..nodes).map(|_| rng.random_range(0..CLASSES as i32)).collect();
    save(folder, "gcn.first", &first);
    save(folder, "gcn.second", &second);
    save(folder, "gcn.labels", &labels);
    let on = |f: fn(&Graph, &Device) -> Run| {
        let graph = graph.clone();
        Box::new(move |device: &Device| f(&graph, device))
    };
    let wide = |features: usize| (nodes * features * 4) as f64;
    let gathered = |features: usize| rows / 128.0 * features as f64;
    let epoch = {
        let graph = graph.clone();
        Box::new(move |device: &Device| gcn_epoch(&graph, &first, &second, &labels, device))
    };
    let works = vec![
        Work { name: "spmm", least: sparse + 2.0 * dense, gathered: sparse + rows + dense, make: on(spmm) },
        Work {
            name: "spmm f+b",
            // Backward: SDDMM (both operands, one number an element) and the transposed product.
            least: 3.0 * sparse + 6.0 * dense,
            gathered: 3.0 * sparse + 4.0 * rows + 2.0 * dense,
            make: on(spmm_both),
        },
        Work { name: "sddmm", least: sparse + 2.0 * dense, gathered: sparse + rows + dense, make: on(sddmm) },
        Work {
            name: "gcn epoch",
            // Two products forward and two back, with the dense products that feed them.
            least: 4.0 * sparse + 2.0 * wide(128) + 12.0 * wide(HIDDEN) + 12.0 * wide(CLASSES),
            gathered: 4.0 * sparse
                + 2.0 * (gathered(HIDDEN) + gathered(CLASSES))
                + 2.0 * wide(128)
                + 10.0 * (wide(HIDDEN) + wide(CLASSES)),
            make: epoch,
        },
    ];
    works.into_iter().filter(|work| wants(work.name)).collect()
}

fn spmm(graph: &Graph, device: &Device) -> Run {
    let (a, x) = (graph.matrix(device), graph.dense(device));
    Box::new(move || vec![a.matmul(x.clone()).flatten(0, 1)])
}

fn spmm_both(graph: &Graph, device: &Device) -> Run {
    let device = device.clone().autodiff();
    let (a, x) = (graph.matrix(&device), graph.dense(&device));
    Box::new(move || {
        let (a, x) = (a.clone().detach().require_grad(), x.clone().detach().require_grad());
        let out = a.matmul(x.clone());
        // Burn starts from ones, as the peer does.
        let grads = out.backward();
        let of_values = a.grad(&grads).expect("a leaf").values::<1>();
        vec![out.inner().flatten(0, 1), x.grad(&grads).expect("a leaf").flatten(0, 1), of_values]
    })
}

fn sddmm(graph: &Graph, device: &Device) -> Run {
    let (a, x) = (graph.matrix(device), graph.dense(device));
    let y = x.clone().mul_scalar(0.5).transpose();
    Box::new(move || vec![masked_matmul(x.clone(), y.clone(), &a).values::<1>()])
}

/// Loss and gradients of two graph convolutions on all nodes, from fixed weights, by what the layers are made of.
fn gcn_epoch(graph: &Graph, first: &[f32], second: &[f32], labels: &[i32], device: &Device) -> Run {
    let device = device.clone().autodiff();
    // Rows that sum to about one: activations stay in range.
    let mean = graph.nodes as f32 / graph.col.len() as f32;
    let (a, x) = (graph.matrix(&device).mul_scalar(mean), graph.dense(&device));
    let (first, second) = (floats(first, [128, HIDDEN], &device), floats(second, [HIDDEN, CLASSES], &device));
    let (nodes, labels): (Vec<usize>, Vec<i64>) = labels.iter().map(|&label| i64::from(label)).enumerate().unzip();
    let labelled = LabelledNodes::new(&nodes, &labels, graph.nodes, CLASSES, &device).expect("a class for each node");
    let times = |x: Tensor<2>, weight: &Tensor<2>| linear(x, weight.clone(), Epilogue::default());
    Box::new(move || {
        let (first, second) = (first.clone().detach().require_grad(), second.clone().detach().require_grad());
        let hidden = relu(a.matmul(times(x.clone(), &first)));
        let loss = labelled.cross_entropy(a.matmul(times(hidden, &second)));
        let grads = loss.backward();
        let flat = |leaf: &Tensor<2>| leaf.grad(&grads).expect("a leaf").flatten(0, 1);
        vec![loss.clone().inner(), flat(&first), flat(&second)]
    })
}

/// Work in which a row has one number: the product with a vector, sums, and softmax with its gradient.
fn row_works(folder: &Path, scale: f64, wants: &dyn Fn(&str) -> bool) -> Vec<Work> {
    let names = ["spmv", "row sum", "softmax f+b"];
    if !names.iter().any(|name| wants(name)) {
        return vec![];
    }
    let nodes = scaled(1_000_000, scale);
    let graph = std::rc::Rc::new(Graph::make(folder, "rows", 6, nodes, nodes * 10, 1));
    let [sparse, dense, rows] = graph.bytes();
    let on = |f: fn(&Graph, &Device) -> Run| {
        let graph = graph.clone();
        Box::new(move |device: &Device| f(&graph, device))
    };
    let values = graph.col.len() as f64 * 4.0;
    let pointers = (nodes * 4) as f64;
    let works = vec![
        Work { name: "spmv", least: sparse + 2.0 * dense, gathered: sparse + rows + dense, make: on(spmm) },
        Work { name: "row sum", least: values + pointers + dense, gathered: values + pointers + dense, make: on(sums) },
        // The values in and out, then the result and its gradient in, and a gradient out.
        Work {
            name: "softmax f+b",
            least: 5.0 * values + 2.0 * pointers,
            gathered: 5.0 * values + 2.0 * pointers,
            make: on(softmax_both),
        },
    ];
    works.into_iter().filter(|work| wants(work.name)).collect()
}

fn sums(graph: &Graph, device: &Device) -> Run {
    let a = graph.matrix(device);
    Box::new(move || vec![a.sum_dim(1).to_dense().flatten(0, 1)])
}

fn softmax_both(graph: &Graph, device: &Device) -> Run {
    let device = device.clone().autodiff();
    let a = graph.matrix(&device).with_fill(Fill::Undefined);
    // A gradient of ones would give zeros.
    let weights = floats(&graph.values, [graph.values.len()], &device);
    Box::new(move || {
        let a = a.clone().detach().require_grad();
        let out = a.softmax(1).values::<1>();
        let grads = (out.clone() * weights.clone()).sum().backward();
        vec![out.inner(), a.grad(&grads).expect("a leaf").values::<1>()]
    })
}

/// The square of a sparse matrix, which makes its pattern; and again, with the pattern known.
fn product_works(folder: &Path, scale: f64, wants: &dyn Fn(&str) -> bool) -> Vec<Work> {
    if !["spgemm", "spgemm, known"].iter().any(|name| wants(name)) {
        return vec![];
    }
    let nodes = scaled(100_000, scale);
    let graph = std::rc::Rc::new(Graph::make(folder, "square", 7, nodes, nodes * 10, 1));
    let [sparse, ..] = graph.bytes();
    // Each element meets a row of about ten.
    let products = graph.col.len() as f64 * 10.0 * 8.0;
    let works = [("spgemm", false), ("spgemm, known", true)].map(|(name, known)| {
        let graph = graph.clone();
        let make = Box::new(move |device: &Device| {
            let a = graph.matrix(device);
            let fresh =
                move |a: &CsrTensor<2>| CsrTensor::new_unchecked(a.row_ptr(), a.col_idx(), a.values::<1>(), [nodes; 2]);
            let run: Run = Box::new(move || {
                let a = if known { a.clone() } else { fresh(&a) };
                vec![a.matmul(&a).values::<1>()]
            });
            run
        });
        Work { name, least: 2.0 * sparse, gathered: 2.0 * sparse + products, make }
    });
    works.into_iter().filter(|work| wants(work.name)).collect()
}

fn large_works(folder: &Path, scale: f64, wants: &dyn Fn(&str) -> bool) -> Vec<Work> {
    if !wants("spmm 50M") {
        return vec![];
    }
    let nodes = scaled(1_000_000, scale);
    let graph = Graph::make(folder, "large", 4, nodes, nodes * 50, WIDTH);
    let [sparse, dense, rows] = graph.bytes();
    let make = Box::new(move |device: &Device| spmm(&graph, device));
    vec![Work { name: "spmm 50M", least: sparse + 2.0 * dense, gathered: sparse + rows + dense, make }]
}

fn put_works(folder: &Path, scale: f64, wants: &dyn Fn(&str) -> bool) -> Vec<Work> {
    let names = [("put add f+b", Reduce::Add), ("put amax f+b", Reduce::Amax)];
    if !names.iter().any(|(name, _)| wants(name)) {
        return vec![];
    }
    let (count, targets) = (scaled(1_000_000, scale), scaled(100_000, scale));
    let mut rng = StdRng::seed_from_u64(1);
    let values = uniform(&mut rng, count * WIDTH, 0.9, 1.1);
    let arr = uniform(&mut rng, targets * WIDTH, 0.9, 1.1);
    let index: Vec<i32> = (0..count * WIDTH).map(|_| rng.random_range(0..targets as i32)).collect();
    save(folder, "put.values", &values);
    save(folder, "put.arr", &arr);
    save(folder, "put.index", &index);
    let inputs = std::rc::Rc::new((arr, index, values));
    let (large, small) = ((count * WIDTH * 4) as f64, (targets * WIDTH * 4) as f64);
    let works = names.map(|(name, reduce)| {
        let inputs = inputs.clone();
        let make = Box::new(move |device: &Device| {
            let device = device.clone().autodiff();
            let (arr, index, values) = &*inputs;
            let (arr, values) = (floats(arr, [targets, WIDTH], &device), floats(values, [count, WIDTH], &device));
            let index = ints(index, [count, WIDTH], &device);
            let run: Run = Box::new(move || {
                let (arr, values) = (arr.clone().detach().require_grad(), values.clone().detach().require_grad());
                let out = put_along_axis(arr, index.clone(), values.clone(), 0, reduce, true);
                let grads = out.backward();
                vec![out.inner().flatten(0, 1), values.grad(&grads).expect("a leaf").flatten(0, 1)]
            });
            run
        });
        // Values and index in, their gradient out; an extreme looks at the values again.
        let least = if reduce == Reduce::Add { 4.0 * large + 4.0 * small } else { 5.0 * large + 6.0 * small };
        Work { name, least, gathered: least, make }
    });
    works.into_iter().filter(|work| wants(work.name)).collect()
}

/// Rows added to others by an index that is known: no sort in a step.
fn plan_works(folder: &Path, scale: f64, wants: &dyn Fn(&str) -> bool) -> Vec<Work> {
    if !wants("put add, plan") {
        return vec![];
    }
    let (count, targets) = (scaled(1_000_000, scale), scaled(100_000, scale));
    let mut rng = StdRng::seed_from_u64(8);
    let values = uniform(&mut rng, count * WIDTH, 0.9, 1.1);
    let index: Vec<i32> = (0..count).map(|_| rng.random_range(0..targets as i32)).collect();
    save(folder, "plan.values", &values);
    save(folder, "plan.index", &index);
    save(folder, "plan.targets", &[targets as i64]);
    let make = Box::new(move |device: &Device| {
        let values = floats(&values, [count, WIDTH], device);
        let plan = IndexPlan::new(ints(&index, [count], device), targets).expect("an index in range");
        let arr = Tensor::<2>::zeros([targets, WIDTH], device);
        let run: Run =
            Box::new(move || vec![plan.put(arr.clone(), 0, values.clone(), Reduce::Add, true).flatten(0, 1)]);
        run
    });
    let bytes = ((count * (WIDTH + 1) + 2 * targets * WIDTH) * 4) as f64;
    vec![Work { name: "put add, plan", least: bytes, gathered: bytes, make }]
}

fn coalesce_works(folder: &Path, scale: f64, wants: &dyn Fn(&str) -> bool) -> Vec<Work> {
    let sizes = [("coalesce 10M", 10_000_000), ("coalesce 50M", 50_000_000)];
    sizes.into_iter().filter(|(name, _)| wants(name)).map(|(name, nnz)| coalesce(folder, scale, name, nnz)).collect()
}

fn coalesce(folder: &Path, scale: f64, name: &'static str, nnz: usize) -> Work {
    let (rows, nnz) = (scaled(1_000_000, scale), scaled(nnz, scale));
    let mut rng = StdRng::seed_from_u64(5);
    let at: Vec<i32> =
        (0..2 * nnz).map(|k| rng.random_range(0..if k < nnz { rows as i32 } else { WIDTH as i32 })).collect();
    let values = uniform(&mut rng, nnz, 0.5, 1.5);
    save(folder, &format!("{name}.shape"), &[rows as i64, WIDTH as i64]);
    save(folder, &format!("{name}.indices"), &at);
    save(folder, &format!("{name}.values"), &values);
    let make = Box::new(move |device: &Device| {
        let (at, values) = (ints(&at, [2, nnz], device), floats(&values, [nnz], device));
        // A new pattern each time: the merged one would be kept with an old one.
        let run: Run = Box::new(move || {
            let loose = CooTensor::<2>::new_unchecked(at.clone(), values.clone(), [rows, WIDTH], false);
            vec![loose.coalesce().values::<1>()]
        });
        run
    });
    // About as many distinct places as a random draw of `nnz` from them leaves.
    let cells = (rows * WIDTH) as f64;
    let distinct = cells * (1.0 - (-(nnz as f64) / cells).exp());
    let least = 12.0 * (nnz as f64 + distinct);
    Work { name, least, gathered: least, make }
}

/// PyTorch on the same device, if there is one that has CUDA.
struct Peer(Option<(Child, BufReader<ChildStdout>)>);

impl Peer {
    fn start(folder: &Path) -> Self {
        let python = std::env::var("SPARSE_PEER_PYTHON").unwrap_or_else(|_| "python3".into());
        let own = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/gpu_peers.py");
        let script = std::env::var("SPARSE_PEER_SCRIPT").unwrap_or_else(|_| own.into());
        let child = Command::new(&python)
            .args([script.as_ref(), folder.as_os_str()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let Ok(mut child) = child else {
            println!("no peer: {python} does not start");
            return Self(None);
        };
        let mut answers = BufReader::new(child.stdout.take().expect("piped"));
        let mut line = String::new();
        answers.read_line(&mut line).expect("the peer says whether it is ready");
        println!("peer: {}", line.trim());
        if line.trim().starts_with("ready") { Self(Some((child, answers))) } else { Self(None) }
    }

    /// The peer's answer; `None` where there is no peer, or it cannot do this.
    fn ask(&mut self, request: &str) -> Option<String> {
        let (child, answers) = self.0.as_mut()?;
        let sent = writeln!(child.stdin.as_mut().expect("piped"), "{request}");
        let mut line = String::new();
        if sent.is_err() || answers.read_line(&mut line).is_err() || line.is_empty() {
            println!("the peer stopped at {request}");
            self.0 = None;
            return None;
        }
        if line.starts_with("error") {
            println!("peer, {request}: {}", line.trim());
            return None;
        }
        Some(line.trim().to_string())
    }
}
