"""Times of SciPy, PyAMG and torch-sla on the workloads of solve.rs.

peers.py SIDE THREADS RUNS TOLERANCE STEPS. Prints `name<TAB>milliseconds<TAB>iterations<TAB>number`: the median of RUNS
runs after one that is not counted; of the slow direct and spectral rows of one run. Where the number is not 0, ours is
to be the same: that of what is computed.
"""

import os
import statistics
import sys
import time
import warnings

side, threads, runs, tolerance = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
steps = int(sys.argv[5])
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = threads

import numpy as np  # noqa: E402
import scipy.sparse as sp  # noqa: E402
import scipy.sparse.linalg as linalg  # noqa: E402

warnings.filterwarnings("ignore")


def measure(f, runs=runs):
    times = []
    for _ in range(runs + 1):
        start = time.perf_counter()
        result = f()
        times.append(time.perf_counter() - start)
    return statistics.median(times[1:]) * 1e3, result


def show(name, milliseconds, iterations=0, number=0.0):
    print(f"{name}\t{milliseconds:.3f}\t{iterations}\t{number}", flush=True)


def left(a, x, b):
    return np.linalg.norm(b - a @ x) / np.linalg.norm(b)


def check(a, x, b):
    assert left(a, x, b) < 1.1 * tolerance, left(a, x, b)


def laplacian(*grid):
    a = None
    for n in grid:
        line = sp.diags_array([-np.ones(n - 1), 2 * np.ones(n), -np.ones(n - 1)], offsets=[-1, 0, 1])
        a = line if a is None else sp.kron(a, sp.eye_array(n)) + sp.kron(sp.eye_array(a.shape[0]), line)
    a = sp.csr_array(a)
    a.sum_duplicates()
    return a


def right(n):
    return (np.arange(n) * 7919 % 10_007) / 10_007.0 - 0.5


try:
    import pyamg
except ImportError:
    pyamg = None
try:
    import torch
    import torch_sla
except ImportError:
    torch_sla = None

a = laplacian(side, side)
b = right(side * side)
if pyamg:
    setup, levels = measure(lambda: pyamg.smoothed_aggregation_solver(a))
    residuals = []

    def solve():
        residuals.clear()
        return levels.solve(b, tol=tolerance, accel="cg", maxiter=100, residuals=residuals)

    solved, x = measure(solve)
    check(a, x, b)
    show("AMG set-up", setup)
    show("AMG CG", solved, len(residuals) - 1)
    show("AMG set-up and CG", setup + solved, len(residuals) - 1)
diagonal = 1 / a.diagonal()
inverse = linalg.LinearOperator(a.shape, matvec=lambda x: diagonal * x, dtype=a.dtype)
spent, x = measure(lambda: linalg.cg(a, b, rtol=tolerance, maxiter=steps, M=inverse)[0])
show("Jacobi CG, cut off", spent, steps, left(a, x, b))
if torch_sla:
    torch.set_num_threads(int(threads))
    coo = a.tocoo()
    row, col = (torch.from_numpy(ids.astype(np.int64)) for ids in coo.coords)
    values = torch.from_numpy(coo.data).requires_grad_()
    column = torch.from_numpy(b).requires_grad_()

    def solve():
        return torch_sla.spsolve(
            values, row, col, a.shape, column, backend="pytorch", method="cg", maxiter=steps, atol=0.0,
            preconditioner="jacobi",
        )

    spent, x = measure(solve)
    show("torch-sla: Jacobi CG, cut off", spent, steps, left(a, x.detach().numpy(), b))

    def both():
        values.grad = column.grad = None
        solve().sum().backward()
        return column.grad.norm().item()

    spent, length = measure(both)
    show("torch-sla: forward and adjoint", spent, steps, length)

# 1,000 systems of 1,000 unknowns: a Laplacian and a diagonal of its own for each.
small = laplacian(25, 40)
systems = [small + sp.diags_array(0.05 + right(1000 * 1001)[k * 1000 : (k + 1) * 1000] ** 2) for k in range(1000)]
systems = [sp.csr_array(own) for own in systems]
columns = right(1_000_000).reshape(1000, 1000)


def loop_of_cg():
    for own, column in zip(systems, columns):
        diagonal = 1 / own.diagonal()
        inverse = linalg.LinearOperator(own.shape, matvec=lambda x: diagonal * x, dtype=own.dtype)
        x = linalg.cg(own, column, rtol=tolerance, M=inverse)[0]
    return x


spent, x = measure(loop_of_cg, 1)
check(systems[-1], x, columns[-1])
show("SciPy cg: 1,000 systems", spent)
compressed = [own.tocsc() for own in systems]
spent, _ = measure(lambda: [linalg.splu(own).solve(column) for own, column in zip(compressed, columns)], 1)
show("SciPy splu: 1,000 systems", spent)
if torch_sla:
    coo = systems[0].tocoo()
    row, col = (torch.from_numpy(ids.astype(np.int64)) for ids in coo.coords)
    values = torch.from_numpy(np.stack([own.tocoo().data for own in systems]))
    right_sides = torch.from_numpy(columns)
    spent, x = measure(
        lambda: torch_sla.spsolve_batch_same_layout(
            values, row, col, systems[0].shape, right_sides, method="cg", atol=0.0
        ),
        1,
    )
    # Its relative tolerance is 1e-6 and no argument of this function.
    assert left(systems[-1], x[-1].numpy(), columns[-1]) < 1.1e-6
    show("torch-sla: 1,000 systems", spent)

cube = laplacian(40, 40, 40).tocsc()
options = {"permc_spec": "MMD_AT_PLUS_A", "diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}
spent, factor = measure(lambda: linalg.splu(cube, **options), 1)
check(cube, factor.solve(right(64_000)), right(64_000))
show("Cholesky", spent)
if pyamg:
    square = laplacian(side // 2, side // 2)
    levels = pyamg.smoothed_aggregation_solver(square)
    start = np.random.default_rng(0).standard_normal((square.shape[0], 8))
    spent, (found, _) = measure(
        lambda: linalg.lobpcg(square, start, M=levels.aspreconditioner(), tol=1e-6, maxiter=200, largest=False), 1
    )
    show("LOBPCG", spent, 0, np.sum(found))
