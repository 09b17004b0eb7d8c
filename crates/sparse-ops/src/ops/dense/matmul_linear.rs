//! A sparse product and a dense one after it, some rows at a time.

use crate::base::checks::same_elements;
use crate::base::exact::Exact;
use crate::base::kind::associate;
use crate::kernel;
use crate::ops::dense::linear::{linear, linear_on_tape};
use crate::ops::products::matmul::{fill_term, matrix};
use crate::ops::products::matmul_then::Epilogue;
use crate::ops::products::operand::Operand;
use crate::ops::products::spmm::spmm_on_tape;
use crate::pattern::layout::Pattern;
use crate::policy;
use crate::tensor::sparse::SparseTensor;
use burn::tensor::Tensor;
use sparse_core::{Result, SparseError};

/// `relu(a x weight + bias)`, each part as the epilogue says: `[M, N] x [N, d_input] x [d_input, d_output]`. The sparse
/// product comes first.
///
/// The answer is that of [`matmul`](SparseTensor::matmul) and [`linear`](crate::extend::linear), with the same bits and
/// gradients. On a CPU the rows between the two stay in the cache, unless a few rows have most of the elements: a large
/// product takes a tenth less time, and a fifth less if nothing is tracked, since then they are not kept. (Gong et al.,
/// *Graphite*, ISCA 2022.)
///
/// # Errors
///
/// Those of `matmul`; `shape_mismatch`, `dtype_mismatch` and `device_mismatch` if the weight or the bias does not fit.
pub fn matmul_linear<P: Pattern>(
    a: &SparseTensor<P, 2>,
    x: Tensor<2>,
    weight: Tensor<2>,
    epilogue: Epilogue,
) -> Result<Tensor<2>> {
    const OP: &str = "matmul_linear";
    let matrix = matrix(OP, a)?;
    let operand = Operand::new(OP, a, x.dims())?;
    same_elements(OP, &a.values, &x)?;
    same_elements(OP, &x, &weight)?;
    epilogue.bias.iter().try_for_each(|bias| same_elements(OP, bias, &weight))?;
    let wide = epilogue.bias.as_ref().is_some_and(|bias| bias.dims()[0] != weight.dims()[1]);
    if x.dims()[1] != weight.dims()[0] || wide {
        let rule = "the weight {right} must have a row for each column of {left}, and a column for each number of the \
                    bias";
        return Err(SparseError::shape_mismatch(OP, rule, x.dims(), weight.dims()));
    }
    let ([rows, _], [terms, columns]) = (a.dims(), weight.dims());
    // Rows of a matrix in another order would be put in order for each panel.
    let in_order = matrix.by_row().perm.is_none() && operand.out() == [rows, terms] && fill_term(a).is_none();
    // The gradient of the weight needs the rows between. Without that one the others do not.
    let keep = weight.is_tracked();
    let fits = in_order && (keep || !(a.values.is_tracked() || x.is_tracked()));
    if !fits || a.nnz() == 0 || !policy::joins_products(&x, [rows, terms, columns]) {
        return Ok(linear(a.try_matmul(x)?, weight, epilogue));
    }
    let bias = epilogue.bias.as_ref().map(|bias| bias.clone().reshape(Exact([1, columns])));
    let after = kernel::Epilogue { bias, relu: epilogue.relu };
    let (out, between) = kernel::spmm_matmul(matrix.by_row(), &a.values, &x, &weight, &after, keep);
    let between = match between {
        Some(between) => {
            spmm_on_tape(matrix, between, [a.values.clone(), x], 1, kernel::Epilogue::default(), a.transposed())
        }
        None if a.values.is_autodiff() && !x.is_autodiff() => associate(x, &a.values.device()),
        None => x,
    };
    Ok(a.fill.without_gradient(linear_on_tape(out, between, weight, epilogue)))
}
