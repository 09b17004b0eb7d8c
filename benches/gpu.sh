#!/usr/bin/env bash
# One call for a GPU: builds in release, runs the conformance cases and the GPU's tests on the device, then the
# benchmark, table last.
#
#   benches/gpu.sh vulkan [NAMES]        software Vulkan: SPARSE_BENCH_SCALE=0.001 benches/gpu.sh vulkan
#   benches/gpu.sh cuda [NAMES]          needs CUDA's driver; see docs/cuda.md for how to build without network access
#
# SPARSE_BENCH_SCALE scales the sizes, SPARSE_PEER_PYTHON names a python with PyTorch (python3). With SPARSE_BENCH_BIN,
# a folder that has the executables `conformance`, `gpu-test`, `suite-test` and `gpu` (the benchmark), nothing is built.
# Where compute-sanitizer is installed, its tools then check the last three, the benchmark small: those in the folder
# `unchecked` if there is one, built with `--cfg sparse_unchecked`. Launches that check their accesses hide bad ones.
set -euo pipefail
cd "$(dirname "$0")/.."

feature="${1:?benches/gpu.sh vulkan|cuda [NAMES]}"
shift
case "$feature" in
  vulkan | cuda | wgpu) ;;
  *) echo "benches/gpu.sh: no device for feature $feature" >&2; exit 2 ;;
esac
export SPARSE_TEST_DEVICE="$feature"
export SPARSE_PEER_SCRIPT="$PWD/benches/gpu_peers.py"

if [ -n "${SPARSE_BENCH_BIN:-}" ]; then
  "$SPARSE_BENCH_BIN/conformance"
  "$SPARSE_BENCH_BIN/gpu-test"
  "$SPARSE_BENCH_BIN/suite-test" matmul_reduce::
  if [ "$feature" = cuda ] && command -v compute-sanitizer >/dev/null; then
    bin="$SPARSE_BENCH_BIN"
    [ ! -d "$bin/unchecked" ] || bin="$bin/unchecked"
    # Accesses out of bounds, races in shared memory, barriers that not all units reach, reads of what nobody wrote.
    for tool in memcheck racecheck synccheck initcheck; do
      sanitize() { compute-sanitizer --tool "$tool" --error-exitcode 1 "$@"; }
      SPARSE_BENCH_SCALE=0.001 SPARSE_PEER_PYTHON=none sanitize "$bin/gpu"
      # Long rows, long groups, merges and joins are in the tests.
      sanitize "$bin/gpu-test"
      sanitize "$bin/suite-test" matmul_reduce::
    done
  fi
  "$SPARSE_BENCH_BIN/gpu" "$@"
else
  cargo test --release --workspace --features "$feature" --test conformance --test gpu
  cargo test --release --workspace --features "$feature" --test suite -- matmul_reduce::
  cargo bench --workspace --features "$feature" --bench gpu -- "$@"
fi
