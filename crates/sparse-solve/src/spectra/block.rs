//! Blocks of vectors `[n, k]` on the device.

use super::small::{Small, eigh, part, read, to_device};
use crate::krylov::vectors::{self as krylov, Vectors, dot, eps, from_host, random};
use burn::tensor::{Tensor, TensorData};
use sparse_ops::extend::kernel::{self, ColumnPass, ColumnStep};
use sparse_ops::extend::{Exact, sum_dim};
use sparse_ops::{Result, SparseError};

pub type Block = Tensor<2>;

/// How many rows are multiplied at once in [`gram`].
const ROWS: usize = 4096;

/// `A^T B`, `[n, p]` and `[n, q]` to `[p, q]`. Summed in parts: these run side by side, and rounding is less.
pub fn gram(a: &Block, b: &Block) -> Block {
    let ([n, p], [_, q]) = (a.dims(), b.dims());
    let whole = |a: Block, b: Block| a.swap_dims(0, 1).matmul(b);
    let count = n / ROWS;
    if p * q == 0 || n == 0 {
        return Tensor::zeros([p, q], (&a.device(), a.dtype()));
    }
    if count < 2 {
        return whole(a.clone(), b.clone());
    }
    let head = count * ROWS;
    let cut = |x: &Block, cols: usize| {
        let own = if head == n { x.clone() } else { x.clone().narrow(0, 0, head) };
        own.reshape(Exact([count, ROWS, cols]))
    };
    let parts: Tensor<3> = cut(a, p).swap_dims(1, 2).matmul(cut(b, q));
    let sum = sum_dim(parts, 0).reshape(Exact([p, q]));
    match n - head {
        0 => sum,
        rest => sum + whole(a.clone().narrow(0, head, rest), b.clone().narrow(0, head, rest)),
    }
}

/// `A C` with a matrix of the host.
pub fn times(a: &Block, c: &Small) -> Block {
    let [product] = combine(&[a], [to_device(c, a)]);
    product
}

/// `[A_1 A_2 ..] C` for each matrix `C`.
pub fn combine<const N: usize>(blocks: &[&Block], matrices: [Block; N]) -> [Block; N] {
    let results = kernel::combine_columns(blocks, matrices.as_slice());
    results.try_into().expect("a result for each matrix")
}

/// The columns times a number each.
pub fn scaled(a: &Block, factors: &[f64]) -> Block {
    let row = TensorData::new(factors.to_vec(), [1, factors.len()]);
    a.clone() * Tensor::<2>::from_data(row, (&a.device(), a.dtype()))
}

/// As the vectors of one system.
pub fn vectors(a: &Block) -> Vectors {
    let [n, k] = a.dims();
    a.clone().reshape(Exact([1, n, k]))
}

/// The squared length of each column, `[1, k]`.
pub fn squares(a: &Block) -> Block {
    if a.dims().contains(&0) {
        return sum_dim(a.clone() * a.clone(), 0);
    }
    let columns = vectors(a);
    dot(&columns, &columns).reshape(Exact([1, a.dims()[1]]))
}

/// `A - B` times a number for each column, and the squared length of each column.
pub fn residual(a: &Block, b: &Block, factors: &[f64]) -> (Block, Block) {
    let [n, k] = a.dims();
    if n * k == 0 {
        let r = a.clone() - scaled(b, factors);
        return (r.clone(), squares(&r));
    }
    let step = ColumnStep::Add { x: Some(0), scale: 0, y: 1 };
    let pass = ColumnPass { steps: vec![step], kept: vec![0], dots: vec![[2, 2]] };
    let columns = [a, b].map(vectors);
    let down = factors.iter().map(|factor| -factor).collect();
    let down = from_host(down, &columns[0].clone().narrow(1, 0, 1));
    let mut results = kernel::column_pass(&pass, columns.as_slice(), [down].as_slice()).into_iter();
    let mut next = |rows: usize| results.next().expect("what is kept, and the sums").reshape(Exact([rows, k]));
    (next(n), next(1))
}

/// The length of each column.
pub fn lengths<const N: usize>(list: [&Block; N]) -> [Vec<f64>; N] {
    roots(list.map(squares))
}

/// Square roots of what rounding may have made negative.
pub fn roots<const N: usize>(squares: [Block; N]) -> [Vec<f64>; N] {
    read(squares.each_ref()).map(|own| (0..own.ncols()).map(|at| own[(0, at)].max(0.0).sqrt()).collect())
}

/// Each column divided by its largest absolute value.
pub fn evened(a: Block) -> Block {
    if a.dims().contains(&0) {
        return a;
    }
    let dims = a.dims();
    krylov::evened(&vectors(&a)).0.reshape(Exact(dims))
}

/// The length of each column, whose squares need not be in range.
pub fn lengths_of_any(a: &Block) -> Vec<f64> {
    if a.dims().contains(&0) {
        return vec![0.0; a.dims()[1]];
    }
    let (share, most) = krylov::evened(&vectors(a));
    let row = |own: Vectors| own.reshape(Exact([1, a.dims()[1]]));
    let [squares, most] = read([&row(dot(&share, &share)), &row(most)]);
    (0..most.ncols()).map(|at| squares[(0, at)].max(0.0).sqrt() * most[(0, at)]).collect()
}

/// That the mass is not positive definite, and in which iteration that was seen.
pub fn not_positive(op: &'static str, at: usize) -> SparseError {
    SparseError::invalid(op, format!("the mass must be positive definite, got another one in iteration {at}"))
}

/// # Errors
///
/// `invalid` if a diagonal element of `W^T B W` is negative by more than rounding: the message says in which iteration.
pub fn check_positive(op: &'static str, w: &Block, mass: Option<&Block>, gram: &Small, at: usize) -> Result<()> {
    let Some(mass) = mass.filter(|_| (0..gram.nrows()).any(|at| gram[(at, at)] < 0.0)) else { return Ok(()) };
    let [of_w, of_mass] = lengths([w, mass]);
    match (0..gram.nrows()).any(|col| gram[(col, col)] < -10.0 * eps(w.dtype()) * of_w[col] * of_mass[col]) {
        true => Err(not_positive(op, at)),
        false => Ok(()),
    }
}

/// Side by side.
pub fn join(a: Block, b: Block) -> Block {
    match (a.dims()[1], b.dims()[1]) {
        (_, 0) => a,
        (0, _) => b,
        _ => Tensor::cat(vec![a, b], 1),
    }
}

/// The columns of a list.
pub fn pick(a: &Block, list: &[usize]) -> Block {
    if list.len() == a.dims()[1] && list.iter().enumerate().all(|(at, own)| at == *own) {
        return a.clone();
    }
    let cols = a.dims()[1];
    times(a, &Small::from_fn(cols, list.len(), |i, j| if list[j] == i { 1.0 } else { 0.0 }))
}

/// For each column the sign that makes its product with a fixed random vector positive.
pub fn signs(a: &Block) -> Vec<f64> {
    let probe = random_block(usize::from(u16::MAX), [a.dims()[0], 1], a);
    let [products] = read([&gram(&probe, a)]);
    (0..products.ncols()).map(|at| if products[(0, at)] < 0.0 { -1.0 } else { 1.0 }).collect()
}

/// Numbers in `[-1, 1)`, the same on every device.
pub fn random_block(seed: usize, [n, k]: [usize; 2], like: &Block) -> Block {
    let none = Tensor::<3>::zeros([1, 1, 1], (&like.device(), like.dtype()));
    random(seed, n * k, &none).reshape(Exact([n, k]))
}

/// What an orthonormalisation gives: `W = Q R`, where `W` had full rank.
pub struct Orthonormal {
    pub q: Block,
    /// `B Q`.
    pub mass: Option<Block>,
    pub r: Small,
    /// How much of the least independent direction was there, 1 for an orthogonal block.
    pub least: f64,
}

/// An orthonormal basis of the columns with respect to `B`, of which `mass` is `B W`. Directions that are only rounding
/// are left out, so there may be fewer columns. (SVQB: Stathopoulos and Wu 2002.)
///
/// # Errors
///
/// `invalid` if a number is not finite.
pub fn svqb(op: &'static str, w: Block, mass: Option<Block>, at: usize) -> Result<Orthonormal> {
    let [gram] = read([&gram(&w, mass.as_ref().unwrap_or(&w))]);
    svqb_with(op, w, mass, &gram, at)
}

/// The same where `W^T B W` is known.
pub fn svqb_with(op: &'static str, w: Block, mass: Option<Block>, gram: &Small, at: usize) -> Result<Orthonormal> {
    super::small::check_finite(op, gram, at)?;
    check_positive(op, &w, mass.as_ref(), gram, at)?;
    let k = gram.nrows();
    let tiny = eps(w.dtype());
    let sizes: Vec<f64> = (0..k).map(|i| gram[(i, i)].max(0.0).sqrt()).collect();
    let inverse: Vec<f64> = sizes.iter().map(|&size| if size > 0.0 { 1.0 / size } else { 0.0 }).collect();
    let share = Small::from_fn(k, k, |i, j| gram[(i, j)] * inverse[i] * inverse[j]);
    let (values, vectors) = eigh(op, &share)?;
    let most = values.last().copied().unwrap_or(0.0);
    let from = values.iter().position(|&value| value > 100.0 * tiny * most && value > 0.0).unwrap_or(k);
    let kept = part(&vectors, 0..k, from..k);
    let root = |j: usize| values[from + j].sqrt();
    let c = Small::from_fn(k, k - from, |i, j| inverse[i] * kept[(i, j)] / root(j));
    let r = Small::from_fn(k - from, k, |i, j| root(i) * kept[(j, i)] * sizes[j]);
    let least = values.get(from).map_or(0.0, |least| (least / most).sqrt());
    Ok(Orthonormal { q: times(&w, &c), mass: mass.map(|mass| times(&mass, &c)), r, least })
}
