//! A case of PyTorch Geometric: `make.py` in `tests/cases/layers` or `tests/cases/graphs` says what is in it.

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::optim::{GradientsParams, SgdConfig};
use burn::tensor::{DType, Device, Gradients, Int, Tensor, TensorData};
use serde_json::Value;
use sparse_tensor::ops::IndexPlan;
use sparse_tensor::{CsrTensor, Result};
use std::collections::BTreeMap;

/// An element type, and how far results may be from PyTorch's: it sums in another order.
type Precision = (DType, f64);
const RATE: f64 = 0.1;
const STEPS: usize = 5;

pub fn device() -> Device {
    Device::flex().autodiff()
}

/// What a layer gets.
pub struct Inputs {
    pub graphs: Vec<CsrTensor<2>>,
    tensors: BTreeMap<String, TensorData>,
    leaves: BTreeMap<String, Tensor<1>>,
    ints: Value,
}

impl Inputs {
    /// Ids of a case, which are no leaves.
    pub fn ints<const D: usize>(&self, name: &str) -> Tensor<D, Int> {
        Tensor::from_data(data(&self.ints[name]).convert::<i64>(), &Device::flex())
    }

    pub fn graph(&self) -> &CsrTensor<2> {
        &self.graphs[0]
    }

    /// An input by its name. It is a leaf of the tape.
    pub fn tensor<const D: usize>(&self, name: &str) -> Tensor<D> {
        let shape: [usize; D] = self.tensors[name].shape().dims();
        self.leaves[name].clone().reshape(shape)
    }

    pub fn has(&self, name: &str) -> bool {
        self.tensors.contains_key(name)
    }

    pub fn x(&self) -> Tensor<2> {
        self.tensor("x")
    }
}

pub fn data(value: &Value) -> TensorData {
    let numbers = |key: &str| value[key].as_array().expect("a list").iter();
    let shape: Vec<usize> = numbers("shape").map(|size| size.as_u64().expect("a size") as usize).collect();
    TensorData::new(numbers("data").map(|x| x.as_f64().expect("a number")).collect::<Vec<f64>>(), shape)
}

fn ints(value: &Value) -> Tensor<1, Int> {
    let list: Vec<i64> = value.as_array().expect("a list").iter().map(|x| x.as_i64().expect("an integer")).collect();
    let length = list.len();
    Tensor::from_data(TensorData::new(list, [length]), &Device::flex())
}

fn graph(value: &Value, device: &Device, dtype: DType) -> CsrTensor<2> {
    let values: Vec<f64> = value["values"].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect();
    let length = values.len();
    let values = Tensor::<1>::from_data(TensorData::new(values, [length]), (device, dtype));
    let shape = [0, 1].map(|dim| value["shape"][dim].as_u64().unwrap() as usize);
    CsrTensor::new(ints(&value["row_ptr"]), ints(&value["col_idx"]), values, shape).unwrap().require_grad()
}

/// A plan of graph ids.
pub fn plan(ids: &[i64], graphs: usize) -> IndexPlan {
    IndexPlan::new(Tensor::from_data(TensorData::new(ids.to_vec(), [ids.len()]), &Device::flex()), graphs).unwrap()
}

/// A case by its name.
pub fn find(id: &str) -> Value {
    let files = [
        "layers/layers.jsonl",
        "graphs/graphs.jsonl",
        "graphs/temporal.jsonl",
        "layers/more.jsonl",
        "layers/typed.jsonl",
        "layers/hetero.jsonl",
        "layers/pooling.jsonl",
    ];
    let lines = files.map(|name| std::fs::read_to_string(sparse_dev::path(&format!("tests/cases/{name}"))).unwrap());
    let lines = lines.concat();
    let line = lines.lines().find(|line| line.starts_with(&format!("{{\"id\":\"{id}\",")));
    serde_json::from_str(line.unwrap_or_else(|| panic!("no case {id}"))).unwrap()
}

/// Replaces parameters by those of a case; the others are cast.
struct Load<'a> {
    path: Vec<String>,
    params: &'a Value,
    dtype: DType,
    used: usize,
}

impl ModuleMapper for Load<'_> {
    fn enter_module(&mut self, name: &str, _container: &str) {
        self.path.push(name.to_string());
    }

    fn exit_module(&mut self, _name: &str, _container: &str) {
        self.path.pop();
    }

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let path = self.path.join(".");
        let (id, value, _) = param.consume();
        let tracked = value.is_require_grad();
        let new = match self.params.get(&path) {
            None => {
                // Buffers of PyTorch.
                assert!(path.contains("running_") || path.ends_with("eps"), "{path} is not in the case");
                value.inner().cast(self.dtype)
            }
            Some(given) => {
                self.used += 1;
                let given = data(given);
                let shape: [usize; D] = value.dims();
                // Some parameters of PyTorch have dims of size 1 around those here.
                assert_eq!(given.num_elements(), shape.iter().product::<usize>(), "{path}");
                let given = TensorData::new(given.into_vec::<f64>().unwrap(), shape);
                Tensor::from_data(given, (&device(), self.dtype)).inner()
            }
        };
        Param::initialized(id, Tensor::from_inner(new).set_require_grad(tracked))
    }
}

/// The parameters by path, or their gradients.
struct Read<'a> {
    path: Vec<String>,
    grads: Option<&'a Gradients>,
    found: BTreeMap<String, Vec<f64>>,
}

impl ModuleVisitor for Read<'_> {
    fn enter_module(&mut self, name: &str, _container: &str) {
        self.path.push(name.to_string());
    }

    fn exit_module(&mut self, _name: &str, _container: &str) {
        self.path.pop();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let value = match self.grads {
            None => Some(param.val().inner()),
            Some(grads) => param.val().grad(grads),
        };
        if let Some(value) = value {
            self.found.insert(self.path.join("."), list(value));
        }
    }
}

fn read(module: &impl Module, grads: Option<&Gradients>) -> BTreeMap<String, Vec<f64>> {
    let mut read = Read { path: vec![], grads, found: BTreeMap::new() };
    module.visit(&mut read);
    read.found
}

fn list<const D: usize>(x: Tensor<D>) -> Vec<f64> {
    x.into_data().convert::<f64>().iter().collect()
}

fn close(what: &str, tolerance: f64, got: &[f64], expected: &Value) {
    let expected = data(expected).into_vec::<f64>().unwrap();
    assert_eq!(got.len(), expected.len(), "{what}");
    for (at, (&got, &expected)) in got.iter().zip(&expected).enumerate() {
        let error = (got - expected).abs() / expected.abs().max(1.0);
        assert!(error < tolerance, "{what}, element {at}: got {got}, expected {expected}");
    }
}

/// A layer against the case `id`: its output, the gradients of its parameters and inputs, and both after five steps.
pub fn check<M: Module>(id: &str, layer: M, forward: impl Fn(&M, &Inputs) -> Tensor<2>) {
    check_in((DType::F64, 1e-9), id, layer, forward);
}

/// [`check`] in another precision.
pub fn check_in<M: Module>(
    (dtype, tolerance): Precision,
    id: &str,
    layer: M,
    forward: impl Fn(&M, &Inputs) -> Tensor<2>,
) {
    let (case, device) = (find(id), device());
    let close = |what: String, got: &[f64], expected: &Value| close(&what, tolerance, got, expected);
    let params = case["params"].as_object().unwrap();
    let mut load = Load { path: vec![], params: &case["params"], dtype, used: 0 };
    let mut layer = layer.map(&mut load);
    assert_eq!(load.used, params.len(), "{id}: the layer has {:?}", read(&layer, None).keys());
    let named = |value: &Value| -> BTreeMap<String, TensorData> {
        value.as_object().unwrap().iter().map(|(key, value)| (key.clone(), data(value))).collect()
    };
    let tensors = named(&case["inputs"]);
    let leaf = |x: &TensorData| {
        let flat = TensorData::new(x.clone().into_vec::<f64>().unwrap(), [x.num_elements()]);
        Tensor::<1>::from_data(flat, (&device, dtype)).require_grad()
    };
    let leaves = tensors.iter().map(|(key, x)| (key.clone(), leaf(x))).collect();
    let graphs = case["graphs"].as_array().unwrap().iter().map(|value| graph(value, &device, dtype)).collect();
    let inputs = Inputs { graphs, tensors, leaves, ints: case["ints"].clone() };
    let goal = data(&case["goal"]);
    let loss = |out: Tensor<2>| {
        let goal = Tensor::<2>::from_data(goal.clone(), (&device, dtype));
        (out - goal).powi_scalar(2).mean()
    };

    let out = forward(&layer, &inputs);
    assert_eq!(out.dims().to_vec(), goal.shape().to_vec(), "{id}");
    close(format!("{id}: output"), &list(out.clone()), &case["out"]);
    let grads = loss(out).backward();
    let mut found = read(&layer, Some(&grads));
    for (name, leaf) in &inputs.leaves {
        found.insert(name.clone(), list(leaf.grad(&grads).unwrap()));
    }
    for (at, graph) in inputs.graphs.iter().enumerate() {
        if let Some(grad) = graph.grad(&grads) {
            found.insert(format!("graphs.{at}"), list(grad.values::<1>()));
        }
    }
    for (name, expected) in case["grads"].as_object().unwrap() {
        let got = found.get(name).unwrap_or_else(|| panic!("{id}: no gradient of {name}"));
        close(format!("{id}: gradient of {name}"), got, expected);
    }

    let Some(trained) = case.get("trained") else { return };
    let mut optimizer = SgdConfig::new().init();
    for _ in 0..STEPS {
        let grads = loss(forward(&layer, &inputs)).backward();
        layer = optimizer.step(RATE, layer.clone(), GradientsParams::from_grads(grads, &layer));
    }
    let found = read(&layer, None);
    for (name, expected) in trained.as_object().unwrap() {
        close(format!("{id}: {name} after training"), &found[name], expected);
    }
    close(format!("{id}: output after training"), &list(forward(&layer, &inputs)), &case["trained_out"]);
}

/// The kind of an error, or "ok".
pub fn kind<T>(result: Result<T>) -> &'static str {
    result.err().map_or("ok", |error| error.kind())
}
