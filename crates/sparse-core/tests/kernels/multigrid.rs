//! The parts of multigrid, compared with plain loops over their definitions.

use proptest::prelude::*;
use sparse_core::dynamic::{ElementVec, Elements, Ids};
use sparse_core::graph::aggregate;
use sparse_core::multigrid::*;

/// A symmetric matrix by rows, with a diagonal that is larger than the rest of its row.
#[derive(Clone, Debug)]
struct Matrix {
    n: usize,
    dense: Vec<f64>,
    ptr: Vec<i32>,
    idx: Vec<i32>,
    values: Vec<f64>,
}

impl Matrix {
    fn of(n: usize, entries: &[f64]) -> Self {
        let mut dense = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..i {
                let entry = entries[i * n + j];
                (dense[i * n + j], dense[j * n + i]) = (entry, entry);
            }
        }
        for i in 0..n {
            dense[i * n + i] = 0.1 + dense[i * n..][..n].iter().map(|x| x.abs()).sum::<f64>();
        }
        let (mut ptr, mut idx, mut values) = (vec![0], vec![], vec![]);
        for row in dense.chunks(n.max(1)) {
            for (j, &x) in row.iter().enumerate().filter(|(_, x)| **x != 0.0) {
                idx.push(j as i32);
                values.push(x);
            }
            ptr.push(idx.len() as i32);
        }
        Self { n, dense, ptr, idx, values }
    }

    fn parts(&self) -> (Ids<'_>, Ids<'_>, Elements<'_>) {
        (Ids::I32(&self.ptr), Ids::I32(&self.idx), Elements::F64(&self.values))
    }

    fn diagonal(&self) -> Vec<f64> {
        (0..self.n).map(|i| self.dense[i * self.n + i]).collect()
    }
}

fn matrix() -> impl Strategy<Value = Matrix> {
    let entry = prop_oneof![3 => Just(0.0), 2 => -2.0f64..2.0];
    (0usize..12).prop_flat_map(move |n| {
        prop::collection::vec(entry.clone(), n * n).prop_map(move |entries| Matrix::of(n, &entries))
    })
}

fn product(a: &[f64], b: &[f64], [m, k, n]: [usize; 3]) -> Vec<f64> {
    (0..m * n).map(|at| (0..k).map(|l| a[at / n * k + l] * b[l * n + at % n]).sum()).collect()
}

proptest! {
    #[test]
    fn aggregates_hold_neighbours(a in matrix()) {
        let (ptr, idx, _) = a.parts();
        let (own, count) = aggregate(ptr, idx);
        let linked = |i: usize, j: usize| i != j && a.dense[i * a.n + j] != 0.0;
        let alone = |i: usize| !(0..a.n).any(|j| linked(i, j));
        prop_assert!(own.iter().enumerate().all(|(i, own)| (*own == -1) == alone(i)));
        for aggregate in 0..count as i64 {
            let members: Vec<usize> = (0..a.n).filter(|&i| own[i] == aggregate).collect();
            // A root reaches all members in two steps through members.
            let near = |root: usize, i: usize| {
                root == i || linked(root, i) || members.iter().any(|&j| linked(root, j) && linked(j, i))
            };
            prop_assert!(members.iter().any(|&root| members.iter().all(|&i| near(root, i))));
        }
        // The last pass takes free neighbours, so two aggregates of one node are no neighbours.
        let size = |aggregate: i64| own.iter().filter(|&&other| other == aggregate).count();
        let singles: Vec<usize> = (0..a.n).filter(|&i| own[i] >= 0 && size(own[i]) == 1).collect();
        prop_assert!(singles.iter().all(|&i| singles.iter().all(|&j| !linked(i, j))));
    }

    #[test]
    fn diagonals_and_relaxation(a in matrix(), factor in 0.1f64..2.0) {
        let (ptr, idx, values) = a.parts();
        let found = diagonal(ptr, idx, values, None).unwrap();
        prop_assert_eq!(&found.numbers, &a.diagonal());
        prop_assert!(!found.has_zeros);
        let sums = (0..a.n).map(|i| a.dense[i * a.n..][..a.n].iter().map(|x| x.abs()).sum::<f64>() / found.numbers[i]);
        prop_assert!((found.bound - sums.fold(0.0, f64::max)).abs() < 1e-12);
        let size = |i: usize| a.dense[i * a.n..][..a.n].iter().map(|x| x.abs()).sum::<f64>();
        prop_assert!((0..a.n).all(|i| (found.sizes[i] - size(i)).abs() < 1e-12));
        let ElementVec::F64(relaxed) = relaxed(ptr, idx, values, &found.numbers, factor) else { panic!("f64") };
        for i in 0..a.n {
            let span = a.ptr[i] as usize..a.ptr[i + 1] as usize;
            for (got, &j) in relaxed[span.clone()].iter().zip(&a.idx[span]) {
                let j = j as usize;
                let want = f64::from(i == j) - factor * a.dense[i * a.n + j] / a.dense[i * a.n + i];
                prop_assert!((got - want).abs() < 1e-14);
            }
        }
    }

    /// With as many steps as rows the estimate is the spectral radius, found here by powers of the matrix.
    #[test]
    fn spectral_radii(a in matrix()) {
        let (ptr, idx, values) = a.parts();
        let own = a.diagonal();
        let got = spectral_radius(ptr, idx, values, &own, a.n + 5);
        let mut power: Vec<f64> = (0..a.n * a.n).map(|at| a.dense[at] / own[at / a.n]).collect();
        let (mut size, mut share) = (0.0f64, 1.0f64);
        // Of squares of squares: the logarithm of the size, divided by the exponent.
        for _ in 0..30 {
            let norm = power.iter().map(|x| x * x).sum::<f64>().sqrt().max(f64::MIN_POSITIVE);
            size += share * norm.ln();
            let scaled: Vec<f64> = power.iter().map(|x| x / norm).collect();
            power = product(&scaled, &scaled, [a.n; 3]);
            share /= 2.0;
        }
        let want = if a.n == 0 { 0.0 } else { size.exp() };
        prop_assert!((got - want).abs() < 1e-6 * want.max(1.0), "{} and {}", got, want);
        prop_assert!(spectral_radius(ptr, idx, values, &own, 2) <= got + 1e-9);
    }

    #[test]
    fn strong_connections(a in matrix(), theta in prop_oneof![Just(0.0), 0.05f64..0.9], of_nodes in any::<bool>()) {
        let (ptr, idx, values) = a.parts();
        let own = a.diagonal();
        let nodes: Option<Vec<i64>> = of_nodes.then(|| (0..a.n as i64).map(|i| i / 2).collect());
        let found = strength(ptr, idx, values, &own, (theta, false), nodes.as_deref());
        if theta == 0.0 && !of_nodes {
            prop_assert_eq!(found, Strength::default());
            return Ok(());
        }
        let node = |i: usize| if of_nodes { i / 2 } else { i };
        let count = if a.n == 0 { 0 } else { node(a.n - 1) + 1 };
        let strong = |i: usize, j: usize| {
            let x = a.dense[i * a.n + j].abs();
            x > 0.0 && x >= theta * own[i].sqrt() * own[j].sqrt()
        };
        let between = |p: usize, q: usize| {
            (0..a.n).any(|i| node(i) == p && (0..a.n).any(|j| node(j) == q && strong(i, j)))
        };
        let (starts, others) = found.graph.unwrap();
        prop_assert_eq!(starts.len(), count + 1);
        for p in 0..count {
            let mut got: Vec<i64> = others[starts[p] as usize..starts[p + 1] as usize].to_vec();
            got.sort_unstable();
            let want: Vec<i64> = (0..count).filter(|&q| q != p && between(p, q)).map(|q| q as i64).collect();
            prop_assert_eq!(got, want);
        }
        let Some(kept) = found.kept else {
            prop_assert_eq!(theta, 0.0);
            return Ok(());
        };
        let (starts, cols) = filtered_pattern(ptr, idx, &kept);
        let filtered = filtered_values(ptr, idx, values, &kept, nodes.as_deref());
        let ElementVec::F64(left) = filtered else { panic!("f64") };
        let component = |j: usize| if of_nodes { j % 2 } else { 0 };
        for i in 0..a.n {
            let stays = |j: usize| a.dense[i * a.n + j] != 0.0 && (node(i) == node(j) || between(node(i), node(j)));
            // Of the same component, to the own node.
            let weak = |to: usize| {
                let taken = |j: &usize| !stays(*j) && node(to) == node(i) && component(*j) == component(to);
                (0..a.n).filter(taken).map(|j| a.dense[i * a.n + j]).sum::<f64>()
            };
            let want: Vec<(i64, f64)> = (0..a.n).filter(|&j| stays(j)).map(|j| {
                let x = a.dense[i * a.n + j];
                (j as i64, if i == j { (x + weak(j)).max(0.1 * x) } else { x + weak(j) })
            }).collect();
            let span = starts[i] as usize..starts[i + 1] as usize;
            prop_assert_eq!(&cols[span.clone()], &want.iter().map(|x| x.0).collect::<Vec<_>>()[..]);
            for (got, (_, want)) in left[span].iter().zip(&want) {
                prop_assert!((got - want).abs() < 1e-14);
            }
        }
    }

    /// `T C = B` where rows are in aggregates, with orthonormal columns of `T`.
    #[test]
    fn tentative_prolongation(
        own in prop::collection::vec(-1i64..4, 0..14),
        k in 1usize..4,
        list in prop::collection::vec(prop_oneof![Just(0.0), -1.0f64..1.0], 42),
        twice in any::<bool>(),
    ) {
        let mut list = list[..own.len() * k].to_vec();
        if twice && k > 1 {
            // The last candidate depends on the first one.
            (0..own.len()).for_each(|row| list[row * k + k - 1] = -2.0 * list[row * k]);
        }
        let found = tentative(&own, 4, &list, k);
        let cols = found.cols(k);
        let mut t = vec![0.0; own.len() * cols];
        for row in 0..own.len() {
            for at in found.ptr[row] as usize..found.ptr[row + 1] as usize {
                t[row * cols + found.idx[at] as usize] = found.values[at];
            }
        }
        let back = product(&t, &found.coarse, [own.len(), cols, k]);
        for (at, (got, want)) in back.iter().zip(&list).enumerate() {
            let want = if own[at / k] < 0 { 0.0 } else { *want };
            prop_assert!((got - want).abs() < 1e-9, "{} and {}", got, want);
        }
        for i in 0..cols {
            for j in 0..=i {
                let dot: f64 = (0..own.len()).map(|row| t[row * cols + i] * t[row * cols + j]).sum();
                prop_assert!((dot - f64::from(i == j)).abs() < 1e-9);
            }
        }
        if let Some(nodes) = &found.nodes {
            prop_assert!(nodes.len() == cols && nodes.first().is_none_or(|first| *first == 0));
            prop_assert!(nodes.windows(2).all(|pair| (0..=1).contains(&(pair[1] - pair[0]))));
        }
    }

    /// Penrose's four conditions, of `X X^T` of any rank.
    #[test]
    fn pseudo_inverses(n in 0usize..8, rank in 0usize..8, list in prop::collection::vec(-1.0f64..1.0, 64)) {
        let rank = rank.min(n);
        let mut x = list[..n * rank].to_vec();
        // Far from dependent.
        (0..rank).for_each(|k| x[k * rank + k] += 4.0);
        let transposed: Vec<f64> = (0..rank * n).map(|at| x[at % n * rank + at / n]).collect();
        let a = product(&x, &transposed, [n, rank, n]);
        let inverse = pseudo_inverse(&a, n, &vec![1e-12; n]);
        let near = |x: &[f64], y: &[f64]| x.iter().zip(y).all(|(x, y)| (x - y).abs() < 1e-8);
        let (left, right) = (product(&a, &inverse, [n; 3]), product(&inverse, &a, [n; 3]));
        prop_assert!(near(&product(&left, &a, [n; 3]), &a));
        prop_assert!(near(&product(&inverse, &left, [n; 3]), &inverse));
        prop_assert!((0..n * n).all(|at| (left[at] - left[at % n * n + at / n]).abs() < 1e-8));
        prop_assert!((0..n * n).all(|at| (right[at] - right[at % n * n + at / n]).abs() < 1e-8));
        prop_assert!((0..n * n).all(|at| inverse[at] == inverse[at % n * n + at / n]));
    }
}

/// PyAMG 5.4's `standard_aggregation` of the same graphs.
#[test]
fn aggregates_of_known_graphs() {
    let path = |n: i32| {
        let rows = (0..n).map(|i| [i - 1, i, i + 1].into_iter().filter(|j| (0..n).contains(j)).collect::<Vec<_>>());
        let (mut ptr, mut idx) = (vec![0], vec![]);
        for row in rows {
            idx.extend(row);
            ptr.push(idx.len() as i32);
        }
        aggregate(Ids::I32(&ptr), Ids::I32(&idx))
    };
    assert_eq!(path(0), (vec![], 0));
    assert_eq!(path(1), (vec![-1], 0));
    assert_eq!(path(2), (vec![0, 0], 1));
    assert_eq!(path(8), (vec![0, 0, 1, 1, 1, 2, 2, 2], 3));
}

#[test]
fn wrong_rows_are_named() {
    let of = |values: &[f64]| diagonal(Ids::I32(&[0, 2, 4]), Ids::I32(&[0, 1, 0, 1]), Elements::F64(values), None);
    assert_eq!(of(&[1.0, 0.0, 0.0, 0.0]), Err(Wrong::Diagonal(1, 0.0)));
    assert_eq!(of(&[-1.0, 0.0, 0.0, 0.0]), Err(Wrong::Diagonal(0, -1.0)));
    assert_eq!(of(&[1.0, f64::INFINITY, 0.0, 1.0]), Err(Wrong::Numbers(0)));
    assert_eq!(of(&[1.0, 0.0, f64::NAN, 1.0]), Err(Wrong::Numbers(1)));
    assert!(of(&[1.0, 0.0, 0.5, 1.0]).unwrap().has_zeros);
    // Of a coarse matrix rounding counts as the size of its own row, whatever that of another one is.
    let coarse = |x: f64, size: f64| {
        let sizes = [1e30, size];
        let (ptr, idx, values) = (Ids::I32(&[0, 1, 2]), Ids::I32(&[0, 1]), [1e30, x]);
        let found = diagonal(ptr, idx, Elements::F64(&values), Some(&sizes)).unwrap();
        assert_eq!((found.numbers[0], found.sizes[1]), (1e30, size.max(x.abs())));
        found.numbers[1]
    };
    assert_eq!([coarse(1e-16, 2.0), coarse(-1e-17, 2.0), coarse(1e-15, 2.0)], [2.0, 2.0, 1e-15]);
    assert_eq!([coarse(1e-16, 1e-2), coarse(3.0, 2.0)], [1e-16, 3.0]);
    // The inverse does not fit f32.
    let small = diagonal(Ids::I32(&[0, 1]), Ids::I32(&[0]), Elements::F32(&[1e-40]), None);
    assert_eq!(small, Err(Wrong::Diagonal(0, f64::from(1e-40f32))));
}

/// Two nodes of two components: what is weak stays in its component, or is left out where the own node has no place.
#[test]
fn weak_connections_stay_in_their_component() {
    let (ptr, idx) = (Ids::I32(&[0, 4, 7]), Ids::I32(&[0, 1, 2, 3, 1, 2, 3]));
    let values = [8.0, 1.0, -0.5, -0.25, 4.0, -0.5, -0.25];
    let kept = [true, true, false, false, true, false, false];
    let of = |nodes| match filtered_values(ptr, idx, Elements::F64(&values), &kept, nodes) {
        ElementVec::F64(values) => values,
        other => panic!("{other:?}"),
    };
    assert_eq!(of(Some(&[0, 0, 1, 1])), [7.5, 0.75, 3.75]);
    // The second node has one component more than the first.
    assert_eq!(of(Some(&[0, 1, 1, 1])), [8.0, 1.0, 4.0]);
    assert_eq!(of(None), [7.25, 1.0, 3.25]);
}
