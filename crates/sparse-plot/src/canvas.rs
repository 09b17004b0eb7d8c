//! What the drawing code draws on. SVG, PNG and text each are a canvas.

use super::shapes::{LEVELS, Swatch, Tone};

/// Which point of a text or of its line stands where it is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Side {
    Start,
    Middle,
    End,
}

/// Ink of a shape: whose it is, or the black of the letters and axes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ink {
    /// `None`: black.
    pub(super) tone: Option<Tone>,
    /// In `[0, 1]`.
    pub(super) alpha: f64,
}

/// Sizes of letters and lines. The unit is that of the canvas: a pixel, or a dot of text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    /// Height of the title, and of other letters.
    pub(super) title: f64,
    pub(super) small: f64,
    /// Height of a line with the title, and of other lines.
    pub(super) title_line: f64,
    pub(super) line: f64,
    /// Width of a letter.
    pub(super) letter: f64,
    /// Space between an axis and the numbers at it, and around a chart.
    pub(super) gap: f64,
    pub(super) margin: f64,
    /// Whether lines of text can stand upright, and faint lines behind a chart help.
    pub(super) fine: bool,
}

/// A surface of some size, with the origin at the top left.
pub(super) trait Canvas {
    fn size(&self) -> (f64, f64);
    fn look(&self) -> Look;
    fn line(&mut self, points: &[(f64, f64)], ink: Ink, width: f64);
    fn cell(&mut self, from: (f64, f64), to: (f64, f64), ink: Ink);
    fn dot(&mut self, at: (f64, f64), radius: f64, ink: Ink);
    fn ring(&mut self, at: (f64, f64), radius: f64, ink: Ink);
    /// The left and the lower edge of an area.
    fn frame(&mut self, from: (f64, f64), to: (f64, f64));
    /// A line of black text at a height of `size`. `at` is its middle in height.
    fn text(&mut self, text: &str, at: (f64, f64), side: Side, size: f64);
    /// The same, upright, centred.
    fn upright(&mut self, text: &str, at: (f64, f64), size: f64);
    /// The sign of a legend entry in a square around `at`.
    fn swatch(&mut self, swatch: Swatch, at: (f64, f64));
}

/// Text without control characters, which neither SVG nor a terminal may get.
pub(super) fn clean(text: &str) -> String {
    let odd = |letter: char| letter.is_control() || matches!(letter, '\u{fffe}' | '\u{ffff}');
    text.chars().map(|letter| if odd(letter) { ' ' } else { letter }).collect()
}

/// The colours of the first series, by Okabe and Ito, which the colour-blind can tell apart. Others follow in steps of
/// the golden angle around the colour wheel.
pub(super) fn colour(tone: Tone) -> (u8, u8, u8) {
    const COLOURS: [(u8, u8, u8); 8] = [
        (0, 114, 178),
        (230, 159, 0),
        (0, 158, 115),
        (204, 121, 167),
        (213, 94, 0),
        (86, 180, 233),
        (150, 140, 20),
        (60, 60, 60),
    ];
    match tone {
        Tone::Grey => (110, 110, 110),
        Tone::Heat(level) => heat(f64::from(level) / f64::from(LEVELS - 1)),
        Tone::Series(at) if at < COLOURS.len() => COLOURS[at],
        Tone::Series(at) => {
            let turn = ((at % 1000) as f64 * 0.381_966).fract() * 3.0;
            let part = |shift: f64| {
                let distance = (turn - shift).rem_euclid(3.0);
                (40.0 + 170.0 * (1.0 - distance.min(3.0 - distance)).max(0.0)) as u8
            };
            (part(0.0), part(1.0), part(2.0))
        }
    }
}

/// Viridis (van der Walt and Smith 2015), from 0 to 1: dark to bright for every eye.
fn heat(share: f64) -> (u8, u8, u8) {
    const STOPS: [[f64; 3]; 9] = [
        [68.0, 1.0, 84.0],
        [71.0, 45.0, 123.0],
        [59.0, 82.0, 139.0],
        [44.0, 114.0, 142.0],
        [33.0, 145.0, 140.0],
        [40.0, 174.0, 128.0],
        [94.0, 201.0, 98.0],
        [173.0, 220.0, 48.0],
        [253.0, 231.0, 37.0],
    ];
    let at = share.clamp(0.0, 1.0) * (STOPS.len() - 1) as f64;
    let (low, rest) = ((at as usize).min(STOPS.len() - 2), at - (at as usize).min(STOPS.len() - 2) as f64);
    let part = |k: usize| (STOPS[low][k] * (1.0 - rest) + STOPS[low + 1][k] * rest).round() as u8;
    (part(0), part(1), part(2))
}
