//! What a method sees: a system, where it starts, and when a column is solved.

use super::pass::Pass;
use super::scaling::Scaling;
use super::vectors::{Numbers, Vectors, apply, eps, evened, from_host, norm, random, read, scaled};
use super::watch::{Goal, OP};
use crate::finite::not_finite;
use crate::operator::{LinearOperator, Operator};
use burn::tensor::{DType, Shape};
use sparse_ops::Result;
use sparse_ops::extend::Exact;
use std::cell::OnceCell;

/// The matrix, divided by its size where that is far from 1: squares of very small or large numbers would be 0 or
/// infinite.
pub struct System<'a> {
    a: &'a Operator,
    /// For least squares, `BiCg` and `Qmr`.
    transposed: Option<Operator>,
    least_squares: bool,
    preconditioner: Option<&'a Operator>,
    /// Of `BiCg` and `Qmr`.
    other_preconditioner: Option<Operator>,
    scaling: OnceCell<Option<Scaling>>,
    /// A power of 2 for each system, by which the matrix is divided.
    sizes: Vec<f64>,
    /// The same and one over it for each column, where one is not 1.
    size: Option<[Numbers; 2]>,
    /// What the residual of each column may be.
    goal: Numbers,
    /// Of least squares also what it may be by `|b - A x|`, and what that may be.
    slope: Numbers,
    reach: Numbers,
}

/// A solution that gets better, its residual `b - A x`, and of least squares `A^T` times that; else it again.
#[derive(Clone)]
pub struct Point {
    pub x: Vectors,
    pub residual: Vectors,
    pub normal: Vectors,
}

impl<'a> System<'a> {
    /// With about the norm of each system's matrix, from below.
    pub fn new(
        a: &'a Operator,
        transposed: Option<Operator>,
        least_squares: bool,
        preconditioner: Option<&'a Operator>,
        b: &Vectors,
        first: Option<usize>,
    ) -> Result<(Self, Vec<f64>)> {
        let both = transposed.is_some() && !least_squares;
        let other_preconditioner = preconditioner.filter(|_| both).map(LinearOperator::try_transposed).transpose()?;
        let [systems, _, width] = b.dims();
        let cols = a.dims()[1] / systems;
        let probe = random(0, cols, b).expand(Shape::from([systems, cols, 1]));
        let image = apply(a, &probe)?;
        let (share, most) = evened(&image);
        let [most, share, probe] = read([&most, &norm(&share), &norm(&probe)]);
        if !share.iter().all(|share| share.is_finite()) {
            return Err(not_finite(OP, "the products of the matrix", &image, first));
        }
        let limit = if b.dtype() == DType::F64 { 1000.0 } else { 120.0 };
        let power = |most: &f64| match (1e-6..=1e6).contains(most) {
            true => 1.0,
            false => most.log2().round().clamp(-limit, limit).exp2(),
        };
        let powers: Vec<f64> = most.iter().map(power).collect();
        let norms =
            (0..systems).map(|at| most[at] / powers[at] * share[at] / probe[at].max(f64::MIN_POSITIVE)).collect();
        let none = b.clone().narrow(1, 0, 1).zeros_like();
        let all = |list: &mut dyn Iterator<Item = f64>| {
            from_host(list.flat_map(|number| std::iter::repeat_n(number, width)).collect(), &none)
        };
        let far = powers.iter().any(|&power| power != 1.0);
        let size = far.then(|| [all(&mut powers.iter().copied()), all(&mut powers.iter().map(|power| power.recip()))]);
        let (sizes, [goal, slope, reach]) = (powers, [none.clone(), none.clone(), none]);
        let own = Self {
            a,
            transposed,
            least_squares,
            preconditioner,
            other_preconditioner,
            scaling: OnceCell::new(),
            sizes,
            size,
            goal,
            slope,
            reach,
        };
        Ok((own, norms))
    }

    pub fn aim(&mut self, goals: &[Goal]) {
        // A step of least squares from a residual that is nothing but rounding may lead anywhere.
        let least = if self.least_squares { 2.0 * eps(self.goal.dtype()) } else { 0.0 };
        let goals: Vec<_> = goals.iter().map(|goal| Goal { relative: goal.relative.max(least), ..*goal }).collect();
        self.goal = from_host(goals.iter().map(|goal| goal.of(0.0)).collect(), &self.goal);
        self.slope = from_host(goals.iter().map(|goal| goal.relative * goal.norm).collect(), &self.goal);
        self.reach = from_host(goals.iter().map(Goal::reach).collect(), &self.goal);
    }

    /// By what a system's matrix is divided.
    pub fn size_of(&self, system: usize) -> f64 {
        self.sizes[system]
    }

    fn divided(&self, x: Vectors) -> Vectors {
        match &self.size {
            Some([_, inverse]) => scaled(x, inverse.clone()),
            None => x,
        }
    }

    fn times(&self, x: Vectors) -> Vectors {
        match &self.size {
            Some([size, _]) => scaled(x, size.clone()),
            None => x,
        }
    }

    pub fn apply(&self, x: &Vectors) -> Result<Vectors> {
        apply(self.a, x).map(|out| self.divided(out))
    }

    /// Of least squares, `BiCg` and `Qmr`.
    pub fn apply_transposed(&self, x: &Vectors) -> Result<Vectors> {
        let transposed = self.transposed.as_ref().expect("methods that need the transposed matrix have it");
        apply(transposed, x).map(|out| self.divided(out))
    }

    /// About the inverse of the divided `A`, of least squares of `A^T A`, times `x`.
    pub fn precondition(&self, x: &Vectors) -> Result<Vectors> {
        let Some(preconditioner) = self.preconditioner else { return Ok(x.clone()) };
        let out = self.times(apply(preconditioner, x)?);
        Ok(if self.least_squares { self.times(out) } else { out })
    }

    /// The transposed one, of `BiCg` and `Qmr`.
    pub fn precondition_transposed(&self, x: &Vectors) -> Result<Vectors> {
        self.other_preconditioner.as_ref().map_or(Ok(x.clone()), |own| apply(own, x).map(|out| self.times(out)))
    }

    /// The preconditioner, if it is a diagonal and there is one column.
    pub fn scaling(&self) -> Option<&Scaling> {
        let found = || {
            let own = self.preconditioner?.scaling()?;
            let [systems, _, width] = self.goal.dims();
            let rows = own.dims()[0] / systems;
            let fits = width == 1 && own.dtype() == self.goal.dtype();
            fits.then(|| Scaling::new(self.times(own.reshape(Exact([systems, rows, 1])))))
        };
        self.scaling.get_or_init(found).as_ref()
    }

    pub fn is_preconditioned(&self) -> bool {
        self.preconditioner.is_some()
    }

    pub fn point(&self, b: &Vectors, x: Vectors) -> Result<Point> {
        let mut pass = Pass::default();
        let [own, image] = [b.clone(), self.apply(&x)?].map(|vector| pass.vector(vector));
        let minus = self.goal.ones_like().neg();
        let own = pass.add(own, minus, image);
        let ([residual], []) = pass.run([own], []);
        self.point_of(x, residual)
    }

    pub fn point_of(&self, x: Vectors, residual: Vectors) -> Result<Point> {
        let normal = match self.least_squares {
            true => self.apply_transposed(&residual)?,
            false => residual.clone(),
        };
        Ok(Point { x, residual, normal })
    }

    /// The residual of each column, and of least squares `|b - A x|`; else the first again.
    pub fn norms(&self, point: &Point) -> [Numbers; 2] {
        let residual = norm(&point.normal);
        let length = if self.least_squares { norm(&point.residual) } else { residual.clone() };
        [residual, length]
    }

    /// From the user's solution to that of the divided matrix and the right-hand side divided by `scale`, and back.
    pub fn scaled(&self, x: Vectors, scale: &Numbers) -> Vectors {
        self.times(x / scale.clone())
    }

    pub fn unscaled(&self, x: Vectors, scale: &Numbers) -> Vectors {
        self.divided(scaled(x, scale.clone()))
    }

    /// 0 of columns which are finite then, else NaN.
    pub fn spoiled(&self, x: &Vectors, scale: &Numbers) -> Numbers {
        let mut pass = Pass::default();
        let x = pass.vector(x.clone());
        let mut x = pass.add(None, scale.clone(), x);
        if let Some([_, inverse]) = &self.size {
            x = pass.add(None, inverse.clone(), x);
        }
        pass.spoiled(x, scale.zeros_like())
    }

    /// 1 for the columns that are not solved, else 0. Of least squares also 0 where only rounding is left.
    pub fn open(&self, residual: &Numbers) -> Numbers {
        open(residual, self.goal.clone())
    }

    /// The same of least squares, with `|b - A x|`.
    pub fn open_at(&self, residual: &Numbers, length: &Numbers) -> Numbers {
        let open = open(residual, self.goal.clone().max_pair(self.slope.clone() * length.clone()));
        open.mask_fill(length.clone().lower_equal(self.reach.clone()), 0.0)
    }
}

fn open(residual: &Numbers, goal: Numbers) -> Numbers {
    residual.ones_like().mask_fill(residual.clone().lower_equal(goal), 0.0)
}
