//! Strategies that a test chooses, so that a small problem reaches every path, and what was launched while it did.

use std::cell::RefCell;
use std::collections::BTreeSet;

/// How rows are combined, or cells of `put`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// A unit for each.
    Short,
    /// A cube for each.
    Long,
    /// A unit for each, but for those of more elements than one unit takes: these have a cube.
    Hybrid,
}

/// What strategies are told in place of what they would choose; `None` leaves it to them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Forced {
    /// Most cubes along the first axis of a grid, however many the device takes.
    pub cubes: Option<usize>,
    /// How rows are combined, and cells of `put` (which have no [`Path::Long`]).
    pub path: Option<Path>,
    /// Elements that one unit takes at most.
    pub patience: Option<usize>,
    /// Elements that a unit scans or sorts. For running sums at least two.
    pub items: Option<usize>,
    /// Bytes of the largest buffer. Kernels that would need a larger one are left to the host.
    pub buffer: Option<u64>,
}

struct Scope {
    forced: Forced,
    launched: BTreeSet<&'static str>,
}

thread_local! {
    static SCOPE: RefCell<Option<Scope>> = const { RefCell::new(None) };
}

/// Runs `f` with strategies forced on this thread. Also the kernels that it launched, and what else strategies noted.
pub fn forced<R>(forced: Forced, f: impl FnOnce() -> R) -> (R, BTreeSet<&'static str>) {
    /// Ends the scope when a test fails, too.
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

/// What a test forces now.
pub(super) fn now() -> Forced {
    SCOPE.with_borrow(|scope| scope.as_ref().map_or_else(Forced::default, |scope| scope.forced))
}

/// Notes a launch, or how it is made, for the test that forces it.
pub(super) fn note(what: &'static str) {
    SCOPE.with_borrow_mut(|scope| scope.as_mut().map(|scope| scope.launched.insert(what)));
}
