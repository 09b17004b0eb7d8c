//! Records of modules with sparse parameters.

use super::{Net, batch, bits, csr, hybrid};
use burn::module::{Lora, Module, ParamGroup, Quantizer};
use burn::optim::{AdamConfig, GradientsParams};
use burn::store::{ModuleRecord, RecordError};
use burn::tensor::quantization::{Calibration, QuantValue};
use burn::tensor::{Bytes, DType, Device, FloatDType, Int, Shape, Tensor, TensorData};
use burn_pack::{Reader, Writer};
use sparse_tensor::module::{CooParam, CsrParam};
use sparse_tensor::pattern::Pattern;
use sparse_tensor::{CooTensor, CsrTensor, Fill};

/// Same shapes as [`Net`], other patterns (of `weight` with as many elements), values and fills.
fn other(device: &Device) -> Net {
    let mut net = Net::new(device);
    let dense = Tensor::<2>::from_floats([[0.0, 7.0, 0.0], [8.0, 0.0, 0.0], [0.0, 0.0, 9.0]], device);
    net.weight = CsrParam::from_tensor(CsrTensor::from_dense(dense).with_fill(Fill::scalar(-2.0)));
    let table = CooTensor::from_dense(Tensor::<2>::ones([4, 2], device), 1);
    net.table = CooParam::from_tensor(table.with_fill(Fill::tensor(Tensor::<1>::ones([2], device))));
    net.heads = vec![CsrParam::from_tensor(CsrTensor::from_dense(Tensor::<3>::ones([2, 2, 3], device)))];
    net.gate = Some(CooParam::from_tensor(CooTensor::<1>::zeros([4], device)));
    net
}

fn same(a: &Net, b: &Net) {
    assert_eq!(bits(&a.weight.val()), bits(&b.weight.val()));
    assert_eq!(bits(&a.table.val()), bits(&b.table.val()));
    assert_eq!(bits(&a.heads[0].val()), bits(&b.heads[0].val()));
    assert_eq!(bits(&a.gate.as_ref().unwrap().val()), bits(&b.gate.as_ref().unwrap().val()));
    assert_eq!(a.weight.id(), b.weight.id());
    assert_eq!(a.table.id(), b.table.id());
    assert_eq!(a.table.val().is_coalesced(), b.table.val().is_coalesced());
}

#[test]
fn a_file_restores_pattern_fill_and_values_to_the_bit() {
    let device = Device::flex().autodiff();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("net.bpk");
    let (saved, fresh) = (Net::new(&device), other(&device));
    assert_eq!(saved.weight.nnz(), fresh.weight.nnz());
    saved.clone().save_file(&path).unwrap();
    let loaded = fresh.try_load_file(&path).unwrap();
    same(&loaded, &saved);
    assert_eq!(loaded.loss(&device).into_data(), saved.loss(&device).into_data());
    // It trains on the restored pattern.
    let grads = loaded.loss(&device).backward();
    assert_eq!(loaded.weight.grad(&grads).unwrap().col_idx().into_data(), saved.weight.val().col_idx().into_data());
    assert!(loaded.gate.unwrap().grad(&grads).is_some());
    // And back: the record of the other one has more elements, and none.
    other(&device).save_file(&path).unwrap();
    let loaded = saved.try_load_file(&path).unwrap();
    let expected = other(&device);
    assert_eq!(bits(&loaded.heads[0].val()), bits(&expected.heads[0].val()));
    assert_eq!(bits(&loaded.table.val()), bits(&expected.table.val()));
    assert_eq!(loaded.gate.unwrap().nnz(), 0);
}

#[test]
fn an_equal_pattern_keeps_what_is_derived_from_it() {
    let device = Device::flex();
    let net = Net::new(&device);
    let loaded = net.clone().load_record(Net::new(&device).into_record());
    assert!(loaded.weight.pattern().is_same(net.weight.pattern()));
    assert!(loaded.table.pattern().is_same(net.table.pattern()));
    assert!(loaded.heads[0].pattern().is_same(net.heads[0].pattern()));
}

#[test]
fn training_goes_on_after_a_load_as_if_it_had_not_stopped() {
    let device = Device::flex().autodiff();
    let step = |net: Net, optimizer: &mut burn::optim::ModuleOptimizer| {
        let grads = GradientsParams::from_grads(net.loss(&device).backward(), &net);
        optimizer.step(0.05, net, grads)
    };
    let (mut net, mut optimizer) = (Net::new(&device), AdamConfig::new().init());
    for _ in 0..3 {
        net = step(net, &mut optimizer);
    }
    let (record, state) = (net.clone().into_record().into_bytes().unwrap(), optimizer.into_bytes().unwrap());
    let mut loaded = other(&device).load_record(ModuleRecord::from_bytes(record).unwrap());
    let mut resumed = AdamConfig::new().init().from_bytes(state).unwrap();
    for _ in 0..3 {
        net = step(net, &mut optimizer);
        loaded = step(loaded, &mut resumed);
    }
    same(&loaded, &net);
}

#[test]
fn fills_are_restored_to_the_bit() {
    let device = Device::flex();
    let numbers = Tensor::<1>::from_floats([-0.0, f32::MIN_POSITIVE / 4.0], &device);
    let fills = [
        Fill::Zero,
        Fill::Undefined,
        Fill::scalar(0.1),
        Fill::scalar(-0.0),
        Fill::scalar(f64::NAN),
        Fill::scalar(f64::NEG_INFINITY),
        Fill::tensor(Tensor::<1>::from_floats([0.3], &device)),
        Fill::tensor(numbers),
    ];
    for from in &fills {
        for to in &fills {
            let saved = CooParam::from_tensor(hybrid(&device).with_fill(from.clone()));
            let fresh = CooParam::from_tensor(hybrid(&device).with_fill(to.clone()));
            let loaded = fresh.load_record(saved.clone().into_record());
            assert_eq!(loaded.fill().to_string(), saved.fill().to_string());
            assert_eq!(loaded.val().fill().is_undefined(), from.is_undefined());
            if !from.is_undefined() {
                let dense = |param: &CooParam<2>| -> Vec<u32> {
                    param.val().to_dense().into_data().iter::<f32>().map(f32::to_bits).collect()
                };
                assert_eq!(dense(&loaded), dense(&saved));
            }
        }
    }
}

#[test]
fn duplicates_and_their_order_are_restored() {
    let device = Device::flex();
    let indices = Tensor::<2, Int>::from_ints([[2, 0, 2], [1, 1, 1]], &device);
    let loose = CooTensor::<2>::new(indices, Tensor::<1>::from_floats([1.0, 2.0, 3.0], &device), [3, 2]).unwrap();
    let saved = CooParam::from_tensor(loose);
    let loaded = CooParam::from_tensor(CooTensor::<2>::zeros([3, 2], &device)).load_record(saved.clone().into_record());
    assert_eq!(bits(&loaded.val()), bits(&saved.val()));
    assert!(!loaded.val().is_coalesced());
}

#[test]
fn dtypes_follow_the_policy_of_the_load() {
    let device = Device::flex();
    let wide = CsrParam::from_tensor(csr(&device).cast(FloatDType::F64).with_fill(Fill::scalar(0.1)));
    let narrow = || CsrParam::from_tensor(CsrTensor::from_dense(Tensor::<2>::ones([3, 3], &device)));
    let record = wide.clone().into_record();
    let loaded = narrow().load_record(record.clone());
    assert_eq!((loaded.dtype(), loaded.nnz()), (DType::F64, 3));
    let loaded = narrow().load_record(record.cast_to_module_dtype());
    assert_eq!((loaded.dtype(), loaded.nnz()), (DType::F32, 3));
    assert_eq!(bits(&loaded.val()).0, bits(&wide.val()).0);
    assert_eq!(loaded.val().to_dense().dtype(), DType::F32);
}

#[test]
fn what_is_trained_is_the_module_s_own_choice() {
    let device = Device::flex().autodiff();
    let record = || CsrParam::from_tensor(csr(&device)).into_record();
    let fresh = || CsrParam::from_tensor(CsrTensor::<2>::from_dense(Tensor::ones([3, 3], &device)));
    assert!(fresh().load_record(record()).val().is_tracked());
    assert!(!fresh().no_grad().load_record(record()).val().is_tracked());
    // Loaded during validation, trained after it.
    let valid = fresh().valid().load_record(record());
    assert!(!valid.val().is_tracked());
    assert!(valid.train().val().is_tracked());
    assert!(!fresh().no_grad().valid().load_record(record()).train().val().is_tracked());
}

#[test]
fn a_group_of_the_id_holds_the_whole_parameter() {
    let device = Device::flex();
    let net = Net::new(&device);
    let group = ParamGroup::from_ids(vec![net.weight.id()]);
    let record = net.clone().into_record_group(group);
    assert_eq!(record.len(), 6);
    let loaded = other(&device).try_load_record(record.allow_partial(true)).unwrap();
    assert_eq!(bits(&loaded.weight.val()), bits(&net.weight.val()));
    assert_eq!(bits(&loaded.table.val()), bits(&other(&device).table.val()), "not in the record");
}

/// The error of a load, which is one even where entries may be missing. Where more entries than that may be left, the
/// parameter is as it was.
fn refused<M: Module>(module: M, record: ModuleRecord, unchanged: impl Fn(&M)) -> String {
    let trouble = module.clone().try_load_record(record.clone()).expect_err("refused");
    let partial = module.clone().try_load_record(record.clone().allow_partial(true));
    assert!(partial.is_err(), "an error even where entries may be missing: {trouble}");
    unchanged(&module.try_load_record(record.allow_partial(true).allow_unused(true).validate(false)).unwrap());
    let RecordError::Validation(text) = trouble else { panic!("{trouble}") };
    text
}

#[test]
fn another_shape_layout_or_rank_is_refused() {
    #[derive(Module, Debug)]
    struct Csr {
        weight: CsrParam<2>,
    }
    #[derive(Module, Debug)]
    struct Coo {
        weight: CooParam<2>,
    }
    #[derive(Module, Debug)]
    struct Batch {
        weight: CsrParam<3>,
    }
    let device = Device::flex();
    let own = || Csr { weight: CsrParam::from_tensor(csr(&device)) };
    let kept = |module: &Csr| assert_eq!(bits(&module.weight.val()), bits(&csr(&device)));
    // As many elements, and as many rows.
    let dense = Tensor::<2>::from_floats([[1.0, 0.0, 2.0, 0.0], [0.0; 4], [0.0, 3.0, 0.0, 0.0]], &device);
    let wide = Csr { weight: CsrParam::from_tensor(CsrTensor::from_dense(dense)) };
    let text = refused(own(), wide.into_record(), kept);
    assert!(text.contains("weight.shape [3, 3] (the record has [3, 4])"), "{text}");
    let coo = Coo { weight: CooParam::from_tensor(csr(&device).to_coo()) };
    let text = refused(own(), coo.clone().into_record(), kept);
    assert!(text.contains("weight.layout CSR (the record has COO)"), "{text}");
    let batch = Batch { weight: CsrParam::from_tensor(batch(&device)) };
    let text = refused(own(), batch.into_record(), kept);
    assert!(text.contains("weight.shape [3, 3] (the record has [2, 2, 3])"), "{text}");
    let rows = CooTensor::<2>::from_dense(csr(&device).to_dense(), 1);
    let rows = Coo { weight: CooParam::from_tensor(rows) };
    let text = refused(coo.clone(), rows.into_record(), |module| {
        assert_eq!(bits(&module.weight.val()), bits(&coo.weight.val()));
    });
    assert!(text.contains("weight.layout of 2 sparse dims (the record has 1)"), "{text}");
    // A record of something else.
    let text = refused(own(), Net::new(&device).bias.into_record(), kept);
    assert!(text.contains("weight.layout"), "{text}");
}

/// A record with an entry replaced by others numbers (of Int, unless it has floats), or left out.
fn forged(record: ModuleRecord, name: &str, data: Option<TensorData>) -> ModuleRecord {
    let reader = Reader::from_bytes(record.into_bytes().unwrap()).unwrap();
    let mut tensors = reader.into_tensors().unwrap();
    let at = tensors.iter().position(|tensor| tensor.name == name).unwrap();
    match data {
        None => {
            tensors.remove(at);
        }
        Some(data) => {
            let id = tensors[at].param_id;
            let (bytes, shape, dtype) = data.into_parts();
            tensors[at] = burn_pack::Tensor::new(name.into(), dtype, shape, id, bytes);
        }
    }
    ModuleRecord::from_bytes(Writer::new(tensors).into_bytes().unwrap()).unwrap()
}

fn layout(numbers: [u64; 7]) -> TensorData {
    let words = numbers.iter().flat_map(|&number| [number as u32 as i32, (number >> 32) as u32 as i32]);
    TensorData::new(words.collect::<Vec<i32>>(), [7, 2])
}

#[test]
fn a_forged_record_is_refused_whole() {
    let device = Device::flex();
    #[derive(Module, Debug)]
    struct Model {
        weight: CsrParam<2>,
    }
    let own = Model { weight: CsrParam::from_tensor(CsrTensor::from_dense(Tensor::<2>::ones([3, 3], &device))) };
    let saved = CsrParam::from_tensor(csr(&device).with_fill(Fill::scalar(0.5)));
    let record = || Model { weight: saved.clone() }.into_record();
    let loaded = own.clone().try_load_record(record()).unwrap();
    assert_eq!(bits(&loaded.weight.val()), bits(&saved.val()));
    let ints = |numbers: &[i64]| Some(TensorData::new(numbers.to_vec(), [numbers.len()]));
    let floats = |count: usize| Some(TensorData::new(vec![1.0f32; count], [count, 1]));
    let huge = 1 << 45;
    for (name, data, expected) in [
        ("layout", None, "weight.values: shape mismatch"),
        ("layout", ints(&[1, 2, 3]), "weight.layout"),
        ("layout", Some(layout([2, 1, 2, 2, 3, 2, 1])), "layout of version 1 (the record has version 2)"),
        ("layout", Some(layout([1, 7, 2, 2, 3, 2, 1])), "layout CSR (the record has number 7)"),
        ("layout", Some(layout([1, 1, huge, 2, 3, 2, 1])), "shape of rank 2 (the record has rank 35184372088832)"),
        ("layout", Some(layout([1, 1, 3, 3, 3, 2, 1])), "weight.shape"),
        ("layout", Some(layout([1, 1, 2, 1, 3, 2, 1])), "layout of 2 sparse dims (the record has 1)"),
        ("layout", Some(layout([1, 1, 2, 2, huge, 2, 1])), "weight.col_idx"),
        ("layout", Some(layout([1, 1, 2, 2, u64::MAX, 2, 1])), "elements"),
        ("layout", Some(layout([1, 1, 2, 2, 2, 2, 1])), "weight.col_idx"),
        ("layout", Some(layout([1, 1, 2, 2, 3, 9, 1])), "fill of 1 or 1 numbers (the record has kind 9 with 1)"),
        ("layout", Some(layout([1, 1, 2, 2, 3, 3, huge])), "fill of 1 or 1 numbers"),
        ("shape", None, "weight.shape"),
        ("row_ptr", ints(&[0, 2, 1, 3]), "pattern that is valid (SparseParam: row_ptr must"),
        ("row_ptr", ints(&[0, 2, 3]), "weight.row_ptr"),
        ("row_ptr", ints(&[0, 2, 2, 4]), "pattern that is valid"),
        ("col_idx", ints(&[2, 0, 1]), "columns must ascend strictly in a row, got 2 and then 0 in row 0"),
        ("col_idx", ints(&[0, 3, 1]), "index along dim 1 must be in [0, 3), got 3 at position 1"),
        ("col_idx", ints(&[0, -1, 1]), "pattern that is valid"),
        ("col_idx", ints(&[0, i64::MAX, 1]), "pattern that is valid"),
        ("col_idx", ints(&[0, 2, 1, 1]), "weight.col_idx"),
        ("col_idx", None, "weight.col_idx"),
        ("fill", None, "weight.fill"),
        ("fill", ints(&[1]), "weight.fill"),
        ("values", None, "weight.values"),
        ("values", floats(2), "weight.values"),
        ("values", floats(4), "weight.values"),
    ] {
        let record = forged(record(), &format!("weight.{name}"), data);
        // Without its values a record is not left with an entry.
        let text = if name == "values" {
            match own.clone().try_load_record(record).err() {
                Some(RecordError::Validation(text)) => text,
                other => panic!("{other:?}"),
            }
        } else {
            refused(own.clone(), record, |model: &Model| {
                // All of the old parameter, or values alone where the record has no pattern at all.
                assert!(model.weight.pattern().is_same(own.weight.pattern()), "{name}");
                assert!(model.weight.fill().is_zero());
            })
        };
        assert!(text.contains(expected), "{name}: {expected:?} must be in {text}");
    }
}

#[test]
fn a_record_without_values_changes_nothing() {
    let device = Device::flex();
    let own = CsrParam::from_tensor(CsrTensor::<2>::from_dense(Tensor::ones([3, 3], &device)));
    let record = forged(CsrParam::from_tensor(csr(&device)).into_record(), "values", None);
    let loaded = own.clone().try_load_record(record.allow_partial(true)).unwrap();
    assert_eq!(bits(&loaded.val()), bits(&own.val()));
}

#[test]
fn adapters_are_recorded_with_their_values() {
    let device = Device::flex().autodiff();
    let rank = |param: CsrParam<2>| param.apply_lora(Lora::new(1, 2.0));
    let (own, fresh) = (CsrParam::from_tensor(csr(&device)), CsrParam::from_tensor(csr(&device).mul_scalar(3.0)));
    let adapted = rank(own.clone());
    assert_eq!(adapted.num_params(), 3 + 3 + 1);
    let values = |param: &CsrParam<2>| param.val().values::<1>().inner().into_data();
    assert_eq!(values(&adapted), values(&own), "adapters start without an effect");
    let loaded = rank(fresh).load_record(adapted.clone().into_record());
    assert_eq!(values(&loaded), values(&adapted));
    // An adapter belongs to the elements of its pattern.
    let full = rank(CsrParam::from_tensor(CsrTensor::from_dense(Tensor::<2>::ones([3, 3], &device))));
    let text = refused(full.clone(), own.into_record(), |kept| assert_eq!(values(kept), values(&full)));
    assert!(text.contains("values without an adapter: the record has another pattern"), "{text}");
}

#[test]
fn quantized_values_are_read_as_floats() {
    let device = Device::flex();
    let scheme = device.settings().quantization.scheme.with_value(QuantValue::Q8S);
    let own = CsrParam::from_tensor(csr(&device));
    let packed = own.clone().quantize_weights(&mut Quantizer::new(Calibration::MinMax, scheme));
    assert!(matches!(packed.dtype(), DType::QFloat(_)));
    let (read, exact) = (packed.val(), own.val());
    assert_eq!(bits(&read).0, bits(&exact).0);
    let pattern = CsrTensor::<2>::zeros([3, 3], &device).pattern().clone();
    assert_eq!(packed.try_replace_pattern(pattern).unwrap_err().kind(), "unsupported_dtype");
    for (a, b) in read.values::<1>().into_data().iter::<f32>().zip(exact.values::<1>().into_data().iter::<f32>()) {
        assert!((a - b).abs() < 0.05, "{a} {b}");
    }
}

#[test]
fn a_file_cut_short_is_an_error() {
    let device = Device::flex();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("net.bpk");
    Net::new(&device).save_file(&path).unwrap();
    let whole = std::fs::read(&path).unwrap();
    let cut = folder.path().join("cut.bpk");
    for length in (0..whole.len()).step_by(97).chain([whole.len() - 1]) {
        std::fs::write(&cut, &whole[..length]).unwrap();
        assert!(other(&device).try_load_file(&cut).is_err(), "{length} of {} bytes", whole.len());
    }
}

#[test]
fn nothing_is_allocated_for_a_declared_length() {
    // Would take 2^45 numbers.
    let device = Device::flex();
    let own = CooParam::from_tensor(hybrid(&device));
    let huge = 1 << 45;
    for policy in [false, true] {
        let record = forged(own.clone().into_record(), "layout", Some(layout([1, 0, 2, 1, huge, 0, 0])));
        let record = if policy { record.cast_to_module_dtype() } else { record };
        let text = refused(own.clone(), record, |kept| assert_eq!(bits(&kept.val()), bits(&own.val())));
        assert!(text.contains("indices: shape mismatch"), "{text}");
    }
    let bytes = Bytes::from_bytes_vec(vec![0; 8]);
    let lie = burn_pack::Tensor::new("values".into(), DType::F32, Shape::from([4, 1]), None, bytes);
    assert!(Writer::new(vec![lie]).into_bytes().is_err());
}
