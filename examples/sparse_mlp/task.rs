//! Points around random centres.

use burn::tensor::{Device, Int, Tensor, TensorData};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

pub(crate) const FEATURES: usize = 128;
pub(crate) const CLASSES: usize = 10;
pub(crate) const TRAIN: usize = 8_000;
const TEST: usize = 8_000;
/// The first features say something of the class, the others are noise.
const INFORMATIVE: usize = 32;
/// Centres of a class: no plane separates it from the others.
const CENTRES: usize = 4;
/// Deviation of a centre's coordinates. The points around it have 1.
const SPREAD: f64 = 0.9;

pub(crate) struct Task {
    pub(crate) train: Points,
    pub(crate) test: Points,
}

/// Points on the host.
pub(crate) struct Points {
    features: Vec<f32>,
    classes: Vec<i64>,
}

/// Points `[n, FEATURES]` and their classes `[n]`.
#[derive(Clone)]
pub(crate) struct Part {
    pub(crate) points: Tensor<2>,
    pub(crate) classes: Tensor<1, Int>,
}

impl Task {
    pub(crate) fn generate(seed: u64) -> Self {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let centres: Vec<f64> = (0..CLASSES * CENTRES * INFORMATIVE).map(|_| SPREAD * normal(&mut rng)).collect();
        let mut points = |count: usize| {
            let (mut features, mut classes) = (Vec::with_capacity(count * FEATURES), Vec::with_capacity(count));
            for _ in 0..count {
                let centre = rng.random_range(0..CLASSES * CENTRES);
                classes.push((centre / CENTRES) as i64);
                let centre = &centres[centre * INFORMATIVE..][..INFORMATIVE];
                let mean = centre.iter().copied().chain(std::iter::repeat(0.0)).take(FEATURES);
                features.extend(mean.map(|mean| (mean + normal(&mut rng)) as f32));
            }
            Points { features, classes }
        };
        Self { train: points(TRAIN), test: points(TEST) }
    }
}

/// A standard normal number, by the transform of Box and Muller.
fn normal(rng: &mut Xoshiro256PlusPlus) -> f64 {
    let (radius, angle) = (1.0 - rng.random::<f64>(), rng.random::<f64>());
    (-2.0 * radius.ln()).sqrt() * (2.0 * std::f64::consts::PI * angle).cos()
}

impl Points {
    /// The chosen points on a device.
    pub(crate) fn batch(&self, chosen: &[usize], device: &Device) -> Part {
        let features = chosen.iter().flat_map(|&at| &self.features[at * FEATURES..][..FEATURES]);
        let features: Vec<f32> = features.copied().collect();
        let classes: Vec<i64> = chosen.iter().map(|&at| self.classes[at]).collect();
        Part {
            points: Tensor::from_data(TensorData::new(features, [chosen.len(), FEATURES]), device),
            classes: Tensor::from_ints(classes.as_slice(), device),
        }
    }

    /// All points on a device.
    pub(crate) fn all(&self, device: &Device) -> Part {
        self.batch(&(0..self.classes.len()).collect::<Vec<_>>(), device)
    }
}
