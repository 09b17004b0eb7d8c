//! Slices by an index, single elements, and elements by a mask.

use crate::base::coordinates::{along, by_dim, join_dims};
use crate::base::empty::nothing;
use crate::base::exact::Exact;
use crate::base::index::{self, index_tensor};
use crate::base::kind::Kind;
use crate::kernel::{self, Arrays};
use crate::ops::dense::gather::read;
use crate::ops::dense::put_along_axis::target;
use crate::ops::elementwise::binary::same_structure;
use crate::ops::elementwise::broadcast::read_rows;
use crate::ops::structure::indices::Indices;
use crate::ops::structure::slice::from_start;
use crate::pattern::cut::{Cut, Part, Taken};
use crate::pattern::dims::{empty_pattern, from_dims};
use crate::pattern::layout::Pattern;
use crate::pattern::merge::located;
use crate::pattern::select::{self, Expansion, kept, lengths, sorted, total_dtype};
use crate::policy;
use crate::rows::{RowMap, move_rows};
use crate::tensor::sparse::SparseTensor;
use burn::tensor::{AsIndex, Bool, Int, Tensor, TensorData};
use sparse_burn::index_dtype_for;
use sparse_core::{Result, SparseError};
use sparse_macros::{async_variant, or_panic};

impl<P: Pattern, const D: usize, K: Kind> SparseTensor<P, D, K> {
    /// Selects the slices along `dim` that `indices` names: slice `k` of the result is slice `indices[k]`.
    ///
    /// Indices ([`Indices`]) are a tensor, in `[-size, size)`, or a list of the host. They may repeat. A coalesced
    /// tensor stays coalesced; an uncoalesced one is neither sorted nor summed. Backward: each slice gets the sum of
    /// the gradients of the places that took it, in a fixed order. Cost: checking a tensor of indices reads the device
    /// once, and counting the elements of their slices reads it once more. Along dim 0 of CSR the rest is proportional
    /// to the indices and the elements that they select, whatever the tensor holds. Along dim 0 of a coalesced COO it
    /// is one pass over the coordinates; otherwise the coordinates of the result are sorted. For indices that stay the
    /// same use an [`IndexPlan`](crate::ops::IndexPlan): its [`select_sparse`](crate::ops::IndexPlan::select_sparse)
    /// pays for this in its first step only.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::CsrTensor;
    ///
    /// let device = Device::flex();
    /// let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[1.0, 0.0], [0.0, 2.0], [3.0, 4.0]], &device));
    /// let b = a.select(0, Tensor::from_ints([2, 0, -1], &device));
    /// assert_eq!(b.to_dense().into_data().iter::<f32>().collect::<Vec<_>>(), [3.0, 4.0, 1.0, 0.0, 3.0, 4.0]);
    /// let nodes: Vec<usize> = vec![2, 0];
    /// assert_eq!(a.select(0, &nodes).nnz(), 3);
    /// ```
    ///
    /// # Errors
    ///
    /// `axis_out_of_range`, `index_out_of_range`, `device_mismatch`, `overflow`.
    #[async_variant]
    #[or_panic]
    pub fn try_select(&self, dim: impl AsIndex, indices: impl Indices) -> Result<Self> {
        const OP: &str = "select";
        let axis = self.axis(OP, dim)?;
        let index = indices.checked(OP, axis, self.dims()[axis], &self.device())?;
        self.slices(OP, axis, &index, None)
    }

    /// Reads one element, `[1]`: the sum of its duplicates, or the fill if it is not stored. Indices below 0 count from
    /// the end.
    ///
    /// Backward: the gradient goes to the element, or to the fill. Cost: a look-up among the coordinates, in CSR among
    /// those of the row. It reads the device if the fill is `Undefined`, and for CSR where the row is narrowed for the
    /// first time (see [`narrow`](Self::narrow)).
    ///
    /// # Errors
    ///
    /// `index_out_of_range`; `undefined_fill` if the element is not stored and the fill has no value.
    #[or_panic]
    pub fn try_get(&self, at: [impl AsIndex; D]) -> Result<Tensor<1, K>> {
        const OP: &str = "get";
        let place = |(axis, (index, size))| from_start(OP, axis, size, index, axis);
        let at = at.into_iter().zip(self.dims()).enumerate().map(place).collect::<Result<Vec<usize>>>()?;
        let (mut at, mut own) = (at, self.coalesce());
        let (device, dtype, dims) = (self.device().inner(), own.pattern.index_dtype(), own.sparse_dims());
        let mut stored = own.nnz() > 0;
        if stored && own.pattern.first_slices().is_some() {
            // Only the row, instead of the coordinates of all elements.
            let row = own.cut_axis(0, Cut { start: at[0], count: 1, step: 1 });
            stored = row.nnz() > 0;
            if stored {
                (own, at[0]) = (row, 0);
            }
        }
        let nnz = own.nnz();
        let map = if dims == 0 {
            // One element, which has no coordinates.
            Tensor::zeros([1], (&device, dtype))
        } else if !stored {
            Tensor::full([1], nnz as i64, (&device, dtype))
        } else {
            let coordinates = own.pattern.coordinates().clone();
            let wanted: Vec<i64> = at[..dims].iter().map(|&index| index as i64).collect();
            let wanted = TensorData::new(wanted, [dims, 1]).convert_dtype(coordinates.dtype());
            let wanted = Arrays::Coo(Tensor::from_data(wanted, (&device, coordinates.dtype())));
            kernel::locate(&wanted, &Arrays::Coo(coordinates))
        };
        own.check_found(OP, map.clone())?;
        let row = move_rows(own.values.clone(), own.fill_row(), &RowMap::new(map, nnz));
        let column = at[dims..].iter().zip(&own.dense_shape).fold(0, |flat, (&index, &size)| flat * size + index);
        Ok(row.narrow(1, column, 1).reshape([1]))
    }

    /// The elements where `mask` is true, in row-major order. Elements that are not stored give the fill.
    ///
    /// Both tensors are coalesced first. Backward: stored elements, and the fill, get the gradients of their places.
    /// Cost: the elements of the mask are looked up in the pattern; the result of this is kept with the mask's pattern.
    /// How many elements are selected depends on the mask's values, so every call reads one number from the device.
    ///
    /// ```
    /// use burn::tensor::{Bool, Device, Tensor};
    /// use sparse_tensor::CooTensor;
    ///
    /// let device = Device::flex();
    /// let a = CooTensor::<2>::from_dense(Tensor::from_floats([[0.0, 1.0], [2.0, 0.0]], &device), 0);
    /// let mask = Tensor::<2, Bool>::from_data([[true, false], [true, false]], &device);
    /// let mask = CooTensor::from_dense(mask, 0);
    /// assert_eq!(a.mask_select(&mask).into_data().iter::<f32>().collect::<Vec<_>>(), [0.0, 2.0]);
    /// ```
    ///
    /// # Errors
    ///
    /// `shape_mismatch`, `layout_mismatch` (another number of dense dims), `device_mismatch`; `would_densify` if the
    /// mask's fill is not known to be false; `undefined_fill` if an element is not stored and the fill has no value.
    #[async_variant]
    #[or_panic]
    pub fn try_mask_select(&self, mask: &SparseTensor<P, D, Bool>) -> Result<Tensor<1, K>> {
        const OP: &str = "mask_select";
        same_structure(OP, self, mask)?;
        if !mask.fill.is_zero() && !mask.fill.is_undefined() {
            let hint = "use with_fill(Fill::Zero) on the mask: it must be false, or undefined, where it is not stored";
            return Err(SparseError::would_densify(OP, self.num_elements(), hint));
        }
        let (own, mask) = (self.coalesce(), mask.coalesce());
        let (rows, block) = (mask.nnz(), own.block());
        let chosen = if rows * block == 0 {
            Tensor::empty([0], (&mask.pattern.device(), mask.pattern.index_dtype()))
        } else {
            kept(mask.values.clone().inner().reshape(Exact([rows * block])), index_dtype_for(rows * block))
        };
        let count = chosen.dims()[0];
        if count == 0 {
            return Ok(nothing([0], self.dtype(), &[&self.values]));
        }
        let map = if own.pattern.is_same(&mask.pattern) { None } else { Some(located(&mask.pattern, &own.pattern)) };
        let values = match map {
            None => own.values.clone(),
            Some(map) => {
                if own.fill.is_undefined() {
                    let row = if block == 1 { chosen.clone() } else { chosen.clone().div_scalar(block as i64) };
                    own.check_found(OP, map.map().clone().select(0, row))?;
                }
                move_rows(own.values.clone(), own.fill_row(), &map)
            }
        };
        let out = read_rows(values.reshape(Exact([rows * block, 1])), &RowMap::new(chosen, rows * block));
        Ok(out.reshape(Exact([count])))
    }

    /// Checks that no place of a map (which is not empty) is missing, unless the fill gives missing places a value.
    fn check_found(&self, op: &'static str, map: Tensor<1, Int>) -> Result<()> {
        if !self.fill.is_undefined() {
            return Ok(());
        }
        if index::read(kernel::extremes(map).narrow(0, 1, 1)) < self.nnz() {
            return Ok(());
        }
        Err(SparseError::undefined_fill(op, "use with_fill to give elements that are not stored a value"))
    }

    /// The slices along `axis` that an index names. The index is checked and has no negative numbers. The result is
    /// kept with the pattern if the index has an identity.
    pub(crate) fn slices(
        &self,
        op: &'static str,
        axis: usize,
        index: &Tensor<1, Int>,
        identity: Option<u64>,
    ) -> Result<Self> {
        let count = index.dims()[0];
        if let Some(dim) = axis.checked_sub(self.sparse_dims()) {
            return Ok(self.map_blocks(dim, count, |rows| {
                let [outer, _, inner] = rows.dims();
                let target = target(rows.dims(), 1, count, true);
                read(rows, index.clone(), target).reshape(Exact([outer, count, inner]))
            }));
        }
        let mut shape = self.pattern.shape().to_vec();
        shape[axis] = count;
        P::check_shape(op, &shape, self.pattern.memo().held().max(count))?;
        let make = || take_slices(&self.pattern, axis, &shape, index);
        Ok(match identity {
            None => self.part(&make()),
            Some(index) => self.part(&self.pattern.memo().get(Slices { axis, index }, make)),
        })
    }
}

/// A key: the slices along an axis that an index, given by its identity, names.
#[derive(PartialEq, Eq)]
struct Slices {
    axis: usize,
    index: u64,
}

/// The slices along a sparse axis that an index names. The index is checked and has no negative numbers.
fn take_slices<P: Pattern>(pattern: &P, axis: usize, shape: &[usize], index: &Tensor<1, Int>) -> Part<P> {
    let (size, nnz, count) = (pattern.shape()[axis], pattern.nnz(), index.dims()[0]);
    if nnz == 0 || count == 0 {
        return (empty_pattern(pattern, shape), Taken::Nothing);
    }
    if axis == 0
        && let Some(slices) = pattern.first_slices()
    {
        let (made, at) = slices.take(index, None);
        let taken = if made.nnz() == 0 { Taken::Nothing } else { Taken::Mapped(RowMap::new(at, nnz)) };
        return (made, taken);
    }
    let (coordinates, dtype) = (pattern.coordinates(), index_dtype_for(size.max(count).max(nnz)));
    let index = index_tensor(index.clone(), dtype);
    let at = index_tensor(along(coordinates, axis), dtype);
    let (order, starts, counts) = runs(&index, &at, size, axis == 0 && pattern.is_coalesced());
    let in_order = order.is_none();
    let dtype = total_dtype(&counts, nnz.max(count), nnz as u128 * count as u128);
    let counts = index_tensor(counts, dtype);
    let Expansion { owner, at, .. } = select::expand(&index_tensor(starts, dtype), &counts, None);
    let total = owner.dims()[0];
    if total == 0 {
        return (empty_pattern(pattern, shape), Taken::Nothing);
    }
    let (place, element) = match order {
        None => (owner, at),
        Some(order) => (order.select(0, at), owner),
    };
    let mut dims: Vec<_> = by_dim(coordinates).into_iter().map(|ids| policy::pick(&ids, &element)).collect();
    dims[axis] = place;
    let (made, element) = if in_order || !pattern.is_coalesced() {
        (from_dims(dims, shape, total, pattern.is_coalesced(), coordinates), element)
    } else {
        let (made, order) = sorted(join_dims(dims, shape, total, coordinates), shape);
        (made, policy::pick(&element, &order))
    };
    (made, Taken::Mapped(RowMap::new(element, nnz)))
}

/// Where runs start and how long they are. If the elements of a slice are `consecutive`, each index takes a run of
/// them. Otherwise each element is taken by a run of the sorted index, and the order that sorts it comes first. `at`
/// has the position of each element along the axis, which has `size`.
fn runs(
    index: &Tensor<1, Int>,
    at: &Tensor<1, Int>,
    size: usize,
    consecutive: bool,
) -> (Option<Tensor<1, Int>>, Tensor<1, Int>, Tensor<1, Int>) {
    let (count, nnz) = (index.dims()[0], at.dims()[0]);
    if !policy::has_table(size, nnz.saturating_add(count)) {
        let (order, starts, counts) = look_up(index, at, size);
        return (Some(order), starts, counts);
    }
    let (order, (starts, counts)) = if consecutive {
        (None, lengths(&kernel::compress(at, size), index))
    } else {
        let (order, ptr) = kernel::group_by(index, size);
        (Some(order), lengths(&ptr, at))
    };
    (order, starts, counts)
}

/// The order that sorts the index, and for each element where its places in the sorted index start and how many there
/// are. This needs no table of the axis, which may be longer than memory.
fn look_up(
    index: &Tensor<1, Int>,
    at: &Tensor<1, Int>,
    size: usize,
) -> (Tensor<1, Int>, Tensor<1, Int>, Tensor<1, Int>) {
    let (count, nnz, dtype) = (index.dims()[0], at.dims()[0], index.dtype());
    let unique = |ids: &Tensor<1, Int>| kernel::coalesce(ids.clone().reshape([1, ids.dims()[0] as i64]), &[size][..]);
    let (wanted, order, ptr) = unique(index);
    let (had, own_order, own_ptr) = unique(at);
    let found = kernel::locate(&Arrays::Coo(had), &Arrays::Coo(wanted));
    // `own_order` is a permutation: grouping by it inverts it.
    let owner = policy::pick(&kernel::expand_ptr(&own_ptr, nnz), &kernel::group_by(&own_order, nnz).0);
    let end = Tensor::full([1], count as i64, (&index.device(), dtype));
    let ptr = Tensor::cat(vec![index_tensor(ptr, dtype), end], 0);
    let (starts, counts) = lengths(&ptr, &index_tensor(found.select(0, owner), dtype));
    (order, starts, counts)
}
