//! Settings that a test forces, so that a small problem reaches every path, and a record of the kernels launched.

use std::cell::RefCell;
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
    /// Elements that a unit scans or sorts, if shared memory holds as many. For running sums at least two.
    pub items: Option<usize>,
    /// Bytes of the largest buffer. The host runs the kernels that need a larger one.
    pub buffer: Option<u64>,
    /// Whether addresses have 64 bits, as for more than 2^32 elements, where the device has such addresses.
    pub wide: bool,
}

struct Scope {
    forced: Forced,
    launched: BTreeSet<&'static str>,
    launches: usize,
}

thread_local! {
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
    let end = End(SCOPE.replace(Some(Scope { forced, launched: BTreeSet::new(), launches: 0 })));
    let result = f();
    let scope = SCOPE.take().expect("the scope that was entered");
    drop(end);
    (result, scope.launched)
}

/// How many kernels of this library were launched on this thread since [`forced`] called its function.
pub fn launches() -> usize {
    SCOPE.with_borrow(|scope| scope.as_ref().map_or(0, |scope| scope.launches))
}

/// The settings that a test forces now.
pub(super) fn now() -> Forced {
    SCOPE.with_borrow(|scope| scope.as_ref().map_or_else(Forced::default, |scope| scope.forced))
}

/// Notes the name of a kernel, or how it is launched, for the test that forces it.
pub(super) fn note(what: &'static str) {
    SCOPE.with_borrow_mut(|scope| scope.as_mut().map(|scope| scope.launched.insert(what)));
}

/// Notes the launch of a kernel.
pub(super) fn launch(kernel: &'static str) {
    note(kernel);
    SCOPE.with_borrow_mut(|scope| scope.as_mut().map(|scope| scope.launches += 1));
}
