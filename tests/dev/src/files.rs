//! The files in `tests/files`, which NumPy, SciPy and PyG made, and their answers.

use serde_json::Value;
use std::path::PathBuf;

pub fn path(name: &str) -> PathBuf {
    crate::path("tests/files").join(name)
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

/// What `read` returns, and how often it told of its progress, which must end with `total` of `total` bytes.
pub fn heard<T>(total: u64, read: impl FnOnce(&mut dyn FnMut(u64, u64)) -> T) -> (T, usize) {
    let mut heard = Vec::new();
    let result = read(&mut |done, total| heard.push((done, total)));
    assert!(total > 0 && heard.iter().all(|&(_, all)| all == total), "{total}: {heard:?}");
    assert!(heard.is_sorted() && heard.last() == Some(&(total, total)), "{total}: {heard:?}");
    (result, heard.len())
}
