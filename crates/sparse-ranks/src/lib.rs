//! One model trained by several processes, or by several threads: each rank computes the gradients of its share of a
//! batch, and all ranks step along the weighted mean.
//!
//! | function | what it does |
//! |---|---|
//! | [`broadcast`] | every rank gets the model of one rank: values, patterns of sparse parameters, ids |
//! | [`all_reduce`] | the weighted mean of the ranks' gradients |
//! | [`all_reduce_rows`] | the same for a [`RowSparseGrad`](sparse_nn::RowSparseGrad): only rows that are read travel |
//! | [`weighted_mean`] | the same mean in one process: gradient accumulation over unequal parts |
//!
//! A graph that is larger than a machine lies in parts, of which each rank owns one (feature `mmap`): `Partition`,
//! `PartSampler`, `PartFeatures`.
//!
//! They are the same on every [`Collective`], which says how bytes go from rank to rank:
//!
//! - [`Threads`]: threads of one process. Always there.
//! - `Mpi`: processes that `mpirun` starts. Needs the feature `mpi` and Open MPI.
//! - Your own: three methods.
//!
//! # The mean
//!
//! `g = (sum_r w_r g_r) / (sum_r w_r)`, summed in f64 in the order of the ranks, and rounded once to the dtype of the
//! gradient. `w_r` is the size of the share of rank `r`, such as its number of items if the loss is a mean over items.
//! Each element is summed on one rank, which sends the result to the others. So all ranks hold the same bits, and they
//! are those of [`weighted_mean`] in one process. A rank that did not touch a parameter counts as zeros; a parameter
//! that no rank touched has no gradient. Gradients of a rank with weight 0 are not read, so the NaN of a mean over an
//! empty share does no harm.
//!
//! # When something is wrong
//!
//! Before numbers are sent, each rank sends all others a handshake: the function, the weight, and a digest of names,
//! shapes, dtypes and sparse patterns of the model. What is wrong on one rank is an error on all of them, before
//! anything has changed. A rank that is silent for longer than the timeout, or gone, is an error on each rank that
//! waits for it. After such an error the collective gives the same error in every call. The process should then end.
//!
//! # Example
//!
//! Two ranks with shares of 1 and 3 items:
//!
//! ```
//! use burn::nn::LinearConfig;
//! use burn::optim::{GradientsParams, SgdConfig};
//! use burn::prelude::*;
//! use sparse_tensor::parallel::{Collective, Threads, all_reduce, broadcast};
//! use std::time::Duration;
//!
//! let ranks = Threads::new(2, Duration::from_secs(10)).unwrap();
//! let train = |mut ranks: Threads| {
//!     let device = Device::flex().autodiff();
//!     // Each rank starts from other numbers. After the broadcast they have those of rank 0.
//!     let mut model = broadcast(&mut ranks, LinearConfig::new(2, 1).init(&device), 0).unwrap();
//!     let items = [1, 3][ranks.rank()];
//!     let x = Tensor::<2>::full([items, 2], ranks.rank() as f64, &device);
//!     let loss = model.forward(x).powi_scalar(2).mean();
//!     let grads = GradientsParams::from_grads(loss.backward(), &model);
//!     let grads = all_reduce(&mut ranks, grads, &model, items as f64).unwrap();
//!     model = SgdConfig::new().init().step(0.1, model, grads);
//!     model.weight.val().into_data()
//! };
//! let weights: Vec<_> = std::thread::scope(|scope| {
//!     let ranks: Vec<_> = ranks.into_iter().map(|rank| scope.spawn(|| train(rank))).collect();
//!     ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
//! });
//! assert_eq!(weights[0], weights[1]);
//! ```
//!
//! This is the crate `sparse-ranks`, which `sparse-tensor` has as `parallel` with the feature `parallel`.

mod all_reduce;
mod broadcast;
mod collective;
mod describe;
mod handshake;
mod mean;
#[cfg(feature = "mpi")]
mod mpi;
mod rows;
mod threads;

pub use all_reduce::{all_reduce, weighted_mean};
pub use broadcast::broadcast;
pub use collective::{Collective, Message};
pub use handshake::agree;
#[cfg(feature = "mpi")]
pub use mpi::Mpi;
pub use rows::all_reduce_rows;
pub use threads::Threads;
