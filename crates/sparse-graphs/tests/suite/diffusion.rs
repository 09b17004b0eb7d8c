//! Graph diffusion against PyTorch Geometric.

use crate::cases::{all_close, device, find, graph};
use burn::tensor::{DType, Tensor};
use sparse_dev::told;
use sparse_tensor::CsrTensor;
use sparse_tensor::data::{Diffusion, KeepEdges, diffused, erdos_renyi, try_diffused};

#[test]
fn diffusion_is_that_of_pyg() {
    for name in ["undirected", "weighted", "directed"] {
        for (kind, diffusion) in [("page_rank", Diffusion::PageRank(0.15)), ("heat", Diffusion::Heat(3.0))] {
            for (rule, keep) in [("largest", KeepEdges::Largest(3)), ("at_least", KeepEdges::AtLeast(0.06))] {
                let id = format!("diffusion/{name}_{kind}_{rule}");
                let case = find(&id);
                let out = diffused(&graph(&case["graph"]), diffusion, keep);
                all_close(&id, out.to_dense(), &case["out"]["out"]);
            }
        }
    }
}

#[test]
fn rows_sum_to_1_in_f32_and_stay_among_those_that_are_reached() {
    let graph = erdos_renyi(300, 0.004, 3, &device()).unwrap();
    for diffusion in [Diffusion::PageRank(0.05), Diffusion::PageRank(1.0), Diffusion::Heat(100.0)] {
        let out = diffused(&graph, diffusion, KeepEdges::Largest(8));
        let sums: Vec<f32> = out.row_sums().into_data().iter().collect();
        assert!(sums.iter().all(|sum| (sum - 1.0).abs() < 1e-5), "{diffusion:?}: {sums:?}");
        assert!(out.values::<1>().into_data().iter::<f32>().all(|weight| weight > 0.0));
    }
    // A walk that ends at once, and a graph without edges.
    let none = CsrTensor::<2>::zeros([3, 3], &device());
    for out in [
        diffused(&none, Diffusion::Heat(2.0), KeepEdges::AtLeast(0.5)),
        diffused(
            &CsrTensor::<2>::from_dense(Tensor::ones([3, 3], &device())),
            Diffusion::PageRank(1.0),
            KeepEdges::Largest(2),
        ),
    ] {
        assert_eq!(out.to_triplets::<f32>(), (vec![0, 1, 2], vec![0, 1, 2], vec![1.0; 3]));
    }
    let empty = CsrTensor::<2>::zeros([0, 0], (&device(), DType::F64));
    let out = diffused(&empty, Diffusion::PageRank(0.1), KeepEdges::Largest(1));
    assert_eq!((out.dims(), out.nnz(), out.dtype()), ([0, 0], 0, DType::F64));
}

#[test]
fn diffusions_that_mean_nothing_are_errors() {
    let graph = CsrTensor::<2>::from_dense(Tensor::ones([2, 2], &device()));
    let refused = |diffusion, keep| told(try_diffused(&graph, diffusion, keep));
    for (diffusion, keep, message) in [
        (Diffusion::PageRank(0.0), KeepEdges::Largest(1), "alpha must be above 0 and at most 1, got 0"),
        (Diffusion::PageRank(1.5), KeepEdges::Largest(1), "alpha must be above 0 and at most 1, got 1.5"),
        (Diffusion::Heat(f64::NAN), KeepEdges::Largest(1), "t must be above 0 and at most 100, got NaN"),
        (Diffusion::Heat(1.0), KeepEdges::Largest(0), "an edge of a row must be kept, got 0"),
    ] {
        let told = refused(diffusion, keep);
        assert!(told.ends_with(message), "{told}");
    }
    assert!(refused(Diffusion::Heat(1.0), KeepEdges::AtLeast(-1.0)).contains("the least weight must be above 0"));
    let run =
        |graph: &CsrTensor<2>| try_diffused(graph, Diffusion::Heat(1.0), KeepEdges::Largest(1)).unwrap_err().kind();
    assert_eq!(run(&CsrTensor::zeros([2, 3], &device())), "shape_mismatch");
    assert_eq!(run(&(&graph * -1.0)), "invalid");
    assert_eq!(run(&(&graph * f64::NAN)), "invalid");
}
