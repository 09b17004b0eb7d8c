//! Sparse matrix times vector.

use super::Compressed;
use crate::par::{by_elements, for_pieces};
use crate::reduce::prefetch;
use crate::{Element, Index};
use pulp::{Arch, Simd, WithSimd};

/// How far ahead permuted values are asked for: each is a cache line of its own.
const AHEAD: usize = 32;

/// `out[r] = sum over k of value[k] * x[idx[k]]`; bound by memory bandwidth.
pub(super) fn spmv<T: Element, I: Index>(a: Compressed<'_, I>, values: &[T], x: &[T], out: &mut [T]) {
    let ranges = by_elements(a.ptr, 1);
    let arch = Arch::new();
    for_pieces(
        &ranges,
        out,
        |r| r.len(),
        |rows, out| {
            arch.dispatch(Rows { a, first: rows.start, values, x, out });
        },
    );
}

/// The rows from `first` on.
struct Rows<'a, T, I> {
    a: Compressed<'a, I>,
    first: usize,
    values: &'a [T],
    x: &'a [T],
    out: &'a mut [T],
}

impl<T: Element, I: Index> WithSimd for Rows<'_, T, I> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let mode: u32 = std::env::var("MODE").ok().map_or(0, |d| d.parse().unwrap());
        let Self { a: Compressed { ptr, idx, perm }, first, values, x, out } = self;
        for (pair, out) in ptr[first..].windows(2).zip(out) {
            let (low, high) = (pair[0].to_usize(), pair[1].to_usize());
            let cols = &idx[low..high];
            *out = T::narrow(if let Some(perm) = perm {
                for k in low..high {
                    if let Some(next) = perm.get(k + AHEAD) {
                        prefetch(values, next.to_usize());
                    }
                }
                let perm = &perm[low..high];
                dot(cols.len(), |k| (values[perm[k].to_usize()], x[cols[k].to_usize()]))
            } else {
                let values = &values[low..high];
                if mode & 1 == 1 {
                    for k in low..high {
                        if let Some(next) = idx.get(k + AHEAD) {
                            prefetch(x, next.to_usize());
                        }
                    }
                }
                if mode & 2 == 2 {
                    let mut lanes = [T::ACC_ZERO; 4];
                    let mut k = 0;
                    while k < cols.len() {
                        for (j, lane) in lanes.iter_mut().enumerate() {
                            let at = (k + j).min(cols.len() - 1);
                            let t = T::mul(values[at].widen(), x[cols[at].to_usize()].widen());
                            let t = if k + j < cols.len() { t } else { T::ACC_ZERO };
                            *lane = T::add(*lane, t);
                        }
                        k += 4;
                    }
                    *out = T::narrow(T::add(T::add(lanes[0], lanes[2]), T::add(lanes[1], lanes[3])));
                    continue;
                }
                if mode & 4 == 4 {
                    let mut sum = T::ACC_ZERO;
                    for (v, c) in values.iter().zip(cols) {
                        sum = T::add(sum, T::mul(v.widen(), x[c.to_usize()].widen()));
                    }
                    *out = T::narrow(sum);
                    continue;
                }
                dot(cols.len(), |k| (values[k], x[cols[k].to_usize()]))
            });
        }
    }
}

/// Sum of products in four lanes: lane `j` takes the elements `j, j + 4, ..`. One lane would wait for its own
/// additions.
#[inline(always)]
fn dot<T: Element>(n: usize, at: impl Fn(usize) -> (T, T)) -> T::Acc {
    let term = |k: usize| {
        let (a, b) = at(k);
        T::mul(a.widen(), b.widen())
    };
    let mut lanes = [T::ACC_ZERO; 4];
    let whole = n / 4 * 4;
    let mut k = 0;
    while k < whole {
        for (j, lane) in lanes.iter_mut().enumerate() {
            *lane = T::add(*lane, term(k + j));
        }
        k += 4;
    }
    for (j, lane) in lanes.iter_mut().enumerate().take(n - whole) {
        *lane = T::add(*lane, term(whole + j));
    }
    T::add(T::add(lanes[0], lanes[2]), T::add(lanes[1], lanes[3]))
}
