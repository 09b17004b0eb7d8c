//! Tensors are read as they were written, and files have the documented form.

use super::{coo_parts, csr_parts, file, here, i64s, one, says};
use burn::tensor::{Bool, DType, Device, Int, Tensor, TensorData};
use proptest::prelude::*;
use serde_json::{Value, json};
use sparse_tensor::io::safetensors::{self, Archive};
use sparse_tensor::pattern::Pattern;
use sparse_tensor::{CooTensor, CsrTensor, Fill, FillValue, Kind, SparseTensor};

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
    let heads = CsrTensor::<3, K>::from_pattern(plain.pattern().clone(), values(12).reshape([3, 4])).unwrap();
    for fill in [Fill::Zero, Fill::Undefined, number, Fill::tensor(values(1))] {
        round::<_, 1, 1, K>(&flat.clone().with_fill(fill.clone()));
        round::<_, 2, 1, K>(&stray.clone().with_fill(fill.clone()));
        round::<_, 2, 1, K>(&stray.coalesce().with_fill(fill.clone()));
        round::<_, 2, 1, K>(&plain.clone().with_fill(fill.clone()));
        round::<_, 3, 1, K>(&batch.clone().with_fill(fill.clone()));
        if matches!(fill, Fill::Value(FillValue::Block(_))) {
            round::<_, 4, 3, K>(&hybrid.clone().with_fill(Fill::tensor(values(4).reshape([2, 2]))));
            round::<_, 3, 2, K>(&heads.clone().with_fill(Fill::tensor(values(4))));
            continue;
        }
        round::<_, 4, 3, K>(&hybrid.clone().with_fill(fill.clone()));
        round::<_, 3, 2, K>(&heads.clone().with_fill(fill));
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
}

#[test]
fn a_fill_that_was_read_fits_other_tensors() {
    let device = Device::flex();
    let indices = Tensor::<2, Int>::from_ints([[1]], &device);
    let a = CooTensor::<2>::new(indices, Tensor::<2>::ones([1, 3], &device), [2, 3]).unwrap();
    let filled = a.clone().with_fill(Fill::tensor(Tensor::<1>::from_floats([1.0, 2.0, 3.0], &device)));
    let read: CooTensor<2> = safetensors::from_bytes(&safetensors::to_bytes(&filled).unwrap(), &device).unwrap();
    assert_eq!(a.with_fill(read.fill().clone()).to_dense().into_data(), filled.to_dense().into_data());
}
