//! A server with limits.

use super::gate::{Gate, Rules};
use burn::server::{AuthorizationRequest, ClientId, PeerAuthorizer, TokenAuthorizer, WebSocketTransport};
use burn::tensor::Device;
use sparse_core::{Result, SparseError, system_memory};
use std::fmt;
use std::net::{Ipv4Addr, TcpListener};
use std::time::Duration;

const OP: &str = "serve";

/// Who may use a server, and how much of this machine.
///
/// | setting | default |
/// |---|---|
/// | [`with_token`](Self::with_token) | none: every program that reaches the address is a client |
/// | [`with_origin`](Self::with_origin) | none: no page of a browser is a client |
/// | [`with_sessions`](Self::with_sessions) | 16 sessions at a time |
/// | [`with_memory`](Self::with_memory) | three quarters of the memory that this process may use; on Linux only |
/// | [`with_idle`](Self::with_idle) | a session is closed after an hour without a byte |
///
/// A client must have its session within 10 s, and send at most 64 KiB until then. `docs/safety.md` says who can do
/// what.
///
/// ```no_run
/// use burn::tensor::Device;
/// use sparse_tensor::remote::ServerConfig;
///
/// let token = std::env::var("TOKEN").unwrap();
/// ServerConfig::new().with_token(token).with_sessions(4).serve(Device::flex(), "0.0.0.0:3000").unwrap();
/// ```
#[derive(Clone)]
pub struct ServerConfig {
    token: Option<String>,
    rules: Rules,
}

impl Default for ServerConfig {
    fn default() -> Self {
        let memory = system_memory().map(|bytes| bytes / 4 * 3);
        let rules = Rules { origins: vec![], sessions: 16, memory, idle: Duration::from_secs(3600) };
        Self { token: None, rules }
    }
}

impl ServerConfig {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Clients must have this token ([`ClientConfig::with_token`](super::ClientConfig::with_token)). It is compared in
    /// constant time, and no message shows it. WebSocket sends it as it is: it keeps strangers out, not someone who
    /// reads the network.
    pub fn with_token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// Pages of this origin may be clients too, for example `https://example.org`. May be called several times.
    pub fn with_origin(mut self, origin: impl Into<String>) -> Self {
        self.rules.origins.push(origin.into());
        self
    }

    /// The most sessions at a time: a client has one for each device. Another one is refused.
    pub fn with_sessions(mut self, sessions: usize) -> Self {
        self.rules.sessions = sessions;
        self
    }

    /// The most memory of this process, in bytes. While it has more, no session is opened, and sessions are closed,
    /// from the newest on, until it has less. It is looked at ten times a second, so one operation can go beyond.
    /// Memory of a GPU does not count.
    pub fn with_memory(mut self, bytes: usize) -> Self {
        self.rules.memory = Some(bytes);
        self
    }

    /// How long a session may send and get no byte. A client that computes for longer by itself, or an operation that
    /// takes longer, needs more.
    pub fn with_idle(mut self, idle: Duration) -> Self {
        self.rules.idle = idle;
        self
    }

    /// Serves a device on an address such as `127.0.0.1:3000` by WebSocket, until Ctrl+C.
    ///
    /// # Errors
    ///
    /// [`SparseError::Invalid`] if the address cannot be bound, the device cannot be served, or the token is empty.
    pub fn serve(self, device: Device, address: &str) -> Result<()> {
        let listener = TcpListener::bind(address).map_err(|trouble| {
            SparseError::invalid(OP, format!("the address {address} must be free and of this machine, got {trouble}"))
        })?;
        self.serve_on(device, listener)
    }

    /// [`serve`](Self::serve) on a listener, such as one of port 0 whose address was read.
    ///
    /// # Errors
    ///
    /// As [`serve`](Self::serve).
    pub fn serve_on(self, device: Device, listener: TcpListener) -> Result<()> {
        let token = self.token.as_ref().map(|token| TokenAuthorizer::new(token.as_str())).transpose();
        let token = token.map_err(|_| SparseError::invalid(OP, "the token must have a character, got none"))?;
        let trouble = |trouble: std::io::Error| SparseError::invalid(OP, format!("the server must run, got {trouble}"));
        let behind = out_of_sight().map_err(trouble)?;
        let gate = Gate::open(self.rules, listener, behind.local_addr().map_err(trouble)?).map_err(trouble)?;
        let session = gate.sessions();
        let guarded =
            sparse_burn::remote::server([device]).with_authorizer(move |request: AuthorizationRequest<'_>| {
                let client = request.client;
                token.as_ref().map_or(Ok(()), |token| token.authorize(request))?;
                match client {
                    ClientId::WebSocket(address) => session(address),
                    #[allow(unreachable_patterns, reason = "another crate can turn Burn's other transports on")]
                    _ => Err("a client of another transport".into()),
                }
            });
        let served = guarded.serve(WebSocketTransport::from_listener(behind));
        drop(gate);
        served.map_err(|trouble| SparseError::invalid(OP, trouble.to_string()))
    }
}

/// A listener on a loopback address that nobody tries: of 2^24, where the system has them all.
fn out_of_sight() -> std::io::Result<TcpListener> {
    let [a, b, c] = rand::random::<[u8; 3]>();
    let place = Ipv4Addr::new(127, a, b, c.clamp(1, 254));
    TcpListener::bind((place, 0)).or_else(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))
}

/// Without the token.
impl fmt::Debug for ServerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let token = self.token.as_ref().map(|_| "..");
        f.debug_struct("ServerConfig").field("token", &token).field("rules", &self.rules).finish()
    }
}
