//! Sampled neighbours as a data loader of Burn.

use burn::data::dataloader::DataLoader;
use burn::tensor::{Device, Int, Tensor};
use sparse_tensor::data::{NeighborBatch, NeighborDataLoader, NeighborLoader, NeighborSamplerConfig, karate};

/// Features `[nodes, 3]`: the number of the node in every column.
type Data = (Tensor<2>, Tensor<1, Int>);
type Item = (Tensor<2>, Tensor<1, Int>, NeighborBatch);

const SEEDS: [usize; 10] = [33, 0, 5, 9, 20, 31, 7, 2, 14, 26];

fn seeds() -> NeighborLoader {
    let sampler = NeighborSamplerConfig::new(vec![2, 2]).with_seed(4).init(&karate(&Device::flex()).adjacency);
    NeighborLoader::new(sampler, &SEEDS, 4).unwrap().with_seed(9)
}

fn loader_of(seeds: NeighborLoader) -> NeighborDataLoader<Data, Item> {
    let ids = Tensor::<1, Int>::arange(0..34, &Device::flex());
    let data = (ids.clone().float().unsqueeze_dim::<2>(1).expand([34, 3]), ids);
    NeighborDataLoader::new(seeds, data, |(x, ids), batch| {
        (batch.features(x.clone()), batch.labels(ids.clone()), batch)
    })
}

fn numbers<const D: usize>(tensor: Tensor<D, Int>) -> Vec<usize> {
    tensor.into_data().iter::<i64>().map(|number| number as usize).collect()
}

/// The nodes of each batch, after a check that features and labels are those of its nodes.
fn nodes(loader: &dyn DataLoader<Item>) -> Vec<Vec<usize>> {
    let read = |item: Item| {
        let (x, labels, batch) = item;
        let ids = batch.nodes().ids().to_vec();
        assert_eq!(numbers(x.narrow(1, 0, 1).int()), ids);
        assert_eq!(numbers(labels), ids[..batch.seeds().len()]);
        ids
    };
    loader.iter().map(|item| read(item.unwrap())).collect()
}

fn drawn(epoch: u64) -> Vec<Vec<usize>> {
    seeds().epoch(epoch).map(|batch| batch.nodes().ids().to_vec()).collect()
}

#[test]
fn each_iteration_is_the_next_epoch() {
    let loader = loader_of(seeds());
    let first = [nodes(&loader), nodes(&loader), nodes(&loader)];
    assert_eq!(first, [0, 1, 2].map(drawn));
    assert_ne!(first[0], first[1]);
    for workers in [0, 1, 3] {
        let resumed = loader_of(seeds().with_workers(workers)).with_epoch(2);
        assert_eq!([nodes(&resumed), nodes(&resumed)], [drawn(2), drawn(3)]);
    }
    let fixed = loader_of(seeds()).with_epoch(1).with_fixed_epoch();
    assert_eq!([nodes(&fixed), nodes(&fixed)], [drawn(1), drawn(1)]);
    // A copy counts by itself, from where the loader is.
    let copy = loader.to_device(&Device::flex());
    assert_eq!([nodes(&*copy), nodes(&*copy), nodes(&loader)], [drawn(3), drawn(4), drawn(3)]);
}

#[test]
fn progress_counts_seeds() {
    let progress = |loader: &dyn DataLoader<Item>| -> Vec<usize> {
        let mut batches = loader.iter();
        let mut counts = vec![batches.progress().items_processed];
        while batches.next().is_some() {
            counts.push(batches.progress().items_processed);
        }
        assert_eq!(batches.progress().items_total, loader.num_items());
        assert_eq!(*counts.last().unwrap(), loader.num_items());
        counts
    };
    let loader = loader_of(seeds());
    assert_eq!(progress(&loader), [0, 4, 8, 10]);
    assert_eq!(progress(&loader_of(seeds().with_drop_last(true))), [0, 4, 8]);
    assert_eq!(progress(&*loader.slice(2, 9)), [0, 4, 7]);
    // Past the end there is nothing.
    assert_eq!(progress(&*loader.slice(7, 50)), [0, 3]);
    assert_eq!(progress(&*loader.slice(20, 50)), [0]);
    let part = loader_of(seeds().with_shuffle(false)).slice(2, 9);
    let own: Vec<usize> = part.iter().flat_map(|item| numbers(item.unwrap().1)).collect();
    assert_eq!(own, SEEDS[2..9]);
}

#[test]
fn batches_have_the_autodiff_association_of_the_device() {
    let flex = Device::flex();
    // With gradient checkpointing they have none, and serve all the same.
    let checkpointing = flex.clone().autodiff().gradient_checkpointing();
    for (device, associated) in [(flex.clone().autodiff(), true), (checkpointing, false), (flex.clone(), false)] {
        let loader = loader_of(seeds()).to_device(&device);
        for item in loader.iter() {
            let (x, _, batch) = item.unwrap();
            assert_eq!((x.is_autodiff(), batch.blocks()[0].device().is_autodiff()), (associated, associated));
            if device.is_autodiff() {
                let weight = Tensor::<2>::ones([3, 2], &device).require_grad();
                let out = batch.blocks()[0].matmul((x * 0.01).matmul(weight.clone()).exp());
                let grad = weight.grad(&out.sum().backward()).unwrap();
                assert!(grad.sum().into_scalar::<f32>() > 0.0);
            }
        }
    }
    // And back off the tape: a loader made on an autodiff device validates on a plain one.
    let sampler = NeighborSamplerConfig::new(vec![2]).init(&karate(&flex.clone().autodiff()).adjacency);
    let seeds = NeighborLoader::new(sampler, &SEEDS, 4).unwrap();
    let data = Tensor::<2>::ones([34, 1], &flex.clone().autodiff()).require_grad();
    let loader = NeighborDataLoader::new(seeds, data, |x, batch| (batch.features(x.clone()), batch));
    for item in loader.to_device(&flex).iter() {
        let (x, batch) = item.unwrap();
        assert!(!x.is_autodiff() && !batch.blocks()[0].device().is_autodiff());
    }
}

#[test]
#[should_panic(expected = "the features must be")]
fn a_panic_of_a_worker_reaches_the_caller() {
    let loader = NeighborDataLoader::new(seeds(), Tensor::<2>::ones([3, 1], &Device::flex()), |x, batch| {
        assert_eq!(x.dims()[0], 34, "the features must be those of all nodes");
        batch.features(x.clone())
    });
    loader.iter().for_each(|item| drop(item.unwrap()));
}
