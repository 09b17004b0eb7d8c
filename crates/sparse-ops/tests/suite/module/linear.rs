//! The sparse linear layer, and patterns that change while it trains.

use burn::module::Module;
use burn::nn::{Initializer, LinearConfig};
use burn::optim::{AdamConfig, GradientsParams, ModuleOptimizer};
use burn::tensor::activation::relu;
use burn::tensor::{DType, Device, Distribution, Tensor, TensorData, Tolerance};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use sparse_tensor::module::{CooParam, CsrParam, Growth, PruneSchedule, RewireSchedule};
use sparse_tensor::nn::{SparseLinear, SparseLinearConfig};
use sparse_tensor::pattern::Pattern;
use sparse_tensor::{CooTensor, CsrTensor, Fill, SparseError};

fn list<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().iter().collect()
}

fn close<const D: usize>(a: Tensor<D>, b: Tensor<D>) {
    a.inner().into_data().assert_approx_eq::<f32>(&b.inner().into_data(), Tolerance::default());
}

#[test]
fn the_layer_is_burn_s_linear_with_the_dense_weight() {
    let device = Device::flex().autodiff();
    for bias in [true, false] {
        let layer = SparseLinearConfig::new(7, 5).with_density(0.4).with_bias(bias).init(&device);
        let mut linear = LinearConfig::new(7, 5).with_bias(bias).init(&device);
        let dense = Tensor::<2>::from_inner(layer.weight.val().to_dense().inner());
        linear.weight = linear.weight.map(|_| dense.transpose().detach().require_grad());
        linear.bias = linear.bias.zip(layer.bias.clone()).map(|(own, other)| own.map(|_| other.val().detach()));
        let x = Tensor::<3>::random([2, 3, 7], Distribution::Default, &device);
        let (out, expected) = (layer.forward(x.clone()), linear.forward(x.clone()));
        assert_eq!(out.dims(), [2, 3, 5]);
        close(out.clone(), expected.clone());
        let rows = CsrTensor::from_dense(x.clone().reshape([6, 7]));
        close(layer.forward_sparse(&rows), expected.clone().reshape([6, 5]));
        // Gradients: at the stored positions those of the dense layer.
        let (grads, reference) = (out.powi_scalar(2).sum().backward(), expected.powi_scalar(2).sum().backward());
        let grad = layer.weight.grad(&grads).unwrap();
        let dense = linear.weight.val().grad(&reference).unwrap().transpose();
        close(grad.values::<1>(), sparse_tensor::ops::sparse_mask(dense, &grad).values::<1>());
        assert_eq!(layer.bias.is_some(), bias);
        let vector = Tensor::<1>::ones([7], &device);
        assert_eq!(layer.forward(vector).dims(), [5]);
    }
}

#[test]
fn the_gradients_are_the_central_differences() {
    let device = Device::flex().autodiff();
    let dense = Tensor::<2>::from_data([[1.0f64, 0.0, -2.0], [0.0, 0.5, 0.0]], (&device, DType::F64));
    let pattern = CsrTensor::from_dense(dense.inner()).pattern().clone();
    let own = [vec![1.0, -2.0, 0.5], vec![0.25, -0.5], vec![1.0, 2.0, 3.0, -1.0, 0.5, 0.0]];
    let tensor = |values: &[f64]| Tensor::<1>::from_data(TensorData::from(values), (&device, DType::F64));
    // The layer, its input, and a loss in which every output counts differently.
    let run = |[weight, bias, x]: &[Vec<f64>; 3]| {
        let weight = CsrTensor::<2>::from_pattern(pattern.clone(), tensor(weight)).unwrap();
        let layer = SparseLinear::from_weight(weight, Some(tensor(bias)));
        let x = tensor(x).reshape([2, 3]).require_grad();
        let out = layer.forward(x.clone()).reshape([4]);
        let loss = (out.powi_scalar(3) * tensor(&[1.0, -0.5, 0.25, 2.0])).sum();
        (layer, x, loss)
    };
    let (layer, x, loss) = run(&own);
    let grads = loss.backward();
    let found: [Vec<f64>; 3] = [
        layer.weight.grad(&grads).unwrap().values::<1>().into_data().iter().collect(),
        layer.bias.unwrap().val().grad(&grads).unwrap().into_data().iter().collect(),
        x.grad(&grads).unwrap().into_data().iter().collect(),
    ];
    for input in 0..3 {
        for at in 0..own[input].len() {
            let moved = |by: f64| {
                let mut moved = own.clone();
                moved[input][at] += by;
                run(&moved).2.into_scalar::<f64>()
            };
            let difference = (moved(1e-6) - moved(-1e-6)) / 2e-6;
            let error = (found[input][at] - difference).abs() / difference.abs().max(1.0);
            assert!(error < 1e-6, "{} and {difference} at {at} of {input}", found[input][at]);
        }
    }
}

#[test]
fn the_configuration_is_kept() {
    let device = Device::flex();
    let config = SparseLinearConfig::new(30, 20).with_density(0.25);
    let layer = config.init(&device);
    assert_eq!((layer.weight.nnz(), layer.weight.dims()), (150, [20, 30]));
    assert_eq!(layer.num_params(), 170);
    assert_eq!(list(layer.weight.val().to_dense()).iter().filter(|&&w| w != 0.0).count(), 150);
    // The bound of Kaiming's distribution for a fan-in of 8 (150 weights of 20 outputs, rounded up).
    assert!(list(layer.weight.val().values::<1>()).iter().all(|w| w.abs() <= (1.0f32 / 8.0).sqrt()));
    let again = config.init(&device);
    let same = |a: &SparseLinear, b: &SparseLinear| {
        list(a.weight.val().col_idx().float()) == list(b.weight.val().col_idx().float())
    };
    assert!(same(&layer, &again), "the seed decides the pattern");
    assert!(!same(&layer, &config.with_seed(1).init(&device)));
    let ones = SparseLinearConfig::new(3, 2).with_density(1.0).with_initializer(Initializer::Ones).init(&device);
    assert_eq!(list(ones.forward(Tensor::<2>::ones([1, 3], &device))), [4.0, 4.0]);
    for (d_input, d_output, density) in [(4, 3, 0.0), (0, 3, 0.5), (4, 0, 0.5), (1, 1, 0.1)] {
        let layer = SparseLinearConfig::new(d_input, d_output).with_density(density).with_bias(false).init(&device);
        assert_eq!(layer.weight.nnz(), 0);
        let out = layer.forward(Tensor::<2>::ones([2, d_input], &device));
        assert_eq!(out.dims(), [2, d_output]);
        assert!(list(out).iter().all(|&y| y == 0.0));
    }
    for density in [-0.1, 1.1, f64::NAN] {
        assert_eq!(
            SparseLinearConfig::new(2, 2).with_density(density).try_init(&device).unwrap_err().kind(),
            "invalid"
        );
    }
    let huge = SparseLinearConfig::new(1 << 40, 1 << 40).with_density(0.0);
    assert_eq!(huge.try_init(&device).unwrap_err().kind(), "overflow");
    let layer = SparseLinearConfig::new(4, 3).init(&device);
    assert_eq!(layer.try_forward(Tensor::<2>::ones([2, 3], &device)).unwrap_err().kind(), "shape_mismatch");
    let bias = Some(Tensor::<1>::ones([3], &device));
    assert_eq!(
        SparseLinear::try_from_weight(CsrTensor::zeros([2, 2], &device), bias).unwrap_err().kind(),
        "shape_mismatch"
    );
    assert!(layer.to_string().contains("d_input: 4, d_output: 3, nnz: 1, bias: true"), "{layer}");
}

#[test]
fn a_layer_is_saved_and_loaded_with_its_pattern() {
    let device = Device::flex();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("layer");
    let config = SparseLinearConfig::new(6, 4).with_density(0.5);
    let saved = config.init(&device);
    saved.clone().save_file(&path).unwrap();
    let loaded = config.with_seed(9).with_density(0.25).init(&device).try_load_file(&path).unwrap();
    assert_eq!(list(loaded.weight.val().to_dense()), list(saved.weight.val().to_dense()));
    let x = Tensor::<2>::ones([2, 6], &device);
    assert_eq!(list(loaded.forward(x.clone())), list(saved.forward(x)));
}

#[test]
fn a_probe_has_the_dense_gradient_and_changes_nothing() {
    let device = Device::flex().autodiff();
    let layer = SparseLinearConfig::new(5, 4).with_density(0.3).init(&device);
    let x = Tensor::<2>::random([3, 5], Distribution::Default, &device);
    let probed = layer.clone().with_probe();
    assert_eq!((probed.num_params(), probed.clone().into_record().len()), (layer.num_params(), 6));
    let out = probed.forward(x.clone());
    assert_eq!(list(out.clone()), list(layer.forward(x.clone())));
    let grads = out.clone().powi_scalar(2).sum().backward();
    // d loss / d W = (2 y)^T x
    let expected = out.inner().mul_scalar(2.0).transpose().matmul(x.inner());
    close(probed.probe_gradient(&grads).unwrap(), expected);
    assert!(probed.without_probe().probe_gradient(&grads).is_none());
    assert_eq!(layer.clone().valid().try_with_probe().unwrap_err().kind(), "invalid");
    let wide = CsrTensor::<2>::zeros([1 << 20, 1 << 20], &device);
    assert_eq!(SparseLinear::from_weight(wide, None).try_with_probe().unwrap_err().kind(), "would_densify");
}

/// `[[3, 0.1, 0, -0.1], [0, -4, 2, 0]]`.
fn weight(device: &Device) -> CsrTensor<2> {
    CsrTensor::from_dense(Tensor::from_floats([[3.0, 0.1, 0.0, -0.1], [0.0, -4.0, 2.0, 0.0]], device))
}

#[test]
fn the_smallest_are_dropped_and_others_grow() {
    let device = Device::flex().autodiff();
    let own = || CsrParam::from_tensor(weight(&device));
    let positions = |param: &CsrParam<2>| -> Vec<i64> {
        let at: Vec<i64> = param.pattern().coordinates().clone().into_data().iter().collect();
        let (rows, cols) = at.split_at(param.nnz());
        rows.iter().zip(cols).map(|(row, col)| row * 4 + col).collect()
    };
    let (pruned, change) = own().rewire(2, 5, Growth::None);
    assert_eq!(positions(&pruned), [0, 5, 6]);
    assert_eq!(list(pruned.val().values::<1>()), [3.0, -4.0, 2.0]);
    assert_eq!((change.old_nnz(), change.new_nnz()), (5, 3));
    // Of equal values the last is dropped.
    assert_eq!(positions(&own().rewire(1, 0, Growth::None).0), [0, 1, 5, 6]);
    // A dropped position that grows again starts at zero, and without its moments.
    let gradient = Tensor::<2>::from_floats([[9.0, 8.0, 1.0, 0.5], [2.0, 9.0, 9.0, -5.0]], &device);
    let (regrown, change) = own().rewire(2, 2, Growth::Gradient(gradient.clone()));
    assert_eq!(positions(&regrown), [0, 1, 5, 6, 7]);
    assert_eq!(list(regrown.val().values::<1>()), [3.0, 0.0, -4.0, 2.0, 0.0]);
    assert_eq!(change.index_map().into_data().iter::<i64>().collect::<Vec<_>>(), [0, 5, 3, 4, 5]);
    assert!(regrown.val().is_tracked() && regrown.pattern().is_coalesced());
    // More than there is room for.
    let (full, _) = own().rewire(0, 100, Growth::Gradient(gradient));
    assert_eq!(full.nnz(), 8);
    // At random: none twice, and the seed decides.
    for seed in 0..20 {
        let growth = Growth::Random { seed, deviation: 0.5 };
        let (grown, change) = own().rewire(2, 3, growth.clone());
        assert_eq!(grown.nnz(), 6);
        assert!(positions(&grown).is_sorted_by(|a, b| a < b));
        assert_eq!(positions(&grown), positions(&own().rewire(2, 3, growth).0));
        let new = change.is_new().into_data().iter::<bool>().collect::<Vec<_>>();
        let values = list(grown.val().values::<1>());
        assert_eq!(new.iter().filter(|&&new| new).count(), 3);
        for (value, new) in values.into_iter().zip(new) {
            assert!(new != [3.0, -4.0, 2.0].contains(&value) && value != 0.0, "{value}");
        }
    }
    let none = CsrParam::from_tensor(CsrTensor::<2>::zeros([2, 4], &device));
    let (some, _) = none.rewire(0, 2, Growth::Random { seed: 3, deviation: 0.0 });
    assert_eq!(list(some.val().values::<1>()), [0.0, 0.0]);
    assert_eq!(some.rewire(2, 0, Growth::None).0.nnz(), 0);
    let coo = CooParam::from_tensor(weight(&device).to_coo());
    assert_eq!(coo.rewire(2, 0, Growth::None).0.nnz(), 3);
}

#[test]
fn wrong_arguments_are_errors() {
    let device = Device::flex();
    let own = || CsrParam::from_tensor(weight(&device));
    fn kind<T>(result: Result<T, SparseError>) -> &'static str {
        result.err().expect("an error").kind()
    }
    assert_eq!(kind(own().try_rewire(6, 0, Growth::None)), "invalid");
    let narrow = Tensor::<2>::ones([2, 3], &device);
    assert_eq!(kind(own().try_rewire(1, 1, Growth::Gradient(narrow))), "shape_mismatch");
    for deviation in [-1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(kind(own().try_rewire(1, 1, Growth::Random { seed: 0, deviation })), "invalid");
    }
    let filled = CsrParam::from_tensor(weight(&device).with_fill(Fill::scalar(1.0)));
    assert_eq!(kind(filled.try_rewire(1, 1, Growth::None)), "fill_mismatch");
    let hybrid = CooParam::from_tensor(CooTensor::<2>::from_dense(Tensor::ones([2, 3], &device), 1));
    assert_eq!(kind(hybrid.try_rewire(1, 1, Growth::None)), "shape_mismatch");
    let huge = CsrParam::from_tensor(CsrTensor::<2>::zeros([1 << 10, 1 << 60], &device));
    assert_eq!(kind(huge.try_rewire(0, 1, Growth::None)), "overflow");
}

#[test]
fn schedules_end_where_they_should() {
    let rewire = RewireSchedule::new(10, 100).with_fraction(0.5);
    let counts: Vec<usize> = (0..=120).filter_map(|step| rewire.count(step, 1000)).collect();
    assert_eq!(counts.len(), 9);
    assert!(counts.is_sorted_by(|a, b| a > b) && counts[4] == 250, "{counts:?}");
    assert_eq!(RewireSchedule::new(10, 100).with_cosine(false).count(90, 1000), Some(300));
    assert_eq!(rewire.count(10, 0), None);
    let prune = PruneSchedule::new(7, 20, 60, 0.1);
    let mut nnz = 400;
    for step in 0..100 {
        if let Some(count) = prune.count(step, nnz, 400) {
            assert!((20..=60).contains(&step));
            nnz -= count;
        }
    }
    assert_eq!(nnz, 40, "the last step drops the rest");
    assert_eq!(PruneSchedule::new(1, 5, 5, 0.5).count(5, 100, 100), None, "starts at density 1");
    assert_eq!(prune.density(0), 1.0);
}

#[derive(Module, Debug)]
struct Mlp {
    first: SparseLinear,
    second: SparseLinear,
}

impl Mlp {
    fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        self.second.forward(relu(self.first.forward(x)))
    }
}

/// Numbers that do not depend on the device's generator, which all tests share.
fn draw(count: usize, scale: f64, rng: &mut Xoshiro256PlusPlus) -> TensorData {
    TensorData::new((0..count).map(|_| ((rng.random::<f64>() - 0.5) * scale) as f32).collect::<Vec<_>>(), [count])
}

/// A regression whose target reads 4 of 40 inputs; the loss after some steps, rewired by RigL or not.
fn trained(rigl: bool) -> (f32, Mlp) {
    let device = Device::flex().autodiff();
    let rng = &mut Xoshiro256PlusPlus::seed_from_u64(7);
    let x = Tensor::<1>::from_data(draw(128 * 40, 3.0, rng), &device).reshape([128, 40]);
    let y = x.clone().narrow(1, 0, 4).powi_scalar(2).sum_dim(1);
    let mut layer = |d_input, d_output, density| {
        let start = SparseLinearConfig::new(d_input, d_output).with_density(density).with_seed(5).init(&device);
        let values = Tensor::<1>::from_data(draw(start.weight.nnz(), 0.4, rng), &device);
        SparseLinear::from_weight(start.weight.val().with_values(values), Some(Tensor::zeros([d_output], &device)))
    };
    let mut net = Mlp { first: layer(40, 32, 0.1), second: layer(32, 1, 1.0) };
    let mut optimizer: ModuleOptimizer = AdamConfig::new().init();
    let schedule = RewireSchedule::new(15, 240);
    let mut last = 0.0;
    for step in 1..=300 {
        let count = schedule.count(step, net.first.weight.nnz()).filter(|_| rigl);
        if count.is_some() {
            net.first = net.first.with_probe();
        }
        let loss = (net.forward(x.clone()) - y.clone()).powi_scalar(2).mean();
        last = loss.clone().into_scalar::<f32>();
        let grads = loss.backward();
        let dense = net.first.probe_gradient(&grads);
        net.first = net.first.without_probe();
        let grads = GradientsParams::from_grads(grads, &net);
        net = optimizer.step(0.02, net, grads);
        if let (Some(count), Some(dense)) = (count, dense) {
            let (weight, change) = net.first.weight.rewire(count, count, Growth::Gradient(dense));
            net.first.weight = weight;
            optimizer = change.carry(optimizer).unwrap();
        }
    }
    (last, net)
}

#[test]
fn rewiring_learns_more_with_as_many_weights() {
    let ((fixed, before), (rewired, after)) = (trained(false), trained(true));
    assert!(rewired < 0.3 * fixed, "loss {rewired}, and {fixed} on the fixed pattern");
    assert_eq!((before.first.weight.nnz(), after.first.weight.nnz()), (128, 128));
    let stayed = before.first.weight.val().intersect_with(&after.first.weight.val()).nnz();
    assert!((1..100).contains(&stayed), "{stayed} of 128 positions are as at the start");
}
