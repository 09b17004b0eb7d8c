//! Results of a program, with layouts and ranks erased, and what a step reads of them.

use super::steps::Kinks;
use crate::answer::{Output, Part, caught_aside, coordinates, floats};
use crate::draw::{Build, Draw};
use burn::tensor::Tensor;
use sparse_tensor::{Fill, SparseTensor};
use std::any::Any;
use std::cell::{Cell, RefCell};

/// A result on both sides, of any layout and rank.
pub struct Item {
    /// A `(SparseTensor<P, D>, Tensor<D>)`, or a `(Tensor<D>, Tensor<D>)`.
    sides: Box<dyn Any>,
    parts: Box<dyn Fn() -> [Part; 2]>,
    empty: bool,
    /// Whether the reference may be on the tape where the result is not: a step left out what may be all of it there.
    pub loose: bool,
}

/// What a step gave.
pub enum Made {
    Item(Item),
    /// It does not fit its operands.
    Unfit,
    /// Dense Burn does not answer, which it may only do for sizes of 0.
    NoReference(String),
}

fn part(output: Output) -> Part {
    output.0.into_iter().next().expect("one tensor")
}

impl Item {
    pub fn sparse<P: Build, const D: usize>(own: SparseTensor<P, D>, reference: Tensor<D>) -> Self {
        let (sides, empty) = ((own.clone(), reference.clone()), own.dims().contains(&0));
        let parts = move || [part(own.clone().into()), part(reference.clone().into())];
        Self { sides: Box::new(sides), parts: Box::new(parts), empty, loose: false }
    }

    pub fn dense<const D: usize>(own: Tensor<D>, reference: Tensor<D>) -> Self {
        let (sides, empty) = ((own.clone(), reference.clone()), own.dims().contains(&0));
        let parts = move || [part(own.clone().into()), part(reference.clone().into())];
        Self { sides: Box::new(sides), parts: Box::new(parts), empty, loose: false }
    }

    /// Both sides as dense tensors.
    pub fn parts(&self) -> [Part; 2] {
        (self.parts)()
    }

    /// Whether a size is 0: dense Burn does not answer all of these.
    pub fn is_empty(&self) -> bool {
        self.empty
    }

    pub fn as_sparse<P: Build, const D: usize>(&self) -> Option<(&SparseTensor<P, D>, &Tensor<D>)> {
        self.sides.downcast_ref::<(SparseTensor<P, D>, Tensor<D>)>().map(|(own, reference)| (own, reference))
    }

    pub fn as_dense<const D: usize>(&self) -> Option<(&Tensor<D>, &Tensor<D>)> {
        self.sides.downcast_ref::<(Tensor<D>, Tensor<D>)>().map(|(own, reference)| (own, reference))
    }
}

/// The results so far.
pub struct Pool<'a> {
    items: &'a [Item],
    /// Where a search begins.
    start: usize,
    /// The operands that were found, for the report of a failure.
    pub used: RefCell<Vec<usize>>,
    /// Whether the step leaves out what may be all of its operand that is on the tape.
    pub partial: Cell<bool>,
    /// How near numbers may be that must not change their order by rounding.
    pub gap: f64,
    /// Whether f64 may be cast to f32 and back.
    pub casts: bool,
}

impl<'a> Pool<'a> {
    pub fn new(items: &'a [Item], subject: usize, start: usize, (gap, casts): (f64, bool)) -> Self {
        Self { items, start, used: RefCell::new(vec![subject]), partial: Cell::new(false), gap, casts }
    }

    /// The first result of which `read` makes something, from the start on and round.
    fn find<T>(&self, read: impl Fn(&'a Item) -> Option<T>) -> Option<T> {
        let count = self.items.len();
        let places = (0..count).map(|k| (self.start + k) % count);
        let (at, found) = places.filter_map(|at| read(&self.items[at]).map(|found| (at, found))).next()?;
        self.used.borrow_mut().push(at);
        Some(found)
    }

    /// A dense result that fits.
    pub fn dense<const D: usize>(&self, fits: impl Fn([usize; D]) -> bool) -> Option<(Tensor<D>, Tensor<D>)> {
        self.find(|item| item.as_dense().filter(|(own, _)| fits(own.dims())).map(|(x, y)| (x.clone(), y.clone())))
    }

    /// A dense result that fits, or a sparse one made dense, or else a new leaf.
    pub fn dense_or_new<P: Build, const D: usize>(&self, draw: &mut Draw, shape: [usize; D]) -> [Tensor<D>; 2] {
        let found = self.find(|item| match (item.as_dense::<D>(), item.as_sparse::<P, D>()) {
            (Some((own, reference)), _) if own.dims() == shape => Some([own.clone(), reference.clone()]),
            (_, Some((own, reference))) if own.dims() == shape => Some([own.to_dense(), reference.clone()]),
            _ => None,
        });
        found.unwrap_or_else(|| {
            let new = draw.dense::<D, burn::tensor::Float>(shape, crate::draw::Values::Any);
            [new.own, new.reference]
        })
    }

    /// A sparse result that fits.
    pub fn sparse<P: Build, const D: usize>(
        &self,
        fits: impl Fn(&SparseTensor<P, D>) -> bool,
    ) -> Option<(&'a SparseTensor<P, D>, Tensor<D>)> {
        self.find(|item| item.as_sparse().filter(|(own, _)| fits(own)).map(|(own, x)| (own, x.clone())))
    }
}

/// What a step on a sparse result reads.
pub struct Sides<'a, P: Build, const D: usize> {
    pub a: &'a SparseTensor<P, D>,
    /// The reference of `a`.
    pub x: &'a Tensor<D>,
    pub pool: &'a Pool<'a>,
}

impl<'a, P: Build, const D: usize> Sides<'a, P, D> {
    pub fn dims(&self) -> [usize; D] {
        self.a.dims()
    }

    /// An axis, from the start and perhaps from the end.
    pub fn axis(&self, draw: &mut Draw) -> (usize, isize) {
        let axis = draw.below(D);
        (axis, draw.signed(axis, D))
    }

    /// Whether all sizes are at least 1: of nothing there is no mean and no largest.
    pub fn is_full(&self) -> bool {
        !self.dims().contains(&0)
    }

    /// A sparse result of the same shape and layout.
    pub fn partner(&self) -> Option<(&'a SparseTensor<P, D>, Tensor<D>)> {
        self.pool.sparse(|b| b.dims() == self.dims() && b.sparse_dims() == self.a.sparse_dims())
    }

    /// The specified elements alone.
    pub fn undefined(&self) -> SparseTensor<P, D> {
        let values_count = self.a.clone().with_fill(Fill::Zero).is_tracked();
        self.pool.partial.set(self.pool.partial.get() || !values_count);
        self.a.clone().with_fill(Fill::Undefined)
    }

    /// Whether each element is specified.
    pub fn specified(&self) -> Vec<bool> {
        specified(self.a)
    }

    pub fn sparse<Q: Build, const R: usize>(
        &self,
        own: SparseTensor<Q, R>,
        reference: impl FnOnce(Tensor<D>) -> Tensor<R>,
    ) -> Made {
        answered(|| reference(self.x.clone()), |reference| Item::sparse(own, reference))
    }

    pub fn dense<const R: usize>(&self, own: Tensor<R>, reference: impl FnOnce(Tensor<D>) -> Tensor<R>) -> Made {
        answered(|| reference(self.x.clone()), |reference| Item::dense(own, reference))
    }
}

impl<P: Build, const D: usize> Kinks for Sides<'_, P, D> {
    fn numbers(&self) -> [Vec<f64>; 2] {
        let own = self.a.coalesce().to_dense();
        [own, self.x.clone()].map(|tensor| floats(tensor.inner().into_data()))
    }

    fn gap(&self) -> f64 {
        self.pool.gap
    }
}

/// What a step on a dense result reads.
pub struct Plain<'a, const D: usize> {
    pub own: &'a Tensor<D>,
    pub x: &'a Tensor<D>,
    pub pool: &'a Pool<'a>,
}

impl<const D: usize> Plain<'_, D> {
    pub fn dims(&self) -> [usize; D] {
        self.own.dims()
    }

    pub fn sparse<Q: Build, const R: usize>(
        &self,
        own: SparseTensor<Q, R>,
        reference: impl FnOnce(Tensor<D>) -> Tensor<R>,
    ) -> Made {
        answered(|| reference(self.x.clone()), |reference| Item::sparse(own, reference))
    }

    pub fn dense<const R: usize>(&self, own: Tensor<R>, reference: impl FnOnce(Tensor<D>) -> Tensor<R>) -> Made {
        answered(|| reference(self.x.clone()), |reference| Item::dense(own, reference))
    }
}

impl<const D: usize> Kinks for Plain<'_, D> {
    fn numbers(&self) -> [Vec<f64>; 2] {
        [self.own, self.x].map(|tensor| floats(tensor.clone().inner().into_data()))
    }

    fn gap(&self) -> f64 {
        self.pool.gap
    }
}

/// A panic of the reference is no answer; one of the operation is a failure.
fn answered<T>(reference: impl FnOnce() -> T, item: impl FnOnce(T) -> Item) -> Made {
    match caught_aside(reference) {
        Ok(reference) => Made::Item(item(reference)),
        Err(why) => Made::NoReference(why),
    }
}

/// Whether each element of a tensor is specified.
pub fn specified<P: Build, const D: usize>(a: &SparseTensor<P, D>) -> Vec<bool> {
    let shape = a.dims();
    let (sparse, dense) = shape.split_at(a.sparse_dims());
    let block: usize = dense.iter().product();
    let mut specified = vec![false; shape.iter().product()];
    for at in coordinates(a.pattern()) {
        let cell = at.iter().zip(sparse).fold(0, |flat, (&index, &size)| flat * size + index as usize);
        specified[cell * block..(cell + 1) * block].fill(true);
    }
    specified
}
