#!/usr/bin/env bash
# Runs tests/gpu with the interpreter at hand (PYTHON, or python3), which brings its own torch.
# Installs nothing; the package is built for that interpreter into build-gpu/. `test-gpu.sh 420`
# stops before so many seconds have passed, building included, and goes on when called again.
set -euo pipefail
cd "$(dirname "$0")/.."

limit=${1:-}
begun=$(date +%s)
python=$(command -v "${PYTHON:-python3}") || {
    echo "test-gpu: ${PYTHON:-python3}: no such interpreter; name one: make test-gpu PYTHON=..." >&2
    exit 1
}
if ! "$python" -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' 2>/dev/null; then
    exec "$python" tests/gpu/run.py
fi
for program in cmake cc c++; do
    if ! command -v "$program" >/dev/null; then
        echo "test-gpu: $program is missing, and nothing is installed from here" >&2
        exit 1
    fi
done
echo "== Building the package for $python into build-gpu"
if ! output=$({
    cmake -S . -B build-gpu -DCMAKE_BUILD_TYPE=Release -DPYRO_PYTHON=ON \
        -DPython3_EXECUTABLE="$("$python" -c 'import sys; print(sys.executable)')" &&
        cmake --build build-gpu --target _core python_package pyrometer
} 2>&1); then
    echo "$output" >&2
    exit 1
fi
export PYTHONPATH=$PWD/build-gpu/python${PYTHONPATH:+:$PYTHONPATH} PYRO_TOOL=$PWD/build-gpu/pyrometer
options=()
if [ -n "$limit" ]; then
    options=(--seconds "$((limit - ($(date +%s) - begun)))")
fi
exec "$python" tests/gpu/run.py "${options[@]}"
