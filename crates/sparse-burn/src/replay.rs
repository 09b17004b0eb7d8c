//! Operations that read the device, for programs that must not wait for it: pages in a browser, servers.
//!
//! An operation that makes a pattern reads a number of the device in its middle, such as the number of elements. With
//! an asynchronous twin for each, all code between a user's call and the read would exist twice. Instead
//! [`without_blocking`] runs the ordinary code several times, as React (Suspense) renders a component again when its
//! data have arrived:
//!
//! - A run that comes to a read starts it and goes on with zeros in its place. Zero is an answer that the device may
//!   give: no element, no wrong index. No kernel of this library is launched then, because a result with no element
//!   has no room for what a kernel writes. When the run ends its result is dropped.
//! - The read is awaited. Then the code runs again, and this time the read has its answer.
//! - The result of the first run without a new read is returned.
//!
//! So the work before a read is done again after it. Every run must take the same way. What may change between two runs
//! are caches, because the program does other things while it waits. So a run notes what each cache answered, and
//! the next one gets the same answers ([`lookup`]). A run that will be dropped fills no cache ([`is_dropped`]).

use burn::tensor::TensorData;
use std::any::Any;
use std::cell::RefCell;
use std::pin::Pin;
use std::sync::Arc;

#[cfg(feature = "gpu")]
use burn::tensor::{DType, Shape, try_read_sync};
#[cfg(feature = "gpu")]
use std::sync::atomic::{AtomicUsize, Ordering};

#[cfg(feature = "gpu")]
static READS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static RUN: RefCell<Option<Run>> = const { RefCell::new(None) };
}

const SAME: &str = "without_blocking: the closure must do the same in every run (draw random numbers outside)";

/// A read that has been started.
type Pending = Pin<Box<dyn Future<Output = TensorData> + Send>>;

/// What a run has learned, and how far it is in what the runs before it have learned.
#[derive(Default)]
struct Run {
    steps: Vec<Step>,
    at: usize,
    pending: Option<Pending>,
    /// How many reads were answered by zeros.
    zeros: usize,
}

/// Something that may differ between two runs.
enum Step {
    /// What was read.
    #[cfg_attr(not(feature = "gpu"), allow(dead_code))]
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
pub async fn without_blocking<T>(mut f: impl FnMut() -> T) -> T {
    let mut run = Run::default();
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
    let result = f();
    *run = RUN.take().expect("the run that was entered");
    drop(end);
    match run.pending.take() {
        None => Ok(result),
        Some(pending) => Err(pending),
    }
}

/// What a cache has: inside of [`without_blocking`] what it had when an earlier run asked at the same point.
pub fn lookup<T: Clone + Send + Sync + 'static>(find: impl FnOnce() -> Option<T>) -> Option<T> {
    RUN.with_borrow_mut(|run| match run {
        Some(run) if run.pending.is_none() => run.lookup(find),
        _ => find(),
    })
}

/// Whether the result of this run will be dropped. It may come from zeros, so no cache may keep it.
pub fn is_dropped() -> bool {
    zeros() > 0
}

/// How many reads of this run were answered by zeros.
pub fn zeros() -> usize {
    // It is borrowed if the caller is the hook of a panic in here.
    RUN.with(|run| run.try_borrow().ok()?.as_ref().map(|run| run.zeros)).unwrap_or(0)
}

/// How often the library read a GPU tensor to the host since the program started, by [`read_data`](crate::read_data) or
/// inside a kernel's body.
#[cfg(feature = "gpu")]
pub fn device_reads() -> usize {
    READS.load(Ordering::Relaxed)
}

/// The data of a tensor of a GPU. Waits for them, unless the caller runs [`without_blocking`].
#[cfg(feature = "gpu")]
pub(crate) fn read(shape: Shape, dtype: DType, data: impl Future<Output = TensorData> + Send + 'static) -> TensorData {
    let count = || READS.fetch_add(1, Ordering::Relaxed);
    let answer = RUN.with_borrow_mut(|run| {
        let run = run.as_mut()?;
        if run.pending.is_none() {
            match run.next() {
                Some(Step::Read(data)) => return Some(Ok(data.clone())),
                Some(Step::Found(_)) => panic!("{SAME}"),
                None => {}
            }
        }
        run.zeros += 1;
        Some(Err(run.pending.is_none()))
    });
    match answer {
        Some(Ok(data)) => data,
        Some(Err(is_first)) => {
            if is_first {
                count();
                RUN.with_borrow_mut(|run| run.as_mut().expect("the run above").pending = Some(Box::pin(data)));
            }
            TensorData::from_bytes_vec(vec![0; shape.num_elements() * dtype.size()], shape, dtype)
        }
        None => {
            count();
            try_read_sync(data).expect(
                "a page cannot wait for its GPU: call the `_async` twin, or several operations in `without_blocking`",
            )
        }
    }
}

#[cfg(all(test, feature = "gpu"))]
mod tests {
    use super::{is_dropped, lookup, read, without_blocking};
    use burn::tensor::{DType, TensorData};
    use std::cell::RefCell;
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
    fn drive<T>(f: impl FnMut() -> T, between: impl Fn()) -> T {
        let mut future = pin!(without_blocking(f));
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
        let result = drive(
            || {
                let [a, b] = [3, 4].map(number);
                seen.borrow_mut().push((a, b, is_dropped()));
                a * b
            },
            || assert!(!is_dropped(), "between runs there is none"),
        );
        assert_eq!(result, 12);
        assert_eq!(seen.into_inner(), [(0, 0, true), (3, 0, true), (3, 4, false)]);
        assert_eq!(drive(|| 5, || panic!("nothing is read")), 5);
    }

    /// A cache that another task fills or empties while this one waits.
    #[test]
    fn caches_answer_as_at_first() {
        let cache = RefCell::new(None);
        let kept = || {
            if let Some(found) = lookup(|| *cache.borrow()) {
                return found;
            }
            let made = number(7);
            if !is_dropped() {
                *cache.borrow_mut() = Some(made);
            }
            made
        };
        assert_eq!(drive(|| kept() + number(1), || *cache.borrow_mut() = Some(100)), 8);
        assert_eq!(drive(|| kept() + number(1), || *cache.borrow_mut() = None), 8);
    }
}
