//! Programs: random chains of operations against the same chain on dense Burn, values and gradients.
//!
//! A program draws one to three tensors of one layout, some of them off the tape, and runs up to ten steps
//! (`programs/`). Each step takes its operands from all results so far, so operands are shared, and may detach one.
//! Ranks and layouts change on the way, and some results are dense. Two of the results make two losses, whose sum goes
//! backward: Burn walks a graph once. Every second program checkpoints gradients. Any number of elements is stored,
//! none included, and a few sizes are 0.
//!
//! A rounding error must not choose another slope. So a step with a kink is left out where a number is near it, and one
//! that depends on an order where two numbers are near each other and not equal on both sides. A step whose numbers are
//! too large is left out on both sides too.

mod dense;
mod elementwise;
mod folds;
mod item;
mod matrices;
mod products;
mod ranks;
mod steps;
mod structure;

use crate::answer::{Part, caught, caught_aside};
use crate::draw::{Build, Draw, Fills, Layout, Values};
use crate::runner::{Corruption, all_close, another};
use burn::tensor::{DType, Device, Gradients, Tensor};
use item::{Item, Made, Pool};
use rand::RngExt;
use sparse_tensor::pattern::{CooPattern, CsrPattern};
use std::collections::BTreeMap;

/// The most steps of a program.
const STEPS: usize = 10;

#[derive(Default)]
pub struct Totals {
    pub programs: usize,
    pub failed: usize,
    steps: BTreeMap<&'static str, usize>,
    /// Programs of which dense Burn does not answer, for a size of 0.
    no_reference: usize,
    gradients: usize,
    slopes: usize,
}

impl Totals {
    pub fn print(&self, device: &str) {
        println!(
            "programs: {{\"device\":\"{device}\",\"programs\":{},\"failed\":{},\"no_reference\":{},\"steps\":{},\
             \"operations\":{},\"gradients\":{},\"slopes\":{}}}",
            self.programs,
            self.failed,
            self.no_reference,
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
    let pool = match (layout, draw.coin()) {
        (Layout::Csr, _) => inputs::<CsrPattern, 2>(&mut draw),
        (Layout::Batched, _) => inputs::<CsrPattern, 3>(&mut draw),
        (_, true) => inputs::<CooPattern, 2>(&mut draw),
        (_, false) => inputs::<CooPattern, 3>(&mut draw),
    };
    let ran = program(&mut draw, pool, corruption, &mut trace, totals);
    ran.map_err(|why| format!("{why}\n    {}\n    {}", trace.join("\n    "), draw.inputs.join("\n    ")))
}

fn inputs<P: Build, const D: usize>(draw: &mut Draw) -> Vec<Item> {
    // Where a size is 0, little is compared.
    let shape = if draw.below(12) == 0 { draw.shape::<D>() } else { draw.full_shape::<D>() };
    let dims = draw.sparse_dims(D);
    let count = 1 + draw.below(3);
    let input = |draw: &mut Draw| draw.shaped::<P, D, _>(shape, dims, Values::Any, Fills::Any);
    (0..count).map(|_| input(draw)).map(|input| Item::sparse(input.sparse, input.dense)).collect()
}

fn program(
    draw: &mut Draw,
    mut items: Vec<Item>,
    corruption: Corruption,
    trace: &mut Vec<String>,
    totals: &mut Totals,
) -> std::result::Result<(), String> {
    let precision = precision(draw);
    let end = items.len() + 2 + draw.below(STEPS - 1);
    for _ in 0..2 * STEPS {
        if items.len() == end {
            break;
        }
        // The last one often, so that chains are long.
        let subject = if draw.coin() { items.len() - 1 } else { draw.below(items.len()) };
        let start = draw.below(items.len());
        let pool = Pool::new(&items, subject, start, (precision.gap, precision.casts));
        let mut name = "a step";
        let made = caught(|| steps::run(draw, &items[subject], &pool, &mut |own| name = own));
        trace.push(format!("#{} = {name} of {:?}", items.len(), pool.used.borrow()));
        let mut item = match made? {
            Made::Item(item) => item,
            Made::Unfit => {
                trace.pop();
                continue;
            }
            Made::NoReference(_) if draw.has_empty || items.iter().any(Item::is_empty) => {
                trace.pop();
                continue;
            }
            Made::NoReference(why) => return Err(format!("the reference failed: {why}")),
        };
        item.loose = pool.partial.get() || pool.used.borrow().iter().any(|&at| items[at].loose);
        let [own, reference] = caught(|| item.parts())?;
        if own.shape != reference.shape {
            return Err(format!("the shape is {:?}, expected {:?}", own.shape, reference.shape));
        }
        if reference.values.iter().any(|number| number.abs() > precision.largest || !number.is_finite()) {
            trace.pop();
            continue;
        }
        all_close(&format!("#{}", items.len()), &own.values, &reference.values, precision.tolerance)?;
        on_tape(&item, items.len(), &[own, reference])?;
        *totals.steps.entry(name).or_default() += 1;
        items.push(item);
    }
    gradients(draw, &items, &precision, corruption, trace, totals)
}

/// A result with elements must be on the tape where its reference is.
fn on_tape(item: &Item, at: usize, [own, reference]: &[Part; 2]) -> std::result::Result<(), String> {
    match reference.loss.is_some() && !own.tracked && !item.loose {
        true => Err(format!("#{at} is not on the tape, the reference is")),
        false => Ok(()),
    }
}

/// What rounding allows.
struct Precision {
    tolerance: f64,
    /// The largest number that a step may give: the sine of a larger one would have few digits.
    largest: f64,
    /// That of a gradient.
    steepest: f64,
    /// How near numbers may be whose order counts.
    gap: f64,
    /// Whether f64 is cast to f32 and back.
    casts: bool,
}

fn precision(draw: &mut Draw) -> Precision {
    let wide = draw.float() == DType::F64;
    let casts = wide && draw.below(8) == 0;
    if wide && !casts {
        Precision { tolerance: 1e-8, largest: 1e4, steepest: 1e8, gap: 1e-6, casts }
    } else {
        Precision { tolerance: 1e-2, largest: 32.0, steepest: 1e3, gap: 1e-3, casts }
    }
}

fn gradients(
    draw: &mut Draw,
    items: &[Item],
    precision: &Precision,
    corruption: Corruption,
    trace: &mut Vec<String>,
    totals: &mut Totals,
) -> std::result::Result<(), String> {
    let mut losses = [vec![], vec![]];
    // The last result, and any.
    for at in [items.len() - 1, draw.below(items.len())] {
        let both = items[at].parts();
        let count = both[0].values.len();
        let cotangent: Vec<f64> = (0..count).map(|_| f64::from(draw.rng.random_range(-32..=32)) / 16.0).collect();
        trace.push(format!("loss of #{at} with {cotangent:?}"));
        on_tape(&items[at], at, &both)?;
        for (part, losses) in both.into_iter().zip(&mut losses) {
            losses.extend(part.loss.map(|loss| loss(cotangent.clone())));
        }
    }
    let [own, reference] = losses;
    let own = caught(|| backward(own)).map_err(|why| format!("the backward pass failed: {why}"))?;
    let reference = match caught_aside(|| backward(reference)) {
        Ok(reference) => reference,
        Err(_) if draw.has_empty || items.iter().any(Item::is_empty) => {
            totals.no_reference += 1;
            return Ok(());
        }
        Err(why) => return Err(format!("the reference's backward pass failed: {why}")),
    };
    let mut spoil = corruption == Corruption::Gradient;
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
