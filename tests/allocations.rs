//! On Flex, operations allocate their results and no copy of an operand: kernels compute in the dtype that the tensors
//! have. Only a long i64 index of single values is copied, to i32; here they are shorter. And a loop allocates no large
//! result at all: the memory of those before is used again.
//!
//! The allocator counts every byte that the process requests, on any thread. An operation runs once before it is
//! measured, so that its patterns and index maps are kept. The bound is then the bytes of its results, plus a spare
//! that is less than half of the smallest operand. A second run clones that operand, and must exceed the bound.

use burn::tensor::{Bool, BoolStore, Bytes, DType, Device, Float, Int, Tensor, TensorData, s};
use sparse_dev::counting::{Counting, USED};
use sparse_tensor::io::{MappedFile, npy, safetensors};
use sparse_tensor::ops::{self, IndexPlan, Reduce};
use sparse_tensor::pattern::{CooPattern, CsrPattern};
use sparse_tensor::{CooTensor, CsrTensor, Fill, Kind, Numeric, memory_report, release_pool, set_pool_limit};
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The bytes that were asked for.
static ASKED: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting(|bytes, _| {
    ASKED.fetch_add(bytes, Ordering::Relaxed);
});

/// The count is of the process: tests take turns.
static TURN: Mutex<()> = Mutex::new(());

/// A turn in which the pool may keep this many bytes. It starts empty.
fn turn_with_pool(bytes: usize) -> MutexGuard<'static, ()> {
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    set_pool_limit(0);
    set_pool_limit(bytes);
    turn
}

/// A turn without the pool: every result is allocated.
fn turn() -> MutexGuard<'static, ()> {
    turn_with_pool(0)
}

/// The most that an operation may allocate for each byte of its operands and results.
const BUDGET: f64 = 1.2;

/// What threads, shapes and handles take, and a few index arrays of [`NNZ`] entries.
const SPARE: usize = 192 << 10;
const FLOATS: [DType; 3] = [DType::F16, DType::BF16, DType::F32];
const INTEGERS: [DType; 2] = [DType::I32, DType::U8];
const BOOL: DType = DType::Bool(BoolStore::Native);

/// Stored elements, and those of a block. The smallest values have 1 MiB.
const NNZ: usize = 4096;
const BLOCK: usize = 256;
/// Rows and columns that hold the stored elements.
const SIDE: usize = 128;

/// An operation under test.
struct Work<'a, T> {
    name: String,
    /// Bytes that it may allocate besides the spare.
    bytes: usize,
    /// Bytes of its results.
    results: usize,
    /// What it reads: each tensor's data.
    operands: &'a [TensorData],
    /// What it is given by value. Made anew for each run, and not counted.
    given: &'a dyn Fn() -> T,
}

impl<T> Work<'_, T> {
    fn measure<R>(&self, run: &dyn Fn(T) -> R) {
        let smallest = self.operands.iter().min_by_key(|data| data.as_bytes().len()).expect("an operand");
        assert!(smallest.as_bytes().len() > 2 * SPARE, "{}: the spare would hide a copy", self.name);
        drop(run((self.given)()));
        let asked = |copies: bool| {
            let given = (self.given)();
            let before = ASKED.load(Ordering::SeqCst);
            let copy = copies.then(|| black_box(smallest.clone()));
            let out = black_box(run(given));
            let asked = ASKED.load(Ordering::SeqCst) - before;
            drop((copy, out));
            asked
        };
        let (asked, with_copy) = (asked(false), asked(true));
        let bound = self.bytes + SPARE;
        let size: usize = self.operands.iter().map(|data| data.as_bytes().len()).sum();
        let share = asked as f64 / (size + self.results) as f64;
        println!("| {} | {share:.2} |", self.name);
        assert!(share <= BUDGET, "{}: {asked} bytes are allocated for {size} bytes of operands", self.name);
        assert!(asked <= bound, "{}: {asked} bytes are allocated, at most {bound} expected", self.name);
        assert!(
            asked >= self.bytes,
            "{}: {asked} bytes are allocated, the results alone have {}",
            self.name,
            self.bytes
        );
        assert!(with_copy > bound, "{}: a copy of an operand is not noticed", self.name);
    }
}

/// Runs an operation that takes nothing by value.
fn measure<R>(name: &str, dtype: DType, bytes: usize, operands: &[TensorData], run: impl Fn() -> R) {
    Work { name: format!("{name} of {dtype:?}"), bytes, results: bytes, operands, given: &|| () }.measure(&|()| run());
}

fn size(dtype: DType) -> usize {
    if dtype == BOOL { 1 } else { dtype.size() }
}

/// Small numbers, exact in every dtype.
fn data<const D: usize>(shape: [usize; D], dtype: DType) -> TensorData {
    let numbers: Vec<u8> = (0..shape.iter().product()).map(|k: usize| (k * 7 % 5 % 2) as u8).collect();
    let data = TensorData::new(numbers, shape).convert_dtype(dtype);
    assert_eq!(data.as_bytes().len(), shape.iter().product::<usize>() * size(dtype));
    data
}

fn tensor<const D: usize, K: Kind>(data: &TensorData) -> Tensor<D, K> {
    Tensor::from_data(data.clone(), (&Device::flex(), data.dtype()))
}

fn indices<const D: usize>(shape: [usize; D], entry: impl Fn(usize) -> usize) -> Tensor<D, Int> {
    let list: Vec<i32> = (0..shape.iter().product()).map(|k| entry(k) as i32).collect();
    Tensor::from_data(TensorData::new(list, shape), (&Device::flex(), DType::I32))
}

/// Element `k` stands at `place(k)` of the matrix, row-major.
fn pattern(place: impl Fn(usize) -> usize) -> CooPattern {
    let at = |k: usize| if k < NNZ { place(k) / SIDE } else { place(k - NNZ) % SIDE };
    CooPattern::new(indices([2, NNZ], at), &[SIDE, SIDE]).unwrap()
}

/// Every fourth place.
fn sorted() -> CooPattern {
    pattern(|k| 4 * k)
}

fn blocks<K: Kind>(pattern: &CooPattern, data: &TensorData) -> CooTensor<3, K> {
    CooTensor::from_pattern(pattern.clone(), tensor::<2, K>(data)).unwrap()
}

/// Rows that move or meet.
fn moves<K: Kind>(dtype: DType) {
    let own = data([NNZ, BLOCK], dtype);
    let operands = [own.clone()];
    let whole = NNZ * BLOCK * size(dtype);
    let measure = |name: &str, bytes: usize, run: &dyn Fn() -> CooTensor<3, K>| {
        measure(name, dtype, bytes, &operands, run);
    };
    let (a, b) = (blocks::<K>(&sorted(), &own), blocks::<K>(&pattern(|k| 4 * k + k % 2), &own));
    measure("concat along rows", 2 * whole, &|| ops::concat(&[a.clone(), b.clone()], 0));
    measure("concat along columns", 2 * whole, &|| ops::concat(&[a.clone(), b.clone()], 1));
    measure("permute", whole, &|| a.permute([1, 0, 2]));
    measure("slice", whole / 2, &|| a.slice(s![.., ..64]));
    let loose = blocks::<K>(&pattern(|k| k * 7919 % (SIDE * SIDE) / 2 * 2), &own);
    let merged = loose.coalesce().nnz() * BLOCK * size(dtype);
    measure("coalesce", merged, &|| loose.coalesce());
}

#[test]
fn rows_move_without_a_copy_of_the_operands() {
    let _turn = turn();
    FLOATS.into_iter().for_each(moves::<Float>);
    INTEGERS.into_iter().for_each(moves::<Int>);
    moves::<Bool>(BOOL);
}

/// Sums of segments, and element-wise operations.
fn arithmetic<K: Numeric>(dtype: DType) {
    let own = data([NNZ, BLOCK], dtype);
    let operands = [own.clone()];
    let (row, whole) = (BLOCK * size(dtype), NNZ * BLOCK * size(dtype));
    let (a, same) = (blocks::<K>(&sorted(), &own), blocks::<K>(&sorted(), &own));
    // Half of its places are those of `a`.
    let other = blocks::<K>(&pattern(|k| 4 * k + k % 2), &own);
    let same = CooTensor::<3, K>::from_pattern(a.pattern().clone(), same.values::<2>()).unwrap();
    measure("sum_dim of rows", dtype, SIDE * row, &operands, || a.sum_dim(1));
    measure("sum_dim of columns", dtype, SIDE / 4 * row, &operands, || a.sum_dim(0));
    measure("add in one pattern", dtype, whole, &operands, || a.add(&same));
    measure("mul of two patterns", dtype, whole * 3 / 2, &operands, || a.mul(&other));
}

#[test]
fn sums_and_elementwise_operations_copy_no_operand() {
    let _turn = turn();
    FLOATS.into_iter().for_each(arithmetic::<Float>);
    INTEGERS.into_iter().for_each(arithmetic::<Int>);
    let own = data([NNZ, BLOCK], BOOL);
    let a = blocks::<Bool>(&sorted(), &own);
    let b = CooTensor::<3, Bool>::from_pattern(a.pattern().clone(), tensor::<2, Bool>(&own)).unwrap();
    measure("any_dim", BOOL, SIDE * BLOCK, std::slice::from_ref(&own), || a.any_dim(1));
    measure("or", BOOL, NNZ * BLOCK, std::slice::from_ref(&own), || a.bool_or(&b));
}

/// Compressed rows. Those of concatenations are made in one pass with the values, and the new pattern on each call.
fn in_one_pass<K: Numeric>(dtype: DType) {
    const SIDE: usize = 1024;
    let nnz = SIDE * SIDE / 2;
    let operands = [data([nnz], dtype)];
    let half = |odd: usize| {
        let (ptr, col) = (indices([SIDE + 1], |row| row * SIDE / 2), indices([nnz], |k| k % (SIDE / 2) * 2 + odd));
        let pattern = CsrPattern::new(ptr, col, &[SIDE, SIDE]).unwrap();
        CsrTensor::<2, K>::from_pattern(pattern, tensor::<1, K>(&operands[0])).unwrap()
    };
    let (a, b) = (half(0), half(1));
    let bytes = 2 * nnz * (size(dtype) + size_of::<i32>());
    // A second sum makes the index maps. Later ones allocate values only.
    drop(a.add(&b));
    measure("add of compressed rows", dtype, 2 * nnz * size(dtype), &operands, || a.add(&b));
    measure("concat of compressed rows", dtype, bytes, &operands, || ops::concat(&[a.clone(), b.clone()], 0));
    measure("concat of compressed rows' columns", dtype, bytes, &operands, || ops::concat(&[a.clone(), b.clone()], 1));
}

#[test]
fn fused_operations_copy_no_operand() {
    let _turn = turn();
    FLOATS.into_iter().for_each(in_one_pass::<Float>);
    INTEGERS.into_iter().for_each(in_one_pass::<Int>);
}

fn products<K: Numeric>(dtype: DType) {
    const ROWS: usize = 512;
    const COLS: usize = 16_384;
    const STORED: usize = 1024;
    const FEATURES: usize = 32;
    let nnz = ROWS * STORED;
    let pattern = CsrPattern::new(
        indices([ROWS + 1], |row| row * STORED),
        indices([nnz], |k| k % STORED * (COLS / STORED)),
        &[ROWS, COLS],
    );
    let operands = [data([nnz], dtype), data([COLS, FEATURES], dtype)];
    let a = CsrTensor::<2, K>::from_pattern(pattern.unwrap(), tensor::<1, K>(&operands[0])).unwrap();
    let x = tensor::<2, K>(&operands[1]);
    measure("matmul", dtype, ROWS * FEATURES * size(dtype), &operands, || a.matmul(x.clone()));
}

#[test]
fn products_copy_no_operand() {
    let _turn = turn();
    FLOATS.into_iter().for_each(products::<Float>);
    INTEGERS.into_iter().for_each(products::<Int>);
}

/// Rows of an array, of the values that are put into it, and their width.
const LENGTH: usize = 4096;
const COUNT: usize = 8192;
const WIDTH: usize = 128;

/// The array is given by value: its buffer becomes that of the result.
fn put<K: Kind>(dtype: DType, reduce: Reduce) {
    let operands = [data([LENGTH, WIDTH], dtype), data([COUNT, WIDTH], dtype)];
    let (index, values) = (indices([COUNT, 1], |k| k * 31 % LENGTH), tensor::<2, K>(&operands[1]));
    // A sum of 16-bit floats is rounded once: each element of the array needs an accumulator in f32.
    let exact = FLOATS[..2].contains(&dtype) && reduce == Reduce::Add;
    let bytes = if exact { LENGTH * WIDTH * size_of::<f32>() } else { 0 };
    let name = format!("put_along_axis ({reduce:?}) of {dtype:?}");
    Work {
        name,
        bytes,
        results: LENGTH * WIDTH * size(dtype),
        operands: &operands,
        given: &|| tensor::<2, K>(&operands[0]),
    }
    .measure(&|arr| ops::put_along_axis(arr, index.clone(), values.clone(), 0, reduce, true));
}

fn reads<K: Kind>(dtype: DType) {
    let operands = [data([LENGTH, WIDTH], dtype)];
    let x = tensor::<2, K>(&operands[0]);
    let index = indices([LENGTH / 2, WIDTH], |k| k * 31 % LENGTH);
    let bytes = LENGTH / 2 * WIDTH * size(dtype);
    measure("gather", dtype, bytes, &operands, || ops::gather(x.clone(), 0, index.clone()));
    let plan = IndexPlan::new(indices([LENGTH / 2], |k| k * 31 % LENGTH), LENGTH).unwrap();
    measure("IndexPlan::select", dtype, bytes, &operands, || plan.select(x.clone(), 0));
}

#[test]
fn put_and_gather_copy_no_operand() {
    let _turn = turn();
    for reduce in [Reduce::Assign, Reduce::Add, Reduce::Amax] {
        FLOATS.into_iter().for_each(|dtype| put::<Float>(dtype, reduce));
        INTEGERS.into_iter().for_each(|dtype| put::<Int>(dtype, reduce));
    }
    put::<Bool>(BOOL, Reduce::Assign);
    FLOATS.into_iter().for_each(reads::<Float>);
    INTEGERS.into_iter().for_each(reads::<Int>);
    reads::<Bool>(BOOL);
}

/// Without gradients, attention takes one walk: the weights of a few rows are in memory at a time.
#[test]
fn attention_keeps_no_weights_without_gradients() {
    const HEADS: usize = 4;
    let _turn = turn_with_pool(64 << 20);
    let mask = band(8192, 0);
    let [query, value] = [8192, 64].map(|rows| tensor::<3, Float>(&data([rows, HEADS, 4], DType::F32)));
    // Large blocks come from the pool, or are new: the result, and the weights if they are kept.
    let blocks = |query: &Tensor<3>, value: &Tensor<3>, mask: &CsrTensor<2>| {
        let run = || drop(ops::attention(query.clone(), value.clone(), value.clone(), mask, None, 0.0));
        // The first run makes what is kept with the pattern.
        run();
        let before = memory_report();
        run();
        let after = memory_report();
        after.reused + after.fresh - before.reused - before.fresh
    };
    assert_eq!(blocks(&query, &value, &mask), 1, "the result");
    let mask = mask.to_device(&Device::flex().autodiff());
    let [query, value] = [query, value].map(|x| x.autodiff().require_grad());
    assert_eq!(blocks(&query, &value, &mask), 2, "the result and the weights");
}

/// A matrix of `rows` rows of 16 elements, which starts at column `first`.
fn band(rows: usize, first: usize) -> CsrTensor<2> {
    let ptr = indices([rows + 1], |row| 16 * row);
    let col = indices([16 * rows], |k| first + k % 16);
    let values = tensor::<1, Float>(&data([16 * rows], DType::F32));
    CsrTensor::new(ptr, col, values, [rows, 64]).unwrap()
}

/// Moves, merges, products and softmax of two matrices.
fn step(a: &CsrTensor<2>, b: &CsrTensor<2>, x: &Tensor<2>) -> f32 {
    let joined = ops::concat(&[a.clone(), b.clone()], 0);
    let sum = a + b;
    let weights = sum.with_fill(Fill::Undefined).softmax(1);
    let out = weights.matmul(x.clone());
    let place = indices([out.dims()[0], 1], |row| row / 2);
    let kept = ops::put_along_axis(out.clone(), place, out, 0, Reduce::Add, true);
    joined.values::<1>().slice(s![..1]).into_scalar::<f32>() + kept.slice(s![..1, ..1]).into_scalar::<f32>()
}

#[test]
fn a_loop_reuses_the_memory_of_large_results() {
    let _turn = turn_with_pool(64 << 20);
    let (a, b) = (band(8192, 0), band(8192, 8));
    let x = tensor::<2, Float>(&data([64, 64], DType::F32));
    let first = step(&a, &b, &x);
    for _ in 0..3 {
        step(&a, &b, &x);
    }
    let (before, report) = (ASKED.load(Ordering::SeqCst), memory_report());
    assert_eq!(step(&a, &b, &x), first);
    let asked = ASKED.load(Ordering::SeqCst) - before;
    // The smallest of its large results has more.
    assert!(asked < 16 * 8192 * size_of::<f32>(), "{asked} bytes are allocated");
    let again = memory_report();
    assert_eq!(again.fresh, report.fresh);
    assert!(again.reused >= report.reused + 5, "{report:?} {again:?}");
}

#[test]
fn changing_shapes_do_not_grow() {
    const LIMIT: usize = 4 << 20;
    let _turn = turn_with_pool(LIMIT);
    let x = tensor::<2, Float>(&data([64, 16], DType::F32));
    // Between 128 KiB and 512 KiB of values.
    let bands: Vec<CsrTensor<2>> = (0..61).map(|k| band(2048 + k * 7919 % 6144, 0)).collect();
    let mut most = [0, 0];
    for k in 0..10_000 {
        drop(bands[k * k % bands.len()].matmul(x.clone()));
        let report = memory_report();
        assert!(report.held <= LIMIT, "{report:?}");
        let half = usize::from(k >= 5000);
        most[half] = most[half].max(USED.load(Ordering::SeqCst));
    }
    assert!(most[1] <= most[0] + SPARE, "{most:?}");
    let held = memory_report().held;
    assert!(held > 0);
    let used = USED.load(Ordering::SeqCst);
    assert_eq!(release_pool(), held);
    assert_eq!((memory_report().held, memory_report().blocks), (0, 0));
    assert!(USED.load(Ordering::SeqCst) + held <= used + SPARE);
}

#[test]
fn memory_leaves_the_pool_as_a_vector() {
    let _turn = turn_with_pool(64 << 20);
    let a = band(8192, 0).mul_scalar(3);
    let before = ASKED.load(Ordering::SeqCst);
    let list = a.values::<1>().clone();
    drop(a);
    let list: Vec<f32> = list.into_data().try_into_vec().unwrap();
    assert_eq!(list.len(), 16 * 8192);
    assert!(ASKED.load(Ordering::SeqCst) - before < SPARE, "a copy was made");
    // The allocator takes it back as what it gave.
    drop(list);
}

/// Rows of a CSR matrix are found by pointers: nothing as long as its elements is made.
#[test]
fn rows_of_a_large_matrix_take_their_own_memory() {
    const ROWS: usize = 1 << 13;
    const WIDTH: usize = 256;
    let _turn = turn();
    let device = Device::flex();
    let idx: Vec<i32> = (0..ROWS * WIDTH).map(|k| (k % WIDTH * 3) as i32).collect();
    let ptr: Vec<i32> = (0..=ROWS).map(|row| (row * WIDTH) as i32).collect();
    let ints = |list: Vec<i32>| {
        let length = list.len();
        Tensor::<1, Int>::from_data(TensorData::new(list, [length]), (&device, DType::I32))
    };
    let (ptr, idx, values) = (ints(ptr), ints(idx), Tensor::<1>::ones([ROWS * WIDTH], &device));
    // A pattern of its own for each: what one has derived helps no other.
    let fresh = || {
        let pattern = CsrPattern::new_unchecked(ptr.clone(), idx.clone(), &[ROWS, 3 * WIDTH]);
        CsrTensor::<2>::from_pattern(pattern, values.clone()).unwrap()
    };
    let rows = ints(vec![7, ROWS as i32 - 1, 7, 0]);
    type Take<'a> = Box<dyn Fn(&CsrTensor<2>) -> usize + 'a>;
    let takes: [(&str, Take<'_>); 7] = [
        ("select", Box::new(|a| a.select(0, rows.clone()).nnz())),
        ("narrow", Box::new(|a| a.narrow(0, 5, 4).nnz())),
        ("slice of rows", Box::new(|a| a.slice(s![5..9, ..]).nnz())),
        ("slice of every so many rows", Box::new(|a| a.slice(s![..; 2048, ..]).nnz())),
        ("slice of rows and columns", Box::new(|a| a.slice(s![5..9, 3..]).nnz())),
        ("split", Box::new(|a| a.split(ROWS / 2, 0).len() * WIDTH)),
        ("chunk", Box::new(|a| a.chunk(3, 0).len() * WIDTH)),
    ];
    for (name, take) in takes {
        let a: CsrTensor<2> = fresh();
        let before = ASKED.load(Ordering::SeqCst);
        let nnz = black_box(take(&a));
        let asked = ASKED.load(Ordering::SeqCst) - before;
        assert!((WIDTH..=4 * WIDTH).contains(&nnz), "{name}: {nnz}");
        assert!(asked < SPARE, "{name}: {asked} bytes for {nnz} elements");
    }
    // What has an element for each row takes a few arrays of that length.
    let a: CsrTensor<2> = fresh();
    let before = ASKED.load(Ordering::SeqCst);
    assert_eq!(black_box(a.sum_dim(1).nnz()), ROWS);
    let asked = ASKED.load(Ordering::SeqCst) - before;
    assert!(asked < 100 * ROWS, "sums of rows: {asked} bytes for {ROWS} rows");
    // The measure notices what it must: the coordinates of all elements.
    let before = ASKED.load(Ordering::SeqCst);
    black_box(fresh().to_coo());
    assert!(ASKED.load(Ordering::SeqCst) - before > SPARE.max(100 * ROWS));
}

/// Tensors of bytes that can be shared are parts of them; of others, copies.
#[test]
fn shared_bytes_are_not_copied() {
    const NNZ: usize = 1 << 18;
    let _turn = turn();
    let device = Device::flex();
    let dense = Tensor::<2>::ones([NNZ / 64, 64], &device);
    let a = CsrTensor::<2>::from_dense(dense.clone());
    let mut archive = safetensors::Archive::new();
    archive.insert("", &a).unwrap();
    archive.insert_pattern("plain", a.pattern()).unwrap();
    let file = archive.to_bytes().unwrap();
    let mut array = Vec::new();
    npy::write_to(&mut array, &dense).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let [path, array_path] = ["a.safetensors", "a.npy"].map(|name| folder.path().join(name));
    std::fs::write(&path, &file).unwrap();
    std::fs::write(&array_path, &array).unwrap();
    let mapped = |path| MappedFile::open(path).unwrap().bytes();
    // Bytes that are asked for by reading, in either way.
    type Read<'a> = Box<dyn Fn(Bytes) + 'a>;
    let reads: [(&str, &[u8], Bytes, Read<'_>); 4] = [
        (
            "tensor",
            &file,
            mapped(&path),
            Box::new(|bytes| {
                let a: CsrTensor<2> = safetensors::from_shared(bytes, &device).unwrap();
                black_box(a);
            }),
        ),
        (
            "pattern",
            &file,
            mapped(&path),
            Box::new(|bytes| {
                let archive = safetensors::Archive::from_shared(bytes).unwrap();
                black_box(archive.get_pattern::<CsrPattern>("plain", &device).unwrap());
            }),
        ),
        (
            "dense array",
            &file,
            mapped(&path),
            Box::new(|bytes| {
                black_box(safetensors::dense_from_shared::<1, Float>(bytes, "values", &device).unwrap());
            }),
        ),
        (
            "features",
            &array,
            mapped(&array_path),
            Box::new(|bytes| {
                black_box(npy::from_shared::<2, Float>(bytes, &device).unwrap());
            }),
        ),
    ];
    for (name, content, mapped, read) in reads {
        let ways = [mapped, Bytes::from_elems(content.to_vec()).shared(), Bytes::from_elems(content.to_vec())];
        let asked = ways.map(|bytes| {
            let before = ASKED.load(Ordering::SeqCst);
            read(bytes);
            ASKED.load(Ordering::SeqCst) - before
        });
        assert!(asked[0] < SPARE && asked[1] < SPARE, "{name}: {asked:?}");
        assert!(asked[2] > 4 * NNZ, "{name}: {asked:?}: bytes that cannot be shared are copied");
    }
}
