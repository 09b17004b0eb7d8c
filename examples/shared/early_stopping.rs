//! When a run ends, and which of its models is kept.

/// Ends a run when neither the loss nor the accuracy on the validation nodes has improved for `patience` epochs, as in
/// the code of Veličković et al. (2018).
pub(crate) struct EarlyStopping {
    patience: u32,
    waited: u32,
    validates: bool,
    loss: f64,
    accuracy: f64,
}

impl EarlyStopping {
    /// `validates`: whether there are validation nodes. Without them a run does not end early.
    pub(crate) fn new(patience: u32, validates: bool) -> Self {
        Self { patience, waited: 0, validates, loss: f64::INFINITY, accuracy: 0.0 }
    }

    /// Takes the loss and the accuracy of an epoch. Whether its model is the best so far: both are at least as good as
    /// in each epoch before. Without validation nodes every model is.
    pub(crate) fn is_best(&mut self, loss: f64, accuracy: f64) -> bool {
        let (lower, higher) = (loss <= self.loss, accuracy >= self.accuracy);
        self.waited = if lower || higher { 0 } else { self.waited + 1 };
        (self.loss, self.accuracy) = (self.loss.min(loss), self.accuracy.max(accuracy));
        !self.validates || lower && higher
    }

    /// Whether the run should end.
    pub(crate) fn stops(&self) -> bool {
        self.validates && self.waited >= self.patience
    }
}
