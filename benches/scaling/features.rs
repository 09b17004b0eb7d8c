//! By features: the product of one matrix with dense ones of many widths.

use super::measure::measure;
use super::plot::Series;
use super::works::product;
use serde_json::{Value, json};

const NNZ: usize = 1_000_000;
const FEATURES: [usize; 20] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024];

pub(crate) struct Point {
    features: usize,
    seconds: f64,
    /// ns for each element and feature.
    ns: f64,
}

pub(crate) fn run(most: usize) -> Vec<Point> {
    let nnz = NNZ.min(most);
    println!("\nBy features: SpMM, N = {}, nnz = {nnz}", nnz / 10);
    println!("{:>8}{:>12}{:>20}", "F", "ms", "ns/(elem x F)");
    let point = |features: usize| {
        let input = product(nnz, features);
        let seconds = measure(&input.run).seconds;
        let ns = seconds * 1e9 / (input.elements * features) as f64;
        println!("{features:>8}{:>12.4}{ns:>20.3}", seconds * 1e3);
        Point { features, seconds, ns }
    };
    let points: Vec<Point> = FEATURES.into_iter().map(point).collect();
    let cliff = points.windows(2).max_by(|a, b| growth(a).total_cmp(&growth(b))).expect("several widths");
    println!("worst step of ms per feature: {:.2}x to F = {}", growth(cliff), cliff[1].features);
    points
}

fn growth(pair: &[Point]) -> f64 {
    pair[1].ns / pair[0].ns
}

pub(crate) fn series(points: &[Point]) -> Series {
    Series { name: "SpMM".into(), points: points.iter().map(|at| (at.features as f64, at.ns)).collect() }
}

pub(crate) fn json(points: &[Point]) -> Vec<Value> {
    let row = |at: &Point| json!({"features": at.features, "ms": at.seconds * 1e3, "ns_per_element_feature": at.ns});
    points.iter().map(row).collect()
}
