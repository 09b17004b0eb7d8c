//! Lines on two logarithmic axes, with their names at the right.

use plotters::backend::SVGBackend;
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, IntoDrawingArea};
use plotters::element::{Circle, PathElement, Text};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{BLACK, Color, FontTransform, IntoFont, RGBColor, ShapeStyle, TextStyle, WHITE};
use std::error::Error;
use std::path::Path;

const SIZE: (i32, i32) = (900, 520);
/// Edges of the space of the lines.
const LEFT: i32 = 80;
const TOP: i32 = 50;
const BOTTOM: i32 = 450;
/// Width of the space at the right, with and without names of lines.
const NAMES: i32 = 160;
const MARGIN: i32 = 40;
/// Height of a name at the right.
const LINE: i32 = 22;
const GRID: RGBColor = RGBColor(225, 225, 225);
/// The colours of Okabe and Ito, which the colour-blind can tell apart.
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(230, 159, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(213, 94, 0),
    RGBColor(86, 180, 233),
    BLACK,
];

pub(crate) struct Series {
    pub name: String,
    pub points: Vec<(f64, f64)>,
}

pub(crate) struct Chart {
    pub title: &'static str,
    pub x: &'static str,
    pub y: &'static str,
    pub series: Vec<Series>,
    /// Ratio of two marks of the x axis.
    pub base: f64,
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), Box<dyn Error>>;

pub(crate) fn write(path: &Path, chart: &Chart) -> Drawn {
    let area = SVGBackend::new(path, (SIZE.0 as u32, SIZE.1 as u32)).into_drawing_area();
    area.fill(&WHITE)?;
    let points = || chart.series.iter().flat_map(|series| &series.points);
    let right = SIZE.0 - if chart.series.len() > 1 { NAMES } else { MARGIN };
    let x = Axis { marks: powers(chart.base, points().map(|point| point.0)), ends: (LEFT, right) };
    let y = Axis { marks: round(points().map(|point| point.1)), ends: (BOTTOM, TOP) };
    frame(&area, chart, &x, &y)?;
    let mut names = vec![];
    let lines = chart.series.iter().zip(COLOURS).filter(|(series, _)| !series.points.is_empty());
    for (series, colour) in lines {
        let places: Vec<(i32, i32)> = series.points.iter().map(|point| (x.pixel(point.0), y.pixel(point.1))).collect();
        for &place in &places {
            area.draw(&Circle::new(place, 4, colour.filled()))?;
        }
        names.push((places[places.len() - 1].1, series.name.as_str(), colour));
        area.draw(&PathElement::new(places, colour.stroke_width(2)))?;
    }
    if chart.series.len() > 1 {
        legend(&area, right, names)?;
    }
    Ok(area.present()?)
}

/// Where the numbers of an axis stand.
struct Axis {
    marks: Vec<f64>,
    /// Pixels of the first and the last mark.
    ends: (i32, i32),
}

impl Axis {
    fn pixel(&self, number: f64) -> i32 {
        let (first, last) = (self.marks[0], self.marks[self.marks.len() - 1]);
        let share = (number / first).ln() / (last / first).ln();
        self.ends.0 + (share * f64::from(self.ends.1 - self.ends.0)).round() as i32
    }
}

/// Powers of `base` around the numbers.
fn powers(base: f64, numbers: impl Iterator<Item = f64>) -> Vec<f64> {
    let (low, high) = limits(numbers.map(|number| number.log(base)));
    // A logarithm is not exact.
    let (low, high) = ((low + 1e-9).floor() as i32, (high - 1e-9).ceil() as i32);
    (low..=high.max(low + 1)).map(|power| base.powi(power)).collect()
}

/// 1, 2 and 5 times powers of ten around the numbers.
fn round(numbers: impl Iterator<Item = f64>) -> Vec<f64> {
    let (low, high) = limits(numbers);
    let number = |step: i32| -> f64 {
        let text = format!("{}e{}", [1, 2, 5][step.rem_euclid(3) as usize], step.div_euclid(3));
        text.parse().expect("a number")
    };
    let start = (-60..60).rev().find(|&step| number(step) <= low).unwrap_or(-60);
    let end = (start + 1..=60).find(|&step| number(step) >= high).unwrap_or(60);
    (start..=end).map(number).collect()
}

fn limits(numbers: impl Iterator<Item = f64>) -> (f64, f64) {
    numbers.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), number| (low.min(number), high.max(number)))
}

/// Title, grid, numbers and names of the axes.
fn frame(area: &Area<'_>, chart: &Chart, x: &Axis, y: &Axis) -> Drawn {
    let thin: ShapeStyle = GRID.into();
    let right = x.ends.1;
    for &mark in &x.marks {
        let at = x.pixel(mark);
        area.draw(&PathElement::new([(at, TOP), (at, BOTTOM)], thin))?;
        area.draw(&Text::new(label(mark), (at, BOTTOM + 8), style(15, HPos::Center, VPos::Top)))?;
    }
    for &mark in &y.marks {
        let at = y.pixel(mark);
        area.draw(&PathElement::new([(LEFT, at), (right, at)], thin))?;
        area.draw(&Text::new(label(mark), (LEFT - 8, at), style(15, HPos::Right, VPos::Center)))?;
    }
    area.draw(&PathElement::new([(LEFT, TOP), (LEFT, BOTTOM), (right, BOTTOM)], BLACK.stroke_width(1)))?;
    let middle = ((LEFT + right) / 2, (TOP + BOTTOM) / 2);
    area.draw(&Text::new(chart.title, (middle.0, 26), style(22, HPos::Center, VPos::Center)))?;
    area.draw(&Text::new(chart.x, (middle.0, BOTTOM + 46), style(17, HPos::Center, VPos::Center)))?;
    let font = ("sans-serif", 17).into_font().transform(FontTransform::Rotate270);
    let upright = TextStyle::from(font).pos(Pos::new(HPos::Center, VPos::Center));
    area.draw(&Text::new(chart.y, (22, middle.1), upright))?;
    Ok(())
}

/// Names in the order of the ends of the lines, and near them.
fn legend(area: &Area<'_>, right: i32, mut names: Vec<(i32, &str, RGBColor)>) -> Drawn {
    names.sort_by_key(|name| name.0);
    let mut free = TOP;
    for name in &mut names {
        name.0 = name.0.max(free);
        free = name.0 + LINE;
    }
    let mut free = BOTTOM;
    for name in names.iter_mut().rev() {
        name.0 = name.0.min(free);
        free = name.0 - LINE;
    }
    for (at, name, colour) in names {
        area.draw(&PathElement::new([(right + 20, at), (right + 44, at)], colour.stroke_width(3)))?;
        area.draw(&Text::new(name, (right + 52, at), style(17, HPos::Left, VPos::Center)))?;
    }
    Ok(())
}

fn style(size: i32, h: HPos, v: VPos) -> TextStyle<'static> {
    TextStyle::from(("sans-serif", size).into_font()).pos(Pos::new(h, v))
}

/// A number, short if it is a large round one.
fn label(number: f64) -> String {
    match number {
        1e6.. => format!("{} M", number / 1e6),
        1e3.. if number % 1e3 == 0.0 => format!("{} k", number / 1e3),
        _ => number.to_string(),
    }
}
