//! What a batch and an epoch cost on some machines: arithmetic on counts and constants.

use super::graph::PowerLaw;
use super::reach::{Owner, Reach};
use sparse_core::graph::GraphStore;

/// A number that the model takes as given.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Given {
    pub(crate) value: f64,
    pub(crate) what: &'static str,
    pub(crate) unit: &'static str,
    /// Where it is from. Empty: assumed.
    pub(crate) measured: &'static str,
    /// Why, if it is assumed.
    pub(crate) why: &'static str,
}

const fn measured(value: f64, unit: &'static str, what: &'static str, how: &'static str) -> Given {
    Given { value, what, unit, measured: how, why: "" }
}

const fn assumed(value: f64, unit: &'static str, what: &'static str, why: &'static str) -> Given {
    Given { value, what, unit, measured: "", why }
}

const HERE: &str = "`--measure`, a core of an AMD EPYC in a busy virtual machine";

/// Constants of the model.
pub(crate) const SAMPLE: Given = measured(SAMPLE_NS, "ns", "to sample an edge, on one core", HERE);
pub(crate) const GATHER: Given = measured(GATHER_GB, "GB/s", "of random rows of 512 bytes copied by one core", HERE);
pub(crate) const MESSAGE: Given =
    measured(MESSAGE_US, "us", "of one core to send and receive a small message (TCP, loopback)", HERE);
pub(crate) const COMPUTE: Given = measured(
    36.0,
    "GFLOP/s",
    "of one core in dense products, their share of everything else on a whole graph included",
    "[benchmarks](benchmarks.md), gcn epoch, large: 47.2 GFLOP of dense products in 652 ms on two cores",
);
pub(crate) const NODE: Given = measured(
    2.2,
    "us",
    "of one core for each input node of a batch, besides sampling, reading and products (rough)",
    "[benchmarks](benchmarks.md), `graphsage`: 98 batches of 108,000 nodes in 25.7 s, about one core by the load",
);
pub(crate) const FAULT: Given = measured(
    91.0,
    "us",
    "for a page that is read when it is missed",
    "[the book](book/gnn.md): a batch, which by its sizes is 160,000 pages, in 14.6 s",
);
pub(crate) const AHEAD: Given =
    measured(50e3, "1/s", "pages of the same disk that are asked for ahead", "the same: that batch in 3.2 s");
pub(crate) const CORES: Given = assumed(32.0, "", "cores of a machine", "as the machine of GraphBolt's figure below");
pub(crate) const EFFICIENCY: Given = assumed(
    0.8,
    "",
    "of linear speed-up over these cores",
    "two cores, kernels: 1.7x to 2.3x of one; ranks: 1.8x to 2.0x",
);
pub(crate) const MEMORY: Given =
    assumed(256e9, "B", "memory of a machine", "of which 80 % for graph, features, tables");
pub(crate) const DISK: Given = assumed(4e12, "B", "of a machine's disk", "a usual NVMe disk");
pub(crate) const IOPS: Given =
    assumed(250e3, "1/s", "pages that a disk serves, many asked for at once", "the disk of GraphBolt's figure below");
pub(crate) const LATENCY: Given = assumed(20e-6, "s", "from machine to machine, one way", "TCP in one data centre");
pub(crate) const NETWORKS: [Given; 2] = [
    assumed(25e9, "bit/s", "slow network, each way", "a usual cloud machine"),
    assumed(100e9, "bit/s", "fast network, each way", "that of DistDGL's machines"),
];

/// All constants, in the order of the table.
pub(crate) const ALL: [Given; 15] = [
    SAMPLE,
    GATHER,
    COMPUTE,
    NODE,
    MESSAGE,
    FAULT,
    AHEAD,
    CORES,
    EFFICIENCY,
    MEMORY,
    DISK,
    IOPS,
    LATENCY,
    NETWORKS[0],
    NETWORKS[1],
];

// What `--measure` printed.
const SAMPLE_NS: f64 = 44.0;
const GATHER_GB: f64 = 2.1;
const MESSAGE_US: f64 = 18.0;

/// The share of memory that graph, features and tables may take.
const USABLE: f64 = 0.8;

/// Batches that a machine prepares at the same time. Each needs a table of 4 bytes for each node. With parts
/// batches are made one after the other, as a sampler borrows the ranks: there 4 is an upper bound of the memory.
pub(crate) const WORKERS: f64 = 4.0;

/// Seeds of a batch, and what is trained: GraphSAGE, each layer with two weights and a bias.
pub(crate) const SEEDS: usize = 1024;
pub(crate) const FEATURES: usize = 128;
pub(crate) const WIDTHS: [usize; 3] = [FEATURES, 256, 172];
/// Bytes of a node's features of f32.
pub(crate) const ROW: usize = 4 * FEATURES;

/// Bytes around the content of a message: its length, and what it is about.
const FRAME: f64 = 32.0;

/// Edges of a node, and the share of nodes that are trained on.
pub(crate) const DEGREE: usize = 50;
pub(crate) const TRAINED: f64 = 0.1;

/// Numbers of a model of these widths.
pub(crate) fn parameters(widths: &[usize]) -> usize {
    widths.windows(2).map(|ends| (2 * ends[0] + 1) * ends[1]).sum()
}

/// Where the data lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Layout {
    /// Each machine has all of the graph and the features on its disk, and in memory what fits. Nothing but gradients
    /// goes over the network.
    Whole,
    /// Each machine has the rows of its nodes. The others ask for them.
    Parts,
}

/// How many machines, and how they are joined.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) layout: Layout,
    pub(crate) machines: usize,
    /// Bits a second.
    pub(crate) network: f64,
}

/// What one machine does for one batch.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Work {
    pub(crate) edges: f64,
    pub(crate) inputs: f64,
    /// Bytes of features that the own memory, the own disk and other machines give.
    pub(crate) from_memory: f64,
    pub(crate) from_disk: f64,
    pub(crate) from_others: f64,
    /// Pages that are read from the own disk: of the graph, and of features.
    pub(crate) disk_pages: f64,
    /// Bytes received for sampling and features, questions of others included; as many are sent.
    pub(crate) exchanged: f64,
    /// Messages sent for sampling and features.
    pub(crate) messages: f64,
    /// Bytes sent for gradients; as many are received.
    pub(crate) reduced: f64,
    /// Messages sent for gradients.
    pub(crate) reduce_messages: f64,
}

/// Seconds, by what they are spent on.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Times {
    pub(crate) sample: f64,
    pub(crate) read: f64,
    pub(crate) exchange: f64,
    pub(crate) compute: f64,
    pub(crate) reduce: f64,
}

impl Times {
    pub(crate) const NAMES: [&str; 5] = ["sample", "read", "exchange", "compute", "all-reduce"];

    pub(crate) fn parts(&self) -> [f64; 5] {
        [self.sample, self.read, self.exchange, self.compute, self.reduce]
    }

    /// Nothing at the same time.
    pub(crate) fn sum(&self) -> f64 {
        self.parts().iter().sum()
    }

    /// Cores, disk and network at the same time, each busy all the time: the gradients still come after the products. A
    /// bound: batches of parts are made one after the other.
    pub(crate) fn overlapped(&self, memory: f64) -> f64 {
        let cores = self.sample + memory + self.compute + self.reduce;
        cores.max(self.read - memory).max(self.exchange + self.reduce)
    }

    fn times(&self, factor: f64) -> Self {
        let [sample, read, exchange, compute, reduce] = self.parts().map(|part| part * factor);
        Self { sample, read, exchange, compute, reduce }
    }
}

/// A graph, what its batches reach, and what is trained on it.
pub(crate) struct Case {
    pub(crate) graph: PowerLaw,
    pub(crate) reach: Reach,
    /// Seeds of an epoch.
    pub(crate) seeds: f64,
    /// Features, hidden units, classes.
    pub(crate) widths: Vec<usize>,
    /// Cores and bytes of memory of a machine.
    pub(crate) cores: f64,
    pub(crate) memory: f64,
}

impl Case {
    pub(crate) fn nodes(&self) -> f64 {
        self.graph.nodes() as f64
    }

    /// The model and the machine of the page.
    pub(crate) fn new(graph: PowerLaw, reach: Reach) -> Self {
        let seeds = (graph.nodes() as f64 * TRAINED).round();
        Self { graph, reach, seeds, widths: WIDTHS.to_vec(), cores: CORES.value, memory: MEMORY.value }
    }

    /// Bytes of row pointers and columns, and of features.
    pub(crate) fn bytes(&self) -> [f64; 2] {
        [self.nodes() * 8.0 + self.graph.edges() as f64 * 4.0, self.nodes() * ROW as f64]
    }

    /// Bytes of files on each machine.
    pub(crate) fn held(&self, plan: Plan) -> f64 {
        let all: f64 = self.bytes().iter().sum();
        if plan.layout == Layout::Whole { all } else { all / plan.machines as f64 }
    }

    /// Bytes of tables on each machine.
    pub(crate) fn tables(&self) -> f64 {
        WORKERS * 4.0 * self.nodes()
    }

    /// Bytes of memory for graph and features.
    fn room(&self) -> f64 {
        (self.memory * USABLE - self.tables()).max(0.0)
    }

    /// The share of nodes, those of the highest degree first, whose edges and features are in memory.
    pub(crate) fn in_memory(&self, plan: Plan) -> f64 {
        let parts = if plan.layout == Layout::Whole { 1.0 } else { plan.machines as f64 };
        let need = |share: f64| {
            let nodes = share * self.nodes();
            (nodes * (8.0 + ROW as f64) + self.graph.share(nodes) * self.graph.edges() as f64 * 4.0) / parts
        };
        if need(1.0) <= self.room() {
            return 1.0;
        }
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..100 {
            let middle = (low + high) / 2.0;
            if need(middle) > self.room() { high = middle } else { low = middle }
        }
        low
    }

    /// The share of nodes beyond the seeds that another machine has: `(P - 1) / P`, as a hash spreads them.
    pub(crate) fn remote(plan: Plan) -> f64 {
        match plan.layout {
            Layout::Whole => 0.0,
            Layout::Parts => 1.0 - 1.0 / plan.machines as f64,
        }
    }

    /// Exchanges of a batch in parts: questions and answers for each hop and for the features, and the end of a sample.
    fn exchanges(&self) -> f64 {
        2.0 * self.reach.edges.len() as f64 + 3.0
    }

    pub(crate) fn work(&self, plan: Plan) -> Work {
        let reach = &self.reach;
        let (others, remote) = (plan.machines as f64 - 1.0, Self::remote(plan));
        let found = reach.inputs() - reach.nodes[0];
        let from_others = found * remote * ROW as f64;
        // A machine serves as many rows as it asks for, so all that it reads is one batch.
        let hot = self.in_memory(plan);
        let missed = [0, 1, 2].map(|kind: usize| reach.pages[kind] * (1.0 - reach.hot[kind].at(hot)));
        let own = (reach.inputs() - found * remote) * ROW as f64;
        let cold = if reach.pages[2] > 0.0 { missed[2] / reach.pages[2] } else { 0.0 };
        let mut work = Work {
            edges: reach.all_edges(),
            inputs: reach.inputs(),
            from_memory: own * (1.0 - cold),
            from_disk: own * cold,
            from_others,
            disk_pages: missed.iter().sum(),
            ..Work::default()
        };
        if others == 0.0 {
            return work;
        }
        if plan.layout == Layout::Parts {
            // The seeds are the machine's own. From the second hop on, a question is an id of 8 bytes for each node;
            // the answer has a count of 4 bytes, and for each edge its number and its column.
            for hop in 1..reach.edges.len() {
                let asked = (reach.nodes[hop] - reach.nodes[hop - 1]) * remote;
                work.exchanged += asked * 12.0 + reach.edges[hop] * remote * 12.0;
            }
            work.exchanged += found * remote * 8.0 + from_others + self.exchanges() * others * FRAME;
            // Each exchange is of lengths and of bytes.
            work.messages = 2.0 * others * self.exchanges();
        }
        let parameters = 4.0 * parameters(&self.widths) as f64;
        work.reduced = 2.0 * others / plan.machines as f64 * parameters;
        // Three exchanges (what the ranks agree on, sums, results), each of lengths and bytes.
        work.reduce_messages = 6.0 * others;
        work
    }

    /// Seconds of the copies from memory.
    fn copies(&self) -> f64 {
        self.reach.inputs() * ROW as f64 / (GATHER.value * 1e9 * self.cores * EFFICIENCY.value)
    }

    /// Seconds of one batch on each machine.
    pub(crate) fn step(&self, plan: Plan) -> Times {
        let (work, cores) = (self.work(plan), self.cores * EFFICIENCY.value);
        let send = |bytes: f64, messages: f64, rounds: f64| {
            bytes * 8.0 / plan.network + messages * MESSAGE.value * 1e-6 + rounds * LATENCY.value
        };
        let several = f64::from(plan.machines > 1);
        let parts = f64::from(plan.machines > 1 && plan.layout == Layout::Parts);
        // All wait for the slowest: the largest of P numbers is about so many standard deviations above the mean.
        let slowest = 1.0 + self.reach.spread * (2.0 * (plan.machines as f64).ln()).sqrt();
        Times {
            sample: work.edges * SAMPLE.value * 1e-9 / cores * slowest,
            read: (self.copies() + work.disk_pages / IOPS.value) * slowest,
            exchange: send(work.exchanged * self.busiest(plan), work.messages, 2.0 * self.exchanges() * parts),
            compute: (self.flops() / (COMPUTE.value * 1e9) + work.inputs * NODE.value * 1e-6) / cores * slowest,
            reduce: send(work.reduced, work.reduce_messages, 6.0 * several),
        }
    }

    /// Rows of the busiest machine under a hash, for each of the mean; that of the nearest number that was counted.
    fn busiest(&self, plan: Plan) -> f64 {
        let near = |machines: usize| machines.abs_diff(plan.machines);
        let splits = self.reach.splits.iter().filter(|split| split.owner == Owner::Hash);
        splits.min_by_key(|split| near(split.machines)).map_or(1.0, |split| split.busiest)
    }

    /// Operations of the dense products of a step: forward, the gradients of all weights, and those of what the layers
    /// but the first one read.
    pub(crate) fn flops(&self) -> f64 {
        let layers = self.widths.len() - 1;
        let products = (0..layers).map(|layer| {
            let rows = self.reach.nodes[layers - 1 - layer];
            let passes = if layer == 0 { 2.0 } else { 3.0 };
            passes * 4.0 * rows * (self.widths[layer] * self.widths[layer + 1]) as f64
        });
        products.sum()
    }

    /// Seeds of a batch. One that is drawn twice counts once, so this is not `reach.nodes[0]`.
    fn batch(&self) -> f64 {
        self.reach.seeds as f64
    }

    /// Steps of an epoch. In the last one some machines may have nothing.
    pub(crate) fn steps(&self, plan: Plan) -> f64 {
        ((self.seeds / self.batch()).ceil() / plan.machines as f64).ceil()
    }

    /// Seconds of an epoch.
    pub(crate) fn epoch(&self, plan: Plan) -> Times {
        self.step(plan).times(self.steps(plan))
    }

    /// Seconds of an epoch in which cores, disk and network work at the same time.
    pub(crate) fn overlapped(&self, plan: Plan) -> f64 {
        self.step(plan).overlapped(self.copies()) * self.steps(plan)
    }

    /// What all machines take for an epoch, in hours of one.
    pub(crate) fn machine_hours(&self, plan: Plan) -> f64 {
        self.epoch(plan).sum() * plan.machines as f64 / 3600.0
    }
}
