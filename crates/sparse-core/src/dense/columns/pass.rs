//! What a pass does, and its checks.

/// Vectors and steps of a pass, each at most.
pub(super) const MOST: usize = 8;

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
    pub(super) fn list(&self) -> &[T] {
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
