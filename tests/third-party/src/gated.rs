//! `out_i = sum_j a_ij sigmoid(s_i + t_j) x_j`, without a message for each edge and feature.

use burn::tensor::activation::sigmoid;
use burn::tensor::{Int, Tensor};
use sparse_tensor::extend::{
    Compressed, Erased, Exact, Parts, RowSums, by_columns, by_rows, kernel, read_ends, record, same_elements,
};
use sparse_tensor::pattern::Pattern;
use sparse_tensor::{Result, SparseError, SparseTensor};

/// What the backward pass reads: `O(nnz + M F)` numbers. The gates are computed again.
#[derive(Debug)]
struct Saved<P: Pattern> {
    pattern: P,
    /// `[nnz, 1]`
    values: Tensor<2>,
    /// `s` and `t`, `[M, 1]` and `[N, 1]`
    gates: [Tensor<2>; 2],
    /// `[N, F]`
    x: Tensor<2>,
}

/// The sum of `a_ij sigmoid(s_i + t_j) x_j` over the stored elements of each row of `a` `[M, N]`: `x` `[N, F]`,
/// `s` `[M]`, `t` `[N]`, to `[M, F]`. Gradients reach the values of `a`, both gates and `x`.
///
/// # Errors
///
/// `shape_mismatch`, `dtype_mismatch`, `device_mismatch`; `invalid` for duplicates that are not summed.
pub fn try_gated_sum<P: Pattern>(a: &SparseTensor<P, 2>, [s, t]: [Tensor<1>; 2], x: Tensor<2>) -> Result<Tensor<2>> {
    const OP: &str = "gated_sum";
    let ([rows, cols], [m], [n], [nodes, _]) = (a.dims(), s.dims(), t.dims(), x.dims());
    if [rows, cols, cols] != [m, n, nodes] {
        let rule = "a {left} must have a row for each s, a column for each t and row of x {right}";
        let (left, right) = (vec![rows, cols], vec![m, n, nodes]);
        return Err(SparseError::ShapeMismatch { op: OP, rule, left, right });
    }
    if !a.is_coalesced() {
        return Err(SparseError::Invalid { op: OP, message: "use coalesce first".into() });
    }
    same_elements(OP, a.rows(), &x)?;
    same_elements(OP, &s, &x)?;
    same_elements(OP, &t, &x)?;
    // Rows, values and gates as columns: this stays on the tape.
    let gates = [(s, m), (t, n)].map(|(gate, size)| gate.reshape(Exact([size, 1])));
    let values = a.rows().clone();
    let saved = Saved {
        pattern: a.pattern().clone(),
        values: values.clone().inner(),
        gates: gates.clone().map(Tensor::inner),
        x: x.clone().inner(),
    };
    let out = saved.forward();
    // A rule has at most three parents, so both gates travel as one.
    let gates = Tensor::cat(gates.into(), 0);
    Ok(record(out, [Erased::from(values), Erased::from(gates), Erased::from(x)], saved, Saved::backward))
}

/// [`try_gated_sum`], which panics on errors.
#[track_caller]
pub fn gated_sum<P: Pattern>(a: &SparseTensor<P, 2>, gates: [Tensor<1>; 2], x: Tensor<2>) -> Tensor<2> {
    sparse_tensor::extend::expect(try_gated_sum(a, gates, x))
}

impl<P: Pattern> Saved<P> {
    /// `sigmoid(s_i + t_j)` at each element.
    fn gate(&self) -> Tensor<2> {
        let [s, t] = self.gates.clone();
        sigmoid(read_ends(&self.pattern, s, t))
    }

    fn rows(&self) -> &Compressed {
        by_rows(&self.pattern).expect("a matrix")
    }

    fn forward(&self) -> Tensor<2> {
        let ([m, _], [_, features]) = (self.size(), self.x.dims());
        if self.pattern.nnz() == 0 || features == 0 {
            return Tensor::zeros([m, features], (&self.x.device(), self.x.dtype()));
        }
        kernel::spmm(self.rows(), &(self.values.clone() * self.gate()), &self.x)
    }

    fn size(&self) -> [usize; 2] {
        [self.pattern.shape()[0], self.pattern.shape()[1]]
    }

    /// The gradients of the values, of both gates and of `x`.
    fn backward(&self, grad: Tensor<2>, needs: [bool; 3]) -> [Option<Erased>; 3] {
        let ([m, n], nnz, features) = (self.size(), self.pattern.nnz(), self.x.dims()[1]);
        if nnz == 0 || features == 0 {
            let zeros = |shape: [usize; 2]| Tensor::<2>::zeros(shape, (&self.x.device(), self.x.dtype()));
            let all = [zeros([nnz, 1]), zeros([m + n, 1]), zeros(self.x.dims())];
            return all.map(|zeros| Some(zeros.into()));
        }
        let gate = self.gate();
        // <grad_i, x_j> at each element.
        let products = (needs[0] || needs[1]).then(|| {
            let [rows, cols] = [0, 1].map(|axis| self.ends(axis));
            kernel::sddmm(&rows, &cols, &grad, &self.x, 1)
        });
        let of_values = needs[0].then(|| products.clone().expect("needed") * gate.clone());
        let of_gates = needs[1].then(|| {
            let slope = gate.clone() * (gate.ones_like() - gate.clone());
            let at_edges = products.clone().expect("needed") * self.values.clone() * slope;
            let sums = [Some(self.rows()), by_columns(&self.pattern)].map(|lines| {
                let Compressed { ptr, perm, .. } = lines.expect("a matrix");
                sparse_tensor::extend::sum_rows(at_edges.clone(), &RowSums::new(perm.clone(), ptr.clone()))
            });
            Tensor::cat(sums.into(), 0)
        });
        let of_x = needs[2].then(|| {
            let by_columns = by_columns(&self.pattern).expect("a matrix");
            kernel::spmm(by_columns, &(self.values.clone() * gate), &grad)
        });
        [of_values, of_gates, of_x].map(|grad| grad.map(Erased::from))
    }

    /// The row (axis 0) or the column of each element.
    fn ends(&self, axis: usize) -> Tensor<1, Int> {
        sparse_tensor::extend::along(self.pattern.coordinates(), axis)
    }
}
