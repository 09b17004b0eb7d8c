//! PNG: pixels drawn by plotters, letters of a font that is part of the program, in the file format of the W3C
//! (PNG 1.2).

use super::vector::{Letters, Vector};
use ab_glyph::{Font, FontRef, PxScale, ScaleFont};
use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};
use plotters::backend::{BitMapBackend, DrawingBackend};
use plotters::style::{Color, RGBAColor};
use std::io::Write;
use std::sync::OnceLock;

/// Pixels for a unit of the page.
const SCALE: u32 = 2;

/// Draws a page of this size and encodes it.
pub(super) fn render(
    (width, height): (u32, u32),
    draw: impl FnOnce(&mut Vector<BitMapBackend<'_>>),
) -> Result<Vec<u8>, String> {
    let size = (SCALE * width, SCALE * height);
    let mut pixels = vec![0; 3 * size.0 as usize * size.1 as usize];
    let mut page = Vector::new(BitMapBackend::with_buffer(&mut pixels, size), f64::from(SCALE), write);
    draw(&mut page);
    page.finish()?;
    encode(&pixels, size).map_err(|trouble| trouble.to_string())
}

/// Draws black letters of DejaVu Sans.
fn write(backend: &mut BitMapBackend<'_>, letters: &Letters<'_>) -> Result<(), String> {
    static FONT: OnceLock<Option<FontRef<'static>>> = OnceLock::new();
    let font = FONT.get_or_init(|| FontRef::try_from_slice(dejavu::sans::regular()).ok());
    let font = font.as_ref().ok_or("the font cannot be read")?;
    // The size of SVG is that of an em; that of ab_glyph is from the lowest to the highest letter.
    let em = letters.em;
    let height = f64::from(font.height_unscaled()) / f64::from(font.units_per_em().unwrap_or(2048.0));
    let font = font.as_scaled(PxScale::from((em * height) as f32));
    let ids: Vec<_> = letters.text.chars().map(|letter| font.glyph_id(letter)).collect();
    let width: f32 = ids.iter().map(|&id| font.h_advance(id)).sum();
    let mut along = -letters.anchor as f32 * width;
    for id in ids {
        // Capitals are 0.73 em high: their middle stands at the place of the text.
        let glyph = id.with_scale_and_position(font.scale(), ab_glyph::point(along, 0.36 * em as f32));
        along += font.h_advance(id);
        let Some(outline) = font.outline_glyph(glyph) else { continue };
        let (left, top) = (outline.px_bounds().min.x as i32, outline.px_bounds().min.y as i32);
        let mut dots = vec![];
        outline.draw(|x, y, share| dots.push((left + x as i32, top + y as i32, share)));
        for (x, y, share) in dots.into_iter().filter(|(_, _, share)| *share > 0.0) {
            let (x, y) = if letters.upright { (y, -x) } else { (x, y) };
            let at = (letters.at.0 + x, letters.at.1 + y);
            let black = RGBAColor(0, 0, 0, f64::from(share.min(1.0))).to_backend_color();
            backend.draw_pixel(at, black).map_err(|trouble| trouble.to_string())?;
        }
    }
    Ok(())
}

/// Rows of RGB pixels as a file. Each row is stored as its difference to the row above, which is mostly 0.
fn encode(pixels: &[u8], (width, height): (u32, u32)) -> std::io::Result<Vec<u8>> {
    const UP: u8 = 2;
    let stride = 3 * width as usize;
    let mut rows = ZlibEncoder::new(vec![], Compression::default());
    let mut above = vec![0; stride];
    for row in pixels.chunks(stride) {
        rows.write_all(&[UP])?;
        let differences: Vec<u8> = row.iter().zip(&above).map(|(here, above)| here.wrapping_sub(*above)).collect();
        rows.write_all(&differences)?;
        above.copy_from_slice(row);
    }
    let mut header = [width.to_be_bytes(), height.to_be_bytes()].concat();
    // 8 bits for each of three colours; the only compression and the only filters; not interlaced.
    header.extend([8, 2, 0, 0, 0]);
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    for (name, content) in [(b"IHDR", &header), (b"IDAT", &rows.finish()?), (b"IEND", &vec![])] {
        let mut sum = Crc::new();
        sum.update(name);
        sum.update(content);
        file.extend((content.len() as u32).to_be_bytes());
        file.extend(name);
        file.extend(content);
        file.extend(sum.sum().to_be_bytes());
    }
    Ok(file)
}
