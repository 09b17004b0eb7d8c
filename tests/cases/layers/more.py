"""Writes more of what PyTorch Geometric computes, in f64: more.jsonl, one case a line.

    python tests/cases/layers/more.py

The format is that of make.py, next to this file, with these additions:

- a case can have `ints`: lists of ids, pairs `[2, n]`, masks and options that are no tensors of the layer;
- outputs have two axes: a loss is `[1, 1]`, the scores of pairs are `[n, 1]`;
- inputs, parameters and goals have three decimals, and what is computed has 11: the file is small.
"""
import json, pathlib, sys, warnings

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE)]
warnings.filterwarnings("ignore")
import torch
import torch_geometric.nn as gnn
from torch_geometric.nn import MLP, aggr as aggrs

import make
from make import RATE, STEPS, Graph, linear, mlp

torch.set_num_threads(1)
CASES = []
# Parameters and inputs are smaller by this, where SGD with the rate of make.py would diverge.
SMALL = {"tag/plain": 0.2, "film/linear": 0.4, "pna/plain": 0.4, "le/plain": 0.3}


def short(x):
    return torch.round(x, decimals=3)


def random(*shape, seed=0):
    return short(make.random(*shape, seed=seed))


class Listed(Graph):
    """The graph with these columns (sources) in each row (target)."""

    def __init__(self, rows, columns, weights=True, symmetric=False, seed=1):
        self.shape = [len(rows), columns]
        targets = torch.tensor([i for i, row in enumerate(rows) for _ in row])
        sources = torch.tensor([j for row in rows for j in row])
        self.edge_index = torch.stack([sources, targets])
        self.row_ptr = [0] + torch.tensor([len(row) for row in rows]).cumsum(0).tolist()
        values = torch.ones(len(sources))
        if weights:
            values = short(torch.rand(columns, columns, generator=torch.Generator().manual_seed(seed)) + 0.5)
            values = ((values + values.T) / 2 if symmetric else values)[targets, sources]
            values = short(values)
        self.values = values.requires_grad_()

    @property
    def size(self):
        return len(self.edge_index[0])

    @property
    def rows(self):
        return self.edge_index[1]

    def dense(self):
        """`[targets, sources]`, with a gradient of the values."""
        return torch.zeros(self.shape).index_put((self.edge_index[1], self.edge_index[0]), self.values)


def directed(loops=False, weights=True):
    """Node 3 has no edge out, node 4 none in, node 5 none."""
    rows = [[1, 2, 4], [0, 2], [1], [0, 1, 2, 4], [], []]
    if loops:
        rows[1], rows[3] = [0, 1, 2], [0, 1, 2, 3, 4]
    return Listed(rows, 6, weights)


def undirected(weights=True):
    """Node 5 has no edge."""
    return Listed([[1, 2], [0, 2], [0, 1, 3], [2, 4], [3], []], 6, weights, symmetric=True)


def bipartite(weights=False):
    """Five sources, four targets. Target 0 has no edge."""
    return Listed([[], [0, 2, 4], [1], [0, 1, 3, 4]], 5, weights)


def renamed(name, path):
    """The path of a parameter in this crate: an aggregation is a list of parts, and `t` and `p` are coefficients."""
    inside = name.startswith("aggregation/") and not name.startswith("aggregation/scaler")
    if inside and path.split(".")[0] in ["t", "p", "lstm"]:
        path = "aggregation." + path
    path = path.replace("aggregation.t", "aggregation.coefficient").replace("aggregation.p", "aggregation.coefficient")
    return path.replace("aggregation.", "parts.0." if inside else "aggregator.parts.0.")


def numbers(tensor):
    tensor = tensor.detach()
    if not tensor.is_floating_point():
        return {"shape": list(tensor.shape), "data": tensor.reshape(-1).long().tolist()}
    assert torch.isfinite(tensor).all()
    return {"shape": list(tensor.shape), "data": [round(x, 11) for x in tensor.reshape(-1).tolist()]}


def ints_json(ints):
    tensors = {key: torch.as_tensor(value) for key, value in (ints or {}).items()}
    return {key: numbers(value) for key, value in tensors.items()}


def matrix(x):
    return x.reshape(1, 1) if x.dim() == 0 else x.reshape(-1, 1) if x.dim() == 1 else x.reshape(-1, x.size(-1))


def case(name, forward, params=None, graphs=(), weighted=False, steps=STEPS, ints=None, given=None, seed=0,
         **inputs):
    """As `case` of make.py. `given`: path -> first values of a parameter, where random ones do not fit.
    `seed`: another one where a ReLU of the case is dead."""
    assert all(one["id"] != name for one in CASES), name
    params = {renamed(name, path): one if isinstance(one, tuple) else (one, False)
              for path, one in (params or {}).items()}
    given = {renamed(name, path): value for path, value in (given or {}).items()}
    torch.manual_seed(len(CASES) + 1000 * seed)
    small = SMALL.get(name.removesuffix("_weighted"), 1)
    inputs = {key: short(value * small) for key, value in inputs.items()}
    with torch.no_grad():
        for path, (parameter, _) in params.items():
            value = torch.randn_like(parameter) * 0.5 * small
            if path in given:
                value = torch.as_tensor(given[path], dtype=value.dtype).expand_as(parameter)
            parameter.copy_(short(value))
            # The layer may be that of another case.
            parameter.grad = None
    leaves = {key: value.clone().requires_grad_() for key, value in inputs.items()}
    call = lambda: matrix(forward(**leaves))
    out = call()
    goal = short(torch.randn_like(out))
    read = lambda tensor, transposed: numbers(tensor.T if transposed else tensor)
    for graph in graphs:
        graph.values.grad = None
    found = {
        "id": name, "graphs": [graph.json() for graph in graphs],
        "inputs": {key: numbers(value) for key, value in inputs.items()}}
    found |= {"ints": ints_json(ints)} if ints else {}
    found |= {"params": {path: read(*one) for path, one in params.items()}, "goal": numbers(goal), "out": numbers(out)}
    ((out - goal) ** 2).mean().backward()
    grad = lambda tensor: torch.zeros_like(tensor) if tensor.grad is None else tensor.grad
    found["grads"] = {path: read(grad(one), turned) for path, (one, turned) in params.items()}
    for key, value in leaves.items():
        assert value.grad is not None, (name, key)
        found["grads"][key] = numbers(value.grad)
    if weighted:
        found["grads"] |= {f"graphs.{at}": numbers(graph.values.grad) for at, graph in enumerate(graphs)}
    trained = [one for one, _ in params.values() if one.requires_grad]
    if trained and steps:
        optimizer = torch.optim.SGD(trained, lr=RATE)
        for _ in range(steps):
            optimizer.zero_grad()
            ((call() - goal) ** 2).mean().backward()
            optimizer.step()
        found["trained"] = {path: read(*one) for path, one in params.items()}
        found["trained_out"] = numbers(call())
        before, after = [float(((one - goal) ** 2).mean()) for one in (out, call())]
        if after > before:
            print(f"{name}: the loss grows from {before:.3} to {after:.3}")
    CASES.append(found)


def packed(layer, table):
    """Parameters that PyTorch stacks, as parameters of their own. `table`: path -> (name in `layer`, which part, of
    how many parts). Returns them, and a call of `layer` that joins them again."""
    own, names = {}, {}
    for path, (name, at, parts) in table.items():
        full = layer.get_parameter(name).detach()
        length = full.size(0) // parts
        own[path] = (torch.nn.Parameter(full[at * length:(at + 1) * length].clone()), full.dim() == 2)
        names.setdefault(name, []).append(path)

    def call(*args, **kwargs):
        joined = {name: torch.cat([own[path][0] for path in paths]) for name, paths in names.items()}
        return torch.func.functional_call(layer, joined, args, kwargs)

    return own, call


def recurrent(path, name, gates, bias=True):
    """The table of `packed` for an LSTM or GRU `name` of PyTorch, with the fields of Burn's."""
    table = {}
    for at, gate in enumerate(gates):
        for side, kind in [("input_transform", "ih"), ("hidden_transform", "hh")]:
            for part in ["weight", "bias"] if bias else ["weight"]:
                table[f"{path}.{gate}.{side}.{part}"] = (name.format(f"{part}_{kind}"), at, len(gates))
    return table


LSTM = ["input_gate", "forget_gate", "cell_gate", "output_gate"]
GRU = ["reset_gate", "update_gate", "new_gate"]


def sequential(path, layers):
    """A chain of linear maps and activations, as an `Mlp`."""
    params, norms = {}, 0
    for at, one in enumerate(one for one in layers if hasattr(one, "weight") and one.weight.dim() == 2):
        params |= linear(f"{path}.linears.{at}", one)
    for one in layers:
        if isinstance(one, torch.nn.BatchNorm1d):
            params |= {f"{path}.norms.{norms}.gamma": one.weight, f"{path}.norms.{norms}.beta": one.bias}
            norms += 1
    return params


def biased(params, bias):
    return params if bias is None else params | {"bias": bias}


# A. Aggregations


def exact_degrees(layer, histogram):
    """PyG computes the two averages in f32. Here they are in f64."""
    degrees = torch.arange(len(histogram), dtype=torch.float64)
    layer.init_avg_deg_lin = float((degrees * histogram).sum() / histogram.sum())
    layer.init_avg_deg_log = float(((degrees + 1).log() * histogram).sum() / histogram.sum())
    layer.reset_parameters()
    return layer.init_avg_deg_lin, layer.init_avg_deg_log


def aggregations():
    graph = directed(weights=False)
    rows, size = graph.rows, 6
    messages = random(graph.size, 2, seed=11)
    assert all(len(set(column.tolist())) == len(column) for column in messages.T)
    # Rows 0 and 3 have ties, row 3 a zero in a product.
    ties = torch.tensor([[1., 2], [1, 0], [0.5, 2], [3, 3], [3, -1], [2, 2], [0, 1], [4, 1], [4, 0], [4, 0]])

    def add(name, aggr, params=None, given=None, messages=messages):
        case(f"aggregation/{name}", lambda messages: aggr(messages, rows, dim_size=size), params, [graph],
             given=given, messages=messages)

    for name, aggr in [
            ("sum", aggrs.SumAggregation()), ("mean", aggrs.MeanAggregation()), ("max", aggrs.MaxAggregation()),
            ("min", aggrs.MinAggregation()), ("mul", aggrs.MulAggregation()), ("var", aggrs.VarAggregation()),
            ("std", aggrs.StdAggregation()), ("median", aggrs.MedianAggregation()),
            ("quantile", aggrs.QuantileAggregation([0.1, 0.5, 0.75, 1.0])),
            ("quantile_one", aggrs.QuantileAggregation(0.3)),
            ("quantile_lower", aggrs.QuantileAggregation(0.3, "lower")),
            ("quantile_higher", aggrs.QuantileAggregation(0.3, "higher")),
            ("quantile_nearest", aggrs.QuantileAggregation(0.3, "nearest")),
            ("quantile_midpoint", aggrs.QuantileAggregation(0.3, "midpoint")),
            ("quantile_fill", aggrs.QuantileAggregation(0.3, fill_value=-2.0)),
            ("softmax_one", aggrs.SoftmaxAggregation()), ("softmax_fixed", aggrs.SoftmaxAggregation(0.7)),
            ("softmax_semi", aggrs.SoftmaxAggregation(0.7, semi_grad=True)),
            ("var_semi", aggrs.VarAggregation(semi_grad=True))]:
        add(name, aggr)
    for name, aggr in [("max_ties", aggrs.MaxAggregation()), ("min_ties", aggrs.MinAggregation()),
                       ("mul_zeros", aggrs.MulAggregation()), ("std_constant", aggrs.StdAggregation())]:
        add(name, aggr, messages=ties)
    soft = aggrs.SoftmaxAggregation(learn=True)
    add("softmax", soft, {"t": soft.t}, {"t": 0.8})
    soft = aggrs.SoftmaxAggregation(learn=True, channels=2)
    add("softmax_channels", soft, {"t": soft.t}, {"t": [0.8, -0.6]})
    positive = short(messages.abs() + 0.2)
    add("power_one", aggrs.PowerMeanAggregation())
    add("power_fixed", aggrs.PowerMeanAggregation(2.0))
    power = aggrs.PowerMeanAggregation(learn=True)
    add("power", power, {"p": power.p}, {"p": 1.6}, positive)
    power = aggrs.PowerMeanAggregation(learn=True, channels=2)
    add("power_channels", power, {"p": power.p}, {"p": [1.6, 2.5]}, positive)
    # Negative messages are clamped, and so is a mean above 100.
    power = aggrs.PowerMeanAggregation(learn=True)
    add("power_clamped", power, {"p": power.p}, {"p": 1.6}, messages)
    names = ["mean", "max", "std", "mul"]
    add("multi_concat", aggrs.MultiAggregation(names))
    add("multi_sum", aggrs.MultiAggregation(names, mode="sum"))
    add("multi_mean", aggrs.MultiAggregation(names, mode="mean"))
    multi = aggrs.MultiAggregation(["mean", "max"], mode="proj", mode_kwargs={"in_channels": 2, "out_channels": 3})
    add("multi_project", multi, linear("projection", multi.lin))

    histogram = torch.tensor([2, 1, 1, 1, 1])
    for name, scalers in [(one, [one]) for one in ["identity", "amplification", "attenuation", "linear",
                                                   "inverse_linear"]] + [("all", [
                                                       "identity", "amplification", "attenuation", "linear",
                                                       "inverse_linear"])]:
        scaled = aggrs.DegreeScalerAggregation(["mean", "max"], scalers, histogram)
        means = exact_degrees(scaled, histogram)
        case(f"aggregation/scaler_{name}", lambda messages: scaled(messages, rows, dim_size=size), {}, [graph],
             ints={"histogram": histogram}, messages=messages)
    scalers = ["amplification", "attenuation", "linear", "inverse_linear"]
    scaled = aggrs.DegreeScalerAggregation(["mean"], scalers, histogram, train_norm=True)
    means = exact_degrees(scaled, histogram)
    case("aggregation/scaler_trained", lambda messages: scaled(messages, rows, dim_size=size),
         {"average": scaled.avg_deg_lin, "average_log": scaled.avg_deg_log}, [graph],
         given={"average": means[0], "average_log": means[1]}, ints={"histogram": histogram}, messages=messages)

    layer = aggrs.Set2Set(2, 3)
    params, call = packed(layer, recurrent("lstm", "lstm.{}_l0", LSTM))
    case("aggregation/set2set", lambda messages: call(messages, rows, dim_size=size), params, [graph],
         messages=messages)
    layer = aggrs.LSTMAggregation(2, 3)
    params, call = packed(layer, recurrent("lstm", "lstm.{}_l0", LSTM))
    case("aggregation/lstm", lambda messages: call(messages, rows, dim_size=size), params, [graph],
         messages=messages)


# B. Layers


def both(name, layer, params, weighted=True, loops=False, d_input=3, **inputs):
    """A case with the weights of the edges, and one without."""
    x = random(6, d_input)
    graph = directed(loops)
    if weighted:
        case(f"{name}_weighted", lambda x, **more: layer(x, *more.values(), graph.edge_index, graph.values), params,
             [graph], True, x=x, **inputs)
    graph = directed(loops, weights=False)
    case(name, lambda x, **more: layer(x, *more.values(), graph.edge_index), params, [graph], x=x, **inputs)


def pair(name, layer, params, weights=False, edges=0):
    """A case of a bipartite graph: sources of width 3, targets of width 4."""
    graph = bipartite(weights)
    more = {"e": random(graph.size, edges, seed=5)} if edges else {}

    def forward(x, target, e=None):
        last = [graph.values] if weights else [] if e is None else [e]
        return layer((x, target), graph.edge_index, *last)

    case(f"{name}/bipartite", forward, params, [graph], weights, x=random(5, 3), target=random(4, 4, seed=3), **more)


def graph_conv():
    params = lambda layer: linear("neighbours", layer.lin_rel) | linear("root", layer.lin_root)
    for aggr in ["add", "mean", "max"]:
        layer = gnn.GraphConv(3, 2, aggr=aggr)
        both(f"graph_conv/{aggr}", layer, params(layer), loops=True)
    layer = gnn.GraphConv((3, 4), 2, bias=False)
    pair("graph_conv", layer, params(layer), True)


def propagations():
    """SGC, SSGC, TAG, MixHop, LG, ARMA: powers of a normalised adjacency."""
    layer = gnn.SGConv(3, 2, K=2)
    both("sg/two", layer, linear("linear", layer.lin), loops=True)
    layer = gnn.SGConv(3, 2, K=1, add_self_loops=False, bias=False)
    both("sg/bare", layer, linear("linear", layer.lin), loops=True)
    layer = gnn.SSGConv(3, 2, alpha=0.1, K=3)
    both("ssg/three", layer, linear("linear", layer.lin), loops=True)

    for name, options in [("three", {}), ("plain", {"K": 2, "normalize": False, "bias": False})]:
        layer = gnn.TAGConv(3, 2, **options)
        params = {path: one for at, lin in enumerate(layer.lins) for path, one in linear(f"weights.{at}", lin).items()}
        both(f"tag/{name}", layer, biased(params, layer.bias), loops=True)

    for name, options in [("default", {}), ("powers", {"powers": [0, 3], "add_self_loops": False, "bias": False})]:
        layer = gnn.MixHopConv(3, 2, **options)
        params = {}
        for at, power in enumerate(layer.powers):
            params |= linear(f"weights.{at}", layer.lins[power])
        both(f"mixhop/{name}", layer, biased(params, layer.bias), loops=True)

    both("lg/normalized", gnn.LGConv(), {}, loops=True)
    both("lg/plain", gnn.LGConv(normalize=False), {}, loops=True)

    for name, options in [
            ("one", {}), ("stacks", {"num_stacks": 2, "num_layers": 3}),
            ("shared", {"num_stacks": 2, "num_layers": 3, "shared_weights": True}),
            ("linear", {"num_stacks": 2, "num_layers": 2, "act": None, "bias": False})]:
        layer = gnn.ARMAConv(3, 2, **options)
        params = {"initial": layer.init_weight, "root": layer.root_weight}
        params |= {"weight": layer.weight} if layer.num_layers > 1 else {}
        both(f"arma/{name}", layer, biased(params, layer.bias), name == "stacks")


def initial_residuals():
    """GCNII and FAGCN: layers that add the first features again."""
    first = random(6, 3, seed=7)
    for name, options in [("plain", {}), ("identity", {"theta": 0.5, "layer": 2}),
                          ("two", {"theta": 0.5, "layer": 2, "shared_weights": False}),
                          ("bare", {"add_self_loops": False, "theta": 0.5, "layer": 1})]:
        layer = gnn.GCN2Conv(3, 0.2, **options)
        params = {"weight": layer.weight1} | ({} if layer.weight2 is None else {"initial_weight": layer.weight2})
        both(f"gcn2/{name}", layer, params, name == "identity", True, first=first)
    for name, options in [("default", {}), ("bare", {"eps": 0.3, "add_self_loops": False})]:
        layer = gnn.FAConv(3, **options)
        params = {"source": layer.att_l.weight, "target": layer.att_r.weight}
        both(f"fa/{name}", layer, params, False, True, first=first)
    graph = directed(True)
    layer = gnn.FAConv(3, normalize=False)
    params = {"source": layer.att_l.weight, "target": layer.att_r.weight}
    case("fa/given_weighted", lambda x, first: layer(x, first, graph.edge_index, graph.values), params, [graph], True,
         x=random(6, 3), first=first)


def attentions():
    for name, loops, options in [("default", True, {}), ("bare", True, {"add_self_loops": False})]:
        layer = gnn.AGNNConv(**options)
        both(f"agnn/{name}", layer, {"beta": layer.beta}, False, loops, 3)
    layer = gnn.AGNNConv(requires_grad=False)
    both("agnn/fixed", layer, {}, False, True)

    negatives = torch.tensor([[3, 5, 0, 4], [1, 2, 5, 0]])
    for kind in ["MX", "SD"]:
        for name, options in [("concat", {"heads": 2}), ("mean", {"heads": 2, "concat": False}),
                              ("bare", {"add_self_loops": False, "bias": False})]:
            layer = gnn.SuperGATConv(3, 2, attention_type=kind, **options).eval()
            params = linear("linear", layer.lin)
            params |= {"source": layer.att_l, "target": layer.att_r} if kind == "MX" else {}
            both(f"supergat/{kind.lower()}_{name}", layer, biased(params, layer.bias), False, True)
        layer = gnn.SuperGATConv(3, 2, attention_type=kind, heads=2, bias=False).train()
        graph = directed(True, False)

        def loss(x):
            # The output and the loss, so that every parameter has a gradient.
            out = layer(x, graph.edge_index, negatives)
            return torch.cat([out, layer.get_attention_loss().expand(6, 1)], 1)

        params = linear("linear", layer.lin)
        params |= {"source": layer.att_l, "target": layer.att_r} if kind == "MX" else {}
        case(f"supergat/{kind.lower()}_loss", loss, params, [graph], ints={"negative": negatives.flip(0)},
             x=random(6, 3))


def film():
    def params(layer):
        found = linear("root", layer.lin_skip) | linear("root_film", layer.film_skip)
        for at, (lin, film) in enumerate(zip(layer.lins, layer.films)):
            found |= linear(f"linears.{at}", lin) | linear(f"films.{at}", film)
        return found

    for name, options in [("mean", {}), ("linear", {"aggr": "add", "act": None}), ("max", {"aggr": "max"})]:
        layer = gnn.FiLMConv(3, 2, **options)
        both(f"film/{name}", layer, params(layer), False, True)
    layer = gnn.FiLMConv(3, 2, num_relations=2)
    graphs = [directed(weights=False), undirected(False)]
    index = torch.cat([graph.edge_index for graph in graphs], 1)
    kind = torch.cat([torch.full([graph.size], at) for at, graph in enumerate(graphs)])
    case("film/relations", lambda x: layer(x, index, kind), params(layer), graphs, x=random(6, 3))
    layer = gnn.FiLMConv((3, 4), 2)
    pair("film", layer, params(layer))


def directions():
    graph = directed(True, False)
    x = random(6, 3)
    for name, options in [("gcn", {}), ("gcn_bare", {"alpha": 0.2, "root_weight": False})]:
        layer = gnn.DirGNNConv(gnn.GCNConv(3, 2), **options)
        params = linear("root", layer.lin) if layer.lin is not None else {}
        for path, conv in [("incoming", layer.conv_in), ("outgoing", layer.conv_out)]:
            params |= {f"{path}.weight": (conv.lin.weight, True), f"{path}.bias": conv.bias}
        case(f"dir_gnn/{name}", lambda x: layer(x, graph.edge_index), params, [graph], x=x)
    layer = gnn.DirGNNConv(gnn.SAGEConv(3, 2), alpha=0.3)
    params = linear("root", layer.lin)
    for path, conv in [("incoming", layer.conv_in), ("outgoing", layer.conv_out)]:
        params |= linear(f"{path}.neighbours", conv.lin_l)
    case("dir_gnn/sage", lambda x: layer(x, graph.edge_index), params, [graph], x=x)


def edge_networks():
    """NNConv, GINE, EdgeConv, ResGated: networks of edges."""
    graph = directed(True, False)
    x, e = random(6, 3), random(graph.size, 2, seed=5)

    def add(name, layer, params, edges=True):
        case(name, lambda x, e=None: layer(x, graph.edge_index, *([] if e is None else [e])), params, [graph], x=x,
             **({"e": e} if edges else {}))

    def nn_params(layer):
        return biased(mlp("network", layer.nn) | (linear("root", layer.lin) if layer.root_weight else {}), layer.bias)

    for name, options in [("add", {}), ("mean", {"aggr": "mean"}), ("max", {"aggr": "max"}),
                          ("bare", {"root_weight": False, "bias": False})]:
        layer = gnn.NNConv(3, 2, MLP([2, 3, 6] if name == "add" else [2, 6], norm=None), **options)
        add(f"nn_conv/{name}", layer, nn_params(layer))
    layer = gnn.NNConv((3, 4), 2, MLP([2, 6], norm=None))
    pair("nn_conv", layer, nn_params(layer), edges=2)

    for name, options in [("fixed", {"eps": 0.25}), ("trained", {"train_eps": True})]:
        layer = gnn.GINEConv(MLP([3, 4, 2], norm=None), edge_dim=2, **options)
        params = mlp("network", layer.nn) | linear("edge", layer.lin)
        add(f"gine/{name}", layer, params | ({"eps": layer.eps} if name == "trained" else {}))
    layer = gnn.GINEConv(MLP([3, 2], norm=None))
    case("gine/same", lambda x, e: layer(x, graph.edge_index, e), mlp("network", layer.nn), [graph], x=x,
         e=random(graph.size, 3, seed=5))
    layer = gnn.GINEConv(MLP([3, 2], norm=None), edge_dim=2)
    two = bipartite()
    case("gine/bipartite", lambda x, target, e: layer((x, target), two.edge_index, e),
         mlp("network", layer.nn) | linear("edge", layer.lin), [two], x=random(5, 3), target=random(4, 3, seed=3),
         e=random(two.size, 2, seed=5))

    for aggr in ["max", "mean", "add"]:
        layer = gnn.EdgeConv(MLP([6, 4, 2], norm=None), aggr=aggr)
        add(f"edge_conv/{aggr}", layer, mlp("network", layer.nn), False)
    layer = gnn.EdgeConv(MLP([6, 2], norm=None))
    case("edge_conv/bipartite", lambda x, target: layer((x, target), two.edge_index), mlp("network", layer.nn), [two],
         x=random(5, 3), target=random(4, 3, seed=3))

    def gated(layer):
        params = linear("key", layer.lin_key) | linear("query", layer.lin_query) | linear("value", layer.lin_value)
        params |= linear("root", layer.lin_skip) if layer.lin_skip is not None else {}
        return biased(params, layer.bias)

    for name, options in [("plain", {}), ("bare", {"root_weight": False, "bias": False}), ("edges", {"edge_dim": 2})]:
        layer = gnn.ResGatedGraphConv(3, 2, **options)
        add(f"res_gated/{name}", layer, gated(layer), name == "edges")
    layer = gnn.ResGatedGraphConv((3, 4), 2)
    pair("res_gated", layer, gated(layer))


def pna():
    graph = directed(True, False)
    histogram = torch.tensor([2, 1, 0, 2, 0, 1])
    every = ["identity", "amplification", "attenuation"]
    for name, edges, aggregators, scalers, options in [
            ("plain", 0, ["mean", "max", "min", "std"], every, {}),
            ("towers", 0, ["sum", "var"], ["linear", "inverse_linear"], {"towers": 2, "pre_layers": 2,
                                                                        "post_layers": 2}),
            ("divided", 0, ["mean"], every, {"towers": 2, "divide_input": True}),
            ("edges", 2, ["mean", "max"], every, {"edge_dim": 2})]:
        layer = gnn.PNAConv(4, 2, aggregators, scalers, histogram, **options)
        exact_degrees(layer.aggr_module, histogram)
        params = linear("output", layer.lin) | (linear("edge", layer.edge_encoder) if edges else {})
        for at, (pre, post) in enumerate(zip(layer.pre_nns, layer.post_nns)):
            params |= sequential(f"pre.{at}", pre) | sequential(f"post.{at}", post)
        more = {"e": random(graph.size, 2, seed=5)} if edges else {}
        case(f"pna/{name}", lambda x, e=None: layer(x, graph.edge_index, e), params, [graph],
             ints={"histogram": histogram}, seed=2 if name == "towers" else 0, x=random(6, 4), **more)


def eg():
    for name, options in [
            ("symmetric", {}), ("many", {"aggregators": ["symnorm", "mean", "max", "std"]}),
            ("loops", {"aggregators": ["sum", "var", "min"]}),
            ("bare", {"aggregators": ["mean"], "add_self_loops": False, "bias": False})]:
        layer = gnn.EGConv(3, 4, num_heads=2, num_bases=2, **options)
        params = linear("bases", layer.bases_lin) | linear("combination", layer.comb_lin)
        both(f"eg/{name}", layer, biased(params, layer.bias), False, True)


def gen():
    graph = directed(True, False)

    def params(layer):
        found = sequential("network", layer.mlp)
        for path, name in [("source", "lin_src"), ("target", "lin_dst"), ("edge", "lin_edge")]:
            found |= linear(path, getattr(layer, name)) if hasattr(layer, name) else {}
        for name in ["t", "p"]:
            value = getattr(layer.aggr_module, name, None)
            found |= {f"aggregation.{name}": value} if isinstance(value, torch.Tensor) else {}
        if hasattr(layer, "msg_norm") and layer.msg_norm.scale.requires_grad:
            found |= {"scale": layer.msg_norm.scale}
        return found

    for name, d_input, edges, options in [
            ("softmax", 2, 0, {"norm": None}), ("trained", 3, 0, {"learn_t": True, "bias": True, "norm": None}),
            ("power", 3, 0, {"aggr": "power", "p": 2.0, "learn_p": True, "norm": None}),
            ("norm", 2, 0, {"num_layers": 2}), ("one", 3, 0, {"num_layers": 1, "aggr": "add"}),
            ("message_norm", 3, 0, {"msg_norm": True, "learn_msg_scale": True, "norm": None}),
            ("edges", 3, 2, {"edge_dim": 3, "norm": None, "expansion": 3}),
            ("edges_same", 2, 2, {"edge_dim": 2, "norm": None, "aggr": "max"})]:
        layer = gnn.GENConv(d_input, 2, **options)
        width = options.get("edge_dim")
        more = {"e": random(graph.size, width, seed=5)} if edges else {}
        case(f"gen/{name}", lambda x, e=None: layer(x, graph.edge_index, e), params(layer), [graph],
             given={"aggregation.t": 0.8, "aggregation.p": 1.6, "scale": 0.9}, seed=2 if name == "trained" else 0,
             x=random(6, d_input), **more)
    layer = gnn.GENConv((3, 4), 2, norm=None)
    pair("gen", layer, params(layer))


def hypergraph():
    # Rows are nodes, columns are hyperedges: node 5 is in none, and hyperedge 3 has no node.
    graph = Listed([[0, 1], [0], [0, 1, 2], [1], [2], []], 4, False)
    index = graph.edge_index.flip(0)
    x, weights, attributes = random(6, 3), short(torch.rand(4) + 0.5), random(4, 3, seed=5)
    layer = gnn.HypergraphConv(3, 2)
    params = linear("linear", layer.lin) | {"bias": layer.bias}
    case("hypergraph/plain", lambda x: layer(x, index, num_edges=4), params, [graph], x=x)
    case("hypergraph/weighted_pyg", lambda x, w: layer(x, index, w, num_edges=4), params, [graph], x=x, w=weights)

    def formula(x, w):
        incidence = graph.dense()
        invert = lambda degree: torch.where(degree > 0, 1 / degree.clamp(min=1e-300), 0)
        d, b = invert(incidence @ w), invert(incidence.sum(0))
        return d[:, None] * (incidence @ ((w * b)[:, None] * (incidence.T @ layer.lin(x)))) + layer.bias

    case("hypergraph/weighted", formula, params, [graph], x=x, w=weights)
    for name, options in [("node", {"heads": 2}), ("edge", {"heads": 2, "attention_mode": "edge"}),
                          ("mean", {"heads": 2, "concat": False})]:
        layer = gnn.HypergraphConv(3, 2, use_attention=True, **options)
        params = linear("linear", layer.lin) | {"attention": layer.att, "bias": layer.bias}
        case(f"hypergraph/attention_{name}", lambda x, e: layer(x, index, hyperedge_attr=e, num_edges=4), params,
             [graph], x=x, e=attributes)


def light_gcn():
    # Users 0 to 2, items 3 to 5; user 2 has none.
    rows = [[3, 4], [4, 5], [], [0], [0, 1], [1]]
    positive, negative = torch.tensor([[0, 0, 1], [3, 4, 5]]), torch.tensor([[0, 0, 1], [5, 5, 3]])
    for weights in [False, True]:
        graph = Listed(rows, 6, weights, symmetric=True)
        given = [graph.values] if weights else []
        model = gnn.LightGCN(6, 2, 2)
        case(f"light_gcn/embedding{'_weighted' * weights}", lambda: model.get_embedding(graph.edge_index, *given),
             {"embedding.weight": model.embedding.weight}, [graph], weights)
    graph = Listed(rows, 6, False)
    model = gnn.LightGCN(6, 2, 2, alpha=torch.tensor([0.5, 0.3, 0.2]))
    params = {"embedding.weight": model.embedding.weight}
    case("light_gcn/alpha", lambda: model.get_embedding(graph.edge_index), params, [graph])
    case("light_gcn/scores", lambda: model(graph.edge_index, positive), params, [graph], ints={"pairs": positive})
    for name, ids in [("bpr", None), ("bpr_batch", torch.tensor([0, 1, 3, 4, 5]))]:
        def loss():
            scores = model(graph.edge_index, torch.cat([positive, negative], 1))
            return model.recommendation_loss(scores[:3], scores[3:], ids, 0.01)

        case(f"light_gcn/{name}", loss, params, [graph],
             ints={"positive": positive, "negative": negative} | ({} if ids is None else {"nodes": ids}))
    case("loss/bpr", lambda positive, negative: gnn.models.lightgcn.BPRLoss()(positive, negative),
         positive=random(4), negative=random(4, seed=2))


def gated():
    for name, d_input, options in [("add", 2, {}), ("padded", 1, {"num_layers": 2}), ("mean", 2, {"aggr": "mean"}),
                                   ("bare", 2, {"bias": False})]:
        layer = gnn.GatedGraphConv(2, **({"num_layers": 1} | options))
        params, call = packed(layer, recurrent("gru", "rnn.{}", GRU, layer.rnn.bias))
        both(f"gated/{name}", call, params | {"weight": layer.weight}, name == "padded", True, d_input)


def differences():
    """LEConv, ClusterGCN, SimpleConv, SignedConv."""
    params = lambda layer: (linear("source", layer.lin1) | linear("target", layer.lin2) | linear("root", layer.lin3))
    layer = gnn.LEConv(3, 2)
    both("le/plain", layer, params(layer), loops=True)
    layer = gnn.LEConv((3, 4), 2, bias=False)
    pair("le", layer, params(layer), True)

    for name, options in [("plain", {}), ("diagonal", {"diag_lambda": 0.7, "bias": False})]:
        layer = gnn.ClusterGCNConv(3, 2, **options)
        both(f"cluster_gcn/{name}", layer, linear("linear", layer.lin_out) | linear("root", layer.lin_root), False,
             True)

    for name, options in [("sum", {}), ("mean_sum", {"aggr": "mean", "combine_root": "sum"}),
                          ("max_concat", {"aggr": "max", "combine_root": "cat"}),
                          ("loop", {"combine_root": "self_loop"}), ("many", {"aggr": ["mean", "max"]}),
                          ("median", {"aggr": "median"})]:
        both(f"simple/{name}", gnn.SimpleConv(**options), {}, name in ["sum", "mean_sum", "loop"], True)
    two = bipartite()
    layer = gnn.SimpleConv(combine_root="cat")
    case("simple/bipartite", lambda x, target: layer((x, target), two.edge_index), {}, [two], x=random(5, 3),
         target=random(4, 4, seed=3))

    graphs = [directed(weights=False), undirected(False)]
    for name, first, width in [("first", True, 3), ("next", False, 4)]:
        layer = gnn.SignedConv(3 if first else 2, 2, first)
        params = linear("positive", layer.lin_pos_l) | linear("positive_root", layer.lin_pos_r)
        params |= linear("negative", layer.lin_neg_l) | linear("negative_root", layer.lin_neg_r)
        case(f"signed/{name}", lambda x: layer(x, graphs[0].edge_index, graphs[1].edge_index), params, graphs,
             x=random(6, width))


def gps():
    # Two graphs: nodes 0 to 3, and 4 and 5.
    ids = torch.tensor([0, 0, 0, 0, 1, 1])
    graph = Listed([[1, 2], [0], [1, 3], [], [5], []], 6, False)
    table = {}
    for at, name in enumerate(["query", "key", "value"]):
        table[f"attention.{name}.weight"] = ("attn.in_proj_weight", at, 3)
        table[f"attention.{name}.bias"] = ("attn.in_proj_bias", at, 3)
    for name, width, norm, local in [("plain", 4, None, True), ("norm", 2, "batch_norm", True),
                                     ("attention", 2, None, False)]:
        network = MLP([width, width], norm=None)
        layer = gnn.GPSConv(width, gnn.GINConv(network) if local else None, heads=2, norm=norm)
        params, call = packed(layer, table)
        params |= linear("attention.output", layer.attn.out_proj) | sequential("network", layer.mlp)
        params |= mlp("conv.network", network) if local else {}
        if norm:
            for path, one in [("norm_local", layer.norm1), ("norm_attention", layer.norm2), ("norm_out", layer.norm3)]:
                params |= {f"{path}.gamma": one.module.weight, f"{path}.beta": one.module.bias}
        case(f"gps/{name}", lambda x: call(x, graph.edge_index, ids), params, [graph], ints={"ids": ids},
             seed=1 if norm else 0, x=random(6, width))


ALL = [
    aggregations, graph_conv, propagations, initial_residuals, attentions, film, directions, edge_networks, pna, eg,
    gen, hypergraph, light_gcn, gated, differences, gps]

if __name__ == "__main__":
    for make_some in ALL:
        torch.manual_seed(0)
        make_some()
    path = HERE / "more.jsonl"
    path.write_text("".join(json.dumps(one, separators=(",", ":")) + "\n" for one in CASES))
    print(f"{len(CASES)} cases, {path.stat().st_size} bytes")
