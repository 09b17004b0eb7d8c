//! Sparse tensors in Burn modules.

mod changes;
mod linear;
mod records;
mod training;

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param, ParamGroup, ParamId, list_param_ids};
use burn::tensor::{Bool, DType, Device, FloatDType, Int, Tensor, TensorData};
use sparse_tensor::module::{CooParam, CsrParam, SparseParam};
use sparse_tensor::pattern::Pattern;
use sparse_tensor::{CooTensor, CsrTensor, Fill, SparseTensor};

/// `[[1, 0, 2], [0, 0, 0], [0, 3, 0]]`.
pub fn csr(device: &Device) -> CsrTensor<2> {
    CsrTensor::from_dense(Tensor::from_floats([[1.0, 0.0, 2.0], [0.0, 0.0, 0.0], [0.0, 3.0, 0.0]], device))
}

/// Shape `[4, 2]`, of which the last dim is dense: rows 3 and 1, in this order.
pub fn hybrid(device: &Device) -> CooTensor<2> {
    let indices = Tensor::<2, Int>::from_ints([[3, 1]], &device.clone().inner());
    CooTensor::new(indices, Tensor::<2>::from_floats([[1.0, 2.0], [3.0, 4.0]], device), [4, 2]).unwrap()
}

/// A batch of two matrices `[2, 3]` with 3 and 1 elements.
pub fn batch(device: &Device) -> CsrTensor<3> {
    CsrTensor::from_dense(Tensor::from_floats(
        [[[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]], [[0.0, 0.0, 0.0], [4.0, 0.0, 0.0]]],
        device,
    ))
}

/// Every kind of field: two layouts, hybrid and batched, in containers, and constants of each kind.
#[derive(Module, Debug)]
pub struct Net {
    pub weight: CsrParam<2>,
    pub table: CooParam<2>,
    pub heads: Vec<CsrParam<3>>,
    pub gate: Option<CooParam<1>>,
    pub bias: Param<Tensor<1>>,
    pub adjacency: CsrTensor<2>,
    pub mask: CooTensor<2, Bool>,
    pub counts: CsrTensor<2, Int>,
}

impl Net {
    pub fn new(device: &Device) -> Self {
        let gate = CooTensor::<1>::from_dense(Tensor::from_floats([0.0, 0.5, 0.0, 0.25], device), 0);
        Self {
            weight: CsrParam::from_tensor(csr(device).with_fill(Fill::scalar(0.5))),
            table: CooParam::from_tensor(hybrid(device).with_fill(Fill::Undefined)),
            heads: vec![CsrParam::from_tensor(batch(device))],
            gate: Some(CooParam::from_tensor(gate)),
            bias: Param::from_data([0.0f32, 0.0, 0.0], device),
            adjacency: csr(device),
            mask: CooTensor::from_dense(Tensor::<2, Bool>::from_data([[true, false], [false, true]], device), 0),
            counts: CsrTensor::from_dense(Tensor::<2, Int>::from_data([[1, 0], [0, 2]], device)),
        }
    }

    /// A loss in which every value of every parameter counts.
    pub fn loss(&self, device: &Device) -> Tensor<1> {
        let x = Tensor::<2>::from_floats([[1.0, 2.0], [3.0, -1.0], [0.5, 2.0]], device);
        let hidden = self.adjacency.matmul(self.weight.val().matmul(x)) + self.bias.val().unsqueeze_dim::<2>(1);
        let table = self.table.val().values::<2>().powi_scalar(2).sum();
        let heads = self.heads[0].val().matmul(Tensor::<3>::ones([2, 3, 2], device)).powi_scalar(2).sum();
        let gate = self.gate.as_ref().map(|gate| gate.val().to_dense().powi_scalar(2).sum());
        let loss = hidden.powi_scalar(2).sum() + table + heads;
        gate.into_iter().fold(loss, |loss, gate| loss + gate)
    }
}

pub fn bits<P: Pattern, const D: usize>(tensor: &SparseTensor<P, D>) -> (Vec<i64>, TensorData, String) {
    let coordinates = tensor.pattern().coordinates().clone().into_data().iter::<i64>().collect();
    let values: TensorData = match tensor.dense_dims() {
        0 => tensor.values::<1>().into_data(),
        _ => tensor.values::<2>().into_data(),
    };
    (coordinates, values, tensor.fill().to_string())
}

#[test]
fn the_stored_values_are_counted() {
    let net = Net::new(&Device::flex());
    assert_eq!(net.weight.num_params(), 3);
    assert_eq!(net.table.num_params(), 4);
    assert_eq!(net.num_params(), 3 + 4 + 4 + 2 + 3);
}

#[test]
fn a_module_shows_layout_shape_and_nnz() {
    let device = Device::flex();
    let shown = Net::new(&device).to_string();
    for line in [
        "weight: SparseParam {layout: CSR, shape: [3, 3], nnz: 3, dtype: f32, fill: 0.5}",
        "table: SparseParam {layout: COO, shape: [4, 2], nnz: 2, dtype: f32, fill: undefined}",
        "0: SparseParam {layout: CSR, shape: [2, 2, 3], nnz: 4, dtype: f32}",
        "gate: SparseParam {layout: COO, shape: [4], nnz: 2, dtype: f32}",
        "adjacency: SparseTensor {layout: CSR, shape: [3, 3], nnz: 3, dtype: f32}",
        "mask: SparseTensor {layout: COO, shape: [2, 2], nnz: 2, dtype: bool}",
        "params: 16",
    ] {
        assert!(shown.contains(line), "{line} must be in\n{shown}");
    }
    let filled = CooParam::from_tensor(hybrid(&device).with_fill(Fill::tensor(Tensor::<1>::ones([2], &device))));
    let expected = "SparseParam {layout: COO, shape: [4, 2], nnz: 2, dtype: f32, fill: a tensor, id: ";
    assert!(filled.to_string().starts_with(expected), "{filled}");
    assert_eq!(format!("{filled:?}"), filled.to_string());
}

#[test]
fn constants_are_neither_visited_nor_optimised() {
    #[derive(Module, Debug)]
    struct Constants {
        adjacency: CsrTensor<2>,
        mask: CooTensor<2, Bool>,
    }
    let device = Device::flex();
    let net = Net::new(&device);
    let constants = Constants { adjacency: net.adjacency, mask: net.mask };
    assert_eq!(constants.num_params(), 0);
    assert!(list_param_ids(&constants).is_empty());
    assert!(constants.clone().into_record().is_empty());
    assert_eq!(constants.devices(), [device]);
}

#[test]
fn fork_and_to_device_move_everything_and_keep_what_is_there() {
    let device = Device::flex().autodiff();
    let net = Net::new(&device);
    assert_eq!(net.devices().len(), 1);
    let before = net.clone();
    for moved in [net.clone().fork(&device), net.to_device(&device)] {
        assert_eq!(bits(&moved.weight.val()), bits(&before.weight.val()));
        assert_eq!(bits(&moved.table.val()), bits(&before.table.val()));
        assert!(moved.weight.pattern().is_same(before.weight.pattern()), "the pattern of the device is kept");
        assert!(moved.adjacency.pattern().is_same(before.adjacency.pattern()));
        assert_eq!(moved.weight.id(), before.weight.id());
    }
    // As in Burn, a fork is trained on its own, and the gradient of a moved module reaches the one that was moved.
    for (moved, own) in [(before.clone().fork(&device), true), (before.clone().to_device(&device), false)] {
        let grads = moved.loss(&device).backward();
        assert_eq!(moved.weight.grad(&grads).is_some(), own);
        assert_eq!(before.weight.grad(&grads).is_some(), !own);
    }
}

#[cfg(feature = "ndarray")]
#[test]
fn modules_move_between_backends() {
    let (from, to) = (Device::flex().autodiff(), Device::ndarray());
    let net = Net::new(&from);
    let fill = CooParam::from_tensor(hybrid(&from).with_fill(Fill::tensor(Tensor::<1>::ones([2], &from))));
    for (moved, fill) in [(net.clone().fork(&to), fill.clone().fork(&to)), (net.to_device(&to), fill.to_device(&to))] {
        assert_eq!(moved.devices(), std::slice::from_ref(&to));
        assert_eq!(moved.weight.pattern().device(), to);
        assert_eq!(fill.val().to_dense().device().inner(), to);
        let sum = moved.valid().adjacency.to_dense().sum().into_scalar::<f32>();
        assert_eq!(sum, 6.0);
    }
}

#[test]
fn valid_and_train_take_the_tape_away_and_give_it_back() {
    let device = Device::flex().autodiff();
    let net = Net::new(&device);
    assert!(net.weight.val().is_tracked());
    let valid = net.valid();
    assert!(!valid.weight.val().is_tracked() && !valid.weight.device().is_autodiff());
    assert!(!valid.adjacency.device().is_autodiff());
    assert_eq!(bits(&valid.weight.val()), bits(&net.weight.val()));
    assert_eq!(
        valid.loss(&Device::flex()).into_data(),
        net.loss(&device).inner().into_data(),
        "the same numbers without the tape"
    );
    let train = valid.train();
    assert!(train.weight.val().is_tracked() && train.adjacency.device().is_autodiff());
    assert_eq!(train.weight.id(), net.weight.id());
    assert!(train.weight.pattern().is_same(net.weight.pattern()));
    let grads = train.loss(&device).backward();
    assert_eq!(train.weight.grad(&grads).unwrap().nnz(), 3);
    assert_eq!(train.clone().materialize().num_params(), net.num_params());
}

#[test]
fn gradients_are_turned_off_and_on() {
    let device = Device::flex().autodiff();
    let net = Net::new(&device).no_grad();
    assert!(!net.weight.val().is_tracked() && !net.table.val().is_tracked());
    let net = net.set_require_grad(true);
    assert!(net.weight.val().is_tracked() && net.table.val().is_tracked());
    let group = ParamGroup::from_ids(vec![net.weight.id()]);
    let net = net.freeze_group(group);
    assert!(!net.weight.val().is_tracked() && net.table.val().is_tracked());
    // What is frozen stays so through validation.
    let net = net.valid().train();
    assert!(!net.weight.val().is_tracked() && net.table.val().is_tracked());
}

/// Counts what a visitor sees, by path.
#[derive(Default)]
struct Seen {
    path: Vec<String>,
    floats: Vec<(String, ParamId, Vec<usize>)>,
    ints: Vec<(String, ParamId)>,
}

impl ModuleVisitor for Seen {
    fn enter_module(&mut self, name: &str, _container_type: &str) {
        self.path.push(name.into());
    }
    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.path.pop();
    }
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        self.floats.push((self.path.join("."), param.id, param.lazy_shape().to_vec()));
    }
    fn visit_int<const D: usize>(&mut self, param: &Param<Tensor<D, Int>>) {
        assert!(!param.is_initialized(), "an entry of a record is made when it is asked for");
        self.ints.push((self.path.join("."), param.id));
    }
}

#[test]
fn visitors_see_the_values_by_id_and_the_pattern_for_records() {
    let net = Net::new(&Device::flex());
    let mut seen = Seen::default();
    net.visit(&mut seen);
    let weight = net.weight.id();
    assert!(seen.floats.contains(&("weight.values".into(), weight, vec![3, 1])));
    assert!(seen.floats.contains(&("table.values".into(), net.table.id(), vec![2, 2])));
    let of_weight: Vec<&str> = seen.ints.iter().filter(|seen| seen.1 == weight).map(|seen| &seen.0[..]).collect();
    assert_eq!(of_weight, ["weight.layout", "weight.shape", "weight.row_ptr", "weight.col_idx", "weight.fill"]);
    assert!(seen.ints.iter().any(|seen| seen.0 == "table.indices"));
    assert!(seen.ints.iter().any(|seen| seen.0 == "heads.0.row_ptr"));
    let mut ids = list_param_ids(&net);
    ids.dedup();
    assert_eq!(ids.len(), 5, "one id for each parameter");
}

/// Doubles the parameter with an id, and casts all to another dtype.
struct Doubled(ParamId, Option<FloatDType>);

impl ModuleMapper for Doubled {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let factor = if param.id == self.0 { 2.0 } else { 1.0 };
        param.map(|values| match self.1 {
            None => values.mul_scalar(factor),
            Some(dtype) => values.mul_scalar(factor).cast(dtype),
        })
    }
    /// Reads every Int entry and puts it back.
    fn map_int<const D: usize>(&mut self, param: Param<Tensor<D, Int>>) -> Param<Tensor<D, Int>> {
        param.map(|numbers| numbers)
    }
}

#[test]
fn mappers_change_values_by_id() {
    let device = Device::flex();
    let net = Net::new(&device);
    let doubled = net.clone().map(&mut Doubled(net.weight.id(), None));
    assert_eq!(doubled.weight.val().values::<1>().into_data(), TensorData::from([2.0f32, 4.0, 6.0]));
    assert_eq!(bits(&doubled.table.val()), bits(&net.table.val()));
    assert!(doubled.weight.pattern().is_same(net.weight.pattern()), "an equal pattern is kept");
    assert_eq!(doubled.weight.val().fill().to_string(), "0.5");
    // The fill follows the values to another dtype.
    let fill = Fill::tensor(Tensor::<1>::from_floats([0.1, 0.2], &device));
    let table = CooParam::from_tensor(hybrid(&device).with_fill(fill));
    let wide = Module::map(table, &mut Doubled(ParamId::new(), Some(FloatDType::F64)));
    assert_eq!(wide.val().dtype(), DType::F64);
    assert_eq!(wide.val().to_dense().dtype(), DType::F64);
}

#[test]
fn a_function_changes_the_values_and_not_what_is_trained() {
    let device = Device::flex().autodiff();
    let weight = CsrParam::from_tensor(csr(&device));
    let id = weight.id();
    let weight = weight.map(|rows| rows.mul_scalar(3.0));
    assert_eq!(weight.id(), id);
    assert_eq!(weight.val().values::<1>().into_data(), TensorData::from([3.0f32, 6.0, 9.0]));
    let grads = weight.val().to_dense().sum().backward();
    assert!(weight.grad(&grads).is_some(), "a leaf again");
    // Rows of the plain device, and a frozen parameter.
    let weight = weight.map(|rows| rows.inner().zeros_like());
    assert!(weight.val().is_tracked());
    let frozen = weight.no_grad().map(|rows| rows.add_scalar(1.0));
    assert!(!frozen.val().is_tracked());
    // Validation suspends the tape; the function does not change what `train` restores.
    let valid = CsrParam::from_tensor(csr(&device)).valid();
    assert!(SparseParam::map(valid, |rows| rows.add_scalar(1.0)).train().val().is_tracked());
    let weight = CsrParam::from_tensor(csr(&device));
    assert_eq!(weight.clone().try_map(|rows| rows.narrow(0, 0, 1)).unwrap_err().kind(), "shape_mismatch");
    assert_eq!(weight.try_map(|rows| rows.cast(FloatDType::F64)).unwrap_err().kind(), "dtype_mismatch");
}

#[test]
fn a_gradient_with_checkpointing_reaches_the_values() {
    let device = Device::flex().autodiff().gradient_checkpointing();
    let weight = CsrParam::from_tensor(csr(&device)).map(|rows| rows.inner().add_scalar(1.0));
    let x = Tensor::<2>::ones([3, 2], &device);
    let grads = weight.val().matmul(x.clone() * x).sum().backward();
    let grad = weight.grad(&grads).unwrap().values::<1>().into_data();
    assert_eq!(grad, TensorData::from([2.0f32, 2.0, 2.0]));
}
