//! The entry `layout` of a record, and numbers as every device can hold them.

use super::param::SparseParam;
use crate::base::index::read_all;
use crate::kernel::Arrays;
use crate::pattern::coo::CooPattern;
use crate::pattern::csr::CsrPattern;
use crate::pattern::layout::Pattern;
use crate::tensor::fill::{Fill, FillValue};
use burn::tensor::{DType, Device, Int, Tensor, TensorData};

const VERSION: u64 = 1;
/// The largest rank that a record may name.
const MOST_DIMS: u64 = 64;

/// The numbers of the entry `layout`.
pub(super) struct Layout {
    version: u64,
    layout: u64,
    pub(super) rank: u64,
    sparse_dims: u64,
    pub(super) nnz: u64,
    /// 0 zero, 1 undefined, 2 one number, 3 a tensor.
    pub(super) fill: u64,
    /// How many numbers the entry `fill` has.
    pub(super) fills: u64,
}

impl Layout {
    pub(super) const LEN: usize = 7;

    pub(super) fn of<P: Pattern, const D: usize>(param: &SparseParam<P, D>) -> Self {
        let (fill, fills) = match &param.fill {
            Fill::Zero => (0, 0),
            Fill::Undefined => (1, 0),
            Fill::Value(FillValue::Scalar(_)) => (2, 1),
            Fill::Value(FillValue::Block(block)) => (3, block.row().dims()[1] as u64),
        };
        let layout = u64::from(matches!(param.pattern.arrays(), Arrays::Csr(..)));
        let [rank, sparse_dims, nnz] = [D, param.pattern.shape().len(), param.nnz()].map(|size| size as u64);
        Self { version: VERSION, layout, rank, sparse_dims, nnz, fill, fills }
    }

    pub(super) fn numbers(&self) -> [u64; Self::LEN] {
        [self.version, self.layout, self.rank, self.sparse_dims, self.nnz, self.fill, self.fills]
    }

    pub(super) fn from_numbers(numbers: &[u64]) -> Option<Self> {
        let &[version, layout, rank, sparse_dims, nnz, fill, fills] = numbers else { return None };
        Some(Self { version, layout, rank, sparse_dims, nnz, fill, fills })
    }

    fn name(&self) -> String {
        match self.layout {
            0 => CooPattern::LAYOUT.into(),
            1 => CsrPattern::LAYOUT.into(),
            other => format!("number {other}"),
        }
    }

    /// Whether a parameter with this layout can take the record's. The error says what is missing for that, and what
    /// the record has.
    pub(super) fn check(&self, record: &Self, block: usize) -> Result<(), String> {
        let Self { version, sparse_dims, .. } = self;
        if record.version != *version {
            return Err(format!("layout of version {version} (the record has version {})", record.version));
        }
        if record.layout != self.layout {
            return Err(format!("layout {} (the record has {})", self.name(), record.name()));
        }
        if record.rank > MOST_DIMS {
            return Err(format!("shape of rank {} (the record has rank {})", self.rank, record.rank));
        }
        if record.rank == self.rank && record.sparse_dims != *sparse_dims {
            return Err(format!("layout of {sparse_dims} sparse dims (the record has {})", record.sparse_dims));
        }
        let fill_fits = match (record.fill, record.fills) {
            (0 | 1, fills) => fills == 0,
            (2, fills) => fills == 1,
            (3, fills) => fills == 1 || fills == block as u64,
            _ => false,
        };
        if !fill_fits {
            let (kind, fills) = (record.fill, record.fills);
            return Err(format!("fill of 1 or {block} numbers (the record has kind {kind} with {fills})"));
        }
        if record.nnz > i64::MAX as u64 {
            return Err(format!("layout of at most {} elements (the record has {})", i64::MAX, record.nnz));
        }
        Ok(())
    }
}

/// Numbers as `[n, 2]` words of 32 bits, the lower one first: every device has i32.
pub(super) fn to_words(numbers: &[u64], device: &Device) -> Tensor<2, Int> {
    let words = numbers.iter().flat_map(|&number| [number as u32 as i32, (number >> 32) as u32 as i32]);
    let data = TensorData::new(words.collect::<Vec<i32>>(), [numbers.len(), 2]);
    Tensor::from_data(data, (device, DType::I32))
}

pub(super) fn from_words(words: Tensor<2, Int>) -> Vec<u64> {
    let words = read_all(words);
    words.chunks_exact(2).map(|pair| u64::from(pair[0] as u32) | (u64::from(pair[1] as u32) << 32)).collect()
}
