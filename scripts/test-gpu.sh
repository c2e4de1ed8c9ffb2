#!/usr/bin/env bash
# Runs tests/gpu with the interpreter PYTHON (default: python3) and its torch. Installs nothing;
# builds the package for that interpreter in build-gpu/. `test-gpu.sh 420` stops within 420 seconds,
# building included; the next call resumes. Further words are tests (test_power.py::test_counters) or
# files, which are run also if they have passed.
set -euo pipefail
cd "$(dirname "$0")/.."

limit=${1:-}
shift || true
begun=$(date +%s)
python=$(command -v "${PYTHON:-python3}") || {
    echo "test-gpu: ${PYTHON:-python3}: no such interpreter; set one: make test-gpu PYTHON=..." >&2
    exit 1
}
if ! "$python" -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' 2>/dev/null; then
    exec "$python" tests/gpu/run.py
fi
scripts/build-gpu.sh "$python"
export PYTHONPATH=$PWD/build-gpu/python${PYTHONPATH:+:$PYTHONPATH} PYRO_TOOL=$PWD/build-gpu/pyrometer
options=()
if [ -n "$limit" ]; then
    options=(--seconds "$((limit - ($(date +%s) - begun)))")
fi
if [ $# -gt 0 ]; then
    options+=(--only "$@")
fi
exec "$python" tests/gpu/run.py "${options[@]}"
