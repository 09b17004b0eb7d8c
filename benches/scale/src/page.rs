//! The tables of `docs/scale.md`.

use super::graph::PowerLaw;
use super::model::{
    AHEAD, ALL, Case, DEGREE, DISK, FAULT, FEATURES, IOPS, Layout, NETWORKS, Plan, ROW, SEEDS, TRAINED, Times, WIDTHS,
    WORKERS, parameters,
};
use super::reach::{MACHINES, Owner, Reach, least_recently_used};
use sparse_core::graph::GraphStore;
use std::fmt::Write;

/// The exponent of the degrees.
pub(crate) const EXPONENT: f64 = 2.5;

pub(crate) const FAN_OUTS: [usize; 2] = [15, 10];
const WIDE: [usize; 2] = [25, 10];

/// The graphs that are asked about.
const SIZES: [f64; 3] = [1e8, 1e9, 1e11];
const COUNTS: [usize; 3] = [1, 8, 64];

pub(crate) fn graph(edges: f64) -> PowerLaw {
    PowerLaw::new((edges / DEGREE as f64) as usize, edges as usize, EXPONENT, 1)
}

/// Replaces what is between the marks of each table.
pub(crate) fn put(text: &str, tables: &[(&str, String)]) -> String {
    let mut out = text.to_string();
    for (name, table) in tables {
        let (open, close) = (format!("<!-- scale: {name} -->\n"), "<!-- end -->".to_string());
        let from = out.find(&open).unwrap_or_else(|| panic!("the page has no mark for the table {name}")) + open.len();
        let to = from + out[from..].find(&close).expect("the mark ends");
        out.replace_range(from..to, &format!("\n{table}\n"));
    }
    out
}

/// Three digits.
fn digits(value: f64) -> String {
    match value {
        0.0 => "0".into(),
        _ if value.abs() >= 99.95 => thousands(value.round()),
        _ if value.abs() >= 9.995 => format!("{value:.1}"),
        _ if value.abs() >= 0.0995 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

fn thousands(value: f64) -> String {
    let text = format!("{value:.0}");
    let from = text.len() % 3;
    let mut parts = if from > 0 { vec![&text[..from]] } else { vec![] };
    parts.extend((from..text.len()).step_by(3).map(|at| &text[at..at + 3]));
    parts.join(",")
}

/// Bytes with a unit.
fn bytes(value: f64) -> String {
    let units = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    match units.into_iter().find(|&(unit, _)| value >= 0.9995 * unit) {
        Some((unit, name)) => format!("{} {name}", digits(value / unit)),
        None => format!("{value:.0} B"),
    }
}

/// Seconds with a unit.
fn seconds(value: f64) -> String {
    match value {
        0.0 => "0".into(),
        _ if value >= 3600.0 => format!("{} h", digits(value / 3600.0)),
        _ if value >= 0.9995 => format!("{} s", digits(value)),
        _ => format!("{} ms", digits(value * 1e3)),
    }
}

fn percent(value: f64) -> String {
    format!("{:.1} %", 100.0 * value)
}

fn power(value: f64) -> String {
    format!("10^{:.0}", value.log10())
}

fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let mut out = format!("| {} |\n|{}\n", head.join(" | "), "---|".repeat(head.len()));
    rows.iter().for_each(|row| writeln!(out, "| {} |", row.join(" | ")).expect("text grows"));
    out
}

/// Every table with its name. `quick` leaves the large graphs out.
pub(crate) fn tables(quick: bool) -> Vec<(&'static str, String)> {
    let batches = |edges: f64| {
        if quick {
            2
        } else if edges > 2e10 {
            8
        } else {
            16
        }
    };
    let most = if quick { 1e8 } else { 1e12 };
    let cases: Vec<Case> = (SIZES.into_iter().filter(|&edges| edges <= most))
        .map(|edges| {
            let graph = graph(edges);
            let reach = Reach::measure(&graph, SEEDS, &FAN_OUTS, batches(edges), ROW);
            Case::new(graph, reach)
        })
        .collect();
    let mut out = vec![("constants", constants()), ("workload", workload())];
    out.push(("growth", growth(quick)));
    if !quick {
        out.push(("check", check()));
    }
    out.push(("partitions", partitions(&cases)));
    out.push(("caches", caches(&cases, quick)));
    out.push(("batch", batch(&cases)));
    out.push(("disk", disk(&cases)));
    out.push(("epoch", epoch(&cases)));
    out.push(("memory", memory(&cases)));
    out.push(("limits", limits(&cases)));
    out
}

pub(crate) fn constants() -> String {
    let rows = ALL.map(|given| {
        let value = match given.unit {
            "B" => bytes(given.value),
            "s" => format!("{} us", digits(given.value * 1e6)),
            "bit/s" => format!("{} Gbit/s", digits(given.value / 1e9)),
            "1/s" => format!("{} a second", thousands(given.value)),
            unit => format!("{} {unit}", digits(given.value)).trim().to_string(),
        };
        let (kind, from) =
            if given.measured.is_empty() { ("assumed", given.why) } else { ("**measured**", given.measured) };
        vec![value, given.what.into(), kind.into(), from.into()]
    });
    table(&["value", "what", "", "source"], &rows)
}

pub(crate) fn workload() -> String {
    let rows = [
        ("nodes", format!("edges / {DEGREE}")),
        ("degrees", format!("power law with exponent {EXPONENT}, at most the root of the number of edges")),
        ("edge", "4 bytes (a column of I32), and 8 bytes of row pointer for a node".into()),
        ("features", format!("{FEATURES} f32 a node, {ROW} bytes")),
        ("nodes to train on", format!("{:.0} % of all, drawn evenly", 100.0 * TRAINED)),
        ("batch", format!("{SEEDS} seeds on each machine, fan-outs 15 and 10")),
        (
            "model",
            format!(
                "GraphSAGE, two layers, hidden {}, {} classes: {} numbers, {}",
                WIDTHS[1],
                WIDTHS[2],
                thousands(parameters(&WIDTHS) as f64),
                bytes(4.0 * parameters(&WIDTHS) as f64)
            ),
        ),
        (
            "batches prepared at once",
            format!("{WORKERS:.0} on each machine; with parts 1, but memory is counted for {WORKERS:.0}"),
        ),
    ];
    table(&["", ""], &rows.map(|(name, value)| vec![name.into(), value]))
}

fn growth(quick: bool) -> String {
    let sizes: &[f64] = if quick { &[1e6, 1e7] } else { &[1e6, 1e7, 1e8, 1e9, 1e10, 1e11] };
    let mut rows = vec![];
    for fan_outs in [&FAN_OUTS, &WIDE] {
        for &edges in sizes {
            let graph = graph(edges);
            let reach = Reach::measure(&graph, SEEDS, fan_outs, 4, ROW);
            let pages = reach.pages.map(thousands_of);
            rows.push(vec![
                format!("{}, {}", fan_outs[0], fan_outs[1]),
                power(edges),
                thousands(graph.nodes() as f64),
                thousands(reach.all_edges()),
                thousands(reach.inputs()),
                percent(reach.inputs() / graph.nodes() as f64),
                percent(1.0 - (reach.inputs() - reach.nodes[0]) / reach.all_edges()),
                pages.join(" / "),
            ]);
        }
    }
    let head = [
        "fan-outs",
        "edges",
        "nodes",
        "edges drawn",
        "nodes reached",
        "of all",
        "edges to a known node",
        "pages: pointers / columns / features",
    ];
    table(&head, &rows)
}

fn thousands_of(value: f64) -> String {
    thousands(value.round())
}

/// ogbn-papers100M: what others report, and what this program says.
fn check() -> String {
    const NODES: usize = 111_059_956;
    const EDGES: usize = 1_615_685_872;
    let mut rows = vec![];
    for exponent in [2.1, EXPONENT, 3.0] {
        let graph = PowerLaw::new(NODES, EDGES, exponent, 1);
        let reach = Reach::measure(&graph, SEEDS, &[10, 10, 10], 4, ROW);
        // DistDGL trains in both directions of an edge, in batches of 2,000 on machines of 48 cores and 384 GB.
        let graph = PowerLaw::new(NODES, 2 * EDGES, exponent, 1);
        let wide = Reach::measure(&graph, 2000, &[15, 10, 5], 4, ROW);
        let mut case = Case::new(graph, wide);
        (case.seeds, case.cores, case.memory) = (1_207_179.0, 48.0, 384e9);
        case.widths = vec![FEATURES, 256, 256, 172];
        let time = |layout| {
            let plan = plan(layout, 16, 1);
            let [least, most] = [case.overlapped(plan), case.epoch(plan).sum()].map(seconds);
            if least == most { least } else { format!("{least} to {most}") }
        };
        rows.push(vec![
            format!("this program, exponent {exponent}"),
            thousands_of(reach.inputs()),
            percent(1.0 - reach.hot[2].at(40e6 / NODES as f64)),
            format!("parts: {}; whole: {}", time(Layout::Parts), time(Layout::Whole)),
        ]);
    }
    let theirs = ["published", "669,013 (GraphBolt)", "2.7 to 6.0 % (GraphBolt)", "13 s (DistDGL)"];
    rows.insert(0, theirs.map(String::from).to_vec());
    let head = [
        "",
        "nodes reached by 1,024 seeds, fan-outs 10, 10, 10",
        "rows that a cache of 40 M rows misses",
        "epoch, 16 machines, fan-outs 15, 10, 5, 100 Gbit/s",
    ];
    table(&head, &rows)
}

/// A batch whose pages are not all in memory, by how they are read.
fn disk(cases: &[Case]) -> String {
    let mut rows = vec![];
    for case in cases {
        for machines in COUNTS {
            for &layout in layouts(machines) {
                let pages = case.work(plan(layout, machines, 0)).disk_pages;
                if pages == 0.0 {
                    continue;
                }
                rows.push(vec![
                    power(case.graph.edges() as f64),
                    machines.to_string(),
                    name(layout, machines).into(),
                    percent(case.in_memory(plan(layout, machines, 0))),
                    thousands_of(pages),
                    seconds(pages * FAULT.value * 1e-6),
                    seconds(pages / AHEAD.value),
                    seconds(pages / IOPS.value),
                ]);
            }
        }
    }
    let head = [
        "edges",
        "machines",
        "files",
        "nodes in memory",
        "disk pages",
        "when missed",
        "ahead, measured disk",
        "ahead, assumed disk",
    ];
    table(&head, &rows)
}

fn partitions(cases: &[Case]) -> String {
    let mut rows = vec![];
    for case in cases {
        for machines in MACHINES {
            let mut row = vec![power(case.graph.edges() as f64), machines.to_string()];
            for owner in Owner::ALL {
                let split = case.reach.splits.iter().find(|s| s.owner == owner && s.machines == machines);
                let split = split.expect("it was counted");
                row.push(percent(split.remote));
                row.push(digits(split.busiest));
            }
            rows.push(row);
        }
    }
    let head = [
        "edges",
        "machines",
        "hash: remote",
        "busiest",
        "ranges of nodes: remote",
        "busiest",
        "ranges of edges: remote",
        "busiest",
    ];
    table(&head, &rows)
}

fn caches(cases: &[Case], quick: bool) -> String {
    let shares = [0.001, 0.01, 0.05, 0.1, 0.2, 0.5];
    let mut rows = vec![];
    for case in cases {
        let mut row = vec![power(case.graph.edges() as f64), "highest degree".to_string()];
        row.extend(shares.map(|share| percent(case.reach.hot[2].at(share))));
        rows.push(row);
        let edges = case.graph.edges() as f64;
        if !quick && edges < 2e9 {
            let mut row = vec![power(edges), "used last".to_string()];
            row.extend(shares.map(|share| {
                let kept = (share * case.nodes()) as usize;
                // Twice what fills the cache, by the rows that a batch misses at least.
                let fill = kept as f64 / (case.reach.inputs() * (1.0 - case.reach.hot[2].at(share)));
                if fill > 60.0 {
                    return "-".into();
                }
                let batches = (2.0 * fill).ceil() as u64 * 2 + 8;
                percent(least_recently_used(&case.graph, SEEDS, &FAN_OUTS, kept, batches))
            }));
            rows.push(row);
        }
    }
    let names = shares.map(|share| format!("{} %", 100.0 * share));
    let mut head = vec!["edges", "rows kept"];
    head.extend(names.iter().map(String::as_str));
    table(&head, &rows)
}

fn plan(layout: Layout, machines: usize, network: usize) -> Plan {
    Plan { layout, machines, network: NETWORKS[network].value }
}

/// The layouts that differ: with one machine there is one.
fn layouts(machines: usize) -> &'static [Layout] {
    if machines == 1 { &[Layout::Whole] } else { &[Layout::Whole, Layout::Parts] }
}

fn name(layout: Layout, machines: usize) -> &'static str {
    match (layout, machines) {
        (_, 1) => "-",
        (Layout::Whole, _) => "whole",
        (Layout::Parts, _) => "parts",
    }
}

fn batch(cases: &[Case]) -> String {
    let mut rows = vec![];
    for case in cases {
        for machines in COUNTS {
            for &layout in layouts(machines) {
                let work = case.work(plan(layout, machines, 0));
                rows.push(vec![
                    power(case.graph.edges() as f64),
                    machines.to_string(),
                    name(layout, machines).into(),
                    thousands(work.edges),
                    thousands(work.inputs),
                    [work.from_memory, work.from_others, work.from_disk].map(bytes).join(" / "),
                    thousands_of(work.disk_pages),
                    bytes(work.exchanged),
                    thousands(work.messages),
                    format!("{} / {}", bytes(work.reduced), thousands(work.reduce_messages)),
                ]);
            }
        }
    }
    let head = [
        "edges",
        "machines",
        "files",
        "edges drawn",
        "input nodes",
        "features from memory / others / disk",
        "disk pages",
        "exchanged",
        "messages",
        "all-reduce: bytes / messages",
    ];
    table(&head, &rows)
}

fn epoch(cases: &[Case]) -> String {
    let mut rows = vec![];
    for case in cases {
        for machines in COUNTS {
            for &layout in layouts(machines) {
                let plans = [plan(layout, machines, 0), plan(layout, machines, 1)];
                let times = plans.map(|plan| case.epoch(plan));
                let networks = |part: usize| {
                    let [slow, fast] = times.map(|time| seconds(time.parts()[part]));
                    if slow == fast { slow } else { format!("{slow} / {fast}") }
                };
                let [slow, fast] = times.map(|time| time.sum());
                let two = |slow: f64, fast: f64, form: fn(f64) -> String| {
                    let [slow, fast] = [form(slow), form(fast)];
                    if slow == fast { slow } else { format!("{slow} / {fast}") }
                };
                let mut row = vec![
                    power(case.graph.edges() as f64),
                    machines.to_string(),
                    name(layout, machines).into(),
                    thousands(case.steps(plans[0])),
                ];
                row.extend((0..5).map(networks));
                row.push(two(slow, fast, seconds));
                let [slow_least, fast_least] = plans.map(|plan| case.overlapped(plan));
                row.push(two(slow_least, fast_least, seconds));
                let [slow_hours, fast_hours] = plans.map(|plan| case.machine_hours(plan));
                row.push(two(slow_hours, fast_hours, digits));
                let alone = case.epoch(plan(layout, 1, 0)).sum();
                row.push(two(alone / slow, alone / fast, |times| format!("{}x", digits(times))));
                rows.push(row);
            }
        }
    }
    let mut head = vec!["edges", "machines", "files", "steps"];
    head.extend(Times::NAMES);
    head.extend(["sum", "at once", "machine-hours", "faster than one"]);
    table(&head, &rows)
}

fn memory(cases: &[Case]) -> String {
    let mut rows = vec![];
    for case in cases {
        for machines in COUNTS {
            for &layout in layouts(machines) {
                let plan = plan(layout, machines, 0);
                let [graph, features] = case.bytes();
                let held = case.held(plan);
                let hot = case.in_memory(plan);
                let fits = match (hot >= 1.0, held <= DISK.value) {
                    (true, _) => "in memory".to_string(),
                    (false, true) => format!("on disk, {} of the nodes in memory", percent(hot)),
                    (false, false) => "no".to_string(),
                };
                rows.push(vec![
                    power(case.graph.edges() as f64),
                    machines.to_string(),
                    name(layout, machines).into(),
                    bytes(held * graph / (graph + features)),
                    bytes(held * features / (graph + features)),
                    bytes(case.tables()),
                    percent((held + case.tables()) / case.memory),
                    fits,
                ]);
            }
        }
    }
    let head = ["edges", "machines", "files", "graph", "features", "tables", "of the memory", "fits"];
    table(&head, &rows)
}

/// The cheapest power of two of machines, the largest that costs at most twice as many machine-hours, and what grew.
fn limits(cases: &[Case]) -> String {
    let mut rows = vec![];
    for case in cases {
        for layout in [Layout::Whole, Layout::Parts] {
            for network in [0, 1] {
                let plans =
                    || (0..=16).map(|k| plan(layout, 1 << k, network)).filter(|&plan| case.held(plan) <= DISK.value);
                let hours = |plan: &Plan| case.machine_hours(*plan);
                let cheapest = plans().min_by(|a, b| hours(a).total_cmp(&hours(b))).expect("a plan that fits");
                let good = |plan: &Plan| plan.machines >= cheapest.machines && hours(plan) <= 2.0 * hours(&cheapest);
                let last = plans().take_while(|plan| plan.machines <= cheapest.machines || good(plan)).last();
                let last = last.expect("the cheapest plan");
                let beyond = plan(layout, 2 * last.machines, network);
                let (before, then) = (case.step(cheapest), case.step(beyond));
                let grown = before.parts().into_iter().zip(then.parts()).map(|(before, then)| then - before);
                let (part, more) = grown.enumerate().max_by(|a, b| a.1.total_cmp(&b.1)).expect("parts");
                let batches = case.steps(plan(layout, 1, network));
                let idle = case.steps(beyond) * beyond.machines as f64 / batches - 1.0;
                let why = if idle > more / before.sum() {
                    format!("{} batches for {} machines", thousands(batches), thousands(beyond.machines as f64))
                } else {
                    format!("{}: {} more in a step of {}", Times::NAMES[part], seconds(more), seconds(before.sum()))
                };
                rows.push(vec![
                    power(case.graph.edges() as f64),
                    name(layout, 2).into(),
                    format!("{:.0} Gbit/s", NETWORKS[network].value / 1e9),
                    format!("{}, {}", thousands(cheapest.machines as f64), digits(hours(&cheapest))),
                    thousands(last.machines as f64),
                    seconds(case.epoch(last).sum()),
                    why,
                ]);
            }
        }
    }
    let head = [
        "edges",
        "files",
        "network",
        "cheapest: machines, machine-hours",
        "up to",
        "epoch there",
        "why not twice as many",
    ];
    table(&head, &rows)
}
