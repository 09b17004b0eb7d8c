//! The operations under test, by name.

use crate::case::{Case, text, usizes};
use crate::inputs::Context;
use crate::produced::Produced;
use crate::runner::Answer;
use burn::tensor::{Bool, Float, Int};
use serde_json::Value;
use sparse_tensor::{Numeric, Result, SparseTensor, ops, pattern::Pattern};

/// Binds `$D` to a rank from 1 to 4.
macro_rules! by_rank {
    ($rank:expr, $D:ident => $body:expr) => {
        match $rank {
            1 => {
                const $D: usize = 1;
                $body
            }
            2 => {
                const $D: usize = 2;
                $body
            }
            3 => {
                const $D: usize = 3;
                $body
            }
            4 => {
                const $D: usize = 4;
                $body
            }
            rank => panic!("rank {rank}"),
        }
    };
}

/// Binds `$K` to the kind of a dtype.
macro_rules! by_kind {
    ($dtype:expr, $K:ident => $body:expr) => {
        match $dtype {
            "bool" => {
                type $K = Bool;
                $body
            }
            name if name.contains('f') => {
                type $K = Float;
                $body
            }
            _ => {
                type $K = Int;
                $body
            }
        }
    };
}

/// Binds `$t` to the named input as the sparse tensor that it is; errors of construction come back.
macro_rules! by_layout {
    ($context:expr, $name:expr, $input:expr, $D:ident, $K:ident, $t:ident => $body:expr) => {
        match text(&$input["layout"]) {
            "coo" => {
                let $t = $context.coo::<$D, $K>($name, $input)?;
                $body
            }
            _ => {
                let $t = $context.csr::<$D, $K>($name, $input)?;
                $body
            }
        }
    };
}

fn rank(input: &Value) -> usize {
    input["shape"].as_array().expect("a shape").len()
}

pub fn run(case: &Case, context: &Context) -> Answer {
    Some(match case.op() {
        "coalesce" | "to_csr" | "to_coo" | "to_dense" => structure(case, context),
        "permute" => permute(case, context),
        "matmul" => matmul(case, context),
        "masked_matmul" => masked_matmul(case, context),
        _ => return None,
    })
}

fn structure(case: &Case, context: &Context) -> Result<Produced> {
    let input = case.input("a");
    by_rank!(rank(input), D => by_kind!(text(&input["dtype"]), K => match case.op() {
        "coalesce" => Ok(Produced::sparse(context, &context.coo::<D, K>("a", input)?.coalesce())),
        "to_csr" => Ok(Produced::sparse(context, &context.coo::<D, K>("a", input)?.to_csr())),
        "to_coo" => Ok(Produced::sparse(context, &context.csr::<D, K>("a", input)?.to_coo())),
        _ => by_layout!(context, "a", input, D, K, a => Ok(Produced::dense(context, &a.try_to_dense()?))),
    }))
}

fn permute(case: &Case, context: &Context) -> Result<Produced> {
    let input = case.input("a");
    by_rank!(rank(input), D => {
        let axes: Vec<isize> = usizes(case.attr("dims")).into_iter().map(|axis| axis as isize).collect();
        let axes: [isize; D] = axes.try_into().expect("one axis a dim");
        by_layout!(context, "a", input, D, Float, a => Ok(Produced::sparse(context, &a.try_permute(axes)?)))
    })
}

fn matmul(case: &Case, context: &Context) -> Result<Produced> {
    let (a, b) = (case.input("a"), case.input("b"));
    by_rank!(rank(a), D => match text(&a["dtype"]) {
        "i64" => by_layout!(context, "a", a, D, Int, a => times_dense(context, a, b)),
        _ => by_layout!(context, "a", a, D, Float, a => times_dense(context, a, b)),
    })
}

fn times_dense<P: Pattern, const D: usize, K: Numeric>(
    context: &Context,
    a: SparseTensor<P, D, K>,
    b: &Value,
) -> Result<Produced> {
    Ok(Produced::dense(context, &a.try_matmul(context.dense("b", b))?))
}

fn masked_matmul(case: &Case, context: &Context) -> Result<Produced> {
    let mask = case.input("mask");
    by_layout!(context, "mask", mask, TWO, Float, mask => {
        let (x, y) = (context.dense::<TWO, Float>("a", case.input("a")), context.dense("b", case.input("b")));
        Ok(Produced::sparse(context, &ops::try_masked_matmul(x, y, &mask)?))
    })
}

const TWO: usize = 2;
