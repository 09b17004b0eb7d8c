//! Operators of closures.

use super::base::{LinearOperator, Operator, device_of};
use burn::module::Module;
use burn::tensor::{Device, Tensor};
use sparse_ops::{Result, SparseError};
use std::fmt;
use std::sync::Arc;

type Apply<M> = Arc<dyn Fn(&M, Tensor<2>) -> Tensor<2> + Send + Sync>;

const OP: &str = "Operator::from_fn";

/// See [`Operator::from_fn`].
struct Closure<M> {
    dims: [usize; 2],
    module: M,
    apply: Apply<M>,
    transposed: Option<Apply<M>>,
}

impl<M> fmt::Debug for Closure<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Closure").field("dims", &self.dims).finish_non_exhaustive()
    }
}

impl Operator {
    /// A closure `[cols, F]` to `[rows, F]` that is linear, and its transposed one `[rows, F]` to `[cols, F]` where a
    /// method or a gradient needs it. `module` has the tensors that they use: gradients reach what of it is tracked.
    /// Where there are none, it is an empty `Vec`.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::solve::{LinearOperator, Operator};
    ///
    /// // A diagonal matrix: it is its own transposed one.
    /// let diagonal = Tensor::<1>::from_floats([2.0, 5.0], &Device::flex());
    /// let scale = |diagonal: &Tensor<1>, x: Tensor<2>| x * diagonal.clone().reshape([2, 1]);
    /// let a = Operator::from_fn([2, 2], diagonal, scale, Some(scale));
    /// let y = a.try_apply(Tensor::from_floats([[1.0], [1.0]], &Device::flex())).unwrap();
    /// assert_eq!(y.into_data().to_vec::<f32>().unwrap(), [2.0, 5.0]);
    /// ```
    pub fn from_fn<M, F, T>(dims: [usize; 2], module: M, apply: F, transposed: Option<T>) -> Self
    where
        M: Module + Send + Sync + 'static,
        F: Fn(&M, Tensor<2>) -> Tensor<2> + Send + Sync + 'static,
        T: Fn(&M, Tensor<2>) -> Tensor<2> + Send + Sync + 'static,
    {
        let transposed = transposed.map(|transposed| Arc::new(transposed) as Apply<M>);
        Self::new(Closure { dims, module, apply: Arc::new(apply), transposed })
    }
}

impl<M: Module + Send + Sync + 'static> LinearOperator for Closure<M> {
    fn dims(&self) -> [usize; 2] {
        self.dims
    }

    fn device(&self) -> Option<Device> {
        device_of(self.module.devices().into_iter().map(Some))
    }

    fn try_apply(&self, x: Tensor<2>) -> Result<Tensor<2>> {
        let ([rows, cols], [own, width]) = (self.dims, x.dims());
        if own != cols {
            let rule = "the operator {left} must have a column for each row of {right}";
            return Err(SparseError::shape_mismatch(OP, rule, self.dims, x.dims()));
        }
        let out = (self.apply)(&self.module, x);
        match out.dims() == [rows, width] {
            true => Ok(out),
            false => {
                let rule = "the closure must give {left}, got {right}";
                Err(SparseError::shape_mismatch(OP, rule, [rows, width], out.dims()))
            }
        }
    }

    fn try_transposed(&self) -> Result<Operator> {
        let Some(transposed) = self.transposed.clone() else {
            return Err(SparseError::invalid(OP, "give the transposed closure, which is needed here"));
        };
        let ([rows, cols], module) = (self.dims, self.module.clone());
        let (apply, transposed) = (transposed, Some(self.apply.clone()));
        Ok(Operator::new(Self { dims: [cols, rows], module, apply, transposed }))
    }

    fn without_tape(&self) -> Operator {
        let (apply, transposed) = (self.apply.clone(), self.transposed.clone());
        Operator::new(Self { dims: self.dims, module: self.module.valid(), apply, transposed })
    }
}
