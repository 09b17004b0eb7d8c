//! Looks into a plate: how well it conducts heat is found from its temperatures, by gradients through the solution of
//! Poisson's equation.
//!
//! The picture shows the conductivity, what is found of it, one of the measurements, and the loss.
//!
//! ```text
//! cargo run --release --example conductivity                              # 256 x 256 temperatures
//! cargo run --release --example conductivity -- --size 48 --steps 40     # seconds
//! cargo run --release --example conductivity -- --help
//! ```

#[path = "shared/console.rs"]
mod console;
#[path = "shared/numbers.rs"]
mod numbers;
#[path = "shared/picture.rs"]
mod picture;
#[path = "shared/quads.rs"]
mod quads;

use burn::module::Param;
use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::{Device, Distribution, Tensor, TensorData};
use clap::Parser;
use console::{finish, progress, say};
use numbers::{above_zero, not_negative};
use picture::{make_folder, save};
use quads::{DTYPE, conduction, cone, connectivity, edge};
use sparse_tensor::plot::{Plot, curves, grid, heatmap};
use sparse_tensor::solve::{AmgConfig, Assembly, Hints, Method, SolverConfig};
use sparse_tensor::{CsrTensor, SparseError};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

/// Recovers the conductivity of a plate from temperatures.
///
/// Heat from four groups of heaters flows through a plate whose edge is kept at 0: `- div (k grad u) = f`, with square
/// elements of a conductivity `k` each, and a temperature `u` at each corner. The temperatures are measured with an
/// error, once for each group. A conductivity `exp(F t)`, where `F` smooths over a few elements, is fitted by Adam to
/// all measurements: each step assembles the matrix, solves for the four groups with multigrid, and has the gradient
/// from one more solve. The last line of the output is `misfit A to B (1 is the error of the measurement), error of k
/// C to D, N iterations a solve, T s/step`, where the error of `k` is the mean difference of its logarithm.
#[derive(Parser, Debug)]
#[command(name = "conductivity")]
struct Args {
    /// Temperatures along an edge of the plate
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(8..=2048))]
    size: u32,
    /// Steps of Adam
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    steps: u32,
    /// Learning rate of Adam at the start; it falls to a tenth
    #[arg(long, default_value_t = 0.2, value_parser = above_zero)]
    lr: f64,
    /// Standard deviation of the error, by that of the temperatures
    #[arg(long, default_value_t = 0.01, value_parser = above_zero)]
    noise: f64,
    /// Radius of the smoothing, by the size of the plate
    #[arg(long, default_value_t = 0.03, value_parser = above_zero)]
    radius: f64,
    /// Weight of the penalty on the logarithm of the conductivity
    #[arg(long, default_value_t = 0.01, value_parser = not_negative)]
    penalty: f64,
    /// Folder for the picture, conductivity.svg and conductivity.png
    #[arg(long, value_name = "DIR", default_value = "target/conductivity")]
    out: PathBuf,
    /// Print the last line only
    #[arg(long)]
    quiet: bool,
}

/// The conductivity to be found: a disc that conducts well, a bar that hardly does, and waves.
fn truth(size: usize, device: &Device) -> Tensor<1> {
    let number = |at: usize| {
        let (x, y) = ((at % size) as f64 / size as f64, (at / size) as f64 / size as f64);
        let disc = (x - 0.32).powi(2) + (y - 0.35).powi(2) < 0.18 * 0.18;
        let bar = (0.55..0.85).contains(&x) && (0.6..0.75).contains(&y);
        let waves: f64 = 0.4 * (9.0 * x).sin() * (7.0 * y).cos();
        (waves + if disc { 1.4 } else { 0.0 } - if bar { 1.4 } else { 0.0 }).exp()
    };
    Tensor::from_data(TensorData::new((0..size * size).map(number).collect(), [size * size]), (device, DTYPE))
}

/// Four groups of heaters, `[nodes, 4]`: each has three spots.
fn heaters(size: usize, device: &Device) -> Tensor<2> {
    let spots = [(0.2, 0.2), (0.5, 0.55), (0.8, 0.3), (0.25, 0.75), (0.75, 0.85), (0.5, 0.15)];
    let heat = |node: usize, group: usize| -> f64 {
        let (row, col) = (node / size, node % size);
        if [row, col].iter().any(|&at| at == 0 || at + 1 == size) {
            return 0.0;
        }
        let (x, y) = (col as f64 / size as f64, row as f64 / size as f64);
        let near = (0..3).map(|spot| spots[(group + 2 * spot + spot * group) % 6]);
        near.map(|(a, b)| (-200.0 * ((x - a).powi(2) + (y - b).powi(2))).exp()).sum()
    };
    let list: Vec<f64> = (0..size * size * 4).map(|at| heat(at / 4, at % 4)).collect();
    Tensor::from_data(TensorData::new(list, [size * size, 4]), (device, DTYPE))
}

fn main() -> ExitCode {
    let args = Args::parse();
    finish(make_folder(&args.out).and_then(|()| run(&args)))
}

fn run(args: &Args) -> Result<(), String> {
    let (page, line) = recover(args).map_err(|trouble| trouble.to_string())?;
    let saved = save(&page, &args.out, "conductivity")?;
    if !args.quiet {
        say(&saved);
    }
    say(&line);
    Ok(())
}

/// The picture, and the last line.
fn recover(args: &Args) -> Result<(Plot, String), SparseError> {
    let (device, size) = (Device::default().autodiff(), args.size as usize);
    let (plain, cells) = (device.clone().inner(), [size - 1; 2]);
    device.seed(0);
    let assembly = Assembly::with_fixed(connectivity(cells, 1, &device), size * size, &edge(cells))?;
    let matrix = |k: Tensor<1>| assembly.try_matrix(k.reshape([-1, 1, 1]) * conduction(&device));
    let solver = SolverConfig::new(Method::Cg).with_relative(1e-5);
    let heat = heaters(size, &plain);

    // What is measured.
    let exact = truth(size - 1, &plain);
    let a: CsrTensor<2> = assembly.try_matrix(exact.clone().reshape([-1, 1, 1]) * conduction(&plain))?;
    let amg = AmgConfig::new().try_setup(&a)?;
    let hints = || Hints { preconditioner: Some(&amg), ..Hints::default() };
    let clean = solver.try_solve_with(&a, heat.clone(), hints())?.x;
    let error = args.noise * clean.clone().square().mean().sqrt().into_scalar::<f64>();
    let measured = clean.clone() + clean.random_like(Distribution::Normal(0.0, error));

    let smooth = cone(cells, (args.radius * size as f64).max(1.5), &device)?;
    let conductivity = |t: Tensor<1>| smooth.try_matmul(t).map(Tensor::exp);
    let mut t = Param::from_tensor(Tensor::<1>::zeros([cells[0] * cells[1]], (&device, DTYPE)));
    let mut adam = AdamConfig::new().with_epsilon(1e-8).init();
    let (mut amg, mut start) = (amg, None);
    let (mut losses, mut errors, mut iterations) = (vec![], vec![], 0);
    let bar = progress(args.quiet, u64::from(args.steps), "steps");
    let clock = Instant::now();
    for step in 0..args.steps {
        let a = matrix(conductivity(t.val())?)?;
        // Other values on the same pattern.
        amg = amg.try_refresh(&a)?;
        let hints = Hints { preconditioner: Some(&amg), start: start.take(), ..Hints::default() };
        let solution = solver.try_solve_with(&a, Tensor::from_inner(heat.clone()), hints)?;
        iterations += solution.report.iterations;
        start = Some(solution.x.clone().detach());
        let misfit = (solution.x - Tensor::from_inner(measured.clone())).div_scalar(error).square().mean();
        let loss = misfit.clone() + t.val().square().mean().mul_scalar(args.penalty);
        let grads = GradientsParams::from_grads(loss.backward(), &t);
        let lr = args.lr * 0.1f64.powf(f64::from(step) / f64::from(args.steps));
        let found = conductivity(t.val())?.inner();
        errors.push((found.log() - exact.clone().log()).abs().mean().into_scalar::<f64>());
        losses.push(misfit.into_scalar::<f64>());
        t = adam.step(lr, t, grads);
        bar.inc(1);
        bar.set_message(format!("misfit {:.2}", losses[losses.len() - 1]));
    }
    let seconds = clock.elapsed().as_secs_f64() / f64::from(args.steps);
    bar.finish_and_clear();

    let found = conductivity(t.val())?.inner();
    errors.push((found.clone().log() - exact.clone().log()).abs().mean().into_scalar::<f64>());
    let line = format!(
        "misfit {:.1} to {:.2} (1 is the error of the measurement), error of k {:.3} to {:.3}, {:.1} iterations a \
         solve, {seconds:.2} s/step",
        losses[0],
        losses[losses.len() - 1],
        errors[0],
        errors[errors.len() - 1],
        f64::from(iterations as u32) / f64::from(args.steps)
    );
    let field = |k: Tensor<1>| heatmap(k.log().reshape([size - 1, size - 1]), Some((-2.0, 2.0))).with_axes("", "");
    let logs: Vec<f64> = losses.iter().map(|loss| loss.log10()).collect();
    let plots = [
        field(exact).with_title("Logarithm of the conductivity"),
        field(found).with_title("What is found"),
        heatmap(measured.narrow(1, 0, 1).reshape([size, size]), None)
            .with_title("Temperatures, first of four measurements")
            .with_axes("", ""),
        curves(&[("misfit", logs)]).with_title("Loss").with_axes("step", "misfit, power of ten"),
    ];
    Ok((grid(&plots, 2).with_size(480, 480), line))
}
