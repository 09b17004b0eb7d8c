//! `record` puts an output that was computed outside the tape on it.

use crate::{Erased, Rule, Tape};
use burn::backend::Dispatch;
use burn::tensor::Tensor;
use std::fmt::Debug;
use std::sync::Arc;

/// Puts `output = f(parents)` on the tape of the parents, with `rule` as its joint backward rule.
///
/// `rule(saved, grad, needs)` gets the gradient of the output and, for each parent, whether it is tracked; it returns
/// the gradients of the parents, `None` where none is needed. One call serves all parents, so shared work is done
/// once and an untracked parent costs nothing. `saved` should hold only what the tracked parents need (ask
/// `Tensor::is_tracked`), and never a tracked tensor: that would keep the graph alive.
///
/// `output` is the result of the kernels, without an autodiff association (`Tensor::inner`). Its context is merged into
/// that of the parents, so gradient checkpointing works in either strategy. If no parent is on a tape, the output is
/// returned unchanged. Burn's autodiff is first-order: the rule runs outside any tape.
///
/// `N` is 1, 2 or 3 (Burn's `Backward` has a constant arity); join a longer list with `Tensor::cat` first.
///
/// # Panics
///
/// In the backward pass, if the rule gives no gradient for a tracked parent, or one of another shape.
///
/// # Example
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_autograd::{Erased, record};
///
/// // y = x * x, by hand.
/// fn square(x: Tensor<1>) -> Tensor<1> {
///     let inner = x.clone().inner();
///     record(inner.clone() * inner.clone(), [Erased::from(&x)], inner, |x, grad, _needs| {
///         [Some((grad * x.clone() * 2.0).into())]
///     })
/// }
///
/// let device = Device::flex().autodiff();
/// let x = Tensor::<1>::from_floats([1.0, 2.0, 3.0], &device).require_grad();
/// let grads = square(x.clone()).sum().backward();
/// let grad = x.grad(&grads).unwrap().into_data();
/// assert_eq!(grad.iter::<f32>().collect::<Vec<_>>(), [2.0, 4.0, 6.0]);
/// ```
pub fn record<const D: usize, const N: usize, S>(
    output: Tensor<D>,
    parents: [Erased; N],
    saved: S,
    rule: fn(&S, Tensor<D>, [bool; N]) -> [Option<Erased>; N],
) -> Tensor<D>
where
    S: Debug + Send + Sync + 'static,
{
    const { assert!(1 <= N && N <= 3, "record: a rule has 1, 2 or 3 parents") };
    let shapes = parents.each_ref().map(Erased::shape);
    let rule = Rule(Arc::new(move |grad, needs| {
        let needs: [bool; N] = std::array::from_fn(|k| needs[k]);
        let grads = rule(&saved, Tensor::from_dispatch(grad), needs);
        for (k, (grad, shape)) in grads.iter().zip(&shapes).enumerate() {
            let got = grad.as_ref().map(Erased::shape);
            assert!(
                !needs[k] || got.as_ref() == Some(shape),
                "record: the gradient of parent {k} must have its shape, got {got:?} and {shape:?}"
            );
        }
        grads.into_iter().map(|grad| grad.map(|grad| grad.0)).collect()
    }));
    let output = output.into_dispatch();
    let mut parents = parents.into_iter().map(|parent| parent.0);
    let mut next = || parents.next().expect("N is 1, 2 or 3");
    Tensor::from_dispatch(match N {
        1 => <Dispatch as Tape>::record1(output, next(), rule),
        2 => <Dispatch as Tape>::record2(output, next(), next(), rule),
        _ => <Dispatch as Tape>::record3(output, next(), next(), next(), rule),
    })
}
