//! What readers of folders share: files in turn, fields of a line, tables of numbers.

use super::graph::Splits;
use burn::tensor::TensorCreationOptions;
use serde::de::DeserializeOwned;
use sparse_files::io::Progress;
use sparse_files::io::source::{Files, Lines, shown, text, whole};
use sparse_ops::extend::{Allowed, has_dtype};
use sparse_ops::{Result, SparseError};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The files of a folder, which are read in turn. Errors name the file.
pub(super) struct Sources<'a, 'p> {
    op: &'static str,
    files: Files<'a, 'p>,
}

impl<'a, 'p> Sources<'a, 'p> {
    pub(super) fn new<P: AsRef<Path>>(
        op: &'static str,
        folder: &Path,
        paths: impl IntoIterator<Item = P>,
        progress: &'a mut Progress<'p>,
    ) -> Result<Self> {
        let files = Files::new(folder, paths, progress).map_err(|message| SparseError::invalid(op, message))?;
        Ok(Self { op, files })
    }

    /// An error about a file.
    pub(super) fn at(&self, path: &Path, message: impl Into<String>) -> SparseError {
        SparseError::invalid(self.op, message.into()).in_file(path)
    }

    /// The next file line by line, in fields between the bytes `separator`.
    pub(super) fn lines(
        &mut self,
        path: &Path,
        separator: u8,
        mut each: impl FnMut(usize, &mut Fields<'_>) -> Result<(), String>,
    ) -> Result<()> {
        let read = |progress: &mut Progress<'_>| {
            let (file, _) = text(path, progress).map_err(|trouble| format!("cannot be read, got {trouble}"))?;
            let mut lines = Lines::new(file);
            while let Some((number, line)) = lines.next()? {
                let mut fields = Fields { rest: Some(line), separator };
                each(number, &mut fields).map_err(|message| format!("line {number}: {message}"))?;
            }
            Ok(())
        };
        self.files.next(read).map_err(|message: String| self.at(path, message))
    }

    /// The next file as a table, which must have `rows` rows if that is known.
    pub(super) fn table<T>(
        &mut self,
        path: &Path,
        rows: Option<usize>,
        read: impl Fn(&mut Fields<'_>) -> Result<T, String>,
    ) -> Result<Table<T>> {
        let mut table = Table::default();
        self.lines(path, b',', |_, fields| table.push(fields, &read))?;
        table.check(rows.unwrap_or(table.rows)).map_err(|message| self.at(path, message))?;
        Ok(table)
    }

    /// The next file as JSON.
    pub(super) fn json<T: DeserializeOwned>(&mut self, path: &Path) -> Result<T> {
        let bytes = self.files.next(|progress| whole(path, progress));
        let bytes = bytes.map_err(|trouble| self.at(path, format!("cannot be read, got {trouble}")))?;
        serde_json::from_slice(&bytes).map_err(|trouble| self.at(path, trouble.to_string()))
    }

    /// What another reader makes of the next file.
    pub(super) fn next<T>(&mut self, read: impl FnOnce(&mut Progress<'_>) -> T) -> T {
        self.files.next(read)
    }

    /// The last word on the progress.
    pub(super) fn finish(self) {
        self.files.finish();
    }
}

/// The fields of a line.
pub(super) struct Fields<'a> {
    rest: Option<&'a [u8]>,
    separator: u8,
}

impl<'a> Fields<'a> {
    fn field(&mut self, what: &str) -> Result<&'a [u8], String> {
        let rest = self.rest.ok_or_else(|| format!("{what} must follow, got the end of the line"))?;
        let end = rest.iter().position(|&byte| byte == self.separator);
        self.rest = end.map(|end| &rest[end + 1..]);
        Ok(rest[..end.unwrap_or(rest.len())].trim_ascii())
    }

    pub(super) fn has_more(&self) -> bool {
        self.rest.is_some()
    }

    /// The next field, in fields of its own.
    #[cfg(feature = "npz")]
    pub(super) fn list(&mut self, what: &str, separator: u8) -> Result<Self, String> {
        Ok(Self { rest: Some(self.field(what)?), separator })
    }

    fn number<T: FromStr>(&mut self, what: &str) -> Result<T, String> {
        let field = self.field(what)?;
        let number = std::str::from_utf8(field).ok().and_then(|text| text.parse().ok());
        number.ok_or_else(|| format!("{what} must follow, got {:?}", shown(field)))
    }

    pub(super) fn name(&mut self, what: &str) -> Result<&'a str, String> {
        let field = self.field(what)?;
        let name = std::str::from_utf8(field).ok().filter(|name| !name.is_empty());
        name.ok_or_else(|| format!("{what} must follow, got {:?}", shown(field)))
    }

    /// The next field, which may be empty.
    pub(super) fn any(&mut self, what: &str) -> Result<&'a str, String> {
        let field = self.field(what)?;
        std::str::from_utf8(field).map_err(|_| format!("{what} must be text, got {:?}", shown(field)))
    }

    /// The rest of the line.
    pub(super) fn text(&mut self) -> Result<&'a str, String> {
        let rest = self.rest.take().ok_or("text must follow, got the end of the line")?;
        std::str::from_utf8(rest).map_err(|_| format!("a line must be text, got {:?}", shown(rest)))
    }

    /// All that is left of the line, between blanks.
    pub(super) fn words<T: FromStr>(&mut self, what: &str) -> Result<Vec<T>, String> {
        let words = self.text()?.split_ascii_whitespace();
        words.map(|word| word.parse().map_err(|_| format!("{what} must follow, got {word:?}"))).collect()
    }

    pub(super) fn int(&mut self) -> Result<i64, String> {
        self.number("a whole number")
    }

    /// A number in `[first, first + count)`, from 0.
    pub(super) fn id(&mut self, what: &str, first: i64, count: usize) -> Result<usize, String> {
        let id = self.int()?;
        let inside = id.checked_sub(first).and_then(|id| usize::try_from(id).ok()).filter(|&id| id < count);
        inside.ok_or_else(|| format!("{what} must be in [{first}, {}), got {id}", first as i128 + count as i128))
    }

    pub(super) fn node(&mut self, nodes: usize) -> Result<usize, String> {
        self.id("a node", 0, nodes)
    }

    pub(super) fn float(&mut self) -> Result<f32, String> {
        let value: f32 = self.number("a number")?;
        if value.is_finite() { Ok(value) } else { Err(format!("a feature must be finite, got {value}")) }
    }

    /// A number to predict; NaN for one that is not known.
    pub(super) fn target(&mut self) -> Result<f32, String> {
        let value: f32 = self.number("a number")?;
        if value.is_infinite() { Err(format!("a target must be finite or NaN, got {value}")) } else { Ok(value) }
    }

    /// A time, of which only the whole number counts. Some files write `4.5`.
    pub(super) fn time(&mut self) -> Result<i64, String> {
        let value: f64 = self.number("a time")?;
        let inside = value.abs() < (1_i64 << 53) as f64;
        if inside { Ok(value as i64) } else { Err(format!("a time must be a number below 2^53, got {value}")) }
    }

    /// A class; -1 for one that is not known. Some files write `4.0` for 4.
    pub(super) fn class(&mut self) -> Result<i64, String> {
        let value: f64 = self.number("a class")?;
        match value {
            _ if value.is_nan() => Ok(-1),
            _ if value.fract() == 0.0 && (-1.0..2147483648.0).contains(&value) => Ok(value as i64),
            _ => Err(format!("a class must be a whole number from 0, got {value}")),
        }
    }

    pub(super) fn end(&self) -> Result<(), String> {
        self.rest.map_or(Ok(()), |rest| Err(format!("a line must end here, got {:?}", shown(rest))))
    }
}

/// What is in a folder, in the order of names.
pub(super) fn listed(op: &'static str, folder: &Path) -> Result<Vec<(String, PathBuf)>> {
    let at = |trouble| SparseError::invalid(op, format!("cannot be read, got {trouble}")).in_file(folder);
    let mut found = vec![];
    for entry in std::fs::read_dir(folder).map_err(at)? {
        let path = entry.map_err(at)?.path();
        let name = path.file_name().and_then(|name| name.to_str()).map(String::from);
        found.extend(name.map(|name| (name, path)));
    }
    found.sort();
    Ok(found)
}

/// A field of a CSV without the quotes around it, in which quotes are doubled.
pub(super) fn unquoted(field: &str) -> String {
    let field = field.trim();
    let inside = field.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inside.map_or_else(|| field.into(), |inside| inside.replace("\"\"", "\""))
}

/// Lines of equally many numbers.
pub(super) struct Table<T> {
    pub(super) cols: usize,
    pub(super) rows: usize,
    pub(super) values: Vec<T>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { cols: 0, rows: 0, values: vec![] }
    }
}

impl<T> Table<T> {
    fn push(
        &mut self,
        fields: &mut Fields<'_>,
        read: impl Fn(&mut Fields<'_>) -> Result<T, String>,
    ) -> Result<(), String> {
        let before = self.values.len();
        while fields.has_more() {
            self.values.push(read(fields)?);
        }
        Allowed::now().check_elements(self.values.len())?;
        let got = self.values.len() - before;
        if self.rows == 0 {
            self.cols = got;
        }
        self.rows += 1;
        if got == self.cols { Ok(()) } else { Err(format!("a line must have {} numbers, got {got}", self.cols)) }
    }

    fn check(&self, rows: usize) -> Result<(), String> {
        if self.rows == rows {
            return Ok(());
        }
        Err(format!("there must be a line for each of {rows} nodes, edges or graphs, got {}", self.rows))
    }
}

/// Which nodes are in a split already.
pub(super) struct Owners(Vec<bool>);

impl Owners {
    pub(super) fn new(nodes: usize) -> Self {
        Self(vec![false; nodes])
    }

    /// Error for what is no node, or is in a split already.
    pub(super) fn take(&mut self, node: usize) -> Result<(), String> {
        match self.0.get_mut(node).map(|owned| std::mem::replace(owned, true)) {
            Some(false) => Ok(()),
            Some(true) => Err(format!("a node must be in one split, once, got {node} again")),
            None => Err(format!("a node must be in [0, {}), got {node}", self.0.len())),
        }
    }
}

/// Checks that the device has the dtype that was asked for, before a file is read.
pub(super) fn check_dtype(op: &'static str, options: &TensorCreationOptions) -> Result<()> {
    options.dtype.map_or(Ok(()), |dtype| has_dtype(op, &options.device, dtype))
}

/// Whether there is a file of this name, or a link in its place.
pub(super) fn is_there(path: &Path) -> bool {
    path.exists() || path.is_symlink()
}

/// Error for a node of a split without a class.
pub(super) fn check_known(splits: &Splits, labels: &[i64]) -> Result<(), String> {
    let mut all = [&splits.train, &splits.val, &splits.test].into_iter().flatten();
    match all.find(|&&node| labels[node] < 0) {
        None => Ok(()),
        Some(node) => Err(format!("a node of a split must have a class, got {node}, which has none")),
    }
}
