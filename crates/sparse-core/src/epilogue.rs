//! What follows a product, element by element, while a row of it is in the cache.

use crate::Element;

/// A bias that is added to each row, and ReLU after it. ReLU leaves NaN.
#[derive(Clone, Copy, Debug)]
pub struct Epilogue<'a, T> {
    /// One number for each column.
    pub bias: Option<&'a [T]>,
    /// Whether numbers below zero become zero.
    pub relu: bool,
}

impl<T> Default for Epilogue<'_, T> {
    fn default() -> Self {
        Self { bias: None, relu: false }
    }
}

impl<T: Element> Epilogue<'_, T> {
    /// Rows of `width` elements that are written before this is applied to them.
    pub(crate) fn block(&self, width: usize) -> usize {
        // Half of a small first-level cache.
        const BYTES: usize = 16 << 10;
        if self.bias.is_none() && !self.relu { usize::MAX } else { (BYTES / (width * size_of::<T>())).max(1) }
    }

    /// Changes rows of `width` elements. Each step is rounded to the element type, as if it were a pass of its own.
    // Compiled once for each type, and not into every kernel.
    #[inline(never)]
    pub(crate) fn apply(&self, rows: &mut [T], width: usize) {
        if let Some(bias) = self.bias {
            for row in rows.chunks_exact_mut(width) {
                row.iter_mut().zip(bias).for_each(|(x, b)| *x = T::narrow(T::add(x.widen(), b.widen())));
            }
        }
        if self.relu {
            rows.iter_mut().for_each(|x| *x = if *x <= T::ZERO { T::ZERO } else { *x });
        }
    }
}
