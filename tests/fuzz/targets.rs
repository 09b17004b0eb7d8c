//! What is fuzzed: a function for each reader, and one for the constructors. It takes any bytes, and says whether they
//! could be read. `tests/fuzz` runs them with a small mutator, `fuzz/` with libFuzzer.
#![allow(dead_code)] // A program of libFuzzer has one of them.

#[path = "../common/parts.rs"]
mod parts;

use burn::tensor::{Bool, Bytes, DType, Device, Float, Int, Tensor, TensorData};
use sparse_shards::Manifest;
use sparse_tensor::data::{NeighborSamplerConfig, OgbOptions, read_folder, read_ogb, read_planetoid};
use sparse_tensor::io::edge_list::{self, Options};
use sparse_tensor::io::matrix_market::{self, ComplexPart, Reader};
use sparse_tensor::io::{npy, npz, safetensors};
use sparse_tensor::nn::Bags;
use sparse_tensor::ops::IndexPlan;
use sparse_tensor::parallel::{Partition, Threads};
use sparse_tensor::pattern::{CooPattern, CsrPattern};
use sparse_tensor::{CooTensor, CsrTensor, Kind};
use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub type Target = fn(&[u8]) -> bool;

/// The names are those of the folders in `fuzz/corpus`.
pub const TARGETS: [(&str, Target); 12] = [
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
    ("constructors", constructors),
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

/// The text as numbers, from 0 and from 1, and as names.
pub fn edge_list(bytes: &[u8]) -> bool {
    let mut is_read = false;
    for options in [Options::new(), Options::new().with_first(1).with_weights(None), Options::new().with_names()] {
        let Ok(edges) = edge_list::parse(bytes, &options) else { continue };
        is_read = true;
        converting(|| {
            _ = edges.to_coo(&device()).map(|a| a.coalesce());
            _ = edges.to_csr(&device());
        });
    }
    is_read
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
    found.contains(&true)
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
    npz(&zip(&names.iter().copied().zip(arrays).collect::<Vec<_>>()))
}

/// An archive of files that are not compressed.
fn zip(files: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for (name, bytes) in files {
        let name = format!("{name}.npy");
        let mut crc = flate2::Crc::new();
        crc.update(bytes);
        let start = out.len() as u32;
        // Flags, method, time and date; checksum and sizes; length of the name, and of more fields.
        let mut head = vec![20, 0, 0, 0, 0, 0, 0, 0, 33, 0];
        for number in [crc.sum(), bytes.len() as u32, bytes.len() as u32, name.len() as u32] {
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
    let Some(end) = bytes.iter().rposition(|&byte| byte == b'}').filter(|&end| end >= 8) else { return is_read };
    safetensors_file(&[&(end as u64 - 7).to_le_bytes()[..], &bytes[8..]].concat()) || is_read
}

fn safetensors_file(bytes: &[u8]) -> bool {
    let shared = safetensors::Archive::from_shared(Bytes::from_elems(bytes.to_vec()).shared());
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
        // This package, or `fuzz/` in it.
        let roots = [env!("CARGO_MANIFEST_DIR"), concat!(env!("CARGO_MANIFEST_DIR"), "/..")];
        let folder = roots.map(|root| format!("{root}/tests/files"));
        let folder = folder.into_iter().find(|folder| fs::exists(folder).unwrap()).expect("the files of the tests");
        let files = ["x", "allx", "tx", "y", "ally", "ty", "test.index", "graph"].map(|part| {
            let name = format!("ind.python3.{part}");
            let bytes = fs::read(format!("{folder}/planetoid/{name}")).unwrap();
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
        parts::Graph::new(12).write(&written, &[], true, true);
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

/// Numbers as arguments of every constructor. A byte is a small number, or at the ends of its range a huge one. The
/// first two are sizes, the third says where the other ones are cut into two lists.
pub fn constructors(bytes: &[u8]) -> bool {
    let number = |byte: &u8| match *byte as i8 {
        i8::MAX => i64::MAX,
        i8::MIN => i64::MIN,
        small => i64::from(small),
    };
    let numbers: Vec<i64> = bytes.iter().map(number).collect();
    let [rows, columns, cut, rest @ ..] = &numbers[..] else { return false };
    let (first, second) = rest.split_at(cut.unsigned_abs() as usize % (rest.len() + 1));
    // A negative number is a size that nothing has.
    let sizes = |list: &[i64]| -> Vec<usize> { list.iter().map(|&number| number as usize).collect() };
    let shape = [*rows as usize, *columns as usize];
    let options = (&device(), DType::I64);
    let ints = |list: &[i64]| Tensor::<1, Int>::from_data(TensorData::new(list.to_vec(), [list.len()]), options);
    let ones = |length: usize| Tensor::<1>::ones([length], &device());
    let pairs = first.len().min(second.len());
    let (sources, targets) = (sizes(&first[..pairs]), sizes(&second[..pairs]));
    let both = [&first[..pairs], &second[..pairs]].concat();
    let indices = || Tensor::<2, Int>::from_data(TensorData::new(both.clone(), [2, pairs]), options);
    let edges: Vec<(usize, usize)> = sources.iter().copied().zip(targets.iter().copied()).collect();
    let lists: Vec<Vec<(usize, f32)>> =
        targets.chunks(2).map(|row| row.iter().map(|&at| (at, 1.0)).collect()).collect();
    let coo = |made: sparse_tensor::Result<CooTensor<2>>| made.map(|a| a.coalesce()).is_ok();
    let csr = |made: sparse_tensor::Result<CsrTensor<2>>| made.map(|a| a.to_coo()).is_ok();
    let mut made = false;
    converting(|| {
        let found = [
            coo(CooTensor::new(indices(), ones(pairs), shape)),
            coo(CooTensor::new_inferred(indices(), ones(pairs))),
            coo(CooTensor::from_triplets(&sources, &targets, &vec![1.0f32; pairs], shape, &device())),
            coo(CooTensor::from_edges(&edges, ones(pairs), shape[0])),
            coo(CooTensor::from_rows(&lists, shape[1], &device())),
            csr(CsrTensor::new(ints(first), ints(second), ones(second.len()), shape)),
            csr(CsrTensor::new_inferred(ints(first), ints(second), ones(second.len()))),
            csr(CsrTensor::from_csc_parts(ints(first), ints(second), ones(second.len()), shape)),
            csr(CsrTensor::from_triplets(&sources, &targets, &vec![1.0f32; pairs], shape, &device())),
            csr(CsrTensor::from_edges(&edges, ones(pairs), shape[0])),
            csr(CsrTensor::from_rows(&lists, shape[1], &device())),
            CsrTensor::<3>::new(ints(first), ints(second), ones(second.len()), [shape[1], shape[0], shape[1]]).is_ok(),
            // It makes as many ones as it is told to, as `Tensor::ones` does.
            shape[0] < 1 << 16 && CooTensor::<2>::try_eye(shape[0], &device()).is_ok(),
            IndexPlan::new(ints(first), shape[0]).is_ok(),
            Bags::new(ints(first), ints(second), shape[0]).is_ok(),
        ];
        made = found[..5].contains(&true) && found[5..].contains(&true);
    });
    made
}
