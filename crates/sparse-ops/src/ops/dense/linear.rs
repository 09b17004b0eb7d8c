//! A dense product with a bias and ReLU.

use crate::base::empty::constant;
use crate::base::exact::Exact;
use crate::kernel;
use crate::ops::products::matmul_then::Epilogue;
use crate::policy;
use crate::rows::sum_dim;
use burn::tensor::activation::relu;
use burn::tensor::{DType, Tensor};
use sparse_autograd::{Erased, record};

/// What the backward pass keeps: of each factor what the gradient of the other needs.
#[derive(Debug)]
struct Saved {
    x: Option<Tensor<2>>,
    weight: Option<Tensor<2>>,
    /// The result, if ReLU made it.
    out: Option<Tensor<2>>,
}

/// `relu(x weight + bias)`, each part as the epilogue says: `[N, d_input] x [d_input, d_output]`.
///
/// The answer is that of Burn's `matmul`, addition and `relu`. On a CPU large products are in memory that is used
/// again. Addition and ReLU follow while rows are in the cache. The gradient of ReLU is a pass on all threads. On a GPU
/// the gradients of weights and bias, which add up all rows, share them among its cubes. A quantised weight goes
/// through Burn's own operations.
pub fn linear(x: Tensor<2>, weight: Tensor<2>, Epilogue { bias, relu: rectify }: Epilogue) -> Tensor<2> {
    if x.dims()[0] == 0 || weight.dims().contains(&0) || matches!(weight.dtype(), DType::QFloat(_)) {
        return followed(x.matmul(weight), bias, rectify);
    }
    let out = product(x.clone().inner(), weight.clone().inner(), bias.as_ref(), rectify);
    linear_on_tape(out, x, weight, Epilogue { bias, relu: rectify })
}

/// `relu(rows + x weight)`, or without ReLU, of `rows` `[N, d_output]` and the operands of [`linear`].
///
/// The answer is that of Burn's operations. On a CPU the rows are added to a large product while it is in the cache.
pub fn linear_onto(rows: Tensor<2>, x: Tensor<2>, weight: Tensor<2>, rectify: bool) -> Tensor<2> {
    let ([count, terms], [_, columns]) = (x.dims(), weight.dims());
    let fits = rows.dims() == [count, columns] && [&rows, &weight].map(Tensor::dtype) == [x.dtype(); 2];
    if !fits || terms == 0 || !policy::own_product(&x, count.saturating_mul(columns), terms) {
        return followed(rows + linear(x, weight, Epilogue::default()), None, rectify);
    }
    let epilogue = kernel::Epilogue { bias: None, relu: rectify };
    let out = kernel::matmul(&x, &weight, [false; 2], Some(&rows), &epilogue);
    let saved = Saved::new(&x, &weight, rectify.then_some(&out));
    record(out, [x, weight, rows].map(Erased::from), saved, |saved, grad, [x, weight, rows]| {
        let grad = policy::before_relu(&saved.out, grad);
        let [d_x, d_weight] = saved.backward(&grad, [x, weight]);
        [d_x, d_weight, rows.then(|| grad.into())]
    })
}

/// What [`linear`] is of these operands, if it is known.
pub(crate) fn linear_on_tape(
    out: Tensor<2>,
    x: Tensor<2>,
    weight: Tensor<2>,
    Epilogue { bias, relu: rectify }: Epilogue,
) -> Tensor<2> {
    let saved = Saved::new(&x, &weight, rectify.then_some(&out));
    let [x, weight] = [x, weight].map(Erased::from);
    match bias {
        None => record(out, [x, weight], saved, |saved, grad, needs| {
            saved.backward(&policy::before_relu(&saved.out, grad), needs)
        }),
        Some(bias) => record(out, [x, weight, Erased::from(bias)], saved, |saved, grad, [x, weight, bias]| {
            let grad = policy::before_relu(&saved.out, grad);
            let [d_x, d_weight] = saved.backward(&grad, [x, weight]);
            let columns = grad.dims()[1];
            [d_x, d_weight, bias.then(|| sum_dim(grad, 0).reshape([columns]).into())]
        }),
    }
}

/// `rows + bias`, on a CPU on all threads.
pub fn biased(rows: Tensor<2>, bias: Tensor<1>) -> Tensor<2> {
    if rows.shape().num_elements() == 0 {
        return followed(rows, Some(bias), false);
    }
    let columns = rows.dims()[1];
    let out = with_bias_relu(rows.clone().inner(), Some(&bias), false);
    record(out, [Erased::from(rows), Erased::from(bias)], columns, |&columns, grad: Tensor<2>, [rows, bias]| {
        let d_bias = bias.then(|| sum_dim(grad.clone(), 0).reshape([columns]).into());
        [rows.then(|| grad.into()), d_bias]
    })
}

/// Off the tape: in one kernel on a CPU.
fn product(x: Tensor<2>, weight: Tensor<2>, bias: Option<&Tensor<1>>, relu: bool) -> Tensor<2> {
    let ([rows, terms], [_, columns]) = (x.dims(), weight.dims());
    if policy::own_product(&x, rows.saturating_mul(columns), terms) {
        let bias = bias.map(|bias| bias.clone().inner().reshape(Exact([1, columns])));
        return kernel::matmul(x, weight, [false; 2], None, &kernel::Epilogue { bias, relu });
    }
    with_bias_relu(policy::matmul(x, weight, [false; 2]), bias, relu)
}

/// Off the tape: a pass of ours on a CPU, passes of Burn on a GPU.
fn with_bias_relu(out: Tensor<2>, bias: Option<&Tensor<1>>, rectify: bool) -> Tensor<2> {
    let bias = bias.map(|bias| bias.clone().inner());
    if !policy::own_passes(&out.device()) {
        return followed(out, bias, rectify);
    }
    match bias {
        None if !rectify => out,
        bias => {
            let columns = out.dims()[1];
            kernel::bias_relu(out, bias.map(|bias| bias.reshape(Exact([1, columns]))).as_ref(), rectify)
        }
    }
}

/// The product with its bias and ReLU, in passes of Burn.
fn followed(out: Tensor<2>, bias: Option<Tensor<1>>, rectify: bool) -> Tensor<2> {
    // Nothing to add to, which some devices cannot launch over.
    if out.shape().num_elements() == 0 {
        return bias.map_or_else(|| out.clone(), |bias| constant(out.clone(), &[&bias]));
    }
    let out = match bias {
        Some(bias) => out + bias.unsqueeze(),
        None => out,
    };
    if rectify { relu(out) } else { out }
}

impl Saved {
    fn new(x: &Tensor<2>, weight: &Tensor<2>, out: Option<&Tensor<2>>) -> Self {
        Self {
            x: weight.is_tracked().then(|| x.clone().inner()),
            weight: x.is_tracked().then(|| weight.clone().inner()),
            out: out.cloned(),
        }
    }

    fn backward(&self, grad: &Tensor<2>, [x, weight]: [bool; 2]) -> [Option<Erased>; 2] {
        let of = |x: &Tensor<2>, y: &Tensor<2>, transposed| policy::matmul(x.clone(), y.clone(), transposed);
        let d_x = self.weight.as_ref().filter(|_| x).map(|weight| of(grad, weight, [false, true]));
        let d_weight = self.x.as_ref().filter(|_| weight).map(|x| of(x, grad, [true, false]));
        [d_x.map(Erased::from), d_weight.map(Erased::from)]
    }
}
