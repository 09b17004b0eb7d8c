//! Files that are wrong, cut or edited, and those that hold something else than was asked for.

use super::{Parts, coo_parts, csr_parts, f32s, file, here, i32s, i64s, one, says, with_header};
use burn::tensor::{Bool, DType, Device, Int};
use proptest::prelude::*;
use serde_json::{Value, json};
use sparse_dev::device::cpus;
use sparse_tensor::io::safetensors::{self, Archive};
use sparse_tensor::{CooTensor, CsrTensor, SparseError};

fn csr(bytes: &[u8]) -> SparseError {
    safetensors::from_bytes::<_, 2, burn::tensor::Float>(bytes, &here()).map(|a: CsrTensor<2>| a).unwrap_err()
}

fn coo(bytes: &[u8]) -> SparseError {
    safetensors::from_bytes::<_, 2, burn::tensor::Float>(bytes, &here()).map(|a: CooTensor<2>| a).unwrap_err()
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

/// Of the CPU backends NdArray has none.
#[test]
fn a_device_without_half_precision_is_named() {
    let half = CooTensor::<1>::zeros([3], (&Device::flex(), DType::F16));
    let bytes = safetensors::to_bytes(&half).unwrap();
    for device in cpus().into_iter().filter(|device| !device.supports_dtype(DType::F16)) {
        let trouble = safetensors::from_bytes(&bytes, &device).map(|a: CooTensor<1>| a).unwrap_err();
        says(trouble, "unsupported_dtype", &["f16", "NdArray"]);
    }
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

proptest! {
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
