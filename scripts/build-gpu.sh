#!/usr/bin/env bash
# Builds the package for an interpreter in build-gpu/, for the GPU's tests and benchmarks. Installs
# nothing. Usage: build-gpu.sh PYTHON
set -euo pipefail
cd "$(dirname "$0")/.."

python=$1
for program in cmake cc c++; do
    if ! command -v "$program" >/dev/null; then
        echo "build-gpu: $program is missing; install it (nothing is installed here)" >&2
        exit 1
    fi
done
echo "== Building the package for $python into build-gpu"
if ! output=$({
    cmake -S . -B build-gpu -DCMAKE_BUILD_TYPE=Release -DPYRO_PYTHON=ON \
        -DPython3_EXECUTABLE="$("$python" -c 'import sys; print(sys.executable)')" &&
        cmake --build build-gpu -j "$(nproc)" --target _core python_package pyrometer
} 2>&1); then
    echo "$output" >&2
    exit 1
fi
