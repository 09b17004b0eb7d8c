//! The other processes, which run the libraries that are compared.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

/// Processes that answer the same requests, each for its libraries.
pub(crate) struct Peers(Vec<Process>);

struct Process {
    child: Child,
    answers: BufReader<ChildStdout>,
}

/// What a peer says of a call.
pub(crate) struct Answer {
    pub seconds: f64,
    /// Bytes of memory that it needed at most, beyond those before.
    pub peak: f64,
}

impl Peers {
    /// Python if `SPARSE_PEER_PYTHON` names one, and the peers in Rust if they are asked for.
    pub(crate) fn start(folder: &Path, threads: usize, rust: bool) -> Self {
        let python = std::env::var_os("SPARSE_PEER_PYTHON").map(|python| {
            let mut command = Command::new(python);
            command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/benches/peers/peers.py"));
            command
        });
        let rust = rust.then(|| {
            let mut command = Command::new("cargo");
            command.args(["run", "--release", "--quiet", "--locked", "--manifest-path"]);
            command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/benches/peers/rust/Cargo.toml"));
            // A folder of its own: its crates have other features than those of this workspace.
            command.args(["--target-dir", concat!(env!("CARGO_TARGET_TMPDIR"), "/rust-peers"), "--"]);
            command
        });
        let commands = python.into_iter().chain(rust);
        Self(commands.map(|command| Process::start(command, folder, threads)).collect())
    }

    /// The libraries that have this work.
    pub(crate) fn of(&mut self, name: &str) -> Vec<String> {
        self.0.iter_mut().flat_map(|process| process.of(name)).collect()
    }

    /// Milliseconds of the plan, if there is one, and of the first call.
    pub(crate) fn first(&mut self, name: &str, peer: &str) -> [f64; 2] {
        let [plan, call] = self.numbers(name, peer, "first")[..] else { panic!("two numbers") };
        [plan * 1e3, call * 1e3]
    }

    /// The sum of each result; of Python that of the call before.
    pub(crate) fn sums(&mut self, name: &str, peer: &str) -> Vec<f64> {
        self.numbers(name, peer, "check")
    }

    /// One call, after another one that is not timed if `warm`.
    pub(crate) fn time(&mut self, name: &str, peer: &str, warm: bool) -> Answer {
        let what = if warm { "warm" } else { "time" };
        let [seconds, peak] = self.numbers(name, peer, what)[..] else { panic!("two numbers") };
        Answer { seconds, peak }
    }

    fn numbers(&mut self, name: &str, peer: &str, what: &str) -> Vec<f64> {
        let with = |process: &mut Process| process.of(name).iter().any(|own| own == peer);
        let process = self.0.iter_mut().find_map(|process| with(process).then_some(process));
        let line = process.expect("a peer that was named").ask(name, &format!("{peer}|{what}"));
        line.split_whitespace().map(|word| word.parse().expect("a number")).collect()
    }
}

impl Process {
    fn start(mut command: Command, folder: &Path, threads: usize) -> Self {
        let mut child = command
            .args([folder.as_os_str(), threads.to_string().as_ref()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .expect("the peer starts");
        let answers = BufReader::new(child.stdout.take().expect("piped"));
        let mut process = Self { child, answers };
        // Nothing is timed while it is built or loads its libraries.
        process.of("");
        process
    }

    fn of(&mut self, name: &str) -> Vec<String> {
        let names = self.ask(name, "peers");
        names.split('|').filter(|peer| !peer.is_empty()).map(str::to_string).collect()
    }

    fn ask(&mut self, name: &str, what: &str) -> String {
        writeln!(self.child.stdin.as_mut().expect("piped"), "{name}|{what}").expect("the peer listens");
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("the peer answers");
        assert!(!line.is_empty(), "the peer stopped at {name}");
        line.trim().to_string()
    }
}
