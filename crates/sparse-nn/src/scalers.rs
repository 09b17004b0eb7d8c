//! Aggregations scaled by the degree of each node.

use super::aggregation::{Aggregate, Aggregation, Aggregator};
use super::segments::degrees;
use burn::config::Config;
use burn::module::{Module, Param};
use burn::nn::Initializer;
use burn::tensor::{Device, Tensor};
use sparse_macros::or_panic;
use sparse_ops::extend::{expand, same_elements, wide};
use sparse_ops::pattern::CsrPattern;
use sparse_ops::{Result, SparseError};

/// A factor of the degree `d` of a node. `l` is the mean degree of the nodes of the training graphs, and `m` the mean
/// of `log(d + 1)`.
#[derive(Config, Debug, Copy, PartialEq, Eq)]
pub enum DegreeScaler {
    /// 1.
    Identity,
    /// `log(d + 1) / m`.
    Amplification,
    /// `m / log(max(d, 1) + 1)`.
    Attenuation,
    /// `d / l`.
    Linear,
    /// `l / max(d, 1)`.
    InverseLinear,
}

/// Configuration of [`DegreeScalers`].
#[derive(Config, Debug)]
pub struct DegreeScalersConfig {
    /// How rows are aggregated.
    pub aggregation: Aggregation,
    /// The factors.
    pub scalers: Vec<DegreeScaler>,
    /// How many nodes of the training graphs have each degree, from 0: `data::degree_histogram` of a
    /// graph, or the sum of those of several.
    pub histogram: Vec<usize>,
    /// Whether the mean degree and the mean of its logarithm are trained.
    #[config(default = false)]
    pub trained: bool,
}

/// An aggregation times several factors of the degree of each node, side by side: first all features of the aggregation
/// times the first factor. It is an [`Aggregate`].
///
/// Gradients reach the rows and the parameters. (PyG's `DegreeScalerAggregation`.)
///
/// Source: Corso et al., *Principal neighbourhood aggregation for graph nets*, NeurIPS 2020.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::data::{degree_histogram, karate};
/// use sparse_tensor::nn::{Aggregation, DegreeScaler, DegreeScalersConfig, Edges};
///
/// let device = Device::flex();
/// let graph = karate(&device).adjacency;
/// let scalers = vec![DegreeScaler::Identity, DegreeScaler::Attenuation];
/// let mean = DegreeScalersConfig::new(Aggregation::Mean, scalers, degree_histogram(&graph)).init(8, &device);
/// let edges = Edges::new(&graph, Tensor::ones([34, 8], &device));
/// assert_eq!(edges.aggregate(edges.source(), &mean).dims(), [34, 2 * 8]);
/// ```
#[derive(Module, Debug)]
pub struct DegreeScalers {
    /// How rows are aggregated.
    pub aggregator: Aggregator,
    /// `l`, `[1]`, if it is trained.
    pub average: Option<Param<Tensor<1>>>,
    /// `m`, `[1]`, if it is trained.
    pub average_log: Option<Param<Tensor<1>>>,
    averages: [f64; 2],
    #[module(skip)]
    scalers: Vec<DegreeScaler>,
}

impl DegreeScalersConfig {
    /// The aggregation of rows of `d_input` features, on `device`.
    ///
    /// # Errors
    ///
    /// `invalid` if there are no factors, or no node of the histogram has an edge; those of [`Aggregation::try_init`].
    #[or_panic]
    pub fn try_init(&self, d_input: usize, device: &Device) -> Result<DegreeScalers> {
        let sum = |of: &dyn Fn(f64) -> f64| -> f64 {
            self.histogram.iter().enumerate().map(|(degree, &nodes)| of(degree as f64) * nodes as f64).sum()
        };
        let nodes = sum(&|_| 1.0);
        let averages = [sum(&|degree| degree) / nodes, sum(&|degree| degree.ln_1p()) / nodes];
        if self.scalers.is_empty() || averages[0].is_nan() || averages[0] == 0.0 {
            let (scalers, histogram) = (&self.scalers, &self.histogram);
            let message = format!(
                "there must be a scaler, and a node with an edge in the histogram, got {scalers:?} and {histogram:?}"
            );
            return Err(SparseError::invalid("DegreeScalersConfig::init", message));
        }
        let trained = |value| self.trained.then(|| Initializer::Constant { value }.init([1], device));
        Ok(DegreeScalers {
            aggregator: self.aggregation.try_init(d_input, device)?,
            average: trained(averages[0]),
            average_log: trained(averages[1]),
            averages,
            scalers: self.scalers.clone(),
        })
    }
}

impl Aggregate for DegreeScalers {
    fn aggregate(&self, segments: &CsrPattern, rows: Tensor<2>) -> Result<Tensor<2>> {
        let out = self.aggregator.aggregate(segments, rows)?;
        let (shape, degrees) = (out.dims(), degrees(segments, out.dtype()));
        let average = |trained: &Option<Param<Tensor<1>>>, value: f64| match trained {
            Some(trained) => {
                let trained = trained.val();
                same_elements("DegreeScalers::aggregate", &out, &trained)?;
                Ok(wide(trained.unsqueeze::<2>()))
            }
            None => Ok(Tensor::full([1, 1], value, (&out.device(), degrees.dtype()))),
        };
        let mean: Tensor<2> = average(&self.average, self.averages[0])?;
        let mean_log: Tensor<2> = average(&self.average_log, self.averages[1])?;
        let at_least_one = degrees.clone().clamp_min(1.0);
        let parts = self.scalers.iter().map(|scaler| {
            let factor = match scaler {
                DegreeScaler::Identity => return out.clone(),
                DegreeScaler::Amplification => degrees.clone().log1p() / mean_log.clone(),
                DegreeScaler::Attenuation => at_least_one.clone().log1p().recip() * mean_log.clone(),
                DegreeScaler::Linear => degrees.clone() / mean.clone(),
                DegreeScaler::InverseLinear => at_least_one.clone().recip() * mean.clone(),
            };
            out.clone() * expand(factor.cast(out.dtype()), shape)
        });
        Ok(Tensor::cat(parts.collect(), 1))
    }
}
