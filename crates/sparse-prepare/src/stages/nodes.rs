//! Which part owns each node, and with which dense id.

use crate::engine::{Engine, Table};
use crate::error::{PrepareError, Result};
use crate::labels::{Id, each, ranges};
use crate::options::{By, Stage, When};
use crate::state::{Found, Owned};
use datafusion::arrow::array::{Int64Array, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use sparse_shards::{IdKind, Kind, ShardWriter};
use std::path::Path;
use std::sync::Arc;

const OP: &str = "nodes";

/// The original ids of a part, as they are written.
enum Ids {
    Int(ShardWriter<i64>),
    Text(ShardWriter<i64>, Box<ShardWriter<u8>>, i64),
}

impl Ids {
    fn create(out: &Path, part: usize, kind: IdKind) -> Result<Self> {
        Ok(match kind {
            IdKind::Int => Self::Int(ShardWriter::create(out, part, Kind::Ids, None)?),
            IdKind::Text => {
                let mut offsets = ShardWriter::create(out, part, Kind::IdOffsets, None)?;
                offsets.write(&[0])?;
                Self::Text(offsets, Box::new(ShardWriter::create(out, part, Kind::IdBytes, None)?), 0)
            }
        })
    }

    fn write(&mut self, id: Id<'_>) -> Result<()> {
        match (self, id) {
            (Self::Int(ids), Id::Int(id)) => ids.write(&[id])?,
            (Self::Text(offsets, bytes, at), Id::Text(id)) => {
                *at += id.len() as i64;
                offsets.write(&[*at])?;
                bytes.write(id.as_bytes())?;
            }
            _ => return Err(PrepareError::invalid(OP, "ids must be all integers or all strings, got both")),
        }
        Ok(())
    }
}

/// Reads the ids of [`ids`](super::ids), and writes them to their parts and, with their dense ids, to a table. `parts`:
/// the part of each node, if neither its id nor its position says.
pub(crate) fn run(
    engine: &Engine<'_>,
    found: &Found,
    kind: IdKind,
    [from, to]: [&Path; 2],
    parts: Option<&[u8]>,
) -> Result<Vec<Owned>> {
    let options = engine.options;
    let out = &options.out;
    let file = sparse_disk::open(from).map_err(PrepareError::io(OP, from))?;
    let trouble = PrepareError::parquet(OP, from);
    let source = ParquetRecordBatchReaderBuilder::try_new(file).map_err(&trouble)?;
    let source = source.with_batch_size(8192).build().map_err(&trouble)?;
    let sizes = match parts {
        None => found.sizes.clone(),
        Some(parts) => {
            let mut sizes = vec![0; options.parts];
            parts.iter().for_each(|&part| sizes[part as usize] += 1);
            sizes
        }
    };
    let ranges = ranges(if parts.is_some() { By::Metis } else { options.by }, found.nodes, &sizes);
    let mut files = (0..options.parts).map(|part| Ids::create(out, part, kind)).collect::<Result<Vec<_>>>()?;
    let mut next: Vec<u64> = ranges.iter().map(|range| range.start).collect();
    let of = if kind == IdKind::Int { DataType::Int64 } else { DataType::Utf8 };
    let dense = Field::new("dense", DataType::Int64, false);
    let schema = Arc::new(Schema::new(vec![Field::new("id", of, true), dense]));
    let mut table = Table::create(OP, to, schema.clone())?;
    let (mut position, mut current) = (0, 0);
    for batch in source {
        let arrow = |error| PrepareError::query(OP)(datafusion::error::DataFusionError::from(error));
        let batch = batch.map_err(arrow)?;
        let mut dense = Vec::with_capacity(batch.num_rows());
        each(OP, &batch, 0, kind, |id| {
            if position == found.nodes {
                return Err(PrepareError::invalid(OP, format!("there must be {} ids, got more", found.nodes)));
            }
            let part = match (parts, options.by) {
                (Some(parts), _) => parts[position as usize] as usize,
                (None, By::Range) => {
                    while ranges[current].end <= position {
                        current += 1;
                    }
                    current
                }
                (None, _) => id.part(options.parts),
            };
            files[part].write(id)?;
            dense.push(next[part] as i64);
            next[part] += 1;
            position += 1;
            Ok(())
        })?;
        let columns = vec![batch.column(0).clone(), Arc::new(Int64Array::from(dense))];
        table.write(&RecordBatch::try_new(schema.clone(), columns).map_err(arrow)?)?;
        engine.progress.written(position);
        options.point(Stage::Nodes, When::Middle);
    }
    if position != found.nodes {
        return Err(PrepareError::invalid(OP, format!("there must be {} ids, got {position}", found.nodes)));
    }
    table.finish()?;
    let finish = |(nodes, file)| {
        let files = match file {
            Ids::Int(ids) => vec![ids.finish()?],
            Ids::Text(offsets, bytes, _) => vec![offsets.finish()?, bytes.finish()?],
        };
        Ok(Owned { nodes, files })
    };
    ranges.into_iter().zip(files).map(finish).collect()
}
