//! Shortest paths, searches, spanning trees, flows and matchings: against plain algorithms on small random graphs, and
//! what is refused.

use crate::algorithms::{floats, ints, kinds as refused};
use burn::tensor::{DType, Device, FloatDType, Tensor, TensorData};
use proptest::test_runner::TestCaseError;
use sparse_autograd::Var;
use sparse_dev::gradients::{check, devices};
use sparse_tensor::data::*;
use sparse_tensor::{CooTensor, CsrTensor, Fill};

const NONE: f64 = f64::INFINITY;

pub fn graph(edges: &[(usize, usize, f64)], nodes: usize) -> CsrTensor<2> {
    let ends: Vec<_> = edges.iter().map(|&(row, col, _)| (row, col)).collect();
    let weights: Vec<f64> = edges.iter().map(|edge| edge.2).collect();
    let values = Tensor::<1>::from_data(TensorData::new(weights, [edges.len()]), (&Device::flex(), DType::F64));
    CooTensor::from_edges(&ends, values, nodes).unwrap().to_csr()
}

/// On every device with a tape, with and without checkpointing.
pub fn check_all<const D: usize>(inputs: &[TensorData], f: impl Fn(&[Var]) -> Tensor<D>) -> Result<(), TestCaseError> {
    (0..devices().len()).try_for_each(|pick| check(pick, inputs, &f))
}

/// Random numbers from 0 to below `limit`.
pub fn draws(seed: u64) -> impl FnMut(usize) -> usize {
    let mut state = seed.wrapping_mul(2) + 1;
    move |limit| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % limit
    }
}

/// Edges without repeats, sorted; a negative one never closes a cycle of negative length: it is a difference of
/// potentials and something from 0 on.
pub fn random(seed: u64, nodes: usize, edges: usize, negative: bool) -> Vec<(usize, usize, f64)> {
    let mut draw = draws(seed);
    let potential: Vec<f64> = (0..nodes).map(|_| if negative { draw(9) as f64 } else { 0.0 }).collect();
    let mut list: Vec<_> = (0..edges).map(|_| (draw(nodes), draw(nodes), draw(6) as f64)).collect();
    list.iter_mut().for_each(|(row, col, weight)| *weight += potential[*row] - potential[*col]);
    list.sort_by_key(|edge| (edge.0, edge.1));
    list.dedup_by_key(|edge| (edge.0, edge.1));
    list
}

fn floyd_warshall(edges: &[(usize, usize, f64)], nodes: usize) -> Vec<f64> {
    let mut all = vec![NONE; nodes * nodes];
    edges.iter().for_each(|&(row, col, weight)| all[row * nodes + col] = weight);
    (0..nodes).for_each(|node| all[node * nodes + node] = all[node * nodes + node].min(0.0));
    for via in 0..nodes {
        for row in 0..nodes {
            for col in 0..nodes {
                let longer = all[row * nodes + via] + all[via * nodes + col];
                all[row * nodes + col] = all[row * nodes + col].min(longer);
            }
        }
    }
    all
}

#[test]
fn distances_are_those_of_floyd_and_warshall_and_paths_have_them() {
    for seed in 0..60 {
        let (nodes, negative) = (1 + seed as usize % 12, seed % 2 == 1);
        let edges = random(seed, nodes, 3 * nodes, negative);
        let (a, want) = (graph(&edges, nodes), floyd_warshall(&edges, nodes));
        let sources: Vec<usize> = (0..nodes).rev().collect();
        let paths = shortest_paths(&a, &sources);
        let (got, before) = (floats(paths.distances.clone()), ints(paths.predecessors()));
        for (k, &source) in sources.iter().enumerate() {
            let one = floats(shortest_paths(&a, &[source]).distances);
            let near = shortest_paths_within(&a, &[source], 4.0);
            let both = floats(shortest_paths_within(&a, &[source, source], 4.0).distances);
            for node in 0..nodes {
                let (got, want) = (got[k * nodes + node], want[source * nodes + node]);
                assert_eq!(got, want, "{seed}: {source} to {node}");
                assert_eq!(one[node], want, "{seed}: {source} alone to {node}");
                // A path whose part is longer than the limit may be shorter than it, with negative weights.
                let within = if want <= 4.0 { want } else { NONE };
                assert_eq!((floats(near.distances.clone())[node], both[node]), (within, within), "{seed}: {source}");
                let length = |path: &[usize]| -> f64 {
                    let weight =
                        |step: &[usize]| edges.iter().find(|edge| [edge.0, edge.1] == step).expect("an edge").2;
                    path.windows(2).map(weight).sum()
                };
                let path = near.path(0, node);
                match within {
                    NONE => assert_eq!((&path[..], ints(near.predecessors())[node]), (&[node][..], -1)),
                    _ => assert_eq!((path[0], length(&path)), (source, within)),
                }
                let path = paths.path(k, node);
                match want {
                    NONE => assert_eq!((&path[..], before[k * nodes + node]), (&[node][..], -1)),
                    _ => assert_eq!((path[0], length(&path)), (source, want)),
                }
            }
        }
    }
}

#[test]
fn gradients_of_distances() {
    let edges = random(7, 8, 30, true);
    // Sums that no two paths share.
    let weights: Vec<f64> =
        edges.iter().enumerate().map(|(k, edge)| edge.2 + 0.013 * ((k * k) as f64).sqrt()).collect();
    let ends: Vec<_> = edges.iter().map(|&(row, col, _)| (row, col)).collect();
    check_all(&[TensorData::new(weights, [edges.len()])], |xs| {
        let a = CooTensor::from_edges(&ends, xs[0].tensor::<1>(), 8).unwrap().to_csr();
        let found = shortest_paths(&a, &[0, 3, 3]).distances;
        let none = found.clone().is_inf();
        found.mask_fill(none, 0.0)
    })
    .unwrap();
    // The path to node 2 goes through node 1, which is beyond the limit.
    check_all(&[TensorData::from([10.0f64, -8.0])], |xs| {
        let a = CooTensor::from_edges(&[(0, 1), (1, 2)], xs[0].tensor::<1>(), 3).unwrap().to_csr();
        shortest_paths_within(&a, &[0], 5.0).distances.slice([0..1, 2..3])
    })
    .unwrap();
}

/// A length of infinity says that there is no path.
#[test]
fn lengths_without_a_float_are_told() {
    let chain = |weight: f64| graph(&[(0, 1, weight), (1, 2, weight)], 3);
    // Where kernels of f16 are compiled.
    if let Ok(half) = chain(4e4).try_cast(FloatDType::F16) {
        refused(try_shortest_paths(&half, &[0]), "invalid", &["f16", "node 2", "80000"]);
    }
    let single = chain(3e38).cast(FloatDType::F32);
    refused(try_shortest_paths(&single, &[0]), "invalid", &["f32", "node 2"]);
    for sources in [&[0][..], &[0, 1]] {
        refused(try_shortest_paths(&chain(-1e308), sources), "invalid", &["sum of the negative weights"]);
    }
    // A weight that stands for none.
    let found = shortest_paths(&chain(f64::MAX), &[0]);
    assert_eq!(floats(found.distances.clone()), [0.0, f64::MAX, NONE]);
    assert_eq!(found.path(0, 2), [2]);
}

#[test]
fn weights_that_are_no_edges_and_none() {
    let a = graph(&[(0, 1, NONE), (0, 2, 0.0), (2, 1, -0.0), (1, 0, 1.5)], 4);
    assert_eq!(floats(shortest_paths(&a, &[0]).distances), [0.0, 0.0, 0.0, NONE]);
    assert_eq!(shortest_paths(&a, &[]).distances.dims(), [0, 4]);
    let none = CsrTensor::<2>::zeros([0, 0], &Device::flex());
    assert_eq!(shortest_paths(&none, &[]).distances.dims(), [0, 0]);
    let tape = CsrTensor::<2>::zeros([3, 3], &Device::flex().autodiff()).require_grad();
    let grads = shortest_paths(&tape, &[1]).distances.slice([0..1, 1..2]).sum().backward();
    assert_eq!(tape.grad(&grads).map_or(0, |grad| grad.nnz()), 0);
    assert_eq!(floats(shortest_paths_within(&a, &[1], -1.0).distances), [NONE, 0.0, NONE, NONE]);
    let below = graph(&[(0, 1, -1.0), (1, 2, 3.0)], 3);
    for sources in [&[0][..], &[0, 0]] {
        let found = shortest_paths_within(&below, sources, -0.5).distances;
        assert_eq!(floats(found.narrow(0, 0, 1)), [0.0, -1.0, NONE]);
    }
}

#[test]
fn bad_graphs_and_sources() {
    let a = graph(&[(0, 1, 1.0), (1, 2, -3.0), (2, 0, 1.0), (3, 3, -1.0)], 4);
    refused(try_shortest_paths(&a, &[0]), "invalid", &["cycle", "node"]);
    refused(try_shortest_paths(&a, &[3, 3]), "invalid", &["cycle"]);
    refused(try_shortest_paths(&a, &[3]), "invalid", &["through node 3"]);
    // A cycle that rounding hides: -1e-20 + 1 is not below 1.
    let hidden = graph(&[(0, 1, 1.0), (1, 2, -1.0), (2, 0, -1e-20)], 4);
    refused(try_shortest_paths(&hidden, &[0]), "invalid", &["cycle"]);
    // Its potentials round to those of a cycle of length 0.
    assert_eq!(shortest_paths(&hidden, &[0, 1]).path(0, 2), [0, 1, 2]);
    refused(try_shortest_paths(&a, &[4]), "index_out_of_range", &["4"]);
    refused(try_shortest_paths_within(&a, &[0], f64::NAN), "invalid", &["limit"]);
    let bad = graph(&[(0, 1, 1.0), (2, 1, f64::NAN)], 3);
    refused(try_shortest_paths(&bad, &[0]), "invalid", &["NaN", "(2, 1)"]);
    refused(try_minimum_spanning_tree(&bad), "invalid", &["NaN", "(2, 1)"]);
    refused(try_shortest_paths(&graph(&[(1, 0, -NONE)], 2), &[0]), "invalid", &["-inf", "(1, 0)"]);
    let wide = CsrTensor::<2>::zeros([2, 3], &Device::flex());
    refused(try_shortest_paths(&wide, &[0]), "shape_mismatch", &["2", "3"]);
    refused(try_minimum_spanning_tree(&wide), "shape_mismatch", &["2", "3"]);
    refused(try_search_order(&wide, 0, SearchBy::Depth), "shape_mismatch", &["2", "3"]);
    refused(try_search_order(&a, 4, SearchBy::Breadth), "index_out_of_range", &["4"]);
    let full = graph(&[(0, 1, 1.0)], 2).with_fill(Fill::scalar(1.0));
    refused(try_shortest_paths(&full, &[0]), "fill_mismatch", &["zero"]);
}

/// SciPy's documentation of `breadth_first_order` and `depth_first_order`.
#[test]
fn searches_are_scipys() {
    let a = graph(&[(0, 1, 1.0), (0, 2, 2.0), (1, 3, 1.0), (2, 0, 2.0), (2, 3, 3.0)], 5);
    let found = search_order(&a, 0, SearchBy::Breadth);
    assert_eq!((ints(found.order), ints(found.predecessors)), (vec![0, 1, 2, 3], vec![-1, 0, 0, 1, -1]));
    let found = search_order(&a, 0, SearchBy::Depth);
    assert_eq!((ints(found.order), ints(found.predecessors)), (vec![0, 1, 3, 2], vec![-1, 0, 0, 1, -1]));
    // A path that would overflow a stack of calls.
    let chain: Vec<_> = (0..200_000).map(|node| (node, node + 1, 1.0)).collect();
    assert_eq!(search_order(&graph(&chain, 200_001), 0, SearchBy::Depth).order.dims(), [200_001]);
}

/// Prim's algorithm, for each component.
fn least_weight(edges: &[(usize, usize, f64)], nodes: usize) -> (usize, f64) {
    let (mut seen, mut sum, mut count) = (vec![false; nodes], 0.0, 0);
    for start in 0..nodes {
        if std::mem::replace(&mut seen[start], true) {
            continue;
        }
        loop {
            let leaves = edges.iter().filter(|edge| seen[edge.0] != seen[edge.1]);
            let Some(least) = leaves.min_by(|a, b| a.2.total_cmp(&b.2)) else { break };
            (seen[least.0], seen[least.1]) = (true, true);
            (sum, count) = (sum + least.2, count + 1);
        }
    }
    (count, sum)
}

#[test]
fn spanning_trees_have_the_least_weight_and_keep_gradients() {
    for seed in 0..40 {
        let nodes = 1 + seed as usize % 9;
        let edges = random(seed, nodes, nodes + seed as usize % 13, seed % 3 == 0);
        let tree = minimum_spanning_tree(&graph(&edges, nodes));
        let (count, sum) = least_weight(&edges, nodes);
        assert_eq!((tree.nnz(), floats(tree.sum())), (count, vec![sum]), "{seed}");
        assert_eq!(connected_components(&tree, Connection::Weak).count, nodes - count);
    }
    let device = Device::flex().autodiff();
    let values = Tensor::<1>::from_floats([3.0, 1.0, 2.0], &device).require_grad();
    let a = CooTensor::from_edges(&[(0, 1), (1, 0), (1, 2)], values.clone(), 3).unwrap().to_csr();
    let grads = minimum_spanning_tree(&a).sum().backward();
    assert_eq!(floats(values.grad(&grads).unwrap()), [0.0, 1.0, 1.0]);
}

/// The most pairs, by trying all.
fn most_pairs(rows: &[Vec<usize>], taken: &mut Vec<usize>) -> usize {
    let Some((first, rest)) = rows.split_first() else { return 0 };
    let mut best = most_pairs(rest, taken);
    for &column in first {
        if !taken.contains(&column) {
            taken.push(column);
            best = best.max(1 + most_pairs(rest, taken));
            taken.pop();
        }
    }
    best
}

#[test]
fn matchings_have_the_most_pairs() {
    for seed in 0..80 {
        let mut draw = draws(seed);
        let (rows, cols) = (1 + draw(7), 1 + draw(7));
        let mut list: Vec<Vec<usize>> = (0..rows).map(|_| (0..draw(4)).map(|_| draw(cols)).collect()).collect();
        list.iter_mut().for_each(|row| {
            row.sort_unstable();
            row.dedup();
        });
        let dense: Vec<f32> = (0..rows * cols).map(|k| list[k / cols].contains(&(k % cols)) as u8 as f32).collect();
        let dense = Tensor::<2>::from_data(TensorData::new(dense, [rows, cols]), &Device::flex());
        let columns = ints(maximum_matching(&CsrTensor::<2>::from_dense(dense)));
        let mut pairs: Vec<_> = columns.iter().enumerate().filter(|(_, column)| **column >= 0).collect();
        assert_eq!(pairs.len(), most_pairs(&list, &mut vec![]), "{seed}");
        assert!(pairs.iter().all(|&(row, &column)| list[row].contains(&(column as usize))), "{seed}");
        pairs.sort_by_key(|pair| pair.1);
        assert!(pairs.windows(2).all(|two| two[0].1 != two[1].1), "{seed}");
    }
    assert_eq!(maximum_matching(&CsrTensor::<2>::zeros([0, 3], &Device::flex())).dims(), [0]);
    // A path whose pairs all change.
    let chain = (0..100_000).flat_map(|row| [(row, row, 1.0), (row, row + 1, 1.0)]).chain([(100_000, 0, 1.0)]);
    let columns = ints(maximum_matching(&graph(&chain.collect::<Vec<_>>(), 100_001)));
    assert!(columns.iter().all(|column| *column >= 0));
}

/// The least capacity of all cuts.
fn least_cut(edges: &[(usize, usize, f64)], nodes: usize) -> f64 {
    let side = |set: usize, node: usize| node == 0 || (node + 1 < nodes && set >> node & 1 == 1);
    let cut = |set| edges.iter().filter(|edge| side(set, edge.0) && !side(set, edge.1)).map(|edge| edge.2).sum();
    (0..1 << nodes).map(cut).fold(NONE, f64::min)
}

#[test]
fn flows_are_as_large_as_the_least_cut_and_balance() {
    for seed in 0..60 {
        let nodes = 2 + seed as usize % 7;
        let edges = random(seed, nodes, 4 * nodes, false);
        let a = graph(&edges, nodes);
        let found = maximum_flow(&a, 0, nodes - 1);
        let value = floats(found.value)[0];
        assert_eq!(value, least_cut(&edges, nodes), "{seed}");
        let (rows, cols, along) = found.flow.to_triplets::<f64>();
        let capacities = floats(a.values::<1>());
        assert!(along.iter().zip(&capacities).all(|(along, most)| (0.0..=*most).contains(along)), "{seed}");
        for node in 0..nodes {
            let of =
                |ends: &[usize]| -> f64 { ends.iter().zip(&along).filter(|end| *end.0 == node).map(|end| end.1).sum() };
            let want = [value, -value, 0.0][if node == 0 {
                0
            } else if node + 1 == nodes {
                1
            } else {
                2
            }];
            assert_eq!(of(&rows) - of(&cols), want, "{seed}: node {node}");
        }
        let side: Vec<bool> = found.source_side.into_data().iter::<bool>().collect();
        assert!(side[0] && !side[nodes - 1]);
        let across = edges.iter().filter(|edge| side[edge.0] && !side[edge.1]).map(|edge| edge.2).sum::<f64>();
        assert_eq!(across, value, "{seed}");
        // With fractions that rounding may carry beyond a capacity.
        let thirds: Vec<_> = edges.iter().map(|&(row, col, weight)| (row, col, weight / 3.0)).collect();
        let part = maximum_flow(&graph(&thirds, nodes), 0, nodes - 1);
        assert!((floats(part.value)[0] - value / 3.0).abs() < 1e-12);
        let along = floats(part.flow.values::<1>());
        assert!(along.iter().zip(&thirds).all(|(along, edge)| (0.0..=edge.2).contains(along)), "{seed}");
    }
}

#[test]
fn gradients_of_a_flow_are_its_cut() {
    let ends = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)];
    check_all(&[TensorData::from([4.0f64, 1.3, 0.7, 2.1, 5.0])], |xs| {
        maximum_flow(&CooTensor::from_edges(&ends, xs[0].tensor::<1>(), 4).unwrap().to_csr(), 0, 3).value
    })
    .unwrap();
}

/// The least sum of a matching of all rows, by trying all.
fn least_sum(rows: &[Vec<(usize, f64)>], taken: &mut Vec<usize>) -> f64 {
    let Some((first, rest)) = rows.split_first() else { return 0.0 };
    let mut best = NONE;
    for &(column, weight) in first {
        if !taken.contains(&column) {
            taken.push(column);
            best = best.min(weight + least_sum(rest, taken));
            taken.pop();
        }
    }
    best
}

#[test]
fn full_matchings_have_the_least_sum() {
    let (mut full, mut none) = (0, 0);
    for seed in 0..120 {
        let mut draw = draws(seed);
        let rows = 1 + draw(6);
        let cols = rows + draw(3);
        let mut edges = vec![];
        for k in 0..rows * cols {
            if draw(4) > 1 {
                edges.push((k / cols, k % cols, draw(9) as f64 - 4.0));
            }
        }
        let list: Vec<Vec<_>> = (0..rows)
            .map(|row| edges.iter().filter(|edge| edge.0 == row).map(|edge| (edge.1, edge.2)).collect())
            .collect();
        let (ends, weights): (Vec<_>, Vec<_>) = edges.iter().map(|&(row, col, weight)| ([row, col], weight)).unzip();
        let (own_rows, own_cols): (Vec<_>, Vec<_>) = ends.iter().map(|&[row, col]| (row, col)).unzip();
        let a = CsrTensor::<2>::from_triplets(&own_rows, &own_cols, &weights, [rows, cols], &Device::flex()).unwrap();
        let want = least_sum(&list, &mut vec![]);
        match try_minimum_weight_matching(&a) {
            Ok(columns) => {
                let columns = ints(columns);
                let sum: f64 = columns
                    .iter()
                    .enumerate()
                    .map(|(row, column)| {
                        list[row].iter().find(|pair| pair.0 == *column as usize).expect("an element").1
                    })
                    .sum();
                assert_eq!(sum, want, "{seed}");
                full += 1;
            }
            Err(trouble) => {
                assert!(want == NONE && trouble.kind() == "invalid", "{seed}: {trouble}");
                none += 1;
            }
        }
    }
    assert!(full > 20 && none > 20);
}

#[test]
fn bad_flows_and_matchings() {
    let a = graph(&[(0, 1, 1.0), (1, 2, -1.0)], 3);
    refused(try_maximum_flow(&a, 0, 2), "invalid", &["-1", "(1, 2)"]);
    refused(try_maximum_flow(&a, 0, 0), "invalid", &["two nodes"]);
    refused(try_maximum_flow(&a, 0, 3), "index_out_of_range", &["3"]);
    refused(try_maximum_flow(&graph(&[(0, 1, NONE)], 2), 0, 1), "invalid", &["inf", "(0, 1)"]);
    let tall = CsrTensor::<2>::zeros([3, 2], &Device::flex());
    refused(try_maximum_flow(&tall, 0, 1), "shape_mismatch", &["3", "2"]);
    refused(try_minimum_weight_matching(&tall), "shape_mismatch", &["transpose"]);
    refused(try_minimum_weight_matching(&graph(&[(0, 1, 1.0), (1, 1, 1.0)], 2)), "invalid", &["row 1"]);
    refused(try_minimum_weight_matching(&graph(&[(0, 1, NONE)], 2)), "invalid", &["row 0"]);
    // The sink cannot be reached.
    assert_eq!(floats(maximum_flow(&graph(&[(0, 1, 2.0)], 3), 0, 2).value), [0.0]);
}
