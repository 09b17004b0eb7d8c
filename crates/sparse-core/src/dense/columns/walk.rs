//! The walk of a pass.

use super::dots::{LANES, add_products, totals};
use super::pass::{Column, ColumnPass, ColumnStep, Kept, MOST};
use crate::memory::unwritten;
use crate::par::{self, split_mut};
use crate::source::prefetch_row;
use crate::sums::BLOCK;
use crate::{Element, Float, simd};
use pulp::{Simd, WithSimd};

/// Numbers of a block of wide rows, at most.
const WIDE_BLOCK: usize = 1 << 14;

/// The lengths of some lists.
fn lengths<L>(lists: &[L], len: impl Fn(&L) -> usize) -> Vec<usize> {
    lists.iter().map(len).collect()
}

/// The results of a pass over vectors `[systems, rows, width]` with scales `[systems, width]`: those that are kept,
/// each over the next vector that is owned, and for each pair its dot products `[systems, width]`.
///
/// A dot product is added in blocks of at most 64 terms in each of several interleaved sums, and the blocks as a tree:
/// so its bits do not depend on threads.
///
/// # Panics
///
/// When the pass names what there is not, or lengths disagree.
pub fn column_pass<T: Float + Element<Acc = T>>(
    pass: &ColumnPass,
    mut vectors: Vec<Column<'_, T>>,
    scales: &[&[T]],
    dims: [usize; 3],
) -> (Vec<Kept<Vec<T>>>, Vec<Vec<T>>) {
    pass.check(&lengths(&vectors, |own| own.list().len()), &lengths(scales, |own| own.len()), dims);
    let [systems, rows, width] = dims;
    let (own, lanes) = (rows * width, width * LANES.div_ceil(width.max(1)));
    let size = (lanes * BLOCK.min(WIDE_BLOCK / lanes.max(1)).max(1)).min(own).max(1);
    // Blocks of a system, and where each of all begins and ends.
    let blocks = own.div_ceil(size);
    let span = |block: usize| {
        let (system, first) = (block / blocks, block % blocks * size);
        system * own + first..system * own + own.min(first + size)
    };
    let mut owned = (0..vectors.len()).filter(|&at| matches!(vectors[at], Column::Owned(_)));
    let mut kept: Vec<Kept<Vec<T>>> = pass
        .kept
        .iter()
        .map(|_| owned.next().map_or_else(|| Kept::New(unwritten(systems * own)), Kept::Over))
        .collect();
    let dots = pass.dots.len() * width;
    let mut sums = vec![T::ZERO; systems * blocks * dots];
    let pieces = par::even(systems * blocks, size);
    let lens = par::lens(&pieces, |all| all.clone().map(|block| span(block).len()).sum::<usize>());
    let mut jobs: Vec<Piece<'_, T>> = split_mut(&mut sums, &par::lens(&pieces, |all| all.len() * dots))
        .into_iter()
        .map(|sums| Piece { sums, vectors: vec![], new: vec![] })
        .collect();
    for vector in &mut vectors {
        match vector {
            Column::Shared(list) => {
                let mut rest = *list;
                for (job, len) in jobs.iter_mut().zip(&lens) {
                    let (head, tail) = rest.split_at(*len);
                    job.vectors.push(Column::Shared(head));
                    rest = tail;
                }
            }
            Column::Owned(list) => {
                jobs.iter_mut().zip(split_mut(list, &lens)).for_each(|(job, own)| job.vectors.push(Column::Owned(own)));
            }
        }
    }
    let mut over = vec![];
    for (kept, step) in kept.iter_mut().zip(&pass.kept) {
        match kept {
            Kept::Over(vector) => over.push((*step, *vector)),
            Kept::New(list) => {
                jobs.iter_mut().zip(split_mut(list, &lens)).for_each(|(job, own)| job.new.push((*step, own)));
            }
        }
    }
    par::each(jobs, &|piece, mut job| {
        let mut spare = vec![T::ZERO; (pass.steps.len() - job.new.len()) * size];
        let mut pattern = vec![T::ZERO; scales.len() * lanes];
        let mut wide = vec![T::ZERO; pass.dots.len() * lanes];
        let (mut of, mut done) = (None, 0);
        for (k, block) in pieces[piece].clone().enumerate() {
            let (len, system) = (span(block).len(), block / blocks);
            let at = done..done + len;
            if of.replace(system) != Some(system) {
                for (row, scale) in pattern.chunks_exact_mut(lanes).zip(scales) {
                    let own = scale[system * width..][..width].iter().cycle();
                    row.iter_mut().zip(own).for_each(|(x, scale)| *x = *scale);
                }
            }
            let (mut new, mut near) = (job.new.iter_mut().peekable(), spare.chunks_exact_mut(size));
            let results = std::array::from_fn(|step| match new.next_if(|(own, _)| *own == step) {
                Some((_, list)) => &mut list[at.clone()],
                None if step < pass.steps.len() => &mut near.next().expect("a place for each step")[..len],
                None => &mut [][..],
            });
            let vectors =
                std::array::from_fn(|own| job.vectors.get(own).map_or(&[][..], |column| &column.list()[at.clone()]));
            let ahead = std::array::from_fn(|own| {
                job.vectors.get(own).map_or(&[][..], |column| {
                    let list = column.list();
                    &list[at.end..list.len().min(at.end + len)]
                })
            });
            let sums = &mut job.sums[k * dots..][..dots];
            let count = job.vectors.len();
            simd::on_any(Block {
                pass,
                count,
                vectors,
                ahead,
                results,
                pattern: &pattern,
                wide: &mut wide,
                sums,
                width,
                lanes,
            });
            // The vectors of this block are no longer read.
            for &(step, vector) in &over {
                let place = step - job.new.iter().filter(|(own, _)| *own < step).count();
                if let Column::Owned(list) = &mut job.vectors[vector] {
                    list[at.clone()].copy_from_slice(&spare[place * size..][..len]);
                }
            }
            done += len;
        }
    });
    (kept, totals(&sums, [systems, blocks, pass.dots.len(), width]))
}

/// What a thread has of all vectors, one after the other.
struct Piece<'a, T> {
    sums: &'a mut [T],
    vectors: Vec<Column<'a, T>>,
    /// New memory for the results of these steps.
    new: Vec<(usize, &'a mut [T])>,
}

/// A block of all vectors.
struct Block<'a, T> {
    pass: &'a ColumnPass,
    count: usize,
    vectors: [&'a [T]; MOST],
    /// The numbers after them.
    ahead: [&'a [T]; MOST],
    results: [&'a mut [T]; MOST],
    /// A row of `lanes` numbers for each scale.
    pattern: &'a [T],
    /// A row of `lanes` interleaved sums for each pair.
    wide: &'a mut [T],
    /// For each pair a number for each column.
    sums: &'a mut [T],
    width: usize,
    lanes: usize,
}

/// Rows of the columns that go through all steps before the next ones: with few columns they stay in the first-level
/// cache.
const TILE: usize = 16;

impl<T: Float + Element<Acc = T>> WithSimd for Block<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, _: S) {
        match self.lanes {
            LANES => self.run::<LANES>(),
            _ => self.run::<0>(),
        }
    }
}

impl<T: Float + Element<Acc = T>> Block<'_, T> {
    /// With `N` lanes, or of any number of them.
    #[inline(always)]
    fn run<const N: usize>(&mut self) {
        let (count, vectors, width) = (self.count, self.vectors, self.width);
        let lanes = if N == 0 { self.lanes } else { N };
        self.wide.fill(T::ZERO);
        let len = self.results.iter().map(|list| list.len()).chain(vectors.map(<[T]>::len)).max().unwrap_or(0);
        let mut first = 0;
        while first < len {
            let own = first..len.min(first + TILE * lanes);
            for ahead in &self.ahead[..count] {
                prefetch_row(ahead, first, own.len());
            }
            for (at, step) in self.pass.steps.iter().enumerate() {
                let (before, rest) = self.results.split_at_mut(at);
                let get = |number: usize| match number.checked_sub(count) {
                    None => &vectors[number][own.clone()],
                    Some(step) => &before[step][own.clone()],
                };
                let out = &mut rest[0][own.clone()];
                match *step {
                    ColumnStep::Add { x, scale, y } => {
                        let scale = &self.pattern[scale * lanes..][..lanes];
                        let (y, scale) = (get(y), (scale, width));
                        match x {
                            Some(x) => {
                                scaled::<T, N>(out, [get(x), y], scale, |x, y, s| T::add(x, T::mul(s, y)));
                            }
                            None => scaled::<T, N>(out, [y, y], scale, |_, y, s| T::mul(s, y)),
                        }
                    }
                    ColumnStep::Times { x, y } => {
                        let lists = out.iter_mut().zip(get(x)).zip(get(y));
                        lists.for_each(|((out, x), y)| *out = T::mul(*x, *y));
                    }
                }
            }
            let get = |number: usize| match number.checked_sub(count) {
                None => &vectors[number][own.clone()],
                Some(step) => &self.results[step][own.clone()],
            };
            for ([x, y], sums) in self.pass.dots.iter().zip(self.wide.chunks_exact_mut(lanes)) {
                add_products::<T, N>(sums, get(*x), get(*y));
            }
            first = own.end;
        }
        for (wide, sums) in self.wide.chunks_exact(lanes.max(1)).zip(self.sums.chunks_exact_mut(width.max(1))) {
            sums.copy_from_slice(&wide[..width]);
            for more in wide.chunks_exact(width).skip(1) {
                sums.iter_mut().zip(more).for_each(|(sum, more)| *sum = T::add(*sum, *more));
            }
        }
    }
}

/// `out = f(x, y, s)`, where `s` repeats. One column has one number: without a list of it the loop is a plain one.
#[inline(always)]
fn scaled<T: Copy, const N: usize>(
    out: &mut [T],
    [x, y]: [&[T]; 2],
    (s, width): (&[T], usize),
    f: impl Fn(T, T, T) -> T,
) {
    if width == 1 {
        let s = s[0];
        return out.iter_mut().zip(x).zip(y).for_each(|((out, x), y)| *out = f(*x, *y, s));
    }
    let lanes = if N == 0 { s.len() } else { N };
    for ((out, x), y) in out.chunks_mut(lanes).zip(x.chunks(lanes)).zip(y.chunks(lanes)) {
        for (((out, x), y), s) in out.iter_mut().zip(x).zip(y).zip(s) {
            *out = f(*x, *y, *s);
        }
    }
}
