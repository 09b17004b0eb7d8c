//! Graphs as plain text.

use super::graph::{Graph, Splits};
use super::labels::Labels;
use burn::tensor::Device;
use sparse_files::io::MatrixMarket;
use sparse_files::io::Progress;
use sparse_files::io::matrix_market::Reader;
use sparse_files::io::matrix_market::Symmetry;
use sparse_files::io::matrix_market::Values;
use sparse_files::io::source::Files;
use sparse_files::io::source::Lines;
use sparse_files::io::source::shown;
use sparse_files::io::source::silent;
use sparse_files::io::source::text;
use sparse_ops::extend::Allowed;
use sparse_ops::{Result, SparseError};
use std::path::Path;

/// Reads a graph from a folder of plain text.
///
/// | file | content |
/// |---|---|
/// | `adjacency.mtx` | Matrix Market, square and symmetric in content, each edge once, no self loops, weights above 0 |
/// | `features.mtx` | Matrix Market, node x feature, not normalised |
/// | `labels.txt` | one class a line, in node order, in `[0, nodes)`; -1 where it is not known, for nodes in no split |
/// | `train.txt`, `val.txt`, `test.txt` | node ids from 0, one a line; no node twice |
///
/// Blank lines are skipped. The Planetoid graphs (Sen et al. 2008, splits of Yang et al. 2016) fit this form.
///
/// # Errors
///
/// `invalid` for anything that cannot be read, breaks its format or contradicts another file. It names the file and the
/// line.
pub fn read_folder(path: impl AsRef<Path>, device: &Device) -> Result<Graph> {
    read_folder_with(path, device, &mut silent())
}

/// [`read_folder`], which reports its progress over all files.
///
/// # Errors
///
/// As [`read_folder`].
pub fn read_folder_with(path: impl AsRef<Path>, device: &Device, progress: &mut Progress<'_>) -> Result<Graph> {
    let folder = path.as_ref();
    if !folder.is_dir() {
        return Err(invalid(format!("{}: a graph must be a folder, got none of that name", folder.display())));
    }
    let mut files = Files::new(folder, FILES.map(|name| folder.join(name)), progress).map_err(invalid)?;
    let adjacency = files.next(|progress| read_adjacency(&folder.join("adjacency.mtx"), progress))?;
    let nodes = adjacency.rows;
    let path = folder.join("features.mtx");
    let features = files.next(|progress| {
        Reader::new().read_checked(&path, progress, |entry| {
            if entry.value.is_finite() { Ok(()) } else { Err(format!("a feature must be finite, got {}", entry.value)) }
        })
    })?;
    if features.rows != nodes {
        let name = path.display();
        return Err(invalid(format!(
            "{name}: features must have a row for each node, got {} and {nodes}",
            features.rows
        )));
    }
    let path = folder.join("labels.txt");
    let labels = files.next(|progress| read_numbers(&path, progress, -1, nodes, "a class"))?;
    if labels.len() != nodes {
        let (name, got) = (path.display(), labels.len());
        return Err(invalid(format!("{name}: line {got}: there must be a class for each of {nodes} nodes, got {got}")));
    }
    let labels: Vec<i64> = labels.into_iter().map(|(_, class)| class).collect();
    let mut owner: Vec<Option<&'static str>> = vec![None; nodes];
    let mut split = |name: &'static str| {
        let path = folder.join(name);
        let ids = files.next(|progress| read_numbers(&path, progress, 0, nodes, "a node"))?;
        let ids: Vec<(usize, usize)> = ids.into_iter().map(|(line, node)| (line, node as usize)).collect();
        for &(line, node) in &ids {
            let trouble = match owner[node].replace(name) {
                Some(other) => format!("a node must be listed once, got {node}, also in {other}"),
                None if labels[node] < 0 => format!("a node of a split must have a class, got {node}, which has none"),
                None => continue,
            };
            return Err(invalid(format!("{}: line {line}: {trouble}", path.display())));
        }
        Ok(ids.into_iter().map(|(_, node)| node).collect())
    };
    let splits = Splits { train: split("train.txt")?, val: split("val.txt")?, test: split("test.txt")? };
    files.finish();
    Ok(Graph {
        adjacency: adjacency.to_csr(device)?,
        features: features.to_csr(device)?,
        labels: Labels::from_list(&labels, None, device)?,
        splits,
    })
}

const FILES: [&str; 6] = ["adjacency.mtx", "features.mtx", "labels.txt", "train.txt", "val.txt", "test.txt"];

fn read_adjacency(path: &Path, progress: &mut Progress<'_>) -> Result<MatrixMarket> {
    let matrix = Reader::new().read_checked(path, progress, |entry| {
        if entry.row == entry.col {
            return Err(format!("an edge must join two nodes, got a self loop at {}", entry.row + 1));
        }
        // In this form the check fails for NaN too.
        let weighs = entry.value > 0.0 && entry.value.is_finite();
        if weighs { Ok(()) } else { Err(format!("an edge's weight must be above 0, got {}", entry.value)) }
    })?;
    let name = path.display();
    if matrix.rows != matrix.cols {
        let (rows, cols) = (matrix.rows, matrix.cols);
        return Err(invalid(format!("{name}: an adjacency must be square, got {rows} x {cols}")));
    }
    let mut order: Vec<usize> = (0..matrix.coordinates.len()).collect();
    order.sort_unstable_by_key(|&at| matrix.coordinates[at]);
    let at = |k: usize| matrix.coordinates[order[k]];
    if let Some(k) = (1..order.len()).find(|&k| at(k) == at(k - 1)) {
        let (row, col) = at(k);
        return Err(invalid(format!("{name}: an edge must be listed once, got ({}, {}) twice", row + 1, col + 1)));
    }
    if matrix.symmetry == Symmetry::General {
        let value = |k: usize| match &matrix.values {
            Values::Real(values) => values[k],
            Values::Integer(values) => values[k] as f64,
            Values::Pattern => 1.0,
        };
        let lonely = |&k: &usize| {
            let (row, col) = matrix.coordinates[k];
            let mirror = order.binary_search_by_key(&(col, row), |&k| matrix.coordinates[k]);
            mirror.map_or(true, |mirror| value(order[mirror]) != value(k))
        };
        if let Some(k) = order.iter().copied().find(lonely) {
            let (row, col) = (matrix.coordinates[k].0 + 1, matrix.coordinates[k].1 + 1);
            return Err(invalid(format!(
                "{name}: an adjacency must be symmetric, got ({row}, {col}) without an equal ({col}, {row})"
            )));
        }
    }
    Ok(matrix)
}

/// `(line, number)` of a file with one number in `[low, below)` a line.
fn read_numbers(
    path: &Path,
    progress: &mut Progress<'_>,
    low: i64,
    below: usize,
    what: &str,
) -> Result<Vec<(usize, i64)>> {
    let at = |message: String| invalid(message).in_file(path);
    let (file, _) = text(path, progress).map_err(|trouble| at(format!("cannot be read, got {trouble}")))?;
    let (mut lines, mut numbers, allowed) = (Lines::new(file), vec![], Allowed::now());
    while let Some((line, word)) = lines.next().map_err(at)? {
        let number = std::str::from_utf8(word).ok().and_then(|word| word.parse::<i64>().ok());
        match number.filter(|&number| low <= number && number < below as i64) {
            Some(number) => {
                allowed.check_elements(numbers.len() + 1).map_err(at)?;
                numbers.push((line, number));
            }
            None => {
                let got = shown(word);
                return Err(at(format!("line {line}: {what} must be in [{low}, {below}), got {got:?}")));
            }
        }
    }
    Ok(numbers)
}

fn invalid(message: String) -> SparseError {
    SparseError::invalid("read_folder", message)
}
