//! The canvas of text: each character is two by four dots of braille, or a letter.

use super::canvas::{Canvas, Ink, Look, Side, clean};
use super::shapes::{LEVELS, Swatch, Tone};

/// The letters of the classes; a ringed node has the capital.
const LETTERS: [char; 8] = ['o', 'x', 'v', 'z', 's', 'u', 'w', 'c'];
/// How dark a cell must be for each dot of a square of 4 x 4 (Bayer 1973), in sixteenths.
const DITHER: [[f64; 4]; 4] =
    [[0.5, 8.5, 2.5, 10.5], [12.5, 4.5, 14.5, 6.5], [3.5, 11.5, 1.5, 9.5], [15.5, 7.5, 13.5, 5.5]];

/// A page of characters.
pub(super) struct Page {
    columns: usize,
    rows: usize,
    /// A letter, or the bits of a braille character.
    cells: Vec<Result<char, u8>>,
}

impl Page {
    pub(super) fn new(columns: usize, rows: usize) -> Self {
        Self { columns, rows, cells: vec![Err(0); columns * rows] }
    }

    /// The lines, without spaces at their ends.
    pub(super) fn finish(self) -> String {
        let mut text = String::new();
        for row in self.cells.chunks(self.columns) {
            let letters = row.iter().map(|cell| match *cell {
                Ok(letter) => letter,
                Err(0) => ' ',
                Err(bits) => char::from_u32(0x2800 + u32::from(bits)).unwrap_or(' '),
            });
            let line: String = letters.collect();
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }

    /// The character in which a dot is.
    fn place(&self, x: i64, y: i64) -> Option<usize> {
        let (column, row) = (usize::try_from(x).ok()? / 2, usize::try_from(y).ok()? / 4);
        (column < self.columns && row < self.rows).then_some(row * self.columns + column)
    }

    /// Sets one dot. Letters stay.
    fn spot(&mut self, x: i64, y: i64) {
        const BITS: [[u8; 2]; 4] = [[1, 8], [2, 16], [4, 32], [64, 128]];
        let Some(place) = self.place(x, y) else { return };
        if let Err(bits) = &mut self.cells[place] {
            *bits |= BITS[(y % 4) as usize][(x % 2) as usize];
        }
    }

    fn letter(&mut self, letter: char, x: i64, y: i64) {
        if let Some(place) = self.place(x, y) {
            self.cells[place] = Ok(letter);
        }
    }

    /// The letter of a class.
    fn sign(tone: Option<Tone>) -> char {
        match tone {
            Some(Tone::Series(at)) => LETTERS[at % LETTERS.len()],
            _ => '.',
        }
    }

    fn segment(&mut self, from: (f64, f64), to: (f64, f64), ink: Ink) {
        let steps = (to.0 - from.0).abs().max((to.1 - from.1).abs()).ceil().clamp(1.0, 1e5);
        for step in 0..=steps as usize {
            let share = step as f64 / steps;
            let (x, y) = (from.0 + (to.0 - from.0) * share, from.1 + (to.1 - from.1) * share);
            let (x, y) = (x.floor() as i64, y.floor() as i64);
            match ink.tone {
                // The first series is a line of dots, each other one is written in its letter.
                Some(tone @ Tone::Series(1..)) => self.letter(Self::sign(Some(tone)), x, y),
                _ => self.spot(x, y),
            }
        }
    }
}

impl Canvas for Page {
    fn size(&self) -> (f64, f64) {
        (2.0 * self.columns as f64, 4.0 * self.rows as f64)
    }

    fn look(&self) -> Look {
        let line = 4.0;
        Look { title: line, small: line, title_line: line, line, letter: 2.0, gap: 2.0, margin: 0.0, fine: false }
    }

    fn line(&mut self, points: &[(f64, f64)], ink: Ink, _width: f64) {
        points.windows(2).for_each(|ends| self.segment(ends[0], ends[1], ink));
        if let [only] = points {
            self.segment(*only, *only, ink);
        }
    }

    fn cell(&mut self, from: (f64, f64), to: (f64, f64), ink: Ink) {
        if ink.alpha == 0.0 {
            return;
        }
        let ends = |a: f64, b: f64| {
            let low = a.min(b).round() as i64;
            (low, (a.max(b).round() as i64).max(low + 1))
        };
        let ((left, right), (top, bottom)) = (ends(from.0, to.0), ends(from.1, to.1));
        let (width, height) = self.size();
        // What is nearly full is full, and what is nearly empty has one dot.
        let dark = if ink.alpha > 0.8 { 16.0 } else { 16.0 * ink.alpha };
        self.spot(left, top);
        for y in top.max(0)..bottom.min(height as i64) {
            for x in left.max(0)..right.min(width as i64) {
                if dark > DITHER[(y % 4) as usize][(x % 4) as usize] {
                    self.spot(x, y);
                }
            }
        }
    }

    fn dot(&mut self, (x, y): (f64, f64), _radius: f64, ink: Ink) {
        let sign = Self::sign(ink.tone);
        self.letter(sign, x.floor() as i64, y.floor() as i64);
    }

    fn ring(&mut self, (x, y): (f64, f64), _radius: f64, ink: Ink) {
        let sign = Self::sign(ink.tone).to_ascii_uppercase();
        self.letter(sign, x.floor() as i64, y.floor() as i64);
    }

    fn frame(&mut self, (left, top): (f64, f64), (right, bottom): (f64, f64)) {
        let (left, bottom) = (left as i64 - 2, bottom as i64);
        (top as i64..bottom).step_by(4).for_each(|y| self.letter('│', left, y));
        (left + 2..right as i64).step_by(2).for_each(|x| self.letter('─', x, bottom));
        self.letter('└', left, bottom);
    }

    fn text(&mut self, text: &str, at: (f64, f64), side: Side, _size: f64) {
        let text = clean(text);
        let length = text.chars().count() as i64;
        let column = (at.0 / 2.0).round() as i64;
        let start = match side {
            Side::Start => column,
            Side::Middle => (column - length / 2).clamp(0, (self.columns as i64 - length).max(0)),
            Side::End => column - length,
        };
        for (letter, column) in text.chars().zip(start..) {
            self.letter(letter, 2 * column, at.1.floor() as i64);
        }
    }

    fn upright(&mut self, text: &str, at: (f64, f64), size: f64) {
        self.text(text, at, Side::Middle, size);
    }

    fn swatch(&mut self, swatch: Swatch, at: (f64, f64)) {
        let text = match swatch {
            Swatch::Line(Tone::Series(0) | Tone::Grey | Tone::Heat(_)) => "⠒⠒".into(),
            Swatch::Cell(Tone::Heat(level)) => {
                let dots = ['⠀', '⠂', '⠢', '⠶', '⣿'];
                dots[usize::from(level) * (dots.len() - 1) / usize::from(LEVELS - 1)].to_string().repeat(2)
            }
            Swatch::Cell(_) => "⣿⣿".into(),
            Swatch::Line(tone) => Self::sign(Some(tone)).to_string().repeat(2),
            Swatch::Dot(tone) => Self::sign(Some(tone)).to_string(),
            Swatch::Ring => LETTERS[..2].iter().collect::<String>().to_uppercase(),
        };
        self.text(&text, at, Side::Middle, 0.0);
    }
}
