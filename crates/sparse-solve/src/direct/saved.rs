//! Factors in a file.

use super::blocks::Blocks;
use super::core::Core;
use super::factor::Factor;
use super::host::tensor;
use super::kind::Factorization;
use super::plan::{Known, Symbolic};
use super::structure::{Source, Structure};
use super::system::{Numeric, Place, System, check};
use burn::tensor::{DType, Device};
use faer::sparse::linalg::cholesky::SymbolicCholeskyRaw;
use sparse_ops::extend::{csr_pattern, ints};
use sparse_ops::{Result, SparseError};
use std::path::Path;
use std::sync::Arc;

const MAGIC: &[u8; 8] = b"spfact01";
const KINDS: [Factorization; 4] = [Factorization::Cholesky, Factorization::Ldlt, Factorization::Lu, Factorization::Qr];

impl Factor {
    /// Writes the factors to a file. What faer lets out is written: of `Cholesky` and `Ldlt` of one matrix the order
    /// and the numbers of the factor, so that a load takes neither the search for an order nor the numeric phase. Of
    /// the others, and of a batch, it is the matrix, which is factored again.
    ///
    /// The file is little-endian: `spfact01`, then numbers of 64 bits. They are the kind (0 to 3, as in
    /// [`Factorization`]), whether it is a batch, whether the dtype is f64, the steps of refinement, systems, rows and
    /// columns; the row pointers, the number of elements, their columns and their values (f64); 1 if the factor
    /// follows, whether it has blocks, the order, the number of its elements and these (f64).
    ///
    /// # Errors
    ///
    /// `invalid` if the file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        const OP: &str = "Factor::save";
        let core = &self.core;
        let [systems, rows, cols] = core.structure.sizes;
        let mut out = Writer(MAGIC.to_vec());
        let kind = KINDS.iter().position(|kind| *kind == core.how).expect("all kinds");
        let double = usize::from(self.values.dtype() == DType::F64);
        for number in [kind, core.batched.into(), double, self.steps, systems, rows, cols] {
            out.number(number);
        }
        out.number(0);
        let mut last = 0;
        let mut columns = vec![];
        for (system, own) in core.systems.iter().enumerate() {
            own.plan.ptr[1..].iter().for_each(|end| out.number(last + end));
            last += own.plan.idx.len();
            columns.extend(own.plan.idx.iter().map(|col| col + system * cols));
        }
        if core.systems.is_empty() {
            (0..systems * rows).for_each(|_| out.number(0));
        }
        out.number(columns.len());
        columns.iter().for_each(|&col| out.number(col));
        core.systems.iter().flat_map(|own| &own.values).for_each(|&value| out.float(value));
        match core.systems.as_slice() {
            [System { plan, numeric: Numeric::Llt(list) | Numeric::Ldlt(list), .. }] => {
                let Symbolic::Symmetric { symbolic, .. } = &plan.symbolic else { unreachable!("of that family") };
                let blocks = matches!(symbolic.raw(), SymbolicCholeskyRaw::Supernodal(_));
                out.number(1);
                out.number(blocks.into());
                let order = symbolic.perm().expect("ordered by AMD").arrays().0;
                order.iter().for_each(|&row| out.number(row));
                out.number(list.len());
                list.iter().for_each(|&value| out.float(value));
            }
            _ => out.number(0),
        }
        std::fs::write(path.as_ref(), out.0).map_err(|trouble| of_file(OP, path.as_ref(), &trouble.to_string()))
    }

    /// Reads factors that [`save`](Self::save) wrote, to a device. They are not on the tape: for gradients with respect
    /// to a matrix give it to [`refactorize`](Self::refactorize).
    ///
    /// # Errors
    ///
    /// `invalid` if the file cannot be read, or is none of these; those of [`try_factorize`](crate::try_factorize()).
    pub fn load(path: impl AsRef<Path>, device: &Device) -> Result<Self> {
        const OP: &str = "Factor::load";
        let wrong = |what: &str| of_file(OP, path.as_ref(), what);
        let bytes = std::fs::read(path.as_ref()).map_err(|trouble| wrong(&trouble.to_string()))?;
        let Some(rest) = bytes.strip_prefix(MAGIC) else { return Err(wrong("it must begin with spfact01")) };
        let mut input = Reader(rest);
        let short = || wrong("it must not end early, and its sizes must fit");
        let read = Saved::read(&mut input).ok_or_else(short)?;
        let Saved { how, batched, double, steps, sizes, ptr, idx, values, factor } = read;
        let [systems, rows, cols] = sizes;
        let shape = [systems * rows, systems * cols];
        let counts = [ptr.len(), idx.len()];
        let list = |list: Vec<usize>| list.into_iter().map(|at| at as i64).collect::<Vec<_>>();
        let (ptr, idx) = (ints(list(ptr), [counts[0]], device), ints(list(idx), [counts[1]], device));
        let pattern = csr_pattern(OP, ptr, idx, &shape)?;
        let source = match &factor {
            Some(own) => Source::Order(Known { order: &own.order, blocks: own.blocks }),
            None => Source::Pattern,
        };
        let structure = Arc::new(Structure::new(OP, &pattern, sizes, how.family(), source)?);
        let dtype = if double { DType::F64 } else { DType::F32 };
        let values_tensor = tensor(values.clone(), [counts[1], 1], device, dtype);
        let kept = factor.zip(structure.plans.first().and_then(|(plan, _)| plan.clone()));
        let Some((own, plan)) = kept else {
            return Ok(Self { steps, ..Self::new(OP, structure, values_tensor, how, batched)? });
        };
        let Symbolic::Symmetric { symbolic, .. } = &plan.symbolic else { return Err(short()) };
        if symbolic.len_val() != own.list.len() {
            return Err(wrong("its factor must have the elements of its matrix's order"));
        }
        check(Place { op: OP, system: None }, &plan, how, &values)?;
        if own.list.iter().any(|number| !number.is_finite()) {
            return Err(wrong("the numbers of its factor must be finite"));
        }
        let positive = how == Factorization::Cholesky;
        if Blocks::new(symbolic, &own.list).diagonal().any(|own| own == 0.0 || (positive && own < 0.0)) {
            return Err(wrong("the pivots of its factor must not be zero, and of Cholesky be positive"));
        }
        let numeric = match how {
            Factorization::Cholesky => Numeric::Llt(own.list),
            _ => Numeric::Ldlt(own.list),
        };
        let systems = vec![System::of_parts(plan.clone(), values, numeric)];
        Ok(Self { values: values_tensor, core: Arc::new(Core { how, structure, systems, batched }), steps })
    }
}

fn of_file(op: &'static str, path: &Path, what: &str) -> SparseError {
    SparseError::invalid(op, format!("{}: {what}", path.display()))
}

struct Writer(Vec<u8>);

impl Writer {
    fn number(&mut self, number: usize) {
        self.0.extend((number as u64).to_le_bytes());
    }

    fn float(&mut self, number: f64) {
        self.0.extend(number.to_le_bytes());
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn eight(&mut self) -> Option<[u8; 8]> {
        let (own, rest) = self.0.split_first_chunk::<8>()?;
        self.0 = rest;
        Some(*own)
    }

    fn number(&mut self) -> Option<usize> {
        usize::try_from(u64::from_le_bytes(self.eight()?)).ok()
    }

    fn flag(&mut self) -> Option<bool> {
        self.number().filter(|&number| number <= 1).map(|number| number == 1)
    }

    /// A list that the rest of the file is long enough for.
    fn all<T>(&mut self, count: usize, read: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        if count > self.0.len() / 8 {
            return None;
        }
        (0..count).map(|_| read(self)).collect()
    }

    fn numbers(&mut self, count: usize) -> Option<Vec<usize>> {
        self.all(count, Self::number)
    }

    fn floats(&mut self, count: usize) -> Option<Vec<f64>> {
        self.all(count, |own| own.eight().map(f64::from_le_bytes))
    }
}

/// More steps of refinement are no numbers of a user.
const STEPS: usize = 1000;

struct Saved {
    how: Factorization,
    batched: bool,
    double: bool,
    steps: usize,
    sizes: [usize; 3],
    ptr: Vec<usize>,
    idx: Vec<usize>,
    values: Vec<f64>,
    factor: Option<Order>,
}

struct Order {
    blocks: bool,
    order: Vec<usize>,
    list: Vec<f64>,
}

impl Saved {
    fn read(input: &mut Reader<'_>) -> Option<Self> {
        let how = *KINDS.get(input.number()?)?;
        let [batched, double] = [input.flag()?, input.flag()?];
        let steps = input.number().filter(|&steps| steps <= STEPS)?;
        let sizes = [input.number()?, input.number()?, input.number()?];
        let [systems, rows, cols] = sizes;
        if !batched && systems != 1 {
            return None;
        }
        let ptr = input.numbers(systems.checked_mul(rows)?.checked_add(1)?)?;
        systems.checked_mul(cols)?;
        let nnz = input.number()?;
        let (idx, values) = (input.numbers(nnz)?, input.floats(nnz)?);
        let inside = |row: usize, own: &usize| *own / cols.max(1) == row / rows.max(1);
        let ends = ptr.windows(2).enumerate();
        let fits = ends
            .clone()
            .all(|(row, ends)| idx.get(ends[0]..ends[1]).is_some_and(|own| own.iter().all(|col| inside(row, col))));
        if !fits || (how != Factorization::Qr && rows != cols) {
            return None;
        }
        let factor = match input.flag()? {
            false => None,
            _ if !how.is_symmetric() || systems != 1 => return None,
            _ => {
                let (blocks, order) = (input.flag()?, input.numbers(rows)?);
                let mut seen = vec![false; rows];
                for &row in &order {
                    if std::mem::replace(seen.get_mut(row)?, true) {
                        return None;
                    }
                }
                let count = input.number()?;
                Some(Order { blocks, order, list: input.floats(count)? })
            }
        };
        input.0.is_empty().then_some(Self { how, batched, double, steps, sizes, ptr, idx, values, factor })
    }
}
