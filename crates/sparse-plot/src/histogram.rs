//! Counts as bars.

use super::axis::Axis;
use super::figure::Plot;
use super::shapes::{Panel, Shape, Tone};

/// Bars of a plot.
const BARS: usize = 60;

/// Bars of counts: `counts[d]` things have the number `d`. `data::degree_histogram` gives
/// such counts for the degrees of a graph.
///
/// For more than 60 numbers, a bar is the sum over neighbouring ones, and the name of the axis says of how many. The
/// height of a bar is its count.
///
/// ```
/// use burn::tensor::Device;
/// use sparse_tensor::{data::{degree_histogram, karate}, plot::histogram};
///
/// let counts = degree_histogram(&karate(&Device::flex()).adjacency);
/// let text = histogram(&counts).with_axes("degree", "members").text(60, 16);
/// assert!(text.contains("degree"));
/// ```
pub fn histogram(counts: &[usize]) -> Plot {
    let joined = counts.len().div_ceil(BARS).max(1);
    let bars: Vec<f64> = counts.chunks(joined).map(|part| part.iter().map(|&count| count as f64).sum()).collect();
    let top = bars.iter().copied().fold(1.0, f64::max);
    let name = if joined > 1 { format!("number, {joined} to a bar") } else { "number".into() };
    // A bar stands around its number.
    let end = (bars.len().max(1) * joined) as f64 - 0.5;
    let mut panel = Panel::new("", Axis::new(&name, -0.5, end, true), Axis::new("count", 0.0, top * 1.05, true));
    for (bar, height) in bars.into_iter().enumerate().filter(|(_, height)| *height > 0.0) {
        let from = (bar * joined) as f64 - 0.5;
        let gap = 0.1 * joined as f64;
        let to = (from + joined as f64 - gap, height);
        panel.shapes.push(Shape::Cell { from: (from + gap, 0.0), to, tone: Tone::Series(0), alpha: 0.85 });
    }
    Plot::new(panel)
}
