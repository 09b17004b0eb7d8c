//! Events in time: the memory of TGN and what is around it, against PyTorch Geometric.

use super::case::{check, data, device, find, kind};
use burn::tensor::{DType, Device, Tensor};
use sparse_tensor::Result;
use sparse_tensor::nn::{TemporalEvents, TgnMemoryConfig};

const SOURCES: [usize; 10] = [0, 1, 0, 2, 1, 0, 0, 2, 1, 2];
const TARGETS: [usize; 10] = [3, 3, 4, 3, 5, 4, 3, 4, 5, 5];
const TIMES: [i64; 10] = [1, 2, 4, 5, 8, 9, 12, 15, 16, 20];

/// Events between three users and four items, of which the last has none.
fn events(messages: Tensor<2>) -> TemporalEvents {
    TemporalEvents::new(7, SOURCES.to_vec(), TARGETS.to_vec(), TIMES.to_vec(), messages).unwrap()
}

fn told<T>(result: Result<T>, parts: &[&str]) {
    let Err(trouble) = result else { panic!("no error: {parts:?}") };
    let text = trouble.to_string();
    assert!(trouble.kind() == "invalid" && parts.iter().all(|part| text.contains(part)), "{text}: {parts:?}");
}

#[test]
fn tgn_memory() {
    let messages = Tensor::<2>::from_data(data(&find("tgn/messages")["messages"]), (&Device::flex(), DType::F64));
    let events = events(messages);
    let all: Vec<usize> = (0..7).collect();
    for mean in [false, true] {
        let config = TgnMemoryConfig::new(2, 3, 3).with_mean(mean);
        let id = if mean { "tgn/mean" } else { "tgn/last" };
        check(id, config.init(&device()), |memory, _| {
            let mut state = memory.state(7);
            memory.update(&mut state, &events, 0..3);
            memory.update(&mut state, &events, 3..6);
            let read = memory.forward(&state, &events, &all);
            assert_eq!(state.last_times(), [9, 8, 5, 5, 9, 8, 0]);
            // Evaluation: nothing waits.
            memory.settle(&mut state, &events);
            for range in [6..8, 8..10] {
                memory.update(&mut state, &events, range);
                memory.settle(&mut state, &events);
            }
            let settled = memory.forward(&state, &events, &all);
            assert_eq!(settled.clone().into_data(), state.memory().clone().into_data());
            let times = Tensor::from_data([0.0, 1.5, -7.0], (&device(), DType::F64));
            Tensor::cat(vec![read, settled, memory.encode_times(times)], 0)
        });
    }
}

#[test]
fn events_are_split_by_the_quantiles_of_numpy() {
    let case = find("events/split");
    let list = |value: &serde_json::Value| value.as_array().unwrap().clone();
    let times: Vec<i64> = list(&case["times"]).iter().map(|time| time.as_i64().unwrap()).collect();
    let zeros = vec![0; times.len()];
    let messages = Tensor::<2>::zeros([times.len(), 1], &Device::flex());
    let events = TemporalEvents::new(1, zeros.clone(), zeros, times, messages).unwrap();
    for (shares, want) in list(&case["shares"]).iter().zip(list(&case["out"])) {
        let [val, test] = [0, 1].map(|at| shares[at].as_f64().unwrap());
        let got = events.split(val, test).map(|range| range.len() as u64);
        assert_eq!(got.to_vec(), list(&want).iter().map(|own| own.as_u64().unwrap()).collect::<Vec<_>>(), "{shares}");
    }
    let none = TemporalEvents::new(1, vec![], vec![], vec![], Tensor::zeros([0, 1], &Device::flex())).unwrap();
    assert_eq!((none.split(0.2, 0.2), none.random_targets(3, 0)), ([0..0, 0..0, 0..0], vec![]));
}

#[test]
fn wrong_events_are_errors() {
    let ones = |rows: usize, cols: usize| Tensor::<2>::ones([rows, cols], &Device::flex());
    let make = |sources: &[usize], targets: &[usize], times: &[i64], rows: usize| {
        TemporalEvents::new(3, sources.to_vec(), targets.to_vec(), times.to_vec(), ones(rows, 2))
    };
    assert_eq!(kind(make(&[0, 1], &[2], &[1, 2], 2)), "length_mismatch");
    assert_eq!(kind(make(&[0, 1], &[2, 2], &[1], 2)), "length_mismatch");
    assert_eq!(kind(make(&[0, 1], &[2, 2], &[1, 2], 3)), "length_mismatch");
    assert_eq!(kind(make(&[0, 3], &[2, 2], &[1, 2], 2)), "index_out_of_range");
    assert_eq!(kind(make(&[0, 1], &[2, 3], &[1, 2], 2)), "index_out_of_range");
    told(make(&[0, 1, 0], &[2, 2, 1], &[1, 5, 4], 3), &["backwards", "got 4 after 5", "event 2"]);
    told(events(ones(10, 2)).try_split(0.6, 0.5), &["0.6 and 0.5"]);
    told(events(ones(10, 2)).try_split(f64::NAN, 0.5), &["NaN"]);

    told(TgnMemoryConfig::new(2, 0, 3).try_init(&Device::flex()), &["d_memory", "0 and 3"]);
    let memory = TgnMemoryConfig::new(2, 4, 3).init(&Device::flex());
    let (mut state, all) = (memory.state(7), events(ones(10, 2)));
    assert_eq!(kind(memory.try_forward(&state, &all, &[7])), "index_out_of_range");
    assert_eq!(kind(memory.try_forward(&state, &events(ones(10, 3)), &[0])), "shape_mismatch");
    assert_eq!(kind(memory.try_forward(&state, &events(ones(10, 2).cast(DType::F64)), &[0])), "dtype_mismatch");
    assert_eq!(
        kind(TgnMemoryConfig::new(2, 5, 3).init(&Device::flex()).try_settle(&mut state, &all)),
        "shape_mismatch"
    );
    told(memory.try_update(&mut memory.state(6), &all, 0..1), &["6 nodes", "of 7"]);
    told(memory.try_update(&mut state, &all, 5..11), &["[0, 10)", "5..11"]);
    memory.update(&mut state, &all, 0..5);
    let before = state.memory().clone().into_data();
    told(memory.try_update(&mut state, &all, 4..6), &["backwards", "the first 5", "4..6"]);
    let fewer = TemporalEvents::new(7, vec![0], vec![1], vec![1], ones(1, 2)).unwrap();
    told(memory.try_forward(&state, &fewer, &[0]), &["5 events", "got 1"]);
    assert_eq!((state.memory().clone().into_data(), state.last_times()[4]), (before, 4));
    // No nodes, no events, and a node twice; an event of a node with itself counts once.
    assert_eq!(memory.forward(&state, &all, &[]).dims(), [0, 4]);
    memory.update(&mut state, &all, 5..5);
    let twice = memory.forward(&state, &all, &[3, 3]);
    assert_eq!(twice.clone().narrow(0, 0, 1).into_data(), twice.narrow(0, 1, 1).into_data());
    let own = TemporalEvents::new(1, vec![0], vec![0], vec![3], ones(1, 2)).unwrap();
    let mut state = memory.state(1);
    memory.update(&mut state, &own, 0..1);
    assert_eq!((memory.forward(&state, &own, &[0]).dims(), state.last_times()), ([1, 4], &[3][..]));
}
