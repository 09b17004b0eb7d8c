//! Value kernels, compared with plain loops over the definition.

use half::{bf16, f16};
use proptest::prelude::*;
use sparse_core::*;

/// Both sides of each width from which on a row needs one more vector, of any instruction set, or another tile.
const FEATURES: [usize; 19] = [0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 33, 64, 65, 100, 128, 129, 200];

/// Small integers, which are exact in every type. So sums in any order agree to the bit.
trait Test: Element {
    fn of(n: i64) -> Self;
}
macro_rules! test_float {
    ($($t:ty: $of:expr),*) => { $(impl Test for $t { fn of(n: i64) -> Self { $of(n as f32) } })* };
}
macro_rules! test_int {
    ($($t:ty),*) => { $(impl Test for $t { fn of(n: i64) -> Self { n as $t } })* };
}
test_float!(f32: |x| x, f64: f64::from, f16: f16::from_f32, bf16: bf16::from_f32);
test_int!(i32, i64, u8);

fn values<T: Test>(n: usize, seed: i64) -> Vec<T> {
    (0..n as i64)
        .map(|k| T::of((k * 7 + seed * 13 + k * k % 11) % 4 - if T::LOWEST < T::ZERO { 1 } else { 0 }))
        .collect()
}

/// Rows of random lengths, with duplicate columns.
#[derive(Debug, Clone)]
struct Graph {
    cols: usize,
    ptr: Vec<i32>,
    idx: Vec<i32>,
    perm: Vec<i32>,
}

fn graph() -> impl Strategy<Value = Graph> {
    (0usize..9, prop::collection::vec(prop::collection::vec(0usize..1000, 0..12), 0..8)).prop_map(|(cols, lists)| {
        let (mut ptr, mut idx) = (vec![0], vec![]);
        for list in lists {
            idx.extend(list.into_iter().filter(|_| cols > 0).map(|c| (c % cols) as i32));
            ptr.push(idx.len() as i32);
        }
        let perm = (0..idx.len() as i32).rev().collect();
        Graph { cols, ptr, idx, perm }
    })
}

/// Numbers of heads, and the width of each.
fn heads() -> impl Strategy<Value = (usize, usize)> {
    let several = (prop::sample::select(&[2usize, 3, 8, 19]), prop::sample::select(&[0usize, 1, 2, 3, 5, 8, 16, 33]));
    prop_oneof![prop::sample::select(&FEATURES).prop_map(|width| (1, width)), several]
}

/// A product without an epilogue, for `[batch, heads, features]`.
fn plain<T: Element, I: Index>(a: Compressed<'_, I>, v: &[T], dense: &[T], sizes: [usize; 3], out: &mut [T]) {
    spmm(a, v, dense, sizes, Epilogue::default(), out);
}

fn check_spmm<T: Test>(g: &Graph, heads: usize, width: usize, permuted: bool) {
    let (rows, features) = (g.ptr.len() - 1, heads * width);
    let (v, dense) = (values::<T>(g.idx.len() * heads, 1), values::<T>(g.cols * features, 2));
    let mut out = vec![T::of(3); rows * features];
    let perm = permuted.then_some(&g.perm[..]);
    plain(Compressed { ptr: &g.ptr, idx: &g.idx, perm }, &v, &dense, [1, heads, features], &mut out);
    for r in 0..rows {
        for f in 0..features {
            let mut sum = T::ACC_ZERO;
            for k in g.ptr[r] as usize..g.ptr[r + 1] as usize {
                let weight = v[perm.map_or(k, |p| p[k] as usize) * heads + f / width];
                sum = T::add(sum, T::mul(weight.widen(), dense[g.idx[k] as usize * features + f].widen()));
            }
            assert_eq!(out[r * features + f], T::narrow(sum), "row {r}, feature {f} of {heads} x {width}");
        }
    }
}

/// The bits of a product with each operand.
fn check_batch<T: Test>(g: &Graph, batch: usize, heads: usize, width: usize, permuted: bool) {
    let (rows, features) = (g.ptr.len() - 1, heads * width);
    // Of floats thirds, whose sums depend on the order. Sums of one feature are not promised to have the same bits.
    let part = if features > 1 { 3 } else { 1 };
    let thirds = |list: Vec<T>| -> Vec<T> {
        list.into_iter().map(|x| T::narrow(T::div(x.widen(), T::of(part).widen()))).collect()
    };
    let v = thirds(values::<T>(g.idx.len() * heads, 1));
    let dense = thirds(values::<T>(batch * g.cols * features, 2));
    let a = Compressed { ptr: &g.ptr, idx: &g.idx, perm: permuted.then_some(&g.perm[..]) };
    let (mut out, mut want) = (vec![T::of(3); batch * rows * features], vec![T::of(2); batch * rows * features]);
    plain(a, &v, &dense, [batch, heads, features], &mut out);
    for k in 0..batch {
        let own = &dense[k * g.cols * features..][..g.cols * features];
        plain(a, &v, own, [1, heads, features], &mut want[k * rows * features..][..rows * features]);
    }
    assert_eq!(out, want, "{batch} x {heads} x {width}");
}

/// The bits of separate passes, in blocks of rows too, for each result of a batch.
fn check_epilogue<T: Test>(g: &Graph, [batch, heads, width]: [usize; 3], relu: bool, adds: bool) {
    let (rows, features) = (g.ptr.len() - 1, heads * width);
    let (v, dense) = (values::<T>(g.idx.len() * heads, 1), values::<T>(batch * g.cols * features, 2));
    let (bias, mut want) = (values::<T>(features, 3), vec![T::of(3); batch * rows * features]);
    let (a, sizes) = (Compressed { ptr: &g.ptr, idx: &g.idx, perm: None }, [batch, heads, features]);
    plain(a, &v, &dense, sizes, &mut want);
    for (at, x) in want.iter_mut().enumerate() {
        if adds {
            *x = T::narrow(T::add(x.widen(), bias[at % features].widen()));
        }
        if relu && *x < T::ZERO {
            *x = T::ZERO;
        }
    }
    let mut out = vec![T::of(3); want.len()];
    spmm(a, &v, &dense, sizes, Epilogue { bias: adds.then_some(&bias[..]), relu }, &mut out);
    assert_eq!(out, want, "{batch} x {heads} x {width}, relu {relu}, bias {adds}");
}

fn check_sddmm<T: Test>(g: &Graph, heads: usize, width: usize) {
    let (ids, features) = (expand_ptr(&g.ptr), heads * width);
    let (x, y) = (values::<T>((g.ptr.len() - 1) * features, 3), values::<T>(g.cols * features, 4));
    let mut out = vec![T::of(3); ids.len() * heads];
    sddmm(&ids, &g.idx, &x, &y, heads, features, &mut out);
    for k in 0..ids.len() {
        for h in 0..heads {
            let dot = (h * width..(h + 1) * width).fold(T::ACC_ZERO, |sum, f| {
                let (x, y) = (x[ids[k] as usize * features + f], y[g.idx[k] as usize * features + f]);
                T::add(sum, T::mul(x.widen(), y.widen()))
            });
            assert_eq!(out[k * heads + h], T::narrow(dot), "head {h} of {heads} x {width}");
        }
    }
}

fn check_segments<T: Test>(g: &Graph, block: usize, ordered: bool) {
    let n = if ordered { g.cols } else { g.idx.len() };
    let v = values::<T>(n * block, 5);
    let order = ordered.then_some(&g.idx[..]);
    let segments = g.ptr.len() - 1;
    let flags: Vec<u8> = (0..n * block).map(|k| u8::from(k * 7 % 5 == 0)).collect();
    let (mut sum, mut any) = (vec![T::of(3); segments * block], vec![3u8; segments * block]);
    segment_sum(&v, block, order, &g.ptr, &mut sum);
    segment_any(&flags, block, order, &g.ptr, &mut any);
    for s in 0..segments {
        for b in 0..block {
            let (mut want_sum, mut want_any) = (T::ACC_ZERO, 0);
            for k in g.ptr[s] as usize..g.ptr[s + 1] as usize {
                let at = order.map_or(k, |o| o[k] as usize) * block + b;
                want_sum = T::add(want_sum, v[at].widen());
                want_any |= flags[at];
            }
            assert_eq!((sum[s * block + b], any[s * block + b]), (T::narrow(want_sum), want_any));
        }
    }
}

/// Running sums of each segment's rows in order, from either end, compared with one loop over each segment.
fn check_cumsum<T: Test>(ptr: &[i32], block: usize, ordered: bool, reverse: bool) {
    let n = *ptr.last().unwrap() as usize;
    let v = values::<T>(n * block, 8);
    let order: Vec<i32> = (0..n as i32).map(|k| (k + n as i32 / 2) % n.max(1) as i32).collect();
    let order = ordered.then_some(&order[..]);
    let mut out = vec![T::of(3); n * block];
    segment_cumsum(&v, block, order, ptr, reverse, &mut out);
    for segment in ptr.windows(2) {
        for b in 0..block {
            let mut rows: Vec<usize> = (segment[0] as usize..segment[1] as usize).collect();
            if reverse {
                rows.reverse();
            }
            let mut sum = T::ACC_ZERO;
            for k in rows {
                sum = T::add(sum, v[order.map_or(k, |order| order[k] as usize) * block + b].widen());
                assert_eq!(out[k * block + b], T::narrow(sum), "row {k} of segment {segment:?}");
            }
        }
    }
}

fn check_move<T: Test>(n: usize, block: usize, map: &[usize]) {
    let (v, fill) = (values::<T>(n * block, 6), values::<T>(block, 7));
    let map: Vec<i64> = map.iter().map(|m| (m % (n + 1)) as i64).collect();
    let mut out = vec![T::of(3); map.len() * block];
    move_rows(&v, block, &fill, &map, &mut out);
    let rows: Vec<&[T]> =
        map.iter().map(|&m| if m as usize == n { &fill[..] } else { &v[m as usize * block..][..block] }).collect();
    assert_eq!(out, rows.concat());
}

macro_rules! every_type {
    ($check:ident($($arg:expr),*)) => {
        $check::<f32>($($arg),*); $check::<f64>($($arg),*); $check::<f16>($($arg),*); $check::<bf16>($($arg),*);
        $check::<i32>($($arg),*); $check::<i64>($($arg),*); $check::<u8>($($arg),*);
    };
}

proptest! {
    #[test]
    fn a_batch_is_its_products(g in graph(), batch in 0usize..6, (heads, width) in heads(), permuted: bool) {
        every_type!(check_batch(&g, batch, heads, width, permuted));
    }

    #[test]
    fn swap_blocks_is_the_definition(outer in 0usize..70, inner in 0usize..70, block in 0usize..6) {
        let values: Vec<u32> = (0..(outer * inner * block) as u32).collect();
        let mut out = vec![u32::MAX; values.len()];
        swap_blocks(&values, outer, block, &mut out);
        for (at, x) in out.iter().enumerate() {
            let (j, i) = (at / block / outer, at / block % outer);
            prop_assert_eq!(*x as usize, (i * inner + j) * block + at % block);
        }
    }

    #[test]
    fn spmm_is_the_definition(g in graph(), (heads, width) in heads(), permuted: bool) {
        every_type!(check_spmm(&g, heads, width, permuted));
    }

    #[test]
    fn an_epilogue_is_passes_after_the_product(
        g in graph(), batch in 0usize..4, (heads, width) in heads(), relu: bool, adds: bool,
    ) {
        every_type!(check_epilogue(&g, [batch, heads, width], relu, adds));
    }

    #[test]
    fn sddmm_is_the_definition(g in graph(), (heads, width) in heads()) {
        every_type!(check_sddmm(&g, heads, width));
    }

    #[test]
    fn segments_are_the_definition(g in graph(), block in prop::sample::select(&FEATURES), ordered: bool) {
        every_type!(check_segments(&g, block, ordered));
    }

    #[test]
    fn running_sums_are_the_definition(
        g in graph(), block in prop::sample::select(&FEATURES), ordered: bool, reverse: bool,
    ) {
        every_type!(check_cumsum(&g.ptr, block, ordered, reverse));
    }

    #[test]
    fn moved_rows_are_those_of_the_map(
        n in 0usize..9,
        block in prop::sample::select(&FEATURES),
        map in prop::collection::vec(0usize..100, 0..20)
    ) {
        every_type!(check_move(n, block, &map));
    }
}

/// With fractions the rounding must be that of the plain loop, for every width and number of threads.
#[test]
fn one_row_holds_everything_and_threads_do_not_matter() {
    let (rows, n) = (2000usize, 60_000usize);
    let noise = |n: usize, step: f64| -> Vec<f32> { (0..n).map(|k| ((k as f64 * step).sin() * 3.0) as f32).collect() };
    let mut ptr = vec![0i32; rows + 1];
    ptr[701..].fill(n as i32);
    let idx: Vec<i32> = (0..n).map(|k| (k * 7919 % 500) as i32).collect();
    for features in [1, 5, 33, 128] {
        let (v, dense) = (noise(n, 0.7), noise(500 * features, 0.3));
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut out = vec![1.0; rows * features];
                plain(Compressed { ptr: &ptr, idx: &idx, perm: None }, &v, &dense, [1, 1, features], &mut out);
                let mut dots = vec![1.0; n];
                sddmm(&idx, &idx, &dense, &dense, 1, features, &mut dots);
                (out, dots)
            })
        };
        let (out, dots) = run(1);
        assert_eq!((&out, &dots), (&run(2).0, &run(2).1));
        assert_eq!((&out, &dots), (&run(5).0, &run(5).1));
        for f in 0..features {
            let terms = (0..n).map(|k| v[k] * dense[idx[k] as usize * features + f]);
            let (got, want) = (out[700 * features + f], terms.fold(0.0, |a, b| a + b));
            // Summed in pieces, and for a vector in 16 sums.
            assert!((got - want).abs() < 0.1, "{features} features, column {f}: {got} {want}");
        }
        assert!(out[..700 * features].iter().chain(&out[701 * features..]).all(|&x| x == 0.0));
    }
}

/// Few rows among many, and so many that threads share them.
#[test]
fn rows_take_their_places() {
    for (size, step, block) in
        [(0usize, 1usize, 3usize), (7, 7, 1), (7, 1, 2), (90_000, 3, 5), (40_000, 1, 8), (9, 2, 0)]
    {
        let rows: Vec<i64> = (0..size as i64).filter(|row| (row * row + 1) % step as i64 == 1 % step as i64).collect();
        let v = values::<f32>(rows.len() * block, 5);
        let mut want = vec![0.0; size * block];
        for (k, row) in rows.iter().enumerate() {
            want[*row as usize * block..][..block].copy_from_slice(&v[k * block..][..block]);
        }
        assert_eq!(place_rows(&v, block, &rows, size), want, "{size} rows, every {step}, blocks of {block}");
        let narrow: Vec<i32> = rows.iter().map(|&row| row as i32).collect();
        assert_eq!(place_rows(&v, block, &narrow, size), want);
    }
    assert_eq!(place_rows(&[] as &[u8], 2, &[] as &[i32], 3), [0; 6]);
    let panics = |rows: &[i64]| {
        let v = vec![1f32; rows.len()];
        assert!(std::panic::catch_unwind(|| place_rows(&v, 1, rows, 4)).is_err(), "{rows:?}");
    };
    [&[4][..], &[-1], &[1, 1], &[2, 1], &[0, i64::MIN]].into_iter().for_each(panics);
    // Between the pieces of two threads too.
    let mut rows: Vec<i64> = (0..60_000).collect();
    rows[30_000] = 5;
    assert!(std::panic::catch_unwind(|| place_rows(&vec![1f32; 60_000], 1, &rows, 60_000)).is_err());
    assert!(std::panic::catch_unwind(|| place_rows(&[1f32; 3], 2, &[0i32], 4)).is_err());
}

/// Lengths near the size of a chunk, in i64 and f64, whose sums are exact.
#[test]
fn long_running_sums_carry_over() {
    let lengths = [0, 4095, 1, 0, 4096, 4097, 20_000, 1, 0, 8192 - 7, 3, 0];
    let mut ptr = vec![0i32];
    lengths.iter().for_each(|length| ptr.push(ptr[ptr.len() - 1] + length));
    for (block, ordered, reverse) in [(1, false, false), (1, true, true), (3, true, false), (3, false, true)] {
        check_cumsum::<i64>(&ptr, block, ordered, reverse);
        check_cumsum::<f64>(&ptr, block, ordered, reverse);
        check_cumsum::<u8>(&ptr, block, ordered, reverse);
        check_cumsum::<i64>(&[0, ptr[ptr.len() - 1]], block, ordered, reverse);
    }
}

#[test]
fn half_widens_exactly() {
    for bits in 0..=u16::MAX {
        let (a, b) = (f16::from_bits(bits), bf16::from_bits(bits));
        assert!(a.widen() == a.to_f32() || a.widen().is_nan() && a.is_nan());
        assert!(a.widen().is_sign_negative() == a.to_f32().is_sign_negative());
        assert!(b.widen() == b.to_f32() || b.widen().is_nan() && b.is_nan());
    }
}

fn check_rounding<T: Element<Acc = f32>>() {
    // Every upper half of an f32, with the lower bits that decide the rounding.
    for upper in 0..=u16::MAX {
        for lower in [0, 1, 0xfff, 0x1000, 0x1001, 0x2fff, 0x3000, 0x5a5a, 0x7fff, 0x8000, 0x8001, 0xf001, 0xffff] {
            let x = f32::from_bits(u32::from(upper) << 16 | lower);
            let (got, want) = (T::round(x), T::narrow(x).widen());
            assert!(got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(), "{x:e}: {got:e} and {want:e}");
        }
    }
}

#[test]
fn rounding_is_what_narrowing_does() {
    check_rounding::<f16>();
    check_rounding::<bf16>();
}

#[test]
fn nan_wins_the_maximum() {
    for block in [1, 3, 8, 40] {
        for place in 0..3 {
            let mut v = vec![1.0f32; 3 * block];
            v[place * block..][..block].fill(f32::NAN);
            let mut out = vec![0.0; block];
            let all = Compressed { ptr: &[0i32, 3], idx: &[0, 1, 2], perm: None };
            spmm_extremum((Extremum::Max, Term::Product), all, &[1.0; 3], &v, 1, block, &mut out);
            assert!(out.iter().all(|x| x.is_nan()), "block {block}, NaN in row {place}");
        }
    }
}

/// Invalid calls panic before anything is read out of bounds. The `i64` indices are chosen to wrap the address.
#[test]
fn bad_input_panics() {
    let panics = |f: &(dyn Fn() + std::panic::RefUnwindSafe)| assert!(std::panic::catch_unwind(f).is_err());
    for features in [1usize, 2, 4, 8, 16, 128] {
        let dense = vec![1f32; 3 * features];
        for bad in [3i64, -1, i64::MIN, i64::MAX, 1 << 57, 1 << 60, 1 << 63 >> 1] {
            panics(&|| {
                let mut out = vec![0.0; features];
                plain(Compressed { ptr: &[0, 1], idx: &[bad], perm: None }, &[1.0], &dense, [1, 1, features], &mut out);
            });
            if features > 1 {
                // A permutation of values with two heads.
                panics(&|| {
                    let mut out = vec![0.0; features];
                    let a = Compressed { ptr: &[0, 1], idx: &[0], perm: Some(&[bad]) };
                    plain(a, &[1.0; 6], &dense, [1, 2, features], &mut out);
                });
            }
            panics(&|| sddmm(&[0], &[bad], &dense, &dense, 1, features, &mut [0.0]));
            panics(&|| segment_sum(&dense, features, Some(&[bad]), &[0, 1], &mut vec![0.0; features]));
        }
        for bad in [3i32, -1, i32::MIN, i32::MAX, 1 << 28, 1 << 29, 1 << 30] {
            let a = Compressed { ptr: &[0, 1], idx: &[bad], perm: None };
            panics(&|| plain(a, &[1.0], &dense, [1, 1, features], &mut vec![0.0; features]));
            panics(&|| segment_sum(&dense, features, Some(&[bad]), &[0, 1], &mut vec![0.0; features]));
            let half = vec![bf16::ONE; dense.len()];
            panics(&|| segment_sum(&half, features, Some(&[bad]), &[0, 1], &mut vec![bf16::ZERO; features]));
        }
        for bad in [4i64, -1, 1 << 57, i64::MIN] {
            panics(&|| move_rows(&dense, features, &dense[..features], &[bad], &mut vec![0.0; features]));
        }
        // Three heads divide none of these widths; no heads at all do not either.
        for heads in [0, 3] {
            panics(&|| {
                let a = Compressed { ptr: &[0i64, 1], idx: &[0], perm: None };
                plain(a, &[1.0; 3], &dense, [1, heads, features], &mut vec![0.0; features]);
            });
            panics(&|| sddmm(&[0i64], &[0], &dense, &dense, heads, features, &mut vec![0.0; heads]));
        }
        for ptr in [[0i64, 2], [1, 0], [-1, 1], [0, i64::MAX]] {
            panics(&|| {
                let mut out = vec![0.0; features];
                plain(Compressed { ptr: &ptr, idx: &[0], perm: None }, &[1.0], &dense, [1, 1, features], &mut out);
            });
            if ptr != [0, 2] {
                panics(&|| segment_sum::<_, i64>(&dense, features, None, &ptr, &mut vec![0.0; features]));
            }
        }
    }
}

/// One row of a million elements beside a million rows of one: the long row is shared among the threads, with the same
/// bits on any number of them.
#[test]
fn a_row_of_a_million_beside_a_million_rows_of_one() {
    const N: usize = 1_000_000;
    const FEATURES: usize = 3;
    let ptr: Vec<i32> = (0..=N as i32 + 1).map(|r| if r > N as i32 / 2 { r + N as i32 - 1 } else { r }).collect();
    let idx: Vec<i32> = (0..2 * N).map(|k| (k * 7919 % N) as i32).collect();
    let v: Vec<f32> = (0..2 * N).map(|k| (k as f32 * 0.7).sin()).collect();
    let dense: Vec<f32> = (0..N * FEATURES).map(|k| (k as f32 * 0.3).cos()).collect();
    let product = |threads: usize| {
        let mut out = vec![0f32; (N + 1) * FEATURES];
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        pool.install(|| {
            plain(Compressed { ptr: &ptr, idx: &idx, perm: None }, &v, &dense, [1, 1, FEATURES], &mut out);
        });
        out
    };
    let out = product(1);
    for (r, row) in out.chunks(FEATURES).enumerate() {
        for (f, got) in row.iter().enumerate() {
            let span = ptr[r] as usize..ptr[r + 1] as usize;
            let terms = span.map(|k| f64::from(v[k]) * f64::from(dense[idx[k] as usize * FEATURES + f]));
            let (sum, size) = terms.fold((0.0, 0.0), |(sum, size), x| (sum + x, size + x.abs()));
            assert!((f64::from(*got) - sum).abs() <= 1e-5 * size.max(1.0), "row {r}: {got} and {sum}");
        }
    }
    for threads in [2, 3, 8] {
        assert!(product(threads) == out, "other bits on {threads} threads");
    }
}

/// A coalesced element without duplicates keeps the sign of its zero; a sum of two zeros follows IEEE 754, and an empty
/// one is +0.
#[test]
fn a_single_zero_keeps_its_sign() {
    fn check<T: Element>() {
        let zero = T::narrow(T::ACC_ZERO);
        let minus = T::narrow(T::mul(T::ACC_ZERO, T::sub(T::ACC_ZERO, T::ACC_ONE)));
        let signs = |list: &[T]| list.iter().map(|x| T::div(T::ACC_ONE, x.widen())).collect::<Vec<_>>();
        let mut out = vec![T::narrow(T::ACC_ONE); 4];
        segment_sum(&[minus, minus, minus, zero], 1, Some(&[0, 2, 1, 3, 0]), &[0, 1, 3, 5, 5], &mut out);
        assert_eq!(signs(&out), signs(&[minus, minus, zero, zero]));
        let mut wide = vec![zero; 20];
        segment_sum(&[minus; 20], 20, Some(&[0]), &[0, 1], &mut wide);
        assert_eq!(signs(&wide), signs(&[minus; 20]));
    }
    check::<f32>();
    check::<f64>();
    check::<f16>();
    check::<bf16>();
}
