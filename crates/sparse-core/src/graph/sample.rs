//! Neighbour sampling.

use super::draw::{Draw, Drawn, positions};
use super::relabel::Relabel;
use super::store::GraphStore;
use crate::par;
use crate::random::mix;
use crate::{Result, SparseError};

/// How many elements ahead the table of local ids is prefetched.
const FAR: usize = 24;

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
    sample_hops_from(op, &mut Local { op, store }, seeds, fan_outs, draw, table)
}

/// Where hops are drawn: a graph of this process, or one whose parts are elsewhere.
pub trait HopSource {
    /// Number of nodes of the graph.
    fn nodes(&self) -> usize;

    /// A hop from `nodes`, in parts of some nodes each and in order: what [`expand`] gives.
    ///
    /// # Errors
    ///
    /// As [`sample_hops`], and those of the source.
    fn hop(&mut self, nodes: &[i64], fan_out: usize, draw: Draw) -> Result<Vec<HopEdges>>;
}

/// A graph of this process.
struct Local<'a> {
    op: &'static str,
    store: &'a dyn GraphStore,
}

impl HopSource for Local<'_> {
    fn nodes(&self) -> usize {
        self.store.nodes()
    }

    fn hop(&mut self, nodes: &[i64], fan_out: usize, draw: Draw) -> Result<Vec<HopEdges>> {
        expand(self.op, self.store, nodes, fan_out, draw)
    }
}

/// [`sample_hops`] from any source. The source is asked once for each hop, also if no node is left.
///
/// # Errors
///
/// As [`sample_hops`], and those of the source.
pub fn sample_hops_from(
    op: &'static str,
    source: &mut dyn HopSource,
    seeds: &[i64],
    fan_outs: &[usize],
    draw: Draw,
    table: &mut Relabel,
) -> Result<Hops> {
    let mut hops = Hops { ptr: vec![0], ..Hops::default() };
    if let Some(position) = seeds.iter().position(|&seed| seed < 0 || seed as usize >= source.nodes()) {
        return Err(SparseError::index_out_of_range(op, 0, source.nodes(), seeds[position], position));
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
        done = source.hop(&hops.nodes[start..end], fan_out, draw).and_then(|found| hops.take(op, found, table));
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

/// What was drawn for some nodes: positions, and the neighbours that they lead to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HopEdges {
    /// The positions, one node after the other.
    pub drawn: Drawn,
    /// The column of each position.
    pub columns: Vec<usize>,
}

/// Both phases of a hop: [`positions`] of all nodes, then the columns at all these positions.
///
/// # Errors
///
/// As [`sample_hops`].
pub fn expand(
    op: &'static str,
    store: &dyn GraphStore,
    nodes: &[i64],
    fan_out: usize,
    draw: Draw,
) -> Result<Vec<HopEdges>> {
    let drawn = positions(op, store, nodes, fan_out, draw)?;
    at_most(op, "the number of edges of a hop", drawn.iter().map(|part| part.positions.len()).sum())?;
    let columns = par::map(drawn.len(), &|part| {
        let mut columns = Vec::new();
        store.columns(&drawn[part].positions, &mut columns).map(|()| columns)
    });
    drawn.into_iter().zip(columns).map(|(drawn, columns)| Ok(HopEdges { drawn, columns: columns? })).collect()
}

/// Local ids and positions of a sample are i32.
fn at_most(op: &'static str, what: &'static str, got: usize) -> Result<()> {
    let limit = Relabel::MOST as u128;
    if got > Relabel::MOST { Err(SparseError::overflow(op, what, limit, got)) } else { Ok(()) }
}

impl Hops {
    /// Appends what a hop drew, with new nodes numbered in the order in which they appear.
    fn take(&mut self, op: &'static str, found: Vec<HopEdges>, table: &mut Relabel) -> Result<()> {
        let all: usize = found.iter().map(|part| part.columns.len()).sum();
        at_most(op, "the number of edges of a sample", self.edges.len().saturating_add(all))?;
        self.cols.reserve(all);
        self.edges.reserve(all);
        for HopEdges { drawn, columns } in found {
            self.label(&columns, table);
            at_most(op, "the number of nodes of a sample", self.nodes.len())?;
            self.edges.extend(drawn.positions.iter().map(|&edge| edge as i64));
            self.times.extend(drawn.times);
            let mut end = *self.ptr.last().expect("starts with 0");
            self.ptr.extend(drawn.counts.into_iter().map(|count| {
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
