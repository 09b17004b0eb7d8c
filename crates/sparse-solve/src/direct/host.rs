//! Numbers of the host: compressed rows, columns of right-hand sides, threads.

use burn::tensor::{DType, Device, Tensor, TensorData};
use faer::Mat;
use faer::Par;
use faer::sparse::FaerError;
use sparse_ops::extend::{read_data, threads};

/// A transposed matrix: pointers, indices, and the position of each element in the first one.
pub(super) type Turned = [Vec<usize>; 3];

/// A list of zeros, which may be longer than there is memory for.
pub(super) fn zeros<T: Clone + Default>(count: usize) -> Result<Vec<T>, FaerError> {
    let mut out = Vec::new();
    out.try_reserve_exact(count).map_err(|_| FaerError::OutOfMemory)?;
    out.resize(count, T::default());
    Ok(out)
}

/// The rows of a matrix by columns. Cost: `O(nnz + cols)`.
pub(super) fn turn(cols: usize, ptr: &[usize], idx: &[usize]) -> Result<Turned, FaerError> {
    let mut starts = zeros(cols.checked_add(1).ok_or(FaerError::IndexOverflow)?)?;
    idx.iter().for_each(|&col| starts[col + 1] += 1);
    (0..cols).for_each(|col| starts[col + 1] += starts[col]);
    let mut next = zeros(starts.len())?;
    next.copy_from_slice(&starts);
    let (mut rows, mut from) = (zeros(idx.len())?, zeros(idx.len())?);
    for (row, ends) in ptr.windows(2).enumerate() {
        for at in ends[0]..ends[1] {
            let place = &mut next[idx[at]];
            (rows[*place], from[*place]) = (row, at);
            *place += 1;
        }
    }
    Ok([starts, rows, from])
}

/// The inverse of a permutation.
pub(super) fn inverted(order: &[usize]) -> Vec<usize> {
    let mut out = vec![0; order.len()];
    order.iter().enumerate().for_each(|(at, &own)| out[own] = at);
    out
}

/// Values of a device as f64.
pub(super) fn numbers<const D: usize>(x: Tensor<D>) -> Vec<f64> {
    let data = read_data(x);
    match data.dtype() {
        DType::F64 => data.as_slice::<f64>().expect("its dtype").to_vec(),
        _ => data.as_slice::<f32>().expect("checked: f32 or f64").iter().map(|&x| x.into()).collect(),
    }
}

/// Numbers of the host in a dtype of a device.
pub(super) fn tensor<const D: usize>(list: Vec<f64>, shape: [usize; D], device: &Device, dtype: DType) -> Tensor<D> {
    let data = match dtype {
        DType::F64 => TensorData::new(list, shape),
        _ => TensorData::new(list.into_iter().map(|x| x as f32).collect(), shape),
    };
    Tensor::from_data(data, (&device.clone().inner(), dtype))
}

/// Rows `[rows, width]` of one of several matrices, as columns.
pub(super) fn columns(list: &[f64], width: usize, rows: std::ops::Range<usize>) -> Mat<f64> {
    Mat::from_fn(rows.len(), width, |row, col| list[(rows.start + row) * width + col])
}

/// The rows of columns, one after the other.
pub(super) fn by_rows(x: &Mat<f64>) -> impl Iterator<Item = f64> + '_ {
    (0..x.nrows()).flat_map(move |row| (0..x.ncols()).map(move |col| x[(row, col)]))
}

/// How faer shares the work of one matrix. Of several matrices take what [`each`] gives: one thread each.
pub(super) fn par() -> Par {
    match threads() {
        0 | 1 => Par::Seq,
        count => Par::rayon(count),
    }
}

/// `job` of each number below `count`, in order. Threads share several; one has all threads in its own kernels.
pub(super) fn each<T: Send>(count: usize, job: impl Fn(usize, Par) -> T + Sync) -> Vec<T> {
    if count == 1 {
        return vec![job(0, par())];
    }
    let workers = threads().min(count);
    if workers <= 1 {
        return (0..count).map(|at| job(at, Par::Seq)).collect();
    }
    let share = count.div_ceil(workers);
    std::thread::scope(|scope| {
        let start = |worker: usize| {
            let job = &job;
            let own = worker * share..((worker + 1) * share).min(count);
            scope.spawn(move || own.map(|at| job(at, Par::Seq)).collect::<Vec<T>>())
        };
        let started: Vec<_> = (0..workers).map(start).collect();
        let join = |handle: std::thread::ScopedJoinHandle<'_, Vec<T>>| {
            handle.join().unwrap_or_else(|trouble| std::panic::resume_unwind(trouble))
        };
        started.into_iter().flat_map(join).collect()
    })
}
