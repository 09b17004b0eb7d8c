//! Settings that a test forces, so that a small problem reaches every path, and a record of the kernels launched.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

/// How rows are combined, or cells of `put`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// A unit for each.
    Short,
    /// A cube for each.
    Long,
    /// A unit for each, but a cube for those that have more elements than one unit takes.
    Hybrid,
}

/// Values that replace those a strategy would choose. `None` leaves the choice to the strategy.
#[derive(Clone, Copy, Debug, Default)]
pub struct Forced {
    /// Most cubes along the first axis of a grid, if the device allows more.
    pub cubes: Option<usize>,
    /// How rows are combined, and cells of `put` (which have no [`Path::Long`]).
    pub path: Option<Path>,
    /// Elements that one unit takes at most.
    pub patience: Option<usize>,
    /// Elements that a unit scans or sorts. For running sums at least two.
    pub items: Option<usize>,
    /// Bytes of the largest buffer. The host runs the kernels that need a larger one.
    pub buffer: Option<u64>,
    /// Whether addresses have 64 bits, as for more than 2^32 elements, where the device has such addresses.
    pub wide: bool,
}

struct Scope {
    forced: Forced,
    launched: BTreeSet<&'static str>,
}

thread_local! {
    static LAUNCHES: Cell<usize> = const { Cell::new(0) };
    static SCOPE: RefCell<Option<Scope>> = const { RefCell::new(None) };
}

/// Runs `f` with settings forced on this thread. Also returns the kernels that were launched, and other notes.
pub fn forced<R>(forced: Forced, f: impl FnOnce() -> R) -> (R, BTreeSet<&'static str>) {
    /// Ends the scope also if a test fails.
    struct End(Option<Scope>);
    impl Drop for End {
        fn drop(&mut self) {
            SCOPE.set(self.0.take());
        }
    }
    let end = End(SCOPE.replace(Some(Scope { forced, launched: BTreeSet::new() })));
    let result = f();
    let scope = SCOPE.take().expect("the scope that was entered");
    drop(end);
    (result, scope.launched)
}

/// The settings that a test forces now.
pub(super) fn now() -> Forced {
    SCOPE.with_borrow(|scope| scope.as_ref().map_or_else(Forced::default, |scope| scope.forced))
}

/// Notes how a kernel is launched, for the test that forces it.
pub(super) fn note(what: &'static str) {
    SCOPE.with_borrow_mut(|scope| scope.as_mut().map(|scope| scope.launched.insert(what)));
}

/// Counts a launch, and notes its kernel.
pub(super) fn note_launch(kernel: &'static str) {
    LAUNCHES.set(LAUNCHES.get() + 1);
    note(kernel);
}

/// How many kernels of this library this thread has launched.
pub fn launches() -> usize {
    LAUNCHES.get()
}
