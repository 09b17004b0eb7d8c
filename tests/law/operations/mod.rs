//! The registry: one entry an operation.
//!
//! An operation is a function generic over pattern and rank that draws its inputs and gives both sides of the law. The
//! table says on which layouts it is run and whether it has a gradient.

mod arithmetic;
mod casts;
mod comparisons;
mod dense;
mod division;
mod elementwise;
mod folds;
mod integers;
mod kinds;
mod patterns;
mod products;
mod reductions;
mod selection;
mod structure;
mod truths;

use crate::answer::Answer;
use crate::draw::{Draw, Layout};

pub type Run = fn(&mut Draw) -> Answer;

/// An entry of the registry.
pub struct Operation {
    pub name: &'static str,
    pub family: &'static str,
    pub gradient: bool,
    runs: Vec<(Layout, Vec<Run>)>,
}

impl Operation {
    pub fn layouts(&self) -> impl Iterator<Item = Layout> {
        self.runs.iter().map(|(layout, _)| *layout)
    }

    /// The operation at the ranks that the layout has.
    pub fn runs(&self, layout: Layout) -> &[Run] {
        &self.runs.iter().find(|(own, _)| *own == layout).expect("a layout of the operation").1
    }
}

/// The table of a family: `"name" function [layouts] gradient`. A layout with a suffix says how the rank changes;
/// `none` in place of `gradient` that there is none. `"family" of Kind` is of functions that are generic over the kind.
macro_rules! family {
    ($family:literal; $($name:literal $run:ident [$($layout:ident)*] $gradient:ident;)*) => {
        pub fn operations() -> Vec<crate::operations::Operation> {
            vec![$(crate::operations::Operation {
                name: $name,
                family: $family,
                gradient: crate::operations::family!(@gradient $gradient),
                runs: crate::operations::merged(vec![$(crate::operations::family!(@layout $layout $run ())),*]),
            }),*]
        }
    };
    ($family:literal of $kind:ident; $($name:literal $run:ident [$($layout:ident)*] $gradient:ident;)*) => {
        pub fn operations() -> Vec<crate::operations::Operation> {
            vec![$(crate::operations::Operation {
                name: $name,
                family: $family,
                gradient: crate::operations::family!(@gradient $gradient),
                runs: crate::operations::merged(vec![$(crate::operations::family!(@layout $layout $run (, $kind))),*]),
            }),*]
        }
    };
    (@gradient gradient) => { true };
    (@gradient none) => { false };
    (@runs $layout:ident $run:ident $kind:tt [$(($($rank:tt)*))*]) => {
        (Layout::$layout, vec![$(crate::operations::family!(@run $run $kind $($rank)*)),*])
    };
    (@run $run:ident ($($kind:tt)*) $($rank:tt)*) => { $run::<$($rank)* $($kind)*> };
    (@layout coo $run:ident $kind:tt) => {
        crate::operations::family!(@runs Coo $run $kind [(CooPattern, 2) (CooPattern, 3)])
    };
    (@layout csr $run:ident $kind:tt) => { crate::operations::family!(@runs Csr $run $kind [(CsrPattern, 2)]) };
    (@layout hybrid $run:ident $kind:tt) => {
        crate::operations::family!(@runs Hybrid $run $kind [(CooPattern, 2) (CooPattern, 3)])
    };
    (@layout hybrid_matrix $run:ident $kind:tt) => {
        crate::operations::family!(@runs Hybrid $run $kind [(CooPattern, 3)])
    };
    (@layout batched $run:ident $kind:tt) => { crate::operations::family!(@runs Batched $run $kind [(CsrPattern, 3)]) };
    (@layout coo_up $run:ident $kind:tt) => {
        crate::operations::family!(@runs Coo $run $kind [(CooPattern, 2, 3) (CooPattern, 3, 4)])
    };
    (@layout csr_up $run:ident $kind:tt) => { crate::operations::family!(@runs Csr $run $kind [(CsrPattern, 2, 3)]) };
    (@layout hybrid_up $run:ident $kind:tt) => {
        crate::operations::family!(@runs Hybrid $run $kind [(CooPattern, 2, 3) (CooPattern, 3, 4)])
    };
    (@layout coo_same $run:ident $kind:tt) => {
        crate::operations::family!(@runs Coo $run $kind [(CooPattern, 2, 2) (CooPattern, 3, 3)])
    };
    (@layout csr_same $run:ident $kind:tt) => { crate::operations::family!(@runs Csr $run $kind [(CsrPattern, 2, 2)]) };
    (@layout hybrid_same $run:ident $kind:tt) => {
        crate::operations::family!(@runs Hybrid $run $kind [(CooPattern, 3, 3)])
    };
    (@layout batched_same $run:ident $kind:tt) => {
        crate::operations::family!(@runs Batched $run $kind [(CsrPattern, 3, 3)])
    };
    (@layout coo_down $run:ident $kind:tt) => {
        crate::operations::family!(@runs Coo $run $kind [(CooPattern, 2, 1) (CooPattern, 3, 2)])
    };
    (@layout hybrid_down $run:ident $kind:tt) => {
        crate::operations::family!(@runs Hybrid $run $kind [(CooPattern, 3, 2)])
    };
    (@layout batched_down $run:ident $kind:tt) => {
        crate::operations::family!(@runs Batched $run $kind [(CsrPattern, 3, 2)])
    };
    (@layout dense $run:ident $kind:tt) => { crate::operations::family!(@runs Dense $run $kind [(1) (2) (3)]) };
    (@layout dense_up $run:ident $kind:tt) => {
        crate::operations::family!(@runs Dense $run $kind [(1, 2) (2, 3) (3, 4)])
    };
}
use family;

/// Runs of one layout under one entry.
fn merged(runs: Vec<(Layout, Vec<Run>)>) -> Vec<(Layout, Vec<Run>)> {
    let mut merged: Vec<(Layout, Vec<Run>)> = vec![];
    for (layout, more) in runs {
        match merged.iter_mut().find(|(own, _)| *own == layout) {
            Some((_, list)) => list.extend(more),
            None => merged.push((layout, more)),
        }
    }
    merged
}

pub fn all() -> Vec<Operation> {
    [
        arithmetic::operations(),
        division::operations(),
        elementwise::operations(),
        comparisons::operations(),
        products::operations(),
        folds::operations(),
        reductions::operations(),
        structure::operations(),
        casts::operations(),
        selection::operations(),
        patterns::operations(),
        dense::operations(),
        kinds::integers::operations(),
        integers::operations(),
        truths::operations(),
        kinds::truths::operations(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
