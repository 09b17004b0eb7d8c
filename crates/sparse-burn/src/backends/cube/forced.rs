//! Settings that a test forces, so that a small problem reaches every path, and a record of the kernels launched.

use std::cell::RefCell;
use std::collections::BTreeSet;

/// How cells of `put` are reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// A unit for each.
    Short,
    /// A unit for each, but a cube for those that have more elements than one unit takes.
    Hybrid,
}

/// Values that replace those a strategy would choose. `None` leaves the choice to the strategy.
#[derive(Clone, Copy, Debug, Default)]
pub struct Forced {
    /// Most cubes along the first axis of a grid, if the device allows more.
    pub cubes: Option<usize>,
    /// How cells of `put` are reduced.
    pub path: Option<Path>,
    /// Elements that one unit takes at most. Of a row: those that are not left to a cube. A chunk of a cell of `put`
    /// has eight times as many.
    pub patience: Option<usize>,
    /// Elements of a row that one cube takes, rounded up to a multiple of the patience.
    pub chunk: Option<usize>,
    /// Elements that a unit scans or sorts, if shared memory holds as many. For running sums at least two.
    pub items: Option<usize>,
    /// Most buffers that a kernel binds, without the one that has the sizes. A launch that binds more panics.
    pub bindings: Option<usize>,
    /// Bytes of the largest buffer. The host runs the kernels that need a larger one.
    pub buffer: Option<u64>,
    /// Bytes of memory that the units of a cube share, if the device has more.
    pub shared: Option<usize>,
    /// Whether addresses have 64 bits, as for more than 2^32 elements, where the device has such addresses.
    pub wide: bool,
}

struct Scope {
    forced: Forced,
    launched: BTreeSet<&'static str>,
    launches: usize,
    /// Arguments made for the next launch.
    args: usize,
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
    let end = End(SCOPE.replace(Some(Scope { forced, launched: BTreeSet::new(), launches: 0, args: 0 })));
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

/// Counts an argument of the next launch.
pub(super) fn bind() {
    SCOPE.with_borrow_mut(|scope| scope.as_mut().map(|scope| scope.args += 1));
}

/// Ends the count of a launch.
pub(super) fn bound(kernel: &str) {
    let Some((args, most)) = SCOPE
        .with_borrow_mut(|scope| scope.as_mut().map(|scope| (std::mem::take(&mut scope.args), scope.forced.bindings)))
    else {
        return;
    };
    let most = most.unwrap_or(usize::MAX);
    assert!(args <= most, "{kernel} must bind at most {most} buffers, got {args}");
}
