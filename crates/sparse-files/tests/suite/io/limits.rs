//! Limits on what readers and conversions take.

use burn::tensor::{Device, Float, Tensor};
use sparse_dev::files;
use sparse_tensor::data::{OgbOptions, read_folder, read_ogb, read_planetoid};
use sparse_tensor::io::edge_list::{self, Options};
use sparse_tensor::io::{matrix_market, npy, npz, safetensors};
use sparse_tensor::{CooTensor, CsrTensor, Limits, Result, SparseError, dense_limit};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

fn device() -> Device {
    Device::flex()
}

fn identity(size: usize) -> CsrTensor<2> {
    CsrTensor::eye(size, &device())
}

/// A read of an ordinary file: its bytes after decompression, the most elements of one of its parts, and the read.
struct Case {
    name: &'static str,
    bytes: usize,
    elements: usize,
    read: Box<dyn Fn() -> Result<()>>,
}

fn case(name: &'static str, bytes: usize, elements: usize, read: impl Fn() -> Result<()> + 'static) -> Case {
    Case { name, bytes, elements, read: Box::new(read) }
}

/// One of every reader.
fn cases(folder: &Path) -> Vec<Case> {
    let text = "%%MatrixMarket matrix coordinate real symmetric\n9 9 2\n1 1 0.5\n9 4 2\n";
    let edges = "0 1\n1 2\n2 0\n";
    let at = |name: &str| folder.join(name);
    fs::write(at("a.mtx"), text).unwrap();
    fs::write(at("a.txt"), edges).unwrap();
    // Matrix Market by gzip.
    let mut packed = flate2::write::GzEncoder::new(vec![], flate2::Compression::default());
    std::io::Write::write_all(&mut packed, text.as_bytes()).unwrap();
    fs::write(at("a.mtx.gz"), packed.finish().unwrap()).unwrap();
    let mut array = Vec::new();
    npy::write_to(&mut array, &Tensor::<2>::ones([4, 5], &device())).unwrap();
    let (zip, tensors) = (npz::to_bytes(&identity(6)).unwrap(), safetensors::to_bytes(&identity(6)).unwrap());
    // The arrays of an archive: headers of 128 bytes each.
    let arrays = 5 * 128 + 3 + 2 * 8 + 7 * 4 + 6 * 4 + 6 * 4;
    npz::save_compressed(at("a.npz"), &identity(6)).unwrap();
    let [mtx, gz, list, zipped] = ["a.mtx", "a.mtx.gz", "a.txt", "a.npz"].map(at);
    vec![
        case("matrix_market", text.len(), 3, move || matrix_market::read(&mtx).map(drop)),
        case("matrix_market, gzip", text.len(), 3, move || matrix_market::read(&gz).map(drop)),
        case("matrix_market, memory", text.len(), 3, move || matrix_market::parse(text.as_bytes()).map(drop)),
        case("edge_list", edges.len(), 3, move || edge_list::read(&list, &Options::new()).map(drop)),
        case("edge_list, memory", edges.len(), 3, move || {
            edge_list::parse(edges.as_bytes(), &Options::new()).map(drop)
        }),
        case("npy", array.len(), 20, move || npy::from_bytes::<2, Float>(&array, &device()).map(drop)),
        case("npz", arrays, 7, move || {
            let matrix: Result<CsrTensor<2>> = npz::from_bytes(&zip, &device());
            matrix.map(drop)
        }),
        case("npz, deflated", arrays, 7, move || {
            let matrix: Result<CsrTensor<2>> = npz::load(&zipped, &device());
            matrix.map(drop)
        }),
        case("safetensors", tensors.len(), 7, move || safetensors::Archive::from_bytes(&tensors).map(drop)),
    ]
}

/// Error that names a limit.
fn names(limit: &str, name: &str, read: Result<()>) {
    let error = read.expect_err(name);
    assert!(matches!(error, SparseError::Invalid { .. }), "{name}: {error:?}");
    assert!(error.to_string().contains(limit), "{name}: {error}");
}

#[test]
fn readers_stop_at_each_limit() {
    let folder = tempfile::tempdir().unwrap();
    for Case { name, bytes, elements, read } in cases(folder.path()) {
        read().expect(name);
        Limits::new().bytes(bytes).run(&read).unwrap_or_else(|error| panic!("{name}: {error}"));
        names("Limits::bytes", name, Limits::new().bytes(bytes - 1).run(&read));
        Limits::new().elements(elements).run(&read).unwrap_or_else(|error| panic!("{name}: {error}"));
        names("Limits::elements", name, Limits::new().elements(elements - 1).run(&read));
        Limits::new().seconds(600.0).run(&read).expect(name);
        names("Limits::seconds", name, Limits::new().seconds(-1.0).run(&read));
        names("Limits::seconds", name, Limits::new().seconds(f64::NAN).run(&read));
        let all = Limits::new().bytes(bytes).elements(elements).seconds(600.0);
        all.run(&read).expect(name);
    }
}

#[test]
fn graphs_stop_at_each_limit() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    for (name, text) in [
        ("raw/num-node-list.csv", "3\n"),
        ("raw/edge.csv", "0,1\n1,2\n"),
        ("raw/node-label.csv", "0\n1\n1\n"),
        ("split/time/train.csv", "0\n"),
        ("split/time/valid.csv", "1\n"),
        ("split/time/test.csv", "2\n"),
        ("adjacency.mtx", "%%MatrixMarket matrix coordinate real symmetric\n3 3 1\n2 1 1.5\n"),
        ("features.mtx", "%%MatrixMarket matrix coordinate real general\n3 4 1\n1 2 0.5\n"),
        ("labels.txt", "0\n1\n1\n"),
        ("train.txt", "0\n"),
        ("val.txt", "1\n"),
        ("test.txt", "2\n"),
    ] {
        write(name, text);
    }
    let path = folder.path().to_path_buf();
    let ogb = {
        let path = path.clone();
        move || read_ogb(&path, &OgbOptions::new(), &device()).map(drop)
    };
    let plain = move || read_folder(&path, &device()).map(drop);
    let planetoid = || read_planetoid(files::path("planetoid"), "python3", &device()).map(drop);
    let readers: [(&str, &dyn Fn() -> Result<()>); 3] =
        [("read_ogb", &ogb), ("read_folder", &plain), ("read_planetoid", &planetoid)];
    for (name, read) in readers {
        read().expect(name);
        Limits::new().bytes(1 << 20).elements(1 << 12).seconds(600.0).run(read).expect(name);
        names("Limits::bytes", name, Limits::new().bytes(4).run(read));
        names("Limits::elements", name, Limits::new().elements(1).run(read));
        names("Limits::seconds", name, Limits::new().seconds(-1.0).run(read));
    }
}

/// Rows of which almost all are empty.
fn tall(rows: usize) -> CooTensor<2> {
    CooTensor::from_edges(&[(0, 1), (rows - 1, 0)], Tensor::<1>::ones([2], &device()), [rows, 2]).unwrap()
}

fn refused(result: Result<impl Sized>) -> String {
    let error = result.map(drop).unwrap_err();
    assert_eq!(error.kind(), "would_densify");
    error.to_string()
}

#[test]
fn conversions_stop_at_each_limit() {
    let (a, pointers) = (tall(1000), 1001);
    let to_csr = || a.try_to_csr();
    assert_eq!(Limits::new().elements(pointers).run(to_csr).unwrap().dims(), [1000, 2]);
    assert!(refused(Limits::new().elements(pointers - 1).run(to_csr)).contains("to_csr: "));
    assert_eq!(Limits::new().bytes(4 * pointers).run(to_csr).unwrap().dims(), [1000, 2]);
    assert!(refused(Limits::new().bytes(4 * pointers - 1).run(to_csr)).contains("Limits::bytes"));
    // Pointers that the elements account for are always allowed: 64 for each of 2 * 3 numbers.
    assert!(Limits::new().elements(10).bytes(10).run(|| tall(6 * 64).try_to_csr()).is_ok());

    let to_dense = || a.try_to_dense();
    assert_eq!(Limits::new().elements(2000).run(dense_limit), 2000);
    assert!(Limits::new().elements(2000).run(to_dense).is_ok());
    assert!(refused(Limits::new().elements(1999).run(to_dense)).contains("to_dense: "));
    assert!(Limits::new().bytes(8000).run(to_dense).is_ok());
    assert!(refused(Limits::new().bytes(7999).run(to_dense)).contains("Limits::bytes"));
}

#[test]
fn by_default_a_few_edges_may_have_millions_of_rows() {
    // 10 million nodes: 40 MB of pointers.
    assert_eq!(tall(10_000_000).to_csr().dims(), [10_000_000, 2]);
    let text = "%%MatrixMarket matrix coordinate pattern general\n67108864 3 1\n7 1\n";
    let read = || matrix_market::parse(text.as_bytes())?.to_csr(&device());
    let error = refused(read());
    assert!(error.contains("67108865 elements, more than the limit of 67108864"), "{error}");
    assert!(refused(tall(1 << 26).try_to_csr()).contains("to_csr: "));
    assert!(refused(CsrTensor::<2>::try_zeros([1 << 26, 1], &device())).contains("zeros: "));
    let edges = edge_list::parse(&b"0 67108863\n"[..], &Options::new()).unwrap();
    assert!(refused(edges.to_csr(&device())).contains("to_csr: "));
}

#[test]
fn limits_end_with_their_closure() {
    let before = dense_limit();
    let inner = Limits::new().elements(5).run(|| {
        let inner = Limits::new().bytes(7).run(dense_limit);
        assert_eq!((dense_limit(), std::thread::spawn(dense_limit).join().unwrap()), (5, before));
        inner
    });
    assert_eq!((inner, dense_limit()), (before, before));
    let stopped = catch_unwind(AssertUnwindSafe(|| Limits::new().elements(5).run(|| panic!("stop"))));
    assert!(stopped.is_err());
    assert_eq!(dense_limit(), before);
}
