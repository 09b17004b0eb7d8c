//! The operations under test, by name.

use crate::case::{Case, text, usizes};
use crate::inputs::Context;
use crate::layout::DynTensor;
use crate::produced::Produced;
use crate::runner::Answer;
use burn::tensor::{Bool, Float, Int};
use serde_json::Value;
use sparse_tensor::ops::{self, Reduce};
use sparse_tensor::{Kind, Numeric, Result, SparseTensor, pattern::Pattern};

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
        "concat" => concat(case, context),
        "divide" | "add" | "sub" | "mul" => binary(case, context),
        "put_along_axis" => put_along_axis(case, context),
        "scatter_reduce" => scatter_reduce(case, context),
        "gather" | "scatter" => along_axis(case, context),
        "gather_nd" | "scatter_nd" => over_axes(case, context),
        "unary" => unary(case, context),
        "reduce" => reduce(case, context),
        "softmax" | "log_softmax" => softmax(case, context),
        "matmul_reduce" => matmul_reduce(case, context),
        "index_select" | "narrow" => selection(case, context),
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
    if text(&b["layout"]) != "dense" {
        return sparse_times_sparse(a, b, context);
    }
    by_rank!(rank(a), D => match text(&a["dtype"]) {
        "i64" => by_layout!(context, "a", a, D, Int, a => times_dense(context, a, b)),
        _ => by_layout!(context, "a", a, D, Float, a => times_dense(context, a, b)),
    })
}

fn sparse_times_sparse(a: &Value, b: &Value, context: &Context) -> Result<Produced> {
    by_rank!(rank(a), D => match (dynamic::<D, Float>(context, "a", a)?, dynamic::<D, Float>(context, "b", b)?) {
        (DynTensor::Coo(a), DynTensor::Coo(b)) => Ok(Produced::sparse(context, &a.try_matmul(&b)?)),
        (DynTensor::Csr(a), DynTensor::Csr(b)) => Ok(Produced::sparse(context, &a.try_matmul(&b)?)),
        _ => panic!("layouts differ"),
    })
}

fn unary(case: &Case, context: &Context) -> Result<Produced> {
    let input = case.input("a");
    by_rank!(rank(input), D => by_layout!(context, "a", input, D, Float, a => {
        Ok(Produced::sparse(context, &function(text(case.attr("function")), &a)))
    }))
}

fn reduce(case: &Case, context: &Context) -> Result<Produced> {
    let input = case.input("a");
    let axis = axis(case, "dim");
    by_rank!(rank(input), D => by_layout!(context, "a", input, D, Float, a => {
        Ok(Produced::sparse(context, &match text(case.attr("function")) {
            "sum" => a.try_sum_dim(axis)?,
            "mean" => a.try_mean_dim(axis)?,
            "amax" => a.try_max_dim(axis)?,
            "amin" => a.try_min_dim(axis)?,
            "prod" => a.try_prod_dim(axis)?,
            other => panic!("reduction {other}"),
        }))
    }))
}

fn softmax(case: &Case, context: &Context) -> Result<Produced> {
    let input = case.input("a");
    let axis = axis(case, "dim");
    by_rank!(rank(input), D => by_layout!(context, "a", input, D, Float, a => {
        let out = if case.op() == "softmax" { a.try_softmax(axis)? } else { a.try_log_softmax(axis)? };
        Ok(Produced::sparse(context, &out))
    }))
}

fn matmul_reduce(case: &Case, context: &Context) -> Result<Produced> {
    let (a, b) = (case.input("a"), case.input("b"));
    let reduce = Reduce::ALL.into_iter().find(|reduce| case.attr("reduce") == reduce.name()).expect("a reduction");
    by_rank!(rank(a), D => by_layout!(context, "a", a, D, Float, a => {
        Ok(Produced::dense(context, &a.try_matmul_reduce(context.dense::<D, Float>("b", b), reduce)?))
    }))
}

fn selection(case: &Case, context: &Context) -> Result<Produced> {
    let input = case.input("a");
    let axis = axis(case, "dim");
    let size = |name: &str| case.attr(name).as_u64().expect("a size") as usize;
    by_rank!(rank(input), D => by_layout!(context, "a", input, D, Float, a => {
        if case.op() == "narrow" {
            return Ok(Produced::sparse(context, &a.try_narrow(axis, size("start"), size("length"))?));
        }
        let index: Vec<i64> = usizes(case.attr("index")).into_iter().map(|at| at as i64).collect();
        let length = index.len();
        Ok(Produced::sparse(context, &a.try_select(axis, context.ints(index, [length]))?))
    }))
}

fn function<P: Pattern, const D: usize>(name: &str, a: &SparseTensor<P, D>) -> SparseTensor<P, D> {
    match name {
        "abs" => a.abs(),
        "neg" => a.neg(),
        "sin" => a.sin(),
        "cos" => a.cos(),
        "tan" => a.tan(),
        "asin" => a.asin(),
        "atan" => a.atan(),
        "sinh" => a.sinh(),
        "tanh" => a.tanh(),
        "asinh" => a.asinh(),
        "exp" => a.exp(),
        "expm1" => a.expm1(),
        "log1p" => a.log1p(),
        "sqrt" => a.sqrt(),
        "square" => a.square(),
        "relu" => a.relu(),
        "sigmoid" => a.sigmoid(),
        "sign" => a.sign(),
        "floor" => a.floor(),
        "ceil" => a.ceil(),
        other => panic!("unary function {other}"),
    }
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

fn axis(case: &Case, name: &str) -> isize {
    case.attr(name).as_i64().expect("an axis") as isize
}

/// An input whose layout is known at run time only.
fn dynamic<const D: usize, K: Kind>(context: &Context, name: &str, input: &Value) -> Result<DynTensor<D, K>> {
    match text(&input["layout"]) {
        "coo" => context.coo(name, input).map(DynTensor::Coo),
        _ => context.csr(name, input).map(DynTensor::Csr),
    }
}

fn produced<const D: usize, K: Kind>(context: &Context, tensor: &DynTensor<D, K>) -> Produced {
    match tensor {
        DynTensor::Coo(tensor) => Produced::sparse(context, tensor),
        DynTensor::Csr(tensor) => Produced::sparse(context, tensor),
    }
}

fn concat(case: &Case, context: &Context) -> Result<Produced> {
    let inputs = case.input("xs").as_array().expect("a list").clone();
    let Some(first) = inputs.first() else {
        return DynTensor::<2>::try_concat(&[], axis(case, "axis")).map(|tensor| produced(context, &tensor));
    };
    by_rank!(rank(first), D => by_kind!(text(&first["dtype"]), K => {
        let name = |k: usize| format!("xs.{k}");
        let parts = inputs.iter().enumerate().map(|(k, input)| dynamic::<D, K>(context, &name(k), input));
        let parts = parts.collect::<Result<Vec<_>>>()?;
        Ok(produced(context, &DynTensor::try_concat(&parts, axis(case, "axis"))?))
    }))
}

fn binary(case: &Case, context: &Context) -> Result<Produced> {
    let (a, b) = (case.input("a"), case.input("b"));
    by_rank!(rank(a), D => {
        let (a, b) = (dynamic::<D, Float>(context, "a", a)?, dynamic::<D, Float>(context, "b", b)?);
        if case.op() == "divide" {
            return Ok(produced(context, &a.try_div(&b)?));
        }
        Ok(match (&a, &b) {
            (DynTensor::Coo(a), DynTensor::Coo(b)) => Produced::sparse(context, &arithmetic(case.op(), a, b)?),
            (DynTensor::Csr(a), DynTensor::Csr(b)) => Produced::sparse(context, &arithmetic(case.op(), a, b)?),
            _ => panic!("layouts differ"),
        })
    })
}

fn arithmetic<P: Pattern, const D: usize>(
    op: &str,
    a: &SparseTensor<P, D>,
    b: &SparseTensor<P, D>,
) -> Result<SparseTensor<P, D>> {
    match op {
        "add" => a.try_add(b),
        "sub" => a.try_sub(b),
        _ => a.try_mul(b),
    }
}

fn reduction(case: &Case) -> (Reduce, bool) {
    let reduce = Reduce::ALL.into_iter().find(|reduce| case.attr("reduce") == reduce.name()).expect("a reduction");
    (reduce, case.attr("include_self").as_bool().expect("a bool"))
}

fn put_along_axis(case: &Case, context: &Context) -> Result<Produced> {
    let arr = case.input("arr");
    let (reduce, include_self) = reduction(case);
    by_rank!(rank(arr), D => by_kind!(text(&arr["dtype"]), K => {
        let arr = context.dense::<D, K>("arr", arr);
        let indices = context.dense::<D, Int>("indices", case.input("indices")).inner();
        let values = context.dense::<D, K>("values", case.input("values"));
        let out = ops::try_put_along_axis(arr, indices, values, axis(case, "axis"), reduce, include_self)?;
        Ok(Produced::dense(context, &out))
    }))
}

fn scatter_reduce(case: &Case, context: &Context) -> Result<Produced> {
    let x = case.input("x");
    let (reduce, include_self) = reduction(case);
    by_rank!(rank(x), D => by_kind!(text(&x["dtype"]), K => {
        let x = context.dense::<D, K>("x", x);
        let index = context.dense::<D, Int>("index", case.input("index")).inner();
        let src = context.dense::<D, K>("src", case.input("src"));
        let out = ops::try_scatter_reduce(x, axis(case, "axis"), index, src, reduce, include_self)?;
        Ok(Produced::dense(context, &out))
    }))
}

fn along_axis(case: &Case, context: &Context) -> Result<Produced> {
    let x = case.input("x");
    by_rank!(rank(x), D => {
        let x = context.dense::<D, Float>("x", x);
        let index = context.dense::<D, Int>("index", case.input("index"));
        let axis = axis(case, "axis");
        let out = match case.op() {
            "gather" => ops::try_gather(x, axis, index)?,
            _ => ops::try_scatter(x, axis, index, context.dense("src", case.input("src")))?,
        };
        Ok(Produced::dense(context, &out))
    })
}

fn over_axes(case: &Case, context: &Context) -> Result<Produced> {
    let x = case.input("x");
    by_rank!(rank(x), D => {
        const DI: usize = D + 1;
        let x = context.dense::<D, Float>("x", x);
        let index = context.dense::<DI, Int>("index", case.input("index"));
        let axes: Vec<isize> = usizes(case.attr("axes")).into_iter().map(|axis| axis as isize).collect();
        let out = match case.op() {
            "gather_nd" => ops::try_gather_nd(x, index, &axes[..])?,
            _ => ops::try_scatter_nd(x, index, context.dense("src", case.input("src")), &axes[..])?,
        };
        Ok(Produced::dense(context, &out))
    })
}
