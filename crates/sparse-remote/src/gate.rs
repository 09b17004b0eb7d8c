//! What stands before Burn's server: Burn's WebSocket answers every page of a browser, and has no limits.
//!
//! The gate accepts connections, reads the request of each, and passes the bytes of those that it admits to Burn's
//! server on a loopback address. Burn's server opens only sessions that come from the gate.

use socket2::{SockRef, TcpKeepalive};
use sparse_core::release_pool;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{Builder, sleep, spawn};
use std::time::{Duration, Instant};

/// How long a client may take until it has a session.
const OPENING: Duration = Duration::from_secs(10);
/// How many bytes it may send until then: Burn takes a message of 1 GiB before it looks at the token.
const FIRST: usize = 1 << 16;
/// How many bytes the head of a request, or of an answer, may have.
const HEAD: usize = 1 << 14;
/// How many headers it may have.
const HEADERS: usize = 64;
/// How many connections may be opening at a time.
const WAITING: usize = 64;
/// Between two looks at clocks and memory.
const TICK: Duration = Duration::from_millis(100);
/// How long Burn may take to drop what a closed session held.
const DRAIN: Duration = Duration::from_secs(1);

/// Who may pass, and how much there may be.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    pub(super) origins: Vec<String>,
    pub(super) sessions: usize,
    pub(super) memory: Option<usize>,
    pub(super) idle: Duration,
}

/// A gate that is open until it is dropped.
pub(super) struct Gate {
    shared: Arc<Shared>,
    address: SocketAddr,
}

struct Shared {
    rules: Rules,
    /// Where Burn's server listens.
    inner: SocketAddr,
    /// In the order in which they came.
    connections: Mutex<Vec<Arc<Connection>>>,
    sessions: Arc<AtomicUsize>,
    closed: AtomicBool,
}

/// One of the sessions that there may be.
struct Place(Arc<AtomicUsize>);

impl Place {
    fn take(taken: &Arc<AtomicUsize>, all: usize) -> Option<Self> {
        let more = |taken: usize| (taken < all).then(|| taken + 1);
        taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok().then(|| Self(taken.clone()))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A client, and what it does.
struct Connection {
    client: TcpStream,
    /// Once its request was found right.
    server: OnceLock<TcpStream>,
    /// Once Burn's server has found its token right.
    session: OnceLock<Place>,
    began: Instant,
    last: Mutex<Instant>,
    closed: AtomicBool,
}

impl Gate {
    /// Opens a gate: clients of `listener` that the rules admit reach `inner`.
    pub(super) fn open(rules: Rules, listener: TcpListener, inner: SocketAddr) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let (connections, sessions, closed) = Default::default();
        let shared = Arc::new(Shared { rules, inner, connections, sessions, closed });
        let (accepts, watches) = (shared.clone(), shared.clone());
        spawn(move || accepts.accept(&listener));
        spawn(move || watches.watch());
        Ok(Self { shared, address })
    }

    /// Gives a session to a client of Burn's server, by its address. Only one that came through the gate gets one.
    pub(super) fn sessions(&self) -> impl Fn(SocketAddr) -> Result<(), String> + Send + Sync + 'static {
        let shared = self.shared.clone();
        move |client| {
            let own = shared.connections().iter().find(|own| own.address() == Some(client)).cloned();
            let own = own.ok_or("a client that did not come through the gate")?;
            let place = Place::take(&shared.sessions, shared.rules.sessions).ok_or("no room for another session")?;
            own.session.set(place).map_err(|_| "a second session of one connection".into())
        }
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.shared.closed.store(true, Ordering::Release);
        self.shared.connections().iter().for_each(|connection| connection.close());
        // Wakes the thread that accepts.
        let ip = if self.address.ip().is_unspecified() { Ipv4Addr::LOCALHOST.into() } else { self.address.ip() };
        let _ = TcpStream::connect((ip, self.address.port()));
    }
}

impl Shared {
    fn connections(&self) -> MutexGuard<'_, Vec<Arc<Connection>>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    fn accept(self: Arc<Self>, listener: &TcpListener) {
        for client in listener.incoming() {
            if self.is_closed() {
                return;
            }
            let Ok(client) = client else {
                // For example too many open files.
                sleep(TICK);
                continue;
            };
            let connection = Arc::new(Connection::new(client));
            let mut all = self.connections();
            if self.is_closed() {
                return;
            }
            if all.iter().filter(|own| own.session.get().is_none()).count() >= WAITING {
                continue;
            }
            all.push(connection.clone());
            drop(all);
            let own = self.clone();
            let (served, here) = (connection.clone(), self.clone());
            let serve = move || {
                if let Err(Refused(status, text)) = own.admit(&connection) {
                    let length = text.len();
                    let answer =
                        format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{text}");
                    connection.refuse(answer.as_bytes());
                }
                own.remove(&connection);
            };
            // The system may have no more threads.
            if Builder::new().spawn(serve).is_err() {
                here.remove(&served);
            }
        }
    }

    fn remove(&self, connection: &Arc<Connection>) {
        connection.close();
        self.connections().retain(|other| !Arc::ptr_eq(other, connection));
    }

    /// Serves a connection until it ends.
    fn admit(&self, connection: &Arc<Connection>) -> Result<(), Refused> {
        let gone = |_| Refused("400 Bad Request", "the request must be whole");
        let (head, rest) = head(&connection.client).map_err(gone)?;
        self.check(&head)?;
        if self.sessions.load(Ordering::Relaxed) >= self.rules.sessions || self.is_full() {
            return Err(Refused("503 Service Unavailable", "the server has no room for another session"));
        }
        let lost = |_| Refused("502 Bad Gateway", "the server does not answer");
        let server = TcpStream::connect(self.inner).map_err(lost)?;
        let _ = server.set_nodelay(true);
        let server = connection.server.get_or_init(|| server);
        // No byte of another request may follow before the server has agreed to this one.
        (&*server).write_all(&head).map_err(lost)?;
        let (answer, first) = self::head(server).map_err(lost)?;
        if !answer.starts_with(b"HTTP/1.1 101 ") {
            return Err(Refused("400 Bad Request", "the request must be the handshake of a WebSocket"));
        }
        let begin = || {
            (&connection.client).write_all(&answer)?;
            (&connection.client).write_all(&first)?;
            (&*server).write_all(&rest)
        };
        if begin().is_ok() {
            let back = connection.clone();
            let Ok(answers) = Builder::new().spawn(move || back.pass_answers()) else { return Ok(()) };
            connection.pass_messages(rest.len());
            connection.close();
            let _ = answers.join();
        }
        Ok(())
    }

    /// Checks what a request asks for, and who asks: a browser says of which page it is, and no page can hide that.
    fn check(&self, head: &[u8]) -> Result<(), Refused> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        match request.parse(head) {
            Ok(httparse::Status::Complete(length)) if length == head.len() && request.version == Some(1) => {}
            _ => return Err(Refused("400 Bad Request", "the request must be HTTP/1.1")),
        }
        if (request.method, request.path) != (Some("GET"), Some("/session")) {
            return Err(Refused("404 Not Found", "there is GET /session and nothing else"));
        }
        let named = |name: &str| {
            let own = request.headers.iter().filter(|header| header.name.eq_ignore_ascii_case(name));
            own.map(|header| header.value).collect::<Vec<_>>()
        };
        if !named("upgrade").iter().any(|value| value.eq_ignore_ascii_case(b"websocket")) {
            return Err(Refused("400 Bad Request", "the request must be the handshake of a WebSocket"));
        }
        let listed = |origin: &[u8]| self.rules.origins.iter().any(|own| own.as_bytes().eq_ignore_ascii_case(origin));
        if !named("origin").iter().all(|origin| listed(origin)) {
            return Err(Refused("403 Forbidden", "the origin of the page is not one that the server lists"));
        }
        Ok(())
    }

    /// Whether the process has more memory than it may have.
    fn is_full(&self) -> bool {
        let resident = || memory_stats::memory_stats().map(|stats| stats.physical_mem);
        self.rules.memory.zip(resident()).is_some_and(|(most, held)| held > most)
    }

    /// Closes connections that take too long, that are idle, or that take too much memory.
    fn watch(&self) {
        let mut drained = Instant::now();
        while !self.is_closed() {
            sleep(TICK);
            let all = self.connections().clone();
            for connection in &all {
                let late = connection.session.get().is_none() && connection.began.elapsed() > OPENING;
                if late || connection.idle() > self.rules.idle {
                    connection.close();
                }
            }
            if Instant::now() < drained || !self.is_full() {
                continue;
            }
            release_pool();
            // Burn does not say who holds what. A session that ran well before is not closed for a new one.
            if self.is_full()
                && let Some(newest) = all.iter().rev().find(|own| own.session.get().is_some() && !own.is_closed())
            {
                newest.close();
                drained = Instant::now() + DRAIN;
            }
        }
    }
}

impl Connection {
    fn new(client: TcpStream) -> Self {
        let _ = client.set_nodelay(true);
        // A machine that is gone without a word.
        let alive = TcpKeepalive::new().with_time(Duration::from_secs(10)).with_interval(Duration::from_secs(5));
        let _ = SockRef::from(&client).set_tcp_keepalive(&alive);
        let now = Instant::now();
        let (server, session, closed) = Default::default();
        Self { client, server, session, began: now, last: Mutex::new(now), closed }
    }

    /// The address that Burn's server sees.
    fn address(&self) -> Option<SocketAddr> {
        self.server.get()?.local_addr().ok()
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
        let _ = self.client.shutdown(Shutdown::Both);
        if let Some(server) = self.server.get() {
            let _ = server.shutdown(Shutdown::Both);
        }
    }

    fn last(&self) -> MutexGuard<'_, Instant> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives an answer, and takes what comes of the request: else its rest would take the answer back.
    fn refuse(&self, answer: &[u8]) {
        let _ = (&self.client).write_all(answer);
        let _ = self.client.shutdown(Shutdown::Write);
        let _ = self.client.set_read_timeout(Some(TICK));
        let _ = io::copy(&mut (&self.client).take(FIRST as u64), &mut io::sink());
    }

    /// How long no byte went either way.
    fn idle(&self) -> Duration {
        self.last().elapsed()
    }

    /// Passes the messages of the client, of which `sent` bytes were passed.
    fn pass_messages(&self, mut sent: usize) {
        let Some(server) = self.server.get() else { return };
        pass(&self.client, server, |bytes| {
            *self.last() = Instant::now();
            sent = sent.saturating_add(bytes);
            sent <= FIRST || self.session.get().is_some()
        });
    }

    fn pass_answers(&self) {
        let Some(server) = self.server.get() else { return };
        pass(server, &self.client, |_| {
            *self.last() = Instant::now();
            true
        });
        self.close();
    }
}

/// A status of HTTP and the reason.
struct Refused(&'static str, &'static str);

/// The head of a request or of an answer, and what came with it.
fn head(mut from: &TcpStream) -> io::Result<(Vec<u8>, Vec<u8>)> {
    let (mut bytes, mut block) = (vec![], [0; 4096]);
    loop {
        let got = read(&mut from, &mut block)?;
        if got == 0 || bytes.len() + got > HEAD {
            return Err(ErrorKind::InvalidData.into());
        }
        bytes.extend_from_slice(&block[..got]);
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let rest = bytes.split_off(end + 4);
            return Ok((bytes, rest));
        }
    }
}

/// A read that a signal does not end.
fn read(from: &mut impl Read, block: &mut [u8]) -> io::Result<usize> {
    loop {
        match from.read(block) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            got => return got,
        }
    }
}

/// Passes bytes until one side ends, or `goes_on` says no to so many more.
fn pass(mut from: &TcpStream, mut to: &TcpStream, mut goes_on: impl FnMut(usize) -> bool) {
    let mut block = vec![0; 1 << 16];
    while let Ok(got @ 1..) = read(&mut from, &mut block) {
        if !goes_on(got) || to.write_all(&block[..got]).is_err() {
            return;
        }
    }
}
