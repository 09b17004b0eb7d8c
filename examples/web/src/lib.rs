//! Zachary's karate club in a page: a graph network that trains in the browser, on its GPU where it has WebGPU, else on
//! the CPU.
//!
//! The page (`index.html`, `page.js`) calls `Training`. `.ci/web` builds it and runs it in Chromium.
#![cfg(target_family = "wasm")]

use burn::module::{Module, Param};
use burn::nn::{Linear, LinearConfig};
use burn::optim::{AdamConfig, GradientsParams, ModuleOptimizer};
use burn::tensor::{Device, Int, Tensor, TensorData};
use sparse_tensor::data::{LabelledNodes, karate};
use sparse_tensor::nn::{GcnConv, GcnConvConfig, symmetric_normalization};
use sparse_tensor::{CsrTensor, without_blocking};
use wasm_bindgen::prelude::{JsError, wasm_bindgen};

/// Learning rate. With this one the two sides part within a hundred epochs.
const RATE: f64 = 0.01;

/// Two graph convolutions, and a classifier of the plane that the second one maps the members to.
#[derive(Module, Debug)]
struct Model {
    first: GcnConv,
    second: GcnConv,
    classes: Linear,
}

impl Model {
    /// From a seed. The weights are drawn on the CPU, so that they are the same on every device.
    fn new(seed: u64, device: &Device) -> Self {
        let cpu = Device::flex().autodiff();
        cpu.seed(seed);
        let model = Self {
            first: GcnConvConfig::new(34, 16).init(&cpu),
            second: GcnConvConfig::new(16, 2).init(&cpu),
            classes: LinearConfig::new(2, 2).init(&cpu),
        };
        // Burn draws a weight when it is first used.
        for weight in [&model.first.weight, &model.second.weight, &model.classes.weight] {
            weight.val();
        }
        model.classes.bias.as_ref().map(Param::val);
        model.fork(device)
    }

    /// Where each member is in the plane, `[34, 2]`.
    fn embed(&self, adjacency: &CsrTensor<2>, features: &CsrTensor<2>) -> Tensor<2> {
        let hidden = self.first.forward_sparse(adjacency, features).tanh();
        self.second.forward(adjacency, hidden)
    }
}

/// A run of training.
#[wasm_bindgen]
pub struct Training {
    adjacency: CsrTensor<2>,
    features: CsrTensor<2>,
    /// The two leaders, whose sides are known.
    leaders: LabelledNodes,
    sides: Vec<i32>,
    ties: Vec<i32>,
    model: Model,
    optimizer: ModuleOptimizer,
}

#[wasm_bindgen]
impl Training {
    /// Makes the graph and the network ready: on the GPU, or on the CPU. A page may start several, one after the other.
    pub async fn start(gpu: bool, seed: u32) -> Result<Training, JsError> {
        console_error_panic_hook::set_once();
        let plain = if gpu { Device::wgpu_options().init_async().await? } else { Device::flex() };
        Self::on(&plain.autodiff(), seed).await
    }

    /// Another run on the same device.
    pub async fn again(&self, seed: u32) -> Result<Training, JsError> {
        Self::on(&self.adjacency.device(), seed).await
    }

    async fn on(device: &Device, seed: u32) -> Result<Training, JsError> {
        let graph = karate(device);
        // The normalised adjacency has more elements than the graph. Their number is read from the device, and the
        // labels are as well.
        let (adjacency, leaders) =
            without_blocking(|| (symmetric_normalization(&graph.adjacency, true), graph.labelled(&graph.splits.train)))
                .await;
        let model = Model::new(u64::from(seed), device);
        let optimizer = AdamConfig::new().with_epsilon(1e-8).init();
        let ties = [graph.adjacency.pattern().row_ids(), graph.adjacency.pattern().col_idx()].map(Tensor::clone);
        Ok(Self {
            adjacency,
            leaders: leaders?,
            sides: ints(graph.labels.tensor()).await?,
            ties: ints(Tensor::<1, Int>::stack::<2>(ties.into(), 1)).await?,
            features: graph.features,
            model,
            optimizer,
        })
    }

    /// The side that each member took: 0 or 1.
    pub fn sides(&self) -> Vec<i32> {
        self.sides.clone()
    }

    /// Pairs of members who met, one after the other. Each pair is listed in both directions.
    pub fn ties(&self) -> Vec<i32> {
        self.ties.clone()
    }

    /// An epoch. Returns the loss, then for each member where it is in the plane and the logits of both sides, all from
    /// before the step: `1 + 34 * 4` numbers.
    pub async fn epoch(&mut self) -> Result<Vec<f32>, JsError> {
        let embedding = self.model.embed(&self.adjacency, &self.features);
        let logits = self.model.classes.forward(embedding.clone());
        let loss = self.leaders.try_cross_entropy(logits.clone())?;
        let members = Tensor::cat(vec![embedding.inner(), logits.inner()], 1);
        let all = Tensor::cat(vec![loss.clone().inner(), members.reshape([-1])], 0);
        let grads = GradientsParams::from_grads(loss.backward(), &self.model);
        self.model = self.optimizer.step(RATE, self.model.clone(), grads);
        // The only read of an epoch.
        Ok(all.into_data_async().await?.iter::<f32>().collect())
    }
}

async fn ints<const D: usize>(tensor: Tensor<D, Int>) -> Result<Vec<i32>, JsError> {
    let data: TensorData = tensor.into_data_async().await?;
    Ok(data.iter::<i32>().collect())
}
