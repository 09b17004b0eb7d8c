//! Sets of graphs with splits, of users with items, and of shapes in space.

use crate::readers::{Reader, ends, ints, npy, numbers, whole, zip};
use burn::tensor::{DType, Device};
use sparse_dev::told;
use sparse_tensor::Limits;
use sparse_tensor::data::*;

type Files = Vec<(&'static str, Vec<u8>)>;

fn texts<const N: usize>(files: [(&'static str, &str); N]) -> Files {
    files.map(|(name, text)| (name, text.into())).into()
}

pub(crate) const MOLECULES: Reader = Reader {
    files: molecules,
    text: "raw/edge.csv",
    read: |folder| read_ogb_graphs(folder, &OgbOptions::new(), &Device::flex()).map(drop),
};

/// Graphs of three, no and two nodes.
fn molecules() -> Files {
    texts([
        ("raw/num-node-list.csv", "3\n0\n2\n"),
        ("raw/num-edge-list.csv", "2\n0\n2\n"),
        ("raw/edge.csv", "1,2\n0,1\n1,0\n1,1\n"),
        ("raw/node-feat.csv", "5,0\n6,0\n7,1\n8,1\n9,0\n"),
        ("raw/edge-feat.csv", "10\n20\n30\n40\n"),
        ("raw/graph-label.csv", "1,nan\n0,-2.5\nnan,3\n"),
        ("split/scaffold/train.csv", "2\n"),
        ("split/scaffold/valid.csv", "0\n"),
        ("split/scaffold/test.csv", "1\n"),
    ])
}

#[test]
fn graphs_of_ogb_are_read() {
    let folder = MOLECULES.folder("", None);
    let mut last = (0, 1);
    let (options, device) = (OgbOptions::new().with_inverse_edges(), (&Device::flex(), DType::F64));
    let set = read_ogb_graphs_with(folder.path(), &options, device, &mut |done, all| last = (done, all)).unwrap();
    assert_eq!((last.0, set.graphs.len()), (last.1, 3));
    let graph = |at: usize| (ends(&set.graphs[at].adjacency), numbers(set.graphs[at].edge_features.as_ref().unwrap()));
    assert_eq!(graph(0), (vec![(0, 1), (1, 0), (1, 2), (2, 1)], vec![20.0, 20.0, 10.0, 10.0]));
    assert_eq!((graph(1), set.graphs[1].adjacency.dims()), ((vec![], vec![]), [0, 0]));
    // The self loop is left out.
    assert_eq!(graph(2), (vec![(0, 1), (1, 0)], vec![30.0, 30.0]));
    assert_eq!(numbers(set.graphs[2].features.as_ref().unwrap()), [8.0, 1.0, 9.0, 0.0]);
    let targets = numbers(&set.targets);
    assert!(targets[1].is_nan() && targets[4].is_nan());
    assert_eq!((targets[0], targets[3], set.targets.dtype()), (1.0, -2.5, DType::F64));
    assert_eq!((set.splits.train, set.splits.val, set.splits.test), (vec![2], vec![0], vec![1]));
    let folder = MOLECULES.folder("raw/edge-feat.csv", None);
    let set = read_ogb_graphs(folder.path(), &OgbOptions::new(), &Device::flex()).unwrap();
    assert!(set.graphs[0].edge_features.is_none());
    assert_eq!(ends(&set.graphs[0].adjacency), [(0, 1), (1, 2)]);
    MOLECULES.refuses(&[
        ("raw/num-node-list.csv", None, &["cannot be read"]),
        ("raw/num-node-list.csv", Some(b"3\n-1\n2\n"), &["line 2", "a number of nodes", "-1"]),
        ("raw/num-edge-list.csv", Some(b"2\n2\n"), &["3 graphs", "got 2"]),
        ("raw/num-edge-list.csv", Some(b"2\n0\n2,1\n"), &["line 3", "must end"]),
        ("raw/edge.csv", Some(b"1,2\n0,1\n1,0\n"), &["4 edges", "got 3"]),
        ("raw/edge.csv", Some(b"1,2\n0,1\n1,0\n1,0\n0,1\n"), &["line 5", "4 edges"]),
        ("raw/edge.csv", Some(b"1,3\n"), &["line 1", "[0, 3)", "3"]),
        ("raw/edge.csv", Some(b"1,2\n0,1\n2,0\n"), &["line 3", "[0, 2)", "2"]),
        ("raw/node-feat.csv", Some(b"1\n"), &["5 nodes", "got 1"]),
        ("raw/edge-feat.csv", Some(b"1\n2\n3\ninf\n"), &["line 4", "inf"]),
        ("raw/graph-label.csv", Some(b"1\n2\n"), &["3 nodes, edges or graphs", "got 2"]),
        ("raw/graph-label.csv", Some(b"1\n2\ninf\n"), &["line 3", "inf"]),
        ("split/scaffold/valid.csv", Some(b"2\n"), &["line 1", "once", "2"]),
        ("split/scaffold/test.csv", Some(b"3\n"), &["line 1", "[0, 3)", "3"]),
    ]);
    assert!(Limits::new().elements(3).run(|| (MOLECULES.read)(folder.path())).is_err());
    let folder = MOLECULES.folder("raw/num-node-list.csv", Some(b"3\n0\n2147483646\n"));
    assert!(
        told((MOLECULES.read)(folder.path())).contains("node-feat.csv: there must be a line for each of 2147483649")
    );
    std::fs::remove_file(folder.path().join("raw/node-feat.csv")).unwrap();
    let text = told((MOLECULES.read)(folder.path()));
    assert!(
        text.contains("num-node-list.csv: nodes without features must be ends of 4 edges, got 2147483649"),
        "{text}"
    );
}

pub(crate) const NEWS: Reader =
    Reader { files: news, text: "A.txt", read: |folder| read_upfd(folder, "profile", &Device::flex()).map(drop) };

fn features(rows: i64) -> Vec<u8> {
    let list = |name, numbers: &[i64]| (name, ints(&format!("({},)", numbers.len()), numbers));
    let values: Vec<u8> = [0.5f64, 1.5, 2.5].iter().flat_map(|number| number.to_le_bytes()).collect();
    zip(&[
        list("indices.npy", &[1, 0, 1]),
        list("indptr.npy", &[&[0, 1, 1][..], &vec![3; rows as usize - 2]].concat()),
        ("format.npy", npy("|S3", "()", b"csr")),
        list("shape.npy", &[rows, 2]),
        ("data.npy", npy("<f8", "(3,)", &values)),
    ])
}

/// Two graphs, of three and one nodes.
fn news() -> Files {
    vec![
        ("A.txt", "0, 2\n0, 1\n0, 1\n".into()),
        ("new_profile_feature.npz", features(4)),
        ("node_graph_id.npy", ints("(4,)", &[0, 0, 0, 1])),
        ("graph_labels.npy", ints("(2,)", &[1, 0])),
        ("train_idx.npy", ints("(1,)", &[1])),
        ("val_idx.npy", ints("(0,)", &[])),
        ("test_idx.npy", ints("(1,)", &[0])),
    ]
}

#[test]
fn news_are_trees_of_users() {
    let folder = NEWS.folder("", None);
    let mut last = (0, 1);
    let told = &mut |done, all| last = (done, all);
    let set = read_upfd_with(folder.path(), "profile", (&Device::flex(), DType::F64), told).unwrap();
    assert_eq!((last.0, set.graphs.len()), (last.1, 2));
    assert_eq!(ends(&set.graphs[0].adjacency), [(0, 1), (0, 2)]);
    assert_eq!(numbers(set.graphs[0].features.as_ref().unwrap()), [0.0, 0.5, 0.0, 0.0, 1.5, 2.5]);
    assert_eq!(numbers(set.graphs[1].features.as_ref().unwrap()), [0.0, 0.0]);
    assert_eq!((numbers(&set.targets), set.targets.dims(), set.targets.dtype()), (vec![1.0, 0.0], [2, 1], DType::F64));
    assert_eq!((set.splits.train, set.splits.val, set.splits.test), (vec![1], vec![], vec![0]));
    NEWS.refuses(&[
        ("A.txt", None, &["cannot be read"]),
        ("A.txt", Some(b"0, 4\n"), &["line 1", "[0, 4)", "4"]),
        ("A.txt", Some(b"0, 1\n2, 3\n"), &["line 2", "one graph", "0 to 1"]),
        ("new_profile_feature.npz", Some(&features(5)), &["4 nodes", "got 5"]),
        ("node_graph_id.npy", Some(&ints("(4,)", &[0, 1, 0, 1])), &["ascend"]),
        ("node_graph_id.npy", Some(&ints("(4,)", &[0, 0, 0, 2])), &["[0, 2)"]),
        ("test_idx.npy", Some(&ints("(1,)", &[1])), &["once", "1"]),
        ("test_idx.npy", Some(&ints("(1,)", &[-1])), &["[0, 2)"]),
    ]);
}

pub(crate) const BOOKS: Reader =
    Reader { files: books, text: "train.txt", read: |folder| read_amazon_book(folder, &Device::flex()).map(drop) };

fn books() -> Files {
    texts([
        ("user_list.txt", "org_id remap_id\nA 0\nB 1\nC 2\n"),
        ("item_list.txt", "org_id remap_id\nx 0\ny 1\n"),
        ("train.txt", "2 1 0 1 \n0 1\n1\n"),
        ("test.txt", "0 0\n"),
    ])
}

#[test]
fn users_have_items() {
    let folder = BOOKS.folder("", None);
    let mut last = (0, 1);
    let told = &mut |done, all| last = (done, all);
    let set = read_amazon_book_with(folder.path(), (&Device::flex(), DType::F64), told).unwrap();
    assert_eq!((last.0, set.train.dims(), set.test.dtype()), (last.1, [3, 2], DType::F64));
    assert_eq!((ends(&set.train), ends(&set.test)), (vec![(0, 1), (2, 0), (2, 1)], vec![(0, 0)]));
    BOOKS.refuses(&[
        ("user_list.txt", None, &["cannot be read"]),
        ("train.txt", Some(b"0 2\n"), &["line 1", "an item must be in [0, 2)", "2"]),
        ("train.txt", Some(b"0 1\n3 1\n"), &["line 2", "a user must be in [0, 3)", "3"]),
        ("train.txt", Some(b"0 1\n1 -1\n"), &["line 2", "an item must be in [0, 2)", "-1"]),
        ("test.txt", Some(b"0 x\n"), &["line 1", "x"]),
    ]);
    assert!(Limits::new().elements(2).run(|| (BOOKS.read)(folder.path())).is_err());
}

pub(crate) const MESHES: Reader = Reader {
    files: meshes,
    text: "bed/test/bed_2.off",
    read: |folder| read_model_net(folder, "test", &Device::flex()).map(drop),
};

fn meshes() -> Files {
    texts([
        ("bed/test/bed_1.off", "OFF4 1 0\n0 0 0\n2 0 0\n2 2 0\n0 2 0\n4 0 1 2 3\n"),
        ("bed/test/bed_2.off", "OFF\n# one\n3 1 0\n0 0 1\n1 0 1\n0 1 1\n\n3  0 1 2 \n"),
        ("bed/train/bed_3.off", "not read"),
        ("bed/test/other_1.off", "not read"),
        ("sofa/test/sofa_1.off", "OFF\n0 0 0\n"),
        ("README", "no class"),
    ])
}

#[test]
fn meshes_are_read_and_sampled() {
    let folder = MESHES.folder("", None);
    let mut last = (0, 1);
    let set = read_model_net_with(folder.path(), "test", &Device::flex(), &mut |done, all| last = (done, all)).unwrap();
    assert_eq!((last.0, set.classes, set.labels.to_vec()), (last.1, vec!["bed".into(), "sofa".into()], vec![0, 0, 1]));
    assert_eq!(set.meshes[0].triangles, [[0, 1, 2], [0, 2, 3]]);
    assert_eq!((set.meshes[1].points[1], set.meshes[2].points.len()), ([1.0, 0.0, 1.0], 0));
    let points = |seed| numbers(&set.meshes[0].sample(4000, seed, (&Device::flex(), DType::F64)).unwrap());
    let drawn = points(7);
    assert!(drawn == points(7) && drawn != points(8));
    assert!(drawn.chunks(3).all(|at| (0.0..=2.0).contains(&at[0]) && (0.0..=2.0).contains(&at[1]) && at[2] == 0.0));
    // A quarter of the square has a quarter of the points, on both triangles.
    for (left, low) in [(true, true), (true, false), (false, true), (false, false)] {
        let inside = drawn.chunks(3).filter(|at| (at[0] < 1.0) == left && (at[1] < 1.0) == low).count();
        assert!((900..1100).contains(&inside), "{inside}");
    }
    assert!(told(set.meshes[2].sample(1, 0, &Device::flex())).contains("an area above 0, got 0 for 0 triangles"));
    let mut wrong = set.meshes[0].clone();
    wrong.triangles.push([0, 1, 4]);
    assert!(told(wrong.sample(1, 0, &Device::flex())).contains("a corner must be in [0, 4), got [0, 1, 4]"));
    let name = "bed/test/bed_2.off";
    let refused: &[(&[u8], &[&str])] = &[
        (b"", &["0 corners and 0 faces"]),
        (b"PLY\n", &["line 1", "start with OFF", "PLY"]),
        (b"OFF\n3\n", &["line 2", "two numbers"]),
        (b"OFF\n-3 1 0\n", &["line 2", "-3"]),
        (b"OFF\n4000000000 1 0\n0 0 0\n", &["4000000000 corners and 1 faces, got 1 and 0"]),
        (b"OFF\n1 1 0\n0 0\n", &["line 3", "three finite numbers"]),
        (b"OFF\n1 1 0\n0 0 nan\n", &["line 3", "three finite numbers", "nan"]),
        (b"OFF\n1 1 0\n0 0 0\n2 0 0\n", &["line 4", "3 corners or more"]),
        (b"OFF\n1 1 0\n0 0 0\n3 0 0\n", &["line 4", "3 corners or more", "3 and [0, 0]"]),
        (b"OFF\n1 1 0\n0 0 0\n3 0 0 1\n", &["line 4", "[0, 1)", "got 1"]),
        (b"OFF\n1 1 0\n0 0 0\n", &["1 corners and 1 faces, got 1 and 0"]),
        (b"OFF\n0 0 0\n3 0 0 0\n", &["line 3", "0 faces, got more"]),
    ];
    for (content, parts) in refused {
        MESHES.refuses(&[(name, Some(content), parts)]);
    }
    let none = told(read_model_net(folder.path(), "val", &Device::flex()));
    assert!(none.contains("a folder of a class with a folder \"val\""), "{none}");
    assert!(told(read_model_net("/no/such/folder", "test", &Device::flex())).contains("/no/such/folder"));
    assert!(Limits::new().elements(3).run(|| (MESHES.read)(folder.path())).is_err());
}

pub(crate) const SHAPES: Reader = Reader {
    files: shapes,
    text: "0269/a.txt",
    read: |folder| read_shape_net(folder, "test", &["Cap", "Airplane"], &Device::flex()).map(drop),
};

fn shapes() -> Files {
    texts([
        ("synsetoffset2category.txt", "Airplane\t0269\nBag\t0277\nCap\t0295\n"),
        (
            "train_test_split/shuffled_test_file_list.json",
            r#"["shape_data/0269/a", "shape_data/0277/b", "shape_data/0295/c"]"#,
        ),
        ("0269/a.txt", "0 1 2 0 0 1 3.000000\n0.5 1 2 0 1 0 1.000000\n"),
        ("0295/c.txt", "9 9 9 1 0 0 6.000000\n"),
        ("0277/b.txt", "7 7 7 1 0 0 4.000000\n"),
    ])
}

#[test]
fn shapes_have_parts() {
    let folder = SHAPES.folder("", None);
    let mut last = (0, 1);
    let told = &mut |done, all| last = (done, all);
    let options = (&Device::flex(), DType::F64);
    let set = read_shape_net_with(folder.path(), "test", &["Cap", "Airplane"], options, told).unwrap();
    assert_eq!((last.0, set.len()), (last.1, 2));
    assert_eq!((set[0].category, set[1].category), (1, 0));
    assert_eq!(numbers(&set[0].points), [0.0, 1.0, 2.0, 0.5, 1.0, 2.0]);
    assert_eq!(numbers(&set[0].normals), [0.0, 0.0, 1.0, 0.0, 1.0, 0.0]);
    assert_eq!((whole(&set[0].parts), whole(&set[1].parts)), (vec![3, 1], vec![6]));
    assert_eq!(read_shape_net(folder.path(), "test", &[], &Device::flex()).unwrap().len(), 3);
    let list = "train_test_split/shuffled_test_file_list.json";
    SHAPES.refuses(&[
        (list, None, &["cannot be read"]),
        (list, Some(b"{}"), &["line 1"]),
        (list, Some(br#"["shape_data/0269"]"#), &["folder/category/name", "shape_data/0269"]),
        (list, Some(br#"["shape_data/0269/.."]"#), &["folder/category/name", ".."]),
        ("synsetoffset2category.txt", Some(b"Airplane\t0269\n"), &["Cap"]),
        ("synsetoffset2category.txt", Some(b"Airplane 0269\n"), &["line 1", "a folder"]),
        ("0269/a.txt", None, &["cannot be read"]),
        ("0269/a.txt", Some(b"0 1 2 0 0 1\n"), &["line 1", "7 numbers", "got 6"]),
        ("0269/a.txt", Some(b"0 1 x 0 0 1 3\n"), &["line 1", "three finite numbers", "x"]),
        ("0269/a.txt", Some(b"0 1 2 0 inf 1 3\n"), &["line 1", "three finite numbers", "inf"]),
        ("0269/a.txt", Some(b"0 1 2 0 0 1 3.5\n"), &["line 1", "a part", "3.5"]),
    ]);
}
