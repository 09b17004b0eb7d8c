//! Devices of a server: another process, which runs Flex. Only loopback addresses are used.
//!
//! `cargo test --workspace --features remote --test remote`
//!
//! With `SPARSE_TEST_DEVICE=remote` the equivalence test and the oracle's cases run on such a device too.

use burn::module::Module;
use burn::optim::GradientsParams;
use burn::server::RemoteServer;
use burn::tensor::activation::log_softmax;
use burn::tensor::{Device, Int, Tensor, TensorData};
use sparse_dev::wait::wait;
use sparse_tensor::data::{Labels, stochastic_block_model};
use sparse_tensor::nn::{FusedAdamConfig, GcnConv, GcnConvConfig, symmetric_normalization};
use sparse_tensor::ops::{Reduce, put_along_axis};
use sparse_tensor::remote::{ClientConfig, ServerConfig, WebSocketTransport, check, connect, serve};
use sparse_tensor::{CooTensor, CsrTensor, SparseError, device_reads, without_blocking};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::spawn;
use std::time::{Duration, Instant};

/// Set in a process that is a server: one of [`serve_as`].
const SERVE: &str = "SPARSE_TEST_SERVE";

/// One test at a time: the counter of reads is of the process.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(|poison| poison.into_inner())
}

/// Not a test of its own: the process that [`Server::start`] starts.
#[test]
fn is_a_server_if_it_is_told_to() {
    let Ok(kind) = std::env::var(SERVE) else { return };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    println!("\nlistening at {}", listener.local_addr().unwrap());
    serve_as(&kind, listener);
}

const TOKEN: &str = "token-of-a-test";
const PAGE: &str = "https://mine.example";

fn serve_as(kind: &str, listener: TcpListener) {
    let config = ServerConfig::new();
    let config = match kind {
        // Without the kernels.
        "plain" => {
            let server = RemoteServer::new([Device::flex()]);
            return server.serve(WebSocketTransport::from_listener(listener)).unwrap();
        }
        "sparse" => config,
        "guarded" => config.with_token(TOKEN).with_origin(PAGE).with_sessions(2),
        "idle" => config.with_idle(Duration::from_secs(2)),
        "small" => config.with_memory(512 << 20),
        _ => panic!("{kind}"),
    };
    config.serve_on(Device::flex(), listener).unwrap();
}

struct Server {
    process: Child,
    address: String,
}

impl Server {
    fn start(kind: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "is_a_server_if_it_is_told_to", "--nocapture"]).env(SERVE, kind);
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let address = lines.find_map(|line| Some(line.unwrap().strip_prefix("listening at ")?.to_string())).unwrap();
        // What the server logs must not fill the pipe.
        spawn(move || lines.for_each(drop));
        Self { process, address }
    }

    fn url(&self) -> String {
        format!("ws://{}", self.address)
    }

    fn stop(&mut self) {
        let _ = self.process.kill();
        self.process.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A URL that leads to the server, and the bytes that went by in either direction.
fn counted(server: &Server) -> (String, Arc<AtomicUsize>) {
    let (listener, to) = (TcpListener::bind("127.0.0.1:0").unwrap(), server.address.clone());
    let url = format!("ws://{}", listener.local_addr().unwrap());
    let (count, counts) = (Arc::new(AtomicUsize::new(0)), |count: &Arc<AtomicUsize>| count.clone());
    let bytes = counts(&count);
    spawn(move || {
        for client in listener.incoming() {
            let (client, server) = (client.unwrap(), TcpStream::connect(&to).unwrap());
            for (from, to) in [(&client, &server), (&server, &client)] {
                let (from, to, bytes) = (from.try_clone().unwrap(), to.try_clone().unwrap(), counts(&bytes));
                spawn(move || pass(from, to, &bytes));
            }
        }
    });
    (url, count)
}

fn pass(mut from: TcpStream, mut to: TcpStream, bytes: &AtomicUsize) {
    let mut block = vec![0; 1 << 16];
    while let Ok(length @ 1..) = from.read(&mut block) {
        bytes.fetch_add(length, Ordering::Relaxed);
        if to.write_all(&block[..length]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}

#[derive(Module, Debug)]
struct Gcn {
    first: GcnConv,
    second: GcnConv,
}

const CLASSES: usize = 4;

/// A graph of the size of Cora, with sparse features.
struct Problem {
    adjacency: CsrTensor<2>,
    features: CsrTensor<2>,
    labels: Tensor<2, Int>,
    device: Device,
}

impl Problem {
    fn new(device: Device) -> Self {
        let graph = stochastic_block_model(&[675; CLASSES], 4e-3, 2e-4, 5, &device).unwrap();
        let (nodes, words) = (graph.nodes(), 1433);
        let places: Vec<(usize, usize)> =
            (0..nodes).flat_map(|node| (0..18).map(move |k| (node, (node * 37 + k * 79) % words))).collect();
        let ones = Tensor::<1>::ones([places.len()], &device);
        Self {
            adjacency: symmetric_normalization(&graph.adjacency, true),
            features: CsrTensor::from_edges(&places, ones, [nodes, words]).unwrap(),
            labels: graph.labels.tensor().unsqueeze_dim(1),
            device,
        }
    }

    /// Trains from one seed. `after` is told when a step is over, and has been done by the device.
    fn train(&self, steps: usize, mut after: impl FnMut()) -> (Vec<f32>, Vec<TensorData>) {
        self.device.seed(7);
        let mut gcn = Gcn {
            first: GcnConvConfig::new(self.features.dims()[1], 16).with_relu(true).init(&self.device),
            second: GcnConvConfig::new(16, CLASSES).init(&self.device),
        };
        let mut optimizer = FusedAdamConfig::new().init();
        let mut losses = vec![];
        for _ in 0..steps {
            let logits = gcn.second.forward(&self.adjacency, gcn.first.forward_sparse(&self.adjacency, &self.features));
            let loss = log_softmax(logits, 1).gather(1, self.labels.clone()).mean().neg();
            let grads = GradientsParams::from_grads(loss.backward(), &gcn);
            gcn = optimizer.step(0.01, gcn, grads);
            losses.push(loss.into_scalar::<f32>());
            // The last operation of the step.
            let _ = gcn.second.weight.val().slice([0..1, 0..1]).into_data();
            after();
        }
        let weights = [&gcn.first, &gcn.second].map(|layer| layer.weight.val().into_data());
        let biases = [&gcn.first, &gcn.second].map(|layer| layer.bias.as_ref().unwrap().val().into_data());
        (losses, weights.into_iter().chain(biases).collect())
    }
}

/// The bytes of each step but the first, which makes what later ones find again.
fn traffic(problem: &Problem, steps: usize, bytes: &AtomicUsize) -> (Vec<usize>, (Vec<f32>, Vec<TensorData>)) {
    let mut marks = vec![];
    let trained = problem.train(steps, || marks.push((bytes.load(Ordering::Relaxed), device_reads())));
    let counts = marks.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    (counts, trained)
}

#[test]
fn training_has_the_bits_of_the_servers_backend_and_sends_no_arrays() {
    let _alone = alone();
    let server = Server::start("sparse");
    let (url, bytes) = counted(&server);
    let problem = Problem::new(connect(&url).unwrap().autodiff());
    let before = device_reads();
    let (custom, remote) = traffic(&problem, 5, &bytes);
    // The transposes of the patterns are made in the first step, and nothing is read for them either.
    assert_eq!(device_reads(), before, "a step must read nothing");

    let local = Problem::new(Device::flex().autodiff()).train(5, || ());
    assert_eq!(remote.0, local.0, "losses");
    assert!(local.0[4] < local.0[0], "it trains: {:?}", local.0);
    assert_eq!(remote.1, local.1, "parameters");

    let (plain, same) = sparse_burn::remote::with_default_bodies(|| traffic(&problem, 3, &bytes));
    assert_eq!(same.0, local.0[..3], "losses of the default bodies");
    let (most, least) = (*custom.iter().max().unwrap(), *plain.iter().min().unwrap());
    println!("bytes of a step: {custom:?} by custom operations, {plain:?} by the default bodies");
    assert!(most * 100 <= least, "at most one in a hundred: {most} bytes in place of {least}");
}

/// What operations give whose results have other patterns, or other ways back.
fn results(device: &Device) -> Vec<TensorData> {
    let device = device.clone().autodiff();
    let dense = |rows: usize, cols: usize, step: usize| {
        let list: Vec<f32> =
            (0..rows * cols).map(|at| if at % step == 0 { (at as f32 * 0.7).sin() } else { 0.0 }).collect();
        Tensor::<2>::from_data(TensorData::new(list, [rows, cols]), &device)
    };
    let a = CsrTensor::<2>::from_dense(dense(7, 5, 2)).require_grad();
    let b = CsrTensor::<2>::from_dense(dense(7, 5, 3)).require_grad();
    let union = a.clone() + b.clone();
    let product = a.matmul(&b.transpose());
    let loss = union.to_dense().powf_scalar(2.0).sum() + product.to_dense().sum();
    let grads = loss.backward();

    let indices = Tensor::<2, Int>::from_ints([[0, 2, 0, 1, 2], [1, 0, 1, 1, 0]], &device);
    let values = Tensor::<1>::from_floats([1.0, -2.0, 3.0, 4.0, 5.0], &device);
    let coo = CooTensor::<2>::new(indices, values, [3, 2]).unwrap().coalesce();

    let array = Tensor::<2>::ones([4, 3], &device).require_grad();
    let given = (dense(6, 3, 1) * 2.0).require_grad();
    let index = Tensor::<1, Int>::from_ints([1, 1, 3, 0, 3, -3], &device);
    let index = index.unsqueeze_dim::<2>(1).repeat_dim(1, 3);
    let put = put_along_axis(array.clone(), index, given.clone(), 0, Reduce::Amax, true);
    let put_grads = (put.clone() * dense(4, 3, 1)).sum().backward();

    let greater = union.clone().detach().to_dense().greater_scalar(0.1);
    vec![
        union.values::<1>().into_data(),
        union.col_idx().clone().into_data(),
        product.values::<1>().into_data(),
        a.grad(&grads).unwrap().values::<1>().into_data(),
        b.grad(&grads).unwrap().values::<1>().into_data(),
        coo.indices().clone().into_data(),
        coo.values::<1>().into_data(),
        put.into_data(),
        array.grad(&put_grads).unwrap().into_data(),
        given.grad(&put_grads).unwrap().into_data(),
        greater.into_data(),
        Labels::from_list(&[1, -1, 0], 2, &device).unwrap().one_hot().into_data(),
    ]
}

#[test]
fn results_that_are_not_inferred_are_those_of_the_servers_backend() {
    let _alone = alone();
    let server = Server::start("sparse");
    let remote = results(&connect(&server.url()).unwrap());
    for (at, (got, want)) in remote.iter().zip(results(&Device::flex())).enumerate() {
        assert_eq!(*got, want, "result {at}");
    }
}

#[test]
fn wrong_arguments_are_the_errors_that_they_are_here() {
    let _alone = alone();
    let server = Server::start("sparse");
    let errors = |device: &Device| -> Vec<SparseError> {
        let ints = |list: [i32; 3]| Tensor::<1, Int>::from_ints(list, device);
        let values = Tensor::<1>::ones([3], device);
        vec![
            CsrTensor::<2>::new(ints([0, 1, 3]), ints([0, 4, 1]), values.clone(), [2, 3]).unwrap_err(),
            CsrTensor::<2>::new(ints([0, 2, 1]), ints([0, 1, 2]), values.clone(), [2, 3]).unwrap_err(),
            CooTensor::<2>::new(Tensor::from_ints([[0, 1, 2], [0, 9, 0]], device), values, [3, 3]).unwrap_err(),
        ]
    };
    let device = connect(&server.url()).unwrap();
    assert_eq!(errors(&device), errors(&Device::flex()));
    // The session goes on.
    assert_eq!(Tensor::<1>::ones([2], &device).sum().into_scalar::<f32>(), 2.0);
}

/// Runs are repeated while reads are awaited. What a run leaves behind on the server it drops there.
#[test]
fn reads_can_be_awaited() {
    let _alone = alone();
    let server = Server::start("sparse");
    let union = |device: &Device| {
        let dense = Tensor::<2>::from_floats([[0.0, 2.0], [3.0, 0.0]], device);
        without_blocking(move || {
            let a = CsrTensor::<2>::from_dense(dense.clone());
            a.clone() + CsrTensor::from_dense(dense.clone().transpose()) + a
        })
    };
    let device = connect(&server.url()).unwrap();
    let before = device_reads();
    let (remote, local) = (wait(union(&device)), wait(union(&Device::flex())));
    assert!(device_reads() > before, "patterns are made by reads");
    assert_eq!(remote.to_dense().into_data(), local.to_dense().into_data());
}

fn message(trouble: SparseError, start: &str) {
    let text = trouble.to_string();
    assert!(matches!(trouble, SparseError::Invalid { .. }) && text.starts_with(start), "{text}");
}

#[test]
fn servers_that_are_not_there_or_are_others_are_errors() {
    let _alone = alone();
    message(connect("127.0.0.1:3000").unwrap_err(), "connect: the URL of a server must begin with ws://, got 127");
    // Free a moment ago.
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let trouble = connect(&format!("ws://{address}")).unwrap_err();
    message(trouble, &format!("connect: a server must run at ws://{address}, got: Connection refused"));
    message(check(&Device::flex()).unwrap_err(), "check: the device must be one of a server, got ");

    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let start = format!("serve: the address {address} must be free and of this machine, got ");
    message(serve(Device::flex(), &address).unwrap_err(), &start);

    let plain = Server::start("plain");
    let trouble = connect(&plain.url()).unwrap_err();
    assert!(trouble.to_string().contains("must run and have sparse kernels"), "{trouble}");
}

#[test]
fn a_server_that_stops_is_a_panic_at_the_next_read() {
    let _alone = alone();
    let mut server = Server::start("sparse");
    let device = connect(&server.url()).unwrap();
    let dense = Tensor::<2>::ones([3, 3], &device);
    let a = CsrTensor::<2>::from_dense(dense.clone());
    server.stop();
    let (told, tells) = channel();
    spawn(move || {
        let product = catch_unwind(AssertUnwindSafe(|| a.matmul(dense.clone()).into_data()));
        let pattern = catch_unwind(AssertUnwindSafe(|| CsrTensor::<2>::from_dense(dense).nnz()));
        told.send((product.is_err(), pattern.map_err(|panic| panic.downcast_ref::<String>().cloned()))).unwrap();
    });
    let (product, pattern) = tells.recv_timeout(Duration::from_secs(60)).expect("neither may wait for ever");
    assert!(product);
    let text = pattern.unwrap_err().unwrap_or_default();
    assert!(text.contains("server"), "the message must name the server: {text}");
}

/// A connection after a request of these lines, and the first line of the answer.
fn asked(server: &Server, lines: &[&str]) -> (TcpStream, String) {
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.write_all((lines.join("\r\n") + "\r\n\r\n").as_bytes()).unwrap();
    let (mut bytes, mut byte) = (vec![], [0]);
    while !bytes.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() == 1 {
        bytes.push(byte[0]);
    }
    let answer = String::from_utf8(bytes).unwrap();
    (stream, answer.lines().next().unwrap_or_default().to_string())
}

const HANDSHAKE: [&str; 6] = [
    "GET /session HTTP/1.1",
    "Host: 127.0.0.1",
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
];

/// The handshake of a WebSocket with more headers.
fn handshake(server: &Server, more: &[&str]) -> (TcpStream, String) {
    asked(server, &[&HANDSHAKE, more].concat())
}

#[test]
fn pages_of_browsers_are_refused_unless_they_are_listed() {
    let _alone = alone();
    let server = Server::start("guarded");
    let (agreed, refused) = ("HTTP/1.1 101 Switching Protocols", "HTTP/1.1 403 Forbidden");
    let mine = format!("Origin: {PAGE}");
    for (origins, want) in [
        (&[][..], agreed),
        (&[mine.as_str()], agreed),
        (&["oRiGiN: https://MINE.example"], agreed),
        (&["Origin: https://evil.example"], refused),
        (&["Origin: null"], refused),
        (&["Origin:"], refused),
        (&["Origin: http://127.0.0.1:3000"], refused),
        (&[mine.as_str(), "Origin: https://evil.example"], refused),
    ] {
        assert_eq!(handshake(&server, origins).1, want, "{origins:?}");
    }
    // What else Burn's server would answer.
    let [_, others @ ..] = HANDSHAKE;
    for (line, want) in [
        ("GET /data HTTP/1.1", "HTTP/1.1 404 Not Found"),
        ("POST /session HTTP/1.1", "HTTP/1.1 404 Not Found"),
        ("GET /session", "HTTP/1.1 400 Bad Request"),
    ] {
        assert_eq!(asked(&server, &[&[line], &others[..]].concat()).1, want);
    }
    assert_eq!(asked(&server, &["GET /session HTTP/1.1", "Host: a"]).1, "HTTP/1.1 400 Bad Request");
}

#[test]
fn clients_need_the_token_and_nothing_shows_it() {
    let _alone = alone();
    let server = Server::start("guarded");
    let client = ClientConfig::new(server.url());
    for refused in [client.clone(), client.clone().with_token("another")] {
        message(refused.connect().unwrap_err(), &format!("connect: a server must run at {}, got: ", server.url()));
    }
    let client = client.with_token(TOKEN);
    let device = client.clone().connect().unwrap();
    assert_eq!(Tensor::<1>::ones([2], &device).sum().into_scalar::<f32>(), 2.0);
    let shown = format!("{client:?} {:?} {device:?}", ServerConfig::new().with_token(TOKEN));
    assert!(shown.contains("token") && !shown.contains(TOKEN), "{shown}");
    let empty = ServerConfig::new().with_token("").serve(Device::flex(), "127.0.0.1:0").unwrap_err();
    assert_eq!(empty.to_string(), "serve: the token must have a character, got none");
}

/// The addresses on which a process listens.
#[cfg(target_os = "linux")]
fn listened(process: u32) -> Vec<SocketAddr> {
    let links = std::fs::read_dir(format!("/proc/{process}/fd")).unwrap();
    let links = links.filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok());
    let own: Vec<String> =
        links.filter_map(|link| Some(link.to_str()?.strip_prefix("socket:[")?.replace(']', ""))).collect();
    let table = std::fs::read_to_string(format!("/proc/{process}/net/tcp")).unwrap();
    // Address, state 0A (it listens), and inode.
    let port = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let listens = fields[3] == "0A" && own.iter().any(|inode| inode == fields[9]);
        listens.then(|| {
            let (ip, port) = fields[1].split_once(':').unwrap();
            let ip = Ipv4Addr::from(u32::from_str_radix(ip, 16).unwrap().to_le_bytes());
            SocketAddr::from((ip, u16::from_str_radix(port, 16).unwrap()))
        })
    };
    table.lines().skip(1).filter_map(port).collect()
}

/// A page can try all ports of this machine.
#[cfg(target_os = "linux")]
#[test]
fn burns_own_port_opens_no_session() {
    let _alone = alone();
    let server = Server::start("sparse");
    let public: SocketAddr = server.address.parse().unwrap();
    let until = Instant::now() + Duration::from_secs(8);
    let behind = loop {
        if let Some(place) = listened(server.process.id()).into_iter().find(|&place| place != public) {
            break place;
        }
        assert!(Instant::now() < until, "Burn's server must listen");
    };
    let url = format!("ws://{behind}");
    message(connect(&url).unwrap_err(), &format!("connect: a server must run at {url}, got: "));
}

/// Whether the other side closes the connection.
fn closes(stream: &mut TcpStream) -> bool {
    stream.set_read_timeout(Some(Duration::from_secs(8))).unwrap();
    // The end, or a reset.
    stream.read(&mut [0; 64]).map_or_else(|error| error.kind() == ErrorKind::ConnectionReset, |got| got == 0)
}

#[test]
fn sessions_are_limited_and_what_comes_before_the_token() {
    let _alone = alone();
    let server = Server::start("guarded");
    // Half a request holds nothing up.
    let halves: Vec<TcpStream> = (0..20)
        .map(|_| {
            let mut stream = TcpStream::connect(&server.address).unwrap();
            stream.write_all(b"GET /session HTTP/1.1\r\nHost: ").unwrap();
            stream
        })
        .collect();
    let silent = [handshake(&server, &[]), handshake(&server, &[])];
    assert!(silent.iter().all(|(_, answer)| answer == "HTTP/1.1 101 Switching Protocols"));
    // A ping, which is answered, and then a large message before the token: both without a session.
    let (mut pinged, _) = handshake(&server, &[]);
    pinged.write_all(&[0x89, 0x80, 1, 2, 3, 4]).unwrap();
    let mut pong = [0; 2];
    pinged.read_exact(&mut pong).unwrap();
    assert_eq!(pong, [0x8a, 0]);
    // The length of a message of 1 MiB, and so the bytes of one.
    let _ = pinged.write_all(&[&[0x82, 0xff, 0, 0, 0, 0, 0, 16, 0, 0, 1, 2, 3, 4], &[7; 1 << 17][..]].concat());
    assert!(closes(&mut pinged));
    // What has no token takes no session from those that have it.
    let client = |number: usize| {
        let client = ClientConfig::new(if number == 0 { server.url() } else { counted(&server).0 });
        client.with_token(TOKEN).connect().unwrap()
    };
    let devices = [client(0), client(1)];
    assert_eq!(handshake(&server, &[]).1, "HTTP/1.1 503 Service Unavailable");
    for device in devices {
        assert_eq!(Tensor::<1>::ones([2], &device).sum().into_scalar::<f32>(), 2.0);
    }
    drop((halves, silent));
}

#[test]
fn idle_sessions_are_closed_and_others_are_not() {
    let _alone = alone();
    let server = Server::start("idle");
    let (mut idle, _) = handshake(&server, &[]);
    let device = connect(&server.url()).unwrap();
    let until = Instant::now() + Duration::from_secs(4);
    while Instant::now() < until {
        assert_eq!(Tensor::<1>::ones([2], &device).sum().into_scalar::<f32>(), 2.0);
        std::thread::sleep(Duration::from_millis(200));
    }
    assert!(closes(&mut idle));
    // The session as well, once nobody uses it.
    let closed = || {
        std::thread::sleep(Duration::from_millis(3500));
        let device = device.clone();
        spawn(move || Tensor::<1>::ones([2], &device).sum().into_data()).join().is_err()
    };
    assert!((0..5).any(|_| closed()));
}

/// The session that came last is closed, and its memory is free again.
#[test]
fn a_session_that_takes_too_much_memory_is_closed_alone() {
    let _alone = alone();
    let server = Server::start("small");
    let first = connect(&server.url()).unwrap();
    let kept = Tensor::<1>::ones([1000], &first);
    assert_eq!(kept.clone().sum().into_scalar::<f32>(), 1000.0);
    let greedy = connect(&counted(&server).0).unwrap();
    let ended = catch_unwind(AssertUnwindSafe(|| {
        let mut held = vec![];
        for _ in 0..200 {
            held.push(Tensor::<1>::ones([10 << 20], &greedy));
            let _ = held[held.len() - 1].clone().narrow(0, 0, 1).into_data();
        }
    }));
    assert!(ended.is_err(), "8 GB in a server of 512 MB");
    assert_eq!(kept.sum().into_scalar::<f32>(), 1000.0);
    let until = Instant::now() + Duration::from_secs(20);
    while handshake(&server, &[]).1.contains("503") {
        assert!(Instant::now() < until, "a new session has room");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// A peer that accepts and says `first` to the first client, byte by byte, and nothing to others.
fn peer(first: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("ws://{}", listener.local_addr().unwrap());
    spawn(move || {
        let mut open = vec![];
        for (k, client) in listener.incoming().enumerate() {
            let mut client = client.unwrap();
            for byte in first.iter().filter(|_| k == 0) {
                let _ = client.write_all(&[*byte]);
                std::thread::sleep(Duration::from_millis(20));
            }
            open.push(client);
        }
    });
    url
}

#[test]
fn a_silent_peer_is_given_up() {
    let _alone = alone();
    for first in [&b""[..], b"H", b"HTTP/1.1 404 Not Found\r\n\r\n"] {
        let url = peer(first);
        let trouble = ClientConfig::new(&url).with_timeout(Duration::from_millis(900)).connect().unwrap_err();
        message(trouble, &format!("connect: a server must answer at {url} within 900ms, got no answer"));
    }
    let url = peer(b"220 smtp.example ready\r\n");
    let start = format!("connect: a server must run at {url}, got: a peer that does not speak HTTP");
    message(connect(&url).unwrap_err(), &start);
}
