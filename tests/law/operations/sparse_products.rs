//! Sparse x sparse.

use super::family;
use crate::answer::{Answer, law};
use crate::draw::{Build, Draw, Fills, Layout, Values};
use crate::reference::matmul;
use sparse_tensor::pattern::{CooPattern, CsrPattern};

family! { "products";
    "matmul_sparse" matmul_sparse [coo csr batched] gradient;
}

fn matmul_sparse<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.unfilled::<P, D>(Values::Any);
    let mut shape = a.sparse.dims();
    (shape[D - 2], shape[D - 1]) = (shape[D - 1], draw.size());
    let b = draw.shaped::<P, D>(shape, D, Values::Any, Fills::Zero);
    law(|| a.sparse.matmul_sparse(&b.sparse), || matmul(a.dense, b.dense))
}
