"""Writes what PyTorch Geometric and PyTorch compute with each layer, in f64: layers.jsonl, one case a line.

    python tests/cases/layers/make.py

Each case has a graph (rows are targets, columns are sources), inputs, the parameters by the path that they have in the
Burn module, and of the loss `mean((out - goal)^2)`: the output, the gradients, and the parameters and the output after
five steps of SGD with rate 0.1. Needs torch and torch_geometric; crates/sparse-nn/tests/suite/layers reads the file.
"""
import json, pathlib, warnings
import torch

warnings.filterwarnings("ignore")
from torch_geometric.nn import (
    APPNP, MLP, ChebConv, GATConv, GATv2Conv, GCNConv, GINConv, GraphNorm, JumpingKnowledge, RGCNConv, SAGEConv,
    TopKPooling, TransformerConv, global_add_pool, global_max_pool, global_mean_pool)
from torch_geometric.nn.aggr import AttentionalAggregation

torch.set_default_dtype(torch.float64)
RATE, STEPS = 0.1, 5
CASES = []


class Graph:
    """A directed graph in CSR order: `edge_index` has the sources first. The last node is isolated."""

    def __init__(self, nodes=7, targets=None, loops=False, seed=1, weights=True):
        generator = torch.Generator().manual_seed(seed)
        targets = targets or nodes
        mask = torch.rand(targets, nodes, generator=generator) < 0.4
        if targets == nodes:
            mask.fill_diagonal_(False)
            mask[-1, :], mask[:, -1] = False, False
            if loops:
                mask[1, 1] = mask[3, 3] = True
        else:
            mask[0, :] = False
        self.shape = [targets, nodes]
        rows, cols = mask.nonzero(as_tuple=True)
        self.edge_index = torch.stack([cols, rows])
        self.row_ptr = [0] + mask.sum(1).cumsum(0).tolist()
        values = torch.rand(rows.numel(), generator=generator) + 0.5 if weights else torch.ones(rows.numel())
        self.values = values.requires_grad_()

    def json(self):
        return {"shape": self.shape, "row_ptr": self.row_ptr, "col_idx": self.edge_index[0].tolist(),
                "values": self.values.tolist()}


def flat(tensor):
    tensor = tensor.detach()
    return {"shape": list(tensor.shape), "data": tensor.reshape(-1).tolist()}


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def linear(path, layer):
    """A linear map as Burn's `Linear` has it: the weight is transposed."""
    found = {f"{path}.weight": (layer.weight, True)}
    if layer.bias is not None:
        found[f"{path}.bias"] = (layer.bias, False)
    return found


def case(name, forward, params, graphs=(), weighted=False, steps=STEPS, **inputs):
    """`params`: path -> (parameter, whether it is transposed). `inputs`: tensors by name, floats get a gradient.
    `forward` takes these inputs as arguments."""
    params = {path: one if isinstance(one, tuple) else (one, False) for path, one in params.items()}
    torch.manual_seed(len(CASES))
    with torch.no_grad():
        for parameter, _ in params.values():
            parameter.copy_(torch.randn_like(parameter) * 0.5)
    inputs = {key: value.clone() for key, value in inputs.items()}
    leaves = {key: value.requires_grad_() for key, value in inputs.items() if value.is_floating_point()}
    out = forward(**inputs)
    goal = torch.randn_like(out)
    read = lambda tensor, transposed: flat(tensor.T if transposed else tensor)
    found = {
        "id": name, "graphs": [graph.json() for graph in graphs],
        "inputs": {key: flat(value) for key, value in inputs.items()},
        "params": {path: read(*one) for path, one in params.items()}, "goal": flat(goal), "out": flat(out)}
    loss = ((out - goal) ** 2).mean()
    loss.backward()
    grad = lambda parameter: torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
    found["grads"] = {path: read(grad(one), turned) for path, (one, turned) in params.items()}
    found["grads"] |= {key: flat(grad(value)) for key, value in leaves.items()}
    if weighted:
        found["grads"] |= {f"graphs.{at}": flat(graph.values.grad) for at, graph in enumerate(graphs)}
    trained = [one for one, _ in params.values() if one.requires_grad]
    if trained and steps:
        optimizer = torch.optim.SGD(trained, lr=RATE)
        for _ in range(steps):
            optimizer.zero_grad()
            ((forward(**inputs) - goal) ** 2).mean().backward()
            optimizer.step()
        found["trained"] = {path: read(*one) for path, one in params.items()}
        found["trained_out"] = flat(forward(**inputs))
    CASES.append(found)


def gcn():
    for name, loops, options in [
            ("plain", False, {}), ("loops", True, {}), ("improved", True, {"improved": True}),
            ("bare", True, {"add_self_loops": False, "bias": False})]:
        graph = Graph(loops=loops)
        layer = GCNConv(5, 3, **options)
        params = {"weight": (layer.lin.weight, True)} | ({} if layer.bias is None else {"bias": layer.bias})
        case(f"gcn/{name}", lambda x: layer(x, graph.edge_index, graph.values), params, [graph], True, x=random(7, 5))


def sage():
    for name, d_output, options in [
            ("mean", 3, {}), ("wide", 8, {}), ("add", 3, {"aggr": "add"}), ("max", 3, {"aggr": "max"}),
            ("normalize", 3, {"normalize": True, "bias": False, "root_weight": False}),
            ("project", 3, {"project": True, "aggr": "max"})]:
        graph = Graph(weights=False)
        layer = SAGEConv(5, d_output, **options)
        params = linear("neighbours", layer.lin_l)
        params |= linear("root", layer.lin_r) if layer.root_weight else {}
        params |= linear("projection", layer.lin) if layer.project else {}
        case(f"sage/{name}", lambda x: layer(x, graph.edge_index), params, [graph], x=random(7, 5))
    graph = Graph(nodes=7, targets=4, weights=False)
    layer = SAGEConv((5, 5), 3)
    params = linear("neighbours", layer.lin_l) | linear("root", layer.lin_r)
    case("sage/bipartite", lambda x, target: layer((x, target), graph.edge_index), params, [graph],
         x=random(7, 5), target=random(4, 5, seed=3))


def mlp(path, layer):
    params = {}
    for at, one in enumerate(layer.lins):
        params |= linear(f"{path}.linears.{at}", one)
    for at, one in enumerate(layer.norms):
        if hasattr(one, "module"):
            params |= {f"{path}.norms.{at}.gamma": one.module.weight, f"{path}.norms.{at}.beta": one.module.bias}
    return params


def gin():
    for name, norm, train in [("fixed", None, False), ("trained", "batch_norm", True)]:
        graph = Graph(weights=False)
        network = MLP([5, 6, 3], norm=norm)
        layer = GINConv(network, eps=0.25, train_eps=train)
        params = mlp("network", network) | ({"eps": layer.eps} if train else {})
        case(f"gin/{name}", lambda x: layer(x, graph.edge_index), params, [graph], x=random(7, 5))


def appnp():
    graph = Graph(loops=True)
    layer = APPNP(4, 0.15)
    case("appnp", lambda x: layer(x, graph.edge_index, graph.values), {}, [graph], True, x=random(7, 3))


def cheb():
    for name, k, options in [("symmetric", 3, {}), ("random_walk", 3, {"normalization": "rw"}),
                             ("plain", 4, {"normalization": None}), ("one", 1, {"bias": False}),
                             ("lambda", 2, {"normalization": "sym"})]:
        graph = Graph(loops=True)
        layer = ChebConv(5, 3, k, **options)
        params = {path: one for at, lin in enumerate(layer.lins) for path, one in linear(f"weights.{at}", lin).items()}
        params |= {} if layer.bias is None else {"bias": layer.bias}
        largest = torch.tensor(1.5) if name == "lambda" else None
        case(f"cheb/{name}", lambda x: layer(x, graph.edge_index, graph.values, lambda_max=largest), params, [graph],
             k > 1, x=random(7, 5))


def rgcn():
    for name, d_output, options in [("full", 3, {}), ("wide", 8, {}), ("bases", 3, {"num_bases": 2, "aggr": "add"}),
                                    ("max", 3, {"aggr": "max", "root_weight": False, "bias": False})]:
        graphs = [Graph(seed=seed, weights=False) for seed in (1, 2, 3)]
        layer = RGCNConv(5, d_output, 3, **options)
        params = {"weight": layer.weight}
        params |= {} if layer.num_bases is None else {"combination": layer.comp}
        params |= {} if layer.root is None else {"root": layer.root}
        params |= {} if layer.bias is None else {"bias": layer.bias}
        index = torch.cat([graph.edge_index for graph in graphs], 1)
        kind = torch.cat([torch.full([graph.edge_index.size(1)], at) for at, graph in enumerate(graphs)])
        case(f"rgcn/{name}", lambda x: layer(x, index, kind), params, graphs, x=random(7, 5))


def readouts():
    # Graph 2 of five has no nodes, and neither has the last one. The ids are not sorted.
    ids = torch.tensor([0, 1, 1, 0, 3, 3, 3, 1])
    case("pool/add", lambda x: global_add_pool(x, ids, 5), {}, x=random(8, 3))
    case("pool/mean", lambda x: global_mean_pool(x, ids, 5), {}, x=random(8, 3))
    case("pool/max", lambda x: global_max_pool(x, ids, 5), {}, x=random(8, 3))
    gate, network = torch.nn.Linear(3, 1), torch.nn.Linear(3, 4)
    pool = AttentionalAggregation(gate, network)
    case("pool/attention", lambda x: pool(x, ids, dim_size=5), linear("gate", gate) | linear("network", network),
         x=random(8, 3))
    norm = GraphNorm(3)
    params = {"gamma": norm.weight, "beta": norm.bias, "alpha": norm.mean_scale}
    case("graph_norm", lambda x: norm(x, ids, 5), params, x=random(8, 3))
    batch = torch.nn.BatchNorm1d(3)
    case("batch_norm", lambda x: batch(x), {"gamma": batch.weight, "beta": batch.bias}, x=random(8, 3))


def lstm(layer):
    """Gates of Burn's LSTM: PyTorch stacks them as input, forget, cell, output."""
    params = {}
    for path, suffix in [("forward", ""), ("reverse", "_reverse")]:
        for at, gate in enumerate(["input_gate", "forget_gate", "cell_gate", "output_gate"]):
            for side, kind in [("input_transform", "ih"), ("hidden_transform", "hh")]:
                params[f"lstm.{path}.{gate}.{side}"] = (f"{kind}_l0{suffix}", at)
    return params


def jumping():
    for mode in ["cat", "max", "lstm"]:
        layer = JumpingKnowledge(mode, 3, 2)
        inputs = {"first": random(5, 3), "second": random(5, 3, seed=2)}
        if mode != "lstm":
            case(f"jumping/{mode}", lambda first, second: layer([first, second]), {}, **inputs)
            continue
        # The stacked gates are split into parameters of their own, which a functional call joins again.
        hidden, split = layer.lstm.hidden_size, {}
        for path, (name, at) in lstm(layer.lstm).items():
            for part in ["weight", "bias"]:
                full = getattr(layer.lstm, f"{part}_{name}").detach()
                own = torch.nn.Parameter(full[at * hidden:(at + 1) * hidden].clone())
                split[f"{path}.{part}"] = (own, part == "weight", f"lstm.{part}_{name}")

        def forward(first, second):
            joined = {}
            for own, _, name in split.values():
                joined.setdefault(name, []).append(own)
            joined = {name: torch.cat(parts) for name, parts in joined.items()}
            return torch.func.functional_call(layer, joined, ([first, second],))

        params = {path: (own, turned) for path, (own, turned, _) in split.items()} | linear("attention", layer.att)
        case("jumping/lstm", forward, params, **inputs)


def bags():
    ids, offsets = torch.tensor([4, 1, 4, 2, 0, 0, 5]), torch.tensor([0, 3, 3, 4])
    for mode in ["sum", "mean", "max"]:
        layer = torch.nn.EmbeddingBag(6, 3, mode=mode)
        case(f"bag/{mode}", lambda: layer(ids, offsets), {"weight": layer.weight})
    layer = torch.nn.EmbeddingBag(6, 3, mode="sum")
    case("bag/weighted", lambda w: layer(ids, offsets, per_sample_weights=w), {"weight": layer.weight}, w=random(7))


def attention():
    for name, d_edge, options in [
            ("concat", 0, {"heads": 2}), ("mean", 0, {"heads": 2, "concat": False}), ("single", 0, {}),
            ("edges", 3, {"heads": 2}), ("bare", 3, {"heads": 2, "add_self_loops": False, "bias": False}),
            ("residual", 0, {"heads": 2, "residual": True, "negative_slope": 0.1})]:
        options |= {"edge_dim": d_edge} if d_edge else {}
        graph = Graph(loops=True, weights=False)
        edges = {"e": random(graph.edge_index.size(1), 3, seed=5)} if d_edge else {}

        layer = GATConv(5, 3, **options)
        params = linear("linear", layer.lin) | {"source": layer.att_src, "target": layer.att_dst}
        params |= (linear("edge", layer.lin_edge) | {"edge_attention": layer.att_edge}) if d_edge else {}
        params |= linear("residual", layer.res) if layer.res is not None else {}
        params |= {} if layer.bias is None else {"bias": layer.bias}
        case(f"gat/{name}", lambda x, e=None: layer(x, graph.edge_index, edge_attr=e), params, [graph],
             x=random(7, 5), **edges)

        second = GATv2Conv(5, 3, **options)
        params = linear("source", second.lin_l) | linear("target", second.lin_r) | {"attention": second.att}
        params |= linear("edge", second.lin_edge) if d_edge else {}
        params |= linear("residual", second.res) if second.res is not None else {}
        params |= {} if second.bias is None else {"bias": second.bias}
        case(f"gatv2/{name}", lambda x, e=None: second(x, graph.edge_index, edge_attr=e), params, [graph],
             x=random(7, 5), **edges)

    graph = Graph(loops=True, weights=False)
    shared = GATv2Conv(5, 3, heads=2, share_weights=True)
    params = linear("source", shared.lin_l) | {"attention": shared.att, "bias": shared.bias}
    case("gatv2/shared", lambda x: shared(x, graph.edge_index), params, [graph], x=random(7, 5))

    for name, d_edge, options in [
            ("concat", 0, {"heads": 2}), ("mean", 0, {"heads": 2, "concat": False}),
            ("beta", 0, {"heads": 2, "beta": True}), ("edges", 3, {"heads": 2}),
            ("bare", 3, {"root_weight": False, "bias": False})]:
        options |= {"edge_dim": d_edge} if d_edge else {}
        graph = Graph(loops=True, weights=False)
        edges = {"e": random(graph.edge_index.size(1), 3, seed=5)} if d_edge else {}
        layer = TransformerConv(5, 3, **options)
        params = linear("query", layer.lin_query) | linear("key", layer.lin_key) | linear("value", layer.lin_value)
        params |= linear("edge", layer.lin_edge) if d_edge else {}
        params |= linear("root", layer.lin_skip) if layer.root_weight else {}
        params |= linear("gate", layer.lin_beta) if layer.lin_beta is not None else {}
        case(f"transformer/{name}", lambda x, e=None: layer(x, graph.edge_index, edge_attr=e), params, [graph],
             x=random(7, 5), **edges)


def pooling():
    ids = torch.tensor([0, 1, 1, 0, 1, 1, 0])
    for name, options in [("ratio", {}), ("count", {"ratio": 2}), ("score", {"min_score": 0.2}),
                          ("multiplied", {"ratio": 0.8, "multiplier": 2.0})]:
        graph = Graph()
        layer = TopKPooling(5, **options)

        def forward(x):
            pooled, index, values, _, kept, score = layer(x, graph.edge_index, graph.values, ids)
            # The features and the adjacency of the nodes that stay, so that the case has both.
            dense = torch.zeros(len(kept), len(kept)).index_put((index[1], index[0]), values)
            return torch.cat([pooled, dense @ pooled], 1)

        # With a bound on the score other numbers of nodes stay after each step.
        steps = 0 if name == "score" else STEPS
        case(f"top_k/{name}", forward, {"weight": layer.select.weight}, [graph], True, steps, x=random(7, 5))


if __name__ == "__main__":
    for make in [gcn, sage, gin, appnp, cheb, rgcn, readouts, jumping, bags, attention, pooling]:
        make()
    path = pathlib.Path(__file__).with_name("layers.jsonl")
    path.write_text("".join(json.dumps(one, separators=(",", ":")) + "\n" for one in CASES))
    print(f"{len(CASES)} cases")
