//! Files of PyTorch (`torch.save`): a pickle, and the bytes of its tensors. Nothing is executed.
//!
//! Since PyTorch 1.6 they are a zip archive; before, they followed each other. Source: PyTorch's notes on
//! serialization.

use super::pickle::{Node, Pickle, Value};
use burn::tensor::{BoolStore, DType, TensorData};
use rawzip::{CompressionMethod, ZipArchive, crc32};
use sparse_ops::extend::Allowed;
use std::cell::Cell;
use std::collections::BTreeMap;

/// A file that was read: its pickle, and the bytes of the storages that the tensors in it share.
pub(super) struct TorchFile<'a> {
    pub(super) pickle: Pickle<'a>,
    storages: BTreeMap<String, &'a [u8]>,
    /// Bytes that tensors may still take. A file can name a storage again and again.
    left: Cell<u64>,
}

impl<'a> TorchFile<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self, String> {
        let (pickle, storages) = match bytes.strip_prefix(OLD) {
            Some(rest) => old(rest)?,
            None => zipped(bytes)?,
        };
        Ok(Self { pickle, storages, left: Cell::new(Allowed::now().inflated(bytes.len() as u64)) })
    }

    /// The tensor that the value is, in row-major order; `None` if it is something else.
    pub(super) fn tensor(&self, value: Value) -> Result<Option<TensorData>, String> {
        if self.pickle.class(value) != Some("torch._utils _rebuild_tensor_v2") {
            return Ok(None);
        }
        self.rebuilt(value).ok_or("a tensor must have its storage, offset, size and strides")?.map(Some)
    }

    fn rebuilt(&self, value: Value) -> Option<Result<TensorData, String>> {
        let pickle = &self.pickle;
        let &[storage, offset, sizes, strides, ..] = &pickle.list(pickle.object(value)?.args)?[..] else { return None };
        let Some(&Node::Outside(name)) = pickle.node(storage) else { return None };
        let &[_, class, key, ..] = &pickle.list(name)?[..] else { return None };
        let Some(Node::Global(class)) = pickle.node(class) else { return None };
        let size = |value: &Value| match value {
            Value::Int(size) => usize::try_from(*size).ok(),
            _ => None,
        };
        let list = |value| pickle.list(value)?.iter().map(size).collect::<Option<Vec<usize>>>();
        let (sizes, strides) = (list(sizes)?, list(strides)?);
        let key = format!("data/{}", pickle.text(key)?);
        let view = View { offset: size(&offset)?, sizes, strides };
        Some(dtype(class).and_then(|dtype| {
            let bytes = self.storages.get(&key).ok_or_else(|| format!("the archive must have {key}, got none"))?;
            let count = view.checked(bytes.len() / dtype.size())?;
            let left = self.left.get().checked_sub((count * dtype.size()) as u64);
            self.left.set(left.ok_or("the tensors must not be far larger than the file (Limits::bytes)")?);
            let bytes = view.elements(bytes, dtype.size());
            TensorData::try_from_bytes_vec(bytes, view.sizes, dtype).map_err(|trouble| trouble.to_string())
        }))
    }
}

/// A pickle, and the storages under the names `data/{key}`.
type Parts<'a> = (Pickle<'a>, BTreeMap<String, &'a [u8]>);

fn zipped(bytes: &[u8]) -> Result<Parts<'_>, String> {
    let wrong = |trouble: rawzip::Error| format!("a zip archive of torch.save is due, got {trouble}");
    let archive = ZipArchive::from_slice(bytes).map_err(wrong)?;
    let (mut parts, mut length) = (BTreeMap::new(), 0);
    let mut entries = archive.entries();
    while let Some(entry) = entries.next_entry().map_err(wrong)? {
        let path = String::from_utf8_lossy(entry.file_path().as_ref()).into_owned();
        if entry.flags().is_encrypted() || entry.compression_method() != CompressionMethod::STORE {
            return Err(format!("{path} must be stored as it is, got it compressed or with a password"));
        }
        let (start, end) = archive.get_entry(entry.wayfinder()).map_err(wrong)?.compressed_data_range();
        let part = usize::try_from(start).ok().zip(usize::try_from(end).ok());
        let part = part.and_then(|(start, end)| bytes.get(start..end));
        let part = part.ok_or_else(|| format!("{path} must lie in the {} bytes of the file", bytes.len()))?;
        length += part.len();
        if length > bytes.len() {
            return Err(format!("the parts of the archive must not overlap, {path} does"));
        }
        if crc32(part) != entry.crc32() {
            return Err(format!("the checksum of {path} must be that of the directory, got another one"));
        }
        // The first folder has the name of the file.
        if let Some((_, name)) = path.split_once('/') {
            parts.insert(name.to_string(), part);
        }
    }
    if parts.get("byteorder").is_some_and(|order| *order != b"little") {
        return Err("the byte order must be little".into());
    }
    let pickle = *parts.get("data.pkl").ok_or("the archive must have a data.pkl, got none")?;
    Ok((Pickle::read(pickle)?, parts))
}

/// The first pickle of an old file, a number that marks it.
const OLD: &[u8] = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.";

/// After the mark: pickles of the version, of the machine, of the value and of the storages' keys, and the storages.
fn old(mut rest: &[u8]) -> Result<Parts<'_>, String> {
    let mut next = || {
        let pickle = Pickle::read(rest)?;
        rest = &rest[pickle.length..];
        Ok::<_, String>(pickle)
    };
    let [_, _, pickle, keys] = [next()?, next()?, next()?, next()?];
    let mut widths = BTreeMap::new();
    for name in pickle.outside() {
        let Some(&[_, class, key, ..]) = pickle.list(name).map(Vec::as_slice) else { continue };
        if let (Some(Node::Global(class)), Some(key)) = (pickle.node(class), pickle.text(key)) {
            widths.insert(key, dtype(class)?.size());
        }
    }
    let mut storages = BTreeMap::new();
    for &key in keys.list(keys.top).ok_or("the keys of the storages must be a list")? {
        let key = keys.text(key).ok_or("the key of a storage must be text")?;
        let length = rest.split_first_chunk().and_then(|(count, after)| {
            rest = after;
            usize::try_from(u64::from_le_bytes(*count)).ok()?.checked_mul(*widths.get(key)?)
        });
        let storage = length.and_then(|length| rest.split_at_checked(length));
        let (storage, after) = storage.ok_or_else(|| format!("the storage {key} must be in the file"))?;
        rest = after;
        storages.insert(format!("data/{key}"), storage);
    }
    Ok((pickle, storages))
}

/// Where the elements of a tensor are in its storage.
struct View {
    offset: usize,
    sizes: Vec<usize>,
    strides: Vec<usize>,
}

impl View {
    /// The number of elements. All lie in a storage of so many, and there are no more of them.
    fn checked(&self, stored: usize) -> Result<usize, String> {
        let count = self.sizes.iter().try_fold(1usize, |count, &size| count.checked_mul(size));
        let last = || {
            let mut dims = self.sizes.iter().zip(&self.strides);
            dims.try_fold(self.offset, |at, (&size, &stride)| at.checked_add((size - 1).checked_mul(stride)?))
        };
        let inside = match count {
            Some(0) => true,
            Some(count) => count <= stored && last().is_some_and(|last| last < stored),
            None => false,
        };
        match count.filter(|_| inside && self.sizes.len() == self.strides.len()) {
            Some(count) => Ok(count),
            None => Err(format!("a tensor of shape {:?} must lie in its storage of {stored} elements", self.sizes)),
        }
    }

    fn elements(&self, storage: &[u8], width: usize) -> Vec<u8> {
        let count: usize = self.sizes.iter().product();
        let mut stride = count;
        let rows = self.sizes.iter().zip(&self.strides).all(|(&size, &own)| {
            stride /= size.max(1);
            size <= 1 || own == stride
        });
        if rows {
            return storage[self.offset * width..][..count * width].to_vec();
        }
        let mut bytes = Vec::with_capacity(count * width);
        for mut element in 0..count {
            let mut at = self.offset;
            for (&size, &stride) in self.sizes.iter().zip(&self.strides).rev() {
                at += element % size * stride;
                element /= size;
            }
            bytes.extend(&storage[at * width..(at + 1) * width]);
        }
        bytes
    }
}

/// The elements of a storage of this class.
fn dtype(class: &str) -> Result<DType, String> {
    let name = class.strip_prefix("torch ").and_then(|name| name.strip_suffix("Storage"));
    Ok(match name {
        Some("Double") => DType::F64,
        Some("Float") => DType::F32,
        Some("Half") => DType::F16,
        Some("BFloat16") => DType::BF16,
        Some("Long") => DType::I64,
        Some("Int") => DType::I32,
        Some("Short") => DType::I16,
        Some("Char") => DType::I8,
        Some("Byte") => DType::U8,
        Some("Bool") => DType::Bool(BoolStore::Native),
        _ => return Err(format!("a storage of real numbers or bools is due, got {class}")),
    })
}
