//! A progress bar, and a line for each epoch. Burn's own display without its dashboard has a line for each batch.

use crate::console::{progress, say};
use burn_train::logger::{EvaluationProgressLogger, TrainingProgressLogger};
use burn_train::metric::{MetricAttributes, MetricDefinition, MetricId, NumericEntry};
use burn_train::renderer::{
    EvaluationName, MetricState, MetricsRenderer, MetricsRendererEvaluation, MetricsRendererTraining,
};
use indicatif::ProgressBar;
use std::collections::HashMap;

/// What burn-train reports, for a terminal, a pipe or a log.
pub(crate) struct EpochLines {
    quiet: bool,
    bar: ProgressBar,
    /// The name of each metric, and whether it is a share of 100.
    metrics: HashMap<MetricId, (String, bool)>,
    epoch: usize,
    epochs: usize,
    /// The metrics of the epoch so far, as text.
    line: String,
}

impl EpochLines {
    pub(crate) fn new(quiet: bool) -> Self {
        let bar = progress(quiet, 0, "items");
        Self { quiet, bar, metrics: HashMap::new(), epoch: 0, epochs: 0, line: String::new() }
    }

    /// Only the value at the end of a split is kept.
    fn update(&mut self, state: &MetricState) {
        if let MetricState::Numeric(entry, Some(NumericEntry::Final(value))) = state
            && let Some((name, percent)) = self.metrics.get(&entry.metric_id)
        {
            self.line += &if *percent { format!("  {name} {value:.1} %") } else { format!("  {name} {value:.4}") };
        }
    }
}

impl MetricsRendererTraining for EpochLines {
    fn update_train(&mut self, state: MetricState) {
        self.update(&state);
    }

    fn update_valid(&mut self, state: MetricState) {
        self.update(&state);
    }
}

impl TrainingProgressLogger for EpochLines {
    fn start(&mut self, epochs: usize, first: usize, _items: Option<usize>, _label: Option<&str>) {
        (self.epochs, self.epoch) = (epochs, first);
    }

    fn start_split(&mut self, split: &str, items: usize) {
        self.line += &format!("  {split}:");
        self.bar.reset();
        self.bar.set_length(items as u64);
        self.bar.set_message(format!("epoch {}/{}: {split}", self.epoch, self.epochs));
    }

    fn update_split(&mut self, items: usize) {
        self.bar.set_position(items as u64);
    }

    fn end_split(&mut self) {}

    fn update_epoch(&mut self, epoch: usize) {
        let line = std::mem::take(&mut self.line);
        if !self.quiet {
            self.bar.suspend(|| say(&format!("epoch {epoch}/{}{line}", self.epochs)));
        }
        self.epoch = epoch + 1;
    }

    fn end(&mut self) {
        self.bar.finish_and_clear();
    }

    fn log_event_training(&mut self, _event: String) {}
}

impl MetricsRenderer for EpochLines {
    fn manual_close(&mut self) {}

    fn register_metric(&mut self, definition: MetricDefinition) {
        let percent = match definition.attributes {
            MetricAttributes::Numeric(number) => number.unit.as_deref() == Some("%"),
            MetricAttributes::None => false,
        };
        self.metrics.insert(definition.metric_id, (definition.name.to_lowercase(), percent));
    }
}

// An evaluator of burn-train would report here. This example tests the model by itself.
impl MetricsRendererEvaluation for EpochLines {
    fn update_test(&mut self, _name: EvaluationName, _state: MetricState) {}
}

impl EvaluationProgressLogger for EpochLines {
    fn start_global_progress(&mut self, _tests: usize) {}
    fn start_test(&mut self, _name: &str, _items: usize) {}
    fn update_test_progress(&mut self, _items: usize) {}
    fn end_test(&mut self) {}
    fn end_global_progress(&mut self) {}
    fn log_event_evaluation(&mut self, _event: String) {}
}
