//! Small graphs against maps and sets, and what must not change them.

mod common;

use common::{Case, Id, bytes, read, sample};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use sparse_prepare::{
    By, Duplicates, FeatureTable, Files, Missing, Options, Progress, SelfLoops, Silent, Stage, generate, prepare,
};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Ids of one kind. Some are near each other, so that edges meet.
fn pool() -> impl Strategy<Value = Vec<Id>> {
    let near = (-3i64..9).prop_map(Id::Int);
    let far = any::<i64>().prop_map(Id::Int);
    let text = "[a-cA-C]{1,2}|[0-9]{1,3}|é[ -~&&[^\",]]{0,5}x".prop_map(Id::Text);
    // Of strings one is always no number, else a file of text has integers.
    let texts = vec(text, 1..12).prop_map(|mut all| {
        all.push(Id::Text("z".into()));
        all
    });
    prop_oneof![vec(near, 1..12), vec(far, 1..12), texts]
}

fn case() -> impl Strategy<Value = Case> {
    let edge = (any::<Index>(), any::<Index>(), (-20i32..20).prop_map(|k| f64::from(k) * 0.1));
    let shape = (any::<bool>(), any::<bool>(), any::<bool>(), 1usize..=5, 1usize..4, 1usize..4, any::<bool>());
    let words =
        (select(Duplicates::ALL), select(SelfLoops::ALL), select(&[By::Hash, By::Range][..]), select(Missing::ALL));
    (pool(), vec(edge, 0..40), shape, words).prop_map(|(pool, edges, shape, words)| {
        let (weights, features, symmetrize, parts, files, width, parquet) = shape;
        let (duplicates, self_loops, by, missing) = words;
        let end = |index: Index| index.get(&pool).clone();
        let mut edges: Vec<_> = edges.into_iter().map(|(a, b, weight)| (end(a), end(b), weight)).collect();
        if let Some(text @ Id::Text(_)) = pool.last() {
            edges.push((text.clone(), text.clone(), 0.5));
        }
        // A row for each id, some without edges; without rows of every third where that is allowed.
        let mut rows: Vec<Id> = pool.clone();
        rows.sort();
        rows.dedup();
        let mut rows: Vec<_> = (0u8..).zip(rows).map(|(k, id)| (id, vec![f32::from(k) + 0.25; width])).collect();
        if missing == Missing::Zero {
            rows = rows.into_iter().enumerate().filter(|(k, _)| k % 3 != 1).map(|(_, row)| row).collect();
        }
        rows.reverse();
        let features = (features && !rows.is_empty()).then_some(rows);
        Case { edges, weights, features, width, missing, symmetrize, duplicates, self_loops, parts, by, parquet, files }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn graphs_are_those_of_maps(case in case()) {
        let folder = tempfile::tempdir().unwrap();
        let options = case.options(folder.path());
        let manifest = prepare(&options, &Silent).unwrap();
        prop_assert_eq!(manifest.about.symmetric, case.symmetrize);
        prop_assert_eq!(read(&options.out), case.expected());
    }
}

/// Bytes that were spilled, of all stages.
#[derive(Default)]
struct Spilled(AtomicU64, AtomicU64);

impl Progress for Spilled {
    fn stage(&self, _: Stage, _: bool) {
        self.1.store(0, Ordering::Relaxed);
    }
    fn read(&self, _: u64) {}
    fn written(&self, _: u64) {}
    fn spilled(&self, bytes: u64) {
        let old = self.1.swap(bytes, Ordering::Relaxed);
        self.0.fetch_add(bytes - old, Ordering::Relaxed);
    }
}

#[test]
fn bytes_are_the_same_for_all_threads_and_memories() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("edges.csv");
    let mut text = Vec::new();
    generate(&mut text, 300_000, 50_000, 3).unwrap();
    fs::write(&path, text).unwrap();
    // The nodes with weights that do not add up to the same in every order.
    let weighted = folder.path().join("weighted.csv");
    let lines: String = (0..20_000u32)
        .map(|k| format!("{},{},{:?}\n", k * 7919 % 50, k * 104_729 % 40, f64::from(k % 977) * 0.1 + 1e-9))
        .collect();
    fs::write(&weighted, lines).unwrap();
    for (path, weights) in [(&path, false), (&weighted, true)] {
        let mut first = None;
        for (threads, memory) in [(1, 4 << 30), (2, 4 << 30), (8, 4 << 30), (1, 16 << 20), (2, 16 << 20)] {
            let mut options = Options::new(Files::new([path.to_str().unwrap()]), "");
            options.out = folder.path().join(format!("{threads}-{memory}-{weights}"));
            (options.threads, options.memory, options.symmetrize) = (threads, memory, true);
            (options.parts, options.by) = (3, By::Hash);
            if weights {
                options.edges.header = false;
                options.weight = Some("2".into());
                options.duplicates = Duplicates::Sum;
            }
            let spilled = Spilled::default();
            prepare(&options, &spilled).unwrap();
            let spilled = spilled.0.into_inner();
            // Two threads have half of the rows each.
            if threads == 1 {
                assert_eq!(spilled > 0, !weights && memory < 1 << 30, "{threads} {memory}: {spilled}");
            }
            let got = bytes(&options.out);
            let first = first.get_or_insert_with(|| got.clone());
            assert!(*first == got, "{threads} threads, {memory} bytes");
        }
    }
}

/// The graphs that the tests of sparse-graphs train on (`tests/suite/partition.rs` there). If the format changes,
/// remove `one` and `two` there, prepare them again with these arguments, and remove their `prepare.json`.
#[test]
fn graphs_of_training_are_those_that_are_written() {
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/files/prepared");
    let input = |name: &str| Files::new([files.join(name).to_str().unwrap()]);
    let folder = tempfile::tempdir().unwrap();
    for (parts, name) in [(1, "one"), (2, "two")] {
        let mut options = Options::new(input("edges.csv"), folder.path().join(name));
        (options.weight, options.parts) = (Some("weight".into()), parts);
        let (id, missing) = ("0".into(), Missing::Error);
        options.features = Some(FeatureTable { files: input("people.csv"), id, columns: Vec::new(), missing });
        prepare(&options, &Silent).unwrap();
        let (got, due) = (bytes(&options.out), bytes(&files.join(name)));
        assert_eq!(got.keys().collect::<Vec<_>>(), due.keys().collect::<Vec<_>>());
        got.iter().for_each(|(path, own)| assert!(*own == due[path], "{name}: {}", path.display()));
    }
}

#[test]
fn a_runtime_may_be_running() {
    let folder = tempfile::tempdir().unwrap();
    let options = sample(false).options(folder.path());
    prepare(&options, &Silent).unwrap();
    let mut inside = options.clone();
    for (k, mut builder) in [tokio::runtime::Builder::new_current_thread(), tokio::runtime::Builder::new_multi_thread()]
        .into_iter()
        .enumerate()
    {
        inside.out = folder.path().join(format!("inside-{k}"));
        builder.build().unwrap().block_on(async { prepare(&inside, &Silent).unwrap() });
        assert!(bytes(&inside.out) == bytes(&options.out));
    }
}

/// Two cliques with one edge between them. Ids alternate, so that no cut by ids finds them.
#[cfg(feature = "metis")]
#[test]
fn metis_cuts_few_edges() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("edges.csv");
    let cliques = (0..20).flat_map(|a| (0..a).flat_map(move |b| [(2 * a, 2 * b), (2 * a + 1, 2 * b + 1)]));
    let edges: Vec<(i64, i64)> = cliques.chain([(0, 1)]).collect();
    let lines: String = edges.iter().map(|(a, b)| format!("{a},{b}\n")).collect();
    fs::write(&path, lines).unwrap();
    let mut due: Vec<_> = edges.into_iter().flat_map(|(a, b)| [(a, b), (b, a)]).collect();
    due.sort();
    let mut first = None;
    for threads in [1, 2] {
        let mut options = Options::new(Files::new([path.to_str().unwrap()]), "");
        options.out = folder.path().join(threads.to_string());
        (options.threads, options.symmetrize, options.parts, options.by) = (threads, true, 2, By::Metis);
        options.edges.header = false;
        prepare(&options, &Silent).unwrap();
        let graph = read(&options.out);
        let number = |id: &Id| match id {
            Id::Int(id) => *id,
            Id::Text(_) => unreachable!(),
        };
        let parts: Vec<Vec<i64>> = graph.ids.iter().map(|ids| ids.iter().map(number).collect()).collect();
        for ids in &parts {
            assert!(ids.len() == 20 && ids.iter().all(|id| id % 2 == ids[0] % 2), "{ids:?}");
        }
        let ids = parts.concat();
        let mut got: Vec<_> = graph.edges.keys().map(|&(a, b)| (ids[a as usize], ids[b as usize])).collect();
        got.sort();
        assert_eq!(got, due);
        let got = bytes(&options.out);
        assert!(*first.get_or_insert_with(|| got.clone()) == got, "{threads} threads");
    }
}
