//! Graph algorithms and transforms: known answers (networkx 3.6), and what is refused.

use burn::tensor::{DType, Device, Distribution, FloatDType, Int, Tensor, TensorData};
use sparse_autograd::gradcheck;
use sparse_tensor::data::*;
use sparse_tensor::{CooTensor, CsrTensor, SparseError};

pub fn ints<const D: usize>(tensor: Tensor<D, Int>) -> Vec<i64> {
    tensor.into_data().convert::<i64>().iter().collect()
}

pub fn floats<const D: usize>(tensor: Tensor<D>) -> Vec<f64> {
    tensor.into_data().convert::<f64>().iter().collect()
}

pub fn kinds<T>(result: Result<T, SparseError>, kind: &str, parts: &[&str]) {
    let trouble = result.err().expect("an error");
    let text = trouble.to_string();
    assert!(trouble.kind() == kind && parts.iter().all(|part| text.contains(part)), "{text}: {kind} {parts:?}");
}

/// Node 5 has no edges, node 4 only one to itself.
fn directed(dtype: FloatDType) -> CsrTensor<2> {
    let edges = [(0, 1), (0, 2), (0, 3), (1, 0), (2, 0), (2, 1), (3, 2), (4, 4)];
    let values: Vec<f32> = edges.iter().map(|&(row, col)| (10 * row + col) as f32).collect();
    let values = Tensor::<1>::from_floats(&values[..], &Device::flex()).cast(dtype);
    CooTensor::from_edges(&edges, values, 6).unwrap().to_csr()
}

fn wide() -> CsrTensor<2> {
    CsrTensor::zeros([2, 3], &Device::flex())
}

fn close(got: Vec<f64>, want: &[f64], tolerance: f64) {
    assert_eq!(got.len(), want.len());
    assert!(got.iter().zip(want).all(|(got, want)| (got - want).abs() < tolerance), "{got:?} {want:?}");
}

#[test]
fn pagerank_is_networkxs() {
    let exact = PageRankConfig::new().with_tolerance(1e-13).with_max_iterations(1000);
    let a = directed(FloatDType::F64);
    let want = [0.25727731, 0.161232488, 0.219720161, 0.13846907, 0.194174757, 0.029126214];
    close(floats(exact.ranks(&a, None)), &want, 1e-8);
    let jumps =
        Tensor::<1>::from_data(TensorData::from([1.0f64, 0.0, 0.0, 3.0, 0.0, 0.0]), (&Device::flex(), DType::F64));
    let want = [0.244985084, 0.108425059, 0.273094332, 0.373495525, 0.0, 0.0];
    close(floats(exact.clone().with_damping(0.6).ranks(&a, Some(jumps))), &want, 1e-8);
    let want = [
        0.0969973, 0.0528769, 0.0570785, 0.0358599, 0.021978, 0.0291112, 0.0291112, 0.0244905, 0.0297661, 0.0143094,
        0.021978, 0.0095647, 0.0146449, 0.0295365, 0.014536, 0.014536, 0.016784, 0.0145587, 0.014536, 0.0196046,
        0.014536, 0.0145587, 0.014536, 0.0315225, 0.021076, 0.0210062, 0.015044, 0.0256398, 0.0195735, 0.0262885,
        0.0245902, 0.0371581, 0.0716932, 0.1009192,
    ];
    // In f32, and with an adjacency on the tape.
    close(floats(pagerank(&karate(&Device::flex().autodiff()).adjacency)), &want, 2e-6);
    // No edges: all ranks are the same.
    close(floats(pagerank(&CsrTensor::zeros([4, 4], &Device::flex()))), &[0.25; 4], 1e-6);
    assert_eq!(pagerank(&CsrTensor::zeros([0, 0], &Device::flex())).dims(), [0]);
}

#[test]
fn wrong_pageranks_are_errors() {
    let a = directed(FloatDType::F32);
    let device = Device::flex();
    kinds(try_pagerank(&wide()), "shape_mismatch", &["square"]);
    kinds(PageRankConfig::new().with_damping(1.5).try_ranks(&a, None), "invalid", &["damping", "1.5"]);
    kinds(PageRankConfig::new().with_max_iterations(3).try_ranks(&a, None), "invalid", &["more than 3 iterations"]);
    let values = a.values::<1>();
    for bad in [-1.0, f32::NAN, f32::INFINITY] {
        let values = values.clone().slice_fill(2..3, bad);
        kinds(try_pagerank(&a.with_values(values)), "invalid", &["an edge's weight"]);
    }
    let try_jumps = |jumps: Tensor<1>| PageRankConfig::new().try_ranks(&a, Some(jumps));
    kinds(try_jumps(Tensor::ones([5], &device)), "length_mismatch", &["6", "5"]);
    kinds(try_jumps(Tensor::zeros([6], &device)), "invalid", &["above 0 for some node"]);
    kinds(try_jumps(Tensor::zeros([6], &device) - 1.0), "invalid", &["a personalization"]);
    kinds(try_jumps(Tensor::<1>::ones([6], &device).cast(FloatDType::F64)), "dtype_mismatch", &["f64"]);
}

#[test]
fn distances_components_and_triangles_are_networkxs() {
    let device = Device::flex();
    let karate = karate(&device).adjacency;
    let want = [2, 3, 3, 3, 2, 1, 1, 3, 3, 4, 2, 3, 3, 3, 5, 5, 0, 3, 5, 3, 5, 3, 5, 5, 4, 4, 5, 4, 4, 5, 4, 3, 4, 4];
    assert_eq!(ints(bfs_levels(&karate, &[16])), want);
    let want =
        [18, 12, 11, 10, 2, 3, 3, 6, 5, 0, 2, 0, 1, 6, 1, 1, 1, 1, 1, 1, 1, 1, 1, 4, 1, 1, 1, 1, 1, 4, 3, 3, 13, 15];
    assert_eq!(ints(triangle_counts(&karate)), want);
    assert_eq!(degree_histogram(&karate), [0, 1, 11, 6, 6, 3, 2, 0, 0, 1, 1, 0, 1, 0, 0, 0, 1, 1]);
    let a = directed(FloatDType::F32);
    assert_eq!(ints(bfs_levels(&a, &[3])), [2, 2, 1, 0, -1, -1]);
    assert_eq!(ints(bfs_levels(&a, &[3, 4, 3])), [2, 2, 1, 0, 0, -1]);
    assert_eq!(ints(bfs_levels(&a, &[])), [-1; 6]);
    let weak = connected_components(&a, Connection::Weak);
    assert_eq!((ints(weak.labels), weak.count), (vec![0, 0, 0, 0, 1, 2], 3));
    let strong = connected_components(&a, Connection::Strong);
    assert_eq!((ints(strong.labels), strong.count), (vec![0, 0, 0, 0, 1, 2], 3));
    // 0-1-2 and 0-2-3.
    assert_eq!(ints(triangle_counts(&a)), [2, 1, 2, 1, 0, 0]);
    assert_eq!(degree_histogram(&a), [1, 3, 1, 1]);
    let none = CsrTensor::<2>::zeros([0, 0], &device);
    assert_eq!(connected_components(&none, Connection::Strong).count, 0);
    assert_eq!((ints(triangle_counts(&none)), degree_histogram(&none)), (vec![], vec![]));
    assert_eq!(ints(bfs_levels(&none, &[])), [0i64; 0]);
    kinds(try_bfs_levels(&a, &[6]), "index_out_of_range", &["6"]);
    kinds(try_bfs_levels(&wide(), &[]), "shape_mismatch", &["square"]);
    kinds(try_connected_components(&wide(), Connection::Weak), "shape_mismatch", &["square"]);
    kinds(try_triangle_counts(&wide()), "shape_mismatch", &["square"]);
    // A path of 100 000 nodes would overflow a recursive search.
    let edges: Vec<(usize, usize)> = (1..100_000).map(|node| (node - 1, node)).collect();
    let path = CooTensor::from_edges(&edges, Tensor::<1>::ones([edges.len()], &device), None).unwrap().to_csr();
    assert_eq!(connected_components(&path, Connection::Strong).count, 100_000);
    assert_eq!(connected_components(&path, Connection::Weak).count, 1);
}

#[test]
fn an_order_moves_everything_and_back() {
    let device = Device::flex().autodiff();
    let graph = karate(&device);
    let x = Tensor::<2>::random([34, 3], Distribution::Default, &device);
    let rcm = Reordering::reverse_cuthill_mckee(&graph.adjacency).unwrap();
    let degree = Reordering::by_degree(&graph.adjacency).unwrap();
    assert_eq!(degree.order()[..5], [33, 0, 32, 2, 1]);
    let dense = graph.adjacency.to_dense();
    for order in [&rcm, &degree] {
        let moved = order.adjacency(&graph.adjacency);
        let rows =
            Tensor::<1, Int>::from_ints(&order.order().iter().map(|&id| id as i64).collect::<Vec<_>>()[..], &device);
        let want = dense.clone().select(0, rows.clone()).select(1, rows.clone());
        assert_eq!(floats(moved.to_dense()), floats(want));
        assert_eq!(floats(order.adjacency(&graph.adjacency.to_coo()).to_dense()), floats(moved.to_dense()));
        assert_eq!(floats(order.rows(x.clone())), floats(x.clone().select(0, rows)));
        assert_eq!(floats(order.restore_rows(order.rows(x.clone()))), floats(x.clone()));
        assert_eq!(ints(order.rows(graph.labels.tensor()))[order.inverse()[33]], 1);
        assert_eq!(order.to_new(&graph.splits.train).unwrap(), [order.inverse()[0], order.inverse()[33]]);
        let far = |(row, line): (usize, &[f64])| {
            (0..34).filter(|&col| line[col] != 0.0).map(|col| row.abs_diff(col)).max().unwrap()
        };
        let width = floats(moved.to_dense()).chunks_exact(34).enumerate().map(far).max().unwrap();
        assert_eq!(order.bandwidth(&graph.adjacency), width);
    }
    assert!(rcm.bandwidth(&graph.adjacency) < degree.bandwidth(&graph.adjacency));
    let pattern = directed(FloatDType::F64).pattern().clone();
    let order = Reordering::new(vec![3, 5, 0, 1, 4, 2]).unwrap();
    gradcheck(&device, &[TensorData::from([1.0f64, 2.0, 1.5, 2.5, 3.0, 0.5, 0.7, 0.2])], |xs| {
        order.adjacency(&CsrTensor::<2>::from_pattern(pattern.clone(), xs[0].tensor::<1>()).unwrap()).values::<1>()
    })
    .unwrap();
    for bad in [vec![0, 0], vec![2, 0], vec![usize::MAX]] {
        kinds(Reordering::new(bad), "invalid", &["once"]);
    }
    kinds(order.try_adjacency(&graph.adjacency), "shape_mismatch", &["[34, 34]", "6"]);
    kinds(order.try_rows(x), "length_mismatch", &["6", "34"]);
    kinds(order.to_new(&[6]), "index_out_of_range", &["6"]);
    kinds(Reordering::by_degree(&wide()), "shape_mismatch", &["square"]);
    kinds(Reordering::reverse_cuthill_mckee(&wide()), "shape_mismatch", &["square"]);
    let none = Reordering::reverse_cuthill_mckee(&CsrTensor::<2>::zeros([0, 0], &device)).unwrap();
    assert!(none.order().is_empty());
}

#[test]
fn nearest_points_become_edges() {
    let device = Device::flex();
    // A square, and a point far away.
    let points = Tensor::<2>::from_floats([[0.0, 0.0], [0.0, 3.0], [4.0, 0.0], [4.0, 3.0], [100.0, 0.0]], &device);
    let near = knn_graph(points.clone(), 2, None);
    assert_eq!(ints(near.row_ptr()), [0, 2, 4, 6, 8, 10]);
    assert_eq!(ints(near.col_idx()), [1, 2, 0, 3, 0, 3, 1, 2, 2, 3]);
    close(floats(near.values::<1>())[..4].to_vec(), &[3.0, 4.0, 3.0, 4.0], 1e-6);
    let within = radius_graph(points.clone(), 3.0, usize::MAX, None);
    assert_eq!(ints(within.col_idx()), [1, 0, 3, 2]);
    assert_eq!(radius_graph(points.clone(), 4.0, 1, None).nnz(), 4);
    // Two graphs: none of the first three is a neighbour of the others.
    let parted = knn_graph(points.clone(), 2, Some(&[0, 0, 0, 7, 7]));
    assert_eq!(ints(parted.col_idx()), [1, 2, 0, 2, 0, 1, 4, 3]);
    // Fewer points than neighbours, and points at one place.
    let same = knn_graph(Tensor::<2>::ones([3, 2], &device), 9, None);
    assert_eq!((same.nnz(), floats(same.values::<1>())), (6, vec![0.0; 6]));
    assert_eq!(knn_graph(Tensor::<2>::zeros([0, 2], &device), 1, None).dims(), [0, 0]);
    // More dims than a tree takes, against all pairs.
    let points = Tensor::<2>::random([60, 20], Distribution::Default, &device);
    let data = floats(points.clone());
    let near = knn_graph(points, 3, None);
    let cols = ints(near.col_idx());
    for row in 0..60 {
        let squared =
            |other: usize| -> f64 { (0..20).map(|d| (data[row * 20 + d] - data[other * 20 + d]).powi(2)).sum() };
        let mut all: Vec<usize> = (0..60).filter(|&other| other != row).collect();
        all.sort_by(|&a, &b| squared(a).total_cmp(&squared(b)));
        let mut want: Vec<i64> = all[..3].iter().map(|&id| id as i64).collect();
        want.sort_unstable();
        assert_eq!(cols[3 * row..3 * row + 3], want);
    }
    let bad = Tensor::<2>::from_floats([[0.0, 0.0], [f32::NAN, 3.0]], &device);
    kinds(try_knn_graph(bad.clone(), 1, None), "invalid", &["finite", "point 1"]);
    let good = Tensor::<2>::ones([2, 2], &device);
    kinds(try_knn_graph(good.clone(), 0, None), "invalid", &["k must be above 0"]);
    kinds(try_knn_graph(good.clone(), 1, Some(&[1])), "length_mismatch", &["2"]);
    kinds(try_knn_graph(good.clone(), 1, Some(&[1, 0])), "invalid", &["descend"]);
    kinds(try_radius_graph(good.clone(), -1.0, 5, None), "invalid", &["radius"]);
    kinds(try_radius_graph(good, 1.0, 0, None), "invalid", &["above 0"]);
}

#[test]
fn features_are_made_and_normalised() {
    let device = Device::flex();
    let a = directed(FloatDType::F32);
    let features = one_hot_degree(&a, 4);
    let mut want = vec![0.0; 30];
    for (node, degree) in [3, 1, 2, 1, 1, 0].into_iter().enumerate() {
        want[node * 5 + degree] = 1.0;
    }
    assert_eq!(floats(features.to_dense()), want);
    kinds(try_one_hot_degree(&a, 2), "invalid", &["at least 3", "node 0", "got 2"]);
    assert_eq!(one_hot_degree(&CsrTensor::<2>::zeros([0, 0], &device), 2).dims(), [0, 3]);
    let x = Tensor::<2>::from_floats([[1.0, 3.0], [0.0, 0.0], [2.0, -3.0]], &device);
    assert_eq!(floats(normalize_features(x)), [0.25, 0.75, 0.0, 0.0, 0.0, 0.0]);
    assert_eq!(normalize_features(Tensor::zeros([0, 2], &device)).dims(), [0, 2]);
    gradcheck(&device.autodiff(), &[TensorData::from([[1.0f64, 3.0], [0.5, 0.2]])], |xs| {
        normalize_features(xs[0].tensor())
    })
    .unwrap();
}
