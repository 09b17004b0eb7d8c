//! Files: where they are, and whether they changed.

use crate::error::{PrepareError, Result};
use crate::options::{Files, Format};
use datafusion::datasource::file_format::file_compression_type::FileCompressionType;
use datafusion::datasource::listing::ListingTableUrl;
use datafusion::object_store::{ObjectMeta, ObjectStore};
use datafusion::prelude::{DataFrame, ParquetReadOptions, SessionContext};
use futures::TryStreamExt;
use serde::Serialize;
#[cfg(any(feature = "aws", feature = "gcp", feature = "http"))]
use std::ffi::OsString;
use std::sync::Arc;

/// The files of a table, found.
pub(crate) struct Found {
    pub(crate) op: &'static str,
    pub(crate) files: Files,
    pub(crate) format: Format,
    pub(crate) compression: FileCompressionType,
    /// Whether all are files of this machine.
    pub(crate) local: bool,
    /// What they are, for the digest.
    pub(crate) stamps: Vec<Stamp>,
    /// How to read them, in the same order.
    objects: Vec<(Arc<dyn ObjectStore>, ObjectMeta)>,
}

/// By what a file is known to be the same as before.
#[derive(PartialEq, Serialize)]
pub(crate) struct Stamp {
    place: String,
    bytes: u64,
    changed: String,
    tag: Option<String>,
}

/// Refuses a pipe or a device, which may never end. `place` has no leading `/`.
fn regular(op: &'static str, place: &str) -> Result<(), PrepareError> {
    let path = format!("/{place}");
    match std::fs::metadata(&path) {
        Ok(found) if !found.is_file() && !found.is_dir() => {
            Err(PrepareError::invalid(op, format!("{path} must be a regular file or a folder")))
        }
        _ => Ok(()),
    }
}

/// Looks for files. Patterns and folders are listed.
pub(crate) async fn find(ctx: &SessionContext, op: &'static str, files: &Files) -> Result<Found> {
    let query = PrepareError::query(op);
    let (mut stamps, mut objects, mut local) = (Vec::new(), Vec::new(), true);
    for path in &files.paths {
        let url = ListingTableUrl::parse(path).map_err(&query)?;
        local &= url.scheme() == "file";
        register(ctx, op, &url)?;
        if url.scheme() == "file" {
            regular(op, url.prefix().as_ref())?;
        }
        let store = ctx.runtime_env().object_store(&url).map_err(&query)?;
        let state = ctx.state();
        let none = |error| PrepareError::invalid(op, format!("there must be a file at {path}, got: {error}"));
        let listed = url.list_all_files(&state, store.as_ref(), "").await.map_err(none)?;
        let mut found: Vec<_> = listed.try_collect().await.map_err(none)?;
        if found.is_empty() {
            return Err(PrepareError::invalid(op, format!("there must be a file at {path}, got none")));
        }
        found.sort_by(|a, b| a.location.cmp(&b.location));
        if url.scheme() == "file" {
            found.iter().try_for_each(|meta| regular(op, meta.location.as_ref()))?;
        }
        stamps.extend(found.iter().map(|meta| Stamp {
            place: format!("{}{}", url.object_store().as_str(), meta.location),
            bytes: meta.size,
            changed: meta.last_modified.to_rfc3339(),
            tag: meta.e_tag.clone(),
        }));
        objects.extend(found.into_iter().map(|meta| (store.clone(), meta)));
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
    Ok(Found { op, files, format, compression, local, stamps, objects })
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

    /// Files of one table that hold something, each with its place.
    pub(crate) fn filled(&self) -> impl Iterator<Item = (&str, &Arc<dyn ObjectStore>, &ObjectMeta)> {
        let all = self.stamps.iter().zip(&self.objects);
        all.filter(|(stamp, _)| stamp.bytes > 0).map(|(stamp, (store, meta))| (stamp.place.as_str(), store, meta))
    }

    pub(crate) fn wrong(&self, message: String) -> PrepareError {
        PrepareError::invalid(self.op, message)
    }
}

/// A table that a stage wrote.
pub(crate) async fn parquet(ctx: &SessionContext, op: &'static str, path: &std::path::Path) -> Result<DataFrame> {
    let paths = if path.is_dir() { format!("{}/", path.display()) } else { path.display().to_string() };
    ctx.read_parquet(paths, ParquetReadOptions::default()).await.map_err(PrepareError::query(op))
}
