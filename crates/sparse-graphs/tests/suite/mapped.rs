//! Graphs and features in mapped files: the same samples as from memory, for any number of threads; files that are cut
//! off, wrong, or not what they claim; hot rows.

use burn::tensor::{Bytes, DType, Device, Int, Tensor, TensorData};
use sparse_core::graph::{Stream, mix};
use sparse_tensor::data::{
    Direction, FeatureStore, GraphStore, MappedGraph, NeighborBatch, NeighborLoader, NeighborSampler,
    NeighborSamplerConfig,
};
use sparse_tensor::io::{MappedFile, npy, safetensors};
use sparse_tensor::pattern::{CooPattern, CsrPattern, Pattern};
use sparse_tensor::{CooTensor, CsrTensor};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use tempfile::TempDir;

const NODES: usize = 3000;

fn device() -> Device {
    Device::flex()
}

/// Row pointers and columns of a random graph whose first nodes have many edges.
fn arrays() -> (Vec<i64>, Vec<i32>) {
    let (mut ptr, mut idx) = (vec![0], vec![]);
    for node in 0..NODES {
        let mut stream = Stream::new(mix(3, node as u64));
        let degree = if node < 5 { 900 } else { stream.below(12) };
        let mut row: Vec<i32> = (0..degree).map(|_| stream.below(NODES) as i32).collect();
        row.sort_unstable();
        row.dedup();
        idx.extend(row);
        ptr.push(idx.len() as i64);
    }
    (ptr, idx)
}

fn ints<E: burn::tensor::Element>(list: Vec<E>, dtype: DType) -> Tensor<1, Int> {
    let length = list.len();
    Tensor::from_data(TensorData::new(list, [length]), (&device(), dtype))
}

/// The graph in memory: values are small multiples of 1/4, some 0.
fn graph() -> CsrTensor<2> {
    let (ptr, idx) = arrays();
    let values: Vec<f32> = (0..idx.len()).map(|k| (k % 9) as f32 / 4.0).collect();
    let nnz = idx.len();
    let pattern = CsrPattern::new(ints(ptr, DType::I64), ints(idx, DType::I32), &[NODES, NODES]).unwrap();
    CsrTensor::from_pattern(pattern, Tensor::<1>::from_data(TensorData::new(values, [nnz]), &device())).unwrap()
}

struct Files {
    folder: TempDir,
}

impl Files {
    /// The graph as a safetensors file with and without values, and as arrays of NumPy with pointers of 64 bits.
    fn new() -> Self {
        let own = Self { folder: tempfile::tempdir().unwrap() };
        let (ptr, idx) = arrays();
        let graph = graph();
        safetensors::save(own.at("a.safetensors"), &graph).unwrap();
        let mut archive = safetensors::Archive::new();
        archive.insert("weighted", &graph).unwrap();
        archive.insert_pattern("plain", graph.pattern()).unwrap();
        archive.save(own.at("both.safetensors")).unwrap();
        npy::save(own.at("ptr.npy"), &ints(ptr, DType::I64)).unwrap();
        npy::save(own.at("idx.npy"), &ints(idx, DType::I32)).unwrap();
        npy::save(own.at("values.npy"), &graph.values::<1>()).unwrap();
        own
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

/// All numbers of a batch.
fn numbers(batch: &NeighborBatch) -> (Vec<usize>, Vec<usize>, Vec<usize>, Vec<TensorData>) {
    let blocks = batch.blocks().iter().flat_map(|block| {
        let pattern = block.pattern();
        [pattern.row_ptr().to_data(), pattern.col_idx().to_data(), block.values::<1>().into_data()]
    });
    (batch.nodes().ids().to_vec(), batch.counts().to_vec(), batch.edge_ids().to_vec(), blocks.collect())
}

#[test]
fn samples_of_a_file_are_those_of_memory() {
    let (files, graph, seeds) = (Files::new(), graph(), [7, 0, 1, 2999, 7, 500, 4]);
    let ones = CsrTensor::from_pattern(graph.pattern().clone(), graph.values::<1>().ones_like()).unwrap();
    let npy = |values: Option<&str>| {
        let values = values.map(|name| files.at(name));
        MappedGraph::open_npy(files.at("ptr.npy"), files.at("idx.npy"), values.as_deref()).unwrap()
    };
    let weighted = [
        MappedGraph::open(files.at("a.safetensors")).unwrap(),
        MappedGraph::open_named(files.at("both.safetensors"), "weighted").unwrap(),
        npy(Some("values.npy")),
    ];
    let plain = [MappedGraph::open_named(files.at("both.safetensors"), "plain").unwrap(), npy(None)];
    let compare = |config: &NeighborSamplerConfig, memory: &CsrTensor<2>, stores: &[MappedGraph]| {
        let memory = config.init(memory);
        for (draw, store) in stores.iter().flat_map(|store| [0, 1, 7].map(|draw| (draw, store))) {
            store.check().unwrap();
            let want = numbers(&memory.sample(&seeds, draw));
            for threads in [1, 2, 8] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let sampler = config.init_store(Arc::new(store.clone()), &device());
                assert_eq!((sampler.nodes(), sampler.store().edges()), (NODES, graph.nnz()));
                assert!(sampler.adjacency().is_none() && memory.adjacency().is_some());
                let got = pool.install(|| numbers(&sampler.sample(&seeds, draw)));
                assert_eq!(got, want, "{store:?}, {threads} threads");
            }
        }
    };
    for (replace, fan_outs) in [(false, vec![60, 4]), (true, vec![60, 4]), (false, vec![3, NeighborSampler::ALL, 2])] {
        let config = NeighborSamplerConfig::new(fan_outs).with_replace(replace).with_seed(5);
        compare(&config, &graph, &weighted);
        compare(&config, &ones, &plain);
        compare(&config.with_weighted(true), &graph, &weighted);
    }
}

/// An epoch with worker threads over a file, with features: what a loop over memory gives.
#[test]
fn epochs_of_a_file_are_those_of_memory() {
    let (files, graph) = (Files::new(), graph());
    let x = Tensor::<1, Int>::arange(0..(NODES * 6) as i64, &device()).float().reshape([NODES, 6]);
    npy::save(files.at("x.npy"), &x).unwrap();
    let config = NeighborSamplerConfig::new(vec![5, 3]);
    let seeds: Vec<usize> = (0..200).collect();
    let memory = NeighborLoader::new(config.init(&graph), &seeds, 30).unwrap();
    let store = Arc::new(MappedGraph::open(files.at("a.safetensors")).unwrap());
    for hot in [0, 1, 50, NODES] {
        let features = Arc::new(FeatureStore::open_npy(files.at("x.npy")).unwrap().with_hot_rows(hot));
        let file = NeighborLoader::new(config.init_store(store.clone(), &device()), &seeds, 30).unwrap();
        let own = features.clone();
        let batches = file.with_workers(3).epoch_with(2, move |batch| {
            let x: Tensor<2> = batch.stored_features(&own, &device());
            (batch, x)
        });
        let (mut rows, mut different) = (0, BTreeSet::new());
        for ((got, features), want) in batches.zip(memory.epoch(2)) {
            assert_eq!(numbers(&got), numbers(&want));
            assert_eq!(features.into_data(), want.features(x.clone()).into_data());
            rows += got.nodes().len() as u64;
            different.extend(got.nodes().ids().to_vec());
        }
        let (hits, misses) = features.served();
        assert_eq!(hits + misses, if hot == 0 { 0 } else { rows });
        if hot == NODES {
            // Two workers may miss a row at the same time.
            assert!(hits > 0 && misses >= different.len() as u64, "{hits} of {rows}");
        }
    }
}

/// Against a list that is kept by the rule's own words.
#[test]
fn hot_rows_are_the_last_ones_used() {
    let files = Files { folder: tempfile::tempdir().unwrap() };
    let x = Tensor::<1, Int>::arange(0..120, &device()).reshape([40, 3]);
    npy::save(files.at("x.npy"), &x).unwrap();
    let plain = FeatureStore::open_npy(files.at("x.npy")).unwrap();
    let store = FeatureStore::open_npy(files.at("x.npy")).unwrap().with_hot_rows(7);
    let (mut hot, mut served): (Vec<usize>, _) = (vec![], (0, 0));
    let mut stream = Stream::new(5);
    for _ in 0..300 {
        // Different rows: of a row that is named twice, both are looked up before it is kept.
        let mut ids: Vec<usize> = (0..stream.below(6)).map(|_| stream.below(40).min(stream.below(40))).collect();
        ids.sort_unstable();
        ids.dedup();
        store.ask(&ids);
        let [got, want] = [&store, &plain].map(|store| store.gather::<2, Int>(&ids, &device()).into_data());
        assert_eq!(got, want);
        let (old, new): (Vec<usize>, Vec<usize>) = ids.into_iter().partition(|id| hot.contains(id));
        served = (served.0 + old.len() as u64, served.1 + new.len() as u64);
        hot.retain(|id| !old.contains(id));
        hot.extend(old.into_iter().chain(new));
        hot.drain(..hot.len().saturating_sub(7));
        assert_eq!(store.served(), served);
    }
    assert!(served.0 > 100, "rows were hot");
    assert_eq!(plain.served(), (0, 0));
    let kinds = |error: sparse_tensor::SparseError| error.kind();
    assert_eq!(store.try_gather::<2, Int>(&[0, 40], &device()).map_err(kinds).unwrap_err(), "index_out_of_range");
    assert_eq!(store.try_gather::<1, Int>(&[0], &device()).map_err(kinds).unwrap_err(), "shape_mismatch");
    assert_eq!(
        store.try_gather::<2, burn::tensor::Float>(&[0], &device()).map_err(kinds).unwrap_err(),
        "dtype_mismatch"
    );
    assert_eq!(store.gather::<2, Int>(&[], &device()).dims(), [0, 3]);
}

/// Every cut of a file is found when it is opened.
#[test]
fn files_that_are_cut_off_are_errors() {
    let (files, cut) =
        (Files::new(), |bytes: &[u8], length: usize, name: &PathBuf| fs::write(name, &bytes[..length]).unwrap());
    let name = files.at("cut");
    for (file, step) in [("a.safetensors", 997), ("ptr.npy", 501), ("idx.npy", 997)] {
        let whole = fs::read(files.at(file)).unwrap();
        let lengths = (0..whole.len()).step_by(step).chain(whole.len().saturating_sub(9)..whole.len());
        for length in lengths {
            cut(&whole, length, &name);
            let error = match file {
                "a.safetensors" => MappedGraph::open(&name),
                "ptr.npy" => MappedGraph::open_npy(&name, files.at("idx.npy"), None),
                _ => MappedGraph::open_npy(files.at("ptr.npy"), &name, None),
            };
            assert_eq!(error.expect_err("a part is no graph").kind(), "invalid", "{file} cut to {length}");
            let bytes = MappedFile::open(&name).unwrap().bytes();
            let shared = match file {
                "a.safetensors" => {
                    safetensors::from_shared::<CsrPattern, 2, _>(bytes, &device()).map(|a: CsrTensor<2>| a.nnz())
                }
                _ => npy::from_shared::<1, Int>(bytes, &device()).map(|a| a.dims()[0]),
            };
            assert_eq!(shared.expect_err("a part is no tensor").kind(), "invalid", "{file} cut to {length}");
        }
        // One byte more is wrong as well.
        fs::write(&name, [&whole[..], &[0]].concat()).unwrap();
        assert!(MappedFile::open(&name).unwrap().check().is_ok());
        let bytes = MappedFile::open(&name).unwrap().bytes();
        match file {
            "a.safetensors" => assert!(safetensors::pattern_from_shared::<CsrPattern>(bytes, &device()).is_err()),
            _ => assert!(npy::from_shared::<1, Int>(bytes, &device()).is_err()),
        }
    }
}

/// A file that is cut while it is mapped: the next hop notices, before it touches a page.
#[cfg(unix)]
#[test]
fn files_that_are_cut_later_are_errors() {
    for cut in ["idx.npy", "ptr.npy"] {
        let files = Files::new();
        let graph = MappedGraph::open_npy(files.at("ptr.npy"), files.at("idx.npy"), None).unwrap();
        let sampler = NeighborSamplerConfig::new(vec![3, 3]).init_store(Arc::new(graph.clone()), &device());
        assert!(sampler.try_sample(&[1, 2], 0).is_ok());
        fs::OpenOptions::new().write(true).open(files.at(cut)).unwrap().set_len(4096).unwrap();
        let message = sampler.try_sample(&[1, 2], 0).expect_err("the file was cut").to_string();
        assert!(message.contains("while it is mapped, got 4096"), "{message}");
        // The columns of a hop do not touch the pointers.
        assert_eq!(graph.columns(&[0], &mut vec![]).is_err(), cut == "idx.npy");
        assert_eq!(graph.check().expect_err("the file was cut").kind(), "invalid");
    }
}

/// A tensor that is a part of a mapped file can be saved to the same path, and stays what it is.
#[test]
fn what_is_mapped_is_saved_over_its_own_file() {
    let files = Files::new();
    let x = Tensor::<2>::from_floats([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], &device());
    let path = files.at("x.npy");
    npy::save(&path, &x).unwrap();
    let shared: Tensor<2> = npy::from_shared(MappedFile::open(&path).unwrap().bytes(), &device()).unwrap();
    npy::save(&path, &shared.clone().slice([0..1, 0..3])).unwrap();
    shared.into_data().assert_eq(&x.clone().into_data(), true);
    let saved: Tensor<2> = npy::load(&path, &device()).unwrap();
    saved.into_data().assert_eq(&x.slice([0..1, 0..3]).into_data(), true);

    let path = files.at("a.safetensors");
    let a = graph();
    safetensors::save(&path, &a).unwrap();
    let shared: CsrTensor<2> = safetensors::from_shared(MappedFile::open(&path).unwrap().bytes(), &device()).unwrap();
    safetensors::save(&path, &shared).unwrap();
    let saved: CsrTensor<2> = safetensors::load(&path, &device()).unwrap();
    for b in [shared, saved] {
        b.values::<1>().into_data().assert_eq(&a.values::<1>().into_data(), true);
    }
}

/// Writes a graph of 4 nodes with these arrays.
fn small(files: &Files, ptr: &[i64], idx: &[i32]) -> Result<MappedGraph, sparse_tensor::SparseError> {
    npy::save(files.at("p.npy"), &ints(ptr.to_vec(), DType::I64)).unwrap();
    npy::save(files.at("i.npy"), &ints(idx.to_vec(), DType::I32)).unwrap();
    MappedGraph::open_npy(files.at("p.npy"), files.at("i.npy"), None)
}

#[test]
fn wrong_files_are_errors() {
    let files = Files::new();
    for (ptr, idx, kind, message) in [
        (&[0, 2, 1, 3, 3][..], &[0, 1, 2][..], "invalid_row_ptr", "row_ptr must never descend, got 1 at position 2"),
        (&[0, 2, 9, 3, 3], &[0, 1, 2], "invalid_row_ptr", "row_ptr must be in [0, nnz], got 9 at position 2"),
        (&[0, 2, 2, 3, 3], &[0, 4, 2], "index_out_of_range", "must be in [0, 4), got 4 at position 1"),
        (&[0, 2, 2, 3, 3], &[-1, 1, 2], "index_out_of_range", "must be in [0, 4), got -1 at position 0"),
    ] {
        let graph = small(&files, ptr, idx).unwrap();
        let sampler = NeighborSamplerConfig::new(vec![3, 3]).init_store(Arc::new(graph.clone()), &device());
        for error in [sampler.try_sample(&[0, 1], 0).map(|_| ()), graph.check()] {
            let error = error.expect_err("a fault");
            assert_eq!(error.kind(), kind);
            assert!(error.to_string().contains(message), "{error}");
        }
        // What is right can still be sampled, also after an error.
        assert!(sampler.try_sample(&[3], 0).is_ok());
        assert_eq!(sampler.try_sample(&[4], 0).expect_err("no node").kind(), "index_out_of_range");
    }
    for (ptr, idx, kind) in [
        (&[1, 2, 2, 3, 3][..], &[0, 1, 2][..], "invalid_row_ptr"),
        (&[0, 2, 2, 3, 4], &[0, 1, 2], "invalid_row_ptr"),
        (&[], &[0, 1, 2], "length_mismatch"),
    ] {
        assert_eq!(small(&files, ptr, idx).expect_err("a fault").kind(), kind);
    }
    // Arrays of another kind, and values of another length.
    let [ptr, idx, values] = ["ptr.npy", "idx.npy", "values.npy"].map(|name| files.at(name));
    let wrong = |error: Result<MappedGraph, sparse_tensor::SparseError>, kind: &str, part: &str| {
        let error = error.expect_err("a fault");
        assert!(error.kind() == kind && error.to_string().contains(part), "{error}");
    };
    wrong(MappedGraph::open_npy(&values, &idx, None), "invalid", "row_ptr must be i32 or i64");
    wrong(MappedGraph::open_npy(&ptr, &values, None), "invalid", "col_idx must be i32 or i64");
    wrong(MappedGraph::open_npy(&ptr, &idx, Some(&ptr)), "invalid", "values must be floats");
    npy::save(files.at("short.npy"), &Tensor::<1>::ones([5], &device())).unwrap();
    wrong(MappedGraph::open_npy(&ptr, &idx, Some(&files.at("short.npy"))), "length_mismatch", "values");
    wrong(MappedGraph::open_npy(files.at("none.npy"), &idx, None), "invalid", "none.npy: cannot be read");
    wrong(MappedGraph::open_named(files.at("both.safetensors"), "other"), "invalid", "named \"other\"");
    // Another version, another layout, another shape.
    let bytes = fs::read(files.at("a.safetensors")).unwrap();
    let mut other = bytes.clone();
    let version = b"\\\"version\\\":1";
    let at = other.windows(version.len()).position(|part| part == version).unwrap();
    other[at + version.len() - 1] = b'2';
    fs::write(files.at("b.safetensors"), other).unwrap();
    wrong(MappedGraph::open(files.at("b.safetensors")), "invalid", "version must be 1, got 2");
    let flat = CooTensor::<1>::from_dense(Tensor::ones([4], &device()), 0);
    safetensors::save(files.at("c.safetensors"), &flat).unwrap();
    wrong(MappedGraph::open(files.at("c.safetensors")), "invalid", "must be a CSR matrix");
    let wide = CsrTensor::<2>::from_dense(Tensor::ones([2, 3], &device()));
    safetensors::save(files.at("d.safetensors"), &wide).unwrap();
    // Rectangular: rows of targets, columns of sources.
    assert_eq!(MappedGraph::open(files.at("d.safetensors")).unwrap().nodes(), 3);
    let tall = CsrTensor::<2>::from_dense(Tensor::ones([3, 2], &device()));
    safetensors::save(files.at("e.safetensors"), &tall).unwrap();
    let sampler = |name| {
        let store = Arc::new(MappedGraph::open(files.at(name)).unwrap());
        NeighborSamplerConfig::new(vec![3]).try_init_store(store, &device())
    };
    assert!(sampler("e.safetensors").unwrap_err().to_string().contains("as many rows as columns, 2"));
    let missing = sampler("d.safetensors").unwrap().try_sample(&[2], 0).unwrap_err();
    assert_eq!(missing.kind(), "index_out_of_range");
    // Directions that a store cannot give, and fan-outs.
    let store = || Arc::new(MappedGraph::open(files.at("a.safetensors")).unwrap());
    for direction in [Direction::Columns, Direction::Both] {
        let config = NeighborSamplerConfig::new(vec![3]).with_direction(direction);
        assert_eq!(config.try_init_store(store(), &device()).expect_err("rows only").kind(), "invalid");
    }
    assert!(NeighborSamplerConfig::new(vec![0]).try_init_store(store(), &device()).is_err());
    // Features.
    let kind = |error: Result<FeatureStore, sparse_tensor::SparseError>| error.expect_err("a fault").kind();
    assert_eq!(kind(FeatureStore::open(files.at("a.safetensors"), "none")), "invalid");
    let values = FeatureStore::open(files.at("a.safetensors"), "values").unwrap();
    let sampler = NeighborSamplerConfig::new(vec![3]).init(&graph());
    let error = sampler.sample(&[1], 0).try_stored_features::<1, burn::tensor::Float>(&values, &device());
    assert_eq!(error.expect_err("a row for each edge").kind(), "length_mismatch");
}

/// The tensors of shared bytes are those of bytes that are copied, for whatever the bytes are.
#[test]
fn shared_bytes_give_the_same_tensors() {
    let files = Files::new();
    let whole = fs::read(files.at("a.safetensors")).unwrap();
    let want: CsrTensor<2> = safetensors::from_bytes(&whole, &device()).unwrap();
    // Mapped; in memory that can be shared, and that cannot.
    let mapped = || MappedFile::open(files.at("a.safetensors")).unwrap().bytes();
    for bytes in [mapped(), Bytes::from_elems(whole.clone()).shared(), Bytes::from_elems(whole.clone())] {
        let got: CsrTensor<2> = safetensors::from_shared(bytes, &device()).unwrap();
        assert_eq!(got.pattern().row_ptr().to_data(), want.pattern().row_ptr().to_data());
        assert_eq!(got.pattern().col_idx().to_data(), want.pattern().col_idx().to_data());
        assert_eq!(got.values::<1>().into_data(), want.values::<1>().into_data());
        let product = |a: &CsrTensor<2>| a.matmul(Tensor::<2>::ones([NODES, 4], &device())).into_data();
        assert_eq!(product(&got), product(&want));
    }
    let pattern: CsrPattern = safetensors::pattern_from_shared(mapped(), &device()).unwrap();
    assert_eq!((pattern.shape(), pattern.nnz()), (want.pattern().shape(), want.nnz()));
    // A change of a shared tensor changes a copy.
    let got: CsrTensor<2> = safetensors::from_shared(mapped(), &device()).unwrap();
    let doubled = got.values::<1>() * 2.0;
    assert_eq!(doubled.into_data(), (want.values::<1>() * 2.0).into_data());
    assert_eq!(fs::read(files.at("a.safetensors")).unwrap(), whole);
    // A pattern without values, of either layout; such a name has no tensor.
    let archive = safetensors::Archive::from_shared(MappedFile::open(files.at("both.safetensors")).unwrap().bytes());
    let archive = archive.unwrap();
    let plain: CsrPattern = archive.get_pattern("plain", &device()).unwrap();
    assert_eq!(plain.col_idx().to_data(), want.pattern().col_idx().to_data());
    assert_eq!(archive.get::<CsrPattern, 2, burn::tensor::Float>("plain", &device()).unwrap_err().kind(), "invalid");
    assert_eq!(archive.get_pattern::<CooPattern>("plain", &device()).unwrap_err().kind(), "layout_mismatch");
    let coo = want.to_coo();
    let mut archive = safetensors::Archive::new();
    archive.insert_pattern("", coo.pattern()).unwrap();
    assert_eq!(archive.insert_pattern("", coo.pattern()).unwrap_err().kind(), "invalid");
    let bytes = Bytes::from_elems(archive.to_bytes().unwrap()).shared();
    let read: CooPattern = safetensors::pattern_from_shared(bytes, &device()).unwrap();
    assert_eq!(read.coordinates().to_data(), coo.pattern().coordinates().to_data());
}

/// Arrays of NumPy: those that can be used where they lie, and those that must be converted.
#[test]
fn shared_arrays_are_those_of_files() {
    let device = device();
    let base = Tensor::<2>::from_floats([[0.0, 1.5], [2.0, -3.0], [4.0, 5.0]], &device);
    for dtype in [DType::F16, DType::F32, DType::F64] {
        let mut bytes = Vec::new();
        npy::write_to(&mut bytes, &base.clone().cast(dtype)).unwrap();
        for asked in [None, Some(DType::F32), Some(DType::F64)] {
            let read = |bytes: Bytes| -> TensorData {
                let a: Tensor<2> = match asked {
                    None => npy::from_shared(bytes, &device),
                    Some(dtype) => npy::from_shared(bytes, (&device, dtype)),
                }
                .unwrap();
                assert_eq!(a.dtype(), asked.unwrap_or(dtype));
                a.into_data()
            };
            let want = base.clone().cast(asked.unwrap_or(dtype)).into_data();
            assert_eq!(read(Bytes::from_elems(bytes.clone()).shared()), want);
            assert_eq!(read(Bytes::from_elems(bytes.clone())), want);
            // Not aligned: copied.
            let shifted = Bytes::from_elems([&[0], &bytes[..]].concat()).shared();
            assert_eq!(read(shifted.view(1, bytes.len() + 1).unwrap()), want);
        }
        let error = |bytes: &[u8]| npy::from_shared::<2, Int>(Bytes::from_elems(bytes.to_vec()).shared(), &device);
        assert_eq!(error(&bytes).unwrap_err().kind(), "dtype_mismatch");
        assert_eq!(error(&bytes[..bytes.len() - 1]).unwrap_err().kind(), "invalid");
    }
    let array = |head: &str, elements: &[u8]| {
        let mut header = head.as_bytes().to_vec();
        header.resize(header.len().next_multiple_of(64) + 54, b' ');
        let bytes = [&b"\x93NUMPY\x01\x00"[..], &(header.len() as u16).to_le_bytes(), &header, elements].concat();
        Bytes::from_elems(bytes).shared()
    };
    // Fortran order, big-endian, a narrow type, Bool.
    let elements: Vec<u8> = [1i32, 2, 3, 4, 5, 6].iter().flat_map(|x| x.to_le_bytes()).collect();
    let a: Tensor<2, Int> =
        npy::from_shared(array("{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3)}", &elements), &device)
            .unwrap();
    assert_eq!(a.into_data(), TensorData::from([[1i32, 3, 5], [2, 4, 6]]));
    let big: Vec<u8> = [1i32, -2].iter().flat_map(|x| x.to_be_bytes()).collect();
    let a: Tensor<1, Int> =
        npy::from_shared(array("{'descr': '>i4', 'fortran_order': False, 'shape': (2,)}", &big), &device).unwrap();
    assert_eq!(a.into_data(), TensorData::from([1i32, -2]));
    let head = "{'descr': '|i1', 'fortran_order': False, 'shape': (2,)}";
    let a: Tensor<1, Int> = npy::from_shared(array(head, &[7, 255]), &device).unwrap();
    assert_eq!(a.into_data(), TensorData::from([7i32, -1]));
    let head = "{'descr': '|b1', 'fortran_order': False, 'shape': (2,)}";
    let a: Tensor<1, burn::tensor::Bool> = npy::from_shared(array(head, &[1, 0]), &device).unwrap();
    assert_eq!(a.to_data().iter::<bool>().collect::<Vec<_>>(), [true, false]);
    let wrong = npy::from_shared::<1, burn::tensor::Bool>(array(head, &[1, 2]), &device);
    assert!(wrong.unwrap_err().to_string().contains("got 2 at position 1"));
}

/// Pointers of 64 bits beside columns of 32: the pattern is that of equal types, and faults keep their numbers.
#[test]
fn pointers_may_be_wider_than_columns() {
    let (ptr, idx) = arrays();
    let pattern =
        |ptr: Vec<i64>, idx: Vec<i32>| CsrPattern::new(ints(ptr, DType::I64), ints(idx, DType::I32), &[NODES, NODES]);
    let own = pattern(ptr.clone(), idx.clone()).unwrap();
    assert_eq!(own.row_ptr().to_data().iter::<i64>().collect::<Vec<_>>(), ptr);
    assert_eq!((own.row_ptr().dtype(), own.col_idx().dtype()), (own.index_dtype(), own.index_dtype()));
    let mut wrong = ptr.clone();
    wrong[7] = 1 << 40;
    let error = pattern(wrong, idx.clone()).unwrap_err();
    assert!(error.kind() == "invalid_row_ptr", "{error}");
    let mut wrong = ptr;
    *wrong.last_mut().unwrap() = (1 << 40) + 3;
    let error = pattern(wrong, idx).unwrap_err().to_string();
    assert!(error.contains("1099511627779"), "{error}");
}
