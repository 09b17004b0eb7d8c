//! Arrays of NumPy and sparse matrices of SciPy in a pickle.

use super::pickle::{Pickle, Value};
use burn::tensor::TensorData;
use sparse_files::io::npy;
use sparse_ops::dtype_name;

/// An array of NumPy in a pickle: shape, whether in Fortran order, elements.
pub(super) fn array(pickle: &Pickle<'_>, value: Value) -> Result<(Vec<usize>, bool, TensorData), String> {
    let class = pickle.class(value).unwrap_or("none");
    if !matches!(class, "numpy.core.multiarray _reconstruct" | "numpy._core.multiarray _reconstruct") {
        return Err(format!("an array of NumPy is due, got {class}"));
    }
    const RULE: &str = "an array must have its shape, dtype, order and bytes";
    let state = pickle.object(value).and_then(|object| pickle.list(object.state?)).ok_or(RULE)?;
    let &[_, shape, descr, fortran, bytes] = &state[..] else { return Err(RULE.into()) };
    let shape = pickle.list(shape).ok_or(RULE)?.iter().map(|&size| match size {
        Value::Int(size) => usize::try_from(size).ok(),
        _ => None,
    });
    let shape: Vec<usize> = shape.collect::<Option<_>>().ok_or(RULE)?;
    let dtype_object = pickle.object(descr).filter(|_| pickle.class(descr) == Some("numpy dtype")).ok_or(RULE)?;
    let name = pickle.list(dtype_object.args).and_then(|args| pickle.text(*args.first()?)).ok_or(RULE)?;
    let order = dtype_object.state.and_then(|state| pickle.text(*pickle.list(state)?.get(1)?)).unwrap_or("|");
    let dtype = format!("{order}{name}");
    let elements = npy::elements(&dtype, &pickle.bytes(bytes).ok_or(RULE)?)?;
    let count = shape.iter().try_fold(1usize, |all, &size| all.checked_mul(size));
    if count != Some(elements.num_elements()) {
        return Err(format!("the shape {shape:?} must fit {} elements of {dtype}", elements.num_elements()));
    }
    Ok((shape, matches!(fortran, Value::Bool(true) | Value::Int(1)), elements))
}

pub(super) fn integers(pickle: &Pickle<'_>, value: Value) -> Result<Vec<i64>, String> {
    let (_, _, elements) = array(pickle, value)?;
    match elements.dtype() {
        dtype if dtype.is_int() || dtype.is_uint() => Ok(elements.iter().collect()),
        other => Err(format!("an array of integers is due, got {}", dtype_name(other))),
    }
}

/// The rows of a sparse matrix; of a `csc_matrix` its columns.
pub(super) struct Rows {
    pub(super) cols: usize,
    pub(super) ptr: Vec<usize>,
    pub(super) idx: Vec<i64>,
    pub(super) values: Vec<f64>,
}

impl Rows {
    /// A `csr_matrix` or `csc_matrix`, as `layout` says.
    pub(super) fn read(pickle: &Pickle<'_>, value: Value, layout: &str) -> Result<Self, String> {
        let parts = Parts::read(pickle, value, layout)?;
        let (ptr, idx) = (parts.integers("indptr")?, parts.integers("indices")?);
        let (values, [mut rows, mut cols]) = (parts.values()?, parts.shape()?);
        if layout == "csc" {
            (rows, cols) = (cols, rows);
        }
        let ends = ptr.first() == Some(&0) && ptr.last() == Some(&(idx.len() as i64)) && ptr.is_sorted();
        if !ends || ptr.len() != rows.saturating_add(1) {
            return Err(format!("indptr must run from 0 to {} over {rows} rows", idx.len()));
        }
        if values.len() != idx.len() {
            return Err(format!("data must have {} elements as indices has, got {}", idx.len(), values.len()));
        }
        if let Some(col) = idx.iter().find(|&&col| col < 0 || col >= cols as i64) {
            return Err(format!("a column must be in [0, {cols}), got {col}"));
        }
        Ok(Self { cols, ptr: ptr.into_iter().map(|end| end as usize).collect(), idx, values })
    }

    pub(super) fn count(&self) -> usize {
        self.ptr.len() - 1
    }
}

/// A shape, and row, column and value of each element.
pub(super) type Triplets = ([usize; 2], Vec<(usize, usize, f64)>);

/// The elements of a sparse matrix of SciPy (csr, csc, coo).
pub(super) fn triplets(pickle: &Pickle<'_>, value: Value) -> Result<Triplets, String> {
    let layout = pickle.class(value).unwrap_or("none").rsplit(' ').next().unwrap_or("").get(..3).unwrap_or("");
    if layout != "coo" {
        let layout = if layout == "csc" { "csc" } else { "csr" };
        let own = Rows::read(pickle, value, layout)?;
        let line = |row: usize| (own.ptr[row]..own.ptr[row + 1]).map(move |at| (row, at));
        let all = (0..own.count()).flat_map(line).map(|(row, at)| (row, own.idx[at] as usize, own.values[at]));
        return Ok(match layout {
            "csc" => ([own.cols, own.count()], all.map(|(col, row, value)| (row, col, value)).collect()),
            _ => ([own.count(), own.cols], all.collect()),
        });
    }
    let parts = Parts::read(pickle, value, layout)?;
    let (shape, values) = (parts.shape()?, parts.values()?);
    // SciPy 1.13 and later have both in a tuple.
    let [rows, cols] = match parts.value("coords").ok().and_then(|coords| pickle.list(coords)).map(Vec::as_slice) {
        Some(&[rows, cols]) => [integers(pickle, rows)?, integers(pickle, cols)?],
        _ => [parts.integers("row")?, parts.integers("col")?],
    };
    if rows.len() != values.len() || cols.len() != values.len() {
        let lengths = [rows.len(), cols.len(), values.len()];
        return Err(format!("the rows, columns and values must be of one length, got {lengths:?}"));
    }
    let inside = |place: i64, size: usize| usize::try_from(place).ok().filter(|&place| place < size);
    let element = |((row, col), value)| match inside(row, shape[0]).zip(inside(col, shape[1])) {
        Some((row, col)) => Ok((row, col, value)),
        None => Err(format!("an element must lie in {shape:?}, got ({row}, {col})")),
    };
    Ok((shape, rows.into_iter().zip(cols).zip(values).map(element).collect::<Result<_, _>>()?))
}

/// The attributes of a sparse matrix.
struct Parts<'a> {
    pickle: &'a Pickle<'a>,
    state: &'a [(Value, Value)],
}

impl<'a> Parts<'a> {
    fn read(pickle: &'a Pickle<'a>, value: Value, layout: &str) -> Result<Self, String> {
        let class = pickle.class(value).unwrap_or("none");
        if !["matrix", "array"].iter().any(|kind| class.ends_with(&format!(" {layout}_{kind}"))) {
            return Err(format!("a {layout}_matrix of SciPy is due, got {class}"));
        }
        let state = pickle.object(value).and_then(|object| pickle.entries(object.state?));
        Ok(Self { pickle, state: state.ok_or("a matrix must have its arrays")? })
    }

    fn value(&self, name: &str) -> Result<Value, String> {
        let found = self.state.iter().rev().find(|(key, _)| self.pickle.text(*key) == Some(name));
        found.map(|&(_, value)| value).ok_or_else(|| format!("a matrix must have {name}, got none"))
    }

    fn integers(&self, name: &str) -> Result<Vec<i64>, String> {
        integers(self.pickle, self.value(name)?).map_err(|trouble| format!("{name}: {trouble}"))
    }

    fn values(&self) -> Result<Vec<f64>, String> {
        let (_, _, values) = array(self.pickle, self.value("data")?).map_err(|trouble| format!("data: {trouble}"))?;
        Ok(values.iter().collect())
    }

    fn shape(&self) -> Result<[usize; 2], String> {
        let shape = self.value("_shape").or_else(|_| self.value("shape"))?;
        match self.pickle.list(shape).map(Vec::as_slice) {
            Some(&[Value::Int(rows @ 0..), Value::Int(cols @ 0..)]) => Ok([rows as usize, cols as usize]),
            _ => Err("the shape of a matrix must be two sizes".into()),
        }
    }
}
