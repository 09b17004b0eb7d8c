"""Times of the peers (SciPy, PyTorch) on the workloads of merge.rs and scatter.rs.

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


if __name__ == "__main__":
    merge() if sys.argv[1] == "merge" else scatter(int(sys.argv[2]))
