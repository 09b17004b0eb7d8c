//! Tables with row-sparse gradients and their optimisers.

use burn::module::{Module, Param};
use burn::optim::{GradientsParams, SgdConfig};
use burn::tensor::{DType, Device, Gradients, Int, Tensor, TensorData};
use sparse_tensor::nn::{
    ReadRows, RowAdagradConfig, RowAdamConfig, RowOptimizer, RowSgd, RowSparseGrad, RowTable, RowTableConfig,
};
use sparse_tensor::{CsrTensor, Fill};

fn table(device: &Device) -> RowTable {
    let start: Vec<f64> = (0..10).map(|k| f64::from(k) / 10.0 - 0.4).collect();
    let weight = Tensor::<2>::from_data(TensorData::new(start, [5, 2]), (device, DType::F64));
    RowTable { weight: Param::from_tensor(weight) }
}

fn ids(list: &[i64], device: &Device) -> Tensor<1, Int> {
    Tensor::from_data(TensorData::new(list.to_vec(), [list.len()]), device)
}

fn numbers<const D: usize>(tensor: Tensor<D>) -> Vec<f64> {
    tensor.into_data().iter::<f64>().collect()
}

fn close(got: &[f64], want: &[f64], tolerance: f64) {
    assert_eq!(got.len(), want.len());
    for (got, want) in got.iter().zip(want) {
        assert!((got - want).abs() <= tolerance, "got {got}, want {want}");
    }
}

const BATCHES: [&[i64]; 5] = [&[1, 3, 1], &[0, 3], &[3], &[4, 1, 4, 4], &[1]];

/// `sum_k (k + 1) sin((step + 1) x_k)` over the elements of the rows that the batch reads.
fn loss(x: Tensor<2>, step: usize) -> Tensor<1> {
    let count = x.dims()[0] * 2;
    let weights: Vec<f64> = (1..=count).map(|k| k as f64).collect();
    let weights = Tensor::<2>::from_data(TensorData::new(weights, x.dims()), (&x.device(), DType::F64));
    (x.mul_scalar(step as f64 + 1.0).sin() * weights).sum()
}

/// The table after a step for each batch.
fn train(mut optimizer: impl RowOptimizer, lr: f64, device: &Device) -> Vec<f64> {
    let mut table = table(device);
    for (step, batch) in BATCHES.into_iter().enumerate() {
        let (x, read) = table.select(ids(batch, device));
        let grads = loss(x, step).backward();
        table = optimizer.step(lr, table, read.grad(&grads).expect("a gradient"));
        assert!(table.weight.is_require_grad());
    }
    numbers(table.weight.val())
}

/// PyTorch 2.15: `Embedding(sparse=True)` with `SGD`, `Adagrad(initial_accumulator_value=0.2)` and `SparseAdam`.
#[test]
fn optimizers_agree_with_pytorch() {
    let device = Device::flex().autodiff();
    let sgd = [
        -0.469670670935,
        -0.465067122982,
        -0.327390059747,
        -0.499189508416,
        0.0,
        0.1,
        -0.356502741665,
        -0.480768090997,
        0.475918757983,
        1.831669876951,
    ];
    close(&train(RowSgd::new(), 0.05, &device), &sgd, 1e-11);
    let adagrad = [
        -0.495216170922,
        -0.399094910795,
        -0.344131257958,
        -0.293079376055,
        0.0,
        0.1,
        -0.029515747636,
        0.055716975834,
        0.495925723281,
        0.599985905326,
    ];
    let config = RowAdagradConfig::new().with_initial_sum(0.2);
    close(&train(config.init(&table(&device)), 0.1, &device), &adagrad, 1e-11);
    let adam = [
        -0.474413665469,
        -0.374413675229,
        -0.428788704202,
        -0.349967450995,
        0.0,
        0.1,
        -0.090919224148,
        0.005172600087,
        0.458112824116,
        0.558112835529,
    ];
    close(&train(RowAdamConfig::new().init(&table(&device)), 0.1, &device), &adam, 1e-11);
}

/// What the table's gradient is on the dense path of Burn.
fn dense_grad(table: &RowTable, forward: impl Fn(Tensor<2>) -> Tensor<1>) -> Vec<f64> {
    let weight = table.weight.val();
    let grads = forward(weight.clone()).backward();
    numbers(weight.grad(&grads).unwrap())
}

#[test]
fn the_gradient_has_the_rows_that_were_read() {
    let device = Device::flex().autodiff();
    let table = table(&device);
    let batch = [4, 1, 4, 0];
    let (x, read) = table.select(ids(&batch, &device));
    assert_eq!(numbers(read.ids().float()), [0.0, 1.0, 4.0]);
    let grad = read.grad(&loss(x, 1).backward()).unwrap();
    assert_eq!((grad.rows().dims(), grad.table_rows()), ([3, 2], 5));
    let want = dense_grad(&table, |weight| loss(weight.select(0, ids(&batch, &device)), 1));
    close(&numbers(grad.to_dense()), &want, 1e-12);

    // Two reads in one step are one gradient.
    let [first, second]: [(Tensor<2>, ReadRows); 2] =
        [&[2, 3][..], &[3, 1]].map(|list| table.select(ids(list, &device)));
    let grads: Gradients = (loss(first.0, 0) + loss(second.0, 2)).backward();
    let sum = RowSparseGrad::sum([first.1, second.1].iter().filter_map(|read| read.grad(&grads)).collect());
    assert_eq!(numbers(sum.ids().float()), [1.0, 2.0, 3.0]);
    let want = dense_grad(&table, |weight| {
        let rows = |list: &[i64]| weight.clone().select(0, ids(list, &device));
        loss(rows(&[2, 3]), 0) + loss(rows(&[3, 1]), 2)
    });
    close(&numbers(sum.to_dense()), &want, 1e-12);
    let twice: Vec<f64> = want.iter().map(|x| 2.0 * x).collect();
    close(&numbers(sum.map(|rows| rows.mul_scalar(2.0)).to_dense()), &twice, 1e-12);
}

/// Bags of ids with tracked weights.
#[test]
fn a_sparse_batch_reads_its_columns_only() {
    let device = Device::flex().autodiff();
    let table = table(&device);
    let batch = CsrTensor::<2>::from_triplets(&[0, 0, 2], &[4, 1, 4], &[0.5, -1.0, 2.0], [3, 5], (&device, DType::F64));
    let batch = batch.unwrap().require_grad();
    let (x, read) = table.matmul(&batch);
    assert_eq!((x.dims(), numbers(read.ids().float())), ([3, 2], vec![1.0, 4.0]));
    let grads = loss(x.clone(), 0).backward();
    let weight = table.weight.val();
    let dense = batch.matmul(weight.clone());
    close(&numbers(x), &numbers(dense.clone()), 1e-14);
    let dense_grads = loss(dense, 0).backward();
    close(&numbers(read.grad(&grads).unwrap().to_dense()), &numbers(weight.grad(&dense_grads).unwrap()), 1e-14);
    let of_values = |grads: &Gradients| numbers(batch.grad(grads).unwrap().values::<1>());
    close(&of_values(&grads), &of_values(&dense_grads), 1e-14);
}

/// A model whose other parameters a Burn optimizer steps.
#[derive(Module, Debug)]
struct Model {
    table: RowTable,
    scale: Param<Tensor<1>>,
}

#[test]
fn a_model_trains_with_two_optimizers_and_saves_all() {
    let device = Device::flex().autodiff();
    let scale = Param::from_tensor(Tensor::from_data(TensorData::from([2.0f64]), (&device, DType::F64)));
    let mut model = Model { table: table(&device), scale };
    assert_eq!(model.num_params(), 11);
    let (mut optim, mut rows) = (SgdConfig::new().init(), RowAdamConfig::new().init(&model.table));
    let before = (numbers(model.table.weight.val()), numbers(model.scale.val()));
    for step in 0..3 {
        let (x, read) = model.table.select(ids(&[3, 0], &device));
        let grads = (loss(x, step) * model.scale.val()).backward();
        let grad = read.grad(&grads).unwrap();
        model = optim.step(0.1, model.clone(), GradientsParams::from_grads(grads, &model));
        model.table = rows.step(0.1, model.table, grad);
    }
    let after = (numbers(model.table.weight.val()), numbers(model.scale.val()));
    assert_ne!(before.1, after.1);
    for row in 0..5 {
        let changed = before.0[2 * row..][..2] != after.0[2 * row..][..2];
        assert_eq!(changed, [0, 3].contains(&row), "row {row}");
    }

    // The state and the model in files: the next step is the same to the bit.
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = ["model", "rows"].map(|name| folder.path().join(name));
    model.clone().save_file(&a).unwrap();
    rows.clone().save_file(&b).unwrap();
    let loaded = Model { table: table(&device), scale: Param::from_tensor(model.scale.val().zeros_like()) };
    let loaded = loaded.load_file(&a);
    let mut loaded_rows = RowAdamConfig::new().init(&loaded.table).load_file(&b);
    let grad = || {
        let rows = Tensor::from_data(TensorData::from([[0.5f64, -0.25]]), (&device, DType::F64)).inner();
        RowSparseGrad::new(ids(&[2], &device.clone().inner()), rows, 5).unwrap()
    };
    let [x, y] = [rows.step(0.1, model.table, grad()), loaded_rows.step(0.1, loaded.table, grad())];
    let bits = |table: &RowTable| numbers(table.weight.val()).iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&x), bits(&y));
}

#[test]
fn empty_batches_frozen_tables_and_plain_devices() {
    let plain = Device::flex();
    let frozen = table(&plain.clone().autodiff()).no_grad();
    let (x, read) = frozen.select(ids(&[1], &plain.clone().autodiff()));
    assert!(!x.is_tracked());
    let other = Tensor::<1>::ones([1], &plain.clone().autodiff()).require_grad();
    assert!(read.grad(&other.sum().backward()).is_none());

    let table = table(&plain);
    let (x, _) = table.select(ids(&[4, 4], &plain));
    close(&numbers(x), &[0.4, 0.5, 0.4, 0.5], 1e-15);
    let (x, read) = table.select(ids(&[], &plain));
    assert_eq!((x.dims(), read.rows().dims()), ([0, 2], [0, 2]));
    let before = numbers(table.weight.val());
    let none = RowSparseGrad::new(ids(&[], &plain), read.rows(), 5).unwrap();
    assert_eq!(numbers(RowSgd::new().step(1.0, table, none).weight.val()), before);
}

#[test]
fn bad_input_is_an_error() {
    let device = Device::flex().autodiff();
    let table = RowTableConfig::new(5, 2).init(&device);
    for bad in [&[5_i64][..], &[-1], &[0, 1 << 40]] {
        let wide = Tensor::from_data(TensorData::new(bad.to_vec(), [bad.len()]), (&device, DType::I64));
        assert_eq!(table.try_select(wide).unwrap_err().kind(), "index_out_of_range", "{bad:?}");
    }
    let batch = CsrTensor::<2>::zeros([3, 4], (&device, DType::F32));
    assert_eq!(table.try_matmul(&batch).unwrap_err().kind(), "shape_mismatch");
    let filled = CsrTensor::<2>::zeros([3, 5], (&device, DType::F32)).with_fill(Fill::scalar(1.0));
    assert_eq!(table.try_matmul(&filled).unwrap_err().kind(), "fill_mismatch");

    let plain = device.inner();
    let rows = |count: usize, width: usize| Tensor::<2>::ones([count, width], &plain);
    assert_eq!(RowSparseGrad::new(ids(&[1], &plain), rows(2, 2), 5).unwrap_err().kind(), "length_mismatch");
    assert_eq!(RowSparseGrad::new(ids(&[7], &plain), rows(1, 2), 5).unwrap_err().kind(), "index_out_of_range");
    assert_eq!(RowSparseGrad::try_sum(vec![]).unwrap_err().kind(), "empty_input");
    let [a, b] = [2, 3].map(|width| RowSparseGrad::new(ids(&[1], &plain), rows(1, width), 5).unwrap());
    assert_eq!(RowSparseGrad::try_sum(vec![a, b]).unwrap_err().kind(), "shape_mismatch");
}

/// 16-bit rows: state and steps are in f32, and a gradient of zero moves nothing.
#[test]
fn half_precision_takes_the_steps_of_f32() {
    let device = Device::flex();
    for dtype in [DType::F16, DType::BF16] {
        let weight = Tensor::<2>::from_data(TensorData::from([[0.5f32, 0.25], [1.0, 2.0]]), (&device, dtype));
        let table = RowTable { weight: Param::from_tensor(weight) };
        let rows = Tensor::<2>::from_data(TensorData::from([[0.0f32, 1e-4]]), (&device, dtype));
        let grad = || RowSparseGrad::new(ids(&[0], &device), rows.clone(), 2).unwrap();
        let adam = RowAdamConfig::new().init(&table).step(0.125, table.clone(), grad());
        close(&numbers(adam.weight.val()), &[0.5, 0.125, 1.0, 2.0], 1e-2);
        let adagrad = RowAdagradConfig::new().init(&table).step(0.125, table.clone(), grad());
        close(&numbers(adagrad.weight.val()), &[0.5, 0.125, 1.0, 2.0], 1e-2);
        assert_eq!(adam.weight.val().dtype(), dtype);
    }
}

/// Ids of several integer dtypes, decay written with the rows that were read, and a gradient of another dtype.
#[test]
fn ids_of_any_dtype_and_decay() {
    let device = Device::flex().autodiff();
    let start = table(&device);
    let list = |dtype| Tensor::<1, Int>::from_data(TensorData::from([1i64, 3]), (&device, dtype));
    let want = {
        let (x, read) = start.select(list(DType::I32));
        RowSgd::new().step(0.5, start.clone(), read.grad(&loss(x, 0).backward()).unwrap())
    };
    for dtype in [DType::U8, DType::I64, DType::U32] {
        let (x, read) = start.select(list(dtype));
        let grad = read.grad(&loss(x, 0).backward()).unwrap();
        assert_eq!(numbers(RowSgd::new().step(0.5, start.clone(), grad).weight.val()), numbers(want.weight.val()));
    }
    let batch = CsrTensor::<2>::from_triplets(&[0], &[2], &[1.0], [1, 5], (&device, DType::F64)).unwrap();
    let (by_ids, by_batch) = (start.select(list(DType::I64)), start.matmul(&batch));
    let grads = (by_ids.0.sum() + by_batch.0.sum()).backward();
    let sum = RowSparseGrad::sum(vec![by_ids.1.grad(&grads).unwrap(), by_batch.1.grad(&grads).unwrap()]);
    assert_eq!(numbers(sum.ids().float()), [1.0, 2.0, 3.0]);

    let rows = by_ids.1.rows();
    let decayed = by_ids.1.grad(&grads).unwrap().map(|grad| grad + rows.mul_scalar(0.5));
    assert!(!decayed.rows().is_tracked());
    let stepped = RowAdamConfig::new().init(&start).step(0.1, start.clone(), decayed);
    assert!(stepped.weight.is_require_grad());
    assert_eq!(sum.clone().try_map(|rows| rows.narrow(1, 0, 1)).unwrap_err().kind(), "shape_mismatch");
    assert_eq!(sum.try_map(|rows| rows.cast(DType::F32)).unwrap_err().kind(), "dtype_mismatch");
    let trouble = start.try_select(list(DType::I64).mul_scalar(4)).unwrap_err().to_string();
    assert!(trouble.contains("12") && trouble.contains("position 1"), "{trouble}");
}
