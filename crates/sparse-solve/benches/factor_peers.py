"""SciPy's side of the bench `factor`: `factor_peers.py SIDE SYSTEMS`."""

import statistics
import sys
import time

import numpy
import scipy.sparse
import scipy.sparse.linalg


def measure(name, f):
    f()
    times = []
    for _ in range(3):
        clock = time.perf_counter()
        f()
        times.append(time.perf_counter() - clock)
    print(f"{name}: {statistics.median(times) * 1e3:.1f} ms")


def poisson(side):
    one = scipy.sparse.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(side, side))
    eye = scipy.sparse.identity(side)
    kron = scipy.sparse.kron
    return (kron(kron(one, eye), eye) + kron(kron(eye, one), eye) + kron(kron(eye, eye), one)).tocsc()


side, systems = int(sys.argv[1]), int(sys.argv[2])
a = poisson(side)
measure("SciPy, splu", lambda: scipy.sparse.linalg.splu(a))
small = poisson(10)
all_of_them = [small * (1.0 + at / 1e3) for at in range(systems)]
ones = numpy.ones(1000)
measure(f"SciPy, {systems} systems", lambda: [scipy.sparse.linalg.splu(own).solve(ones) for own in all_of_them])
