//! What a method does between two products, as one walk over its vectors.

use burn::tensor::Tensor;
use sparse_ops::extend::kernel::{self, ColumnPass, ColumnStep};

/// Columns of all systems side by side: `[systems, n, F]`.
pub type Vectors = Tensor<3>;
/// A number for each column of each system: `[systems, 1, F]`.
pub type Numbers = Tensor<3>;

/// A vector of a pass: one that is given, or the result of a step.
#[derive(Clone, Copy)]
pub struct Node(Place);

#[derive(Clone, Copy)]
enum Place {
    Given(usize),
    Made(usize),
}

/// Linear combinations of vectors, and dot products, in one pass over memory. On a CPU the results are written over
/// vectors that nobody else has.
#[derive(Default)]
pub struct Pass {
    vectors: Vec<Vectors>,
    scales: Vec<Numbers>,
    steps: Vec<Step>,
}

enum Step {
    Add { x: Option<Node>, scale: usize, y: Node },
    Times { x: Node, y: Node },
}

impl Pass {
    pub fn vector(&mut self, x: Vectors) -> Node {
        self.vectors.push(x);
        Node(Place::Given(self.vectors.len() - 1))
    }

    /// `x + scale y`, or `scale y`.
    pub fn add(&mut self, x: impl Into<Option<Node>>, scale: Numbers, y: Node) -> Node {
        let x = x.into();
        self.scales.push(scale);
        self.step(Step::Add { x, scale: self.scales.len() - 1, y })
    }

    /// `x y`, element by element.
    pub fn times(&mut self, x: Node, y: Node) -> Node {
        self.step(Step::Times { x, y })
    }

    /// 0 of columns of finite numbers, else NaN; `zero` is a 0 for each.
    pub fn spoiled(mut self, x: Node, zero: Numbers) -> Numbers {
        let x = self.add(None, zero, x);
        let ([], [spoiled]) = self.run([], [[x, x]]);
        spoiled
    }

    fn step(&mut self, step: Step) -> Node {
        self.steps.push(step);
        Node(Place::Made(self.steps.len() - 1))
    }

    /// The results of `kept`, which were made in this order, and the dot products of `dots`.
    pub fn run<const K: usize, const D: usize>(
        self,
        kept: [Node; K],
        dots: [[Node; 2]; D],
    ) -> ([Vectors; K], [Numbers; D]) {
        let Self { vectors, scales, steps } = self;
        let given = vectors.len();
        let place = |node: Node| match node.0 {
            Place::Given(at) => at,
            Place::Made(step) => given + step,
        };
        let step = |step: &Step| match *step {
            Step::Add { x, scale, y } => ColumnStep::Add { x: x.map(place), scale, y: place(y) },
            Step::Times { x, y } => ColumnStep::Times { x: place(x), y: place(y) },
        };
        let pass = ColumnPass {
            steps: steps.iter().map(step).collect(),
            kept: kept.iter().map(|node| place(*node) - given).collect(),
            dots: dots.iter().map(|pair| pair.map(place)).collect(),
        };
        let mut results = kernel::column_pass(&pass, vectors, scales).into_iter();
        let mut next = || results.next().expect("a result for each");
        (std::array::from_fn(|_| next()), std::array::from_fn(|_| next()))
    }
}
