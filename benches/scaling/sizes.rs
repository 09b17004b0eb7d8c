//! By size: ten times as many elements from step to step.

use super::measure::measure;
use super::memory::{bytes, peak_of};
use super::plot::Series;
use super::works::Work;
use serde_json::{Value, json};

const SMALLEST: usize = 1_000;
/// A smaller peak cannot be told from what else the process does.
const LEAST_PEAK: f64 = 1e6;
/// Share of the free memory that a work may use.
const SHARE: f64 = 0.9;
/// A growth of the time for each element that a reader should look at.
const STEEP: f64 = 3.0;

pub(crate) struct Point {
    /// What was asked for; `elements` is about as many.
    pub nnz: usize,
    pub elements: usize,
    pub seconds: f64,
    /// ns for each element.
    pub ns: f64,
    /// Bytes for each element beyond the operands, unless too few to tell.
    pub bytes: Option<f64>,
    /// Bytes of the operands and of the peak.
    pub total: f64,
    /// Operands and peak, for each byte of operands and result.
    pub share: Option<f64>,
}

/// One work at each size.
pub(crate) struct Curve {
    pub name: &'static str,
    pub points: Vec<Point>,
}

pub(crate) fn run<'a>(works: impl Iterator<Item = &'a Work>, most: usize) -> Vec<Curve> {
    println!("\nBy size; elements of SpGEMM are those of its result");
    println!(
        "{:<14}{:>12}{:>12}{:>12}{:>9}{:>8}{:>10}{:>7}",
        "work", "nnz", "elements", "ms", "ns/elem", "calls", "B/elem", "x"
    );
    works.map(|work| curve(work, most)).collect()
}

fn curve(work: &Work, most: usize) -> Curve {
    // Code that runs for the first time is read into memory, and threads start.
    drop(((work.make)(10 * SMALLEST).run)());
    let (mut points, mut needed) = (vec![], 0.0);
    let sizes = std::iter::successors(Some(SMALLEST), |size| size.checked_mul(10));
    for nnz in sizes.take_while(|&size| size <= most) {
        let free = bytes("/proc/meminfo", "MemAvailable");
        if free > 0.0 && needed * 10.0 > SHARE * free {
            let gb = needed * 10.0 / 1e9;
            println!("{:<14}{nnz:>12} not run: needs about {gb:.0} GB, free are {:.0} GB", work.name, free / 1e9);
            break;
        }
        let (input, making) = peak_of(|| (work.make)(nnz));
        let call = measure(&input.run);
        needed = making + call.peak;
        let each = |total: f64| total / input.elements as f64;
        let bytes = Some(each(call.peak)).filter(|_| call.peak >= LEAST_PEAK);
        let result = (input.run)().bytes();
        let share = bytes.map(|_| (input.operands as f64 + call.peak) / (input.operands + result) as f64);
        let (elements, ns) = (input.elements, each(call.seconds * 1e9));
        println!(
            "{:<14}{nnz:>12}{elements:>12}{:>12.4}{ns:>9.2}{:>8}{:>10}{:>7}",
            work.name,
            call.seconds * 1e3,
            call.calls,
            or_dash(bytes),
            or_dash(share)
        );
        points.push(Point {
            nnz,
            elements,
            seconds: call.seconds,
            ns,
            bytes,
            total: input.operands as f64 + call.peak,
            share,
        });
    }
    let curve = Curve { name: work.name, points };
    println!("{:<14}worst step: {}", "", curve.worst());
    curve
}

pub(crate) fn or_dash(number: Option<f64>) -> String {
    number.map_or("-".into(), |number| format!("{number:.1}"))
}

impl Curve {
    /// Where ns for each element grow most from one size to the next.
    fn worst(&self) -> String {
        let steps = self.points.windows(2).map(|pair| (pair[1].ns / pair[0].ns, pair[1].nnz));
        let Some((growth, nnz)) = steps.max_by(|a, b| a.0.total_cmp(&b.0)) else { return "-".into() };
        let note = if growth > STEEP { ", SUPERLINEAR" } else { "" };
        format!("{growth:.2}x to {nnz:e}{note}")
    }

    pub(crate) fn time(&self) -> Series {
        Series { name: self.name.into(), points: self.points.iter().map(|at| (at.nnz as f64, at.ns)).collect() }
    }

    pub(crate) fn memory(&self) -> Series {
        let points = self.points.iter().filter_map(|at| Some((at.nnz as f64, at.bytes?)));
        Series { name: self.name.into(), points: points.collect() }
    }

    pub(crate) fn json(&self) -> Vec<Value> {
        let row = |at: &Point| {
            json!({
                "work": self.name, "nnz": at.nnz, "elements": at.elements, "ms": at.seconds * 1e3,
                "ns_per_element": at.ns, "bytes_per_element": at.bytes, "memory": at.share,
            })
        };
        self.points.iter().map(row).collect()
    }
}

/// A row for each work: ns and bytes for each element by size, and the worst step.
pub(crate) fn markdown(curves: &[Curve]) {
    let sizes: Vec<usize> = curves
        .iter()
        .map(|curve| &curve.points)
        .max_by_key(|points| points.len())
        .map_or_else(Vec::new, |points| points.iter().map(|at| at.nnz).collect());
    let heads: String = sizes.iter().map(|nnz| format!(" {nnz:e} |")).collect();
    println!("\n| work |{heads} worst step |\n|---|{}---|", "---|".repeat(sizes.len()));
    for curve in curves {
        let cell = |k: usize| match curve.points.get(k) {
            Some(at) => format!(" {} / {} |", short(at.ns), or_dash(at.bytes)),
            None => " - |".into(),
        };
        let cells: String = (0..sizes.len()).map(cell).collect();
        println!("| {} |{cells} {} |", curve.name, curve.worst());
    }
    println!("\n| work | of the largest size, GB | for each byte of operands and result |\n|---|---|---|");
    for curve in curves {
        let Some((at, share)) = curve.points.last().and_then(|at| Some((at, at.share?))) else { continue };
        println!("| {} | {:.1} | {share:.2} |", curve.name, at.total / 1e9);
    }
}

/// Three digits, or all of a large number.
pub(crate) fn short(number: f64) -> String {
    let digits = match number {
        100.0.. => 0,
        10.0.. => 1,
        _ => 2,
    };
    format!("{number:.digits$}")
}
