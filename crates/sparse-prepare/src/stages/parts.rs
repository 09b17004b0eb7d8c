//! Parts that METIS finds.

use crate::engine::{Engine, Table};
use crate::error::{PrepareError, Result};
use crate::labels::other;
use crate::options::{Stage, When};
use crate::state::Found;
use datafusion::arrow::array::{AsArray, Int64Array, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Field, Int64Type, Schema};
use datafusion::error::DataFusionError;
use datafusion::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use datafusion::prelude::DataFrame;
use metis::Graph;
use metis::option::Seed;
use std::path::Path;
use std::sync::Arc;

const OP: &str = "parts";

/// Labels for METIS: the position of each id of [`ids`](super::ids) among all.
pub(crate) fn positions([from, to]: [&Path; 2]) -> Result<()> {
    let arrow = |error| PrepareError::query(OP)(DataFusionError::from(error));
    let file = sparse_disk::open(from).map_err(PrepareError::io(OP, from))?;
    let trouble = PrepareError::parquet(OP, from);
    let source = ParquetRecordBatchReaderBuilder::try_new(file).map_err(&trouble)?;
    let id = source.schema().field(0).clone();
    let schema = Arc::new(Schema::new(vec![id, Field::new("dense", DataType::Int64, false)]));
    let mut table = Table::create(OP, to, schema.clone())?;
    let mut next = 0;
    for batch in source.build().map_err(&trouble)? {
        let batch = batch.map_err(arrow)?;
        let end = next + batch.num_rows() as i64;
        let dense = Arc::new(Int64Array::from_iter_values(next..end));
        next = end;
        let columns = vec![batch.column(0).clone(), dense];
        table.write(&RecordBatch::try_new(schema.clone(), columns).map_err(arrow)?)?;
    }
    table.finish()
}

/// The part of each node, by position. `edges`: ordered, in both directions, without loops.
pub(crate) async fn run(engine: &Engine<'_>, edges: DataFrame, found: &Found) -> Result<Vec<u8>> {
    let (nodes, parts) = (found.nodes, engine.options.parts);
    if nodes <= parts as u64 || parts == 1 {
        return Ok((0..nodes).map(|node| if parts == 1 { 0 } else { node as u8 }).collect());
    }
    if nodes >= i32::MAX as u64 {
        return Err(PrepareError::invalid(OP, format!("METIS must have fewer than 2^31 nodes, got {nodes}")));
    }
    let (mut ptr, mut idx, mut last) = (vec![0i32], Vec::new(), None);
    let mut rows = engine.rows(OP, edges, 8).await?;
    while let Some(batch) = rows.next().await? {
        let keys = batch.column(0).as_primitive_opt::<Int64Type>().ok_or_else(|| other(OP, batch.column(0)))?;
        for &key in keys.values() {
            if last.replace(key) == Some(key) {
                continue;
            }
            if idx.len() == i32::MAX as usize {
                return Err(PrepareError::invalid(OP, "METIS must have fewer than 2^30 edges, got more"));
            }
            let (row, col) = (key as u64 / nodes, key as u64 % nodes);
            ptr.resize(row as usize + 1, idx.len() as i32);
            idx.push(col as i32);
        }
        engine.progress.written(idx.len() as u64);
        engine.options.point(Stage::Parts, When::Middle);
    }
    ptr.resize(nodes as usize + 1, idx.len() as i32);
    let wrong = |error: &dyn std::fmt::Display| PrepareError::invalid(OP, format!("METIS must succeed, got: {error}"));
    let mut own = vec![0; nodes as usize];
    if !idx.is_empty() {
        // The same seed, so that the same graph has the same parts.
        let graph = Graph::new(1, parts as i32, &ptr, &idx).map_err(|error| wrong(&error))?;
        graph.set_option(Seed(1)).part_kway(&mut own).map_err(|error| wrong(&error))?;
    }
    Ok(own.into_iter().map(|part| part as u8).collect())
}
