//! Trains a preconditioner: a network looks at each stored element of a matrix and its surroundings, and says how the
//! residual there helps its neighbours. It is trained on small matrices, through the steps of conjugate gradients, and
//! used on larger ones.
//!
//! The picture shows a conductivity, the training, and the residuals of a system that the network has not seen.
//!
//! ```text
//! cargo run --release --example preconditioner                              # systems of up to 192 x 192 unknowns
//! cargo run --release --example preconditioner -- --steps 30 --largest 48   # seconds
//! cargo run --release --example preconditioner -- --help
//! ```

#[path = "shared/console.rs"]
mod console;
#[path = "shared/numbers.rs"]
mod numbers;
#[path = "shared/picture.rs"]
mod picture;
#[path = "shared/quads.rs"]
mod quads;

use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::{DType, Device, Distribution, Tensor};
use clap::Parser;
use console::{finish, progress, say};
use numbers::above_zero;
use picture::{make_folder, save};
use quads::{DTYPE, conduction, cone, connectivity, edge};
use sparse_tensor::extend::{associate, read_at};
use sparse_tensor::nn::{Mlp, MlpConfig};
use sparse_tensor::plot::{Plot, curves, grid, heatmap};
use sparse_tensor::solve::{Assembly, Hints, LinearOperator, Method, Operator, Report, SolverConfig, ic0};
use sparse_tensor::{CsrTensor, SparseError};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

/// Elements along an edge in training.
const SMALL: usize = 24;
/// Right-hand sides in training.
const COLUMNS: usize = 8;
/// Steps of training whose mean loss is told.
const PART: usize = 10;
/// Systems of each size in the test.
const TESTS: u64 = 3;

/// Trains a preconditioner of conjugate gradients for the flow of heat through random materials.
///
/// The matrices are those of `- div (k grad u)` on a square, scaled to a diagonal of 1, which is Jacobi's
/// preconditioner. The preconditioner is `G^T G`, where `G` has the stored elements of the matrix: a small network
/// makes each from the element and from sums over its row and its column, so it fits matrices of every size. The loss
/// is the logarithm of the error after some steps of conjugate gradients, on a new matrix in each step of training. It
/// is compared with Jacobi's and with incomplete Cholesky on new matrices. The last line of the output is
/// `N unknowns: iterations with Jacobi A, trained B, IC(0) C`, for the largest system.
#[derive(Parser, Debug)]
#[command(name = "preconditioner")]
struct Args {
    /// Steps of training
    #[arg(long, value_name = "N", default_value_t = 400, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    steps: u32,
    /// Steps of conjugate gradients that the loss looks through
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = clap::value_parser!(u32).range(1..=100))]
    unrolled: u32,
    /// Elements along an edge of the largest test
    #[arg(long, value_name = "N", default_value_t = 192, value_parser = clap::value_parser!(u32).range(24..=1024))]
    largest: u32,
    /// Learning rate of Adam at the start; it falls to a tenth
    #[arg(long, default_value_t = 5e-3, value_parser = above_zero)]
    lr: f64,
    /// Standard deviation of the logarithm of the conductivity
    #[arg(long, default_value_t = 1.5, value_parser = above_zero)]
    contrast: f64,
    /// Folder for the picture, preconditioner.svg and preconditioner.png
    #[arg(long, value_name = "DIR", default_value = "target/preconditioner")]
    out: PathBuf,
    /// Print the last line only
    #[arg(long)]
    quiet: bool,
}

/// Random materials on a grid of one size.
struct Family {
    size: usize,
    contrast: f64,
    device: Device,
    assembly: Assembly,
    smooth: CsrTensor<2>,
}

impl Family {
    fn new(size: usize, contrast: f64, device: &Device) -> Result<Self, SparseError> {
        let cells = [size; 2];
        let assembly = Assembly::with_fixed(connectivity(cells, 1, device), (size + 1) * (size + 1), &edge(cells))?;
        Ok(Self { size, contrast, device: device.clone(), assembly, smooth: cone(cells, 2.5, device)? })
    }

    /// A conductivity, and its matrix scaled to a diagonal of 1.
    fn draw(&self) -> Result<(Tensor<1>, CsrTensor<2>), SparseError> {
        let normal = Distribution::Normal(0.0, 1.0);
        let noise = Tensor::<1>::random([self.size * self.size], normal, (&self.device, DTYPE));
        let smooth = self.smooth.try_matmul(noise)?;
        let log = smooth.clone() * (smooth.square().mean().sqrt().recip() * self.contrast);
        let a = self.assembly.try_matrix(log.clone().exp().reshape([-1, 1, 1]) * conduction(&self.device))?;
        let scale = a.try_diagonal()?.sqrt().recip();
        let a = a.try_mul_dense(scale.clone().unsqueeze_dim(1))?.try_mul_dense(scale.unsqueeze_dim(0))?;
        Ok((log, a))
    }

    fn right_side(&self, columns: usize) -> Tensor<2> {
        let unknowns = self.assembly.size();
        Tensor::random([unknowns, columns], Distribution::Normal(0.0, 1.0), (&self.device, DTYPE))
    }
}

/// `G` of a matrix with a diagonal of 1: the identity and what the network adds to it.
fn factor(network: &Mlp, a: &CsrTensor<2>) -> Result<CsrTensor<2>, SparseError> {
    let pattern = a.pattern();
    let column = |x: Tensor<1>| x.unsqueeze_dim::<2>(1);
    let around = vec![column(a.abs().try_row_sums()?), column(a.square().try_row_sums()?)];
    let around = Tensor::cat(around, 1);
    let diagonal = pattern.row_ids().clone().equal(pattern.col_idx().clone()).float().cast(DType::F32);
    let diagonal = associate(diagonal, &a.device());
    let own = column(a.try_values()?);
    let looks = vec![own, column(diagonal.clone()), read_at(pattern, 0, around.clone()), read_at(pattern, 1, around)];
    let added = network.forward(Tensor::cat(looks, 1)).flatten::<1>(0, 1);
    a.try_with_values(added * 0.1 + diagonal)
}

/// The logarithm of the error after some steps of conjugate gradients, in the norm of the matrix and by that at the
/// start.
fn loss(a: &CsrTensor<2>, g: &CsrTensor<2>, b: Tensor<2>, x: Tensor<2>, steps: u32) -> Result<Tensor<1>, SparseError> {
    let transposed = g.try_transpose()?;
    let precondition = |r: &Tensor<2>| transposed.try_matmul(g.try_matmul(r.clone())?);
    let dot = |x: &Tensor<2>, y: &Tensor<2>| (x.clone() * y.clone()).sum_dim(0);
    let size = dot(&b, &x);
    let (mut error, mut r) = (x, b);
    let mut p = precondition(&r)?;
    let mut rz = dot(&r, &p);
    for _ in 0..steps {
        let image = a.try_matmul(p.clone())?;
        let alpha = rz.clone() / dot(&p, &image);
        error = error - p.clone() * alpha.clone();
        r = r - image * alpha;
        let z = precondition(&r)?;
        let next = dot(&r, &z);
        p = z + p * (next.clone() / rz);
        rz = next;
    }
    let left = dot(&error, &a.try_matmul(error.clone())?);
    Ok((left / size).log().mean())
}

fn main() -> ExitCode {
    let args = Args::parse();
    finish(make_folder(&args.out).and_then(|()| run(&args)))
}

fn run(args: &Args) -> Result<(), String> {
    let (page, line) = study(args).map_err(|trouble| trouble.to_string())?;
    let saved = save(&page, &args.out, "preconditioner")?;
    if !args.quiet {
        say(&saved);
    }
    say(&line);
    Ok(())
}

/// Trains on small matrices. Gives the network and the losses.
fn train(args: &Args, device: &Device) -> Result<(Mlp, Vec<f64>), SparseError> {
    device.seed(0);
    let family = Family::new(SMALL, args.contrast, &device.clone().inner())?;
    let mut network = MlpConfig::new(vec![6, 32, 32, 1]).with_batch_norm(false).try_init(device)?;
    let mut adam = AdamConfig::new().with_epsilon(1e-8).init();
    let solver = SolverConfig::new(Method::Cg).with_relative(1e-8);
    let bar = progress(args.quiet, u64::from(args.steps), "steps");
    let mut losses = vec![];
    for step in 0..args.steps {
        let ((_, a), b) = (family.draw()?, family.right_side(COLUMNS));
        let x = solver.try_solve(&a, b.clone())?;
        let half = |x: Tensor<2>| Tensor::from_inner(x.cast(DType::F32));
        let a = a.try_cast(DType::F32.into())?.to_device(device);
        let error = loss(&a, &factor(&network, &a)?, half(b), half(x), args.unrolled)?;
        losses.push(error.clone().into_scalar::<f32>().into());
        let grads = GradientsParams::from_grads(error.backward(), &network);
        let lr = args.lr * 0.1f64.powf(f64::from(step) / f64::from(args.steps));
        network = adam.step(lr, network, grads);
        bar.inc(1);
        bar.set_message(format!("log error {:.2}", losses[losses.len() - 1]));
    }
    bar.finish_and_clear();
    Ok((network, losses))
}

/// Solves one system with Jacobi's, with the trained and with Cholesky's preconditioner.
fn compare(family: &Family, network: &Mlp, a: &CsrTensor<2>) -> Result<[Report; 3], SparseError> {
    let g = factor(network, &a.try_cast(DType::F32.into())?)?.try_cast(DTYPE.into())?;
    let trained = Operator::from(g.try_transpose()?) * Operator::from(g);
    let (cholesky, b) = (ic0(a), family.right_side(1));
    let solve = |preconditioner: Option<&dyn LinearOperator>| {
        let hints = Hints { preconditioner, ..Hints::default() };
        let solver = SolverConfig::new(Method::Cg).with_relative(1e-6);
        solver.try_solve_with(a, b.clone(), hints).map(|solution| solution.report)
    };
    Ok([solve(None)?, solve(Some(&trained))?, solve(Some(&cholesky))?])
}

/// The picture, and the last line.
fn study(args: &Args) -> Result<(Plot, String), SparseError> {
    let device = Device::default().autodiff();
    let clock = Instant::now();
    let (network, losses) = train(args, &device)?;
    let tell = |line: &str| {
        if !args.quiet {
            say(line)
        }
    };
    // Each step has another matrix, so single losses say little.
    let losses: Vec<f64> = losses.chunks(PART).map(|part| part.iter().sum::<f64>() / part.len() as f64).collect();
    let (first, last) = (losses[0], losses[losses.len() - 1]);
    let seconds = clock.elapsed().as_secs_f64();
    tell(&format!("training: log error {first:.2} to {last:.2} in {seconds:.0} s, on {SMALL} x {SMALL} elements"));
    let network = burn::module::Module::valid(&network);
    let plain = device.inner();
    let (mut size, mut line, mut residuals, mut material) = (SMALL, String::new(), None, None);
    while size <= args.largest as usize {
        let family = Family::new(size, args.contrast, &plain)?;
        let (mut iterations, mut seconds) = ([0.0; 3], [0.0; 3]);
        for test in 0..TESTS {
            plain.seed(1000 + test);
            let (log, a) = family.draw()?;
            let reports = compare(&family, &network, &a)?;
            for (at, report) in reports.iter().enumerate() {
                iterations[at] += report.iterations as f64 / TESTS as f64;
                seconds[at] += report.time.as_secs_f64() / TESTS as f64;
            }
            let history = |at: usize| reports[at].history.iter().map(|(_, size)| size.log10()).collect::<Vec<_>>();
            let named = [("Jacobi", history(0)), ("trained", history(1)), ("IC(0)", history(2))];
            let field = || heatmap(log.reshape([size, size]), None).with_title("Logarithm of a small conductivity");
            material.get_or_insert_with(field);
            let title = format!("A system of {} unknowns", family.assembly.size());
            residuals = Some(curves(&named).with_title(&title).with_axes("iteration", "residual, power of ten"));
        }
        let [jacobi, trained, cholesky] = iterations;
        let unknowns = family.assembly.size();
        line = format!(
            "{unknowns} unknowns: iterations with Jacobi {jacobi:.0}, trained {trained:.0}, IC(0) {cholesky:.0}"
        );
        tell(&format!(
            "{line}; milliseconds {:.0}, {:.0}, {:.0}",
            seconds[0] * 1e3,
            seconds[1] * 1e3,
            seconds[2] * 1e3
        ));
        size *= 2;
    }
    let training =
        curves(&[("loss", losses)]).with_title("Training").with_axes("tens of steps", "logarithm of the error");
    let material = material.map(|plot| plot.with_axes("", ""));
    let plots: Vec<Plot> = material.into_iter().chain([training]).chain(residuals).collect();
    Ok((grid(&plots, 3).with_size(480, 480), line))
}
