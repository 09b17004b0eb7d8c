//! Extremes of products on the device in `SPARSE_TEST_DEVICE`, forward and backward, against plain loops, on rows that
//! reach every launch strategy, with ties and NaN.

use burn::tensor::{DType, Device, FloatDType, Int, Tensor, TensorData};
use half::{bf16, f16};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use sparse_dev::device;
use sparse_tensor::CsrTensor;
use sparse_tensor::ops::Reduce;
use std::io::Write;

struct Case {
    cols: usize,
    features: usize,
    ptr: Vec<i32>,
    idx: Vec<i32>,
    values: Vec<f32>,
    dense: Vec<f32>,
    /// Rounds to the type under test.
    round: fn(f32) -> f32,
    dtype: FloatDType,
}

impl Case {
    /// Rows of the given lengths; few distinct numbers, so that products tie, and some NaN.
    fn new(seed: u64, lens: &[usize], cols: usize, features: usize) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        let (mut ptr, mut idx) = (vec![0], vec![]);
        for &len in lens {
            // Distinct and ascending, from a place of its own.
            let start = rng.random_range(0..cols);
            let mut row: Vec<i32> = (0..len.min(cols)).map(|k| ((start + k) % cols) as i32).collect();
            row.sort_unstable();
            idx.extend(row);
            ptr.push(idx.len() as i32);
        }
        let mut some = |count: usize| -> Vec<f32> {
            let mut one = || match rng.random_range(0..4000) {
                0 => f32::NAN,
                n => [0.0, 1.0, -1.0, 1.1, -1.3, 2.7, 0.37, -0.1][n % 8],
            };
            (0..count).map(|_| one()).collect()
        };
        let (values, dense) = (some(idx.len()), some(cols * features));
        Self { cols, features, ptr, idx, values, dense, round: |x| x, dtype: FloatDType::F32 }
    }

    fn rows(&self) -> usize {
        self.ptr.len() - 1
    }

    fn of(self, dtype: FloatDType, round: fn(f32) -> f32) -> Self {
        let narrow = |list: &[f32]| list.iter().map(|&x| round(x)).collect();
        Self { values: narrow(&self.values), dense: narrow(&self.dense), round, dtype, ..self }
    }

    /// The result and the gradients of values and dense, for the gradient 1, 2, 3, 1 .. of the result; of each number
    /// also the size of the terms it is the sum of, 0 where it must be exact.
    fn want(&self, greatest: bool) -> [Vec<(f64, f64)>; 3] {
        let none = |count| vec![(0.0, 0.0); count];
        let mut out = none(self.rows() * self.features);
        let (mut d_values, mut d_dense) = (none(self.idx.len()), none(self.dense.len()));
        for r in 0..self.rows() {
            let row = self.ptr[r] as usize..self.ptr[r + 1] as usize;
            for f in 0..self.features {
                let at = |k: usize| self.idx[k] as usize * self.features + f;
                let product = |k: usize| (self.round)(self.values[k] * self.dense[at(k)]);
                let best = row.clone().map(product).reduce(|a, b| match (a, b) {
                    _ if a.is_nan() || b.is_nan() => f32::NAN,
                    _ if greatest => a.max(b),
                    _ => a.min(b),
                });
                let Some(best) = best else { continue };
                out[r * self.features + f] = (f64::from(best), 0.0);
                let won = |&k: &usize| product(k) == best || (product(k).is_nan() && best.is_nan());
                let ties = row.clone().filter(won).count();
                let share = f64::from((self.round)(grad(r * self.features + f) / ties as f32));
                for k in row.clone().filter(won) {
                    let add = |sum: &mut (f64, f64), factor: f32| {
                        let term = share * f64::from(factor);
                        *sum = (sum.0 + term, sum.1 + term.abs());
                    };
                    add(&mut d_values[k], self.dense[at(k)]);
                    add(&mut d_dense[at(k)], self.values[k]);
                }
            }
        }
        [out, d_values, d_dense]
    }

    fn got(&self, greatest: bool, device: &Device) -> [Vec<f32>; 3] {
        let device = device.clone().autodiff();
        let floats = |list: &[f32]| Tensor::<1>::from_data(TensorData::new(list.to_vec(), [list.len()]), &device);
        let ints = |list: &[i32]| {
            Tensor::<1, Int>::from_data(TensorData::new(list.to_vec(), [list.len()]), &device.clone().inner())
        };
        let typed = |list: &[f32]| floats(list).cast(self.dtype);
        let (values, dense) = (typed(&self.values).require_grad(), typed(&self.dense).require_grad());
        let shape = [self.rows(), self.cols];
        let a = CsrTensor::<2>::new(ints(&self.ptr), ints(&self.idx), values.clone(), shape).unwrap();
        let x = dense.clone().reshape([self.cols, self.features]);
        let out = a.matmul_reduce(x, if greatest { Reduce::Amax } else { Reduce::Amin });
        let count = self.rows() * self.features;
        let incoming = typed(&(0..count).map(grad).collect::<Vec<_>>());
        let grads = (out.clone().reshape([count]) * incoming).sum().backward();
        let list = |tensor: Tensor<1>| tensor.into_data().iter::<f32>().collect();
        let back = |leaf: &Tensor<1>| list(leaf.grad(&grads).expect("a leaf"));
        [list(out.reshape([count]).inner()), back(&values), back(&dense)]
    }

    fn check(&self, name: &str) {
        let device = device::named(&device::name());
        for greatest in [true, false] {
            let (got, want) = (self.got(greatest, &device), self.want(greatest));
            let step = if self.dtype == FloatDType::F32 { 1e-5 } else { 0.01 };
            for (part, (got, want)) in ["result", "values", "dense"].iter().zip(got.iter().zip(&want)) {
                assert_eq!(got.len(), want.len(), "{name}: {part}");
                for (k, (&x, &(y, size))) in got.iter().zip(want).enumerate() {
                    let x = f64::from(x);
                    let close = (x - y).abs() <= step * size || (x.is_nan() && y.is_nan());
                    assert!(close, "{name}, greatest {greatest}, {part} {k}: got {x}, want {y}");
                }
            }
            let again = self.got(greatest, &device);
            let bits = |lists: &[Vec<f32>; 3]| -> Vec<u32> { lists.iter().flatten().map(|x| x.to_bits()).collect() };
            assert!(bits(&again) == bits(&got), "{name}: two runs have the same bits");
        }
        // Whatever the device.
        #[cfg(any(feature = "wgpu", feature = "cuda"))]
        for method in ["spmm_extremum", "extremum_rows_backward", "extremum_cols_backward"] {
            assert!(!sparse_tensor::host_fallbacks().contains(&method), "{method} is native");
        }
    }
}

fn grad(k: usize) -> f32 {
    (k % 3 + 1) as f32
}

#[test]
fn short_rows_of_any_width() {
    for (seed, features) in [1, 2, 3, 4, 31, 64, 130].into_iter().enumerate() {
        let lens: Vec<usize> = (0..97).map(|r| (r * 5 + seed) % 11).collect();
        Case::new(seed as u64, &lens, 23, features).check(&format!("{features} features"));
    }
}

#[test]
fn a_long_row_among_short_ones() {
    let lens: Vec<usize> = (0..120).map(|r| if r == 70 { 1500 } else { r % 4 }).collect();
    for features in [3, 16] {
        Case::new(7, &lens, 2000, features).check("a long row");
    }
}

#[test]
fn a_long_column() {
    // Two columns: each is read by every row.
    Case::new(8, &[2; 900], 2, 8).check("long columns");
}

#[test]
fn most_rows_are_long() {
    let lens: Vec<usize> = (0..6).map(|r| if r == 2 { 0 } else { 900 + r }).collect();
    Case::new(9, &lens, 1200, 64).check("long rows");
}

/// Of sums and extremes, in memory that held something else before.
#[test]
fn an_empty_row_among_long_ones_is_zero() {
    let device = device::named(&device::name());
    let ints = |list: Vec<i32>| {
        let count = list.len();
        Tensor::<1, Int>::from_data(TensorData::new(list, [count]), &device)
    };
    let (ptr, idx) = (vec![0, 600, 600, 1200], (0..1200).map(|k| k % 600).collect());
    let a = CsrTensor::<2>::new(ints(ptr), ints(idx), Tensor::ones([1200], &device), [3, 600]).unwrap();
    let x = Tensor::<2>::ones([600, 64], &device);
    for _ in 0..20 {
        drop(Tensor::<2>::ones([3, 64], &device).add_scalar(1.0).into_data());
        let sums = a.matmul(x.clone()).into_data().iter::<f32>().collect::<Vec<_>>();
        let most = a.matmul_reduce(x.clone(), Reduce::Amax).into_data().iter::<f32>().collect::<Vec<_>>();
        for (row, (sum, greatest)) in [(600.0, 1.0), (0.0, 0.0), (600.0, 1.0)].into_iter().enumerate() {
            assert!(sums[row * 64..][..64].iter().all(|&x| x == sum), "sums of row {row}");
            assert!(most[row * 64..][..64].iter().all(|&x| x == greatest), "the largest of row {row}");
        }
    }
}

#[test]
fn sixteen_bits() {
    if !["flex", "cuda"].contains(&device::name().as_str()) {
        // Not captured, unlike what a passing test prints.
        let _ = writeln!(std::io::stderr(), "skipped: 16-bit extremes are not tested on {}", device::name());
        return;
    }
    let lens: Vec<usize> = (0..60).map(|r| (r * 5) % 14).collect();
    let case = || Case::new(10, &lens, 20, 9);
    case().of(FloatDType::F16, |x| f16::from_f32(x).to_f32()).check("f16");
    case().of(FloatDType::BF16, |x| bf16::from_f32(x).to_f32()).check("bf16");
}

#[test]
fn integers_wrap_before_they_are_compared() {
    let device = device::named(&device::name());
    let ints = |list: &[i32]| Tensor::<1, Int>::from_data(TensorData::new(list.to_vec(), [list.len()]), &device);
    let of = |list: &[i32]| ints(list).cast(DType::I32);
    let values = of(&[1 << 30, 3, -5, i32::MIN, 7]);
    let a = CsrTensor::<2, Int>::new(ints(&[0, 3, 3, 5]), ints(&[0, 1, 2, 0, 2]), values, [3, 3]).unwrap();
    let x = of(&[2, 1, 3, -1, 4, 1]).reshape([3, 2]);
    let list = |reduce| a.matmul_reduce(x.clone(), reduce).into_data().iter::<i32>().collect::<Vec<_>>();
    let wrapped = (1i32 << 30).wrapping_mul(2);
    assert_eq!(list(Reduce::Amax), [9, 1 << 30, 0, 0, 28, 7]);
    assert_eq!(list(Reduce::Amin), [wrapped, -5, 0, 0, 0, i32::MIN]);
}
