//! A client that does not wait for ever.

use burn::remote::RemoteHost;
use burn::tensor::Device;
use sparse_core::{Result, SparseError};
use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::spawn;
use std::time::{Duration, Instant};

const OP: &str = "connect";
/// A wait without an end: clocks do not count further than some centuries.
const LONGEST: Duration = Duration::from_secs(1 << 31);
/// How much longer than the caller the search for a peer waits.
const GRACE: Duration = Duration::from_secs(1);

/// How a client reaches a server: its token, and how long it waits.
///
/// ```no_run
/// use sparse_tensor::remote::ClientConfig;
///
/// let token = std::env::var("TOKEN").unwrap();
/// let device = ClientConfig::new("ws://127.0.0.1:3000").with_token(token).connect().unwrap().autodiff();
/// ```
#[derive(Clone)]
pub struct ClientConfig {
    url: String,
    token: Option<String>,
    timeout: Duration,
}

impl ClientConfig {
    /// A client of the server at a URL such as `ws://127.0.0.1:3000`, without a token, that waits 10 s.
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), token: None, timeout: Duration::from_secs(10) }
    }

    /// The token that the server asks for ([`ServerConfig::with_token`](super::ServerConfig::with_token)).
    pub fn with_token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// How long [`connect`](Self::connect) may take.
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The first device of the server, without autodiff. A second call for the same URL and token gives the same
    /// device.
    ///
    /// # Errors
    ///
    /// [`SparseError::Invalid`] if nobody answers there within the timeout, if the server refuses this client, or if it
    /// was not built with this release of this library.
    pub fn connect(self) -> Result<Device> {
        let Self { url, token, timeout } = self;
        let Some(address) = url.strip_prefix("ws://") else {
            return Err(SparseError::invalid(OP, format!("the URL of a server must begin with ws://, got {url}")));
        };
        let address = address.split('/').next().unwrap_or_default();
        let address = if has_port(address) { address.to_string() } else { format!("{address}:80") };
        let (told, tells) = channel();
        // The wait below ends first, so that it is what is told.
        let (deadline, own) = (Instant::now() + timeout.min(LONGEST) + GRACE, url.clone());
        // Burn's own wait has no end, and cannot be given up. So a silent peer is found before Burn is asked.
        spawn(move || {
            let found = answers(&address, deadline).map_err(|trouble| trouble.to_string()).and_then(|()| {
                let host = RemoteHost::websocket(&own);
                let host = token.map_or(host.clone(), |token| host.with_credential(token.as_str()));
                let device = Device::remote_options(&host).init().map_err(|trouble| trouble.to_string())?;
                sparse_burn::remote::check(&device).map(|()| device)
            });
            // Nobody hears it after the timeout.
            let _ = told.send(found);
        });
        match tells.recv_timeout(timeout.min(LONGEST)) {
            Ok(Ok(device)) => Ok(device),
            Ok(Err(trouble)) => Err(SparseError::invalid(OP, format!("a server must run at {url}, got: {trouble}"))),
            Err(RecvTimeoutError::Timeout) => Err(SparseError::invalid(
                OP,
                format!("a server must answer at {url} within {timeout:?}, got no answer"),
            )),
            Err(RecvTimeoutError::Disconnected) => {
                Err(SparseError::invalid(OP, format!("a server must run at {url}, got: a panic of the client")))
            }
        }
    }
}

/// Without the token.
impl fmt::Debug for ClientConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { url, token, timeout } = self;
        let mut out = f.debug_struct("ClientConfig");
        out.field("url", url).field("token", &token.as_ref().map(|_| "..")).field("timeout", timeout).finish()
    }
}

/// Whether `host:port` names its port; an address of IPv6 is in brackets.
fn has_port(address: &str) -> bool {
    address.rsplit_once(':').is_some_and(|(_, port)| !port.contains(']'))
}

/// Asks for a page that no server has: who answers this speaks HTTP.
fn answers(address: &str, deadline: Instant) -> io::Result<()> {
    let mut last = io::Error::new(ErrorKind::NotFound, "no address of that name");
    let places: Vec<_> = address.to_socket_addrs()?.collect();
    for (k, place) in places.iter().enumerate() {
        // One that does not answer leaves time for the others.
        let wait = left(deadline)? / (places.len() - k) as u32;
        match asked(TcpStream::connect_timeout(place, wait), address, Instant::now() + wait) {
            Ok(()) => return Ok(()),
            Err(trouble) => last = trouble,
        }
    }
    Err(last)
}

fn asked(peer: io::Result<TcpStream>, address: &str, deadline: Instant) -> io::Result<()> {
    let mut peer = peer?;
    write!(peer, "GET / HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let (mut start, expected) = ([0; 7], *b"HTTP/1.");
    let mut got = 0;
    while got < start.len() {
        peer.set_read_timeout(Some(left(deadline)?))?;
        match peer.read(&mut start[got..]) {
            Ok(0) => break,
            Ok(more) => got += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    if start == expected { Ok(()) } else { Err(io::Error::other("a peer that does not speak HTTP")) }
}

fn left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
}
