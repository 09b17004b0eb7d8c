//! The one trait that is implemented for `Autodiff<B, C>`.

// Without a backend Burn's macro routes the arguments nowhere.
#![cfg_attr(
    not(any(feature = "flex", feature = "ndarray", feature = "gpu", feature = "remote")),
    allow(unused_variables)
)]

use burn::backend::{
    Autodiff, Backend, BackendTensor, DispatchKindConversion, DispatchTensor,
    autodiff::{
        checkpoint::{base::Checkpointer, strategy::CheckpointStrategy},
        grads::Gradients,
        ops::{Backward, NodeGuard, Ops, OpsKind},
    },
    backend_extension,
    tensor::FloatTensor,
};
use std::fmt;
use std::sync::Arc;

/// The function of a [`Rule`]: from the gradient of the output, and which parents need theirs, to the parents'
/// gradients.
type RuleFn = dyn Fn(DispatchTensor, &[bool]) -> Vec<Option<DispatchTensor>> + Send + Sync;

/// A joint backward rule with what it saved, ready for the tape.
#[derive(Clone)]
pub struct Rule(pub(crate) Arc<RuleFn>);

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Rule")
    }
}

/// A backend that can take a [`Rule`] for an output. Backends without a tape return the output as it is.
///
/// Use [`record`](crate::record) instead of these methods.
#[backend_extension(
    Flex: cfg(feature = "flex"),
    NdArray: cfg(feature = "ndarray"),
    Cube: cfg(feature = "gpu"),
    Remote: cfg(feature = "remote"),
    Autodiff,
)]
#[allow(unused_variables)]
pub trait Tape: Backend {
    /// An output of one parent.
    fn record1(output: FloatTensor<Self>, a: FloatTensor<Self>, rule: Rule) -> FloatTensor<Self> {
        output
    }
    /// An output of two parents.
    fn record2(output: FloatTensor<Self>, a: FloatTensor<Self>, b: FloatTensor<Self>, rule: Rule) -> FloatTensor<Self> {
        output
    }
    /// An output of three parents.
    fn record3(
        output: FloatTensor<Self>,
        a: FloatTensor<Self>,
        b: FloatTensor<Self>,
        c: FloatTensor<Self>,
        rule: Rule,
    ) -> FloatTensor<Self> {
        output
    }
}

#[cfg(feature = "flex")]
impl Tape for burn::backend::Flex {}
#[cfg(feature = "ndarray")]
impl Tape for burn::backend::NdArray {}
#[cfg(feature = "gpu")]
impl Tape for burn_cubecl::CubeBackend {}
#[cfg(feature = "remote")]
impl<R: burn_router::RouterChannel> Tape for burn_router::BackendRouter<R> {}
// Any crate of a build may turn Burn's fusion on. Then this type is the Cube and the Remote backend of Dispatch.
#[cfg(any(feature = "gpu", feature = "remote"))]
impl<B: burn_fusion::FusionBackend> Tape for burn_fusion::Fusion<B> {}

impl<B: Backend, C: CheckpointStrategy> Tape for Autodiff<B, C>
where
    DispatchTensor: DispatchKindConversion<B>,
{
    fn record1(output: FloatTensor<Self>, a: FloatTensor<Self>, rule: Rule) -> FloatTensor<Self> {
        attach::<B, C, 1>(output, [a.node()], rule)
    }
    fn record2(output: FloatTensor<Self>, a: FloatTensor<Self>, b: FloatTensor<Self>, rule: Rule) -> FloatTensor<Self> {
        attach::<B, C, 2>(output, [a.node(), b.node()], rule)
    }
    fn record3(
        output: FloatTensor<Self>,
        a: FloatTensor<Self>,
        b: FloatTensor<Self>,
        c: FloatTensor<Self>,
        rule: Rule,
    ) -> FloatTensor<Self> {
        attach::<B, C, 3>(output, [a.node(), b.node(), c.node()], rule)
    }
}

fn attach<B, C, const N: usize>(
    output: FloatTensor<Autodiff<B, C>>,
    parents: [NodeGuard; N],
    rule: Rule,
) -> FloatTensor<Autodiff<B, C>>
where
    B: Backend,
    C: CheckpointStrategy,
    DispatchTensor: DispatchKindConversion<B>,
{
    let output = output.into_primitive();
    match Recorded.prepare::<C>(parents).compute_bound().stateful() {
        OpsKind::Tracked(prep) => prep.finish(rule, output),
        OpsKind::UnTracked(prep) => prep.finish(output),
    }
}

#[derive(Debug)]
struct Recorded;

impl<B, const N: usize> Backward<B, N> for Recorded
where
    B: Backend,
    DispatchTensor: DispatchKindConversion<B>,
{
    type State = Rule;

    fn backward(self, ops: Ops<Rule, N>, grads: &mut Gradients, _checkpointer: &mut Checkpointer) {
        let grad = grads.consume::<B>(&ops.node);
        let grad = DispatchTensor::from_backend(BackendTensor::<B>::Float(grad));
        let needs = ops.parents.each_ref().map(Option::is_some);
        for (parent, grad) in ops.parents.into_iter().zip(ops.state.0(grad, &needs)) {
            if let (Some(parent), Some(grad)) = (parent, grad) {
                let grad = DispatchTensor::try_into_backend(grad).unwrap_or_else(|trouble| {
                    panic!("record: the gradient must be on the output's backend, got {trouble}")
                });
                grads.register::<B>(parent.id, BackendTensor::<B>::float(grad));
            }
        }
    }
}
