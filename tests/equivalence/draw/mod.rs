//! Random inputs, each as a sparse tensor on the device under test and as its dense variant on Flex.
//!
//! Every value is a multiple of 1/128 of modest size, so that sums of duplicates are exact in any order and in f32, and
//! a tie is a tie on both sides.

mod kind;
mod layout;

pub use kind::Drawn;
pub use layout::Build;

use burn::tensor::{DType, Device, Float, Gradients, Int, Tensor, TensorData};
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use sparse_tensor::pattern::Pattern;
use sparse_tensor::{Fill, FillValue, Kind, SparseTensor};

/// The columns of the coverage table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    Coo,
    Csr,
    /// COO with dense dims.
    Hybrid,
    /// CSR of rank 3.
    Batched,
    /// Of operations on dense tensors.
    Dense,
}

impl Layout {
    pub const ALL: [Self; 5] = [Self::Coo, Self::Csr, Self::Hybrid, Self::Batched, Self::Dense];

    pub fn name(self) -> &'static str {
        ["coo", "csr", "hybrid", "batched", "dense"][self as usize]
    }
}

/// Which numbers are drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Values {
    /// Of few steps, so that ties and zeros are common, or of many.
    Any,
    /// Away from zero.
    Nonzero,
    /// At least 1/2.
    Positive,
    /// 0, or at least 1/2.
    ZeroOrMore,
    /// At least 1 + 1/16.
    AboveOne,
    /// Within -0.9 and 0.9.
    Unit,
    /// Never equal to one of the others, nor to a whole number.
    Odd,
    /// NaN, infinities and minus zero among others. For draws without a gradient.
    Special,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fills {
    Any,
    /// For operations whose answer is sparse only then.
    Zero,
}

/// A sparse tensor as plain data.
#[derive(Clone, Debug)]
pub struct Host {
    pub shape: Vec<usize>,
    pub sparse_dims: usize,
    /// In storage order; duplicates mean their sum.
    pub coordinates: Vec<Vec<usize>>,
    /// One block a coordinate.
    pub values: Vec<f64>,
    /// One block.
    pub fill: Vec<f64>,
}

impl Host {
    pub fn block(&self) -> usize {
        self.shape[self.sparse_dims..].iter().product()
    }

    pub fn cells(&self) -> usize {
        self.shape[..self.sparse_dims].iter().product()
    }

    /// The narrowest dtype that the indices can have.
    fn index_dtype(&self) -> DType {
        sparse_burn::index_dtype_for(self.shape.iter().copied().max().unwrap_or(0).max(self.coordinates.len()))
    }

    /// Which cell each stored block stands in.
    pub fn owners(&self) -> Vec<usize> {
        let flat = |at: &Vec<usize>| at.iter().zip(&self.shape).fold(0, |flat, (index, size)| flat * size + index);
        self.coordinates.iter().map(flat).collect()
    }

    /// Whether each cell is specified.
    pub fn specified(&self) -> Vec<bool> {
        let mut specified = vec![false; self.cells()];
        self.owners().into_iter().for_each(|cell| specified[cell] = true);
        specified
    }

    /// Whether each element is specified.
    pub fn mask(&self) -> Vec<bool> {
        let block = self.block();
        self.specified().into_iter().flat_map(|specified| std::iter::repeat_n(specified, block)).collect()
    }

    pub fn dense(&self) -> Vec<f64> {
        let (block, owners) = (self.block(), self.owners());
        let mut dense: Vec<f64> = (0..self.cells()).flat_map(|_| self.fill.iter().copied()).collect();
        let mut seen = vec![false; self.cells()];
        for (row, &cell) in owners.iter().enumerate() {
            for k in 0..block {
                let (value, slot) = (self.values[row * block + k], &mut dense[cell * block + k]);
                *slot = if seen[cell] { *slot + value } else { value };
            }
            seen[cell] = true;
        }
        dense
    }
}

/// A sparse tensor and its dense equivalent.
pub struct Input<P: Pattern, const D: usize, K: Kind = Float> {
    pub sparse: SparseTensor<P, D, K>,
    pub dense: Tensor<D, K>,
    pub host: Host,
}

/// A dense operand on both sides.
pub struct Variant<const D: usize, K: Kind = Float> {
    /// On the device under test.
    pub own: Tensor<D, K>,
    /// On that of the reference.
    pub reference: Tensor<D, K>,
}

/// A fill that several inputs may share, as one tensor on the tape.
pub struct SharedFill {
    fill: Fill,
    host: Vec<f64>,
    leaf: Option<usize>,
}

type Read = Box<dyn Fn(&Gradients) -> Option<Vec<f64>>>;

/// A tensor whose gradient is compared.
pub struct Leaf {
    pub name: String,
    pub length: usize,
    /// The gradient found; `None` where nothing depends on the leaf.
    pub got: Read,
    /// What the dense variants say of it; they add up.
    pub wants: Vec<Read>,
}

fn ints<const D: usize>(list: Vec<i64>, shape: [usize; D], device: &Device, dtype: DType) -> Tensor<D, Int> {
    Tensor::from_data(TensorData::new(list, shape).convert_dtype(dtype), (&device.clone().inner(), dtype))
}

/// One draw: where its inputs come from, and the leaves whose gradients are compared.
pub struct Draw {
    pub rng: StdRng,
    pub layout: Layout,
    pub leaves: Vec<Leaf>,
    /// The inputs in words, for the report of a failure.
    pub inputs: Vec<String>,
    /// Whether a size of 0 was drawn: dense Burn does not answer all of these.
    pub has_empty: bool,
    tracked: bool,
    device: Device,
    reference: Device,
    float: DType,
    int: DType,
}

impl Draw {
    /// Floats of `dtype`, or of the widest that the device has.
    pub fn new(seed: u64, layout: Layout, tracked: bool, dtype: Option<DType>, device: &Device) -> Self {
        let on_tape = |device: Device| if tracked { device.autodiff() } else { device };
        let first = |wide: DType, narrow: DType| if device.supports_dtype(wide) { wide } else { narrow };
        Self {
            rng: StdRng::seed_from_u64(seed),
            layout,
            leaves: vec![],
            inputs: vec![],
            has_empty: false,
            tracked,
            device: on_tape(device.clone()),
            reference: on_tape(Device::flex()),
            float: dtype.unwrap_or(if sparse_dev::device::has_f64(device) { DType::F64 } else { DType::F32 }),
            int: first(DType::I64, DType::I32),
        }
    }

    /// Checkpoints gradients from here on.
    pub fn checkpoint(&mut self) {
        self.device = self.device.clone().gradient_checkpointing();
    }

    /// The dtype that floats have on the device under test.
    pub fn float(&self) -> DType {
        self.float
    }

    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Whether gradients are compared in this draw.
    pub fn tracked(&self) -> bool {
        self.tracked
    }

    pub fn below(&mut self, end: usize) -> usize {
        self.rng.random_range(0..end)
    }

    pub fn coin(&mut self) -> bool {
        self.rng.random_bool(0.5)
    }

    /// An axis of `0..rank`, counted from either end.
    pub fn axis(&mut self, rank: usize) -> isize {
        let axis = self.below(rank);
        self.signed(axis, rank)
    }

    /// The axis, perhaps counted from the end.
    pub fn signed(&mut self, axis: usize, rank: usize) -> isize {
        if self.coin() { axis as isize } else { axis as isize - rank as isize }
    }

    pub fn size(&mut self) -> usize {
        [0, 1, 1, 2, 2, 3, 3, 4, 5, 5][self.below(10)]
    }

    /// Sizes, each 0 now and then.
    pub fn shape<const D: usize>(&mut self) -> [usize; D] {
        std::array::from_fn(|_| self.size())
    }

    /// Sizes of at least 1.
    pub fn full_shape<const D: usize>(&mut self) -> [usize; D] {
        std::array::from_fn(|_| self.size().max(1))
    }

    /// Number of sparse dims that the layout gives a tensor of this rank.
    pub fn sparse_dims(&mut self, rank: usize) -> usize {
        if self.layout == Layout::Hybrid { self.rng.random_range(1..rank) } else { rank }
    }

    pub fn value(&mut self, values: Values) -> f64 {
        let rng = &mut self.rng;
        let grid = |rng: &mut StdRng, low: i32, high: i32| f64::from(rng.random_range(low..=high)) / 64.0;
        match values {
            Values::Any if rng.random_bool(0.5) => f64::from(rng.random_range(-3..=3)),
            Values::Any => grid(rng, -192, 192),
            Values::Nonzero => grid(rng, 32, 192) * if rng.random_bool(0.5) { 1.0 } else { -1.0 },
            Values::ZeroOrMore if rng.random_bool(0.4) => 0.0,
            Values::Positive | Values::ZeroOrMore => grid(rng, 32, 160),
            Values::AboveOne => grid(rng, 68, 160),
            Values::Unit => grid(rng, -57, 57),
            Values::Odd => f64::from(2 * rng.random_range(-192..192) + 1) / 128.0,
            Values::Special => match rng.random_range(0..10) {
                0 => f64::NAN,
                1 => f64::INFINITY,
                2 => f64::NEG_INFINITY,
                3 => -0.0,
                _ => grid(rng, -192, 192),
            },
        }
    }

    pub fn values(&mut self, count: usize, values: Values) -> Vec<f64> {
        let list = (0..count).map(|_| self.value(values)).collect();
        self.rounded(list)
    }

    /// A result as the dtype under test has it: what is too large for 16 bits is infinite.
    pub fn stored(&self, list: &[f64]) -> Vec<f64> {
        let half = matches!(self.float, DType::F16 | DType::BF16);
        if half { self.rounded(list.to_vec()) } else { list.to_vec() }
    }

    /// The numbers as the dtype under test has them.
    fn rounded(&self, list: Vec<f64>) -> Vec<f64> {
        let length = list.len();
        TensorData::new(list, [length]).convert_dtype(self.float).iter::<f64>().collect()
    }

    /// Stored elements of a tensor: none, all or some; for COO also in any order and with duplicates.
    fn host(&mut self, shape: &[usize], sparse_dims: usize, values: Values, fill: &[f64], whole: bool) -> Host {
        let (sparse, dense) = shape.split_at(sparse_dims);
        let (cells, block): (usize, usize) = (sparse.iter().product(), dense.iter().product());
        let share = [0.0, 1.0, 0.2, 0.4, 0.6, 0.8][self.below(6)];
        let loose = matches!(self.layout, Layout::Coo | Layout::Hybrid) && self.coin();
        let mut rows: Vec<(usize, Vec<f64>)> = vec![];
        for cell in 0..cells {
            if !self.rng.random_bool(share) {
                continue;
            }
            let mut rest = self.values(block, values);
            if whole {
                rest.iter_mut().for_each(|value| *value = value.trunc());
            }
            while loose && values != Values::Special && self.rng.random_bool(0.25) {
                let part: Vec<f64> = self.values(block, Values::Any).into_iter().map(f64::trunc).collect();
                rest.iter_mut().zip(&part).for_each(|(rest, part)| *rest -= part);
                rows.push((cell, part));
            }
            rows.push((cell, self.rounded(rest)));
        }
        if loose {
            rows.shuffle(&mut self.rng);
        }
        let coordinates = rows.iter().map(|&(cell, _)| unravel(cell, sparse)).collect();
        let values = rows.into_iter().flat_map(|(_, row)| row).collect();
        self.has_empty |= shape.contains(&0);
        Host { shape: shape.to_vec(), sparse_dims, coordinates, values, fill: fill.to_vec() }
    }

    /// A leaf on the tape in most draws that compare gradients.
    fn is_leaf(&mut self) -> bool {
        let chosen = self.rng.random_bool(0.85);
        self.tracked && chosen
    }

    fn floats<const D: usize>(&self, list: &[f64], shape: [usize; D], reference: bool) -> Tensor<D> {
        let (device, dtype) = if reference { (&self.reference, DType::F64) } else { (&self.device, self.float) };
        Tensor::from_data(TensorData::new(list.to_vec(), shape).convert_dtype(dtype), (device, dtype))
    }

    /// Makes a tensor a leaf with a name, and gives its place in the list.
    fn leaf<const D: usize>(&mut self, name: String, tensor: Tensor<D>) -> (Tensor<D>, usize) {
        let leaf = tensor.require_grad();
        let (own, length) = (leaf.clone(), leaf.shape().num_elements());
        self.leaves.push(Leaf { name, length, got: Box::new(move |grads| gradient(&own, grads)), wants: vec![] });
        (leaf, self.leaves.len() - 1)
    }

    /// A fill for blocks of the dense dims; where `single`, one number whatever the block is.
    fn fill(&mut self, block: usize, values: Values, fills: Fills, single: bool) -> SharedFill {
        let number = self.values(1, values)[0];
        match (fills, self.below(3)) {
            (Fills::Any, 1) => SharedFill { fill: Fill::scalar(number), host: vec![number], leaf: None },
            (Fills::Any, 2) => {
                let length = if single || self.coin() { 1 } else { block };
                let host = self.values(length, values);
                let mut tensor = self.floats(&host, [length], false);
                let mut leaf = None;
                if self.is_leaf() {
                    let (made, at) = self.leaf(format!("fill {}", self.leaves.len()), tensor);
                    (tensor, leaf) = (made, Some(at));
                }
                SharedFill { fill: Fill::tensor(tensor), host, leaf }
            }
            // Zero is only a legal fill for values that may be zero; elsewhere it is a number of its class.
            (Fills::Any, _) if !matches!(values, Values::Any | Values::Unit | Values::Special | Values::ZeroOrMore) => {
                SharedFill { fill: Fill::scalar(number), host: vec![number], leaf: None }
            }
            _ => SharedFill { fill: Fill::Zero, host: vec![0.0], leaf: None },
        }
    }

    /// A tensor of any shape with any fill.
    pub fn sparse<P: Build, const D: usize, K: Drawn>(&mut self, values: Values) -> Input<P, D, K> {
        let shape = self.shape();
        let dims = self.sparse_dims(D);
        self.shaped(shape, dims, values, Fills::Any)
    }

    /// A tensor of any shape whose sizes are at least 1.
    pub fn full<P: Build, const D: usize, K: Drawn>(&mut self, values: Values) -> Input<P, D, K> {
        let shape = self.full_shape();
        let dims = self.sparse_dims(D);
        self.shaped(shape, dims, values, Fills::Any)
    }

    /// A tensor of fill zero, for operations whose answer is sparse only then.
    pub fn unfilled<P: Build, const D: usize, K: Drawn>(&mut self, values: Values) -> Input<P, D, K> {
        let shape = self.shape();
        let dims = self.sparse_dims(D);
        self.shaped(shape, dims, values, Fills::Zero)
    }

    /// A tensor of the same shape and layout with a pattern and fill of its own.
    pub fn second_operand<P: Build, const D: usize, K: Drawn>(
        &mut self,
        other: &Input<P, D, impl Kind>,
        values: Values,
    ) -> Input<P, D, K> {
        self.shaped(other.sparse.dims(), other.host.sparse_dims, values, Fills::Any)
    }

    /// A tensor of the given shape.
    pub fn shaped<P: Build, const D: usize, K: Drawn>(
        &mut self,
        shape: [usize; D],
        sparse_dims: usize,
        values: Values,
        fills: Fills,
    ) -> Input<P, D, K> {
        let shared = K::shared(self, shape[sparse_dims..].iter().product(), values, fills, false);
        let mut input = K::input(self, shape, sparse_dims, values, &shared);
        let tracked = matches!(input.sparse.fill(), Fill::Value(FillValue::Block(_)));
        let wild = fills == Fills::Any && !tracked && input.sparse.dtype().is_float();
        // Where every element is stored, no fill has any influence.
        if wild && input.host.specified().iter().all(|&stored| stored) && self.coin() {
            let wild = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY][self.below(3)];
            self.inputs.push(format!("its fill, which no element has, is {wild}"));
            input.sparse = input.sparse.with_fill(Fill::scalar(wild));
        }
        input
    }

    /// A tensor with a fill that it shares with others.
    fn filled<P: Build, const D: usize>(
        &mut self,
        shape: [usize; D],
        sparse_dims: usize,
        values: Values,
        fill: &SharedFill,
    ) -> Input<P, D> {
        let block: usize = shape[sparse_dims..].iter().product();
        let own: Vec<f64> = if fill.host.len() == 1 { vec![fill.host[0]; block] } else { fill.host.clone() };
        let host = self.host(&shape, sparse_dims, values, &own, false);
        let (nnz, dense) = (host.coordinates.len(), &shape[sparse_dims..]);
        let (sparse, leaf) = match *dense {
            [] => self.assemble::<P, D, 1>(&host, [nnz]),
            [a] => self.assemble::<P, D, 2>(&host, [nnz, a]),
            [a, b] => self.assemble::<P, D, 3>(&host, [nnz, a, b]),
            _ => panic!("at most two dense dims"),
        };
        let sparse = sparse.with_fill(fill.fill.clone());
        let mut variant = self.floats(&host.dense(), shape, true);
        if leaf.is_some() || fill.leaf.is_some() {
            variant = variant.require_grad();
        }
        if let Some(leaf) = leaf {
            let (dense, owners) = (variant.clone(), host.owners());
            self.leaves[leaf].wants.push(Box::new(move |grads| {
                let grad = gradient(&dense, grads)?;
                Some(owners.iter().flat_map(|&cell| grad[cell * block..(cell + 1) * block].to_vec()).collect())
            }));
        }
        if let Some(leaf) = fill.leaf {
            let (dense, specified, length) = (variant.clone(), host.specified(), fill.host.len());
            self.leaves[leaf].wants.push(Box::new(move |grads| {
                let grad = gradient(&dense, grads)?;
                let mut sums = vec![0.0; length];
                for (cell, _) in specified.iter().enumerate().filter(|(_, specified)| !**specified) {
                    (0..block).for_each(|k| sums[k % length] += grad[cell * block + k]);
                }
                Some(sums)
            }));
        }
        self.inputs.push(format!("{} {:?}, fill {:?} as {:?}", P::LAYOUT, host, fill.host, fill.fill));
        Input { sparse, dense: variant, host }
    }

    fn assemble<P: Build, const D: usize, const R: usize>(
        &mut self,
        host: &Host,
        shape: [usize; R],
    ) -> (SparseTensor<P, D>, Option<usize>) {
        let mut values = self.floats(&host.values, shape, false);
        let mut leaf = None;
        if self.is_leaf() {
            let (made, at) = self.leaf(format!("values {}", self.leaves.len()), values);
            (values, leaf) = (made, Some(at));
        }
        let index = if self.coin() { self.int } else { host.index_dtype() };
        (P::build(host, values, index), leaf)
    }

    /// A dense operand.
    pub fn dense<const D: usize, K: Drawn>(&mut self, shape: [usize; D], values: Values) -> Variant<D, K> {
        K::variant(self, shape, values)
    }

    fn dense_float<const D: usize>(&mut self, shape: [usize; D], values: Values) -> Variant<D> {
        let list = self.values(shape.iter().product(), values);
        self.inputs.push(format!("dense {shape:?} {list:?}"));
        self.has_empty |= shape.contains(&0);
        let (mut own, mut reference) = (self.floats(&list, shape, false), self.floats(&list, shape, true));
        if self.is_leaf() {
            let (made, at) = self.leaf(format!("dense {}", self.leaves.len()), own);
            (own, reference) = (made, reference.require_grad());
            let variant = reference.clone();
            self.leaves[at].wants.push(Box::new(move |grads| gradient(&variant, grads)));
        }
        Variant { own, reference }
    }

    /// Indices below `size` on the device under test, some counted from the end, and as plain data.
    pub fn index(&mut self, count: usize, size: usize) -> (Tensor<1, Int>, Vec<usize>) {
        let plain: Vec<usize> = (0..count).map(|_| self.below(size)).collect();
        (self.signed_index(&plain, &vec![size; count], [count]), plain)
    }

    /// Indices that count from either end of `sizes[k]`, on the device under test.
    pub fn signed_index<const D: usize>(
        &mut self,
        plain: &[usize],
        sizes: &[usize],
        shape: [usize; D],
    ) -> Tensor<D, Int> {
        let from_end = |draw: &mut Self, at: usize, size| if draw.coin() { at as i64 - size as i64 } else { at as i64 };
        let signed: Vec<i64> = plain.iter().zip(sizes).map(|(&at, &size)| from_end(self, at, size)).collect();
        self.inputs.push(format!("index {shape:?} {signed:?}"));
        ints(signed, shape, &self.device, self.int)
    }
}

fn gradient<const D: usize>(leaf: &Tensor<D>, grads: &Gradients) -> Option<Vec<f64>> {
    leaf.grad(grads).map(|grad| grad.into_data().iter::<f64>().collect())
}

pub fn unravel(flat: usize, shape: &[usize]) -> Vec<usize> {
    let mut rest = flat;
    let mut at: Vec<usize> = shape
        .iter()
        .rev()
        .map(|&size| {
            let index = rest % size;
            rest /= size;
            index
        })
        .collect();
    at.reverse();
    at
}
