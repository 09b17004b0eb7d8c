//! Systems with a triangle of a sparse matrix, with gradients.

use burn::tensor::{Bool, DType, Int, Tensor};
use sparse_macros::or_panic;
use sparse_ops::extend::{
    Compressed, Derived, Erased, Exact, Parts, along, by_columns, by_rows, check_square, expect, is_gpu, is_remote,
    kept, kernel, record, same_elements, threads,
};
use sparse_ops::pattern::Pattern;
use sparse_ops::{Result, SparseError, SparseTensor};

const OP: &str = "solve_triangular";

/// Which triangular system of a matrix is solved. The default is `L x = b` with the lower triangle `L`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Triangle {
    /// The upper triangle of the matrix.
    pub upper: bool,
    /// The transpose of that triangle: `L^T x = b`.
    pub transposed: bool,
    /// The diagonal is 1, whatever is stored there.
    pub unit_diagonal: bool,
}

/// `x` with `T x = b`, where `T` is a [`Triangle`] of `a`: `a` `[N, N]`, `b` and `x` `[N]` or `[N, F]`, of f32 or f64.
///
/// `x_i = (b_i - sum over j of t_ij x_j) / t_ii`, row after row from the end where the triangle is narrow. Elements on
/// the other side of the diagonal are not read, as PyTorch's `triangular_solve` and SciPy's dense `solve_triangular` do
/// (SciPy's `spsolve_triangular` asks for a matrix without them). `L` and `U` can share a matrix in this way. A fill of
/// zero, or `Undefined`, which takes no part. Duplicates count as their sum.
///
/// A number of `b` or of the triangle that is not finite gives such numbers, in the rows that need it.
///
/// Backward: `d b = T^-T d x`, one more solve, and `d t_ij = -(d b)_i x_j` at the stored elements of the triangle
/// (SDDMM); of the transposed triangle `d t_ij = -x_i (d b)_j`. The other elements get zero, and so does a diagonal
/// that counts as 1.
///
/// Cost: `O(nnz F)`, forward and backward each. On a CPU threads share columns from 16 on, else the rows of a level,
/// which do not need each other (Anderson and Saad 1989), if levels are wide; a narrow one takes less time than to wake
/// a thread. The transposed pattern is found once and kept with the pattern, and so are the levels if they are used.
/// The result has the same bits with any number of threads. On a GPU a launch solves a wide level, or narrow levels one
/// after the other. The pattern is read once for each direction, for the levels, and in each forward pass whether the
/// diagonal has a zero. On a remote device the host of the server solves.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::CsrTensor;
/// use sparse_tensor::solve::{Triangle, solve_triangular};
///
/// let device = Device::flex();
/// // The 9 is above the diagonal.
/// let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[2.0, 9.0], [1.0, 4.0]], &device));
/// let x = solve_triangular(&a, Tensor::<1>::from_floats([2.0, 9.0], &device), Triangle::default());
/// assert_eq!(x.into_data().to_vec::<f32>().unwrap(), [1.0, 2.0]);
/// let upper = Triangle { upper: true, ..Triangle::default() };
/// let x = solve_triangular(&a, Tensor::<1>::from_floats([20.0, 8.0], &device), upper);
/// assert_eq!(x.into_data().to_vec::<f32>().unwrap(), [1.0, 2.0]);
/// ```
///
/// # Errors
///
/// `invalid` that names the first row whose diagonal is zero or not stored, unless the diagonal is 1; `shape_mismatch`
/// if `a` is no square matrix, or `b` has not its rows; `fill_mismatch`, `unsupported_dtype`, `dtype_mismatch`,
/// `device_mismatch`.
#[or_panic]
pub fn try_solve_triangular<P: Pattern, const D: usize>(
    a: &SparseTensor<P, 2>,
    b: Tensor<D>,
    triangle: Triangle,
) -> Result<Tensor<D>> {
    solved(a, b, triangle, false)
}

/// The same for a matrix whose diagonal is known to have no zeros, so that no GPU reads whether it has.
pub(crate) fn try_substitute<P: Pattern>(
    a: &SparseTensor<P, 2>,
    b: Tensor<2>,
    triangle: Triangle,
) -> Result<Tensor<2>> {
    solved(a, b, triangle, true)
}

fn solved<P: Pattern, const D: usize>(
    a: &SparseTensor<P, 2>,
    b: Tensor<D>,
    triangle: Triangle,
    known: bool,
) -> Result<Tensor<D>> {
    check_factor(OP, a)?;
    let ([n, _], dims) = (a.dims(), b.dims());
    if !(1..=2).contains(&D) || dims[0] != n {
        let rule = "the right-hand side {left} must have the rows of {right}, and columns or none";
        return Err(SparseError::shape_mismatch(OP, rule, dims, a.dims()));
    }
    same_elements(OP, a.rows(), &b)?;
    let a = a.coalesce();
    let (pattern, values) = (a.pattern(), a.rows());
    let b = b.reshape(Exact([n, dims[1..].iter().product()]));
    let width = b.dims()[1];
    let x = System::of(pattern, triangle, width).solve(&values.clone().inner(), &b.clone().inner(), known)?;
    let (values_tracked, tracked) = (values.is_tracked(), values.is_tracked() || b.is_tracked());
    if !tracked {
        let parents = [Erased::from(values), Erased::from(&b)];
        return Ok(record(x, parents, (), |(), _, _| [None, None]).reshape(Exact(dims)));
    }
    let saved = Saved {
        back: System::of(pattern, Triangle { transposed: !triangle.transposed, ..triangle }, width),
        values: values.clone().inner(),
        sampled: values_tracked.then(|| Sampled {
            x: x.clone(),
            ends: [0, 1].map(|dim| along(pattern.coordinates(), dim)),
            outside: outside(pattern, triangle),
            transposed: triangle.transposed,
        }),
    };
    let parents = [Erased::from(values), Erased::from(&b)];
    let out = record(x, parents, saved, |saved, grad, [to_values, to_b]| {
        let own = expect(saved.back.solve(&saved.values, &grad, true));
        let sampled = saved.sampled.as_ref().filter(|_| to_values);
        [sampled.map(|sampled| sampled.gradient(&own).into()), to_b.then(|| own.into())]
    });
    Ok(out.reshape(Exact(dims)))
}

/// A square matrix of f32 or f64 whose unspecified elements are zero.
pub(crate) fn check_factor<P: Pattern>(op: &'static str, a: &SparseTensor<P, 2>) -> Result<()> {
    check_square(op, a)?;
    if !matches!(a.dtype(), DType::F32 | DType::F64) {
        return Err(SparseError::unsupported_dtype(op, "a linear system", format!("{:?}", a.dtype()).to_lowercase()));
    }
    match a.fill().is_zero() || a.fill().is_undefined() {
        true => Ok(()),
        false => Err(SparseError::wrong_fill(op, "zero or Undefined", a.fill(), "add the fill as another operator")),
    }
}

/// One system of a pattern: its rows, which part of them, and how threads or the units of a GPU share them.
#[derive(Debug)]
struct System {
    rows: Compressed,
    triangle: kernel::Triangle,
    plan: Option<kernel::TrianglePlan>,
    levels: Option<LevelLists>,
}

/// What `kernel::triangle_levels` gives.
type LevelLists = (Tensor<1, Int>, Vec<usize>, Vec<usize>);

/// From so many columns on threads share these, and need no plan.
const SHARED: usize = 16;

impl System {
    /// For right-hand sides of `width` columns.
    fn of<P: Pattern>(pattern: &P, triangle: Triangle, width: usize) -> Self {
        let Triangle { upper, transposed, unit_diagonal } = triangle;
        let rows = if transposed { by_columns(pattern) } else { by_rows(pattern) };
        let rows = rows.expect("a matrix").clone();
        let upper = upper != transposed;
        let (gpu, key) = (is_gpu(&pattern.device()), || Planned { upper, transposed });
        let planned = threads() > 1 && (1..SHARED).contains(&width) && !gpu;
        let make = || Plan(kernel::triangle_plan(&rows, upper));
        let plan = planned.then(|| kept(pattern, key(), make).0).flatten();
        let make = || Levels(kernel::triangle_levels(&Compressed { perm: None, ..rows.clone() }, upper));
        // Of a server they would be sent with each solve.
        let leveled = gpu && width > 0 && !is_remote(&pattern.device());
        let levels = leveled.then(|| kept(pattern, Leveled(key()), make).0);
        Self { rows, triangle: kernel::Triangle { upper, unit: unit_diagonal }, plan, levels }
    }

    /// Of a diagonal that is not `known` to have no zeros a GPU reads whether it has.
    fn solve(&self, values: &Tensor<2>, b: &Tensor<2>, known: bool) -> Result<Tensor<2>> {
        let (plan, levels) = (self.plan.clone(), self.levels.as_ref());
        kernel::solve_triangular(OP, &self.rows, values, self.triangle, known, plan, levels, b)
    }
}

/// The key of a plan.
#[derive(PartialEq, Eq)]
struct Planned {
    upper: bool,
    transposed: bool,
}

#[derive(Clone)]
struct Plan(Option<kernel::TrianglePlan>);

impl Derived for Plan {
    fn held(&self) -> usize {
        self.0.as_ref().map_or(0, kernel::TrianglePlan::held)
    }
}

/// The key of the levels of a GPU.
#[derive(PartialEq, Eq)]
struct Leveled(Planned);

#[derive(Clone)]
struct Levels(LevelLists);

impl Derived for Levels {
    fn held(&self) -> usize {
        let (list, starts, longest) = &self.0;
        list.dims()[0] + 2 * (starts.len() + longest.len())
    }
}

/// The key of the elements that no gradient reaches.
#[derive(PartialEq, Eq)]
struct Outside {
    upper: bool,
    unit: bool,
}

#[derive(Clone)]
struct Elements(Tensor<2, Bool>);

impl Derived for Elements {
    fn held(&self) -> usize {
        self.0.dims()[0]
    }
}

/// The elements that a triangle has not, `[nnz, 1]`.
fn outside<P: Pattern>(pattern: &P, Triangle { upper, unit_diagonal: unit, .. }: Triangle) -> Tensor<2, Bool> {
    let found = kept(pattern, Outside { upper, unit }, || {
        let [rows, cols] = [0, 1].map(|dim| along(pattern.coordinates(), dim));
        let list = match (upper, unit) {
            (false, false) => cols.greater(rows),
            (false, true) => cols.greater_equal(rows),
            (true, false) => cols.lower(rows),
            (true, true) => cols.lower_equal(rows),
        };
        Elements(list.reshape(Exact([pattern.nnz(), 1])))
    });
    found.0
}

/// What the backward pass keeps.
#[derive(Debug)]
struct Saved {
    back: System,
    values: Tensor<2>,
    sampled: Option<Sampled>,
}

/// For the gradient of the matrix.
#[derive(Debug)]
struct Sampled {
    x: Tensor<2>,
    ends: [Tensor<1, Int>; 2],
    outside: Tensor<2, Bool>,
    transposed: bool,
}

impl Sampled {
    /// From the gradient of `b`.
    fn gradient(&self, own: &Tensor<2>) -> Tensor<2> {
        let [rows, cols] = &self.ends;
        let [left, right] = if self.transposed { [&self.x, own] } else { [own, &self.x] };
        let nnz = rows.dims()[0];
        if nnz == 0 || own.dims()[1] == 0 {
            return Tensor::zeros([nnz, 1], (&own.device(), own.dtype()));
        }
        kernel::sddmm(rows, cols, left, right, 1).neg().mask_fill(self.outside.clone(), 0.0)
    }
}
