use crate::device::{name, named};
use burn::tensor::{Bool, DType, Device, Int, Tensor, TensorData};
use proptest::prelude::*;
use serde_json::{Value, json};
use sparse_tensor::io::safetensors::{self, Archive};
use sparse_tensor::pattern::Pattern;
use sparse_tensor::{CooTensor, CsrTensor, Fill, FillValue, Kind, SparseError, SparseTensor};

fn here() -> Device {
    named(&name())
}

/// Writes, reads and compares everything, to the bit. `R` is the rank of the values.
fn round<P: Pattern, const D: usize, const R: usize, K: Kind>(a: &SparseTensor<P, D, K>) {
    let bytes = safetensors::to_bytes(a).unwrap();
    // The format's own reader takes it.
    ::safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let b: SparseTensor<P, D, K> = safetensors::from_bytes(&bytes, &a.device()).unwrap();
    assert_eq!((b.dims(), b.nnz(), b.sparse_dims()), (a.dims(), a.nnz(), a.sparse_dims()));
    assert_eq!((b.dtype(), b.is_coalesced(), b.device()), (a.dtype(), a.is_coalesced(), a.device()));
    assert_eq!(b.pattern().index_dtype(), a.pattern().index_dtype());
    assert_eq!(b.pattern().coordinates().to_data(), a.pattern().coordinates().to_data());
    let read = |tensor: &SparseTensor<P, D, K>| tensor.values::<R>().inner().into_data();
    assert_eq!((read(&b).shape(), read(&b).as_bytes()), (read(a).shape(), read(a).as_bytes()));
    match (a.fill(), b.fill()) {
        (Fill::Zero, Fill::Zero) | (Fill::Undefined, Fill::Undefined) => {}
        (Fill::Value(FillValue::Scalar(_)), Fill::Value(FillValue::Scalar(_)))
        | (Fill::Value(FillValue::Block(_)), Fill::Value(FillValue::Block(_))) => {
            assert_eq!(a.fill().to_string(), b.fill().to_string());
        }
        (a, b) => panic!("{a:?} became {b:?}"),
    }
    assert_eq!(safetensors::to_bytes(&b).unwrap(), bytes);
}

/// Every layout with every fill; `data` has 12 elements, `number` is exact in their dtype.
fn layouts<K: Kind>(data: TensorData, number: Fill<K>, device: &Device) {
    let dtype = data.dtype();
    let values = |count: usize| {
        let all = Tensor::<1, K>::from_data(data.clone(), (device, dtype));
        all.narrow(0, 0, count)
    };
    let indices = |data: TensorData| Tensor::<2, Int>::from_data(data, device);
    let flat = CooTensor::<1, K>::new(indices(TensorData::from([[1, 4]])), values(2), [5]).unwrap();
    // Out of order and with a duplicate.
    let places = TensorData::from([[2, 0, 2], [1, 3, 1]]);
    let stray = CooTensor::<2, K>::new(indices(places.clone()), values(3), [3, 4]).unwrap();
    let hybrid = values(12).reshape([3, 2, 2]);
    let hybrid = CooTensor::<4, K>::new(indices(places), hybrid, [3, 4, 2, 2]).unwrap();
    let one = |data: TensorData| Tensor::<1, Int>::from_data(data, device);
    let csr = |pointers: TensorData| (one(pointers), one(TensorData::from([0, 2, 1])), values(3));
    let (row_ptr, col_idx, own) = csr(TensorData::from([0, 2, 2, 3]));
    let plain = CsrTensor::<2, K>::new(row_ptr, col_idx, own, [3, 3]).unwrap();
    let (row_ptr, col_idx, own) = csr(TensorData::from([0, 0, 2, 0, 1, 1]));
    let batch = CsrTensor::<3, K>::new(row_ptr, col_idx, own, [2, 2, 3]).unwrap();
    for fill in [Fill::Zero, Fill::Undefined, number, Fill::tensor(values(1))] {
        round::<_, 1, 1, K>(&flat.clone().with_fill(fill.clone()));
        round::<_, 2, 1, K>(&stray.clone().with_fill(fill.clone()));
        round::<_, 2, 1, K>(&stray.coalesce().with_fill(fill.clone()));
        round::<_, 2, 1, K>(&plain.clone().with_fill(fill.clone()));
        round::<_, 3, 1, K>(&batch.clone().with_fill(fill.clone()));
        if matches!(fill, Fill::Value(FillValue::Block(_))) {
            round::<_, 4, 3, K>(&hybrid.clone().with_fill(Fill::tensor(values(4).reshape([2, 2]))));
            continue;
        }
        round::<_, 4, 3, K>(&hybrid.clone().with_fill(fill));
    }
}

#[test]
fn every_layout_dtype_and_fill() {
    let device = here();
    let numbers: Vec<f64> = (0..12).map(|k| f64::from(k) * 1.25 - 3.0).collect();
    let mut tested = 0;
    for dtype in [DType::F16, DType::BF16, DType::F32, DType::F64] {
        if device.supports_dtype(dtype) {
            layouts::<burn::tensor::Float>(
                TensorData::new(numbers.clone(), [12]).convert_dtype(dtype),
                Fill::scalar(-1.5),
                &device,
            );
            tested += 1;
        }
    }
    for dtype in [DType::I32, DType::I64, DType::U8] {
        if device.supports_dtype(dtype) {
            let data = TensorData::new((0i64..12).map(|k| k * 7 % 12).collect(), [12]).convert_dtype(dtype);
            layouts::<Int>(data, Fill::scalar(9), &device);
            tested += 1;
        }
    }
    layouts::<Bool>(
        TensorData::new((0..12).map(|k| k % 3 == 0).collect::<Vec<bool>>(), [12]),
        Fill::scalar(true),
        &device,
    );
    assert!(tested >= 4, "f32, f64 or f16, i32 and u8 are everywhere");
}

#[test]
fn a_number_of_the_host_is_rounded_as_its_elements_are() {
    let device = here();
    let a = CooTensor::<1>::from_dense(Tensor::from_floats([0.0, 1.0], &device), 0).with_fill(Fill::scalar(0.1));
    let b: CooTensor<1> = safetensors::from_bytes(&safetensors::to_bytes(&a).unwrap(), &device).unwrap();
    assert_eq!(b.to_dense().into_data(), a.to_dense().into_data());
    // One element for a block is written in full.
    let indices = Tensor::<2, Int>::from_data([[1]], &device);
    let a = CooTensor::<2>::new(indices, Tensor::<2>::ones([1, 3], &device), [2, 3]).unwrap();
    let a = a.with_fill(Fill::tensor(Tensor::<1>::from_floats([0.5], &device)));
    let b: CooTensor<2> = safetensors::from_bytes(&safetensors::to_bytes(&a).unwrap(), &device).unwrap();
    assert_eq!(b.to_dense().into_data(), a.to_dense().into_data());
}

#[test]
fn nothing_stored_and_sizes_of_zero() {
    let device = here();
    let nothing = |shape: [usize; 2]| CooTensor::<2>::zeros(shape, (&device, DType::F32));
    for shape in [[0, 0], [0, 3], [3, 0], [2, 3]] {
        for fill in [Fill::Zero, Fill::Undefined, Fill::scalar(2.0)] {
            round::<_, 2, 1, _>(&nothing(shape).with_fill(fill.clone()));
            round::<_, 2, 1, _>(&CsrTensor::<2>::zeros(shape, (&device, DType::F32)).with_fill(fill));
        }
    }
    for shape in [[0, 2, 3], [2, 0, 3], [2, 3, 0], [2, 2, 2]] {
        round::<_, 3, 1, _>(&CsrTensor::<3>::zeros(shape, (&device, DType::F32)));
        round::<_, 3, 1, _>(&CooTensor::<3>::zeros(shape, (&device, DType::F32)));
    }
    // A dense dim of 0, no sparse dims, larger than any dense tensor.
    let indices = Tensor::<2, Int>::from_data([[0, 2]], &device);
    let a = CooTensor::<2>::new(indices.clone(), Tensor::<2>::zeros([2, 0], &device), [3, 0]).unwrap();
    round::<_, 2, 2, _>(&a.with_fill(Fill::tensor(Tensor::<1>::zeros([0], &device))));
    let all = Tensor::<2, Int>::zeros([0, 2], &device);
    round::<_, 1, 2, _>(&CooTensor::<1>::new(all, Tensor::<2>::ones([2, 3], &device), [3]).unwrap());
    if !device.supports_dtype(DType::I64) {
        return;
    }
    let vast = CooTensor::<1>::new(indices, Tensor::<1>::ones([2], &device), [1 << 60]).unwrap();
    assert_eq!(vast.pattern().index_dtype(), DType::I64);
    round::<_, 1, 1, _>(&vast);
}

/// The header and the bytes after it, by the format's own description.
fn opened(bytes: &[u8]) -> (Value, Value, Vec<u8>) {
    let end = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let header: Value = serde_json::from_slice(&bytes[8..end]).unwrap();
    let document = header["__metadata__"]["sparse_tensor"].as_str().unwrap();
    let document = serde_json::from_str(document).unwrap();
    (header, document, bytes[end..].to_vec())
}

#[test]
fn the_file_is_as_documented() {
    let device = Device::flex();
    let ints = |data: TensorData| Tensor::<1, Int>::from_data(data, &device);
    let (row_ptr, col_idx) = (ints(TensorData::from([0, 0, 2, 0, 1, 1])), ints(TensorData::from([0, 2, 1])));
    let values = Tensor::<1>::from_floats([1.0, 2.0, 3.0], &device);
    let a = CsrTensor::<3>::new(row_ptr, col_idx, values, [2, 2, 3]).unwrap().with_fill(Fill::scalar(0.5));
    let (header, document, data) = opened(&safetensors::to_bytes(&a).unwrap());
    let head = json!({"layout": "csr", "shape": [2, 2, 3], "sparse_dims": 3, "coalesced": true, "fill": "value"});
    assert_eq!(document, json!({"version": 1, "tensors": {"": head}}));
    let words = |part: &str| -> Vec<u32> {
        let offsets = &header[part]["data_offsets"];
        let (start, end) = (offsets[0].as_u64().unwrap() as usize, offsets[1].as_u64().unwrap() as usize);
        data[start..end].chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
    };
    assert_eq!((&header["row_ptr"]["dtype"], &header["row_ptr"]["shape"]), (&json!("I32"), &json!([6])));
    assert_eq!((words("row_ptr"), words("col_idx")), (vec![0, 0, 2, 0, 1, 1], vec![0, 2, 1]));
    assert_eq!((&header["values"]["dtype"], &header["values"]["shape"]), (&json!("F32"), &json!([3])));
    assert_eq!(words("values"), [1f32, 2.0, 3.0].map(f32::to_bits));
    assert_eq!((&header["fill"]["shape"], words("fill")), (&json!([]), vec![0.5f32.to_bits()]));

    let mask = CooTensor::<2, Bool>::from_dense(Tensor::from_data([[false, true]], &device), 0);
    let (header, document, data) = opened(&safetensors::to_bytes(&mask.with_fill(Fill::Undefined)).unwrap());
    let head = json!({"layout": "coo", "shape": [1, 2], "sparse_dims": 2, "coalesced": true, "fill": "undefined"});
    assert_eq!(document["tensors"][""], head);
    assert_eq!((&header["indices"]["shape"], &header["values"]["dtype"]), (&json!([2, 1]), &json!("BOOL")));
    assert_eq!(data, [0, 0, 0, 0, 1, 0, 0, 0, 1]);
}

/// A file of these parts, by the format's own description.
fn file(document: &Value, parts: &[(&str, &str, &[usize], Vec<u8>)]) -> Vec<u8> {
    let mut header = json!({"__metadata__": {"sparse_tensor": document.to_string(), "other": "x"}});
    let mut data = Vec::new();
    for (name, dtype, shape, bytes) in parts {
        let offsets = [data.len(), data.len() + bytes.len()];
        header[*name] = json!({"dtype": dtype, "shape": shape, "data_offsets": offsets});
        data.extend(bytes);
    }
    with_header(header.to_string().as_bytes(), &data)
}

fn with_header(header: &[u8], data: &[u8]) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes()[..], header, data].concat()
}

fn i32s(values: &[i32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn i64s(values: &[i64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn f32s(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn one(layout: &str, shape: &[usize], sparse_dims: usize, fill: &str) -> Value {
    let head = json!({"layout": layout, "shape": shape, "sparse_dims": sparse_dims, "fill": fill});
    json!({"version": 1, "tensors": {"": head}})
}

type Parts<'a> = Vec<(&'a str, &'a str, &'a [usize], Vec<u8>)>;

/// What SciPy would write: `[[1, 0, 2], [0, 3, 0]]`.
fn csr_parts<'a>() -> Parts<'a> {
    vec![
        ("row_ptr", "I32", &[3], i32s(&[0, 2, 3])),
        ("col_idx", "I32", &[3], i32s(&[0, 2, 1])),
        ("values", "F32", &[3], f32s(&[1.0, 2.0, 3.0])),
    ]
}

fn coo_parts<'a>() -> Parts<'a> {
    vec![
        ("indices", "I64", &[2, 2], i64s(&[1, 0, 2, 0])),
        ("values", "F32", &[2], f32s(&[1.0, 2.0])),
        ("weights", "F8_E4M3", &[3], vec![1, 2, 3]),
    ]
}

#[test]
fn files_of_others_are_read() {
    let device = here();
    let bytes = file(&one("csr", &[2, 3], 2, "zero"), &csr_parts());
    let a: CsrTensor<2> = safetensors::from_bytes(&bytes, &device).unwrap();
    assert_eq!(a.to_dense().into_data(), TensorData::from([[1f32, 0.0, 2.0], [0.0, 3.0, 0.0]]));
    // 64-bit indices become what the pattern needs; an unknown tensor of a dtype we lack is passed over.
    let bytes = file(&one("coo", &[2, 3], 2, "zero"), &coo_parts());
    let a: CooTensor<2> = safetensors::from_bytes(&bytes, &device).unwrap();
    assert_eq!(a.to_dense().into_data(), TensorData::from([[2f32, 0.0, 0.0], [0.0, 0.0, 1.0]]));
    assert!(!a.is_coalesced());
    assert_eq!(a.pattern().index_dtype(), DType::I32);
    // Coalesced is found out.
    let mut parts = coo_parts();
    parts[0].3 = i64s(&[0, 1, 0, 2]);
    let a: CooTensor<2> =
        safetensors::from_bytes(&file(&one("coo", &[2, 3], 2, "undefined"), &parts), &device).unwrap();
    assert!(a.is_coalesced() && a.fill().is_undefined());
}

fn csr(bytes: &[u8]) -> SparseError {
    safetensors::from_bytes::<_, 2, burn::tensor::Float>(bytes, &here()).map(|a: CsrTensor<2>| a).unwrap_err()
}

fn coo(bytes: &[u8]) -> SparseError {
    safetensors::from_bytes::<_, 2, burn::tensor::Float>(bytes, &here()).map(|a: CooTensor<2>| a).unwrap_err()
}

fn says(trouble: SparseError, kind: &str, parts: &[&str]) {
    let message = trouble.to_string();
    assert_eq!(trouble.kind(), kind, "{message}");
    assert!(message.starts_with("safetensors: "), "{message}");
    assert!(parts.iter().all(|part| message.contains(part)), "{message:?} should name {parts:?}");
}

#[test]
fn what_was_asked_for_must_be_there() {
    let device = here();
    let good = file(&one("csr", &[2, 3], 2, "zero"), &csr_parts());
    says(coo(&good), "layout_mismatch", &["COO", "CSR"]);
    let trouble = safetensors::from_bytes(&good, &device).map(|a: CsrTensor<3>| a).unwrap_err();
    says(trouble, "shape_mismatch", &["rank", "[2, 3]", "[3]"]);
    let trouble = safetensors::from_bytes(&good, &device).map(|a: CsrTensor<2, Int>| a).unwrap_err();
    says(trouble, "dtype_mismatch", &["int", "f32"]);
    let trouble = safetensors::from_bytes(&good, &device).map(|a: CsrTensor<2, Bool>| a).unwrap_err();
    says(trouble, "dtype_mismatch", &["bool", "f32"]);
    let archive = Archive::from_bytes(&good).unwrap();
    let trouble = archive.get("graph", &device).map(|a: CsrTensor<2>| a).unwrap_err();
    says(trouble, "invalid", &["graph", "[\"\"]"]);
    let trouble = safetensors::load("/no/such.safetensors", &device).map(|a: CsrTensor<2>| a).unwrap_err();
    says(trouble, "invalid", &["/no/such.safetensors"]);
    let a: CsrTensor<2> = archive.get("", &device).unwrap();
    says(safetensors::save("/no/such/folder/a.safetensors", &a).unwrap_err(), "invalid", &["/no/such/folder"]);
}

#[cfg(feature = "ndarray")]
#[test]
fn ndarray_has_no_half_precision() {
    let half = CooTensor::<1>::zeros([3], (&Device::flex(), DType::F16));
    let bytes = safetensors::to_bytes(&half).unwrap();
    let trouble = safetensors::from_bytes(&bytes, &named("ndarray")).map(|a: CooTensor<1>| a).unwrap_err();
    says(trouble, "unsupported_dtype", &["f16", "NdArray"]);
}

#[test]
fn what_is_wrong_is_named() {
    let document = one("csr", &[2, 3], 2, "zero");
    let edited = |at: usize, part: (&'static str, &'static str, &'static [usize], Vec<u8>)| {
        let mut parts = csr_parts();
        parts[at] = part;
        csr(&file(&document, &parts))
    };
    says(edited(0, ("row_ptr", "I32", &[3], i32s(&[0, 3, 2]))), "invalid_row_ptr", &["row_ptr"]);
    says(edited(0, ("row_ptr", "I32", &[3], i32s(&[0, 2, 4]))), "invalid_row_ptr", &["row_ptr", "4"]);
    says(edited(0, ("row_ptr", "I32", &[2], i32s(&[0, 3]))), "length_mismatch", &["row_ptr", "3", "2"]);
    says(edited(0, ("row_ptr", "I32", &[3, 1], i32s(&[0, 2, 3]))), "shape_mismatch", &["row_ptr", "[3, 1]"]);
    says(edited(0, ("row_ptr", "F32", &[3], f32s(&[0.0, 2.0, 3.0]))), "unsupported_dtype", &["row_ptr", "f32"]);
    says(edited(0, ("pointers", "I32", &[3], i32s(&[0, 2, 3]))), "invalid", &["`row_ptr`"]);
    says(edited(1, ("col_idx", "I32", &[3], i32s(&[2, 0, 1]))), "unsorted_columns", &["2", "0"]);
    says(edited(1, ("col_idx", "I32", &[3], i32s(&[0, 3, 1]))), "index_out_of_range", &["3"]);
    says(edited(1, ("col_idx", "I64", &[3], i64s(&[0, 1 << 32, 1]))), "index_out_of_range", &["4294967296"]);
    says(edited(1, ("col_idx", "I64", &[3], i64s(&[0, i64::MIN, 1]))), "index_out_of_range", &["-92233720368"]);
    says(edited(2, ("values", "F32", &[2], f32s(&[1.0, 2.0]))), "length_mismatch", &["values", "3", "2"]);
    says(edited(2, ("values", "F32", &[3, 1], f32s(&[1.0, 2.0, 3.0]))), "shape_mismatch", &["values", "[3, 1]"]);
    says(edited(2, ("values", "U16", &[3], vec![0; 6])), "unsupported_dtype", &["values", "u16"]);
    says(edited(2, ("value", "F32", &[3], f32s(&[1.0, 2.0, 3.0]))), "invalid", &["`values`"]);

    let with = |document: &Value| csr(&file(document, &csr_parts()));
    says(with(&json!({"version": 2, "tensors": []})), "invalid", &["version", "1", "2"]);
    says(with(&json!({"tensors": {}})), "invalid", &["version"]);
    says(with(&json!("x")), "invalid", &["metadata"]);
    says(with(&json!({"version": 1, "tensors": {"": {"layout": "csc"}}})), "invalid", &["csc"]);
    says(with(&one("csr", &[2, 3], 2, "one")), "invalid", &["one"]);
    says(with(&one("csr", &[2, 3], 1, "zero")), "shape_mismatch", &["sparse_dims", "[1]"]);
    says(with(&one("csr", &[2, 3], 9, "zero")), "shape_mismatch", &["sparse_dims", "[9]"]);
    says(with(&one("csr", &[2, 3], 2, "value")), "invalid", &["`fill`"]);
    says(with(&one("csr", &[usize::MAX, 3], 2, "zero")), "overflow", &["dimension"]);
    says(with(&one("csr", &[i64::MAX as usize, 3], 2, "zero")), "length_mismatch", &["row_ptr"]);
    let mut negative = document.clone();
    negative["tensors"][""]["shape"] = json!([2, -3]);
    says(with(&negative), "invalid", &["-3"]);

    let filled = |dtype, shape: &'static [usize], bytes| {
        let mut parts = csr_parts();
        parts.push(("fill", dtype, shape, bytes));
        csr(&file(&one("csr", &[2, 3], 2, "value"), &parts))
    };
    says(filled("F64", &[], vec![0; 8]), "dtype_mismatch", &["f32", "f64"]);
    says(filled("F32", &[2], vec![0; 8]), "shape_mismatch", &["fill", "[2]"]);
    says(filled("F32", &[1, 1], vec![0; 4]), "shape_mismatch", &["fill", "[1, 1]"]);

    let document = one("coo", &[2, 3], 2, "zero");
    let edited = |at: usize, part: (&'static str, &'static str, &'static [usize], Vec<u8>)| {
        let mut parts = coo_parts();
        parts[at] = part;
        coo(&file(&document, &parts))
    };
    says(edited(0, ("indices", "I64", &[2, 2], i64s(&[1, 2, 2, 0]))), "index_out_of_range", &["dim 0", "2"]);
    says(edited(0, ("indices", "I32", &[2, 2], i32s(&[1, 0, 2, -1]))), "index_out_of_range", &["dim 1", "-1"]);
    says(edited(0, ("indices", "I64", &[4], i64s(&[1, 0, 2, 0]))), "shape_mismatch", &["indices", "[4]"]);
    says(edited(0, ("indices", "I64", &[2, 3], i64s(&[0; 6]))), "shape_mismatch", &["indices", "[2, 3]"]);
    let mut claims = document.clone();
    claims["tensors"][""]["coalesced"] = json!(true);
    says(coo(&file(&claims, &coo_parts())), "invalid", &["indices", "coalesced"]);
    // Dense dims of a size that no memory has, and elements without a byte.
    let vast = 1 << 40;
    let huge = one("coo", &[1, vast], 1, "zero");
    says(coo(&file(&huge, &coo_parts())), "shape_mismatch", &["values"]);
    says(coo(&file(&one("coo", &[vast, vast], 0, "zero"), &coo_parts())), "overflow", &["dense dims"]);
    let empty: Parts = vec![("indices", "I32", &[0, 1 << 50], vec![]), ("values", "F32", &[1 << 50, 0, 3], vec![])];
    says(coo(&file(&one("coo", &[0, 3], 0, "zero"), &empty)), "overflow", &["blocks"]);
    // A boolean of 2.
    let parts: Parts = vec![("indices", "I32", &[1, 1], i32s(&[0])), ("values", "BOOL", &[1], vec![2])];
    let bytes = file(&one("coo", &[1], 1, "zero"), &parts);
    let trouble = safetensors::from_bytes(&bytes, &here()).map(|a: CooTensor<1, Bool>| a).unwrap_err();
    says(trouble, "invalid", &["values", "2"]);
}

#[test]
fn a_broken_header_is_named() {
    let document = one("csr", &[2, 3], 2, "zero").to_string();
    says(csr(b""), "invalid", &["8 bytes"]);
    says(csr(b"1234567"), "invalid", &["8 bytes"]);
    says(csr(&u64::MAX.to_le_bytes()), "invalid", &["100000000", &u64::MAX.to_string()]);
    says(csr(&99_999_999u64.to_le_bytes()), "invalid", &["header", "99999999", "got 0"]);
    says(csr(&with_header(b"{", b"")), "invalid", &["header"]);
    says(csr(&with_header(b"\xff\xff", b"")), "invalid", &["header"]);
    says(csr(&with_header(b"{}", b"")), "invalid", &["sparse_tensor"]);
    says(csr(&with_header(&[b'['; 100_000], b"")), "invalid", &["header"]);
    let header = |tensors: Value| {
        let mut header = tensors;
        header["__metadata__"] = json!({"sparse_tensor": document});
        csr(&with_header(header.to_string().as_bytes(), b""))
    };
    let info = |dtype, shape: Value, start: u64, end: u64| {
        let offsets = [start, end];
        json!({"dtype": dtype, "shape": shape, "data_offsets": offsets})
    };
    says(header(json!({"values": info("F32", json!([1]), 4, 8)})), "invalid", &["values"]);
    says(header(json!({"values": info("F32", json!([1]), 4, 0)})), "invalid", &["values"]);
    says(header(json!({"values": info("F32", json!([2]), 0, 4)})), "invalid", &["header"]);
    says(header(json!({"values": info("F33", json!([1]), 0, 4)})), "invalid", &["F33"]);
    says(header(json!({"values": info("U8", json!([u64::MAX]), 0, u64::MAX)})), "invalid", &["overflow"]);
    says(header(json!({"values": info("F32", json!([1]), 0, 4)})), "invalid", &["`values`", "4 bytes", "got 0"]);
    // Sizes whose sum is close to the largest there is.
    let most = u64::MAX / 8;
    let mut tensors = json!({});
    let mut end = 0;
    for k in 0..8u32 {
        tensors[format!("t{k}")] = info("U8", json!([most]), end, end + most);
        end += most;
    }
    says(header(tensors), "invalid", &["`t0`"]);
    let good = file(&serde_json::from_str(&document).unwrap(), &csr_parts());
    says(csr(&[&good[..], b"xyz"].concat()), "invalid", &["3 bytes"]);
}

#[test]
fn cut_and_edited_files_survive() {
    let device = here();
    let good =
        [file(&one("csr", &[2, 3], 2, "zero"), &csr_parts()), file(&one("coo", &[2, 3], 2, "zero"), &coo_parts())];
    let open = |bytes: &[u8]| {
        let csr = safetensors::from_bytes(bytes, &device).map(|a: CsrTensor<2>| a.to_string());
        csr.or_else(|_| safetensors::from_bytes(bytes, &device).map(|a: CooTensor<2>| a.to_string()))
    };
    for bytes in good {
        assert!(open(&bytes).is_ok());
        for length in 0..bytes.len() {
            assert_eq!(open(&bytes[..length]).unwrap_err().kind(), "invalid", "{length} bytes");
        }
        for at in 0..bytes.len() {
            for bit in [0x01, 0x04, 0x10, 0x80] {
                let mut edited = bytes.clone();
                edited[at] ^= bit;
                let _ = open(&edited);
            }
        }
    }
}

#[test]
fn several_by_name() {
    let device = here();
    let graph = CsrTensor::<2>::from_dense(Tensor::from_floats([[0.0, 1.0], [2.0, 0.0]], &device));
    let labels = CooTensor::<1, Int>::from_dense(Tensor::from_ints([0, 5, 0], &device), 0).with_fill(Fill::scalar(-1));
    let write = |reverse: bool| {
        let mut archive = Archive::new();
        if reverse {
            archive.insert("labels", &labels).unwrap();
        }
        archive.insert("a.b", &graph).unwrap();
        archive.insert("", &graph).unwrap();
        if !reverse {
            archive.insert("labels", &labels).unwrap();
        }
        says(archive.insert("a.b", &labels).unwrap_err(), "invalid", &["a.b"]);
        archive.to_bytes().unwrap()
    };
    let bytes = write(false);
    assert_eq!(bytes, write(true));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("all.safetensors");
    Archive::from_bytes(&bytes).unwrap().save(&path).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    let archive = Archive::load(&path).unwrap();
    assert_eq!(archive.names().collect::<Vec<_>>(), ["", "a.b", "labels"]);
    let back: CooTensor<1, Int> = archive.get("labels", &device).unwrap();
    assert_eq!(back.to_dense().into_data().convert::<i64>(), TensorData::from([-1i64, 5, -1]));
    for name in ["", "a.b"] {
        let back: CsrTensor<2> = archive.get(name, &device).unwrap();
        assert_eq!(back.to_dense().into_data(), graph.to_dense().into_data());
    }
    let back: CsrTensor<2> = safetensors::load(&path, &device).unwrap();
    assert_eq!(back.to_dense().into_data(), graph.to_dense().into_data());
    says(safetensors::load(&path, &device).map(|a: CooTensor<2>| a).unwrap_err(), "layout_mismatch", &[]);
}

#[test]
fn a_loaded_tensor_is_a_leaf_without_gradients() {
    let device = here().autodiff();
    let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[0.0, 1.0], [2.0, 0.0]], &device)).require_grad();
    let fill = Tensor::<1>::from_floats([0.5], &device).require_grad();
    let bytes = safetensors::to_bytes(&a.clone().with_fill(Fill::tensor(fill))).unwrap();
    let b: CsrTensor<2> = safetensors::from_bytes(&bytes, &device).unwrap();
    assert!(b.device().is_autodiff() && !b.is_tracked() && a.is_tracked());
    let b = b.require_grad();
    let grads = b.to_dense().powi_scalar(2).sum().backward();
    assert_eq!(b.grad(&grads).unwrap().values::<1>().into_data(), TensorData::from([2f32, 4.0]));
    assert!(b.fill_grad(&grads).is_none());
}

/// Any bits of an f32, those of NaN too, at any places, in any order.
fn stored() -> impl Strategy<Value = ([usize; 3], Vec<usize>, Vec<u32>)> {
    prop::array::uniform3(0usize..4).prop_flat_map(|shape| {
        let total: usize = shape.iter().product();
        let count = if total == 0 { 0..1 } else { 0..total + 3 };
        count.prop_flat_map(move |count| {
            let places = prop::collection::vec(0..total.max(1), count);
            (Just(shape), places, prop::collection::vec(any::<u32>(), count))
        })
    })
}

proptest! {
    #[test]
    fn round_trips((shape, places, bits) in stored(), fill in any::<f32>(), pick in 0usize..4) {
        let device = here();
        let nnz = places.len();
        let [_, m, n] = shape;
        let block = Fill::tensor(Tensor::<1>::from_floats([fill], &device));
        let fill = [Fill::Zero, Fill::Undefined, Fill::scalar(fill), block][pick].clone();
        let build = |places: &[usize]| {
            let (m, n) = (m.max(1), n.max(1));
            let along = |axis: usize, at: usize| [at / n / m, at / n % m, at % n][axis];
            let indices = (0..3).flat_map(|axis| places.iter().map(move |&at| along(axis, at) as i32)).collect();
            let indices = Tensor::<2, Int>::from_data(TensorData::new(indices, [3, places.len()]), &device);
            let values: Vec<f32> = bits[..places.len()].iter().map(|&bits| f32::from_bits(bits)).collect();
            let values = Tensor::<1>::from_data(TensorData::new(values, [places.len()]), &device);
            CooTensor::<3>::new(indices, values, shape).unwrap().with_fill(fill.clone())
        };
        round::<_, 3, 1, _>(&build(&places));
        let mut sorted = places.clone();
        sorted.sort_unstable();
        sorted.dedup();
        round::<_, 3, 1, _>(&build(&sorted).to_csr());
        // The same places with a dense dim.
        let blocks = bits.iter().flat_map(|&bits| [f32::from_bits(bits), 1.0]).collect::<Vec<_>>();
        let blocks = Tensor::<2>::from_data(TensorData::new(blocks, [nnz, 2]), &device);
        let [a, b, c] = shape;
        let hybrid = CooTensor::<4>::new(build(&places).indices(), blocks, [a, b, c, 2]).unwrap();
        let fill = if pick == 3 { Fill::tensor(Tensor::<1>::from_floats([1.0, -0.0], &device)) } else { fill };
        round::<_, 4, 2, _>(&hybrid.with_fill(fill));
    }

    #[test]
    fn any_bytes_survive(bytes in prop::collection::vec(any::<u8>(), 0..200), json in any::<bool>()) {
        let bytes = if json { with_header(&bytes, b"") } else { bytes };
        prop_assert_eq!(csr(&bytes).kind(), "invalid");
    }

    #[test]
    fn any_arrays_survive(
        pointers in prop::collection::vec(-2i64..6, 0..6), columns in prop::collection::vec(-2i64..6, 0..6),
        shape in prop::collection::vec(0usize..4, 0..4), rows in 0usize..3,
    ) {
        let device = here();
        let (own, nnz) = ([pointers.len()], [columns.len()]);
        let parts: Parts = vec![
            ("row_ptr", "I64", &own, i64s(&pointers)),
            ("col_idx", "I64", &nnz, i64s(&columns)),
            ("values", "U8", &nnz, vec![7; columns.len()]),
        ];
        let bytes = file(&one("csr", &shape, shape.len(), "zero"), &parts);
        if let Ok(a) = safetensors::from_bytes(&bytes, &device).map(|a: CsrTensor<2, Int>| a) {
            prop_assert_eq!(a.dims().to_vec(), shape.clone());
            let _ = a.to_dense().into_data();
        }
        let _ = safetensors::from_bytes(&bytes, &device).map(|a: CsrTensor<3, Int>| a.to_dense().into_data());
        let count = columns.len() / rows.max(1);
        let (sizes, flat) = ([rows, count], [count]);
        let indices = columns[..rows * count].to_vec();
        let parts: Parts = vec![("indices", "I64", &sizes, i64s(&indices)), ("values", "U8", &flat, vec![7; count])];
        let bytes = file(&one("coo", &shape, rows, "zero"), &parts);
        let _ = safetensors::from_bytes(&bytes, &device).map(|a: CooTensor<1, Int>| a.to_dense().into_data());
        let _ = safetensors::from_bytes(&bytes, &device).map(|a: CooTensor<2, Int>| a.to_dense().into_data());
    }
}
