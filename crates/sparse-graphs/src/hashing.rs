//! Words as columns, without a vocabulary.

use burn::tensor::TensorCreationOptions;
use sparse_ops::{CsrTensor, Result, SparseError};

/// Feature hashing: the column of a word is a hash of it, so no vocabulary is built or kept.
///
/// The column of a word is `|h| mod columns`, where `h` is its 32-bit MurmurHash3 as a signed number (`|-2^31|` counts
/// as `2^31`). Its sign is that of `h`: words that fall into one column cancel on average, and so inner products keep
/// their expectation. Columns and signs are those of scikit-learn's `FeatureHasher` and `HashingVectorizer`.
///
/// Source: Weinberger, Dasgupta, Langford, Smola and Attenberg, *Feature hashing for large scale multitask learning*,
/// ICML 2009. The hash: Appleby, MurmurHash3, 2011.
///
/// ```
/// use burn::tensor::Device;
/// use sparse_tensor::data::FeatureHasher;
///
/// let hasher = FeatureHasher::new(1 << 20).unwrap();
/// let texts = [vec!["the", "cat", "the"], vec![]];
/// let x = hasher.counts(&texts, &Device::flex()).unwrap();
/// assert_eq!((x.dims(), x.nnz()), ([2, 1 << 20], 2));
/// let (column, sign) = hasher.column("the");
/// assert_eq!(x.get([0, column]).into_scalar::<f32>(), 2.0 * sign);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeatureHasher {
    columns: usize,
    signed: bool,
}

impl FeatureHasher {
    /// A hasher into so many columns. A power of two spreads words evenly; 2^20 is common.
    ///
    /// # Errors
    ///
    /// `invalid` for no columns.
    pub fn new(columns: usize) -> Result<Self> {
        if columns == 0 {
            return Err(SparseError::invalid("FeatureHasher::new", "there must be at least one column, got 0"));
        }
        Ok(Self { columns, signed: true })
    }

    /// Whether words have signs (`alternate_sign` of scikit-learn). Without signs all counts are positive.
    pub fn with_signs(mut self, signed: bool) -> Self {
        self.signed = signed;
        self
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The column of a word, and its sign: 1 or -1.
    pub fn column(&self, word: &str) -> (usize, f32) {
        let hash = murmur3(word.as_bytes()) as i32;
        let sign = if self.signed && hash < 0 { -1.0 } else { 1.0 };
        (hash.unsigned_abs() as usize % self.columns, sign)
    }

    /// How often each text has each word, times the sign of the word: `[texts, columns]`. A text is a list of words.
    ///
    /// `options` are a device, or a device and a dtype. Cost: `O(words)`, and a sort of the words.
    ///
    /// # Errors
    ///
    /// As [`CsrTensor::from_rows`].
    pub fn counts<T: AsRef<[W]>, W: AsRef<str>>(
        &self,
        texts: &[T],
        options: impl Into<TensorCreationOptions>,
    ) -> Result<CsrTensor<2>> {
        let row = |text: &T| text.as_ref().iter().map(|word| self.column(word.as_ref())).collect();
        let rows: Vec<Vec<(usize, f32)>> = texts.iter().map(row).collect();
        CsrTensor::from_rows(&rows, self.columns, options)
    }
}

/// MurmurHash3 of 32 bits, with seed 0.
fn murmur3(bytes: &[u8]) -> u32 {
    let scramble = |block: u32| block.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
    let (blocks, tail) = bytes.as_chunks::<4>();
    let hash = blocks.iter().fold(0u32, |hash, &block| {
        let mixed = (hash ^ scramble(u32::from_le_bytes(block))).rotate_left(13);
        mixed.wrapping_mul(5).wrapping_add(0xe654_6b64)
    });
    let mut last = [0; 4];
    last[..tail.len()].copy_from_slice(tail);
    let hash = hash ^ scramble(u32::from_le_bytes(last)) ^ bytes.len() as u32;
    let hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
    let hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
    hash ^ (hash >> 16)
}

#[cfg(test)]
mod tests {
    use super::murmur3;

    /// Known answers of the reference implementation.
    #[test]
    fn hashes_are_those_of_murmur3() {
        for (text, hash) in [
            ("", 0),
            ("test", 0xba6b_d213),
            ("Hello, world!", 0xc036_3e43),
            ("The quick brown fox jumps over the lazy dog", 0x2e4f_f723),
        ] {
            assert_eq!(murmur3(text.as_bytes()), hash, "{text:?}");
        }
    }
}
