//! What training on sampled neighbours would cost on graphs and machines that are not here: `docs/scale.md`.
//!
//! Batches are counted with the library's own sampler, on power-law graphs of up to 10^11 edges that take no memory.
//! The rest is arithmetic on these counts and on constants, which are named in the page.
//!
//! - `cargo run --release -p sparse-scale` prints the tables (`--quick`: of the small graphs only).
//! - `.. -- --write` puts them into the page, `.. -- --check` fails if they are not there.
//! - `RAYON_NUM_THREADS=1 .. -- --measure [--disk FILE]` measures the constants on this machine.

mod graph;
mod measure;
mod model;
mod page;
mod reach;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let given = |name: &str| words.iter().any(|word| word == name);
    if given("--measure") {
        let disk = words.iter().position(|word| word == "--disk");
        let disk = disk.map(|at| PathBuf::from(words.get(at + 1).expect("a path behind --disk")));
        measure::measure(disk.as_deref());
        return ExitCode::SUCCESS;
    }
    let tables = page::tables(given("--quick"));
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/scale.md");
    let text = || std::fs::read_to_string(path).expect("docs/scale.md");
    if given("--write") {
        std::fs::write(path, page::put(&text(), &tables)).expect("the page can be written");
    } else if given("--check") {
        let text = text();
        if page::put(&text, &tables) != text {
            eprintln!("the tables of docs/scale.md are not those that this program prints: `--write` puts them there");
            return ExitCode::FAILURE;
        }
        println!("docs/scale.md has the tables that this program prints");
    } else {
        tables.iter().for_each(|(name, table)| println!("{name}\n\n{table}"));
    }
    ExitCode::SUCCESS
}
