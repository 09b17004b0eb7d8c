//! Optimisers that step only the rows of a table that a step read.

use super::RowTable;
use super::grad::{RowSparseGrad, rows_at};
use burn::config::Config;
use burn::module::{Module, Param, ParamId};
use burn::tensor::{DType, Device, Tensor};
use sparse_ops::SparseError;
use sparse_ops::extend::write_rows;
use sparse_ops::extend::{associate, expect, same_elements, wide};

/// An optimiser of one [`RowTable`]. It changes the rows that a gradient has, in place, and leaves all other rows as
/// they are. The state of a 16-bit table is in f32. It is a Burn module: `save_file` and `load_file` write and read it.
pub trait RowOptimizer: Module {
    /// The table after one step with learning rate `lr`.
    ///
    /// # Panics
    ///
    /// If the gradient is of another table, by its shape, dtype or device, or the optimiser was made for another one.
    #[track_caller]
    fn step(&mut self, lr: f64, table: RowTable, grad: RowSparseGrad) -> RowTable;
}

/// Stochastic gradient descent: `w -= lr g`.
#[derive(Module, Debug, Default)]
pub struct RowSgd {}

impl RowSgd {
    /// The optimiser. It has no state.
    pub fn new() -> Self {
        Self {}
    }
}

impl RowOptimizer for RowSgd {
    #[track_caller]
    fn step(&mut self, lr: f64, table: RowTable, grad: RowSparseGrad) -> RowTable {
        check("RowSgd::step", &table, &grad, None);
        update(table, &grad, wide(grad.rows.clone()).mul_scalar(lr))
    }
}

/// Configuration of [`RowAdagrad`].
#[derive(Config, Debug)]
pub struct RowAdagradConfig {
    /// Where the sums of squares start.
    #[config(default = 0.0)]
    pub initial_sum: f64,
    /// Added to the denominator.
    #[config(default = 1e-10)]
    pub epsilon: f64,
}

/// Adagrad: `s += g^2`, `w -= lr g / (sqrt(s) + epsilon)`, for the rows of the gradient. A row without a gradient would
/// not change in dense Adagrad either, so both are equal.
///
/// Source: Duchi, Hazan and Singer, *Adaptive subgradient methods*, JMLR 2011.
#[derive(Module, Debug)]
pub struct RowAdagrad {
    sum: Param<Tensor<2>>,
    epsilon: f64,
}

impl RowAdagradConfig {
    /// The optimiser of `table`. Memory: one more table.
    pub fn init(&self, table: &RowTable) -> RowAdagrad {
        RowAdagrad { sum: state(table, self.initial_sum), epsilon: self.epsilon }
    }
}

impl RowOptimizer for RowAdagrad {
    #[track_caller]
    fn step(&mut self, lr: f64, table: RowTable, grad: RowSparseGrad) -> RowTable {
        check("RowAdagrad::step", &table, &grad, Some(&self.sum));
        let g = wide(grad.rows.clone());
        let sum = rows_of(&self.sum, &grad) + g.clone().powi_scalar(2);
        replace(&mut self.sum, &grad, sum.clone());
        update(table, &grad, g.mul_scalar(lr) / sum.sqrt().add_scalar(self.epsilon))
    }
}

/// Configuration of [`RowAdam`].
#[derive(Config, Debug)]
pub struct RowAdamConfig {
    /// Decay of the first moment.
    #[config(default = 0.9)]
    pub beta_1: f64,
    /// Decay of the second moment.
    #[config(default = 0.999)]
    pub beta_2: f64,
    /// Added to the denominator.
    #[config(default = 1e-8)]
    pub epsilon: f64,
}

/// Lazy Adam. With `t` the number of steps so far, for the rows of the gradient:
/// `m += (1 - beta_1) (g - m)`, `v += (1 - beta_2) (g^2 - v)`,
/// `w -= lr sqrt(1 - beta_2^t) / (1 - beta_1^t) m / (sqrt(v) + epsilon)`.
///
/// The moments of other rows do not decay, and those rows do not move: this is PyTorch's `SparseAdam`, not Adam, which
/// would change every row in every step.
///
/// Source: Kingma and Ba, *Adam: a method for stochastic optimization*, ICLR 2015.
#[derive(Module, Debug)]
pub struct RowAdam {
    moment_1: Param<Tensor<2>>,
    moment_2: Param<Tensor<2>>,
    /// Number of steps `[1]`. It stays on the device, so that a step reads nothing.
    time: Param<Tensor<1>>,
    beta_1: f64,
    beta_2: f64,
    epsilon: f64,
}

impl RowAdamConfig {
    /// The optimiser of `table`. Memory: two more tables.
    pub fn init(&self, table: &RowTable) -> RowAdam {
        let &Self { beta_1, beta_2, epsilon } = self;
        let weight = table.weight.val().inner();
        let time = Tensor::zeros([1], (&weight.device(), state_dtype(&weight)));
        let time = Param::initialized(ParamId::new(), time);
        RowAdam { moment_1: state(table, 0.0), moment_2: state(table, 0.0), time, beta_1, beta_2, epsilon }
    }
}

impl RowOptimizer for RowAdam {
    #[track_caller]
    fn step(&mut self, lr: f64, table: RowTable, grad: RowSparseGrad) -> RowTable {
        check("RowAdam::step", &table, &grad, Some(&self.moment_1));
        let g = wide(grad.rows.clone());
        let moved = |old: Tensor<2>, new: Tensor<2>, beta: f64| old.clone() + (new - old).mul_scalar(1.0 - beta);
        let m = moved(rows_of(&self.moment_1, &grad), g.clone(), self.beta_1);
        let v = moved(rows_of(&self.moment_2, &grad), g.powi_scalar(2), self.beta_2);
        replace(&mut self.moment_1, &grad, m.clone());
        replace(&mut self.moment_2, &grad, v.clone());
        self.time = self.time.clone().map(|time| time.add_scalar(1.0));
        let time = self.time.val().inner();
        // 1 - beta^t
        let correction = |beta: f64| time.clone().mul_scalar(beta.ln()).exp().neg().add_scalar(1.0);
        let size = (correction(self.beta_2).sqrt() / correction(self.beta_1)).mul_scalar(lr);
        let size = size.unsqueeze::<2>();
        update(table, &grad, m * size / v.sqrt().add_scalar(self.epsilon))
    }
}

/// State of the shape of a table.
fn state(table: &RowTable, value: f64) -> Param<Tensor<2>> {
    let weight = table.weight.val().inner();
    let full = Tensor::full(weight.dims(), value, (&weight.device(), state_dtype(&weight)));
    Param::initialized(ParamId::new(), full)
}

/// A 16-bit float cannot count, and loses small squares and steps.
fn state_dtype(weight: &Tensor<2>) -> DType {
    if weight.dtype() == DType::F64 { DType::F64 } else { DType::F32 }
}

fn rows_of(state: &Param<Tensor<2>>, grad: &RowSparseGrad) -> Tensor<2> {
    expect(rows_at(state.val().inner(), &grad.ids))
}

/// Writes rows of the state, in its buffer.
fn replace(state: &mut Param<Tensor<2>>, grad: &RowSparseGrad, rows: Tensor<2>) {
    take(state, |all| write_rows(all.inner(), &grad.ids, rows));
}

/// Subtracts `steps` from the rows of the gradient, in the table's buffer.
fn update(mut table: RowTable, grad: &RowSparseGrad, steps: Tensor<2>) -> RowTable {
    let old = rows_of(&table.weight, grad);
    let dtype = old.dtype();
    let rows = (wide(old) - steps).cast(dtype);
    take(&mut table.weight, |weight| {
        let (device, tracked): (Device, bool) = (weight.device(), weight.is_require_grad());
        let new = write_rows(weight.inner(), &grad.ids, rows);
        let new = associate(new, &device);
        if tracked { new.require_grad() } else { new }
    });
    table
}

/// Changes a parameter without a second handle to its buffer.
fn take(param: &mut Param<Tensor<2>>, f: impl FnOnce(Tensor<2>) -> Tensor<2>) {
    let device = param.lazy_device();
    let empty = Param::initialized(param.id, Tensor::zeros([0, 0], &device));
    let owned = core::mem::replace(param, empty);
    *param = owned.map(f);
}

#[track_caller]
fn check(op: &'static str, table: &RowTable, grad: &RowSparseGrad, state: Option<&Param<Tensor<2>>>) {
    let shape = table.weight.lazy_shape().dims::<2>();
    let of_grad = [grad.size, grad.rows.dims()[1]];
    // The closure does not panic itself, because a closure loses the caller's line.
    let mismatch = |rule, left: [usize; 2]| Err(SparseError::shape_mismatch(op, rule, left, shape));
    if of_grad != shape {
        expect::<()>(mismatch("the gradient must be of a table {right}, got one of {left}", of_grad));
    }
    if let Some(state) = state.map(|state| state.lazy_shape().dims::<2>())
        && state != shape
    {
        expect(mismatch("make an optimizer for this table {right}: this one was made for {left}", state));
    }
    expect(same_elements(op, &table.weight.val().inner(), &grad.rows));
}
