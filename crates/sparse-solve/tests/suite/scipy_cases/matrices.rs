//! The systems of `_isolve/tests/test_iterative.py` (class `IterativeParams`) and of other tests.

use crate::random::{Kind, dense};
use burn::tensor::{DType, Device, Tensor};
use sparse_tensor::CsrTensor;
use sparse_tensor::solve::Method;

pub const F64: DType = DType::F64;

/// A system `A x = b` and the methods for it.
pub struct Case {
    /// SciPy's name.
    pub name: &'static str,
    pub kind: Kind,
    pub n: usize,
    /// Rows, columns, values.
    pub entries: Vec<(usize, usize, f64)>,
    pub b: Vec<f64>,
}

impl Case {
    /// `b` is 0, 1, 2, .. if it is not given, as in SciPy's.
    fn new(name: &'static str, kind: Kind, n: usize, entries: Vec<(usize, usize, f64)>) -> Self {
        Self { name, kind, n, entries, b: (0..n).map(|k| k as f64).collect() }
    }

    pub fn rows<const N: usize>(name: &'static str, kind: Kind, rows: [[f64; N]; N]) -> Self {
        let all = (0..N).flat_map(|i| (0..N).map(move |j| (i, j, rows[i][j])));
        Self::new(name, kind, N, all.filter(|own| own.2 != 0.0).collect())
    }

    pub fn with_b(self, b: &[f64]) -> Self {
        Self { b: b.to_vec(), ..self }
    }

    pub fn matrix(&self, dtype: DType) -> CsrTensor<2> {
        csr(&self.entries, [self.n; 2], dtype)
    }

    pub fn right(&self, dtype: DType) -> Tensor<1> {
        dense(&self.b, [self.n], dtype)
    }

    /// `|b - A x| / |b|`.
    pub fn residual(&self, x: &[f64]) -> f64 {
        let mut rest = self.b.clone();
        self.entries.iter().for_each(|&(row, col, own)| rest[row] -= own * x[col]);
        length(&rest) / length(&self.b)
    }

    pub fn takes(&self, method: Method) -> bool {
        match method {
            Method::Cg => matches!(self.kind, Kind::Positive),
            Method::Minres => !matches!(self.kind, Kind::Any),
            _ => true,
        }
    }

    /// Positive numbers, about the inverse of the matrix, or of `A^T A`.
    pub fn scales(&self, normal: bool) -> Vec<f64> {
        let mut sums = vec![0.0; self.n];
        for &(row, col, own) in &self.entries {
            match normal {
                true => sums[col] += own * own,
                false => sums[row] += if row == col { own.abs() } else { 0.0 },
            }
        }
        sums.iter().map(|&own| if own == 0.0 { 1.0 } else { 1.0 / own }).collect()
    }
}

pub fn length(x: &[f64]) -> f64 {
    x.iter().map(|own| own * own).sum::<f64>().sqrt()
}

pub fn csr(entries: &[(usize, usize, f64)], dims: [usize; 2], dtype: DType) -> CsrTensor<2> {
    let rows: Vec<usize> = entries.iter().map(|own| own.0).collect();
    let cols: Vec<usize> = entries.iter().map(|own| own.1).collect();
    let values: Vec<f64> = entries.iter().map(|own| own.2).collect();
    CsrTensor::from_triplets(&rows, &cols, &values, dims, (&Device::flex(), dtype)).unwrap()
}

pub fn full<const M: usize, const N: usize>(rows: [[f64; N]; M], dtype: DType) -> CsrTensor<2> {
    CsrTensor::from_dense(dense(&rows.concat(), [M, N], dtype))
}

pub fn diagonal(list: &[f64], dtype: DType) -> CsrTensor<2> {
    CsrTensor::from_diagonal(dense(list, [list.len()], dtype))
}

/// On each diagonal `offset` the numbers `value(column)`, as SciPy's `dia_array` has them.
pub fn banded(n: usize, bands: &[(isize, &dyn Fn(usize) -> f64)]) -> Vec<(usize, usize, f64)> {
    let mut out = vec![];
    for row in 0..n {
        for (offset, value) in bands {
            if let Some(col) = row.checked_add_signed(*offset).filter(|&col| col < n) {
                out.push((row, col, value(col)));
            }
        }
    }
    out
}

/// `-3`, `0` and `5` with `1, 2, ..`, twice that, and the reverse: `TestSplu`, `TestFactorized`.
pub fn three_bands(n: usize) -> Vec<(usize, usize, f64)> {
    let up = |k: usize| (k + 1) as f64;
    banded(n, &[(-3, &up), (0, &|k| 2.0 * up(k)), (5, &|k| (n - k) as f64)])
}

/// Numbers in (0, 1) without a structure.
pub fn noise(count: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    (0..count).map(|_| next()).collect()
}

/// `X X^T + shift I` of numbers in (0, 1).
pub fn positive(name: &'static str, n: usize, shift: f64, seed: u64) -> Case {
    let x = noise(n * n, seed);
    let at = |i: usize, j: usize| (0..n).map(|k| x[i * n + k] * x[j * n + k]).sum::<f64>();
    let entry = |cell: usize| {
        let (i, j) = (cell / n, cell % n);
        (i, j, at(i, j) + if i == j { shift } else { 0.0 })
    };
    Case::new(name, Kind::Positive, n, (0..n * n).map(entry).collect()).with_b(&noise(n, seed + 1))
}

/// The first 16 numbers of `RandomState(1234).rand`.
pub const RAND: [[f64; 4]; 4] = [
    [0.191519, 0.622109, 0.437728, 0.785359],
    [0.779976, 0.272593, 0.276464, 0.801872],
    [0.958139, 0.875933, 0.357817, 0.500995],
    [0.683463, 0.712702, 0.370251, 0.561196],
];

/// `test_lgmres.py`.
pub const LGMRES: [[f64; 6]; 6] = [
    [-2.0, 1.0, 0.0, 0.0, 0.0, 9.0],
    [1.0, -2.0, 1.0, 0.0, 5.0, 0.0],
    [0.0, 1.0, -2.0, 1.0, 0.0, 0.0],
    [0.0, 0.0, 1.0, -2.0, 1.0, 0.0],
    [0.0, 3.0, 0.0, 1.0, -2.0, 1.0],
    [1.0, 0.0, 0.0, 0.0, 1.0, -2.0],
];

/// Symmetric, indefinite, with zeros on the diagonal and values that are there four times: a breakdown of several of
/// SciPy's methods.
pub fn sym_nonpd() -> Case {
    let first = [1.0, 2.0, 2.0, 2.0, 1.0];
    let mut entries = vec![];
    for (k, own) in first.into_iter().enumerate() {
        entries.extend([(k, 5, own), (5, k, own), (k, 6 + k, -1.0), (6 + k, k, -1.0), (6 + k, 6 + k, -1.0)]);
    }
    let mut b = [0.0; 11];
    b[5] = 1.0;
    Case::new("sym-nonpd", Kind::Symmetric, 11, entries).with_b(&b)
}

fn poisson(n: usize) -> Vec<(usize, usize, f64)> {
    banded(n, &[(-1, &|_| -1.0), (0, &|_| 2.0), (1, &|_| -1.0)])
}

/// The sum of Kronecker products with the identity; SciPy's side is 40.
fn poisson2d(side: usize) -> Vec<(usize, usize, f64)> {
    let one = poisson(side);
    let outer = one.iter().flat_map(|&(i, j, own)| (0..side).map(move |k| (i * side + k, j * side + k, own)));
    let inner = one.iter().flat_map(|&(i, j, own)| (0..side).map(move |k| (k * side + i, k * side + j, own)));
    outer.chain(inner).collect()
}

pub fn poisson1d() -> Case {
    Case::new("poisson1d", Kind::Positive, 40, poisson(40))
}

pub fn grid() -> Case {
    Case::new("poisson2d", Kind::Positive, 144, poisson2d(12))
}

pub fn all() -> Vec<Case> {
    let negative = poisson(40).into_iter().map(|(i, j, own)| (i, j, -own)).collect();
    let mut both = RAND;
    (0..16).for_each(|cell| both[cell / 4][cell % 4] += RAND[cell % 4][cell / 4]);
    let list = [6.0, -5.0, 2.0, 7.0, -1.0, 10.0, 4.0, -3.0, -8.0, 9.0];
    let five: Vec<f64> = (1..=5).map(f64::from).collect();
    let upper = [0.0, 5.0, 8.0, 9.0, 10.0];
    vec![
        poisson1d(),
        Case::new("neg-poisson1d", Kind::Symmetric, 40, negative),
        grid(),
        Case::new("rand-diag", Kind::Symmetric, 10, banded(10, &[(0, &|k| list[k])])),
        Case::rows("rand", Kind::Any, RAND),
        Case::rows("rand-sym", Kind::Symmetric, both),
        positive("rand-sym-pd", 9, 0.0, 1234),
        Case::new("nonsymposdef", Kind::Any, 10, banded(10, &[(0, &|_| 2.0), (-1, &|_| -1.0)])),
        sym_nonpd(),
        Case::rows("test_lgmres.py", Kind::Any, LGMRES).with_b(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
        Case::new(
            "TestQMR::test_leftright_precond",
            Kind::Any,
            100,
            banded(100, &[(-1, &|_| -2.0), (0, &|_| 4.0), (1, &|_| -1.0)]),
        ),
        Case::new("TestFactorized", Kind::Any, 5, three_bands(5)).with_b(&[1.0; 5]),
        Case::new(
            "TestLinsolve::test_twodiags",
            Kind::Any,
            5,
            banded(5, &[(0, &|k| (k + 1) as f64), (1, &|k| upper[k])]),
        )
        .with_b(&five),
        Case::rows(
            "TestLinsolve::test_example_comparison",
            Kind::Any,
            [[1.0, 0.0, 2.0], [0.0, 0.0, 3.0], [-4.0, 5.0, 6.0]],
        )
        .with_b(&[1.0, 0.0, 0.0]),
        Case::rows(
            "TestLinsolve::test_bvector_smoketest",
            Kind::Any,
            [[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [0.0, 0.0, 1.0]],
        )
        .with_b(&[1.0, -2.0, 0.5]),
        Case::rows("TestLinsolve::test_ndarray_support", Kind::Symmetric, [[1.0, 2.0], [2.0, 0.0]]).with_b(&[2.0, 2.0]),
    ]
}
