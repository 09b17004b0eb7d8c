//! Columns of all systems side by side, and a number for each.

use super::pass::Pass;
pub use super::pass::{Numbers, Vectors};
use crate::operator::LinearOperator;
use burn::tensor::{Bool, DType, Shape, Tensor, TensorData};
use sparse_core::for_chunks;
use sparse_ops::Result;
use sparse_ops::extend::{Exact, read_data, sum_dim};

pub fn dot(a: &Vectors, b: &Vectors) -> Numbers {
    if a.dims() != b.dims() {
        return sum_dim(a.clone() * b.clone(), 1);
    }
    let mut pass = Pass::default();
    let pair = [a, b].map(|own| pass.vector(own.clone()));
    let ([], [dot]) = pass.run([], [pair]);
    dot
}

pub fn norm(a: &Vectors) -> Numbers {
    dot(a, a).sqrt()
}

/// The largest absolute value.
pub fn largest(a: &Vectors) -> Numbers {
    a.clone().abs().max_dim(1)
}

/// `scale x`, where nobody else has `x` in its memory.
pub fn scaled(x: Vectors, scale: Numbers) -> Vectors {
    let mut pass = Pass::default();
    let x = pass.vector(x);
    let x = pass.add(None, scale, x);
    let ([x], []) = pass.run([x], []);
    x
}

/// 0 of columns of finite numbers, else NaN.
pub fn spoiled(x: &Vectors) -> Numbers {
    let mut pass = Pass::default();
    let (zero, x) = (x.clone().narrow(1, 0, 1).zeros_like(), pass.vector(x.clone()));
    pass.spoiled(x, zero)
}

/// The vector over its largest absolute value, and that; 1 of zeros. Squares of very small or large numbers would be 0
/// or infinite. Not finite if a number is not.
pub fn evened(a: &Vectors) -> (Vectors, Numbers) {
    let most = largest(a);
    let most = most.clone().mask_fill(most.equal_scalar(0.0), 1.0);
    (a.clone() / most.clone(), most)
}

/// `a / b`, and 0 where `b` is 0: a column that is solved, or that broke down, stays where it is.
pub fn ratio(a: Numbers, b: Numbers) -> Numbers {
    let zero = b.clone().equal_scalar(0.0);
    (a / b.mask_fill(zero.clone(), 1.0)).mask_fill(zero, 0.0)
}

/// A vector of length 1 and its length before; 0 stays 0.
pub fn unit(x: Vectors) -> (Vectors, Numbers) {
    let size = norm(&x);
    (x * ratio(size.ones_like(), size.clone()), size)
}

/// The same of numbers of any scale.
pub fn unit_of_any(x: &Vectors) -> (Vectors, Numbers) {
    let (share, most) = evened(x);
    let (x, size) = unit(share);
    (x, size * most)
}

/// `sqrt(a^2 + b^2)`.
pub fn hypot(a: &Numbers, b: &Numbers) -> Numbers {
    (a.clone().powi_scalar(2) + b.clone().powi_scalar(2)).sqrt()
}

/// 1 where it holds, else 0.
pub fn indicator(holds: Tensor<3, Bool>, like: &Numbers) -> Numbers {
    like.zeros_like().mask_fill(holds, 1.0)
}

/// The columns of `new` where `taken` holds, else those of `old`.
pub fn choose(taken: Tensor<3, Bool>, new: Vectors, old: Vectors) -> Vectors {
    let taken: Tensor<3, Bool> = taken.expand(Shape::from(old.dims()));
    old.mask_where(taken, new)
}

/// A number of the host for each column.
pub fn from_host(list: Vec<f64>, like: &Numbers) -> Numbers {
    Tensor::from_data(TensorData::new(list, like.dims()), (&like.device(), like.dtype()))
}

/// Numbers for each column, in one read.
pub fn read<const N: usize>(list: [&Numbers; N]) -> [Vec<f64>; N] {
    let width = list.first().map_or(1, |own| own.dims()[2]);
    let all = read_data(Tensor::cat(list.into_iter().cloned().collect(), 1)).convert::<f64>();
    let all: Vec<f64> = all.iter().collect();
    std::array::from_fn(|own| {
        all.chunks(N * width).flat_map(|system| system[own * width..][..width].iter().copied()).collect()
    })
}

/// `A x`.
pub fn apply(a: &dyn LinearOperator, x: &Vectors) -> Result<Vectors> {
    let [systems, n, width] = x.dims();
    let out = a.try_apply(x.clone().reshape(Exact([systems * n, width])))?;
    let rows = out.dims()[0] / systems;
    Ok(out.reshape(Exact([systems, rows, width])))
}

/// What a residual is measured with: itself at the first attempt, else random numbers.
pub fn shadow(attempt: usize, residual: &Vectors) -> Vectors {
    match attempt {
        0 => residual.clone(),
        _ => residual.zeros_like() + random(attempt, residual.dims()[1], residual),
    }
}

/// The distance of 1 to the next number.
pub fn eps(dtype: DType) -> f64 {
    if dtype == DType::F64 { f64::EPSILON } else { f64::from(f32::EPSILON) }
}

/// One vector `[1, n, 1]` of numbers in `[-1, 1)`, the same on every device. (SplitMix64.)
pub fn random(seed: usize, n: usize, like: &Vectors) -> Vectors {
    const PIECE: usize = 1 << 12;
    let number = |at: usize| {
        let mut bits = ((seed as u64) << 40).wrapping_add(at as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((bits ^ (bits >> 31)) >> 40) as f32 / (1u32 << 23) as f32 - 1.0
    };
    fn list<T: Copy + Default + Send>(n: usize, number: &(dyn Fn(usize) -> T + Sync)) -> Vec<T> {
        let mut list = vec![T::default(); n];
        for_chunks(&mut list, PIECE, &|piece, own| {
            own.iter_mut().enumerate().for_each(|(k, own)| *own = number(piece * PIECE + k));
        });
        list
    }
    let data = match like.dtype() {
        DType::F64 => TensorData::new(list::<f64>(n, &|at| number(at).into()), [1, n, 1]),
        _ => TensorData::new(list::<f32>(n, &number), [1, n, 1]),
    };
    Tensor::from_data(data, (&like.device(), like.dtype()))
}
