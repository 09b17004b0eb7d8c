//! Numbers by epoch.

use super::axis::{Axis, range};
use super::figure::Plot;
use super::shapes::{At, Panel, Shape, Swatch, Tone};

/// Points of a curve, and curves of a plot.
const POINTS: usize = 250;
const CURVES: usize = 20;

/// Curves by name: number `i` of a curve stands at epoch `i + 1`.
///
/// A curve breaks where a number is not finite. If no number is negative and the smallest is under half of the
/// largest, the axis begins at 0. The first 20 curves are drawn, and of a long one every k-th number, so that there are
/// about 250.
///
/// ```
/// use sparse_tensor::plot::curves;
///
/// let (train, val) = (vec![0.9f32, 0.5, f32::NAN, 0.2], vec![0.9, 0.7, 0.6, 0.6]);
/// let text = curves(&[("train", &train), ("validation", &val)]).with_title("Loss").text(60, 16);
/// assert!(text.contains("validation"));
/// ```
pub fn curves<T: Into<f64> + Copy, S: AsRef<[T]>>(series: &[(&str, S)]) -> Plot {
    let lists: Vec<Vec<f64>> = series.iter().take(CURVES).map(|(_, list)| numbers(list.as_ref())).collect();
    let mut panel = panel(&lists);
    for (at, ((name, _), list)) in series.iter().zip(&lists).enumerate() {
        panel.shapes.extend(lines(list, Tone::Series(at), 0.9, 2.0));
        panel.legend.push((Swatch::Line(Tone::Series(at)), (*name).into()));
    }
    Plot::new(panel)
}

/// Curves of several runs of one training: each one thin, and their mean.
///
/// The mean of an epoch is over the runs that have a finite number there. Otherwise as [`curves`]; the mean is over all
/// runs, also those that are not drawn. A single run is one curve.
///
/// ```
/// use sparse_tensor::plot::runs;
///
/// let losses = [vec![0.9, 0.5, 0.2], vec![0.8, 0.4, 0.3]];
/// assert!(runs(&losses).with_axes("epoch", "loss").text(60, 16).contains("mean of 2 runs"));
/// ```
pub fn runs<T: Into<f64> + Copy, S: AsRef<[T]>>(runs: &[S]) -> Plot {
    if let [run] = runs {
        return curves(&[("one run", run.as_ref())]);
    }
    let length = runs.iter().map(|run| run.as_ref().len()).max().unwrap_or(0);
    let mut sums = vec![(0.0, 0.0); length];
    for run in runs {
        for (sum, &number) in sums.iter_mut().zip(run.as_ref()) {
            let number: f64 = number.into();
            if number.is_finite() {
                *sum = (sum.0 + number, sum.1 + 1.0);
            }
        }
    }
    let mean: Vec<f64> = sums.into_iter().map(|(sum, count)| sum / count).collect();
    let lists: Vec<Vec<f64>> = runs.iter().take(CURVES).map(|run| numbers(run.as_ref())).collect();
    // With room for the mean, which is one of all runs.
    let mut panel = panel(&[&lists[..], std::slice::from_ref(&mean)].concat());
    // In text, a thin grey line is one of dots, and the mean has to be told from it.
    let (mean_tone, run_tone) = (Tone::Series(1), Tone::Grey);
    for list in &lists {
        panel.shapes.extend(lines(list, run_tone, 0.4, 1.0));
    }
    panel.shapes.extend(lines(&mean, mean_tone, 1.0, 3.0));
    let each = if runs.len() > CURVES { format!("first {CURVES} runs") } else { "each run".into() };
    panel.legend =
        vec![(Swatch::Line(mean_tone), format!("mean of {} runs", runs.len())), (Swatch::Line(run_tone), each)];
    Plot::new(panel)
}

fn numbers<T: Into<f64> + Copy>(list: &[T]) -> Vec<f64> {
    list.iter().map(|&number| number.into()).collect()
}

/// An empty panel with room for all numbers.
fn panel(lists: &[Vec<f64>]) -> Panel {
    let finite = || lists.iter().flatten().copied().filter(|number| number.is_finite());
    let (low, high) = (finite().fold(f64::INFINITY, f64::min), finite().fold(f64::NEG_INFINITY, f64::max));
    let (from, to) = match low >= 0.0 && low < 0.5 * high {
        true => (0.0, high * 1.05),
        // The two ends stand for all: no outlier of a loss is left out.
        false => range([low, high].into_iter()),
    };
    let epochs = lists.iter().map(Vec::len).max().unwrap_or(0);
    let (x, y) = (Axis::new("epoch", 1.0, epochs.max(2) as f64, true), Axis::new("", from, to, false));
    Panel::new("", x, y)
}

/// The pieces of a curve between numbers that are not finite.
fn lines(list: &[f64], tone: Tone, alpha: f64, width: f64) -> Vec<Shape> {
    let step = list.len().div_ceil(POINTS).max(1);
    let chosen = (0..list.len()).filter(|&at| at % step == 0 || at + 1 == list.len());
    let points: Vec<At> = chosen.map(|at| ((at + 1) as f64, list[at])).collect();
    let pieces = points.split(|point| !point.1.is_finite()).filter(|piece| !piece.is_empty());
    pieces
        .map(|piece| match *piece {
            [at] => Shape::Dot { at, tone, alpha, radius: width },
            _ => Shape::Line { points: piece.to_vec(), tone, alpha, width },
        })
        .collect()
}
