//! What stands between two products: passes over columns, and products of tall blocks with small matrices.

use crate::common::{Data, TURN, agree_in, assert_close, floats, gpu, list};
use burn::tensor::{Device, Int, Tensor};
use sparse_burn::forced::{Forced, forced, launches};
use sparse_tensor::extend::kernel::{self, ColumnPass, ColumnStep};
use sparse_tensor::solve::{Boundary, Hints, Method, SolverConfig, jacobi, laplacian};
use sparse_tensor::{CsrTensor, device_reads, host_fallbacks};

/// Every kind of step, with results that later steps and dot products read.
fn every_step() -> ColumnPass {
    use ColumnStep::{Add, Times};
    ColumnPass {
        steps: vec![
            Add { x: Some(0), scale: 0, y: 1 },
            Times { x: 3, y: 2 },
            Add { x: None, scale: 1, y: 4 },
            Add { x: Some(5), scale: 0, y: 3 },
        ],
        kept: vec![0, 2, 3],
        dots: vec![[3, 3], [0, 4], [1, 1], [6, 2]],
    }
}

/// `[systems, rows, columns]`: none of each, one column, rows that are no multiple of a block, several blocks, columns
/// that are no power of two and more than a cube takes.
const SHAPES: [[usize; 3]; 13] = [
    [1, 1, 1],
    [1, 2048, 1],
    [1, 5001, 1],
    [3, 100, 1],
    [2, 1500, 2],
    [1, 777, 3],
    [2, 300, 5],
    [1, 9, 16],
    [1, 70, 17],
    [1, 3, 700],
    [2, 0, 1],
    [0, 5, 1],
    [1, 5, 0],
];

fn passed(pass: &ColumnPass, shape: [usize; 3], device: &Device) -> Vec<Vec<f32>> {
    let ([systems, rows, width], mut data, device) = (shape, Data::new(41), device.clone().inner());
    let vectors: Vec<Tensor<3>> =
        (0..3).map(|_| floats(&data.floats(systems * rows * width), shape, &device)).collect();
    let scales: Vec<Tensor<3>> =
        (0..2).map(|_| floats(&data.floats(systems * width), [systems, 1, width], &device)).collect();
    let results = kernel::column_pass(pass, vectors.as_slice(), scales.as_slice());
    let dims: Vec<[usize; 3]> = results.iter().map(Tensor::dims).collect();
    let want = [vec![shape; pass.kept.len()], vec![[systems, 1, width]; pass.dots.len()]].concat();
    assert_eq!(dims, want);
    results.into_iter().map(list).collect()
}

#[test]
fn a_pass_agrees_with_the_cpu() {
    let _turn = TURN.lock();
    let hosted = host_fallbacks();
    let dots = ColumnPass { steps: vec![], kept: vec![], ..every_step() };
    let dots = ColumnPass { dots: vec![[0, 1], [2, 2]], ..dots };
    let steps = ColumnPass { dots: vec![], ..every_step() };
    for shape in SHAPES {
        for (what, pass) in [("all", &every_step()), ("dots", &dots), ("steps", &steps)] {
            agree_in(3, &format!("{what} of {shape:?}"), |device| passed(pass, shape, device));
        }
    }
    assert_eq!(host_fallbacks(), hosted, "a pass runs on the device");
}

/// A pass that binds more buffers than the device allows takes several launches. Grids of several axes have more cubes
/// than there are blocks.
#[test]
fn a_pass_fits_the_limits_of_the_device() {
    let _turn = TURN.lock();
    for shape in [[2, 777, 3], [1, 40_001, 1]] {
        let run = |force: Forced| {
            let ((results, count), launched) = forced(force, || (passed(&every_step(), shape, &gpu()), launches()));
            assert!(launched.contains("column_pass") && launched.contains("column_sums"), "{launched:?}");
            (results, count, launched)
        };
        let own = |bindings| Forced { bindings: Some(bindings), ..Forced::default() };
        let (whole, few, _) = run(own(10));
        assert_eq!(few, 2, "the steps, and the sums");
        for most in [4, 5, 7] {
            let (cut, more, _) = run(own(most));
            assert!(more > few, "{more} launches of {most} buffers");
            assert_close(&format!("{shape:?} by {most} buffers"), &cut, &whole, 1e-6);
        }
        let (folded, _, launched) = run(Forced { cubes: Some(3), wide: true, ..own(10) });
        assert!(launched.contains("column_pass on two axes"), "{launched:?}");
        assert_eq!(folded, whole);
    }
}

/// A sum in order would stop at 2^24.
#[test]
fn long_dots_keep_small_terms() {
    let _turn = TURN.lock();
    let count = (1 << 24) + 4096;
    let ones = Tensor::<3>::ones([1, count, 1], &gpu().inner());
    let pass = ColumnPass { dots: vec![[0, 0]], ..ColumnPass::default() };
    let sum = kernel::column_pass(&pass, [ones].as_slice(), [].as_slice() as &[&Tensor<3>]).remove(0);
    assert_eq!(list(sum), [count as f32]);
}

/// Widths of blocks and matrices, with none among them, and more blocks than a launch binds.
#[test]
fn combined_columns_agree_with_the_cpu() {
    let _turn = TURN.lock();
    let hosted = host_fallbacks();
    let combined = |rows: usize, own: &[usize], results: &[usize], device: &Device| {
        let (mut data, device) = (Data::new(43), device.clone().inner());
        let count: usize = own.iter().sum();
        let mut list_of = |shapes: Vec<[usize; 2]>| -> Vec<Tensor<2>> {
            shapes.into_iter().map(|shape| floats(&data.floats(shape[0] * shape[1]), shape, &device)).collect()
        };
        let blocks = list_of(own.iter().map(|&width| [rows, width]).collect());
        let matrices = list_of(results.iter().map(|&width| [count, width]).collect());
        let out = kernel::combine_columns(blocks.as_slice(), matrices.as_slice());
        let dims: Vec<[usize; 2]> = out.iter().map(Tensor::dims).collect();
        assert_eq!(dims, results.iter().map(|&width| [rows, width]).collect::<Vec<_>>());
        out.into_iter().map(list).collect()
    };
    for rows in [0, 1, 63, 1000] {
        for (own, results) in [
            (&[8, 8, 8][..], &[8, 8][..]),
            (&[3], &[1, 9]),
            (&[2, 0, 5], &[20, 0, 7]),
            (&[1; 9], &[4]),
            (&[0, 0], &[3]),
        ] {
            let what = format!("{rows} rows, {own:?} to {results:?}");
            let force = Forced { bindings: Some(7), ..Forced::default() };
            forced(force, || agree_in(2, &what, |device| combined(rows, own, results, device)));
        }
    }
    assert_eq!(host_fallbacks(), hosted, "products of blocks run on the device");
}

/// What an iteration of conjugate gradients launches: a product; the dot product of a direction with it; the residual
/// with its dot products; the point and the direction. The kernels of Burn, for a number each, do not count.
#[test]
fn an_iteration_is_a_product_and_three_passes() {
    let _turn = TURN.lock();
    let device = gpu().inner();
    let side = 24;
    let a: CsrTensor<2> = laplacian(&[side, side], Boundary::Dirichlet, &device).unwrap();
    let b = Tensor::<1, Int>::arange(0..(side * side) as i64, &device).float().sin();
    let scaling = jacobi(&a);
    let product = || forced(Forced::default(), || (a.matmul(b.clone().reshape([side * side, 1])), launches())).0.1;
    // The first one also finds what the pattern keeps.
    let product = [product(), product()][1];
    for preconditioner in [None, Some(&scaling as _)] {
        let run = |iterations: usize| {
            let config = SolverConfig::new(Method::Cg)
                .with_max_iterations(Some(iterations))
                .with_check_every(Some(5))
                .with_accept_unsolved(true);
            let hints = Hints { preconditioner, ..Hints::default() };
            let before = device_reads();
            let solve = || (config.try_solve_with(&a, b.clone(), hints).unwrap().report, launches());
            let ((report, count), launched) = forced(Forced { bindings: Some(8), ..Forced::default() }, solve);
            assert_eq!(report.iterations, iterations);
            assert!(launched.contains("column_pass"), "{launched:?}");
            (count, device_reads() - before)
        };
        run(10);
        let ((few, reads), (more, more_reads)) = (run(10), run(30));
        // Three passes, of which two have sums.
        assert_eq!(more - few, 20 * (product + 5), "launches of 20 iterations");
        assert_eq!(more_reads - reads, 4, "a read each five iterations");
    }
}
