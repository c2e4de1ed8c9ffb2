#!/usr/bin/env bash
# Runs bench/gpu.py with the interpreter PYTHON (default: python3) and its torch, on the package that
# scripts/test-gpu.sh builds in build-gpu/. Installs nothing. Arguments go to bench/gpu.py, or after
# `--part profiler` to bench/profiler_cost.py.
set -euo pipefail
cd "$(dirname "$0")/.."

python=$(command -v "${PYTHON:-python3}") || {
    echo "bench-gpu: ${PYTHON:-python3}: no such interpreter; set one: make bench-gpu PYTHON=..." >&2
    exit 1
}
scripts/build-gpu.sh "$python"
export PYTHONPATH=$PWD/build-gpu/python${PYTHONPATH:+:$PYTHONPATH} PYRO_TOOL=$PWD/build-gpu/pyrometer
if [ "${1:-} ${2:-}" = "--part profiler" ]; then
    shift 2
    exec "$python" bench/profiler_cost.py "$@"
fi
exec "$python" bench/gpu.py "$@"
