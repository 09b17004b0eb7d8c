use burn::tensor::Device;
use sparse_tensor::data::{Graph, karate, read_folder, stochastic_block_model};
use std::fs;
use std::path::Path;

/// Symmetric, no self loops, sizes that agree, disjoint splits.
pub(crate) fn is_sound(graph: &Graph) {
    let nodes = graph.nodes();
    assert_eq!(graph.adjacency.dims(), [nodes, nodes]);
    assert_eq!(graph.features.dims()[0], nodes);
    assert_eq!(graph.labels.len(), nodes);
    let coo = graph.adjacency.to_coo().indices().into_data().convert::<i64>();
    let ends: Vec<i64> = coo.iter().collect();
    let (rows, cols) = ends.split_at(graph.adjacency.nnz());
    let pairs: std::collections::BTreeSet<(i64, i64)> = rows.iter().copied().zip(cols.iter().copied()).collect();
    assert_eq!(pairs.len(), rows.len(), "every edge once");
    assert!(pairs.iter().all(|&(a, b)| a != b && pairs.contains(&(b, a))));
    let labels = graph.labels.to_vec();
    assert!(labels.iter().all(|&label| (-1..graph.labels.classes() as i64).contains(&label)));
    let splits = &graph.splits;
    let mut all: Vec<usize> = [&splits.train, &splits.val, &splits.test].into_iter().flatten().copied().collect();
    all.sort_unstable();
    assert!(all.windows(2).all(|pair| pair[0] < pair[1]) && all.iter().all(|&node| node < nodes));
}

#[test]
fn the_karate_club_is_zacharys() {
    let graph = karate(&Device::flex().autodiff());
    is_sound(&graph);
    assert_eq!((graph.nodes(), graph.edges()), (34, 78));
    let ptr: Vec<i64> = graph.adjacency.row_ptr().into_data().convert::<i64>().iter().collect();
    let degrees: Vec<i64> = ptr.windows(2).map(|pair| pair[1] - pair[0]).collect();
    // Zachary 1977: the two leaders are the best connected.
    assert_eq!((degrees[0], degrees[33], degrees[32], degrees[2]), (16, 17, 12, 10));
    let officers: i64 = graph.labels.tensor().sum().into_scalar();
    assert_eq!(officers, 17);
    let valid = graph.valid();
    assert!(!valid.adjacency.device().is_autodiff() && graph.adjacency.device().is_autodiff());
    is_sound(&valid);
}

#[test]
fn blocks_have_the_density_asked_for() {
    let device = Device::flex();
    let graph = stochastic_block_model(&[600, 400, 0, 1], 0.05, 0.002, 3, &device).unwrap();
    is_sound(&graph);
    assert_eq!((graph.nodes(), graph.labels.classes()), (1001, 4));
    let labels = graph.labels.to_vec();
    let ends: Vec<i64> = graph.adjacency.to_coo().indices().into_data().convert::<i64>().iter().collect();
    let (rows, cols) = ends.split_at(graph.adjacency.nnz());
    let inside = rows.iter().zip(cols).filter(|&(&a, &b)| labels[a as usize] == labels[b as usize]).count() / 2;
    let outside = graph.edges() - inside;
    // Means 12 975 and 482; five standard deviations are 555 and 110.
    assert!((12_420..13_530).contains(&inside), "{inside}");
    assert!((372..592).contains(&outside), "{outside}");
    let again = stochastic_block_model(&[600, 400, 0, 1], 0.05, 0.002, 3, &device).unwrap();
    assert_eq!(again.adjacency.col_idx().into_data(), graph.adjacency.col_idx().into_data());
    let other = stochastic_block_model(&[600, 400, 0, 1], 0.05, 0.002, 4, &device).unwrap();
    assert_ne!(other.adjacency.col_idx().into_data(), graph.adjacency.col_idx().into_data());
}

#[test]
fn blocks_at_the_edges() {
    let device = Device::flex();
    let full = stochastic_block_model(&[4, 3], 1.0, 1.0, 0, &device).unwrap();
    is_sound(&full);
    assert_eq!(full.edges(), 21);
    let none = stochastic_block_model(&[4, 3], 0.0, 0.0, 0, &device).unwrap();
    assert_eq!((none.edges(), none.nodes()), (0, 7));
    let empty = stochastic_block_model(&[], 0.5, 0.5, 0, &device).unwrap();
    assert_eq!((empty.nodes(), empty.labels.classes()), (0, 0));
    // 10^12 pairs, drawn by jumps: this would not end otherwise.
    let large = stochastic_block_model(&[700_000, 700_000], 2e-6, 1e-8, 1, &device).unwrap();
    assert!((900_000..1_050_000).contains(&large.edges()), "{}", large.edges());
    for p in [-0.1, 1.5, f64::NAN] {
        assert_eq!(stochastic_block_model(&[3], p, 0.0, 0, &device).unwrap_err().kind(), "invalid");
    }
    let trouble = stochastic_block_model(&[usize::MAX, usize::MAX], 0.5, 0.5, 0, &device).unwrap_err();
    assert_eq!(trouble.kind(), "overflow");
    let trouble = stochastic_block_model(&[10_000_000], 0.5, 0.5, 0, &device).unwrap_err();
    assert_eq!(trouble.kind(), "overflow");
}

const FILES: [(&str, &str); 6] = [
    ("adjacency.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n4 4 2\n2 1\n3 1\n"),
    ("features.mtx", "%%MatrixMarket matrix coordinate pattern general\n4 2 3\n1 1\n2 2\n4 1\n"),
    ("labels.txt", "0\n1\n1\n0\n"),
    ("train.txt", "0\n1\n"),
    ("val.txt", ""),
    ("test.txt", "2\n\n3\n"),
];

pub(crate) fn folder(changed: &str, content: Option<&str>) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in FILES {
        let text = if name == changed { content } else { Some(text) };
        if let Some(text) = text {
            fs::write(folder.path().join(name), text).unwrap();
        }
    }
    folder
}

#[test]
fn folders_are_read() {
    let folder = folder("", None);
    let graph = read_folder(folder.path(), &Device::flex()).unwrap();
    is_sound(&graph);
    assert_eq!((graph.nodes(), graph.edges(), graph.labels.classes()), (4, 2, 2));
    assert_eq!((graph.splits.train, graph.splits.val, graph.splits.test), (vec![0, 1], vec![], vec![2, 3]));
    let unknown = self::folder("test.txt", Some("3\n"));
    fs::write(unknown.path().join("labels.txt"), "0\n1\n-1\n0\n").unwrap();
    is_sound(&read_folder(unknown.path(), &Device::flex()).unwrap());
    let general = "%%MatrixMarket matrix coordinate real general\n4 4 2\n2 1 0.5\n1 2 0.5\n";
    let weighted = self::folder("adjacency.mtx", Some(general));
    assert_eq!(read_folder(weighted.path(), &Device::flex()).unwrap().edges(), 1);
}

#[test]
fn malformed_folders_name_the_file_and_the_line() {
    let head = "%%MatrixMarket matrix coordinate";
    let cases: &[(&str, Option<String>, &[&str])] = &[
        ("adjacency.mtx", None, &["cannot be read"]),
        ("adjacency.mtx", Some(format!("{head} pattern symmetric\n4 4 1\n5 1\n")), &["line 3", "5"]),
        ("adjacency.mtx", Some(format!("{head} pattern symmetric\n4 4 1\n2 2\n")), &["line 3", "self loop at 2"]),
        ("adjacency.mtx", Some(format!("{head} real symmetric\n4 4 1\n2 1 -1\n")), &["line 3", "-1"]),
        ("adjacency.mtx", Some(format!("{head} real symmetric\n4 4 1\n2 1 nan\n")), &["line 3", "NaN"]),
        ("adjacency.mtx", Some(format!("{head} pattern general\n4 3 0\n")), &["square", "4 x 3"]),
        ("adjacency.mtx", Some(format!("{head} pattern general\n4 4 1\n2 1\n")), &["symmetric", "(2, 1)"]),
        ("adjacency.mtx", Some(format!("{head} pattern symmetric\n4 4 2\n2 1\n1 2\n")), &["once", "twice"]),
        ("features.mtx", Some(format!("{head} pattern general\n3 2 0\n")), &["3 and 4"]),
        ("features.mtx", Some(format!("{head} real general\n4 2 1\n1 1 inf\n")), &["line 3", "inf"]),
        ("labels.txt", Some("0\n1\n1\n".into()), &["line 3", "got 3"]),
        ("labels.txt", Some("0\n1\n-2\n0\n".into()), &["line 3", "-2"]),
        ("labels.txt", Some("0\n999999999999\n1\n0\n".into()), &["line 2", "999999999999"]),
        ("train.txt", Some("0\nx\n".into()), &["line 2", "x"]),
        ("val.txt", Some("4\n".into()), &["line 1", "4"]),
        ("val.txt", None, &["cannot be read"]),
        ("labels.txt", Some("0\n-1\n1\n0\n".into()), &["must have a class, got 1"]),
        ("test.txt", Some("2\n\n2\n".into()), &["line 3", "got 2", "test.txt"]),
        ("test.txt", Some("2\n1\n".into()), &["line 2", "got 1", "train.txt"]),
    ];
    for (name, content, parts) in cases {
        let folder = folder(name, content.as_deref());
        let trouble = read_folder(folder.path(), &Device::flex()).unwrap_err();
        assert_eq!(trouble.kind(), "invalid");
        let text = trouble.to_string();
        let named = text.contains(name) || text.contains("train.txt");
        assert!(named && parts.iter().all(|part| text.contains(part)), "{text:?}: {name} {parts:?}");
    }
    assert!(read_folder(Path::new("/no/such/folder"), &Device::flex()).unwrap_err().to_string().contains("/no/such"));
}
