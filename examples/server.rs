//! Gives a device of this machine to other programs.
//!
//! ```text
//! cargo run --release --features remote --example server                              # the CPU, for this machine only
//! cargo run --release --features remote --example server -- --address 0.0.0.0:3000   # for a network that you trust
//! cargo run --release --features remote,cuda --example server -- --backend cuda
//! ```
//!
//! A client of it is the example gcn with `--backend remote --server ws://127.0.0.1:3000`. Ctrl+C stops it.

use burn::tensor::Device;
use clap::{Parser, ValueEnum};
use sparse_tensor::remote::serve;
use std::process::ExitCode;

/// Serves a device by WebSocket, which is not encrypted: on a loopback address, or on a network that you trust.
#[derive(Parser, Debug)]
#[command(name = "server")]
struct Args {
    /// The device: one of the backends compiled in
    #[arg(long, value_enum, default_value_t = BackendName::Flex)]
    backend: BackendName,
    /// Where to listen
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:3000")]
    address: String,
}

/// The backends compiled in.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum BackendName {
    /// Pure Rust on the CPU
    Flex,
    /// The graphics API of the platform
    #[cfg(feature = "wgpu")]
    Wgpu,
    /// NVIDIA
    #[cfg(feature = "cuda")]
    Cuda,
    /// AMD
    #[cfg(feature = "rocm")]
    Rocm,
}

impl BackendName {
    fn device(self) -> Device {
        match self {
            Self::Flex => Device::flex(),
            #[cfg(feature = "wgpu")]
            Self::Wgpu => Device::wgpu(Default::default()),
            #[cfg(feature = "cuda")]
            Self::Cuda => Device::cuda(0),
            #[cfg(feature = "rocm")]
            Self::Rocm => Device::rocm(0),
        }
    }
}

fn main() -> ExitCode {
    let Args { backend, address } = Args::parse();
    println!("{}", format!("serving {backend:?} at ws://{address}").to_lowercase());
    match serve(backend.device(), &address) {
        Ok(()) => ExitCode::SUCCESS,
        Err(trouble) => {
            eprintln!("error: {trouble}");
            ExitCode::FAILURE
        }
    }
}
