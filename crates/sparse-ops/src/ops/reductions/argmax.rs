//! Positions of the largest and smallest elements.

use crate::base::checks::plain_name;
use crate::base::coordinates;
use crate::base::exact::Exact;
use crate::base::index::index_tensor;
use crate::base::kind::{Numeric, as_float};
use crate::kernel;
use crate::ops::reductions::along::Along;
use crate::ops::reductions::extremum::{end, extremum, of_lines};
use crate::pattern::layout::Pattern;
use crate::pattern::lines::Lines;
use crate::tensor::fill::Fill;
use crate::tensor::sparse::SparseTensor;
use burn::tensor::{AsIndex, Bool, Int, Shape, Tensor, kind};
use sparse_burn::Reduce;
use sparse_core::{Result, SparseError};
use sparse_macros::or_panic;

macro_rules! positions {
    ($name:ident $greatest:literal $what:literal) => {
        #[doc = concat!("The position of the ", $what, " element along a sparse `dim`. The dim stays with size 1.")]
        ///
        /// Of equal elements the first one is taken, as in Burn. NaN wins. If the fill wins, the result is the first
        /// unspecified position. A line without stored elements has position 0; with an `Undefined` fill only stored
        /// elements count, and such a line stays unspecified. There is no gradient. Cost: a few passes over the values.
        ///
        /// # Errors
        ///
        /// `axis_out_of_range`; `empty_input` if the dim has size 0; `shape_mismatch` for a dense dim.
        #[or_panic]
        pub fn $name(&self, dim: impl AsIndex) -> Result<SparseTensor<P, D, Int>> {
            position(plain_name(stringify!($name)), self, dim.as_index(), $greatest)
        }
    };
}

impl<P: Pattern, const D: usize, K: Numeric + kind::Ordered> SparseTensor<P, D, K> {
    positions!(try_argmax true "largest");
    positions!(try_argmin false "smallest");
}

fn position<P: Pattern, const D: usize, K: Numeric + kind::Ordered>(
    op: &'static str,
    of: &SparseTensor<P, D, K>,
    axis: isize,
    greatest: bool,
) -> Result<SparseTensor<P, D, Int>> {
    let at = of.axis(op, axis)?;
    if at >= of.sparse_dims() {
        let (left, right) = (of.dims().to_vec(), vec![of.sparse_dims(), of.dense_dims()]);
        let rule = "the dim must be a sparse one, got shape {left} with [sparse, dense] dims {right}";
        return Err(SparseError::shape_mismatch(op, rule, left, right));
    }
    let along = Along::new(op, of, &[axis])?;
    let undefined = of.fill.is_undefined();
    let dtype = of.pattern.index_dtype();
    let fill = if undefined { Fill::Undefined } else { Fill::Zero };
    if along.lines == 0 && !undefined {
        return Err(along.empty_dim(op, &of.dims()));
    }
    if of.nnz() == 0 || of.block() == 0 {
        return Ok(along.empty_result(of, dtype, fill));
    }
    let own = of.coalesce();
    let lines = along.of(&own.pattern).expect("the axis is a sparse one");
    let (values, block) = (own.values.clone().inner(), own.block());
    let filled = (!undefined).then(|| own.fill_row().inner());
    let best = extremum(values.clone(), filled.clone(), Some(&*lines), &along.blocks, greatest);
    let shape = Shape::from([own.nnz(), block]);
    let here = coordinates::along(own.pattern.coordinates(), at).reshape(Exact([own.nnz(), 1]));
    let here: Tensor<2, Int> = here.expand(shape.clone());
    let none = Tensor::zeros([1, block], (&best.device(), best.dtype()));
    let tied = same(values, kernel::move_rows(&best, &none, lines.owner()));
    // Past the end, where an element is not among the best.
    let size = own.pattern.shape()[at] as i64;
    let past = Tensor::<2, Int>::full(shape, size, (&here.device(), here.dtype()));
    let mut first = of_lines(&lines, past.mask_where(tied, here), end(false));
    if let Some(filled) = filled {
        let shape = Shape::from(first.dims());
        let gap: Tensor<2, Int> = gap(&own.pattern, &lines, at).expand(shape.clone());
        let wins = same(filled.expand(shape.clone()), best).bool_and(lines.missing().greater_scalar(0).expand(shape));
        let earlier = wins.bool_and(gap.clone().lower(first.clone()));
        first = first.mask_where(earlier, gap);
    }
    Ok(SparseTensor::from_parts(lines.pattern.clone(), first, own.dense_shape.clone(), fill))
}

/// The first unspecified position of each line, `[lines, 1]`; past the end if every element is stored.
fn gap<P: Pattern>(pattern: &P, lines: &Lines<P>, axis: usize) -> Tensor<2, Int> {
    let nnz = pattern.nnz();
    let (order, ptr) = lines.groups();
    let dtype = ptr.dtype();
    // In a line elements ascend along the axis. One whose coordinate exceeds its rank has a gap before it.
    let place = kernel::group_by(&order, nnz).0;
    let owner = lines.owner();
    let rank = place - ptr.select(0, owner.clone());
    let here = index_tensor(coordinates::along(pattern.coordinates(), axis), dtype);
    let count = lines.counts().select(0, owner.clone());
    let candidate = count.mask_where(here.greater(rank.clone()), rank);
    of_lines(lines, candidate.reshape(Exact([nnz, 1])), Reduce::Amin)
}

/// Equal, with NaN equal to itself.
fn same<K: Numeric>(a: Tensor<2, K>, b: Tensor<2, K>) -> Tensor<2, Bool> {
    match (as_float(&a), as_float(&b)) {
        (Some(a), Some(b)) => super::extremum::same(a, b),
        _ => a.equal(b),
    }
}
