//! Times both sides and prints a line for each peer.

use super::memory::peak_of;
use super::peer::Peers;
use burn::tensor::Tensor;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// How often each side runs, and what to run.
pub(crate) struct Bench {
    pub peers: Peers,
    rounds: usize,
    names: Vec<String>,
    /// Bytes a second of an add-stream.
    stream: f64,
    pub rows: Vec<Value>,
}

impl Bench {
    pub(crate) fn new(peers: Peers, rounds: usize, names: Vec<String>) -> Self {
        let stream = add_stream();
        println!("add-stream {:.1} GB/s; medians of {rounds} rounds, ms; ratio of the medians", stream / 1e9);
        println!(
            "{:<24}{:<16}{:>9}{:>10}{:>9}{:>8}{:>8}{:>8}{:>9}{:>9}",
            "work", "peer", "this", "peer", "ratio", "min", "max", "stream", "MB", "peer MB"
        );
        Self { peers, rounds, names, stream, rows: vec![] }
    }

    pub(crate) fn wants(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|word| name.contains(word.as_str()))
    }

    pub(crate) fn wants_any(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.wants(name))
    }

    /// Compares sums of the results, then times this library and each peer in turn. `bytes` must move at least.
    pub(crate) fn compare(&mut self, name: &str, bytes: usize, run: impl Fn() -> Vec<Tensor<1>>) {
        self.compare_as(name, name, bytes, run);
    }

    /// [`compare`](Self::compare) with the peer's work of another name, whose result is the same.
    pub(crate) fn compare_as(&mut self, label: &str, name: &str, bytes: usize, run: impl Fn() -> Vec<Tensor<1>>) {
        if self.wants(label) {
            for peer in self.peers.of(name) {
                for (tensor, want) in run().into_iter().zip(self.peers.sums(name, &peer)) {
                    let data = tensor.into_data();
                    let values = data.as_slice::<f32>().expect("f32");
                    let got: f64 = values.iter().map(|&value| f64::from(value)).sum();
                    let size: f64 = values.iter().map(|&value| f64::from(value.abs())).sum();
                    assert!((got - want).abs() <= 1e-4 * size.max(1.0), "{label}: {peer} has {want}, and this {got}");
                }
            }
            self.time(label, name, bytes, run);
        }
    }

    /// [`compare_as`](Self::compare_as) with a peer's work whose result is not the same.
    pub(crate) fn time(&mut self, label: &str, name: &str, bytes: usize, run: impl Fn() -> Vec<Tensor<1>>) {
        if !self.wants(label) {
            return;
        }
        let peers = self.peers.of(name);
        let (mut own, mut others) = (vec![], vec![vec![]; peers.len()]);
        let ((), memory) = peak_of(|| drop(run()));
        let mut peaks = vec![0f64; peers.len()];
        for _ in 0..self.rounds {
            // Untimed at first: the threads of the other process spin for up to 200 ms (OpenMP), and it had the caches.
            let waiting = Instant::now();
            while waiting.elapsed() < Duration::from_millis(if peers.is_empty() { 0 } else { 300 }) {
                drop(run());
            }
            drop(run());
            let start = Instant::now();
            let result = run();
            own.push(start.elapsed().as_secs_f64() * 1e3);
            drop(result);
            for ((peer, times), peak) in peers.iter().zip(&mut others).zip(&mut peaks) {
                let answer = self.peers.time(name, peer);
                times.push(answer.seconds * 1e3);
                *peak = peak.max(answer.peak);
            }
        }
        let mine = median(&own);
        let share = 100.0 * bytes as f64 / (mine / 1e3) / self.stream;
        let share = if bytes > 0 { format!("{share:.0} %") } else { "-".into() };
        if peers.is_empty() {
            println!("{label:<24}{:<16}{mine:>9.3}{:>44}{:>9.0}", "", share, memory / 1e6);
            self.rows.push(json!({"work": label, "ms": mine, "peak_mb": memory / 1e6}));
        }
        for ((peer, times), peak) in peers.iter().zip(&others).zip(peaks) {
            let mut ratios: Vec<f64> = own.iter().zip(times).map(|(own, other)| other / own).collect();
            ratios.sort_by(f64::total_cmp);
            let (other, least, most) = (median(times), ratios[0], ratios[ratios.len() - 1]);
            println!(
                "{label:<24}{peer:<16}{mine:>9.3}{other:>10.3}{:>8.2}x{least:>7.2}x{most:>7.2}x{share:>8}{}",
                other / mine,
                format_args!("{:>9.0}{:>9.0}", memory / 1e6, peak / 1e6)
            );
            self.rows.push(json!({
                "work": label, "peer": peer, "ms": mine, "peer_ms": other, "ratio": other / mine, "min": least,
                "max": most, "share": share, "peak_mb": memory / 1e6, "peer_peak_mb": peak / 1e6,
            }));
        }
    }
}

fn median(times: &[f64]) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

/// Bytes a second of sums `c = a + b` of long arrays on all threads.
fn add_stream() -> f64 {
    const LENGTH: usize = 1 << 25;
    let (a, b, mut c) = (vec![1f32; LENGTH], vec![2f32; LENGTH], vec![0f32; LENGTH]);
    let piece = LENGTH / std::thread::available_parallelism().map_or(1, usize::from);
    let times: Vec<f64> = (0..9)
        .map(|_| {
            let start = Instant::now();
            std::thread::scope(|scope| {
                for ((a, b), c) in a.chunks(piece).zip(b.chunks(piece)).zip(c.chunks_mut(piece)) {
                    scope.spawn(move || c.iter_mut().zip(a.iter().zip(b)).for_each(|(c, (a, b))| *c = a + b));
                }
            });
            start.elapsed().as_secs_f64()
        })
        .collect();
    12.0 * LENGTH as f64 / median(&times)
}
