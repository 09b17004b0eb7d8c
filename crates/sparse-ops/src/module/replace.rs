//! Other patterns for a parameter, and the state of optimisers under the change.

use super::param::{SparseParam, updated};
use crate::base::checks::{same_device, same_dtype};
use crate::base::empty::cat_rows;
use crate::base::index::{count_up, index_tensor, read, read_all};
use crate::kernel;
use crate::pattern::layout::Pattern;
use crate::pattern::merge::located;
use crate::rows::RowMap;
use crate::tensor::sparse::SparseTensor;
use burn::module::ParamId;
use burn::optim::{ModuleOptimizer, OptimizerRecord};
use burn::tensor::{Bool, Bytes, Int, Shape, Tensor};
use burn_pack::{Reader, Writer};
use sparse_core::{Result, SparseError};
use sparse_macros::or_panic;
use std::fmt;

/// A change of a parameter's pattern: where each element of the new pattern was in the old one.
///
/// Made by [`replace_pattern`](SparseParam::replace_pattern), [`replace_with`](SparseParam::replace_with) and
/// [`rewire`](SparseParam::rewire).
#[derive(Clone)]
pub struct PatternChange {
    id: ParamId,
    map: RowMap,
    old: usize,
    block: usize,
}

impl PatternChange {
    /// The parameter's id, which stays.
    pub fn id(&self) -> ParamId {
        self.id
    }

    /// Number of elements of the old pattern.
    pub fn old_nnz(&self) -> usize {
        self.old
    }

    /// Number of elements of the new pattern.
    pub fn new_nnz(&self) -> usize {
        self.map.map().dims()[0]
    }

    /// For each element of the new pattern its position in the old one; [`old_nnz`](Self::old_nnz) for one that is new.
    pub fn index_map(&self) -> Tensor<1, Int> {
        self.map.map().clone()
    }

    /// For each element of the new pattern whether it is new.
    pub fn is_new(&self) -> Tensor<1, Bool> {
        self.map.map().clone().equal_elem(self.old as i64)
    }

    /// The optimiser with its state of this parameter on the new pattern: see [`carry_state`].
    ///
    /// # Errors
    ///
    /// As [`carry_state`].
    pub fn carry(&self, optimizer: ModuleOptimizer) -> Result<ModuleOptimizer> {
        carry_state(optimizer, std::slice::from_ref(self))
    }
}

impl fmt::Debug for PatternChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PatternChange({} to {} elements, id: {})", self.old, self.new_nnz(), self.id)
    }
}

impl<P: Pattern, const D: usize> SparseParam<P, D> {
    /// The parameter on another pattern of the same shape. Elements that stay keep their values, new ones get that of
    /// the fill, so the dense equivalent changes only where elements are dropped.
    ///
    /// The id stays. An optimiser that has stepped before has state for the old elements:
    /// [`carry`](PatternChange::carry) moves it. Without that, its next step panics if the number of elements differs,
    /// and mixes up the elements if it does not.
    ///
    /// Both patterns must be coalesced. Cost: `O(nnz log(nnz))`; nothing dense is formed.
    ///
    /// ```
    /// use burn::module::Module;
    /// use burn::optim::{AdamConfig, GradientsParams};
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::{CsrTensor, module::CsrParam};
    ///
    /// let device = Device::flex().autodiff();
    /// let matrix = |rows: [[f32; 2]; 2]| CsrTensor::<2>::from_dense(Tensor::from_floats(rows, &device));
    /// let mut weight = CsrParam::from_tensor(matrix([[1.0, 2.0], [0.0, 3.0]]));
    /// let mut optimizer = AdamConfig::new().with_epsilon(1e-8).init();
    /// let loss = weight.val().matmul(Tensor::<2>::ones([2, 1], &device)).sum();
    /// let grads = GradientsParams::from_grads(loss.backward(), &weight);
    /// weight = optimizer.step(0.1, weight, grads);
    ///
    /// // Drops the element at (0, 1) and grows one at (1, 0).
    /// let (weight, change) = weight.replace_pattern(matrix([[1.0, 0.0], [1.0, 1.0]]).pattern().clone());
    /// optimizer = change.carry(optimizer).unwrap();
    /// assert_eq!(change.index_map().into_data().iter::<i64>().collect::<Vec<_>>(), [0, 3, 2]);
    /// assert_eq!(weight.val().values::<1>().into_data().iter::<f32>().nth(1), Some(0.0));
    /// assert_eq!(weight.num_params(), 3);
    /// # let loss = weight.val().matmul(Tensor::<2>::ones([2, 1], &device)).sum();
    /// # let grads = GradientsParams::from_grads(loss.backward(), &weight);
    /// # optimizer.step(0.1, weight, grads);
    /// ```
    ///
    /// # Errors
    ///
    /// `shape_mismatch` for other sparse dims; `device_mismatch`; `invalid` if a pattern is not coalesced, or the
    /// values are reparameterized (LoRA); `undefined_fill` if a new element would have no value
    /// ([`replace_with`](Self::replace_with) gives one).
    #[or_panic]
    pub fn try_replace_pattern(self, pattern: P) -> Result<(Self, PatternChange)> {
        const OP: &str = "replace_pattern";
        let map = self.map_to(OP, &pattern)?;
        let old = self.nnz();
        if self.fill.is_undefined() && any_new(&map, old) {
            return Err(SparseError::undefined_fill(OP, "use replace_with to give the new elements a value"));
        }
        let fill = self.val().fill_row().inner();
        self.moved(OP, pattern, map, |rows, map| kernel::move_rows(&rows, &fill, map.map()))
    }

    /// The parameter on the pattern of `start`. Elements that stay keep their values, new ones get those of `start`.
    /// The fill stays; that of `start` does not matter. Otherwise as
    /// [`replace_pattern`](Self::replace_pattern).
    ///
    /// # Errors
    ///
    /// As [`try_replace_pattern`](Self::try_replace_pattern), but an undefined fill is allowed; `dtype_mismatch`.
    #[or_panic]
    pub fn try_replace_with(self, start: &SparseTensor<P, D>) -> Result<(Self, PatternChange)> {
        const OP: &str = "replace_with";
        let map = self.map_to(OP, start.pattern())?;
        if start.dims() != self.dims() {
            return Err(other_shape(OP, &start.dims(), &self.dims()));
        }
        same_dtype(OP, start.dtype(), self.dtype())?;
        let (old, new) = (self.nnz(), start.nnz());
        let fresh = start.values.clone().inner();
        self.moved(OP, start.pattern().clone(), map, |rows, map| {
            if new == 0 {
                return fresh;
            }
            // Rows of both, the old ones first: a new element reads its own row of `start`.
            let dtype = sparse_burn::index_dtype_for(old + new);
            let map = index_tensor(map.map().clone(), dtype);
            let own = count_up(new, &map).add_scalar(old as i64);
            let map = map.clone().mask_where(map.equal_elem(old as i64), own);
            let zero = Tensor::zeros([1, fresh.dims()[1]], (&fresh.device(), fresh.dtype()));
            kernel::move_rows(cat_rows([rows, fresh]), &zero, &map)
        })
    }

    /// For each element of `pattern` its position in the own one.
    fn map_to(&self, op: &'static str, pattern: &P) -> Result<RowMap> {
        if pattern.shape() != self.pattern.shape() {
            return Err(other_shape(op, pattern.shape(), self.pattern.shape()));
        }
        same_device(op, &pattern.device(), &self.pattern.device())?;
        if !pattern.is_coalesced() || !self.pattern.is_coalesced() {
            let message = "use coalesce first: both patterns must store each coordinate once and in order";
            return Err(SparseError::invalid(op, message));
        }
        if pattern.is_same(&self.pattern) {
            return Ok(RowMap::new(count_up(self.nnz(), pattern.coordinates()), self.nnz()));
        }
        Ok(located(pattern, &self.pattern))
    }

    /// The parameter on another pattern. `rows` makes its values from the old ones, both off the tape.
    pub(super) fn moved(
        self,
        op: &'static str,
        pattern: P,
        map: RowMap,
        rows: impl FnOnce(Tensor<2>, &RowMap) -> Tensor<2>,
    ) -> Result<(Self, PatternChange)> {
        let change = PatternChange { id: self.id(), map: map.clone(), old: self.nnz(), block: self.block() };
        let values = updated(op, self.values, |old| Ok(rows(old.inner(), &map)))?;
        Ok((Self { values, pattern, ..self }, change))
    }
}

fn any_new(map: &RowMap, old: usize) -> bool {
    map.map().dims()[0] > 0 && read(map.map().clone().equal_elem(old as i64).any().int()) > 0
}

fn other_shape(op: &'static str, got: &[usize], own: &[usize]) -> SparseError {
    SparseError::shape_mismatch(op, "the new pattern {left} must have the shape {right} of the parameter", got, own)
}

/// The optimiser with its state on the new patterns of parameters: moments of elements that stay are kept, those of
/// new elements start at zero, as in RigL (Evci et al., *Rigging the lottery*, ICML 2020).
///
/// State that has a number for each value (Adam's and AdamW's moments, SGD's velocity, sums of squares) or for each
/// stored element (Adafactor's row moments) is moved; counters of steps and other state stay. A parameter that has not
/// stepped yet has no state, which is fine. Give all changes of a module in one call: the whole state of the optimiser
/// goes through host memory, as Burn gives it out in the form of a record only. Its groups, clipping and settings stay.
///
/// # Errors
///
/// `length_mismatch` if the state is not that of the old pattern; `invalid` if Burn cannot write or read the state.
pub fn carry_state(optimizer: ModuleOptimizer, changes: &[PatternChange]) -> Result<ModuleOptimizer> {
    let invalid = |trouble: String| SparseError::invalid(OP, format!("the state must be readable, got {trouble}"));
    let bytes = optimizer.into_bytes().map_err(|trouble| invalid(trouble.to_string()))?;
    let bytes = replaced(bytes, changes, &invalid)?;
    let record = OptimizerRecord::from_bytes(bytes).map_err(|trouble| invalid(trouble.to_string()))?;
    Ok(optimizer.load_record(record))
}

const OP: &str = "carry_state";

/// The record of an optimiser on the new patterns.
fn replaced(bytes: Bytes, changes: &[PatternChange], invalid: &dyn Fn(String) -> SparseError) -> Result<Bytes> {
    let failed = |trouble: burn_pack::Error| invalid(trouble.to_string());
    let reader = Reader::from_bytes(bytes).map_err(failed)?;
    let (scalars, metadata) = (reader.scalars().clone(), reader.metadata().clone());
    let mut tensors = reader.into_tensors().map_err(failed)?;
    for change in changes {
        let positions = read_all(change.map.map().clone());
        for tensor in tensors.iter_mut().filter(|tensor| tensor.param_id == Some(change.id.val())) {
            let shape = tensor.shape.to_vec();
            let Some(width) = change.width(&tensor.name, &shape)? else { continue };
            let (name, dtype, id) = (tensor.name.clone(), tensor.dtype, tensor.param_id);
            let old = tensor.to_bytes().map_err(failed)?;
            let row = width * dtype.size();
            if old.len() != change.old * row {
                return Err(SparseError::length_mismatch(OP, "the bytes of a moment", change.old * row, old.len()));
            }
            // A new element has zero bytes, which are zero in every dtype.
            let mut new = vec![0; positions.len() * row];
            for (to, &from) in new.chunks_exact_mut(row.max(1)).zip(&positions) {
                if let Some(from) = old[..].chunks_exact(row.max(1)).nth(from as usize) {
                    to.copy_from_slice(from);
                }
            }
            let shape: Vec<usize> = [&[positions.len()], &shape[1..]].concat();
            *tensor = burn_pack::Tensor::new(name, dtype, Shape::from(shape), id, Bytes::from_bytes_vec(new));
        }
    }
    let mut writer = Writer::new(tensors);
    for (key, value) in scalars {
        writer = writer.with_scalar(&key, value);
    }
    for (key, value) in metadata {
        writer = writer.with_metadata(&key, &value);
    }
    writer.into_bytes().map_err(failed)
}

impl PatternChange {
    /// How many numbers a tensor of state has for each element; `None` if it is not by element.
    fn width(&self, name: &str, shape: &[usize]) -> Result<Option<usize>> {
        let &[rows, width] = shape else { return Ok(None) };
        // Adafactor's moment of a column is over all elements.
        if name.ends_with(".column_second_moment") {
            return Ok(None);
        }
        if rows == self.old && (width == self.block || width == 1) {
            return Ok(Some(width));
        }
        Err(SparseError::length_mismatch(OP, "the state of the parameter", self.old, rows))
    }
}
