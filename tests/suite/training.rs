//! The gradient through the sparse product is what trains.

use burn::module::Module;
use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::activation::{log_softmax, relu};
use burn::tensor::{Device, Tensor};
use sparse_tensor::CsrTensor;
use sparse_tensor::data::{Graph, stochastic_block_model};
use sparse_tensor::nn::{GcnConv, GcnConvConfig, symmetric_normalization};

#[derive(Module, Debug)]
struct Net {
    first: GcnConv,
    second: GcnConv,
}

fn problem(device: &Device) -> (Graph, CsrTensor<2>) {
    let graph = stochastic_block_model(&[40, 40, 40], 0.3, 0.02, 5, device).unwrap();
    let adjacency = symmetric_normalization(&graph.adjacency, true);
    (graph, adjacency)
}

fn cross_entropy(logits: Tensor<2>, graph: &Graph) -> Tensor<1> {
    log_softmax(logits, 1).gather(1, graph.labels.tensor().unsqueeze_dim(1)).mean().neg()
}

/// First and last loss of 40 steps. Every sparse product goes through `product`; biases are left out, so that nothing
/// but a product lies between the loss and a weight.
fn train(product: impl Fn(&CsrTensor<2>, Tensor<2>) -> Tensor<2>) -> (f32, f32) {
    let device = Device::flex().autodiff();
    let (graph, adjacency) = problem(&device);
    let config = |d_input, d_output| GcnConvConfig::new(d_input, d_output).with_bias(false);
    let mut net = Net { first: config(120, 8).init(&device), second: config(8, 3).init(&device) };
    let mut optimizer = AdamConfig::new().init();
    let mut losses = Vec::new();
    for _ in 0..40 {
        let hidden = relu(product(&adjacency, product(&graph.features, net.first.weight.val())));
        let loss = cross_entropy(product(&adjacency, hidden.matmul(net.second.weight.val())), &graph);
        losses.push(loss.clone().into_scalar::<f32>());
        if loss.is_tracked() {
            let grads = GradientsParams::from_grads(loss.backward(), &net);
            net = optimizer.step(0.05, net, grads);
        }
    }
    (losses[0], losses[39])
}

#[test]
fn the_loss_falls_by_the_gradient_through_the_sparse_product() {
    let (first, last) = train(|sparse, dense| sparse.matmul(dense));
    assert!(last < 0.5 * first, "from {first} to {last}");
}

#[test]
fn without_that_gradient_the_loss_stays() {
    // The same values forward and a zero gradient backward: only the gradient of the product lowers the loss above.
    let (first, last) = train(|sparse, dense| sparse.matmul(dense.detach()));
    assert_eq!(first, last, "a frozen product must not train");
}

#[test]
fn freezing_the_inner_products_only_spoils_the_first_layer() {
    let device = Device::flex().autodiff();
    let (graph, adjacency) = problem(&device);
    let net = Net { first: GcnConvConfig::new(120, 8).init(&device), second: GcnConvConfig::new(8, 3).init(&device) };
    let gradient = |frozen: bool| {
        let hidden = relu(net.first.forward_sparse(&adjacency, &graph.features));
        let hidden = if frozen { hidden.detach() } else { hidden };
        let grads = cross_entropy(net.second.forward(&adjacency, hidden), &graph).backward();
        (net.first.weight.val().grad(&grads), net.second.weight.val().grad(&grads))
    };
    let (first, second) = gradient(false);
    assert!(first.unwrap().abs().max().into_scalar::<f32>() > 0.0);
    assert!(second.unwrap().abs().max().into_scalar::<f32>() > 0.0);
    let (first, second) = gradient(true);
    assert!(first.is_none() && second.is_some());
}

#[test]
fn edge_weights_train_too() {
    let device = Device::flex().autodiff();
    let (graph, adjacency) = problem(&device);
    let mut weights = adjacency.values::<1>().detach().require_grad();
    // The features are the classes: the edges alone decide how well they are told apart.
    let features = graph.labels.one_hot();
    let mut losses = Vec::new();
    for _ in 0..30 {
        let a = adjacency.with_values(weights.clone());
        let loss = cross_entropy(a.matmul(features.clone()) * 4.0, &graph);
        losses.push(loss.clone().into_scalar::<f32>());
        let grad = weights.grad(&loss.backward()).unwrap();
        weights = Tensor::from_inner(weights.inner() - grad * 5.0).require_grad();
    }
    assert!(losses[29] < 0.9 * losses[0], "{losses:?}");
}
