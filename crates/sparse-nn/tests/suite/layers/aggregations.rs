//! Aggregations: their numbers, segments without rows, and what is refused.

use super::case::{check, device, kind};
use burn::tensor::{DType, Device, Tensor};
use sparse_tensor::CsrTensor;
use sparse_tensor::nn::Aggregation::{
    Add, Lstm, Max, Mean, Median, Min, Mul, PowerMean, Quantile, Set2Set, Several, Softmax, Std, Var,
};
use sparse_tensor::nn::Coefficient::{Fixed, Trained, TrainedEach};
use sparse_tensor::nn::{Aggregation, Edges, SageConvConfig};

#[test]
fn each_has_pytorch_geometrics_numbers() {
    let quantiles = || Several([0.1, 0.5, 0.75, 1.0].map(Quantile).to_vec());
    for (name, aggregation) in [
        ("sum", Add),
        ("mean", Mean),
        ("max", Max),
        ("max_ties", Max),
        ("min", Min),
        ("mul", Mul),
        ("mul_zeros", Mul),
        ("var", Var),
        ("std", Std),
        ("std_constant", Std),
        ("median", Median),
        ("quantile", quantiles()),
        ("quantile_one", Quantile(0.3)),
        ("softmax_one", Softmax(Fixed(1.0))),
        ("softmax_fixed", Softmax(Fixed(0.7))),
        ("softmax", Softmax(Trained(1.0))),
        ("softmax_channels", Softmax(TrainedEach(1.0))),
        ("power_one", PowerMean(Fixed(1.0))),
        ("power_fixed", PowerMean(Fixed(2.0))),
        ("power", PowerMean(Trained(1.0))),
        ("power_channels", PowerMean(TrainedEach(1.0))),
        ("power_clamped", PowerMean(Trained(1.0))),
        ("multi_concat", Several(vec![Mean, Max, Std, Mul])),
        ("set2set", Set2Set(3)),
        ("lstm", Lstm(3)),
    ] {
        check(&format!("aggregation/{name}"), aggregation.init(2, &device()), |aggregator, inputs| {
            let edges = Edges::new(inputs.graph(), Tensor::zeros([6, 1], (&device(), DType::F64)));
            edges.aggregate(inputs.tensor("messages"), aggregator)
        });
    }
}

#[test]
fn segments_may_be_empty_or_none() {
    let device = Device::flex();
    for aggregation in [Add, Mul, Median, Quantile(0.9), Std, Softmax(Fixed(1.0)), Lstm(2), Set2Set(2)] {
        let aggregator = aggregation.init(2, &device);
        for (rows, cols) in [(3, 3), (0, 2)] {
            let none = CsrTensor::<2>::zeros([rows, cols], &device);
            let edges = Edges::bipartite(&none, Tensor::zeros([cols, 2], &device), Tensor::zeros([rows, 2], &device));
            let out = edges.aggregate(Tensor::zeros([0, 2], &device), &aggregator);
            assert_eq!(out.dims(), [rows, aggregation.d_output(2)], "{aggregation:?}");
        }
    }
}

#[test]
fn what_does_not_fit_is_an_error() {
    let device = Device::flex();
    assert_eq!(kind(Quantile(1.5).try_init(2, &device)), "invalid");
    assert_eq!(kind(Several(vec![]).try_init(2, &device)), "invalid");
    assert_eq!(kind(SageConvConfig::new(2, 2).with_aggregation(Quantile(-0.1)).try_init(&device)), "invalid");
    let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[1.0, 1.0], [0.0, 1.0]], &device));
    let edges = Edges::new(&a, Tensor::ones([2, 3], &device));
    let each: Aggregation = Softmax(TrainedEach(1.0));
    assert_eq!(kind(edges.try_aggregate(edges.source(), each.init(2, &device))), "shape_mismatch");
    assert_eq!(kind(edges.try_aggregate(Tensor::ones([2, 3], &device), Add.init(3, &device))), "length_mismatch");
}

/// What is read at segments of 300 rows, in each dtype: in 16 bits counts of that size are not exact. Off the tape it
/// stays there, and on it another checkpointing strategy is no obstacle.
#[test]
fn long_segments_in_every_dtype_and_on_every_tape() {
    let tapes = [Device::flex(), Device::flex().autodiff(), Device::flex().autodiff().gradient_checkpointing()];
    for device in &tapes {
        for dtype in [DType::F16, DType::BF16, DType::F32, DType::F64] {
            let a = CsrTensor::<2>::from_dense(Tensor::ones([1, 300], (&device.clone().inner(), dtype)));
            let x = Tensor::<1>::from_floats([1.0, 3.0], device).repeat(&[150]).reshape([300, 1]).cast(dtype);
            let edges = Edges::bipartite(&a, x.clone(), Tensor::zeros([1, 1], (device, dtype)));
            let all = Several(vec![Median, Quantile(1.0), Quantile(0.25), Var, Std, Mul]).init(1, device);
            let out = edges.aggregate(edges.source().div_scalar(2.0), &all);
            assert_eq!(out.device().is_autodiff(), device.is_autodiff(), "{dtype:?}");
            let out: Vec<f64> = out.cast(DType::F64).into_data().iter().collect();
            assert_eq!(out[..5], [0.5, 1.5, 0.5, 0.25, 0.5], "{dtype:?}");
        }
    }
}

/// In both orders of the products the sum is of the stored elements.
#[test]
fn sums_of_sage_pass_over_a_fill() {
    let device = Device::flex();
    let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[0.0, 2.0], [0.0, 1.0]], &device));
    for [d_input, d_output] in [[5, 2], [2, 5]] {
        let layer = SageConvConfig::new(d_input, d_output).with_aggregation(Aggregation::Add).init(&device);
        let x = Tensor::<2>::ones([2, d_input], &device);
        let own = layer.forward(&a.clone().with_fill(sparse_tensor::Fill::scalar(1.0)), x.clone());
        let error = (own - layer.forward(&a, x)).abs().max().into_scalar::<f32>();
        assert!(error < 1e-6, "{d_input} to {d_output}: {error}");
    }
}

/// GraphSAGE takes each of them, in place of the reductions that a product can do.
#[test]
fn sage_takes_any() {
    let device = Device::flex();
    let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[1.0, 2.0], [0.0, 1.0]], &device));
    let x = Tensor::<2>::from_floats([[1.0, 5.0], [3.0, -1.0]], &device);
    for aggregation in [Several(vec![Median, Max, Lstm(3)]), Var, Set2Set(1)] {
        let layer = SageConvConfig::new(2, 4).with_aggregation(aggregation.clone()).init(&device);
        let weighted = Tensor::from_floats([[1.0, 5.0], [6.0, -2.0], [3.0, -1.0]], &device);
        let rows = Edges::new(&a, x.clone()).aggregate(weighted, &layer.aggregator);
        let expected = layer.neighbours.forward(rows) + layer.root.as_ref().unwrap().forward(x.clone());
        let error = (layer.forward(&a, x.clone()) - expected).abs().max().into_scalar::<f32>();
        assert!(error < 1e-5, "{aggregation:?}: {error}");
    }
}
