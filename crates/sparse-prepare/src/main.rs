//! The command line of [`sparse_prepare`].

#![forbid(unsafe_code)]

use clap::{Args, Parser, Subcommand};
use indicatif::{HumanBytes, HumanCount, HumanDuration, ProgressBar, ProgressStyle};
use sparse_prepare::{
    By, Duplicates, FeatureTable, Files, Format, IdType, Missing, Options, Progress, SelfLoops, Stage, When, bytes,
    generate, prepare,
};
use sparse_shards::Manifest;
use std::error::Error;
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Makes a graph of CSV or Parquet files ready for training: dense ids, sorted, without duplicates, cut into parts.
#[derive(Parser)]
#[command(
    version,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    arg_required_else_help = true
)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    prepare: Option<Prepare>,
}

#[derive(Subcommand)]
enum Command {
    /// Reads a folder that was prepared, and checks every checksum and the order of all edges.
    Verify {
        /// The folder.
        folder: PathBuf,
        /// No progress.
        #[arg(long)]
        quiet: bool,
    },
    /// Writes a graph to measure with, as CSV: ids are random integers, degrees follow a power law.
    Generate {
        /// The file.
        out: PathBuf,
        /// Lines.
        #[arg(long, default_value_t = 1_000_000)]
        edges: u64,
        /// The most nodes.
        #[arg(long, default_value_t = 100_000)]
        nodes: u64,
        /// Another one gives another graph.
        #[arg(long, default_value_t = 0)]
        seed: u64,
    },
}

#[derive(Args)]
struct Prepare {
    /// Files of edges: paths, folders, patterns such as 'edges-*.csv', URLs.
    #[arg(required = true)]
    edges: Vec<String>,
    /// The folder to write.
    #[arg(long)]
    out: PathBuf,
    /// Column of the nodes that edges leave: a name, or a position from 0 on.
    #[arg(long, default_value = "0")]
    src: String,
    /// Column of the nodes that edges enter.
    #[arg(long, default_value = "1")]
    dst: String,
    /// Column of weights. Without it edges have none.
    #[arg(long)]
    weight: Option<String>,
    /// What ids are: auto, int, text.
    #[arg(long, default_value = "auto")]
    ids: IdType,
    /// Format of all files: auto (by the name), csv, parquet.
    #[arg(long, default_value = "auto")]
    format: Format,
    /// Between columns of text: one character, or `tab`. A comma, if it is not given; a tab in `.tsv`.
    #[arg(long)]
    delimiter: Option<String>,
    /// Text has no line of names.
    #[arg(long)]
    no_header: bool,
    /// Lines that begin with this character are left out.
    #[arg(long)]
    comment: Option<char>,
    /// Files of features: a column of ids, and numbers.
    #[arg(long)]
    features: Vec<String>,
    /// Their column of ids.
    #[arg(long, default_value = "0")]
    feature_id: String,
    /// Their columns, in order; all others, if it is not given.
    #[arg(long, value_delimiter = ',')]
    feature_columns: Vec<String>,
    /// A node that the features do not have: error, zero.
    #[arg(long, default_value = "error")]
    missing: Missing,
    /// Each edge in both directions.
    #[arg(long)]
    symmetrize: bool,
    /// Edges that are there more than once: one (of the greatest weight), sum (of weights; without them, the number).
    #[arg(long, default_value = "one")]
    duplicates: Duplicates,
    /// Edges from a node to itself: keep, drop.
    #[arg(long, default_value = "keep")]
    self_loops: SelfLoops,
    /// Number of parts.
    #[arg(long, default_value_t = 1)]
    parts: usize,
    /// How nodes are cut into parts: hash, range, metis.
    #[arg(long, default_value = "range")]
    by: By,
    /// Memory to stay within, such as 4GiB.
    #[arg(long, default_value = "4GiB", value_parser = bytes)]
    memory: u64,
    /// Folder of intermediate results; in the folder that is written, if it is not given.
    #[arg(long)]
    temp: Option<PathBuf>,
    /// Threads; all, if it is not given.
    #[arg(long)]
    threads: Option<usize>,
    /// The scheduler of a Ballista cluster that runs the plans: df://host:port.
    #[arg(long)]
    scheduler: Option<String>,
    /// Go on with a run of the same arguments and files that ended early.
    #[arg(long)]
    resume: bool,
    /// Replace a graph that is there.
    #[arg(long)]
    overwrite: bool,
    /// No progress.
    #[arg(long)]
    quiet: bool,
    /// Ends the process at a moment, for tests: `edges:middle`.
    #[arg(long, hide = true, value_parser = moment)]
    abort_at: Option<(Stage, When)>,
}

fn moment(text: &str) -> Result<(Stage, When), String> {
    let (stage, when) = text.split_once(':').ok_or_else(|| format!("must be stage:when, got {text}"))?;
    Ok((stage.parse()?, when.parse()?))
}

fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        _ if text == "tab" || text == "\\t" => Ok(b'\t'),
        [one] => Ok(*one),
        _ => Err(format!("--delimiter: must be one character of ASCII, or tab, got {text:?}")),
    }
}

impl Prepare {
    fn options(self) -> Result<(Options, bool), String> {
        let mark = |c: char| u8::try_from(c).map_err(|_| format!("--comment: must be a character of ASCII, got {c}"));
        let (delimiter, comment) =
            (self.delimiter.as_deref().map(delimiter).transpose()?, self.comment.map(mark).transpose()?);
        let files = |paths| Files { paths, format: self.format, delimiter, header: !self.no_header, comment };
        let features = (!self.features.is_empty()).then(|| FeatureTable {
            files: files(self.features.clone()),
            id: self.feature_id,
            columns: self.feature_columns,
            missing: self.missing,
        });
        let mut options = Options::new(files(self.edges), self.out);
        options.threads = self.threads.unwrap_or(options.threads);
        let options = Options {
            src: self.src,
            dst: self.dst,
            weight: self.weight,
            ids: self.ids,
            features,
            symmetrize: self.symmetrize,
            duplicates: self.duplicates,
            self_loops: self.self_loops,
            parts: self.parts,
            by: self.by,
            temp: self.temp,
            memory: self.memory,
            scheduler: self.scheduler,
            resume: self.resume,
            overwrite: self.overwrite,
            abort_at: self.abort_at,
            ..options
        };
        Ok((options, self.quiet))
    }
}

/// A line for each stage; on a terminal it moves while the stage works.
struct Bars {
    quiet: bool,
    now: Mutex<Option<Now>>,
}

struct Now {
    bar: ProgressBar,
    stage: Stage,
    start: Instant,
    read: u64,
    written: u64,
    spilled: u64,
}

impl Now {
    fn show(&self) {
        self.bar.set_message(format!("{:>14} read {:>14} written", count(self.read), count(self.written)));
    }
}

fn count(rows: u64) -> String {
    HumanCount(rows).to_string()
}

impl Bars {
    fn new(quiet: bool) -> Self {
        Self { quiet, now: Mutex::new(None) }
    }

    fn with(&self, f: impl FnOnce(&mut Option<Now>)) {
        if !self.quiet
            && let Ok(mut now) = self.now.lock()
        {
            f(&mut now);
        }
    }

    fn end(&self) {
        self.with(|now| {
            let Some(now) = now.take() else { return };
            now.bar.finish_and_clear();
            let time = format!("{:.1} s", now.start.elapsed().as_secs_f64());
            let (read, written, spilled) = (count(now.read), count(now.written), HumanBytes(now.spilled));
            eprintln!("{:<9} {read:>14} read {written:>14} written {time:>10} {spilled:>12} spilled", now.stage.word());
        });
    }
}

impl Progress for Bars {
    fn stage(&self, stage: Stage, resumed: bool) {
        self.end();
        self.with(|now| {
            if resumed {
                eprintln!("{:<9} finished by an earlier run", stage.word());
            } else if stage != Stage::Manifest {
                let bar = if io::stderr().is_terminal() { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
                bar.set_style(style("{spinner} {prefix:<9} {msg} {elapsed:>6}"));
                bar.set_prefix(stage.word());
                bar.enable_steady_tick(Duration::from_millis(100));
                *now = Some(Now { bar, stage, start: Instant::now(), read: 0, written: 0, spilled: 0 });
            }
        });
    }

    fn read(&self, rows: u64) {
        self.with(|now| {
            if let Some(now) = now {
                now.read = rows;
                now.show();
            }
        });
    }

    fn spilled(&self, bytes: u64) {
        self.with(|now| {
            if let Some(now) = now {
                now.spilled = bytes;
            }
        });
    }

    fn written(&self, rows: u64) {
        self.with(|now| {
            if let Some(now) = now {
                now.written = rows;
                now.show();
            }
        });
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner())
}

fn run(cli: Cli) -> Result<(), Box<dyn Error>> {
    match (cli.command, cli.prepare) {
        (Some(Command::Verify { folder, quiet }), _) => {
            let manifest = Manifest::open(&folder)?;
            let bar = if quiet { ProgressBar::hidden() } else { ProgressBar::new(manifest.bytes()) };
            bar.set_style(style("{bar:40} {bytes}/{total_bytes} {bytes_per_sec}"));
            manifest.verify_with(&mut |some| bar.inc(some))?;
            bar.finish_and_clear();
            say(&manifest)?;
        }
        (Some(Command::Generate { out, edges, nodes, seed }), _) => {
            let mut file = BufWriter::with_capacity(1 << 20, File::create(out)?);
            generate(&mut file, edges, nodes, seed)?;
            file.flush()?;
        }
        (None, Some(prepare)) => {
            let start = Instant::now();
            let (options, quiet) = prepare.options()?;
            let bars = Bars::new(quiet);
            let manifest = self::prepare(&options, &bars)?;
            bars.end();
            if !quiet {
                say(&manifest)?;
                eprintln!("in {}", HumanDuration(start.elapsed()));
            }
        }
        (None, None) => return Err("arguments: there must be files of edges, got none".into()),
    }
    Ok(())
}

fn say(manifest: &Manifest) -> io::Result<()> {
    let (nodes, edges, parts) = (count(manifest.nodes), count(manifest.edges), manifest.parts.len());
    let features = manifest.about.features.as_ref().map_or(0, |own| own.width);
    writeln!(io::stdout(), "{nodes} nodes, {edges} edges, {parts} parts, {features} features")
}

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("sparse-prepare: {error}");
            ExitCode::FAILURE
        }
    }
}
