//! Values under a change of pattern: rows are moved, or summed where several become one.
//!
//! Both operations are linear, and each is the transpose of the other. So the backward pass of one runs the kernel of
//! the other.

pub(crate) mod zip;

use crate::base::exact::Exact;
use crate::base::index::count_up;
use crate::base::kind::{Kind, Numeric, as_float, from_float};
use crate::base::lazy::Lazy;
use crate::kernel;
use crate::policy::{mostly_empty, own_sums};
use burn::tensor::{Device, Int, Shape, Tensor};
use sparse_autograd::{Erased, record};
use std::fmt;
use std::sync::Arc;

/// An index map: for each new row the old row that it comes from, or `old` (the number of old rows) for the fill.
#[derive(Clone)]
pub struct RowMap(Arc<RowMapData>);

struct RowMapData {
    map: Tensor<1, Int>,
    old: usize,
    inverse: Lazy<Tensor<1, Int>>,
    permutes: bool,
    groups: Lazy<(Tensor<1, Int>, Tensor<1, Int>)>,
    used: Lazy<(Tensor<1, Int>, RowSums)>,
}

impl fmt::Debug for RowMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RowMap({} of {} rows)", self.map().dims()[0], self.0.old)
    }
}

impl RowMap {
    /// A map of `old` rows: `map[k]` is the old row of new row `k`, or `old` for the fill.
    pub fn new(map: Tensor<1, Int>, old: usize) -> Self {
        Self::with(map, old, Lazy::new(), false, Lazy::new())
    }

    fn with(
        map: Tensor<1, Int>,
        old: usize,
        inverse: Lazy<Tensor<1, Int>>,
        permutes: bool,
        groups: Lazy<(Tensor<1, Int>, Tensor<1, Int>)>,
    ) -> Self {
        Self(Arc::new(RowMapData { map, old, inverse, permutes, groups, used: Lazy::new() }))
    }

    /// A map whose new rows are grouped already, as [`groups`](Self::groups) gives them.
    pub(crate) fn grouped(map: Tensor<1, Int>, old: usize, groups: (Tensor<1, Int>, Tensor<1, Int>)) -> Self {
        Self::with(map, old, Lazy::new(), false, groups.into())
    }

    /// A map that uses every old row once. The backward pass reads its inverse.
    pub(crate) fn permutation(map: Tensor<1, Int>) -> Self {
        let old = map.dims()[0];
        Self::with(map, old, Lazy::new(), true, Lazy::new())
    }

    /// A map that uses each old row at most once. `inverse` has the new row of each old one, or the number of new rows
    /// for an unused one. With it the backward pass needs no sort.
    pub(crate) fn with_inverse(map: Tensor<1, Int>, inverse: Tensor<1, Int>) -> Self {
        let old = inverse.dims()[0];
        Self::with(map, old, Lazy::from(inverse), false, Lazy::new())
    }

    /// The old row of each new one.
    pub fn map(&self) -> &Tensor<1, Int> {
        &self.0.map
    }

    /// Number of old rows.
    pub(crate) fn old(&self) -> usize {
        self.0.old
    }

    /// The gradients of the old rows (if `values`) and of the fill (if `fill`), from that of the new rows.
    pub(crate) fn back(&self, grad: &Tensor<2>, values: bool, fill: bool) -> [Option<Tensor<2>>; 2] {
        if self.0.permutes {
            // Grouping by a permutation inverts it.
            self.0.inverse.get(|| kernel::group_by(&self.0.map, self.0.old).0);
        }
        if let (Some(inverse), false) = (self.0.inverse.known(), fill) {
            let zero = Tensor::zeros([1, grad.dims()[1]], (&grad.device(), grad.dtype()));
            return [values.then(|| kernel::move_rows(grad, &zero, inverse)), None];
        }
        let (old, block) = (self.0.old, grad.dims()[1]);
        let sums = match self.used(&grad.device()) {
            // The other rows stay zero, and are not touched.
            Some((rows, sums)) => {
                kernel::place_rows(kernel::segment_sum(grad, sums.order(), sums.ptr()), rows, old + 1)
            }
            None => {
                let (order, ptr) = self.groups();
                kernel::segment_sum(grad, Some(order), ptr)
            }
        };
        // Burn refuses to narrow to size 0.
        let rows = |sums: Tensor<2>| {
            if old == 0 { Tensor::empty([0, block], (&grad.device(), grad.dtype())) } else { sums.narrow(0, 0, old) }
        };
        [values.then(|| rows(sums.clone())), fill.then(|| sums.narrow(0, old, 1))]
    }

    /// The old rows that the map uses, ascending, and the new rows of each, if most old rows are not used. The number
    /// of old rows stands for the fill.
    fn used(&self, device: &Device) -> Option<&(Tensor<1, Int>, RowSums)> {
        let (map, old) = (&self.0.map, self.0.old);
        if self.0.groups.known().is_some() || !mostly_empty(old, map.dims()[0], device) {
            return None;
        }
        Some(self.0.used.get(|| distinct(map, old + 1)))
    }

    /// New rows grouped by their old row; the last group has those that take the fill.
    pub(crate) fn groups(&self) -> &(Tensor<1, Int>, Tensor<1, Int>) {
        self.0.groups.get(|| kernel::group_by(&self.0.map, self.0.old + 1))
    }
}

/// The distinct keys in `[0, size)`, ascending, and the positions of each.
pub(crate) fn distinct(keys: &Tensor<1, Int>, size: usize) -> (Tensor<1, Int>, RowSums) {
    let count = keys.dims()[0];
    let (found, order, ptr) = kernel::coalesce(keys.clone().reshape(Exact([1, count])), &[size][..]);
    let unique = found.dims()[1];
    (found.reshape(Exact([unique])), RowSums::new(Some(order), ptr))
}

/// Row `k` of the result is row `map[k]` of `values` `[n, block]`, or `fill` `[1, block]` where it is missing.
///
/// Backward: each old row gets the sum of the gradients of the new rows that it went to; `fill` gets the sum of the
/// rest.
pub fn move_rows<K: Kind>(values: Tensor<2, K>, fill: Tensor<2, K>, map: &RowMap) -> Tensor<2, K> {
    let out = kernel::move_rows(&values, &fill, map.map());
    let (Some(values), Some(fill)) = (as_float(&values), as_float(&fill)) else { return out };
    let out = as_float(&out).expect("the kind of the values");
    from_float(record(out, [Erased::from(values), Erased::from(fill)], map.clone(), |map, grad, [values, fill]| {
        map.back(&grad, values, fill).map(|grad| grad.map(Erased::from))
    }))
}

/// The old rows that are summed in each new row.
#[derive(Clone)]
pub struct RowSums(Arc<RowSumsData>);

struct RowSumsData {
    order: Option<Tensor<1, Int>>,
    ptr: Tensor<1, Int>,
    places: Lazy<Tensor<1, Int>>,
    owner: Lazy<Tensor<1, Int>>,
    identity: Lazy<Tensor<1, Int>>,
}

impl fmt::Debug for RowSums {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RowSums({} sums)", self.0.ptr.dims()[0] - 1)
    }
}

impl RowSums {
    /// New row `s` is the sum of old rows `order[ptr[s]..ptr[s + 1]]` (of `ptr[s]..ptr[s + 1]` without an order).
    pub fn new(order: Option<Tensor<1, Int>>, ptr: Tensor<1, Int>) -> Self {
        Self(Arc::new(RowSumsData { order, ptr, places: Lazy::new(), owner: Lazy::new(), identity: Lazy::new() }))
    }

    /// The order that puts the rows of each sum next to each other; `None` if they are consecutive already.
    pub(crate) fn order(&self) -> Option<&Tensor<1, Int>> {
        self.0.order.as_ref()
    }

    /// The start of each sum in the order.
    pub(crate) fn ptr(&self) -> &Tensor<1, Int> {
        &self.0.ptr
    }

    /// `(order, ptr)` for `old` rows, as `put` takes them: with an order in every case.
    pub(crate) fn groups(&self, old: usize) -> (Tensor<1, Int>, Tensor<1, Int>) {
        let order = self.order().unwrap_or_else(|| self.0.identity.get(|| count_up(old, self.ptr())));
        (order.clone(), self.ptr().clone())
    }

    /// The place of each old row in the order.
    pub(crate) fn places(&self) -> Option<&Tensor<1, Int>> {
        // The order is a permutation: grouping by it inverts it.
        let inverse = |order: &Tensor<1, Int>| kernel::group_by(order, order.dims()[0]).0;
        self.0.order.as_ref().map(|order| self.0.places.get(|| inverse(order)))
    }

    /// The sum that each of `old` rows belongs to.
    pub(crate) fn owner(&self, old: usize) -> &Tensor<1, Int> {
        self.0.owner.get(|| {
            let sorted = kernel::expand_ptr(&self.0.ptr, old);
            match self.places() {
                None => sorted,
                Some(places) => sorted.select(0, places.clone()),
            }
        })
    }
}

/// Sums rows of `values` `[n, block]`; of Bool, whether any is true. Backward: each row gets the gradient of its sum.
pub fn sum_rows<K: Kind>(values: Tensor<2, K>, sums: &RowSums) -> Tensor<2, K> {
    let out = kernel::segment_sum(&values, sums.0.order.as_ref(), &sums.0.ptr);
    let Some(parent) = as_float(&values) else { return out };
    let old = parent.dims()[0];
    let out = as_float(&out).expect("the kind of the values");
    from_float(record(out, [Erased::from(parent)], (sums.clone(), old), |(sums, old), grad, _| {
        let zero = Tensor::zeros([1, grad.dims()[1]], (&grad.device(), grad.dtype()));
        [Some(kernel::move_rows(&grad, &zero, sums.owner(*old)).into())]
    }))
}

/// `x` along dims of size 1. The gradient is summed as in [`sum_dim`].
pub fn expand<const D: usize>(x: Tensor<D>, shape: [usize; D]) -> Tensor<D> {
    let out = x.clone().inner().expand(Shape::from(shape));
    record(out, [Erased::from(x.clone())], x.dims(), |own, grad: Tensor<D>, _| {
        let add = |grad: Tensor<D>, dim: usize| if own[dim] == 1 { sum_dim(grad, dim) } else { grad };
        [Some((0..D).fold(grad, add).into())]
    })
}

/// The sums along one dim, which keeps size 1. On a CPU, and on a GPU for few long sums, in blocks, as all our sums;
/// those of Burn stop at 2^24 in f32.
pub fn sum_dim<const D: usize, K: Numeric>(x: Tensor<D, K>, dim: usize) -> Tensor<D, K> {
    let (full, device) = (x.dims(), x.device().inner());
    let (lines, block): (usize, usize) = (full[..dim].iter().product(), full[dim + 1..].iter().product());
    if full.contains(&0) || !own_sums(full[dim], lines * block, &device) {
        return x.sum_dim(dim);
    }
    let mut shape = full;
    let count = core::mem::replace(&mut shape[dim], 1);
    let dtype = sparse_burn::index_dtype_for(lines * count);
    let ptr = Tensor::arange(0..lines as i64 + 1, (&device, dtype)).mul_scalar(count as i64);
    let out = kernel::segment_sum(x.clone().reshape(Exact([lines * count, block])), None, ptr).reshape(Exact(shape));
    let (Some(x), Some(sums)) = (as_float(&x), as_float(&out)) else { return out };
    from_float(record(sums, [Erased::from(x)], full, |full, grad: Tensor<D>, _| {
        let back: Tensor<D> = grad.expand(Shape::from(*full));
        [Some(back.into())]
    }))
}
