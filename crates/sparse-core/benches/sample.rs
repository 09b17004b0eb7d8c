//! Neighbour sampling in a random graph of 1M nodes and 20M edges: batches of 1024 seeds with fan-outs [15, 10],
//! compared with the sampler of torch_sparse on the same graph and seeds.

mod common;

use common::{Random, report, time};
use sparse_core::dynamic::Ids;
use sparse_core::graph::{Draw, Relabel, Slices, sample_hops};
use std::io::Write;

const NODES: usize = 1_000_000;
const DEGREE: usize = 20;
const SEEDS: usize = 1024;
const BATCHES: usize = 50;

fn main() {
    common::huge_pages();
    let mut random = Random(1);
    let (mut ptr, mut idx) = (vec![0i32], Vec::with_capacity(NODES * DEGREE));
    for _ in 0..NODES {
        let start = idx.len();
        // Degrees from 0 to 40.
        idx.extend((0..random.below(2 * DEGREE + 1)).map(|_| random.below(NODES) as i32));
        idx[start..].sort_unstable();
        let mut kept = start;
        for k in start..idx.len() {
            if k == start || idx[k] != idx[kept - 1] {
                idx[kept] = idx[k];
                kept += 1;
            }
        }
        idx.truncate(kept);
        ptr.push(kept as i32);
    }
    // Different seeds in a batch, as a loader gives them.
    let seeds: Vec<i64> = (0..SEEDS * BATCHES).map(|k| (k * 7_919 % NODES) as i64).collect();
    if let Some(folder) = std::env::var_os("PEER_GRAPH") {
        let save = |name: &str, list: &mut dyn Iterator<Item = i64>| {
            let path = std::path::Path::new(&folder).join(name);
            let mut file = std::io::BufWriter::new(std::fs::File::create(path).expect("a folder to write to"));
            list.for_each(|x| file.write_all(&x.to_le_bytes()).expect("room for the graph"));
        };
        save("ptr.i64", &mut ptr.iter().map(|&x| x.into()));
        save("idx.i64", &mut idx.iter().map(|&x| x.into()));
        save("seeds.i64", &mut seeds.iter().copied());
    }
    println!("{} nodes, {} edges", NODES, idx.len());
    let peers = common::peers("sample");
    let weights: Vec<f32> = idx.iter().map(|&col| (col % 7 + 1) as f32).collect();
    let mut table = Relabel::new(NODES);
    for (name, replace, weighted) in
        [("sample", false, false), ("sample with replacement", true, false), ("sample weighted", false, true)]
    {
        let mut nodes = 0;
        let took = time(|| {
            nodes = 0;
            for (batch, seeds) in seeds.chunks_exact(SEEDS).enumerate() {
                let draw = Draw { replace, weighted, key: batch as u64 };
                let store = Slices::new("bench", Ids::I32(&ptr), Ids::I32(&idx), Some(&weights)).expect("a graph");
                let hops = sample_hops("bench", &store, seeds, &[15, 10], draw, &mut table).expect("seeds in range");
                nodes += hops.nodes.len();
            }
        });
        report(&format!("{name}, {BATCHES} batches"), took, peers.get(name));
        println!("    {} nodes a batch", nodes / BATCHES);
    }
}
