//! The features of each part.

use crate::engine::Engine;
use crate::error::{PrepareError, Result};
use crate::input;
use crate::labels::{each, other};
use crate::options::{Missing, Stage, When};
use crate::state::Owned;
use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::datatypes::{Float32Type, Int64Type};
use datafusion::prelude::{DataFrame, ident, lit};
use sparse_shards::{IdKind, Kind, ShardFile, ShardWriter};
use std::path::Path;

const OP: &str = "features";

/// The rows of all parts, one after the other.
struct Writer<'a> {
    out: &'a Path,
    parts: &'a [Owned],
    width: u64,
    done: Vec<ShardFile>,
    open: ShardWriter<f32>,
    next: u64,
}

impl<'a> Writer<'a> {
    fn new(out: &'a Path, parts: &'a [Owned], width: u64) -> Result<Self> {
        let open = ShardWriter::create(out, 0, Kind::Features, Some(width))?;
        Ok(Self { out, parts, width, done: Vec::new(), open, next: 0 })
    }

    fn push(&mut self, row: &[f32]) -> Result<()> {
        while self.parts[self.done.len()].nodes.end <= self.next {
            self.turn()?;
        }
        self.next += 1;
        Ok(self.open.write(row)?)
    }

    fn turn(&mut self) -> Result<()> {
        let next = ShardWriter::create(self.out, self.done.len() + 1, Kind::Features, Some(self.width))?;
        self.done.push(std::mem::replace(&mut self.open, next).finish()?);
        Ok(())
    }

    fn finish(mut self) -> Result<Vec<ShardFile>> {
        while self.done.len() + 1 < self.parts.len() {
            self.turn()?;
        }
        self.done.push(self.open.finish()?);
        Ok(self.done)
    }
}

/// Writes the ordered rows of a plan: `dense`, `id`, and a column for each name.
pub(crate) async fn run(
    engine: &Engine<'_>,
    table: DataFrame,
    names: &[String],
    kind: IdKind,
    parts: &[Owned],
    labels: &Path,
) -> Result<Vec<ShardFile>> {
    let nodes = parts.last().map_or(0, |last| last.nodes.end);
    let zero = engine.options.features.as_ref().is_some_and(|own| own.missing == Missing::Zero);
    let (width, empty) = (names.len(), vec![0.0; names.len()]);
    let mut writer = Writer::new(&engine.options.out, parts, width as u64)?;
    let mut row = vec![0.0f32; width];
    // A join, of two sides, and the order.
    let mut rows = engine.rows(OP, table, 4).await?;
    while let Some(batch) = rows.next().await? {
        let dense = batch.column(0);
        if dense.null_count() > 0 {
            let message = "every row must be of an id that was read before, got another: an input file was changed";
            return Err(PrepareError::invalid(OP, message));
        }
        let dense = dense.as_primitive_opt::<Int64Type>().ok_or_else(|| other(OP, dense))?.values();
        let columns: Vec<&[f32]> = batch.columns()[2..].iter().zip(names).map(column).collect::<Result<_>>()?;
        let mut k = 0;
        each(OP, &batch, 1, kind, |id| {
            let at = dense[k] as u64;
            if at < writer.next {
                return Err(PrepareError::invalid(OP, format!("a node must have one row, got several of the id {id}")));
            }
            while writer.next < at && zero {
                writer.push(&empty)?;
            }
            if writer.next < at {
                // Told below, with the id of the node.
                return Ok(());
            }
            for (c, column) in columns.iter().enumerate() {
                if !column[k].is_finite() {
                    let (name, got) = (&names[c], column[k]);
                    let message = format!("numbers must be finite in f32, got {got} in column {name:?} of the id {id}");
                    return Err(PrepareError::invalid(OP, message));
                }
                row[c] = column[k];
            }
            k += 1;
            writer.push(&row)
        })?;
        if k < batch.num_rows() {
            break;
        }
        engine.progress.written(writer.next);
        engine.options.point(Stage::Features, When::Middle);
    }
    drop(rows);
    while writer.next < nodes && zero {
        writer.push(&empty)?;
    }
    if writer.next < nodes {
        let query = PrepareError::query(OP);
        let found = input::parquet(&engine.ctx, OP, labels).await?;
        let found = found.filter(ident("dense").eq(lit(writer.next as i64))).map_err(&query)?;
        let mut name = String::from("?");
        for batch in found.collect().await.map_err(&query)? {
            each(OP, &batch, 0, kind, |id| {
                name = id.to_string();
                Ok(())
            })?;
        }
        let message = format!("every node must have a row (--missing zero writes zeros), got none of the id {name}");
        return Err(PrepareError::invalid(OP, message));
    }
    engine.progress.written(writer.next);
    writer.finish()
}

fn column<'a>((array, name): (&'a ArrayRef, &String)) -> Result<&'a [f32]> {
    if array.null_count() > 0 {
        return Err(PrepareError::invalid(OP, format!("column {name:?} must have a number in every row, got none")));
    }
    Ok(array.as_primitive_opt::<Float32Type>().ok_or_else(|| other(OP, array))?.values())
}
