use burn::tensor::{Bool, DType, Device, Float, Int, Tensor, TensorData};
use proptest::prelude::*;
use rawzip::{CompressionMethod, ZipArchive, ZipArchiveWriter};
use sparse_dev::files::heard;
use sparse_dev::files::{bytes, edited, expected, floats, path, sizes};
use sparse_tensor::io::npz::{self, Archive};
use sparse_tensor::{CooTensor, CsrTensor, Fill, Kind, SparseError};
use std::io::Write;

fn numbers<K: Kind>(dense: Tensor<2, K>) -> Vec<f64> {
    dense.into_data().convert::<f64>().to_vec().unwrap()
}

#[test]
fn scipys_files_are_read() {
    let device = Device::flex();
    let cases = expected("npz");
    let mut read = 0;
    for (name, case) in cases.as_object().unwrap() {
        let file = bytes(&format!("npz/{name}.npz"));
        if name == "dia" {
            let trouble = npz::from_bytes::<_, Float>(&file, &device).map(|a: CsrTensor<2>| a).unwrap_err();
            assert!(trouble.to_string().contains("tocsr") && trouble.to_string().contains("dia"), "{trouble}");
            continue;
        }
        fn both<K: Kind>(file: &[u8], device: &Device) -> (CsrTensor<2, K>, CooTensor<2, K>) {
            (npz::from_bytes(file, device).unwrap(), npz::from_bytes(file, device).unwrap())
        }
        let dtype = case["dtype"].as_str().unwrap();
        let (shape, nnz, found_dtype, csr, coo) = match dtype {
            "float16" | "float32" | "float64" => {
                let (csr, coo) = both::<Float>(&file, &device);
                (csr.dims(), coo.nnz(), csr.dtype(), numbers(csr.to_dense()), numbers(coo.to_dense()))
            }
            "bool" => {
                let (csr, coo) = both::<Bool>(&file, &device);
                (csr.dims(), coo.nnz(), csr.dtype(), numbers(csr.to_dense()), numbers(coo.to_dense()))
            }
            _ => {
                let (csr, coo) = both::<Int>(&file, &device);
                (csr.dims(), coo.nnz(), csr.dtype(), numbers(csr.to_dense()), numbers(coo.to_dense()))
            }
        };
        let dense = floats(&case["dense"]);
        assert_eq!(shape.to_vec(), sizes(&case["shape"]), "{name}");
        assert_eq!((&csr, &coo), (&dense, &dense), "{name}");
        // SciPy counts a column that repeats twice.
        let twice = usize::from(name == "csr_unsorted");
        assert_eq!(nnz + twice, case["nnz"].as_u64().unwrap() as usize, "{name}");
        let right = match dtype {
            "float16" => DType::F16,
            "float32" => DType::F32,
            "float64" => DType::F64,
            "int64" => DType::I64,
            "uint8" => DType::U8,
            _ => found_dtype,
        };
        assert_eq!(found_dtype, right, "{name}");
        read += 1;
    }
    assert_eq!(read, 18);
    let a: CsrTensor<2> = npz::load(path("npz/csr_compressed.npz"), (&device, DType::F32)).unwrap();
    assert_eq!((a.dtype(), a.pattern().row_ptr().dtype()), (DType::F32, DType::I32));
    let a: CsrTensor<2> = npz::load(path("npz/ints.npz"), (&device.autodiff(), DType::F32)).unwrap();
    assert!(a.device().is_autodiff());
}

/// The entries of an archive.
fn entries(file: &[u8]) -> Vec<(String, Vec<u8>)> {
    let archive = ZipArchive::from_slice(file).unwrap();
    let mut entries = archive.entries();
    let mut found = Vec::new();
    while let Some(entry) = entries.next_entry().unwrap() {
        assert_eq!(entry.compression_method(), CompressionMethod::STORE);
        let name = String::from_utf8(entry.file_path().as_ref().to_vec()).unwrap();
        let local = archive.get_entry(entry.wayfinder()).unwrap();
        found.push((name, local.data().to_vec()));
    }
    found
}

#[test]
fn written_arrays_are_scipys_to_the_byte() {
    let device = Device::flex();
    for name in ["csr", "bool", "bytes", "nothing"] {
        let file = bytes(&format!("npz/{name}.npz"));
        let written = match name {
            "csr" | "nothing" => {
                let a: CsrTensor<2> = npz::from_bytes(&file, &device).unwrap();
                npz::to_bytes(&a).unwrap()
            }
            "bool" => {
                let a: CsrTensor<2, Bool> = npz::from_bytes(&file, &device).unwrap();
                npz::to_bytes(&a).unwrap()
            }
            _ => {
                let a: CsrTensor<2, Int> = npz::from_bytes(&file, &device).unwrap();
                npz::to_bytes(&a).unwrap()
            }
        };
        assert_eq!(entries(&written), entries(&file), "{name}");
    }
    let file = bytes("npz/coo_twice.npz");
    let a: CooTensor<2> = npz::from_bytes(&file, &device).unwrap();
    assert_eq!(a.nnz(), 3);
    assert_eq!(entries(&npz::to_bytes(&a).unwrap()), entries(&file));
}

/// Writes files for `tests/files/check.py`, which reads them with SciPy.
#[test]
fn written_files() {
    let folder = tempfile::tempdir().unwrap();
    let out = std::env::var_os("SPARSE_FILES_OUT").map_or(folder.path().to_path_buf(), Into::into);
    let device = Device::flex();
    for name in ["csr", "csr_compressed", "coo_twice", "coo", "half"] {
        let source = path(&format!("npz/{name}.npz"));
        let (plain, packed) = (out.join(format!("{name}.npz")), out.join(format!("{name}_packed.npz")));
        if name.starts_with("coo") {
            let a: CooTensor<2> = npz::load(&source, &device).unwrap();
            npz::save(&plain, &a).unwrap();
            npz::save_compressed(&packed, &a).unwrap();
        } else {
            let a: CsrTensor<2> = npz::load(&source, &device).unwrap();
            npz::save(&plain, &a).unwrap();
            npz::save_compressed(&packed, &a).unwrap();
        }
        let [a, b]: [CsrTensor<2>; 2] = [&plain, &packed].map(|path| npz::load(path, &device).unwrap());
        assert_eq!(numbers(a.to_dense()), numbers(b.to_dense()));
        assert!(std::fs::metadata(&packed).unwrap().len() < std::fs::metadata(&plain).unwrap().len());
    }
    for name in ["ints", "bytes"] {
        let a: CsrTensor<2, Int> = npz::load(path(&format!("npz/{name}.npz")), &device).unwrap();
        npz::save(out.join(format!("{name}.npz")), &a).unwrap();
    }
    let a: CsrTensor<2, Bool> = npz::load(path("npz/bool.npz"), &device).unwrap();
    npz::save(out.join("bool.npz"), &a).unwrap();
}

#[test]
fn archives_of_dense_arrays() {
    let device = Device::flex();
    let mut archive = Archive::open(path("npz/dense.npz")).unwrap();
    assert_eq!(archive.names().collect::<Vec<_>>(), ["x", "y"]);
    let x: Tensor<2> = archive.dense("x", (&device, DType::F32)).unwrap();
    assert_eq!(x.into_data(), TensorData::from([[0f32, 1.5, 0.0, -2.0], [0.0; 4], [3.0, 0.0, 0.25, 0.0]]));
    let y: Tensor<1, Int> = archive.dense("y", &device).unwrap();
    assert_eq!(y.into_data(), TensorData::from([0i64, 1, 2]));
    let trouble = archive.dense::<1, Float>("z", &device).unwrap_err().to_string();
    assert!(trouble.contains("z.npy") && trouble.contains("[\"x\", \"y\"]"), "{trouble}");
    let trouble = archive.sparse::<_, Float>(&device).map(|a: CsrTensor<2>| a).unwrap_err().to_string();
    assert!(trouble.contains("format.npy"), "{trouble}");
}

/// The file of an array.
fn array(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    [&b"\x93NUMPY\x01\x00"[..], &(header.len() as u16).to_le_bytes(), header.as_bytes(), data].concat()
}

fn i32s(values: &[i32]) -> Vec<u8> {
    array("<i4", &format!("({},)", values.len()), &values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>())
}

fn i64s(values: &[i64]) -> Vec<u8> {
    array("<i8", &format!("({},)", values.len()), &values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>())
}

fn f32s(values: &[f32]) -> Vec<u8> {
    array("<f4", &format!("({},)", values.len()), &values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>())
}

type Parts<'a> = Vec<(&'a str, Vec<u8>)>;

fn archive(parts: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut out = ZipArchiveWriter::new(Vec::new());
    for (name, data) in parts {
        let (mut entry, config) = out.new_file(format!("{name}.npy").as_str()).start().unwrap();
        let mut writer = config.wrap(&mut entry);
        writer.write_all(data).unwrap();
        let (_, descriptor) = writer.finish().unwrap();
        entry.finish(descriptor).unwrap();
    }
    out.finish().unwrap()
}

/// `[[1, 0, 2], [0, 3, 0]]`.
fn csr_parts<'a>() -> Parts<'a> {
    vec![
        ("format", array("|S3", "()", b"csr")),
        ("shape", i64s(&[2, 3])),
        ("indptr", i32s(&[0, 2, 3])),
        ("indices", i32s(&[0, 2, 1])),
        ("data", f32s(&[1.0, 2.0, 3.0])),
    ]
}

fn trouble(parts: &[(&str, Vec<u8>)]) -> SparseError {
    npz::from_bytes::<_, Float>(&archive(parts), &Device::flex()).map(|a: CsrTensor<2>| a).unwrap_err()
}

#[test]
fn what_is_wrong_is_named() {
    let device = Device::flex();
    let good: CsrTensor<2> = npz::from_bytes(&archive(&csr_parts()), &device).unwrap();
    assert_eq!(numbers(good.to_dense()), [1.0, 0.0, 2.0, 0.0, 3.0, 0.0]);
    let says = |name: &str, data: Vec<u8>, kind: &str, words: &[&str]| {
        let mut parts = csr_parts();
        parts.iter_mut().find(|part| part.0 == name).unwrap().1 = data;
        let trouble = trouble(&parts);
        let message = trouble.to_string();
        assert_eq!(trouble.kind(), kind, "{message}");
        assert!(
            message.starts_with("npz: ") && words.iter().all(|word| message.contains(word)),
            "{message:?} {words:?}"
        );
    };
    says("format", array("|S3", "()", b"csx"), "invalid", &["format", "csx"]);
    says("format", array("|S1", "(2,)", b"cs"), "invalid", &["format.npy", "one string"]);
    says("format", i32s(&[1]), "invalid", &["format.npy", "string"]);
    says("shape", i64s(&[2, 3, 1]), "invalid", &["shape.npy", "[2, 3, 1]"]);
    says("shape", i64s(&[2, -3]), "invalid", &["-3"]);
    says("shape", f32s(&[2.0, 3.0]), "invalid", &["shape.npy", "integers"]);
    says("shape", i64s(&[3, 3]), "length_mismatch", &["4", "3"]);
    says("shape", i64s(&[i64::MAX, 3]), "length_mismatch", &["row_ptr"]);
    says("indptr", i32s(&[0, 3, 2]), "invalid_row_ptr", &["row_ptr"]);
    says("indptr", i32s(&[1, 2, 3]), "invalid_row_ptr", &["row_ptr"]);
    says("indptr", i32s(&[0, 2, 4]), "invalid_row_ptr", &["4"]);
    says("indptr", i32s(&[0, -2, -4]), "invalid_row_ptr", &["-"]);
    says("indptr", array("<i4", "(3, 1)", &[0; 12]), "shape_mismatch", &["[3, 1]"]);
    says("indices", i32s(&[0, 3, 1]), "index_out_of_range", &["3"]);
    says("indices", i64s(&[0, i64::MIN, 1]), "index_out_of_range", &["-9223372036854775808"]);
    says("indices", f32s(&[0.0, 2.0, 1.0]), "invalid", &["indices.npy", "integers"]);
    says("data", f32s(&[1.0, 2.0]), "length_mismatch", &["data", "3", "2"]);
    says("data", i32s(&[1, 2, 3]), "dtype_mismatch", &["float", "i32"]);
    says("data", array("<f4", "(3, 1)", &[0; 12]), "shape_mismatch", &["[3, 1]"]);
    says("data", array("<c8", "(3,)", &[0; 24]), "invalid", &["data.npy", "<c8"]);
    // Headers that claim more than there is: nothing is allocated for them.
    says("data", array("<f4", "(1000000000000000,)", &[0; 12]), "invalid", &["data.npy", "bytes"]);
    says("indices", array("<i8", "(1152921504606846975,)", &[0; 12]), "invalid", &["indices.npy", "bytes"]);
    says("indptr", array("<i8", "(2, 9223372036854775807)", &[]), "invalid", &["indptr.npy", "63 bits"]);
    // Columns in any order are sorted, and those that repeat are summed: only if the pointers are right.
    says("indices", i32s(&[2, 0, 7]), "index_out_of_range", &["7"]);
    let mut parts = csr_parts();
    parts[3].1 = i32s(&[2, 2, 1]);
    let a: CsrTensor<2> = npz::from_bytes(&archive(&parts), &device).unwrap();
    assert_eq!((a.nnz(), numbers(a.to_dense())), (2, vec![0.0, 0.0, 3.0, 0.0, 3.0, 0.0]));
    parts[2].1 = i32s(&[0, 3, 1]);
    assert_eq!(self::trouble(&parts).kind(), "invalid_row_ptr");
    let mut parts = csr_parts();
    parts.push(("data", f32s(&[1.0])));
    assert!(self::trouble(&parts).to_string().contains("data.npy twice"));
    for at in 0..5 {
        let mut parts = csr_parts();
        let (name, _) = parts.remove(at);
        assert!(self::trouble(&parts).to_string().contains(&format!("{name}.npy")), "{name}");
    }
}

#[test]
fn blocks_columns_and_coordinates_are_checked() {
    let parts = |format: &[u8], rest: Parts<'static>| {
        let mut parts = vec![("format", array("|S3", "()", format)), ("shape", i64s(&[4, 4]))];
        parts.extend(rest);
        parts
    };
    let bsr = |ptr: &[i32], idx: &[i32], shape: &str, values: usize| {
        let data = array("<f4", shape, &vec![0; 4 * values]);
        let bsr = parts(b"bsr", vec![("indptr", i32s(ptr)), ("indices", i32s(idx)), ("data", data)]);
        npz::from_bytes::<_, Float>(&archive(&bsr), &Device::flex()).map(|a: CsrTensor<2>| a)
    };
    assert_eq!(bsr(&[0, 1, 2], &[1, 0], "(2, 2, 2)", 8).unwrap().nnz(), 8);
    assert_eq!(bsr(&[0, 0, 0], &[], "(0, 2, 2)", 0).unwrap().nnz(), 0);
    let kind = |result: Result<CsrTensor<2>, SparseError>| result.map(|a| a.nnz()).unwrap_err().kind();
    assert_eq!(kind(bsr(&[0, 1, 2], &[1, 2], "(2, 2, 2)", 8)), "index_out_of_range");
    assert_eq!(kind(bsr(&[0, 1, 2], &[1, -1], "(2, 2, 2)", 8)), "index_out_of_range");
    assert_eq!(kind(bsr(&[0, 2, 1], &[1, 0], "(2, 2, 2)", 8)), "invalid_row_ptr");
    assert_eq!(kind(bsr(&[0, 1, 3], &[1, 0], "(2, 2, 2)", 8)), "invalid_row_ptr");
    assert_eq!(kind(bsr(&[0, 2], &[1, 0], "(2, 2, 2)", 8)), "length_mismatch");
    assert_eq!(kind(bsr(&[0, 1, 2], &[1], "(2, 2, 2)", 8)), "length_mismatch");
    assert_eq!(kind(bsr(&[0, 1, 2], &[1, 0], "(2, 3, 2)", 12)), "shape_mismatch");
    assert_eq!(kind(bsr(&[0, 1, 2], &[1, 0], "(2, 0, 2)", 0)), "shape_mismatch");
    assert_eq!(kind(bsr(&[0, 1, 2], &[1, 0], "(8,)", 8)), "shape_mismatch");

    let coo = |row: &[i32], col: &[i32], data: &[f32]| {
        let coo = parts(b"coo", vec![("row", i32s(row)), ("col", i32s(col)), ("data", f32s(data))]);
        npz::from_bytes::<_, Float>(&archive(&coo), &Device::flex()).map(|a: CsrTensor<2>| a)
    };
    assert_eq!(coo(&[3, 0], &[0, 3], &[1.0, 2.0]).unwrap().nnz(), 2);
    assert_eq!(kind(coo(&[4, 0], &[0, 3], &[1.0, 2.0])), "index_out_of_range");
    assert_eq!(kind(coo(&[0], &[0, 3], &[1.0, 2.0])), "length_mismatch");
    assert_eq!(kind(coo(&[3, 0], &[0, 3], &[1.0])), "length_mismatch");

    // Pointers for a billion of billions of rows that the file does not have.
    let huge = |format: &[u8], shape: &[i64], ptr: &[i32], data: Vec<u8>| {
        let parts = vec![
            ("format", array("|S3", "()", format)),
            ("shape", i64s(shape)),
            ("indptr", i32s(ptr)),
            ("indices", i32s(&[])),
            ("row", i32s(&[])),
            ("col", i32s(&[])),
            ("data", data),
        ];
        trouble(&parts).kind()
    };
    assert_eq!(huge(b"csc", &[1 << 60, 1], &[0, 0], f32s(&[])), "would_densify");
    assert_eq!(huge(b"coo", &[1 << 60, 1], &[0, 0], f32s(&[])), "would_densify");
    let empty_block = array("<f4", "(0, 1152921504606846976, 1)", &[]);
    assert_eq!(huge(b"bsr", &[1 << 60, 1], &[0, 0], empty_block), "would_densify");
}

#[test]
fn cut_and_damaged_files() {
    let device = Device::flex();
    let read = |file: &[u8]| npz::from_bytes::<_, Float>(file, &device).map(|a: CsrTensor<2>| a);
    for name in ["csr", "csr_compressed"] {
        let file = bytes(&format!("npz/{name}.npz"));
        for end in 0..file.len() {
            assert_eq!(read(&file[..end]).unwrap_err().kind(), "invalid", "{name} {end}");
        }
        // A changed bit of an element is found by the checksum.
        let entries = ZipArchive::from_slice(&file).unwrap();
        let mut found = 0;
        let mut list = entries.entries();
        while let Some(entry) = list.next_entry().unwrap() {
            let (_, end) = entries.get_entry(entry.wayfinder()).unwrap().compressed_data_range();
            let mut damaged = file.clone();
            damaged[end as usize - 2] ^= 1;
            match read(&damaged) {
                Err(trouble) => {
                    assert_eq!(trouble.kind(), "invalid", "{trouble}");
                    found += usize::from(trouble.to_string().contains("checksum"));
                }
                // The mark of the end of a compressed array may be damaged behind all its elements.
                Ok(a) => assert_eq!(numbers(a.to_dense()), numbers(read(&file).unwrap().to_dense())),
            }
        }
        // Damage to compressed bytes may also break their code.
        assert!(found == 5 || name == "csr_compressed", "{name} {found}");
    }
    for text in ["", "PK", "not an archive, but long enough to be searched for its end"] {
        let trouble = read(text.as_bytes()).unwrap_err();
        assert!(trouble.to_string().contains("zip archive"), "{trouble}");
    }
    let trouble = npz::load::<_, Float>("/no/such.npz", &device).map(|a: CsrTensor<2>| a).unwrap_err().to_string();
    assert!(trouble.contains("/no/such.npz"), "{trouble}");
    let a = read(&bytes("npz/csr.npz")).unwrap();
    assert_eq!(npz::save("/no/such/folder/a.npz", &a).unwrap_err().kind(), "invalid");
}

#[test]
fn what_the_format_lacks_is_refused() {
    let device = Device::flex();
    let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[0.0, 1.0]], &device));
    let kind = |fill: Fill| npz::to_bytes(&a.clone().with_fill(fill)).unwrap_err().kind();
    assert_eq!(kind(Fill::scalar(2.0)), "fill_mismatch");
    assert_eq!(kind(Fill::Undefined), "undefined_fill");
    assert!(npz::to_bytes(&a.clone().with_fill(Fill::tensor(Tensor::<1>::zeros([1], &device)))).is_ok());
    let hybrid = CooTensor::<2>::from_dense(Tensor::ones([2, 2], &device), 1);
    assert_eq!(npz::to_bytes(&hybrid).unwrap_err().kind(), "shape_mismatch");
    let half = CsrTensor::<2>::zeros([2, 2], (&device, DType::BF16));
    assert_eq!(npz::to_bytes(&half).unwrap_err().kind(), "unsupported_dtype");
}

#[test]
fn a_large_array_is_read_in_parts() {
    let (device, count) = (Device::flex(), 3_000_000usize);
    let values: Vec<u8> = (0..count as u64).flat_map(|k| (k as f64).to_le_bytes()).collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npz");
    std::fs::write(&path, archive(&[("x", array("<f8", &format!("({count},)"), &values))])).unwrap();
    let x: Tensor<1> = Archive::open(&path).unwrap().dense("x", &device).unwrap();
    assert!(x.into_data().as_bytes() == values);

    // Of two arrays, one: its bytes count, each time anew.
    let x = array("<f8", &format!("({count},)"), &values);
    let total = x.len() as u64;
    std::fs::write(&path, archive(&[("before", i64s(&[1, 2])), ("x", x)])).unwrap();
    let mut archive = Archive::open(&path).unwrap();
    for _ in 0..2 {
        let (x, calls) = heard(total, |progress| archive.dense_with::<1, Float>("x", &device, progress));
        assert!(x.unwrap().into_data().as_bytes() == values && calls > 10, "{calls}");
    }
    let silence = &mut |_, _| panic!("there is no such array");
    assert!(archive.dense_with::<1, Float>("y", &device, silence).unwrap_err().to_string().contains("y.npy"));

    let indices = Tensor::<1, Int>::arange(0..count as i64, &device).reshape::<2, _>([1, count]);
    let indices = Tensor::cat(vec![indices.zeros_like(), indices], 0);
    let a = CooTensor::<2>::new(indices, Tensor::<1>::ones([count], &device), [1, count]).unwrap();
    npz::save(&path, &a).unwrap();
    let total = std::fs::metadata(&path).unwrap().len();
    let mut archive = Archive::open(&path).unwrap();
    for _ in 0..2 {
        let (b, calls) = heard(total, |progress| archive.sparse_with(&device, progress));
        let b: CooTensor<2> = b.unwrap();
        assert_eq!(b.indices().into_data(), a.indices().into_data());
        assert!(calls > 10, "{calls}");
    }
    let (b, _) = heard(total, |progress| npz::load_with(&path, &device, progress));
    let b: CooTensor<2> = b.unwrap();
    assert_eq!(b.indices().into_data(), a.indices().into_data());
}

proptest! {
    #[test]
    fn edited_archives_survive(
        name in prop::sample::select(vec!["csr", "csr_compressed", "csc", "coo", "bsr", "coords", "big_endian"]),
        edits in prop::collection::vec((any::<usize>(), any::<u8>(), 0u8..4), 1..5),
    ) {
        let file = edited(&bytes(&format!("npz/{name}.npz")), &edits);
        let _ = npz::from_bytes::<_, Float>(&file, &Device::flex()).map(|a: CsrTensor<2>| a);
        let _ = npz::from_bytes::<_, Int>(&file, &Device::flex()).map(|a: CooTensor<2, Int>| a);
    }

    #[test]
    fn edited_arrays_survive(
        part in 0usize..5, edits in prop::collection::vec((any::<usize>(), any::<u8>(), 0u8..4), 1..4),
    ) {
        // The checksums are right, so the arrays themselves are read.
        let mut parts = csr_parts();
        parts[part].1 = edited(&parts[part].1, &edits);
        let result = npz::from_bytes::<_, Float>(&archive(&parts), &Device::flex()).map(|a: CsrTensor<2>| a);
        if let Ok(a) = result {
            prop_assert_eq!(a.values::<1>().dims(), [a.nnz()]);
        }
    }

    #[test]
    fn round_trips(
        cells in prop::collection::vec((0i64..5, 0i64..4, any::<f64>()), 0..20), compressed in any::<bool>(),
    ) {
        let device = Device::flex();
        let nnz = cells.len();
        let ends = cells.iter().map(|cell| cell.0).chain(cells.iter().map(|cell| cell.1)).collect();
        let indices = Tensor::<2, Int>::from_data(TensorData::new::<i64, _>(ends, [2, nnz]), (&device, DType::I64));
        let data = TensorData::new(cells.iter().map(|cell| cell.2).collect::<Vec<f64>>(), [nnz]);
        let values = Tensor::<1>::from_data(data.clone(), (&device, DType::F64));
        let a = CooTensor::<2>::new(indices, values, [5, 4]).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npz");
        if compressed { npz::save_compressed(&path, &a).unwrap() } else { npz::save(&path, &a).unwrap() }
        let b: CooTensor<2> = npz::load(&path, &device).unwrap();
        prop_assert_eq!(b.indices().into_data(), a.indices().into_data());
        prop_assert!(b.values::<1>().into_data().as_bytes() == data.as_bytes());
        let c: CsrTensor<2> = npz::load(&path, &device).unwrap();
        prop_assert_eq!(c.col_idx().into_data(), a.to_csr().col_idx().into_data());
    }
}
