//! The zip archive: where the arrays are, and their bytes.

use crate::io::npy::array::Input;
use crate::io::npy::header::Header;
use crate::io::source::Progress;
use crate::io::source::STEP;
use flate2::Crc;
use flate2::bufread::DeflateDecoder;
use rawzip::{CompressionMethod, RECOMMENDED_BUFFER_SIZE, RangeReader, ReaderAt, ZipLocator};
use sparse_ops::extend::Allowed;
use sparse_ops::{Result, SparseError};
use std::collections::BTreeMap;
use std::io::{BufReader, Cursor, Read};
use std::sync::atomic::{AtomicU64, Ordering};

pub(super) const OP: &str = "npz";

/// What an archive is read from: a file, or bytes in memory.
pub(super) type Store<'a> = Box<dyn ReaderAt + Send + Sync + 'a>;

/// A part for one thread is at least so long: below it a thread costs more than it saves.
const PART: usize = 8 << 20;
/// The most threads that read one array. Memory is the limit long before.
const THREADS: usize = 8;

/// Where an array is.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Its bytes in the file, compressed or not.
    start: u64,
    end: u64,
    /// Bytes of the array.
    size: u64,
    crc: u32,
    deflated: bool,
}

/// The directory of an archive, and the store behind it.
pub(super) struct Directory<'a> {
    store: Store<'a>,
    length: u64,
    entries: BTreeMap<String, Entry>,
    /// Bytes that the read has to do with, and those of them that were read before.
    total: u64,
    done: u64,
    /// Bytes of the arrays that were read, after decompression.
    taken: u64,
}

impl<'a> Directory<'a> {
    /// Reads the directory. Every entry must lie inside the `length` bytes of the store.
    pub(super) fn open(store: Store<'a>, length: u64) -> Result<Self, String> {
        let mut buffer = vec![0; RECOMMENDED_BUFFER_SIZE];
        let archive = ZipLocator::new()
            .locate_in_reader(store, &mut buffer, length)
            .map_err(|(_, trouble)| format!("the file must be a zip archive, got {trouble}"))?;
        let mut found = Vec::new();
        let mut entries = archive.entries(&mut buffer);
        while let Some(entry) = entries.next_entry().map_err(|trouble| format!("the directory is wrong: {trouble}"))? {
            let path = String::from_utf8_lossy(entry.file_path().as_ref()).into_owned();
            let Some(name) = path.strip_suffix(".npy") else { continue };
            let method = entry.compression_method();
            if entry.flags().is_encrypted() || !matches!(method, CompressionMethod::STORE | CompressionMethod::DEFLATE)
            {
                return Err(format!("{path} must be stored or deflated, got {method:?} or a password"));
            }
            let deflated = method == CompressionMethod::DEFLATE;
            found.push((name.to_string(), entry.wayfinder(), entry.uncompressed_size_hint(), entry.crc32(), deflated));
        }
        if (found.len() as u64) > archive.entries_hint() {
            return Err(format!("the directory must have {} entries, got {}", archive.entries_hint(), found.len()));
        }
        let mut entries = BTreeMap::new();
        for (name, wayfinder, size, crc, deflated) in found {
            let local = archive.get_entry(wayfinder).map_err(|trouble| format!("{name}.npy is wrong: {trouble}"))?;
            let (start, end) = local.compressed_data_range();
            if start > end || end > length {
                return Err(format!("{name}.npy must end within the {length} bytes of the file, got {start}..{end}"));
            }
            if !deflated && size != end - start {
                return Err(format!(
                    "{name}.npy must have the {size} bytes that the directory says, got {}",
                    end - start
                ));
            }
            if entries.insert(name.clone(), Entry { start, end, size, crc, deflated }).is_some() {
                return Err(format!("an array must have a name of its own, got {name}.npy twice"));
            }
        }
        Ok(Self { store: archive.into_inner(), length, entries, total: length, done: 0, taken: 0 })
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.entries.contains_key(name)
    }

    /// Counts progress from 0: over that array, or over the file.
    pub(super) fn start(&mut self, name: Option<&str>) {
        let of = |name| self.entries.get(name).map_or(0, |entry| entry.end - entry.start);
        self.total = name.map_or(self.length, of);
        self.done = 0;
        self.taken = 0;
    }

    /// The array of that name, as `read` makes it of its header and its elements. Its checksum is compared.
    pub(super) fn array<T>(
        &mut self,
        name: &str,
        progress: &mut Progress<'_>,
        read: impl FnOnce(&Header, &mut dyn Input) -> Result<T>,
    ) -> Result<T> {
        let Some(&entry) = self.entries.get(name) else {
            let names: Vec<&str> = self.names().take(8).collect();
            return Err(invalid(format!("the archive must hold {name}.npy, got {names:?}")));
        };
        let at = |message: String| invalid(format!("{name}.npy: {message}"));
        let allowed = Allowed::now();
        let limit = if entry.deflated { allowed.inflated(self.length) } else { allowed.bytes(u64::MAX) };
        self.taken = self.taken.saturating_add(entry.size);
        if self.taken > limit {
            return Err(at(Allowed::too_long(limit)));
        }
        allowed.check_time().map_err(at)?;
        let mut heard = |done| progress(self.done + done, self.total.max(self.done + done));
        let value = if entry.deflated {
            Inflated::open(&*self.store, entry, &mut heard).map(|(header, mut input)| {
                let value = read(&header, &mut input);
                (value, input.finish())
            })
        } else {
            Stored::open(&*self.store, entry, &mut heard).map(|(header, mut input)| {
                let value = read(&header, &mut input);
                (value, input.finish())
            })
        };
        let (value, complete) = value.map_err(at)?;
        let value = value.map_err(|trouble| match trouble {
            SparseError::Invalid { message, .. } => at(message),
            other => other,
        })?;
        complete.map_err(at)?;
        self.done += entry.end - entry.start;
        Ok(value)
    }

    /// The last word on the progress.
    pub(super) fn finish(&self, progress: &mut Progress<'_>) {
        progress(self.total, self.total);
    }
}

/// Errors if the header claims other bytes than the directory.
fn fits(header: &Header, entry: &Entry) -> Result<(), String> {
    let claimed = header.length + header.bytes();
    if claimed == entry.size {
        return Ok(());
    }
    Err(format!("the shape {:?} and the header must make {} bytes, got {claimed}", header.shape, entry.size))
}

fn same_crc(crc: &Crc, entry: &Entry) -> Result<(), String> {
    if crc.sum() == entry.crc {
        return Ok(());
    }
    Err(format!("the checksum must be {:08x} as the directory says, got {:08x}", entry.crc, crc.sum()))
}

/// An array as it stands in the file: threads read its parts into place.
struct Stored<'a> {
    store: &'a (dyn ReaderAt + Send + Sync),
    entry: Entry,
    at: u64,
    crc: Crc,
    heard: &'a mut dyn FnMut(u64),
}

impl<'a> Stored<'a> {
    fn open(
        store: &'a (dyn ReaderAt + Send + Sync),
        entry: Entry,
        heard: &'a mut dyn FnMut(u64),
    ) -> Result<(Header, Self), String> {
        let mut start = Vec::new();
        let mut source = BufReader::with_capacity(256, RangeReader::new(store, entry.start..entry.end));
        let header = Header::read(&mut Kept { source: &mut source, bytes: &mut start })?;
        fits(&header, &entry)?;
        let mut crc = Crc::new();
        crc.update(&start);
        Ok((header, Self { store, entry, at: entry.start + start.len() as u64, crc, heard }))
    }

    fn finish(&self) -> Result<(), String> {
        if self.at == self.entry.end { same_crc(&self.crc, &self.entry) } else { Err("bytes are left over".into()) }
    }
}

/// Reads, and keeps what was read.
struct Kept<'a, R> {
    source: &'a mut R,
    bytes: &'a mut Vec<u8>,
}

impl<R: Read> Read for Kept<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let got = self.source.read(buffer)?;
        self.bytes.extend(&buffer[..got]);
        Ok(got)
    }
}

impl Input for Stored<'_> {
    fn fill(&mut self, target: &mut [u8]) -> Result<(), String> {
        let length = target.len();
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(THREADS);
        let part = length.div_ceil(threads).max(PART);
        let (store, start, done, allowed) = (self.store, self.at, AtomicU64::new(0), Allowed::now());
        let read = |at: usize, target: &mut [u8], heard: &mut dyn FnMut(u64)| {
            let mut crc = Crc::new();
            let mut from = start + at as u64;
            // The checksum finds each block in the cache.
            for block in target.chunks_mut(STEP as usize) {
                allowed.check_time()?;
                store
                    .read_exact_at(block, from)
                    .map_err(|trouble| format!("the elements are cut off, got {trouble}"))?;
                crc.update(block);
                from += block.len() as u64;
                heard(done.fetch_add(block.len() as u64, Ordering::Relaxed) + block.len() as u64);
            }
            Ok::<_, String>(crc)
        };
        let before = self.at - self.entry.start;
        let parts = std::thread::scope(|scope| {
            let mut parts = target.chunks_mut(part).enumerate();
            let first = parts.next();
            let read = &read;
            let others: Vec<_> =
                parts.map(|(k, target)| scope.spawn(move || read(k * part, target, &mut |_| ()))).collect();
            let first = first.map(|(_, target)| read(0, target, &mut |done| (self.heard)(before + done)));
            let others = others.into_iter().map(|thread| thread.join().expect("reading does not panic"));
            first.into_iter().chain(others).collect::<Result<Vec<Crc>, String>>()
        })?;
        parts.iter().for_each(|crc| self.crc.combine(crc));
        self.at += length as u64;
        (self.heard)(self.at - self.entry.start);
        Ok(())
    }

    fn sure(&self) -> u64 {
        self.entry.end - self.at
    }
}

/// A compressed array.
struct Inflated<'a> {
    source: DeflateDecoder<BufReader<RangeReader<&'a (dyn ReaderAt + Send + Sync)>>>,
    entry: Entry,
    crc: Crc,
    heard: &'a mut dyn FnMut(u64),
}

impl<'a> Inflated<'a> {
    fn open(
        store: &'a (dyn ReaderAt + Send + Sync),
        entry: Entry,
        heard: &'a mut dyn FnMut(u64),
    ) -> Result<(Header, Self), String> {
        let source = BufReader::with_capacity(1 << 16, RangeReader::new(store, entry.start..entry.end));
        let mut source = DeflateDecoder::new(source);
        let mut start = Vec::new();
        let header = Header::read(&mut Kept { source: &mut source, bytes: &mut start })?;
        fits(&header, &entry)?;
        let mut crc = Crc::new();
        crc.update(&start);
        Ok((header, Self { source, entry, crc, heard }))
    }

    fn finish(&mut self) -> Result<(), String> {
        match self.source.read(&mut [0]) {
            Ok(0) => same_crc(&self.crc, &self.entry),
            Ok(_) => Err("bytes are left over".into()),
            Err(trouble) => Err(format!("the compressed bytes are wrong, {trouble}")),
        }
    }
}

impl Input for Inflated<'_> {
    fn fill(&mut self, target: &mut [u8]) -> Result<(), String> {
        let allowed = Allowed::now();
        for block in target.chunks_mut(STEP as usize) {
            allowed.check_time()?;
            self.source.read_exact(block).map_err(|trouble| format!("the elements are cut off, got {trouble}"))?;
            self.crc.update(block);
            (self.heard)(self.source.total_in());
        }
        Ok(())
    }

    fn sure(&self) -> u64 {
        0
    }
}

/// A store of bytes in memory.
pub(super) fn memory(bytes: &[u8]) -> Store<'_> {
    Box::new(Cursor::new(bytes))
}

pub(super) fn shape_error(rule: &'static str, left: &[usize], right: &[usize]) -> SparseError {
    SparseError::shape_mismatch(OP, rule, left, right)
}

pub(super) fn invalid(message: String) -> SparseError {
    SparseError::invalid(OP, message)
}
