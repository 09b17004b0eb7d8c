//! What passes, an operation and layout at a time, as JSON for `.ci/coverage`.

use crate::draw::Layout;
use crate::operations::Operation;
use crate::runner::{Compare, Corruption, HALVES, Verdict, one};
use burn::tensor::Device;
use serde_json::{Map, Value, json};
use sparse_dev::device;
use std::process::ExitCode;

/// Most draws for each cell of the table.
const DRAWS: u64 = 12;

/// Writes the table of the device to a file, or prints it. Fails if anything that the registry names does not pass.
pub fn write(table: &[Operation], name: &str, file: Option<&str>) -> ExitCode {
    let device = device::named(name);
    let mut failures = vec![];
    let operations: Vec<Value> = table.iter().map(|operation| row(operation, &device, &mut failures)).collect();
    let count = operations.len();
    let table = json!({ "device": name, "operations": operations });
    let text = serde_json::to_string_pretty(&table).expect("plain data");
    match file {
        Some(file) => std::fs::write(file, text + "\n").unwrap_or_else(|trouble| panic!("{file}: {trouble}")),
        None => println!("{text}"),
    }
    failures.iter().for_each(|failure| eprintln!("FAILED {failure}"));
    eprintln!("coverage: {count} operations on {name}, {} cells that fail", failures.len());
    if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn row(operation: &Operation, device: &Device, failures: &mut Vec<String>) -> Value {
    let mut row = Map::new();
    row.insert("name".into(), operation.name.into());
    row.insert("family".into(), operation.family.into());
    for layout in Layout::ALL {
        if !operation.layouts().any(|own| own == layout) {
            row.insert(layout.name().into(), Value::Null);
            continue;
        }
        let mut cell = |compare: Compare| {
            let passes = passes(operation, layout, compare, device);
            if let Err(why) = &passes {
                failures.push(format!("{} on {}, {compare:?}: {why}", operation.name, layout.name()));
            }
            passes.is_ok()
        };
        let mut forward = cell(Compare::Forward);
        if operation.gradient {
            let halves = HALVES.into_iter().filter(|&dtype| device.supports_dtype(dtype));
            halves.for_each(|dtype| forward &= cell(Compare::Half(dtype)));
        }
        let gradient = operation.gradient.then(|| cell(Compare::Gradient));
        row.insert(layout.name().into(), json!({ "forward": forward, "gradient": gradient }));
    }
    Value::Object(row)
}

/// Draws for each cell, as long as they compare something: `SPARSE_EQUIV_DRAWS`, if given.
fn draws() -> u64 {
    std::env::var("SPARSE_EQUIV_DRAWS").ok().and_then(|text| text.parse().ok()).unwrap_or(DRAWS)
}

/// Every draw passes, and together they compare something.
fn passes(operation: &Operation, layout: Layout, compare: Compare, device: &Device) -> Result<(), String> {
    let mut compared = 0;
    for seed in 0..DRAWS {
        if seed >= draws() && compared > 0 {
            break;
        }
        match one(operation, layout, compare, seed, device, Corruption::None).0 {
            Verdict::Passed(counts) => {
                compared += if compare == Compare::Gradient { counts.gradients } else { counts.values }
            }
            Verdict::NoReference | Verdict::Unsupported => {}
            Verdict::Failed(why) => return Err(format!("{why} (seed {seed})")),
        }
    }
    if compared > 0 { Ok(()) } else { Err("nothing was compared".into()) }
}
