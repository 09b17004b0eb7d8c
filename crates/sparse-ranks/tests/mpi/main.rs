//! Ranks that are processes. Without arguments it starts itself under `mpirun`, once for each scenario and number of
//! processes, and looks at what they print and how they end. `.ci/mpi` runs it.

use burn::module::Param;
use burn::nn::LinearConfig;
use burn::optim::GradientsParams;
use burn::tensor::{Device, Float, Int, Tensor, TensorData};
use sparse_dev::parts::{Graph, WIDTH, numbers};
use sparse_dev::shares::{Sage, Task, distance};
use sparse_tensor::SparseError;
use sparse_tensor::data::NeighborSamplerConfig;
use sparse_tensor::nn::{RowTable, RowTableConfig};
use sparse_tensor::parallel::{Collective, Mpi, Partition, all_reduce, all_reduce_rows, broadcast};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

const TIMEOUT: Duration = Duration::from_secs(3);

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("train") => train(),
        Some("large") => large(),
        Some("rows") => rows(),
        Some("models") => models(),
        Some("parts") => in_parts(),
        Some("killed_part") => killed_part(),
        Some(how @ ("killed" | "silent" | "left" | "panicked")) => stopped(how),
        // Options of the test harness.
        _ => drive(),
    }
}

/// Where the driver writes graphs in parts for the ranks.
const FOLDER: &str = "SPARSE_TENSOR_PARTS";

/// Runs all scenarios.
fn drive() -> ExitCode {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for ranks in [2, 3] {
        for (name, cut) in [("whole", 0), ("broken", 1)] {
            let folder = folder.path().join(format!("{name}-{ranks}"));
            Graph::new(300).write(&folder, &[70, 200][..ranks - 1], true, true);
            if cut > 0 {
                std::fs::remove_file(folder.join("part-00001/features.npy")).expect("features of each part");
            }
        }
        let folder = folder.path();
        for scenario in ["train", "large", "rows", "models", "parts"] {
            let (out, _) = mpirun(ranks, &[], scenario, folder);
            let good = lines(&out, &format!("{scenario}: good"));
            assert!(out.status.success() && good == ranks, "{scenario} with {ranks} ranks: {out:?}");
            println!("{scenario} with {ranks} ranks: good");
        }
        // With --enable-recovery mpirun leaves the other ranks to themselves.
        for (scenario, options) in [
            ("silent", &[][..]),
            ("killed", &["--enable-recovery"]),
            ("killed_part", &["--enable-recovery"]),
            ("left", &["--enable-recovery"]),
            ("panicked", &["--enable-recovery"]),
        ] {
            let (out, time) = mpirun(ranks, options, scenario, folder);
            let errors = lines(&out, "error: ");
            println!("{scenario} with {ranks} ranks: {errors} errors after {time:?}, {}", out.status);
            // With recovery the status of mpirun says nothing.
            let failed = !out.status.success() || !options.is_empty();
            assert!(failed && errors == ranks - 1, "{scenario} with {ranks} ranks: {out:?}");
            assert!(time < Duration::from_secs(40), "{scenario} with {ranks} ranks: {time:?}");
        }
        // Without it mpirun ends them.
        let (out, time) = mpirun(ranks, &[], "killed", folder);
        println!("killed with {ranks} ranks, without recovery: ended after {time:?}, {}", out.status);
        assert!(!out.status.success() && time < Duration::from_secs(40), "{out:?}");
    }
    ExitCode::SUCCESS
}

fn lines(out: &Output, start: &str) -> usize {
    String::from_utf8_lossy(&out.stdout).lines().filter(|line| line.starts_with(start)).count()
}

fn mpirun(ranks: usize, options: &[&str], scenario: &str, folder: &Path) -> (Output, Duration) {
    let start = Instant::now();
    let out = Command::new("mpirun")
        .args(["-n", &ranks.to_string(), "--oversubscribe", "--bind-to", "none", "--timeout", "120"])
        .args([
            "--mca",
            "btl",
            "self,vader,tcp",
            "--mca",
            "btl_tcp_if_include",
            "lo",
            "--mca",
            "oob_tcp_if_include",
            "lo",
        ])
        .args(options)
        .arg(std::env::current_exe().expect("the path of this program"))
        .arg(scenario)
        .env(FOLDER, folder)
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        .output()
        .expect("mpirun: install openmpi-bin");
    (out, start.elapsed())
}

fn start() -> Mpi {
    Mpi::new(TIMEOUT).expect("MPI can be started")
}

/// Prints one line with one write, so that lines of several processes do not get mixed up.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("{line}\n").as_bytes()).and_then(|()| out.flush()).expect("an open standard output");
}

fn device() -> Device {
    Device::flex().autodiff()
}

/// The bytes of all ranks must be the same.
fn same_on_all(ranks: &mut Mpi, bytes: Vec<u8>) {
    let message = Arc::new(bytes);
    let all = ranks.exchange(vec![message; ranks.size()]).expect("all ranks take part");
    assert!(all.iter().all(|bytes| bytes == &all[0]), "ranks must hold the same bits");
}

/// Batches and features across parts are those of the whole graph; a part that is not whole is an error of all ranks.
fn in_parts() -> ExitCode {
    let mut ranks = start();
    let (rank, size, device) = (ranks.rank(), ranks.size(), Device::flex());
    let folder = PathBuf::from(std::env::var_os(FOLDER).expect("the driver's folder"));
    let graph = Graph::new(300);
    let part = Partition::open(&mut ranks, folder.join(format!("whole-{size}"))).expect("a part for each rank");
    let config = NeighborSamplerConfig::new(vec![6, 4]).with_weighted(true);
    let (whole, sampler) = (config.init(&graph.matrix(true)), part.sampler(&config, &device));
    let features = part.features().expect("features").with_hot_rows(50);
    let halo = part.halo(&mut ranks).expect("a halo");
    features.warm(&mut ranks, &halo).expect("all ranks take part");
    for step in 0..5 {
        // Unequal shares; in the first step only the last rank has seeds.
        let shares = if step == 0 && rank + 1 < size { 0 } else { 5 * (step + 1) * (rank + 1) };
        let seeds: Vec<usize> = part.owned().skip(step).step_by(7).take(shares).collect();
        let batch = sampler.sample(&mut ranks, &seeds, step as u64);
        assert_eq!(numbers(&batch), numbers(&whole.sample(&seeds, step as u64)));
        let ids = batch.nodes().ids();
        let x: Tensor<2> = features.gather(&mut ranks, ids, &device);
        let want: Vec<f32> = ids.iter().flat_map(|&id| graph.features[id * WIDTH..][..WIDTH].to_vec()).collect();
        assert_eq!(x.into_data(), TensorData::new(want, [ids.len(), WIDTH]));
    }
    assert!(features.served().0 > 0);
    let error = Partition::open(&mut ranks, folder.join(format!("broken-{size}"))).expect_err("a file is missing");
    assert!(error.to_string().contains("part-00001/features.npy"), "{error}");
    assert_eq!(error.to_string().contains("on rank 1"), rank != 1, "{error}");
    say("parts: good");
    ExitCode::SUCCESS
}

fn train() -> ExitCode {
    let (mut ranks, device) = (start(), device());
    assert_eq!(Mpi::new(TIMEOUT).unwrap_err().kind(), "invalid");
    let task = Task::new(&device);
    let own = Sage::new(5, &device);
    let model = broadcast(&mut ranks, own, 0).expect("all ranks have the same model");
    let trained = task.train(&mut ranks, model.clone()).expect("all ranks take part");
    same_on_all(&mut ranks, trained.iter().flat_map(|data| data.as_bytes().to_vec()).collect());
    assert_eq!(trained, task.train_shares(ranks.size(), model.clone()), "the bits of one process");
    let distance = distance(&trained, &task.train_union(model));
    assert!(distance < 1e-6, "SGD on whole batches: {distance}");
    say("train: good");
    ExitCode::SUCCESS
}

/// A parameter of several messages.
fn large() -> ExitCode {
    let mut ranks = start();
    let (rank, size) = (ranks.rank(), ranks.size());
    let linear = LinearConfig::new(3000, 2000).with_bias(false).init(&device());
    let mut grads = GradientsParams::new();
    let numbers = |rank: usize| (0..6_000_000).map(move |at: u32| (at % 1000) as f32 + rank as f32);
    let data = TensorData::new(numbers(rank).collect::<Vec<_>>(), [3000, 2000]);
    grads.register(linear.weight.id, Tensor::<2>::from_data(data, &Device::flex()));
    let weight = |rank: usize| 1.0 + rank as f64;
    let grads = all_reduce(&mut ranks, grads, &linear, weight(rank)).expect("all ranks take part");
    let got: Vec<f32> = grads.get::<2>(linear.weight.id).expect("a gradient").into_data().try_into_vec().expect("f32");
    let total: f64 = (0..size).map(weight).sum();
    let parts: Vec<Vec<f32>> = (0..size).map(|rank| numbers(rank).collect()).collect();
    let want = |at: usize| (0..size).map(|rank| weight(rank) * f64::from(parts[rank][at])).sum::<f64>() / total;
    assert!(got.iter().enumerate().all(|(at, got)| *got == want(at) as f32));
    say("large: good");
    ExitCode::SUCCESS
}

fn rows() -> ExitCode {
    let (mut ranks, device) = (start(), device());
    let (rank, size) = (ranks.rank() as i64, ranks.size() as i64);
    let table = RowTable { weight: Param::from_tensor(Tensor::<2>::zeros([100, 3], &device).require_grad()) };
    // Row 50, and one row for each rank.
    let ids = Tensor::<1, Int>::from_ints([50, 99 - rank], &device);
    let (x, read) = table.select(ids);
    let grads = x.mul_scalar(rank as f32 + 1.0).sum().backward();
    let sum = all_reduce_rows(&mut ranks, read.grad(&grads), &table, 1.0).expect("all ranks take part").expect("rows");
    let mut want: Vec<i64> = (0..size).map(|rank| 99 - rank).chain([50]).collect();
    want.sort_unstable();
    assert_eq!(sum.ids().into_data().iter::<i64>().collect::<Vec<_>>(), want);
    let of_50: f32 = (0..size).map(|rank| rank as f32 + 1.0).sum::<f32>() / size as f32;
    assert_eq!(sum.rows().into_data().iter::<f32>().next(), Some(of_50));
    same_on_all(&mut ranks, sum.rows().into_data().as_bytes().to_vec());
    say("rows: good");
    ExitCode::SUCCESS
}

/// Different models are errors on all ranks, after which they can go on.
fn models() -> ExitCode {
    let mut ranks = start();
    let (rank, size) = (ranks.rank(), ranks.size());
    let last = rank + 1 == size;
    let refused = |result: Result<(), SparseError>, word: &str| {
        let trouble = result.expect_err("an error");
        assert!(trouble.kind() == "invalid" && trouble.to_string().contains(word), "{trouble}");
    };
    let linear = LinearConfig::new(2, if last { 3 } else { 2 }).init(&device());
    let shapes = format!("weight [2, 2] f32 on rank 0 and weight [2, 3] f32 on rank {}", size - 1);
    refused(all_reduce(&mut ranks, GradientsParams::new(), &linear, 1.0).map(drop), &shapes);
    refused(broadcast(&mut ranks, linear, 0).map(drop), &format!("on rank {}", size - 1));
    let table = RowTableConfig::new(5, if last { 3 } else { 2 }).init(&device());
    refused(all_reduce_rows(&mut ranks, None, &table, 1.0).map(drop), "a table [5, 2] f32 on rank 0");
    let linear = LinearConfig::new(2, 2).init(&device());
    let result = match last {
        true => broadcast(&mut ranks, linear, 0).map(drop),
        false => all_reduce(&mut ranks, GradientsParams::new(), &linear, 1.0).map(drop),
    };
    refused(result, "the same function");
    same_on_all(&mut ranks, vec![1; 10]);
    say("models: good");
    ExitCode::SUCCESS
}

/// Ends this process as a lack of memory does.
fn die() {
    let own = std::process::id().to_string();
    Command::new("kill").args(["-9", &own]).status().expect("the command kill");
    sleep(Duration::from_secs(60));
}

/// The rank of the last part is killed between batches. The others must get an error from samples and features.
fn killed_part() -> ExitCode {
    let mut ranks = start();
    let (rank, size, device) = (ranks.rank(), ranks.size(), Device::flex());
    let folder = PathBuf::from(std::env::var_os(FOLDER).expect("the driver's folder"));
    let part = Partition::open(&mut ranks, folder.join(format!("whole-{size}"))).expect("a part for each rank");
    let sampler = part.sampler(&NeighborSamplerConfig::new(vec![6, 4]), &device);
    let features = part.features().expect("features");
    let seeds: Vec<usize> = (0..300).step_by(7).collect();
    let batch = sampler.try_sample(&mut ranks, &seeds, 0).expect("all ranks take part");
    if rank + 1 == size {
        die();
    }
    let before = Instant::now();
    let mut gather = || features.try_gather::<_, 2, Float>(&mut ranks, batch.nodes().ids(), &device).err();
    let trouble = gather().expect("an error");
    let waited = before.elapsed();
    assert!(trouble.to_string().contains("all ranks must take part"), "{trouble}");
    assert!(waited < 3 * TIMEOUT, "{waited:?}");
    assert_eq!(gather(), Some(trouble.clone()));
    assert_eq!(sampler.try_sample(&mut ranks, &seeds, 1).err(), Some(trouble.clone()));
    say(&format!("error: {trouble}"));
    // The other ranks that are left notice on their own.
    sleep(TIMEOUT);
    ExitCode::FAILURE
}

/// The last rank stops in the middle of the training. The others must get an error.
fn stopped(how: &str) -> ExitCode {
    let mut ranks = start();
    let linear = LinearConfig::new(2, 2).init(&device());
    all_reduce(&mut ranks, GradientsParams::new(), &linear, 1.0).expect("all ranks take part");
    if ranks.rank() + 1 == ranks.size() {
        match how {
            "killed" => die(),
            // Beyond the timeout. The others end first, so mpirun ends this one.
            "silent" => sleep(Duration::from_secs(60)),
            "left" => std::process::exit(3),
            _ => panic!("the last rank panics"),
        }
    }
    let before = Instant::now();
    let trouble = all_reduce(&mut ranks, GradientsParams::new(), &linear, 1.0).expect_err("an error");
    let waited = before.elapsed();
    assert!(trouble.to_string().contains("all ranks must take part"), "{trouble}");
    assert!(waited < 3 * TIMEOUT, "{waited:?}");
    assert_eq!(all_reduce(&mut ranks, GradientsParams::new(), &linear, 1.0).err(), Some(trouble.clone()));
    say(&format!("error: {trouble}"));
    // The other ranks that are left notice on their own.
    sleep(TIMEOUT);
    ExitCode::FAILURE
}
