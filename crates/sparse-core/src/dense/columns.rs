//! One pass over columns: linear combinations of them, and dot products of what comes of it.
//!
//! A Krylov method does little with each number that it reads. So what it does between two products of its matrix is
//! one walk: a block of all vectors is read, every step is done on it while it is in the first-level cache, and only
//! the vectors that are asked for are written: over one that nobody needs any more, which is in the cache already, or
//! in new memory.

use crate::memory::unwritten;
use crate::par::{self, split_mut};
use crate::sums::{BLOCK, Cascade};
use crate::{Element, Float, simd};
use pulp::{Simd, WithSimd};

/// Vectors and steps of a pass, each at most.
pub const MOST: usize = 8;

/// Numbers that are done together, at least, in whole rows of the columns.
const LANES: usize = 16;

/// Numbers of a block, at most, of wide rows.
const NEAR: usize = 1 << 14;

/// What is computed of vectors, which have numbers: first those that are given, then the results of the steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnStep {
    /// `x + s y`, or `s y`, where `s` has a number for each column.
    Add {
        /// The first vector.
        x: Option<usize>,
        /// The place of `s` in the list of scales.
        scale: usize,
        /// The second vector.
        y: usize,
    },
    /// `x y`, element by element.
    Times {
        /// The first vector.
        x: usize,
        /// The second vector.
        y: usize,
    },
}

/// Steps, and what is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColumnPass {
    /// At most 8.
    pub steps: Vec<ColumnStep>,
    /// The steps whose results are given, ascending.
    pub kept: Vec<usize>,
    /// Pairs of vectors whose dot products are given, for each column.
    pub dots: Vec<[usize; 2]>,
}

/// A vector of a pass.
#[derive(Debug)]
pub enum Column<'a, T> {
    /// Others read it too.
    Shared(&'a [T]),
    /// A result may be written over it.
    Owned(&'a mut [T]),
}

impl<T> Column<'_, T> {
    fn list(&self) -> &[T] {
        match self {
            Self::Shared(list) => list,
            Self::Owned(list) => list,
        }
    }
}

/// A result of a pass.
#[derive(Debug, PartialEq)]
pub enum Kept<L> {
    /// It is over the vector of this number.
    Over(usize),
    /// In new memory.
    New(L),
}

impl ColumnPass {
    /// Checks the steps, and the lengths of the vectors and of the scales, for `[systems, rows, width]`.
    ///
    /// # Panics
    ///
    /// When the pass names what there is not, or lengths disagree.
    pub fn check(&self, vectors: &[usize], scales: &[usize], [systems, rows, width]: [usize; 3]) {
        let known = |number: usize, step: usize| number < vectors.len() + step;
        let sound = |(step, own): (usize, &ColumnStep)| match *own {
            ColumnStep::Add { x, scale, y } => {
                scale < scales.len() && known(y, step) && x.is_none_or(|x| known(x, step))
            }
            ColumnStep::Times { x, y } => known(x, step) && known(y, step),
        };
        assert!(
            vectors.len() <= MOST
                && self.steps.len() <= MOST
                && vectors.iter().all(|&len| len == systems * rows * width)
                && scales.iter().all(|&len| len == systems * width)
                && self.steps.iter().enumerate().all(sound)
                && self.kept.is_sorted_by(|a, b| a < b)
                && self.kept.last().is_none_or(|&last| last < self.steps.len())
                && self.dots.iter().flatten().all(|&number| known(number, self.steps.len())),
            "column_pass: steps must use vectors and scales that there are, of {systems} systems, {rows} rows and \
             {width} columns"
        );
    }
}

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
    let size = (lanes * BLOCK.min(NEAR / lanes.max(1)).max(1)).min(own).max(1);
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
            let sums = &mut job.sums[k * dots..][..dots];
            let count = job.vectors.len();
            simd::on_any(Block {
                pass,
                count,
                vectors,
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

/// For each dot product its sums over the blocks of a system.
fn totals<T: Float + Element<Acc = T>>(sums: &[T], [systems, blocks, dots, width]: [usize; 4]) -> Vec<Vec<T>> {
    let mut out = vec![vec![T::ZERO; systems * width]; dots];
    let (row, mut total) = (dots * width, vec![T::ZERO; dots * width]);
    for system in 0..systems.min(sums.len()) {
        let mut cascade = Cascade::new();
        for block in 0..blocks {
            cascade.push(block, &sums[(system * blocks + block) * row..][..row], T::add);
        }
        cascade.finish(&mut total, T::add);
        for (out, total) in out.iter_mut().zip(total.chunks_exact(width)) {
            out[system * width..][..width].copy_from_slice(total);
        }
    }
    out
}

/// A block of all vectors.
struct Block<'a, T> {
    pass: &'a ColumnPass,
    count: usize,
    vectors: [&'a [T]; MOST],
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

/// `sums += x y`, of which each row is as long as the sums.
#[inline(always)]
fn add_products<T: Float + Element<Acc = T>, const N: usize>(sums: &mut [T], x: &[T], y: &[T]) {
    let lanes = sums.len();
    if let Ok(sums) = <&mut [T; N]>::try_from(&mut *sums) {
        let ((x, last_x), (y, last_y)) = (x.as_chunks::<N>(), y.as_chunks::<N>());
        let mut own = *sums;
        for (x, y) in x.iter().zip(y) {
            for k in 0..N {
                own[k] = T::add(own[k], T::mul(x[k], y[k]));
            }
        }
        for ((sum, x), y) in own.iter_mut().zip(last_x).zip(last_y) {
            *sum = T::add(*sum, T::mul(*x, *y));
        }
        *sums = own;
        return;
    }
    for (x, y) in x.chunks(lanes).zip(y.chunks(lanes)) {
        for ((sum, x), y) in sums.iter_mut().zip(x).zip(y) {
            *sum = T::add(*sum, T::mul(*x, *y));
        }
    }
}

pub(super) mod dynamic {
    use super::{Column, ColumnPass, Kept};
    use crate::dynamic::slices::{AnyElement, ElementVec, Elements, ElementsMut, Values};

    /// See [`column_pass`](crate::column_pass()). Of f32 or f64.
    ///
    /// # Panics
    ///
    /// Those of [`column_pass`](crate::column_pass()); for other types.
    pub fn column_pass(
        pass: &ColumnPass,
        vectors: Vec<Values<'_>>,
        scales: &[Elements<'_>],
        dims: [usize; 3],
    ) -> (Vec<Kept<ElementVec>>, Vec<ElementVec>) {
        macro_rules! passed {
            ($T:ty, $variant:ident) => {{
                let column = |own| match own {
                    Values::Owned(ElementsMut::$variant(list)) => Column::Owned(list),
                    Values::Shared(list) => Column::Shared(<$T>::elements(list)),
                    Values::Owned(_) => panic!("column_pass: vectors must have one type"),
                };
                let scales: Vec<&[$T]> = scales.iter().map(|own| <$T>::elements(*own)).collect();
                let vectors = vectors.into_iter().map(column).collect();
                let (kept, dots) = super::column_pass::<$T>(pass, vectors, &scales, dims);
                let kept = kept.into_iter().map(|own| match own {
                    Kept::Over(vector) => Kept::Over(vector),
                    Kept::New(list) => Kept::New(<$T>::element_vec(list)),
                });
                (kept.collect(), dots.into_iter().map(<$T>::element_vec).collect())
            }};
        }
        match vectors.first() {
            Some(Values::Owned(ElementsMut::F32(_)) | Values::Shared(Elements::F32(_))) => passed!(f32, F32),
            Some(Values::Owned(ElementsMut::F64(_)) | Values::Shared(Elements::F64(_))) => passed!(f64, F64),
            Some(other) => panic!("column_pass: vectors must be f32 or f64, got {}", other.type_name()),
            None => (vec![], vec![]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(count: usize, seed: f64) -> Vec<f64> {
        (0..count).map(|k| ((k as f64 + seed) * 0.7345).sin()).collect()
    }

    /// Every width of a row, and lengths of less than a row to several blocks of one.
    #[test]
    fn is_its_formula() {
        use ColumnStep::{Add, Times};
        let pass = ColumnPass {
            steps: vec![Add { x: Some(0), scale: 0, y: 1 }, Times { x: 3, y: 2 }, Add { x: None, scale: 1, y: 4 }],
            kept: vec![0, 2],
            dots: vec![[3, 3], [0, 4], [1, 1]],
        };
        for (systems, rows, width) in [
            (1, 1, 1),
            (1, 1024, 1),
            (1, 5000, 1),
            (3, 100, 1),
            (2, 1500, 2),
            (1, 77, 3),
            (2, 300, 5),
            (1, 9, 16),
            (1, 70, 17),
            (1, 3, 40_000),
            (2, 0, 1),
            (0, 5, 1),
            (1, 5, 0),
        ] {
            let len = systems * rows * width;
            let lists: [Vec<f64>; 3] = [0.0, 1000.0, 2000.0].map(|seed| numbers(len, seed));
            let scales = [numbers(systems * width, 0.5), numbers(systems * width, 7.5)];
            let vectors = lists.iter().map(|list| Column::Shared(list)).collect();
            let (kept, dots) = column_pass(&pass, vectors, &[&scales[0], &scales[1]], [systems, rows, width]);
            let scale = |own: usize, at: usize| scales[own][at / (rows * width) * width + at % width];
            let first: Vec<f64> = (0..len).map(|at| lists[0][at] + scale(0, at) * lists[1][at]).collect();
            let second: Vec<f64> = (0..len).map(|at| first[at] * lists[2][at]).collect();
            let third: Vec<f64> = (0..len).map(|at| scale(1, at) * second[at]).collect();
            // In place the bits are the same, and the other vectors stay.
            let mut copies = lists.clone();
            let [one, two, three] = copies.each_mut();
            let vectors = vec![Column::Shared(one), Column::Owned(two), Column::Shared(three)];
            let again = column_pass(&pass, vectors, &[&scales[0], &scales[1]], [systems, rows, width]);
            assert_eq!(again, (vec![Kept::Over(1), Kept::New(third.clone())], dots.clone()));
            assert_eq!(copies, [lists[0].clone(), first.clone(), lists[2].clone()]);
            assert_eq!(kept, [Kept::New(first.clone()), Kept::New(third)]);
            for (own, [x, y]) in
                [[&first, &first], [&lists[0], &second], [&lists[1], &lists[1]]].into_iter().enumerate()
            {
                let mut want = vec![0.0; systems * width];
                for at in 0..len {
                    want[at / (rows * width) * width + at % width] += x[at] * y[at];
                }
                assert_eq!(dots[own].len(), want.len());
                for (got, want) in dots[own].iter().zip(want) {
                    assert!((got - want).abs() < 1e-11, "{systems} {rows} {width}: {got} {want}");
                }
            }
        }
    }

    /// A sum in order would stop at 2^24.
    #[test]
    fn long_dots_keep_small_terms() {
        let ones = vec![1.0f32; 1 << 25];
        let pass = ColumnPass { dots: vec![[0, 0]], ..ColumnPass::default() };
        assert_eq!(column_pass(&pass, vec![Column::Shared(&ones)], &[], [1, 1 << 25, 1]).1[0], [(1u32 << 25) as f32]);
    }

    #[test]
    #[should_panic(expected = "must use vectors and scales that there are")]
    fn refuses_a_vector_that_comes_later() {
        let pass = ColumnPass { steps: vec![ColumnStep::Times { x: 0, y: 1 }], kept: vec![0], dots: vec![] };
        column_pass(&pass, vec![Column::Shared(&[1.0f64])], &[], [1, 1, 1]);
    }

    #[test]
    #[should_panic(expected = "vectors must be f32 or f64, got i32")]
    fn names_the_type_it_has_no_kernel_for() {
        use crate::dynamic::{ElementsMut, Values};
        let mut own = [1];
        let vectors = vec![Values::Owned(ElementsMut::I32(&mut own))];
        dynamic::column_pass(&ColumnPass::default(), vectors, &[], [1, 1, 1]);
    }
}
