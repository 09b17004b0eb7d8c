//! Reductions along one dim, several and all, of everything and of stored elements.

use crate::inputs::{filled, host_filled, mask, undefined};
use crate::outcome::{refused, run};
use burn::tensor::Bool;
use sparse_tensor::SparseTensor;
use sparse_tensor::pattern::Pattern;

pub fn all<P: Pattern, const D: usize>(a: &SparseTensor<P, D>, b: &SparseTensor<P, D>) {
    for x in [a, &filled(a), &host_filled(a), &undefined(a)] {
        for axis in 0..D as isize {
            along(x, axis);
            holds_along(&mask(x), axis);
        }
        for axes in [&[0isize, 1][..], &[-2, -1]] {
            along_several(x, axes);
        }
        totals(x);
        stored(x);
        for axis in 0..x.sparse_dims() as isize {
            run! { x => argmax_dim(axis), argmin_dim(axis); }
        }
    }
    softmax(a);
    softmax(b);
}

fn along<P: Pattern, const D: usize>(x: &SparseTensor<P, D>, axis: isize) {
    run! {
        x => sum_dim(axis), mean_dim(axis), prod_dim(axis), amax_dim(axis), amin_dim(axis);
        x => norm_dim(1.0, axis), norm_dim(2.0, axis), norm_dim(3.0, axis), norm_dim(f64::INFINITY, axis);
    }
}

fn along_several<P: Pattern, const D: usize>(x: &SparseTensor<P, D>, axes: &[isize]) {
    run! {
        x => sum_dims(axes), mean_dims(axes), prod_dims(axes), amax_dims(axes), amin_dims(axes), norm_dims(2.0, axes);
        x => count_stored_dims(axes);
        mask(x) => any_dims(axes), all_dims(axes);
    }
}

fn totals<P: Pattern, const D: usize>(x: &SparseTensor<P, D>) {
    run! {
        x => sum(), mean(), prod(), amax(), amin(), norm(2.0), norm(f64::INFINITY);
        x => count_nonzero(), count_stored();
        mask(x) => any(), all(), count_nonzero();
        x.int() => sum(), prod(), amax();
    }
}

fn stored<P: Pattern, const D: usize>(x: &SparseTensor<P, D>) {
    run! { x => stored_sum(), stored_mean(), stored_prod(), stored_amax(), stored_amin(); }
    for axis in 0..D as isize {
        run! {
            x => stored_sum_dim(axis), stored_mean_dim(axis), stored_prod_dim(axis);
            x => stored_amax_dim(axis), stored_amin_dim(axis);
        }
    }
    let axes = [-2, -1];
    run! {
        x => stored_sum_dims(&axes), stored_mean_dims(&axes), stored_prod_dims(&axes);
        x => stored_amax_dims(&axes), stored_amin_dims(&axes);
    }
}

fn holds_along<P: Pattern, const D: usize>(x: &SparseTensor<P, D, Bool>, axis: isize) {
    run! { x => any_dim(axis), all_dim(axis); }
}

fn softmax<P: Pattern, const D: usize>(x: &SparseTensor<P, D>) {
    let cells = x.num_elements();
    for axis in 0..D as isize {
        run! { undefined(x) => softmax(axis), log_softmax(axis); }
        if (axis as usize) < x.sparse_dims() {
            // Every line would have a fill of its own.
            refused! {
                cells => x => try_softmax(axis), try_log_softmax(axis);
                cells => filled(x) => try_softmax(axis), try_log_softmax(axis);
            }
        } else {
            run! { filled(x) => softmax(axis), log_softmax(axis); }
        }
    }
}
