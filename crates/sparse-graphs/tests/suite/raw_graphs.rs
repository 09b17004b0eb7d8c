//! Graphs as they are downloaded: Planetoid's pickles, and the folders of the Open Graph Benchmark.

use burn::tensor::{DType, Device};
use proptest::prelude::*;
use sparse_dev::files::{bytes, edited, expected, path, sizes};
use sparse_tensor::data::{Graph, OgbOptions, read_ogb, read_ogb_with, read_planetoid};
use std::fs;
use std::path::Path;

const PARTS: [&str; 8] = ["x", "tx", "allx", "y", "ty", "ally", "graph", "test.index"];

fn numbers(tensor: burn::tensor::TensorData) -> Vec<f64> {
    tensor.convert::<f64>().to_vec().unwrap()
}

/// `(row, column, value)` of every element.
fn elements(matrix: &sparse_tensor::CsrTensor<2>) -> Vec<(usize, usize, f64)> {
    let coo = matrix.to_coo();
    let ends = numbers(coo.indices().into_data());
    let (rows, cols) = ends.split_at(coo.nnz());
    let values = numbers(coo.values::<1>().into_data());
    (0..coo.nnz()).map(|at| (rows[at] as usize, cols[at] as usize, values[at])).collect()
}

#[test]
fn planetoid_is_what_pyg_reads() {
    let graph = read_planetoid(path("planetoid"), "citeseer", &Device::flex()).unwrap();
    let right = expected("planetoid");
    assert_eq!(graph.features.dims().to_vec(), sizes(&right["shape"]));
    let edges: Vec<_> = elements(&graph.adjacency);
    assert!(edges.iter().all(|edge| edge.2 == 1.0));
    let upper: Vec<Vec<usize>> = edges.iter().filter(|edge| edge.0 < edge.1).map(|edge| vec![edge.0, edge.1]).collect();
    let pyg: Vec<Vec<usize>> = right["edges"].as_array().unwrap().iter().map(sizes).collect();
    assert_eq!((upper, edges.len()), (pyg.clone(), 2 * pyg.len()));
    // JSON's reader rounds the last bit of some f64.
    let features: Vec<[f32; 3]> =
        elements(&graph.features).iter().map(|&(row, col, value)| [row as f32, col as f32, value as f32]).collect();
    let element = |element: &serde_json::Value| -> [f32; 3] {
        let numbers = sparse_dev::files::floats(element);
        std::array::from_fn(|at| numbers[at] as f32)
    };
    let pyg: Vec<[f32; 3]> = right["features"].as_array().unwrap().iter().map(element).collect();
    assert!(features == pyg && pyg.len() > 400);
    // The one node of the range that is missing: PyG calls its class 0.
    let mut labels = numbers(graph.labels.tensor().into_data());
    assert_eq!(labels[511], -1.0);
    labels[511] = 0.0;
    assert_eq!(labels, sparse_dev::files::floats(&right["labels"]));
    let mut test = graph.splits.test.clone();
    assert!(!test.is_sorted());
    test.sort_unstable();
    assert_eq!((graph.splits.train, graph.splits.val), (sizes(&right["train"]), sizes(&right["val"])));
    assert_eq!((test, graph.labels.classes()), (sizes(&right["test"]), 3));
}

#[test]
fn pickles_of_every_protocol() {
    let read = |name: &str| read_planetoid(path("planetoid"), name, (&Device::flex(), DType::F64)).unwrap();
    let graph = read("python2");
    assert_eq!((graph.nodes(), graph.features.dims(), graph.features.dtype()), (10, [10, 4], DType::F64));
    assert!(graph.features.nnz() > 0 && graph.edges() > 0 && graph.adjacency.dtype() == DType::F64);
    for name in ["python3", "text"] {
        let other = read(name);
        assert_eq!(elements(&other.adjacency), elements(&graph.adjacency), "{name}");
        assert_eq!(elements(&other.features), elements(&graph.features), "{name}");
        assert_eq!(other.labels.to_vec(), graph.labels.to_vec(), "{name}");
        assert_eq!(other.splits, graph.splits, "{name}");
    }
}

/// A copy of a small graph, in which one file is another.
pub(crate) fn planetoid(name: &str, part: &str, content: Option<Vec<u8>>) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for own in PARTS {
        let file = format!("ind.{name}.{own}");
        let content = if own == part { content.clone() } else { Some(bytes(&format!("planetoid/{file}"))) };
        if let Some(content) = content {
            fs::write(folder.path().join(file), content).unwrap();
        }
    }
    folder
}

fn message(folder: &Path, name: &str) -> String {
    let trouble = read_planetoid(folder, name, &Device::flex()).unwrap_err();
    assert_eq!(trouble.kind(), "invalid", "{trouble}");
    trouble.to_string()
}

#[test]
fn malformed_raw_graphs_name_the_file() {
    for part in PARTS {
        let folder = planetoid("python2", part, None);
        let text = message(folder.path(), "python2");
        assert!(text.contains(&format!("ind.python2.{part}")) && text.contains("cannot be read"), "{text}");
        if part == "test.index" {
            continue;
        }
        let whole = bytes(&format!("planetoid/ind.python2.{part}"));
        for end in (0..whole.len()).step_by(11) {
            let folder = planetoid("python2", part, Some(whole[..end].to_vec()));
            let text = message(folder.path(), "python2");
            assert!(text.contains(&format!("ind.python2.{part}")) && text.contains("byte"), "{end}: {text}");
        }
    }
    let cases: &[(&str, &[u8], &[&str])] = &[
        ("test.index", b"6\n8\n", &["test.index", "3", "2"]),
        ("test.index", b"6\n8\nx\n", &["test.index", "line 3", "x"]),
        ("test.index", b"6\n8\n8\n", &["test.index", "once", "8"]),
        ("test.index", b"6\n8\n5\n", &["test.index", "[6,", "5"]),
        ("test.index", b"6\n8\n4000000000\n", &["test.index", "4000000000"]),
        ("graph", b"K\x01.", &["graph", "dictionary"]),
        ("graph", b"}(K\x00]K\x63aK\x01]K\x02]K\x03]u.", &["graph", "(0, 99)"]),
        ("graph", b"}K\x00]U\x01aas.", &["graph", "whole number"]),
        ("x", b"}.", &["ind.python2.x", "csr_matrix", "none"]),
        // `os.system("..")` stays a name.
        ("x", b"cos\nsystem\nU\x04echo\x85R.", &["ind.python2.x", "os system"]),
        ("y", b"].", &["ind.python2.y", "array of NumPy"]),
        ("allx", b"T\xff\xff\xff\x7fabc.", &["ind.python2.allx", "2147483647 bytes", "got 4"]),
    ];
    for (part, content, parts) in cases {
        let folder = planetoid("python2", part, Some(content.to_vec()));
        let text = message(folder.path(), "python2");
        assert!(parts.iter().all(|part| text.contains(part)), "{text:?} should name {parts:?}");
    }
    // A tuple in a tuple in a tuple ..: nothing here recurses.
    let deep = [vec![b')'], vec![0x85; 1_000_000], vec![b'.']].concat();
    let folder = planetoid("python2", "graph", Some(deep));
    assert!(message(folder.path(), "python2").contains("dictionary"));
    // One long list under many names.
    let mut many = b"}]q\x00(".to_vec();
    many.extend(b"K\x01".repeat(2000));
    many.push(b'e');
    many.extend(b"0(");
    (0..2000u16).for_each(|key| many.extend([&b"M"[..], &key.to_le_bytes(), b"h\x00"].concat()));
    many.extend(b"u.");
    let folder = planetoid("python2", "graph", Some(many));
    assert!(message(folder.path(), "python2").contains("fewer nodes"));
}

fn ogb_options() -> OgbOptions {
    OgbOptions::new()
}

fn is_tiny(graph: &Graph) {
    let edges: Vec<_> = elements(&graph.adjacency);
    assert_eq!(edges, [(0, 1, 1.0), (1, 0, 1.0), (1, 2, 1.0), (2, 1, 1.0)]);
    assert_eq!(elements(&graph.features).len(), 5);
    assert_eq!(numbers(graph.labels.tensor().into_data()), [1.0, 0.0, -1.0, 2.0]);
    assert_eq!((graph.labels.classes(), graph.nodes()), (3, 4));
    assert_eq!(
        (&graph.splits.train[..], &graph.splits.val[..], &graph.splits.test[..]),
        (&[0, 3][..], &[1][..], &[][..])
    );
}

#[test]
fn ogb_folders_are_read() {
    let mut heard = vec![];
    let folder = path("text/ogbn_tiny");
    let (options, device) = (ogb_options(), Device::flex());
    let ogb = read_ogb_with(&folder, &options, &device, &mut |done, total| heard.push((done, total))).unwrap();
    assert!(heard.is_sorted() && heard.last().is_some_and(|last| last.0 == last.1), "{heard:?}");
    assert_eq!(elements(&ogb.adjacency), [(0, 1, 1.0), (1, 2, 1.0), (2, 1, 1.0), (3, 3, 1.0)]);
    let features: Vec<f32> = ogb.features.clone().unwrap().into_data().to_vec().unwrap();
    assert_eq!(features, [0.5, 0.0, -1.0, 2.0, 0.0, 0.0, 1e-3, 4.0]);
    assert_eq!(ogb.labels.dims(), [4, 1]);
    is_tiny(&ogb.to_graph().unwrap());
    let both =
        read_ogb(&folder, &ogb_options().with_inverse_edges().with_split("time"), (&device, DType::F64)).unwrap();
    assert_eq!(elements(&both.adjacency).iter().map(|edge| edge.2).sum::<f64>(), 8.0);
    assert_eq!((both.adjacency.dtype(), both.features.unwrap().dtype()), (DType::F64, DType::F64));
}

#[test]
fn edges_of_ogb_have_features_in_the_order_they_are_stored() {
    let folder = ogb_folder("raw/edge.csv", Some("2,1\n0,1\n3,3\n2,1\n"));
    fs::write(folder.path().join("raw/edge-feat.csv"), "1,0.5\n2,0\n3,0\n40,1\n").unwrap();
    let read = |options: &OgbOptions| {
        let graph = read_ogb(folder.path(), options, &Device::flex()).unwrap();
        let ends: Vec<_> = elements(&graph.adjacency).iter().map(|edge| (edge.0, edge.1)).collect();
        (ends, numbers(graph.edge_features.unwrap().into_data()))
    };
    let (ends, features) = read(&ogb_options());
    assert_eq!(ends, [(0, 1), (2, 1), (3, 3)]);
    assert_eq!(features, [2.0, 0.0, 41.0, 1.5, 3.0, 0.0]);
    let (ends, features) = read(&ogb_options().with_inverse_edges());
    assert_eq!(ends, [(0, 1), (1, 0), (1, 2), (2, 1), (3, 3)]);
    assert_eq!(features, [2.0, 0.0, 2.0, 0.0, 41.0, 1.5, 41.0, 1.5, 6.0, 0.0]);
}

const FILES: [(&str, &str); 8] = [
    ("raw/edge-feat.csv", "1\n2\n3\n4\n"),
    ("raw/num-node-list.csv", "4\n"),
    ("raw/edge.csv", "0,1\n1,2\n2,1\n3,3\n"),
    ("raw/node-feat.csv", "0.5,0\n-1,2\n0,0\n1e-3,4.0\n"),
    ("raw/node-label.csv", "1\n0\nnan\n2.0\n"),
    ("split/time/train.csv", "0\n3\n"),
    ("split/time/valid.csv", "1\n"),
    ("split/time/test.csv", ""),
];

pub(crate) fn ogb_folder(changed: &str, content: Option<&str>) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in FILES {
        let text = if name == changed { content } else { Some(text) };
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        if let Some(text) = text {
            fs::write(path, text).unwrap();
        }
    }
    folder
}

#[test]
fn ogb_folders_are_checked() {
    let device = Device::flex();
    let folder = ogb_folder("", None);
    is_tiny(&read_ogb(folder.path(), &ogb_options(), &device).unwrap().to_graph().unwrap());
    let folder = ogb_folder("raw/node-feat.csv", None);
    let plain = read_ogb(folder.path(), &ogb_options(), &device).unwrap();
    assert!(plain.features.is_none() && plain.to_graph().unwrap().features.dims() == [4, 4]);
    let cases: &[(&str, Option<&str>, &[&str])] = &[
        ("raw/num-node-list.csv", None, &["cannot be read"]),
        ("raw/num-node-list.csv", Some("2\n2\n"), &["one graph", "2"]),
        ("raw/num-node-list.csv", Some("-4\n"), &["one graph"]),
        ("raw/num-node-list.csv", Some("1000000000000000\n"), &["node-label.csv", "1000000000000000", "got 4"]),
        ("raw/edge.csv", None, &["cannot be read"]),
        ("raw/edge.csv", Some("0,1\n4,0\n"), &["line 2", "[0, 4)", "4"]),
        ("raw/edge.csv", Some("0,1\n1\n"), &["line 2", "end of the line"]),
        ("raw/edge.csv", Some("0,1,2\n"), &["line 1", "2"]),
        ("raw/edge.csv", Some("0,x\n"), &["line 1", "x"]),
        ("raw/node-feat.csv", Some("1,2\n"), &["4 nodes", "got 1"]),
        ("raw/node-feat.csv", Some("1,2\n3\n"), &["line 2", "2 numbers", "got 1"]),
        ("raw/node-feat.csv", Some("1,2\n3,inf\n"), &["line 2", "inf"]),
        ("raw/edge-feat.csv", Some("1\n2\n3\n"), &["4 nodes, edges", "got 3"]),
        ("raw/edge-feat.csv", Some("1\n2\n3\nnan\n"), &["line 4", "NaN"]),
        ("raw/node-label.csv", Some("1\n0\n0.5\n0\n"), &["line 3", "0.5"]),
        ("raw/node-label.csv", None, &["cannot be read"]),
        ("split/time/train.csv", Some("0\n0\n"), &["line 2", "once", "0"]),
        ("split/time/valid.csv", Some("0\n"), &["line 1", "0"]),
        ("split/time/test.csv", Some("4\n"), &["line 1", "4"]),
        ("split/time/test.csv", None, &["cannot be read"]),
    ];
    for (name, content, parts) in cases {
        let folder = ogb_folder(name, *content);
        let trouble = read_ogb(folder.path(), &ogb_options(), &device).unwrap_err();
        let text = trouble.to_string();
        assert_eq!(trouble.kind(), "invalid", "{text}");
        let stem = name.rsplit('/').next().unwrap().trim_end_matches(".csv");
        let named = text.contains(stem) || text.contains("node-label");
        assert!(named && parts.iter().all(|part| text.contains(part)), "{text:?}: {name} {parts:?}");
    }
    let folder = ogb_folder("raw/node-label.csv", Some("1,0\n0,1\n0,0\nnan,1\n"));
    let several = read_ogb(folder.path(), &ogb_options(), &device).unwrap();
    assert_eq!(several.labels.dims(), [4, 2]);
    assert!(several.to_graph().unwrap_err().to_string().contains("one task"));
    let folder = ogb_folder("split/time/test.csv", Some("2\n"));
    let unlabelled = read_ogb(folder.path(), &ogb_options(), &device).unwrap();
    assert!(unlabelled.to_graph().unwrap_err().to_string().contains("got 2"));
    fs::create_dir_all(folder.path().join("split/other")).unwrap();
    let trouble = read_ogb(folder.path(), &ogb_options(), &device).unwrap_err().to_string();
    assert!(trouble.contains("with_split") && trouble.contains("other"), "{trouble}");
    let trouble = read_ogb("/no/such/folder", &ogb_options(), &device).unwrap_err().to_string();
    assert!(trouble.contains("/no/such/folder"), "{trouble}");
}

proptest! {
    // Each case writes a folder.
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn edited_pickles_survive(
        part in 0usize..7,
        name in prop::sample::select(vec!["python2", "python3", "text"]),
        edits in prop::collection::vec((any::<usize>(), any::<u8>(), 0u8..4), 1..4),
    ) {
        let part = PARTS[part];
        let content = edited(&bytes(&format!("planetoid/ind.{name}.{part}")), &edits);
        let folder = planetoid(name, part, Some(content));
        if let Err(trouble) = read_planetoid(folder.path(), name, &Device::flex()) {
            prop_assert!(["invalid", "overflow"].contains(&trouble.kind()), "{}", trouble);
        }
    }

    #[test]
    fn any_pickle_survives(content in prop::collection::vec(any::<u8>(), 0..100)) {
        let folder = planetoid("python2", "graph", Some(content));
        let _ = read_planetoid(folder.path(), "python2", &Device::flex());
    }
}
