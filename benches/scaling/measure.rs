//! Time and memory of a call.

use super::memory::peak_of;
use std::time::{Duration, Instant};

/// How long a call is repeated.
const BUDGET: Duration = Duration::from_millis(300);
const FEWEST: usize = 3;
const MOST: usize = 1000;

pub(crate) struct Measured {
    /// Median of the calls.
    pub seconds: f64,
    pub calls: usize,
    /// Bytes that the first call needs at most, beyond its operands. Its result is among them.
    pub peak: f64,
}

/// The first call is not timed: it starts threads and fills the pool of memory.
pub(crate) fn measure<T>(run: impl Fn() -> T) -> Measured {
    let ((), peak) = peak_of(|| drop(run()));
    let (begin, mut times) = (Instant::now(), vec![]);
    while times.len() < FEWEST || (times.len() < MOST && begin.elapsed() < BUDGET) {
        let start = Instant::now();
        let result = run();
        times.push(start.elapsed().as_secs_f64());
        drop(result);
    }
    times.sort_by(f64::total_cmp);
    Measured { seconds: times[times.len() / 2], calls: times.len(), peak }
}
