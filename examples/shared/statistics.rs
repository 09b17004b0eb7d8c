//! Numbers of several runs.

/// The mean, and the standard deviation of a sample (0 for a single number).
pub(crate) fn mean_std(numbers: &[f64]) -> (f64, f64) {
    let mean = numbers.iter().sum::<f64>() / numbers.len().max(1) as f64;
    let squares: f64 = numbers.iter().map(|x| (x - mean).powi(2)).sum();
    (mean, (squares / numbers.len().saturating_sub(1).max(1) as f64).sqrt())
}
