//! Linear maps, as solvers see them.

use burn::module::Module;
use burn::tensor::Tensor;
use sparse_ops::extend::Exact;
use sparse_ops::pattern::Pattern;
use sparse_ops::{CsrTensor, Result, SparseError, SparseTensor};
use std::fmt::Debug;
use std::sync::Arc;

/// A matrix `[rows, cols]` by what it does to columns.
///
/// Implemented for COO and CSR tensors, for dense matrices, and for a batched [`CsrTensor`], which is a matrix for each
/// system. [`Operator`] makes others of these, or of closures.
pub trait LinearOperator: Debug + Send + Sync {
    /// Rows and columns, of all systems of a batch together.
    fn dims(&self) -> [usize; 2];

    /// The number of systems of a batch: blocks of one size on the diagonal. `None` of a single matrix.
    fn batch(&self) -> Option<usize> {
        None
    }

    /// `A x`, `[cols, F]` to `[rows, F]`. On the tape where what it is made of is on the tape.
    ///
    /// # Errors
    ///
    /// Those of its products.
    fn try_apply(&self, x: Tensor<2>) -> Result<Tensor<2>>;

    /// `A^T x`, `[rows, F]` to `[cols, F]`.
    ///
    /// # Errors
    ///
    /// Those of its products; `invalid` if it has no transposed product.
    fn try_apply_transposed(&self, x: Tensor<2>) -> Result<Tensor<2>>;

    /// The same without the tape.
    fn valid(&self) -> Operator;
}

/// A shared [`LinearOperator`], and what is made of several: sums, products, scalings, Kronecker products, blocks.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::CsrTensor;
/// use sparse_tensor::solve::{LinearOperator, Operator};
///
/// let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[4.0, 1.0], [1.0, 3.0]], &Device::flex()));
/// // A + u v^T, of which no dense matrix is made.
/// let column = |list: [f32; 2]| Operator::from(Tensor::<1>::from_floats(list, &Device::flex()).reshape([2, 1]));
/// let updated = Operator::from(a) + column([1.0, 0.0]) * column([0.0, 1.0]).transposed();
/// let y = updated.try_apply(Tensor::from_floats([[1.0], [1.0]], &Device::flex())).unwrap();
/// assert_eq!(y.into_data().to_vec::<f32>().unwrap(), [6.0, 4.0]);
/// ```
#[derive(Debug, Clone)]
pub struct Operator(Arc<dyn LinearOperator>);

impl LinearOperator for Operator {
    fn dims(&self) -> [usize; 2] {
        self.0.dims()
    }

    fn batch(&self) -> Option<usize> {
        self.0.batch()
    }

    fn try_apply(&self, x: Tensor<2>) -> Result<Tensor<2>> {
        self.0.try_apply(x)
    }

    fn try_apply_transposed(&self, x: Tensor<2>) -> Result<Tensor<2>> {
        self.0.try_apply_transposed(x)
    }

    fn valid(&self) -> Operator {
        self.0.valid()
    }
}

impl Operator {
    /// Shares an operator of your own.
    pub fn new(operator: impl LinearOperator + 'static) -> Self {
        Self(Arc::new(operator))
    }

    /// The identity `[n, n]`.
    pub fn identity(n: usize) -> Self {
        Self::new(Identity(n))
    }

    /// `A^T`.
    pub fn transposed(self) -> Self {
        Self::new(Transposed(self))
    }

    /// The Kronecker product `A (x) B`: `A` on the outer and `B` on the inner index of a vector
    /// `[cols of A * cols of B]`.
    pub fn kron(self, inner: Operator) -> Self {
        Self::new(Kron(self, inner))
    }

    /// A matrix of blocks; `None` is zero.
    ///
    /// # Errors
    ///
    /// `invalid` if the rows of blocks have other lengths, or a row or column of blocks has no block; `shape_mismatch`
    /// if the blocks of a row or a column have other sizes; `empty_input`.
    pub fn try_blocks(rows: Vec<Vec<Option<Operator>>>) -> Result<Self> {
        Blocks::new(rows).map(Self::new)
    }
}

impl From<Tensor<2>> for Operator {
    fn from(matrix: Tensor<2>) -> Self {
        Self::new(matrix)
    }
}

impl<P: Pattern> From<SparseTensor<P, 2>> for Operator {
    fn from(matrix: SparseTensor<P, 2>) -> Self {
        Self::new(matrix)
    }
}

impl From<CsrTensor<3>> for Operator {
    fn from(matrices: CsrTensor<3>) -> Self {
        Self::new(matrices)
    }
}

impl std::ops::Add for Operator {
    type Output = Self;

    /// `A + B`. The sizes are compared when it is applied.
    fn add(self, other: Self) -> Self {
        Self::new(Sum(self, other))
    }
}

impl std::ops::Mul for Operator {
    type Output = Self;

    /// `A B`: `B` is applied first.
    fn mul(self, other: Self) -> Self {
        Self::new(Product(self, other))
    }
}

impl std::ops::Mul<f64> for Operator {
    type Output = Self;

    fn mul(self, factor: f64) -> Self {
        Self::new(Scaled(self, factor))
    }
}

impl<P: Pattern> LinearOperator for SparseTensor<P, 2> {
    fn dims(&self) -> [usize; 2] {
        SparseTensor::dims(self)
    }

    fn try_apply(&self, x: Tensor<2>) -> Result<Tensor<2>> {
        self.try_matmul(x)
    }

    fn try_apply_transposed(&self, x: Tensor<2>) -> Result<Tensor<2>> {
        self.try_transpose()?.try_matmul(x)
    }

    fn valid(&self) -> Operator {
        Operator::new(Module::valid(self))
    }
}

impl LinearOperator for CsrTensor<3> {
    fn dims(&self) -> [usize; 2] {
        let [batch, rows, cols] = CsrTensor::dims(self);
        [batch * rows, batch * cols]
    }

    fn batch(&self) -> Option<usize> {
        Some(CsrTensor::dims(self)[0])
    }

    fn try_apply(&self, x: Tensor<2>) -> Result<Tensor<2>> {
        let ([batch, rows, cols], [_, width]) = (CsrTensor::dims(self), x.dims());
        let out = self.try_matmul(x.reshape(Exact([batch, cols, width])))?;
        Ok(out.reshape(Exact([batch * rows, width])))
    }

    fn try_apply_transposed(&self, x: Tensor<2>) -> Result<Tensor<2>> {
        self.try_transpose()?.try_apply(x)
    }

    fn valid(&self) -> Operator {
        Operator::new(Module::valid(self))
    }
}

impl LinearOperator for Tensor<2> {
    fn dims(&self) -> [usize; 2] {
        Tensor::dims(self)
    }

    fn try_apply(&self, x: Tensor<2>) -> Result<Tensor<2>> {
        check_sizes("apply", Tensor::dims(self), &x)?;
        Ok(self.clone().matmul(x))
    }

    fn try_apply_transposed(&self, x: Tensor<2>) -> Result<Tensor<2>> {
        self.clone().swap_dims(0, 1).try_apply(x)
    }

    fn valid(&self) -> Operator {
        Operator::new(self.clone().inner())
    }
}

fn check_sizes(op: &'static str, dims: [usize; 2], x: &Tensor<2>) -> Result<()> {
    match x.dims()[0] == dims[1] {
        true => Ok(()),
        false => {
            let rule = "the matrix {left} must have a column for each row of {right}";
            Err(SparseError::shape_mismatch(op, rule, dims, x.dims()))
        }
    }
}

#[derive(Debug)]
struct Identity(usize);

impl LinearOperator for Identity {
    fn dims(&self) -> [usize; 2] {
        [self.0; 2]
    }

    fn try_apply(&self, x: Tensor<2>) -> Result<Tensor<2>> {
        check_sizes("Operator::identity", self.dims(), &x).map(|()| x)
    }

    fn try_apply_transposed(&self, x: Tensor<2>) -> Result<Tensor<2>> {
        self.try_apply(x)
    }

    fn valid(&self) -> Operator {
        Operator::identity(self.0)
    }
}

#[derive(Debug)]
struct Transposed(Operator);

impl LinearOperator for Transposed {
    fn dims(&self) -> [usize; 2] {
        let [rows, cols] = self.0.dims();
        [cols, rows]
    }

    fn batch(&self) -> Option<usize> {
        self.0.batch()
    }

    fn try_apply(&self, x: Tensor<2>) -> Result<Tensor<2>> {
        self.0.try_apply_transposed(x)
    }

    fn try_apply_transposed(&self, x: Tensor<2>) -> Result<Tensor<2>> {
        self.0.try_apply(x)
    }

    fn valid(&self) -> Operator {
        self.0.valid().transposed()
    }
}

#[derive(Debug)]
struct Scaled(Operator, f64);

impl LinearOperator for Scaled {
    fn dims(&self) -> [usize; 2] {
        self.0.dims()
    }

    fn batch(&self) -> Option<usize> {
        self.0.batch()
    }

    fn try_apply(&self, x: Tensor<2>) -> Result<Tensor<2>> {
        Ok(self.0.try_apply(x)?.mul_scalar(self.1))
    }

    fn try_apply_transposed(&self, x: Tensor<2>) -> Result<Tensor<2>> {
        Ok(self.0.try_apply_transposed(x)?.mul_scalar(self.1))
    }

    fn valid(&self) -> Operator {
        self.0.valid() * self.1
    }
}

#[derive(Debug)]
struct Sum(Operator, Operator);

impl Sum {
    fn add(&self, left: Tensor<2>, right: Tensor<2>) -> Result<Tensor<2>> {
        match left.dims() == right.dims() {
            true => Ok(left + right),
            false => {
                let rule = "the operators of a sum must have one shape";
                Err(SparseError::shape_mismatch("Operator::add", rule, self.0.dims(), self.1.dims()))
            }
        }
    }
}

impl LinearOperator for Sum {
    fn dims(&self) -> [usize; 2] {
        self.0.dims()
    }

    fn batch(&self) -> Option<usize> {
        self.0.batch()
    }

    fn try_apply(&self, x: Tensor<2>) -> Result<Tensor<2>> {
        self.add(self.0.try_apply(x.clone())?, self.1.try_apply(x)?)
    }

    fn try_apply_transposed(&self, x: Tensor<2>) -> Result<Tensor<2>> {
        self.add(self.0.try_apply_transposed(x.clone())?, self.1.try_apply_transposed(x)?)
    }

    fn valid(&self) -> Operator {
        self.0.valid() + self.1.valid()
    }
}

#[derive(Debug)]
struct Product(Operator, Operator);

impl LinearOperator for Product {
    fn dims(&self) -> [usize; 2] {
        [self.0.dims()[0], self.1.dims()[1]]
    }

    fn batch(&self) -> Option<usize> {
        self.0.batch()
    }

    fn try_apply(&self, x: Tensor<2>) -> Result<Tensor<2>> {
        self.0.try_apply(self.1.try_apply(x)?)
    }

    fn try_apply_transposed(&self, x: Tensor<2>) -> Result<Tensor<2>> {
        self.1.try_apply_transposed(self.0.try_apply_transposed(x)?)
    }

    fn valid(&self) -> Operator {
        self.0.valid() * self.1.valid()
    }
}

#[derive(Debug)]
struct Kron(Operator, Operator);

/// `A (x) B`: with the vector as a matrix `[cols of A, cols of B]` it is `A X B^T`.
fn kron(
    sizes: [[usize; 2]; 2],
    x: Tensor<2>,
    apply: [&dyn Fn(Tensor<2>) -> Result<Tensor<2>>; 2],
) -> Result<Tensor<2>> {
    let ([[rows, cols], [inner_rows, inner_cols]], [_, width]) = (sizes, x.dims());
    let x = x.reshape(Exact([cols, inner_cols, width])).permute([1, 0, 2]).reshape(Exact([inner_cols, cols * width]));
    let x = apply[1](x)?.reshape(Exact([inner_rows, cols, width])).permute([1, 0, 2]);
    let x = apply[0](x.reshape(Exact([cols, inner_rows * width])))?;
    Ok(x.reshape(Exact([rows * inner_rows, width])))
}

impl LinearOperator for Kron {
    fn dims(&self) -> [usize; 2] {
        let ([rows, cols], [inner_rows, inner_cols]) = (self.0.dims(), self.1.dims());
        [rows * inner_rows, cols * inner_cols]
    }

    fn try_apply(&self, x: Tensor<2>) -> Result<Tensor<2>> {
        check_sizes("Operator::kron", self.dims(), &x)?;
        let sizes = [self.0.dims(), self.1.dims()];
        kron(sizes, x, [&|x| self.0.try_apply(x), &|x| self.1.try_apply(x)])
    }

    fn try_apply_transposed(&self, x: Tensor<2>) -> Result<Tensor<2>> {
        let [rows, cols] = self.dims();
        check_sizes("Operator::kron", [cols, rows], &x)?;
        let sizes = [self.0.dims(), self.1.dims()].map(|[rows, cols]| [cols, rows]);
        kron(sizes, x, [&|x| self.0.try_apply_transposed(x), &|x| self.1.try_apply_transposed(x)])
    }

    fn valid(&self) -> Operator {
        self.0.valid().kron(self.1.valid())
    }
}

#[derive(Debug)]
struct Blocks {
    rows: Vec<Vec<Option<Operator>>>,
    heights: Vec<usize>,
    widths: Vec<usize>,
}

impl Blocks {
    fn new(rows: Vec<Vec<Option<Operator>>>) -> Result<Self> {
        const OP: &str = "Operator::blocks";
        let count = rows.first().map_or(0, Vec::len);
        if count == 0 {
            return Err(SparseError::empty_input(OP, "must have at least one block"));
        }
        if let Some(at) = rows.iter().position(|row| row.len() != count) {
            let message =
                format!("rows must have as many blocks as the first, {count}, got {} in row {at}", rows[at].len());
            return Err(SparseError::invalid(OP, message));
        }
        let (mut heights, mut widths) = (vec![None; rows.len()], vec![None; count]);
        for (i, row) in rows.iter().enumerate() {
            for (j, block) in row.iter().enumerate().filter_map(|(j, block)| Some((j, block.as_ref()?))) {
                let [height, width] = block.dims();
                let wanted = [*heights[i].get_or_insert(height), *widths[j].get_or_insert(width)];
                if wanted != [height, width] {
                    let rule = "the blocks of a row must have as many rows, and those of a column as many columns";
                    return Err(SparseError::shape_mismatch(OP, rule, wanted, [height, width]));
                }
            }
        }
        let known = |sizes: Vec<Option<usize>>, what: &str| {
            let lacking = sizes.iter().position(Option::is_none);
            let message = |at| format!("each {what} must have a block that gives its size, got none in {what} {at}");
            lacking.map_or_else(
                || Ok(sizes.into_iter().flatten().collect()),
                |at| Err(SparseError::invalid(OP, message(at))),
            )
        };
        Ok(Self { rows, heights: known(heights, "row")?, widths: known(widths, "column")? })
    }

    /// The blocks of each output with the input that each reads.
    fn join(
        x: Tensor<2>,
        inputs: &[usize],
        outputs: &[usize],
        apply: impl Fn(usize, usize, Tensor<2>) -> Option<Result<Tensor<2>>>,
    ) -> Result<Tensor<2>> {
        check_sizes("Operator::blocks", [outputs.iter().sum(), inputs.iter().sum()], &x)?;
        let [_, width] = x.dims();
        let starts: Vec<usize> = inputs.iter().scan(0, |end, size| Some(std::mem::replace(end, *end + size))).collect();
        let mut parts = Vec::with_capacity(outputs.len());
        for (to, &height) in outputs.iter().enumerate() {
            let mut sum: Option<Tensor<2>> = None;
            for (from, (&start, &size)) in starts.iter().zip(inputs).enumerate() {
                let Some(term) = apply(to, from, x.clone().slice(start..start + size)) else { continue };
                let term = term?;
                sum = Some(match sum {
                    Some(sum) => sum + term,
                    None => term,
                });
            }
            parts.push(sum.unwrap_or_else(|| Tensor::zeros([height, width], (&x.device(), x.dtype()))));
        }
        Ok(Tensor::cat(parts, 0))
    }
}

impl LinearOperator for Blocks {
    fn dims(&self) -> [usize; 2] {
        [self.heights.iter().sum(), self.widths.iter().sum()]
    }

    fn try_apply(&self, x: Tensor<2>) -> Result<Tensor<2>> {
        Self::join(x, &self.widths, &self.heights, |i, j, x| Some(self.rows[i][j].as_ref()?.try_apply(x)))
    }

    fn try_apply_transposed(&self, x: Tensor<2>) -> Result<Tensor<2>> {
        Self::join(x, &self.heights, &self.widths, |j, i, x| Some(self.rows[i][j].as_ref()?.try_apply_transposed(x)))
    }

    fn valid(&self) -> Operator {
        let rows = self.rows.iter().map(|row| row.iter().map(|block| Some(block.as_ref()?.valid())).collect());
        Operator::new(Self { rows: rows.collect(), heights: self.heights.clone(), widths: self.widths.clone() })
    }
}
