//! Runs cases and counts.

use crate::case::Case;
use crate::compare;
use crate::inputs::Context;
use crate::ops;
use crate::produced::Produced;
use burn::tensor::{DType, Device, FloatDType};
use serde_json::Value;
use sparse_dev::device;
use sparse_tensor::SparseError;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// How a case ended.
pub enum Outcome {
    Passed { outputs: usize, gradients: usize },
    Unsupported,
    Failed(String),
}

#[derive(Default)]
pub struct Totals {
    keys: BTreeMap<String, [usize; 3]>,
    pub passed: usize,
    pub failed: usize,
    unsupported: usize,
    outputs: usize,
    gradients: usize,
}

impl Totals {
    pub fn print(&self, device: &str) {
        println!("{:<18}{:>8}{:>8}{:>13}", "key", "passed", "failed", "unsupported");
        for (key, [passed, failed, unsupported]) in &self.keys {
            println!("{key:<18}{passed:>8}{failed:>8}{unsupported:>13}");
        }
        let cases = self.passed + self.failed + self.unsupported;
        // In the form that the oracle asks for; no case is left for later.
        println!(
            "conformance: {{\"device\":\"{device}\",\"cases\":{cases},\"passed\":{},\"failed\":{},\"unsupported\":{},\
             \"pending\":0,\"outputs\":{},\"gradients\":{}}}",
            self.passed, self.failed, self.unsupported, self.outputs, self.gradients
        );
    }
}

pub fn run_all(cases: &[Case], device: &str) -> Totals {
    let device = device::named(device);
    let mut totals = Totals::default();
    for case in cases {
        let counts = totals.keys.entry(case.key().to_string()).or_default();
        match run(case, &device) {
            Outcome::Passed { outputs, gradients } => {
                counts[0] += 1;
                totals.passed += 1;
                totals.outputs += outputs;
                totals.gradients += gradients;
            }
            Outcome::Unsupported => {
                counts[2] += 1;
                totals.unsupported += 1;
            }
            Outcome::Failed(why) => {
                counts[1] += 1;
                totals.failed += 1;
                println!("FAILED {}: {why}", case.id());
            }
        }
    }
    totals
}

pub fn run(case: &Case, device: &Device) -> Outcome {
    for dtype in compare::dtypes(&case.0) {
        if dtype != DType::F64 && !device.supports_dtype(dtype) {
            return Outcome::Unsupported;
        }
    }
    let context = Context::new(case, device);
    // A panic is never the right answer, not even to wrong input.
    let result = catch_unwind(AssertUnwindSafe(|| ops::run(case, &context)));
    match (result, case.error()) {
        (Err(_), _) => Outcome::Failed("panicked".into()),
        (Ok(None), _) => Outcome::Failed(format!("unknown op {}", case.op())),
        (Ok(Some(Err(trouble))), Some(kind)) if trouble.kind() == kind => Outcome::Passed { outputs: 0, gradients: 0 },
        (Ok(Some(Err(trouble))), expected) => {
            Outcome::Failed(format!("error {} ({trouble}), expected {expected:?}", trouble.kind()))
        }
        (Ok(Some(Ok(_))), Some(kind)) => Outcome::Failed(format!("no error, expected {kind}")),
        (Ok(Some(Ok(produced))), None) => catch_unwind(AssertUnwindSafe(|| judge(case, &context, produced)))
            .unwrap_or_else(|_| Outcome::Failed("panicked in the backward pass".into())),
    }
}

fn judge(case: &Case, context: &Context, produced: Produced) -> Outcome {
    let expected = case.0["outputs"].as_array().expect("a list of outputs");
    let compared = expected.iter().try_for_each(|expected| compare::output(expected, &produced, context));
    let compared = compared.and_then(|()| compare::gradients(case, context, produced.loss));
    match compared {
        Ok(0) if expected.is_empty() => Outcome::Failed("nothing to compare".into()),
        Ok(gradients) => Outcome::Passed { outputs: expected.len(), gradients },
        Err(why) => Outcome::Failed(why),
    }
}

/// What is corrupted, one at a time.
const WHAT: [&str; 5] = ["output", "fill", "specified", "gradient", "error"];

/// Ids of cases that pass although their expectation was corrupted: one number, fill, coordinate, gradient or kind of
/// error.
pub fn corruptions_missed(cases: &[Case], device: &str) -> Vec<String> {
    let device = device::named(device);
    let mut missed = vec![];
    let mut tried: BTreeMap<(String, &str), usize> = BTreeMap::new();
    for case in cases {
        for what in WHAT {
            let count = tried.entry((case.key().to_string(), what)).or_default();
            if *count >= 2 {
                continue;
            }
            let Some(bad) = corrupt(case, what) else { continue };
            match run(&bad, &device) {
                Outcome::Unsupported => continue,
                Outcome::Passed { .. } => missed.push(format!("{} ({what})", case.id())),
                Outcome::Failed(_) => {}
            }
            *count += 1;
        }
    }
    let unseen = WHAT.into_iter().filter(|what| !tried.iter().any(|((_, own), &count)| own == what && count > 0));
    missed.extend(unseen.map(|what| format!("no case at all ({what})")));
    missed
}

fn corrupt(case: &Case, what: &str) -> Option<Case> {
    let mut bad = case.clone();
    let output = |bad: &mut Case| bad.0["outputs"].get_mut(0).cloned();
    match what {
        "output" => {
            let first = output(&mut bad)?;
            let name = ["dense", "data", "values"].into_iter().find(|name| first[*name].is_array())?;
            // Unspecified elements of an undefined fill are not compared: corrupt all, if there is one that is.
            if first["fill"] == "undefined" && first["specified"].as_array().is_some_and(Vec::is_empty) {
                return None;
            }
            let list = bad.0["outputs"][0][name].as_array_mut()?;
            list.iter_mut().for_each(bump);
            (!list.is_empty()).then_some(bad)
        }
        "fill" => {
            let fill = bad.0["outputs"].get_mut(0)?.get_mut("fill")?;
            if fill.is_array() {
                fill.as_array_mut()?.iter_mut().for_each(bump);
            } else if fill == "undefined" {
                *fill = Value::from(0.0);
            } else {
                bump(fill);
            }
            Some(bad)
        }
        "specified" => {
            let list = bad.0["outputs"].get_mut(0)?.get_mut("specified")?.as_array_mut()?;
            list.pop().map(|_| bad)
        }
        "gradient" => {
            let grads = bad.0.get_mut("grads")?.as_object_mut()?;
            let list = grads.values_mut().find_map(|grad| grad.as_array_mut().filter(|list| !list.is_empty()))?;
            bump(&mut list[0]);
            Some(bad)
        }
        _ => {
            bad.error()?;
            bad.0["error"] = Value::from("no_such_kind");
            Some(bad)
        }
    }
}

/// Another value, whatever it was.
fn bump(value: &mut Value) {
    *value = match &*value {
        Value::Bool(value) => Value::from(!value),
        Value::Number(number) if number.is_i64() => Value::from(number.as_i64().expect("an integer") + 1),
        Value::Number(number) => Value::from(number.as_f64().expect("a number") * 1.5 + 1.0),
        _ => Value::from(0.125),
    };
}

/// The float dtype that stands in for `dtype` on the device.
pub fn float_on(device: &Device, dtype: FloatDType) -> FloatDType {
    if dtype == FloatDType::F64 && !sparse_dev::device::has_f64(device) { FloatDType::F32 } else { dtype }
}

/// Result of an operation under test; `None` for an op that the runner does not know.
pub type Answer = Option<Result<Produced, SparseError>>;
