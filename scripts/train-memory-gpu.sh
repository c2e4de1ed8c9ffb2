#!/usr/bin/env bash
# Compares the predicted peak memory of training with that on a GPU (tests/gpu/train_memory.py), with
# the interpreter PYTHON (default: python3) and its torch. Builds the package in build-gpu/.
set -euo pipefail
cd "$(dirname "$0")/.."

python=$(command -v "${PYTHON:-python3}")
scripts/build-gpu.sh "$python"
PYTHONPATH=$PWD/build-gpu/python${PYTHONPATH:+:$PYTHONPATH} exec "$python" tests/gpu/train_memory.py "$@"
