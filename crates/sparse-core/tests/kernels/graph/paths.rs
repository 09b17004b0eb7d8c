//! Shortest paths by Dijkstra's algorithm and by delta-stepping: the same bits, and the documented paths.

use super::{Graph, graphs};
use proptest::prelude::*;
use sparse_core::graph::*;

const NONE: f64 = f64::INFINITY;

/// Weights with many ties and zeros, of far sizes, and some that are no edges.
fn weight() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => (0u8..4).prop_map(f64::from),
        2 => Just(-0.0),
        2 => (-300i32..300, 1.0f64..10.0).prop_map(|(power, x)| x * 10f64.powi(power)),
        1 => 0.0f64..1.0,
        1 => Just(NONE),
        1 => Just(f64::MAX),
    ]
}

/// The least sums along paths, from their start, by as many passes over all edges as change something.
fn lengths(graph: &Graph, weights: &[f64], source: usize, limit: f64) -> Vec<f64> {
    let mut lengths = vec![NONE; graph.nodes()];
    lengths[source] = 0.0;
    loop {
        let before = lengths.clone();
        for (row, end, at) in elements(graph) {
            let longer = lengths[row] + weights[at];
            if longer <= limit && longer < lengths[end] {
                lengths[end] = longer;
            }
        }
        if lengths == before {
            return lengths;
        }
    }
}

fn elements(graph: &Graph) -> Vec<(usize, usize, usize)> {
    let span = |row: usize| graph.ptr[row] as usize..graph.ptr[row + 1] as usize;
    (0..graph.nodes()).flat_map(|row| span(row).map(move |at| (row, graph.idx[at] as usize, at))).collect()
}

/// The least last element from a nearer node; without one, of the elements that add nothing, the least from a node with
/// the fewest of them at the end of its path.
fn last_elements(graph: &Graph, weights: &[f64], source: usize, lengths: &[f64]) -> Vec<i64> {
    let mut via = vec![-1; graph.nodes()];
    let tight: Vec<_> = elements(graph)
        .into_iter()
        .filter(|&(row, end, at)| lengths[end] < NONE && lengths[row] + weights[at] == lengths[end] && end != source)
        .collect();
    for &(row, end, at) in tight.iter().rev() {
        if lengths[row] < lengths[end] {
            via[end] = at as i64;
        }
    }
    loop {
        let open = |node: usize, via: &[i64]| via[node] < 0 && node != source;
        let mut next = via.clone();
        for &(row, end, at) in tight.iter().rev() {
            if open(end, &via) && !open(row, &via) {
                next[end] = at as i64;
            }
        }
        if next == via {
            return via;
        }
        via = next;
    }
}

fn same(paths: &Paths, lengths: &[f64], via: &[i64]) -> bool {
    let bits = |list: &[f64]| -> Vec<u64> { list.iter().map(|x| x.to_bits()).collect() };
    bits(&paths.distances) == bits(lengths) && paths.via == via
}

/// Each source alone, and all at once, with 1 to 4 threads.
fn check(graph: &Graph, weights: &[f64], sources: &[i64], limit: f64, width: Option<f64>) {
    let (ptr, idx) = graph.ids();
    let want: Vec<_> = sources.iter().map(|&source| lengths(graph, weights, source as usize, limit)).collect();
    let via = sources.iter().zip(&want).flat_map(|(&source, own)| last_elements(graph, weights, source as usize, own));
    let (want, via) = (want.concat(), via.collect::<Vec<_>>());
    assert!(same(&shortest_paths(ptr, idx, weights, sources, limit).unwrap(), &want, &via), "Dijkstra");
    for threads in [1, 2, 4] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let found = pool.install(|| delta_stepping(ptr, idx, weights, sources, limit, width));
        assert!(same(&found, &want, &via), "delta-stepping, {threads} threads");
    }
}

proptest! {
    #[test]
    fn paths_are_those_of_all_passes_by_either_algorithm(
        graph in graphs(24),
        pool in prop::collection::vec(weight(), 1..600),
        raw in prop::collection::vec(0usize..1000, 0..7),
        limit in prop_oneof![3 => Just(NONE), 1 => 0.0f64..6.0, 1 => Just(0.0), 1 => Just(-1.0)],
        width in prop_oneof![
            3 => Just(None),
            1 => (0.1f64..5.0).prop_map(Some),
            1 => Just(Some(f64::from_bits(1))),
            1 => Just(Some(f64::MAX)),
        ],
    ) {
        let weights: Vec<f64> = (0..graph.idx.len()).map(|at| pool[at * 31 % pool.len()]).collect();
        let sources: Vec<i64> = raw.iter().map(|source| (source % graph.nodes()) as i64).collect();
        check(&graph, &weights, &sources, limit, width);
    }
}

/// Fronts that several threads share, and rows of very different lengths.
#[test]
fn large_fronts_have_the_same_paths_on_several_threads() {
    for (key, most) in [(1u64, 4usize), (2, 1000), (3, 1)] {
        let mut graph = Graph::random(30_000, 8, key);
        if key == 2 {
            graph = Graph::star(60_000);
        }
        let mut stream = Stream::new(key);
        let weights: Vec<f64> = graph.idx.iter().map(|_| stream.below(most) as f64 / 3.0).collect();
        check(&graph, &weights, &[0], NONE, None);
        check(&graph, &weights, &[0, 5, 0], NONE, Some(100.0));
    }
}

/// From 0 to 1, and then round a cycle of zeros, whose least elements are those of the cycle.
#[test]
fn paths_do_not_go_round_a_cycle_of_zeros() {
    let graph = Graph::of(&[vec![3], vec![2], vec![1, 3], vec![1]]);
    // (0, 3), (1, 2), (2, 1), (2, 3), (3, 1)
    for far in [1.0, 1e20] {
        let weights = [far, 0.0, 0.0, 0.0, if far > 1.0 { 1.0 } else { 0.0 }];
        let (ptr, idx) = graph.ids();
        let found = shortest_paths(ptr, idx, &weights, &[0], NONE).unwrap();
        assert_eq!((found.distances, found.via), (vec![0.0, far, far, far], vec![-1, 4, 1, 0]));
        check(&graph, &weights, &[0, 1, 2, 3], NONE, None);
    }
}

#[test]
fn the_usual_width_is_positive_and_finite() {
    for (weights, want) in [
        (&[][..], 1.0),
        (&[0.0, 0.0], 1.0),
        (&[NONE, NONE], 1.0),
        (&[f64::MAX, f64::MAX, NONE], f64::MAX),
        (&[1.0, 2.0, 3.0, 2.0], 4.0),
        (&[f64::from_bits(1), 0.0], 1.0),
        (&[1.0], 4.0),
    ] {
        assert_eq!(usual_width(weights, 2), want, "{weights:?}");
    }
}
