//! The last events of nodes, against PyTorch Geometric.

use burn::tensor::{Device, Tensor};
use serde_json::Value;
use sparse_tensor::data::LastNeighbors;
use sparse_tensor::nn::TemporalEvents;

fn list(value: &Value) -> Vec<usize> {
    value.as_array().unwrap().iter().map(|one| one.as_u64().unwrap() as usize).collect()
}

#[test]
fn the_last_events_of_nodes_are_those_of_pyg() {
    let lines = std::fs::read_to_string(sparse_dev::path("tests/cases/graphs/temporal.jsonl")).unwrap();
    let line = lines.lines().find(|line| line.starts_with("{\"id\":\"events/last\",")).unwrap();
    let case: Value = serde_json::from_str(line).unwrap();
    let times = list(&case["times"]).into_iter().map(|time| time as i64).collect();
    let messages = Tensor::<2>::ones([10, 1], &Device::flex());
    let events = TemporalEvents::new(7, list(&case["sources"]), list(&case["targets"]), times, messages).unwrap();
    let (mut neighbors, mut begin) = (LastNeighbors::new(7, 3), 0);
    for one in case["out"].as_array().unwrap() {
        let end = one["end"].as_u64().unwrap() as usize;
        neighbors.insert(&events, begin..end);
        begin = end;
        let roots = list(&one["roots"]);
        let found = neighbors.sample(&roots, &Device::flex());
        assert_eq!(found.roots.iter().map(|&root| found.nodes[root]).collect::<Vec<_>>(), roots);
        let mut nodes = found.nodes.clone();
        nodes.sort_unstable();
        assert_eq!(nodes, list(&one["nodes"]));
        let ptr: Vec<i64> = found.adjacency.pattern().row_ptr().clone().into_data().convert::<i64>().iter().collect();
        let edges = (0..roots.len()).flat_map(|row| (ptr[row]..ptr[row + 1]).map(move |at| (row, at as usize)));
        let mut edges: Vec<_> =
            edges.map(|(row, at)| vec![found.nodes[row], found.nodes[found.sources[at]], found.events[at]]).collect();
        edges.sort_unstable();
        assert_eq!(edges, one["edges"].as_array().unwrap().iter().map(list).collect::<Vec<_>>());
    }
}

#[test]
fn wrong_events_of_neighbors_are_errors() {
    let ones = Tensor::<2>::ones([3, 1], &Device::flex());
    let events = TemporalEvents::new(3, vec![0, 1, 1], vec![2, 2, 1], vec![1, 2, 3], ones).unwrap();
    let mut neighbors = LastNeighbors::new(3, 2);
    let told = |result: sparse_tensor::Result<()>, parts: &[&str]| {
        let trouble = result.unwrap_err();
        let text = trouble.to_string();
        assert!(trouble.kind() == "invalid" && parts.iter().all(|part| text.contains(part)), "{text}");
    };
    told(LastNeighbors::new(2, 2).try_insert(&events, 0..1), &["2 nodes", "got 3"]);
    told(neighbors.try_insert(&events, 2..4), &["[0, 3)", "2..4"]);
    neighbors.insert(&events, 0..2);
    told(neighbors.try_insert(&events, 1..3), &["backwards", "the first 2", "1..3"]);
    assert_eq!(neighbors.try_sample(&[3], &Device::flex()).unwrap_err().kind(), "index_out_of_range");
    // An event of a node with itself is there once; there may be no roots, and no events are kept.
    neighbors.insert(&events, 2..3);
    assert_eq!(neighbors.sample(&[1], &Device::flex()).events, [1, 2]);
    assert_eq!(neighbors.sample(&[], &Device::flex()).adjacency.dims(), [0, 0]);
    let mut none = LastNeighbors::new(3, 0);
    none.insert(&events, 0..3);
    assert_eq!(none.sample(&[1], &Device::flex()).adjacency.dims(), [1, 0]);
}
