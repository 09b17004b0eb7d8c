//! Rows of a product of two sparse matrices that have few products, in a matrix of many columns.
//!
//! A dense row of such a matrix does not fit the caches near the core: each product would miss them, and the bitmap of
//! places would be as long for a row of three elements as for any other. So the products are sorted by their place.

use crate::Element;

/// Most products of a row that are sorted: one more doubling costs a pass over them, a miss costs about ten.
const PRODUCTS: usize = 1024;

/// Places from which on a dense row is too long: its sums take a megabyte in f32.
const WIDTH: usize = 1 << 18;

/// Whether a row with so many products should be sorted. They are counted in wide matrices only.
#[inline(always)]
pub(super) fn is_short(width: usize, products: impl FnOnce() -> usize) -> bool {
    width > WIDTH && products() <= PRODUCTS
}

/// The products of a row.
pub(super) struct Products<T: Element> {
    /// Place, then the number of the product: sorted by place, and products of one place in the order of the row.
    keys: Vec<u64>,
    products: Vec<T::Acc>,
}

impl<T: Element> Products<T> {
    pub(super) fn new() -> Self {
        Self { keys: Vec::new(), products: Vec::new() }
    }

    #[inline(always)]
    pub(super) fn add(&mut self, place: usize, product: T::Acc) {
        self.keys.push((place as u64) << 32 | self.products.len() as u64);
        self.products.push(product);
    }

    /// So many sums, all zero, in place of products.
    pub(super) fn sums(&mut self, count: usize) -> &mut [T::Acc] {
        self.products.clear();
        self.products.resize(count, T::ACC_ZERO);
        &mut self.products
    }

    /// Writes the places in order and their sums, added in the order of the row, and forgets the products. Returns the
    /// number of places. They must be below `width`.
    pub(super) fn drain(&mut self, width: usize, places: &mut [i32], out: &mut [T]) -> usize {
        self.keys.sort_unstable();
        let last = self.keys.last().map_or(0, |key| key >> 32);
        assert!(self.keys.is_empty() || last < width as u64, "spgemm: a column must be in [0, {width}), got {last}");
        let mut count = 0;
        let mut keys = self.keys.drain(..).map(|key| ((key >> 32) as i32, key as u32 as usize)).peekable();
        while let Some((place, first)) = keys.next() {
            // Zero plus the first product, as in a dense row.
            let mut sum = T::add(T::ACC_ZERO, self.products[first]);
            while let Some((_, next)) = keys.next_if(|(other, _)| *other == place) {
                sum = T::add(sum, self.products[next]);
            }
            (places[count], out[count]) = (place, T::narrow(sum));
            count += 1;
        }
        drop(keys);
        self.products.clear();
        count
    }
}
