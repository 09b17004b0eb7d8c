//! Ranks that are threads. `tests/mpi` does the same with processes.

use burn::module::{Module, Param};
use burn::nn::{Linear, LinearConfig};
use burn::optim::GradientsParams;
use burn::tensor::{DType, Device, FloatDType, Int, Tensor, TensorData};
use half::{bf16, f16};
use sparse_dev::shares::{Sage, Task, distance, parameters};
use sparse_dev::spoil::{Spoil, Spoiled};
use sparse_tensor::nn::{RowOptimizer, RowSgd, RowSparseGrad, RowTable};
use sparse_tensor::parallel::{Collective, Threads, all_reduce, all_reduce_rows, broadcast, weighted_mean};
use sparse_tensor::{CsrTensor, Result, SparseError, module::CsrParam};
use std::sync::Arc;
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

const LONG: Duration = Duration::from_secs(60);

/// What each of `size` ranks computes.
fn on_ranks<T: Send>(size: usize, f: impl Fn(&mut Threads) -> T + Sync) -> Vec<T> {
    scope(|scope| {
        let f = &f;
        let ranks = Threads::new(size, LONG).unwrap();
        let ranks: Vec<_> = ranks.into_iter().map(|mut rank| scope.spawn(move || f(&mut rank))).collect();
        ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
    })
}

fn device() -> Device {
    Device::flex().autodiff()
}

/// A module with parameters of three forms and dtypes.
#[derive(Module, Debug)]
struct Net {
    first: Param<Tensor<1>>,
    second: Param<Tensor<2>>,
    third: Param<Tensor<3>>,
}

fn net(sizes: [usize; 3], dtypes: [FloatDType; 3]) -> Net {
    let device = device();
    Net {
        first: Param::from_tensor(Tensor::<1>::zeros([sizes[0]], &device).cast(dtypes[0])),
        second: Param::from_tensor(Tensor::<2>::zeros([sizes[1], 2], &device).cast(dtypes[1])),
        third: Param::from_tensor(Tensor::<3>::zeros([1, sizes[2], 3], &device).cast(dtypes[2])),
    }
}

fn number(rank: usize, at: usize) -> f64 {
    ((at * 31 + rank * 17) as f64 * 0.37).sin() * 10f64.powi((at % 7) as i32 - 3)
}

fn numbers(rank: usize, count: usize) -> Vec<f64> {
    (0..count).map(|at| number(rank, at)).collect()
}

fn grad<const D: usize>(rank: usize, shape: [usize; D], dtype: DType) -> Tensor<D> {
    let count = shape.iter().product();
    Tensor::from_data(TensorData::new(numbers(rank, count), shape).convert_dtype(dtype), (&Device::flex(), dtype))
}

#[test]
fn graphsage_on_shares_has_the_bits_of_one_process_and_the_numbers_of_whole_batches() {
    let device = device();
    let task = Task::new(&device);
    let start = Sage::new(5, &device);
    let union = task.train_union(start.clone());
    assert!(distance(&parameters(&start), &union) > 1e-2);
    for size in [1, 2, 3] {
        let trained = on_ranks(size, |ranks| {
            let task = Task::new(&device);
            // The broadcast replaces the numbers of the other ranks.
            let model = if ranks.rank() == 0 { start.clone().fork(&device) } else { Sage::new(5, &device) };
            task.train(ranks, model).unwrap()
        });
        assert!(trained.iter().all(|rank| *rank == trained[0]), "{size} ranks");
        assert_eq!(trained[0], task.train_shares(size, start.clone()), "{size} ranks");
        let distance = distance(&trained[0], &union);
        assert!(distance < 1e-6, "{size} ranks: {distance}");
    }
}

/// Sizes beyond a message, and weights that are no integers.
#[test]
fn the_mean_is_that_of_plain_loops() {
    let weights = [2.5, 1.0, 0.75];
    let total: f64 = weights.iter().sum();
    let sizes = [1_100_001, 300_000, 5];
    let dtypes = [FloatDType::F32, FloatDType::F64, FloatDType::F32];
    let results = on_ranks(3, |ranks| {
        let (net, rank) = (net(sizes, dtypes), ranks.rank());
        let mut grads = GradientsParams::new();
        grads.register(net.first.id, grad(rank, [sizes[0]], DType::F32));
        grads.register(net.second.id, grad(rank, [sizes[1], 2], DType::F64));
        // Only rank 1 touches it.
        if rank == 1 {
            grads.register(net.third.id, grad(rank, [1, sizes[2], 3], DType::F32));
        }
        let grads = all_reduce(ranks, grads, &net, weights[rank]).unwrap();
        let third: Vec<f32> = grads.get::<3>(net.third.id).unwrap().into_data().try_into_vec().unwrap();
        let second: Vec<f64> = grads.get::<2>(net.second.id).unwrap().into_data().try_into_vec().unwrap();
        let first: Vec<f32> = grads.get::<1>(net.first.id).unwrap().into_data().try_into_vec().unwrap();
        (first, second, third)
    });
    let f32s = |at: usize| (0..3).map(|rank| weights[rank] * f64::from(number(rank, at) as f32)).sum::<f64>() / total;
    let f64s = |at: usize| (0..3).map(|rank| weights[rank] * number(rank, at)).sum::<f64>() / total;
    for (first, second, third) in &results {
        assert!(first.iter().enumerate().all(|(at, mean)| *mean == f32s(at) as f32));
        assert!(second.iter().enumerate().all(|(at, mean)| *mean == f64s(at)));
        let of_one = |at: usize| (weights[1] * f64::from(number(1, at) as f32) / total) as f32;
        assert!(third.iter().enumerate().all(|(at, mean)| *mean == of_one(at)));
        assert_eq!([first.len(), second.len(), third.len()], [sizes[0], 2 * sizes[1], 3 * sizes[2]]);
    }
}

#[test]
fn floats_of_16_bits_are_rounded_once() {
    let dtypes = [FloatDType::F16, FloatDType::BF16, FloatDType::F16];
    let results = on_ranks(2, |ranks| {
        let (net, rank) = (net([9, 9, 0], dtypes), ranks.rank());
        let mut grads = GradientsParams::new();
        grads.register(net.first.id, grad(rank, [9], DType::F16));
        grads.register(net.second.id, grad(rank, [9, 2], DType::BF16));
        grads.register(net.third.id, grad(rank, [1, 0, 3], DType::F16));
        let grads = all_reduce(ranks, grads, &net, 1.0 + rank as f64).unwrap();
        assert_eq!(grads.get::<3>(net.third.id).unwrap().dims(), [1, 0, 3]);
        let half: Vec<f16> = grads.get::<1>(net.first.id).unwrap().into_data().try_into_vec().unwrap();
        let brain: Vec<bf16> = grads.get::<2>(net.second.id).unwrap().into_data().try_into_vec().unwrap();
        (half, brain)
    });
    for (half, brain) in results {
        let halves = |at| [0, 1].map(|rank| f16::from_f64(number(rank, at)).to_f64());
        let brains = |at| [0, 1].map(|rank| bf16::from_f64(number(rank, at)).to_f64());
        let mean = |[a, b]: [f64; 2]| ((a + 2.0 * b) / 3.0) as f32;
        assert_eq!(half, (0..9).map(|at| f16::from_f32(mean(halves(at)))).collect::<Vec<_>>());
        assert_eq!(brain, (0..18).map(|at| bf16::from_f32(mean(brains(at)))).collect::<Vec<_>>());
    }
}

/// A mean over an empty share is NaN, and a parameter that nobody touched has no gradient.
#[test]
fn ranks_of_weight_0_and_parameters_without_gradients_are_left_out() {
    let results = on_ranks(3, |ranks| {
        let (net, rank) = (net([4, 4, 4], [FloatDType::F32; 3]), ranks.rank());
        let mut grads = GradientsParams::new();
        let number = [f32::NAN, 3.0, 5.0][rank];
        grads.register(net.first.id, Tensor::<1>::full([4], number, &Device::flex()));
        if rank == 0 {
            grads.register(net.third.id, Tensor::<3>::full([1, 4, 3], number, &Device::flex()));
        }
        let grads = all_reduce(ranks, grads, &net, [0.0, 1.0, 1.0][rank]).unwrap();
        assert!(grads.get::<2>(net.second.id).is_none() && grads.get::<3>(net.third.id).is_none());
        grads.get::<1>(net.first.id).unwrap().into_data().try_into_vec::<f32>().unwrap()
    });
    assert_eq!(results, vec![vec![4.0; 4]; 3]);
}

fn table(device: &Device) -> RowTable {
    RowTable { weight: Param::from_tensor(Tensor::<2>::zeros([10, 2], device).require_grad()) }
}

fn ids(list: &[i64], device: &Device) -> Tensor<1, Int> {
    Tensor::from_data(TensorData::new(list.to_vec(), [list.len()]), device)
}

#[test]
fn rows_are_reduced_as_rows() {
    let reads: [&[i64]; 3] = [&[7, 2, 7], &[], &[9, 2]];
    let weights = [3.0, 1.0, 2.0];
    let results = on_ranks(3, |ranks| {
        let (device, rank) = (device(), ranks.rank());
        let table = table(&device);
        let own = (rank != 1).then(|| {
            let (x, read) = table.select(ids(reads[rank], &device));
            let scale = grad(rank, x.dims(), DType::F32);
            let loss = (x * Tensor::from_inner(scale)).sum();
            read.grad(&loss.backward()).unwrap()
        });
        let sum = all_reduce_rows(ranks, own, &table, weights[rank]).unwrap().unwrap();
        let ids: Vec<i64> = sum.ids().into_data().iter().collect();
        let rows: Vec<f32> = sum.rows().into_data().try_into_vec().unwrap();
        let stepped = RowSgd::new().step(1.0, table, sum).weight.val().into_data();
        (ids, rows, stepped)
    });
    // Row 7 has two places on rank 0.
    let own = |rank: usize, row: i64, column: usize| -> f32 {
        let places = reads[rank].iter().enumerate().filter(|(_, id)| **id == row);
        places.map(|(at, _)| number(rank, 2 * at + column) as f32).sum()
    };
    let mean = |row, column| {
        let sum: f64 = (0..3).map(|rank| weights[rank] * f64::from(own(rank, row, column))).sum();
        (sum / 6.0) as f32
    };
    let want: Vec<f32> = [2, 7, 9].into_iter().flat_map(|row| [mean(row, 0), mean(row, 1)]).collect();
    for (ids, rows, stepped) in &results {
        assert_eq!((ids.as_slice(), rows), ([2, 7, 9].as_slice(), &want));
        let stepped: Vec<f32> = stepped.iter().collect();
        assert_eq!((stepped[4], stepped[15], stepped[0]), (-want[0], -want[3], 0.0));
    }
}

/// The error of rank 0, whose exchange `at` brings it other bytes from rank 1. None is a panic.
fn with_rows_spoiled(at: usize, spoil: &Spoil) -> Option<String> {
    let found = on_ranks(2, |ranks| {
        let rows = Tensor::<2>::ones([4, 2], &Device::flex());
        let own = RowSparseGrad::new(ids(&[1, 2, 5, 8], &Device::flex()), rows, 10).unwrap();
        all_reduce_rows(&mut Spoiled { ranks, at, spoil }, Some(own), &table(&device()), 1.0).err()
    });
    found[0].as_ref().map(|trouble| trouble.to_string())
}

/// Exchange 0 is that of the arguments, 1 brings rows to sum, 2 brings sums. Rank 0 sums the even rows.
#[test]
fn rows_of_other_ranks_are_checked() {
    let first = |id: i64| move |bytes: &mut Vec<u8>| bytes[8..16].copy_from_slice(&id.to_le_bytes());
    for (at, id, told) in [
        (1, 10, "a row of rank 1 must be in [0, 10), got 10"),
        (1, -2, "a row of rank 1 must be in [0, 10), got -2"),
        (1, 3, "a row of rank 1 must be one that rank 0 sums, got 3"),
        (1, 8, "the rows of rank 1 must ascend, got 8 and then 8"),
        (2, i64::MAX, "a row of rank 1 must be in [0, 10), got 9223372036854775807"),
        (2, 4, "a row of rank 1 must be one that rank 1 sums, got 4"),
        (2, 9, "the rows of rank 1 must ascend, got 9 and then 5"),
    ] {
        assert_eq!(with_rows_spoiled(at, &first(id)), Some(format!("all_reduce_rows: {told}")), "{at}, {id}");
    }
    let cut = with_rows_spoiled(1, &|bytes| bytes.truncate(20));
    assert_eq!(cut.unwrap(), "all_reduce_rows: rows of 8 bytes must be all that rank 1 sends, got other bytes");
    for at in 0..3 {
        for place in 0..80 {
            let changed: Box<Spoil> = Box::new(move |bytes| bytes.iter_mut().skip(place).take(1).for_each(|b| *b ^= 1));
            let filled: Box<Spoil> = Box::new(move |bytes| bytes.iter_mut().skip(place).take(8).for_each(|b| *b = 255));
            let cut: Box<Spoil> = Box::new(move |bytes| bytes.truncate(place));
            [changed, filled, cut].iter().for_each(|spoil| drop(with_rows_spoiled(at, spoil)));
        }
    }
}

#[test]
fn no_rows_on_any_rank_are_none() {
    let results = on_ranks(2, |ranks| {
        let table = table(&device());
        let empty = RowSparseGrad::new(ids(&[1], &Device::flex()), Tensor::zeros([1, 2], &Device::flex()), 10).unwrap();
        // A rank of weight 0 has no rows either.
        let own = (ranks.rank() == 1).then_some(empty);
        all_reduce_rows(ranks, own, &table, 1.0 - ranks.rank() as f64).unwrap().is_none()
    });
    assert_eq!(results, [true, true]);
}

#[derive(Module, Debug)]
struct SparseNet {
    weight: CsrParam<2>,
    linear: Linear,
}

fn sparse_net(rows: [[f32; 3]; 2]) -> SparseNet {
    let weight = CsrTensor::<2>::from_dense(Tensor::from_floats(rows, &device()));
    SparseNet { weight: CsrParam::from_tensor(weight), linear: LinearConfig::new(2, 2).init(&device()) }
}

#[test]
fn a_broadcast_takes_patterns_too() {
    let results = on_ranks(3, |ranks| {
        let rows = [[[9.0, 0.0, 0.0]; 2], [[1.0, 0.0, 2.0], [0.0, 0.0, 3.0]], [[8.0, 8.0, 8.0]; 2]][ranks.rank()];
        let net = broadcast(ranks, sparse_net(rows), 1).unwrap();
        let x = Tensor::<2>::full([3, 2], ranks.rank() as f64 + 1.0, &device());
        let grads = net.weight.val().matmul(x).sum().backward();
        let grads = all_reduce(ranks, GradientsParams::from_grads(grads, &net), &net, 1.0).unwrap();
        let grad: Vec<f32> = grads.get::<2>(net.weight.id()).unwrap().into_data().try_into_vec().unwrap();
        // 2 (1 + 2 + 3) / 3 for each stored element; the linear layer took no part.
        assert_eq!((grad, grads.len()), (vec![4.0; 3], 1));
        (net.weight.val().to_dense().into_data(), net.linear.weight.val().into_data(), net.weight.id())
    });
    assert_eq!(results[1].0.iter::<f32>().collect::<Vec<_>>(), [1.0, 0.0, 2.0, 0.0, 0.0, 3.0]);
    assert!(results.iter().all(|rank| *rank == results[0]));
}

/// Calls on all ranks, and checks that each gets the error with these words.
fn refused<T: Send>(size: usize, words: &[&str], f: impl Fn(&mut Threads) -> Result<T> + Sync) {
    let results = on_ranks(size, |ranks| {
        let trouble = f(ranks).err().expect("an error");
        // Nothing is left under way: the ranks can go on.
        let parts = (0..size).map(|to| Arc::new(vec![to as u8])).collect();
        assert!(ranks.exchange(parts).unwrap().iter().all(|part| part[0] == ranks.rank() as u8));
        (trouble.kind(), trouble.to_string())
    });
    for (kind, trouble) in &results {
        assert_eq!(*kind, "invalid");
        assert!(words.iter().all(|word| trouble.contains(word)), "{trouble}");
        // After the name of the function, which is each rank's own.
        let text = |trouble: &str| trouble.split_once(": ").unwrap().1.to_string();
        assert_eq!(text(trouble), text(&results[0].1));
    }
}

#[test]
fn what_ranks_disagree_on_is_an_error_on_all() {
    const F32: FloatDType = FloatDType::F32;
    let none = GradientsParams::new;
    refused(3, &["first [3] f32 on rank 0", "first [4] f32 on rank 2"], |ranks| {
        all_reduce(ranks, none(), &net([3 + ranks.rank() / 2, 1, 1], [F32; 3]), 1.0)
    });
    refused(2, &["second [1, 2] f32 on rank 0", "second [1, 2] f64 on rank 1"], |ranks| {
        all_reduce(ranks, none(), &net([1; 3], [F32, [F32, FloatDType::F64][ranks.rank()], F32]), 1.0)
    });
    refused(2, &["got first [1] f32 on rank 0 and weight [1, 1] f32 on rank 1"], |ranks| match ranks.rank() {
        0 => all_reduce(ranks, none(), &net([1; 3], [F32; 3]), 1.0),
        _ => all_reduce(ranks, none(), &LinearConfig::new(1, 1).init(&device()), 1.0),
    });
    refused(2, &["same function", "got all_reduce on rank 0 and broadcast on rank 1"], |ranks| match ranks.rank() {
        0 => all_reduce(ranks, none(), &net([1; 3], [F32; 3]), 1.0).map(drop),
        _ => broadcast(ranks, net([1; 3], [F32; 3]), 0).map(drop),
    });
    // As many elements, but another pattern.
    refused(2, &["weight.col_idx [2]", "digest"], |ranks| {
        let rows = [[[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]], [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]][ranks.rank()];
        all_reduce(ranks, none(), &sparse_net(rows), 1.0)
    });
    refused(3, &["on rank 1", "the shape of its parameter", "got [2] of f32 and [1] of f32"], |ranks| {
        let (net, mut grads) = (net([1; 3], [F32; 3]), none());
        let size = if ranks.rank() == 1 { 2 } else { 1 };
        grads.register(net.first.id, Tensor::<1>::zeros([size], &Device::flex()));
        all_reduce(ranks, grads, &net, 1.0)
    });
    for (weight, word) in [(-1.0, "-1 on rank 1"), (f64::NAN, "NaN on rank 1"), (f64::INFINITY, "inf on rank 1")] {
        refused(2, &["weights must be finite", word], |ranks| {
            all_reduce(ranks, none(), &net([1; 3], [F32; 3]), if ranks.rank() == 1 { weight } else { 1.0 })
        });
    }
    refused(2, &["the sum of the weights", "[0.0, 0.0]"], |ranks| {
        all_reduce(ranks, none(), &net([1; 3], [F32; 3]), 0.0)
    });
    refused(2, &["got a table [10, 2] f32 on rank 0 and a table [11, 2] f32 on rank 1"], |ranks| {
        let weight = Param::from_tensor(Tensor::<2>::zeros([10 + ranks.rank(), 2], &device()));
        all_reduce_rows(ranks, None, &RowTable { weight }, 1.0)
    });
    refused(2, &["on rank 0", "of a table [10, 2] of f32, got one of [9, 2]"], |ranks| {
        let one = || RowSparseGrad::new(ids(&[1], &Device::flex()), Tensor::zeros([1, 2], &Device::flex()), 9).unwrap();
        all_reduce_rows(ranks, (ranks.rank() == 0).then(one), &table(&device()), 1.0)
    });
}

#[test]
fn a_broadcast_that_does_not_fit_is_an_error_on_all() {
    refused(3, &["on rank 2", "the model of rank 0 does not fit"], |ranks| {
        broadcast(ranks, LinearConfig::new(2, 2 + ranks.rank() / 2).init(&device()), 0)
    });
    refused(2, &["on rank 1", "does not fit"], |ranks| {
        broadcast(ranks, LinearConfig::new(2, 2).with_bias(ranks.rank() == 0).init(&device()), 0)
    });
    refused(2, &["got root 0 on rank 0 and root 1 on rank 1"], |ranks| {
        broadcast(ranks, LinearConfig::new(2, 2).init(&device()), ranks.rank())
    });
    refused(2, &["on rank 1", "one of 2 ranks, got 2"], |ranks| {
        broadcast(ranks, LinearConfig::new(2, 2).init(&device()), 2 * ranks.rank())
    });
}

#[test]
fn a_mean_in_one_process_refuses_what_ranks_refuse() {
    let net = net([1; 3], [FloatDType::F32; 3]);
    let trouble = |weights: &[f64]| {
        let parts = weights.iter().map(|weight| (GradientsParams::new(), *weight)).collect();
        weighted_mean(parts, &net).err().map(|trouble| (trouble.kind(), trouble.to_string()))
    };
    for weights in [&[][..], &[0.0], &[1.0, -1.0], &[f64::NAN, 1.0], &[f64::INFINITY]] {
        let (kind, text) = trouble(weights).unwrap();
        assert!(kind == "invalid" && text.contains("weights must be finite"), "{text}");
    }
    assert!(trouble(&[1.0]).is_none());
    let mut grads = GradientsParams::new();
    grads.register(net.first.id, Tensor::<1>::zeros([2], &Device::flex()));
    let text = weighted_mean(vec![(grads, 1.0)], &net).unwrap_err().to_string();
    assert!(text.contains("in part 0") && text.contains("the shape of its parameter"), "{text}");
}

/// The errors of the other ranks, and how long they waited, if rank 1 does `f` in place of its part.
fn without_rank_1(timeout: Duration, f: impl Fn(Threads) + Sync) -> Vec<(SparseError, Duration)> {
    let ranks = Threads::new(3, timeout).unwrap();
    scope(|scope| {
        let f = &f;
        let run = move |mut rank: Threads| {
            let net = net([4; 3], [FloatDType::F32; 3]);
            all_reduce(&mut rank, GradientsParams::new(), &net, 1.0).unwrap();
            if rank.rank() == 1 {
                f(rank);
                return None;
            }
            let start = Instant::now();
            let trouble = all_reduce(&mut rank, GradientsParams::new(), &net, 1.0).unwrap_err();
            let again = broadcast(&mut rank, net, 0).unwrap_err();
            assert_eq!(trouble, again);
            Some((trouble, start.elapsed()))
        };
        let ranks: Vec<_> = ranks.into_iter().map(|rank| scope.spawn(move || run(rank))).collect();
        ranks.into_iter().filter_map(|rank| rank.join().unwrap()).collect()
    })
}

#[test]
fn a_rank_that_ends_is_an_error_at_once() {
    for (trouble, waited) in without_rank_1(LONG, drop) {
        assert_eq!(trouble.kind(), "invalid");
        assert!(trouble.to_string().contains("all ranks must take part"), "{trouble}");
        assert!(waited < LONG / 2);
    }
}

#[test]
fn a_silent_rank_is_an_error_after_the_timeout() {
    let timeout = Duration::from_millis(300);
    let results = without_rank_1(timeout, |rank| {
        sleep(3 * timeout);
        drop(rank);
    });
    assert_eq!(results.len(), 2);
    for (trouble, waited) in &results {
        assert!(trouble.to_string().contains("all ranks must take part"), "{trouble}");
        assert!(*waited < 10 * timeout, "{waited:?}");
    }
    // One may hear of it from the other, which gave up.
    assert!(results.iter().any(|(trouble, _)| trouble.to_string().contains("silent for 300ms")), "{results:?}");
}

#[test]
fn threads_refuse_no_ranks_and_wrong_lists() {
    assert_eq!(Threads::new(0, LONG).unwrap_err().kind(), "invalid");
    let mut one = Threads::new(1, LONG).unwrap().remove(0);
    assert_eq!(one.exchange(vec![]).unwrap_err().kind(), "length_mismatch");
    // After an error there are errors only.
    assert_eq!(one.exchange(vec![Arc::new(vec![3])]).unwrap_err().kind(), "length_mismatch");
    let mut one = Threads::new(1, LONG).unwrap().remove(0);
    assert_eq!(*one.exchange(vec![Arc::new(vec![3])]).unwrap()[0], [3]);
}
