//! Graphs of petgraph.

use super::{Drawn, drawn, stored};
use burn::tensor::{DType, Device, Int};
use petgraph::Direction;
use petgraph::graph::{DiGraph, NodeIndex, UnGraph};
use petgraph::visit::EdgeRef;
use proptest::prelude::*;
use sparse_files::interop::{FromSparse, Interop};
use sparse_tensor::{CooTensor, CsrTensor};

fn of<Ty: petgraph::EdgeType, Ix: petgraph::graph::IndexType>(
    graph: &petgraph::Graph<(), f64, Ty, Ix>,
) -> CsrTensor<2> {
    CsrTensor::from_petgraph(graph, |&weight| weight, &Device::flex()).unwrap()
}

fn square() -> impl Strategy<Value = Drawn> {
    drawn().prop_map(|drawn| Drawn { shape: [drawn.shape[0].max(drawn.shape[1]); 2], ..drawn })
}

proptest! {
    #[test]
    fn directed_graphs_come_back(drawn in square()) {
        let csr = drawn.csr();
        let graph = DiGraph::<(), f64>::from_sparse(&drawn.coo()).unwrap();
        prop_assert_eq!(graph.edge_weights().copied().collect::<Vec<_>>(), csr.to_triplets::<f64>().2);
        prop_assert_eq!(stored(&of(&graph)), stored(&csr));
        // What a node collects from those that send to it, by the other crate's lists, is a product of the transpose.
        let (vector, _) = drawn.product();
        let received: Vec<f64> = graph.node_indices().map(|node| {
            let edges = graph.edges_directed(node, Direction::Incoming);
            edges.map(|edge| edge.weight() * vector[edge.source().index()]).sum()
        }).collect();
        let transposed = Drawn { rows: drawn.cols.clone(), cols: drawn.rows.clone(), ..drawn.clone() };
        prop_assert_eq!(received, transposed.product().1);
    }

    #[test]
    fn undirected_graphs_are_symmetric(drawn in square()) {
        let edges = drawn.rows.iter().zip(&drawn.cols).zip(&drawn.values);
        let mut graph = UnGraph::<(), f64, u8>::default();
        for _ in 0..drawn.shape[0] {
            graph.add_node(());
        }
        for ((&row, &col), &value) in edges {
            graph.update_edge(NodeIndex::new(row), NodeIndex::new(col), value);
        }
        let adjacency = of(&graph);
        prop_assert_eq!(stored(&adjacency), stored(&adjacency.clone().transpose()));
        let loops = graph.edge_references().filter(|edge| edge.source() == edge.target());
        prop_assert_eq!(adjacency.nnz(), 2 * graph.edge_count() - loops.count());
        let back = UnGraph::<(), f64, u8>::from_sparse(&adjacency).unwrap();
        prop_assert_eq!((back.node_count(), back.edge_count()), (graph.node_count(), graph.edge_count()));
        prop_assert_eq!(stored(&of(&back)), stored(&adjacency));
    }
}

#[test]
fn known_graph() {
    let mut graph = DiGraph::<&str, i32>::new();
    let [a, b, _] = ["a", "b", "alone"].map(|name| graph.add_node(name));
    // The first two are parallel.
    graph.extend_with_edges([(a, b, 2), (a, b, 3), (b, b, 4)]);
    let (device, weight) = (Device::flex(), |&weight: &i32| weight);
    let coo = CooTensor::<2, Int>::from_petgraph(&graph, weight, &device).unwrap();
    assert_eq!((coo.dims(), coo.dtype()), ([3, 3], DType::I32));
    assert_eq!(coo.to_triplets::<i32>(), (vec![0, 0, 1], vec![1, 1, 1], vec![2, 3, 4]));
    let csr = CsrTensor::<2>::from_petgraph(&graph, weight, (&device, DType::F32)).unwrap();
    assert_eq!(csr.to_triplets::<f32>(), (vec![0, 1], vec![1, 1], vec![5.0, 4.0]));
    let ones = CsrTensor::<2>::from_petgraph(&graph, |_| 1.0f32, &device).unwrap();
    assert_eq!(ones.to_triplets::<f32>().2, [2.0, 1.0]);
}
