//! Small graphs, and the graph that must come of them, by maps.

#![allow(dead_code)]

use datafusion::arrow::array::{
    ArrayRef, Float32Array, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray,
};
use datafusion::parquet::arrow::ArrowWriter;
use sparse_prepare::{By, Duplicates, FeatureTable, Files, Missing, Options, Progress, SelfLoops, Stage};
use sparse_shards::{Ids, Kind, Manifest};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use twox_hash::XxHash3_64;

/// An original id. Integers come in their order, strings in that of their bytes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Id {
    Int(i64),
    Text(String),
}

impl Id {
    fn text(&self) -> String {
        match self {
            Id::Int(id) => id.to_string(),
            Id::Text(id) => id.clone(),
        }
    }

    fn part(&self, parts: usize) -> usize {
        let hash = match self {
            Id::Int(id) => XxHash3_64::oneshot(&id.to_le_bytes()),
            Id::Text(id) => XxHash3_64::oneshot(id.as_bytes()),
        };
        (hash as u128 * parts as u128 / (1 << 64)) as usize
    }
}

#[derive(Debug, Clone)]
pub struct Case {
    pub edges: Vec<(Id, Id, f64)>,
    pub weights: bool,
    pub features: Option<Vec<(Id, Vec<f32>)>>,
    pub width: usize,
    pub missing: Missing,
    pub symmetrize: bool,
    pub duplicates: Duplicates,
    pub self_loops: SelfLoops,
    pub parts: usize,
    pub by: By,
    pub parquet: bool,
    pub files: usize,
}

/// A graph of 300 nodes in two files, with weights, in both directions, with features of all nodes but some, in two
/// parts.
pub fn sample(parquet: bool) -> Case {
    let id = |k: usize| Id::Text(format!("n{}", k % 300));
    Case {
        edges: (0..3000).map(|k| (id(k), id(k * k + 31 * k), (k % 7) as f64 * 0.1)).collect(),
        weights: true,
        features: Some((0..300).filter(|k| k % 11 != 3).map(|k| (id(k), vec![k as f32 * 0.5, 1.0, -0.25])).collect()),
        width: 3,
        missing: Missing::Zero,
        symmetrize: true,
        duplicates: Duplicates::Sum,
        self_loops: SelfLoops::Drop,
        parts: 2,
        by: By::Hash,
        parquet,
        files: 2,
    }
}

/// Does something when a stage begins.
pub struct At<F>(pub Stage, pub F);

impl<F: Fn() + Send + Sync> Progress for At<F> {
    fn stage(&self, stage: Stage, _: bool) {
        if stage == self.0 {
            self.1();
        }
    }
    fn read(&self, _: u64) {}
    fn written(&self, _: u64) {}
    fn spilled(&self, _: u64) {}
}

/// A graph as it must be.
#[derive(Debug, PartialEq)]
pub struct Graph {
    /// The original ids of each part.
    pub ids: Vec<Vec<Id>>,
    /// By dense ids.
    pub edges: BTreeMap<(u64, u64), f32>,
    pub features: Vec<Vec<f32>>,
}

impl Case {
    /// By maps and sets, from the documentation.
    pub fn expected(&self) -> Graph {
        let mut all: BTreeSet<Id> = self.edges.iter().flat_map(|(a, b, _)| [a.clone(), b.clone()]).collect();
        all.extend(self.features.iter().flatten().map(|(id, _)| id.clone()));
        let mut ids = vec![Vec::new(); self.parts];
        for (k, id) in all.iter().enumerate() {
            let range = || (0..self.parts).find(|p| k < (p + 1) * all.len() / self.parts).unwrap();
            let part = if self.by == By::Hash { id.part(self.parts) } else { range() };
            ids[part].push(id.clone());
        }
        let dense: BTreeMap<&Id, u64> = ids.iter().flatten().zip(0..).collect();
        let mut found: BTreeMap<(u64, u64), Vec<f64>> = BTreeMap::new();
        for (a, b, weight) in &self.edges {
            let (a, b, weight) = (dense[a], dense[b], if self.weights { *weight } else { 1.0 });
            if a == b && self.self_loops == SelfLoops::Drop {
                continue;
            }
            found.entry((a, b)).or_default().push(weight);
            if self.symmetrize && a != b {
                found.entry((b, a)).or_default().push(weight);
            }
        }
        let value = |mut weights: Vec<f64>| {
            weights.sort_by(f64::total_cmp);
            match self.duplicates {
                Duplicates::One => *weights.last().unwrap() as f32,
                Duplicates::Sum => weights.into_iter().reduce(|sum, weight| sum + weight).unwrap() as f32,
            }
        };
        let rows: BTreeMap<&Id, &Vec<f32>> = self.features.iter().flatten().map(|(id, row)| (id, row)).collect();
        let row = |id| rows.get(id).map_or(vec![0.0; self.width], |row| row.to_vec());
        let features = if self.features.is_some() { ids.iter().flatten().map(row).collect() } else { Vec::new() };
        Graph { edges: found.into_iter().map(|(ends, weights)| (ends, value(weights))).collect(), features, ids }
    }

    /// Writes the files of edges and features, and says how to read them.
    pub fn options(&self, folder: &Path) -> Options {
        let mut paths = Vec::new();
        let share = self.edges.len().div_ceil(self.files).max(1);
        let mut chunks: Vec<_> = self.edges.chunks(share).collect();
        if chunks.is_empty() {
            chunks.push(&[]);
        }
        for (k, edges) in chunks.into_iter().enumerate() {
            let path = folder.join(format!("edges-{k}.{}", if self.parquet { "parquet" } else { "csv" }));
            if self.parquet {
                let ends = |of: fn(&(Id, Id, f64)) -> &Id| column(edges.iter().map(of));
                let weights = Float64Array::from_iter_values(edges.iter().map(|edge| edge.2));
                table(&path, [("from", ends(|e| &e.0)), ("w", Arc::new(weights) as ArrayRef), ("to", ends(|e| &e.1))]);
            } else {
                let mut text = String::from("from,w,to\n");
                for (a, b, weight) in edges {
                    writeln!(text, "{},{weight:?},{}", a.text(), b.text()).unwrap();
                }
                fs::write(&path, text).unwrap();
            }
            paths.push(path.to_str().unwrap().to_owned());
        }
        let features = self.features.as_ref().map(|rows| {
            let path = folder.join(if self.parquet { "features.parquet" } else { "features.csv" });
            if self.parquet {
                let names: Vec<String> = (0..self.width).map(|c| format!("X{c}")).collect();
                let values = |c: usize| Float32Array::from_iter_values(rows.iter().map(|(_, row)| row[c]));
                let columns = (0..self.width).map(|c| (names[c].as_str(), Arc::new(values(c)) as ArrayRef));
                table(&path, columns.chain([("node", column(rows.iter().map(|(id, _)| id)))]));
            } else {
                let mut text: String = (0..self.width).map(|c| format!("X{c},")).collect();
                text += "node\n";
                for (id, row) in rows {
                    row.iter().for_each(|x| write!(text, "{x:?},").unwrap());
                    writeln!(text, "{}", id.text()).unwrap();
                }
                fs::write(&path, text).unwrap();
            }
            let files = Files::new([path.to_str().unwrap()]);
            FeatureTable { files, id: "node".into(), columns: Vec::new(), missing: self.missing }
        });
        let mut options = Options::new(Files::new(paths), folder.join("graph"));
        (options.src, options.dst) = ("0".into(), "to".into());
        options.weight = self.weights.then(|| "w".into());
        options.features = features;
        options.symmetrize = self.symmetrize;
        options.duplicates = self.duplicates;
        options.self_loops = self.self_loops;
        options.parts = self.parts;
        options.by = self.by;
        options.threads = 2;
        options
    }
}

fn column<'a>(ids: impl Iterator<Item = &'a Id>) -> ArrayRef {
    let ids: Vec<&Id> = ids.collect();
    if let Some(Id::Text(_)) = ids.first() {
        return Arc::new(StringArray::from_iter_values(ids.iter().map(|id| id.text())));
    }
    let all = ids.iter().map(|id| if let Id::Int(id) = id { *id } else { panic!("an integer") });
    // Narrow integers, where they are enough.
    let narrow: Result<Vec<i32>, _> = all.clone().map(i32::try_from).collect();
    match narrow {
        Ok(narrow) => Arc::new(Int32Array::from(narrow)),
        Err(_) => Arc::new(Int64Array::from_iter_values(all)),
    }
}

/// Writes a Parquet file.
pub fn table<'a>(path: &Path, columns: impl IntoIterator<Item = (&'a str, ArrayRef)>) {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut writer = ArrowWriter::try_new(File::create(path).unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

fn numbers<const N: usize, T>(manifest: &Manifest, part: usize, kind: Kind, of: fn([u8; N]) -> T) -> Vec<T> {
    let bytes = fs::read(manifest.path(part, kind).unwrap()).unwrap();
    bytes[128..].as_chunks::<N>().0.iter().map(|bytes| of(*bytes)).collect()
}

/// What was written.
pub fn read(folder: &Path) -> Graph {
    let manifest = Manifest::open(folder).unwrap();
    manifest.verify().unwrap();
    let mut graph = Graph { ids: Vec::new(), edges: BTreeMap::new(), features: Vec::new() };
    for (p, part) in manifest.parts.iter().enumerate() {
        graph.ids.push(match manifest.ids(p).unwrap() {
            Ids::Int(ids) => ids.into_iter().map(Id::Int).collect(),
            Ids::Text(ids) => ids.into_iter().map(Id::Text).collect(),
        });
        let ptr = numbers(&manifest, p, Kind::RowPtr, i64::from_le_bytes);
        let idx = numbers(&manifest, p, Kind::ColIdx, i32::from_le_bytes);
        let values = manifest.about.weights.then(|| numbers(&manifest, p, Kind::Values, f32::from_le_bytes));
        for (row, ends) in (part.nodes.start..).zip(ptr.windows(2)) {
            for at in ends[0] as usize..ends[1] as usize {
                let value = values.as_ref().map_or(1.0, |values| values[at]);
                assert_eq!(graph.edges.insert((row, idx[at] as u64), value), None);
            }
        }
        if let Some(features) = &manifest.about.features {
            let all = numbers(&manifest, p, Kind::Features, f32::from_le_bytes);
            graph.features.extend(all.chunks(features.width as usize).map(<[f32]>::to_vec));
        }
    }
    assert_eq!(graph.edges.len() as u64, manifest.edges);
    graph
}

/// Every file of a folder that is prepared, but the digest of its arguments.
pub fn bytes(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if !path.ends_with("prepare.json") {
                found.insert(path.strip_prefix(folder).unwrap().to_path_buf(), fs::read(&path).unwrap());
            }
        }
    }
    found
}
