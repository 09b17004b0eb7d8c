//! Powers of a matrix.

use sparse_macros::or_panic;
use sparse_ops::extend::check_square;
use sparse_ops::{CsrTensor, Result};

/// `A^n`, stored, by repeated squaring; the identity for `n = 0`. Gradients reach `A` through the products. Cost: at
/// most `2 log2(n)` products of sparse matrices, whose results fill up. For `A^n b` multiply `n` times instead.
/// (`scipy.sparse.linalg.matrix_power`.)
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::CsrTensor;
/// use sparse_tensor::solve::matrix_power;
///
/// // Fibonacci's numbers.
/// let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[1.0, 1.0], [1.0, 0.0]], &Device::flex()));
/// let list: Vec<f32> = matrix_power(&a, 10).to_dense().into_data().iter().collect();
/// assert_eq!(list, [89.0, 55.0, 55.0, 34.0]);
/// ```
///
/// # Errors
///
/// `shape_mismatch` if the matrix is not square; those of the products, as `would_densify` for another fill than zero
/// or `Undefined`.
#[or_panic]
pub fn try_matrix_power(a: &CsrTensor<2>, n: usize) -> Result<CsrTensor<2>> {
    const OP: &str = "matrix_power";
    check_square(OP, a)?;
    let Some(lowest) = (n != 0).then(|| n.trailing_zeros()) else {
        return CsrTensor::try_eye(a.dims()[0], (&a.device(), a.dtype()));
    };
    let mut square = a.clone();
    for _ in 0..lowest {
        square = square.try_matmul(&square)?;
    }
    let (mut out, mut rest) = (square.clone(), n >> lowest >> 1);
    while rest > 0 {
        square = square.try_matmul(&square)?;
        if rest % 2 == 1 {
            out = out.try_matmul(&square)?;
        }
        rest /= 2;
    }
    Ok(out)
}
