//! Layers that make graphs coarser, and dense batches.

use super::case::{Inputs, check, device, kind, plan};
use burn::module::Module;
use burn::nn::{Linear, LinearConfig};
use burn::tensor::activation::relu;
use burn::tensor::{Bool, DType, Device, Tensor};
use sparse_tensor::CsrTensor;
use sparse_tensor::nn::{
    Aggregation, DenseBatch, DensePooled, Edges, GcnConv, GcnConvConfig, MemoryPoolConfig, MlpConfig, TopKPool,
    TopKPoolConfig, memory_loss, try_diff_pool, try_dmon_pool, try_mincut_pool,
};
use sparse_tensor::ops::{IndexPlan, Reduce};

/// The graphs of pooling.py, of four, three and one nodes.
const IDS: [i64; 8] = [0, 0, 0, 0, 1, 1, 1, 2];

#[derive(Module, Debug)]
struct SagPool {
    pool: TopKPool,
    neighbours: Linear,
    root: Linear,
}

#[derive(Module, Debug)]
struct Scores {
    linear: Linear,
}

/// A module without parameters.
#[derive(Module, Debug)]
struct Nothing;

fn graphs() -> IndexPlan {
    plan(&IDS, 3)
}

fn column(parts: Vec<Tensor<1>>) -> Tensor<2> {
    Tensor::cat(parts, 0).unsqueeze_dim(1)
}

fn flat<const D: usize>(x: Tensor<D>) -> Tensor<1> {
    x.flatten::<1>(0, D - 1)
}

fn pooled_column<const N: usize>(pooled: DensePooled<N>) -> Tensor<2> {
    column([vec![flat(pooled.x), flat(pooled.adjacency)], pooled.losses.to_vec()].concat())
}

type Dense = (Tensor<3>, Tensor<3>, Option<Tensor<2, Bool>>);

/// The first graphs of a case.
fn dense(inputs: &Inputs, few: usize) -> Dense {
    let batch = DenseBatch::new(inputs.x(), &graphs());
    let adjacency = batch.adjacency(inputs.graph()).narrow(0, 0, few);
    (batch.x.narrow(0, 0, few), adjacency, Some(batch.mask.narrow(0, 0, few)))
}

#[test]
fn scores_of_another_layer() {
    for (id, config) in [
        ("sag_pool/ratio", TopKPoolConfig::new(1)),
        ("sag_pool/multiplied", TopKPoolConfig::new(1).with_ratio(0.7).with_multiplier(2.0)),
        ("sag_pool/least", TopKPoolConfig::new(1).with_min_score(Some(0.3))),
    ] {
        let layer = SagPool {
            pool: config.init(&device()),
            neighbours: LinearConfig::new(3, 1).init(&device()),
            root: LinearConfig::new(3, 1).with_bias(false).init(&device()),
        };
        check(id, layer, |layer, inputs| {
            let (a, x) = (inputs.graph(), inputs.x());
            let by = layer.neighbours.forward(a.matmul(x.clone())) + layer.root.forward(x.clone());
            let pooled = layer.pool.forward_by(a, x, by, &graphs());
            Tensor::cat(vec![pooled.x, pooled.scores.unsqueeze_dim(1)], 1)
        });
    }
    check("top_k/by", TopKPoolConfig::new(2).init(&device()), |layer, inputs| {
        layer.forward_by(inputs.graph(), inputs.x(), inputs.tensor("by"), &graphs()).x
    });
}

#[test]
fn dense_batches() {
    check("dense_batch/product", Nothing, |_, inputs| {
        let batch = DenseBatch::new(inputs.x(), &graphs());
        batch.rows(batch.adjacency(inputs.graph()).matmul(batch.x.clone()))
    });
}

#[test]
fn dense_assignments() {
    check("diff_pool/masked", Nothing, |_, inputs| {
        let (x, adjacency, mask) = dense(inputs, 3);
        let scores = DenseBatch::new(inputs.tensor("s"), &graphs()).x;
        pooled_column(try_diff_pool(x, adjacency, scores, mask).unwrap())
    });
    check("mincut_pool/masked", Nothing, |_, inputs| {
        let (x, adjacency, mask) = dense(inputs, 2);
        let scores = DenseBatch::new(inputs.tensor("s"), &graphs()).x.narrow(0, 0, 2);
        pooled_column(try_mincut_pool(x, adjacency, scores, mask).unwrap())
    });
    let layer = Scores { linear: LinearConfig::new(2, 3).init(&device()) };
    check("dmon_pool/masked", layer, |layer, inputs| {
        let (x, adjacency, mask) = dense(inputs, 2);
        let scores = layer.linear.forward(x.clone());
        pooled_column(try_dmon_pool(x, adjacency, scores, mask).unwrap())
    });
}

#[test]
fn memory() {
    for (id, tau) in [("memory_pool/plain", 1.0), ("memory_pool/tau", 2.5)] {
        check(id, MemoryPoolConfig::new(3, 2, 2, 2).with_tau(tau).init(&device()), |layer, inputs| {
            let batch = DenseBatch::new(inputs.x(), &graphs());
            let (pooled, shares) = layer.forward(batch.x, Some(batch.mask));
            column(vec![flat(pooled), memory_loss(shares)])
        });
    }
}

#[test]
fn sorted_and_in_trees() {
    for (id, aggregation) in
        [("sort/2", Aggregation::Sort(2)), ("sort/7", Aggregation::Sort(7)), ("tree", Aggregation::Tree)]
    {
        check(id, aggregation.init(2, &device()), |aggregator, inputs| {
            let edges = Edges::new(inputs.graph(), Tensor::zeros([6, 1], (&device(), DType::F64)));
            edges.aggregate(inputs.tensor("messages"), aggregator)
        });
    }
    let device = Device::flex();
    for (aggregation, width) in [(Aggregation::Sort(3), 6), (Aggregation::Sort(0), 0), (Aggregation::Tree, 2)] {
        for (rows, cols) in [(3, 3), (0, 2)] {
            let none = CsrTensor::<2>::zeros([rows, cols], &device);
            let edges = Edges::bipartite(&none, Tensor::zeros([cols, 2], &device), Tensor::zeros([rows, 2], &device));
            let out = edges.aggregate(Tensor::zeros([0, 2], &device), aggregation.init(2, &device));
            assert_eq!(out.dims(), [rows, width], "{aggregation:?}");
        }
    }
}

#[test]
fn perceptrons_of_other_orders() {
    let config = || MlpConfig::new(vec![3, 4, 2]);
    for (id, config) in [
        ("mlp/act_first", config().with_act_first(true)),
        ("mlp/active", config().with_plain_last(false)),
        ("mlp/bare", config().with_plain_last(false).with_batch_norm(false).with_bias(false)),
    ] {
        check(id, config.init(&device()), |layer, inputs| layer.forward(inputs.x()));
    }
}

#[derive(Module, Debug)]
struct UNet {
    down: Vec<GcnConv>,
    pools: Vec<TopKPool>,
    up: Vec<GcnConv>,
}

/// The recipe of the gallery.
fn u_net(UNet { down, pools, up }: &UNet, a: &CsrTensor<2>, x: Tensor<2>, graphs: &IndexPlan) -> Tensor<2> {
    let (mut x, mut a, mut graphs, mut levels) = (relu(down[0].forward(a, x)), a.clone(), graphs.clone(), vec![]);
    for (pool, layer) in pools.iter().zip(&down[1..]) {
        let loops = a.add_self_loops(1.0);
        let half = pool.forward(&loops.matmul(&loops).remove_self_loops(), x.clone(), &graphs);
        levels.push((a, x, half.nodes));
        x = relu(layer.forward(&half.adjacency, half.x));
        (a, graphs) = (half.adjacency, half.graphs);
    }
    for (at, layer) in up.iter().enumerate() {
        let (a, skip, nodes) = levels.pop().expect("a level for each layer");
        let back = IndexPlan::new(nodes, a.dims()[0]).expect("nodes of the graph");
        x = layer.forward(&a, back.put(skip, 0, x, Reduce::Add, true));
        x = if at + 1 < up.len() { relu(x) } else { x };
    }
    x
}

#[test]
fn u_nets() {
    let layer = |d_input, d_output| {
        GcnConvConfig::new(d_input, d_output).with_normalize(true).with_improved(true).init(&device())
    };
    let net = UNet {
        down: vec![layer(3, 4), layer(4, 4), layer(4, 4)],
        pools: [(); 2].map(|()| TopKPoolConfig::new(4).init(&device())).to_vec(),
        up: vec![layer(4, 4), layer(4, 2)],
    };
    check("u_net", net, |net, inputs| u_net(net, inputs.graph(), inputs.x(), &graphs()));
}

fn list<const D: usize>(x: Tensor<D>) -> Vec<f32> {
    x.into_data().convert::<f32>().iter().collect()
}

/// Ids that do not ascend, a graph without nodes, places of one's own, features of edges.
#[test]
fn dense_batches_of_any_graphs() {
    let device = Device::flex();
    let graphs = plan(&[2, 0, 2], 3);
    let x = Tensor::<2>::from_floats([[1.0], [2.0], [3.0]], &device);
    let batch = DenseBatch::with_places(x.clone(), &graphs, 3);
    assert_eq!(list(batch.x.clone()), [2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 3.0, 0.0]);
    let mask = list(batch.mask.clone().float());
    assert_eq!(mask, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0]);
    assert_eq!(list(batch.rows(batch.x.clone())), [1.0, 2.0, 3.0]);

    let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[0.0, 0.0, 5.0], [0.0, 7.0, 0.0], [0.0; 3]], &device));
    let small = DenseBatch::new(x.clone(), &graphs);
    assert_eq!(list(small.adjacency(&a)), [7.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 5.0, 0.0, 0.0]);
    let features = small.edges(&a, Tensor::from_floats([[1.0, 2.0], [3.0, 4.0]], &device));
    assert_eq!(features.dims(), [3, 2, 2, 2]);
    assert_eq!(list(features.narrow(0, 2, 1)), [0.0, 0.0, 1.0, 2.0, 0.0, 0.0, 0.0, 0.0]);

    for (nodes, count) in [(0, 0), (0, 2)] {
        let none = DenseBatch::new(Tensor::zeros([nodes, 4], &device), &plan(&[], count));
        assert_eq!(none.x.dims(), [count, 1, 4]);
        assert_eq!(none.adjacency(&CsrTensor::zeros([0, 0], &device)).dims(), [count, 1, 1]);
        assert_eq!(none.rows(none.x.clone()).dims(), [0, 4]);
    }

    assert_eq!(kind(DenseBatch::try_new(x.clone(), &plan(&[0], 1))), "shape_mismatch");
    assert_eq!(kind(DenseBatch::try_with_places(x.clone(), &graphs, 1)), "invalid");
    assert_eq!(kind(DenseBatch::try_with_places(Tensor::zeros([0, 1], &device), &plan(&[], 1), 0)), "invalid");
    assert_eq!(kind(DenseBatch::try_with_places(x.clone(), &graphs, usize::MAX / 2)), "overflow");
    assert_eq!(kind(small.try_rows(Tensor::zeros([3, 3, 1], &device))), "shape_mismatch");
    assert_eq!(kind(small.try_adjacency(&CsrTensor::zeros([2, 3], &device))), "shape_mismatch");
    assert_eq!(kind(small.try_edges(&a, Tensor::zeros([3, 1], &device))), "length_mismatch");
    let across = CsrTensor::<2>::from_dense(Tensor::from_floats([[0.0, 1.0, 0.0], [0.0; 3], [0.0; 3]], &device));
    assert_eq!(kind(small.try_adjacency(&across)), "invalid");
    let double = Tensor::<2>::zeros([2, 1], (&device, DType::F64));
    assert_eq!(kind(small.try_edges(&a, double)), "dtype_mismatch");
}

/// No edges, no nodes: PyTorch Geometric gives NaN there.
#[test]
fn dense_pools_of_graphs_without_edges_and_nodes() {
    for dtype in [DType::F32, DType::F16] {
        let device = Device::flex().autodiff();
        let of = |x: Tensor<3>| x.cast(dtype).require_grad();
        let x = of(Tensor::from_floats([[[1.0], [2.0]], [[3.0], [0.0]], [[0.0], [0.0]]], &device));
        let adjacency = of(Tensor::zeros([3, 2, 2], &device));
        let scores =
            of(Tensor::from_floats([[[0.5, 0.0], [0.0, 1.0]], [[0.3, 0.4], [0.0, 0.0]], [[0.0; 2]; 2]], &device));
        let mask = Tensor::<2, Bool>::from_data([[true, true], [true, false], [false, false]], &Device::flex());
        let inputs = || (x.clone(), adjacency.clone(), scores.clone(), Some(mask.clone()));
        let finite = |x: Tensor<3>, coarse: Tensor<3>, losses: Vec<Tensor<1>>| {
            let total =
                losses.into_iter().fold(x.clone().sum() + coarse.clone().sum(), |sum, loss| sum + loss.cast(dtype));
            let grads = total.clone().backward();
            let grads = [&x_of(&inputs().0, &grads), &x_of(&inputs().2, &grads)].map(|grad| list(grad.clone()));
            let all = [list(total), grads.concat()].concat();
            assert!(all.iter().all(|x| x.is_finite()), "{dtype:?}: {all:?}");
        };
        let (x, adjacency, scores, mask) = inputs();
        let pooled = try_diff_pool(x, adjacency, scores, mask).unwrap();
        finite(pooled.x, pooled.adjacency, pooled.losses.to_vec());
        let (x, adjacency, scores, mask) = inputs();
        let pooled = try_mincut_pool(x, adjacency, scores, mask).unwrap();
        assert_eq!(list(pooled.losses[0].clone()), [0.0]);
        finite(pooled.x, pooled.adjacency, pooled.losses.to_vec());
        let (x, adjacency, scores, mask) = inputs();
        let pooled = try_dmon_pool(x, adjacency, scores, mask).unwrap();
        assert_eq!(list(pooled.losses[0].clone()), [0.0]);
        finite(pooled.x, pooled.adjacency, pooled.losses.to_vec());
    }
}

fn x_of(leaf: &Tensor<3>, grads: &burn::tensor::Gradients) -> Tensor<3> {
    leaf.grad(grads).expect("a gradient")
}

#[test]
fn pools_name_what_does_not_fit() {
    let device = Device::flex();
    let ones = |shape: [usize; 3]| Tensor::<3>::ones(shape, &device);
    let mask = |shape: [usize; 2]| {
        Some(Tensor::<2, Bool>::from_data([[true; 2]; 2], &device).slice([0..shape[0], 0..shape[1]]))
    };
    let pool = |x, adjacency, scores, mask| kind(try_diff_pool(ones(x), ones(adjacency), ones(scores), mask));
    assert_eq!(pool([2, 2, 3], [2, 2, 2], [2, 2, 2], mask([2, 2])), "ok");
    assert_eq!(pool([0, 2, 3], [0, 2, 2], [0, 2, 2], None), "empty_input");
    assert_eq!(pool([2, 2, 3], [2, 2, 2], [2, 2, 0], None), "empty_input");
    assert_eq!(pool([2, 2, 3], [2, 3, 2], [2, 2, 2], None), "shape_mismatch");
    assert_eq!(pool([2, 2, 3], [2, 2, 2], [2, 1, 2], None), "shape_mismatch");
    assert_eq!(pool([2, 2, 3], [2, 2, 2], [2, 2, 2], mask([2, 1])), "shape_mismatch");
    let double = Tensor::<3>::ones([2, 2, 2], (&device, DType::F64));
    assert_eq!(kind(try_mincut_pool(double.clone(), ones([2, 2, 2]), ones([2, 2, 2]), None)), "dtype_mismatch");
    assert_eq!(kind(try_dmon_pool(ones([2, 2, 2]), ones([2, 2, 2]), double.clone(), None)), "dtype_mismatch");

    assert_eq!(kind(MemoryPoolConfig::new(2, 2, 0, 2).try_init(&device)), "invalid");
    assert_eq!(kind(MemoryPoolConfig::new(2, 2, 1, 2).with_tau(f64::NAN).try_init(&device)), "invalid");
    let layer = MemoryPoolConfig::new(2, 3, 1, 2).init(&device);
    assert_eq!(kind(layer.try_forward(ones([2, 2, 3]), None)), "shape_mismatch");
    assert_eq!(kind(layer.try_forward(ones([2, 0, 2]), None)), "empty_input");
    assert_eq!(kind(layer.try_forward(ones([2, 2, 2]), mask([1, 2]))), "shape_mismatch");
    assert_eq!(kind(layer.try_forward(double, None)), "dtype_mismatch");
    let (x, shares) = layer.forward(ones([1, 2, 2]), mask([1, 2]).map(|mask| mask.bool_not()));
    assert_eq!((list(x), list(memory_loss(shares))), (vec![0.0; 6], vec![0.0]));

    let pool = TopKPoolConfig::new(1).init(&device);
    let a = CsrTensor::<2>::zeros([2, 2], &device);
    let graphs = plan(&[0, 0], 1);
    let wide = Tensor::<2>::ones([2, 3], &device);
    assert_eq!(kind(pool.try_forward_by(&a, wide.clone(), wide.clone(), &graphs)), "shape_mismatch");
    let few = Tensor::<2>::ones([1, 3], &device);
    assert_eq!(kind(pool.try_forward_by(&a, few, wide.narrow(1, 0, 1), &graphs)), "shape_mismatch");
}
