//! Aggregations: how the rows of a segment become one.

use super::features::{Features, check_width};
use super::recurrent::{gru_step, lstm_step};
use super::segments::{self, edge_softmax};
use burn::config::Config;
use burn::module::{Module, Param};
use burn::nn::{Gru, GruConfig, Initializer, Lstm, LstmConfig};
use burn::tensor::{Device, Shape, Tensor};
use sparse_macros::or_panic;
use sparse_ops::extend::{
    Exact, Parts, add_bias, expand, linear, matmul_linear, read_at, reduce_rows, same_elements, sum_dim, wide,
};
use sparse_ops::ops::{Epilogue, Reduce};
use sparse_ops::pattern::{CsrPattern, Pattern};
use sparse_ops::{CsrTensor, Result, SparseError};

/// How the rows of a segment become one row: the messages of a target, or the nodes of a graph.
///
/// A segment without rows gives 0, but 1 for a product; for a power mean, an LSTM, Set2Set and a tree see there.
#[derive(Config, Debug, PartialEq)]
pub enum Aggregation {
    /// The sum.
    Add,
    /// The mean.
    Mean,
    /// The largest of each feature. Gradients of ties are shared evenly.
    Max,
    /// The smallest of each feature. Gradients of ties are shared evenly.
    Min,
    /// The product.
    Mul,
    /// `mean(x^2) - mean(x)^2`.
    Var,
    /// The root of the variance; 0, without a gradient, for a variance of at most 1e-5.
    Std,
    /// The lower median: of an even number of rows the smaller one of the two in the middle.
    Median,
    /// A quantile in `[0, 1]`, interpolated between the two nearest rows.
    Quantile(f64),
    /// `sum_k softmax_k(t x_k) x_k` for each feature, with the temperature `t`.
    Softmax(Coefficient),
    /// `(mean_k x_k^p)^(1/p)` for each feature. Rows and their mean are clamped to `[1e-4, 100]`, so a segment without
    /// rows gives `1e-4^(1/p)`. A fixed power of 1 is the mean.
    PowerMean(Coefficient),
    /// The last output of an LSTM with this many features over the rows, padded with zeros to the longest segment.
    /// A segment without rows is one of zeros.
    Lstm(usize),
    /// Set2Set with this many steps: an LSTM asks, and attention over the rows answers. Gives twice as many
    /// features, the question and the answer; the answer of a segment without rows is 0.
    Set2Set(usize),
    /// The first so many rows by falling last feature, side by side, with zeros where there are fewer.
    Sort(usize),
    /// Pairs of rows become one, again and again, until one is left: `(GRU(a, b) + GRU(b, a)) / 2`, where the second
    /// one is the state. All segments have zeros after their rows, up to the longest one.
    Tree,
    /// Several, side by side.
    Several(Vec<Aggregation>),
}

/// A number of an [`Aggregation`].
#[derive(Config, Debug, Copy, PartialEq)]
pub enum Coefficient {
    /// It stays.
    Fixed(f64),
    /// It is trained from this value.
    Trained(f64),
    /// There is one for each feature, trained from this value.
    TrainedEach(f64),
}

impl Aggregation {
    /// The module for rows of `d_input` features, with its parameters on `device`.
    ///
    /// # Errors
    ///
    /// `invalid` for a quantile outside of `[0, 1]`, and for several of none.
    #[or_panic]
    pub fn try_init(&self, d_input: usize, device: &Device) -> Result<Aggregator> {
        let mut parts = vec![];
        self.parts(d_input, device, &mut parts)?;
        Ok(Aggregator { parts })
    }

    /// Features of the result for rows of `d_input` features.
    pub fn d_output(&self, d_input: usize) -> usize {
        match self {
            Self::Lstm(d_hidden) => *d_hidden,
            Self::Set2Set(_) => 2 * d_input,
            Self::Sort(count) => count * d_input,
            Self::Several(all) => all.iter().map(|one| one.d_output(d_input)).sum(),
            _ => d_input,
        }
    }

    /// The reduction of [`matmul_reduce`](sparse_ops::SparseTensor::matmul_reduce), if it is one.
    pub fn reduce(&self) -> Option<Reduce> {
        match self {
            Self::Add => Some(Reduce::Add),
            Self::Mean => Some(Reduce::Mean),
            Self::Max => Some(Reduce::Amax),
            Self::Min => Some(Reduce::Amin),
            _ => None,
        }
    }

    /// [`try_init`](Self::try_init) for a layer that adds the result to rows of the same width.
    pub(super) fn init_same(&self, op: &'static str, width: usize, device: &Device) -> Result<Aggregator> {
        let got = self.d_output(width);
        if got != width {
            let message = format!("the aggregation must keep the number of features, got {width} and {got}");
            return Err(SparseError::invalid(op, message));
        }
        self.try_init(width, device)
    }

    fn parts(&self, d_input: usize, device: &Device, parts: &mut Vec<AggregatorPart>) -> Result<()> {
        let trained = |value, size| Some(Initializer::Constant { value }.init([size], device));
        let lstm = |d_input, d_hidden| Some(LstmConfig::new(d_input, d_hidden, true).init(device));
        let tree = matches!(self, Self::Tree).then(|| GruConfig::new(d_input, d_input, true).init(device));
        let (coefficient, lstm) = match self {
            Self::Several(all) if all.is_empty() => {
                return Err(SparseError::invalid("Aggregation::init", "there must be an aggregation, got none"));
            }
            Self::Several(all) => return all.iter().try_for_each(|one| one.parts(d_input, device, parts)),
            Self::Quantile(q) if !(0.0..=1.0).contains(q) => {
                return Err(SparseError::invalid("Aggregation::init", format!("a quantile is in [0, 1], got {q}")));
            }
            Self::Softmax(Coefficient::Trained(value)) | Self::PowerMean(Coefficient::Trained(value)) => {
                (trained(*value, 1), None)
            }
            Self::Softmax(Coefficient::TrainedEach(value)) | Self::PowerMean(Coefficient::TrainedEach(value)) => {
                (trained(*value, d_input), None)
            }
            Self::Lstm(d_hidden) => (None, lstm(d_input, *d_hidden)),
            Self::Set2Set(_) => (None, lstm(2 * d_input, d_input)),
            _ => (None, None),
        };
        parts.push(AggregatorPart { coefficient, lstm, gru: tree, aggregation: self.clone(), d_input });
        Ok(())
    }
}

/// What reduces each segment of rows to one row: a [`Reduce`], an [`Aggregator`], or a type of your own.
pub trait Aggregate {
    /// Rows `[nnz, F]` at the elements of a matrix pattern to one row for each row of it, `[M, F']`.
    ///
    /// # Errors
    ///
    /// Those of the operations in it. [`Edges::try_aggregate`](super::Edges::try_aggregate) has checked that there is a
    /// row for each element.
    fn aggregate(&self, segments: &CsrPattern, rows: Tensor<2>) -> Result<Tensor<2>>;
}

impl<A: Aggregate> Aggregate for &A {
    fn aggregate(&self, segments: &CsrPattern, rows: Tensor<2>) -> Result<Tensor<2>> {
        (**self).aggregate(segments, rows)
    }
}

impl Aggregate for Reduce {
    fn aggregate(&self, segments: &CsrPattern, rows: Tensor<2>) -> Result<Tensor<2>> {
        if *self == Self::Assign {
            let message = "reduce must be add, mul, mean, amax or amin, got assign";
            return Err(SparseError::invalid("Edges::aggregate", message));
        }
        Ok(reduce_rows(segments, rows, *self))
    }
}

/// An [`Aggregation`] with its parameters.
///
/// Gradients reach the rows and the parameters. Costs: one pass over the rows, two for a variance; a sort of each
/// feature for a quantile, which on a GPU reads the rows; for an LSTM as many steps as the longest segment has rows,
/// whose length is read from the device.
///
/// Sources: softmax and power mean: Li et al., *DeeperGCN*, 2020; LSTM: Hamilton et al., *Inductive representation
/// learning on large graphs*, 2017; Set2Set: Vinyals et al., *Order matters*, ICLR 2016; sort: Zhang et al., *An
/// end-to-end deep learning architecture for graph classification*, AAAI 2018; tree: Ong, Veličković, *Learnable
/// commutative monoids for graph neural networks*, LoG 2022. (PyG's `nn.aggr`; its `LCMAggregation` is a tree, after a
/// linear map and a ReLU if it projects.)
///
/// ```
/// use burn::tensor::{Device, Shape, Tensor};
/// use sparse_tensor::{CsrTensor, nn::{Aggregation, Edges}};
///
/// let device = Device::flex();
/// let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[1.0, 1.0, 1.0], [0.0; 3], [0.0; 3]], &device));
/// let x = Tensor::<2>::from_floats([[1.0], [2.0], [9.0]], &device);
/// let edges = Edges::new(&a, x);
/// let both = Aggregation::Several(vec![Aggregation::Median, Aggregation::Mean]).init(1, &device);
/// let out = edges.aggregate(edges.source(), &both);
/// assert_eq!(out.into_data().iter::<f32>().collect::<Vec<_>>(), [2.0, 4.0, 0.0, 0.0, 0.0, 0.0]);
/// ```
#[derive(Module, Debug)]
pub struct Aggregator {
    /// The aggregations, whose results are side by side.
    pub parts: Vec<AggregatorPart>,
}

/// One of the aggregations of an [`Aggregator`].
#[derive(Module, Debug)]
pub struct AggregatorPart {
    /// The temperature or the power, `[1]` or `[d_input]`, if it is trained.
    pub coefficient: Option<Param<Tensor<1>>>,
    /// The LSTM, if there is one.
    pub lstm: Option<Lstm>,
    /// The GRU of a tree, if it is one.
    pub gru: Option<Gru>,
    #[module(skip)]
    aggregation: Aggregation,
    d_input: usize,
}

impl Aggregator {
    /// The one reduction that it is, if it is one of [`matmul_reduce`](sparse_ops::SparseTensor::matmul_reduce).
    pub(super) fn reduce(&self) -> Option<Reduce> {
        match &self.parts[..] {
            [one] => one.aggregation.reduce(),
            _ => None,
        }
    }
}

impl Aggregate for Aggregator {
    fn aggregate(&self, segments: &CsrPattern, rows: Tensor<2>) -> Result<Tensor<2>> {
        let (expected, got) = (segments.nnz(), rows.dims()[0]);
        if expected != got {
            return Err(SparseError::length_mismatch("Aggregator::aggregate", "the rows", expected, got));
        }
        let mut parts =
            self.parts.iter().map(|part| part.aggregate(segments, rows.clone())).collect::<Result<Vec<_>>>()?;
        Ok(if parts.len() == 1 { parts.remove(0) } else { Tensor::cat(parts, 1) })
    }
}

impl AggregatorPart {
    /// Checks the rows against the parameters, if there are any.
    fn check(&self, rows: &Tensor<2>) -> Result<()> {
        const OP: &str = "Aggregator::aggregate";
        if let Some(coefficient) = &self.coefficient {
            same_elements(OP, rows, &coefficient.val())?;
        }
        if let Some(lstm) = &self.lstm {
            same_elements(OP, rows, &lstm.output_gate.input_transform.weight.val())?;
        }
        if let Some(gru) = &self.gru {
            same_elements(OP, rows, &gru.new_gate.input_transform.weight.val())?;
        }
        if self.coefficient.is_none() && self.lstm.is_none() && self.gru.is_none() {
            return Ok(());
        }
        check_width(OP, rows.dims(), self.d_input)
    }

    fn aggregate(&self, segments: &CsrPattern, rows: Tensor<2>) -> Result<Tensor<2>> {
        self.check(&rows)?;
        let dtype = rows.dtype();
        let reduce = |rows, how| reduce_rows(segments, rows, how);
        let quantile = |rows, q, lower| segments::quantile(segments, rows, q, lower);
        Ok(match &self.aggregation {
            Aggregation::Add => reduce(rows, Reduce::Add),
            Aggregation::Mean => reduce(rows, Reduce::Mean),
            Aggregation::Max => reduce(rows, Reduce::Amax),
            Aggregation::Min => reduce(rows, Reduce::Amin),
            Aggregation::Mul => {
                let empty = segments::degrees(segments, rows.dtype()).equal_scalar(0.0);
                let [_, width] = rows.dims();
                let out = reduce(rows, Reduce::Mul);
                out.mask_fill(empty.expand(Shape::from([segments.rows(), width])), 1.0)
            }
            Aggregation::Var => variance(segments, rows).cast(dtype),
            Aggregation::Std => {
                let variance = variance(segments, rows);
                let small = variance.clone().lower_equal_scalar(SMALL);
                // The root of 0 has no gradient.
                variance.mask_fill(small.clone(), 1.0).sqrt().mask_fill(small, 0.0).cast(dtype)
            }
            Aggregation::Median => quantile(rows, 0.5, true),
            Aggregation::Quantile(q) => quantile(rows, *q, false),
            Aggregation::Softmax(temperature) => {
                let scores = match self.coefficient(&rows, *temperature) {
                    Some(temperature) => rows.clone() * temperature,
                    None => rows.clone(),
                };
                reduce(edge_softmax(segments, scores)?.rows().clone() * rows, Reduce::Add)
            }
            Aggregation::PowerMean(power) => match self.coefficient(&rows, *power) {
                None => reduce(rows, Reduce::Mean),
                Some(at_rows) => {
                    let mean = reduce(rows.clamp(RANGE[0], RANGE[1]).powf(at_rows), Reduce::Mean);
                    let at_mean = self.coefficient(&mean, *power).expect("it is not 1");
                    mean.clamp(RANGE[0], RANGE[1]).powf(at_mean.recip())
                }
            },
            Aggregation::Lstm(_) => self.last_output(segments, rows),
            Aggregation::Set2Set(steps) => self.set2set(segments, rows, *steps)?,
            Aggregation::Sort(count) => segments::largest(segments, rows, *count),
            Aggregation::Tree => self.tree(segments, rows),
            Aggregation::Several(_) => unreachable!("its aggregations are parts"),
        })
    }

    /// The coefficient at each element of `rows`, if it is not 1.
    fn coefficient(&self, rows: &Tensor<2>, given: Coefficient) -> Option<Tensor<2>> {
        let [count, width] = rows.dims();
        let row = match (&self.coefficient, given) {
            (Some(trained), _) => trained.val().unsqueeze::<2>(),
            (None, Coefficient::Fixed(1.0)) => return None,
            (None, Coefficient::Fixed(value) | Coefficient::Trained(value) | Coefficient::TrainedEach(value)) => {
                Tensor::full([1, 1], value, (&rows.device(), rows.dtype()))
            }
        };
        Some(expand(row, [count, width]))
    }

    /// The last output of the LSTM over the rows of each segment.
    fn last_output(&self, segments: &CsrPattern, rows: Tensor<2>) -> Tensor<2> {
        let lstm = self.lstm.as_ref().expect("made with the part");
        let batch = segments::padded(segments, rows, None);
        let [count, longest, width] = batch.dims();
        let mut state = [(); 2].map(|()| Tensor::zeros([count, lstm.d_hidden], (&batch.device(), batch.dtype())));
        for at in 0..longest {
            state = lstm_step(lstm, batch.clone().narrow(1, at, 1).reshape([count, width]), state);
        }
        let [hidden, _] = state;
        hidden
    }

    /// `q = LSTM([q, r])`, `r = sum_k softmax_k(<x_k, q>) x_k`, from zeros; the result is `[q, r]`.
    fn set2set(&self, segments: &CsrPattern, rows: Tensor<2>, steps: usize) -> Result<Tensor<2>> {
        let lstm = self.lstm.as_ref().expect("made with the part");
        let (count, [_, width]) = (segments.rows(), rows.dims());
        let zeros = |width| Tensor::zeros([count, width], (&rows.device(), rows.dtype()));
        let (mut asked, mut state) = (zeros(2 * width), [zeros(width), zeros(width)]);
        for _ in 0..steps {
            state = lstm_step(lstm, asked, state);
            let scores = sum_dim(rows.clone() * read_at(segments, 0, state[0].clone()), 1);
            let weights = edge_softmax(segments, scores)?.rows().clone();
            let answer = reduce_rows(segments, expand(weights, rows.dims()) * rows.clone(), Reduce::Add);
            asked = Tensor::cat(vec![state[0].clone(), answer], 1);
        }
        Ok(asked)
    }

    /// Levels of pairs; an odd row at the end goes to the next level.
    fn tree(&self, segments: &CsrPattern, rows: Tensor<2>) -> Tensor<2> {
        let gru = self.gru.as_ref().expect("made with the part");
        let mut level = segments::padded(segments, rows, None);
        let [count, longest, width] = level.dims();
        if count * longest == 0 {
            return Tensor::zeros([count, width], (&level.device(), level.dtype()));
        }
        while level.dims()[1] > 1 {
            let (size, pairs) = (level.dims()[1], level.dims()[1] / 2);
            let shape = [count * pairs, 2, width];
            let both: Tensor<3> = level.clone().narrow(1, 0, 2 * pairs).reshape(Exact(shape));
            let [left, right] = [0, 1].map(|side| both.clone().narrow(1, side, 1).reshape(Exact([shape[0], width])));
            let sum = gru_step(gru, left.clone(), right.clone()) + gru_step(gru, right, left);
            let next = sum.div_scalar(2.0).reshape(Exact([count, pairs, width]));
            level = if size % 2 == 0 { next } else { Tensor::cat(vec![next, level.narrow(1, size - 1, 1)], 1) };
        }
        level.reshape(Exact([count, width]))
    }
}

/// `aggregate_{j in N(i)} (a_ij x_j)`, as a product where it is one.
pub(super) fn weighted(adjacency: &CsrTensor<2>, x: Tensor<2>, aggregator: &Aggregator) -> Result<Tensor<2>> {
    if let Some(reduce) = aggregator.reduce() {
        return adjacency.try_matmul_reduce(x, reduce);
    }
    let messages = read_at(adjacency.pattern(), 1, x);
    aggregator.aggregate(adjacency.pattern(), expand(adjacency.rows().clone(), messages.dims()) * messages)
}

/// `aggregate_{j in N(i)} (a_ij x_j) W + b`, in the cheaper order where both orders give the same.
pub(super) fn aggregated(
    op: &'static str,
    adjacency: &CsrTensor<2>,
    x: &Features<'_>,
    (weight, bias): (Tensor<2>, Option<Tensor<1>>),
    aggregator: &Aggregator,
) -> Result<Tensor<2>> {
    let [d_input, d_output] = weight.dims();
    let reduce = aggregator.reduce().filter(|reduce| matches!(reduce, Reduce::Add | Reduce::Mean));
    let rows = match (x, reduce) {
        (x, Some(reduce)) if matches!(x, Features::Sparse(_)) || weight_first(adjacency, d_input, d_output) => {
            let rows = adjacency.try_matmul_reduce(x.times(op, weight)?, reduce)?;
            return Ok(bias.into_iter().fold(rows, add_bias));
        }
        // A sum is of the stored elements, whatever the fill.
        (Features::Dense(x), Some(Reduce::Add)) if adjacency.fill().is_zero() || adjacency.fill().is_undefined() => {
            same_elements(op, x, &weight)?;
            return matmul_linear(adjacency, x.clone(), weight, Epilogue { bias, relu: false });
        }
        (Features::Dense(x), _) => weighted(adjacency, x.clone(), aggregator)?,
        (Features::Sparse(_), _) => {
            return Err(SparseError::invalid(op, "use to_dense and forward: sparse features have sums and means only"));
        }
    };
    same_elements(op, &rows, &weight)?;
    Ok(linear(rows, weight, Epilogue { bias, relu: false }))
}

/// Whether `A (X W)` costs no more than `(A X) W`. The dense product is of the sources, or of the targets, which are
/// few in a sampled neighbourhood; the sparse one takes as long for a column of an element as some 16 multiplications.
fn weight_first(adjacency: &CsrTensor<2>, d_input: usize, d_output: usize) -> bool {
    let [targets, sources] = adjacency.dims().map(|rows| rows as f64);
    let (dense, element) = ((d_input * d_output) as f64, 16.0 * adjacency.nnz() as f64);
    sources * dense + element * d_output as f64 <= targets * dense + element * d_input as f64
}

/// What [`Aggregation::Std`] takes for 0.
const SMALL: f64 = 1e-5;

/// What [`Aggregation::PowerMean`] clamps to.
const RANGE: [f64; 2] = [1e-4, 100.0];

/// Of 16-bit floats in f32: their squares overflow, and cancel.
fn variance(segments: &CsrPattern, rows: Tensor<2>) -> Tensor<2> {
    let rows = wide(rows);
    let mean = |rows| reduce_rows(segments, rows, Reduce::Mean);
    let squares = mean(rows.clone() * rows.clone());
    let means = mean(rows);
    squares - means.clone() * means
}
