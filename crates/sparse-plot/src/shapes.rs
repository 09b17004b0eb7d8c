//! What a plot is made of: shapes in the coordinates of its axes.

use super::axis::Axis;

/// A place in the coordinates of the axes.
pub(super) type At = (f64, f64);

/// Whose shape it is: it chooses the colour, or the letter in text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Tone {
    /// A series or a class.
    Series(usize),
    /// A class that is not known, or what stands in the background.
    Grey,
    /// A number of a field, below [`LEVELS`]. In a picture its colour says all, and opacity nothing.
    Heat(u8),
}

/// Colours of numbers.
pub(super) const LEVELS: u8 = 32;

impl Tone {
    /// The tone of a class; grey for a negative one, which is not known.
    pub(super) fn of(class: i64) -> Self {
        usize::try_from(class).map_or(Self::Grey, Self::Series)
    }
}

/// One shape. Opacities are in `[0, 1]`, widths and radii in the units of a picture.
#[derive(Clone, Debug)]
pub(super) enum Shape {
    Line { points: Vec<At>, tone: Tone, alpha: f64, width: f64 },
    Cell { from: At, to: At, tone: Tone, alpha: f64 },
    Dot { at: At, tone: Tone, alpha: f64, radius: f64 },
    Ring { at: At, tone: Tone, radius: f64 },
}

/// What stands beside a name in the legend.
#[derive(Clone, Copy, Debug)]
pub(super) enum Swatch {
    Line(Tone),
    Cell(Tone),
    Dot(Tone),
    Ring,
}

/// One chart.
#[derive(Clone, Debug)]
pub(super) struct Panel {
    pub(super) title: String,
    pub(super) x: Axis,
    pub(super) y: Axis,
    /// Whether the axes are drawn; if not, only their ranges matter.
    pub(super) framed: bool,
    /// Height by width of the area, where it is fixed.
    pub(super) aspect: Option<f64>,
    pub(super) shapes: Vec<Shape>,
    pub(super) legend: Vec<(Swatch, String)>,
    /// The place and tone of each node that can be ringed, and the radius of its dot.
    pub(super) nodes: Vec<(At, Tone)>,
    pub(super) radius: f64,
}

impl Panel {
    pub(super) fn new(title: impl Into<String>, x: Axis, y: Axis) -> Self {
        let (shapes, legend, nodes) = (vec![], vec![], vec![]);
        Self { title: title.into(), x, y, framed: true, aspect: None, shapes, legend, nodes, radius: 0.0 }
    }
}
