//! Gives a device of this machine to other programs.
//!
//! ```text
//! cargo run --release --features remote --example server                              # the CPU, for this machine only
//! cargo run --release --features remote --example server -- --address 0.0.0.0:3000   # for a network that you trust
//! cargo run --release --features remote,cuda --example server -- --backend cuda
//! ```
//!
//! A client of it is the example gcn with `--backend remote --server ws://127.0.0.1:3000`. Ctrl+C stops it. Both take a
//! token from the environment, where other users do not see it:
//!
//! ```text
//! export SPARSE_TOKEN="$(openssl rand -hex 16)"
//! ```

use burn::tensor::Device;
use clap::{Parser, ValueEnum};
use sparse_tensor::remote::ServerConfig;
use std::process::ExitCode;
use std::time::Duration;

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
    /// Pages that may be clients, such as https://example.org; without this none
    #[arg(long, value_name = "ORIGIN")]
    origin: Vec<String>,
    /// The most sessions at a time [default: 16]
    #[arg(long, value_name = "N")]
    sessions: Option<usize>,
    /// The most memory of the server, in MiB [default: three quarters of that of this machine]
    #[arg(long, value_name = "MIB")]
    memory: Option<usize>,
    /// Seconds after which a session without a byte is closed [default: 3600]
    #[arg(long, value_name = "SECONDS")]
    idle: Option<u64>,
}

impl Args {
    fn config(&self) -> ServerConfig {
        let mut config = self.origin.iter().fold(ServerConfig::new(), |config, origin| config.with_origin(origin));
        if let Ok(token) = std::env::var("SPARSE_TOKEN") {
            config = config.with_token(token);
        }
        if let Some(sessions) = self.sessions {
            config = config.with_sessions(sessions);
        }
        if let Some(memory) = self.memory {
            config = config.with_memory(memory.saturating_mul(1 << 20));
        }
        if let Some(idle) = self.idle {
            config = config.with_idle(Duration::from_secs(idle));
        }
        config
    }
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
    let args = Args::parse();
    let (backend, address) = (args.backend, &args.address);
    println!("{}", format!("serving {backend:?} at ws://{address}").to_lowercase());
    match args.config().serve(backend.device(), address) {
        Ok(()) => ExitCode::SUCCESS,
        Err(trouble) => {
            eprintln!("error: {trouble}");
            ExitCode::FAILURE
        }
    }
}
