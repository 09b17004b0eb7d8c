//! Printing.

use super::sparse::SparseTensor;
use crate::base::kind::{Kind, dtype_name};
use crate::pattern::layout::Pattern;
use burn::tensor::TensorData;
use sparse_burn::read_data;
use std::fmt;

/// How many entries are printed.
const SHOWN: usize = 8;

impl<P: Pattern, const D: usize, K: Kind> fmt::Display for SparseTensor<P, D, K> {
    /// Shape, nnz, density, fill and the first entries. Reads the device.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shape = self.dims();
        let cells: f64 = self.pattern.shape().iter().map(|&size| size as f64).product();
        let density = if cells > 0.0 { self.nnz() as f64 / cells * 100.0 } else { 0.0 };
        write!(f, "{} tensor {shape:?} {}, nnz {}", P::LAYOUT, dtype_name(self.dtype()), self.nnz())?;
        write!(f, " ({density:.4} %), fill {}", self.fill)?;
        if !self.is_coalesced() {
            write!(f, ", not coalesced")?;
        }
        if self.nnz() == 0 {
            return Ok(());
        }
        let (shown, dims) = (self.nnz().min(SHOWN), self.sparse_dims());
        let heads = read_data(self.pattern.coordinates().clone().narrow(1, 0, shown));
        let heads: Vec<i64> = heads.convert::<i64>().iter().collect();
        let values = read_data(self.values.clone().inner().narrow(0, 0, shown));
        let block = self.block();
        for k in 0..shown {
            let at: Vec<String> = (0..dims).map(|dim| heads[dim * shown + k].to_string()).collect();
            write!(f, "\n  ({}) {}", at.join(", "), entry(&values, k * block, block))?;
        }
        if shown < self.nnz() { write!(f, "\n  .. {} more", self.nnz() - shown) } else { Ok(()) }
    }
}

/// The values of one stored element.
fn entry(values: &TensorData, from: usize, block: usize) -> String {
    let shown: Vec<String> = match values.dtype() {
        dtype if dtype.is_float() => values.iter::<f64>().skip(from).take(block).map(|v| format!("{v:.4}")).collect(),
        dtype if dtype.is_bool() => values.iter::<bool>().skip(from).take(block).map(|v| v.to_string()).collect(),
        _ => values.iter::<i64>().skip(from).take(block).map(|v| v.to_string()).collect(),
    };
    if let [one] = &shown[..] { one.clone() } else { format!("[{}]", shown.join(", ")) }
}

impl<P: Pattern, const D: usize, K: Kind> fmt::Debug for SparseTensor<P, D, K> {
    /// The same as `Display`: in a failed assertion the elements matter. Reads the device.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
