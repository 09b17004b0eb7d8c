//! Files as data frames: what their columns are.

use crate::error::{PrepareError, Result};
use crate::input::Found;
use crate::options::{FeatureTable, Format, IdType, Options};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::datasource::file_format::options::ReadOptions;
use datafusion::prelude::{CsvReadOptions, DataFrame, ParquetReadOptions, SessionContext, cast, ident};
use futures::{StreamExt, TryStreamExt, stream};
use sparse_shards::IdKind;
use std::collections::BTreeMap;
use std::slice;

/// Files whose columns are looked up at a time.
const AT_A_TIME: usize = 8;

/// What each file says of its columns. In text that is what its first rows look like.
struct Columns<'a> {
    found: &'a Found,
    files: Vec<(&'a str, SchemaRef)>,
}

impl<'a> Columns<'a> {
    async fn new(ctx: &SessionContext, found: &'a Found) -> Result<Self> {
        let (config, options, state) = (ctx.copied_config(), ctx.copied_table_options(), &ctx.state());
        let own = match found.format {
            Format::Parquet => parquet_options().to_listing_options(&config, options),
            _ => csv_options(found).to_listing_options(&config, options),
        };
        let format = &own.format;
        let schemas = stream::iter(found.filled()).map(|(place, store, meta)| async move {
            let schema = format.infer_schema(state, store, slice::from_ref(meta)).await;
            schema.map(|schema| (place, schema)).map_err(PrepareError::query(found.op))
        });
        let files = schemas.buffered(AT_A_TIME).try_collect().await?;
        let mut own = Self { found, files };
        if found.format != Format::Parquet {
            // A file without a line, which may be compressed.
            own.files.retain(|(_, schema)| !schema.fields().is_empty());
            own.same()?;
        }
        Ok(own)
    }

    /// Text has its columns by position: they must be the same in every file.
    fn same(&self) -> Result<()> {
        let Some((first, schema)) = self.files.first() else {
            return Ok(());
        };
        let due = names(schema);
        match self.files.iter().find(|(_, schema)| names(schema) != due) {
            None => Ok(()),
            Some((place, schema)) => {
                let got = names(schema);
                let message =
                    format!("files must have the same columns, got {due:?} in {first} and {got:?} in {place}");
                Err(self.found.wrong(message))
            }
        }
    }

    /// The names of the first file.
    fn names(&self) -> Vec<&str> {
        self.files.first().map_or(Vec::new(), |(_, schema)| names(schema))
    }

    /// The name of a column that is given by a name or a position. Every file must have it.
    fn name(&self, column: &str) -> Result<String> {
        let all = self.names();
        let by_position = || column.parse::<usize>().ok().and_then(|at| all.get(at).copied());
        let Some(name) = all.iter().copied().find(|name| *name == column).or_else(by_position) else {
            let message = format!("the column must be a name or a position of {all:?}, got {column:?}");
            return Err(self.found.wrong(message));
        };
        match self.files.iter().find(|(_, schema)| schema.column_with_name(name).is_none()) {
            None => Ok(name.to_owned()),
            Some((place, schema)) => {
                let got = names(schema);
                let message = format!("every file must have the column {name:?}, got {got:?} in {place}");
                Err(self.found.wrong(message))
            }
        }
    }

    /// The types of a column that [`name`](Self::name) found.
    fn types(&self, name: &str) -> impl Iterator<Item = &DataType> {
        self.files.iter().filter_map(move |(_, schema)| Some(schema.column_with_name(name)?.1.data_type()))
    }

    /// What the ids of a column are. One file with strings makes those of all strings.
    fn kind(&self, name: &str, asked: IdType) -> Result<IdKind> {
        match asked {
            IdType::Int => return Ok(IdKind::Int),
            IdType::Text => return Ok(IdKind::Text),
            IdType::Auto => {}
        }
        let mut kind = IdKind::Int;
        for own in self.types(name) {
            let text = matches!(own, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
            match own {
                // A file without rows has none.
                own if own.is_integer() || own.is_null() => {}
                // What looks like a date or a truth value in text is text.
                _ if text || (self.found.format != Format::Parquet && !own.is_floating()) => kind = IdKind::Text,
                _ => {
                    let hint = "(--ids text takes numbers as they are written in text files)";
                    let message = format!("ids must be integers or strings, got {own} in {name:?} {hint}");
                    return Err(self.found.wrong(message));
                }
            }
        }
        Ok(kind)
    }

    /// What is no number in text is found when it is read.
    fn numeric(&self, name: &str) -> Result<()> {
        let numeric = |own: &&DataType| own.is_numeric() && !own.is_decimal();
        match self.types(name).find(|own| !numeric(own)) {
            Some(own) if self.found.format == Format::Parquet => {
                Err(self.found.wrong(format!("{name:?} must be a column of integers or floats, got {own}")))
            }
            _ => Ok(()),
        }
    }

    /// The table. `due`: the columns that are asked for, and what they become. In Parquet they keep their types, unless
    /// files differ in them.
    async fn read(&self, ctx: &SessionContext, due: &BTreeMap<String, DataType>) -> Result<DataFrame> {
        let (query, paths) = (PrepareError::query(self.found.op), self.found.files.paths.clone());
        let field = |name: &str, own: DataType| Field::new(name, own, true);
        if self.found.format == Format::Parquet {
            let typed = |(name, due): (&String, &DataType)| {
                let mut types = self.types(name);
                let first = types.next().unwrap_or(due);
                field(name, if types.all(|own| own == first) { first.clone() } else { due.clone() })
            };
            let schema = Schema::new(due.iter().map(typed).collect::<Vec<_>>());
            return ctx.read_parquet(paths, parquet_options().schema(&schema)).await.map_err(query);
        }
        // What is not asked for is text: it need not be of any type.
        let typed = |name: &str| field(name, due.get(name).cloned().unwrap_or(DataType::Utf8));
        let schema = Schema::new(self.names().into_iter().map(typed).collect::<Vec<_>>());
        ctx.read_csv(paths, csv_options(self.found).schema(&schema)).await.map_err(query)
    }
}

fn names(schema: &SchemaRef) -> Vec<&str> {
    schema.fields().iter().map(|field| field.name().as_str()).collect()
}

fn parquet_options<'a>() -> ParquetReadOptions<'a> {
    ParquetReadOptions::default().file_extension("")
}

fn csv_options<'a>(found: &Found) -> CsvReadOptions<'a> {
    let mut options = CsvReadOptions::new()
        .file_extension("")
        .file_compression_type(found.compression)
        .has_header(found.files.header)
        .schema_infer_max_records(1000);
    options.delimiter = found.files.delimiter.unwrap_or(b',');
    options.comment = found.files.comment;
    options
}

fn arrow(kind: IdKind) -> DataType {
    match kind {
        IdKind::Int => DataType::Int64,
        IdKind::Text => DataType::Utf8,
    }
}

/// The edges as `src`, `dst` and perhaps `weight`, and what ids are.
pub(crate) async fn edges(ctx: &SessionContext, found: &Found, options: &Options) -> Result<(DataFrame, IdKind)> {
    let columns = Columns::new(ctx, found).await?;
    let ends = [columns.name(&options.src)?, columns.name(&options.dst)?];
    let weight = options.weight.as_ref().map(|name| columns.name(name)).transpose()?;
    let mut kinds = Vec::new();
    for end in &ends {
        kinds.push(columns.kind(end, options.ids)?);
    }
    let kind = if kinds.contains(&IdKind::Text) { IdKind::Text } else { IdKind::Int };
    let mut due: BTreeMap<_, _> = ends.iter().map(|end| (end.clone(), arrow(kind))).collect();
    due.extend(weight.iter().map(|name| (name.clone(), DataType::Float64)));
    let mut named: Vec<_> =
        ends.iter().zip(["src", "dst"]).map(|(end, name)| cast(ident(end), arrow(kind)).alias(name)).collect();
    if let Some(name) = &weight {
        columns.numeric(name)?;
        named.push(cast(ident(name), DataType::Float64).alias("weight"));
    }
    let frame = columns.read(ctx, &due).await?;
    Ok((frame.select(named).map_err(PrepareError::query(found.op))?, kind))
}

/// The features as `id`, `f0`, `f1`, .., and the names of their columns.
pub(crate) async fn features(
    ctx: &SessionContext,
    found: &Found,
    table: &FeatureTable,
    kind: IdKind,
) -> Result<(DataFrame, Vec<String>)> {
    let columns = Columns::new(ctx, found).await?;
    let id = columns.name(&table.id)?;
    let names: Vec<String> = if table.columns.is_empty() {
        let others = columns.names().into_iter().filter(|name| *name != id);
        others.map(|name| columns.name(name)).collect::<Result<_>>()?
    } else {
        table.columns.iter().map(|name| columns.name(name)).collect::<Result<_>>()?
    };
    if names.is_empty() {
        return Err(found.wrong("there must be a column of features beside the ids, got none".into()));
    }
    // Where ids are strings, text may hold what looks like a number.
    let text = found.format != Format::Parquet && kind == IdKind::Text;
    if columns.kind(&id, if text { IdType::Text } else { IdType::Auto })? == IdKind::Text && kind == IdKind::Int {
        return Err(found.wrong(format!("ids must be integers, as those of the edges are, got text in {id:?}")));
    }
    names.iter().try_for_each(|name| columns.numeric(name))?;
    let mut due: BTreeMap<_, _> = names.iter().map(|name| (name.clone(), DataType::Float32)).collect();
    due.insert(id.clone(), arrow(kind));
    let frame = columns.read(ctx, &due).await?;
    let numbers = names.iter().enumerate().map(|(k, name)| ident(name).alias(format!("f{k}")));
    let named = [cast(ident(&id), arrow(kind)).alias("id")].into_iter().chain(numbers).collect::<Vec<_>>();
    Ok((frame.select(named).map_err(PrepareError::query(found.op))?, names))
}
