//! Graph algorithms, compared with plain loops over their definitions.

mod paths;
mod samples;

use proptest::prelude::*;
use sparse_core::dynamic::Ids;
use sparse_core::graph::*;
use std::collections::BTreeSet;

/// A graph by rows: the columns of each ascend strictly.
#[derive(Clone, Debug)]
struct Graph {
    ptr: Vec<i32>,
    idx: Vec<i32>,
}

impl Graph {
    fn of(rows: &[Vec<i32>]) -> Self {
        let mut own = Self { ptr: vec![0], idx: vec![] };
        for row in rows {
            let row: BTreeSet<i32> = row.iter().copied().collect();
            own.idx.extend(row);
            own.ptr.push(own.idx.len() as i32);
        }
        own
    }

    /// A star: node 0 has an edge to each of `1 ..= degree`.
    fn star(degree: usize) -> Self {
        let mut rows = vec![vec![]; degree + 1];
        rows[0] = (1..=degree as i32).collect();
        Self::of(&rows)
    }

    /// Every node gets up to `degree` random edges.
    fn random(nodes: usize, degree: usize, key: u64) -> Self {
        let mut stream = Stream::new(key);
        let row = |_| {
            let own = stream.below(degree + 1);
            (0..own).map(|_| stream.below(nodes) as i32).collect()
        };
        Self::of(&(0..nodes).map(row).collect::<Vec<_>>())
    }

    fn ids(&self) -> (Ids<'_>, Ids<'_>) {
        (Ids::I32(&self.ptr), Ids::I32(&self.idx))
    }

    fn nodes(&self) -> usize {
        self.ptr.len() - 1
    }

    fn row(&self, node: usize) -> &[i32] {
        &self.idx[self.ptr[node] as usize..self.ptr[node + 1] as usize]
    }

    fn two_way(&self) -> TwoWay {
        let (ptr, idx) = self.ids();
        TwoWay::new("t", ptr, idx).unwrap()
    }

    /// The neighbours of each node in either direction, without the node.
    fn both(&self) -> Vec<BTreeSet<usize>> {
        let mut all = vec![BTreeSet::new(); self.nodes()];
        for node in 0..self.nodes() {
            for &other in self.row(node).iter().filter(|&&other| other as usize != node) {
                all[node].insert(other as usize);
                all[other as usize].insert(node);
            }
        }
        all
    }

    fn sample(&self, seeds: &[i64], fan_outs: &[usize], draw: Draw, weights: Option<&[f32]>) -> Hops {
        let (ptr, idx) = self.ids();
        let mut table = Relabel::new(self.nodes());
        let store = Slices::new("t", ptr, idx, weights).unwrap();
        let hops = sample_hops("t", &store, seeds, fan_outs, draw, &mut table).unwrap();
        assert!((0..self.nodes()).all(|node| table.find(node).is_none()), "the table is empty again");
        hops
    }
}

fn graphs(most: usize) -> impl Strategy<Value = Graph> {
    (1..most)
        .prop_flat_map(|nodes| prop::collection::vec(prop::collection::vec(0..nodes as i32, 0..6), nodes))
        .prop_map(|rows| Graph::of(&rows))
}

fn uniform(key: u64) -> Draw {
    Draw { replace: false, weighted: false, key }
}

/// What every sample must be, whatever was drawn.
fn check_hops(graph: &Graph, seeds: &[i64], fan_outs: &[usize], draw: Draw, weights: Option<&[f32]>, hops: &Hops) {
    let weighs = |edge: usize| weights.is_none_or(|weights| weights[edge] > 0.0);
    assert_eq!(hops.counts.len(), fan_outs.len() + 1);
    let mut seen = BTreeSet::new();
    let first: Vec<i64> = seeds.iter().copied().filter(|&seed| seen.insert(seed)).collect();
    assert_eq!(&hops.nodes[..hops.counts[0]], first);
    let all: BTreeSet<i64> = hops.nodes.iter().copied().collect();
    assert_eq!((all.len(), hops.counts.last()), (hops.nodes.len(), Some(&hops.nodes.len())));
    let expanded = hops.counts[fan_outs.len() - 1];
    assert_eq!(hops.ptr.len(), expanded + 1);
    let mut reached = hops.counts[0];
    for row in 0..expanded {
        let hop = hops.counts.partition_point(|&count| count <= row);
        let span = hops.ptr[row] as usize..hops.ptr[row + 1] as usize;
        let node = hops.nodes[row] as usize;
        let own = graph.ptr[node] as usize..graph.ptr[node + 1] as usize;
        let possible = own.clone().filter(|&edge| weighs(edge)).count();
        for k in span.clone() {
            let edge = hops.edges[k] as usize;
            assert!(own.contains(&edge) && weighs(edge));
            assert_eq!(i64::from(graph.idx[edge]), hops.nodes[hops.cols[k] as usize]);
            assert!(k == span.start || hops.cols[k - 1] < hops.cols[k], "columns ascend strictly");
            // Nothing farther than the next hop.
            assert!((hops.cols[k] as usize) < hops.counts[hop + 1]);
            reached = reached.max(hops.cols[k] as usize + 1);
        }
        if draw.replace {
            let times: u32 = hops.times[span].iter().sum();
            assert_eq!(times as usize, if possible == 0 { 0 } else { fan_outs[hop] });
        } else {
            assert_eq!(span.len(), possible.min(fan_outs[hop]));
        }
    }
    assert_eq!(reached, hops.nodes.len(), "every node but the seeds was drawn");
    assert_eq!(hops.times.len(), if draw.replace { hops.cols.len() } else { 0 });
}

proptest! {
    #[test]
    fn subgraphs(graph in graphs(30), raw in prop::collection::vec(0i64..1000, 0..12)) {
        let all = graph.nodes();
        let nodes: Vec<i64> = raw.iter().map(|node| node % all as i64).collect();
        let mut seen = BTreeSet::new();
        let nodes: Vec<i64> = nodes.into_iter().filter(|&node| seen.insert(node)).collect();
        let (ptr, idx) = graph.ids();
        let labels = Relabel::of(&nodes, all);
        let own = induced("t", ptr, idx, &nodes, &labels).unwrap();
        for (row, &node) in nodes.iter().enumerate() {
            let mut want: Vec<(i32, i64)> = vec![];
            for edge in graph.ptr[node as usize]..graph.ptr[node as usize + 1] {
                let end = i64::from(graph.idx[edge as usize]);
                if let Some(col) = nodes.iter().position(|&node| node == end) {
                    want.push((col as i32, edge.into()));
                }
            }
            want.sort_unstable();
            let span = own.ptr[row] as usize..own.ptr[row + 1] as usize;
            let got: Vec<(i32, i64)> =
                own.cols[span.clone()].iter().copied().zip(own.edges[span].iter().copied()).collect();
            prop_assert_eq!(got, want);
        }
    }

    #[test]
    fn distances_and_components(
        graph in graphs(25),
        raw in prop::collection::vec(0usize..1000, 0..4),
        most in 0usize..6,
    ) {
        let nodes = graph.nodes();
        let (ptr, idx) = graph.ids();
        // Paths by repeated relaxation.
        let relax = |levels: &mut Vec<i64>| {
            for _ in 0..nodes {
                for node in 0..nodes {
                    for &other in graph.row(node) {
                        let step = levels[node].saturating_add(1);
                        levels[other as usize] = levels[other as usize].min(step);
                    }
                }
            }
        };
        let sources: Vec<i64> = raw.iter().map(|source| (source % nodes) as i64).collect();
        let mut want = vec![i64::MAX; nodes];
        sources.iter().for_each(|&source| want[source as usize] = 0);
        relax(&mut want);
        let within =
            |most: i64| -> Vec<i64> { want.iter().map(|&level| if level > most { -1 } else { level }).collect() };
        prop_assert_eq!(bfs_levels(ptr, idx, &sources, most), within(most as i64));
        prop_assert_eq!(bfs_levels(ptr, idx, &sources, usize::MAX), within(i64::MAX - 1));
        let reaches: Vec<Vec<bool>> = (0..nodes)
            .map(|start| {
                let mut levels = vec![i64::MAX; nodes];
                levels[start] = 0;
                relax(&mut levels);
                levels.iter().map(|&level| level < i64::MAX).collect()
            })
            .collect();
        let (strong, count) = strong_components(ptr, idx);
        let (weak, joined) = weak_components(ptr, idx);
        // Numbered in the order of their smallest nodes.
        for (labels, count) in [(&strong, count), (&weak, joined)] {
            let firsts: Vec<i64> =
                (0..nodes).filter(|&node| !labels[..node].contains(&labels[node])).map(|node| labels[node]).collect();
            prop_assert_eq!(firsts, (0..count as i64).collect::<Vec<_>>());
        }
        let both = graph.both();
        let mut undirected: Vec<Vec<bool>> = vec![vec![false; nodes]; nodes];
        for (start, joined) in undirected.iter_mut().enumerate() {
            let mut stack = vec![start];
            while let Some(node) = stack.pop() {
                if !std::mem::replace(&mut joined[node], true) {
                    stack.extend(&both[node]);
                }
            }
        }
        for a in 0..nodes {
            for b in 0..nodes {
                prop_assert_eq!(strong[a] == strong[b], reaches[a][b] && reaches[b][a]);
                prop_assert_eq!(weak[a] == weak[b], undirected[a][b]);
            }
        }
    }

    #[test]
    fn orders_and_triangles(graph in graphs(25), parts in 1usize..6) {
        let nodes = graph.nodes();
        let (own, both) = (graph.two_way(), graph.both());
        prop_assert_eq!(own.nodes(), nodes);
        for (node, joined) in both.iter().enumerate() {
            let got: Vec<usize> = own.neighbors(node).iter().map(|&other| other as usize).collect();
            prop_assert_eq!(&got, &joined.iter().copied().collect::<Vec<_>>());
            prop_assert_eq!(own.degree(node), got.len());
        }
        let count = |a: usize| {
            let pairs = both[a].iter().flat_map(|&b| both[a].iter().map(move |&c| (b, c)));
            pairs.filter(|&(b, c)| b < c && both[b].contains(&c)).count() as u64
        };
        prop_assert_eq!(triangles(&own), (0..nodes).map(count).collect::<Vec<_>>());
        let mut order = reverse_cuthill_mckee(&own);
        order.sort_unstable();
        prop_assert_eq!(order, (0..nodes as i64).collect::<Vec<_>>());
        let parts = parts.min(nodes);
        let mut sizes = vec![0usize; parts];
        partition(&own, parts).iter().for_each(|&part| sizes[part as usize] += 1);
        prop_assert!(sizes.iter().all(|&size| 10 * parts * size <= 11 * nodes + 10 * parts), "{:?}", &sizes);
        prop_assert!(sizes.iter().all(|&size| size >= nodes * 9 / (10 * parts)), "{:?}", &sizes);
    }

    #[test]
    fn nearest_points(
        dims in prop_oneof![1usize..4, Just(13usize)],
        raw in prop::collection::vec(0u8..5, 0..400),
        k in 1usize..6,
        own in any::<bool>(),
    ) {
        // Small integers: many points at one place, and many ties.
        let count = raw.len() / dims;
        let data: Vec<f32> = raw[..count * dims].iter().map(|&x| x.into()).collect();
        let points = Points::new(&data, dims);
        let squared = |a: usize, b: usize| -> f64 {
            (0..dims).map(|d| f64::from(data[a * dims + d] - data[b * dims + d]).powi(2)).sum()
        };
        let want = |reach: f64, most: usize| {
            let mut want = Neighbors { ptr: vec![0], ..Default::default() };
            for a in 0..count {
                let mut all: Vec<(f64, i64)> = (0..count)
                    .filter(|&b| own || a != b)
                    .map(|b| (squared(a, b), b as i64))
                    .filter(|&(squared, _)| squared <= reach)
                    .collect();
                all.sort_by(|a, b| a.partial_cmp(b).unwrap());
                all.truncate(most);
                want.ids.extend(all.iter().map(|&(_, id)| id));
                want.squared.extend(all.iter().map(|&(squared, _)| squared));
                want.ptr.push(want.ids.len() as i64);
            }
            want
        };
        prop_assert_eq!(nearest(&points, k, own), want(f64::INFINITY, k));
        prop_assert_eq!(within(&points, 2.0, usize::MAX, own), want(4.0, usize::MAX));
        prop_assert_eq!(within(&points, 1.0, 3, own), want(1.0, 3));
    }
}

#[test]
fn a_shuffled_band_is_found_again() {
    // A grid of 12 x 12 in a random order has a large bandwidth; Cuthill-McKee's is that of a front of the grid.
    let side = 12usize;
    let mut stream = Stream::new(1);
    let mut name: Vec<usize> = (0..side * side).collect();
    for last in (1..name.len()).rev() {
        name.swap(last, stream.below(last + 1));
    }
    let mut rows = vec![vec![]; side * side];
    for x in 0..side {
        for y in 0..side {
            let at = name[x * side + y];
            if x + 1 < side {
                rows[at].push(name[(x + 1) * side + y] as i32);
            }
            if y + 1 < side {
                rows[at].push(name[x * side + y + 1] as i32);
            }
        }
    }
    let graph = Graph::of(&rows);
    let bandwidth = |place: &dyn Fn(usize) -> usize| {
        let ends = (0..graph.nodes()).flat_map(|node| graph.row(node).iter().map(move |&other| (node, other as usize)));
        ends.map(|(a, b)| place(a).abs_diff(place(b))).max().unwrap()
    };
    let mut place = vec![0; graph.nodes()];
    for (new, &old) in reverse_cuthill_mckee(&graph.two_way()).iter().enumerate() {
        place[old as usize] = new;
    }
    assert!(bandwidth(&|node| node) > 100);
    assert!(bandwidth(&|node| place[node]) <= side, "{}", bandwidth(&|node| place[node]));
    // Four parts cut about two lines through the grid; a random partition cuts three quarters of 264 edges.
    let part = partition(&graph.two_way(), 4);
    let cut = (0..graph.nodes())
        .map(|node| graph.row(node).iter().filter(|&&other| part[other as usize] != part[node]).count())
        .sum::<usize>();
    assert!(cut <= 60, "{cut}");
}

#[test]
fn threads_do_not_matter_to_graphs() {
    let graph = Graph::random(20_000, 30, 4);
    let (ptr, idx) = graph.ids();
    let seeds: Vec<i64> = (0..3000).collect();
    let weights: Vec<f32> = (0..graph.idx.len()).map(|k| (k % 7) as f32).collect();
    let data: Vec<f32> = (0..60_000).map(|k| (mix(1, k) % 4096) as f32).collect();
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let draws = [(false, false), (true, false), (false, true), (true, true)].map(|(replace, weighted)| {
                graph.sample(&seeds, &[7, 5], Draw { replace, weighted, key: 9 }, weighted.then_some(&weights[..]))
            });
            let two_way = graph.two_way();
            let walks =
                [None, Some(WalkBias { p: 0.5, q: 2.0 })].map(|bias| random_walks(ptr, idx, &seeds, 20, bias, 7));
            let labels = Relabel::of(&seeds, graph.nodes());
            (
                (draws, walks, induced("t", ptr, idx, &seeds, &labels).unwrap()),
                (bfs_levels(ptr, idx, &[5], usize::MAX), triangles(&two_way), partition(&two_way, 8)),
                (two_way, nearest(&Points::new(&data, 3), 4, false)),
            )
        })
    };
    let one = run(1);
    assert_eq!(one, run(2));
    assert_eq!(one, run(8));
    check_hops(&graph, &seeds, &[7, 5], uniform(9), None, &one.0.0[0]);
}
