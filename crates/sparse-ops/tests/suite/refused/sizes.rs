//! Sizes beyond what an index counts, and beyond what memory holds; types without kernels.

use super::*;
use burn::tensor::FloatDType;
use sparse_tensor::ops;
use sparse_tensor::{CsrTensor, Fill, Limits};

#[test]
fn sizes_that_overflow() {
    let (limit, square) = (i64::MAX.to_string(), (1u128 << 80).to_string());
    let (limit, square) = (limit.as_str(), square.as_str());
    let (tall, both) = (lone([1 << 62, 1]), lone([1 << 40, 1 << 40]));
    // Dims whose products meet only beyond 128 bits.
    let (a, b, c) = (1 << 62, 3usize.pow(39), 5usize.pow(26));
    let many = lone([1 << 62, 4]).with_fill(Fill::scalar(2.0));
    let double = "got 9223372036854775808";
    let count = ["the number of elements along the dims", limit, "got 18446744073709551616"];
    let flat = "a flat index of the dims that change";
    refused! {
        overflow "concat" ["the joined dim", limit, double] ops::try_concat(&[tall.clone(), tall.clone()], 0);
        overflow "block_diag" ["a dimension", limit, double] ops::try_block_diag(&[tall.clone(), tall]);
        overflow "kron" ["a dimension", limit, square] both.try_kron(&both);
        overflow "reshape" ["the dims that change", limit] lone([a, b, c]).try_reshape([c, b, a]);
        overflow "reshape" [flat, limit, square] both.try_reshape([1usize << 41, 1 << 39]);
        overflow "flatten" ["the flattened dim", limit, square] both.try_flatten::<1>(0, 1);
        overflow "prod" count many.try_prod();
        overflow "sum" count many.try_sum();
        overflow "sum_dims" count many.try_sum_dims(&[0, 1]);
    }
    // With the fill zero there is nothing to count.
    assert!(lone([1 << 62, 4]).try_sum().is_ok());
}

/// No memory holds what these ask for: nothing is asked of the allocator.
#[test]
fn sizes_that_no_memory_holds() {
    let says = ["the stored elements", "Limits::elements"];
    let (coo, csr) = (small(), small().to_csr());
    let filled = CooTensor::<2>::from_dense(Tensor::zeros([2, 3], &flex()), 1).with_fill(Fill::tensor(ones([3])));
    let many = full([1, 1 << 15], 0);
    refused! {
        would_densify "repeat_dim" says coo.try_repeat_dim(0, 1 << 40);
        would_densify "repeat_dim" says csr.try_repeat_dim(0, 1 << 40);
        would_densify "repeat_dim" says lone([1, 1]).try_repeat_dim(1, 1 << 50);
        would_densify "repeat_dim" says full([2, 3], 1).try_repeat_dim(1, 1 << 40);
        would_densify "repeat_dim" says full([1, 1 << 16], 1).try_repeat_dim(0, 1 << 20);
        would_densify "repeat_dim" says filled.try_repeat_dim(1, 1 << 40);
        would_densify "expand" says lone([1, 1]).try_expand([1i64 << 40, 1]);
        would_densify "expand" says csr.try_expand([1i64 << 40, 2, 3]);
        would_densify "eye" says CooTensor::<2>::try_eye(1 << 40, &flex());
        would_densify "eye" says CsrTensor::<2>::try_eye(1 << 40, &flex());
        would_densify "kron" says many.try_kron(&many);
    }
    // A limit that the caller sets, in either direction.
    let copies = |times| coo.try_repeat_dim(0, times);
    assert_eq!(
        Limits::new().elements(1000).run(|| copies(1000).err().map(|error| error.kind())),
        Some("would_densify")
    );
    assert_eq!(Limits::new().elements(3000).run(|| copies(1000)).unwrap().nnz(), 3000);
    assert!(Limits::new().bytes(3000).run(|| copies(1000)).is_err());
    assert_eq!(copies(100).unwrap().nnz(), 300);
}

#[test]
fn element_types_without_kernels() {
    refused! {
        unsupported_dtype "from_diagonal" ["a sparse tensor", "i16"] CooTensor::try_from_diagonal(short([3]));
        unsupported_dtype "sparse_mask" ["a sparse tensor", "i16"] ops::try_sparse_mask(short([2, 3]), &small());
        unsupported_dtype "cast" ["Flex", "flex32"] small().try_cast(FloatDType::Flex32);
    }
}
