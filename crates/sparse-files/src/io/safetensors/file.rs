//! The file itself: a header of JSON, and arrays of bytes one after the other.

use crate::io::source;
use crate::io::source::Limited;
use ::safetensors::tensor::{Dtype, Metadata, TensorInfo};
use burn::tensor::Bytes;
use serde::{Deserialize, Serialize};
use sparse_ops::extend::{Allowed, cells};
use sparse_ops::{Result, SparseError};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Write};
use std::ops::Range;

pub(super) const OP: &str = "safetensors";
/// Name of the one entry of the metadata: the order of several would change from run to run.
const KEY: &str = "sparse_tensor";
const VERSION: u32 = 1;
/// Larger headers are refused by the format's readers.
const LARGEST_HEADER: u64 = 100_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Layout {
    Coo,
    Csr,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum FillKind {
    Zero,
    Undefined,
    Value,
}

/// What the arrays of a sparse tensor do not say themselves.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Head {
    pub layout: Layout,
    pub shape: Vec<usize>,
    pub sparse_dims: usize,
    #[serde(default)]
    pub coalesced: bool,
    pub fill: FillKind,
}

/// An array as the file has it: row-major, little-endian.
#[derive(Clone, Debug)]
pub(super) struct Array {
    pub dtype: Dtype,
    pub shape: Vec<usize>,
    /// In memory of its own, or a part of the file's.
    pub bytes: Bytes,
}

#[derive(Serialize)]
struct Document<'a> {
    version: u32,
    tensors: &'a BTreeMap<String, Head>,
}

#[derive(Deserialize)]
struct Version {
    version: u32,
}

#[derive(Deserialize)]
struct Tensors {
    tensors: BTreeMap<String, Head>,
}

/// The tensors of a file by name, and their arrays.
pub(super) type Parts = (BTreeMap<String, Head>, BTreeMap<String, Array>);

/// The parts that a sparse tensor may have.
const PARTS: [&str; 5] = ["indices", "row_ptr", "col_idx", "values", "fill"];

/// The name of a part of a sparse tensor.
pub(super) fn key(name: &str, part: &str) -> String {
    if name.is_empty() { part.into() } else { format!("{name}.{part}") }
}

/// The part of a sparse tensor, which must be there.
pub(super) fn find<'a>(arrays: &'a BTreeMap<String, Array>, name: &str, part: &str) -> Result<&'a Array> {
    let key = key(name, part);
    arrays.get(&key).ok_or_else(|| invalid(format!("the file must hold `{key}`, got none")))
}

pub(super) fn write(
    out: &mut impl Write,
    heads: &BTreeMap<String, Head>,
    arrays: &BTreeMap<String, Array>,
) -> io::Result<()> {
    let document = serde_json::to_string(&Document { version: VERSION, tensors: heads })?;
    // Wide elements first, as the format's own writer does: every array is aligned.
    let mut order: Vec<(&String, &Array)> = arrays.iter().collect();
    order.sort_by_key(|(_, array)| std::cmp::Reverse(array.dtype));
    let mut end = 0;
    let infos = order.iter().map(|(name, array)| {
        let start = end;
        end += array.bytes.len();
        let info = TensorInfo { dtype: array.dtype, shape: array.shape.clone(), data_offsets: (start, end) };
        (name.to_string(), info)
    });
    let metadata = Some([(KEY.to_string(), document)].into_iter().collect());
    let header = Metadata::new(metadata, infos.collect()).map_err(io::Error::other)?;
    let mut header = serde_json::to_vec(&header)?;
    header.resize(header.len().next_multiple_of(8), b' ');
    if header.len() as u64 > LARGEST_HEADER {
        return Err(io::Error::other(format!("a header of {} bytes, {LARGEST_HEADER} are the most", header.len())));
    }
    out.write_all(&(header.len() as u64).to_le_bytes())?;
    out.write_all(&header)?;
    order.iter().try_for_each(|(_, array)| out.write_all(&array.bytes))
}

/// Reads a file of this length whole, or a stream (0). Memory grows with what is there, not with what the header
/// claims.
pub(super) fn read(source: impl Read, length: u64) -> Result<Parts, String> {
    let (mut source, allowed) = (Limited::new(source, length), Allowed::now());
    let (header, _) = read_header(&mut source)?;
    let heads = read_heads(&header)?;
    let wanted = wanted(&heads);
    let mut arrays = BTreeMap::new();
    for name in header.offset_keys() {
        let info = header.info(&name).expect("a name of the header");
        let bytes = (info.data_offsets.1 - info.data_offsets.0) as u64;
        if wanted.contains(&name) {
            let count = usize::try_from(cells(&info.shape)).unwrap_or(usize::MAX);
            allowed.check_elements(count).map_err(|trouble| format!("`{name}`: {trouble}"))?;
            let bytes = take(&mut source, bytes, &format!("`{name}`"))?;
            let bytes = Bytes::from_bytes_vec(bytes);
            arrays.insert(name, Array { dtype: info.dtype, shape: info.shape.clone(), bytes });
        } else {
            let got =
                io::copy(&mut source.by_ref().take(bytes), &mut io::sink()).map_err(|trouble| trouble.to_string())?;
            complete(&format!("`{name}`"), bytes, got)?;
        }
    }
    match io::copy(&mut source, &mut io::sink()).map_err(|trouble| trouble.to_string())? {
        0 => Ok((heads, arrays)),
        rest => Err(format!("the file must end with its last tensor, got {rest} bytes more")),
    }
}

/// The header, and its length with the eight bytes before it.
fn read_header(source: &mut impl Read) -> Result<(Metadata, usize), String> {
    let mut length = [0; 8];
    source.read_exact(&mut length).map_err(|trouble| format!("8 bytes of header length must come first, {trouble}"))?;
    let length = u64::from_le_bytes(length);
    if length > LARGEST_HEADER {
        return Err(format!("the header must have at most {LARGEST_HEADER} bytes, got {length}"));
    }
    let header = take(source, length, "the header")?;
    let header = serde_json::from_slice(&header)
        .map_err(|trouble| format!("the header must be of the format, got {trouble}"))?;
    Ok((header, 8 + length as usize))
}

fn wanted(heads: &BTreeMap<String, Head>) -> BTreeSet<String> {
    heads.keys().flat_map(|name| PARTS.map(|part| key(name, part))).collect()
}

/// Where each array of a file lies: its dtype, its shape and its bytes.
pub(super) type Places = BTreeMap<String, (Dtype, Vec<usize>, Range<usize>)>;

/// The header of a file that is in memory or mapped, whose length must be what the header says. No array is touched.
pub(super) fn places(bytes: &[u8]) -> Result<(Metadata, Places), String> {
    let (header, start) = read_header(&mut &bytes[..])?;
    let mut places = BTreeMap::new();
    for name in header.offset_keys() {
        let info = header.info(&name).expect("a name of the header");
        let [first, last] = [info.data_offsets.0, info.data_offsets.1].map(|offset| offset.saturating_add(start));
        if first > last || last > bytes.len() {
            let (length, got) = (last.saturating_sub(first), bytes.len().saturating_sub(first));
            return Err(format!("`{name}` must have {length} bytes, got {got} before the end"));
        }
        places.insert(name, (info.dtype, info.shape.clone(), first..last));
    }
    let end = places.values().map(|(_, _, range)| range.end).max().unwrap_or(start);
    match bytes.len() - end {
        0 => Ok((header, places)),
        rest => Err(format!("the file must end with its last tensor, got {rest} bytes more")),
    }
}

/// The parts of a file that is in memory or mapped: they share its memory if `bytes` can be shared.
pub(super) fn share(bytes: &Bytes) -> Result<Parts, String> {
    let allowed = Allowed::now();
    let (header, places) = places(bytes)?;
    let heads = read_heads(&header)?;
    let wanted = wanted(&heads);
    let mut arrays = BTreeMap::new();
    for (name, (dtype, shape, range)) in places {
        if wanted.contains(&name) {
            let count = usize::try_from(cells(&shape)).unwrap_or(usize::MAX);
            allowed.check_elements(count).map_err(|trouble| format!("`{name}`: {trouble}"))?;
            arrays.insert(name, Array { dtype, shape, bytes: part(bytes, range) });
        }
    }
    Ok((heads, arrays))
}

/// A part of the bytes, without a copy if they can be shared.
pub(super) fn part(bytes: &Bytes, range: Range<usize>) -> Bytes {
    bytes.view(range.start, range.end).unwrap_or_else(|_| Bytes::from_bytes_vec(bytes[range].to_vec()))
}

fn take(source: &mut impl Read, length: u64, what: &str) -> Result<Vec<u8>, String> {
    let bytes = source::take(source, length).map_err(|trouble| format!("{what}: {trouble}"))?;
    complete(what, length, bytes.len() as u64)?;
    Ok(bytes)
}

fn complete(what: &str, length: u64, got: u64) -> Result<(), String> {
    if got == length { Ok(()) } else { Err(format!("{what} must have {length} bytes, got {got} before the end")) }
}

pub(super) fn read_heads(header: &Metadata) -> Result<BTreeMap<String, Head>, String> {
    let document = header.metadata().as_ref().and_then(|metadata| metadata.get(KEY));
    let document = document.ok_or_else(|| format!("the metadata must have an entry {KEY:?}, got none"))?;
    let trouble = |trouble| format!("the metadata's {KEY:?} must be as documented, got {trouble}");
    let Version { version } = serde_json::from_str(document).map_err(trouble)?;
    if version != VERSION {
        return Err(format!("the metadata's version must be {VERSION}, got {version}"));
    }
    let Tensors { tensors } = serde_json::from_str(document).map_err(trouble)?;
    Ok(tensors)
}

pub(super) fn invalid(message: String) -> SparseError {
    SparseError::invalid(OP, message)
}
