//! Where the nodes of a small graph stand.

use super::shapes::At;

const STEPS: usize = 400;

/// Places by forces: nodes push each other away, edges pull, and all are drawn to the middle, so that parts that are
/// not connected stay together. Without random numbers. `O(nodes^2 + edges)` for each of 400 steps.
///
/// Source: Fruchterman and Reingold, *Graph drawing by force-directed placement*, Software: Practice and Experience 21,
/// 1991.
pub(super) fn places(nodes: usize, edges: &[(usize, usize)]) -> Vec<At> {
    // A spiral of golden angles: spread evenly, and no two distances alike.
    let mut places: Vec<At> = (0..nodes)
        .map(|node| {
            let (radius, angle) = ((node as f64 + 0.5).sqrt(), node as f64 * 2.399_963);
            (radius * angle.cos(), radius * angle.sin())
        })
        .collect();
    let warmth = (nodes as f64).sqrt();
    for step in 0..STEPS {
        let mut forces: Vec<At> = places.iter().map(|&(x, y)| (-0.05 * x, -0.05 * y)).collect();
        for a in 0..nodes {
            for b in 0..a {
                let (x, y) = (places[a].0 - places[b].0, places[a].1 - places[b].1);
                let push = 1.0 / (x * x + y * y).max(1e-6);
                add(&mut forces, a, b, (push * x, push * y));
            }
        }
        for &(a, b) in edges.iter().filter(|(a, b)| a != b) {
            let (x, y) = (places[a].0 - places[b].0, places[a].1 - places[b].1);
            let pull = (x * x + y * y).sqrt();
            add(&mut forces, b, a, (pull * x, pull * y));
        }
        // No node moves further than the warmth, which falls.
        let most = 0.2 * warmth * (1.0 - step as f64 / STEPS as f64);
        for (place, force) in places.iter_mut().zip(forces) {
            let length = force.0.hypot(force.1);
            let factor = if length > most { most / length } else { 1.0 };
            *place = (place.0 + 0.3 * factor * force.0, place.1 + 0.3 * factor * force.1);
        }
    }
    places
}

/// A force on `a`, and the opposite one on `b`.
fn add(forces: &mut [At], a: usize, b: usize, (x, y): At) {
    forces[a] = (forces[a].0 + x, forces[a].1 + y);
    forces[b] = (forces[b].0 - x, forces[b].1 - y);
}

#[cfg(test)]
mod tests {
    use super::places;

    #[test]
    fn neighbours_stand_closer_than_others() {
        // Two triangles with an edge between them.
        let edges = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (2, 3)];
        let at = places(6, &edges);
        let distance = |a: usize, b: usize| (at[a].0 - at[b].0).hypot(at[a].1 - at[b].1);
        let farthest = edges.iter().map(|&(a, b)| distance(a, b)).fold(0.0, f64::max);
        assert!(farthest < distance(0, 4).min(distance(1, 5)).min(distance(0, 5)), "{at:?}");
        assert!(distance(0, 1) > 0.1);
    }

    #[test]
    fn any_graph_has_finite_places() {
        for (nodes, edges) in [(0, vec![]), (1, vec![(0, 0)]), (2, vec![]), (500, vec![(0, 499); 1000])] {
            let at = places(nodes, &edges);
            assert!(at.len() == nodes && at.iter().all(|at| at.0.is_finite() && at.1.is_finite()));
        }
    }
}
