//! The picture of an example.

use sparse_tensor::plot::Plot;
use std::path::Path;

/// Makes the folder of `--out`. Call it before the work, so that a typing error does not cost it.
pub(crate) fn make_folder(out: &Path) -> Result<(), String> {
    std::fs::create_dir_all(out).map_err(|trouble| format!("--out {}: cannot be made, got {trouble}", out.display()))
}

/// Writes `{name}.svg` and `{name}.png` into the folder. Returns the line that says so.
pub(crate) fn save(plot: &Plot, out: &Path, name: &str) -> Result<String, String> {
    let path = out.join(format!("{name}.svg"));
    plot.svg(&path).map_err(|trouble| trouble.to_string())?;
    plot.png(path.with_extension("png")).map_err(|trouble| trouble.to_string())?;
    Ok(format!("picture: {} (and as .png)", path.display()))
}
