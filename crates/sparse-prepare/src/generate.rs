//! A graph to measure with.

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use std::io::{self, Write};

/// Writes edges as CSV with a header: `edges` lines over at most `nodes` nodes, whose ids are random integers of 63
/// bits. An end is node `nodes * u^3` for a uniform u, so that few nodes have many edges (a power law). The same seed
/// gives the same bytes.
///
/// # Errors
///
/// Those of the writer.
pub fn generate(out: &mut impl Write, edges: u64, nodes: u64, seed: u64) -> io::Result<()> {
    let mut draw = SmallRng::seed_from_u64(seed);
    writeln!(out, "src,dst")?;
    for _ in 0..edges {
        let mut end = || {
            let u: f64 = draw.random();
            id((nodes as f64 * u * u * u) as u64)
        };
        let (src, dst) = (end(), end());
        writeln!(out, "{src},{dst}")?;
    }
    Ok(())
}

/// An id that looks random: SplitMix64's finalizer, without the sign.
fn id(node: u64) -> u64 {
    let mut x = node.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (x ^ (x >> 31)) >> 1
}
