//! The bits of kernels are the same on every architecture and instruction set: digests, compared with those of x86-64.
//!
//! If a kernel adds in another order, its digests change. Then the failure prints the new table.

use half::{bf16, f16};
use sparse_core::{
    Compressed, Element, Epilogue, Extremum, Float, Reduce, Target, TargetIndex, Term, Triangle,
    extremum_rows_backward, put, sddmm, segment_cumsum, segment_softmax, segment_softmax_backward, segment_sum,
    solve_triangular, spgemm, spmm, spmm_extremum,
};

/// Of f32, f64, f16, bf16 and i32; of triangular systems for f32 and f64; of softmax for f32, f16 and bf16; of
/// conversions for f16 and bf16. In f64 softmax has the exponential of the system's library, whose bits differ.
const DIGESTS: &[(&str, &[u32])] = &[
    ("spmv", &[0x9e46_078d, 0xea63_e7e2, 0xc73c_b162, 0x2d20_5e51, 0x36fe_5f52]),
    ("spmm", &[0xc98f_cbbe, 0x7b3f_1eb1, 0x7078_cdfc, 0x246c_b4ef, 0xe0f1_4911]),
    ("extremum", &[0xfd41_2c53, 0xb81b_c675, 0xfadf_1dd8, 0x97bb_95fa, 0x87fe_075f]),
    ("sddmm", &[0xdad8_79f3, 0x7412_0fe9, 0x2b0a_90e7, 0x10cd_bc26, 0x1f6f_2c5b]),
    ("sums", &[0x1d63_e521, 0x0aa9_2fa7, 0xc60f_3de8, 0xbc8f_903e, 0xeed0_f6a1]),
    ("cumsum", &[0x7d7f_876f, 0x30c0_17d4, 0x61d8_6670, 0x44e7_0085, 0x85a8_ba03]),
    ("put add", &[0x9601_8ebc, 0x91a8_d2f2, 0xade4_63fb, 0xf259_7584, 0x569c_93d6]),
    ("put mul", &[0x00e8_d3f8, 0x433a_8929, 0x361c_a39d, 0x133a_f3eb, 0x21ca_7678]),
    ("put mean", &[0x20b1_3718, 0xea11_407c, 0x8eec_8b06, 0x96bc_92a8, 0xc7fb_5499]),
    ("spgemm", &[0xcb24_7671, 0x9f68_52fc, 0x148a_017b, 0x2364_2409, 0xffbb_b4df]),
    ("triangular", &[0x17f7_b3bc, 0xf252_9474]),
    ("softmax", &[0xa3d0_8e84, 0x47a0_4ffb, 0x018c_bf52]),
    ("conversions", &[0xe2a6_20a2, 0x25e9_18af]),
];

/// A pseudo-random number.
fn hash(k: usize, seed: u64) -> u64 {
    let x = (k as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ seed.wrapping_mul(0xD6E8_FEB8_6659_FD93);
    let x = (x ^ (x >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    x ^ (x >> 32)
}

trait Bits: Element {
    /// A number of a random sign and size, or zero.
    fn of(hash: u64) -> Self;
    fn bits(self) -> u64;
}

/// Up to 16, in 8 sizes. So rounding differs if products are fused into sums or sums have another order.
fn fraction(hash: u64) -> f32 {
    let zero = hash.is_multiple_of(13);
    if zero { 0.0 } else { ((hash >> 40) as f32 - 8_388_608.0) / 524_288.0 / (1 << (hash >> 8 & 7)) as f32 }
}

macro_rules! floats {
    ($($t:ty: $of:expr),*) => { $(impl Bits for $t {
        fn of(hash: u64) -> Self {
            $of(fraction(hash))
        }
        fn bits(self) -> u64 {
            self.to_bits().into()
        }
    })* };
}
// A third of an f64 has more digits than an f32 can hold.
floats!(f32: |x| x, f64: |x| f64::from(x) / 3.0, f16: f16::from_f32, bf16: bf16::from_f32);

impl Bits for i32 {
    fn of(hash: u64) -> Self {
        hash as i32
    }
    fn bits(self) -> u64 {
        self as u32 as u64
    }
}

fn list<T: Bits>(len: usize, seed: u64) -> Vec<T> {
    (0..len).map(|k| T::of(hash(k, seed))).collect()
}

/// FNV-1a of 64 bits, folded.
struct Digest(u64);

impl Digest {
    fn new() -> Self {
        Self(0xCBF2_9CE4_8422_2325)
    }
    fn add<T: Bits>(&mut self, results: &[T]) {
        for &x in results {
            // Architectures make NaNs of different bits.
            let bits = if x.is_nan() { u64::MAX } else { x.bits() };
            bits.to_le_bytes()
                .iter()
                .for_each(|&byte| self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3));
        }
    }
    fn fold(self) -> u32 {
        (self.0 ^ self.0 >> 32) as u32
    }
}

/// Short, empty and long rows; one is very long where results are narrow. A column can be twice in a row.
struct Rows {
    ptr: Vec<i32>,
    idx: Vec<i32>,
    perm: Vec<i32>,
}

const HEIGHT: usize = 40;
const WIDTH: usize = 60;

impl Rows {
    fn new(width: usize) -> Self {
        let mut ptr = vec![0];
        for row in 0..HEIGHT {
            let length = match row {
                7 => 100,
                20 => 20_000 / width as u64,
                _ => hash(row, 1) % 40,
            };
            ptr.push(ptr[row] + length as i32);
        }
        let n = ptr[HEIGHT] as usize;
        let idx = (0..n).map(|k| (hash(k, 2) % WIDTH as u64) as i32).collect();
        Self { ptr, idx, perm: (0..n as i32).rev().collect() }
    }
    fn len(&self) -> usize {
        self.idx.len()
    }
    fn view(&self, permuted: bool) -> Compressed<'_, i32> {
        Compressed { ptr: &self.ptr, idx: &self.idx, perm: permuted.then_some(&self.perm[..]) }
    }
}

/// One head of each width, and then several.
const HEADS: [(usize, usize); 15] = [
    (1, 2),
    (1, 3),
    (1, 5),
    (1, 8),
    (1, 16),
    (1, 31),
    (1, 33),
    (1, 64),
    (1, 100),
    (1, 128),
    (1, 200),
    (2, 1),
    (3, 5),
    (4, 33),
    (8, 16),
];

fn products<T: Bits>(heads: usize, features: usize, permuted: bool, digest: &mut Digest) {
    let a = Rows::new(features);
    let (values, dense) = (list::<T>(a.len() * heads, 3), list(WIDTH * features, 4));
    let mut out = vec![T::ONE; HEIGHT * features];
    spmm(a.view(permuted), &values, &dense, [1, heads, features], Epilogue::default(), &mut out);
    digest.add(&out);
}

fn of_spmv<T: Bits>(digest: &mut Digest) {
    [false, true].iter().for_each(|&permuted| products::<T>(1, 1, permuted, digest));
}

fn of_spmm<T: Bits>(digest: &mut Digest) {
    for (heads, width) in HEADS {
        [false, true].iter().for_each(|&permuted| products::<T>(heads, heads * width, permuted, digest));
    }
}

fn of_extremum<T: Bits>(digest: &mut Digest) {
    for (heads, width) in HEADS {
        let features = heads * width;
        let a = Rows::new(features);
        let (values, dense) = (list::<T>(a.len() * heads, 3), list(WIDTH * features, 4));
        let grad = list::<T>(HEIGHT * features, 5);
        let (mut out, mut shares) = (vec![T::ONE; grad.len()], vec![T::ONE; grad.len()]);
        let mut of_values = vec![T::ONE; values.len()];
        spmm_extremum((Extremum::Min, Term::Product), a.view(true), &values, &dense, heads, features, &mut out);
        digest.add(&out);
        spmm_extremum((Extremum::Max, Term::Product), a.view(false), &values, &dense, heads, features, &mut out);
        digest.add(&out);
        let pattern = (&a.ptr[..], &a.idx[..]);
        let own = Some(&mut of_values[..]);
        extremum_rows_backward(Term::Product, pattern, &values, &dense, &out, &grad, heads, features, &mut shares, own);
        digest.add(&shares);
        digest.add(&of_values);
    }
}

fn of_sddmm<T: Bits>(digest: &mut Digest) {
    let n = 500;
    let ids = |most: usize, seed| (0..n).map(|k| (hash(k, seed) % most as u64) as i32).collect::<Vec<_>>();
    let (rows, cols) = (ids(HEIGHT, 5), ids(WIDTH, 6));
    for (heads, width) in HEADS.into_iter().chain([(1, 1)]) {
        let features = heads * width;
        let mut out = vec![T::ONE; n * heads];
        let (x, y) = (list(HEIGHT * features, 7), list(WIDTH * features, 8));
        sddmm(&rows, &cols, &x, &y, heads, features, &mut out);
        digest.add::<T>(&out);
    }
}

fn of_sums<T: Bits>(digest: &mut Digest) {
    for block in [1, 2, 3, 7, 40, 150] {
        let a = Rows::new(block);
        let values = list::<T>(a.len() * block, 9);
        let mut out = vec![T::ONE; HEIGHT * block];
        for order in [None, Some(&a.perm[..])] {
            segment_sum(&values, block, order, &a.ptr, &mut out);
            digest.add(&out);
        }
    }
}

fn of_cumsum<T: Bits>(digest: &mut Digest) {
    let a = Rows::new(1);
    for (block, reverse) in [(1, false), (1, true), (5, false)] {
        let mut out = vec![T::ONE; a.len() * block];
        segment_cumsum(&list::<T>(out.len(), 10), block, None, &a.ptr, reverse, &mut out);
        digest.add(&out);
    }
}

fn of_put<T: Bits>(digest: &mut Digest, reduce: Reduce) {
    for (len, inner, count) in [(300, 1, 2000), (9, 1, 10_000), (50, 17, 300)] {
        let index: Vec<i64> = (0..count * inner).map(|k| (hash(k, 11) % len as u64) as i64).collect();
        let target = Target { outer: 1, len, inner, count, index: TargetIndex::Full(index[..].into()) };
        for include_self in [false, true] {
            let mut out = list::<T>(len * inner, 12);
            put(&target, reduce, include_self, &list(count * inner, 13), &mut out);
            digest.add(&out);
        }
    }
}

fn of_add<T: Bits>(digest: &mut Digest) {
    of_put::<T>(digest, Reduce::Add);
}

fn of_mul<T: Bits>(digest: &mut Digest) {
    of_put::<T>(digest, Reduce::Mul);
}

fn of_mean<T: Bits>(digest: &mut Digest) {
    of_put::<T>(digest, Reduce::Mean);
}

fn of_spgemm<T: Bits>(digest: &mut Digest) {
    let a = Rows::new(1);
    let ptr: Vec<i32> = (0..=WIDTH as i32).map(|row| row * 6).collect();
    let idx: Vec<i32> = (0..WIDTH * 6).map(|k| (k % 6 * 10) as i32 + (hash(k, 14) % 10) as i32).collect();
    let b = Compressed { ptr: &ptr, idx: &idx, perm: None };
    let (values, right) = (list::<T>(a.len(), 15), list(idx.len(), 16));
    digest.add(&spgemm(a.view(false), &values, b, &right, WIDTH).unwrap().2);
}

/// Of a diagonal that is large enough for solutions of all sizes.
fn of_triangular<T: Bits + Float + Element<Acc = T>>(digest: &mut Digest) {
    let (mut ptr, mut idx, mut values) = (vec![0], vec![], vec![]);
    for r in 0..WIDTH {
        for c in (0..WIDTH).filter(|&c| c == r || hash(r * WIDTH + c, 19).is_multiple_of(3)) {
            idx.push(c as i32);
            values.push(if c == r { T::from_count(57 + r) } else { T::of(hash(idx.len(), 20)) });
        }
        ptr.push(idx.len() as i32);
    }
    let reversed: Vec<i32> = (0..idx.len() as i32).rev().collect();
    let backwards: Vec<T> = values.iter().rev().copied().collect();
    for upper in [false, true] {
        for width in [1, 7] {
            let (triangle, b) = (Triangle { upper, unit: false }, list::<T>(WIDTH * width, 21));
            for (perm, values) in [(None, &values), (Some(&reversed[..]), &backwards)] {
                let (a, mut out) = (Compressed { ptr: &ptr, idx: &idx, perm }, vec![T::ONE; b.len()]);
                solve_triangular("bits", a, values, triangle, None, (&b, width), &mut out).unwrap();
                digest.add(&out);
            }
        }
    }
}

fn of_softmax<T: Bits + Float>(digest: &mut Digest) {
    let a = Rows::new(1);
    for (block, log) in [(1, false), (1, true), (3, false), (3, true)] {
        let (x, grad) = (list::<T>(a.len() * block, 17), list::<T>(a.len() * block, 18));
        let (mut out, mut of_x) = (vec![T::ONE; x.len()], vec![T::ONE; x.len()]);
        segment_softmax(&x, block, &a.ptr, log, &mut out);
        segment_softmax_backward(&out, &grad, block, &a.ptr, log, &mut of_x);
        digest.add(&out);
        digest.add(&of_x);
    }
}

/// Every number of 16 bits, and numbers from the whole range of f32.
fn of_conversions<T: Bits + Element<Acc = f32>>(digest: &mut Digest, from_bits: fn(u16) -> T) {
    (0..=u16::MAX).for_each(|bits| digest.add(&[from_bits(bits).widen()]));
    for x in (0..1 << 18).map(|k: u32| f32::from_bits(k.wrapping_mul(16_381))) {
        digest.add(&[T::narrow(x)]);
        digest.add(&[T::round(x)]);
    }
}

fn digest(of: impl FnOnce(&mut Digest)) -> u32 {
    let mut digest = Digest::new();
    of(&mut digest);
    digest.fold()
}

#[test]
fn of_every_architecture_are_the_same() {
    macro_rules! table {
        ($($name:literal: $of:ident of $($t:ty)*;)*) => { vec![$(($name, vec![$(digest($of::<$t>)),*])),*] };
    }
    let mut table = table! {
        "spmv": of_spmv of f32 f64 f16 bf16 i32;
        "spmm": of_spmm of f32 f64 f16 bf16 i32;
        "extremum": of_extremum of f32 f64 f16 bf16 i32;
        "sddmm": of_sddmm of f32 f64 f16 bf16 i32;
        "sums": of_sums of f32 f64 f16 bf16 i32;
        "cumsum": of_cumsum of f32 f64 f16 bf16 i32;
        "put add": of_add of f32 f64 f16 bf16 i32;
        "put mul": of_mul of f32 f64 f16 bf16 i32;
        "put mean": of_mean of f32 f64 f16 bf16 i32;
        "spgemm": of_spgemm of f32 f64 f16 bf16 i32;
        "triangular": of_triangular of f32 f64;
        "softmax": of_softmax of f32 f16 bf16;
    };
    let halves = digest(|digest| of_conversions(digest, f16::from_bits));
    table.push(("conversions", vec![halves, digest(|digest| of_conversions(digest, bf16::from_bits))]));
    let print = |table: &[(&str, &[u32])]| -> String {
        let line = |(name, digests): &(&str, &[u32])| {
            let digests: Vec<String> = digests.iter().map(|x| format!("{:#06x}_{:04x}", x >> 16, x & 0xFFFF)).collect();
            format!("    (\"{name}\", &[{}]),\n", digests.join(", "))
        };
        table.iter().map(line).collect()
    };
    let table: Vec<(&str, &[u32])> = table.iter().map(|(name, digests)| (*name, &digests[..])).collect();
    assert!(table == DIGESTS, "these bits:\n{}\nare not these:\n{}", print(&table), print(DIGESTS));
}
