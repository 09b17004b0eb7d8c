//! Triangular systems, level by level.

use crate::common::{Data, TURN, agree_in, floats, gpu, list, matrix};
use burn::tensor::{Device, Int, Tensor};
use sparse_burn::forced::{Forced, forced, launches};
use sparse_tensor::solve::{
    Boundary, Hints, Method, SolverConfig, Triangle, ic0, ilu0, laplacian, solve_triangular, ssor, try_solve_triangular,
};
use sparse_tensor::{CsrTensor, device_reads, host_fallbacks};

type Lists = (Vec<i32>, Vec<i32>, Vec<f32>);

/// Every triangle of a matrix.
fn triangles() -> impl Iterator<Item = Triangle> {
    (0..8).map(|k| Triangle { upper: k & 1 > 0, transposed: k & 2 > 0, unit_diagonal: k & 4 > 0 })
}

/// A matrix of these elements and a diagonal near 2, with values so small that solutions do not grow.
fn with_diagonal(n: usize, cells: impl IntoIterator<Item = (usize, usize)>) -> Lists {
    let mut cells: Vec<(usize, usize)> = cells.into_iter().chain((0..n).map(|r| (r, r))).collect();
    cells.sort_unstable();
    cells.dedup();
    let (mut ptr, mut data) = (vec![0; n + 1], Data::new(51));
    cells.iter().for_each(|&(row, _)| ptr[row + 1] += 1);
    (0..n).for_each(|row| ptr[row + 1] += ptr[row]);
    let share = |row: usize| 1.0 / (ptr[row + 1] - ptr[row]) as f32;
    let values = cells.iter().zip(data.floats(cells.len())).map(|(&(row, col), x)| match row == col {
        true => 2.0 + 0.5 * x,
        false => x * share(row).min(share(col)),
    });
    let values = values.collect();
    (ptr, cells.into_iter().map(|(_, col)| col as i32).collect(), values)
}

/// Chains of one row a level, more than a launch takes; one level, narrow and wide; few wide levels; rows that many
/// units share; levels of all sizes; one row, and none.
fn matrices() -> Vec<(&'static str, usize, Lists)> {
    let chain = |n: usize| (1..n).flat_map(|r| [(r, r - 1), (r - 1, r)]);
    let arrow = |n: usize| (0..n - 1).flat_map(move |r| [(n - 1, r), (r, n - 1)]);
    let random = |n: usize, each: usize| {
        let mut data = Data::new(52);
        data.ints(n * each, n as i32).into_iter().enumerate().map(move |(k, col)| (k / each, col as usize))
    };
    let steps = (1500..4500).flat_map(|r| [(r, r - 1500), (r - 1500, r)]);
    vec![
        ("a chain", 1500, with_diagonal(1500, chain(1500))),
        ("a diagonal", 70, with_diagonal(70, [])),
        ("a wide diagonal", 2500, with_diagonal(2500, [])),
        ("wide levels", 4500, with_diagonal(4500, steps)),
        ("an arrow", 700, with_diagonal(700, arrow(700))),
        ("random rows", 900, with_diagonal(900, random(900, 6))),
        ("a row", 1, with_diagonal(1, [])),
        ("no rows", 0, with_diagonal(0, [])),
    ]
}

/// The solution and its gradients.
fn solved(lists: &Lists, n: usize, width: usize, triangle: Triangle, device: &Device) -> Vec<Vec<f32>> {
    let (a, mut data) = (matrix(lists, [n, n], device).require_grad(), Data::new(53));
    let b = floats(&data.floats(n * width), [n, width], device).require_grad();
    let x = solve_triangular(&a, b.clone(), triangle);
    let weights = floats(&data.floats(n * width), [n, width], device);
    let grads = (x.clone() * weights).sum().backward();
    vec![list(x), list(a.grad(&grads).unwrap().values::<1>()), list(b.grad(&grads).unwrap())]
}

#[test]
fn agree_with_the_cpu() {
    let _turn = TURN.lock();
    let hosted = host_fallbacks();
    for (name, n, lists) in &matrices() {
        for (width, all) in [(1, true), (3, false), (40, false)] {
            for (k, triangle) in triangles().enumerate().filter(|(k, _)| all || k % 3 == 0) {
                let what = format!("{name}, {width} columns, triangle {k}");
                agree_in(2, &what, |device| solved(lists, *n, width, triangle, device));
            }
        }
    }
    assert_eq!(host_fallbacks(), hosted, "triangular systems are solved on the device");
}

#[test]
fn no_columns_are_no_solution() {
    let _turn = TURN.lock();
    let device = gpu().inner();
    let a = matrix(&with_diagonal(5, [(3, 1)]), [5, 5], &device);
    let x = solve_triangular(&a, Tensor::<2>::zeros([5, 0], &device), Triangle::default());
    assert_eq!(x.dims(), [5, 0]);
}

/// Small grids, and few units that share memory, give the same bits; a chain is few launches, and so is a wide level.
#[test]
fn levels_are_launches() {
    let _turn = TURN.lock();
    for (name, n, lists) in &matrices() {
        let run = |force: Forced| {
            let device = gpu().inner();
            let (a, b) = (matrix(lists, [*n, *n], &device), floats(&Data::new(54).floats(*n), [*n], &device));
            let unit = Triangle { unit_diagonal: true, ..Triangle::default() };
            // The first one finds the levels.
            solve_triangular(&a, b.clone(), unit);
            let ((x, count), _) = forced(force, || (list(solve_triangular(&a, b, unit)), launches()));
            (x, count)
        };
        let (x, count) = run(Forced::default());
        let want = match *name {
            "a chain" => 2,
            "wide levels" => 3,
            "no rows" => 0,
            // The last row has more elements than one unit takes.
            "an arrow" => 2,
            _ => 1,
        };
        assert!(count == want || *name == "random rows", "{name}: {count} launches");
        let (again, _) = run(Forced { cubes: Some(2), wide: true, bindings: Some(7), ..Forced::default() });
        assert_eq!(again, x, "{name}");
    }
}

#[test]
fn a_zero_of_the_diagonal_is_the_error_of_the_cpu() {
    let _turn = TURN.lock();
    let hosted = host_fallbacks();
    let mut lists = with_diagonal(40, [(20, 3), (30, 20)]);
    // Of row 20 the diagonal, which is after another element.
    lists.2[lists.0[20] as usize + 1] = 0.0;
    let none: Lists = (vec![0; 5], vec![], vec![]);
    for (n, lists) in [(40, lists), (4, none)] {
        for width in [1, 0] {
            let told = |device: &Device| {
                let b = Tensor::<2>::ones([n, width], device);
                try_solve_triangular(&matrix(&lists, [n, n], device), b, Triangle::default()).unwrap_err().to_string()
            };
            assert_eq!(told(&gpu()), told(&Device::flex()));
        }
        let unit = Triangle { unit_diagonal: true, ..Triangle::default() };
        let of = |device: &Device| {
            list(solve_triangular(&matrix(&lists, [n, n], device), Tensor::<1>::ones([n], device), unit))
        };
        assert_eq!(of(&gpu()), of(&Device::flex()));
    }
    assert_eq!(host_fallbacks(), hosted);
}

/// A solve reads whether the diagonal has a zero; its gradient, and one with a diagonal of 1, read nothing.
#[test]
fn reads_are_few() {
    let _turn = TURN.lock();
    let device = gpu().autodiff();
    let a = matrix(&with_diagonal(90, (1..90).map(|r| (r, r / 2))), [90, 90], &device).require_grad();
    let b = Tensor::<1>::ones([90], &device);
    let step = |triangle: Triangle| {
        let before = device_reads();
        let x = solve_triangular(&a, b.clone(), triangle);
        let forward = device_reads() - before;
        drop(a.grad(&x.sum().backward()).unwrap());
        (forward, device_reads() - before - forward)
    };
    for unit_diagonal in [false, true] {
        let triangle = Triangle { unit_diagonal, ..Triangle::default() };
        step(triangle);
        assert_eq!(step(triangle), (usize::from(!unit_diagonal), 0));
    }
}

/// Preconditioners of triangles do not make a solver read in each iteration.
#[test]
fn preconditioned_solvers_stay_on_the_device() {
    let _turn = TURN.lock();
    let side = 20;
    let problem = |device: &Device| {
        let a: CsrTensor<2> = laplacian(&[side, side], Boundary::Dirichlet, device).unwrap();
        (a, Tensor::<1, Int>::arange(0..(side * side) as i64, device).float().sin())
    };
    let ((a, b), (host, right)) = (problem(&gpu().inner()), problem(&Device::flex()));
    let want = list(SolverConfig::new(Method::Cg).solve(&host, right));
    for (name, preconditioner) in [("ic0", ic0(&a)), ("ilu0", ilu0(&a)), ("ssor", ssor(&a, 1.2))] {
        let config = SolverConfig::new(Method::Cg).with_check_every(Some(5));
        let hints = || Hints { preconditioner: Some(&preconditioner as _), ..Hints::default() };
        let hosted = host_fallbacks();
        // The first one finds the levels.
        config.try_solve_with(&a, b.clone(), hints()).unwrap();
        let before = device_reads();
        let solution = config.try_solve_with(&a, b.clone(), hints()).unwrap();
        let (iterations, reads) = (solution.report.iterations, device_reads() - before);
        assert!(iterations >= 10 && reads <= 6 + iterations / 5, "{name}: {reads} reads in {iterations} iterations");
        for (got, want) in list(solution.x).into_iter().zip(&want) {
            assert!((got - want).abs() <= 1e-3 * (1.0 + want.abs()), "{name}: {got} {want}");
        }
        assert_eq!(host_fallbacks(), hosted, "{name} runs on the device");
    }
}
