//! What is asked for.

use crate::error::{PrepareError, Result};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::str::FromStr;

/// The most parts that are written: all of them are open at once.
pub const MOST_PARTS: usize = 256;
/// The least memory that is taken.
pub const LEAST_MEMORY: u64 = 16 << 20;

macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal),* $(,)? }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "lowercase")]
        pub enum $name { $($(#[$doc])* $variant),* }

        impl $name {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Its word on the command line.
            pub fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),* }
            }
        }

        impl FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                let words: Vec<_> = Self::ALL.iter().map(|own| own.word()).collect();
                let found = Self::ALL.iter().copied().find(|own| own.word() == text);
                found.ok_or_else(|| format!("must be one of {}, got {text}", words.join(", ")))
            }
        }
    };
}

words! {
    /// How nodes are cut into parts.
    By {
        /// By XXH3 of 64 bits of the original id: the eight bytes of an integer, little-endian, or the UTF-8 of a
        /// string. The part is `hash * parts / 2^64`.
        Hash = "hash",
        /// By position among all ids, in ascending order: part p begins at node `p * nodes / parts`.
        Range = "range",
        /// By METIS, which cuts few edges: k-way, over the graph without directions and weights. Needs the feature
        /// `metis`, and memory for the whole graph, several times.
        Metis = "metis",
    }
}

words! {
    /// What becomes of edges that are there more than once.
    Duplicates {
        /// One is kept; of those with weights, the one of the greatest weight.
        One = "one",
        /// Their weights are added, in f64, from the least to the greatest. Without weights each counts 1.
        Sum = "sum",
    }
}

words! {
    /// What becomes of an edge from a node to itself.
    SelfLoops {
        /// It is kept.
        Keep = "keep",
        /// It is dropped; its node stays.
        Drop = "drop",
    }
}

words! {
    /// What ids are.
    IdType {
        /// What the files say: the types of Parquet files, or the first 1000 rows of each CSV file. Strings in one file
        /// make all ids strings.
        Auto = "auto",
        /// Integers of 64 bits.
        Int = "int",
        /// Strings.
        Text = "text",
    }
}

words! {
    /// The format of input files.
    Format {
        /// By the ends of their names: `.parquet` and `.pq`, else CSV.
        Auto = "auto",
        /// Text in columns.
        Csv = "csv",
        /// Apache Parquet.
        Parquet = "parquet",
    }
}

words! {
    /// What becomes of a node that the table of features does not have.
    Missing {
        /// It is an error.
        Error = "error",
        /// Its features are zeros.
        Zero = "zero",
    }
}

words! {
    /// The stages, in order. A run that was killed goes on with the first that is not finished.
    Stage {
        /// Edges as they are, in Parquet: left out if they are already, in files of this machine.
        Import = "import",
        /// All original ids, ascending.
        Ids = "ids",
        /// Parts that METIS finds, if it is asked to.
        Parts = "parts",
        /// Which part owns each, and with which dense id.
        Nodes = "nodes",
        /// Edges with dense ids.
        Relabel = "relabel",
        /// Edges in order, without duplicates: the graph of each part.
        Edges = "edges",
        /// The features of each part.
        Features = "features",
        /// The manifest.
        Manifest = "manifest",
    }
}

words! {
    /// A moment of a stage.
    When {
        /// Before it does anything.
        Begin = "begin",
        /// While it writes.
        Middle = "middle",
        /// When all is written, before the stage is recorded.
        End = "end",
    }
}

/// Files of a table, and how to read them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Files {
    /// Paths, folders, patterns such as `edges-*.csv`, URLs.
    pub paths: Vec<String>,
    /// Their format.
    pub format: Format,
    /// Between columns of text. `None`: a comma, or a tab where a name ends with `.tsv`.
    pub delimiter: Option<u8>,
    /// Whether text begins with the names of the columns. Without them they are `column_1`, `column_2`, ..
    pub header: bool,
    /// Lines of text that begin so are left out.
    pub comment: Option<u8>,
}

impl Files {
    /// CSV or Parquet by the names, with a header.
    pub fn new(paths: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let paths = paths.into_iter().map(Into::into).collect();
        Self { paths, format: Format::Auto, delimiter: None, header: true, comment: None }
    }
}

/// A table of features: a column of ids, and numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FeatureTable {
    /// Its files.
    pub files: Files,
    /// The column of ids: a name, or a position from 0 on.
    pub id: String,
    /// The columns of features, in this order. Empty: all but that of ids.
    pub columns: Vec<String>,
    /// What becomes of a node without a row.
    pub missing: Missing,
}

/// What is asked for. Everything but the fields after `out` decides what is written, and enters the digest by which a
/// run is resumed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Options {
    /// The edges.
    pub edges: Files,
    /// Column of the nodes that edges leave: a name, or a position from 0 on.
    pub src: String,
    /// Column of the nodes that they enter.
    pub dst: String,
    /// Column of the weights.
    pub weight: Option<String>,
    /// What ids are.
    pub ids: IdType,
    /// The features.
    pub features: Option<FeatureTable>,
    /// Whether each edge is written in both directions.
    pub symmetrize: bool,
    /// What becomes of edges that are there more than once.
    pub duplicates: Duplicates,
    /// What becomes of edges from a node to itself.
    pub self_loops: SelfLoops,
    /// Number of parts.
    pub parts: usize,
    /// How nodes are cut into parts.
    pub by: By,
    /// The folder that is written.
    #[serde(skip)]
    pub out: PathBuf,
    /// Where intermediate results and what memory does not hold go. `None`: into `out`.
    #[serde(skip)]
    pub temp: Option<PathBuf>,
    /// Bytes of memory that the process should stay within.
    #[serde(skip)]
    pub memory: u64,
    /// Threads.
    #[serde(skip)]
    pub threads: usize,
    /// The scheduler of a Ballista cluster that runs the plans: `df://host:port`. `None`: this process runs them. Needs
    /// the feature `ballista`. The whole cluster must see the inputs and `temp` (`out`, if that is `None`) at the same
    /// absolute paths.
    #[serde(skip)]
    pub scheduler: Option<String>,
    /// Whether a run of the same arguments and inputs goes on. Otherwise all starts again.
    #[serde(skip)]
    pub resume: bool,
    /// Whether a prepared graph in `out` is replaced. Otherwise it is an error.
    #[serde(skip)]
    pub overwrite: bool,
    /// Ends the process there, for tests.
    #[doc(hidden)]
    #[serde(skip)]
    pub abort_at: Option<(Stage, When)>,
}

impl Options {
    /// One part, directed, in 4 GiB.
    pub fn new(edges: Files, out: impl Into<PathBuf>) -> Self {
        Self {
            edges,
            src: "0".into(),
            dst: "1".into(),
            weight: None,
            ids: IdType::Auto,
            features: None,
            symmetrize: false,
            duplicates: Duplicates::One,
            self_loops: SelfLoops::Keep,
            parts: 1,
            by: By::Range,
            out: out.into(),
            temp: None,
            memory: 4 << 30,
            threads: std::thread::available_parallelism().map_or(1, Into::into),
            scheduler: None,
            resume: false,
            overwrite: false,
            abort_at: None,
        }
    }

    pub(crate) fn check(&self) -> Result<()> {
        let wrong = |message: String| Err(PrepareError::invalid("arguments", message));
        if !(1..=MOST_PARTS).contains(&self.parts) {
            return wrong(format!("--parts must be 1 to {MOST_PARTS}, got {}", self.parts));
        }
        if self.memory < LEAST_MEMORY {
            return wrong(format!("--memory must be at least {LEAST_MEMORY} bytes, got {}", self.memory));
        }
        if self.threads == 0 {
            return wrong("--threads must be at least 1, got 0".into());
        }
        if self.edges.paths.is_empty() {
            return wrong("there must be a file of edges, got none".into());
        }
        if self.by == By::Metis && !cfg!(feature = "metis") {
            return wrong("--by metis must be built with the feature `metis`, got a build without".into());
        }
        if self.scheduler.is_some() && !cfg!(feature = "ballista") {
            return wrong("--scheduler must be built with the feature `ballista`, got a build without".into());
        }
        Ok(())
    }

    pub(crate) fn point(&self, stage: Stage, when: When) {
        if self.abort_at == Some((stage, when)) {
            std::process::abort();
        }
    }

    /// Whether edges are written with values.
    pub(crate) fn values(&self) -> bool {
        self.weight.is_some() || self.duplicates == Duplicates::Sum
    }
}

/// Bytes from a text such as `4GiB`, `512M`, `1000000`. `K`, `M`, `G`, `T` are powers of 1024.
///
/// ```
/// assert_eq!(sparse_prepare::bytes("1.5GiB").unwrap(), 3 << 29);
/// assert_eq!(sparse_prepare::bytes("64m").unwrap(), 64 << 20);
/// assert!(sparse_prepare::bytes("4 apples").is_err());
/// ```
///
/// # Errors
///
/// A message if it is no such text.
pub fn bytes(text: &str) -> Result<u64, String> {
    let lower = text.trim().to_ascii_lowercase();
    let end = lower.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(lower.len());
    let (number, unit) = lower.split_at(end);
    let power = match unit.trim() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 1,
        "m" | "mb" | "mib" => 2,
        "g" | "gb" | "gib" => 3,
        "t" | "tb" | "tib" => 4,
        _ => return Err(format!("must be a number and K, M, G or T, got {text}")),
    };
    let number: f64 = number.parse().map_err(|_| format!("must be a number and K, M, G or T, got {text}"))?;
    Ok((number * 1024f64.powi(power)) as u64)
}
