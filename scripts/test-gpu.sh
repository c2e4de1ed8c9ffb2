#!/usr/bin/env bash
# Runs tests/gpu with the interpreter PYTHON (default: python3) and its torch. Installs nothing;
# builds the package for that interpreter in build-gpu/. `test-gpu.sh 420` stops within 420 seconds,
# building included; the next call resumes.
set -euo pipefail
cd "$(dirname "$0")/.."

limit=${1:-}
begun=$(date +%s)
python=$(command -v "${PYTHON:-python3}") || {
    echo "test-gpu: ${PYTHON:-python3}: no such interpreter; set one: make test-gpu PYTHON=..." >&2
    exit 1
}
if ! "$python" -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' 2>/dev/null; then
    exec "$python" tests/gpu/run.py
fi
for program in cmake cc c++; do
    if ! command -v "$program" >/dev/null; then
        echo "test-gpu: $program is missing; install it (make test-gpu installs nothing)" >&2
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
