//! The simulator of `docs/scale.md`: its graphs are graphs, its counts add up, and the page has its constants.

use crate::graph::PowerLaw;
use crate::model::{Case, Layout, Plan, ROW, WIDTHS, parameters};
use crate::reach::{Lru, Owner, Reach};
use crate::{page, reach};
use sparse_core::dynamic::Ids;
use sparse_core::graph::{Draw, GraphStore, Relabel, Slices, Stream, sample_hops};

fn small() -> PowerLaw {
    PowerLaw::new(20_000, 400_000, 2.5, 1)
}

fn case() -> Case {
    let graph = small();
    let reach = Reach::measure(&graph, 64, &[5, 4], 6, ROW);
    Case::new(graph, reach)
}

fn plans() -> impl Iterator<Item = Plan> {
    let networks = [25e9, 100e9];
    [1, 2, 3, 8, 64].into_iter().flat_map(move |machines| {
        [Layout::Whole, Layout::Parts]
            .into_iter()
            .flat_map(move |layout| networks.map(|network| Plan { layout, machines, network }))
    })
}

/// The graph in memory gives the batches of the graph that is nowhere.
#[test]
fn a_graph_without_memory_is_a_graph() {
    let graph = small();
    let ptr: Vec<i64> = (0..=graph.nodes()).map(|node| graph.start(node) as i64).collect();
    assert_eq!((ptr[0], ptr[graph.nodes()]), (0, graph.edges() as i64));
    assert!(ptr.is_sorted());
    let mut columns = vec![];
    graph.columns(&(0..graph.edges()).collect::<Vec<_>>(), &mut columns).unwrap();
    let idx: Vec<i32> = columns.iter().map(|&column| column as i32).collect();
    let stored = Slices::new("test", Ids::I64(&ptr), Ids::I32(&idx), None).unwrap();
    let mut table = Relabel::new(graph.nodes());
    for key in 0..3 {
        let draw = Draw { replace: false, weighted: false, key };
        let seeds = reach::seeds(&graph, 50, key);
        let [there, nowhere] = [&stored as &dyn GraphStore, &graph]
            .map(|store| sample_hops("test", store, &seeds, &[5, 4], draw, &mut table).unwrap());
        assert_eq!(there, nowhere);
    }
    let wrong =
        sample_hops("test", &graph, &[20_000], &[5], Draw { replace: false, weighted: false, key: 0 }, &mut table);
    assert!(wrong.is_err());
}

/// Both ends of an edge follow the weights, and the exponent is that of the degrees.
#[test]
fn degrees_follow_the_power_law() {
    let graph = small();
    let most = graph.start(1);
    let bound = 400_000f64.sqrt();
    assert!(most as f64 <= bound && most as f64 > 0.95 * bound, "the highest degree is {most}");
    let mut columns = vec![];
    graph.columns(&(0..graph.edges()).collect::<Vec<_>>(), &mut columns).unwrap();
    for first in [10usize, 200, 5000] {
        let share = columns.iter().filter(|&&column| column < first).count() as f64 / graph.edges() as f64;
        assert!((share / graph.share(first as f64) - 1.0).abs() < 0.1, "{share} of edges lead to the first {first}");
        let sum = graph.start(first) as f64 / graph.edges() as f64;
        assert!((sum - graph.share(first as f64)).abs() < 1e-4);
    }
    // A degree of half the height is that of a rank 2^1.5 times as large, far from the highest degrees.
    let ratio = graph.weight(5000.0) / graph.weight(5000.0 * 2f64.powf(1.5));
    assert!((ratio - 2.0).abs() < 0.05, "{ratio}");
    let mut places: Vec<usize> = (0..graph.nodes()).map(|node| graph.place(node)).collect();
    places.sort_unstable();
    assert!(places.into_iter().eq(0..graph.nodes()), "each node has a place of its own");
}

#[test]
fn every_row_comes_from_one_place() {
    let mut case = case();
    // All in memory, some on disk, all on disk.
    for memory in [256e9, 1e7, 0.0] {
        case.memory = memory;
        for plan in plans() {
            let work = case.work(plan);
            let parts = work.from_memory + work.from_disk + work.from_others;
            assert!((parts / (work.inputs * ROW as f64) - 1.0).abs() < 1e-9, "{plan:?}: {work:?}");
            let hot = case.in_memory(plan);
            assert_eq!(work.from_disk == 0.0, hot == 1.0, "{plan:?}: {work:?}");
            assert_eq!(work.disk_pages == 0.0, hot == 1.0);
            assert!(if memory > 1e9 {
                hot == 1.0
            } else {
                hot < 1.0 || (memory > 0.0 && plan.layout == Layout::Parts)
            });
            assert!(memory > 0.0 || work.from_memory < 1e-3 * work.inputs * ROW as f64);
            let times = case.step(plan);
            assert!(times.parts().iter().all(|&part| part >= 0.0));
            assert!(case.overlapped(plan) <= case.epoch(plan).sum() * (1.0 + 1e-12));
        }
    }
}

#[test]
fn one_machine_sends_nothing() {
    let case = case();
    for plan in plans() {
        let (work, times) = (case.work(plan), case.step(plan));
        let (alone, whole) = (plan.machines == 1, plan.layout == Layout::Whole);
        assert_eq!(work.from_others == 0.0, alone || whole, "{plan:?}");
        assert_eq!(work.exchanged == 0.0, alone || whole);
        assert_eq!(work.messages == 0.0, alone || whole);
        assert_eq!(times.exchange == 0.0, alone || whole);
        assert_eq!(times.reduce == 0.0, alone);
        // All machines together send each sum and each result once to each other machine's numbers.
        let all = work.reduced * plan.machines as f64;
        assert!((all - 2.0 * (plan.machines - 1) as f64 * 4.0 * parameters(&WIDTHS) as f64).abs() < 1.0);
    }
    assert_eq!(parameters(&[3, 2]), 2 * 3 * 2 + 2);
}

#[test]
fn more_machines_hold_no_more_each() {
    let case = case();
    for layout in [Layout::Whole, Layout::Parts] {
        let held = [1, 2, 8, 64].map(|machines| case.held(Plan { layout, machines, network: 25e9 }));
        assert!(held.is_sorted_by(|a, b| a >= b), "{held:?}");
        let all: f64 = case.bytes().iter().sum();
        assert_eq!(held[0], all);
        assert_eq!(held[3], if layout == Layout::Whole { all } else { all / 64.0 });
        let steps = [1, 2, 8, 64].map(|machines| case.steps(Plan { layout, machines, network: 25e9 }));
        assert!(steps.is_sorted_by(|a, b| a >= b) && steps[0] == (2000.0_f64 / 64.0).ceil(), "{steps:?}");
    }
    // A faster network is never slower.
    for plan in plans().filter(|plan| plan.network == 25e9) {
        assert!(case.epoch(plan).sum() >= case.epoch(Plan { network: 100e9, ..plan }).sum());
    }
}

#[test]
fn counts_of_batches_add_up() {
    let case = case();
    let reach = &case.reach;
    assert!(reach.nodes.is_sorted() && reach.nodes[0] <= 64.0);
    // No node has fewer edges than a hop draws, so each hop draws its fan-out of each node that is new.
    assert!(graph_least(&case.graph) >= 5);
    for hop in 0..2 {
        let new = reach.nodes[hop] - if hop == 0 { 0.0 } else { reach.nodes[hop - 1] };
        assert!((reach.edges[hop] - [5.0, 4.0][hop] * new).abs() < 1e-6, "{reach:?}");
    }
    for split in &reach.splits {
        assert!((0.0..=1.0).contains(&split.remote) && split.busiest >= 1.0 && split.busiest <= split.machines as f64);
        if split.owner == Owner::Hash {
            let expected = 1.0 - 1.0 / split.machines as f64;
            assert!((split.remote - expected).abs() < 0.03, "{split:?}");
        }
    }
    let nodes = reach.splits.iter().find(|split| split.owner == Owner::Nodes && split.machines == 64).unwrap();
    let hash = reach.splits.iter().find(|split| split.owner == Owner::Hash && split.machines == 64).unwrap();
    assert!(nodes.busiest > 2.0 * hash.busiest, "nodes of high degree are asked for more often");
    for hot in &reach.hot {
        let shares = [1e-9, 0.001, 0.01, 0.1, 0.5, 0.9, 1.0].map(|share| hot.at(share));
        assert!(shares.is_sorted() && shares[6] == 1.0 && shares[3] > 0.1, "{shares:?}");
    }
}

fn graph_least(graph: &PowerLaw) -> usize {
    (0..graph.nodes()).map(|node| graph.start(node + 1) - graph.start(node)).min().unwrap()
}

#[test]
fn the_cache_keeps_what_was_used_last() {
    let (mut cache, mut list) = (Lru::new(40, 7), Vec::<usize>::new());
    let mut stream = Stream::new(3);
    for _ in 0..5000 {
        let node = stream.below(10 + stream.clone().below(31)).min(39);
        let hit = list.iter().position(|&other| other == node);
        assert_eq!(cache.read(node), hit.is_some());
        if let Some(at) = hit {
            list.remove(at);
        } else if list.len() == 7 {
            list.remove(0);
        }
        list.push(node);
    }
}

/// The numbers that are typed in are those of the page. `--check` compares the tables that take a minute.
#[test]
fn the_page_has_the_constants() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/scale.md");
    // A package of the crate alone has no page.
    let Ok(text) = std::fs::read_to_string(path) else { return };
    assert_eq!(page::put(&text, &[("constants", page::constants()), ("workload", page::workload())]), text);
}
