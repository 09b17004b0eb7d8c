//! The files in `tests/files`, which NumPy, SciPy and PyG made, and their answers.

use serde_json::Value;
use std::path::{Path, PathBuf};

pub fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files").join(name)
}

pub fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(path(name)).unwrap()
}

/// The answers for a group of files.
pub fn expected(group: &str) -> Value {
    let all: Value = serde_json::from_slice(&bytes("expected.json")).unwrap();
    all[group].clone()
}

pub fn floats(list: &Value) -> Vec<f64> {
    list.as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect()
}

pub fn sizes(list: &Value) -> Vec<usize> {
    list.as_array().unwrap().iter().map(|value| value.as_u64().unwrap() as usize).collect()
}

/// The bytes with some of them replaced, inserted or removed.
pub fn edited(bytes: &[u8], edits: &[(usize, u8, u8)]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for &(at, byte, edit) in edits {
        let at = at % bytes.len().max(1);
        match edit {
            0 if at < bytes.len() => bytes[at] = byte,
            1 => bytes.insert(at, byte),
            2 => bytes.truncate(at),
            _ if at < bytes.len() => drop(bytes.remove(at)),
            _ => {}
        }
    }
    bytes
}
