//! Code shared by the benchmarks: medians, random numbers, huge pages, and a peer measured in the same run.
#![allow(dead_code)]

use std::collections::HashMap;
use std::hint::black_box;
use std::process::Command;
use std::time::Instant;

/// Repetitions of each measurement.
pub(crate) const RUNS: usize = 7;

/// Median and minimal time in milliseconds. The minimum is the cost of the code itself when other work shares the
/// machine.
#[derive(Clone, Copy)]
pub(crate) struct Time {
    pub(crate) median: f64,
    pub(crate) least: f64,
}

/// Times `f` after one run to warm up. The result is dropped outside the timed part.
pub(crate) fn time<R>(mut f: impl FnMut() -> R) -> Time {
    drop(black_box(f()));
    let mut times: Vec<f64> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            let result = black_box(f());
            let time = start.elapsed().as_secs_f64() * 1e3;
            drop(result);
            time
        })
        .collect();
    times.sort_by(f64::total_cmp);
    Time { median: times[RUNS / 2], least: times[0] }
}

/// A stream of pseudo-random numbers (splitmix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        ((self.next() as u128 * n as u128) >> 64) as usize
    }

    /// Uniform in [-1, 1).
    pub(crate) fn float(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1 << 23) as f32 - 1.0
    }
}

/// Advises huge pages for large outputs, as NumPy does for its arrays. `NO_HUGE_PAGES=1` turns this off.
pub(crate) fn huge_pages() {
    if std::env::var_os("NO_HUGE_PAGES").is_none() {
        sparse_core::set_large_alloc_hook(advise);
    }
}

#[cfg(target_os = "linux")]
fn advise(address: *mut u8, bytes: usize) {
    unsafe extern "C" {
        fn madvise(address: *mut u8, bytes: usize, advice: i32) -> i32;
    }
    const MADV_HUGEPAGE: i32 = 14;
    let start = address.addr().next_multiple_of(4096);
    let end = (address.addr() + bytes) / 4096 * 4096;
    // SAFETY: the range is whole pages of one live allocation, and this advice does not change their content.
    unsafe { madvise(address.with_addr(start), end - start, MADV_HUGEPAGE) };
}

#[cfg(not(target_os = "linux"))]
fn advise(_: *mut u8, _: usize) {}

/// The times of a peer for each workload, by name: runs `$PEER_PYTHON benches/peers.py <group>`, if the variable is
/// set.
pub(crate) fn peers(group: &str) -> HashMap<String, Time> {
    let Some(python) = std::env::var_os("PEER_PYTHON") else {
        println!("(set PEER_PYTHON to a Python with torch and scipy to measure the peers)");
        return HashMap::new();
    };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/peers.py");
    let threads = rayon::current_num_threads().to_string();
    let output = Command::new(python).args([script, group, &threads]).output().expect("the peer runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| {
            let mut fields = line.split('\t');
            let name = fields.next()?.to_string();
            let mut number = || fields.next()?.parse().ok();
            Some((name, Time { median: number()?, least: number()? }))
        })
        .collect()
}

/// Prints one line of the table, with the ratios of the medians and of the minimal times.
pub(crate) fn report(name: &str, time: Time, peer: Option<&Time>) {
    let Time { median, least } = time;
    print!("{name:<34} {median:8.1} ({least:7.1}) ms");
    if let Some(peer) = peer {
        let ratios = (peer.median / median, peer.least / least);
        print!("   peer {:8.1} ({:7.1}) ms   {:5.2}x ({:5.2}x)", peer.median, peer.least, ratios.0, ratios.1);
    }
    println!();
}

/// An output of zeros. It is on huge pages if the library's own outputs are.
pub(crate) fn zeroed<T: Copy + Default>(len: usize) -> Vec<T> {
    let mut out = vec![T::default(); len];
    if std::env::var_os("NO_HUGE_PAGES").is_none() {
        advise(out.as_mut_ptr().cast(), size_of_val(&out[..]));
    }
    out
}
