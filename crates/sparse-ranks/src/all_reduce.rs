//! The weighted mean of gradients.

use super::collective::Collective;
use super::describe::Description;
use super::handshake::{Agreed, Handshake, shake};
use super::mean::{mean_of_parts, width};
use burn::module::{Module, ModuleVisitor, Param, ParamId};
use burn::optim::GradientsParams;
use burn::tensor::{DType, Device, Tensor, TensorData};
use sparse_ops::extend::{Exact, read_data};
use sparse_ops::{Result, SparseError, dtype_name};
use std::collections::{HashMap, HashSet};

/// Elements of small parameters that travel together.
const BUCKET: usize = 1 << 20;

/// The weighted mean of the gradients of all ranks: `(sum_r weight_r grads_r) / (sum_r weight_r)`, with the same bits
/// on every rank. All ranks call it, each with its own gradients and weight.
///
/// The weight is what the loss of the rank is a mean over, such as its number of items; 0 for a rank that has none,
/// whose gradients are then not read. If the loss is a sum over items, all ranks give 1, and the result times
/// [`size`](Collective::size) is the sum. [`parallel`](super) has the formula.
///
/// Gradients go by the order of parameters in the module, not by their ids. They are those of dense parameters and of
/// the values of [`SparseParam`](sparse_ops::module::SparseParam)s. Dtypes: floats of 16, 32 and 64 bits. The result is
/// on the devices of the parameters.
///
/// Cost: reads the gradients and the patterns of sparse parameters from the device; three messages to each rank, and
/// two more for each million elements. Memory: twice the result, and up to 40 MiB.
///
/// # Errors
///
/// `invalid`, on all ranks, if names, shapes or dtypes of parameters or sparse patterns differ between ranks, if a
/// gradient does not fit its parameter, if a weight is negative or not finite, if the weights are all 0, or if ranks
/// call different functions; `invalid` if a rank stops.
pub fn all_reduce<C: Collective + ?Sized, M: Module>(
    ranks: &mut C,
    grads: GradientsParams,
    module: &M,
    weight: f64,
) -> Result<GradientsParams> {
    const OP: &str = "all_reduce";
    let flat = Flat::of(grads, module);
    let flags = flat.items.iter().map(|item| item.grad.is_some()).collect();
    let description = Description::of(module);
    let Agreed { weights, flags } =
        shake(ranks, Handshake { op: OP, description, weight, flags, trouble: flat.trouble })?;
    let mut means = HashMap::new();
    let mut bucket: Vec<Item> = vec![];
    let mut elements = 0;
    for item in flat.items.into_iter().zip(flags).filter_map(|(item, touched)| touched.then_some(item)) {
        // Not by device: that may be another one on another rank.
        let fits = bucket.first().is_none_or(|first| first.dtype == item.dtype);
        if !fits || elements + item.length > BUCKET {
            reduce(ranks, std::mem::take(&mut bucket), &weights, &mut means)?;
            elements = 0;
        }
        elements += item.length;
        bucket.push(item);
    }
    reduce(ranks, bucket, &weights, &mut means)?;
    Ok(unflat(means, module))
}

/// The weighted mean of gradients of one module in one process: `(sum_k weight_k grads_k) / (sum_k weight_k)`, with the
/// bits that [`all_reduce`] gives if rank `k` has part `k`. So it accumulates gradients over parts of unequal size, and
/// tells what several ranks compute. Memory: the parts, and one parameter.
///
/// ```
/// use burn::nn::LinearConfig;
/// use burn::optim::GradientsParams;
/// use burn::prelude::*;
/// use sparse_tensor::parallel::weighted_mean;
///
/// let device = Device::flex().autodiff();
/// let model = LinearConfig::new(1, 1).with_bias(false).init(&device);
/// let mean_loss = |x: &[f32]| {
///     let x = Tensor::<1>::from_floats(x, &device).unsqueeze_dim::<2>(1);
///     let loss = model.forward(x).mean();
///     GradientsParams::from_grads(loss.backward(), &model)
/// };
/// let parts = vec![(mean_loss(&[1.0]), 1.0), (mean_loss(&[2.0, 4.0, 9.0]), 3.0)];
/// let grads = weighted_mean(parts, &model).unwrap();
/// assert_eq!(grads.get::<2>(model.weight.id).unwrap().into_scalar::<f32>(), 4.0);
/// ```
///
/// # Errors
///
/// `invalid` if a gradient does not fit its parameter, a weight is negative or not finite, or the weights are all 0;
/// `unsupported_dtype`.
pub fn weighted_mean<M: Module>(parts: Vec<(GradientsParams, f64)>, module: &M) -> Result<GradientsParams> {
    const OP: &str = "weighted_mean";
    let (parts, weights): (Vec<_>, Vec<f64>) = parts.into_iter().unzip();
    let total: f64 = weights.iter().sum();
    if !(weights.iter().all(|weight| *weight >= 0.0) && total > 0.0 && total.is_finite()) {
        let rule = "weights must be finite and not below 0, and their sum above 0";
        return Err(SparseError::invalid(OP, format!("{rule}, got {weights:?}")));
    }
    let mut parts: Vec<Flat> = parts.into_iter().map(|grads| Flat::of(grads, module)).collect();
    if let Some((at, trouble)) = parts.iter().enumerate().find_map(|(at, part)| Some((at, part.trouble.as_ref()?))) {
        return Err(SparseError::invalid(OP, format!("in part {at}: {trouble}")));
    }
    let mut means = HashMap::new();
    for at in 0..parts[0].items.len() {
        let counted = |part: &Flat, weight: f64| weight != 0.0 && part.items[at].grad.is_some();
        if !parts.iter().zip(&weights).any(|(part, &weight)| counted(part, weight)) {
            continue;
        }
        let Item { id, length, dtype, ref device, .. } = parts[0].items[at];
        let (device, width) = (device.clone(), width(OP, dtype)?);
        let grads: Vec<Option<TensorData>> = (parts.iter_mut().zip(&weights))
            .map(|(part, &weight)| part.items[at].grad.take().filter(|_| weight != 0.0).map(read_data))
            .collect();
        let zeros = vec![0; length * width];
        let bytes: Vec<&[u8]> =
            grads.iter().map(|grad| grad.as_ref().map_or(&zeros[..], |grad| grad.as_bytes())).collect();
        let mean = mean_of_parts(OP, dtype, length, &bytes, &weights)?;
        let mean = TensorData::from_bytes_vec(mean, [length], dtype);
        means.insert(id, Tensor::from_data(mean, (&device, dtype)));
    }
    Ok(unflat(means, module))
}

/// A parameter and its gradient.
struct Item {
    id: ParamId,
    length: usize,
    dtype: DType,
    device: Device,
    grad: Option<Tensor<1>>,
}

/// The parameters of a module in its order, each once.
struct Flat {
    grads: GradientsParams,
    items: Vec<Item>,
    seen: HashSet<ParamId>,
    /// The first thing that is wrong with the gradients.
    trouble: Option<String>,
}

impl Flat {
    fn of<M: Module>(grads: GradientsParams, module: &M) -> Self {
        let mut flat = Self { grads, items: vec![], seen: HashSet::new(), trouble: None };
        module.visit(&mut flat);
        flat
    }
}

impl ModuleVisitor for Flat {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if !self.seen.insert(param.id) {
            return;
        }
        let (shape, dtype, device) = (param.lazy_shape(), param.dtype(), param.lazy_device().inner());
        let length = shape.num_elements();
        let grad = self.grads.remove::<D>(param.id).map(Tensor::inner);
        if let Some(grad) = &grad {
            let (of_grad, of_param) = ((grad.shape(), grad.dtype()), (shape, dtype));
            if of_grad != of_param || width("", dtype).is_err() {
                let [got, want] = [of_grad, of_param]
                    .map(|(shape, dtype)| format!("{:?} of {}", shape.as_slice(), dtype_name(dtype)));
                let rule = "a gradient must have the shape of its parameter, and its dtype, a float";
                self.trouble.get_or_insert(format!("{rule}, got {got} and {want}"));
            }
        }
        // What does not fit is reported and goes no further.
        let grad = grad.filter(|grad| grad.shape().num_elements() == length).map(|grad| grad.reshape(Exact([length])));
        self.items.push(Item { id: param.id, length, dtype, device, grad });
    }
}

/// The means of some parameters of one dtype.
fn reduce<C: Collective + ?Sized>(
    ranks: &mut C,
    bucket: Vec<Item>,
    weights: &[f64],
    means: &mut HashMap<ParamId, Tensor<1>>,
) -> Result<()> {
    let empty = |item: &Item| Tensor::zeros([item.length], (&item.device, item.dtype));
    let (full, none): (Vec<Item>, Vec<Item>) = bucket.into_iter().partition(|item| item.length > 0);
    means.extend(none.iter().map(|item| (item.id, empty(item))));
    if full.is_empty() {
        return Ok(());
    }
    let places: Vec<(ParamId, usize, Device)> =
        full.iter().map(|item| (item.id, item.length, item.device.clone())).collect();
    let values = full.into_iter().map(|mut item| item.grad.take().unwrap_or_else(|| empty(&item)));
    let mut values: Vec<Tensor<1>> = values.map(|values| values.to_device(&places[0].2)).collect();
    let values = if values.len() == 1 { values.remove(0) } else { Tensor::cat(values, 0) };
    let mean = ranks.mean(values, weights)?;
    let mut start = 0;
    for (id, length, device) in places {
        means.insert(id, mean.clone().narrow(0, start, length).to_device(&device));
        start += length;
    }
    Ok(())
}

/// The gradients in the shapes of their parameters.
fn unflat<M: Module>(means: HashMap<ParamId, Tensor<1>>, module: &M) -> GradientsParams {
    struct Shaped {
        means: HashMap<ParamId, Tensor<1>>,
        grads: GradientsParams,
    }
    impl ModuleVisitor for Shaped {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            if let Some(mean) = self.means.remove(&param.id) {
                self.grads.register(param.id, mean.reshape(Exact(param.lazy_shape().dims::<D>())));
            }
        }
    }
    let mut shaped = Shaped { means, grads: GradientsParams::new() };
    module.visit(&mut shaped);
    shaped.grads
}
