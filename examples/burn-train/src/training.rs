//! What both tasks share: the learner with its metrics, checkpoints and early stopping, and the test of the best model.

use crate::checkpoints;
use crate::display::EpochLines;
use burn::data::dataloader::DataLoader;
use burn::optim::AdamConfig;
use burn::tensor::{Device, Int, Tensor};
use burn_train::metric::store::{Aggregate, Direction, Split};
use burn_train::metric::{AccuracyMetric, LossMetric};
use burn_train::{
    ClassificationOutput, ExecutionStrategy, InferenceStep, Learner, LearnerModel, LearnerSummary,
    MetricEarlyStoppingStrategy, StoppingCondition, SupervisedTraining, TrainStep,
};
use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Arc;

/// How a task is trained.
pub(crate) struct Settings {
    /// Of checkpoints and metrics.
    pub(crate) folder: PathBuf,
    /// Epochs that are trained already.
    pub(crate) done: usize,
    pub(crate) epochs: usize,
    pub(crate) patience: usize,
    pub(crate) batch_size: usize,
    pub(crate) lr: f64,
    pub(crate) workers: usize,
    pub(crate) seed: u64,
    pub(crate) quiet: bool,
    /// With autodiff.
    pub(crate) device: Device,
}

/// What a run gives.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// Share of the test items that the best model gets right.
    pub(crate) accuracy: f64,
    /// The epoch with the smallest validation loss.
    pub(crate) best: usize,
    /// Epochs trained.
    pub(crate) epochs: usize,
}

/// The data of a task.
pub(crate) struct Loaders<I> {
    pub(crate) train: Arc<dyn DataLoader<I>>,
    pub(crate) valid: Arc<dyn DataLoader<I>>,
    pub(crate) test: Arc<dyn DataLoader<I>>,
}

/// Trains a model and tests it as it was in its best epoch.
pub(crate) fn train<M, I>(settings: &Settings, model: M, loaders: Loaders<I>) -> Result<Outcome, String>
where
    M: LearnerModel
        + TrainStep<Input = I, Output = ClassificationOutput>
        + InferenceStep<Input = I, Output = ClassificationOutput>,
{
    let Settings { folder, device, done, .. } = settings;
    let stopping = MetricEarlyStoppingStrategy::new(
        &LossMetric::new(),
        Aggregate::Mean,
        Direction::Lowest,
        Split::Valid,
        StoppingCondition::NoImprovementSince { n_epochs: settings.patience },
    );
    let mut training = SupervisedTraining::new(folder, loaders.train, loaders.valid)
        .with_training_strategy(ExecutionStrategy::single(device.clone()).into())
        .metrics((LossMetric::new(), AccuracyMetric::new()))
        .with_default_checkpointers()
        .early_stopping(stopping)
        .num_epochs(settings.epochs)
        // The logger of a process can be set once, which is not for an example to do.
        .with_application_logger(None);
    if *done > 0 {
        checkpoints::check(folder, *done, model.clone())?;
        training = training.checkpoint(*done);
    }
    let dashboard = cfg!(feature = "tui") && !settings.quiet && std::io::stdout().is_terminal();
    if !dashboard {
        training = training.renderer(Box::new(EpochLines::new(settings.quiet)));
    }
    // PyTorch's epsilon. Burn's is 1e-5.
    let adam = AdamConfig::new().with_epsilon(1e-8).init();
    let result = training.launch(Learner::new(model, adam, settings.lr));
    if let Some(trouble) = result.error {
        return Err(trouble.to_string());
    }

    let summary = LearnerSummary::new(folder, &["Loss"])?;
    let losses = summary.metrics.valid.first().map_or(&[][..], |loss| &loss.entries);
    let best = losses.iter().min_by(|a, b| a.value.total_cmp(&b.value)).map_or(summary.epochs, |entry| entry.step);
    let model = checkpoints::load(folder, best, result.model)?;
    let accuracy = accuracy(&model, &*loaders.test.to_device(&device.clone().inner()))?;
    Ok(Outcome { accuracy, best, epochs: summary.epochs })
}

/// Share of the items that a model gets right.
fn accuracy<M: InferenceStep<Output = ClassificationOutput>>(
    model: &M,
    items: &dyn DataLoader<M::Input>,
) -> Result<f64, String> {
    let mut right = 0;
    for item in items.iter() {
        let out = model.step(item.map_err(|trouble| trouble.to_string())?);
        let guesses: Tensor<1, Int> = out.output.argmax(1).squeeze_dim(1);
        right += guesses.equal(out.targets).int().sum().into_scalar::<i64>();
    }
    Ok(right as f64 / items.num_items().max(1) as f64)
}
