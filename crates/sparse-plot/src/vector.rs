//! The canvas of SVG and of PNG: a drawing backend of plotters.

use super::canvas::{Canvas, Ink, Look, Side, clean, colour};
use super::shapes::{Swatch, Tone};
use plotters::backend::DrawingBackend;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{FontFamily, FontTransform, IntoFont, RGBAColor, RGBColor, ShapeStyle, TextStyle};

/// A line of letters, in pixels.
pub(super) struct Letters<'a> {
    pub(super) text: &'a str,
    /// What stands here: the middle of the height, and of the length the share `anchor`.
    pub(super) at: (i32, i32),
    pub(super) anchor: f64,
    pub(super) em: f64,
    /// Whether the line goes upwards.
    pub(super) upright: bool,
}

/// Draws in units that are `scale` pixels each, and letters by `write`. The first error of the backend is kept.
pub(super) struct Vector<B: DrawingBackend> {
    backend: B,
    scale: f64,
    write: fn(&mut B, &Letters<'_>) -> Result<(), String>,
    trouble: Option<String>,
}

/// Letters as text, for a backend that knows fonts.
pub(super) fn write_text<B: DrawingBackend>(backend: &mut B, letters: &Letters<'_>) -> Result<(), String> {
    // plotters takes 1.24 em for the height of a line.
    let font = (FontFamily::SansSerif, 1.24 * letters.em).into_font();
    let font = if letters.upright { font.transform(FontTransform::Rotate270) } else { font };
    let h = match letters.anchor {
        0.0 => HPos::Left,
        1.0 => HPos::Right,
        _ => HPos::Center,
    };
    let style = TextStyle::from(font).pos(Pos::new(h, VPos::Center));
    backend.draw_text(letters.text, &style, letters.at).map_err(|trouble| trouble.to_string())
}

impl<B: DrawingBackend> Vector<B> {
    /// A white page.
    pub(super) fn new(mut backend: B, scale: f64, write: fn(&mut B, &Letters<'_>) -> Result<(), String>) -> Self {
        let (width, height) = backend.get_size();
        let style = ShapeStyle { color: RGBColor(255, 255, 255).into(), filled: true, stroke_width: 0 };
        let drawn = backend.draw_rect((0, 0), (width as i32, height as i32), &style, true);
        let mut page = Self { backend, scale, write, trouble: None };
        page.note(drawn);
        page
    }

    /// Ends the drawing.
    pub(super) fn finish(mut self) -> Result<(), String> {
        let drawn = self.backend.present();
        self.note(drawn);
        self.trouble.map_or(Ok(()), Err)
    }

    fn note<E: std::fmt::Display>(&mut self, drawn: Result<(), E>) {
        if let (Err(trouble), None) = (drawn, &self.trouble) {
            self.trouble = Some(trouble.to_string());
        }
    }

    fn pixel(&self, (x, y): (f64, f64)) -> (i32, i32) {
        ((x * self.scale).round() as i32, (y * self.scale).round() as i32)
    }

    fn style(&self, ink: Ink, width: f64, filled: bool) -> ShapeStyle {
        let (r, g, b) = ink.tone.map_or((0, 0, 0), colour);
        let stroke_width = (width * self.scale).round().max(1.0) as u32;
        let alpha = if matches!(ink.tone, Some(Tone::Heat(_))) { 1.0 } else { ink.alpha.clamp(0.0, 1.0) };
        ShapeStyle { color: RGBAColor(r, g, b, alpha), filled, stroke_width }
    }

    fn circle(&mut self, at: (f64, f64), radius: f64, style: &ShapeStyle) {
        let radius = (radius * self.scale).round().max(1.0) as u32;
        let drawn = self.backend.draw_circle(self.pixel(at), radius, style, style.filled);
        self.note(drawn);
    }

    fn letters(&mut self, text: &str, at: (f64, f64), size: f64, anchor: f64, upright: bool) {
        let (text, at) = (clean(text), self.pixel(at));
        let letters = Letters { text: &text, at, anchor, em: size * self.scale / 1.24, upright };
        let drawn = (self.write)(&mut self.backend, &letters);
        self.note(drawn);
    }
}

const BLACK: Ink = Ink { tone: None, alpha: 1.0 };

impl<B: DrawingBackend> Canvas for Vector<B> {
    fn size(&self) -> (f64, f64) {
        let (width, height) = self.backend.get_size();
        (f64::from(width) / self.scale, f64::from(height) / self.scale)
    }

    fn look(&self) -> Look {
        let (title, small) = (20.0, 14.0);
        Look { title, small, title_line: 34.0, line: 20.0, letter: 7.2, gap: 6.0, margin: 14.0, fine: true }
    }

    fn line(&mut self, points: &[(f64, f64)], ink: Ink, width: f64) {
        let style = self.style(ink, width, false);
        let path: Vec<(i32, i32)> = points.iter().map(|&at| self.pixel(at)).collect();
        let drawn = match path[..] {
            [from, to] => self.backend.draw_line(from, to, &style),
            _ => self.backend.draw_path(path, &style),
        };
        self.note(drawn);
    }

    fn cell(&mut self, from: (f64, f64), to: (f64, f64), ink: Ink) {
        let (from, to) = (self.pixel(from), self.pixel(to));
        // A small cell is to be seen; of a field each has its neighbours.
        let least = if matches!(ink.tone, Some(Tone::Heat(_))) { 0 } else { (2.0 * self.scale) as i32 };
        let low = (from.0.min(to.0), from.1.min(to.1));
        let high = (from.0.max(to.0).max(low.0 + least), from.1.max(to.1).max(low.1 + least));
        let style = self.style(ink, 1.0, true);
        let drawn = self.backend.draw_rect(low, high, &style, true);
        self.note(drawn);
    }

    fn dot(&mut self, at: (f64, f64), radius: f64, ink: Ink) {
        let style = self.style(ink, 1.0, true);
        self.circle(at, radius, &style);
    }

    fn ring(&mut self, at: (f64, f64), radius: f64, ink: Ink) {
        self.dot(at, radius, ink);
        let style = self.style(BLACK, (radius / 3.0).min(2.0), false);
        self.circle(at, radius + 2.0, &style);
    }

    fn frame(&mut self, (left, top): (f64, f64), (right, bottom): (f64, f64)) {
        self.line(&[(left, top), (left, bottom), (right, bottom)], BLACK, 1.0);
    }

    fn text(&mut self, text: &str, at: (f64, f64), side: Side, size: f64) {
        let anchor = match side {
            Side::Start => 0.0,
            Side::Middle => 0.5,
            Side::End => 1.0,
        };
        self.letters(text, at, size, anchor, false);
    }

    fn upright(&mut self, text: &str, at: (f64, f64), size: f64) {
        self.letters(text, at, size, 0.5, true);
    }

    fn swatch(&mut self, swatch: Swatch, (x, y): (f64, f64)) {
        let ink = |tone: Tone| Ink { tone: Some(tone), alpha: 1.0 };
        match swatch {
            Swatch::Line(tone) => self.line(&[(x - 8.0, y), (x + 8.0, y)], ink(tone), 3.0),
            Swatch::Cell(tone) => self.cell((x - 5.0, y - 5.0), (x + 5.0, y + 5.0), ink(tone)),
            Swatch::Dot(tone) => self.dot((x, y), 5.0, ink(tone)),
            Swatch::Ring => {
                let style = self.style(BLACK, 2.0, false);
                self.circle((x, y), 6.0, &style);
            }
        }
    }
}
