//! Items that share fresh patterns, in a parallel loop of the user. Several threads request the same derived data of a
//! pattern at once, and each of them waits for parallel work of the same pool. There must be no deadlock, and all
//! threads must get the same pattern.

use burn::tensor::{Device, Int, Tensor, TensorData};
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use sparse_tensor::ops::{self, IndexPlan, Reduce};
use sparse_tensor::pattern::{CooPattern, CsrPattern, Pattern};
use sparse_tensor::{CooTensor, CsrTensor, Fill};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::time::Duration;

/// Long enough that the kernels share their work among threads.
const NNZ: usize = 34_000;
const ROWS: usize = 300;
/// As many items as threads of the largest pool, in each of some groups that share a pattern.
const ITEMS: usize = 8;
const GROUPS: usize = 3;
const POOLS: [usize; 3] = [1, 2, 8];
/// Far more than the slowest machine needs for all of it.
const PATIENCE: Duration = Duration::from_secs(600);

/// Coordinates in no order, some of them twice.
fn fresh(device: &Device, seed: usize) -> CooPattern {
    let at = |k: usize| (k * 7919 + seed * 104_729) % (ROWS * ROWS);
    let rows = (0..NNZ).map(|k| (at(k) / ROWS) as i64);
    let cols = (0..NNZ).map(|k| (at(k) % ROWS) as i64);
    let indices =
        Tensor::<2, Int>::from_data(TensorData::new(rows.chain(cols).collect::<Vec<i64>>(), [2, NNZ]), device);
    CooPattern::new(indices, &[ROWS, ROWS]).unwrap()
}

/// What the items of a loop share.
struct Shared {
    coo: [CooPattern; 2],
    csr: [CsrPattern; 2],
    values: Tensor<1>,
    /// For `csr`, which has no duplicates.
    merged: [Tensor<1>; 2],
    /// Nobody has read its groups.
    plan: IndexPlan,
}

impl Shared {
    fn new(device: &Device, seed: usize) -> Self {
        let coo = [seed, seed + 1].map(|seed| fresh(device, seed));
        let values = Tensor::<1>::from_data(TensorData::new(vec![1.0f32; NNZ], [NNZ]), device);
        let csr = coo.each_ref().map(|pattern| {
            // Made of a pattern that nobody else has.
            let copy = CooPattern::new(pattern.indices().clone(), pattern.shape()).unwrap();
            CooTensor::<2>::from_pattern(copy, values.clone()).unwrap().to_csr()
        });
        let merged = csr.each_ref().map(|tensor| tensor.values::<1>());
        let csr = csr.map(|tensor| CsrPattern::new_unchecked(tensor.row_ptr(), tensor.col_idx(), &[ROWS, ROWS]));
        let index = (0..NNZ).map(|k| (k * 31 + seed) as i64 % ROWS as i64).collect::<Vec<_>>();
        let index = Tensor::<1, Int>::from_data(TensorData::new(index, [NNZ]), device);
        let plan = IndexPlan::new(index, ROWS).unwrap();
        Self { coo, csr, values, merged, plan }
    }

    /// A step of training. What its backward rules need of the patterns and of the plan is derived on the way back. The
    /// sum of all gradients.
    fn train(&self) -> f32 {
        let device = self.values.device().autodiff();
        let tracked = |values: &Tensor<1>| Tensor::from_inner(values.clone()).to_device(&device).require_grad();
        let (loose, merged) = (tracked(&self.values), tracked(&self.merged[0]));
        let x = Tensor::<2>::ones([ROWS, 8], &device).require_grad();
        let coo = CooTensor::<2>::from_pattern(self.coo[0].clone(), loose.clone()).unwrap();
        let csr = CsrTensor::<2>::from_pattern(self.csr[0].clone(), merged.clone()).unwrap();
        let attention = csr.clone().with_fill(Fill::Undefined).softmax(1).with_fill(Fill::Zero);
        let hidden = attention.matmul(coo.matmul(x.clone()));
        let read = self.plan.select(hidden.clone(), 0);
        let put = self.plan.put(hidden, 0, read, Reduce::Mean, true);
        let grads = (put * csr.transpose().sum_dim(0).to_dense().transpose()).sum().backward();
        let all = [loose.grad(&grads), merged.grad(&grads)].map(|grad| grad.unwrap().sum().into_scalar::<f32>());
        all.iter().sum::<f32>() + x.grad(&grads).unwrap().sum().into_scalar::<f32>()
    }

    /// One item: the patterns that it finds, and the sum of its numbers.
    fn step(&self) -> (Vec<CooPattern>, Vec<CsrPattern>, f32) {
        let loose =
            self.coo.each_ref().map(|own| CooTensor::<2>::from_pattern(own.clone(), self.values.clone()).unwrap());
        let [c, d] = [0, 1].map(|k| CsrTensor::<2>::from_pattern(self.csr[k].clone(), self.merged[k].clone()).unwrap());
        let [a, b] = loose.each_ref().map(CooTensor::coalesce);
        let (sum, transposed, joined) = (a.add(&b), a.transpose(), ops::concat(&loose, 1));
        let (rows, across, below) = (c.add(&d), c.transpose(), ops::concat(&[c.clone(), d.clone()], 0));
        let dense = Tensor::<2>::ones([ROWS, 8], &self.values.device());
        let products = [c.matmul(dense.clone()), d.transpose().matmul(dense.clone()), loose[0].matmul(dense)];
        let numbers = products.map(Tensor::sum).into_iter().chain([loose[1].to_csr().to_dense().sum()]);
        let numbers = numbers.chain([sum.sum(), transposed.sum(), joined.sum(), rows.sum(), across.sum(), below.sum()]);
        let total = numbers.map(|number| number.into_scalar::<f32>()).sum();
        let coo = [a, b, sum, transposed, joined].map(|tensor| tensor.pattern().clone());
        let csr = [rows, across, below].map(|tensor| tensor.pattern().clone());
        (coo.into(), csr.into(), total)
    }
}

fn same<P: Pattern>(a: &[P], b: &[P]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.is_same(b))
}

fn pool(threads: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
}

/// `run` for pools of some sizes, each of which must end in time.
fn each_pool_ends(run: impl Fn(usize) + Send + 'static) {
    let (done, wait) = mpsc::channel();
    std::thread::spawn(move || {
        for threads in POOLS {
            run(threads);
            done.send(threads).unwrap();
        }
    });
    for threads in POOLS {
        assert_eq!(wait.recv_timeout(PATIENCE), Ok(threads), "a loop in a pool of {threads} threads ends");
    }
}

/// Items of a parallel loop over groups find the same patterns and the same numbers.
fn one_for_all(groups: &[Shared], step: impl Fn(&Shared) -> (Vec<CooPattern>, Vec<CsrPattern>, f32) + Sync) {
    let items = |shared| (0..ITEMS).into_par_iter().map(|_| step(shared)).collect();
    let found: Vec<Vec<_>> = groups.par_iter().map(items).collect();
    for items in found {
        let (coo, csr, total) = &items[0];
        assert!(total.is_finite());
        for (others, other_csr, sum) in &items {
            assert!(same(coo, others), "one pattern for all");
            assert!(same(csr, other_csr), "one pattern for all");
            assert_eq!(total.to_bits(), sum.to_bits());
        }
    }
}

fn groups(seed: usize) -> Vec<Shared> {
    (0..GROUPS).map(|group| Shared::new(&Device::flex(), 10 * seed + group)).collect()
}

#[test]
fn parallel_loops_over_shared_patterns_end() {
    each_pool_ends(|threads| {
        let groups = groups(threads);
        pool(threads).install(|| one_for_all(&groups, Shared::step));
    });
}

#[test]
fn parallel_steps_of_training_over_shared_patterns_end() {
    each_pool_ends(|threads| {
        let groups = groups(100 + threads);
        pool(threads).install(|| one_for_all(&groups, |shared| (vec![], vec![], shared.train())));
    });
}

/// An item waits for work in another pool, whose threads may wait for the first.
#[test]
fn loops_in_nested_pools_end() {
    each_pool_ends(|threads| {
        let (groups, inner) = (groups(200 + threads), POOLS.map(pool));
        let nested = |shared: &Shared| {
            let [a, b, c] = inner.each_ref().map(|inner| inner.install(|| shared.train()));
            assert_eq!([a.to_bits(), b.to_bits()], [b.to_bits(), c.to_bits()]);
            let (coo, csr, total) = inner[1].install(|| shared.step());
            (coo, csr, total + a)
        };
        pool(threads).install(|| one_for_all(&groups, nested));
    });
}

/// A closure of the user that panics inside an operation: what its patterns keep stays as it was.
#[test]
fn patterns_serve_after_a_panic_inside_an_operation() {
    let want = Shared::new(&Device::flex(), 77).step().2;
    each_pool_ends(move |threads| {
        let shared = Shared::new(&Device::flex(), 77);
        let totals: Vec<Option<f32>> = pool(threads).install(|| {
            let item = |k: usize| {
                let [a, b] = shared
                    .coo
                    .each_ref()
                    .map(|own| CooTensor::<2>::from_pattern(own.clone(), shared.values.clone()).unwrap());
                let stop = |_: Tensor<2>| -> Tensor<2> { panic!("the closure of the user") };
                let panics = [
                    catch_unwind(AssertUnwindSafe(|| a.clone().map(stop))).is_err(),
                    catch_unwind(AssertUnwindSafe(|| a.zip_with(&b, |_, x| stop(x)))).is_err(),
                ];
                assert_eq!(panics, [true, true]);
                k.is_multiple_of(2).then(|| shared.step().2)
            };
            (0..ITEMS).into_par_iter().map(item).collect()
        });
        let totals: Vec<f32> = totals.into_iter().flatten().collect();
        assert_eq!(totals, vec![want; ITEMS / 2], "with {threads} threads");
    });
}
