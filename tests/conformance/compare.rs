//! Outputs and gradients against expectations.

use crate::case::{Case, Number, ints, numbers, text, usizes};
use crate::inputs::Context;
use crate::produced::{Produced, Stored};
use burn::tensor::{DType, Tensor};
use serde_json::Value;
use std::collections::BTreeSet;

type Verdict<T = ()> = Result<T, String>;

/// Every dtype that a case names, but those of index arrays.
pub fn dtypes(case: &Value) -> Vec<DType> {
    fn walk(value: &Value, found: &mut Vec<DType>) {
        match value {
            Value::Object(map) => {
                if let Some(name) = map.get("dtype").and_then(Value::as_str) {
                    found.push(match name {
                        "f32" => DType::F32,
                        "f16" => DType::F16,
                        "bf16" => DType::BF16,
                        "u8" => DType::U8,
                        "i32" => DType::I32,
                        // f64 and i64 have a stand-in; bool is stored as the device likes.
                        _ => DType::F64,
                    });
                }
                map.values().for_each(|value| walk(value, found));
            }
            Value::Array(items) => items.iter().for_each(|value| walk(value, found)),
            _ => {}
        }
    }
    let mut found = vec![];
    walk(case, &mut found);
    found
}

/// Allowed relative error for a dtype on the device; 0 asks for the same number.
fn tolerance(dtype: &str, context: &Context) -> f64 {
    match dtype {
        "f64" if context.dtype("f64") == DType::F32 => 1e-3,
        "f64" => 1e-9,
        "f32" => 2e-5,
        "f16" | "bf16" => 1e-2,
        _ => 0.0,
    }
}

fn close(got: Number, want: Number, tolerance: f64) -> bool {
    if let (Number::Int(got), Number::Int(want)) = (got, want) {
        return got == want;
    }
    let (got, want) = (got.float(), want.float());
    if want.is_nan() || got.is_nan() {
        return want.is_nan() && got.is_nan();
    }
    // Beside an infinity every number would be near.
    got == want || (want.is_finite() && (got - want).abs() <= tolerance * want.abs().max(1.0))
}

fn all_close(what: &str, got: &[Number], want: &[Number], tolerance: f64) -> Verdict {
    if got.len() != want.len() {
        return Err(format!("{what}: {} numbers, expected {}", got.len(), want.len()));
    }
    match got.iter().zip(want).position(|(&got, &want)| !close(got, want, tolerance)) {
        None => Ok(()),
        Some(at) => Err(format!("{what}[{at}]: {:?}, expected {:?}", got[at], want[at])),
    }
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, got: T, want: T) -> Verdict {
    if got == want { Ok(()) } else { Err(format!("{what}: {got:?}, expected {want:?}")) }
}

pub fn output(expected: &Value, produced: &Produced, context: &Context) -> Verdict {
    let dtype = text(&expected["dtype"]);
    let stand_in = match dtype {
        "f64" | "i64" => sparse_tensor::dtype_name(context.dtype(dtype)),
        other => other.to_string(),
    };
    same("dtype", produced.dtype.as_str(), &stand_in)?;
    same("shape", &produced.shape, &usizes(&expected["shape"]))?;
    let tolerance = tolerance(dtype, context);
    let stored = || produced.stored.as_ref().ok_or_else(|| "dense, expected sparse".to_string());
    match text(&expected["layout"]) {
        "dense" => {
            same("layout", produced.stored.is_none(), true)?;
            all_close("data", &produced.dense, &numbers(&expected["data"]), tolerance)
        }
        "any" => all_close("dense", &produced.dense, &numbers(&expected["dense"]), tolerance),
        "sparse" => sparse(expected, produced, stored()?, moved_only(dtype, context)),
        "coo" => {
            let stored = stored()?;
            same("layout", stored.layout, "COO")?;
            let want: Vec<Vec<i64>> = expected["indices"].as_array().expect("coordinates").iter().map(ints).collect();
            same("indices", &stored.indices, &want)?;
            fill(expected, stored, tolerance)?;
            all_close("values", &stored.values, &numbers(&expected["values"]), tolerance)
        }
        "csr" => {
            let stored = stored()?;
            same("layout", stored.layout, "CSR")?;
            same("coordinates", &stored.indices, &csr_coordinates(expected))?;
            fill(expected, stored, tolerance)?;
            all_close("values", &stored.values, &numbers(&expected["values"]), tolerance)
        }
        other => Err(format!("unknown layout {other}")),
    }
}

/// Half floats are exact in the outputs of this suite: their cases only move values.
fn moved_only(dtype: &str, context: &Context) -> f64 {
    if dtype == "f16" || dtype == "bf16" { 0.0 } else { tolerance(dtype, context) }
}

fn csr_coordinates(expected: &Value) -> Vec<Vec<i64>> {
    let shape = usizes(&expected["shape"]);
    let rows = shape[shape.len() - 2];
    let mut out = vec![vec![]; shape.len()];
    let columns = ints(&expected["col_idx"]);
    let mut at = 0;
    for (batch, ptr) in ints(&expected["row_ptr"]).chunks(rows + 1).enumerate() {
        for row in 0..rows {
            for _ in ptr[row]..ptr[row + 1] {
                let place = [batch as i64, row as i64, columns[at]];
                out.iter_mut().zip(&place[3 - shape.len()..]).for_each(|(line, &index)| line.push(index));
                at += 1;
            }
        }
    }
    out
}

fn fill(expected: &Value, stored: &Stored, tolerance: f64) -> Verdict {
    match (&stored.fill, &expected["fill"]) {
        (None, Value::String(word)) if word == "undefined" => Ok(()),
        (Some(_), Value::String(word)) if word == "undefined" => Err("fill is defined, expected undefined".into()),
        (None, want) => Err(format!("fill is undefined, expected {want}")),
        (Some(got), want) => {
            let want = numbers(want);
            // One number stands for a block of it, on either side.
            let length = got.len().max(want.len());
            let spread = |list: &[Number]| if list.len() == 1 { vec![list[0]; length] } else { list.to_vec() };
            all_close("fill", &spread(got), &spread(&want), tolerance)
        }
    }
}

fn sparse(expected: &Value, produced: &Produced, stored: &Stored, tolerance: f64) -> Verdict {
    fill(expected, stored, tolerance)?;
    let nnz = stored.indices.first().map_or(stored.values.len(), Vec::len);
    let got: BTreeSet<Vec<i64>> = (0..nnz).map(|k| stored.indices.iter().map(|line| line[k]).collect()).collect();
    if let Some(want) = expected["specified"].as_array() {
        same("specified", &got, &want.iter().map(ints).collect())?;
    }
    let mut want = numbers(&expected["dense"]);
    let mut dense = produced.dense.clone();
    if stored.fill.is_none() {
        let keep = specified_mask(&produced.shape, &got, stored.block);
        for (at, _) in keep.iter().enumerate().filter(|(_, keep)| !**keep) {
            (want[at], dense[at]) = (Number::Int(0), Number::Int(0));
        }
    }
    all_close("dense", &dense, &want, tolerance)
}

fn specified_mask(shape: &[usize], specified: &BTreeSet<Vec<i64>>, block: usize) -> Vec<bool> {
    let mut mask = vec![false; shape.iter().product()];
    for place in specified {
        let flat = place.iter().zip(shape).fold(0, |flat, (&index, &size)| flat * size + index as usize);
        mask[flat * block..(flat + 1) * block].fill(true);
    }
    mask
}

/// Compares every gradient of the case; how many there were.
pub fn gradients(case: &Case, context: &Context, loss: Option<Tensor<1>>) -> Verdict<usize> {
    let expected = case.grads();
    if expected.is_empty() {
        return Ok(0);
    }
    let loss = loss.ok_or("no loss")?;
    if !loss.is_tracked() {
        return Err("the result is not on the tape, though an input is".into());
    }
    let grads = loss.backward();
    let tolerance = tolerance("f64", context);
    for (name, want) in &expected {
        // No entry means that the output does not depend on the input.
        let zeros = || vec![Number::Int(0); want.len()];
        let got = context.gradient(name, &grads).ok_or(format!("no leaf {name}"))?.unwrap_or_else(zeros);
        all_close(&format!("gradient of {name}"), &got, want, tolerance)?;
    }
    Ok(expected.len())
}
