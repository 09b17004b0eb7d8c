//! A sparse tensor whose layout a case names.

use sparse_tensor::ops::try_concat;
use sparse_tensor::{CooTensor, CsrTensor, Kind, Result, SparseError};

#[derive(Clone, Debug)]
pub enum DynTensor<const D: usize, K: Kind = burn::tensor::Float> {
    Coo(CooTensor<D, K>),
    Csr(CsrTensor<D, K>),
}

impl<const D: usize, K: Kind> DynTensor<D, K> {
    fn layout(&self) -> &'static str {
        match self {
            Self::Coo(_) => "COO",
            Self::Csr(_) => "CSR",
        }
    }

    /// The parts of one layout joined. The library's types rule out that they differ; a case may say so all the same.
    pub fn try_concat(parts: &[Self], axis: isize) -> Result<Self> {
        if let [first, rest @ ..] = parts
            && let Some(other) = rest.iter().find(|part| part.layout() != first.layout())
        {
            return Err(first.mismatch("concat", other));
        }
        let coo: Vec<_> = parts
            .iter()
            .filter_map(|part| if let Self::Coo(part) = part { Some(part) } else { None })
            .cloned()
            .collect();
        let csr: Vec<_> = parts
            .iter()
            .filter_map(|part| if let Self::Csr(part) = part { Some(part) } else { None })
            .cloned()
            .collect();
        if csr.is_empty() { try_concat(&coo, axis).map(Self::Coo) } else { try_concat(&csr, axis).map(Self::Csr) }
    }

    fn mismatch(&self, op: &'static str, other: &Self) -> SparseError {
        SparseError::layout_mismatch(op, self.layout(), other.layout())
    }
}

impl<const D: usize> DynTensor<D> {
    pub fn try_div(&self, other: &Self) -> Result<Self> {
        match (self, other) {
            (Self::Coo(a), Self::Coo(b)) => a.try_div(b).map(Self::Coo),
            (Self::Csr(a), Self::Csr(b)) => a.try_div(b).map(Self::Csr),
            _ => Err(self.mismatch("div", other)),
        }
    }
}
