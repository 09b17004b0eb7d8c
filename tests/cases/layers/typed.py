"""Writes what PyTorch Geometric computes on edges between nodes of two kinds, in f64: typed.jsonl, one case a line.

    python tests/cases/layers/typed.py

The format is that of more.py, next to this file.
"""
import json

import torch
import torch_geometric.nn as gnn

from more import CASES, HERE, Listed, biased, bipartite, case, directed, linear, random, undirected

def pairs():
    """Layers with targets of another width than sources."""
    graph = bipartite()
    inputs = {"x": random(5, 3), "target": random(4, 4, seed=3)}

    def add(name, layer, params, **more):
        case(f"{name}/typed", lambda x, target, **more: layer((x, target), graph.edge_index, *more.values()), params,
             [graph], **inputs, **more)

    layer = gnn.SAGEConv((3, 4), 2)
    add("sage", layer, linear("neighbours", layer.lin_l) | linear("root", layer.lin_r))
    e = random(graph.size, 2, seed=5)
    options = {"heads": 2, "add_self_loops": False, "edge_dim": 2, "residual": True}
    layer = gnn.GATConv((3, 4), 2, **options)
    params = linear("linear", layer.lin_src) | linear("target_linear", layer.lin_dst) | linear("residual", layer.res)
    params |= {"source": layer.att_src, "target": layer.att_dst, "bias": layer.bias}
    add("gat", layer, params | linear("edge", layer.lin_edge) | {"edge_attention": layer.att_edge}, e=e)
    layer = gnn.GATv2Conv((3, 4), 2, **options)
    params = linear("source", layer.lin_l) | linear("target", layer.lin_r) | linear("residual", layer.res)
    add("gatv2", layer, params | linear("edge", layer.lin_edge) | {"attention": layer.att, "bias": layer.bias}, e=e)
    layer = gnn.TransformerConv((3, 4), 2, heads=2, beta=True)
    params = linear("query", layer.lin_query) | linear("key", layer.lin_key) | linear("value", layer.lin_value)
    add("transformer", layer, params | linear("root", layer.lin_skip) | linear("gate", layer.lin_beta))


def normalization():
    """The block of a symmetric graph with the nodes of both kinds."""
    graph = bipartite(True)
    layer = gnn.GCNConv(3, 2, add_self_loops=False)
    # Sources are nodes 0 to 4, targets 5 to 8.
    there = graph.edge_index + torch.tensor([[0], [5]])
    index = torch.cat([there, there.flip(0)], 1)

    def forward(x):
        x = torch.cat([x, torch.zeros(4, 3)])
        return layer(x, index, torch.cat([graph.values, graph.values]))[5:]

    case("gcn/typed", forward, {"weight": (layer.lin.weight, True), "bias": layer.bias}, [graph], True,
         x=random(5, 3))


def relations():
    def params(layer):
        return biased({"weight": layer.weight, "root": layer.root}, layer.bias)

    def joined(graphs):
        kind = torch.cat([torch.full([graph.size], at) for at, graph in enumerate(graphs)])
        return torch.cat([graph.edge_index for graph in graphs], 1), kind

    pair = [bipartite(), Listed([[1], [1, 3], [], [2]], 5, False)]
    layer = gnn.RGCNConv((3, 4), 2, 2)
    case("rgcn/typed", lambda x, target: layer((x, target), *joined(pair)), params(layer), pair, x=random(5, 3),
         target=random(4, 4, seed=3))
    few = [directed(True, False), undirected(False)]
    layer = gnn.RGCNConv(4, 2, 2, num_blocks=2)
    case("rgcn/blocks", lambda x: layer(x, *joined(few)), params(layer), few, x=random(6, 4))


if __name__ == "__main__":
    for make_some in [pairs, normalization, relations]:
        torch.manual_seed(0)
        make_some()
    path = HERE / "typed.jsonl"
    path.write_text("".join(json.dumps(one, separators=(",", ":")) + "\n" for one in CASES))
    print(f"{len(CASES)} cases, {path.stat().st_size} bytes")
