//! Draws, compares and counts.

use crate::answer::{Answer, Output, PANIC, Part, caught, caught_aside};
use crate::draw::{Draw, Layout};
use crate::operations::Operation;
use burn::tensor::{DType, Device, Gradients, Tensor};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use sparse_burn::replay::{is_dropped, with_zeros};
use sparse_dev::device;
use sparse_dev::wait::wait;
use sparse_tensor::without_blocking;
use std::collections::BTreeMap;

/// Whether the GPUs of this build drop what is written outside of a buffer, as WebGPU does.
const DROPS: bool = !cfg!(any(feature = "vulkan", feature = "cuda", feature = "rocm"));

/// Failures reported in full.
const REPORTED: usize = 20;

/// What a draw compares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Compare {
    Forward,
    Gradient,
    /// The result in a 16-bit float.
    Half(DType),
}

pub const HALVES: [DType; 2] = [DType::F16, DType::BF16];

/// What was compared, and agrees.
#[derive(Clone, Copy, Default)]
pub struct Counts {
    pub values: usize,
    pub gradients: usize,
    /// Gradient elements that are not zero.
    pub slopes: usize,
}

/// How a draw ended.
pub enum Verdict {
    Passed(Counts),
    /// Dense Burn does not answer for these sizes of 0; the operation did.
    NoReference,
    /// The device does not have the dtype.
    Unsupported,
    Failed(String),
}

/// What is spoiled on purpose, to see that it is noticed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Corruption {
    None,
    Value,
    Gradient,
}

#[derive(Default)]
pub struct Totals {
    operations: BTreeMap<&'static str, usize>,
    pub draws: usize,
    pub passed: usize,
    pub failed: usize,
    no_reference: usize,
    halves: usize,
    unsupported: usize,
    values: usize,
    gradients: usize,
}

impl Totals {
    pub fn print(&self, device: &str) {
        println!(
            "equivalence: {{\"device\":\"{device}\",\"draws\":{},\"passed\":{},\"failed\":{},\"no_reference\":{},\
             \"halves\":{},\"unsupported\":{},\"operations\":{},\"values\":{},\"gradients\":{}}}",
            self.draws,
            self.passed,
            self.failed,
            self.no_reference,
            self.halves,
            self.unsupported,
            self.operations.len(),
            self.values,
            self.gradients
        );
    }
}

/// Panics of operations are results here: only those of the runner itself are printed as they happen.
pub fn quiet() {
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let own = info.location().is_some_and(|at| {
            [
                "equivalence/main.rs",
                "equivalence/runner.rs",
                "equivalence/coverage.rs",
                "equivalence/registry.rs",
                "common/device.rs",
            ]
            .iter()
            .any(|end| at.file().ends_with(end))
        });
        if own {
            default(info);
        } else if is_dropped() && !info.location().is_some_and(|at| at.file().contains("tests/")) {
            *PANIC.lock().expect("no panic while it is held") = Some(info.to_string());
        }
    }));
}

pub fn run_all(table: &[Operation], name: &str, seed: u64, draws: u64) -> Totals {
    let device = device::named(name);
    let mut totals = Totals::default();
    let reads = sparse_burn::is_gpu(&device);
    for seed in (0..draws).map(|k| seed.wrapping_add(k)) {
        let mut rng = StdRng::seed_from_u64(seed);
        let operation = &table[rng.random_range(0..table.len())];
        let layouts: Vec<Layout> = operation.layouts().collect();
        let layout = layouts[rng.random_range(0..layouts.len())];
        let compare = match rng.random_range(0..20) {
            0..14 if operation.gradient => Compare::Gradient,
            // Whatever has a gradient is of floats.
            half @ 14..17 if operation.gradient => Compare::Half(HALVES[half % 2]),
            _ => Compare::Forward,
        };
        let once = || one(operation, layout, compare, seed, &device, Corruption::None);
        // Every second draw awaits its reads. Every fourth goes on with zeros, where that is safe.
        let (mut verdict, draw) = match seed % 4 {
            3 if reads && DROPS => with_zeros(|| wait(without_blocking(once))),
            1 | 3 if reads => wait(without_blocking(once)),
            _ => once(),
        };
        if let Some(panic) = PANIC.lock().expect("no panic while it is held").take() {
            verdict = Verdict::Failed(format!("a run that is dropped panicked: {panic}"));
        }
        totals.draws += 1;
        *totals.operations.entry(operation.name).or_default() += 1;
        match verdict {
            Verdict::Passed(Counts { values, gradients, .. }) => {
                totals.passed += 1;
                totals.halves += usize::from(matches!(compare, Compare::Half(_)));
                totals.values += values;
                totals.gradients += gradients;
            }
            Verdict::NoReference => totals.no_reference += 1,
            Verdict::Unsupported => totals.unsupported += 1,
            Verdict::Failed(why) => {
                totals.failed += 1;
                if totals.failed <= REPORTED {
                    println!("FAILED {} on {}, {compare:?}, seed {seed}: {why}", operation.name, layout.name());
                    draw.inputs.iter().for_each(|input| println!("    {input}"));
                }
            }
        }
    }
    totals
}

/// One draw of an operation on a layout.
pub fn one(
    operation: &Operation,
    layout: Layout,
    compare: Compare,
    seed: u64,
    device: &Device,
    corruption: Corruption,
) -> (Verdict, Draw) {
    // Not the stream that chose the operation.
    let half = if let Compare::Half(dtype) = compare { Some(dtype) } else { None };
    let mut draw = Draw::new(!seed, layout, compare == Compare::Gradient, half, device);
    if half.is_some_and(|dtype| !device.supports_dtype(dtype)) {
        return (Verdict::Unsupported, draw);
    }
    let runs = operation.runs(layout);
    let run = runs[draw.below(runs.len())];
    let verdict = match caught(|| run(&mut draw)) {
        Ok(answer) => {
            let on_tape = on_tape(operation.name, &draw);
            caught(|| judge(&mut draw, answer, corruption, on_tape)).unwrap_or_else(Verdict::Failed)
        }
        Err(why) => Verdict::Failed(format!("the inputs could not be made: {why}")),
    };
    (verdict, draw)
}

/// Whether a result must be on the tape wherever that of the reference is. Else `backward` would panic in a step that
/// finds nothing stored, though an operand is on the tape.
fn on_tape(operation: &str, draw: &Draw) -> bool {
    match operation {
        // Without the fill, or in some draws with another: it may be all that was on the tape.
        "values" | "to_dense_or" | "softmax" | "log_softmax" | "Stored::cumsum" => {
            draw.leaves.iter().any(|leaf| leaf.name.starts_with("values"))
        }
        // What these replace may be.
        "with_values" | "with_fill" => false,
        _ => true,
    }
}

fn judge(draw: &mut Draw, answer: Answer, corruption: Corruption, on_tape: bool) -> Verdict {
    let (mut got, want) = match (answer.got, answer.want) {
        (Err(why), _) => return Verdict::Failed(format!("the operation failed: {why}")),
        (Ok(_), Err(_)) if draw.has_empty => return Verdict::NoReference,
        (Ok(_), Err(why)) => return Verdict::Failed(format!("the reference failed: {why}")),
        (Ok(got), Ok(want)) => (got, want),
    };
    if corruption == Corruption::Value
        && let Some(value) = got.0.iter_mut().find_map(|part| part.values.first_mut())
    {
        *value = if value.is_finite() { another(*value) } else { 0.0 };
    }
    let lost = |(got, want): &(&Part, &Part)| want.loss.is_some() && !got.tracked;
    if let (true, Some(k)) = (on_tape, got.0.iter().zip(&want.0).position(|parts| lost(&parts))) {
        return Verdict::Failed(format!("result {k} is not on the tape, that of the reference is"));
    }
    // Of 16-bit floats a few units in the last place, of which there are 2^-10 or 2^-7.
    let tolerance = match draw.float() {
        DType::F64 => 1e-9,
        DType::F16 => 4.0 / 1024.0,
        DType::BF16 => 4.0 / 128.0,
        _ => 1e-3,
    };
    match compared(draw, got, want, tolerance, corruption) {
        Ok(None) => Verdict::NoReference,
        Ok(Some(counts)) => Verdict::Passed(counts),
        Err(why) => Verdict::Failed(why),
    }
}

/// How many values and gradient elements agree; `None` where the reference has no gradient for a size of 0.
fn compared(
    draw: &mut Draw,
    got: Output,
    want: Output,
    tolerance: f64,
    corruption: Corruption,
) -> Result<Option<Counts>, String> {
    let mut counts = Counts::default();
    if got.0.len() != want.0.len() {
        return Err(format!("{} tensors, expected {}", got.0.len(), want.0.len()));
    }
    for (k, (got, want)) in got.0.iter().zip(&want.0).enumerate() {
        if got.shape != want.shape {
            return Err(format!("result {k} has shape {:?}, expected {:?}", got.shape, want.shape));
        }
        let want = draw.stored(&want.values);
        all_close(&format!("result {k}"), &got.values, &want, tolerance)?;
        counts.values += want.len();
    }
    if !draw.tracked() || draw.leaves.is_empty() {
        return Ok(Some(counts));
    }
    let cotangents: Vec<Vec<f64>> = want.0.iter().map(|part| cotangent(draw, part.values.len())).collect();
    let own = caught(|| backward(got.0, &cotangents)).map_err(|why| format!("the backward pass failed: {why}"))?;
    let reference = match caught_aside(|| backward(want.0, &cotangents)) {
        Ok(grads) => grads,
        Err(_) if draw.has_empty => return Ok(None),
        Err(why) => return Err(format!("the reference's backward pass failed: {why}")),
    };
    let mut spoil = corruption == Corruption::Gradient;
    for leaf in &draw.leaves {
        // No entry means that nothing depends on the leaf.
        let mut got = own.as_ref().and_then(|grads| (leaf.got)(grads)).unwrap_or_else(|| vec![0.0; leaf.length]);
        let mut expected = vec![0.0; leaf.length];
        for part in reference.iter().flat_map(|grads| leaf.wants.iter().filter_map(move |want| want(grads))) {
            if part.len() != leaf.length {
                return Err(format!("the reference's gradient of {} has {} numbers", leaf.name, part.len()));
            }
            expected.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
        }
        if let (true, Some(first)) = (spoil, got.first_mut()) {
            *first = another(*first);
            spoil = false;
        }
        all_close(&format!("gradient of {}", leaf.name), &got, &expected, tolerance)?;
        counts.gradients += expected.len();
        counts.slopes += expected.iter().filter(|slope| **slope != 0.0).count();
    }
    Ok(Some(counts))
}

/// A number that is not this one, whatever it was.
pub fn another(value: f64) -> f64 {
    value + value.abs() + 1.0
}

fn cotangent(draw: &mut Draw, count: usize) -> Vec<f64> {
    (0..count).map(|_| f64::from(draw.rng.random_range(-32..=32)) / 16.0).collect()
}

/// The gradients of `sum(cotangent * part)` over all parts; `None` where nothing is on the tape.
fn backward(parts: Vec<Part>, cotangents: &[Vec<f64>]) -> Option<Gradients> {
    let losses = parts.into_iter().zip(cotangents);
    let losses = losses.filter_map(|(part, cotangent)| part.loss.map(|loss| loss(cotangent.clone())));
    losses.reduce(|sum: Tensor<1>, loss| sum + loss).map(|loss| loss.backward())
}

/// NaN equals NaN, equal infinities match.
pub fn all_close(what: &str, got: &[f64], want: &[f64], tolerance: f64) -> Result<(), String> {
    if got.len() != want.len() {
        return Err(format!("{what} has {} numbers, expected {}", got.len(), want.len()));
    }
    // Beside an infinity every number would be near.
    let near = |got: f64, want: f64| want.is_finite() && (got - want).abs() <= tolerance * want.abs().max(1.0);
    let close = |got: f64, want: f64| got == want || (got.is_nan() && want.is_nan()) || near(got, want);
    match got.iter().zip(want).position(|(&got, &want)| !close(got, want)) {
        None => Ok(()),
        Some(at) => Err(format!("{what}, element {at}, is {}, expected {}", got[at], want[at])),
    }
}

/// Operations for which a spoiled value or gradient passes, or that compare none in many draws.
pub fn corruptions_missed(table: &[Operation]) -> Vec<String> {
    const TRIES: u64 = 60;
    let device = Device::flex();
    let mut missed = vec![];
    for operation in table {
        let layouts: Vec<Layout> = operation.layouts().collect();
        for corruption in [Corruption::Value, Corruption::Gradient] {
            let tracked = corruption == Corruption::Gradient;
            if tracked && !operation.gradient {
                continue;
            }
            let compare = if tracked { Compare::Gradient } else { Compare::Forward };
            // The first draw that compares something.
            let draw = (0..TRIES).map(|seed| (seed, layouts[seed as usize % layouts.len()])).find(|&(seed, layout)| {
                let (verdict, _) = one(operation, layout, compare, seed, &device, Corruption::None);
                // A gradient of zeros would be right without a rule, too.
                let compared = |counts: Counts| match tracked {
                    true if operation.flat => counts.gradients > 0,
                    true => counts.slopes > 0,
                    false => counts.values > 0,
                };
                matches!(verdict, Verdict::Passed(counts) if compared(counts))
            });
            let Some((seed, layout)) = draw else {
                missed.push(format!("{}: nothing to compare ({corruption:?})", operation.name));
                continue;
            };
            let (verdict, _) = one(operation, layout, compare, seed, &device, corruption);
            if !matches!(verdict, Verdict::Failed(_)) {
                missed.push(format!("{}: a corruption ({corruption:?}) passed, seed {seed}", operation.name));
            }
        }
    }
    missed
}
