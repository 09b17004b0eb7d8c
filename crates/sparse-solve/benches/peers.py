"""Times of SciPy and PyAMG on the workloads of solve.rs.

peers.py SIDE THREADS RUNS TOLERANCE STEPS. Prints `name<TAB>milliseconds<TAB>iterations`: the median of RUNS runs
after one that is not counted.
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


def measure(f):
    times = []
    for _ in range(runs + 1):
        start = time.perf_counter()
        result = f()
        times.append(time.perf_counter() - start)
    return statistics.median(times[1:]) * 1e3, result


def show(name, milliseconds, iterations=0):
    print(f"{name}\t{milliseconds:.3f}\t{iterations}", flush=True)


def check(x):
    residual = np.linalg.norm(b - a @ x) / np.linalg.norm(b)
    assert residual < 1.1 * tolerance, residual


line = sp.diags_array([-np.ones(side - 1), 2 * np.ones(side), -np.ones(side - 1)], offsets=[-1, 0, 1])
eye = sp.eye_array(side)
a = sp.csr_array(sp.kron(line, eye) + sp.kron(eye, line))
a.sum_duplicates()
b = (np.arange(side * side) * 7919 % 10_007) / 10_007.0 - 0.5

try:
    import pyamg
except ImportError:
    pyamg = None
if pyamg:
    setup, levels = measure(lambda: pyamg.smoothed_aggregation_solver(a))
    residuals = []

    def solve():
        residuals.clear()
        return levels.solve(b, tol=tolerance, accel="cg", maxiter=100, residuals=residuals)

    solved, x = measure(solve)
    check(x)
    show("AMG set-up", setup)
    show("AMG CG", solved, len(residuals) - 1)
    show("AMG set-up and CG", setup + solved, len(residuals) - 1)
diagonal = 1 / a.diagonal()
inverse = linalg.LinearOperator(a.shape, matvec=lambda x: diagonal * x, dtype=a.dtype)
spent, _ = measure(lambda: linalg.cg(a, b, rtol=tolerance, maxiter=steps, M=inverse)[0])
show("Jacobi CG, cut off", spent, steps)
