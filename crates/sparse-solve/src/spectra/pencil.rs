//! What an iteration sees: the matrices without the tape, and when a pair is good enough.

use super::block::{Block, check_positive, eps, evened, gram, lengths, random_block, scaled, svqb};
use super::report::SpectrumHints;
use super::small::{check_finite, read};
use crate::krylov::watch::{Progress, Stopped};
use crate::operator::{Batch, LinearOperator, Operator, device_of};
use burn::tensor::{DType, Tensor};
use sparse_ops::extend::{same_device, same_elements};
use sparse_ops::{Result, SparseError};
use std::cell::{Cell, RefCell};

/// What is asked of an iteration.
#[derive(Debug, Clone)]
pub struct Asked {
    pub op: &'static str,
    pub count: usize,
    pub relative: f64,
    pub absolute: f64,
    pub most: usize,
    pub seed: usize,
    /// How many vectors are kept.
    pub basis: Option<usize>,
}

impl Asked {
    /// # Errors
    ///
    /// `invalid` for a count of 0, and a tolerance that is no number from 0 on.
    pub fn check(&self) -> Result<()> {
        if self.count == 0 {
            return Err(SparseError::invalid(self.op, "the count must be at least 1, got 0"));
        }
        for (name, number) in [("relative", self.relative), ("absolute", self.absolute)] {
            if !(number >= 0.0 && number.is_finite()) {
                let message = format!("the {name} tolerance must be a number from 0 on, got {number}");
                return Err(SparseError::invalid(self.op, message));
            }
        }
        Ok(())
    }

    /// # Errors
    ///
    /// `invalid` if there are not so many.
    pub fn check_count(&self, available: usize, what: &str) -> Result<()> {
        if self.count <= available {
            return Ok(());
        }
        let message = format!("the count must be at most {available}, the number of {what}, got {}", self.count);
        Err(SparseError::invalid(self.op, message))
    }
}

/// Eigenvalues of the divided matrix, vectors, and how it ended.
pub struct Found {
    pub values: Vec<f64>,
    pub vectors: Block,
    pub stopped: Stopped,
    pub iterations: usize,
}

/// Counts products, and asks whether to go on.
pub struct Tally<'a> {
    pub products: Cell<usize>,
    progress: RefCell<Option<Progress<'a>>>,
    cancelled: Cell<bool>,
    /// What was told last.
    worst: Cell<f64>,
}

impl<'a> Tally<'a> {
    pub fn new(progress: Option<Progress<'a>>) -> Self {
        Self {
            products: Cell::new(0),
            progress: RefCell::new(progress),
            cancelled: Cell::new(false),
            worst: Cell::new(f64::INFINITY),
        }
    }

    /// Whether it ends here.
    pub fn tell(&self, iteration: usize, worst: f64) -> bool {
        self.worst.set(worst);
        if self.cancelled.get() {
            return true;
        }
        if let Some(progress) = self.progress.borrow_mut().as_mut()
            && !progress(iteration, worst)
        {
            self.cancelled.set(true);
        }
        self.cancelled.get()
    }

    /// Whether an iteration ends it before the residuals are looked at; it is told with the last ones.
    pub fn ends(&self, iteration: usize, asked: &Asked) -> bool {
        iteration >= asked.most || self.tell(iteration, self.worst.get())
    }
}

/// A matrix without the tape, divided by a power of 2 where its numbers are very large or small.
pub struct Plain {
    pub a: Operator,
    pub size: f64,
    /// Of the divided matrix, from below.
    pub norm: Cell<f64>,
    /// An empty block with the device and the dtype.
    pub like: Block,
}

impl Plain {
    /// Looks at products with two random columns, and whether these say that it is not symmetric.
    ///
    /// # Errors
    ///
    /// `invalid` for a batch, for products that are not finite, and if it has no device; that of the products;
    /// `invalid` if it must be symmetric and is not.
    pub fn new(op: &'static str, a: &dyn LinearOperator, like: Option<&Tensor<2>>, symmetric: bool) -> Result<Self> {
        if let Batch::Systems(_) = a.batch() {
            return Err(SparseError::invalid(op, "the matrix must be one, got a batch"));
        }
        let [rows, cols] = a.dims();
        if symmetric && rows != cols {
            return Err(SparseError::shape_mismatch(op, "the matrix must be square", [rows, cols], [cols; 2]));
        }
        let plain = a.without_tape();
        let Some(device) = device_of([like.map(Tensor::device), plain.device()]).map(|device| device.inner()) else {
            return Err(SparseError::invalid(op, "give a start, since the matrix is made of no tensors"));
        };
        if let Some(own) = plain.device() {
            same_device(op, &device, &own)?;
        }
        let dtypes = like.map_or(vec![DType::F32, DType::F64], |like| vec![like.dtype()]);
        if let Some(wrong) = dtypes.iter().find(|dtype| !matches!(dtype, DType::F32 | DType::F64)) {
            return Err(SparseError::unsupported_dtype(op, "eigenvalues", format!("{wrong:?}").to_lowercase()));
        }
        let mut last = None;
        for dtype in dtypes {
            let like = Tensor::zeros([0, 0], (&device, dtype));
            let probe = random_block(0, [cols, 2], &like);
            match plain.try_apply(probe.clone()) {
                Ok(image) => return Self::of(op, plain, probe, image, symmetric, like),
                Err(trouble) if trouble.kind() == "dtype_mismatch" => last = Some(trouble),
                Err(trouble) => return Err(trouble),
            }
        }
        Err(last.expect("a dtype was tried"))
    }

    fn of(op: &'static str, a: Operator, probe: Block, image: Block, symmetric: bool, like: Block) -> Result<Self> {
        if probe.dims()[0] == 0 || image.dims()[0] == 0 {
            return Ok(Self { a, size: 1.0, norm: Cell::new(0.0), like });
        }
        let most = image.clone().abs().max_dim(0);
        let [most] = read([&most]);
        check_finite(op, &most, 0)?;
        let most = most[(0, 0)].max(most[(0, 1)]);
        let limit = if like.dtype() == DType::F64 { 1000.0 } else { 120.0 };
        let far = most != 0.0 && !(1e-6..=1e6).contains(&most);
        let size = if far { most.log2().round().clamp(-limit, limit).exp2() } else { 1.0 };
        let (a, image) = if far { (a * size.recip(), image.mul_scalar(size.recip())) } else { (a, image) };
        let [images, sizes] = lengths([&image, &probe]);
        let norm = images.iter().zip(&sizes).map(|(image, size)| image / size).fold(0.0, f64::max);
        if symmetric {
            check_symmetric(op, "the matrix", &probe, &image, like.dtype())?;
        }
        Ok(Self { a, size, norm: Cell::new(norm), like })
    }

    pub fn saw(&self, norm: f64) {
        if norm > self.norm.get() {
            self.norm.set(norm);
        }
    }
}

fn check_symmetric(op: &'static str, what: &str, x: &Block, image: &Block, dtype: DType) -> Result<()> {
    let [product] = read([&gram(x, image)]);
    let [sizes, images] = lengths([x, image]);
    let off = (product[(0, 1)] - product[(1, 0)]).abs();
    let unit = (sizes[0] * images[1]).max(sizes[1] * images[0]);
    if off <= 100.0 * eps(dtype) * unit {
        return Ok(());
    }
    let message = format!(
        "{what} must be symmetric, got x^T A y = {:e} and y^T A x = {:e} of random vectors",
        product[(0, 1)],
        product[(1, 0)]
    );
    Err(SparseError::invalid(op, message))
}

/// `A v = l B v` with symmetric `A` and `B`, where some vectors are left out.
pub struct Pencil<'a, 'p> {
    pub asked: &'a Asked,
    pub plain: &'a Plain,
    pub tally: &'a Tally<'p>,
    pub b: Option<Operator>,
    /// An orthonormal basis `Y` of the vectors that are left out, and `B Y`.
    pub deflated: Option<[Block; 2]>,
}

impl<'a, 'p> Pencil<'a, 'p> {
    pub fn new(asked: &'a Asked, plain: &'a Plain, tally: &'a Tally<'p>, hints: &SpectrumHints<'_>) -> Result<Self> {
        let op = asked.op;
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
            check_symmetric(op, "the mass", &probe, &image, plain.like.dtype())?;
            let [own] = read([&gram(&probe, &image)]);
            check_positive(op, &probe, Some(&image), &own)?;
        }
        let mut pencil = Self { asked, plain, tally, b, deflated: None };
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
        self.asked.op
    }

    pub fn n(&self) -> usize {
        self.plain.a.dims()[1]
    }

    pub fn left_out(&self) -> usize {
        self.deflated.as_ref().map_or(0, |[y, _]| y.dims()[1])
    }

    pub fn apply(&self, x: &Block) -> Result<Block> {
        self.tally.products.set(self.tally.products.get() + x.dims()[1]);
        self.plain.a.try_apply(x.clone())
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

    /// Residuals that are without what is left out: of `P^T A P`.
    pub fn project_residual(&self, r: Block) -> Block {
        match &self.deflated {
            Some([y, image]) => r.clone() - image.clone().matmul(gram(y, &r)),
            None => r,
        }
    }

    /// `A v - l B v`, of each its size and what that may be.
    pub fn residuals(&self, values: &[f64], v: &Block, image: &Block, mass: Option<&Block>) -> (Block, Vec<[f64; 2]>) {
        let own = mass.unwrap_or(v);
        let r = self.project_residual(image.clone() - scaled(own, values));
        let [sizes, of_v, of_mass] = match mass {
            Some(mass) => lengths([&r, v, mass]),
            None => {
                let [sizes] = lengths([&r]);
                [sizes, vec![1.0; values.len()], vec![1.0; values.len()]]
            }
        };
        let goal = |at: usize| {
            let value = values[at].abs();
            let rounding = 10.0 * eps(v.dtype()) * (self.plain.norm.get() * of_v[at] + value * of_mass[at]);
            (self.asked.relative * value * of_mass[at]).max(self.asked.absolute / self.plain.size).max(rounding)
        };
        let pairs = sizes.iter().enumerate().map(|(at, &size)| [size, goal(at)]).collect();
        (r, pairs)
    }
}
