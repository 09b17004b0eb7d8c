//! Graphs as people have them: folders of TUDataset, Geom-GCN, GraphSAINT, PPI, knowledge graphs and graphs with types.

use burn::tensor::{DType, Device, Int, Tensor};
use proptest::prelude::*;
use sparse_dev::files::edited;
use sparse_tensor::data::{
    EntityTask, GeomFeatures, GraphBatch, OgbGraph, OgbOptions, read_entities, read_entities_with, read_geom_gcn,
    read_graph_saint, read_jodie, read_jodie_with, read_magnn, read_magnn_with, read_movie_lens, read_movie_lens_with,
    read_ogb_hetero, read_ogb_hetero_with, read_ppi, read_ppi_with, read_taobao, read_taobao_with, read_triples,
    read_tu, read_tu_with,
};
use sparse_tensor::io::npz;
use sparse_tensor::{CsrTensor, Limits, Result};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// A reader with a small folder of its own.
pub(crate) struct Reader {
    pub(crate) files: fn() -> Vec<(&'static str, Vec<u8>)>,
    /// One of them that is text.
    pub(crate) text: &'static str,
    pub(crate) read: fn(&Path) -> Result<()>,
}

pub(crate) const READERS: [Reader; 18] = [
    Reader { files: tu, text: "T_A.txt", read: |folder| read_tu(folder, "T", &Device::flex()).map(drop) },
    Reader {
        files: geom_values,
        text: "out1_graph_edges.txt",
        read: |folder| read_geom_gcn(folder, GeomFeatures::Values, &Device::flex()).map(drop),
    },
    Reader {
        files: geom_ids,
        text: "out1_node_feature_label.txt",
        read: |folder| read_geom_gcn(folder, GeomFeatures::Ids, &Device::flex()).map(drop),
    },
    Reader { files: saint, text: "role.json", read: |folder| read_graph_saint(folder, &Device::flex()).map(drop) },
    Reader {
        files: ppi,
        text: "train_graph.json",
        read: |folder| read_ppi(folder, "train", &Device::flex()).map(drop),
    },
    Reader { files: triples, text: "valid.txt", read: |folder| read_triples(folder, &Device::flex()).map(drop) },
    Reader {
        files: entities,
        text: "testSet.tsv",
        read: |folder| read_entities(folder, EntityTask::AIFB, &Device::flex()).map(drop),
    },
    Reader { files: movies, text: "movies.csv", read: |folder| read_movie_lens(folder, &Device::flex()).map(drop) },
    Reader {
        files: magnn,
        text: "labels.npy",
        read: |folder| read_magnn(folder, &MAGNN_TYPES, &Device::flex()).map(drop),
    },
    Reader {
        files: mag,
        text: "raw/num-node-dict.csv",
        read: |folder| read_ogb_hetero(folder, &OgbOptions::new(), &Device::flex()).map(drop),
    },
    Reader {
        files: taobao,
        text: "UserBehavior.csv",
        read: |folder| read_taobao(folder, 100..200, &Device::flex()).map(drop),
    },
    Reader {
        files: jodie,
        text: "mooc.csv",
        read: |folder| read_jodie(folder.join("mooc.csv"), &Device::flex()).map(drop),
    },
    crate::sets::MOLECULES,
    crate::sets::NEWS,
    crate::sets::BOOKS,
    crate::sets::MESHES,
    crate::sets::SHAPES,
    crate::torch_files::LINKS,
];
const TU: &Reader = &READERS[0];
const GEOM: &Reader = &READERS[1];
const GEOM_IDS: &Reader = &READERS[2];
const SAINT: &Reader = &READERS[3];
const PPI: &Reader = &READERS[4];
const TRIPLES: &Reader = &READERS[5];
const ENTITIES: &Reader = &READERS[6];
const MOVIES: &Reader = &READERS[7];
const MAGNN: &Reader = &READERS[8];
const MAG: &Reader = &READERS[9];
const TAOBAO: &Reader = &READERS[10];
const JODIE: &Reader = &READERS[11];

/// A file, its content (`None`: it is missing), and what the error says.
pub(crate) type Case<'a> = (&'a str, Option<&'a [u8]>, &'a [&'a str]);

impl Reader {
    /// The folder, in which one file is another or missing.
    pub(crate) fn folder(&self, changed: &str, content: Option<&[u8]>) -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes) in (self.files)() {
            let bytes = if name == changed { content } else { Some(&bytes[..]) };
            if let Some(bytes) = bytes {
                let path = folder.path().join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, bytes).unwrap();
            }
        }
        folder
    }

    /// Each of these contents of a file is an error that names the file and these parts.
    pub(crate) fn refuses(&self, cases: &[Case<'_>]) {
        for (name, content, parts) in cases {
            let folder = self.folder(name, *content);
            let trouble = (self.read)(folder.path()).unwrap_err();
            let text = trouble.to_string();
            assert_eq!(trouble.kind(), "invalid", "{text}");
            assert!(text.contains(name) && parts.iter().all(|part| text.contains(part)), "{text:?}: {name} {parts:?}");
        }
    }

    /// What an error about these contents says.
    fn told(&self, name: &str, content: &[u8]) -> String {
        (self.read)(self.folder(name, Some(content)).path()).unwrap_err().to_string()
    }
}

/// An array of NumPy.
pub(crate) fn npy(dtype: &str, shape: &str, bytes: &[u8]) -> Vec<u8> {
    let mut head = format!("{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}");
    head.extend(std::iter::repeat_n(' ', 117 - head.len()));
    head.push('\n');
    [b"\x93NUMPY\x01\x00", &(head.len() as u16).to_le_bytes()[..], head.as_bytes(), bytes].concat()
}

fn floats(shape: &str, numbers: &[f64]) -> Vec<u8> {
    npy("<f8", shape, &numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<_>>())
}

pub(crate) fn ints(shape: &str, numbers: &[i64]) -> Vec<u8> {
    npy("<i8", shape, &numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<_>>())
}

/// An archive of uncompressed files.
pub(crate) fn zip(files: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let (mut out, mut directory) = (vec![], vec![]);
    for (name, bytes) in files {
        let crc = !bytes.iter().fold(u32::MAX, |crc, &byte| {
            (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 * (crc & 1)))
        });
        let mut head = vec![20, 0, 0, 0, 0, 0, 0, 0, 33, 0];
        for number in [crc, bytes.len() as u32, bytes.len() as u32, name.len() as u32] {
            head.extend(number.to_le_bytes());
        }
        let rest = [&[0; 10][..], &(out.len() as u32).to_le_bytes()].concat();
        directory.extend([b"PK\x01\x02\x14\x00", &head[..], &rest, name.as_bytes()].concat());
        out.extend([b"PK\x03\x04", &head[..], name.as_bytes(), bytes].concat());
    }
    let count = (files.len() as u16).to_le_bytes();
    let (size, start) = ((directory.len() as u32).to_le_bytes(), (out.len() as u32).to_le_bytes());
    out.extend([&directory[..], b"PK\x05\x06\0\0\0\0", &count, &count, &size, &start, &[0; 2]].concat());
    out
}

pub(crate) fn numbers<const D: usize>(tensor: &Tensor<D>) -> Vec<f64> {
    tensor.to_data().convert::<f64>().iter().collect()
}

pub(crate) fn whole<const D: usize>(tensor: &Tensor<D, Int>) -> Vec<i64> {
    tensor.to_data().convert::<i64>().iter().collect()
}

/// `(row, column)` of every element, all of which are 1.
pub(crate) fn ends(matrix: &CsrTensor<2>) -> Vec<(i64, i64)> {
    let coo = matrix.to_coo();
    assert!(numbers(&coo.values::<1>()).iter().all(|&value| value == 1.0));
    let ends = whole(&coo.indices());
    let (rows, cols) = ends.split_at(coo.nnz());
    rows.iter().copied().zip(cols.iter().copied()).collect()
}

/// Graphs of three, one and two nodes. One edge is listed twice, and one is a self loop.
fn tu() -> Vec<(&'static str, Vec<u8>)> {
    let files = [
        ("T_A.txt", "1, 2\n2, 1\n2, 3\n3, 2\n1, 2\n3, 3\n6, 5\n5, 6\n"),
        ("T_graph_indicator.txt", "1\n1\n1\n2\n3\n3\n"),
        ("T_graph_labels.txt", "7\n-1\n7\n"),
        ("T_graph_attributes.txt", "0.25, 1\n-1, 2\n2, 3\n"),
        ("T_node_labels.txt", "-3, 9\n-1, 9\n-3, 9\n-2, 9\n-1, 9\n-3, 10\n"),
        ("T_node_attributes.txt", "0.5\n1.5\n2.5\n3.5\n4.5\n5.5\n"),
        ("T_edge_labels.txt", "0\n0\n1\n1\n1\n0\n1\n1\n"),
        ("T_edge_attributes.txt", "1\n2\n3\n4\n10\n99\n7\n8\n"),
    ];
    files.map(|(name, text)| (name, text.into())).into()
}

#[test]
fn tu_folders_are_read_as_pyg_does() {
    let folder = TU.folder("", None);
    let mut heard = vec![];
    let set = read_tu_with(folder.path(), "T", &Device::flex(), &mut |done, all| heard.push((done, all))).unwrap();
    assert!(heard.is_sorted() && heard.last().is_some_and(|last| last.0 == last.1), "{heard:?}");
    assert_eq!((set.node_attributes, set.edge_attributes, set.graphs.len()), (1, 1, 3));
    let labels = set.labels.unwrap();
    assert_eq!((labels.to_vec(), labels.classes()), (vec![1, 0, 1], 2));
    assert_eq!(numbers(&set.targets.unwrap()), [0.25, 1.0, -1.0, 2.0, 2.0, 3.0]);
    let [first, second, third] = &set.graphs[..] else { panic!() };
    assert_eq!(ends(&first.adjacency), [(0, 1), (1, 0), (1, 2), (2, 1)]);
    assert_eq!((second.adjacency.dims(), ends(&second.adjacency)), ([1, 1], vec![]));
    assert_eq!(ends(&third.adjacency), [(0, 1), (1, 0)]);
    // The attribute, three columns for the first label and two for the second.
    let features = |graph: usize| numbers(set.graphs[graph].features.as_ref().unwrap());
    assert_eq!(features(0)[..6], [0.5, 1.0, 0.0, 0.0, 1.0, 0.0]);
    assert_eq!(features(0)[6..12], [1.5, 0.0, 0.0, 1.0, 1.0, 0.0]);
    assert_eq!(features(1), [3.5, 0.0, 1.0, 0.0, 1.0, 0.0]);
    assert_eq!(features(2)[6..], [5.5, 1.0, 0.0, 0.0, 0.0, 1.0]);
    // In the order stored; the edge that is there twice is the sum.
    let edges = |graph: usize| numbers(set.graphs[graph].edge_features.as_ref().unwrap());
    assert_eq!(edges(0), [11.0, 1.0, 1.0, 2.0, 1.0, 0.0, 3.0, 0.0, 1.0, 4.0, 0.0, 1.0]);
    assert_eq!((edges(1), edges(2)), (vec![], vec![8.0, 0.0, 1.0, 7.0, 0.0, 1.0]));
    let adjacencies: Vec<_> = set.graphs.iter().map(|graph| graph.adjacency.clone()).collect();
    assert_eq!(GraphBatch::new(&adjacencies).unwrap().adjacency().dims(), [6, 6]);
}

#[test]
fn tu_folders_may_have_less() {
    let folder = tempfile::tempdir().unwrap();
    // The second graph has no nodes, and the third an isolated one.
    let files = [("A", "2,1\n"), ("graph_indicator", "1\n1\n3\n"), ("graph_labels", "0\n1\n1\n")];
    for (part, text) in files {
        fs::write(folder.path().join(format!("X_{part}.txt")), text).unwrap();
    }
    let set = read_tu(folder.path(), "X", (&Device::flex(), DType::F64)).unwrap();
    assert_eq!(set.graphs.iter().map(|graph| graph.adjacency.dims()[0]).collect::<Vec<_>>(), [2, 0, 1]);
    assert!(set.targets.is_none() && set.graphs.iter().all(|graph| graph.features.is_none()));
    assert_eq!((ends(&set.graphs[0].adjacency), set.graphs[0].adjacency.dtype()), (vec![(1, 0)], DType::F64));
    assert!(set.graphs[0].edge_features.is_none());
    fs::write(folder.path().join("X_node_labels.txt"), "0\n0\n1\n").unwrap();
    let set = read_tu(folder.path(), "X", &Device::flex()).unwrap();
    let shapes = set.graphs.iter().map(|graph| graph.features.as_ref().unwrap().dims());
    assert_eq!(shapes.collect::<Vec<_>>(), [[2, 2], [0, 2], [1, 2]]);
    // A regression has no classes.
    fs::rename(folder.path().join("X_graph_labels.txt"), folder.path().join("X_graph_attributes.txt")).unwrap();
    let set = read_tu(folder.path(), "X", &Device::flex()).unwrap();
    assert!(set.labels.is_none() && set.targets.unwrap().dims() == [3, 1]);
    fs::remove_file(folder.path().join("X_graph_attributes.txt")).unwrap();
    let text = sparse_dev::told(read_tu(folder.path(), "X", &Device::flex()));
    assert!(text.contains("X_graph_labels.txt") && text.contains("graph_attributes"), "{text}");
    // No graphs at all.
    for part in ["A", "graph_indicator", "graph_labels", "node_labels"] {
        fs::write(folder.path().join(format!("X_{part}.txt")), "").unwrap();
    }
    assert!(read_tu(folder.path(), "X", &Device::flex()).unwrap().graphs.is_empty());
}

#[test]
fn tu_folders_are_checked() {
    TU.refuses(&[
        ("T_A.txt", None, &["cannot be read"]),
        ("T_A.txt", Some(b"1, 2\n7, 1\n"), &["line 2", "[1, 7)", "7"]),
        ("T_A.txt", Some(b"0, 1\n"), &["line 1", "[1, 7)", "0"]),
        ("T_A.txt", Some(b"-9223372036854775808, 1\n"), &["line 1", "-9223372036854775808"]),
        ("T_A.txt", Some(b"1, x\n"), &["line 1", "x"]),
        ("T_A.txt", Some(b"1\n"), &["line 1", "end of the line"]),
        ("T_A.txt", Some(b"1, 2, 3\n"), &["line 1", "3"]),
        ("T_A.txt", Some(b"1, 2\n\n3, 4\n"), &["line 3", "one graph", "1 to 2"]),
        ("T_graph_indicator.txt", None, &["cannot be read"]),
        ("T_graph_indicator.txt", Some(b"1\n4\n"), &["line 2", "[1, 4)", "4"]),
        ("T_graph_indicator.txt", Some(b"1\n99999999999999999999\n"), &["line 2", "99999999999999999999"]),
        ("T_graph_indicator.txt", Some(b"1\n2\n1\n"), &["line 3", "ascend", "1 after 2"]),
        ("T_graph_labels.txt", Some(b"7\n0.5\n7\n"), &["line 2", "0.5"]),
        ("T_graph_attributes.txt", Some(b"1\n2\n"), &["3", "got 2"]),
        ("T_graph_attributes.txt", Some(b"1\n2\ninf\n"), &["line 3", "inf"]),
        ("T_node_labels.txt", Some(b"1\n2\n"), &["6", "got 2"]),
        ("T_node_labels.txt", Some(b"1\n2, 3\n"), &["line 2", "1 numbers", "got 2"]),
        ("T_node_attributes.txt", Some(b""), &["6", "got 0"]),
        ("T_node_attributes.txt", Some(b"nan\n"), &["line 1", "NaN"]),
        ("T_edge_labels.txt", Some(b"1\n"), &["8", "got 1"]),
        ("T_edge_attributes.txt", Some(b"1\n2\n3\n4\n5\n6\n7\n8\n9\n"), &["8", "got 9"]),
    ]);
    let far = b"-9223372036854775808\n9223372036854775807\n0\n0\n0\n0\n";
    let text = TU.told("T_node_labels.txt", far);
    assert!(text.contains("one-hot") && text.contains(&(6 * ((1u128 << 64) + 1)).to_string()), "{text}");
    let folder = TU.folder("", None);
    assert!(Limits::new().elements(7).run(|| (TU.read)(folder.path())).is_err());
}

fn geom(nodes: &str) -> Vec<(&'static str, Vec<u8>)> {
    let masks = |dtype: &str, masks: [[u8; 4]; 3]| {
        let names = ["train_mask.npy", "val_mask.npy", "test_mask.npy"];
        let arrays = names.iter().zip(masks).map(|(name, mask)| (*name, npy(dtype, "(4,)", &mask)));
        zip(&arrays.collect::<Vec<_>>())
    };
    vec![
        ("out1_node_feature_label.txt", nodes.into()),
        ("out1_graph_edges.txt", "node_id\tnode_id\n0\t1\n3\t3\n2\t1\n0\t1\n1\t0\n".into()),
        ("g_split_0.6_0.2_0.npz", masks("|b1", [[1, 0, 0, 0], [0, 0, 1, 0], [0, 1, 0, 0]])),
        ("g_split_0.6_0.2_1.npz", masks("|u1", [[0, 1, 1, 0], [0, 0, 0, 1], [1, 0, 0, 0]])),
    ]
}

fn geom_values() -> Vec<(&'static str, Vec<u8>)> {
    geom("node_id\tfeature\tlabel\n2\t0,0,0.5\t2\n0\t1,0,0\t1\n1\t0,0,0\t0\n3\t1,1,0\t1\n")
}

fn geom_ids() -> Vec<(&'static str, Vec<u8>)> {
    geom("node_id\tfeature(feature_amount:9)\tlabel\n2\t4,1,4\t2\n0\t0\t1\n1\t3\t0\n3\t0,1\t1\n")
}

#[test]
fn geom_gcn_folders_are_read() {
    let read = |reader: &Reader, features| {
        let folder = reader.folder("", None);
        read_geom_gcn(folder.path(), features, &Device::flex()).unwrap()
    };
    let graph = read(GEOM, GeomFeatures::Values);
    assert_eq!(ends(&graph.adjacency), [(0, 1), (1, 0), (2, 1), (3, 3)]);
    let dense = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5, 1.0, 1.0, 0.0];
    assert_eq!((numbers(&graph.features.to_dense()), graph.features.nnz()), (dense.into(), 4));
    assert_eq!((graph.labels.to_vec(), graph.labels.classes()), (vec![1, 0, 2, 1], 3));
    assert_eq!(graph.splits.len(), 2);
    assert_eq!(graph.splits[0].train, [0]);
    let plain = graph.to_graph(1).unwrap();
    crate::data::is_sound(&plain);
    assert_eq!(ends(&plain.adjacency), [(0, 1), (1, 0), (1, 2), (2, 1)]);
    assert_eq!((plain.splits.train, plain.splits.val, plain.splits.test), (vec![1, 2], vec![3], vec![0]));
    assert_eq!(graph.to_graph(2).unwrap_err().kind(), "index_out_of_range");

    let graph = read(GEOM_IDS, GeomFeatures::Ids);
    assert_eq!((graph.features.dims(), graph.features.nnz()), ([4, 5], 6));
    assert_eq!(ends(&graph.features), [(0, 0), (1, 3), (2, 1), (2, 4), (3, 0), (3, 1)]);
}

#[test]
fn geom_gcn_folders_are_checked() {
    let (nodes, edges, split) = ("out1_node_feature_label.txt", "out1_graph_edges.txt", "g_split_0.6_0.2_1.npz");
    let mask = |name, dtype, shape, bytes: &[u8]| zip(&[(name, npy(dtype, shape, bytes))]);
    let [short, twos, missing] = [
        mask("train_mask.npy", "|b1", "(3,)", &[1, 0, 0]),
        mask("train_mask.npy", "|u1", "(4,)", &[1, 2, 0, 0]),
        mask("val_mask.npy", "|b1", "(4,)", &[1, 0, 0, 0]),
    ];
    let twice: Vec<_> = ["train_mask.npy", "val_mask.npy"].map(|name| (name, npy("|b1", "(4,)", &[1, 0, 0, 0]))).into();
    GEOM.refuses(&[
        (nodes, None, &["cannot be read"]),
        (nodes, Some(b"t\n0\t1,0\t0\n0\t1,0\t0\n"), &["2 nodes", "got 0 in place of 1"]),
        (nodes, Some(b"t\n0\t1,0\t0\n2\t1,0\t0\n"), &["2 nodes", "got 2 in place of 1"]),
        (nodes, Some(b"t\n4000000000\t1\t0\n"), &["line 2", "4000000000"]),
        (nodes, Some(b"t\n-1\t1\t0\n"), &["line 2", "-1"]),
        (nodes, Some(b"t\n0\t1,x\t0\n"), &["line 2", "x"]),
        (nodes, Some(b"t\n0\t1,inf\t0\n"), &["line 2", "inf"]),
        (nodes, Some(b"t\n0\t1,0\t0\n1\t1\t0\n"), &["line 3", "2 features", "got 1"]),
        (nodes, Some(b"t\n0\t1,0\n"), &["line 2", "a class", "end of the line"]),
        (nodes, Some(b"t\n0\t1,0\t0.5\n"), &["line 2", "0.5"]),
        (nodes, Some(b"t\n0\t1,0\t0\t1\n"), &["line 2", "1"]),
        (edges, None, &["cannot be read"]),
        (edges, Some(b"t\n0\t4\n"), &["line 2", "[0, 4)", "4"]),
        (edges, Some(b"t\n0\n"), &["line 2", "end of the line"]),
        (edges, Some(b"t\n0\t-1\n"), &["line 2", "-1"]),
        (split, Some(&short), &["train_mask", "4 nodes", "got 3"]),
        (split, Some(&twos), &["train_mask", "zeros and ones", "2"]),
        (split, Some(&missing), &["train_mask"]),
        (split, Some(&zip(&twice)), &["val_mask", "one split", "got 0 again"]),
        (split, Some(b""), &[]),
    ]);
    GEOM_IDS.refuses(&[
        (nodes, Some(b"t\n0\t4,-1\t0\n"), &["line 2", "a feature", "-1"]),
        (nodes, Some(b"t\n0\t99999999999\t0\n"), &["line 2", "a feature", "99999999999"]),
        (nodes, Some(b"t\n0\t1.5\t0\n"), &["line 2", "1.5"]),
    ]);
    // A node of a split has a class.
    let unknown = b"t\n0\t0\tnan\n1\t0\t0\n2\t0\t0\n3\t0\t0\n";
    let text = GEOM_IDS.told(nodes, unknown);
    assert!(text.contains("_0.npz") && text.contains("must have a class, got 0"), "{text}");
    // Splits count from 0.
    let folder = GEOM.folder("g_split_0.6_0.2_0.npz", None);
    let text = sparse_dev::told((GEOM.read)(folder.path()));
    assert!(text.contains(split) && text.contains("got 1 in place of 0"), "{text}");
    fs::remove_file(folder.path().join(split)).unwrap();
    assert!((GEOM.read)(folder.path()).is_ok());
    assert!(sparse_dev::told((GEOM.read)(Path::new("/no/such/folder"))).contains("/no/such/folder"));
}

fn saint() -> Vec<(&'static str, Vec<u8>)> {
    let dense = Tensor::<2>::from_floats([[0.0, 2.0, 0.0], [2.0, 0.0, 0.0], [0.0, 3.0, 0.0]], &Device::flex());
    vec![
        ("adj_full.npz", npz::to_bytes(&CsrTensor::<2>::from_dense(dense)).unwrap()),
        ("feats.npy", floats("(3, 2)", &[0.5, 1.0, 2.0, 3.0, 4.0, 5.0])),
        ("class_map.json", r#"{"0": 2, "2": 0, "1": 1}"#.into()),
        ("role.json", r#"{"tr": [2], "te": [], "va": [0], "other": [7]}"#.into()),
    ]
}

#[test]
fn graph_saint_folders_are_read() {
    let read = |folder: &TempDir| -> OgbGraph { read_graph_saint(folder.path(), &Device::flex()).unwrap() };
    let graph = read(&SAINT.folder("", None));
    assert_eq!(ends(&graph.adjacency), [(0, 1), (1, 0), (2, 1)]);
    let features = graph.features.as_ref().unwrap();
    assert_eq!((features.dtype(), numbers(features)), (DType::F32, vec![0.5, 1.0, 2.0, 3.0, 4.0, 5.0]));
    assert_eq!((graph.labels.dims(), whole(&graph.labels)), ([3, 1], vec![2, 1, 0]));
    assert_eq!((&graph.splits.train[..], &graph.splits.val[..], &graph.splits.test[..]), (&[2][..], &[0][..], &[][..]));
    crate::data::is_sound(&graph.to_graph().unwrap());
    let several = br#"{"0": [1, 1], "1": [0, 0], "2": [0, 1]}"#;
    let graph = read(&SAINT.folder("class_map.json", Some(several)));
    assert_eq!((graph.labels.dims(), whole(&graph.labels)), ([3, 2], vec![1, 1, 0, 0, 0, 1]));
}

#[test]
fn graph_saint_folders_are_checked() {
    let (adjacency, features, classes, roles) = ("adj_full.npz", "feats.npy", "class_map.json", "role.json");
    let wide = npz::to_bytes(&CsrTensor::<2>::from_dense(Tensor::ones([3, 4], &Device::flex()))).unwrap();
    SAINT.refuses(&[
        (adjacency, None, &["cannot be read"]),
        (adjacency, Some(&wide), &["square", "3 x 4"]),
        (adjacency, Some(b"PK"), &[]),
        (features, None, &["cannot be read"]),
        (features, Some(&floats("(2, 2)", &[0.0; 4])), &["3 nodes", "got 2"]),
        (features, Some(&npy("<f8", "(99999999999, 2)", b"")), &[]),
        (classes, None, &["cannot be read"]),
        (classes, Some(b"{"), &["line 1 column 1"]),
        (classes, Some(b""), &["line 1"]),
        (classes, Some(b"[0, 1]"), &["line 1", "map"]),
        (classes, Some(br#"{"0": 2, "2": 0}"#), &["3 nodes", "got 2"]),
        (classes, Some(br#"{"0": 2, "2": 0, "3": 1}"#), &["[0, 3)", "got 3"]),
        (classes, Some(br#"{"0": 2, "00": 0, "1": 1}"#), &["once", "got 0 again"]),
        (classes, Some(br#"{"0": 2, "x": 0, "1": 1}"#), &["whole number", "x"]),
        (classes, Some(br#"{"0": 2, "2": -1, "1": 1}"#), &["line 1 column"]),
        (classes, Some(br#"{"0": 2, "2": 4000000000, "1": 1}"#), &["got others for 2"]),
        (classes, Some(br#"{"0": [1, 0], "2": [1], "1": [0, 1]}"#), &["2 labels", "got 5"]),
        (classes, Some(br#"{"0": [1, 0], "2": [1], "1": [0, 1, 0]}"#), &["got others for"]),
        (classes, Some(br#"{"0": [1, 0], "2": [2, 0], "1": [0, 1]}"#), &["got others for 2"]),
        (classes, Some(br#"{"0": [1], "2": 5, "1": 0}"#), &["got others for 1"]),
        (roles, None, &["cannot be read"]),
        (roles, Some(br#"{"tr": [2], "va": [0]}"#), &["te", "line 1"]),
        (roles, Some(br#"{"tr": [2], "te": [], "va": [3]}"#), &["[0, 3)", "got 3"]),
        (roles, Some(br#"{"tr": [2], "te": [2], "va": []}"#), &["one split", "got 2 again"]),
        (roles, Some(b"{\"tr\": [2],\n \"te\": [-1], \"va\": []}"), &["line 2", "-1"]),
        (roles, Some(&b"[".repeat(100_000)), &["line 1"]),
    ]);
}

fn ppi() -> Vec<(&'static str, Vec<u8>)> {
    let links = [(0, 1), (1, 2), (2, 2), (1, 0), (2, 3), (4, 3)];
    let links = links.map(|(from, to)| format!(r#"{{"source": {from}, "target": {to}}}"#)).join(", ");
    vec![
        ("train_graph.json", format!(r#"{{"directed": false, "nodes": [{{"id": 0}}], "links": [{links}]}}"#).into()),
        ("train_feats.npy", floats("(5, 1)", &[0.5, 1.5, 2.5, 3.5, 4.5])),
        ("train_labels.npy", ints("(5, 2)", &[1, 0, 0, 0, 1, 1, 0, 1, 1, 0])),
        ("train_graph_id.npy", ints("(5,)", &[3, 3, 3, 5, 5])),
    ]
}

#[test]
fn ppi_folders_are_read() {
    let folder = PPI.folder("", None);
    let mut last = (0, 1);
    let graphs = read_ppi_with(folder.path(), "train", &Device::flex(), &mut |done, all| last = (done, all)).unwrap();
    assert_eq!((graphs.len(), last.0), (2, last.1));
    assert_eq!(ends(&graphs[0].adjacency), [(0, 1), (1, 0), (1, 2), (2, 1)]);
    assert_eq!(ends(&graphs[1].adjacency), [(0, 1), (1, 0)]);
    let features = |graph: &OgbGraph| numbers(graph.features.as_ref().unwrap());
    assert_eq!((features(&graphs[0]), features(&graphs[1])), (vec![0.5, 1.5, 2.5], vec![3.5, 4.5]));
    assert_eq!(graphs[0].features.as_ref().unwrap().dtype(), DType::F32);
    assert_eq!((graphs[0].labels.dims(), whole(&graphs[0].labels)), ([3, 2], vec![1, 0, 0, 0, 1, 1]));
    assert_eq!(whole(&graphs[1].labels), [0, 1, 1, 0]);
    // Floats are labels too.
    let labels = floats("(5, 2)", &[1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0]);
    let folder = PPI.folder("train_labels.npy", Some(&labels));
    let again = read_ppi(folder.path(), "train", (&Device::flex(), DType::F64)).unwrap();
    assert_eq!(whole(&again[1].labels), [0, 1, 1, 0]);
    assert_eq!((again[0].adjacency.dtype(), again[0].features.as_ref().unwrap().dtype()), (DType::F64, DType::F64));
}

#[test]
fn ppi_folders_are_checked() {
    PPI.refuses(&[
        ("train_graph.json", None, &["cannot be read"]),
        ("train_graph.json", Some(br#"{"links": [{"source": 0, "target": 5}]}"#), &["[0, 5)", "(0, 5) as link 0"]),
        ("train_graph.json", Some(br#"{"links": [{"source": -1, "target": 0}]}"#), &["line 1", "-1"]),
        ("train_graph.json", Some(br#"{"links": [{"source": 0}]}"#), &["line 1", "target"]),
        ("train_graph.json", Some(br#"{"nodes": []}"#), &["links"]),
        ("train_graph.json", Some(b"{} {}"), &["line 1"]),
        ("train_graph.json", Some(b""), &["line 1"]),
        ("train_feats.npy", None, &["cannot be read"]),
        ("train_feats.npy", Some(&floats("(4, 1)", &[0.0; 4])), &["5 nodes", "got 4"]),
        ("train_labels.npy", Some(&ints("(4, 1)", &[0; 4])), &["5 nodes", "got 4"]),
        ("train_labels.npy", Some(&ints("(5, 1)", &[0, 1, 2, 0, 0])), &["zeros and ones", "2"]),
        ("train_labels.npy", Some(&floats("(5, 1)", &[0.0, f64::NAN, 1.0, 0.0, 0.0])), &["zeros and ones", "NaN"]),
        ("train_graph_id.npy", Some(&ints("(5,)", &[1, 1, 2, 1, 2])), &["ascend"]),
        ("train_graph_id.npy", Some(b"x"), &[]),
        ("train_graph_id.npy", Some(&npy("<i8", "(99999999999,)", b"")), &[]),
    ]);
    let text = PPI.told("train_feats.npy", &floats("(5,)", &[0.0; 5]));
    assert!(text.contains("shape") || text.contains("dims"), "{text}");
    let empty: [(&str, Vec<u8>); 4] = [
        ("none_graph.json", br#"{"links": []}"#.into()),
        ("none_feats.npy", floats("(0, 3)", &[])),
        ("none_labels.npy", ints("(0, 2)", &[])),
        ("none_graph_id.npy", ints("(0,)", &[])),
    ];
    let folder = tempfile::tempdir().unwrap();
    empty.iter().for_each(|(name, bytes)| fs::write(folder.path().join(name), bytes).unwrap());
    assert!(read_ppi(folder.path(), "none", &Device::flex()).unwrap().is_empty());
}

fn triples() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("train.txt", "b\tr\ta\n\u{e9} b\ts\tb\r\nb\tr\ta\n".into()),
        ("valid.txt", "a\ts\ta\n".into()),
        ("test.txt", "new\tr\tb\n".into()),
    ]
}

#[test]
fn triples_are_numbered_as_they_appear() {
    let folder = TRIPLES.folder("", None);
    let facts = read_triples(folder.path(), &Device::flex()).unwrap();
    assert_eq!(
        (&facts.entities[..], &facts.relations[..]),
        (&["b", "a", "\u{e9} b", "new"].map(String::from)[..], &["r", "s"].map(String::from)[..],)
    );
    assert_eq!((facts.train.dims(), whole(&facts.train)), ([3, 3], vec![0, 0, 1, 2, 1, 0, 0, 0, 1]));
    assert_eq!((whole(&facts.val), whole(&facts.test)), (vec![1, 1, 1], vec![3, 0, 0]));
    let folder = TRIPLES.folder("train.txt", Some(b""));
    assert_eq!(read_triples(folder.path(), &Device::flex()).unwrap().train.dims(), [0, 3]);
    TRIPLES.refuses(&[
        ("train.txt", None, &["cannot be read"]),
        ("test.txt", None, &["cannot be read"]),
        ("train.txt", Some(b"a\tr\tb\na r b\n"), &["line 2", "a relation", "end of the line"]),
        ("train.txt", Some(b"a\tr\tb\tc\n"), &["line 1", "must end", "c"]),
        ("valid.txt", Some(b"a\t\tb\n"), &["line 1", "a relation"]),
        ("valid.txt", Some(b"a\tr\n"), &["line 1", "a tail"]),
        ("valid.txt", Some(b"a\tr\t\xff\n"), &["line 1", "a tail"]),
        ("valid.txt", Some(b"a\tr\x00\tb\n"), &["line 1", "control character"]),
    ]);
}

fn entities() -> Vec<(&'static str, Vec<u8>)> {
    let graph = concat!(
        "# A comment.\n",
        "<p:ann> <knows> <p:bob> .\n",
        "<p:bob>\t<knows>\t<p:ann>\t. # another\n",
        "_:x <near> <p:ann> .\n",
        "<p:ann> <name> \"Ann \\\"A\\\" .\"@en .\n",
        "<p:ann> <age> \"7\"^^<int> .\n",
        "<p:ann> <knows> <p:bob> .\n",
        "<p:bob> <age> \"7\" .\n",
    );
    vec![
        ("aifb_stripped.nt", graph.into()),
        ("trainingSet.tsv", "id\tperson\tlabel_affiliation\n0\tp:ann\tb\n1\t_:x\ta\n".into()),
        ("testSet.tsv", "person\tlabel_affiliation\tid\n\"p:bob\"\tb\t2\n".into()),
    ]
}

#[test]
fn entities_have_relations_by_frequency_in_both_directions() {
    let folder = ENTITIES.folder("", None);
    let mut heard = vec![];
    let told = &mut |done, all| heard.push((done, all));
    let graph = read_entities_with(folder.path(), EntityTask::AIFB, &Device::flex(), told).unwrap();
    assert!(heard.is_sorted() && heard.last().is_some_and(|last| last.0 == last.1), "{heard:?}");
    // A literal of a type is another one than that without.
    let names = ["p:ann", "p:bob", "_:x", "\"Ann \\\"A\\\" .\"@en", "\"7\"^^<int>", "\"7\""];
    assert_eq!(graph.entities, names);
    // Two facts of the first two relations, since one is listed twice.
    assert_eq!(graph.relations, ["age", "knows", "name", "near"]);
    let all: Vec<_> = graph.adjacencies.iter().map(|a| (a.dims(), ends(a))).collect();
    let expected: [&[(i64, i64)]; 8] = [
        &[(4, 0), (5, 1)],
        &[(0, 4), (1, 5)],
        &[(0, 1), (1, 0)],
        &[(0, 1), (1, 0)],
        &[(3, 0)],
        &[(0, 3)],
        &[(0, 2)],
        &[(2, 0)],
    ];
    assert_eq!(all, expected.map(|ends| ([6, 6], ends.to_vec())));
    assert_eq!((graph.classes, graph.labels.classes()), (vec!["a".to_string(), "b".into()], 2));
    assert_eq!(graph.labels.to_vec(), [1, 1, 0, -1, -1, -1]);
    assert_eq!((graph.splits.train, graph.splits.val, graph.splits.test), (vec![0, 2], vec![], vec![1]));
    // No facts at all, and no one to classify.
    let empty = tempfile::tempdir().unwrap();
    fs::write(empty.path().join("mutag_stripped.nt"), "").unwrap();
    for name in ["trainingSet.tsv", "testSet.tsv"] {
        fs::write(empty.path().join(name), "label_mutagenic\tbond\n").unwrap();
    }
    let graph = read_entities(empty.path(), EntityTask::MUTAG, &Device::flex()).unwrap();
    assert!(graph.entities.is_empty() && graph.adjacencies.is_empty() && graph.labels.is_empty());
}

#[test]
fn entities_are_checked() {
    let graph = "aifb_stripped.nt";
    ENTITIES.refuses(&[
        (graph, None, &["cannot be read"]),
        (graph, Some(b"<a> <b> .\n"), &["line 1", "an object", "."]),
        (graph, Some(b"<a> <b> <c>\n"), &["line 1", "end with a point"]),
        (graph, Some(b"<a> <b> <c> . <d>\n"), &["line 1", "end with a point", "<d>"]),
        (graph, Some(b"<a> <b> <c\n"), &["line 1", "an object", "<c"]),
        (graph, Some(b"<a> <b> <c> .\n<a> \"b\" <c> .\n"), &["line 2", "a predicate"]),
        (graph, Some(b"\"a\" <b> <c> .\n"), &["line 1", "a subject"]),
        (graph, Some(b"<a> <b> \"c\\\" .\n"), &["line 1", "an object"]),
        (graph, Some(b"<a> <b> \"c\"^^<d .\n"), &["line 1", "an object"]),
        (graph, Some(b"a b c .\n"), &["line 1", "a subject", "a b c"]),
        (graph, Some(b"<a\xff> <b> <c> .\n"), &["line 1", "must be text"]),
        ("trainingSet.tsv", None, &["cannot be read"]),
        ("trainingSet.tsv", Some(b"id\tlabel_affiliation\n"), &["line 1", "person", "id"]),
        ("trainingSet.tsv", Some(b"person\n"), &["line 1", "label_affiliation"]),
        ("trainingSet.tsv", Some(b"person\tlabel_affiliation\np:ann\n"), &["line 2", "must follow"]),
        ("trainingSet.tsv", Some(b"person\tlabel_affiliation\np:zoe\tb\n"), &["line 2", "one of the graph", "p:zoe"]),
        ("testSet.tsv", Some(b"person\tlabel_affiliation\np:ann\tb\n"), &["line 2", "in one split", "0 again"]),
    ]);
    let folder = ENTITIES.folder("", None);
    assert!(Limits::new().elements(6).run(|| (ENTITIES.read)(folder.path())).is_err());
}

fn movies() -> Vec<(&'static str, Vec<u8>)> {
    let movies = "movieId,title,genres\n10,\"Net, \"\"The\"\" (1995)\",Crime|Action\n3,Heat (1995),Action\n\
                  7,None,(no genres listed)\n";
    let ratings = "userId,movieId,rating,timestamp\n5,3,4.5,100\n2,10,1.0,90\n5,10,3,80\n";
    vec![("movies.csv", movies.into()), ("ratings.csv", ratings.into())]
}

#[test]
fn movies_are_read_as_pyg_does() {
    let folder = MOVIES.folder("", None);
    let mut last = (0, 1);
    let told = &mut |done, all| last = (done, all);
    let set = read_movie_lens_with(folder.path(), (&Device::flex(), DType::F64), told).unwrap();
    assert_eq!((last.0, &set.genres[..]), (last.1, &["(no genres listed)", "Action", "Crime"].map(String::from)[..]));
    assert_eq!(
        (set.titles, set.movies),
        (vec!["Net, \"The\" (1995)".into(), "Heat (1995)".to_string(), "None".into()], vec![10, 3, 7])
    );
    let movies = set.graph.nodes_of("movie");
    let features = movies.features.as_ref().unwrap();
    assert_eq!((features.dtype(), numbers(features)), (DType::F64, vec![0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0]));
    // Users by first appearance; edges in the order of movies.
    assert_eq!((set.users, set.graph.nodes_of("user").count, set.times), (vec![5, 2], 2, vec![80, 90, 100]));
    let rates = set.graph.adjacency(("user", "rates", "movie"));
    assert_eq!(
        (rates.dims(), rates.dtype(), numbers(&rates.to_dense())),
        ([3, 2], DType::F64, vec![3.0, 1.0, 4.5, 0.0, 0.0, 0.0])
    );
}

#[test]
fn movies_are_checked() {
    MOVIES.refuses(&[
        ("movies.csv", None, &["cannot be read"]),
        ("movies.csv", Some(b"t\nx,Heat,Action\n"), &["line 2", "whole number", "x"]),
        ("movies.csv", Some(b"t\n1\n"), &["line 2", "end of the line"]),
        ("movies.csv", Some(b"t\n1,Heat\n"), &["line 2", "genres"]),
        ("movies.csv", Some(b"t\n1,Heat,A\n1,Net,B\n"), &["line 3", "once", "1 again"]),
        ("movies.csv", Some(b"t\n1,\xff,A\n"), &["line 2", "must be text"]),
        ("ratings.csv", None, &["cannot be read"]),
        ("ratings.csv", Some(b"t\n1,4,5,6\n"), &["line 2", "movies.csv", "4"]),
        ("ratings.csv", Some(b"t\n1,3,x,6\n"), &["line 2", "x"]),
        ("ratings.csv", Some(b"t\n1,3,inf,6\n"), &["line 2", "inf"]),
        ("ratings.csv", Some(b"t\n1,3,2\n"), &["line 2", "end of the line"]),
        ("ratings.csv", Some(b"t\n1,3,2,5,6\n"), &["line 2", "must end", "6"]),
        ("ratings.csv", Some(b"t\n9,3,2,5\n4,3,2,5\n9,3,1,6\n"), &["line 4", "user 9 and movie 3"]),
    ]);
    // Many movies, each with a genre of its own.
    let many: String = (0..300).map(|movie| format!("{movie},t,g{movie}\n")).collect();
    let folder = MOVIES.folder("movies.csv", Some(format!("t\n{many}").as_bytes()));
    let trouble = Limits::new().elements(80_000).run(|| (MOVIES.read)(folder.path())).unwrap_err();
    assert_eq!(trouble.kind(), "would_densify", "{trouble}");
}

const MAGNN_TYPES: [&str; 3] = ["movie", "director", "actor"];

fn magnn() -> Vec<(&'static str, Vec<u8>)> {
    // Two movies, one director, two actors.
    let rows = [[0.0, 0.0, 1.0, 2.0, 0.0], [0.0, 0.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 0.0, 0.0], [0.0; 5], [0.0; 5]];
    let edges = CsrTensor::<2>::from_dense(Tensor::from_floats(rows, &Device::flex()));
    let movies = CsrTensor::<2>::from_dense(Tensor::from_floats([[0.0, 0.5], [1.0, 0.0]], &Device::flex()));
    let splits = [
        ("train_idx.npy", ints("(1,)", &[1])),
        ("val_idx.npy", ints("(0,)", &[])),
        ("test_idx.npy", ints("(1,)", &[0])),
    ];
    vec![
        ("adjM.npz", npz::to_bytes(&edges).unwrap()),
        ("features_0.npz", npz::to_bytes(&movies).unwrap()),
        ("features_1.npy", floats("(1, 3)", &[1.0, 2.0, 3.0])),
        ("node_types.npy", ints("(5,)", &[0, 0, 1, 2, 2])),
        ("labels.npy", ints("(2,)", &[2, 0])),
        ("train_val_test_idx.npz", zip(&splits)),
    ]
}

#[test]
fn magnn_folders_are_cut_by_types() {
    let folder = MAGNN.folder("", None);
    let mut last = (0, 1);
    let told = &mut |done, all| last = (done, all);
    let graph = read_magnn_with(folder.path(), &MAGNN_TYPES, &Device::flex(), told).unwrap();
    assert_eq!(last.0, last.1);
    assert_eq!(
        graph.to_string(),
        "actor: 2 nodes\ndirector: 1 nodes, 3 features\nmovie: 2 nodes, 2 features, 3 classes\n\
         director-to-movie: 1 edges\nmovie-to-actor: 2 edges\nmovie-to-director: 1 edges"
    );
    // The file has sources as rows.
    assert_eq!(ends(graph.adjacency(("movie", "to", "actor"))), [(0, 0), (1, 1)]);
    assert_eq!(ends(graph.adjacency(("director", "to", "movie"))), [(0, 0)]);
    let movies = graph.nodes_of("movie");
    assert_eq!(numbers(movies.features.as_ref().unwrap()), [0.0, 0.5, 1.0, 0.0]);
    assert_eq!((movies.labels.as_ref().unwrap().to_vec(), &movies.splits.train[..]), (vec![2, 0], &[1][..]));
    assert_eq!((&movies.splits.val[..], &movies.splits.test[..]), (&[][..], &[0][..]));
    assert_eq!(graph.labelled("movie", &[0, 1]).unwrap().len(), 2);
    // Without the types of nodes all must have features.
    let folder = MAGNN.folder("node_types.npy", None);
    assert!(sparse_dev::told((MAGNN.read)(folder.path())).contains("features_2.npy: actor: the number of nodes"));
    fs::write(folder.path().join("features_2.npy"), floats("(2, 1)", &[4.0, 5.0])).unwrap();
    let read = read_magnn(folder.path(), &MAGNN_TYPES, (&Device::flex(), DType::F64)).unwrap();
    assert!(read.edges().iter().all(|(_, a)| a.dtype() == DType::F64));
    assert_eq!(read.features()["movie"].dtype(), DType::F64);
    assert_eq!(sparse_dev::told(read_magnn(folder.path(), &[], &Device::flex())).matches("got none").count(), 1);
    let twice = read_magnn(folder.path(), &["a", "b", "a"], &Device::flex());
    assert!(sparse_dev::told(twice).contains("a: a type of nodes must be listed once"));
}

#[test]
fn magnn_folders_are_checked() {
    let wide = npz::to_bytes(&CsrTensor::<2>::from_dense(Tensor::ones([3, 4], &Device::flex()))).unwrap();
    let small = npz::to_bytes(&CsrTensor::<2>::from_dense(Tensor::ones([4, 4], &Device::flex()))).unwrap();
    let split = |train: &[i64]| {
        let shape = format!("({},)", train.len());
        let parts = [
            ("train_idx.npy", ints(&shape, train)),
            ("val_idx.npy", ints("(0,)", &[])),
            ("test_idx.npy", ints("(1,)", &[0])),
        ];
        zip(&parts)
    };
    let splits = "train_val_test_idx.npz";
    MAGNN.refuses(&[
        ("adjM.npz", None, &["cannot be read"]),
        ("adjM.npz", Some(&wide), &["square", "3 x 4"]),
        ("adjM.npz", Some(b"PK"), &[]),
        ("node_types.npy", Some(&ints("(4,)", &[0, 0, 1, 2])), &["5 nodes", "got 4"]),
        ("node_types.npy", Some(&ints("(5,)", &[0, 1, 0, 2, 2])), &["ascend"]),
        ("node_types.npy", Some(&ints("(5,)", &[0, 0, 1, 2, 3])), &["[0, 3)", "got 3"]),
        ("node_types.npy", Some(&ints("(5,)", &[-1, 0, 1, 2, 2])), &["[0, 3)", "got -1"]),
        ("features_1.npy", Some(&floats("(2, 1)", &[0.0; 2])), &["1 nodes of type director", "got 2"]),
        ("features_1.npy", Some(&npy("<f8", "(99999999999, 2)", b"")), &[]),
        ("features_0.npz", Some(&wide), &["2 nodes of type movie", "got 3"]),
        ("labels.npy", None, &["cannot be read"]),
        ("labels.npy", Some(&ints("(1,)", &[0])), &["2 nodes", "got 1"]),
        ("labels.npy", Some(&ints("(2,)", &[0, -2])), &["-2"]),
        (splits, None, &["cannot be read"]),
        (splits, Some(&split(&[0])), &["test_idx", "one split", "0 again"]),
        (splits, Some(&split(&[2])), &["train_idx", "[0, 2)", "2"]),
        (splits, Some(&split(&[-1])), &["train_idx", "[0, 2)", "-1"]),
        (splits, Some(&zip(&[("train_idx.npy", ints("(0,)", &[]))])), &["val_idx"]),
    ]);
    // All nodes have features, but there are others.
    let folder = MAGNN.folder("adjM.npz", Some(&small));
    fs::remove_file(folder.path().join("node_types.npy")).unwrap();
    fs::write(folder.path().join("features_2.npy"), floats("(2, 1)", &[4.0, 5.0])).unwrap();
    let text = sparse_dev::told((MAGNN.read)(folder.path()));
    assert!(text.contains("adjM.npz") && text.contains("5 nodes of all types, got 4"), "{text}");
}

fn mag() -> Vec<(&'static str, Vec<u8>)> {
    let files = [
        ("raw/num-node-dict.csv", "author,paper\n2,3\n"),
        ("raw/relations/author___writes___paper/edge.csv", "0,2\n1,0\n0,2\n"),
        ("raw/relations/paper___cites___paper/edge.csv", "0,1\n"),
        ("raw/node-feat/paper/node-feat.csv", "0.5,1\n2,3\n4,5\n"),
        ("raw/node-label/paper/node-label.csv", "1\n0\nnan\n"),
        ("split/time/paper/train.csv", "1\n"),
        ("split/time/paper/valid.csv", ""),
        ("split/time/paper/test.csv", "0\n"),
    ];
    files.map(|(name, text)| (name, text.into())).into()
}

#[test]
fn folders_of_ogb_with_types_are_read() {
    let folder = MAG.folder("", None);
    let mut last = (0, 1);
    let told = &mut |done, all| last = (done, all);
    let graph = read_ogb_hetero_with(folder.path(), &OgbOptions::new(), &Device::flex(), told).unwrap();
    assert_eq!(last.0, last.1);
    assert_eq!(
        graph.to_string(),
        "author: 2 nodes\npaper: 3 nodes, 2 features, 2 classes\nauthor-writes-paper: 2 edges\n\
         paper-cites-paper: 1 edges"
    );
    // Rows are targets; an edge that is listed twice has the value 2.
    let writes = graph.adjacency(("author", "writes", "paper"));
    assert_eq!(numbers(&writes.to_dense()), [0.0, 1.0, 0.0, 0.0, 2.0, 0.0]);
    assert_eq!(ends(graph.adjacency(("paper", "cites", "paper"))), [(1, 0)]);
    let papers = graph.nodes_of("paper");
    assert_eq!(numbers(papers.features.as_ref().unwrap()), [0.5, 1.0, 2.0, 3.0, 4.0, 5.0]);
    assert_eq!((papers.labels.as_ref().unwrap().to_vec(), &papers.splits.train[..]), (vec![1, 0, -1], &[1][..]));
    let both = read_ogb_hetero(folder.path(), &OgbOptions::new().with_inverse_edges(), (&Device::flex(), DType::F64));
    let both = both.unwrap();
    assert_eq!(numbers(&both.adjacency(("paper", "rev_writes", "author")).to_dense()), [0.0, 0.0, 2.0, 1.0, 0.0, 0.0]);
    assert_eq!(ends(both.adjacency(("paper", "cites", "paper"))), [(0, 1), (1, 0)]);
}

#[test]
fn folders_of_ogb_with_types_are_checked() {
    let (counts, writes) = ("raw/num-node-dict.csv", "raw/relations/author___writes___paper/edge.csv");
    MAG.refuses(&[
        (counts, None, &["cannot be read"]),
        (counts, Some(b"author,paper\n2\n"), &["2 types", "got 1"]),
        (counts, Some(b"author,author\n2,3\n"), &["author", "once"]),
        (counts, Some(b"author,paper\n2,-3\n"), &["line 2", "-3"]),
        (counts, Some(b"author,paper\n2,x\n"), &["line 2", "x"]),
        (writes, Some(b"2,0\n"), &["line 1", "[0, 2)", "2"]),
        (writes, Some(b"0,3\n"), &["line 1", "[0, 3)", "3"]),
        (writes, Some(b"0\n"), &["line 1", "end of the line"]),
        (writes, Some(b"0,1,2\n"), &["line 1", "must end"]),
        ("raw/node-feat/paper/node-feat.csv", Some(b"1\n2\n"), &["3", "got 2"]),
        ("raw/node-feat/paper/node-feat.csv", Some(b"1\ninf\n3\n"), &["line 2", "inf"]),
        ("raw/node-label/paper/node-label.csv", Some(b"1\n2\n"), &["3", "got 2"]),
        ("raw/node-label/paper/node-label.csv", Some(b"1,1\n2,1\n1,1\n"), &["one class", "got 2"]),
        ("split/time/paper/test.csv", None, &["cannot be read"]),
        ("split/time/paper/test.csv", Some(b"1\n"), &["line 1", "one split", "1 again"]),
        ("split/time/paper/test.csv", Some(b"3\n"), &["line 1", "[0, 3)", "3"]),
    ]);
    // What is claimed is not allocated: columns cost nothing, rows do.
    let folder = MAG.folder(counts, Some(b"author,paper\n2000000000,3\n"));
    assert!((MAG.read)(folder.path()).is_ok());
    let inverse = OgbOptions::new().with_inverse_edges();
    let trouble = read_ogb_hetero(folder.path(), &inverse, &Device::flex()).unwrap_err();
    assert_eq!(trouble.kind(), "would_densify", "{trouble}");
    let folder = MAG.folder("raw/node-label/paper/node-label.csv", None);
    let text = sparse_dev::told((MAG.read)(folder.path()));
    assert!(text.contains("paper") && text.contains("must have classes, got none"), "{text}");
    let folder = MAG.folder("split/time/paper/test.csv", Some(b"2\n"));
    let text = sparse_dev::told((MAG.read)(folder.path()));
    assert!(text.contains("must have a class, got 2"), "{text}");
    let folder = MAG.folder("", None);
    fs::remove_file(folder.path().join(writes)).unwrap();
    let text = sparse_dev::told((MAG.read)(folder.path()));
    assert!(text.contains("author___writes___paper") && text.contains("cannot be read"), "{text}");
    // A folder that names no relation, and one of types that are not there.
    for (name, part) in [("writes", "from___relation___to"), ("author___in___venue", "venue")] {
        let folder = MAG.folder("", None);
        let place = folder.path().join("raw/relations").join(name);
        fs::create_dir_all(&place).unwrap();
        fs::write(place.join("edge.csv"), "").unwrap();
        let text = sparse_dev::told((MAG.read)(folder.path()));
        assert!(text.contains(name) && text.contains(part), "{text}");
    }
}

fn taobao() -> Vec<(&'static str, Vec<u8>)> {
    let actions = "9,50,4,pv,150\n2,50,4,pv,151\n9,50,4,pv,152\n9,50,4,pv,150\n2,30,7,buy,199\n2,30,7,fav,200\n\
                   8,1,1,cart,99\n2,30,4,pv,100\n";
    vec![("UserBehavior.csv", actions.into())]
}

#[test]
fn actions_are_edges_of_their_behaviour() {
    let folder = TAOBAO.folder("", None);
    let mut last = (0, 1);
    let told = &mut |done, all| last = (done, all);
    let graph = read_taobao_with(folder.path(), 100..200, (&Device::flex(), DType::F64), told).unwrap();
    assert_eq!(last.0, last.1);
    // User 8 acts too early, and the only `fav` is too late.
    assert_eq!(
        graph.to_string(),
        "category: 2 nodes\nitem: 2 nodes\nuser: 2 nodes\n\
         item-in-category: 3 edges\nuser-buy-item: 1 edges\nuser-pv-item: 3 edges"
    );
    // Items 30 and 50, users 2 and 9: one action is listed twice.
    let views = graph.adjacency(("user", "pv", "item"));
    assert_eq!((views.dtype(), numbers(&views.to_dense())), (DType::F64, vec![1.0, 0.0, 1.0, 2.0]));
    assert_eq!(ends(graph.adjacency(("user", "buy", "item"))), [(0, 0)]);
    assert_eq!(ends(graph.adjacency(("item", "in", "category"))), [(0, 0), (0, 1), (1, 0)]);
    let none = read_taobao(folder.path(), 0..1, &Device::flex()).unwrap();
    assert_eq!((none.nodes_of("user").count, none.edge_types().count()), (0, 1));
    TAOBAO.refuses(&[
        ("UserBehavior.csv", None, &["cannot be read"]),
        ("UserBehavior.csv", Some(b"1,2,3,pv\n"), &["line 1", "end of the line"]),
        ("UserBehavior.csv", Some(b"1,2,3,look,150\n"), &["line 1", "a behaviour", "look"]),
        ("UserBehavior.csv", Some(b"1,2,3,pv,150\n-1,2,3,pv,150\n"), &["line 2", "a user", "-1"]),
        ("UserBehavior.csv", Some(b"1,99999999999,3,pv,150\n"), &["line 1", "an item"]),
        ("UserBehavior.csv", Some(b"1,2,x,pv,150\n"), &["line 1", "x"]),
        ("UserBehavior.csv", Some(b"1,2,3,pv,150,4\n"), &["line 1", "must end"]),
    ]);
    assert!(Limits::new().elements(3).run(|| (TAOBAO.read)(folder.path())).is_err());
}

fn jodie() -> Vec<(&'static str, Vec<u8>)> {
    let events = "user_id,item_id,timestamp,state_label,comma_separated_list_of_features\n\
                  0,0,0.0,0,-0.5,1\n2,1,36.9,1,0.25,2\n0,1,36.0,0,1e-3,3\n";
    vec![("mooc.csv", events.into())]
}

#[test]
fn events_of_jodie_are_read() {
    let folder = JODIE.folder("", None);
    let mut last = (0, 1);
    let told = &mut |done, all| last = (done, all);
    let path = folder.path().join("mooc.csv");
    let set = read_jodie_with(&path, (&Device::flex(), DType::F64), told).unwrap();
    assert_eq!(last.0, last.1);
    let events = &set.events;
    assert_eq!((set.users, events.nodes(), events.sources(), events.targets()), (3, 5, &[0, 2, 0][..], &[3, 4, 4][..]));
    assert_eq!((events.times(), set.labels), (&[0, 36, 36][..], vec![0, 1, 0]));
    assert_eq!(numbers(&events.messages().clone()), [-0.5, 1.0, 0.25, 2.0, 1e-3f32 as f64, 3.0]);
    // Without events, and without features.
    fs::write(&path, "titles\n").unwrap();
    assert_eq!(read_jodie(&path, &Device::flex()).unwrap().events.messages().dims(), [0, 0]);
    fs::write(&path, "titles\n4,0,1,0\n").unwrap();
    assert_eq!(read_jodie(&path, &Device::flex()).unwrap().events.messages().dims(), [1, 0]);
    let name = "mooc.csv";
    JODIE.refuses(&[
        (name, None, &["cannot be read"]),
        (name, Some(b"t\n0,0,1.0\n"), &["line 2", "end of the line"]),
        (name, Some(b"t\n0,0,5.0,0,1\n0,0,4.9,0,1\n"), &["line 3", "backwards", "got 4 after 5"]),
        (name, Some(b"t\n0,0,5.0,0,1\n0,0,6,0,1,2\n"), &["line 3", "1 features", "got 2"]),
        (name, Some(b"t\n0,0,NaN,0,1\n"), &["line 2", "a time", "NaN"]),
        (name, Some(b"t\n-1,0,1,0,1\n"), &["line 2", "a user", "-1"]),
        (name, Some(b"t\n1,99999999999,1,0,1\n"), &["line 2", "an item"]),
        (name, Some(b"t\n1,0,1,x,1\n"), &["line 2", "x"]),
        (name, Some(b"t\n1,0,1,0,inf\n"), &["line 2", "finite"]),
    ]);
    assert!(Limits::new().elements(3).run(|| (JODIE.read)(JODIE.folder("", None).path())).is_err());
}

proptest! {
    // Each case writes a folder.
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn edited_folders_survive(
        which in 0usize..READERS.len(),
        file in any::<prop::sample::Index>(),
        edits in prop::collection::vec((any::<usize>(), any::<u8>(), 0u8..4), 1..4),
    ) {
        let reader = &READERS[which];
        let files = (reader.files)();
        let (name, bytes) = &files[file.index(files.len())];
        let folder = reader.folder(name, Some(&edited(bytes, &edits)));
        if let Err(trouble) = (reader.read)(folder.path()) {
            let kinds = [
                "invalid", "overflow", "would_densify", "shape_mismatch", "length_mismatch", "dtype_mismatch",
                "invalid_row_ptr", "index_out_of_range",
            ];
            prop_assert!(kinds.contains(&trouble.kind()), "{}: {}", trouble.kind(), trouble);
        }
    }
}
