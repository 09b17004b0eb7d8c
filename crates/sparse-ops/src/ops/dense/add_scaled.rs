//! The sum of a dense matrix and a multiple of another one.

use crate::base::exact::Exact;
use crate::policy;
use crate::rows::expand;
use burn::tensor::Tensor;
use sparse_autograd::{Erased, record};
use sparse_burn::kernel::column_pass;
use sparse_burn::{ColumnPass, ColumnStep};

/// What the backward pass keeps.
#[derive(Debug)]
struct Saved {
    scale: Tensor<1>,
    /// If the scale has a gradient.
    y: Option<Tensor<2>>,
}

/// `x + scale y` of two matrices of one shape, dtype and device; `scale` is `[1]`.
///
/// The answer is that of Burn's operations. On a CPU it is one pass on all threads, in memory that is used again, and
/// so is each gradient.
pub fn add_scaled(x: Tensor<2>, y: Tensor<2>, scale: Tensor<1>) -> Tensor<2> {
    let shape = x.dims();
    let fits = policy::is_wide(&x) && y.dims() == shape && y.dtype() == x.dtype();
    if !fits || !policy::own_passes(&x.device()) || shape.contains(&0) {
        return x + y * expand(scale.unsqueeze(), shape);
    }
    let plain = scale.clone().inner();
    let out = pass(Some(x.clone().inner()), y.clone().inner(), &plain);
    let saved = Saved { scale: plain, y: scale.is_tracked().then(|| y.clone().inner()) };
    let [x, y] = [x, y].map(Erased::from);
    record(out, [x, y, Erased::from(scale)], saved, |saved, grad, [of_x, of_y, _]| {
        let d_y = of_y.then(|| pass(None, grad.clone(), &saved.scale).into());
        let d_scale = saved.y.as_ref().map(|y| dot(grad.clone(), y.clone()).into());
        [of_x.then(|| grad.into()), d_y, d_scale]
    })
}

/// All numbers as one column.
fn column(x: Tensor<2>) -> Tensor<3> {
    let count = x.shape().num_elements();
    x.reshape(Exact([1, count, 1]))
}

/// `x + scale y`, or `scale y`.
fn pass(x: Option<Tensor<2>>, y: Tensor<2>, scale: &Tensor<1>) -> Tensor<2> {
    let (shape, first) = (y.dims(), usize::from(x.is_some()));
    let step = ColumnStep::Add { x: x.is_some().then_some(0), scale: 0, y: first };
    let pass = ColumnPass { steps: vec![step], kept: vec![0], dots: vec![] };
    let vectors: Vec<_> = x.into_iter().chain([y]).map(column).collect();
    let scales = vec![scale.clone().reshape(Exact([1, 1, 1]))];
    column_pass(&pass, vectors, scales).pop().expect("one is kept").reshape(Exact(shape))
}

/// The sum of all products of numbers at the same place, `[1]`.
fn dot(x: Tensor<2>, y: Tensor<2>) -> Tensor<1> {
    let pass = ColumnPass { steps: vec![], kept: vec![], dots: vec![[0, 1]] };
    column_pass(&pass, vec![column(x), column(y)], Vec::<Tensor<3>>::new())
        .pop()
        .expect("one is asked for")
        .reshape(Exact([1]))
}
