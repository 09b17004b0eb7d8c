//! Devices of another machine, by Burn Remote (the feature `remote`).
//!
//! A server gives its devices to clients. A client makes a [`Device`] of one by [`connect`] and then works with it as
//! with its own: values, indices and kernels are on the server, also those of gradients. The tape is the client's.
//!
//! Each kernel is one custom operation: the client sends the numbers of its tensors and the plain arguments, and the
//! server runs the kernel of its own backend. So the results have the bits of that backend. Only what an operation
//! reads on a GPU ("What stays on the device" in the book) crosses the network, as a few numbers.
//!
//! ```
//! # #[cfg(feature = "remote")] {
//! use burn::tensor::{Device, Tensor};
//! use sparse_tensor::prelude::*;
//! use sparse_tensor::remote;
//! use std::net::TcpListener;
//!
//! // The server, here a thread. A program of its own calls `remote::serve`.
//! let listener = TcpListener::bind("127.0.0.1:0").unwrap();
//! let url = format!("ws://{}", listener.local_addr().unwrap());
//! std::thread::spawn(move || remote::ServerConfig::new().serve_on(Device::flex(), listener));
//!
//! // The client.
//! let device = remote::connect(&url).unwrap().autodiff();
//! let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[2.0, 0.0], [0.0, 3.0]], &device)).require_grad();
//! let loss = a.matmul(Tensor::<2>::ones([2, 4], &device)).sum();
//! assert_eq!(loss.clone().into_scalar::<f32>(), 20.0);
//! assert_eq!(a.grad(&loss.backward()).unwrap().values::<1>().into_data().iter::<f32>().sum::<f32>(), 8.0);
//! # }
//! ```
//!
//! # What can go wrong
//!
//! - The server is not there, or has no sparse kernels, or those of another build: an error of [`connect`].
//! - A peer takes the connection and then is silent: an error after the timeout. Burn waits on, so this URL cannot be
//!   used again in this process.
//! - The server stops, or an operation panics there: Burn's protocol has no message for this. Operations go on, and the
//!   next read panics. The device cannot be used again in this process: Burn keeps one session for each device of a
//!   server. Save a module's record as often as you can afford to lose.
//! - Burn 0.22's servers have no cast of integers: `Tensor<D, Int>::cast` to another dtype ends the session. Casts of
//!   sparse tensors and of floats work, and so does `Tensor::float`.
//! - A wrong index, or a product that is too large: the usual error. To name it the arguments are read.
//!
//! # Who may be a client
//!
//! [`serve`] refuses pages of browsers, which could reach a loopback address too, and bounds sessions and memory;
//! [`ServerConfig`] sets these limits, and a token. WebSocket is not encrypted: serve on a loopback address, through a
//! tunnel or on a network that you trust, or use another transport of Burn with [`server`], which has none of these
//! limits. `docs/safety.md` has the model of threats.
//!
//! This is the crate `sparse-remote`, which `sparse-tensor` has as `remote` with the feature `remote`.
#![cfg_attr(not(feature = "remote"), allow(rustdoc::broken_intra_doc_links))] // The crate is empty then.
#![cfg(feature = "remote")]

mod client;
mod gate;
mod server;

use burn::tensor::Device;
use sparse_core::{Result, SparseError};

pub use client::ClientConfig;
pub use server::ServerConfig;

pub use burn::server::{RemoteServer, WebSocketTransport};
/// The kernels as custom operations of a server whose backend is `B`, for a server of your own: Burn's
/// `RemoteServer::with_custom_ops`, `BackendServer::with_custom_ops`.
///
/// [`server`] has them already.
///
/// ```
/// use burn::{backend::Flex, server::RemoteServer, tensor::Device};
/// let server = RemoteServer::new([Device::flex()]).with_custom_ops(sparse_tensor::remote::registry::<Flex>());
/// # let _ = server;
/// ```
#[doc(inline)]
pub use sparse_burn::remote::registry;

/// A server of `devices`, with the kernels of this library. They are all of one backend: Flex, NdArray or CubeCL.
///
/// Its methods are Burn's: an authorizer, `serve` on a transport until Ctrl+C, `serve_async` until it is dropped.
///
/// # Errors
///
/// When it starts: no device, devices of several backends, or of one that cannot be served.
pub fn server(devices: impl IntoIterator<Item = Device>) -> RemoteServer {
    sparse_burn::remote::server(devices)
}

/// Serves a device on an address such as `127.0.0.1:3000` by WebSocket, until Ctrl+C, with the defaults of
/// [`ServerConfig`].
///
/// # Errors
///
/// [`SparseError::Invalid`] if the address cannot be bound, or the device cannot be served.
///
/// ```
/// let trouble = sparse_tensor::remote::serve(burn::tensor::Device::flex(), "nowhere").unwrap_err();
/// assert!(trouble.to_string().starts_with("serve: the address nowhere must be free and of this machine, got "));
/// ```
pub fn serve(device: Device, address: &str) -> Result<()> {
    ServerConfig::new().serve(device, address)
}

/// The first device of the server at a URL such as `ws://127.0.0.1:3000`, without autodiff. [`ClientConfig`] has a
/// token, and another timeout than 10 s.
///
/// A second call for the same URL gives the same device.
///
/// # Errors
///
/// [`SparseError::Invalid`] if nobody answers there within 10 s, if the server refuses this client, or if it was not
/// built with this release of this library.
pub fn connect(url: &str) -> Result<Device> {
    ClientConfig::new(url).connect()
}

/// Checks that a device that was made by Burn's `Device::remote_options` is one of a server with these kernels.
///
/// The first operation on a device does the same, and panics.
///
/// # Errors
///
/// [`SparseError::Invalid`] if the device is another one, or if its server has other kernels or none.
///
/// ```
/// assert!(sparse_tensor::remote::check(&burn::tensor::Device::flex()).is_err());
/// ```
pub fn check(device: &Device) -> Result<()> {
    sparse_burn::remote::check(device).map_err(|message| SparseError::invalid("check", message))
}
