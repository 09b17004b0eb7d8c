//! Sparse tensors in Burn modules: as trained parameters, and as constants.
//!
//! | field of a `#[derive(Module)]` struct | optimised | in the record | moved by `to_device`, `fork` |
//! |---|---|---|---|
//! | [`CsrParam<D>`](CsrParam), [`CooParam<D>`](CooParam) | its values | pattern, values and fill | yes |
//! | the same after `no_grad` | no | pattern, values and fill | yes |
//! | [`CsrTensor<D, K>`](crate::CsrTensor), [`CooTensor<D, K>`](crate::CooTensor) | no | no | yes |
//!
//! The last line is what Burn does with a plain `Tensor` field. So an adjacency that is made again from the data is a
//! tensor; a sparse weight is a parameter.
//!
//! # Example
//!
//! A sparse weight is trained for some steps and saved. A fresh model, which had another pattern, gets the saved one.
//!
//! ```
//! use burn::optim::{AdamConfig, GradientsParams};
//! use burn::prelude::*;
//! use sparse_tensor::prelude::*;
//!
//! #[derive(Module, Debug)]
//! struct Net {
//!     weight: CsrParam<2>,    // trained
//!     adjacency: CsrTensor<2>, // a constant
//! }
//!
//! impl Net {
//!     fn new(weight: [[f32; 3]; 2], device: &Device) -> Self {
//!         let weight = CsrTensor::from_dense(Tensor::<2>::from_floats(weight, device));
//!         let adjacency = CsrTensor::from_dense(Tensor::<2>::from_floats([[0.0, 1.0], [1.0, 0.0]], device));
//!         Self { weight: CsrParam::from_tensor(weight), adjacency }
//!     }
//!
//!     fn forward(&self, x: Tensor<2>) -> Tensor<2> {
//!         self.adjacency.matmul(self.weight.val().matmul(x))
//!     }
//! }
//!
//! let device = Device::flex().autodiff();
//! let mut net = Net::new([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]], &device);
//! assert_eq!(net.num_params(), 3);
//! let mut optimizer = AdamConfig::new().with_epsilon(1e-8).init();
//! let x = Tensor::<2>::ones([3, 4], &device);
//! let mut losses = vec![];
//! for _ in 0..5 {
//!     let loss = net.forward(x.clone()).powi_scalar(2).mean();
//!     losses.push(loss.clone().into_scalar::<f32>());
//!     let grads = GradientsParams::from_grads(loss.backward(), &net);
//!     net = optimizer.step(0.1, net, grads);
//! }
//! assert!(losses[4] < losses[0]);
//!
//! let path = std::env::temp_dir().join(format!("sparse-tensor-{}.bpk", std::process::id()));
//! net.clone().save_file(&path).unwrap();
//! let loaded = Net::new([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]], &device).load_file(&path);
//! assert_eq!(loaded.weight.val().to_dense().into_data(), net.weight.val().to_dense().into_data());
//! # std::fs::remove_file(path).unwrap();
//! ```
//!
//! # Records
//!
//! A parameter `weight` has these entries. All but the values are Int, and all have the parameter's id, so a
//! `ParamGroup` of that id holds all of them.
//!
//! | entry | content |
//! |---|---|
//! | `weight.layout` `[7, 2]` | version 1; 0 for COO, 1 for CSR; rank; sparse dims; nnz; kind and number of fills |
//! | `weight.shape` `[rank, 2]` | the dense shape |
//! | `weight.indices` `[sparse dims, nnz]` | the coordinates (COO) |
//! | `weight.row_ptr`, `weight.col_idx` | as [`CsrTensor::new`](crate::CsrTensor::new) takes them (CSR) |
//! | `weight.fill` `[1 or block, 2]` | the bits of a given fill as f64 |
//! | `weight.values` `[nnz, block]` | the values |
//!
//! A number in `layout`, `shape` and `fill` has 64 bits: the lower 32 and the upper 32. Kinds of fill: 0 zero,
//! 1 undefined, 2 one number, 3 a tensor.
//!
//! **Loading takes the pattern and the fill from the record**, together with the values, as PyTorch's
//! `load_state_dict` does for a sparse parameter. The number of elements may be another one. Layout, dense shape and
//! number of sparse dims must be those of the module. The pattern is checked as in a constructor. If anything does not
//! fit, `try_load_record` returns an error, and the parameter takes nothing from the record. Burn's loader words it as
//! `Missing tensors: ["weight.shape [3, 4] (the record has [2, 3])"]`. Sizes that a forged record declares are compared
//! with its arrays before anything is allocated.
//!
//! A pattern that equals the module's own is not replaced, so what was derived from it stays.
//!
//! # Patterns that change in training
//!
//! [`replace_pattern`](SparseParam::replace_pattern) and [`rewire`](SparseParam::rewire) (magnitude pruning, SET, RigL)
//! give the parameter on another pattern, and a [`PatternChange`] that moves the optimiser's state with it.
//! [`PruneSchedule`] and [`RewireSchedule`] say when.

pub(crate) mod constant;
mod layout;
pub(crate) mod param;
pub(crate) mod record;
pub(crate) mod replace;
mod rewire;
mod schedule;

pub use param::{CooParam, CsrParam, SparseParam};
pub use replace::{PatternChange, carry_state};
pub use rewire::Growth;
pub use schedule::{PruneSchedule, RewireSchedule};
