//! Programs: random chains of operations against the same chain on dense Burn, values and gradients.
//!
//! A program draws one to three tensors of one layout, some of them off the tape, and runs up to ten steps. Each step
//! takes its operands from all results so far, so operands are shared, and may detach one. Two of the results make two
//! losses, whose sum goes backward: Burn walks a graph once. Every second program checkpoints gradients. Sizes are at
//! least 1, and any number of elements is stored, none included.
//!
//! Steps are smooth, so that a rounding error cannot choose another slope. A step whose numbers are too large is left
//! out on both sides.

use crate::answer::{caught, caught_aside, floats};
use crate::draw::{Build, Draw, Fills, Layout, Values};
use crate::runner::{Corruption, all_close, another};
use burn::tensor::{DType, Device, Gradients, Tensor, TensorData};
use rand::RngExt;
use sparse_tensor::pattern::{CooPattern, CsrPattern};
use sparse_tensor::{Fill, SparseTensor, ops};
use std::collections::BTreeMap;

/// The most steps of a program.
const STEPS: usize = 10;
/// The most elements of a result along an axis.
const LONGEST: usize = 12;

/// A result on both sides.
enum Result<P: Build, const D: usize> {
    Sparse(SparseTensor<P, D>, Tensor<D>),
    Dense(Tensor<D>, Tensor<D>),
}

/// The name of a step, and what it gave; `None` where it does not fit its operands.
type Step<P, const D: usize> = (&'static str, Option<Result<P, D>>);

impl<P: Build, const D: usize> Result<P, D> {
    /// Both sides as dense tensors.
    fn both(&self) -> [Tensor<D>; 2] {
        match self {
            Self::Sparse(own, reference) => [own.to_dense(), reference.clone()],
            Self::Dense(own, reference) => [own.clone(), reference.clone()],
        }
    }
}

#[derive(Default)]
pub struct Totals {
    pub programs: usize,
    pub failed: usize,
    steps: BTreeMap<&'static str, usize>,
    gradients: usize,
    slopes: usize,
}

impl Totals {
    pub fn print(&self, device: &str) {
        println!(
            "programs: {{\"device\":\"{device}\",\"programs\":{},\"failed\":{},\"steps\":{},\"operations\":{},\
             \"gradients\":{},\"slopes\":{}}}",
            self.programs,
            self.failed,
            self.steps.values().sum::<usize>(),
            self.steps.len(),
            self.gradients,
            self.slopes
        );
    }

    /// Whether something was compared and all of it agrees.
    pub fn passed(&self) -> bool {
        self.failed == 0 && (self.programs == 0 || self.slopes > 0)
    }
}

/// Runs programs of the seeds from `seed` on. A spoiled gradient must be noticed first.
pub fn run_all(device: &Device, seed: u64, programs: u64) -> Totals {
    let mut totals = Totals::default();
    let blind = (0..100).all(|seed| run(device, seed, Corruption::Gradient, &mut Totals::default()).is_ok());
    if programs > 0 && blind {
        println!("FAILED: no program notices a gradient that is spoiled on purpose");
        totals.failed += 1;
    }
    for seed in (0..programs).map(|k| seed.wrapping_add(k)) {
        totals.programs += 1;
        if let Err(why) = run(device, seed, Corruption::None, &mut totals) {
            totals.failed += 1;
            if totals.failed <= 20 {
                println!("FAILED program of seed {seed}: {why}");
            }
        }
    }
    totals
}

fn run(device: &Device, seed: u64, corruption: Corruption, totals: &mut Totals) -> std::result::Result<(), String> {
    let layout = [Layout::Coo, Layout::Csr, Layout::Hybrid, Layout::Batched][(seed / 2 % 4) as usize];
    let mut draw = Draw::new(!seed, layout, true, None, device);
    if seed % 2 == 1 {
        draw.checkpoint();
    }
    let mut trace = vec![];
    let ran = match (layout, draw.coin()) {
        (Layout::Csr, _) => program::<CsrPattern, 2>(&mut draw, corruption, &mut trace, totals),
        (Layout::Batched, _) => program::<CsrPattern, 3>(&mut draw, corruption, &mut trace, totals),
        (_, true) => program::<CooPattern, 2>(&mut draw, corruption, &mut trace, totals),
        (_, false) => program::<CooPattern, 3>(&mut draw, corruption, &mut trace, totals),
    };
    ran.map_err(|why| format!("{why}\n    {}\n    {}", trace.join("\n    "), draw.inputs.join("\n    ")))
}

fn program<P: Build, const D: usize>(
    draw: &mut Draw,
    corruption: Corruption,
    trace: &mut Vec<String>,
    totals: &mut Totals,
) -> std::result::Result<(), String> {
    let (shape, dims) = (draw.full_shape::<D>(), draw.sparse_dims(D));
    let mut pool: Vec<Result<P, D>> = vec![];
    for _ in 0..1 + draw.below(3) {
        let input = draw.shaped::<P, D, _>(shape, dims, Values::Any, Fills::Any);
        pool.push(Result::Sparse(input.sparse, input.dense));
    }
    for _ in 0..2 + draw.below(STEPS - 1) {
        let operands = [draw.below(pool.len()), draw.below(pool.len())];
        let which = draw.below(COUNT);
        trace.push(format!("#{} = step {which} of #{} and #{}", pool.len(), operands[0], operands[1]));
        let Result::Sparse(a, x) = &pool[operands[0]] else {
            trace.pop();
            continue;
        };
        let made = caught(|| step(draw, which, (a, x), &pool[operands[1]]))?;
        let (name, Some(made)) = made else {
            trace.pop();
            continue;
        };
        if let Some(last) = trace.last_mut() {
            *last = format!("#{} = {name} of #{} and #{}", pool.len(), operands[0], operands[1]);
        }
        let [own, reference] = made.both();
        if own.dims() != reference.dims() {
            return Err(format!("the shape is {:?}, expected {:?}", own.dims(), reference.dims()));
        }
        let (got, want) = (floats(own.inner().into_data()), floats(reference.clone().inner().into_data()));
        if want.iter().any(|number| number.abs() > precision(draw).largest || !number.is_finite()) {
            trace.pop();
            continue;
        }
        all_close(&format!("#{}", pool.len()), &got, &want, precision(draw).tolerance)?;
        *totals.steps.entry(name).or_default() += 1;
        pool.push(made);
    }
    gradients(draw, &pool, corruption, trace, totals)
}

/// What rounding allows.
struct Precision {
    tolerance: f64,
    /// The largest number that a step may give: the sine of a larger one would have few digits.
    largest: f64,
    /// That of a gradient.
    steepest: f64,
}

fn precision(draw: &Draw) -> Precision {
    if draw.float() == DType::F64 {
        Precision { tolerance: 1e-8, largest: 1e4, steepest: 1e8 }
    } else {
        Precision { tolerance: 1e-2, largest: 32.0, steepest: 1e3 }
    }
}

fn gradients<P: Build, const D: usize>(
    draw: &mut Draw,
    pool: &[Result<P, D>],
    corruption: Corruption,
    trace: &mut Vec<String>,
    totals: &mut Totals,
) -> std::result::Result<(), String> {
    let mut losses = [vec![], vec![]];
    // The last result, and any.
    for at in [pool.len() - 1, draw.below(pool.len())] {
        let both = pool[at].both();
        let count = both[0].shape().num_elements();
        let cotangent: Vec<f64> = (0..count).map(|_| f64::from(draw.rng.random_range(-32..=32)) / 16.0).collect();
        trace.push(format!("loss of #{at} with {cotangent:?}"));
        if both[1].is_tracked() && !both[0].is_tracked() {
            return Err(format!("#{at} is not on the tape, the reference is"));
        }
        for (tensor, losses) in both.into_iter().zip(&mut losses).filter(|(tensor, _)| tensor.is_tracked()) {
            let data = TensorData::new(cotangent.clone(), tensor.dims()).convert_dtype(tensor.dtype());
            let weights = Tensor::<D>::from_data(data, (&tensor.device(), tensor.dtype()));
            losses.push((tensor * weights).sum());
        }
    }
    let [own, reference] = losses;
    let reference = caught_aside(|| backward(reference))?;
    let own = caught(|| backward(own)).map_err(|why| format!("the backward pass failed: {why}"))?;
    let (mut spoil, precision) = (corruption == Corruption::Gradient, precision(draw));
    for leaf in &draw.leaves {
        let sum = |parts: Vec<Vec<f64>>| {
            let mut sum = vec![0.0; leaf.length];
            parts.iter().for_each(|part| sum.iter_mut().zip(part).for_each(|(sum, part)| *sum += part));
            sum
        };
        let mut got = sum(own.iter().filter_map(|grads| (leaf.got)(grads)).collect());
        let wants = |grads| leaf.wants.iter().filter_map(move |want| want(grads));
        let want = sum(reference.iter().flat_map(wants).collect());
        // Rounding beside such numbers says nothing.
        if want.iter().any(|slope| slope.abs() > precision.steepest || !slope.is_finite()) {
            continue;
        }
        if let (true, Some(first)) = (spoil, got.first_mut()) {
            *first = another(*first);
            spoil = false;
        }
        let largest = want.iter().fold(1.0, |most: f64, slope| most.max(slope.abs()));
        all_close(&format!("gradient of {}", leaf.name), &got, &want, precision.tolerance * largest)?;
        totals.gradients += want.len();
        totals.slopes += want.iter().filter(|slope| **slope != 0.0).count();
    }
    Ok(())
}

fn backward(losses: Vec<Tensor<1>>) -> Option<Gradients> {
    losses.into_iter().reduce(|sum, loss| sum + loss).map(|loss| loss.backward())
}

/// Number of steps that [`step`] knows.
const COUNT: usize = 34;

/// Runs step `which` on a sparse result and its reference; `other` is any result.
fn step<P: Build, const D: usize>(
    draw: &mut Draw,
    which: usize,
    (a, x): (&SparseTensor<P, D>, &Tensor<D>),
    other: &Result<P, D>,
) -> Step<P, D> {
    let sparse = |own: SparseTensor<P, D>, reference: Tensor<D>| Some(Result::Sparse(own, reference));
    let dense = |own: Tensor<D>, reference: Tensor<D>| Some(Result::Dense(own, reference));
    let (x, dims) = (x.clone(), x.dims());
    let axis = draw.below(D);
    let size = dims[axis];
    let at = draw.signed(axis, D);
    let number = f64::from(draw.rng.random_range(-24..=24)) / 16.0;
    // Another tensor of the same shape.
    let twin = match other {
        Result::Sparse(b, y) if y.dims() == dims && b.sparse_dims() == a.sparse_dims() => Some((b, y.clone())),
        _ => None,
    };
    let line = match other {
        // Beside another fill it refuses: every element would have a value of its own.
        Result::Dense(b, y) if y.dims() == dims && a.fill().is_zero() => Some((b.clone(), y.clone())),
        _ => None,
    };
    let above_one = |b: &SparseTensor<P, D>| b.square().add_scalar(1.0);
    match which {
        0 => ("neg", sparse(a.neg(), x.neg())),
        1 => ("sin", sparse(a.sin(), x.sin())),
        2 => ("tanh", sparse(a.tanh(), x.tanh())),
        3 => ("sigmoid", sparse(a.sigmoid(), burn::tensor::activation::sigmoid(x))),
        4 => ("exp of tanh", sparse(a.tanh().exp(), x.tanh().exp())),
        5 => ("square", sparse(a.square(), x.square())),
        6 => ("powi_scalar", sparse(a.powi_scalar(3), x.powi_scalar(3))),
        7 => ("mul_scalar", sparse(a.mul_scalar(number), x.mul_scalar(number))),
        8 => ("add_scalar", sparse(a.add_scalar(number), x.add_scalar(number))),
        9 => ("recip", sparse(above_one(a).recip(), x.square().add_scalar(1.0).recip())),
        10 => ("sqrt", sparse(above_one(a).sqrt(), x.square().add_scalar(1.0).sqrt())),
        11 => ("log", sparse(above_one(a).log(), x.square().add_scalar(1.0).log())),
        12 => ("coalesce", sparse(a.coalesce(), x)),
        // Of a leaf Burn makes another leaf.
        13 => ("detach", sparse(a.clone().detach(), x.detach().set_require_grad(false))),
        14 => ("flip", sparse(a.flip([at]), x.flip([at]))),
        15 => {
            let shift = draw.below(7) as i64 - 3;
            ("roll_dim", sparse(a.roll_dim(shift, at), x.roll_dim(shift, at)))
        }
        16 => {
            let (one, two) = swapped::<P, D>(draw, a.sparse_dims());
            ("swap_dims", sparse(a.swap_dims(one, two), x.swap_dims(one, two)))
        }
        17 => {
            let start = draw.below(size);
            let length = 1 + draw.below(size - start);
            ("narrow", sparse(a.narrow(at, start, length), x.narrow(axis, start, length)))
        }
        18 => {
            let count = 1 + draw.below(size.min(LONGEST));
            let (index, plain) = draw.index(count, size);
            ("select", sparse(a.select(at, index), crate::reference::pick(x, axis, &plain)))
        }
        // The same fill on both sides.
        19 | 20 if 2 * size <= LONGEST => {
            let start = draw.below(size);
            let (own, part) = (a.narrow(at, start, size - start), x.clone().narrow(axis, start, size - start));
            let (own, all) = if which == 19 { ([own, a.clone()], [part, x]) } else { ([a.clone(), own], [x, part]) };
            ("concat", sparse(ops::concat(&own, at), Tensor::cat(all.to_vec(), axis)))
        }
        21 if 2 * size <= LONGEST => ("repeat_dim", sparse(a.repeat_dim(at, 2), x.repeat_dim(axis, 2))),
        22 => ("sum_dim", sparse(a.sum_dim(at), x.sum_dim(axis))),
        23 => ("mean_dim", sparse(a.mean_dim(at), x.mean_dim(axis))),
        24 => ("sum_dim_dense", dense(a.sum_dim_dense(at), x.sum_dim(axis))),
        25 => ("to_dense", dense(a.to_dense(), x)),
        26..=29 => match twin {
            None => ("two", None),
            Some((b, y)) => match which {
                26 => ("add", sparse(a.add(b), x + y)),
                27 => ("sub", sparse(a.sub(b), x - y)),
                28 => ("mul", sparse(a.mul(b), x * y)),
                _ => ("div", sparse(a.div(&above_one(b)), x / y.square().add_scalar(1.0))),
            },
        },
        30 => match line {
            None => ("mul_dense", None),
            Some((b, y)) => ("mul_dense", sparse(a.mul_dense(b), x * y)),
        },
        // By a dense result of fitting size.
        31 | 32 if a.sparse_dims() == D => match other {
            Result::Dense(b, y) if which == 31 && fits(&dims, &y.dims()) => {
                ("matmul", dense(a.matmul(b.clone()), x.matmul(y.clone())))
            }
            Result::Dense(b, y) if which == 32 && fits(&y.dims(), &dims) => {
                ("rmatmul", dense(a.rmatmul(b.clone()), y.clone().matmul(x)))
            }
            _ => ("matmul", None),
        },
        33 if a.sparse_dims() == D => match other {
            Result::Sparse(b, y)
                if fits(&dims, &y.dims()) && matches!((a.fill(), b.fill()), (Fill::Zero, Fill::Zero)) =>
            {
                ("matmul (sparse)", sparse(a.matmul(b), x.matmul(y.clone())))
            }
            _ => ("matmul (sparse)", None),
        },
        _ => ("nothing", None),
    }
}

/// Two dims that are both sparse or both dense.
fn swapped<P: Build, const D: usize>(draw: &mut Draw, sparse_dims: usize) -> (usize, usize) {
    if draw.layout == Layout::Batched {
        return (1, 2);
    }
    let one = draw.below(D);
    let other = if one < sparse_dims { draw.below(sparse_dims) } else { sparse_dims + draw.below(D - sparse_dims) };
    (one, other)
}

fn fits<const D: usize>(left: &[usize; D], right: &[usize; D]) -> bool {
    left[D - 1] == right[D - 2] && left[..D - 2] == right[..D - 2]
}
