"""Writes more of what PyTorch Geometric, Captum and scikit-learn compute with graphs, in f64: more.jsonl.

    python tests/cases/graphs/more.py

The format is that of make.py, next to this file. Cases: graph diffusion (GDC), explanations, logistic regression and
k-means. Needs torch, torch_geometric, captum, scikit-learn and scipy; the tests of sparse-graphs read the file.
"""
import json, pathlib, sys, warnings

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE)]
warnings.filterwarnings("ignore")
import torch

import make
from make import DIRECTED, UNDIRECTED, WEIGHTS, graph_of, plain
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression
from torch_geometric.data import Data
from torch_geometric.explain import CaptumExplainer, Explainer, GNNExplainer
from torch_geometric.explain.metric import fidelity
from torch_geometric.nn import GraphConv
from torch_geometric.transforms import GDC


def random(*shape, seed):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).round(decimals=3)


def diffusion():
    weights = (random(10, seed=3).abs() + 0.1).round(decimals=3)
    for name, graph in [("undirected", graph_of(UNDIRECTED)), ("weighted", graph_of(UNDIRECTED, WEIGHTS)),
                        ("directed", graph_of(DIRECTED, weights.tolist()))]:
        index, values, _ = graph
        for kind, how in [("page_rank", dict(method="ppr", alpha=0.15)), ("heat", dict(method="heat", t=3.0))]:
            for keep, rule in [("largest", dict(method="topk", k=3, dim=0)),
                               ("at_least", dict(method="threshold", eps=0.06))]:
                data = Data(edge_index=index, edge_attr=values.clone(), num_nodes=6)
                data = GDC(diffusion_kwargs=how, sparsification_kwargs=rule)(data)
                dense = torch.zeros(6, 6)
                # Columns are targets there. What is rounding noise of an inverse is no edge here.
                dense[data.edge_index[1], data.edge_index[0]] = torch.where(data.edge_attr > 1e-12, data.edge_attr, 0.0)
                plain(f"diffusion/{name}_{kind}_{keep}", {"out": dense}, graph)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = GraphConv(3, 4, bias=False), GraphConv(4, 2, bias=False)
        for seed, layer in enumerate([self.one.lin_rel, self.one.lin_root, self.two.lin_rel, self.two.lin_root]):
            layer.weight.data = random(*layer.weight.shape, seed=seed)

    def forward(self, x, edge_index, edge_weight):
        return self.two(self.one(x, edge_index, edge_weight).relu(), edge_index, edge_weight)


def explanations():
    graph, model, x = graph_of(UNDIRECTED, WEIGHTS), Model(), random(6, 3, seed=9)
    index, values, _ = graph
    layers = {f"weight_{k}": layer.weight.T for k, layer in enumerate(
        [model.one.lin_rel, model.one.lin_root, model.two.lin_rel, model.two.lin_root])}
    out = {"logits": model(x, index, values)}
    nodes = torch.tensor([0, 3])
    draw = torch.randn

    def explain(algorithm, mask="attributes"):
        model = Model()  # What GNNExplainer leaves in a model hides the masks of Captum.
        torch.randn = lambda *shape, **_: torch.zeros(*shape)  # All factors start at 0.5.
        explainer = Explainer(model, algorithm, "model", dict(mode="multiclass_classification", task_level="node",
                              return_type="raw"), mask, "object")
        found = explainer(x, index, index=nodes, edge_weight=values)
        torch.randn = draw
        return explainer, found

    for name, mask in [("gnn", "attributes"), ("gnn_shared", "common_attributes")]:
        explainer, found = explain(GNNExplainer(epochs=30, lr=0.05), mask)
        out |= {f"{name}_edges": found.edge_mask, f"{name}_features": found.node_mask,
                f"{name}_fidelity": torch.tensor(fidelity(explainer, found))}
    plain("explain/plain", out, graph, x=x, nodes=nodes, **layers)
    graph = graph_of(UNDIRECTED)  # Factors of messages are weights then.
    index, values, _ = graph
    out = {}
    for name, method, options in [("saliency", "Saliency", {}), (
            "integrated", "IntegratedGradients", {"n_steps": 8, "method": "riemann_middle"})]:
        _, found = explain(CaptumExplainer(method, **options))
        out |= {f"{name}_edges": found.edge_mask, f"{name}_features": found.node_mask}
    plain("explain/gradients", out | {"logits": model(x, index, values)}, graph, x=x, nodes=nodes, **layers)


def embeddings():
    for classes in [2, 3]:
        y = torch.arange(24) % classes
        x = random(24, 3, seed=classes) + (torch.nn.functional.one_hot(y, 3) * 1.0)
        model = LogisticRegression(C=0.7, tol=1e-10, max_iter=1000).fit(x, y)
        plain(f"logistic/{classes}_classes", {
            "weight": model.coef_.T, "bias": model.intercept_, "accuracy": model.score(x, y)}, x=x, labels=y)
    centres = torch.tensor([[0.0, 0, 0], [5, 0, 1], [0, 6, 0], [4, 4, 4]])
    x = (random(32, 3, seed=5) * 0.5 + centres[torch.arange(32) % 4]).round(decimals=3)
    model = KMeans(4, n_init=10, random_state=0).fit(x)
    plain("k_means/blobs", {"clusters": torch.tensor(model.labels_), "inertia": model.inertia_}, x=x)


for run in [diffusion, explanations, embeddings]:
    run()
path = HERE / "more.jsonl"
path.write_text("".join(json.dumps(one, separators=(",", ":")) + "\n" for one in make.CASES))
print(f"{len(make.CASES)} cases, {path.stat().st_size} bytes")
