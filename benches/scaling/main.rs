//! How time and memory grow with the number of elements, of features, of threads and of steps.
//!
//! `cargo bench --bench scaling -- [name].. [--most 1e8] [--part sizes] [--out docs/plots]`. A work whose inputs do not
//! fit into the free memory stops earlier and says so.

mod features;
mod measure;
#[path = "../shared/memory.rs"]
mod memory;
mod plot;
mod sizes;
mod steps;
mod threads;
mod works;

use clap::{Parser, ValueEnum};
use plot::Chart;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;
use works::{TRAINING, WORKS, Work};

#[derive(Parser)]
struct Options {
    /// Works to run: those whose names contain one of these words. All without any. The features are those of SpMM.
    names: Vec<String>,
    /// Parts to run. All without any.
    #[arg(long)]
    part: Vec<Part>,
    /// Most elements of an input.
    #[arg(long, default_value_t = 1e8)]
    most: f64,
    /// Fails if a work of the largest size holds more bytes than this for each byte of its operands and its result.
    #[arg(long)]
    most_memory: Option<f64>,
    /// Fails if a work of the largest size takes longer than this, in ms.
    #[arg(long)]
    most_ms: Option<f64>,
    /// Steps of a long run.
    #[arg(long, default_value_t = 100_000)]
    steps: usize,
    /// Threads of the global pool, and the most of a pool of its own. All cores without it.
    #[arg(long)]
    threads: Option<usize>,
    /// Writes the results to this file.
    #[arg(long)]
    json: Option<PathBuf>,
    /// Prints the tables of the documentation too.
    #[arg(long)]
    markdown: bool,
    /// Writes the pictures to this folder.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Cargo passes it.
    #[arg(long, hide = true)]
    bench: bool,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Part {
    Sizes,
    Features,
    Threads,
    Steps,
}

impl Options {
    fn has(&self, part: Part) -> bool {
        self.part.is_empty() || self.part.contains(&part)
    }

    fn wants(&self, work: &Work) -> bool {
        self.names.is_empty() || self.names.iter().any(|word| work.name.contains(word))
    }

    fn works(&self) -> impl Iterator<Item = &'static Work> {
        WORKS.iter().filter(|work| self.wants(work))
    }
}

fn main() {
    let options = Options::parse();
    let most = options.most as usize;
    let threads = options.threads.unwrap_or_else(|| available_parallelism().map_or(1, usize::from));
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global().expect("the first use of the pool");
    println!("{threads} threads; medians of warm calls");
    let sizes = if options.has(Part::Sizes) { sizes::run(options.works(), most) } else { vec![] };
    let products = options.works().any(|work| work.name == "SpMM");
    let features = if options.has(Part::Features) && products { features::run(most) } else { vec![] };
    let training = Some(&TRAINING).filter(|work| options.wants(work));
    let rows =
        if options.has(Part::Threads) { threads::run(options.works().chain(training), threads, most) } else { vec![] };
    let runs = if options.has(Part::Steps) { steps::run(options.steps) } else { vec![] };
    if options.markdown {
        if options.has(Part::Sizes) {
            sizes::markdown(&sizes);
        }
        if options.has(Part::Threads) {
            threads::markdown(&rows);
        }
        if options.has(Part::Steps) {
            steps::markdown(&runs);
        }
    }
    if let Some(path) = &options.json {
        let sizes: Vec<_> = sizes.iter().flat_map(sizes::Curve::json).collect();
        let report = json!({
            "threads": threads, "sizes": sizes, "features": features::json(&features),
            "by_threads": threads::json(&rows), "by_steps": steps::json(&runs),
        });
        std::fs::write(path, serde_json::to_string_pretty(&report).expect("numbers and text")).expect("a file");
    }
    if let Some(folder) = &options.out {
        pictures(folder, &sizes, &features, &runs);
    }
    let largest = |of: fn(&sizes::Point) -> Option<f64>, most: Option<f64>, what: &str| {
        let found = sizes.iter().filter_map(|curve| Some((curve.name, of(curve.points.last()?)?)));
        let above: Vec<_> = found.filter(|(_, got)| most.is_some_and(|most| *got > most)).collect();
        assert!(above.is_empty(), "{what} must be at most {most:?}, got {above:?}");
    };
    largest(|at| at.share, options.most_memory, "bytes for each byte of operands and result");
    largest(|at| Some(at.seconds * 1e3), options.most_ms, "ms");
}

fn pictures(folder: &Path, sizes: &[sizes::Curve], features: &[features::Point], runs: &[steps::Run]) {
    std::fs::create_dir_all(folder).expect("a folder");
    let charts = [
        (
            "scaling-time.svg",
            Chart {
                title: "Time by size",
                x: "nnz (of SpGEMM: of the result)",
                y: "ns for each element",
                series: sizes.iter().map(sizes::Curve::time).collect(),
                base: 10.0,
            },
        ),
        (
            "scaling-memory.svg",
            Chart {
                title: "Peak memory by size, beyond the operands",
                x: "nnz (of SpGEMM: of the result)",
                y: "bytes for each element",
                series: sizes.iter().map(sizes::Curve::memory).collect(),
                base: 10.0,
            },
        ),
        (
            "scaling-features.svg",
            Chart {
                title: "Time of SpMM by features, 10 elements a row",
                x: "features (F)",
                y: "ns for each element and feature",
                series: vec![features::series(features)],
                base: 2.0,
            },
        ),
        (
            "scaling-steps.svg",
            Chart {
                title: "Memory of the process in long runs",
                x: "steps",
                y: "MB",
                series: runs.iter().map(steps::series).collect(),
                base: 10.0,
            },
        ),
    ];
    for (name, chart) in charts {
        // A part that did not run has no picture.
        if chart.series.iter().any(|series| !series.points.is_empty()) {
            plot::write(&folder.join(name), &chart).expect("a file to draw to");
        }
    }
}
