//! Logic, and reductions of truths.

use super::folds::{axes_of, axis_of};
use crate::answer::{Answer, both_sides};
use crate::draw::{Build, Draw, Values};
use crate::oversized::mask;
use burn::tensor::Bool;

operations! { "truths";
    bool_and [all] none, |h| h.pairs(|x, y| mask(x).bool_and(&mask(y)));
    bool_or [all] none, |h| h.pairs(|x, y| mask(x).bool_or(&mask(y)));
    bool_xor [all] none, |h| h.pairs(|x, y| mask(x).bool_xor(&mask(y)));
    bool_not [all] none, |h| h.each(|x| mask(x).bool_not());
    any_dim [all] none, |h| h.axes(|x, axis| mask(x).any_dim(axis));
    any_dims [all] none, |h| h.several(|x, axes| mask(x).any_dims(axes));
    any [all] none, |h| h.each(|x| mask(x).any());
    all_dim [all] none, |h| h.axes(|x, axis| mask(x).all_dim(axis));
    all_dims [all] none, |h| h.several(|x, axes| mask(x).all_dims(axes));
    all [all] none, |h| h.each(|x| mask(x).all());
}

macro_rules! pairs {
    ($($name:ident;)*) => {$(
        fn $name<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
            let a = draw.sparse::<P, D, Bool>(Values::Any);
            let b = draw.second_operand::<P, D, Bool>(&a, Values::Any);
            both_sides(|| a.sparse.$name(&b.sparse), || a.dense.$name(b.dense))
        }
    )*};
}
pairs! {
    bool_and;
    bool_or;
    bool_xor;
}

fn bool_not<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, Bool>(Values::Any);
    both_sides(|| a.sparse.bool_not(), || a.dense.bool_not())
}

macro_rules! reductions {
    ($($dim:ident $dims:ident $all:ident;)*) => {$(
        fn $dim<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
            let a = draw.full::<P, D, Bool>(Values::Any);
            let (at, axis) = axis_of::<D>(draw);
            both_sides(|| a.sparse.$dim(axis), || a.dense.$dim(at))
        }

        fn $dims<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
            let a = draw.full::<P, D, Bool>(Values::Any);
            let (axes, signed) = axes_of::<D>(draw);
            both_sides(|| a.sparse.$dims(&signed), || axes.iter().fold(a.dense, |dense, &at| dense.$dim(at)))
        }

        fn $all<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
            let a = draw.full::<P, D, Bool>(Values::Any);
            both_sides(|| a.sparse.$all(), || a.dense.$all())
        }
    )*};
}
reductions! {
    any_dim any_dims any;
    all_dim all_dims all;
}
