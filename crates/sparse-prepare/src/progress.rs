//! What is told while it works.

use crate::options::Stage;

/// Hears what is done. Calls come from one thread at a time, some times a second.
pub trait Progress: Send + Sync {
    /// A stage begins, or (`resumed`) was finished by an earlier run.
    fn stage(&self, stage: Stage, resumed: bool);
    /// Rows that the stage has read so far. Of a plan on a cluster: that came back.
    fn read(&self, rows: u64);
    /// Rows that it has written so far.
    fn written(&self, rows: u64);
    /// Bytes that a plan of the stage brought to the disk because memory did not hold them. Of a plan on a cluster that
    /// is not known: 0.
    fn spilled(&self, bytes: u64);
}

/// Tells nobody.
pub struct Silent;

impl Progress for Silent {
    fn stage(&self, _: Stage, _: bool) {}
    fn read(&self, _: u64) {}
    fn written(&self, _: u64) {}
    fn spilled(&self, _: u64) {}
}
