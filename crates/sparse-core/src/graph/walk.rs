//! Random walks.

use crate::element::Ids;
use crate::memory::zeroed;
use crate::par;
use crate::random::{Stream, mix};
use core::ops::Range;

/// After this many rejected proposals a step computes the probabilities of all neighbours.
const PATIENCE: usize = 32;

/// The bias of a second-order walk.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WalkBias {
    /// A step back has the weight `1 / p`.
    pub p: f64,
    /// A step to a node that is no neighbour of the last one has the weight `1 / q`.
    pub q: f64,
}

/// Walks `[starts, length + 1]`: row `w` begins at `starts[w]`, and each further node is a random neighbour of the one
/// before. At a node without neighbours the walk stays.
///
/// With a bias the walk is that of node2vec: from `v`, which was reached from `t`, the step to `x` has the weight `1 /
/// p` if `x = t`, 1 if `t` has an edge to `x`, and `1 / q` otherwise. A proposal is drawn uniformly and accepted with
/// its weight (rejection sampling); after many rejections the weights of all neighbours are summed instead, with the
/// same distribution. Draws depend on the key and the number of the walk. `starts` are in range. Columns ascend in a
/// row.
///
/// Cost: `O(length)` random reads for each walk, with a bias also a binary search for each; parallel.
///
/// Source: Grover and Leskovec, *node2vec: scalable feature learning for networks*, KDD 2016.
pub fn random_walks(
    ptr: Ids<'_>,
    idx: Ids<'_>,
    starts: &[i64],
    length: usize,
    bias: Option<WalkBias>,
    key: u64,
) -> Vec<i64> {
    let width = length + 1;
    let mut out = zeroed(starts.len() * width);
    let graph = Graph { ptr, idx };
    par::chunks_mut(&mut out, width, &|walk, nodes: &mut [i64]| {
        let mut stream = Stream::new(mix(key, walk as u64));
        let mut weights = Vec::new();
        let mut at = starts[walk] as usize;
        let mut last = None;
        for node in nodes {
            *node = at as i64;
            let span = ptr.span(at);
            if span.is_empty() {
                continue;
            }
            let next = match (bias, last) {
                (Some(bias), Some(last)) => graph.biased(span, last, bias, &mut stream, &mut weights),
                _ => idx.at(span.start + stream.below(span.len())),
            };
            (last, at) = (Some(at), next);
        }
    });
    out
}

#[derive(Clone, Copy)]
struct Graph<'a> {
    ptr: Ids<'a>,
    idx: Ids<'a>,
}

impl Graph<'_> {
    fn biased(
        self,
        span: Range<usize>,
        last: usize,
        bias: WalkBias,
        stream: &mut Stream,
        weights: &mut Vec<f64>,
    ) -> usize {
        let weight = |x: usize| {
            if x == last {
                1.0 / bias.p
            } else if self.joins(last, x) {
                1.0
            } else {
                1.0 / bias.q
            }
        };
        let most = (1.0 / bias.p).max(1.0).max(1.0 / bias.q);
        for _ in 0..PATIENCE {
            let x = self.idx.at(span.start + stream.below(span.len()));
            if stream.unit() * most <= weight(x) {
                return x;
            }
        }
        let mut sum = 0.0;
        weights.clear();
        weights.extend(span.clone().map(|k| {
            sum += weight(self.idx.at(k));
            sum
        }));
        let at = stream.unit() * sum;
        self.idx.at(span.start + weights.partition_point(|&below| below < at))
    }

    /// Whether `a` has an edge to `b`.
    fn joins(self, a: usize, b: usize) -> bool {
        let span = self.ptr.span(a);
        match self.idx {
            Ids::I32(idx) => idx[span].binary_search_by_key(&b, |&col| col as usize).is_ok(),
            Ids::I64(idx) => idx[span].binary_search_by_key(&b, |&col| col as usize).is_ok(),
        }
    }
}
