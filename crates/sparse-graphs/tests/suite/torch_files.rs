//! Files of PyTorch and pickles of Python: graphs that PyG saved, and ACM.

use crate::readers::Reader;
use burn::tensor::{DType, Device, Tensor};
use proptest::prelude::*;
use rawzip::{CompressionMethod, ZipArchive, ZipArchiveWriter};
use sparse_dev::files::{bytes, edited, expected, floats, heard, path, sizes};
use sparse_tensor::data::{
    OgbOptions, PygGraph, read_acm, read_acm_with, read_ogb_links, read_ogb_links_with, read_pyg, read_pyg_with,
};
use sparse_tensor::{CsrTensor, Limits, Result, SparseError};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;

fn pyg(name: &str) -> Result<Vec<PygGraph>> {
    read_pyg(path("pyg").join(name), &Device::flex())
}

fn numbers(graph: &PygGraph, name: &str) -> Vec<f64> {
    graph.array(name).unwrap().iter().collect()
}

fn list(tensor: Tensor<2>) -> Vec<f64> {
    tensor.into_data().iter().collect()
}

/// Row and column of each element, whose values are 1.
fn ends(matrix: &CsrTensor<2>) -> Vec<Vec<usize>> {
    let (rows, cols, values) = matrix.to_triplets::<f32>();
    assert!(values.iter().all(|&value| value == 1.0));
    rows.into_iter().zip(cols).map(|(row, col)| vec![row, col]).collect()
}

/// The graph with this number is what PyG made the file of.
fn assert_same(graph: &PygGraph, number: usize) {
    let right = &expected("pyg")[number];
    let nodes = right["nodes"].as_u64().unwrap() as usize;
    assert_eq!(graph.graph.adjacency.dims(), [nodes; 2]);
    // An edge that is listed twice is one edge, with the sum of its features.
    let mut edges = BTreeMap::<Vec<usize>, [f64; 3]>::new();
    let features = floats(&right["edge_attr"]);
    for (edge, own) in right["edges"].as_array().unwrap().iter().map(sizes).zip(features.chunks(3)) {
        edges.entry(edge).or_default().iter_mut().zip(own).for_each(|(sum, value)| *sum += value);
    }
    assert_eq!(ends(&graph.graph.adjacency), edges.keys().cloned().collect::<Vec<_>>());
    let sums: Vec<f64> = edges.into_values().flatten().collect();
    assert_eq!(list(graph.graph.edge_features.clone().unwrap()), sums);
    assert_eq!(list(graph.graph.features.clone().unwrap()), floats(&right["x"]));
    for name in ["y", "pos", "mask"] {
        assert_eq!(numbers(graph, name), floats(&right[name]), "{name} of graph {number}");
    }
    assert_eq!(numbers(graph, "z"), sizes(&right["z"]).iter().map(|&node| node as f64).collect::<Vec<_>>());
    assert_eq!(
        (graph.array("pos").unwrap().dtype(), &graph.array("y").unwrap().shape()[..]),
        (DType::F64, &[1, 2][..])
    );
    assert_eq!(graph.array("face").unwrap().shape()[..], [3, 2]);
    let names: Vec<&String> = graph.arrays.keys().collect();
    assert_eq!(names, ["edge_index", "face", "mask", "pos", "y", "z"]);
}

#[test]
fn graphs_are_those_that_pyg_saved() {
    for name in ["joined.pt", "list.pt", "dicts.pt"] {
        let graphs = pyg(name).unwrap();
        assert_eq!(graphs.len(), 3, "{name}");
        graphs.iter().enumerate().for_each(|(number, graph)| assert_same(graph, number));
    }
    for (name, number) in [("one.pt", 2), ("data.pt", 0)] {
        let graphs = pyg(name).unwrap();
        assert_eq!(graphs.len(), 1, "{name}");
        assert_same(&graphs[0], number);
    }
}

#[test]
fn nodes_without_features_are_counted_by_the_graph() {
    let sizes: Vec<_> = pyg("bare.pt").unwrap().iter().map(|own| own.graph.adjacency.dims()[0]).collect();
    assert_eq!(sizes, [2, 4]);
}

#[test]
fn tensors_lie_in_their_storage_in_any_order() {
    let graph = &pyg("strided.pt").unwrap()[0];
    assert_eq!(ends(&graph.graph.adjacency), [[0, 1], [1, 2], [2, 0]]);
    assert_eq!(list(graph.graph.features.clone().unwrap()), [3.0, 5.0, 6.0, 8.0, 9.0, 11.0]);
    let kinds = &pyg("kinds.pt").unwrap()[0];
    let dtypes = ["bfloat16", "float16", "float64", "int16", "int32", "int8", "uint8"];
    for (name, dtype) in
        dtypes.into_iter().zip([DType::BF16, DType::F16, DType::F64, DType::I16, DType::I32, DType::I8, DType::U8])
    {
        assert_eq!((numbers(kinds, name), kinds.array(name).unwrap().dtype()), (vec![0.0, 1.0, 2.0], dtype));
    }
    assert_eq!(kinds.graph.adjacency.dims(), [0, 0]);
}

#[test]
fn progress_and_dtype_of_a_file() {
    let length = fs::metadata(path("pyg/joined.pt")).unwrap().len();
    let options = (&Device::flex(), DType::F64);
    let (graphs, _) = heard(length, |told| read_pyg_with(path("pyg/joined.pt"), options, told));
    let graph = graphs.unwrap().remove(0);
    assert_eq!((graph.graph.adjacency.dtype(), graph.graph.features.unwrap().dtype()), (DType::F64, DType::F64));
}

fn refused(name: &str, trouble: &SparseError, parts: &[&str]) {
    let text = trouble.to_string();
    assert!(text.contains(name) && parts.iter().all(|part| text.contains(part)), "{name}: {text:?} {parts:?}");
}

#[test]
fn files_that_contradict_themselves_are_refused() {
    let cases: [(&str, &str, &[&str]); 16] = [
        ("no_edges", "invalid", &["graph 0", "edge_index, got none"]),
        ("edges_of_three", "invalid", &["graph 0", "edge_index must be [2, edges]", "[3, 2]"]),
        ("node_outside", "invalid", &["graph 0", "edge_index: a node must be in [0, 2), got 2"]),
        ("rows_of_x", "invalid", &["graph 0", "x must have a row for each of 3", "[2, 1]"]),
        ("rows_of_edges", "invalid", &["graph 0", "edge_attr must have a row for each of 2", "[3, 1]"]),
        ("cubes", "invalid", &["graph 0", "x must have a row", "[3, 1, 1]"]),
        ("billions", "would_densify", &[]),
        ("expanded", "invalid", &["y: a tensor of shape [1099511627776] must lie in its storage of 1"]),
        ("complex", "invalid", &["y: a storage of real numbers", "ComplexFloatStorage"]),
        ("slices_descend", "invalid", &["x: the slices must ascend from 0 to the 9 of dim 0"]),
        ("slices_end", "invalid", &["x: the slices must ascend from 0 to the 9 of dim 0"]),
        ("slices_begin", "invalid", &["pos: the slices must ascend from 0 to the 9 of dim 0"]),
        ("slices_count", "invalid", &["y: the slices must be 4", "got 3"]),
        ("slices_matrix", "invalid", &["y: the slices must be a list, got shape [2, 2]"]),
        ("words", "invalid", &["a Data of PyG", "got something else"]),
        ("text", "invalid", &["a Data of PyG", "got something else"]),
    ];
    for (name, kind, parts) in cases {
        let file = format!("not_{name}.pt");
        let trouble = pyg(&file).unwrap_err();
        assert_eq!(trouble.kind(), kind, "{name}: {trouble}");
        refused(if kind == "invalid" { &file } else { "" }, &trouble, parts);
    }
    refused("missing.pt", &pyg("missing.pt").unwrap_err(), &["cannot be read"]);
    let trouble = pyg("one.pt").unwrap()[0].array("w").unwrap_err();
    refused("w", &trouble, &["edge_index", "mask"]);
    assert!(Limits::new().elements(2).run(|| pyg("joined.pt")).is_err());
    assert!(Limits::new().bytes(100).run(|| pyg("joined.pt")).is_err());
}

/// The parts of an archive.
fn parts(file: &str) -> Vec<(String, Vec<u8>)> {
    let bytes = bytes(file);
    let archive = ZipArchive::from_slice(&bytes[..]).unwrap();
    let mut parts = vec![];
    let mut entries = archive.entries();
    while let Some(entry) = entries.next_entry().unwrap() {
        let name = String::from_utf8_lossy(entry.file_path().as_ref()).into_owned();
        parts.push((name, archive.get_entry(entry.wayfinder()).unwrap().data().to_vec()));
    }
    parts
}

fn archive(parts: &[(String, Vec<u8>)], method: CompressionMethod) -> Vec<u8> {
    let mut archive = ZipArchiveWriter::new(vec![]);
    for (name, bytes) in parts {
        let (mut entry, options) = archive.new_file(name.as_str()).compression_method(method).start().unwrap();
        let mut writer = options.wrap(&mut entry);
        writer.write_all(bytes).unwrap();
        let (_, summed) = writer.finish().unwrap();
        entry.finish(summed).unwrap();
    }
    archive.finish().unwrap()
}

fn read(bytes: &[u8]) -> Result<Vec<PygGraph>> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("own.pt"), bytes).unwrap();
    read_pyg(folder.path().join("own.pt"), &Device::flex())
}

#[test]
fn archives_that_are_not_of_pytorch_are_refused() {
    let (whole, own) = (bytes("pyg/joined.pt"), parts("pyg/joined.pt"));
    assert_eq!(read(&archive(&own, CompressionMethod::STORE)).unwrap().len(), 3);
    let told = |bytes: &[u8], parts: &[&str]| refused("own.pt", &read(bytes).unwrap_err(), parts);
    told(b"", &["a zip archive of torch.save is due"]);
    told(&whole[..whole.len() - 30], &["a zip archive of torch.save is due"]);
    told(&archive(&own, CompressionMethod::DEFLATE), &["must be stored as it is"]);
    told(&archive(&own[1..], CompressionMethod::STORE), &["must have a data.pkl, got none"]);
    let changed = |part: &str, bytes: &[u8]| {
        let parts = own
            .iter()
            .map(|(name, own)| (name.clone(), if name.ends_with(part) { bytes.to_vec() } else { own.clone() }));
        archive(&parts.collect::<Vec<_>>(), CompressionMethod::STORE)
    };
    told(&changed("byteorder", b"big"), &["the byte order must be little"]);
    told(&changed("data.pkl", b"\x80\x02."), &["the pickle is wrong at byte 2"]);
    told(&changed("data/0", b""), &["must lie in its storage of 0"]);
    let without: Vec<_> = own.iter().filter(|(name, _)| !name.ends_with("data/0")).cloned().collect();
    told(&archive(&without, CompressionMethod::STORE), &["the archive must have data/0, got none"]);
    let mut wrong = whole.clone();
    let at = whole.windows(9).position(|bytes| bytes == b"edge_attr").unwrap();
    wrong[at] ^= 1;
    told(&wrong, &["the checksum of", "data.pkl"]);
}

fn acm(name: &str) -> Result<sparse_tensor::data::HeteroGraph> {
    read_acm(path("acm").join(name), &Device::flex())
}

#[test]
fn acm_is_read_from_matrices_of_each_kind() {
    for name in ["protocol2.pkl", "protocol4.pkl"] {
        let graph = acm(name).unwrap();
        let papers = graph.nodes_of("paper");
        let x = papers.features.clone().unwrap();
        assert_eq!((papers.count, list(x)), (4, vec![0.0, 1.5, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 3.0]));
        let labels = papers.labels.as_ref().unwrap();
        assert_eq!((labels.to_vec(), labels.classes()), (vec![0, 1, 0, -1], 2));
        let splits = &papers.splits;
        assert_eq!([&splits.train[..], &splits.val, &splits.test], [[0], [1], [2]]);
        // Rows are targets: an edge from i to i + 1 by author, and the other way by subject.
        let [pap, plp]: [_; 2] = graph.edges().try_into().unwrap();
        assert_eq!((pap.0.relation.as_str(), plp.0.relation.as_str()), ("PAP", "PLP"));
        assert_eq!(ends(pap.1), [[0, 0], [1, 0], [1, 1], [2, 1], [2, 2], [3, 2], [3, 3]]);
        assert_eq!(ends(plp.1), [[0, 0], [0, 1], [1, 1], [1, 2], [2, 2], [2, 3], [3, 3]]);
    }
    let length = fs::metadata(path("acm/protocol4.pkl")).unwrap().len();
    heard(length, |told| read_acm_with(path("acm/protocol4.pkl"), &Device::flex(), told)).0.unwrap();
}

#[test]
fn acm_that_contradicts_itself_is_refused() {
    let cases: [(&str, &[&str]); 7] = [
        ("not_dict.pkl", &["a dictionary is due"]),
        ("not_plp.pkl", &["there must be a PLP, got none"]),
        ("not_square.pkl", &["PAP must be [4, 4], got [4, 3]"]),
        ("not_label.pkl", &["label must be [4, 2], got [3, 2]"]),
        ("not_split.pkl", &["test_idx: a node must be in [0, 4), got 4"]),
        ("not_known.pkl", &["val_idx: a node of a split must have a class, node 3 has none"]),
        ("not_inside.pkl", &["PLP: an element must lie in [4, 4], got (4, 0)"]),
    ];
    for (name, parts) in cases {
        let trouble = acm(name).unwrap_err();
        assert_eq!(trouble.kind(), "invalid", "{name}: {trouble}");
        refused(name, &trouble, parts);
    }
    assert_eq!(Limits::new().elements(11).run(|| acm("protocol2.pkl")).unwrap_err().kind(), "would_densify");
}

pub(crate) const LINKS: Reader = Reader {
    files: links,
    text: "raw/edge.csv",
    read: |folder| read_ogb_links(folder, &OgbOptions::new(), &Device::flex()).map(drop),
};

fn links() -> Vec<(&'static str, Vec<u8>)> {
    let file = |name: &str| bytes(&format!("ogbl/{name}.pt"));
    vec![
        ("raw/num-node-list.csv", "4\n".into()),
        ("raw/edge.csv", "2,3\n0,1\n2,3\n".into()),
        ("raw/node-feat.csv", "1\n2\n3\n4\n".into()),
        ("raw/edge_weight.csv", "1\n2\n4\n".into()),
        ("raw/edge_year.csv", "8\n16\n32\n".into()),
        ("split/time/train.pt", file("train")),
        ("split/time/valid.pt", file("valid")),
        ("split/time/test.pt", file("test")),
    ]
}

#[test]
fn links_of_ogb_are_read_from_files_of_any_age() {
    let folder = LINKS.folder("", None);
    let mut last = (0, 1);
    let told = &mut |done, all| last = (done, all);
    let options = OgbOptions::new().with_split("time").with_inverse_edges();
    let set = read_ogb_links_with(folder.path(), &options, (&Device::flex(), DType::F64), told).unwrap();
    assert_eq!(last.0, last.1);
    assert_eq!(ends(&set.graph.adjacency), [[0, 1], [1, 0], [2, 3], [3, 2]]);
    assert_eq!(list(set.graph.features.unwrap()), [1.0, 2.0, 3.0, 4.0]);
    // The weight and the year of each; one edge is listed twice.
    assert_eq!(list(set.graph.edge_features.unwrap()), [2.0, 16.0, 2.0, 16.0, 5.0, 40.0, 5.0, 40.0]);
    assert_eq!((set.train.edges, set.train.negatives), (vec![(0, 1), (2, 3)], vec![]));
    let array =
        |split: &BTreeMap<String, burn::tensor::TensorData>, name: &str| split[name].iter().collect::<Vec<i64>>();
    assert_eq!([array(&set.train.arrays, "weight"), array(&set.train.arrays, "year")], [[2, 1], [2001, 2002]]);
    assert_eq!((set.val.edges, set.val.negatives), (vec![(0, 2)], vec![(3, 0), (1, 1), (2, 2)]));
    assert_eq!((set.test.edges, &set.test.arrays["target_node_neg"].shape()[..]), (vec![(3, 1), (0, 2)], &[2, 3][..]));
    // Without features and numbers of edges.
    for name in ["raw/node-feat.csv", "raw/edge_weight.csv"] {
        (LINKS.read)(LINKS.folder(name, None).path()).unwrap();
    }
}

#[test]
fn links_of_ogb_that_contradict_each_other_are_refused() {
    let file = |name: &str| bytes(&format!("ogbl/not_{name}.pt"));
    let [outside, shape, ends, list, fortran] = ["outside", "shape", "ends", "list", "fortran"].map(file);
    let old = bytes("ogbl/valid.pt");
    let name = "split/time/valid.pt";
    LINKS.refuses(&[
        ("raw/num-node-list.csv", Some(b"4\n4\n"), &["one graph"]),
        ("raw/edge.csv", Some(b"0,1\n4,0\n2,3\n"), &["line 2", "[0, 4)", "4"]),
        ("raw/edge_weight.csv", Some(b"1\n2\n"), &["3 nodes, edges", "got 2"]),
        (name, None, &["cannot be read"]),
        (name, Some(b"edges"), &["a zip archive of torch.save is due"]),
        (name, Some(&old[..old.len() - 1]), &["the storage", "must be in the file"]),
        (name, Some(&old[..40]), &["the pickle is wrong"]),
        (name, Some(&outside), &["edge: a node must be in [0, 4), got 4"]),
        (name, Some(&shape), &["edge must be [edges, 2], got [2, 3]"]),
        (name, Some(&ends), &["there must be 2 targets as there are sources, got 1"]),
        (name, Some(&list), &["a dictionary of arrays is due"]),
        (name, Some(&fortran), &["year: an array must be in C order"]),
    ]);
    let trouble = (LINKS.read)(LINKS.folder("raw/num-node-list.csv", Some(b"68719476736\n")).path()).unwrap_err();
    assert!(["invalid", "would_densify"].contains(&trouble.kind()), "{trouble}");
}

proptest! {
    // Each case writes a file.
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn edited_files_of_pytorch_survive(
        file in prop::sample::select(vec!["joined", "data", "list", "bare"]),
        part in any::<prop::sample::Index>(),
        edits in prop::collection::vec((any::<usize>(), any::<u8>(), 0u8..4), 1..4),
    ) {
        let mut parts = parts(&format!("pyg/{file}.pt"));
        let place = part.index(parts.len());
        parts[place].1 = edited(&parts[place].1, &edits);
        if let Err(trouble) = read(&archive(&parts, CompressionMethod::STORE)) {
            prop_assert!(["invalid", "would_densify", "overflow"].contains(&trouble.kind()), "{}", trouble);
        }
    }

    #[test]
    fn edited_pickles_of_acm_survive(
        name in prop::sample::select(vec!["protocol2.pkl", "protocol4.pkl"]),
        edits in prop::collection::vec((any::<usize>(), any::<u8>(), 0u8..4), 1..4),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        fs::write(&path, edited(&bytes(&format!("acm/{name}")), &edits)).unwrap();
        if let Err(trouble) = read_acm(&path, &Device::flex()) {
            prop_assert!(["invalid", "would_densify", "overflow"].contains(&trouble.kind()), "{}", trouble);
        }
    }
}
