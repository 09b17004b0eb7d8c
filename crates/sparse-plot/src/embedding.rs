//! Points in the plane.

use super::axis::{Axis, range};
use super::figure::Plot;
use super::shapes::{At, Panel, Shape, Swatch, Tone};
use burn::tensor::Tensor;
use sparse_macros::or_panic;
use sparse_ops::extend::read_data;
use sparse_ops::{Result, SparseError};
use std::collections::BTreeSet;

/// Points of a plot, and classes in its legend.
const POINTS: usize = 3000;
const CLASSES: usize = 12;

/// Points `[N, 2]` in the colours of their classes. [`pca`](super::pca) makes such points from longer rows.
///
/// `labels[i]` is the class of point `i`; a negative one is not known, and grey. Without labels (`&[]`) all are of one
/// colour. Of more than 3000 points every k-th is drawn. Of many points the outermost half a percent on each side of an
/// axis can be outside. Points that are not finite are left out.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::plot::embedding;
///
/// let points = Tensor::<2>::from_floats([[0.0, 0.0], [1.0, 1.0], [2.0, 0.0]], &Device::flex());
/// let text = embedding(points, &[0, 0, 1]).with_names(&["left", "right"]).text(40, 12);
/// assert!(text.contains("o left") && text.contains("x right"));
/// ```
///
/// # Errors
///
/// `shape_mismatch` if the points have not two columns; `length_mismatch` if there is not one label for each point.
#[or_panic]
pub fn try_embedding(points: Tensor<2>, labels: &[i64]) -> Result<Plot> {
    const OP: &str = "embedding";
    let [count, dims] = points.dims();
    if dims != 2 {
        let rule = "use plot::pca: points must have {right:1} columns, got {left:1}";
        return Err(SparseError::shape_mismatch(OP, rule, [dims], [2]));
    }
    check_labels(OP, labels, count)?;
    let numbers: Vec<f64> = if count == 0 { vec![] } else { read_data(points.inner()).iter::<f64>().collect() };
    let places: Vec<At> = numbers.chunks(2).map(|point| (point[0], point[1])).collect();
    let axis = |name, (from, to)| Axis::new(name, from, to, false);
    let x = axis("first component", range(places.iter().map(|at| at.0)));
    let mut panel = Panel::new("", x, axis("second component", range(places.iter().map(|at| at.1))));
    let tone = |at: usize| labels.get(at).map_or(Tone::Series(0), |&class| Tone::of(class));
    let alpha = if count > 200 { 0.65 } else { 0.8 };
    panel.radius = if count > 200 { 2.0 } else { 6.0 };
    panel.nodes = places.iter().enumerate().map(|(at, &place)| (place, tone(at))).collect();
    let chosen = panel.nodes.iter().step_by(count.div_ceil(POINTS).max(1));
    let dots = chosen.map(|&(at, tone)| Shape::Dot { at, tone, alpha, radius: panel.radius });
    panel.shapes = dots.collect();
    panel.legend = class_legend(labels);
    Ok(Plot::new(panel))
}

pub(super) fn check_labels(op: &'static str, labels: &[i64], nodes: usize) -> Result<()> {
    if !labels.is_empty() && labels.len() != nodes {
        return Err(SparseError::length_mismatch(op, "the labels, one for each point or none,", nodes, labels.len()));
    }
    Ok(())
}

/// The classes that there are.
pub(super) fn class_legend(labels: &[i64]) -> Vec<(Swatch, String)> {
    let classes: BTreeSet<Option<usize>> = labels.iter().map(|&class| usize::try_from(class).ok()).collect();
    let known = classes.iter().flatten();
    let entry = |&class: &usize| (Swatch::Dot(Tone::Series(class)), format!("class {class}"));
    let mut legend: Vec<_> = known.clone().take(CLASSES).map(entry).collect();
    if classes.contains(&None) {
        legend.push((Swatch::Dot(Tone::Grey), "class not known".into()));
    }
    if let Some(more) = known.count().checked_sub(CLASSES + 1) {
        legend.push((Swatch::Dot(Tone::Grey), format!("and {} more classes", more + 1)));
    }
    legend
}
