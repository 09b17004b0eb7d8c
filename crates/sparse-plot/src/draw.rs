//! Draws a panel on a canvas: title, axes, shapes, legend.

use super::axis::Axis;
use super::canvas::{Canvas, Ink, Look, Side};
use super::shapes::{At, Panel, Shape, Tone};

/// A rectangle of a canvas: left, top, right, bottom.
#[derive(Clone, Copy, Debug)]
pub(super) struct Area {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) right: f64,
    pub(super) bottom: f64,
}

impl Area {
    fn width(&self) -> f64 {
        self.right - self.left
    }

    fn height(&self) -> f64 {
        self.bottom - self.top
    }
}

/// Draws a panel in an area, whose lowest `legend_lines` lines are for the legend.
pub(super) fn draw(canvas: &mut dyn Canvas, panel: &Panel, area: Area, legend_lines: usize) {
    let look = canvas.look();
    // What is small still gets some of its chart.
    let lines = legend_lines.min((area.height() / look.line / 4.0) as usize);
    let legend_top = area.bottom - lines as f64 * look.line;
    legend(canvas, panel, Area { top: legend_top, ..area }, lines);

    let mut chart = Area { bottom: legend_top, ..area };
    if !panel.title.is_empty() {
        let title = fitting(&panel.title, area.width(), look.letter * look.title / look.small);
        canvas.text(&title, (middle(area), chart.top + look.title_line / 2.0), Side::Middle, look.title);
        chart.top += look.title_line;
    }
    if !panel.x.name.is_empty() {
        chart.bottom -= look.line;
    }
    // Below the chart: the numbers of a framed one, then the name of the axis.
    let numbers = match panel.framed {
        true => look.line + if look.fine { look.gap } else { look.line },
        false => 0.0,
    };
    if panel.framed {
        let upright = look.fine && !panel.y.name.is_empty();
        if !panel.y.name.is_empty() && !look.fine {
            canvas.text(&panel.y.name, (area.left, chart.top), Side::Start, look.small);
            chart.top += look.line;
        }
        chart.bottom -= numbers;
        let ticks = panel.y.ticks((chart.height() / look.line / 2.0).max(1.0) as usize);
        let longest = ticks.iter().map(|(_, label)| label.chars().count()).max().unwrap_or(0);
        chart.left += longest as f64 * look.letter + look.gap + if upright { look.line } else { 0.0 };
        chart = shaped(chart, panel.aspect, look);
        axes(canvas, panel, chart, &ticks);
        if upright {
            let x = chart.left - longest as f64 * look.letter - look.gap - look.line / 2.0;
            canvas.upright(&panel.y.name, (x, (chart.top + chart.bottom) / 2.0), look.small);
        }
    } else {
        chart = shaped(chart, panel.aspect, look);
    }
    if !panel.x.name.is_empty() {
        let name = fitting(&panel.x.name, area.width(), look.letter);
        let y = chart.bottom + numbers + look.line / 2.0;
        canvas.text(&name, (middle(area), y), Side::Middle, look.small);
    }
    shapes(canvas, panel, chart);
}

fn middle(area: Area) -> f64 {
    (area.left + area.right) / 2.0
}

/// The largest part of an area with height : width = `aspect`, in the middle of it.
fn shaped(area: Area, aspect: Option<f64>, look: Look) -> Area {
    // A canvas of letters has whole letters.
    let whole = |size: f64, unit: f64| if look.fine { size } else { (size / unit).round() * unit };
    let aspect = aspect.unwrap_or(area.height() / area.width());
    let width = whole(area.width().min(area.height() / aspect), look.letter).max(look.letter);
    let height = whole(area.height().min(area.width() * aspect), look.line).max(look.line);
    let left = area.left + whole((area.width() - width).max(0.0) / 2.0, look.letter);
    Area { left, right: left + width, bottom: area.top + height, ..area }
}

fn axes(canvas: &mut dyn Canvas, panel: &Panel, chart: Area, y_ticks: &[(f64, String)]) {
    let look = canvas.look();
    let faint = Ink { tone: Some(Tone::Grey), alpha: 0.25 };
    for (tick, label) in y_ticks {
        let y = chart.bottom - panel.y.share(*tick) * chart.height();
        if look.fine && panel.aspect.is_none() {
            canvas.line(&[(chart.left, y), (chart.right, y)], faint, 1.0);
        }
        // A dot on the lower edge belongs to the line of letters above it.
        let y = if look.fine { y } else { y.min(chart.bottom - 1.0) };
        canvas.text(label, (chart.left - look.gap, y), Side::End, look.small);
    }
    canvas.frame((chart.left, chart.top), (chart.right, chart.bottom));
    let letters = 2.0 + panel.x.ticks(5).iter().map(|(_, label)| label.len()).max().unwrap_or(0) as f64;
    let below = if look.fine { look.gap + look.line / 2.0 } else { look.line };
    for (tick, label) in panel.x.ticks((chart.width() / look.letter / letters).clamp(1.0, 10.0) as usize) {
        let x = chart.left + panel.x.share(tick) * chart.width();
        canvas.text(&label, (x, chart.bottom + below), Side::Middle, look.small);
    }
}

fn shapes(canvas: &mut dyn Canvas, panel: &Panel, chart: Area) {
    let inside = |axis: &Axis, value: f64| (-1e-9..=1.0 + 1e-9).contains(&axis.share(value));
    let shown = |(x, y): At| inside(&panel.x, x) && inside(&panel.y, y);
    // The last row and column of dots belong to the chart.
    let (right, bottom) = if canvas.look().fine { (0.0, 0.0) } else { (0.01, 0.01) };
    let place = |(x, y): At| {
        let (x, y) = (panel.x.share(x).clamp(0.0, 1.0), panel.y.share(y).clamp(0.0, 1.0));
        (chart.left + x * (chart.width() - right), chart.bottom - bottom - y * (chart.height() - bottom))
    };
    for shape in &panel.shapes {
        match shape {
            Shape::Line { points, tone, alpha, width } => {
                let points: Vec<(f64, f64)> = points.iter().map(|&at| place(at)).collect();
                canvas.line(&points, Ink { tone: Some(*tone), alpha: *alpha }, *width);
            }
            Shape::Cell { from, to, tone, alpha } => {
                canvas.cell(place(*from), place(*to), Ink { tone: Some(*tone), alpha: *alpha });
            }
            Shape::Dot { at, tone, alpha, radius } if shown(*at) => {
                canvas.dot(place(*at), *radius, Ink { tone: Some(*tone), alpha: *alpha });
            }
            Shape::Ring { at, tone, radius } if shown(*at) => {
                canvas.ring(place(*at), *radius, Ink { tone: Some(*tone), alpha: 1.0 });
            }
            Shape::Dot { .. } | Shape::Ring { .. } => {}
        }
    }
}

/// How many lines the legend of a panel fills.
pub(super) fn legend_lines(panel: &Panel, width: f64, look: Look) -> usize {
    places(panel, width, look).last().map_or(0, |&(line, _)| line + 1)
}

/// The line of each entry and where it begins.
fn places(panel: &Panel, width: f64, look: Look) -> Vec<(usize, f64)> {
    let (mut line, mut x) = (0, 0.0);
    let mut places = vec![];
    for (_, name) in &panel.legend {
        let needed = (name.chars().count() as f64 + 6.0) * look.letter;
        if x > 0.0 && x + needed > width {
            (line, x) = (line + 1, 0.0);
        }
        places.push((line, x));
        x += needed;
    }
    places
}

fn legend(canvas: &mut dyn Canvas, panel: &Panel, area: Area, lines: usize) {
    let look = canvas.look();
    let places = places(panel, area.width(), look);
    for ((swatch, name), (line, x)) in panel.legend.iter().zip(places).filter(|(_, (line, _))| *line < lines) {
        let (x, y) = (area.left + x, area.top + (line as f64 + 0.5) * look.line);
        canvas.swatch(*swatch, (x + 1.5 * look.letter, y));
        let name = fitting(name, area.width() - 4.0 * look.letter, look.letter);
        canvas.text(&name, (x + 3.5 * look.letter, y), Side::Start, look.small);
    }
}

/// As much of a text as fits.
fn fitting(text: &str, width: f64, letter: f64) -> String {
    let most = (width / letter).max(1.0) as usize;
    if text.chars().count() <= most {
        return text.into();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}
