//! Coordinates as keys: the number of a cell in row-major order, in as few 32-bit words as the shape needs. So all dims
//! are sorted at once, and on devices without 64-bit integers too.

use super::super::launch::{arg, empty, launch, stored};
use super::super::sort::bits_below;
use burn::backend::DType;
use burn_cubecl::cubecl::prelude::SequenceArg;
use burn_cubecl::tensor::CubeTensor;
use std::ops::Range;

#[allow(missing_docs)]
mod kernels {
    use burn_cubecl::cubecl;
    use cubecl::prelude::*;

    /// A word of each key: the low or the `high` half of the number that the coordinates along dims `first..` make, in
    /// `order` or in their own. A `wide` dim has indices of more than 32 bits, and is alone.
    #[cube(launch, launch_unchecked, address_type = "dynamic")]
    pub fn pack<I: Int>(
        indices: &Tensor<I>,
        order: &ComptimeOption<OwnedTensor<I>>,
        out: &mut Tensor<u32>,
        sizes: &Sequence<u32>,
        first: usize,
        n: usize,
        #[comptime] high: bool,
        #[comptime] wide: bool,
        #[define(I)] _type: ElemType,
    ) {
        let k = ABSOLUTE_POS;
        if k >= n {
            terminate!();
        }
        #[comptime]
        let from = match order {
            ComptimeOption::Some(order) => usize::cast_from(order[k]),
            ComptimeOption::None => k,
        };
        let mut low = 0u32;
        let mut top = 0u32;
        #[unroll]
        for d in 0..comptime![sizes.len()] {
            let index = indices[(first + d) * n + from];
            if comptime!(wide) {
                top = u32::cast_from(index >> I::cast_from(32u32));
                low = u32::cast_from(index);
            } else {
                // The number so far, times the size, plus the index.
                let size = sizes[d];
                let product = low * size;
                let sum = product + u32::cast_from(index);
                if comptime!(high) {
                    top = top * size + low.mul_hi(size) + select(sum < product, 1u32, 0u32);
                }
                low = sum;
            }
        }
        out[k] = if high { top } else { low };
    }
}

/// A word of the keys: bits of the number that the coordinates along some dims make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    pub dims: Range<usize>,
    high: bool,
    pub bits: usize,
}

/// The words of a shape, the least significant first.
pub fn words(shape: &[usize]) -> Vec<Word> {
    let mut words = vec![];
    let mut end = shape.len();
    while end > 0 {
        // As many dims as 64 bits can number. One of 2^32 indices or more is alone: its indices are not multiplied.
        let (mut first, mut cells) = (end - 1, shape[end - 1] as u128);
        while first > 0 && !is_wide(shape[end - 1]) && !is_wide(shape[first - 1]) {
            let more = cells * shape[first - 1] as u128;
            if more > 1 << 64 {
                break;
            }
            (first, cells) = (first - 1, more);
        }
        let (dims, bits) = (first..end, bits_below(cells));
        words.push(Word { dims: dims.clone(), high: false, bits: bits.min(32) });
        if bits > 32 {
            words.push(Word { dims, high: true, bits: bits - 32 });
        }
        end = first;
    }
    // Dims of one index tell nothing.
    let several = words.len() > 1;
    words.retain(|word| word.bits > 0 || !several);
    words
}

fn is_wide(size: usize) -> bool {
    size > u32::MAX as usize
}

/// Whether the coordinates along all dims can be computed from the key. One dim of 2^32 indices has a key of one word,
/// but a size of 33 bits.
pub fn unpacks(words: &[Word], shape: &[usize]) -> bool {
    words.len() == 1 && !shape.iter().any(|&size| is_wide(size))
}

impl Word {
    /// This word of the elements of `indices`, in `order` or in their own.
    pub fn pack(&self, indices: &CubeTensor, shape: &[usize], order: Option<&CubeTensor>) -> CubeTensor {
        let n = indices.meta.shape()[1];
        let (out, order) = (empty(indices, [n], DType::U32), order.map(arg));
        let (wide, kind) = (is_wide(shape[self.dims.start]), stored(indices.dtype));
        let (i, o, sizes) = (arg(indices), arg(&out), sizes(&shape[self.dims.clone()]));
        launch!(pack, indices, n, (i, order.into(), o, sizes, self.dims.start, n, self.high, wide), kind);
        out
    }
}

/// The sizes of some dims as an argument. That of a wide dim is not read.
pub fn sizes(shape: &[usize]) -> SequenceArg<u32> {
    shape.iter().map(|&size| size as u32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Dims, whether it is the high word, and bits.
    fn of(shape: &[usize]) -> Vec<(Range<usize>, bool, usize)> {
        words(shape).into_iter().map(|Word { dims, high, bits }| (dims, high, bits)).collect()
    }

    #[test]
    fn a_key_has_as_few_bits_as_its_cells_need() {
        assert_eq!(of(&[1]), [(0..1, false, 0)]);
        assert_eq!(of(&[300, 200]), [(0..2, false, 16)]);
        assert_eq!(of(&[1 << 16, 1 << 16]), [(0..2, false, 32)]);
        assert_eq!(of(&[(1 << 16) + 1, 1 << 16]), [(0..2, false, 32), (0..2, true, 1)]);
        assert_eq!(of(&[1 << 20, 1 << 20, 1 << 24]), [(0..3, false, 32), (0..3, true, 32)]);
    }

    #[test]
    fn more_cells_than_64_bits_number_take_several_keys() {
        let max = i32::MAX as usize;
        assert_eq!(of(&[9, max, max]), [(1..3, false, 32), (1..3, true, 30), (0..1, false, 4)]);
        assert_eq!(of(&[5, 1 << 40, 3]), [(2..3, false, 2), (1..2, false, 32), (1..2, true, 8), (0..1, false, 3)]);
    }

    #[test]
    fn dims_of_one_index_have_no_word() {
        assert_eq!(of(&[1, 1 << 40, 1]), [(1..2, false, 32), (1..2, true, 8)]);
        assert_eq!(of(&[1, 1]), [(0..2, false, 0)]);
    }

    #[test]
    fn coordinates_are_computed_from_keys_of_one_word() {
        let of = |shape: &[usize]| unpacks(&words(shape), shape);
        assert!(of(&[1 << 16, 1 << 16]) && of(&[1, (1 << 32) - 1]));
        assert!(!of(&[1 << 32]) && !of(&[1, 1 << 32, 1]) && !of(&[(1 << 16) + 1, 1 << 16]));
    }
}
