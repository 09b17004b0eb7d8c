//! The peers in Rust: sprs and faer. It answers the same requests as `peers.py`, from the same files.
//!
//! Only their products of two sparse matrices use threads, and faer finds the pattern on one. Everything else that is
//! timed here runs on one thread.

use faer::sparse::linalg::matmul::{sparse_dense_matmul, sparse_sparse_matmul};
use faer::sparse::ops::add;
use faer::sparse::{SparseRowMat, SymbolicSparseRowMat, Triplet};
use faer::{Accum, MatMut, MatRef, Par};
use ndarray::Array2;
use sprs::prod::mul_acc_mat_vec_csr;
use sprs::smmp::{ThreadingStrategy, set_thread_threading_strategy};
use sprs::{CsMatI, TriMatI};
use std::path::PathBuf;
use std::time::Instant;

/// Shows the values of the result, and drops it after that.
type Run = Box<dyn Fn(&mut dyn FnMut(&[f32]))>;
type Runs = Vec<(&'static str, Run)>;
type Csr = CsMatI<f32, u32>;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let inputs = Inputs(arguments.next().expect("a folder").into());
    let threads = arguments.next().and_then(|word| word.parse().ok()).expect("a number of threads");
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global().expect("the first use of the pool");
    set_thread_threading_strategy(ThreadingStrategy::Fixed(threads));
    let mut current = (String::new(), Runs::new());
    for line in std::io::stdin().lines() {
        let line = line.expect("text");
        let words: Vec<&str> = line.split('|').collect();
        if current.0 != words[0] {
            current.1.clear();
            current = (words[0].into(), inputs.runs(words[0], Par::rayon(threads)));
        }
        if words[1] == "peers" {
            let names: Vec<&str> = current.1.iter().map(|(peer, _)| *peer).collect();
            println!("{}", names.join("|"));
            continue;
        }
        let (_, run) = current.1.iter().find(|(peer, _)| *peer == words[1]).expect("a peer that has this work");
        if words[2] == "check" {
            run(&mut |values| println!("{}", values.iter().map(|&value| f64::from(value)).sum::<f64>()));
        } else {
            if words[2] == "warm" {
                run(&mut |_| ());
            }
            let [seconds, bytes] = time(run);
            // Nothing is planned ahead.
            let [one, other] = if words[2] == "first" { [0.0, seconds] } else { [seconds, bytes] };
            println!("{one} {other}");
        }
    }
}

/// Seconds of a call, and bytes of memory that it needed at most beyond those before.
fn time(run: &Run) -> [f64; 2] {
    let of = |field| {
        let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
        let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_suffix("kB")).expect("a field");
        line.trim().parse::<f64>().expect("a number") * 1024.0
    };
    // The high-water mark starts again from what is in use.
    std::fs::write("/proc/self/clear_refs", "5").expect("Linux");
    let before = of("VmRSS:");
    let start = Instant::now();
    let mut numbers = [0.0; 2];
    run(&mut |_| numbers = [start.elapsed().as_secs_f64(), (of("VmHWM:") - before).max(0.0)]);
    numbers
}

/// The folder of the inputs.
struct Inputs(PathBuf);

impl Inputs {
    /// The work of each crate.
    fn runs(&self, name: &str, par: Par) -> Runs {
        match name {
            "spmm" => spmm(self.csr("graph"), self.list("graph.dense"), 128),
            "spmm power-law" => spmm(self.csr("skewed"), self.list("graph.dense"), 128),
            "spmm small F=64" => spmm(self.csr("small"), self.list("small.dense64"), 64),
            "spmm small F=16" => spmm(self.csr("small"), self.list("small.dense16"), 16),
            "spmv" => spmv(self.csr("long"), self.list("long.dense")),
            "spgemm" => spgemm(self.csr("small"), par),
            "add" => sum(self.csr("part0"), self.csr("part1")),
            "csr transpose" => transpose(sprs::vstack(&[self.csr("part0").view(), self.csr("part1").view()])),
            "coo to csr" => compress(self.list("loose.ids"), self.list("loose.values")),
            _ => vec![],
        }
    }

    fn list<T: bytemuck::AnyBitPattern + bytemuck::NoUninit>(&self, name: &str) -> Vec<T> {
        bytemuck::pod_collect_to_vec(&std::fs::read(self.0.join(name)).expect("an input"))
    }

    fn csr(&self, name: &str) -> Csr {
        let shape: Vec<u64> = self.list(&format!("{name}.shape"));
        let [ptr, col] = ["ptr", "col"].map(|part| self.list(&format!("{name}.{part}")));
        Csr::new((shape[0] as usize, shape[1] as usize), ptr, col, self.list(&format!("{name}.values")))
    }
}

fn faer_of(a: &Csr) -> SparseRowMat<u32, f32> {
    let (ptr, col, values) = a.clone().into_raw_storage();
    SparseRowMat::new(SymbolicSparseRowMat::new_checked(a.rows(), a.cols(), ptr, None, col), values)
}

fn spmm(a: Csr, x: Vec<f32>, width: usize) -> Runs {
    let (b, rows) = (faer_of(&a), a.rows());
    // faer walks along the columns of the dense side. The result has rows, as that of all peers.
    let columns = MatRef::from_row_major_slice(&x, a.cols(), width).to_owned();
    let x = Array2::from_shape_vec((a.cols(), width), x).expect("whole rows");
    let in_faer = move |done: &mut dyn FnMut(&[f32])| {
        let mut out = vec![0f32; rows * width];
        let to = MatMut::from_row_major_slice_mut(&mut out, rows, width);
        sparse_dense_matmul(to, Accum::Replace, b.as_ref(), columns.as_ref(), 1.0, Par::Seq);
        done(&out);
    };
    vec![("sprs", Box::new(move |done| done((&a * &x).as_slice().expect("whole rows")))), ("faer", Box::new(in_faer))]
}

fn spmv(a: Csr, x: Vec<f32>) -> Runs {
    let (b, rows, column) = (faer_of(&a), a.rows(), x.clone());
    let in_sprs = move |done: &mut dyn FnMut(&[f32])| {
        let mut out = vec![0f32; rows];
        mul_acc_mat_vec_csr(a.view(), &x[..], &mut out[..]);
        done(&out);
    };
    let in_faer = move |done: &mut dyn FnMut(&[f32])| {
        let mut out = vec![0f32; rows];
        let x = MatRef::from_column_major_slice(&column, column.len(), 1);
        let to = MatMut::from_column_major_slice_mut(&mut out, rows, 1);
        sparse_dense_matmul(to, Accum::Replace, b.as_ref(), x, 1.0, Par::Seq);
        done(&out);
    };
    vec![("sprs", Box::new(in_sprs)), ("faer", Box::new(in_faer))]
}

fn spgemm(a: Csr, par: Par) -> Runs {
    let b = faer_of(&a);
    // Rows are the columns of the transpose, and the order of the factors does not matter here.
    let in_faer = move || sparse_sparse_matmul(b.transpose(), b.transpose(), 1.0, par).expect("room");
    vec![("sprs", Box::new(move |done| done((&a * &a).data()))), ("faer", Box::new(move |done| done(in_faer().val())))]
}

fn sum(a: Csr, b: Csr) -> Runs {
    let (c, d) = (faer_of(&a), faer_of(&b));
    vec![
        ("sprs", Box::new(move |done| done((&a + &b).data()))),
        // Rows are the columns of the transpose.
        ("faer", Box::new(move |done| done(add(c.transpose(), d.transpose()).expect("room").val()))),
    ]
}

fn transpose(a: Csr) -> Runs {
    let b = faer_of(&a);
    vec![
        ("sprs", Box::new(move |done| done(a.to_csc().data()))),
        ("faer", Box::new(move |done| done(b.to_col_major().expect("room").val()))),
    ]
}

fn compress(ids: Vec<u64>, values: Vec<f32>) -> Runs {
    const SHAPE: (usize, usize) = (1_000_000, 4);
    let (rows, cols) = ids.split_at(values.len());
    let triplets: Vec<_> = rows.iter().zip(cols).zip(&values).map(|((&i, &j), &v)| Triplet::new(i, j, v)).collect();
    let coo = TriMatI::from_triplets(SHAPE, rows.to_vec(), cols.to_vec(), values);
    let in_faer = move || SparseRowMat::try_new_from_triplets(SHAPE.0, SHAPE.1, &triplets).expect("in the shape");
    vec![
        ("sprs", Box::new(move |done| done(coo.to_csr::<u64>().data()))),
        ("faer", Box::new(move |done| done(in_faer().val()))),
    ]
}
