//! The registry: one entry an operation, which the equivalence test, the oversized inputs and the coverage table read.
//!
//! An operation is a function generic over pattern and rank that draws its inputs and gives both sides of the
//! equivalence test. Its entry says what it is called, of which kinds and layouts it is, whether it has a gradient, and
//! how it runs on inputs that no memory holds as dense ones, or what it refuses there. Public functions that are no
//! operations are listed in `exempt.rs`.

/// The table of a family. An entry is
///
/// `name of Float Int [layouts] gradient, |h| ..;`
///
/// where `name` is the operation and the function that draws it; `"name" function` where these differ. Functions that
/// are not generic over the kind have no `of ..`. A layout with a suffix says how the rank changes, and `all` means
/// `coo csr hybrid batched`. In place of `gradient` is `none` if there is no gradient, and `zero` if it is 0
/// everywhere. The last part runs the operation on oversized inputs (`oversized/mod.rs`). It is generic over the
/// pattern `P`, the rank `D` and, where a layout has a suffix, the rank `D2` of the result.
macro_rules! operations {
    ($family:literal; $($($name:literal)? $run:ident $(of $($kind:ident)+)? [$($layout:ident)+] $gradient:ident,
        |$h:ident| $oversized:expr;)*) => {
        pub fn operations() -> Vec<$crate::operations::Operation> {
            let mut all = vec![];
            $({
                fn oversized<P: $crate::draw::Build, const D: usize, const D2: usize>(
                    $h: &$crate::oversized::Oversized<P, D>,
                ) {
                    let () = $oversized;
                }
                let far: Vec<$crate::oversized::Run> = [$(operations!(@far $layout oversized)),+].concat();
                operations!(@entry all $family [$($name)?] $run [$($($kind)+)?] [$($layout)+] $gradient far);
            })*
            all
        }
    };
    (@entry $all:ident $family:literal $name:tt $run:ident [] $layouts:tt $gradient:ident $far:ident) => {
        $all.push($crate::operations::Operation {
            name: operations!(@name $name $run ""),
            family: $family,
            gradient: operations!(@gradient $gradient),
            flat: operations!(@flat $gradient),
            runs: operations!(@runs $layouts $run ()),
            oversized: $far,
        });
    };
    (@entry $all:ident $family:literal $name:tt $run:ident [Float $($kind:ident)*] $layouts:tt $gradient:ident
        $far:ident) => {
        $all.push($crate::operations::Operation {
            name: operations!(@name $name $run ""),
            family: $family,
            gradient: operations!(@gradient $gradient),
            flat: operations!(@flat $gradient),
            runs: operations!(@runs $layouts $run (, burn::tensor::Float)),
            oversized: $far,
        });
        $($all.push($crate::operations::Operation {
            name: operations!(@of $kind $name $run),
            family: operations!(@family $kind),
            gradient: false,
            flat: false,
            runs: operations!(@runs $layouts $run (, burn::tensor::$kind)),
            oversized: vec![],
        });)*
    };
    (@name [] $run:ident $suffix:literal) => { concat!(stringify!($run), $suffix) };
    (@name [$name:literal] $run:ident $suffix:literal) => { concat!($name, $suffix) };
    (@of Int $name:tt $run:ident) => { operations!(@name $name $run " (int)") };
    (@of Bool $name:tt $run:ident) => { operations!(@name $name $run " (bool)") };
    (@family Int) => { $crate::operations::INTEGERS };
    (@family Bool) => { $crate::operations::TRUTHS };
    (@gradient none) => { false };
    (@gradient $other:ident) => { true };
    (@flat zero) => { true };
    (@flat $other:ident) => { false };
    (@runs [$($layout:ident)+] $run:ident $kind:tt) => {
        $crate::operations::merged([$(operations!(@layout $layout $run $kind)),+].concat())
    };
    (@at $run:ident $kind:tt $($layout:ident [$($rank:tt)+])+) => {{
        use sparse_tensor::pattern::{CooPattern as Coo, CsrPattern as Csr};
        // Some layouts use one of them.
        let _ = (core::marker::PhantomData::<Coo>, core::marker::PhantomData::<Csr>);
        let runs: Vec<($crate::draw::Layout, Vec<$crate::operations::Run>)> =
            vec![$(($crate::draw::Layout::$layout, vec![$(operations!(@run $run $kind $rank)),+])),+];
        runs
    }};
    (@run $run:ident ($($kind:tt)*) ($($rank:tt)*)) => { $run::<$($rank)* $($kind)*> };
    (@layout all $run:ident $kind:tt) => {
        operations!(@at $run $kind
            Coo [(Coo, 2) (Coo, 3)] Csr [(Csr, 2)] Hybrid [(Coo, 2) (Coo, 3)] Batched [(Csr, 3)])
    };
    (@layout coo $run:ident $kind:tt) => { operations!(@at $run $kind Coo [(Coo, 2) (Coo, 3)]) };
    (@layout csr $run:ident $kind:tt) => { operations!(@at $run $kind Csr [(Csr, 2)]) };
    (@layout hybrid_matrix $run:ident $kind:tt) => { operations!(@at $run $kind Hybrid [(Coo, 3)]) };
    (@layout batched $run:ident $kind:tt) => { operations!(@at $run $kind Batched [(Csr, 3)]) };
    (@layout coo_up $run:ident $kind:tt) => { operations!(@at $run $kind Coo [(Coo, 2, 3) (Coo, 3, 4)]) };
    (@layout csr_up $run:ident $kind:tt) => { operations!(@at $run $kind Csr [(Csr, 2, 3)]) };
    (@layout hybrid_up $run:ident $kind:tt) => { operations!(@at $run $kind Hybrid [(Coo, 2, 3) (Coo, 3, 4)]) };
    (@layout coo_same $run:ident $kind:tt) => { operations!(@at $run $kind Coo [(Coo, 2, 2) (Coo, 3, 3)]) };
    (@layout csr_same $run:ident $kind:tt) => { operations!(@at $run $kind Csr [(Csr, 2, 2)]) };
    (@layout hybrid_same $run:ident $kind:tt) => { operations!(@at $run $kind Hybrid [(Coo, 3, 3)]) };
    (@layout batched_same $run:ident $kind:tt) => { operations!(@at $run $kind Batched [(Csr, 3, 3)]) };
    (@layout coo_down $run:ident $kind:tt) => { operations!(@at $run $kind Coo [(Coo, 2, 1) (Coo, 3, 2)]) };
    (@layout hybrid_down $run:ident $kind:tt) => { operations!(@at $run $kind Hybrid [(Coo, 3, 2)]) };
    (@layout batched_down $run:ident $kind:tt) => { operations!(@at $run $kind Batched [(Csr, 3, 2)]) };
    (@layout dense $run:ident $kind:tt) => { operations!(@at $run $kind Dense [(1) (2) (3)]) };
    (@layout dense_up $run:ident $kind:tt) => { operations!(@at $run $kind Dense [(1, 2) (2, 3) (3, 4)]) };
    // The oversized inputs of a layout, and the rank of the result.
    (@far all $oversized:ident) => {
        [
            operations!(@far coo $oversized), operations!(@far csr $oversized),
            operations!(@far hybrid_matrix $oversized), operations!(@far batched $oversized),
        ].concat()
    };
    (@far coo $oversized:ident) => { operations!(@input $oversized coo 2) };
    (@far csr $oversized:ident) => { operations!(@input $oversized csr 2) };
    (@far hybrid_matrix $oversized:ident) => { operations!(@input $oversized hybrid 3) };
    (@far batched $oversized:ident) => { operations!(@input $oversized batched 3) };
    (@far coo_up $oversized:ident) => { operations!(@input $oversized coo 3) };
    (@far csr_up $oversized:ident) => { operations!(@input $oversized csr 3) };
    (@far hybrid_up $oversized:ident) => { operations!(@input $oversized hybrid 4) };
    (@far coo_same $oversized:ident) => { operations!(@input $oversized coo 2) };
    (@far csr_same $oversized:ident) => { operations!(@input $oversized csr 2) };
    (@far hybrid_same $oversized:ident) => { operations!(@input $oversized hybrid 3) };
    (@far batched_same $oversized:ident) => { operations!(@input $oversized batched 3) };
    (@far coo_down $oversized:ident) => { operations!(@input $oversized coo 1) };
    (@far hybrid_down $oversized:ident) => { operations!(@input $oversized hybrid 2) };
    (@far batched_down $oversized:ident) => { operations!(@input $oversized batched 2) };
    // Of dense tensors: they make their own.
    (@far dense $oversized:ident) => { operations!(@input $oversized coo 2) };
    (@far dense_up $oversized:ident) => { operations!(@input $oversized coo 2) };
    (@input $oversized:ident $input:ident $rank:literal) => {
        vec![(|name, inputs| {
            $oversized::<_, _, $rank>(&$crate::oversized::Oversized::new(name, &inputs.$input))
        }) as $crate::oversized::Run]
    };
}

mod arithmetic;
mod casts;
mod comparisons;
pub mod dense;
mod division;
mod elementwise;
pub mod exempt;
mod folds;
mod integers;
mod patterns;
pub mod products;
pub mod reductions;
mod selection;
mod stored;
mod structure;
mod truths;

use crate::answer::Answer;
use crate::draw::{Draw, Layout};

pub type Run = fn(&mut Draw) -> Answer;

/// The family of operations of integers.
pub const INTEGERS: &str = "integers";
/// The family of operations of truths.
pub const TRUTHS: &str = "truths";

/// An entry of the registry, for one kind.
pub struct Operation {
    pub name: &'static str,
    pub family: &'static str,
    pub gradient: bool,
    /// Whether the gradient is zero wherever there is one.
    pub flat: bool,
    runs: Vec<(Layout, Vec<Run>)>,
    /// On oversized inputs; empty for the kinds after the first.
    pub oversized: Vec<crate::oversized::Run>,
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

/// Every entry, families together.
pub fn all() -> Vec<Operation> {
    let mut all: Vec<Operation> = [
        truths::operations(),
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
        stored::operations(),
        patterns::operations(),
        dense::operations(),
        integers::operations(),
    ]
    .into_iter()
    .flatten()
    .collect();
    // Stable: the families of the other kinds last.
    all.sort_by_key(|operation| {
        [INTEGERS, TRUTHS].iter().position(|own| *own == operation.family).map_or(0, |at| at + 1)
    });
    all
}
