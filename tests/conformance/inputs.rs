//! Inputs of a case as tensors, with the leaves whose gradients are compared.

use crate::case::{Case, Number, ints, number, numbers, text, usizes};
use crate::runner::float_on;
use burn::tensor::{DType, Device, FloatDType, Gradients, Int, Tensor, TensorData};
use serde_json::Value;
use sparse_tensor::{CooTensor, CsrTensor, Fill, Kind, Result, SparseTensor, pattern::Pattern};
use std::cell::RefCell;

type Leaf = Box<dyn Fn(&Gradients) -> Option<Vec<Number>>>;

/// Device and leaves of one case.
pub struct Context {
    pub device: Device,
    tracked: bool,
    leaves: RefCell<Vec<(String, Leaf)>>,
    pub cotangent: Option<Vec<Number>>,
    pub cotangent_on_values: bool,
    fails: bool,
}

impl Context {
    pub fn new(case: &Case, device: &Device) -> Self {
        let cotangent = case.cotangent();
        let tracked = cotangent.is_some();
        let device = if tracked { device.clone().autodiff() } else { device.clone() };
        let cotangent_on_values = case.cotangent_on_values();
        let fails = case.error().is_some();
        Self { device, tracked, leaves: RefCell::default(), cotangent, cotangent_on_values, fails }
    }

    /// The gradient of a named input: zeros are implied by `None` (no entry).
    pub fn gradient(&self, name: &str, grads: &Gradients) -> Option<Option<Vec<Number>>> {
        let leaves = self.leaves.borrow();
        leaves.iter().find(|(leaf, _)| leaf == name).map(|(_, leaf)| leaf(grads))
    }

    /// The dtype on this device.
    pub fn dtype(&self, name: &str) -> DType {
        match name {
            // A case about dtypes needs two of them, not arithmetic.
            "f64" if self.fails && self.device.supports_dtype(DType::F64) => DType::F64,
            "f64" => float_on(&self.device, FloatDType::F64).into(),
            "f32" => DType::F32,
            "f16" => DType::F16,
            "bf16" => DType::BF16,
            "i64" if !self.device.supports_dtype(DType::I64) => DType::I32,
            "i64" => DType::I64,
            "i32" => DType::I32,
            "u8" => DType::U8,
            "bool" => DType::Bool(burn::tensor::BoolStore::Native),
            other => panic!("dtype {other}"),
        }
    }

    /// A plain tensor of any kind.
    pub fn tensor<const D: usize, K: Kind>(&self, values: &[Number], shape: [usize; D], dtype: &str) -> Tensor<D, K> {
        let data = match dtype {
            "bool" => TensorData::new(values.iter().map(|value| value.int() != 0).collect::<Vec<_>>(), shape),
            name if name.starts_with(['i', 'u']) => {
                TensorData::new(values.iter().map(|value| value.int()).collect::<Vec<_>>(), shape)
                    .convert_dtype(self.dtype(name))
            }
            name => TensorData::new(values.iter().map(|value| value.float()).collect::<Vec<_>>(), shape)
                .convert_dtype(self.dtype(name)),
        };
        Tensor::from_data(data, (&self.device, self.dtype(dtype)))
    }

    pub fn ints<const D: usize>(&self, values: Vec<i64>, shape: [usize; D]) -> Tensor<D, Int> {
        let dtype = self.dtype("i64");
        let data = TensorData::new(values, shape).convert_dtype(dtype);
        Tensor::from_data(data, (&self.device.clone().inner(), dtype))
    }

    /// Makes a float tensor a leaf with a name; other kinds pass.
    fn leaf<const D: usize, K: Kind>(&self, name: String, tensor: Tensor<D, K>) -> Tensor<D, K> {
        if !self.tracked || !tensor.dtype().is_float() {
            return tensor;
        }
        let leaf = Tensor::<D>::from_dispatch(tensor.into_dispatch()).require_grad();
        let own = leaf.clone();
        let read = move |grads: &Gradients| own.grad(grads).map(|grad| read(grad.into_data()));
        self.leaves.borrow_mut().push((name, Box::new(read)));
        Tensor::from_dispatch(leaf.into_dispatch())
    }

    pub fn dense<const D: usize, K: Kind>(&self, name: &str, input: &Value) -> Tensor<D, K> {
        let shape: [usize; D] = usizes(&input["shape"]).try_into().expect("the rank of the case");
        let tensor = self.tensor(&numbers(&input["data"]), shape, text(&input["dtype"]));
        self.leaf(name.to_string(), tensor)
    }

    pub fn coo<const D: usize, K: Kind>(&self, name: &str, input: &Value) -> Result<CooTensor<D, K>> {
        let shape: [usize; D] = usizes(&input["shape"]).try_into().expect("the rank of the case");
        let rows: Vec<&Value> = input["indices"].as_array().expect("coordinates").iter().collect();
        let nnz = rows.first().map_or(0, |row| row.as_array().expect("a row").len());
        let indices = self.ints(rows.iter().flat_map(|row| ints(row)).collect(), [rows.len(), nnz]);
        let dense: Vec<usize> = shape[rows.len()..].to_vec();
        let block: usize = dense.iter().product();
        let values = numbers(&input["values"]);
        // Of blocks without elements there are as many as coordinates.
        let count = values.len().checked_div(block).unwrap_or(nnz);
        let dtype = text(&input["dtype"]);
        let tensor = match dense.len() {
            0 => CooTensor::new(indices, self.leaf(name.into(), self.tensor(&values, [count], dtype)), shape),
            1 => {
                let values = self.tensor(&values, [count, dense[0]], dtype);
                CooTensor::new(indices, self.leaf(name.into(), values), shape)
            }
            _ => {
                let values = self.tensor(&values, [count, dense[0], dense[1]], dtype);
                CooTensor::new(indices, self.leaf(name.into(), values), shape)
            }
        };
        tensor.map(|tensor| self.filled(name, input, tensor))
    }

    pub fn csr<const D: usize, K: Kind>(&self, name: &str, input: &Value) -> Result<CsrTensor<D, K>> {
        let shape: [usize; D] = usizes(&input["shape"]).try_into().expect("the rank of the case");
        let (row_ptr, col_idx) = (ints(&input["row_ptr"]), ints(&input["col_idx"]));
        let (pointers, nnz) = (row_ptr.len(), col_idx.len());
        let values = numbers(&input["values"]);
        let values = self.tensor(&values, [values.len()], text(&input["dtype"]));
        let values = self.leaf(name.into(), values);
        let tensor = CsrTensor::new(self.ints(row_ptr, [pointers]), self.ints(col_idx, [nnz]), values, shape);
        tensor.map(|tensor| self.filled(name, input, tensor))
    }

    fn filled<P: Pattern, const D: usize, K: Kind>(
        &self,
        name: &str,
        input: &Value,
        tensor: SparseTensor<P, D, K>,
    ) -> SparseTensor<P, D, K> {
        if input["fill"] == "undefined" {
            return tensor.with_fill(Fill::Undefined);
        }
        let fill = number(&input["fill"]);
        if fill.float() == 0.0 {
            return tensor;
        }
        let dtype = text(&input["dtype"]);
        if self.tracked && dtype.contains('f') {
            let leaf = self.leaf(format!("{name}.fill"), self.tensor::<1, K>(&[fill], [1], dtype));
            return tensor.with_fill(Fill::tensor(leaf));
        }
        tensor.with_fill(if dtype.contains('f') { Fill::scalar(fill.float()) } else { Fill::scalar(fill.int()) })
    }
}

/// The numbers of any data.
pub fn read(data: TensorData) -> Vec<Number> {
    match data.dtype() {
        dtype if dtype.is_float() => data.iter::<f64>().map(Number::Float).collect(),
        dtype if dtype.is_bool() => data.iter::<bool>().map(|value| Number::Int(i64::from(value))).collect(),
        _ => data.iter::<i64>().map(Number::Int).collect(),
    }
}
