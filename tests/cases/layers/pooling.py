"""Writes what PyTorch Geometric computes where graphs become coarser, in f64: pooling.jsonl, one case a line.

    python tests/cases/layers/pooling.py

The format is that of more.py, next to this file. What a case gives is a column: features, adjacency, then losses.
"""
import json

import torch
import torch_geometric.nn as gnn
from torch_geometric.nn import MLP, aggr as aggrs
from torch_geometric.nn.conv import spline_conv
from torch_geometric.utils import to_dense_adj, to_dense_batch
from torch_spline_conv import spline_basis, spline_weighting

from more import CASES, GRU, HERE, Listed, bipartite, case, directed, linear, packed, random, recurrent

# Three graphs, of four, three and one nodes, whose nodes ascend.
IDS = torch.tensor([0, 0, 0, 0, 1, 1, 1, 2])


def batch(weights=True):
    return Listed([[1, 2], [0, 2, 3], [0, 1], [1], [5], [4, 6], [5], []], 8, weights, symmetric=True)


def column(*parts):
    return torch.cat([part.reshape(-1) for part in parts])


def dense(graph, x):
    """As this crate has it: the rows of the adjacency are targets."""
    return *to_dense_batch(x, IDS), to_dense_adj(graph.edge_index, IDS, graph.values).transpose(1, 2)


def batches():
    graph = batch()

    def forward(x):
        rows, mask, adjacency = dense(graph, x)
        return (adjacency @ rows)[mask]

    case("dense_batch/product", forward, {}, [graph], True, x=random(8, 2))


def scored():
    for name, options in [("ratio", {}), ("multiplied", {"ratio": 0.7, "multiplier": 2.0}),
                          ("least", {"min_score": 0.3})]:
        graph = batch(False)
        layer = gnn.SAGPooling(3, **options)
        params = {"pool.weight": layer.select.weight} | linear("neighbours", layer.gnn.lin_rel)
        params |= linear("root", layer.gnn.lin_root)
        steps = 0 if name == "least" else 5

        def forward(x):
            pooled = layer(x, graph.edge_index, batch=IDS)
            # With a loss of the scores, as a program has that trains attention.
            return torch.cat([pooled[0], pooled[5].unsqueeze(1)], 1)

        case(f"sag_pool/{name}", forward, params, [graph], steps=steps, x=random(8, 3))
    graph = batch(False)
    pool = gnn.TopKPooling(2)
    case("top_k/by", lambda x, by: pool(x, graph.edge_index, batch=IDS, attn=by)[0], {"weight": pool.select.weight},
         [graph], x=random(8, 3), by=random(8, 2, seed=4))


def assigned():
    """Graphs of one node have no edges: PyG gives NaN for them in two of the pools."""
    for name, pool in [("diff", gnn.dense_diff_pool), ("mincut", gnn.dense_mincut_pool)]:
        graph = batch()
        few = 3 if name == "diff" else 2

        def forward(x, s):
            rows, mask, adjacency = dense(graph, x)
            scores, _ = to_dense_batch(s, IDS)
            return column(*pool(rows[:few], adjacency[:few], scores[:few], mask[:few]))

        case(f"{name}_pool/masked", forward, {}, [graph], True, x=random(8, 2), s=random(8, 3, seed=2))
    graph = batch()
    layer = gnn.DMoNPooling(2, 3)

    def forward(x):
        rows, mask, adjacency = dense(graph, x)
        # One graph at a time: PyG divides the sizes of each graph's clusters by the nodes of all graphs of a batch.
        parts = zip(*(layer(rows[g:g + 1], adjacency[g:g + 1], mask[g:g + 1])[1:] for g in range(2)))
        return column(*(torch.cat(part) if part[0].dim() else torch.stack(part).mean() for part in parts))

    case("dmon_pool/masked", forward, linear("linear", layer.mlp.lins[0]), [graph], True, x=random(8, 2))


def memory():
    for name, options in [("plain", {}), ("tau", {"tau": 2.5})]:
        layer = gnn.MemPooling(3, 2, heads=2, num_clusters=2, **options)
        params = {"keys": layer.k, "heads": layer.conv.weight} | linear("linear", layer.lin)

        def forward(x):
            pooled, shares = layer(x, IDS)
            return column(pooled, gnn.MemPooling.kl_loss(shares))

        case(f"memory_pool/{name}", forward, params, x=random(8, 3))


def dna():
    """On the outputs of three layers."""
    for name, options in [("plain", {}), ("heads", {"heads": 2, "groups": 2}),
                          ("groups", {"heads": 1, "groups": 4, "bias": False}), ("bare", {"normalize": False})]:
        graph = batch()
        layer = gnn.DNAConv(4, **options)
        params = {}
        for part, own in [("query", "lin_q"), ("key", "lin_k"), ("value", "lin_v")]:
            one = getattr(layer.multi_head, own)
            params |= {f"{part}.weight": one.weight} | ({} if one.bias is None else {f"{part}.bias": one.bias})
        case(f"dna/{name}", lambda first, second, third: layer(
            torch.stack([first, second, third], 1), graph.edge_index, graph.values), params, [graph], True,
            first=random(8, 4), second=random(8, 4, seed=2), third=random(8, 4, seed=3))


def splines():
    """PyTorch Geometric takes the splines from pyg-lib, whose functions are those of torch-spline-conv."""
    spline_conv.spline_basis, spline_conv.spline_weighting = spline_basis, spline_weighting
    places = lambda count, dims: random(count, dims, seed=5).sigmoid().index_put(
        (torch.tensor([0, 1]),), torch.tensor([[0.0], [1.0]]))
    for name, sizes, options in [("mean", [3], {}), ("squares", [3, 4], {"degree": 2, "aggr": "add"}),
                                 ("closed", [4, 3], {"degree": 3, "is_open_spline": [True, False]}),
                                 ("bipartite", [2], {"aggr": "max", "bias": False})]:
        graph = bipartite() if name == "bipartite" else directed(weights=False)
        layer = gnn.SplineConv((3, 4) if name == "bipartite" else 3, 2, len(sizes), sizes, **options)
        params = {"weight": layer.weight} | linear("root", layer.lin)
        params |= {} if layer.bias is None else {"bias": layer.bias}
        inputs = {"x": random(graph.shape[1], 3), "e": places(graph.size, len(sizes))}
        if name == "bipartite":
            inputs["target"] = random(4, 4, seed=2)

        def forward(x, e, target=None):
            return layer(x if target is None else (x, target), graph.edge_index, e)

        case(f"spline/{name}", forward, params, [graph], **inputs)


def readouts():
    graph = Listed([[1, 2, 4], [0, 2], [1], [0, 1, 2, 4, 5], [], []], 6, False)
    messages = random(graph.size, 2, seed=11)
    for k in [2, 7]:
        aggr = aggrs.SortAggregation(k)
        case(f"sort/{k}", lambda messages: aggr(messages, graph.rows, dim_size=6), {}, [graph], messages=messages)
    layer = aggrs.LCMAggregation(2, 2, project=False)
    params, call = packed(layer, recurrent("parts.0.gru", "gru_cell.{}", GRU))
    case("tree", lambda messages: call(messages, graph.rows, dim_size=6), params, [graph], messages=messages)


def networks():
    for name, options in [("act_first", {"act_first": True}), ("active", {"plain_last": False}),
                          ("bare", {"plain_last": False, "norm": None, "bias": False})]:
        layer = MLP([3, 4, 2], **options)
        params = {}
        for at, one in enumerate(layer.lins):
            params |= linear(f"linears.{at}", one)
        for at, one in enumerate(layer.norms):
            if hasattr(one, "module"):
                params |= {f"norms.{at}.gamma": one.module.weight, f"norms.{at}.beta": one.module.bias}
        case(f"mlp/{name}", lambda x: layer(x), params, seed=2, x=random(8, 3))


def u_net():
    graph = batch()
    layer = gnn.GraphUNet(3, 4, 2, depth=2)
    params = {}
    for path, convs in [("down", layer.down_convs), ("up", layer.up_convs)]:
        for at, conv in enumerate(convs):
            params |= {f"{path}.{at}.weight": (conv.lin.weight, True), f"{path}.{at}.bias": conv.bias}
    params |= {f"pools.{at}.weight": pool.select.weight for at, pool in enumerate(layer.pools)}
    case("u_net", lambda x: layer(x, graph.edge_index, IDS, graph.values), params, [graph], True, steps=0,
         x=random(8, 3))


if __name__ == "__main__":
    for make_some in [batches, scored, assigned, memory, dna, splines, readouts, networks, u_net]:
        torch.manual_seed(0)
        make_some()
    path = HERE / "pooling.jsonl"
    path.write_text("".join(json.dumps(one, separators=(",", ":")) + "\n" for one in CASES))
    print(f"{len(CASES)} cases, {path.stat().st_size} bytes")
