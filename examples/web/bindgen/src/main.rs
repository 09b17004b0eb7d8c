//! `bindgen MODULE.wasm FOLDER` writes the module and its JavaScript into the folder. This is what the program
//! `wasm-bindgen` does, with a tenth of its dependencies.

use std::error::Error;
use wasm_bindgen_cli_support::Bindgen;

fn main() -> Result<(), Box<dyn Error>> {
    let [module, folder] = std::env::args().skip(1).collect::<Vec<_>>().try_into().map_err(|_| "MODULE.wasm FOLDER")?;
    let mut bindgen = Bindgen::new();
    bindgen.input_path(module).web(true)?.omit_default_module_path(false).typescript(false).remove_name_section(true);
    Ok(bindgen.generate(folder)?)
}
