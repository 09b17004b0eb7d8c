//! The command line.

use crate::numbers::{above_zero, not_negative, probability};
use burn::tensor::{Device, Tensor};
use clap::{Parser, ValueEnum};
use std::path::PathBuf;

/// Trains a two-layer graph convolutional network on a graph, with its adjacency and features as sparse tensors.
///
/// Without --data the graph is Zachary's karate club: 34 members, 78 ties, one labelled member on each side. --data
/// takes the files of a graph as they are downloaded and unpacked; an .npz file is one of Shchur et al. (2018), of
/// which 20 nodes of each class are for training and 30 for validation. The defaults are the set-up of Kipf and Welling
/// (2017). The picture shows the loss, the embedding of the first run and the adjacency. The last line of the output is
/// always `test accuracy: mean M std S over N seeds, E ms/epoch`, an epoch being one step of training and one
/// evaluation.
#[derive(Parser, Debug)]
#[command(name = "gcn")]
pub(crate) struct Args {
    /// Graph: a folder of plain text, Planetoid's raw folder, OGB's folder, or .npz
    #[arg(long, value_name = "PATH")]
    pub(crate) data: Option<PathBuf>,
    /// Where to compute: one of the backends compiled in [default: the first]
    #[arg(long, value_enum)]
    pub(crate) backend: Option<BackendName>,
    /// The server of --backend remote, such as ws://127.0.0.1:3000
    #[cfg(feature = "remote")]
    #[arg(long, value_name = "URL", required_if_eq("backend", "remote"))]
    pub(crate) server: Option<String>,
    /// Number of runs, each from its own seed [default: 20 for the karate club, else 10]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) seeds: Option<u32>,
    /// Steps of training in a run
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub(crate) epochs: u32,
    /// Size of the hidden layer
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub(crate) hidden: u32,
    /// Learning rate of Adam
    #[arg(long, default_value_t = 0.01, value_parser = above_zero)]
    pub(crate) lr: f64,
    /// Dropout of the input features and of the hidden layer
    #[arg(long, default_value_t = 0.5, value_parser = probability)]
    pub(crate) dropout: f64,
    /// L2 penalty of the first layer
    #[arg(long, default_value_t = 5e-4, value_parser = not_negative)]
    pub(crate) weight_decay: f64,
    /// Folder for the picture, gcn.svg and gcn.png
    #[arg(long, value_name = "DIR", default_value = "target/gcn")]
    pub(crate) out: PathBuf,
    /// Print the last line only
    #[arg(long)]
    pub(crate) quiet: bool,
}

/// The backends compiled in.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum BackendName {
    /// Pure Rust on the CPU
    #[cfg(feature = "flex")]
    Flex,
    /// NdArray on the CPU
    #[cfg(feature = "ndarray")]
    Ndarray,
    /// The graphics API of the platform
    #[cfg(feature = "wgpu")]
    Wgpu,
    /// Vulkan, compiled to SPIR-V
    #[cfg(feature = "vulkan")]
    Vulkan,
    /// Apple
    #[cfg(feature = "metal")]
    Metal,
    /// NVIDIA
    #[cfg(feature = "cuda")]
    Cuda,
    /// AMD
    #[cfg(feature = "rocm")]
    Rocm,
    /// A device of the server at --server
    #[cfg(feature = "remote")]
    Remote,
}

impl Args {
    /// The device of the backend asked for, with autodiff.
    pub(crate) fn device(&self) -> Result<Device, String> {
        let first = || BackendName::value_variants().first().copied();
        let backend = self.backend.or_else(first).ok_or("no backend is compiled in: build with --features flex")?;
        #[cfg(feature = "remote")]
        match (backend, &self.server) {
            (BackendName::Remote, Some(url)) => {
                let client = sparse_tensor::remote::ClientConfig::new(url);
                let client = match std::env::var("SPARSE_TOKEN") {
                    Ok(token) => client.with_token(token),
                    Err(_) => client,
                };
                return client.connect().map(Device::autodiff).map_err(|trouble| trouble.to_string());
            }
            (_, Some(url)) => return Err(format!("--server {url}: is for --backend remote")),
            _ => {}
        }
        // Burn panics where there is no such hardware or driver; a command line says so instead.
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let device = std::panic::catch_unwind(|| {
            let device = backend.device();
            let _ = Tensor::<1>::ones([1], &device).into_data();
            device.autodiff()
        });
        std::panic::set_hook(hook);
        device.map_err(|_| format!("--backend {backend:?}: this machine has no usable device for it").to_lowercase())
    }
}

impl BackendName {
    fn device(self) -> Device {
        match self {
            #[cfg(feature = "flex")]
            Self::Flex => Device::flex(),
            #[cfg(feature = "ndarray")]
            #[allow(deprecated)]
            Self::Ndarray => Device::ndarray(),
            #[cfg(feature = "wgpu")]
            Self::Wgpu => Device::wgpu(burn::tensor::DeviceKind::DefaultDevice),
            #[cfg(feature = "vulkan")]
            Self::Vulkan => Device::vulkan(Default::default()),
            #[cfg(feature = "metal")]
            Self::Metal => Device::metal(Default::default()),
            #[cfg(feature = "cuda")]
            Self::Cuda => Device::cuda(0),
            #[cfg(feature = "rocm")]
            Self::Rocm => Device::rocm(0),
            #[cfg(feature = "remote")]
            Self::Remote => unreachable!("a remote device is connected by its URL"),
        }
    }
}
