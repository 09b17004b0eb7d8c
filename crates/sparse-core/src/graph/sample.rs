//! Neighbour sampling.

use super::random::{Stream, mix};
use super::relabel::Relabel;
use super::store::{Ahead, GraphStore};
use crate::par::{self, even};
use crate::{Result, SparseError};
use core::ops::Range;

/// Up to this many draws, a linear search finds a number that was drawn before. More draws use a bitset.
const FEW: usize = 48;

/// How many elements ahead the table of local ids is prefetched.
const FAR: usize = 24;

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

/// The nodes within some hops of seeds, and the edges that were drawn, as a CSR matrix in local ids.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hops {
    /// The global id of each local node: the seeds, then the nodes that each hop found.
    pub nodes: Vec<i64>,
    /// Number of nodes after each hop; the first number is that of the seeds.
    pub counts: Vec<usize>,
    /// Row pointers. There is a row for each node but those that the last hop found.
    pub ptr: Vec<i32>,
    /// Local columns, ascending in a row.
    pub cols: Vec<i32>,
    /// The position of each drawn edge in the graph.
    pub edges: Vec<i64>,
    /// How often each edge was drawn, with replacement only.
    pub times: Vec<u32>,
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

/// Draws neighbours hop by hop: `fan_outs[h]` of each node that hop `h` starts from (all, if it has fewer).
///
/// `seeds` are nodes in range; one that is given twice counts once. Each node is expanded once, when it is first
/// reached. Draws for a node depend on the key, the hop and the node only. The local columns of a row ascend. `table`
/// must be empty and is empty afterwards.
///
/// A hop has two phases: [`positions`] of all its nodes, then the columns at all these positions. Each phase tells the
/// store what it will read before it reads it.
///
/// Without replacement a uniform draw is Floyd's algorithm: `O(fan_out)` for each node. A weighted one takes the
/// elements with the smallest exponential keys: `O(degree)`. With replacement a uniform draw is `O(fan_out)`, a
/// weighted one `O(degree + fan_out log degree)`. An edge drawn several times is one entry with a count.
///
/// Source: Hamilton, Ying and Leskovec, *Inductive representation learning on large graphs*, NeurIPS 2017; Bentley and
/// Floyd, *A sample of brilliance*, 1987; Efraimidis and Spirakis, *Weighted random sampling with a reservoir*, 2006.
///
/// # Errors
///
/// `overflow` for more than 2^31 - 1 nodes or edges; `invalid` for a weight that is negative or not finite; those of
/// the store.
pub fn sample_hops(
    op: &'static str,
    store: &dyn GraphStore,
    seeds: &[i64],
    fan_outs: &[usize],
    draw: Draw,
    table: &mut Relabel,
) -> Result<Hops> {
    let mut hops = Hops { ptr: vec![0], ..Hops::default() };
    if let Some(position) = seeds.iter().position(|&seed| seed < 0 || seed as usize >= store.nodes()) {
        let (size, index) = (store.nodes(), seeds[position]);
        return Err(SparseError::IndexOutOfRange { op, axis: 0, low: 0, size, index, position });
    }
    for &seed in seeds {
        table.local(seed as usize, &mut hops.nodes);
    }
    hops.counts.push(hops.nodes.len());
    let mut start = 0;
    let mut done = Ok(());
    for (hop, &fan_out) in fan_outs.iter().enumerate() {
        let end = hops.nodes.len();
        let draw = Draw { key: mix(draw.key, hop as u64), ..draw };
        done = positions(op, store, &hops.nodes[start..end], fan_out, draw)
            .and_then(|drawn| hops.take(op, drawn, store, table));
        if done.is_err() {
            break;
        }
        start = end;
    }
    table.clear(&hops.nodes);
    done?;
    hops.sort();
    Ok(hops)
}

/// The first phase of a hop: draws `fan_out` positions for each of `nodes` (all, if it has fewer). Reads no column.
///
/// Draws for a node depend on `draw.key` and the node only. So the parts, of some nodes each and in order, give the
/// same positions one after the other, for any number of threads and parts. The parts have been
/// [asked for](GraphStore::ask): their columns can be read.
///
/// # Errors
///
/// As [`sample_hops`].
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

impl Hops {
    /// The second phase of a hop: appends what it drew, with new nodes numbered in the order in which they appear.
    fn take(&mut self, op: &'static str, drawn: Vec<Drawn>, store: &dyn GraphStore, table: &mut Relabel) -> Result<()> {
        let all: usize = drawn.iter().map(|part| part.positions.len()).sum();
        let got = (self.edges.len() + all).max(self.nodes.len());
        if got > Relabel::MOST {
            let what = "the number of nodes and edges of a sample";
            return Err(SparseError::Overflow { op, what, limit: Relabel::MOST as u128, got: got as u128 });
        }
        let columns = par::map(drawn.len(), &|part| {
            let mut columns = Vec::new();
            store.columns(&drawn[part].positions, &mut columns).map(|()| columns)
        });
        self.cols.reserve(all);
        self.edges.reserve(all);
        for (part, columns) in drawn.into_iter().zip(columns) {
            self.label(&columns?, table);
            if self.nodes.len() > Relabel::MOST {
                let (what, got) = ("the number of nodes of a sample", self.nodes.len() as u128);
                return Err(SparseError::Overflow { op, what, limit: Relabel::MOST as u128, got });
            }
            self.edges.extend(part.positions.iter().map(|&edge| edge as i64));
            self.times.extend(part.times);
            let mut end = *self.ptr.last().expect("starts with 0");
            self.ptr.extend(part.counts.into_iter().map(|count| {
                end += count as i32;
                end
            }));
        }
        self.counts.push(self.nodes.len());
        Ok(())
    }

    fn label(&mut self, columns: &[usize], table: &mut Relabel) {
        for (k, &node) in columns.iter().enumerate() {
            if let Some(&far) = columns.get(k + FAR) {
                table.prefetch(far);
            }
            self.cols.push(table.local(node, &mut self.nodes) as i32);
        }
    }

    /// Sorts every row by its columns.
    fn sort(&mut self) {
        let ptr = &self.ptr;
        let ranges = par::by_elements(ptr, 8);
        let lens = par::lens(&ranges, |range| (ptr[range.end] - ptr[range.start]) as usize);
        let cols = par::split_mut(&mut self.cols, &lens);
        let edges = par::split_mut(&mut self.edges, &lens);
        let times = if self.times.is_empty() { vec![0; lens.len()] } else { lens.clone() };
        let times = par::split_mut(&mut self.times, &times);
        let jobs = cols.into_iter().zip(edges).zip(times).collect();
        par::each(jobs, &|piece, ((cols, edges), times)| {
            let rows = ranges[piece].clone();
            let first = ptr[rows.start];
            let mut row: Vec<(i32, i64, u32)> = Vec::new();
            for at in rows {
                let span = (ptr[at] - first) as usize..(ptr[at + 1] - first) as usize;
                if cols[span.clone()].is_sorted() {
                    continue;
                }
                row.clear();
                row.extend(span.clone().map(|k| (cols[k], edges[k], times.get(k).copied().unwrap_or(1))));
                row.sort_unstable();
                for (k, &(col, edge, count)) in span.zip(&row) {
                    (cols[k], edges[k]) = (col, edge);
                    if let Some(slot) = times.get_mut(k) {
                        *slot = count;
                    }
                }
            }
        });
    }
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
    span: Vec<usize>,
    weights: Vec<f32>,
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
        for (&node, span) in nodes.iter().zip(spans) {
            let before = out.positions.len();
            let mut stream = Stream::new(mix(self.draw.key, node as u64));
            if self.draw.weighted {
                self.weigh(span.clone(), &mut scratch)?;
            }
            match (self.draw.weighted, self.draw.replace) {
                (false, false) => distinct(span, self.fan_out, &mut stream, &mut scratch, &mut out.positions),
                (true, false) => {
                    weighted_distinct(span, self.fan_out, &mut stream, &mut scratch, &mut out.positions);
                }
                (false, true) => repeated(span, self.fan_out, &mut stream, &mut out.positions),
                (true, true) => weighted_repeated(span, self.fan_out, &mut stream, &mut scratch, &mut out.positions),
            }
            if self.draw.replace {
                count_equal(&mut out, before);
            }
            out.counts.push(out.positions.len() - before);
        }
        self.store.ask(Ahead::Columns(&out.positions));
        Ok(out)
    }

    /// Reads the weights of a span.
    fn weigh(&self, span: Range<usize>, scratch: &mut Scratch) -> Result<()> {
        scratch.span.clear();
        scratch.span.extend(span.clone());
        scratch.weights.clear();
        self.store.values(&scratch.span, &mut scratch.weights)?;
        match scratch.weights.iter().position(|weight| !(0.0..f32::INFINITY).contains(weight)) {
            None => Ok(()),
            Some(k) => {
                let (got, at) = (scratch.weights[k], span.start + k);
                let message = format!("a weight must be finite and not negative, got {got} at position {at}");
                Err(SparseError::Invalid { op: self.op, message })
            }
        }
    }
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
    count: usize,
    stream: &mut Stream,
    scratch: &mut Scratch,
    out: &mut Vec<usize>,
) {
    let keys = &mut scratch.keys;
    keys.clear();
    // The first of independent exponential clocks with these rates rings with these probabilities.
    let clock = |(at, &weight): (usize, &f32)| (weight > 0.0).then(|| (-stream.unit().ln() / f64::from(weight), at));
    keys.extend(span.zip(&scratch.weights).filter_map(clock));
    if count == 0 {
        return;
    }
    if keys.len() > count {
        keys.select_nth_unstable_by(count - 1, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        keys.truncate(count);
        keys.sort_unstable_by_key(|&(_, at)| at);
    }
    out.extend(keys.iter().map(|&(_, at)| at));
}

/// `count` positions, each drawn with a probability in proportion to its weight.
fn weighted_repeated(
    span: Range<usize>,
    count: usize,
    stream: &mut Stream,
    scratch: &mut Scratch,
    out: &mut Vec<usize>,
) {
    let sums = &mut scratch.sums;
    sums.clear();
    let mut sum = 0.0;
    sums.extend(scratch.weights.iter().map(|&weight| {
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
