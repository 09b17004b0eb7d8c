//! What the results of kernels look like, from what the arguments look like. So the server need not be asked.
//!
//! Results that depend on elements are not here: those of kernels that check, coalesce, merge and join patterns, and of
//! the product of two sparse matrices.

use crate::codec::Meta;
use crate::kernel::*;
use crate::kernel_views::{PatternArrays, RowsView};
use crate::options::PutTarget;
use burn::tensor::DType;
use sparse_core::{ProductPlan, ShiftedRows, TrianglePlan, records};

/// The number of entries of a list.
fn count(list: &Meta) -> usize {
    list.dims[0]
}

fn rows(view: &RowsView<Meta>) -> usize {
    count(&view.ptr) - 1
}

/// Columns of the second dim.
fn width(matrix: &Meta) -> usize {
    matrix.dims[1]
}

/// The elements of a pattern: one index for each.
fn elements(arrays: &PatternArrays<Meta>) -> Meta {
    let (PatternArrays::Coo(indices) | PatternArrays::Csr(_, indices)) = arrays;
    indices.sized([*indices.dims.last().expect("index arrays have a dim of elements")])
}

impl PutTarget {
    /// The elements of the array, and of the values.
    fn counts(&self) -> [usize; 2] {
        [self.len, self.count].map(|steps| self.outer * steps * self.inner)
    }
}

/// The result of each kernel. The other kernels have [`crate::backend::InferOutput`]'s method.
macro_rules! results {
    ($($Args:ident -> $out:ty: |$own:ident| $result:expr;)*) => {$(
        impl $Args<Meta> {
            pub(crate) fn infer_output(&mut self) -> Option<$out> {
                let $own = self;
                Some($result)
            }
        }
    )*};
}

results! {
    Activate -> Meta: |own| own.values.clone();
    ActivateBackward -> Meta: |own| own.grad.clone();
    Attend -> (Meta, Option<Meta>): |own| {
        let weights = own.keep.then(|| own.value.sized([count(&own.view.idx), own.heads]));
        (own.value.sized([rows(&own.view), width(&own.value)]), weights)
    };
    BiasRelu -> Meta: |own| own.values.clone();
    CastIds -> Meta: |own| {
        let dtype = if own.ids.dtype == DType::I32 { DType::I64 } else { DType::I32 };
        Meta { dims: own.ids.dims.clone(), dtype }
    };
    CastInts -> Meta: |own| Meta { dims: own.values.dims.clone(), dtype: own.dtype };
    CombineColumns -> Vec<Meta>: |own| {
        own.matrices.iter().map(|matrix| own.blocks[0].sized([own.blocks[0].dims[0], width(matrix)])).collect()
    };
    Compress -> Meta: |own| own.ids.sized([own.groups + 1]);
    DropValues -> Meta: |own| own.values.clone();
    ExpandPtr -> Meta: |own| own.ptr.sized([own.nnz]);
    Extremes -> Meta: |own| own.ints.sized([2]);
    ExtremumColsBackward -> Meta: |own| own.reads[1].clone();
    ExtremumRowsBackward -> (Meta, Option<Meta>): |own| {
        (own.grad.clone(), own.need_values.then(|| own.reads[0].clone()))
    };
    Gather -> Meta: |own| own.x.sized([own.target.counts()[1]]);
    GroupBy -> (Meta, Meta): |own| (own.keys.clone(), own.keys.sized([own.groups + 1]));
    GroupWith -> (Meta, Meta, Meta): |own| {
        (own.keys.clone(), own.keys.sized([own.groups + 1]), own.others.clone())
    };
    Locate -> Meta: |own| elements(&own.a);
    Matmul -> Meta: |own| {
        let size = |factor: &Meta, at: usize, transposed: bool| factor.dims[if transposed { 1 - at } else { at }];
        own.x.sized([size(&own.x, 0, own.transposed[0]), size(&own.y, 1, own.transposed[1])])
    };
    MoveRows -> Meta: |own| own.values.sized([count(&own.map), width(&own.values)]);
    PassColumns -> Vec<Meta>: |own| {
        let like = &own.vectors[0];
        let sums = like.sized([like.dims[0], 1, like.dims[2]]);
        own.pass.kept.iter().map(|_| like.clone()).chain(own.pass.dots.iter().map(|_| sums.clone())).collect()
    };
    PlaceRows -> Meta: |own| own.values.sized([own.size, width(&own.values)]);
    PutBackward -> [Option<Meta>; 2]: |own| {
        let counts = own.put.target.counts();
        [0, 1].map(|k| own.needs[k].then(|| own.grad.sized([counts[k]])))
    };
    ReluBackward -> Meta: |own| own.grad.clone();
    SampledExtremum -> Meta: |own| own.x.1.sized([count(&own.mask.1), 1]);
    SampledExtremumBackward -> Meta: |own| own.x.1.sized([count(&own.x.0.idx), 1]);
    Scan -> Meta: |own| own.counts.sized([count(&own.counts) + 1]);
    Sddmm -> Meta: |own| own.x.sized([count(&own.rows), own.heads]);
    SegmentCumsum -> Meta: |own| own.values.clone();
    SegmentSoftmax -> Meta: |own| own.values.clone();
    SegmentSoftmaxBackward -> Meta: |own| own.out.clone();
    SegmentSum -> Meta: |own| own.values.sized([count(&own.ptr) - 1, width(&own.values)]);
    // The server makes no plans: they would be used here.
    ShiftRows -> Option<ShiftedRows>: |_own| None;
    SortTriangle -> Option<TrianglePlan>: |_own| None;
    SpgemmExtremum -> Meta: |own| own.a.1.sized([count(&own.c.1), 1]);
    SpgemmExtremumBackward -> Meta: |own| own.a.1.sized([count(&own.a.0.idx), 1]);
    SpgemmPlan -> Option<ProductPlan>: |_own| None;
    SpgemmSampled -> Meta: |own| own.x.1.sized([count(&own.mask.1), 1]);
    SpgemmValues -> Meta: |own| own.a.1.sized([count(&own.c.1), 1]);
    Spmm -> Meta: |own| own.values.sized([own.batch * rows(&own.view), width(&own.dense)]);
    SpmmBackward -> (Meta, Meta): |own| (own.dense.clone(), own.values.clone());
    SpmmExtremum -> Meta: |own| own.dense.sized([rows(&own.view), width(&own.dense)]);
    SpmmMatmul -> (Meta, Option<Meta>): |own| {
        let rows = rows(&own.view);
        (own.values.sized([rows, width(&own.weight)]), own.keep.then(|| own.values.sized([rows, width(&own.dense)])))
    };
    StepAdam -> (Meta, Meta, Meta): |own| (own.x.clone(), own.first.clone(), own.second.clone());
    SwapRows -> Meta: |own| own.values.clone();
    ZipRows -> Meta: |own| {
        let rows = own.maps[0].as_ref().map_or(count(&own.values[0]), count);
        own.values[0].sized([rows, width(&own.values[0])])
    };
}

impl PutRows<Meta> {
    /// Which values were chosen is known where the values are. No record is asked for where it would only be kept for
    /// the gradient to be faster: its size would have to be read.
    pub(crate) fn infer_output(&mut self) -> Option<(Meta, Option<(Meta, Meta)>)> {
        self.record &= records(self.put.reduce);
        (!self.record).then(|| (self.arr.clone(), None))
    }
}
