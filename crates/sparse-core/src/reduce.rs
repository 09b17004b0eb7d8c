//! One traversal for all kernels that gather rows and combine them per segment: SpMM with a sum or an extremum, with
//! one value for each element or one for each head, segment sum, segment any.
//!
//! The output row of a segment is computed in register tiles. All source rows are read for the first tile of columns,
//! then again for the next tile; they are in the cache by then. Each output element is accumulated in the order of the
//! segment, that of a long segment in blocks (see [`sums`](crate::sums)), so the result does not depend on the number
//! of threads.

use crate::element::Ids;
use crate::element::Lanes;
use crate::epilogue::Epilogue;
use crate::reducer::{Reducer, Sum, V};
use crate::shares::{Share, run, shares};
use crate::source::Source;
use crate::sums::{BLOCK, Cascade, add_pairs};
use crate::tile::{Few, Pair, Tile, Vectors};
use crate::weights::Weigh;
use crate::{Element, Index, simd};
use core::ops::Range;
use pulp::{Simd, WithSimd};

/// The inputs of the traversal. Each tile works on a copy, so that the compiler knows that they do not change.
#[derive(Clone, Copy)]
struct Inputs<'a, T, R, W> {
    reducer: R,
    weights: W,
    idx: Option<Ids<'a>>,
    source: Source<'a, T>,
}

/// Where a job writes its results, or what they are made of.
enum Out<'a, T: Element> {
    Results(&'a mut [T]),
    Accumulators(&'a mut [T::Acc]),
}

/// The segments `rows` and their part of the output.
struct Job<'a, T: Element, R, W> {
    inputs: Inputs<'a, T, R, W>,
    ptr: Ids<'a>,
    rows: Range<usize>,
    out: Out<'a, T>,
}

/// Columns from which on rows in order of 32-bit numbers are fetched ahead: of narrow ones the additions take longer
/// than the memory. Of 64-bit numbers the hardware fetches enough, and more of it takes a tenth longer.
const FETCHED: usize = 64;

/// Blocks of a long segment that are computed before their sums are added.
const SOME: usize = 16;

/// What a thread needs for its long segments.
struct Blocks<A> {
    some: Vec<A>,
    sums: Cascade<A>,
}

impl<A: Copy> Blocks<A> {
    const fn new() -> Self {
        Self { some: Vec::new(), sums: Cascade::new() }
    }
}

impl<T: Element, R: Reducer<T>, W: Weigh<T>> Inputs<'_, T, R, W> {
    /// Prefetches the weight of element `k` and its source row `i`.
    #[inline(always)]
    fn prefetch(&self, k: usize, i: usize) {
        self.source.prefetch(i);
        self.weights.fetch(k);
    }

    /// A tile of one segment: these columns, or all if the tile is as wide as a row (`WHOLE`).
    #[inline(always)]
    fn segment<S: Simd, X: Tile<T, S>, const WHOLE: bool>(
        self,
        simd: S,
        elements: Range<usize>,
        columns: &Range<usize>,
        places: X::Places,
    ) -> X {
        let Self { reducer, weights, source, .. } = self;
        let mut tile = X::init(simd, reducer.start(elements.is_empty()));
        let mut step = |own, x| tile.step(simd, &reducer, &weights, own, places, x);
        match self.idx {
            Some(Ids::I32(idx)) => {
                // The rows are in the cache after the first tile.
                let distance = if columns.start == 0 { source.distance() } else { usize::MAX };
                let far = elements.start.saturating_add(distance);
                let ahead = idx.get(far..).unwrap_or_default();
                // A short row has so little to compute that a weight which is looked up takes a tenth of the time.
                if WHOLE && let Some(list) = weights.in_order(elements.clone()) {
                    for (j, (i, own)) in idx[elements].iter().zip(list).enumerate() {
                        if let Some(next) = ahead.get(j) {
                            source.prefetch_short(*next);
                        }
                        step(own, source.short_row(*i));
                    }
                    return tile;
                }
                for (j, i) in idx[elements.clone()].iter().enumerate() {
                    if let Some(next) = ahead.get(j) {
                        self.prefetch(far + j, next.to_usize());
                    }
                    let x = if WHOLE { source.short_row(*i) } else { source.part(i.to_usize(), columns.clone()) };
                    step(weights.own(elements.start + j), x);
                }
            }
            idx => {
                for k in elements {
                    step(weights.own(k), source.part(idx.map_or(k, |idx| idx.at(k)), columns.clone()));
                }
            }
        }
        tile
    }
}

impl<T: Element, R: Reducer<T>, W: Weigh<T>> Job<'_, T, R, W> {
    /// Computes one tile of each of these segments: the columns from `at` on, of the `span` columns from `first` on. If
    /// the tile does not fit there, it starts further left; columns that are computed twice get the same bits. Returns
    /// where the next tile starts.
    #[inline(always)]
    fn tile<S: Simd, X: Tile<T, S>, const WHOLE: bool>(
        &mut self,
        simd: S,
        rows: Range<usize>,
        (first, span): (usize, usize),
        at: usize,
    ) -> usize {
        let (least, most) = X::widths();
        let mut inputs = self.inputs;
        if WHOLE {
            inputs.source = inputs.source.of_width(least);
        }
        let width = inputs.source.width();
        let own = at.min(span - least);
        // A length that the compiler knows, if there is only one.
        let len = if least == most { least } else { most.min(span - own) };
        let columns = first + own..first + own + len;
        let places = X::places(&inputs.weights, columns.clone());
        let fetched = size_of::<T>() == 4 && width >= FETCHED && columns.start == 0;
        for row in rows {
            let elements = self.ptr.span(row);
            if fetched && inputs.idx.is_none() {
                inputs.source.fetch_ahead(elements.clone());
            }
            let tile = inputs.segment::<S, X, WHOLE>(simd, elements, &columns, places);
            let start = (row - self.rows.start) * width;
            match &mut self.out {
                Out::Results(out) => tile.store(simd, &inputs.reducer, &mut out[start..][columns.clone()]),
                Out::Accumulators(out) => tile.keep(simd, &mut out[start..][columns.clone()]),
            }
        }
        own + len
    }

    /// Whether a tile of at most 8 vectors has all columns: of integers, which have fewer tiles, one vector.
    #[inline(always)]
    fn is_one_tile(&self, span: usize, lanes: usize) -> bool {
        let width = self.inputs.source.width();
        width == span && width <= if T::IS_FLOAT { 8 * lanes } else { lanes }
    }

    /// Calls `tiles` for segments that are not long, and `run` for the blocks of those that are. Adjacent segments come
    /// together if one tile has all columns.
    #[inline(always)]
    fn each(&mut self, together: bool, run: impl Fn(Job<'_, T, R, W>), mut tiles: impl FnMut(&mut Self, Range<usize>)) {
        let (mut blocks, Range { mut start, end }) = (Blocks::new(), self.rows.clone());
        let (ptr, last) = (self.ptr, if together { end } else { 0 });
        let is_long = |row: &usize| R::ROUNDS && ptr.span(*row).len() > BLOCK;
        while start < end {
            if is_long(&start) {
                self.long(start, ptr.span(start), &mut blocks, &run);
                start += 1;
                continue;
            }
            let next = (start + 1..last).find(is_long).unwrap_or(last.max(start + 1));
            tiles(self, start..next);
            start = next;
        }
    }

    /// Writes the result of a long segment: its blocks are the segments of other jobs.
    #[inline(never)]
    fn long(
        &mut self,
        row: usize,
        elements: Range<usize>,
        Blocks { some, sums }: &mut Blocks<T::Acc>,
        run: &impl Fn(Job<'_, T, R, W>),
    ) {
        let (inputs, width) = (self.inputs, self.inputs.source.width());
        some.resize(some.len().max(elements.len().div_ceil(BLOCK).min(SOME) * width), T::ACC_ZERO);
        let (mut own, several) = (&mut [][..], elements.len() > SOME * BLOCK);
        for (number, start) in elements.clone().step_by(SOME * BLOCK).enumerate() {
            let len = (elements.end - start).min(SOME * BLOCK);
            let ends: [i64; SOME + 1] = core::array::from_fn(|k| (start + len.min(k * BLOCK)) as i64);
            let rows = 0..len.div_ceil(BLOCK);
            own = &mut some[..rows.len() * width];
            run(Job { inputs, ptr: Ids::I64(&ends), rows, out: Out::Accumulators(own) });
            add_pairs(own, width, T::add);
            if several {
                sums.push(number, &own[..width], T::add);
            }
        }
        if several {
            sums.finish(&mut own[..width], T::add);
        }
        let start = (row - self.rows.start) * width;
        match &mut self.out {
            Out::Results(out) => {
                let out = out[start..][..width].iter_mut();
                out.zip(own).for_each(|(out, sum)| *out = T::narrow(inputs.reducer.finish(*sum)));
            }
            Out::Accumulators(out) => out[start..][..width].copy_from_slice(&own[..width]),
        }
    }

    /// Columns that tiles share.
    fn span(&self, lanes: usize) -> usize {
        self.inputs.weights.span(self.inputs.source.width(), lanes)
    }

    /// Runs the job on the best instruction set that it is compiled for. This is the only caller of every instance, so
    /// each is compiled once.
    #[inline(never)]
    #[cfg(target_arch = "x86_64")]
    fn run(self) {
        use pulp::x86::{V3, V4};
        if W::ON_AVX512
            && let Some(simd) = V4::try_new()
            && self.span(T::Lanes::lanes::<V4>()) >= T::Lanes::lanes::<V4>()
        {
            return Simd::vectorize(simd, self);
        }
        if W::ON_AVX2
            && let Some(simd) = V3::try_new()
        {
            if self.span(T::Lanes::lanes::<V3>()) >= T::Lanes::lanes::<V3>() {
                return Simd::vectorize(simd, self);
            }
            if T::IS_FLOAT {
                return Simd::vectorize(simd, Narrow(self));
            }
        }
        simd::on_baseline(Narrow(self));
    }

    /// Runs the job on the best instruction set.
    #[inline(never)]
    #[cfg(not(target_arch = "x86_64"))]
    fn run(self) {
        simd::on_any(Fit(self));
    }
}

/// A job in tiles of few elements: for spans that are narrower than a native vector, and for the baseline.
struct Narrow<'a, T: Element, R, W>(Job<'a, T, R, W>);

impl<T: Element, R: Reducer<T>, W: Weigh<T>> WithSimd for Narrow<'_, T, R, W> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self(mut job) = self;
        let width = job.inputs.source.width();
        // No head is as wide as this, so a span has the columns of one head.
        let span = job.span(usize::MAX);
        job.each(
            job.is_one_tile(span, 1),
            |job| simd.vectorize(Narrow(job)),
            #[inline(always)]
            |job, rows| {
                for first in (0..width).step_by(span) {
                    let mut at = 0;
                    while at < span {
                        let (rows, rest) = (rows.clone(), span - at);
                        at = if rest > 4 {
                            job.tile::<S, Pair<Few<T::Acc, 4>>, false>(simd, rows, (first, span), at)
                        } else if span >= 4 {
                            job.tile::<S, Few<T::Acc, 4>, false>(simd, rows, (first, span), at)
                        } else if T::IS_FLOAT && rest > 2 {
                            job.tile::<S, Pair<Few<T::Acc, 2>>, false>(simd, rows, (first, span), at)
                        } else if T::IS_FLOAT && span >= 2 {
                            job.tile::<S, Few<T::Acc, 2>, false>(simd, rows, (first, span), at)
                        } else {
                            job.tile::<S, Few<T::Acc, 1>, false>(simd, rows, (first, span), at)
                        };
                    }
                }
            },
        );
    }
}

/// Native vectors. A span must be at least as wide as one.
impl<T: Element, R: Reducer<T>, W: Weigh<T>> WithSimd for Job<'_, T, R, W> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let (width, lanes) = (self.inputs.source.width(), T::Lanes::lanes::<S>());
        let span = self.span(lanes);
        let short = width == lanes && self.inputs.source.has_short_rows();
        self.each(
            self.is_one_tile(span, lanes),
            |job| simd.vectorize(job),
            #[inline(always)]
            |job, rows| {
                for first in (0..width).step_by(span) {
                    let mut at = 0;
                    while at < span {
                        // The smallest tile that covers the remaining columns, or the largest. A pair that does not
                        // overlap takes longer than one tile of that width. Integers are rare, so they have two of the
                        // tiles.
                        let rest = span - at;
                        let (rows, columns, floats) = (rows.clone(), (first, span), T::IS_FLOAT);
                        at = if floats && short {
                            job.tile::<S, Vectors<T, V<T, S>, 1>, true>(simd, rows, (0, lanes), 0)
                        } else if floats && rest >= 8 * lanes {
                            job.tile::<S, Vectors<T, V<T, S>, 8>, false>(simd, rows, columns, at)
                        } else if floats && rest > 4 * lanes {
                            job.tile::<S, Pair<Vectors<T, V<T, S>, 4>>, false>(simd, rows, columns, at)
                        } else if floats && rest == 4 * lanes {
                            job.tile::<S, Vectors<T, V<T, S>, 4>, false>(simd, rows, columns, at)
                        } else if rest > 2 * lanes {
                            job.tile::<S, Pair<Vectors<T, V<T, S>, 2>>, false>(simd, rows, columns, at)
                        } else if floats && rest == 2 * lanes {
                            job.tile::<S, Vectors<T, V<T, S>, 2>, false>(simd, rows, columns, at)
                        } else if floats && rest > lanes {
                            job.tile::<S, Pair<Vectors<T, V<T, S>, 1>>, false>(simd, rows, columns, at)
                        } else {
                            job.tile::<S, Vectors<T, V<T, S>, 1>, false>(simd, rows, columns, at)
                        };
                    }
                }
            },
        );
    }
}

/// A job in native vectors if a span is at least as wide as one.
#[cfg(any(test, not(target_arch = "x86_64")))]
struct Fit<'a, T: Element, R, W>(Job<'a, T, R, W>);

#[cfg(any(test, not(target_arch = "x86_64")))]
impl<T: Element, R: Reducer<T>, W: Weigh<T>> WithSimd for Fit<'_, T, R, W> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let lanes = T::Lanes::lanes::<S>();
        if self.0.span(lanes) < lanes {
            Narrow(self.0).with_simd(simd);
        } else {
            self.0.with_simd(simd);
        }
    }
}

/// `out[s, :]` = the rows `idx[k]` (or `k`) of `source` for `k` in `ptr[s]..ptr[s + 1]`, combined in order, and then
/// the epilogue. A long row is combined in pieces, unless their results would have to be rounded.
pub(crate) fn reduce_rows<T: Element, R: Reducer<T>, W: Weigh<T>>(
    reducer: R,
    weights: W,
    ptr: Ids<'_>,
    idx: Option<Ids<'_>>,
    source: Source<'_, T>,
    epilogue: Epilogue<'_, T>,
    out: &mut [T],
) {
    let width = source.width();
    let source = if weights.is_far() { source.fetched() } else { source };
    let inputs = Inputs { reducer, weights, idx, source };
    let block = epilogue.block(width);
    let shares = shares(ptr, idx.map_or(source.rows(), |idx| idx.len()), width, T::EXACT);
    let body = |share: &Share, mut out: &mut [T]| {
        let (ends, mut first) = (share.ends(), share.rows.start);
        if share.cut {
            return Job { inputs, ptr: Ids::I64(&ends), rows: 0..1, out: Out::Results(out) }.run();
        }
        while first < share.rows.end {
            let rows = first..share.rows.end.min(first.saturating_add(block));
            first = rows.end;
            let (part, rest) = out.split_at_mut(rows.len() * width);
            Job { inputs, ptr, rows, out: Out::Results(&mut *part) }.run();
            // While the part is in the cache.
            epilogue.apply(part, width);
            out = rest;
        }
    };
    let step = |acc, x: T| reducer.step(acc, reducer.again(x.widen()));
    let both = |a, b| T::narrow(reducer.finish(step(step(reducer.start(false), a), b)));
    for row in run(&shares, width, out, &body, both) {
        epilogue.apply(&mut out[row * width..][..width], width);
    }
}

/// `out` = the sum of the rows `idx` of `source`, as that of a segment, before it is rounded. On this thread.
pub(crate) fn accumulate_rows<T: Element>(idx: Ids<'_>, source: Source<'_, T>, out: &mut [T::Acc]) {
    let ptr = [0, idx.len() as i64];
    let inputs = Inputs { reducer: Sum::Elements, weights: (), idx: Some(idx), source };
    Job { inputs, ptr: Ids::I64(&ptr), rows: 0..1, out: Out::Accumulators(out) }.run();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reducer::Extreme;
    use crate::weights::{Heads, Weights};
    use half::bf16;
    use pulp::Arch;

    /// Weighted sums, sums and maxima, and maxima with heads, of fractions on one instruction set.
    fn run<T: Element, S: Simd>(simd: S, data: &[T], width: usize) -> Vec<T> {
        let ptr = [0i32, 3, 3, 7];
        let idx = [4i32, 0, 2, 1, 1, 3, 0];
        let source = Source::new(data, width, "data");
        let mut out = vec![T::ZERO; 12 * width];
        let (a, rest) = out.split_at_mut(3 * width);
        let (b, rest) = rest.split_at_mut(3 * width);
        let (c, d) = rest.split_at_mut(3 * width);
        let (ptr, idx) = (Ids::I32(&ptr), Some(Ids::I32(&idx)));
        let weights = Weights { values: data, perm: None };
        let (largest, rows) = (Extreme::largest::<T>(), || 0..3);
        simd.vectorize(Fit(Job {
            inputs: Inputs { reducer: Sum::Products, weights, idx, source },
            ptr,
            rows: rows(),
            out: Out::Results(a),
        }));
        let inputs = Inputs { reducer: Sum::Products, weights: (), idx, source };
        simd.vectorize(Fit(Job { inputs, ptr, rows: rows(), out: Out::Results(b) }));
        let inputs = Inputs { reducer: largest, weights: (), idx, source };
        simd.vectorize(Fit(Job { inputs, ptr, rows: rows(), out: Out::Results(c) }));
        // A few heads, or one for each column.
        let few = (1..=5).rev().find(|heads| width.is_multiple_of(*heads)).unwrap_or(1);
        let heads = if width.is_multiple_of(7) { width } else { few };
        let values: Vec<T> = data.iter().chain(data).copied().take(7 * heads).collect();
        let weights = Heads::new(Weights { values: &values, perm: None }, heads, width);
        simd.vectorize(Fit(Job {
            inputs: Inputs { reducer: largest, weights, idx, source },
            ptr,
            rows: rows(),
            out: Out::Results(d),
        }));
        out
    }

    fn every_instruction_set<T: Element>(of: impl Fn(f32) -> T) {
        for width in 2..140 {
            let data: Vec<T> = (0..5 * width).map(|k| of((k as f32 * 0.37).sin() * 50.0)).collect();
            let plain = run(pulp::Scalar, &data, width);
            // The best instruction set of this machine.
            struct Op<'a, T>(&'a [T], usize);
            impl<T: Element> WithSimd for Op<'_, T> {
                type Output = Vec<T>;
                fn with_simd<S: Simd>(self, simd: S) -> Vec<T> {
                    run(simd, self.0, self.1)
                }
            }
            assert_eq!(Arch::new().dispatch(Op(&data, width)), plain, "width {width}");
            #[cfg(target_arch = "x86_64")]
            if let Some(simd) = pulp::x86::V3::try_new() {
                assert_eq!(run(simd, &data, width), plain, "width {width} on AVX2");
            }
        }
    }

    #[test]
    fn same_bits_on_every_instruction_set() {
        every_instruction_set(|x| x);
        every_instruction_set(f64::from);
        every_instruction_set(bf16::from_f32);
        every_instruction_set(|x| x as i32);
    }
}
