//! A symmetric problem as an iteration sees it, and when a pair is good enough.

use super::block::{Block, check_positive, evened, gram, random_block, residual, roots, squares, svqb};
use super::plain::check_symmetric;
use super::report::SpectrumHints;
use super::small::read;
use super::task::Task;
use crate::krylov::watch::Stopped;
use crate::operator::{LinearOperator, Operator};
use sparse_ops::extend::same_elements;
use sparse_ops::{Result, SparseError};

/// Eigenvalues of the divided matrix, vectors, and how it ended.
pub struct Found {
    pub values: Vec<f64>,
    pub vectors: Block,
    pub stopped: Stopped,
    pub iterations: usize,
}

/// `A v = l B v` with symmetric `A` and `B`, where some vectors are left out.
pub struct Pencil<'a, 'p> {
    pub task: &'a Task<'p>,
    pub b: Option<Operator>,
    /// An orthonormal basis `Y` of the vectors that are left out, and `B Y`.
    pub deflated: Option<[Block; 2]>,
}

impl<'a, 'p> Pencil<'a, 'p> {
    pub fn new(task: &'a Task<'p>, hints: &SpectrumHints<'_>) -> Result<Self> {
        let (asked, plain, op) = (&task.asked, &task.plain, task.asked.op);
        let n = plain.a.dims()[1];
        for (what, own) in [("mass", hints.mass), ("inverse", hints.inverse), ("preconditioner", hints.preconditioner)]
        {
            if let Some(own) = own
                && own.dims() != [n; 2]
            {
                let rule = match what {
                    "mass" => "the mass {right} must be square, with a row for each one of {left}",
                    "inverse" => "the inverse {right} must be square, with a row for each one of {left}",
                    _ => "the preconditioner {right} must be square, with a row for each one of {left}",
                };
                return Err(SparseError::shape_mismatch(op, rule, [n; 2], own.dims()));
            }
        }
        for own in [&hints.start, &hints.deflate].into_iter().flatten() {
            if own.dims()[0] != n {
                let rule = "a start, and what is left out, {right} must have a row for each one of {left}";
                return Err(SparseError::shape_mismatch(op, rule, [n; 2], own.dims()));
            }
            same_elements(op, &plain.like, &own.clone().inner())?;
        }
        let b = hints.mass.map(LinearOperator::without_tape);
        if let Some(b) = &b
            && n > 0
        {
            let probe = random_block(1, [n, 2], &plain.like);
            let image = b.try_apply(probe.clone())?;
            check_symmetric(op, "the mass", &probe, &image)?;
            let [own] = read([&gram(&probe, &image)]);
            check_positive(op, &probe, Some(&image), &own, 0)?;
        }
        let mut pencil = Self { task, b, deflated: None };
        if let Some(y) = hints.deflate.as_ref().filter(|y| y.dims()[1] > 0) {
            let mut y = evened(y.clone().inner());
            let mut mass = pencil.mass(&y)?;
            for _ in 0..2 {
                let found = svqb(op, y, mass, 0)?;
                (y, mass) = (found.q, found.mass);
            }
            let image = mass.unwrap_or_else(|| y.clone());
            pencil.deflated = (y.dims()[1] > 0).then_some([y, image]);
        }
        asked.check_count(n - pencil.left_out().min(n), "vectors that are not left out")?;
        Ok(pencil)
    }

    pub fn op(&self) -> &'static str {
        self.task.asked.op
    }

    pub fn n(&self) -> usize {
        self.task.plain.a.dims()[1]
    }

    pub fn left_out(&self) -> usize {
        self.deflated.as_ref().map_or(0, |[y, _]| y.dims()[1])
    }

    /// `B x`, and `None` for the identity.
    pub fn mass(&self, x: &Block) -> Result<Option<Block>> {
        self.b.as_ref().map(|b| b.try_apply(x.clone())).transpose()
    }

    /// Without what is left out.
    pub fn project(&self, x: Block) -> Block {
        match &self.deflated {
            Some([y, image]) => x.clone() - y.clone().matmul(gram(image, &x)),
            None => x,
        }
    }

    /// `A v - l B v`, of each its size and what that may be.
    pub fn residuals(&self, values: &[f64], v: &Block, image: &Block, mass: Option<&Block>) -> (Block, Vec<[f64; 2]>) {
        let own = mass.unwrap_or(v);
        let (mut r, mut squared) = residual(image, own, values);
        if let Some([y, image]) = &self.deflated {
            // Of `P^T A P`.
            r = r.clone() - image.clone().matmul(gram(y, &r));
            squared = squares(&r);
        }
        let [sizes, of_v, of_mass] = match mass {
            Some(mass) => roots([squared, squares(v), squares(mass)]),
            None => {
                let [sizes] = roots([squared]);
                [sizes, vec![1.0; values.len()], vec![1.0; values.len()]]
            }
        };
        let goal = |at: usize| {
            let (value, norm) = (values[at].abs(), self.task.plain.norm.get());
            self.task.goal(value * of_mass[at], norm * of_v[at] + value * of_mass[at])
        };
        let pairs = sizes.iter().enumerate().map(|(at, &size)| [size, goal(at)]).collect();
        (r, pairs)
    }
}
