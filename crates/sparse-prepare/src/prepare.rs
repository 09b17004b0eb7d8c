//! All stages, in order.

use crate::columns;
use crate::engine::Engine;
use crate::error::{PrepareError, Result};
use crate::input::{self, Found};
#[cfg(feature = "metis")]
use crate::options::By;
use crate::options::{MOST_PARTS, Options, SelfLoops, Stage, When};
use crate::plan;
use crate::progress::Progress;
use crate::stages;
use crate::state::{self, State, clear};
use datafusion::prelude::DataFrame;
use serde::{Deserialize, Serialize};
use sparse_shards::{About, Dtype, Features, Kind, Manifest, Part, remove_manifest, sync_folder};
use std::fs::{self, File, TryLockError};
use std::io;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread;
use tokio::runtime::Handle;
use twox_hash::XxHash3_64;

/// Beside the manifest: what it was made of.
const MADE: &str = "prepare.json";
/// The version of what stages write: another one starts again.
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Made {
    digest: String,
}

/// Prepares a graph: reads edges and features, and writes a folder of shards. The manifest comes last.
///
/// A run that ended early, by an error or because it was killed, leaves its intermediate results. With `resume` the
/// same arguments over the same files (by names, lengths and times of change) go on with the first stage that is not
/// finished. Without it all starts again.
///
/// What is written depends on the arguments and the content of the files alone: not on memory, threads, the order of
/// rows or files, or on whether it was resumed.
///
/// It returns when all is done. Inside an asynchronous runtime the thread that calls it waits, and does nothing else:
/// there `tokio::task::spawn_blocking` is the place to call it.
///
/// Cost: each edge is read, written and sorted on disk about twice; see the README of the crate for measured times.
///
/// # Errors
///
/// [`PrepareError`]: arguments; files that cannot be read or hold what they should not (ids that are null, weights or
/// features that are not finite, nodes with no row of features or with several); files that change while they are read;
/// other arguments or files than those of the run that is resumed; a disk that is full; a scheduler that does not run
/// plans. Then there is no manifest, so nothing is read as whole.
///
/// ```
/// use sparse_prepare::{Files, Options, Silent, prepare};
/// use sparse_shards::{Ids, Kind};
///
/// let folder = std::env::temp_dir().join(format!("sparse-prepare-doc-{}", std::process::id()));
/// std::fs::create_dir_all(&folder).unwrap();
/// let edges = folder.join("edges.csv");
/// std::fs::write(&edges, "from,to\nbob,eve\nann,bob\nbob,eve\n").unwrap();
///
/// let mut options = Options::new(Files::new([edges.to_str().unwrap()]), folder.join("graph"));
/// options.symmetrize = true;
/// let manifest = prepare(&options, &Silent).unwrap();
/// assert_eq!((manifest.nodes, manifest.edges), (3, 4));
/// assert_eq!(manifest.ids(0).unwrap(), Ids::Text(vec!["ann".into(), "bob".into(), "eve".into()]));
/// assert!(manifest.path(0, Kind::ColIdx).unwrap().exists());
/// # std::fs::remove_dir_all(folder).unwrap();
/// ```
pub fn prepare(options: &Options, progress: &dyn Progress) -> Result<Manifest> {
    options.check()?;
    let out = &options.out;
    fs::create_dir_all(out).map_err(PrepareError::io("arguments", out))?;
    let mut options = options.clone();
    options.out = fs::canonicalize(out).map_err(PrepareError::io("arguments", out))?;
    let (options, out) = (&options, &options.out);
    let work = &folder(options, out)?;
    // The folder itself, where a folder can be opened: nothing is left of it.
    let lock = if cfg!(unix) { out.clone() } else { work.with_extension("lock") };
    let file = if cfg!(unix) { File::open(&lock) } else { File::create(&lock) };
    let file = file.map_err(PrepareError::io("arguments", &lock))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let message = format!("one run at a time must write {}, got another one", out.display());
            return Err(PrepareError::invalid("arguments", message));
        }
        Err(TryLockError::Error(error)) => return Err(PrepareError::io("arguments", &lock)(error)),
    }
    let all = || {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(options.threads).enable_all().build();
        let runtime = runtime.map_err(PrepareError::io("arguments", out))?;
        let manifest = runtime.block_on(run(options, work, progress));
        // What still runs may spill: it ends first.
        drop(runtime);
        manifest
    };
    // A thread of another runtime must not begin one: then it waits for a thread of its own.
    let manifest = match Handle::try_current() {
        Err(_) => all(),
        Ok(_) => thread::scope(|scope| scope.spawn(all).join()).unwrap_or_else(|panic| resume_unwind(panic)),
    };
    let cleared = clear(&work.with_extension("spill"));
    // What went wrong first is what is told.
    let manifest = manifest?;
    cleared.map(|()| manifest)
}

/// Where intermediate results go: in `temp`, by the folder that is written.
fn folder(options: &Options, out: &Path) -> Result<PathBuf> {
    match &options.temp {
        None => Ok(out.join("prepare.work")),
        Some(temp) => {
            fs::create_dir_all(temp).map_err(PrepareError::io("arguments", temp))?;
            let digest = digest(out.as_os_str().as_encoded_bytes());
            Ok(temp.join(format!("sparse-prepare-{digest}.work")))
        }
    }
}

fn digest(bytes: &[u8]) -> String {
    format!("{:016x}", XxHash3_64::oneshot(bytes))
}

async fn run(options: &Options, work: &Path, progress: &dyn Progress) -> Result<Manifest> {
    let out = &options.out;
    // Beside `work`, which may start again. What is there, a run that was killed spilled.
    let spill = work.with_extension("spill");
    clear(&spill)?;
    fs::create_dir_all(&spill).map_err(PrepareError::io("arguments", &spill))?;
    let engine = &Engine::new(options, &spill, progress).await?;
    let edges = input::find(&engine.ctx, "edges", &options.edges).await?;
    let features = match &options.features {
        None => None,
        Some(table) => Some(input::find(&engine.ctx, "features", &table.files).await?),
    };
    let stamps = (&edges.stamps, features.as_ref().map(|found| &found.stamps));
    let text = serde_json::to_vec(&(VERSION, options, stamps));
    let own = digest(&text.map_err(|error| PrepareError::invalid("arguments", error.to_string()))?);

    if let Some(manifest) = finished(options, out, &own)? {
        State::forget(out)?;
        clear(work)?;
        return Ok(manifest);
    }
    // What nobody goes on with need not be readable.
    let state = if options.resume { State::load(out)? } else { None };
    let state = match state {
        Some(state) => {
            if state.digest != own {
                let rule = "must have the arguments and files of the run that it goes on with, got others";
                let message = format!("{rule} (without --resume all starts again)");
                return Err(PrepareError::invalid("resume", message));
            }
            if state.work != work {
                let rule = "--temp must be that of the run that it goes on with, with results in";
                let message = format!("{rule} {}, got {}", state.work.display(), work.display());
                return Err(PrepareError::invalid("resume", message));
            }
            state.check_rest()?;
            state
        }
        None => {
            State::forget(out)?;
            clear(work)?;
            remove_parts(out)?;
            fs::create_dir_all(work).map_err(PrepareError::io("arguments", work))?;
            sync_folder(work.parent().unwrap_or(work))?;
            State::new(own.clone(), work.to_path_buf())
        }
    };
    let manifest = Run { engine, work, state, edges: &edges, features: features.as_ref() }.all().await?;
    input::unchanged(&edges, features.as_ref()).await?;
    state::write(&out.join(MADE), format!("{{\"digest\": \"{own}\"}}\n").as_bytes())?;
    options.point(Stage::Manifest, When::Middle);
    manifest.write(out)?;
    options.point(Stage::Manifest, When::End);
    State::forget(out)?;
    clear(work)?;
    Ok(Manifest::open(out)?)
}

/// The graph of a folder that was prepared of the same before, if it is resumed. If it is another one, it must be
/// allowed to be replaced.
fn finished(options: &Options, out: &Path, own: &str) -> Result<Option<Manifest>> {
    if !out.join(sparse_shards::MANIFEST).exists() {
        return Ok(None);
    }
    let made = sparse_disk::read(out.join(MADE)).ok().and_then(|text| serde_json::from_slice::<Made>(&text).ok());
    if options.resume && made.is_some_and(|made| made.digest == own) {
        return Ok(Some(Manifest::open(out)?));
    }
    if !options.overwrite {
        let message = format!("must hold no other graph (--overwrite replaces it), got one in {}", out.display());
        return Err(PrepareError::invalid("--out", message));
    }
    // Before anything else changes.
    remove_manifest(out)?;
    Ok(None)
}

/// Removes the files of an older graph, and nothing that is no such file.
fn remove_parts(out: &Path) -> Result<()> {
    let kinds = [Kind::RowPtr, Kind::ColIdx, Kind::Values, Kind::Features, Kind::Ids, Kind::IdOffsets, Kind::IdBytes];
    for part in 0..MOST_PARTS {
        let first = out.join(Kind::RowPtr.file(part));
        let Some(folder) = first.parent().filter(|folder| folder.is_dir()) else { continue };
        for kind in kinds {
            let path = out.join(kind.file(part));
            for path in [path.with_extension("npy.0.partial"), path] {
                match fs::remove_file(&path) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => {
                        return Err(PrepareError::io("arguments", &path)(error));
                    }
                    _ => {}
                }
            }
        }
        // It stays if something else is in it.
        let _ = fs::remove_dir(folder);
    }
    Ok(())
}

struct Run<'a> {
    engine: &'a Engine<'a>,
    work: &'a Path,
    state: State,
    edges: &'a Found,
    features: Option<&'a Found>,
}

impl Run<'_> {
    /// All stages but the manifest, which it gives.
    async fn all(mut self) -> Result<Manifest> {
        let engine = self.engine;
        let options = engine.options;
        let query = PrepareError::query;
        let [imported, sorted, labels, relabelled] =
            [Stage::Import, Stage::Ids, Stage::Nodes, Stage::Relabel].map(|stage| self.state.path(stage));
        let loops = options.self_loops == SelfLoops::Keep;

        let cheap = self.edges.cheap();
        if !cheap && self.begin(Stage::Import, self.state.import)? {
            let (edges, kind) = columns::edges(&engine.ctx, self.edges, options).await?;
            clear(&imported)?;
            let rows = engine.spool(Stage::Import, edges, &imported, |_| Ok(())).await?;
            self.state.record(Stage::Import, rows)?;
            self.state.kind = kind;
            self.state.import = true;
            self.end(Stage::Import).await?;
        }
        let edges = if self.state.relabel {
            None
        } else if cheap {
            let (edges, kind) = columns::edges(&engine.ctx, self.edges, options).await?;
            self.state.kind = kind;
            Some(edges)
        } else {
            Some(input::parquet(&engine.ctx, "import", &imported).await?)
        };
        let kind = self.state.kind;
        let table = match (self.features, &options.features) {
            (Some(found), Some(table)) => Some(columns::features(&engine.ctx, found, table, kind).await?),
            _ => None,
        };

        if self.begin(Stage::Ids, self.state.ids.is_some())? {
            let rows = table.as_ref().map(|(frame, _)| frame.clone());
            let ids = plan::ids(due(edges.clone(), Stage::Import)?, rows).map_err(query("ids"))?;
            let found = stages::ids::run(engine, ids, kind, &sorted).await?;
            self.state.record(Stage::Ids, found.nodes)?;
            self.state.ids = Some(found);
            self.end(Stage::Ids).await?;
        }
        let found = due(self.state.ids.clone(), Stage::Ids)?;
        engine.fit_joins(found.nodes, found.bytes);

        let assigned = self.parts(&edges, &found, [&sorted, &labels]).await?;
        if self.begin(Stage::Nodes, self.state.nodes.is_some())? {
            self.state.nodes = Some(stages::nodes::run(engine, &found, kind, [&sorted, &labels], assigned.as_deref())?);
            self.state.record(Stage::Nodes, found.nodes)?;
            self.end(Stage::Nodes).await?;
        }
        let parts = due(self.state.nodes.clone(), Stage::Nodes)?;
        let nodes = input::parquet(&engine.ctx, "nodes", &labels).await?;

        if self.begin(Stage::Relabel, self.state.relabel)? {
            let edges = due(edges, Stage::Import)?;
            let rows = loop {
                let frame = plan::relabel(edges.clone(), nodes.clone(), found.nodes, loops);
                clear(&relabelled)?;
                let frame = frame.map_err(query("relabel"))?;
                match engine.spool(Stage::Relabel, frame, &relabelled, stages::edges::check).await {
                    // The table did not fit after all.
                    Err(PrepareError::Memory { .. }) if engine.sort_joins() => {}
                    other => break other?,
                }
            };
            self.state.record(Stage::Relabel, rows)?;
            self.state.relabel = true;
            self.end(Stage::Relabel).await?;
        }
        // What is not needed again need not take its place on the disk.
        clear(&imported)?;

        if self.begin(Stage::Edges, self.state.edges.is_some())? {
            let edges = input::parquet(&engine.ctx, "edges", &relabelled).await?;
            let frame = plan::ordered(edges, found.nodes, options.symmetrize).map_err(query("edges"))?;
            self.state.edges = Some(stages::edges::run(engine, frame, &parts).await?);
            self.end(Stage::Edges).await?;
        }
        clear(&relabelled)?;
        let graphs = due(self.state.edges.clone(), Stage::Edges)?;

        if let Some((table, names)) = table
            && self.begin(Stage::Features, self.state.features.is_some())?
        {
            let files = loop {
                let frame = plan::features(table.clone(), nodes.clone(), names.len()).map_err(query("features"))?;
                match stages::features::run(engine, frame, &names, kind, &parts, &labels).await {
                    Err(PrepareError::Memory { .. }) if engine.sort_joins() => {}
                    other => break other?,
                }
            };
            self.state.features = Some((names, files));
            self.end(Stage::Features).await?;
        }

        self.begin(Stage::Manifest, false)?;
        let features = self.state.features.clone();
        let columns = features.as_ref().map(|(names, _)| names.clone());
        let about = About {
            symmetric: options.symmetrize,
            weights: options.values(),
            col_idx: Dtype::of_ids(found.nodes),
            ids: kind,
            features: columns.map(|columns| Features { dtype: Dtype::F32, width: columns.len() as u64, columns }),
            by: options.by.word().into(),
        };
        let mut rows = features.into_iter().flat_map(|(_, files)| files);
        let whole = |(own, graph): (state::Owned, state::Graph)| {
            let files = own.files.into_iter().chain(graph.files).chain(rows.next()).collect();
            Part { nodes: own.nodes, edges: graph.edges, files }
        };
        Ok(Manifest::new(about, parts.into_iter().zip(graphs).map(whole).collect()))
    }

    /// The part of each node by position, if METIS finds them.
    #[cfg(feature = "metis")]
    async fn parts(
        &mut self,
        edges: &Option<DataFrame>,
        found: &state::Found,
        [sorted, labels]: [&Path; 2],
    ) -> Result<Option<Vec<u8>>> {
        const OP: &str = "parts";
        let engine = self.engine;
        let path = self.work.join("parts.bin");
        if engine.options.by != By::Metis || self.state.nodes.is_some() {
            return Ok(None);
        }
        if self.begin(Stage::Parts, self.state.parts)? {
            let edges = due(edges.clone(), Stage::Import)?;
            stages::parts::positions([sorted, labels])?;
            let labels = input::parquet(&engine.ctx, OP, labels).await?;
            let edges = plan::relabel(edges, labels, found.nodes, false);
            let edges = edges.and_then(|edges| plan::ordered(edges, found.nodes, true));
            let parts = stages::parts::run(engine, edges.map_err(PrepareError::query(OP))?, found).await?;
            state::write(&path, &parts)?;
            self.state.parts = true;
            self.end(Stage::Parts).await?;
        }
        let parts = sparse_disk::read(&path).map_err(|error| {
            let rule = "must be as it was written: start again without --resume";
            PrepareError::invalid(OP, format!("{} {rule}, got: {error}", path.display()))
        })?;
        let is_part = |&part: &u8| usize::from(part) < engine.options.parts;
        if parts.len() as u64 != found.nodes || !parts.iter().all(is_part) {
            let message = format!("{} must have a part for each of {} nodes, got others", path.display(), found.nodes);
            return Err(PrepareError::invalid(OP, message));
        }
        Ok(Some(parts))
    }

    #[cfg(not(feature = "metis"))]
    async fn parts(&mut self, _: &Option<DataFrame>, _: &state::Found, _: [&Path; 2]) -> Result<Option<Vec<u8>>> {
        Ok(None)
    }

    /// Whether a stage is to be done.
    fn begin(&self, stage: Stage, done: bool) -> Result<bool> {
        self.engine.progress.stage(stage, done);
        if !done {
            self.engine.options.point(stage, When::Begin);
        }
        Ok(!done)
    }

    /// Records what is finished. What is recorded was read of the files that were found, so a run may go on with it.
    async fn end(&self, stage: Stage) -> Result<()> {
        input::unchanged(self.edges, self.features).await?;
        self.state.check(stage)?;
        let out = &self.engine.options.out;
        // The names of what the state vouches for, before the state.
        sync_folder(self.work)?;
        sync_folder(out)?;
        self.engine.options.point(stage, When::End);
        self.state.save(out)
    }
}

fn due<T>(found: Option<T>, stage: Stage) -> Result<T> {
    found.ok_or_else(|| {
        PrepareError::invalid("resume", format!("the stage {} must be finished, got none", stage.word()))
    })
}
