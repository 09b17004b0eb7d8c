//! Burn's strategy for several devices, with a sparse parameter and sparse batches. Flex has one device, so it is named
//! twice: each name has a worker thread, a forked model and a part of the data.
//!
//! The strategy adds the gradients of the devices up. It does not average them, nor those of accumulated batches.

use crate::display::EpochLines;
use burn::data::dataloader::batcher::Batcher;
use burn::data::dataloader::{DataLoader, DataLoaderBuilder};
use burn::data::dataset::InMemDataset;
use burn::module::{Module, ModuleVisitor, Param};
use burn::nn::loss::CrossEntropyLossConfig;
use burn::nn::{Linear, LinearConfig};
use burn::optim::{GradientsAccumulator, GradientsParams, SgdConfig};
use burn::tensor::{Device, Int, Tensor, TensorData};
use burn_train::metric::LossMetric;
use burn_train::{
    ClassificationOutput, ExecutionStrategy, InferenceStep, Learner, MultiDeviceOptim, SupervisedTraining, TrainOutput,
    TrainStep,
};
use sparse_tensor::module::CsrParam;
use sparse_tensor::parallel::weighted_mean;
use sparse_tensor::{CsrTensor, SparseError};
use std::sync::Arc;

const ROWS: usize = 24;
const COLUMNS: usize = 12;
const BATCH: usize = 4;
const RATE: f64 = 0.5;

type Item = (Vec<(usize, f32)>, i64);

#[derive(Clone, Debug)]
struct Batch {
    x: CsrTensor<2>,
    labels: Tensor<1, Int>,
}

#[derive(Clone)]
struct Rows;

impl Batcher<Item, Batch> for Rows {
    fn batch(&self, items: Vec<Item>, device: &Device) -> Batch {
        let rows: Vec<&[(usize, f32)]> = items.iter().map(|(row, _)| row.as_slice()).collect();
        let labels: Vec<i64> = items.iter().map(|(_, label)| *label).collect();
        let x = CsrTensor::from_rows(&rows, COLUMNS, device).unwrap_or_else(|trouble| panic!("{trouble}"));
        Batch { x, labels: Tensor::from_data(TensorData::new(labels, [items.len()]), device) }
    }
}

fn items() -> Vec<Item> {
    let item = |at: usize| {
        let row = (0..3).map(|k| ((at * 5 + k * k * 7) % COLUMNS, (at as f32 + k as f32).sin()));
        (row.collect(), (at % 3) as i64)
    };
    (0..ROWS).map(item).collect()
}

fn loader(device: &Device) -> Arc<dyn DataLoader<Batch>> {
    let loader = DataLoaderBuilder::new(Rows).batch_size(BATCH).set_device(device.clone());
    loader.build(InMemDataset::new(items()))
}

#[derive(Module, Debug)]
struct Model {
    /// `[COLUMNS, 6]`, of which every third element is stored.
    weight: CsrParam<2>,
    linear: Linear,
    /// A constant, which moves with the model.
    scale: CsrTensor<2>,
}

impl Model {
    fn new(device: &Device) -> Self {
        let numbers = |rows: usize, columns: usize, every: usize| {
            let number = |at: usize| if at.is_multiple_of(every) { (at as f32 * 0.7).cos() } else { 0.0 };
            let data = TensorData::new((0..rows * columns).map(number).collect::<Vec<_>>(), [rows, columns]);
            CsrTensor::<2>::from_dense(Tensor::from_data(data, device))
        };
        let linear = LinearConfig::new(6, 3).init(device);
        Self { weight: CsrParam::from_tensor(numbers(COLUMNS, 6, 3)), linear, scale: numbers(6, 6, 7) }
    }

    fn forward(&self, batch: Batch) -> ClassificationOutput {
        let hidden = batch.x.matmul(&self.weight.val()).matmul(&self.scale).to_dense();
        let logits = self.linear.forward(hidden);
        let loss = CrossEntropyLossConfig::new().init(&logits.device()).forward(logits.clone(), batch.labels.clone());
        ClassificationOutput::new(loss, logits, batch.labels)
    }
}

impl TrainStep for Model {
    type Input = Batch;
    type Output = ClassificationOutput;

    fn step(&self, batch: Batch) -> TrainOutput<ClassificationOutput> {
        let out = self.forward(batch);
        TrainOutput::new(self, out.loss.backward(), out)
    }
}

impl InferenceStep for Model {
    type Input = Batch;
    type Output = ClassificationOutput;

    fn step(&self, batch: Batch) -> ClassificationOutput {
        self.forward(batch)
    }
}

fn parameters(model: &Model) -> Vec<TensorData> {
    struct Values(Vec<TensorData>);
    impl ModuleVisitor for Values {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            self.0.push(param.val().into_data());
        }
    }
    let mut values = Values(vec![]);
    model.visit(&mut values);
    values.0
}

/// The parameters after an epoch of burn-train.
fn trained(model: Model, strategy: ExecutionStrategy, accumulation: usize) -> Vec<TensorData> {
    let device = Device::flex().autodiff();
    let folder = tempfile::tempdir().unwrap();
    let training = SupervisedTraining::new(folder.path(), loader(&device), loader(&device))
        .with_training_strategy(strategy.into())
        .metrics((LossMetric::new(),))
        .num_epochs(1)
        .grads_accumulation(accumulation)
        .renderer(Box::new(EpochLines::new(true)))
        .with_application_logger(None);
    let result = training.launch(Learner::new(model, SgdConfig::new().init(), RATE));
    assert!(result.error.is_none(), "{:?}", result.error);
    parameters(&result.model)
}

/// The batches of each device, step by step: device `k` has the `k`-th part of the rows.
fn batches(devices: usize) -> Vec<Vec<Batch>> {
    let (items, device) = (items(), Device::flex().autodiff());
    let part = |k: usize, step: usize| {
        let start = k * ROWS / devices + step * BATCH;
        Rows.batch(items[start..start + BATCH].to_vec(), &device)
    };
    (0..ROWS / devices / BATCH).map(|step| (0..devices).map(|k| part(k, step)).collect()).collect()
}

fn gradients(model: &Model, batch: &Batch) -> GradientsParams {
    GradientsParams::from_grads(model.forward(batch.clone()).loss.backward(), model)
}

/// A step along the sum of the gradients of each list of batches.
fn by_hand(mut model: Model, steps: Vec<Vec<Batch>>) -> Vec<TensorData> {
    let mut optimizer = SgdConfig::new().init();
    for batches in steps {
        let mut accumulator = GradientsAccumulator::new();
        batches.iter().for_each(|batch| accumulator.accumulate(&model, gradients(&model, batch)));
        model = optimizer.step(RATE, model, accumulator.grads());
    }
    parameters(&model.valid())
}

fn devices(count: usize) -> Vec<Device> {
    vec![Device::flex().autodiff(); count]
}

#[test]
fn several_devices_step_along_the_sum_of_their_gradients() {
    let model = Model::new(&Device::flex().autodiff());
    let alone = by_hand(model.clone(), batches(1));
    assert_eq!(trained(model.clone(), ExecutionStrategy::single(devices(1).remove(0)), 1), alone);
    let sum = by_hand(model.clone(), batches(2));
    assert_ne!(sum, alone);
    for optim in [MultiDeviceOptim::OptimMainDevice, MultiDeviceOptim::OptimSharded] {
        assert_eq!(trained(model.clone(), ExecutionStrategy::multi(devices(2), optim), 1), sum, "{optim:?}");
    }
}

#[test]
fn accumulated_batches_are_summed_too() {
    let model = Model::new(&Device::flex().autodiff());
    let pairs = |devices: usize| -> Vec<Vec<Batch>> {
        batches(devices).chunks(2).map(|steps| steps.iter().flatten().cloned().collect()).collect()
    };
    assert_eq!(
        trained(model.clone(), ExecutionStrategy::single(devices(1).remove(0)), 2),
        by_hand(model.clone(), pairs(1))
    );
    let many = trained(model.clone(), ExecutionStrategy::multi(devices(2), MultiDeviceOptim::OptimMainDevice), 2);
    close(&many, &by_hand(model, pairs(2)), 1e-6);
}

/// With the learning rate divided by the number of devices the step is that of the mean.
#[test]
fn the_sum_is_the_mean_times_the_number_of_devices() -> Result<(), SparseError> {
    let model = Model::new(&Device::flex().autodiff());
    let mut mean = model.clone();
    let mut optimizer = SgdConfig::new().init();
    for batches in batches(2) {
        let parts = batches.iter().map(|batch| (gradients(&mean, batch), BATCH as f64)).collect();
        let grads = weighted_mean(parts, &mean)?;
        mean = optimizer.step(2.0 * RATE, mean, grads);
    }
    close(&by_hand(model, batches(2)), &parameters(&mean.valid()), 1e-6);
    Ok(())
}

/// Each GPU has a worker thread and a part of the data; NCCL makes the mean of the gradients. `SPARSE_CUDA_DEVICES` is
/// the number of GPUs (1).
#[cfg(feature = "cuda")]
#[test]
fn distributed_devices_step_along_the_mean_of_their_gradients() -> Result<(), SparseError> {
    use burn::tensor::distributed::{DistributedConfig, ReduceOperation};

    let count = std::env::var("SPARSE_CUDA_DEVICES").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let gpus: Vec<Device> = (0..count).map(|k| Device::cuda(k).autodiff()).collect();
    let model = Model::new(&Device::flex().autodiff());
    let mut mean = model.clone();
    let mut optimizer = SgdConfig::new().init();
    for batches in batches(count) {
        let parts = batches.iter().map(|batch| (gradients(&mean, batch), BATCH as f64)).collect();
        let grads = weighted_mean(parts, &mean)?;
        mean = optimizer.step(RATE, mean, grads);
    }
    let config = DistributedConfig { all_reduce_op: ReduceOperation::Mean };
    let start = model.fork(&gpus[0]);
    close(&trained(start, ExecutionStrategy::ddp(gpus, config), 1), &parameters(&mean.valid()), 1e-4);
    Ok(())
}

/// A fork has leaves of its own, and shares ids and the pattern.
#[test]
fn forks_train_on_their_own() {
    let device = Device::flex().autodiff();
    let model = Model::new(&device);
    let batch = || Rows.batch(items(), &device);
    let want: Vec<f32> = values(&gradients(&model, &batch()), &model);
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let (model, batch) = (model.clone().fork(&device), batch());
            std::thread::spawn(move || values(&gradients(&model, &batch), &model))
        })
        .collect();
    assert!(threads.into_iter().all(|thread| thread.join().unwrap() == want));
    let moved = model.clone().to_device(&Device::flex());
    assert_eq!((moved.weight.id(), moved.weight.nnz()), (model.weight.id(), model.weight.nnz()));
}

fn values(grads: &GradientsParams, model: &Model) -> Vec<f32> {
    grads.get::<2>(model.weight.id()).unwrap().into_data().iter().collect()
}

fn close(a: &[TensorData], b: &[TensorData], most: f64) {
    assert_eq!(a.len(), b.len());
    for (a, b) in a.iter().zip(b) {
        let worst = a.iter::<f64>().zip(b.iter::<f64>()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(a.shape() == b.shape() && worst < most, "{worst}");
    }
}
