//! Arrays to sparse matrices, one function for each format of SciPy.

use super::archive::{Directory, OP, invalid, shape_error};
use crate::io::npy::array::Input;
use crate::io::npy::array::Ints;
use crate::io::npy::header::Header;
use crate::io::source::Progress;
use burn::tensor::{DType, Device, Int, Tensor, TensorCreationOptions, TensorData};
use sparse_ops::extend;
use sparse_ops::extend::{
    Parts, check_rows, check_shape, converted, coo_pattern, csr_pattern, has_dtype, index_dtype_for, index_tensor,
    ints, read_all,
};
use sparse_ops::pattern::{CsrPattern, Pattern};
use sparse_ops::{CooTensor, CsrTensor, Kind, Result, SparseError, SparseTensor};
use std::any::TypeId;

/// What the arrays are read with.
pub(super) struct Reader<'a, 's, 'p> {
    pub(super) directory: &'a mut Directory<'s>,
    pub(super) options: TensorCreationOptions,
    pub(super) progress: &'a mut Progress<'p>,
}

impl Reader<'_, '_, '_> {
    /// The sparse matrix of an archive, in the layout asked for.
    pub(super) fn matrix<P: Pattern, K: Kind>(&mut self) -> Result<SparseTensor<P, 2, K>> {
        let text = |header: &Header, input: &mut dyn Input| header.text(input).map_err(invalid);
        let format = self.directory.array("format", self.progress, text)?;
        let shape = self.shape()?;
        match format.as_str() {
            "csr" => Ok(in_layout(self.csr(shape)?)),
            "csc" => Ok(in_layout(self.csc(shape)?)),
            "bsr" => Ok(in_layout(self.bsr(shape)?)),
            "coo" if TypeId::of::<P>() == TypeId::of::<CsrPattern>() => Ok(in_layout(compressed(&self.coo(shape)?)?)),
            "coo" => Ok(in_layout(self.coo(shape)?)),
            other => {
                let message = format!("the format must be csr, csc, coo or bsr (tocsr() in SciPy), got {other:?}");
                Err(invalid(message))
            }
        }
    }

    fn shape(&mut self) -> Result<[usize; 2]> {
        let sizes = self.numbers("shape")?;
        let sizes: Vec<i64> = match sizes {
            Ints::Narrow(sizes) => sizes.into_iter().map(i64::from).collect(),
            Ints::Wide(sizes) => sizes,
        };
        match sizes[..] {
            [rows, cols] if rows >= 0 && cols >= 0 => Ok([rows as usize, cols as usize]),
            _ => {
                let shown = &sizes[..sizes.len().min(8)];
                Err(invalid(format!("shape.npy: the shape must be two sizes that are not negative, got {shown:?}")))
            }
        }
    }

    /// An array of integers with one dim.
    fn numbers(&mut self, name: &str) -> Result<Ints> {
        self.directory.array(name, self.progress, |header, input| {
            if header.shape.len() != 1 {
                return Err(shape_error("an array of indices must have one dim, got {left}", &header.shape, &[]));
            }
            header.ints(input).map_err(invalid)
        })
    }

    /// The values, whose shape has so many dims.
    fn values<K: Kind, const R: usize>(&mut self) -> Result<([usize; R], TensorData)> {
        let (shape, data) = self.directory.array("data", self.progress, |header, input| {
            let Ok(shape) = <[usize; R]>::try_from(header.shape.clone()) else {
                return Err(shape_error("`data` must have {right:1} dims, got shape {left}", &header.shape, &[R]));
            };
            if header.fortran && R > 1 {
                return Err(invalid("the elements must be in C order, got Fortran order".into()));
            }
            Ok((shape, header.numbers(input, vec![header.count]).map_err(invalid)?))
        })?;
        Ok((shape, converted::<K>(OP, data, self.options.dtype, &self.options.device)?))
    }

    fn upload<K: Kind>(&self, data: TensorData) -> Tensor<1, K> {
        let dtype = data.dtype();
        Tensor::from_data(data, (&self.options.device, dtype))
    }

    fn nothing<K: Kind>(&self, dtype: DType) -> Tensor<1, K> {
        Tensor::empty([0], (&self.options.device, dtype))
    }

    /// Row pointers and columns, and values.
    fn compressed<K: Kind>(&mut self) -> Result<(Ints, Ints, TensorData)> {
        let (row_ptr, mut col_idx) = (self.numbers("indptr")?, self.numbers("indices")?);
        let (_, mut values) = self.values::<K, 1>()?;
        // SciPy ignores what its arrays have after the last row.
        let stored = row_ptr.last().and_then(|last| usize::try_from(last).ok());
        if let Some(stored) = stored.filter(|&stored| stored < col_idx.len() && stored < values.num_elements()) {
            col_idx.truncate(stored);
            let (bytes, _, dtype) = values.into_parts();
            values = TensorData::from_bytes_vec(bytes[..stored * dtype.size()].to_vec(), [stored], dtype);
        }
        Ok((row_ptr, col_idx, values))
    }

    fn csr<K: Kind>(&mut self, shape: [usize; 2]) -> Result<CsrTensor<2, K>> {
        let (row_ptr, col_idx, values) = self.compressed::<K>()?;
        self.rows(row_ptr, col_idx, self.upload(values), shape)
    }

    /// A matrix of compressed rows. SciPy's may be in any order in a row, and may repeat.
    fn rows<K: Kind>(
        &self,
        row_ptr: Ints,
        col_idx: Ints,
        values: Tensor<1, K>,
        shape: [usize; 2],
    ) -> Result<CsrTensor<2, K>> {
        let (pointers, columns) = ([row_ptr.len()], [col_idx.len()]);
        let row_ptr = upload(row_ptr, pointers, &shape, &self.options.device)?;
        let col_idx = upload(col_idx, columns, &shape, &self.options.device)?;
        if values.dims() != columns {
            return Err(SparseError::length_mismatch(OP, "`data`", columns[0], values.dims()[0]));
        }
        match csr_pattern(OP, row_ptr.clone(), col_idx.clone(), &shape) {
            Ok(pattern) => CsrTensor::from_pattern(pattern, values),
            Err(SparseError::UnsortedColumns { .. }) => {
                let ids = row_ids(&read_all(row_ptr), columns[0])?;
                let ids = ints(ids, [1, columns[0]], &self.options.device.clone().inner());
                let (col_idx, ids) = same_dtype(col_idx.reshape([1, columns[0]]), ids);
                compressed(&CooTensor::new(Tensor::cat(vec![ids, col_idx], 0), values, shape)?)
            }
            Err(trouble) => Err(trouble),
        }
    }

    fn csc<K: Kind>(&mut self, [rows, cols]: [usize; 2]) -> Result<CsrTensor<2, K>> {
        let (col_ptr, row_idx, values) = self.compressed::<K>()?;
        // The transpose has a pointer for every row.
        check_rows(OP, rows, row_idx.len() + col_ptr.len())?;
        self.rows(col_ptr, row_idx, self.upload(values), [cols, rows])?.try_transpose()
    }

    fn coo<K: Kind>(&mut self, shape: [usize; 2]) -> Result<CooTensor<2, K>> {
        let indices = if self.directory.has("coords") {
            self.directory.array("coords", self.progress, |header, input| {
                let &[2, _] = &header.shape[..] else {
                    return Err(shape_error("`coords` must be [2, nnz], got {left}", &header.shape, &[]));
                };
                let indices = header.ints(input).map_err(invalid)?;
                Ok(if header.fortran { indices.pairs_split() } else { indices })
            })?
        } else {
            let (row, col) = (self.numbers("row")?, self.numbers("col")?);
            if row.len() != col.len() {
                return Err(SparseError::length_mismatch(OP, "`col`", row.len(), col.len()));
            }
            row.joined(col)
        };
        let (_, values) = self.values::<K, 1>()?;
        let nnz = indices.len() / 2;
        let indices = upload(indices, [2, nnz], &shape, &self.options.device)?;
        if values.num_elements() != nnz {
            return Err(SparseError::length_mismatch(OP, "`data`", nnz, values.num_elements()));
        }
        let pattern = coo_pattern(OP, indices, &shape)?;
        CooTensor::from_pattern(pattern, self.upload::<K>(values))
    }

    /// Blocks `[height, width]`, of which every element is kept.
    fn bsr<K: Kind>(&mut self, [rows, cols]: [usize; 2]) -> Result<CsrTensor<2, K>> {
        let (block_ptr, block_idx) = (self.numbers("indptr")?, self.numbers("indices")?);
        let ([blocks, height, width], values) = self.values::<K, 3>()?;
        let divides = height > 0 && width > 0 && rows % height == 0 && cols % width == 0;
        if !divides {
            let rule = "the blocks {right} must divide the shape {left}";
            return Err(shape_error(rule, &[rows, cols], &[height, width]));
        }
        if block_idx.len() < blocks {
            return Err(SparseError::length_mismatch(OP, "`indices`", blocks, block_idx.len()));
        }
        check_rows(OP, rows, values.num_elements() + block_ptr.len())?;
        let (block_ptr, block_idx) = (block_ptr.wide(), block_idx.wide());
        let expected = rows / height + 1;
        if block_ptr.len() != expected {
            return Err(SparseError::length_mismatch(OP, "`indptr`", expected, block_ptr.len()));
        }
        let stored = block_ptr[expected - 1].clamp(0, blocks as i64) as usize;
        row_ids(&block_ptr, stored)?;
        let bound = (cols / width) as i64;
        if let Some(position) = block_idx[..stored].iter().position(|index| !(0..bound).contains(index)) {
            return Err(SparseError::index_out_of_range(OP, 1, bound as usize, block_idx[position], position));
        }
        let length = stored * height * width;
        let (mut row_ptr, mut col_idx, mut order) =
            (vec![0i64], Vec::with_capacity(length), Vec::with_capacity(length));
        for ends in block_ptr.windows(2) {
            for row in 0..height {
                let first = ends[0] as usize;
                for (block, index) in (first..).zip(&block_idx[first..ends[1] as usize]) {
                    let (col, at) = (index * width as i64, (block * height + row) * width);
                    col_idx.extend(col..col + width as i64);
                    order.extend((at..at + width).map(|at| at as i64));
                }
                row_ptr.push(col_idx.len() as i64);
            }
        }
        let device = self.options.device.clone().inner();
        let values = self.upload::<K>(values);
        let values =
            if length == 0 { self.nothing(values.dtype()) } else { values.select(0, ints(order, [length], &device)) };
        self.rows(Ints::Wide(row_ptr), Ints::Wide(col_idx), values, [rows, cols])
    }
}

/// The row of every element, from row pointers that may be wrong.
fn row_ids(row_ptr: &[i64], nnz: usize) -> Result<Vec<i64>> {
    let wrong = |rule, position: usize| {
        SparseError::invalid_row_ptr(OP, rule, row_ptr.get(position).copied().unwrap_or(0), position)
    };
    if row_ptr.first() != Some(&0) {
        return Err(wrong("start at 0", 0));
    }
    if let Some(at) = row_ptr.windows(2).position(|ends| ends[0] > ends[1]) {
        return Err(wrong("not descend", at + 1));
    }
    if row_ptr.last() != Some(&(nnz as i64)) {
        return Err(wrong("end at the number of elements", row_ptr.len() - 1));
    }
    let mut ids = Vec::with_capacity(nnz);
    for (row, ends) in row_ptr.windows(2).enumerate() {
        ids.resize(ends[1] as usize, row as i64);
    }
    Ok(ids)
}

/// Two index tensors in the wider of their dtypes.
fn same_dtype(a: Tensor<2, Int>, b: Tensor<2, Int>) -> (Tensor<2, Int>, Tensor<2, Int>) {
    if a.dtype() == b.dtype() { (a, b) } else { (index_tensor(a, DType::I64), index_tensor(b, DType::I64)) }
}

/// An index array on the device, in the narrower of the two index dtypes that holds it.
fn upload<const R: usize>(
    indices: Ints,
    shape: [usize; R],
    sizes: &[usize],
    device: &Device,
) -> Result<Tensor<R, Int>> {
    let device = device.clone().inner();
    let indices = match indices {
        Ints::Wide(wide) if wide.iter().all(|&index| i32::try_from(index).is_ok()) => {
            Ints::Narrow(wide.into_iter().map(|index| index as i32).collect())
        }
        other => other,
    };
    let wide = matches!(indices, Ints::Wide(_))
        || index_dtype_for(sizes.iter().copied().chain([indices.len()]).max().unwrap_or(0)) == DType::I64;
    if wide {
        has_dtype(OP, &device, DType::I64)?;
    }
    let (data, dtype) = match indices {
        Ints::Narrow(indices) => (TensorData::new(indices, shape), DType::I32),
        Ints::Wide(indices) => (TensorData::new(indices, shape), DType::I64),
    };
    Ok(Tensor::from_data(data, (&device, dtype)))
}

/// The same matrix in the layout `P`. Elements of compressed rows are in the order of their coordinates.
fn in_layout<P: Pattern, Q: Pattern, K: Kind>(matrix: SparseTensor<Q, 2, K>) -> SparseTensor<P, 2, K> {
    let pattern = extend::in_layout(matrix.pattern());
    SparseTensor::from_parts(pattern, matrix.rows().clone(), vec![], matrix.fill().clone())
}

/// The coordinates as compressed rows.
fn compressed<K: Kind>(matrix: &CooTensor<2, K>) -> Result<CsrTensor<2, K>> {
    check_shape::<CsrPattern>(OP, &matrix.dims(), 3 * matrix.nnz())?;
    matrix.try_to_csr()
}

impl Ints {
    fn len(&self) -> usize {
        match self {
            Self::Narrow(values) => values.len(),
            Self::Wide(values) => values.len(),
        }
    }

    fn last(&self) -> Option<i64> {
        match self {
            Self::Narrow(values) => values.last().map(|&value| value.into()),
            Self::Wide(values) => values.last().copied(),
        }
    }

    fn truncate(&mut self, length: usize) {
        match self {
            Self::Narrow(values) => values.truncate(length),
            Self::Wide(values) => values.truncate(length),
        }
    }

    fn wide(self) -> Vec<i64> {
        match self {
            Self::Narrow(values) => values.into_iter().map(i64::from).collect(),
            Self::Wide(values) => values,
        }
    }

    fn joined(self, other: Self) -> Self {
        match (self, other) {
            (Self::Narrow(mut values), Self::Narrow(more)) => {
                values.extend(more);
                Self::Narrow(values)
            }
            (values, more) => {
                let mut values = values.wide();
                values.extend(more.wide());
                Self::Wide(values)
            }
        }
    }

    /// `[nnz, 2]` to `[2, nnz]`.
    fn pairs_split(self) -> Self {
        let values = self.wide();
        let firsts = values.iter().step_by(2);
        Self::Wide(firsts.chain(values.iter().skip(1).step_by(2)).copied().collect())
    }
}
