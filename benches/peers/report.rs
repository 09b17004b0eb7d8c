//! Times both sides and the bound, and prints a line for each peer.

use super::bounds::{Loop, Part};
use super::memory::{peak_of, touch};
use super::peer::{Answer, Peers};
use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};
use sparse_tensor::release_pool;
use std::time::{Duration, Instant};

/// How often each side runs, and what to run.
pub(crate) struct Bench {
    pub peers: Peers,
    rounds: usize,
    names: Vec<String>,
    pub rows: Vec<Row>,
}

/// What was measured of a work, beside one peer or none. Times are medians in ms, memory is in MB of 10^6 bytes.
#[derive(Serialize, Deserialize)]
pub(crate) struct Row {
    pub work: String,
    pub ms: f64,
    /// The first call.
    pub first: f64,
    /// The bare loops.
    pub bound: Option<f64>,
    pub memory: f64,
    pub peer: Option<Beside>,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Beside {
    pub name: String,
    pub ms: f64,
    /// The first call, with its plan.
    pub first: f64,
    /// The smallest and the largest ratio of a round.
    pub least: f64,
    pub most: f64,
    pub memory: f64,
}

impl Row {
    /// How much of the time the bare loops take, in percent.
    pub(crate) fn share(&self) -> Option<f64> {
        self.bound.map(|bound| 100.0 * bound / self.ms)
    }
}

impl Bench {
    pub(crate) fn new(peers: Peers, rounds: usize, names: Vec<String>) -> Self {
        println!("medians of {rounds} rounds, ms; ratio of the medians; share: of our time, what the bound takes");
        println!(
            "{:<24}{:<16}{:>9}{:>10}{:>8}{:>8}{:>8}{:>9}{:>10}{:>9}{:>7}{:>7}{:>9}",
            "work",
            "peer",
            "this",
            "peer",
            "ratio",
            "min",
            "max",
            "first",
            "its first",
            "bound",
            "share",
            "MB",
            "its MB"
        );
        Self { peers, rounds, names, rows: vec![] }
    }

    pub(crate) fn wants(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|word| name.contains(word.as_str()))
    }

    pub(crate) fn wants_any(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.wants(name))
    }

    /// Times this library, the bare loops of `bound` and each peer in turn, and compares sums of the results.
    pub(crate) fn compare(&mut self, name: &str, bound: impl FnOnce() -> Vec<Part>, run: impl Fn() -> Vec<Tensor<1>>) {
        self.compare_as(name, name, bound, run);
    }

    /// [`compare`](Self::compare) with the peer's work of another name, whose result is the same.
    pub(crate) fn compare_as(
        &mut self,
        label: &str,
        name: &str,
        bound: impl FnOnce() -> Vec<Part>,
        run: impl Fn() -> Vec<Tensor<1>>,
    ) {
        self.measure(label, name, true, bound, run);
    }

    /// [`compare_as`](Self::compare_as) with a peer's work whose result is not the same.
    pub(crate) fn time(
        &mut self,
        label: &str,
        name: &str,
        bound: impl FnOnce() -> Vec<Part>,
        run: impl Fn() -> Vec<Tensor<1>>,
    ) {
        self.measure(label, name, false, bound, run);
    }

    fn measure(
        &mut self,
        label: &str,
        name: &str,
        same: bool,
        bound: impl FnOnce() -> Vec<Part>,
        run: impl Fn() -> Vec<Tensor<1>>,
    ) {
        if !self.wants(label) {
            return;
        }
        // In new memory, but not new to the machine.
        release_pool();
        touch(FIRST);
        let (first, result) = timed(&run);
        let mut peers: Vec<Timed> = self.peers.of(name).into_iter().map(Timed::new).collect();
        let mut wrong = vec![];
        for peer in &mut peers {
            touch(FIRST);
            [peer.plan, peer.first] = self.peers.first(name, &peer.name);
            if let Some(difference) = same.then(|| self.difference(name, &peer.name, &result)).flatten() {
                wrong.push((peer.name.clone(), format!("{label}: {} has {difference}", peer.name)));
            }
        }
        // In some processes PyTorch's gradient of a sum over rows is other numbers than in the next one.
        assert!(wrong.is_empty() || wrong.len() < peers.len(), "{wrong:?}");
        wrong.iter().for_each(|(_, line)| eprintln!("left out: {line}"));
        peers.retain(|peer| wrong.iter().all(|(name, _)| *name != peer.name));
        drop(result);
        let ((), memory) = peak_of(|| drop(run()));
        let mut loops: Vec<Loop> = bound().into_iter().map(Loop::new).collect();
        let (mut own, mut bounds) = (vec![], vec![]);
        let quick = self.rounds <= QUICK;
        let spinning = Duration::from_millis(if quick { 220 } else { 300 });
        let mut others = !peers.is_empty();
        for round in 0..self.rounds {
            // Untimed at first: the threads of the other process spin for up to 200 ms (OpenMP), and it had the caches.
            let waiting = Instant::now();
            let wait = if others { spinning } else { Duration::ZERO };
            loop {
                drop(run());
                if waiting.elapsed() >= wait {
                    break;
                }
            }
            own.push(timed(&run).0);
            if !quick || round == 0 {
                let mut bare = || loops.iter_mut().map(Loop::run).sum::<f64>();
                let warming = Instant::now();
                while warming.elapsed() < WARM {
                    bare();
                }
                bounds.push(bare());
            }
            others = false;
            for peer in &mut peers {
                others |= peer.time(&mut self.peers, name, quick);
            }
        }
        let bound = (!loops.is_empty()).then(|| median(&bounds));
        let row = |peer| Row { work: label.into(), ms: median(&own), first, bound, memory: memory / 1e6, peer };
        let mut rows: Vec<Row> = peers.into_iter().map(|peer| row(Some(peer.beside(&own)))).collect();
        if rows.is_empty() {
            rows.push(row(None));
        }
        rows.iter().for_each(print);
        self.rows.extend(rows);
    }

    /// What a peer's sums are, where they are not ours.
    fn difference(&mut self, name: &str, peer: &str, result: &[Tensor<1>]) -> Option<String> {
        result.iter().zip(self.peers.sums(name, peer)).find_map(|(tensor, want)| {
            let data = tensor.to_data();
            let values = data.as_slice::<f32>().expect("f32");
            let got: f64 = values.iter().map(|&value| f64::from(value)).sum();
            let size: f64 = values.iter().map(|&value| f64::from(value.abs())).sum();
            let near = (got - want).abs() <= 1e-4 * size.max(1.0);
            (!near).then(|| format!("{want}, and this {got}"))
        })
    }
}

/// The times of a peer.
struct Timed {
    name: String,
    plan: f64,
    first: f64,
    times: Vec<f64>,
    memory: f64,
}

impl Timed {
    fn new(name: String) -> Self {
        Self { name, plan: 0.0, first: 0.0, times: vec![], memory: 0.0 }
    }

    /// Whether it ran: in a quick run the first call of a slow peer is its time.
    fn time(&mut self, peers: &mut Peers, name: &str, quick: bool) -> bool {
        if quick && self.first >= 500.0 {
            self.times.push(self.first);
            return false;
        }
        let Answer { seconds, peak } = peers.time(name, &self.name, self.first < 1000.0);
        self.times.push(seconds * 1e3);
        self.memory = self.memory.max(peak / 1e6);
        true
    }

    fn beside(self, own: &[f64]) -> Beside {
        let mut ratios: Vec<f64> = own.iter().zip(&self.times).map(|(own, other)| other / own).collect();
        ratios.sort_by(f64::total_cmp);
        let (least, most) = (ratios[0], ratios[ratios.len() - 1]);
        let (ms, first) = (median(&self.times), self.plan + self.first);
        Beside { name: self.name, ms, first, least, most, memory: self.memory }
    }
}

/// How long bare loops run untimed.
const WARM: Duration = Duration::from_millis(20);

/// Bytes that are touched before a first call.
const FIRST: usize = 1 << 29;

/// Rounds of a quick run.
pub(crate) const QUICK: usize = 3;

fn timed<T>(run: impl Fn() -> T) -> (f64, T) {
    let start = Instant::now();
    let result = run();
    (start.elapsed().as_secs_f64() * 1e3, result)
}

fn print(row: &Row) {
    let Row { work, ms, first, bound, memory, peer } = row;
    let optional = |number: Option<f64>| number.map_or("-".into(), |number| format!("{number:.3}"));
    let share = row.share().map_or("-".into(), |share| format!("{share:.0} %"));
    let bound = optional(*bound);
    match peer {
        None => println!("{work:<40}{ms:>9.3}{first:>43.3}{bound:>19}{share:>7}{memory:>7.0}"),
        Some(Beside { name, ms: other, first: its_first, least, most, memory: its_memory }) => {
            print!("{work:<24}{name:<16}{ms:>9.3}{other:>10.3}{:>7.2}x{least:>7.2}x{most:>7.2}x", other / ms);
            println!("{first:>9.3}{its_first:>10.3}{bound:>9}{share:>7}{memory:>7.0}{its_memory:>9.0}");
        }
    }
}

fn median(times: &[f64]) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}
