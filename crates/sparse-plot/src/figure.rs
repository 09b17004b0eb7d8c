//! A plot, what can be changed on it, and how it is written.

use super::canvas::Canvas;
use super::draw::{Area, draw, legend_lines};
use super::shapes::{Panel, Shape, Swatch, Tone};
use super::text::Page;
use super::vector::{Vector, write_text};
use plotters::prelude::SVGBackend;
use sparse_ops::{Result, SparseError};
use std::io::Write;
use std::path::Path;

/// At most this many nodes get a ring.
const RINGS: usize = 300;

/// A picture that can be written as SVG, PNG and text. It owns what it shows.
///
/// The functions of [`plot`](super) make one. See there for an example.
#[derive(Clone, Debug)]
pub struct Plot {
    panels: Vec<Panel>,
    columns: usize,
    /// Of one panel.
    size: (usize, usize),
}

/// A page of plots, row by row, with `columns` of them in a row (at least 1). Each has the size of the largest.
///
/// ```
/// use sparse_tensor::plot::{curves, grid};
///
/// let (loss, accuracy) = ([0.7, 0.4, 0.2], [0.5, 0.8, 0.9]);
/// let page = grid(&[curves(&[("loss", loss)]), curves(&[("accuracy", accuracy)])], 2);
/// assert!(page.text(80, 20).lines().any(|line| line.contains("loss") && line.contains("accuracy")));
/// ```
pub fn grid(plots: &[Plot], columns: usize) -> Plot {
    let size = plots.iter().fold((1, 1), |size, plot| (size.0.max(plot.size.0), size.1.max(plot.size.1)));
    let panels: Vec<Panel> = plots.iter().flat_map(|plot| plot.panels.clone()).collect();
    let columns = columns.clamp(1, panels.len().max(1));
    Plot { panels, columns, size: if plots.is_empty() { DEFAULT } else { size } }
}

const DEFAULT: (usize, usize) = (560, 480);

impl Plot {
    pub(super) fn new(panel: Panel) -> Self {
        Self { panels: vec![panel], columns: 1, size: DEFAULT }
    }

    /// Another title; none if it is empty. On a page this changes every plot, as the other methods do.
    #[must_use]
    pub fn with_title(self, title: &str) -> Self {
        self.each(|panel| panel.title = title.into())
    }

    /// Other names of the two axes.
    #[must_use]
    pub fn with_axes(self, x: &str, y: &str) -> Self {
        self.each(|panel| (panel.x.name, panel.y.name) = (x.into(), y.into()))
    }

    /// Names of the classes 0, 1, .. in the legend.
    #[must_use]
    pub fn with_names<S: AsRef<str>>(self, names: &[S]) -> Self {
        self.each(|panel| {
            for (swatch, entry) in &mut panel.legend {
                if let Swatch::Dot(Tone::Series(class)) = swatch
                    && let Some(name) = names.get(*class)
                {
                    *entry = name.as_ref().into();
                }
            }
        })
    }

    /// Rings around some nodes of an [`embedding`](super::embedding) or [`attention`](super::attention), with an entry
    /// of this name in the legend. In text a ringed node has a capital letter. The first 300 nodes get a ring. Nodes
    /// that do not exist get none.
    #[must_use]
    pub fn with_rings(self, nodes: &[usize], name: &str) -> Self {
        self.each(|panel| {
            let ringed = nodes.iter().filter_map(|&node| panel.nodes.get(node)).take(RINGS);
            let radius = panel.radius;
            panel.shapes.extend(ringed.map(|&(at, tone)| Shape::Ring { at, tone, radius }));
            panel.legend.push((Swatch::Ring, name.into()));
        })
    }

    /// Another size in pixels. On a page: of each plot. It starts as 560 x 480.
    #[must_use]
    pub fn with_size(self, width: usize, height: usize) -> Self {
        Self { size: (width, height), ..self }
    }

    fn each(mut self, change: impl Fn(&mut Panel)) -> Self {
        self.panels.iter_mut().for_each(change);
        self
    }

    /// The picture as SVG, on a white ground.
    ///
    /// # Errors
    ///
    /// `invalid` for a size outside 100 to 8192 pixels, on a page as a whole.
    pub fn to_svg(&self) -> Result<String> {
        const OP: &str = "Plot::to_svg";
        let size = self.pixels(OP)?;
        let mut text = String::new();
        let mut page = Vector::new(SVGBackend::with_string(&mut text, size), 1.0, write_text);
        self.draw(&mut page);
        page.finish().map_err(|message| SparseError::invalid(OP, message))?;
        Ok(text)
    }

    /// Writes the picture as SVG; a folder that is missing is made.
    ///
    /// # Errors
    ///
    /// As [`to_svg`](Self::to_svg); `invalid` for a file that cannot be written.
    pub fn svg(&self, path: impl AsRef<Path>) -> Result<()> {
        write("Plot::svg", path.as_ref(), self.to_svg()?.as_bytes())
    }

    /// The picture as PNG, on a white ground, with two pixels of the file for one of the size. The letters are those of
    /// DejaVu Sans, whatever fonts the machine has. Needs the feature `plot-png`.
    ///
    /// # Errors
    ///
    /// As [`to_svg`](Self::to_svg).
    #[cfg(feature = "png")]
    pub fn to_png(&self) -> Result<Vec<u8>> {
        const OP: &str = "Plot::to_png";
        super::png::render(self.pixels(OP)?, |page| self.draw(page))
            .map_err(|message| SparseError::invalid(OP, message))
    }

    /// Writes the picture as PNG; a folder that is missing is made. Needs the feature `plot-png`.
    ///
    /// # Errors
    ///
    /// As [`to_png`](Self::to_png); `invalid` for a file that cannot be written.
    #[cfg(feature = "png")]
    pub fn png(&self, path: impl AsRef<Path>) -> Result<()> {
        write("Plot::png", path.as_ref(), &self.to_png()?)
    }

    /// The picture as lines of text for a terminal, in braille and letters without colours: at most `columns`
    /// characters in each of `rows` lines. Sizes are kept in 20 to 1000 and 8 to 1000.
    ///
    /// The first curve is a line of dots, each other one is written in its letter. A class is a letter too. The legend
    /// says which.
    pub fn text(&self, columns: usize, rows: usize) -> String {
        let mut page = Page::new(columns.clamp(20, 1000), rows.clamp(8, 1000));
        self.draw(&mut page);
        page.finish()
    }

    /// Rows of panels.
    fn rows(&self) -> usize {
        self.panels.len().div_ceil(self.columns).max(1)
    }

    fn pixels(&self, op: &'static str) -> Result<(u32, u32)> {
        let (width, height) = self.size;
        let (width, height) = (width.saturating_mul(self.columns), height.saturating_mul(self.rows()));
        let fits = |size| (100..=8192).contains(&size);
        if fits(width) && fits(height) {
            return Ok((width as u32, height as u32));
        }
        let message = format!("use with_size: width and height must be 100 to 8192 pixels, got {width} x {height}");
        Err(SparseError::invalid(op, message))
    }

    fn draw(&self, canvas: &mut dyn Canvas) {
        let (look, (width, height)) = (canvas.look(), canvas.size());
        // Between letters no panel can begin; one column between two panels stays free.
        let whole = |size: f64, unit: f64| if look.fine { size } else { (size / unit).floor() * unit };
        let (width, height) =
            (whole(width / self.columns as f64, look.letter), whole(height / self.rows() as f64, look.line));
        let inner = width - if look.fine { 2.0 * look.margin } else { look.letter };
        for (row, panels) in self.panels.chunks(self.columns).enumerate() {
            let lines = panels.iter().map(|panel| legend_lines(panel, inner, look)).max().unwrap_or(0);
            for (column, panel) in panels.iter().enumerate() {
                let (left, top) = (column as f64 * width + look.margin, row as f64 * height + look.margin / 2.0);
                let bottom = (row + 1) as f64 * height - look.margin / 2.0;
                draw(canvas, panel, Area { left, top, right: left + inner, bottom }, lines);
            }
        }
    }
}

fn write(op: &'static str, path: &Path, bytes: &[u8]) -> Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let made = folder.map_or(Ok(()), std::fs::create_dir_all);
    made.and_then(|()| sparse_disk::replace(path, |trouble| trouble, |out| out.write_all(bytes)))
        .map_err(|trouble| SparseError::invalid(op, format!("{}: cannot be written, got {trouble}", path.display())))
}
