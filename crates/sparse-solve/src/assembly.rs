//! Matrices of finite elements.

use burn::tensor::{Int, Tensor};
use sparse_macros::or_panic;
use sparse_ops::extend::{
    Exact, Parts, RowMap, RowSums, check_ids, check_rows, index_below, move_rows, nothing, read_all, same_device,
    sum_rows,
};
use sparse_ops::pattern::CsrPattern;
use sparse_ops::{CsrTensor, Fill, Result, SparseError};

/// How the matrices of elements, `k` unknowns each, add up to the matrix of a system: `A[c_ea, c_eb] += K_e[a, b]` over
/// the elements `e`, where row `e` of the connectivity `c` `[E, k]` has the unknowns of element `e`.
///
/// It is made once for a mesh. [`matrix`](Self::matrix) then takes the element matrices of each step, and all its
/// results share one pattern with what was derived from it: the plans of products, a transposition,
/// [`Amg::try_refresh`](crate::Amg::try_refresh).
///
/// Cost: once a read of the connectivity and `O(E k^2 + N)` time and memory on the host; then one pass over the element
/// matrices, without a read. Backward: each element matrix gets the gradients of the stored elements that it is part
/// of, in one pass.
///
/// ```
/// use burn::tensor::{Device, Int, Tensor};
/// use sparse_tensor::solve::Assembly;
///
/// let device = Device::flex().autodiff();
/// // Three springs in a row, from node 0 to node 3, which is held.
/// let springs = Tensor::<2, Int>::from_ints([[0, 1], [1, 2], [2, 3]], &device);
/// let assembly = Assembly::with_fixed(springs, 4, &[3]).unwrap();
///
/// let stiffness = Tensor::<3>::from_floats([[[1.0]], [[2.0]], [[3.0]]], &device).require_grad();
/// let one = Tensor::<3>::from_floats([[[1.0, -1.0], [-1.0, 1.0]]], &device);
/// let a = assembly.matrix(stiffness.clone() * one);
/// let rows = [[1.0, -1.0, 0.0, 0.0], [-1.0, 3.0, -2.0, 0.0], [0.0, -2.0, 5.0, 0.0], [0.0, 0.0, 0.0, 1.0]];
/// assert_eq!(a.to_dense().into_data().iter::<f32>().collect::<Vec<_>>(), rows.concat());
///
/// let grads = a.diagonal().sum().backward();
/// let grad = stiffness.grad(&grads).unwrap();
/// assert_eq!(grad.into_data().iter::<f32>().collect::<Vec<_>>(), [2.0, 2.0, 1.0]);
/// ```
#[derive(Debug, Clone)]
pub struct Assembly {
    /// Elements, and unknowns of one.
    elements: [usize; 2],
    size: usize,
    pattern: CsrPattern,
    /// The numbers of the element matrices that make a stored element.
    sums: RowSums,
    /// With fixed unknowns: the sum of each stored element, or none for the 1 of a fixed one.
    places: Option<RowMap>,
}

impl Assembly {
    /// The assembly of a connectivity `[E, k]` for `size` unknowns.
    ///
    /// # Errors
    ///
    /// `invalid` that names the element with an unknown out of `[0, size)`; `would_densify` if almost all of very many
    /// rows are empty; `overflow`.
    pub fn new(connectivity: Tensor<2, Int>, size: usize) -> Result<Self> {
        Self::with_fixed(connectivity, size, &[])
    }

    /// The same with unknowns that are given (Dirichlet): their rows and columns become those of the identity, so a
    /// symmetric positive definite matrix stays one. `x` is 0 there where the right-hand side is. For other values `g`,
    /// which are 0 elsewhere, take `b - A g` with the matrix of [`new`](Self::new), and put `g` in at the fixed
    /// unknowns.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new); `index_out_of_range` for a fixed unknown that does not exist.
    pub fn with_fixed(connectivity: Tensor<2, Int>, size: usize, fixed: &[usize]) -> Result<Self> {
        const OP: &str = "Assembly::new";
        let ([count, k], device) = (connectivity.dims(), connectivity.device().inner());
        check_ids(OP, fixed, size)?;
        let terms = (count as u128) * (k as u128).pow(2);
        if terms.max(size as u128) >= i64::MAX as u128 / 2 {
            return Err(SparseError::overflow(OP, "the numbers of all elements", i64::MAX as u128 / 2, terms));
        }
        check_rows(OP, size, count * k * k + fixed.len())?;
        let list = if count * k == 0 { vec![] } else { read_all(connectivity) };
        if let Some(at) = list.iter().position(|&unknown| !(0..size as i64).contains(&unknown)) {
            let message = format!(
                "the unknowns must be in [0, {size}), got {} at place {} of element {}",
                list[at],
                at % k,
                at / k
            );
            return Err(SparseError::invalid(OP, message));
        }
        let mut held = vec![false; size];
        fixed.iter().for_each(|&unknown| held[unknown] = true);

        // Terms in the order of rows, then of columns, then of elements. Those of fixed unknowns come last.
        let ends = |term: usize| (list[term / k] as usize, list[term / (k * k) * k + term % k] as usize);
        let is_left_out = |term| held[ends(term).0] || held[ends(term).1];
        let order = sorted((0..count * k * k).collect(), size, |term| ends(term).1);
        let order = sorted(order, size + 1, |term| if is_left_out(term) { size } else { ends(term).0 });

        let (mut row_ptr, mut col_idx, mut starts, mut places) = (vec![0], vec![], vec![], vec![]);
        let mut at = 0;
        for row in 0..size {
            if held[row] {
                col_idx.push(row);
                places.push(usize::MAX);
            }
            while at < order.len() && !is_left_out(order[at]) && ends(order[at]).0 == row {
                let col = ends(order[at]).1;
                if col_idx.len() == row_ptr[row] || col_idx.last() != Some(&col) {
                    places.push(starts.len());
                    col_idx.push(col);
                    starts.push(at);
                }
                at += 1;
            }
            row_ptr.push(col_idx.len());
        }
        // What is left out is one more sum, which no stored element takes.
        starts.push(at);
        if !fixed.is_empty() {
            starts.push(order.len());
        }
        let largest = size.max(col_idx.len() + 1);
        let index = |list: &[usize]| index_below(list, largest, &device);
        let pattern = CsrPattern::new_unchecked(index(&row_ptr), index(&col_idx), &[size, size]);
        let [order, starts] = [&order, &starts].map(|list| index_below(list, order.len() + 1, &device));
        let sums = starts.dims()[0] - 1;
        let places = (!fixed.is_empty()).then(|| {
            let list: Vec<usize> = places.into_iter().map(|place| place.min(sums)).collect();
            RowMap::new(index_below(&list, sums + 1, &device), sums)
        });
        Ok(Self { elements: [count, k], size, pattern, sums: RowSums::new(Some(order), starts), places })
    }

    /// The pattern of the matrices.
    pub fn pattern(&self) -> &CsrPattern {
        &self.pattern
    }

    /// The matrix `[N, N]` of the element matrices `[E, k, k]`. Every dtype of floats; the terms of a sum are added in
    /// the order of the elements. Gradients reach the element matrices.
    ///
    /// # Errors
    ///
    /// `shape_mismatch` if there is not a matrix `[k, k]` for each element; `device_mismatch`.
    #[or_panic]
    pub fn try_matrix(&self, elements: Tensor<3>) -> Result<CsrTensor<2>> {
        const OP: &str = "Assembly::matrix";
        let [count, k] = self.elements;
        if elements.dims() != [count, k, k] {
            let rule = "there must be a matrix for each element, {right}, got {left}";
            return Err(SparseError::shape_mismatch(OP, rule, elements.dims(), [count, k, k]));
        }
        same_device(OP, &elements.device(), &self.pattern.row_ptr().device())?;
        let terms = match count * k * k {
            0 => nothing([0, 1], elements.dtype(), &[&elements]),
            terms => elements.reshape(Exact([terms, 1])),
        };
        let mut rows = sum_rows(terms, &self.sums);
        if let Some(places) = &self.places {
            let one = Tensor::ones([1, 1], (&rows.device().inner(), rows.dtype()));
            rows = move_rows(rows, one, places);
        }
        Ok(CsrTensor::from_parts(self.pattern.clone(), rows, vec![], Fill::Zero))
    }

    /// The number of unknowns.
    pub fn size(&self) -> usize {
        self.size
    }
}

/// Element matrices `[E, k, k]` with their unknowns `[E, k]`, added up to a matrix `[size, size]`. For more than one
/// matrix of a mesh make an [`Assembly`], whose sums and pattern stay.
///
/// ```
/// use burn::tensor::{Device, Int, Tensor};
/// use sparse_tensor::solve::from_elements;
///
/// let device = Device::flex();
/// let elements = Tensor::<3>::from_floats([[[1.0, 2.0], [3.0, 4.0]], [[10.0, 20.0], [30.0, 40.0]]], &device);
/// let connectivity = Tensor::<2, Int>::from_ints([[0, 1], [1, 0]], &device);
/// let a = from_elements(elements, connectivity, 2).unwrap();
/// assert_eq!(a.to_dense().into_data().iter::<f32>().collect::<Vec<_>>(), [41.0, 32.0, 23.0, 14.0]);
/// ```
///
/// # Errors
///
/// As [`Assembly::new`] and [`Assembly::try_matrix`].
pub fn from_elements(elements: Tensor<3>, connectivity: Tensor<2, Int>, size: usize) -> Result<CsrTensor<2>> {
    Assembly::new(connectivity, size)?.try_matrix(elements)
}

/// A stable counting sort by keys below `size`.
fn sorted(list: Vec<usize>, size: usize, key: impl Fn(usize) -> usize) -> Vec<usize> {
    let mut next = vec![0; size + 1];
    list.iter().for_each(|&item| next[key(item) + 1] += 1);
    (0..size).for_each(|at| next[at + 1] += next[at]);
    let mut out = vec![0; list.len()];
    for item in list {
        let place = &mut next[key(item)];
        out[*place] = item;
        *place += 1;
    }
    out
}
