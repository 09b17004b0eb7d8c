//! One pass over columns: linear combinations of them, and dot products of what comes of it.
//!
//! A Krylov method does little with each number that it reads. So what it does between two products of its matrix is
//! one walk: a block of all vectors is read, every step is done on it while it is in the first-level cache, and only
//! the vectors that are asked for are written: over one that nobody needs any more, which is in the cache already, or
//! in new memory.

mod dots;
mod pass;
mod walk;

pub use pass::{Column, ColumnPass, ColumnStep, Kept};
pub use walk::column_pass;

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
