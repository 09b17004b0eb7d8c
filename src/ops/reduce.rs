//! Sums, means, products and extremes along dims; the fill counts.

use super::cast::widened;
use super::extremum::{extremum, into_lines, one_target};
use super::folds::Blocks;
use super::line_sums::{divided, is_one_step, line_sums};
use super::powers::{host_power, power, wrapping_mul};
use super::put_along_axis::run;
use crate::base::checks::{as_axes, plain_name};
use crate::base::exact::Exact;
use crate::base::kind::{Kind, Numeric, associate_like};
use crate::base::limits::dense_limit;
use crate::base::scalar::host_apply;
use crate::base::sizes::cells;
use crate::pattern::layout::{Pattern, is_full};
use crate::pattern::lines::Lines;
use crate::tensor::fill::Fill;
use crate::tensor::sparse::SparseTensor;
use burn::tensor::{AsIndex, DType, Float, Int, Scalar, Tensor, kind};
use sparse_burn::{BinaryOp, Reduce};
use sparse_core::{Result, SparseError};
use sparse_macros::or_panic;

/// What becomes of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fold {
    Sum,
    Mean,
    Prod,
    Max,
    Min,
}

macro_rules! along {
    ($fold:ident, $kind:ident, $what:literal, $rule:literal, $errors:literal, $of_nothing:literal;
     $dim:ident $dims:ident $dense:ident $stored_dim:ident $stored_dims:ident $stored:ident) => {
        #[doc = concat!($what, " along `dim`, sparse or dense. The dim stays with size 1.")]
        ///
        /// The result is the dense answer. Unspecified elements count with the fill. The fill of the result is the
        /// reduction of a line of fills. With an `Undefined` fill only stored elements count, and a line without any
        /// stays unspecified. The result stores the lines that have stored elements. Duplicates are summed first.
        ///
        #[doc = $rule]
        /// Cost: one pass over the values. The lines are found once and kept with the pattern.
        ///
        /// # Errors
        ///
        #[doc = $errors]
        #[or_panic]
        pub fn $dim(&self, dim: impl AsIndex) -> Result<Self> {
            reduce(plain_name(stringify!($dim)), self, &[dim.as_index()], Fold::$fold)
        }

        #[doc = concat!($what, " along several dims at once: see [`", stringify!($dim), "`](Self::", stringify!($dim), ").")]
        ///
        /// # Errors
        ///
        /// As for one dim; `shape_mismatch` for a dim given twice.
        #[or_panic]
        pub fn $dims(&self, dims: &[impl AsIndex]) -> Result<Self> {
            reduce(plain_name(stringify!($dims)), self, &as_axes(dims), Fold::$fold)
        }

        #[doc = concat!($what, " along `dim` as an ordinary (dense) tensor. The dim stays with size 1.")]
        ///
        #[doc = concat!("The dense equivalent of [`", stringify!($dim), "`](Self::", stringify!($dim), "), with the same gradients.")]
        #[doc = concat!("With an `Undefined` fill a line without specified elements has ", $of_nothing, ".")]
        /// Cost: that of the reduction and of the result, which has as many elements as the tensor without `dim`.
        ///
        /// # Errors
        ///
        #[doc = $errors]
        /// `would_densify` for a result of more than [`dense_limit`](crate::dense_limit) elements.
        #[or_panic]
        pub fn $dense(&self, dim: impl AsIndex) -> Result<Tensor<D, $kind>> {
            const NAME: &str = stringify!($dense);
            dense(plain_name(NAME), reduce(plain_name(NAME), self, &[dim.as_index()], Fold::$fold)?, Fold::$fold)
        }

        #[doc = concat!($what, " along `dim` over the stored elements only, whatever the fill is.")]
        ///
        /// Lines without stored elements are not stored in the result, whose fill is `Undefined`. The rules are those
        #[doc = concat!("of [`", stringify!($dim), "`](Self::", stringify!($dim), ") with an `Undefined` fill.")]
        ///
        /// # Errors
        ///
        /// `axis_out_of_range`.
        #[or_panic]
        pub fn $stored_dim(&self, dim: impl AsIndex) -> Result<Self> {
            reduce(plain_name(stringify!($stored_dim)), &self.specified_only(), &[dim.as_index()], Fold::$fold)
        }

        #[doc = concat!($what, " along several dims at once over the stored elements only, whatever the fill is.")]
        ///
        #[doc = concat!("See [`", stringify!($stored_dim), "`](Self::", stringify!($stored_dim), ").")]
        ///
        /// # Errors
        ///
        /// `axis_out_of_range`; `shape_mismatch` for a dim given twice.
        #[or_panic]
        pub fn $stored_dims(&self, dims: &[impl AsIndex]) -> Result<Self> {
            reduce(plain_name(stringify!($stored_dims)), &self.specified_only(), &as_axes(dims), Fold::$fold)
        }

        #[doc = concat!($what, " of all stored elements, whatever the fill is.")]
        ///
        /// # Errors
        ///
        /// As for all elements of a tensor with an `Undefined` fill.
        #[or_panic]
        pub fn $stored(&self) -> Result<Tensor<1, $kind>> {
            total(plain_name(stringify!($stored)), &self.specified_only(), Fold::$fold)
        }
    };
}

impl<P: Pattern, const D: usize, K: Kind> SparseTensor<P, D, K> {
    /// The tensor with an `Undefined` fill: only its stored elements count.
    fn specified_only(&self) -> Self {
        self.clone().with_fill(Fill::Undefined)
    }
}

impl<P: Pattern, const D: usize, K: Numeric + kind::Ordered> SparseTensor<P, D, K> {
    along! {
        Sum, K, "The sum",
        "Backward: every element gets the gradient of its line; the fill gets that of the unspecified ones. Integers wrap.",
        "`axis_out_of_range`; `overflow` if the number of unspecified elements that count does not fit an index.",
        "the sum 0";
        try_sum_dim try_sum_dims try_sum_dim_dense try_stored_sum_dim try_stored_sum_dims try_stored_sum
    }
    along! {
        Prod, K, "The product",
        "Backward: the gradient times the product of the others, exact with any zeros; the fill gets one too. Integers wrap.",
        "`axis_out_of_range`; `overflow` as for sums.",
        "the product 1";
        try_prod_dim try_prod_dims try_prod_dim_dense try_stored_prod_dim try_stored_prod_dims try_stored_prod
    }
    along! {
        Max, K, "The largest element",
        "NaN wins. Backward: shared evenly by all that tie. The part of unspecified ones goes to the fill.",
        "`axis_out_of_range`; `empty_input` if the dim has size 0.",
        "no answer: `undefined_fill`";
        try_max_dim try_max_dims try_max_dim_dense try_stored_max_dim try_stored_max_dims try_stored_max
    }
    along! {
        Min, K, "The smallest element",
        "NaN wins. Backward: shared evenly by all that tie. The part of unspecified ones goes to the fill.",
        "`axis_out_of_range`; `empty_input` if the dim has size 0.",
        "no answer: `undefined_fill`";
        try_min_dim try_min_dims try_min_dim_dense try_stored_min_dim try_stored_min_dims try_stored_min
    }

    /// The sum of all elements; unspecified ones count with the fill. The sum of no elements is 0. See
    /// [`sum_dim`](Self::sum_dim).
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::{CsrTensor, Fill};
    ///
    /// let device = Device::flex();
    /// let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[1.0, 0.0], [0.0, 2.0]], &device));
    /// assert_eq!(a.sum().into_scalar::<f32>(), 3.0);
    /// assert_eq!(a.with_fill(Fill::scalar(0.5)).sum().into_scalar::<f32>(), 4.0);
    /// ```
    ///
    /// # Errors
    ///
    /// `overflow` if the number of unspecified elements that count does not fit an index.
    #[or_panic]
    pub fn try_sum(&self) -> Result<Tensor<1, K>> {
        total("sum", self, Fold::Sum)
    }

    /// The product of all elements; that of no elements is 1. See [`prod_dim`](Self::prod_dim).
    ///
    /// # Errors
    ///
    /// `overflow` if the number of unspecified elements that count does not fit an index.
    #[or_panic]
    pub fn try_prod(&self) -> Result<Tensor<1, K>> {
        total("prod", self, Fold::Prod)
    }

    /// The largest element: see [`max_dim`](Self::max_dim).
    ///
    /// # Errors
    ///
    /// `empty_input` if there are no elements.
    #[or_panic]
    pub fn try_max(&self) -> Result<Tensor<1, K>> {
        total("max", self, Fold::Max)
    }

    /// The smallest element: see [`min_dim`](Self::min_dim).
    ///
    /// # Errors
    ///
    /// `empty_input` if there are no elements.
    #[or_panic]
    pub fn try_min(&self) -> Result<Tensor<1, K>> {
        total("min", self, Fold::Min)
    }
}

impl<P: Pattern, const D: usize> SparseTensor<P, D, Float> {
    along! {
        Mean, Float, "The mean",
        "The mean of no elements is NaN. Backward: that of the sum, divided by the number of elements that count.",
        "`axis_out_of_range`; `overflow` as for sums.",
        "the mean NaN";
        try_mean_dim try_mean_dims try_mean_dim_dense try_stored_mean_dim try_stored_mean_dims try_stored_mean
    }

    /// The mean of all elements; that of no elements is NaN. See [`mean_dim`](Self::mean_dim).
    ///
    /// # Errors
    ///
    /// `overflow` if the number of unspecified elements that count does not fit an index.
    #[or_panic]
    pub fn try_mean(&self) -> Result<Tensor<1>> {
        total("mean", self, Fold::Mean)
    }
}

/// The axes of a reduction.
pub(crate) struct Along {
    /// Which sparse dims.
    pub(crate) sparse: Vec<bool>,
    pub(crate) blocks: Blocks,
    /// Product of the sparse dims among them.
    pub(crate) lines: u128,
}

impl Along {
    pub(crate) fn new<P: Pattern, const D: usize, K: Kind>(
        op: &'static str,
        of: &SparseTensor<P, D, K>,
        axes: &[isize],
    ) -> Result<Self> {
        let mut along = [false; D];
        for &axis in axes {
            if std::mem::replace(&mut along[of.axis(op, axis)?], true) {
                let left = axes.iter().map(|&axis| axis.rem_euclid(D as isize) as usize).collect();
                let rule = "dims must be named at most once, got {left} for shape {right}";
                return Err(SparseError::ShapeMismatch { op, rule, left, right: of.dims().to_vec() });
            }
        }
        let (sparse, dense) = along.split_at(of.sparse_dims());
        let sizes: Vec<usize> =
            of.pattern.shape().iter().zip(sparse).filter(|(_, along)| **along).map(|s| *s.0).collect();
        Ok(Self { sparse: sparse.to_vec(), blocks: Blocks::new(&of.dense_shape, dense), lines: cells(&sizes) })
    }

    /// How many elements become one.
    pub(crate) fn size(&self) -> u128 {
        self.lines.saturating_mul(self.blocks.size as u128)
    }

    /// Whether there are no elements to reduce, or no elements in the result.
    pub(crate) fn is_trivial(&self) -> bool {
        self.size() == 0 || self.blocks.kept() == 0
    }

    /// The lines of a pattern, where sparse dims are reduced.
    pub(crate) fn of<P: Pattern>(&self, pattern: &P) -> Option<std::sync::Arc<Lines<P>>> {
        self.sparse.contains(&true).then(|| Lines::of(pattern, &self.sparse))
    }

    /// A result of the right shape that stores nothing.
    pub(crate) fn empty_result<P: Pattern, const D: usize, K: Kind, K2: Kind>(
        &self,
        of: &SparseTensor<P, D, K>,
        dtype: DType,
        fill: Fill<K2>,
    ) -> SparseTensor<P, D, K2> {
        let shape = of.pattern.shape().iter().zip(&self.sparse).map(|(&size, &along)| if along { 1 } else { size });
        let shape: Vec<usize> = shape.collect();
        let none = Tensor::empty([shape.len(), 0], (&of.pattern.device(), of.pattern.index_dtype()));
        let pattern = P::from_coordinates(none, &shape, true);
        let values = Tensor::empty([0, self.blocks.kept()], (&of.device(), dtype));
        SparseTensor::from_parts(pattern, values, self.blocks.shape.clone(), fill)
    }
}

fn reduce<P: Pattern, const D: usize, K: Numeric + kind::Ordered>(
    op: &'static str,
    of: &SparseTensor<P, D, K>,
    axes: &[isize],
    fold: Fold,
) -> Result<SparseTensor<P, D, K>> {
    let along = Along::new(op, of, axes)?;
    let undefined = of.fill.is_undefined();
    if along.is_trivial() {
        let none = along.size() == 0;
        let fill = match fold {
            _ if undefined => Fill::Undefined,
            Fold::Max | Fold::Min if none => return Err(SparseError::EmptyInput { op }),
            Fold::Prod => Fill::scalar(1),
            Fold::Mean if none => Fill::scalar(f64::NAN),
            _ => Fill::Zero,
        };
        return Ok(along.empty_result(of, of.dtype(), fill));
    }
    let linear = matches!(fold, Fold::Sum | Fold::Mean);
    let counted = !(undefined || linear && of.fill.is_zero());
    // One kernel call, which accumulates 16-bit floats in f32, needs no copy in f32.
    let rounds_once = fold == Fold::Sum
        && !counted
        && along.blocks.size == 1
        && along.of(&of.pattern).is_some_and(|lines| is_one_step(of.nnz(), &lines));
    if !rounds_once && let Some((own, back)) = widened(of) {
        return Ok(reduce(op, &own, axes, fold)?.in_float(back));
    }
    if counted && !of.fill.is_zero() && along.lines > i64::MAX as u128 {
        let what = "the number of elements along the axes";
        return Err(SparseError::Overflow { op, what, limit: i64::MAX as u128, got: along.lines });
    }
    // Without sparse dims all stored elements are duplicates of one element.
    let merged_anyway = linear && of.fill.is_zero() || fold == Fold::Sum && undefined;
    let own = if merged_anyway && of.sparse_dims() > 0 { of.clone() } else { of.coalesce() };
    let lines = along.of(&own.pattern);
    let pattern = lines.as_ref().map_or_else(|| own.pattern.clone(), |lines| lines.pattern.clone());
    let values = if own.nnz() == 0 {
        let none = Tensor::<2, K>::empty([0, along.blocks.kept()], (&own.device().inner(), own.dtype()));
        associate_like(none, &[&own.values])
    } else {
        fold_rows(&own, &along, lines.as_deref(), counted, fold)
    };
    let fill = fold_fill(&own, &along, fold).counting(is_full(&pattern));
    Ok(SparseTensor::from_parts(pattern, values, along.blocks.shape, fill))
}

/// The rows of the result, for at least one row of values.
fn fold_rows<P: Pattern, const D: usize, K: Numeric + kind::Ordered>(
    of: &SparseTensor<P, D, K>,
    along: &Along,
    lines: Option<&Lines<P>>,
    counted: bool,
    fold: Fold,
) -> Tensor<2, K> {
    let blocks = &along.blocks;
    let fill = (counted && lines.is_some()).then(|| of.fill_row());
    match fold {
        Fold::Max | Fold::Min => extremum(of.values.clone(), fill, lines, blocks, fold == Fold::Max),
        Fold::Prod => {
            let (rows, fill) = (multiplied(of.values.clone(), blocks), fill.map(|row| multiplied(row, blocks)));
            let Some(lines) = lines else { return rows };
            let put = into_lines(lines, Reduce::Mul, rows.dims());
            let start = Tensor::zeros([lines.len(), blocks.kept()], (&rows.device(), rows.dtype()));
            let product = run(put, start, rows);
            match fill {
                None => product,
                // If the fill is zero, its power 1 is every higher power: one step is enough.
                Some(fill) if of.fill.is_zero() => wrapping_mul(product, power(fill, lines.missing().clamp_max(1), 1)),
                Some(fill) => wrapping_mul(product, power(fill, lines.missing(), lines.size)),
            }
        }
        Fold::Sum | Fold::Mean => {
            let add = |rows: Tensor<2, K>| blocks.fold(rows, |rows| rows.sum_dim(1));
            let (rows, fill) = (add(of.values.clone()), fill.map(add));
            let of_specified = fold == Fold::Mean && of.fill.is_undefined();
            let sums = match lines {
                None => rows,
                Some(lines) => line_sums(rows, fill, lines, of_specified),
            };
            match fold {
                Fold::Sum => sums,
                _ if of_specified => divided(sums, blocks.size as u128),
                _ => divided(sums, along.size()),
            }
        }
    }
}

/// The product of rows along dense dims.
fn multiplied<K: Numeric>(rows: Tensor<2, K>, blocks: &Blocks) -> Tensor<2, K> {
    blocks.fold(rows, |rows| {
        let (put, start) = one_target(&rows, Reduce::Mul, rows.dims());
        run(put, start, rows)
    })
}

/// What the unspecified elements of the result are.
fn fold_fill<P: Pattern, const D: usize, K: Numeric + kind::Ordered>(
    of: &SparseTensor<P, D, K>,
    along: &Along,
    fold: Fold,
) -> Fill<K> {
    let (dtype, size, blocks) = (of.dtype(), along.size(), &along.blocks);
    match (&of.fill, of.fill.host()) {
        (Fill::Undefined, _) => Fill::Undefined,
        (Fill::Zero, _) => Fill::Zero,
        (_, Some(value)) => match fold {
            Fold::Sum if dtype.is_float() => {
                Fill::scalar(host_apply(BinaryOp::Mul, value, Scalar::Float(size as f64), dtype))
            }
            Fold::Sum => Fill::scalar(host_apply(BinaryOp::Mul, value, Scalar::Int(size as i64), dtype)),
            Fold::Prod => Fill::scalar(host_power(value, size, dtype)),
            _ => Fill::scalar(value),
        },
        _ => {
            let row = of.fill_row();
            let add = |row: Tensor<2, K>| blocks.fold(row, |rows| rows.sum_dim(1));
            Fill::block(match fold {
                Fold::Sum if dtype.is_float() => add(row).mul_scalar(along.lines as f64),
                Fold::Sum => add(row).mul_scalar(along.lines as i64),
                Fold::Mean => divided(add(row), blocks.size as u128),
                Fold::Prod => {
                    let lines = along.lines as usize;
                    let times = Tensor::<2, Int>::full(
                        [1, 1],
                        lines as i64,
                        (&of.pattern.device(), sparse_burn::index_dtype_for(lines)),
                    );
                    power(multiplied(row, blocks), times, lines)
                }
                Fold::Max | Fold::Min => extremum::<P, K>(row, None, None, blocks, fold == Fold::Max),
            })
        }
    }
}

/// A reduction as an ordinary tensor. Where no element was specified it holds the reduction of no elements.
fn dense<P: Pattern, const D: usize, K: Numeric>(
    op: &'static str,
    out: SparseTensor<P, D, K>,
    fold: Fold,
) -> Result<Tensor<D, K>> {
    let of_nothing = match fold {
        _ if !out.fill.is_undefined() => return out.dense_within(op, dense_limit()),
        Fold::Sum => Fill::Zero,
        Fold::Prod => Fill::scalar(1),
        Fold::Mean => Fill::scalar(f64::NAN),
        // If every line has an answer, the fill is never read.
        Fold::Max | Fold::Min if is_full(&out.pattern) => Fill::Zero,
        Fold::Max | Fold::Min => {
            let hint = "use with_fill to give the missing elements a value: a line without any has no extremum";
            return Err(SparseError::UndefinedFill { op, hint });
        }
    };
    out.with_fill(of_nothing).dense_within(op, dense_limit())
}

/// The reduction of everything.
pub(super) fn total<P: Pattern, const D: usize, K: Numeric + kind::Ordered>(
    op: &'static str,
    of: &SparseTensor<P, D, K>,
    fold: Fold,
) -> Result<Tensor<1, K>> {
    let axes: Vec<isize> = (0..D as isize).collect();
    let out = reduce(op, of, &axes, fold)?;
    if out.nnz() == 1 && out.block() == 1 {
        return Ok(out.values.reshape(Exact([1])));
    }
    let fill = match (fold, out.fill.is_undefined()) {
        (Fold::Max | Fold::Min, true) => return Err(SparseError::EmptyInput { op }),
        (Fold::Prod, true) => Fill::scalar(1),
        (Fold::Mean, true) => Fill::scalar(f64::NAN),
        _ => out.fill,
    };
    Ok(fill.row(1, of.dtype(), &of.device()).reshape(Exact([1])))
}
