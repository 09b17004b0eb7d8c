use burn::tensor::{Bool, BoolStore, DType, Device, Float, Int, Tensor, TensorData};
use proptest::prelude::*;
use serde_json::Value;
use sparse_dev::files::{bytes, edited, floats, sizes};
use sparse_tensor::io::npy;
use sparse_tensor::{Kind, SparseError};

/// Name, file, shape and values of an array.
type Case = (String, Vec<u8>, Vec<usize>, Vec<f64>);

fn cases() -> Vec<Case> {
    let text = String::from_utf8(bytes("npy.jsonl")).unwrap();
    let case = |line: &str| {
        let case: Value = serde_json::from_str(line).unwrap();
        let hex = case["hex"].as_str().unwrap().as_bytes();
        let digit = |at: usize| (hex[at] as char).to_digit(16).unwrap() as u8;
        let bytes = (0..hex.len() / 2).map(|at| digit(2 * at) * 16 + digit(2 * at + 1)).collect();
        (case["name"].as_str().unwrap().to_string(), bytes, sizes(&case["shape"]), floats(&case["values"]))
    };
    text.lines().map(case).collect()
}

fn read<K: Kind>(file: &[u8], rank: usize, dtype: Option<DType>) -> Result<TensorData, SparseError> {
    let device = Device::flex();
    let options = || match dtype {
        Some(dtype) => (&device, dtype).into(),
        None => burn::tensor::TensorCreationOptions::from(&device),
    };
    Ok(match rank {
        1 => npy::from_bytes::<1, K>(file, options())?.into_data(),
        2 => npy::from_bytes::<2, K>(file, options())?.into_data(),
        _ => npy::from_bytes::<3, K>(file, options())?.into_data(),
    })
}

#[test]
fn numpys_arrays_are_read() {
    let cases = cases();
    assert!(cases.len() > 70, "{}", cases.len());
    for (name, file, shape, values) in cases {
        let rank = shape.len().max(1);
        let letter = name.trim_start_matches(['<', '>']).split(' ').next().unwrap();
        let (data, dtype) = match letter {
            "f2" => (read::<Float>(&file, rank, None), DType::F16),
            "f4" | "three" | "empty" => (read::<Float>(&file, rank, None), DType::F32),
            "f8" | "scalar" => (read::<Float>(&file, rank, None), DType::F64),
            "i8" | "u4" | "u8" => (read::<Int>(&file, rank, None), DType::I64),
            "u1" => (read::<Int>(&file, rank, None), DType::U8),
            "?" => (read::<Bool>(&file, rank, None), DType::Bool(BoolStore::Native)),
            _ => (read::<Int>(&file, rank, None), DType::I32),
        };
        let data = data.unwrap_or_else(|trouble| panic!("{name}: {trouble}"));
        assert_eq!(data.dtype(), dtype, "{name}");
        let expected = if shape.is_empty() { vec![1] } else { shape };
        assert_eq!(data.shape().to_vec(), expected, "{name}");
        assert_eq!(data.convert::<f64>().to_vec::<f64>().unwrap(), values, "{name}");
    }
}

#[test]
fn writing_gives_numpys_bytes() {
    let mut compared = 0;
    for (name, file, ..) in cases() {
        // Wider integer types are read as narrower ones, and Fortran order as C order.
        let kept = ["<f2", "<f4", "<f8", "<i4", "<i8", "<u1", "<?"].iter().any(|kept| name.starts_with(kept));
        if !kept || name.ends_with('F') {
            continue;
        }
        fn again<const D: usize, K: Kind>(file: &[u8]) -> Vec<u8> {
            let mut out = Vec::new();
            npy::write_to(&mut out, &npy::from_bytes::<D, K>(file, &Device::flex()).unwrap()).unwrap();
            out
        }
        let written = match (&name[1..2], name.ends_with('C')) {
            ("f", false) => again::<1, Float>(&file),
            ("f", true) => again::<2, Float>(&file),
            ("?", false) => again::<1, Bool>(&file),
            ("?", true) => again::<2, Bool>(&file),
            (_, false) => again::<1, Int>(&file),
            (_, true) => again::<2, Int>(&file),
        };
        assert!(written == file, "{name}");
        compared += 1;
    }
    assert_eq!(compared, 14);
    let half = Tensor::<1>::zeros([2], (&Device::flex(), DType::BF16));
    let trouble = npy::write_to(Vec::new(), &half).unwrap_err();
    assert_eq!((trouble.kind(), trouble.to_string().contains("bf16")), ("unsupported_dtype", true));
}

/// A file with this header text.
fn file(header: &str, data: &[u8]) -> Vec<u8> {
    let length = (header.len() as u16).to_le_bytes();
    [&b"\x93NUMPY\x01\x00"[..], &length, header.as_bytes(), data].concat()
}

fn array(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    file(&format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n"), data)
}

#[test]
fn kinds_and_dtypes_that_are_asked_for() {
    let ints = array("<i8", "(2,)", &[[1i64, -3].map(i64::to_le_bytes).concat()].concat());
    let data = read::<Float>(&ints, 1, Some(DType::F32)).unwrap();
    assert_eq!(data, TensorData::from([1f32, -3.0]));
    assert_eq!(read::<Int>(&ints, 1, Some(DType::I32)).unwrap(), TensorData::from([1i32, -3]));
    assert_eq!(read::<Float>(&ints, 1, None).unwrap_err().kind(), "dtype_mismatch");
    assert_eq!(read::<Int>(&ints, 1, Some(DType::F32)).unwrap_err().kind(), "dtype_mismatch");
    let trouble = read::<Int>(&ints, 1, Some(DType::U8)).unwrap_err();
    assert_eq!((trouble.kind(), trouble.to_string().contains("got 3")), ("overflow", true), "{trouble}");
    let floats = array("<f4", "(1,)", &1.5f32.to_le_bytes());
    assert_eq!(read::<Int>(&floats, 1, Some(DType::I32)).unwrap_err().kind(), "dtype_mismatch");
    assert_eq!(read::<Float>(&floats, 1, Some(DType::F64)).unwrap(), TensorData::from([1.5f64]));
    assert_eq!(read::<Float>(&floats, 2, None).unwrap_err().kind(), "shape_mismatch");
    let large = array("<u8", "(1,)", &u64::MAX.to_le_bytes());
    assert!(read::<Int>(&large, 1, None).unwrap_err().to_string().contains("63 bits"));
    // What older writers wrote.
    let old = file("{\"shape\": (2L,), 'fortran_order': True, 'descr': '=i2'}", &[1, 0, 2, 0]);
    assert_eq!(read::<Int>(&old, 1, None).unwrap(), TensorData::from([1i32, 2]));
}

#[test]
fn errors_say_what_stands_there() {
    let cases: &[(Vec<u8>, &[&str])] = &[
        (vec![], &["header"]),
        (b"PK\x03\x04 and more".to_vec(), &["NUMPY"]),
        (b"\x93NUMPY\x09\x00\x00\x00".to_vec(), &["version", "9"]),
        (b"\x93NUMPY\x02\x00\xff\xff\xff\xff{".to_vec(), &["65536", "4294967295"]),
        (b"\x93NUMPY\x01\x00\x40\x00{'descr'".to_vec(), &["64 bytes", "got 8"]),
        (array("<f4", "(3,)", &[0; 8]), &["cut off"]),
        (array("<f4", "(1,)", &[0; 5]), &["got more"]),
        // A claim of 4 exabytes allocates nothing.
        (array("<f4", "(1000000000000000000,)", &[0; 64]), &["cut off"]),
        (array("<f4", "(3000000000, 3000000000)", &[0; 64]), &["63 bits"]),
        (array("<f4", "(99999999999999999999,)", &[]), &["size"]),
        (array("<f4", "(-1,)", &[]), &["size", "-1"]),
        (array("<f4", "3", &[]), &["'('"]),
        (array("<c8", "(1,)", &[0; 8]), &["<c8"]),
        (array("|O", "(1,)", &[0; 8]), &["|O"]),
        (array("|b1", "(2,)", &[1, 7]), &["0 or 1", "7 at position 1"]),
        (array("|S3", "(1,)", b"csr"), &["integers"]),
        (file("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (1,)}", &[0; 4]), &["plain", "[('x'"]),
        (file("{'descr': '<f4', 'shape': (1,)}", &[0; 4]), &["fortran_order"]),
        (file("{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}", &[0; 4]), &["True or False"]),
        (file("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': 1}", &[0; 4]), &["more"]),
        (file("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x", &[0; 4]), &["x"]),
        (file("\u{e9}", &[]), &["'{'"]),
    ];
    for (file, parts) in cases {
        let trouble = npy::from_bytes::<1, Float>(file, &Device::flex()).unwrap_err();
        let message = trouble.to_string();
        assert_eq!(trouble.kind(), "invalid", "{message}");
        assert!(
            message.starts_with("npy: ") && parts.iter().all(|part| message.contains(part)),
            "{message:?} {parts:?}"
        );
    }
    let trouble = npy::load::<1, Float>("/no/such.npy", &Device::flex()).unwrap_err().to_string();
    assert!(trouble.contains("/no/such.npy"), "{trouble}");
}

#[test]
fn files_and_their_progress() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npy");
    let device = Device::flex();
    let a = Tensor::<1>::random([500_000], burn::tensor::Distribution::Default, &device);
    npy::save(&path, &a).unwrap();
    let mut heard = Vec::new();
    let b: Tensor<1> = npy::load_with(&path, &device, &mut |done, total| heard.push((done, total))).unwrap();
    assert_eq!(a.into_data(), b.into_data());
    let total = std::fs::metadata(&path).unwrap().len();
    assert!(heard.len() >= 2 && heard.is_sorted(), "{heard:?}");
    assert_eq!(*heard.last().unwrap(), (total, total));
    // A file that ends early.
    let file = std::fs::read(&path).unwrap();
    std::fs::write(&path, &file[..file.len() - 1]).unwrap();
    let trouble = npy::load::<1, Float>(&path, &device).unwrap_err().to_string();
    assert!(trouble.contains("a.npy") && trouble.contains("cut off"), "{trouble}");
}

proptest! {
    #[test]
    fn edited_arrays_survive(
        case in 0usize..72, edits in prop::collection::vec((any::<usize>(), any::<u8>(), 0u8..4), 1..5),
    ) {
        let (_, file, shape, _) = &cases()[case];
        let file = edited(file, &edits);
        for result in [
            read::<Float>(&file, shape.len(), None),
            read::<Int>(&file, shape.len(), None),
            read::<Bool>(&file, shape.len(), None),
        ] {
            if let Err(trouble) = result {
                let kind = trouble.kind();
                prop_assert!(["invalid", "dtype_mismatch", "shape_mismatch"].contains(&kind), "{trouble}");
            }
        }
    }

    #[test]
    fn any_header_survives(text in "[{}()'descr:, fotanship0-9TruFalse<>ifu\\[\\]L]{0,80}", data in any::<[u8; 16]>()) {
        let _ = read::<Float>(&file(&text, &data), 1, None);
    }
}
