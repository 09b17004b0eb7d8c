"""The peer's half of `benches/peers.rs`: PyTorch and SciPy on the same inputs.

Reads one request a line, `name` or `name check`, and answers with seconds, or with the sums that the results must
share.
"""
import os, sys, time
import numpy as np
import scipy.sparse as sp
import torch

folder = sys.argv[1]
torch.set_num_threads(int(sys.argv[2]))
raw = lambda name, dtype: np.fromfile(os.path.join(folder, name), dtype=dtype)


def put_inputs():
    values = torch.from_numpy(raw("put.values", np.float32)).reshape(-1, 64)
    index = torch.from_numpy(raw("put.index", np.int64)).reshape(-1, 64)
    arr = torch.from_numpy(raw("put.arr", np.float32)).reshape(-1, 64)
    return arr, index, values


def put(reduce):
    arr, index, values = put_inputs()
    ones = torch.ones_like(arr)

    def run():
        a, v = arr.clone().requires_grad_(), values.requires_grad_()
        v.grad = None
        out = a.scatter_reduce(0, index, v, reduce)
        out.backward(ones)
        return [out.detach(), v.grad]
    return run


def index_add():
    arr, _, values = put_inputs()
    rows = torch.from_numpy(raw("put.rows", np.int64))
    return lambda: [torch.index_add(arr, 0, rows, values)]


def csr(name, shape):
    values, col, ptr = raw(name + ".values", np.float32), raw(name + ".col", np.int32), raw(name + ".ptr", np.int32)
    return sp.csr_matrix((values, col, ptr), shape=shape)


ROWS = 1_000_000
parts = lambda: [csr(f"part{k}", (ROWS, ROWS)) for k in range(4)]


def vstack():
    p = parts()
    return lambda: [sp.vstack(p, format="csr").data]


def hstack():
    p = parts()
    return lambda: [sp.hstack(p, format="csr").data]


def coo_cat():
    p = [sp.coo_matrix(x) for x in parts()]
    t = [torch.sparse_coo_tensor(np.stack([x.row, x.col]), x.data, x.shape, is_coalesced=True) for x in p]
    return lambda: [torch.cat(t, 1).coalesce().values()]


def scipy_add():
    p = parts()
    return lambda: [(p[0] + p[1]).data]


def select_rows():
    p, rows = sp.vstack([csr(f"part{k}", (ROWS, ROWS)) for k in range(2)], format="csr"), raw("selected", np.int64)
    return lambda: [p[rows].data]


def spmm(backward, reduce="sum"):
    n = int(raw("graph.n", np.int64)[0])
    ptr, col = torch.from_numpy(raw("graph.ptr", np.int32)), torch.from_numpy(raw("graph.col", np.int32))
    values = torch.from_numpy(raw("graph.values", np.float32))
    dense = torch.from_numpy(raw("graph.dense", np.float32)).reshape(n, -1)
    ones = torch.ones_like(dense)

    def forward():
        return [torch.sparse_csr_tensor(ptr, col, values, (n, n), check_invariants=False) @ dense]

    def both():
        a = torch.sparse_csr_tensor(ptr, col, values, (n, n), check_invariants=False).requires_grad_()
        d = dense.detach().requires_grad_()
        # `a @ d` would form the dense gradient of `a`: 115 GB here.
        out = torch.sparse.mm(a, d) if reduce == "sum" else torch.sparse.mm(a, d, reduce)
        out.backward(ones)
        return [out.detach(), d.grad]
    return both if backward else forward


def small():
    n = 100_000
    return csr("small", (n, n))


def spgemm():
    a = small()
    return lambda: [(a @ a).data]


def softmax():
    x = sp.coo_matrix(csr("part0", (ROWS, ROWS)))
    i = torch.from_numpy(np.stack([x.row, x.col]).astype(np.int64))
    weights = torch.from_numpy(raw("part1.values", np.float32)[:1].repeat(x.nnz))

    def run():
        v = torch.from_numpy(x.data).requires_grad_()
        a = torch.sparse_coo_tensor(i, v, x.shape, is_coalesced=True, check_invariants=False)
        out = torch.sparse.softmax(a, 1)
        (out.coalesce().values() * weights).sum().backward()
        return [out.detach().coalesce().values()]
    return run


def row_sum():
    x = csr("part0", (ROWS, ROWS))
    return lambda: [np.asarray(x.sum(axis=1))]


def gat_step():
    from torch.nn import functional as F
    from torch_geometric.nn import GATConv
    n, width, classes = (int(size) for size in raw("cora.dims", np.int64))
    ids = lambda name: torch.from_numpy(raw("cora." + name, np.int64))
    # PyG sends along (source, target): the columns and the rows of the adjacency.
    edges = torch.stack([ids("cols"), ids("rows")])
    x = torch.zeros(n, width)
    x[ids("nodes"), ids("words")] = 1
    x /= x.sum(1, keepdim=True).clamp(min=1)
    train, labels = ids("train"), ids("labels")
    first, second = GATConv(width, 8, 8, dropout=0.6), GATConv(64, classes, 1, concat=False, dropout=0.6)
    weights = [*first.parameters(), *second.parameters()]
    adam = torch.optim.Adam(weights, lr=0.005, weight_decay=5e-4)

    def run():
        adam.zero_grad()
        hidden = F.elu(first(F.dropout(x, 0.6), edges))
        logits = second(F.dropout(hidden, 0.6), edges)
        loss = F.cross_entropy(logits[train], labels[train])
        loss.backward()
        adam.step()
        return [loss.detach()]
    return run


WORK = {
    "put add f+b": lambda: put("sum"), "put mul f+b": lambda: put("prod"), "put amax f+b": lambda: put("amax"),
    "put rows add": index_add, "concat axis 0": vstack, "concat axis 1": hstack, "coo concat axis 1": coo_cat,
    "add": scipy_add, "div": scipy_add, "select 512 rows": select_rows,
    "spmm": lambda: spmm(False), "spmm f+b": lambda: spmm(True),
    "spmm amax f+b": lambda: spmm(True, "amax"),
    "gat step": gat_step, "spgemm": spgemm, "softmax f+b": softmax, "row sum": row_sum,
}
current = (None, None)
for line in sys.stdin:
    name, _, what = line.strip().partition("|")
    if current[0] != name:
        current = (None, None)
        current = (name, WORK[name]())
        current[1]()
    if what == "time":
        current[1]()
    results = None  # What the last call left is not freed inside the timing.
    start = time.perf_counter()
    results = current[1]()
    seconds = time.perf_counter() - start
    if what == "check":
        print(" ".join(repr(float(np.asarray(r, dtype=np.float64).sum())) for r in results), flush=True)
    else:
        print(seconds, flush=True)
