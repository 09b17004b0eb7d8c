"""Writes what PyTorch Geometric and scikit-learn compute with graphs, in f64: graphs.jsonl, one case a line.

    python tests/cases/graphs/make.py

Cases of embeddings are those of ../layers/make.py, with `ints` beside the inputs; the parts of complex numbers are side
by side in a row. Other cases have numbers by name: what is given, and `out`. Graphs are as there: rows are targets.
Needs torch, torch_geometric, scikit-learn and scipy; the tests of sparse-graphs and sparse-nn read the file.
"""
import json, pathlib, warnings
import torch

warnings.filterwarnings("ignore")
import torch_geometric.nn as gnn
from sklearn import metrics as sk
from torch_geometric import transforms
from torch_geometric.data import Data
from torch_geometric.metrics import LinkPredMAP, LinkPredMRR, LinkPredNDCG, LinkPredRecall

torch.set_default_dtype(torch.float64)
RATE, STEPS = 0.1, 5
CASES = []


def numbers(x):
    x = torch.as_tensor(x).detach()
    shape = list(x.shape)
    return {"shape": shape, "data": [round(y, 11) if isinstance(y, float) else int(y) for y in x.reshape(-1).tolist()]}


def plain(name, out, graph=None, **given):
    found = {"id": name, **{key: numbers(value) for key, value in given.items()}}
    found |= {"graph": graph[2]} if graph else {}
    CASES.append(found | {"out": {key: numbers(value) for key, value in out.items()}})


def graph_of(rows, weights=None):
    """`edge_index` (sources first), weights, and both as JSON."""
    index = torch.tensor([[j for row in rows for j in row], [i for i, row in enumerate(rows) for _ in row]])
    values = torch.ones(len(index[0])) if weights is None else torch.tensor(weights)
    pointers = [0] + torch.tensor([len(row) for row in rows]).cumsum(0).tolist()
    nodes = len(rows)
    return index, values, {
        "shape": [nodes, nodes], "row_ptr": pointers, "col_idx": index[0].tolist(), "values": values.tolist()}


# Node 3 has no edge out, node 4 none in, node 5 none.
DIRECTED = [[1, 2, 4], [0, 2], [1], [0, 1, 2, 4], [], []]
LOOPS = [[1, 2, 4], [0, 1, 2], [1], [0, 1, 2, 3, 4], [], []]
# Node 5 has no edge.
UNDIRECTED = [[1, 2], [0, 2], [0, 1, 3], [2, 4], [3], []]
WEIGHTS = [0.843, 0.976, 0.843, 0.982, 0.976, 0.982, 1.021, 1.021, 1.438, 1.438]


def embedding(name, model, forward, ints, steps):
    tables = {"entities.weight": ["node_emb", "node_emb_im"], "relations.weight": ["rel_emb", "rel_emb_im"]}
    tables = {path: [getattr(model, one).weight for one in names if hasattr(model, one)]
              for path, names in tables.items()}
    every = [one for parts in tables.values() for one in parts]
    torch.manual_seed(len(CASES))
    with torch.no_grad():
        for one in every:
            one.copy_(torch.round(torch.randn_like(one) * 0.5, decimals=3))
            one.grad = None
    goal = torch.randn_like(forward()).round(decimals=3)
    side_by_side = lambda read: {path: numbers(torch.cat([read(one) for one in parts], 1))
                                 for path, parts in tables.items()}
    found = {"id": name, "graphs": [], "inputs": {}, "ints": {key: numbers(value) for key, value in ints.items()},
             "params": side_by_side(lambda one: one), "goal": numbers(goal), "out": numbers(forward())}
    loss = lambda: ((forward() - goal) ** 2).mean()
    loss().backward()
    found["grads"] = side_by_side(lambda one: one.grad)
    if steps:
        optimizer = torch.optim.SGD(every, lr=RATE)
        for _ in range(steps):
            optimizer.zero_grad()
            loss().backward()
            optimizer.step()
        found |= {"trained": side_by_side(lambda one: one), "trained_out": numbers(forward())}
    CASES.append(found)
    return {path.split(".")[0]: torch.cat(parts, 1) for path, parts in tables.items()}


def knowledge_graphs():
    triples = torch.tensor([[0, 1, 2, 3], [0, 1, 1, 0], [1, 2, 4, 0]])
    corrupted = torch.tensor([[4, 3, 2, 3], [0, 1, 1, 0], [1, 2, 0, 2]])
    for name, model in [("transe", gnn.TransE(5, 2, 4)), ("transe_l2", gnn.TransE(5, 2, 4, 0.5, p_norm=2.0)),
                        ("distmult", gnn.DistMult(5, 2, 4)), ("complex", gnn.ComplEx(5, 2, 4)),
                        ("rotate", gnn.RotatE(5, 2, 4, margin=2.0))]:
        ints = {"triples": triples, "corrupted": corrupted}
        embedding(f"kge/{name}_scores", model, lambda: model(*triples).reshape(-1, 1), ints, 0)
        model.random_sample = lambda *_: tuple(corrupted)
        tables = embedding(f"kge/{name}_loss", model, lambda: model.loss(*triples).reshape(1, 1), ints, STEPS)
        with torch.no_grad():
            score = lambda h, r, t: float(model(*torch.tensor([[h], [r], [t]])))
            ranks = [sum(score(h, r, other) >= score(h, r, t) for other in range(5)) for h, r, t in triples.T.tolist()]
            rank, reciprocal, hits = model.test(*triples, batch_size=2, k=2, log=False)
        plain(f"kge/{name}_ranks", {"ranks": ranks, "mean_rank": rank + 1, "mrr": reciprocal, "hits_2": hits},
              triples=triples, **tables)


def propagated_labels():
    labels, mask = torch.tensor([0, 1, 2, 0, 1, 2]), torch.tensor([1, 0, 1, 0, 0, 1]).bool()
    for name, graph, weighted in [("undirected", graph_of(UNDIRECTED), False), ("directed", graph_of(DIRECTED), False),
                                  ("weighted", graph_of(UNDIRECTED, WEIGHTS), True)]:
        given = {"edge_weight": graph[1]} if weighted else {}
        plain(f"label_propagation/{name}", {"out": gnn.LabelPropagation(3, 0.9)(labels, graph[0], mask, **given)},
              graph)
    graph = graph_of(UNDIRECTED)
    soft = torch.softmax(torch.randn(6, 3, generator=torch.Generator().manual_seed(8)), 1).round(decimals=3)
    ids = mask.nonzero().view(-1)
    for name, options in [("autoscale", {}), ("scaled", {"autoscale": False, "scale": 1.5})]:
        model = gnn.CorrectAndSmooth(3, 0.8, 2, 0.7, **options)
        corrected = model.correct(soft, labels[ids], mask, graph[0])
        plain(f"correct_and_smooth/{name}", {
            "corrected": corrected, "out": model.smooth(corrected, labels[ids], mask, graph[0])}, graph, soft=soft)


def encodings():
    for name, rows in [("directed", DIRECTED), ("loops", LOOPS), ("undirected", UNDIRECTED)]:
        graph = graph_of(rows)
        data = Data(edge_index=graph[0], num_nodes=6)
        plain(f"random_walk/{name}", {"out": transforms.AddRandomWalkPE(5)(data).random_walk_pe}, graph)
    # What the definition says; PyG drops the weights and bounds their sum by 1 from below.
    graph = graph_of(UNDIRECTED, WEIGHTS)
    dense = torch.zeros(6, 6).index_put((graph[0][1], graph[0][0]), graph[1])
    walk = torch.nan_to_num(dense / dense.sum(1, keepdim=True))
    powers = [torch.linalg.matrix_power(walk, step).diagonal() for step in range(1, 6)]
    plain("random_walk/weighted", {"out": torch.stack(powers, 1)}, graph)


def measures():
    labels = torch.tensor([1, 0, 1, 1, 0, 0, 1, 0])
    for name, scores in [("distinct", [0.9, 0.8, 0.7, 0.3, 0.35, 0.1, 0.6, 0.65]),
                         ("ties", [0.9, 0.9, 0.5, 0.5, 0.5, 0.1, 0.9, 0.1])]:
        plain(f"measure/average_precision_{name}", {
            "average_precision": sk.average_precision_score(labels, scores),
            "roc_auc": sk.roc_auc_score(labels, scores)}, labels=labels, scores=scores)

    # Five users, seven items; user 3 likes none, and user 4 more than k.
    order = lambda seed: torch.randperm(7, generator=torch.Generator().manual_seed(seed))
    scores = torch.stack([order(seed) for seed in range(20, 25)]) / 10.0
    liked = torch.tensor([[0, 0, 1, 2, 2, 2, 4, 4, 4, 4, 4], [1, 4, 0, 2, 3, 6, 0, 1, 2, 3, 5]])
    relevant = torch.zeros(5, 7).index_put((liked[0], liked[1]), torch.ones(11))
    out = {}
    for k in [1, 3, 5, 9]:
        top = scores.topk(min(k, 7), dim=1).indices
        for measure, kind in [("map", LinkPredMAP), ("mrr", LinkPredMRR), ("ndcg", LinkPredNDCG),
                              ("recall", LinkPredRecall)]:
            one = kind(k)
            one.update(top, liked)
            out[f"{measure}_{k}"] = one.compute()
    plain("measure/ranking", out, relevant=relevant, scores=scores)
    graded = torch.tensor([[3., 0, 2, 0, 1, 0, 0], [0, 0, 1, 2, 0, 3, 0]])
    plain("measure/ndcg_graded", {f"ndcg_{k}": sk.ndcg_score(graded, scores[:2], k=k) for k in [2, 5, 7]},
          relevant=graded, scores=scores[:2])

    def f1(name, true, guess):
        out = {kind: sk.f1_score(true, guess, average=kind, zero_division=0) for kind in ["micro", "macro"]}
        plain(f"measure/f1_{name}", out, true=true, guess=guess)

    f1("classes", torch.tensor([0, 1, 2, 0, 1, 2, 2, 2, 3]), torch.tensor([0, 2, 2, 0, 1, 1, 2, 4, 2]))
    f1("sets", torch.tensor([[1, 0, 1, 0], [0, 1, 1, 0], [0, 0, 0, 0], [1, 1, 0, 0]]),
       torch.tensor([[1, 0, 0, 0], [0, 1, 1, 0], [1, 0, 0, 0], [1, 0, 0, 0]]))
    for name, a, b in [("plain", [0, 0, 0, 1, 1, 2, 2, 2, 3], [0, 0, 1, 1, 1, 2, 2, 0, 5]),
                       ("same", [0, 0, 1, 1], [5, 5, 2, 2]), ("one_cluster", [0, 0, 1, 1], [3, 3, 3, 3]),
                       ("both_one", [0, 0, 0], [1, 1, 1]), ("singletons", [0, 0, 1, 1], [0, 1, 2, 3]),
                       ("all_alone", [0, 1, 2], [2, 1, 0])]:
        plain(f"measure/clusters_{name}", {
            "nmi": float(sk.normalized_mutual_info_score(a, b)), "ari": float(sk.adjusted_rand_score(a, b))},
            true=a, guess=b)


if __name__ == "__main__":
    for make in [knowledge_graphs, propagated_labels, encodings, measures]:
        make()
    path = pathlib.Path(__file__).with_name("graphs.jsonl")
    path.write_text("".join(json.dumps(one, separators=(",", ":")) + "\n" for one in CASES))
    print(f"{len(CASES)} cases, {path.stat().st_size} bytes")
