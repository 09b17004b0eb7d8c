//! Panics: they name the caller's line, and say what must hold.

use burn::tensor::{Bool, Device, Int, Tensor, s};
use sparse_tensor::ops::{IndexPlan, gather, gather_nd, scatter, scatter_nd, scatter_reduce};
use sparse_tensor::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::thread;

/// File, line and message of the panic of `f`.
fn panic_of<T>(f: impl FnOnce() -> T) -> (String, u32, String) {
    // The hook is the process's: one test at a time.
    static HOOK: Mutex<()> = Mutex::new(());
    static SEEN: Mutex<Option<(String, u32, String)>> = Mutex::new(None);
    let _one = HOOK.lock().expect("no test panics while it holds the hook");
    let before = std::panic::take_hook();
    // Tests in other threads panic on purpose, too.
    let own = thread::current().id();
    std::panic::set_hook(Box::new(move |info| {
        if thread::current().id() != own {
            return;
        }
        let at = info.location().expect("a location");
        let message = info.payload_as_str().unwrap_or_default().to_string();
        *SEEN.lock().expect("a hook does not panic") = Some((at.file().to_string(), at.line(), message));
    }));
    let out = catch_unwind(AssertUnwindSafe(f));
    std::panic::set_hook(before);
    assert!(out.is_err(), "nothing panicked");
    SEEN.lock().expect("a hook does not panic").take().expect("the hook ran")
}

/// A call that panics, on one line: the line and the text of the call, and the call.
macro_rules! call {
    ($call:expr) => {
        (line!(), stringify!($call), Box::new(|| drop($call)) as Box<dyn Fn() + '_>)
    };
}

type Calls<'a> = Vec<(u32, &'static str, Box<dyn Fn() + 'a>)>;

fn name_the_line(calls: Calls) {
    for (line, call, f) in calls {
        let (file, at, message) = panic_of(f);
        assert_eq!((file.as_str(), at), (file!(), line), "{call}: {message}");
        let says = message.contains(", got ") || message.contains("use ") || message.contains("must");
        assert!(says && message.contains(": "), "{call}: {message}");
    }
}

fn device() -> Device {
    Device::flex()
}

fn ones<const D: usize>(shape: [usize; D]) -> Tensor<D> {
    Tensor::ones(shape, &device())
}

fn places(shape: [usize; 2]) -> Tensor<2, Int> {
    Tensor::full(shape, 9, &device())
}

/// `[[1, 0, 2], [0, 3, 0]]`.
fn matrix() -> CooTensor<2> {
    CooTensor::from_dense(Tensor::from_floats([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]], &device()), 0)
}

#[test]
fn of_two_tensors() {
    let (a, b) = (matrix(), CooTensor::<2>::zeros([3, 2], &device()));
    let f = a.clone().with_fill(Fill::scalar(1.0));
    let (ints, more) = (CooTensor::<2, Int>::zeros([2, 3], &device()), CooTensor::<2, Int>::zeros([3, 2], &device()));
    let (yes, no) = (a.greater_elem(0.0), b.greater_elem(0.0));
    name_the_line(vec![
        call!(&a + &b),
        call!(a.clone() - b.clone()),
        call!(&a * b.clone()),
        call!(a.clone() / &b),
        call!(&ints / &more),
        call!(a.add(&b)),
        call!(a.sub(&b)),
        call!(a.mul(&b)),
        call!(a.div(&b)),
        call!(a.max_pair(&b)),
        call!(a.min_pair(&b)),
        call!(a.equal(&b)),
        call!(a.not_equal(&b)),
        call!(a.greater(&b)),
        call!(a.greater_equal(&b)),
        call!(a.lower(&b)),
        call!(a.lower_equal(&b)),
        call!(a.powf(&b)),
        call!(a.powi(&more)),
        call!(a.atan2(&b)),
        call!(a.logaddexp(&b)),
        call!(a.remainder(&b)),
        call!(a.fmod(&b)),
        call!(a.is_close(&b, None, None)),
        call!(a.zip_with(&b, |x, y| x + y)),
        call!(yes.bool_and(&no)),
        call!(yes.bool_or(&no)),
        call!(yes.bool_xor(&no)),
        call!(ints.bitwise_and(&more)),
        call!(ints.bitwise_or(&more)),
        call!(ints.bitwise_xor(&more)),
        call!(a.mask_where(&no, &a)),
        call!(a.mask_fill(&no, 1.0)),
        call!(a.mask_select(&no)),
        call!(a.intersect_with(&b)),
        call!(a.union_with(&b)),
        call!(a.difference(&b)),
        call!(f.kron(&a)),
        call!(a.matmul(&a)),
        call!(a.matmul(ones([2, 3]))),
        call!(a.matmul(ones([2]))),
        call!(a.rmatmul(ones([1, 3]))),
        call!(a.addmm(1.0, ones([2, 2]), 1.0, ones([2, 2]))),
        call!(a.matmul_reduce(ones([2, 2]), Reduce::Mean)),
        call!(a.product_pattern(&a)),
        call!(a.add_dense(ones([3, 1]))),
        call!(a.sub_dense(ones([3, 1]))),
        call!(a.mul_dense(ones([3, 1]))),
        call!(a.div_dense(ones([3, 1]))),
        call!(ints.div_dense(Tensor::<2, Int>::ones([3, 1], &device()))),
    ]);
}

#[test]
fn of_numbers_and_functions() {
    let a = matrix();
    let ints = CooTensor::<2, Int>::zeros([2, 3], &device());
    let none = CooTensor::<2>::zeros([2, 3], &device());
    name_the_line(vec![
        call!(a.add_scalar(ones([2]))),
        call!(a.sub_scalar(ones([2]))),
        call!(a.mul_scalar(ones([2]))),
        call!(a.div_scalar(ones([2]))),
        call!(ints.div_scalar(ones([2]))),
        call!(a.remainder_scalar(0.0)),
        call!(a.fmod_scalar(0.0)),
        call!(ints.remainder_scalar(0)),
        call!(ints.powi_scalar(-1)),
        call!(a.clone().map(|rows| rows.narrow(0, 0, 1))),
        call!(a.clone().map(|rows| rows * ones([3, 1]))),
        call!(a.zip_with(&a, |x, _| x.narrow(0, 0, 1))),
        call!(a.zip_with(&a, |x, y| (x + y) * ones([3, 1]))),
        call!(a.map_stored(|rows| rows.repeat_dim(1, 2))),
        call!(a.zip_stored(&a, |x, _| x.repeat_dim(1, 2))),
        call!(none.clone().map(|rows| rows.repeat_dim(1, 2))),
        call!(none.zip_with(&none, |x, _| x.repeat_dim(0, 2))),
        call!(a.softmax(1)),
        call!(a.log_softmax(1)),
    ]);
}

#[test]
fn of_reductions() {
    let (a, none) = (matrix(), CooTensor::<2>::zeros([0, 2], &device()));
    let mask = a.greater_elem(0.0);
    let hybrid = CooTensor::<2>::from_dense(ones([2, 3]), 1);
    name_the_line(vec![
        call!(a.sum_dim(2)),
        call!(a.mean_dim(2)),
        call!(a.prod_dim(2)),
        call!(a.max_dim(2)),
        call!(none.min_dim(0)),
        call!(a.sum_dims(&[0, 0])),
        call!(a.mean_dims(&[0, 0])),
        call!(a.prod_dims(&[0, 0])),
        call!(a.max_dims(&[0, 0])),
        call!(none.min_dims(&[0, 1])),
        call!(a.sum_dim_dense(2)),
        call!(a.mean_dim_dense(2)),
        call!(a.prod_dim_dense(2)),
        call!(a.max_dim_dense(2)),
        call!(none.min_dim_dense(0)),
        call!(a.stored_sum_dim(2)),
        call!(a.stored_max_dims(&[2])),
        call!(none.stored_min()),
        call!(none.max()),
        call!(none.min()),
        call!(a.argmax(2)),
        call!(none.argmin(0)),
        call!(a.norm(0.0)),
        call!(a.norm_dim(0.0, 0)),
        call!(a.norm_dims(2.0, &[0, 0])),
        call!(mask.any_dim(2)),
        call!(mask.all_dim(2)),
        call!(mask.any_dims(&[2])),
        call!(mask.all_dims(&[2])),
        call!(a.count_stored_dims(&[2])),
        call!(a.stored_cumsum(2)),
        call!(hybrid.row_sums()),
        call!(hybrid.col_sums()),
        call!(hybrid.row_counts()),
        call!(hybrid.col_counts()),
        call!(hybrid.diagonal()),
        call!(hybrid.trace()),
    ]);
}

#[test]
fn of_shapes_and_patterns() {
    let a = matrix();
    let f = a.clone().with_fill(Fill::scalar(1.0));
    let undefined = a.clone().with_fill(Fill::Undefined);
    let hybrid = CooTensor::<2>::from_dense(ones([2, 3]), 1);
    let index = || Tensor::<1, Int>::from_ints([9], &device());
    name_the_line(vec![
        call!(a.reshape([5])),
        call!(a.flatten::<1>(1, 0)),
        call!(a.squeeze_dim::<1>(0)),
        call!(a.unsqueeze_dim::<3>(9)),
        call!(a.expand([5, 5])),
        call!(a.repeat_dim(2, 2)),
        call!(a.permute([0, 0])),
        call!(a.swap_dims(0, 2)),
        call!(a.flatten::<1>(0, 1).transpose()),
        call!(a.flip([2])),
        call!(a.roll([1, 2], [0])),
        call!(a.roll_dim(1, 2)),
        call!(a.narrow(0, 1, 2)),
        call!(a.slice(s![0..9, ..])),
        call!(a.slice_dim(0, 9)),
        call!(a.select(0, index())),
        call!(a.select_dim::<1>(0, 9)),
        call!(a.get([0, 9])),
        call!(a.split(0, 0)),
        call!(a.chunk(0, 0)),
        call!(f.tril(0)),
        call!(f.triu(0)),
        call!(f.prune(0.5)),
        call!(hybrid.top_k_rows(1)),
        call!(a.add_self_loops(1.0)),
        call!(a.remove_self_loops()),
        call!(hybrid.to_csr()),
        call!(undefined.to_dense()),
        call!(a.to_dense_within(5)),
        call!(a.values::<2>()),
        call!(a.with_values(ones([2]))),
        call!(a.clone().with_fill(Fill::tensor(ones([2])))),
        call!(CsrTensor::<4>::zeros([1; 4], &device())),
        call!(CooTensor::from_dense(ones([2, 3]), 3)),
        call!(CsrTensor::from_dense(ones([2]))),
        call!(CooTensor::<2>::new_unchecked(a.indices(), ones([2]), [2, 3], true)),
        call!(CsrTensor::<2>::new_unchecked(a.to_csr().row_ptr(), a.to_csr().col_idx(), ones([2]), [2, 3])),
    ]);
}

#[test]
fn of_free_functions_plans_and_layers() {
    let (a, b) = (matrix(), CooTensor::<2>::zeros([3, 2], &device()));
    let none: &[CooTensor<2>] = &[];
    let csr = a.to_csr();
    let filled = csr.clone().with_fill(Fill::scalar(1.0));
    let plan = IndexPlan::new(Tensor::from_ints([0], &device()), 5).expect("valid indices");
    let layer = GcnConvConfig::new(4, 2).init(&device());
    let square = CsrTensor::<2>::eye(2, &device());
    let mask: CooTensor<2, Bool> = b.greater_elem(0.0);
    name_the_line(vec![
        call!(concat(&[a.clone(), b.clone()], 0)),
        call!(stack::<_, 2, 3, _>(&[a.clone(), b.clone()], 0)),
        call!(block_diag(none)),
        call!(sparse_mask(ones([2, 3]), &mask)),
        call!(masked_matmul(ones([2, 3]), ones([2, 3]), &a)),
        call!(gather(ones([2, 3]), 0, places([2, 3]))),
        call!(scatter(ones([2, 3]), 0, places([2, 3]), ones([2, 3]))),
        call!(gather_nd(ones([2]), places([2, 1]), [0])),
        call!(scatter_reduce(ones([2, 3]), 0, places([2, 1]), 1.0, Reduce::Add, true)),
        call!(scatter_nd(ones([2]), places([2, 1]), ones([2]), None)),
        call!(put_along_axis(ones([2, 3]), places([2, 3]), 1.0, 0, Reduce::Add, true)),
        call!(plan.select(ones([2, 3]), 0)),
        call!(plan.select_sparse(&a, 0)),
        call!(plan.put(ones([2, 3]), 0, ones([1, 3]), Reduce::Add, true)),
        call!(sparse_dropout(&a, 2.0)),
        call!(symmetric_normalization(&csr, true)),
        call!(row_normalization(&filled)),
        call!(layer.forward(&square, ones([2, 3]))),
        call!(layer.forward(&square, ones([3, 4]))),
        call!(layer.forward_sparse(&square, &csr)),
    ]);
}
