//! One pass over columns: linear combinations of them, and dot products of what comes of it.
//!
//! A Krylov method does little with each number that it reads. So what it does between two products of its matrix is
//! one walk: a block of all vectors is read, every step is done on it while it is in the first-level cache, and only
//! the vectors that are asked for are written.

use crate::memory::unwritten;
use crate::par::{self, split_mut, split_rows};
use crate::sums::{BLOCK, Cascade};
use crate::{Element, Float, simd};
use pulp::{Simd, WithSimd};

/// Vectors and steps of a pass, each at most.
pub const MOST: usize = 8;

/// Numbers that are done together, at least, in whole rows of the columns.
const LANES: usize = 16;

/// Numbers of a block that stay in the first-level cache.
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

impl ColumnPass {
    fn check<T>(&self, vectors: &[&[T]], scales: &[&[T]], [systems, rows, width]: [usize; 3]) {
        let (len, known) = (systems * rows * width, |number: usize, step: usize| number < vectors.len() + step);
        let sound = |(step, own): (usize, &ColumnStep)| match *own {
            ColumnStep::Add { x, scale, y } => {
                scale < scales.len() && known(y, step) && x.is_none_or(|x| known(x, step))
            }
            ColumnStep::Times { x, y } => known(x, step) && known(y, step),
        };
        assert!(
            vectors.len() <= MOST
                && self.steps.len() <= MOST
                && vectors.iter().all(|vector| vector.len() == len)
                && scales.iter().all(|scale| scale.len() == systems * width)
                && self.steps.iter().enumerate().all(sound)
                && self.kept.is_sorted_by(|a, b| a < b)
                && self.kept.last().is_none_or(|&last| last < self.steps.len())
                && self.dots.iter().flatten().all(|&number| known(number, self.steps.len())),
            "column_pass: steps must use vectors and scales that there are, of {systems} systems, {rows} rows and \
             {width} columns"
        );
    }
}

/// The results of a pass over vectors `[systems, rows, width]` with scales `[systems, width]`: those that are kept,
/// then for each pair its dot products `[systems, width]`.
///
/// A dot product is added in blocks of at most 64 terms in each of several interleaved sums, and the blocks as a tree:
/// so its bits do not depend on threads.
///
/// # Panics
///
/// When the pass names what there is not, or lengths disagree.
pub fn column_pass<T: Float + Element<Acc = T>>(
    pass: &ColumnPass,
    vectors: &[&[T]],
    scales: &[&[T]],
    dims: [usize; 3],
) -> Vec<Vec<T>> {
    pass.check(vectors, scales, dims);
    let [systems, rows, width] = dims;
    let (own, lanes) = (rows * width, width * LANES.div_ceil(width.max(1)));
    let size = (lanes * BLOCK.min(NEAR / lanes.max(1)).max(1)).min(own).max(1);
    // Blocks of a system, and where each of all begins and ends.
    let blocks = own.div_ceil(size);
    let span = |block: usize| {
        let (system, first) = (block / blocks, block % blocks * size);
        system * own + first..system * own + own.min(first + size)
    };
    let mut outs: Vec<Vec<T>> = pass.kept.iter().map(|_| unwritten(systems * own)).collect();
    let dots = pass.dots.len() * width;
    let mut sums = vec![T::ZERO; systems * blocks * dots];
    let pieces = par::even(systems * blocks, size);
    let lens = par::lens(&pieces, |all| all.clone().map(|block| span(block).len()).sum::<usize>());
    let mut lists: Vec<&mut [T]> = outs.iter_mut().map(Vec::as_mut_slice).collect();
    let places = split_rows(&mut lists, (systems * own).max(1), &lens);
    let shares = split_mut(&mut sums, &par::lens(&pieces, |all| all.len() * dots));
    par::each(places.into_iter().zip(shares).collect(), &|piece, (mut places, sums)| {
        let mut spare = vec![T::ZERO; (pass.steps.len() - pass.kept.len()) * size];
        let mut pattern = vec![T::ZERO; scales.len() * lanes];
        let mut wide = vec![T::ZERO; lanes];
        let (mut of, mut done) = (None, 0);
        for (k, block) in pieces[piece].clone().enumerate() {
            let (at, system) = (span(block), block / blocks);
            if of.replace(system) != Some(system) {
                for (row, scale) in pattern.chunks_exact_mut(lanes).zip(scales) {
                    let own = scale[system * width..][..width].iter().cycle();
                    row.iter_mut().zip(own).for_each(|(x, scale)| *x = *scale);
                }
            }
            let len = at.len();
            let (mut places, mut spare) = (places.iter_mut(), spare.chunks_exact_mut(size));
            let mut result = |step: usize| match pass.kept.contains(&step) {
                true => places.next().map(|place| &mut place[done..done + len]),
                false => spare.next().map(|spare| &mut spare[..len]),
            };
            let results = std::array::from_fn(|step| match step < pass.steps.len() {
                true => result(step).expect("a place for each step"),
                false => &mut [][..],
            });
            let vectors = std::array::from_fn(|k| vectors.get(k).map_or(&[][..], |vector| &vector[at.clone()]));
            let sums = &mut sums[k * dots..][..dots];
            simd::on_any(Block {
                pass,
                count: self::count(&vectors),
                vectors,
                results,
                pattern: &pattern,
                wide: &mut wide,
                sums,
            });
            done += len;
        }
    });
    outs.extend(totals(&sums, [systems, blocks, pass.dots.len(), width]));
    outs
}

fn count<T>(vectors: &[&[T]; MOST]) -> usize {
    vectors.iter().take_while(|vector| !vector.is_empty()).count()
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
    /// Interleaved sums.
    wide: &'a mut [T],
    /// For each pair a number for each column.
    sums: &'a mut [T],
}

impl<T: Float + Element<Acc = T>> WithSimd for Block<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, _: S) {
        match self.wide.len() {
            LANES => self.run::<LANES>(),
            _ => self.run::<0>(),
        }
    }
}

impl<T: Float + Element<Acc = T>> Block<'_, T> {
    /// With rows of `N` numbers, or of as many as there are interleaved sums where that is 0.
    #[inline(always)]
    fn run<const N: usize>(&mut self) {
        let lanes = if N == 0 { self.wide.len() } else { N };
        for (at, step) in self.pass.steps.iter().enumerate() {
            let (before, rest) = self.results.split_at_mut(at);
            let get = |number: usize| match number.checked_sub(self.count) {
                None => self.vectors[number],
                Some(step) => &*before[step],
            };
            let out = &mut *rest[0];
            match *step {
                ColumnStep::Add { x, scale, y } => {
                    let scale = &self.pattern[scale * lanes..][..lanes];
                    let y = get(y).chunks(lanes);
                    match x {
                        Some(x) => {
                            for ((out, x), y) in out.chunks_mut(lanes).zip(get(x).chunks(lanes)).zip(y) {
                                each::<T, N>(out, [x, y, scale], |[x, y, s]| T::add(x, T::mul(s, y)));
                            }
                        }
                        None => {
                            for (out, y) in out.chunks_mut(lanes).zip(y) {
                                each::<T, N>(out, [y, y, scale], |[y, _, s]| T::mul(s, y));
                            }
                        }
                    }
                }
                ColumnStep::Times { x, y } => {
                    for ((out, x), y) in out.iter_mut().zip(get(x)).zip(get(y)) {
                        *out = T::mul(*x, *y);
                    }
                }
            }
        }
        let get = |number: usize| match number.checked_sub(self.count) {
            None => self.vectors[number],
            Some(step) => &*self.results[step],
        };
        let width = self.sums.len() / self.pass.dots.len().max(1);
        for ([x, y], sums) in self.pass.dots.iter().zip(self.sums.chunks_exact_mut(width.max(1))) {
            let (x, y) = (get(*x).chunks(lanes), get(*y).chunks(lanes));
            self.wide.fill(T::ZERO);
            x.zip(y).for_each(|(x, y)| add_products::<T, N>(self.wide, x, y));
            sums.copy_from_slice(&self.wide[..width]);
            for more in self.wide.chunks_exact(width).skip(1) {
                sums.iter_mut().zip(more).for_each(|(sum, more)| *sum = T::add(*sum, *more));
            }
        }
    }
}

/// `out[k] = f(..)` of a row, which is whole or the last one.
#[inline(always)]
fn each<T: Copy, const N: usize>(out: &mut [T], [x, y, s]: [&[T]; 3], f: impl Fn([T; 3]) -> T) {
    if N > 0
        && let (Some(out), Some(x)) = (out.first_chunk_mut::<N>(), x.first_chunk::<N>())
        && let (Some(y), Some(s)) = (y.first_chunk::<N>(), s.first_chunk::<N>())
    {
        for k in 0..N {
            out[k] = f([x[k], y[k], s[k]]);
        }
        return;
    }
    for (((out, x), y), s) in out.iter_mut().zip(x).zip(y).zip(s) {
        *out = f([*x, *y, *s]);
    }
}

#[inline(always)]
fn add_products<T: Float + Element<Acc = T>, const N: usize>(sums: &mut [T], x: &[T], y: &[T]) {
    if N > 0
        && let (Some(sums), Some(x), Some(y)) =
            (sums.first_chunk_mut::<N>(), x.first_chunk::<N>(), y.first_chunk::<N>())
    {
        for k in 0..N {
            sums[k] = T::add(sums[k], T::mul(x[k], y[k]));
        }
        return;
    }
    for ((sum, x), y) in sums.iter_mut().zip(x).zip(y) {
        *sum = T::add(*sum, T::mul(*x, *y));
    }
}

pub(super) mod dynamic {
    use super::ColumnPass;
    use crate::dynamic::slices::{AnyElement, ElementVec, Elements};

    /// See [`column_pass`](crate::column_pass()). Of f32 or f64.
    ///
    /// # Panics
    ///
    /// Those of [`column_pass`](crate::column_pass()); for other types.
    pub fn column_pass(
        pass: &ColumnPass,
        vectors: &[Elements<'_>],
        scales: &[Elements<'_>],
        dims: [usize; 3],
    ) -> Vec<ElementVec> {
        macro_rules! passed {
            ($T:ty) => {{
                let [vectors, scales] =
                    [vectors, scales].map(|list| list.iter().map(|own| <$T>::elements(*own)).collect::<Vec<_>>());
                super::column_pass::<$T>(pass, &vectors, &scales, dims).into_iter().map(<$T>::element_vec).collect()
            }};
        }
        match vectors.first() {
            Some(Elements::F32(_)) => passed!(f32),
            Some(Elements::F64(_)) => passed!(f64),
            Some(other) => panic!("column_pass: vectors must be f32 or f64, got {}", other.type_name()),
            None => Vec::new(),
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
            let lists: Vec<Vec<f64>> = (0..3).map(|k| numbers(len, k as f64 * 1000.0)).collect();
            let scales = [numbers(systems * width, 0.5), numbers(systems * width, 7.5)];
            let vectors: Vec<&[f64]> = lists.iter().map(Vec::as_slice).collect();
            let got = column_pass(&pass, &vectors, &[&scales[0], &scales[1]], [systems, rows, width]);
            let scale = |own: usize, at: usize| scales[own][at / (rows * width) * width + at % width];
            let first: Vec<f64> = (0..len).map(|at| lists[0][at] + scale(0, at) * lists[1][at]).collect();
            let second: Vec<f64> = (0..len).map(|at| first[at] * lists[2][at]).collect();
            let third: Vec<f64> = (0..len).map(|at| scale(1, at) * second[at]).collect();
            assert_eq!(got[0], first);
            assert_eq!(got[1], third);
            for (own, [x, y]) in
                [[&first, &first], [&lists[0], &second], [&lists[1], &lists[1]]].into_iter().enumerate()
            {
                let mut want = vec![0.0; systems * width];
                for at in 0..len {
                    want[at / (rows * width) * width + at % width] += x[at] * y[at];
                }
                assert_eq!(got[2 + own].len(), want.len());
                for (got, want) in got[2 + own].iter().zip(want) {
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
        assert_eq!(column_pass(&pass, &[&ones], &[], [1, 1 << 25, 1])[0], [(1u32 << 25) as f32]);
    }

    #[test]
    #[should_panic(expected = "must use vectors and scales that there are")]
    fn refuses_a_vector_that_comes_later() {
        let pass = ColumnPass { steps: vec![ColumnStep::Times { x: 0, y: 1 }], kept: vec![0], dots: vec![] };
        column_pass(&pass, &[&[1.0f64]], &[], [1, 1, 1]);
    }
}
