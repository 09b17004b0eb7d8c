//! Nearest points, exactly.

use crate::par;
use core::cmp::Ordering;
use core::ops::Range;

/// Above this dimension a tree hardly saves a distance, so all points are compared.
const TREE_DIMS: usize = 12;

/// Number of points of a leaf.
const LEAF: usize = 16;

/// Points `[count, dims]`, with a tree if the dimension is small.
///
/// The tree halves the points at the median along the dimension of largest extent (a k-d tree). Source: Friedman,
/// Bentley and Finkel, *An algorithm for finding best matches in logarithmic expected time*, 1977.
#[derive(Debug)]
pub struct Points<'a> {
    data: &'a [f32],
    dims: usize,
    order: Vec<u32>,
    tree: Vec<Node>,
}

/// A range of the order, and how it is cut.
#[derive(Debug)]
struct Node {
    range: Range<u32>,
    /// Dimension, position and the two halves; `None` for a leaf.
    cut: Option<(u32, f32, [u32; 2])>,
}

/// Neighbours of each point as CSR rows: nearest first.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Neighbors {
    /// Where the neighbours of each point start.
    pub ptr: Vec<i64>,
    /// The neighbours.
    pub ids: Vec<i64>,
    /// Squared distances.
    pub squared: Vec<f64>,
}

/// A found point: its squared distance and its id. Of equally near points the one with the smaller id comes first.
#[derive(Clone, Copy, PartialEq)]
struct Found(f64, u32);

impl Found {
    fn order(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0).then(self.1.cmp(&other.1))
    }
}

/// What a search is for.
#[derive(Clone, Copy)]
struct Query {
    point: u32,
    /// The most neighbours.
    most: usize,
    /// The largest squared distance.
    reach: f64,
    own: bool,
}

impl<'a> Points<'a> {
    /// Points from finite coordinates, row-major. There are at most 2^32 - 1 points.
    pub fn new(data: &'a [f32], dims: usize) -> Self {
        let count = data.len().checked_div(dims).unwrap_or(0);
        assert!(count < u32::MAX as usize, "there must be less than 2^32 - 1 points, got {count}");
        let mut own = Self { data, dims, order: (0..count as u32).collect(), tree: Vec::new() };
        if dims <= TREE_DIMS && count > LEAF {
            let mut order = std::mem::take(&mut own.order);
            own.split(&mut order, 0);
            own.order = order;
        } else {
            own.tree.push(Node { range: 0..count as u32, cut: None });
        }
        own
    }

    fn point(&self, id: u32) -> &[f32] {
        &self.data[id as usize * self.dims..][..self.dims]
    }

    /// Adds the node of `order`, which starts at `start`, and the nodes below; returns its number.
    fn split(&mut self, order: &mut [u32], start: u32) -> u32 {
        let at = self.tree.len() as u32;
        self.tree.push(Node { range: start..start + order.len() as u32, cut: None });
        if order.len() <= LEAF {
            return at;
        }
        let extent = |dim: usize| {
            let (low, high) = order.iter().fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), &id| {
                let x = self.point(id)[dim];
                (low.min(x), high.max(x))
            });
            high - low
        };
        let widest = (0..self.dims).map(|dim| (extent(dim), dim)).max_by(|a, b| a.0.total_cmp(&b.0));
        // Points that are all the same stay together.
        let Some((_, dim)) = widest.filter(|&(extent, _)| extent > 0.0) else { return at };
        let middle = order.len() / 2;
        let x = |id: u32| self.data[id as usize * self.dims + dim];
        order.select_nth_unstable_by(middle, |&a, &b| x(a).total_cmp(&x(b)).then(a.cmp(&b)));
        let position = x(order[middle]);
        let (low, high) = order.split_at_mut(middle);
        let low = self.split(low, start);
        let high = self.split(high, start + middle as u32);
        self.tree[at as usize].cut = Some((dim as u32, position, [low, high]));
        at
    }

    /// The neighbours that a query finds, nearest first.
    fn search(&self, query: Query, found: &mut Vec<Found>) {
        found.clear();
        if query.most > 0 {
            self.visit(0, query, found);
        }
        found.sort_unstable_by(Found::order);
    }

    /// Keeps `found` as a heap with the farthest point first.
    fn visit(&self, node: u32, query: Query, found: &mut Vec<Found>) {
        let Node { range, cut } = &self.tree[node as usize];
        let Some((dim, position, halves)) = *cut else {
            for &id in &self.order[range.start as usize..range.end as usize] {
                self.offer(id, query, found);
            }
            return;
        };
        let offset = f64::from(self.point(query.point)[dim as usize]) - f64::from(position);
        let [near, far] = if offset < 0.0 { halves } else { [halves[1], halves[0]] };
        self.visit(near, query, found);
        let reach = if found.len() < query.most { query.reach } else { found[0].0.min(query.reach) };
        // Also where it is equal: a point there may have a smaller id.
        if offset * offset <= reach {
            self.visit(far, query, found);
        }
    }

    fn offer(&self, id: u32, query: Query, found: &mut Vec<Found>) {
        if id == query.point && !query.own {
            return;
        }
        let pairs = self.point(query.point).iter().zip(self.point(id));
        let squared = pairs.fold(0.0, |sum, (&a, &b)| {
            let difference = f64::from(a) - f64::from(b);
            sum + difference * difference
        });
        let new = Found(squared, id);
        if squared > query.reach {
            return;
        }
        if found.len() < query.most {
            found.push(new);
            // Up.
            let mut at = found.len() - 1;
            while at > 0 && found[at].order(&found[(at - 1) / 2]).is_gt() {
                found.swap(at, (at - 1) / 2);
                at = (at - 1) / 2;
            }
        } else if new.order(&found[0]).is_lt() {
            found[0] = new;
            // Down.
            let mut at = 0;
            loop {
                let below = 2 * at + 1..(2 * at + 3).min(found.len());
                let Some(child) = below.max_by(|&a, &b| found[a].order(&found[b])) else { break };
                if found[child].order(&found[at]).is_le() {
                    break;
                }
                found.swap(at, child);
                at = child;
            }
        }
    }

    fn all(&self, most: usize, reach: f64, own: bool) -> Neighbors {
        let count = self.order.len();
        let weight = if self.tree.len() > 1 { 1024 } else { count * self.dims };
        let pieces = par::even(count, weight);
        let parts = par::map(pieces.len(), &|piece| {
            let mut part = Neighbors::default();
            let mut found = Vec::new();
            for point in pieces[piece].clone() {
                self.search(Query { point: point as u32, most, reach, own }, &mut found);
                part.ptr.push(found.len() as i64);
                part.ids.extend(found.iter().map(|one| i64::from(one.1)));
                part.squared.extend(found.iter().map(|one| one.0));
            }
            part
        });
        let mut out = Neighbors { ptr: vec![0], ..Neighbors::default() };
        let mut end = 0;
        for part in parts {
            out.ptr.extend(part.ptr.iter().map(|count| {
                end += count;
                end
            }));
            out.ids.extend(part.ids);
            out.squared.extend(part.squared);
        }
        out
    }
}

/// The `count` nearest other points of each point (fewer, if there are no more), with Euclidean distances in f64.
/// `own`: a point is its own nearest neighbour. Of equally near points those with smaller ids are taken.
///
/// `O(n log n)` in expectation with a tree, `O(n^2 dims)` without; parallel.
pub fn nearest(points: &Points<'_>, count: usize, own: bool) -> Neighbors {
    points.all(count, f64::INFINITY, own)
}

/// The points within a distance of each point, nearest first, at most `most` of them. See [`nearest`].
pub fn within(points: &Points<'_>, radius: f64, most: usize, own: bool) -> Neighbors {
    points.all(most, radius * radius, own)
}
