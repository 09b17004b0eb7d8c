//! Source rows of kernels that gather, and prefetching.

use core::ops::Range;

/// Row-major source rows.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a, T> {
    data: &'a [T],
    rows: usize,
    width: usize,
    distance: usize,
}

/// Bytes of a cache line.
const LINE: usize = 64;

/// Number of cache lines that are fetched ahead into the second-level cache: 32 rows of 128 f32, fewer of wider ones. A
/// core has room for few lines on their way to the first level, and for more on their way to the second, from which it
/// reads fast enough. On Zen 4, products with rows of 128 f32 at random places take half as long again if these are
/// fetched into the first level.
const LINES_AHEAD: usize = 256;

/// A source of at most so many bytes stays in the second-level cache, and is not prefetched: products with rows of 16
/// f32 of such a source take 2.1 ns an element instead of 3.2.
pub(crate) const NEAR: usize = 512 << 10;

/// How many rows ahead to prefetch where rows are written in order. A store that misses the cache waits for the line to
/// be read first, and holds up those after it: rows of 256 bytes are copied in 16 ms instead of 22 (1 M rows).
pub(crate) const WRITES_AHEAD: usize = 8;

impl<'a, T> Source<'a, T> {
    /// Splits `data` into rows of `width >= 1` elements.
    pub(crate) fn new(data: &'a [T], width: usize, what: &str) -> Self {
        assert!(data.len().is_multiple_of(width), "{what} must hold whole rows of {width}, got {}", data.len());
        let source = Self { data, rows: data.len() / width, width, distance: usize::MAX / 2 };
        // Where it is near: beyond the end of any list.
        if size_of_val(data) <= NEAR { source } else { source.fetched() }
    }

    /// The same, prefetched in any case: for what is read beside it.
    pub(crate) fn fetched(self) -> Self {
        let distance = (LINES_AHEAD / (self.width * size_of::<T>()).div_ceil(LINE)).clamp(4, 32);
        Self { distance, ..self }
    }

    /// The same, where the compiler knows the width, unless it is 0.
    #[inline(always)]
    pub(crate) fn of_width(self, width: usize) -> Self {
        assert!(width == 0 || width == self.width);
        Self { width: if width == 0 { self.width } else { width }, ..self }
    }

    /// Number of rows.
    #[inline(always)]
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Number of elements of a row.
    #[inline(always)]
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Row `r`.
    #[inline(always)]
    pub(crate) fn row(&self, r: usize) -> &'a [T] {
        self.part(r, 0..self.width)
    }

    /// These columns of row `r`.
    #[inline(always)]
    pub(crate) fn part(&self, r: usize, columns: Range<usize>) -> &'a [T] {
        if r >= self.rows {
            out_of_range(r, self.rows);
        }
        let start = r * self.width + columns.start;
        &self.data[start..start + columns.len()]
    }

    /// Whether [`short_row`](Self::short_row) may be used: a negative number is that of no row, and no product with the
    /// width wraps.
    pub(crate) fn has_short_rows(&self) -> bool {
        usize::BITS == 64 && self.rows <= i32::MAX as usize && self.width <= i32::MAX as usize
    }

    /// Row `r`, with one check, if there are [short rows](Self::has_short_rows).
    #[inline(always)]
    pub(crate) fn short_row(&self, r: i32) -> &'a [T] {
        let start = r as u32 as usize * self.width;
        match self.data.get(start..start + self.width) {
            Some(row) => row,
            None => out_of_range(r as usize, self.rows),
        }
    }

    /// How many rows ahead to prefetch. The place may be beyond the list of rows.
    #[inline(always)]
    pub(crate) fn distance(&self) -> usize {
        self.distance
    }

    /// Prefetches row `r` into the second-level cache, if it exists. If it does not, another row may be.
    #[inline(always)]
    pub(crate) fn prefetch(&self, r: usize) {
        let at = r.wrapping_mul(self.width);
        if self.width * size_of::<T>() > LINE {
            return each_line(self.data, at, self.width, prefetch_second);
        }
        // On one line, or two: few instructions, for such rows have little else to compute.
        [at, at.wrapping_add(self.width - 1)].into_iter().filter_map(|at| self.data.get(at)).for_each(prefetch_second);
    }

    /// The same for a row of two or more elements. Only for [short rows](Self::has_short_rows).
    #[inline(always)]
    pub(crate) fn prefetch_short(&self, r: i32) {
        let start = r as u32 as usize * self.width;
        if let Some([first, .., last]) = self.data.get(start..start + self.width) {
            prefetch_second(first);
            prefetch_second(last);
        }
    }

    /// For rows that are read in order, just before these are: prefetches as many that come later, at most 16 KB.
    #[inline(never)]
    pub(crate) fn fetch_ahead(&self, rows: Range<usize>) {
        let count = rows.len().saturating_mul(self.width).min(2 * AHEAD / size_of::<T>());
        fetch_ahead(self.data, rows.start.wrapping_mul(self.width), count);
    }
}

/// Calls `fetch` for an element of each cache line of `data[at..at + width]`, if that exists.
#[inline(always)]
fn each_line<T>(data: &[T], at: usize, width: usize, fetch: impl Fn(&T)) {
    if cfg!(all(target_arch = "x86_64", target_feature = "sse"))
        && size_of::<T>() > 0
        && let Some(row) = data.get(at..at.wrapping_add(width))
        && let Some(last) = row.last()
    {
        // With an iterator, products with rows of 64 f32 take 6 to 11 % longer.
        let (mut k, line) = (0, (LINE / size_of::<T>()).max(1));
        while k < row.len() {
            fetch(&row[k]);
            k += line;
        }
        // The last cache line, if the row does not start at the beginning of a cache line.
        fetch(last);
    }
}

/// Prefetches `data[at..at + width]` into the first-level cache, if it exists.
#[inline(always)]
pub(crate) fn prefetch_row<T>(data: &[T], at: usize, width: usize) {
    each_line(data, at, width, prefetch_one);
}

/// How many bytes of a list that is read in order are on their way. The hardware fetches too little of it where there
/// is little else to do, or where there are several lists. Measured on Zen 5: 4 and 16 KB are as good.
pub(crate) const AHEAD: usize = 8 << 10;

/// For a list that is read in order, just before `data[at..at + width]` is: prefetches as much that comes later into
/// the second-level cache, but nothing of a list that stays there.
#[inline(always)]
pub(crate) fn fetch_ahead<T>(data: &[T], at: usize, width: usize) {
    if size_of_val(data) > NEAR {
        each_line(data, at.wrapping_add(AHEAD / size_of::<T>()), width, prefetch_second);
    }
}

/// Parts of a range of a list that is read in order, of `len` elements. While one is read, what comes later is on its
/// way; the loop over a part needs no prefetches, and remains vectorised. A list that stays in the second-level cache
/// is not parted.
#[inline(always)]
pub(crate) fn fetched_tiles<T>(data: &[T], own: Range<usize>, len: usize) -> impl Iterator<Item = Range<usize>> {
    let len = if size_of_val(data) > NEAR { len } else { own.len().max(1) };
    own.clone().step_by(len).map(move |start| {
        let tile = start..own.end.min(start + len);
        fetch_ahead(data, start, tile.len());
        tile
    })
}

/// Prefetches `data[at]` into the first-level cache, if it exists.
#[inline(always)]
pub(crate) fn prefetch<T>(data: &[T], at: usize) {
    if let Some(x) = data.get(at) {
        prefetch_one(x);
    }
}

/// Prefetches `x` into the first-level cache.
#[inline(always)]
fn prefetch_one<T>(x: &T) {
    #[cfg(all(target_arch = "x86_64", target_feature = "sse"))]
    if size_of::<T>() > 0 {
        safe_arch::prefetch_t0(x);
    }
    #[cfg(not(all(target_arch = "x86_64", target_feature = "sse")))]
    let _ = x;
}

/// Prefetches `x` into the second-level cache.
#[inline(always)]
fn prefetch_second<T>(x: &T) {
    #[cfg(all(target_arch = "x86_64", target_feature = "sse"))]
    if size_of::<T>() > 0 {
        safe_arch::prefetch_t1(x);
    }
    #[cfg(not(all(target_arch = "x86_64", target_feature = "sse")))]
    let _ = x;
}

/// Calls `$run::<S, WIDTH>` with the width of a row of floats with one head, if it is one that is compiled: in loops
/// over rows of up to 128 numbers, checks and ends of loops take longer than the computing. Else with 0.
macro_rules! with_width {
    ($width:expr, $heads:expr, $T:ident, $job:expr, $run:ident::<$S:ident>($simd:expr)) => {
        match $width {
            64 if $T::IS_FLOAT && $heads == 1 => $job.$run::<$S, 64>($simd),
            128 if $T::IS_FLOAT && $heads == 1 => $job.$run::<$S, 128>($simd),
            _ => $job.$run::<$S, 0>($simd),
        }
    };
}
pub(crate) use with_width;

#[cold]
#[inline(never)]
fn out_of_range(row: usize, rows: usize) -> ! {
    panic!("row index must be in [0, {rows}), got {}", row as isize)
}
