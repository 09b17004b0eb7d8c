//! Files as data frames.

use crate::error::{PrepareError, Result};
use crate::options::{FeatureTable, Files, Format, IdType, Options};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::datasource::file_format::file_compression_type::FileCompressionType;
use datafusion::datasource::listing::ListingTableUrl;
use datafusion::prelude::{CsvReadOptions, DataFrame, ParquetReadOptions, SessionContext, cast, ident};
use futures::TryStreamExt;
use serde::Serialize;
use sparse_shards::IdKind;
use std::collections::BTreeMap;
#[cfg(any(feature = "aws", feature = "gcp", feature = "http"))]
use std::ffi::OsString;
use std::sync::Arc;

/// The files of a table, found.
pub(crate) struct Found {
    op: &'static str,
    files: Files,
    format: Format,
    compression: FileCompressionType,
    /// Whether all are files of this machine.
    pub(crate) local: bool,
    /// What they are, for the digest.
    pub(crate) stamps: Vec<Stamp>,
}

/// By what a file is known to be the same as before.
#[derive(PartialEq, Serialize)]
pub(crate) struct Stamp {
    place: String,
    bytes: u64,
    changed: String,
    tag: Option<String>,
}

/// Looks for files. Patterns and folders are listed.
pub(crate) async fn find(ctx: &SessionContext, op: &'static str, files: &Files) -> Result<Found> {
    let query = PrepareError::query(op);
    let (mut stamps, mut local) = (Vec::new(), true);
    for path in &files.paths {
        let url = ListingTableUrl::parse(path).map_err(&query)?;
        local &= url.scheme() == "file";
        register(ctx, op, &url)?;
        let store = ctx.runtime_env().object_store(&url).map_err(&query)?;
        let state = ctx.state();
        let none = |error| PrepareError::invalid(op, format!("there must be a file at {path}, got: {error}"));
        let listed = url.list_all_files(&state, store.as_ref(), "").await.map_err(none)?;
        let mut found: Vec<_> = listed.try_collect().await.map_err(none)?;
        if found.is_empty() {
            return Err(PrepareError::invalid(op, format!("there must be a file at {path}, got none")));
        }
        found.sort_by(|a, b| a.location.cmp(&b.location));
        stamps.extend(found.into_iter().map(|meta| Stamp {
            place: format!("{}{}", url.object_store().as_str(), meta.location),
            bytes: meta.size,
            changed: meta.last_modified.to_rfc3339(),
            tag: meta.e_tag,
        }));
    }
    let names: Vec<&str> = stamps.iter().map(|stamp| stamp.place.as_str()).collect();
    let parquet = |name: &str| name.ends_with(".parquet") || name.ends_with(".pq");
    let format = match files.format {
        Format::Auto if names.iter().all(|name| parquet(name)) => Format::Parquet,
        Format::Auto if names.iter().any(|name| parquet(name)) => {
            return Err(PrepareError::invalid(op, "files must be of one format, got Parquet and CSV"));
        }
        Format::Auto => Format::Csv,
        other => other,
    };
    let ends = [
        (".gz", FileCompressionType::GZIP),
        (".bz2", FileCompressionType::BZIP2),
        (".xz", FileCompressionType::XZ),
        (".zst", FileCompressionType::ZSTD),
    ];
    let packed = |name: &str| ends.iter().find(|(end, _)| format == Format::Csv && name.ends_with(end));
    let compression = packed(names[0]).map(|(_, own)| *own).unwrap_or(FileCompressionType::UNCOMPRESSED);
    if names.iter().any(|name| packed(name).map(|own| own.0) != packed(names[0]).map(|own| own.0)) {
        return Err(PrepareError::invalid(op, "files must be compressed in one way, got several"));
    }
    if packed(names[0]).is_some() && !cfg!(feature = "compression") {
        let message = format!("{} must be read by a build with the feature `compression`, got one without", names[0]);
        return Err(PrepareError::invalid(op, message));
    }
    let mut files = files.clone();
    let tabs = names.iter().all(|name| name.contains(".tsv"));
    files.delimiter = files.delimiter.or(Some(if tabs { b'\t' } else { b',' }));
    Ok(Found { op, files, format, compression, local, stamps })
}

/// Makes the store of a URL known. Files of this machine are known already.
#[cfg(any(feature = "aws", feature = "gcp", feature = "http"))]
fn register(ctx: &SessionContext, op: &'static str, url: &ListingTableUrl) -> Result<()> {
    if url.scheme() == "file" {
        return Ok(());
    }
    let store = url.object_store();
    // A client refuses it if it is not allowed: who writes it asks for it.
    let plain = (url.scheme() == "http").then(|| ("allow_http".to_owned(), "true".to_owned()));
    let wrong = |error: object_store::Error| {
        PrepareError::invalid(op, format!("{store} must be a store of this build, got: {error}"))
    };
    // Keys and regions come from the environment, by the names that the stores give them.
    let text = |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
    let all = std::env::vars_os().filter_map(text);
    let keys = all.filter(|(name, _)| name.starts_with("AWS_") || name.starts_with("GOOGLE_"));
    let keys = keys.map(|(name, value)| (name.to_ascii_lowercase(), value)).chain(plain);
    let (own, _) = object_store::parse_url_opts(store.as_ref(), keys).map_err(wrong)?;
    ctx.register_object_store(store.as_ref(), Arc::from(own));
    Ok(())
}

#[cfg(not(any(feature = "aws", feature = "gcp", feature = "http")))]
fn register(_: &SessionContext, op: &'static str, url: &ListingTableUrl) -> Result<()> {
    if url.scheme() == "file" {
        return Ok(());
    }
    let message = format!("{} must be read by a build with `aws`, `gcp` or `http`, got one without", url.as_str());
    Err(PrepareError::invalid(op, message))
}

/// Looks again for all inputs: the same files must be there.
pub(crate) async fn unchanged(edges: &Found, features: Option<&Found>) -> Result<()> {
    edges.unchanged().await?;
    match features {
        None => Ok(()),
        Some(features) => features.unchanged().await,
    }
}

impl Found {
    async fn unchanged(&self) -> Result<()> {
        // The context of the run remembers what folders hold.
        let now = find(&SessionContext::new(), self.op, &self.files).await?.stamps;
        let differs = |own: &[Stamp], other: &[Stamp]| {
            own.iter().find(|stamp| !other.contains(stamp)).map(|stamp| stamp.place.clone())
        };
        match differs(&self.stamps, &now).or_else(|| differs(&now, &self.stamps)) {
            None => Ok(()),
            Some(name) => Err(self.wrong(format!("files must not change while they are read, got a change of {name}"))),
        }
    }

    /// Whether the edges can be read several times at little cost.
    pub(crate) fn cheap(&self) -> bool {
        self.local && self.format == Format::Parquet
    }

    /// The table. `types`: which columns have another type than the file seems to say, where it is text.
    async fn read(&self, ctx: &SessionContext, types: Option<&BTreeMap<String, DataType>>) -> Result<DataFrame> {
        let (query, paths) = (PrepareError::query(self.op), self.files.paths.clone());
        if self.format == Format::Parquet {
            let options = ParquetReadOptions::default().file_extension("");
            return ctx.read_parquet(paths, options).await.map_err(query);
        }
        let mut options = CsvReadOptions::new()
            .file_extension("")
            .file_compression_type(self.compression)
            .has_header(self.files.header)
            .schema_infer_max_records(1000);
        options.delimiter = self.files.delimiter.unwrap_or(b',');
        options.comment = self.files.comment;
        let inferred = ctx.read_csv(paths.clone(), options.clone()).await.map_err(&query)?;
        let Some(types) = types else {
            return Ok(inferred);
        };
        // What is not asked for is text: it need not be of any type.
        let typed = |field: &Arc<Field>| {
            let own = types.get(field.name()).cloned().unwrap_or(DataType::Utf8);
            Field::new(field.name(), own, true)
        };
        let schema = Schema::new(inferred.schema().fields().iter().map(typed).collect::<Vec<_>>());
        ctx.read_csv(paths, options.schema(&schema)).await.map_err(query)
    }

    /// The name of a column that is given by a name or a position.
    fn column(&self, frame: &DataFrame, column: &str) -> Result<String> {
        let names: Vec<&String> = frame.schema().fields().iter().map(|field| field.name()).collect();
        if names.iter().any(|name| *name == column) {
            return Ok(column.to_owned());
        }
        let found = column.parse::<usize>().ok().and_then(|at| names.get(at));
        found.map(|name| (*name).clone()).ok_or_else(|| {
            let message = format!("the column must be a name or a position of {names:?}, got {column:?}");
            PrepareError::invalid(self.op, message)
        })
    }

    fn wrong(&self, message: String) -> PrepareError {
        PrepareError::invalid(self.op, message)
    }
}

fn arrow(kind: IdKind) -> DataType {
    match kind {
        IdKind::Int => DataType::Int64,
        IdKind::Text => DataType::Utf8,
    }
}

/// The edges as `src`, `dst` and perhaps `weight`, and what ids are.
pub(crate) async fn edges(ctx: &SessionContext, found: &Found, options: &Options) -> Result<(DataFrame, IdKind)> {
    let seen = found.read(ctx, None).await?;
    let ends = [found.column(&seen, &options.src)?, found.column(&seen, &options.dst)?];
    let weight = options.weight.as_ref().map(|name| found.column(&seen, name)).transpose()?;
    let mut kinds = Vec::new();
    for end in &ends {
        kinds.push(kind(found, &seen, end, options.ids)?);
    }
    let kind = if kinds.contains(&IdKind::Text) { IdKind::Text } else { IdKind::Int };
    let mut types: BTreeMap<_, _> = ends.iter().map(|end| (end.clone(), arrow(kind))).collect();
    types.extend(weight.iter().map(|name| (name.clone(), DataType::Float64)));
    let frame = found.read(ctx, Some(&types)).await?;
    let mut columns: Vec<_> =
        ends.iter().zip(["src", "dst"]).map(|(end, name)| cast(ident(end), arrow(kind)).alias(name)).collect();
    if let Some(name) = weight {
        numeric(found, &frame, &name)?;
        columns.push(cast(ident(name), DataType::Float64).alias("weight"));
    }
    Ok((frame.select(columns).map_err(PrepareError::query(found.op))?, kind))
}

/// The features as `id`, `f0`, `f1`, .., and the names of their columns.
pub(crate) async fn features(
    ctx: &SessionContext,
    found: &Found,
    table: &FeatureTable,
    kind: IdKind,
) -> Result<(DataFrame, Vec<String>)> {
    let seen = found.read(ctx, None).await?;
    let id = found.column(&seen, &table.id)?;
    let names: Vec<String> = if table.columns.is_empty() {
        seen.schema().fields().iter().map(|field| field.name().clone()).filter(|name| *name != id).collect()
    } else {
        table.columns.iter().map(|name| found.column(&seen, name)).collect::<Result<_>>()?
    };
    if names.is_empty() {
        return Err(found.wrong("there must be a column of features beside the ids, got none".into()));
    }
    let mut types: BTreeMap<_, _> = names.iter().map(|name| (name.clone(), DataType::Float32)).collect();
    types.insert(id.clone(), arrow(kind));
    let frame = found.read(ctx, Some(&types)).await?;
    let own = self::kind(found, &frame, &id, IdType::Auto)?;
    if kind == IdKind::Int && own == IdKind::Text {
        return Err(found.wrong(format!("ids must be integers, as those of the edges are, got text in {id:?}")));
    }
    names.iter().try_for_each(|name| numeric(found, &frame, name))?;
    let numbers = names.iter().enumerate().map(|(k, name)| ident(name).alias(format!("f{k}")));
    let columns = [cast(ident(&id), arrow(kind)).alias("id")].into_iter().chain(numbers).collect::<Vec<_>>();
    Ok((frame.select(columns).map_err(PrepareError::query(found.op))?, names))
}

/// What the ids of a column are.
fn kind(found: &Found, frame: &DataFrame, name: &str, asked: IdType) -> Result<IdKind> {
    match asked {
        IdType::Int => return Ok(IdKind::Int),
        IdType::Text => return Ok(IdKind::Text),
        IdType::Auto => {}
    }
    let own = frame.schema().field_with_unqualified_name(name).map_err(PrepareError::query(found.op))?.data_type();
    let text = matches!(own, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
    match own {
        own if own.is_integer() => Ok(IdKind::Int),
        // A file without rows.
        DataType::Null => Ok(IdKind::Int),
        // What looks like a date or a truth value in text is text.
        own if text || (found.format == Format::Csv && !own.is_floating()) => Ok(IdKind::Text),
        own => {
            let hint = "(--ids text takes numbers as they are written in text files)";
            Err(found.wrong(format!("ids must be integers or strings, got {own} in {name:?} {hint}")))
        }
    }
}

fn numeric(found: &Found, frame: &DataFrame, name: &str) -> Result<()> {
    let own = frame.schema().field_with_unqualified_name(name).map_err(PrepareError::query(found.op))?.data_type();
    if own.is_numeric() && !own.is_decimal() {
        return Ok(());
    }
    Err(found.wrong(format!("{name:?} must be a column of integers or floats, got {own}")))
}

/// A table that a stage wrote.
pub(crate) async fn parquet(ctx: &SessionContext, op: &'static str, path: &std::path::Path) -> Result<DataFrame> {
    let paths = if path.is_dir() { format!("{}/", path.display()) } else { path.display().to_string() };
    ctx.read_parquet(paths, ParquetReadOptions::default()).await.map_err(PrepareError::query(op))
}
