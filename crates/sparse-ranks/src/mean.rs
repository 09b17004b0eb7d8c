//! The weighted mean of arrays of floats, which are given as bytes.

use burn::tensor::DType;
use half::{bf16, f16};
use sparse_ops::{Result, SparseError, dtype_name};

/// Bytes of an element.
pub(super) fn width(op: &'static str, dtype: DType) -> Result<usize> {
    match dtype {
        DType::F64 => Ok(8),
        DType::F32 | DType::Flex32 => Ok(4),
        DType::F16 | DType::BF16 => Ok(2),
        _ => Err(SparseError::unsupported_dtype(op, "a gradient", dtype_name(dtype))),
    }
}

/// `(sum_r weights[r] parts[r]) / sum(weights)` of `length` elements, in the order of `parts`. Parts of weight 0 are
/// not looked at.
pub(super) fn mean_of_parts(
    op: &'static str,
    dtype: DType,
    length: usize,
    parts: &[&[u8]],
    weights: &[f64],
) -> Result<Vec<u8>> {
    let expected = length * width(op, dtype)?;
    let total = weights.iter().sum();
    let parts: Vec<(&[u8], f64)> = parts.iter().copied().zip(weights.iter().copied()).collect();
    if let Some((part, _)) = parts.iter().find(|(part, weight)| *weight != 0.0 && part.len() != expected) {
        return Err(SparseError::length_mismatch(op, "the bytes of a rank", expected, part.len()));
    }
    Ok(match dtype {
        DType::F64 => mean::<8>(length, &parts, total, f64::from_ne_bytes, f64::to_ne_bytes),
        DType::F16 => mean::<2>(
            length,
            &parts,
            total,
            |bytes| f16::from_ne_bytes(bytes).to_f64(),
            // By way of f32, as hardware does it, so that every machine gives the same bits.
            |mean| f16::from_f32(mean as f32).to_ne_bytes(),
        ),
        DType::BF16 => mean::<2>(
            length,
            &parts,
            total,
            |bytes| bf16::from_ne_bytes(bytes).to_f64(),
            |mean| bf16::from_f32(mean as f32).to_ne_bytes(),
        ),
        _ => mean::<4>(
            length,
            &parts,
            total,
            |bytes| f64::from(f32::from_ne_bytes(bytes)),
            |mean| (mean as f32).to_ne_bytes(),
        ),
    })
}

/// Elements that are summed at a time: their sums stay in the first cache.
const BLOCK: usize = 1024;

fn mean<const N: usize>(
    length: usize,
    parts: &[(&[u8], f64)],
    total: f64,
    read: impl Fn([u8; N]) -> f64,
    write: impl Fn(f64) -> [u8; N],
) -> Vec<u8> {
    let mut out = vec![0; length * N];
    let (places, _) = out.as_chunks_mut::<N>();
    let mut sums = [0.0; BLOCK];
    for start in (0..length).step_by(BLOCK) {
        let count = BLOCK.min(length - start);
        let sums = &mut sums[..count];
        sums.fill(0.0);
        for &(part, weight) in parts.iter().filter(|(_, weight)| *weight != 0.0) {
            let (elements, _) = part[start * N..(start + count) * N].as_chunks::<N>();
            for (sum, &bytes) in sums.iter_mut().zip(elements) {
                *sum += weight * read(bytes);
            }
        }
        for (place, sum) in places[start..].iter_mut().zip(sums) {
            *place = write(*sum / total);
        }
    }
    out
}
