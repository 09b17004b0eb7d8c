//! The exponential of a matrix, times vectors.

use super::taylor::{Plan, Shifted};
use crate::gradient::empty;
use crate::operator::device_of;
use crate::tape::pull;
use burn::tensor::{DType, Tensor};
use sparse_macros::or_panic;
use sparse_ops::extend::{Erased, Exact, Parts, associate, check_square, expect, record, same_elements};
use sparse_ops::pattern::Pattern;
use sparse_ops::{Fill, Result, SparseError, SparseTensor};

/// `exp(t A) b`, without the exponential itself: the solution at time `t` of `x' = A x` that begins at `b`.
///
/// `a` is `[n, n]` with fill zero or `Undefined`, COO or CSR, `b` is `[n]` or `[n, F]`; f32 or f64. In `s` steps, each
/// a truncated Taylor series of at most 55 terms (20 in f32) around the mean of the diagonal, with `s` from the exact
/// 1-norm of the rest. As exact as the dtype where `t A` is not far from normal. (`scipy.sparse.linalg.expm_multiply`,
/// which estimates norms of powers to need fewer steps of matrices that are far from normal.)
///
/// Backward: `d b = exp(t A^T) d x`, and of `A` on its own pattern the derivative of the series. The steps are run
/// again, each on a tape of its own, from about `sqrt(s)` kept states, so memory is `O(nnz + (terms + sqrt(s)) n F)`,
/// and the work about that of four forward passes. The mean of the diagonal is taken as a constant, since the exact
/// result does not depend on it. The derivative of a series has one term fewer: gradients have an error of at most
/// about a thousand times the dtype's rounding. Where `A` is a constant it is one pass with `A^T`.
///
/// A number of `b` that is not finite gives such numbers in its column, and leaves the others as they are.
///
/// Cost: about `5 |t A|_1` products with `A` where that is large. On a CPU a step ends where terms no longer count,
/// which reads three numbers for each.
///
/// Source: Al-Mohy and Higham, *Computing the action of the matrix exponential*, 2011, algorithm 3.2.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::CsrTensor;
/// use sparse_tensor::solve::expm_multiply;
///
/// let device = Device::flex().autodiff();
/// // A rotation by the angle t.
/// let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[0.0, -1.0], [1.0, 0.0]], &device)).require_grad();
/// let x = expm_multiply(&a, Tensor::<1>::from_floats([1.0, 0.0], &device), 0.5);
/// for (x, want) in x.clone().into_data().iter::<f32>().zip([0.5f32.cos(), 0.5f32.sin()]) {
///     assert!((x - want).abs() < 1e-6);
/// }
/// assert_eq!(a.grad(&x.sum().backward()).unwrap().nnz(), 2);
/// ```
///
/// # Errors
///
/// `shape_mismatch` if the matrix is not square, or `b` does not fit; `dtype_mismatch`, `unsupported_dtype`,
/// `device_mismatch`; `fill_mismatch` for another fill than zero or `Undefined`; `invalid` for a time or
/// numbers of the matrix that are not finite, with the row, and for a norm that would need more than 10^7 products.
#[or_panic]
pub fn try_expm_multiply<P: Pattern, const D: usize>(
    a: &SparseTensor<P, 2>,
    b: Tensor<D>,
    t: f64,
) -> Result<Tensor<D>> {
    const OP: &str = "expm_multiply";
    check(OP, a, &b)?;
    if b.dims().contains(&0) {
        let dims = b.dims();
        return empty(a, b, dims);
    }
    let plain = plain(a);
    let plan = Plan::new(OP, Shifted::of(OP, &plain)?, t, b.dtype())?;
    run(a, &plain, b, plan)
}

/// `exp(t A) b` at `num` times from `start` to `stop`, both of them included, in equal steps; of one time at `start`.
/// Each result goes on from the one before, so it takes no more products than the last one alone, if steps are not
/// short. See [`try_expm_multiply`] for the rest.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::solve::{Boundary, expm_multiply_grid, laplacian};
///
/// // Heat in a rod whose ends let nothing out.
/// let a = laplacian(&[4], Boundary::Neumann, &Device::flex()).unwrap().mul_scalar(-1.0);
/// let b = Tensor::<1>::from_floats([4.0, 0.0, 0.0, 0.0], &Device::flex());
/// let list = expm_multiply_grid(&a, b, 0.0, 30.0, 4);
/// let all = Tensor::stack::<2>(list, 0);
/// assert_eq!(all.dims(), [4, 4]);
/// for x in all.narrow(0, 3, 1).into_data().iter::<f32>() {
///     assert!((x - 1.0).abs() < 1e-3);
/// }
/// ```
///
/// # Errors
///
/// Those of [`try_expm_multiply`]; `invalid` for `num` 0.
#[or_panic]
pub fn try_expm_multiply_grid<P: Pattern, const D: usize>(
    a: &SparseTensor<P, 2>,
    b: Tensor<D>,
    start: f64,
    stop: f64,
    num: usize,
) -> Result<Vec<Tensor<D>>> {
    const OP: &str = "expm_multiply_grid";
    check(OP, a, &b)?;
    if num == 0 {
        return Err(SparseError::invalid(OP, "the number of times must be at least 1, got 0"));
    }
    if b.dims().contains(&0) {
        let dims = b.dims();
        return Ok(vec![empty(a, b, dims)?; num]);
    }
    let plain = plain(a);
    let (shifted, dtype) = (Shifted::of(OP, &plain)?, b.dtype());
    let first = run(a, &plain, b, Plan::new(OP, shifted, start, dtype)?)?;
    let mut list = vec![first];
    if num == 1 {
        return Ok(list);
    }
    let plan = Plan::new(OP, shifted, (stop - start) / (num - 1) as f64, dtype)?;
    while list.len() < num {
        let last = list.last().expect("it begins with one").clone();
        list.push(run(a, &plain, last, plan)?);
    }
    Ok(list)
}

fn check<P: Pattern, const D: usize>(op: &'static str, a: &SparseTensor<P, 2>, b: &Tensor<D>) -> Result<()> {
    check_square(op, a)?;
    let [n, _] = a.dims();
    if D > 2 || b.dims()[0] != n {
        let rule = "the right-hand side {left} must be [{right:0}] or have such columns";
        return Err(SparseError::shape_mismatch(op, rule, b.dims(), [n]));
    }
    if !matches!(b.dtype(), DType::F32 | DType::F64) {
        let dtype = format!("{:?}", b.dtype()).to_lowercase();
        return Err(SparseError::unsupported_dtype(op, "an exponential", dtype));
    }
    same_elements(op, a.rows(), b)?;
    match a.fill().is_zero() || a.fill().is_undefined() {
        true => Ok(()),
        false => Err(SparseError::wrong_fill(op, "zero or Undefined", a.fill(), "subtract the fill first")),
    }
}

/// Without the tape, and with fill zero.
fn plain<P: Pattern>(a: &SparseTensor<P, 2>) -> SparseTensor<P, 2> {
    let rows = a.rows().clone();
    a.with_rows(if rows.is_autodiff() { rows.inner() } else { rows }, Fill::Zero)
}

/// What the backward pass needs.
#[derive(Debug)]
struct Saved<P: Pattern> {
    a: SparseTensor<P, 2>,
    b: Tensor<2>,
    plan: Plan,
}

fn run<P: Pattern, const D: usize>(
    a: &SparseTensor<P, 2>,
    plain: &SparseTensor<P, 2>,
    b: Tensor<D>,
    plan: Plan,
) -> Result<Tensor<D>> {
    let (dims, n) = (b.dims(), b.dims()[0]);
    let b = b.reshape(Exact([n, dims.iter().product::<usize>() / n]));
    let start = if b.is_autodiff() { b.clone().inner() } else { b.clone() };
    let mut x = start.clone();
    for _ in 0..plan.steps {
        x = plan.step(plain, x)?;
    }
    let device = device_of([Some(b.device()), Some(a.device())]).filter(|device| device.is_autodiff());
    let Some(device) = device else { return Ok(x.reshape(Exact(dims))) };
    let on = |own: Tensor<2>| if own.is_autodiff() { own } else { associate(own, &device) };
    let parents = [on(a.rows().clone()), on(b)].map(Erased::from);
    let saved = Saved { a: plain.clone(), b: start, plan };
    Ok(record(x, parents, saved, backward::<P>).reshape(Exact(dims)))
}

fn backward<P: Pattern>(saved: &Saved<P>, mut grad: Tensor<2>, needs: [bool; 2]) -> [Option<Erased>; 2] {
    let Saved { a, b, plan } = saved;
    if !needs[0] {
        // The same series of the transposed matrix.
        let transposed = expect(a.try_transpose());
        for _ in 0..plan.steps {
            grad = expect(plan.step(&transposed, grad));
        }
        return [None, Some(grad.into())];
    }
    let forward = |x: &Tensor<2>| expect(plan.step(a, x.clone()));
    let block = (plan.steps as f64).sqrt().ceil() as usize;
    // The state before each block of steps.
    let mut states = vec![b.clone()];
    let mut x = b.clone();
    for step in 1..=(plan.steps - 1) / block * block {
        x = forward(&x);
        if step % block == 0 {
            states.push(x.clone());
        }
    }
    let mut of_matrix = a.rows().zeros_like();
    while let Some(first) = states.pop() {
        let end = plan.steps.min((states.len() + 1) * block);
        let mut inside = vec![first];
        for _ in states.len() * block + 1..end {
            inside.push(forward(inside.last().expect("it begins with one")));
        }
        for x in inside.into_iter().rev() {
            let rows = Tensor::from_inner(a.rows().clone()).require_grad();
            let x = Tensor::from_inner(x).require_grad();
            let grads = pull(&expect(plan.step_on_tape(&a.with_rows(rows.clone(), Fill::Zero), x.clone())), grad);
            of_matrix = rows.grad(&grads).map_or(of_matrix.clone(), |own| of_matrix + own);
            grad = x.grad(&grads).expect("a step begins with the state");
        }
    }
    [Some(of_matrix.into()), needs[1].then(|| grad.into())]
}
