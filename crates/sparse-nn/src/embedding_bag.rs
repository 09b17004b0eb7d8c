//! Sums, means and maxima of embeddings.

use super::features::check_width;
use burn::config::Config;
use burn::module::{Module, Param};
use burn::nn::Initializer;
use burn::tensor::{Device, FloatDType, Int, Tensor};
use sparse_macros::or_panic;
use sparse_ops::extend::{
    Exact, coo_pattern, index_tensor, ints, kernel, read_all, same_device, same_elements, signed, wide,
};
use sparse_ops::ops::Reduce;
use sparse_ops::pattern::{CooPattern, Pattern};
use sparse_ops::{CooTensor, Result, SparseError};

/// How the embeddings of a bag become one.
#[derive(Config, Debug, Copy, PartialEq, Eq)]
pub enum BagMode {
    /// Their sum, each times its weight if there are weights.
    Sum,
    /// Their mean.
    Mean,
    /// The largest of each feature. Gradients of ties are shared evenly.
    Max,
}

/// Lists of ids, such as the words of each text, checked once.
///
/// Bag `b` has the ids at positions `offsets[b] .. offsets[b + 1]`; the last bag goes to the end. An id may be in a bag
/// several times. (The `input` and `offsets` of PyTorch's `EmbeddingBag`.)
///
/// What a product needs of the ids, such as their order by id, is computed on first need and kept here. So keep the
/// bags of a batch that is used again.
#[derive(Clone, Debug)]
pub struct Bags {
    /// A row for each bag and a column for each id; duplicates stay.
    pattern: CooPattern,
    /// Number of ids in each bag, `[bags]`.
    counts: Tensor<1, Int>,
}

impl Bags {
    /// Bags of `ids` `[n]` in `[0, embeddings)` that start at `offsets` `[bags]`. Reads the offsets, and whether an id
    /// is wrong, from the device.
    ///
    /// # Errors
    ///
    /// `invalid` if the offsets do not start at 0, descend, or pass the end of the ids; `index_out_of_range`,
    /// `device_mismatch`.
    pub fn new(ids: Tensor<1, Int>, offsets: Tensor<1, Int>, embeddings: usize) -> Result<Self> {
        const OP: &str = "Bags::new";
        same_device(OP, &ids.device(), &offsets.device())?;
        let (ids, [length], [bags]) = (signed(ids.clone()), ids.dims(), offsets.dims());
        let mut ends = if bags == 0 { vec![] } else { read_all(signed(offsets)) };
        if ends.first().map_or(length > 0, |&first| first != 0) {
            let message = format!("offsets must start at 0, got {:?} for {length} ids", ends.first());
            return Err(SparseError::invalid(OP, message));
        }
        ends.push(length as i64);
        if let Some(at) = ends.windows(2).position(|pair| pair[0] > pair[1]) {
            let (start, end) = (ends[at], ends[at + 1]);
            let message = format!("offsets must ascend up to {length} ids, got {start} and then {end} at {at}");
            return Err(SparseError::invalid(OP, message));
        }
        let counts: Vec<i64> = ends.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let device = ids.device();
        let coordinates = if length == 0 {
            Tensor::empty([2, 0], (&device, ids.dtype()))
        } else {
            let ptr = index_tensor(ints(ends, [bags + 1], &device), ids.dtype());
            let rows = kernel::expand_ptr(&ptr, length);
            Tensor::cat(vec![rows.reshape(Exact([1, length])), ids.reshape(Exact([1, length]))], 0)
        };
        let pattern = coo_pattern(OP, coordinates, &[bags, embeddings])?;
        Ok(Self { pattern, counts: ints(counts, [bags], &device) })
    }

    /// Number of bags.
    pub fn len(&self) -> usize {
        self.pattern.shape()[0]
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Configuration of an [`EmbeddingBag`].
#[derive(Config, Debug)]
pub struct EmbeddingBagConfig {
    /// Number of embeddings.
    pub embeddings: usize,
    /// Number of features of an embedding.
    pub features: usize,
    /// How the embeddings of a bag become one.
    #[config(default = "BagMode::Mean")]
    pub mode: BagMode,
    /// How the table is initialised. The default is the standard normal distribution.
    #[config(default = "Initializer::Normal{mean:0.0,std:1.0}")]
    pub initializer: Initializer,
}

/// Embeddings of lists of ids: for each bag the sum, mean or maximum of the rows of a table.
///
/// `sum: out[b] = sum_k w_k table[id_k]` over the ids of bag `b`. An empty bag gives 0. This is a product of a sparse
/// matrix `[bags, embeddings]` with the table, so the rows are never gathered. For features that are a sparse matrix
/// already (weights or counts of words) use its [`matmul`](sparse_ops::SparseTensor::matmul) with the table. Gradients
/// reach the table and the weights. (PyTorch's `EmbeddingBag`.)
///
/// Cost: `O(n * features)` for `n` ids; in memory `O(n)` besides the result and, in the backward pass, the gradient of
/// the table.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::nn::{Bags, EmbeddingBagConfig};
///
/// let device = Device::flex();
/// // Two texts: words 4, 1, 4 and word 2.
/// let ids = Tensor::from_ints([4, 1, 4, 2], &device);
/// let bags = Bags::new(ids, Tensor::from_ints([0, 3], &device), 10).unwrap();
/// let layer = EmbeddingBagConfig::new(10, 3).init(&device);
/// assert_eq!(layer.forward(&bags).dims(), [2, 3]);
/// ```
#[derive(Module, Debug)]
pub struct EmbeddingBag {
    /// The table, `[embeddings, features]`.
    pub weight: Param<Tensor<2>>,
    #[module(skip)]
    mode: BagMode,
}

impl EmbeddingBagConfig {
    /// A layer on `device`.
    pub fn init(&self, device: &Device) -> EmbeddingBag {
        EmbeddingBag { weight: self.initializer.init([self.embeddings, self.features], device), mode: self.mode }
    }
}

impl EmbeddingBag {
    /// One row for each bag: `[bags, features]`.
    ///
    /// # Errors
    ///
    /// `shape_mismatch` for bags of another number of embeddings; `unsupported_dtype`, `device_mismatch`.
    #[or_panic]
    pub fn try_forward(&self, bags: &Bags) -> Result<Tensor<2>> {
        self.run("EmbeddingBag::forward", bags, None)
    }

    /// One row for each bag, with a weight for each id: `[bags, features]`. Only with [`BagMode::Sum`], as in PyTorch.
    ///
    /// # Errors
    ///
    /// As [`try_forward`](Self::try_forward); `length_mismatch` if there is not one weight for each id;
    /// `dtype_mismatch`; `invalid` for another mode.
    #[or_panic]
    pub fn try_forward_weighted(&self, bags: &Bags, weights: Tensor<1>) -> Result<Tensor<2>> {
        const OP: &str = "EmbeddingBag::forward_weighted";
        if self.mode != BagMode::Sum {
            return Err(SparseError::invalid(OP, format!("use BagMode::Sum: weights need a sum, got {:?}", self.mode)));
        }
        let (expected, [got]) = (bags.pattern.nnz(), weights.dims());
        if expected != got {
            return Err(SparseError::length_mismatch(OP, "the weights", expected, got));
        }
        same_elements(OP, &weights, &self.weight.val())?;
        self.run(OP, bags, Some(weights))
    }

    fn run(&self, op: &'static str, bags: &Bags, weights: Option<Tensor<1>>) -> Result<Tensor<2>> {
        let table = self.weight.val();
        check_width(op, [bags.len(), bags.pattern.shape()[1]], table.dims()[0])?;
        same_device(op, &table.device(), &bags.pattern.device())?;
        let options = (&table.device().inner(), table.dtype());
        let matrix = |pattern: &CooPattern, weights: Option<Tensor<1>>| {
            let values = weights.unwrap_or_else(|| Tensor::ones([pattern.nnz()], options));
            CooTensor::<2>::from_pattern(pattern.clone(), values)
        };
        match self.mode {
            BagMode::Sum => matrix(&bags.pattern, weights)?.try_matmul(table),
            BagMode::Mean => {
                // The sum of a large bag may be out of the range of a 16-bit float, where the mean is not.
                let dtype = table.dtype();
                let table = wide(table);
                let ones = Tensor::<1>::ones([bags.pattern.nnz()], (&table.device().inner(), table.dtype()));
                let sums = CooTensor::<2>::from_pattern(bags.pattern.clone(), ones)?.try_matmul(table)?;
                let counts = bags.counts.clone().clamp_min(1).reshape(Exact([bags.len(), 1]));
                let counts = counts.cast(FloatDType::from(sums.dtype()));
                Ok((sums / counts).cast(dtype))
            }
            BagMode::Max => {
                // A maximum counts an id once: the values of the merged pattern are ones again.
                let merged = matrix(&bags.pattern, None)?.coalesce();
                matrix(merged.pattern(), None)?.try_matmul_reduce(table, Reduce::Amax)
            }
        }
    }
}
