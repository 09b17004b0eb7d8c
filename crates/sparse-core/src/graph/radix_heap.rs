//! A priority queue whose least key only grows.

/// Nodes by their distance, which only grows from one that is taken to the next: a radix heap. Bucket `b` has the
/// distances that first differ from the last one taken in bit `b - 1`, as keys; bucket 0 has that one itself. Each node
/// moves to lower buckets only, so a node costs `O(64)` steps in order of memory, where a binary heap waits for a line
/// of cache at each.
///
/// Source: Ahuja, Mehlhorn, Orlin and Tarjan, *Faster algorithms for the shortest path problem*, JACM 1990.
pub(super) struct Waiting {
    buckets: [Vec<(u64, u32)>; 65],
    last: u64,
}

impl Waiting {
    pub(super) fn new() -> Self {
        Self { buckets: [const { Vec::new() }; 65], last: 0 }
    }

    pub(super) fn clear(&mut self) {
        self.buckets.iter_mut().for_each(Vec::clear);
        self.last = 0;
    }

    /// A distance from 0 on, not below the last one taken. Bits of such numbers are in their order; -0.0 is none.
    #[inline(always)]
    pub(super) fn push(&mut self, distance: f64, node: u32) {
        let key = (distance + 0.0).to_bits();
        self.buckets[(u64::BITS - (key ^ self.last).leading_zeros()) as usize].push((key, node));
    }

    #[inline(always)]
    pub(super) fn pop(&mut self) -> Option<(f64, u32)> {
        if self.buckets[0].is_empty() {
            let bucket = self.buckets.iter().position(|bucket| !bucket.is_empty())?;
            let mut moved = std::mem::take(&mut self.buckets[bucket]);
            self.last = moved.iter().map(|one| one.0).min()?;
            for &(key, node) in &moved {
                self.buckets[(u64::BITS - (key ^ self.last).leading_zeros()) as usize].push((key, node));
            }
            moved.clear();
            self.buckets[bucket] = moved;
        }
        self.buckets[0].pop().map(|(key, node)| (f64::from_bits(key), node))
    }
}
