use burn::tensor::{Bool, DType, Device, Int, IntDType, Tensor};
use proptest::prelude::*;
use sparse_tensor::io::matrix_market::{self, ComplexPart, Field, Format, MatrixMarket, Reader, Symmetry, Values};
use sparse_tensor::{CooTensor, CsrTensor, Fill};

fn parse(text: &str) -> MatrixMarket {
    matrix_market::parse(text.as_bytes()).unwrap()
}

fn message(text: &[u8]) -> String {
    let trouble = matrix_market::parse(text).unwrap_err();
    assert_eq!(trouble.kind(), "invalid");
    trouble.to_string()
}

fn dense(matrix: &MatrixMarket) -> Vec<f32> {
    matrix.to_coo(&Device::flex()).unwrap().to_dense().into_data().iter().collect()
}

#[test]
fn coordinate_real_general() {
    let m = parse("%%MatrixMarket matrix coordinate real general\n%c\n\n2 3 3\n1 1 1.5\n  2 3 -2e1 \n\n1 1 1\n");
    assert_eq!((m.rows, m.cols, m.format, m.field()), (2, 3, Format::Coordinate, Field::Real));
    assert_eq!(m.coordinates, [(0, 0), (1, 2), (0, 0)]);
    assert_eq!(dense(&m), [2.5, 0.0, 0.0, 0.0, 0.0, -20.0]);
    let csr = m.to_csr(&Device::flex()).unwrap();
    assert_eq!((csr.dims(), csr.nnz()), ([2, 3], 2));
}

#[test]
fn symmetries_are_expanded() {
    let m = parse("%%matrixmarket MATRIX Coordinate Integer Symmetric\r\n2 2 2\r\n1 1 3\r\n2 1 4\r\n");
    assert_eq!(m.values, Values::Integer(vec![3, 4, 4]));
    assert_eq!(dense(&m), [3.0, 4.0, 4.0, 0.0]);
    let ints: Vec<i64> =
        m.to_coo_int(&Device::flex()).unwrap().to_dense().into_data().convert::<i64>().iter().collect();
    assert_eq!(ints, [3, 4, 4, 0]);
    let m = parse("%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 1 4\n");
    assert_eq!((m.symmetry, dense(&m)), (Symmetry::SkewSymmetric, vec![0.0, -4.0, 4.0, 0.0]));
    let m = parse("%%MatrixMarket matrix coordinate pattern symmetric\n3 3 1\n3 1\n");
    assert_eq!((m.field(), m.coordinates), (Field::Pattern, vec![(2, 0), (0, 2)]));
}

#[test]
fn arrays_run_by_columns() {
    let m = parse("%%MatrixMarket matrix array real general\n2 3\n1\n2\n0\n4\n5\n6\n");
    assert_eq!((dense(&m), m.coordinates.len()), (vec![1.0, 0.0, 5.0, 2.0, 4.0, 6.0], 5));
    let m = parse("%%MatrixMarket matrix array integer symmetric\n2 2\n1\n2\n3\n");
    assert_eq!(dense(&m), [1.0, 2.0, 2.0, 3.0]);
    let m = parse("%%MatrixMarket matrix array real skew-symmetric\n3 3\n1\n2\n3\n");
    assert_eq!(dense(&m), [0.0, -1.0, -2.0, 1.0, 0.0, -3.0, 2.0, 3.0, 0.0]);
    for text in
        ["%%MatrixMarket matrix array real general\n0 5\n", "%%MatrixMarket matrix coordinate real general\n0 5 0"]
    {
        let m = parse(text);
        assert_eq!(m.to_csr(&Device::flex()).unwrap().dims(), [0, 5]);
    }
}

#[test]
fn errors_name_the_line_and_what_stands_there() {
    let head = "%%MatrixMarket matrix coordinate real general\n";
    let cases: &[(&str, &[&str])] = &[
        ("", &["line 1", "empty"]),
        ("hello\n", &["line 1", "hello"]),
        ("%%MatrixMarket matrix coordinate complex general\n1 1 0\n", &["line 1", "Reader::complex", "complex"]),
        ("%%MatrixMarket matrix coordinate real diagonal\n1 1 0\n", &["line 1", "hermitian", "diagonal"]),
        ("%%MatrixMarket matrix array pattern general\n1 1\n", &["line 1", "array pattern"]),
        ("%%MatrixMarket matrix coordinate pattern skew-symmetric\n1 1 0\n", &["line 1", "skew"]),
        ("%%MatrixMarket vector coordinate real general\n1 1 0\n", &["line 1", "vector"]),
        ("%%MatrixMarket matrix coordinate real symmetric\n2 3 0\n", &["line 2", "square", "(2, 3)"]),
        ("%%MatrixMarket matrix coordinate integer skew-symmetric\n2 2 1\n2 1 -9223372036854775808\n", &["line 3"]),
        ("%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 1 1.5\n", &["line 3", "1.5"]),
        ("%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n", &["line 5", "4 entries", "got 3"]),
        ("%%MatrixMarket matrix array real general\n1 1\n1 2\n", &["line 3", "nothing after", "2"]),
    ];
    for (text, parts) in cases {
        let message = message(text.as_bytes());
        assert!(parts.iter().all(|part| message.contains(part)), "{message:?} should name {parts:?}");
        // Text in memory has no name.
        assert!(message.starts_with("matrix_market: line "), "{message:?}");
    }
    let cases: &[(&str, &[&str])] = &[
        ("", &["line 2", "end of the file"]),
        ("% only a comment\n", &["line 3", "end of the file"]),
        ("2 2\n", &["line 2", "ROWS COLUMNS ENTRIES", "2 2"]),
        ("NaN 2 1\n", &["line 2", "NaN"]),
        ("-1 2 1\n", &["line 2", "-1"]),
        ("99999999999999999999999 2 1\n", &["line 2"]),
        ("18446744073709551615 2 0\n", &["line 2", "63 bits"]),
        ("2 2 1\n3 1 1\n", &["line 3", "row", "[1, 2]", "3"]),
        ("2 2 1\n1 0 1\n", &["line 3", "column", "0"]),
        ("2 2 1\n% c\n1 -1 1\n", &["line 4", "-1"]),
        ("2 2 1\n1 1\n", &["line 3", "end of the line"]),
        ("2 2 1\n1\n", &["line 3", "column"]),
        ("2 2 1\n1 1 x\n", &["line 3", "x"]),
        ("2 2 2\n1 1 1\n", &["line 3", "2 entries", "got 1"]),
        ("2 2 1\n1 1 1\n2 2 2\n", &["line 4", "1 entries", "2 2 2"]),
    ];
    for (text, parts) in cases {
        let message = message(format!("{head}{text}").as_bytes());
        assert!(parts.iter().all(|part| message.contains(part)), "{message:?} should name {parts:?}");
    }
    assert!(message(b"%%MatrixMarket matrix coordinate real general\n\xff 1 1\n").contains("line 2"));
    // A comment may be in any encoding.
    assert!(matrix_market::parse(&b"%%MatrixMarket matrix coordinate real general\n%\xff\n1 1 0\n"[..]).is_ok());
    let trouble = matrix_market::read("/no/such.mtx").unwrap_err().to_string();
    assert!(trouble.contains("/no/such.mtx"), "{trouble}");
}

#[test]
fn a_strict_reader_refuses_what_scipy_reads() {
    let banner = |rest: &str| format!("MatrixMarket matrix {rest}");
    for (text, want, rule) in [
        (format!("%{}", banner("coordinate real general\n1 2 1\n1 2 3\n")), vec![0.0, 3.0], "must start with %%"),
        (
            format!("%%{}", banner("coordinate integer hermitian\n2 2 1\n2 1 3\n")),
            vec![0.0, 3.0, 3.0, 0.0],
            "must be complex",
        ),
        (format!("%%{}", banner("coordinate real general\n1 2 1\n1 2 3 9 x\n")), vec![0.0, 3.0], "nothing after"),
        (format!("%%{}", banner("coordinate pattern general\n1 2 1\n1 2 9\n")), vec![0.0, 1.0], "nothing after"),
        (
            format!("%%{}", banner("coordinate real skew-symmetric\n2 2 2\n1 1 5\n2 1 3\n")),
            vec![5.0, -3.0, 3.0, 0.0],
            "diagonal",
        ),
        (format!("%%{}", banner("array double general\n1 2\n0.5\n2\n")), vec![0.5, 2.0], "FIELD must be"),
        (format!("%%{}", banner("array unsigned-integer general\n1 1\n7\n")), vec![7.0], "FIELD must be"),
    ] {
        assert_eq!(dense(&parse(&text)), want, "{text}");
        let trouble = Reader::new().strict(true).parse(text.as_bytes()).unwrap_err().to_string();
        assert!(trouble.contains(rule), "{trouble:?} should say {rule:?}");
    }
    // What the format allows is read all the same.
    let text = "%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 2\n1 1 0\n2 1 3\n";
    assert_eq!(dense(&Reader::new().strict(true).parse(text.as_bytes()).unwrap()), [0.0, -3.0, 3.0, 0.0]);
}

#[test]
fn complex_values_are_read_by_their_parts() {
    let parts = [ComplexPart::Real, ComplexPart::Imaginary, ComplexPart::Magnitude];
    // Lower triangle with diagonal of [[6 + 8i, .], [-3 + 4i, 0]], by symmetry: the matrix of each part.
    let cases = [
        (
            "coordinate complex general\n2 2 2\n1 1 6 8\n2 1 -3 4",
            [[6., 0., -3., 0.], [8., 0., 4., 0.], [10., 0., 5., 0.]],
        ),
        (
            "coordinate complex symmetric\n2 2 2\n1 1 6 8\n2 1 -3 4",
            [[6., -3., -3., 0.], [8., 4., 4., 0.], [10., 5., 5., 0.]],
        ),
        (
            "coordinate complex skew-symmetric\n2 2 1\n2 1 -3 4",
            [[0., 3., -3., 0.], [0., -4., 4., 0.], [0., 5., 5., 0.]],
        ),
        (
            "coordinate complex hermitian\n2 2 2\n1 1 6 0\n2 1 -3 4",
            [[6., -3., -3., 0.], [0., -4., 4., 0.], [6., 5., 5., 0.]],
        ),
        ("array complex hermitian\n2 2\n6 0\n-3 4\n0 0", [[6., -3., -3., 0.], [0., -4., 4., 0.], [6., 5., 5., 0.]]),
        ("array complex skew-symmetric\n2 2\n-3 4", [[0., 3., -3., 0.], [0., -4., 4., 0.], [0., 5., 5., 0.]]),
    ];
    for (text, wants) in cases {
        let text = format!("%%MatrixMarket matrix {text}\n");
        for (part, want) in parts.into_iter().zip(wants) {
            let m = Reader::new().complex(part).strict(true).parse(text.as_bytes()).unwrap();
            assert_eq!((dense(&m), m.field()), (want.to_vec(), Field::Real), "{part:?} of {text}");
            // What was read is written and read again.
            let mut out = Vec::new();
            matrix_market::write_to(&mut out, &m).unwrap();
            assert_eq!(dense(&matrix_market::parse(&out[..]).unwrap()), want, "{part:?} of {text}");
        }
    }
    let text = &b"%%MatrixMarket matrix coordinate complex skew-symmetric\n1 1 1\n1 1 5 0\n"[..];
    for part in [ComplexPart::Real, ComplexPart::Magnitude] {
        let trouble = Reader::new().strict(true).complex(part).parse(text).unwrap_err().to_string();
        assert!(trouble.contains("diagonal"), "{trouble}");
    }
    let text = &b"%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 2\n"[..];
    let trouble = Reader::new().complex(ComplexPart::Real).parse(text).unwrap_err().to_string();
    assert!(trouble.contains("line 3") && trouble.contains("end of the line"), "{trouble}");
}

#[test]
fn a_header_reserves_nothing_by_itself() {
    let claims = "%%MatrixMarket matrix coordinate real general\n9000000000000000000 5 9000000000000000000\n1 1 1\n";
    assert!(message(claims.as_bytes()).contains("got 1"));
    let claims = "%%MatrixMarket matrix array real general\n9000000000000000000 9000000000000000000\n1\n";
    assert!(message(claims.as_bytes()).contains("got 1"));
    // A line without an end is not kept in memory.
    let endless = std::io::BufReader::new(std::io::Read::take(std::io::repeat(b' '), 1 << 30));
    assert!(matrix_market::parse(endless).unwrap_err().to_string().contains("line 1"));
    // Row pointers would cost 8 exabytes; coordinates cost nothing.
    let empty =
        parse("%%MatrixMarket matrix coordinate real general\n1000000000000000000 5 1\n1000000000000000000 1 1\n");
    assert_eq!(empty.to_csr(&Device::flex()).unwrap_err().kind(), "would_densify");
    assert_eq!(empty.to_coo(&Device::flex()).unwrap().dims(), [1_000_000_000_000_000_000, 5]);
}

#[test]
fn writes_what_it_reads() {
    let device = Device::flex();
    let dense = Tensor::<2>::from_floats([[0.0, 0.1, -3e-30], [f32::INFINITY, 0.0, 7.0]], &device);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.mtx");
    let expected = dense.to_data();
    let back = |dims| {
        let m = matrix_market::read(&path).unwrap();
        assert_eq!([m.rows, m.cols], dims);
        (m.format, m.to_csr(&device).unwrap().to_dense().into_data())
    };
    matrix_market::write(&path, &CsrTensor::from_dense(dense.clone())).unwrap();
    assert_eq!(back([2, 3]), (Format::Coordinate, expected.clone()));
    matrix_market::write(&path, &CooTensor::from_dense(dense.clone(), 0)).unwrap();
    assert_eq!(back([2, 3]), (Format::Coordinate, expected.clone()));
    matrix_market::write(&path, &dense).unwrap();
    assert_eq!(back([2, 3]), (Format::Array, expected));
    matrix_market::write(&path, &CsrTensor::<2>::zeros([0, 4], (&device, burn::tensor::DType::F32))).unwrap();
    assert_eq!(matrix_market::read(&path).unwrap().rows, 0);
    // Symmetry is expanded, integers and patterns stay what they are.
    for text in [
        "%%MatrixMarket matrix coordinate integer symmetric\n3 3 2\n2 1 -5\n3 3 9\n",
        "%%MatrixMarket matrix coordinate pattern general\n3 3 2\n2 1\n3 3\n",
        "%%MatrixMarket matrix array integer general\n2 1\n0\n-4\n",
    ] {
        let first = parse(text);
        let mut out = Vec::new();
        matrix_market::write_to(&mut out, &first).unwrap();
        let again = matrix_market::parse(&out[..]).unwrap();
        assert_eq!((&again.coordinates, &again.values), (&first.coordinates, &first.values));
    }
    let ints = Tensor::<2, Int>::from_data([[0, 2], [3, 0]], &device);
    let mut out = Vec::new();
    matrix_market::write_to(&mut out, &CsrTensor::from_dense(ints)).unwrap();
    assert_eq!(
        String::from_utf8(out).unwrap(),
        "%%MatrixMarket matrix coordinate integer general\n2 2 2\n1 2 2\n2 1 3\n"
    );
}

#[test]
fn integers_past_the_device_are_an_error() {
    let file = |value: &str| parse(&format!("%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 {value}\n"));
    let device = Device::flex();
    let bits = device.settings().int_dtype;
    for value in ["3000000000", "-3000000000"] {
        let read = file(value).to_coo_int(&device);
        if bits == IntDType::I64 {
            assert!(read.is_ok());
        } else {
            assert_eq!(read.unwrap_err().kind(), "overflow");
        }
    }
    for value in ["2147483647", "-2147483648"] {
        let read = file(value).to_coo_int(&device).unwrap().values::<1>().into_data().convert::<i64>();
        assert_eq!(read.iter::<i64>().collect::<Vec<_>>(), [value.parse::<i64>().unwrap()]);
    }
}

#[test]
fn dense_files_keep_the_sign_of_zero() {
    let dense = Tensor::<2>::from_floats([[0.0, -0.0], [2.0, 0.0]], &Device::flex());
    let mut out = Vec::new();
    matrix_market::write_to(&mut out, &dense).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert_eq!(text, "%%MatrixMarket matrix array real general\n2 2\n0.0\n2.0\n-0.0\n0.0\n");
    let m = parse(&text);
    assert_eq!(m.coordinates, [(1, 0), (0, 1)]);
    let Values::Real(values) = m.values else { panic!("real") };
    assert!(values[1] == 0.0 && values[1].is_sign_negative());
}

#[test]
fn columns_of_nothing_are_not_walked() {
    let text = "%%MatrixMarket matrix array real general\n0 1000000000000000000\n";
    let mut out = Vec::new();
    matrix_market::write_to(&mut out, &parse(text)).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), text);
}

#[test]
fn messages_stay_short() {
    let long = "7".repeat(5000);
    for tail in [format!("1 1 1\n{long}\n"), format!("1 1 x{long}\n")] {
        let text = format!("%%MatrixMarket matrix coordinate real general\n2 2 1\n{tail}");
        assert!(message(text.as_bytes()).len() < 300);
    }
}

#[test]
fn a_fill_cannot_be_written() {
    let a = CsrTensor::<2>::from_dense(Tensor::ones([2, 2], &Device::flex()));
    let kind = |fill| matrix_market::write_to(Vec::new(), &a.clone().with_fill(fill)).unwrap_err().kind();
    assert_eq!(kind(Fill::scalar(2.0)), "fill_mismatch");
    assert_eq!(kind(Fill::tensor(Tensor::<1>::ones([1], &Device::flex()))), "fill_mismatch");
    assert_eq!(kind(Fill::Undefined), "undefined_fill");
    let trouble = |fill| matrix_market::write_to(Vec::new(), &a.clone().with_fill(fill)).unwrap_err().to_string();
    for fill in [Fill::Undefined, Fill::scalar(2.0)] {
        assert!(trouble(fill).contains("io::safetensors"));
    }
    let zero = Fill::tensor(Tensor::<1>::zeros([1], &Device::flex()));
    assert!(matrix_market::write_to(Vec::new(), &a.clone().with_fill(zero)).is_ok());
    let trouble = matrix_market::write("/no/such/folder/a.mtx", &a).unwrap_err();
    assert_eq!(trouble.kind(), "invalid");
}

#[test]
fn booleans_are_a_pattern_where_all_are_true() {
    let device = Device::flex();
    let edges = CooTensor::<2, Bool>::from_dense(Tensor::from_data([[false, true], [true, false]], &device), 0);
    let mut out = Vec::new();
    matrix_market::write_to(&mut out, &edges).unwrap();
    let m = matrix_market::parse(&out[..]).unwrap();
    assert_eq!((m.field(), m.coordinates), (Field::Pattern, vec![(0, 1), (1, 0)]));
    // A stored false is an element, too.
    let stored = edges.with_values(Tensor::<1, Bool>::from_data([false, true], &device));
    let mut out = Vec::new();
    matrix_market::write_to(&mut out, &stored).unwrap();
    assert_eq!(matrix_market::parse(&out[..]).unwrap().values, Values::Integer(vec![0, 1]));
    assert!(matrix_market::write_to(Vec::new(), &stored.with_fill(Fill::scalar(true))).is_err());
    let hybrid = CooTensor::<2>::from_dense(Tensor::ones([2, 2], &device), 1);
    assert_eq!(matrix_market::write_to(Vec::new(), &hybrid).unwrap_err().kind(), "shape_mismatch");
}

#[test]
fn edited_structs_are_checked() {
    let mut m = parse("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1\n");
    m.coordinates.push((5, 0));
    assert_eq!(m.to_coo(&Device::flex()).unwrap_err().kind(), "index_out_of_range");
    assert!(matrix_market::write_to(Vec::new(), &m).is_err());
    m.coordinates[1] = (1, 1);
    assert_eq!(m.to_coo(&Device::flex()).unwrap_err().kind(), "length_mismatch");
}

const SAMPLES: [&str; 4] = [
    "%%MatrixMarket matrix coordinate real symmetric\n% c\n3 3 3\n1 1 4.5\n3 1 -1\n3 3 2e5\n",
    "%%MatrixMarket matrix array integer skew-symmetric\n3 3\n1\n2\n-3\n",
    "%%MatrixMarket matrix coordinate pattern general\n4 2 2\n1 1\n4 2\n",
    "%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n",
];

/// Whatever parses must become a tensor or an error.
fn survives(bytes: &[u8]) {
    match matrix_market::parse(bytes) {
        Err(trouble) => assert_eq!(trouble.kind(), "invalid"),
        // A mutation may claim many rows; that is for `to_csr` to refuse past the dense limit only.
        Ok(m) if m.rows < 1 << 20 => {
            let csr = m.to_csr(&Device::flex()).unwrap();
            assert_eq!(csr.dims(), [m.rows, m.cols]);
        }
        Ok(m) => assert_eq!(m.to_coo(&Device::flex()).unwrap().dims(), [m.rows, m.cols]),
    }
}

proptest! {
    #[test]
    fn any_body_survives(head in 0usize..SAMPLES.len(), body in "[0-9 .e\\-%\n]{0,80}") {
        let banner = SAMPLES[head].lines().next().unwrap();
        survives(format!("{banner}\n{body}").as_bytes());
    }

    #[test]
    fn mutated_files_survive(
        sample in 0usize..SAMPLES.len(),
        edits in prop::collection::vec((any::<u16>(), any::<u8>(), 0..3u8), 1..6),
    ) {
        let mut bytes = SAMPLES[sample].as_bytes().to_vec();
        for (at, byte, edit) in edits {
            let at = at as usize % bytes.len().max(1);
            match edit {
                0 if at < bytes.len() => bytes[at] = byte,
                1 => bytes.insert(at.min(bytes.len()), byte % 128),
                _ if at < bytes.len() => drop(bytes.remove(at)),
                _ => {}
            }
        }
        survives(&bytes);
    }

    #[test]
    fn digits_are_exact(
        values in prop::collection::vec(any::<f64>(), 1..20), ints in prop::collection::vec(any::<i64>(), 1..20),
    ) {
        let device = Device::flex();
        let places = |count: usize| {
            let diagonal = (0..2 * count).map(|k| (k % count) as i32).collect();
            Tensor::<2, Int>::from_data(burn::tensor::TensorData::new(diagonal, [2, count]), &device)
        };
        let back = |out: Vec<u8>| matrix_market::parse(&out[..]).unwrap().values;
        let count = values.len();
        let data = burn::tensor::TensorData::new(values.clone(), [count]);
        let stored = Tensor::<1>::from_data(data, (&device, DType::F64));
        let a = CooTensor::<2>::new(places(count), stored, [count, count]).unwrap();
        let (mut coo, mut csr) = (Vec::new(), Vec::new());
        matrix_market::write_to(&mut coo, &a).unwrap();
        matrix_market::write_to(&mut csr, &a.to_csr()).unwrap();
        prop_assert_eq!(&coo, &csr);
        let Values::Real(read) = back(coo) else { panic!("real") };
        let same = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
        prop_assert!(read.len() == values.len() && read.iter().zip(&values).all(same));
        let count = ints.len();
        let data = burn::tensor::TensorData::new(ints.clone(), [count]);
        let stored = Tensor::<1, Int>::from_data(data, (&device, DType::I64));
        let a = CooTensor::<2, Int>::new(places(count), stored, [count, count]).unwrap();
        let mut out = Vec::new();
        matrix_market::write_to(&mut out, &a).unwrap();
        prop_assert_eq!(back(out), Values::Integer(ints));
    }

    #[test]
    fn round_trips(rows in 0usize..6, cols in 0usize..6, seed in prop::collection::vec(-100i32..100, 36)) {
        let device = Device::flex();
        // Half of the elements are zero; the others have no short decimal form.
        let value = |&v: &_| if v % 2 == 0 { 0.0 } else { v as f32 / 7.0 };
        let values: Vec<f32> = seed[..rows * cols].iter().map(value).collect();
        let dense = Tensor::<2>::from_data(burn::tensor::TensorData::new(values, [rows, cols]), &device);
        let expected = dense.to_data();
        let mut files = [Vec::new(), Vec::new()];
        matrix_market::write_to(&mut files[0], &CsrTensor::from_dense(dense.clone())).unwrap();
        matrix_market::write_to(&mut files[1], &dense).unwrap();
        for file in files {
            let back = matrix_market::parse(&file[..]).unwrap().to_coo(&device).unwrap().to_dense();
            prop_assert_eq!(back.into_data(), expected.clone());
        }
    }
}

/// All digits of a file, and the dtypes that the matrix can have.
#[test]
fn the_dtype_is_chosen() {
    let device = Device::flex();
    let text = "%%MatrixMarket matrix coordinate real general\n1 2 1\n1 2 0.1234567890123456\n";
    let m = matrix_market::parse(text.as_bytes()).unwrap();
    assert_eq!(m.to_csr(&device).unwrap().dtype(), DType::F32);
    let wide = m.to_csr((&device, DType::F64)).unwrap();
    assert_eq!((wide.dtype(), wide.to_triplets::<f64>().2), (DType::F64, vec![0.1234567890123456]));
    assert_eq!(m.to_coo((&device, DType::F16)).unwrap().dtype(), DType::F16);
    assert_eq!(m.to_coo((&device, DType::I64)).unwrap_err().kind(), "dtype_mismatch");
    let text = "%%MatrixMarket matrix coordinate integer general\n1 2 1\n1 2 300\n";
    let m = matrix_market::parse(text.as_bytes()).unwrap();
    let long = m.to_coo_int((&device, DType::I64)).unwrap();
    assert_eq!((long.dtype(), long.to_triplets::<i64>().2), (DType::I64, vec![300]));
    assert_eq!(m.to_coo_int((&device, DType::U8)).unwrap_err().kind(), "overflow");
    assert_eq!(m.to_coo_int((&device, DType::F32)).unwrap_err().kind(), "dtype_mismatch");
}
