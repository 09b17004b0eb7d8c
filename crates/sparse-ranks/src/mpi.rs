//! Ranks that are processes, over MPI.

use super::collective::{Collective, Message};
use mpi::environment::Universe;
use mpi::ffi;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{AsRaw, Communicator};
use mpi::{Threading, initialize_with_threading};
use sparse_ops::{Result, SparseError};
use std::ffi::c_int;
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, forget};
use std::sync::Arc;
use std::thread::{panicking, sleep, yield_now};
use std::time::{Duration, Instant};

/// The most bytes of an MPI message. Each that arrives is progress, so it must take less than any timeout.
const MOST: usize = 8 << 20;

/// Tags: the lengths of messages, and the messages.
const LENGTH: c_int = 0;
const BYTES: c_int = 1;

/// This process as a rank of those that `mpirun` started together, over Open MPI.
///
/// ```no_run
/// use sparse_tensor::parallel::{Collective, Mpi};
/// use std::time::Duration;
///
/// let mut ranks = Mpi::new(Duration::from_secs(60)).unwrap();
/// println!("rank {} of {}", ranks.rank(), ranks.size());
/// ```
///
/// ```text
/// mpirun -n 2 target/release/train
/// ```
///
/// - One for each process. It stays on its thread, and only that thread calls MPI. Other threads, such as those of a
///   loader, are free.
/// - If a process dies, `mpirun` ends the others at once. With `mpirun --enable-recovery` they go on, and an exchange
///   with the dead one is an error after the timeout, or earlier if Open MPI notices.
/// - After an error, and in a panic, dropping it does not wait for the other ranks. The process must end then, with an
///   exit code that is not 0: `mpirun` ends the rest.
/// - MPI itself has no timeouts for its start and its end: `mpirun --timeout SECONDS` bounds the whole run.
///
/// Messages that are under way when an exchange fails keep their memory until the process ends.
///
/// Needs the feature `mpi`, and at build time Open MPI and libclang.
pub struct Mpi {
    /// To drop these two waits for all ranks.
    universe: ManuallyDrop<Universe>,
    ranks: ManuallyDrop<SimpleCommunicator>,
    timeout: Duration,
    broken: Option<SparseError>,
    /// Only the thread that started MPI may call it.
    here: PhantomData<*const ()>,
}

/// Requests, and the memory that they read and write.
struct Pending {
    op: &'static str,
    requests: Vec<(usize, ffi::MPI_Request)>,
    sent: Vec<Message>,
    received: Vec<Vec<u8>>,
}

impl Mpi {
    /// Starts MPI in this process. In an exchange a rank waits up to `timeout` without any progress, so it must be
    /// above the time by which ranks are late, such as that of a batch. A process that was not started by `mpirun` is
    /// the only rank.
    ///
    /// # Errors
    ///
    /// `invalid` if MPI has been started in this process before.
    pub fn new(timeout: Duration) -> Result<Self> {
        const OP: &str = "Mpi::new";
        let Some((universe, _)) = initialize_with_threading(Threading::Funneled) else {
            return Err(SparseError::invalid(OP, "there must be one Mpi in a process, got a second one"));
        };
        let world = universe.world();
        // Messages of the program itself do not get mixed up with these.
        let ranks = world.duplicate();
        // A lost connection is an error here, and not the end of the process.
        for communicator in [world.as_raw(), ranks.as_raw()] {
            // SAFETY: MPI is running; both communicators are valid, and the handler is a constant of the library.
            unsafe {
                let handler = ffi::MPI_Errhandler((&raw mut ffi::ompi_mpi_errors_return).cast());
                check(OP, ffi::MPI_Comm_set_errhandler(communicator, handler))?;
            }
        }
        let (universe, ranks) = (ManuallyDrop::new(universe), ManuallyDrop::new(ranks));
        Ok(Self { universe, ranks, timeout, broken: None, here: PhantomData })
    }

    fn run(&self, parts: Vec<Message>) -> Result<Vec<Message>> {
        const OP: &str = "Mpi::exchange";
        let own = self.rank();
        let lengths: Vec<Message> =
            parts.iter().map(|part| Arc::new((part.len() as u64).to_ne_bytes().to_vec())).collect();
        let lengths = self.transfer(OP, LENGTH, lengths, vec![8; self.size()])?;
        let lengths = lengths.iter().map(|bytes| {
            let length = bytes.as_slice().try_into().map(u64::from_ne_bytes);
            length.ok().and_then(|length| usize::try_from(length).ok()).expect("8 bytes were received")
        });
        let mut lengths: Vec<usize> = lengths.collect();
        lengths[own] = 0;
        let kept = parts[own].clone();
        let received = self.transfer(OP, BYTES, parts, lengths)?;
        let received = received.into_iter().enumerate();
        Ok(received.map(|(rank, bytes)| if rank == own { kept.clone() } else { Arc::new(bytes) }).collect())
    }

    /// Sends a part to each rank, and receives so many bytes from each.
    fn transfer(&self, op: &'static str, tag: c_int, sent: Vec<Message>, lengths: Vec<usize>) -> Result<Vec<Vec<u8>>> {
        let own = self.rank();
        let received = lengths.into_iter().map(|length| vec![0; length]).collect();
        let mut pending = Pending { op, requests: vec![], sent, received };
        let ranks = self.ranks.as_raw();
        for rank in (0..self.size()).filter(|rank| *rank != own) {
            for bytes in pending.received[rank].chunks_mut(MOST) {
                let mut request = null();
                // SAFETY: MPI is running. The slice is valid for writes and is not touched, moved or freed until the
                // request is complete: `Pending` owns its vector and leaks it while a request may be open.
                let code = unsafe {
                    let (data, count) = (bytes.as_mut_ptr().cast(), bytes.len() as c_int);
                    ffi::MPI_Irecv(data, count, ffi::RSMPI_UINT8_T, rank as c_int, tag, ranks, &mut request)
                };
                pending.requests.push((rank, request));
                check(op, code)?;
            }
        }
        for rank in (0..self.size()).filter(|rank| *rank != own) {
            for bytes in pending.sent[rank].chunks(MOST) {
                let mut request = null();
                // SAFETY: As above; the slice is valid for reads and nobody writes it, because `Pending` shares it.
                let code = unsafe {
                    let (data, count) = (bytes.as_ptr().cast(), bytes.len() as c_int);
                    ffi::MPI_Isend(data, count, ffi::RSMPI_UINT8_T, rank as c_int, tag, ranks, &mut request)
                };
                pending.requests.push((rank, request));
                check(op, code)?;
            }
        }
        pending.wait(self.timeout)?;
        Ok(std::mem::take(&mut pending.received))
    }
}

impl Pending {
    /// Returns when all requests are complete, or none was for so long.
    fn wait(&mut self, timeout: Duration) -> Result<()> {
        let (mut progress, mut idle) = (Instant::now(), 0u32);
        while !self.requests.is_empty() {
            let before = self.requests.len();
            let mut at = 0;
            while at < self.requests.len() {
                let mut done = 0;
                // SAFETY: The request was made by MPI, has not completed, and is dropped from the list once it has.
                let code = unsafe { ffi::MPI_Test(&mut self.requests[at].1, &mut done, ffi::RSMPI_STATUS_IGNORE) };
                if code != 0 {
                    let rank = self.requests[at].0;
                    let rule = format!("all ranks must take part, got an error with rank {rank}");
                    return Err(SparseError::invalid(self.op, format!("{rule}: {}", text(code))));
                }
                if done != 0 {
                    self.requests.swap_remove(at);
                } else {
                    at += 1;
                }
            }
            if self.requests.len() < before {
                (progress, idle) = (Instant::now(), 0);
                continue;
            }
            let waited = progress.elapsed();
            if waited > timeout {
                let mut silent: Vec<usize> = self.requests.iter().map(|(rank, _)| *rank).collect();
                silent.sort_unstable();
                silent.dedup();
                let rule = "all ranks must take part, got none of rank";
                let message = format!("{rule} {silent:?}, which was silent for {timeout:?}");
                return Err(SparseError::invalid(self.op, message));
            }
            // Other ranks may need this core.
            idle += 1;
            if idle < 1_000 || waited < Duration::from_millis(5) {
                yield_now();
            } else {
                sleep(Duration::from_micros(200));
            }
        }
        Ok(())
    }
}

impl Drop for Pending {
    /// MPI may still read and write the memory of open requests.
    fn drop(&mut self) {
        if !self.requests.is_empty() {
            forget((std::mem::take(&mut self.sent), std::mem::take(&mut self.received)));
        }
    }
}

/// A request that is none yet.
fn null() -> ffi::MPI_Request {
    // SAFETY: A constant of the library.
    unsafe { ffi::RSMPI_REQUEST_NULL }
}

fn check(op: &'static str, code: c_int) -> Result<()> {
    if code == 0 {
        return Ok(());
    }
    Err(SparseError::invalid(op, format!("MPI must be running, got an error: {}", text(code))))
}

/// What MPI says of an error.
fn text(code: c_int) -> String {
    let mut text = vec![0u8; ffi::MPI_MAX_ERROR_STRING as usize];
    let mut length = 0;
    // SAFETY: The buffer has the length that the standard asks for.
    unsafe { ffi::MPI_Error_string(code, text.as_mut_ptr().cast(), &mut length) };
    String::from_utf8_lossy(&text[..length.clamp(0, text.len() as c_int) as usize]).into_owned()
}

impl Collective for Mpi {
    fn rank(&self) -> usize {
        self.ranks.rank() as usize
    }

    fn size(&self) -> usize {
        self.ranks.size() as usize
    }

    fn exchange(&mut self, parts: Vec<Message>) -> Result<Vec<Message>> {
        if let Some(broken) = &self.broken {
            return Err(broken.clone());
        }
        let (expected, got) = (self.size(), parts.len());
        if expected != got {
            let what = "the list of parts";
            let error = SparseError::length_mismatch("Mpi::exchange", what, expected, got);
            self.broken = Some(error.clone());
            return Err(error);
        }
        let received = self.run(parts);
        self.broken = received.as_ref().err().cloned();
        received
    }
}

impl Drop for Mpi {
    fn drop(&mut self) {
        if self.broken.is_none() && !panicking() {
            // SAFETY: They are dropped once, here, and not used afterwards.
            unsafe {
                ManuallyDrop::drop(&mut self.ranks);
                ManuallyDrop::drop(&mut self.universe);
            }
        }
    }
}

impl std::fmt::Debug for Mpi {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Mpi(rank {} of {}, timeout {:?})", self.rank(), self.size(), self.timeout)
    }
}
