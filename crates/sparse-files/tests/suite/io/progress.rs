//! What readers tell of their progress: it grows in small steps up to all bytes, and changes neither result nor error.

use burn::tensor::{Device, Int, Tensor};
use flate2::{Compression, write::GzEncoder};
use sparse_dev::files::{heard, path};
use sparse_tensor::data::{
    Graph, OgbOptions, read_folder, read_folder_with, read_ogb, read_ogb_with, read_planetoid, read_planetoid_with,
};
use sparse_tensor::io::safetensors::{self, Archive};
use sparse_tensor::io::{Progress, matrix_market};
use sparse_tensor::{CooTensor, CsrTensor};
use std::fs;
use std::io::Write;
use std::path::Path;

/// No step is longer.
const STEP: u64 = 1 << 20;

/// The same for files of many bytes that are read one after the other: no step is long.
fn in_steps<T>(total: u64, read: impl FnOnce(&mut Progress<'_>) -> T) -> T {
    assert!(total > 3 * STEP, "{total}");
    let mut last = 0;
    let (result, _) = heard(total, |progress| {
        read(&mut |done, total| {
            assert!((last..=last + STEP).contains(&done), "from {last} to {done}");
            last = done;
            progress(done, total);
        })
    });
    result
}

/// The message of a read that fails, which tells of some of the bytes and not of all.
fn in_the_middle<T>(total: u64, read: impl FnOnce(&mut Progress<'_>) -> sparse_tensor::Result<T>) -> String {
    let mut heard = Vec::new();
    let trouble = read(&mut |done, all| heard.push((done, all))).err().expect("this read fails");
    assert!(heard.is_sorted() && heard.iter().all(|&(_, all)| all == total), "{total}: {heard:?}");
    assert!(heard.last().is_some_and(|last| 0 < last.0 && last.0 < total), "{total}: {heard:?}");
    trouble.to_string()
}

/// The bytes of all files in a folder, and in those in it.
fn size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| if path.is_dir() { size(&path) } else { fs::metadata(&path).unwrap().len() }).sum()
}

const HEAD: &str = "%%MatrixMarket matrix coordinate real symmetric\n";

/// More than a million bytes of blank lines.
fn blank() -> String {
    "\n".repeat(1_200_000)
}

fn is_same(a: &Graph, b: &Graph) {
    assert_eq!(a.adjacency.to_triplets::<f64>(), b.adjacency.to_triplets::<f64>());
    assert_eq!(a.features.to_triplets::<f64>(), b.features.to_triplets::<f64>());
    assert_eq!(a.labels.to_vec(), b.labels.to_vec());
    assert_eq!((&a.splits, a.labels.classes()), (&b.splits, b.labels.classes()));
    assert!(a.edges() > 0 && a.features.nnz() > 0 && !a.splits.train.is_empty());
}

#[test]
fn matrix_market_files() {
    let folder = tempfile::tempdir().unwrap();
    let comment = format!("%{}\n", "c".repeat(99)).repeat(20_000);
    let good = format!("{HEAD}{comment}3 3 2\n2 1 0.5\n{comment}3 3 -1\n");
    let bad = format!("{HEAD}{comment}3 3 2\n2 4 0.5\n{comment}3 3 -1\n");
    let right = matrix_market::parse(good.as_bytes()).unwrap();
    assert_eq!(right.coordinates, [(1, 0), (0, 1), (2, 2)]);
    for (name, compressed) in [("a.mtx", false), ("a.mtx.gz", true)] {
        let path = folder.path().join(name);
        let bytes = |text: &str| {
            // Stored, so that the file is as long as its text.
            let mut out = GzEncoder::new(vec![], Compression::none());
            out.write_all(text.as_bytes()).unwrap();
            if compressed { out.finish().unwrap() } else { text.into() }
        };
        let file = bytes(&good);
        fs::write(&path, &file).unwrap();
        let total = file.len() as u64;
        let got = in_steps(total, |progress| matrix_market::read_with(&path, progress)).unwrap();
        assert!(got == right && matrix_market::read(&path).unwrap() == right);

        fs::write(&path, bytes(&bad)).unwrap();
        let message = in_the_middle(total, |progress| matrix_market::read_with(&path, progress));
        assert_eq!(message, matrix_market::read(&path).unwrap_err().to_string());
        assert!(message.contains(name) && message.contains("line 20003") && message.contains('4'), "{message}");
    }
    let silence = &mut |_, _| panic!("there is no such file");
    let message = matrix_market::read_with("/no/such.mtx", silence).unwrap_err().to_string();
    assert!(message.contains("/no/such.mtx") && message.contains("cannot be read"), "{message}");
}

#[test]
fn safetensors_files() {
    let (device, count) = (Device::flex(), 500_000);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.safetensors");
    let indices = Tensor::<1, Int>::arange(0..count as i64, &device).reshape([1, count]);
    let values = Tensor::<1>::random([count], burn::tensor::Distribution::Default, &device);
    let a = CooTensor::<1>::new(indices, values, [count]).unwrap();
    let bytes = safetensors::to_bytes(&a).unwrap();
    let total = bytes.len() as u64;
    fs::write(&path, &bytes).unwrap();
    let b: CooTensor<1> = in_steps(total, |progress| safetensors::load_with(&path, &device, progress)).unwrap();
    let c: CooTensor<1> = safetensors::load(&path, &device).unwrap();
    assert!(safetensors::to_bytes(&b).unwrap() == bytes && safetensors::to_bytes(&c).unwrap() == bytes);

    let mut archive = Archive::new();
    archive.insert("large", &a).unwrap();
    archive.insert("small", &CsrTensor::<2>::eye(2, &device)).unwrap();
    archive.save(&path).unwrap();
    let total = fs::metadata(&path).unwrap().len();
    let archive = in_steps(total, |progress| Archive::load_with(&path, progress)).unwrap();
    assert_eq!(archive.names().collect::<Vec<_>>(), ["large", "small"]);
    assert!(archive.to_bytes().unwrap() == fs::read(&path).unwrap());

    // Bytes that are left over, and bytes that are missing: both are known at the end only.
    fs::write(&path, [&bytes[..], &[0]].concat()).unwrap();
    let total = bytes.len() as u64 + 1;
    let (trouble, _) = heard(total, |progress| Archive::load_with(&path, progress).unwrap_err().to_string());
    assert!(trouble.contains("a.safetensors") && trouble.contains("1 bytes more"), "{trouble}");
    fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    let total = bytes.len() as u64 - 1;
    let (trouble, _) = heard(total, |progress| Archive::load_with(&path, progress).unwrap_err().to_string());
    assert!(trouble.contains("a.safetensors") && trouble.contains("before the end"), "{trouble}");
    assert_eq!(trouble, Archive::load(&path).unwrap_err().to_string());
}

#[test]
fn folders_of_plain_text() {
    let (device, folder) = (Device::flex(), tempfile::tempdir().unwrap());
    let write = |name: &str, text: String| fs::write(folder.path().join(name), text).unwrap();
    write("adjacency.mtx", format!("{HEAD}3 3 2\n2 1 0.5\n{}3 2 2\n", blank()));
    write("features.mtx", format!("{HEAD}{}3 3 2\n2 1 0.5\n3 3 7\n", blank()));
    write("labels.txt", format!("0\n{}1\n1\n", blank()));
    write("train.txt", format!("2\n0\n{}", blank()));
    write("val.txt", String::new());
    write("test.txt", "1".into());
    let total = size(folder.path());
    let graph = in_steps(total, |progress| read_folder_with(folder.path(), &device, progress)).unwrap();
    assert_eq!((&graph.splits.train[..], &graph.splits.test[..]), (&[2, 0][..], &[1][..]));
    is_same(&graph, &read_folder(folder.path(), &device).unwrap());

    let size = blank().len() + 2;
    write("labels.txt", format!("0\n{}3\n1\n", blank()));
    let message = in_the_middle(total, |progress| read_folder_with(folder.path(), &device, progress));
    let line = format!("labels.txt: line {size}: a class must be in [-1, 3)");
    assert!(message.contains(&line), "{message:?} should say {line:?}");
    assert_eq!(message, read_folder(folder.path(), &device).unwrap_err().to_string());
    // What is missing has no bytes.
    let missing = total - fs::metadata(folder.path().join("labels.txt")).unwrap().len();
    fs::remove_file(folder.path().join("labels.txt")).unwrap();
    let message = in_the_middle(missing, |progress| read_folder_with(folder.path(), &device, progress));
    assert!(message.contains("labels.txt: cannot be read"), "{message}");
}

#[test]
fn raw_graphs_of_planetoid() {
    let (device, folder) = (Device::flex(), tempfile::tempdir().unwrap());
    for part in ["x", "tx", "allx", "y", "ty", "ally", "graph", "test.index"] {
        let name = format!("ind.python2.{part}");
        let mut file = fs::read(path("planetoid").join(&name)).unwrap();
        match part {
            // A string that is dropped again.
            "x" | "ally" | "graph" => {
                let length = 1_500_000u32;
                let string = vec![b's'; length as usize];
                file = [&b"T"[..], &length.to_le_bytes(), &string, b"0", &file].concat();
            }
            "test.index" => file.extend(blank().bytes()),
            _ => {}
        }
        fs::write(folder.path().join(name), file).unwrap();
    }
    let total = size(folder.path());
    let read = |progress: &mut Progress<'_>| read_planetoid_with(folder.path(), "python2", &device, progress);
    let graph = in_steps(total, read).unwrap();
    is_same(&graph, &read_planetoid(folder.path(), "python2", &device).unwrap());
    is_same(&graph, &read_planetoid(path("planetoid"), "python2", &device).unwrap());

    let file = folder.path().join("ind.python2.ally");
    let length = fs::metadata(&file).unwrap().len() as usize;
    fs::write(&file, vec![b'?'; length]).unwrap();
    let message = in_the_middle(total, read);
    assert!(message.contains("ind.python2.ally") && message.contains("byte 0"), "{message}");
    assert_eq!(message, read_planetoid(folder.path(), "python2", &device).unwrap_err().to_string());
}

#[test]
fn folders_of_ogb() {
    let (device, options, folder) = (Device::flex(), OgbOptions::new(), tempfile::tempdir().unwrap());
    let write = |name: &str, text: String| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("raw/num-node-list.csv", "3\n".into());
    write("raw/node-label.csv", format!("1\n0\n{}1\n", blank()));
    write("raw/edge.csv", format!("{}0,1\n2,1\n", blank()));
    write("raw/node-feat.csv", "1,2\n0,1\n5,0\n".into());
    write("split/time/train.csv", format!("0\n{}1", blank()));
    write("split/time/valid.csv", String::new());
    write("split/time/test.csv", "2".into());
    let total = size(folder.path());
    let read = |progress: &mut Progress<'_>| read_ogb_with(folder.path(), &options, &device, progress);
    let graph = in_steps(total, read).unwrap().to_graph().unwrap();
    is_same(&graph, &read_ogb(folder.path(), &options, &device).unwrap().to_graph().unwrap());
    assert_eq!((&graph.splits.train[..], graph.edges()), (&[0, 1][..], 2));

    write("raw/edge.csv", format!("{}0,1\n3,1\n", blank()));
    let message = in_the_middle(total, read);
    assert!(message.contains("edge.csv: line 1200002: a node must be in [0, 3), got 3"), "{message}");
}
