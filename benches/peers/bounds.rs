//! What a work cannot avoid, as bare loops over memory of the same sizes, and over the same numbers of rows. They run
//! on the threads of this library, on operands as a user has them: in small pages, at any address, unless the row says
//! that they are aligned.

use burn::tensor::{Device, Int, Tensor, TensorData};
use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;
use sparse_tensor::{CsrTensor, aligned};
use std::hint::black_box;
use std::time::Instant;

/// A part of the bound. The parts of a work run one after the other.
pub(crate) enum Part {
    /// Bytes that are read and written in order.
    Stream { read: usize, written: usize },
    /// Reads a byte of each cache line of the rows with these numbers, of a table of rows of `width` bytes.
    Rows { index: Vec<u32>, width: usize, table: usize },
    /// The same of a table in huge pages that starts on a cache line.
    AlignedRows { index: Vec<u32>, width: usize, table: usize },
    /// Rows of several matrices side by side: moves 4 bytes for each element. Where the rows of each one begin and end.
    SideBySide { ends: Vec<Vec<u32>> },
    /// `put_along_axis` along axis 0 as plain loops over columns that share a cache line.
    Put { index: Vec<i32>, width: usize, table: usize },
    /// The gradient of its values; of some reductions it reads the values again.
    PutBackward { index: Vec<i32>, width: usize, table: usize, values: bool },
    /// Words of 8 bytes into buckets by the high bits of these keys, then once more in the cache.
    Sort { keys: Vec<u32>, largest: u32 },
    /// Products and sums of f32 in registers.
    Flops(f64),
}

pub(crate) fn stream(read: usize, written: usize) -> Part {
    Part::Stream { read, written }
}

/// A row of `width` bytes of `table` for each element of a matrix.
pub(crate) fn rows_of(matrix: &CsrTensor<2>, width: usize) -> Part {
    Part::Rows { index: numbers(matrix.col_idx()), width, table: matrix.dims()[1] }
}

pub(crate) fn numbers(index: Tensor<1, Int>) -> Vec<u32> {
    index.into_data().iter::<i64>().map(|id| id as u32).collect()
}

/// Random numbers below `limit`.
pub(crate) fn random(count: usize, limit: usize) -> Vec<u32> {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (((state >> 32) * limit as u64) >> 32) as u32
    };
    (0..count).map(|_| next()).collect()
}

/// A loop with its memory.
pub(crate) struct Loop {
    part: Part,
    read: TensorData,
    written: Vec<u64>,
}

const WORD: usize = size_of::<u64>();
const LINE: usize = 64;
/// Columns of f32 in a cache line.
const PANEL: usize = LINE / size_of::<f32>();
const BUCKETS: usize = 1 << 9;

impl Loop {
    pub(crate) fn new(part: Part) -> Self {
        let (read, written) = match &part {
            Part::Stream { read, written } => (*read, *written),
            Part::Rows { width, table, .. } | Part::AlignedRows { width, table, .. } => (width * table, 0),
            Part::SideBySide { ends } => {
                let bytes = 4 * ends.iter().map(|ends| ends[ends.len() - 1] as usize).sum::<usize>();
                (bytes, bytes)
            }
            Part::Put { index, width, table } => (4 * index.len(), 4 * width * table),
            Part::PutBackward { index, width, table, values } => {
                (4 * width * table + if *values { 4 * index.len() } else { 0 }, 4 * index.len())
            }
            Part::Sort { keys, .. } => (0, 2 * WORD * keys.len()),
            Part::Flops(_) => (0, 0),
        };
        // Ones, if they are read as f32.
        let words = |bytes: usize| vec![0x3f80_0000_3f80_0000u64; bytes.div_ceil(WORD)];
        let read = match part {
            Part::AlignedRows { .. } => {
                let ones = Tensor::<1>::ones([2 * read.div_ceil(WORD)], &Device::flex());
                aligned(ones).into_data()
            }
            _ => TensorData::new(words(read), [read.div_ceil(WORD)]),
        };
        Self { part, read, written: words(written) }
    }

    /// Milliseconds of a run.
    pub(crate) fn run(&mut self) -> f64 {
        let start = Instant::now();
        let Self { part, read, written } = self;
        let words: &[u64] = bytemuck::cast_slice(read.as_bytes());
        let read: &[f32] = bytemuck::cast_slice(words);
        match part {
            Part::Stream { .. } => read_and_write(words, written),
            Part::Rows { index, width, .. } | Part::AlignedRows { index, width, .. } => {
                touch(index, *width, bytemuck::cast_slice(read))
            }
            Part::SideBySide { ends } => interleave(ends, read, bytemuck::cast_slice_mut(written)),
            Part::Put { index, width, .. } => {
                put(index, *width, read, bytemuck::cast_slice_mut(written));
            }
            Part::PutBackward { index, width, table, values } => {
                let (table, rest) = read.split_at(*width * *table);
                put_backward(index, *width, table, values.then_some(rest), bytemuck::cast_slice_mut(written));
            }
            Part::Sort { keys, largest } => sort(keys, *largest, written),
            Part::Flops(count) => {
                let threads = rayon::current_num_threads();
                let count = *count as usize / threads;
                rayon::broadcast(|_| black_box(Arch::new().dispatch(Multiply(count))));
            }
        }
        start.elapsed().as_secs_f64() * 1e3
    }
}

fn read_and_write(read: &[u64], written: &mut [u64]) {
    const PIECES: usize = 1024;
    let pieces = |len: usize| len.div_ceil(PIECES).max(1);
    let sum = |list: &[u64]| black_box(list.iter().fold(0u64, |sum, word| sum.wrapping_add(*word)));
    let (read, written) = (read.par_chunks(pieces(read.len())), written.par_chunks_mut(pieces(written.len())));
    match (read.len(), written.len()) {
        (_, 0) => read.for_each(|list| _ = sum(list)),
        (0, _) => written.for_each(|list| list.fill(black_box(1))),
        _ => read.zip(written).for_each(|(from, to)| to.fill(sum(from))),
    }
}

/// Numbers of rows that a task takes at a time.
const CHUNK: usize = 1 << 14;
/// How many words of a sort are fetched ahead.
const AHEAD: usize = 16;
/// How many lines of rows are fetched ahead, 4 to 32 rows, into the second-level cache: there is room for more of them
/// on their way to it than to the first level.
const LINES_AHEAD: usize = 256;

fn touch(index: &[u32], width: usize, table: &[u8]) {
    if width == size_of::<u32>() {
        let table: &[u32] = bytemuck::cast_slice(table);
        return index.par_chunks(CHUNK).for_each(|chunk| {
            black_box(chunk.iter().fold(0u32, |sum, &number| sum.wrapping_add(table[number as usize])));
        });
    }
    match width {
        64 => touch_rows(index, 64, table),
        256 => touch_rows(index, 256, table),
        512 => touch_rows(index, 512, table),
        1024 => touch_rows(index, 1024, table),
        _ => touch_rows(index, width, table),
    }
}

/// Inlined where the compiler knows the width, so that its loops over lines have no ends to look for.
#[inline(always)]
fn touch_rows(index: &[u32], width: usize, table: &[u8]) {
    let ahead = (LINES_AHEAD / width.div_ceil(LINE)).clamp(4, 32);
    index.par_chunks(CHUNK).for_each(
        #[inline(always)]
        |chunk| {
            let row = |row: u32| &table[row as usize * width..][..width];
            let mut sum = 0u64;
            for (at, &number) in chunk.iter().enumerate() {
                if let Some(&next) = chunk.get(at + ahead) {
                    lines(row(next), fetch_second);
                }
                lines(row(number), |byte| sum += u64::from(*byte));
            }
            black_box(sum);
        },
    );
}

/// A byte of each line of a row: the first one of each but one, and the last one.
#[inline(always)]
fn lines(row: &[u8], mut visit: impl FnMut(&u8)) {
    let mut at = 0;
    while at < row.len() {
        visit(&row[at]);
        at += LINE;
    }
    visit(&row[row.len() - 1]);
}

/// Fetches the line of an element. Processors of another kind wait for it when it is read.
fn fetch<T>(_element: &T) {
    #[cfg(target_arch = "x86_64")]
    safe_arch::prefetch_t0(_element);
}

/// The same to the second-level cache.
#[inline(always)]
fn fetch_second<T>(_element: &T) {
    #[cfg(target_arch = "x86_64")]
    safe_arch::prefetch_t1(_element);
}

/// Copies pieces of lists, first of all lists the first one, then of all the second one, and so on. Rows of matrices
/// side by side are such pieces. `ends` has where the pieces of each list begin and end.
fn interleave(ends: &[Vec<u32>], read: &[f32], written: &mut [f32]) {
    let rows = ends[0].len() - 1;
    let starts: Vec<usize> = ends
        .iter()
        .scan(0, |start, ends| {
            let own = *start;
            *start += ends[rows] as usize;
            Some(own)
        })
        .collect();
    let mut free = &mut written[..];
    let mut parts = vec![];
    for first in (0..rows).step_by(CHUNK) {
        let last = rows.min(first + CHUNK);
        let len = ends.iter().map(|ends| (ends[last] - ends[first]) as usize).sum();
        parts.push((first..last, free.split_off_mut(..len).expect("as long as all lists")));
    }
    // So many at once, of which the next piece writes over those that are not of this one.
    const VECTOR: usize = 8;
    parts.into_par_iter().for_each(|(rows, out)| {
        let mut at = 0;
        for row in rows {
            for (ends, start) in ends.iter().zip(&starts) {
                let [from, to] = [row, row + 1].map(|row| start + ends[row] as usize);
                for first in (from..to).step_by(VECTOR) {
                    let len = VECTOR.min(to - first);
                    match (read.get(first..first + VECTOR), out.get_mut(at..at + VECTOR)) {
                        (Some(read), Some(out)) => out.copy_from_slice(read),
                        _ => out[at..at + len].copy_from_slice(&read[first..first + len]),
                    }
                    at += len;
                }
            }
        }
    });
}

/// Each task has some of the columns.
fn panels<T: Sync + Send>(table: &mut [T], width: usize, work: impl Fn(usize, &mut [T]) + Sync) {
    let len = table.len() / width.div_ceil(PANEL);
    table.par_chunks_mut(len).enumerate().for_each(|(panel, own)| work(panel * PANEL, own));
}

fn put(index: &[i32], width: usize, values: &[f32], table: &mut [f32]) {
    panels(table, width, |first, own| {
        for (index, values) in index.chunks_exact(width).zip(values.chunks_exact(width)) {
            let own_columns = index[first..first + PANEL].iter().zip(&values[first..first + PANEL]);
            for (column, (&row, x)) in own_columns.enumerate() {
                own[row as usize * PANEL + column] += x;
            }
        }
    });
}

fn put_backward(index: &[i32], width: usize, table: &[f32], values: Option<&[f32]>, out: &mut [f32]) {
    // A panel of the table at a time, as far as its lines stay in the cache; rows are shared among the threads.
    let rows = (index.len() / width).div_ceil(rayon::current_num_threads()) * width;
    let panel_len = table.len() / width.div_ceil(PANEL);
    out.par_chunks_mut(rows).enumerate().for_each(|(part, out)| {
        let index = &index[part * rows..][..out.len()];
        let values = values.map(|values| &values[part * rows..][..out.len()]);
        for first in (0..width).step_by(PANEL) {
            let table = &table[first / PANEL * panel_len..][..panel_len];
            for (at, out) in out.chunks_exact_mut(width).enumerate() {
                let own = at * width + first;
                for column in 0..PANEL {
                    let x = table[index[own + column] as usize * PANEL + column];
                    out[first + column] = values.map_or(x, |values| x * values[own + column]);
                }
            }
        }
    });
}

fn sort(keys: &[u32], largest: u32, memory: &mut [u64]) {
    let shift = (u32::BITS - largest.leading_zeros()).saturating_sub(BUCKETS.ilog2());
    let threads = rayon::current_num_threads();
    let part = keys.len().div_ceil(threads);
    let (words, sorted) = memory.split_at_mut(keys.len());
    words.par_chunks_mut(part).zip(sorted.par_chunks_mut(part)).zip(keys.par_chunks(part)).for_each(
        |((words, sorted), keys)| {
            let bucket = |key: u32| (key >> shift) as usize % BUCKETS;
            let mut next = [0; BUCKETS + 1];
            keys.iter().for_each(|&key| next[bucket(key) + 1] += 1);
            (0..BUCKETS).for_each(|at| next[at + 1] += next[at]);
            for (at, &key) in keys.iter().enumerate() {
                if let Some(&key) = keys.get(at + AHEAD)
                    && let Some(place) = words.get(next[bucket(key)])
                {
                    fetch(place);
                }
                let slot = &mut next[bucket(key)];
                words[*slot] = u64::from(key) << 32 | at as u64;
                *slot += 1;
            }
            // Now `next[b]` is the end of bucket `b`.
            let mut start = 0;
            for end in &next[..BUCKETS] {
                let (from, to) = (&words[start..*end], &mut sorted[start..*end]);
                for (at, word) in from.iter().enumerate() {
                    // Some place of the bucket.
                    let random = (at as u32).wrapping_mul(0x9e37_79b1);
                    to[((u64::from(random) * from.len() as u64) >> u32::BITS) as usize] = *word;
                }
                start = *end;
            }
        },
    );
}

struct Multiply(usize);

impl WithSimd for Multiply {
    type Output = f32;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f32 {
        // As many as hide the time of one: two units, five cycles each, and some more.
        const CHAINS: usize = 12;
        let mut sums = [simd.splat_f32s(0.0); CHAINS];
        let (a, b) = (simd.splat_f32s(black_box(0.5)), simd.splat_f32s(black_box(0.25)));
        for _ in 0..self.0 / (2 * CHAINS * S::F32_LANES) {
            sums.iter_mut().for_each(|sum| *sum = simd.mul_add_f32s(a, b, *sum));
        }
        sums.into_iter().map(|sum| simd.reduce_sum_f32s(sum)).sum()
    }
}
