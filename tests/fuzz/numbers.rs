//! Numbers as arguments: of constructors, and of operations whose result is as large as a number says.

use super::{converting, device};
use burn::tensor::{Bool, DType, Float, Int, Tensor, TensorCreationOptions, TensorData};
use sparse_tensor::data::{LabelledNodes, Reordering};
use sparse_tensor::nn::{Bags, NodePairs, RowSparseGrad};
use sparse_tensor::ops::IndexPlan;
use sparse_tensor::pattern::{CooPattern, CsrPattern, Pattern};
use sparse_tensor::{CooTensor, CsrTensor, Kind, Limits, Result, SparseTensor, dense_limit};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

/// A small number. From 100 on a byte is a power of two that is too large for a table, at the ends of its range it is a
/// huge number.
pub fn number(byte: u8) -> i64 {
    match byte as i8 {
        i8::MAX => i64::MAX,
        i8::MIN => i64::MIN,
        large @ 100.. => 1 << (large - 64),
        small => i64::from(small),
    }
}

fn ints<const D: usize>(list: Vec<i64>, shape: [usize; D], dtype: DType) -> Tensor<D, Int> {
    if dtype == DType::I32 {
        let narrow: Vec<i32> =
            list.into_iter().map(|number| number.clamp(i32::MIN.into(), i32::MAX.into()) as i32).collect();
        return Tensor::from_data(TensorData::new(narrow, shape), (&device(), dtype));
    }
    Tensor::from_data(TensorData::new(list, shape), (&device(), dtype))
}

/// A negative number is a size that nothing has.
fn sizes(list: &[i64]) -> Vec<usize> {
    list.iter().map(|&number| number as usize).collect()
}

/// The first two bytes are sizes. The third is one too, says where the other ones are cut into two lists, and chooses
/// the dtypes of indices and values.
pub fn constructors(bytes: &[u8]) -> bool {
    let [rows, columns, third, rest @ ..] = bytes else { return false };
    let numbers: Vec<i64> = rest.iter().map(|&byte| number(byte)).collect();
    let cut = (*third as i8).unsigned_abs() as usize % (numbers.len() + 1);
    let sizes = [rows, columns, third].map(|&byte| number(byte) as usize);
    let given = |index, value| Given { sizes, first: &numbers[..cut], second: &numbers[cut..], index, value };
    let made = match third % 6 {
        0 => given(DType::I32, Some(DType::F64)).tensors::<Float>(),
        1 => given(DType::I32, Some(DType::I32)).tensors::<Int>(),
        2 => given(DType::I64, Some(DType::I64)).tensors::<Int>(),
        3 => given(DType::I64, Some(DType::F32)).tensors::<Float>(),
        4 => given(DType::I64, None).tensors::<Bool>(),
        _ => given(DType::I32, None).tensors::<Float>(),
    };
    given(DType::I64, None).lists();
    made
}

struct Given<'a> {
    sizes: [usize; 3],
    first: &'a [i64],
    second: &'a [i64],
    /// Of indices.
    index: DType,
    /// Of values. The default of the device and the kind is none.
    value: Option<DType>,
}

impl Given<'_> {
    fn options(&self) -> TensorCreationOptions {
        match self.value {
            Some(dtype) => (&device(), dtype).into(),
            None => (&device()).into(),
        }
    }

    fn ints(&self, list: &[i64]) -> Tensor<1, Int> {
        ints(list.to_vec(), [list.len()], self.index)
    }

    fn ones<const R: usize, K: Kind>(&self, shape: [usize; R]) -> Tensor<R, K> {
        Tensor::ones(shape, self.options())
    }

    /// Whether both layouts could be made.
    fn tensors<K: Kind>(&self) -> bool {
        let found = [
            self.coo::<1, 1, K>(),
            self.coo::<1, 2, K>(),
            self.coo::<2, 1, K>(),
            self.coo::<2, 2, K>(),
            self.coo::<2, 3, K>(),
            self.coo::<3, 1, K>(),
            self.coo::<3, 2, K>(),
            self.coo::<4, 1, K>(),
            self.coo::<4, 3, K>(),
        ];
        self.lines::<K>();
        self.dense(self.ones::<2, K>([self.first.len() % 5, self.second.len() % 5]));
        self.csr::<K>() && found.contains(&true)
    }

    /// Coordinates of rank `D`, of which the values have `R - 1` dense dims.
    fn coo<const D: usize, const R: usize, K: Kind>(&self) -> bool {
        let sparse = D + 1 - R;
        let all = [self.first, self.second].concat();
        let count = all.len() / sparse.max(1);
        let indices = || ints(all[..sparse * count].to_vec(), [sparse, count], self.index);
        let mut shape: [usize; D] = std::array::from_fn(|dim| self.sizes[dim % 3]);
        // Values of any size cannot be made.
        let mut dims = [count; R];
        dims[1..].iter_mut().zip(self.sizes).for_each(|(size, given)| *size = given % 3);
        if !count.is_multiple_of(4) {
            shape[sparse..].copy_from_slice(&dims[1..]);
        }
        let values = || self.ones::<R, K>(dims);
        let pattern = CooPattern::new(indices(), &shape[..sparse]);
        let made = [
            CooTensor::<D, K>::new(indices(), values(), shape),
            CooTensor::<D, K>::new_inferred(indices(), values()),
            pattern.and_then(|pattern| CooTensor::<D, K>::from_pattern(pattern, values())),
        ];
        _ = CooTensor::<D, K>::try_zeros(shape, self.options()).map(|a| a.coalesce());
        made.map(|made: Result<CooTensor<D, K>>| made.map(|a| a.coalesce()).is_ok()).contains(&true)
    }

    fn csr<K: Kind>(&self) -> bool {
        let ([rows, columns, batch], count) = (self.sizes, self.second.len());
        let arrays = || (self.ints(self.first), self.ints(self.second));
        let ones = || self.ones::<1, K>([count]);
        let (ptr, idx) = arrays();
        let mut made = vec![CsrTensor::<2, K>::new(ptr, idx, ones(), [rows, columns])];
        let (ptr, idx) = arrays();
        made.push(CsrTensor::new_inferred(ptr, idx, ones()));
        let (ptr, idx) = arrays();
        let pattern = CsrPattern::new(ptr, idx, &[rows, columns]);
        let hybrid = pattern.and_then(|pattern| {
            made.push(CsrTensor::from_pattern(pattern.clone(), ones()));
            CsrTensor::<4, K>::from_pattern(pattern, self.ones::<3, K>([count, rows % 3, 2]))
        });
        let (ptr, idx) = arrays();
        let batched = CsrTensor::<3, K>::new(ptr, idx, ones(), [batch, rows, columns]);
        let found = [
            hybrid.map(|a| a.to_coo()).is_ok(),
            batched.map(|a| a.to_coo()).is_ok(),
            made.into_iter().flatten().map(|a| a.to_coo().nnz()).max().is_some(),
        ];
        // Here the pointers are made.
        converting(|| {
            let (ptr, idx) = arrays();
            _ = CsrTensor::from_csc_parts(ptr, idx, ones(), [rows, columns]).map(|a| a.to_coo());
            _ = CsrTensor::<2, K>::try_zeros([rows, columns], self.options()).map(|a| a.to_coo());
            _ = CsrTensor::<3, K>::try_zeros([batch, rows, columns], self.options()).map(|a| a.to_coo());
            _ = CsrTensor::<4, K>::try_zeros([batch, rows, columns, 1], self.options()).map(|a| a.to_coo());
        });
        found.contains(&true)
    }

    fn unchecked_coo<const D: usize>(&self) -> CooTensor<D> {
        let all = [self.first, self.second].concat();
        let count = all.len() / D;
        let indices = ints(all[..D * count].to_vec(), [D, count], self.index);
        let shape = std::array::from_fn(|dim| self.sizes[dim]);
        CooTensor::new_unchecked(indices, self.ones::<1, Float>([count]), shape, self.first.len().is_multiple_of(2))
    }

    fn unchecked_csr<const D: usize>(&self, shape: [usize; D]) -> CsrTensor<D> {
        let values = self.ones::<1, Float>([self.second.len()]);
        CsrTensor::new_unchecked(self.ints(self.first), self.ints(self.second), values, shape)
    }

    /// Triplets, edges and rows of the host.
    fn lines<K: Kind>(&self) {
        let pairs = self.first.len().min(self.second.len());
        let shape = [self.sizes[0], self.sizes[1]];
        let (from, to) = (sizes(&self.first[..pairs]), sizes(&self.second[..pairs]));
        let ones = vec![1i32; pairs];
        let edges: Vec<(usize, usize)> = from.iter().copied().zip(to.iter().copied()).collect();
        let rows: Vec<Vec<(usize, i32)>> = to.chunks(2).map(|row| row.iter().map(|&at| (at, 1)).collect()).collect();
        _ = CooTensor::<2, K>::from_triplets(&from, &to, &ones, shape, self.options()).map(|a| a.coalesce());
        _ = CooTensor::<2, K>::from_edges(&edges, self.ones([pairs]), shape).map(|a| a.coalesce());
        _ = CooTensor::<2, K>::from_edges(&edges, self.ones([pairs]), None).map(|a| a.coalesce());
        _ = CooTensor::<2, K>::from_rows(&rows, shape[1], self.options()).map(|a| a.coalesce());
        _ = CooTensor::<2, K>::from_rows(&rows, None, self.options()).map(|a| a.coalesce());
        converting(|| {
            _ = CsrTensor::<2, K>::from_triplets(&from, &to, &ones, shape, self.options()).map(|a| a.to_coo());
            _ = CsrTensor::<2, K>::from_edges(&edges, self.ones([pairs]), shape[0]).map(|a| a.to_coo());
            _ = CsrTensor::<2, K>::from_rows(&rows, shape[1], self.options()).map(|a| a.to_coo());
        });
    }

    fn dense<K: Kind>(&self, dense: Tensor<2, K>) {
        for dense_dims in 0..4 {
            _ = CooTensor::<2, K>::try_from_dense(dense.clone(), dense_dims).map(|a| a.coalesce());
        }
        _ = CsrTensor::<2, K>::try_from_dense(dense).map(|a| a.to_coo());
        _ = CooTensor::<2, K>::try_from_diagonal(self.ones([self.first.len()])).map(|a| a.coalesce());
        _ = CsrTensor::<2, K>::try_from_diagonal(self.ones([self.first.len()])).map(|a| a.to_coo());
    }

    /// What is made of lists of ids, and has no values.
    fn lists(&self) {
        let [size, other, _] = self.sizes;
        let (first, second) = (sizes(self.first), sizes(self.second));
        let pairs: Vec<(usize, usize)> = first.iter().copied().zip(second.iter().copied()).collect();
        let count = pairs.len();
        let both = [&self.first[..count], &self.second[..count]].concat();
        _ = IndexPlan::new(self.ints(self.first), size);
        _ = Bags::new(self.ints(self.first), self.ints(self.second), size);
        _ = NodePairs::new(&pairs, [size, other], &device());
        _ = NodePairs::from_indices(ints(both, [2, count], self.index), [size, other]);
        _ = LabelledNodes::new(&first, self.second, size, other, &device());
        // A label for each node.
        _ = LabelledNodes::new(&first[..count], &self.second[..count], size, other, &device());
        for order in [&first, &second] {
            let rows = Tensor::<2>::ones([order.len(), 2], &device());
            _ = Reordering::new(order.clone()).and_then(|order| order.try_rows(rows));
        }
        let grad = |list: &[i64]| RowSparseGrad::new(self.ints(list), Tensor::ones([list.len(), 2], &device()), size);
        if let (Ok(first), Ok(second)) = (grad(self.first), grad(self.second)) {
            _ = RowSparseGrad::try_sum(vec![first, second]);
        }
    }
}

/// Indices that nobody checks: later an operation may panic or give wrong numbers, no more. The first three bytes are
/// small sizes, and the fourth cuts the others into two lists.
pub fn unchecked(bytes: &[u8]) -> bool {
    let [rows, columns, third, cut, rest @ ..] = bytes else { return false };
    // None is huge: an array may be as long as a wrong pointer says.
    let numbers: Vec<i64> = rest.iter().map(|&byte| i64::from(byte as i8)).collect();
    let sizes = [rows, columns, third].map(|&byte| usize::from(byte % 16));
    let (first, second) = numbers.split_at(usize::from(*cut) % (numbers.len() + 1));
    let index = if third % 2 == 0 { DType::I32 } else { DType::I64 };
    let given = Given { sizes, first, second, index, value: None };
    // A table is as large as the sizes say.
    let mut made = false;
    converting(|| {
        let found = [
            used(given.unchecked_coo::<2>()),
            used(given.unchecked_csr([sizes[0], sizes[1]])),
            stands(|| given.unchecked_coo::<3>().to_csr().to_dense()),
            stands(|| given.unchecked_csr([sizes[2], sizes[0], sizes[1]]).to_coo().to_dense()),
        ];
        made = found.contains(&true);
    });
    made
}

/// Whether there was no panic.
fn stands<T>(work: impl FnOnce() -> T) -> bool {
    MAY_PANIC.store(true, Ordering::Relaxed);
    let found = catch_unwind(AssertUnwindSafe(|| drop(work())));
    MAY_PANIC.store(false, Ordering::Relaxed);
    found.is_ok()
}

static MAY_PANIC: AtomicBool = AtomicBool::new(false);

/// Whether a panic is no failure, of which nothing need be printed.
pub fn may_panic() -> bool {
    MAY_PANIC.load(Ordering::Relaxed)
}

/// Each operation by itself: the ones before it may panic.
fn used<P: Pattern>(a: SparseTensor<P, 2>) -> bool {
    let [rows, columns] = a.dims();
    let dense = |size| Tensor::<2>::ones([size, 2], &device());
    let stood = [
        stands(|| a.to_dense()),
        stands(|| a.coalesce()),
        stands(|| a.matmul(dense(columns))),
        stands(|| a.transpose().matmul(dense(rows))),
        stands(|| a.sum_dim(0)),
        stands(|| a.sum_dim(1)),
        stands(|| a.select(0, ints(vec![0], [1], DType::I64))),
        stands(|| a.diagonal()),
        stands(|| a.matmul(&a.transpose())),
    ];
    stood.contains(&true)
}

/// The most elements that an operation may make here, unless the limit of the process is exceeded too.
const COPIES: usize = 1 << 8;

/// Results as large as a number says. The first byte is a number of copies, or from 0 to 63 a power of two. The second
/// is a dim. The third cuts the others into the coordinates of two matrices `[8, 8]`.
pub fn grow(bytes: &[u8]) -> bool {
    let [times, dim, cut, rest @ ..] = bytes else { return false };
    let asked = if *times < 64 { 1 << times } else { number(*times) as usize };
    let (first, second) = rest.split_at(usize::from(*cut) % (rest.len() + 1));
    let coordinates = |list: &[u8]| {
        let count = list.len().min(16) / 2;
        let ids = list[..2 * count].iter().map(|byte| i64::from(byte % 8)).collect();
        (ints(ids, [2, count], DType::I64), count)
    };
    let matrix = |list: &[u8]| {
        let (indices, count) = coordinates(list);
        CooTensor::<2>::new(indices, Tensor::<1>::ones([count], &device()), [8, 8]).expect("coordinates below 8")
    };
    let (a, b) = (matrix(first), matrix(second));
    let (indices, count) = coordinates(first);
    let blocks = CooTensor::<3>::new(indices, Tensor::<2>::ones([count, 2], &device()), [8, 8, 2]);
    let blocks = blocks.expect("coordinates below 8");
    let limit = if asked > dense_limit() { dense_limit() } else { COPIES };
    let mut made = false;
    // Compressed rows have pointers.
    converting(|| made = Limits::new().elements(limit).run(|| grown([&a, &b], &blocks, asked, *dim as i8 % 5)));
    made
}

fn grown([a, b]: [&CooTensor<2>; 2], blocks: &CooTensor<3>, asked: usize, dim: i8) -> bool {
    let eyes = [
        CooTensor::<2>::try_eye(asked, &device()).map(|a| a.nnz()).ok(),
        CsrTensor::<2>::try_eye(asked, (&device(), DType::F64)).map(|a| a.nnz()).ok(),
        CooTensor::<2, Bool>::try_eye(asked, &device()).map(|a| a.nnz()).ok(),
    ];
    assert_eq!(eyes, [(asked <= dense_limit()).then_some(asked); 3], "identities of {asked}");
    let repeated = a.try_repeat_dim(dim, asked);
    match &repeated {
        Ok(repeated) => assert_eq!(repeated.nnz() as u128, a.nnz() as u128 * asked as u128),
        Err(error) => assert!(["would_densify", "overflow", "axis_out_of_range"].contains(&error.kind()), "{error}"),
    }
    assert!(repeated.is_err() || a.nnz() == 0 || asked <= dense_limit(), "{asked} copies");
    _ = blocks.try_repeat_dim(dim, asked).map(|a| a.coalesce());
    _ = a.try_expand([asked as i64, -1, -1]).map(|a: CooTensor<3>| a.coalesce());
    _ = a.try_chunk(asked, 0);
    _ = a.try_kron(b).map(|a| a.coalesce());
    let rows = a.to_csr();
    _ = rows.try_repeat_dim(dim, asked).map(|a| a.to_coo());
    _ = rows.try_expand([asked as i64, -1, -1]).map(|a: CsrTensor<3>| a.to_coo());
    _ = rows.try_top_k_rows(asked);
    _ = CsrTensor::try_eye(asked, &device()).and_then(|eye| eye.try_kron(&b.to_csr())).map(|a| a.to_coo());
    repeated.is_ok() || asked > dense_limit()
}
