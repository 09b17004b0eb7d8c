//! Samples and walks: whatever was drawn, and its probabilities.

use super::{Graph, check_hops, graphs, uniform};
use proptest::prelude::*;
use sparse_core::Result;
use sparse_core::dynamic::Ids;
use sparse_core::graph::*;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Mutex;

proptest! {
    #[test]
    fn sampled_hops_are_those_of_a_loop(
        graph in graphs(30),
        raw in prop::collection::vec(0usize..1000, 0..6),
        fan_outs in prop::collection::vec(prop_oneof![1usize..4, Just(usize::MAX)], 1..4),
        key in any::<u64>(),
        replace in any::<bool>(),
        weighted in any::<bool>(),
    ) {
        let fan_outs: Vec<usize> = fan_outs.into_iter().map(|k| if replace { k.min(5) } else { k }).collect();
        let seeds: Vec<i64> = raw.iter().map(|seed| (seed % graph.nodes()) as i64).collect();
        // Some weights are 0.
        let weights: Vec<f32> = (0..graph.idx.len()).map(|k| (k % 3) as f32).collect();
        let draw = Draw { replace, weighted, key };
        let used = weighted.then_some(&weights[..]);
        let hops = graph.sample(&seeds, &fan_outs, draw, used);
        check_hops(&graph, &seeds, &fan_outs, draw, used, &hops);
        let (ptr, idx): (Vec<i64>, Vec<i64>) =
            (graph.ptr.iter().map(|&k| k.into()).collect(), graph.idx.iter().map(|&k| k.into()).collect());
        let mut table = Relabel::new(graph.nodes());
        let (narrow_ptr, narrow_idx) = graph.ids();
        for (ptr, idx) in [
            (Ids::I64(&ptr), Ids::I64(&idx)),
            (Ids::I64(&ptr), narrow_idx),
            (narrow_ptr, Ids::I64(&idx)),
        ] {
            let store = Slices::new("t", ptr, idx, used).unwrap();
            store.check().unwrap();
            let other = sample_hops("t", &store, &seeds, &fan_outs, draw, &mut table).unwrap();
            prop_assert_eq!(&other, &hops);
        }
    }
}

/// Pearson's statistic of counts against expectations.
fn chi_squared(pairs: impl Iterator<Item = (usize, f64)>) -> f64 {
    pairs.map(|(got, want)| (got as f64 - want).powi(2) / want).sum()
}

#[test]
fn every_subset_is_drawn_alike() {
    let graph = Graph::star(10);
    let mut counts = BTreeMap::new();
    for key in 0..24_000 {
        let mut edges = graph.sample(&[0], &[3], uniform(key), None).edges;
        edges.sort_unstable();
        *counts.entry(edges).or_insert(0usize) += 1;
    }
    assert_eq!(counts.len(), 120);
    // 119 degrees of freedom: above 179 once in 3000.
    let statistic = chi_squared(counts.values().map(|&count| (count, 200.0)));
    assert!((60.0..179.0).contains(&statistic), "{statistic}");
    // Many draws use another search.
    let (graph, mut counts) = (Graph::star(150), vec![0usize; 150]);
    for key in 0..3000 {
        let edges = graph.sample(&[0], &[100], uniform(key), None).edges;
        assert_eq!(edges.len(), 100);
        edges.iter().for_each(|&edge| counts[edge as usize] += 1);
    }
    // Each is 2000 with a standard deviation of 25.8.
    let statistic = counts.iter().map(|&count| ((count as f64 - 2000.0) / 25.8).powi(2)).sum::<f64>();
    assert!((90.0..220.0).contains(&statistic), "{statistic}");
}

#[test]
fn weights_are_probabilities() {
    let graph = Graph::star(4);
    let weights = [1.0f32, 0.0, 2.0, 3.0];
    let draw = |replace, key| Draw { replace, weighted: true, key };
    let mut pairs = BTreeMap::new();
    for key in 0..30_000 {
        let mut edges = graph.sample(&[0], &[2], draw(false, key), Some(&weights)).edges;
        edges.sort_unstable();
        *pairs.entry((edges[0], edges[1])).or_insert(0usize) += 1;
    }
    // One first and then the other, in either order.
    let p = |a: f64, b: f64| 30_000.0 * (a / 6.0 * b / (6.0 - a) + b / 6.0 * a / (6.0 - b));
    let want = [((0, 2), p(1.0, 2.0)), ((0, 3), p(1.0, 3.0)), ((2, 3), p(2.0, 3.0))];
    assert_eq!(pairs.keys().copied().collect::<Vec<_>>(), want.map(|(pair, _)| pair));
    let statistic = chi_squared(want.iter().map(|&(pair, want)| (pairs[&pair], want)));
    assert!(statistic < 13.8, "2 degrees of freedom: {statistic}");
    let mut counts = [0usize; 4];
    for key in 0..10_000 {
        let hops = graph.sample(&[0], &[6], draw(true, key), Some(&weights));
        hops.edges.iter().zip(&hops.times).for_each(|(&edge, &times)| counts[edge as usize] += times as usize);
    }
    assert_eq!(counts[1], 0);
    let statistic = chi_squared([(counts[0], 1e4), (counts[2], 2e4), (counts[3], 3e4)].into_iter());
    assert!(statistic < 13.8, "2 degrees of freedom: {statistic}");
    // All weights are 0: nothing is drawn.
    let none = [0.0f32; 4];
    for replace in [false, true] {
        let hops = graph.sample(&[0], &[3], Draw { replace, weighted: true, key: 1 }, Some(&none));
        assert_eq!((hops.nodes, hops.ptr), (vec![0], vec![0, 0]));
    }
}

#[test]
fn replacement_counts_draws() {
    let graph = Graph::star(5);
    let mut counts = [0usize; 5];
    for key in 0..10_000 {
        let hops = graph.sample(&[0], &[8], Draw { replace: true, weighted: false, key }, None);
        hops.edges.iter().zip(&hops.times).for_each(|(&edge, &times)| counts[edge as usize] += times as usize);
    }
    assert_eq!(counts.iter().sum::<usize>(), 80_000);
    // 4 degrees of freedom: above 18.5 once in 1000.
    let statistic = chi_squared(counts.iter().map(|&count| (count, 16_000.0)));
    assert!(statistic < 18.5, "{statistic}");
}

#[test]
fn a_walk_steps_along_edges_and_stays_where_there_are_none() {
    let graph = Graph::of(&[vec![1, 2], vec![0], vec![3], vec![]]);
    let (ptr, idx) = graph.ids();
    let walks = random_walks(ptr, idx, &[0, 0, 0, 3], 6, None, 5);
    for walk in walks.chunks_exact(7) {
        for step in walk.windows(2) {
            let row = graph.row(step[0] as usize);
            assert!(if row.is_empty() { step[0] == step[1] } else { row.contains(&(step[1] as i32)) });
        }
    }
    assert_eq!(walks[21..], [3; 7]);
    assert!(random_walks(ptr, idx, &[], 6, None, 5).is_empty());
    assert_eq!(random_walks(ptr, idx, &[2, 1], 0, None, 5), [2, 1]);
    // The first step is uniform.
    let starts = vec![0; 10_000];
    let walks = random_walks(ptr, idx, &starts, 1, None, 3);
    let ones = walks.chunks_exact(2).filter(|walk| walk[1] == 1).count();
    assert!((4_850..5_150).contains(&ones), "{ones}");
}

#[test]
fn a_biased_walk_has_the_probabilities_of_node2vec() {
    // From 0 to 1; from there back to 0, on to 2 (a neighbour of 0), or on to 3 and 4 (no neighbours of 0).
    let graph = Graph::of(&[vec![1, 2], vec![0, 2, 3, 4], vec![0, 1], vec![1], vec![1]]);
    let (ptr, idx) = graph.ids();
    // The last two reject almost every proposal.
    for (p, q) in [(0.25, 4.0), (2.0, 0.5), (1e-9, 1.0), (1e6, 1e6)] {
        let walks = random_walks(ptr, idx, &vec![0; 40_000], 2, Some(WalkBias { p, q }), 11);
        let mut counts = [0usize; 5];
        let passing = walks.chunks_exact(3).filter(|walk| walk[1] == 1);
        passing.for_each(|walk| counts[walk[2] as usize] += 1);
        let all: usize = counts.iter().sum();
        assert!((19_500..20_500).contains(&all), "{all}");
        let weights = [1.0 / p, 0.0, 1.0, 1.0 / q, 1.0 / q];
        let sum: f64 = weights.iter().sum();
        for (count, weight) in counts.iter().zip(weights) {
            let (want, got) = (weight / sum * all as f64, *count as f64);
            assert!((got - want).abs() <= 4.0 * want.sqrt() + 1e-9 * all as f64 + 0.5, "{p} {q}: {counts:?}");
        }
    }
}

/// A number that every number of a sample takes part in, in order.
fn digest(hops: &Hops) -> u64 {
    let numbers = [&hops.nodes, &hops.edges].into_iter().flatten().copied();
    let small = [&hops.ptr, &hops.cols].into_iter().flatten().map(|&number| number.into());
    let counts = hops.counts.iter().map(|&count| count as i64).chain(hops.times.iter().map(|&count| count.into()));
    numbers.chain(small).chain(counts).fold(0, |key, number| mix(key, number as u64))
}

/// The draws are part of what a seed promises: they are those of the first version, for every kind of draw.
#[test]
fn samples_are_those_of_the_first_version() {
    let graph = Graph::random(20_000, 30, 4);
    let seeds: Vec<i64> = (0..3000).collect();
    let weights: Vec<f32> = (0..graph.idx.len()).map(|k| (k % 7) as f32).collect();
    let digests = [(false, false), (true, false), (false, true), (true, true)].map(|(replace, weighted)| {
        let draw = Draw { replace, weighted, key: 9 };
        digest(&graph.sample(&seeds, &[7, 5], draw, weighted.then_some(&weights[..])))
    });
    let first = [0x06b5_66b3_695f_08b3, 0x7ade_87f9_523e_4dc9, 0x38d3_26eb_fb9e_7d46, 0xeda2_edf2_dc87_02a6];
    assert_eq!(digests, first, "got {digests:#x?}");
}

/// A store that notes what was asked for, and refuses to read anything else.
struct Strict<'a> {
    slices: Slices<'a>,
    rows: Mutex<BTreeSet<i64>>,
    columns: Mutex<BTreeSet<usize>>,
    values: Mutex<BTreeSet<usize>>,
}

impl GraphStore for Strict<'_> {
    fn nodes(&self) -> usize {
        self.slices.nodes()
    }

    fn edges(&self) -> usize {
        self.slices.edges()
    }

    fn spans(&self, nodes: &[i64], out: &mut Vec<Range<usize>>) -> Result<()> {
        let asked = self.rows.lock().unwrap();
        assert!(nodes.iter().all(|node| asked.contains(node)), "rows are asked for before they are read");
        self.slices.spans(nodes, out)
    }

    fn columns(&self, positions: &[usize], out: &mut Vec<usize>) -> Result<()> {
        let asked = self.columns.lock().unwrap();
        assert!(positions.iter().all(|at| asked.contains(at)), "columns are asked for before they are read");
        self.slices.columns(positions, out)
    }

    fn has_values(&self) -> bool {
        self.slices.has_values()
    }

    fn values(&self, positions: &[usize], out: &mut Vec<f32>) -> Result<()> {
        let asked = self.values.lock().unwrap();
        assert!(positions.iter().all(|at| asked.contains(at)), "values are asked for before they are read");
        self.slices.values(positions, out)
    }

    fn ask(&self, ahead: Ahead<'_>) {
        match ahead {
            Ahead::Rows(nodes) => self.rows.lock().unwrap().extend(nodes),
            Ahead::Columns(positions) => self.columns.lock().unwrap().extend(positions),
            Ahead::Values(positions) => self.values.lock().unwrap().extend(positions),
            Ahead::Spans(spans) => self.values.lock().unwrap().extend(spans.iter().cloned().flatten()),
        }
    }
}

#[test]
fn a_sample_asks_for_all_that_it_reads() {
    let graph = Graph::random(2000, 30, 4);
    let (ptr, idx) = graph.ids();
    let seeds: Vec<i64> = (0..900).collect();
    let weights: Vec<f32> = (0..graph.idx.len()).map(|k| (k % 7) as f32).collect();
    for (replace, weighted) in [(false, false), (true, false), (false, true), (true, true)] {
        let (draw, slices) = (Draw { replace, weighted, key: 9 }, Slices::new("t", ptr, idx, Some(&weights)).unwrap());
        let store = Strict { slices, rows: Mutex::default(), columns: Mutex::default(), values: Mutex::default() };
        let hops = sample_hops("t", &store, &seeds, &[50, 5], draw, &mut Relabel::new(graph.nodes())).unwrap();
        assert_eq!(hops, graph.sample(&seeds, &[50, 5], draw, Some(&weights)));
        // No column is asked for in vain.
        assert_eq!(
            hops.edges.iter().map(|&edge| edge as usize).collect::<BTreeSet<_>>(),
            *store.columns.lock().unwrap()
        );
        // The first phase alone gives the positions of a hop.
        let parts = positions("t", &store, &seeds, 50, Draw { key: mix(9, 0), ..draw }).unwrap();
        let first: BTreeSet<usize> = parts.into_iter().flat_map(|part| part.positions).collect();
        let end = hops.ptr[hops.counts[0]] as usize;
        assert_eq!(first, hops.edges[..end].iter().map(|&edge| edge as usize).collect());
    }
}

/// Arrays that no constructor has looked at: each fault is an error where it is read, and the table is empty again.
#[test]
fn wrong_arrays_are_errors() {
    let sample = |ptr: &[i64], idx: &[i32], values: Option<&[f32]>, seeds: &[i64]| -> String {
        let store = match Slices::new("t", Ids::I64(ptr), Ids::I32(idx), values) {
            Ok(store) => store,
            Err(error) => return format!("{} at once", error.kind()),
        };
        let (mut table, draw) = (Relabel::new(3), Draw { replace: false, weighted: values.is_some(), key: 1 });
        let error = sample_hops("t", &store, seeds, &[9, 9], draw, &mut table).expect_err("a fault");
        assert!((0..3).all(|node| table.find(node).is_none()));
        if values.is_none() && seeds[0] < 3 && seeds[0] >= 0 {
            assert_eq!(store.check().expect_err("a fault"), error);
        }
        error.to_string()
    };
    assert_eq!(sample(&[], &[], None, &[0]), "length_mismatch at once");
    assert_eq!(sample(&[1, 2, 2, 2], &[0, 1], None, &[0]), "invalid_row_ptr at once");
    assert_eq!(sample(&[0, 2, 2, 3], &[0, 1], None, &[0]), "invalid_row_ptr at once");
    assert_eq!(sample(&[0, 2, 2, 2], &[0, 1], Some(&[1.0]), &[0]), "length_mismatch at once");
    assert_eq!(sample(&[0, 2, 1, 2], &[0, 1], None, &[1]), "t: row_ptr must never descend, got 1 at position 2");
    assert_eq!(sample(&[0, 7, 1, 2], &[0, 1], None, &[0]), "t: row_ptr must be in [0, nnz], got 7 at position 1");
    assert_eq!(sample(&[0, -1, 1, 2], &[0, 1], None, &[0]), "t: row_ptr must be in [0, nnz], got -1 at position 1");
    for wrong in [3, -1] {
        assert_eq!(
            sample(&[0, 1, 2, 2], &[1, wrong], None, &[0]),
            format!("t: index along dim 1 must be in [0, 3), got {wrong} at position 1")
        );
    }
    for wrong in [3, -1] {
        assert_eq!(
            sample(&[0, 1, 2, 2], &[1, 2], None, &[wrong]),
            format!("t: index along dim 0 must be in [0, 3), got {wrong} at position 0")
        );
    }
    assert_eq!(
        sample(&[0, 1, 2, 2], &[1, 2], Some(&[1.0, f32::NAN]), &[0]),
        "t: a weight must be finite and not negative, got NaN at position 1"
    );
    let (ptr, idx) = ([0i64, 2, 2, 2], [1i32, 1]);
    let error = Slices::new("t", Ids::I64(&ptr), Ids::I32(&idx), None).unwrap().check().expect_err("equal columns");
    assert_eq!(error.kind(), "unsorted_columns");
}
