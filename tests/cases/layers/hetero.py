"""Writes what PyTorch Geometric computes on nodes and edges of several types, in f64: hetero.jsonl, one case a line.

    python tests/cases/layers/hetero.py

The format is that of more.py, next to this file. A result for several types of nodes has their rows below each other,
in the order of the names of the types.
"""
import json

import torch
import torch_geometric.nn as gnn

from more import CASES, HERE, Listed, biased, bipartite, case, directed, linear, random

WRITES, CITES, WRITTEN = ("author", "writes", "paper"), ("paper", "cites", "paper"), ("paper", "rev_writes", "author")
TYPES = [WRITES, CITES, WRITTEN]
# Paper 0 has no author, author 4 no paper.
INPUTS = {"author": random(5, 3), "paper": random(4, 4, seed=3)}


def graphs():
    cites = Listed([[1, 3], [0], [], [0, 1, 2]], 4, False)
    written = Listed([[1, 3], [3], [1], [3], []], 4, False)
    return [bipartite(), cites, written]


def both(layer, given):
    """The layer on all types, as one matrix."""
    edges = {kind: graph.edge_index for kind, graph in zip(TYPES, given)}

    def forward(author, paper):
        out = layer({"author": author, "paper": paper}, edges)
        return torch.cat([out[name] for name in sorted(out)])

    return forward


def joined():
    for join in ["sum", "mean", "max", "min", "cat"]:
        given = graphs()
        sage, back = gnn.SAGEConv((3, 4), 2), gnn.SAGEConv((4, 3), 2 if join != "cat" else 4)
        gat = gnn.GATConv(4, 2)
        layer = gnn.HeteroConv(dict(zip(TYPES, [sage, gat, back])), aggr=join)
        params = {}
        for at, one in [(0, sage), (2, back)]:
            params |= linear(f"layers.{at}.Sage.neighbours", one.lin_l) | linear(f"layers.{at}.Sage.root", one.lin_r)
        path = "layers.1.Gat"
        params |= linear(f"{path}.linear", gat.lin) | {f"{path}.source": gat.att_src, f"{path}.target": gat.att_dst}
        case(f"hetero/{join}", both(layer, given), params | {f"{path}.bias": gat.bias}, given, **INPUTS)


def han():
    for heads in [1, 2]:
        given = graphs()
        layer = gnn.HANConv({"author": 3, "paper": 4}, 4, (["author", "paper"], TYPES), heads=heads)
        params = {"query": layer.q} | linear("key", layer.k_lin)
        for at, name in enumerate(["author", "paper"]):
            params |= linear(f"projections.{at}", layer.proj[name])
        for at, kind in enumerate(TYPES):
            params |= {f"source.{at}": layer.lin_src["__".join(kind)], f"target.{at}": layer.lin_dst["__".join(kind)]}
        case(f"han/{heads}", both(layer, given), params, given, **INPUTS)


def hgt():
    for heads in [1, 2]:
        given = graphs()
        layer = gnn.HGTConv({"author": 3, "paper": 4}, 4, (["author", "paper"], TYPES), heads=heads)
        # Only papers have as many features as results: nothing reads the skip of authors.
        params = {"skip.1": layer.skip["paper"]}
        for at, name in enumerate(["author", "paper"]):
            params |= linear(f"key_query_value.{at}", layer.kqv_lin.lins[name])
            params |= linear(f"output.{at}", layer.out_lin.lins[name])
        width = 4 // heads
        own = {f"{name}.{at}": torch.nn.Parameter(torch.zeros(heads, width, width))
               for name in ["key", "value"] for at in range(3)}
        for at, kind in enumerate(TYPES):
            params |= {f"prior.{at}": layer.p_rel["__".join(kind)]}
        # PyG stacks the matrices by head, then by type.
        stack = lambda name: torch.stack([own[f"{name}.{at}"] for at in range(3)], 1).reshape(-1, width, width)

        def call(*args, layer=layer, stack=stack):
            joined = {"k_rel.weight": stack("key"), "v_rel.weight": stack("value")}
            return torch.func.functional_call(layer, joined, args)

        case(f"hgt/{heads}", both(call, given), params | own, given, **INPUTS)


def rgat():
    options = {
        "plain": {}, "heads": {"heads": 2}, "mean": {"heads": 2, "concat": False, "bias": False},
        "within": {"heads": 2, "attention_mechanism": "within-relation"},
        "multiplied": {"heads": 2, "attention_mode": "multiplicative-self-attention"},
        "bases": {"num_bases": 2},
    }
    for name, more in options.items():
        # The second relation has other edges; the third has none.
        other, none = Listed([[3], [0, 5], [], [2], [1, 2], []], 6, False), Listed([[]] * 6, 6, False)
        given = [directed(True, False), other, none]
        index = torch.cat([graph.edge_index for graph in given], 1).long()
        kind = torch.cat([torch.full([graph.size], at) for at, graph in enumerate(given)])
        layer = gnn.RGATConv(3, 2, 3, **more)
        params = {"query": layer.q, "key": layer.k}
        if "num_bases" in more:
            params |= {"weight": layer.basis, "combination": layer.att}
        else:
            params |= {"weight": layer.weight}
        case(f"rgat/{name}", lambda x: layer(x, index, kind), biased(params, layer.bias), given, x=random(6, 3))


if __name__ == "__main__":
    for make_some in [joined, han, hgt, rgat]:
        torch.manual_seed(0)
        make_some()
    path = HERE / "hetero.jsonl"
    path.write_text("".join(json.dumps(one, separators=(",", ":")) + "\n" for one in CASES))
    print(f"{len(CASES)} cases, {path.stat().st_size} bytes")
