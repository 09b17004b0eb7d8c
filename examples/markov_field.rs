//! Fits a Gaussian Markov field to noisy points, by the marginal likelihood: a determinant and a system with gradients.
//!
//! The picture shows the true field, the data, and the mean and the standard deviation given the data.
//!
//! ```text
//! cargo run --release --features direct --example markov_field
//! cargo run --release --features direct --example markov_field -- --size 30 --points 900 --steps 60    # a second
//! cargo run --release --features direct --example markov_field -- --help
//! ```

#[path = "shared/console.rs"]
mod console;
#[path = "shared/numbers.rs"]
mod numbers;
#[path = "shared/picture.rs"]
mod picture;

use burn::module::Param;
use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::{DType, Device, Distribution, Tensor, TensorData};
use clap::Parser;
use console::{finish, progress, say};
use numbers::above_zero;
use picture::{make_folder, save};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use sparse_tensor::plot::{Plot, grid, heatmap};
use sparse_tensor::solve::{Boundary, Factorization, SparseGaussian, laplacian, try_factorize};
use sparse_tensor::{CsrTensor, SparseError};
use std::f64::consts::{PI, TAU};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

const DTYPE: DType = DType::F64;
/// Discs without data: the place of the centre and the radius, by the size of the square.
const EMPTY: [(f64, f64, f64); 2] = [(0.3, 0.35, 0.16), (0.75, 0.7, 0.1)];

/// Fits a Gaussian Markov field to points with noise.
///
/// The field has the precision matrix `Q = tau (kappa^2 I + L)^2` on a grid, where `L` is the Laplacian: a Matern field
/// of smoothness 1, which is correlated over `sqrt(8) / kappa` cells (Lindgren, Rue and Lindstroem 2011). A point
/// measures it between four nodes, with an error: `y = A x + e`. All of this is drawn from known parameters. Then the
/// logarithms of `kappa`, `tau` and the error are fitted by Adam to the density of `y`, with `x` integrated out. Each
/// step factors `kappa^2 I + L` and the precision given the data, `Q + A^T A / error^2`. The last line of the output
/// is `kappa A (true B), tau C (D), error E (F); RMSE of the mean G, H of the field within 95 % bounds, T s/step`.
#[derive(Parser, Debug)]
#[command(name = "markov_field")]
struct Args {
    /// Nodes along a side of the grid
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(8..=1024))]
    size: u32,
    /// Points with data
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(10..=10_000_000))]
    points: u32,
    /// The true kappa
    #[arg(long, default_value_t = 0.2, value_parser = above_zero)]
    kappa: f64,
    /// The true error; the field has a standard deviation of about 1
    #[arg(long, default_value_t = 0.5, value_parser = above_zero)]
    error: f64,
    /// Steps of Adam
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    steps: u32,
    /// Learning rate of Adam at the start; it falls to a hundredth
    #[arg(long, default_value_t = 0.2, value_parser = above_zero)]
    lr: f64,
    /// Other numbers draw another field
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Folder for the picture, markov_field.svg and markov_field.png
    #[arg(long, value_name = "DIR", default_value = "target/markov_field")]
    out: PathBuf,
    /// Print the last line only
    #[arg(long)]
    quiet: bool,
}

/// What does not depend on the parameters.
struct Model {
    laplacian: CsrTensor<2>,
    eye: CsrTensor<2>,
    /// `A^T A`.
    seen: CsrTensor<2>,
}

impl Model {
    /// `kappa^2 I + L`.
    fn root(&self, kappa: Tensor<1>) -> Result<CsrTensor<2>, SparseError> {
        self.laplacian.try_add(&self.eye.try_mul_scalar(kappa.square())?)
    }

    /// The field with the mean `mean`, given the data: `tau root^2 + A^T A / error^2`.
    fn precision(&self, root: &CsrTensor<2>, tau: Tensor<1>, weight: Tensor<1>) -> Result<CsrTensor<2>, SparseError> {
        root.try_matmul(root)?.try_mul_scalar(tau)?.try_add(&self.seen.try_mul_scalar(weight)?)
    }
}

/// The grid points around each place, with the weights of bilinear interpolation: `[places, size^2]`.
fn interpolation(places: &[[f64; 2]], size: usize, device: &Device) -> Result<CsrTensor<2>, SparseError> {
    let (mut rows, mut cols, mut weights) = (vec![], vec![], vec![]);
    for (row, place) in places.iter().enumerate() {
        let [(down, a), (right, b)] = place.map(|at| (at as usize, at.fract()));
        for (i, j, weight) in
            [(0, 0, (1.0 - a) * (1.0 - b)), (0, 1, (1.0 - a) * b), (1, 0, a * (1.0 - b)), (1, 1, a * b)]
        {
            rows.push(row);
            cols.push((down + i) * size + right + j);
            weights.push(weight);
        }
    }
    CsrTensor::from_triplets(&rows, &cols, &weights, [places.len(), size * size], (device, DTYPE))
}

/// Places everywhere but in the empty discs, as rows and columns of the grid.
fn places(args: &Args) -> Vec<[f64; 2]> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(args.seed);
    let empty = |[y, x]: [f64; 2]| EMPTY.iter().any(|(a, b, radius)| (x - a).hypot(y - b) < *radius);
    let draws = std::iter::repeat_with(|| [rng.random::<f64>(), rng.random::<f64>()]).filter(|&place| !empty(place));
    draws.take(args.points as usize).map(|place| place.map(|at| at * f64::from(args.size - 1))).collect()
}

/// The mean of the data nearest to each node; not a number where there are none.
fn binned(places: &[[f64; 2]], data: &Tensor<1>, size: usize) -> Tensor<2> {
    let mut sums = vec![(0.0, 0.0); size * size];
    for ([y, x], value) in places.iter().zip(data.to_data().iter::<f64>()) {
        let (sum, count) = &mut sums[y.round() as usize * size + x.round() as usize];
        (*sum, *count) = (*sum + value, *count + 1.0);
    }
    let means: Vec<f64> = sums.iter().map(|(sum, count)| sum / count).collect();
    Tensor::from_data(TensorData::new(means, [size, size]), (&data.device(), DTYPE))
}

fn main() -> ExitCode {
    let args = Args::parse();
    finish(make_folder(&args.out).and_then(|()| run(&args)))
}

fn run(args: &Args) -> Result<(), String> {
    let (page, line) = fit(args).map_err(|trouble| trouble.to_string())?;
    let saved = save(&page, &args.out, "markov_field")?;
    if !args.quiet {
        say(&saved);
    }
    say(&line);
    Ok(())
}

/// The picture, and the last line.
fn fit(args: &Args) -> Result<(Plot, String), SparseError> {
    let (device, size) = (Device::default().autodiff(), args.size as usize);
    let (plain, nodes, count) = (device.clone().inner(), size * size, f64::from(args.points));
    plain.seed(args.seed);
    let number = |value: f64, device: &Device| Tensor::<1>::from_data([value], (device, DTYPE));

    // A field of variance 1 away from the edge, and its data.
    let places = places(args);
    let model = |device: &Device| -> Result<(Model, CsrTensor<2>), SparseError> {
        let a = interpolation(&places, size, device)?;
        let laplacian = laplacian(&[size, size], Boundary::Neumann, (device, DTYPE))?;
        let seen = a.try_transpose()?.try_matmul(&a)?;
        Ok((Model { laplacian, eye: CsrTensor::eye(nodes, (device, DTYPE)), seen }, a))
    };
    let ((model, _), (truth, a)) = (model(&device)?, model(&plain)?);
    let tau = 1.0 / (2.0 * TAU * args.kappa.powi(2));
    let root = truth.root(number(args.kappa, &plain))?;
    let precision = truth.precision(&root, number(tau, &plain), number(0.0, &plain))?;
    let field = SparseGaussian::try_new(&precision, Tensor::zeros([nodes], (&plain, DTYPE)))?;
    let field = field.sample(1).reshape([nodes]);
    let clean = a.try_matmul(field.clone())?;
    let data = clean.clone() + clean.random_like(Distribution::Normal(0.0, args.error));
    let (squares, spread) = (data.clone().square().sum(), a.try_transpose()?.try_matmul(data.clone())?);

    let mut logs = Param::from_tensor(Tensor::<1>::zeros([3], (&device, DTYPE)));
    let mut adam = AdamConfig::new().with_epsilon(1e-8).init();
    let parts = |logs: Tensor<1>| [0, 1, 2].map(|at| logs.clone().slice(at..at + 1));
    let bar = progress(args.quiet, u64::from(args.steps), "steps");
    let clock = Instant::now();
    for step in 0..args.steps {
        let [kappa, tau, error] = parts(logs.val());
        let (root, weight) = (model.root(kappa.exp())?, (error.clone() * -2.0).exp());
        let given =
            try_factorize(&model.precision(&root, tau.clone().exp(), weight.clone())?, Factorization::Cholesky)?;
        let right = Tensor::from_inner(spread.clone()) * weight.clone();
        let misfit = weight * Tensor::from_inner(squares.clone()) - (right.clone() * given.try_solve(right)?).sum();
        let prior = try_factorize(&root, Factorization::Cholesky)?.try_logdet()? * 2.0 + tau * nodes as f64;
        // Twice the negative logarithm of the density of the data, without its constant.
        let loss = (given.try_logdet()? - prior + error * (2.0 * count) + misfit) / (2.0 * count);
        let grads = GradientsParams::from_grads(loss.backward(), &logs);
        logs = adam.step(args.lr * 0.01f64.powf(f64::from(step) / f64::from(args.steps)), logs, grads);
        bar.inc(1);
        bar.set_message(format!("{:.4} a point", loss.into_scalar::<f64>() + (2.0 * PI).ln() / 2.0));
    }
    let seconds = clock.elapsed().as_secs_f64() / f64::from(args.steps);
    bar.finish_and_clear();

    let [kappa, scale, error] = parts(logs.val().inner().exp());
    let weight = error.clone().powi_scalar(-2);
    let precision = truth.precision(&truth.root(kappa.clone())?, scale.clone(), weight.clone())?;
    let given = SparseGaussian::try_new(&precision, Tensor::zeros([nodes], (&plain, DTYPE)))?;
    let (mean, deviation) = (given.factor().try_solve(spread * weight)?, given.variance().sqrt());
    let away = (mean.clone() - field.clone()).abs();
    let within = away.clone().lower_equal(deviation.clone() * 1.96).float().mean().into_scalar::<f64>();
    let [kappa, scale, error] = [kappa, scale, error].map(|value| value.into_scalar::<f64>());
    let line = format!(
        "kappa {kappa:.3} (true {}), tau {scale:.3} ({tau:.3}), error {error:.3} ({}); RMSE of the mean {:.3}, {:.1} % \
         of the field within 95 % bounds, {seconds:.2} s/step",
        args.kappa,
        args.error,
        away.square().mean().sqrt().into_scalar::<f64>(),
        100.0 * within
    );
    let show = |x: Tensor<2>, range, title| heatmap(x, range).with_title(title).with_axes("", "");
    let square = |x: Tensor<1>| x.reshape([size, size]);
    let range = Some((-2.5, 2.5));
    let plots = [
        show(square(field), range, "True field"),
        show(binned(&places, &data, size), range, "Data, by the nearest node"),
        show(square(mean), range, "Mean, given the data"),
        show(square(deviation), None, "Standard deviation, given the data"),
    ];
    Ok((grid(&plots, 2).with_size(400, 400), line))
}
