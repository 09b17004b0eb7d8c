//! Graphs in parts, on ranks that are threads: batches and features of the whole graph, and faults of one rank that are
//! errors of all. `tests/mpi` does the same with processes.

use burn::module::Module;
use burn::nn::{Linear, LinearConfig};
use burn::optim::{GradientsParams, SgdConfig};
use burn::tensor::{Device, Int, Tensor, TensorData};
use sparse_dev::parts::{Graph, WIDTH, numbers};
use sparse_dev::spoil::{Spoil, Spoiled};
use sparse_shards::{Ids, Manifest};
use sparse_tensor::data::{FeatureStore, MappedGraph, NeighborBatch, NeighborSampler, NeighborSamplerConfig};
use sparse_tensor::parallel::{Collective, PartFeatures, PartSampler, Partition, Threads, all_reduce};
use sparse_tensor::{Result, SparseError};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::thread::scope;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const NODES: usize = 200;
const LONG: Duration = Duration::from_secs(60);

/// What happens to a folder.
type Fault = dyn Fn(&Path);

/// Parts of 1, 2, 3 and 5 ranks; some own nothing.
const ENDS: [&[usize]; 5] = [&[], &[77], &[3, 120], &[0, 50, 50, 199], &[200, 200]];

fn device() -> Device {
    Device::flex()
}

fn on_ranks<T: Send>(size: usize, timeout: Duration, f: impl Fn(&mut Threads) -> T + Sync) -> Vec<T> {
    scope(|scope| {
        let f = &f;
        let ranks = Threads::new(size, timeout).unwrap();
        let ranks: Vec<_> = ranks.into_iter().map(|mut rank| scope.spawn(move || f(&mut rank))).collect();
        ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
    })
}

fn folder(ends: &[usize], weighted: bool) -> (Graph, TempDir) {
    let (graph, folder) = (Graph::new(NODES), tempfile::tempdir().unwrap());
    graph.write(folder.path(), ends, weighted, true);
    (graph, folder)
}

fn open(ranks: &mut Threads, folder: &Path) -> (PartSampler, PartFeatures) {
    let part = Partition::open(ranks, folder).unwrap();
    (part.sampler(&NeighborSamplerConfig::new(vec![4, 3]), &device()), part.features().unwrap())
}

/// Seeds of a rank in a round: other ones in each, some of them twice, sometimes none.
fn seeds(rank: usize, round: usize) -> Vec<usize> {
    (0..(rank * 5 + round * 3) % 7).map(|k| (k / 2 * 31 + rank * 13 + round * 57) % NODES).collect()
}

#[test]
fn batches_are_those_of_the_whole_graph() {
    let configs = [
        NeighborSamplerConfig::new(vec![4, 3]),
        NeighborSamplerConfig::new(vec![NeighborSampler::ALL, 2, 2]).with_seed(9),
        NeighborSamplerConfig::new(vec![6, 6]).with_replace(true).with_seed(1),
        NeighborSamplerConfig::new(vec![5, 5]).with_weighted(true),
        NeighborSamplerConfig::new(vec![5, 5]).with_weighted(true).with_replace(true),
    ];
    for ends in ENDS {
        for weighted in [false, true] {
            let (graph, folder) = folder(ends, weighted);
            let matrix = graph.matrix(weighted);
            on_ranks(ends.len() + 1, LONG, |ranks| {
                let part = Partition::open(ranks, folder.path()).unwrap();
                assert_eq!((part.nodes(), part.edges(), part.parts()), (NODES, graph.idx.len(), ends.len() + 1));
                for config in &configs {
                    let (whole, sampler) = (config.init(&matrix), part.sampler(config, &device()));
                    for round in 0..4 {
                        let seeds = seeds(ranks.rank(), round);
                        let draw = (round + ranks.rank()) as u64;
                        let batch = sampler.sample(ranks, &seeds, draw);
                        let want = whole.sample(&seeds, draw);
                        assert_eq!(numbers(&batch), numbers(&want), "{ends:?}, {config:?}, {seeds:?}");
                        assert!(seeds.is_empty() || want.edge_ids().len() > seeds.len() / 2);
                    }
                }
            });
        }
    }
}

#[test]
fn features_are_those_of_the_whole_graph() {
    for ends in ENDS {
        let (graph, folder) = folder(ends, false);
        for hot in [0, 1, 20, 1000] {
            on_ranks(ends.len() + 1, LONG, |ranks| {
                let features = open(ranks, folder.path()).1.with_hot_rows(hot);
                for round in 0..5 {
                    let ids = seeds(ranks.rank(), round);
                    let rows: Tensor<2> = features.gather(ranks, &ids, &device());
                    let want: Vec<f32> =
                        ids.iter().flat_map(|&id| graph.features[id * WIDTH..][..WIDTH].to_vec()).collect();
                    assert_eq!(rows.into_data(), TensorData::new(want, [ids.len(), WIDTH]), "{ends:?}, {hot}, {ids:?}");
                }
            });
        }
    }
}

#[test]
fn rows_that_are_kept_do_not_travel_again() {
    let (graph, folder) = folder(&[100], false);
    let ptr = |node: usize| graph.ptr[node] as usize;
    on_ranks(2, LONG, |ranks| {
        let part = Partition::open(ranks, folder.path()).unwrap();
        let (owned, halo) = (part.owned(), part.halo(ranks).unwrap());
        let mut counts = vec![0; NODES];
        graph.idx[ptr(owned.start)..ptr(owned.end)].iter().for_each(|&column| counts[column as usize] += 1);
        let want = (0..NODES).filter(|node| counts[*node] > 0 && !owned.contains(node));
        let mut want: Vec<usize> = want.collect();
        want.sort_by(|a, b| counts[*b].cmp(&counts[*a]).then(a.cmp(b)));
        assert_eq!(halo, want);
        assert!(halo.iter().all(|&node| part.owner(node) == Some(1 - ranks.rank())) && part.owner(NODES).is_none());

        let features = part.features().unwrap().with_hot_rows(8);
        // Own rows are not kept.
        features.warm(ranks, &[halo.clone(), owned.collect()].concat()).unwrap();
        assert_eq!(features.served(), (0, 8));
        let _: Tensor<2> = features.gather(ranks, &halo[..8], &device());
        assert_eq!(features.served(), (8, 8));
        let _: Tensor<2> = features.gather(ranks, &halo[..9], &device());
        assert_eq!(features.served(), (16, 9));
    });
}

#[test]
fn the_first_rows_of_a_halo_are_kept() {
    let (_, folder) = folder(&[70, 140], false);
    let mixed = on_ranks(3, LONG, |ranks| {
        let part = Partition::open(ranks, folder.path()).unwrap();
        let halo = part.halo(ranks).unwrap();
        let owners: Vec<_> = halo[..50].iter().map(|&node| part.owner(node)).collect();
        let features = part.features().unwrap().with_hot_rows(50);
        features.warm(ranks, &halo).unwrap();
        // Ten more take the place of those that are needed least.
        let _: Tensor<2> = features.gather(ranks, &halo[50..60], &device());
        let _: Tensor<2> = features.gather(ranks, &halo[..40], &device());
        assert_eq!(features.served(), (40, 60));
        owners.iter().any(|owner| *owner != owners[0])
    });
    assert!(mixed.contains(&true));
}

#[test]
fn other_bytes_than_were_sent_are_an_error_or_other_numbers() {
    let (_, folder) = folder(&[100], true);
    let config = NeighborSamplerConfig::new(vec![3, 3]).with_weighted(true).with_replace(true);
    let run = |ranks: &mut dyn Collective| -> Result<()> {
        let part = Partition::open(ranks, folder.path())?;
        let sampler = part.sampler(&config, &device());
        let batch = sampler.try_sample(ranks, &[3, 60, 150, 199], ranks.rank() as u64)?;
        let _: Tensor<2> = part.features()?.try_gather(ranks, batch.nodes().ids(), &device())?;
        Ok(())
    };
    let errors = std::sync::atomic::AtomicUsize::new(0);
    // Opening is one exchange, a sample of two hops five, features two.
    for at in 0..8 {
        for place in (0..60).chain([100, 150, 200, 300, 500]) {
            let changes: [Box<Spoil>; 4] = [
                Box::new(move |bytes| bytes.truncate(place)),
                Box::new(|bytes| bytes.extend([7; 9])),
                Box::new(move |bytes| bytes.iter_mut().skip(place).take(1).for_each(|byte| *byte ^= 1)),
                Box::new(move |bytes| bytes.iter_mut().skip(place).take(8).for_each(|byte| *byte = 0xff)),
            ];
            for (k, spoil) in changes.into_iter().enumerate().filter(|(k, _)| *k != 1 || place == 0) {
                let found = on_ranks(2, Duration::from_millis(100), |ranks| {
                    // A panic fails the test, as does an exchange that never ends.
                    run(&mut Spoiled { ranks, at, spoil: &*spoil })
                });
                let failed = found.iter().filter(|found| found.is_err()).count();
                errors.fetch_add(failed, std::sync::atomic::Ordering::Relaxed);
                // A message that is cut in its head is never taken for a good one.
                assert!(k != 0 || place >= 16 || found[0].is_err(), "exchange {at}, cut at {place}");
            }
        }
    }
    assert!(errors.into_inner() > 500);
}

#[test]
fn parts_train_as_the_whole_graph() {
    let (graph, folder) = folder(&[90], false);
    let device = Device::flex().autodiff();
    let start = LinearConfig::new(WIDTH, 2).init(&device);
    let matrix = graph.matrix(false);
    let all = Tensor::<2>::from_data(TensorData::new(graph.features.clone(), [NODES, WIDTH]), &device);
    let config = NeighborSamplerConfig::new(vec![3, 3]);
    let loss = |model: &Linear, batch: &sparse_tensor::data::NeighborBatch, mut x: Tensor<2>| {
        for block in batch.blocks() {
            x = block.clone().matmul(x);
        }
        model.forward(x).powi_scalar(2).mean()
    };
    let train = |ranks: &mut Threads, parts: bool| {
        let (part, whole) = (Partition::open(ranks, folder.path()).unwrap(), config.init(&matrix));
        let (sampler, features) = (part.sampler(&config, &device), part.features().unwrap().with_hot_rows(30));
        let mut model = start.clone().fork(&device);
        for step in 0..3u64 {
            let seeds: Vec<usize> = part.owned().skip(step as usize * 10).take(7 + 3 * ranks.rank()).collect();
            let (batch, x) = if parts {
                let batch = sampler.sample(ranks, &seeds, step);
                let x = features.gather(ranks, batch.nodes().ids(), &device);
                (batch, x)
            } else {
                let batch = whole.sample(&seeds, step);
                let x = batch.features(all.clone());
                (batch, x)
            };
            let grads = GradientsParams::from_grads(loss(&model, &batch, x).backward(), &model);
            let grads = all_reduce(ranks, grads, &model, seeds.len() as f64).unwrap();
            model = SgdConfig::new().init().step(0.1, model, grads);
        }
        model.weight.val().into_data()
    };
    let parts = on_ranks(2, LONG, |ranks| train(ranks, true));
    let whole = on_ranks(2, LONG, |ranks| train(ranks, false));
    assert_eq!(parts, whole);
    assert!(parts[0] == parts[1] && parts[0] != start.weight.val().into_data());
}

/// An error of each rank.
fn errors(found: Vec<Result<()>>) -> Vec<SparseError> {
    found.into_iter().map(|found| found.expect_err("an error on every rank")).collect()
}

#[test]
fn a_fault_of_one_rank_is_an_error_of_all_and_the_ranks_go_on() {
    let (_, folder) = folder(&[70, 150], false);
    let found = on_ranks(3, LONG, |ranks| {
        let (sampler, features) = open(ranks, folder.path());
        let bad = |at: usize| if ranks.rank() == at { vec![1, NODES] } else { vec![2] };
        let (first, second) = (bad(1), bad(2));
        let sampled = sampler.try_sample(ranks, &first, 0).map(drop);
        let gathered = features.try_gather::<_, 2, burn::tensor::Float>(ranks, &second, &device()).map(drop);
        // One rank asks for a tensor of another rank than the array has, and one for another kind.
        for at in [0, 2] {
            let ids = [5, 160];
            let found = match (ranks.rank() == at, at) {
                (true, 0) => features.try_gather::<_, 3, burn::tensor::Float>(ranks, &ids, &device()).map(drop),
                (true, _) => features.try_gather::<_, 2, burn::tensor::Int>(ranks, &ids, &device()).map(drop),
                _ => features.try_gather::<_, 2, burn::tensor::Float>(ranks, &ids, &device()).map(drop),
            };
            let own = if at == 0 { "shape_mismatch" } else { "dtype_mismatch" };
            assert_eq!(found.unwrap_err().kind(), if ranks.rank() == at { own } else { "invalid" });
        }
        let batch = sampler.sample(ranks, &[5, 160], 3);
        let _: Tensor<2> = features.gather(ranks, batch.nodes().ids(), &device());
        (sampled, gathered)
    });
    let (sampled, gathered): (Vec<_>, Vec<_>) = found.into_iter().unzip();
    for (found, op, at) in [(sampled, "PartSampler::sample", 1), (gathered, "PartFeatures::gather", 2)] {
        for (rank, error) in errors(found).into_iter().enumerate() {
            let own = rank == at;
            assert_eq!(error.kind(), if own { "index_out_of_range" } else { "invalid" });
            let text = error.to_string();
            assert!(text.starts_with(op) && text.contains("200"), "{text}");
            assert!(own || text.contains(&format!("on rank {at}")), "{text}");
        }
    }
}

#[test]
fn ranks_that_call_different_functions_stop() {
    let (_, folder) = folder(&[100], false);
    let start = Instant::now();
    let found = on_ranks(2, LONG, |ranks| {
        let (sampler, features) = open(ranks, folder.path());
        match ranks.rank() {
            0 => sampler.try_sample(ranks, &[1], 0).map(drop),
            _ => features.try_gather::<_, 2, burn::tensor::Float>(ranks, &[1], &device()).map(drop),
        }
    });
    for error in errors(found) {
        assert!(error.to_string().contains("ranks must call the same function"), "{error}");
    }
    let found = on_ranks(2, Duration::from_millis(300), |ranks| {
        let (sampler, _) = open(ranks, folder.path());
        match ranks.rank() {
            0 => sampler.try_sample(ranks, &[1], 0).map(drop),
            // It never comes, and then it is gone.
            _ => Err(SparseError::Invalid { op: "test", message: "left".into() }),
        }
    });
    assert!(errors(found)[0].to_string().contains("rank 1"));
    assert!(start.elapsed() < LONG / 2);
}

/// What opening says on each rank, where rank 1 has the folder `other`.
fn opened(size: usize, folder: &Path, other: &Path) -> Vec<String> {
    let found = on_ranks(size, LONG, |ranks| {
        let own = if ranks.rank() == 1 { other } else { folder };
        Partition::open(ranks, own).map(drop)
    });
    errors(found).iter().map(ToString::to_string).collect()
}

#[test]
fn a_folder_that_is_not_whole_is_an_error_of_all_ranks() {
    let (_, folder) = folder(&[100], false);
    let path = folder.path();
    let fresh = |ends: &[usize], weighted| {
        let other = tempfile::tempdir().unwrap();
        Graph::new(NODES).write(other.path(), ends, weighted, true);
        other
    };
    let faults: [(&str, &Fault); 6] = [
        ("manifest.json", &|own| fs::remove_file(own.join("manifest.json")).unwrap()),
        ("part-00001/col_idx.npy", &|own| fs::remove_file(own.join("part-00001/col_idx.npy")).unwrap()),
        ("part-00001/features.npy", &|own| {
            let file = fs::OpenOptions::new().write(true).open(own.join("part-00001/features.npy")).unwrap();
            file.set_len(130).unwrap();
        }),
        ("sparse-shards 1", &|own| {
            let text = fs::read_to_string(own.join("manifest.json")).unwrap();
            fs::write(own.join("manifest.json"), text.replace("\"version\": 1", "\"version\": 2")).unwrap();
        }),
        ("JSON", &|own| fs::write(own.join("manifest.json"), b"{").unwrap()),
        ("row_ptr", &|own| {
            let mut bytes = fs::read(own.join("part-00001/row_ptr.npy")).unwrap();
            let end = bytes.len();
            bytes[end - 8..].copy_from_slice(&7i64.to_le_bytes());
            fs::write(own.join("part-00001/row_ptr.npy"), bytes).unwrap();
        }),
    ];
    for (what, spoil) in faults {
        let other = fresh(&[100], false);
        spoil(other.path());
        for error in opened(2, path, other.path()) {
            assert!(error.contains(what), "{what}: {error}");
        }
    }
    // Other graphs, other parts.
    for error in opened(2, path, fresh(&[101], false).path()) {
        assert!(error.contains("ranks must agree") && error.contains("part"), "{error}");
    }
    for error in opened(2, path, fresh(&[100], true).path()) {
        assert!(error.contains("ranks must agree"), "{error}");
    }
    for error in opened(3, path, path) {
        assert!(error.contains("2 parts for 3 ranks"), "{error}");
    }
    // A rank does not need the files of other parts.
    let other = fresh(&[100], false);
    fs::remove_dir_all(other.path().join("part-00000")).unwrap();
    on_ranks(2, LONG, |ranks| {
        let own = if ranks.rank() == 1 { other.path() } else { path };
        let (sampler, _) = open(ranks, own);
        sampler.sample(ranks, &[3, 180], 0);
    });
}

#[test]
fn a_column_that_is_no_node_is_found_when_it_is_read() {
    let (_, folder) = folder(&[100], false);
    let path = folder.path().join("part-00001/col_idx.npy");
    let mut bytes = fs::read(&path).unwrap();
    let end = bytes.len();
    bytes[end - 4..].copy_from_slice(&(NODES as i32).to_le_bytes());
    fs::write(&path, bytes).unwrap();
    let found = on_ranks(2, LONG, |ranks| {
        let part = Partition::open(ranks, folder.path()).unwrap();
        let sampler = part.sampler(&NeighborSamplerConfig::new(vec![NeighborSampler::ALL]), &device());
        let halo = part.halo(ranks).map(drop);
        // The last node of the graph has the bad column. Its owner finds it, whoever asks for it, and the ranks go on.
        let found = [0, 1].map(|at| {
            let seeds = if ranks.rank() == at { vec![0, NODES - 1] } else { vec![] };
            let found = sampler.try_sample(ranks, &seeds, 0).map(drop);
            sampler.sample(ranks, &[0, 2], 1);
            found
        });
        [halo, found[0].clone(), found[1].clone()]
    });
    for (rank, found) in found.into_iter().enumerate() {
        for error in errors(found.to_vec()) {
            assert!(error.to_string().contains("200"), "{error}");
            assert_eq!(error.kind(), if rank == 1 { "index_out_of_range" } else { "invalid" });
        }
    }
}

/// The row pointers, the columns and the values of a batch with one block.
fn block(batch: &NeighborBatch) -> (Vec<i64>, Vec<i64>, Vec<f32>) {
    let [block] = batch.blocks() else { panic!("one hop") };
    let pattern = block.pattern();
    let ints = |tensor: &Tensor<1, Int>| tensor.to_data().iter::<i64>().collect();
    let values = block.values::<1>().into_data().iter::<f32>().collect();
    (ints(pattern.row_ptr()), ints(pattern.col_idx()), values)
}

/// `tests/files/prepared` was written by sparse-prepare, of the two tables there. Its tests write it again.
#[test]
fn what_sparse_prepare_wrote_is_trained_on() {
    let files = sparse_dev::path("tests/files/prepared");
    // ann, bob, cat, dan, eve and fay. The greater weight of ann -> bob is kept; fay has no edge.
    let names = ["ann", "bob", "cat", "dan", "eve", "fay"].map(String::from);
    let (ptr, idx) = (vec![0, 1, 3, 4, 6, 7, 7], vec![1, 2, 3, 0, 3, 4, 2]);
    let edges = (ptr, idx, vec![2.0, 1.0, 0.125, 0.25, 4.0, 3.0, 8.0]);
    let people = [1.5f32, 31.0, 1.75, 40.0, 1.625, 25.0, 2.0, 58.0, 1.375, 19.0, 1.25, 3.0];
    let people = || TensorData::new(people.to_vec(), [6, 2]);
    let config = NeighborSamplerConfig::new(vec![NeighborSampler::ALL]);
    let all = [0, 1, 2, 3, 4, 5];

    let manifest = Manifest::open(files.join("two")).unwrap();
    manifest.verify().unwrap();
    for part in 0..2 {
        assert_eq!(manifest.ids(part).unwrap(), Ids::Text(names[part * 3..][..3].to_vec()));
    }
    on_ranks(2, LONG, |ranks| {
        let part = Partition::open(ranks, files.join("two")).unwrap();
        assert_eq!((part.nodes(), part.edges(), part.parts()), (6, 7, 2));
        assert_eq!(part.owned(), [0..3, 3..6][ranks.rank()]);
        // Nodes of the other part, those with the most edges first.
        assert_eq!(part.halo(ranks).unwrap(), [[3], [2]][ranks.rank()]);
        let batch = part.sampler(&config, &device()).sample(ranks, &all, 0);
        assert_eq!((batch.nodes().ids(), batch.edge_ids()), (&all[..], &[0, 1, 2, 3, 4, 5, 6][..]));
        assert_eq!(block(&batch), edges);
        let rows: Tensor<2> = part.features().unwrap().gather(ranks, &all, &device());
        assert_eq!(rows.into_data(), people());
    });

    // One part is opened without ranks.
    let at = |name: &str| files.join("one/part-00000").join(name);
    let graph = MappedGraph::open_npy(at("row_ptr.npy"), at("col_idx.npy"), Some(&at("values.npy"))).unwrap();
    graph.check().unwrap();
    let batch = config.init_store(Arc::new(graph), &device()).sample(&all, 0);
    assert_eq!((batch.nodes().ids(), batch.edge_ids()), (&all[..], &[0, 1, 2, 3, 4, 5, 6][..]));
    assert_eq!(block(&batch), edges);
    let rows: Tensor<2> = FeatureStore::open_npy(at("features.npy")).unwrap().gather(&all, &device());
    assert_eq!(rows.into_data(), people());
}

#[test]
fn a_graph_without_features_says_so() {
    let (graph, folder) = (Graph::new(20), tempfile::tempdir().unwrap());
    graph.write(folder.path(), &[9], true, false);
    on_ranks(2, LONG, |ranks| {
        let part = Partition::open(ranks, folder.path()).unwrap();
        assert!(part.features().unwrap_err().to_string().contains("must have features"));
        let columns = NeighborSamplerConfig::new(vec![2]).with_direction(sparse_tensor::data::Direction::Columns);
        assert_eq!(part.try_sampler(&columns, &device()).unwrap_err().kind(), "invalid");
    });
}
