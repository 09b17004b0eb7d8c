//! Maximum flows.

use crate::element::Ids;
use std::collections::VecDeque;

/// A flow from a source to a sink.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// What leaves the source and reaches the sink.
    pub value: f64,
    /// What flows along each element.
    pub along: Vec<f64>,
    /// Whether each node is on the side of the source of a cut whose elements are all full.
    pub source_side: Vec<bool>,
}

/// An arc of the residual graph: element `k` is arc `2 k`, its way back `2 k + 1`.
struct Residual {
    /// Where each arc ends.
    ends: Vec<u32>,
    room: Vec<f64>,
    /// The arcs that leave each node.
    ptr: Vec<usize>,
    arcs: Vec<usize>,
}

impl Residual {
    fn new(ptr: Ids<'_>, idx: Ids<'_>, capacities: &[f64]) -> Self {
        let nodes = ptr.rows();
        let mut ends = Vec::with_capacity(2 * capacities.len());
        let mut room = Vec::with_capacity(2 * capacities.len());
        let mut starts = vec![0usize; nodes + 1];
        for row in 0..nodes {
            for at in ptr.span(row) {
                ends.extend([idx.at(at) as u32, row as u32]);
                room.extend([capacities[at], 0.0]);
            }
        }
        let from = |arc: usize| ends[arc ^ 1] as usize;
        (0..ends.len()).for_each(|arc| starts[from(arc) + 1] += 1);
        (0..nodes).for_each(|node| starts[node + 1] += starts[node]);
        let (mut next, mut arcs) = (starts.clone(), vec![0; ends.len()]);
        for arc in 0..ends.len() {
            arcs[next[from(arc)]] = arc;
            next[from(arc)] += 1;
        }
        Self { ends, room, ptr: starts, arcs }
    }

    /// The number of arcs with room on a shortest path from `source` to each node, `None` where no path leads.
    fn levels(&self, source: usize) -> Vec<Option<u32>> {
        let mut level = vec![None; self.ptr.len() - 1];
        level[source] = Some(0);
        let mut open = VecDeque::from([source]);
        while let Some(node) = open.pop_front() {
            for &arc in &self.arcs[self.ptr[node]..self.ptr[node + 1]] {
                let end = self.ends[arc] as usize;
                if self.room[arc] > 0.0 && level[end].is_none() {
                    level[end] = level[node].map(|level| level + 1);
                    open.push_back(end);
                }
            }
        }
        level
    }

    /// Fills paths from level to level until each has a full arc. Returns what flows along them.
    fn block(&mut self, source: usize, sink: usize, level: &mut [Option<u32>]) -> f64 {
        let mut next = self.ptr.clone();
        let (mut path, mut sum): (Vec<usize>, f64) = (vec![], 0.0);
        loop {
            let node = path.last().map_or(source, |&arc| self.ends[arc] as usize);
            if node == sink {
                let least = path.iter().map(|&arc| self.room[arc]).fold(f64::INFINITY, f64::min);
                sum += least;
                for &arc in &path {
                    self.room[arc] -= least;
                    self.room[arc ^ 1] += least;
                }
                // From the first full arc on another path.
                let full = path.iter().position(|&arc| self.room[arc] <= 0.0).unwrap_or(0);
                path.truncate(full);
                continue;
            }
            let further = level[node].map(|level| level + 1);
            let arcs = next[node]..self.ptr[node + 1];
            let found = arcs.into_iter().find(|&at| {
                let arc = self.arcs[at];
                self.room[arc] > 0.0 && further.is_some() && level[self.ends[arc] as usize] == further
            });
            match found {
                Some(at) => {
                    next[node] = at;
                    path.push(self.arcs[at]);
                }
                None => {
                    level[node] = None;
                    let Some(arc) = path.pop() else { return sum };
                    next[self.ends[arc ^ 1] as usize] += 1;
                }
            }
        }
    }
}

/// A flow of the largest value from `source` to `sink`, two nodes, where what flows along an element is from 0 to its
/// capacity. Capacities are from 0 on and finite; there are fewer than 2^32 nodes. `O(nodes^2 edges)`, and
/// `O(edges^1.5)` with capacities of one.
///
/// Source: Dinitz, *Algorithm for solution of a problem of maximum flow in networks with power estimation*, 1970.
pub fn maximum_flow(ptr: Ids<'_>, idx: Ids<'_>, capacities: &[f64], source: usize, sink: usize) -> Flow {
    let mut residual = Residual::new(ptr, idx, capacities);
    let mut value = 0.0;
    loop {
        let mut level = residual.levels(source);
        if level[sink].is_none() {
            let along = capacities
                .iter()
                .zip(residual.room.chunks_exact(2))
                .map(|(all, room)| (all - room[0]).clamp(0.0, *all))
                .collect();
            return Flow { value, along, source_side: level.iter().map(Option::is_some).collect() };
        }
        value += residual.block(source, sink, &mut level);
    }
}
