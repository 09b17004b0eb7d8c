//! By steps: memory during long runs. What a pattern keeps and what the pool of memory holds must not grow with them.

use super::memory::bytes;
use super::plot::Series;
use burn::tensor::{DType, Device, Int, Tensor, TensorData};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};
use sparse_tensor::{CooTensor, CsrTensor, Fill};
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

const NODES: usize = 500;
const WIDTH: usize = 16;
/// How often memory is read.
const POINTS: usize = 100;
/// The end may have this much more than the begin: what an allocator keeps varies.
const GROWTH: f64 = 1.1;
const SLACK: f64 = 8e6;

/// So many steps, and what is called after each.
type LongRun = fn(usize, &mut dyn FnMut(usize));

/// One long run.
pub(crate) struct Run {
    name: &'static str,
    seconds: f64,
    /// Steps and MB of the process.
    points: Vec<(f64, f64)>,
}

pub(crate) fn run(steps: usize) -> Vec<Run> {
    println!("\nBy steps: forward, backward and an update, N = {NODES}");
    println!("{:<22}{:>10}{:>10}{:>12}{:>10}", "work", "steps", "s", "MB at 1/10", "at end");
    let works: [(_, LongRun); 4] = [
        ("one pattern", one_pattern),
        ("new patterns", new_patterns),
        ("changed patterns", chain),
        ("two threads", two_threads),
    ];
    works.into_iter().map(|(name, work)| long_run(name, work, steps)).collect()
}

fn long_run(name: &'static str, work: LongRun, steps: usize) -> Run {
    let (start, every, mut points) = (Instant::now(), (steps / POINTS).max(1), vec![]);
    work(steps, &mut |step| {
        if step % every == 0 {
            points.push((step as f64, bytes("/proc/self/status", "VmRSS") / 1e6));
        }
    });
    let seconds = start.elapsed().as_secs_f64();
    let most = |part: &[(f64, f64)]| part.iter().map(|point| point.1).fold(0.0, f64::max);
    let (early, late) = (most(&points[..=points.len() / 10]), most(&points[points.len() / 2..]));
    println!("{name:<22}{steps:>10}{seconds:>10.1}{early:>12.1}{late:>10.1}");
    assert!(late <= early * GROWTH + SLACK / 1e6, "{name}: memory grows from {early:.1} to {late:.1} MB");
    Run { name, seconds, points }
}

/// A step of training on a matrix: both its values and the dense side learn.
fn train(a: &CsrTensor<2>, x: &mut Tensor<2>) -> CsrTensor<2> {
    let values = a.values::<1>().autodiff().require_grad();
    let rows = x.clone().autodiff().require_grad();
    let weights = a.try_with_values(values.clone()).expect("the same pattern").with_fill(Fill::Undefined).softmax(1);
    let grads = weights.matmul(rows.clone()).powf_scalar(2.0).mean().backward();
    *x = x.clone() - rows.grad(&grads).expect("a leaf").mul_scalar(0.1);
    let values = a.values::<1>() - values.grad(&grads).expect("a leaf").mul_scalar(0.1);
    a.try_with_values(values).expect("the same pattern")
}

fn features() -> Tensor<2> {
    Tensor::ones([NODES, WIDTH], &Device::flex())
}

/// A matrix of a pattern that nobody has had: 1 to 20 elements a row, some places twice.
fn random(rng: &mut StdRng) -> CsrTensor<2> {
    let nnz = rng.random_range(NODES..20 * NODES);
    let ids: Vec<i64> = (0..2 * nnz).map(|_| rng.random_range(0..NODES as i64)).collect();
    let indices = Tensor::<2, Int>::from_data(TensorData::new(ids, [2, nnz]), (&Device::flex(), DType::I64));
    let values = Tensor::<1>::ones([nnz], &Device::flex());
    CooTensor::<2>::new(indices, values, [NODES; 2]).expect("in the shape").to_csr()
}

fn one_pattern(steps: usize, after: &mut dyn FnMut(usize)) {
    let (mut a, mut x) = (random(&mut StdRng::seed_from_u64(1)), features());
    for step in 0..steps {
        a = train(&a, &mut x);
        after(step);
    }
}

fn new_patterns(steps: usize, after: &mut dyn FnMut(usize)) {
    let (mut rng, mut x) = (StdRng::seed_from_u64(2), features());
    // One that stays, and keeps results for others that do not.
    let fixed = random(&mut rng);
    for step in 0..steps {
        let a = &random(&mut rng) + &fixed;
        train(&a.transpose(), &mut x);
        after(step);
    }
}

/// Each pattern is made of the one before.
fn chain(steps: usize, after: &mut dyn FnMut(usize)) {
    let (mut rng, mut x) = (StdRng::seed_from_u64(3), features());
    let mut a = random(&mut rng);
    for step in 0..steps {
        a = train(&a, &mut x);
        // New edges, and those below the mean go.
        let values = a.values::<1>();
        let mean = values.clone().mean().into_scalar::<f32>();
        a = &a.prune(f64::from(mean)) + &random(&mut rng).mul_scalar(1.5);
        after(step);
    }
}

/// Two trainings, each of which drops what the other one made.
fn two_threads(steps: usize, after: &mut dyn FnMut(usize)) {
    let ((to_b, of_a), (to_a, of_b)) = (mpsc::sync_channel(4), mpsc::sync_channel(4));
    let (made, done) = mpsc::channel();
    thread::scope(|scope| {
        for (seed, to, from) in [(4, to_b, of_b), (5, to_a, of_a)] {
            let made = made.clone();
            scope.spawn(move || {
                let (mut rng, mut x) = (StdRng::seed_from_u64(seed), features());
                for _ in 0..steps / 2 {
                    let a = random(&mut rng);
                    // Where the other one is behind, each drops its own.
                    let _ = to.try_send((train(&a, &mut x), a));
                    drop(from.try_recv());
                    made.send(()).expect("the reader waits");
                }
            });
        }
        drop(made);
        done.into_iter().enumerate().for_each(|(step, ())| after(step));
    });
}

pub(crate) fn series(run: &Run) -> Series {
    let points = run.points.iter().filter(|point| point.0 > 0.0);
    Series { name: run.name.into(), points: points.copied().collect() }
}

pub(crate) fn json(runs: &[Run]) -> Vec<Value> {
    runs.iter().map(|run| json!({"work": run.name, "seconds": run.seconds, "steps_mb": run.points})).collect()
}

/// ms of a step, and MB of the process near the begin and at the end.
pub(crate) fn markdown(runs: &[Run]) {
    println!("\n| run | steps | ms a step | MB at 1/10 | MB at the end |\n|---|---|---|---|---|");
    for run in runs {
        let at = |k: usize| run.points[k].1;
        let (steps, count) = (run.points[run.points.len() - 1].0, run.points.len());
        let ms = run.seconds * 1e3 / steps.max(1.0);
        println!("| {} | {steps:.0} | {ms:.2} | {:.0} | {:.0} |", run.name, at(count / 10), at(count - 1));
    }
}
