//! Clipping of all gradients of a module together.

use burn::module::{Module, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::Tensor;
use sparse_ops::extend::{Exact, wide};

/// All gradients of a module's parameters times `min(1, max_norm / (norm + 1e-6))`, and their `norm`
/// `sqrt(sum g^2)` `[1]`; `None` if there are none.
///
/// Burn's `GradientClippingConfig::Norm` clips each gradient by its own norm; here one number scales them all. Values
/// of sparse parameters count, with their stored elements. Sums of 16-bit floats are in f32. If the norm is not finite,
/// the gradients become NaN or zero: look at the norm where that may happen. Nothing is read from the device. Cost: two
/// passes over the gradients. (PyTorch's `clip_grad_norm_`.)
///
/// Source: Pascanu, Mikolov and Bengio, *On the difficulty of training recurrent neural networks*, ICML 2013.
///
/// ```
/// use burn::module::{Module, Param};
/// use burn::optim::GradientsParams;
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::nn::clip_grad_norm;
///
/// #[derive(Module, Debug)]
/// struct Model {
///     x: Param<Tensor<1>>,
///     y: Param<Tensor<1>>,
/// }
///
/// let device = Device::flex().autodiff();
/// let [x, y] = [[3.0, 0.0], [0.0, 4.0]].map(|list| Param::from_tensor(Tensor::from_floats(list, &device)));
/// let model = Model { x, y };
/// let loss = (model.x.val().powi_scalar(2) + model.y.val().powi_scalar(2)).sum() / 2.0;
/// let (grads, norm) = clip_grad_norm(&model, GradientsParams::from_grads(loss.backward(), &model), 1.0);
/// assert_eq!(norm.unwrap().into_scalar::<f32>(), 5.0);
/// let y = grads.get::<1>(model.y.id).unwrap().into_data().to_vec::<f32>().unwrap();
/// assert!((y[1] - 0.8).abs() < 1e-6);
/// ```
pub fn clip_grad_norm<M: Module>(
    module: &M,
    grads: GradientsParams,
    max_norm: f64,
) -> (GradientsParams, Option<Tensor<1>>) {
    let mut taken = Taken { grads, squares: None, back: vec![] };
    module.visit(&mut taken);
    let Taken { mut grads, squares, back } = taken;
    let norm = squares.map(Tensor::sqrt);
    if let Some(norm) = &norm {
        let factor = norm.clone().add_scalar(1e-6).recip().mul_scalar(max_norm).clamp_max(1.0);
        back.into_iter().for_each(|scale| scale(&mut grads, &factor));
    }
    (grads, norm)
}

/// Puts a gradient back, times a factor.
type Scale = Box<dyn FnOnce(&mut GradientsParams, &Tensor<1>)>;

/// A parameter that the module has twice is taken once.
struct Taken {
    grads: GradientsParams,
    squares: Option<Tensor<1>>,
    back: Vec<Scale>,
}

impl ModuleVisitor for Taken {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let id = param.id;
        let Some(grad) = self.grads.remove::<D>(id) else { return };
        let list = grad.clone().reshape(Exact([1, grad.shape().num_elements()]));
        let square = wide(list).powi_scalar(2).sum();
        self.squares = Some(match self.squares.take() {
            Some(sum) => {
                let square = square.to_device(&sum.device()).cast(sum.dtype());
                sum + square
            }
            None => square,
        });
        self.back.push(Box::new(move |grads, factor| {
            let factor = factor.clone().to_device(&grad.device()).cast(grad.dtype()).reshape(Exact([1; D]));
            grads.register(id, grad * factor);
        }));
    }
}
