//! Dot products of columns, whose bits depend on neither threads nor what else is done in the walk.

use crate::sums::Cascade;
use crate::{Element, Float};

/// Numbers that are done together, at least, in whole rows of the columns.
pub(super) const LANES: usize = 16;

/// For each dot product its sums over the blocks of a system.
pub(super) fn totals<T: Float + Element<Acc = T>>(
    sums: &[T],
    [systems, blocks, dots, width]: [usize; 4],
) -> Vec<Vec<T>> {
    let mut out = vec![vec![T::ZERO; systems * width]; dots];
    let (row, mut total) = (dots * width, vec![T::ZERO; dots * width]);
    for system in 0..systems.min(sums.len()) {
        let mut cascade = Cascade::new();
        for block in 0..blocks {
            cascade.push(block, &sums[(system * blocks + block) * row..][..row], T::add);
        }
        cascade.finish(&mut total, T::add);
        for (out, total) in out.iter_mut().zip(total.chunks_exact(width)) {
            out[system * width..][..width].copy_from_slice(total);
        }
    }
    out
}

/// `sums += x y`, of which each row is as long as the sums.
#[inline(always)]
pub(super) fn add_products<T: Float + Element<Acc = T>, const N: usize>(sums: &mut [T], x: &[T], y: &[T]) {
    let lanes = sums.len();
    if let Ok(sums) = <&mut [T; N]>::try_from(&mut *sums) {
        let ((x, last_x), (y, last_y)) = (x.as_chunks::<N>(), y.as_chunks::<N>());
        let mut own = *sums;
        for (x, y) in x.iter().zip(y) {
            for k in 0..N {
                own[k] = T::add(own[k], T::mul(x[k], y[k]));
            }
        }
        for ((sum, x), y) in own.iter_mut().zip(last_x).zip(last_y) {
            *sum = T::add(*sum, T::mul(*x, *y));
        }
        *sums = own;
        return;
    }
    for (x, y) in x.chunks(lanes).zip(y.chunks(lanes)) {
        for ((sum, x), y) in sums.iter_mut().zip(x).zip(y) {
            *sum = T::add(*sum, T::mul(*x, *y));
        }
    }
}
