//! Limits on memory and time, of readers, conversions, tables and results that are far larger than what made them.

use sparse_core::narrow_limit;
use sparse_core::{Result, SparseError};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// The default limit: 2^28 elements, 1 GiB of f32.
const DEFAULT_LIMIT: usize = 1 << 28;
/// A dense result was asked for, a table was not: it may have a quarter of the elements. That is 256 MiB of pointers.
const TABLE_SHARE: usize = 4;
/// Memory that grows with what is read or held is no danger. It may be so many times as large.
const RATIO: usize = 64;
/// A compressed file of any length may become so many bytes: 64 MiB.
const INFLATED: u64 = 1 << 26;
/// What has no end, or one that moves, has so many bytes at most: 1 GiB.
const STREAMED: u64 = 1 << 30;

static LIMIT: AtomicUsize = AtomicUsize::new(DEFAULT_LIMIT);

/// What a reader of files or a conversion may take on this thread, where the default is too much or too little.
///
/// [`run`](Self::run) sets the limits for all that a closure does, on its thread: readers of `io` and
/// `data`, conversions of what they gave, and every other operation. Past a limit they give an error
/// that names it; a function without a `Result` panics with this error.
///
/// | limit | a reader | a dense result | row pointers and other tables |
/// |---|---|---|---|
/// | [`bytes`](Self::bytes) | bytes of the file, after decompression | its bytes | their bytes (\*) |
/// | [`elements`](Self::elements) | stored elements, edges, numbers of an array | its elements | their number (\*) |
/// | [`seconds`](Self::seconds) | since `run` began | | |
/// | [`follow_links`](Self::follow_links) | links out of a folder that it reads | | |
///
/// (\*) Only where there are more than 64 for each number that the tensor holds.
///
/// # Defaults
///
/// - A reader takes memory that is proportional to the bytes that it reads, whatever a header claims: at most 64 times
///   them, and a few buffers. So it reads files of any length. A compressed file may become 64 times as large, and
///   64 MiB in any case. A stream, which may never end, may have 1 GiB.
/// - A reader opens regular files only, which have an end. Pipes and devices are errors, at once: who wants one opens
///   it and gives it to a reader of streams. No link leads out of a folder that is read.
/// - A dense result may have [`dense_limit`](crate::dense_limit) elements. So may copies that a number asks for
///   (`expand`, `repeat_dim`, `kron`, `eye`), where there are more than 64 for each number that the operands hold.
/// - Compressed rows have a pointer for each row, and a few other operations make a table with a number for each index
///   of a dim. It may have 64 entries for each number that the tensor holds (each index and each element), and a
///   quarter of `dense_limit` in any case: 2^26 entries, 256 MiB. So a graph of 10 million nodes and few edges can be
///   converted; a line of text that claims a billion rows cannot.
/// - No limit of time. Readers and conversions make a fixed number of passes over what they read or make (and sort
///   it), so the limits of size are limits of time as well. `seconds` is for a source that is slow itself. Readers look
///   at the clock every MiB or more often, conversions never.
///
/// ```
/// use burn::tensor::Device;
/// use sparse_tensor::{Limits, io::matrix_market};
///
/// let text = "%%MatrixMarket matrix coordinate pattern general\n200000000 3 1\n7 1\n";
/// let read = || matrix_market::parse(text.as_bytes())?.to_csr(&Device::flex());
/// assert_eq!(read().unwrap_err().kind(), "would_densify"); // 800 MB of pointers for 67 bytes
/// assert!(Limits::new().bytes(text.len() - 1).run(read).is_err());
///
/// let text = text.replace("200000000", "2000");
/// let read = || matrix_market::parse(text.as_bytes())?.to_csr(&Device::flex());
/// assert_eq!(read().unwrap().dims(), [2000, 3]);
/// assert!(Limits::new().elements(1000).run(read).is_err());
/// assert!(Limits::new().elements(2001).seconds(60.0).run(read).is_ok());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    bytes: Option<usize>,
    elements: Option<usize>,
    seconds: Option<f64>,
    follow_links: bool,
}

impl Limits {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// The most bytes. `usize::MAX` takes the limit away.
    pub fn bytes(mut self, bytes: usize) -> Self {
        self.bytes = Some(bytes);
        self
    }

    /// The most elements, in place of [`dense_limit`](crate::dense_limit) too. `usize::MAX` takes the limit away.
    pub fn elements(mut self, elements: usize) -> Self {
        self.elements = Some(elements);
        self
    }

    /// The longest time that a reader may take, counted from the begin of [`run`](Self::run). NaN counts as none.
    pub fn seconds(mut self, seconds: f64) -> Self {
        self.seconds = Some(seconds);
        self
    }

    /// Whether readers of a folder follow links out of it. Without this they give an error that names the link. A path
    /// that the caller gives is always followed.
    pub fn follow_links(mut self, follow: bool) -> Self {
        self.follow_links = follow;
        self
    }

    /// Runs `work` within these limits. They hold on this thread until `work` ends, also by a panic. Inside another
    /// `run` they take the place of the outer ones: a limit that is not set is the default again.
    pub fn run<T>(self, work: impl FnOnce() -> T) -> T {
        struct Restore(Active);
        impl Drop for Restore {
            fn drop(&mut self) {
                ACTIVE.set(self.0);
            }
        }
        // The clock is not asked where nobody asks for it: some platforms have none.
        let since = self.seconds.map(|_| Instant::now());
        let _restore = Restore(ACTIVE.replace(Active { limits: self, since }));
        work()
    }
}

/// The limits of a thread, and when they began.
#[derive(Clone, Copy)]
struct Active {
    limits: Limits,
    since: Option<Instant>,
}

thread_local! {
    static ACTIVE: Cell<Active> = const {
        let limits = Limits { bytes: None, elements: None, seconds: None, follow_links: false };
        Cell::new(Active { limits, since: None })
    };
}

/// The largest number of elements of a `to_dense` result: that of [`Limits::elements`] on this thread, else that of the
/// process. A quarter of it is the largest number of rows for which an operation makes row pointers, if almost all rows
/// are empty; see [`Limits`].
pub fn dense_limit() -> usize {
    ACTIVE.get().limits.elements.unwrap_or_else(|| LIMIT.load(Ordering::Relaxed))
}

/// Sets the largest number of elements that `to_dense` gives, for the whole process.
pub fn set_dense_limit(elements: usize) {
    LIMIT.store(elements, Ordering::Relaxed);
}

/// What a reader that begins now may take in.
#[derive(Clone, Copy, Debug)]
pub struct Allowed {
    bytes: Option<usize>,
    elements: usize,
    /// When the time began, and the seconds of it.
    time: Option<(Instant, f64)>,
    follow_links: bool,
}

impl Allowed {
    /// By the limits of this thread.
    pub fn now() -> Self {
        let Active { limits, since } = ACTIVE.get();
        let Limits { bytes, elements, seconds, follow_links } = limits;
        Self { bytes, elements: elements.unwrap_or(usize::MAX), time: since.zip(seconds), follow_links }
    }

    /// The most bytes of a file of this length, or of a stream (0). A file may grow, and some the system makes without
    /// an end.
    pub fn bytes(self, length: u64) -> u64 {
        self.bytes.map_or(length.max(STREAMED), |bytes| bytes as u64)
    }

    /// Whether links out of a folder are followed.
    pub fn follows_links(self) -> bool {
        self.follow_links
    }

    /// The most bytes that `compressed` bytes may become.
    pub fn inflated(self, compressed: u64) -> u64 {
        let default = compressed.saturating_mul(RATIO as u64).max(INFLATED);
        self.bytes.map_or(default, |bytes| bytes as u64)
    }

    /// Error if so many elements are too many.
    pub fn check_elements(self, count: usize) -> Result<(), String> {
        if count <= self.elements {
            return Ok(());
        }
        Err(format!("there must be at most {} elements (Limits::elements), got {count} or more", self.elements))
    }

    /// The text of an error about more bytes than `limit`.
    pub fn too_long(limit: u64) -> String {
        format!("there must be at most {limit} bytes after decompression (Limits::bytes), got more")
    }

    /// Error if the time is over.
    pub fn check_time(self) -> Result<(), String> {
        match self.time {
            Some((since, seconds)) if seconds.is_nan() || since.elapsed().as_secs_f64() > seconds => {
                Err(format!("it must take at most {seconds} s (Limits::seconds), got more"))
            }
            _ => Ok(()),
        }
    }
}

/// Checks that row pointers for `rows` rows are not far larger than the `held` numbers that are in memory already.
///
/// # Errors
///
/// `would_densify` past the limits of [`Limits`].
pub fn check_rows(op: &'static str, rows: usize, held: usize) -> Result<()> {
    let hint = "compressed rows need a pointer for every row, and almost all are empty: use coordinates (to_coo), or \
                Limits::elements for a larger limit";
    check_table(op, ("the row pointers", rows as u128 + 1), rows, held, hint)
}

/// Error if a vector of length `size` would be far larger than the `held` numbers that are in memory already.
pub(crate) fn check_dim(op: &'static str, size: usize, held: usize) -> Result<()> {
    let hint = "use sum_dim or stored().count_dims, whose results are sparse: here there is a number for every index, \
                and almost all are empty (Limits::elements sets a larger limit)";
    check_table(op, ("the result", size as u128), size, held, hint)
}

/// Error if `size` is above the limit of [`Limits`] for tables and more than 64 times `held`. `what` names the table
/// and has its number of elements.
pub(crate) fn check_table(
    op: &'static str,
    (what, elements): (&'static str, u128),
    size: usize,
    held: usize,
    hint: &'static str,
) -> Result<()> {
    if size / RATIO <= held {
        return Ok(());
    }
    let limits = ACTIVE.get().limits;
    let most = limits.elements.unwrap_or(LIMIT.load(Ordering::Relaxed) / TABLE_SHARE) as u128;
    if elements > most {
        return Err(SparseError::WouldDensify { op, what, elements, limit: most, hint });
    }
    let width = if elements > narrow_limit() as u128 { size_of::<i64>() } else { size_of::<i32>() };
    check_bytes(op, what, elements, width)
}

/// Error if something dense has more `elements` than [`dense_limit`]. `what` names it.
///
/// # Errors
///
/// `would_densify`.
pub fn check_dense(op: &'static str, what: &'static str, elements: u128, hint: &'static str) -> Result<()> {
    let limit = dense_limit() as u128;
    match elements > limit {
        true => Err(SparseError::WouldDensify { op, what, elements, limit, hint }),
        false => Ok(()),
    }
}

/// Error if a result of so many `elements` would be far larger than the `held` numbers that it is made of.
pub(crate) fn check_copies(op: &'static str, elements: u128, held: usize) -> Result<()> {
    let what = "the stored elements";
    if elements / RATIO as u128 <= held as u128 {
        return Ok(());
    }
    let limit = dense_limit() as u128;
    if elements > limit {
        let hint = "each is stored: use a smaller size, or Limits::elements for a larger limit";
        return Err(SparseError::WouldDensify { op, what, elements, limit: limit.max(1), hint });
    }
    check_bytes(op, what, elements, size_of::<i64>())
}

/// Error if a result has more bytes than [`Limits::bytes`].
pub(crate) fn check_bytes(op: &'static str, what: &'static str, elements: u128, width: usize) -> Result<()> {
    let most = ACTIVE.get().limits.bytes.map(|bytes| (bytes / width.max(1)) as u128);
    match most.filter(|&limit| elements > limit) {
        None => Ok(()),
        Some(limit) => {
            let hint = "use a larger limit (Limits::bytes, here in elements)";
            // A limit of 0 means that no size is allowed.
            Err(SparseError::WouldDensify { op, what, elements, limit: limit.max(1), hint })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compressed_file_may_become_64_times_as_large_or_64_mib() {
        let inflated = |bytes| Allowed::now().inflated(bytes);
        assert_eq!([inflated(0), inflated(1 << 20), inflated(5 << 20)], [64 << 20, 64 << 20, 320 << 20]);
        assert_eq!(inflated(u64::MAX), u64::MAX);
        assert_eq!(Limits::new().bytes(7).run(|| inflated(5 << 20)), 7);
        assert_eq!([0, 7 << 30].map(|length| Allowed::now().bytes(length)), [1 << 30, 7 << 30]);
    }

    #[test]
    fn pointers_of_64_bits_count_twice() {
        let check = |bytes: usize, size: usize| {
            Limits::new().elements(usize::MAX).bytes(bytes).run(|| check_table("x", ("t", size as u128), size, 0, ""))
        };
        let (narrow, wide) = (i32::MAX as usize, i32::MAX as usize + 1);
        assert!(check(4 * narrow, narrow).is_ok() && check(4 * narrow - 1, narrow).is_err());
        assert!(check(8 * wide, wide).is_ok() && check(8 * wide - 1, wide).is_err());
    }
}
