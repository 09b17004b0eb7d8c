//! A graph in memory, and the same one as a folder of parts.

use burn::tensor::{DType, Device, Int, Tensor, TensorData};
use sparse_shards::{About, Dtype, Element, Features, IdKind, Kind, Manifest, Part, ShardFile, ShardWriter};
use sparse_tensor::CsrTensor;
use sparse_tensor::data::NeighborBatch;
use sparse_tensor::pattern::CsrPattern;
use std::path::Path;

/// Elements of a row of features.
pub const WIDTH: usize = 3;

/// A directed graph with weights and features.
pub struct Graph {
    pub ptr: Vec<i64>,
    pub idx: Vec<i32>,
    pub weights: Vec<f32>,
    pub features: Vec<f32>,
}

impl Graph {
    /// Node `i` has edges to nodes at distances that depend on it; the first nodes have the most.
    pub fn new(nodes: usize) -> Self {
        let (mut ptr, mut idx) = (vec![0], vec![]);
        for node in 0..nodes {
            let degree = if node < 4 { nodes / 2 } else { node * 7 % 11 };
            let mut row: Vec<i32> = (0..degree).map(|k| ((node + k * k + 3 * k + 1) % nodes) as i32).collect();
            row.sort_unstable();
            row.dedup();
            idx.extend(row);
            ptr.push(idx.len() as i64);
        }
        let weights = (0..idx.len()).map(|k| (k % 9) as f32 / 4.0).collect();
        let features = (0..nodes * WIDTH).map(|k| (k as f32).sin()).collect();
        Self { ptr, idx, weights, features }
    }

    pub fn nodes(&self) -> usize {
        self.ptr.len() - 1
    }

    /// The matrix, with its weights or with ones.
    pub fn matrix(&self, weighted: bool) -> CsrTensor<2> {
        let (device, nnz) = (Device::flex(), self.idx.len());
        let ints = |list: Vec<i64>| {
            let length = list.len();
            Tensor::<1, Int>::from_data(TensorData::new(list, [length]), (&device, DType::I64))
        };
        let columns = self.idx.iter().map(|&column| i64::from(column)).collect();
        let pattern = CsrPattern::new(ints(self.ptr.clone()), ints(columns), &[self.nodes(); 2]).unwrap();
        let values = if weighted { self.weights.clone() } else { vec![1.0; nnz] };
        CsrTensor::from_pattern(pattern, Tensor::<1>::from_data(TensorData::new(values, [nnz]), &device)).unwrap()
    }

    /// Writes parts that end before these nodes; the last one ends with the graph.
    pub fn write(&self, folder: &Path, ends: &[usize], weighted: bool, features: bool) {
        let about = About {
            weights: weighted,
            col_idx: Dtype::I32,
            ids: IdKind::Int,
            features: features.then(|| Features {
                dtype: Dtype::F32,
                width: WIDTH as u64,
                columns: (0..WIDTH).map(|k| format!("x{k}")).collect(),
            }),
            ..About::default()
        };
        let mut start = 0;
        let parts = ends.iter().copied().chain([self.nodes()]).enumerate().map(|(part, end)| {
            let nodes = start..end;
            start = end;
            let span = self.ptr[nodes.start] as usize..self.ptr[nodes.end] as usize;
            let ptr: Vec<i64> = self.ptr[nodes.start..=nodes.end].iter().map(|at| at - span.start as i64).collect();
            let ids: Vec<i64> = nodes.clone().map(|node| node as i64).collect();
            let mut files = vec![
                file(folder, part, Kind::RowPtr, None, &ptr),
                file(folder, part, Kind::ColIdx, None, &self.idx[span.clone()]),
                file(folder, part, Kind::Ids, None, &ids),
            ];
            if weighted {
                files.push(file(folder, part, Kind::Values, None, &self.weights[span.clone()]));
            }
            if features {
                let rows = &self.features[nodes.start * WIDTH..nodes.end * WIDTH];
                files.push(file(folder, part, Kind::Features, Some(WIDTH as u64), rows));
            }
            Part { nodes: nodes.start as u64..nodes.end as u64, edges: span.len() as u64, files }
        });
        Manifest::new(about, parts.collect()).write(folder).unwrap();
    }
}

fn file<T: Element>(folder: &Path, part: usize, kind: Kind, width: Option<u64>, list: &[T]) -> ShardFile {
    let mut file = ShardWriter::<T>::create(folder, part, kind, width).unwrap();
    file.write(list).unwrap();
    file.finish().unwrap()
}

/// All numbers of a batch.
pub fn numbers(batch: &NeighborBatch) -> (Vec<usize>, Vec<usize>, Vec<usize>, Vec<TensorData>) {
    let blocks = batch.blocks().iter().flat_map(|block| {
        let pattern = block.pattern();
        [pattern.row_ptr().to_data(), pattern.col_idx().to_data(), block.values::<1>().into_data()]
    });
    (batch.nodes().ids().to_vec(), batch.counts().to_vec(), batch.edge_ids().to_vec(), blocks.collect())
}
