//! Shortest paths by delta-stepping: what Dijkstra's algorithm gives, bit for bit, and what is refused.

use crate::algorithms::{floats, ints, kinds as refused};
use crate::paths::{check_all, draws, graph, random};
use burn::tensor::TensorData;
use sparse_tensor::CooTensor;
use sparse_tensor::data::*;

const NONE: f64 = f64::INFINITY;

fn by(width: Option<f64>) -> PathMethod {
    PathMethod::DeltaStepping { width }
}

/// Weights from 0 to 5, so paths are often equal, and nodes that nothing reaches.
#[test]
fn delta_stepping_gives_the_bits_of_dijkstra() {
    for seed in 0..40 {
        let nodes = 1 + seed as usize % 30;
        let a = graph(&random(seed, nodes, 3 * nodes, false), nodes);
        let mut draw = draws(seed);
        let sources: Vec<usize> = (0..draw(5)).map(|_| draw(nodes)).collect();
        for limit in [NONE, 4.0] {
            let want = shortest_paths_within(&a, &sources, limit);
            for width in [None, Some(0.5), Some(3.0), Some(1e9)] {
                let found = shortest_paths_by(&a, &sources, limit, by(width));
                assert_eq!(floats(found.distances.clone()), floats(want.distances.clone()), "{seed} {width:?}");
                assert_eq!(ints(found.predecessors()), ints(want.predecessors()), "{seed} {width:?}");
            }
        }
    }
}

#[test]
fn gradients_go_along_the_paths_that_delta_stepping_finds() {
    let edges = random(3, 8, 30, false);
    // Sums that no two paths share.
    let weights = edges.iter().enumerate().map(|(k, edge)| edge.2 + 0.013 * ((k * k + 1) as f64).sqrt());
    let weights = TensorData::new(weights.collect::<Vec<_>>(), [edges.len()]);
    let ends: Vec<_> = edges.iter().map(|&(row, col, _)| (row, col)).collect();
    check_all(&[weights], |xs| {
        let a = CooTensor::from_edges(&ends, xs[0].tensor::<1>(), 8).unwrap().to_csr();
        let found = shortest_paths_by(&a, &[0, 3, 3], NONE, by(None)).distances;
        let none = found.clone().is_inf();
        found.mask_fill(none, 0.0)
    })
    .unwrap();
}

#[test]
fn bad_widths_and_weights_of_delta_stepping() {
    let a = graph(&[(0, 1, 1.0), (1, 2, 0.0)], 3);
    for (width, told) in [(0.0, "0"), (-0.0, "0"), (-1.0, "-1"), (NONE, "inf"), (f64::NAN, "NaN")] {
        refused(try_shortest_paths_by(&a, &[0], NONE, by(Some(width))), "invalid", &["width", told]);
    }
    let negative = graph(&[(0, 1, 1.0), (2, 1, -0.5)], 3);
    refused(try_shortest_paths_by(&negative, &[0], NONE, by(None)), "invalid", &["-0.5", "(2, 1)"]);
    let bad = graph(&[(0, 1, 1.0), (2, 1, f64::NAN)], 3);
    refused(try_shortest_paths_by(&bad, &[0], NONE, by(None)), "invalid", &["NaN", "(2, 1)"]);
    refused(try_shortest_paths_by(&a, &[0], f64::NAN, by(None)), "invalid", &["limit"]);
    refused(try_shortest_paths_by(&a, &[3], NONE, by(None)), "index_out_of_range", &["3"]);
    let none = graph(&[(0, 1, NONE), (0, 2, -0.0)], 3);
    assert_eq!(floats(shortest_paths_by(&none, &[0], NONE, by(None)).distances), [0.0, NONE, 0.0]);
    assert_eq!(shortest_paths_by(&a, &[], NONE, by(None)).distances.dims(), [0, 3]);
}
