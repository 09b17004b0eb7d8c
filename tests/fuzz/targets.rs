//! What is fuzzed: a function for each reader, and one for the constructors. It takes any bytes, and says whether they
//! could be read. `tests/fuzz` runs them with a small mutator, `fuzz/` with libFuzzer.
#![allow(dead_code)] // A program of libFuzzer has one of them.

#[path = "numbers.rs"]
mod numbers;

use burn::tensor::{Bool, Bytes, Device, Float, Int, Tensor};
use numbers::number;
pub use numbers::{constructors, grow, may_panic, unchecked};
use sparse_shards::Manifest;
use sparse_tensor::data::{FeatureStore, GraphStore, MappedGraph, NeighborSamplerConfig, OgbOptions};
use sparse_tensor::data::{read_folder, read_ogb, read_planetoid};
use sparse_tensor::io::edge_list::{self, Options};
use sparse_tensor::io::matrix_market::{self, ComplexPart, Reader};
use sparse_tensor::io::{MappedFile, npy, npz, safetensors};
use sparse_tensor::parallel::{Partition, Threads};
use sparse_tensor::pattern::{CooPattern, CsrPattern};
use sparse_tensor::{CooTensor, CsrTensor, Kind, Result};
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

pub type Target = fn(&[u8]) -> bool;

/// The names are those of the folders in `fuzz/corpus`.
pub const TARGETS: [(&str, Target); 15] = [
    ("matrix_market", matrix_market),
    ("edge_list", edge_list),
    ("text_files", text_files),
    ("npy", npy),
    ("npz", npz),
    ("npz_arrays", npz_arrays),
    ("safetensors", safetensors),
    ("planetoid", planetoid),
    ("ogb", ogb),
    ("folder", folder),
    ("part", part),
    ("mapped", mapped),
    ("constructors", constructors),
    ("unchecked", unchecked),
    ("grow", grow),
];

static CONVERTING: AtomicBool = AtomicBool::new(false);

/// Whether what was read is being converted: row pointers may need more memory than a reader.
pub fn is_converting() -> bool {
    CONVERTING.load(Ordering::Relaxed)
}

/// Says that a target begins.
pub fn is_reading() {
    CONVERTING.store(false, Ordering::Relaxed);
}

fn converting(work: impl FnOnce()) {
    CONVERTING.store(true, Ordering::Relaxed);
    work();
    CONVERTING.store(false, Ordering::Relaxed);
}

fn device() -> Device {
    Device::flex()
}

/// The text, by both kinds of readers, then the tensors.
pub fn matrix_market(bytes: &[u8]) -> bool {
    let mut is_read = false;
    for reader in [Reader::new(), Reader::new().strict(true).complex(ComplexPart::Imaginary)] {
        let Ok(matrix) = reader.parse(bytes) else { continue };
        is_read = true;
        converting(|| {
            _ = matrix.to_coo(&device());
            _ = matrix.to_coo_int(&device());
            _ = matrix.to_csr(&device());
        });
    }
    is_read
}

/// The text, by options that the first three bytes choose.
pub fn edge_list(bytes: &[u8]) -> bool {
    let [chosen, first, second, text @ ..] = bytes else { return false };
    let numbers = [first, second].map(|&byte| number(byte) as usize);
    let is_chosen = |bit: u8| chosen >> bit & 1 == 1;
    let mut options = Options::new();
    if is_chosen(0) {
        options = options.with_header(is_chosen(1));
    }
    if is_chosen(2) {
        options = options.with_separator(*first);
    }
    if is_chosen(3) {
        options = options.with_names();
    }
    if is_chosen(4) {
        options = options.with_first(numbers[0]);
    }
    if is_chosen(5) {
        options = options.with_nodes(numbers[1]);
    }
    if is_chosen(6) {
        options = options.with_weights(is_chosen(7).then_some(numbers[1]));
    }
    let Ok(edges) = edge_list::parse(text, &options) else { return false };
    converting(|| {
        _ = edges.to_coo(&device()).map(|a| a.coalesce());
        _ = edges.to_csr(&device());
    });
    true
}

/// Files of text, which may be compressed.
pub fn text_files(bytes: &[u8]) -> bool {
    let path = home().join("text");
    fs::write(&path, bytes).unwrap();
    let is_read = matrix_market::read(&path).is_ok();
    edge_list::read(&path, &Options::new()).is_ok() || is_read
}

/// The bytes as they are, and with the length of the header that it has.
pub fn npy(bytes: &[u8]) -> bool {
    let is_read = npy_file(bytes);
    npy_file(&with_length(bytes)) || is_read
}

/// A change of a size in the text of a header mostly changes the length of the text.
fn with_length(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    if let Some(end) = bytes.iter().position(|&byte| byte == b'\n').filter(|&end| end > 10) {
        bytes[8..10].copy_from_slice(&((end - 9) as u16).to_le_bytes());
    }
    bytes
}

fn npy_file(bytes: &[u8]) -> bool {
    let found = [
        npy_array::<1, Float>(bytes),
        npy_array::<2, Float>(bytes),
        npy_array::<1, Int>(bytes),
        npy_array::<2, Int>(bytes),
        npy_array::<1, Bool>(bytes),
        npy_array::<2, Bool>(bytes),
    ];
    if let Some(path) = as_file("npy", bytes) {
        let loaded = [
            npy::load::<1, Float>(&path, &device()).is_ok(),
            npy::load::<2, Float>(&path, &device()).is_ok(),
            npy::load::<1, Int>(&path, &device()).is_ok(),
            npy::load::<2, Int>(&path, &device()).is_ok(),
            npy::load::<1, Bool>(&path, &device()).is_ok(),
            npy::load::<2, Bool>(&path, &device()).is_ok(),
        ];
        assert_eq!(loaded, found, "from a file, from memory");
    }
    found.contains(&true)
}

/// A file of these bytes, for a fourth of the inputs: a file takes far longer than bytes in memory.
fn as_file(name: &str, bytes: &[u8]) -> Option<PathBuf> {
    bytes.len().is_multiple_of(4).then(|| {
        let path = home().join(name);
        fs::write(&path, bytes).unwrap();
        path
    })
}

/// Reads an array in both ways, of which both must succeed or fail.
fn npy_array<const D: usize, K: Kind>(bytes: &[u8]) -> bool {
    let copied = npy::from_bytes::<D, K>(bytes, &device()).is_ok();
    let shared = npy::from_shared::<D, K>(Bytes::from_elems(bytes.to_vec()).shared(), &device()).is_ok();
    assert_eq!(shared, copied, "shared, copied");
    copied
}

pub fn npz(bytes: &[u8]) -> bool {
    let Ok(mut archive) = npz::Archive::from_bytes(bytes) else { return false };
    for name in archive.names().map(str::to_string).collect::<Vec<_>>() {
        _ = archive.dense::<1, Float>(&name, &device());
        _ = archive.dense::<1, Int>(&name, &device());
    }
    let mut found = [false; 3];
    // Some formats are converted while they are read.
    converting(|| {
        found = [
            npz::from_bytes::<CsrPattern, Float>(bytes, &device()).is_ok(),
            npz::from_bytes::<CooPattern, Float>(bytes, &device()).is_ok(),
            npz::from_bytes::<CsrPattern, Int>(bytes, &device()).is_ok(),
        ];
        if let Some(path) = as_file("npz", bytes) {
            let loaded = [
                npz::load::<CsrPattern, Float>(&path, &device()).is_ok(),
                npz::load::<CooPattern, Float>(&path, &device()).is_ok(),
                npz::load::<CsrPattern, Int>(&path, &device()).is_ok(),
            ];
            assert_eq!(loaded, found, "from a file, from memory");
        }
    });
    found.contains(&true)
}

/// An archive whose checksums are right: the first byte says which arrays follow.
pub fn npz_arrays(bytes: &[u8]) -> bool {
    let Some((&format, rest)) = bytes.split_first() else { return false };
    const COMPRESSED: &[&str] = &["format", "shape", "indptr", "indices", "data"];
    const COORDINATES: &[&str] = &["format", "shape", "row", "col", "data"];
    let names = [COMPRESSED, COORDINATES, &["format", "shape", "coords", "data"]][usize::from(format % 3)];
    const MAGIC: &[u8] = b"\x93NUMPY";
    let mut starts: Vec<usize> = (0..rest.len()).filter(|&at| rest[at..].starts_with(MAGIC)).collect();
    starts.push(rest.len());
    let arrays = starts.windows(2).map(|ends| with_length(&rest[ends[0]..ends[1]]));
    let stored = names.iter().zip(arrays).map(|(name, bytes)| Entry::stored(name, bytes));
    npz(&zip(&stored.collect::<Vec<_>>()))
}

/// A file of an archive.
pub struct Entry {
    name: String,
    /// As they are, or deflated.
    bytes: Vec<u8>,
    deflated: bool,
    /// Of the file, as the archive claims.
    size: u32,
    crc: u32,
}

impl Entry {
    pub fn stored(name: &str, bytes: Vec<u8>) -> Self {
        let mut crc = flate2::Crc::new();
        crc.update(&bytes);
        Self { name: format!("{name}.npy"), deflated: false, size: bytes.len() as u32, crc: crc.sum(), bytes }
    }

    pub fn deflated(name: &str, bytes: Vec<u8>, size: usize, crc: u32) -> Self {
        Self { name: format!("{name}.npy"), deflated: true, size: size as u32, crc, bytes }
    }
}

/// An archive of files.
pub fn zip(files: &[Entry]) -> Vec<u8> {
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for Entry { name, bytes, deflated, size, crc } in files {
        let start = out.len() as u32;
        // Flags, method, time and date; checksum and sizes; length of the name, and of more fields.
        let mut head = vec![20, 0, 0, 0, 8 * u8::from(*deflated), 0, 0, 0, 33, 0];
        for number in [*crc, bytes.len() as u32, *size, name.len() as u32] {
            head.extend(number.to_le_bytes());
        }
        out.extend([b"PK\x03\x04", &head[..], name.as_bytes(), bytes].concat());
        let rest = [&[0; 10][..], &start.to_le_bytes()].concat();
        directory.extend([b"PK\x01\x02\x14\x00", &head[..], &rest, name.as_bytes()].concat());
    }
    let count = (files.len() as u16).to_le_bytes();
    let (size, start) = ((directory.len() as u32).to_le_bytes(), (out.len() as u32).to_le_bytes());
    out.extend([&directory[..], b"PK\x05\x06\0\0\0\0", &count, &count, &size, &start, &[0; 2]].concat());
    out
}

/// The bytes as they are, and with the length of the header that they have.
pub fn safetensors(bytes: &[u8]) -> bool {
    let is_read = safetensors_file(bytes);
    with_header(bytes).is_some_and(|bytes| safetensors_file(&bytes)) || is_read
}

/// As [`with_length`], for safetensors.
fn with_header(bytes: &[u8]) -> Option<Vec<u8>> {
    let end = bytes.iter().rposition(|&byte| byte == b'}').filter(|&end| end >= 8)?;
    Some([&(end as u64 - 7).to_le_bytes()[..], &bytes[8..]].concat())
}

fn safetensors_file(bytes: &[u8]) -> bool {
    let shared = safetensors::Archive::from_shared(Bytes::from_elems(bytes.to_vec()).shared());
    let slow = safetensors::Archive::read_from(Slow(bytes));
    assert_eq!(slow.is_ok(), shared.is_ok(), "a few bytes at a time, shared");
    if let Some(path) = as_file("safetensors", bytes) {
        assert_eq!(safetensors::Archive::load(path).is_ok(), shared.is_ok(), "from a file, shared");
    }
    let Ok(archive) = safetensors::Archive::from_bytes(bytes) else {
        assert!(shared.is_err(), "shared bytes are read as others are");
        return false;
    };
    let shared = shared.expect("shared bytes are read as others are");
    let any = |name: &str| {
        _ = shared.get_pattern::<CsrPattern>(name, &device());
        _ = shared.get_pattern::<CooPattern>(name, &device());
        let wide = |archive: &safetensors::Archive| archive.get::<CsrPattern, 2, Float>(name, &device()).is_ok();
        assert_eq!(wide(&shared), wide(&archive), "shared, copied");
        let found = [
            every_rank::<Float>(&archive, name),
            every_rank::<Int>(&archive, name),
            every_rank::<Bool>(&archive, name),
        ];
        found.contains(&true)
    };
    archive.names().filter(|name| any(name)).count() > 0
}

/// A source that gives a few bytes at a time.
struct Slow<'a>(&'a [u8]);

impl Read for Slow<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = buffer.len().min(7);
        self.0.read(&mut buffer[..most])
    }
}

fn every_rank<K: Kind>(archive: &safetensors::Archive, name: &str) -> bool {
    let found = [
        archive.get(name, &device()).map(|a: CooTensor<1, K>| a.coalesce()).is_ok(),
        archive.get(name, &device()).map(|a: CooTensor<2, K>| a.coalesce()).is_ok(),
        archive.get(name, &device()).map(|a: CooTensor<3, K>| a.coalesce()).is_ok(),
        archive.get(name, &device()).map(|a: CsrTensor<2, K>| a.to_coo()).is_ok(),
        archive.get(name, &device()).map(|a: CsrTensor<3, K>| a.to_coo()).is_ok(),
    ];
    found.contains(&true)
}

/// A folder of files, of which one is replaced: the first byte says which.
struct Files {
    home: PathBuf,
    files: Vec<(PathBuf, Vec<u8>)>,
}

impl Files {
    fn new(name: &str, files: Vec<(String, Vec<u8>)>) -> Self {
        let home = home().join(name);
        let files: Vec<_> = files.into_iter().map(|(name, bytes)| (home.join(name), bytes)).collect();
        for (path, bytes) in &files {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        Self { home, files }
    }

    fn with(&self, bytes: &[u8], read: impl FnOnce(&PathBuf) -> bool) -> bool {
        let Some((&which, rest)) = bytes.split_first() else { return false };
        let (path, before) = &self.files[usize::from(which) % self.files.len()];
        fs::write(path, rest).unwrap();
        let is_read = read(&self.home);
        fs::write(path, before).unwrap();
        is_read
    }
}

/// A folder of this process.
pub fn home() -> &'static PathBuf {
    static HOME: OnceLock<PathBuf> = OnceLock::new();
    HOME.get_or_init(|| {
        let home = std::env::temp_dir().join(format!("sparse-tensor-fuzz-{}", std::process::id()));
        fs::create_dir_all(&home).unwrap();
        home
    })
}

/// The raw files of a Planetoid graph; most are pickles.
pub fn planetoid(bytes: &[u8]) -> bool {
    static FILES: OnceLock<Files> = OnceLock::new();
    let files = FILES.get_or_init(|| {
        let folder = sparse_dev::path("tests/files/planetoid");
        let files = ["x", "allx", "tx", "y", "ally", "ty", "test.index", "graph"].map(|part| {
            let name = format!("ind.python3.{part}");
            let bytes = fs::read(folder.join(&name)).unwrap();
            (name, bytes)
        });
        Files::new("planetoid", files.into())
    });
    files.with(bytes, |home| read_planetoid(home, "python3", &device()).is_ok())
}

/// A graph of the Open Graph Benchmark.
pub fn ogb(bytes: &[u8]) -> bool {
    static FILES: OnceLock<Files> = OnceLock::new();
    let files = FILES.get_or_init(|| {
        let files = [
            ("raw/num-node-list.csv", "3\n"),
            ("raw/edge.csv", "0,1\n1,2\n2,0\n"),
            ("raw/node-feat.csv", "0.5,1\n-2,3\n0,1e-3\n"),
            ("raw/node-label.csv", "0\n1\nnan\n"),
            ("split/time/train.csv", "0\n"),
            ("split/time/valid.csv", "1\n"),
            ("split/time/test.csv", ""),
        ];
        Files::new("ogb", files.map(|(name, text)| (name.into(), text.into())).into())
    });
    files.with(bytes, |home| {
        let Ok(graph) = read_ogb(home, &OgbOptions::new().with_inverse_edges(), &device()) else { return false };
        converting(|| _ = graph.to_graph());
        true
    })
}

/// A graph in a folder of plain text.
pub fn folder(bytes: &[u8]) -> bool {
    static FILES: OnceLock<Files> = OnceLock::new();
    let files = FILES.get_or_init(|| {
        let files = [
            ("adjacency.mtx", "%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n2 1 1.5\n3 2 1\n"),
            ("features.mtx", "%%MatrixMarket matrix coordinate real general\n3 4 2\n1 2 0.5\n3 4 1\n"),
            ("labels.txt", "0\n1\n1\n"),
            ("train.txt", "0\n"),
            ("val.txt", "1\n"),
            ("test.txt", ""),
        ];
        Files::new("folder", files.map(|(name, text)| (name.into(), text.into())).into())
    });
    files.with(bytes, |home| read_folder(home, &device()).is_ok())
}

/// A graph in one part: its manifest or a file of it is replaced. Files are mapped, where they are not checked first.
pub fn part(bytes: &[u8]) -> bool {
    static FILES: OnceLock<Files> = OnceLock::new();
    let files = FILES.get_or_init(|| {
        let written = home().join("written");
        sparse_dev::parts::Graph::new(12).write(&written, &[], true, true);
        let arrays = ["row_ptr", "col_idx", "values", "ids", "features"].map(|name| format!("part-00000/{name}.npy"));
        let names = [String::from("manifest.json")].into_iter().chain(arrays);
        let files = names.map(|name| (name.clone(), fs::read(written.join(name)).unwrap()));
        Files::new("part", files.collect())
    });
    files.with(bytes, |home| {
        let is_whole = Manifest::open(home).is_ok_and(|manifest| manifest.verify().is_ok());
        let mut ranks = Threads::new(1, Duration::from_secs(1)).unwrap().remove(0);
        let Ok(part) = Partition::open(&mut ranks, home) else { return false };
        let config = NeighborSamplerConfig::new(vec![2, 2]).with_weighted(true);
        if let Ok(sampler) = part.try_sampler(&config, &device()) {
            _ = sampler.try_sample(&mut ranks, &[0, 7], 0);
        }
        if let Ok(features) = part.features() {
            _ = features.try_gather::<_, 2, Float>(&mut ranks, &[0, 3], &device());
        }
        _ = part.halo(&mut ranks);
        is_whole
    })
}

/// Files that are mapped: a graph and features in each of their forms, of which one file is replaced.
pub fn mapped(bytes: &[u8]) -> bool {
    static FILES: OnceLock<Files> = OnceLock::new();
    let files = FILES.get_or_init(mapped_files);
    let Some((&which, rest)) = bytes.split_first() else { return false };
    // The first two are safetensors.
    let fixed = if usize::from(which) % files.files.len() < 2 { with_header(rest) } else { Some(with_length(rest)) };
    let fixed = fixed.map(|rest| [&[which], &rest[..]].concat());
    let is_read = mapped_in(files, bytes);
    fixed.is_some_and(|fixed| fixed != bytes && mapped_in(files, &fixed)) || is_read
}

fn mapped_in(files: &Files, bytes: &[u8]) -> bool {
    files.with(bytes, |home| {
        let [row_ptr, col_idx, values] = ["row_ptr", "col_idx", "values"].map(|name| home.join(format!("{name}.npy")));
        let graphs = [
            MappedGraph::open(home.join("graph.safetensors")),
            MappedGraph::open_named(home.join("archive.safetensors"), "graph"),
            MappedGraph::open_npy(&row_ptr, &col_idx, Some(&values)),
            MappedGraph::open_npy(&row_ptr, &col_idx, None),
        ];
        let features = [
            FeatureStore::open_npy(home.join("features.npy")),
            FeatureStore::open(home.join("archive.safetensors"), "graph.values"),
            FeatureStore::open(home.join("archive.safetensors"), "graph.row_ptr"),
        ];
        let graphs = graphs.map(sampled);
        let features = features.map(gathered);
        every_byte(home);
        !graphs.contains(&false) && !features.contains(&false)
    })
}

/// Whether a graph can be opened and is right. One that is wrong is sampled too.
fn sampled(graph: Result<MappedGraph>) -> bool {
    let Ok(graph) = graph else { return false };
    let is_right = graph.check().is_ok();
    let store = Arc::new(graph);
    for weighted in [false, true] {
        let config = NeighborSamplerConfig::new(vec![2, 2]).with_weighted(weighted);
        let Ok(sampler) = config.try_init_store(store.clone(), &device()) else { continue };
        for seeds in [&[0, 7][..], &[11], &[1 << 40], &[]] {
            let drawn = sampler.try_sample(seeds, 0);
            let is_sure = is_right && !weighted && seeds.iter().all(|&seed| seed < store.nodes());
            assert!(drawn.is_ok() || !is_sure, "a sample of {seeds:?}");
        }
    }
    is_right
}

/// Whether rows can be opened. A few are read, some of them from memory.
fn gathered(features: Result<FeatureStore>) -> bool {
    let Ok(store) = features.map(|store| store.with_hot_rows(2)) else { return false };
    let last = store.rows().saturating_sub(1);
    for ids in [&[0, last, 0][..], &[last, 1], &[usize::MAX], &[]] {
        store.ask(ids);
        let read = [
            store.try_gather::<1, Float>(ids, &device()).is_ok(),
            store.try_gather::<2, Float>(ids, &device()).is_ok(),
            store.try_gather::<1, Int>(ids, &device()).is_ok(),
            store.try_gather::<3, Int>(ids, &device()).is_ok(),
        ];
        assert!(ids != [usize::MAX] || !read.contains(&true), "a row that does not exist");
    }
    true
}

/// Arrays that are parts of mapped files.
fn every_byte(home: &Path) {
    let open = |name| MappedFile::open(home.join(name)).map(|file| file.bytes());
    if let Ok(bytes) = open("features.npy") {
        _ = npy::from_shared::<2, Float>(bytes.clone(), &device());
        _ = npy::from_shared::<1, Int>(bytes, &device());
    }
    if let Ok(archive) = open("archive.safetensors").and_then(safetensors::Archive::from_shared) {
        archive.names().for_each(|name| _ = every_rank::<Float>(&archive, name));
    }
}

fn mapped_files() -> Files {
    let graph = sparse_dev::parts::Graph::new(12).matrix(true);
    let archive = || {
        let mut archive = safetensors::Archive::new();
        archive.insert("graph", &graph).unwrap();
        archive.to_bytes().unwrap()
    };
    let pattern = graph.pattern();
    let rows = Tensor::<1>::ones([36], &device()).reshape([12, 3]);
    let files = [
        ("graph.safetensors", safetensors::to_bytes(&graph).unwrap()),
        ("archive.safetensors", archive()),
        ("row_ptr.npy", npy_bytes(pattern.row_ptr())),
        ("col_idx.npy", npy_bytes(pattern.col_idx())),
        ("values.npy", npy_bytes(&graph.values::<1>())),
        ("features.npy", npy_bytes(&rows)),
    ];
    Files::new("mapped", files.map(|(name, bytes)| (name.into(), bytes)).into())
}

fn npy_bytes<const D: usize, K: Kind>(tensor: &Tensor<D, K>) -> Vec<u8> {
    let mut bytes = Vec::new();
    npy::write_to(&mut bytes, tensor).unwrap();
    bytes
}
