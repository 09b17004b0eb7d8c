//! Safetensors: what is written is read back, and files of others are read or refused.

mod forged;
mod round_trips;

use burn::tensor::Device;
use serde_json::{Value, json};
use sparse_dev::device::{name, named};
use sparse_tensor::SparseError;

fn here() -> Device {
    named(&name())
}

/// A file of these parts, by the format's own description.
fn file(document: &Value, parts: &[(&str, &str, &[usize], Vec<u8>)]) -> Vec<u8> {
    let mut header = json!({"__metadata__": {"sparse_tensor": document.to_string(), "other": "x"}});
    let mut data = Vec::new();
    for (name, dtype, shape, bytes) in parts {
        let offsets = [data.len(), data.len() + bytes.len()];
        header[*name] = json!({"dtype": dtype, "shape": shape, "data_offsets": offsets});
        data.extend(bytes);
    }
    with_header(header.to_string().as_bytes(), &data)
}

fn with_header(header: &[u8], data: &[u8]) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes()[..], header, data].concat()
}

fn i32s(values: &[i32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn i64s(values: &[i64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn f32s(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn one(layout: &str, shape: &[usize], sparse_dims: usize, fill: &str) -> Value {
    let head = json!({"layout": layout, "shape": shape, "sparse_dims": sparse_dims, "fill": fill});
    json!({"version": 1, "tensors": {"": head}})
}

type Parts<'a> = Vec<(&'a str, &'a str, &'a [usize], Vec<u8>)>;

/// What SciPy would write: `[[1, 0, 2], [0, 3, 0]]`.
fn csr_parts<'a>() -> Parts<'a> {
    vec![
        ("row_ptr", "I32", &[3], i32s(&[0, 2, 3])),
        ("col_idx", "I32", &[3], i32s(&[0, 2, 1])),
        ("values", "F32", &[3], f32s(&[1.0, 2.0, 3.0])),
    ]
}

fn coo_parts<'a>() -> Parts<'a> {
    vec![
        ("indices", "I64", &[2, 2], i64s(&[1, 0, 2, 0])),
        ("values", "F32", &[2], f32s(&[1.0, 2.0])),
        ("weights", "F8_E4M3", &[3], vec![1, 2, 3]),
    ]
}

fn says(trouble: SparseError, kind: &str, parts: &[&str]) {
    let message = trouble.to_string();
    assert_eq!(trouble.kind(), kind, "{message}");
    assert!(message.starts_with("safetensors: "), "{message}");
    assert!(parts.iter().all(|part| message.contains(part)), "{message:?} should name {parts:?}");
}
