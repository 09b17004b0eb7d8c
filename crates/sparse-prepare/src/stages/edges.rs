//! Edges in order, without duplicates: the graph of each part.

use crate::engine::Engine;
use crate::error::{PrepareError, Result};
use crate::labels::other;
use crate::options::{Duplicates, Stage, When};
use crate::state::{Graph, Owned};
use datafusion::arrow::array::{Array, AsArray, RecordBatch};
use datafusion::arrow::datatypes::{Float64Type, Int64Type};
use datafusion::prelude::DataFrame;
use sparse_shards::{Dtype, Kind, ShardWriter};
use std::path::Path;

const OP: &str = "edges";

/// What must hold of a batch of relabelled edges: `key`, and perhaps `weight`.
pub(crate) fn check(batch: &RecordBatch) -> Result<()> {
    const OP: &str = "relabel";
    if batch.column(0).null_count() > 0 {
        let message = "every edge must be between ids that were read before, got another: an input file was changed";
        return Err(PrepareError::invalid(OP, message));
    }
    if let Some(weights) = batch.columns().get(1) {
        let all = weights.as_primitive_opt::<Float64Type>().ok_or_else(|| other(OP, weights))?;
        if all.null_count() > 0 {
            return Err(PrepareError::invalid(OP, "weights must be numbers, got none in an edge"));
        }
        if let Some(weight) = all.values().iter().find(|weight| !weight.is_finite()) {
            return Err(PrepareError::invalid(OP, format!("weights must be finite, got {weight}")));
        }
    }
    Ok(())
}

/// Columns as narrow as the ids of all nodes allow.
enum Columns {
    I32(ShardWriter<i32>),
    I64(ShardWriter<i64>),
}

/// The graph of the part that is being written.
struct Open {
    ptr: ShardWriter<i64>,
    idx: Columns,
    values: Option<ShardWriter<f32>>,
    /// Rows that are ended.
    rows: u64,
    edges: u64,
}

impl Open {
    fn create(out: &Path, part: usize, wide: bool, values: bool) -> Result<Self> {
        let mut ptr = ShardWriter::create(out, part, Kind::RowPtr, None)?;
        ptr.write(&[0])?;
        let idx = match wide {
            false => Columns::I32(ShardWriter::create(out, part, Kind::ColIdx, None)?),
            true => Columns::I64(ShardWriter::create(out, part, Kind::ColIdx, None)?),
        };
        let values = values.then(|| ShardWriter::create(out, part, Kind::Values, None)).transpose()?;
        Ok(Self { ptr, idx, values, rows: 0, edges: 0 })
    }

    /// Ends the rows before `row`.
    fn up_to(&mut self, row: u64) -> Result<()> {
        while self.rows < row {
            self.ptr.write(&[self.edges as i64])?;
            self.rows += 1;
        }
        Ok(())
    }

    fn push(&mut self, row: u64, col: u64, value: f64) -> Result<()> {
        self.up_to(row)?;
        match &mut self.idx {
            Columns::I32(idx) => idx.write(&[col as i32])?,
            Columns::I64(idx) => idx.write(&[col as i64])?,
        }
        if let Some(values) = &mut self.values {
            let narrow = value as f32;
            if !narrow.is_finite() {
                return Err(PrepareError::invalid(OP, format!("weights must be finite in f32, got {value}")));
            }
            values.write(&[narrow])?;
        }
        self.edges += 1;
        Ok(())
    }

    fn finish(mut self, rows: u64) -> Result<Graph> {
        self.up_to(rows)?;
        let idx = match self.idx {
            Columns::I32(idx) => idx.finish()?,
            Columns::I64(idx) => idx.finish()?,
        };
        let mut files = vec![self.ptr.finish()?, idx];
        files.extend(self.values.map(ShardWriter::finish).transpose()?);
        Ok(Graph { edges: self.edges, files })
    }
}

/// The graphs of all parts, one after the other.
struct Writer<'a> {
    engine: &'a Engine<'a>,
    parts: &'a [Owned],
    done: Vec<Graph>,
    open: Open,
    written: u64,
}

impl<'a> Writer<'a> {
    fn new(engine: &'a Engine<'a>, parts: &'a [Owned]) -> Result<Self> {
        Ok(Self { engine, parts, done: Vec::new(), open: Self::part(engine, parts, 0)?, written: 0 })
    }

    fn part(engine: &Engine<'_>, parts: &[Owned], part: usize) -> Result<Open> {
        let wide = Dtype::of_ids(parts.last().map_or(0, |last| last.nodes.end)) == Dtype::I64;
        Open::create(&engine.options.out, part, wide, engine.options.values())
    }

    fn push(&mut self, row: u64, col: u64, value: f64) -> Result<()> {
        while self.parts[self.done.len()].nodes.end <= row {
            self.turn()?;
        }
        self.written += 1;
        self.open.push(row - self.parts[self.done.len()].nodes.start, col, value)
    }

    /// Ends a part and begins the next one.
    fn turn(&mut self) -> Result<()> {
        let next = Self::part(self.engine, self.parts, self.done.len() + 1)?;
        let nodes = &self.parts[self.done.len()].nodes;
        self.done.push(std::mem::replace(&mut self.open, next).finish(nodes.end - nodes.start)?);
        Ok(())
    }

    fn finish(mut self) -> Result<Vec<Graph>> {
        while self.done.len() + 1 < self.parts.len() {
            self.turn()?;
        }
        let nodes = &self.parts[self.done.len()].nodes;
        self.done.push(self.open.finish(nodes.end - nodes.start)?);
        Ok(self.done)
    }
}

/// Writes the ordered edges of a plan: `key`, and perhaps `weight`.
pub(crate) async fn run(engine: &Engine<'_>, edges: DataFrame, parts: &[Owned]) -> Result<Vec<Graph>> {
    let nodes = parts.last().map_or(0, |last| last.nodes.end).max(1);
    let sum = engine.options.duplicates == Duplicates::Sum;
    let mut writer = Writer::new(engine, parts)?;
    // The edge whose duplicates may still come, and its value.
    let mut last: Option<(u64, f64)> = None;
    let mut rows = engine.rows(OP, edges, if engine.options.symmetrize { 2 } else { 1 }).await?;
    while let Some(batch) = rows.next().await? {
        let keys = batch.column(0).as_primitive_opt::<Int64Type>().ok_or_else(|| other(OP, batch.column(0)))?;
        let weights =
            batch.columns().get(1).map(|own| own.as_primitive_opt::<Float64Type>().ok_or_else(|| other(OP, own)));
        let weights = weights.transpose()?.map(|own| own.values());
        for (k, &key) in keys.values().iter().enumerate() {
            let (key, weight) = (key as u64, weights.map_or(1.0, |own| own[k]));
            match &mut last {
                // Weights ascend, so the last one is the greatest.
                Some((old, value)) if *old == key => *value = if sum { *value + weight } else { weight },
                last => {
                    if let Some((key, value)) = last.replace((key, weight)) {
                        writer.push(key / nodes, key % nodes, value)?;
                    }
                }
            }
        }
        engine.progress.written(writer.written);
        engine.options.point(Stage::Edges, When::Middle);
    }
    if let Some((key, value)) = last {
        writer.push(key / nodes, key % nodes, value)?;
    }
    engine.progress.written(writer.written);
    writer.finish()
}
