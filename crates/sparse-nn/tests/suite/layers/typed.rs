//! Edges between nodes of two kinds: layers against PyTorch Geometric, and what they refuse.

use super::case::{check, device, kind};
use burn::tensor::{Device, Tensor};
use sparse_tensor::CsrTensor;
use sparse_tensor::nn::{
    Edges, GatConvConfig, Gatv2ConvConfig, GcnConvConfig, RgcnConvConfig, SageConvConfig, TransformerConvConfig,
    bipartite_normalization, symmetric_normalization,
};

#[test]
fn targets_may_have_another_width_than_sources() {
    check("sage/typed", SageConvConfig::new(3, 2).with_d_target(Some(4)).init(&device()), |layer, inputs| {
        layer.forward_bipartite(inputs.graph(), inputs.x(), inputs.tensor("target"))
    });
    let gat = GatConvConfig::new(3, 2).with_heads(2).with_d_target(Some(4)).with_d_edge(Some(2));
    check("gat/typed", gat.with_self_loops(false).with_residual(true).init(&device()), |layer, inputs| {
        let edges = Some(inputs.tensor("e"));
        layer.forward_bipartite(inputs.graph(), inputs.x(), inputs.tensor("target"), edges)
    });
    let gatv2 = Gatv2ConvConfig::new(3, 2).with_heads(2).with_d_target(Some(4)).with_d_edge(Some(2));
    check("gatv2/typed", gatv2.with_self_loops(false).with_residual(true).init(&device()), |layer, inputs| {
        let edges = Some(inputs.tensor("e"));
        layer.forward_bipartite(inputs.graph(), inputs.x(), inputs.tensor("target"), edges)
    });
    let transformer = TransformerConvConfig::new(3, 2).with_heads(2).with_d_target(Some(4)).with_beta(true);
    check("transformer/typed", transformer.init(&device()), |layer, inputs| {
        layer.forward_bipartite(inputs.graph(), inputs.x(), inputs.tensor("target"), None)
    });
    check("rgcn/typed", RgcnConvConfig::new(3, 2, 2).with_d_target(Some(4)).init(&device()), |layer, inputs| {
        layer.forward_bipartite(&inputs.graphs, inputs.x(), inputs.tensor("target"))
    });
}

#[test]
fn a_bipartite_graph_is_normalised_as_the_symmetric_one_of_both_kinds() {
    check("gcn/typed", GcnConvConfig::new(3, 2).init(&device()), |layer, inputs| {
        layer.forward(&bipartite_normalization(inputs.graph()), inputs.x())
    });
    // A square symmetric matrix has the same degrees on both sides.
    let a =
        CsrTensor::<2>::from_dense(Tensor::from_floats([[0.0, 2.0, 1.0], [2.0, 0.0, 0.0], [1.0, 0.0, 0.0]], &flex()));
    let [own, symmetric] =
        [bipartite_normalization(&a), symmetric_normalization(&a, false)].map(|a| list(a.to_dense()));
    assert_eq!(own, symmetric);
    // Nodes without edges, and graphs without nodes.
    let none = |rows, cols| CsrTensor::<2>::zeros([rows, cols], (&flex(), burn::tensor::DType::F32));
    for shape in [[2, 3], [0, 3], [2, 0]] {
        let out = bipartite_normalization(&none(shape[0], shape[1]));
        assert_eq!((out.dims(), out.nnz()), (shape, 0));
    }
    let filled = a.with_fill(sparse_tensor::Fill::scalar(1.0));
    assert_eq!(kind(sparse_tensor::nn::try_bipartite_normalization(&filled)), "fill_mismatch");
}

#[test]
fn weights_of_relations_may_be_block_diagonal() {
    check("rgcn/blocks", RgcnConvConfig::new(4, 2, 2).with_blocks(Some(2)).init(&device()), |layer, inputs| {
        layer.forward(&inputs.graphs, inputs.x())
    });
    // One block is the full weight.
    let full = RgcnConvConfig::new(4, 2, 2).init(&flex());
    let mut one = RgcnConvConfig::new(4, 2, 2).with_blocks(Some(1)).init(&flex());
    (one.weight, one.root) = (full.weight.clone(), full.root.clone());
    let graphs = [dense(&[[1.0, 1.0], [0.0, 1.0]]), dense(&[[0.0, 1.0], [1.0, 0.0]])];
    let x = Tensor::<2>::from_floats([[1.0, -2.0, 0.5, 3.0], [0.0, 1.0, 2.0, -1.0]], &flex());
    assert_eq!(list(one.forward(&graphs, x.clone())), list(full.forward(&graphs, x)));
}

/// The parts of each type of targets against one graph with all nodes.
#[test]
fn relations_of_several_types_are_those_of_the_graph_of_all_nodes() {
    let layer = RgcnConvConfig::new(2, 3, 3).init(&flex());
    let [writes, cites] = [dense(&[[1.0, 0.0, 2.0], [0.0, 0.0, 0.5]]), dense(&[[0.0, 1.0], [0.0, 0.0]])];
    let written = writes.transpose();
    let papers = Tensor::<2>::from_floats([[1.0, 2.0], [-1.0, 0.5]], &flex());
    let authors = Tensor::<2>::from_floats([[0.0, 1.0], [3.0, -2.0], [1.5, 0.0]], &flex());
    let of_papers = layer.forward_parts(&[
        (2, Edges::bipartite(&writes, authors.clone(), papers.clone())),
        (0, Edges::new(&cites, papers.clone())),
    ]);
    let of_authors = layer.forward_parts(&[(1, Edges::bipartite(&written, papers.clone(), authors.clone()))]);
    // Papers are nodes 0 and 1, authors nodes 2 to 4.
    let all = |rows: usize, cols: usize, part: &CsrTensor<2>| {
        let [height, width] = part.dims();
        let whole = Tensor::<2>::zeros([5, 5], &flex());
        let part = part.to_dense();
        CsrTensor::from_dense(whole.slice_assign([rows..rows + height, cols..cols + width], part))
    };
    let graphs = [all(0, 0, &cites), all(2, 0, &written), all(0, 2, &writes)];
    let together = list(layer.forward(&graphs, Tensor::cat(vec![papers, authors], 0)));
    for (own, expected) in [list(of_papers), list(of_authors)].concat().iter().zip(together) {
        assert!((own - expected).abs() < 1e-5, "{own} and {expected}");
    }
}

#[test]
fn what_fits_no_second_kind_of_nodes_is_refused() {
    let device = flex();
    let text = |error: sparse_tensor::SparseError| error.to_string();
    let gat = GatConvConfig::new(3, 2).with_d_target(Some(4));
    let loops = text(gat.try_init(&device).unwrap_err());
    assert_eq!(
        loops,
        "GatConvConfig::init: use with_self_loops(false): targets with another number of features are no sources"
    );
    // Targets of the same width, with a weight of their own, can be sources.
    assert!(GatConvConfig::new(3, 2).with_d_target(Some(3)).init(&device).target_linear.is_some());
    let gatv2 = || Gatv2ConvConfig::new(3, 2).with_d_target(Some(4));
    assert_eq!(kind(gatv2().try_init(&device)), "invalid");
    assert_eq!(kind(gatv2().with_self_loops(false).try_init(&device)), "ok");
    assert_eq!(kind(gatv2().with_self_loops(false).with_share_weights(true).try_init(&device)), "invalid");

    let rgcn = || RgcnConvConfig::new(4, 2, 2);
    for config in [
        rgcn().with_blocks(Some(0)),
        rgcn().with_blocks(Some(4)),
        rgcn().with_blocks(Some(3)),
        rgcn().with_blocks(Some(2)).with_bases(Some(2)),
    ] {
        assert_eq!(kind(config.try_init(&device)), "invalid", "{config:?}");
    }
    let layer = rgcn().with_d_target(Some(3)).init(&device);
    let (a, x) = (dense(&[[1.0, 0.0], [0.0, 1.0]]), |width| Tensor::<2>::ones([2, width], &flex()));
    assert_eq!(kind(layer.try_forward_parts(&[])), "empty_input");
    let parts = |relation| [(relation, Edges::bipartite(&a, x(4), x(3)))];
    assert_eq!(kind(layer.try_forward_parts(&parts(1))), "ok");
    assert_eq!(kind(layer.try_forward_parts(&parts(2))), "index_out_of_range");
    let both = [a.clone(), a.clone()];
    assert_eq!(kind(layer.try_forward_bipartite(&both, x(4), x(4))), "shape_mismatch");
    assert_eq!(kind(layer.try_forward_bipartite(&both[..1], x(4), x(3))), "length_mismatch");
    // A layer with targets of another kind has no call for nodes of one kind.
    assert_eq!(kind(layer.try_forward(&both, x(4))), "shape_mismatch");
    // Other numbers of targets in the second part.
    let other = dense(&[[1.0, 1.0]]);
    let uneven = [(0, Edges::bipartite(&a, x(4), x(3))), (1, Edges::bipartite(&other, x(4), x(3).narrow(0, 0, 1)))];
    assert_eq!(kind(layer.try_forward_parts(&uneven)), "shape_mismatch");
    let sage = SageConvConfig::new(4, 2).with_d_target(Some(3)).init(&device);
    assert_eq!(kind(sage.try_forward_bipartite(&a, x(4), x(3))), "ok");
    assert_eq!(kind(sage.try_forward_bipartite(&a, x(4), x(4))), "shape_mismatch");
    let transformer = TransformerConvConfig::new(4, 2).with_d_target(Some(3)).init(&device);
    assert_eq!(kind(transformer.try_forward_bipartite(&a, x(4), x(4), None)), "shape_mismatch");
}

fn flex() -> Device {
    Device::flex()
}

fn dense<const N: usize>(rows: &[[f64; N]]) -> CsrTensor<2> {
    let flat: Vec<f64> = rows.concat();
    CsrTensor::from_dense(Tensor::<1>::from_floats(&flat[..], &flex()).reshape([rows.len(), N]))
}

fn list(x: Tensor<2>) -> Vec<f32> {
    x.into_data().iter::<f32>().collect()
}
