//! Operations that read the device, for programs that must not wait for it: pages in a browser, servers.
//!
//! An operation that makes a pattern reads a number of the device in its middle, such as the number of elements. With
//! an asynchronous variant for each, all code between a user's call and the read would exist twice. Instead
//! [`without_blocking`] runs the ordinary code several times, as React (Suspense) renders a component again when its
//! data have arrived:
//!
//! - A run that comes to a read starts it and stops. (In a page it cannot stop: see `Answer`.)
//! - The read is awaited. Then the code runs again, and this time the read has its answer.
//! - The result of the first run without a new read is returned.
//!
//! So the work before a read is done again after it. Every run must take the same way. What may change between two runs
//! are caches, because the program does other things while it waits. So every cache asks by [`lookup`]: a run notes
//! what the cache had, and the next one gets the same. What is missing comes with the [`Room`] for it, which a run that
//! will be dropped leaves empty.

use burn::tensor::TensorData;
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::Arc;

#[cfg(any(feature = "gpu", feature = "remote"))]
use burn::tensor::{DType, Shape, try_read_sync};
#[cfg(any(feature = "gpu", feature = "remote"))]
use std::sync::atomic::{AtomicUsize, Ordering};

#[cfg(any(feature = "gpu", feature = "remote"))]
static READS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static RUN: RefCell<Option<Run>> = const { RefCell::new(None) };
    static ZEROS: Cell<bool> = const { Cell::new(false) };
}

/// What is awaited within `f` goes on with zeros, as in a page. For tests, on devices that drop what is written outside
/// of a buffer.
pub fn with_zeros<R>(f: impl FnOnce() -> R) -> R {
    struct End(bool);
    impl Drop for End {
        fn drop(&mut self) {
            ZEROS.set(self.0);
        }
    }
    let _end = End(ZEROS.replace(true));
    f()
}

const SAME: &str = "without_blocking: the closure must do the same in every run (draw random numbers outside)";

/// A read that has been started.
type Pending = Pin<Box<dyn Future<Output = TensorData> + Send>>;

/// How a run goes on from a read that has no answer yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// It does not: its stack is unwound, as by a panic.
    Stop,
    /// With zeros. For pages, whose code cannot be unwound. Zero is an answer that the device may give: no element, no
    /// wrong index. No kernel of this library is launched from here on: a result with no element has no room for what a
    /// kernel writes. What Burn's kernels write outside of a buffer WebGPU drops. When the run ends so does its result.
    Zeros,
    /// With the answer, for which it waits. For programs that abort in place of unwinding.
    Wait,
}

impl Default for Answer {
    fn default() -> Self {
        match () {
            () if cfg!(target_family = "wasm") || ZEROS.get() => Self::Zeros,
            () if cfg!(panic = "unwind") => Self::Stop,
            () => Self::Wait,
        }
    }
}

/// What a stopped run unwinds with.
struct Stopped;

/// What a run has learned, and how far it is in what the runs before it have learned.
#[derive(Default)]
struct Run {
    #[cfg_attr(not(any(feature = "gpu", feature = "remote")), allow(dead_code))]
    answer: Answer,
    steps: Vec<Step>,
    at: usize,
    pending: Option<Pending>,
    /// How many reads were answered by zeros.
    zeros: usize,
}

/// Something that may differ between two runs.
enum Step {
    /// What was read.
    #[cfg_attr(not(any(feature = "gpu", feature = "remote")), allow(dead_code))]
    Read(TensorData),
    /// What a cache had.
    Found(Option<Arc<dyn Any + Send + Sync>>),
}

impl Run {
    /// What an earlier run has learned at this point.
    fn next(&mut self) -> Option<&Step> {
        let step = self.steps.get(self.at)?;
        self.at += 1;
        Some(step)
    }

    fn learn(&mut self, step: Step) {
        self.steps.push(step);
        self.at += 1;
    }

    fn lookup<T: Clone + Send + Sync + 'static>(&mut self, find: impl FnOnce() -> Option<T>) -> Option<T> {
        match self.next() {
            Some(Step::Found(found)) => found.as_ref().map(|found| found.downcast_ref::<T>().expect(SAME).clone()),
            Some(Step::Read(_)) => panic!("{SAME}"),
            None => {
                let found = find();
                self.learn(Step::Found(found.clone().map(|found| Arc::new(found) as _)));
                found
            }
        }
    }
}

/// Source: React's Suspense, which renders a component again when the data have arrived that it asked for.
pub async fn without_blocking<T>(f: impl FnMut() -> T) -> T {
    replay(Run::default(), f).await
}

async fn replay<T>(mut run: Run, mut f: impl FnMut() -> T) -> T {
    loop {
        match once(&mut run, &mut f) {
            Ok(result) => return result,
            Err(pending) => {
                let data = pending.await;
                run.steps.push(Step::Read(data));
            }
        }
    }
}

/// One run: its result, or the first read that has no answer yet.
fn once<T>(run: &mut Run, f: impl FnOnce() -> T) -> Result<T, Pending> {
    /// Restores the run around this one, also if `f` panics.
    struct End(Option<Run>);
    impl Drop for End {
        fn drop(&mut self) {
            RUN.set(self.0.take());
        }
    }
    let end = End(RUN.replace(Some(Run { at: 0, zeros: 0, ..std::mem::take(run) })));
    let result = catch_unwind(AssertUnwindSafe(f));
    *run = RUN.take().expect("the run that was entered");
    drop(end);
    match (run.pending.take(), result) {
        (None, Ok(result)) => Ok(result),
        (Some(pending), Ok(_)) => Err(pending),
        // Code that catches what stops it may go on, and panic because of that.
        (Some(pending), Err(panic)) if panic.is::<Stopped>() || run.answer == Answer::Stop => Err(pending),
        (_, Err(panic)) => resume_unwind(panic),
    }
}

/// What a cache has, or the room for what it lacks. Inside of [`without_blocking`] it is what the cache had when an
/// earlier run asked at the same point.
///
/// # Errors
///
/// The room, if the cache has nothing.
pub fn lookup<T: Clone + Send + Sync + 'static>(find: impl FnOnce() -> Option<T>) -> Result<T, Room> {
    let found = RUN.with_borrow_mut(|run| match run {
        Some(run) if run.pending.is_none() => run.lookup(find),
        _ => find(),
    });
    found.ok_or(Room(()))
}

/// The room of a cache for a result.
#[derive(Debug)]
pub struct Room(());

impl Room {
    /// `made`, as the cache `keep`s it. A run that will be dropped keeps nothing, because `made` may come from zeros.
    pub fn fill<T>(self, made: T, keep: impl FnOnce(T) -> T) -> T {
        if is_dropped() { made } else { keep(made) }
    }
}

/// `make()`, which reads nothing from the device.
///
/// # Panics
///
/// If it reads nevertheless, because a kernel runs on the host, in a program that must not wait.
pub fn without_reads<T>(make: impl FnOnce() -> T) -> T {
    let before = zeros();
    let made = make();
    assert!(zeros() == before, "the device has no kernel for this step, and its results cannot be awaited here");
    made
}

/// Whether the caller runs [`without_blocking`].
pub(crate) fn is_running() -> bool {
    RUN.with(|run| run.try_borrow().map_or(true, |run| run.is_some()))
}

/// Whether the result of this run will be dropped.
pub fn is_dropped() -> bool {
    zeros() > 0
}

/// How many reads of this run were answered by zeros.
fn zeros() -> usize {
    // It is borrowed if the caller is the hook of a panic in here.
    RUN.with(|run| run.try_borrow().ok()?.as_ref().map(|run| run.zeros)).unwrap_or(0)
}

/// How often the library read a GPU tensor, or one of a remote device, to the host since the program started, by
/// [`read_data`](crate::read_data) or inside a kernel's body.
#[cfg(any(feature = "gpu", feature = "remote"))]
pub fn device_reads() -> usize {
    READS.load(Ordering::Relaxed)
}

/// The data of a tensor of a GPU or of a remote device. Waits for them, unless the caller runs [`without_blocking`].
#[cfg(any(feature = "gpu", feature = "remote"))]
pub(crate) fn read(shape: Shape, dtype: DType, data: impl Future<Output = TensorData> + Send + 'static) -> TensorData {
    let count = || READS.fetch_add(1, Ordering::Relaxed);
    let mut data: Option<Pending> = Some(Box::pin(data));
    let answer = RUN.with_borrow_mut(|run| {
        let run = run.as_mut().filter(|run| run.answer != Answer::Wait)?;
        if run.pending.is_none() {
            match run.next() {
                Some(Step::Read(data)) => return Some(Ok(data.clone())),
                Some(Step::Found(_)) => panic!("{SAME}"),
                None => {}
            }
            count();
            run.pending = data.take();
        }
        run.zeros += 1;
        Some(Err(run.answer))
    });
    match (answer, data) {
        (Some(Ok(data)), _) => data,
        (Some(Err(Answer::Zeros)), _) => {
            TensorData::from_bytes_vec(vec![0; shape.num_elements() * dtype.size()], shape, dtype)
        }
        (Some(Err(_)), _) => resume_unwind(Box::new(Stopped)),
        (None, data) => {
            count();
            try_read_sync(data.expect("it was not taken"))
                .expect("a page cannot wait for its GPU: call the `_async` form, or operations in `without_blocking`")
        }
    }
}

/// The answer to a question that is no read of a tensor. Waits for it.
#[cfg(feature = "remote")]
pub(crate) fn wait<T>(answer: impl Future<Output = T>) -> T {
    try_read_sync(answer).expect("remote: a page cannot wait for a server: remote devices are for native programs")
}

#[cfg(all(test, any(feature = "gpu", feature = "remote")))]
mod tests {
    use super::{Answer, Run, is_dropped, lookup, read, replay};
    use burn::tensor::{DType, TensorData};
    use std::cell::RefCell;
    use std::panic::catch_unwind;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    /// A number of the device, which arrives when it is asked for the second time.
    fn number(value: i32) -> i32 {
        let mut asked = false;
        let data = std::future::poll_fn(move |_| match std::mem::replace(&mut asked, true) {
            true => Poll::Ready(TensorData::from([value])),
            false => Poll::Pending,
        });
        read([1].into(), DType::I32, data).iter::<i32>().next().expect("one number")
    }

    /// The result, with what happens `between` two runs.
    fn drive<T>(answer: Answer, f: impl FnMut() -> T, between: impl Fn()) -> T {
        let mut future = pin!(replay(Run { answer, ..Run::default() }, f));
        loop {
            if let Poll::Ready(result) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                return result;
            }
            between();
        }
    }

    #[test]
    fn runs_learn_one_read_at_a_time() {
        let seen = RefCell::new(vec![]);
        for answer in [Answer::Zeros, Answer::Stop] {
            let result = drive(
                answer,
                || {
                    let [a, b] = [3, 4].map(number);
                    seen.borrow_mut().push((a, b, is_dropped()));
                    a * b
                },
                || assert!(!is_dropped(), "between runs there is none"),
            );
            assert_eq!(result, 12);
            assert_eq!(drive(answer, || 5, || panic!("nothing is read")), 5);
        }
        assert_eq!(seen.into_inner(), [(0, 0, true), (3, 0, true), (3, 4, false), (3, 4, false)]);
    }

    #[test]
    fn a_panic_of_the_code_is_its_own() {
        for answer in [Answer::Zeros, Answer::Stop] {
            let panic = catch_unwind(|| drive(answer, || assert_eq!(number(3), 4), || ()));
            assert!(panic.unwrap_err().is::<String>(), "not the panic of the assertion");
            assert!(!is_dropped());
        }
    }

    #[test]
    fn code_that_catches_its_stop_runs_again() {
        let caught = || catch_unwind(|| number(3)).expect("a number");
        assert_eq!(drive(Answer::Stop, caught, || ()), 3);
    }

    #[test]
    fn a_program_that_aborts_waits() {
        let ready = || read([1].into(), DType::I32, std::future::ready(TensorData::from([5])));
        assert_eq!(drive(Answer::Wait, || ready().iter::<i32>().sum::<i32>(), || panic!("it waits")), 5);
    }

    /// A cache that another task fills or empties while this one waits.
    #[test]
    fn caches_answer_as_at_first() {
        let cache = RefCell::new(None);
        let kept = || {
            lookup(|| *cache.borrow()).unwrap_or_else(|room| {
                room.fill(number(7), |made| {
                    *cache.borrow_mut() = Some(made);
                    made
                })
            })
        };
        for answer in [Answer::Zeros, Answer::Stop] {
            *cache.borrow_mut() = None;
            assert_eq!(drive(answer, || kept() + number(1), || *cache.borrow_mut() = Some(100)), 8);
            assert_eq!(drive(answer, || kept() + number(1), || *cache.borrow_mut() = None), 8);
        }
    }
}
