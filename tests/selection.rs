//! Shape and selection against dense Burn and plain host code, on both CPU backends.
#![allow(deprecated)] // NdArray is, and is tested all the same.

#[path = "common/draw.rs"]
mod draw;

use burn::tensor::{Bool, DType, Device, Int, Tensor, TensorData};
use draw::{Plain, plain, unravel, value};
use proptest::prelude::*;
use proptest::test_runner::Config;
use sparse_tensor::pattern::{CooPattern, CsrPattern, Pattern};
use sparse_tensor::{CooTensor, CsrTensor, Fill, Kind, SparseTensor};

fn config() -> Config {
    Config { source_file: Some(file!()), ..Config::default() }
}

fn device(pick: bool) -> Device {
    if pick { Device::flex() } else { Device::ndarray() }
}

/// A dense array of the host, and the operations in their plainest form.
#[derive(Clone, Debug, PartialEq)]
struct Host {
    shape: Vec<usize>,
    values: Vec<f64>,
}

impl Host {
    fn of<P: Pattern, const D: usize>(tensor: &SparseTensor<P, D>) -> Self {
        Self { shape: tensor.dims().to_vec(), values: tensor.to_dense().into_data().iter::<f64>().collect() }
    }

    /// The array whose element at `at` is that of `self` at `from(at)`.
    fn read(&self, shape: &[usize], from: impl Fn(&[usize]) -> Vec<usize>) -> Self {
        let total: usize = shape.iter().product();
        let values = (0..total).map(|flat| {
            let at = from(&unravel(flat, shape));
            self.values[at.iter().zip(&self.shape).fold(0, |flat, (&index, &size)| flat * size + index)]
        });
        Self { shape: shape.to_vec(), values: values.collect() }
    }

    /// The positions `index` along an axis.
    fn take(&self, axis: usize, index: &[usize]) -> Self {
        let mut shape = self.shape.clone();
        shape[axis] = index.len();
        self.read(&shape, |at| {
            let mut at = at.to_vec();
            at[axis] = index[at[axis]];
            at
        })
    }

    fn reshaped(&self, shape: &[usize]) -> Self {
        Self { shape: shape.to_vec(), values: self.values.clone() }
    }
}

/// The dense equivalent is the expected one, and what is coalesced is sorted and unique.
fn same<P: Pattern, const D: usize>(got: &SparseTensor<P, D>, want: &Host) -> Result<(), TestCaseError> {
    let found = Host::of(got);
    prop_assert_eq!(&found.shape, &want.shape);
    for (k, (a, b)) in found.values.iter().zip(&want.values).enumerate() {
        prop_assert!((a - b).abs() < 1e-9, "element {}: {} and {}", k, a, b);
    }
    let at = got.pattern().coordinates().clone();
    let dims = got.sparse_dims();
    prop_assert_eq!(at.dims(), [dims, got.nnz()]);
    let at: Vec<i64> = at.into_data().convert::<i64>().iter().collect();
    let at: Vec<Vec<i64>> = (0..got.nnz()).map(|k| (0..dims).map(|dim| at[dim * got.nnz() + k]).collect()).collect();
    if got.is_coalesced() {
        prop_assert!(at.windows(2).all(|pair| pair[0] < pair[1]), "{:?}", at);
    }
    for at in at {
        prop_assert!(at.iter().zip(got.dims()).all(|(&index, size)| (0..size as i64).contains(&index)));
    }
    Ok(())
}

/// A layout with its way from coordinates: one test body serves both.
trait Layout: Pattern {
    fn make<const D: usize, K: Kind>(coo: CooTensor<D, K>) -> SparseTensor<Self, D, K>;
}
impl Layout for CooPattern {
    fn make<const D: usize, K: Kind>(coo: CooTensor<D, K>) -> CooTensor<D, K> {
        coo
    }
}
impl Layout for CsrPattern {
    fn make<const D: usize, K: Kind>(coo: CooTensor<D, K>) -> CsrTensor<D, K> {
        coo.to_csr()
    }
}

fn cube() -> impl Strategy<Value = Plain> {
    (0usize..4, 0usize..4, 0usize..4).prop_flat_map(|(a, b, c)| plain(vec![a, b, c], true))
}

fn index(values: &[i64], device: &Device) -> Tensor<1, Int> {
    Tensor::from_data(TensorData::new(values.to_vec(), [values.len()]), (device, DType::I64))
}

/// Every operation that keeps the rank, and those to rank 2.
fn everything<P: Layout>(a: &SparseTensor<P, 3>, numbers: &[usize], device: &Device) -> Result<(), TestCaseError> {
    let (dense, dims) = (Host::of(a), a.dims());
    for axis in 0..3 {
        let size = dims[axis];
        let number = |k: usize, bound: usize| numbers[(k + axis) % numbers.len()] % (bound + 1);
        // Parts.
        let start = number(0, size);
        let length = number(1, size - start);
        let range: Vec<usize> = (start..start + length).collect();
        same(&a.narrow(axis as isize, start, length), &dense.take(axis, &range))?;
        let step = number(2, 3) + 1;
        let forth: Vec<usize> = range.iter().copied().step_by(step).collect();
        let back: Vec<usize> = range.iter().copied().rev().step_by(step).collect();
        let stepped = |step| a.slice_step(axis as isize, start..start + length, step);
        same(&stepped(step as isize), &dense.take(axis, &forth))?;
        same(&stepped(-(step as isize)), &dense.take(axis, &back))?;
        same(&stepped(isize::MIN), &dense.take(axis, &range.last().map_or(vec![], |&last| vec![last])))?;
        // Parts of one size.
        let part = number(3, 3) + 1;
        let parts = a.split(part, axis as isize - 3);
        prop_assert_eq!(parts.len(), size.div_ceil(part).max(1));
        for (k, got) in parts.iter().enumerate() {
            let range: Vec<usize> = (k * part..(k * part + part).min(size)).collect();
            same(got, &dense.take(axis, &range))?;
        }
        let chunks = a.chunk(part, axis as isize);
        prop_assert!(chunks.len() <= part);
        prop_assert_eq!(chunks.iter().map(|chunk| chunk.dims()[axis]).sum::<usize>(), size);
        // By an index, from either end.
        let wanted: Vec<usize> = if size == 0 { vec![] } else { numbers.iter().map(|number| number % size).collect() };
        let signed = wanted.iter().enumerate().map(|(k, &at)| at as i64 - if k % 2 == 0 { 0 } else { size as i64 });
        let got = a.index_select(axis as isize, index(&signed.collect::<Vec<_>>(), device));
        same(&got, &dense.take(axis, &wanted))?;
        same(&a.index_select(axis as isize, index(&[], device)), &dense.take(axis, &[]))?;
        // Reversed and repeated.
        let backwards: Vec<usize> = (0..size).rev().collect();
        same(&a.flip(&[axis as isize]), &dense.take(axis, &backwards))?;
        let times = number(4, 3);
        let copies: Vec<usize> = (0..times * size).map(|at| at % size).collect();
        same(&a.repeat_dim(axis as isize, times), &dense.take(axis, &copies))?;
        // Without the axis.
        if size > 0 {
            let mut rest = dims.to_vec();
            rest.remove(axis);
            let at = number(5, size - 1);
            let one = dense.take(axis, &[at]);
            same(&a.select::<2>(axis as isize, at as isize - size as isize), &one.reshaped(&rest))?;
            let thin = a.narrow(axis as isize, at, 1);
            same(&thin.squeeze_dim::<2>(axis as isize), &one.reshaped(&rest))?;
            let mut wide = dims;
            wide[axis] = times;
            same(&thin.expand(wide), &one.take(axis, &vec![0; times]))?;
        }
    }
    let [x, y, z] = dims;
    let all = |at: &[usize]| vec![x - 1 - at[0], y - 1 - at[1], z - 1 - at[2]];
    same(&a.flip(&[2, 0, -2]), &dense.read(&dims, all))?;
    same(&a.reshape([z, x, y]), &dense.reshaped(&[z, x, y]))?;
    same(&a.reshape([x * y, z]), &dense.reshaped(&[x * y, z]))?;
    same(&a.reshape([x, y * z]), &dense.reshaped(&[x, y * z]))?;
    same(&a.flatten::<2>(0, 1).unsqueeze_dim::<3>(1), &dense.reshaped(&[x * y, 1, z]))?;
    same(&a.flatten::<2>(-2, -1).unsqueeze_dim::<3>(-1), &dense.reshaped(&[x, y * z, 1]))?;
    let cut = |k: usize, size: usize| numbers[k] % (size + 1)..size;
    let ranges = [cut(0, x), cut(1, y), cut(2, z)];
    let shape: Vec<usize> = ranges.iter().map(|range| range.len()).collect();
    let shifted = |at: &[usize]| at.iter().zip(&ranges).map(|(at, range)| at + range.start).collect();
    same(&a.slice(ranges.clone()), &dense.read(&shape, shifted))?;
    for (flat, want) in dense.values.iter().enumerate().take(6) {
        let at: [usize; 3] = unravel(flat, &dims).try_into().expect("three");
        prop_assert!((a.get(at).into_data().iter::<f64>().next().unwrap() - want).abs() < 1e-9);
    }
    Ok(())
}

fn masked<P: Layout>(a: &CooTensor<2>, mask: &CooTensor<2, Bool>, want: &[f64]) -> Result<(), TestCaseError> {
    let got = P::make(a.clone()).masked_select(&P::make(mask.clone()));
    let got: Vec<f64> = got.into_data().iter().collect();
    prop_assert_eq!(got.len(), want.len());
    prop_assert!(got.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-9), "{:?} and {:?}", got, want);
    Ok(())
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_axis(
        a in cube(), fill in prop_oneof![Just(None), value().prop_map(Some)], csr: bool, pick: bool,
        numbers in proptest::collection::vec(0usize..12, 6),
    ) {
        let device = device(pick);
        let coo = a.coo::<3>(a.leaf(&device)).with_fill(fill.map_or(Fill::Zero, Fill::scalar));
        if csr { everything(&CsrPattern::make(coo), &numbers, &device)? } else { everything(&coo, &numbers, &device)? }
    }

    /// Blocks of two dense dims, with a block of fill.
    #[test]
    fn hybrid(
        (at, values) in proptest::collection::vec(0usize..3, 0..5).prop_flat_map(|at| {
            let count = at.len();
            (Just(at), proptest::collection::vec(value(), count * 6))
        }),
        fill in proptest::collection::vec(value(), 6), sorted: bool, pick: bool,
        numbers in proptest::collection::vec(0usize..12, 6),
    ) {
        let device = device(pick);
        let at: Vec<i64> = at.iter().map(|&at| at as i64).collect();
        let indices = Tensor::<2, Int>::from_data(TensorData::new(at.clone(), [1, at.len()]), (&device, DType::I64));
        let values = Tensor::<3>::from_data(TensorData::new(values, [at.len(), 2, 3]), (&device, DType::F64));
        let fill = Tensor::<2>::from_data(TensorData::new(fill, [2, 3]), (&device, DType::F64));
        let a = CooTensor::<3>::new(indices, values, [3, 2, 3]).unwrap().with_fill(Fill::tensor(fill));
        let a = if sorted { a.coalesce() } else { a };
        let dense = Host::of(&a);
        for axis in 0..3 {
            let size = a.dims()[axis];
            let start = numbers[0] % (size + 1);
            let range: Vec<usize> = (start..size).collect();
            same(&a.narrow(axis as isize, start, size - start), &dense.take(axis, &range))?;
            let back: Vec<usize> = range.iter().copied().rev().step_by(2).collect();
            same(&a.slice_step(axis as isize, start..size, -2), &dense.take(axis, &back))?;
            let wanted: Vec<usize> = numbers.iter().map(|number| number % size).collect();
            let signed: Vec<i64> = wanted.iter().map(|&at| at as i64 - size as i64).collect();
            same(&a.index_select(axis as isize, index(&signed, &device)), &dense.take(axis, &wanted))?;
            same(&a.index_select(axis as isize, index(&[], &device)), &dense.take(axis, &[]))?;
            let backwards: Vec<usize> = (0..size).rev().collect();
            same(&a.flip(&[axis as isize]), &dense.take(axis, &backwards))?;
            let copies: Vec<usize> = (0..size * 3).map(|at| at % size).collect();
            same(&a.repeat_dim(axis as isize, 3), &dense.take(axis, &copies))?;
            same(&a.repeat_dim(axis as isize, 0), &dense.take(axis, &[]))?;
            let mut rest = a.dims().to_vec();
            rest.remove(axis);
            let one = dense.take(axis, &[numbers[1] % size]).reshaped(&rest);
            let got: CooTensor<2> = a.select(axis as isize, (numbers[1] % size) as isize);
            // Where the only sparse dim is gone one block is left, with no coordinates.
            if axis > 0 { same(&got, &one)? } else { prop_assert_eq!(got.sparse_dims(), 0) }
            for (k, part) in a.split(2, axis as isize).iter().enumerate() {
                let range: Vec<usize> = (k * 2..(k * 2 + 2).min(size)).collect();
                same(part, &dense.take(axis, &range))?;
            }
        }
        same(&a.reshape([3, 6]), &dense.reshaped(&[3, 6]))?;
        same(&a.reshape([3, 1, 3, 2]), &dense.reshaped(&[3, 1, 3, 2]))?;
        same(&a.unsqueeze_dim::<4>(1), &dense.reshaped(&[3, 1, 2, 3]))?;
        prop_assert_eq!(a.unsqueeze_dim::<4>(1).sparse_dims(), 2);
        same(&a.unsqueeze_dim::<4>(-1).squeeze_dim::<3>(3), &dense)?;
        for (flat, want) in dense.values.iter().enumerate() {
            let at: [usize; 3] = unravel(flat, &[3, 2, 3]).try_into().expect("three");
            prop_assert!((a.get(at).into_data().iter::<f64>().next().unwrap() - want).abs() < 1e-9);
        }
        prop_assert_eq!(a.try_reshape([2, 9]).unwrap_err().kind(), "shape_mismatch");
        prop_assert_eq!(a.try_flatten::<2>(0, 1).unwrap_err().kind(), "shape_mismatch");
    }

    #[test]
    fn by_a_mask(a in plain(vec![3, 4], true), mask in plain(vec![3, 4], true), fill in value(), pick: bool) {
        let device = device(pick);
        let coo = a.coo::<2>(a.leaf(&device)).with_fill(Fill::scalar(fill));
        let hits: Tensor<1, Bool> = mask.leaf(&device).greater_elem(0.0);
        let hits = CooTensor::<2, Bool>::new(mask.indices(&device), hits, [3, 4]).unwrap();
        let chosen: Vec<bool> = hits.to_dense().into_data().iter::<bool>().collect();
        let dense = a.dense(fill);
        let want: Vec<f64> = dense.iter().zip(&chosen).filter(|(_, hit)| **hit).map(|(value, _)| *value).collect();
        masked::<CooPattern>(&coo, &hits, &want)?;
        masked::<CsrPattern>(&coo, &hits, &want)?;
        // Undefined: an element that is not stored cannot be chosen.
        let stored = |flat: usize| a.coordinates.iter().any(|at| at[0] * 4 + at[1] == flat);
        let missing = chosen.iter().enumerate().any(|(flat, hit)| *hit && !stored(flat));
        match coo.with_fill(Fill::Undefined).try_masked_select(&hits) {
            Ok(got) => prop_assert!(!missing && got.dims()[0] == want.len()),
            Err(trouble) => prop_assert!(missing && trouble.kind() == "undefined_fill"),
        }
    }

    /// Int and Bool move as floats do.
    #[test]
    fn other_kinds(
        a in plain(vec![3, 4], false), csr: bool, pick: bool, numbers in proptest::collection::vec(-3i64..3, 4),
    ) {
        let device = device(pick);
        let ints: Vec<i64> = a.values.iter().map(|&value| value as i64).collect();
        let values = Tensor::<1, Int>::from_data(TensorData::new(ints, [a.values.len()]), (&device, DType::I64));
        let int = CooTensor::<2, Int>::new(a.indices(&device), values.clone(), [3, 4]).unwrap();
        let bool = CooTensor::<2, Bool>::new(a.indices(&device), values.greater_elem(0), [3, 4]).unwrap();
        let at: Vec<i64> = numbers.iter().map(|&at| (at + 3) % 3).collect();
        fn chain<P: Layout, K: Kind>(a: &CooTensor<2, K>, at: &[i64], device: &Device) -> Tensor<2, K> {
            let a = P::make(a.clone()).index_select(0, index(at, device)).flip(&[1]).narrow(1, 1, 3);
            a.reshape([3, 4]).repeat_dim(1, 2).to_dense()
        }
        fn dense<K: Kind>(a: &CooTensor<2, K>, at: &[i64], device: &Device) -> Tensor<2, K> {
            let a = a.to_dense().select(0, index(at, device)).flip([1]).narrow(1, 1, 3).reshape([3, 4]);
            Tensor::cat(vec![a.clone(), a], 1)
        }
        let (want_int, want_bool) = (dense(&int, &at, &device), dense(&bool, &at, &device));
        let (got_int, got_bool) = if csr {
            (chain::<CsrPattern, Int>(&int, &numbers, &device), chain::<CsrPattern, Bool>(&bool, &numbers, &device))
        } else {
            (chain::<CooPattern, Int>(&int, &numbers, &device), chain::<CooPattern, Bool>(&bool, &numbers, &device))
        };
        prop_assert_eq!(got_int.into_data(), want_int.into_data());
        // Flex gives some results of Bool the dtype u8.
        prop_assert_eq!(got_bool.int().into_data(), want_bool.int().into_data());
    }
}

/// Dims that no table would fit.
#[test]
fn far_beyond_memory() {
    let device = Device::flex();
    let big = 1usize << 40;
    let at = TensorData::new(vec![7i64, 7, 1 << 39, 0, (1 << 40) - 1, 5], [2, 3]);
    let at = Tensor::<2, Int>::from_data(at, (&device, DType::I64));
    let a = CooTensor::<2>::new(at, Tensor::<1>::from_floats([1.0, 2.0, 3.0], &device), [big, big]).unwrap();
    let list = |tensor: &CooTensor<2>| -> (Vec<i64>, Vec<f32>) {
        let at = tensor.indices().into_data().convert::<i64>().iter().collect();
        (at, tensor.values::<1>().into_data().iter().collect())
    };
    let (half, last) = (1i64 << 39, (1i64 << 40) - 1);
    let rows = a.index_select(0, index(&[half, 3, 7, half - big as i64], &device));
    assert_eq!(rows.dims(), [4, big]);
    assert_eq!(list(&rows), (vec![0, 2, 2, 3, 5, 0, last, 5], vec![3.0, 1.0, 2.0, 3.0]));
    let cols = a.index_select(1, index(&[5, -1, 5], &device));
    assert_eq!(list(&cols), (vec![7, half, half, 1, 0, 2], vec![2.0, 3.0, 3.0]));
    assert_eq!(list(&a.flip(&[1])).0, [7, 7, half, 0, last, last - 5]);
    assert_eq!(list(&a.narrow(0, 8, big - 8)).0, [half - 8, 5]);
    assert_eq!(a.reshape([big, 4, big / 4]).coalesce().nnz(), 3);
    assert_eq!(a.try_reshape([big / 2, big * 2]).unwrap_err().kind(), "overflow");
    assert_eq!(a.try_flatten::<1>(0, 1).unwrap_err().kind(), "overflow");
    assert_eq!(a.try_repeat_dim(0, big).unwrap_err().kind(), "overflow");
    assert_eq!(a.get([7, big - 1]).into_data().iter::<f32>().collect::<Vec<_>>(), [2.0]);
    assert_eq!(a.unsqueeze_dim::<3>(2).expand([big, big, 2]).nnz(), 6);
}

/// Bad input is an error with both values.
#[test]
fn errors() {
    let device = Device::flex();
    let a = CooTensor::<2>::from_dense(Tensor::<2>::ones([2, 3], &device), 0);
    let csr = a.to_csr();
    let kind = |trouble: Option<sparse_tensor::SparseError>| trouble.map_or("none", |trouble| trouble.kind());
    assert_eq!(kind(a.try_reshape([5]).err()), "shape_mismatch");
    assert_eq!(
        a.try_reshape([7, 1]).unwrap_err().to_string(),
        "reshape: the new shape must have as many elements, got [7, 1] and [2, 3]"
    );
    assert_eq!(kind(csr.try_reshape([6]).err()), "shape_mismatch");
    assert_eq!(kind(csr.try_select::<1>(0, 0).err()), "shape_mismatch");
    assert_eq!(kind(a.try_select::<2>(0, 0).err()), "shape_mismatch");
    assert_eq!(kind(a.try_select::<1>(0, 2).err()), "index_out_of_range");
    assert_eq!(kind(a.try_select::<1>(0, -3).err()), "index_out_of_range");
    assert_eq!(kind(a.try_squeeze_dim::<1>(0).err()), "shape_mismatch");
    assert_eq!(kind(a.try_unsqueeze_dim::<3>(3).err()), "axis_out_of_range");
    assert_eq!(kind(a.try_flatten::<1>(1, 0).err()), "shape_mismatch");
    assert_eq!(kind(a.try_expand([2, 4]).err()), "shape_mismatch");
    assert_eq!(kind(a.try_flip(&[0, -2]).err()), "shape_mismatch");
    assert_eq!(kind(a.try_flip(&[2]).err()), "axis_out_of_range");
    assert_eq!(kind(a.try_narrow(1, 2, 2).err()), "index_out_of_range");
    assert_eq!(kind(a.try_narrow(1, 3, 0).err()), "none");
    assert_eq!(kind(a.try_narrow(1, usize::MAX, 2).err()), "index_out_of_range");
    assert_eq!(kind(a.try_slice([0..2, 1..4]).err()), "index_out_of_range");
    #[allow(clippy::reversed_empty_ranges)]
    let reversed = 2..1;
    assert_eq!(kind(a.try_slice([0..2, reversed]).err()), "shape_mismatch");
    assert_eq!(kind(a.try_slice_step(0, 0..2, 0).err()), "invalid");
    assert_eq!(kind(a.try_split(0, 0).err()), "invalid");
    assert_eq!(kind(a.try_chunk(0, 0).err()), "invalid");
    assert_eq!(kind(a.try_index_select(1, index(&[0, 3], &device)).err()), "index_out_of_range");
    assert_eq!(kind(a.try_index_select(-3, index(&[0], &device)).err()), "axis_out_of_range");
    assert_eq!(
        a.try_get([0, 3]).unwrap_err().to_string(),
        "get: index along axis 1 must be in [0, 3), got 3 at position 1"
    );
    let none = CooTensor::<2>::empty([2, 3], &device, DType::F32).with_fill(Fill::Undefined);
    assert_eq!(kind(none.try_get([0, 0]).err()), "undefined_fill");
    let mask = CooTensor::<2, Bool>::empty([2, 3], &device, Tensor::<1, Bool>::full([1], true, &device).dtype());
    assert_eq!(a.masked_select(&mask).dims(), [0]);
    assert_eq!(kind(a.try_masked_select(&mask.with_fill(Fill::scalar(true))).err()), "would_densify");
    assert!(none.index_select(0, index(&[1], &device)).flip(&[0]).repeat_dim(1, 2).fill().is_undefined());
}

/// Shapes whose sizes alone pass an integer: errors or empty results, not wrapped products.
#[test]
fn sizes_past_64_bits_are_errors() {
    let device = Device::flex();
    let (long, half) = (1usize << 62, 1usize << 61);
    let a = CooTensor::<3>::zeros([long; 3], &device).unwrap();
    assert_eq!(a.try_reshape::<3>([long, long, 1 << 60]).unwrap_err().kind(), "shape_mismatch");
    assert_eq!(a.reshape::<3>([long; 3]).dims(), [long; 3]);
    assert_eq!(a.reshape::<4>([1 << 31, 1 << 31, long, long]).nnz(), 0);

    let wide = CsrTensor::<3>::zeros([2, 1, half], &device).unwrap();
    assert_eq!(sparse_tensor::ops::try_concat(&[wide.clone(), wide.clone()], 2).unwrap_err().kind(), "overflow");
    assert_eq!(sparse_tensor::ops::concat(&[wide.clone(), wide], 1).dims(), [2, 2, half]);

    let empty = CooTensor::<3>::zeros([1 << 40, 1 << 40, 0], &device).unwrap();
    assert_eq!(empty.try_to_dense().unwrap_err().kind(), "overflow");
    let pattern = CooPattern::new(Tensor::empty([1, 0], (&device, DType::I64)), &[1 << 40]).unwrap();
    let blocks = CooTensor::<2>::from_pattern(pattern, Tensor::<2>::empty([0, 0], &device)).unwrap();
    assert_eq!(blocks.to_dense().dims(), [1 << 40, 0]);
    assert_eq!(CooTensor::<2>::zeros([0, 1 << 40], &device).unwrap().to_dense().dims(), [0, 1 << 40]);
}

#[test]
fn conversions_have_errors() {
    let device = Device::flex();
    let line = CooTensor::<1>::zeros([3], &device).unwrap();
    assert_eq!(line.try_to_csr().unwrap_err().kind(), "shape_mismatch");
    let hybrid = CooTensor::<3>::from_dense(Tensor::ones([2, 2, 2], &device), 1);
    assert_eq!(hybrid.try_to_csr().unwrap_err().kind(), "shape_mismatch");
    let large = CooTensor::<2>::zeros([1 << 40, 1 << 40], &device).unwrap();
    assert_eq!(large.try_to_csr().unwrap_err().kind(), "would_densify");
    assert_eq!(large.try_to_dense_or(1.0).unwrap_err().kind(), "would_densify");
}

/// A u64 past i64 is out of range, not the last element.
#[test]
fn unsigned_indices_do_not_wrap() {
    let device = Device::flex();
    let index = |last: u64| {
        let data = TensorData::new(vec![0u64, last], [2]);
        Tensor::<1, Int>::from_data(data, (&device, DType::U64))
    };
    let x = Tensor::<1>::from_floats([1.0, 2.0, 3.0], &device);
    let picked = sparse_tensor::ops::gather(x.clone(), index(2), 0);
    assert_eq!(picked.into_data().iter::<f32>().collect::<Vec<_>>(), [1.0, 3.0]);
    assert_eq!(sparse_tensor::ops::try_gather(x, index(u64::MAX), 0).unwrap_err().kind(), "index_out_of_range");
}
