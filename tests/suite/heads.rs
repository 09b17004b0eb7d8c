//! Products of tensors with dense dims, and of one pattern with a batch of dense operands, against plain loops and
//! against one product for each head.

use crate::device;
use burn::tensor::{DType, Device, FloatDType, Int, Tensor, TensorData};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use sparse_tensor::ops::{Reduce, head_sddmm};
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

#[test]
fn a_product_is_the_sum_over_the_row_head_by_head() {
    let (device, types) = under_test();
    for (shape, &dtype) in SHAPES.iter().flat_map(|&shape| types.iter().map(move |dtype| (shape, dtype))) {
        layouts(shape, &device, |case, layout| {
            let values = case.values_at(dtype, &device).require_grad();
            let dense = case.dense_at(dtype, &device).require_grad();
            let out: Tensor<3> = each!(layout, edges => heads(&edges.detach(), values.clone()).matmul(dense.clone()));
            assert_eq!(out.dims(), [case.m, case.heads, case.f]);
            let grads = (out.clone() * case.other_at(dtype, &device)).sum().backward();
            let [want, d_values, d_dense] = case.product();
            same(list(out), &want, dtype, "the product");
            same(list(values.grad(&grads).unwrap()), &d_values, dtype, "the gradient of the values");
            same(list(dense.grad(&grads).unwrap()), &d_dense, dtype, "the gradient of the dense operand");
        });
    }
}

/// The pattern with these values, in their type.
fn heads<P: Pattern>(edges: &SparseTensor<P, 2>, values: Tensor<2>) -> SparseTensor<P, 3> {
    edges.with_head_values(values)
}

#[test]
fn sampled_products_of_heads_are_dot_products() {
    let (device, types) = under_test();
    for (shape, &dtype) in SHAPES.iter().flat_map(|&shape| types.iter().map(move |dtype| (shape, dtype))) {
        layouts(shape, &device, |case, layout| {
            let x = case.other_at(dtype, &device).require_grad();
            let y = case.dense_at(dtype, &device).require_grad();
            let out: Tensor<2> = each!(layout, edges => head_sddmm(x.clone(), y.clone(), &edges).values());
            let grads = (out.clone() * case.values_at(dtype, &device)).sum().backward();
            let [want, d_x, d_y] = case.sampled();
            same(list(out), &want, dtype, "the products");
            same(list(x.grad(&grads).unwrap()), &d_x, dtype, "the gradient of x");
            same(list(y.grad(&grads).unwrap()), &d_y, dtype, "the gradient of y");
        });
    }
}

#[test]
fn softmax_normalises_each_row_of_each_head() {
    let (device, types) = under_test();
    for &dtype in &types {
        for shape in [(1, 1), (3, 1), (8, 1)] {
            let case = Case::new(11, shape);
            let coo = case.coo(&device).detach();
            let mut sums = vec![0.0; case.m * case.heads];
            case.each(|value, row, _| sums[row] += case.values[value].exp());
            let mut want = vec![0.0; case.values.len()];
            case.each(|value, row, _| want[value] = case.values[value].exp() / sums[row]);
            for layout in [Layout::Csr(coo.to_csr()), Layout::Coo(coo)] {
                let out: Tensor<2> = each!(layout, edges => {
                    heads(&edges, case.values_at(dtype, &device)).with_fill(Fill::Undefined).softmax(1).values()
                });
                same(list(out), &want, dtype, "softmax");
            }
        }
    }
}

/// One head of a tensor with a dense dim, and of dense operands.
fn head<P: Pattern>(a: &SparseTensor<P, 3>, x: &Tensor<3>, h: usize) -> (SparseTensor<P, 2>, Tensor<2>) {
    (a.narrow(2, h, 1).squeeze_dim::<2>(2), x.clone().narrow(1, h, 1).squeeze_dim(1))
}

#[test]
fn other_reductions_are_those_of_each_head() {
    let (device, types) = under_test();
    let few = [(1, 5), (3, 1), (2, 3), (8, 8)];
    for (shape, &dtype) in few.iter().flat_map(|&shape| types.iter().map(move |dtype| (shape, dtype))) {
        for reduce in [Reduce::Add, Reduce::Mean, Reduce::Mul, Reduce::Amax, Reduce::Amin] {
            layouts(shape, &device, |case, layout| {
                let values = case.values_at(dtype, &device).require_grad();
                let dense = case.dense_at(dtype, &device).require_grad();
                each!(layout, edges => {
                    let edges = edges.detach();
                    let out: Tensor<3> = heads(&edges, values.clone()).matmul_reduce(dense.clone(), reduce);
                    let a = heads(&edges, values.clone());
                    let parts = (0..case.heads).map(|h| {
                        let (a, x) = head(&a, &dense, h);
                        a.matmul_reduce(x, reduce).unsqueeze_dim::<3>(1)
                    });
                    let want: Tensor<3> = Tensor::cat(parts.collect(), 1);
                    same(list(out.clone()), &list(want.clone()), dtype, reduce.name());
                    let other = case.other_at(dtype, &device);
                    let [got, want] = [out, want].map(|out| (out * other.clone()).sum().backward());
                    let of = |grads: &_, leaf: &Tensor<2>| list(leaf.grad(grads).unwrap());
                    same(of(&got, &values), &of(&want, &values), dtype, "the gradient of the values");
                    let of = |grads: &_, leaf: &Tensor<3>| list(leaf.grad(grads).unwrap());
                    same(of(&got, &dense), &of(&want, &dense), dtype, "the gradient of the dense operand");
                });
            });
        }
    }
}

#[test]
fn messages_with_weights_of_their_own() {
    let (device, dtype) = (under_test().0, FloatDType::F32);
    let case = Case::new(3, (6, 1));
    let edges = case.coo(&device).to_csr();
    let values = case.values_at(dtype, &device).reshape([case.nnz(), 2, 3]);
    let a: CsrTensor<4> = edges.with_head_values(values);
    let dense = case.dense_at(dtype, &device).reshape([case.n, 2, 3]);
    assert_eq!(a.dims(), [case.m, case.n, 2, 3]);
    let out: Tensor<3> = a.matmul(dense.clone());
    assert_eq!(out.dims(), [case.m, 2, 3]);
    same(list(out), &case.product()[0], dtype, "messages");
    let most = a.matmul_reduce(dense.clone(), Reduce::Amax);
    let want = a.matmul_reduce(dense.unsqueeze_dim::<4>(3), Reduce::Amax);
    assert_eq!(list(most), list(want));
}

fn ascending<const D: usize>(shape: [usize; D], device: &Device) -> Tensor<D> {
    let count = shape.iter().product::<usize>();
    let list: Vec<f64> = (0..count).map(|k| ((k * 37) % 23) as f64 / 4.0 - 2.0).collect();
    tensor(&list, shape, FloatDType::F32, device)
}

/// The leading dims of the operand of higher rank are a batch; sizes of 1 broadcast.
#[test]
fn dense_operands_of_a_batch_share_the_pattern() {
    let device = under_test().0;
    let case = Case::new(5, (1, 1));
    let a = case.coo(&device).to_csr().mul_scalar(0.5);
    let (m, n) = (case.m, case.n);
    let dense: Tensor<3> = a.to_dense().unsqueeze_dim(0);
    for batch in [1, 4] {
        let x = ascending([batch, n, 3], &device);
        let want = dense.clone().expand([batch, m, n]).matmul(x.clone());
        same(list(a.matmul(x.clone())), &list(want.clone()), FloatDType::F32, "a batch of dense operands");
        // A batch of one matrix, and its fill.
        let one: CsrTensor<3> = a.unsqueeze_dim(0);
        same(list(one.matmul(x.clone())), &list(want.clone()), FloatDType::F32, "a batch of one matrix");
        let filled = one.with_fill(Fill::scalar(0.5)).matmul(x.clone());
        let all = a.clone().with_fill(Fill::scalar(0.5)).to_dense().unsqueeze_dim::<3>(0).expand([batch, m, n]);
        same(list(filled), &list(all.matmul(x.clone())), FloatDType::F32, "a batch with a fill");
        let mean = a.matmul_reduce(x.clone(), Reduce::Mean);
        assert_eq!(mean.dims(), [batch, m, 3]);
        for b in 0..batch {
            let own = a.matmul_reduce(x.clone().narrow(0, b, 1).squeeze_dim::<2>(0), Reduce::Mean);
            same(list(mean.clone().narrow(0, b, 1)), &list(own), FloatDType::F32, "a mean");
        }
        // From the left.
        let y = ascending([batch, 2, m], &device);
        let left = y.clone().matmul(dense.clone().expand([batch, m, n]));
        same(list(a.rmatmul(y)), &list(left), FloatDType::F32, "dense x sparse");
    }
    let x = ascending([2, 3, n, 2], &device);
    let out: Tensor<4> = a.matmul(x.clone());
    let want = dense.clone().unsqueeze_dim::<4>(0).expand([2, 3, m, n]).matmul(x);
    same(list(out), &list(want), FloatDType::F32, "two leading dims");
    let v = ascending([m], &device);
    same(
        list(a.rmatmul(v.clone())),
        &list(v.unsqueeze_dim::<2>(0).matmul(a.to_dense())),
        FloatDType::F32,
        "vector x sparse",
    );
    // One dense operand for a batch of matrices.
    let several: CsrTensor<3> = sparse_tensor::ops::stack(&[a.clone(), a.mul_scalar(3.0)], 0);
    let x = ascending([1, n, 3], &device);
    let want = several.to_dense().matmul(x.clone().expand([2, n, 3]));
    same(list(several.matmul(x)), &list(want), FloatDType::F32, "one operand for a batch");
    let x = ascending([4, 1, n, 3], &device);
    let out: Tensor<4> = several.matmul(x.clone());
    let want = several.to_dense().unsqueeze_dim::<4>(0).expand([4, 2, m, n]).matmul(x.expand([4, 2, n, 3]));
    same(list(out), &list(want), FloatDType::F32, "a batch of operands for a batch");
    let columns = ascending([2, n], &device);
    let out: Tensor<2> = several.matmul(columns.clone());
    let want = several.to_dense().matmul(columns.unsqueeze_dim::<3>(2));
    same(list(out), &list(want), FloatDType::F32, "a vector for each matrix");
    let y = ascending([1, 3, m], &device);
    let want = y.clone().expand([2, 3, m]).matmul(several.to_dense());
    same(list(several.rmatmul(y)), &list(want), FloatDType::F32, "one left operand for a batch");
}

/// A batch for a tensor with heads; heads, and parts of them, that broadcast.
#[test]
fn heads_broadcast() {
    let device = under_test().0;
    let case = Case::new(9, (6, 2));
    let edges = case.coo(&device).to_csr();
    let (m, n, nnz) = (case.m, case.n, case.nnz());
    // `[m, n, heads]` and `[b, n, heads, f]` by Burn: as `[b, heads, m, n]` and `[b, heads, n, f]`.
    let want = |a: Tensor<3>, x: Tensor<4>| {
        let [b, _, h, f] = x.dims();
        let heads = a.dims()[2].max(h);
        let a = a.permute([2, 0, 1]).unsqueeze_dim::<4>(0);
        let a = a.expand([b, heads, m, n]);
        list(a.matmul(x.permute([0, 2, 1, 3]).expand([b, heads, n, f])).permute([0, 2, 1, 3]))
    };
    for (own, given) in [(6, 6), (1, 6), (6, 1), (1, 1)] {
        let values = ascending([nnz, own], &device).require_grad();
        let x = ascending([3, n, given, 2], &device).require_grad();
        for fill in [Fill::Zero, Fill::scalar(0.25), Fill::tensor(ascending([own], &device))] {
            let a: CsrTensor<3> = edges.clone().detach().with_head_values(values.clone());
            let a = a.with_fill(fill);
            let answer = want(a.clone().detach().to_dense(), x.clone().detach());
            let out: Tensor<4> = a.matmul(x.clone());
            same(list(out.clone()), &answer, FloatDType::F32, "a batch of heads");
            let weights = ascending(out.dims(), &device);
            let grads = (out * weights.clone()).sum().backward();
            assert_eq!(values.grad(&grads).unwrap().dims(), [nnz, own]);
            // The loss is linear in the dense operand.
            let loss: f64 = answer.iter().zip(list(weights)).map(|(out, weight)| out * weight).sum();
            let along: f64 = list(x.clone()).iter().zip(list(x.grad(&grads).unwrap())).map(|(x, grad)| x * grad).sum();
            assert!((loss - along).abs() <= 1e-3 * loss.abs().max(1.0), "{loss} and {along}");
        }
    }
    // Dense dims [2, 3], of which one is 1 in either operand.
    for (own, given) in [([2, 1], [2, 3]), ([1, 3], [2, 3]), ([2, 3], [2, 1]), ([2, 1], [1, 3]), ([1, 1], [2, 3])] {
        let values = ascending([nnz, own[0], own[1]], &device).require_grad();
        let a: CsrTensor<4> = edges.clone().detach().with_head_values(values.clone());
        let x = ascending([n, given[0], given[1], 2], &device);
        let out: Tensor<4> = a.matmul(x.clone());
        let whole = a.to_dense().expand([m, n, 2, 3]).reshape([m, n, 6]);
        let answer = want(whole, x.expand([n, 2, 3, 2]).reshape([1, n, 6, 2]));
        same(list(out.clone()), &answer, FloatDType::F32, "two dense dims");
        let weights = ascending(out.dims(), &device);
        let grads = (out * weights.clone()).sum().backward();
        let along: f64 =
            list(values.clone()).iter().zip(list(values.grad(&grads).unwrap())).map(|(x, grad)| x * grad).sum();
        let loss: f64 = answer.iter().zip(list(weights)).map(|(out, weight)| out * weight).sum();
        assert!((loss - along).abs() <= 1e-3 * loss.abs().max(1.0), "{loss} and {along}");
    }
    // Sampled products: heads and batches of 1.
    let (x, y) = (ascending([m, 6, 2], &device), ascending([n, 1, 2], &device));
    let whole = head_sddmm(x.clone(), y.clone().expand([n, 6, 2]), &edges);
    assert_eq!(list(head_sddmm(x, y, &edges).values::<2>()), list(whole.values::<2>()));
    let batch: CsrTensor<3> = sparse_tensor::ops::stack(&[edges.clone(), edges.clone()], 0);
    let (x, y) = (ascending([1, m, 3, 2], &device), ascending([2, n, 3, 2], &device));
    let out = head_sddmm(x.clone(), y.clone(), &batch);
    assert_eq!(out.dims(), [2, m, n, 3]);
    let parts = [0, 1].map(|b| {
        let y = y.clone().narrow(0, b, 1).squeeze_dim::<3>(0);
        head_sddmm(x.clone().squeeze_dim::<3>(0), y, &edges).values::<2>()
    });
    assert_eq!(list(out.values::<2>()), list(Tensor::cat(parts.to_vec(), 0)));
}

#[test]
fn sizes_of_zero() {
    let device = under_test().0;
    for (m, n, heads, f) in [(3, 4, 2, 5), (0, 4, 2, 5), (3, 0, 2, 5), (3, 4, 0, 5), (3, 4, 2, 0), (3, 4, 0, 0)] {
        let none: CsrTensor<2> = CsrTensor::zeros([m, n], &device);
        let values = Tensor::<2>::zeros([0, heads], &device).require_grad();
        let a: CsrTensor<3> = none.with_head_values(values);
        let x = Tensor::<3>::ones([n, heads, f], &device).require_grad();
        let out: Tensor<3> = a.matmul(x.clone());
        assert_eq!(out.dims(), [m, heads, f]);
        assert_eq!(out.clone().sum().into_scalar::<f32>(), 0.0);
        for reduce in [Reduce::Mean, Reduce::Amax, Reduce::Mul] {
            assert_eq!(a.matmul_reduce(x.clone(), reduce).dims(), [m, heads, f]);
        }
        let scores = head_sddmm(Tensor::<3>::ones([m, heads, f], &device), x.clone(), &none);
        assert_eq!((scores.dims(), scores.nnz()), ([m, n, heads], 0));
        let batch = Tensor::<4>::ones([2, n, heads, f], &device);
        assert_eq!(a.matmul(batch).dims(), [2, m, heads, f]);
        let nothing = Tensor::<4>::ones([0, n, heads, f], &device);
        assert_eq!(a.matmul(nothing).dims(), [0, m, heads, f]);
    }
    // Elements without heads, and heads without features.
    let edges = Case::new(1, (1, 1)).coo(&device).to_csr();
    let a: CsrTensor<3> = edges.with_head_values(Tensor::<2>::ones([edges.nnz(), 0], &device));
    assert_eq!(a.matmul(Tensor::<3>::ones([6, 0, 4], &device)).dims(), [7, 0, 4]);
    let scores = head_sddmm(Tensor::<3>::ones([7, 3, 0], &device), Tensor::ones([6, 3, 0], &device), &edges);
    assert_eq!(list(scores.values::<2>()), vec![0.0; edges.nnz() * 3]);
}

#[test]
fn errors_name_both_shapes() {
    let device = Device::flex();
    let edges = Case::new(1, (1, 1)).coo(&device).to_csr();
    let a: CsrTensor<3> = edges.with_head_values(Tensor::<2>::ones([edges.nnz(), 4], &device));
    let ones = |shape: [usize; 3]| Tensor::<3>::ones(shape, &device);
    let kind = |result: Result<Tensor<3>, SparseError>| result.unwrap_err().kind();
    assert_eq!(kind(a.try_matmul(ones([5, 4, 2]))), "shape_mismatch");
    assert_eq!(kind(a.try_matmul(ones([6, 3, 2]))), "shape_mismatch");
    assert_eq!(kind(a.try_matmul_reduce(ones([6, 3, 2]), Reduce::Amax)), "shape_mismatch");
    assert_eq!(kind(a.try_matmul(ones([6, 4, 2]).cast(FloatDType::F64))), "dtype_mismatch");
    assert_eq!(
        a.try_matmul_reduce(Tensor::<1>::ones([6], &device), Reduce::Mean).unwrap_err().kind(),
        "shape_mismatch"
    );
    let wrong = |x: [usize; 3], y: [usize; 3]| head_sddmm_kind(x, y, &edges);
    assert_eq!(wrong([6, 2, 3], [6, 2, 3]), "shape_mismatch");
    assert_eq!(wrong([7, 2, 3], [6, 2, 4]), "shape_mismatch");
    assert_eq!(wrong([7, 2, 3], [6, 3, 3]), "shape_mismatch");
    // Ranks.
    let three: Result<CsrTensor<4>, _> = edges.try_with_head_values(Tensor::<2>::ones([edges.nnz(), 4], &device));
    assert_eq!(three.unwrap_err().kind(), "shape_mismatch");
    let short: Result<CsrTensor<3>, _> = edges.try_with_head_values(Tensor::<2>::ones([1, 4], &device));
    assert_eq!(short.unwrap_err().kind(), "length_mismatch");
    let few = Tensor::<2>::ones([edges.nnz(), 2], &device);
    let pattern = edges.pattern().clone();
    assert_eq!(CsrTensor::<2>::from_pattern(pattern.clone(), few.clone()).unwrap_err().kind(), "shape_mismatch");
    assert_eq!(CsrTensor::<3>::from_pattern(pattern, few).unwrap().dims(), [7, 6, 2]);
    let block = a.with_fill(Fill::tensor(Tensor::<1>::ones([4], &device)));
    let other: Result<CsrTensor<3>, _> = block.try_with_head_values(Tensor::<2>::ones([edges.nnz(), 3], &device));
    assert_eq!(other.unwrap_err().kind(), "shape_mismatch");
}

fn head_sddmm_kind(x: [usize; 3], y: [usize; 3], mask: &CsrTensor<2>) -> &'static str {
    let device = Device::flex();
    let (x, y) = (Tensor::<3>::ones(x, &device), Tensor::<3>::ones(y, &device));
    sparse_tensor::ops::try_head_sddmm(x, y, mask).unwrap_err().kind()
}

/// Compressed rows with dense dims in the operations around products.
#[test]
fn compressed_rows_have_dense_dims() {
    let device = Device::flex();
    let case = Case::new(2, (4, 1));
    let coo = case.coo(&device);
    let values = ascending([case.nnz(), 4], &device);
    let a: CooTensor<3> = coo.with_head_values(values.clone());
    let b = a.to_csr();
    assert_eq!((b.dims(), b.sparse_dims(), b.dense_dims()), ([7, 6, 4], 2, 1));
    let dense = list(a.to_dense());
    assert_eq!(list(b.to_dense()), dense);
    assert_eq!(list(b.to_coo().to_dense()), dense);
    assert_eq!(list(b.sum_dim_dense(1)), list(a.to_dense().sum_dim(1)));
    assert_eq!(list(b.narrow(0, 1, 3).to_dense()), list(a.to_dense().narrow(0, 1, 3)));
    assert_eq!(list((b.clone() + b.clone()).to_dense()), list(a.to_dense() * 2.0));
    let joined = sparse_tensor::ops::concat(&[b.clone(), b.clone()], 0);
    assert_eq!(list(joined.to_dense()), list(Tensor::cat(vec![a.to_dense(), a.to_dense()], 0)));
    let head: CsrTensor<2> = b.narrow(2, 1, 1).squeeze_dim(2);
    assert_eq!(list(head.to_dense()), list(a.to_dense().narrow(2, 1, 1).squeeze_dim::<2>(2)));
    // A product with the transpose, and one added.
    let x = ascending([7, 4, 3], &device);
    let turned: CsrTensor<3> = b.swap_dims(0, 1);
    let back: CooTensor<3> = a.swap_dims(0, 1);
    assert_eq!(list(turned.matmul(x.clone())), list(back.matmul(x)));
    let x = ascending([6, 4, 3], &device);
    let bias = ascending([1, 1, 3], &device);
    let want = b.matmul(x.clone()).mul_scalar(2.0) + bias.clone().mul_scalar(0.5);
    same(list(b.addmm(0.5, bias, 2.0, x)), &list(want), FloatDType::F32, "addmm");
}

#[test]
fn the_same_bits_every_time() {
    let (device, _) = under_test();
    let mut rng = StdRng::seed_from_u64(1);
    let mut numbers = |shape: [usize; 3]| {
        let list: Vec<f64> = (0..shape.iter().product()).map(|_| rng.random_range(-1.0..1.0)).collect();
        tensor(&list, shape, FloatDType::F32, &device)
    };
    let (n, nnz) = (500, 20_000);
    let (x, y, values) = (numbers([n, 8, 8]), numbers([n, 8, 8]), numbers([1, nnz, 8]));
    let at: Vec<i64> = (0..2 * nnz).map(|k| ((k * 7919 + k / 13) % n) as i64).collect();
    let at = Tensor::<2, Int>::from_data(TensorData::new(at, [2, nnz]), &device.clone().inner());
    let edges = CooTensor::<2>::new(at, Tensor::<1>::ones([nnz], &device), [n, n]).unwrap();
    let run = || {
        let (x, y) = (x.clone().require_grad(), y.clone().require_grad());
        let values = values.clone().squeeze_dim::<2>(0);
        let scores = head_sddmm(x.clone(), y.clone(), &edges).values::<2>() + values;
        let a: CooTensor<3> = edges.with_head_values(scores).with_fill(Fill::Undefined);
        let out: Tensor<3> = a.softmax(1).matmul(y.clone());
        let grads = (out.clone() * out.clone()).sum().backward();
        [list(out), list(x.grad(&grads).unwrap()), list(y.grad(&grads).unwrap())]
    };
    let first = run();
    (0..3).for_each(|_| assert!(run() == first));
}
