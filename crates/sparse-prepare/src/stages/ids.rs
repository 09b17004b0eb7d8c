//! All original ids, ascending.

use crate::engine::{Engine, Table};
use crate::error::{PrepareError, Result};
use crate::labels::each;
use crate::options::{Stage, When};
use crate::state::Found;
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::prelude::DataFrame;
use sparse_shards::IdKind;
use std::path::Path;
use std::sync::Arc;

const OP: &str = "ids";

/// The most nodes: `row * nodes + col` must fit 63 bits.
const MOST: u64 = 3_037_000_499;

/// Writes the ids of a plan to a table of one column, and counts them by part.
pub(crate) async fn run(engine: &Engine<'_>, ids: DataFrame, kind: IdKind, path: &Path) -> Result<Found> {
    let parts = engine.options.parts;
    let mut found = Found { nodes: 0, bytes: 0, sizes: vec![0; parts] };
    let of = if kind == IdKind::Int { DataType::Int64 } else { DataType::Utf8 };
    let schema = Arc::new(Schema::new(vec![Field::new("id", of, true)]));
    let mut table = Table::create(OP, path, schema)?;
    // Beside the sort there are two tables of ids that were seen.
    let mut rows = engine.rows(OP, ids, 3).await?;
    while let Some(batch) = rows.next().await? {
        each(OP, &batch, 0, kind, |id| {
            found.bytes += id.bytes();
            found.sizes[id.part(parts)] += 1;
            Ok(())
        })?;
        found.nodes += batch.num_rows() as u64;
        table.write(&batch)?;
        engine.progress.written(found.nodes);
        engine.options.point(Stage::Ids, When::Middle);
    }
    if found.nodes > MOST {
        return Err(PrepareError::invalid(OP, format!("there must be at most {MOST} nodes, got {}", found.nodes)));
    }
    table.finish()?;
    Ok(found)
}
