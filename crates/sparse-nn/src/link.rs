//! Decoders of links: a score for each pair of nodes.

use super::features::check_width;
use super::mlp::{Mlp, MlpConfig};
use burn::config::Config;
use burn::module::Module;
use burn::tensor::{Device, Int, Tensor};
use sparse_macros::or_panic;
use sparse_ops::extend::{Exact, Parts, coo_pattern, ints, read_all, read_at, same_device, same_elements};
use sparse_ops::ops::try_masked_matmul;
use sparse_ops::pattern::{CooPattern, Pattern};
use sparse_ops::{CooTensor, Fill, Result, SparseError, SparseTensor};

/// Pairs of nodes, checked once: elements `(i, j)` of an adjacency `[M, N]`. A pair may be there several times.
///
/// What the backward pass of a decoder needs, the order by either node, is computed on first need and kept here.
#[derive(Clone, Debug)]
pub struct NodePairs {
    pattern: CooPattern,
}

impl NodePairs {
    /// Pairs `(i, j)` with `i < M` and `j < N`, for `shape` `[M, N]`.
    ///
    /// # Errors
    ///
    /// `index_out_of_range`.
    pub fn new(pairs: &[(usize, usize)], shape: [usize; 2], device: &Device) -> Result<Self> {
        let ends = pairs.iter().map(|&(i, _)| i).chain(pairs.iter().map(|&(_, j)| j));
        Self::of_ends("NodePairs::new", ends, pairs.len(), shape, device)
    }

    /// `count` pairs: their rows, then their columns.
    fn of_ends(
        op: &'static str,
        ends: impl Iterator<Item = usize>,
        count: usize,
        shape: [usize; 2],
        device: &Device,
    ) -> Result<Self> {
        let ends: Vec<i64> = ends.map(|end| i64::try_from(end).unwrap_or(i64::MAX)).collect();
        // On the host: a 32-bit device would wrap a large index silently.
        for (position, &index) in ends.iter().enumerate() {
            let axis = position / count;
            if index as usize >= shape[axis] {
                return Err(SparseError::index_out_of_range(op, axis, shape[axis], index, position));
            }
        }
        let coordinates = ints(ends, [2, count], &device.clone().inner());
        Ok(Self { pattern: CooPattern::new_unchecked(coordinates, &shape, false) })
    }

    /// Pairs `(rows[k], cols[k])` of two lists, for `shape` `[M, N]`.
    ///
    /// # Errors
    ///
    /// `length_mismatch`, `index_out_of_range`.
    pub fn from_lists(rows: &[usize], cols: &[usize], shape: [usize; 2], device: &Device) -> Result<Self> {
        const OP: &str = "NodePairs::from_lists";
        if rows.len() != cols.len() {
            return Err(SparseError::length_mismatch(OP, "cols", rows.len(), cols.len()));
        }
        Self::of_ends(OP, rows.iter().chain(cols).copied(), rows.len(), shape, device)
    }

    /// Pairs `[2, n]` of a tensor: rows, then columns, as `data::EdgeSplit` has them. Reads one
    /// number from the device.
    ///
    /// # Errors
    ///
    /// `shape_mismatch` if there are not two rows; `index_out_of_range`, `unsupported_dtype`.
    pub fn from_indices(pairs: Tensor<2, Int>, shape: [usize; 2]) -> Result<Self> {
        Ok(Self { pattern: coo_pattern("NodePairs::from_indices", pairs, &shape)? })
    }

    /// The stored elements of an adjacency, in their order: its edges.
    pub fn edges<P: Pattern>(adjacency: &SparseTensor<P, 2>) -> Self {
        let coordinates = adjacency.pattern().coordinates().clone();
        let pattern = CooPattern::new_unchecked(coordinates, adjacency.pattern().shape(), adjacency.is_coalesced());
        Self { pattern }
    }

    /// The pairs as [`from_indices`](Self::from_indices) takes them, `[2, n]`: rows, then columns.
    pub fn indices(&self) -> Tensor<2, Int> {
        self.pattern.indices().clone()
    }

    /// The pairs on the host. Reads them from the device.
    pub fn to_pairs(&self) -> Vec<(usize, usize)> {
        let ends = read_all(self.indices());
        let (rows, cols) = ends.split_at(self.len());
        rows.iter().zip(cols).map(|(&row, &col)| (row as usize, col as usize)).collect()
    }

    /// Number of pairs.
    pub fn len(&self) -> usize {
        self.pattern.nnz()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Checks embeddings `[M, F]` and `[N, F]`.
    fn check(&self, op: &'static str, left: &Tensor<2>, right: &Tensor<2>) -> Result<()> {
        let (shape, a, b) = (self.pattern.shape(), left.dims(), right.dims());
        if [a[0], b[0]] != *shape || a[1] != b[1] {
            let rule = "embeddings [M, F] and [N, F], got {left} (of both), must fit the pairs of {right}";
            return Err(SparseError::shape_mismatch(op, rule, [a, b].concat(), shape));
        }
        same_device(op, &left.device(), &self.pattern.indices().device())?;
        same_elements(op, left, right)
    }
}

/// The score `<l_i, r_j>` of each pair of nodes: embeddings `left [M, F]` and `right [N, F]` to `[pairs]`.
///
/// In one graph both are the same embeddings. The scores are logits: `sigmoid` gives probabilities. The rows are not
/// gathered: this is a [`masked_matmul`](sparse_ops::ops::masked_matmul()). Gradients reach both embeddings. Cost:
/// `O(pairs * F)` time and `O(pairs)` memory. (The decoder of PyG's `GAE`.)
///
/// Source: Kipf and Welling, *Variational graph auto-encoders*, 2016.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::nn::{NodePairs, dot_decoder};
///
/// let device = Device::flex();
/// let z = Tensor::<2>::from_floats([[1.0, 0.0], [2.0, 1.0], [0.0, 3.0]], &device);
/// let pairs = NodePairs::new(&[(0, 1), (1, 2)], [3, 3], &device).unwrap();
/// let scores = dot_decoder(z.clone(), z, &pairs);
/// assert_eq!(scores.into_data().iter::<f32>().collect::<Vec<_>>(), [2.0, 3.0]);
/// ```
///
/// # Errors
///
/// `shape_mismatch`, `dtype_mismatch`, `unsupported_dtype`, `device_mismatch`.
#[or_panic]
pub fn try_dot_decoder(left: Tensor<2>, right: Tensor<2>, pairs: &NodePairs) -> Result<Tensor<1>> {
    pairs.check("dot_decoder", &left, &right)?;
    let none = Tensor::<2>::zeros([pairs.len(), 1], (&left.device().inner(), left.dtype()));
    let mask = CooTensor::<2>::from_parts(pairs.pattern.clone(), none, vec![], Fill::Zero);
    try_masked_matmul(left, right.swap_dims(0, 1), &mask)?.try_values()
}

/// How an [`MlpDecoder`] combines the embeddings of two nodes.
#[derive(Config, Debug, Copy, PartialEq, Eq)]
pub enum Combine {
    /// Element by element, `l_i * r_j`: the same for `(i, j)` and `(j, i)`.
    Product,
    /// Side by side, `[l_i, r_j]`: for directed links.
    Concat,
}

/// Configuration of an [`MlpDecoder`].
#[derive(Config, Debug)]
pub struct MlpDecoderConfig {
    /// Number of features of an embedding.
    pub features: usize,
    /// Sizes of the hidden layers.
    pub hidden: Vec<usize>,
    /// How two embeddings are combined.
    #[config(default = "Combine::Product")]
    pub combine: Combine,
    /// Whether there is a batch norm after each hidden layer.
    #[config(default = false)]
    pub batch_norm: bool,
    /// The probability of dropout after each activation.
    #[config(default = 0.0)]
    pub dropout: f64,
}

/// The score `h(l_i, r_j)` of each pair of nodes, by an [`Mlp`] of the two embeddings. The scores are logits.
///
/// Memory: `O(pairs * features)`. (The link predictor of OGB's examples.)
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::nn::{MlpDecoderConfig, NodePairs};
///
/// let device = Device::flex();
/// let z = Tensor::<2>::ones([3, 4], &device);
/// let pairs = NodePairs::new(&[(0, 1), (1, 2)], [3, 3], &device).unwrap();
/// let decoder = MlpDecoderConfig::new(4, vec![8]).init(&device);
/// assert_eq!(decoder.forward(z.clone(), z, &pairs).dims(), [2]);
/// ```
#[derive(Module, Debug)]
pub struct MlpDecoder {
    /// The network on the combined embeddings.
    pub mlp: Mlp,
    #[module(skip)]
    combine: Combine,
    features: usize,
}

impl MlpDecoderConfig {
    /// A decoder on `device`.
    ///
    /// # Errors
    ///
    /// `invalid` for a dropout outside `[0, 1)`.
    #[or_panic]
    pub fn try_init(&self, device: &Device) -> Result<MlpDecoder> {
        let width = if self.combine == Combine::Concat { 2 * self.features } else { self.features };
        let sizes = [&[width], self.hidden.as_slice(), &[1]].concat();
        let mlp = MlpConfig::new(sizes).with_batch_norm(self.batch_norm).with_dropout(self.dropout);
        Ok(MlpDecoder { mlp: mlp.try_init(device)?, combine: self.combine, features: self.features })
    }
}

impl MlpDecoder {
    /// Embeddings `left [M, features]` and `right [N, features]` to scores `[pairs]`.
    ///
    /// # Errors
    ///
    /// `shape_mismatch`, `dtype_mismatch`, `unsupported_dtype`, `device_mismatch`.
    #[or_panic]
    pub fn try_forward(&self, left: Tensor<2>, right: Tensor<2>, pairs: &NodePairs) -> Result<Tensor<1>> {
        const OP: &str = "MlpDecoder::forward";
        pairs.check(OP, &left, &right)?;
        check_width(OP, left.dims(), self.features)?;
        same_elements(OP, &left, &self.mlp.linears[0].weight.val())?;
        if pairs.is_empty() {
            return Ok(Tensor::zeros([0], (&left.device(), left.dtype())));
        }
        let left = read_at(&pairs.pattern, 0, left);
        let right = read_at(&pairs.pattern, 1, right);
        let x = match self.combine {
            Combine::Product => left * right,
            Combine::Concat => Tensor::cat(vec![left, right], 1),
        };
        Ok(self.mlp.forward(x).reshape(Exact([pairs.len()])))
    }
}
