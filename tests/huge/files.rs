//! What is printed and written is what is stored.

use crate::inputs::NNZ;
use crate::outcome::done;
use burn::tensor::Device;
use sparse_tensor::SparseTensor;
use sparse_tensor::io::matrix_market;
use sparse_tensor::pattern::Pattern;

pub fn all<P: Pattern>(a: &SparseTensor<P, 2>) {
    for (name, text) in [("Display", format!("{a}")), ("Debug", format!("{a:?}"))] {
        done(name, || text.len());
    }
    let device = Device::flex();
    let folder = tempfile::tempdir().expect("a folder");
    for path in [folder.path().join("floats.mtx"), folder.path().join("integers.mtx")] {
        let integers = path.ends_with("integers.mtx");
        let written = if integers { matrix_market::write(&path, &a.int()) } else { matrix_market::write(&path, a) };
        written.expect("written");
        let length = std::fs::metadata(&path).expect("a file").len() as usize;
        assert!(length < 64 * NNZ, "{length} bytes");
        let read = matrix_market::read(&path).expect("what was written");
        assert_eq!(read.to_coo(&device).expect("coordinates").nnz(), a.nnz());
        assert_eq!(read.to_csr(&device).expect("rows").dims(), a.dims());
        assert_eq!(read.to_coo_int(&device).is_ok(), integers);
    }
}
