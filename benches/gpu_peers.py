"""The peer's half of `benches/gpu.rs`: PyTorch on CUDA (cuSPARSE) on the same inputs.

Says first whether it is ready. Then reads one request a line, `name|check` or `name|time`, and answers with the sums
that the results must share, with seconds, or with an error where PyTorch cannot do it.
"""
import os, sys, time

try:
    import numpy as np
    import torch
except ImportError as trouble:
    print(f"skipped, {trouble}", flush=True)
    sys.exit()
if not torch.cuda.is_available():
    print(f"skipped, PyTorch {torch.__version__} finds no CUDA device", flush=True)
    sys.exit()
print(f"ready, PyTorch {torch.__version__} on {torch.cuda.get_device_name(0)}", flush=True)

folder = sys.argv[1]
torch.backends.cuda.matmul.allow_tf32 = False
raw = lambda name, dtype: torch.from_numpy(np.fromfile(os.path.join(folder, name), dtype=dtype)).cuda()


def graph(name, features):
    ptr, col, values = raw(name + ".ptr", np.int32), raw(name + ".col", np.int32), raw(name + ".values", np.float32)
    n = ptr.numel() - 1
    a = torch.sparse_csr_tensor(ptr, col, values, (n, n), check_invariants=False)
    return a, raw(name + ".dense", np.float32).reshape(n, features)


def spmm(name, features):
    a, x = graph(name, features)
    return lambda: [a @ x]


def spmm_both():
    a, x = graph("graph", 128)
    ones = torch.ones_like(x)

    def run():
        # `a @ x` would form the dense gradient of `a`.
        m, d = a.detach().requires_grad_(), x.detach().requires_grad_()
        out = torch.sparse.mm(m, d)
        out.backward(ones)
        return [out.detach(), d.grad, m.grad.values()]
    return run


def sddmm():
    a, x = graph("graph", 128)
    y = (x * 0.5).T
    return lambda: [torch.sparse.sampled_addmm(a, x, y, beta=0.0).values()]


def gcn_epoch():
    a, x = graph("graph", 128)
    values = a.values() * (x.shape[0] / a.values().numel())
    a = torch.sparse_csr_tensor(a.crow_indices(), a.col_indices(), values, a.shape, check_invariants=False)
    first, second = raw("gcn.first", np.float32).reshape(128, -1), raw("gcn.second", np.float32)
    second = second.reshape(first.shape[1], -1)
    labels = raw("gcn.labels", np.int32).long()

    def run():
        v, w = first.detach().requires_grad_(), second.detach().requires_grad_()
        hidden = torch.relu(a @ (x @ v))
        loss = torch.nn.functional.cross_entropy(a @ (hidden @ w), labels)
        loss.backward()
        return [loss.detach(), v.grad, w.grad]
    return run


def put(reduce):
    values, arr = raw("put.values", np.float32).reshape(-1, 64), raw("put.arr", np.float32).reshape(-1, 64)
    index = raw("put.index", np.int32).long().reshape(-1, 64)
    ones = torch.ones_like(arr)

    def run():
        a, v = arr.detach().requires_grad_(), values.detach().requires_grad_()
        out = a.scatter_reduce(0, index, v, reduce)
        out.backward(ones)
        return [out.detach(), v.grad]
    return run


def row_sum():
    a, _ = graph("rows", 1)
    coo = a.to_sparse_coo()
    return lambda: [torch.sparse.sum(coo, 1).to_dense()]


def softmax_both():
    a, _ = graph("rows", 1)
    at, values = a.to_sparse_coo().coalesce().indices(), a.values()

    def run():
        v = values.detach().requires_grad_()
        coo = torch.sparse_coo_tensor(at, v, a.shape, is_coalesced=True, check_invariants=False)
        out = torch.sparse.softmax(coo, 1).coalesce().values()
        (out * values).sum().backward()
        return [out.detach(), v.grad]
    return run


def spgemm():
    a, _ = graph("square", 1)
    return lambda: [(a @ a).values()]


def plan_put():
    values, index = raw("plan.values", np.float32).reshape(-1, 64), raw("plan.index", np.int32).long()
    out = torch.zeros(int(raw("plan.targets", np.int64)[0]), 64, device="cuda")
    wide = index[:, None].expand(-1, 64)
    return lambda: [out.scatter_reduce(0, wide, values, "sum")]


def coalesce(name):
    shape = tuple(raw(name + ".shape", np.int64).tolist())
    at, values = raw(name + ".indices", np.int32).long().reshape(2, -1), raw(name + ".values", np.float32)
    # A new tensor each time: an old one would remember that it is coalesced.
    return lambda: [torch.sparse_coo_tensor(at, values, shape, check_invariants=False).coalesce().values()]


WORK = {
    "spmm": lambda: spmm("graph", 128), "spmm f+b": spmm_both, "sddmm": sddmm, "gcn epoch": gcn_epoch,
    "spmm 50M": lambda: spmm("large", 64), "put add f+b": lambda: put("sum"), "put amax f+b": lambda: put("amax"),
    "spmv": lambda: spmm("rows", 1), "row sum": row_sum, "softmax f+b": softmax_both,
    "spgemm": spgemm, "spgemm, known": spgemm, "put add, plan": plan_put,
    "coalesce 10M": lambda: coalesce("coalesce 10M"), "coalesce 50M": lambda: coalesce("coalesce 50M"),
}


def digest(tensor):
    flat = tensor.reshape(-1).double()
    weights = torch.arange(flat.numel(), device=flat.device) % 97
    return [flat.sum().item(), (flat * weights).sum().item()]


current = (None, None)
for line in sys.stdin:
    name, _, what = line.strip().partition("|")
    try:
        if current[0] != name:
            current = (None, None)
            torch.cuda.empty_cache()
            current = (name, WORK[name]())
            current[1](), current[1]()
        results = None  # What the last call left is not freed inside the timing.
        torch.cuda.synchronize()
        start = time.perf_counter()
        results = current[1]()
        torch.cuda.synchronize()
        seconds = time.perf_counter() - start
        answer = " ".join(repr(x) for r in results for x in digest(r)) if what == "check" else repr(seconds)
    except Exception as trouble:
        current = (None, None)
        answer = "error: " + (str(trouble).strip().splitlines() or [type(trouble).__name__])[0][:200]
    print(answer, flush=True)
