//! The same inputs give the same bits in another process, whatever the device compiled or measured before.

use crate::common::{Data, TURN, floats, gpu, ints, list, matrix};
use burn::tensor::Tensor;
use sparse_tensor::ops::{self, Reduce};
use sparse_tensor::{CooTensor, Fill};
use std::process::Command;

/// In the process that another one started: print the bits.
const CHILD: &str = "SPARSE_TEST_PRINT_BITS";

/// A hash of the bits of products, their gradients, reductions and sums of duplicates. Their gradients start from given
/// numbers, so no kernel of Burn adds anything.
fn bits() -> String {
    let device = gpu().autodiff();
    let mut data = Data::new(11);
    let (a, b) = (data.csr(300, 400, 9), data.csr(400, 200, 3));
    let (x, seed) = (data.floats(400 * 7), data.floats(300 * 7));
    let (a, b) = (matrix(&a, [300, 400], &device).require_grad(), matrix(&b, [400, 200], &device).require_grad());
    let x = floats(&x, [400, 7], &device).require_grad();
    let y = a.matmul(x.clone());
    let grads = (y.clone() * floats(&seed, [300, 7], &device)).sum().backward();
    let mut parts = vec![list(y), list(a.grad(&grads).unwrap().values::<1>()), list(x.grad(&grads).unwrap())];
    parts.push(list(a.clone().with_fill(Fill::Undefined).softmax(1).values::<1>()));
    parts.push(list(a.matmul(b).values::<1>()));
    let (index, values) = (data.ints(6000, 40), data.floats(6000));
    let put = |reduce| {
        let arr = Tensor::zeros([40], &device);
        let (at, values) = (ints(&index, [6000], &device), floats(&values, [6000], &device));
        list(ops::put_along_axis(arr, at, values, 0, reduce, true))
    };
    parts.extend([Reduce::Add, Reduce::Mean].map(put));
    let places = ints(&[&index[..3000], &index[3000..]].concat(), [2, 3000], &device);
    let twice = CooTensor::<2>::new(places, floats(&values[..3000], [3000], &device), [40, 40]).unwrap();
    parts.push(list(twice.coalesce().values::<1>()));
    let bytes = parts.iter().flatten().flat_map(|x| x.to_bits().to_le_bytes());
    // FNV-1a.
    let add = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325, add);
    let count: usize = parts.iter().map(Vec::len).sum();
    format!("{count} numbers, bits {hash:016x}")
}

#[test]
fn another_process_gives_the_same_bits() {
    let _turn = TURN.lock();
    let here = bits();
    if std::env::var_os(CHILD).is_some() {
        println!("{here}");
        return;
    }
    let itself = std::env::current_exe().unwrap();
    let name = "processes::another_process_gives_the_same_bits";
    let child = Command::new(itself).args(["--exact", name, "--nocapture"]).env(CHILD, "1").output().unwrap();
    let printed = String::from_utf8_lossy(&child.stdout);
    assert!(printed.contains(&here), "here {here}, in another process {printed}");
}
