//! Runs plans.

use crate::error::{PrepareError, Result};
use crate::memory::Shares;
use crate::options::{Options, Stage, When};
use crate::progress::Progress;
use crate::state::{clear, rename};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::error::DataFusionError;
use datafusion::execution::TaskContext;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::file::properties::{EnabledStatistics, WriterProperties};
use datafusion::physical_plan::{ExecutionPlan, execute_stream, execute_stream_partitioned};
use datafusion::prelude::{DataFrame, SessionConfig, SessionContext};
use futures::StreamExt;
use sparse_shards::sync_folder;
use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// How often progress is told.
const TICK: Duration = Duration::from_millis(200);

/// The share of the memory that operators are given: the rest is for what they do not count, such as batches on their
/// way and buffers of files.
const SHARE: f64 = 0.7;

/// The most sorts that a plan without an order has for each thread: two joins of two sides.
const SPOOLED: u64 = 4;

/// Where plans run, and who hears of it.
pub(crate) struct Engine<'a> {
    pub(crate) ctx: SessionContext,
    pub(crate) progress: &'a dyn Progress,
    pub(crate) options: &'a Options,
    pool: u64,
    shares: Arc<Shares>,
    /// Whether labels are joined through a table in memory.
    hash: AtomicBool,
}

impl<'a> Engine<'a> {
    /// Embedded, or on a cluster. What the memory of this process does not hold goes to `spill`.
    pub(crate) async fn new(options: &'a Options, spill: &Path, progress: &'a dyn Progress) -> Result<Self> {
        let pool = (options.memory as f64 * SHARE) as u64;
        let threads = options.threads;
        // A batch of many columns must fit what a sort gets.
        let batch = if options.memory < 512 << 20 { 2048 } else { 8192 };
        let config = SessionConfig::new()
            // One table of labels for all threads.
            .set_u64("datafusion.optimizer.hash_join_single_partition_threshold", u64::MAX >> 1)
            .set_u64("datafusion.optimizer.hash_join_single_partition_threshold_rows", u64::MAX >> 1);
        #[cfg(feature = "ballista")]
        let config = if options.scheduler.is_some() { crate::cluster::config() } else { config };
        let config = config
            .with_target_partitions(threads)
            .with_batch_size(batch)
            .set_bool("datafusion.execution.parquet.schema_force_view_types", false)
            .set_bool("datafusion.sql_parser.map_string_types_to_utf8view", false)
            // Every edge has both labels: such filters would find nothing.
            .set_bool("datafusion.optimizer.enable_dynamic_filter_pushdown", false);
        let shares = Arc::new(Shares::new(pool as usize));
        let runtime = RuntimeEnvBuilder::new()
            .with_memory_pool(shares.clone())
            .with_temp_file_path(spill)
            .with_max_temp_directory_size(u64::MAX >> 1)
            .build_arc()
            .map_err(PrepareError::query("arguments"))?;
        let ctx = SessionContext::new_with_config_rt(config, runtime);
        #[cfg(feature = "ballista")]
        let ctx = match &options.scheduler {
            None => ctx,
            Some(scheduler) => crate::cluster::connect(scheduler, &ctx).await?,
        };
        Ok(Self { ctx, progress, options, pool, shares, hash: AtomicBool::new(true) })
    }

    /// Chooses how labels are joined: through a table in memory if it fits, else by sorting both sides, on disk. The
    /// rows are the same.
    pub(crate) fn fit_joins(&self, nodes: u64, bytes: u64) {
        // Of each of two joins: ids, dense ids and a table of hashes, which has up to two places for an entry.
        let table = nodes.saturating_mul(85).saturating_add(bytes.saturating_mul(4));
        // Strings of one column must not exceed 2^31 bytes.
        self.hash.store(table < self.pool / 10 * 9 && bytes < 1 << 30, Ordering::Relaxed);
    }

    /// Joins by sorting from now on. Gives whether that is new.
    pub(crate) fn sort_joins(&self) -> bool {
        self.hash.swap(false, Ordering::Relaxed)
    }

    /// `sorts`: how many operators that spill a plan has at most, for each thread.
    async fn plan(
        &self,
        op: &'static str,
        frame: DataFrame,
        sorts: u64,
    ) -> Result<(Arc<dyn ExecutionPlan>, Arc<TaskContext>)> {
        // A frame has a copy of the settings of the time when it was made.
        let (mut state, plan) = frame.into_parts();
        let options = state.config_mut().options_mut();
        // A cluster chooses by its own memory.
        options.optimizer.prefer_hash_join = self.options.scheduler.is_none() && self.hash.load(Ordering::Relaxed);
        // What a sort holds back to merge what it spilled.
        let spilling = self.options.threads as u64 * sorts;
        let held = (self.pool / 8 / spilling).min(10 << 20);
        self.shares.expect(spilling as usize);
        options.execution.sort_spill_reservation_bytes = held as usize;
        let frame = DataFrame::new(state, plan);
        let context = Arc::new(frame.task_ctx());
        Ok((frame.create_physical_plan().await.map_err(PrepareError::query(op))?, context))
    }

    /// Runs a plan whose rows are wanted in order. `sorts`: how many
    /// operators that spill it has at most, for each thread.
    pub(crate) async fn rows(&self, op: &'static str, frame: DataFrame, sorts: u64) -> Result<Rows<'_>> {
        let (plan, context) = self.plan(op, frame, sorts).await?;
        let mut stream = execute_stream(plan.clone(), context).map_err(PrepareError::query(op))?;
        let (sender, receiver) = mpsc::channel(4);
        let mut tasks = JoinSet::new();
        // So the last merge works while the rows before it are written.
        tasks.spawn(async move {
            while let Some(batch) = stream.next().await {
                if sender.send(batch).await.is_err() {
                    return;
                }
            }
        });
        Ok(Rows { op, plan, receiver, tasks, progress: self.progress })
    }

    /// Runs a plan whose rows are wanted in any order, into a folder of Parquet files, one for each thread. `check`
    /// sees each batch. The folder is there when all is, also after a loss of power. Gives its rows.
    pub(crate) async fn spool(
        &self,
        stage: Stage,
        frame: DataFrame,
        folder: &Path,
        check: fn(&RecordBatch) -> Result<()>,
    ) -> Result<u64> {
        let op = stage.word();
        let (plan, context) = self.plan(op, frame, SPOOLED).await?;
        let partial = folder.with_extension("partial");
        clear(&partial)?;
        fs::create_dir_all(&partial).map_err(PrepareError::io(op, &partial))?;
        let streams = execute_stream_partitioned(plan.clone(), context).map_err(PrepareError::query(op))?;
        let (mut tasks, done) = (JoinSet::new(), Arc::new(AtomicU64::new(0)));
        for (k, mut stream) in streams.into_iter().enumerate() {
            let (path, done, options) = (partial.join(format!("{k:05}.parquet")), done.clone(), self.options.clone());
            tasks.spawn(async move {
                let mut table = Table::create(op, &path, stream.schema())?;
                while let Some(batch) = stream.next().await {
                    let batch = batch.map_err(PrepareError::query(op))?;
                    check(&batch)?;
                    table.write(&batch)?;
                    done.fetch_add(batch.num_rows() as u64, Ordering::Relaxed);
                    options.point(stage, When::Middle);
                }
                table.finish()
            });
        }
        while !tasks.is_empty() {
            let ended = match tokio::time::timeout(TICK, tasks.join_next()).await {
                Ok(Some(Ok(result))) => result,
                Ok(Some(Err(error))) => Err(PrepareError::invalid(op, format!("a thread ended: {error}"))),
                Ok(None) | Err(_) => Ok(()),
            };
            if let Err(error) = ended {
                // The caller may write to the same folder next.
                tasks.shutdown().await;
                return Err(error);
            }
            self.progress.read(read(plan.as_ref()));
            self.progress.written(done.load(Ordering::Relaxed));
        }
        self.progress.spilled(spilled(plan.as_ref()));
        sync_folder(&partial)?;
        rename(op, &partial, folder)?;
        Ok(done.load(Ordering::Relaxed))
    }
}

/// Rows that come from a plan.
pub(crate) struct Rows<'a> {
    op: &'static str,
    plan: Arc<dyn ExecutionPlan>,
    receiver: mpsc::Receiver<Result<RecordBatch, DataFusionError>>,
    tasks: JoinSet<()>,
    progress: &'a dyn Progress,
}

impl Rows<'_> {
    pub(crate) async fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            match tokio::time::timeout(TICK, self.receiver.recv()).await {
                Ok(Some(batch)) => return Ok(Some(batch.map_err(PrepareError::query(self.op))?)),
                Ok(None) => break,
                Err(_) => self.progress.read(read(self.plan.as_ref())),
            }
        }
        self.progress.read(read(self.plan.as_ref()));
        self.progress.spilled(spilled(self.plan.as_ref()));
        match self.tasks.join_next().await {
            // The sender went because its task panicked: what came is not all.
            Some(Err(error)) => Err(PrepareError::invalid(self.op, format!("a thread ended: {error}"))),
            _ => Ok(None),
        }
    }
}

/// Rows that the leaves of a plan have given so far.
fn read(plan: &dyn ExecutionPlan) -> u64 {
    let children = plan.children();
    if children.is_empty() {
        return plan.metrics().and_then(|own| own.output_rows()).unwrap_or(0) as u64;
    }
    children.iter().map(|child| read(child.as_ref())).sum()
}

/// Bytes that a plan brought to the disk.
fn spilled(plan: &dyn ExecutionPlan) -> u64 {
    let own = plan.metrics().and_then(|own| own.spilled_bytes()).unwrap_or(0) as u64;
    own + plan.children().iter().map(|child| spilled(child.as_ref())).sum::<u64>()
}

/// A Parquet file that is read back soon: plain, and not compressed.
pub(crate) struct Table {
    op: &'static str,
    path: std::path::PathBuf,
    writer: ArrowWriter<File>,
}

impl Table {
    pub(crate) fn create(op: &'static str, path: &Path, schema: SchemaRef) -> Result<Self> {
        let file = File::create(path).map_err(PrepareError::io(op, path))?;
        let properties = WriterProperties::builder()
            .set_dictionary_enabled(false)
            .set_statistics_enabled(EnabledStatistics::None)
            .set_max_row_group_row_count(Some(1 << 19))
            .build();
        let writer = ArrowWriter::try_new(file, schema, Some(properties)).map_err(PrepareError::parquet(op, path))?;
        Ok(Self { op, path: path.to_path_buf(), writer })
    }

    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.writer.write(batch).map_err(PrepareError::parquet(self.op, &self.path))
    }

    pub(crate) fn finish(self) -> Result<()> {
        let file = self.writer.into_inner().map_err(PrepareError::parquet(self.op, &self.path))?;
        file.sync_all().map_err(PrepareError::io(self.op, &self.path))
    }
}
