#!/usr/bin/env bash
# One call for a GPU: builds in release, runs the conformance cases and the GPU's tests on the device, then the
# benchmark, table last.
#
#   benches/gpu.sh vulkan [NAMES]        software Vulkan: SPARSE_BENCH_SCALE=0.001 benches/gpu.sh vulkan
#   benches/gpu.sh cuda [NAMES]          needs CUDA's driver; see docs/cuda.md for how to build without network access
#
# SPARSE_BENCH_SCALE scales the sizes, SPARSE_PEER_PYTHON names a python with PyTorch (python3). With SPARSE_BENCH_BIN,
# a folder that has the executables `conformance`, `gpu-test`, `suite-test` and `gpu` (the benchmark), nothing is built;
# on CUDA the last three then also run under compute-sanitizer, the benchmark small, where that is installed.
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
    SPARSE_BENCH_SCALE=0.001 SPARSE_PEER_PYTHON=none compute-sanitizer --error-exitcode 1 "$SPARSE_BENCH_BIN/gpu"
    # Long rows, long groups, merges and joins are in the tests.
    compute-sanitizer --error-exitcode 1 "$SPARSE_BENCH_BIN/gpu-test"
    compute-sanitizer --error-exitcode 1 "$SPARSE_BENCH_BIN/suite-test" matmul_reduce::
  fi
  "$SPARSE_BENCH_BIN/gpu" "$@"
else
  cargo test --release --features "$feature" --test conformance --test gpu
  cargo test --release --features "$feature" --test suite -- matmul_reduce::
  cargo bench --features "$feature" --bench gpu -- "$@"
fi
