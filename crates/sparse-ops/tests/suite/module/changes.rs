//! Other patterns for a parameter, and the optimiser's state.

use super::{csr, hybrid};
use burn::module::{Lora, Module, Param, ParamId};
use burn::optim::momentum::MomentumConfig;
use burn::optim::{AdafactorConfig, AdamConfig, AdamWConfig, GradientsParams, ModuleOptimizer, SgdConfig};
use burn::tensor::{Device, Int, Tensor};
use burn_pack::Reader;
use sparse_tensor::module::{CooParam, CsrParam, carry_state};
use sparse_tensor::pattern::{CooPattern, CsrPattern, Pattern};
use sparse_tensor::{CsrTensor, Fill};
use std::collections::BTreeMap;

fn list<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().iter().collect()
}

/// `[[0, 1, 1], [1, 0, 0], [0, 1, 0]]` as a pattern: of `csr` it drops (0, 0), keeps (0, 2) and (2, 1), adds two.
fn grown(device: &Device) -> CsrPattern {
    let dense = [[0.0, 1.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
    CsrTensor::<2>::from_dense(Tensor::from_floats(dense, &device.clone().inner())).pattern().clone()
}

fn indices(change: &sparse_tensor::module::PatternChange) -> Vec<i64> {
    change.index_map().into_data().iter().collect()
}

#[test]
fn elements_that_stay_keep_their_values() {
    let device = Device::flex().autodiff();
    let weight = CsrParam::from_tensor(csr(&device).with_fill(Fill::scalar(0.5)));
    let (new, change) = weight.clone().replace_pattern(grown(&device));
    assert_eq!(list(new.val().values::<1>()), [0.5, 2.0, 0.5, 3.0]);
    assert_eq!(indices(&change), [3, 1, 3, 2]);
    assert_eq!((change.old_nnz(), change.new_nnz(), change.id()), (3, 4, weight.id()));
    assert_eq!(change.is_new().into_data().iter::<bool>().collect::<Vec<_>>(), [true, false, true, false]);
    assert_eq!(new.id(), weight.id());
    assert_eq!(new.num_params(), 4);
    let grads = new.val().to_dense().sum().backward();
    assert_eq!(list(new.grad(&grads).unwrap().values::<1>()), [1.0; 4]);
    // A frozen one stays frozen, and validation suspended stays suspended.
    let (frozen, _) = weight.clone().no_grad().replace_pattern(grown(&device));
    assert!(!frozen.val().is_tracked());
    let (valid, _) = weight.clone().valid().replace_pattern(grown(&device));
    assert!(!valid.val().is_tracked() && valid.train().val().is_tracked());
    // The same pattern: nothing happens.
    let own = weight.pattern().clone();
    let (same, change) = weight.clone().replace_pattern(own);
    assert_eq!((list(same.val().values::<1>()), indices(&change)), (vec![1.0, 2.0, 3.0], vec![0, 1, 2]));
}

#[test]
fn new_elements_start_as_given() {
    let device = Device::flex();
    let start = CsrTensor::from_pattern(grown(&device), Tensor::<1>::from_floats([9.0, 8.0, 7.0, 6.0], &device));
    let weight = CsrParam::from_tensor(csr(&device).with_fill(Fill::Undefined));
    let (new, change) = weight.clone().replace_with(&start.unwrap());
    assert_eq!(list(new.val().values::<1>()), [9.0, 2.0, 7.0, 3.0]);
    assert_eq!(indices(&change), [3, 1, 3, 2]);
    assert!(new.fill().is_undefined());
    // From nothing, and to nothing.
    let none = CsrParam::from_tensor(CsrTensor::<2>::zeros([3, 3], &device));
    let (all, _) = none.replace_with(&csr(&device));
    assert_eq!(list(all.val().values::<1>()), [1.0, 2.0, 3.0]);
    let (none, change) = all.replace_with(&CsrTensor::zeros([3, 3], &device));
    assert_eq!((none.nnz(), change.new_nnz()), (0, 0));
    let (none, _) = none.replace_pattern(CsrTensor::<2>::zeros([3, 3], &device).pattern().clone());
    assert_eq!(none.val().to_dense().sum().into_scalar::<f32>(), 0.0);
}

#[test]
fn a_hybrid_pattern_moves_blocks() {
    let device = Device::flex();
    let fill = Fill::tensor(Tensor::<1>::from_floats([-1.0, -2.0], &device));
    let loose = CooParam::from_tensor(hybrid(&device).with_fill(fill.clone()));
    let rows = CooPattern::new(Tensor::<2, Int>::from_ints([[1, 2]], &device), &[4]).unwrap();
    assert_eq!(loose.try_replace_pattern(rows.clone()).unwrap_err().kind(), "invalid");
    let table = CooParam::from_tensor(hybrid(&device).with_fill(fill).coalesce());
    let (table, change) = table.replace_pattern(rows);
    assert_eq!(list(table.val().values::<2>()), [3.0, 4.0, -1.0, -2.0]);
    assert_eq!(indices(&change), [0, 2]);
}

#[test]
fn wrong_patterns_are_errors() {
    let device = Device::flex();
    let weight = || CsrParam::from_tensor(csr(&device));
    let wide = CsrTensor::<2>::zeros([3, 4], &device);
    assert_eq!(weight().try_replace_pattern(wide.pattern().clone()).unwrap_err().kind(), "shape_mismatch");
    assert_eq!(weight().try_replace_with(&wide).unwrap_err().kind(), "shape_mismatch");
    let undefined = CsrParam::from_tensor(csr(&device).with_fill(Fill::Undefined));
    let trouble = undefined.clone().try_replace_pattern(grown(&device)).unwrap_err();
    assert!(trouble.to_string().contains("replace_with"), "{trouble}");
    // Only dropping needs no value.
    let less = CsrTensor::<2>::from_dense(Tensor::from_floats([[1.0, 0.0, 0.0], [0.0; 3], [0.0; 3]], &device));
    assert_eq!(undefined.replace_pattern(less.pattern().clone()).0.nnz(), 1);
    let double = csr(&device).cast(burn::tensor::FloatDType::F64);
    assert_eq!(weight().try_replace_with(&double).unwrap_err().kind(), "dtype_mismatch");
    let adapted = weight().apply_lora(Lora::new(1, 1.0));
    let trouble = adapted.clone().try_replace_pattern(grown(&device)).unwrap_err();
    assert!(trouble.to_string().contains("materialize"), "{trouble}");
    assert_eq!(adapted.materialize().replace_pattern(grown(&device)).0.nnz(), 4);
    #[cfg(feature = "ndarray")]
    {
        let far = grown(&Device::ndarray());
        assert_eq!(weight().try_replace_pattern(far).unwrap_err().kind(), "device_mismatch");
    }
}

#[derive(Module, Debug)]
struct Model {
    weight: CsrParam<2>,
    table: CooParam<2>,
    bias: Param<Tensor<1>>,
}

impl Model {
    fn new(device: &Device) -> Self {
        Self {
            weight: CsrParam::from_tensor(csr(device)),
            table: CooParam::from_tensor(hybrid(device).coalesce()),
            bias: Param::from_data([1.0f32, 2.0, 3.0], device),
        }
    }

    fn step(self, optimizer: &mut ModuleOptimizer) -> Self {
        let x = Tensor::<2>::from_floats([[1.0], [-2.0], [0.5]], &self.bias.device());
        let hidden = self.weight.val().matmul(x).flatten::<1>(0, 1) + self.bias.val();
        let loss = hidden.powi_scalar(2).sum() + self.table.val().to_dense().powi_scalar(3).sum();
        let grads = GradientsParams::from_grads(loss.backward(), &self);
        optimizer.step(0.05, self, grads)
    }
}

/// The tensors of an optimiser's state, by parameter and name.
fn state(optimizer: &ModuleOptimizer) -> BTreeMap<(u64, String), (Vec<usize>, Vec<f32>)> {
    let tensors = Reader::from_bytes(optimizer.into_bytes().unwrap()).unwrap().into_tensors().unwrap();
    tensors
        .into_iter()
        .map(|tensor| {
            let (name, _, shape, id, bytes) = tensor.into_parts().unwrap();
            let numbers = bytes.chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().unwrap())).collect();
            ((id.unwrap(), name), (shape.to_vec(), numbers))
        })
        .collect()
}

fn optimizers() -> Vec<(&'static str, ModuleOptimizer)> {
    let momentum = Some(MomentumConfig::new());
    vec![
        ("SGD, momentum", SgdConfig::new().with_momentum(momentum).init()),
        ("Adam", AdamConfig::new().init()),
        ("AMSGrad", AdamWConfig::new().with_amsgrad(true).init()),
        ("Adafactor", AdafactorConfig::new().init()),
    ]
}

#[test]
fn moments_move_with_their_elements() {
    let device = Device::flex().autodiff();
    let rows = CooPattern::new(Tensor::<2, Int>::from_ints([[0, 1, 2]], &device.clone().inner()), &[4]).unwrap();
    for (name, mut optimizer) in optimizers() {
        let mut model = Model::new(&device);
        for _ in 0..2 {
            model = model.step(&mut optimizer);
        }
        let before = state(&optimizer);
        let (weight, of_weight) = model.weight.replace_pattern(grown(&device));
        let (table, of_table) = model.table.replace_pattern(rows.clone());
        let mut model = Model { weight, table, bias: model.bias };
        let mut carried = carry_state(optimizer.clone(), &[of_weight.clone(), of_table.clone()]).unwrap();
        let after = state(&carried);
        assert_eq!(before.len(), after.len());
        let mut moved = 0;
        for (key, (shape, old)) in &before {
            let (new_shape, new) = &after[key];
            let map = match ParamId::from(key.0) {
                id if id == of_weight.id() => vec![3, 1, 3, 2],
                id if id == of_table.id() => vec![2, 0, 2],
                _ => (0..shape[0]).collect(),
            };
            if key.1.ends_with("column_second_moment") {
                assert_eq!(old, new);
                continue;
            }
            let width = shape.get(1).copied().unwrap_or(1);
            let expected: Vec<f32> = map
                .iter()
                .flat_map(|&from| old.chunks(width).nth(from).map_or(vec![0.0; width], <[f32]>::to_vec))
                .collect();
            assert_eq!(new, &expected, "{name}: {key:?} of {shape:?}");
            assert_eq!(new_shape[1..], shape[1..]);
            moved += usize::from(new_shape != shape);
        }
        assert!(moved >= 2, "{name}");
        // One by one it is the same.
        let singly = of_table.carry(of_weight.carry(optimizer).unwrap()).unwrap();
        assert_eq!(state(&singly), after, "{name}");
        // And it steps on.
        model = model.step(&mut carried);
        assert_eq!((model.weight.nnz(), model.table.nnz()), (4, 3));
    }
}

#[test]
fn the_same_pattern_changes_nothing_in_training() {
    let device = Device::flex().autodiff();
    let (mut a, mut of_a) = (Model::new(&device), AdamConfig::new().init());
    for _ in 0..3 {
        a = a.step(&mut of_a);
    }
    let (mut b, mut of_b) = (a.clone(), of_a.clone());
    // An equal pattern, built again.
    let again = csr(&device.clone().inner()).pattern().clone();
    assert!(!again.is_same(b.weight.pattern()));
    let (weight, change) = b.weight.replace_pattern(again);
    b.weight = weight;
    of_b = change.carry(of_b).unwrap();
    for _ in 0..3 {
        (a, b) = (a.step(&mut of_a), b.step(&mut of_b));
    }
    assert_eq!(list(a.weight.val().values::<1>()), list(b.weight.val().values::<1>()));
    assert_eq!(list(a.bias.val()), list(b.bias.val()));
}

#[test]
fn an_optimiser_without_state_and_a_foreign_one() {
    let device = Device::flex().autodiff();
    let model = Model::new(&device);
    let (weight, change) = model.weight.replace_pattern(grown(&device));
    assert!(state(&change.carry(AdamConfig::new().init()).unwrap()).is_empty());
    // The state of the new pattern is not moved again.
    let mut optimizer = AdamConfig::new().init();
    Model { weight, table: model.table, bias: model.bias }.step(&mut optimizer);
    let trouble = change.carry(optimizer).err().unwrap();
    assert_eq!(trouble.kind(), "length_mismatch");
    assert!(trouble.to_string().contains("must have length 3, got 4"), "{trouble}");
}
