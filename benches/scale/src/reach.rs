//! What batches of sampled neighbours reach: counted, by the library's own sampler.

use super::graph::PowerLaw;
use sparse_core::graph::{Draw, GraphStore, Hops, Relabel, Stream, mix, sample_hops};

/// Bytes of a page.
pub(crate) const PAGE: usize = 4096;

/// Bytes that come before the numbers in a file: the header of a `.npy` file of this library.
const HEADER: usize = 128;

/// Numbers of machines whose partitions are looked at.
pub(crate) const MACHINES: [usize; 2] = [8, 64];

/// How nodes are given to machines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Owner {
    /// By a hash of the node.
    Hash,
    /// Ranges of as many nodes each, where nodes are numbered by falling degree.
    Nodes,
    /// Ranges of as many edges each, with the same numbers.
    Edges,
}

impl Owner {
    pub(crate) const ALL: [Self; 3] = [Self::Hash, Self::Nodes, Self::Edges];

    pub(crate) fn of(self, graph: &PowerLaw, node: usize, machines: usize) -> usize {
        let part = |at: usize, all: usize| (at as u128 * machines as u128 / all as u128) as usize;
        match self {
            Self::Hash => (mix(5, node as u64) % machines as u64) as usize,
            Self::Nodes => part(node, graph.nodes()),
            Self::Edges => part(graph.start(node), graph.edges()).min(machines - 1),
        }
    }
}

/// The share of reads that concern the first nodes, those of the highest degree, by how many nodes these are.
#[derive(Clone, Debug)]
pub(crate) struct Curve {
    /// The share of reads for the first `2^(-k / 2)` of the nodes.
    shares: Vec<f64>,
}

impl Curve {
    const STEPS: usize = 56;

    fn of(ranks: &[usize], nodes: usize) -> Self {
        let mut counts = [0usize; Self::STEPS + 1];
        for &rank in ranks {
            let step = (2.0 * -((rank + 1) as f64 / nodes as f64).log2()).floor().max(0.0) as usize;
            counts[step.min(Self::STEPS)] += 1;
        }
        // A read in step `k` is one of the first `2^(-k / 2)` nodes, and of all larger shares.
        let mut sum = 0;
        let mut shares: Vec<f64> = (counts.iter().rev())
            .map(|&count| {
                sum += count;
                sum as f64 / ranks.len().max(1) as f64
            })
            .collect();
        shares.reverse();
        Self { shares }
    }

    /// The share of reads for that share of the nodes.
    pub(crate) fn at(&self, share: f64) -> f64 {
        if share >= 1.0 {
            return 1.0;
        }
        let place = -2.0 * share.max(1e-12).log2();
        let step = place.floor() as usize;
        if step + 1 > Self::STEPS {
            return 0.0;
        }
        let part = place - step as f64;
        self.shares[step] * (1.0 - part) + self.shares[step + 1] * part
    }
}

/// Rows that batches ask of the machines of a partition.
#[derive(Clone, Debug)]
pub(crate) struct Split {
    pub(crate) owner: Owner,
    pub(crate) machines: usize,
    /// Share of the nodes beyond the seeds that another machine owns, if machine 0 .. P - 1 draw the batches in turn.
    pub(crate) remote: f64,
    /// Rows of the busiest machine, for each row of the mean.
    pub(crate) busiest: f64,
}

/// Means over batches.
#[derive(Clone, Debug)]
pub(crate) struct Reach {
    /// Seeds of a batch.
    pub(crate) seeds: usize,
    /// Nodes after each hop, the seeds first.
    pub(crate) nodes: Vec<f64>,
    /// Edges of each hop.
    pub(crate) edges: Vec<f64>,
    /// The standard deviation of the number of edges, for each edge of the mean.
    pub(crate) spread: f64,
    /// Pages of row pointers (8 bytes each), of columns (4 bytes each) and of feature rows.
    pub(crate) pages: [f64; 3],
    /// Which of these are of nodes of high degree.
    pub(crate) hot: [Curve; 3],
    pub(crate) splits: Vec<Split>,
}

/// The seeds of a batch.
pub(crate) fn seeds(graph: &PowerLaw, count: usize, batch: u64) -> Vec<i64> {
    let mut stream = Stream::new(mix(7, batch));
    (0..count).map(|_| stream.below(graph.nodes()) as i64).collect()
}

/// A batch. `table` may be `None` where it would be too large to keep.
pub(crate) fn batch(
    graph: &PowerLaw,
    count: usize,
    fan_outs: &[usize],
    batch: u64,
    table: &mut Option<Relabel>,
) -> Hops {
    let mut fresh = None;
    let table = table.as_mut().unwrap_or_else(|| fresh.insert(Relabel::new(graph.nodes())));
    let draw = Draw { replace: false, weighted: false, key: mix(3, batch) };
    sample_hops("scale", graph, &seeds(graph, count, batch), fan_outs, draw, table).expect("seeds in range")
}

/// A table for the batches of a graph, if it is small enough to stay in memory.
pub(crate) fn table(graph: &PowerLaw) -> Option<Relabel> {
    (graph.nodes() <= 200_000_000).then(|| Relabel::new(graph.nodes()))
}

impl Reach {
    /// Counts `batches` batches. `row` is the number of bytes of a node's features.
    pub(crate) fn measure(graph: &PowerLaw, seeds: usize, fan_outs: &[usize], batches: u64, row: usize) -> Self {
        let mut table = table(graph);
        let (mut nodes, mut edges) = (vec![0.0; fan_outs.len() + 1], vec![0.0; fan_outs.len()]);
        let mut totals = vec![];
        // The ranks of what is read: row pointers, columns, features.
        let mut read: [Vec<usize>; 3] = Default::default();
        let kinds = || Owner::ALL.into_iter().flat_map(|owner| MACHINES.map(|machines| (owner, machines)));
        let mut asked: Vec<Vec<usize>> = kinds().map(|(_, machines)| vec![0; machines]).collect();
        let mut remote = vec![0usize; asked.len()];
        let mut beyond = 0;
        for number in 0..batches {
            let hops = batch(graph, seeds, fan_outs, number, &mut table);
            totals.push(hops.edges.len() as f64);
            for (sum, &count) in nodes.iter_mut().zip(&hops.counts) {
                *sum += count as f64 / batches as f64;
            }
            for (hop, sum) in edges.iter_mut().enumerate() {
                let from = if hop == 0 { 0 } else { hops.counts[hop - 1] };
                *sum += f64::from(hops.ptr[hops.counts[hop]] - hops.ptr[from]) / batches as f64;
            }
            let mut pages: [Vec<(usize, usize)>; 3] = Default::default();
            let rows = hops.ptr.len() - 1;
            for (at, &node) in hops.nodes.iter().enumerate() {
                let (node, place) = (node as usize, graph.place(node as usize));
                let mut bytes = |kind: usize, from: usize, count: usize| {
                    let ends = [HEADER + from, HEADER + from + count - 1].map(|end| end / PAGE);
                    pages[kind].extend((ends[0]..=ends[1]).map(|page| (page, node)));
                };
                bytes(2, place * row, row);
                if at < rows {
                    bytes(0, place * 8, 16);
                    let own = hops.ptr[at] as usize..hops.ptr[at + 1] as usize;
                    hops.edges[own].iter().for_each(|&edge| bytes(1, edge as usize * 4, 4));
                }
            }
            for (all, mut pages) in read.iter_mut().zip(pages) {
                pages.sort_unstable();
                pages.dedup_by_key(|&mut (page, _)| page);
                all.extend(pages.into_iter().map(|(_, rank)| rank));
            }
            let found = &hops.nodes[hops.counts[0]..];
            beyond += found.len();
            for (k, (owner, machines)) in kinds().enumerate() {
                for &node in found {
                    let to = owner.of(graph, node as usize, machines);
                    asked[k][to] += 1;
                    remote[k] += usize::from(to != number as usize % machines);
                }
            }
        }
        let mean = totals.iter().sum::<f64>() / batches as f64;
        let variance = totals.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (batches.max(2) - 1) as f64;
        let splits = (kinds().zip(asked).zip(remote))
            .map(|(((owner, machines), asked), remote)| {
                let most = *asked.iter().max().expect("machines") as f64;
                let busiest = most * machines as f64 / asked.iter().sum::<usize>() as f64;
                Split { owner, machines, remote: remote as f64 / beyond as f64, busiest }
            })
            .collect();
        Self {
            seeds,
            nodes,
            edges,
            spread: variance.sqrt() / mean,
            pages: [0, 1, 2].map(|kind| read[kind].len() as f64 / batches as f64),
            hot: [0, 1, 2].map(|kind| Curve::of(&read[kind], graph.nodes())),
            splits,
        }
    }

    /// Nodes whose features are read.
    pub(crate) fn inputs(&self) -> f64 {
        *self.nodes.last().expect("the seeds")
    }

    pub(crate) fn all_edges(&self) -> f64 {
        self.edges.iter().sum()
    }
}

/// The share of rows that a cache of the rows used last serves, once it is warm.
pub(crate) fn least_recently_used(
    graph: &PowerLaw,
    seeds: usize,
    fan_outs: &[usize],
    rows: usize,
    batches: u64,
) -> f64 {
    let mut table = table(graph);
    let mut cache = Lru::new(graph.nodes(), rows);
    let (mut hits, mut reads) = (0, 0);
    for number in 0..batches {
        for node in batch(graph, seeds, fan_outs, number, &mut table).nodes {
            let hit = cache.read(node as usize);
            // The first half fills the cache.
            if number >= batches / 2 {
                (hits, reads) = (hits + usize::from(hit), reads + 1);
            }
        }
    }
    hits as f64 / reads as f64
}

/// Rows in the order of their last use: a ring of links. Its last entry stands between the newest and the oldest row.
pub(crate) struct Lru {
    /// The row that was used before this one, and the row that was used after it.
    links: Vec<[u32; 2]>,
    room: usize,
    held: usize,
}

impl Lru {
    const OUT: [u32; 2] = [u32::MAX; 2];

    pub(crate) fn new(nodes: usize, room: usize) -> Self {
        let mut links = vec![Self::OUT; nodes + 1];
        links[nodes] = [nodes as u32; 2];
        Self { links, room, held: 0 }
    }

    /// Reads a row. Whether it was there.
    pub(crate) fn read(&mut self, node: usize) -> bool {
        let ring = self.links.len() - 1;
        let hit = self.links[node] != Self::OUT;
        if hit {
            self.take(node);
        } else if self.held == self.room {
            self.take(self.links[ring][1] as usize);
        } else {
            self.held += 1;
        }
        let newest = self.links[ring][0];
        self.links[node] = [newest, ring as u32];
        self.links[newest as usize][1] = node as u32;
        self.links[ring][0] = node as u32;
        hit
    }

    fn take(&mut self, node: usize) {
        let [before, after] = self.links[node];
        self.links[before as usize][1] = after;
        self.links[after as usize][0] = before;
        self.links[node] = Self::OUT;
    }
}
