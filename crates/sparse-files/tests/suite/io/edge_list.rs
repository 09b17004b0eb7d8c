use burn::tensor::{DType, Device};
use proptest::prelude::*;
use sparse_dev::files::{bytes, path};
use sparse_tensor::io::edge_list::{self, EdgeList, Options};
use sparse_tensor::io::matrix_market;

fn parse(text: &str, options: &Options) -> EdgeList {
    edge_list::parse(text.as_bytes(), options).unwrap()
}

#[test]
fn forms_are_found_out() {
    let edges = [(0, 1), (2, 0)];
    let forms = [
        "0 1\n2 0\n",
        "# SNAP\n# Nodes: 3\n0\t1\n2\t0",
        "% KONECT\n0  1 \n\n 2 \t 0\r\n",
        "// a comment\nsource,target\n0,1\n2, 0\n",
        "\u{feff}0;1\n2;0\n",
        "\u{feff}# who calls whom\n0,1\n2,0\n",
        "\"from\",\"to\"\n\"0\",\"1\"\n\"2\",0\n",
    ];
    for text in forms {
        let list = parse(text, &Options::new());
        assert_eq!((list.edges.as_slice(), list.nodes, &list.weights), (edges.as_slice(), 3, &None), "{text:?}");
        assert!(list.names.is_empty());
    }
    let empty = parse("# nothing\n\n", &Options::new());
    assert_eq!(empty, EdgeList::default());
    assert_eq!(parse("", &Options::new().with_nodes(4)).nodes, 4);
    assert_eq!(parse("from to\n", &Options::new()).edges, []);
    assert_eq!(empty.to_csr(&Device::flex()).unwrap().dims(), [0, 0]);
}

#[test]
fn weights_and_other_columns() {
    let text = "a,b,w,t\n0,1,0.5,9\n1,0,-1e3,8\n";
    assert_eq!(parse(text, &Options::new()).weights, Some(vec![0.5, -1000.0]));
    assert_eq!(parse(text, &Options::new().with_weights(Some(3))).weights, Some(vec![9.0, 8.0]));
    assert_eq!(parse(text, &Options::new().with_weights(None)).weights, None);
    // Told otherwise, a first line of numbers is a header.
    assert_eq!(parse("7 7\n0 1\n", &Options::new().with_header(true)).edges, [(0, 1)]);
    let one = parse("1 2 3\n", &Options::new().with_first(1).with_nodes(5));
    assert_eq!((one.edges, one.nodes, one.weights), (vec![(0, 1)], 5, Some(vec![3.0])));
    assert_eq!(parse("0|1", &Options::new().with_separator(b'|')).edges, [(0, 1)]);
    let text = "anna,\"bob, \"\"jr\"\"\",1\n\"anna\",carl,2\n";
    let named = parse(text, &Options::new().with_names());
    assert_eq!(named.names, ["anna", "bob, \"jr\"", "carl"]);
    assert_eq!((named.edges, named.nodes, named.weights), (vec![(0, 1), (0, 2)], 3, Some(vec![1.0, 2.0])));
    let named = parse("from to weight\n900 -4 1\n-4 900 1\n", &Options::new().with_names());
    assert_eq!((named.edges, named.names), (vec![(0, 1), (1, 0)], vec!["900".to_string(), "-4".to_string()]));
}

#[test]
fn tensors() {
    let device = Device::flex();
    let list = parse("0 1 0.5\n2 1 2\n0 1 0.25\n", &Options::new());
    let coo = list.to_coo((&device, DType::F64)).unwrap();
    assert_eq!((coo.dims(), coo.nnz(), coo.dtype()), ([3, 3], 3, DType::F64));
    let dense: Vec<f32> = list.to_csr(&device).unwrap().to_dense().into_data().to_vec().unwrap();
    assert_eq!(dense, [0.0, 0.75, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0]);
    let list = parse("0 1\n0 1\n", &Options::new());
    let dense: Vec<f32> = list.to_csr(&device).unwrap().to_dense().into_data().to_vec().unwrap();
    assert_eq!(dense, [0.0, 2.0, 0.0, 0.0]);
    let huge = parse("0 1000000000000000000\n", &Options::new());
    assert_eq!(huge.to_csr(&device).unwrap_err().kind(), "would_densify");
    let edited = EdgeList { nodes: 1, ..list };
    assert_eq!(edited.to_coo(&device).unwrap_err().kind(), "index_out_of_range");
}

#[test]
fn errors_name_the_line_and_what_stands_there() {
    let plain = Options::new();
    let cases: &[(&[u8], Options, &[&str])] = &[
        (b"0 1\n2 x\n", plain.clone(), &["line 2", "x", "with_names"]),
        (b"0 1\n# c\n-1 0\n", plain.clone(), &["line 3", "-1"]),
        (b"0 1\n1.5 0\n", plain.clone(), &["line 2", "1.5"]),
        (b"0 1\n99999999999999999999 0\n", plain.clone(), &["line 2", "99999999999999999999"]),
        (b"0 1\n9223372036854775807 0\n", plain.clone(), &["line 2", "2^63"]),
        (b"0 1\n2\n", plain.clone(), &["line 2", "two nodes", "2"]),
        (b"0 1\n2 0 5\n", plain.clone(), &["line 2", "2 fields", "got 3"]),
        (b"0 1 1\n2 0\n", plain.clone(), &["line 2", "3 fields", "got 2"]),
        (b"0 1 1\n2 0 heavy\n", plain.clone(), &["line 2", "weight", "heavy"]),
        (b"0 1 1\n", plain.clone().with_weights(Some(5)), &["line 1", "weight"]),
        (b"0 5\n", plain.clone().with_nodes(5), &["line 1", "[0, 5)", "5"]),
        (b"0 1\n", plain.clone().with_first(1), &["line 1", "[1, 2^63)", "0"]),
        (b"a b\n", plain.clone().with_header(false), &["line 1", "a"]),
        (b"a b\nb c\n", plain.clone().with_names().with_nodes(2), &["line 2", "at most 2", "c"]),
        (b"0\t1\n\t1\n", plain.clone(), &["line 2"]),
        (b"a \xff\n", plain.clone().with_names(), &["line 1", "UTF-8"]),
    ];
    for (text, options, parts) in cases {
        let trouble = edge_list::parse(*text, options).unwrap_err();
        let message = trouble.to_string();
        assert_eq!(trouble.kind(), "invalid", "{message}");
        assert!(parts.iter().all(|part| message.contains(part)), "{message:?} should name {parts:?}");
    }
    // A line without an end is not kept in memory.
    let endless = std::io::BufReader::new(std::io::Read::take(std::io::repeat(b'7'), 1 << 30));
    assert!(edge_list::parse(endless, &plain).unwrap_err().to_string().contains("line 1"));
    let trouble = edge_list::read("/no/such.csv", &plain).unwrap_err().to_string();
    assert!(trouble.contains("/no/such.csv"), "{trouble}");
}

#[test]
fn compressed_text() {
    let mut heard = vec![];
    let source = path("text/edges.csv.gz");
    let list = edge_list::read_with(&source, &Options::new(), &mut |done, total| heard.push((done, total))).unwrap();
    assert_eq!(list.edges, [(0, 1), (1, 2), (2, 0)]);
    assert_eq!(list.weights, Some(vec![0.5, 2.0, -100.0]));
    let total = std::fs::metadata(&source).unwrap().len();
    assert_eq!(heard.last(), Some(&(total, total)));

    let a = matrix_market::read(path("text/matrix.mtx.gz")).unwrap().to_csr(&Device::flex()).unwrap();
    let dense: Vec<f32> = a.to_dense().into_data().to_vec().unwrap();
    assert_eq!(dense, [0.0, 1.5, 0.0, -2.0, 0.0, 0.0, 0.0, 0.0, 3.0, 0.0, 0.25, 0.0]);

    let folder = tempfile::tempdir().unwrap();
    let cut = folder.path().join("cut.gz");
    for name in ["text/edges.csv.gz", "text/matrix.mtx.gz"] {
        let file = bytes(name);
        // Two bytes are the magic number of gzip; with fewer the file is text, and wrong or empty text.
        for end in 2..file.len() {
            std::fs::write(&cut, &file[..end]).unwrap();
            let trouble = match name {
                "text/edges.csv.gz" => edge_list::read(&cut, &Options::new()).map(|_| ()),
                _ => matrix_market::read(&cut).map(|_| ()),
            };
            let message = trouble.unwrap_err().to_string();
            assert!(message.contains("cut.gz") && message.contains("cannot be read"), "{message}");
        }
    }
}

proptest! {
    #[test]
    fn any_text_survives(text in "[0-9a ,;\t\"#\n.-]{0,120}", names in any::<bool>()) {
        let options = if names { Options::new().with_names() } else { Options::new() };
        if let Ok(list) = edge_list::parse(text.as_bytes(), &options) {
            prop_assert!(list.edges.iter().all(|&(from, to)| from < list.nodes && to < list.nodes));
            prop_assert!(list.weights.is_none_or(|weights| weights.len() == list.edges.len()));
            prop_assert!(!names || list.names.len() == list.nodes);
        }
    }

    #[test]
    fn lists_round_trip(edges in prop::collection::vec((0usize..50, 0usize..50, any::<f32>()), 1..20)) {
        for separator in [",", "\t", " ", ";"] {
            let line = |edge: &(usize, usize, f32)| format!("{}{separator}{}{separator}{:?}\n", edge.0, edge.1, edge.2);
            let text: String = edges.iter().map(line).collect();
            let list = edge_list::parse(text.as_bytes(), &Options::new()).unwrap();
            let pairs: Vec<_> = edges.iter().map(|edge| (edge.0, edge.1)).collect();
            prop_assert_eq!(&list.edges, &pairs);
            let weights: Vec<f32> = list.weights.unwrap().iter().map(|&weight| weight as f32).collect();
            let same = |(a, b): (&f32, &f32)| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
            prop_assert!(weights.iter().zip(edges.iter().map(|edge| &edge.2)).all(same));
        }
    }
}
