//! The interface: what a message says, and which operands are taken.

use burn::tensor::{AsIndex, Device, Int, Tensor, s};
use sparse_tensor::nn::try_sparse_dropout;
use sparse_tensor::ops::{NdAxes, gather_nd, try_concat};
use sparse_tensor::pattern::Pattern;
use sparse_tensor::prelude::*;

/// `[[1, 0, 2], [0, 3, 0]]`.
fn matrix() -> CooTensor<2> {
    CooTensor::from_dense(Tensor::from_floats([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]], &Device::flex()), 0)
}

fn list<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().iter::<f32>().collect()
}

#[test]
fn messages_lead_with_what_to_do() {
    let a = matrix();
    let told = |error: SparseError| error.to_string();
    let device = Device::flex();
    assert_eq!(
        told(a.try_softmax(1).unwrap_err()),
        "softmax: use with_fill(Fill::Undefined) to normalise the stored elements alone: with this fill every line \
         would have one of its own; the result would store all 6 elements"
    );
    let blocks = CooTensor::<3>::from_dense(Tensor::<3>::ones([2, 2, 4], &device), 1);
    assert_eq!(
        told(blocks.try_matmul(Tensor::<3>::ones([2, 3, 1], &device)).unwrap_err()),
        "matmul: the right operand [2, 3, 1] must have as many rows as the left one [2, 2, 4] has columns, its batch \
         and its dense dims, then features"
    );
    assert_eq!(
        told(blocks.try_rmatmul(Tensor::<2>::ones([1, 2], &device)).unwrap_err()),
        "rmatmul: for a tensor with dense dims use swap_dims and matmul, got shape [2, 2, 4] with [sparse, dense] dims \
         [2, 1]"
    );
    let list = CooTensor::<3>::from_dense(Tensor::<3>::ones([2, 2, 4], &device), 2);
    assert_eq!(
        told(list.try_matmul(Tensor::<3>::ones([2, 4, 1], &device)).unwrap_err()),
        "matmul: the sparse tensor must be a matrix, or a batch of matrices, got shape [2, 2, 4] with [sparse, dense] \
         dims [1, 2]"
    );
    assert_eq!(
        told(a.try_matmul(&a).unwrap_err()),
        "matmul: the right operand [2, 3] must have as many rows as the left one [2, 3] has columns, and its batch"
    );
    assert_eq!(
        told(a.clone().with_fill(Fill::Undefined).try_to_dense().unwrap_err()),
        "to_dense: use to_dense_or to give the missing elements a value, got Fill::Undefined"
    );
    assert_eq!(
        told(a.try_to_dense_within(5).unwrap_err()),
        "to_dense: use to_dense_within or set_dense_limit for a larger limit; the dense result would have 6 elements, \
         more than the limit of 5"
    );
    assert_eq!(
        told(a.try_values::<2>().unwrap_err()),
        "values: values have rank 1 + the number of dense dims: ask for values::<1>, got values::<2>"
    );
    assert_eq!(
        told(a.try_add(&CooTensor::zeros([2, 2], &device)).unwrap_err()),
        "add: the second tensor [2, 2] must have the shape [2, 3] of the first (expand repeats dims of size 1)"
    );
    let empty = CooTensor::<2>::zeros([0, 2], &device);
    assert_eq!(told(empty.try_max_dim(0).unwrap_err()), "max_dim: dim 0 must not be empty, got shape [0, 2]");
    assert_eq!(told(empty.try_max().unwrap_err()), "max: dim 0 must not be empty, got shape [0, 2]");
    assert_eq!(told(empty.try_argmin(-2).unwrap_err()), "argmin: dim 0 must not be empty, got shape [0, 2]");
    assert_eq!(
        told(CooTensor::<2>::zeros([1, 2], &device).stored().try_max().unwrap_err()),
        "max: at least one stored element is needed, got none"
    );
    assert_eq!(
        told(try_concat(&[] as &[CooTensor<2>], 0).unwrap_err()),
        "concat: at least one tensor is needed, got an empty list"
    );
    assert_eq!(
        told(try_concat(&[a.clone(), CooTensor::zeros([3, 2], &device)], 0).unwrap_err()),
        "concat: each part must have the sizes [2, 3] of the first one except along the joined dim, got [3, 2]"
    );
    assert_eq!(told(a.try_sum_dim(2).unwrap_err()), "sum_dim: the dim must be in [-2, 2), got 2");
    let filled = a.with_fill(Fill::scalar(0.5));
    assert_eq!(
        told(try_sparse_dropout(&filled, 0.5).unwrap_err()),
        "sparse_dropout: the fill must be zero or undefined, got 0.5: use with_fill"
    );
    let large = CooTensor::<2>::zeros([1 << 40, 1 << 40], &device);
    assert_eq!(
        told(large.try_to_dense_or(1).unwrap_err()),
        format!(
            "to_dense_or: use with_fill and to_dense_within, or set_dense_limit, for a larger limit; the dense result \
             would have {} elements, more than the limit of {}",
            1u128 << 80,
            1 << 28
        )
    );
    assert_eq!(large.sum_dim(1).try_to_dense().unwrap_err().kind(), "would_densify");
    assert!(told(large.try_row_sums().unwrap_err()).contains("; the result would have 1099511627776 elements"));
    assert!(told(large.try_to_csr().unwrap_err()).contains("; the row pointers would have 1099511627777 elements"));
}

#[test]
fn matmul_takes_what_it_says() {
    fn of<P: Pattern>(a: &SparseTensor<P, 2>) {
        let device = Device::flex();
        assert_eq!(list(a.matmul(Tensor::<2>::from_floats([[1.0], [10.0], [100.0]], &device))), [201.0, 30.0]);
        assert_eq!(list(a.matmul(Tensor::<1>::from_floats([1.0, 10.0, 100.0], &device))), [201.0, 30.0]);
        let square = [5.0, 0.0, 0.0, 9.0];
        assert_eq!(list(a.matmul(&a.transpose()).to_dense()), square);
        assert_eq!(list(a.matmul(a.transpose()).to_dense()), square);
        assert_eq!(a.try_matmul(Tensor::<1>::ones([2], &device)).unwrap_err().kind(), "shape_mismatch");
    }
    of(&matrix());
    of(&matrix().to_csr());
}

#[test]
fn axes_are_any_integers() {
    fn along(a: &CooTensor<2>, dim: impl AsIndex) -> Vec<f32> {
        list(a.sum_dim(dim).to_dense())
    }
    let a = matrix();
    assert_eq!(
        [along(&a, 1usize), along(&a, 1u8), along(&a, -1i32), along(&a, -1isize)],
        [(); 4].map(|()| vec![3.0, 3.0])
    );
    assert_eq!(list(a.sum_dims(&[0usize, 1]).to_dense()), [6.0]);
    assert_eq!(a.permute([1usize, 0]).dims(), a.permute([-1, 0]).dims());
    assert_eq!(list(a.flip([0]).to_dense()), list(a.flip(vec![-2isize]).to_dense()));
    assert_eq!(list(a.get([-1, 1usize as i32])), [3.0]);
    assert_eq!(a.expand::<3>([4, -1, 3]).dims(), [4, 2, 3]);
    assert_eq!(a.reshape([-1, 2]).dims(), [3, 2]);
    assert_eq!(a.try_reshape([-1, 4]).unwrap_err().kind(), "shape_mismatch");
    assert_eq!(a.try_reshape([-1, -1]).unwrap_err().kind(), "shape_mismatch");
    assert_eq!(a.try_reshape([-2, 3]).unwrap_err().kind(), "shape_mismatch");
    assert_eq!(a.try_expand([2, -2]).unwrap_err().kind(), "shape_mismatch");
    assert_eq!(a.try_expand([3]).unwrap_err().kind(), "shape_mismatch");
}

#[test]
fn slices_are_burns() {
    let a = matrix();
    let dense = a.to_dense();
    assert_eq!(list(a.slice(s![.., -2..]).to_dense()), list(dense.clone().slice(s![.., -2..])));
    assert_eq!(list(a.slice(s![1, ..;-2]).to_dense()), list(dense.clone().slice(s![1, ..;-2])));
    assert_eq!(list(a.slice([1..]).to_dense()), list(dense.clone().slice([1..])));
    assert_eq!(list(a.slice_dim(1, ..2).to_dense()), list(dense.clone().slice_dim(1, ..2)));
    assert_eq!(list(a.slice_dim(-1, -1).to_dense()), list(dense.clone().slice_dim(-1, -1)));
    assert_eq!(list(a.select_dim::<1>(0, -1).to_dense()), list(dense.clone().select_dim::<1>(0, -1)));
    assert_eq!(list(a.slice(0..1).to_dense()), list(dense.clone().slice(0..1)));
    assert_eq!(list(a.slice(-1).to_dense()), list(dense.clone().slice(-1)));
    assert_eq!(list(a.slice(&[0..1, 1..3][..]).to_dense()), list(dense.clone().slice(&[0..1, 1..3][..])));
    let ranges = [0..1, 1..3];
    assert_eq!(list(a.slice(&ranges).to_dense()), list(dense.clone().slice(ranges)));
    assert_eq!(list(a.slice(&vec![s![1..]]).to_dense()), list(dense.clone().slice(&vec![s![1..]])));
    // Burn cuts these short.
    for trouble in
        [a.try_slice(s![0..3, ..]), a.try_slice(s![-3..1, ..]), a.try_slice_dim(1, 3), a.try_slice_dim(1, -4)]
    {
        assert_eq!(trouble.unwrap_err().kind(), "index_out_of_range");
    }
    assert_eq!(a.try_slice([0..1, 0..1, 0..1]).unwrap_err().kind(), "shape_mismatch");
}

/// Axes are a list of any integers, or the first ones.
#[test]
fn axes_of_gather_nd() {
    fn read(axes: impl Into<NdAxes>) -> Vec<f32> {
        let device = Device::flex();
        let x = Tensor::<2>::from_floats([[1.0, 2.0], [3.0, 4.0]], &device);
        list(gather_nd(x, Tensor::<3, Int>::from_ints([[[1], [1]], [[0], [0]]], &device), axes))
    }
    assert_eq!([read([1]), read([-1isize]), read(&[1u8][..])], [(); 3].map(|()| vec![2.0, 2.0, 3.0, 3.0]));
    assert_eq!([read(None), read(Some(&[0][..])), read(&vec![0usize][..])], [(); 3].map(|()| vec![3.0, 4.0, 1.0, 2.0]));
}

/// One number a row, one a column, one for everything, and blocks: as Burn's dense tensors broadcast.
#[test]
fn dense_factors_broadcast() {
    let device = Device::flex();
    let a = matrix();
    let scale = |by: Tensor<2>| (list(a.mul_dense(by.clone()).to_dense()), list(a.to_dense() * by));
    for by in [
        Tensor::from_floats([[2.0], [3.0]], &device),
        Tensor::from_floats([[2.0, 3.0, 4.0]], &device),
        Tensor::from_floats([[5.0]], &device),
        Tensor::from_floats([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], &device),
    ] {
        let (own, dense) = scale(by);
        assert_eq!(own, dense);
    }
    let cells = Tensor::<1, Int>::arange(0..36, &device).float().reshape([3, 3, 4]);
    let by = |shape: [usize; 3]| {
        let count = shape.iter().product::<usize>() as i64;
        Tensor::<1, Int>::arange(1..count + 1, &device).float().reshape(shape)
    };
    for dense_dims in 0..3 {
        let a = CooTensor::<3>::from_dense(cells.clone(), dense_dims);
        for shape in [[3, 1, 4], [1, 3, 4], [3, 3, 1], [1, 1, 4], [1, 3, 1], [3, 1, 1], [1, 1, 1], [3, 3, 4]] {
            let by = by(shape);
            assert_eq!(list(a.mul_dense(by.clone()).to_dense()), list(cells.clone() * by), "{shape:?} {dense_dims}");
        }
    }
    assert_eq!(a.try_mul_dense(Tensor::ones([2, 2], &device)).unwrap_err().kind(), "shape_mismatch");
    let normal = a.div_dense(a.sum_dim(1).to_dense());
    assert_eq!(list(normal.row_sums()), [1.0, 1.0]);
}

#[test]
fn sums_and_counts_are_vectors() {
    let a = matrix();
    assert_eq!((list(a.row_sums()), list(a.col_sums())), (vec![3.0, 3.0], vec![1.0, 3.0, 2.0]));
    let counts = |counts: Tensor<1, Int>| counts.into_data().convert::<i64>().iter::<i64>().collect::<Vec<_>>();
    assert_eq!((counts(a.row_counts()), counts(a.col_counts())), (vec![2, 1], vec![1, 1, 1]));
    let filled = a.clone().with_fill(Fill::scalar(10.0));
    assert_eq!(
        (list(filled.row_sums()), list(filled.sum_dim(0).to_dense())),
        (vec![13.0, 23.0], vec![11.0, 13.0, 12.0])
    );
    // A row and a column without specified elements.
    let edges = CooTensor::<2>::from_edges(&[(0, 1)], Tensor::<1>::from_floats([4.0], &Device::flex()), None).unwrap();
    let edges = edges.with_fill(Fill::Undefined);
    assert_eq!(list(edges.row_sums()), [4.0, 0.0]);
    assert_eq!(edges.sum_dim(1).try_to_dense().unwrap_err().kind(), "undefined_fill");
}

#[test]
fn shapes_are_inferred() {
    let device = Device::flex();
    let indices = Tensor::<2, Int>::from_ints([[0, 4], [2, 0]], &device);
    let a = CooTensor::<2>::new_inferred(indices.clone(), Tensor::<1>::ones([2], &device)).unwrap();
    assert_eq!(a.dims(), [5, 3]);
    let blocks = CooTensor::<3>::new_inferred(indices.clone(), Tensor::<2>::ones([2, 7], &device)).unwrap();
    assert_eq!((blocks.dims(), blocks.dense_dims()), ([5, 3, 7], 1));
    let none = CooTensor::<2>::new_inferred(Tensor::empty([2, 0], &device), Tensor::<1>::empty([0], &device)).unwrap();
    assert_eq!(none.dims(), [0, 0]);
    let wrong = CooTensor::<2>::new_inferred(indices, Tensor::<2>::ones([2, 7], &device)).unwrap_err();
    assert_eq!(wrong.kind(), "shape_mismatch");
    let negative = Tensor::<2, Int>::from_ints([[0, -2], [2, 0]], &device);
    let trouble = CooTensor::<2>::new_inferred(negative, Tensor::<1>::ones([2], &device)).unwrap_err();
    assert_eq!(trouble.kind(), "index_out_of_range");
    let ptr = |ptr: [i32; 3]| Tensor::<1, Int>::from_ints(ptr, &device);
    let columns = Tensor::<1, Int>::from_ints([6], &device);
    let rows = CsrTensor::new_inferred(ptr([0, 0, 1]), columns, Tensor::<1>::ones([1], &device)).unwrap();
    assert_eq!(rows.dims(), [2, 7]);
    let none = CsrTensor::new_inferred(ptr([0, 0, 0]), Tensor::empty([0], &device), Tensor::<1>::empty([0], &device));
    assert_eq!(none.unwrap().dims(), [2, 0]);
    let edges = |nodes: Option<usize>| CooTensor::from_edges(&[(3, 1)], Tensor::<1>::ones([1], &device), nodes);
    assert_eq!(edges(None).unwrap().dims(), [4, 4]);
    assert_eq!(edges(Some(3)).unwrap_err().kind(), "index_out_of_range");
}

#[test]
fn debug_prints_what_display_does() {
    let a = matrix();
    assert_eq!(format!("{a:?}"), a.to_string());
    assert!(format!("{:?}", a.to_csr()).contains("(0, 2) 2.0000"));
}
