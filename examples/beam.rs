//! Designs a beam: where material goes so that a given amount of it bends the least (topology optimisation).
//!
//! The picture shows the material after 10, 50 and all iterations, and how much the beam gives way.
//!
//! ```text
//! cargo run --release --example beam                                # 200 x 100 elements, 100 iterations
//! cargo run --release --example beam -- --size 24 --iterations 20   # seconds
//! cargo run --release --example beam -- --help
//! ```

#[path = "shared/console.rs"]
mod console;
#[path = "shared/numbers.rs"]
mod numbers;
#[path = "shared/picture.rs"]
mod picture;
#[path = "shared/quads.rs"]
mod quads;

use burn::tensor::{Device, Tensor, TensorData};
use clap::Parser;
use console::{finish, progress, say};
use numbers::{above_zero, probability};
use picture::{make_folder, save};
use quads::{DTYPE, cone, connectivity};
use sparse_tensor::SparseError;
use sparse_tensor::plot::{Plot, curves, grid, heatmap};
use sparse_tensor::solve::{Amg, AmgConfig, Assembly, Hints, Method, SolverConfig};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

/// Stiffness of a hole, by that of the material.
const HOLE: f64 = 1e-6;
/// The most by which a density changes in an iteration.
const MOVE: f64 = 0.2;

/// Optimises the shape of a beam that is held at its left end and pulled down in the middle of its right one.
///
/// Each square element has a density `x` in [0, 1]. Smoothed over the elements around it, to the power of 3, it is the
/// stiffness (SIMP, Bendsoe 1989). Of all beams with the same volume the one is looked for that gives way the least:
/// the smallest compliance `f^T u`, where `K u = f`. Its gradient comes from the tape, through the solution of the
/// system and the assembly, and the densities are updated by the optimality criteria. The last line of the output is
/// `compliance A to B, volume V, N iterations a solve, T s/iteration`.
#[derive(Parser, Debug)]
#[command(name = "beam")]
struct Args {
    /// Elements along the beam, which is half as high
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(8..=2000))]
    size: u32,
    /// Iterations
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    iterations: u32,
    /// The share of the beam that is material, in (0, 1)
    #[arg(long, default_value_t = 0.5, value_parser = probability)]
    volume: f64,
    /// Radius of the smoothing, in elements
    #[arg(long, default_value_t = 3.0, value_parser = above_zero)]
    radius: f64,
    /// Folder for the picture, beam.svg and beam.png
    #[arg(long, value_name = "DIR", default_value = "target/beam")]
    out: PathBuf,
    /// Print the last line only
    #[arg(long)]
    quiet: bool,
}

/// The stiffness `[1, 8, 8]` of a square element in plane stress, with Poisson's ratio 0.3 (Sigmund 2001).
fn stiffness(device: &Device) -> Tensor<3> {
    let nu = 0.3;
    let k = [
        0.5 - nu / 6.0,
        0.125 + nu / 8.0,
        -0.25 - nu / 12.0,
        -0.125 + 3.0 * nu / 8.0,
        -0.25 + nu / 12.0,
        -0.125 - nu / 8.0,
        nu / 6.0,
        0.125 - 3.0 * nu / 8.0,
    ];
    let places = ["01234567", "10765432", "27056341", "36507214", "45670123", "54321076", "63412705", "72143650"];
    let digit = |place: u8| k[usize::from(place - b'0')] / (1.0 - nu * nu);
    let list: Vec<f64> = places.iter().flat_map(|row| row.bytes().map(digit)).collect();
    Tensor::from_data(TensorData::new(list, [1, 8, 8]), (device, DTYPE))
}

/// Motions of the whole that bend nothing, `[2 nodes, 3]`: along, down, and a rotation.
fn rigid([rows, cols]: [usize; 2], device: &Device) -> Tensor<2> {
    let mut list = vec![];
    for node in 0..(rows + 1) * (cols + 1) {
        let (x, y) = ((node % (cols + 1)) as f64 / cols as f64, (node / (cols + 1)) as f64 / cols as f64);
        list.extend([1.0, 0.0, -y, 0.0, 1.0, x]);
    }
    Tensor::from_data(TensorData::new(list, [2 * (rows + 1) * (cols + 1), 3]), (device, DTYPE))
}

/// The optimality criteria: where a bit of volume stiffens the beam more than elsewhere, the density rises. The level
/// `lambda` of the gain is the one at which the volume is kept.
fn updated(x: &[f64], gain: &[f64], cost: &[f64], volume: f64) -> Vec<f64> {
    let at = |lambda: f64| -> Vec<f64> {
        let step = |k: usize| x[k] * (gain[k].max(0.0) / (lambda * cost[k])).sqrt();
        (0..x.len()).map(|k| step(k).clamp(x[k] - MOVE, x[k] + MOVE).clamp(0.0, 1.0)).collect()
    };
    let (mut low, mut high) = (1e-12f64, 1e12f64);
    for _ in 0..100 {
        let middle = (low * high).sqrt();
        let filled: f64 = at(middle).iter().zip(cost).map(|(x, cost)| x * cost).sum();
        if filled > volume { low = middle } else { high = middle }
    }
    at(high)
}

fn numbers_of(x: Tensor<1>) -> Vec<f64> {
    x.into_data().iter().collect()
}

fn main() -> ExitCode {
    let args = Args::parse();
    finish(make_folder(&args.out).and_then(|()| run(&args)))
}

fn run(args: &Args) -> Result<(), String> {
    let (page, line) = optimise(args).map_err(|trouble| trouble.to_string())?;
    let saved = save(&page, &args.out, "beam")?;
    if !args.quiet {
        say(&saved);
    }
    say(&line);
    Ok(())
}

/// The picture, and the last line.
fn optimise(args: &Args) -> Result<(Plot, String), SparseError> {
    let device = Device::default().autodiff();
    let (plain, cols) = (device.clone().inner(), args.size as usize);
    let (rows, count) = (cols / 2, cols / 2 * cols);
    let (grid_size, nodes) = ([rows, cols], (rows + 1) * (cols + 1));
    let held: Vec<usize> = (0..=rows).flat_map(|row| [0, 1].map(|own| 2 * row * (cols + 1) + own)).collect();
    let assembly = Assembly::with_fixed(connectivity(grid_size, 2, &device), 2 * nodes, &held)?;
    let (element, modes, filter) =
        (stiffness(&device), rigid(grid_size, &plain), cone(grid_size, args.radius, &device)?);
    let mut load = vec![0.0; 2 * nodes];
    load[2 * ((rows / 2) * (cols + 1) + cols) + 1] = 1.0;
    let load = Tensor::<1>::from_data(TensorData::new(load, [2 * nodes]), (&device, DTYPE));
    let solver = SolverConfig::new(Method::Cg).with_relative(1e-4).with_max_iterations(Some(2000));
    let config = AmgConfig::new().with_unknowns(2);
    let smoothed = |x: &[f64]| -> Result<(Tensor<1>, Tensor<1>), SparseError> {
        let x = Tensor::<1>::from_data(TensorData::new(x.to_vec(), [count]), (&device, DTYPE)).require_grad();
        Ok((x.clone(), filter.try_matmul(x)?))
    };

    let mut x = vec![args.volume; count];
    // How much volume the density of each element makes.
    let (leaf, density) = smoothed(&x)?;
    let cost = numbers_of(leaf.grad(&density.mean().backward()).expect("the volume depends on it").inner());
    let (mut amg, mut start): (Option<Amg>, _) = (None, None);
    let (mut compliances, mut fields, mut iterations) = (vec![], vec![], 0);
    let bar = progress(args.quiet, u64::from(args.iterations), "iterations");
    let clock = Instant::now();
    for iteration in 1..=args.iterations {
        let (leaf, density) = smoothed(&x)?;
        let modulus = density.clone().powi_scalar(3).mul_scalar(1.0 - HOLE).add_scalar(HOLE);
        let a = assembly.try_matrix(modulus.reshape([-1, 1, 1]) * element.clone())?;
        let multigrid = match &amg {
            Some(amg) => amg.try_refresh(&a)?,
            None => config.try_setup_with(&a, modes.clone())?,
        };
        let hints = Hints { preconditioner: Some(&multigrid), start: start.take(), ..Hints::default() };
        let solution = solver.try_solve_with(&a, load.clone(), hints)?;
        iterations += solution.report.iterations;
        start = Some(solution.x.clone().detach());
        let compliance = (solution.x * load.clone()).sum();
        compliances.push(compliance.clone().into_scalar::<f64>());
        if [10, 50, args.iterations].contains(&iteration) {
            let picture = density.inner().reshape([rows, cols]);
            let title = format!("Material after {iteration} iterations");
            fields.push(heatmap(picture, Some((0.0, 1.0))).with_title(&title).with_axes("", ""));
        }
        let gain = leaf.grad(&compliance.backward()).expect("the compliance depends on it").inner();
        let gain: Vec<f64> = numbers_of(gain).into_iter().map(|slope| -slope).collect();
        x = updated(&x, &gain, &cost, args.volume);
        amg = Some(multigrid);
        bar.inc(1);
        bar.set_message(format!("compliance {:.2}", compliances[compliances.len() - 1]));
    }
    let seconds = clock.elapsed().as_secs_f64() / f64::from(args.iterations);
    bar.finish_and_clear();
    let volume: f64 = x.iter().zip(&cost).map(|(x, cost)| x * cost).sum();
    let line = format!(
        "compliance {:.2} to {:.2}, volume {volume:.3}, {:.1} iterations a solve, {seconds:.2} s/iteration",
        compliances[0],
        compliances[compliances.len() - 1],
        f64::from(iterations as u32) / f64::from(args.iterations)
    );
    fields.push(
        curves(&[("compliance", compliances)]).with_title("How much the beam gives way").with_axes("iteration", ""),
    );
    Ok((grid(&fields, 2).with_size(560, 360), line))
}
