//! Parts of a pattern: the elements at some positions of its dims. The pattern keeps them, so a loop computes each part
//! once.

use super::dims::{empty_pattern, from_dims};
use super::layout::Pattern;
use super::select::kept;
use crate::base::coordinates::{along, by_dim, columns};
use crate::base::empty::nothing;
use crate::base::index::{count_up_on, index_tensor, ints, read, read_all};
use crate::base::kind::Kind;
use crate::kernel;
use crate::rows::{RowMap, move_rows};
use burn::tensor::{Bool, Int, Tensor};
use std::ops::Range;
use std::sync::Arc;

/// `count` positions along a dim: `start`, `start + step`, .. `step` is at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    pub(crate) start: usize,
    pub(crate) count: usize,
    pub(crate) step: usize,
}

impl Cut {
    pub(crate) fn whole(size: usize) -> Self {
        Self { start: 0, count: size, step: 1 }
    }

    pub(crate) fn is_whole(&self, size: usize) -> bool {
        *self == Self::whole(size)
    }

    /// One past the last position.
    fn end(&self) -> usize {
        self.start + (self.count.max(1) - 1) * self.step + usize::from(self.count > 0)
    }

    /// The positions of the middle dim.
    pub(crate) fn of<K: Kind>(&self, rows: Tensor<3, K>) -> Tensor<3, K> {
        if self.step == 1 {
            return rows.narrow(1, self.start, self.count);
        }
        let at = (0..self.count).map(|k| (self.start + k * self.step) as i64).collect();
        let device = rows.device().inner();
        // Positions are distinct, so the scatter-add of the backward pass is deterministic.
        rows.select(1, ints(at, [self.count], &device))
    }
}

#[derive(PartialEq, Eq)]
struct Cuts(Vec<Cut>);

/// Key of all parts of one size along an axis.
#[derive(PartialEq, Eq)]
struct Parts {
    axis: usize,
    size: usize,
}

/// A part of a pattern, and its rows of the values.
pub(crate) type Part<P> = (P, Taken);

/// The rows of the values that belong to a part of a pattern.
#[derive(Clone, Debug)]
pub(crate) enum Taken {
    /// None.
    Nothing,
    /// Consecutive rows.
    Together(Range<usize>),
    /// Row `k` of the part is row `map[k]`. No row is missing.
    Mapped(RowMap),
}

impl Taken {
    /// The part's rows of `values`.
    pub(crate) fn of<K: Kind>(&self, values: &Tensor<2, K>) -> Tensor<2, K> {
        let (block, device, dtype) = (values.dims()[1], values.device(), values.dtype());
        match self {
            Self::Nothing => nothing([0, block], dtype, &[values]),
            Self::Together(rows) => values.clone().narrow(0, rows.start, rows.len()),
            Self::Mapped(map) => {
                let fill = Tensor::zeros([1, block], (&device.inner(), dtype));
                move_rows(values.clone(), fill, map)
            }
        }
    }
}

/// The elements at the given positions of every dim; at least one dim is cut. Reads the device the first time.
pub(crate) fn cut<P: Pattern>(pattern: &P, cuts: &[Cut]) -> Part<P> {
    pattern.memo().get(Cuts(cuts.to_vec()), || find_cut(pattern, cuts))
}

/// Parts of `size` (less than the axis has) along a sparse axis. Reads the device the first time.
pub(crate) fn parts<P: Pattern>(pattern: &P, axis: usize, size: usize) -> Arc<Vec<Part<P>>> {
    pattern.memo().get(Parts { axis, size }, || Arc::new(find_parts(pattern, axis, size)))
}

fn find_cut<P: Pattern>(pattern: &P, cuts: &[Cut]) -> Part<P> {
    let (old, nnz) = (pattern.shape(), pattern.nnz());
    let shape: Vec<usize> = cuts.iter().map(|cut| cut.count).collect();
    let cut: Vec<(usize, Cut)> =
        cuts.iter().copied().enumerate().filter(|(dim, cut)| !cut.is_whole(old[*dim])).collect();
    let none = || (empty_pattern(pattern, &shape), Taken::Nothing);
    if nnz == 0 || shape.contains(&0) {
        return none();
    }
    // Rows are found by pointers. So whatever else is cut looks at their elements only.
    let (mut own, mut before, mut others) = (pattern.clone(), 0, &cut[..]);
    if let Some(slices) = pattern.first_slices()
        && let Some(&(0, Cut { start, count, step })) = cut.first()
    {
        if step == 1 {
            let Some((part, rows)) = slices.split(&[start, start + count]).pop() else {
                unreachable!("there is one part between two bounds")
            };
            if rows.is_empty() {
                return none();
            }
            if cut.len() == 1 {
                return (part, Taken::Together(rows));
            }
            (own, before, others) = (part, rows.start, &cut[1..]);
        } else if cut.len() == 1 {
            let index = count_up_on(count, &pattern.device(), pattern.index_dtype());
            let (part, at) = slices.take(&index.mul_scalar(step as i64).add_scalar(start as i64), None);
            let taken = if part.nnz() == 0 { Taken::Nothing } else { Taken::Mapped(RowMap::new(at, nnz)) };
            return (part, taken);
        }
    }
    search(pattern, (&own, before), others, &shape).unwrap_or_else(none)
}

/// The elements of `own` at these positions of some dims; `None` if there are none. `own` has consecutive elements of
/// the pattern, after the first `before`.
fn search<P: Pattern>(
    pattern: &P,
    (own, before): (&P, usize),
    cut: &[(usize, Cut)],
    shape: &[usize],
) -> Option<Part<P>> {
    let coordinates = own.coordinates();
    let (columns, taken) = match *cut {
        // The elements are consecutive.
        [(0, Cut { start, count, step: 1 })] if pattern.is_coalesced() => {
            let [low, high] = below(pattern, [start, start + count]);
            if low == high {
                return None;
            }
            (coordinates.clone().narrow(1, low, high - low), Taken::Together(low..high))
        }
        _ => {
            let lies = cut.iter().map(|(dim, cut)| lies_in(along(coordinates, *dim), cut, own.shape()[*dim]));
            let Some(keep) = lies.reduce(Tensor::bool_and) else { unreachable!("some dim is cut") };
            let positions = kept(keep, own.index_dtype());
            if positions.dims()[0] == 0 {
                return None;
            }
            let columns = columns(coordinates, &positions);
            let map = index_tensor(positions, pattern.index_dtype());
            let map = if before == 0 { map } else { map.add_scalar(before as i64) };
            (columns, Taken::Mapped(RowMap::new(map, pattern.nnz())))
        }
    };
    let mut dims = by_dim(&columns);
    for &(dim, cut) in cut {
        let from = dims[dim].clone().sub_scalar(cut.start as i64);
        dims[dim] = if cut.step == 1 { from } else { from.div_scalar(cut.step as i64) };
    }
    Some((from_dims(dims, shape, columns.dims()[1], pattern.is_coalesced(), coordinates), taken))
}

fn find_parts<P: Pattern>(pattern: &P, axis: usize, size: usize) -> Vec<Part<P>> {
    let (whole, nnz) = (pattern.shape()[axis], pattern.nnz());
    let starts = (0..whole).step_by(size);
    let count = starts.len();
    let shape_of = |start: usize| {
        let mut shape = pattern.shape().to_vec();
        shape[axis] = size.min(whole - start);
        shape
    };
    if nnz == 0 {
        return starts.map(|start| (empty_pattern(pattern, &shape_of(start)), Taken::Nothing)).collect();
    }
    if let Some(slices) = pattern.first_slices().filter(|_| axis == 0) {
        let bounds: Vec<usize> = starts.chain([whole]).collect();
        let taken = |rows: Range<usize>| if rows.is_empty() { Taken::Nothing } else { Taken::Together(rows) };
        return slices.split(&bounds).into_iter().map(|(part, rows)| (part, taken(rows))).collect();
    }
    let coordinates = pattern.coordinates();
    let part = along(coordinates, axis).div_scalar(size as i64);
    // Along axis 0 of a coalesced tensor the elements of a part are consecutive.
    let (order, ptr) = if axis == 0 && pattern.is_coalesced() {
        (None, kernel::compress(&part, count))
    } else {
        let (order, ptr) = kernel::group_by(&part, count);
        (Some(order), ptr)
    };
    let ptr = read_all(ptr);
    let made = starts.zip(ptr.windows(2)).map(|(start, ends)| {
        let (low, count, shape) = (ends[0] as usize, (ends[1] - ends[0]) as usize, shape_of(start));
        if count == 0 {
            return (empty_pattern(pattern, &shape), Taken::Nothing);
        }
        let (columns, taken) = match &order {
            None => (coordinates.clone().narrow(1, low, count), Taken::Together(low..low + count)),
            Some(order) => {
                let positions = order.clone().narrow(0, low, count);
                (columns(coordinates, &positions), Taken::Mapped(RowMap::new(positions, nnz)))
            }
        };
        let mut dims = by_dim(&columns);
        dims[axis] = dims[axis].clone().sub_scalar(start as i64);
        (from_dims(dims, &shape, count, pattern.is_coalesced(), coordinates), taken)
    });
    made.collect()
}

/// For both bounds: the number of elements of a coalesced pattern with a smaller index along axis 0. Reads the device
/// at most once.
fn below<P: Pattern>(pattern: &P, bounds: [usize; 2]) -> [usize; 2] {
    let (size, nnz, coordinates) = (pattern.shape()[0], pattern.nnz(), pattern.coordinates());
    let first = along(coordinates, 0);
    let count = |bound: usize| -> Tensor<1, Int> {
        index_tensor(first.clone().lower_elem(bound as i64).int(), coordinates.dtype()).sum().reshape([1])
    };
    match bounds {
        [0, end] if end == size => [0, nnz],
        [0, end] => [0, read(count(end))],
        [start, end] if end == size => [read(count(start)), nnz],
        bounds => {
            let both = read_all(Tensor::cat(bounds.map(count).into(), 0));
            [both[0] as usize, both[1] as usize]
        }
    }
}

/// Whether each index along a dim of `size` is one of the cut's positions.
fn lies_in(ids: Tensor<1, Int>, cut: &Cut, size: usize) -> Tensor<1, Bool> {
    let mut all = None;
    let mut and = |keep: Tensor<1, Bool>| {
        all = Some(match all.take() {
            None => keep,
            Some(before) => Tensor::bool_and(before, keep),
        });
    };
    if cut.start > 0 {
        and(ids.clone().greater_equal_elem(cut.start as i64));
    }
    if cut.end() < size {
        and(ids.clone().lower_elem(cut.end() as i64));
    }
    if cut.step > 1 {
        let step = cut.step as i64;
        let from = ids.clone().sub_scalar(cut.start as i64);
        and(from.clone().equal(from.div_scalar(step).mul_scalar(step)));
    }
    all.unwrap_or_else(|| ids.greater_equal_elem(0))
}
