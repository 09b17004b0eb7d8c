//! Pruning and regrowing the pattern of a trained matrix.

use super::param::SparseParam;
use super::replace::PatternChange;
use crate::base::checks::same_device;
use crate::base::index::{index_dtype, ints, read_all};
use crate::base::sizes::cells;
use crate::kernel;
use crate::pattern::layout::Pattern;
use crate::rows::RowMap;
use burn::tensor::{Distribution, Tensor, TensorData};
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use rand::seq::index::sample;
use sparse_burn::read_data;
use sparse_core::{Result, SparseError};
use sparse_macros::or_panic;

/// Where elements grow in [`rewire`](SparseParam::rewire).
#[derive(Clone, Debug)]
pub enum Growth {
    /// Nowhere: magnitude pruning.
    None,
    /// At free positions, each with the same probability, as in SET (Mocanu et al., *Scalable training of artificial
    /// neural networks with adaptive sparse connectivity inspired by network science*, 2018). The same seed gives the
    /// same positions on every machine.
    Random {
        /// Seed of the positions.
        seed: u64,
        /// The new values are normal numbers with this deviation, from the device's generator; 0 for zeros.
        deviation: f64,
    },
    /// At the free positions of largest `|gradient|`, as in RigL (Evci et al., *Rigging the lottery: making all tickets
    /// winners*, ICML 2020). Of equal ones those first in row-major order are taken. The new values are zero. The
    /// gradient of the loss with respect to the dense equivalent, `[rows, columns]`:
    /// `nn::SparseLinear` computes it.
    Gradient(Tensor<2>),
}

impl<P: Pattern> SparseParam<P, 2> {
    /// Drops the `drop` stored elements of smallest `|value|` and grows `grow` others, both at once.
    ///
    /// Free positions for growth are those without an element after the drop, so an element may be dropped and grown
    /// again; it then starts anew. `grow` is cut to the number of free positions. Of equal values those last in storage
    /// order are dropped; NaN counts as infinite.
    ///
    /// The optimiser's state moves with [`PatternChange::carry`]. When to call it, and with how many elements:
    /// [`RewireSchedule`](crate::module::RewireSchedule), [`PruneSchedule`](crate::module::PruneSchedule).
    ///
    /// Reads the device (structure is decided on the host). Cost: `O(nnz log(nnz) + grow)`, for a gradient also a pass
    /// over its elements.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::{CsrTensor, module::{CsrParam, Growth}};
    ///
    /// let device = Device::flex();
    /// let start = CsrTensor::<2>::from_dense(Tensor::from_floats([[3.0, 0.1, 0.0], [0.0, 0.0, 2.0]], &device));
    /// let gradient = Tensor::<2>::from_floats([[0.0, 0.2, 0.5], [-7.0, 1.0, 9.0]], &device);
    /// let (weight, change) = CsrParam::from_tensor(start).rewire(1, 1, Growth::Gradient(gradient));
    /// let dense = weight.val().to_dense().into_data();
    /// assert_eq!(dense.iter::<f32>().collect::<Vec<_>>(), [3.0, 0.0, 0.0, 0.0, 0.0, 2.0]);
    /// assert_eq!(weight.val().col_idx().into_data().iter::<i64>().collect::<Vec<_>>(), [0, 0, 2]); // (1, 0) is new
    /// assert_eq!(change.index_map().into_data().iter::<i64>().collect::<Vec<_>>(), [0, 3, 2]);
    /// ```
    ///
    /// # Errors
    ///
    /// `fill_mismatch` for another fill than zero; `shape_mismatch` for a gradient of another shape, or dense dims;
    /// `overflow` for a shape of more than `i64::MAX` positions; `device_mismatch`; `invalid` if more elements are
    /// dropped than there are, for a negative deviation, and as [`try_replace_pattern`](Self::try_replace_pattern).
    #[or_panic]
    pub fn try_rewire(self, drop: usize, grow: usize, growth: Growth) -> Result<(Self, PatternChange)> {
        const OP: &str = "rewire";
        let free = self.free_positions(OP, drop)?;
        let at = self.flat_positions();
        let values = numbers(self.val().values);
        let old = at.len();
        let kept: Vec<usize> = largest(0..old, &values, old - drop);
        let occupied: Vec<usize> = kept.iter().map(|&k| at[k]).collect();
        let grow = grow.min(free);
        let (grown, deviation) = match growth {
            Growth::None => (vec![], 0.0),
            Growth::Random { deviation, .. } if !(0.0..f64::INFINITY).contains(&deviation) => {
                let message = format!("the deviation must be finite and not negative, got {deviation}");
                return Err(SparseError::invalid(OP, message));
            }
            Growth::Random { seed, deviation } => (draw_free(seed, &occupied, free, grow), deviation),
            Growth::Gradient(gradient) => {
                if gradient.dims() != self.dims() {
                    let rule = "the gradient {left} must have the shape {right} of the parameter";
                    return Err(SparseError::shape_mismatch(OP, rule, gradient.dims(), self.dims()));
                }
                same_device(OP, &gradient.device(), &self.device())?;
                let gradient = numbers(gradient);
                (largest(unoccupied(&occupied, gradient.len()), &gradient, grow), 0.0)
            }
        };
        // Not looked up by position: a position that is dropped and grown again starts anew.
        let elements = occupied.into_iter().zip(kept).chain(grown.into_iter().map(|at| (at, old)));
        let mut elements: Vec<(usize, usize)> = elements.collect();
        elements.sort_unstable();
        let (at, map): (Vec<usize>, Vec<i64>) = elements.into_iter().map(|(at, from)| (at, from as i64)).unzip();
        let pattern = self.pattern_at(&at);
        let length = map.len();
        let map = RowMap::new(ints(map, [length], &self.pattern.device()), old);
        self.moved(OP, pattern, map, |rows, map| {
            let zero = Tensor::zeros([1, 1], (&rows.device(), rows.dtype()));
            let rows = kernel::move_rows(&rows, &zero, map.map());
            if deviation == 0.0 || length == 0 {
                return rows;
            }
            let new = map.map().clone().equal_elem(old as i64).reshape([length, 1]);
            let start = rows.random_like(Distribution::Normal(0.0, deviation));
            rows.mask_where(new, start)
        })
    }

    /// How many positions have no element after `drop` of them are dropped. Checks the parameter.
    fn free_positions(&self, op: &'static str, drop: usize) -> Result<usize> {
        if !self.dense_shape.is_empty() {
            let rule = "the parameter must be a matrix without dense dims, got shape {left} with [sparse, dense] dims \
                        {right}";
            let dims = [self.pattern.shape().len(), self.dense_shape.len()];
            return Err(SparseError::shape_mismatch(op, rule, self.dims(), dims));
        }
        if !self.fill.is_zero() {
            let hint = "elements are dropped as zeros; use with_fill of val, and from_tensor";
            return Err(SparseError::wrong_fill(op, "zero", &self.fill, hint));
        }
        if !self.pattern.is_coalesced() {
            let message = "use coalesce first: each coordinate must be stored once, got an uncoalesced pattern";
            return Err(SparseError::invalid(op, message));
        }
        if drop > self.nnz() {
            let message = format!("drop must be at most the number of stored elements, got {drop} of {}", self.nnz());
            return Err(SparseError::invalid(op, message));
        }
        let (all, limit) = (cells(self.pattern.shape()), i64::MAX as u128);
        if all > limit {
            return Err(SparseError::overflow(op, "the number of positions", limit, all));
        }
        Ok(all as usize - (self.nnz() - drop))
    }

    /// The row-major position of every element, ascending.
    fn flat_positions(&self) -> Vec<usize> {
        let at = read_all(self.pattern.coordinates().clone());
        let (rows, cols) = at.split_at(self.nnz());
        rows.iter().zip(cols).map(|(&row, &col)| row as usize * self.pattern.shape()[1] + col as usize).collect()
    }

    /// The pattern of ascending row-major positions.
    fn pattern_at(&self, at: &[usize]) -> P {
        let (shape, device) = (self.pattern.shape(), self.pattern.device());
        let dtype = index_dtype(shape, at.len());
        let cols = shape[1].max(1);
        let coordinates = at.iter().map(|at| at / cols).chain(at.iter().map(|at| at % cols));
        let data = TensorData::new(coordinates.map(|index| index as i64).collect(), [2, at.len()]);
        let indices = match at.len() {
            0 => Tensor::empty([2, 0], (&device, dtype)),
            _ => Tensor::from_data(data.convert_dtype(dtype), (&device, dtype)),
        };
        P::from_coordinates(indices, shape, true)
    }
}

fn numbers(values: Tensor<2>) -> Vec<f64> {
    read_data(values.inner()).convert::<f64>().iter().collect()
}

/// The `count` positions of largest `|values[position]|`, ascending; of equal ones the first. NaN is largest.
fn largest(positions: impl Iterator<Item = usize>, values: &[f64], count: usize) -> Vec<usize> {
    let mut positions: Vec<usize> = positions.collect();
    if count < positions.len() {
        let size = |at: usize| values[at].abs();
        positions.select_nth_unstable_by(count, |&a, &b| size(b).total_cmp(&size(a)).then(a.cmp(&b)));
        positions.truncate(count);
        positions.sort_unstable();
    }
    positions
}

/// The positions below `end` that are not in `occupied`, which ascends.
fn unoccupied(occupied: &[usize], end: usize) -> impl Iterator<Item = usize> {
    let mut next = occupied.iter().copied().peekable();
    (0..end).filter(move |at| next.next_if_eq(at).is_none())
}

/// `count` of the `free` positions that are not in `occupied`, which ascends, in any order.
fn draw_free(seed: u64, occupied: &[usize], free: usize, count: usize) -> Vec<usize> {
    let mut ranks = sample(&mut Xoshiro256PlusPlus::seed_from_u64(seed), free, count).into_vec();
    ranks.sort_unstable();
    // The free position of rank `r` is `r` plus the number of occupied positions before it.
    let mut before = 0;
    for rank in &mut ranks {
        while occupied.get(before).is_some_and(|&at| at <= *rank + before) {
            before += 1;
        }
        *rank += before;
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::{draw_free, largest, unoccupied};

    #[test]
    fn free_positions_are_drawn_without_the_occupied_ones() {
        let occupied = [0, 1, 4, 9];
        let free: Vec<usize> = unoccupied(&occupied, 10).collect();
        assert_eq!(free, [2, 3, 5, 6, 7, 8]);
        assert_eq!(draw_free(1, &occupied, 6, 6), free);
        assert_eq!(draw_free(1, &[], 3, 3), [0, 1, 2]);
        for seed in 0..50 {
            let some = draw_free(seed, &occupied, 6, 3);
            assert!(some.len() == 3 && some.is_sorted() && some.iter().all(|at| free.contains(at)), "{some:?}");
        }
    }

    #[test]
    fn of_equal_values_the_first_are_kept() {
        let values = [1.0, -2.0, 1.0, f64::NAN, 0.0, 2.0];
        assert_eq!(largest(0..6, &values, 3), [1, 3, 5]);
        assert_eq!(largest(0..6, &values, 4), [0, 1, 3, 5]);
        assert!(largest(0..6, &values, 0).is_empty());
        assert_eq!(largest(0..6, &values, 6), [0, 1, 2, 3, 4, 5]);
    }
}
