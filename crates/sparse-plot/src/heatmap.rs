//! Numbers of a grid as colours.

use super::axis::Axis;
use super::figure::Plot;
use super::shapes::{LEVELS, Panel, Shape, Swatch, Tone};
use burn::tensor::Tensor;
use sparse_ops::extend::read_data;

/// At most this many cells along an axis.
const CELLS: usize = 256;
/// Colours in the legend.
const NAMED: usize = 5;

/// A dense field `[rows, cols]` as colours from dark blue (low) to yellow (high), row 0 at the top: a solution on a
/// grid, the entries of a small matrix.
///
/// `range` says which numbers have the first and the last colour, so that several fields can be compared; numbers
/// beyond have these colours too. Without it they are the least and the largest number. There are 32 colours, and the
/// legend names five of them. Of more than 256 rows or columns a cell is the mean over neighbours. Neighbours of one
/// colour in a row are one shape, so the picture has at most 65,536 of them. Numbers that are not finite stay white.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::plot::heatmap;
///
/// let field = Tensor::<2>::from_floats([[0.0, 1.0], [2.0, 4.0]], &Device::flex());
/// let text = heatmap(field, None).with_title("A field").text(40, 16);
/// assert!(text.contains("A field") && text.contains("4"));
/// ```
pub fn heatmap(field: Tensor<2>, range: Option<(f64, f64)>) -> Plot {
    let [height, width] = field.dims();
    let list: Vec<f64> = match height * width {
        0 => vec![],
        _ => read_data(field.inner()).convert::<f64>().iter().collect(),
    };
    let (high, wide) = (height.max(1) as f64, width.max(1) as f64);
    let (x, y) = (Axis::new("column", 0.0, wide, true), Axis::new("row", high, 0.0, true));
    let mut panel = Panel::new("", x, y);
    // A very long field is still a picture.
    panel.aspect = Some((high / wide).clamp(0.25, 4.0));
    let finite = || list.iter().copied().filter(|number| number.is_finite());
    let (low, top) = range.filter(|(low, top)| low.is_finite() && top.is_finite()).unwrap_or_else(|| {
        let ends = (finite().fold(f64::INFINITY, f64::min), finite().fold(f64::NEG_INFINITY, f64::max));
        if ends.0 <= ends.1 { ends } else { (0.0, 1.0) }
    });
    let last = f64::from(LEVELS - 1);
    let level = |number: f64| match top > low {
        // Halves: the difference of two large numbers may overflow.
        true => ((number / 2.0 - low / 2.0) / (top / 2.0 - low / 2.0) * last).round().clamp(0.0, last) as u8,
        false => LEVELS / 2,
    };
    let (down, across) = (height.min(CELLS), width.min(CELLS));
    for line in 0..down {
        let rows = line * height / down..(line + 1) * height / down;
        let levels: Vec<Option<u8>> = (0..across)
            .map(|cell| {
                let cols = cell * width / across..(cell + 1) * width / across;
                let count = (rows.len() * cols.len()) as f64;
                let parts = rows.clone().flat_map(|row| &list[row * width..][cols.clone()]);
                let mean: f64 = parts.map(|number| number / count).sum();
                mean.is_finite().then(|| level(mean))
            })
            .collect();
        let mut from = 0;
        for run in levels.chunk_by(|a, b| a == b) {
            let to = from + run.len();
            if let Some(level) = run[0] {
                let at = |cell: usize| (cell * width / across) as f64;
                let (from, to) = ((at(from), rows.start as f64), (at(to), rows.end as f64));
                // What a canvas without colours draws.
                let alpha = f64::from(level) / last;
                panel.shapes.push(Shape::Cell { from, to, tone: Tone::Heat(level), alpha });
            }
            from = to;
        }
    }
    for named in 0..NAMED {
        let share = named as f64 / (NAMED - 1) as f64;
        let number = low * (1.0 - share) + top * share;
        let swatch = Swatch::Cell(Tone::Heat((share * last).round() as u8));
        panel.legend.push((swatch, short(number, top / 2.0 - low / 2.0)));
    }
    Plot::new(panel)
}

/// A number of a range of this half width.
fn short(number: f64, half: f64) -> String {
    let digits = (1.0 - half.abs().max(1e-300).log10()).ceil();
    match half > 0.0 && (0.0..5.0).contains(&digits) && number.abs() < 1e5 {
        true => format!("{number:.0$}", digits as usize),
        false if number == 0.0 => "0".into(),
        false if half > 0.0 && digits < 0.0 && number.abs() < 1e6 => format!("{number:.0}"),
        false => format!("{number:.1e}"),
    }
}
