//! The README's "Rules that hold everywhere", each by its name. The equivalence test tests the first ones for every
//! operation.

use burn::tensor::{Device, Int, Tensor, TensorData};
use rayon::ThreadPoolBuilder;
use sparse_tensor::ops::{self, Reduce};
use sparse_tensor::{CooTensor, CsrTensor, Fill};
use std::process::Command;

fn numbers<const D: usize>(x: Tensor<D>) -> Vec<f32> {
    x.into_data().iter().collect()
}

/// `[[1, 0, 2], [0, 3, 0]]`.
fn matrix(device: &Device) -> CsrTensor<2> {
    CsrTensor::from_dense(Tensor::from_floats([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]], device))
}

#[test]
fn same_answer_as_dense() {
    let device = Device::flex().autodiff();
    let x = Tensor::<2>::from_floats([[1.0, -2.0], [0.5, 4.0], [-1.0, 0.25]], &device).require_grad();
    let a = matrix(&device).require_grad();
    let dense = matrix(&device).to_dense().detach().require_grad();
    let ours = (&a * 2.0).exp().matmul(x.clone());
    let grads = (ours.clone() * ours.clone()).sum().backward();
    let own = [ours, x.grad(&grads).unwrap().autodiff()].map(numbers);
    let own_a = numbers(a.grad(&grads).unwrap().values::<1>());
    let reference = (dense.clone() * 2.0).exp().matmul(x.clone());
    let grads = (reference.clone() * reference.clone()).sum().backward();
    let want = [reference, x.grad(&grads).unwrap().autodiff()].map(numbers);
    let at_stored = numbers(dense.grad(&grads).unwrap());
    let want_a = [at_stored[0], at_stored[2], at_stored[4]];
    for (got, want) in own.concat().iter().chain(&own_a).zip(want.concat().iter().chain(&want_a)) {
        assert!((got - want).abs() <= 1e-5 * want.abs().max(1.0), "{got} and {want}");
    }
}

#[test]
fn the_fill_follows_the_dense_answer() {
    let a = matrix(&Device::flex());
    // Of the element at [0, 1], which is not stored.
    let missing = |a: CsrTensor<2>| numbers(a.to_dense())[1];
    assert_eq!(missing(a.exp()), 1.0);
    assert!(missing(&a / &a).is_nan());
    assert_eq!(missing(a.stored().map(|x| x.exp())), 0.0);
    assert_eq!(missing(a.stored().div(&a)), 0.0);
    let undefined = a.with_fill(Fill::Undefined);
    for with_undefined in [
        undefined.exp(),
        undefined.add_scalar(1.0),
        undefined.mul_scalar(2.0),
        &undefined + &undefined,
        undefined.softmax(1),
        undefined.transpose(),
        undefined.slice([0..1, 0..2]),
        ops::concat(&[undefined.clone(), undefined.clone()], 0),
    ] {
        assert!(with_undefined.fill().is_undefined());
    }
}

#[test]
fn gradients_stay_sparse() {
    let device = Device::flex().autodiff();
    let a = matrix(&device).require_grad();
    let loss = (a.matmul(Tensor::<2>::ones([3, 4], &device)).sum() + a.exp().to_dense().sum()) * 2.0;
    let grad = a.grad(&loss.backward()).unwrap();
    assert_eq!(grad.nnz(), 3);
    assert_eq!(grad.col_idx().into_data(), a.col_idx().into_data());
    assert_eq!(grad.row_ptr().into_data(), a.row_ptr().into_data());
    // Coordinates with an element that is stored twice, a hybrid, and a batch.
    let at = Tensor::<2, Int>::from_data([[0_i64, 1, 0], [2, 0, 2]], &device);
    let twice = CooTensor::<2>::new(at, Tensor::<1>::ones([3], &device), [2, 3]).unwrap().require_grad();
    let dense = Tensor::<3>::from_floats([[[1.0, 2.0], [0.0, 0.0]], [[0.0, 0.0], [3.0, 0.0]]], &device);
    let hybrid = CooTensor::<3>::from_dense(dense.clone(), 1).require_grad();
    let batch = CsrTensor::<3>::from_dense(dense).require_grad();
    let loss = twice.exp().to_dense().sum() + hybrid.exp().to_dense().sum() + batch.exp().to_dense().sum();
    let grads = loss.backward();
    let found = twice.grad(&grads).unwrap();
    assert_eq!((found.nnz(), found.indices().into_data()), (3, twice.indices().into_data()));
    let found = hybrid.grad(&grads).unwrap();
    assert_eq!((found.dense_dims(), found.indices().into_data()), (1, hybrid.indices().into_data()));
    let found = batch.grad(&grads).unwrap();
    assert_eq!(found.row_ptr().into_data(), batch.row_ptr().into_data());
    assert_eq!(found.col_idx().into_data(), batch.col_idx().into_data());
}

#[test]
fn no_hidden_dense_copy() {
    let at = Tensor::<2, Int>::from_data([[0_i64, 7], [3, 1 << 30]], &Device::flex());
    let a = CooTensor::<2>::new(at, Tensor::<1>::ones([2], &Device::flex()), [1 << 31, 1 << 31]).unwrap();
    let elements = (1_u128 << 62).to_string();
    let stays_sparse = a.exp().mul_scalar(2.0).transpose().sum_dim(0);
    assert_eq!(stays_sparse.nnz(), 2);
    for error in [
        a.try_to_dense().unwrap_err(),
        a.exp().try_to_dense().unwrap_err(),
        a.try_add_dense(Tensor::ones([1, 1], &Device::flex())).unwrap_err(),
    ] {
        assert_eq!(error.kind(), "would_densify");
        assert!(error.to_string().contains(&elements), "{error}");
    }
}

/// Of a step that is large enough for kernels to share their work: a sort with sums, merges, a product of sparse
/// matrices, products with dense ones, running sums, extrema, softmax, put, concat, and all of their rules. Bits of the
/// gradients.
fn step() -> impl Fn() -> Vec<u32> + Sync {
    const ROWS: usize = 2000;
    const NNZ: usize = 100_000;
    let device = Device::flex().autodiff();
    let list = |factor: usize, size: usize| (0..NNZ).map(move |k| ((k * factor + k / 7) % size) as i64);
    let at: Vec<i64> = list(7919, ROWS).chain(list(104_729, ROWS)).collect();
    let place = Tensor::<1, Int>::from_data(TensorData::new(list(31, 50).collect::<Vec<_>>(), [NNZ]), &device);
    // From -1 to 1, in no order.
    let numbers_of =
        |count: usize| (0..count).map(|k| (k * 48_271 % 65_537) as f32 / 32_768.0 - 1.0).collect::<Vec<_>>();
    let values = Tensor::<1>::from_data(TensorData::new(numbers_of(NNZ), [NNZ]), &device).require_grad();
    let x = Tensor::<2>::from_data(TensorData::new(numbers_of(ROWS * 9), [ROWS, 9]), &device).require_grad();
    move || {
        let at = Tensor::<2, Int>::from_data(TensorData::new(at.clone(), [2, NNZ]), &device);
        let a = CooTensor::<2>::new(at, values.clone(), [ROWS, ROWS]).unwrap().to_csr();
        let sum = &a + &a.transpose();
        let product = a.matmul(&sum).sum_dim(1).to_dense();
        let weights = sum.clone().with_fill(Fill::Undefined).softmax(1);
        let hidden = weights.matmul(x.clone()) * product;
        let rows = ops::put_along_axis(
            Tensor::<1>::zeros([50], &device),
            place.clone(),
            values.clone(),
            0,
            Reduce::Mean,
            true,
        );
        let joined = ops::concat(&[a.clone(), a], 1).matmul(Tensor::cat(vec![x.clone(), hidden.clone()], 0));
        let most = sum.matmul_reduce(x.clone(), Reduce::Amax).sum() + sum.stored().cumsum(1).sum();
        // A dense product that is large enough for several threads.
        let [left, right] = [x.clone(), hidden.clone()].map(|rows| rows.narrow(0, 0, 1000));
        let dense = left.matmul(right.transpose()).sum();
        let grads = ((hidden * joined).sum() + rows.sum() + most + dense).backward();
        let grads = [numbers(values.grad(&grads).unwrap()), numbers(x.grad(&grads).unwrap())];
        grads.concat().into_iter().map(f32::to_bits).collect()
    }
}

#[test]
fn same_bits_on_every_run() {
    let step = step();
    let first = step();
    for threads in [1, 2, 3, 8] {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        for run in 0..50 {
            assert!(pool.install(&step) == first, "run {run} with {threads} threads has other bits");
        }
    }
}

/// The test starts itself in another process, where `CHILD` says how many threads that has.
#[test]
fn same_bits_in_another_process() {
    const CHILD: &str = "SPARSE_TEST_PRINT_BITS";
    // FNV-1a.
    let add = |hash: u64, bits: u32| (hash ^ u64::from(bits)).wrapping_mul(0x0100_0000_01b3);
    let here = format!("bits {:016x}", step()().into_iter().fold(0xcbf2_9ce4_8422_2325, add));
    if std::env::var_os(CHILD).is_some() {
        println!("{here}");
        return;
    }
    for threads in ["1", "2", "3", "8"] {
        let mut child = Command::new(std::env::current_exe().unwrap());
        let child = child.args(["--exact", "rules::same_bits_in_another_process", "--nocapture"]);
        let child = child.env(CHILD, "1").env("RAYON_NUM_THREADS", threads).output().unwrap();
        let printed = String::from_utf8_lossy(&child.stdout);
        assert!(printed.contains(&here), "here {here}, in another process {printed}");
    }
}

#[test]
fn two_names() {
    let (a, b) = (matrix(&Device::flex()), matrix(&Device::flex()).transpose());
    let error = a.try_add(&b).unwrap_err();
    let panic = std::panic::catch_unwind(|| a.add(&b)).unwrap_err();
    // The macro on `try_x` makes `x`. That it names the caller's line is tested in `panics`.
    assert_eq!(panic.downcast_ref::<String>().unwrap(), &error.to_string());
}

/// Of all operations, layers and modules in the list of the public API.
#[test]
fn every_operation_that_can_fail_has_two_names() {
    const TENSOR: &str = "sparse_tensor::SparseTensor";
    // What the README names.
    const ONE_NAME: [&str; 20] = [
        "new",
        "new_inferred",
        "from_pattern",
        "from_triplets",
        "from_rows",
        "from_edges",
        "from_csc_parts",
        "from_indices",
        "from_list",
        "from_lists",
        "check_dim",
        "aggregate",
        "message",
        "propagate",
        "update",
        "carry",
        "carry_state",
        "on_edges",
        "serialize",
        "deserialize",
    ];
    let list = sparse_dev::public_items();
    let functions: Vec<(&str, &str, bool)> = list.lines().filter_map(function).collect();
    let has = |owner: &str, name: &str| functions.iter().any(|&(of, found, _)| (of, found) == (owner, name));
    let mut pairs = 0;
    for &(owner, name, fails) in &functions {
        if let Some(short) = name.strip_prefix("try_").filter(|&short| short != "from") {
            assert!(has(owner, short), "{owner}::{name} and {short}");
            pairs += 1;
        } else if fails
            && [TENSOR, "sparse_tensor::ops", "sparse_tensor::nn", "sparse_tensor::module"]
                .iter()
                .any(|part| owner.starts_with(part))
        {
            assert!(ONE_NAME.contains(&name), "{owner}::{name} must have two names");
        }
    }
    assert!(pairs > 280, "{pairs}");
}

/// Owner and name of a function in the list, and whether it returns a `Result`.
fn function(line: &str) -> Option<(&str, &str, bool)> {
    let (path, rest) = line.strip_prefix("pub fn ")?.split_once('(')?;
    // The last `::` that is not between `<` and `>`.
    let (mut depth, mut cut) = (0, None);
    for (at, byte) in path.bytes().enumerate() {
        match byte {
            b'<' => depth += 1,
            b'>' => depth -= 1,
            b':' if depth == 0 && path[at..].starts_with("::") => cut = Some(at),
            _ => {}
        }
    }
    let (owner, name) = (&path[..cut?], &path[cut? + 2..]);
    let returns = rest.rsplit_once(") -> ").map_or("", |(_, returns)| returns);
    let fails = ["sparse_core::error::Result<", "core::result::Result<"].iter().any(|head| returns.starts_with(head));
    Some((owner, name.split('<').next()?, fails))
}
