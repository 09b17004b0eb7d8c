//! Files that are mapped into memory: they are read where they lie, a page at a time.

use crate::io::npy;
#[cfg(feature = "safetensors")]
use crate::io::safetensors;
use crate::io::source::Place;
use burn::tensor::{AllocationProperty, Bytes, DType};
use bytemuck::Pod;
use half::{bf16, f16};
#[cfg(unix)]
use memmap2::Advice;
use memmap2::Mmap;
use sparse_ops::{Result, SparseError};
use std::fmt;
use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const OP: &str = "MappedFile";

/// The unit in which the system reads a file. Where pages are larger, it rounds itself.
const PAGE: usize = 4096;

/// Ranges with at most so many bytes between them are asked for as one: a disk serves a limited number of requests a
/// second, so a page more costs less than another request. On a virtual disk of 50,000 requests a second, gaps of 0 to
/// 8 pages took the same time for 20,000 random pages of 500 MB: what requests save, bytes cost.
const NEAR: usize = PAGE;

/// The most that is asked for at once. Of a longer range Linux reads no more than the read-ahead of the device. This is
/// its default.
const MOST: usize = 128 << 10;

/// A file in memory that is not read before it is used, and whose memory the system may take back at any time.
///
/// So arrays that are larger than the memory of the machine can be used as if they were in it:
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::io::{MappedFile, npy};
///
/// let (device, path) = (Device::flex(), std::env::temp_dir().join(format!("mapped-{}.npy", std::process::id())));
/// npy::save(&path, &Tensor::<2>::from_floats([[1.0, 2.0], [3.0, 4.0]], &device)).unwrap();
/// let file = MappedFile::open(&path).unwrap();
/// let a: Tensor<2> = npy::from_shared(file.bytes(), &device).unwrap(); // a part of the file
/// assert_eq!(a.sum().into_scalar::<f32>(), 10.0);
/// # std::fs::remove_file(path).unwrap();
/// ```
///
/// # What the file must not suffer
///
/// As long as the file, its [`bytes`](Self::bytes) or a tensor made from them exist, no process may change the file or
/// cut it. Replacing it is safe: write another file and rename it, and the mapping keeps the old one. A changed file
/// gives changed numbers, at any time; of those, indices that are out of range give errors or panics, as those of an
/// `_unchecked` constructor. Where the file was cut, the system ends the process at the first access (`SIGBUS`). A file
/// that is already cut is found before it is touched: readers compare its length with what its header says, and
/// [`check`](Self::check), which stores call before each hop, compares it with that at the time of opening. A file on a
/// network or on a device that can be removed may be lost in the same way.
///
/// Needs the feature `mmap`. Source: `mmap(2)` and `madvise(2)`, by the crate `memmap2`.
#[derive(Clone)]
pub struct MappedFile(Arc<Inner>);

struct Inner {
    map: Mmap,
    file: File,
    path: PathBuf,
}

impl MappedFile {
    /// Maps a file. Cost: no element is read.
    ///
    /// # Errors
    ///
    /// `invalid` if the file cannot be opened or mapped.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref().to_path_buf();
        let file =
            sparse_disk::open(&path).map_err(|trouble| wrong(&path, format!("cannot be read, got {trouble}")))?;
        // SAFETY: the mapping is read-only and lives as long as its `Mmap`. That nobody changes the file meanwhile is
        // asked for in the documentation above; the elements are plain numbers, of which each pattern of bits is valid,
        // and whatever they are, kernels access memory through slices.
        let map = unsafe { Mmap::map(&file) };
        let map = map.map_err(|trouble| wrong(&path, format!("cannot be mapped, got {trouble}")))?;
        Ok(Self(Arc::new(Inner { map, file, path })))
    }

    /// The path that it was opened by.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.0.map.len()
    }

    /// Whether the file has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The content, without a copy. It keeps the mapping alive. Who writes to a tensor of these bytes writes to a copy.
    pub fn bytes(&self) -> Bytes {
        Bytes::from_shared(bytes::Bytes::from_owner(self.clone()), AllocationProperty::File)
    }

    /// Asks the system to read ranges of bytes in the background. Ranges that are near each other are joined. It is a
    /// hint: an error, or a system that has no such call, changes nothing.
    ///
    /// Cost: a sort, and a system call for each range that is left.
    pub fn ask(&self, ranges: impl IntoIterator<Item = Range<usize>>) {
        #[cfg(unix)]
        for range in joined(ranges, self.len()) {
            for start in range.clone().step_by(MOST) {
                // Reading without it is slower, no more.
                let _ = self.0.map.advise_range(Advice::WillNeed, start, MOST.min(range.end - start));
            }
        }
        #[cfg(not(unix))]
        drop(ranges);
    }

    /// Tells the system that reads will be at random: then a page that is missing is read alone. Otherwise the system
    /// reads those around it as well, which a reader of a few bytes here and there does not use.
    pub fn expect_random(&self) {
        #[cfg(unix)]
        let _ = self.0.map.advise(Advice::Random);
    }

    /// Tells the system that reads will be in order: then it reads far ahead by itself.
    pub fn expect_in_order(&self) {
        #[cfg(unix)]
        let _ = self.0.map.advise(Advice::Sequential);
    }

    /// Whether the file still has the length at which it was mapped. Cost: a system call.
    ///
    /// # Errors
    ///
    /// `invalid` if it is shorter now, or if its length cannot be read.
    pub fn check(&self) -> Result<()> {
        match self.0.file.metadata() {
            Ok(data) if data.len() >= self.len() as u64 => Ok(()),
            Ok(data) => {
                let message = format!("must keep its {} bytes while it is mapped, got {}", self.len(), data.len());
                Err(wrong(self.path(), message))
            }
            Err(trouble) => Err(wrong(self.path(), format!("its length cannot be read, got {trouble}"))),
        }
    }
}

impl AsRef<[u8]> for MappedFile {
    fn as_ref(&self) -> &[u8] {
        &self.0.map
    }
}

impl fmt::Debug for MappedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MappedFile({}, {} bytes)", self.path().display(), self.len())
    }
}

fn wrong(path: &Path, message: String) -> SparseError {
    SparseError::invalid(OP, message).in_file(path)
}

/// Ranges of bytes as whole pages in order, near ones joined, within `length`.
#[cfg_attr(not(unix), allow(dead_code))]
fn joined(ranges: impl IntoIterator<Item = Range<usize>>, length: usize) -> Vec<Range<usize>> {
    let pages = |range: Range<usize>| {
        let end = range.end.min(length);
        (range.start < end).then(|| range.start / PAGE * PAGE..end.next_multiple_of(PAGE).min(length))
    };
    let mut all: Vec<Range<usize>> = ranges.into_iter().filter_map(pages).collect();
    if !all.is_sorted_by_key(|range| range.start) {
        all.sort_unstable_by_key(|range| range.start);
    }
    let mut kept: Vec<Range<usize>> = Vec::new();
    for range in all {
        match kept.last_mut() {
            Some(last) if range.start <= last.end.saturating_add(NEAR) => last.end = last.end.max(range.end),
            _ => kept.push(range),
        }
    }
    kept
}

/// A CSR matrix of a safetensors file that is mapped: its arrays lie in the file.
#[cfg(feature = "safetensors")]
#[derive(Clone, Debug)]
pub struct MappedCsr {
    /// Rows and columns.
    pub shape: [usize; 2],
    /// Where each row starts, and the end of the last.
    pub row_ptr: MappedArray,
    /// The column of each stored element.
    pub col_idx: MappedArray,
    /// The values, if the file has them.
    pub values: Option<MappedArray>,
}

#[cfg(feature = "safetensors")]
impl MappedCsr {
    /// The matrix of that name in an [`Archive`](super::safetensors::Archive), or of the name `""` in a file with one
    /// tensor. Lengths and indices are not checked.
    ///
    /// # Errors
    ///
    /// `invalid` if the file is not of the format, has another version, holds no CSR matrix of this name without dense
    /// dims, or has arrays that are not aligned.
    pub fn open(file: &MappedFile, name: &str) -> Result<Self> {
        let trouble = |trouble| wrong(file.path(), trouble);
        let shape = safetensors::mapped_matrix(file.as_ref(), name).map_err(trouble)?;
        let array = |part| MappedArray::safetensors(file, &safetensors::array_name(name, part));
        let due = |part| array(part)?.ok_or_else(|| trouble(format!("the file must hold `{part}`, got none")));
        Ok(Self { shape, row_ptr: due("row_ptr")?, col_idx: due("col_idx")?, values: array("values")? })
    }
}

/// An array of a mapped file. Its bytes are inside the file, aligned, and as many as the shape says.
#[derive(Clone, Debug)]
pub struct MappedArray {
    file: MappedFile,
    start: usize,
    dtype: DType,
    shape: Vec<usize>,
}

impl MappedArray {
    /// The array of a `.npy` file.
    pub fn npy(path: &Path) -> Result<Self> {
        let file = MappedFile::open(path)?;
        let place = npy::mapped(file.as_ref()).map_err(|trouble| wrong(path, trouble))?;
        Self::new(file, place)
    }

    /// An array of a safetensors file, by its name.
    #[cfg(feature = "safetensors")]
    pub fn safetensors(file: &MappedFile, name: &str) -> Result<Option<Self>> {
        let found = safetensors::mapped(file.as_ref(), name).map_err(|trouble| wrong(file.path(), trouble))?;
        found.map(|place| Self::new(file.clone(), place)).transpose()
    }

    fn new(file: MappedFile, place: Place) -> Result<Self> {
        let Place { shape, dtype, range } = place;
        let size = dtype.size();
        if !file.as_ref()[range.clone()].as_ptr().addr().is_multiple_of(size) {
            let message = format!("elements of {size} bytes must be aligned, got them at byte {}", range.start);
            return Err(wrong(file.path(), message));
        }
        // The size of a part of the array must be a number even if another dim is empty.
        let all = shape.iter().try_fold(size, |all, &size| all.checked_mul(size.max(1)));
        let whole = all.map(|all| if shape.contains(&0) { 0 } else { all });
        if whole != Some(range.len()) {
            let message = format!("an array {shape:?} of {size} bytes each must fill its place, got {}", range.len());
            return Err(wrong(file.path(), message));
        }
        Ok(Self { file, start: range.start, dtype, shape })
    }

    /// The file.
    pub fn file(&self) -> &MappedFile {
        &self.file
    }

    /// The dtype of the elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The sizes of the dims.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The bytes of all elements.
    pub fn bytes(&self) -> &[u8] {
        let length = self.shape.iter().product::<usize>() * self.dtype.size();
        &self.file.as_ref()[self.start..self.start + length]
    }

    /// The elements, whose dtype must be that of `T`.
    pub fn elements<T: Pod>(&self) -> &[T] {
        bytemuck::cast_slice(self.bytes())
    }

    /// Asks for ranges of elements.
    pub fn ask(&self, ranges: impl IntoIterator<Item = Range<usize>>) {
        let (start, size) = (self.start, self.dtype.size());
        // What is far out of the file is left out.
        let at = |element: usize| element.saturating_mul(size).saturating_add(start);
        self.file.ask(ranges.into_iter().map(|range| at(range.start)..at(range.end)));
    }

    /// Appends a range of elements as f32. The dtype is a float.
    #[inline]
    pub fn floats_of(&self, range: Range<usize>, out: &mut Vec<f32>) {
        match self.dtype {
            DType::F16 => out.extend(self.elements::<f16>()[range].iter().map(|x| x.to_f32())),
            DType::BF16 => out.extend(self.elements::<bf16>()[range].iter().map(|x| x.to_f32())),
            DType::F64 => out.extend(self.elements::<f64>()[range].iter().map(|&x| x as f32)),
            _ => out.extend_from_slice(&self.elements::<f32>()[range]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_ranges_are_asked_for_as_one() {
        let far = PAGE + NEAR;
        // Out of order, empty, one inside another, one beyond the end.
        let ranges = [far * 2..far * 2 + 1, 5..9, 70..70, 0..30, far * 9..far * 10, PAGE + 7..PAGE + 8];
        assert_eq!(joined(ranges, far * 9 + 5), [0..2 * PAGE, 2 * far..2 * far + PAGE, 9 * far..9 * far + 5]);
        let near = joined([0..1, NEAR + PAGE..NEAR + PAGE + 1], 1 << 20);
        assert!(near.len() == 1 && near[0] == (0..NEAR + 2 * PAGE));
        assert_eq!(joined([0..1, NEAR + 2 * PAGE..NEAR + 2 * PAGE + 1], 1 << 20).len(), 2);
        assert!(joined(std::iter::once(7..usize::MAX), 0).is_empty());
    }
}
