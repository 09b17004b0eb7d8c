//! Sums of many terms are near the exact ones, whatever kernel adds them.

use half::{bf16, f16};
use sparse_core::{
    Compressed, Epilogue, Float, ProductPlan, Reduce, Target, TargetIndex, Term, extremum_cols_backward,
    extremum_rows_backward, group_by, put, put_copied, sddmm, segment_cumsum, segment_sum, spgemm, spgemm_sampled,
    spgemm_values, spmm, spmm_backward,
};

/// Terms that are added in order: of a segment, and of a few cells of a scatter or a product.
const BLOCK: f64 = 64.0;
const CELLS: f64 = 512.0;

trait Number: Float {
    /// Half the distance of numbers of the accumulator near 1, and of the type itself.
    const ROUNDS: [f64; 2];
    /// What 1 is lost beside in the accumulator, and what all terms are multiplied by to be in range.
    const LARGE: [f64; 2];
    fn of(x: f64) -> Self;
}

macro_rules! numbers {
    ($($t:ty: $acc:expr, $own:expr, $large:expr, $of:expr;)*) => { $(impl Number for $t {
        const ROUNDS: [f64; 2] = [$acc / 2.0, $own / 2.0];
        const LARGE: [f64; 2] = $large;
        fn of(x: f64) -> Self {
            $of(x * Self::LARGE[1])
        }
    })* };
}
const SINGLE: f64 = f32::EPSILON as f64;
const TWO_24: f64 = (1 << 24) as f64;
numbers! {
    f32: SINGLE, SINGLE, [TWO_24, 1.0], |x| x as f32;
    f64: f64::EPSILON, f64::EPSILON, [(1u64 << 53) as f64, 1.0], |x| x;
    bf16: SINGLE, 2.0 / 256.0, [TWO_24, 1.0], bf16::from_f64;
    f16: SINGLE, 2.0 / 2048.0, [TWO_24, 1.0 / 1024.0], f16::from_f64;
}

fn wide<T: Number>(x: T) -> f64 {
    T::wide(x.widen())
}

/// The sum and the sum of magnitudes, with the errors of the additions.
fn exact<T: Number>(terms: &[T]) -> [f64; 2] {
    let (mut sum, mut error) = (0.0, 0.0);
    for x in terms.iter().map(|x| wide(*x)) {
        let next: f64 = sum + x;
        let part = next - sum;
        error += (sum - (next - part)) + (x - part);
        sum = next;
    }
    [sum + error, terms.iter().map(|x| wide(*x).abs()).sum()]
}

fn lists<T: Number>(count: usize) -> Vec<(&'static str, Vec<T>)> {
    let random = |k: usize| ((k as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as f64;
    let list = |of: &dyn Fn(usize) -> f64| (0..count).map(|k| T::of(of(k))).collect();
    vec![
        ("ones behind a large one", list(&|k| if k == 0 { T::LARGE[0] } else { 1.0 })),
        ("ones before a large one", list(&|k| if k + 1 == count { T::LARGE[0] } else { 1.0 })),
        ("growing", list(&|k| (k + 1) as f64 / 256.0)),
        ("alternating", list(&|k| if k % 2 == 0 { random(k) } else { -random(k) / 2.0 } / 65536.0)),
        ("random", list(&|k| random(k) / 65536.0 - 100.0)),
    ]
}

/// Checks the results of `sum(terms)`, each of which is the sum of the terms. `block` of them are added in order.
fn check<T: Number>(name: &str, count: usize, block: f64, sum: impl Fn(&[T]) -> Vec<T>) {
    for (terms_name, terms) in lists::<T>(count) {
        let [expected, size] = exact(&terms);
        let allowed = (block + (count as f64).log2()) * T::ROUNDS[0] * size + 3.0 * T::ROUNDS[1] * expected.abs();
        for got in sum(&terms) {
            let error = (wide(got) - expected).abs();
            assert!(error <= allowed, "{name}: {got} for {expected}, {count} {terms_name}: {error:e} > {allowed:e}");
        }
    }
}

/// Each term as often as there are columns.
fn columns<T: Copy>(terms: &[T], width: usize) -> Vec<T> {
    terms.iter().flat_map(|&x| core::iter::repeat_n(x, width)).collect()
}

fn ids(count: usize) -> Vec<i32> {
    (0..count as i32).collect()
}

/// More than a block of every kernel, and a few pieces of a long row.
const COUNT: usize = 70_000;

fn of_segments<T: Number>() {
    let (ptr, reversed) = ([0, COUNT as i32], ids(COUNT).into_iter().rev().collect::<Vec<_>>());
    for (block, order) in [(1, None), (1, Some(&reversed[..])), (3, None), (7, Some(&reversed[..])), (40, None)] {
        check::<T>("segment_sum", COUNT, BLOCK, |terms| {
            let mut out = vec![T::ONE; block];
            segment_sum(&columns(terms, block), block, order, &ptr, &mut out);
            out
        });
    }
    for reverse in [false, true] {
        check::<T>("segment_cumsum", COUNT, 2.0 * BLOCK, |terms| {
            let mut out = vec![T::ONE; COUNT];
            segment_cumsum(terms, 1, None, &ptr, reverse, &mut out);
            vec![out[if reverse { 0 } else { COUNT - 1 }]]
        });
    }
}

fn of_products<T: Number>() {
    let (ptr, idx, perm) = ([0, COUNT as i32], vec![0; COUNT], ids(COUNT));
    for (heads, features, perm) in [(1, 1, None), (1, 2, None), (1, 40, Some(&perm[..])), (2, 6, None), (3, 3, None)] {
        let a = Compressed { ptr: &ptr, idx: &idx, perm };
        check::<T>("spmm", COUNT, BLOCK, |terms| {
            let mut out = vec![T::ZERO; features];
            spmm(
                a,
                &columns(terms, heads),
                &vec![T::ONE; features],
                [1, heads, features],
                Epilogue::default(),
                &mut out,
            );
            out
        });
    }
    let a = Compressed { ptr: &ptr, idx: &idx, perm: None };
    check::<T>("spmm, two operands", COUNT, BLOCK, |terms| {
        let mut out = vec![T::ZERO; 10];
        spmm(a, terms, &[T::ONE; 10], [2, 1, 5], Epilogue::default(), &mut out);
        out
    });
    let rows = ids(COUNT);
    check::<T>("spmm_backward, dense", COUNT, BLOCK, |terms| {
        let (mut of_dense, mut of_values) = (vec![T::ZERO; 3], vec![T::ZERO; COUNT]);
        let (a, grad) = (Compressed { ptr: &ptr, idx: &rows, perm: None }, vec![T::ONE; 3 * COUNT]);
        spmm_backward(a, None, terms, &[T::ONE; 3], &grad, 1, 3, &mut of_dense, &mut of_values);
        of_dense
    });
    check::<T>("extremum_cols_backward", COUNT, BLOCK, |terms| {
        let a = Compressed { ptr: &ptr, idx: &rows, perm: None };
        let ones = vec![T::ONE; 2 * COUNT];
        let mut out = vec![T::ZERO; 2];
        extremum_cols_backward(
            Term::Product,
            a,
            &ones[..COUNT],
            &[T::ONE; 2],
            &ones,
            &columns(terms, 2),
            1,
            2,
            &mut out,
        );
        out
    });
    // Dot products of long rows.
    let ones = vec![T::ONE; COUNT];
    check::<T>("sddmm", COUNT, BLOCK, |terms| {
        let mut out = vec![T::ZERO];
        sddmm(&[0], &[0], terms, &ones, 1, COUNT, &mut out);
        out
    });
    check::<T>("spmm_backward, values", COUNT, BLOCK, |terms| {
        let (mut of_dense, mut of_values) = (vec![T::ZERO; COUNT], vec![T::ZERO]);
        let a = Compressed { ptr: &[0, 1], idx: &[0], perm: None };
        spmm_backward(a, None, &[T::ONE], terms, &ones, 1, COUNT, &mut of_dense, &mut of_values);
        of_values
    });
    check::<T>("extremum_rows_backward", COUNT, BLOCK, |terms| {
        let (mut shares, mut of_values) = (vec![T::ZERO; COUNT], vec![T::ZERO]);
        let own = Some(&mut of_values[..]);
        extremum_rows_backward(
            Term::Product,
            (&[0, 1], &[0]),
            &[T::ONE],
            &ones,
            &ones,
            terms,
            1,
            COUNT,
            &mut shares,
            own,
        );
        of_values
    });
}

fn of_scatters<T: Number>() {
    let index = vec![1i32; COUNT];
    let groups = group_by(&index, 2);
    let grouped =
        TargetIndex::Grouped { index: index[..].into(), order: groups.order[..].into(), ptr: groups.ptr[..].into() };
    for inner in [1, 3, 8, 40] {
        let full = vec![1i32; COUNT * inner];
        let kinds = [TargetIndex::Axis(index[..].into()), grouped, TargetIndex::Full(full[..].into())];
        for (kind, index) in kinds.into_iter().enumerate() {
            let target = Target { outer: 1, len: 2, inner, count: COUNT, index };
            check::<T>(&format!("put add {kind} {inner}"), COUNT, CELLS, |terms| {
                let mut out = vec![T::ZERO; 2 * inner];
                put(&target, Reduce::Add, false, &columns(terms, inner), &mut out);
                let copied = put_copied(&target, Reduce::Add, true, &columns(terms, inner), &vec![T::ZERO; 2 * inner]);
                assert!(copied[..inner].iter().all(|x| *x == T::ZERO));
                [&out[inner..], &copied[inner..]].concat()
            });
            check::<T>(&format!("put mean {kind} {inner}"), COUNT, CELLS, |terms| {
                let mut out = vec![T::ZERO; 2 * inner];
                put(&target, Reduce::Mean, false, &columns(terms, inner), &mut out);
                // As if it had not been divided.
                out[inner..].iter().map(|x| T::narrow(T::mul(x.widen(), T::from_count(COUNT)))).collect()
            });
        }
    }
}

fn of_sparse_products<T: Number>() {
    let (ptr, idx, ones) = ([0, COUNT as i32], ids(COUNT), vec![T::ONE; COUNT]);
    let (each, zeros) = (ids(COUNT + 1), vec![0; COUNT]);
    let row = Compressed { ptr: &ptr, idx: &idx, perm: None };
    let column = Compressed { ptr: &each, idx: &zeros, perm: None };
    check::<T>("spgemm", COUNT, CELLS, |terms| {
        let (ptr, idx, mut out) = spgemm(row, terms, column, &ones, 1).unwrap();
        let mut again = vec![T::ZERO];
        spgemm_values((&ptr, &idx), row, terms, column, &ones, 1, &mut again);
        out.extend(again);
        out
    });
    check::<T>("spgemm_sampled", COUNT, BLOCK, |terms| {
        let mut out = vec![T::ZERO];
        spgemm_sampled((&[0, 1], &[0]), row, terms, row, &ones, COUNT, &mut out);
        out
    });
}

macro_rules! of_types {
    ($($name:ident: $of:ident;)*) => { $(
        #[test]
        fn $name() {
            $of::<f32>();
            $of::<f64>();
            $of::<bf16>();
            $of::<f16>();
        }
    )* };
}
of_types! {
    of_segments_are_near: of_segments;
    of_products_are_near: of_products;
    of_scatters_are_near: of_scatters;
    of_sparse_products_are_near: of_sparse_products;
    of_crowded_cells_are_near: of_crowded_cells;
}

/// In the type, not in f32 as for the others: a cell of the array counts.
#[test]
fn of_20_million_ones_do_not_stop() {
    let count = 20_000_000;
    let (index, values) = (vec![0i32; count], vec![1f32; count]);
    for len in [1, 2000] {
        let target = Target { outer: 1, len, inner: 1, count, index: TargetIndex::Axis(index[..].into()) };
        let mut out = vec![1f32; len];
        put(&target, Reduce::Add, true, &values, &mut out);
        assert_eq!(out[0], 20_000_000.0, "of {len}");
        assert!(out[1..].iter().all(|x| *x == 1.0));
    }
}

/// One of many cells gets almost all values, or a few cells get about as many as make a hub.
fn of_crowded_cells<T: Number>() {
    let (len, count) = (400, 100_000);
    let crowded = |k: usize| if k % 7 == 3 { (k % len) as i32 } else { -2 };
    let bordering = |k: usize| if k.is_multiple_of(25) { (k % len) as i32 } else { (k % 3 * 50) as i32 };
    let indices = [("crowded", BLOCK, (0..count).map(crowded).collect::<Vec<i32>>())];
    // These are added in order or not, as the sample says.
    let many = [("bordering", 9000.0, (0..count).map(bordering).collect())];
    for (name, block, index) in indices.into_iter().chain(many) {
        let groups = group_by(&index.iter().map(|&k| k.rem_euclid(len as i32)).collect::<Vec<_>>(), len);
        let axis = TargetIndex::Axis(index[..].into());
        let grouped = TargetIndex::Grouped {
            index: index[..].into(),
            order: groups.order[..].into(),
            ptr: groups.ptr[..].into(),
        };
        for (outer, inner) in [(1, 1), (1, 2), (2, 1), (0, 1), (1, 0)] {
            let full: Vec<i32> = (0..outer * count * inner).map(|v| index[v / inner % count]).collect();
            let (values, held) = (vec![T::of(0.1); outer * count * inner], T::of(0.1));
            for (reduce, include_self) in
                [(Reduce::Add, true), (Reduce::Add, false), (Reduce::Mean, true), (Reduce::Mean, false)]
            {
                let all = [axis, grouped, TargetIndex::Full(full[..].into())].map(|index| {
                    let target = Target { outer, len, inner, count, index };
                    let mut out = vec![held; outer * len * inner];
                    put(&target, reduce, include_self, &values, &mut out);
                    let copied = put_copied(&target, reduce, include_self, &values, &vec![held; outer * len * inner]);
                    assert!(out == copied, "{name} {reduce:?} {include_self}");
                    out
                });
                assert!(all[0] == all[1] && all[0] == all[2], "{name} {reduce:?} {include_self} {outer} {inner}");
                // Slabs and columns have the same index and the same values.
                for place in 0..if outer * inner > 0 { len } else { 0 } {
                    let members = groups.ptr[place + 1] - groups.ptr[place] + i32::from(include_self);
                    let sum = if reduce == Reduce::Mean { 1.0 } else { f64::from(members) } * wide(held);
                    let got = all[0][place * inner];
                    let allowed = ((block + 22.0) * T::ROUNDS[0] + 3.0 * T::ROUNDS[1]) * sum;
                    assert!(members < 2 || (wide(got) - sum).abs() <= allowed, "{name} {reduce:?}: {got} for {sum}");
                    let same = all[0].chunks_exact(len * inner).flat_map(|slab| &slab[place * inner..][..inner]);
                    assert!(same.into_iter().all(|x| *x == got), "{name} {reduce:?} {place}");
                }
            }
        }
    }
}

/// The ways to the same sums have the same bits, of long ones too.
#[test]
fn a_plan_and_groups_change_no_bits() {
    let count = 30_000;
    let number = |k: usize| ((k as u32 + 1).wrapping_mul(0x9E37_79B9) >> 8) as f32 / 65536.0 - 100.0;
    let values: Vec<f32> = (0..count * 40).map(number).collect();
    let index: Vec<i32> = (0..count).map(|k| (number(k) as i32).rem_euclid(5) * (k % 3 / 2) as i32).collect();
    let groups = group_by(&index, 6);
    let axis = TargetIndex::Axis(index[..].into());
    let grouped =
        TargetIndex::Grouped { index: index[..].into(), order: groups.order[..].into(), ptr: groups.ptr[..].into() };
    for (reduce, include_self) in [(Reduce::Add, true), (Reduce::Add, false), (Reduce::Mean, true)] {
        let [one, other] = [axis, grouped].map(|index| {
            let target = Target { outer: 1, len: 6, inner: 40, count, index };
            put_copied(&target, reduce, include_self, &values, &values[..240])
        });
        assert_eq!(one, other, "{reduce:?} {include_self}");
    }
    // One row of many products for each element, and as many rows of one product as a plan needs.
    let (mut ptr, mut idx) = (vec![0, 3000], (0..3000).collect::<Vec<i32>>());
    (0..1000).for_each(|row| {
        idx.push(row);
        ptr.push(ptr[ptr.len() - 1] + 1);
    });
    let b_ptr: Vec<i32> = (0..=3000).map(|row| 2 * row).collect();
    let b_idx: Vec<i32> = (0..6000).map(|k| k % 2 * 3 + k / 2 % 3).collect();
    let a = Compressed { ptr: &ptr, idx: &idx, perm: None };
    let b = Compressed { ptr: &b_ptr, idx: &b_idx, perm: None };
    let (a_values, b_values) = (&values[..idx.len()], &values[5000..11_000]);
    let (c_ptr, c_idx, expected) = spgemm(a, a_values, b, b_values, 6).unwrap();
    let mut out = vec![0.0; expected.len()];
    spgemm_values((&c_ptr, &c_idx), a, a_values, b, b_values, 6, &mut out);
    assert_eq!(out, expected);
    let plan = ProductPlan::new((&c_ptr, &c_idx), a, b, 6).expect("few products for each element");
    out.fill(0.0);
    plan.values(&c_ptr, a, a_values, b, b_values, &mut out);
    assert_eq!(out, expected);
}
