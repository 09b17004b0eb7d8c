//! The work as plans over data frames.
//!
//! No function of this file reads anything or knows where a plan runs. Inputs and outputs are data frames of a
//! `SessionContext`, and expressions are DataFusion's own.

use datafusion::arrow::datatypes::DataType;
use datafusion::error::Result;
use datafusion::logical_expr::JoinType;
use datafusion::prelude::{DataFrame, Expr, cast, ident, lit};

/// All ids of edges (`src`, `dst`, ..) and of features (`id`), once each, ascending: `id`.
pub fn ids(edges: DataFrame, features: Option<DataFrame>) -> Result<DataFrame> {
    let end = |name| edges.clone().select(vec![ident(name).alias("id")]);
    let mut all = end("src")?.union(end("dst")?)?;
    if let Some(features) = features {
        all = all.union(features.select(vec![ident("id")])?)?;
    }
    all.distinct()?.sort(vec![ident("id").sort(true, false)])
}

/// Edges (`src`, `dst`, perhaps `weight`) by the dense ids of `labels` (`id`, `dense`): `key` is `row * nodes + col`,
/// or null if an end is in no label.
pub fn relabel(edges: DataFrame, labels: DataFrame, nodes: u64, keep_loops: bool) -> Result<DataFrame> {
    let weight = || edges_weight(&edges);
    let (rows, cols) = (label(&labels, "row")?, label(&labels, "col")?);
    // Labels come first: the first side is what a hash join holds in memory. Every edge stays.
    let half = rows.join(edges.clone(), JoinType::Right, &["row_id"], &["src"], None)?;
    let half = half.select([vec![ident("row"), ident("dst")], weight()].concat())?;
    let both = cols.join(half, JoinType::Right, &["col_id"], &["dst"], None)?;
    let mut both = both.select([vec![ident("row"), ident("col")], weight()].concat())?;
    if !keep_loops {
        let loops = ident("row").not_eq(ident("col"));
        both = both.filter(loops.or(ident("row").is_null()).or(ident("col").is_null()))?;
    }
    let key = (ident("row") * lit(nodes as i64) + ident("col")).alias("key");
    both.select([vec![key], weight()].concat())
}

/// Edges of [`relabel`] in order of `key`, then `weight`; with each in both directions if asked for, loops once.
pub fn ordered(edges: DataFrame, nodes: u64, symmetrize: bool) -> Result<DataFrame> {
    let weight = edges_weight(&edges);
    let nodes = || lit(nodes.max(1) as i64);
    let mut all = edges.clone();
    if symmetrize {
        let (row, col) = (ident("key") / nodes(), ident("key") % nodes());
        let reversed = edges.filter(row.clone().not_eq(col.clone()))?;
        let key = (col * nodes() + row).alias("key");
        all = all.union(reversed.select([vec![key], weight.clone()].concat())?)?;
    }
    all.sort([vec![ident("key")], weight].concat().into_iter().map(|by| by.sort(true, false)).collect())
}

/// Rows of features (`id`, `f0`, `f1`, ..) with the dense ids of `labels`, in their order: `dense`, `id`, `f0`, ..
pub fn features(table: DataFrame, labels: DataFrame, width: usize) -> Result<DataFrame> {
    let joined = label(&labels, "dense")?.join(table, JoinType::Right, &["dense_id"], &["id"], None)?;
    let numbers = (0..width).map(|k| cast(ident(format!("f{k}")), DataType::Float32).alias(format!("f{k}")));
    let columns: Vec<Expr> = [ident("dense"), ident("id")].into_iter().chain(numbers).collect();
    joined.select(columns)?.sort(vec![ident("dense").sort(true, true)])
}

fn edges_weight(edges: &DataFrame) -> Vec<Expr> {
    let found = edges.schema().fields().iter().any(|field| field.name() == "weight");
    if found { vec![ident("weight")] } else { Vec::new() }
}

/// Labels under another name, so that they can be joined twice.
fn label(labels: &DataFrame, name: &str) -> Result<DataFrame> {
    labels.clone().select(vec![ident("id").alias(format!("{name}_id")), ident("dense").alias(name)])
}
