//! Merging rows of two CSR patterns with 32-bit columns, up to 8 elements of each at a time.
//!
//! A merge that compares two elements at a time waits for each comparison before it can read the next two. Here 16
//! elements go through a sorting network (Batcher, "Sorting networks and their applications", 1968) in registers, so a
//! row of up to 8 and 8 elements takes as long whatever its pattern, and the rows after it need not wait for it.

use super::expand::{A, B, BOTH, WORD, head};
use super::steps::{self, Keep};
use crate::Index;
use core::arch::x86_64::__m256i;
use core::ops::Range;
use pulp::NullaryFnOnce;
use pulp::x86::V3;

/// Most elements of a row that are taken at a time.
const W: usize = WORD;

/// Rows with fewer elements than this on average (of both patterns) take less time one comparison after the other.
const ELEMENTS: usize = 4;

/// Row pointers and columns.
type Pattern<'a> = (&'a [i32], &'a [i32]);

/// The steps of the merge of some rows of `a` and `b`, and the ends of the rows among the elements that are kept.
/// Returns the number of common elements, or `None` where [`steps::merge`] is to be used.
pub(super) fn merge_rows(
    keep: Keep,
    rows: Range<usize>,
    a: Pattern<'_>,
    b: Pattern<'_>,
    ends: &mut [i32],
    steps: &mut [u8],
) -> Option<usize> {
    if steps.len() < ELEMENTS * rows.len() {
        return None;
    }
    let simd = V3::try_new()?;
    Some(simd.vectorize(Rows { simd, keep, rows, a, b, ends, steps }))
}

struct Rows<'a> {
    simd: V3,
    keep: Keep,
    rows: Range<usize>,
    a: Pattern<'a>,
    b: Pattern<'a>,
    ends: &'a mut [i32],
    steps: &'a mut [u8],
}

impl NullaryFnOnce for Rows<'_> {
    type Output = usize;

    #[inline(always)]
    fn call(self) -> usize {
        let (mut at, mut common) = (0, 0);
        for (r, end) in self.rows.zip(self.ends) {
            let [i, j] = [self.a, self.b].map(|(ptr, _)| ptr[r].to_usize()..ptr[r + 1].to_usize());
            let (x, y) = (&self.a.1[i.clone()], &self.b.1[j.clone()]);
            let steps = &mut self.steps[at..];
            let searched = steps::is_lopsided(x.len(), y.len()) && x.len().max(y.len()) > W;
            // Beside the largest column, a place of a window without an element would look like the same one of `b`.
            let both = if searched || x.last() == Some(&i32::MAX) {
                steps::merge(|p| x[p], 0..x.len(), |q| y[q], 0..y.len(), steps)
            } else {
                merge(self.simd, (self.a.1, i), (self.b.1, j), steps)
            };
            at += x.len() + y.len() - both;
            common += both;
            // The total is checked against the index type before this value is used.
            *end = (if self.keep == Keep::Union { at } else { common }).min(i32::MAX as usize) as i32;
        }
        common
    }
}

/// [`steps::merge`] of elements `i` of one list with elements `j` of another.
#[inline(always)]
fn merge(simd: V3, (a, mut i): (&[i32], Range<usize>), (b, mut j): (&[i32], Range<usize>), steps: &mut [u8]) -> usize {
    let (mut k, mut common) = (0, 0);
    loop {
        // What is above the last element of either window may be below what comes after it.
        let limit = last(a, &i).min(last(b, &j));
        let (x, n) = window(simd, a, &i, limit);
        let (y, m) = window(simd, b, &j, limit);
        let (bytes, both) = sorted(simd, x, y);
        let all = (1u32 << (n + m)) - 1;
        // Of two equal elements the second one has no step.
        let both = both & (all >> 1);
        let kept = all & !(both << 1);
        let (low, count) = compress(simd, bytes[0], kept & 255);
        let (high, more) = compress(simd, bytes[1], kept >> 8);
        match steps.get_mut(k..k + 2 * W) {
            Some(steps) => {
                steps[..W].copy_from_slice(&low);
                steps[count..count + W].copy_from_slice(&high);
            }
            None => {
                steps[k..k + count].copy_from_slice(&low[..count]);
                steps[k + count..k + count + more].copy_from_slice(&high[..more]);
            }
        }
        k += count + more;
        common += both.count_ones() as usize;
        (i.start, j.start) = (i.start + n, j.start + m);
        if i.is_empty() || j.is_empty() {
            break;
        }
    }
    let (rest, step) = if j.is_empty() { (i.len(), A) } else { (j.len(), B) };
    if rest > 0 {
        steps[k..k + rest].fill(step);
    }
    common
}

/// The last element of the window at the start of `range`; if the window has all elements, more than any of them.
#[inline(always)]
fn last(list: &[i32], range: &Range<usize>) -> i32 {
    if range.len() > W { list[range.start + W - 1] } else { i32::MAX }
}

/// Twice each of the first elements of `range`, then the largest number; and how many of them are at most `limit`.
#[inline(always)]
fn window(simd: V3, list: &[i32], range: &Range<usize>, limit: i32) -> (__m256i, usize) {
    let own = bytemuck::cast(head(&list[range.start..]));
    let (avx, avx2) = (simd.avx, simd.avx2);
    let numbers = bytemuck::cast([0i32, 1, 2, 3, 4, 5, 6, 7]);
    let missing = avx2._mm256_cmpgt_epi32(numbers, avx._mm256_set1_epi32(range.len().min(W) as i32 - 1));
    let above = avx2._mm256_or_si256(missing, avx2._mm256_cmpgt_epi32(own, avx._mm256_set1_epi32(limit)));
    let count = W - avx._mm256_movemask_ps(avx._mm256_castsi256_ps(above)).count_ones() as usize;
    (avx2._mm256_or_si256(avx2._mm256_add_epi32(own, own), missing), count)
}

/// The steps of two windows in order, as two times 8 bytes, and a mask of those that the next one is equal to.
#[inline(always)]
fn sorted(simd: V3, x: __m256i, y: __m256i) -> ([u64; 2], u32) {
    let (avx, avx2, sse2) = (simd.avx, simd.avx2, simd.sse2);
    let one = avx._mm256_set1_epi32(1);
    let ordered = |x, y| (avx2._mm256_min_epu32(x, y), avx2._mm256_max_epu32(x, y));
    // The lowest bit tells the list. Ascending and then descending keys are a bitonic list, which the network sorts.
    let y = avx2._mm256_permutevar8x32_epi32(avx2._mm256_or_si256(y, one), bytemuck::cast([7i32, 6, 5, 4, 3, 2, 1, 0]));
    let (x, y) = ordered(x, y);
    let (x, y) = (avx2._mm256_permute2x128_si256::<0x20>(x, y), avx2._mm256_permute2x128_si256::<0x31>(x, y));
    let (x, y) = ordered(x, y);
    let (x, y) = (avx2._mm256_unpacklo_epi64(x, y), avx2._mm256_unpackhi_epi64(x, y));
    let (x, y) = ordered(x, y);
    let (x, y) = (avx2._mm256_unpacklo_epi32(x, y), avx2._mm256_unpackhi_epi32(x, y));
    let (x, y) = (avx2._mm256_unpacklo_epi64(x, y), avx2._mm256_unpackhi_epi64(x, y));
    let (x, y) = ordered(x, y);
    // Elements 0..4 and 8..12, then 4..8 and 12..16.
    let (x, y) = (avx2._mm256_unpacklo_epi32(x, y), avx2._mm256_unpackhi_epi32(x, y));
    let after = avx2._mm256_permute2x128_si256::<0x81>(x, x);
    let next = (avx2._mm256_alignr_epi8::<4>(y, x), avx2._mm256_alignr_epi8::<4>(after, y));
    let step = |key, next| {
        let both = avx2._mm256_cmpeq_epi32(avx2._mm256_xor_si256(key, one), next);
        let own = avx2._mm256_add_epi32(avx2._mm256_and_si256(key, one), one);
        avx2._mm256_or_si256(own, avx2._mm256_srli_epi32::<30>(both))
    };
    let words = avx2._mm256_packs_epi32(step(x, next.0), step(y, next.1));
    let bytes = avx2._mm256_packs_epi16(words, words);
    let bytes = sse2._mm_unpacklo_epi64(avx._mm256_castsi256_si128(bytes), avx2._mm256_extracti128_si256::<1>(bytes));
    let both = sse2._mm_cmpeq_epi8(bytes, sse2._mm_set1_epi8(BOTH as i8));
    (bytemuck::cast(bytes), sse2._mm_movemask_epi8(both) as u32)
}

/// The bytes that a mask keeps, one behind the other, and their number.
#[inline(always)]
fn compress(simd: V3, bytes: u64, kept: u32) -> ([u8; W], usize) {
    let kept = kept as usize % (1 << W);
    let moved = simd.ssse3._mm_shuffle_epi8(bytemuck::cast([bytes, 0]), bytemuck::cast([PLACES[kept], 0]));
    let [moved, _]: [u64; 2] = bytemuck::cast(moved);
    (moved.to_le_bytes(), kept.count_ones() as usize)
}

/// For each mask of 8 bits the numbers of its bits, a byte each.
static PLACES: [u64; 1 << W] = {
    let mut places = [0; 1 << W];
    let mut mask = 0;
    while mask < places.len() {
        let (mut bit, mut to) = (0, 0);
        while bit < W {
            if mask >> bit & 1 == 1 {
                places[mask] |= (bit as u64) << (8 * to);
                to += 1;
            }
            bit += 1;
        }
        mask += 1;
    }
    places
};
