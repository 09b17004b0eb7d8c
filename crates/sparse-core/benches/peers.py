"""Times of the peers (SciPy, PyTorch, torch_sparse) on the workloads of merge.rs, paths.rs,
sample.rs, scatter.rs and triangular.rs.

For sample.rs, PEER_GRAPH names the folder that the graph is passed in, and PEER_LIBRARY the shared library with the
operator torch_sparse::neighbor_sample (without it, torch_sparse must be installed).

Prints `name<TAB>median<TAB>least`, in milliseconds.
"""

import statistics
import sys
import time

import numpy as np

RUNS = 7


def measure(name, f):
    times = []
    for _ in range(RUNS + 1):
        start = time.perf_counter()
        result = f()
        times.append(time.perf_counter() - start)
        del result
    print(f"{name}\t{statistics.median(times[1:]) * 1e3:.3f}\t{min(times[1:]) * 1e3:.3f}", flush=True)


def merge():
    import scipy.sparse as sp

    rng = np.random.default_rng(0)

    def matrix(rows, nnz, cols):
        per = nnz // rows
        flat = rng.integers(0, cols, (rows, per), dtype=np.int32)
        flat.sort(axis=1)
        ptr = np.arange(rows + 1, dtype=np.int32) * per
        m = sp.csr_matrix((rng.standard_normal(nnz, dtype=np.float32), flat.reshape(-1), ptr), (rows, cols))
        m.sum_duplicates()
        return m

    for rows in (1_000_000, 100_000):
        a, b = matrix(rows, 5_000_000, rows), matrix(rows, 5_000_000, rows)
        measure(f"union add N={rows}", lambda: a + b)
        measure(f"intersection mul N={rows}", lambda: a.multiply(b))
    parts = [matrix(1_000_000, 5_000_000, 1_000_000) for _ in range(4)]
    measure("concat 4 rows", lambda: sp.vstack(parts, format="csr"))
    measure("concat 4 cols", lambda: sp.hstack(parts, format="csr"))


def scatter(threads):
    import torch

    torch.set_num_threads(threads)
    n, length, inner = 1_000_000, 100_000, 64
    index = torch.randint(0, length, (n, inner))
    rows = torch.randint(0, length, (n,))
    arr, grad = torch.randn(length, inner), torch.randn(length, inner)
    values = torch.randn(n, inner)
    names = {"add": "sum", "mul": "prod", "mean": "mean", "amax": "amax"}
    measure("index_add forward", lambda: arr.index_add(0, rows, values))
    measure("gather forward", lambda: arr.gather(0, index))
    a, v = arr.clone().requires_grad_(), values.clone().requires_grad_()
    for name, reduce in names.items():
        measure(f"{name} forward", lambda: arr.scatter_reduce(0, index, values, reduce))

        def both():
            a.grad = v.grad = None
            a.scatter_reduce(0, index, v, reduce).backward(grad)

        measure(f"{name} forward+backward", both)
    measure("assign forward", lambda: arr.scatter(0, index, values))


def sample(threads):
    import os

    import torch

    torch.set_num_threads(threads)
    if library := os.environ.get("PEER_LIBRARY"):
        torch.ops.load_library(library)
    else:
        import torch_sparse  # noqa: F401
    folder = os.environ["PEER_GRAPH"]
    load = lambda name: torch.from_numpy(np.fromfile(os.path.join(folder, name), dtype=np.int64))
    ptr, idx, seeds = load("ptr.i64"), load("idx.i64"), load("seeds.i64").split(1024)
    draw = torch.ops.torch_sparse.neighbor_sample
    for name, replace in (("sample", False), ("sample with replacement", True)):
        measure(name, lambda: [draw(ptr, idx, batch, [15, 10], replace, True)[0].numel() for batch in seeds])


def triangular():
    import scipy.sparse as sp
    from scipy.sparse.linalg import spsolve_triangular

    side = 1000
    n = side * side
    beside = np.full(n, -0.5)
    beside[::side] = 0
    diagonals = [np.full(n, 2.0), beside[1:], np.full(n - side, -0.5)]
    lower = sp.diags_array(diagonals, offsets=[0, -1, -side], format="csr")
    lower.eliminate_zeros()
    rng = np.random.default_rng(0)
    for name, dtype in (("f64", np.float64), ("f32", np.float32)):
        a, b = lower.astype(dtype), rng.standard_normal(n).astype(dtype)
        upper = sp.csr_array(a.T)
        measure(f"lower {name}", lambda: spsolve_triangular(a, b, lower=True))
        measure(f"transposed {name}", lambda: spsolve_triangular(upper, b, lower=False))


def paths():
    """The graphs of paths.rs: a random one and a grid."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    nodes, degree, side = 1_000_000, 5, 1000

    def hashes(at):
        with np.errstate(over="ignore"):
            x = (at.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
            x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))

    ends = hashes(np.arange(nodes * degree) + nodes * degree) % np.uint64(nodes)
    random = np.sort(ends.reshape(nodes, degree).astype(np.int32), axis=1).ravel()
    node = np.arange(side * side)
    x, y = node % side, node // side
    there = np.stack([y > 0, x > 0, x + 1 < side, y + 1 < side], axis=1)
    ends = node[:, None] + np.array([-side, -1, 1, side])
    grid = (ends[there].astype(np.int32), np.append(0, there.sum(axis=1).cumsum()).astype(np.int32))
    for name, idx, ptr in [
        ("random", random, np.arange(nodes + 1, dtype=np.int32) * degree),
        ("grid", *grid),
    ]:
        weights = (hashes(np.arange(len(idx))) >> np.uint64(11)) / float(1 << 53)
        graph = csr_array((weights, idx, ptr), shape=(len(ptr) - 1,) * 2)
        for count in [1, 16]:
            sources = np.arange(count) * 62_500
            times, runs = [], 3
            for _ in range(runs):
                start = time.perf_counter()
                lengths, _ = dijkstra(graph, indices=sources, return_predecessors=True)
                times.append((time.perf_counter() - start) * 1e3)
            print(f"{name}, {count}\t{sorted(times)[runs // 2]}\t{min(times)}")
            total = lengths[np.isfinite(lengths)].sum()
            print(f"{name}, {count}, sum\t{total}\t{total}")


if __name__ == "__main__":
    groups = {
        "merge": lambda threads: merge(),
        "scatter": scatter,
        "sample": sample,
        "triangular": lambda threads: triangular(),
        "paths": lambda threads: paths(),
    }
    groups[sys.argv[1]](int(sys.argv[2]))
