//! Products of tensors with dense dims, and of one pattern with a batch of dense operands, against plain loops and
//! against one product for each head.

mod attention;
mod broadcasting;
mod edge_cases;
mod products;

use burn::tensor::{DType, Device, FloatDType, Int, Tensor, TensorData};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use sparse_dev::device;
use sparse_tensor::pattern::Pattern;
use sparse_tensor::prelude::*;

const TYPES: [FloatDType; 4] = [FloatDType::F64, FloatDType::F32, FloatDType::F16, FloatDType::BF16];

/// The numbers of heads and of features of each.
const SHAPES: [(usize, usize); 10] = [(1, 1), (1, 5), (2, 3), (3, 1), (3, 7), (8, 8), (8, 1), (2, 16), (5, 2), (40, 1)];

/// An `m x n` pattern with an empty row and column, and operands: numbers of few bits, so that no type rounds them.
struct Case {
    m: usize,
    n: usize,
    heads: usize,
    f: usize,
    rows: Vec<usize>,
    cols: Vec<usize>,
    /// `[nnz, heads]`, `[n, heads, f]` and `[m, heads, f]`.
    values: Vec<f64>,
    dense: Vec<f64>,
    other: Vec<f64>,
}

impl Case {
    fn new(seed: u64, (heads, f): (usize, usize)) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        let (m, n) = (7, 6);
        let (mut rows, mut cols) = (vec![], vec![]);
        for row in (0..m).filter(|&row| row != 3) {
            for col in (0..n).filter(|&col| col != 2) {
                if row == 5 || rng.random_bool(0.4) {
                    rows.push(row);
                    cols.push(col);
                }
            }
        }
        let mut numbers =
            |count: usize| (0..count).map(|_| f64::from(rng.random_range(-6..=6)) / 4.0).collect::<Vec<_>>();
        let (values, dense, other) = (numbers(rows.len() * heads), numbers(n * heads * f), numbers(m * heads * f));
        Self { m, n, heads, f, rows, cols, values, dense, other }
    }

    /// Elements in another order, and some twice.
    fn shuffled(mut self) -> Self {
        let again: Vec<usize> = (0..self.rows.len()).rev().step_by(2).collect();
        for k in again {
            self.rows.insert(0, self.rows[k]);
            self.cols.insert(0, self.cols[k]);
            (0..self.heads).for_each(|_| self.values.push(0.25));
        }
        self
    }

    fn nnz(&self) -> usize {
        self.rows.len()
    }

    fn coo(&self, device: &Device) -> CooTensor<2> {
        let at = self.rows.iter().chain(&self.cols).map(|&at| at as i64).collect::<Vec<_>>();
        let at = Tensor::<2, Int>::from_data(TensorData::new(at, [2, self.nnz()]), &device.clone().inner());
        CooTensor::new(at, Tensor::<1>::ones([self.nnz()], device), [self.m, self.n]).unwrap()
    }

    fn values_at(&self, dtype: FloatDType, device: &Device) -> Tensor<2> {
        tensor(&self.values, [self.nnz(), self.heads], dtype, device)
    }

    fn dense_at(&self, dtype: FloatDType, device: &Device) -> Tensor<3> {
        tensor(&self.dense, [self.n, self.heads, self.f], dtype, device)
    }

    fn other_at(&self, dtype: FloatDType, device: &Device) -> Tensor<3> {
        tensor(&self.other, [self.m, self.heads, self.f], dtype, device)
    }

    /// `(row, column, head, feature, element)` of every product.
    fn each(&self, mut f: impl FnMut(usize, usize, usize)) {
        for k in 0..self.nnz() {
            for h in 0..self.heads {
                for c in 0..self.f {
                    let [row, col] = [self.rows[k], self.cols[k]].map(|at| (at * self.heads + h) * self.f + c);
                    f(k * self.heads + h, row, col);
                }
            }
        }
    }

    /// The product, and the gradients of values and dense for the gradient `other`.
    fn product(&self) -> [Vec<f64>; 3] {
        let mut out = [self.other.len(), self.values.len(), self.dense.len()].map(|len| vec![0.0; len]);
        self.each(|value, row, col| {
            out[0][row] += self.values[value] * self.dense[col];
            out[1][value] += self.other[row] * self.dense[col];
            out[2][col] += self.other[row] * self.values[value];
        });
        out
    }

    /// The sampled products of `other` and `dense`, and their gradients for the gradient `values`.
    fn sampled(&self) -> [Vec<f64>; 3] {
        let [mut x, dots, mut y] = self.product();
        x.fill(0.0);
        y.fill(0.0);
        self.each(|value, row, col| {
            x[row] += self.values[value] * self.dense[col];
            y[col] += self.values[value] * self.other[row];
        });
        [dots, x, y]
    }
}

fn tensor<const D: usize>(list: &[f64], shape: [usize; D], dtype: FloatDType, device: &Device) -> Tensor<D> {
    let dtype = DType::from(dtype);
    Tensor::from_data(TensorData::new(list.to_vec(), shape).convert_dtype(dtype), (device, dtype))
}

fn list<const D: usize>(tensor: Tensor<D>) -> Vec<f64> {
    tensor.into_data().convert::<f64>().iter::<f64>().collect()
}

/// Within the rounding of one result of that type; sums are exact or of f32.
fn same(got: Vec<f64>, want: &[f64], dtype: FloatDType, what: &str) {
    let step = match dtype {
        FloatDType::F64 => 1e-12,
        FloatDType::F16 => 1e-3,
        FloatDType::BF16 => 8e-3,
        _ => 1e-6,
    };
    assert_eq!(got.len(), want.len(), "{what}");
    for (k, (got, want)) in got.iter().zip(want).enumerate() {
        assert!((got - want).abs() <= step * want.abs().max(1.0), "{what} at {k}: {got} and {want} ({dtype:?})");
    }
}

/// The device under test and the float types that it has.
fn under_test() -> (Device, Vec<FloatDType>) {
    let device = device::named(&device::name());
    let types = TYPES.into_iter().filter(|&dtype| device.supports_dtype(DType::from(dtype))).collect();
    (device.autodiff(), types)
}

/// Runs `f` on the pattern in both layouts, and as COO in another order with duplicates.
fn layouts(shape: (usize, usize), device: &Device, f: impl Fn(&Case, Layout)) {
    let case = Case::new(7, shape);
    let coo = case.coo(device);
    f(&case, Layout::Csr(coo.to_csr()));
    f(&case, Layout::Coo(coo));
    let case = case.shuffled();
    let coo = case.coo(device);
    assert!(!coo.is_coalesced());
    f(&case, Layout::Coo(coo));
}

enum Layout {
    Coo(CooTensor<2>),
    Csr(CsrTensor<2>),
}

/// Runs an expression for either layout.
macro_rules! each {
    ($layout:expr, $edges:ident => $run:expr) => {
        match $layout {
            Layout::Coo($edges) => $run,
            Layout::Csr($edges) => $run,
        }
    };
}

/// The pattern with these values, in their type.
fn heads<P: Pattern>(edges: &SparseTensor<P, 2>, values: Tensor<2>) -> SparseTensor<P, 3> {
    edges.with_head_values(values)
}

fn ascending<const D: usize>(shape: [usize; D], device: &Device) -> Tensor<D> {
    let count = shape.iter().product::<usize>();
    let list: Vec<f64> = (0..count).map(|k| ((k * 37) % 23) as f64 / 4.0 - 2.0).collect();
    tensor(&list, shape, FloatDType::F32, device)
}

use each;
