//! Checks coordinates and compressed rows.

use super::super::extremes::bounds;
use super::super::fallback::supported;
use super::super::launch::{arg, count, empty, flat, launch, number, runs, stored, upload};
use crate::backend::{Declined, Gpu};
use crate::kernel::{ValidateCoo, ValidateCsr};
use burn::backend::DType;
use burn_cubecl::tensor::CubeTensor;
use sparse_core::Result;
use sparse_core::narrow_limit;

#[allow(missing_docs)]
mod kernels {
    use super::super::super::parts::bound;
    use burn_cubecl::cubecl;
    use cubecl::prelude::*;

    /// 2 for an element outside `shape`, 1 for one that does not ascend, else 0.
    #[cube(launch, launch_unchecked, address_type = "dynamic")]
    pub fn check_coo<I: Int>(
        indices: &Tensor<I>,
        shape: &Tensor<I>,
        codes: &mut Tensor<I>,
        dims: usize,
        nnz: usize,
        #[define(I)] _type: ElemType,
    ) {
        let k = ABSOLUTE_POS;
        if k >= nnz {
            terminate!();
        }
        let mut code = I::from_int(0);
        let mut outside = I::from_int(0);
        let mut decided = k == 0;
        for d in 0..dims {
            let index = indices[d * nnz + k];
            if index < I::from_int(0) || index >= shape[d] {
                outside = I::from_int(2);
            }
            if !decided {
                let before = indices[d * nnz + k - 1];
                if index > before {
                    decided = true;
                }
                if index < before {
                    decided = true;
                    code = I::from_int(1);
                }
            }
        }
        if !decided {
            code = I::from_int(1);
        }
        codes[k] = max(code, outside);
    }

    /// 1 where compressed rows are not valid, else 0.
    #[cube(launch, launch_unchecked, address_type = "dynamic")]
    pub fn check_csr<I: Int>(
        ptr: &Tensor<I>,
        col: &Tensor<I>,
        codes: &mut Tensor<I>,
        rows: usize,
        cols: InputScalar,
        nnz: usize,
        units: usize,
        #[define(I)] _type: ElemType,
    ) {
        let k = ABSOLUTE_POS;
        if k >= units {
            terminate!();
        }
        let mut code = I::from_int(0);
        let bad = I::from_int(1);
        if k <= rows {
            let here = ptr[k];
            if k == 0 && here != I::from_int(0) {
                code = bad;
            }
            if k == rows && here != I::cast_from(nnz) {
                code = bad;
            }
            if k > 0 && here < ptr[k - 1] {
                code = bad;
            }
        }
        if k < nnz {
            let here = col[k];
            if here < I::from_int(0) || here >= cols.get::<I>() {
                code = bad;
            }
            if k > 0 && here <= col[k - 1] {
                // This is allowed only where a row starts.
                let low = bound::<I>(I::cast_from(k), ptr, 0, rows, false);
                if ptr[low] != I::cast_from(k) {
                    code = bad;
                }
            }
        }
        codes[k] = code;
    }
}

impl ValidateCoo<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<Result<bool>, Self> {
        if count(&self.indices) > 0 {
            let args = supported(self, |args| runs([&args.indices]))?;
            return match validate_coo(args.indices.clone(), &args.shape) {
                Some(ascends) => Ok(Ok(ascends)),
                // The host finds the coordinate that the error names.
                None => Err(Declined::Quietly(args)),
            };
        }
        Err(Declined::Quietly(self))
    }
}

/// Whether coordinates ascend strictly, or `None` if one is outside the shape.
fn validate_coo(indices: CubeTensor, shape: &[usize]) -> Option<bool> {
    let (dims, nnz) = (indices.meta.shape()[0], indices.meta.shape()[1]);
    let indices = flat(indices);
    let limit = if indices.dtype == DType::I32 { narrow_limit() as i64 } else { i64::MAX };
    let sizes: Vec<i64> = shape.iter().map(|&size| (size as i64).min(limit)).collect();
    let sizes = upload(&sizes, &indices);
    let codes = empty(&indices, [nnz], indices.dtype);
    launch!(check_coo, indices, nnz, (arg(&indices), arg(&sizes), arg(&codes), dims, nnz), stored(indices.dtype));
    match bounds(codes).1 {
        2 => None,
        code => Some(code == 0),
    }
}

impl ValidateCsr<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<Result<()>, Self> {
        if count(&self.row_ptr) != self.rows + 1 || count(&self.col_idx) == 0 {
            return Err(Declined::Quietly(self));
        }
        let args = supported(self, |args| runs([&args.row_ptr, &args.col_idx]))?;
        if validate_csr(args.row_ptr.clone(), args.col_idx.clone(), args.rows, args.cols) {
            return Ok(Ok(()));
        }
        Err(Declined::Quietly(args))
    }
}

/// Whether compressed rows are valid.
fn validate_csr(ptr: CubeTensor, col: CubeTensor, rows: usize, cols: usize) -> bool {
    let nnz = count(&col);
    let (ptr, col) = (flat(ptr), flat(col));
    let units = nnz.max(rows + 1);
    let codes = empty(&ptr, [units], ptr.dtype);
    let limit = if ptr.dtype == DType::I32 { cols.min(narrow_limit()) } else { cols };
    let cols = number(limit, &ptr);
    launch!(check_csr, ptr, units, (arg(&ptr), arg(&col), arg(&codes), rows, cols, nnz, units), stored(ptr.dtype));
    bounds(codes).1 == 0
}
