//! Several shortest paths, against all simple paths of small random graphs, and trees of predecessors.

use crate::algorithms::floats;
use crate::paths::{check_all, draws, graph, random};
use burn::tensor::{DType, Device, FloatDType, Int, Tensor, TensorData};
use sparse_tensor::CooTensor;
use sparse_tensor::data::*;

/// The lengths of all paths without a node twice, ascending.
fn all_lengths(edges: &[(usize, usize, f64)], path: &mut Vec<usize>, target: usize, length: f64, out: &mut Vec<f64>) {
    let node = path[path.len() - 1];
    if node == target {
        out.push(length);
        return;
    }
    for &(row, col, weight) in edges {
        if row == node && !path.contains(&col) {
            path.push(col);
            all_lengths(edges, path, target, length + weight, out);
            path.pop();
        }
    }
}

#[test]
fn all_simple_paths_in_order() {
    for seed in 0..80 {
        let (nodes, negative) = (2 + seed as usize % 6, seed % 2 == 1);
        let edges = random(seed, nodes, 4 * nodes, negative);
        let mut draw = draws(seed + 1000);
        let (source, target) = (draw(nodes), draw(nodes));
        let mut want = vec![];
        all_lengths(&edges, &mut vec![source], target, 0.0, &mut want);
        want.sort_by(f64::total_cmp);
        let a = graph(&edges, nodes);
        for count in [0, 1, 3, want.len(), want.len() + 5] {
            let found = k_shortest_paths(&a, source, target, count);
            let lengths = floats(found.lengths);
            let least: Vec<f64> = want.iter().copied().take(count).collect();
            assert_eq!(lengths, least, "{seed}: {count} from {source} to {target}");
            for (k, path) in found.paths.iter().enumerate() {
                assert_eq!((path[0], path[path.len() - 1]), (source, target));
                assert!(found.paths[..k].iter().all(|other| other != path), "{seed}: a path is found once");
                let mut nodes = path.clone();
                nodes.sort_unstable();
                nodes.dedup();
                assert_eq!(nodes.len(), path.len(), "{seed}: no node is twice on {path:?}");
                let weight = |step: &[usize]| edges.iter().find(|edge| [edge.0, edge.1] == step).expect("an edge").2;
                assert_eq!(path.windows(2).map(weight).sum::<f64>(), lengths[k], "{seed}");
            }
        }
    }
}

#[test]
fn lengths_have_gradients() {
    let ends = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)];
    let weights = TensorData::new(vec![1.0, 2.3, 1.1, 4.7, 1.9], [5]);
    check_all(&[weights], |xs| {
        let a = CooTensor::from_edges(&ends, xs[0].tensor::<1>(), 4).unwrap().to_csr();
        k_shortest_paths(&a, 0, 3, 3).lengths
    })
    .unwrap();
}

#[test]
fn what_has_no_path_or_no_order() {
    let a = graph(&[(0, 1, 1.0), (1, 2, f64::INFINITY)], 3);
    assert!(k_shortest_paths(&a, 0, 2, 4).paths.is_empty());
    assert_eq!(k_shortest_paths(&a, 1, 1, 4).paths, [vec![1]]);
    let long = graph(&[(0, 1, 3e38), (1, 2, 3e38)], 3).cast(FloatDType::F32);
    let told = try_k_shortest_paths(&long, 0, 2, 1).err().unwrap().to_string();
    assert!(told.contains("must fit f32") && told.contains("node 2"), "{told}");
    let cycle = graph(&[(0, 1, 1.0), (1, 0, -2.0), (1, 2, 1.0)], 3);
    assert_eq!(try_k_shortest_paths(&cycle, 0, 2, 1).err().unwrap().kind(), "invalid");
    assert_eq!(try_k_shortest_paths(&cycle, 0, 3, 1).err().unwrap().kind(), "index_out_of_range");
}

#[test]
fn trees_have_the_edges_of_the_paths() {
    for seed in 0..20 {
        let nodes = 2 + seed as usize % 9;
        let edges = random(seed, nodes, 3 * nodes, false);
        let a = graph(&edges, nodes);
        let paths = shortest_paths(&a, &[0]);
        let tree = predecessor_tree(&a, &paths.predecessors().reshape([nodes]));
        assert_eq!(floats(shortest_paths(&tree, &[0]).distances), floats(paths.distances.clone()), "{seed}");
        let reached = floats(paths.distances).iter().filter(|distance| distance.is_finite()).count();
        assert_eq!(tree.nnz(), reached - 1, "{seed}");
    }
    let a = graph(&[(0, 1, 1.0)], 2);
    let before = |list: Vec<i64>| {
        let count = list.len();
        Tensor::<1, Int>::from_data(TensorData::new(list, [count]), (&Device::flex(), DType::I64))
    };
    for wrong in [vec![-1], vec![1, -1], vec![-1, 7], vec![-2, 0]] {
        assert_eq!(try_predecessor_tree(&a, &before(wrong)).err().unwrap().kind(), "invalid");
    }
}
