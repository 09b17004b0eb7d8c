//! Ranks that are threads of one process.

use super::collective::{Collective, Message};
use sparse_ops::{Result, SparseError};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// A rank that is a thread of this process.
///
/// Each thread works on a model of its own: [`fork`](burn::module::Module::fork) a clone, or make one and
/// [`broadcast`](super::broadcast). Messages are handed over without a copy. ([`parallel`](super) has an example.)
///
/// ```
/// use sparse_tensor::parallel::{Collective, Threads};
/// use std::sync::Arc;
/// use std::time::Duration;
///
/// let ranks = Threads::new(3, Duration::from_secs(10)).unwrap();
/// std::thread::scope(|scope| {
///     for mut rank in ranks {
///         scope.spawn(move || {
///             let own = rank.rank() as u8;
///             let parts = (0..rank.size()).map(|to| Arc::new(vec![10 * own + to as u8])).collect();
///             let got = rank.exchange(parts).unwrap();
///             assert_eq!(got.iter().map(|part| part[0]).collect::<Vec<_>>(), [own, 10 + own, 20 + own]);
///         });
///     }
/// });
/// ```
#[derive(Debug)]
pub struct Threads {
    rank: usize,
    /// To each rank; none to the own.
    to: Vec<Option<Sender<Message>>>,
    from: Vec<Option<Receiver<Message>>>,
    timeout: Duration,
    broken: Option<SparseError>,
}

impl Threads {
    /// So many ranks, each to be moved to a thread. A rank waits for another one up to `timeout` in an exchange, which
    /// must be above the time by which ranks are late, such as that of a batch.
    ///
    /// # Errors
    ///
    /// `invalid` for no ranks.
    pub fn new(size: usize, timeout: Duration) -> Result<Vec<Self>> {
        if size == 0 {
            return Err(SparseError::invalid("Threads::new", "there must be at least one rank, got 0"));
        }
        let rank = |rank| Self { rank, to: vec![], from: vec![], timeout, broken: None };
        let mut ranks: Vec<Self> = (0..size).map(rank).collect();
        for from in 0..size {
            for to in 0..size {
                let (sender, receiver) = (from != to).then(channel).unzip();
                ranks[from].to.push(sender);
                ranks[to].from.push(receiver);
            }
        }
        Ok(ranks)
    }
}

impl Threads {
    fn broken<T>(&mut self, error: SparseError) -> Result<T> {
        // The others hear of it at once: this rank is gone for them.
        self.to.fill_with(|| None);
        self.broken = Some(error.clone());
        Err(error)
    }
}

impl Collective for Threads {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.to.len()
    }

    fn exchange(&mut self, parts: Vec<Message>) -> Result<Vec<Message>> {
        const OP: &str = "Threads::exchange";
        if let Some(broken) = &self.broken {
            return Err(broken.clone());
        }
        if parts.len() != self.size() {
            let (expected, got) = (self.size(), parts.len());
            let error = SparseError::length_mismatch(OP, "the list of parts", expected, got);
            return self.broken(error);
        }
        let own = parts[self.rank].clone();
        // A rank that is gone is found below.
        let sent = parts.into_iter().zip(&self.to).filter_map(|(part, to)| Some(to.as_ref()?.send(part)));
        sent.for_each(drop);
        let mut received = Vec::with_capacity(self.size());
        for (rank, from) in self.from.iter().enumerate() {
            let trouble = match from.as_ref().map(|from| from.recv_timeout(self.timeout)) {
                None => {
                    received.push(own.clone());
                    continue;
                }
                Some(Ok(part)) => {
                    received.push(part);
                    continue;
                }
                Some(Err(RecvTimeoutError::Timeout)) => format!("was silent for {:?}", self.timeout),
                Some(Err(RecvTimeoutError::Disconnected)) => "has ended".into(),
            };
            let message = format!("all ranks must take part, got none of rank {rank}, which {trouble}");
            return self.broken(SparseError::invalid(OP, message));
        }
        Ok(received)
    }
}
