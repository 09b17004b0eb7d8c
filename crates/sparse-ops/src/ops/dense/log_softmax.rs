//! `log_softmax` of dense rows.

use crate::base::exact::Exact;
use crate::base::index::count_up_on;
use crate::kernel;
use crate::policy;
use burn::tensor::activation::log_softmax;
use burn::tensor::{DType, Int, Tensor};
use sparse_autograd::{Erased, record};

/// `log_softmax` of each row of `x` `[N, C]`.
///
/// The answer is that of Burn's, whose passes run on one thread of a CPU. Here it is one kernel for each direction, on
/// all threads, over rows as segments of one list.
pub fn log_softmax_rows(x: Tensor<2>) -> Tensor<2> {
    let [rows, columns] = x.dims();
    let Some(count) = rows.checked_mul(columns).filter(|count| (1..=i32::MAX as usize).contains(count)) else {
        return log_softmax(x, 1);
    };
    let plain = x.clone().inner();
    if !policy::own_passes(&plain.device()) {
        return log_softmax(x, 1);
    }
    let ptr = count_up_on(rows + 1, &plain.device(), DType::I32).mul_scalar(columns as i32);
    let out = kernel::segment_softmax(plain.reshape(Exact([count, 1])), &ptr, true);
    let result = out.clone().reshape(Exact([rows, columns]));
    record(
        result,
        [Erased::from(x)],
        (out, ptr),
        move |(out, ptr): &(Tensor<2>, Tensor<1, Int>), grad: Tensor<2>, _| {
            let [rows, columns] = grad.dims();
            let grad = grad.reshape(Exact([rows * columns, 1]));
            let own = kernel::segment_softmax_backward(out, grad, ptr, true);
            [Some(own.reshape(Exact([rows, columns])).into())]
        },
    )
}
