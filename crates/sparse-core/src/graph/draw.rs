//! Draws of positions: the first phase of a hop.

use super::store::{Ahead, GraphStore};
use crate::par::{self, even};
use crate::random::{Stream, mix};
use crate::{Result, SparseError};
use core::ops::Range;

/// Up to this many draws, a linear search finds a number that was drawn before. More draws use a bitset.
const FEW: usize = 48;

/// Weights are read for as many nodes at a time as have so many elements together, or for one node.
const WEIGHTS: usize = 1 << 16;

/// How neighbours are drawn.
#[derive(Debug, Clone, Copy)]
pub struct Draw {
    /// Whether a neighbour may be drawn more than once.
    pub replace: bool,
    /// Whether the values of the elements are their weights. Otherwise all are drawn alike.
    pub weighted: bool,
    /// What the draw depends on, besides the hop and the node.
    pub key: u64,
}

/// The positions that were drawn for some nodes, one node after the other.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Drawn {
    /// Number of positions of each node.
    pub counts: Vec<usize>,
    /// The positions among the elements of the graph.
    pub positions: Vec<usize>,
    /// How often each position was drawn, with replacement only.
    pub times: Vec<u32>,
}

/// The first phase of a hop: draws `fan_out` positions for each of `nodes` (all, if it has fewer). Reads no column.
///
/// Draws for a node depend on `draw.key` and the node only. So the parts, of some nodes each and in order, give the
/// same positions one after the other, for any number of threads and parts. The parts have been
/// [asked for](GraphStore::ask): their columns can be read.
///
/// # Errors
///
/// As [`sample_hops`](super::sample_hops).
pub fn positions(
    op: &'static str,
    store: &dyn GraphStore,
    nodes: &[i64],
    fan_out: usize,
    draw: Draw,
) -> Result<Vec<Drawn>> {
    let rows = Rows { op, store, draw, fan_out };
    let pieces = even(nodes.len(), fan_out.min(64));
    // The pages of all pieces first: each piece would wait for its own ones only.
    par::run(pieces.len(), &|piece| store.ask(Ahead::Rows(&nodes[pieces[piece].clone()])));
    par::map(pieces.len(), &|piece| rows.drawn(&nodes[pieces[piece].clone()])).into_iter().collect()
}

/// Draws of one hop.
#[derive(Clone, Copy)]
struct Rows<'a> {
    op: &'static str,
    store: &'a dyn GraphStore,
    draw: Draw,
    fan_out: usize,
}

/// Memory that the draws of a piece share.
#[derive(Default)]
struct Scratch {
    bits: Vec<u64>,
    sums: Vec<f64>,
    keys: Vec<(f64, usize)>,
}

impl Rows<'_> {
    fn drawn(&self, nodes: &[i64]) -> Result<Drawn> {
        let mut out = Drawn::default();
        out.counts.reserve(nodes.len());
        out.positions.reserve(nodes.len().saturating_mul(self.fan_out.min(64)));
        let (mut scratch, mut spans) = (Scratch::default(), Vec::new());
        self.store.spans(nodes, &mut spans)?;
        if self.draw.weighted {
            self.store.ask(Ahead::Spans(&spans));
        }
        let (mut read, mut weights, mut rest) = (0, Vec::new(), &[][..]);
        for (k, (&node, span)) in nodes.iter().zip(&spans).enumerate() {
            let before = out.positions.len();
            let mut stream = Stream::new(mix(self.draw.key, node as u64));
            if self.draw.weighted && k == read {
                read += some(&spans[k..]);
                self.weigh(&spans[k..read], &mut weights)?;
                rest = &weights[..];
            }
            let own = rest.split_off(..span.len().min(rest.len())).unwrap_or_default();
            let (span, drawn) = (span.clone(), &mut out.positions);
            match (self.draw.weighted, self.draw.replace) {
                (false, false) => distinct(span, self.fan_out, &mut stream, &mut scratch, drawn),
                (true, false) => weighted_distinct(span, own, self.fan_out, &mut stream, &mut scratch, drawn),
                (false, true) => repeated(span, self.fan_out, &mut stream, drawn),
                (true, true) => weighted_repeated(span, own, self.fan_out, &mut stream, &mut scratch, drawn),
            }
            if self.draw.replace {
                count_equal(&mut out, before);
            }
            out.counts.push(out.positions.len() - before);
        }
        self.store.ask(Ahead::Columns(&out.positions));
        Ok(out)
    }

    /// Reads the weights of spans.
    fn weigh(&self, spans: &[Range<usize>], weights: &mut Vec<f32>) -> Result<()> {
        weights.clear();
        self.store.span_values(spans, weights)?;
        match weights.iter().position(|weight| !(0.0..f32::INFINITY).contains(weight)) {
            None => Ok(()),
            Some(k) => {
                let (got, at) = (weights[k], spans.iter().cloned().flatten().nth(k).unwrap_or_default());
                let message = format!("a weight must be finite and not negative, got {got} at position {at}");
                Err(SparseError::invalid(self.op, message))
            }
        }
    }
}

/// How many of the first spans have few elements together: at least one.
fn some(spans: &[Range<usize>]) -> usize {
    let mut elements = 0usize;
    let few = |span: &&Range<usize>| {
        elements = elements.saturating_add(span.len());
        elements <= WEIGHTS
    };
    spans.iter().take_while(few).count().max(1)
}

/// `count` different positions of `span`, or all. Every subset has the same probability.
fn distinct(span: Range<usize>, count: usize, stream: &mut Stream, scratch: &mut Scratch, out: &mut Vec<usize>) {
    let degree = span.len();
    if degree <= count {
        out.extend(span);
        return;
    }
    let first = out.len();
    if count <= FEW {
        for last in degree - count..degree {
            let at = span.start + stream.below(last + 1);
            let at = if out[first..].contains(&at) { span.start + last } else { at };
            out.push(at);
        }
        return;
    }
    scratch.bits.clear();
    scratch.bits.resize(degree.div_ceil(64), 0);
    for last in degree - count..degree {
        let at = stream.below(last + 1);
        let taken = scratch.bits[at / 64] >> (at % 64) & 1 == 1;
        let at = if taken { last } else { at };
        scratch.bits[at / 64] |= 1 << (at % 64);
    }
    for (word, &bits) in scratch.bits.iter().enumerate() {
        let mut bits = bits;
        while bits != 0 {
            out.push(span.start + word * 64 + bits.trailing_zeros() as usize);
            bits &= bits - 1;
        }
    }
}

/// `count` positions of `span`, each drawn from all of it.
fn repeated(span: Range<usize>, count: usize, stream: &mut Stream, out: &mut Vec<usize>) {
    if !span.is_empty() {
        out.extend((0..count).map(|_| span.start + stream.below(span.len())));
    }
}

/// `count` different positions with a weight, or all of them: one after the other with probabilities in proportion to
/// the weights of those that are left.
fn weighted_distinct(
    span: Range<usize>,
    weights: &[f32],
    count: usize,
    stream: &mut Stream,
    scratch: &mut Scratch,
    out: &mut Vec<usize>,
) {
    let Some(last) = count.checked_sub(1) else { return };
    let keys = &mut scratch.keys;
    keys.clear();
    // The first of independent exponential clocks with these rates rings with these probabilities.
    let clock = |(at, &weight): (usize, &f32)| (weight > 0.0).then(|| (-stream.unit().ln() / f64::from(weight), at));
    keys.extend(span.zip(weights).filter_map(clock));
    if keys.len() > count {
        keys.select_nth_unstable_by(last, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        keys.truncate(count);
        keys.sort_unstable_by_key(|&(_, at)| at);
    }
    out.extend(keys.iter().map(|&(_, at)| at));
}

/// `count` positions, each drawn with a probability in proportion to its weight.
fn weighted_repeated(
    span: Range<usize>,
    weights: &[f32],
    count: usize,
    stream: &mut Stream,
    scratch: &mut Scratch,
    out: &mut Vec<usize>,
) {
    let sums = &mut scratch.sums;
    sums.clear();
    let mut sum = 0.0;
    sums.extend(weights.iter().map(|&weight| {
        sum += f64::from(weight);
        sum
    }));
    if sum > 0.0 {
        // A number in (0, sum] is never at an element without a weight: its sum is that of the element before.
        out.extend((0..count).map(|_| {
            let at = stream.unit() * sum;
            span.start + sums.partition_point(|&below| below < at)
        }));
    }
}

/// Sorts the positions from `before` on, and counts equal ones.
fn count_equal(out: &mut Drawn, before: usize) {
    out.positions[before..].sort_unstable();
    let mut kept = before;
    for k in before..out.positions.len() {
        if k > before && out.positions[k] == out.positions[kept - 1] {
            out.times[kept - 1] += 1;
        } else {
            out.positions[kept] = out.positions[k];
            out.times.push(1);
            kept += 1;
        }
    }
    out.positions.truncate(kept);
}
