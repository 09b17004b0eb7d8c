//! The other process, which runs the libraries that are compared.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

/// Python with the peers, if `SPARSE_PEER_PYTHON` names one.
pub(crate) struct Peer(Option<(Child, BufReader<ChildStdout>)>);

/// What the peer says of a call.
pub(crate) struct Answer {
    pub seconds: f64,
    /// Bytes of memory that it needed at most, beyond those before.
    pub peak: f64,
}

impl Peer {
    pub(crate) fn start(folder: &Path, threads: usize) -> Self {
        let Ok(python) = std::env::var("SPARSE_PEER_PYTHON") else { return Self(None) };
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/peers/peers.py");
        let mut child = Command::new(python)
            .args([script.as_ref(), folder.as_os_str(), threads.to_string().as_ref()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .expect("the peer starts");
        let answers = BufReader::new(child.stdout.take().expect("piped"));
        Self(Some((child, answers)))
    }

    fn ask(&mut self, name: &str, what: &str) -> Option<String> {
        let (child, answers) = self.0.as_mut()?;
        writeln!(child.stdin.as_mut().expect("piped"), "{name}|{what}").expect("the peer listens");
        let mut line = String::new();
        answers.read_line(&mut line).expect("the peer answers");
        assert!(!line.is_empty(), "the peer stopped at {name}");
        Some(line.trim().to_string())
    }

    fn numbers(&mut self, name: &str, what: &str) -> Option<Vec<f64>> {
        let line = self.ask(name, what)?;
        Some(line.split_whitespace().map(|word| word.parse().expect("a number")).collect())
    }

    /// The libraries that have this work.
    pub(crate) fn of(&mut self, name: &str) -> Vec<String> {
        let names = self.ask(name, "peers").unwrap_or_default();
        names.split('|').filter(|peer| !peer.is_empty()).map(str::to_string).collect()
    }

    /// The sum of each result.
    pub(crate) fn sums(&mut self, name: &str, peer: &str) -> Option<Vec<f64>> {
        self.numbers(name, &format!("{peer}|check"))
    }

    /// One call.
    pub(crate) fn time(&mut self, name: &str, peer: &str) -> Option<Answer> {
        let [seconds, peak] = self.numbers(name, &format!("{peer}|time"))?[..] else { panic!("two numbers") };
        Some(Answer { seconds, peak })
    }
}
