//! Memory for large outputs: blocks that are used again, and huge pages for new ones.
//!
//! A new large block costs a page fault for each 4 KiB that is written first. This can take longer than the kernel. So
//! the memory of a dropped output is kept and becomes that of a later one. What is kept is bounded
//! ([`set_pool_limit`]), is given back on demand ([`release_pool`]), and is visible ([`memory_report`]).
//!
//! Kept blocks are vectors of plain words, so this needs no `unsafe` code. Huge pages need a system call. A higher
//! crate may register a function that makes it.

use bytemuck::Pod;
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// Blocks of at least this many bytes are kept. It is the size from which glibc asks the system for each block.
const LARGE: usize = 128 << 10;

/// New blocks of at least this many bytes are reported to the hook. It is the size of a huge page on x86-64, so most of
/// these blocks contain a whole one.
const HUGE: usize = 2 << 20;

/// A block is dropped when this many others were kept after it.
const KEPT: u64 = 1024;

static HOOK: OnceLock<fn(*mut u8, usize)> = OnceLock::new();
static POOL: Mutex<Pool> = Mutex::new(Pool::new());

/// Registers a function that receives the address and the length in bytes of each large block before it is written.
///
/// The function should pass a hint to the operating system, such as `madvise(MADV_HUGEPAGE)` for the pages inside the
/// range. It must not read or write the memory. Only the first registration in a process takes effect; the return value
/// tells whether it was this one.
pub fn set_large_alloc_hook(hook: fn(*mut u8, usize)) -> bool {
    HOOK.set(hook).is_ok()
}

/// A vector of `len` zeros. If its memory is new, the operating system maps the pages of a large one on the first
/// write, for the thread that writes.
pub fn zeroed<T: Pod>(len: usize) -> Vec<T> {
    match take(len) {
        Some(mut used) => {
            used.fill(T::zeroed());
            used
        }
        None => fresh(len),
    }
}

/// A vector of `len` elements for a kernel that writes each of them. It holds zeros or what a dropped output held.
///
/// With debug assertions it holds a pattern of bits that is neither, so tests find a kernel that leaves an element
/// unwritten.
pub fn unwritten<T: Pod>(len: usize) -> Vec<T> {
    let mut out = take(len).unwrap_or_else(|| fresh(len));
    if cfg!(debug_assertions) {
        bytemuck::cast_slice_mut::<T, u8>(&mut out).fill(0xa5);
    }
    out
}

/// A vector of `len` default values, of any type, in new memory: pages that nobody writes cost nothing.
pub(crate) fn defaults<T: Copy + Default>(len: usize) -> Vec<T> {
    let mut out = vec![T::default(); len];
    advise(&mut out);
    out
}

/// A copy of a slice.
pub fn copied<T: Pod>(src: &[T]) -> Vec<T> {
    let mut out = take(src.len()).unwrap_or_else(|| fresh(src.len()));
    out.copy_from_slice(src);
    out
}

/// Keeps the memory of an output for a later one. Without effect on a small one.
pub fn recycle<T: Pod>(used: Vec<T>) {
    let dropped = Block::new(used).map(|block| pool().keep(block));
    // The system takes its time to unmap, so this is outside the lock.
    drop(dropped);
}

/// Memory that a kernel needs while it runs. It is recycled when dropped.
#[derive(Debug)]
pub(crate) struct Scratch<T: Pod>(Vec<T>);

impl<T: Pod> Scratch<T> {
    /// Like [`unwritten`].
    pub(crate) fn unwritten(len: usize) -> Self {
        Self(unwritten(len))
    }
}

impl<T: Pod> core::ops::Deref for Scratch<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T: Pod> core::ops::DerefMut for Scratch<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

impl<T: Pod> Drop for Scratch<T> {
    fn drop(&mut self) {
        recycle(core::mem::take(&mut self.0));
    }
}

/// What the pool of large blocks holds and has done since the process began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryReport {
    /// Most bytes that the pool keeps.
    pub limit: usize,
    /// Bytes that it keeps now. No tensor uses them.
    pub held: usize,
    /// Blocks that it keeps now.
    pub blocks: usize,
    /// Large outputs that got a kept block.
    pub reused: u64,
    /// Large outputs that needed new memory.
    pub fresh: u64,
    /// Blocks that were given back to the system: the pool was full, or they were not used for long.
    pub dropped: u64,
}

/// The state of the pool.
pub fn memory_report() -> MemoryReport {
    let pool = pool();
    MemoryReport {
        limit: pool.limit(),
        held: pool.held,
        blocks: pool.ages.len(),
        reused: pool.reused,
        fresh: pool.fresh,
        dropped: pool.dropped,
    }
}

/// Sets how many bytes the pool may keep. With 0 it keeps none. What is beyond the limit is given back at once. The
/// default is a quarter of the memory of the machine (or of its control group, on Linux), and 1 GiB where that is
/// unknown.
pub fn set_pool_limit(bytes: usize) {
    let dropped = {
        let mut pool = pool();
        pool.limit = Some(bytes);
        pool.shrink(bytes)
    };
    drop(dropped);
}

/// Gives all that the pool keeps back to the system, and returns how many bytes that were.
pub fn release_pool() -> usize {
    let dropped = pool().shrink(0);
    dropped.iter().map(Block::bytes).sum()
}

fn pool() -> MutexGuard<'static, Pool> {
    POOL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// New memory, zeroed by the system.
fn fresh<T: Pod>(len: usize) -> Vec<T> {
    let capacity = if is_kept::<T>(len) { class(len * size_of::<T>()) / size_of::<T>() } else { len };
    let mut out = vec![T::zeroed(); capacity];
    advise(&mut out);
    out.truncate(len);
    out
}

fn advise<T>(out: &mut Vec<T>) {
    let bytes = out.capacity().saturating_mul(size_of::<T>());
    if bytes >= HUGE
        && let Some(hook) = HOOK.get()
    {
        hook(out.as_mut_ptr().cast(), bytes);
    }
}

/// A kept block for `len` elements, with what it held.
fn take<T: Pod>(len: usize) -> Option<Vec<T>> {
    if !is_kept::<T>(len) {
        return None;
    }
    let mut used = pool().take(class(len * size_of::<T>()), align_of::<T>())?.elements()?;
    // A few elements at the end, where the last user had fewer.
    used.resize(len, T::zeroed());
    Some(used)
}

/// Whether an output is large, and of words that [`Block`] has.
fn is_kept<T>(len: usize) -> bool {
    let bytes = len.saturating_mul(size_of::<T>());
    (LARGE..isize::MAX as usize / 2).contains(&bytes) && size_of::<T>().is_power_of_two() && size_of::<T>() <= 16
}

/// The size of the block for an output: at most an eighth more, so that outputs of about equal size can take turns.
fn class(bytes: usize) -> usize {
    bytes.next_multiple_of(step(bytes))
}

/// The distance of two classes.
fn step(bytes: usize) -> usize {
    1 << (bytes.ilog2() - 3)
}

/// A kept vector.
#[derive(Debug)]
enum Block {
    B1(Vec<u8>),
    B2(Vec<u16>),
    B4(Vec<u32>),
    B8(Vec<u64>),
    B16(Vec<u128>),
}

impl Block {
    /// None if the vector is not large or its type is no word, or if its size is that of no class: nobody would take
    /// it.
    fn new<T: Pod>(list: Vec<T>) -> Option<Self> {
        let bytes = list.capacity() * size_of::<T>();
        if !is_kept::<T>(list.capacity()) || class(bytes) != bytes {
            return None;
        }
        match align_of::<T>() {
            1 => bytemuck::try_cast_vec(list).ok().map(Self::B1),
            2 => bytemuck::try_cast_vec(list).ok().map(Self::B2),
            4 => bytemuck::try_cast_vec(list).ok().map(Self::B4),
            8 => bytemuck::try_cast_vec(list).ok().map(Self::B8),
            _ => bytemuck::try_cast_vec(list).ok().map(Self::B16),
        }
    }

    fn elements<T: Pod>(self) -> Option<Vec<T>> {
        match self {
            Self::B1(list) => bytemuck::try_cast_vec(list).ok(),
            Self::B2(list) => bytemuck::try_cast_vec(list).ok(),
            Self::B4(list) => bytemuck::try_cast_vec(list).ok(),
            Self::B8(list) => bytemuck::try_cast_vec(list).ok(),
            Self::B16(list) => bytemuck::try_cast_vec(list).ok(),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::B1(list) => list.capacity(),
            Self::B2(list) => list.capacity() * 2,
            Self::B4(list) => list.capacity() * 4,
            Self::B8(list) => list.capacity() * 8,
            Self::B16(list) => list.capacity() * 16,
        }
    }

    /// The alignment of the words.
    fn width(&self) -> usize {
        match self {
            Self::B1(_) => 1,
            Self::B2(_) => align_of::<u16>(),
            Self::B4(_) => align_of::<u32>(),
            Self::B8(_) => align_of::<u64>(),
            Self::B16(_) => align_of::<u128>(),
        }
    }
}

/// The class of a block in bytes, and the alignment of its words.
type Shelf = (usize, usize);

struct Pool {
    /// None until it is asked for: the default is read from the system.
    limit: Option<usize>,
    held: usize,
    /// Blocks from the oldest to the newest, each with the time when it was kept.
    shelves: BTreeMap<Shelf, VecDeque<(u64, Block)>>,
    /// Where the block of each time is.
    ages: BTreeMap<u64, Shelf>,
    now: u64,
    reused: u64,
    fresh: u64,
    dropped: u64,
}

impl Pool {
    const fn new() -> Self {
        Self {
            limit: None,
            held: 0,
            shelves: BTreeMap::new(),
            ages: BTreeMap::new(),
            now: 0,
            reused: 0,
            fresh: 0,
            dropped: 0,
        }
    }

    fn limit(&self) -> usize {
        self.limit.unwrap_or_else(default_limit)
    }

    /// The newest block of a class: its memory is most likely in a cache.
    fn take(&mut self, class: usize, width: usize) -> Option<Block> {
        let Some((time, block)) = self.shelves.get_mut(&(class, width)).and_then(VecDeque::pop_back) else {
            self.fresh += 1;
            return None;
        };
        self.ages.remove(&time);
        self.held -= block.bytes();
        self.reused += 1;
        Some(block)
    }

    /// Keeps a block, and returns those that it displaces.
    fn keep(&mut self, block: Block) -> Vec<Block> {
        let bytes = block.bytes();
        let limit = self.limit();
        if bytes > limit {
            self.dropped += 1;
            return vec![block];
        }
        let mut out = self.shrink(limit - bytes);
        self.now += 1;
        let shelf = (bytes, block.width());
        self.held += bytes;
        self.ages.insert(self.now, shelf);
        self.shelves.entry(shelf).or_default().push_back((self.now, block));
        while let Some((&oldest, _)) = self.ages.first_key_value()
            && oldest + KEPT < self.now
        {
            out.extend(self.drop_oldest());
        }
        out
    }

    /// Takes out the oldest blocks until at most `bytes` are held.
    fn shrink(&mut self, bytes: usize) -> Vec<Block> {
        let mut out = Vec::new();
        while self.held > bytes {
            out.extend(self.drop_oldest());
        }
        out
    }

    fn drop_oldest(&mut self) -> Option<Block> {
        let (_, shelf) = self.ages.pop_first()?;
        let blocks = self.shelves.get_mut(&shelf)?;
        let (_, block) = blocks.pop_front()?;
        if blocks.is_empty() {
            self.shelves.remove(&shelf);
        }
        self.held -= block.bytes();
        self.dropped += 1;
        Some(block)
    }
}

/// A quarter of the memory that this process may use.
fn default_limit() -> usize {
    static LIMIT: OnceLock<usize> = OnceLock::new();
    *LIMIT.get_or_init(|| system_memory().map_or(1 << 30, |bytes| bytes / 4))
}

/// The memory that this process may use, in bytes: that of the machine or of the control group. `None` where the system
/// has no such files as Linux.
pub fn system_memory() -> Option<usize> {
    let machine = || {
        let text = std::fs::read_to_string("/proc/meminfo").ok()?;
        let kilobytes = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
        kilobytes.trim().strip_suffix("kB")?.trim().parse::<usize>().ok()?.checked_mul(1024)
    };
    machine().into_iter().chain(group_memory()).min()
}

/// The least limit of the control groups of this process, of either version.
fn group_memory() -> Option<usize> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let limits = groups.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (root, file) = match parts.next()? {
            "" => ("/sys/fs/cgroup", "memory.max"),
            names if names.split(',').any(|name| name == "memory") => {
                ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
            }
            _ => return None,
        };
        // In a container the path may be that of the host; its root is the group's own then. "max" is no limit.
        let of = |group: &Path| {
            let group = Path::new(root).join(group.strip_prefix("/").ok()?);
            std::fs::read_to_string(group.join(file)).ok()?.trim().parse::<usize>().ok()
        };
        Path::new(parts.next()?).ancestors().filter_map(of).min()
    });
    limits.min()
}
