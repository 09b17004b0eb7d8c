//! What passes, an operation and layout at a time, as JSON for `.ci/coverage`.

use crate::device;
use crate::draw::Layout;
use crate::operations::Operation;
use crate::runner::{Corruption, Verdict, one};
use burn::tensor::Device;
use serde_json::{Map, Value, json};
use std::process::ExitCode;

/// Draws for each cell of the table.
const DRAWS: u64 = 12;

/// Writes the table of the device to a file, or prints it. Fails if anything that the registry names does not pass.
pub fn write(table: &[Operation], name: &str, file: Option<&str>) -> ExitCode {
    let device = device::named(name);
    let mut failures = vec![];
    let operations: Vec<Value> = table.iter().map(|operation| row(operation, &device, &mut failures)).collect();
    let count = operations.len();
    let text = serde_json::to_string_pretty(&json!({ "device": name, "operations": operations })).expect("plain data");
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
        let mut cell = |tracked: bool| {
            let passes = passes(operation, layout, tracked, device);
            if let Err(why) = &passes {
                let what = if tracked { "gradient" } else { "forward" };
                failures.push(format!("{} on {}, {what}: {why}", operation.name, layout.name()));
            }
            passes.is_ok()
        };
        let forward = cell(false);
        let gradient = operation.gradient.then(|| cell(true));
        row.insert(layout.name().into(), json!({ "forward": forward, "gradient": gradient }));
    }
    Value::Object(row)
}

/// Every draw passes, and together they compare something.
fn passes(operation: &Operation, layout: Layout, tracked: bool, device: &Device) -> Result<(), String> {
    let mut compared = 0;
    for seed in 0..DRAWS {
        match one(operation, layout, tracked, seed, device, Corruption::None).0 {
            Verdict::Passed { values, gradients } => compared += if tracked { gradients } else { values },
            Verdict::NoReference => {}
            Verdict::Failed(why) => return Err(format!("{why} (seed {seed})")),
        }
    }
    if compared > 0 { Ok(()) } else { Err("nothing was compared".into()) }
}
