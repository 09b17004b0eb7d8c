//! The sum of two dense matrices, and ReLU.

use crate::base::exact::Exact;
use crate::kernel;
use crate::policy;
use crate::rows::expand;
use burn::tensor::Tensor;
use burn::tensor::activation::relu;
use sparse_autograd::{Erased, record};
use sparse_burn::kernel::column_pass;
use sparse_burn::{ColumnPass, ColumnStep};

/// What the backward pass keeps.
#[derive(Debug)]
struct Saved {
    scale: Option<Tensor<1>>,
    /// If the scale has a gradient.
    y: Option<Tensor<2>>,
    /// The result, if ReLU made it.
    out: Option<Tensor<2>>,
}

/// `relu(x + scale y)` of two matrices of one shape, dtype and device: `scale` is `[1]` or left out, and so is ReLU.
///
/// The answer is that of Burn's operations. On a CPU it is one pass on all threads, two with ReLU, in memory that is
/// used again, and so is each gradient.
pub fn add_scaled(x: Tensor<2>, y: Tensor<2>, scale: Option<Tensor<1>>, rectify: bool) -> Tensor<2> {
    let shape = x.dims();
    if !policy::is_wide(&x) || !policy::own_passes(&x.device()) || shape.contains(&0) {
        let out = match scale {
            Some(scale) => x + y * expand(scale.unsqueeze(), shape),
            None => x + y,
        };
        return if rectify { relu(out) } else { out };
    }
    let plain = scale.clone().map(Tensor::inner);
    let out = pass(Some(x.clone().inner()), y.clone().inner(), plain.as_ref());
    let out = if rectify { kernel::bias_relu(out, None, true) } else { out };
    let tracked = scale.as_ref().is_some_and(Tensor::is_tracked);
    let saved = Saved { scale: plain, y: tracked.then(|| y.clone().inner()), out: rectify.then(|| out.clone()) };
    let [x, y] = [x, y].map(Erased::from);
    match scale {
        None => record(out, [x, y], saved, |saved, grad, needs| {
            let grad = saved.before_relu(grad);
            needs.map(|needed| needed.then(|| grad.clone().into()))
        }),
        Some(scale) => record(out, [x, y, Erased::from(scale)], saved, |saved, grad, [of_x, of_y, _]| {
            let grad = saved.before_relu(grad);
            let d_y = of_y.then(|| pass(None, grad.clone(), saved.scale.as_ref()).into());
            let d_scale = saved.y.as_ref().map(|y| dot(grad.clone(), y.clone()).into());
            [of_x.then(|| grad.into()), d_y, d_scale]
        }),
    }
}

impl Saved {
    fn before_relu(&self, grad: Tensor<2>) -> Tensor<2> {
        self.out.iter().fold(grad, |grad, out| policy::relu_backward(out, grad))
    }
}

/// All numbers as one column.
fn column(x: Tensor<2>) -> Tensor<3> {
    let count = x.shape().num_elements();
    x.reshape(Exact([1, count, 1]))
}

/// `x + scale y`, or `scale y`.
fn pass(x: Option<Tensor<2>>, y: Tensor<2>, scale: Option<&Tensor<1>>) -> Tensor<2> {
    let shape = y.dims();
    let one = || Tensor::ones([1], (&y.device(), y.dtype()));
    let scale = scale.cloned().unwrap_or_else(one).reshape(Exact([1, 1, 1]));
    let first = usize::from(x.is_some());
    let step = ColumnStep::Add { x: x.is_some().then_some(0), scale: 0, y: first };
    let pass = ColumnPass { steps: vec![step], kept: vec![0], dots: vec![] };
    let vectors: Vec<_> = x.into_iter().chain([y]).map(column).collect();
    let out = column_pass(&pass, vectors, vec![scale]).pop().expect("one is kept");
    out.reshape(Exact(shape))
}

/// The sum of all products of numbers at the same place, `[1]`.
fn dot(x: Tensor<2>, y: Tensor<2>) -> Tensor<1> {
    let pass = ColumnPass { steps: vec![], kept: vec![], dots: vec![[0, 1]] };
    column_pass(&pass, vec![column(x), column(y)], Vec::<Tensor<3>>::new())
        .pop()
        .expect("one is asked for")
        .reshape(Exact([1]))
}
