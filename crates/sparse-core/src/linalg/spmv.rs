//! Sparse matrix times vector.

use super::compressed::Compressed;
use crate::epilogue::Epilogue;
use crate::gather::checked;
use crate::rows::terms::{Terms, sum_terms};
use crate::{Element, Index};

/// `out[r] = sum over k of value[k] * x[idx[k]]`.
pub(super) fn spmv<T: Element, I: Index>(
    a: Compressed<'_, I>,
    values: &[T],
    x: &[T],
    epilogue: Epilogue<'_, T>,
    out: &mut [T],
) {
    sum_terms(a.ptr, Products { idx: a.idx, perm: a.perm, values, x }, epilogue, out);
}

#[derive(Clone, Copy)]
struct Products<'a, T, I> {
    idx: &'a [I],
    perm: Option<&'a [I]>,
    values: &'a [T],
    x: &'a [T],
}

impl<T: Element, I: Index> Terms<T> for Products<'_, T, I> {
    #[inline(always)]
    fn write(&self, first: usize, out: &mut [T::Acc]) {
        let own = first..first + out.len();
        let idx = &self.idx[own.clone()];
        if idx.is_empty() {
            return;
        }
        let (x, last) = checked(self.x, idx);
        if let Some(perm) = self.perm {
            let perm = &perm[own];
            let (values, last_value) = checked(self.values, perm);
            for (out, (i, at)) in out.iter_mut().zip(idx.iter().zip(perm)) {
                *out = T::mul(values[at.place().min(last_value)].widen(), x[i.place().min(last)].widen());
            }
        } else {
            for ((out, i), value) in out.iter_mut().zip(idx).zip(&self.values[own]) {
                *out = T::mul(value.widen(), x[i.place().min(last)].widen());
            }
        }
    }

    fn len(&self) -> usize {
        self.idx.len()
    }
}
