//! Which edges and features a prediction depends on.
//!
//! A model is any closure that takes an adjacency and features and gives logits. What is explained are `targets`: rows
//! of the logits, each with a class.

use super::host::number;
use burn::config::Config;
use burn::module::{Module, Param};
use burn::nn::loss::CrossEntropyLossConfig;
use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::activation::sigmoid;
use burn::tensor::{Device, Int, Tensor, TensorCreationOptions, TensorData};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use sparse_macros::or_panic;
use sparse_ops::extend::{Exact, associate, check_ids, index_below, read_all};
use sparse_ops::ops::IndexPlan;
use sparse_ops::{CsrTensor, Result, SparseError};

/// How much a prediction depends on each edge and each feature.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// `[nnz]`: a number for each stored element of the adjacency, in storage order.
    pub edges: Tensor<1>,
    /// `[N, F]`: a number for each feature of each node.
    pub features: Tensor<2>,
}

/// The class that `logits` `[N, C]` predict for each of `rows`, as the functions that explain predictions take them.
/// Reads a number for each row.
///
/// # Errors
///
/// `index_out_of_range`; `empty_input` without rows or classes.
#[or_panic]
pub fn try_predicted_classes(logits: Tensor<2>, rows: &[usize]) -> Result<Vec<(usize, usize)>> {
    const OP: &str = "predicted_classes";
    let [count, classes] = logits.dims();
    check_ids(OP, rows, count)?;
    if rows.is_empty() || classes == 0 {
        let message = format!("there must be a row and a class, got {} and {classes}", rows.len());
        return Err(SparseError::empty_input(OP, message));
    }
    let logits = logits.inner();
    let plan = IndexPlan::new(index_below(rows, count, &logits.device()), count)?;
    let classes = read_all(plan.try_select(logits, 0)?.argmax(1).reshape(Exact([rows.len()])));
    Ok(rows.iter().copied().zip(classes.into_iter().map(|class| class as usize)).collect())
}

/// GNNExplainer: trains a factor between 0 and 1 of each edge, and of each feature, so that the model predicts the same
/// from as little as possible.
///
/// The factors are `sigmoid(m)`. Adam minimises the cross entropy of the targets for the model of `A * sigmoid(m_A)`
/// and `X * sigmoid(m_X)`, plus, for the factors that the first step has a gradient for, the sizes and the entropies
/// below. The factors of all others are 0 in the result. The same seed gives the same bits.
///
/// PyG's `GNNExplainer` multiplies messages and not weights. Where a layer normalises the adjacency the two differ:
/// normalise it before the closure to have the same. PyG starts from normal numbers, here they are uniform of the same
/// variance.
///
/// Source: Ying et al., *GNNExplainer: generating explanations for graph neural networks*, NeurIPS 2019.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::data::{GnnExplainerConfig, karate, predicted_classes};
///
/// let device = Device::flex();
/// let graph = karate(&device).adjacency;
/// let weight = Tensor::<2>::from_floats([[1.0, -1.0], [-1.0, 1.0]], &device);
/// let model = |graph: &sparse_tensor::CsrTensor<2>, x: Tensor<2>| graph.matmul(x.matmul(weight.clone()));
/// let x = Tensor::<2>::ones([34, 2], &device) * Tensor::from_floats([[2.0, 1.0]], &device);
/// let targets = predicted_classes(model(&graph, x.clone()), &[0]);
/// let found = GnnExplainerConfig::new().with_epochs(5).explain(model, &graph, x, &targets);
/// // Of one layer only the edges into node 0 count, which are the first 16.
/// let edges: Vec<f32> = found.edges.into_data().iter().collect();
/// assert!(edges[..16].iter().all(|&edge| edge > 0.0) && edges[16..].iter().all(|&edge| edge == 0.0));
/// ```
#[derive(Config, Debug)]
pub struct GnnExplainerConfig {
    /// Steps; there is at least one.
    #[config(default = 100)]
    pub epochs: usize,
    /// Learning rate.
    #[config(default = 0.01)]
    pub rate: f64,
    /// Whether all nodes share the factors of features: one for each column.
    #[config(default = false)]
    pub shared_features: bool,
    /// The weight of the sum of the factors of edges.
    #[config(default = 0.005)]
    pub edge_size: f64,
    /// The weight of the mean entropy of the factors of edges.
    #[config(default = 1.0)]
    pub edge_entropy: f64,
    /// The weight of the mean of the factors of features.
    #[config(default = 1.0)]
    pub feature_size: f64,
    /// The weight of the mean entropy of the factors of features.
    #[config(default = 0.1)]
    pub feature_entropy: f64,
    /// A factor of the random numbers that it starts from; with 0 all factors start at 0.5.
    #[config(default = 1.0)]
    pub noise: f64,
    /// Of these numbers.
    #[config(default = 0)]
    pub seed: u64,
}

#[derive(Module, Debug)]
struct Masks {
    /// `[1, nnz]`.
    edges: Param<Tensor<2>>,
    /// `[N, F]` or `[1, F]`.
    features: Param<Tensor<2>>,
}

impl GnnExplainerConfig {
    /// The factors for `targets`: rows of the logits, each with the class to explain ([`predicted_classes`], or the
    /// right ones).
    ///
    /// Give the closure `model.valid()`: it has no dropout, and parameters without an autodiff association, which go
    /// with every device. Cost: a forward and a backward pass of the model in each step, and one number read from the
    /// device.
    ///
    /// # Errors
    ///
    /// `shape_mismatch` for features or logits of other numbers of nodes; `index_out_of_range` for a row or a class;
    /// `empty_input` if there is no target, no edge or no feature; `invalid` if the prediction does not depend on edges
    /// or features.
    #[or_panic]
    pub fn try_explain(
        &self,
        model: impl Fn(&CsrTensor<2>, Tensor<2>) -> Tensor<2>,
        adjacency: &CsrTensor<2>,
        features: Tensor<2>,
        targets: &[(usize, usize)],
    ) -> Result<Explanation> {
        const OP: &str = "GnnExplainerConfig::explain";
        let given = Given::new(OP, adjacency, features, targets)?;
        let ([nodes, width], edges) = (given.features.dims(), adjacency.nnz());
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(self.seed);
        // Uniform in [-sqrt(3), sqrt(3)) has variance 1.
        let mut mask = |shape: [usize; 2], deviation: f64| {
            let scale = 3f64.sqrt() * deviation * self.noise;
            let numbers = (0..shape[0] * shape[1]).map(|_| scale * (2.0 * rng.random::<f64>() - 1.0)).collect();
            let options = TensorCreationOptions::from((&given.device, given.features.dtype()));
            Param::from_tensor(Tensor::<2>::from_data(TensorData::new(numbers, shape), options))
        };
        let rows = if self.shared_features { 1 } else { nodes };
        let features = mask([rows, width], 0.1);
        let mut masks = Masks { edges: mask([1, edges], (2.0 / nodes as f64).sqrt()), features };
        let mut optimizer = AdamConfig::new().with_epsilon(1e-8).init();
        // Ones where the first step has a gradient.
        let mut used: Option<([Tensor<2>; 2], f64)> = None;
        for _ in 0..self.epochs.max(1) {
            let [on_edges, on_features] = [&masks.edges, &masks.features].map(|mask| sigmoid(mask.val()));
            let mut loss = given.loss(OP, &model, on_edges.clone(), on_features.clone())?;
            if let Some(([edges, features], count)) = &used {
                let cost = [self.edge_size * count, self.edge_entropy];
                loss = loss
                    + cost_of(on_edges, edges, cost)
                    + cost_of(on_features, features, [self.feature_size, self.feature_entropy]);
            }
            const NO_GRADIENT: &str =
                "the model must depend on edges and features, got no gradient: give it other targets";
            if !loss.is_tracked() {
                return Err(SparseError::invalid(OP, NO_GRADIENT));
            }
            let grads = loss.backward();
            if used.is_none() {
                let [edges, features] = [&masks.edges, &masks.features].map(|mask| {
                    let grad = mask.val().grad(&grads)?;
                    let used = grad.not_equal_elem(0.0).float().cast(mask.val().dtype());
                    let count = number(used.clone().sum());
                    (count > 0.0).then_some((used, count))
                });
                let [Some((edges, count)), Some((features, _))] = [edges, features] else {
                    return Err(SparseError::invalid(OP, NO_GRADIENT));
                };
                used = Some(([edges, features].map(|used| associate(used, &given.device)), count));
            }
            let grads = GradientsParams::from_grads(grads, &masks);
            masks = optimizer.step(self.rate, masks, grads);
        }
        let [edges, features] = [(masks.edges, 0), (masks.features, 1)].map(|(mask, at)| {
            let used = used.as_ref().map(|(used, _)| used[at].clone().inner());
            let factors = sigmoid(mask.val().inner());
            used.map_or_else(|| factors.clone(), |used| factors.clone() * used)
        });
        Ok(given.explanation(edges, features))
    }
}

/// `size mean(f) + entropy mean(-f ln f - (1 - f) ln(1 - f))` of the factors that are used.
fn cost_of(factors: Tensor<2>, used: &Tensor<2>, [size, entropy]: [f64; 2]) -> Tensor<1> {
    const TINY: f64 = 1e-15;
    let rest: Tensor<2> = 1.0 - factors.clone();
    let bits = factors.clone() * (factors.clone() + TINY).log() + rest.clone() * (rest + TINY).log();
    let each = (factors * size - bits * entropy) * used.clone();
    each.sum() / used.clone().sum()
}

/// The gradients of the targets' logits: `|d sum_t logits_t / d w|` for the weight of each edge and each feature.
///
/// Arguments are those of [`GnnExplainerConfig::try_explain`]; here the model may ignore edges or features. Cost: one
/// forward and one backward pass.
/// (Captum's `Saliency`; PyG's `CaptumExplainer` takes the gradient of a factor 1 of each message, which is the same
/// for edges of weight 1.)
///
/// Source: Simonyan, Vedaldi, Zisserman, *Deep inside convolutional networks*, 2014.
///
/// # Errors
///
/// As [`GnnExplainerConfig::try_explain`].
#[or_panic]
pub fn try_saliency(
    model: impl Fn(&CsrTensor<2>, Tensor<2>) -> Tensor<2>,
    adjacency: &CsrTensor<2>,
    features: Tensor<2>,
    targets: &[(usize, usize)],
) -> Result<Explanation> {
    const OP: &str = "saliency";
    let given = Given::new(OP, adjacency, features, targets)?;
    let [edges, features] = given.gradients(OP, &model, 1.0)?;
    Ok(given.explanation(edges.abs(), features.abs()))
}

/// Integrated gradients: `w_i` times the mean of `d sum_t logits_t / d w_i` along the line from zeros to the weights of
/// edges and the features, both at once, at `steps` points.
///
/// They sum to the difference of the targets' logits between the whole input and zeros, up to the error of the midpoint
/// rule. For features alone give `|_, x| model(&graph, x)`: then edges get 0. Arguments are those of [`try_saliency`].
/// (Captum's `IntegratedGradients` with `method="riemann_middle"`, as PyG's `CaptumExplainer` calls it.)
///
/// Source: Sundararajan, Taly, Yan, *Axiomatic attribution for deep networks*, ICML 2017.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::data::{integrated_gradients, karate};
///
/// let graph = karate(&Device::flex()).adjacency;
/// let model = |graph: &sparse_tensor::CsrTensor<2>, x: Tensor<2>| graph.matmul(x);
/// let x = Tensor::<2>::ones([34, 1], &Device::flex());
/// // Node 0 has 16 neighbours: each edge and each feature gives one half of its 1.
/// let found = integrated_gradients(model, &graph, x, &[(0, 0)], 20);
/// let total = found.edges.sum().into_scalar::<f32>() + found.features.sum().into_scalar::<f32>();
/// assert!((total - 16.0).abs() < 1e-4);
/// ```
///
/// # Errors
///
/// As [`try_saliency`]; `invalid` for no steps.
#[or_panic]
pub fn try_integrated_gradients(
    model: impl Fn(&CsrTensor<2>, Tensor<2>) -> Tensor<2>,
    adjacency: &CsrTensor<2>,
    features: Tensor<2>,
    targets: &[(usize, usize)],
    steps: usize,
) -> Result<Explanation> {
    const OP: &str = "integrated_gradients";
    if steps == 0 {
        return Err(SparseError::invalid(OP, "steps must be at least 1, got 0"));
    }
    let given = Given::new(OP, adjacency, features, targets)?;
    let mut sums: Option<[Tensor<2>; 2]> = None;
    for step in 0..steps {
        let [edges, features] = given.gradients(OP, &model, (step as f64 + 0.5) / steps as f64)?;
        sums = Some(match sums {
            None => [edges, features],
            Some([a, b]) => [a + edges, b + features],
        });
    }
    let [edges, features] = sums.expect("a step").map(|sum| sum.div_scalar(steps as f64));
    let weights = given.weights.clone().inner();
    Ok(given.explanation(edges * weights, features * given.features.clone().inner()))
}

/// How faithful an explanation is: the shares of targets whose class the model changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fidelity {
    /// Without what explains it (factors `1 - e`): 1 is best.
    pub plus: f64,
    /// With only what explains it (factors `e`): 0 is best.
    pub minus: f64,
}

/// The fidelity of an explanation with factors between 0 and 1, as [`GnnExplainerConfig`] gives: weights of edges and
/// features are multiplied by them.
///
/// `targets` have the classes that the model predicts ([`predicted_classes`]). To keep the `k` best only, make the
/// factors 0 and 1 first. (PyG's `fidelity` of explanations of models.)
///
/// Source: Amara et al., *GraphFramEx: towards systematic evaluation of explainability methods for graph neural
/// networks*, LoG 2022.
///
/// # Errors
///
/// As [`try_saliency`]; `shape_mismatch` for an explanation of another graph.
#[or_panic]
pub fn try_fidelity(
    model: impl Fn(&CsrTensor<2>, Tensor<2>) -> Tensor<2>,
    adjacency: &CsrTensor<2>,
    features: Tensor<2>,
    explanation: &Explanation,
    targets: &[(usize, usize)],
) -> Result<Fidelity> {
    const OP: &str = "fidelity";
    let given = Given::new(OP, adjacency, features, targets)?;
    let (edges, features) = (explanation.edges.clone().inner(), explanation.features.clone().inner());
    let (own, expected) = ([edges.dims()[0], features.dims()[0], features.dims()[1]], {
        let [nodes, width] = given.features.dims();
        [adjacency.nnz(), nodes, width]
    });
    if own != expected {
        let rule = "an explanation's edges, nodes and features {left} must be those of the graph, {right}";
        return Err(SparseError::shape_mismatch(OP, rule, own, expected));
    }
    let rows: Vec<usize> = targets.iter().map(|&(row, _)| row).collect();
    let changed = |edges: Tensor<1>, features: Tensor<2>| {
        let weights = given.weights.clone().inner() * edges.unsqueeze();
        let logits = given.logits(OP, &model, weights, given.features.clone().inner() * features)?;
        let now = try_predicted_classes(logits, &rows)?;
        Ok::<_, SparseError>(now.iter().zip(targets).filter(|(now, before)| now != before).count() as f64)
    };
    let count = targets.len() as f64;
    Ok(Fidelity {
        plus: changed(1.0 - edges.clone(), 1.0 - features.clone())? / count,
        minus: changed(edges, features)? / count,
    })
}

/// A graph, its features, and what is explained.
struct Given<'a> {
    adjacency: &'a CsrTensor<2>,
    /// `[1, nnz]`, off the tape.
    weights: Tensor<2>,
    features: Tensor<2>,
    targets: &'a [(usize, usize)],
    /// With an autodiff association.
    device: Device,
}

impl<'a> Given<'a> {
    fn new(
        op: &'static str,
        adjacency: &'a CsrTensor<2>,
        features: Tensor<2>,
        targets: &'a [(usize, usize)],
    ) -> Result<Self> {
        let ([nodes, width], edges) = (features.dims(), adjacency.nnz());
        if adjacency.dims()[1] != nodes {
            let rule = "the adjacency {left} must have a column for each row of the features {right}";
            return Err(SparseError::shape_mismatch(op, rule, adjacency.dims(), features.dims()));
        }
        if targets.is_empty() || edges == 0 || width == 0 {
            let got = format!("got {}, {edges} and {width}", targets.len());
            return Err(SparseError::empty_input(op, format!("there must be targets, edges and features, {got}")));
        }
        let device = features.device().autodiff();
        let weights = adjacency.values::<1>().inner().reshape(Exact([1, edges]));
        Ok(Self { adjacency, weights, features: features.inner(), targets, device })
    }

    /// What the model gives for other weights and features.
    fn logits(
        &self,
        op: &'static str,
        model: &impl Fn(&CsrTensor<2>, Tensor<2>) -> Tensor<2>,
        weights: Tensor<2>,
        features: Tensor<2>,
    ) -> Result<Tensor<2>> {
        let edges = self.adjacency.nnz();
        let logits = model(&self.adjacency.with_values(weights.reshape(Exact([edges]))), features);
        let [rows, classes] = logits.dims();
        for &(row, class) in self.targets {
            check_ids(op, &[row], rows)?;
            check_ids(op, &[class], classes)?;
        }
        Ok(logits)
    }

    /// The rows of the targets, and their classes.
    fn chosen(&self, logits: Tensor<2>) -> Result<(Tensor<2>, Tensor<1, Int>)> {
        let ([rows, classes], device) = (logits.dims(), logits.device());
        let [ids, own]: [Vec<usize>; 2] = [
            self.targets.iter().map(|&(row, _)| row).collect(),
            self.targets.iter().map(|&(_, class)| class).collect(),
        ];
        let plan = IndexPlan::new(index_below(&ids, rows, &device), rows)?;
        Ok((plan.try_select(logits, 0)?, index_below(&own, classes, &device)))
    }

    /// The cross entropy with factors.
    fn loss(
        &self,
        op: &'static str,
        model: &impl Fn(&CsrTensor<2>, Tensor<2>) -> Tensor<2>,
        edges: Tensor<2>,
        features: Tensor<2>,
    ) -> Result<Tensor<1>> {
        let logits = self.logits(op, model, edges * self.weights.clone(), features * self.features.clone())?;
        let (logits, classes) = self.chosen(logits)?;
        Ok(CrossEntropyLossConfig::new().init(&logits.device()).forward(logits, classes))
    }

    /// The gradients of the sum of the targets' logits, at the weights and features times `share`.
    fn gradients(
        &self,
        op: &'static str,
        model: &impl Fn(&CsrTensor<2>, Tensor<2>) -> Tensor<2>,
        share: f64,
    ) -> Result<[Tensor<2>; 2]> {
        let leaf = |x: &Tensor<2>| associate(x.clone().mul_scalar(share), &self.device).require_grad();
        let (weights, features) = (leaf(&self.weights), leaf(&self.features));
        let logits = self.logits(op, model, weights.clone(), features.clone())?;
        if !logits.is_tracked() {
            return Ok([self.weights.zeros_like(), self.features.zeros_like()]);
        }
        let (rows, classes) = self.chosen(logits)?;
        let count = self.targets.len();
        let grads = rows.gather(1, classes.reshape(Exact([count, 1]))).sum().backward();
        let of = |x: &Tensor<2>| x.grad(&grads).unwrap_or_else(|| x.clone().inner().zeros_like());
        Ok([of(&weights), of(&features)])
    }

    fn explanation(&self, edges: Tensor<2>, features: Tensor<2>) -> Explanation {
        Explanation {
            edges: edges.reshape(Exact([self.adjacency.nnz()])),
            features: features.expand(self.features.dims()),
        }
    }
}
