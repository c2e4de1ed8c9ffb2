#!/usr/bin/env bash
# Runs tests/gpu/soak.py with the interpreter PYTHON (default: python3) and its torch, on the package
# in build-gpu/. Installs nothing. `soak-gpu.sh 100` trains for 100 seconds; the next call goes on.
set -euo pipefail
cd "$(dirname "$0")/.."

python=$(command -v "${PYTHON:-python3}") || {
    echo "soak-gpu: ${PYTHON:-python3}: no such interpreter; set one: make soak-gpu PYTHON=..." >&2
    exit 1
}
scripts/build-gpu.sh "$python"
export PYTHONPATH=$PWD/build-gpu/python${PYTHONPATH:+:$PYTHONPATH} PYRO_TOOL=$PWD/build-gpu/pyrometer
exec "$python" tests/gpu/soak.py ${1:+--seconds "$1"}
